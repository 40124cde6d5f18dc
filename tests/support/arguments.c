#include "support/arguments.h"

#include <string.h>

#include "base/kernel_abi.h"

static size_t view_bytes(const View *v) {
    size_t n = (size_t)type_info[v->type].bytes;
    for (int d = 0; d < v->rank; d++) n *= (size_t)v->size[d];
    return n;
}

Arguments arguments_new(Arena *arena, const LabData *data, InterpFlags flags, int64_t scratch,
                        bool low) {
    Arguments a = {.n = data->n,
                   .at = arena_new_n(arena, Guarded, data->n + 1),
                   .buffers = arena_new_n(arena, void *, data->n + 1),
                   .flags = (flags.accumulate ? KERNEL_ACCUMULATE : 0u) |
                            (flags.skip_post ? KERNEL_SKIP_POST : 0u)};
    for (int i = 0; i < a.n; i++) {
        size_t bytes = view_bytes(&data->view[i]);
        a.at[i] = guarded_new(bytes, (size_t)type_info[data->view[i].type].bytes, low);
        if (bytes) memcpy(a.at[i].data, data->view[i].data, bytes);
        a.buffers[i] = a.at[i].data;
    }
    a.at[a.n] = guarded_new((size_t)scratch, 64, low);
    a.scratch = a.at[a.n].data;
    return a;
}

bool arguments_end(const Arguments *a, const LabData *data) {
    bool clean = true;
    for (int i = 0; i <= a->n; i++) {
        clean &= guarded_untouched(&a->at[i]);
        if (i < a->n && a->at[i].bytes) memcpy(data->view[i].data, a->at[i].data, a->at[i].bytes);
        guarded_free(&a->at[i]);
    }
    return clean;
}
