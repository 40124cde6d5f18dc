// PTX text to a loaded module: the cache on disk, libnvJitLink, the driver's linker.
//
// The cache has one file per text, $XDG_CACHE_HOME/loopwright/gpu/KEY.cubin (or ~/.cache), where
// KEY is a hash of text, target, driver and this format. A file holds its whole key text before the
// code, so that a hash that two texts share does no harm. Files are written under another name and
// renamed, so readers never see half of one. LW_GPU_CACHE=none switches the cache off, another
// value names its folder. LW_GPU_COMPILER=driver leaves nvJitLink out.
#include "run/cuda_impl.h"

#include "base/map.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, LOG_BYTES = 1200 };

// --- The cache -----------------------------------------------------------------------------------

static bool cache_folder(char *path, size_t size) {
    const char *set = getenv("LW_GPU_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int n = -1;
    if (set && *set)
        n = strcmp(set, "none") == 0 ? -1 : snprintf(path, size, "%s", set);
    else if (xdg && *xdg)
        n = snprintf(path, size, "%s/loopwright/gpu", xdg);
    else if (home && *home)
        n = snprintf(path, size, "%s/.cache/loopwright/gpu", home);
    return n > 0 && (size_t)n < size - 64;
}

static void make_folders(const char *path) {
    char part[PATH_BYTES];
    snprintf(part, sizeof part, "%s", path);
    for (char *s = part + 1; *s; s++)
        if (*s == '/') {
            *s = 0;
            mkdir(part, 0700);
            *s = '/';
        }
    mkdir(part, 0700);
}

// What precedes the code in a file: everything that it depends on.
static char *key_text(const Cuda *cuda, const CudaText *t, size_t *len) {
    char head[256];
    int n = snprintf(head, sizeof head, "loopwright cubin 1, driver %d, %s, %s\n", cuda->version,
                     t->target, t->model);
    *len = (size_t)n + t->len + 1;
    char *key = malloc(*len);
    if (!key) return NULL;
    memcpy(key, head, (size_t)n);
    memcpy(key + n, t->text, t->len);
    key[*len - 1] = 0;
    return key;
}

static void cache_path(const char *folder, const char *key, size_t len, char *path, size_t size) {
    snprintf(path, size, "%s/%016llx%016llx.cubin", folder,
             (unsigned long long)hash_bytes(1, key, len),
             (unsigned long long)hash_bytes(2, key, len));
}

// The code behind the key of the file; NULL: there is none, or it is another text's.
static void *cache_read(const char *path, const char *key, size_t key_len, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *all = NULL;
    void *code = NULL;
    long bytes = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (bytes > (long)key_len && fseek(f, 0, SEEK_SET) == 0 && (all = malloc((size_t)bytes)) &&
        fread(all, 1, (size_t)bytes, f) == (size_t)bytes && memcmp(all, key, key_len) == 0) {
        *size = (size_t)bytes - key_len;
        code = malloc(*size);
        if (code) memcpy(code, all + key_len, *size);
    }
    free(all);
    fclose(f);
    return code;
}

static void cache_write(const char *path, const char *key, size_t key_len, const void *code,
                        size_t size) {
    char draft[PATH_BYTES + 128];
    snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(draft, "wbx");
    if (!f) return;
    bool ok = fwrite(key, 1, key_len, f) == key_len && fwrite(code, 1, size, f) == size;
    ok = fclose(f) == 0 && ok;
    if (!ok || rename(draft, path) != 0) unlink(draft);
}

// --- nvJitLink -----------------------------------------------------------------------------------

typedef struct JitLink {
    void *library;
    int (*create)(void **handle, unsigned n, const char **options);
    int (*add)(void *handle, int kind, const void *data, size_t size, const char *name);
    int (*complete)(void *handle);
    int (*cubin_size)(void *handle, size_t *size);
    int (*cubin)(void *handle, void *into);
    int (*log_size)(void *handle, size_t *size);
    int (*log)(void *handle, char *into);
    int (*destroy)(void **handle);
} JitLink;

// Its names may carry the version: __nvJitLinkCreate_13_0.
static void *jitlink_symbol(void *library, int version, const char *name) {
    char versioned[64];
    void *found = dlsym(library, name);
    if (found) return found;
    snprintf(versioned, sizeof versioned, "__%s_%d_%d", name, version / 1000, version % 1000 / 10);
    return dlsym(library, versioned);
}

static bool jitlink_open(JitLink *j, int version) {
    char name[64];
    snprintf(name, sizeof name, "libnvJitLink.so.%d", version / 1000);
    j->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!j->library) j->library = dlopen("libnvJitLink.so", RTLD_NOW | RTLD_LOCAL);
    if (!j->library) return false;
    struct {
        void *into;
        const char *name;
    } want[] = {
        {&j->create, "nvJitLinkCreate"},        {&j->add, "nvJitLinkAddData"},
        {&j->complete, "nvJitLinkComplete"},    {&j->cubin_size, "nvJitLinkGetLinkedCubinSize"},
        {&j->cubin, "nvJitLinkGetLinkedCubin"}, {&j->log_size, "nvJitLinkGetErrorLogSize"},
        {&j->log, "nvJitLinkGetErrorLog"},      {&j->destroy, "nvJitLinkDestroy"}};
    bool all = true;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        void *symbol = jitlink_symbol(j->library, version, want[i].name);
        memcpy(want[i].into, &symbol, sizeof symbol);
        all = all && symbol;
    }
    if (!all) dlclose(j->library);
    return all;
}

