#define _GNU_SOURCE
#include "run/cc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 512, MAX_ARGS = 64 };

struct Library {
    void *handle;
};

extern char **environ;

// --- The folder --------------------------------------------------------------------------------

typedef struct Folder {
    char path[PATH_SIZE], source[PATH_SIZE + 8], library[PATH_SIZE + 8], log[PATH_SIZE + 8];
    bool object; // the source is an object file
} Folder;

static bool folder_open(Folder *f, bool object) {
    f->object = object;
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    int n = snprintf(f->path, sizeof f->path, "%s/loopwright-XXXXXX", base);
    if (n < 0 || n >= PATH_SIZE || !mkdtemp(f->path)) return false;
    snprintf(f->source, sizeof f->source, object ? "%s/k.o" : "%s/k.c", f->path);
    snprintf(f->library, sizeof f->library, "%s/k.so", f->path);
    snprintf(f->log, sizeof f->log, "%s/log", f->path);
    return true;
}

static void folder_remove(const Folder *f) {
    unlink(f->source);
    unlink(f->library);
    unlink(f->log);
    rmdir(f->path);
}

static bool write_file(const char *path, const char *text, size_t left) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    while (left) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text += n;
        left -= (size_t)n;
    }
    return close(fd) == 0 && left == 0;
}

static void read_log(const Folder *f, char *message, size_t size) {
    int fd = open(f->log, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, message, size - 1);
    while (n > 0 && message[n - 1] == '\n') n--;
    message[n > 0 ? n : 0] = 0;
    if (fd >= 0) close(fd);
}

// --- The compiler ------------------------------------------------------------------------------

// Builds the command line; the compiler's name is split into words in `words`.
static int arguments(const Folder *f, const CcOptions *o, char *words, bool openmp,
                     const char **args) {
    static const char *const usual[] = {"-O3", "-march=native", "-ffp-contract=off", NULL};
    int n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(words, " \t", &rest); w && n < 8; w = strtok_r(NULL, " \t", &rest))
        args[n++] = w;
    if (!n) args[n++] = "cc";
    const char *const *flag = o->flags ? o->flags : usual;
    for (; !f->object && *flag && n < MAX_ARGS - 16; flag++) args[n++] = *flag;
    if (!f->object) args[n++] = openmp ? "-fopenmp" : "-fopenmp-simd";
    args[n++] = "-shared";
    args[n++] = "-fPIC";
    args[n++] = "-o";
    args[n++] = f->library;
    args[n++] = f->source;
    args[n++] = "-lm";
    args[n] = NULL;
    return n;
}

