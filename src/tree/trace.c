// The trace checker; see trace.h. An observer of the tree's interpreter.
//
// Every element of a buffer that something writes has a history: the accesses of its present life
// (an allocation begins anew with each iteration of its block), each with the moment it happened.
// A new access is compared with every one before it. Quadratic in the accesses of one element,
// which is why sizes are small.
#include "tree/trace.h"

#include <string.h>

#include "base/bug.h"
#include "base/map.h"
#include "tree/tree_interp.h"

// A leaf instance: where in the Tree, at which indices.
typedef struct Moment {
    const Leaf *leaf;
    int depth;
    const Block **path;
    int *child;
    const int64_t *value; // of all indices on the path, outermost first
} Moment;

typedef enum EventKind { EVENT_READ, EVENT_ASSIGN, EVENT_REDUCE } EventKind;

typedef struct Event {
    EventKind kind;
    const Moment *at;
} Event;

typedef struct TraceElement {
    VEC(Event) events;
    bool written;
    int64_t holds; // which element of the tensor; -1: not known
} TraceElement;

typedef struct TraceMemory {
    bool traced; // something writes it
    int64_t n;
    TraceElement *at;
} TraceMemory;

// Instances of a statement that ran: per point of its box a count.
typedef struct Domain {
    int64_t n;
    int32_t *ran, *initialised;
} Domain;

typedef struct Trace {
    Arena *arena;
    const Tree *t;
    const Program *p;
    DiagList *diags;
    TraceMemory *mem;
    Domain *domain; // per statement
    Moment *now;
    bool moves; // the leaf that runs is a copy and read something unwritten
    TraceCount count;
    bool failed;
} Trace;

static Range place(const Trace *t, const Leaf *leaf) {
    return tree_range(t->t, leaf ? &leaf->node : NULL);
}

static const char *show(const Trace *t, const Moment *m) {
    Text out = {.arena = t->arena};
    int n = 0;
    text_char(&out, '(');
    for (int i = 0; i < m->depth; i++)
        for (int k = 0; k < m->path[i]->nindex; k++, n++) {
            const char *name = m->path[i]->index[k].name;
            text_printf(&out, "%s%s=%lld", n ? ", " : "", name ? name : "i",
                        (long long)m->value[n]);
        }
    text_char(&out, ')');
    return text_str(&out);
}

static const char *show_element(const Trace *t, int buffer, int64_t number) {
    const Buffer *b = &t->t->buffers.at[buffer];
    int64_t at[TREE_MAX_RANK];
    Text out = {.arena = t->arena};
    for (int d = b->rank - 1; d >= 0; d--) {
        at[d] = number % b->size[d];
        number /= b->size[d];
    }
    text_printf(&out, "%s[", b->name);
    for (int d = 0; d < b->rank; d++) text_printf(&out, "%s%lld", d ? ", " : "", (long long)at[d]);
    text_char(&out, ']');
    return text_str(&out);
}

// --- Instances ---------------------------------------------------------------------------------

// The number of a point in its statement's box; -1: outside. Iterators without a value count 0.
static int64_t point_number(const Stmt *s, const int64_t *iter, const bool *has) {
    int64_t n = 0;
    for (int i = 0; i < s->niters; i++) {
        int64_t lo = iter_lo(&s->iter[i]), hi = iter_hi(&s->iter[i]);
        if (!has[i]) {
            n = hi > lo ? n * (hi - lo) : n;
            continue;
        }
        if (iter[i] < lo || iter[i] >= hi) return -1;
        n = n * (hi - lo) + iter[i] - lo;
    }
    return n;
}

// Point number n of a statement's box.
static void point_at(const Stmt *s, int64_t n, int64_t *iter) {
    for (int i = s->niters - 1; i >= 0; i--) {
        int64_t extent = iter_hi(&s->iter[i]) - iter_lo(&s->iter[i]);
        iter[i] = iter_lo(&s->iter[i]) + n % extent;
        n /= extent;
    }
}

static bool in_domain(const Stmt *s, const int64_t *iter) {
    for (int c = 0; c < s->nconstraints; c++) {
        int64_t v;
        if (s->constraint[c]->has_read) continue;
        if (!affine_eval(s->constraint[c], iter, NULL, NULL, NULL, &v) || v < 0) return false;
    }
    return true;
}

static bool is_temporary(const Trace *t, const Stmt *s) {
    return t->p->tensors.at[s->write->tensor].role == ROLE_TEMP;
}

static void fault_instance(Trace *t, const Stmt *s, const Leaf *leaf, const char *what) {
    if (!t->failed)
        diag_report(t->diags, s->range, DIAG_TRACE_INSTANCE, s->label, show(t, t->now), what);
    (void)leaf;
    t->failed = true;
}

