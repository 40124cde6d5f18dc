// Layers: products whose rows are those of the product before, as in a small network.
//
//     H[b, o] += I[b, n]*W[o, n]   H[b, o] = max(H[b, o] + B[o], 0)   O[b, p] += H[b, o]*V[p, o]
//
// Each launch costs more than such a product. A block computes one row of all of them, and keeps
// what only they use in shared memory: a few lanes divide each sum, and each result has its own.
#include "base/checked.h"
#include "choose/choose_gpu_impl.h"

// A product of three iterators, both factors along k. `row` is the class of its rows; -1: any.
static bool is_layer(const Gpu *g, int i, int row, Contraction *c) {
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    if (!f->injective || s->serial || s->niters != 3 || !gpu_product(g, s, c)) return false;
    if (gpu_contiguous(g, s, c->a) != c->k || gpu_contiguous(g, s, c->b) != c->k) return false;
    const GpuCost *cost = g->cost;
    return (row < 0 || f->class[c->m] == row) && c->N <= cost->layer_results &&
           c->N * c->K <= cost->layer_weights &&
           cost->layer_rows_least * c->M >= g->m->processors &&
           c->M <= cost->layer_rows_most * g->m->processors;
}

// An element-wise statement on the rows: its iterators, or false.
static bool is_between(const Gpu *g, int i, int row, int *rows, int *inner) {
    const StmtFacts *f = &g->f->stmt[i];
    const Stmt *s = f->s;
    if (!f->injective || s->serial || f->has_reduction || s->niters != 2 || s->nconstraints ||
        s->unproven || f->snapshot)
        return false;
    *rows = f->class[0] == row ? 0 : 1;
    *inner = 1 - *rows;
    return f->class[*rows] == row && iter_extent(&s->iter[*inner]) <= g->cost->layer_results;
}

static void write_layer(Gpu *g, const Stmt *s, const Contraction *c) {
    int values = g->cost->layer_lanes * GPU_VECTOR;
    gpu_label(g, s, "");
    gpu_loop(g, s, c->m, 1, "grid.z"); // no axis of rows: those have other threads
    if (c->K > values) gpu_loop(g, s, c->k, values, NULL);
    gpu_loop(g, s, c->k, GPU_VECTOR, "thread.x");
    gpu_loop(g, s, c->n, 1, "thread.y");
    gpu_loop(g, s, c->k, 1, NULL);
    text_char(&g->out, '\n');
}

// Which of the statements from i on are layers: their number; *products: how many are products.
static int count_layers(const Gpu *g, int i, int *products) {
    Contraction c;
    int n = 1, rows, inner;
    *products = 1;
    if (!is_layer(g, i, -1, &c)) return 0;
    int row = g->f->stmt[i].class[c.m];
    for (; i + n < g->p->stmts.n; n++) {
        if (!stmts_depend(&g->f->stmt[i + n - 1], &g->f->stmt[i + n])) break;
        if (is_layer(g, i + n, row, &c))
            ++*products;
        else if (!is_between(g, i + n, row, &rows, &inner))
            break;
    }
    return n;
}

int gpu_try_layers(Gpu *g, int i) {
    int products, n = count_layers(g, i, &products), row = -1;
    if (n < 2 || products < 2) return 0;
    for (int k = i; k < i + n; k++) {
        const Stmt *s = &g->p->stmts.at[k];
        Contraction c;
        int rows, inner;
        bool layer = is_layer(g, k, row, &c);
        if (layer) {
            row = g->f->stmt[k].class[c.m];
            write_layer(g, s, &c);
        } else if (is_between(g, k, row, &rows, &inner)) {
            gpu_label(g, s, "");
            gpu_loop(g, s, rows, 1, "grid.z");
            gpu_loop(g, s, inner, 1, "thread.y");
            text_char(&g->out, '\n');
        }
        bool temporary = s->write->tensor >= g->p->ninputs + g->p->noutputs;
        if (layer && temporary && stmt_last_reader(g->f, k) < i + n)
            text_add(&g->out, "    place shared\n");
    }
    return n;
}
