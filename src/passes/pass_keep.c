// schedule keep=yes: decides which tensors stay in the memory unit between statements.
//
//     T = A*B; C = T*D; E = A*C  ->  T<SRAM>; A'<SRAM> = A; T = A'*B; C = T*D; E = A'*C
//
// A tensor that several statements use can stay for a period: from one of these statements to
// another. During the period it has a place of its own in the unit, and the statements neither load
// nor store it. It is swapped in before the period if it has contents, and swapped out afterwards
// if a later statement needs what the period wrote. Tensors whose periods do not overlap share
// memory (best fit, the largest first).
//
// Tensors with short lifetimes are decided first. Each is tried for its whole lifetime. If the
// plans of all blocks, with the room that is left, would not take fewer cycles, its lifetime is
// divided at the longest gap between two uses, and both halves are tried.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "passes/schedule_impl.h"
#include "transform/edit.h"

enum { MAX_KEPT = 64, MAX_MEMO = 64 };

// A tensor in the unit from one statement of the root to another.
typedef struct Period {
    int buffer, from, to;
    int64_t bytes, at;
    bool load, store; // it is swapped in before, swapped out after
} Period;

// The cost of a block in a state of the unit.
typedef struct Priced {
    uint64_t state; // a hash of the spans and of the views that lie there
    double cost;
} Priced;

typedef struct PricedBlock {
    int loop, child;
    bool must; // it has a plan without any kept tensor
    int nmemo;
    Priced memo[MAX_MEMO];
} PricedBlock;

// A tensor that several statements use.
typedef struct SharedTensor {
    int buffer, first, nuses;
    int *use; // statements
} SharedTensor;

typedef struct Keeper {
    PassRun *r;
    const Tree *t;
    const MemoryUnit *unit;
    const Transfer *engine;
    int64_t room;
    int nblocks;
    PricedBlock *block;
    int n;
    Period kept[MAX_KEPT];
    double now; // cycles of the present choice
} Keeper;

// --- Tensors -------------------------------------------------------------------------------------

static bool writes(const Node *node, int buffer) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    bool found = leaf && leaf->write->tensor == buffer;
    for (int i = 0; b && !found && i < b->nchildren; i++) found = writes(b->child[i], buffer);
    return found;
}

// Can the units on which a statement runs reach the unit, if the buffer lies there?
static bool can_reach(const Keeper *k, const Node *node, int buffer, bool reach) {
    const Block *b = as_block(node);
    const Hardware *h = k->r->h;
    int unit = (int)(k->unit - h->memory.at);
    if (!subtree_uses(node, buffer)) return true;
    for (int i = 0; b && i < b->place.n; i++) {
        int compute = hardware_compute(h, b->place.unit[i].name);
        int engine = hardware_transfer(h, b->place.unit[i].name);
        int memory = compute < 0 ? -1 : hardware_works_on(h, compute);
        if (compute >= 0) reach = memory < 0 || memory == unit;
        if (engine >= 0)
            reach = h->transfer.at[engine].from == unit || h->transfer.at[engine].to == unit;
    }
    bool ok = b ? true : reach;
    for (int i = 0; b && ok && i < b->nchildren; i++) ok = can_reach(k, b->child[i], buffer, reach);
    return ok;
}

// The statements that may use a buffer in the unit. Results of the program stay where they are
// until their last write.
static SharedTensor uses_of(const Keeper *k, int buffer) {
    const Block *root = k->t->root;
    SharedTensor out = {buffer, 0, 0, arena_new_n(k->r->arena, int, root->nchildren + 1)};
    bool argument = buffer < k->t->nargs;
    for (int i = 0; i < root->nchildren; i++) {
        if (!subtree_uses(root->child[i], buffer)) continue;
        if (argument && writes(root->child[i], buffer))
            out.nuses = 0;
        else
            out.use[out.nuses++] = i;
    }
    for (int i = 0; i < out.nuses; i++)
        if (!can_reach(k, root->child[out.use[i]], buffer, true)) out.nuses = 0;
    return out;
}

static bool lies_in(const Keeper *k, int buffer) {
    const Place *place = &k->t->buffers.at[buffer].place;
    return place->n && place->unit[0].name == k->unit->name;
}

static int by_lifetime(const SharedTensor *a, const SharedTensor *b) {
    int x = a->use[a->nuses - 1] - a->use[0], y = b->use[b->nuses - 1] - b->use[0];
    return x - y;
}

// Tensors that at least two statements use, those with the shortest lifetimes first.
static int shared_tensors(const Keeper *k, SharedTensor *out, int most) {
    int n = 0;
    for (int i = 0; i < k->t->nargs + k->t->root->nallocs; i++) {
        int buffer = i < k->t->nargs ? i : k->t->root->alloc[i - k->t->nargs];
        SharedTensor s = uses_of(k, buffer);
        if (s.nuses < 2 || lies_in(k, buffer) || n == most) continue;
        int at = n++;
        for (; at > 0 && by_lifetime(&s, &out[at - 1]) < 0; at--) out[at] = out[at - 1];
        out[at] = s;
    }
    return n;
}

