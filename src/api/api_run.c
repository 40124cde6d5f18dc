// Running: arguments checked against the bound shapes, then the last step of the pipeline.
//
// Outputs may have any strides as long as no two of their elements, and no element of another
// argument, share memory. Disjoint address ranges settle that almost always; otherwise their
// strides are looked at (run/overlap.h).
#include "api/devices.h"

#include "base/checked.h"
#include "run/overlap.h"

#include <string.h>

// --- One argument --------------------------------------------------------------------------------

static bool complain(Call *call, const lw_function *f, int t, Diag *d) {
    diag_note(call->diags, d, nowhere, DIAG_DECLARED_AS, f->tensors[t].text);
    return false;
}

bool argument_fits(Call *call, const lw_bound *b, int t, const DLTensor *a) {
    const DLTensor *want = &b->tensors[t];
    const char *name = b->program->tensors.at[t].name;
    DiagList *diags = call->diags;
    Arena *arena = call->arena;
    Range at = declared(b->function, t);
    if (type_of(a->dtype) != type_of(want->dtype)) {
        Diag *d = diag_report(diags, at, DIAG_ARGUMENT_TYPE, name, dtype_name(arena, want->dtype),
                              dtype_name(arena, a->dtype));
        Type type = type_of(want->dtype);
        const char *numpy = type_info[type].numpy;
        complain(call, b->function, t, d);
        if (*numpy) diag_note(diags, d, nowhere, DIAG_ARGUMENT_TYPE_NOTE, name, numpy);
        return false;
    }
    if (a->ndim != want->ndim)
        return complain(call, b->function, t,
                        diag_report(diags, at, DIAG_ARGUMENT_RANK, name, want->ndim, a->ndim));
    if (a->ndim && !a->shape)
        return complain(call, b->function, t,
                        diag_report(diags, at, DIAG_ARGUMENT_NO_SHAPE, name, a->ndim));
    for (int d = 0; d < want->ndim; d++)
        if (a->shape[d] != want->shape[d])
            return complain(call, b->function, t,
                            diag_report(diags, at, DIAG_ARGUMENT_SHAPE, name,
                                        shape_text(arena, want->ndim, want->shape),
                                        shape_text(arena, a->ndim, a->shape)));
    bool there = call->device.device_type && a->device.device_type == call->device.device_type &&
                 a->device.device_id == call->device.device_id;
    if (!there && a->device.device_type != kDLCPU &&
        (int)a->device.device_type != 3 /* pinned host memory */) {
        diag_report(diags, at, DIAG_ARGUMENT_DEVICE, name, (int)a->device.device_type);
        return false;
    }
    return true;
}

static View view_of(const lw_bound *b, int t, const DLTensor *a) {
    const DLTensor *want = &b->tensors[t];
    return (View){
        .data = a->data ? (char *)a->data + a->byte_offset : NULL,
        .type = b->program->tensors.at[t].type,
        .rank = want->ndim,
        .size = want->shape,
        .stride = a->strides ? a->strides : want->strides,
    };
}

// Values that deciding on overlaps may try in one call: less than a millisecond.
enum { OVERLAP_TRIES = 1 << 14 };

// --- Overlap -------------------------------------------------------------------------------------

// The bytes of a view: from its lowest to its highest element. Empty when it has no elements.
typedef struct Extent {
    uintptr_t from, to;
    bool overflow;
} Extent;

static Extent extent_of(const View *v) {
    Extent e = {(uintptr_t)v->data, (uintptr_t)v->data, false};
    int64_t low = 0, high = 0, bytes = type_info[v->type].bytes;
    for (int d = 0; d < v->rank; d++)
        if (v->size[d] == 0) return e;
    for (int d = 0; d < v->rank; d++)
        if (!checked_fma(v->size[d] - 1, v->stride[d], v->stride[d] < 0 ? &low : &high))
            e.overflow = true;
    if (!checked_mul(low, bytes, &low) || !checked_add(high, 1, &high) ||
        !checked_mul(high, bytes, &high) ||
        __builtin_add_overflow(e.from, (uintptr_t)high, &e.to) ||
        __builtin_sub_overflow(e.from, (uintptr_t)-low, &e.from))
        e.overflow = true;
    return e;
}

