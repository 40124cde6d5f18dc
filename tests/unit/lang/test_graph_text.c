// Graphs as text: round trips, Graphviz, and every diagnostic with its location.
#include "unit/lab.h"

#include "lang/graph.h"

static Graph *parse(Lab *lab, const char *text) {
    return graph_parse(&lab->arena, &lab->names, lab_source(lab, "g.lwg", text), &lab->diags);
}

static const char *printed(Lab *lab, const Graph *g) {
    Text t = {.arena = &lab->arena};
    graph_print(&t, g);
    return text_str(&t);
}

static const char *dot(Lab *lab, const Graph *g) {
    Text t = {.arena = &lab->arena};
    graph_dot(&t, g);
    return text_str(&t);
}

// The text prints as itself, and so does the graph parsed from that.
static void check_round_trip(const char *text) {
    Lab *lab = lab_new();
    Graph *g = parse(lab, text);
    lab_show(lab);
    if (CHECK(g) && CHECK_STR_EQ(printed(lab, g), text)) {
        Graph *again = parse(lab, printed(lab, g));
        if (CHECK(again)) {
            CHECK_STR_EQ(printed(lab, again), text);
            CHECK_STR_EQ(dot(lab, again), dot(lab, g));
        }
        CHECK(graph_build(&lab->arena, g) != NULL);
        lab_show(lab);
    }
    lab_free(lab);
}

static const char everything[] =
    "graph everything\n"
    "dim N = 8\n"
    "dim Np\n"
    "dim K = 3\n"
    "param M\n"
    "dim NM\n"
    "dim Q\n"
    "relate size(NM) = size(N) + size(M)\n"
    "%0 = read A f32 [N]\n"
    "%1 = read B f32 [K, N]\n"
    "%2 = read C f32 [M]\n"
    "%3 = const f32 -0.5\n"
    "%4 = const u64 18446744073709551615\n"
    "%5 = const f64 0.1\n"
    "%6 = view %0 [Np] where Np = N + 1, size(Np) = size(N) + 2 border identity\n"
    "%7 = view %6 [N, K] where Np = N + K border %3\n"
    "%8 = mul %7 %1 [N, K]\n"
    "%9 = add %8 [N] pre %0\n"
    "%10 = relu %9 [N] post\n"
    "%11 = place %10 %2 [NM] where NM = N, NM = M + size(N)\n"
    "%12 = cast f16 %11\n"
    "%13 = index i64 [N, K] 2*N + size(N) + N%3 + size(K)*min(N, K) - K/2\n"
    "%14 = view %13 [Q] where Q = K + N*size(K)\n"
    "%15 = place add %14 [Np] where Np = Q/3 border %4\n"
    "%16 = write O %12 [NM]\n"
    "%17 = write P %15 [Np]\n"
    "%18 = select %4 %3 %5 []\n"
    "%19 = write S %18 []\n";

TEST(graph_text_round_trips) {
    check_round_trip(everything);
    check_round_trip("graph conv\n"
                     "dim N\ndim H\ndim Ho\ndim Kh\n"
                     "%0 = read I f32 [N, H]\n"
                     "%1 = read W f32 [Kh]\n"
                     "%2 = view %0 [N, Ho, Kh] where H = 2*Ho + Kh - 1, "
                     "size(Ho) = (size(H) + 1)/2 border identity\n"
                     "%3 = mul %2 %1 [N, Ho, Kh]\n"
                     "%4 = add %3 [N, Ho]\n"
                     "%5 = write O %4 [N, Ho]\n");
}

TEST(graph_text_by_hand) {
    Lab *lab = lab_new();
    Graph *g = parse(lab, "# a dot product\r\n\n  graph dot # its name\n dim n=3\n"
                          "%a=read A f32[n]\n%b = read B f32 [ n ]\n"
                          "%p = mul %a %b\n%s = add %p []\n%out = write S %s []");
    lab_show(lab);
    if (CHECK(g)) {
        CHECK_STR_EQ(printed(lab, g), "graph dot\ndim n = 3\n%a = read A f32 [n]\n"
                                      "%b = read B f32 [n]\n%p = mul %a %b [n]\n%s = add %p []\n"
                                      "%out = write S %s []\n");
        Program *p = graph_build(&lab->arena, g);
        const double a[] = {1, 2, 3}, b[] = {4, 5, 6};
        const double *in[] = {a, b};
        const double *got = lab_run(lab, p, lab_params(lab, p, ""), in, 0);
        if (CHECK(got)) CHECK_F64_EQ(got[0], 32);
    }
    lab_free(lab);
}

