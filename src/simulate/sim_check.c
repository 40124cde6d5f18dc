// The checks of a located Tree: every access is to a unit that its block can reach, every unit has
// room for its buffers, and buffers that are in use at the same time do not overlap.
//
// A buffer with an offset is in use from the first child of its block that uses it to the last.
// Units of a memory that each compute unit has for itself are counted per copy.
#include "simulate/sim_impl.h"

#include <string.h>

#include "base/checked.h"

// An allocation that is alive at the current point of the walk.
typedef struct SimHeld {
    int buffer, memory;
    const Block *home;
    int depth, first, last; // of its home, and the children of it that use the buffer
    int64_t copy;           // of its memory; -1: that of the unit which allocates it
    int64_t bank;           // -1: it is distributed over all banks
    int64_t bytes, at;      // bytes of all its stages; its offset, or -1
} SimHeld;

typedef struct Check {
    Arena *arena;
    const Hardware *h;
    const Tree *t;
    Counter *counter;
    int64_t **most;
    DiagList *diags;
    int64_t *zero;    // values of indices in the first iteration
    int64_t *lo, *hi; // bounds of indices, inclusive
    const Leaf *leaf;
    Where where;
    int64_t units; // number of units with an allocation of their own
    int depth;
    int child[2 * TREE_MAX_DEPTH + 2]; // per depth: the child of the block that the walk is in
    VEC(SimHeld) held;
    bool failed;
} Check;

static const char *unit_name(const Check *c) {
    if (c->where.engine >= 0) return c->h->transfer.at[c->where.engine].name;
    return c->h->compute.at[c->where.compute].name;
}

static bool reaches(const Check *c, int memory) {
    if (c->where.engine >= 0) {
        const Transfer *x = &c->h->transfer.at[c->where.engine];
        return memory == x->from || memory == x->to;
    }
    return c->where.compute < 0 || hardware_works_on(c->h, c->where.compute) < 0 ||
           memory == hardware_works_on(c->h, c->where.compute);
}

static const char *reached(const Check *c) {
    if (c->where.engine >= 0) {
        const Transfer *x = &c->h->transfer.at[c->where.engine];
        return arena_printf(c->arena, "%s and %s", c->h->memory.at[x->from].name,
                            c->h->memory.at[x->to].name);
    }
    return c->h->memory.at[hardware_works_on(c->h, c->where.compute)].name;
}

static void check_access(void *user, const Access *a, bool guarded) {
    Check *c = user;
    (void)guarded;
    const Buffer *b = &c->t->buffers.at[a->tensor];
    int memory = buffer_memory(c->h, b);
    if (c->failed || reaches(c, memory)) return;
    diag_report(c->diags, tree_access_range(c->t, c->leaf, a), DIAG_SIM_REACH, unit_name(c),
                b->name, c->h->memory.at[memory].name, unit_name(c), reached(c));
    c->failed = true;
}

static void check_leaf(Check *c, const Leaf *leaf) {
    c->leaf = leaf;
    check_access(c, leaf->write, false);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], check_access, c);
    expr_visit_accesses(leaf->value, check_access, c);
    bool copies = leaf->value->kind != EXPR_OP;
    if (c->where.engine >= 0 && !copies && !c->failed) {
        diag_report(c->diags, tree_range(c->t, &leaf->node), DIAG_SIM_COPY, unit_name(c));
        c->failed = true;
    }
}

static void check_views(Check *c, const Block *b) {
    for (int i = 0; i < b->nviews && !c->failed; i++) {
        const BlockView *v = &b->view[i];
        const Buffer *of = &c->t->buffers.at[v->buffer];
        int named = v->place.n ? hardware_memory(c->h, v->place.unit[0].name) : -1;
        int memory = buffer_memory(c->h, of);
        if (!v->place.n || named == memory) continue;
        diag_report(c->diags, tree_range(c->t, &b->node), DIAG_SIM_VIEW, of->name,
                    v->place.unit[0].name, c->h->memory.at[memory].name);
        c->failed = true;
    }
}

// A subscript of a buffer's place, which must be below `limit`; -1: it depends on loops.
static int64_t subscript(Check *c, const Affine *a, int64_t limit, int64_t *wrong) {
    int64_t lo = 0, hi = 0;
    bool known = affine_bounds(a, c->lo, c->hi, &lo, &hi);
    if (!known || lo < 0 || hi >= limit) *wrong = lo < 0 ? lo : hi;
    return lo == hi ? lo : -1;
}

