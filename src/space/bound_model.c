// The facts of the lower bound that no decision changes: iterations, operations and accesses of
// each statement, and the offsets of its decisions in a candidate; rates of the machine; and the
// traffic of the Program in any loop order.
#include "space/bound_impl.h"

#include "program/points.h"

#include "base/checked.h"
#include "base/map.h"
#include "space/cpu_impl.h"
#include "space/cpu_space.h"

#include <math.h>
#include <string.h>

// --- Accesses ------------------------------------------------------------------------------------

static uint32_t access_iters(const Access *a, int niters) {
    uint32_t mask = 0;
    for (int d = 0; d < a->rank; d++)
        for (int i = 0; i < niters; i++)
            if (affine_uses_iter(a->sub[d], i)) mask |= 1u << i;
    return mask;
}

// Iterators that are terms of a subscript, and not inside other atoms of it.
uint32_t bound_own_iters(const Affine *sub, int niters) {
    uint32_t mine = 0;
    for (int t = 0; t < sub->n; t++)
        if (sub->term[t].atom->kind == ATOM_ITER && sub->term[t].atom->index < niters)
            mine |= 1u << sub->term[t].atom->index;
    for (int t = 0; t < sub->n; t++) {
        const Atom *a = sub->term[t].atom;
        for (int i = 0; a->kind != ATOM_ITER && i < niters; i++) {
            bool used = (a->a && affine_uses_iter(a->a, i)) || (a->b && affine_uses_iter(a->b, i));
            for (int d = 0; a->read && d < a->read->rank; d++)
                used |= affine_uses_iter(a->read->sub[d], i);
            if (used) mine &= ~(1u << i);
        }
    }
    return mine;
}

// Strides that are not those of a dense row-major tensor; NULL: they are.
static const int64_t *strides_of(const BoundBuild *x, int tensor) {
    return bound_is_argument(x, tensor) && x->stride ? x->stride[tensor] : NULL;
}

// Bytes between neighbours of each dimension; 0: they are one element. False: elements may overlap.
static bool see_pitches(const BoundBuild *x, const Tensor *t, int tensor, double *pitch) {
    const int64_t *given = strides_of(x, tensor);
    double bytes = type_info[t->type].bytes, dense = bytes, end = 0;
    bool done[PROGRAM_MAX_RANK] = {false};
    for (int d = t->rank - 1; d >= 0; d--) {
        pitch[d] = given ? fabs((double)given[d]) * bytes : dense;
        dense *= (double)max_i64(tensor_size(t, d), 1);
    }
    for (int n = 0; given && n < t->rank; n++) { // smallest pitch first
        int next = -1;
        for (int d = 0; d < t->rank; d++)
            if (!done[d] && (next < 0 || pitch[d] < pitch[next])) next = d;
        done[next] = true;
        if (pitch[next] == 0 || tensor_size(t, next) <= 1) continue;
        if (pitch[next] < end) return false;
        end = pitch[next] * (double)tensor_size(t, next);
    }
    return true;
}

// The strides of lanes along each iterator, where these are constants: nothing is known of
// iterators in computed subscripts.
static void see_strides(const Stmt *s, const Access *a, const double *pitch, BoundRef *r) {
    double stride[PROGRAM_MAX_ITERS] = {0};
    uint32_t plain = r->iters;
    for (int d = 0; d < a->rank; d++) {
        uint32_t own = bound_own_iters(a->sub[d], s->niters);
        for (int i = 0; i < s->niters; i++)
            if (affine_uses_iter(a->sub[d], i) && !(own >> i & 1)) plain &= ~(1u << i);
        for (int t = 0; t < a->sub[d]->n; t++) {
            const Atom *atom = a->sub[d]->term[t].atom;
            if (atom->kind == ATOM_ITER && atom->index < s->niters)
                stride[atom->index] += (double)a->sub[d]->term[t].coef * pitch[d];
        }
    }
    int64_t step = 0;
    for (int i = 0; i < s->niters; i++) {
        if (!(plain >> i & 1)) continue;
        step = gcd_i64(step, (int64_t)fabs(stride[i]));
        if (fabs(stride[i]) == r->bytes)
            r->unit |= 1u << i;
        else if (fabs(stride[i]) > LIMIT_COMB * r->bytes)
            r->strided |= 1u << i;
    }
    // A[i, 3*j + 4*k] has neighbours along both, and A[i, j%5] may have.
    if (!r->unit) r->unit = (r->iters & ~plain) | (step <= r->bytes ? r->iters : 0);
}

