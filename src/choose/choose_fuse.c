// Fusion: definitions that are inlined into stencils, rows of a stencil that share loads, and
// statements that share rows with sums in lanes.
//
// A temporary that a stencil reads at several offsets (T(i-1, j) + T(i+1, j)) can be stored and
// loaded again, or inlined into every read and computed several times. The model counts for each
// vector the larger of
//
//     operations/ports      distinct loads, and the store
//
// and the traffic of storing and loading the temporary. It takes the cheaper form for one
// definition after the other, in the Program's order; operations of inlined definitions count for
// their readers.
//
// Sums in lanes end with a horizontal reduction. Those of several short rows are done together,
// which rules out other statements between the rows; and a post-operation of such a sum has one
// value instead of lanes.
//
// A tap is an access relative to the iterators: equal taps are one load. Rows of a stencil that are
// computed together have taps in common.
#include "choose/choose_impl.h"

#include <string.h>

#include <math.h>

enum { TAP_RANK = 5, MOST_TAPS = 40 };

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

// False: some subscript is not an iterator plus a constant.
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

typedef struct TapCollect {
    Taps *taps;
    bool ok;
} TapCollect;

static void collect(void *user, const Access *a, bool guarded) {
    TapCollect *c = user;
    Tap t;
    c->ok &= !guarded && tap_of(a, &t) && add_tap(c->taps, &t);
}

// The taps of a statement without reduction and conditions; NULL otherwise.
static Taps *taps_of(Chooser *c, const ChooseStmt *n) {
    TapCollect all = {.taps = arena_new(c->arena, Taps), .ok = true};
    if (!n->known || n->reduces || n->s->op != REDUCE_ASSIGN || n->s->nconstraints) return NULL;
    all.taps->n = 0;
    expr_visit_accesses(n->s->value, collect, &all);
    return all.ok ? all.taps : NULL;
}

// Distinct taps of `rows` neighbours along iterator `row`, per row.
static double taps_in_rows(const Taps *taps, int row, int rows) {
    int shared = 0;
    for (int i = 0; i < taps->n; i++)
        for (int r = 1; r < rows; r++) { // does an earlier row have this tap?
            Tap t = taps->at[i];
            bool moves = false, found = false;
            for (int d = 0; d < t.rank; d++)
                if (t.iter[d] == row) t.at[d] += r, moves = true;
            for (int k = 0; k < taps->n && !found && moves; k++) found = same_tap(&taps->at[k], &t);
            shared += found ? rows - r : 0;
            if (found) break; // the nearest earlier row counts
        }
    return taps->n - (double)shared / rows;
}

// --- Rows ----------------------------------------------------------------------------------------

// The iterator along which `rows` rows have fewest loads, if that saves enough and its extent is at
// least `least`; -1: none.
static int best_row(const ChooseStmt *n, const Taps *taps, int rows, int64_t least, int except) {
    double best = n->cost->stencil_gain * taps->n;
    int row = -1;
    for (int i = n->s->niters - 1; i >= 0; i--) {
        if (i == except || n->extent[i] < least || n->ref[0].stride[i] == 1) continue;
        double loads = taps_in_rows(taps, i, rows);
        if (loads < best) best = loads, row = i;
    }
    return row;
}

int stencil_rows(const ChooseStmt *n, int row[2]) {
    int rows = n->cost->stencil_rows, block = n->cost->stencil_block;
    row[0] = best_row(n, n->place.taps, rows, block, -1);
    row[1] = row[0] < 0 ? -1 : best_row(n, n->place.taps, rows, block, row[0]);
    if (row[1] >= 0) return rows;
    rows = n->cost->stencil_alone;
    row[0] = best_row(n, n->place.taps, rows, n->cost->stencil_extent, -1);
    if (row[0] < 0) return 1;
    int64_t extent = n->extent[row[0]];
    return (int)ceil_div(extent, ceil_div(extent, rows)); // blocks of equal size
}

