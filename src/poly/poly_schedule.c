// TC's scheduler, based on isl's; see poly.h.
//
// Initially each statement, with its initialisation, is a cluster whose loops need no search. In
// the order of the Program, each cluster is fused with the last cluster that it depends on, if isl
// finds an outer band for the union that satisfies the options; otherwise it is placed after it.
// Clusters are formed here, because isl has neither TC's fusion strategies nor its limits on
// coefficients. Where isl exceeds its budget (long chains of convolutions), the loops of the two
// clusters are matched one by one, and deps.c decides (stmts_share).
//
// isl does not see initialisations: they run with their statement, outside its reduction loops.
//
// No code may allocate from an arena while isl works. The tree is therefore written to a tape of
// numbers first, and read from there.
#include "poly/poly_scop.h"

#include <stdlib.h>

#include "poly/poly_tree.h"

const char *const poly_fusion_name[POLY_FUSIONS] = {"preserve3", "max", "min"};

#ifdef POLY_HAS_ISL
enum {
    SCHEDULE_BUDGET = 3000, // isl operations for one cluster: some milliseconds
    STEPS_BUDGET = 100000,  // for a statement with steps; there are few of these
    MAX_CLUSTER = 24,       // statements of the scop
};

// BAND permutable n, then per member: whether it is coincident, and per statement of the cluster
// the coefficients and the constant. SEQUENCE n, then per child: its number of statements, these
// statements, and its tree. LEAF.
typedef struct Tape {
    int64_t *at;
    int n, cap;
    bool broken;
} Tape;

typedef struct Cluster {
    int n;
    int stmt[MAX_CLUSTER]; // without initialisations
    const PolyNode *tree;
    bool closed; // it keeps the loops of the text, and is not fused
} Cluster;

typedef struct Scheduler {
    PolyIsl x;
    const PolyOptions *o;
    const Cluster *c; // the cluster being scheduled
    Tape tape;
    int width; // number of iterators plus one for the constant
} Scheduler;

// --- The tape ----------------------------------------------------------------------------------

static void put(Tape *t, int64_t v) {
    if (t->n == t->cap)
        t->broken = true;
    else
        t->at[t->n++] = v;
}

static int index_in(const Cluster *c, const char *tuple) {
    int stmt = tuple ? atoi(tuple + 1) : -1;
    for (int i = 0; i < c->n; i++)
        if (c->stmt[i] == stmt) return i;
    return -1;
}

typedef struct ClusterMember {
    Scheduler *s;
    int64_t *row; // the row of the current statement
    bool broken;
} ClusterMember;

static int64_t take_number(ClusterMember *m, isl_val *v) {
    const Isl *I = m->s->x.I;
    m->broken |= !v || I->val_is_int(v) != isl_bool_true;
    int64_t n = m->broken ? 0 : I->val_get_num_si(v);
    I->val_free(v);
    return n;
}

static isl_stat read_piece(isl_set *domain, isl_aff *a, void *user) {
    ClusterMember *m = user;
    const Isl *I = m->s->x.I;
    int n = (int)I->aff_dim(a, isl_dim_in);
    m->broken |= I->aff_dim(a, isl_dim_div) != 0;
    for (int i = 0; i < n; i++)
        m->row[i] = take_number(m, I->aff_get_coefficient_val(a, isl_dim_in, i));
    m->row[m->s->width - 1] = take_number(m, I->aff_get_constant_val(a));
    I->set_free(domain);
    I->aff_free(a);
    return isl_stat_ok;
}

static isl_stat read_function(isl_pw_aff *f, void *user) {
    ClusterMember *m = user;
    const Isl *I = m->s->x.I;
    isl_id *id = I->pw_aff_get_tuple_id(f, isl_dim_in);
    int at = index_in(m->s->c, id ? I->id_get_name(id) : NULL);
    int64_t *rows = m->row;
    I->id_free(id);
    m->broken |= at < 0 || I->pw_aff_n_piece(f) != 1;
    if (!m->broken) {
        m->row = rows + at * m->s->width;
        I->pw_aff_foreach_piece(f, read_piece, m);
        m->row = rows;
    }
    I->pw_aff_free(f);
    return isl_stat_ok;
}