// The exit status of the process; -1: it could not be started (see errno).
static int run(const Folder *f, const char *const *args) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status, error;
    if ((error = posix_spawn_file_actions_init(&actions))) {
        errno = error;
        return -1;
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, f->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    error = posix_spawnp(&pid, args[0], &actions, NULL, (char *const *)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Runs the command, whose output becomes the message if it fails.
static CcResult run_command(const Folder *f, const char *const *args, char *message, size_t size) {
    int code = run(f, args);
    if (code == 0) return CC_OK;
    if ((code < 0 && errno == ENOENT) || code == 127) { // 127: the child could not start it
        snprintf(message, size, "%s", args[0]);
        return CC_MISSING;
    }
    if (code < 0) {
        snprintf(message, size, "cannot start '%s': %s", args[0], strerror(errno));
        return CC_SYSTEM;
    }
    read_log(f, message, size);
    if (!*message) snprintf(message, size, "'%s' ends with status %d", args[0], code);
    return CC_FAILED;
}

static CcResult compile(const Folder *f, const CcOptions *o, bool openmp, char *message,
                        size_t size) {
    const char *cc = o->compiler ? o->compiler : getenv("CC"), *args[MAX_ARGS];
    char words[PATH_SIZE];
    int n = snprintf(words, sizeof words, "%s", cc && *cc ? cc : "cc");
    if (n < 0 || n >= PATH_SIZE) words[0] = 0;
    arguments(f, o, words, openmp, args);
    return run_command(f, args, message, size);
}

// --- Loading -----------------------------------------------------------------------------------

static CcResult load(const Folder *f, bool openmp, Library **out, char *message, size_t size) {
    // Threads of an OpenMP pool outlive the call that started them, so the library stays loaded.
    void *handle = dlopen(f->library, RTLD_NOW | RTLD_LOCAL | (openmp ? RTLD_NODELETE : 0));
    Library *library = handle ? malloc(sizeof *library) : NULL;
    if (!library) {
        const char *why = handle ? "out of memory" : dlerror();
        snprintf(message, size, "%s", why ? why : "cannot load what was compiled");
        if (handle) dlclose(handle);
        return CC_SYSTEM;
    }
    library->handle = handle;
    *out = library;
    return CC_OK;
}

CcResult cc_load(const char *source, const CcOptions *options, Library **out, char *message,
                 size_t size) {
    Folder f;
    *out = NULL;
    if (!folder_open(&f, false)) {
        snprintf(message, size, "cannot make a temporary folder: %s", strerror(errno));
        return CC_SYSTEM;
    }
    CcResult result = CC_SYSTEM;
    if (!write_file(f.source, source, strlen(source))) {
        snprintf(message, size, "cannot write '%s': %s", f.source, strerror(errno));
    } else {
        bool openmp = options->openmp;
        result = compile(&f, options, openmp, message, size);
        if (result == CC_FAILED && openmp) {
            openmp = false;
            result = compile(&f, options, false, message, size);
        }
        if (result == CC_OK) result = load(&f, openmp, out, message, size);
    }
    folder_remove(&f);
    return result;
}

// --- Linking ------------------------------------------------------------------------------------

static CcResult read_library(const Folder *f, char *into, size_t *size, char *message, size_t n) {
    int fd = open(f->library, O_RDONLY | O_CLOEXEC);
    size_t room = *size;
    ssize_t got = fd < 0 ? -1 : 0;
    *size = 0;
    while (got >= 0 && *size < room) {
        got = read(fd, into + *size, room - *size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        *size += (size_t)got;
    }
    if (fd >= 0) close(fd);
    if (got == 0 && *size < room) return CC_OK;
    snprintf(message, n, "cannot read what was linked: %s",
             got < 0 ? strerror(errno) : "too large");
    return CC_SYSTEM;
}

// Writes the input, runs a command on it (NULL: the compiler, as a linker), and reads its output.
static CcResult convert(Folder *f, const void *input, size_t bytes, const char *const *args,
                        void *into, size_t *size, char *message, size_t message_size) {
    CcOptions o = {0};
    CcResult result = CC_SYSTEM;
    if (!write_file(f->source, input, bytes))
        snprintf(message, message_size, "cannot write '%s': %s", f->source, strerror(errno));
    else
        result = args ? run_command(f, args, message, message_size)
                      : compile(f, &o, false, message, message_size);
    if (result == CC_OK) result = read_library(f, into, size, message, message_size);
    folder_remove(f);
    return result;
}

CcResult cc_link(const void *object, size_t bytes, void *into, size_t *size, char *message,
                 size_t message_size) {
    Folder f;
    if (folder_open(&f, true))
        return convert(&f, object, bytes, NULL, into, size, message, message_size);
    snprintf(message, message_size, "cannot make a temporary folder: %s", strerror(errno));
    return CC_SYSTEM;
}

CcResult cc_assemble_ptx(const char *text, size_t bytes, const char *target, void *into,
                         size_t *size, char *message, size_t message_size) {
    Folder f;
    char arch[64];
    const char *set = getenv("LW_PTXAS"), *usual = "/usr/local/cuda/bin/ptxas";
    size_t room = *size;
    snprintf(arch, sizeof arch, "-arch=%s", target);
    CcResult result = CC_MISSING;
    for (int i = 0; i < 2 && result == CC_MISSING; i++) {
        if (!folder_open(&f, true)) {
            snprintf(message, message_size, "cannot make a temporary folder: %s", strerror(errno));
            return CC_SYSTEM;
        }
        const char *name = set && *set ? set : i ? usual : "ptxas";
        const char *args[] = {name, arch, f.source, "-o", f.library, NULL};
        *size = room;
        result = convert(&f, text, bytes, args, into, size, message, message_size);
    }
    return result;
}

void *library_find(const Library *library, const char *symbol) {
    return dlsym(library->handle, symbol);
}

void library_close(Library *library) {
    if (!library) return;
    dlclose(library->handle);
    free(library);
}
