// Graphs: exact results through the interpreter, sizes, text, and every diagnostic.
#include "unit/lab.h"

#include "lang/graph.h"
#include "lang/lang.h"

typedef struct Fixture {
    Lab *lab;
    Graph *g;
} Fixture;

static Fixture begin(const char *name) {
    Lab *lab = lab_new();
    return (Fixture){lab, graph_new(&lab->arena, &lab->names, name, &lab->diags)};
}

static void end(Fixture f) { lab_free(f.lab); }

// Several dimensions at once: dims(g, "m k", out); "n=8" fixes a size.
static const int *dims(Fixture f, const char *names) {
    int *out = arena_new_n(&f.lab->arena, int, 32), n = 0;
    char *copy = arena_strndup(&f.lab->arena, names, strlen(names));
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        char *size = strchr(word, '=');
        if (size) *size = 0;
        out[n] = graph_dim(f.g, word);
        if (size) graph_dim_size(f.g, out[n], strtoll(size + 1, NULL, 10));
        n++;
    }
    return out;
}

static double ramp[65536]; // 0, 1, 2, ...

static const double *const *ramps(void) {
    static const double *all[8];
    for (int i = 0; i < 65536; i++) ramp[i] = i;
    for (int i = 0; i < 8; i++) all[i] = ramp;
    return all;
}

static const double *run(Fixture f, const char *sizes, const double *const *inputs) {
    Program *p = graph_build(&f.lab->arena, f.g);
    lab_show(f.lab);
    if (!CHECK(p)) return NULL;
    return lab_run(f.lab, p, lab_params(f.lab, p, sizes), inputs, 0);
}

static void check_values(Fixture f, const double *got, int n, const double *want) {
    if (!CHECK(got) || !CHECK_INT_EQ(f.lab->count, n)) return;
    for (int i = 0; i < n; i++)
        if (!CHECK_F64_EQ(got[i], want[i])) printf("  element %d\n", i);
}
#define VALUES(f, got, ...)                                                                        \
    do {                                                                                           \
        const double want_[] = {__VA_ARGS__};                                                      \
        check_values(f, got, (int)(sizeof want_ / sizeof *want_), want_);                          \
    } while (0)

// The statements as text: write, operator, value.
static const char *statements(Fixture f, const Program *p) {
    Text t = {.arena = &f.lab->arena};
    Name *tensors = arena_new_n(&f.lab->arena, Name, p->tensors.n);
    Name *params = arena_new_n(&f.lab->arena, Name, p->params.n);
    for (int i = 0; i < p->tensors.n; i++) tensors[i] = p->tensors.at[i].name;
    for (int i = 0; i < p->params.n; i++) params[i] = p->params.at[i].name;
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *st = &p->stmts.at[s];
        Name *iters = arena_new_n(&f.lab->arena, Name, st->niters);
        for (int i = 0; i < st->niters; i++) iters[i] = st->iter[i].name;
        PrintNames names = {.iters = iters, .params = params, .tensors = tensors};
        access_print(&t, st->write, &names);
        text_printf(&t, " %s%s ", reduce_name[st->op], st->init ? "!" : "");
        expr_print(&t, st->value, &names);
        for (int i = 0; i < st->nconstraints; i++) {
            text_add(&t, i ? ", " : " if ");
            affine_print(&t, st->constraint[i], &names);
        }
        text_add(&t, st->post ? " post\n" : "\n");
    }
    return text_str(&t);
}

static const char *built(Fixture f) {
    Program *p = graph_build(&f.lab->arena, f.g);
    lab_show(f.lab);
    return CHECK(p) ? statements(f, p) : "";
}

static int matmul(Fixture f, Type type) {
    const int *d = dims(f, "M N K");
    int a = graph_read(f.g, "A", type, 2, (int[]){d[0], d[2]});
    int b = graph_read(f.g, "B", type, 2, (int[]){d[2], d[1]});
    int c = graph_matmul(f.g, a, b, d[2]);
    graph_write(f.g, "C", c, 2, d);
    return c;
}

// --- Arithmetic --------------------------------------------------------------------------------

TEST(graph_matmul_is_one_statement_as_in_the_language) {
    Fixture f = begin("matmul");
    matmul(f, TYPE_F32);
    Program *p = graph_build(&f.lab->arena, f.g);
    if (!CHECK(p)) return;
    const char *tc = "def matmul(float(M,K) A, float(K,N) B) -> (C) {\n"
                     "    C(m,n) +=! A(m,k) * B(k,n)\n}\n";
    Module *m = tc_infer(
        tc_parse(&f.lab->arena, &f.lab->names, lab_source(f.lab, "mm.tc", tc), &f.lab->diags));
    lab_show(f.lab);
    if (CHECK(m->programs.n == 1)) CHECK_STR_EQ(statements(f, p), statements(f, m->programs.at[0]));
    const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1};
    const double *in[] = {a, b};
    VALUES(f, lab_run(f.lab, p, lab_params(f.lab, p, "M=2,N=2,K=3"), in, 0), 4, 5, 10, 11);
    end(f);
}

