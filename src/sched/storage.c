// Temporaries: the block that allocates each, and how much of it must exist there.
//
// LoopTool's rule. A temporary is allocated in the lowest block that contains every leaf that
// accesses it and that lies outside the reduction loops over which it accumulates. The indices at
// or above that block contribute the same to every subscript and are subtracted; the loops below
// determine the size:
//
//     for m/64: for m: T[64*m' + m] = ...        T at m/64: base 64*m', size 64
//
// Where accesses disagree, or a division mixes both kinds of indices, the dimension is kept whole.
// A temporary of steps keeps as many of them as are alive at the same time (fold.c).
#include "base/bug.h"
#include "base/checked.h"
#include "sched/lower.h"

static TreeItem *common(TreeItem *a, TreeItem *b) {
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    }
    return a;
}

bool item_encloses(const TreeItem *outer, const TreeItem *item) {
    while (item->depth > outer->depth) item = item->parent;
    return item == outer;
}

// --- Which part of a tensor, where -------------------------------------------------------------

static int store_of(const Lower *l, const Inst *inst, int tensor) {
    for (int i = 0; i < inst->stores.n; i++)
        if (inst->stores.at[i].tensor == tensor) return inst->stores.at[i].store;
    return l->store_of[tensor];
}

static bool is_argument(const Lower *l, int tensor) {
    return tensor < l->p->ninputs + l->p->noutputs;
}

static TreeItem *block_of(TreeItem *item) { // guards may move later: allocate at loops
    while (item->what != ITEM_LOOP && item->parent) item = item->parent;
    return item;
}

// Does access a of statement s, at serial iterator i, touch elements that access b of statement t
// touches in other steps?
static bool crosses(const Lower *l, const Stmt *s, const Access *a, const Stmt *t, const Access *b,
                    int i) {
    return a->tensor == b->tensor && !same_iteration(l->arena, s, a, i, t, b, i, 0);
}

// The outermost serial iterator of the statement along which elements keep their value from step to
// step; its number of serial iterators: there is none.
static int carried_by(const Lower *l, int stmt, const Access *a) {
    const Stmt *s = l->info[stmt].s;
    int least = s->serial;
    if (!s->serial) return 0;
    for (int k = group_first(l->p, stmt); k < group_end(l->p, stmt); k++) {
        const StmtFacts *f = l->info[k].facts;
        int common = k < stmt ? stmts_common(l->p, k, stmt) : stmts_common(l->p, stmt, k);
        for (int i = 0; i < common && i < least; i++) {
            bool carried = crosses(l, s, a, f->s, f->s->write, i);
            for (int r = 0; r < f->nreads && !carried && a == s->write; r++)
                carried = crosses(l, s, a, f->s, f->read[r], i);
            if (carried) least = i;
        }
    }
    return least;
}

static bool written_in_steps(const Lower *l, int stmt, int tensor) {
    bool written = false;
    for (int k = group_first(l->p, stmt); k < group_end(l->p, stmt); k++)
        written |= l->info[k].s->write->tensor == tensor;
    return written;
}

// The block around a leaf, or around the loops that initialise a whole tensor.
static TreeItem *block_around(const TreeItem *leaf, const Access *a) {
    TreeItem *item = leaf->parent;
    for (int d = 0; leaf->whole && d < a->rank; d++) item = item->parent;
    return block_of(item);
}

static void touch(Lower *l, const TreeItem *leaf, const Access *a) {
    if (is_argument(l, a->tensor)) return;
    Store *st = &l->store.at[store_of(l, leaf->inst, a->tensor)];
    TreeItem *at = block_around(leaf, a);
    int steps = carried_by(l, leaf->inst->stmt, a);
    if (leaf->inst->info->moved && written_in_steps(l, leaf->inst->stmt, a->tensor)) steps = 0;
    if (!leaf->inst->reader && steps < leaf->inst->info->s->serial)
        at = common(at, block_of(leaf->inst->loop[steps]->parent));
    if (a == leaf->inst->info->s->write && leaf->role != LEAF_INIT &&
        leaf->inst->info->s->op != REDUCE_ASSIGN) {
        const StmtPlan *plan = &leaf->inst->plan; // it accumulates over these loops
        if (plan->first_reduction < plan->n)
            at = common(at, block_of(leaf->inst->loop[plan->first_reduction]->parent));
    }
    st->at = st->at ? common(st->at, at) : at;
}

// --- How much ----------------------------------------------------------------------------------

