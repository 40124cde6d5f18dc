// The reference interpreter: values computed by hand.
#include "unit/check.h"

#include "support/proglab.h"

#include <math.h>

static Lab lab;

// Binds, fills the inputs with 1, 2, 3, ... and runs.
static Program *run(const char *text, const int64_t *values, LabData *d) {
    lab_begin(&lab);
    Program *p = lab_program(&lab, text, values);
    if (!p) printf("%s", lab_errors(&lab));
    if (!CHECK(p != NULL)) return NULL;
    *d = lab_data(&lab, p, 1);
    for (int i = 0; i < d->n; i++)
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
            if (p->tensors.at[i].role != ROLE_OUTPUT) lab_set(d, i, e, (double)(e + 1));
    bool ok = lab_run(&lab, p, d);
    if (!ok) printf("%s", lab_errors(&lab));
    CHECK(ok);
    return p;
}

static void check_values(const LabData *d, int tensor, int n, const double *want) {
    for (int e = 0; e < n; e++) CHECK_F64_EQ(lab_value(d, tensor, e), want[e]);
}

TEST(matrix_vector_product) {
    LabData d;
    run("program mv(M, K) { input A: f32[M, K] input x: f32[K] output C: f32[M]\n"
        "C: for i in 0:M, k in 0:K C[i] +=! A[i, k]*x[k] }",
        (int64_t[]){2, 3}, &d);
    check_values(&d, 2, 2, (double[]){14, 32});
    lab_end(&lab);
}

TEST(empty_reductions_give_the_identity) {
    LabData d;
    run("program e(M, K) { input A: f32[M, K] output S: f32[M] output P: f32[M] output L: f32[M]\n"
        "output H: i8[M] input B: i8[M, K]\n"
        "for i in 0:M, k in 0:K S[i] +=! A[i, k]   for i in 0:M, k in 0:K P[i] *=! A[i, k]\n"
        "for i in 0:M, k in 0:K L[i] min=! A[i, k] for i in 0:M, k in 0:K H[i] max=! B[i, k] }",
        (int64_t[]){1, 0}, &d);
    check_values(&d, 2, 1, (double[]){0});
    check_values(&d, 3, 1, (double[]){1});
    check_values(&d, 4, 1, (double[]){(double)INFINITY});
    check_values(&d, 5, 1, (double[]){-128});
    lab_end(&lab);
}

TEST(products_are_fused) {
    LabData d; // (1 + 2^-12)^2 - 1 - 2^-11 = 2^-24, which a rounded product loses
    Program *p = run("program f { input a: f32[] inout s: f32[] inout t: f32[]\n"
                     "s[] += a[]*a[] t[] += a[]*a[] + 0.0 }",
                     NULL, &d);
    lab_set(&d, 0, 0, 1 + 0x1p-12);
    lab_set(&d, 1, 0, -1 - 0x1p-11);
    lab_set(&d, 2, 0, -1 - 0x1p-11);
    CHECK(lab_run(&lab, p, &d));
    CHECK_F64_EQ(lab_value(&d, 1, 0), 0x1p-24);
    CHECK_F64_EQ(lab_value(&d, 2, 0), 0);
    lab_end(&lab);
}

TEST(integers_wrap_and_halves_round) {
    LabData d;
    run("program w { output a: i8[3] output h: f16[2] output u: u64[1] output q: i32[2]\n"
        "for i in 0:3 a[i] = i8(100) + i8(index(i))*i8(27)\n"
        "for i in 0:2 h[i] = f16(2048.0 + f32(index(i)))\n"
        "for i in 0:1 u[i] = u64(18446744073709551615)/u64(2)\n"
        "for i in 0:2 q[i] = (i32(index(i)) - 4)/3 }",
        NULL, &d);
    check_values(&d, 0, 3, (double[]){100, 127, -102});
    check_values(&d, 1, 2, (double[]){2048, 2048});
    check_values(&d, 2, 1, (double[]){0x1p63});
    check_values(&d, 3, 2, (double[]){-2, -1});
    lab_end(&lab);
}

