// A program of the user's own, against C compilers, and against the library call that gives the
// same result, where there is one.
//
// Which call that is follows from shapes and from results: every task whose operands have the
// shapes of the program's arguments is asked for, and a peer whose result is ours, on data of which
// sums of products are exact, does what the program does.
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct Shapes {
    int n, inputs;
    const DLTensor *t[BENCH_ARGS];
} Shapes;

static bool is_f32(const Shapes *s, int i, int rank) {
    return i < s->n && s->t[i]->ndim == rank && s->t[i]->dtype.code == kDLFloat &&
           s->t[i]->dtype.bits == 32;
}

#define D(i, d) ((long long)s->t[i]->shape[d])

// Two operands and one result, of which the shapes are a product's; `turned`: the second operand
// is stored the other way round.
static char *product(const Shapes *s, bool turned) {
    int rank = s->n == 3 ? s->t[2]->ndim : 0, row = rank - 2, column = rank - 1;
    if (s->inputs != 2 || (rank != 2 && rank != 3)) return NULL;
    for (int i = 0; i < 3; i++)
        if (!is_f32(s, i, rank) || (rank == 3 && D(i, 0) != D(0, 0))) return NULL;
    long long m = D(2, row), n = D(2, column), k = D(0, column);
    if (D(0, row) != m || D(1, turned ? column : row) != k || D(1, turned ? row : column) != n)
        return NULL;
    if (rank == 2 && !turned) return cli_printf("gemm %lld %lld %lld", m, n, k);
    return cli_printf("bgemm %lld %lld %lld %lld %d", rank == 3 ? D(0, 0) : 1, m, n, k, turned);
}

// Images and filters with channels last, borders so wide that the image keeps its size.
static char *convolution(const Shapes *s) {
    if (s->inputs != 2 || s->n != 3 || !is_f32(s, 0, 3) || !is_f32(s, 2, 3)) return NULL;
    if (D(0, 0) != D(2, 0) || D(0, 1) != D(2, 1)) return NULL;
    if (is_f32(s, 1, 4) && D(1, 0) == D(1, 1) && D(1, 2) == D(0, 2) && D(1, 3) == D(2, 2))
        return cli_printf("conv 1 %lld %lld %lld %lld %lld 1 %lld 1", D(0, 0), D(0, 1), D(0, 2),
                          D(2, 2), D(1, 0), D(1, 0) / 2);
    if (is_f32(s, 1, 3) && D(1, 0) == D(1, 1) && D(1, 2) == D(0, 2) && D(2, 2) == D(0, 2))
        return cli_printf("conv 1 %lld %lld %lld %lld %lld 1 %lld %lld", D(0, 0), D(0, 1), D(0, 2),
                          D(2, 2), D(1, 0), D(1, 0) / 2, D(0, 2));
    return NULL;
}

// One operand, a matrix: the number-th of what can be done with it.
static char *matrix(const Shapes *s, int number) {
    static const char *const ops[] = {"softmax", "transpose", "rowsum", "colsum"};
    if (s->inputs != 1 || !is_f32(s, 0, 2) || number >= 4) return NULL;
    const DLTensor *out = s->t[1];
    long long m = D(0, 0), n = D(0, 1);
    bool fits = number == 0   ? out->ndim == 2 && D(1, 0) == m && D(1, 1) == n
                : number == 1 ? out->ndim == 2 && D(1, 0) == n && D(1, 1) == m
                : number == 2 ? out->ndim == 1 && D(1, 0) == m
                              : out->ndim == 1 && D(1, 0) == n;
    return fits ? cli_printf("%s %lld %lld", ops[number], m, n) : NULL;
}

static char *candidate(const Shapes *s, int number) {
    if (number <= 1) return product(s, number == 1);
    if (number == 2) return convolution(s);
    if (number == 3 && s->inputs == 1 && is_f32(s, 0, 1) && is_f32(s, 1, 1))
        return cli_printf("copy %lld", D(0, 0));
    return number >= 4 ? matrix(s, number - 4) : NULL;
}

// Does anybody who knows the task give our result?
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
    for (int number = 0; number < 8; number++) {
        char *task = candidate(&s, number);
        if (!task) continue;
        *rounded = number == 4;
        if (agrees(b, k, task, *rounded)) return task;
        free(task);
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
    if (b->out && r->schedule) fprintf(b->out, "  loops: %s\n", r->schedule);
    if (b->out && r->check) fprintf(b->out, "  result equal to that of %s\n", r->check);
    return EXIT_OK;
}
