// Counts the operations and bytes of a subtree without running it. Loops multiply counts; only
// indices that conditions depend on are enumerated.
#include "simulate/sim_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

// --- Counts --------------------------------------------------------------------------------------

void count_add(const Counter *c, int64_t *sum, const int64_t *add, int64_t times) {
    for (int i = 0; i < c->n; i++)
        if (!checked_fma(add[i], times, &sum[i])) sum[i] = INT64_MAX / 2;
}

static int64_t *new_count(const Counter *c) { return arena_new_n(c->arena, int64_t, c->n); }

static int64_t *work_of(const Counter *c, int64_t *count, int stencil) {
    (void)c;
    return &count[COUNT_FIXED + stencil];
}

static int64_t *bytes_of(const Counter *c, int64_t *count, int buffer) {
    int memory = buffer_memory(c->h, &c->t->buffers.at[buffer]);
    return &count[COUNT_FIXED + c->h->stencil.n + memory];
}

// --- Leaves --------------------------------------------------------------------------------------

static int64_t ops_of(const Expr *e) {
    int64_t n = e->kind == EXPR_OP;
    for (int i = 0; i < e->n; i++) n += ops_of(e->arg[i]);
    return n;
}

typedef struct SimReads {
    const Counter *c;
    int64_t *cost;
} SimReads;

static void add_read(void *user, const Access *a, bool guarded) {
    SimReads *r = user;
    (void)guarded;
    *bytes_of(r->c, r->cost, a->tensor) += type_info[r->c->t->buffers.at[a->tensor].type].bytes;
}

// The cost of one execution: its operations, at least one, and the bytes of its accesses.
static int64_t *leaf_cost(const Counter *c, const Leaf *leaf) {
    SimReads r = {c, new_count(c)};
    bool reduces = leaf->op != REDUCE_ASSIGN;
    r.cost[COUNT_LEAVES] = 1;
    r.cost[COUNT_OPS] = max_i64(1, ops_of(leaf->value) + reduces);
    expr_visit_accesses(leaf->value, add_read, &r);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], add_read, &r);
    add_read(&r, leaf->write, false);
    if (reduces) add_read(&r, leaf->write, false);
    return r.cost;
}

// --- Stencils ------------------------------------------------------------------------------------

static int stencil_of(const Counter *c, const Block *b) {
    const Leaf *leaf = b->nchildren == 1 ? as_leaf(b->child[0]) : NULL;
    for (int i = 0; leaf && i < b->node.tags.n; i++)
        for (int k = 0; k < c->h->stencil.n; k++)
            if (b->node.tags.at[i].value && strcmp(b->node.tags.at[i].name, "stencil") == 0 &&
                strcmp(b->node.tags.at[i].value, c->h->stencil.at[k].name) == 0)
                return k;
    return -1;
}

// The stencil index that an index of the block represents; -1: none.
static int stands_for(const Stencil *s, const Index *x) {
    for (int i = 0; i < x->tags.n; i++)
        for (int k = 0; k < s->nindex; k++)
            if (strncmp(x->tags.at[i].name, "stencil_", 8) == 0 &&
                strcmp(x->tags.at[i].name + 8, s->index[k].name) == 0)
                return k;
    return -1;
}

// The iterations that the unit spends on an index: the fixed size of the stencil, or the whole
// range.
static int64_t spent(const Stencil *s, const Index *x) {
    int k = stands_for(s, x);
    return k >= 0 && s->index[k].size > 0 ? max_i64(s->index[k].size, x->extent) : x->extent;
}

// Saturates far below INT64_MAX, so that a few products can be added without overflow.
static int64_t product_of(int64_t a, int64_t b) {
    int64_t n;
    return checked_mul(a, b, &n) && n < INT64_MAX / 1024 ? n : INT64_MAX / 1024;
}

static int64_t elements(const Stencil *s, const Block *b, const Access *a) {
    int64_t n = 1;
    for (int i = 0; i < b->nindex; i++) {
        bool used = false;
        for (int d = 0; d < a->rank; d++) used |= affine_uses_iter(a->sub[d], b->index[i].id);
        if (used && !b->index[i].passed) n = product_of(n, spent(s, &b->index[i]));
    }
    return n;
}

