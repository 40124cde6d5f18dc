// Which thread accesses an element. If the loops and threads of an address form the digits of a
// number (no digit reaches the weight of the next), each element belongs to one thread.
#include "code/gpu/gpu.h"

#include "base/checked.h"

#include <stdlib.h>

static int by_coef(const void *a, const void *b) {
    const GpuDigit *p = a, *q = b;
    return p->coef < q->coef ? -1 : p->coef > q->coef;
}

bool gpu_digits(const GpuProgram *g, const GpuKernel *k, const Access *a, GpuDigits *out) {
    Exprs *x = g->tree->exprs;
    const Buffer *b = &g->tree->buffers.at[a->tensor];
    const Affine *sum = affine_const(x, 0);
    *out = (GpuDigits){0};
    for (int d = 0; d < a->rank; d++)
        sum = affine_add(x, sum, affine_scale(x, a->sub[d], b->stride[d]));
    if (!sum->linear) return false;
    const Affine *other = affine_const(x, sum->constant);
    for (int i = 0; i < sum->n; i++) {
        int id = sum->term[i].atom->index;
        int64_t extent = g->hi[id] + 1;
        bool block = id >= g->hw && id < g->hw + GPU_THREAD_X,
             thread = id >= g->hw + GPU_THREAD_X && id < g->hw + GPU_AXES;
        if (thread) extent = k->size[id - g->hw];
        if (block) {
            other = affine_add(x, other, affine_make(x, 0, &sum->term[i], 1));
        } else if (extent > 1) {
            int axis = thread ? id - g->hw : -1;
            if (thread) out->axes |= 1u << axis;
            out->digit[out->n++] = (GpuDigit){sum->term[i].coef, extent, axis};
        }
    }
    out->other = other;
    qsort(out->digit, (size_t)out->n, sizeof *out->digit, by_coef);
    for (int i = 0; i < out->n; i++) {
        const GpuDigit *d = &out->digit[i];
        int64_t reach;
        if (d->coef <= 0) return false;
        if (i + 1 < out->n && (!checked_mul(d->coef, d->extent, &reach) || reach > d[1].coef))
            return false;
    }
    return true;
}

bool gpu_digits_equal(const GpuDigits *a, const GpuDigits *b) {
    if (a->n != b->n || a->other != b->other || a->axes != b->axes) return false;
    for (int i = 0; i < a->n; i++) {
        const GpuDigit *p = &a->digit[i], *q = &b->digit[i];
        if (p->coef != q->coef || p->extent != q->extent || p->axis != q->axis) return false;
    }
    return true;
}

const GpuAxis gpu_fastest[GPU_AXES - GPU_THREAD_X] = {
    GPU_LANE_0 + 5, GPU_LANE_0 + 4, GPU_LANE_0 + 3, GPU_LANE_0 + 2, GPU_LANE_0 + 1,
    GPU_LANE_0,     GPU_WARP_0 + 3, GPU_WARP_0 + 2, GPU_WARP_0 + 1, GPU_WARP_0,
    GPU_THREAD_X,   GPU_THREAD_Y,   GPU_THREAD_Z,
};

int64_t gpu_step(const GpuKernel *k, GpuAxis a) {
    int64_t step = 1;
    for (int i = 0; gpu_fastest[i] != a; i++) step *= k->size[gpu_fastest[i]];
    return step;
}

bool gpu_has_digits(const GpuKernel *k) { return gpu_used_axes(k) >> GPU_WARP_0; }

unsigned gpu_used_axes(const GpuKernel *k) {
    unsigned axes = 0;
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++)
        if (k->size[a] > 1) axes |= 1u << a;
    return axes;
}