static void write_band(Scheduler *s, isl_schedule_node *node) {
    const Isl *I = s->x.I;
    int n = (int)I->schedule_node_band_n_member(node);
    isl_multi_union_pw_aff *all = I->schedule_node_band_get_partial_schedule(node);
    put(&s->tape, POLY_BAND);
    put(&s->tape, n);
    put(&s->tape, I->schedule_node_band_get_permutable(node) == isl_bool_true);
    for (int i = 0; i < n; i++) {
        put(&s->tape, I->schedule_node_band_member_get_coincident(node, i) == isl_bool_true);
        Tape *t = &s->tape;
        int from = t->n;
        for (int k = 0; k < s->c->n * s->width; k++) put(t, 0);
        if (t->broken) break;
        ClusterMember m = {.s = s, .row = t->at + from};
        isl_union_pw_aff *one = I->multi_union_pw_aff_get_union_pw_aff(all, i);
        if (!one || I->union_pw_aff_foreach_pw_aff(one, read_function, &m) != isl_stat_ok)
            m.broken = true;
        I->union_pw_aff_free(one);
        t->broken |= m.broken;
    }
    I->multi_union_pw_aff_free(all);
}

typedef struct ClusterBelow {
    Scheduler *s;
    int n, at[MAX_CLUSTER];
} ClusterBelow;

static isl_stat note_set(isl_set *set, void *user) {
    ClusterBelow *b = user;
    int at = index_in(b->s->c, b->s->x.I->set_get_tuple_name(set));
    if (at >= 0 && b->n < MAX_CLUSTER) b->at[b->n++] = at;
    b->s->x.I->set_free(set);
    return isl_stat_ok;
}

static void write_filter(Scheduler *s, isl_schedule_node *node) {
    ClusterBelow b = {.s = s};
    isl_union_set *below = s->x.I->schedule_node_filter_get_filter(node);
    if (!below || s->x.I->union_set_foreach_set(below, note_set, &b) != isl_stat_ok)
        s->tape.broken = true;
    s->x.I->union_set_free(below);
    put(&s->tape, b.n);
    for (int i = 0; i < b.n; i++) put(&s->tape, b.at[i]);
}

static void write_node(Scheduler *s, isl_schedule_node *node);

static void write_child(Scheduler *s, isl_schedule_node *node, int i) {
    isl_schedule_node *child = s->x.I->schedule_node_get_child(node, i);
    write_node(s, child);
    s->x.I->schedule_node_free(child);
}

static void write_node(Scheduler *s, isl_schedule_node *node) {
    const Isl *I = s->x.I;
    if (!node || s->tape.broken) {
        s->tape.broken = true;
        return;
    }
    int n = (int)I->schedule_node_n_children(node);
    switch (I->schedule_node_get_type(node)) {
    case isl_schedule_node_leaf: put(&s->tape, POLY_LEAF); return;
    case isl_schedule_node_domain: write_child(s, node, 0); return;
    case isl_schedule_node_filter:
        write_filter(s, node);
        write_child(s, node, 0);
        return;
    case isl_schedule_node_band:
        write_band(s, node);
        write_child(s, node, 0);
        return;
    case isl_schedule_node_sequence:
    case isl_schedule_node_set:
        put(&s->tape, POLY_SEQUENCE);
        put(&s->tape, n);
        for (int i = 0; i < n; i++) write_child(s, node, i);
        return;
    default: s->tape.broken = true;
    }
}

// --- One cluster -------------------------------------------------------------------------------

