// Scores: products whose rows are reduced and then multiplied again, as in attention.
//
//     S[b, i, j] += Q[b, i, d]*K[b, j, d]    T[b, i] max= S[b, i, j]    S = exp(S - T)    ...
//     O[b, i, e] += S[b, i, j]*V[b, j, e]
//
// One kernel: a block has all scores of a few rows in shared memory, so that nothing but the result
// goes to memory. The statements between work on the same rows. Without the second product, the
// reductions are the result, such as the nearest of some points.
#include "base/checked.h"
#include "choose/choose_gpu_impl.h"

enum {
    PARTS = 4,       // of the columns of a tile, along z
    THREAD_ROWS = 4, // results of a thread along the rows of a block
};

typedef struct ScoreRows {
    Contraction first, last;
    int batch, row, column; // classes; batch -1: none
    const GpuScoreTile *tile;
    int first_stmt;
} ScoreRows;

// The iterator that has no part in the product: -1: none, -2: there are several.
static int batch_of(const Stmt *s, const Contraction *c) {
    int batch = -1;
    for (int k = 0; k < s->niters; k++) {
        if (k == c->m || k == c->n || k == c->k) continue;
        if (s->iter[k].reduction || batch >= 0 || iter_extent(&s->iter[k]) > GPU_MAX_GRID_YZ)
            return -2;
        batch = k;
    }
    return batch;
}

static int of_class(const StmtFacts *f, int class) {
    for (int k = 0; k < f->s->niters; k++)
        if (f->class[k] == class) return k;
    return -1;
}

// An operand that other kernels, or the caller, have written.
static bool is_staged(const Gpu *g, int first, const Access *a, Type type) {
    if (g->p->tensors.at[a->tensor].type != type) return false;
    for (int i = first; i < g->p->stmts.n && a->tensor >= g->p->ninputs; i++)
        if (g->p->stmts.at[i].write->tensor == a->tensor) return false;
    return true;
}

static bool begins(const Gpu *g, int i, ScoreRows *r) {
    const StmtFacts *f = &g->f->stmt[i];
    Contraction *c = &r->first;
    if (!f->injective || f->s->serial || !gpu_product(g, f->s, c)) return false;
    int batch = batch_of(f->s, c);
    if (batch < -1 || type_info[c->type].bytes != GPU_WORD) return false;
    r->batch = batch < 0 ? -1 : f->class[batch];
    r->row = f->class[c->m];
    r->column = f->class[c->n];
    bool temporary = f->s->write->tensor >= g->p->ninputs + g->p->noutputs;
    int least = g->cost->score_least;
    return temporary && c->M >= g->cost->score_rows && c->N >= least && c->K >= least &&
           gpu_contiguous(g, f->s, c->a) == c->k && gpu_contiguous(g, f->s, c->b) == c->k &&
           is_staged(g, i, c->a, c->type) && is_staged(g, i, c->b, c->type);
}

// Does the statement work on the rows, along columns or not at all?
static bool is_inside(const Gpu *g, const ScoreRows *r, const StmtFacts *f) {
    const Stmt *s = f->s;
    if (!f->injective || s->serial || s->nconstraints || s->unproven || f->snapshot) return false;
    int row = of_class(f, r->row), column = of_class(f, r->column);
    int batch = r->batch < 0 ? -1 : of_class(f, r->batch);
    if (row < 0 || s->iter[row].reduction || (r->batch >= 0 && batch < 0)) return false;
    if (batch >= 0 && s->iter[batch].reduction) return false;
    int class[] = {r->row, r->batch};
    return s->niters == 1 + (batch >= 0) + (column >= 0) &&
           gpu_stays_in_rows(g, r->first_stmt, f, class, 1 + (batch >= 0));
}

static bool ends(const Gpu *g, int i, ScoreRows *r) {
    const StmtFacts *f = &g->f->stmt[i];
    Contraction *c = &r->last;
    if (!f->injective || f->s->serial || !gpu_product(g, f->s, c)) return false;
    int batch = batch_of(f->s, c), scores = g->f->stmt[r->first_stmt].s->write->tensor;
    if (batch < -1 || (batch < 0) != (r->batch < 0)) return false;
    return c->a->tensor == scores && f->class[c->m] == r->row && f->class[c->k] == r->column &&
           (batch < 0 || f->class[batch] == r->batch) && c->N >= g->cost->score_least &&
           gpu_contiguous(g, f->s, c->b) == c->n &&
           is_staged(g, r->first_stmt, c->b, r->first.type);
}

// The first tile that shared memory has room for, beside all scores of the rows; NULL: none.
static const GpuScoreTile *tile_of(const Gpu *g, const ScoreRows *r) {
    enum { PAD = GPU_VECTOR };
    int rows = g->cost->score_rows, most = g->cost->score_most;
    const Contraction *a = &r->first, *b = &r->last;
    if (a->N > most || a->K > most || b->N > most) return NULL;
    for (int i = 0; i < gpu_score_tiles; i++) {
        const GpuScoreTile *t = &gpu_score_tile[i];
        int64_t words = rows * (a->N + PAD) + rows * (a->K + PAD) +
                        t->score_stages * t->scores * (a->K + PAD) +
                        t->value_stages * t->values * (b->N + PAD);
        if (GPU_WORD * words <= gpu_buffer_shared(g->m)) return t;
    }
    return NULL;
}

