// einsum: exact results, types, and every error. tests/script/einsum_numpy runs this program on
// random cases with NumPy's results (LW_EINSUM_CASES).
#include "unit/lab.h"

#include "lang/lang.h"

#include <math.h>

enum { MAX_OPERANDS = PATH_MAX + 1, MAX_ELEMENTS = 4096 };

typedef struct Case {
    const char *spec;
    int n;
    EinsumOperand operand[MAX_OPERANDS];
    int64_t size[MAX_OPERANDS][32];
    const double *data[MAX_OPERANDS];
} Case;

static double numbers[MAX_ELEMENTS]; // 1, 2, 3, ...

static Program *parse(Lab *lab, const Case *c) {
    EinsumPlan plan;
    return einsum_parse(&lab->arena, &lab->names, lab_source(lab, "<einsum>", c->spec), c->n,
                        c->operand, &(EinsumOptions){0}, &plan, &lab->diags);
}

// "2 3;4" are two operands, of 2x3 and of 4 elements.
static void shape(Case *c, const char *shapes, Type type) {
    for (int i = 0; i < MAX_ELEMENTS; i++) numbers[i] = i + 1;
    c->n = 0;
    for (const char *s = shapes; s; s = strchr(s, ';') ? strchr(s, ';') + 1 : NULL) {
        int rank = 0, used;
        long long v;
        for (const char *at = s; sscanf(at, " %lld%n", &v, &used) == 1; at += used)
            c->size[c->n][rank++] = v;
        c->operand[c->n] = (EinsumOperand){type, rank, c->size[c->n]};
        c->data[c->n++] = numbers;
    }
}

// The value of a parameter is the size of an axis that is declared with it.
static const int64_t *sizes_of(Lab *lab, const Case *c, const Program *p) {
    int64_t *values = arena_new_n(&lab->arena, int64_t, p->params.n + 1);
    for (int i = 0; i < c->n; i++)
        for (int d = 0; d < p->tensors.at[i].rank; d++) {
            const Affine *size = p->tensors.at[i].size[d];
            if (size->n) values[size->term[0].atom->index] = c->operand[i].size[d];
        }
    return values;
}

static const double *run(Lab *lab, const Case *c) {
    Program *p = parse(lab, c);
    if (!p) {
        lab_show(lab);
        return NULL;
    }
    return lab_run(lab, p, sizes_of(lab, c, p), c->data, 0);
}

// Operands hold 1, 2, 3, ...; `want` is the result in row-major order.
static void check_result(const char *spec, const char *shapes, int count, const double *want) {
    Lab *lab = lab_new();
    Case c = {.spec = spec};
    shape(&c, shapes, TYPE_F64);
    const double *got = run(lab, &c);
    if (CHECK(got) && CHECK_INT_EQ(lab->count, count))
        for (int i = 0; i < count; i++)
            if (!CHECK_F64_EQ(got[i], want[i])) printf("  in %s, element %d\n", spec, i);
    lab_free(lab);
}

#define RESULT(spec, shapes, ...)                                                                  \
    do {                                                                                           \
        const double want_[] = {__VA_ARGS__};                                                      \
        check_result(spec, shapes, (int)(sizeof want_ / sizeof *want_), want_);                    \
    } while (0)

TEST(einsum_one_operand) {
    RESULT("ij->ji", "2 3", 1, 4, 2, 5, 3, 6);
    RESULT("ji", "2 3", 1, 4, 2, 5, 3, 6);
    RESULT("aB", "2 3", 1, 4, 2, 5, 3, 6); // upper case sorts first
    RESULT("ii->i", "2 2", 1, 4);
    RESULT("ii", "3 3", 15);
    RESULT("ij->", "2 3", 21);
    RESULT("ij->i", "2 3", 6, 15);
    RESULT("i...->...", "2 3", 5, 7, 9);
    RESULT("...->...", "2 2", 1, 2, 3, 4);
    RESULT("...ij->...ji", "1 2 2", 1, 3, 2, 4);
    RESULT("", "", 1);
    RESULT("->", "", 1);
}

