// Further work of a nest: strided lanes, packed copies, temporaries and partial results.
//
// Lanes. A strided vector takes a load for each lane, or is transposed in registers with its
// neighbours. A transpose needs several such vectors in straight-line code, which an order of the
// loops may rule out.
//
// Copies. A copy inside a loop is made in each of its iterations: each element once, and again for
// loops that it does not depend on. A copy that may fit into registers costs nothing.
//
// Temporaries. A temporary goes through memory if more of it is live, between loops that its users
// may share, than registers hold.
//
// Partial results are written once and read once, when they are combined; those of one element are
// contiguous.
#include "space/bound_impl.h"

#include "space/cpu_space.h"

static bool surely_inside(const Eval *e, int outer, int inner) {
    const BoundInside *in = &e->s->inside[outer * e->s->nloops + inner];
    return outer != inner && e->v[in->at] == in->bit;
}

// --- Lanes ---------------------------------------------------------------------------------------

// Can some iterations of a loop over one of the iterators be in one block of straight-line code?
static bool may_repeat(const Eval *e, uint32_t iters) {
    const BoundStmt *s = e->s;
    for (int i = 0; i < s->nloops; i++) {
        double inside = LIMIT_TRANSPOSE * s->lane;
        if (!(iters >> s->loop[i].iter & 1) || e->loop[i].most <= 1) continue;
        for (int k = 0; k < s->nloops; k++)
            if (surely_inside(e, i, k)) inside *= e->loop[k].least;
        double most = (double)e->b->unrolled;
        if (e->loop[i].kind & CPU_KIND_UNROLL) most *= LIMIT_MARKED_UNROLL;
        if (inside <= most) return true;
    }
    return false;
}

// Does a copy surely hold several values along an iterator?
static bool surely_long(const Eval *e, const BoundCopy *c, int iter) {
    const BoundStmt *s = e->s;
    for (int i = 0; i < s->nloops; i++)
        if (s->loop[i].iter == iter && c->at[i] && e->v[c->at[i]] == CPU_AT_OUTSIDE &&
            e->loop[i].least > 1)
            return true;
    return false;
}

// Iterators along which a read is surely strided. A copy has another layout, unless it is row-major
// like the tensor: then it is strided if it holds several values along later subscripts.
static uint32_t surely_strided(const Eval *e, const BoundRef *r) {
    uint32_t strided = 0;
    if (!r->pack || !(e->v[r->pack] & CPU_PACK_YES)) return r->strided;
    if (r->copy < 0 || e->v[r->pack] != CPU_PACK_YES) return 0;
    const BoundCopy *c = &e->s->copy[r->copy];
    if (e->v[c->layout] != CPU_LAYOUT_ROW_MAJOR) return 0;
    for (uint32_t left = r->strided & e->lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        for (uint32_t behind = r->behind[i]; behind; behind &= behind - 1)
            if (surely_long(e, c, __builtin_ctz(behind))) strided |= 1u << i;
    }
    return strided;
}

static bool has_parts(const Eval *e) {
    const BoundStmt *s = e->s;
    return s->privatise && e->v[s->privatise] == CPU_PRIVATISE_YES && s->split >= 0 &&
           e->loop[s->split].least > 1;
}

static void see_lanes(Eval *e) {
    const BoundStmt *s = e->s;
    e->joined = s->nwrites && (s->write->temp || has_parts(e) || may_repeat(e, s->write->unit));
    for (int i = 0; i < s->nreads + s->nwrites; i++) {
        const BoundRef *r = i < s->nreads ? &s->read[i] : &s->write[i - s->nreads];
        uint32_t strided = i < s->nreads ? surely_strided(e, r) : r->strided;
        uint32_t unit = r->unit;
        // Partial results of one element are contiguous.
        if (i == s->nreads && has_parts(e)) strided = r->iters, unit = 1u << s->loop[s->split].iter;
        e->single[i] = e->transposed[i] = 0;
        if (!(strided & e->lanes)) continue;
        if (unit == UINT32_MAX || may_repeat(e, unit))
            e->transposed[i] = strided;
        else
            e->single[i] = strided;
    }
}

// --- Temporaries ---------------------------------------------------------------------------------