static uint32_t iters_of(const Affine *a, int niters) {
    uint32_t mask = 0;
    for (int i = 0; i < niters; i++)
        if (affine_uses_iter(a, i)) mask |= 1u << i;
    return mask;
}

// See BoundRef.behind. It has none for an iterator in several subscripts, nor with given strides:
// another iterator may be contiguous then.
static const uint32_t *see_behind(BoundBuild *x, const Stmt *s, const Access *a) {
    uint32_t *behind = arena_new_n(x->arena, uint32_t, s->niters + 1), inner = 0, seen = 0;
    for (int d = a->rank - 1; d >= 0 && !strides_of(x, a->tensor); d--) {
        uint32_t here = iters_of(a->sub[d], s->niters);
        for (int i = 0; i < s->niters; i++)
            if (here >> i & 1) behind[i] = seen >> i & 1 ? 0 : inner;
        inner |= here;
        seen |= here;
    }
    for (int i = 0; i < s->niters; i++) behind[i] &= ~(1u << i);
    return behind;
}

static BoundRef ref_of(BoundBuild *x, const Stmt *s, const Access *a) {
    const Tensor *t = &x->p->tensors.at[a->tensor];
    BoundDim *dim = arena_new_n(x->arena, BoundDim, a->rank + 1);
    BoundRef r = {.tensor = a->tensor, .bytes = type_info[t->type].bytes, .dim = dim, .copy = -1};
    uint32_t own[PROGRAM_MAX_RANK], seen = 0;
    double pitch[PROGRAM_MAX_RANK];
    bool disjoint = see_pitches(x, t, a->tensor, pitch);
    for (int d = a->rank - 1; d >= 0; d--) {
        own[d] = disjoint && pitch[d] > 0 ? bound_own_iters(a->sub[d], s->niters) & ~seen : 0;
        seen |= own[d];
        r.iters |= iters_of(a->sub[d], s->niters);
    }
    r.behind = see_behind(x, s, a);
    for (int near = 0; near < 2; near++)
        for (int d = 0; d < a->rank; d++) {
            if ((pitch[d] >= x->m->line_bytes) == near || !own[d]) continue;
            bool one = !(own[d] & (own[d] - 1));
            dim[r.ndims++] = (BoundDim){one ? __builtin_ctz(own[d]) : -1, own[d]};
            r.nfar += !near;
        }
    see_strides(s, a, pitch, &r);
    if (!bound_is_argument(x, a->tensor)) r.strided = 0; // it may have any layout
    uint32_t alone = 0;
    for (int d = 0; d < r.ndims; d++)
        if (dim[d].iter >= 0) alone |= dim[d].own;
    r.grid = alone == r.iters;
    return r;
}

static double distinct(const BoundRef *r, const double *extent, bool far_only) {
    double n = 1;
    for (int d = 0; d < (far_only ? r->nfar : r->ndims); d++) n *= dim_values(r, d, extent);
    return n;
}

// The decision to pack a tensor that the statement reads; 0: none.
static uint32_t place_of(const Space *s, int choice, int object);
static uint32_t var_place(const Space *s, int var);

static uint32_t pack_place(const BoundBuild *x, int stmt, int tensor) {
    const CpuHost *h = x->cs->host;
    for (int i = 0; i < h->copies.n; i++) {
        const CpuObject *o = &h->object[h->copies.at[i]];
        if (o->stmt == stmt && o->tensor == tensor)
            return place_of(x->s, CPU_PACK, h->copies.at[i] - 1);
    }
    return 0;
}

