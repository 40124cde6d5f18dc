#include "space/gpu_bound.h"

#include "base/checked.h"
#include "program/points.h"
#include "space/bound_impl.h"
#include "space/cpu_impl.h"
#include "space/gpu_banks.h"
#include "space/gpu_space.h"
#include "tree/cost.h"

#include <math.h>

typedef struct GpuDim {
    int object, kind, size; // variables; size -1: the outermost of several levels
    bool reduction;
    int iter;
    int64_t extent;
} GpuDim;

// An access to an argument, with one iterator per subscript: its iterators, and elements between
// neighbours along each.
typedef struct GpuAccess {
    uint32_t iters;
    int pack;              // variable: a copy is read instead; -1: never
    int window;            // of the copy
    int bytes;             // of an element; 0: there is no such access
    double elements;       // different ones
    const int64_t *stride; // per iterator
    int rank;
    const int
        *dim; // per dimension of the tensor: its iterator, if it is that itself; -1: a constant
              // NULL: some dimension has another subscript
} GpuAccess;

typedef struct GpuStmt {
    int object;    // the computation
    int place;     // its variable
    double terms;  // of reductions, that are added to others
    double rate;   // multiply-adds per processor and cycle
    bool even;     // without conditions: iterations are those of the loops
    double points; // iterations, if it is even
    double length; // of one sum
    int ndims;
    const GpuDim *dim;
    int nreads;
    GpuAccess read[MANY_REFS], write;
} GpuStmt;

struct GpuBound {
    const GpuMachine *m;
    int nstmts;
    GpuStmt *stmt;
    double in, out; // bytes of arguments
};

enum {
    GRID = GPU_KIND_GRID_X | GPU_KIND_GRID_Y | GPU_KIND_GRID_Z | GPU_KIND_CLUSTER,
    DIGIT = GPU_KIND_WARP | GPU_KIND_LANE,
    THREAD = GPU_KIND_THREAD_X | GPU_KIND_THREAD_Y | GPU_KIND_THREAD_Z | DIGIT,
    INSIDE = GPU_KIND_SERIAL | GPU_KIND_UNROLL,
};

// --- The model -----------------------------------------------------------------------------------

// The iterators of an access with at most one per subscript, each in one subscript. False: it is no
// such access, so that neighbouring iterations may share elements.
static bool iters_of(const Stmt *s, const Access *a, uint32_t *iters) {
    *iters = 0;
    for (int d = 0; d < a->rank; d++) {
        const Affine *sub = a->sub[d];
        if (!sub->linear || sub->has_read || sub->n > 1) return false;
        for (int i = 0; i < s->niters && sub->n; i++) {
            if (!affine_uses_iter(sub, i)) continue;
            if (*iters >> i & 1) return false;
            *iters |= 1u << i;
        }
    }
    return true;
}

// Row-major strides.
static const int64_t *strides_of(Arena *arena, const Program *p, const Stmt *s, const Access *a) {
    int64_t *stride = arena_new_n(arena, int64_t, s->niters + 1), dense = 1;
    for (int d = a->rank - 1; d >= 0; d--) {
        for (int i = 0; i < s->niters; i++) stride[i] += affine_coef(a->sub[d], i) * dense;
        dense *= max_i64(tensor_size(&p->tensors.at[a->tensor], d), 1);
    }
    return stride;
}

// The iterator of each dimension, or NULL.
static const int *dims_of(Arena *arena, const Stmt *s, const Access *a) {
    int *dim = arena_new_n(arena, int, a->rank + 1);
    for (int d = 0; d < a->rank; d++) {
        dim[d] = -1;
        for (int i = 0; i < s->niters && a->sub[d]->n; i++)
            if (affine_coef(a->sub[d], i) == 1) dim[d] = i;
        if (a->sub[d]->n && dim[d] < 0) return NULL;
    }
    return dim;
}

static void set_pack(const CpuSpace *cs, int stmt, int tensor, GpuAccess *a) {
    const CpuHost *h = cs->host;
    for (int i = 0; i < h->copies.n; i++) {
        const CpuObject *w = &h->object[h->copies.at[i]];
        if (w->stmt != stmt || w->tensor != tensor) continue;
        a->window = h->copies.at[i];
        a->pack = space_var(cs->space, GPU_PACK, a->window - 1, -1, NULL);
        return;
    }
}

