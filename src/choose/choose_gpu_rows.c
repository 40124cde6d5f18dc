// Sums: along rows, in parts, over several dimensions, of columns. See choose_gpu.c.
#include "base/checked.h"
#include "choose/choose_gpu_impl.h"

// --- Rows ----------------------------------------------------------------------------------------

int64_t gpu_iterations(const Stmt *s, bool reductions) {
    int64_t n = 1;
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].reduction == reductions) n *= max_i64(iter_extent(&s->iter[i]), 1);
    return n;
}

static double iterations_of(const Stmt *s, const Access *a) {
    double n = 1;
    for (int k = 0; k < s->niters; k++)
        if (access_uses_iter(a, k)) n *= (double)max_i64(iter_extent(&s->iter[k]), 1);
    return n;
}

// The iterator along which the largest of the contiguous reads is contiguous.
static int read_along(const Gpu *g, int i) {
    const StmtFacts *f = &g->f->stmt[i];
    int along = -1;
    double most = 0;
    for (int r = 0; r < f->nvalue; r++) {
        int c = gpu_contiguous(g, f->s, f->read[r]);
        double n = iterations_of(f->s, f->read[r]);
        if (c < 0 || n <= most) continue;
        along = c;
        most = n;
    }
    return along;
}

static int row_threads(const GpuCost *cost, int64_t n) {
    int threads = GPU_WARP, most = cost->row_threads * (n < cost->very_long_row ? 1 : 2);
    while (threads < most && threads * cost->row_values < n) threads *= 2;
    return threads;
}

// The rows that a block works on: iterators of the grid.
enum { MOST_ROWS = 3 };
typedef struct GpuRows {
    int n;
    int iter[MOST_ROWS];
} GpuRows;

static bool is_row(const GpuRows *rows, int iter) {
    for (int i = 0; i < rows->n; i++)
        if (rows->iter[i] == iter) return true;
    return false;
}

// Rows of a block: it has four warps at least, if enough blocks remain. A thread of several rows
// loads two vectors or more: the loop over them keeps the nests of the rows apart, whose sums
// threads combine.
static int rows_of_block(const Gpu *g, const Stmt *s, const GpuRows *rows, int64_t count, int64_t n,
                         int *threads) {
    const GpuCost *cost = g->cost;
    int64_t last = rows->n ? iter_extent(&s->iter[rows->iter[rows->n - 1]]) : 1;
    int few = cost->rows_lanes, each = 1;
    while (few < *threads && cost->row_values * few <= n && n % (2 * GPU_VECTOR * few) == 0)
        few *= 2;
    if (n % (GPU_VECTOR * few) || n > cost->row_values * few) return 1;
    while (2 * each * few <= cost->rows_threads && last % (2 * each) == 0 &&
           count / (2 * each) >= cost->rows_blocks * g->m->processors)
        each *= 2;
    if (each > 1) *threads = few;
    return each;
}

// The only iterator that is not a row; -1: none; -2: there are several.
static int inner_iter(const Stmt *s, const GpuRows *rows) {
    int inner = -1;
    for (int i = 0; i < s->niters; i++) {
        if (is_row(rows, i) || iter_extent(&s->iter[i]) <= 1) continue;
        if (inner >= 0) return -2;
        inner = i;
    }
    return inner;
}

static int iter_of_class(const StmtFacts *f, int class) {
    for (int i = 0; i < f->s->niters; i++)
        if (f->class[i] == class) return i;
    return -1;
}

// Blocks have `each` rows of the last iterator.
static void write_rows(Gpu *g, const Stmt *s, const GpuRows *rows, int each) {
    static const char *const axis[] = {"grid.x", "grid.y", "grid.z"};
    gpu_label(g, s, "");
    for (int i = 0; i < rows->n; i++)
        gpu_loop(g, s, rows->iter[i], i == rows->n - 1 ? each : 1, axis[rows->n - 1 - i]);
}

// Blocks of short rows have several of them.
static void write_row(Gpu *g, const Stmt *s, const GpuRows *rows, int inner) {
    write_rows(g, s, rows, g->row_each);
    if (inner >= 0) gpu_loop(g, s, inner, GPU_VECTOR * g->row_threads, NULL);
    if (g->row_each > 1) gpu_loop(g, s, rows->iter[rows->n - 1], 1, "thread.y");
    if (inner >= 0) {
        gpu_loop(g, s, inner, GPU_VECTOR, "thread.x");
        gpu_loop(g, s, inner, 1, NULL);
    }
    text_char(&g->out, '\n');
}

