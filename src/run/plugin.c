#include "run/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The folder of the program; "" if it is unknown.
static void own_folder(char *into, size_t size) {
    ssize_t n = readlink("/proc/self/exe", into, size - 1);
    into[n > 0 ? n : 0] = 0;
    char *slash = strrchr(into, '/');
    if (slash) *slash = 0;
}

void *plugin_find(const char *name, const char *symbol, char *message, size_t size) {
    char path[4][PATH_MAX + 64], folder[PATH_MAX];
    const char *set = getenv("LW_PLUGINS");
    int n = 0;
    own_folder(folder, sizeof folder);
    if (strchr(name, '/')) {
        snprintf(path[n++], sizeof *path, "%s", name);
    } else {
        if (set && *set) snprintf(path[n++], sizeof *path, "%s/loopwright-%s.so", set, name);
        snprintf(path[n++], sizeof *path, "%s/loopwright-%s.so", folder, name);
        snprintf(path[n++], sizeof *path, "%s/../lib/loopwright/loopwright-%s.so", folder, name);
    }
    snprintf(message, size, "there is no loopwright-%s.so", name);
    for (int i = 0; i < n; i++) {
        if (access(path[i], F_OK) != 0 && i + 1 < n) continue;
        // Global, because its own dependencies may load plug-ins.
        void *handle = dlopen(path[i], RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
        void *found = handle ? dlsym(handle, symbol) : NULL;
        if (found) return found;
        if (access(path[i], F_OK) == 0) snprintf(message, size, "%s", dlerror());
    }
    return NULL;
}