static isl_schedule *compute(Scheduler *s) {
    const Isl *I = s->x.I;
    const Cluster *c = s->c;
    isl_union_set *domain = I->union_set_empty(I->space_set_alloc(s->x.ctx, 0, 0));
    isl_union_map *order = I->union_map_empty(I->space_set_alloc(s->x.ctx, 0, 0));
    isl_union_map *carried = I->union_map_empty(I->space_set_alloc(s->x.ctx, 0, 0));
    for (int i = 0; i < c->n; i++) {
        int a = c->stmt[i];
        domain = I->union_set_union(domain, I->union_set_from_set(scop_domain(&s->x, a)));
        for (int k = i + 1; k < c->n; k++) {
            isl_map *m = scop_conflicts(&s->x, a, c->stmt[k]);
            if (m) order = I->union_map_union(order, I->union_map_from_map(m));
        }
        isl_map *earlier = c->closed ? scop_in_steps(&s->x, a) : NULL;
        if (earlier) order = I->union_map_union(order, I->union_map_from_map(earlier));
        isl_map *steps = scop_reduces(&s->x.s->stmt[a]) ? scop_steps(&s->x, a) : NULL;
        if (steps) carried = I->union_map_union(carried, I->union_map_from_map(steps));
    }
    carried = I->union_map_union(carried, I->union_map_copy(order));
    isl_schedule_constraints *k = I->schedule_constraints_on_domain(domain);
    bool ordered = s->x.s->ordered;
    k = I->schedule_constraints_set_validity(k, I->union_map_copy(ordered ? carried : order));
    k = I->schedule_constraints_set_coincidence(k, carried);
    k = I->schedule_constraints_set_proximity(k, order);
    return I->schedule_constraints_compute_schedule(k);
}

// Writes the tree of a cluster to the tape. Returns false if isl found none within its budget.
static bool schedule_cluster(Scheduler *s, const Cluster *c) {
    const Isl *I = s->x.I;
    s->c = c;
    s->tape.n = 0;
    s->tape.broken = false;
    s->x.ctx = isl_begin(I, c->closed ? STEPS_BUDGET : SCHEDULE_BUDGET);
    if (!s->x.ctx) return false;
    I->options_set_schedule_whole_component(s->x.ctx, 1);
    I->options_set_schedule_maximize_band_depth(s->x.ctx, 1);
    I->options_set_schedule_treat_coalescing(s->x.ctx, 0);
    if (!s->o->skew) I->options_set_schedule_max_coefficient(s->x.ctx, 1);
    isl_schedule *schedule = compute(s);
    isl_schedule_node *root = schedule ? I->schedule_get_root(schedule) : NULL;
    write_node(s, root);
    I->schedule_node_free(root);
    I->schedule_free(schedule);
    isl_end(I, s->x.ctx);
    return !s->tape.broken;
}

// --- Reading the tape --------------------------------------------------------------------------

static bool is_zero(const int64_t *row, int n) {
    for (int i = 0; i < n; i++)
        if (row[i]) return false;
    return true;
}

static PolyMember read_member(Arena *arena, Scheduler *s, int *at) {
    const int64_t *tape = s->tape.at;
    const int64_t **value = arena_new_n(arena, const int64_t *, s->x.s->n);
    PolyMember m = {.value = value, .coincident = tape[(*at)++]};
    for (int k = 0; k < s->c->n; k++, *at += s->width) {
        const int64_t *from = tape + *at;
        if (is_zero(from, s->width - 1)) continue;
        int64_t *row = arena_new_n(arena, int64_t, POLY_ROW);
        for (int i = 0; i + 1 < s->width; i++) row[i] = from[i];
        row[POLY_ROW - 1] = from[s->width - 1];
        value[s->c->stmt[k]] = row;
    }
    poly_add_inits(s->x.s, &m);
    return m;
}

// The statements, with the initialisation of each in front of it.
static int with_inits(Arena *arena, const PolyScop *s, int n, const int *stmt, const int **out) {
    int *all = arena_new_n(arena, int, 2 * n + 1), count = 0;
    for (int i = 0; i < n; i++) {
        if (stmt[i] && s->stmt[stmt[i] - 1].init) all[count++] = stmt[i] - 1;
        all[count++] = stmt[i];
    }
    *out = all;
    return count;
}