// Bits for the atoms inside: 1 an index above the block, 2 one below, 4 a read.
static int scope(const Lower *l, const TreeItem *at, const Affine *a) {
    int seen = 0;
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind == ATOM_ITER)
            seen |= item_encloses(l->item_of_index.at[atom->index], at) ? 1 : 2;
        else if (atom->kind == ATOM_READ)
            seen |= 4;
        else
            seen |= scope(l, at, atom->a) | scope(l, at, atom->b);
    }
    return seen;
}

SubPart storage_divide(const Lower *l, const TreeItem *at, const Affine *sub) {
    Term outer[AFFINE_MAX_TERMS], inner[AFFINE_MAX_TERMS];
    int no = 0, ni = 0;
    SubPart p = {0};
    for (int i = 0; i < sub->n; i++) {
        const Affine *alone = affine_make(l->x, 0, &sub->term[i], 1);
        int seen = scope(l, at, alone);
        if (seen <= 1)
            outer[no++] = sub->term[i];
        else if (seen == 2)
            inner[ni++] = sub->term[i];
        else
            p.whole = true;
    }
    p.outer = affine_make(l->x, 0, outer, no);
    const Affine *rest = affine_make(l->x, sub->constant, inner, ni);
    if (!affine_bounds(rest, l->lo.at, l->hi.at, &p.min, &p.max)) p.whole = true;
    return p;
}

// Is the subscript compared with the size of the tensor at run time? The buffer then needs that
// size.
static bool is_checked(const Lower *l, const Stmt *s, const Access *a, int d, const Affine *sub) {
    const Tensor *t = &l->p->tensors.at[a->tensor];
    int64_t min, max;
    if (s->unchecked || !(s->unproven || sub->has_read)) return false;
    return !affine_bounds(sub, l->lo.at, l->hi.at, &min, &max) || min < tensor_origin(t, d) ||
           max >= tensor_origin(t, d) + tensor_size(t, d);
}

// An initialisation of the whole tensor, also where the statement itself never runs.
static void cover_whole(Lower *l, SubPart *all) {
    if (!all->outer) all->outer = affine_const(l->x, 0);
    all->whole = all->spread = true;
}

static void cover(Lower *l, const TreeItem *leaf, const Access *a) {
    if (is_argument(l, a->tensor)) return;
    Store *st = &l->store.at[store_of(l, leaf->inst, a->tensor)];
    for (int d = 0; d < a->rank && leaf->whole; d++) cover_whole(l, &st->part[d]);
    for (int d = 0; d < a->rank && !leaf->whole; d++) {
        const Affine *sub = affine_substitute(l->x, a->sub[d], leaf->iter, NULL);
        SubPart p = storage_divide(l, st->at, sub);
        SubPart *all = &st->part[d];
        bool checked = is_checked(l, leaf->inst->info->s, a, d, sub) || all->checked;
        p.whole |= checked;
        if (!all->outer)
            *all = p;
        else if (p.outer != all->outer || p.whole)
            all->whole = true;
        all->min = min_i64(all->min, p.min);
        all->max = max_i64(all->max, p.max);
        all->checked = checked;
        all->spread |= !fold_subscript(l, a->tensor, d, sub);
    }
}

static void every_access(Lower *l, void (*fn)(Lower *, const TreeItem *, const Access *)) {
    for (int i = 0; i < l->leaf.n; i++) {
        const TreeItem *leaf = l->leaf.at[i];
        fn(l, leaf, leaf->inst->info->s->write);
        for (int r = 0; leaf->role != LEAF_INIT && r < leaf->inst->info->facts->nreads; r++)
            fn(l, leaf, leaf->inst->info->facts->read[r]);
    }
}

static void size_up(Lower *l, Store *st) {
    const Tensor *t = &l->p->tensors.at[st->tensor];
    st->base = arena_new_n(l->arena, const Affine *, t->rank);
    st->size = arena_new_n(l->arena, int64_t, t->rank);
    for (int d = 0; d < t->rank; d++) {
        const SubPart *p = &st->part[d];
        if (l->fold[st->tensor].keep && l->fold[st->tensor].dim == d && !p->spread) {
            st->folded = d;
            st->base[d] = affine_const(l->x, 0);
            st->size[d] = l->fold[st->tensor].keep;
        } else if (!p->whole && p->max - p->min + 1 < tensor_size(t, d)) {
            st->base[d] = affine_add_const(l->x, p->outer, p->min);
            st->size[d] = p->max - p->min + 1;
        } else {
            st->base[d] = t->origin[d];
            st->size[d] = tensor_size(t, d);
        }
    }
}

// --- Layout ------------------------------------------------------------------------------------

