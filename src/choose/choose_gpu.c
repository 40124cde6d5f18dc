// A Schedule for GPUs without search. Each statement gets one of a few structures:
//
//   contraction   C[m, n] += A[m, k]*B[k, n]: blocks compute tiles of the result, staged through
//                 shared memory by asynchronous copies; threads keep a part of the tile in
//                 registers. Where tiles are few, groups of warps divide each staged tile along k.
//   small         many small products: a block has both operands of one in shared memory
//   rows          a reduction along contiguous elements: one block per row; statements that follow
//                 on the same rows run in the same blocks
//   partial sums  reductions into few elements: partial results first (`privatise`), then their sum
//   volumes       few sums over several dimensions: a block per result, whose threads divide two
//   columns       short rows of sums: a block per row, whose threads divide the sums
//   windows       other sums of products (convolutions): each thread computes a few results; where
//                 there are many channels, some at a time are staged through shared memory
//   layers        small products of the rows of products: one block per row computes all of them
//   scores        products of reduced rows of products (attention): one block has all scores of a
//                 few rows in shared memory
//   transposition tiles through shared memory
//   gathers       rows of tables that indices choose: each thread loads from several rows at once
//   the rest      the order of the program with the contiguous iterator innermost and no marks: the
//                 mapping divides independent iterations among threads (code/gpu)
//
// Element-wise statements that follow a contraction become its post-operations.
#include "choose/choose_gpu.h"

#include "base/checked.h"
#include "choose/choose_gpu_impl.h"
#include "sched/flatten.h"

#include <stdio.h>
#include <string.h>

// --- Strides -------------------------------------------------------------------------------------

// Elements between neighbours along the iterator; -1: not linear.
static int64_t step_of(const Gpu *g, const Access *a, int iter) {
    const Tensor *t = &g->p->tensors.at[a->tensor];
    int64_t sum = 0, dense = 1;
    bool given = a->tensor < g->p->ninputs + g->p->noutputs && g->stride && g->stride[a->tensor];
    for (int d = a->rank - 1; d >= 0; d--) {
        int64_t step = given ? g->stride[a->tensor][d] : dense;
        if (affine_uses_iter(a->sub[d], iter) && !a->sub[d]->linear) return -1;
        sum += affine_coef(a->sub[d], iter) * step;
        dense *= max_i64(tensor_size(t, d), 1);
    }
    return sum;
}

int gpu_contiguous(const Gpu *g, const Stmt *s, const Access *a) {
    for (int i = s->niters - 1; i >= 0; i--)
        if (iter_extent(&s->iter[i]) > 1 && step_of(g, a, i) == 1) return i;
    return -1;
}

static bool is_simple(const Access *a) {
    for (int d = 0; d < a->rank; d++) {
        if (!a->sub[d]->linear || a->sub[d]->n > 1) return false;
        if (a->sub[d]->n == 1 && a->sub[d]->term[0].coef != 1) return false;
    }
    return true;
}

// --- Writing -------------------------------------------------------------------------------------

void gpu_loop(Gpu *g, const Stmt *s, int iter, int64_t step, const char *mark) {
    text_char(&g->out, ' ');
    name_print(&g->out, s->iter[iter].name);
    if (step > 1) text_printf(&g->out, "/%lld", (long long)step);
    if (mark) text_printf(&g->out, ":%s", mark);
}

void gpu_label(Gpu *g, const Stmt *s, const char *suffix) {
    text_printf(&g->out, "%s%s:", s->label, suffix);
}

static bool has_word_names(const Program *p) {
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        for (int k = 0; k < s->niters; k++)
            for (const char *c = s->iter[k].name; *c; c++)
                if (!(*c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                      (*c >= 'A' && *c <= 'Z')))
                    return false;
    }
    return true;
}

// --- Contractions --------------------------------------------------------------------------------

const Access *gpu_factor(const Expr *e) {
    while (e->kind == EXPR_OP && e->op == OP_CAST) e = e->arg[0];
    return e->kind == EXPR_READ ? e->access : NULL;
}

