// Programs: text that parses back to itself, finishing, binding, and every located error.
#include "unit/check.h"

#include "support/proglab.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" // tables below

static Lab lab;

// --- Text --------------------------------------------------------------------------------------

static void check_round_trip(const char *text) {
    lab_begin(&lab);
    Program *p = lab_parse(&lab, text);
    if (!p) printf("%s", lab_errors(&lab));
    if (!CHECK(p != NULL)) return;
    const char *once = lab_text(&lab, p);
    Program *q = lab_parse(&lab, once);
    if (!q) printf("%s%s", once, lab_errors(&lab));
    if (CHECK(q != NULL)) CHECK_STR_EQ(lab_text(&lab, q), once);
    lab_end(&lab);
}

// The text is exactly what is printed.
static void check_canonical(const char *text) {
    lab_begin(&lab);
    Program *p = lab_parse(&lab, text);
    if (!p) printf("%s", lab_errors(&lab));
    if (CHECK(p != NULL)) CHECK_STR_EQ(lab_text(&lab, p), text);
    lab_end(&lab);
}

TEST(canonical_text_prints_as_it_is) {
    check_canonical("program mv(M, K) {\n"
                    "    input A: f32[M, K]\n"
                    "    input x: f32[K]\n"
                    "    output C: f32[M]\n"
                    "    require K - 1 >= 0 \"a \\\"reason\\\" with \\\\ and \\x0a\"\n"
                    "\n"
                    "    C: for i in 0:M, k in 0:K\n"
                    "        C[i] +=! A[i, k]*x[k]\n"
                    "}\n");
    check_canonical("program all(N, stride: i16, `2N`) {\n"
                    "    input A: f32[N, N]\n"
                    "    input I: i64[N]\n"
                    "    input h: f16[N]\n"
                    "    output C: f32[N]\n"
                    "    output O: f64[N - 1] from [1]\n"
                    "    inout H: i8[N]\n"
                    "    temp `in`: bool[]\n"
                    "\n"
                    "    `in`:\n"
                    "        `in`[] = A[0, 0] < 0.001 || true\n"
                    "\n"
                    "    C: for i in 0:N, k in 0:N if i + k - 1 >= 0, `2N` - i*stride >= 0\n"
                    "        C[i] *=! A[i, k]\n"
                    "\n"
                    "    again: for i in 0:N post unchecked hint \"<=> x\"\n"
                    "        C[i] min= select(`in`[], A[i, I[i]%N], -0.0) - -5.0*A[0, i/2] + nan\n"
                    "\n"
                    "    O: for i in 1:N\n"
                    "        O[i] = f64(0.1) + exp(f64(A[min(i, N - 1), 0])) + f64(-inf)\n"
                    "\n"
                    "    H: for i in 0:N\n"
                    "        H[2*min(3, I[i]) - (i + 1)/2%3] += i8(-128) + i8(I[i] >> i64(2))\n"
                    "\n"
                    "    C.2: for i in 0:N\n"
                    "        C[i] max= f32(f16(h[i]*h[i])) + -(f32(index(max(-i, i - 7)))%2.0)\n"
                    "}\n");
}

TEST(every_type_and_special_value_reads_back) {
    for (Type t = TYPE_BOOL; t < TYPE_COUNT; t++) {
        static const int64_t ints[] = {0, 1, -1, 127, -128, 65535, INT64_MAX, INT64_MIN};
        static const double floats[] = {0, -0.0, 1e-45, 3.5, -1e30, 65504, 0.1};
        bool is_float = type_is_float(t);
        for (size_t k = 0; k < (is_float ? 7 : 8); k++) {
            lab_begin(&lab);
            Program *p = program_new(&lab.arena, &lab.names, "v", 1);
            int a = program_tensor(p, name_of(&lab.names, "a"), t, ROLE_OUTPUT, 0, NULL);
            Stmt *st = program_stmt(p, (Range){0, 0});
            st->write = access_make(p->exprs, a, 0, NULL);
            st->value =
                is_float ? expr_float(p->exprs, t, floats[k]) : expr_int(p->exprs, t, ints[k]);
            CHECK(program_finish(p, &lab.diags));
            Program *q = lab_parse(&lab, lab_text(&lab, p));
            if (!CHECK(q != NULL)) printf("%s", lab_errors(&lab));
            if (q) CHECK(q->stmts.at[0].value->value.i == st->value->value.i);
            lab_end(&lab);
        }
    }
}