// The rows of the statements before, as this one has them.
static bool same_rows(const Gpu *g, const StmtFacts *f, GpuRows *rows) {
    rows->n = g->nrows;
    for (int i = 0; i < g->nrows; i++) {
        rows->iter[i] = iter_of_class(f, g->row_class[i]);
        if (rows->iter[i] < 0 || f->s->iter[rows->iter[i]].reduction) return false;
    }
    return true;
}

static bool find_rows(const Stmt *s, GpuRows *rows, int64_t *count) {
    *rows = (GpuRows){0};
    *count = 1;
    for (int k = 0; k < s->niters; k++) {
        int64_t n = iter_extent(&s->iter[k]);
        if (s->iter[k].reduction || n <= 1) continue;
        if (rows->n == MOST_ROWS || (rows->n && *count > INT32_MAX)) return false;
        rows->iter[rows->n++] = k;
        *count *= n;
    }
    for (int i = 0; i + 1 < rows->n; i++)
        if (iter_extent(&s->iter[rows->iter[i]]) > GPU_MAX_GRID_YZ) return false;
    return true;
}

// Does every read along the row have elements of its own in each of several rows? Otherwise rows
// share operands, and tiles reuse them.
static bool rows_are_alone(const StmtFacts *f, const GpuRows *rows, int inner) {
    for (int r = 0; r < f->nvalue && rows->n > 1; r++) {
        if (!access_uses_iter(f->read[r], inner)) continue;
        for (int i = 0; i < rows->n; i++)
            if (!access_uses_iter(f->read[r], rows->iter[i])) return false;
    }
    return true;
}

// The loops of a volume: its threads divide x and y, and other iterators are around them.
static void write_volume(Gpu *g, const StmtFacts *f, const GpuRows *rows) {
    const GpuVolume *v = &g->volume;
    const Stmt *s = f->s;
    int x = iter_of_class(f, v->x), y = iter_of_class(f, v->y);
    write_rows(g, s, rows, 1);
    for (int r = 0; r < s->niters; r++)
        if (!is_row(rows, r) && r != x && r != y) gpu_loop(g, s, r, 1, NULL);
    gpu_loop(g, s, y, v->ty, NULL);
    gpu_loop(g, s, x, v->each * v->tx, NULL);
    gpu_loop(g, s, y, 1, "thread.y");
    gpu_loop(g, s, x, v->each, "thread.x");
    if (v->each > 1) gpu_loop(g, s, x, 1, NULL);
    text_char(&g->out, '\n');
}

// Does the statement work on the same values, with enough blocks if it writes them all?
static bool joins_volume(const Gpu *g, const StmtFacts *f) {
    const GpuVolume *v = &g->volume;
    int x = iter_of_class(f, v->x), y = iter_of_class(f, v->y);
    return x >= 0 && y >= 0 && (f->s->iter[x].reduction || v->blocks >= g->m->processors);
}

// The statement in the kernel of the rows before it, or false.
static bool joins_rows(Gpu *g, int i) {
    const StmtFacts *f = &g->f->stmt[i];
    GpuRows rows;
    if (g->row_stmt < 0 || !stmts_depend(&g->f->stmt[g->row_stmt], f) || !same_rows(g, f, &rows) ||
        !gpu_stays_in_rows(g, g->row_first, f, g->row_class, g->nrows))
        return false;
    int inner = inner_iter(f->s, &rows);
    if (!rows.n && inner >= 0 && !f->s->iter[inner].reduction) return false; // one block has it
    if (inner == -1)
        write_row(g, f->s, &rows, -1);
    else if (g->volume.x >= 0 && joins_volume(g, f))
        write_volume(g, f, &rows);
    else if (g->volume.x < 0 && inner >= 0 && iter_extent(&f->s->iter[inner]) == g->row_inner)
        write_row(g, f->s, &rows, inner);
    else
        return false;
    g->row_stmt = i;
    return true;
}

static void begin_rows(Gpu *g, int i, const GpuRows *rows) {
    g->nrows = rows->n;
    for (int k = 0; k < rows->n; k++) g->row_class[k] = g->f->stmt[i].class[rows->iter[k]];
    g->row_stmt = g->row_first = i;
    g->row_each = 1;
    g->volume.x = -1;
}