TEST(graph_narrow_products_accumulate_wide) {
    Fixture f = begin("narrow");
    int c = matmul(f, TYPE_I8);
    CHECK(graph_type(f.g, c) == TYPE_I32);
    const double a[] = {100, 100};
    const double *in[] = {a, a};
    VALUES(f, run(f, "M=1,N=1,K=2", in), 20000);
    end(f);
}

TEST(graph_broadcasts_and_reduces) {
    Fixture f = begin("sums");
    const int *d = dims(f, "i=2 j=3");
    int a = graph_read(f.g, "A", TYPE_F32, 2, d), b = graph_read(f.g, "B", TYPE_F32, 1, d + 1);
    int sum = graph_binary(f.g, OP_ADD, a, b);
    graph_write(f.g, "S", sum, 2, (int[]){d[1], d[0]}); // and transposes
    const double x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30};
    const double *in[] = {x, y};
    VALUES(f, run(f, "", in), 11, 14, 22, 25, 33, 36);
    end(f);
}

static void check_reduction(ExprOp op, double want) {
    Fixture f = begin("reduce");
    const int *d = dims(f, "i=4");
    int a = graph_read(f.g, "A", TYPE_F64, 1, d);
    graph_write(f.g, "R", graph_reduce(f.g, op, a, 1, d), 0, NULL);
    const double x[] = {-2, -3, -4, -1};
    const double *in[] = {x};
    VALUES(f, run(f, "", in), want);
    end(f);
}

TEST(graph_reductions) {
    check_reduction(OP_ADD, -10);
    check_reduction(OP_MUL, 24);
    check_reduction(OP_MIN, -4);
    check_reduction(OP_MAX, -1);
}

TEST(graph_n_ary_operations_and_nested_products) {
    Fixture f = begin("nary");
    const int *d = dims(f, "i=2");
    int x[3];
    for (int i = 0; i < 3; i++)
        x[i] = graph_read(f.g, (const char *[]){"A", "B", "C"}[i], TYPE_F32, 1, d);
    int p = graph_binary(f.g, OP_MUL, graph_binary(f.g, OP_MUL, x[0], x[1]), x[2]);
    graph_write(f.g, "dot", graph_reduce(f.g, OP_ADD, p, 1, d), 0, NULL);
    graph_write(f.g, "sum", graph_op(f.g, OP_ADD, 3, x, 0, NULL), 0, NULL);
    CHECK_STR_EQ(built(f), "dot[] +=! A[ii]*B[ii]*C[ii]\nsum[] +=! A[ii] + B[ii] + C[ii]\n");
    const double a[] = {1, 2}, b[] = {3, 4}, c[] = {5, 6};
    const double *in[] = {a, b, c};
    VALUES(f, run(f, "", in), 63);
    end(f);
}

TEST(graph_selects_compares_casts) {
    Fixture f = begin("select");
    const int *d = dims(f, "i=4");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d), zero = graph_const(f.g, TYPE_F32, 0);
    int less = graph_binary(f.g, OP_LT, a, zero);
    int scaled = graph_binary(f.g, OP_MUL, a, graph_const(f.g, TYPE_F32, 0.5));
    int leaky = graph_op(f.g, OP_SELECT, 3, (int[]){less, scaled, a}, -1, NULL);
    graph_write(f.g, "R", graph_cast(f.g, TYPE_I32, leaky), 1, d);
    CHECK(graph_type(f.g, less) == TYPE_BOOL);
    const double x[] = {-4, -1, 0, 3.75};
    const double *in[] = {x};
    VALUES(f, run(f, "", in), -2, 0, 0, 3);
    end(f);
}

TEST(graph_index_values) {
    Fixture f = begin("mask");
    const int *d = dims(f, "i=2 j=3");
    int below = graph_index(f.g, TYPE_I64, "i - j", 2, d);
    int mask = graph_binary(f.g, OP_GE, below, graph_const_int(f.g, TYPE_I64, 0));
    graph_write(f.g, "R", graph_cast(f.g, TYPE_F32, mask), 2, d);
    VALUES(f, run(f, "", NULL), 1, 0, 0, 1, 1, 0);
    end(f);
}

TEST(graph_values_used_twice_are_stored_once) {
    Fixture f = begin("twice");
    const int *d = dims(f, "i=2");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d), e = graph_unary(f.g, OP_NEG, a);
    graph_write(f.g, "R", graph_binary(f.g, OP_MUL, e, e), 1, d);
    graph_unary(f.g, OP_EXP, e); // unused
    CHECK_STR_EQ(built(f), "t1[ii] = -A[ii]\nR[ii] = t1[ii]*t1[ii]\n");
    end(f);
}

