// stream: stores past the caches what no statement reads again and a unit cannot hold.
//
//     for i in 131072: for i' in 128 vector: C[128*i + i'] = A[128*i + i']
//  -> ...: C[128*i + i'] = A[128*i + i']   nontemporal                            with fits=L3
//
// A normal store first loads the line that it changes, and evicts another one. That pays if the
// line is used again while the unit still holds it. It does not pay for a statement that assigns
// whole lines of a result, of which no other access exists, and that touches more bytes than the
// unit holds.
#include "base/checked.h"
#include "passes/pass_impl.h"
#include "transform/edit.h"

typedef struct Streaming {
    PassRun *r;
    const Tree *t;
    const MemoryUnit *unit;
    int64_t room; // its bytes
    int *uses;    // per buffer: its accesses in the whole Tree
    EditWork w;
    const Block *top; // the block that the log names
    int depth, changed;
    const Block *around[2 * TREE_MAX_DEPTH + 2];
} Streaming;

static void count_use(void *user, const Access *a, bool guarded) {
    (void)guarded;
    ((int *)user)[a->tensor]++;
}

static bool count_uses(void *user, const Node *node, int depth, const Block *parent) {
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    if (!leaf) return true;
    count_use(user, leaf->write, false);
    expr_visit_accesses(leaf->value, count_use, user);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], count_use, user);
    return true;
}

// The bytes of all buffers that the leaf accesses.
typedef struct StreamBytes {
    const Tree *t;
    Arena *arena;
    bool *seen;
    int64_t bytes;
} StreamBytes;

static void touch(void *user, const Access *a, bool guarded) {
    StreamBytes *x = user;
    const Buffer *b = &x->t->buffers.at[a->tensor];
    int64_t bytes = type_info[b->type].bytes;
    (void)guarded;
    for (int d = 0; d < b->rank; d++)
        if (!checked_mul(bytes, b->size[d], &bytes)) bytes = INT64_MAX / 4;
    if (!x->seen[a->tensor]) x->bytes = min_i64(x->bytes + bytes, INT64_MAX / 4);
    x->seen[a->tensor] = true;
}

static int64_t bytes_touched(const Streaming *s, const Leaf *leaf) {
    StreamBytes x = {.t = s->t, .arena = s->r->arena};
    x.seen = arena_new_n(x.arena, bool, s->t->buffers.n + 1);
    touch(&x, leaf->write, false);
    expr_visit_accesses(leaf->value, touch, &x);
    return x.bytes;
}

// The bytes between the elements that two iterations of an index write.
static int64_t step_of(const Streaming *s, const Access *a, int index) {
    const Buffer *b = &s->t->buffers.at[a->tensor];
    int64_t step = 0;
    for (int d = 0; d < a->rank; d++) step += affine_coef(a->sub[d], index) * b->stride[d];
    return step * type_info[b->type].bytes;
}

// Does the leaf write runs of whole lines, each of which begins as far into a line as the others?
static bool writes_lines(const Streaming *s, const Leaf *leaf) {
    int64_t line = s->unit->line,
            bytes = type_info[s->t->buffers.at[leaf->write->tensor].type].bytes;
    for (int d = 0; d < leaf->write->rank; d++)
        if (!leaf->write->sub[d]->linear) return false;
    for (int k = s->depth - 1; k >= 0; k--)
        for (int i = 0; i < s->around[k]->nindex; i++) {
            const Index *x = &s->around[k]->index[i];
            int64_t step = step_of(s, leaf->write, x->id);
            bool run = k == s->depth - 1 && s->around[k]->kind == KIND_VECTOR;
            if (run ? step != bytes || x->extent * bytes < line : x->extent > 1 && step % line != 0)
                return false;
        }
    return s->depth > 0 && s->around[s->depth - 1]->kind == KIND_VECTOR;
}

// Why the leaf stores into the caches; NULL: it need not.
static const char *reason(const Streaming *s, const Leaf *leaf) {
    int buffer = leaf->write->tensor;
    int64_t bytes = bytes_touched(s, leaf);
    if (leaf->op != REDUCE_ASSIGN) return "it adds to its results";
    if (buffer >= s->t->nargs || s->uses[buffer] > 1) return "its results are used again";
    if (bytes <= s->room)
        return arena_printf(s->r->arena, "its %lld bytes fit %s", (long long)bytes, s->unit->name);
    return writes_lines(s, leaf) ? NULL : "it does not write vectors of whole lines";
}

static void visit(Streaming *s, const Node *node) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf && !leaf->nontemporal) {
        const char *why = reason(s, leaf), *name = s->t->buffers.at[leaf->write->tensor].name;
        if (why) {
            pass_left(s->r, s->top, "%s: %s", name, why);
            return;
        }
        Leaf like = *leaf;
        like.nontemporal = true;
        const Node *made = &tree_leaf(s->w.t, &like)->node;
        work_replace(&s->w, node, &made, 1);
        s->changed++;
        pass_did(s->r, s->top, "%s: %lld bytes are more than the %lld of %s", name,
                 (long long)bytes_touched(s, leaf), (long long)s->room, s->unit->name);
    }
    if (!b || s->depth == (int)(sizeof s->around / sizeof *s->around)) return;
    s->around[s->depth++] = b;
    for (int i = 0; i < b->nchildren; i++) visit(s, b->child[i]);
    s->depth--;
}

// `fits`, or the largest unit with a size; NULL: none.
static const MemoryUnit *unit_to_fit(const PassRun *r) {
    int unit = (int)pass_int(r, "fits");
    const MemoryUnit *most = unit >= 0 ? &r->h->memory.at[unit] : NULL;
    for (int i = 0; unit < 0 && i < r->h->memory.n; i++)
        if (r->h->memory.at[i].size && (!most || r->h->memory.at[i].size > most->size))
            most = &r->h->memory.at[i];
    return most && most->size ? most : NULL;
}

const Tree *pass_stream(PassRun *r, const Tree *t) {
    TreeEdit e = pass_edit(r);
    e.unchecked = true;
    LoopList list = pass_blocks(r, t, "reqs");
    Streaming s = {.r = r, .t = t, .unit = unit_to_fit(r), .w = work_begin(t, "stream", &e)};
    if (!s.unit) {
        pass_left(r, NULL, "no memory unit has a size");
        return t;
    }
    if (!checked_mul(s.unit->size, s.unit->banks, &s.room)) s.room = INT64_MAX;
    s.uses = arena_new_n(r->arena, int, t->buffers.n + 1);
    tree_walk(t, count_uses, s.uses);
    for (int i = 0; i < list.n; i++) {
        s.top = tree_loop_at(t, list.at[i]);
        visit(&s, &s.top->node);
    }
    s.w.same_order = true;
    return s.changed ? work_finish(&s.w) : t;
}
