// The units of a machine that a located Tree names, and the checks of that Tree: every place
// exists, every access is to a unit that its block can reach, and every unit has room for its
// buffers.
#include "simulate/sim_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

// --- Units ---------------------------------------------------------------------------------------

int64_t unit_total(const Hardware *h, int compute) {
    int64_t n = 1;
    for (int u = compute; u >= 0; u = (int)h->compute.at[u].of)
        if (!checked_mul(n, h->compute.at[u].count, &n)) return INT64_MAX;
    return n;
}

int unit_memory(const Hardware *h, int compute) {
    for (int u = compute; u >= 0; u = (int)h->compute.at[u].of)
        if (h->compute.at[u].in >= 0) return (int)h->compute.at[u].in;
    return -1;
}

int outer_memory(const Hardware *h) {
    for (int i = 0; i < h->memory.n; i++)
        if (h->memory.at[i].in < 0) return i;
    return -1;
}

static int find_compute(const Hardware *h, const char *name) {
    for (int i = 0; i < h->compute.n; i++)
        if (strcmp(h->compute.at[i].name, name) == 0) return i;
    return -1;
}

static int find_engine(const Hardware *h, const char *name) {
    for (int i = 0; i < h->transfer.n; i++)
        if (strcmp(h->transfer.at[i].name, name) == 0) return i;
    return -1;
}

static int find_memory(const Hardware *h, const char *name) {
    for (int i = 0; i < h->memory.n; i++)
        if (strcmp(h->memory.at[i].name, name) == 0) return i;
    return -1;
}

// The number of units of this kind inside one of kind `around`; 0: they are not inside.
static int64_t units_inside(const Hardware *h, int compute, int around) {
    int64_t n = 1;
    for (int u = compute; u >= 0; u = (int)h->compute.at[u].of) {
        if (u == around) return n;
        if (!checked_mul(n, h->compute.at[u].count, &n)) return 0;
    }
    return 0;
}

// Enters UNIT[n]. n counts inside the surrounding unit, or over all units if there is none.
static bool enter_unit(const Hardware *h, const Tree *t, const Block *b, const Unit *u, int compute,
                       const int64_t *value, Where *now, DiagList *diags) {
    int64_t inside =
        now->compute >= 0 && now->compute != compute ? units_inside(h, compute, now->compute) : 0;
    int64_t limit = inside ? inside : unit_total(h, compute), number = 0, v;
    for (int i = 0; i < u->n; i++) {
        if (!affine_eval(u->at[i], value, NULL, NULL, NULL, &v)) v = -1;
        bool fits = v >= 0 && checked_mul(number, h->compute.at[compute].count, &number) &&
                    checked_add(number, v, &number) && number < limit;
        if (fits) continue;
        diag_report(diags, tree_range(t, &b->node), DIAG_SIM_NUMBER, u->name, (long long)v, h->name,
                    (long long)limit);
        return false;
    }
    if (!u->n && now->compute == compute) return true; // the same place again
    int64_t before = inside ? now->number : 0;
    if (!checked_fma(before, inside, &number)) number = 0;
    now->number = number;
    now->compute = compute;
    now->engine = -1;
    return true;
}

bool where_of(const Hardware *h, const Tree *t, const Block *b, Where around, const int64_t *value,
              Where *out, DiagList *diags) {
    *out = around;
    for (int i = 0; i < b->place.n; i++) {
        const Unit *u = &b->place.unit[i];
        int compute = find_compute(h, u->name), engine = find_engine(h, u->name);
        if (compute >= 0) {
            if (!enter_unit(h, t, b, u, compute, value, out, diags)) return false;
        } else if (engine >= 0) {
            out->engine = engine;
        } else if (find_memory(h, u->name) < 0) {
            diag_report(diags, tree_range(t, &b->node), DIAG_SIM_UNIT, u->name, "unit", h->name);
            return false;
        }
    }
    return true;
}

// --- Buffers -------------------------------------------------------------------------------------

int buffer_memory(const Hardware *h, const Buffer *b) {
    for (int i = 0; i < b->place.n; i++) {
        int m = find_memory(h, b->place.unit[i].name);
        if (m >= 0) return m;
    }
    return b->place.n ? -1 : outer_memory(h);
}

