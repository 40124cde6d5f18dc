// Stencils: what is computed where it is read, and rows that share what they load.
//
// A temporary that a stencil reads at several places (T(i-1, j) + T(i+1, j)) can be computed by
// itself, and go through the caches, or in the place of every read, and be computed several times.
// Both forms are estimated by the resources of the bound (bound.h), without a space: per vector the
// larger of
//
//     arithmetic/ports      loads, as many as differ, and the store
//
// and what the temporary takes to be written and brought back from the level that holds it and what
// is used between. The cheaper form is chosen, definition by definition, in the Program's order: a
// definition that has others in it counts with them.
//
// A tap is a place that a statement reads, relative to its iterators: taps that are the same are
// one load. Rows of a stencil that are computed together have taps in common.
#include "space/analytic_impl.h"

#include <math.h>

enum { TAP_RANK = 5, MOST_TAPS = 40, STENCIL_ROWS = 4 };

typedef struct Tap {
    int tensor, rank;
    int iter[TAP_RANK]; // -1: none
    int64_t at[TAP_RANK];
} Tap;

struct Taps {
    int n;
    Tap at[MOST_TAPS];
};

// --- Taps ----------------------------------------------------------------------------------------

// False: some subscript is not an iterator and a constant.
static bool tap_of(const Access *a, Tap *t) {
    *t = (Tap){.tensor = a->tensor, .rank = a->rank};
    if (a->rank > TAP_RANK) return false;
    for (int d = 0; d < a->rank; d++) {
        const Affine *sub = a->sub[d];
        t->iter[d] = -1;
        t->at[d] = sub->constant;
        if (sub->n == 0) continue;
        const Term *term = &sub->term[0];
        if (sub->n > 1 || term->coef != 1 || term->atom->kind != ATOM_ITER) return false;
        t->iter[d] = term->atom->index;
    }
    return true;
}

static bool same_tap(const Tap *a, const Tap *b) {
    if (a->tensor != b->tensor || a->rank != b->rank) return false;
    for (int d = 0; d < a->rank; d++)
        if (a->iter[d] != b->iter[d] || a->at[d] != b->at[d]) return false;
    return true;
}

// False: there is no room.
static bool add_tap(Taps *to, const Tap *t) {
    for (int i = 0; i < to->n; i++)
        if (same_tap(&to->at[i], t)) return true;
    if (to->n == MOST_TAPS) return false;
    to->at[to->n++] = *t;
    return true;
}

typedef struct Collect {
    Taps *taps;
    bool ok;
} Collect;

static void collect(void *user, const Access *a, bool guarded) {
    Collect *c = user;
    Tap t;
    c->ok &= !guarded && tap_of(a, &t) && add_tap(c->taps, &t);
}

// The taps of a statement that combines nothing and has no conditions; NULL otherwise.
static Taps *taps_of(Chooser *c, const Nest *n) {
    Collect all = {.taps = arena_new(c->arena, Taps), .ok = true};
    if (!n->known || n->reduces || n->s->op != REDUCE_ASSIGN || n->s->nconstraints) return NULL;
    all.taps->n = 0;
    expr_visit_accesses(n->s->value, collect, &all);
    return all.ok ? all.taps : NULL;
}

// Taps of `rows` neighbours along iterator `row`, by rows.
static double taps_in_rows(const Taps *taps, int row, int rows) {
    int shared = 0;
    for (int i = 0; i < taps->n; i++)
        for (int r = 1; r < rows; r++) { // is it a tap of a row before?
            Tap t = taps->at[i];
            bool moves = false, found = false;
            for (int d = 0; d < t.rank; d++)
                if (t.iter[d] == row) t.at[d] += r, moves = true;
            for (int k = 0; k < taps->n && !found && moves; k++) found = same_tap(&taps->at[k], &t);
            shared += found ? rows - r : 0;
            if (found) break; // the nearest one counts for those behind it
        }
    return taps->n - (double)shared / rows;
}

