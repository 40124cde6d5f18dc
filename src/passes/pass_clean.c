// Passes that simplify: flatten, constraints, boundary, prune, dead.
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"
#include "tree/tree_facts.h"

// --- flatten -------------------------------------------------------------------------------------

static bool is_reduction_block(const Block *b, const Leaf *leaf) {
    for (int i = 0; i < b->nindex; i++) {
        bool used = false;
        for (int d = 0; d < leaf->write->rank; d++)
            used |= affine_uses_iter(leaf->write->sub[d], b->index[i].id);
        if (!used && b->index[i].extent > 1) return true;
    }
    return false;
}

static Tags kernel_tags(const Tree *t, Arena *arena, const Block *b, const Leaf *leaf) {
    static const char *const agg[] = {"assign", "add", "mul", "min", "max"};
    VEC(Tag) tags = {0};
#define ADD(text)                                                                                  \
    do {                                                                                           \
        Tag tag = {name_of(t->names, text), NULL};                                                 \
        vec_push(arena, &tags, tag);                                                               \
    } while (0)
    ADD("kernel");
    const Expr *v = leaf->value;
    if (leaf->op != REDUCE_ASSIGN || is_reduction_block(b, leaf)) {
        ADD("contraction");
        ADD(arena_printf(arena, "agg_op_%s", agg[leaf->op]));
        if (v->kind == EXPR_OP && v->op == OP_MUL) ADD("comb_op_mul");
    } else if (v->kind == EXPR_CONST) {
        ADD("zero");
    } else {
        ADD(v->kind == EXPR_READ ? "copy" : "eltwise");
    }
#undef ADD
    return (Tags){tags.n, tags.at};
}

// The label of the statement, or the name of the buffer that it writes.
static Name kernel_name(const Tree *t, const Leaf *leaf) {
    if (t->program && leaf->stmt >= 0 && leaf->stmt < t->program->stmts.n)
        return t->program->stmts.at[leaf->stmt].label;
    return t->buffers.at[leaf->write->tensor].name;
}

// flatten: makes one block per statement, with tags that tell what it computes.
//
//     for m: for n: { C[m, n] = 0; for k: C[m, n] += A[m, k]*B[k, n] }
//  -> for [m, n] #kernel #zero: C[m, n] = 0
//     for [m, n, k] #kernel #contraction #agg_op_add #comb_op_mul: C[m, n] += A[m, k]*B[k, n]
const Tree *pass_flatten(PassRun *r, const Tree *t) {
    TreeEdit e = pass_edit(r);
    t = tree_flatten(t, &e);
    LoopList list = pass_blocks(r, t, NULL);
    e.unchecked = true;
    for (int i = 0; i < list.n; i++) {
        const Block *b = tree_loop_at(t, list.at[i]);
        const Leaf *leaf = b->nchildren == 1 ? as_leaf(b->child[0]) : NULL;
        if (!leaf || b->node.tags.n) continue;
        Block like = *b;
        like.node.tags = kernel_tags(t, r->arena, b, leaf);
        like.name = kernel_name(t, leaf);
        t = tree_block_like(t, list.at[i], &like, "flatten", &e);
        pass_did(r, &like, "#%s, %s", like.node.tags.at[1].name,
                 b->kind == KIND_ANY ? "iterations in any order" : "iterations in order");
    }
    return t;
}

// --- constraints ---------------------------------------------------------------------------------

typedef struct Bounds {
    int64_t *lo, *hi; // per index id
} Bounds;

static Bounds bounds_of(Arena *arena, const Tree *t) {
    TreeFacts *f = arena_new(arena, TreeFacts);
    facts_collect(f, arena, t);
    return (Bounds){f->lo, f->hi};
}

// 1 if the constraint always holds, -1 if it never holds, 0 if it depends on indices.
static int judged(const Affine *a, const Bounds *b) {
    int64_t lo, hi;
    if (!affine_bounds(a, b->lo, b->hi, &lo, &hi)) return 0;
    return lo >= 0 ? 1 : hi < 0 ? -1 : 0;
}

typedef struct CleanLoops {
    Arena *arena;
    VEC(int) at;
} CleanLoops;

static bool add_constrained(void *user, const Node *node, int depth, const Block *parent) {
    CleanLoops *l = user;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    if (b && b->nindex && b->nconstraints) vec_push(l->arena, &l->at, b->index[0].id);
    return true;
}

// Reduces the constraints of one block. Returns -1 if the block never runs, else the number of
// dropped constraints.
static int reduce_block(const Block *b, const Bounds *bounds, const Affine **keep, int *nkeep) {
    int dropped = 0;
    *nkeep = 0;
    for (int i = 0; i < b->nconstraints; i++) {
        int how = judged(b->constraint[i], bounds);
        if (how < 0) return -1;
        bool again = false;
        for (int k = 0; k < *nkeep; k++) again |= keep[k] == b->constraint[i];
        if (how > 0 || again)
            dropped++;
        else
            keep[(*nkeep)++] = b->constraint[i];
    }
    return dropped;
}