// False: it is not understood, and costs nothing.
static bool set_access(Arena *arena, const Program *p, const Stmt *s, const Access *a,
                       GpuAccess *out) {
    uint32_t iters;
    if (!iters_of(s, a, &iters)) return false;
    *out = (GpuAccess){.iters = iters,
                       .pack = -1,
                       .bytes = type_info[p->tensors.at[a->tensor].type].bytes,
                       .elements = 1,
                       .stride = strides_of(arena, p, s, a),
                       .rank = a->rank,
                       .dim = dims_of(arena, s, a)};
    for (int i = 0; i < s->niters; i++)
        if (iters >> i & 1) out->elements *= (double)iter_extent(&s->iter[i]);
    return true;
}

// Reads that every iteration performs, one of each argument: others may be of elements that a
// thread has in registers. What is stored to is a result of the caller.
static void set_accesses(Arena *arena, const CpuSpace *cs, int i, GpuStmt *x, const StmtFacts *f) {
    const Program *p = cs->program;
    for (int r = 0; r < f->nsure && x->nreads < MANY_REFS; r++) {
        const Access *a = f->sure[r];
        bool again = a->tensor >= p->ninputs;
        for (int k = 0; k < r && !again; k++) again = f->sure[k]->tensor == a->tensor;
        if (again || !set_access(arena, p, f->s, a, &x->read[x->nreads])) continue;
        set_pack(cs, i, a->tensor, &x->read[x->nreads++]);
    }
    int to = f->s->write->tensor;
    if (to >= p->ninputs && to < p->ninputs + p->noutputs && f->injective)
        set_access(arena, p, f->s, f->s->write, &x->write);
}

static void set_dims(Arena *arena, const CpuSpace *cs, int i, GpuStmt *x) {
    const CpuHost *h = cs->host;
    GpuDim *dim = arena_new_n(arena, GpuDim, h->ndims[i] + 1);
    x->ndims = h->ndims[i];
    x->dim = dim;
    for (int k = 0; k < x->ndims; k++) {
        int d = h->first_dim[i] + k;
        const CpuObject *o = &h->object[d];
        dim[k] = (GpuDim){.object = d,
                          .kind = space_var(cs->space, GPU_KIND, d, -1, NULL),
                          .size = space_var(cs->space, GPU_SIZE, d, -1, NULL),
                          .reduction = o->reduction,
                          .iter = o->iter,
                          .extent = o->extent};
    }
}

// A statement with terms to add; others take no arithmetic that could not be shared.
static void set_stmt(Arena *arena, const CpuSpace *cs, const GpuMachine *m, int i, GpuStmt *x) {
    const StmtFacts *f = &cs->facts->stmt[i];
    const Stmt *s = f->s;
    bool exact = true;
    double points = stmt_points(s, &exact), results = 1, sum = 1;
    for (int k = 0; k < s->niters; k++) {
        double n = (double)max_i64(iter_extent(&s->iter[k]), 0);
        *(s->iter[k].reduction ? &sum : &results) *= n;
    }
    x->object = cs->host->comp[i];
    x->place = space_var(cs->space, GPU_PLACE, x->object, -1, NULL);
    x->even = !s->nconstraints;
    x->rate = cs->program->tensors.at[s->write->tensor].type == TYPE_F64 ? m->fma_f64 : m->fma_f32;
    set_dims(arena, cs, i, x);
    if (!exact || f->empty) return;
    bool sums = cpu_reduces(f);
    if (sums) x->terms = fmax(points - results, 0); // the first one costs nothing
    if (!x->even) return;
    x->points = points;
    x->length = sums ? sum : 0;
    if (s->niters <= 32) set_accesses(arena, cs, i, x, f);
}

static void set_bytes(Arena *arena, const Program *p, struct GpuBound *g) {
    const double *touched = program_touches(arena, p);
    for (int i = 0; i < p->ninputs + p->noutputs; i++) {
        double bytes = touched[i] * type_info[p->tensors.at[i].type].bytes;
        *(i < p->ninputs ? &g->in : &g->out) += bytes;
    }
}

BoundModel *gpu_bound_new(Arena *arena, const CpuSpace *cs, const BoundOptions *o) {
    if (!o->machine->gpu) return NULL;
    struct GpuBound *g = arena_new(arena, struct GpuBound);
    BoundModel *b = arena_new(arena, BoundModel);
    int n = cs->program->stmts.n;
    *g = (struct GpuBound){.m = o->machine->gpu, .nstmts = n};
    g->stmt = arena_new_n(arena, GpuStmt, n + 1);
    for (int i = 0; i < n; i++) set_stmt(arena, cs, g->m, i, &g->stmt[i]);
    set_bytes(arena, cs->program, g);
    *b = (BoundModel){
        .cs = cs, .p = cs->program, .plant = o->plant > 0 ? o->plant : 1, .nstmts = n, .gpu = g};
    return b;
}