// Folding exp(A) into the product would compute it once for every n.
TEST(graph_folds_only_what_ranges_over_everything) {
    Fixture f = begin("fold");
    const int *d = dims(f, "M N K");
    int a = graph_read(f.g, "A", TYPE_F32, 2, (int[]){d[0], d[2]});
    int b = graph_read(f.g, "B", TYPE_F32, 2, (int[]){d[2], d[1]});
    int e = graph_unary(f.g, OP_EXP, a);
    graph_write(f.g, "C", graph_matmul(f.g, e, b, d[2]), 2, d);
    CHECK_STR_EQ(built(f), "t2[m, k] = exp(A[m, k])\nC[m, n] +=! t2[m, k]*B[k, n]\n");
    end(f);
}

// --- Views -------------------------------------------------------------------------------------

TEST(graph_pad_ends_are_zero) {
    Fixture f = begin("pad");
    const int *d = dims(f, "N=5 Np");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d);
    int p =
        graph_view(f.g, a, 1, d + 1, "Np = N + 1, size(Np) = size(N) + 2", GRAPH_BORDER_IDENTITY);
    graph_write(f.g, "R", p, 1, d + 1);
    const double x[] = {1, 2, 3, 4, 5};
    const double *in[] = {x};
    VALUES(f, run(f, "", in), 0, 1, 2, 3, 4, 5, 0);
    CHECK_INT_EQ(graph_size(f.g, d[1]), 7);
    end(f);
}

TEST(graph_eleven_chained_pads) {
    Fixture f = begin("pads");
    int d = dims(f, "N")[0], a = graph_read(f.g, "A", TYPE_F32, 1, &d), x = a;
    for (int i = 0; i < 11; i++) {
        int next = graph_dim_fresh(f.g, "N");
        x = graph_pad(f.g, x, d, next, 1, 1, GRAPH_BORDER_IDENTITY);
        d = next;
    }
    graph_write(f.g, "R", x, 1, &d);
    const double in0[] = {1, 2, 3};
    const double *in[] = {in0};
    const double *got = run(f, "N=3", in);
    if (CHECK(got) && CHECK_INT_EQ(f.lab->count, 25))
        for (int i = 0; i < 25; i++) CHECK_F64_EQ(got[i], i >= 11 && i < 14 ? i - 10 : 0);
    end(f);
}

TEST(graph_constant_borders_nest) {
    Fixture f = begin("borders");
    const int *d = dims(f, "N=1 P Q");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d);
    int p = graph_pad(f.g, a, d[0], d[1], 1, 1, graph_const(f.g, TYPE_F32, 7));
    int q = graph_pad(f.g, p, d[1], d[2], 1, 1, graph_const(f.g, TYPE_F32, 9));
    graph_write(f.g, "R", q, 1, d + 2);
    graph_write(f.g, "max", graph_reduce(f.g, OP_MAX, q, 1, d + 2), 0, NULL);
    const double x[] = {1};
    const double *in[] = {x};
    VALUES(f, run(f, "", in), 9, 7, 1, 7, 9);
    Program *program = graph_build(&f.lab->arena, f.g);
    VALUES(f, lab_run(f.lab, program, lab_params(f.lab, program, ""), in, 1), 9);
    end(f);
}

TEST(graph_concat_8_and_5) {
    Fixture f = begin("concat");
    const int *d = dims(f, "N=8 M=5 NM");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d), b = graph_read(f.g, "B", TYPE_F32, 1, d + 1);
    graph_write(f.g, "R", graph_concat(f.g, 2, (int[]){a, b}, d, d[2]), 1, d + 2);
    double first[8], second[5];
    for (int i = 0; i < 8; i++) first[i] = i;
    for (int i = 0; i < 5; i++) second[i] = 100 + i;
    const double *in[] = {first, second};
    VALUES(f, run(f, "", in), 0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104);
    CHECK_INT_EQ(graph_size(f.g, d[2]), 13);
    end(f);
}

TEST(graph_concat_2d_of_a_tensor_with_itself) {
    Fixture f = begin("concat2");
    const int *d = dims(f, "R N C");
    int a = graph_read(f.g, "A", TYPE_F32, 2, d);
    int c = graph_concat(f.g, 2, (int[]){a, a}, (int[]){d[1], d[1]}, d[2]);
    graph_write(f.g, "O", c, 2, (int[]){d[0], d[2]});
    VALUES(f, run(f, "R=2,N=2", ramps()), 0, 1, 0, 1, 2, 3, 2, 3);
    end(f);
}

// As LoopTool does it: two padded views, added.
TEST(graph_concat_as_a_sum_of_views) {
    Fixture f = begin("concat3");
    const int *d = dims(f, "N=2 M=3 NM");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d), b = graph_read(f.g, "B", TYPE_F32, 1, d + 1);
    graph_relate(f.g, "size(NM) = size(N) + size(M)");
    int va = graph_view(f.g, a, 1, d + 2, "NM = N", GRAPH_BORDER_IDENTITY);
    int vb = graph_view(f.g, b, 1, d + 2, "NM = M + size(N)", GRAPH_BORDER_IDENTITY);
    graph_write(f.g, "R", graph_binary(f.g, OP_ADD, va, vb), 1, d + 2);
    const double x[] = {1, 2}, y[] = {3, 4, 5};
    const double *in[] = {x, y};
    VALUES(f, run(f, "", in), 1, 2, 3, 4, 5);
    end(f);
}

