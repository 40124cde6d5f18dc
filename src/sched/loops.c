// Actions on loops of the Tree; see loops.h.
#include "sched/loops.h"

#include <string.h>

#include "base/bug.h"
#include "sched/lower.h"

const ActionInfo action_info[ACTION_COUNT] = {
#define ACTION(id, word, operands, usage, meaning) {word, operands, usage, meaning},
#include "sched/action.def"
#undef ACTION
};

// --- Loops of the Tree and places in the Schedule ------------------------------------------------

static const LoopPlace *place_of(const Loops *x, Spot spot) {
    for (int i = 0; i < x->map.place.n; i++) {
        const LoopPlace *p = &x->map.place.at[i];
        if (!p->repeated && p->label == spot.label && p->at == spot.at) return p;
    }
    return NULL;
}

int loops_index(const Loops *x, Spot spot) {
    const LoopPlace *p = place_of(x, spot);
    return p ? p->index : -1;
}

Spot loops_spot(const Loops *x, int index) {
    Spot found = {NULL, 0};
    for (int i = 0; i < x->map.place.n; i++) {
        const LoopPlace *p = &x->map.place.at[i];
        if (p->index != index) continue;
        if (!found.label) found = (Spot){p->label, p->at};
        if (!p->repeated) return (Spot){p->label, p->at};
    }
    return found;
}

int loops_find(const Loops *x, Spot spot) {
    int index = loops_index(x, spot);
    for (int i = 0; i < x->node.n; i++)
        if (x->node.at[i].index == index) return i;
    return -1;
}

const FullOrder *loops_order(const Loops *x, Name label) {
    for (int i = 0; i < x->map.order.n; i++)
        if (x->map.order.at[i].label == label) return &x->map.order.at[i];
    return NULL;
}

static const SchedLoop *loop_at(const Loops *x, Spot spot) {
    const FullOrder *order = loops_order(x, spot.label);
    return order && spot.at >= 0 && spot.at < order->n ? &order->loop[spot.at] : NULL;
}

LoopRef loops_ref(const SchedLoop *l) {
    return (LoopRef){.iter = l->iter, .step = l->step, .interleaved = l->interleaved};
}

const char *loops_name(const Loops *x, Spot spot) {
    const SchedLoop *l = loop_at(x, spot);
    if (!l) return NULL;
    LoopRef ref = loops_ref(l);
    return arena_printf(x->arena, "%s:%s", spot.label, ref_text(x->arena, &ref));
}

typedef struct Above {
    int depth, number; // in the Tree; in the list
} Above;
typedef struct LoopListing {
    Loops *x;
    VEC(Above) above; // enclosing loops
} LoopListing;

static bool list_loop(void *user, const Node *node, int depth, const Block *parent) {
    LoopListing *l = user;
    const Block *b = as_block(node);
    (void)parent;
    while (l->above.n && l->above.at[l->above.n - 1].depth >= depth) l->above.n--;
    if (!b || !b->nindex) return true;
    Spot spot = loops_spot(l->x, b->index[0].id);
    if (!spot.label || loops_index(l->x, spot) != b->index[0].id) return true;
    int above = l->above.n ? l->above.at[l->above.n - 1].number : -1;
    vec_push(l->x->arena, &l->above, ((Above){depth, l->x->node.n}));
    vec_push(l->x->arena, &l->x->node, ((LoopNode){b, b->index[0].id, above, spot}));
    return true;
}

bool loops_open(Loops *x, const Schedule *s, DiagList *diags) {
    if (!s) s = schedule_complete(x->arena, x->p, NULL);
    Spot none = {NULL, 0};
    x->s = s;
    x->map = (LoopMap){.arena = x->arena};
    memset(&x->node, 0, sizeof x->node);
    x->tree = tree_lower_mapped(x->arena, x->p, s, diags, &x->map);
    if (!x->tree) return false;
    LoopListing l = {.x = x};
    tree_walk(x->tree, list_loop, &l);
    x->cursor = x->node.n ? x->node.at[0].spot : none;
    return true;
}

// --- Refusals ------------------------------------------------------------------------------------

