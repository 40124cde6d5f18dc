// Plan, step 2: collapses nested loops that traverse memory like one loop, so that vectors do not
// end at the end of a short row:
//
//     for h in 12 { for w in 12 vector { S += X[12·h + w] } }   ->   for w in 144 vector
//
// The loop around a vector loop is collapsed into it if each of its iterations continues where the
// previous one ended, in every access of the body. Iterations keep their order. Vectors now span
// what were iterations of a serial loop, so no iteration may use an element that another one
// writes: elements of a written buffer must be accessed through one subscript only.
//
// A row shorter than a vector may also be collapsed if it reads an element that is the same along
// the row and changes from row to row, as the pixels of a convolution in small groups:
//
//     for g in 4 { for f in 4 vector { O[4·g + f] += P[4·g + c]·K[4·g + f] } }
//
// Lanes of one row then share its element (Mem.repeat). All loops that write the same elements must
// be collapsed in the same way, or the tile could not stay in registers.
#include "code/plan/plan.h"

#include "base/checked.h"

typedef struct Collapse {
    const Plan *p;
    PNode *outer, *inner;
    bool may_repeat; // lanes of a row may share the elements that they read
    bool repeats;    // and some do
    const Mem *written[8];
    int nwritten;
} Collapse;

static bool same_place(const Mem *a, const Mem *b) {
    if (a->off->c != b->off->c || a->off->n != b->off->n) return false;
    for (int i = 0; i < a->off->n; i++)
        if (a->off->t[i].loop != b->off->t[i].loop || a->off->t[i].k != b->off->t[i].k)
            return false;
    return true;
}

static bool goes_on(const Collapse *j, const Mem *m) {
    int64_t row;
    if (!m->off || m->inner) return false;
    return j->outer->extent == 1 ||
           (checked_mul(lin_coef(m->off, j->inner->loop), j->inner->extent, &row) &&
            lin_coef(m->off, j->outer->loop) == row);
}

static bool stands_still(Collapse *j, const Mem *m) {
    if (!j->may_repeat || !m->off || m->inner) return false;
    int64_t row = lin_coef(m->off, j->outer->loop);
    if (row <= 0 || row > INT32_MAX / 64 || row % j->inner->extent) return false;
    if (lin_coef(m->off, j->inner->loop)) return false;
    return j->repeats = true;
}

// Do its conditions hold in all lanes or in none?
static bool is_uniform(const Collapse *j, const PNode *n) {
    for (int i = 0; i < n->nconds; i++)
        if (lin_coef(n->cond[i], j->outer->loop) || lin_coef(n->cond[i], j->inner->loop))
            return false;
    return !n->nhard;
}

// Collects the written elements; false: some access, bound or guard needs both loops.
static bool allows(Collapse *j, const PNode *n) {
    if (!is_uniform(j, n) || (n->kind == P_LOOP && n->nbounds)) return false;
    if (n->kind == P_LEAF) {
        if (!goes_on(j, &n->write) || j->nwritten == 8 || plan_has_index(n->leaf->value))
            return false;
        j->written[j->nwritten++] = &n->write;
        for (int i = 0; i < n->nreads; i++)
            if (!goes_on(j, &n->read[i]) && !stands_still(j, &n->read[i])) return false;
    }
    for (int i = 0; i < n->nchild; i++)
        if (!allows(j, n->child[i])) return false;
    return true;
}

static bool agrees(const Collapse *j, const Mem *m) {
    for (int i = 0; i < j->nwritten; i++)
        if (j->written[i]->buffer == m->buffer && !same_place(j->written[i], m)) return false;
    return true;
}

static bool is_independent(const Collapse *j, const PNode *n) {
    if (n->kind == P_LEAF) {
        if (!agrees(j, &n->write)) return false;
        for (int i = 0; i < n->nreads; i++)
            if (!agrees(j, &n->read[i])) return false;
    }
    for (int i = 0; i < n->nchild; i++)
        if (!is_independent(j, n->child[i])) return false;
    return true;
}

static bool is_inside(const Collapse *j, const Mem *write) {
    for (int i = 0; i < j->nwritten; i++)
        if (j->written[i] == write) return true;
    return false;
}