// A reduction along contiguous elements of a row, or a statement on the rows of the one before. One
// sum of few values is a row, too.
bool gpu_try_row(Gpu *g, int i) {
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    GpuRows rows;
    int64_t count;
    if (joins_rows(g, i)) return true;
    g->row_stmt = -1;
    if (!f->reduces || s->nconstraints || !find_rows(s, &rows, &count)) return false;
    int inner = inner_iter(s, &rows);
    if (inner < 0 || !s->iter[inner].reduction || read_along(g, i) != inner) return false;
    if (!rows_are_alone(f, &rows, inner)) return false;
    int64_t n = iter_extent(&s->iter[inner]);
    if (n < g->cost->long_row || (count < g->m->processors / 2 && n >= g->cost->many_values))
        return false;
    begin_rows(g, i, &rows);
    g->row_inner = n;
    g->row_threads = row_threads(g->cost, n);
    g->row_each = rows_of_block(g, s, &rows, count, n, &g->row_threads);
    write_row(g, s, &rows, inner);
    return true;
}

// --- Partial sums --------------------------------------------------------------------------------

// Few results of many values: blocks reduce parts, and a second kernel their results.
bool gpu_try_partial(Gpu *g, int i) {
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    const GpuCost *cost = g->cost;
    int64_t results = gpu_iterations(s, false), longest = 0;
    int k = -1;
    if (!f->reduces || !f->injective || s->nconstraints || f->snapshot) return false;
    for (int r = 0; r < s->niters; r++)
        if (s->iter[r].reduction && iter_extent(&s->iter[r]) > longest) {
            longest = iter_extent(&s->iter[r]);
            k = r;
        }
    if (results >= cost->many_threads || longest < cost->part_row * cost->long_row ||
        results * longest < cost->many_values)
        return false;
    bool along = read_along(g, i) == k;
    int64_t parts = along ? cost->part_blocks * g->m->processors
                          : ceil_div(cost->part_threads * (int64_t)cost->many_threads, results);
    int64_t chunk = max_i64(ceil_div(longest, parts), along ? cost->part_values : cost->part_apart);
    int vector = GPU_VECTOR * cost->row_threads, several = cost->part_vectors * vector;
    int64_t unit = !along ? cost->part_apart : chunk > several ? several : vector;
    chunk = ceil_div(chunk, unit) * unit;
    bool nested = gpu_iterations(s, true) > longest; // a reduction along another iterator, too
    if (along && nested && results >= ceil_div(longest, chunk)) return false; // a block for each
    const char *name = s->iter[k].name;
    gpu_label(g, s, "");
    for (int r = 0; r < s->niters; r++)
        if (r != k && !s->iter[r].reduction) gpu_loop(g, s, r, 1, NULL);
    if (along && results == 1)
        text_printf(&g->out, " %s.p/%d:thread.x", name, cost->at_once);
    else if (ceil_div(longest, chunk) > 2 * cost->at_once)
        text_printf(&g->out, " %s.p/%d", name, cost->at_once);
    text_printf(&g->out, " %s.p\n    privatise %s/%lld\n", name, name, (long long)chunk);
    gpu_label(g, s, ".part");
    text_printf(&g->out, " %s.p%s", s->iter[k].name, along ? ":grid.x" : "");
    for (int r = 0; r < s->niters; r++)
        if (r != k && !s->iter[r].reduction) gpu_loop(g, s, r, 1, NULL);
    for (int r = 0; r < s->niters; r++)
        if (r != k && s->iter[r].reduction) gpu_loop(g, s, r, 1, NULL);
    if (along) {
        if (chunk > several) gpu_loop(g, s, k, several, NULL);
        gpu_loop(g, s, k, vector, NULL);
        gpu_loop(g, s, k, GPU_VECTOR, "thread.x");
    } else if (chunk > cost->part_at_once)
        gpu_loop(g, s, k, cost->part_at_once, NULL);
    gpu_loop(g, s, k, 1, NULL);
    text_char(&g->out, '\n');
    return true;
}

// --- Sums over several dimensions ----------------------------------------------------------------

// Threads along x: they divide it, if one of the larger divisors fits.
static int64_t threads_along(const GpuCost *cost, int64_t n) {
    for (int64_t d = min_i64(n, cost->volume_along); d >= GPU_WARP; d--)
        if (n % d == 0) return d;
    return min_i64(n, cost->volume_ragged);
}

