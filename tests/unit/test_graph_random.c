// Random views against their definition: an element of a view is the element of its input whose
// indices satisfy all relations, found by trying all of them, or the border when there is none.
#include "lab.h"

#include "lang/graph.h"

enum { MAX_IN = 2, MAX_OUT = 3 };

// One relation: Σ in[i]·i + Σ out[o]·o + constant = 0. A number of an axis's dimension or its size.
typedef struct Linear {
    int64_t in[MAX_IN], out[MAX_OUT], constant;
    char text[256];
} Linear;

typedef struct Trial {
    uint64_t random;
    int nin, nout, nrelations;
    int64_t in_size[MAX_IN], out_size[MAX_OUT];
    Linear relation[MAX_IN];
    bool symbolic; // sizes are bound late
    bool identity; // border
    ExprOp reduce; // over the last output dimension; OP_COUNT: none
} Trial;

static int64_t between(Trial *t, int64_t lo, int64_t hi) {
    return lo + (int64_t)(check_random(&t->random) % (uint64_t)(hi - lo + 1));
}

static bool chance(Trial *t, int percent) { return between(t, 0, 99) < percent; }

// in = a·o + b·p + c
static void direct(Trial *t, Linear *l, int in) {
    int o = (int)between(t, 0, t->nout - 1), p = (int)between(t, 0, t->nout - 1);
    int64_t a = between(t, -2, 2), b = chance(t, 50) ? between(t, -1, 1) : 0, c = between(t, -3, 3);
    l->in[in] = -1;
    l->out[o] += a;
    l->out[p] += b;
    l->constant = c;
    snprintf(l->text, sizeof l->text, "I%d = %" PRId64 "*O%d + %" PRId64 "*O%d + %" PRId64, in, a,
             o, b, p, c);
}

// a·in + c = o + b·p: with holes where a is not ±1.
static void inverse(Trial *t, Linear *l, int in) {
    int o = (int)between(t, 0, t->nout - 1), p = (int)between(t, 0, t->nout - 1);
    int64_t a = chance(t, 20) ? -1 : between(t, 1, 3), b = between(t, -1, 1), c = between(t, -2, 2);
    l->in[in] = -a;
    l->out[o] += 1;
    l->out[p] += b;
    l->constant = -c;
    snprintf(l->text, sizeof l->text, "%" PRId64 "*I%d + %" PRId64 " = O%d + %" PRId64 "*O%d", a,
             in, c, o, b, p);
}

// o = first·size(second) + second + c
static void flat(Trial *t, Linear *l, int first) {
    int second = 1 - first, o = (int)between(t, 0, t->nout - 1);
    int64_t c = between(t, -1, 2);
    l->in[first] = -t->in_size[second];
    l->in[second] = -1;
    l->out[o] = 1;
    l->constant = -c;
    snprintf(l->text, sizeof l->text, "O%d = I%d*size(I%d) + I%d + %" PRId64, o, first, second,
             second, c);
}

static void make_trial(Trial *t) {
    t->nin = (int)between(t, 1, MAX_IN);
    t->nout = (int)between(t, 1, MAX_OUT);
    for (int i = 0; i < t->nin; i++) t->in_size[i] = between(t, 1, 4);
    for (int i = 0; i < t->nout; i++) t->out_size[i] = between(t, 1, 6);
    if (t->nin == 2 && chance(t, 30)) {
        t->nrelations = 1;
        flat(t, &t->relation[0], (int)between(t, 0, 1));
    } else {
        t->nrelations = t->nin;
        for (int i = 0; i < t->nin; i++) {
            if (chance(t, 60))
                direct(t, &t->relation[i], i);
            else
                inverse(t, &t->relation[i], i);
        }
    }
    t->symbolic = chance(t, 50);
    t->identity = chance(t, 50);
    static const ExprOp ops[] = {OP_ADD, OP_MAX, OP_MIN, OP_COUNT};
    t->reduce = ops[between(t, 0, 3)];
}

static bool holds(const Trial *t, const Linear *l, const int64_t *in, const int64_t *out) {
    int64_t sum = l->constant;
    for (int i = 0; i < t->nin; i++) sum += l->in[i] * in[i];
    for (int o = 0; o < t->nout; o++) sum += l->out[o] * out[o];
    return sum == 0;
}