// --- Rows ----------------------------------------------------------------------------------------

// The iterator along which so many rows load least, if that is less by a tenth; -1: none.
static int best_row(const Nest *n, const Taps *taps, int rows, int except) {
    double best = 0.9 * taps->n;
    int row = -1;
    for (int i = n->s->niters - 1; i >= 0; i--) {
        if (i == except || n->extent[i] < 2 * rows || n->ref[0].stride[i] == 1) continue;
        double loads = taps_in_rows(taps, i, rows);
        if (loads < best) best = loads, row = i;
    }
    return row;
}

int stencil_rows(const Nest *n, int row[2]) {
    row[0] = best_row(n, n->taps, STENCIL_ROWS, -1);
    row[1] = row[0] < 0 ? -1 : best_row(n, n->taps, STENCIL_ROWS / 2, row[0]);
    return row[0] < 0 ? 1 : STENCIL_ROWS;
}

// --- Definitions in the place of reads -----------------------------------------------------------

// Who reads and writes what, so that thousands of statements are looked through once.
typedef struct Users {
    int *writes, *last; // by tensor: how many statements write it, and the last of them
    int *first;         // by tensor: 1 + its first reader in `reader`; 0: none
    struct {
        int stmt, next; // likewise
    } * reader;
    int unknown; // statements of which not all is seen
} Users;

static Users users_of(const Chooser *c) {
    const Program *p = c->p;
    Users u = {.writes = arena_new_n(c->arena, int, p->tensors.n),
               .last = arena_new_n(c->arena, int, p->tensors.n),
               .first = arena_new_n(c->arena, int, p->tensors.n)};
    int n = 0;
    for (int i = 0; i < p->stmts.n; i++) n += c->nest[i].nrefs;
    u.reader = arena_alloc(c->arena, (size_t)(n + 1) * sizeof *u.reader);
    n = 0;
    for (int i = p->stmts.n - 1; i >= 0; i--) {
        const Nest *nest = &c->nest[i];
        int written = nest->s->write->tensor;
        if (!u.writes[written]++) u.last[written] = i;
        u.unknown += !nest->known;
        for (int r = 1; r < nest->nrefs; r++) {
            int *first = &u.first[nest->ref[r].access->tensor];
            if (*first && u.reader[*first - 1].stmt == i) continue;
            u.reader[n].stmt = i, u.reader[n].next = *first;
            *first = ++n;
        }
    }
    return u;
}

// One definition, each dimension another iterator (and a constant), each iterator in a dimension,
// and storing does not round: the rules of `inline` (tree/rewrite.c).
static bool is_definition(const Chooser *c, const Users *u, int i, const Tap *w) {
    const Nest *n = &c->nest[i];
    const Tensor *t = &c->p->tensors.at[n->s->write->tensor];
    uint64_t seen = 0;
    if (t->role != ROLE_TEMP || !n->taps || n->after >= 0 || type_compute(t->type) != t->type)
        return false;
    for (int d = 0; d < w->rank; d++)
        if (w->iter[d] >= 0) {
            if (seen >> w->iter[d] & 1) return false;
            seen |= (uint64_t)1 << w->iter[d];
        }
    return u->writes[w->tensor] == 1 && seen == ((uint64_t)1 << n->s->niters) - 1;
}

// Does a statement behind the definition, up to `to`, write what it reads?
static bool reads_old(const Chooser *c, const Users *u, int def, int to) {
    const Taps *taps = c->nest[def].taps;
    for (int t = 0; t < taps->n; t++)
        for (int k = def + 1; k <= to && k <= u->last[taps->at[t].tensor]; k++)
            if (taps->at[t].tensor == c->p->stmts.at[k].write->tensor) return true;
    return false;
}