static void count_instance(Trace *t, const Leaf *leaf, const int64_t *value) {
    t->count.instances++;
    if (!t->p || leaf->stmt < 0 || !leaf->iter) return;
    const Stmt *s = &t->p->stmts.at[leaf->stmt];
    int64_t iter[PROGRAM_MAX_ITERS] = {0};
    bool has[PROGRAM_MAX_ITERS];
    for (int i = 0; i < s->niters; i++) {
        has[i] = leaf->iter[i];
        if (has[i] && !affine_eval(leaf->iter[i], value, NULL, NULL, NULL, &iter[i]))
            bug("an iterator overflows");
    }
    bool init = leaf->role == LEAF_INIT;
    int64_t number = point_number(s, iter, has);
    if (number < 0 || (!init && !in_domain(s, iter))) {
        fault_instance(t, s, leaf, "is not in the statement's domain");
        return;
    }
    Domain *d = &t->domain[leaf->stmt];
    int32_t *ran = init ? &d->initialised[number] : &d->ran[number];
    if (++*ran == 1) return;
    t->count.recomputed++;
    if (!is_temporary(t, s)) fault_instance(t, s, leaf, "runs a second time");
}

// Everything that an argument's statement has to do was done.
static void check_domains(Trace *t) {
    for (int k = 0; t->p && k < t->p->stmts.n && !t->failed; k++) {
        const Stmt *s = &t->p->stmts.at[k];
        int64_t iter[PROGRAM_MAX_ITERS];
        for (int64_t n = 0; n < t->domain[k].n && !t->failed; n++) {
            point_at(s, n, iter);
            if (t->domain[k].ran[n] || !in_domain(s, iter)) continue;
            t->count.left_out++;
            if (is_temporary(t, s)) continue;
            Text out = {.arena = t->arena};
            for (int i = 0; i < s->niters; i++)
                text_printf(&out, "%s%s=%lld", i ? ", " : "(", s->iter[i].name, (long long)iter[i]);
            text_add(&out, s->niters ? ")" : "()");
            diag_report(t->diags, s->range, DIAG_TRACE_INSTANCE, s->label, text_str(&out),
                        "never runs");
            t->failed = true;
        }
    }
}

// --- Order -------------------------------------------------------------------------------------

static bool commute(const Event *a, const Event *b) {
    if (a->kind == EVENT_READ && b->kind == EVENT_READ) return true;
    return a->kind == EVENT_REDUCE && b->kind == EVENT_REDUCE && a->at->leaf->op == b->at->leaf->op;
}

// The block whose iterations tell the two moments apart; NULL: no iteration does.
static const Block *apart(const Moment *a, const Moment *b) {
    int n = 0;
    for (int i = 0; i < a->depth && i < b->depth && a->path[i] == b->path[i]; i++) {
        for (int k = 0; k < a->path[i]->nindex; k++, n++)
            if (a->value[n] != b->value[n]) return a->path[i];
        if (a->child[i] != b->child[i]) return NULL;
    }
    return NULL;
}

// Where in the Program a leaf belongs; -1: nowhere.
static int rank_of(const Trace *t, const Leaf *leaf) {
    if (!t->p || leaf->stmt < 0) return -1;
    return 2 * leaf->stmt + (leaf->role == LEAF_INIT ? 0 : 1);
}

static void compare(Trace *t, int buffer, int64_t number, const Event *a, const Event *b) {
    if (commute(a, b) || t->failed) return;
    t->count.pairs++;
    const Block *block = apart(a->at, b->at);
    int ra = rank_of(t, a->at->leaf), rb = rank_of(t, b->at->leaf);
    if (block && block->kind != KIND_SERIAL && block->kind != KIND_UNROLL) {
        diag_report(t->diags, place(t, b->at->leaf), DIAG_TRACE_CONFLICT, kind_name[block->kind],
                    show(t, a->at), show(t, b->at), show_element(t, buffer, number));
        t->failed = true;
    } else if (ra >= 0 && rb >= 0 && ra > rb) {
        diag_report(t->diags, place(t, b->at->leaf), DIAG_TRACE_ORDER, show(t, a->at),
                    show(t, b->at), show_element(t, buffer, number));
        t->failed = true;
    }
}

// --- What elements hold ------------------------------------------------------------------------

typedef struct WantedElement {
    Trace *t;
    int tensor;
    int64_t holds;
    const int64_t *iter;
    int before; // the statement that asks
    bool found;
} WantedElement;