// The element of the input that an element of the view stands for; -1: none.
static int64_t find(const Trial *t, const int64_t *out) {
    int64_t total = 1;
    for (int i = 0; i < t->nin; i++) total *= t->in_size[i];
    for (int64_t e = 0; e < total; e++) {
        int64_t in[MAX_IN], rest = e;
        bool all = true;
        for (int i = t->nin - 1; i >= 0; i--) in[i] = rest % t->in_size[i], rest /= t->in_size[i];
        for (int r = 0; r < t->nrelations; r++) all &= holds(t, &t->relation[r], in, out);
        if (all) return e;
    }
    return -1;
}

static double combine(ExprOp op, double a, double b) {
    return op == OP_ADD ? a + b : op == OP_MAX ? (a > b ? a : b) : (a < b ? a : b);
}

enum { BORDER = 1000 };

static int64_t expect(const Trial *t, const double *data, double *want) {
    int64_t total = 1, last = t->out_size[t->nout - 1];
    for (int o = 0; o < t->nout; o++) total *= t->out_size[o];
    bool reduces = t->reduce != OP_COUNT;
    double start = t->reduce == OP_ADD ? 0 : t->reduce == OP_MAX ? -1.0 / 0.0 : 1.0 / 0.0;
    for (int64_t e = 0; e < total; e++) {
        int64_t out[MAX_OUT], rest = e;
        for (int o = t->nout - 1; o >= 0; o--)
            out[o] = rest % t->out_size[o], rest /= t->out_size[o];
        int64_t from = find(t, out);
        double v = from >= 0 ? data[from] : t->identity ? (reduces ? start : 0) : BORDER;
        if (!reduces)
            want[e] = v;
        else
            want[e / last] = combine(t->reduce, e % last ? want[e / last] : start, v);
    }
    return reduces ? total / last : total;
}

static Graph *make_graph(Lab *lab, const Trial *t) {
    Graph *g = graph_new(&lab->arena, &lab->names, "trial", &lab->diags);
    int in[MAX_IN], out[MAX_OUT];
    for (int i = 0; i < t->nin + t->nout; i++) {
        bool is_in = i < t->nin;
        int *d = is_in ? &in[i] : &out[i - t->nin];
        *d = graph_dim(
            g, arena_printf(&lab->arena, "%c%d", is_in ? 'I' : 'O', is_in ? i : i - t->nin));
        if (t->symbolic)
            graph_dim_param(g, *d);
        else
            graph_dim_size(g, *d, is_in ? t->in_size[i] : t->out_size[i - t->nin]);
    }
    int x = graph_read(g, "X", TYPE_F64, t->nin, in);
    int border = t->identity ? GRAPH_BORDER_IDENTITY : graph_const(g, TYPE_F64, BORDER);
    const char *text = t->relation[0].text;
    if (t->nrelations == 2) text = arena_printf(&lab->arena, "%s, %s", text, t->relation[1].text);
    int v = graph_view(g, x, t->nout, out, text, border);
    if (t->reduce != OP_COUNT) v = graph_reduce(g, t->reduce, v, 1, &out[t->nout - 1]);
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
    Program *p = graph_build(&lab->arena, make_graph(lab, &t));
    lab_show(lab);
    bool ok = CHECK(p);
    if (ok) {
        int64_t *sizes = arena_new_n(&lab->arena, int64_t, MAX_IN + MAX_OUT);
        for (int i = 0; i < t.nin; i++) sizes[i] = t.in_size[i];
        for (int o = 0; o < t.nout; o++) sizes[t.nin + o] = t.out_size[o];
        const double *inputs[] = {data};
        const double *got = lab_run(lab, p, sizes, inputs, 0);
        ok = CHECK(got) && CHECK_INT_EQ(lab->count, n);
        for (int64_t i = 0; ok && i < n; i++) ok = CHECK(got[i] == want[i]);
    }
    if (!ok)
        printf("  seed %" PRIu64 ": %s; %s; symbolic %d identity %d reduce %d\n", seed,
               t.relation[0].text, t.relation[1].text, t.symbolic, t.identity, t.reduce);
    lab_free(lab);
    return ok;
}

TEST(graph_random_views) {
    for (int64_t seed = 0; seed < check_rounds(4000); seed++)
        if (!run_trial((uint64_t)seed)) return;
}
