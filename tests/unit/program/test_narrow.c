// Integer arithmetic in fewer bits gives the same values (program/narrow.c).
#include "unit/check.h"

#include "support/proglab.h"

#include <string.h>

// --- Texts ---------------------------------------------------------------------------------------

// The value of the one statement after binding: inputs A: u32, B: i8, C: i64, k in 0:32.
static void check_text(const char *type, const char *value, const char *want) {
    Lab lab;
    lab_begin(&lab);
    const char *text = arena_printf(&lab.arena,
                                    "program p { input A: u32[9] input B: i8[9] input C: i64[9]\n"
                                    "output O: %s[9, 32]\n"
                                    "O: for i in 0:9, k in 0:32  O[i, k] = %s }",
                                    type, value);
    const Program *p = lab_program(&lab, text, NULL);
    if (CHECK(p)) {
        Name tensors[] = {"A", "B", "C", "O"}, iters[] = {"i", "k"};
        Text out = {.arena = &lab.arena};
        expr_print(&out, p->stmts.at[0].value, &(PrintNames){.iters = iters, .tensors = tensors});
        CHECK_STR_EQ(text_str(&out), want);
    }
    lab_end(&lab);
}

TEST(what_is_computed_in_fewer_bits) {
    check_text("i32", "i32(i64(A[i]) >> index(k) & i64(1))", "i32(A[i] >> u32(index(k))) & 1");
    check_text("i32", "i32(i64(B[i])*index(k) + index(k))",
               "i32(B[i])*i32(index(k)) + i32(index(k))");
    check_text("i32", "i32(i64(B[i]) >> index(k))", "i32(B[i]) >> i32(index(k))");
    check_text("f32", "f32(i64(B[i]) + index(k))", "f32(i32(B[i]) + i32(index(k)))");
    check_text("bool", "(i64(A[i]) >> index(k) & i64(1)) == i64(1)",
               "(i32(A[i] >> u32(index(k))) & 1) == 1");
}

TEST(what_needs_all_bits_keeps_them) {
    check_text("i32", "i32(C[i] >> i64(1))", "i32(C[i] >> i64(1))"); // bit 32 comes in
    check_text("i32", "i32(i64(A[i]) >> index(2*k))", "i32(i64(A[i]) >> index(2*k))"); // by 62
    check_text("f32", "f32(i64(A[i]) + index(k))", "f32(i64(A[i]) + index(k))");
    check_text("i64", "i64(A[i]) + index(k)", "i64(A[i]) + index(k)");
    check_text("f32", "f32(index(i + k))", "f32(index(i + k))"); // of indices alone
}

// --- Random expressions --------------------------------------------------------------------------

enum { ITERS = 2, INPUTS = 9 };

static const Type types[INPUTS] = {TYPE_BOOL, TYPE_I8,  TYPE_U8,  TYPE_I16, TYPE_U16,
                                   TYPE_I32,  TYPE_U32, TYPE_I64, TYPE_U64};
static const int64_t lo[ITERS] = {-3, 0}, hi[ITERS] = {40, 31};

typedef struct Random {
    Exprs *x;
    uint64_t state;
} Random;

static int pick(Random *s, int n) { return (int)(check_random(&s->state) % (uint64_t)n); }

// Often at an edge of some type.
static int64_t number(Random *s) {
    int shift = pick(s, 64);
    int64_t v = (int64_t)((UINT64_C(1) << shift) + (uint64_t)pick(s, 3) - 1);
    return pick(s, 3) == 0 ? pick(s, 70) - 35 : pick(s, 2) ? v : (int64_t)(0 - (uint64_t)v);
}

static const Expr *leaf(Random *s, Type type) {
    int t = pick(s, INPUTS);
    switch (pick(s, 6)) {
    case 0: return expr_int(s->x, type, number(s));
    case 1: {
        const Affine *i = affine_iter(s->x, pick(s, ITERS));
        return expr_index(s->x, type, affine_add_const(s->x, i, pick(s, 5)));
    }
    default: return expr_cast(s->x, type, expr_read(s->x, types[t], access_make(s->x, t, 0, NULL)));
    }
}