// --- Costs ---------------------------------------------------------------------------------------

static bool together(const Period *a, const Period *b) {
    return a->from <= b->to && b->from <= a->to;
}

// Buffers that earlier passes have put into the unit, while the statements of the period run.
static UnitState state_before(const Keeper *k, const Period *p) {
    UnitState sum = {0};
    for (int c = p->from; c <= p->to; c++) {
        UnitState one = unit_during(k->r, k->t, c);
        for (int s = 0; s < one.busy.n; s++) vec_push(k->r->arena, &sum.busy, one.busy.at[s]);
        sum.loose = max_i64(sum.loose, one.loose);
    }
    return sum;
}

// Places all periods, the largest first; false: they do not fit.
static bool place_periods(Keeper *k) {
    for (int i = 0; i < k->n; i++) k->kept[i].at = -1;
    for (int n = 0; n < k->n; n++) {
        Period *next = NULL;
        for (int i = 0; i < k->n; i++)
            if (k->kept[i].at < 0 && (!next || k->kept[i].bytes > next->bytes)) next = &k->kept[i];
        UnitState s = state_before(k, next);
        for (int i = 0; i < k->n; i++) {
            const Period *p = &k->kept[i];
            if (p->at >= 0 && together(p, next))
                vec_push(k->r->arena, &s.busy, ((ByteSpan){p->at, p->at + p->bytes}));
        }
        next->at = best_gap(s.busy.at, s.busy.n, next->bytes, k->unit->align, k->room - s.loose);
        if (next->at < 0) return false;
    }
    return true;
}

// The cycles of the best plan of a block while the kept tensors are in the unit; INFINITY: none.
static double block_cycles(Keeper *k, PricedBlock *b) {
    UnitState state = unit_state(k->r, k->t, b->loop);
    bool *here = arena_new_n(k->r->arena, bool, k->t->buffers.n);
    uint64_t hash = 7;
    for (int i = 0; i < k->n; i++) {
        const Period *p = &k->kept[i];
        if (b->child < p->from || b->child > p->to) continue;
        here[p->buffer] = subtree_uses(k->t->root->child[b->child], p->buffer);
        vec_push(k->r->arena, &state.busy, ((ByteSpan){p->at, p->at + p->bytes}));
        uint64_t word[3] = {(uint64_t)p->at, (uint64_t)p->bytes,
                            here[p->buffer] ? (uint64_t)p->buffer + 1 : 0};
        hash = hash_bytes(hash, word, sizeof word);
    }
    for (int i = 0; i < b->nmemo; i++)
        if (b->memo[i].state == hash) return b->memo[i].cost;
    state.here = here;
    state.nhere = k->t->buffers.n;
    const char *why;
    const TilePlanner *p = plan_block(k->r, k->t, b->loop, &state, &why);
    double cost = why ? INFINITY : p->best.cost;
    if (b->nmemo < MAX_MEMO) b->memo[b->nmemo++] = (Priced){hash, cost};
    return cost;
}

static double swap_cycles(const Keeper *k, const Period *p) {
    double one = (double)p->bytes / k->engine->bandwidth + (double)k->engine->latency;
    return one * (p->load + p->store);
}

// The cycles of all blocks, one after the other, and of the swaps.
static double total_cycles(Keeper *k) {
    double sum = 0;
    if (!place_periods(k)) return INFINITY;
    for (int i = 0; i < k->nblocks && sum < INFINITY; i++)
        if (k->block[i].must) sum += block_cycles(k, &k->block[i]);
    for (int i = 0; i < k->n; i++) sum += swap_cycles(k, &k->kept[i]);
    return sum;
}

// --- The choice ----------------------------------------------------------------------------------

static Period period_of(const Keeper *k, const SharedTensor *s, int first, int last) {
    const Block *root = k->t->root;
    Period p = {.buffer = s->buffer, .from = s->use[first], .to = s->use[last]};
    p.bytes = bytes_in_unit(k->r, &k->t->buffers.at[s->buffer]);
    bool written = false;
    for (int i = first; i <= last; i++) written |= writes(root->child[s->use[i]], s->buffer);
    p.load = s->buffer < k->t->nargs || first > 0;
    p.store = written && last + 1 < s->nuses;
    return p;
}