TEST(windows_strides_and_origins) {
    LabData d;
    run("program w(N) { input A: f32[N] output O: f32[(N - 2)/2 + 1] output S: f32[N - 1] from "
        "[1]\n"
        "for i in 0:(N - 2)/2 + 1, k in 0:2 O[i] max=! -A[2*i + k]\n"
        "for i in 1:N S[i] = A[i - 1] - A[N - i] }",
        (int64_t[]){5}, &d);
    check_values(&d, 1, 2, (double[]){-1, -3});
    check_values(&d, 2, 4, (double[]){1 - 5, 2 - 4, 3 - 3, 4 - 2});
    lab_end(&lab);
}

TEST(constraints_and_guards_skip) {
    LabData d;
    run("program c(N) { input A: f32[N] output O: f32[N] output G: f32[N]\n"
        "for i in 0:N, k in 0:3 if i + k - 1 >= 0, N - i - k >= 0 O[i] +=! A[i + k - 1]\n"
        "for i in 0:N G[i] = select(index(i) > i64(0) && A[i - 1] > 1.5, A[i - 1], -1.0) }",
        (int64_t[]){4}, &d);
    check_values(&d, 1, 4, (double[]){3, 6, 9, 7});
    check_values(&d, 2, 4, (double[]){-1, -1, 2, 3});
    lab_end(&lab);
}

TEST(nonlinear_constraints_and_subscripts) {
    LabData d;
    run("program n(N) { input A: f32[N, 2] output O: f32[2*N] inout C: i32[3]\n"
        "for i in 0:2*N O[i] = A[i/2, i%2]\n"
        "for i in 0:2*N if i%3 - 1 >= 0 C[i%3] += 1 }",
        (int64_t[]){3}, &d);
    check_values(&d, 1, 6, (double[]){1, 2, 3, 4, 5, 6});
    check_values(&d, 2, 3, (double[]){1, 4, 5});
    lab_end(&lab);
}

TEST(gather_and_scatter) {
    lab_begin(&lab);
    Program *p = lab_program(&lab,
                             "program g(N) { input X: f32[3] input I: i32[N] output Z: f32[N]\n"
                             "output H: i32[3]\n"
                             "for i in 0:N Z[i] = X[I[i]]   H: for i in 0:N H[I[i]] +=! 1 }",
                             (int64_t[]){4});
    if (!CHECK(p != NULL)) return;
    LabData d = lab_data(&lab, p, 1);
    const double x[] = {10, 20, 30}, index[] = {2, 0, 2, 1};
    for (int e = 0; e < 3; e++) lab_set(&d, 0, e, x[e]);
    for (int e = 0; e < 4; e++) lab_set(&d, 1, e, index[e]);
    CHECK(lab_run(&lab, p, &d));
    check_values(&d, 2, 4, (double[]){30, 10, 30, 20});
    check_values(&d, 3, 3, (double[]){1, 1, 2});
    lab_set(&d, 1, 1, 3);
    CHECK(!lab_run(&lab, p, &d));
    CHECK(lab.diags.items.n == 1 && lab.diags.items.at[0]->id == DIAG_RUN_OUTSIDE);
    CHECK_STR_EQ(lab.diags.items.at[0]->text,
                 "statement 'Z': subscript 1 of 'X' is I[i] = 3 at i = 1, outside [0, 3)");
    CHECK(lab.diags.items.at[0]->notes->id == DIAG_RUN_OUTSIDE_NOTE);
    CHECK_STR_EQ(lab.diags.items.at[0]->notes->text, "I[1] is 3");
    lab_end(&lab);
}

TEST(reads_come_before_writes) {
    LabData d; // the sum of the old elements is added to each
    run("program r(N) { inout A: f32[N] for i in 0:N, k in 0:2 A[i] += A[i]*2.0 }", (int64_t[]){3},
        &d);
    check_values(&d, 0, 3, (double[]){5, 10, 15});
    lab_end(&lab);
}