// A graph built by calls prints and parses back to a graph with the same results.
TEST(graph_text_of_compositions) {
    Lab *lab = lab_new();
    Graph *g = graph_new(&lab->arena, &lab->names, "net", &lab->diags);
    int h = graph_dim(g, "H"), k = graph_dim(g, "K"), ho = graph_dim(g, "Ho"),
        q = graph_dim(g, "Q");
    graph_dim_size(g, k, 3);
    int x = graph_read(g, "X", TYPE_F64, 1, &h), w = graph_read(g, "W", TYPE_F64, 1, &k);
    GraphWindow win = {h, ho, k, 1, 1, 1};
    int c = graph_conv(g, x, w, 1, &win, 0, NULL);
    int joined = graph_concat(g, 2, (int[]){c, c}, (int[]){ho, ho}, q);
    graph_write(g, "Y", graph_unary(g, OP_NEG, joined), 1, &q);
    Graph *again = parse(lab, printed(lab, g));
    lab_show(lab);
    if (CHECK(again)) {
        CHECK_STR_EQ(printed(lab, again), printed(lab, g));
        const double a[] = {1, 2, 3, 4}, b[] = {1, 10, 100};
        const double *in[] = {a, b}, *got[2];
        Graph *both[] = {g, again};
        for (int i = 0; i < 2; i++) {
            Program *p = graph_build(&lab->arena, both[i]);
            got[i] = lab_run(lab, p, lab_params(lab, p, "H=4"), in, 0);
        }
        if (CHECK(got[0] && got[1]) && CHECK_INT_EQ(lab->count, 8))
            for (int i = 0; i < 8; i++) CHECK_F64_EQ(got[0][i], got[1][i]);
        CHECK_F64_EQ(got[0][1], -321);
        CHECK_F64_EQ(got[0][7], -43);
    }
    lab_free(lab);
}

TEST(graph_dot_names_nodes_and_edges) {
    Lab *lab = lab_new();
    Graph *g =
        parse(lab, "graph t\ndim i\n%0 = read A f32 [i]\n%1 = neg %0 [i]\n%2 = write B %1 [i]\n");
    if (CHECK(g))
        CHECK_STR_EQ(dot(lab, g), "digraph t {\n    rankdir=TB;\n"
                                  "    node [fontname=\"monospace\"];\n"
                                  "    n0 [shape=box, label=\"%0 read A f32 [i]\"];\n"
                                  "    n1 [shape=ellipse, label=\"%1 neg [i]\"];\n"
                                  "    n0 -> n1;\n"
                                  "    n2 [shape=box, label=\"%2 write B [i]\"];\n"
                                  "    n1 -> n2;\n}\n");
    lab_free(lab);
}

// --- Located diagnostics -----------------------------------------------------------------------

// The only error is `id`, and it underlines `marked` (NULL: no location).
static void check_refused(const char *text, DiagId id, const char *marked, int line) {
    Lab *lab = lab_new();
    Graph *g = parse(lab, text);
    Program *p = g ? graph_build(&lab->arena, g) : NULL;
    bool ok = CHECK(!p) && CHECK_INT_EQ(lab->diags.errors, 1) && CHECK(lab->diags.items.n > 0);
    if (ok) {
        const Diag *d = lab->diags.items.at[0];
        ok = CHECK_INT_EQ(d->id, id) && CHECK((marked != NULL) == (d->source != NULL));
        if (ok && marked) {
            size_t len = d->range.to - d->range.from;
            ok = CHECK(strlen(marked) == len && !strncmp(text + d->range.from, marked, len));
        }
    }
    if (!ok) printf("  line %d:\n%s%s", line, text, lab_report(lab));
    lab_free(lab);
}
#define REFUSED(id, marked, text) check_refused(text, id, marked, __LINE__)
#define HEAD                                                                                       \
    "graph g\ndim A = 4\ndim B\ndim C\ndim D = 2\n%a = read a f32 [A]\n%d = read d f32 [D]\n"