static bool moves(ActionId id) { return id >= ACTION_UP && id <= ACTION_BACK; }

static const Schedule *refuse(DiagList *diags, const Action *a, const char *why) {
    const char *word = action_info[a->id].word;
    if (moves(a->id)) word = arena_printf(diags->arena, "go %s", word);
    diag_report(diags, a->range, DIAG_EDIT_SHAPE, word, why);
    return NULL;
}

// --- Actions -------------------------------------------------------------------------------------

typedef struct Act {
    const Loops *x;
    const Action *a;
    DiagList *diags;
    const Schedule *s; // under construction
    Spot cursor;       // afterwards
} Act;

static const Schedule *no(Act *t, const char *why) { return refuse(t->diags, t->a, why); }

// Writes the order of a statement out, so that positions in it are positions in its section.
static void write_out(Act *t, Name label) {
    const FullOrder *order = loops_order(t->x, label);
    if (order) t->s = schedule_reorder(t->s, order);
}

static Spot loop_of(const Act *t) { return t->a->loop.label ? t->a->loop : t->x->cursor; }

// The statements that share the loop at `spot`, one after the other, from *i on; false: no more.
static bool next_part(const Act *t, Spot spot, int *i, Spot *part) {
    int index = loops_index(t->x, spot);
    for (; *i < t->x->map.place.n; (*i)++) {
        const LoopPlace *p = &t->x->map.place.at[*i];
        if (p->repeated || p->index != index) continue;
        *part = (Spot){p->label, p->at};
        (*i)++;
        return true;
    }
    return false;
}

static int64_t extent_of(const Act *t, Spot spot) {
    int node = loops_find(t->x, spot);
    return node < 0 ? 0 : t->x->node.at[node].block->index[0].extent;
}

static const Schedule *split(Act *t) {
    Spot loop = loop_of(t), part;
    int64_t extent = extent_of(t, loop), inner = t->a->n;
    if (inner < 1) return no(t, "the inner loop needs at least one iteration");
    if (inner > extent)
        return no(
            t, arena_printf(t->x->arena, "the loop has only %lld iterations", (long long)extent));
    for (int i = 0; t->s && next_part(t, loop, &i, &part);) {
        write_out(t, part.label);
        t->s = schedule_split(t->s, part.label, part.at, inner, t->a->id == ACTION_INTERLEAVE);
    }
    t->cursor = loop;
    return t->s ? t->s : no(t, "there are too many loops");
}

static const Schedule *merge(Act *t) {
    Spot loop = loop_of(t), part;
    for (int i = 0; t->s && next_part(t, loop, &i, &part);) {
        write_out(t, part.label);
        t->s = schedule_merge(t->s, part.label, part.at);
    }
    const FullOrder *order = loops_order(t->x, loop.label);
    for (int i = 0; i < loop.at; i++)
        if (order->loop[i].iter == order->loop[loop.at].iter) t->cursor = (Spot){loop.label, i};
    return t->s ? t->s : no(t, "no loop over the same iterator is further out");
}

// Would the loop that moves pass another one over its iterator? Steps decrease inwards.
static bool passes_own(const FullOrder *order, int from, int to) {
    int way = from < to ? 1 : -1;
    for (int i = from; i != to; i += way)
        if (order->loop[i + way].iter == order->loop[from].iter) return true;
    return false;
}

static bool other_part(const Act *t, Spot other, Name label, int *at) {
    Spot part;
    for (int i = 0; next_part(t, other, &i, &part);)
        if (part.label == label) return *at = part.at, true;
    return false;
}

// Exchanges two loops, or moves the first to the place of the second, in statements with both.
static const Schedule *reorder(Act *t) {
    Spot loop = loop_of(t), other = t->a->other, part;
    bool swap = t->a->id == ACTION_SWAP;
    int to, changed = 0;
    if (!other.label) other = (Spot){loop.label, loop.at + 1};
    if (!loop_at(t->x, other)) return no(t, "no loop is inside it");
    for (int i = 0; next_part(t, loop, &i, &part);) {
        if (!other_part(t, other, part.label, &to) || to == part.at) continue;
        const FullOrder *order = loops_order(t->x, part.label);
        if (passes_own(order, part.at, to) || (swap && passes_own(order, to, part.at)))
            return no(t, "loops over one iterator keep their order");
        write_out(t, part.label);
        t->s = swap ? schedule_swap(t->s, part.label, part.at, to)
                    : schedule_move(t->s, part.label, part.at, to);
        if (part.label == loop.label || !changed) t->cursor = (Spot){part.label, to};
        changed++;
    }
    return changed ? t->s : no(t, "no statement runs in both loops");
}

