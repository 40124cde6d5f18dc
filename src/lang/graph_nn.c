// Compositions: the operations of LoopTool's tensors and nn module, each built from a few nodes.
#include "lang/graph_impl.h"

#include <string.h>

// --- Dimensions of a result --------------------------------------------------------------------

typedef struct Dims {
    int n;
    int at[PROGRAM_MAX_ITERS];
} Dims;

static bool has(const Dims *d, int dim) {
    for (int i = 0; i < d->n; i++)
        if (d->at[i] == dim) return true;
    return false;
}

static void add_dim(Dims *d, int dim) {
    if (!has(d, dim) && d->n < PROGRAM_MAX_ITERS) d->at[d->n++] = dim;
}

static void remove_dim(Dims *d, int dim) {
    int n = 0;
    for (int i = 0; i < d->n; i++)
        if (d->at[i] != dim) d->at[n++] = d->at[i];
    d->n = n;
}

static Dims dims_of(const Graph *g, int x) {
    Dims d = {0};
    for (int i = 0; i < graph_rank(g, x); i++) add_dim(&d, graph_node_dim(g, x, i));
    return d;
}

// Replaces dimension `from` by `to`.
static void replace_dim(Dims *d, int from, int to) {
    for (int i = 0; i < d->n; i++)
        if (d->at[i] == from) d->at[i] = to;
}

static bool there(const Graph *g, int x, int dim) {
    return x >= 0 && x < g->nodes.n && dim >= 0 && dim < g->dims.n;
}

// Reports a requested dimension that x does not have.
static bool lacks(Graph *g, int x, int dim) {
    if (graph_has_dim(&g->nodes.at[x], dim)) return false;
    graph_report(g, DIAG_GRAPH_LACKS_DIM, g->dims.at[dim].name);
    return true;
}

static Name name_of_dim(const Graph *g, int dim) { return g->dims.at[dim].name; }

// --- Element by element, reductions ------------------------------------------------------------

int graph_unary(Graph *g, ExprOp op, int x) { return graph_op(g, op, 1, &x, -1, NULL); }

int graph_binary(Graph *g, ExprOp op, int a, int b) {
    return graph_op(g, op, 2, (int[]){a, b}, -1, NULL);
}

int graph_reduce(Graph *g, ExprOp op, int x, int ndims, const int *dims) {
    Dims keep = dims_of(g, x);
    for (int i = 0; i < ndims; i++) {
        if (!there(g, x, dims[i]) || lacks(g, x, dims[i])) return GRAPH_BAD;
        remove_dim(&keep, dims[i]);
    }
    return graph_op(g, op, 1, &x, keep.n, keep.at);
}

int graph_mean(Graph *g, int x, int ndims, const int *dims) {
    int sum = graph_reduce(g, OP_ADD, x, ndims, dims);
    Text count = {.arena = g->arena};
    text_add(&count, "1");
    for (int i = 0; i < ndims && sum >= 0; i++)
        text_printf(&count, "*size(%s)", name_of_dim(g, dims[i]));
    Type type = graph_type(g, sum);
    if (sum >= 0 && !type_is_float(type)) type = TYPE_F32;
    int n = sum < 0 ? GRAPH_BAD : graph_index(g, type, text_str(&count), 0, NULL);
    return graph_binary(g, OP_DIV, sum, n);
}

// --- Views -------------------------------------------------------------------------------------

int graph_transpose(Graph *g, int x, int ndims, const int *dims) {
    return graph_view(g, x, ndims, dims, "", GRAPH_BORDER_NONE);
}

int graph_rename(Graph *g, int x, int from, int to) {
    if (!there(g, x, from) || !there(g, x, to) || lacks(g, x, from)) return GRAPH_BAD;
    Dims d = dims_of(g, x);
    replace_dim(&d, from, to);
    const char *r = arena_printf(g->arena, "%s = %s", name_of_dim(g, from), name_of_dim(g, to));
    return graph_view(g, x, d.n, d.at, r, GRAPH_BORDER_NONE);
}

int graph_slice(Graph *g, int x, int from, int to, int64_t first, int64_t size) {
    if (!there(g, x, from) || !there(g, x, to) || lacks(g, x, from)) return GRAPH_BAD;
    Dims d = dims_of(g, x);
    replace_dim(&d, from, to);
    const char *r =
        arena_printf(g->arena, "%s = %s + %lld, size(%s) = %lld", name_of_dim(g, from),
                     name_of_dim(g, to), (long long)first, name_of_dim(g, to), (long long)size);
    return graph_view(g, x, d.n, d.at, r, GRAPH_BORDER_NONE);
}