bool stencil_crosses(const ChooseStmt *n, int v) {
    const Taps *taps = n->place.taps;
    int64_t first = 0;
    bool any = false, crosses = false;
    for (int r = 0; r < n->nrefs; r++) crosses |= n->ref[r].crooked;
    for (int i = 0; i < taps->n; i++)
        for (int d = 0; d < taps->at[i].rank; d++) {
            if (taps->at[i].iter[d] != v) continue;
            if (!any) first = taps->at[i].at[d];
            crosses |= taps->at[i].at[d] != first;
            any = true;
        }
    return crosses;
}

// --- Definitions in the place of reads -----------------------------------------------------------

// Is it the first lone read of its tensor?
static bool is_lone_reader(const ChooseStmt *n, int r) {
    for (int k = 1; k < r; k++)
        if (n->ref[k].lone && n->ref[k].access->tensor == n->ref[r].access->tensor) return false;
    return n->ref[r].lone;
}

Users chooser_users(const Chooser *c) {
    const Program *p = c->p;
    Users u = {.writes = arena_new_n(c->arena, int, p->tensors.n),
               .last = arena_new_n(c->arena, int, p->tensors.n),
               .lone = arena_new_n(c->arena, int, p->tensors.n),
               .first = arena_new_n(c->arena, int, p->tensors.n)};
    int n = 0;
    for (int i = 0; i < p->stmts.n; i++) n += c->nest[i].nrefs;
    u.reader = arena_alloc(c->arena, (size_t)(n + 1) * sizeof *u.reader);
    n = 0;
    for (int i = p->stmts.n - 1; i >= 0; i--) {
        const ChooseStmt *nest = &c->nest[i];
        int written = nest->s->write->tensor;
        if (!u.writes[written]++) u.last[written] = i;
        u.unknown += !nest->known;
        for (int r = 1; r < nest->nrefs; r++) {
            u.lone[nest->ref[r].access->tensor] += is_lone_reader(nest, r);
            int *first = &u.first[nest->ref[r].access->tensor];
            if (*first && u.reader[*first - 1].stmt == i) continue;
            u.reader[n].stmt = i, u.reader[n].next = *first;
            *first = ++n;
        }
    }
    return u;
}

// The only definition of a temporary, which may be inlined.
static bool is_definition(const Chooser *c, const Users *u, int i) {
    const ChooseStmt *n = &c->nest[i];
    return n->place.taps && n->place.after < 0 && u->writes[n->s->write->tensor] == 1 &&
           stmt_is_definition(c->p, n->s);
}

// Does a statement after the definition, up to `to`, write a tensor that the definition reads?
static bool reads_old(const Chooser *c, const Users *u, int def, int to) {
    const Taps *taps = c->nest[def].place.taps;
    for (int t = 0; t < taps->n; t++)
        for (int k = def + 1; k <= to && k <= u->last[taps->at[t].tensor]; k++)
            if (taps->at[t].tensor == c->p->stmts.at[k].write->tensor) return true;
    return false;
}

// The taps of a reader with the definition inlined, and the number of its reads. NULL: there are
// too many taps.
static Taps *taps_with(Chooser *c, const ChooseStmt *def, const Tap *w, const ChooseStmt *reader,
                       int *reads) {
    Taps *all = arena_new(c->arena, Taps);
    all->n = 0;
    *reads = 0;
    for (int i = 0; i < reader->place.taps->n; i++) {
        const Tap *r = &reader->place.taps->at[i];
        bool ok = true;
        if (r->tensor != w->tensor) ok = add_tap(all, r);
        for (int k = 0; r->tensor == w->tensor && k < def->place.taps->n && ok; k++) {
            Tap t = def->place.taps->at[k];
            for (int d = 0; d < t.rank; d++)
                for (int e = 0; e < w->rank && t.iter[d] >= 0; e++)
                    if (def->place.taps->at[k].iter[d] == w->iter[e]) {
                        t.iter[d] = r->iter[e];
                        t.at[d] = def->place.taps->at[k].at[d] + r->at[e] - w->at[e];
                        break;
                    }
            ok = add_tap(all, &t);
        }
        *reads += r->tensor == w->tensor;
        if (!ok) return NULL;
    }
    return all;
}

