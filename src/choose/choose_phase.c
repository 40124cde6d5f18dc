// Phases: sums in which a remainder decides about each term, as in a transposed convolution,
//
//     O(y) +=! (y - k) % 2 == 0 ? I((y - k)/2) * K(k) : 0.0
//
// Results whose indices leave the same remainder have the same terms, and neighbours among them
// read neighbouring elements. So these results are computed together: `y%28 y` runs through even
// and odd y, and within each, lanes need no test and no gather.
#include "choose/choose_impl.h"

// Per iterator: the divisor; 0: none; -1: there are several.
typedef struct Phases {
    const ChooseStmt *n;
    int64_t by[PROGRAM_MAX_ITERS];
} Phases;

static void see_remainder(Phases *p, const Affine *a, int64_t by) {
    for (int i = 0; i < p->n->s->niters && by > 1; i++) {
        if (affine_coef(a, i) % by == 0) continue;
        p->by[i] = p->by[i] && p->by[i] != by ? -1 : by;
    }
}

static void see_index(Phases *p, const Affine *a) {
    for (int t = 0; t < a->n; t++) {
        const Atom *atom = a->term[t].atom;
        if (atom->kind == ATOM_MOD && affine_is_const(atom->b))
            see_remainder(p, atom->a, atom->b->constant);
    }
}

static void see_conditions(Phases *p, const Expr *e) {
    if (e->kind == EXPR_INDEX) see_index(p, e->index);
    if (e->kind != EXPR_OP) return;
    if (e->op == OP_MOD && e->arg[0]->kind == EXPR_INDEX && e->arg[1]->kind == EXPR_CONST)
        see_remainder(p, e->arg[0]->index, e->arg[1]->value.i);
    for (int i = 0; i < e->n; i++) see_conditions(p, e->arg[i]);
}

// Values of an iterator in one phase; 0: it has none.
static int64_t phase_values(const Phases *p, int i) {
    if (p->by[i] < 2 || p->n->s->iter[i].reduction) return 0;
    int64_t values = ceil_div(p->n->extent[i], p->by[i]);
    return values > 1 && ceil_div(p->n->extent[i], values) == p->by[i] ? values : 0;
}

// The iterator whose values share the loads of a term: one of the result without phases.
static int row_of(const Phases *p, int v) {
    int best = -1;
    for (int i = 0; i < p->n->s->niters; i++) {
        bool free = i != v && !p->n->s->iter[i].reduction && !p->by[i] && p->n->extent[i] > 1;
        if (!free || !shares(p->n, i)) continue;
        if (best < 0 || p->n->extent[i] > p->n->extent[best]) best = i;
    }
    return best;
}

static void add_phase(ChooseStmt *n, int i, int64_t values) {
    if (!values) return;
    nest_loop(n, i, values, KIND_SERIAL);
    n->out.loop[n->out.nloops - 1].interleaved = true;
}

bool choose_phases(const Chooser *c, ChooseStmt *n) {
    Phases p = {.n = n};
    int v = -1;
    bool has = false;
    for (int i = 0; i < n->s->nconstraints; i++) see_index(&p, n->s->constraint[i]);
    see_conditions(&p, n->s->value);
    for (int i = 0; i < n->s->niters; i++) {
        if (n->ref[0].stride[i] == 1 && !n->s->iter[i].reduction) v = i;
        has |= phase_values(&p, i) > 0;
    }
    if (!has || v < 0 || c->o->plain || n->s->serial) return false;
    int row = row_of(&p, v);
    int64_t lanes = machine_lanes(c->m, max_i64(n->ref[0].bytes, 4));
    if (row >= 0)
        nest_loop(n, row, min_i64(n->extent[row], c->m->vector_registers / 2), KIND_SERIAL);
    for (int i = 0; i < n->s->niters; i++) {
        if (i == v || i == row || n->s->iter[i].reduction) continue;
        add_phase(n, i, phase_values(&p, i));
        nest_loop(n, i, 1, KIND_SERIAL);
    }
    add_phase(n, v, phase_values(&p, v));
    nest_loop(n, v, lanes, KIND_SERIAL);
    n->out.perfect = n->out.nloops;
    for (int late = 0; late < 2; late++) // terms that remainders choose from stand innermost
        for (int i = 0; i < n->s->niters; i++)
            if (n->s->iter[i].reduction && (p.by[i] != 0) == late) nest_loop(n, i, 1, KIND_SERIAL);
    if (row >= 0) nest_loop(n, row, 1, KIND_SERIAL);
    nest_loop(n, v, 1, KIND_VECTOR);
    return true;
}
