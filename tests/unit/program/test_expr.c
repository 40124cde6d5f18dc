// Scalar expressions: folding, arithmetic, printing, substitution, visiting.
#include "unit/check.h"

#include "program/program.h"

#include <math.h>

static Arena arena;
static Exprs pool, *x = &pool;

static void begin(void) {
    arena_init(&arena, &allocator_libc);
    exprs_init(x, &arena);
}

static double eval1(ExprOp op, Type t, double a) { return op_eval(op, t, (Value[]){{.f = a}}).f; }

static double eval2(ExprOp op, Type t, double a, double b) {
    return op_eval(op, t, (Value[]){{.f = a}, {.f = b}}).f;
}

static int64_t int2(ExprOp op, Type t, int64_t a, int64_t b) {
    return op_eval(op, t, (Value[]){{.i = a}, {.i = b}}).i;
}

TEST(floats_round_once_per_operation) {
    float third = 1.0f / 3;
    CHECK_F64_EQ(eval2(OP_DIV, TYPE_F32, 1, 3), third);
    CHECK_F64_EQ(eval2(OP_DIV, TYPE_F16, 1, 3), third); // f16 computes in f32
    CHECK_F64_EQ(eval2(OP_DIV, TYPE_F64, 1, 3), 1.0 / 3);
    CHECK_F64_EQ(eval2(OP_ADD, TYPE_F32, 16777216, 1), 16777216);
    CHECK_F64_EQ(eval2(OP_MUL, TYPE_F32, 0x1p100, 0x1p100), INFINITY);
    Value fma[] = {{.f = 1 + 0x1p-12}, {.f = 1 + 0x1p-12}, {.f = -1 - 0x1p-11}};
    CHECK_F64_EQ(op_eval(OP_FMA, TYPE_F32, fma).f, 0x1p-24);
}

TEST(minimum_and_maximum) {
    double nan = NAN;
    CHECK_F64_EQ(eval2(OP_MIN, TYPE_F32, 0.0, -0.0), -0.0);
    CHECK_F64_EQ(eval2(OP_MIN, TYPE_F32, -0.0, 0.0), -0.0);
    CHECK_F64_EQ(eval2(OP_MAX, TYPE_F64, -0.0, 0.0), 0.0);
    CHECK(isnan(eval2(OP_MIN, TYPE_F32, nan, 1)) && isnan(eval2(OP_MAX, TYPE_F32, 1, nan)));
    CHECK_F64_EQ(eval2(OP_FMIN, TYPE_F32, nan, 1), 1);
    CHECK_F64_EQ(eval2(OP_FMAX, TYPE_F32, 1, nan), 1);
    CHECK_F64_EQ(eval2(OP_FMAX, TYPE_F32, -0.0, 0.0), 0.0);
    CHECK_F64_EQ(eval1(OP_RELU, TYPE_F32, -3), 0);
    CHECK_F64_EQ(eval1(OP_RELU, TYPE_F32, -0.0), 0.0);
    CHECK(isnan(eval1(OP_RELU, TYPE_F32, nan)));
    CHECK_INT_EQ(int2(OP_MAX, TYPE_U64, -1, 1), -1); // 2^64 - 1
    CHECK_INT_EQ(int2(OP_MAX, TYPE_I64, -1, 1), 1);
}

TEST(integers_wrap_and_divide_down) {
    CHECK_INT_EQ(int2(OP_ADD, TYPE_I8, 127, 1), -128);
    CHECK_INT_EQ(int2(OP_MUL, TYPE_U16, 65535, 65535), 1);
    CHECK_INT_EQ(int2(OP_SUB, TYPE_U32, 0, 1), 4294967295);
    CHECK_INT_EQ(int2(OP_DIV, TYPE_I32, -7, 2), -4);
    CHECK_INT_EQ(int2(OP_MOD, TYPE_I32, -7, 2), 1);
    CHECK_INT_EQ(int2(OP_MOD, TYPE_I32, 7, -2), -1);
    CHECK_INT_EQ(int2(OP_DIV, TYPE_I32, 7, 0), 0);
    CHECK_INT_EQ(int2(OP_MOD, TYPE_I32, 7, 0), 0);
    CHECK_INT_EQ(int2(OP_DIV, TYPE_I8, -128, -1), -128);
    CHECK_INT_EQ(int2(OP_DIV, TYPE_I64, INT64_MIN, -1), INT64_MIN);
    CHECK_INT_EQ(int2(OP_DIV, TYPE_U64, -1, 2), INT64_MAX);
    CHECK_INT_EQ(int2(OP_LT, TYPE_U64, -1, 1), 0);
    CHECK_INT_EQ(int2(OP_LT, TYPE_I64, -1, 1), 1);
    CHECK_INT_EQ(int2(OP_SHL, TYPE_I32, 1, 33), 2);
    CHECK_INT_EQ(int2(OP_SHR, TYPE_I8, -128, 1), -64);
    CHECK_INT_EQ(int2(OP_SHR, TYPE_U8, 128, 1), 64);
    CHECK_INT_EQ(op_eval(OP_ABS, TYPE_I8, (Value[]){{.i = -128}}).i, -128);
    CHECK_INT_EQ(op_eval(OP_NEG, TYPE_U8, (Value[]){{.i = 1}}).i, 255);
}