TEST(graph_refuses_text) {
    REFUSED(DIAG_GRAPH_HEAD, "dim A", "dim A\n");
    REFUSED(DIAG_GRAPH_LINE, "hello", "graph g\nhello\n");
    REFUSED(DIAG_GRAPH_EXPECTED, "7", "graph g\ndim 7\n");
    REFUSED(DIAG_GRAPH_EXPECTED, "rubbish", HEAD "%0 = neg %a [A] rubbish\n");
    REFUSED(DIAG_GRAPH_EXPECTED, "f31", HEAD "%0 = const f31 0\n");
    REFUSED(DIAG_GRAPH_EXPECTED, "x", HEAD "%0 = const i32 x\n");
    REFUSED(DIAG_GRAPH_EXPECTED, "1e999x", HEAD "%0 = const f32 1e999x\n");
    REFUSED(DIAG_GRAPH_EXPECTED, "B", HEAD "%0 = view %a [B] where A B\n");
    REFUSED(DIAG_GRAPH_EXPECTED, ")", HEAD "%0 = view %a [B] where A = (B +)\n");
    REFUSED(DIAG_GRAPH_DIM_DECLARED, "A", "graph g\ndim A\ndim A\n");
    REFUSED(DIAG_GRAPH_NO_DIM, "X", HEAD "%0 = neg %a [X]\n");
    REFUSED(DIAG_GRAPH_NO_DIM, "X", HEAD "%0 = view %a [B] where A = B + X\n");
    REFUSED(DIAG_GRAPH_NO_DIM, "X", HEAD "%0 = view %a [B] where A = B + size(X)\n");
    REFUSED(DIAG_GRAPH_NO_NODE, "%x", HEAD "%0 = neg %x [A]\n");
    REFUSED(DIAG_GRAPH_NODE_TWICE, "%a", HEAD "%a = neg %a [A]\n");
    REFUSED(DIAG_GRAPH_NO_OP, "frobnicate", HEAD "%0 = frobnicate %a [A]\n");
    REFUSED(DIAG_GRAPH_OVERFLOW, "99999999999999999999",
            HEAD "%0 = view %a [B] where A = 99999999999999999999*B\n");
    REFUSED(DIAG_GRAPH_OVERFLOW, "4611686018427387904*(4*B)",
            HEAD "%0 = view %a [B] where A = 4611686018427387904*(4*B)\n");
    REFUSED(DIAG_GRAPH_OVERFLOW, "99999999999999999999", "graph g\ndim A = 99999999999999999999\n");
}

TEST(graph_refuses_deep_nesting) {
    char text[512] = HEAD "%0 = view %a [B] where A = ";
    size_t at = strlen(text);
    memset(text + at, '(', 100);
    memcpy(text + at + 100, "B", 2);
    REFUSED(DIAG_GRAPH_NESTING, "(", text);
    memset(text + at, '-', 100);
    REFUSED(DIAG_GRAPH_NESTING, "-", text);
}

TEST(graph_refuses_nodes) {
    REFUSED(DIAG_GRAPH_DIM_TWICE, "%0 = read b f32 [A, A]", HEAD "%0 = read b f32 [A, A]\n");
    REFUSED(DIAG_GRAPH_TENSOR_TWICE, "%0 = read a f32 [A]", HEAD "%0 = read a f32 [A]\n");
    REFUSED(DIAG_GRAPH_WRITE_USED, "%1 = neg %0 [A]",
            HEAD "%0 = write w %a [A]\n%1 = neg %0 [A]\n");
    REFUSED(DIAG_GRAPH_WRITE_REDUCES, "%0 = write w %a []", HEAD "%0 = write w %a []\n");
    REFUSED(DIAG_GRAPH_ARITY, "%0 = neg %a %a [A]", HEAD "%0 = neg %a %a [A]\n");
    REFUSED(DIAG_GRAPH_ARITY, "%0 = add [A]", HEAD "%0 = add [A]\n");
    REFUSED(DIAG_GRAPH_ARITY, "%0 = place [B]", HEAD "%0 = place [B]\n");
    REFUSED(DIAG_GRAPH_CANNOT_REDUCE, "%0 = sub %a %d [A]", HEAD "%0 = sub %a %d [A]\n");
    REFUSED(DIAG_GRAPH_BITWISE, "%0 = shl %a %a [A]", HEAD "%0 = shl %a %a [A]\n");
    REFUSED(DIAG_GRAPH_BORDER, "%0 = view %a [B] where B = A border %a",
            HEAD "%0 = view %a [B] where B = A border %a\n");
    REFUSED(DIAG_GRAPH_FOREIGN_DIM, "A = B + C", HEAD "%0 = view %a [B] where A = B + C\n");
    REFUSED(DIAG_GRAPH_FOREIGN_DIM, "%0 = index i64 [A] B", HEAD "%0 = index i64 [A] B\n");
    REFUSED(DIAG_GRAPH_RELATE_INDEX, "A = B", HEAD "relate A = B\n");
    REFUSED(DIAG_GRAPH_PRE, "%0 = neg %a [A] pre %a", HEAD "%0 = neg %a [A] pre %a\n");
    REFUSED(DIAG_GRAPH_PRE_DIM, "%0 = add %a [] pre %d", HEAD "%0 = add %a [] pre %d\n");
    REFUSED(DIAG_GRAPH_POST, "%0 = neg %a [A] post", HEAD "%0 = neg %a [A] post\n");
    REFUSED(DIAG_GRAPH_POST_SHAPE, "%1 = mul %0 %d [D] post",
            HEAD "%0 = add %a []\n%1 = mul %0 %d [D] post\n");
    REFUSED(DIAG_GRAPH_POST_USES, "%1 = neg %0 [] post",
            HEAD "%0 = add %a []\n%1 = neg %0 [] post\n%2 = write x %0 []\n%3 = write y %1 []\n");
    REFUSED(DIAG_GRAPH_NO_WRITE, NULL, HEAD);
}

