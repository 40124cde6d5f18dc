// Compiles PTX text to a loaded module: the cache on disk, libnvJitLink, the driver's linker.
//
// The cache has one file per text, $XDG_CACHE_HOME/loopwright/gpu/KEY.cubin (or ~/.cache), where
// KEY is a hash of text, target, driver and this format. A file contains the whole text of its key
// before the code, so that hash collisions do no harm. Files are written under a temporary name and
// renamed, so that readers never see an incomplete file. LW_GPU_CACHE=none disables the cache;
// another value names its folder. LW_GPU_COMPILER=driver skips nvJitLink.
#include "run/cuda_impl.h"

#include "base/map.h"
#include "run/jitlink.h"

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

// The text that precedes the code in a file: everything that the code depends on.
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

// The code in the file; NULL: there is no file, or it belongs to another text.
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

// --- The driver ----------------------------------------------------------------------------------

// Options of the driver's compiler: the buffer for its error log.
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
    if (!jitlink_open(&j, cuda->version / 1000)) return driver_compile(cuda, t, size, e);
    void *code = jitlink_compile(&j, t->text, t->len, t->target, size, e);
    jitlink_close(&j);
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

void *cuda_load_module(const Cuda *cuda, const CudaText *t, DeviceError *e) {
    char folder[PATH_BYTES], path[PATH_BYTES + 64];
    size_t key_len = 0, size = 0;
    void *code = NULL, *module = NULL;
    char *key = cache_folder(folder, sizeof folder) ? key_text(cuda, t, &key_len) : NULL;
    if (key) {
        cache_path(folder, key, key_len, path, sizeof path);
        code = cache_read(path, key, key_len, &size);
    }
    if (code) module = load_code(cuda, code, e);
    if (!module) { // not in the cache, or damaged
        free(code);
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