static void write_head(Gpu *g, const StmtFacts *f, const ScoreRows *r) {
    gpu_label(g, f->s, "");
    if (r->batch >= 0) gpu_loop(g, f->s, of_class(f, r->batch), 1, "grid.y");
    gpu_loop(g, f->s, of_class(f, r->row), g->cost->score_rows, "grid.x");
}

static void write_copy(Gpu *g, const Stmt *s, const Access *a, int iter, int size, int stages) {
    text_printf(&g->out, "    copy %s at %s/%d place shared", g->p->tensors.at[a->tensor].name,
                s->iter[iter].name, size);
    if (stages > 1) text_printf(&g->out, " stages %d", stages);
    text_add(&g->out, " by async\n");
}

static void write_first(Gpu *g, const StmtFacts *f, const ScoreRows *r) {
    const Contraction *c = &r->first;
    const GpuScoreTile *t = r->tile;
    const Stmt *s = f->s;
    write_head(g, f, r);
    gpu_loop(g, s, c->n, t->scores, NULL);
    gpu_loop(g, s, c->n, t->scores / PARTS, "thread.z");
    gpu_loop(g, s, c->m, THREAD_ROWS, "thread.y");
    gpu_loop(g, s, c->k, 1, NULL);
    text_printf(&g->out, " %s%%%d:thread.x", s->iter[c->n].name, t->scores / PARTS / t->x);
    gpu_loop(g, s, c->m, 1, NULL);
    gpu_loop(g, s, c->n, 1, NULL);
    text_add(&g->out, "\n    place shared\n");
    write_copy(g, s, c->a, c->m, g->cost->score_rows, 1);
    write_copy(g, s, c->b, c->n, t->scores, t->score_stages);
}

static void write_inside(Gpu *g, const StmtFacts *f, const ScoreRows *r) {
    int row = of_class(f, r->row), column = of_class(f, r->column);
    write_head(g, f, r);
    if (column >= 0) gpu_loop(g, f->s, column, GPU_VECTOR * r->tile->x, NULL);
    if (column >= 0) gpu_loop(g, f->s, column, GPU_VECTOR, "thread.x");
    gpu_loop(g, f->s, row, THREAD_ROWS, "thread.y");
    gpu_loop(g, f->s, row, 1, "thread.z");
    if (column >= 0) gpu_loop(g, f->s, column, 1, NULL);
    bool sums = column >= 0 && f->s->iter[column].reduction;
    text_printf(&g->out, "\n    unroll %d\n",
                sums ? g->cost->score_unroll_sums : g->cost->score_unroll);
}

static void write_last(Gpu *g, const StmtFacts *f, const ScoreRows *r) {
    const Contraction *c = &r->last;
    const GpuScoreTile *t = r->tile;
    const Stmt *s = f->s;
    write_head(g, f, r);
    gpu_loop(g, s, c->k, t->values, NULL);
    gpu_loop(g, s, c->k, t->values / PARTS, "thread.z");
    gpu_loop(g, s, c->m, THREAD_ROWS, "thread.y");
    gpu_loop(g, s, c->k, 1, NULL);
    if (c->N > GPU_VECTOR * t->x) gpu_loop(g, s, c->n, GPU_VECTOR * t->x, NULL);
    gpu_loop(g, s, c->n, GPU_VECTOR, "thread.x");
    gpu_loop(g, s, c->m, 1, NULL);
    gpu_loop(g, s, c->n, 1, NULL);
    text_char(&g->out, '\n');
    write_copy(g, s, c->b, c->k, t->values, t->value_stages);
}

// Are there enough blocks for all processors?
static bool fills(const Gpu *g, const ScoreRows *r) {
    const StmtFacts *f = &g->f->stmt[r->first_stmt];
    int64_t batch = r->batch < 0 ? 1 : iter_extent(&f->s->iter[of_class(f, r->batch)]);
    return batch * ceil_div(r->first.M, g->cost->score_rows) >= g->m->processors;
}

// Do the statements from `first` to before `end` reduce scores?
static bool reduces_scores(const Gpu *g, const ScoreRows *r, int end) {
    for (int k = r->first_stmt + 1; k < end; k++) {
        int column = of_class(&g->f->stmt[k], r->column);
        if (column >= 0 && g->p->stmts.at[k].iter[column].reduction) return true;
    }
    return false;
}

int gpu_try_scores(Gpu *g, int i) {
    ScoreRows r = {.first_stmt = i};
    if (!begins(g, i, &r)) return 0;
    int end = i + 1;
    while (end < g->p->stmts.n && is_inside(g, &r, &g->f->stmt[end])) end++;
    bool again = end < g->p->stmts.n && end > i + 1 && ends(g, end, &r);
    if (!again) r.last = (Contraction){0};
    if (!again && !reduces_scores(g, &r, end)) return 0;
    r.tile = tile_of(g, &r);
    if (!r.tile || !fills(g, &r) || stmt_last_reader(g->f, i) >= end + again) return 0;
    write_first(g, &g->f->stmt[i], &r);
    for (int k = i + 1; k < end; k++) write_inside(g, &g->f->stmt[k], &r);
    if (again) write_last(g, &g->f->stmt[end], &r);
    return end + again - i;
}
