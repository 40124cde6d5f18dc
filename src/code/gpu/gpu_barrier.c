// Inserts barriers where dependences require them, and moves guards outwards so that each is tested
// once.
//
// Two children of a sequence need a barrier between them if one writes memory of the block that the
// other accesses, unless the same thread accesses every element in both. Each such pair is an
// interval of positions. The greedy rule (a barrier at the latest position of the interval that
// ends first) hits all intervals with the fewest barriers. In a loop the intervals are cyclic, so
// every position is tried as the first barrier.
//
// All threads must reach a barrier. A guard that depends on threads therefore stays on its leaf if
// there is a barrier between the leaf and the outer node.
#include "code/gpu/gpu.h"

#include "base/checked.h"

typedef struct GpuUse {
    const Access *access;
    const GpuNode *leaf;
    bool write;
} GpuUse;
typedef VEC(GpuUse) Uses;

typedef struct Sync {
    GpuProgram *g;
    GpuKernel *k;
    Uses *into;
    const GpuNode *leaf;
    bool reducing; // below a GPU_REDUCE: its leaves update registers
} Sync;

// --- Accesses of a node -------------------------------------------------------------------------

static bool is_common(const Sync *s, int buffer) {
    const GpuBuffer *b = &s->k->buffer[buffer];
    if (b->stages > 1) return false; // the mapping has already placed its barriers
    return b->space == GPU_SHARED || (b->space == GPU_GLOBAL && b->written);
}

static void see_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Sync *s = user;
    if (is_common(s, a->tensor)) vec_push(s->g->arena, s->into, ((GpuUse){a, s->leaf, false}));
}

static void collect(Sync *s, const GpuNode *n) {
    for (int i = 0; i < n->child.n; i++) collect(s, n->child.at[i]);
    if (n->kind != GPU_LEAF) return;
    s->leaf = n;
    const Access *w = n->leaf->write;
    bool own = s->reducing && n->meet && n->leaf->op != REDUCE_ASSIGN;
    if (is_common(s, w->tensor) && !own) vec_push(s->g->arena, s->into, ((GpuUse){w, n, true}));
    for (int d = 0; d < w->rank; d++) affine_visit_accesses(w->sub[d], see_read, s);
    expr_visit_accesses(n->leaf->value, see_read, s);
    for (int i = 0; i < n->guard.n; i++) affine_visit_accesses(n->guard.at[i], see_read, s);
}

// Does the same thread access each element in both? This holds if the digits of both addresses are
// equal and include all thread axes, or if one and the same thread runs both leaves.
static bool same_thread(const Sync *s, const GpuUse *a, const GpuUse *b) {
    unsigned used = gpu_used_axes(s->k);
    GpuDigits p, q;
    if (a->leaf->vector != b->leaf->vector) return false;
    if ((a->write && a->leaf->meet) || (b->write && b->leaf->meet)) return false;
    if (a->leaf->single != b->leaf->single) return false;
    if (a->leaf->single == used) return true;
    if (!gpu_digits(s->g, s->k, a->access, &p) || !gpu_digits(s->g, s->k, b->access, &q))
        return false;
    return ((a->leaf->single | p.axes) & used) == used && gpu_digits_equal(&p, &q);
}

static bool conflict(const Sync *s, const Uses *a, const Uses *b) {
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            const GpuUse *p = &a->at[i], *q = &b->at[k];
            if (p->access->tensor != q->access->tensor || (!p->write && !q->write)) continue;
            if (!same_thread(s, p, q)) return true;
        }
    return false;
}

// --- The fewest barriers -------------------------------------------------------------------------

enum { MOST_CHILDREN = 256 };

static int place_from(const bool *needs, int n, int first, bool cyclic, bool *at) {
    int count = 0;
    for (int i = 0; i < n; i++) at[i] = false;
    // Positions are counted from `first`; barrier `p` is placed before child p.
    int last = -1; // position of the latest barrier
    if (cyclic) {
        at[first] = true;
        count = 1;
        last = 0;
    }
    for (int j = 0; j < n; j++) {
        int to = (first + j) % n;
        for (int i = j - 1; i >= 0 && i >= last; i--) {
            int from = (first + i) % n;
            if (!needs[from * n + to]) continue;
            at[to] = true;
            count++;
            last = j;
            break;
        }
    }
    return count;
}

int gpu_fewest_barriers(const bool *needs, int n, bool cyclic, bool *pick) {
    bool at[MOST_CHILDREN], any = false;
    int best = INT32_MAX;
    for (int i = 0; i < n * n; i++) any |= needs[i];
    for (int i = 0; i < n; i++) pick[i] = false;
    if (!any) return 0;
    for (int first = 0; first < (cyclic ? n : 1); first++) {
        int k = place_from(needs, n, first, cyclic, at);
        if (k >= best) continue;
        best = k;
        for (int i = 0; i < n; i++) pick[i] = at[i];
    }
    return best;
}