TEST(float_modulo_follows_the_divisor) {
    CHECK_F64_EQ(eval2(OP_MOD, TYPE_F64, -1, 3), 2);
    CHECK_F64_EQ(eval2(OP_MOD, TYPE_F64, 1, -3), -2);
    CHECK_F64_EQ(eval2(OP_MOD, TYPE_F32, 6, -3), -0.0);
    CHECK_F64_EQ(eval2(OP_FMOD, TYPE_F64, -1, 3), -1);
    CHECK(isnan(eval2(OP_MOD, TYPE_F64, 1, 0)));
}

TEST(functions_do_not_overflow_early) {
    CHECK_F64_EQ(eval1(OP_SIGMOID, TYPE_F64, -1000), 0);
    CHECK_F64_EQ(eval1(OP_SIGMOID, TYPE_F64, 1000), 1);
    CHECK_F64_EQ(eval1(OP_SIGMOID, TYPE_F64, 0), 0.5);
    CHECK_F64_EQ(eval1(OP_COSPI, TYPE_F64, 0x1p52 + 1), -1);
    CHECK_F64_EQ(eval1(OP_COSPI, TYPE_F64, 0.5), 0);
    CHECK_F64_EQ(eval1(OP_COSPI, TYPE_F64, 1.0 / 3), 0.5);
    CHECK_F64_EQ(eval1(OP_SINPI, TYPE_F64, 1), 0);
    CHECK_F64_EQ(eval1(OP_SINPI, TYPE_F64, -1), -0.0);
    CHECK_F64_EQ(eval1(OP_SINPI, TYPE_F64, 1.5), -1);
    CHECK_F64_EQ(eval1(OP_SINPI, TYPE_F64, -2.5), -1);
    CHECK(isnan(eval1(OP_COSPI, TYPE_F32, INFINITY)));
    Value big[] = {{.f = 1e308}, {.f = 1e308}, {.f = 1e308}, {.f = 1e308}};
    CHECK(isinf(op_eval(OP_NORM4D, TYPE_F64, big).f));
    CHECK(fabs(op_eval(OP_RNORM4D, TYPE_F64, big).f - 5e-309) < 1e-320);
    CHECK_F64_EQ(op_eval(OP_NORM3D, TYPE_F32, (Value[]){{.f = 2e30}, {.f = 3e30}, {.f = 6e30}}).f,
                 (float)7e30);
    CHECK_F64_EQ(eval1(OP_RSQRT, TYPE_F32, 4), 0.5);
    CHECK_F64_EQ(eval1(OP_RCBRT, TYPE_F32, 8), 0.5);
    CHECK_F64_EQ(eval1(OP_EXP10, TYPE_F32, 3), 1000);
    CHECK_F64_EQ(eval2(OP_NEXTAFTER, TYPE_F32, 1, 2), 1 + 0x1p-23);
    CHECK_F64_EQ(eval2(OP_NEXTAFTER, TYPE_F64, 1, 2), 1 + 0x1p-52);
}

// Every function of class MATH in f32 is within slightly more than half a unit of the double
// result.
TEST(functions_round_to_single) {
    for (int op = 0; op < OP_COUNT; op++) {
        if (op_info[op].class != OP_MATH || op == OP_NEXTAFTER) continue;
        Value v[] = {{.f = 0.625f}, {.f = 0.75f}, {.f = -1.5f}, {.f = 0.3125f}};
        double exact = op_eval((ExprOp)op, TYPE_F64, v).f;
        double single = op_eval((ExprOp)op, TYPE_F32, v).f;
        if (!isnan(exact)) CHECK_F64_EQ(single, (float)exact);
    }
}

static const Expr *read(int tensor, const Affine *sub) {
    return expr_read(x, TYPE_F32, access_make(x, tensor, 1, &sub));
}

static const char *show(const Expr *e) {
    Text t = {.arena = &arena};
    Name iters[] = {"i", "j"}, params[] = {"N"}, tensors[] = {"A", "B", "I"};
    expr_print(&t, e, &(PrintNames){iters, params, tensors});
    return text_str(&t);
}