// Elements that are initialised here and updated elsewhere, or vice versa, may be a tile; vectors
// must then be the same in both places.
static bool shares_tile(const Collapse *j) {
    for (int i = 0; i < j->p->leaves.n; i++) {
        const PNode *leaf = j->p->leaves.at[i];
        for (int k = 0; k < j->nwritten && !is_inside(j, &leaf->write); k++)
            if (j->written[k]->buffer == leaf->write.buffer && leaf->leaf->op != REDUCE_ASSIGN &&
                lin_coef(j->written[k]->off, j->inner->loop))
                return true;
    }
    return false;
}

// Does another loop update the element? It may then be its tile, if it is small enough.
static bool is_of_tile(const Collapse *j, const Mem *m) {
    int64_t lanes = max_i64(1, j->p->machine->vector_bytes / type_info[m->type].bytes), vectors;
    if (!lin_coef(m->off, j->inner->loop) ||
        !checked_mul(j->outer->extent, ceil_div(j->inner->extent, lanes), &vectors) ||
        vectors > j->p->machine->vector_registers)
        return false;
    for (int i = 0; i < j->p->leaves.n; i++) {
        const PNode *leaf = j->p->leaves.at[i];
        if (leaf->write.buffer == m->buffer && leaf->leaf->op != REDUCE_ASSIGN &&
            !is_inside(j, &leaf->write))
            return true;
    }
    return false;
}

// Does the node read a tile? It must then use vectors as they are in the tile.
static bool reads_tile(const Collapse *j, const PNode *n) {
    for (int i = 0; i < n->nreads; i++)
        if (is_of_tile(j, &n->read[i])) return true;
    for (int i = 0; i < n->nchild; i++)
        if (reads_tile(j, n->child[i])) return true;
    return false;
}

static bool may_join(Collapse *j) {
    const PNode *outer = j->outer, *inner = j->inner;
    const Plan *p = j->p;
    int64_t extent;
    if (outer->mark != KIND_ANY && outer->mark != KIND_SERIAL) return false;
    if (outer->nbounds || p->refused->end[inner->loop]) return false;
    if (!checked_mul(outer->extent, inner->extent, &extent)) return false;
    if (!allows(j, inner) || !is_independent(j, inner)) return false;
    for (int i = p->tree->nargs; i < p->tree->buffers.n; i++)
        if (p->alloc_loop[i] == outer->loop) return false;
    return j->may_repeat || (!shares_tile(j) && !reads_tile(j, inner));
}

// Removes the outer loop from the access. Elements that lanes share advance by one row per row of
// lanes.
static void forget(const Collapse *j, Mem *m) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int64_t row = lin_coef(m->off, j->outer->loop);
    bool shared = j->outer->extent > 1 && row && !lin_coef(m->off, j->inner->loop);
    int n = 0;
    for (int i = 0; i < m->off->n; i++) {
        if (shared && m->off->t[i].loop > j->inner->loop) {
            t[n++] = (LinTerm){j->inner->loop, row / j->inner->extent};
            shared = false;
            m->repeat = (int)j->inner->extent;
        }
        if (m->off->t[i].loop != j->outer->loop) t[n++] = m->off->t[i];
    }
    if (shared) {
        t[n++] = (LinTerm){j->inner->loop, row / j->inner->extent};
        m->repeat = (int)j->inner->extent;
    }
    m->off = code_lin(j->p->arena, m->off->c, t, n);
}

static void forget_below(const Collapse *j, PNode *n) {
    if (n->kind == P_LEAF) {
        forget(j, &n->write);
        for (int i = 0; i < n->nreads; i++) forget(j, &n->read[i]);
    }
    for (int i = 0; i < n->nchild; i++) forget_below(j, n->child[i]);
}

// Replaces both loops by the inner one.
static void join_now(Plan *p, const Collapse *j) {
    forget_below(j, j->inner);
    j->inner->extent *= j->outer->extent;
    j->inner->depth = j->outer->depth;
    j->outer->nchild = 0;
    j->outer->extent = 1;
    p->collapsed++;
}

