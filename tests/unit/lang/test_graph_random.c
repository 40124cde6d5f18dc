// Random views, and views of views, against their definition: an element of a view is the element
// of its input whose indices satisfy all relations, found by trying all of them, or the border when
// there is none.
#include "unit/lab.h"

#include "lang/graph.h"

enum { MAX_IN = 2, MAX_OUT = 3 };

// One relation: Σ in[i]·i + Σ out[o]·o + constant = 0, and as text.
typedef struct Linear {
    int64_t in[MAX_IN], out[MAX_OUT], constant;
    char text[256];
} Linear;

// One view: from dimensions `from`0, `from`1, ... to dimensions `to`0, ...
typedef struct Layer {
    char from, to;
    int nin, nout, nrelations;
    int64_t in_size[MAX_IN], out_size[MAX_OUT];
    Linear relation[MAX_IN];
    bool identity; // its border; otherwise the constant
    double border;
} Layer;

typedef struct Trial {
    uint64_t random;
    int nlayers;
    Layer layer[2];
    bool symbolic; // sizes are bound late
    ExprOp reduce; // over the last output dimension; OP_COUNT: none
} Trial;

static int64_t between(Trial *t, int64_t lo, int64_t hi) {
    return lo + (int64_t)(check_random(&t->random) % (uint64_t)(hi - lo + 1));
}

static bool chance(Trial *t, int percent) { return between(t, 0, 99) < percent; }

// in = a·o + b·p + c
static void direct(Trial *t, Layer *y, Linear *l, int in) {
    int o = (int)between(t, 0, y->nout - 1), p = (int)between(t, 0, y->nout - 1);
    int64_t a = between(t, -2, 2), b = chance(t, 50) ? between(t, -1, 1) : 0, c = between(t, -3, 3);
    l->in[in] = -1;
    l->out[o] += a;
    l->out[p] += b;
    l->constant = c;
    snprintf(l->text, sizeof l->text, "%c%d = %d*%c%d + %d*%c%d + %d", y->from, in, (int)a, y->to,
             o, (int)b, y->to, p, (int)c);
}

// a·in + c = o + b·p: with holes where a is not ±1.
static void inverse(Trial *t, Layer *y, Linear *l, int in) {
    int o = (int)between(t, 0, y->nout - 1), p = (int)between(t, 0, y->nout - 1);
    int64_t a = chance(t, 20) ? -1 : between(t, 1, 3), b = between(t, -1, 1), c = between(t, -2, 2);
    l->in[in] = -a;
    l->out[o] += 1;
    l->out[p] += b;
    l->constant = -c;
    snprintf(l->text, sizeof l->text, "%d*%c%d + %d = %c%d + %d*%c%d", (int)a, y->from, in, (int)c,
             y->to, o, (int)b, y->to, p);
}

// o = first·size(second) + second + c
static void flat(Trial *t, Layer *y, Linear *l, int first) {
    int second = 1 - first, o = (int)between(t, 0, y->nout - 1);
    int64_t c = between(t, -1, 2);
    l->in[first] = -y->in_size[second];
    l->in[second] = -1;
    l->out[o] = 1;
    l->constant = -c;
    snprintf(l->text, sizeof l->text, "%c%d = %c%d*size(%c%d) + %c%d + %d", y->to, o, y->from,
             first, y->from, second, y->from, second, (int)c);
}

static void make_layer(Trial *t, Layer *y, int max_out) {
    y->nout = (int)between(t, 1, max_out);
    for (int i = 0; i < y->nout; i++) y->out_size[i] = between(t, 1, 6);
    y->identity = chance(t, 50);
    if (y->nin == 2 && chance(t, 30)) {
        y->nrelations = 1;
        flat(t, y, &y->relation[0], (int)between(t, 0, 1));
        return;
    }
    y->nrelations = y->nin;
    for (int i = 0; i < y->nin; i++) {
        if (chance(t, 60))
            direct(t, y, &y->relation[i], i);
        else
            inverse(t, y, &y->relation[i], i);
    }
}

static void make_trial(Trial *t) {
    Layer *first = &t->layer[0], *second = &t->layer[1];
    t->nlayers = chance(t, 50) ? 2 : 1;
    *first = (Layer){.from = 'I', .to = 'M', .border = 1000};
    first->nin = (int)between(t, 1, MAX_IN);
    for (int i = 0; i < first->nin; i++) first->in_size[i] = between(t, 1, 4);
    make_layer(t, first, t->nlayers == 2 ? MAX_IN : MAX_OUT);
    if (t->nlayers == 2) {
        *second = (Layer){.from = 'M', .to = 'O', .border = 2000, .nin = first->nout};
        memcpy(second->in_size, first->out_size, sizeof second->in_size);
        make_layer(t, second, MAX_OUT);
    }
    t->symbolic = chance(t, 50);
    static const ExprOp ops[] = {OP_ADD, OP_MAX, OP_MIN, OP_COUNT};
    t->reduce = ops[between(t, 0, 3)];
}

static bool holds(const Layer *y, const Linear *l, const int64_t *in, const int64_t *out) {
    int64_t sum = l->constant;
    for (int i = 0; i < y->nin; i++) sum += l->in[i] * in[i];
    for (int o = 0; o < y->nout; o++) sum += l->out[o] * out[o];
    return sum == 0;
}

// The indices of element number e.
static void unravel(int64_t e, int rank, const int64_t *size, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) index[i] = e % size[i], e /= size[i];
}