// Iterators along which a temporary may be small, since its users may share loops; false: it may
// not exist at all.
static bool shared_iters(const Eval *e, const BoundTemp *t, uint32_t *shared) {
    *shared = UINT32_MAX;
    for (int i = 0; i < t->nuses; i++) {
        const BoundUse *use = &t->use[i];
        uint8_t place = use->place ? e->v[use->place] : CPU_PLACE_NEST;
        uint32_t mine = 0;
        if (use->defines && place & CPU_PLACE_INLINE) return false;
        if (place != CPU_PLACE_NEST) continue;
        for (int k = 0; k < use->nmeets; k++)
            if (e->v[use->meet[k].at] & CPU_ORDER_MERGED) mine |= 1u << use->meet[k].iter;
        *shared &= mine;
    }
    return *shared != UINT32_MAX;
}

static void see_temporary(Eval *e, const BoundRef *r, uint32_t bit) {
    const BoundStmt *s = e->s;
    double extent[PROGRAM_MAX_ITERS], elements = 1;
    uint32_t shared = UINT32_MAX;
    bool there = shared_iters(e, r->temp, &shared);
    for (int i = 0; i < s->niters; i++) extent[i] = shared >> i & 1 ? 1 : s->extent[i];
    for (int d = 0; d < r->ndims; d++) elements *= dim_values(r, d, extent);
    if (!there || elements * s->lane <= e->b->registers) e->absent |= bit;
    if (shared) e->somewhere |= bit;
}

static void see_temporaries(Eval *e) {
    const BoundStmt *s = e->s;
    e->absent = e->somewhere = 0;
    for (int i = 0; i < s->nreads + s->nwrites; i++) {
        const BoundRef *r = i < s->nreads ? &s->read[i] : &s->write[i - s->nreads];
        if (!r->temp) continue;
        if (i < s->nreads && r->again) { // like the read before it
            e->absent |= (e->absent >> (i - 1) & 1) << i;
            e->somewhere |= (e->somewhere >> (i - 1) & 1) << i;
        } else {
            see_temporary(e, r, 1u << i);
        }
    }
}

// --- Copies --------------------------------------------------------------------------------------

// Does one iteration of the loops around the copy copy more than registers hold?
static bool is_large(const Eval *e, const BoundCopy *c) {
    const BoundStmt *s = e->s;
    double extent[PROGRAM_MAX_ITERS], elements = 1;
    for (int i = 0; i < s->niters; i++) extent[i] = 1;
    for (int i = 0; i < s->nloops; i++) {
        int iter = s->loop[i].iter;
        if (!c->at[i] || e->v[c->at[i]] != CPU_AT_OUTSIDE) continue;
        extent[iter] = s->loop[i].top ? s->extent[iter]
                                      : least_of(s->extent[iter], extent[iter] * e->loop[i].least);
    }
    for (int d = 0; d < c->ref->ndims; d++) elements *= dim_values(c->ref, d, extent);
    bool lanes = (e->v[c->kind] & ~CPU_WINDOW_KIND_SERIAL) != 0;
    return (lanes ? elements * s->lane : elements) > e->b->registers;
}

static void see_copy(Eval *e, const BoundCopy *c) {
    const BoundStmt *s = e->s;
    if (e->v[c->pack] != CPU_PACK_YES || !is_large(e, c)) return;
    double elements = c->elements, times[PROGRAM_MAX_ITERS];
    for (int i = 0; i < s->niters; i++) times[i] = 1;
    for (int i = 0; i < s->nloops; i++)
        if (c->at[i] && e->v[c->at[i]] == CPU_AT_INSIDE && !(c->ref->iters >> s->loop[i].iter & 1))
            times[s->loop[i].iter] *= e->loop[i].least;
    // The last block of a split may be short: loops of one iterator never run more often than it.
    for (int i = 0; i < s->niters; i++) elements *= least_of(times[i], s->extent[i]);
    double n = e->v[c->kind] == CPU_WINDOW_KIND_SERIAL ? elements : elements * s->lane;
    e->extra.loads += n;
    e->extra.stores += n;
    e->extra.bytes += elements * c->ref->bytes;
}

// --- Partial results -----------------------------------------------------------------------------

static void see_parts(Eval *e) {
    const BoundStmt *s = e->s;
    if (!has_parts(e)) return;
    double parts = e->loop[s->split].least * s->results;
    if (parts * s->lane <= e->b->registers) return;
    e->extra.loads += parts; // one by one, in scalar loops
    e->extra.stores += s->results;
    e->extra.parts = parts * s->lane;
    e->extra.bytes += parts * s->result_bytes;
}

void bound_extra(Eval *e) {
    e->extra = (Extra){0};
    see_lanes(e);
    see_temporaries(e);
    for (int i = 0; i < e->s->ncopies; i++) see_copy(e, &e->s->copy[i]);
    see_parts(e);
}