typedef struct SimOperands {
    const Counter *c;
    const Stencil *s;
    const Block *b;
    int64_t *cost;
} SimOperands;

static void add_operand(void *user, const Access *a, bool guarded) {
    SimOperands *o = user;
    (void)guarded;
    *bytes_of(o->c, o->cost, a->tensor) +=
        elements(o->s, o->b, a) * type_info[o->c->t->buffers.at[a->tensor].type].bytes;
}

// One start computes the whole size of the stencil, even if conditions exclude parts of it. It
// reads each input once; results are read and written.
static int64_t *start_cost(const Counter *c, const Block *b, int stencil) {
    const Stencil *s = &c->h->stencil.at[stencil];
    const Leaf *leaf = as_leaf(b->child[0]);
    SimOperands o = {c, s, b, new_count(c)};
    int64_t work = 1;
    bool seen[STENCIL_MAX_INDICES] = {false};
    for (int i = 0; i < b->nindex; i++) {
        if (b->index[i].passed) continue;
        work = product_of(work, spent(s, &b->index[i]));
        if (stands_for(s, &b->index[i]) >= 0) seen[stands_for(s, &b->index[i])] = true;
    }
    for (int k = 0; k < s->nindex; k++)
        if (!seen[k] && s->index[k].size > 0) work = product_of(work, s->index[k].size);
    o.cost[COUNT_STARTS] = 1;
    *work_of(c, o.cost, stencil) = work + s->startup;
    expr_visit_accesses(leaf->value, add_operand, &o);
    add_operand(&o, leaf->write, false);
    if (leaf->op != REDUCE_ASSIGN) add_operand(&o, leaf->write, false);
    return o.cost;
}

// --- Facts about nodes ---------------------------------------------------------------------------

typedef struct IdList {
    Arena *arena;
    VEC(int) ids;
} IdList;

static void add_id(IdList *l, int id) {
    for (int i = 0; i < l->ids.n; i++)
        if (l->ids.at[i] == id) return;
    vec_push(l->arena, &l->ids, id);
}

static void add_ids(IdList *l, const Affine *a, int nindices) {
    for (int id = 0; id < nindices; id++)
        if (affine_uses_iter(a, id)) add_id(l, id);
}

static const Index *own_index(const Block *b, int id) {
    for (int i = 0; i < b->nindex; i++)
        if (b->index[i].id == id) return &b->index[i];
    return NULL;
}

// The indices that the conditions of a block, and of blocks below, depend on. These must be
// enumerated.
static IdList walked(Counter *c, const Block *b) {
    IdList l = {.arena = c->arena};
    for (int i = 0; i < b->nconstraints; i++) add_ids(&l, b->constraint[i], c->t->nindices);
    for (int i = 0; i < b->nchildren; i++) {
        const NodeInfo *child = node_info(c, b->child[i]);
        for (int k = 0; k < child->nfree; k++) add_id(&l, child->free[k]);
    }
    for (int i = 0; i < l.ids.n; i++) { // grows when a passed index depends on outer indices
        const Index *x = own_index(b, l.ids.at[i]);
        if (x && x->passed) add_ids(&l, x->passed, c->t->nindices);
    }
    return l;
}

static void find_free(Counter *c, const Block *b, NodeInfo *out) {
    IdList l = walked(c, b), rest = {.arena = c->arena};
    for (int i = 0; i < l.ids.n; i++)
        if (!own_index(b, l.ids.at[i])) vec_push(c->arena, &rest.ids, l.ids.at[i]);
    out->nfree = rest.ids.n;
    out->free = rest.ids.at;
}