bool gpu_product(const Gpu *g, const Stmt *s, Contraction *c) {
    const Expr *e = s->value;
    *c = (Contraction){.m = -1, .n = -1, .k = -1, .type = e->type};
    if (s->op != REDUCE_ADD || s->nconstraints || s->unproven || e->kind != EXPR_OP ||
        e->op != OP_MUL || !type_is_float(e->type))
        return false;
    const Access *x = gpu_factor(e->arg[0]), *y = gpu_factor(e->arg[1]);
    if (!x || !y || x->tensor == y->tensor || !is_simple(x) || !is_simple(y) ||
        !is_simple(s->write))
        return false;
    c->n = gpu_contiguous(g, s, s->write);
    if (c->n < 0 || access_uses_iter(x, c->n) == access_uses_iter(y, c->n)) return false;
    c->b = access_uses_iter(x, c->n) ? x : y;
    c->a = c->b == x ? y : x;
    for (int i = 0; i < s->niters; i++) {
        int64_t extent = iter_extent(&s->iter[i]);
        bool in_a = access_uses_iter(c->a, i), in_b = access_uses_iter(c->b, i);
        if (s->iter[i].reduction && in_a && in_b && extent > c->K) c->k = i, c->K = extent;
        if (!s->iter[i].reduction && in_a && !in_b && extent > c->M) c->m = i, c->M = extent;
    }
    c->N = iter_extent(&s->iter[c->n]);
    return c->m >= 0 && c->k >= 0;
}

static bool find_contraction(const Gpu *g, const Stmt *s, Contraction *c) {
    if (!gpu_product(g, s, c)) return false;
    // Tails of a small tile cost more than its copies save.
    int64_t least = g->cost->tile_least, most = g->cost->ragged_least;
    bool ragged = (c->M < most && c->M % least) || (c->N < most && c->N % least);
    return c->M >= least && c->N >= least && c->K >= least && !ragged;
}

static int64_t blocks_of(const GpuTile *t, const Contraction *c, int64_t batch) {
    return ceil_div(c->M, t->bm) * ceil_div(c->N, t->bn) * batch;
}

static bool is_no_larger(const GpuTile *t, const Contraction *c) {
    return t->bm < 2 * c->M && t->bn < 2 * c->N;
}

// Results of the processor that has the most.
static int64_t most_results(const Gpu *g, const GpuTile *t, const Contraction *c, int64_t batch) {
    return ceil_div(blocks_of(t, c, batch), g->m->processors) * t->bm * t->bn;
}

// A tile, or another one of which the busiest processor has clearly less: of 777 x 333 results, 18
// of 132 processors have two tiles of 32 x 64, and none has more than one of 80 x 32.
static const GpuTile *evener_tile(const Gpu *g, const GpuTile *t, const Contraction *c,
                                  int64_t batch) {
    const GpuTile *even = &gpu_tile[GPU_TILE_EVEN];
    int64_t gain = most_results(g, t, c, batch) - most_results(g, even, c, batch);
    return t->tm * t->tn <= g->cost->small_results && even->bm < c->M && even->bn < c->N &&
                   c->K >= g->cost->even_steps &&
                   gain * g->cost->even_gain > most_results(g, t, c, batch)
               ? even
               : t;
}

static const GpuTile *pick_tile(const Gpu *g, const Contraction *c, int64_t batch, bool along_k) {
    const GpuCost *cost = g->cost;
    bool wide = type_info[c->type].bytes > GPU_WORD; // of two registers each
    const GpuTile *widest = &gpu_tile[GPU_TILE_WIDEST], *last = &gpu_tile[GPU_TILE_SMALLEST];
    if (!wide && !along_k && c->K >= cost->long_sum && is_no_larger(widest, c) &&
        blocks_of(widest, c, batch) >= cost->widest_blocks * g->m->processors)
        return widest;
    const GpuTile *first = &gpu_tile[wide      ? GPU_TILE_SQUARE
                                     : along_k ? GPU_TILE_WIDE
                                               : GPU_TILE_LARGE];
    for (const GpuTile *t = first; t <= last; t++)
        if (is_no_larger(t, c) &&
            blocks_of(t, c, batch) >= g->m->processors - cost->idle_processors)
            return wide || along_k ? t : evener_tile(g, t, c, batch);
    for (const GpuTile *t = last; t > &gpu_tile[GPU_TILE_LARGE]; t--) // too few for all processors
        if (blocks_of(t, c, batch) * cost->few_blocks >= g->m->processors) return t;
    bool few = blocks_of(last, c, batch) * cost->tiny_blocks < g->m->processors &&
               c->K >= cost->tiny_steps;
    return few && along_k ? &gpu_tile[GPU_TILE_TINY] : last;
}

