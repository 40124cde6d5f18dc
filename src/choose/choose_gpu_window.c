// Convolutions: sums of products that are no contractions.
#include "base/checked.h"
#include "choose/choose_gpu_impl.h"

// The largest divisor of an iterator's extent up to `most`.
static int64_t divisor(const Stmt *s, int iter, int64_t most) {
    int64_t n = iter_extent(&s->iter[iter]);
    for (int64_t d = min_i64(most, n); d > 1; d--)
        if (n % d == 0) return d;
    return 1;
}

// A window: x has the contiguous iterator w, y has not. A thread computes `ta` results along a,
// which x lacks, and `tb` along b, which y lacks: it uses every element it loads several times.
typedef struct GpuWindow {
    const Access *x, *y;
    int w, a, b; // iterators; a, b -1: none
    int64_t ta, tb;
} GpuWindow;

static bool find_window(const Gpu *g, int i, GpuWindow *v) {
    int along = g->cost->window_along, across = g->cost->window_across;
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    const Expr *e = s->value;
    if (s->op != REDUCE_ADD || !f->reduces || s->nconstraints || s->unproven ||
        e->kind != EXPR_OP || e->op != OP_MUL)
        return false;
    const Access *x = gpu_factor(e->arg[0]), *y = gpu_factor(e->arg[1]);
    int w = gpu_contiguous(g, s, s->write);
    if (!x || !y || x->has_read || y->has_read || w < 0) return false;
    bool swapped = access_uses_iter(y, w);
    *v = (GpuWindow){.x = swapped ? y : x, .y = swapped ? x : y, .w = w, .a = -1, .b = -1};
    for (int k = 0; k < s->niters; k++) {
        if (s->iter[k].reduction || k == w) continue;
        bool in_x = access_uses_iter(v->x, k), in_y = access_uses_iter(v->y, k);
        if (in_y && !in_x && divisor(s, k, along) > 1) v->a = k;
        if (in_x && !in_y && divisor(s, k, across) > 1) v->b = k;
    }
    v->ta = v->a < 0 ? 1 : divisor(s, v->a, along);
    v->tb = v->b < 0 ? 1 : divisor(s, v->b, across);
    return v->ta * v->tb > 1;
}

static void write_reductions(Gpu *g, const Stmt *s, int but) {
    for (int k = 0; k < s->niters; k++)
        if (s->iter[k].reduction && k != but) gpu_loop(g, s, k, 1, NULL);
}

// --- With many channels --------------------------------------------------------------------------

// Channels, some at a time, of both operands in shared memory. Threads are w, groups of a, and
// parts of b or, where one part is all of b, neighbours of an iterator that only x has (images).
typedef struct Staged {
    int c;           // the channels
    int images;      // -1: none
    int64_t rows;    // threads along b, or images per block
    int64_t threads; // per block
} Staged;

static bool find_staged(const GpuCost *cost, const Stmt *s, const GpuWindow *v, Staged *out) {
    int channels = cost->staged_channels, images = cost->staged_images;
    *out = (Staged){.c = -1, .images = -1};
    if (v->a < 0 || v->b < 0) return false;
    for (int k = 0; k < s->niters; k++) {
        int64_t n = iter_extent(&s->iter[k]);
        bool in_x = access_uses_iter(v->x, k), in_y = access_uses_iter(v->y, k);
        if (s->iter[k].reduction && in_x && in_y && n >= 2 * channels && n % channels == 0)
            out->c = k;
        if (!s->iter[k].reduction && in_x && !in_y && k != v->w && k != v->b && n % images == 0)
            out->images = k;
    }
    out->rows = iter_extent(&s->iter[v->b]) / v->tb;
    if (out->rows > 1)
        out->images = -1;
    else if (out->images >= 0)
        out->rows = images;
    int64_t groups = iter_extent(&s->iter[v->a]) / v->ta;
    out->threads = iter_extent(&s->iter[v->w]) * groups * out->rows;
    return out->c >= 0 && groups <= cost->staged_groups && out->threads >= cost->staged_least &&
           out->threads <= cost->staged_most;
}

// Bytes of the part of an operand that a block has at a time.
static int64_t staged_bytes(const Gpu *g, const Stmt *s, const GpuWindow *v, const Access *x,
                            const Staged *t) {
    const Tensor *tensor = &g->p->tensors.at[x->tensor];
    int64_t n = type_info[tensor->type].bytes;
    for (int d = 0; d < x->rank; d++) {
        int64_t size = tensor_size(tensor, d);
        for (int k = 0; k < s->niters; k++) {
            if (affine_coef(x->sub[d], k) == 0) continue;
            bool grid = !s->iter[k].reduction && k != v->a && k != v->b && k != v->w;
            if (k == t->c) size = g->cost->staged_channels;
            if (grid) size = k == t->images ? g->cost->staged_images : 1;
        }
        n *= size;
    }
    return n;
}