// The dimension that a layout names, by number or by the iterator in its subscript.
static int dim_named(const Store *st, int rank, Name name) {
    if (name[0] >= '0' && name[0] <= '9') {
        int d = name[0] - '0';
        if (name[1] >= '0' && name[1] <= '9' && !name[2]) d = 10 * d + name[1] - '0';
        return d < rank ? d : -1;
    }
    const Stmt *s = st->named->s;
    for (int d = 0; d < rank; d++) {
        const Affine *sub = s->write->sub[d];
        for (int i = 0; i < s->niters; i++)
            if (s->iter[i].name == name && affine_coef(sub, i)) return d;
    }
    return -1;
}

// Dimensions that the layout omits vary slowest; positions inside blocks that it omits vary
// fastest.
static void lay_out(Lower *l, Store *st) {
    const Tensor *t = &l->p->tensors.at[st->tensor];
    const Storage *how = st->storage;
    int n = how ? how->ndims : 0, named[2 * PROGRAM_MAX_RANK];
    StoreDim *dim = arena_new_n(l->arena, StoreDim, n + t->rank);
    int64_t left[PROGRAM_MAX_RANK];
    bool seen[PROGRAM_MAX_RANK] = {false};
    for (int i = 0; i < n; i++) {
        named[i] = dim_named(st, t->rank, how->dim[i].dim);
        if (named[i] < 0) {
            Diag *d = diag_report(l->diags, how->dim[i].range, DIAG_SCHEDULE_UNKNOWN_DIMENSION,
                                  how->dim[i].dim, t->name);
            suggest_iter(l->diags, d, how->dim[i].dim, st->named->s);
            l->failed = true;
            return;
        }
        seen[named[i]] = true;
    }
    for (int d = 0; d < t->rank; d++) {
        left[d] = seen[d] ? st->size[d] : 1;
        if (!seen[d]) dim[st->ndims++] = (StoreDim){d, 1, st->size[d]};
    }
    for (int i = 0; i < n; i++) {
        int d = named[i];
        int64_t block = min_i64(how->dim[i].block, max_i64(left[d], 1));
        dim[st->ndims++] = (StoreDim){d, block, left[d]};
        left[d] = block;
    }
    for (int d = 0; d < t->rank; d++)
        if (left[d] > 1) dim[st->ndims++] = (StoreDim){d, 1, left[d]};
    st->dim = dim;
}

static int64_t row_major(Lower *l, const int64_t *size, int64_t *stride, int rank) {
    int64_t n = 1;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = n;
        if (!checked_mul(n, max_i64(size[d], 1), &n)) {
            if (!l->failed) diag_report(l->diags, (Range){0}, DIAG_SCHEDULE_OVERFLOW);
            l->failed = true;
            n = 1;
        }
    }
    return n;
}

// Reports a memory that is too small for the buffer.
static void check_place(Lower *l, const Store *st, int64_t elements) {
    enum { REGISTERS = 32 * 64 };
    const Tensor *t = &l->p->tensors.at[st->tensor];
    BufferHome home = st->storage ? st->storage->home : HOME_AUTO;
    int64_t bytes = 0, most = home == HOME_REGISTER ? REGISTERS : TREE_MAX_STACK;
    if ((home != HOME_REGISTER && home != HOME_STACK) ||
        (checked_mul(elements, type_info[t->type].bytes, &bytes) && bytes <= most))
        return;
    const char *who = home == HOME_REGISTER ? "registers hold" : "the stack holds";
    diag_report(l->diags, st->storage->place, DIAG_SCHEDULE_PLACE, t->name, (long long)bytes, who,
                (int)most);
    l->failed = true;
}

static void make_buffer(Lower *l, Store *st) {
    const Tensor *t = &l->p->tensors.at[st->tensor];
    size_up(l, st);
    lay_out(l, st);
    if (l->failed) return;
    int64_t *size = arena_new_n(l->arena, int64_t, st->ndims);
    int64_t *stride = arena_new_n(l->arena, int64_t, st->ndims);
    for (int i = 0; i < st->ndims; i++) size[i] = ceil_div(st->dim[i].left, st->dim[i].block);
    check_place(l, st, row_major(l, size, stride, st->ndims));
    const Storage *how = st->storage;
    Buffer b = {.name = t->name,
                .type = t->type,
                .home = how && how->home != HOME_ARGUMENT ? how->home : HOME_AUTO,
                .tensor = st->tensor,
                .rank = st->ndims,
                .size = size,
                .stride = stride,
                .align = how ? how->align : 0,
                .swizzle = how ? how->swizzle : 0,
                .stages = how ? how->stages : 0,
                .async = how && how->async,
                .bank_dim = -1};
    st->buffer = tree_buffer(l->tree, &b);
    vec_push(l->arena, &st->at->alloc, st->buffer);
}