static bool allocated_here(const Block *b, int buffer) {
    for (int i = 0; i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return true;
    return false;
}

static void read_buffer(void *user, const Access *a, bool guarded) {
    (void)guarded;
    add_id(user, a->tensor);
}

static void find_buffers(Counter *c, const Node *node, NodeInfo *out) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    IdList read = {.arena = c->arena}, write = {.arena = c->arena};
    if (leaf) {
        expr_visit_accesses(leaf->value, read_buffer, &read);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], read_buffer, &read);
        add_id(&write, leaf->write->tensor);
    }
    for (int i = 0; b && i < b->nchildren; i++) {
        const NodeInfo *child = node_info(c, b->child[i]);
        for (int k = 0; k < child->nread; k++)
            if (!allocated_here(b, child->read[k])) add_id(&read, child->read[k]);
        for (int k = 0; k < child->nwrite; k++)
            if (!allocated_here(b, child->write[k])) add_id(&write, child->write[k]);
    }
    out->nread = read.ids.n;
    out->read = read.ids.at;
    out->nwrite = write.ids.n;
    out->write = write.ids.at;
}

// A block is a task if nothing below it names another place and its own place does not depend on
// its own indices.
static bool is_task(Counter *c, const Block *b) {
    for (int i = 0; i < b->place.n; i++)
        for (int k = 0; k < b->place.unit[i].n; k++)
            for (int x = 0; x < b->nindex; x++)
                if (affine_uses_iter(b->place.unit[i].at[k], b->index[x].id)) return false;
    for (int i = 0; i < b->nchildren; i++) {
        const Block *child = as_block(b->child[i]);
        if (!node_info(c, b->child[i])->task || (child && child->place.n)) return false;
    }
    return b != c->t->root;
}

static void find_memories(Counter *c, const Block *b, NodeInfo *out) {
    for (int i = 0; i < b->nallocs; i++)
        out->allocates[buffer_memory(c->h, &c->t->buffers.at[b->alloc[i]])] = true;
    for (int i = 0; i < b->nchildren; i++)
        for (int m = 0; m < c->h->memory.n; m++)
            out->allocates[m] |= node_info(c, b->child[i])->allocates[m];
}

// C[x] = 0; C[x] += T[x] only stores T[x]: it reads nothing of C and writes one value.
static void join_start(Counter *c, const Node *first, const Node *second) {
    const Leaf *a = as_leaf(first), *b = as_leaf(second);
    if (!a || !b || a->op != REDUCE_ASSIGN || a->value->kind == EXPR_OP ||
        a->value->kind == EXPR_READ || b->op == REDUCE_ASSIGN || a->write != b->write)
        return;
    NodeInfo *start = node_info(c, first), *store = node_info(c, second);
    if (start->joined) return;
    start->joined = true;
    memset(start->cost, 0, (size_t)c->n * sizeof *start->cost);
    start->cost[COUNT_LEAVES] = 1;
    *bytes_of(c, store->cost, b->write->tensor) -=
        type_info[c->t->buffers.at[b->write->tensor].type].bytes;
    store->cost[COUNT_OPS]--;
}

static bool info_uses(const NodeInfo *info, int buffer) {
    for (int i = 0; i < info->nread; i++)
        if (info->read[i] == buffer) return true;
    for (int i = 0; i < info->nwrite; i++)
        if (info->write[i] == buffer) return true;
    return false;
}

bool child_users(Counter *c, const Block *b, int buffer, int *first, int *last) {
    bool found = false;
    for (int i = 0; i < b->nchildren; i++) {
        if (!info_uses(node_info(c, b->child[i]), buffer)) continue;
        if (!found) *first = i;
        *last = i;
        found = true;
    }
    return found;
}

// Buffers with offsets come into use when the first child that uses them begins.
static void find_births(Counter *c, const Block *b) {
    int first, last;
    for (int i = 0; i < b->nallocs; i++) {
        if (tag_number(c->t->buffers.at[b->alloc[i]].tags, "offset", -1) < 0) continue;
        if (!child_users(c, b, b->alloc[i], &first, &last)) continue;
        NodeInfo *child = node_info(c, b->child[first]);
        int *born = arena_new_n(c->arena, int, child->nborn + 1);
        if (child->nborn) memcpy(born, child->born, (size_t)child->nborn * sizeof *born);
        born[child->nborn++] = b->alloc[i];
        child->born = born;
    }
}

static bool same_node(const void *key, const void *item) {
    return key == ((const NodeInfo *)item)->node;
}