// Few results, each the sum over several dimensions (statistics of channels): a block per result,
// whose threads divide the dimension of contiguous values and the longest of the others. Statements
// that follow on the same values are in the same kernel.
bool gpu_try_volume(Gpu *g, int i) {
    const GpuCost *cost = g->cost;
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    int x = read_along(g, i), y = -1;
    GpuRows rows;
    int64_t count;
    if (!f->reduces || !f->injective || s->nconstraints || f->snapshot) return false;
    if (x < 0 || !s->iter[x].reduction || !find_rows(s, &rows, &count)) return false;
    for (int r = 0; r < s->niters; r++)
        if (s->iter[r].reduction && r != x &&
            (y < 0 || iter_extent(&s->iter[r]) > iter_extent(&s->iter[y])))
            y = r;
    int64_t values = gpu_iterations(s, true);
    if (y < 0 || count >= cost->many_threads || values < cost->long_row ||
        !rows_are_alone(f, &rows, x))
        return false;
    bool few = count < cost->volume_blocks * g->m->processors;
    int64_t threads = few ? 2 * cost->volume_threads : cost->volume_threads;
    int64_t each = iter_extent(&s->iter[x]) % GPU_VECTOR == 0 ? GPU_VECTOR : 1;
    int64_t tx = threads_along(cost, iter_extent(&s->iter[x]) / each);
    int64_t ty = min_i64(iter_extent(&s->iter[y]), threads / tx);
    begin_rows(g, i, &rows);
    g->volume = (GpuVolume){f->class[x], f -> class[y], tx, ty, each, count};
    write_volume(g, f, &rows);
    return true;
}

// --- Columns -------------------------------------------------------------------------------------

// No read that belongs to one result alone is contiguous along another iterator.
static bool reads_columns(const Gpu *g, int i, int w) {
    const StmtFacts *f = &g->f->stmt[i];
    for (int r = 0; r < f->nvalue; r++) {
        bool own = true;
        for (int k = 0; k < f->s->niters; k++)
            own &= f->s->iter[k].reduction || access_uses_iter(f->read[r], k);
        int along = gpu_contiguous(g, f->s, f->read[r]);
        if (own && along >= 0 && along != w) return false;
    }
    return true;
}

// Rows of contiguous results, each the sum of some values (of a table, say): a block per row, whose
// threads have four neighbours and divide the sum.
bool gpu_try_columns(Gpu *g, int i) {
    const GpuCost *cost = g->cost;
    // Other axes than those of rows, whose kernels have other threads.
    static const char *const axis[] = {"grid.y", "grid.z"};
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    int w = gpu_contiguous(g, s, s->write), k = -1;
    GpuRows rows;
    int64_t count;
    if (w < 0 || !f->reduces || s->nconstraints || !find_rows(s, &rows, &count)) return false;
    for (int r = 0; r < s->niters; r++)
        if (s->iter[r].reduction && (k < 0 || iter_extent(&s->iter[r]) > iter_extent(&s->iter[k])))
            k = r;
    int64_t lanes = iter_extent(&s->iter[w]) / GPU_VECTOR;
    if (k < 0 || iter_extent(&s->iter[k]) < cost->column_values || count >= cost->many_threads ||
        rows.n < 2 || rows.iter[rows.n - 1] != w || iter_extent(&s->iter[w]) % GPU_VECTOR ||
        lanes > cost->column_most || lanes < cost->column_least || !reads_columns(g, i, w))
        return false;
    int64_t each = max_i64(ceil_div(iter_extent(&s->iter[k]) * lanes, cost->column_threads),
                           cost->column_steps);
    gpu_label(g, s, "");
    for (int r = 0; r + 1 < rows.n; r++) gpu_loop(g, s, rows.iter[r], 1, axis[rows.n - 2 - r]);
    for (int r = 0; r < s->niters; r++)
        if (s->iter[r].reduction && r != k) gpu_loop(g, s, r, 1, NULL);
    gpu_loop(g, s, k, each, "thread.y");
    gpu_loop(g, s, w, GPU_VECTOR, "thread.x");
    gpu_loop(g, s, k, 1, NULL);
    gpu_loop(g, s, w, 1, NULL);
    text_char(&g->out, '\n');
    return true;
}