TEST(flags) {
    lab_begin(&lab);
    const char *text = "program f(N) { input A: f32[N] output C: f32[N]\n"
                       "for i in 0:N, k in 0:2 C[i] +=! A[i]\n"
                       "for i in 0:N post C[i] = C[i]*10.0 }";
    Program *p = lab_program(&lab, text, (int64_t[]){1});
    if (!CHECK(p != NULL)) return;
    LabData d = lab_data(&lab, p, 1);
    InterpFlags plain = {0}, add = {.accumulate = true}, skip = {.skip_post = true};
    lab_set(&d, 0, 0, 1);
    CHECK(program_interpret(&lab.arena, p, d.view, plain, &lab.diags));
    CHECK_F64_EQ(lab_value(&d, 1, 0), 20);
    CHECK(program_interpret(&lab.arena, p, d.view, add, &lab.diags));
    CHECK_F64_EQ(lab_value(&d, 1, 0), 220);
    CHECK(program_interpret(&lab.arena, p, d.view, skip, &lab.diags));
    CHECK_F64_EQ(lab_value(&d, 1, 0), 2);
    lab_end(&lab);
}

TEST(views_may_be_strided_backwards_or_not_at_all) {
    lab_begin(&lab);
    Program *p = lab_program(&lab,
                             "program v { input A: f32[2, 3] input s: f32[3] output C: f32[3, 2]\n"
                             "for i in 0:3, j in 0:2 C[i, j] = A[j, i] + s[i] }",
                             NULL);
    if (!CHECK(p != NULL)) return;
    float a[6] = {1, 2, 3, 4, 5, 6}, s = 10, c[3][4] = {{0}};
    int64_t a_size[] = {2, 3}, s_size[] = {3}, c_size[] = {3, 2};
    View views[] = {{a + 5, TYPE_F32, 2, a_size, (int64_t[]){-3, -1}},
                    {&s, TYPE_F32, 1, s_size, (int64_t[]){0}},
                    {c, TYPE_F32, 2, c_size, (int64_t[]){4, 2}}};
    CHECK(program_interpret(&lab.arena, p, views, (InterpFlags){0}, &lab.diags));
    CHECK(c[0][0] == 16 && c[0][2] == 13 && c[1][0] == 15 && c[2][0] == 14 && c[2][2] == 11);
    CHECK(c[0][1] == 0 && c[0][3] == 0);
    lab_end(&lab);
}

TEST(uninitialised_reads_are_trapped) {
    lab_begin(&lab);
    Program *p = lab_program(&lab,
                             "program u(N) { output C: f32[N] output D: f32[N]\n"
                             "for i in 0:N C[i] = 1.0   for i in 0:N D[i] = C[i] }",
                             (int64_t[]){3});
    if (!CHECK(p != NULL)) return;
    p->stmts.at[0].iter[0].hi = affine_const(p->exprs, 2); // bypasses program_bind
    LabData d = lab_data(&lab, p, 1);
    InterpFlags trap = {.trap_uninitialised = true};
    CHECK(!program_interpret(&lab.arena, p, d.view, trap, &lab.diags));
    if (!CHECK(lab.diags.items.n == 1)) return;
    CHECK(lab.diags.items.at[0]->id == DIAG_RUN_UNINITIALISED);
    CHECK_STR_EQ(lab.diags.items.at[0]->text,
                 "statement 'D' reads C[2], which nothing wrote at i = 2");
    lab_end(&lab);
}

TEST(index_overflow_is_an_error) {
    lab_begin(&lab);
    Program *p = lab_program(&lab,
                             "program o { input I: i64[1] input A: f32[4] output C: f32[1]\n"
                             "for i in 0:1 C[i] = A[4*I[i]] }",
                             NULL);
    if (!CHECK(p != NULL)) return;
    LabData d = lab_data(&lab, p, 1);
    type_store(TYPE_I64, d.view[0].data, (Value){.i = INT64_MAX / 2});
    CHECK(!lab_run(&lab, p, &d));
    CHECK(lab.diags.items.n == 1 && lab.diags.items.at[0]->id == DIAG_RUN_OVERFLOW);
    lab_end(&lab);
}

TEST(empty_tensors_need_no_data) {
    lab_begin(&lab);
    Program *p = lab_program(&lab,
                             "program z(N) { input A: f32[N, 3] output C: f32[N]\n"
                             "for i in 0:N, k in 0:3 C[i] +=! A[i, k] }",
                             (int64_t[]){0});
    if (!CHECK(p != NULL)) return;
    int64_t size[] = {0, 3};
    View views[] = {{NULL, TYPE_F32, 2, size, NULL}, {NULL, TYPE_F32, 1, size, NULL}};
    CHECK(program_interpret(&lab.arena, p, views, (InterpFlags){0}, &lab.diags));
    lab_end(&lab);
}
