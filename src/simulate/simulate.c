// The two ways to visit a located Tree: counting, and executing.
#include "simulate/sim_impl.h"

#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "tree/tree_interp.h"

// --- Counting ------------------------------------------------------------------------------------

typedef struct Walk {
    Counter *c;
    Clock *clock;
    int64_t *value; // per index id
} Walk;

static void walk_node(Walk *w, const Node *node);

// Iterations run in the order of the tree interpreter: unordered blocks run backwards.
static void walk_indices(Walk *w, const Block *b, int at) {
    if (at == b->nindex) {
        if (!block_holds(b, w->value)) return;
        clock_enter(w->clock, b, w->value);
        for (int i = 0; i < b->nchildren && !clock_failed(w->clock); i++) walk_node(w, b->child[i]);
        return;
    }
    const Index *x = &b->index[at];
    if (x->passed) {
        if (!affine_eval(x->passed, w->value, NULL, NULL, NULL, &w->value[x->id]))
            bug("a passed index overflows");
        walk_indices(w, b, at + 1);
        return;
    }
    bool backwards = b->kind != KIND_SERIAL && b->kind != KIND_UNROLL;
    for (int64_t i = 0; i < x->extent && !clock_failed(w->clock); i++) {
        w->value[x->id] = backwards ? x->extent - 1 - i : i;
        walk_indices(w, b, at + 1);
    }
}

static void walk_node(Walk *w, const Node *node) {
    if (clock_begin(w->clock, node, w->value))
        walk_indices(w, as_block(node), 0);
    else
        clock_count(w->clock, count_node(w->c, node, w->value));
    clock_end(w->clock, node);
}

// The least number of tasks of a node: those that no condition can exclude. Saturates.
static int64_t least_tasks(Counter *c, const Node *node) {
    const NodeInfo *info = node_info(c, node);
    const Block *b = as_block(node);
    int64_t sum = 0;
    if (info->task) return info->nfree == 0;
    for (int i = 0; i < b->nchildren; i++)
        if (!checked_add(sum, least_tasks(c, b->child[i]), &sum)) sum = INT64_MAX;
    for (int i = 0; i < b->nindex; i++)
        if (!b->index[i].passed && !checked_mul(sum, b->index[i].extent, &sum)) sum = INT64_MAX;
    return b->nconstraints ? 0 : sum;
}

// Says so before anything is simulated if there are more tasks than can be kept.
static bool has_few_tasks(Counter *c, DiagList *diags) {
    int64_t n = least_tasks(c, &c->t->root->node);
    if (n <= SIM_MOST_TASKS) return true;
    diag_report(diags, c->t->root->node.range, DIAG_SIM_TASKS, (long long)n, SIM_MOST_TASKS);
    return false;
}

// --- Executing -----------------------------------------------------------------------------------

typedef struct Executed {
    Counter *c;
    Clock *clock;
    const Node *start; // the current stencil; NULL: none
    bool started;      // one of its iterations has run
    int64_t *one;      // a count of one product
    const int64_t *value;
} Executed;

static void on_begin(void *user, const Node *node, const int64_t *value) {
    Executed *x = user;
    x->value = value; // the interpreter's array, whose values change
    clock_begin(x->clock, node, value);
    if (!clock_in_task(x->clock) || !as_block(node) || !node_info(x->c, node)->stencil) return;
    x->start = node;
    x->started = false;
}

static void on_enter(void *user, const Block *b) {
    Executed *x = user;
    clock_enter(x->clock, b, x->value);
}

static void on_leaf(void *user, const Leaf *leaf, const TreeMoment *now) {
    Executed *x = user;
    (void)now;
    if (!x->start) {
        clock_count(x->clock, node_info(x->c, &leaf->node)->cost);
        return;
    }
    if (!x->started) clock_count(x->clock, node_info(x->c, x->start)->cost);
    x->started = true;
    clock_count(x->clock, x->one);
}

static void on_access(void *user, int buffer, int64_t number, bool write, const int64_t *value) {
    (void)user, (void)buffer, (void)number, (void)write, (void)value;
}

static void on_end(void *user, const Node *node) {
    Executed *x = user;
    clock_end(x->clock, node);
    if (node == x->start) x->start = NULL;
}

// --- Both ways -----------------------------------------------------------------------------------

static bool has_type(const Tree *t, Type type) {
    for (int i = 0; i < t->buffers.n; i++)
        if (t->buffers.at[i].type == type) return true;
    return false;
}