static StridedArray strided(const View *v) {
    return (StridedArray){(uintptr_t)v->data, type_info[v->type].bytes, v->rank, v->size,
                          v->stride};
}

// Does output `o` share an element with argument `t`, or with itself when they are the same?
static OverlapAnswer overlap(const View *views, const Extent *extents, int o, int t,
                             int64_t *budget) {
    Extent a = extents[o], b = extents[t];
    if (a.from == a.to || b.from == b.to || a.to <= b.from || b.to <= a.from) return OVERLAP_NO;
    StridedArray x = strided(&views[o]), y = strided(&views[t]);
    return o != t ? overlap_test(&x, &y, budget) : overlap_itself(&x, budget);
}

static bool check_overlap(Call *call, const lw_bound *b, const View *views) {
    const Program *p = b->program;
    int n = p->ninputs + p->noutputs;
    Extent *extents = arena_new_n(call->arena, Extent, n);
    for (int t = 0; t < n; t++) {
        extents[t] = extent_of(&views[t]);
        if (extents[t].overflow) {
            diag_report(call->diags, declared(b->function, t), DIAG_ARGUMENT_STRIDES,
                        p->tensors.at[t].name);
            return false;
        }
    }
    int64_t budget = OVERLAP_TRIES;
    for (int o = p->ninputs; o < n; o++)
        for (int t = 0; t <= o; t++) {
            OverlapAnswer answer = overlap(views, extents, o, t, &budget);
            if (answer == OVERLAP_NO) continue;
            Range at = declared(b->function, o);
            if (answer == OVERLAP_UNDECIDED)
                diag_report(call->diags, at, DIAG_OVERLAP_UNDECIDED, p->tensors.at[o].name,
                            p->tensors.at[t].name);
            else if (o == t)
                diag_report(call->diags, at, DIAG_SELF_OVERLAP, p->tensors.at[o].name);
            else
                diag_report(call->diags, at, DIAG_OVERLAP, p->tensors.at[o].name,
                            p->tensors.at[t].name);
            return false;
        }
    return true;
}

// --- Running -------------------------------------------------------------------------------------

bool check_arguments(Call *call, const lw_bound *b, const DLTensor *const *args, size_t count,
                     View *views) {
    const Program *p = b->program;
    int n = p->ninputs + p->noutputs;
    if (count != (size_t)n || (n && !args)) {
        diag_report(call->diags, nowhere, DIAG_ARGUMENT_COUNT, p->name, p->ninputs, p->noutputs,
                    (int)count);
        return false;
    }
    bool ok = true;
    for (int t = 0; t < n; t++) {
        const Tensor *tensor = &p->tensors.at[t];
        if (!args[t] || (!args[t]->data && tensor_elements(tensor) > 0)) {
            diag_report(call->diags, declared(b->function, t), DIAG_ARGUMENT_MISSING, tensor->name);
            ok = false;
        } else if (!argument_fits(call, b, t, args[t])) {
            ok = false;
        } else {
            views[t] = view_of(b, t, args[t]);
        }
    }
    return ok && check_overlap(call, b, views);
}

// The first argument whose strides are not those that the kernel was compiled for.
static void report_strides(Call *call, const lw_bound *b, const KernelCode *k, const View *views) {
    const int64_t *strides = k->key;
    int t = 0;
    while (kernel_fits(k, views, t + 1)) strides += views[t++].rank;
    Diag *d =
        diag_report(call->diags, declared(b->function, t), DIAG_KERNEL_STRIDES,
                    b->program->tensors.at[t].name, shape_text(call->arena, views[t].rank, strides),
                    shape_text(call->arena, views[t].rank, views[t].stride));
    diag_note(call->diags, d, nowhere, DIAG_KERNEL_STRIDES_NOTE);
}