// The loops that two statements may share, and their number.
static int see_meets(BoundBuild *x, int stmt, int other, const BoundMeet **out) {
    const CpuHost *h = x->cs->host;
    int n = 0;
    BoundMeet *meet =
        arena_new_n(x->arena, BoundMeet, (size_t)h->ndims[stmt] * (size_t)h->ndims[other] + 1);
    for (int i = 0; i < h->ndims[stmt]; i++)
        for (int k = 0; k < h->ndims[other]; k++) {
            int d = h->first_dim[stmt] + i, o = h->first_dim[other] + k;
            int var = cpu_partners(h, d, o) ? space_var(x->s, CPU_ORDER, d, o, NULL) : -1;
            if (var >= 0) meet[n++] = (BoundMeet){var_place(x->s, var), h->object[d].iter};
        }
    *out = meet;
    return n;
}

// Does the value of the statement read the tensor?
static bool value_reads(const StmtFacts *f, int tensor) {
    for (int r = 0; r < f->nvalue; r++)
        if (f->read[r]->tensor == tensor) return true;
    return false;
}

// The other users of a temporary; NULL: it is an argument.
static const BoundTemp *see_temp(BoundBuild *x, int stmt, int tensor) {
    if (bound_is_argument(x, tensor)) return NULL;
    BoundTemp *t = arena_new(x->arena, BoundTemp);
    BoundUse *use = arena_new_n(x->arena, BoundUse, x->p->stmts.n);
    for (int i = 0; i < x->p->stmts.n; i++) {
        const StmtFacts *f = &x->cs->facts->stmt[i];
        bool defines = f->s->write->tensor == tensor;
        if (i == stmt || (!defines && !value_reads(f, tensor))) continue;
        BoundUse *u = &use[t->nuses++];
        u->defines = defines;
        u->place = place_of(x->s, CPU_PLACE, x->cs->host->comp[i]);
        u->nmeets = see_meets(x, stmt, i, &u->meet);
    }
    t->use = use;
    return t;
}

// Do the steps of a statement compute the tensor? It may then stay in registers from step to step,
// or keep the memory of a few steps only.
static bool is_of_steps(const BoundBuild *x, int stmt, int tensor) {
    bool any = false;
    for (int i = 0; i < x->p->stmts.n; i++) {
        const Stmt *s = &x->p->stmts.at[i];
        bool here = i >= group_first(x->p, stmt) && i < group_end(x->p, stmt);
        any |= s->serial && s->write->tensor == tensor && (here || !bound_is_argument(x, tensor));
    }
    return any;
}

// Returns the reads.
static BoundRef *see_accesses(BoundBuild *x, int stmt) {
    const StmtFacts *f = &x->cs->facts->stmt[stmt];
    const Stmt *s = f->s;
    BoundStmt *b = &x->stmt[stmt];
    BoundRef *read = arena_new_n(x->arena, BoundRef, f->nsure + 1);
    BoundRef *write = arena_new(x->arena, BoundRef);
    for (int t = 0; t < x->p->tensors.n; t++)
        for (int i = 0; i < f->nsure; i++) {
            if (f->sure[i]->tensor != t || is_of_steps(x, stmt, t)) continue;
            if (!bound_is_argument(x, t) && b->nreads >= MANY_REFS) continue;
            read[b->nreads] = ref_of(x, s, f->sure[i]);
            read[b->nreads].pack = pack_place(x, stmt, t);
            read[b->nreads].again = b->nreads && read[b->nreads - 1].tensor == t;
            if (read[b->nreads].again) // A[i, 2*j] and A[i, 2*j + 1] are neighbours
                read[b->nreads].unit = read[b->nreads - 1].unit = UINT32_MAX;
            read[b->nreads].temp = see_temp(x, stmt, t);
            b->nreads++;
        }
    bool vanishes =
        !bound_is_argument(x, s->write->tensor) && is_of_steps(x, stmt, s->write->tensor);
    if (!s->write->has_read && !vanishes) {
        *write = ref_of(x, s, s->write);
        write->temp = see_temp(x, stmt, s->write->tensor);
        b->nwrites = 1;
        if (!write->temp) b->stored = distinct(write, b->extent, false);
    }
    b->read = read;
    b->write = write;
    return read;
}