// Cycles of a statement with this many operations and loads per vector; of a stencil with its rows
// computed together.
static double vector_cycles(const Chooser *c, const ChooseStmt *n, double ops, double loads) {
    double moves = c->cost->stencil_load * loads + c->cost->store_cycles;
    return n->instances / n->lanes * fmax(ops / c->m->fma_ports, moves);
}

static double stencil_cycles(const Chooser *c, const ChooseStmt *n, double ops, const Taps *taps) {
    int rows = c->cost->stencil_rows;
    int row = best_row(n, taps, rows, c->cost->least_blocks * rows, -1);
    return vector_cycles(c, n, ops, row >= 0 ? taps_in_rows(taps, row, rows) : taps->n);
}

// Inlines the definition into all readers if that is cheaper.
static void choose_place(Chooser *c, const Users *u, int def) {
    ChooseStmt *n = &c->nest[def];
    Tap w;
    if (!tap_of(n->s->write, &w) || !is_definition(c, u, def)) return;
    if (u->unknown > !n->known) return;
    double bytes = n->instances * n->ref[0].bytes, between = bytes, separate = 0,
           inlined_cycles = 0;
    struct FuseReader {
        ChooseStmt *nest;
        Taps *taps; // with the definition inlined
        double ops;
    };
    VEC(struct FuseReader) readers = {0};
    bool once = true; // each reader reads it once: it shares loops and stays in registers
    for (int at = u->first[w.tensor]; at; at = u->reader[at - 1].next) {
        int k = u->reader[at - 1].stmt, reads;
        ChooseStmt *reader = &c->nest[k];
        if (k <= def || !reader->place.taps || reader->place.inlined || reader->place.after >= 0)
            return;
        if (reads_old(c, u, def, group_end(c->p, k) - 1)) return;
        struct FuseReader x = {reader, taps_with(c, n, &w, reader, &reads), 0};
        if (!x.taps) return;
        once &= reads == 1;
        x.ops = reader->ops + reads * n->ops;
        between += reader->instances * reader->ref[0].bytes;
        separate += stencil_cycles(c, reader, reader->ops, reader->place.taps);
        inlined_cycles += stencil_cycles(c, reader, x.ops, x.taps);
        vec_push(c->arena, &readers, x);
    }
    if (inlined_cycles == 0 || (once && readers.n > 1)) return;
    if (once) // statements that share loops compute one row at a time
        separate = c->cost->shared_gain *
                   vector_cycles(c, readers.at[0].nest, readers.at[0].ops, readers.at[0].taps->n);
    for (int t = 0; t < n->place.taps->n; t++)
        between += n->instances * n->ref[0].bytes / n->place.taps->n;
    if (!once)
        separate += stencil_cycles(c, n, n->ops, n->place.taps) +
                    chooser_traffic(c, c->cost->temp_passes * bytes, between);
    if (inlined_cycles >= separate) return;
    n->place.inlined = true;
    for (int k = 0; k < readers.n; k++)
        readers.at[k].nest->place.taps = readers.at[k].taps,
        readers.at[k].nest->ops = readers.at[k].ops;
}

void choose_places(Chooser *c) {
    bool stencils = false;
    for (int i = 0; i < c->p->stmts.n; i++) {
        c->nest[i].place.taps = taps_of(c, &c->nest[i]);
        stencils |= c->nest[i].place.taps != NULL;
    }
    for (int i = 0; i + 1 < c->p->stmts.n && stencils; i++) choose_place(c, &c->users, i);
}

// --- Sums in lanes -------------------------------------------------------------------------------

// Does a later statement read the result element by element, so that it may share loops?
static bool is_passed_on(const Chooser *c, const ChooseStmt *n) {
    int tensor = n->s->write->tensor, me = (int)(n - c->nest);
    for (int at = c->users.first[tensor]; at; at = c->users.reader[at - 1].next) {
        const ChooseStmt *reader = &c->nest[c->users.reader[at - 1].stmt];
        for (int r = 1; r < reader->nrefs && reader - c->nest > me; r++) {
            const Access *a = reader->ref[r].access;
            bool free = a->tensor == tensor;
            for (int d = 0; d < a->rank && free; d++) {
                int i = affine_as_iter(a->sub[d]);
                free = i >= 0 && !reader->s->iter[i].reduction;
            }
            if (free) return true;
        }
    }
    return false;
}