// Groups of threads that divide k: a processor with few threads waits for its loads.
static int groups_of(const Gpu *g, const GpuTile *t, const Contraction *c, int64_t blocks,
                     bool along_k) {
    const GpuCost *cost = g->cost;
    bool roomy = along_k && t->tm * t->tn == cost->dots_results;
    int most = roomy ? cost->dots_threads : cost->group_threads;
    int64_t least = cost->tile_depth * (along_k ? cost->dots_group : 1); // for half the groups each
    int threads = t->bm / t->tm * (t->bn / t->tn), groups = 1;
    if (t == &gpu_tile[GPU_TILE_EVEN]) return cost->even_groups;
    if (t == &gpu_tile[GPU_TILE_TURNED]) return cost->turned_groups;
    if (blocks > cost->full_blocks * g->m->processors - cost->full_idle &&
        threads >= cost->full_threads)
        return 1;
    int limit = threads < GPU_WARP ? cost->groups_tiny : cost->groups;
    while (groups < limit && threads * groups * 2 <= most && c->K >= groups * least) groups *= 2;
    return groups;
}

// Padding keeps rows of whole words in different banks, a swizzle those of narrower elements.
const char *gpu_swizzle_word(const Gpu *g, int tensor) {
    return type_info[g->p->tensors.at[tensor].type].bytes < GPU_WORD ? " swizzle 128" : "";
}

static void copy_line(Gpu *g, const Access *a, const Stmt *s, int k, int64_t depth, int64_t stages,
                      const char *layout) {
    const Tensor *t = &g->p->tensors.at[a->tensor];
    text_printf(&g->out, "    copy %s at %s/%lld%s place shared%s", t->name, s->iter[k].name,
                (long long)depth, layout, gpu_swizzle_word(g, a->tensor));
    if (a->tensor != s->write->tensor && type_info[t->type].bytes >= GPU_WORD) {
        if (stages > 1) text_printf(&g->out, " stages %lld", (long long)stages);
        text_add(&g->out, " by async");
    }
    text_char(&g->out, '\n');
}

// Blocks, and the loops around the product that have no part in it.
static void write_blocks(Gpu *g, const Stmt *s, const Contraction *c, const GpuTile *t, int first,
                         bool alone) {
    gpu_label(g, s, "");
    if (alone) text_add(&g->out, " |");
    if (first >= 0) gpu_loop(g, s, first, 1, "grid.z");
    gpu_loop(g, s, c->m, t->bm, "grid.y");
    gpu_loop(g, s, c->n, t->bn, "grid.x");
    for (int i = 0; i < s->niters; i++)
        if (!s->iter[i].reduction && i != c->m && i != c->n && i != first)
            gpu_loop(g, s, i, 1, NULL);
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].reduction && i != c->k) gpu_loop(g, s, i, 1, NULL);
}

// The threads of a warp. Their columns are vectors: WARP_VECTORS elements.
enum { WARP_ROWS = 4, WARP_COLUMNS = 8, WARP_VECTORS = WARP_COLUMNS * GPU_VECTOR };

// Warps whose threads have one vector of columns, and whose lanes share loads as in write_lanes.
static bool dots_in_lanes(const GpuTile *t) {
    return t->tm >= GPU_VECTOR && t->tn == GPU_VECTOR && t->bm % (WARP_ROWS * t->tm) == 0 &&
           t->bn % WARP_VECTORS == 0;
}

static void write_dot_threads(Gpu *g, const Stmt *s, const Contraction *c, const GpuTile *t,
                              int64_t part) {
    const char *n = s->iter[c->n].name;
    bool lanes = dots_in_lanes(t);
    if (part) gpu_loop(g, s, c->k, part, lanes ? "warp" : "thread.z");
    if (!lanes) {
        gpu_loop(g, s, c->m, t->tm, "thread.y");
        gpu_loop(g, s, c->k, 1, NULL);
        text_printf(&g->out, " %s%%%d:thread.x", n, t->tn);
        return;
    }
    if (t->bm > WARP_ROWS * t->tm) gpu_loop(g, s, c->m, WARP_ROWS * t->tm, "warp");
    if (t->bn > WARP_VECTORS) gpu_loop(g, s, c->n, WARP_VECTORS, "warp");
    gpu_loop(g, s, c->k, 1, NULL);
    gpu_loop(g, s, c->m, WARP_ROWS / 2 * t->tm, "lane");
    text_printf(&g->out, " %s%%%d:lane", n, WARP_COLUMNS);
    gpu_loop(g, s, c->m, t->tm, "lane");
    text_printf(&g->out, " %s%%%d:lane", n, WARP_COLUMNS / 2);
}