// Copies of operands, as far as their reads are analysed.
static void see_copies(BoundBuild *x, int stmt, BoundRef *read) {
    const CpuHost *h = x->cs->host;
    BoundStmt *b = &x->stmt[stmt];
    BoundCopy *copy = arena_new_n(x->arena, BoundCopy, h->copies.n + 1);
    for (int i = 0; i < h->copies.n; i++) {
        int w = h->copies.at[i];
        const CpuObject *o = &h->object[w];
        const BoundRef *ref = NULL;
        for (int r = 0; r < b->nreads && o->stmt == stmt; r++) {
            if (b->read[r].tensor != o->tensor) continue;
            read[r].copy = b->ncopies;
            if (!ref) ref = &b->read[r];
        }
        if (!ref) continue;
        uint32_t *at = arena_new_n(x->arena, uint32_t, b->nloops + 1);
        for (int k = 0; k < b->nloops; k++) {
            int var = space_var(x->s, CPU_AT, w, b->loop[k].object, NULL);
            at[k] = var < 0 ? 0 : var_place(x->s, var);
        }
        copy[b->ncopies++] = (BoundCopy){.pack = place_of(x->s, CPU_PACK, w - 1),
                                         .kind = place_of(x->s, CPU_WINDOW_KIND, w),
                                         .layout = place_of(x->s, CPU_LAYOUT, w + 1),
                                         .at = at,
                                         .ref = ref,
                                         .elements = distinct(ref, b->extent, false)};
    }
    b->copy = copy;
}

// --- Decisions -----------------------------------------------------------------------------------

static uint32_t var_place(const Space *s, int var) {
    int choice = s->var[var].choice;
    return s->offset[choice] +
           (uint32_t)(var - s->base[choice]) * (uint32_t)s->desc->choice[choice].width;
}

static uint32_t place_of(const Space *s, int choice, int object) {
    int var = space_var(s, choice, object, -1, NULL);
    return var < 0 ? 0 : var_place(s, var);
}

// Vectors per element if lanes run along tiles of `size` and their tail. With conditions (`cut`)
// the elements may leave whole vectors, and fill the others.
static double share_of(int64_t extent, int64_t size, int lanes, bool cut) {
    if (extent <= 0 || size <= 0) return 1;
    size = min_i64(size, extent);
    if (cut) return 1.0 / (double)min_i64(size, lanes);
    int64_t vectors = extent / size * ceil_div(size, lanes) + ceil_div(extent % size, lanes);
    return (double)vectors / (double)extent;
}

static void see_loop(BoundBuild *x, const BoundStmt *b, int object, BoundLoop *l) {
    const CpuObject *o = &x->cs->host->object[object];
    bool cut = b->conditional >> o->iter & 1;
    *l = (BoundLoop){.object = object, .iter = o->iter, .top = o->level == 0};
    l->reduction = o->reduction;
    l->kind = place_of(x->s, CPU_KIND, object);
    l->step = place_of(x->s, CPU_STEP, object);
    l->split = o->nlevels > 1 ? place_of(x->s, CPU_SPLIT, object - o->level) : 0;
    l->whole_share = share_of(o->extent, o->extent, b->lanes, cut);
    int var = space_var(x->s, CPU_SIZE, object, -1, NULL);
    if (var < 0) return;
    l->size = var_place(x->s, var);
    l->universe = x->s->universe[var];
    double *share = arena_new_n(x->arena, double, x->s->nuniverse[var]);
    for (int i = 0; i < x->s->nuniverse[var]; i++)
        share[i] = share_of(o->extent, l->universe[i], b->lanes, cut);
    l->share = share;
}