static const PolyNode *read_node(Arena *arena, Scheduler *s, int *at, int n, const int *stmt) {
    const int64_t *tape = s->tape.at;
    PolyNode *node = arena_new(arena, PolyNode);
    *node = (PolyNode){.kind = (PolyNodeKind)tape[(*at)++], .nstmts = n, .stmt = stmt};
    if (node->kind == POLY_LEAF) return node;
    int count = (int)tape[(*at)++];
    const PolyNode **child = arena_new_n(arena, const PolyNode *, count + 1);
    node->child = child;
    node->n = count;
    if (node->kind == POLY_BAND) {
        bool permutable = tape[(*at)++];
        node->member = arena_new_n(arena, PolyMember, count);
        for (int i = 0; i < count; i++) node->member[i] = read_member(arena, s, at);
        child[0] = read_node(arena, s, at, n, stmt);
        return permutable || count < 2 ? node : poly_nest(arena, node);
    }
    for (int i = 0; i < count; i++) {
        int below = (int)tape[(*at)++];
        int list[MAX_CLUSTER];
        const int *all;
        for (int k = 0; k < below; k++) list[k] = s->c->stmt[tape[(*at)++]];
        below = with_inits(arena, s->x.s, below, list, &all);
        child[i] = read_node(arena, s, at, below, all);
    }
    return node;
}

// NULL: isl found no tree within its budget, or none that poly_tidy accepts.
static const PolyNode *tree_of(Arena *arena, Scheduler *s, const Cluster *c) {
    if (!schedule_cluster(s, c)) return NULL;
    int at = 0;
    const int *stmt;
    int n = with_inits(arena, s->x.s, c->n, c->stmt, &stmt);
    return poly_tidy(arena, s->x.s, read_node(arena, s, &at, n, stmt));
}

// --- Clusters ----------------------------------------------------------------------------------

static bool depend(const PolyScop *s, const Cluster *a, const Cluster *b) {
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            const StmtFacts *f = &s->facts->stmt[s->stmt[a->stmt[i]].stmt];
            if (stmts_depend(f, &s->facts->stmt[s->stmt[b->stmt[k]].stmt])) return true;
        }
    return false;
}

static bool accepts(const Scheduler *s, const PolyNode *both, const Cluster *a, const Cluster *b) {
    if (!both || both->kind != POLY_BAND || !poly_plain(s->x.s, both, s->o)) return false;
    if (!poly_spans(both)) return false; // some statement depends on no member
    if (s->o->fusion == POLY_MAX) return true;
    int n = poly_coincident(both), m = poly_coincident(a->tree), k = poly_coincident(b->tree);
    return n >= 3 || n >= (m > k ? m : k);
}

static bool join(Arena *arena, Scheduler *s, Cluster *a, const Cluster *b) {
    Cluster both = *a;
    if (s->o->fusion == POLY_MIN || a->n + b->n > MAX_CLUSTER || a->closed || b->closed)
        return false;
    for (int i = 0; i < b->n; i++) both.stmt[both.n++] = b->stmt[i];
    both.tree = tree_of(arena, s, &both);
    if (!both.tree) both.tree = poly_match(arena, s->x.s, a->tree, b->tree);
    if (!accepts(s, both.tree, a, b)) return false;
    *a = both;
    return true;
}

// Does the statement have steps of its own, which assign each element once?
static bool has_own_steps(const PolyScop *s, int stmt) {
    const Program *p = s->p;
    const StmtFacts *f = &s->facts->stmt[stmt];
    return f->s->serial && f->s->op == REDUCE_ASSIGN && f->injective && !s->ordered &&
           group_first(p, stmt) == stmt && group_end(p, stmt) == stmt + 1;
}