TEST(constructors_fold) {
    begin();
    const Expr *a = read(0, affine_iter(x, 0)), *one = expr_float(x, TYPE_F32, 1);
    CHECK(expr_binary(x, OP_ADD, one, one) == expr_float(x, TYPE_F32, 2));
    CHECK(expr_binary(x, OP_LT, one, one) == expr_int(x, TYPE_BOOL, 0));
    CHECK(expr_select(x, expr_int(x, TYPE_BOOL, 1), a, one) == a);
    CHECK(expr_select(x, expr_binary(x, OP_LT, a, one), a, a) == a);
    CHECK(expr_cast(x, TYPE_I32, expr_float(x, TYPE_F32, 3.9)) == expr_int(x, TYPE_I32, 3));
    CHECK(expr_cast(x, TYPE_F32, a) == a);
    CHECK(expr_float(x, TYPE_F32, NAN) == expr_float(x, TYPE_F32, -NAN));
    CHECK(expr_float(x, TYPE_F32, 0) != expr_float(x, TYPE_F32, -0.0));
    CHECK(expr_index(x, TYPE_F64, affine_const(x, 5)) == expr_float(x, TYPE_F64, 5));
    const Expr *truth = expr_binary(x, OP_LT, a, one);
    CHECK(expr_unary(x, OP_NOT, expr_unary(x, OP_NOT, truth)) == truth);
    CHECK(truth->type == TYPE_BOOL);
    arena_free(&arena);
}

TEST(columns_of_an_operation_agree) {
    for (int op = 0; op < OP_COUNT; op++) {
        const OpInfo *i = &op_info[op];
        CHECK(!i->binds == !i->tc_binds && (!i->binds || i->arity == 2));
        CHECK(i->trait != TRAIT_BITS || i->class == OP_ARITH);
        CHECK(i->trait != TRAIT_EXACT || i->class == OP_MATH);
        CHECK(i->cost != COST_LONG || i->class == OP_MATH);
        CHECK(i->trait != TRAIT_LAZY || i->arity > 1);
        for (int other = 0; other < op; other++) CHECK(strcmp(i->stripe, op_info[other].stripe));
    }
}

TEST(reductions_and_their_operations_match) {
    for (Reduce r = REDUCE_ADD; r <= REDUCE_MAX; r++) CHECK_INT_EQ(reduce_by(reduce_op[r]), r);
    CHECK_INT_EQ(reduce_by(OP_SUB), REDUCE_ASSIGN);
    CHECK_F64_EQ(reduce_start(TYPE_F32, REDUCE_MUL).f, 1);
    CHECK_INT_EQ(reduce_start(TYPE_U8, REDUCE_MIN).i, 255);
}

TEST(halves_round_only_by_casts) {
    begin();
    const Expr *h = expr_float(x, TYPE_F16, 1), *three = expr_float(x, TYPE_F16, 3);
    const Expr *third = expr_binary(x, OP_DIV, h, three);
    CHECK(third->kind == EXPR_OP);
    CHECK(expr_cast(x, TYPE_F16, third) == third);
    const Expr *rounded = expr_op(x, OP_CAST, TYPE_F16, 1, &third);
    CHECK(rounded != third && expr_op(x, OP_CAST, TYPE_F16, 1, &rounded) == rounded);
    CHECK(expr_cast(x, TYPE_F16, expr_cast(x, TYPE_F32, third)) == rounded);
    Value v, r;
    CHECK(expr_eval(third, NULL, &v) && expr_eval(rounded, NULL, &r));
    CHECK_F64_EQ(v.f, (double)(1.0f / 3));
    CHECK_F64_EQ(r.f, (double)type_unpack(TYPE_F16, type_pack(TYPE_F16, 1.0f / 3)));
    arena_free(&arena);
}

// A cast that keeps every value is removed before another.
TEST(casts_go_in_one_step) {
    begin();
    const Expr *a = read(0, affine_iter(x, 0)); // f32
    const Expr *u = expr_cast(x, TYPE_U8, a), *wide = expr_cast(x, TYPE_I16, u);
    CHECK(expr_cast(x, TYPE_I32, wide) == expr_cast(x, TYPE_I32, u));
    CHECK(expr_cast(x, TYPE_U8, wide) == u);
    const Expr *narrow = expr_cast(x, TYPE_I8, u); // loses: 200 is -56
    CHECK(expr_cast(x, TYPE_I32, narrow) != expr_cast(x, TYPE_I32, u));
    const Expr *whole = expr_cast(x, TYPE_F32, u); // and back it would stop at 127, not come round
    CHECK(expr_cast(x, TYPE_I8, whole) != expr_cast(x, TYPE_I8, u));
    arena_free(&arena);
}