// Finds the copy and the bank in which a buffer lies. Outside of the units that each have a copy of
// the memory, the first subscript of the place is the number of the copy.
static void find_part(Check *c, SimHeld *x) {
    const Buffer *b = &c->t->buffers.at[x->buffer];
    const MemoryUnit *m = &c->h->memory.at[x->memory];
    int owner = hardware_owner(c->h, x->memory), next = 0;
    bool inside = c->where.compute >= 0 && hardware_inside(c->h, c->where.compute, owner);
    int64_t copies = hardware_copies(c->h, x->memory), wrong = -1;
    const Unit *u = NULL;
    for (int i = 0; i < b->place.n && !u; i++)
        if (hardware_memory(c->h, b->place.unit[i].name) == x->memory) u = &b->place.unit[i];
    x->copy = x->bank = -1;
    if (owner >= 0 && !inside && copies > 1) {
        if (u && u->n) x->copy = subscript(c, u->at[next++], copies, &wrong);
        if (next == 0)
            diag_report(c->diags, tree_range(c->t, &x->home->node), DIAG_SIM_OWN, b->name, m->name,
                        c->h->compute.at[owner].name, c->h->compute.at[owner].name, m->name);
        else if (wrong >= 0)
            diag_report(c->diags, tree_range(c->t, &x->home->node), DIAG_SIM_NUMBER, m->name,
                        (long long)wrong, c->h->name, (long long)copies);
        c->failed |= next == 0 || wrong >= 0;
    }
    if (!u || next >= u->n || c->failed) return;
    x->bank = subscript(c, u->at[next], m->banks, &wrong);
    if (wrong < 0) return;
    diag_report(c->diags, tree_range(c->t, &x->home->node), DIAG_SIM_BANK, b->name,
                (long long)wrong, u->name, (long long)m->banks);
    c->failed = true;
}

// Are both buffers in use at the current point of the walk? The walk is at or below both homes.
static bool in_use_together(const Check *c, const SimHeld *x, const SimHeld *y) {
    if (x->home == y->home) return x->first <= y->last && y->first <= x->last;
    const SimHeld *outer = x->depth < y->depth ? x : y;
    int now = c->child[outer->depth];
    return outer->first <= now && now <= outer->last;
}

static void overlapping(Check *c, const SimHeld *x) {
    for (int i = 0; i < c->held.n && !c->failed; i++) {
        const SimHeld *y = &c->held.at[i];
        if (y->memory != x->memory || y->at < 0 || x->at < 0) continue;
        if (y->copy >= 0 && x->copy >= 0 && y->copy != x->copy) continue;
        if (y->at + y->bytes <= x->at || x->at + x->bytes <= y->at) continue;
        if (!in_use_together(c, x, y)) continue;
        diag_report(c->diags, tree_range(c->t, &x->home->node), DIAG_SIM_OVERLAP,
                    c->t->buffers.at[y->buffer].name, c->t->buffers.at[x->buffer].name,
                    c->h->memory.at[x->memory].name);
        c->failed = true;
    }
}

// The bytes in use of a memory, or of the bank that `like` names, in the copy that it names. Placed
// buffers count up to their last byte.
static int64_t in_use(const Check *c, const SimHeld *like, bool bank) {
    int64_t sum = 0, top = 0;
    for (int i = 0; i < c->held.n; i++) {
        const SimHeld *x = &c->held.at[i];
        if (x->memory != like->memory || (bank && x->bank != like->bank)) continue;
        if (x->copy >= 0 && x->copy != like->copy) continue;
        if (x->at < 0)
            sum += x->bytes;
        else
            top = max_i64(top, x->at + x->bytes);
    }
    return sum + top;
}

static void note_use(Check *c, const SimHeld *x, int64_t bytes) {
    int64_t *most = c->most[x->memory], copies = sim_copies(c->h, x->memory);
    for (int64_t i = 0; i < copies; i++)
        if (x->copy < 0 || x->copy % copies == i) most[i] = max_i64(most[i], bytes);
}

static void check_sizes(Check *c, const Block *b) {
    for (int i = 0; i < c->held.n && !c->failed; i++) {
        const SimHeld *x = &c->held.at[i];
        const MemoryUnit *u = &c->h->memory.at[x->memory];
        int64_t all = in_use(c, x, false), one = x->bank < 0 ? 0 : in_use(c, x, true), room;
        note_use(c, x, all);
        if (!u->size) continue;
        if (!checked_mul(u->size, u->banks, &room)) room = INT64_MAX;
        if (all <= room && one <= u->size) continue;
        bool whole = all > room;
        const char *name =
            whole ? u->name
                  : arena_printf(c->arena, "bank %lld of %s", (long long)x->bank, u->name);
        diag_report(c->diags, tree_range(c->t, &b->node), DIAG_SIM_SIZE, name,
                    (long long)(whole ? room : u->size), (long long)(whole ? all : one));
        c->failed = true;
    }
}

// The units with an allocation of their own that share one copy of the memory.
static int64_t units_of_copy(const Check *c, int memory) {
    int owner = hardware_owner(c->h, memory);
    if (owner < 0 || c->where.compute < 0) return c->units;
    int64_t inside = hardware_inside(c->h, c->where.compute, owner);
    return inside ? min_i64(c->units, inside) : c->units;
}