static bool try_staged(Gpu *g, const Stmt *s, const GpuWindow *v) {
    static const char *const axis[] = {"grid.x", "grid.y", "grid.z"};
    const GpuCost *cost = g->cost;
    Staged t;
    int64_t blocks = 1, bytes = 0;
    int grid = 0;
    if (!find_staged(cost, s, v, &t)) return false;
    for (int k = 0; k < s->niters; k++) {
        if (s->iter[k].reduction || k == v->a || k == v->b || k == v->w) continue;
        int64_t n = iter_extent(&s->iter[k]) / (k == t.images ? cost->staged_images : 1);
        if (grid++ == 3 || (grid > 1 && n > GPU_MAX_GRID_YZ)) return false;
        blocks *= n;
    }
    if (grid == 0 || blocks < g->m->processors) return false;
    const Access *both[] = {v->x, v->y};
    for (int k = 0; k < 2; k++) bytes += staged_bytes(g, s, v, both[k], &t);
    if (bytes > g->cost->window_bytes) return false;
    gpu_label(g, s, "");
    grid = 0;
    for (int k = 0; k < s->niters; k++) {
        if (s->iter[k].reduction || k == v->a || k == v->b || k == v->w) continue;
        gpu_loop(g, s, k, k == t.images ? cost->staged_images : 1, axis[grid++]);
    }
    gpu_loop(g, s, t.c, cost->staged_channels, NULL);
    gpu_loop(g, s, v->a, v->ta, "thread.z");
    if (t.images >= 0)
        gpu_loop(g, s, t.images, 1, "thread.y");
    else if (t.rows > 1)
        gpu_loop(g, s, v->b, v->tb, "thread.y");
    gpu_loop(g, s, v->w, 1, "thread.x");
    gpu_loop(g, s, t.c, 1, NULL);
    write_reductions(g, s, t.c);
    gpu_loop(g, s, v->a, 1, NULL);
    gpu_loop(g, s, v->b, 1, NULL);
    text_char(&g->out, '\n');
    for (int k = 0; k < 2; k++) {
        const Tensor *tensor = &g->p->tensors.at[both[k]->tensor];
        bool async = both[k]->tensor < g->p->ninputs && type_info[tensor->type].bytes >= GPU_WORD;
        text_printf(&g->out, "    copy %s at %s/%d place shared%s\n", tensor->name,
                    s->iter[t.c].name, cost->staged_channels, async ? " by async" : "");
    }
    text_printf(&g->out, "    unroll %d\n", g->cost->window_copies);
    return true;
}

// --- Tiles of results ----------------------------------------------------------------------------

// A block computes `along` results of a times `across` rows of b, of one image, and stages some
// channels of both operands. A thread computes several results of a times `tb` rows of one column
// or, where x is no window, times a vector of columns of one row.
typedef struct Tiled {
    int c, image; // iterators; image -1: none
    bool pixels;  // x is not a window
    int64_t along, across, tb;
    int depth, stages;
} Tiled;

// The channels, and the image: the one iterator of results beside a, b and w.
static bool find_channels(const GpuCost *cost, const Stmt *s, const GpuWindow *v, Tiled *t) {
    int64_t most = 0;
    t->pixels = true;
    t->c = t->image = -1;
    for (int k = 0; k < s->niters; k++) {
        int64_t n = iter_extent(&s->iter[k]);
        bool in_x = access_uses_iter(v->x, k), in_y = access_uses_iter(v->y, k);
        if (s->iter[k].reduction && in_x && in_y && n > most && n % cost->tiled_depth == 0)
            t->c = k, most = n;
        if (s->iter[k].reduction || k == v->a || k == v->b || k == v->w) continue;
        if (t->image >= 0 || !in_x || in_y || n > GPU_MAX_GRID_YZ) return false;
        t->image = k;
    }
    for (int k = 0; k < s->niters; k++) t->pixels &= !s->iter[k].reduction || k == t->c;
    return t->c >= 0 && most >= cost->tiled_channels;
}