// --- What a candidate leaves possible ------------------------------------------------------------

typedef struct GpuShape {
    bool marked;          // by itself: its loops are not divided by the mapping
    double blocks;        // at most
    double threads;       // of a block, at most
    double least_blocks;  // at least
    double least_threads; // of a block, at least
    double split;         // parts of a sum that different threads add, at most
    bool decided;         // blocks == least_blocks, all of the same size
    bool whole;           // a block adds all terms of its sums
} GpuShape;

typedef struct GpuRange {
    double least, most;
} GpuRange;

// The iterations of a loop. Those of a tile are fewer than its size if the range is smaller.
static GpuRange iterations(const BoundModel *b, const Cand *c, const GpuDim *d) {
    const Space *s = b->cs->space;
    int64_t min, max;
    space_count(s, c, GPU_STEP, d->object, -1, &min, &max);
    GpuRange n = {(double)ceil_div(d->extent, max_i64(max, 1)),
                  (double)ceil_div(d->extent, max_i64(min, 1))};
    if (d->size < 0) return n;
    uint64_t dom = space_domain(s, c, d->size);
    return (GpuRange){fmin(n.least, (double)space_value(s, d->size, __builtin_ctzll(dom))),
                      fmin(n.most, (double)space_value(s, d->size, 63 - __builtin_clzll(dom)))};
}

static bool is_even(const BoundModel *b, const Cand *c, const GpuDim *d) {
    int64_t min, max;
    space_count(b->cs->space, c, GPU_STEP, d->object, -1, &min, &max);
    return min == max && min > 0 && d->extent % min == 0;
}

static GpuShape shape_of(const BoundModel *b, const Cand *c, const GpuStmt *x) {
    GpuShape g = {.blocks = 1, .threads = 1, .least_blocks = 1, .least_threads = 1, .split = 1};
    g.decided = g.whole = true;
    bool any_thread = false;
    for (int i = 0; i < x->ndims; i++) {
        uint64_t kind = space_domain(b->cs->space, c, x->dim[i].kind);
        if (!kind) continue;
        GpuRange n = iterations(b, c, &x->dim[i]);
        g.marked |= !(kind & INSIDE);
        if (kind & GRID) g.blocks *= n.most;
        if (kind & GRID) g.decided &= !(kind & ~(uint64_t)GRID) && is_even(b, c, &x->dim[i]);
        if (!(kind & ~(uint64_t)GRID)) g.least_blocks *= n.least;
        if (kind & THREAD) g.threads = fmin(g.threads * n.most, 1024);
        any_thread |= (kind & THREAD) != 0;
        if (!(kind & ~(uint64_t)THREAD)) g.least_threads *= n.least;
        if (x->dim[i].reduction && (kind & GRID)) g.whole = false;
        if (x->dim[i].reduction && (kind & (GRID | THREAD))) g.split *= n.most;
    }
    if (!any_thread) g.threads = 1024; // all of the block divide it
    g.least_threads = fmin(g.least_threads, 1024);
    return g;
}

// The domain of a decision about two objects; 0: there is none, as for loops of steps, around which
// the space arranges nothing.
static uint64_t domain_of(const Space *s, const Cand *c, int choice, int a, int b) {
    return space_var(s, choice, a, b, NULL) < 0 ? 0 : space_ask(s, c, choice, a, b);
}

// Bytes of shared memory of a copy, once they are decided: what the threads share of one iteration
// of the loop around it, in every stage.
static double copy_bytes(const BoundModel *b, const Cand *c, const GpuStmt *x, const GpuAccess *a) {
    const Space *s = b->cs->space;
    double bytes = a->bytes;
    bool shared = false;
    if (a->pack < 0 || space_domain(s, c, a->pack) != GPU_PACK_YES) return 0;
    if (space_ask(s, c, GPU_HOME, a->window + 1, -1) != GPU_HOME_SHARED) return 0;
    for (int i = 0; i < x->ndims; i++) {
        const GpuDim *d = &x->dim[i];
        uint64_t at = domain_of(s, c, GPU_AT, a->window, d->object);
        GpuRange n = iterations(b, c, d);
        if (at == GPU_AT_INSIDE) continue;
        if (at != GPU_AT_OUTSIDE || n.least != n.most) return 0;
        shared |= n.most > 1 && !(space_domain(s, c, d->kind) & ~(uint64_t)THREAD);
        if (a->iters >> d->iter & 1) bytes *= n.most;
    }
    int stages = space_var(s, GPU_STAGES, a->window, -1, NULL);
    uint64_t values = space_domain(s, c, stages);
    if (!shared || values & (values - 1)) return 0; // one thread's copy may be in registers
    return bytes * (double)space_value(s, stages, __builtin_ctzll(values));
}