// The largest depth up to `most` that divides K: the last tile is as full as the others. 0: none.
static int64_t exact_depth(int64_t K, int64_t unit, int64_t least, int64_t most) {
    for (int64_t d = floor_div(most, unit) * unit; d >= least; d -= unit)
        if (K % d == 0) return d;
    return 0;
}

// The depth of a staged tile that this number of groups divides.
static int64_t usual_depth(const GpuCost *cost, int groups) {
    return groups * (groups >= cost->many_groups ? cost->tile_depth / 2 : cost->tile_depth);
}

// The depth of a staged tile that groups of threads divide, perhaps fewer of them.
static int64_t dots_depth(const GpuCost *cost, const Contraction *c, int *groups) {
    bool full = c->K % usual_depth(cost, *groups) == 0;
    for (int g = *groups; !full && g >= cost->exact_groups; g--)
        if (c->K % (g * cost->tile_depth) == 0) {
            *groups = g;
            return g * cost->tile_depth;
        }
    for (int g = *groups; g >= 2 && 2 * g >= *groups; g /= 2) {
        int64_t depth = usual_depth(cost, g);
        if (c->K % depth)
            depth = exact_depth(c->K, GPU_VECTOR * g, cost->group_least * g, cost->group_most * g);
        if (!depth) continue;
        *groups = g;
        return depth;
    }
    return min_i64(usual_depth(cost, *groups), c->K);
}

// As many stages of both operands, at most `most`, as shared memory has room for, with rows padded.
static int64_t fitting_stages(const Gpu *g, const Contraction *c, const GpuTile *t, int64_t depth,
                              int64_t most) {
    enum { PAD = GPU_VECTOR };
    int64_t bytes = (t->bm + t->bn + PAD) * (depth + PAD) * type_info[c->type].bytes;
    return max_i64(min_i64(most, gpu_buffer_shared(g->m) / bytes), 1);
}

// Both operands run along k: vectors along it, and the columns of a thread lie apart. Groups of
// threads divide each staged tile.
static void write_dots(Gpu *g, const Stmt *s, const Contraction *c, const GpuTile *t, int groups) {
    const GpuCost *cost = g->cost;
    bool deep = t == &gpu_tile[GPU_TILE_WIDE] && groups == 1 && c->K >= cost->deep_steps;
    if (deep) t = &gpu_tile[GPU_TILE_WIDE_MANY];
    int64_t depth = deep ? 2 * cost->tile_depth : dots_depth(cost, c, &groups);
    gpu_loop(g, s, c->k, depth, NULL);
    write_dot_threads(g, s, c, t, groups > 1 ? ceil_div(depth, groups) : 0);
    gpu_loop(g, s, c->m, 1, NULL);
    gpu_loop(g, s, c->n, 1, NULL);
    text_char(&g->out, '\n');
    int64_t stages =
        fitting_stages(g, c, t, depth, min_i64(ceil_div(c->K, depth), cost->tile_stages));
    copy_line(g, c->a, s, c->k, depth, stages, "");
    copy_line(g, c->b, s, c->k, depth, stages, "");
}

// The depth of a staged tile. Groups of warps divide each; small tiles are deep, so that a group
// has enough to do between barriers. The largest ones of long sums are shallow, with one more under
// way.
static int64_t tile_depth(const GpuCost *cost, const GpuTile *t, const Contraction *c,
                          int *groups) {
    int64_t usual = cost->tile_depth;
    if (t == &gpu_tile[GPU_TILE_LARGE] && *groups == 1 && c->K >= cost->shallow_steps)
        return usual / 2;
    if (t == &gpu_tile[GPU_TILE_EVEN]) return *groups * usual;
    if (t == &gpu_tile[GPU_TILE_TURNED]) return usual;
    int64_t depth = t->tm * t->tn > cost->small_results ? usual : cost->small_depth;
    if (*groups == 2 && depth == usual && c->K % (2 * usual) == 0) return 2 * depth;
    while (depth > usual && c->K % depth && c->K < cost->small_stages * depth) depth /= 2;
    depth = min_i64(depth, c->K);
    while (*groups > 1 && depth % (GPU_VECTOR * *groups)) *groups /= 2;
    return depth;
}