// The taps of a reader with the definition in the place of its reads; *reads: how many those are.
// NULL: it cannot be, or there are too many.
static Taps *taps_with(Chooser *c, const Nest *def, const Tap *w, const Nest *reader, int *reads) {
    Taps *all = arena_new(c->arena, Taps);
    all->n = 0;
    *reads = 0;
    for (int i = 0; i < reader->taps->n; i++) {
        const Tap *r = &reader->taps->at[i];
        bool ok = true;
        if (r->tensor != w->tensor) ok = add_tap(all, r);
        for (int k = 0; r->tensor == w->tensor && k < def->taps->n && ok; k++) {
            Tap t = def->taps->at[k];
            for (int d = 0; d < t.rank; d++)
                for (int e = 0; e < w->rank && t.iter[d] >= 0; e++)
                    if (def->taps->at[k].iter[d] == w->iter[e]) {
                        t.iter[d] = r->iter[e];
                        t.at[d] = def->taps->at[k].at[d] + r->at[e] - w->at[e];
                        break;
                    }
            ok = add_tap(all, &t);
        }
        *reads += r->tensor == w->tensor;
        if (!ok) return NULL;
    }
    return all;
}

// Cycles of all vectors of a statement.
static double stencil_cycles(const Chooser *c, const Nest *n, double ops, const Taps *taps) {
    int row = best_row(n, taps, STENCIL_ROWS, -1);
    double loads = row >= 0 ? taps_in_rows(taps, row, STENCIL_ROWS) : taps->n;
    return n->instances / n->lanes * fmax(ops / c->m->fma_ports, 0.7 * loads + 1);
}

// Puts the definition in the place of all reads if that is cheaper.
static void choose_place(Chooser *c, const Users *u, int def) {
    Nest *n = &c->nest[def];
    Tap w;
    if (!tap_of(n->s->write, &w) || !is_definition(c, u, def, &w)) return;
    if (u->unknown > !n->known) return;
    double bytes = n->instances * n->ref[0].bytes, between = bytes, apart = 0, joined = 0;
    struct Reader {
        Nest *nest;
        Taps *taps; // with the definition in its place
        double ops;
    };
    VEC(struct Reader) readers = {0};
    bool once = true; // loops are shared then, and it stays in registers
    for (int at = u->first[w.tensor]; at; at = u->reader[at - 1].next) {
        int k = u->reader[at - 1].stmt, reads;
        Nest *reader = &c->nest[k];
        if (k <= def || !reader->taps || reader->out.inlined || reader->after >= 0) return;
        if (reads_old(c, u, def, k)) return;
        struct Reader x = {reader, taps_with(c, n, &w, reader, &reads), 0};
        if (!x.taps) return;
        once &= reads == 1;
        x.ops = reader->ops + reads * n->ops;
        between += reader->instances * reader->ref[0].bytes;
        apart += stencil_cycles(c, reader, reader->ops, reader->taps);
        joined += stencil_cycles(c, reader, x.ops, x.taps);
        vec_push(c->arena, &readers, x);
    }
    if (once || joined == 0) return;
    for (int t = 0; t < n->taps->n; t++) between += n->instances * n->ref[0].bytes / n->taps->n;
    apart += stencil_cycles(c, n, n->ops, n->taps) + chooser_traffic(c, 3 * bytes, between);
    if (joined >= apart) return;
    n->out.inlined = true;
    for (int k = 0; k < readers.n; k++)
        readers.at[k].nest->taps = readers.at[k].taps, readers.at[k].nest->ops = readers.at[k].ops;
}

void choose_places(Chooser *c) {
    bool stencils = false;
    for (int i = 0; i < c->p->stmts.n; i++) {
        c->nest[i].taps = taps_of(c, &c->nest[i]);
        stencils |= c->nest[i].taps != NULL;
    }
    if (!stencils) return;
    Users u = users_of(c);
    for (int i = 0; i + 1 < c->p->stmts.n; i++) choose_place(c, &u, i);
}