TEST(printing_needs_few_parentheses) {
    begin();
    const Affine *i = affine_iter(x, 0);
    const Expr *a = read(0, i), *b = read(1, affine_scale(x, i, 2));
    const Expr *sum = expr_binary(x, OP_ADD, a, b), *product = expr_binary(x, OP_MUL, a, b);
    CHECK_STR_EQ(show(expr_binary(x, OP_ADD, product, sum)), "A[i]*B[2*i] + (A[i] + B[2*i])");
    CHECK_STR_EQ(show(expr_binary(x, OP_ADD, sum, product)), "A[i] + B[2*i] + A[i]*B[2*i]");
    CHECK_STR_EQ(show(expr_binary(x, OP_MUL, sum, expr_unary(x, OP_NEG, sum))),
                 "(A[i] + B[2*i])*-(A[i] + B[2*i])");
    CHECK_STR_EQ(show(expr_binary(x, OP_SUB, a, expr_float(x, TYPE_F32, -1))), "A[i] - -1.0");
    CHECK_STR_EQ(show(expr_cast(x, TYPE_F64, expr_index(x, TYPE_I64, i))), "f64(index(i))");
    CHECK_STR_EQ(show(expr_float(x, TYPE_F64, 0.1)), "f64(0.1)");
    CHECK_STR_EQ(show(expr_int(x, TYPE_U64, -1)), "u64(18446744073709551615)");
    const Expr *c = expr_binary(x, OP_LE, a, b), *n = expr_unary(x, OP_NOT, c);
    CHECK_STR_EQ(show(expr_binary(x, OP_AND, c, n)), "A[i] <= B[2*i] && !(A[i] <= B[2*i])");
    CHECK_STR_EQ(show(expr_select(x, c, a, b)), "select(A[i] <= B[2*i], A[i], B[2*i])");
    arena_free(&arena);
}

static const Access *shift(void *user, Exprs *to, const Access *a) {
    return access_make(to, a->tensor + *(int *)user, a->rank, a->sub);
}

static void count(void *user, const Access *a, bool guarded) {
    int *n = user;
    n[a->tensor]++;
    n[3] += guarded;
}

TEST(substitution_reaches_everything) {
    begin();
    Exprs other;
    exprs_init(&other, &arena);
    const Affine *i = affine_iter(x, 0);
    const Access *index = access_make(x, 1, 1, &i);
    const Affine *computed = affine_read(x, index);
    const Expr *a = read(0, computed);
    const Expr *e = expr_select(x, expr_binary(x, OP_LT, a, expr_float(x, TYPE_F32, 1)), a,
                                expr_cast(x, TYPE_F32, expr_index(x, TYPE_I64, i)));
    CHECK_STR_EQ(show(e), "select(A[B[i]] < 1.0, A[B[i]], f32(index(i)))");
    const Affine *by[] = {affine_add_const(x, affine_param(x, 0), 3)};
    int one = 1;
    CHECK_STR_EQ(show(expr_substitute(x, e, by, NULL, shift, &one)),
                 "select(B[I[N + 3]] < 1.0, B[I[N + 3]], f32(index(N + 3)))");
    const Expr *copy = expr_subst(&other, e, &(Subst){.import = true});
    CHECK(copy != e && expr_subst(&other, e, &(Subst){.import = true}) == copy);
    CHECK_STR_EQ(show(copy), show(e));
    CHECK(expr_substitute(x, e, NULL, NULL, NULL, NULL) == e);
    int n[4] = {0};
    expr_visit_accesses(e, count, n);
    CHECK(n[0] == 2 && n[1] == 2 && n[3] == 2);
    arena_free(&arena);
}

TEST(limits_set_the_flag) {
    begin();
    const Expr *e = read(0, affine_const(x, 0));
    for (int d = 0; d <= EXPRS_MAX_DEPTH + 1 && !x->too_large; d++) e = expr_unary(x, OP_NEG, e);
    CHECK(x->too_large);
    x->too_large = false;
    e = read(0, affine_const(x, 0));
    for (int d = 0; d < 60 && !x->too_large; d++) e = expr_binary(x, OP_ADD, e, e);
    CHECK(x->too_large);
    CHECK(e->kind == EXPR_CONST && e->type == TYPE_F32);
    arena_free(&arena);
}

TEST(evaluation_at_a_point_is_lazy) {
    begin();
    const Expr *i = expr_index(x, TYPE_I64, affine_iter(x, 0));
    const Expr *zero = expr_int(x, TYPE_I64, 0), *a = read(0, affine_iter(x, 0));
    const Expr *positive = expr_binary(x, OP_GT, i, zero);
    const Expr *e = expr_select(x, positive, a, expr_float(x, TYPE_F32, 7));
    Value v;
    CHECK(expr_eval(e, (int64_t[]){0}, &v) && v.f == 7);
    CHECK(!expr_eval(e, (int64_t[]){1}, &v));
    const Expr *both = expr_binary(x, OP_AND, positive, expr_binary(x, OP_LT, a, a));
    CHECK(expr_eval(both, (int64_t[]){0}, &v) && v.i == 0);
    CHECK(!expr_eval(both, (int64_t[]){1}, &v));
    arena_free(&arena);
}
