// The declared limits of the comprehension language, each at its edge and one past it.
#include "lang/tc/tc.h"

#include "unit/check.h"

typedef struct Parsed {
    Arena arena;
    int errors, programs;
    DiagId first; // of the first error
} Parsed;

static Parsed parse(const char *text, size_t len) {
    Parsed r = {.first = DIAG_NONE};
    arena_init(&r.arena, &allocator_libc);
    Names names = {.arena = &r.arena};
    Source source = {"limits.tc", text, (uint32_t)len};
    DiagList diags = {.arena = &r.arena, .source = &source};
    Module *m = tc_infer(tc_parse(&r.arena, &names, &source, &diags));
    r.errors = diags.errors;
    r.programs = m->programs.n;
    for (int i = diags.items.n - 1; i >= 0; i--)
        if (diags.items.at[i]->severity == SEVERITY_ERROR) r.first = diags.items.at[i]->id;
    arena_free(&r.arena);
    return r;
}

static void accepts(const char *text) {
    Parsed r = parse(text, strlen(text));
    CHECK_INT_EQ(r.errors, 0);
    CHECK(r.programs > 0);
}

static void refuses(const char *text, DiagId id) {
    Parsed r = parse(text, strlen(text));
    CHECK_INT_EQ(r.errors, 1);
    CHECK_INT_EQ(r.first, id);
}

// head, `count` times piece (where %d becomes 0, 1, ...), tail.
static char *repeat(Arena *a, const char *head, const char *piece, int count, const char *tail) {
    Text t = {.arena = a};
    text_add(&t, head);
    for (int i = 0; i < count; i++)
        for (const char *p = piece; *p; p++) {
            if (*p == '%')
                text_int(&t, i);
            else
                text_char(&t, *p);
        }
    text_add(&t, tail);
    return t.s;
}

// Checks that `count` pieces are accepted and one more is refused.
static void edge(const char *head, const char *piece, const char *tail, int count, DiagId id) {
    Arena a;
    arena_init(&a, &allocator_libc);
    accepts(repeat(&a, head, piece, count, tail));
    refuses(repeat(&a, head, piece, count + 1, tail), id);
    arena_free(&a);
}

TEST(source_size) {
    const char *start = "def f() -> (o) { o = 1 }\n#";
    char *text = malloc(TC_MAX_SOURCE + 2);
    memset(text, 'x', TC_MAX_SOURCE + 1);
    memcpy(text, start, strlen(start));
    text[TC_MAX_SOURCE + 1] = 0;
    Parsed r = parse(text, TC_MAX_SOURCE);
    CHECK_INT_EQ(r.errors, 0);
    r = parse(text, TC_MAX_SOURCE + 1);
    CHECK_INT_EQ(r.errors, 1);
    CHECK_INT_EQ(r.first, DIAG_TC_TOO_LARGE);
    free(text);
}

TEST(nesting_of_parentheses) {
    Arena a;
    arena_init(&a, &allocator_libc);
    for (int extra = 0; extra < 2; extra++) {
        Text t = {.arena = &a};
        text_add(&t, "def f() -> (o) { o = ");
        text_fill(&t, '(', TC_MAX_NESTING - 1 + extra);
        text_add(&t, "1");
        text_fill(&t, ')', TC_MAX_NESTING - 1 + extra);
        text_add(&t, " }");
        if (extra)
            refuses(t.s, DIAG_TC_TOO_DEEP);
        else
            accepts(t.s);
    }
    arena_free(&a);
}

TEST(nesting_shows_the_way_out) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Names names = {.arena = &a};
    Text t = {.arena = &a};
    text_add(&t, "def f() -> (o) { o = ");
    text_fill(&t, '(', 2 * TC_MAX_NESTING);
    Source source = {"deep.tc", t.s, (uint32_t)t.len};
    DiagList diags = {.arena = &a, .source = &source};
    tc_infer(tc_parse(&a, &names, &source, &diags));
    CHECK_INT_EQ(diags.items.at[0]->notes->id, DIAG_TC_TOO_DEEP_NOTE);
    arena_free(&a);
}

TEST(nesting_of_signs) {
    edge("def f() -> (o) { o = ", "-", "1 }", TC_MAX_NESTING - 1, DIAG_TC_TOO_DEEP);
}

TEST(nesting_of_sums) {
    edge("def f() -> (o) { o = 1", " + 1", " }", TC_MAX_NESTING, DIAG_TC_TOO_DEEP);
}

TEST(dimensions) {
    edge("def f(float(N", ",N", ") A) -> (o) { o = A.0 }", PROGRAM_MAX_RANK - 1, DIAG_TC_TOO_MANY);
}

TEST(dimensions_of_results) {
    Arena a;
    arena_init(&a, &allocator_libc);
    accepts(repeat(&a, "def f() -> (o) { o(0", ",0", PROGRAM_MAX_RANK - 1, ") = 1 }"));
    refuses(repeat(&a, "def f() -> (o) { o(0", ",0", PROGRAM_MAX_RANK, ") = 1 }"),
            DIAG_TC_TOO_MANY);
    arena_free(&a);
}

TEST(indices) {
    edge("def f() -> (o) { o +=! 1 where i in 0:1", ", i% in 0:1", " }", PROGRAM_MAX_ITERS - 1,
         DIAG_TC_TOO_MANY);
    edge("def f(float(N) A) -> (o) { o +=! A(i)", " + A(i%)", " }", PROGRAM_MAX_ITERS - 1,
         DIAG_TC_TOO_MANY);
}