// The least number of waves in which the blocks run: each processor holds a few blocks at a time,
// limited by threads, shared memory, and the registers of results that are summed side by side.
// (Results in memory instead would take ten times the latency.)
static double waves(const BoundModel *b, const Cand *c, const GpuStmt *x, const GpuShape *g) {
    const GpuMachine *m = b->gpu->m;
    double shared = 0;
    int64_t sums = 0, most;
    for (int r = 0; r < x->nreads; r++) { // if it does not fit beside others, these take the rest
        double bytes = copy_bytes(b, c, x, &x->read[r]);
        shared = fmax(shared, fmin(bytes, gpu_block_shared(m) - bytes));
    }
    if (x->length > 0) space_count(b->cs->space, c, GPU_SUMMED, x->object, -1, &sums, &most);
    int resident = gpu_resident_blocks(m, (int)g->least_threads, (int)sums, (int)shared);
    return ceil(g->least_blocks / ((double)max_i64(resident, 1) * m->processors));
}

// --- Sectors -------------------------------------------------------------------------------------

// Elements that one step of a loop moves along an access: an iteration takes neighbours (BLOCK), or
// elements as far apart as the loop has iterations. False: not decided.
static bool element_step(const BoundModel *b, const Cand *c, const GpuStmt *x, int dim,
                         const GpuAccess *r, int64_t *step) {
    const Space *s = b->cs->space;
    const GpuDim *d = &x->dim[dim];
    int64_t min, max;
    *step = r->stride[d->iter];
    for (int i = 0; i <= dim; i++) {
        if (x->dim[i].iter != d->iter) continue;
        int split = space_var(s, GPU_SPLIT, x->dim[i].object, -1, NULL);
        uint64_t values = split < 0 ? GPU_SPLIT_BLOCK : space_domain(s, c, split);
        if (values & (values - 1)) return false;
        bool apart = values == GPU_SPLIT_INTERLEAVE;
        GpuRange n = iterations(b, c, &x->dim[i]);
        if (n.least != n.most) return false;
        if (apart && i < dim) *step *= (int64_t)n.most;
        if (apart || i < dim) continue;
        space_count(s, c, GPU_STEP, x->dim[i].object, -1, &min, &max);
        if (min != max || min <= 0) return false;
        *step *= min;
    }
    return true;
}

static bool is_inside(const BoundModel *b, const Cand *c, const GpuDim *d, const GpuDim *e) {
    return domain_of(b->cs->space, c, GPU_ORDER, d->object, e->object) == GPU_ORDER_INNER;
}

// May a loop that stays in each thread select results inside of threads that divide their sums?
// Unless it is unrolled, the threads divide something else than the marks say.
static bool may_divide_otherwise(const BoundModel *b, const Cand *c, const GpuStmt *x) {
    const Space *s = b->cs->space;
    for (int r = 0; r < x->ndims; r++) {
        if (!x->dim[r].reduction || !(space_domain(s, c, x->dim[r].kind) & THREAD)) continue;
        for (int e = 0; e < x->ndims; e++) {
            const GpuDim *d = &x->dim[e];
            bool stays = !d->reduction && (space_domain(s, c, d->kind) & INSIDE);
            if (!stays || iterations(b, c, d).most <= 1) continue;
            if (domain_of(s, c, GPU_ORDER, d->object, x->dim[r].object) != GPU_ORDER_OUTER)
                return true;
        }
    }
    return false;
}

// The loops over threads from the fastest on: lanes and warps from the innermost, or x, y and z.
// Their number; -1: not decided.
static int thread_loops(const BoundModel *b, const Cand *c, const GpuStmt *x, int *loop) {
    static const uint64_t kinds[] = {GPU_KIND_LANE, GPU_KIND_WARP, GPU_KIND_THREAD_X,
                                     GPU_KIND_THREAD_Y, GPU_KIND_THREAD_Z};
    int n = 0;
    if (may_divide_otherwise(b, c, x)) return -1;
    for (int k = 0; k < 5; k++) {
        int first = n;
        for (int i = 0; i < x->ndims; i++) {
            uint64_t kind = space_domain(b->cs->space, c, x->dim[i].kind);
            if (!(kind & kinds[k])) continue;
            if (kind != kinds[k]) return -1;
            int at = n++;
            for (; at > first && is_inside(b, c, &x->dim[i], &x->dim[loop[at - 1]]); at--)
                loop[at] = loop[at - 1];
            loop[at] = i;
        }
        for (int i = first; i + 1 < n; i++)
            if (!is_inside(b, c, &x->dim[loop[i]], &x->dim[loop[i + 1]])) return -1;
    }
    return n;
}