static bool find_tiled(const Gpu *g, const Stmt *s, const GpuWindow *v, Tiled *t) {
    const GpuCost *cost = g->cost;
    if (v->a < 0 || v->b < 0 || !find_channels(cost, s, v, t)) return false;
    int64_t F = iter_extent(&s->iter[v->a]), H = iter_extent(&s->iter[v->b]);
    int64_t W = iter_extent(&s->iter[v->w]);
    t->along = F % cost->tiled_along == 0 ? cost->tiled_along : cost->tiled_along_ragged;
    t->pixels &= W % GPU_VECTOR == 0 && gpu_contiguous(g, s, v->x) == v->w;
    t->depth = t->pixels ? cost->tiled_depth_pixels : cost->tiled_depth;
    t->stages = cost->tiled_stages;
    t->tb = t->pixels ? 1 : divisor(s, v->b, cost->tiled_rows);
    int64_t columns = t->pixels ? W / GPU_VECTOR : W, groups = t->along / cost->tiled_each;
    int64_t rows = 1;
    while (rows * 2 * columns * groups <= cost->tiled_most && H % (2 * rows * t->tb) == 0)
        rows *= 2;
    t->across = rows * t->tb;
    int64_t threads = groups * rows * columns;
    int64_t images = t->image < 0 ? 1 : iter_extent(&s->iter[t->image]);
    return F % t->along == 0 && W <= cost->tiled_columns &&
           (t->pixels || t->tb >= cost->tiled_rows_least) && threads >= cost->tiled_least &&
           threads <= cost->tiled_most &&
           images * (F / t->along) * (H / t->across) >= g->m->processors;
}

// Bytes of the part of an operand that a stage has.
static int64_t stage_bytes(const Gpu *g, const Stmt *s, const GpuWindow *v, const Access *x,
                           const Tiled *t) {
    const Tensor *tensor = &g->p->tensors.at[x->tensor];
    int64_t n = type_info[tensor->type].bytes;
    for (int d = 0; d < x->rank; d++) {
        int64_t size = tensor_size(tensor, d), rows = affine_coef(x->sub[d], v->b);
        if (affine_coef(x->sub[d], t->c)) size = t->depth;
        if (affine_coef(x->sub[d], v->a)) size = t->along;
        if (t->image >= 0 && affine_coef(x->sub[d], t->image)) size = 1;
        n *= max_i64(size - rows * (iter_extent(&s->iter[v->b]) - t->across), 1);
    }
    return n;
}

static bool try_tiled(Gpu *g, const Stmt *s, const GpuWindow *v) {
    const Access *both[] = {v->x, v->y};
    int64_t bytes = 0;
    Tiled t;
    if (!find_tiled(g, s, v, &t)) return false;
    for (int k = 0; k < 2; k++) {
        if (type_info[g->p->tensors.at[both[k]->tensor].type].bytes != GPU_WORD) return false;
        bytes += t.stages * stage_bytes(g, s, v, both[k], &t);
    }
    if (bytes > g->cost->window_bytes) return false;
    gpu_label(g, s, "");
    if (t.image >= 0) gpu_loop(g, s, t.image, 1, "grid.z");
    gpu_loop(g, s, v->a, t.along, "grid.y");
    gpu_loop(g, s, v->b, t.across, "grid.x");
    gpu_loop(g, s, t.c, t.depth, NULL);
    gpu_loop(g, s, v->a, g->cost->tiled_each, "thread.z");
    gpu_loop(g, s, v->b, t.tb, "thread.y");
    gpu_loop(g, s, v->w, t.pixels ? GPU_VECTOR : 1, "thread.x");
    gpu_loop(g, s, t.c, 1, NULL);
    write_reductions(g, s, t.c);
    gpu_loop(g, s, v->a, 1, NULL);
    gpu_loop(g, s, t.pixels ? v->w : v->b, 1, NULL);
    text_char(&g->out, '\n');
    for (int k = 0; k < 2; k++)
        text_printf(&g->out, "    copy %s at %s/%d place shared stages %d by async\n",
                    g->p->tensors.at[both[k]->tensor].name, s->iter[t.c].name, t.depth, t.stages);
    text_printf(&g->out, "    unroll %d\n", g->cost->window_copies);
    return true;
}

// --- All -----------------------------------------------------------------------------------------

bool gpu_try_windows(Gpu *g, int i) {
    const Stmt *s = g->f->stmt[i].s;
    GpuWindow v;
    if (!find_window(g, i, &v)) return false;
    if (v.x->tensor != v.y->tensor && (try_staged(g, s, &v) || try_tiled(g, s, &v))) return true;
    if (gpu_iterations(s, false) / (v.ta * v.tb) < g->cost->many_threads) return false;
    gpu_label(g, s, "");
    for (int k = 0; k < s->niters; k++) {
        if (s->iter[k].reduction || k == v.w) continue;
        gpu_loop(g, s, k, k == v.a ? v.ta : k == v.b ? v.tb : 1, NULL);
    }
    gpu_loop(g, s, v.w, 1, NULL);
    write_reductions(g, s, -1);
    if (v.ta > 1) gpu_loop(g, s, v.a, 1, NULL);
    if (v.tb > 1) gpu_loop(g, s, v.b, 1, NULL);
    text_printf(&g->out, "\n    unroll %d\n", g->cost->window_copies);
    return true;
}
