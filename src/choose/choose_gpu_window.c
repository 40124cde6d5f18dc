// Convolutions: sums of products that are no contractions.
#include "base/checked.h"
#include "choose/choose_gpu_impl.h"

enum { WINDOW_COPIES = 512 }; // of the innermost statement, by unrolled loops

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
    enum { ALONG = 4, ACROSS = 7 };
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
        if (in_y && !in_x && divisor(s, k, ALONG) > 1) v->a = k;
        if (in_x && !in_y && divisor(s, k, ACROSS) > 1) v->b = k;
    }
    v->ta = v->a < 0 ? 1 : divisor(s, v->a, ALONG);
    v->tb = v->b < 0 ? 1 : divisor(s, v->b, ACROSS);
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

enum { CHANNELS = 8, IMAGES = 4, MOST_BYTES = 64 << 10 };

static bool find_staged(const Stmt *s, const GpuWindow *v, Staged *out) {
    *out = (Staged){.c = -1, .images = -1};
    if (v->a < 0 || v->b < 0) return false;
    for (int k = 0; k < s->niters; k++) {
        int64_t n = iter_extent(&s->iter[k]);
        bool in_x = access_uses_iter(v->x, k), in_y = access_uses_iter(v->y, k);
        if (s->iter[k].reduction && in_x && in_y && n >= 2 * CHANNELS && n % CHANNELS == 0)
            out->c = k;
        if (!s->iter[k].reduction && in_x && !in_y && k != v->w && k != v->b && n % IMAGES == 0)
            out->images = k;
    }
    out->rows = iter_extent(&s->iter[v->b]) / v->tb;
    if (out->rows > 1)
        out->images = -1;
    else if (out->images >= 0)
        out->rows = IMAGES;
    int64_t groups = iter_extent(&s->iter[v->a]) / v->ta;
    out->threads = iter_extent(&s->iter[v->w]) * groups * out->rows;
    return out->c >= 0 && groups <= 64 && out->threads >= 64 && out->threads <= 512;
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
            if (k == t->c) size = CHANNELS;
            if (grid) size = k == t->images ? IMAGES : 1;
        }
        n *= size;
    }
    return n;
}

static bool try_staged(Gpu *g, const Stmt *s, const GpuWindow *v) {
    static const char *const axis[] = {"grid.x", "grid.y", "grid.z"};
    Staged t;
    int64_t blocks = 1, bytes = 0;
    int grid = 0;
    if (!find_staged(s, v, &t)) return false;
    for (int k = 0; k < s->niters; k++) {
        if (s->iter[k].reduction || k == v->a || k == v->b || k == v->w) continue;
        int64_t n = iter_extent(&s->iter[k]) / (k == t.images ? IMAGES : 1);
        if (grid++ == 3 || (grid > 1 && n > 65535)) return false;
        blocks *= n;
    }
    if (grid == 0 || blocks < g->m->processors) return false;
    const Access *both[] = {v->x, v->y};
    for (int k = 0; k < 2; k++) bytes += staged_bytes(g, s, v, both[k], &t);
    if (bytes > MOST_BYTES) return false;
    gpu_label(g, s, "");
    grid = 0;
    for (int k = 0; k < s->niters; k++) {
        if (s->iter[k].reduction || k == v->a || k == v->b || k == v->w) continue;
        gpu_loop(g, s, k, k == t.images ? IMAGES : 1, axis[grid++]);
    }
    gpu_loop(g, s, t.c, CHANNELS, NULL);
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
        bool async = both[k]->tensor < g->p->ninputs && type_info[tensor->type].bytes >= 4;
        text_printf(&g->out, "    copy %s at %s/%d place shared%s\n", tensor->name,
                    s->iter[t.c].name, CHANNELS, async ? " by async" : "");
    }
    text_printf(&g->out, "    unroll %d\n", WINDOW_COPIES);
    return true;
}

// --- Tiles of results ----------------------------------------------------------------------------

// A block computes `along` results of a times `across` rows of b, of one image, and stages some
// channels of both operands. A thread computes EACH results of a times `tb` rows of one column or,
// where x is no window, times four columns of one row.
typedef struct Tiled {
    int c, image; // iterators; image -1: none
    bool pixels;  // x is no window
    int64_t along, across, tb;
    int depth, stages;
} Tiled;

enum { EACH = 8, ROWS_OF_THREAD = 8, TILED_THREADS = 256, MOST_COLUMNS = 64 };