TEST(graph_flatten_and_transposed_flatten) {
    for (int transposed = 0; transposed < 2; transposed++) {
        Fixture f = begin("flatten");
        const int *d = dims(f, "M=8 N=8 K");
        int a = graph_read(f.g, "A", TYPE_F32, 2, d);
        const char *r = transposed ? "K = N*size(M) + M" : "K = M*size(N) + N";
        graph_write(f.g, "R", graph_view(f.g, a, 1, d + 2, r, GRAPH_BORDER_NONE), 1, d + 2);
        const double *got = run(f, "", ramps());
        if (CHECK(got) && CHECK_INT_EQ(f.lab->count, 64))
            for (int i = 0; i < 64; i++) CHECK_F64_EQ(got[i], transposed ? (i % 8) * 8 + i / 8 : i);
        end(f);
    }
}

TEST(graph_flatten_three_with_symbolic_sizes) {
    Fixture f = begin("flatten3");
    const int *d = dims(f, "A B C K");
    int x = graph_read(f.g, "X", TYPE_F32, 3, d);
    graph_write(f.g, "R", graph_flatten(f.g, x, 3, d, d[3]), 1, d + 3);
    const double *got = run(f, "A=2,B=3,C=4", ramps());
    if (CHECK(got) && CHECK_INT_EQ(f.lab->count, 24))
        for (int i = 0; i < 24; i++) CHECK_F64_EQ(got[i], i);
    end(f);
}

TEST(graph_split_round_trips) {
    Fixture f = begin("split");
    const int *d = dims(f, "N=128 M K L");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d);
    int s = graph_split(f.g, a, d[0], d[1], d[2], 2);
    int neg = graph_unary(f.g, OP_NEG, s); // stored as 64 x 2
    graph_write(f.g, "R", graph_flatten(f.g, neg, 2, d + 1, d[3]), 1, d + 3);
    const double *got = run(f, "", ramps());
    CHECK_INT_EQ(graph_size(f.g, d[1]), 64);
    if (CHECK(got) && CHECK_INT_EQ(f.lab->count, 128))
        for (int i = 0; i < 128; i++) CHECK(got[i] == -i);
    end(f);
}

TEST(graph_slices_picks_diagonals_reversals) {
    Fixture f = begin("slices");
    const int *d = dims(f, "N=6 M=6 S D R");
    int a = graph_read(f.g, "A", TYPE_F32, 2, d);
    int row = graph_view(f.g, a, 1, d + 1, "N = 2", GRAPH_BORDER_NONE);
    graph_write(f.g, "slice", graph_slice(f.g, row, d[1], d[2], 3, 2), 1, d + 2);
    int diagonal = graph_view(f.g, a, 1, d, "M = N", GRAPH_BORDER_NONE);
    graph_write(f.g, "diagonal", diagonal, 1, d);
    int back = graph_view(f.g, diagonal, 1, d + 4, "N = size(N) - 1 - R", GRAPH_BORDER_NONE);
    graph_write(f.g, "back", back, 1, d + 4);
    Program *p = graph_build(&f.lab->arena, f.g);
    lab_show(f.lab);
    const int64_t *none = lab_params(f.lab, p, "");
    VALUES(f, lab_run(f.lab, p, none, ramps(), 0), 15, 16);
    VALUES(f, lab_run(f.lab, p, none, ramps(), 1), 0, 7, 14, 21, 28, 35);
    VALUES(f, lab_run(f.lab, p, none, ramps(), 2), 35, 28, 21, 14, 7, 0);
    end(f);
}

// Every second element; the others are the border (as for a transposed convolution).
TEST(graph_dilation_leaves_holes) {
    Fixture f = begin("holes");
    const int *d = dims(f, "N=3 W");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d);
    graph_write(f.g, "R", graph_view(f.g, a, 1, d + 1, "W = 2*N", GRAPH_BORDER_IDENTITY), 1, d + 1);
    const double x[] = {1, 2, 3};
    const double *in[] = {x};
    VALUES(f, run(f, "", in), 1, 0, 2, 0, 3);
    end(f);
}

// --- Windows -----------------------------------------------------------------------------------

static int conv1d(Fixture f, int64_t step, int64_t pad) {
    const int *d = dims(f, "H Kh Ho");
    int a = graph_read(f.g, "I", TYPE_F32, 1, d), w = graph_read(f.g, "W", TYPE_F32, 1, d + 1);
    GraphWindow window = {d[0], d[2], d[1], step, 1, pad};
    int c = graph_conv(f.g, a, w, 1, &window, 0, NULL);
    graph_write(f.g, "O", c, 1, d + 2);
    return c;
}