TEST(every_operation_reads_back) {
    for (int op = 0; op < OP_COUNT; op++) {
        if (op == OP_CAST || op == OP_SELECT) continue;
        OpClass class = op_info[op].class;
        bool bits = op >= OP_BITAND && op <= OP_SHR;
        Type operand = class == OP_LOGIC ? TYPE_BOOL : bits ? TYPE_I32 : TYPE_F32;
        lab_begin(&lab);
        Program *p = program_new(&lab.arena, &lab.names, "v", 1);
        const Expr *arg[4];
        for (int i = 0; i < 4; i++) {
            Name name = name_of(&lab.names, arena_printf(&lab.arena, "a%d", i));
            int a = program_tensor(p, name, operand, ROLE_INPUT, 0, NULL);
            arg[i] = expr_read(p->exprs, operand, access_make(p->exprs, a, 0, NULL));
        }
        Type result = class == OP_COMPARE || class == OP_LOGIC ? TYPE_BOOL : operand;
        int c = program_tensor(p, name_of(&lab.names, "c"), result, ROLE_OUTPUT, 0, NULL);
        const Expr *e = expr_op(p->exprs, (ExprOp)op, result, op_info[op].arity, arg);
        Stmt *st = program_stmt(p, (Range){0, 0});
        st->write = access_make(p->exprs, c, 0, NULL);
        st->value = e;
        CHECK(program_finish(p, &lab.diags));
        const char *text = lab_text(&lab, p);
        Program *q = lab_parse(&lab, text);
        if (!CHECK(q != NULL)) printf("%s%s", text, lab_errors(&lab));
        if (q) CHECK_STR_EQ(lab_text(&lab, q), text);
        lab_end(&lab);
    }
}

// --- Strings -----------------------------------------------------------------------------------

// Bytes that strings and names in backquotes may contain: all except NUL.
static char *random_string(Arena *arena, uint64_t *state, bool empty) {
    static const char *const pieces[] = {"\"",  "\\", "`",  "#", "\n",   "\t", "\x7f",
                                         "é",   "x",  "41", "{", "\xff", " ",  "\xe2\x82\xac",
                                         "\\x", "N"};
    char *s = arena_alloc(arena, 64);
    int n = (int)(check_random(state) % 6) + !empty;
    s[0] = 0;
    for (int i = 0; i < n; i++)
        strcat(s, pieces[check_random(state) % (sizeof pieces / sizeof *pieces)]);
    return s;
}

// Every byte, in one of the ways to write it.
static void write_string(Text *t, uint64_t *state, const char *s, char quote) {
    text_char(t, quote);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        bool plain = c >= 32 && c != '\\' && *s != quote;
        bool marked = c >= 32 && *s != 'x';
        uint64_t how = check_random(state) % 3;
        if (plain && how == 0)
            text_char(t, *s);
        else if (marked && how == 1)
            text_char(t, '\\'), text_char(t, *s);
        else
            text_printf(t, "\\x%02x", c);
    }
    text_char(t, quote);
}

// Diagnostics do not live as long as the Program: it must not keep pointers into them.
static Program *parse_apart(Lab *l, const char *text) {
    Arena own;
    arena_init(&own, &allocator_libc);
    DiagList diags = {.arena = &own};
    Source *s = arena_new(&l->arena, Source);
    *s = (Source){"test.lwp", text, (uint32_t)strlen(text)};
    Program *p = program_parse(&l->arena, &l->names, s, &diags);
    arena_free(&own);
    return p;
}

TEST(strings_and_names_read_back) {
    for (int64_t i = 0; i < check_rounds(2000); i++) {
        uint64_t state = (uint64_t)i + 1;
        lab_begin(&lab);
        char *why = random_string(&lab.arena, &state, true);
        char *hint = random_string(&lab.arena, &state, true);
        char *tensor = random_string(&lab.arena, &state, false);
        Text t = {.arena = &lab.arena};
        text_add(&t, "program ");
        write_string(&t, &state, random_string(&lab.arena, &state, false), '`');
        text_add(&t, "(Size) { require Size - 1 >= 0 ");
        write_string(&t, &state, why, '"');
        text_add(&t, " output ");
        write_string(&t, &state, tensor, '`');
        text_add(&t, ": f32[Size] for i in 0:Size hint ");
        write_string(&t, &state, hint, '"');
        text_char(&t, ' ');
        write_string(&t, &state, tensor, '`');
        text_add(&t, "[i] = 1.0 }");
        Program *p = parse_apart(&lab, text_str(&t));
        if (!CHECK(p != NULL)) printf("%s\n", text_str(&t));
        if (p) {
            CHECK_STR_EQ(p->preconditions.at[0].why, why);
            CHECK_STR_EQ(p->stmts.at[0].hint, hint);
            CHECK_STR_EQ(p->tensors.at[0].name, tensor);
            const char *once = lab_text(&lab, p);
            Program *q = parse_apart(&lab, once);
            if (CHECK(q != NULL)) CHECK_STR_EQ(lab_text(&lab, q), once);
        }
        lab_end(&lab);
        if (check_failures) return;
    }
}