TEST(graph_refuses_views) {
    REFUSED(DIAG_GRAPH_DIM_OPEN, "%0 = view %a [B]",
            HEAD "relate size(B) = 2\n%0 = view %a [B]\n%1 = write w %0 [B]\n");
    REFUSED(DIAG_GRAPH_DIM_OPEN, "%0 = place %a [D]",
            HEAD "%0 = place %a [D]\n%1 = write w %0 [D]\n");
    REFUSED(DIAG_GRAPH_RELATION_SURPLUS, "A = C",
            HEAD
            "relate size(C) = 2\n%0 = view %a [B, C] where A = B, A = C\n%1 = write w %0 [B, C]\n");
    REFUSED(DIAG_GRAPH_HOLES, "%0 = view %a [B] where B = 3*A",
            HEAD "%0 = view %a [B] where B = 3*A\n%1 = write w %0 [B]\n");
}

TEST(graph_refuses_sizes) {
    REFUSED(DIAG_GRAPH_SIZE_OPEN, "B", HEAD "%0 = neg %a [A, B]\n%1 = write w %0 [A, B]\n");
    REFUSED(DIAG_GRAPH_SIZE_OPEN, "B",
            HEAD "%0 = view %a [B, C] where A = B*size(C) + C\n%1 = write w %0 [B, C]\n");
    REFUSED(DIAG_GRAPH_SIZE_NEGATIVE, "size(B) = size(A) - 5",
            HEAD "relate size(B) = size(A) - 5\n");
    REFUSED(DIAG_GRAPH_SIZE_FRACTION, "3*size(B) = size(A)", HEAD "relate 3*size(B) = size(A)\n");
    REFUSED(DIAG_GRAPH_SIZE_RELATION, "size(D) = size(A)", HEAD "relate size(D) = size(A)\n");
}

TEST(graph_refuses_sizes_that_disagree) {
    const char *text = "graph g\ndim A = 10\ndim B = 10\ndim K = 3\ndim L = 5\ndim O\n"
                       "%a = read a f32 [A]\n%b = read b f32 [B]\n"
                       "%x = view %a [O, K] where A = O + K\n"
                       "%y = view %b [O, L] where B = O + L\n"
                       "%z = add %x %y [O]\n%w = write w %z [O]\n";
    Lab *lab = lab_new();
    Graph *g = parse(lab, text);
    CHECK(g && !graph_build(&lab->arena, g));
    CHECK_STR_EQ(
        lab_report(lab),
        "g.lwg:10:27: error: the size of 'O' would be 6 by this relation, but 8 by another\n"
        "  %y = view %b [O, L] where B = O + L\n"
        "                            ^~~~~~~~~\n"
        "g.lwg:9:27: note: the other relation; state the size with size(...) = ... if "
        "both are meant\n"
        "  %x = view %a [O, K] where A = O + K\n"
        "                            ^~~~~~~~~\n");
    if (lab->diags.items.n) {
        CHECK_INT_EQ(lab->diags.items.at[0]->id, DIAG_GRAPH_SIZES_DISAGREE);
        CHECK_INT_EQ(lab->diags.items.at[0]->notes->id, DIAG_GRAPH_SIZES_DISAGREE_NOTE);
    }
    lab_free(lab);
}

TEST(graph_reports_one_mistake_once) {
    REFUSED(DIAG_GRAPH_NO_OP, "frob",
            HEAD "%0 = frob %a [A]\n%1 = neg %0 [A]\n%2 = write w %1 [A]\n");
}