TEST(einsum_several_operands) {
    RESULT("mk,kn->mn", "2 2;2 2", 7, 10, 15, 22);
    RESULT("mk,kn", "2 2;2 2", 7, 10, 15, 22);
    RESULT("i,j->ij", "2;3", 1, 2, 3, 2, 4, 6);
    RESULT("i,i", "3;3", 14);
    RESULT(" i , j -> j i ", "2;3", 1, 2, 2, 4, 3, 6);
    RESULT(",i", ";2", 1, 2);
    RESULT("i,,j->ij", "2;;2", 1, 2, 2, 4);
    RESULT("i,i,i,i->i", "2;2;2;2", 1, 16);
    RESULT("bij,bjk->bik", "2 1 2;2 2 1", 5, 25);
}

TEST(einsum_broadcasting) {
    RESULT("...,...", "2 1;3", 1, 2, 3, 2, 4, 6);
    RESULT("ij,jk", "2 1;3 1", 6, 12);   // j: 1 is broadcast to 3
    RESULT("ii,i->i", "1 1;3", 1, 2, 3); // a diagonal of 1 is broadcast
    RESULT("...i,i...->...", "2 2;2", 5, 11);
    RESULT("i...->i...", "2 1 1", 1, 2);
}

TEST(einsum_empty_dimensions) {
    RESULT("ij->i", "2 0", 0, 0);
    RESULT("i,i", "0;1", 0);
    Lab *lab = lab_new();
    Case c = {.spec = "ij->ji"};
    shape(&c, "0 3", TYPE_F32);
    CHECK(run(lab, &c) != NULL && lab->count == 0);
    lab_free(lab);
}