int64_t tag_number(Tags tags, const char *name, int64_t otherwise) {
    for (int i = 0; i < tags.n; i++)
        if (tags.at[i].value && strcmp(tags.at[i].name, name) == 0)
            return strtoll(tags.at[i].value, NULL, 10);
    return otherwise;
}

int64_t buffer_bytes(const Hardware *h, const Buffer *b, int memory) {
    int64_t last = 1, align = h->memory.at[memory].align, bytes;
    for (int d = 0; d < b->rank; d++) {
        if (b->size[d] == 0) return 0;
        if (!checked_fma(b->size[d] - 1, llabs(b->stride[d]), &last)) return INT64_MAX / 4;
    }
    if (!checked_mul(last, type_info[b->type].bytes, &bytes)) return INT64_MAX / 4;
    return bytes / align * align + (bytes % align ? align : 0);
}

// --- The checks ----------------------------------------------------------------------------------

// An allocation that is alive at the current point of the walk.
typedef struct SimHeld {
    int buffer, memory;
    const Block *home;
    int64_t bytes, at; // bytes of all its copies; its offset, or -1
} SimHeld;

typedef struct Check {
    Arena *arena;
    const Hardware *h;
    const Tree *t;
    int64_t *most;
    DiagList *diags;
    int64_t *zero;    // values of indices in the first iteration
    int64_t *lo, *hi; // bounds of indices, inclusive
    const Leaf *leaf;
    Where where;
    int64_t copies; // number of units with an allocation of their own
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
    return c->where.compute < 0 || unit_memory(c->h, c->where.compute) < 0 ||
           memory == unit_memory(c->h, c->where.compute);
}

static const char *reached(const Check *c) {
    if (c->where.engine >= 0) {
        const Transfer *x = &c->h->transfer.at[c->where.engine];
        return arena_printf(c->arena, "%s and %s", c->h->memory.at[x->from].name,
                            c->h->memory.at[x->to].name);
    }
    return c->h->memory.at[unit_memory(c->h, c->where.compute)].name;
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
        int named = v->place.n ? find_memory(c->h, v->place.unit[0].name) : -1;
        int memory = buffer_memory(c->h, of);
        if (!v->place.n || named == memory) continue;
        diag_report(c->diags, tree_range(c->t, &b->node), DIAG_SIM_VIEW, of->name,
                    v->place.unit[0].name, c->h->memory.at[memory].name);
        c->failed = true;
    }
}

// The bank that a buffer names; -1: it is distributed over all banks.
static int64_t bank_of(Check *c, const Block *home, const Buffer *b, int memory) {
    for (int i = 0; i < b->place.n; i++) {
        const Unit *u = &b->place.unit[i];
        int64_t lo = 0, hi = 0, banks = c->h->memory.at[memory].banks;
        if (!u->n || find_memory(c->h, u->name) != memory) continue;
        if (affine_bounds(u->at[0], c->lo, c->hi, &lo, &hi) && lo >= 0 && hi < banks)
            return lo == hi ? lo : -1;
        diag_report(c->diags, tree_range(c->t, &home->node), DIAG_SIM_BANK, b->name,
                    (long long)(lo < 0 ? lo : hi), u->name, (long long)banks);
        c->failed = true;
    }
    return -1;
}

static void overlapping(Check *c, const SimHeld *x) {
    for (int i = 0; i < c->held.n && !c->failed; i++) {
        const SimHeld *y = &c->held.at[i];
        if (y->memory != x->memory || y->at < 0 || x->at < 0 || y->home == x->home) continue;
        if (y->at + y->bytes <= x->at || x->at + x->bytes <= y->at) continue;
        diag_report(c->diags, tree_range(c->t, &x->home->node), DIAG_SIM_OVERLAP,
                    c->t->buffers.at[y->buffer].name, c->t->buffers.at[x->buffer].name,
                    c->h->memory.at[x->memory].name);
        c->failed = true;
    }
}

// The bytes in use of a memory or of one of its banks. Placed buffers count up to their last byte.
static int64_t in_use(const Check *c, int memory, const int64_t *bank, int64_t which) {
    int64_t sum = 0, top = 0;
    for (int i = 0; i < c->held.n; i++) {
        const SimHeld *x = &c->held.at[i];
        if (x->memory != memory || (which >= 0 && bank[i] != which)) continue;
        if (x->at < 0)
            sum += x->bytes;
        else
            top = max_i64(top, x->at + x->bytes);
    }
    return sum + top;
}