TEST(graph_shows_ways_out) {
    Lab *lab = lab_new();
    Graph *g = parse(lab, HEAD "%0 = neg %a [A, B]\n%1 = write w %0 [A, B]\n");
    CHECK(g && !graph_build(&lab->arena, g));
    CHECK_INT_EQ(lab->diags.items.at[0]->notes->id, DIAG_GRAPH_SIZE_OPEN_NOTE);
    g = parse(lab, HEAD "relate size(B) = 2\n%0 = view %a [B]\n%1 = write w %0 [B]\n");
    CHECK(g && !graph_build(&lab->arena, g));
    CHECK_INT_EQ(lab->diags.items.at[1]->notes->id, DIAG_GRAPH_DIM_OPEN_NOTE);
    lab_free(lab);
}

// --- Diagnostics of calls ----------------------------------------------------------------------

static void check_call(Lab *lab, bool refused, DiagId id) {
    CHECK(refused);
    CHECK_INT_EQ(lab->diags.errors, 1);
    if (lab->diags.items.n) CHECK_INT_EQ(lab->diags.items.at[0]->id, id);
    lab->diags.errors = lab->diags.items.n = 0;
}

TEST(graph_calls_refuse_what_does_not_exist) {
    Lab *lab = lab_new();
    Graph *g = graph_new(&lab->arena, &lab->names, "g", &lab->diags);
    int i = graph_dim(g, "i"), x = graph_read(g, "x", TYPE_F32, 1, &i), far = 99;
    check_call(lab, graph_dim(g, "2i") < 0, DIAG_GRAPH_NAME);
    check_call(lab, graph_read(g, "", TYPE_F32, 0, NULL) < 0, DIAG_GRAPH_NAME);
    check_call(lab, graph_unary(g, OP_NEG, 7) < 0, DIAG_GRAPH_HANDLE);
    check_call(lab, graph_read(g, "y", TYPE_F32, 1, &far) < 0, DIAG_GRAPH_HANDLE);
    check_call(lab, graph_op(g, OP_COUNT, 1, &x, -1, NULL) < 0, DIAG_GRAPH_HANDLE);
    check_call(lab, graph_read(g, "y", TYPE_NONE, 0, NULL) < 0, DIAG_GRAPH_TYPE);
    check_call(lab, !graph_dim_size(g, i, -3), DIAG_GRAPH_SIZE_NEGATIVE);
    CHECK(graph_dim_size(g, i, 3));
    check_call(lab, !graph_dim_size(g, i, 4), DIAG_GRAPH_SIZE_TWICE);
    check_call(lab, !graph_dim_param(g, i), DIAG_GRAPH_SIZE_AND_PARAM);
    int j = graph_dim(g, "j");
    check_call(lab, graph_reduce(g, OP_ADD, x, 1, &j) < 0, DIAG_GRAPH_LACKS_DIM);
    CHECK(graph_unary(g, OP_NEG, GRAPH_BAD) == GRAPH_BAD && lab->diags.errors == 0);
    CHECK(!graph_build(&lab->arena, g));
    lab_free(lab);
}

TEST(graph_limits) {
    Lab *lab = lab_new();
    Graph *g = graph_new(&lab->arena, &lab->names, "g", &lab->diags);
    for (int i = 0; i < GRAPH_MAX_DIMS; i++) CHECK(graph_dim_fresh(g, "d") >= 0);
    check_call(lab, graph_dim(g, "more") < 0, DIAG_GRAPH_LIMIT);
    int dims[17], inputs[65];
    for (int i = 0; i < 17; i++) dims[i] = i;
    CHECK(graph_read(g, "most", TYPE_F32, 16, dims) >= 0);
    check_call(lab, graph_read(g, "more", TYPE_F32, 17, dims) < 0, DIAG_GRAPH_LIMIT);
    int x = graph_read(g, "x", TYPE_F32, 1, dims), v = x;
    for (int i = 0; i < 65; i++) inputs[i] = x;
    CHECK(graph_op(g, OP_ADD, 64, inputs, 1, dims) >= 0);
    check_call(lab, graph_op(g, OP_ADD, 65, inputs, 1, dims) < 0, DIAG_GRAPH_LIMIT);
    for (int i = 0; i < GRAPH_MAX_VIEWS; i++) v = graph_transpose(g, v, 1, dims);
    CHECK(v >= 0);
    check_call(lab, graph_transpose(g, v, 1, dims) < 0, DIAG_GRAPH_LIMIT);
    int last = x;
    while (last >= 0) last = graph_unary(g, OP_NEG, x);
    check_call(lab, true, DIAG_GRAPH_LIMIT);
    lab_free(lab);
}