// Tries to keep a tensor from its use number `first` to `last`, or during parts of this time.
static void try_period(Keeper *k, const SharedTensor *s, int first, int last, bool *kept) {
    if (last <= first || k->n == MAX_KEPT) return;
    const char *name = k->t->buffers.at[s->buffer].name;
    double before = k->now;
    k->kept[k->n++] = period_of(k, s, first, last);
    const Period *p = &k->kept[k->n - 1];
    double then = total_cycles(k);
    if (then < before) {
        pass_did(k->r, NULL,
                 "%s stays in %s from statement %d to %d%s%s: %.0f cycles instead of %.0f", name,
                 k->unit->name, p->from, p->to, p->load ? ", swapped in" : "",
                 p->store ? ", swapped out" : "", then, before);
        k->now = then;
        *kept = true;
        return;
    }
    k->n--;
    int gap = first;
    for (int i = first; i < last; i++)
        if (s->use[i + 1] - s->use[i] > s->use[gap + 1] - s->use[gap]) gap = i;
    bool part = false;
    try_period(k, s, first, gap, &part);
    try_period(k, s, gap + 1, last, &part);
    *kept |= part;
    if (first > 0 || last + 1 < s->nuses || part) return;
    pass_left(k->r, NULL,
              then < INFINITY
                  ? "%s is stored and loaded: kept it would take %.0f cycles, not %.0f"
                  : "%s is stored and loaded: with it in the unit other tiles do not fit",
              name, then, before);
}

// --- Applying the choice -------------------------------------------------------------------------

// A period that covers all uses of an allocation needs no copies: the allocation itself moves.
static bool is_whole(const Keeper *k, const Period *p) {
    return p->buffer >= k->t->nargs && !p->load && !p->store;
}

static const Tree *place_whole(Keeper *k, const Tree *t) {
    Buffer *all = arena_copy(k->r->arena, t->buffers.at, (size_t)t->buffers.n * sizeof *all);
    int n = 0;
    for (int i = 0; i < k->n; i++) {
        const Period *p = &k->kept[i];
        if (!is_whole(k, p)) continue;
        all[p->buffer].place = unit_place(k->r, t, k->unit->name);
        all[p->buffer].tags = with_number(k->r, t, all[p->buffer].tags, "offset", p->at);
        n++;
    }
    TreeEdit e = pass_edit(k->r);
    e.unchecked = true;
    return n ? tree_with_buffers(t, all, &e) : t;
}

// Copies before and after periods change the numbers of later statements: the last ones come first.
static const Tree *swap_all(Keeper *k, const Tree *t) {
    for (int round = 0; round < k->n; round++) {
        Period *p = NULL;
        for (int i = 0; i < k->n; i++) {
            Period *x = &k->kept[i];
            if (x->at >= 0 && !is_whole(k, x) && (!p || x->from > p->from)) p = x;
        }
        if (!p) break;
        SwapHow how = {.buffer = p->buffer, .from = p->from, .to = p->to};
        how.place = unit_place(k->r, t, k->unit->name);
        how.mover = unit_place(k->r, t, k->engine->name);
        how.tags = with_number(k->r, t, (Tags){0}, "offset", p->at);
        TreeEdit e = pass_edit(k->r);
        const Tree *now = tree_swap(t, &how, &e);
        if (!now) pass_refused(k->r, NULL);
        p->at = -1; // done
        for (int i = 0; i < k->n && now; i++) {
            Period *x = &k->kept[i];
            if (x->at < 0) continue;
            int stored = x->to > p->to && p->store; // statements behind the new copies
            x->to += (x->to >= p->from && p->load) + stored;
            x->from += x->from >= p->from && p->load;
        }
        if (now) t = now;
    }
    return t;
}

const Tree *keep_tensors(PassRun *r, const Tree *t, LoopList list) {
    Keeper *k = arena_new(r->arena, Keeper);
    SharedTensor shared[MAX_KEPT];
    *k = (Keeper){.r = r, .t = t, .nblocks = list.n};
    k->unit = &r->h->memory.at[pass_int(r, "unit")];
    k->engine = &r->h->transfer.at[pass_int(r, "move")];
    int owner = hardware_owner(r->h, (int)pass_int(r, "unit"));
    if (owner >= 0 && hardware_units(r->h, owner) > 1) {
        pass_left(r, NULL, "keep: each %s has its own %s, which other units do not reach",
                  r->h->compute.at[owner].name, k->unit->name);
        return t;
    }
    if (!k->unit->size || !checked_mul(k->unit->size, k->unit->banks, &k->room))
        k->room = INT64_MAX / 4;
    k->block = arena_new_n(r->arena, PricedBlock, list.n + 1);
    for (int i = 0; i < list.n; i++) {
        PricedBlock *b = &k->block[i];
        *b = (PricedBlock){.loop = list.at[i], .child = block_place(r, t, list.at[i]).child};
        double cost = block_cycles(k, b);
        b->must = cost < INFINITY;
        if (b->must) k->now += cost;
    }
    int n = shared_tensors(k, shared, MAX_KEPT);
    for (int i = 0; i < n; i++) {
        bool kept = false;
        try_period(k, &shared[i], 0, shared[i].nuses - 1, &kept);
    }
    if (!k->n) return t;
    if (!place_periods(k)) return t; // cannot happen: the last accepted choice has a placement
    for (int i = 0; i < k->n; i++)
        pass_did(r, NULL, "%s: %lld bytes at %lld", t->buffers.at[k->kept[i].buffer].name,
                 (long long)k->kept[i].bytes, (long long)k->kept[i].at);
    return swap_all(k, place_whole(k, t));
}
