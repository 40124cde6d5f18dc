// Chooses the memory of each buffer: registers, local, shared or global memory.
//
// A buffer of a thread is in registers if all its subscripts are constant after unrolling,
// otherwise in local memory. A buffer of a block is treated in the same way if each thread accesses
// only its own elements (owned), or if all threads compute the same values (replicated): no thread
// then has to wait. Other buffers of a block are in shared memory; if that is too small, the
// largest move to scratch memory.
#include "code/gpu/gpu.h"

#include "base/checked.h"

enum { MOST_REGISTERS = 128 };

// Facts about all accesses of a buffer.
typedef struct AccessParts AccessParts;
typedef struct Uses {
    bool any, hard;
    const AccessParts *parts; // of the last access
    const Affine *rest;       // the part of the address that is not constant, in bytes
    unsigned axes;            // thread axes in `rest`
    int n;                    // number of different constants
    int64_t *constant;
    bool many;
    bool owned; // by threads: all accesses have equal digits
    GpuDigits digits;
    bool by_all; // all threads write equal values
    bool single; // only one of the threads runs some leaf that writes the buffer
    bool written;
} Uses;

typedef struct Placer {
    GpuProgram *g;
    GpuKernel *k;
    bool *unrolled, *serial; // per id: loops of that kind; serial loops with several iterations
    int64_t *extent;         // per id: iterations of unrolled loops
    Uses *use;               // per buffer
    const GpuNode *leaf;
    Numbers part_of; // by access
    VEC(AccessParts *) parts;
} Placer;

static void find_unrolled(Placer *p, const GpuNode *n) {
    if (n->kind == GPU_LOOP && n->unroll) {
        p->unrolled[n->id] = true;
        p->extent[n->id] = n->extent;
    }
    if (n->kind == GPU_LOOP && !n->unroll && n->extent > 1) p->serial[n->id] = true;
    for (int i = 0; i < n->child.n; i++) find_unrolled(p, n->child.at[i]);
}

static bool uses_loop(const Affine *a, const bool *which) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_ITER && which[t->index]) return true;
        if (t->a && uses_loop(t->a, which)) return true;
        if (t->b && uses_loop(t->b, which)) return true;
    }
    return false;
}

static bool nonlinear_unrolled(const Placer *p, const Affine *a) {
    return uses_loop(a, p->unrolled);
}

// The address of an access, divided into terms of unrolled loops, a constant, and the rest.
struct AccessParts {
    bool fine; // linear in unrolled loops, without run-time checks or data-dependent subscripts
    const Affine *rest;
    int64_t constant;
    int nterms;
    Term *term; // of unrolled loops
    bool digits_fine;
    GpuDigits digits;
};

static AccessParts take_apart(const Placer *p, const Access *a) {
    Exprs *x = p->g->tree->exprs;
    const Buffer *b = &p->g->tree->buffers.at[a->tensor];
    AccessParts out = {.fine = !a->has_read};
    const Affine *sum = affine_const(x, 0);
    if (a->has_read) return out;
    for (int d = 0; d < a->rank; d++)
        sum =
            affine_add(x, sum, affine_scale(x, a->sub[d], b->stride[d] * type_info[b->type].bytes));
    Term keep[AFFINE_MAX_TERMS];
    int n = 0;
    out.constant = sum->constant;
    out.term = arena_new_n(p->g->arena, Term, sum->n);
    for (int i = 0; i < sum->n; i++) {
        const Atom *t = sum->term[i].atom;
        if (t->kind == ATOM_ITER && p->unrolled[t->index])
            out.term[out.nterms++] = sum->term[i];
        else
            keep[n++] = sum->term[i];
    }
    out.rest = affine_make(x, 0, keep, n);
    // An unrolled loop in `rest` would give each of its values another rest; a serial loop would
    // select another element in each iteration.
    out.fine = !nonlinear_unrolled(p, out.rest) && !uses_loop(out.rest, p->serial);
    unsigned used = gpu_used_axes(p->k);
    out.digits_fine = gpu_digits(p->g, p->k, a, &out.digits) && (out.digits.axes & used) == used;
    return out;
}

static const AccessParts *parts_of(Placer *p, const Access *a) {
    int known = numbers_get(&p->part_of, a);
    if (known >= 0) return p->parts.at[known];
    AccessParts *parts = arena_new(p->g->arena, AccessParts);
    *parts = take_apart(p, a);
    numbers_put(&p->part_of, a, p->parts.n);
    vec_push(p->g->arena, &p->parts, parts);
    return parts;
}

static bool is_checked(const Placer *p) {
    const Program *program = p->g->tree->program;
    const Leaf *leaf = p->leaf->leaf;
    return program && leaf->stmt >= 0 && leaf->stmt < program->stmts.n &&
           program->stmts.at[leaf->stmt].unproven && !leaf->unchecked;
}

