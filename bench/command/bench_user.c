// A user's program compared with C compilers, and with an equivalent library call, if there is one.
//
// The call is found by shapes and results: every task whose operands have the shapes of the
// program's arguments is tried, and a peer with our result, on data whose sums of products are
// exact, is equivalent to the program.
#include "command/bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct Shapes {
    int n, inputs;
    const DLTensor *t[BENCH_ARGS];
} Shapes;

static bool is(const Shapes *s, int i, int rank, int code, int bits) {
    return i < s->n && s->t[i]->ndim == rank && s->t[i]->dtype.code == code &&
           s->t[i]->dtype.bits == bits;
}

static bool is_f32(const Shapes *s, int i, int rank) { return is(s, i, rank, kDLFloat, 32); }

#define D(i, d) ((long long)s->t[i]->shape[d])

// The product of a tensor's extents except the last `but` ones.
static long long joined(const Shapes *s, int i, int but) {
    long long n = 1;
    for (int d = 0; d < s->t[i]->ndim - but; d++) n *= D(i, d);
    return n;
}

// --- Candidate tasks -----------------------------------------------------------------------------
// Each returns the number-th task; "": it does not match the shapes; NULL: there are no more.

// Two operands and one result with the shapes of a product. Number 0: not transposed; 1: the second
// operand is transposed; 2: the first one is.
static char *product(const Shapes *s, int number) {
    int rank = s->n == 3 ? s->t[2]->ndim : 0, row = rank - 2, column = rank - 1;
    if (number > 2 || s->inputs != 2 || (rank != 2 && rank != 3)) return NULL;
    for (int i = 0; i < 3; i++)
        if (!is_f32(s, i, rank) || (rank == 3 && D(i, 0) != D(0, 0))) return cli_printf("%s", "");
    bool left = number == 2, right = number == 1;
    long long m = D(2, row), n = D(2, column), k = D(0, left ? row : column);
    if (D(0, left ? column : row) != m || D(1, right ? column : row) != k ||
        D(1, right ? row : column) != n)
        return cli_printf("%s", "");
    if (rank == 2 && !number) return cli_printf("gemm %lld %lld %lld", m, n, k);
    return cli_printf("bgemm %lld %lld %lld %lld %d", rank == 3 ? D(0, 0) : 1, m, n, k, number);
}

// A tensor whose last dimension is summed, with a matrix or a vector: the other dimensions are
// collapsed to rows. Pointwise convolutions are such products. Also dot products of vectors.
static char *flat_product(const Shapes *s, int number) {
    if (number || s->inputs != 2 || s->n != 3) return NULL;
    int rank = s->t[0]->ndim;
    if (rank < 1 || !is_f32(s, 0, rank) || !is_f32(s, 1, s->t[1]->ndim)) return NULL;
    long long m = joined(s, 0, 1), k = D(0, rank - 1);
    if (is_f32(s, 1, 1) && is_f32(s, 2, rank - 1) && D(1, 0) == k && joined(s, 2, 0) == m)
        return cli_printf("gemm %lld 1 %lld", m, k);
    if (!is_f32(s, 1, 2) || !is_f32(s, 2, rank) || D(1, 0) != k || joined(s, 2, 1) != m)
        return NULL;
    return rank > 2 && D(2, rank - 1) == D(1, 1) ? cli_printf("gemm %lld %lld %lld", m, D(1, 1), k)
                                                 : NULL;
}

static char *double_product(const Shapes *s, int number) {
    if (number || s->inputs != 2 || s->n != 3) return NULL;
    for (int i = 0; i < 3; i++)
        if (!is(s, i, 2, kDLFloat, 64)) return NULL;
    if (D(0, 0) == D(2, 0) && D(0, 1) == D(1, 0) && D(1, 1) == D(2, 1))
        return cli_printf("einsum64 ij,jk->ik %lldx%lld %lldx%lld", D(0, 0), D(0, 1), D(1, 0),
                          D(1, 1));
    return D(0, 0) == D(2, 0) && D(0, 1) == D(1, 1) && D(1, 0) == D(2, 1)
               ? cli_printf("einsum64 ij,kj->ik %lldx%lld %lldx%lld", D(0, 0), D(0, 1), D(1, 0),
                            D(1, 1))
               : NULL;
}