static void jitlink_log(const JitLink *j, void *handle, DeviceError *e) {
    size_t size = 0;
    char *log = NULL;
    if (j->log_size(handle, &size) == 0 && size > 1 && (log = calloc(size + 1, 1)))
        j->log(handle, log);
    device_fail(e, DEVICE_REFUSED, "the PTX text does not compile: %.*s", LOG_BYTES,
                log ? log : "no log");
    free(log);
}

static void *jitlink_compile(const JitLink *j, const CudaText *t, size_t *size, DeviceError *e) {
    enum { PTX = 2 };
    char arch[32];
    const char *options[] = {arch};
    void *handle = NULL, *code = NULL;
    snprintf(arch, sizeof arch, "-arch=%s", t->target);
    if (j->create(&handle, 1, options) != 0) {
        device_fail(e, DEVICE_FAILED, "nvJitLink refuses %s", arch);
        return NULL;
    }
    if (j->add(handle, PTX, t->text, t->len + 1, "loopwright.ptx") != 0 || j->complete(handle) != 0)
        jitlink_log(j, handle, e);
    else if (j->cubin_size(handle, size) == 0 && (code = malloc(*size + 1)))
        j->cubin(handle, code);
    else
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    j->destroy(&handle);
    return code;
}

// --- The driver ----------------------------------------------------------------------------------

// Options of the driver's compiler: where its log of errors goes.
typedef struct JitLog {
    int option[2];
    void *value[2];
    char text[LOG_BYTES];
} JitLog;

static void jit_log(JitLog *l) {
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };
    memset(l, 0, sizeof *l);
    l->option[0] = ERROR_LOG;
    l->value[0] = l->text;
    l->option[1] = ERROR_LOG_BYTES;
    l->value[1] = (void *)(uintptr_t)(sizeof l->text - 1);
}

static void *driver_compile(const Cuda *cuda, const CudaText *t, size_t *size, DeviceError *e) {
    enum { PTX = 1, INVALID_PTX = 218 };
    JitLog log;
    void *state = NULL, *cubin = NULL, *code = NULL;
    jit_log(&log);
    int r = cuda->LinkCreate(2, log.option, log.value, &state);
    if (!r)
        r = cuda->LinkAddData(state, PTX, (void *)(uintptr_t)t->text, t->len + 1, "loopwright.ptx",
                              0, NULL, NULL);
    if (!r) r = cuda->LinkComplete(state, &cubin, size);
    if (!r && (code = malloc(*size + 1)))
        memcpy(code, cubin, *size);
    else if (r && log.text[0])
        device_fail(e, DEVICE_REFUSED, "the PTX text does not compile: %s", log.text);
    else if (r)
        cuda_fail(cuda, e, r, "compiling PTX");
    else
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    if (state) cuda->LinkDestroy(state);
    return code;
}

static void *compile(const Cuda *cuda, const CudaText *t, size_t *size, DeviceError *e) {
    JitLink j;
    const char *asked = getenv("LW_GPU_COMPILER");
    if (asked && strcmp(asked, "driver") == 0) return driver_compile(cuda, t, size, e);
    if (!jitlink_open(&j, cuda->version)) return driver_compile(cuda, t, size, e);
    void *code = jitlink_compile(&j, t, size, e);
    dlclose(j.library);
    return code;
}

static void *load_code(const Cuda *cuda, const void *code, DeviceError *e) {
    JitLog log;
    void *module = NULL;
    jit_log(&log);
    int r = cuda->ModuleLoadDataEx(&module, code, 2, log.option, log.value);
    if (!r) return module;
    cuda_fail(cuda, e, r, log.text[0] ? log.text : "loading a module");
    return NULL;
}

void *cuda_load_module(const Cuda *cuda, const CudaText *t, bool *cached, DeviceError *e) {
    char folder[PATH_BYTES], path[PATH_BYTES + 64];
    size_t key_len = 0, size = 0;
    void *code = NULL, *module = NULL;
    char *key = cache_folder(folder, sizeof folder) ? key_text(cuda, t, &key_len) : NULL;
    if (key) {
        cache_path(folder, key, key_len, path, sizeof path);
        code = cache_read(path, key, key_len, &size);
    }
    *cached = code != NULL;
    if (code) module = load_code(cuda, code, e);
    if (!module) { // not there, or damaged
        free(code);
        *cached = false;
        *e = (DeviceError){0};
        code = compile(cuda, t, &size, e);
        if (code) module = load_code(cuda, code, e);
        if (module && key) {
            make_folders(folder);
            cache_write(path, key, key_len, code, size);
        }
    }
    free(code);
    free(key);
    return module;
}