static void see_loops(BoundBuild *x, int stmt) {
    const CpuHost *h = x->cs->host;
    BoundStmt *b = &x->stmt[stmt];
    int n = h->ndims[stmt], first = h->first_dim[stmt];
    BoundLoop *loop = arena_new_n(x->arena, BoundLoop, n + 1);
    BoundInside *inside = arena_new_n(x->arena, BoundInside, (size_t)n * (size_t)n + 1);
    for (int i = 0; i < n; i++) see_loop(x, b, first + i, &loop[i]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            bool flipped;
            int var = i == j ? -1 : space_var(x->s, CPU_ORDER, first + i, first + j, &flipped);
            if (var < 0) continue;
            inside[i * n + j].at = var_place(x->s, var);
            inside[i * n + j].bit = flipped ? CPU_ORDER_INNER : CPU_ORDER_OUTER;
        }
    b->nloops = n;
    b->loop = loop;
    b->inside = inside;
    for (int i = 0; i < n; i++) {
        b->nlevels[loop[i].iter]++;
        b->last[loop[i].iter] = i;
    }
}

static void see_pieces(BoundBuild *x, BoundStmt *b) {
    b->npieces = 1;
    for (int i = 0; i < b->niters; i++) b->npieces *= b->nlevels[i] + 1;
    double bytes = 0;
    for (int r = 0; r < b->nreads + b->nwrites; r++) {
        const BoundRef *ref = r < b->nreads ? &b->read[r] : &b->write[r - b->nreads];
        bytes += most_of(distinct(ref, b->extent, false) * ref->bytes,
                         distinct(ref, b->extent, true) * x->m->line_bytes);
    }
    for (int level = 0; level < LEVEL_COUNT; level++)
        if (bytes > x->b->cache[0][level]) b->beyond |= 1u << level;
}

// The loops of its reader in which the statement may be computed.
static void see_window(BoundBuild *x, int stmt) {
    const CpuHost *h = x->cs->host;
    BoundStmt *b = &x->stmt[stmt];
    int w = h->window[stmt];
    b->reader = -1;
    if (w < 0) return;
    int reader = h->object[h->object[w].reader].stmt, n = h->ndims[reader];
    const StmtFacts *f = &x->cs->facts->stmt[reader];
    uint32_t *at = arena_new_n(x->arena, uint32_t, n + 1);
    for (int k = 0; k < n; k++) {
        int var = space_var(x->s, CPU_AT, w, h->first_dim[reader] + k, NULL);
        at[k] = var < 0 ? 0 : var_place(x->s, var);
    }
    for (int k = 0; k < f->nvalue; k++)
        if (f->read[k]->tensor == x->p->stmts.at[stmt].write->tensor)
            b->read_along |= access_iters(f->read[k], f->s->niters);
    b->reader = reader;
    b->at = at;
}

static void see_reduction(BoundBuild *x, int stmt) {
    const Stmt *s = &x->p->stmts.at[stmt];
    BoundStmt *b = &x->stmt[stmt];
    int comp = x->cs->host->comp[stmt];
    b->split = -1;
    b->reduced = 1;
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].reduction) b->reduced *= b->extent[i];
    if (s->op == REDUCE_ASSIGN || s->write->has_read || !b->plain || b->reduced <= 1) return;
    b->results = b->box / b->reduced;
    b->result_bytes = type_info[x->p->tensors.at[s->write->tensor].type].bytes;
    b->float_sum = type_is_float(x->p->tensors.at[s->write->tensor].type);
    b->horizontal = b->float_sum && (s->op == REDUCE_ADD || s->op == REDUCE_MUL);
    Latency of = b->fused ? LATENCY_FMA : s->op == REDUCE_ADD ? LATENCY_ADD : LATENCY_MUL;
    b->latency = b->horizontal ? x->b->latency[of] : 1 / x->b->hertz;
    uint32_t along = 0; // iterators that reduce
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].reduction && b->extent[i] > 1) along |= 1u << i;
    int loaded = 0; // in every step; one may be a memory operand
    for (int r = 0; r < b->nreads; r++)
        loaded += (b->read[r].iters & along) == along && !b->read[r].again && !b->read[r].temp;
    b->step_instructions = (double)max_i64(1, loaded);
    int var = space_var(x->s, CPU_ACCUMULATORS, comp, -1, NULL);
    if (var >= 0) {
        b->accumulators = var_place(x->s, var);
        b->counts = x->s->universe[var];
    }
    b->privatise = place_of(x->s, CPU_PRIVATISE, comp);
    const ObjectFamily *f = &x->s->family[CPU_SET_SPLITOF];
    if (b->privatise && f->first[comp] < f->first[comp + 1])
        b->split = f->item[f->first[comp]] - x->cs->host->first_dim[stmt];
}