// constraints: drops constraints that always hold, and blocks that never run.
//
//     for [i:8] where 9 - i >= 0: S  ->  for [i:8]: S
const Tree *pass_constraints(PassRun *r, const Tree *t) {
    CleanLoops l = {.arena = r->arena};
    tree_walk(t, add_constrained, &l);
    Bounds bounds = bounds_of(r->arena, t);
    for (int i = 0; i < l.at.n; i++) {
        const Block *b = tree_loop_at(t, l.at.at[i]);
        if (!b) continue; // it was inside a block that never runs
        const Affine **keep = arena_new_n(r->arena, const Affine *, b->nconstraints);
        Block like = *b;
        int dropped = reduce_block(b, &bounds, keep, &like.nconstraints);
        TreeEdit e = pass_edit(r);
        const Tree *now = t;
        like.constraint = keep;
        if (dropped < 0)
            now = tree_block_remove(t, l.at.at[i], "remove", &e);
        else if (dropped)
            now = tree_block_like(t, l.at.at[i], &like, "reduce the constraints", &e);
        if (!now) {
            pass_refused(r, b);
        } else if (now != t) {
            pass_did(r, b, dropped < 0 ? "never runs" : "%d constraint%s always hold%s", dropped,
                     dropped == 1 ? "" : "s", dropped == 1 ? "s" : "");
            t = now;
        }
    }
    return t;
}

// --- boundary ------------------------------------------------------------------------------------

// The values [from, to) of an index for which a constraint holds for all values of the other
// indices.
static bool safe_range(const Affine *a, const Index *x, Bounds bounds, int64_t *from, int64_t *to) {
    int64_t lo, hi, coef = affine_coef(a, x->id), keep = bounds.hi[x->id];
    if (!coef || !a->linear) return false;
    bounds.hi[x->id] = 0; // to bound the other terms
    bool ok = affine_bounds(a, bounds.lo, bounds.hi, &lo, &hi);
    bounds.hi[x->id] = keep;
    if (!ok) return false;
    // coef*x + lo >= 0
    *from = coef > 0 ? max_i64(0, ceil_div(-lo, coef)) : 0;
    *to = coef < 0 ? min_i64(x->extent, floor_div(lo, -coef) + 1) : x->extent;
    return *from < *to;
}

// The range of an index in which constraints of the block, or of blocks further in, hold.
typedef struct IndexCut {
    int index;
    int64_t from, to, extent;
} IndexCut;

static bool uses_index(const Affine *a, const Block *b) {
    for (int i = 0; i < b->nindex; i++)
        if (affine_uses_iter(a, b->index[i].id)) return true;
    return false;
}

// Narrows the cuts of the block's indices for every constraint below.
static void find_cuts(const Node *node, const Block *top, const Bounds *bounds, IndexCut *cut) {
    const Block *b = as_block(node);
    for (int c = 0; b && c < b->nconstraints; c++) {
        const Affine *a = b->constraint[c];
        int best = -1;
        int64_t from = 0, to = 0;
        if (!uses_index(a, top) || judged(a, bounds) > 0) continue;
        for (int i = 0; i < top->nindex; i++) { // choose the index that keeps the largest share
            int64_t f, g, n = top->index[i].extent;
            if (!safe_range(a, &top->index[i], *bounds, &f, &g)) continue;
            if (best >= 0 && (double)(g - f) / (double)n <=
                                 (double)(to - from) / (double)top->index[best].extent)
                continue;
            best = i;
            from = f;
            to = g;
        }
        if (best < 0) continue;
        cut[best].from = max_i64(cut[best].from, from);
        cut[best].to = min_i64(cut[best].to, to);
    }
    for (int i = 0; b && i < b->nchildren; i++) find_cuts(b->child[i], top, bounds, cut);
}