int graph_pad(Graph *g, int x, int from, int to, int64_t before, int64_t after, int border) {
    if (!there(g, x, from) || !there(g, x, to) || lacks(g, x, from)) return GRAPH_BAD;
    Dims d = dims_of(g, x);
    replace_dim(&d, from, to);
    Name inner = name_of_dim(g, from), outer = name_of_dim(g, to);
    const char *r =
        arena_printf(g->arena, "%s = %s + %lld, size(%s) = size(%s) + %lld + %lld", outer, inner,
                     (long long)before, outer, inner, (long long)before, (long long)after);
    return graph_view(g, x, d.n, d.at, r, border);
}

// Inputs concatenated along the same dimension get it renamed, because each needs its own.
static int own_dimension(Graph *g, int x, int i, const int *dims, int *dim) {
    *dim = dims[i];
    for (int k = 0; k < i; k++)
        if (dims[k] == dims[i]) {
            *dim = graph_dim_fresh(g, name_of_dim(g, dims[i]));
            return graph_rename(g, x, dims[i], *dim);
        }
    return x;
}

int graph_concat(Graph *g, int n, const int *inputs, const int *dims, int to) {
    int placed[GRAPH_MAX_INPUTS];
    if (n < 1 || n > GRAPH_MAX_INPUTS || !there(g, inputs[0], to)) return GRAPH_BAD;
    Text r = {.arena = g->arena}, before = {.arena = g->arena};
    for (int i = 0; i < n; i++) {
        int dim;
        if (!there(g, inputs[i], dims[i]) || lacks(g, inputs[i], dims[i])) return GRAPH_BAD;
        placed[i] = own_dimension(g, inputs[i], i, dims, &dim);
        if (placed[i] < 0) return GRAPH_BAD;
        text_printf(&r, "%s = %s%s, ", name_of_dim(g, to), name_of_dim(g, dim), text_str(&before));
        text_printf(&before, " + size(%s)", name_of_dim(g, dim));
    }
    text_printf(&r, "size(%s) = 0%s", name_of_dim(g, to), text_str(&before));
    Dims d = dims_of(g, placed[0]);
    replace_dim(&d, dims[0], to);
    return graph_place(g, REDUCE_ASSIGN, n, placed, d.n, d.at, text_str(&r), GRAPH_BORDER_NONE);
}

int graph_flatten(Graph *g, int x, int ndims, const int *dims, int to) {
    if (!there(g, x, to) || ndims < 1) return GRAPH_BAD;
    Text r = {.arena = g->arena}, size = {.arena = g->arena};
    text_printf(&r, "%s = 0", name_of_dim(g, to));
    text_printf(&size, ", size(%s) = 1", name_of_dim(g, to));
    Dims d = dims_of(g, x);
    for (int i = 0; i < ndims; i++) {
        if (!there(g, x, dims[i]) || lacks(g, x, dims[i])) return GRAPH_BAD;
        text_printf(&r, " + %s", name_of_dim(g, dims[i]));
        for (int k = i + 1; k < ndims; k++) text_printf(&r, "*size(%s)", name_of_dim(g, dims[k]));
        text_printf(&size, "*size(%s)", name_of_dim(g, dims[i]));
        if (i) remove_dim(&d, dims[i]);
    }
    replace_dim(&d, dims[0], to);
    text_add(&r, text_str(&size));
    return graph_view(g, x, d.n, d.at, text_str(&r), GRAPH_BORDER_NONE);
}

int graph_split(Graph *g, int x, int from, int outer, int inner, int64_t inner_size) {
    if (!there(g, x, from) || !there(g, x, outer) || !there(g, x, inner) || lacks(g, x, from))
        return GRAPH_BAD;
    Name f = name_of_dim(g, from), o = name_of_dim(g, outer), i = name_of_dim(g, inner);
    const char *r = arena_printf(
        g->arena, "%s = %s*size(%s) + %s, size(%s) = size(%s)*size(%s), size(%s) = %lld", f, o, i,
        i, f, o, i, i, (long long)inner_size);
    Dims d = dims_of(g, x), out = {0};
    for (int k = 0; k < d.n; k++) {
        add_dim(&out, d.at[k] == from ? outer : d.at[k]);
        if (d.at[k] == from) add_dim(&out, inner);
    }
    return graph_view(g, x, out.n, out.at, r, GRAPH_BORDER_NONE);
}

// --- Windows -----------------------------------------------------------------------------------