// Operands along k of large tiles are transposed while they are copied: a thread then loads vectors
// of both operands for each k, and holds those of two k only.
static bool transposes(const Gpu *g, const Stmt *s, const Contraction *c, const Access *a,
                       const GpuTile *t) {
    return t->tm == g->cost->transposed_rows && a->rank == 2 && a->tensor != s->write->tensor &&
           type_info[g->p->tensors.at[a->tensor].type].bytes == GPU_WORD &&
           gpu_contiguous(g, s, a) == c->k;
}

// Both operands run along k, and the blocks of the tile that transposes both keep all processors
// busy.
static bool turns_both(const Gpu *g, const Stmt *s, const Contraction *c, int64_t batch) {
    const GpuTile *t = &gpu_tile[GPU_TILE_TURNED];
    int64_t blocks = blocks_of(t, c, batch), p = g->m->processors;
    int64_t idle = p * ceil_div(blocks, p) - blocks;
    return idle * g->cost->turned_idle <= blocks && c->K >= g->cost->turned_steps &&
           transposes(g, s, c, c->a, t) && transposes(g, s, c, c->b, t);
}

// The loops of a copy that transposes: a warp copies eight elements of four rows.
static void write_turning(Gpu *g, const Stmt *s, const Access *a, int row, int k) {
    gpu_label(g, s, arena_printf(g->arena, ".%s", g->p->tensors.at[a->tensor].name));
    gpu_loop(g, s, row, WARP_ROWS, NULL);
    gpu_loop(g, s, k, WARP_COLUMNS, NULL);
    gpu_loop(g, s, row, 1, NULL);
    gpu_loop(g, s, k, 1, NULL);
    text_char(&g->out, '\n');
}

// Warps of 4 x 8 lanes. Rows have bits 1 and 4 of the lane, columns bits 0, 2 and 3: then the lanes
// that share an operand are neighbours, and a vector load of either takes two wavefronts.
static void write_lanes(Gpu *g, const Stmt *s, const Contraction *c, const GpuTile *t, int groups) {
    const GpuCost *cost = g->cost;
    int64_t depth = tile_depth(cost, t, c, &groups), steps = ceil_div(c->K, depth);
    bool rows_turn = transposes(g, s, c, c->a, t), columns_turn = transposes(g, s, c, c->b, t);
    gpu_loop(g, s, c->k, depth, NULL);
    if (groups > 1) gpu_loop(g, s, c->k, depth / groups, "warp");
    gpu_loop(g, s, c->m, WARP_ROWS * t->tm, "warp");
    gpu_loop(g, s, c->n, WARP_COLUMNS * t->tn, "warp");
    gpu_loop(g, s, c->k, 1, NULL);
    int rows = t->tm < GPU_VECTOR ? t->tm : GPU_VECTOR; // adjacent ones of a thread
    if (rows < t->tm) gpu_loop(g, s, c->m, WARP_ROWS * rows, NULL);
    if (t->tn > GPU_VECTOR) gpu_loop(g, s, c->n, WARP_VECTORS, NULL);
    gpu_loop(g, s, c->m, WARP_ROWS / 2 * rows, "lane");
    gpu_loop(g, s, c->n, 2 * GPU_VECTOR, "lane");
    gpu_loop(g, s, c->m, rows, "lane");
    gpu_loop(g, s, c->n, GPU_VECTOR, "lane");
    gpu_loop(g, s, c->m, 1, NULL);
    gpu_loop(g, s, c->n, 1, NULL);
    text_char(&g->out, '\n');
    const char *m = s->iter[c->m].name, *n = s->iter[c->n].name, *k = s->iter[c->k].name;
    bool more = depth < cost->tile_depth ||
                (depth == cost->tile_depth && (groups > 1 || t == &gpu_tile[GPU_TILE_WIDEST]));
    int64_t stages = fitting_stages(g, c, t, depth, min_i64(steps, cost->tile_stages + more));
    copy_line(g, c->a, s, c->k, depth, stages,
              rows_turn ? arena_printf(g->arena, " layout (%s %s)", k, m) : "");
    copy_line(g, c->b, s, c->k, depth, stages,
              columns_turn ? arena_printf(g->arena, " layout (%s %s)", k, n) : "");
    if (rows_turn) write_turning(g, s, c->a, c->m, c->k);
    if (columns_turn) write_turning(g, s, c->b, c->n, c->k);
}