// Threads of the first warp: addresses of the access as bytes. Their number; 0: not decided, or
// other warps differ from the first one by more than a distance, and `alike` requests that they do
// not.
static int warp_addresses(const BoundModel *b, const Cand *c, const GpuStmt *x, const GpuAccess *r,
                          bool alike, int64_t *address) {
    int loop[PROGRAM_MAX_ITERS * CPU_MAX_LEVELS], n = 1;
    int loops = thread_loops(b, c, x, loop);
    if (loops <= 0) return 0; // without thread loops the mapping divides the nest
    address[0] = 0;
    for (int i = 0; i < loops; i++) {
        GpuRange size = iterations(b, c, &x->dim[loop[i]]);
        int64_t step;
        if (size.least != size.most || !element_step(b, c, x, loop[i], r, &step)) return 0;
        int before = n;
        if (alike && n < 32 && 32 % (before * (int)size.most) && before * (int)size.most % 32)
            return 0;
        for (int k = 1; k < (int)size.most && n < 32; k++)
            for (int l = 0; l < before && n < 32; l++)
                address[n++] = address[l] + k * step * r->bytes;
    }
    return n;
}

// Sectors of 32 bytes that these addresses touch, wherever the tensor begins.
static int least_sectors(const int64_t *address, int n, int bytes) {
    int least = n;
    for (int base = 0; base < 32; base += bytes) {
        int count = 0;
        for (int i = 0; i < n; i++) {
            bool seen = false;
            for (int k = 0; k < i && !seen; k++)
                seen = floor_div(address[k] + base, 32) == floor_div(address[i] + base, 32);
            count += !seen;
        }
        if (count < least) least = count;
    }
    return least;
}

// Cycles of a processor that one element of each thread of a warp takes, divided by the threads: a
// vector of 16 bytes takes as many sectors as its first element, and four sectors take a cycle.
static double sector_cycles(const BoundModel *b, const Cand *c, const GpuStmt *x,
                            const GpuAccess *r) {
    int64_t address[32];
    if (r->bytes > 16) return 0;
    if (r->pack >= 0 && space_domain(b->cs->space, c, r->pack) != GPU_PACK_NO) return 0;
    int n = warp_addresses(b, c, x, r, false, address);
    if (n == 0) return 0;
    double vector = 16.0 / r->bytes;
    return least_sectors(address, n, r->bytes) / (4 * vector * n);
}

// --- Banks ---------------------------------------------------------------------------------------

// The only value that a choice of integers may still have; -1: several, or no such choice.
static int64_t only_value(const Space *s, const Cand *c, int choice, int object) {
    int var = space_var(s, choice, object, -1, NULL);
    uint64_t values = var < 0 ? 0 : space_domain(s, c, var);
    return !values || values & (values - 1) ? -1 : space_value(s, var, __builtin_ctzll(values));
}

// Elements of a copy in shared memory along each iterator: what the loops inside it take. False:
// not decided, or threads have copies of their own, or their elements lie apart.
static bool box_of(const BoundModel *b, const Cand *c, const GpuStmt *x, const GpuAccess *r,
                   int64_t *box) {
    const Space *s = b->cs->space;
    for (int i = 0; i < PROGRAM_MAX_ITERS; i++) box[i] = 1;
    for (int i = 0; i < x->ndims; i++) {
        const GpuDim *d = &x->dim[i];
        GpuRange n = iterations(b, c, d);
        uint64_t at = domain_of(s, c, GPU_AT, r->window, d->object);
        int split = space_var(s, GPU_SPLIT, d->object, -1, NULL);
        bool block = split < 0 || space_domain(s, c, split) == GPU_SPLIT_BLOCK;
        if (n.least != n.most || !block || (at != GPU_AT_INSIDE && at != GPU_AT_OUTSIDE))
            return false;
        if (at == GPU_AT_INSIDE && n.most > 1 && (space_domain(s, c, d->kind) & THREAD))
            return false;
        if (at == GPU_AT_OUTSIDE) box[d->iter] = min_i64(box[d->iter] * (int64_t)n.most, INT32_MAX);
    }
    return true;
}