static void hold(Check *c, const Block *b) {
    for (int i = 0; i < b->nallocs && !c->failed; i++) {
        const Buffer *of = &c->t->buffers.at[b->alloc[i]];
        int memory = buffer_memory(c->h, of);
        SimHeld x = {.buffer = b->alloc[i], .memory = memory, .home = b, .depth = c->depth};
        x.at = tag_number(of->tags, "offset", -1);
        x.last = -1;
        child_users(c->counter, b, x.buffer, &x.first, &x.last);
        find_part(c, &x);
        int64_t stages = max_i64(1, tag_number(of->tags, "stages", 1));
        if (!checked_mul(buffer_bytes(of, c->h->memory.at[memory].align), stages, &x.bytes) ||
            !checked_mul(x.bytes, units_of_copy(c, memory), &x.bytes))
            x.bytes = INT64_MAX / 4;
        x.bytes = min_i64(x.bytes, INT64_MAX / 1024);
        overlapping(c, &x);
        vec_push(c->arena, &c->held, x);
    }
    if (b->nallocs && !c->failed) check_sizes(c, b);
}

// Saturates.
static int64_t product_of(int64_t a, int64_t b) {
    int64_t n;
    return checked_mul(a, b, &n) ? n : INT64_MAX / 4;
}

// The number of different units on which iterations of a block run; each has its own allocations.
static int64_t units_used(const Check *c, const Block *b) {
    int64_t n = 1;
    for (int i = 0; i < b->place.n; i++) {
        const Unit *u = &b->place.unit[i];
        int64_t lo, hi;
        for (int k = 0; k < u->n && hardware_compute(c->h, u->name) >= 0; k++)
            if (affine_bounds(u->at[k], c->lo, c->hi, &lo, &hi))
                n = product_of(
                    n, min_i64(hi - lo + 1, hardware_units(c->h, hardware_compute(c->h, u->name))));
    }
    return n;
}

static void enter_bounds(Check *c, const Block *b) {
    for (int i = 0; i < b->nindex; i++) {
        const Index *x = &b->index[i];
        c->lo[x->id] = 0;
        c->hi[x->id] = max_i64(x->extent - 1, 0);
        c->zero[x->id] = 0;
        if (!x->passed) continue;
        if (!affine_bounds(x->passed, c->lo, c->hi, &c->lo[x->id], &c->hi[x->id]))
            c->lo[x->id] = c->hi[x->id] = 0;
        c->zero[x->id] = c->lo[x->id];
    }
}

// An engine that each unit of a kind has is used inside a block on such a unit.
static void check_engine(Check *c, const Block *b) {
    const Transfer *x = c->where.engine < 0 ? NULL : &c->h->transfer.at[c->where.engine];
    if (!x || x->of < 0 || hardware_units(c->h, (int)x->of) == 1) return;
    if (c->where.compute >= 0 && hardware_inside(c->h, c->where.compute, (int)x->of)) return;
    const char *unit = c->h->compute.at[x->of].name;
    diag_report(c->diags, tree_range(c->t, &b->node), DIAG_SIM_ENGINE, x->name, unit, unit);
    c->failed = true;
}

static void check_node(Check *c, const Node *node) {
    const Block *b = as_block(node);
    if (c->failed) return;
    if (!b) {
        if (as_leaf(node)) check_leaf(c, as_leaf(node));
        return;
    }
    Where around = c->where;
    int64_t units = c->units;
    int held = c->held.n;
    enter_bounds(c, b);
    if (!where_of(c->h, c->t, b, around, c->zero, &c->where, c->diags)) {
        c->failed = true;
        return;
    }
    c->units = product_of(c->units, units_used(c, b));
    check_engine(c, b);
    check_views(c, b);
    hold(c, b);
    int *child = &c->child[c->depth++];
    for (*child = 0; *child < b->nchildren; (*child)++) check_node(c, b->child[*child]);
    c->depth--;
    c->held.n = held;
    c->units = units;
    c->where = around;
}

bool check_places(const Hardware *h, const Tree *t, DiagList *diags) {
    if (!h->transfer.n || hardware_outermost(h) < 0) {
        diag_report(diags, (Range){0, 0}, DIAG_SIM_NO_ENGINE, h->name);
        return false;
    }
    for (int i = 0; i < t->buffers.n; i++) {
        const Buffer *b = &t->buffers.at[i];
        if (buffer_memory(h, b) >= 0) continue;
        diag_report(diags, (Range){0, 0}, DIAG_SIM_UNIT, b->place.unit[0].name, "memory", h->name);
        return false;
    }
    return true;
}

bool check_located(Arena *arena, Counter *counter, int64_t **most, DiagList *diags) {
    const Tree *t = counter->t;
    Check *c = arena_new(arena, Check);
    *c = (Check){.arena = arena, .h = counter->h, .t = t, .counter = counter, .most = most};
    c->diags = diags;
    c->where = (Where){-1, -1, 0};
    c->units = 1;
    c->zero = arena_new_n(arena, int64_t, t->nindices + 1);
    c->lo = arena_new_n(arena, int64_t, t->nindices + 1);
    c->hi = arena_new_n(arena, int64_t, t->nindices + 1);
    check_node(c, &t->root->node);
    return !c->failed;
}