// The number of the tensor's element; -1 when reads decide.
static int64_t tensor_element(const Program *p, const Access *a, const int64_t *iter) {
    const Tensor *x = &p->tensors.at[a->tensor];
    int64_t n = 0, v;
    for (int d = 0; d < a->rank; d++) {
        if (a->sub[d]->has_read || !affine_eval(a->sub[d], iter, NULL, NULL, NULL, &v)) return -1;
        n = n * tensor_size(x, d) + v - tensor_origin(x, d);
    }
    return n;
}

// Is that element (-1: not known which) the current one, or a copy of it? A copy may have been
// dropped since.
static bool is_wanted(const WantedElement *w, int tensor, int64_t element, int before) {
    const Program *p = w->t->p;
    if (tensor == w->tensor) return element < 0 || element == w->holds;
    for (int k = before - 1; k >= 0; k--) {
        const Stmt *s = &p->stmts.at[k];
        if (s->write->tensor != tensor || s->op != REDUCE_ASSIGN || s->value->kind != EXPR_READ)
            continue;
        const Access *from = s->value->access;
        if (element < 0) return is_wanted(w, from->tensor, -1, k);
        for (int64_t n = 0; n < w->t->domain[k].n; n++) {
            int64_t iter[PROGRAM_MAX_ITERS];
            point_at(s, n, iter);
            if (tensor_element(p, s->write, iter) != element || !in_domain(s, iter)) continue;
            return is_wanted(w, from->tensor, tensor_element(p, from, iter), k);
        }
    }
    return false;
}

static void look_for(void *user, const Access *a, bool guarded) {
    (void)guarded;
    WantedElement *w = user;
    if (!w->found)
        w->found = is_wanted(w, a->tensor, tensor_element(w->t->p, a, w->iter), w->before);
}

// The statement's iterators at this moment; false when not all are known.
static bool iterators(const Trace *t, const Leaf *leaf, const int64_t *value, int64_t *iter) {
    if (!t->p || leaf->stmt < 0 || !leaf->iter) return false;
    for (int i = 0; i < t->p->stmts.at[leaf->stmt].niters; i++) {
        iter[i] = 0;
        if (leaf->iter[i] && !affine_eval(leaf->iter[i], value, NULL, NULL, NULL, &iter[i]))
            return false;
    }
    return true;
}

static void check_content(Trace *t, const TraceElement *e, int buffer, int64_t number,
                          const int64_t *value) {
    const Leaf *leaf = t->now->leaf;
    int64_t iter[PROGRAM_MAX_ITERS];
    int tensor = t->t->buffers.at[buffer].tensor;
    if (e->holds < 0 || tensor < 0 || !iterators(t, leaf, value, iter)) return;
    WantedElement w = {t, tensor, e->holds, iter, leaf->stmt, false};
    const Stmt *s = &t->p->stmts.at[leaf->stmt];
    expr_visit_accesses(s->value, look_for, &w);
    for (int d = 0; d < s->write->rank; d++) affine_visit_accesses(s->write->sub[d], look_for, &w);
    if (w.found) return;
    diag_report(t->diags, place(t, leaf), DIAG_TRACE_STALE, show(t, t->now),
                show_element(t, buffer, number), (long long)e->holds,
                t->p->tensors.at[tensor].name);
    t->failed = true;
}

static int64_t written_element(const Trace *t, int buffer, const int64_t *value) {
    const Leaf *leaf = t->now->leaf;
    int64_t iter[PROGRAM_MAX_ITERS];
    int tensor = t->t->buffers.at[buffer].tensor;
    if (tensor < 0 || !iterators(t, leaf, value, iter)) return -1;
    const Access *w = t->p->stmts.at[leaf->stmt].write;
    return w->tensor == tensor ? tensor_element(t->p, w, iter) : -1;
}

// --- The observer ------------------------------------------------------------------------------

static void on_enter(void *user, const Block *b) {
    Trace *t = user;
    for (int i = 0; i < b->nallocs; i++) {
        TraceMemory *m = &t->mem[b->alloc[i]];
        for (int64_t e = 0; m->traced && e < m->n; e++) m->at[e] = (TraceElement){.holds = -1};
    }
}

static void on_leaf(void *user, const Leaf *leaf, const TreeMoment *m) {
    Trace *t = user;
    Moment *now = arena_new(t->arena, Moment);
    now->leaf = leaf;
    now->depth = m->depth;
    now->path = arena_copy(t->arena, m->path, (size_t)m->depth * sizeof *m->path);
    now->child = arena_copy(t->arena, m->child, (size_t)m->depth * sizeof *m->child);
    int n = 0;
    for (int i = 0; i < m->depth; i++) n += m->path[i]->nindex;
    int64_t *value = arena_new_n(t->arena, int64_t, n);
    n = 0;
    for (int i = 0; i < m->depth; i++)
        for (int k = 0; k < m->path[i]->nindex; k++) value[n++] = m->value[m->path[i]->index[k].id];
    now->value = value;
    t->now = now;
    t->moves = false;
    count_instance(t, leaf, m->value);
}