static const Schedule *skew(Act *t) {
    Spot loop = t->a->loop, other = t->a->other, part;
    int to, changed = 0;
    for (int i = 0; next_part(t, loop, &i, &part);) {
        if (!other_part(t, other, part.label, &to)) continue;
        const FullOrder *order = loops_order(t->x, part.label);
        Name iter = order->loop[part.at].iter, by = order->loop[to].iter;
        if (iter == by) return no(t, "both are loops over one iterator");
        write_out(t, part.label);
        t->s = schedule_skew(t->s, part.label, iter, by, t->a->n);
        changed++;
    }
    t->cursor = loop;
    return changed ? t->s : no(t, "no statement runs in both loops");
}

static const Schedule *annotate(Act *t, Kind kind) {
    Spot loop = loop_of(t), part;
    for (int i = 0; next_part(t, loop, &i, &part);) {
        write_out(t, part.label);
        t->s = schedule_mark(t->s, part.label, part.at, kind);
    }
    t->cursor = loop;
    return t->s;
}

// The statement that is named, else the cursor's, else, where there are no loops, the first.
static Name statement_of(const Act *t) {
    const Program *p = t->x->p;
    if (t->a->label || t->x->cursor.label) return t->a->label ? t->a->label : t->x->cursor.label;
    return p->stmts.n ? p->stmts.at[0].label : NULL;
}

static const Schedule *copy(Act *t) {
    Name label = statement_of(t);
    SchedCopy made = {.tensor = t->a->tensor, .storage.home = HOME_AUTO};
    const SchedLoop *at = t->a->loop.label ? loop_at(t->x, t->a->loop) : NULL;
    if (at) made.at = loops_ref(at);
    if (t->a->id == ACTION_DROP) {
        t->s = schedule_drop_copy(t->s, label, made.tensor);
        return t->s ? t->s : no(t, "the statement reads no copy of that tensor");
    }
    write_out(t, label);
    t->s = schedule_copy(t->s, label, &made);
    return t->s ? t->s : no(t, "the statement reads a copy already");
}

static const Schedule *reuse(Act *t) {
    Name label = statement_of(t);
    bool more = t->a->id == ACTION_REUSE;
    write_out(t, label);
    t->s = more ? schedule_increase_reuse(t->s, label) : schedule_decrease_reuse(t->s, label);
    return t->s   ? t->s
           : more ? no(t, "later statements may share all of its loops already")
                  : no(t, "later statements share none of its loops");
}

// Where a statement runs: its own order has a meaning only where it has loops.
static const Schedule *place(Act *t) {
    Name label = t->a->label;
    LoopRef none = {.iter = NULL};
    const SchedLoop *at = loop_at(t->x, t->a->loop);
    FullOrder empty = {label, 0, NULL};
    t->s =
        schedule_after(schedule_inline(schedule_at(t->s, label, none), label, false), label, NULL);
    switch (t->a->id) {
    case ACTION_AT: return at ? schedule_at(t->s, label, loops_ref(at)) : no(t, "there is no loop");
    case ACTION_INLINE: return schedule_inline(schedule_reorder(t->s, &empty), label, true);
    case ACTION_AFTER: return schedule_after(schedule_reorder(t->s, &empty), label, t->a->host);
    default: return t->s;
    }
}

static const Schedule *layout(Act *t) {
    Name label = statement_of(t);
    const Program *p = t->x->tree->program;
    int rank = 0;
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].label == label) rank = p->stmts.at[i].write->rank;
    bool fits = t->a->n >= 0 && t->a->m >= 0 && t->a->n <= INT32_MAX && t->a->m <= INT32_MAX;
    if (fits) t->s = schedule_swap_dims(t->s, label, rank, (int)t->a->n, (int)t->a->m);
    return fits && t->s ? t->s : no(t, "there are no two such dimensions");
}

