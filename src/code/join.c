// Plan, step 2: nested loops that run through memory like one loop become one, so that lanes do not
// end at the end of a short row:
//
//     for h in 12 { for w in 12 vector { S += X[12·h + w] } }   ->   for w in 144 vector
//
// The loop around a vector loop joins it when all that it does is to go on where the inner one
// ended, in every access of the body. Instances keep their order. As lanes now reach over what were
// iterations of a serial loop, no iteration may use what another one writes: elements of a buffer
// that is written are met at one place only.
#include "code/plan.h"

#include "base/checked.h"

typedef struct Join {
    const Plan *p;
    const PNode *outer, *inner;
    const Mem *written[8];
    int nwritten;
} Join;

static bool same_place(const Mem *a, const Mem *b) {
    if (a->off->c != b->off->c || a->off->n != b->off->n) return false;
    for (int i = 0; i < a->off->n; i++)
        if (a->off->t[i].loop != b->off->t[i].loop || a->off->t[i].k != b->off->t[i].k)
            return false;
    return true;
}

static bool goes_on(const Join *j, const Mem *m) {
    int64_t row;
    if (!m->off || m->inner) return false;
    return j->outer->extent == 1 ||
           (checked_mul(lin_coef(m->off, j->inner->loop), j->inner->extent, &row) &&
            lin_coef(m->off, j->outer->loop) == row);
}

// Collects what is written; false: some access, bound or guard needs both loops.
static bool allows(Join *j, const PNode *n) {
    if (n->nconds || n->nhard || (n->kind == P_LOOP && n->nbounds)) return false;
    if (n->kind == P_LEAF) {
        if (!goes_on(j, &n->write) || j->nwritten == 8 || plan_has_index(n->leaf->value))
            return false;
        j->written[j->nwritten++] = &n->write;
        for (int i = 0; i < n->nreads; i++)
            if (!goes_on(j, &n->read[i])) return false;
    }
    for (int i = 0; i < n->nchild; i++)
        if (!allows(j, n->child[i])) return false;
    return true;
}

static bool agrees(const Join *j, const Mem *m) {
    for (int i = 0; i < j->nwritten; i++)
        if (j->written[i]->buffer == m->buffer && !same_place(j->written[i], m)) return false;
    return true;
}

static bool is_independent(const Join *j, const PNode *n) {
    if (n->kind == P_LEAF) {
        if (!agrees(j, &n->write)) return false;
        for (int i = 0; i < n->nreads; i++)
            if (!agrees(j, &n->read[i])) return false;
    }
    for (int i = 0; i < n->nchild; i++)
        if (!is_independent(j, n->child[i])) return false;
    return true;
}

static bool is_inside(const Join *j, const Mem *write) {
    for (int i = 0; i < j->nwritten; i++)
        if (j->written[i] == write) return true;
    return false;
}

// Elements that are initialised here and updated elsewhere, or the other way round, may be a tile:
// then vectors must be the same in both places.
static bool shares_tile(const Join *j) {
    for (int i = 0; i < j->p->leaves.n; i++) {
        const PNode *leaf = j->p->leaves.at[i];
        for (int k = 0; k < j->nwritten && !is_inside(j, &leaf->write); k++)
            if (j->written[k]->buffer == leaf->write.buffer && leaf->leaf->op != REDUCE_ASSIGN &&
                lin_coef(j->written[k]->off, j->inner->loop))
                return true;
    }
    return false;
}

static bool may_join(const Plan *p, const PNode *outer, const PNode *inner) {
    Join j = {.p = p, .outer = outer, .inner = inner};
    int64_t extent;
    if (outer->mark != KIND_ANY && outer->mark != KIND_SERIAL) return false;
    if (outer->nbounds || p->refused->vector[inner->loop]) return false;
    if (!checked_mul(outer->extent, inner->extent, &extent)) return false;
    if (!allows(&j, inner) || !is_independent(&j, inner)) return false;
    for (int i = p->tree->nargs; i < p->tree->buffers.n; i++)
        if (p->alloc_loop[i] == outer->loop) return false;
    return !shares_tile(&j);
}

static void forget(const Plan *p, Mem *m, int loop) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0;
    for (int i = 0; i < m->off->n; i++)
        if (m->off->t[i].loop != loop) t[n++] = m->off->t[i];
    m->off = code_lin(p->arena, m->off->c, t, n);
}

static void forget_below(const Plan *p, PNode *n, int loop) {
    if (n->kind == P_LEAF) {
        forget(p, &n->write, loop);
        for (int i = 0; i < n->nreads; i++) forget(p, &n->read[i], loop);
    }
    for (int i = 0; i < n->nchild; i++) forget_below(p, n->child[i], loop);
}

// The node that takes n's place.
static PNode *join(Plan *p, PNode *n) {
    for (int i = 0; i < n->nchild; i++) n->child[i] = join(p, n->child[i]);
    PNode *inner = n->nchild == 1 ? n->child[0] : NULL;
    if (n->kind != P_LOOP || !inner || inner->kind != P_LOOP || inner->mark != KIND_VECTOR ||
        !may_join(p, n, inner))
        return n;
    forget_below(p, inner, n->loop);
    inner->extent *= n->extent;
    inner->depth = n->depth;
    n->nchild = 0;
    n->extent = 1;
    p->joined++;
    return inner;
}

void plan_join(Plan *p) {
    if (!p->tree->prefetches.n) p->root = join(p, p->root); // prefetches name loops
}