static const double conv_input[] = {1, 2, 3, 4, 5}, conv_weights[] = {1, 10, 100};
static const double *const conv_data[] = {conv_input, conv_weights};

TEST(graph_conv_is_one_statement) {
    Fixture f = begin("conv");
    conv1d(f, 1, 0);
    CHECK_STR_EQ(built(f), "O[ho] +=! I[ho + kh]*W[kh]\n");
    VALUES(f, run(f, "H=5,Kh=3", conv_data), 321, 432, 543);
    end(f);
}

TEST(graph_strided_conv) {
    Fixture f = begin("conv");
    conv1d(f, 2, 0);
    VALUES(f, run(f, "H=5,Kh=3", conv_data), 321, 543);
    VALUES(f, run(f, "H=6,Kh=3", (const double *[]){ramps()[0], conv_weights}), 210, 432);
    end(f);
}

TEST(graph_padded_conv_keeps_size) {
    Fixture f = begin("conv");
    conv1d(f, 1, 1);
    CHECK_STR_EQ(built(f), "O[ho] +=! I[ho + kh - 1]*W[kh] if ho + kh - 1, H - ho - kh\n");
    VALUES(f, run(f, "H=5,Kh=3", conv_data), 210, 321, 432, 543, 54);
    end(f);
}

TEST(graph_conv_2d_with_channels) {
    Fixture f = begin("conv2d");
    const int *d = dims(f, "N=1 C=2 H=3 W=3 M=2 Kh=2 Kw=2 Ho Wo");
    int x = graph_read(f.g, "X", TYPE_F32, 4, d);
    int w = graph_read(f.g, "F", TYPE_F32, 4, (int[]){d[4], d[1], d[5], d[6]});
    GraphWindow win[] = {{.from = d[2], .to = d[7], .taps = d[5]},
                         {.from = d[3], .to = d[8], .taps = d[6]}};
    int c = graph_conv(f.g, x, w, 2, win, 1, d + 1);
    int out[] = {d[0], d[4], d[7], d[8]};
    for (int i = 0; i < 4; i++) CHECK_INT_EQ(graph_node_dim(f.g, c, i), out[i]);
    graph_write(f.g, "O", c, 4, out);
    const double *got = run(f, "", ramps());
    if (CHECK(got) && CHECK_INT_EQ(f.lab->count, 8))
        for (int m = 0; m < 2; m++)
            for (int h = 0; h < 2; h++)
                for (int v = 0; v < 2; v++) {
                    double sum = 0;
                    for (int k = 0; k < 8; k++)
                        sum += ((k / 4) * 9 + (h + k / 2 % 2) * 3 + v + k % 2) * (m * 8 + k);
                    CHECK_F64_EQ(got[m * 4 + h * 2 + v], sum);
                }
    end(f);
}

TEST(graph_depthwise_conv) {
    Fixture f = begin("dw");
    const int *d = dims(f, "C=2 H=3 K=2 Ho");
    int x = graph_read(f.g, "X", TYPE_F32, 2, d);
    int w = graph_read(f.g, "F", TYPE_F32, 2, (int[]){d[0], d[2]});
    GraphWindow win = {.from = d[1], .to = d[3], .taps = d[2]};
    graph_write(f.g, "O", graph_conv(f.g, x, w, 1, &win, 0, NULL), 2, (int[]){d[0], d[3]});
    VALUES(f, run(f, "", ramps()), 1, 2, 18, 23);
    end(f);
}

TEST(graph_padded_maxpool_over_negatives) {
    Fixture f = begin("maxpool");
    const int *d = dims(f, "H=4 K=3 Ho");
    int x = graph_read(f.g, "X", TYPE_F32, 1, d);
    GraphWindow win = {d[0], d[2], d[1], 1, 1, 1};
    graph_write(f.g, "O", graph_maxpool(f.g, x, 1, &win), 1, d + 2);
    const double data[] = {-5, -7, -6, -9};
    const double *in[] = {data};
    VALUES(f, run(f, "", in), -5, -5, -6, -6);
    end(f);
}

// Padding through a chain: pad, then window. The reduction skips both borders.
TEST(graph_pad_then_window_then_max) {
    Fixture f = begin("maxpool");
    const int *d = dims(f, "H=4 Hp K=2 Ho");
    int x = graph_read(f.g, "X", TYPE_F32, 1, d);
    int p = graph_pad(f.g, x, d[0], d[1], 2, 2, GRAPH_BORDER_IDENTITY);
    int w = graph_view(f.g, p, 2, (int[]){d[3], d[2]}, "Hp = 2*Ho + K", GRAPH_BORDER_NONE);
    graph_write(f.g, "O", graph_reduce(f.g, OP_MAX, w, 1, d + 2), 1, d + 3);
    const double data[] = {-5, -7, -6, -9};
    const double *in[] = {data};
    VALUES(f, run(f, "", in), -1.0 / 0.0, -5, -6, -1.0 / 0.0);
    end(f);
}