static bool is_row(const PNode *n) {
    return n->kind == P_LOOP && n->nchild == 1 && n->child[0]->kind == P_LOOP &&
           n->child[0]->mark == KIND_VECTOR;
}

// The node that replaces n.
static PNode *join(Plan *p, PNode *n) {
    for (int i = 0; i < n->nchild; i++) n->child[i] = join(p, n->child[i]);
    if (!is_row(n)) return n;
    Collapse j = {.p = p, .outer = n, .inner = n->child[0]};
    if (!may_join(&j)) return n;
    join_now(p, &j);
    return j.inner;
}

// --- Rows whose lanes share elements -------------------------------------------------------------

typedef struct Rows {
    Plan *p;
    VEC(Collapse) at;
    bool some; // in one of them lanes share elements
} Rows;

static void find_rows(Rows *rows, PNode *n) {
    for (int i = 0; i < n->nchild; i++) find_rows(rows, n->child[i]);
    if (!is_row(n) || n->extent < 2 || n->child[0]->extent < 2 || n->child[0]->nbounds) return;
    LossWhy why;
    Collapse j = {.p = rows->p, .outer = n, .inner = n->child[0], .may_repeat = true};
    int64_t row = j.inner->extent, lanes = plan_lanes(rows->p, j.inner, n->extent, &why);
    if (why || row >= lanes || lanes % row || !may_join(&j)) return;
    rows->some |= j.repeats;
    vec_push(rows->p->arena, &rows->at, j);
}

// Is the leaf in a row that is also collapsed, and does it access `m` as j accesses its result?
static bool joins_too(const Rows *rows, const Collapse *j, const PNode *leaf, const Mem *m,
                      const Mem *mine) {
    for (int i = 0; i < rows->at.n; i++) {
        const Collapse *other = &rows->at.at[i];
        if (is_inside(other, &leaf->write))
            return other->outer->extent == j->outer->extent &&
                   other->inner->extent == j->inner->extent && m->off &&
                   lin_coef(m->off, other->inner->loop) == lin_coef(mine->off, j->inner->loop);
    }
    return false;
}

// Does another node access what j writes, in vectors of another kind?
static bool joins_alone(const Rows *rows, const Collapse *j) {
    for (int i = 0; i < rows->p->leaves.n; i++) {
        const PNode *leaf = rows->p->leaves.at[i];
        for (int k = 0; k < j->nwritten && !is_inside(j, &leaf->write); k++)
            for (int r = -1; r < leaf->nreads; r++) {
                const Mem *m = r < 0 ? &leaf->write : &leaf->read[r];
                if (j->written[k]->buffer == m->buffer &&
                    !joins_too(rows, j, leaf, m, j->written[k]))
                    return true;
            }
    }
    return false;
}

static PNode *replace_rows(const Rows *rows, PNode *n) {
    for (int i = 0; i < n->nchild; i++) n->child[i] = replace_rows(rows, n->child[i]);
    for (int i = 0; i < rows->at.n; i++)
        if (rows->at.at[i].outer == n) return rows->at.at[i].inner;
    return n;
}

static void join_rows(Plan *p) {
    Rows rows = {.p = p};
    find_rows(&rows, p->root);
    if (!rows.some) return;
    for (int i = 0; i < rows.at.n; i++) { // repeatedly drops rows without neighbours
        if (!joins_alone(&rows, &rows.at.at[i])) continue;
        rows.at.at[i] = rows.at.at[--rows.at.n];
        i = -1;
    }
    // If no row shares elements in the end, collapsing was refused for another reason.
    rows.some = false;
    for (int i = 0; i < rows.at.n; i++) rows.some |= rows.at.at[i].repeats;
    if (!rows.some) return;
    p->root = replace_rows(&rows, p->root);
    for (int i = 0; i < rows.at.n; i++) join_now(p, &rows.at.at[i]);
}

void plan_collapse(Plan *p) {
    if (p->tree->prefetches.n) return; // prefetches refer to loops by name
    p->root = join(p, p->root);
    join_rows(p);
}
