// The elements that a tile of a block accesses, and the cost of moving them. The model counts
// memory lines at random alignment, as in the Stripe paper.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"

// Returns the dimension with the least stride that is not done yet, and marks it as done.
static int next_dim(int rank, const int64_t *stride, bool *done) {
    int d = -1;
    for (int k = 0; k < rank; k++)
        if (!done[k] && (d < 0 || llabs(stride[k]) < llabs(stride[d]))) d = k;
    done[d] = true;
    return d;
}

double memory_io_aligned(int rank, const int64_t *size, const int64_t *stride, int bytes,
                         int64_t line) {
    double runs = 1, run = 1;
    bool done[64] = {false};
    for (int n = 0; n < rank && n < 64; n++) {
        int d = next_dim(rank, stride, done);
        if (size[d] <= 0) return 0;
        bool joins = runs == 1 && fabs((double)stride[d]) == run;
        *(joins ? &run : &runs) *= (double)size[d];
    }
    return line > 0 ? runs * ceil(run * bytes / (double)line) : runs * run;
}

double memory_io(int rank, const int64_t *size, const int64_t *stride, int bytes, int64_t line) {
    double lines = 1, span = 0, per_line = (double)line / bytes;
    bool done[64] = {false};
    for (int n = 0; n < rank && n < 64; n++) {
        int d = next_dim(rank, stride, done);
        if (size[d] <= 0) return 0;
        double gap = fabs((double)stride[d]) - span;
        lines *= (double)size[d];
        if (line > 0 && gap < per_line) lines -= (1 - gap / per_line) * (double)(size[d] - 1);
        span += fabs((double)stride[d]) * (double)(size[d] - 1);
    }
    return lines;
}

// --- Views ---------------------------------------------------------------------------------------

typedef struct Collect {
    TileViews *v;
    int64_t *lo, *hi; // per index id: range of indices further in; 0 for all others
    VEC(TileView) views;
    const Leaf *leaf;
} Collect;

static TileView *view_of(Collect *c, int buffer) {
    for (int i = 0; i < c->views.n; i++)
        if (c->views.at[i].buffer == buffer) return &c->views.at[i];
    TileView v = {.buffer = buffer};
    vec_push(c->v->arena, &c->views, v);
    return &vec_last(&c->views);
}

static bool known(const TileView *view, const Access *a) {
    for (int i = 0; i < view->nbox; i++)
        if (view->access[i].access == a) return true;
    return false;
}

static void add_access(Collect *c, TileView *view, const Access *a) {
    const Block *b = c->v->b;
    Arena *arena = c->v->arena;
    if (known(view, a)) return;
    ViewAccess *list = arena_new_n(arena, ViewAccess, view->nbox + 1);
    if (view->nbox) memcpy(list, view->access, (size_t)view->nbox * sizeof *list);
    ViewAccess *x = &list[view->nbox++];
    view->access = list;
    x->access = a;
    x->coef = arena_new_n(arena, int64_t, a->rank * b->nindex + 1);
    x->lo = arena_new_n(arena, int64_t, a->rank);
    x->hi = arena_new_n(arena, int64_t, a->rank);
    for (int d = 0; d < a->rank; d++) {
        const Affine *sub = a->sub[d];
        if (!sub->linear) c->v->exact = false;
        for (int i = 0; i < b->nindex; i++)
            x->coef[d * b->nindex + i] = affine_coef(sub, b->index[i].id);
        // Indices of the block and of the blocks around it are 0 here.
        if (!affine_bounds(sub, c->lo, c->hi, &x->lo[d], &x->hi[d])) {
            c->v->exact = false;
            x->lo[d] = 0;
            x->hi[d] = c->v->t->buffers.at[a->tensor].size[d] - 1;
        }
    }
}

static void add_read(void *user, const Access *a, bool guarded) {
    Collect *c = user;
    TileView *v = view_of(c, a->tensor);
    (void)guarded;
    v->read = v->reads_old = true;
    add_access(c, v, a);
}