TEST(graph_avgpool_counts_padding) {
    Fixture f = begin("avgpool");
    const int *d = dims(f, "H=4 K=2 Ho");
    int x = graph_read(f.g, "X", TYPE_F32, 1, d);
    GraphWindow win = {d[0], d[2], d[1], 2, 1, 1};
    graph_write(f.g, "O", graph_avgpool(f.g, x, 1, &win), 1, d + 2);
    const double data[] = {2, 4, 6, 8};
    const double *in[] = {data};
    VALUES(f, run(f, "", in), 1, 5, 4);
    end(f);
}

TEST(graph_chained_convs) {
    Fixture f = begin("chain");
    const int *d = dims(f, "H K=2 H1 H2");
    int x = graph_read(f.g, "X", TYPE_F32, 1, d), w = graph_read(f.g, "W", TYPE_F32, 1, d + 1);
    GraphWindow first = {.from = d[0], .to = d[2], .taps = d[1]};
    GraphWindow second = {.from = d[2], .to = d[3], .taps = d[1]};
    int y = graph_conv(f.g, x, w, 1, &first, 0, NULL);
    graph_write(f.g, "O", graph_conv(f.g, y, w, 1, &second, 0, NULL), 1, d + 3);
    const double in0[] = {1, 2, 3, 4}, in1[] = {1, 10};
    const double *in[] = {in0, in1};
    VALUES(f, run(f, "H=4", in), 341, 462);
    end(f);
}

// --- Placing, writing through views ------------------------------------------------------------

TEST(graph_writes_through_views) {
    Fixture f = begin("through");
    const int *d = dims(f, "N=3 O=8 P");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d), seven = graph_const(f.g, TYPE_F32, 7);
    int p = graph_place(f.g, REDUCE_ASSIGN, 1, &a, 1, d + 1, "O = 2*N + 1", seven);
    graph_write(f.g, "R", p, 1, d + 1);
    CHECK_STR_EQ(built(f), "R[o] = 7.0\nR[2*n + 1] = A[n]\n");
    const double x[] = {1, 2, 3};
    const double *in[] = {x};
    VALUES(f, run(f, "", in), 7, 1, 7, 2, 7, 3, 7, 7);
    end(f);
}

TEST(graph_places_add_up) {
    Fixture f = begin("col2im");
    const int *d = dims(f, "Ho=3 K=2 H");
    int a = graph_read(f.g, "A", TYPE_F32, 2, d);
    int p = graph_place(f.g, REDUCE_ADD, 1, &a, 1, d + 2, "H = Ho + K", GRAPH_BORDER_NONE);
    graph_write(f.g, "R", p, 1, d + 2);
    const double x[] = {1, 2, 3, 4, 5, 6};
    const double *in[] = {x};
    VALUES(f, run(f, "", in), 1, 5, 9, 6);
    end(f);
}

TEST(graph_writes_a_split) {
    Fixture f = begin("unflatten");
    const int *d = dims(f, "N=6 A B=2");
    int x = graph_read(f.g, "X", TYPE_F32, 1, d);
    int p =
        graph_place(f.g, REDUCE_ASSIGN, 1, &x, 2, d + 1, "N = A*size(B) + B", GRAPH_BORDER_NONE);
    graph_write(f.g, "R", p, 2, (int[]){d[2], d[1]});
    VALUES(f, run(f, "", ramps()), 0, 2, 4, 1, 3, 5);
    end(f);
}

// --- Pre- and post-operations ------------------------------------------------------------------

TEST(graph_bias_before_and_activation_after) {
    Fixture f = begin("layer");
    const int *d = dims(f, "M N K");
    int a = graph_read(f.g, "A", TYPE_F32, 2, (int[]){d[0], d[2]});
    int b = graph_read(f.g, "B", TYPE_F32, 2, (int[]){d[2], d[1]});
    int bias = graph_read(f.g, "bias", TYPE_F32, 1, d + 1);
    int c = graph_matmul(f.g, a, b, d[2]);
    CHECK(graph_pre(f.g, c, bias));
    int relu = graph_unary(f.g, OP_RELU, c);
    CHECK(graph_post(f.g, relu));
    graph_write(f.g, "C", relu, 2, d);
    CHECK_STR_EQ(built(f), "C[m, n] = bias[n]\nC[m, n] += A[m, k]*B[k, n]\n"
                           "C[m, n] = relu(C[m, n]) post\n");
    const double x[] = {1, -1}, y[] = {1, 2, 3, 4}, z[] = {1, -10};
    const double *in[] = {x, y, z};
    VALUES(f, run(f, "M=1,N=2,K=2", in), 0, 0);
    f.lab->flags.skip_post = true;
    VALUES(f, run(f, "M=1,N=2,K=2", in), -1, -12);
    end(f);
}