static const Schedule *whole(Act *t) {
    if (t->s->flatten) return no(t, "the schedule is for the flat form of the program");
    if (t->a->id == ACTION_MAXIMIZE_REUSE)
        return schedule_maximise_reuse(t->x->arena, t->x->p, t->s);
    return schedule_unroll_inner(t->x->arena, t->x->p, t->s, t->a->n);
}

// --- Moving the cursor ---------------------------------------------------------------------------

static const Schedule *go(Act *t, int node, const char *why) {
    if (node < 0 || node >= t->x->node.n) return no(t, why);
    t->cursor = t->x->node.at[node].spot;
    return t->s;
}

static const Schedule *down(Act *t, int from) {
    for (int i = from + 1; i < t->x->node.n; i++)
        if (t->x->node.at[i].parent == from) return go(t, i, "");
    return no(t, "no loop is inside it");
}

static const Schedule *move_cursor(Act *t) {
    int now = loops_find(t->x, t->x->cursor);
    if (t->a->id == ACTION_GOTO) return t->cursor = t->a->loop, t->s;
    if (now < 0) return no(t, "there are no loops");
    switch (t->a->id) {
    case ACTION_UP: return go(t, t->x->node.at[now].parent, "no loop is around it");
    case ACTION_DOWN: return down(t, now);
    case ACTION_NEXT: return go(t, now + 1, "it is the last loop");
    default: return go(t, now - 1, "it is the first loop");
    }
}

// --- Acting --------------------------------------------------------------------------------------

static const Schedule *changed(Act *t) {
    bool needs_loop = strchr(action_info[t->a->id].operands, 'l');
    if (needs_loop && loops_index(t->x, loop_of(t)) < 0) return no(t, "there is no such loop");
    switch (t->a->id) {
    case ACTION_SPLIT:
    case ACTION_INTERLEAVE: return split(t);
    case ACTION_MERGE: return merge(t);
    case ACTION_SWAP:
    case ACTION_MOVE: return reorder(t);
    case ACTION_SKEW: return skew(t);
    case ACTION_ANNOTATE: return annotate(t, t->a->kind);
    case ACTION_PARALLELIZE: return annotate(t, KIND_PARALLEL);
    case ACTION_UNROLL: return annotate(t, KIND_UNROLL);
    case ACTION_VECTORIZE: return annotate(t, KIND_VECTOR);
    case ACTION_COPY:
    case ACTION_DROP: return copy(t);
    case ACTION_REUSE:
    case ACTION_LESS_REUSE: return reuse(t);
    case ACTION_AT:
    case ACTION_INLINE:
    case ACTION_AFTER:
    case ACTION_ROOT: return place(t);
    case ACTION_LAYOUT: return layout(t);
    case ACTION_MAXIMIZE_REUSE:
    case ACTION_UNROLL_INNER: return whole(t);
    case ACTION_UNDO: return no(t, "no action came before it");
    default: return move_cursor(t);
    }
}

bool loops_act(Loops *x, const Action *a, DiagList *diags) {
    Act t = {x, a, diags, x->s, x->cursor};
    const Schedule *s = changed(&t);
    if (!s) return false;
    if (s == x->s) return x->cursor = t.cursor, true;
    Loops now = {.arena = x->arena, .p = x->p};
    DiagList quiet = {.arena = x->arena};
    if (!loops_open(&now, s, &quiet)) {
        const Diag *why = NULL;
        for (int i = quiet.items.n - 1; i >= 0; i--)
            if (quiet.items.at[i]->severity == SEVERITY_ERROR) why = quiet.items.at[i];
        refuse(diags, a, why ? why->text : "it cannot be lowered");
        if (why) diags->items.at[diags->items.n - 1]->notes = why->notes;
        return false;
    }
    if (loops_find(&now, t.cursor) >= 0) now.cursor = t.cursor;
    *x = now;
    return true;
}