static const Tree *cut_one(PassRun *r, const Tree *t, int loop) {
    const Block *b = tree_loop_at(t, loop);
    IndexCut *cut = arena_new_n(r->arena, IndexCut, b->nindex);
    Bounds bounds = bounds_of(r->arena, t);
    double share = 1;
    bool any = false;
    for (int i = 0; i < b->nindex; i++)
        cut[i] = (IndexCut){b->index[i].id, 0, b->index[i].extent, b->index[i].extent};
    find_cuts(&b->node, b, &bounds, cut);
    for (int i = 0; i < b->nindex; i++) {
        any |= cut[i].from > 0 || cut[i].to < cut[i].extent;
        share *= (double)max_i64(cut[i].to - cut[i].from, 0) / (double)max_i64(cut[i].extent, 1);
    }
    if (!any || share <= 0 || share < pass_real(r, "least")) {
        if (any) pass_left(r, b, "the interior would be %.0f %% of it", 100 * share);
        return t;
    }
    int pieces = 1;
    for (int i = 0; i < b->nindex; i++) {
        // After peeling, the front border keeps the old id, and the interior follows it.
        int index = cut[i].index;
        for (int front = 1; front >= 0; front--) {
            int64_t n = front ? cut[i].from : cut[i].to - cut[i].from;
            int second = index;
            if (front ? n == 0 : cut[i].to == cut[i].extent) continue;
            TreeEdit e = pass_edit(r);
            const Tree *now = tree_block_peel(t, index, n, &second, &e);
            if (!now) {
                pass_refused(r, b);
                return t;
            }
            pieces++;
            if (front) {
                // The remaining cuts apply to the interior, whose indices are new.
                const Block *inner = second >= 0 ? tree_loop_at(now, second) : NULL;
                if (!inner) return now;
                for (int k = 0; k < b->nindex; k++) cut[k].index = inner->index[k].id;
                index = second;
            }
            t = now;
        }
    }
    pass_did(r, b, "%d parts, the interior is %.0f %% of the iterations", pieces, 100 * share);
    return t;
}

// boundary: separates the interior, which needs no constraints, from the borders, which keep them.
//
//     for [x:8]: for [i:3] where x + i - 1 >= 0, 8 - x - i >= 0: S
//  -> for [x:1]: ... where ...; for [x:6]: for [i:3]: S(x + 1); for [x:1]: ... where ...
const Tree *pass_boundary(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    const Tree *before = t;
    for (int i = 0; i < list.n; i++) t = cut_one(r, t, list.at[i]);
    return t == before ? t : pass_constraints(r, t);
}

// --- prune and dead ------------------------------------------------------------------------------

static bool is_tagged(const Block *b) { return b->node.tags.n > 0; }

// prune: drops indices with one iteration, unused allocations, and blocks without effect.
//
//     for [i:1, j:4]: { for []: S(i, j) }  ->  for [j:4]: S(0, j)
const Tree *pass_prune(PassRun *r, const Tree *t) {
    TreeEdit e = pass_edit(r);
    const Tree *now = tree_prune(t, is_tagged, &e);
    if (!now) {
        pass_refused(r, NULL);
        return t;
    }
    Text before = {.arena = r->arena}, after = {.arena = r->arena};
    tree_show(&before, t, false);
    tree_show(&after, now, false);
    return strcmp(text_str(&before), text_str(&after)) == 0 ? t : now;
}

typedef struct CleanReads {
    bool *read; // per buffer
} CleanReads;

static void mark_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    ((CleanReads *)user)->read[a->tensor] = true;
}

static bool mark_reads(void *user, const Node *node, int depth, const Block *parent) {
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    if (leaf) {
        expr_visit_accesses(leaf->value, mark_read, user);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], mark_read, user);
    }
    return true;
}

static bool writes_only(const Node *node, const bool *dead) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf) return dead[leaf->write->tensor];
    for (int i = 0; b && i < b->nchildren; i++)
        if (!writes_only(b->child[i], dead)) return false;
    return b != NULL;
}

typedef struct Dead {
    Arena *arena;
    const bool *dead;
    VEC(int) loops;
} Dead;

static bool find_dead(void *user, const Node *node, int depth, const Block *parent) {
    Dead *d = user;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    if (!b || !b->nindex || !writes_only(node, d->dead)) return true;
    vec_push(d->arena, &d->loops, b->index[0].id);
    return false;
}

// dead: drops blocks that only write allocations which no statement reads.
//
//     T[8]; for [i:8]: T[i] = A[i]; for [i:8]: C[i] = A[i]  ->  for [i:8]: C[i] = A[i]
const Tree *pass_dead(PassRun *r, const Tree *t) {
    for (;;) {
        CleanReads reads = {arena_new_n(r->arena, bool, t->buffers.n + 1)};
        tree_walk(t, mark_reads, &reads);
        bool *dead = arena_new_n(r->arena, bool, t->buffers.n + 1);
        for (int i = t->nargs; i < t->buffers.n; i++) dead[i] = !reads.read[i];
        Dead d = {.arena = r->arena, .dead = dead};
        tree_walk(t, find_dead, &d);
        if (!d.loops.n) return t;
        for (int i = 0; i < d.loops.n; i++) {
            const Block *b = tree_loop_at(t, d.loops.at[i]);
            TreeEdit e = pass_edit(r);
            const Tree *now = tree_block_remove(t, d.loops.at[i], "remove", &e);
            if (!now) {
                pass_refused(r, b);
                return t;
            }
            pass_did(r, b, "nothing reads its result");
            t = now;
        }
    }
}
