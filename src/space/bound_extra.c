// What a nest does beside its arithmetic and the data that its order brings again and again: lanes
// that lie apart, packed copies, and partial results.
//
// Lanes. A vector whose lanes are neither neighbours nor one element takes a load for each of them,
// or comes of whole rows that are turned in registers. The latter needs several of such vectors
// side by side in straight-line code, which an order of the loops may rule out.
//
// Copies. One that is made inside a loop is made again in each of its iterations: as often as the
// loops around it that what it holds does not depend on, and each element once in any case. What
// may be small enough for registers counts as nothing.
//
// Partial results are written once each and read once, when they are combined; those of one element
// are neighbours.
#include "space/bound_impl.h"

#include "space/cpu_space.h"

enum { LEAST_ROWS = 4 }; // that the code generator turns

static bool surely_inside(const Eval *e, int outer, int inner) {
    const BoundInside *in = &e->s->inside[outer * e->s->nloops + inner];
    return outer != inner && e->v[in->at] == in->bit;
}

// --- Lanes
// ---------------------------------------------------------------------------------------------

// Can some iterations of a loop over `iter` be in one piece of straight-line code?
static bool may_repeat(const Eval *e, int iter) {
    const BoundStmt *s = e->s;
    for (int i = 0; i < s->nloops; i++) {
        double inside = LEAST_ROWS * s->lane;
        if (s->loop[i].iter != iter || e->loop[i].most <= 1) continue;
        for (int k = 0; k < s->nloops; k++)
            if (surely_inside(e, i, k)) inside *= e->loop[k].least;
        double most = (double)e->b->unrolled;
        if (e->loop[i].kind & CPU_KIND_UNROLL) most *= MARKED_UNROLL;
        if (inside <= most) return true;
    }
    return false;
}

// The copy that a read may go to has its elements in another order.
static bool may_be_packed(const Eval *e, const BoundRef *r) {
    return r->pack && e->v[r->pack] & CPU_PACK_YES;
}

static bool has_parts(const Eval *e) {
    const BoundStmt *s = e->s;
    return s->privatise && e->v[s->privatise] == CPU_PRIVATISE_YES && s->split >= 0 &&
           e->loop[s->split].least > 1;
}

static void see_lanes(Eval *e) {
    const BoundStmt *s = e->s;
    for (int i = 0; i < s->nreads + s->nwrites; i++) {
        const BoundRef *r = i < s->nreads ? &s->read[i] : &s->write[i - s->nreads];
        uint32_t apart = r->apart;
        int unit = r->unit;
        // Partial results of one element lie side by side.
        if (i == s->nreads && has_parts(e)) apart = r->iters, unit = s->loop[s->split].iter;
        e->single[i] = e->turned[i] = 0;
        if (!(apart & e->lanes) || (i < s->nreads && may_be_packed(e, r))) continue;
        if (unit >= 0 && may_repeat(e, unit))
            e->turned[i] = apart;
        else
            e->single[i] = apart;
    }
}

// --- Copies
// --------------------------------------------------------------------------------------------

// Does an iteration of the loops around it copy more than registers hold?
static bool is_large(const Eval *e, const BoundCopy *c) {
    const BoundStmt *s = e->s;
    double extent[PROGRAM_MAX_ITERS], elements = 1;
    for (int i = 0; i < s->niters; i++) extent[i] = 1;
    for (int i = 0; i < s->nloops; i++)
        if (c->at[i] && e->v[c->at[i]] == CPU_AT_OUTSIDE)
            extent[s->loop[i].iter] *= e->loop[i].least;
    for (int d = 0; d < c->ref->ndims; d++) elements *= dim_values(c->ref, d, extent);
    bool lanes = (e->v[c->kind] & ~CPU_WINDOW_KIND_SERIAL) != 0;
    return (lanes ? elements * s->lane : elements) > e->b->registers;
}

static void see_copy(Eval *e, const BoundCopy *c) {
    const BoundStmt *s = e->s;
    if (e->v[c->pack] != CPU_PACK_YES || !is_large(e, c)) return;
    double elements = c->elements;
    for (int i = 0; i < s->nloops; i++)
        if (c->at[i] && e->v[c->at[i]] == CPU_AT_INSIDE && !(c->ref->iters >> s->loop[i].iter & 1))
            elements *= e->loop[i].least;
    double n = e->v[c->kind] == CPU_WINDOW_KIND_SERIAL ? elements : elements * s->lane;
    e->extra.loads += n;
    e->extra.stores += n;
    e->extra.bytes += elements * c->ref->bytes;
}

// --- Partial results
// ------------------------------------------------------------------------------------

static void see_parts(Eval *e) {
    const BoundStmt *s = e->s;
    if (!has_parts(e)) return;
    double parts = e->loop[s->split].least * s->results;
    if (parts * s->lane <= e->b->registers) return;
    e->extra.loads += parts; // one by one, in plain loops
    e->extra.stores += s->results;
    e->extra.parts = parts * s->lane;
    e->extra.bytes += parts * s->result_bytes;
}

void bound_extra(Eval *e) {
    e->extra = (Extra){0};
    see_lanes(e);
    for (int i = 0; i < e->s->ncopies; i++) see_copy(e, &e->s->copy[i]);
    see_parts(e);
}