// The stride and border by which a filter of size r maps an image of size `in` to `out`: the
// number-th combination of stride one or two and no or "same" border. False: it does not match.
static bool window(long long in, long long out, long long r, int number, int *stride, int *border) {
    *stride = 1 + number / 2, *border = number % 2 ? (int)(r / 2) : 0;
    return (in + 2 * *border - r) / *stride + 1 == out && !(number % 2 && r == 1);
}

// Images with channels last, one or several (`many`), filters R x R x C x K, or R x R x C
// (depthwise).
static char *convolution(const Shapes *s, int number) {
    int many = s->n == 3 && s->t[0]->ndim == 4, stride, border;
    if (number > 3 || s->inputs != 2 || s->n != 3 || !is_f32(s, 0, 3 + many) ||
        !is_f32(s, 2, 3 + many))
        return NULL;
    bool deep = is_f32(s, 1, 3);
    if ((!deep && !is_f32(s, 1, 4)) || D(1, 0) != D(1, 1)) return NULL;
    long long images = many ? D(0, 0) : 1, h = D(0, many), w = D(0, many + 1), c = D(0, many + 2);
    long long r = D(1, 0), k = D(2, many + 2);
    if (D(1, 2) != c || (deep ? k != c : D(1, 3) != k) || (many && D(2, 0) != images)) return NULL;
    if (!window(h, D(2, many), r, number, &stride, &border) ||
        !window(w, D(2, many + 1), r, number, &stride, &border))
        return cli_printf("%s", "");
    return cli_printf("conv %lld %lld %lld %lld %lld %lld %d %d %lld", images, h, w, c, k, r,
                      stride, border, deep ? c : 1);
}

// Channels first, filters K x C x R x R.
static char *channels_first(const Shapes *s, int number) {
    int stride, border;
    if (number > 3 || s->inputs != 2 || s->n != 3) return NULL;
    for (int i = 0; i < 3; i++)
        if (!is_f32(s, i, 4)) return NULL;
    if (D(0, 1) != D(1, 1) || D(1, 0) != D(2, 1) || D(0, 0) != D(2, 0) || D(1, 2) != D(1, 3))
        return NULL;
    if (!window(D(0, 2), D(2, 2), D(1, 2), number, &stride, &border) ||
        !window(D(0, 3), D(2, 3), D(1, 2), number, &stride, &border))
        return cli_printf("%s", "");
    return cli_printf("conv2d %lld %lld %lld %lld %lld %lld %d %d", D(0, 0), D(0, 1), D(1, 0),
                      D(0, 2), D(0, 3), D(1, 2), stride, border);
}

// Vectors of one length.
static char *stream(const Shapes *s, int number) {
    static const char *const of_two[] = {"axpy", "triad", "chain"};
    for (int i = 0; i < s->n; i++)
        if (!is_f32(s, i, 1) || D(i, 0) != D(0, 0)) return NULL;
    if (s->inputs == 1 && s->n == 2 && !number) return cli_printf("copy %lld", D(0, 0));
    return s->inputs == 2 && s->n == 3 && number < 3
               ? cli_printf("%s %lld", of_two[number], D(0, 0))
               : NULL;
}

// One operand, a matrix.
static char *matrix(const Shapes *s, int number) {
    static const char *const ops[] = {"softmax", "transpose", "rowsum", "colsum", "moments"};
    if (s->inputs != 1 || !is_f32(s, 0, 2) || number >= 5) return NULL;
    const DLTensor *out = s->t[1];
    long long m = D(0, 0), n = D(0, 1);
    bool fits = number == 0   ? out->ndim == 2 && D(1, 0) == m && D(1, 1) == n
                : number == 1 ? out->ndim == 2 && D(1, 0) == n && D(1, 1) == m
                : number == 3 ? out->ndim == 1 && D(1, 0) == n
                              : out->ndim == 1 && D(1, 0) == m;
    if (!fits || !is_f32(s, 1, out->ndim)) return cli_printf("%s", "");
    return cli_printf("%s %lld %lld", ops[number], m, n);
}