static bool next_is_product(const Gpu *g, const Stmt *s) {
    Contraction c;
    return s + 1 < g->p->stmts.at + g->p->stmts.n && gpu_product(g, s + 1, &c);
}

static void write_contraction(Gpu *g, const Stmt *s, const Contraction *c) {
    int64_t batch = 1;
    int first = -1;
    for (int i = 0; i < s->niters; i++) {
        if (s->iter[i].reduction || i == c->m || i == c->n) continue;
        batch *= iter_extent(&s->iter[i]);
        if (first < 0 && iter_extent(&s->iter[i]) <= GPU_MAX_GRID_YZ) first = i;
    }
    bool along_k = gpu_contiguous(g, s, c->b) == c->k;
    if (first < 0) batch = 1;
    bool turned = along_k && turns_both(g, s, c, batch);
    const GpuTile *t = turned ? &gpu_tile[GPU_TILE_TURNED] : pick_tile(g, c, batch, along_k);
    int64_t blocks = blocks_of(t, c, batch);
    int groups = groups_of(g, t, c, blocks, along_k);
    // Blocks of many threads have no registers for two products, and processors that have a block
    // of each product anyway lose nothing.
    bool many = t->bm / t->tm * (t->bn / t->tn) * groups >= g->cost->spilling_block;
    write_blocks(g, s, c, t, first, (many || blocks >= g->m->processors) && next_is_product(g, s));
    if (along_k && !turned)
        write_dots(g, s, c, t, groups);
    else
        write_lanes(g, s, c, t, groups);
}

// --- Small products ------------------------------------------------------------------------------

// Many small products of two matrices that share a batch: a block has both whole.
static bool try_small(Gpu *g, int i) {
    const GpuCost *cost = g->cost;
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    Contraction c;
    int batch = -1;
    if (!gpu_product(g, s, &c) || c.M > cost->product_side || c.N > cost->product_side ||
        c.M < cost->product_rows || c.N < cost->product_columns)
        return false;
    for (int k = 0; k < s->niters; k++) {
        if (k == c.m || k == c.n || k == c.k) continue;
        if (s->iter[k].reduction || batch >= 0) return false;
        batch = k;
    }
    int64_t blocks = batch < 0 ? 0 : iter_extent(&s->iter[batch]);
    if (blocks < g->m->processors / cost->product_blocks || blocks > INT32_MAX) return false;
    if (!access_uses_iter(c.a, batch) || !access_uses_iter(c.b, batch)) return false;
    if ((c.M + c.N) * c.K * type_info[s->value->type].bytes > cost->product_bytes) return false;
    int columns = c.N % cost->product_columns ? 1 : cost->product_columns;
    gpu_label(g, s, "");
    gpu_loop(g, s, batch, 1, "grid.x");
    if (columns > 1)
        text_printf(&g->out, " %s%%%d:thread.y", s->iter[c.n].name, columns);
    else
        gpu_loop(g, s, c.n, 1, "thread.y");
    text_printf(&g->out, " %s%%%d:thread.x", s->iter[c.m].name, cost->product_rows);
    gpu_loop(g, s, c.k, 1, NULL);
    gpu_loop(g, s, c.m, 1, NULL);
    if (columns > 1) gpu_loop(g, s, c.n, 1, NULL);
    text_char(&g->out, '\n');
    const Access *both[] = {c.a, c.b};
    for (int k = 0; k < 2; k++) {
        const Tensor *t = &g->p->tensors.at[both[k]->tensor];
        bool async = both[k]->tensor < g->p->ninputs && type_info[t->type].bytes >= GPU_WORD;
        text_printf(&g->out, "    copy %s at %s place shared%s%s\n", t->name, s->iter[batch].name,
                    gpu_swizzle_word(g, both[k]->tensor), async ? " by async" : "");
    }
    return true;
}

// --- Transpositions ------------------------------------------------------------------------------