// Positions replace the dimension; taps follow at the end. The number of positions includes the
// padding at both ends.
int graph_window(Graph *g, int x, int n, const GraphWindow *w, int border) {
    Dims d = dims_of(g, x);
    Text r = {.arena = g->arena};
    for (int i = 0; i < n; i++) {
        if (!there(g, x, w[i].from) || !there(g, x, w[i].to) || !there(g, x, w[i].taps))
            return GRAPH_BAD;
        if (lacks(g, x, w[i].from)) return GRAPH_BAD;
        int64_t step = w[i].step ? w[i].step : 1, dilation = w[i].dilation ? w[i].dilation : 1;
        Name from = name_of_dim(g, w[i].from), to = name_of_dim(g, w[i].to);
        Name taps = name_of_dim(g, w[i].taps);
        text_printf(&r, "%s%s = %lld*%s + %lld*%s - %lld", i ? ", " : "", from, (long long)step, to,
                    (long long)dilation, taps, (long long)w[i].pad);
        if (w[i].pad)
            text_printf(&r, ", size(%s) = (size(%s) + 2*%lld - %lld*(size(%s) - 1) - 1)/%lld + 1",
                        to, from, (long long)w[i].pad, (long long)dilation, taps, (long long)step);
        replace_dim(&d, w[i].from, w[i].to);
    }
    for (int i = 0; i < n; i++) add_dim(&d, w[i].taps);
    return graph_view(g, x, d.n, d.at, text_str(&r), border);
}

int graph_conv(Graph *g, int x, int weights, int n, const GraphWindow *w, int nsum,
               const int *sum) {
    int windows = graph_window(g, x, n, w, GRAPH_BORDER_IDENTITY);
    int product = graph_binary(g, OP_MUL, windows, weights);
    if (product < 0) return GRAPH_BAD;
    // The dimensions of x in order; the summed ones are replaced by those that only the weights
    // have.
    Dims keep = {0}, of_x = dims_of(g, windows), of_w = dims_of(g, weights), gone = {0};
    for (int i = 0; i < n; i++) add_dim(&gone, w[i].taps);
    for (int i = 0; i < nsum; i++) add_dim(&gone, sum[i]);
    bool filters = false;
    for (int i = 0; i < of_x.n; i++) {
        if (!has(&gone, of_x.at[i])) add_dim(&keep, of_x.at[i]);
        bool here = nsum && of_x.at[i] == sum[0];
        for (int k = 0; k < of_w.n && here; k++)
            if (!has(&of_x, of_w.at[k]) && !has(&gone, of_w.at[k])) add_dim(&keep, of_w.at[k]);
        filters |= here;
    }
    for (int k = 0; k < of_w.n && !filters; k++)
        if (!has(&gone, of_w.at[k])) add_dim(&keep, of_w.at[k]);
    return graph_op(g, OP_ADD, 1, &product, keep.n, keep.at);
}

static int pool(Graph *g, ExprOp op, int x, int n, const GraphWindow *w) {
    int windows = graph_window(g, x, n, w, GRAPH_BORDER_IDENTITY), taps[PROGRAM_MAX_RANK];
    if (windows < 0 || n > PROGRAM_MAX_RANK) return GRAPH_BAD;
    for (int i = 0; i < n; i++) taps[i] = w[i].taps;
    return op == OP_ADD ? graph_mean(g, windows, n, taps) : graph_reduce(g, op, windows, n, taps);
}

int graph_maxpool(Graph *g, int x, int n, const GraphWindow *w) { return pool(g, OP_MAX, x, n, w); }

int graph_avgpool(Graph *g, int x, int n, const GraphWindow *w) { return pool(g, OP_ADD, x, n, w); }

// --- Layers ------------------------------------------------------------------------------------

int graph_softmax(Graph *g, int x, int dim) {
    int largest = graph_reduce(g, OP_MAX, x, 1, &dim);
    int e = graph_unary(g, OP_EXP, graph_binary(g, OP_SUB, x, largest));
    return graph_binary(g, OP_DIV, e, graph_reduce(g, OP_ADD, e, 1, &dim));
}

int graph_matmul(Graph *g, int a, int b, int sum) {
    int product = graph_binary(g, OP_MUL, a, b);
    return product < 0 ? GRAPH_BAD : graph_reduce(g, OP_ADD, product, 1, &sum);
}

int graph_linear(Graph *g, int x, int weights, int bias, int sum) {
    int y = graph_matmul(g, x, weights, sum);
    return bias == GRAPH_BAD ? y : graph_binary(g, OP_ADD, y, bias);
}

int graph_batch_norm(Graph *g, int x, int mean, int variance, int gamma, int beta, double epsilon) {
    int small =
        graph_const(g, graph_type(g, variance) ? graph_type(g, variance) : TYPE_F32, epsilon);
    int scale = graph_unary(g, OP_RSQRT, graph_binary(g, OP_ADD, variance, small));
    int factor = graph_binary(g, OP_MUL, gamma, scale);
    int centred = graph_binary(g, OP_SUB, x, mean);
    return graph_binary(g, OP_ADD, graph_binary(g, OP_MUL, centred, factor), beta);
}