static uint64_t node_hash(const Node *node) { return hash_mix(7, (uint64_t)(uintptr_t)node); }

NodeInfo *node_info(Counter *c, const Node *node) {
    void **slot = set_find(c->arena, &c->infos, node_hash(node), node, same_node);
    if (*slot) return *slot;
    const Block *b = as_block(node);
    NodeInfo *made = arena_new(c->arena, NodeInfo);
    *made = (NodeInfo){.node = node, .task = true};
    made->allocates = arena_new_n(c->arena, bool, c->h->memory.n + 1);
    find_buffers(c, node, made);
    if (b) {
        int stencil = stencil_of(c, b);
        for (int i = 0; i + 1 < b->nchildren; i++) join_start(c, b->child[i], b->child[i + 1]);
        find_free(c, b, made);
        find_memories(c, b, made);
        find_births(c, b);
        made->task = is_task(c, b);
        made->stencil = stencil >= 0;
        if (made->stencil) made->cost = start_cost(c, b, stencil);
    } else if (as_leaf(node)) {
        made->cost = leaf_cost(c, as_leaf(node));
    }
    // The calls for children may have moved the slot.
    slot = set_find(c->arena, &c->infos, node_hash(node), node, same_node);
    *slot = made;
    c->infos.n++;
    return made;
}

// --- Counting ------------------------------------------------------------------------------------

bool block_holds(const Block *b, const int64_t *value) {
    int64_t v;
    for (int i = 0; i < b->nconstraints; i++) {
        if (!affine_eval(b->constraint[i], value, NULL, NULL, NULL, &v))
            bug("a constraint overflows");
        if (v < 0) return false;
    }
    return true;
}

// Counts the indices of the block from `at` on: those in `walk` one by one, the others by
// multiplication.
static void count_indices_from(Counter *c, const Block *b, const IdList *walk, int at,
                               int64_t times, int64_t *value, int64_t *sum) {
    if (times == 0) return;
    if (at == b->nindex) {
        if (!block_holds(b, value)) return;
        for (int i = 0; i < b->nchildren; i++)
            count_add(c, sum, count_node(c, b->child[i], value), times);
        return;
    }
    const Index *x = &b->index[at];
    bool one_by_one = false;
    for (int i = 0; i < walk->ids.n; i++) one_by_one |= walk->ids.at[i] == x->id;
    if (x->passed) {
        if (!affine_eval(x->passed, value, NULL, NULL, NULL, &value[x->id]))
            bug("a passed index overflows");
        count_indices_from(c, b, walk, at + 1, times, value, sum);
        return;
    }
    if (!one_by_one) {
        if (!checked_mul(times, x->extent, &times)) times = INT64_MAX / 2;
        count_indices_from(c, b, walk, at + 1, times, value, sum);
        return;
    }
    for (int64_t i = 0; i < x->extent; i++) {
        value[x->id] = i;
        count_indices_from(c, b, walk, at + 1, times, value, sum);
    }
}

static int64_t *count_block(Counter *c, const Block *b, const NodeInfo *info, int64_t *value) {
    int64_t *sum = new_count(c);
    IdList walk = walked(c, b);
    count_indices_from(c, b, &walk, 0, 1, value, sum);
    if (!info->stencil) return sum;
    int64_t products = sum[COUNT_LEAVES], *start = new_count(c);
    if (products) memcpy(start, info->cost, (size_t)c->n * sizeof *start);
    start[COUNT_PRODUCTS] = products;
    return start;
}

// A count for certain values of the free indices.
typedef struct CountAt {
    const Node *node;
    int n;
    const int64_t *value;
    const int64_t *count;
} CountAt;

static bool same_count(const void *key, const void *item) {
    const CountAt *a = key, *b = item;
    return a->node == b->node && memcmp(a->value, b->value, (size_t)a->n * sizeof *a->value) == 0;
}