// A post-operation of a sum in lanes has one value at a time. In a nest of its own, after all
// results, it runs in lanes. It stays if results do not fit into a cache, or if other statements
// read them in the same row.
void choose_release(Chooser *c, ChooseStmt *n) {
    ChooseStmt *host = &c->nest[n->place.after];
    bool small = n->instances * n->ref[0].bytes * n->nrefs <= room_in(c, 2);
    bool worth = host->out.by_rows || (n->instances >= n->lanes && small && !is_passed_on(c, n));
    if (!host->out.horizontal || !(worth || host->place.released)) return;
    host->place.released = true;
    n->place.after = -1;
}

// Does the generator unroll all vectors of a statement, of so many lanes each?
static bool is_unrolled(const Chooser *c, const ChooseStmt *n, int64_t lanes) {
    double vectors = n->instances / (double)lanes;
    return vectors * (1 + n->ops * n->cost->unroll_op) <= c->m->unroll_limit;
}

// Does a sum read results one by one that are stored in less than a vector? Its loads would wait
// for the masked stores if they followed at once.
static bool waits(const Chooser *c, const ChooseStmt *n) {
    int v = -1, tensor = n->s->write->tensor;
    if (n->reduces || n->ref[0].size > room_in(c, 2)) return false;
    for (int i = 0; i < n->s->niters && n->out.nloops; i++)
        if (n->out.loop[n->out.nloops - 1].iter == n->s->iter[i].name) v = i;
    if (v < 0 || n->extent[v] >= n->lanes || !(n->extent[v] & (n->extent[v] - 1))) return false;
    for (int at = c->users.first[tensor]; at; at = c->users.reader[at - 1].next) {
        const ChooseStmt *sum = &c->nest[c->users.reader[at - 1].stmt];
        // Straight-line code takes them from registers.
        bool straight = is_unrolled(c, n, n->extent[v]) && is_unrolled(c, sum, n->extent[v]);
        if (sum->reduces && (sum->out.horizontal || !straight)) return true;
    }
    return false;
}

// The number of statements from `from` on that begin with a loop over the same iterator.
static int same_rows(const Chooser *c, int from, bool *by_rows, double *bytes) {
    Name iter = NULL;
    int n = 0;
    *by_rows = false;
    *bytes = 0;
    for (; from + n < c->p->stmts.n; n++) {
        const ChooseStmt *next = &c->nest[from + n];
        if (is_moved(next)) continue;
        if (!next->out.nloops || (iter && next->out.loop[0].iter != iter)) break;
        iter = next->out.loop[0].iter;
        *by_rows |= next->out.by_rows;
        for (int r = 0; r < next->nrefs; r++) *bytes += next->ref[r].size;
    }
    return n;
}

static void add_block(ChooseStmt *n, int64_t step) {
    for (int i = n->out.nloops++; i > 0; i--) n->out.loop[i] = n->out.loop[i - 1];
    n->out.loop[0] = (SchedLoop){.iter = n->out.loop[1].iter, .step = step};
    n->out.head.stage = n->out.perfect = 1;
}

// The length of the row that a sum in lanes adds up; 0: it is another statement.
static int64_t row_of_sum(const ChooseStmt *n) {
    int v = -1;
    for (int i = 0; i < n->s->niters && n->out.nloops; i++)
        if (n->out.loop[n->out.nloops - 1].iter == n->s->iter[i].name) v = i;
    return n->out.horizontal && v >= 0 && n->s->iter[v].reduction ? n->extent[v] : 0;
}

// Is it a sum in lanes over a row of at least one vector, and at most this many?
static bool is_sum_of(const ChooseStmt *n, int vectors) {
    int64_t row = row_of_sum(n);
    return row >= n->lanes && row <= vectors * n->lanes;
}
static bool is_row_sum(const ChooseStmt *n) { return is_sum_of(n, n->cost->horizontal_fused); }

