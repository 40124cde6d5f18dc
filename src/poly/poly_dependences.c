// Prints the dependences of a scop; see poly.h.
#include "poly/poly_scop.h"

#include <stdlib.h>
#include <string.h>

#ifdef POLY_HAS_ISL
enum { MAX_LINES = 512, DEPENDENCE_BUDGET = 5000000 };

typedef struct Flow {
    PolyIsl x;
    bool values;
    isl_union_map *reads, *sure, *maybe,
        *time; // sure: writes that certainly replace the element
    const char *kind;
    int n;
    char *line[MAX_LINES];       // allocated by isl
    const char *name[MAX_LINES]; // of the kind of dependence
    int from[MAX_LINES], to[MAX_LINES];
} Flow;

static isl_union_map *join(const Isl *I, isl_union_map *all, isl_map *more) {
    return I->union_map_union(all, I->union_map_from_map(more));
}

static isl_union_map *empty(const PolyIsl *x) {
    return x->I->union_map_empty(x->I->space_set_alloc(x->ctx, 0, 0));
}

static int most_iters(const PolyScop *s) {
    int n = 0;
    for (int i = 0; i < s->n; i++) n = s->stmt[i].s->niters > n ? s->stmt[i].s->niters : n;
    return n;
}

static int most_serial(const PolyScop *s) {
    int n = 0;
    for (int i = 0; i < s->n; i++) n = s->stmt[i].s->serial > n ? s->stmt[i].s->serial : n;
    return n;
}

// The first statement of the scop that shares the steps of this level with `stmt`; `stmt` itself if
// it has no such level.
static int first_in_steps(const PolyScop *s, int stmt, int level) {
    const PolyStmt *own = &s->stmt[stmt];
    int first = 0;
    if (level >= own->s->serial) return stmt;
    while (s->stmt[first].stmt < own->stmt &&
           stmts_common(s->p, s->stmt[first].stmt, own->stmt) <= level)
        first++;
    return first;
}

// Appends a level to a map to time: the first statement that shares the steps, and the step.
static isl_map *add_level(const PolyIsl *x, isl_map *map, isl_space *space, int stmt, int level) {
    const Isl *I = x->I;
    bool own = level < x->s->stmt[stmt].s->serial;
    isl_aff *first = poly_constant(I, space, first_in_steps(x->s, stmt, level));
    isl_aff *step = own ? poly_variable(I, space, level) : poly_constant(I, space, 0);
    map = I->map_flat_range_product(map, I->map_from_aff(first));
    return I->map_flat_range_product(map, I->map_from_aff(step));
}

// S[t, i] -> [first statement of the steps, t, ..., number of S, t, i, 0, ...]
static isl_map *time_of(const PolyIsl *x, int stmt) {
    const Isl *I = x->I;
    isl_space *space = scop_space(x, stmt);
    isl_map *map = I->map_from_aff(poly_constant(I, space, 0));
    for (int i = 0; i < most_serial(x->s); i++) map = add_level(x, map, space, stmt, i);
    map = I->map_flat_range_product(map, I->map_from_aff(poly_constant(I, space, stmt)));
    for (int i = 0; i < most_iters(x->s); i++) {
        bool own = i < x->s->stmt[stmt].s->niters;
        isl_aff *at = own ? poly_variable(I, space, i) : poly_constant(I, space, 0);
        map = I->map_flat_range_product(map, I->map_from_aff(at));
    }
    I->space_free(space);
    return I->map_intersect_domain(map, scop_domain(x, stmt));
}

// A reduction also reads its element. Unless it is ordered, its updates do not hide earlier writes.
static void collect(Flow *f) {
    const PolyScop *s = f->x.s;
    for (int i = 0; i < s->n; i++) {
        f->time = join(f->x.I, f->time, time_of(&f->x, i));
        for (int k = 0; k < scop_accesses(s, i); k++) {
            bool may, reduces = scop_reduces(&s->stmt[i]);
            isl_map *map = scop_access(&f->x, i, scop_access_at(s, i, k), &may);
            bool sure = f->values && !may && (!reduces || s->ordered);
            if (k || reduces) f->reads = join(f->x.I, f->reads, k ? map : f->x.I->map_copy(map));
            if (k) continue;
            isl_union_map **to = sure ? &f->sure : &f->maybe;
            *to = join(f->x.I, *to, map);
        }
    }
}

static int number_of(const char *tuple) { return tuple ? atoi(tuple + 1) : 0; }

static isl_map *named(const Flow *f, isl_map *map, enum isl_dim_type side, int stmt) {
    const PolyStmt *s = &f->x.s->stmt[stmt];
    for (int i = 0; i < s->s->niters; i++)
        map = f->x.I->map_set_dim_name(map, side, (unsigned)i, s->s->iter[i].name);
    return f->x.I->map_set_tuple_name(map, side, s->label);
}