// A loop around a vector loop may collapse with it if every access is contiguous across both; so no
// argument is accessed along one of the two alone.
static void see_joins(BoundStmt *b) {
    for (int i = 0; i < b->niters; i++)
        for (int k = 0; k < b->niters; k++) {
            bool alone = false;
            for (int r = 0; r < b->nreads; r++)
                alone |=
                    !b->read[r].temp && (b->read[r].iters >> i & 1) != (b->read[r].iters >> k & 1);
            for (int r = 0; r < b->nwrites; r++)
                alone |= !b->write[r].temp &&
                         (b->write[r].iters >> i & 1) != (b->write[r].iters >> k & 1);
            if (i == k || !alone) b->collapses[i] |= 1u << k;
        }
}

// --- Statements ----------------------------------------------------------------------------------

// Removes the operations of a statement: it is not needed, or is computed in another way.
static void forget_work(BoundBuild *x, int stmt) {
    BoundStmt *b = &x->stmt[stmt];
    memset(b->work, 0, sizeof b->work);
    b->divides = 0;
    for (int i = 0; i < x->shared.at.n; i++)
        if (x->shared.at.at[i].stmt == stmt)
            x->shared.at.at[i].times = 0, x->shared.at.at[i].work = WORK_ANY;
}

// Products of narrow integers that are added several at a time: copies decide their layout, so
// loops tell little, and each word takes one operation.
static void see_words(BoundBuild *x, int stmt) {
    BoundStmt *b = &x->stmt[stmt];
    Type as, factor[2];
    bool product = stmt_adds_products(x->p, &x->p->stmts.at[stmt], factor);
    int word = product ? dot_products(x->m, factor[0], factor[1], &as) : 0;
    if (!word || b->reduced <= 1) return;
    b->plain = false;
    b->count /= word;
    forget_work(x, stmt);
    bound_add_work(b, WORK_ANY, b->count);
}

static void see_stmt(BoundBuild *x, int stmt) {
    const Stmt *s = &x->p->stmts.at[stmt];
    BoundStmt *b = &x->stmt[stmt];
    BoundBox box;
    b->niters = s->niters;
    b->lanes = 1;
    b->place = place_of(x->s, CPU_PLACE, x->cs->host->comp[stmt]);
    Stmt sure = stmt_performed(x->arena, x->p->exprs, s);
    bool known = bound_inner_box(&sure, &box);
    b->plain = known && !sure.nconstraints;
    for (int k = 0; k < sure.nconstraints; k++)
        for (int i = 0; i < s->niters; i++)
            if (affine_uses_iter(sure.constraint[k], i)) b->conditional |= UINT32_C(1) << i;
    b->box = 1;
    for (int i = 0; i < s->niters; i++) {
        b->extent[i] = known ? (double)bound_extent(&box, i) : 0;
        b->box *= b->extent[i];
    }
    if (!known) return;
    b->count = bound_instances(&sure, &box);
    BoundRef *read = see_accesses(x, stmt);
    bound_arithmetic(x, stmt);
    see_joins(b);
    see_loops(x, stmt);
    int grain = space_var(x->s, CPU_GRAIN, x->cs->host->comp[stmt], -1, NULL);
    if (grain >= 0) b->grain = var_place(x->s, grain), b->grains = x->s->universe[grain];
    see_copies(x, stmt, read);
    see_pieces(x, b);
    see_window(x, stmt);
    see_reduction(x, stmt);
    see_words(x, stmt);
}