static void argument_buffers(Lower *l) {
    for (int i = 0; i < l->p->ninputs + l->p->noutputs; i++) {
        const Tensor *t = &l->p->tensors.at[i];
        int64_t size[PROGRAM_MAX_RANK], stride[PROGRAM_MAX_RANK];
        for (int d = 0; d < t->rank; d++) size[d] = tensor_size(t, d);
        row_major(l, size, stride, t->rank);
        Buffer b = {.name = t->name,
                    .type = t->type,
                    .home = HOME_ARGUMENT,
                    .tensor = i,
                    .rank = t->rank,
                    .size = size,
                    .stride = stride,
                    .of_view = l->flat.last ? l->flat.last[i] : NULL,
                    .bank_dim = -1};
        tree_buffer(l->tree, &b);
    }
    l->tree->nargs = l->p->ninputs + l->p->noutputs;
}

int storage_new(Lower *l, int tensor, const Storage *storage, const StmtInfo *named) {
    Store st = {.tensor = tensor, .storage = storage, .named = named, .folded = -1, .buffer = -1};
    st.part = arena_new_n(l->arena, SubPart, l->p->tensors.at[tensor].rank);
    vec_push(l->arena, &l->store, st);
    return l->store.n - 1;
}

void storage_assign(Lower *l) {
    argument_buffers(l);
    every_access(l, touch);
    every_access(l, cover);
    for (int i = 0; i < l->store.n && !l->failed; i++)
        if (l->store.at[i].at) make_buffer(l, &l->store.at[i]);
}

// --- Accesses ----------------------------------------------------------------------------------

// x / k and x % k, without a division where x is k·a + b and the range of b is below k.
static const Affine *quotient(Lower *l, const Affine *x, int64_t k, const Affine **rest) {
    Term many[AFFINE_MAX_TERMS], few[AFFINE_MAX_TERMS];
    int nm = 0, nf = 0;
    for (int i = 0; i < x->n; i++) {
        if (x->term[i].coef % k == 0)
            many[nm++] = (Term){x->term[i].atom, x->term[i].coef / k};
        else
            few[nf++] = x->term[i];
    }
    const Affine *r = affine_make(l->x, x->constant, few, nf);
    int64_t min, max;
    if (affine_bounds(r, l->lo.at, l->hi.at, &min, &max) &&
        floor_div(min, k) == floor_div(max, k)) {
        int64_t q = floor_div(min, k);
        *rest = affine_add_const(l->x, r, -q * k);
        return affine_make(l->x, q, many, nm);
    }
    *rest = affine_mod(l->x, x, affine_const(l->x, k));
    return affine_div(l->x, x, affine_const(l->x, k));
}

// Blocks that do not divide a dimension leave padding behind its last element. A data-dependent
// subscript must not reach it: from `size` on, its block number is one that the buffer lacks.
static const Affine *checked_block(Lower *l, const Affine *x, const Affine *q, int64_t size,
                                   int64_t block) {
    int64_t blocks = ceil_div(size, block);
    if (!x->has_read || blocks * block == size) return q;
    return affine_max(l->x, q, affine_add_const(l->x, x, blocks - size));
}

const Access *storage_access(Lower *l, const Inst *inst, const Access *a) {
    const Affine *sub[TREE_MAX_RANK], *left[PROGRAM_MAX_RANK];
    const Tensor *t = &l->p->tensors.at[a->tensor];
    bool argument = is_argument(l, a->tensor);
    const Store *st = argument ? NULL : &l->store.at[store_of(l, inst, a->tensor)];
    for (int d = 0; d < a->rank; d++)
        left[d] = st && st->folded == d
                      ? fold_subscript(l, a->tensor, d, a->sub[d])
                      : affine_sub(l->x, a->sub[d], argument ? t->origin[d] : st->base[d]);
    if (argument) return access_make(l->x, a->tensor, a->rank, left);
    for (int i = 0; i < st->ndims; i++) {
        int d = st->dim[i].dim;
        const Affine *x = left[d];
        if (st->dim[i].block == 1)
            sub[i] = x, left[d] = affine_const(l->x, 0);
        else
            sub[i] = quotient(l, x, st->dim[i].block, &left[d]);
        if (st->dim[i].left == st->size[d])
            sub[i] = checked_block(l, x, sub[i], st->size[d], st->dim[i].block);
    }
    return access_make(l->x, st->buffer, st->ndims, sub);
}

int storage_buffer(const Lower *l, const Inst *inst, int tensor) {
    return is_argument(l, tensor) ? tensor : l->store.at[store_of(l, inst, tensor)].buffer;
}