TEST(bound_programs_print_as_numbers) {
    lab_begin(&lab);
    Program *p = lab_program(&lab,
                             "program w(N, s: i32) { input A: f32[N] output O: f32[(N - 3)/s + 1]\n"
                             "for i in 0:(N - 3)/s + 1, k in 0:3 O[i] +=! A[s*i + k] }",
                             (int64_t[]){9, 2});
    if (!CHECK(p != NULL)) return;
    CHECK_STR_EQ(lab_text(&lab, p), "program w {\n"
                                    "    input A: f32[9]\n"
                                    "    output O: f32[4]\n"
                                    "\n"
                                    "    O: for i in 0:4, k in 0:3\n"
                                    "        O[i] +=! A[2*i + k]\n"
                                    "}\n");
    CHECK(p->bound && p->stmts.at[0].iter[1].reduction && !p->stmts.at[0].iter[0].reduction);
    lab_end(&lab);
}

TEST(iterators_named_like_parameters_are_renamed) {
    lab_begin(&lab);
    Program *p = program_new(&lab.arena, &lab.names, "v", 1);
    Name n = name_of(&lab.names, "N");
    const Affine *size = affine_param(p->exprs, program_param(p, n, PARAM_SIZE));
    int a = program_tensor(p, name_of(&lab.names, "a"), TYPE_F32, ROLE_OUTPUT, 1, &size);
    Stmt *st = program_stmt(p, (Range){0, 0});
    const Affine *i = affine_iter(p->exprs, 0);
    st->write = access_make(p->exprs, a, 1, &i);
    st->niters = 1;
    st->iter = arena_new(&lab.arena, Iter);
    st->iter[0] = (Iter){.name = n, .lo = affine_const(p->exprs, 0), .hi = size};
    st->value = expr_index(p->exprs, TYPE_F32, affine_sub(p->exprs, size, i));
    CHECK(program_finish(p, &lab.diags));
    const char *text = lab_text(&lab, p);
    CHECK(strstr(text, "a: for N.1 in 0:N\n        a[N.1] = f32(index(N - N.1))\n") != NULL);
    Program *q = lab_parse(&lab, text);
    if (CHECK(q != NULL)) CHECK_STR_EQ(lab_text(&lab, q), text);
    lab_end(&lab);
}

// Separate pools: additions are invisible to the Program and to its other users.
TEST(a_fork_grows_apart) {
    lab_begin(&lab);
    int64_t values[] = {4};
    Program *p = lab_program(&lab,
                             "program f(N) { input A: f32[N, N] output C: f32[N]\n"
                             "C: for i in 0:N, k in 0:N  C[i] +=! A[i, k] + A[k, i] }",
                             values);
    if (!CHECK(p)) return;
    const char *text = lab_text(&lab, p);
    p->stmts.at[0].iter[1].name = p->stmts.at[0].iter[0].name;
    const char *alike = lab_text(&lab, p);
    Program *own = program_fork(&lab.arena, p);
    CHECK_STR_EQ(lab_text(&lab, own), alike);
    CHECK_STR_EQ(own->stmts.at[0].iter[0].name, "i.1");
    CHECK_STR_EQ(p->stmts.at[0].iter[0].name, "i");
    CHECK(own->stmts.at[0].value == p->stmts.at[0].value);
    int affines = p->exprs->affines.n, names = p->names->set.n;
    const Affine *far = affine_const(own->exprs, 123456);
    CHECK(far == affine_const(own->exprs, 123456) && own->exprs->affines.n == affines + 1);
    CHECK(name_of(own->names, "fresh") == name_of(own->names, "fresh"));
    for (int i = 0; i < 100; i++)
        name_of(own->names, arena_printf(&lab.arena, "n%d", i)), program_stmt(own, (Range){0, 0});
    CHECK(p->exprs->affines.n == affines && p->names->set.n == names && p->stmts.n == 1);
    CHECK(name_of(own->names, "i") == p->stmts.at[0].iter[0].name);
    p->stmts.at[0].iter[1].name = name_of(&lab.names, "k");
    CHECK_STR_EQ(lab_text(&lab, p), text);
    lab_end(&lab);
}

TEST(finishing_orders_tensors_and_finds_roles) {
    lab_begin(&lab);
    Program *p = lab_parse(&lab, "program r(N) { temp t: f32[N] output C: f32[N] output D: f32[N]\n"
                                 "input A: f32[N]\n"
                                 "for i in 0:N t[i] = A[i]  for i in 0:N C[i] += t[i]\n"
                                 "for i in 0:N D[i] = A[i]  for i in 0:N D[i] = D[i]*2.0 }");
    if (!CHECK(p != NULL)) return;
    CHECK(p->ninputs == 1 && p->noutputs == 2 && p->tensors.n == 4);
    CHECK_STR_EQ(p->tensors.at[0].name, "A");
    CHECK(p->tensors.at[1].role == ROLE_INOUT && p->tensors.at[2].role == ROLE_OUTPUT);
    CHECK(p->tensors.at[3].role == ROLE_TEMP);
    CHECK_STR_EQ(p->stmts.at[3].label, "D.1");
    lab_end(&lab);
    check_round_trip("program r(N) { temp t: f32[N] output C: f32[N] input A: f32[N]\n"
                     "for i in 0:N t[i] = A[i]  for i in 0:N C[i] += t[i] }");
}

