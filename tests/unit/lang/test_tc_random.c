// Random programs of the comprehension language, plausible but often wrong: each gives a
// diagnostic, or becomes a Program whose text parses back and that binds and runs or gives a
// diagnostic. The seed is the bug report.
#include "unit/check.h"
#include "lang/lang.h"

typedef struct Gen {
    Text *out;
    uint64_t state;
    int depth;
    bool let;        // the statement defines x
    char defined[8]; // results and temporaries so far
} Gen;

static int pick(Gen *g, int n) { return (int)(check_random(&g->state) % (uint64_t)n); }

static const char *one_of(Gen *g, const char *const *list, int n) { return list[pick(g, n)]; }
#define ONE_OF(g, ...)                                                                             \
    one_of(g, (const char *const[]){__VA_ARGS__},                                                  \
           (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *)))

static void add(Gen *g, const char *text) { text_add(g->out, text); }

static void expr(Gen *g);

static void subscript(Gen *g) {
    switch (pick(g, 24)) {
    case 4: add(g, ONE_OF(g, "int(B(i))", "abs(I(i))", "(i < 1 ? i : 0)", "u8(i)")); return;
    case 0: add(g, ONE_OF(g, "2*", "3*", "k*", "-")); break;
    case 1: add(g, "I("), add(g, ONE_OF(g, "i", "j", "k")), add(g, ")"); return;
    case 2: add(g, ONE_OF(g, "0", "1", "N - 1", "A.0 - 1", "s")); return;
    case 3: add(g, "min(i, "), subscript(g), add(g, ")"); return;
    default: break;
    }
    add(g, ONE_OF(g, "i", "i", "i", "i", "j", "j", "k"));
    switch (pick(g, 12)) {
    case 0: add(g, ONE_OF(g, " + 1", " - 1", "/2", " % 3", " + k", " + j", " - s", "*2")); break;
    default: break;
    }
}

// Usually an existing tensor, with the right number of subscripts.
static void access(Gen *g) {
    static const char inputs[] = "AABMHUr";
    size_t known = strlen(g->defined);
    char c = known && pick(g, 3) == 0 ? g->defined[pick(g, (int)known)]
             : pick(g, 200) == 0      ? 'T'
                                      : inputs[pick(g, 7)];
    text_char(g->out, c);
    if (c == 'r') return;
    add(g, "(");
    subscript(g);
    if ((c == 'M' || c == 'P') != (pick(g, 200) == 0)) add(g, ", "), subscript(g);
    add(g, ")");
}

static void condition(Gen *g) {
    if (pick(g, 6) == 0) {
        add(g, ONE_OF(g, "true", "!b", "b", "0 < i && i < N"));
        return;
    }
    expr(g);
    add(g, ONE_OF(g, " < ", " <= ", " > ", " >= ", " == ", " != "));
    expr(g);
}

static void expr(Gen *g) {
    if (++g->depth > 5) {
        add(g, ONE_OF(g, "1", "0.5", "i", "r", "N"));
        g->depth--;
        return;
    }
    switch (pick(g, 18)) {
    case 0:
        if (g->let && pick(g, 2))
            add(g, "x");
        else
            add(g, ONE_OF(g, "1", "2", "0.5", "1e3", "inf", "N", "s", "i", "A.0", "r"));
        break;
    case 1:
    case 2:
    case 3:
        expr(g);
        add(g, ONE_OF(g, " + ", " - ", " * ", " / ", " % "));
        if (pick(g, 60) == 0) add(g, "3 & ");
        expr(g);
        break;
    case 4:
        add(g, "("), condition(g), add(g, " ? "), expr(g), add(g, " : "), expr(g), add(g, ")");
        break;
    case 5:
        add(g, ONE_OF(g, "sqrt(", "exp(", "abs(", "relu(", "-(", "fabsf(")), expr(g), add(g, ")");
        break;
    case 6:
        add(g, ONE_OF(g, "min(", "max(", "pow(", "fmax(")), expr(g), add(g, ", "), expr(g),
            add(g, ")");
        break;
    case 7:
        add(g, ONE_OF(g, "int(", "half(", "u8(", "double(", "bool(", "i64(")), expr(g), add(g, ")");
        break;
    case 8: add(g, ONE_OF(g, "pad(", "clamp(", "mirror(")), access(g), add(g, ")"); break;
    case 9: add(g, "pad("), access(g), add(g, ", "), expr(g), add(g, ")"); break;
    default: access(g); break;
    }
    g->depth--;
}

static void where(Gen *g) {
    bool any = false;
    static const char *const clauses[] = {"i in 0:N",    "j in 0:N",       "k in 0:2",
                                          "exists A(i)", "exists M(i, j)", "i in 0:A.0"};
    for (int i = 0; i < 6; i++) {
        if (pick(g, 3) == 0) continue;
        if (i == 5 && any) continue;
        add(g, any ? ", " : " where "), any = true;
        add(g, clauses[i]);
    }
    if (g->let) {
        add(g, any ? ", x = " : " where x = ");
        g->let = false;
        expr(g);
    }
}

static void define(Gen *g, char name) {
    size_t n = strlen(g->defined);
    if (!strchr(g->defined, name) && n + 1 < sizeof g->defined) g->defined[n] = name;
}