TEST(clauses) {
    edge("def f() -> (o) { o = 1 where x = 1", ", x% = 1", " }", TC_MAX_WHERE - 1,
         DIAG_TC_TOO_MANY);
}

TEST(statements) {
    edge("def f() -> (o) { o = 1", " o = %", " }", PROGRAM_MAX_STMTS - 1, DIAG_TC_TOO_MANY);
}

TEST(tensors) {
    edge("def f(float A", ", float A%", ") -> (o) { o = A }", PROGRAM_MAX_TENSORS - 2,
         DIAG_TC_TOO_MANY);
}

TEST(parameters) {
    edge("def f(int A", ", int A%", ") -> (o) { o = A }", PROGRAM_MAX_PARAMS - 1, DIAG_TC_TOO_MANY);
    edge("def f(float(N) A", ", float(N%) A%", ") -> (o) { o = N }", PROGRAM_MAX_PARAMS - 1,
         DIAG_TC_TOO_MANY);
}

TEST(depth_of_calls) {
    Arena a;
    arena_init(&a, &allocator_libc);
    for (int extra = 0; extra < 2; extra++) {
        Text t = {.arena = &a};
        for (int i = 0; i < TC_MAX_CALL_DEPTH + extra; i++)
            text_printf(&t, "def h%d() -> (o) { o = h%d() }\n", i, i + 1);
        text_printf(&t, "def h%d() -> (o) { o = 1 }\n", TC_MAX_CALL_DEPTH + extra);
        if (extra)
            refuses(t.s, DIAG_TC_TOO_MANY);
        else
            accepts(t.s);
    }
    arena_free(&a);
}

// Every function doubles the previous one: the limits stop it, not the machine.
TEST(doubling_calls) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Text t = {.arena = &a};
    text_add(&t, "def h0(float(N) A) -> (O) { O(i) = A(i) }\n");
    for (int i = 1; i < 40; i++)
        text_printf(&t, "def h%d(float(N) A) -> (O) { T = h%d(A) O = h%d(T) }\n", i, i - 1, i - 1);
    Parsed r = parse(t.s, t.len);
    CHECK(r.errors >= 1);
    CHECK_INT_EQ(r.first, DIAG_TC_TOO_MANY);
    arena_free(&a);
}

TEST(doubling_calls_of_nothing) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Text t = {.arena = &a};
    text_add(&t, "def h0() -> () { }\n");
    for (int i = 1; i < 40; i++) text_printf(&t, "def h%d() -> (O) { O = 1 }\n", i);
    Parsed r = parse(t.s, t.len);
    CHECK_INT_EQ(r.errors, 0);
    arena_free(&a);
}

// Definitions that double each time are refused during substitution, not expanded.
TEST(doubling_definitions) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Text t = {.arena = &a};
    text_add(&t, "def f(float(N) A) -> (O) { O(i) = x60 where x0 = A(i)");
    for (int i = 1; i <= 60; i++) text_printf(&t, ", x%d = x%d * x%d", i, i - 1, i - 1);
    text_add(&t, " }");
    refuses(t.s, DIAG_TC_EXPR_LARGE);
    arena_free(&a);
}

TEST(many_definitions_in_a_row) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Text t = {.arena = &a};
    text_add(&t, "def f(float(N) A) -> (O) { O(i) = x900 where x0 = A(i)");
    for (int i = 1; i <= 900; i++) text_printf(&t, ", x%d = x%d + 1.0", i, i - 1);
    text_add(&t, " }");
    accepts(t.s);
    arena_free(&a);
}

TEST(many_mistakes) {
    Arena a;
    arena_init(&a, &allocator_libc);
    char *text = repeat(&a, "def f(float(N) A) -> (O) { O(i) = A(i)", "\nT%(i) = B%(i)", 500, " }");
    Parsed r = parse(text, strlen(text));
    CHECK_INT_EQ(r.errors, 500);
    arena_free(&a);
}

TEST(builtins_are_sorted_and_complete) {
    bool seen[OP_COUNT] = {false};
    for (int i = 0; tc_builtin_at(i); i++) {
        const TcBuiltin *b = tc_builtin_at(i), *next = tc_builtin_at(i + 1);
        CHECK(!next || strcmp(b->name, next->name) < 0);
        CHECK(tc_builtin(b->name, strlen(b->name)) == b);
        if (b->kind == BUILTIN_OP) {
            seen[b->op] = true;
            CHECK_STR_EQ(op_info[b->op].name, b->name);
        }
    }
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].class == OP_MATH) CHECK(seen[op]);
    CHECK(seen[OP_MIN] && seen[OP_MAX] && seen[OP_ABS] && seen[OP_RELU] && seen[OP_SELECT]);
    CHECK(!tc_builtin("erfcxx", 6) && !tc_builtin("minf", 4) && tc_builtin("sqrtf", 5));
}

TEST(type_names) {
    static const char *const names[] = {
        "bool",    "byte",     "half", "float", "double", "int",   "float16", "float32",
        "float64", "bfloat16", "int8", "int16", "int32",  "int64", "uint8",   "uint16",
        "uint32",  "uint64",   "f16",  "bf16",  "f32",    "f64",   "i8",      "i16",
        "i32",     "i64",      "u8",   "u16",   "u32",    "u64"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(tc_type_name(names[i], strlen(names[i])) != TYPE_NONE);
    CHECK(!tc_type_name("flo", 3) && !tc_type_name("float33", 7) && !tc_type_name("I8", 2));
    for (int t = 1; t < TYPE_COUNT; t++)
        CHECK_INT_EQ(tc_type_name(type_info[t].name, strlen(type_info[t].name)), t);
}