static int64_t elements(int rank, const int64_t *size) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= size[i];
    return n;
}

// The element of the input for an element of the view; -1: none.
static int64_t find(const Layer *y, int64_t element) {
    int64_t in[MAX_IN], out[MAX_OUT];
    unravel(element, y->nout, y->out_size, out);
    for (int64_t e = 0; e < elements(y->nin, y->in_size); e++) {
        bool all = true;
        unravel(e, y->nin, y->in_size, in);
        for (int r = 0; r < y->nrelations; r++) all &= holds(y, &y->relation[r], in, out);
        if (all) return e;
    }
    return -1;
}

// The value of a view's element; `none` is the value of an identity border.
static double element_of(const Trial *t, int layer, int64_t e, const double *data, double none) {
    if (layer < 0) return data[e];
    const Layer *y = &t->layer[layer];
    int64_t from = find(y, e);
    if (from < 0) return y->identity ? none : y->border;
    return element_of(t, layer - 1, from, data, none);
}

static double combine(ExprOp op, double a, double b) {
    return op == OP_ADD ? a + b : op == OP_MAX ? (a > b ? a : b) : (a < b ? a : b);
}

static int64_t expect(const Trial *t, const double *data, double *want) {
    const Layer *top = &t->layer[t->nlayers - 1];
    int64_t total = elements(top->nout, top->out_size), last = top->out_size[top->nout - 1];
    bool reduces = t->reduce != OP_COUNT;
    double start = t->reduce == OP_MAX ? -1.0 / 0.0 : t->reduce == OP_MIN ? 1.0 / 0.0 : 0;
    for (int64_t e = 0; e < total; e++) {
        double v = element_of(t, t->nlayers - 1, e, data, start);
        if (!reduces)
            want[e] = v;
        else
            want[e / last] = combine(t->reduce, e % last ? want[e / last] : start, v);
    }
    return reduces ? total / last : total;
}

// Dimensions `name`0, `name`1, ..., and their sizes or, if symbolic, the sizes to bind.
static void add_dims(Lab *lab, const Trial *t, Graph *g, char name, int n, const int64_t *size,
                     int *dims) {
    for (int i = 0; i < n; i++) {
        dims[i] = graph_dim(g, arena_printf(&lab->arena, "%c%d", name, i));
        if (t->symbolic)
            graph_dim_param(g, dims[i]);
        else
            graph_dim_size(g, dims[i], size[i]);
    }
}

static const int64_t *bind_sizes(Lab *lab, const Trial *t, const Program *p) {
    int64_t *values = arena_new_n(&lab->arena, int64_t, p->params.n + 1);
    for (int i = 0; i < p->params.n; i++) {
        const char *name = p->params.at[i].name;
        int axis = name[1] - '0';
        for (int k = 0; k < t->nlayers; k++) {
            const Layer *y = &t->layer[k];
            if (name[0] == y->from) values[i] = y->in_size[axis];
            if (name[0] == y->to) values[i] = y->out_size[axis];
        }
    }
    return values;
}

static Graph *make_graph(Lab *lab, const Trial *t) {
    Graph *g = graph_new(&lab->arena, &lab->names, "trial", &lab->diags);
    int in[MAX_IN], out[MAX_OUT];
    add_dims(lab, t, g, 'I', t->layer[0].nin, t->layer[0].in_size, in);
    int v = graph_read(g, "X", TYPE_F64, t->layer[0].nin, in), nout = 0;
    for (int k = 0; k < t->nlayers; k++) {
        const Layer *y = &t->layer[k];
        nout = y->nout;
        add_dims(lab, t, g, y->to, nout, y->out_size, out);
        int border = y->identity ? GRAPH_BORDER_IDENTITY : graph_const(g, TYPE_F64, y->border);
        const char *text = y->relation[0].text;
        if (y->nrelations == 2)
            text = arena_printf(&lab->arena, "%s, %s", text, y->relation[1].text);
        v = graph_view(g, v, nout, out, text, border);
    }
    if (t->reduce != OP_COUNT) v = graph_reduce(g, t->reduce, v, 1, &out[nout - 1]);
    graph_write(g, "Y", v, graph_rank(g, v), out);
    return g;
}

static bool run_trial(uint64_t seed) {
    Trial t = {.random = seed};
    make_trial(&t);
    Lab *lab = lab_new();
    double data[16], want[6 * 6 * 6];
    for (int i = 0; i < 16; i++) data[i] = i - 20;
    int64_t n = expect(&t, data, want);
    Graph *g = make_graph(lab, &t);
    Program *p = graph_build(&lab->arena, g);
    lab_show(lab);
    bool ok = CHECK(p);
    if (ok) {
        const double *inputs[] = {data};
        const double *got = lab_run(lab, p, bind_sizes(lab, &t, p), inputs, 0);
        ok = CHECK(got) && CHECK_INT_EQ(lab->count, n);
        for (int64_t i = 0; ok && i < n; i++) ok = CHECK(got[i] == want[i]);
    }
    if (!ok) {
        Text text = {.arena = &lab->arena};
        graph_print(&text, g);
        printf("  seed %" PRIu64 "\n%s", seed, text_str(&text));
    }
    lab_free(lab);
    return ok;
}

TEST(graph_random_views) {
    for (int64_t seed = 0; seed < check_rounds(4000); seed++)
        if (!run_trial((uint64_t)seed)) return;
}