TEST(graph_chained_post_operations_share_storage) {
    Fixture f = begin("layer");
    const int *d = dims(f, "N K");
    int a = graph_read(f.g, "A", TYPE_F32, 2, d), bias = graph_read(f.g, "bias", TYPE_F32, 1, d);
    int sum = graph_reduce(f.g, OP_ADD, a, 1, d + 1);
    int shifted = graph_binary(f.g, OP_ADD, sum, bias), relu = graph_unary(f.g, OP_RELU, shifted);
    CHECK(graph_post(f.g, shifted) && graph_post(f.g, relu));
    int neg = graph_unary(f.g, OP_NEG, relu);
    graph_write(f.g, "R", neg, 1, d);
    CHECK_STR_EQ(built(f), "t2[n] +=! A[n, k]\nt2[n] = t2[n] + bias[n] post\n"
                           "t2[n] = relu(t2[n]) post\nR[n] = -t2[n]\n");
    end(f);
}

// --- Layers ------------------------------------------------------------------------------------

TEST(graph_softmax_linear_mean_batch_norm) {
    Fixture f = begin("layers");
    const int *d = dims(f, "N=2 K=2");
    int x = graph_read(f.g, "X", TYPE_F64, 2, d);
    graph_write(f.g, "softmax", graph_softmax(f.g, x, d[1]), 2, d);
    graph_write(f.g, "mean", graph_mean(f.g, x, 2, d), 0, NULL);
    int v = graph_read(f.g, "v", TYPE_F64, 1, d + 1), b = graph_read(f.g, "b", TYPE_F64, 1, d);
    graph_write(f.g, "linear", graph_linear(f.g, x, v, b, d[1]), 1, d);
    int one = graph_const(f.g, TYPE_F64, 1), three = graph_const(f.g, TYPE_F64, 3);
    int norm = graph_batch_norm(f.g, x, one, three, one, three, 1.0);
    graph_write(f.g, "norm", norm, 2, d);
    Program *p = graph_build(&f.lab->arena, f.g);
    lab_show(f.lab);
    const double same[] = {3, 3, 5, 5}, w[] = {2, 3}, shift[] = {1, -1};
    const double *in[] = {same, w, shift};
    const int64_t *none = lab_params(f.lab, p, "");
    VALUES(f, lab_run(f.lab, p, none, in, 0), 0.5, 0.5, 0.5, 0.5);
    VALUES(f, lab_run(f.lab, p, none, in, 1), 4);
    VALUES(f, lab_run(f.lab, p, none, in, 2), 16, 24);
    VALUES(f, lab_run(f.lab, p, none, in, 3), 4, 4, 5, 5);
    end(f);
}

// Convolution, activation, pooling, flatten, dense layer, against plain loops.
TEST(graph_small_network) {
    Fixture f = begin("net");
    const int *d = dims(f, "H=6 W=6 M=2 Kh=3 Kw=3 Ho Wo Ph=2 Pw=2 Qh Qw F Out=3");
    enum { H, W, M, KH, KW, HO, WO, PH, PW, QH, QW, F, OUT };
    int x = graph_read(f.g, "X", TYPE_F64, 2, d);
    int filters = graph_read(f.g, "K", TYPE_F64, 3, d + M);
    GraphWindow conv[] = {{d[H], d[HO], d[KH], 1, 1, 0}, {d[W], d[WO], d[KW], 1, 1, 0}};
    GraphWindow pool[] = {{d[HO], d[QH], d[PH], 2, 1, 0}, {d[WO], d[QW], d[PW], 2, 1, 0}};
    int y = graph_unary(f.g, OP_RELU, graph_conv(f.g, x, filters, 2, conv, 0, NULL));
    int q = graph_maxpool(f.g, y, 2, pool);
    int flat = graph_flatten(f.g, q, 3, (int[]){d[M], d[QH], d[QW]}, d[F]);
    int w = graph_read(f.g, "D", TYPE_F64, 2, (int[]){d[OUT], d[F]});
    graph_write(f.g, "Y", graph_linear(f.g, flat, w, GRAPH_BAD, d[F]), 1, d + OUT);

    double image[36], taps[18], dense[24], pooled[8], want[3] = {0};
    for (int i = 0; i < 36; i++) image[i] = i * 7 % 11 - 5;
    for (int i = 0; i < 18; i++) taps[i] = i * 5 % 7 - 3;
    for (int i = 0; i < 24; i++) dense[i] = i % 5 - 2;
    for (int i = 0; i < 8; i++) pooled[i] = 0; // relu: nothing is below 0
    for (int i = 0; i < 2 * 16; i++) {
        int m = i / 16, h = i / 4 % 4, v = i % 4;
        double sum = 0;
        for (int k = 0; k < 9; k++) sum += image[(h + k / 3) * 6 + v + k % 3] * taps[m * 9 + k];
        double *into = &pooled[m * 4 + h / 2 * 2 + v / 2];
        if (sum > *into) *into = sum;
    }
    for (int i = 0; i < 24; i++) want[i / 8] += pooled[i % 8] * dense[i];
    const double *in[] = {image, taps, dense};
    check_values(f, run(f, "", in), 3, want);
    end(f);
}

