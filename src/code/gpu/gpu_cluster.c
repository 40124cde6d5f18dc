// Loops over the blocks of a cluster. A cluster of up to 8 blocks runs at the same time, and its
// blocks read each other's shared memory. They divide one loop of the kernel:
//
//     grid m, n {  init C[m, n] = 0
//                  cluster k { ... C[m, n] += A[m, k]*B[k, n] }    partial sums meet
//                  C[m, n] = max(C[m, n], 0) }
//
// The first block of a cluster runs what is outside the loop. The others have no part in it, so no
// value may pass between the loop and the rest, except the result of the reduction.
#include "code/gpu/gpu_impl.h"

typedef struct ClusterUse {
    bool inside, outside; // accessed in the loop, and elsewhere
    bool written, set;    // in the loop, but not only by the reduction; elsewhere
    bool own;             // allocated in the loop
} ClusterUse;

typedef struct ClusterLook {
    Map *m;
    const Block *loop; // the loop over the blocks of a cluster
    int count;
    bool in;
    bool apart;      // iterations of the loop write different elements
    ClusterUse *use; // per buffer
    const Leaf *leaf;
} ClusterLook;

// The leaf reduces over the cluster: threads of its first block read and store the result.
static bool reduces(const ClusterLook *l, const Leaf *leaf) {
    return l->in && !l->apart && leaf->op != REDUCE_ASSIGN &&
           !access_uses_iter(leaf->write, l->loop->index[0].id);
}

static void see_access(void *user, const Access *a, bool guarded) {
    (void)guarded;
    ClusterLook *l = user;
    if (a == l->leaf->write && reduces(l, l->leaf)) return;
    *(l->in ? &l->use[a->tensor].inside : &l->use[a->tensor].outside) = true;
}

static void see_leaf(ClusterLook *l, const Leaf *leaf) {
    ClusterUse *u = &l->use[leaf->write->tensor];
    l->leaf = leaf;
    leaf_accesses(leaf, see_access, l);
    if (!reduces(l, leaf)) *(l->in ? &u->written : &u->set) = true;
}

static void see_node(ClusterLook *l, const Node *n) {
    const Block *b = as_block(n);
    bool before = l->in;
    if (!b) {
        see_leaf(l, (const Leaf *)n);
        return;
    }
    l->in |= b == l->loop;
    for (int i = 0; i < b->nallocs && l->in; i++) l->use[b->alloc[i]].own = true;
    for (int i = 0; i < b->nchildren; i++) see_node(l, b->child[i]);
    l->in = before;
}

static void find_loop(ClusterLook *l, const Node *n) {
    const Block *b = as_block(n);
    if (b && b->nindex && is_cluster(b->kind)) {
        l->loop = b;
        l->count++;
    }
    for (int i = 0; b && i < b->nchildren; i++) find_loop(l, b->child[i]);
}

bool cluster_size(Map *m, const Node *node) {
    ClusterLook l = {.m = m};
    Range range = gpu_range(m->t, node);
    find_loop(&l, node);
    if (!l.count) return true;
    if (l.count > 1 || l.loop->nindex > 1 || l.loop->index[0].passed) {
        diag_report(m->diags, range, DIAG_GPU_CLUSTER_TWICE);
        return false;
    }
    int64_t size = l.loop->index[0].extent;
    if (size > GPU_MAX_CLUSTER) {
        diag_report(m->diags, range, DIAG_GPU_CLUSTER_SIZE, (long long)size, GPU_MAX_CLUSTER);
        return false;
    }
    if (size <= 1) return true;
    l.apart = nest_independent(m, l.loop, 0);
    l.use = arena_new_n(m->arena, ClusterUse, m->t->buffers.n);
    see_node(&l, node);
    for (int i = 0; i < m->t->buffers.n; i++) {
        const ClusterUse *u = &l.use[i];
        if (u->own || !((u->written && u->outside) || (u->set && u->inside))) continue;
        diag_report(m->diags, range, DIAG_GPU_CLUSTER, m->t->buffers.at[i].name);
        return false;
    }
    m->k->size[GPU_CLUSTER] = size;
    m->g->hi[m->g->hw + GPU_CLUSTER] = m->k->size[GPU_CLUSTER] - 1;
    return true;
}