// Iterations that are needed if statements are inlined: all those of arguments, and for temporaries
// the elements that needed statements read.
static void see_needs(BoundBuild *x) {
    for (int i = x->p->stmts.n - 1; i >= 0; i--) {
        const Stmt *s = &x->p->stmts.at[i];
        BoundStmt *b = &x->stmt[i];
        int t = s->write->tensor;
        double elements = 1;
        for (int k = 0; k < s->niters; k++)
            if (!s->iter[k].reduction) elements *= b->extent[k];
        b->needed = bound_is_argument(x, t) ? b->count : 0;
        if (!bound_is_argument(x, t) && x->wanted[t] <= 0) b->count = 0, forget_work(x, i);
        if (!bound_is_argument(x, t) && x->writers[t] == 1 && elements > 0)
            b->needed = b->count * least_of(1, x->wanted[t] / elements);
        if (b->count <= 0) continue;
        const StmtFacts *f = &x->cs->facts->stmt[i];
        for (int r = 0; r < f->nsure; r++) {
            BoundRef ref = ref_of(x, s, f->sure[r]);
            double n = b->needed >= b->count ? distinct(&ref, b->extent, false) : 1;
            x->wanted[ref.tensor] = most_of(x->wanted[ref.tensor], n);
        }
    }
}

// --- What is moved in any case -------------------------------------------------------------------

// Traffic in any loop order: of data whose elements are used once, or several times.
typedef struct Moved {
    double in[2], out[2];
} Moved;

// The part of data that is read once per call which a cache still holds from the call before, if it
// evicts lines at random: h = exp(-(1 - h)·size/cache). (With LRU it would hold nothing.)
static double found_again(double size, double cache) {
    double missed = 1;
    if (size <= cache) return 1;
    for (int i = 0; i < 100; i++) missed = 1 - exp(-missed * size / cache);
    return 1 - missed;
}

static double must_seconds(const BoundModel *b, int p, int level, const Moved *m) {
    double i = b->in[p][level], o = b->out[p][level], cache = level ? b->cache[p][level] : 0;
    double in = m->in[0] + m->in[1], out = m->out[0] + m->out[1];
    if (cache > 0 && in + out <= cache) return 0;
    double once = m->in[0] + m->out[0], reused = m->in[1] + m->out[1];
    double held = cache > 0 ? least_of(cache, reused) + once * found_again(in + out, cache) : 0;
    if (level == LEVEL_L2) held = most_of(held, least_of(cache, in + out)); // it costs little
    double one = most_of((in - held) * i, (out - held) * o);
    return most_of(0, most_of(one, b->both[level] * (in * i + out * o - held * most_of(i, o))));
}

// Is every element of the tensor that the statement accesses accessed by one iteration only, and by
// no other statement?
static bool is_walked(const BoundBuild *x, const BoundStmt *b, const BoundRef *r) {
    int uses = 0;
    for (int i = 0; i < x->p->stmts.n; i++) {
        const StmtFacts *f = &x->cs->facts->stmt[i];
        for (int k = 0; k < f->nvalue; k++) uses += f->read[k]->tensor == r->tensor;
        uses += f->s->write->tensor == r->tensor;
    }
    return uses == 1 && b->plain && distinct(r, b->extent, false) >= b->box;
}

static void move_once(BoundBuild *x, const BoundStmt *b, const BoundRef *r, double *dense,
                      double *lines) {
    double n = distinct(r, b->extent, false) * r->bytes;
    dense[r->tensor] = most_of(dense[r->tensor], n);
    n = most_of(n, distinct(r, b->extent, true) * x->m->line_bytes);
    lines[r->tensor] = most_of(lines[r->tensor], n);
    x->walked[r->tensor] = is_walked(x, b, r);
}