static void add_constant(Uses *u, int64_t c) {
    for (int i = 0; i < u->n; i++)
        if (u->constant[i] == c) return;
    if (u->n == MOST_REGISTERS)
        u->many = true;
    else
        u->constant[u->n++] = c;
}

// Adds the constants for all values of the unrolled loops of the terms from `t` on.
static void add_constants(const Placer *p, Uses *u, const AccessParts *parts, int t, int64_t sum) {
    if (t == parts->nterms) {
        add_constant(u, sum);
        return;
    }
    const Term *term = &parts->term[t];
    for (int64_t i = 0; i < p->extent[term->atom->index] && !u->many; i++)
        add_constants(p, u, parts, t + 1, sum + i * term->coef);
}

static void see_owner(const Placer *p, Uses *u, const AccessParts *parts) {
    bool fine = parts->digits_fine && !p->leaf->meet;
    if (u->any)
        u->owned =
            u->owned && fine && (u->parts == parts || gpu_digits_equal(&parts->digits, &u->digits));
    else
        u->owned = fine, u->digits = parts->digits;
    u->parts = parts;
}

static void see_use(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Placer *p = user;
    Uses *u = &p->use[a->tensor];
    const AccessParts *parts = parts_of(p, a);
    p->k->buffer[a->tensor].used = true;
    see_owner(p, u, parts);
    if (u->many) return;
    bool vector = p->leaf->vector > 1; // registers hold single elements
    if (!parts->fine || vector || is_checked(p) || (u->any && parts->rest != u->rest)) {
        u->hard = u->any = true;
        u->owned = false;
        return;
    }
    if (!u->any) {
        u->axes = gpu_axes_of(p->g, parts->rest);
        u->constant = arena_new_n(p->g->arena, int64_t, MOST_REGISTERS);
    }
    u->any = true;
    u->rest = parts->rest;
    add_constants(p, u, parts, 0, parts->constant);
}

static void leaf_axes(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Placer *p = user;
    const GpuBuffer *b = &p->k->buffer[a->tensor];
    Uses *u = &p->use[p->leaf->leaf->write->tensor];
    bool steady = b->space == GPU_GLOBAL ? !b->written : p->use[a->tensor].by_all;
    if (!steady || gpu_axes_of_access(p->g, a)) u->by_all = false;
}

static void expr_axes(const Placer *p, const Expr *e, unsigned *axes) {
    if (e->kind == EXPR_INDEX) *axes |= gpu_axes_of(p->g, e->index);
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) expr_axes(p, e->arg[i], axes);
}

static void see_leaf(Placer *p, const GpuNode *n) {
    const Leaf *leaf = n->leaf;
    Uses *u = &p->use[leaf->write->tensor];
    p->leaf = n;
    see_use(p, leaf->write, false);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], see_use, p);
    expr_visit_accesses(leaf->value, see_use, p);
    for (int i = 0; i < n->guard.n; i++) affine_visit_accesses(n->guard.at[i], see_use, p);
    u->written = true;
    p->k->buffer[leaf->write->tensor].written = true;
    if (!leaf->nontemporal) p->k->buffer[leaf->write->tensor].cached = true;
    if (n->single) u->single = true;
}

// Records every access that runs.
static void see_uses(Placer *p, const GpuNode *n) {
    if (n->kind == GPU_LEAF) see_leaf(p, n);
    if (n->kind == GPU_LOOP && n->unroll && n->extent <= 0) return;
    for (int i = 0; i < n->child.n; i++) see_uses(p, n->child.at[i]);
}

// Finds the buffers with equal values in all threads: every leaf that writes them computes its
// value from such buffers. A reduction over threads returns its result to all of them.
static void see_replicas(Placer *p, const GpuNode *n, bool *changed) {
    for (int i = 0; i < n->child.n; i++) see_replicas(p, n->child.at[i], changed);
    if (n->kind != GPU_LEAF || n->meet) return;
    Uses *u = &p->use[n->leaf->write->tensor];
    bool before = u->by_all;
    unsigned axes = 0;
    p->leaf = n;
    expr_axes(p, n->leaf->value, &axes);
    for (int i = 0; i < n->guard.n; i++) axes |= gpu_axes_of(p->g, n->guard.at[i]);
    if (axes) u->by_all = false;
    expr_visit_accesses(n->leaf->value, leaf_axes, p);
    *changed |= before != u->by_all;
}

static void release_single(const Placer *p, GpuNode *n) {
    if (n->kind == GPU_LEAF && p->k->buffer[n->leaf->write->tensor].space == GPU_REGISTER)
        n->single = 0;
    for (int i = 0; i < n->child.n; i++) release_single(p, n->child.at[i]);
}