static isl_stat keep(isl_map *map, void *user) {
    Flow *f = user;
    const Isl *I = f->x.I;
    int from = number_of(I->map_get_tuple_name(map, isl_dim_in));
    int to = number_of(I->map_get_tuple_name(map, isl_dim_out));
    bool relaxed = from == to && !f->x.s->ordered; // a statement's reads all precede its writes
    if (relaxed && f->x.s->stmt[from].s->serial) {
        map = scop_earlier(&f->x, from, map);
        relaxed = I->map_is_empty(map) != isl_bool_false;
    }
    if (relaxed || f->n == MAX_LINES) {
        I->map_free(map);
        return isl_stat_ok;
    }
    map = I->map_coalesce(named(f, named(f, map, isl_dim_in, from), isl_dim_out, to));
    f->from[f->n] = from;
    f->to[f->n] = to;
    f->name[f->n] = f->kind;
    f->line[f->n] = I->map_to_str(map);
    f->n += f->line[f->n] != NULL;
    I->map_free(map);
    return isl_stat_ok;
}

static bool find(Flow *f, PolyDepKind kind) {
    const Isl *I = f->x.I;
    isl_union_map *writes =
        I->union_map_union(I->union_map_copy(f->sure), I->union_map_copy(f->maybe));
    isl_union_access_info *info =
        I->union_access_info_from_sink(kind == POLY_FLOW ? I->union_map_copy(f->reads) : writes);
    isl_union_map *may = kind == POLY_ANTI ? f->reads : f->maybe;
    info = I->union_access_info_set_may_source(info, I->union_map_copy(may));
    if (kind == POLY_ANTI)
        info = I->union_access_info_set_kill(info, I->union_map_copy(f->sure));
    else
        info = I->union_access_info_set_must_source(info, I->union_map_copy(f->sure));
    info = I->union_access_info_set_schedule_map(info, I->union_map_copy(f->time));
    if (kind == POLY_FLOW) I->union_map_free(writes);
    isl_union_flow *flow = I->union_access_info_compute_flow(info);
    isl_union_map *found = flow ? I->union_flow_get_may_dependence(flow) : NULL;
    f->kind = poly_dep_name[kind];
    bool done = found && I->union_map_foreach_map(found, keep, f) == isl_stat_ok;
    I->union_map_free(found);
    I->union_flow_free(flow);
    return done;
}

// Sorts by source, then by sink; flow dependences come first.
static int next_line(const Flow *f, const bool *used) {
    int best = -1;
    for (int i = 0; i < f->n; i++) {
        if (used[i]) continue;
        if (best < 0 || f->from[i] < f->from[best] ||
            (f->from[i] == f->from[best] && f->to[i] < f->to[best]))
            best = i;
    }
    return best;
}

typedef struct Output {
    Text *text;
    const Flow *f;
} Output;

static void write_lines(void *arg) {
    Output *o = arg;
    bool used[MAX_LINES] = {false};
    for (int i; (i = next_line(o->f, used)) >= 0; used[i] = true)
        text_printf(o->text, "%s %s\n", o->f->name[i], o->f->line[i]);
}

PolyStatus poly_dependences(Text *out, const PolyScop *s, bool values) {
    Isl isl;
    Arena *arena = out->arena;
    Flow *f = arena_new(arena, Flow);
    if (!isl_load(&isl)) return POLY_MISSING;
    isl_ctx *ctx = isl_begin(&isl, DEPENDENCE_BUDGET);
    if (!ctx) return POLY_EXHAUSTED;
    f->x = (PolyIsl){&isl, ctx, s};
    f->values = values;
    f->reads = empty(&f->x), f->sure = empty(&f->x);
    f->maybe = empty(&f->x), f->time = empty(&f->x);
    collect(f);
    bool done = true;
    for (int k = 0; k < POLY_DEP_KINDS && done; k++) done = find(f, (PolyDepKind)k);
    isl.union_map_free(f->reads);
    isl.union_map_free(f->sure);
    isl.union_map_free(f->maybe);
    isl.union_map_free(f->time);
    isl_end(&isl, ctx);
    bool room = arena_try(arena, write_lines, &(Output){out, f});
    for (int i = 0; i < f->n; i++) free(f->line[i]);
    if (!room) arena_out_of_memory(arena);
    return done ? POLY_OK : POLY_EXHAUSTED;
}
#else
PolyStatus poly_dependences(Text *out, const PolyScop *s, bool values) {
    (void)out, (void)s, (void)values;
    return POLY_MISSING;
}
#endif