// The access as one to the copy: strides of its rows, which are padded as code/gpu does it. False:
// not decided, or the copy has another layout.
static bool copy_access(const BoundModel *b, const Cand *c, const GpuStmt *x, const GpuAccess *r,
                        int64_t *stride, GpuAccess *out) {
    enum { PADDING = 16, WORD = 4 };
    const Space *s = b->cs->space;
    int64_t box[PROGRAM_MAX_ITERS], dense = 1;
    int region = r->window + 1;
    if (!r->dim || space_domain(s, c, r->pack) != GPU_PACK_YES ||
        space_ask(s, c, GPU_HOME, region, -1) != GPU_HOME_SHARED ||
        space_ask(s, c, GPU_LAYOUT, region, -1) != GPU_LAYOUT_ROW_MAJOR ||
        only_value(s, c, GPU_SWIZZLE, region) != 0 || !box_of(b, c, x, r, box))
        return false;
    for (int i = 0; i < PROGRAM_MAX_ITERS; i++) stride[i] = 0;
    for (int d = r->rank - 1; d >= 0; d--) {
        int i = r->dim[d];
        int64_t extent = 1;
        for (int k = 0; k < x->ndims && i >= 0; k++)
            if (x->dim[k].iter == i) extent = max_i64(extent, x->dim[k].extent);
        if (i >= 0) stride[i] = dense;
        dense *= i >= 0 ? min_i64(box[i], extent) : 1;
        bool pads = d == r->rank - 1 && r->rank > 1 && r->bytes >= WORD;
        if (pads && dense * r->bytes % (2 * PADDING) == 0) dense += PADDING / r->bytes;
    }
    *out = *r;
    out->stride = stride;
    return true;
}

// The fewest cycles for loads of a warp, wherever the copy's elements begin within a word.
static int least_bank_cycles(int64_t *address, int n, int bytes) {
    enum { WORD = 4 };
    int least = gpu_bank_cycles(address, n, bytes);
    for (int shift = bytes; shift < WORD; shift += bytes) {
        for (int i = 0; i < n; i++) address[i] += bytes;
        least = (int)min_i64(least, gpu_bank_cycles(address, n, bytes));
    }
    return least;
}

// Cycles of shared memory that one element of each thread of a warp takes, divided by the threads.
// Threads load vectors of the width that takes the fewest, of those that the distances between
// threads allow; elements of less than a word are loaded one by one.
static double bank_cycles(const BoundModel *b, const Cand *c, const GpuStmt *x,
                          const GpuAccess *r) {
    enum { WORD = 4, VECTOR = 16 };
    int64_t stride[PROGRAM_MAX_ITERS], address[32];
    GpuAccess copy;
    if (r->pack < 0 || !copy_access(b, c, x, r, stride, &copy)) return 0;
    int n = warp_addresses(b, c, x, &copy, true, address);
    if (n == 0) return 0;
    double best = INFINITY;
    for (int bytes = r->bytes; bytes <= (r->bytes < WORD ? r->bytes : VECTOR); bytes *= 2) {
        bool aligned = true;
        for (int i = 0; i < n; i++) aligned &= address[i] % bytes == 0;
        double elements = (double)bytes / r->bytes * n;
        if (aligned) best = fmin(best, least_bank_cycles(address, n, bytes) / elements);
    }
    return best;
}

// Elements that a thread may use without loading them again.
static double reuse(const BoundModel *b, const Cand *c, const GpuStmt *x, uint32_t iters) {
    double n = 1;
    for (int i = 0; i < x->ndims; i++) {
        const GpuDim *d = &x->dim[i];
        if (iters >> d->iter & 1) continue;
        if (space_domain(b->cs->space, c, d->kind) & INSIDE) n *= iterations(b, c, d).most;
    }
    return n;
}

// --- Times ---------------------------------------------------------------------------------------

typedef struct GpuPart {
    double seconds[BOUND_KINDS];
    GpuShape shape;
    bool limited;
} GpuPart;