static void collect(Collect *c, const Node *node, double times) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf) {
        c->v->ops += times;
        expr_visit_accesses(leaf->value, add_read, c);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], add_read, c);
        TileView *v = view_of(c, leaf->write->tensor);
        v->written = true;
        add_access(c, v, leaf->write);
    }
    for (int i = 0; b && i < b->nindex; i++) {
        if (!b->index[i].passed) {
            c->hi[b->index[i].id] = max_i64(b->index[i].extent - 1, 0);
            times *= (double)b->index[i].extent;
            continue;
        }
        int64_t lo, hi;
        if (affine_bounds(b->index[i].passed, c->lo, c->hi, &lo, &hi)) {
            c->lo[b->index[i].id] = lo;
            c->hi[b->index[i].id] = hi;
        }
    }
    for (int i = 0; b && i < b->nchildren; i++) collect(c, b->child[i], times);
}

// A buffer that is allocated inside the block is not a view.
static bool allocated_in(const Block *b, int buffer) {
    for (int i = 0; i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return true;
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        if (c && allocated_in(c, buffer)) return true;
    }
    return false;
}

TileViews *tile_views(Arena *arena, const Tree *t, const Block *b) {
    TileViews *v = arena_new(arena, TileViews);
    *v = (TileViews){.arena = arena, .t = t, .b = b, .exact = true};
    Collect c = {.v = v};
    c.lo = arena_new_n(arena, int64_t, t->nindices + 1);
    c.hi = arena_new_n(arena, int64_t, t->nindices + 1);
    for (int i = 0; i < b->nchildren; i++) collect(&c, b->child[i], 1);
    for (int i = 0; i < c.views.n; i++)
        if (!allocated_in(b, c.views.at[i].buffer)) c.views.at[v->n++] = c.views.at[i];
    v->at = c.views.at;
    return v;
}

// The size of the box, and the steps between the subscripts that occur in it.
static void strided_box(const TileViews *v, const TileView *view, const int64_t *tile,
                        int64_t *size, int64_t *steps) {
    const Buffer *b = &v->t->buffers.at[view->buffer];
    int n = v->b->nindex;
    for (int d = 0; d < b->rank; d++) {
        int64_t lo = INT64_MAX, hi = INT64_MIN, step = view->nbox > 1;
        for (int a = 0; a < view->nbox; a++) {
            int64_t from = view->access[a].lo[d], to = view->access[a].hi[d];
            if (to > from) step = 1;
            for (int i = 0; i < n; i++) {
                int64_t reach = view->access[a].coef[d * n + i] * (tile[i] - 1);
                step = gcd_i64(step, view->access[a].coef[d * n + i]);
                if (reach < 0)
                    from += reach;
                else
                    to += reach;
            }
            lo = min_i64(lo, from);
            hi = max_i64(hi, to);
        }
        size[d] = v->beyond ? hi - lo + 1 : min_i64(hi - lo + 1, max_i64(b->size[d], 1));
        steps[d] = max_i64(step, 1);
    }
}

void tile_box(const TileViews *v, const TileView *view, const int64_t *tile, int64_t *size) {
    int64_t steps[TREE_MAX_RANK];
    strided_box(v, view, tile, size, steps);
}

int64_t tile_bytes(const TileViews *v, const TileView *view, const int64_t *tile) {
    const Buffer *b = &v->t->buffers.at[view->buffer];
    int64_t size[TREE_MAX_RANK], steps[TREE_MAX_RANK], bytes = type_info[b->type].bytes;
    strided_box(v, view, tile, size, steps);
    for (int d = 0; d < b->rank; d++)
        if (!checked_mul(bytes, ceil_div(size[d], steps[d]), &bytes)) return INT64_MAX / 4;
    return bytes;
}

double tile_lines(const TileViews *v, const TileView *view, const int64_t *tile, int64_t line,
                  bool aligned) {
    const Buffer *b = &v->t->buffers.at[view->buffer];
    int64_t size[TREE_MAX_RANK];
    tile_box(v, view, tile, size);
    return (aligned ? memory_io_aligned : memory_io)(b->rank, size, b->stride,
                                                     type_info[b->type].bytes, line);
}

bool index_is_output(const TileViews *v, int index) {
    for (int i = 0; i < v->n; i++) {
        const TileView *view = &v->at[i];
        int rank = v->t->buffers.at[view->buffer].rank;
        for (int a = 0; view->written && a < view->nbox; a++)
            for (int d = 0; d < rank; d++)
                if (view->access[a].coef[d * v->b->nindex + index]) return true;
    }
    return false;
}

const char *tile_text(Arena *arena, const int64_t *tile, int n) {
    Text text = {.arena = arena};
    for (int i = 0; i < n; i++) text_printf(&text, "%s%lld", i ? "x" : "", (long long)tile[i]);
    return text_str(&text);
}