static const Expr *random_expr(Random *s, Type type, int depth) {
    static const ExprOp ops[] = {OP_ADD, OP_SUB,    OP_MUL,   OP_DIV,    OP_MOD, OP_MIN,
                                 OP_MAX, OP_BITAND, OP_BITOR, OP_BITXOR, OP_SHL, OP_SHR,
                                 OP_NEG, OP_ABS,    OP_RELU,  OP_SELECT};
    if (depth == 0) return leaf(s, type);
    if (pick(s, 8) == 0) { // another type on the way
        Type other = types[1 + pick(s, INPUTS - 1)];
        return expr_cast(s->x, type, random_expr(s, other, depth - 1));
    }
    ExprOp op = ops[pick(s, (int)(sizeof ops / sizeof *ops))];
    const Expr *a = random_expr(s, type, depth - 1);
    if (op_info[op].arity == 1) return expr_unary(s->x, op, a);
    const Expr *b = random_expr(s, type, depth - 1);
    if ((op == OP_SHL || op == OP_SHR) && pick(s, 2))
        b = expr_index(s->x, type, affine_iter(s->x, 1));
    if (op != OP_SELECT) return expr_binary(s->x, op, a, b);
    static const ExprOp compares[] = {OP_LT, OP_LE, OP_EQ, OP_NE};
    return expr_select(s->x, expr_binary(s->x, compares[pick(s, 4)], a, b), b, a);
}

static Value eval(const Expr *e, const int64_t *iters, const Value *read) {
    Value v[4];
    if (e->kind == EXPR_CONST) return e->value;
    if (e->kind == EXPR_READ) return read[e->access->tensor];
    if (e->kind == EXPR_INDEX) {
        CHECK(affine_eval(e->index, iters, NULL, NULL, NULL, &v[0].i));
        return v[0];
    }
    for (int i = 0; i < e->n; i++) v[i] = eval(e->arg[i], iters, read);
    if (e->op == OP_CAST) return type_convert(e->type, e->arg[0]->type, v[0]);
    if (e->op == OP_SELECT) return v[0].i ? v[1] : v[2];
    return op_eval(e->op, e->arg[0]->type, v);
}

static bool same_at_random(Random *s, const Expr *a, const Expr *b) {
    Value read[INPUTS];
    int64_t iters[ITERS];
    for (int i = 0; i < INPUTS; i++)
        read[i] = type_convert(types[i], TYPE_I64, (Value){.i = number(s)});
    for (int i = 0; i < ITERS; i++) iters[i] = lo[i] + pick(s, (int)(hi[i] - lo[i] + 1));
    return eval(a, iters, read).i == eval(b, iters, read).i;
}

TEST(random_values_are_the_same) {
    static const Type results[] = {TYPE_I32, TYPE_U32, TYPE_I16, TYPE_U8, TYPE_F32, TYPE_F64};
    int64_t rounds = check_rounds(100000), changed = 0;
    for (int64_t i = 0; i < rounds; i++) {
        Lab lab;
        lab_begin(&lab);
        Exprs x;
        exprs_init(&x, &lab.arena);
        Random s = {&x, (uint64_t)i};
        const Expr *wide = random_expr(&s, pick(&s, 4) ? TYPE_I64 : TYPE_U64, 1 + pick(&s, 4));
        const Expr *e = expr_cast(&x, results[pick(&s, 6)], wide);
        if (pick(&s, 4) == 0) e = expr_binary(&x, OP_LT, wide, random_expr(&s, wide->type, 2));
        const Expr *got = expr_narrow(&x, e, lo, hi);
        changed += got != e;
        bool same = got->type == e->type;
        for (int j = 0; j < 40 && same; j++) same = same_at_random(&s, e, got);
        if (!CHECK(same)) {
            Text out = {.arena = &lab.arena};
            expr_print(&out, e, &(PrintNames){0});
            text_printf(&out, "\n");
            expr_print(&out, got, &(PrintNames){0});
            printf("seed %lld\n%s\n", (long long)i, text_str(&out));
        }
        lab_end(&lab);
        if (!same) return;
    }
    printf("%lld of %lld in fewer bits\n", (long long)changed, (long long)rounds);
    CHECK(changed * 10 > rounds);
}