// Of a statement whose blocks and threads have limits: processors in use, and lanes of all of them
// that work in each cycle, at `rate` lanes of a processor.
static double processors_of(const GpuMachine *m, const GpuPart *p) {
    return p->limited ? fmin(m->processors, p->shape.blocks) : m->processors;
}
static double lanes_of(const GpuMachine *m, const GpuStmt *x, const GpuPart *p, double rate) {
    double processors = processors_of(m, p), blocks = p->shape.blocks;
    if (!p->limited) return rate * processors;
    double full = fmin(1, p->shape.threads / 32); // a warp takes its time with any lanes
    double lanes = fmin(rate * processors * full, blocks * p->shape.threads);
    if (p->shape.decided && x->even && blocks > processors)
        lanes *= blocks / (processors * ceil(blocks / processors)); // the last wave
    return lanes;
}

// Loads and stores: their instructions beside those of the sums, cycles of the memory pipe, and
// every element once between L2 and the processors in use.
static void add_accesses(const BoundModel *b, const Cand *c, const GpuStmt *x, GpuPart *p) {
    const GpuMachine *m = b->gpu->m;
    double hertz = m->ghz * 1e9, processors = processors_of(m, p);
    double instructions = x->terms, loads = 0, stores = 0, in = 0;
    for (int r = 0; r < x->nreads; r++) {
        const GpuAccess *a = &x->read[r];
        double n = fmax(x->points / reuse(b, c, x, a->iters), a->elements);
        instructions += n * a->bytes / 16;
        // Four elements for every lane of a warp take a cycle at least.
        double cycles = fmax(sector_cycles(b, c, x, a), bank_cycles(b, c, x, a));
        loads += n * fmax(1 / m->shared_bytes, cycles);
        in += a->elements * a->bytes;
    }
    if (x->write.bytes) {
        instructions += x->write.elements * x->write.bytes / 16;
        stores = x->write.elements * fmax(1 / m->shared_bytes, sector_cycles(b, c, x, &x->write));
    }
    double out = x->write.bytes * x->write.elements;
    p->seconds[BOUND_ISSUE] = instructions / (lanes_of(m, x, p, 32 * m->issue) * hertz);
    p->seconds[BOUND_LOAD] = loads / (processors * hertz);
    p->seconds[BOUND_STORE] = stores / (processors * hertz);
    p->seconds[BOUND_L2] = fmax(in, out) / (m->l2_read * processors * hertz);
}

static GpuPart part_of(const BoundModel *b, const Cand *c, const GpuStmt *x) {
    const GpuMachine *m = b->gpu->m;
    GpuPart p = {.shape = shape_of(b, c, x)};
    uint64_t place = space_domain(b->cs->space, c, x->place);
    double hertz = m->ghz * 1e9;
    p.limited = place == GPU_PLACE_NEST && p.shape.marked;
    p.seconds[BOUND_COMPUTE] = x->terms / (lanes_of(m, x, &p, x->rate) * hertz);
    if (place != GPU_PLACE_NEST) return p;
    if (x->length > 0)
        p.seconds[BOUND_CHAIN] = (x->length / p.shape.split - 1) * m->arithmetic / hertz;
    if (p.limited && p.shape.whole) p.seconds[BOUND_CHAIN] *= waves(b, c, x, &p.shape);
    if (p.limited) add_accesses(b, c, x, &p);
    return p;
}

static double evaluate(const BoundModel *b, const Cand *c, BoundTerm *terms, GpuPart *parts) {
    static const double each_block = 0.3e-9;
    const struct GpuBound *g = b->gpu;
    const GpuMachine *m = g->m;
    double sum = 0, most = 0, blocks = 0;
    BoundTerm t[BOUND_KINDS] = {{0}};
    for (int k = 0; k < BOUND_KINDS; k++) t[k].stmt = -1;
    for (int i = 0; i < g->nstmts; i++) {
        GpuPart p = part_of(b, c, &g->stmt[i]);
        if (parts) parts[i] = p;
        sum += g->stmt[i].terms / (g->stmt[i].rate * m->processors * m->ghz * 1e9);
        for (int k = 0; k < BOUND_KINDS; k++)
            if (p.seconds[k] > t[k].seconds) t[k] = (BoundTerm){p.seconds[k], i};
        if (p.limited && p.shape.least_blocks > blocks) blocks = p.shape.least_blocks;
    }
    if (sum > t[BOUND_COMPUTE].seconds) t[BOUND_COMPUTE] = (BoundTerm){sum, BOUND_SEVERAL};
    double all = fmax(g->in, g->out) / fmin(m->l2, m->l2_read * m->processors * m->ghz * 1e9);
    if (all > t[BOUND_L2].seconds) t[BOUND_L2] = (BoundTerm){all, -1};
    t[BOUND_MEMORY].seconds =
        fmax(g->in + g->out - (double)m->l2_bytes, 0) / fmax(m->read, m->write);
    for (int k = 0; k < BOUND_KINDS; k++) most = fmax(most, t[k].seconds);
    t[BOUND_LAUNCH].seconds = m->launch + blocks * each_block / m->processors * 132;
    if (terms) memcpy(terms, t, sizeof t);
    return (most + t[BOUND_LAUNCH].seconds) * b->plant;
}