// Does it read the result of a statement without reduction that shares the row?
static bool takes_row(const Chooser *c, int first, int at) {
    const ChooseStmt *n = &c->nest[at];
    for (int k = first; k < at; k++) {
        const ChooseStmt *before = &c->nest[k];
        if (is_moved(before) || before->reduces || before->out.head.stage == 0) continue;
        for (int r = 1; r < n->nrefs; r++)
            if (n->ref[r].access->tensor == before->s->write->tensor) return true;
    }
    return false;
}

static bool is_read_in(const Chooser *c, int tensor, int from, int end) {
    for (int k = from; k < end; k++)
        for (int r = 1; r < c->nest[k].nrefs && !is_moved(&c->nest[k]); r++)
            if (c->nest[k].ref[r].access->tensor == tensor) return true;
    return false;
}

// Removes the block of rows again.
static void drop_block(ChooseStmt *n) {
    int at = 0;
    while (at + 1 < n->out.nloops && n->out.loop[at].iter != n->out.loop[at + 1].iter) at++;
    if (at + 1 == n->out.nloops) return;
    memmove(&n->out.loop[at], &n->out.loop[at + 1],
            (size_t)(--n->out.nloops - at) * sizeof *n->out.loop);
    n->out.perfect = n->out.nloops;
    n->out.by_rows = false;
}

// The number of the first loop from `at` on that runs more than once; that of all loops: none does.
static int next_loop(const ChooseStmt *n, int at) {
    for (; at < n->out.nloops; at++) {
        int i = stmt_find_iter(n->s, n->out.loop[at].iter);
        if (i >= 0 && n->extent[i] > 1) break;
    }
    return at;
}

// Are the loops of y those of x from number `at` on?
static bool has_loops(const ChooseStmt *y, const ChooseStmt *x, int at) {
    int i = next_loop(y, 0);
    for (at = next_loop(x, at); at < x->out.nloops; at = next_loop(x, at + 1)) {
        const SchedLoop *own = &y->out.loop[i], *other = &x->out.loop[at];
        if (i == y->out.nloops || own->iter != other->iter || own->step != other->step)
            return false;
        i = next_loop(y, i + 1);
    }
    return i == y->out.nloops;
}

// Gives the statements that compute the rows of a sum its block of rows, so that all share it and
// sums of several rows are still done together. Nothing else may stand in these rows.
static bool share_block(Chooser *c, int from, int sum, int end) {
    ChooseStmt *x = &c->nest[sum];
    const SchedLoop *block = x->out.loop;
    bool ok = x->out.nloops > 1 && block[0].iter == block[1].iter && is_row_sum(x);
    for (int k = from; k < end && ok; k++) {
        const ChooseStmt *y = &c->nest[k];
        if (is_moved(y) || k == sum) continue;
        ok = k < sum && !y->reduces && y->out.head.stage < 0 && has_loops(y, x, 1);
    }
    for (int k = from; k < sum && ok; k++) {
        Section *out = &c->nest[k].out;
        if (is_moved(&c->nest[k])) continue;
        for (int i = out->nloops++; i > 0; i--) out->loop[i] = out->loop[i - 1];
        out->loop[0] = block[0];
        out->perfect = out->nloops;
    }
    if (ok) x->out.by_rows = false;
    return ok;
}

// Sums in lanes from statement k on that have nests of their own loops.
static int count_sums(const Chooser *c, int k, int end) {
    int sums = 0;
    for (; k < end; k++) sums += !is_moved(&c->nest[k]) && c->nest[k].out.horizontal;
    return sums;
}

// Separates the statements whose results the sum reads in the same row from it.
static void part_row(Chooser *c, int from, int sum) {
    const ChooseStmt *x = &c->nest[sum];
    for (int k = from; k < sum; k++)
        for (int r = 1; r < x->nrefs && !is_moved(&c->nest[k]) && !c->nest[k].reduces; r++)
            if (x->ref[r].access->tensor == c->nest[k].s->write->tensor)
                c->nest[k].out.head.stage = 0;
}

// Is the nest one of two loops, the inner one in lanes?
static bool is_row_nest(const ChooseStmt *n) {
    return n->out.nloops == 2 && n->out.loop[0].kind == KIND_SERIAL && n->out.loop[0].step == 1 &&
           n->out.loop[1].kind == KIND_VECTOR && n->out.head.stage < 0;
}

