// A device's program as one string of bytes, so that another process can load it.
#include "base/device_abi.h"

#include <string.h>

typedef struct ProgramHead {
    uint64_t len;
    int32_t nlaunches, nargs, ntemps, has_status;
} ProgramHead;

typedef struct PackedLaunch {
    uint32_t grid[3], block[3], cluster[3], shared;
    int32_t nparams, name; // bytes of the name
} PackedLaunch;

static void put(Text *t, const void *bytes, size_t n) { text_add_n(t, bytes, n); }

const void *device_program_pack(Arena *arena, const DeviceProgram *p, size_t *size) {
    Text t = {.arena = arena};
    ProgramHead h = {p->len, p->nlaunches, p->nargs, p->ntemps, p->has_status};
    put(&t, &h, sizeof h);
    put(&t, p->text, p->len);
    put(&t, p->temp_bytes, (size_t)p->ntemps * sizeof *p->temp_bytes);
    for (int i = 0; i < p->nlaunches; i++) {
        const DeviceLaunch *l = &p->launches[i];
        PackedLaunch k = {
            .shared = l->shared, .nparams = l->nparams, .name = (int32_t)strlen(l->kernel)};
        memcpy(k.grid, l->grid, sizeof k.grid);
        memcpy(k.block, l->block, sizeof k.block);
        memcpy(k.cluster, l->cluster, sizeof k.cluster);
        put(&t, &k, sizeof k);
        put(&t, l->kernel, (size_t)k.name);
        put(&t, l->params, (size_t)l->nparams * sizeof *l->params);
    }
    *size = t.len;
    return text_str(&t);
}

typedef struct ProgramBytes {
    Arena *arena;
    const char *at;
} ProgramBytes;

// The next `n` bytes, aligned and with a NUL behind them.
static void *take(ProgramBytes *b, size_t n) {
    char *out = arena_alloc(b->arena, n + 1);
    memcpy(out, b->at, n);
    out[n] = 0;
    b->at += n;
    return out;
}

const DeviceProgram *device_program_unpack(Arena *arena, const void *bytes) {
    ProgramBytes b = {arena, bytes};
    DeviceProgram *p = arena_new(arena, DeviceProgram);
    const ProgramHead *h = take(&b, sizeof *h);
    DeviceLaunch *launch = arena_new_n(arena, DeviceLaunch, h->nlaunches);
    *p = (DeviceProgram){.text = take(&b, h->len),
                         .len = h->len,
                         .nlaunches = h->nlaunches,
                         .launches = launch,
                         .nargs = h->nargs,
                         .ntemps = h->ntemps,
                         .temp_bytes = take(&b, (size_t)h->ntemps * sizeof *p->temp_bytes),
                         .has_status = h->has_status};
    for (int i = 0; i < p->nlaunches; i++) {
        const PackedLaunch *k = take(&b, sizeof *k);
        DeviceLaunch *l = &launch[i];
        memcpy(l->grid, k->grid, sizeof l->grid);
        memcpy(l->block, k->block, sizeof l->block);
        memcpy(l->cluster, k->cluster, sizeof l->cluster);
        l->shared = k->shared;
        l->nparams = k->nparams;
        l->kernel = take(&b, (size_t)k->name);
        l->params = take(&b, (size_t)k->nparams * sizeof *l->params);
    }
    return p;
}