const int64_t *count_node(Counter *c, const Node *node, int64_t *value) {
    NodeInfo *info = node_info(c, node);
    const Block *b = as_block(node);
    if (!b) return info->cost;
    if (!info->nfree) {
        if (!info->count) info->count = count_block(c, b, info, value);
        return info->count;
    }
    int64_t *at = arena_new_n(c->arena, int64_t, info->nfree);
    for (int i = 0; i < info->nfree; i++) at[i] = value[info->free[i]];
    CountAt key = {node, info->nfree, at, NULL};
    uint64_t hash = hash_bytes(node_hash(node), at, (size_t)info->nfree * sizeof *at);
    void **slot = set_find(c->arena, &c->counts, hash, &key, same_count);
    if (*slot) return ((CountAt *)*slot)->count;
    key.count = count_block(c, b, info, value);
    slot = set_find(c->arena, &c->counts, hash, &key, same_count);
    *slot = arena_copy(c->arena, &key, sizeof key);
    c->counts.n++;
    return key.count;
}

Counter counter_new(Arena *arena, const Hardware *h, const Tree *t) {
    Counter c = {.arena = arena, .h = h, .t = t};
    c.n = COUNT_FIXED + h->stencil.n + h->memory.n;
    return c;
}

// --- Least transfers -----------------------------------------------------------------------------

enum { MOST_POINTS = 1 << 22 };

typedef struct Least {
    Arena *arena;
    const Tree *t;
    int64_t *extent; // per index id
    bool ***seen;    // per argument and dimension: the subscripts that occur
} Least;

// Marks all values of a subscript.
static void see_subscript(Least *l, const Affine *a, int from, int64_t sum, bool *seen,
                          int64_t size) {
    if (from == a->n) {
        if (sum >= 0 && sum < size) seen[sum] = true;
        return;
    }
    int64_t e = l->extent[a->term[from].atom->index];
    for (int64_t i = 0; i < e; i++)
        see_subscript(l, a, from + 1, sum + a->term[from].coef * i, seen, size);
}

static void see_access(void *user, const Access *a, bool guarded) {
    Least *l = user;
    (void)guarded;
    if (a->tensor >= l->t->nargs) return;
    const Buffer *b = &l->t->buffers.at[a->tensor];
    for (int d = 0; d < a->rank; d++) {
        double points = a->sub[d]->linear ? 1 : 1e18;
        for (int i = 0; a->sub[d]->linear && i < a->sub[d]->n; i++)
            points *= (double)l->extent[a->sub[d]->term[i].atom->index];
        bool *seen = l->seen[a->tensor][d];
        if (points <= MOST_POINTS)
            see_subscript(l, a->sub[d], 0, a->sub[d]->constant, seen, b->size[d]);
        else
            memset(seen, true, (size_t)b->size[d]);
    }
}

static bool see_node(void *user, const Node *node, int depth, const Block *parent) {
    Least *l = user;
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    for (int i = 0; b && i < b->nindex; i++) {
        l->extent[b->index[i].id] = b->index[i].extent;
        if (b->index[i].extent == 0) return false; // nothing below is executed
    }
    if (!leaf) return true;
    expr_visit_accesses(leaf->value, see_access, l);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], see_access, l);
    see_access(l, leaf->write, false);
    return true;
}

int64_t least_bytes(Arena *arena, const Tree *flat) {
    Least l = {.arena = arena, .t = flat};
    l.extent = arena_new_n(arena, int64_t, flat->nindices + 1);
    l.seen = arena_new_n(arena, bool **, flat->nargs + 1);
    for (int i = 0; i < flat->nargs; i++) {
        const Buffer *b = &flat->buffers.at[i];
        l.seen[i] = arena_new_n(arena, bool *, b->rank + 1);
        for (int d = 0; d < b->rank; d++)
            l.seen[i][d] = arena_new_n(arena, bool, max_i64(b->size[d], 1));
    }
    tree_walk(flat, see_node, &l);
    int64_t sum = 0;
    for (int i = 0; i < flat->nargs; i++) {
        const Buffer *b = &flat->buffers.at[i];
        int64_t bytes = type_info[b->type].bytes;
        for (int d = 0; d < b->rank; d++) {
            int64_t n = 0;
            for (int64_t k = 0; k < b->size[d]; k++) n += l.seen[i][d][k];
            bytes *= n;
        }
        sum += bytes;
    }
    return sum;
}