// A matrix and parameters: a normalisation of rows, or a layer of a network.
static char *layer(const Shapes *s, int number) {
    if (number || s->inputs != 3 || !is_f32(s, 0, 2) || !is_f32(s, 2, 1) || !is_f32(s, 3, 2))
        return NULL;
    if (is_f32(s, 1, 1) && D(1, 0) == D(0, 1) && D(2, 0) == D(0, 1) && D(3, 1) == D(0, 1))
        return cli_printf("layernorm %lld %lld", D(0, 0), D(0, 1));
    return is_f32(s, 1, 2) && D(1, 1) == D(0, 1) && D(2, 0) == D(1, 0) && D(3, 1) == D(1, 0)
               ? cli_printf("fcrelu %lld %lld %lld", D(0, 0), D(0, 1), D(1, 0))
               : NULL;
}

// Rows of a table by subscripts, or sums of several.
static char *table(const Shapes *s, int number) {
    if (number || s->inputs != 2 || s->n != 3 || !is_f32(s, 0, 2) || !is_f32(s, 2, 2)) return NULL;
    if (D(2, 1) != D(0, 1) || D(2, 0) != D(1, 0)) return NULL;
    if (is(s, 1, 1, kDLInt, 32))
        return cli_printf("embedding %lld %lld %lld", D(0, 0), D(0, 1), D(1, 0));
    return is(s, 1, 2, kDLInt, 32)
               ? cli_printf("lut %lld %lld %lld %lld", D(1, 0), D(0, 1), D(1, 1), D(0, 0))
               : NULL;
}

static const struct {
    char *(*task)(const Shapes *s, int number);
    bool rounded; // results may differ by rounding
} patterns[] = {{product, false},     {flat_product, false},   {double_product, false},
                {convolution, false}, {channels_first, false}, {stream, true},
                {matrix, true},       {layer, true},           {table, false}};

// Whether any peer with this task gives our result.
static bool agrees(Bench *b, BenchKernel *k, const char *task, bool rounded) {
    static Trial t;
    t = (Trial){0};
    bool same = false;
    rivals_add(&b->lab, &t, task, !strcmp(b->machine->isa, "avx512") ? RIVAL_AVX512 : RIVAL_AVX2,
               b->only_peers);
    bench_kernel_call(k);
    for (int i = 0; i < t.n && !same; i++) {
        float *x = peer_fetch(t.entry[i].peer, (k->bytes[k->inputs] + 3) / 4);
        same = x && bench_kernel_same(k, x, rounded);
        free(x);
    }
    return same;
}

static char *library_call(Bench *b, BenchKernel *k, bool *rounded) {
    Shapes s = {.n = k->n, .inputs = k->inputs};
    for (int i = 0; i < k->n; i++) s.t[i] = lw_bound_tensor(k->bound, (size_t)i);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        char *task;
        for (int number = 0; (task = patterns[p].task(&s, number)) != NULL; number++) {
            *rounded = patterns[p].rounded;
            if (*task && agrees(b, k, task, *rounded)) return task;
            free(task);
        }
    }
    return NULL;
}

int bench_program(Bench *b) {
    static BenchItem item;
    item = (BenchItem){.suite = "program", .group = b->cli->words[0], .c = true, .rounded = true};
    BenchKernel k = {0};
    bench_kernel_open(&k, b, &item);
    int status = k.error ? EXIT_FAILED : EXIT_OK;
    if (k.error && k.bound) cli_fail(b->cli, "%s", k.error);
    if (!status) {
        bool rounded;
        item.name = cli_printf("%s", lw_function_name(lw_bound_function(k.bound)));
        item.task = library_call(b, &k, &rounded);
    }
    bench_kernel_close(&k);
    if (status) return status;
    bench_describe(b);
    BenchJob job = {.item = &item, .kind = &bench_kernels};
    bench_jobs(b, &job, 1);
    BenchRow *r = &b->row[b->n - 1];
    if (b->out && item.task) fprintf(b->out, "  the same as `%s`\n", item.task);
    if (b->out && !item.task && !b->alone && b->lab.npeers)
        fprintf(b->out, "  no library call that is known here gives this result\n");
    if (b->out && r->schedule)
        fprintf(b->out, "  loops%s: %s\n", r->tuned ? ", from the tuning database" : "",
                r->schedule);
    if (b->out && r->check) fprintf(b->out, "  result equal to that of %s\n", r->check);
    return EXIT_OK;
}