// --- Refusals ----------------------------------------------------------------------------------

typedef struct Refusal {
    DiagId id;
    const char *text;     // of the program
    const char *expected; // line:column: severity: text of the first diagnostic
    int64_t values[2];    // of its parameters; parsing must succeed when `binds`
    bool binds;
} Refusal;

static void check_refusal(const Refusal *r) {
    lab_begin(&lab);
    Program *p = lab_parse(&lab, r->text);
    if (r->binds && !CHECK(p != NULL)) printf("%s", lab_errors(&lab));
    Program *q = p ? program_bind(&lab.arena, p, r->values, &lab.diags) : NULL;
    CHECK(q == NULL);
    if (!CHECK_INT_EQ(lab.diags.items.n, 1)) printf("%s\n%s", r->text, lab_errors(&lab));
    if (lab.diags.items.n > 0) {
        const Diag *d = lab.diags.items.at[0];
        int line = 0, column = 0;
        if (d->source) source_position(d->source, d->range.from, &line, &column);
        CHECK_STR_EQ(arena_printf(&lab.arena, "%d:%d: %s", line, column, d->text), r->expected);
        CHECK_INT_EQ(d->id, r->id);
    }
    lab_end(&lab);
}

#define HEAD "program f(N) { input A: f32[N] output C: f32[N]\n"