// The highest rate of products of all units together, by stencils for a type of the Tree.
static double product_rate(const Hardware *h, const Tree *t) {
    double rate = 0, units = 0;
    for (int i = 0; i < h->stencil.n; i++) {
        const Stencil *s = &h->stencil.at[i];
        if (s->type == TYPE_NONE || has_type(t, (Type)s->type)) rate = fmax(rate, s->rate);
    }
    for (int i = 0; i < h->compute.n; i++) {
        bool inner = true;
        for (int k = 0; k < h->compute.n; k++) inner &= h->compute.at[k].of != i;
        if (inner) units = fmax(units, (double)hardware_units(h, i));
    }
    return rate * fmax(units, 1);
}

// The bytes per cycle that all transfer engines at the outermost memory can move.
static double move_rate(const Hardware *h) {
    double rate = 0;
    for (int i = 0; i < h->transfer.n; i++)
        if (h->transfer.at[i].from == hardware_outermost(h) ||
            h->transfer.at[i].to == hardware_outermost(h))
            rate +=
                h->transfer.at[i].bandwidth *
                (h->transfer.at[i].of < 0 ? 1
                                          : (double)hardware_units(h, (int)h->transfer.at[i].of));
    return rate;
}

double sim_least(const Simulation *s) { return fmax(s->least_compute, s->least_move); }

double sim_utilisation(const Simulation *s) {
    return s->rate > 0 && s->cycles ? (double)s->products / (s->rate * (double)s->cycles) : 0;
}

static bool begin(Arena *arena, const Hardware *h, const Tree *t, Counter *c, Simulation *out,
                  DiagList *diags) {
    int64_t **most = arena_new_n(arena, int64_t *, h->memory.n + 1);
    *out = (Simulation){.h = h, .memory = arena_new_n(arena, SimMemory, h->memory.n + 1)};
    *c = counter_new(arena, h, t);
    for (int i = 0; i < h->memory.n; i++) {
        SimMemory *m = &out->memory[i];
        m->ncopies = (int)sim_copies(h, i);
        m->copy = arena_new_n(arena, SimCopy, m->ncopies);
        most[i] = arena_new_n(arena, int64_t, m->ncopies);
    }
    if (!check_places(h, t, diags) || !check_located(arena, c, most, diags)) return false;
    for (int i = 0; i < h->memory.n; i++)
        for (int k = 0; k < out->memory[i].ncopies && h->memory.at[i].size; k++) {
            out->memory[i].copy[k].used = most[i][k];
            out->memory[i].used = max_i64(out->memory[i].used, most[i][k]);
        }
    return true;
}

static void finish(Arena *arena, const Tree *flat, Simulation *out) {
    double move = move_rate(out->h);
    out->rate = product_rate(out->h, flat);
    out->least_compute = out->rate > 0 ? (double)out->products / out->rate : 0;
    out->least_moved = least_bytes(arena, flat);
    out->least_move = move > 0 ? (double)out->least_moved / move : 0;
}

bool simulate(Arena *arena, const Hardware *h, const Tree *t, const Tree *flat, Simulation *out,
              DiagList *diags) {
    Counter c;
    if (!begin(arena, h, t, &c, out, diags)) return false;
    if (!has_few_tasks(&c, diags)) return false;
    Walk w = {&c, clock_new(arena, &c, out, diags), arena_new_n(arena, int64_t, t->nindices + 1)};
    walk_node(&w, &t->root->node);
    clock_stop(w.clock);
    finish(arena, flat ? flat : t, out);
    return !clock_failed(w.clock);
}

bool simulate_executed(Arena *arena, const Hardware *h, const Tree *t, const Tree *flat,
                       const View *views, Simulation *out, DiagList *diags) {
    Counter c;
    if (!begin(arena, h, t, &c, out, diags)) return false;
    Executed x = {.c = &c, .clock = clock_new(arena, &c, out, diags)};
    x.one = arena_new_n(arena, int64_t, c.n);
    x.one[COUNT_PRODUCTS] = 1;
    TreeObserver o = {&x, on_enter, on_leaf, on_access, on_begin, on_end};
    bool ok = tree_interpret_observed(arena, t, views, (InterpFlags){0}, &o, diags);
    clock_stop(x.clock);
    finish(arena, flat ? flat : t, out);
    return ok && !clock_failed(x.clock);
}