// The channels, and the image: the one iterator of results beside a, b and w.
static bool find_channels(const Stmt *s, const GpuWindow *v, Tiled *t) {
    int64_t most = 0;
    t->pixels = true;
    t->c = t->image = -1;
    for (int k = 0; k < s->niters; k++) {
        int64_t n = iter_extent(&s->iter[k]);
        bool in_x = access_uses_iter(v->x, k), in_y = access_uses_iter(v->y, k);
        if (s->iter[k].reduction && in_x && in_y && n > most && n % 4 == 0) t->c = k, most = n;
        if (s->iter[k].reduction || k == v->a || k == v->b || k == v->w) continue;
        if (t->image >= 0 || !in_x || in_y || n > 65535) return false;
        t->image = k;
    }
    for (int k = 0; k < s->niters; k++) t->pixels &= !s->iter[k].reduction || k == t->c;
    return t->c >= 0 && most >= 16;
}

static bool find_tiled(const Gpu *g, const Stmt *s, const GpuWindow *v, Tiled *t) {
    if (v->a < 0 || v->b < 0 || !find_channels(s, v, t)) return false;
    int64_t F = iter_extent(&s->iter[v->a]), H = iter_extent(&s->iter[v->b]);
    int64_t W = iter_extent(&s->iter[v->w]);
    t->along = F % 64 == 0 ? 64 : 32;
    t->pixels &= W % 4 == 0 && gpu_contiguous(g, s, v->x) == v->w;
    t->depth = t->pixels ? 16 : 4;
    t->stages = 3;
    t->tb = t->pixels ? 1 : divisor(s, v->b, ROWS_OF_THREAD);
    int64_t columns = t->pixels ? W / 4 : W, groups = t->along / EACH, rows = 1;
    while (rows * 2 * columns * groups <= TILED_THREADS && H % (2 * rows * t->tb) == 0) rows *= 2;
    t->across = rows * t->tb;
    int64_t threads = groups * rows * columns;
    int64_t images = t->image < 0 ? 1 : iter_extent(&s->iter[t->image]);
    return F % t->along == 0 && W <= MOST_COLUMNS && (t->pixels || t->tb >= 4) && threads >= 96 &&
           threads <= TILED_THREADS &&
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
        if (type_info[g->p->tensors.at[both[k]->tensor].type].bytes != 4) return false;
        bytes += t.stages * stage_bytes(g, s, v, both[k], &t);
    }
    if (bytes > MOST_BYTES) return false;
    gpu_label(g, s, "");
    if (t.image >= 0) gpu_loop(g, s, t.image, 1, "grid.z");
    gpu_loop(g, s, v->a, t.along, "grid.y");
    gpu_loop(g, s, v->b, t.across, "grid.x");
    gpu_loop(g, s, t.c, t.depth, NULL);
    gpu_loop(g, s, v->a, EACH, "thread.z");
    gpu_loop(g, s, v->b, t.tb, "thread.y");
    gpu_loop(g, s, v->w, t.pixels ? 4 : 1, "thread.x");
    gpu_loop(g, s, t.c, 1, NULL);
    write_reductions(g, s, t.c);
    gpu_loop(g, s, v->a, 1, NULL);
    gpu_loop(g, s, t.pixels ? v->w : v->b, 1, NULL);
    text_char(&g->out, '\n');
    for (int k = 0; k < 2; k++)
        text_printf(&g->out, "    copy %s at %s/%d place shared stages %d by async\n",
                    g->p->tensors.at[both[k]->tensor].name, s->iter[t.c].name, t.depth, t.stages);
    text_printf(&g->out, "    unroll %d\n", WINDOW_COPIES);
    return true;
}

// --- All -----------------------------------------------------------------------------------------

bool gpu_try_windows(Gpu *g, int i) {
    const Stmt *s = g->f->stmt[i].s;
    GpuWindow v;
    if (!find_window(g, i, &v)) return false;
    if (v.x->tensor != v.y->tensor && (try_staged(g, s, &v) || try_tiled(g, s, &v))) return true;
    if (gpu_iterations(s, false) / (v.ta * v.tb) < MANY_THREADS) return false;
    gpu_label(g, s, "");
    for (int k = 0; k < s->niters; k++) {
        if (s->iter[k].reduction || k == v.w) continue;
        gpu_loop(g, s, k, k == v.a ? v.ta : k == v.b ? v.tb : 1, NULL);
    }
    gpu_loop(g, s, v.w, 1, NULL);
    write_reductions(g, s, -1);
    if (v.ta > 1) gpu_loop(g, s, v.a, 1, NULL);
    if (v.tb > 1) gpu_loop(g, s, v.b, 1, NULL);
    text_printf(&g->out, "\n    unroll %d\n", WINDOW_COPIES);
    return true;
}