// Writes along one iterator, reads along another: tiles go through shared memory.
static bool try_transpose(Gpu *g, int i) {
    int side = g->cost->transpose_side;
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    int v = gpu_contiguous(g, s, s->write), u = -1, other = -1;
    const Access *from = NULL;
    if (v < 0 || f->has_reduction || s->nconstraints || s->unproven) return false;
    for (int r = 0; r < f->nvalue; r++) {
        int c = gpu_contiguous(g, s, f->read[r]);
        if (c < 0 || c == v || !is_simple(f->read[r]) || !access_uses_iter(f->read[r], v)) continue;
        if (from) return false;
        from = f->read[r];
        u = c;
    }
    if (!from || stmt_read_of(f, from->tensor) != from || from->tensor == s->write->tensor)
        return false;
    if (iter_extent(&s->iter[u]) < side || iter_extent(&s->iter[v]) < side) return false;
    for (int k = 0; k < s->niters; k++) {
        if (k == u || k == v) continue;
        if (other >= 0 || iter_extent(&s->iter[k]) > GPU_MAX_GRID_YZ) return false;
        other = k;
    }
    gpu_label(g, s, "");
    if (other >= 0) gpu_loop(g, s, other, 1, "grid.z");
    gpu_loop(g, s, u, side, "grid.y");
    gpu_loop(g, s, v, side, "grid.x");
    gpu_loop(g, s, u, g->cost->transpose_rows, "thread.y");
    gpu_loop(g, s, v, 1, "thread.x");
    gpu_loop(g, s, u, 1, NULL);
    text_printf(&g->out, "\n    copy %s at %s/%d place shared%s\n",
                g->p->tensors.at[from->tensor].name, s->iter[v].name, side,
                gpu_swizzle_word(g, from->tensor));
    return true;
}

// --- Rows of tables ------------------------------------------------------------------------------

// Rows that indices choose: each thread loads vectors of several rows at the same time. Results
// bypass the cache, where they would evict rows that are needed again.
static bool try_gather(Gpu *g, int i) {
    int64_t each = g->cost->gather_rows; // of a thread
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    int w = gpu_contiguous(g, s, s->write), table = -1;
    if (s->niters != 2 || w != 1 || f->has_reduction || s->nconstraints || s->unproven ||
        s->write->tensor < g->p->ninputs || s->write->tensor >= g->p->ninputs + g->p->noutputs)
        return false;
    for (int r = 0; r < f->nvalue; r++)
        if (f->read[r]->has_read) table = gpu_contiguous(g, s, f->read[r]);
    int64_t lanes = iter_extent(&s->iter[w]) / GPU_VECTOR;
    int64_t rows = lanes ? g->cost->gather_threads / lanes : 0;
    if (table != w || iter_extent(&s->iter[w]) % GPU_VECTOR || rows < 1 ||
        iter_extent(&s->iter[0]) < rows * each * g->m->processors)
        return false;
    gpu_label(g, s, "");
    gpu_loop(g, s, 0, rows * each, "grid.x");
    gpu_loop(g, s, 0, rows, NULL);
    gpu_loop(g, s, 0, 1, "thread.y");
    gpu_loop(g, s, w, GPU_VECTOR, "thread.x");
    gpu_loop(g, s, w, 1, NULL);
    text_add(&g->out, "\n    nontemporal\n");
    return true;
}

// --- The rest ------------------------------------------------------------------------------------

static void write_plain(Gpu *g, const Stmt *s) {
    int last = s->write->has_read ? -1 : gpu_contiguous(g, s, s->write), at_once = g->cost->at_once;
    gpu_label(g, s, "");
    for (int i = 0; i < s->niters; i++)
        if (!s->iter[i].reduction && i != last) gpu_loop(g, s, i, 1, NULL);
    if (last >= 0) gpu_loop(g, s, last, 1, NULL);
    int inner = -1;
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].reduction) inner = i;
    for (int i = 0; i < s->niters; i++) {
        if (!s->iter[i].reduction) continue;
        if (i == inner && iter_extent(&s->iter[i]) > 2 * at_once) gpu_loop(g, s, i, at_once, NULL);
        gpu_loop(g, s, i, 1, NULL);
    }
    text_char(&g->out, '\n');
}

static bool follows(Gpu *g, int i, const bool *hosts) {
    for (int h = i - 1; h >= 0; h--) {
        if (!hosts[h] || g->p->stmts.at[h].write->tensor < g->p->ninputs) continue;
        if (!stmts_depend(&g->f->stmt[h], &g->f->stmt[i])) continue;
        if (follow_refused(g->f, i, h, g->host, NULL)) return false;
        g->host[i] = h;
        gpu_label(g, &g->p->stmts.at[i], "");
        text_printf(&g->out, "\n    after %s\n", g->p->stmts.at[h].label);
        return true;
    }
    return false;
}