// Copies of whole boxes move what nothing wrote along; using it is the fault.
static bool is_copy(const Leaf *leaf) {
    const Expr *e = leaf->value;
    if (e->kind == EXPR_OP && e->op == OP_CAST) e = e->arg[0]; // to a wider type
    return leaf->op == REDUCE_ASSIGN && e->kind == EXPR_READ;
}

static void on_access(void *user, int buffer, int64_t number, bool write, const int64_t *value) {
    Trace *t = user;
    TraceMemory *m = &t->mem[buffer];
    if (!m->traced || !t->now || t->failed) return;
    TraceElement *e = &m->at[number];
    const Leaf *leaf = t->now->leaf;
    EventKind kind = !write ? EVENT_READ : leaf->op == REDUCE_ASSIGN ? EVENT_ASSIGN : EVENT_REDUCE;
    Event event = {kind, t->now};
    for (int i = 0; i < e->events.n; i++) compare(t, buffer, number, &e->events.at[i], &event);
    vec_push(t->arena, &e->events, event);
    if (kind != EVENT_ASSIGN && !e->written) {
        if (kind == EVENT_READ && is_copy(leaf) && leaf->write->tensor >= t->t->nargs) {
            t->moves = true;
            return;
        }
        if (!t->failed)
            diag_report(t->diags, place(t, leaf), DIAG_TRACE_UNWRITTEN, show(t, t->now),
                        show_element(t, buffer, number));
        t->failed = true;
        return;
    }
    if (kind == EVENT_READ && buffer >= t->t->nargs) check_content(t, e, buffer, number, value);
    if (!write) return;
    e->written = !t->moves;
    if (buffer >= t->t->nargs) e->holds = written_element(t, buffer, value);
}

// --- Set-up ------------------------------------------------------------------------------------

static bool mark_written(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    Trace *t = user;
    const Leaf *leaf = as_leaf(node);
    if (leaf) t->mem[leaf->write->tensor].traced = true;
    return true;
}

static void start_memory(Trace *t) {
    for (int b = 0; b < t->t->buffers.n; b++) {
        const Buffer *buffer = &t->t->buffers.at[b];
        TraceMemory *m = &t->mem[b];
        m->traced |= b >= t->t->nargs;
        if (!m->traced) continue;
        m->n = 1;
        for (int d = 0; d < buffer->rank; d++) m->n *= buffer->size[d];
        m->at = arena_new_n(t->arena, TraceElement, m->n);
        bool full = b < t->t->nargs;
        if (full && t->p && b < t->p->tensors.n && t->p->tensors.at[b].role == ROLE_OUTPUT)
            full = false;
        for (int64_t e = 0; e < m->n; e++) m->at[e] = (TraceElement){.holds = -1, .written = full};
    }
}

static void start_domains(Trace *t) {
    int n = t->p ? t->p->stmts.n : 0;
    t->domain = arena_new_n(t->arena, Domain, n);
    for (int k = 0; k < n; k++) {
        const Stmt *s = &t->p->stmts.at[k];
        Domain *d = &t->domain[k];
        d->n = 1;
        int64_t room = 1; // initialisations count without what is reduced
        for (int i = 0; i < s->niters; i++) {
            int64_t extent = iter_hi(&s->iter[i]) - iter_lo(&s->iter[i]);
            d->n *= extent > 0 ? extent : 0;
            room *= extent > 0 ? extent : 1;
        }
        d->ran = arena_new_n(t->arena, int32_t, d->n);
        d->initialised = arena_new_n(t->arena, int32_t, room);
    }
}

bool tree_trace(Arena *scratch, const Tree *tree, const View *views, TraceCount *count,
                DiagList *diags) {
    Trace t = {.arena = scratch, .t = tree, .diags = diags};
    t.p = tree->program && tree->program->stmts.n ? tree->program : NULL;
    t.mem = arena_new_n(scratch, TraceMemory, tree->buffers.n);
    tree_walk(tree, mark_written, &t);
    start_memory(&t);
    start_domains(&t);
    TreeObserver o = {.user = &t, .enter = on_enter, .leaf = on_leaf, .access = on_access};
    bool ran = tree_interpret_observed(scratch, tree, views, (InterpFlags){0}, &o, diags);
    if (ran && !t.failed) check_domains(&t);
    if (count) *count = t.count;
    return ran && !t.failed;
}