static void see_moves(BoundBuild *x) {
    BoundModel *b = x->b;
    int n = x->p->ninputs + x->p->noutputs;
    Moved dense = {0}, lines = {0};
    for (int i = 0; i < x->p->stmts.n; i++) {
        const BoundStmt *s = &x->stmt[i];
        if (s->count <= 0 || s->needed < s->count) continue;
        for (int r = 0; r < s->nreads; r++)
            if (!s->read[r].temp) move_once(x, s, &s->read[r], x->in, x->in_lines);
        for (int r = 0; r < s->nwrites; r++)
            if (!s->write[r].temp) move_once(x, s, &s->write[r], x->out, x->out_lines);
    }
    for (int t = 0; t < n; t++) {
        int again = !x->walked[t];
        dense.in[again] += x->in[t], lines.in[again] += x->in_lines[t];
        dense.out[again] += x->out[t], lines.out[again] += x->out_lines[t];
        b->must_loads += x->in[t] / b->vector_bytes;
        b->must_stores += x->out[t] / b->vector_bytes;
    }
    for (int p = 0; p < 2; p++)
        for (int level = 0; level < LEVEL_COUNT; level++)
            b->must[p][level] = must_seconds(b, p, level, level ? &lines : &dense);
}

static void see_pairs(BoundBuild *x) {
    int n = x->p->stmts.n;
    if (n > MANY_STMTS) return;
    BoundPair *pair = arena_new_n(x->arena, BoundPair, n * n + 1);
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            BoundPair *p = &pair[x->b->npairs];
            *p = (BoundPair){.a = a, .b = b};
            p->n = see_meets(x, a, b, &p->meet);
            x->b->npairs += p->n > 0;
        }
    x->b->pair = pair;
}

// --- All of it -----------------------------------------------------------------------------------

BoundModel *bound_new(Arena *arena, const CpuSpace *cs, const BoundOptions *o) {
    const Machine *m = o->machine;
    if (!m->rates || m->rates->fma[m->width][0][CORES_ONE] <= 0 ||
        m->rates->fma[m->width][1][CORES_ONE] <= 0)
        return NULL;
    int n = cs->program->stmts.n, t = cs->program->tensors.n + 1;
    BoundModel *b = arena_new(arena, BoundModel);
    BoundBuild x = {.arena = arena, .b = b, .cs = cs, .s = cs->space, .p = cs->program, .m = m};
    x.stride = flat_strides(arena, &cs->flat, o->stride);
    x.stmt = arena_new_n(arena, BoundStmt, n + 1);
    double **array[] = {&x.wanted, &x.in, &x.out, &x.in_lines, &x.out_lines};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        *array[i] = arena_new_n(arena, double, t);
    x.real = arena_new_n(arena, bool, t);
    x.writers = arena_new_n(arena, int, t);
    x.look = arena_new_n(arena, uint64_t, t);
    for (int i = 0; i < n; i++) x.writers[cs->program->stmts.at[i].write->tensor]++;
    for (int i = 0; i < cs->program->ninputs; i++) x.look[i] = hash_mix(3, (uint64_t)i);
    x.walked = arena_new_n(arena, bool, t);
    for (int i = 0; i < cs->program->ninputs + cs->program->noutputs; i++) x.real[i] = true;
    *b = (BoundModel){.cs = cs, .p = cs->program, .nstmts = n, .stmt = x.stmt};
    b->cost = machine_cost(m);
    b->plant = o->plant > 0 ? o->plant : 1;
    b->cores = (int)max_i64(1, min_i64(o->threads, m->rates->cores));
    bound_rates(b, m, cs->host);
    for (int i = 0; i < n; i++) see_stmt(&x, i);
    see_needs(&x);
    see_moves(&x);
    see_pairs(&x);
    return b;
}