// Sums the rows of a block before other statements read the sums, row by row: m/4 | m n:v. The
// latencies of the sums overlap, and the rows stay in L1. Values that are computed in the same row
// for a sum would come from memory, so there may be none. False: there is no such block.
static bool block_sums(Chooser *c, int from, int n) {
    bool sums = false;
    for (int k = from; k < from + n; k++) {
        ChooseStmt *x = &c->nest[k];
        if (is_moved(x)) continue;
        int64_t row = row_of_sum(x);
        if (row && row < x->lanes) return false;
        sums |= row && row <= c->cost->sum_longest * x->lanes &&
                is_read_in(c, x->s->write->tensor, k + 1, from + n);
        if (x->out.by_rows ? !row || x->out.order_rows : !is_row_nest(x)) return false;
        if (takes_row(c, from, k)) return false;
    }
    for (int k = from; k < from + n && sums && c->cost->sum_rows > 1; k++) {
        ChooseStmt *x = &c->nest[k];
        if (is_moved(x)) continue;
        if (x->out.by_rows) drop_block(x);
        add_block(x, c->cost->sum_rows);
    }
    return sums && c->cost->sum_rows > 1;
}

// A short row waits for the latency of its sum. In a nest of its own, sums of several rows overlap;
// but a sum of values that are computed in the same row takes them from registers. A processor that
// looks far ahead overlaps short rows with one sum each, and computes them before another sum.
static void part_sums(Chooser *c, int from, int n) {
    if (block_sums(c, from, n)) return;
    for (int k = from; k < from + n; k++) {
        ChooseStmt *x = &c->nest[k];
        int64_t row = is_moved(x) ? 0 : row_of_sum(x);
        if (!row || row > c->cost->horizontal_short * x->lanes) continue;
        bool taken = takes_row(c, from, k),
             read = is_read_in(c, x->s->write->tensor, k + 1, from + n);
        bool parted = read && count_sums(c, k + 1, from + n) >= c->cost->parted_sums;
        if (row < x->lanes) { // less than a vector
            if (!taken && parted) x->out.head.stage = 0;
            continue;
        }
        if (taken && is_sum_of(x, c->cost->parted_row)) {
            part_row(c, from, k);
            drop_block(x);
        } else if (taken) {
            if (x->out.by_rows && !share_block(c, from, k, from + n)) drop_block(x);
        } else if (parted) {
            x->out.head.stage = 0;
        } else if (read) {
            drop_block(x);
        }
    }
}

// The statement before, if it computes the rows that sums over columns read, and takes long enough
// to hide that sums are loaded and stored with every row; NULL: it does not.
static const ChooseStmt *row_maker(const Chooser *c, int at) {
    const ChooseStmt *n = &c->nest[at], *before = NULL;
    for (int k = 0; k < at; k++)
        if (!is_moved(&c->nest[k])) before = &c->nest[k];
    if (!before || before->reduces || !is_row_nest(before)) return NULL;
    bool is_far = before->ref[0].size > room_in(c, 1);
    if (before->ops < c->cost->dear_ops && !is_far) return NULL;
    for (int r = 1; r < n->nrefs; r++)
        if (n->ref[r].access->tensor == before->s->write->tensor && n->ref[r].lone)
            return before->ref[0].lone ? before : NULL;
    return NULL;
}