double gpu_bound_seconds(const BoundModel *b, const Cand *c, BoundTerm *terms) {
    if (space_dead(b->cs->space, c)) {
        for (int k = 0; terms && k < BOUND_KINDS; k++) terms[k] = (BoundTerm){0, -1};
        return INFINITY;
    }
    return evaluate(b, c, terms, NULL);
}

int gpu_resident_blocks(const GpuMachine *m, int threads, int registers, int shared) {
    int warps = (threads + 31) / 32, most = m->blocks;
    int each = (registers + 7) / 8 * 8 * 32 * warps; // allocated by 256 per warp
    if (warps * 32 * most > m->threads) most = m->threads / (warps * 32);
    if (each > 0 && most > m->registers / each) most = m->registers / each;
    if (most > m->shared / (shared + m->reserved)) most = m->shared / (shared + m->reserved);
    return most;
}

// --- For people ----------------------------------------------------------------------------------

static void add_time(Text *out, double seconds) {
    size_t from = out->len;
    bool small = seconds < 1e-6, middle = seconds < 1e-3;
    text_printf(out, "%.3g %s",
                seconds * (small    ? 1e9
                           : middle ? 1e6
                                    : 1e3),
                small    ? "ns"
                : middle ? "us"
                         : "ms");
    while (out->len < from + 10) text_char(out, ' ');
}

static void add_why(Text *out, const GpuStmt *x, const GpuPart *p, BoundKind kind) {
    if (kind == BOUND_CHAIN)
        text_printf(out, " %.3g terms one after the other, at least %.4g block%s",
                    x->length / p->shape.split, p->shape.least_blocks,
                    p->shape.least_blocks > 1 ? "s" : "");
    else if (kind == BOUND_LOAD)
        text_add(out, " elements that registers do not keep, by sectors and banks");
    else if (kind == BOUND_STORE)
        text_add(out, " results, by sectors of global memory");
    else if (kind == BOUND_ISSUE)
        text_printf(out, " %.3g terms, with loads and stores of 16 bytes", x->terms);
    else if (kind == BOUND_L2)
        text_printf(out, " its arguments once, at most %.4g block%s", p->shape.blocks,
                    p->shape.blocks > 1 ? "s" : "");
    else if (!p->limited)
        text_printf(out, " %.3g terms, all processors", x->terms);
    else
        text_printf(out, " %.3g terms, at most %.4g block%s of %.4g threads", x->terms,
                    p->shape.blocks, p->shape.blocks > 1 ? "s" : "", p->shape.threads);
}

void gpu_bound_explain(Text *out, const BoundModel *b, const Cand *c) {
    BoundTerm terms[BOUND_KINDS];
    GpuPart *parts = arena_new_n(out->arena, GpuPart, b->nstmts + 1);
    bool done[BOUND_KINDS] = {false};
    bound_summary(out, b, c);
    if (space_dead(b->cs->space, c)) return;
    evaluate(b, c, terms, parts);
    for (int n = 0; n < BOUND_KINDS; n++) { // the largest first
        int best = -1;
        for (int k = 0; k < BOUND_KINDS; k++)
            if (!done[k] && (best < 0 || terms[k].seconds > terms[best].seconds)) best = k;
        done[best] = true;
        if (terms[best].seconds <= 0) return;
        text_printf(out, "  %-14s ", bound_name[best]);
        add_time(out, terms[best].seconds);
        if (best == BOUND_L2 || best == BOUND_MEMORY)
            text_add(out, best == BOUND_L2 ? " every argument once" : " what L2 does not hold");
        if (best == BOUND_LAUNCH) text_add(out, " one kernel, added to the largest");
        text_char(out, '\n');
        for (int i = 0; i < b->nstmts; i++) {
            if (parts[i].seconds[best] <= 0) continue;
            text_printf(out, "    %-12s ", b->cs->space->name[b->cs->host->comp[i]]);
            add_time(out, parts[i].seconds[best]);
            add_why(out, &b->gpu->stmt[i], &parts[i], (BoundKind)best);
            text_char(out, '\n');
        }
    }
}