TEST(text_is_refused_where_it_is_wrong) {
    static const Refusal all[] = {
        {DIAG_TEXT_EXPECTED, "programme f {}", "1:1: expected 'program', found 'programme'"},
        {DIAG_TEXT_ONE_PROGRAM, "program f {}\nprogram g {}",
         "0:0: the text contains 2 programs; expected one"},
        {DIAG_TEXT_EXPECTED_END, "program f(N) {", "1:15: expected '}', found the end of the text"},
        {DIAG_TEXT_EXPECTED, HEAD "for i in 0:N C[i] A[i] }",
         "2:19: expected '=', '+=', '*=', 'min=' or 'max=', found 'A'"},
        {DIAG_TEXT_EXPECTED, HEAD "for i in 0:N C[i] = A[i] + }",
         "2:28: expected an expression, found '}'"},
        {DIAG_TEXT_EXPECTED, HEAD "for i in 0:N if i C[i] = A[i] }",
         "2:19: expected '>=', '<=', '>', '<' or '==', found 'C'"},
        {DIAG_TEXT_EXPECTED, "program f { input A: float[3] }",
         "1:22: expected a type, found 'float'"},
        {DIAG_TEXT_CHARACTER, HEAD "for i in 0:N C[i] = A[i] @ 1.0 }",
         "2:26: unexpected character"},
        {DIAG_TEXT_UNCLOSED, HEAD "for i in 0:N hint \"x\nC[i] = A[i] }",
         "2:19: this \" is not closed on its line"},
        {DIAG_TEXT_DUPLICATE, "program f(N, N) {}", "1:14: 'N' is declared twice"},
        {DIAG_TEXT_DUPLICATE, HEAD "input A: f32[] }", "2:7: 'A' is declared twice"},
        {DIAG_TEXT_DUPLICATE, HEAD "C: for i in 0:N C[i] = A[i]\nC: for i in 0:N C[i] += A[i] }",
         "3:1: 'C' is declared twice"},
        {DIAG_TEXT_DUPLICATE, HEAD "for i in 0:N, i in 0:N C[i] = A[i] }",
         "2:15: 'i' is declared twice"},
        {DIAG_TEXT_UNKNOWN, HEAD "for i in 0:N C[i] = B[i] }", "2:21: unknown tensor 'B'"},
        {DIAG_TEXT_UNKNOWN, HEAD "for i in 0:N C[i] = A[j] }",
         "2:23: unknown iterator or parameter 'j'"},
        {DIAG_TEXT_UNKNOWN, HEAD "for i in 0:M C[i] = A[i] }", "2:12: unknown parameter 'M'"},
        {DIAG_TEXT_RANK, HEAD "for i in 0:N C[i] = A[i, i] }",
         "2:21: 'A' has 1 dimensions, found 2"},
        {DIAG_TEXT_TYPES, HEAD "for i in 0:N C[i] = A[i] + 1 }",
         "2:21: the operands of '+' have types f32 and i32; cast one of them"},
        {DIAG_TEXT_OPERAND, HEAD "for i in 0:N C[i] = f32(exp(3)) }",
         "2:25: 'exp' takes float operands, found i32"},
        {DIAG_TEXT_OPERAND, HEAD "for i in 0:N C[i] = select(A[i], 1.0, 2.0) }",
         "2:21: 'select' takes a bool condition, found f32"},
        {DIAG_TEXT_OPERAND, HEAD "for i in 0:N C[i] = A[i] & A[i] }",
         "2:21: '&' takes integer or bool operands, found f32"},
        {DIAG_TEXT_VALUE_TYPE, HEAD "for i in 0:N C[i] = index(i) }",
         "2:21: 'C' holds f32, but the value is i64; cast it"},
        {DIAG_TEXT_INDEX_TYPE, HEAD "for i in 0:N C[i] = A[A[i]] }",
         "2:23: 'A' holds f32, but an index is an integer"},
        {DIAG_TEXT_LITERAL, HEAD "for i in 0:N C[i] = f32(2147483648) + f32(i8(128)) }",
         "2:46: this number does not fit in i8"},
        {DIAG_TEXT_LITERAL, HEAD "for i in 0:9223372036854775808 C[i] = A[i] }",
         "2:12: this number does not fit in i64"},
        {DIAG_TEXT_NO_READS, "program f { input I: i32[3] output C: f32[I[0]] C[0] = 1.0 }",
         "1:36: sizes, ranges and constraints cannot read tensors"},
        {DIAG_PROGRAM_OVERFLOW,
         HEAD "for i in 0:N C[i] = A[9223372036854775807*(i + 1) - i*2 + i*9] }",
         "2:14: integer constants of an index expression overflow 64 bits"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_refusal(&all[i]);
}

TEST(ill_formed_programs_are_refused) {
    static const Refusal all[] = {
        {DIAG_PROGRAM_ASSIGN_REDUCES, HEAD "for i in 0:N, k in 0:3 C[i] = A[i] }",
         "2:15: '=' writes each element of 'C' once, but 'k' is not used on the left and would "
         "write "
         "it again"},
        {DIAG_PROGRAM_ASSIGN_SCATTER,
         "program f(N) { input I: i32[N] output C: f32[N]\nfor i in 0:N C[I[i]] = 1.0 }",
         "2:14: computed subscripts of 'C' may coincide: '=' cannot write through them"},
        {DIAG_PROGRAM_INPUT_WRITTEN, "program f(N) { input A: f32[N]\nfor i in 0:N A[i] = 1.0 }",
         "2:14: input 'A' is written"},
        {DIAG_PROGRAM_OUTPUT_UNDEFINED, "program f(N) { output C: f32[N] }",
         "1:23: output 'C' is never defined"},
        {DIAG_PROGRAM_TEMP_UNDEFINED,
         "program f(N) { output C: f32[N] temp t: f32[N]\nfor i in 0:N C[i] = t[i] }",
         "2:14: temporary 't' is read before anything defines it"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_refusal(&all[i]);
}

TEST(sizes_that_do_not_fit_are_refused) {
    static const Refusal all[] = {
        {DIAG_BIND_SIZE_NEGATIVE,
         HEAD "for i in 0:N C[i] = A[i] }",
         "1:11: size 'N' is -1, but sizes are at least 0",
         {-1},
         true},
        {DIAG_BIND_SCALAR_RANGE,
         "program f(s: u8) { output C: f32[s] for i in 0:s C[i] = 1.0 }",
         "1:11: 's' is 256, which is not in the range of u8",
         {256},
         true},
        {DIAG_BIND_REQUIRE,
         "program f(H, KH) { require H - KH >= 0 \"the window fits\" output C: f32[H] "
         "for i in 0:H C[i] = 1.0 }",
         "1:28: H - KH >= 0 must hold with H = 3, KH = 5, but it is -2",
         {3, 5},
         true},
        {DIAG_BIND_EXTENT_NEGATIVE,
         "program f(H, KH) { output C: f32[H - KH + 1] for i in 0:H - KH + 1 C[i] = 1.0 }",
         "1:27: dimension 1 of 'C' has size H - KH + 1 = -1 with H = 3, KH = 5",
         {3, 5},
         true},
        {DIAG_BIND_RANGE_EMPTY,
         "program f(H, KH) { inout C: f32[H] for i in 2:H - KH + 1 C[i] = 1.0 }",
         "1:40: the range of 'i' is contradictory: 2 <= i < H - KH + 1 means 2 <= i < 0 with H = "
         "4, "
         "KH = 5",
         {4, 5},
         true},
        {DIAG_BIND_TENSOR_OVERFLOW,
         "program f(N) { output C: f32[N, N, N] for i in 0:N, j in 0:N, k in 0:N C[i, j, k] = 1.0 "
         "}",
         "1:23: the size of 'C' in bytes overflows 64 bits",
         {3000000},
         true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_refusal(&all[i]);
    lab_begin(&lab);
    CHECK(lab_program(&lab, "program f(N) { inout C: f32[N] for i in 0:N C[i] = 1.0 }",
                      (int64_t[]){0}) != NULL);
    lab_end(&lab);
}

TEST(accesses_outside_are_refused) {
    static const Refusal all[] = {
        {DIAG_CHECK_OUTSIDE,
         HEAD "for i in 0:N C[i] = A[i + 1] }",
         "2:14: subscript 1 of 'A' is i + 1 = 4 at i = 3, outside [0, 4)",
         {4},
         true},
        {DIAG_CHECK_OUTSIDE,
         HEAD "for i in 0:N C[i] = A[i%3 + 2] }",
         "2:14: subscript 1 of 'A' is i%3 + 2 = 4 at i = 2, outside [0, 4)",
         {4},
         false},
        {DIAG_CHECK_OUTSIDE,
         HEAD "for i in 0:N - 1 C[i - 1] = A[i] }",
         "2:18: subscript 1 of 'C' is i - 1 = -1 at i = 0, outside [0, 4)",
         {4},
         true},
        {DIAG_CHECK_OUTSIDE,
         HEAD "for i in 0:N C[i] = select(index(i) > i64(1), A[i - 3], 0.0) }",
         "2:14: subscript 1 of 'A' is i - 3 = -1 at i = 2, outside [0, 4)",
         {4},
         true},
        {DIAG_CHECK_OUTSIDE,
         HEAD "for i in 0:N if (i*i)%7 == 4 C[i] = A[i - 3] }",
         "2:30: subscript 1 of 'A' is i - 3 = -1 at i = 2, outside [0, 10)",
         {10},
         true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_refusal(&all[i]);
}

static bool accepts(const char *text, int64_t n, bool *unproven) {
    lab_begin(&lab);
    Program *p = lab_program(&lab, text, &n);
    if (!p) printf("%s", lab_errors(&lab));
    if (p && unproven) *unproven = p->stmts.at[0].unproven;
    lab_end(&lab);
    return p != NULL;
}

// Small domains are enumerated; on large ones the proof must find the guard.
TEST(guards_and_constraints_are_understood) {
    static const char *const all[] = {
        HEAD "for i in 0:N C[i] = select(index(i) > i64(0), A[i - 1], 0.0) }",
        HEAD "for i in 0:N C[i] = select(index(i) < i64(1), 0.0, A[i - 1]) }",
        HEAD "for i in 0:N C[i] = select(!(index(i) == i64(0)) && index(i + 1) > i64(1), A[i - 1], "
             "0.0) }",
        HEAD "for i in 0:N, k in 0:3 if i + k >= 1, i + k - 1 < N C[i] +=! A[i + k - 1] }",
        HEAD "for i in 0:N, k in 0:3 C[i] +=! select(index(i + k - 1) >= i64(0) && index(i + k) <= "
             "index(N), A[i + k - 1], 0.0) }",
        HEAD
        "for i in 0:N, k in 0:3 C[i] +=! select(i32(index(i + k)) - 1 < 0 || index(i + k - 1) >= "
        "index(N), 0.0, A[i + k - 1]) }",
        HEAD
        "for i in 0:N C[i] = A[max(i - 1, 0)] + A[min(i + 1, N - 1)] + A[(i + 7)%N] + A[i/3] }",
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool unproven = true;
        CHECK(accepts(all[i], 10, &unproven) && !unproven);
        unproven = true;
        if (!CHECK(accepts(all[i], 1000000, &unproven) && !unproven)) printf("%s\n", all[i]);
    }
    bool unproven = false;
    CHECK(accepts(HEAD "for i in 0:N C[i] = select(A[i] > 0.0, A[i + 1], 0.0) }", 10, &unproven));
    CHECK(unproven);
}

TEST(assignments_write_once) {
    static const Refusal all[] = {
        {DIAG_CHECK_TWICE,
         "program f(N) { output C: f32[2*N]\nfor i in 0:N, j in 0:N C[i + j] = 1.0 }",
         "2:24: '=' writes each element once, but iterations i = 0, j = 1 and i = 1, j = 0 both "
         "write C[1]",
         {4},
         true},
        {DIAG_CHECK_TWICE,
         "program f(N) { output C: f32[2*N]\nfor i in 0:N, j in 0:N C[i + j] = 1.0 }",
         "2:24: '=' writes each element once, but iterations i = 0, j = 1 and i = 1, j = 0 both "
         "write C[1]",
         {100000},
         true},
        {DIAG_CHECK_ONCE_UNPROVEN,
         "program f(N) { output C: f32[N*N]\nfor i in 0:N C[i*i] = 1.0 }",
         "2:14: could not prove that '=' writes each element of 'C' only once",
         {400000},
         true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_refusal(&all[i]);
    CHECK(accepts("program f(N) { output C: f32[8*N] for i in 0:N, j in 0:8 C[8*i + j] = 1.0 }",
                  1000000, NULL));
    CHECK(accepts("program f(N) { output C: f32[N, 8] for i in 0:8*N C[i/8, i%8] = 1.0 }", 1000000,
                  NULL));
    CHECK(accepts("program f(N) { output C: f32[2*N, N] for i in 0:N, j in 0:N C[i + j, j] = 1.0 }",
                  1000000, NULL));
    CHECK(accepts("program f(N) { output C: f32[N] for i in 0:N C[i*3%N] = 1.0 }", 7, NULL));
    CHECK(accepts("program f(N) { output C: f32[N] for i in 0:N C[i*100003%N] = 1.0 }", 400000,
                  NULL));
    CHECK(accepts("program f(N) { output C: f32[5*N] for i in 0:N, j in 0:2 C[2*i + 3*N*j] = 1.0 }",
                  1000000, NULL));
}

TEST(in_place_updates_must_not_conflict) {
    static const Refusal all[] = {
        {DIAG_CHECK_IN_PLACE,
         "program f(N) { inout a: f32[N, N]\nfor i in 0:N, j in 0:N a[i, j] = a[j, i] }",
         "2:24: 'a' cannot be updated in place: iteration i = 0, j = 1 reads a[1, 0], which "
         "iteration i = 1, j = 0 writes (anti dependence)",
         {3},
         true},
        {DIAG_CHECK_IN_PLACE,
         "program f(N) { inout a: f32[N, N]\nfor i in 0:N, j in 0:N a[i, j] = a[j, i] }",
         "2:24: 'a' cannot be updated in place: iteration i = 0, j = 1 reads a[1, 0], which "
         "iteration i = 1, j = 0 writes (anti dependence)",
         {100000},
         true},
        {DIAG_CHECK_IN_PLACE,
         "program f(N) { inout a: f32[N]\nfor i in 0:N - 1 a[i] = a[i] + a[i + 1] }",
         "2:18: 'a' cannot be updated in place: iteration i = 0 reads a[1], which iteration i = "
         "1 writes (anti dependence)",
         {3},
         true},
        {DIAG_CHECK_IN_PLACE_COMPUTED,
         "program f(N) { inout a: f32[N] input I: i32[N]\nfor i in 0:N a[i] = a[I[i]] }",
         "2:14: 'a' cannot be updated in place: it is also read or written through computed "
         "subscripts",
         {3},
         true},
        {DIAG_CHECK_IN_PLACE_COMPUTED,
         "program f(N) { inout a: i32[N]\nfor i in 0:N a[a[i]] += 1 }",
         "2:14: 'a' cannot be updated in place: it is also read or written through computed "
         "subscripts",
         {3},
         true},
        {DIAG_CHECK_IN_PLACE_UNPROVEN,
         "program f(N) { inout a: f32[N]\nfor i in 0:N/2 a[i] = a[N - 1 - i*i%(N/2 + 1)] }",
         "2:16: 'a' cannot be updated in place: some iteration may read an element that another "
         "one writes",
         {400000},
         true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_refusal(&all[i]);
    static const char *const good[] = {
        "program f(N) { inout a: f32[N] for i in 0:N a[i] = a[i]*2.0 }",
        "program f(N) { inout a: f32[N] for i in 0:N, k in 0:3 a[i] += a[i]*2.0 }",
        "program f(N) { inout a: f32[2*N] for i in 0:N a[i] = a[i + N] }",
        "program f(N) { inout a: f32[2*N] for i in 0:N a[2*i] = a[2*i + 1] }",
        "program f(N) { inout a: f32[N, 2] for i in 0:N a[i, 0] = a[N - 1 - i, 1] }",
        "program f(N) { inout a: f32[N] for i in 0:N if i >= N/2 a[i] = a[i - N/2] }",
        "program f(N) { inout a: f32[N, N] for i in 0:N, j in 0:N if i < j a[i, j] = a[j, i] }",
        "program f(N) { inout a: f32[N, 3] for i in 0:N a[i, i%2] = a[i, 2] }",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(accepts(good[i], 8, NULL));
        CHECK(accepts(good[i], 1000000, NULL));
    }
    CHECK(accepts("program f(N) { inout a: f32[N, N] for i in 0:N, j in 0:N a[i, j] = a[j, i] }", 1,
                  NULL));
}

// --- Limits ------------------------------------------------------------------------------------

static DiagId first_error(const char *text) {
    lab_begin(&lab);
    lab_parse(&lab, text);
    DiagId id = lab.diags.items.n ? lab.diags.items.at[0]->id : DIAG_NONE;
    return id;
}

// `n` times `piece` (a format that takes the number) between head and tail.
static const char *repeat(Arena *a, const char *head, const char *piece, int n, const char *tail) {
    Text t = {.arena = a};
    text_add(&t, head);
    for (int i = 0; i < n; i++) {
        for (const char *c = piece; *c; c++)
            if (*c == '#')
                text_int(&t, i);
            else
                text_char(&t, *c);
    }
    text_add(&t, tail);
    return text_str(&t);
}

TEST(limits_hold_at_and_past_their_edge) {
    static const struct {
        const char *head, *piece, *tail;
        int limit;
        DiagId past;
    } all[] = {
        {"program f(a", ", p#", ") { }", PROGRAM_MAX_PARAMS - 1, DIAG_PROGRAM_LIMIT},
        {"program f {", "input A#: f32[]\n", "}", PROGRAM_MAX_TENSORS, DIAG_PROGRAM_LIMIT},
        {"program f { inout C: f32[]", "C[] = 1.0\n", "}", PROGRAM_MAX_STMTS, DIAG_PROGRAM_LIMIT},
        {"program f { input A: f32[1", ", 2", "] }", PROGRAM_MAX_RANK - 1, DIAG_PROGRAM_LIMIT},
        {"program f { inout C: f32[] for i in 0:1", ", it# in 0:1", " C[] += 1.0 }",
         PROGRAM_MAX_ITERS - 1, DIAG_PROGRAM_LIMIT},
        {"program f { inout C: f32[] C[] = ", "abs(", "1.0", 2 * EXPRS_MAX_DEPTH + 7,
         DIAG_TEXT_NESTING},
        {"program f { inout C: f32[] C[] = C[]", " + C[]", "}", EXPRS_MAX_DEPTH,
         DIAG_PROGRAM_TOO_LARGE},
        {"program f { } #", "x", "", PROGRAM_MAX_SOURCE - 15, DIAG_TEXT_SIZE},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Arena scratch;
        arena_init(&scratch, &allocator_libc);
        const char *at = repeat(&scratch, all[i].head, all[i].piece, all[i].limit, all[i].tail);
        const char *past =
            repeat(&scratch, all[i].head, all[i].piece, all[i].limit + 1, all[i].tail);
        DiagId id = first_error(at);
        bool nesting = all[i].past == DIAG_TEXT_NESTING; // its tail leaves the calls open
        if (!CHECK(id == (nesting ? DIAG_TEXT_EXPECTED_END : DIAG_NONE)))
            printf("%s...\n%s", all[i].head, lab_errors(&lab));
        lab_end(&lab);
        if (!CHECK(first_error(past) == all[i].past)) printf("%s...\n", all[i].head);
        lab_end(&lab);
        arena_free(&scratch);
    }
}

TEST(several_mistakes_are_found_and_none_is_repeated) {
    lab_begin(&lab);
    CHECK(!lab_parse(&lab, HEAD "X: for i in 0:N\n    C[i] = B[i]\n"
                                "Y: for i in 0:N\n    C[i] = A[i] +\n"
                                "Z: for i in 0:N\n    C[j] = A[i] }"));
    CHECK_INT_EQ(lab.diags.items.n, 3);
    CHECK(lab.diags.items.at[1]->id == DIAG_TEXT_EXPECTED);
    lab_end(&lab);
    lab_begin(&lab); // a declaration that failed makes no statement fail
    CHECK(!lab_parse(&lab, "program f(N) { input A: float[N] output C: f32[N]\n"
                           "for i in 0:N C[i] = A[i] }"));
    CHECK_INT_EQ(lab.diags.items.n, 1);
    lab_end(&lab);
}

// Notes have no test of their own above.
TEST(refusals_show_a_way_out) {
    static const struct {
        DiagId note;
        const char *text;
        int64_t n;
    } all[] = {
        {DIAG_PROGRAM_ASSIGN_REDUCES_NOTE, HEAD "for i in 0:N, k in 0:3 C[i] = A[i] }", 1},
        {DIAG_PROGRAM_ASSIGN_SCATTER_NOTE,
         "program f(N) { input I: i32[N] output C: f32[N] for i in 0:N C[I[i]] = 1.0 }", 1},
        {DIAG_PROGRAM_TEMP_UNDEFINED_NOTE,
         "program f(N) { output C: f32[N] temp t: f32[N] for i in 0:N C[i] = t[i] }", 1},
        {DIAG_BIND_REQUIRE_NOTE, "program f(N) { require N > 3 \"why\" }", 1},
        {DIAG_CHECK_OUTSIDE_NOTE, HEAD "for i in 0:N C[i] = A[i + 1] }", 4},
        {DIAG_CHECK_IN_PLACE_NOTE,
         "program f(N) { inout a: f32[N] for i in 0:N a[i] = a[N - 1 - i] }", 4},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lab_begin(&lab);
        CHECK(!lab_program(&lab, all[i].text, &all[i].n));
        if (CHECK(lab.diags.items.n == 1 && lab.diags.items.at[0]->notes))
            CHECK_INT_EQ(lab.diags.items.at[0]->notes->id, all[i].note);
        lab_end(&lab);
    }
}