// Adds up columns of rows that the statement before computes: row by row in its loops, where
// values come from registers, rather than a few columns at a time behind it. The sums stay in L1.
static void share_rows_of_columns(const Chooser *c, int at) {
    ChooseStmt *n = &c->nest[at];
    SchedLoop *l = n->out.loop;
    if (is_moved(n) || !n->reduces || n->out.horizontal || n->out.nloops != 3 ||
        n->out.head.ncopies)
        return;
    int v = stmt_find_iter(n->s, l[0].iter), m = stmt_find_iter(n->s, l[1].iter);
    if (v < 0 || m < 0 || l[2].iter != l[0].iter || l[2].kind != KIND_VECTOR || l[1].step != 1)
        return;
    if (n->s->iter[v].reduction || !n->s->iter[m].reduction || n->ref[0].stride[v] != 1 ||
        n->extent[m] < c->cost->column_rows)
        return;
    bool fits =
        n->ref[0].size <= room_in(c, 1) && n->extent[v] >= c->cost->column_vectors * n->lanes;
    const ChooseStmt *rows = fits ? row_maker(c, at) : NULL;
    if (!rows || rows->out.loop[0].iter != l[1].iter || rows->out.loop[1].iter != l[0].iter) return;
    if (!c->o->serial && n->cycles + rows->cycles >= c->cost->parallel_worth) return;
    l[0] = rows->out.loop[0];
    l[1] = rows->out.loop[1];
    n->out.nloops = n->out.perfect = 2;
}

// Rows of a block: all that statements read and write in them stays in L2.
static int64_t block_rows_of(const Chooser *c, const ChooseStmt *n, double bytes) {
    int i = stmt_find_iter(n->s, n->out.loop[0].iter);
    double fit = room_in(c, 2) / (bytes / (double)max_i64(i < 0 ? 1 : n->extent[i], 1));
    int64_t tile = max_i64(c->cost->order_rows, 1);
    return min_i64(c->cost->stage_rows, max_i64((int64_t)fit / tile, 1) * tile);
}

// Bytes of the arguments that the statements read and write.
static double argument_bytes(const Chooser *c, int from, int end) {
    bool *seen = arena_new_n(c->arena, bool, c->p->tensors.n + 1);
    double bytes = 0;
    for (int k = from; k < end; k++)
        for (int r = 0; r < c->nest[k].nrefs; r++) {
            int t = c->nest[k].ref[r].access->tensor;
            if (!seen[t] && c->p->tensors.at[t].role != ROLE_TEMP) bytes += c->nest[k].ref[r].size;
            seen[t] = true;
        }
    return bytes;
}

// i/12 j/16 i j:v -> i j:v, where rows come from beyond L2 with other statements (choose_order.c).
static void drop_tile(ChooseStmt *n) {
    SchedLoop *l = n->out.loop;
    int at = 0;
    while (at + 3 < n->out.nloops && l[at].iter != l[at + 2].iter) at++;
    if (at + 4 != n->out.nloops || l[at + 1].iter != l[at + 3].iter) return;
    l[at] = l[at + 2];
    l[at + 1] = l[at + 3];
    n->out.nloops = n->out.perfect = at + 2;
    n->out.by_rows = false;
}

// Separates nests whose horizontal reductions are done together: statements that share their rows
// would come between. If the data does not fit into L2, all nests run block by block.
void choose_blocks(Chooser *c) {
    bool by_rows;
    double bytes;
    for (int i = 0; i + 1 < c->p->stmts.n; i++)
        if (!is_moved(&c->nest[i]) && waits(c, &c->nest[i])) c->nest[i].out.head.stage = 0;
    for (int i = 1; i < c->p->stmts.n; i++) share_rows_of_columns(c, i);
    for (int i = 0, n = 0; i < c->p->stmts.n; i += n) {
        n = (int)max_i64(1, same_rows(c, i, &by_rows, &bytes));
        int nests = 0;
        for (int k = i; k < i + n; k++) nests += !is_moved(&c->nest[k]);
        bool large = bytes > room_in(c, 2);
        bool far = nests > 1 && argument_bytes(c, i, i + n) > (double)c->m->cache[2];
        for (int k = i; k < i + n && far; k++)
            if (!is_moved(&c->nest[k]) && c->nest[k].out.order_rows) drop_tile(&c->nest[k]);
        if (far) same_rows(c, i, &by_rows, &bytes);
        if (nests > 1 && !large) part_sums(c, i, n);
        if (!by_rows || nests < 2) continue;
        for (int k = i; k < i + n; k++) {
            ChooseStmt *x = &c->nest[k];
            if (is_moved(x)) continue;
            if (large)
                add_block(x, block_rows_of(c, x, bytes));
            else if (x->out.by_rows)
                x->out.head.stage = 0;
        }
    }
}