static void check_sizes(Check *c, const Block *b) {
    int64_t *bank = arena_new_n(c->arena, int64_t, c->held.n + 1);
    for (int i = 0; i < c->held.n && !c->failed; i++) {
        const SimHeld *x = &c->held.at[i];
        bank[i] = bank_of(c, x->home, &c->t->buffers.at[x->buffer], x->memory);
    }
    for (int i = 0; i < c->held.n && !c->failed; i++) {
        int m = c->held.at[i].memory;
        const MemoryUnit *u = &c->h->memory.at[m];
        int64_t all = in_use(c, m, bank, -1), one = in_use(c, m, bank, bank[i]), room;
        c->most[m] = max_i64(c->most[m], all);
        if (!u->size) continue;
        if (!checked_mul(u->size, u->banks, &room)) room = INT64_MAX;
        if (all <= room && (bank[i] < 0 || one <= u->size)) continue;
        bool whole = all > room;
        const char *name =
            whole ? u->name
                  : arena_printf(c->arena, "bank %lld of %s", (long long)bank[i], u->name);
        diag_report(c->diags, tree_range(c->t, &b->node), DIAG_SIM_SIZE, name,
                    (long long)(whole ? room : u->size), (long long)(whole ? all : one));
        c->failed = true;
    }
}

static void hold(Check *c, const Block *b) {
    for (int i = 0; i < b->nallocs && !c->failed; i++) {
        const Buffer *of = &c->t->buffers.at[b->alloc[i]];
        int memory = buffer_memory(c->h, of);
        SimHeld x = {b->alloc[i], memory, b, 0, tag_number(of->tags, "offset", -1)};
        int64_t stages = max_i64(1, tag_number(of->tags, "stages", 1));
        if (!checked_mul(buffer_bytes(c->h, of, memory), stages, &x.bytes) ||
            !checked_mul(x.bytes, c->copies, &x.bytes))
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
        for (int k = 0; k < u->n && find_compute(c->h, u->name) >= 0; k++)
            if (affine_bounds(u->at[k], c->lo, c->hi, &lo, &hi))
                n = product_of(n,
                               min_i64(hi - lo + 1, unit_total(c->h, find_compute(c->h, u->name))));
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

static void check_node(Check *c, const Node *node) {
    const Block *b = as_block(node);
    if (c->failed) return;
    if (!b) {
        if (as_leaf(node)) check_leaf(c, as_leaf(node));
        return;
    }
    Where around = c->where;
    int64_t copies = c->copies;
    int held = c->held.n;
    enter_bounds(c, b);
    if (!where_of(c->h, c->t, b, around, c->zero, &c->where, c->diags)) {
        c->failed = true;
        return;
    }
    c->copies = product_of(c->copies, units_used(c, b));
    check_views(c, b);
    hold(c, b);
    for (int i = 0; i < b->nchildren; i++) check_node(c, b->child[i]);
    c->held.n = held;
    c->copies = copies;
    c->where = around;
}

bool check_located(Arena *arena, const Hardware *h, const Tree *t, int64_t *most, DiagList *diags) {
    Check c = {.arena = arena, .h = h, .t = t, .most = most, .diags = diags, .where = {-1, -1, 0}};
    c.copies = 1;
    c.zero = arena_new_n(arena, int64_t, t->nindices + 1);
    c.lo = arena_new_n(arena, int64_t, t->nindices + 1);
    c.hi = arena_new_n(arena, int64_t, t->nindices + 1);
    if (!h->transfer.n || outer_memory(h) < 0) {
        diag_report(diags, (Range){0, 0}, DIAG_SIM_NO_ENGINE, h->name);
        return false;
    }
    for (int i = 0; i < t->buffers.n; i++) {
        const Buffer *b = &t->buffers.at[i];
        if (buffer_memory(h, b) >= 0) continue;
        diag_report(diags, (Range){0, 0}, DIAG_SIM_UNIT, b->place.unit[0].name, "memory", h->name);
        return false;
    }
    check_node(&c, &t->root->node);
    return !c.failed;
}
