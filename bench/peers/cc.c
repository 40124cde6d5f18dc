// A C compiler, $CC with $CFLAGS, on our C: compares compilers.
//
//     c FILE           run the kernel that FILE describes
//     compile-c FILE   compile it, once per call, by wall-clock time
//
// The description, one line each: source PATH, kernel NAME, scratch BYTES, and the arguments in
// order, `in BYTES PATH` (the file holds their content) or `out BYTES`.
//
// link: -ldl
#include "peer.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 32, PATH = 512 };

typedef int Kernel(void *const *buffers, void *scratch, const void *env);

static struct {
    char source[PATH], object[PATH], kernel[256];
    Kernel *run;
    void *library, *scratch, *buffer[MOST];
    size_t bytes[MOST];
    int n, first; // arguments, and the first that is a result
    bool compiles;
} task;

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static bool compile(void) {
    char *words[40] = {NULL}, *save = NULL;
    char *flags = strdup(variable("CFLAGS", "-O3,-march=native,-ffp-contract=off"));
    int n = 0;
    words[n++] = (char *)variable("CC", "cc");
    for (char *w = strtok_r(flags, ",", &save); w && n < 30; w = strtok_r(NULL, ",", &save))
        words[n++] = w;
    char *rest[] = {"-w", "-shared", "-fPIC", "-o", task.object, task.source, "-lm"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) words[n++] = rest[i];
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], words);
        _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    free(flags);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool load(const char *path, void *into, size_t bytes) {
    FILE *f = fopen(path, "rb");
    bool ok = f && fread(into, 1, bytes, f) == bytes;
    if (f) fclose(f);
    return ok;
}

static bool line(char *text) {
    char path[PATH];
    size_t bytes;
    if (sscanf(text, "source %511s", task.source) == 1) return true;
    if (sscanf(text, "kernel %255s", task.kernel) == 1) return true;
    if (sscanf(text, "scratch %zu", &bytes) == 1) {
        task.scratch = bytes ? peer_floats(bytes / 4 + 16) : NULL;
        return true;
    }
    if (task.n == MOST) return false;
    if (sscanf(text, "in %zu %511s", &bytes, path) == 2) {
        task.buffer[task.n++] = peer_floats(bytes / 4 + 1);
        task.first = task.n;
        return load(path, task.buffer[task.n - 1], bytes);
    }
    if (sscanf(text, "out %zu", &bytes) != 1) return false;
    task.buffer[task.n] = peer_floats(bytes / 4 + 1);
    task.bytes[task.n++] = bytes;
    return true;
}

static bool prepare(const PeerTask *t, const char **why) {
    char text[PATH + 64];
    task.compiles = !strcmp(t->op, "compile-c");
    if (strcmp(t->op, "c") && !task.compiles) return false;
    if (task.library) dlclose(task.library);
    task.library = NULL, task.n = task.first = 0;
    *why = "cannot read the description";
    FILE *f = fopen(t->text, "r");
    bool ok = f != NULL;
    while (ok && fgets(text, sizeof text, f)) ok = line(text);
    if (f) fclose(f);
    if (!ok) return false;
    static int number; // a new name each time, because a library is not loaded twice
    snprintf(task.object, sizeof task.object, "%.*s-%d-%d.so", PATH - 40, task.source,
             (int)getpid(), number++);
    peer_clock = task.compiles ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    if (task.compiles) return true; // the first call shows whether it compiles
    *why = "it does not compile";
    if (!compile()) return false;
    task.library = dlopen(task.object, RTLD_NOW | RTLD_LOCAL);
    unlink(task.object);
    task.run = task.library ? (Kernel *)dlsym(task.library, task.kernel) : NULL;
    return task.run != NULL;
}

static void call(void) {
    if (task.compiles) {
        if (!compile()) exit(1);
        unlink(task.object);
    } else {
        uint32_t flags = 0;
        task.run(task.buffer, task.scratch, &flags);
    }
}

// The bytes of the first result.
static const float *result(size_t *n) {
    if (task.compiles || task.first >= task.n) return NULL;
    *n = (task.bytes[task.first] + 3) / 4;
    return (const float *)task.buffer[task.first];
}

int main(void) {
    static char name[256] = "";
    char command[256];
    snprintf(command, sizeof command, "%s --version 2>/dev/null", variable("CC", "cc"));
    FILE *f = popen(command, "r");
    if (!f || !fgets(name, sizeof name, f)) return 1;
    pclose(f);
    name[strcspn(name, "\n")] = 0;
    return peer_main(&(Peer){name, prepare, call, result});
}