lw_status run_bound(Call *call, const lw_bound *b, const DLTensor *const *args, size_t count,
                    const lw_run_options *options) {
    return run_arguments(call, b, NULL, args, count, options);
}

lw_status run_arguments(Call *call, const lw_bound *b, const KernelCode *kernel,
                        const DLTensor *const *args, size_t count, const lw_run_options *options) {
    lw_run_options o;
    if (!options_copy(&o, sizeof o, options)) return call_misused(call, UNSIZED);
    if (o.timing && o.timing->struct_size < sizeof(size_t))
        return call_misused(call, "'timing' has no struct_size: set it to sizeof(lw_timing)");
    call_source(call, b->function->module);
    View *views = arena_new_n(call->arena, View, b->program->ninputs + b->program->noutputs);
    if (!device_accepts(call, &o)) return LW_ERROR;
    if (!check_arguments(call, b, args, count, views)) return LW_ERROR;
    Compilation c = compilation_of(call, b, &o.schedule);
    c.first = STEP_FIND;
    c.views = views;
    c.options = &o;
    c.args = args;
    c.timed = o.timing || call->ctx->trace;
    c.kernel = kernel;
    if (kernel && !kernel_fits(kernel, views, b->program->ninputs + b->program->noutputs)) {
        report_strides(call, b, kernel, views);
        return LW_ERROR;
    }
    lw_status status;
    if (pick_backend(&c, &status)) status = pipeline(&c, STEP_RUN);
    if (o.timing) {
        c.timing.struct_size = o.timing->struct_size;
        memcpy(o.timing, &c.timing,
               c.timing.struct_size < sizeof c.timing ? c.timing.struct_size : sizeof c.timing);
    }
    return status;
}

typedef struct RunCall {
    const lw_bound *bound;
    const DLTensor *const *args;
    size_t count;
    const lw_run_options *options;
} RunCall;

static lw_status run_body(Call *call, void *args) {
    RunCall *r = args;
    return run_bound(call, r->bound, r->args, r->count, r->options);
}

lw_status lw_run(lw_context *ctx, const lw_bound *b, const DLTensor *const *args, size_t count,
                 const lw_run_options *options) {
    if (!b) return call_null(ctx, "b");
    RunCall r = {b, args, count, options};
    return call_run(ctx, run_body, &r);
}

void view_arguments(const lw_bound *b, const DLTensor *const *args, View *views) {
    for (int t = 0; t < b->program->ninputs + b->program->noutputs; t++)
        views[t] = view_of(b, t, args && args[t] ? args[t] : &b->tensors[t]);
}

// --- Text forms ----------------------------------------------------------------------------------

typedef struct ShowCall {
    const Program *program;
    const lw_function *function;
    lw_stage stage;
    const char *text;
} ShowCall;

static lw_status show_body(Call *call, void *args) {
    ShowCall *s = args;
    if (s->stage != LW_STAGE_PROGRAM)
        return call_misused(call, "'stage' is %d; without sizes there is LW_STAGE_PROGRAM only",
                            (int)s->stage);
    if (s->function->tree) return function_is_tree(call, s->function);
    Text text = {.arena = call->arena};
    program_print(&text, s->program);
    s->text = text_str(&text);
    return LW_OK;
}

static lw_status show(lw_context *ctx, const Program *p, const lw_function *f, lw_stage stage,
                      const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    ShowCall s = {p, f, stage, NULL};
    lw_status status = call_run(ctx, show_body, &s);
    if (status == LW_OK) *out = s.text;
    return status;
}

lw_status lw_function_show(lw_context *ctx, const lw_function *f, lw_stage stage,
                           const char **out) {
    if (out) *out = NULL;
    return f ? show(ctx, f->program, f, stage, out) : call_null(ctx, "f");
}

lw_status lw_bound_show(lw_context *ctx, const lw_bound *b, lw_stage stage, const char **out) {
    if (stage != LW_STAGE_PROGRAM) return lw_bound_show_with(ctx, b, stage, NULL, out);
    if (out) *out = NULL;
    return b ? show(ctx, b->program, b->function, stage, out) : call_null(ctx, "b");
}