static void place(Sync *s, GpuNode *n, const bool *needs, bool cyclic) {
    int count = n->child.n;
    bool pick[MOST_CHILDREN];
    if (!gpu_fewest_barriers(needs, count, cyclic, pick)) return;
    VEC(GpuNode *) out = {0};
    for (int i = 0; i < count; i++) {
        if (pick[i]) {
            GpuNode *b = arena_new(s->g->arena, GpuNode);
            b->kind = GPU_BARRIER;
            vec_push(s->g->arena, &out, b);
            s->k->barriers++;
        }
        vec_push(s->g->arena, &out, n->child.at[i]);
    }
    n->child.at = out.at;
    n->child.n = out.n;
    n->child.cap = out.cap;
}

static void sync_node(Sync *s, GpuNode *n);

static void sync_children(Sync *s, GpuNode *n, bool cyclic) {
    int count = n->child.n;
    if (count > MOST_CHILDREN) { // too many for one table: place barriers in halves
        GpuNode *half[2];
        for (int h = 0; h < 2; h++) {
            half[h] = arena_new(s->g->arena, GpuNode);
            half[h]->kind = GPU_SEQ;
            for (int i = h ? count / 2 : 0; i < (h ? count : count / 2); i++)
                vec_push(s->g->arena, &half[h]->child, n->child.at[i]);
        }
        n->child.at[0] = half[0];
        n->child.at[1] = half[1];
        n->child.n = count = 2;
    }
    for (int i = 0; i < count; i++) sync_node(s, n->child.at[i]);
    Uses *use = arena_new_n(s->g->arena, Uses, count);
    bool *needs = arena_new_n(s->g->arena, bool, count *count);
    for (int i = 0; i < count; i++) {
        s->into = &use[i];
        collect(s, n->child.at[i]);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            bool next = i < j;
            if (!next && !cyclic) continue;
            needs[i * count + j] = conflict(s, &use[i], &use[j]);
        }
    place(s, n, needs, cyclic);
}

// An unrolled loop needs the same barriers as a serial one.
static void sync_node(Sync *s, GpuNode *n) {
    bool before = s->reducing;
    if (!n->child.n || n->independent) return;
    s->reducing |= n->kind == GPU_REDUCE;
    sync_children(s, n, n->kind == GPU_LOOP && n->extent > 1);
    s->reducing = before;
}

// A barrier inside a loop of one child also makes its child list longer.
static bool has_barrier(const GpuNode *n) {
    if (n->kind == GPU_BARRIER || n->kind == GPU_REDUCE || n->kind == GPU_WAIT) return true;
    for (int i = 0; i < n->child.n; i++)
        if (has_barrier(n->child.at[i])) return true;
    return false;
}

// --- Guards --------------------------------------------------------------------------------------

static bool guards(const GpuNode *n, const Affine *a) {
    for (int i = 0; i < n->guard.n; i++)
        if (n->guard.at[i] == a) return true;
    return false;
}

static void drop_guard(GpuNode *n, const Affine *a) {
    int k = 0;
    for (int i = 0; i < n->guard.n; i++)
        if (n->guard.at[i] != a) n->guard.at[k++] = n->guard.at[i];
    n->guard.n = k;
}

static void lift_guards(Sync *s, GpuNode *n) {
    for (int i = 0; i < n->child.n; i++) lift_guards(s, n->child.at[i]);
    if (!n->child.n || n->kind == GPU_REDUCE) return;
    bool barrier = has_barrier(n);
    const GpuNode *first = n->child.at[0];
    for (int g = first->guard.n - 1; g >= 0; g--) {
        const Affine *a = first->guard.at[g];
        bool all = !a->has_read && !(barrier && gpu_axes_of(s->g, a));
        if (n->kind == GPU_LOOP && affine_uses_iter(a, n->id)) all = false;
        for (int i = 0; i < n->child.n && all; i++)
            all = n->child.at[i]->kind != GPU_BARRIER ? guards(n->child.at[i], a) : !barrier;
        if (!all) continue;
        for (int i = 0; i < n->child.n; i++) drop_guard(n->child.at[i], a);
        vec_push(s->g->arena, &n->guard, a);
    }
}

void gpu_barriers(GpuProgram *g, GpuKernel *k) {
    Sync s = {.g = g, .k = k};
    if (gpu_used_axes(k)) sync_node(&s, k->body);
    lift_guards(&s, k->body);
}