// Is the member a step, or one other iterator plus multiples of steps?
static bool is_time_skewed(const Stmt *s, const int64_t *row) {
    int steps = 0, others = 0;
    for (int i = 0; row && i < s->niters; i++) {
        if (i < s->serial)
            steps += row[i] != 0;
        else if (row[i])
            others += row[i] == 1 ? 1 : 2;
    }
    for (int i = 0; row && i < s->serial && !others; i++) steps += row[i] && row[i] != 1;
    return others == 1 || (!others && steps == 1);
}

// Does the tree consist of loops over steps and loops skewed by them? Other combinations, such as
// wavefronts along several iterators, are not used.
static bool is_time_tree(const Scheduler *s, const PolyNode *tree, int stmt) {
    bool ok = tree->kind != POLY_SEQUENCE;
    for (int i = 0; tree->kind == POLY_BAND && ok && i < tree->n; i++)
        ok = is_time_skewed(s->x.s->stmt[stmt].s, tree->member[i].value[stmt]);
    return ok && (tree->kind != POLY_BAND || is_time_tree(s, tree->child[0], stmt));
}

// The loops of a statement that is alone in its steps: those that isl finds, if they have that
// form, otherwise those of the text.
static const PolyNode *steps_tree(Arena *arena, Scheduler *s, const Cluster *c) {
    const PolyNode *tree = tree_of(arena, s, c);
    if (tree && is_time_tree(s, tree, c->stmt[0]) && poly_plain(s->x.s, tree, s->o)) return tree;
    return poly_nest(arena, poly_canonical_of(arena, s->x.s, c->n, c->stmt));
}

static Cluster first_cluster(Arena *arena, Scheduler *scheduler, int stmt) {
    const PolyScop *s = scheduler->x.s;
    Cluster c = {0};
    const int *all;
    for (int i = 0; i < s->n; i++)
        if (s->stmt[i].stmt == stmt && !s->stmt[i].init) c.stmt[c.n++] = i;
    int n = with_inits(arena, s, c.n, c.stmt, &all);
    bool steps = has_own_steps(s, stmt);
    c.closed = !s->facts->stmt[stmt].injective || s->ordered || steps;
    c.tree = steps      ? steps_tree(arena, scheduler, &c)
             : c.closed ? poly_canonical_of(arena, s, n, all)
                        : poly_single(arena, s, n, all);
    return c;
}

static int tape_size(const PolyScop *s, int width) {
    int n = s->n < MAX_CLUSTER ? s->n : MAX_CLUSTER;
    return 64 + 2 * (n + 1) * (width + 1) * (n * width + 8);
}

PolyStatus poly_schedule(Arena *arena, const PolyScop *scop, const PolyOptions *o,
                         const PolyNode **out) {
    Isl isl;
    Scheduler s = {.x = {&isl, NULL, scop}, .o = o};
    if (!isl_load(&isl)) return POLY_MISSING;
    for (int i = 0; i < scop->n; i++)
        if (scop->stmt[i].s->niters >= s.width) s.width = scop->stmt[i].s->niters + 1;
    s.tape.cap = tape_size(scop, s.width);
    s.tape.at = arena_new_n(arena, int64_t, s.tape.cap);
    Cluster *cluster = arena_new_n(arena, Cluster, scop->p->stmts.n + 1);
    int n = 0;
    for (int i = 0; i < scop->p->stmts.n; i++) {
        Cluster next = first_cluster(arena, &s, i);
        int at = n - 1;
        while (at >= 0 && !depend(scop, &cluster[at], &next)) at--;
        if (at < 0 || !join(arena, &s, &cluster[at], &next)) cluster[n++] = next;
    }
    const PolyNode **child = arena_new_n(arena, const PolyNode *, n + 1);
    for (int i = 0; i < n; i++) child[i] = cluster[i].tree;
    *out = poly_sequence(arena, n, child);
    return POLY_OK;
}
#else
PolyStatus poly_schedule(Arena *arena, const PolyScop *scop, const PolyOptions *o,
                         const PolyNode **out) {
    (void)arena, (void)scop, (void)o, (void)out;
    return POLY_MISSING;
}
#endif