TEST(einsum_types) {
    static const struct {
        const char *spec;
        Type a, b, want;
    } rows[] = {
        {"i,i->i", TYPE_I8, TYPE_I8, TYPE_I8},     {"i,i->", TYPE_I8, TYPE_I8, TYPE_I32},
        {"i,i->", TYPE_F16, TYPE_F16, TYPE_F32},   {"i,i->i", TYPE_F16, TYPE_BF16, TYPE_F32},
        {"i,i->", TYPE_U8, TYPE_I64, TYPE_I64},    {"i,i->i", TYPE_I32, TYPE_F32, TYPE_F32},
        {"i,i->", TYPE_BOOL, TYPE_BOOL, TYPE_I32}, {"i,j->ij", TYPE_F64, TYPE_F32, TYPE_F64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Lab *lab = lab_new();
        Case c = {.spec = rows[i].spec, .n = 2};
        c.operand[0] = (EinsumOperand){rows[i].a, 1, NULL};
        c.operand[1] = (EinsumOperand){rows[i].b, 1, NULL};
        Program *p = parse(lab, &c);
        if (CHECK(p))
            CHECK_STR_EQ(type_info[p->tensors.at[2].type].name, type_info[rows[i].want].name);
        lab_free(lab);
    }
}

// 100*100 + 100*100 does not fit i8: products are formed in the accumulator's type.
TEST(einsum_narrow_products_do_not_wrap) {
    Lab *lab = lab_new();
    Case c = {.spec = "i,i"};
    shape(&c, "2;2", TYPE_I8);
    const double hundreds[] = {100, 100};
    c.data[0] = c.data[1] = hundreds;
    const double *got = run(lab, &c);
    if (CHECK(got)) CHECK_F64_EQ(got[0], 20000);
    lab_free(lab);
}

TEST(einsum_without_sizes_is_symbolic) {
    Lab *lab = lab_new();
    Case c = {.spec = "mk,...kn->...mn", .n = 2};
    c.operand[0] = (EinsumOperand){TYPE_F32, 2, NULL};
    c.operand[1] = (EinsumOperand){TYPE_F32, 3, NULL};
    Program *p = parse(lab, &c);
    if (CHECK(p) && CHECK_INT_EQ(p->params.n, 4)) {
        CHECK_STR_EQ(p->params.at[0].name, "N_m");
        CHECK_STR_EQ(p->params.at[1].name, "N_k");
        CHECK_STR_EQ(p->params.at[2].name, "N_e0");
        CHECK_STR_EQ(p->params.at[3].name, "N_n");
        CHECK_STR_EQ(p->tensors.at[2].name, "out");
        CHECK_INT_EQ(p->stmts.n, 1);
        CHECK(p->stmts.at[0].op == REDUCE_ADD && p->stmts.at[0].init);
        CHECK_INT_EQ(p->tensors.at[2].rank, 3);
    }
    lab_free(lab);
}

// --- Errors ------------------------------------------------------------------------------------

// The first diagnostic is `id`, over the bytes [from, to) of the specification.
static void check_refused(const char *spec, const char *shapes, DiagId id, int from, int to,
                          int line) {
    Lab *lab = lab_new();
    Case c = {.spec = spec};
    shape(&c, shapes, TYPE_F32);
    bool ok = CHECK(!parse(lab, &c)) && CHECK(lab->diags.items.n > 0);
    if (ok) {
        const Diag *d = lab->diags.items.at[0];
        ok = CHECK_INT_EQ(d->id, id) && CHECK_INT_EQ(d->range.from, from) &&
             CHECK_INT_EQ(d->range.to, to);
    }
    if (!ok) printf("  line %d: '%s'\n%s", line, spec, lab_report(lab));
    lab_free(lab);
}
#define REFUSED(spec, shapes, id, from, to) check_refused(spec, shapes, id, from, to, __LINE__)

TEST(einsum_refuses_characters) {
    REFUSED("i1", "2 2", DIAG_EINSUM_CHAR, 1, 2);
    REFUSED("i>", "2", DIAG_EINSUM_CHAR, 1, 2);
    REFUSED("i\t", "2", DIAG_EINSUM_CHAR, 1, 2);
    REFUSED("i->i,", "2", DIAG_EINSUM_CHAR, 4, 5);
    REFUSED("i->i->i", "2", DIAG_EINSUM_CHAR, 4, 5);
    REFUSED("i->-", "2", DIAG_EINSUM_CHAR, 3, 4);
    REFUSED("\xc2\xa9", "2", DIAG_EINSUM_CHAR, 0, 1);
}

TEST(einsum_refuses_dots_and_arrows) {
    REFUSED("i..", "2 2", DIAG_EINSUM_DOTS, 1, 3);
    REFUSED("i. ..", "2 2", DIAG_EINSUM_DOTS, 1, 2);
    REFUSED("i....", "2 2", DIAG_EINSUM_DOTS, 1, 5);
    REFUSED("ij->.", "2 2", DIAG_EINSUM_DOTS, 4, 5);
    REFUSED("...i...", "2 2 2", DIAG_EINSUM_ELLIPSES, 4, 7);
    REFUSED("i->...i...", "2", DIAG_EINSUM_ELLIPSES, 7, 10);
    REFUSED("i-", "2", DIAG_EINSUM_ARROW, 1, 2);
    REFUSED("i- >i", "2", DIAG_EINSUM_ARROW, 1, 2);
    REFUSED("i--i", "2", DIAG_EINSUM_ARROW, 1, 2);
}

TEST(einsum_refuses_operands_that_do_not_fit) {
    REFUSED("i,i", "2", DIAG_EINSUM_OPERANDS, 1, 2);
    REFUSED("i", "2;2", DIAG_EINSUM_OPERANDS, 0, 1);
    REFUSED("i,j,", "2;2", DIAG_EINSUM_OPERANDS, 3, 4);
    REFUSED("", "2;2", DIAG_EINSUM_OPERANDS, 0, 1);
    REFUSED("ij,k", "2;2", DIAG_EINSUM_TOO_MANY_LABELS, 0, 2);
    REFUSED("i,ijk", "2;2 2", DIAG_EINSUM_TOO_MANY_LABELS, 2, 5);
    REFUSED("i,j", "2;2 2", DIAG_EINSUM_TOO_FEW_LABELS, 2, 3);
    REFUSED("ij,jk", "2 3;4 5", DIAG_EINSUM_SIZE, 3, 4);
    REFUSED("ii", "2 3", DIAG_EINSUM_DIAGONAL, 1, 2);
    REFUSED("ii", "1 3", DIAG_EINSUM_DIAGONAL, 1, 2);
    REFUSED("i...,j...", "2 3;2 4", DIAG_EINSUM_ELLIPSIS_SIZE, 6, 9);
}

TEST(einsum_refuses_outputs) {
    REFUSED("i->j", "2", DIAG_EINSUM_OUTPUT_LABEL, 3, 4);
    REFUSED("ij->ii", "2 2", DIAG_EINSUM_OUTPUT_TWICE, 5, 6);
    REFUSED("i...->i", "2 2", DIAG_EINSUM_OUTPUT_ELLIPSIS, 6, 7);
    REFUSED("i...->", "2 2", DIAG_EINSUM_OUTPUT_ELLIPSIS, 6, 7);
}

TEST(einsum_limits) {
    char shapes[512] = "", spec[512] = "";
    for (int i = 0; i < 129; i++) strcat(shapes, i ? ";" : ""), strcat(spec, i ? "," : "");
    REFUSED(spec, shapes, DIAG_EINSUM_LIMIT_OPERANDS, 0, 128);
    RESULT(spec + 1, shapes + 1, 1); // 128 are fine
    REFUSED("abcdefghijklmnop,q", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1;1", DIAG_EINSUM_LIMIT_RANK, 0,
            18);
    REFUSED("abcdefghijklmnopq", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", DIAG_EINSUM_LIMIT_RANK, 0,
            17);
    RESULT("abcdefghijklmnop,ABCDEFGHIJKLMNOP->",
           "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1;1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", 1);
    // More labels than one nest can have, in steps with fewer; without sizes there are no steps.
    Case c = {.spec = "abcdefghijklmnop,ABCDEFGHIJKLMNOP,q->"};
    shape(&c, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1;1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1;1", TYPE_F64);
    RESULT(c.spec, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1;1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1;1", 1);
    for (int i = 0; i < 3; i++) c.operand[i].size = NULL;
    Lab *lab = lab_new();
    if (CHECK(!parse(lab, &c))) CHECK_INT_EQ(lab->diags.items.at[0]->id, DIAG_EINSUM_LIMIT_LABELS);
    lab_free(lab);
}

TEST(einsum_shows_where_and_why) {
    Lab *lab = lab_new();
    Case c = {.spec = "ij,jk->ik"};
    shape(&c, "2 3;4 5", TYPE_F32);
    CHECK(!parse(lab, &c));
    CHECK_STR_EQ(lab_report(lab),
                 "<einsum>:1:4: error: label 'j' has size 4 in operand 1, but size 3 in operand 0\n"
                 "  ij,jk->ik\n"
                 "     ^\n"
                 "<einsum>:1:2: note: the other size comes from here\n"
                 "  ij,jk->ik\n"
                 "   ^\n");
    CHECK_INT_EQ(DIAG_EINSUM_SIZE_NOTE, lab->diags.items.at[0]->notes->id);
    lab_free(lab);
}

static void check_note(const char *spec, const char *shapes, DiagId note) {
    Lab *lab = lab_new();
    Case c = {.spec = spec};
    shape(&c, shapes, TYPE_F32);
    CHECK(!parse(lab, &c));
    const Diag *d = lab->diags.items.n ? lab->diags.items.at[0] : NULL;
    if (CHECK(d && d->notes)) CHECK_INT_EQ(d->notes->id, note);
    lab_free(lab);
}

TEST(einsum_shows_ways_out) {
    check_note("i1", "2 2", DIAG_EINSUM_CHAR_NOTE);
    check_note("i", "2 2", DIAG_EINSUM_ELLIPSIS_NOTE);
    check_note("i...->i", "2 2", DIAG_EINSUM_OUTPUT_ELLIPSIS_NOTE);
}

TEST(einsum_reports_several_mistakes) {
    Lab *lab = lab_new();
    Case c = {.spec = "i1,j2->k"};
    shape(&c, "2;2", TYPE_F32);
    CHECK(!parse(lab, &c));
    CHECK_INT_EQ(lab->diags.errors, 2);
    lab_free(lab);
}

// --- Cases from NumPy --------------------------------------------------------------------------

// One case:  case HEX-OF-SPEC OPERANDS, then per operand `TYPE RANK SIZES... DATA...`, then
// `bad`, or `ok RANK SIZES... DATA...`.
static double *read_data(Lab *lab, FILE *f, int64_t n) {
    double *data = arena_new_n(&lab->arena, double, n + 1);
    for (int64_t i = 0; i < n; i++) CHECK(fscanf(f, "%lf", &data[i]) == 1);
    return data;
}

static int64_t read_sizes(FILE *f, int *rank, int64_t *size) {
    int64_t n = 1;
    CHECK(fscanf(f, "%d", rank) == 1);
    for (int d = 0; d < *rank; d++) {
        CHECK(fscanf(f, "%" SCNd64, &size[d]) == 1);
        n *= size[d];
    }
    return n;
}

static void judge(Lab *lab, FILE *f, Case *c) {
    char verdict[8];
    const double *got = NULL;
    lab->quiet = true;
    Program *p = parse(lab, c);
    if (p) got = lab_run(lab, p, sizes_of(lab, c, p), c->data, 0);
    bool ok = CHECK(fscanf(f, "%7s", verdict) == 1);
    if (ok && strcmp(verdict, "ok")) {
        ok = CHECK(!got);
    } else if (ok) {
        int rank;
        int64_t size[32], n = read_sizes(f, &rank, size);
        const double *want = read_data(lab, f, n);
        ok = CHECK(got) && CHECK_INT_EQ(p->tensors.at[c->n].rank, rank);
        for (int d = 0; ok && d < rank; d++)
            ok = CHECK_INT_EQ(tensor_size(&lab->bound->tensors.at[c->n], d), size[d]);
        for (int64_t i = 0; ok && i < n; i++) ok = CHECK(got[i] == want[i]);
    }
    if (!ok) printf("  spec '%s'\n%s", c->spec, lab_report(lab));
}

static bool run_case(FILE *f) {
    char hex[1024], type[8];
    Case c = {0};
    if (fscanf(f, " case %1023s %d", hex, &c.n) != 2) return false;
    Lab *lab = lab_new();
    char *spec = arena_alloc(&lab->arena, strlen(hex) + 1);
    for (size_t i = 0; hex[0] != '-' && hex[2 * i]; i++) {
        unsigned byte;
        CHECK(sscanf(hex + 2 * i, "%2x", &byte) == 1);
        spec[i] = (char)byte;
    }
    c.spec = spec;
    for (int i = 0; i < c.n; i++) {
        CHECK(fscanf(f, "%7s", type) == 1);
        int64_t n = read_sizes(f, &c.operand[i].rank, c.size[i]);
        c.operand[i].type = type_by_name(type, (int)strlen(type));
        c.operand[i].size = c.size[i];
        c.data[i] = read_data(lab, f, n);
    }
    judge(lab, f, &c);
    lab_free(lab);
    return true;
}

// --- The order of contraction --------------------------------------------------------------------

// The least cost of any order of pairs, by enumeration.
static double least(const PathProblem *p, const DimSet *has, int n) {
    if (n == 1) return 0;
    double best = INFINITY;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            DimSet rest[PATH_MAX], outside = p->output, all = has[a] | has[b];
            int k = 0;
            for (int i = 0; i < n; i++)
                if (i != a && i != b) outside |= has[i], rest[k++] = has[i];
            rest[k++] = all & outside;
            if (k > 1 && p->limit > 0 && path_size(p, all & outside) > p->limit) continue;
            double cost = path_size(p, all) * (all & ~outside ? 2 : 1);
            best = fmin(best, cost + least(p, rest, k));
        }
    return best;
}

// Random operands over a few dimensions, each of which at least two operands have.
static PathProblem random_problem(Lab *lab, uint64_t *random, int n) {
    DimSet *has = arena_new_n(&lab->arena, DimSet, n), once = 0, twice;
    double *size = arena_new_n(&lab->arena, double, 8);
    for (int d = 0; d < 8; d++) size[d] = (double)(1 + check_random(random) % 9);
    twice = check_random(random) & 0x11;
    for (int i = 0; i < n; i++) {
        has[i] = check_random(random) & check_random(random) & 0xff;
        twice |= once & has[i];
        once |= has[i];
    }
    for (int i = 0; i < n; i++) has[i] &= twice;
    double limit = check_random(random) % 3 ? 0 : (double)(1 + check_random(random) % 50);
    return (PathProblem){n, has, twice & once & 0x11, size, limit, 16, 32};
}

static void check_path(Lab *lab, const PathProblem *p, const Path *path) {
    int32_t list[4 * PATH_MAX];
    size_t length = 0;
    for (int i = 0; i < path->n; i++) {
        list[length] = path->step[i].n;
        path_positions(p, path, i, list + length + 1);
        length += (size_t)path->step[i].n + 1;
    }
    Path again;
    if (!CHECK(path_given(&lab->arena, p, list, length, &again))) return;
    CHECK_F64_EQ(again.flops, path->flops);
    CHECK(again.step[again.n - 1].result == p->output);
    CHECK(p->limit <= 0 || path->largest <= p->limit);
}

// The matrices of a chain are operands n - 1 to 0, dimension i lies between matrices i - 1 and i.
static double chain_cost(const double *size, int n) {
    static double cost[PATH_MAX][PATH_MAX + 1];
    for (int length = 1; length <= n; length++)
        for (int a = 0, b = length; b <= n; a++, b++) {
            cost[a][b] = length == 1 ? 0 : INFINITY;
            for (int k = a + 1; k < b; k++)
                cost[a][b] =
                    fmin(cost[a][b], cost[a][k] + cost[k][b] + 2 * size[a] * size[k] * size[b]);
        }
    return cost[0][n];
}

TEST(einsum_order_of_many_operands) {
    uint64_t random = 5;
    for (int64_t round = 0; round < check_rounds(4); round++) {
        Lab *lab = lab_new();
        int n = 33 + (int)(check_random(&random) % (PATH_MAX - 33));
        DimSet *has = arena_new_n(&lab->arena, DimSet, n);
        double *size = arena_new_n(&lab->arena, double, n + 1);
        for (int i = 0; i <= n; i++) size[i] = (double)(1 + check_random(&random) % 50);
        for (int i = 0; i < n; i++) has[n - 1 - i] = DIM(i) | DIM(i + 1);
        PathProblem p = {n, has, DIM(0) | DIM(n), size, 0, 16, 32};
        Path path = path_find(&lab->arena, &p);
        check_path(lab, &p, &path);
        double best = chain_cost(size, n);
        CHECK(path.flops >= best * (1 - 1e-12) && path.flops <= 1.1 * best);
        lab_free(lab);
    }
}

TEST(einsum_order_is_the_cheapest) {
    uint64_t random = 17;
    for (int64_t round = 0; round < check_rounds(3000); round++) {
        Lab *lab = lab_new();
        int n = 2 + (int)(check_random(&random) % 4);
        PathProblem p = random_problem(lab, &random, n);
        Path path = path_find(&lab->arena, &p);
        check_path(lab, &p, &path);
        double best = least(&p, p.has, n);
        // If no pair respects the limit, the order ends with one step of all remaining operands.
        if (best < INFINITY) CHECK(path.flops <= best && path.flops >= best * (1 - 1e-12));
        lab_free(lab);
    }
}

TEST(einsum_greedy_orders_keep_to_the_limits) {
    uint64_t random = 23;
    for (int64_t round = 0; round < check_rounds(200); round++) {
        Lab *lab = lab_new();
        PathProblem p = random_problem(lab, &random, PATH_OPTIMAL + 1 + (int)(round % 20));
        Path path = path_find(&lab->arena, &p), all = path_all(&lab->arena, &p);
        check_path(lab, &p, &path);
        CHECK(path.flops <= all.flops);
        lab_free(lab);
    }
}

static const double *run_ordered(Lab *lab, const Case *c, const EinsumOptions *o, int *steps) {
    EinsumPlan plan;
    Program *p = einsum_parse(&lab->arena, &lab->names, lab_source(lab, "<einsum>", c->spec), c->n,
                              c->operand, o, &plan, &lab->diags);
    if (!p) return lab_show(lab), NULL;
    *steps = p->stmts.n;
    return lab_run(lab, p, sizes_of(lab, c, p), c->data, 0);
}

// Random products of up to six operands: the chosen order, one under a limit, and one nest agree.
TEST(einsum_orders_give_the_same) {
    uint64_t random = 5;
    int ordered = 0;
    for (int64_t round = 0; round < check_rounds(600); round++) {
        char spec[128] = "", shapes[256] = "";
        int n = 2 + (int)(check_random(&random) % 5), sizes[5];
        for (int d = 0; d < 5; d++) sizes[d] = (int)(check_random(&random) % 5);
        for (int i = 0; i < n; i++) {
            if (i) strcat(spec, ","), strcat(shapes, ";");
            for (int k = (int)(check_random(&random) % 4); k > 0; k--) {
                int d = (int)(check_random(&random) % 5);
                sprintf(spec + strlen(spec), "%c", 'a' + d);
                sprintf(shapes + strlen(shapes), " %d", sizes[d]);
            }
        }
        if (check_random(&random) % 2) strcat(spec, "->");
        const EinsumOptions options[] = {{.as_written = true}, {.as_written = false}, {.limit = 3}};
        const double *first = NULL;
        Lab *labs[3];
        int64_t count = 0;
        for (int k = 0; k < 3; k++) {
            Lab *lab = labs[k] = lab_new();
            Case c = {.spec = spec};
            shape(&c, shapes, TYPE_I64);
            int steps = 0;
            const double *got = run_ordered(lab, &c, &options[k], &steps);
            ordered += steps > 1;
            if (k == 0) first = got, count = lab->count;
            if (!CHECK(got) || !CHECK_INT_EQ(lab->count, count)) continue;
            for (int64_t i = 0; k && first && i < count; i++)
                if (!CHECK_F64_EQ(got[i], first[i])) printf("  in %s of %s\n", spec, shapes);
        }
        for (int k = 0; k < 3; k++) lab_free(labs[k]);
    }
    CHECK(ordered > 0);
}

TEST(einsum_orders_that_are_given) {
    Lab *lab = lab_new();
    Case c = {.spec = "ij,jk,kl->il"};
    shape(&c, "2 2;2 2;2 2", TYPE_F64);
    int steps;
    const int32_t right[] = {2, 1, 2, 2, 0, 1}, wrong[] = {2, 1, 3, 2, 0, 1}, part[] = {2, 0, 1};
    const double *got =
        run_ordered(lab, &c, &(EinsumOptions){.path = right, .path_length = 6}, &steps);
    if (CHECK(got)) CHECK_F64_EQ(got[0], 37);
    CHECK_INT_EQ(steps, 2);
    const int32_t moved[] = {1, 0, 1, 1, 2, 0, 1, 2, 0, 1, 1, 0}; // k, j and i one after the other
    got = run_ordered(lab, &c, &(EinsumOptions){.path = moved, .path_length = 12}, &steps);
    if (CHECK(got)) CHECK_F64_EQ(got[0], 37);
    CHECK_INT_EQ(steps, 2);
    EinsumPlan plan;
    for (int i = 0; i < 2; i++) {
        EinsumOptions o = {.path = i ? part : wrong, .path_length = i ? 3 : 6};
        CHECK(!einsum_parse(&lab->arena, &lab->names, lab_source(lab, "<einsum>", c.spec), 3,
                            c.operand, &o, &plan, &lab->diags));
        CHECK_STR_EQ(lab->diags.items.at[i]->text,
                     "the path is not a contraction order of 3 operands");
    }
    lab_free(lab);
}

TEST(einsum_agrees_with_numpy) {
    const char *path = getenv("LW_EINSUM_CASES");
    if (!path) return; // tests/script/einsum_numpy sets it
    FILE *f = fopen(path, "r");
    if (!CHECK(f)) return;
    int n = 0;
    while (run_case(f)) n++;
    fclose(f);
    printf("%d cases\n", n);
}