static bool in_registers(const Placer *p, int i) {
    const GpuBuffer *b = &p->k->buffer[i];
    const Uses *u = &p->use[i];
    if (!u->any || u->hard || u->many || i < p->g->tree->nargs) return false;
    if (b->space == GPU_LOCAL) return true;
    if (b->space != GPU_SHARED || p->g->tree->buffers.at[i].home == HOME_SHARED) return false;
    if (u->by_all && !u->axes) return true;
    return u->owned && !u->single;
}

// --- Bytes -------------------------------------------------------------------------------------

static int64_t set_strides(GpuProgram *g, GpuBuffer *b, const Buffer *of) {
    int64_t *stride = arena_new_n(g->arena, int64_t, of->rank), bytes = type_info[of->type].bytes;
    int64_t last = 0;
    for (int d = 0; d < of->rank; d++) {
        stride[d] = of->stride[d] * bytes;
        last += max_i64(of->size[d] - 1, 0) * max_i64(stride[d], 0);
    }
    b->stride = stride;
    return last + bytes;
}

static int64_t up_to(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

static int64_t copies_of(const GpuKernel *k, const GpuBuffer *b) {
    int64_t n = 1;
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++)
        if (b->slices >> a & 1) n *= k->size[a];
    return n;
}

Swizzle gpu_swizzle(const Buffer *b, int first) {
    int64_t bytes = type_info[b->type].bytes;
    return swizzle_of(b->swizzle, b->rank - first < 2 ? bytes : b->stride[b->rank - 2] * bytes);
}

static void into_scratch(GpuProgram *g, GpuKernel *k, GpuBuffer *b) {
    int64_t blocks = gpu_blocks(k);
    b->space = GPU_GLOBAL;
    b->moved = b->per_block = true;
    b->block_bytes = b->bytes * copies_of(k, b);
    b->offset = g->scratch;
    g->scratch += up_to(b->block_bytes * blocks, 256);
}

// What a swizzle permutes belongs to one buffer.
static void lay_out_shared(GpuProgram *g, GpuKernel *k, GpuBuffer *b, const Buffer *of) {
    Swizzle z = gpu_swizzle(of, b->stages > 1);
    int64_t unit = swizzle_unit(z), from = up_to(k->shared, unit), bytes = up_to(b->bytes, unit);
    if (from + bytes * copies_of(k, b) > gpu_buffer_shared(g->machine)) {
        into_scratch(g, k, b);
        return;
    }
    b->swizzle = z;
    b->bytes = bytes;
    b->offset = from;
    k->shared = from + bytes * copies_of(k, b);
}

static void lay_out(GpuProgram *g, GpuKernel *k, int i) {
    const Buffer *of = &g->tree->buffers.at[i];
    GpuBuffer *b = &k->buffer[i];
    b->bytes = up_to(set_strides(g, b, of), 16);
    if (i < g->tree->nargs || !b->used) return;
    switch (b->space) {
    case GPU_SHARED: lay_out_shared(g, k, b, of); break;
    case GPU_LOCAL:
        b->offset = k->local;
        k->local += b->bytes;
        break;
    case GPU_GLOBAL:
        if (g->scratch_at[i] < 0) {
            g->scratch_at[i] = g->scratch;
            g->scratch += up_to(b->bytes, 256);
        }
        b->offset = g->scratch_at[i];
        break;
    case GPU_REGISTER: break;
    }
}

// Asynchronous copies can only fill shared memory.
static void release_async(const GpuKernel *k, GpuNode *n) {
    if (n->kind == GPU_LEAF && k->buffer[n->leaf->write->tensor].space != GPU_SHARED)
        n->async = false;
    for (int i = 0; i < n->child.n; i++) release_async(k, n->child.at[i]);
}

void gpu_place(GpuProgram *g, GpuKernel *k) {
    int n = g->tree->buffers.n;
    Placer p = {.g = g, .k = k, .part_of.arena = g->arena};
    p.unrolled = arena_new_n(g->arena, bool, g->nids);
    p.serial = arena_new_n(g->arena, bool, g->nids);
    p.extent = arena_new_n(g->arena, int64_t, g->nids);
    p.use = arena_new_n(g->arena, Uses, n);
    for (int i = 0; i < n; i++) p.use[i].by_all = k->buffer[i].space != GPU_GLOBAL;
    find_unrolled(&p, k->body);
    see_uses(&p, k->body);
    for (bool changed = true; changed;) {
        changed = false;
        see_replicas(&p, k->body, &changed);
    }
    for (int i = 0; i < n; i++)
        if (in_registers(&p, i)) k->buffer[i].space = GPU_REGISTER;
    release_single(&p, k->body);
    for (int i = 0; i < n; i++) lay_out(g, k, i);
    release_async(k, k->body);
}