static bool is_empty(const Stmt *s) {
    for (int i = 0; i < s->niters; i++)
        if (iter_extent(&s->iter[i]) == 0) return true;
    return s->niters == 0;
}

// What is no contraction. May element-wise statements that follow stand behind it?
static bool write_sum(Gpu *g, int i) {
    if (try_small(g, i)) return true;
    if (gpu_try_row(g, i) || gpu_try_partial(g, i) || gpu_try_volume(g, i)) return false;
    if (gpu_try_windows(g, i)) return true;
    if (!gpu_try_columns(g, i) && !try_transpose(g, i) && !try_gather(g, i))
        write_plain(g, &g->p->stmts.at[i]);
    return false;
}

static void write_all(Gpu *g) {
    bool *hosts = arena_new_n(g->arena, bool, g->p->stmts.n);
    for (int i = 0; i < g->p->stmts.n; i++) {
        const Stmt *s = &g->p->stmts.at[i];
        Contraction c;
        if (is_empty(s)) continue;
        if (s->serial) { // steps keep their order, and one block runs them
            g->row_stmt = -1;
            continue;
        }
        int scores = gpu_try_scores(g, i), layers = scores ? scores : gpu_try_layers(g, i);
        if (layers) {
            g->row_stmt = -1;
            i += layers - 1;
            hosts[i] = scores > 0; // others may follow it
            continue;
        }
        hosts[i] = g->f->stmt[i].injective && find_contraction(g, s, &c);
        if (hosts[i]) {
            g->row_stmt = -1;
            write_contraction(g, s, &c);
        } else if (!g->f->stmt[i].injective || s->write->has_read) {
            g->row_stmt = -1;
        } else if (!follows(g, i, hosts)) {
            hosts[i] = write_sum(g, i);
        }
    }
}

static Gpu gpu_open(Arena *arena, const Program *p, const GpuMachine *m,
                    const int64_t *const *stride) {
    ProgramFacts *f = program_facts(arena, p);
    Gpu g = {.arena = arena,
             .m = m,
             .cost = &gpu_cost,
             .p = p,
             .f = f,
             .stride = stride,
             .out.arena = arena,
             .row_stmt = -1,
             .volume.x = -1};
    facts_classes(arena, f);
    g.host = arena_new_n(arena, int, p->stmts.n);
    for (int i = 0; i < p->stmts.n; i++) g.host[i] = -1;
    return g;
}

static int contractions(const Gpu *g) {
    Contraction c;
    int n = 0;
    for (int i = 0; i < g->p->stmts.n; i++)
        n += g->f->stmt[i].injective && find_contraction(g, &g->p->stmts.at[i], &c);
    return n;
}

// Reductions of statements with several.
static int dimensions_of_sums(const Gpu *g) {
    int n = 0;
    for (int i = 0; i < g->p->stmts.n; i++) {
        const Stmt *s = &g->p->stmts.at[i];
        int here = 0;
        for (int k = 0; k < s->niters; k++) here += s->iter[k].reduction;
        n += here > 1 ? here : 0;
    }
    return n;
}

// The flat form has more contractions (the columns of a 1 x 1 convolution are its pixels), or sums
// over fewer dimensions.
static bool try_flat(Gpu *g, const Program *p, const int64_t *const *stride) {
    Flat flat = program_flatten(g->arena, p);
    if (!flat.last || !flat_fits(&flat, p, stride)) return false;
    Gpu f = gpu_open(g->arena, flat.p, g->m, flat_strides(g->arena, &flat, stride));
    int more = contractions(&f) - contractions(g);
    if (more < 0 || (more == 0 && dimensions_of_sums(&f) >= dimensions_of_sums(g))) return false;
    *g = f;
    return true;
}

const Schedule *choose_gpu(Arena *arena, const Program *p, const GpuMachine *m,
                           const int64_t *const *stride) {
    Gpu g = gpu_open(arena, p, m, stride);
    bool flat = try_flat(&g, p, stride);
    if (has_word_names(g.p)) write_all(&g);
    Source *source = arena_new(arena, Source);
    *source = (Source){.name = "<chosen>", .text = text_str(&g.out), .len = (uint32_t)g.out.len};
    DiagList quiet = {.arena = arena, .source = source};
    Schedule *s = schedule_parse(arena, p->names, source, &quiet);
    if (!s) return NULL;
    s->source = NULL;
    s->flatten = flat;
    gpu_divide_kernels(arena, g.p, s);
    return s;
}