// --- Sizes -------------------------------------------------------------------------------------

TEST(graph_sizes_solve_in_a_chain) {
    Fixture f = begin("sizes");
    const int *d = dims(f, "A=8 B C D");
    CHECK(graph_relate(f.g, "size(D) = size(A) + size(C), size(C) = 9*size(B)"));
    CHECK(graph_relate(f.g, "size(B) = size(A) + 2"));
    CHECK(graph_solve(f.g));
    CHECK_INT_EQ(graph_size(f.g, d[1]), 10);
    CHECK_INT_EQ(graph_size(f.g, d[2]), 90);
    CHECK_INT_EQ(graph_size(f.g, d[3]), 98);
    end(f);
}

TEST(graph_sizes_solve_backwards) {
    Fixture f = begin("sizes");
    const int *d = dims(f, "A B C D=98");
    CHECK(graph_relate(f.g,
                       "size(D) = size(A) + size(C), size(C) = 9*size(B), size(B) = size(A) + 2"));
    graph_dim_size(f.g, d[1], 10);
    CHECK(graph_solve(f.g));
    CHECK_INT_EQ(graph_size(f.g, d[0]), 8);
    end(f);
}

// The sizes of the outputs are given; those of the inputs follow.
TEST(graph_input_sizes_follow_from_output_sizes) {
    Fixture f = begin("conv");
    graph_dim_size(f.g, graph_dim(f.g, "Ho"), 3);
    graph_dim_size(f.g, graph_dim(f.g, "Kh"), 3);
    conv1d(f, 1, 0);
    VALUES(f, run(f, "", conv_data), 321, 432, 543);
    CHECK_INT_EQ(graph_size(f.g, graph_dim(f.g, "H")), 5);
    end(f);
}

TEST(graph_parameters_by_choice) {
    Fixture f = begin("conv");
    CHECK(graph_dim_param(f.g, graph_dim(f.g, "Ho")));
    conv1d(f, 2, 0);
    VALUES(f, run(f, "Ho=2,H=5", conv_data), 321, 543);
    Program *p = graph_build(&f.lab->arena, f.g);
    if (CHECK(p)) CHECK(program_find_param(p, name_of(&f.lab->names, "Kh")) < 0);
    end(f);
}

// M is read first, but a relation defines it.
TEST(graph_defined_sizes_are_no_parameters) {
    Fixture f = begin("defined");
    const int *d = dims(f, "M N");
    int a = graph_read(f.g, "A", TYPE_F32, 1, d), b = graph_read(f.g, "B", TYPE_F32, 1, d + 1);
    graph_relate(f.g, "size(M) = 2*size(N) + 1");
    int sums[] = {graph_reduce(f.g, OP_ADD, a, 1, d), graph_reduce(f.g, OP_ADD, b, 1, d + 1)};
    graph_write(f.g, "R", graph_op(f.g, OP_ADD, 2, sums, -1, NULL), 0, NULL);
    VALUES(f, run(f, "N=2", ramps()), 0 + 1 + 2 + 3 + 4 + 0 + 1);
    end(f);
}

TEST(graph_window_larger_than_its_input) {
    Fixture f = begin("conv");
    conv1d(f, 1, 0);
    Program *p = graph_build(&f.lab->arena, f.g);
    if (CHECK(p))
        CHECK(!program_bind(&f.lab->arena, p, lab_params(f.lab, p, "H=2,Kh=5"), &f.lab->diags));
    CHECK(f.lab->diags.errors == 1);
    end(f);
}

TEST(graph_split_must_divide_when_bound) {
    Fixture f = begin("split");
    const int *d = dims(f, "N A B");
    int x = graph_read(f.g, "X", TYPE_F32, 1, d);
    graph_write(f.g, "R", graph_split(f.g, x, d[0], d[1], d[2], 4), 2, d + 1);
    Program *p = graph_build(&f.lab->arena, f.g);
    if (!CHECK(p)) return;
    CHECK(program_bind(&f.lab->arena, p, lab_params(f.lab, p, "N=8"), &f.lab->diags));
    CHECK(!program_bind(&f.lab->arena, p, lab_params(f.lab, p, "N=9"), &f.lab->diags));
    end(f);
}

TEST(graph_zero_sizes) {
    Fixture f = begin("empty");
    matmul(f, TYPE_F32);
    VALUES(f, run(f, "M=2,N=1,K=0", ramps()), 0, 0);
    Fixture h = begin("empty");
    matmul(h, TYPE_F32);
    CHECK(run(h, "M=0,N=1,K=3", ramps()) && h.lab->count == 0);
    end(f);
    end(h);
}