static void statement(Gen *g) {
    add(g, "    ");
    switch (pick(g, 12)) {
    case 0:
        add(g, ONE_OF(g, "T = f(A)", "T = f(B)", "(T, q) = g(s, A)", "(T, q) = g(2, B)"));
        define(g, 'T');
        break;
    case 1:
        add(g, ONE_OF(g, "C = concat(A, B)", "C = concat(A, B, A, axis = 0)"));
        define(g, 'C');
        break;
    default: {
        char name = "OOOPTTC"[pick(g, 7)];
        text_char(g->out, name);
        add(g, pick(g, 10) ? "(i" : ONE_OF(g, "(2*i", "(N - 1 - i", "(i + 1", "(I(i)"));
        if (name == 'P') add(g, ONE_OF(g, ", j", ", k"));
        add(g, ")");
        add(g, ONE_OF(g, " = ", " = ", " +=! ", " +=! ", " += ", " *=! ", " min=! ", " max=! ",
                      " max= "));
        g->let = pick(g, 4) == 0;
        expr(g);
        where(g);
        define(g, name);
    }
    }
    add(g, "\n");
}

static void program(Gen *g) {
    add(g, "def f(float(N) A) -> (B) { t(i) = A(i) * N  B(i) = t(i) + 1 }\n");
    add(g, "def g(int s, float(N) A) -> (B, C) { B(i) = A(i) + s  C +=! A(i) }\n");
    add(g, "def main(float(N) A, float(N) B, ");
    add(g, ONE_OF(g, "float", "half", "double", "int", "i8"));
    add(g, "(N,K) M, half(N) H, u8(N) U, ");
    add(g, ONE_OF(g, "int", "i64", "u8"));
    add(g, "(N) I, int s, float r, bool b) -> (");
    add(g, ONE_OF(g, "O", "O", "float(N) O", "half(N) O", "int(N) O"));
    add(g, ") {\n    O(i) = 0 where i in 0:N\n");
    define(g, 'O');
    for (int n = 1 + pick(g, 5); n > 0; n--) statement(g);
    add(g, "}\n");
}

static bool is_small(const Program *p) {
    int64_t work = 0;
    for (int s = 0; s < p->stmts.n; s++) {
        int64_t n = 1;
        for (int i = 0; i < p->stmts.at[s].niters; i++) {
            int64_t extent = iter_hi(&p->stmts.at[s].iter[i]) - iter_lo(&p->stmts.at[s].iter[i]);
            if (extent > 10000 || (n *= extent < 1 ? 1 : extent) > 10000) return false;
        }
        if ((work += n) > 20000) return false;
    }
    for (int t = 0; t < p->tensors.n; t++)
        if (tensor_elements(&p->tensors.at[t]) > 10000) return false;
    return true;
}

static bool interpret(Arena *a, const Program *p, DiagList *diags, uint64_t seed) {
    int n = p->ninputs + p->noutputs;
    View *views = arena_new_n(a, View, n);
    for (int t = 0; t < n; t++) {
        const Tensor *ten = &p->tensors.at[t];
        int64_t *size = arena_new_n(a, int64_t, 2 * ten->rank), count = 1;
        for (int d = ten->rank - 1; d >= 0; d--) {
            size[d] = tensor_size(ten, d);
            size[ten->rank + d] = count;
            count *= size[d];
        }
        char *at = arena_alloc(a, (size_t)(count * type_info[ten->type].bytes));
        for (int64_t i = 0; i < count; i++)
            type_store(ten->type, at + i * type_info[ten->type].bytes,
                       type_convert(ten->type, TYPE_I64,
                                    (Value){.i = (int64_t)(check_random(&seed) % 4)}));
        views[t] = (View){at, ten->type, ten->rank, size, size + ten->rank};
    }
    return program_interpret(a, p, views, (InterpFlags){.trap_uninitialised = true}, diags);
}

typedef struct Counts {
    int64_t parsed, bound, ran;
} Counts;

static bool reads_back(Arena *a, Names *names, const Program *p) {
    Text first = {.arena = a}, second = {.arena = a};
    DiagList diags = {.arena = a};
    program_print(&first, p);
    Source source = {"random.lwp", text_str(&first), (uint32_t)first.len};
    const Program *again = program_parse(a, names, &source, &diags);
    if (!again) {
        Text shown = {.arena = a};
        for (int i = 0; i < diags.items.n; i++) diag_print(&shown, diags.items.at[i]);
        printf("%s", text_str(&shown));
        return false;
    }
    program_print(&second, again);
    return !strcmp(text_str(&first), text_str(&second));
}

static void round_of(uint64_t seed, Counts *counts) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Names names = {.arena = &a};
    Text text = {.arena = &a};
    Gen g = {.out = &text, .state = seed};
    program(&g);
    Source source = {"random.tc", text_str(&text), (uint32_t)text.len};
    DiagList diags = {.arena = &a, .source = &source};
    Module *m = tc_infer(tc_parse(&a, &names, &source, &diags));
    const Program *p = m->programs.n == 3 ? m->programs.at[2] : NULL;
    bool ok = (m->programs.n == 3) == (diags.errors == 0);
    if (p) {
        int64_t values[PROGRAM_MAX_PARAMS] = {0};
        for (int i = 0; i < p->params.n; i++) values[i] = 1 + (int64_t)(check_random(&g.state) % 4);
        counts->parsed++;
        ok = ok && reads_back(&a, &names, p);
        const Program *bound = program_bind(&a, p, values, &diags);
        ok = ok && (bound != NULL) == (diags.errors == 0);
        counts->bound += bound != NULL;
        if (bound && is_small(bound)) counts->ran += interpret(&a, bound, &diags, seed);
    }
    if (!CHECK(ok)) printf("seed %" PRIu64 ":\n%s", seed, text_str(&text));
    arena_free(&a);
}

TEST(random_programs) {
    Counts counts = {0};
    for (int64_t i = 0; i < check_rounds(40000); i++) round_of((uint64_t)i, &counts);
    printf("  %" PRId64 " parsed, %" PRId64 " bound, %" PRId64 " ran\n", counts.parsed,
           counts.bound, counts.ran);
    CHECK(counts.ran * 20 > check_rounds(40000));
}
