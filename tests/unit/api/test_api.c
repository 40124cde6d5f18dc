// The C API as a program would use it: parse, bind, run, DLPack, diagnostics, threads.
#include "unit/check.h"
#include "loopwright.h"

#include <pthread.h>

static const char mv_text[] = "def mv(float(M,K) A, float(K) x) -> (C) {\n"
                              "    C(m) +=! A(m,k) * x(k)\n"
                              "}\n";

static lw_module *parse(lw_context *ctx, const char *text) {
    lw_module *mod;
    lw_status status = lw_parse(ctx, "t.tc", text, strlen(text), NULL, &mod);
    if (status) printf("%s", lw_diag_text(ctx));
    return mod;
}

static DLTensor tensor(void *data, int ndim, int64_t *shape, int64_t *strides) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = ndim,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape,
                      .strides = strides};
}

TEST(version_and_names) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", LW_VERSION_MAJOR, LW_VERSION_MINOR, LW_VERSION_PATCH);
    CHECK_STR_EQ(lw_version(), text);
    CHECK_STR_EQ(lw_status_name(LW_OK), "success");
    CHECK_STR_EQ(lw_status_name((lw_status)99), "unknown status");
    CHECK_STR_EQ(lw_backend_name(LW_BACKEND_INTERP), "interp");
    CHECK(lw_backend_name((lw_backend)99) == NULL);
    CHECK(lw_backend_available(LW_BACKEND_DEFAULT));
    CHECK(!lw_backend_available((lw_backend)99));
}

TEST(signature_and_descriptions) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    if (!CHECK(mod)) return lw_context_free(ctx);
    CHECK_INT_EQ(lw_module_function_count(mod), 1);
    CHECK(lw_module_function(mod, 1) == NULL);
    CHECK(lw_module_find(mod, "nothing") == NULL);
    const lw_function *mv = lw_module_find(mod, "mv");
    if (!CHECK(mv)) return;
    CHECK_STR_EQ(lw_function_signature(mv), "mv(f32(M, K) A, f32(K) x) -> (f32(M) C)");
    CHECK_INT_EQ(lw_function_param_count(mv), 2);
    CHECK_STR_EQ(lw_function_param(mv, 1)->name, "K");
    CHECK(lw_function_param(mv, 0)->kind == LW_SIZE);
    CHECK(lw_function_param(mv, 2) == NULL);
    CHECK_INT_EQ(lw_function_input_count(mv), 2);
    CHECK_INT_EQ(lw_function_output_count(mv), 1);
    CHECK_INT_EQ(lw_function_tensor_count(mv), 3);
    const lw_tensor *a = lw_function_tensor(mv, 0), *c = lw_function_tensor(mv, 2);
    CHECK(a->role == LW_INPUT && a->ndim == 2 && a->dtype.code == kDLFloat && a->dtype.bits == 32);
    CHECK_STR_EQ(a->size[1], "K");
    CHECK_STR_EQ(a->origin[1], "0");
    CHECK(c->role == LW_OUTPUT);
    CHECK_INT_EQ(lw_function_find_tensor(mv, "x"), 1);
    CHECK_INT_EQ(lw_function_find_tensor(mv, "y"), -1);
    CHECK_INT_EQ(lw_function_find_param(mv, "M"), 0);
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(results_tell_whether_all_is_written) {
    static const char text[] = "def whole(float(N) A) -> (O) { O(i) = A(i) }\n"
                               "def sums(float(N,N) A) -> (O) { O(i) +=! A(i,k) }\n"
                               "def gaps(float(N) A) -> (O) { O(2*i) = A(i) }\n"
                               "def bins(int(N) I) -> (float(4) O) { O(I(i)) +=! 1.0 }\n"
                               "def ring(float(N) A) -> (float(9) O) { O((i + 7) % 9) = A(i) }\n";
    static const bool all[] = {true, true, false, true, false};
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    CHECK(lw_parse(ctx, "t.tc", text, sizeof text - 1, NULL, &mod) == LW_OK);
    for (size_t i = 0; i < 5; i++) {
        lw_bound *b;
        CHECK(lw_bind(ctx, lw_module_function(mod, i), (lw_size[]){{"N", 5}}, 1, &b) == LW_OK);
        CHECK_INT_EQ(lw_bound_writes_all(b, 1), all[i]);
        lw_bound_free(b);
    }
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(symbolic_sizes_scalars_and_temporaries) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, "def f(int s, float(H) I, float(KH) W, float a) -> (O) {\n"
                                "    T(h) +=! I(h + kh) * W(kh)\n"
                                "    O(h) = a * T(s * h)\n"
                                "}\n");
    if (!CHECK(mod)) return lw_context_free(ctx);
    const lw_function *f = lw_module_function(mod, 0);
    int t = lw_function_find_tensor(f, "T");
    if (!CHECK(t >= 0)) return;
    CHECK(lw_function_tensor(f, (size_t)t)->role == LW_TEMP);
    CHECK_STR_EQ(lw_function_tensor(f, (size_t)t)->size[0], "H - KH + 1");
    int s = lw_function_find_param(f, "s");
    if (CHECK(s >= 0)) {
        CHECK(lw_function_param(f, (size_t)s)->kind == LW_SCALAR);
        CHECK_INT_EQ(lw_function_param(f, (size_t)s)->dtype.bits, 32);
    }
    const char *front = "f(i32 s, f32(H) I, f32(KH) W, f32 a) -> (f32(";
    CHECK(strncmp(lw_function_signature(f), front, strlen(front)) == 0);
    lw_bound *b;
    lw_size sizes[] = {{"H", 10}, {"KH", 3}, {"s", 2}};
    CHECK_INT_EQ(lw_bind(ctx, f, sizes, 3, &b), LW_OK);
    if (CHECK(b)) {
        CHECK_INT_EQ(lw_bound_tensor(b, (size_t)t)->shape[0], 8);
        CHECK_INT_EQ(lw_bound_tensor(b, lw_function_input_count(f))->shape[0], 4);
        CHECK(lw_bound_function(b) == f);
        CHECK_INT_EQ(lw_bound_value(b, (size_t)s), 2);
    }
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(run_with_any_strides) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    if (!CHECK(mod)) return lw_context_free(ctx);
    float a[] = {1, 4, 2, 5, 3, 6}, x[] = {100, 0, 10, 0, 1}, c[] = {-1, -1, -1, -1};
    DLTensor A = tensor(a, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2}); // transposed
    DLTensor X = tensor(x, 1, (int64_t[]){3}, (int64_t[]){-2});      // backwards, every other
    X.byte_offset = 4 * sizeof(float);
    DLTensor C = tensor(c, 1, (int64_t[]){2}, (int64_t[]){2});
    const DLTensor *args[] = {&A, &X, &C};
    lw_bound *b;
    CHECK_INT_EQ(lw_bind_tensors(ctx, lw_module_function(mod, 0), args, 2, NULL, 0, &b), LW_OK);
    if (CHECK(b)) {
        lw_timing timing = {.struct_size = sizeof timing};
        lw_run_options o = {
            .struct_size = sizeof o, .backend = LW_BACKEND_INTERP, .timing = &timing};
        CHECK_INT_EQ(lw_run(ctx, b, args, 3, &o), LW_OK);
        CHECK(c[0] == 321 && c[1] == -1 && c[2] == 654 && c[3] == -1);
        CHECK(timing.backend == LW_BACKEND_INTERP && timing.run_us >= 0 && timing.compile_us == 0);
        CHECK_INT_EQ(lw_bound_instances(b), 6);
    }
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(nothing_answers_with_nothing) {
    int64_t lo, hi;
    const lw_function *f = lw_module_find(NULL, "f");
    CHECK(!f && !*lw_function_name(f) && !*lw_function_signature(f));
    CHECK(!lw_function_param_count(f) && !lw_function_param(f, 0) && !lw_function_tensor(f, 0));
    CHECK(!lw_function_input_count(f) && !lw_function_output_count(f));
    CHECK(lw_function_find_tensor(f, "A") == -1 && lw_function_find_param(f, "N") == -1);
    CHECK(!lw_bound_function(NULL) && !lw_bound_value(NULL, 0) && !lw_bound_tensor(NULL, 0));
    CHECK(!lw_bound_origin(NULL, 0) && !lw_bound_index_range(NULL, 0, &lo, &hi));
    CHECK(!lw_bound_instances(NULL) && !lw_kernel_get_info(NULL) && !lw_kernel_bound(NULL));
    CHECK(!lw_kernel_tensor(NULL, 0));
}

// Each wrong argument list gives LW_ERROR and one diagnostic with this text.
static void refuse(lw_context *ctx, const lw_bound *b, const DLTensor *const *args, size_t n,
                   const char *text) {
    CHECK_INT_EQ(lw_run(ctx, b, args, n, NULL), LW_ERROR);
    CHECK_INT_EQ(lw_diag_count(ctx), 1);
    if (lw_diag_count(ctx)) CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, text);
}

TEST(wrong_arguments_are_refused) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    if (!CHECK(mod)) return lw_context_free(ctx);
    lw_bound *b;
    CHECK_INT_EQ(lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){2, 3}, 2, &b), LW_OK);
    float a[12] = {0}, x[3] = {0}, c[4] = {0};
    DLTensor A = tensor(a, 2, (int64_t[]){2, 3}, NULL), X = tensor(x, 1, (int64_t[]){3}, NULL);
    DLTensor C = tensor(c, 1, (int64_t[]){2}, NULL);
    const DLTensor *good[] = {&A, &X, &C};
    CHECK_INT_EQ(lw_run(ctx, b, good, 3, NULL), LW_OK);
    CHECK_INT_EQ(lw_diag_count(ctx), 0);
    refuse(ctx, b, good, 2, "'mv' takes 2 + 1 arguments (inputs + outputs), but 2 were given");
    refuse(ctx, b, (const DLTensor *const[]){&A, NULL, &C}, 3,
           "argument 'x' is missing or has no data");

    DLTensor bad = A;
    bad.dtype.bits = 64;
    const DLTensor *args[] = {&bad, &X, &C};
    refuse(ctx, b, args, 3, "argument 'A' should have elements of type f32, but has f64");
    bad.dtype.lanes = 4;
    refuse(
        ctx, b, args, 3,
        "argument 'A' should have elements of type f32, but has DLPack type 2 with 64 bits and 4 "
        "lanes");
    bad = A, bad.ndim = 1;
    refuse(ctx, b, args, 3, "argument 'A' should have rank 2, but has rank 1");
    bad = A, bad.shape = NULL;
    refuse(ctx, b, args, 3, "argument 'A' has rank 2, but no shape");
    lw_bound *unshaped;
    CHECK_INT_EQ(lw_bind_tensors(ctx, lw_module_function(mod, 0), args, 2, NULL, 0, &unshaped),
                 LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "argument 'A' has rank 2, but no shape"));
    CHECK_INT_EQ(lw_einsum(ctx, "ij,j->i", args, 2, &C, NULL), LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "argument 'in0' has rank 2, but no shape"));
    bad = A, bad.shape = (int64_t[]){3, 2};
    refuse(ctx, b, args, 3, "argument 'A' should have the shape (2, 3), but has (3, 2)");
    bad = A, bad.device.device_type = kDLCUDA;
    refuse(ctx, b, args, 3, "argument 'A' is not in host memory (DLPack device type 2)");
    bad = A, bad.strides = (int64_t[]){INT64_MAX / 2, 1};
    refuse(ctx, b, args, 3, "the strides of argument 'A' reach past the end of memory");

    DLTensor out = C;
    const DLTensor *over[] = {&A, &X, &out};
    out.data = a + 5;
    refuse(ctx, b, over, 3, "output 'C' shares memory with argument 'A'");
    out = C, out.strides = (int64_t[]){0};
    refuse(ctx, b, over, 3, "the strides of output 'C' map several elements to one address");
    // The columns of A have gaps between them.
    DLTensor wide = tensor(a, 2, (int64_t[]){2, 3}, (int64_t[]){6, 2});
    const DLTensor *woven[] = {&wide, &X, &out};
    out = tensor(a + 1, 1, (int64_t[]){2}, (int64_t[]){2});
    CHECK_INT_EQ(lw_run(ctx, b, woven, 3, NULL), LW_OK);
    out.data = a;
    refuse(ctx, b, woven, 3, "output 'C' shares memory with argument 'A'");

    lw_run_options o = {.struct_size = sizeof o, .backend = (lw_backend)77};
    CHECK_INT_EQ(lw_run(ctx, b, good, 3, &o), LW_MISUSE);
    CHECK_INT_EQ(lw_run(NULL, b, good, 3, &o), LW_MISUSE);
    lw_timing timing = {0};
    o = (lw_run_options){.struct_size = sizeof o, .timing = &timing};
    CHECK_INT_EQ(lw_run(ctx, b, good, 3, &o), LW_MISUSE);
    o = (lw_run_options){.struct_size = sizeof o, .measure_seconds = -1};
    CHECK_INT_EQ(lw_run(ctx, b, good, 3, &o), LW_MISUSE);
    o = (lw_run_options){.threads = 1}; // forgotten
    CHECK_INT_EQ(lw_run(ctx, b, good, 3, &o), LW_MISUSE);
    const char *text;
    CHECK_INT_EQ(lw_bound_show_with(ctx, b, LW_STAGE_TREE, &(lw_show_options){0}, &text),
                 LW_MISUSE);
    lw_kernel *kernel;
    lw_emitted emitted;
    lw_show_options show = {.struct_size = sizeof show, .threads = -1};
    lw_space_options space = {.struct_size = sizeof space, .threads = -1};
    lw_compile_options compile = {.struct_size = sizeof compile, .threads = -1};
    lw_emit_options emit = {.struct_size = sizeof emit, .threads = -1};
    CHECK_INT_EQ(lw_bound_show_with(ctx, b, LW_STAGE_TREE, &show, &text), LW_MISUSE);
    CHECK_INT_EQ(lw_bound_space(ctx, b, &space, &text), LW_MISUSE);
    CHECK_INT_EQ(lw_compile(ctx, b, &compile, &kernel), LW_MISUSE);
    CHECK_INT_EQ(lw_bound_emit(ctx, b, LW_EMIT_OBJ, &emit, &emitted), LW_MISUSE);
    CHECK(lw_context_new(&(lw_context_options){.database = "none"}) == NULL);
    CHECK_INT_EQ(lw_run(ctx, NULL, good, 3, &o), LW_MISUSE);
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

static void bind_refused(lw_context *ctx, const lw_function *f, const lw_size *sizes, size_t n,
                         const char *text) {
    lw_bound *b = (lw_bound *)ctx;
    CHECK_INT_EQ(lw_bind(ctx, f, sizes, n, &b), LW_ERROR);
    CHECK(b == NULL);
    if (CHECK(lw_diag_count(ctx) > 0)) CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, text);
}

TEST(sizes_are_checked) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    if (!CHECK(mod)) return lw_context_free(ctx);
    const lw_function *f = lw_module_function(mod, 0);
    bind_refused(ctx, f, NULL, 0, "'mv' needs a value for M, K");
    bind_refused(ctx, f, (lw_size[]){{"M", 1}}, 1, "'mv' needs a value for K");
    bind_refused(ctx, f, (lw_size[]){{"M", 1}, {"k", 1}}, 2,
                 "'mv' has no size or scalar argument 'k'");
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->notes[0]->text, "did you mean 'K'?");
    bind_refused(ctx, f, (lw_size[]){{"M", 1}, {"K", 1}, {"M", 2}}, 3,
                 "'M' is given twice, as 1 and as 2");
    bind_refused(ctx, f, (lw_size[]){{"M", -1}, {"K", 1}}, 2,
                 "size 'M' is -1, but sizes are at least 0");
    bind_refused(ctx, f, (lw_size[]){{"M", INT64_MAX}, {"K", INT64_MAX}}, 2,
                 "the size of 'A' in bytes overflows 64 bits");
    lw_bound *b;
    CHECK_INT_EQ(lw_bind_values(ctx, f, (int64_t[]){1}, 1, &b), LW_MISUSE);
    float data[6] = {0};
    DLTensor A = tensor(data, 2, (int64_t[]){2, 3}, NULL),
             X = tensor(data, 1, (int64_t[]){2}, NULL);
    const DLTensor *args[] = {&A, &X};
    CHECK_INT_EQ(lw_bind_tensors(ctx, f, args, 2, NULL, 0, &b), LW_ERROR);
    CHECK_STR_EQ(lw_diag_text(ctx),
                 "t.tc:1:31: error: dimension 0 of argument 'x' is 2, but should be 3\n"
                 "  def mv(float(M,K) A, float(K) x) -> (C) {\n"
                 "                                ^\n"
                 "note: it is declared as f32(K) x\n"
                 "note: K = 3 comes from A\n");
    CHECK_INT_EQ(lw_bind_tensors(ctx, f, args, 1, (lw_size[]){{"M", 5}}, 1, &b), LW_ERROR);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, "dimension 0 of argument 'A' is 2, but should be 5");
    lw_module_free(mod);
    lw_context_free(ctx);
}

// Arguments are in the order of the signature, and errors of an argument point at it.
TEST(arguments_have_an_order_and_a_place) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, "def f(float(N) A, int s, float b) -> (O) { O(i) = A(i)*s + b }");
    if (!CHECK(mod)) return lw_context_free(ctx);
    const lw_function *f = lw_module_function(mod, 0);
    CHECK_INT_EQ(lw_function_argument_count(f), 3);
    CHECK_STR_EQ(lw_function_argument(f, 0)->name, "A");
    CHECK_INT_EQ(lw_function_argument(f, 0)->tensor, 0);
    CHECK_INT_EQ(lw_function_argument(f, 0)->param, -1);
    CHECK_STR_EQ(lw_function_argument(f, 1)->name, "s");
    CHECK_INT_EQ(lw_function_argument(f, 1)->tensor, -1);
    CHECK_STR_EQ(lw_function_param(f, (size_t)lw_function_argument(f, 1)->param)->name, "s");
    CHECK_STR_EQ(lw_function_argument(f, 2)->name, "b");
    CHECK(!lw_function_argument(f, 3) && !lw_function_argument(NULL, 0));
    CHECK_INT_EQ(lw_function_argument_count(NULL), 0);
    CHECK_INT_EQ(lw_argument_error(ctx, f, "s", "argument 's' is no integer"), LW_ERROR);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, "argument 's' is no integer");
    CHECK_INT_EQ(lw_diag_get(ctx, 0)->column, 23);
    CHECK_INT_EQ(lw_argument_error(ctx, f, "A", "argument 'A' holds text"), LW_ERROR);
    CHECK_INT_EQ(lw_diag_get(ctx, 0)->column, 16);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->notes[0]->text, "it is declared as f32(N) A");
    CHECK_INT_EQ(lw_argument_error(ctx, f, "Z", ""), LW_MISUSE);
    CHECK_INT_EQ(lw_argument_error(ctx, f, "A", NULL), LW_MISUSE);
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(diagnostics_are_data) {
    lw_context *ctx = lw_context_new(NULL);
    const char *text = "def f(float(N) A) -> (B) {\n    B(i) = A(i) + D(i)\n}\n";
    lw_module *mod = (lw_module *)ctx;
    CHECK_INT_EQ(lw_parse(ctx, "bad.tc", text, strlen(text), NULL, &mod), LW_ERROR);
    CHECK(mod == NULL);
    const lw_diag *d = lw_diag_get(ctx, 0);
    if (CHECK(d)) {
        CHECK(d->severity == LW_SEVERITY_ERROR);
        CHECK_STR_EQ(d->file, "bad.tc");
        CHECK_INT_EQ(d->line, 2);
        CHECK_INT_EQ(d->column, 19);
        CHECK_INT_EQ(d->end_line, 2);
        CHECK(d->end_column > 19);
        CHECK(strstr(lw_diag_text(ctx), "bad.tc:2:19: error: ") != NULL);
    }
    CHECK(lw_diag_get(ctx, 1000) == NULL);
    CHECK_INT_EQ(lw_parse(ctx, "what.xyz", text, strlen(text), NULL, &mod), LW_ERROR);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, "cannot tell the language of 'what.xyz' by its name");
    CHECK(lw_diag_get(ctx, 0)->file == NULL);
    CHECK_INT_EQ(lw_parse_file(ctx, "/no/such.tc", NULL, &mod), LW_ERROR);
    CHECK_STR_EQ(lw_diag_text(ctx),
                 "error: cannot read '/no/such.tc': No such file or directory\n");
    CHECK_INT_EQ(lw_parse_file(ctx, "/dev",
                               &(lw_parse_options){.struct_size = sizeof(lw_parse_options),
                                                   .language = LW_LANG_TC},
                               &mod),
                 LW_ERROR);
    CHECK_STR_EQ(lw_diag_text(ctx), "error: cannot read '/dev': is a directory\n");
    CHECK_INT_EQ(lw_parse(ctx, NULL, text, 3, NULL, &mod), LW_MISUSE);
    CHECK_INT_EQ(lw_parse(ctx, "a.tc", NULL, 3, NULL, &mod), LW_MISUSE);
    lw_context_free(ctx);
}

TEST(warnings_do_not_fail_unless_strict) {
    lw_context *ctx = lw_context_new(NULL);
    const char *text = "def f(float(N,M) A) -> (B) {\n    B(i) += A(i,j)\n}\n";
    lw_module *mod;
    CHECK_INT_EQ(lw_parse(ctx, "w.tc", text, strlen(text), NULL, &mod), LW_OK);
    if (CHECK(lw_diag_count(ctx) == 1)) CHECK(lw_diag_get(ctx, 0)->severity == LW_SEVERITY_WARNING);
    if (CHECK(mod)) CHECK(lw_function_tensor(lw_module_function(mod, 0), 1)->role == LW_INOUT);
    lw_module_free(mod);
    lw_parse_options o = {.struct_size = sizeof o, .strict = true};
    CHECK_INT_EQ(lw_parse(ctx, "w.tc", text, strlen(text), &o, &mod), LW_ERROR);
    lw_context_free(ctx);
}

TEST(source_length_is_limited) {
    lw_context *ctx = lw_context_new(NULL);
    char *text = malloc(LW_MAX_SOURCE + 1);
    memset(text, ' ', LW_MAX_SOURCE + 1);
    memcpy(text, mv_text, sizeof mv_text - 1);
    lw_module *mod;
    CHECK_INT_EQ(lw_parse(ctx, "t.tc", text, LW_MAX_SOURCE, NULL, &mod), LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "the limit is 1048576")); // TC's own
    CHECK_INT_EQ(lw_parse(ctx, "t.tc", text, LW_MAX_SOURCE + 1, NULL, &mod), LW_ERROR);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, "'t.tc' is longer than 16777216 bytes");
    free(text);
    lw_context_free(ctx);
}

TEST(handles_may_be_freed_in_any_order) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    if (!CHECK(mod)) return lw_context_free(ctx);
    lw_bound *b;
    CHECK_INT_EQ(lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){2, 3}, 2, &b), LW_OK);
    lw_context_free(ctx);
    lw_module_free(mod);
    CHECK_STR_EQ(lw_function_name(lw_bound_function(b)), "mv");
    lw_bound_free(b);
    lw_bound_free(NULL);
    lw_module_free(NULL);
    lw_context_free(NULL);
}

TEST(programs_show_as_text_that_parses_back) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text), *again;
    if (!CHECK(mod)) return lw_context_free(ctx);
    const char *text;
    CHECK_INT_EQ(lw_function_show(ctx, lw_module_function(mod, 0), LW_STAGE_PROGRAM, &text), LW_OK);
    char *copy = strdup(text ? text : "");
    CHECK_INT_EQ(lw_parse(ctx, "mv.lwp", copy, strlen(copy), NULL, &again), LW_OK);
    if (CHECK(again)) {
        const lw_function *f = lw_module_function(again, 0);
        CHECK_STR_EQ(lw_function_signature(f), lw_function_signature(lw_module_function(mod, 0)));
        CHECK_INT_EQ(lw_function_show(ctx, f, LW_STAGE_PROGRAM, &text), LW_OK);
        CHECK_STR_EQ(text, copy);
        lw_bound *b;
        CHECK_INT_EQ(lw_bind_values(ctx, f, (int64_t[]){2, 3}, 2, &b), LW_OK);
        CHECK_INT_EQ(lw_bound_show(ctx, b, LW_STAGE_PROGRAM, &text), LW_OK);
        CHECK(text && strcmp(text, copy) != 0);
        lw_bound_free(b);
    }
    CHECK_INT_EQ(lw_function_show(ctx, lw_module_function(mod, 0), (lw_stage)99, &text), LW_MISUSE);
    free(copy);
    lw_module_free(again);
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(index_ranges_of_gathers) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, "def g(float(N) A, int32(K) I) -> (O) {\n"
                                "    O(k, j) = A(2 * I(k) + j) where j in 0:3\n"
                                "}\n");
    if (!CHECK(mod)) return lw_context_free(ctx);
    const lw_function *f = lw_module_function(mod, 0);
    lw_bound *b;
    CHECK_INT_EQ(lw_bind(ctx, f, (lw_size[]){{"N", 10}, {"K", 4}}, 2, &b), LW_OK);
    int64_t lo = -1, hi = -1;
    if (CHECK(b)) {
        CHECK(!lw_bound_index_range(b, 0, &lo, &hi));
        CHECK(lw_bound_index_range(b, 1, &lo, &hi)); // 2v + 2 <= 9
        CHECK_INT_EQ(lo, 0);
        CHECK_INT_EQ(hi, 3);
        float a[10], o[12];
        int32_t in[4] = {0, 1, 2, 3}, out[4] = {0, 1, 2, 9};
        for (int i = 0; i < 10; i++) a[i] = (float)i;
        DLTensor A = tensor(a, 1, (int64_t[]){10}, NULL), I = tensor(in, 1, (int64_t[]){4}, NULL);
        DLTensor O = tensor(o, 2, (int64_t[]){4, 3}, NULL);
        I.dtype.code = kDLInt;
        const DLTensor *args[] = {&A, &I, &O};
        CHECK_INT_EQ(lw_run(ctx, b, args, 3, NULL), LW_OK);
        CHECK(o[11] == 8);
        I.data = out;
        CHECK_INT_EQ(lw_run(ctx, b, args, 3, NULL), LW_ERROR);
    }
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(einsum_in_one_call) {
    lw_context *ctx = lw_context_new(NULL);
    float a[] = {1, 2, 3, 4, 5, 6}, x[] = {1, 10, 100}, c[2];
    DLTensor A = tensor(a, 2, (int64_t[]){2, 3}, NULL), X = tensor(x, 1, (int64_t[]){3}, NULL);
    DLTensor C = tensor(c, 1, (int64_t[]){2}, NULL);
    const DLTensor *operands[] = {&A, &X};
    CHECK_INT_EQ(lw_einsum(ctx, "ij,j->i", operands, 2, &C, NULL), LW_OK);
    CHECK(c[0] == 321 && c[1] == 654);
    CHECK_INT_EQ(lw_einsum(ctx, "ij,jk->i", operands, 2, &C, NULL), LW_ERROR);
    CHECK(lw_diag_count(ctx) > 0);
    CHECK_INT_EQ(lw_einsum(ctx, "ij,j->ij", operands, 2, &C, NULL), LW_ERROR);
    CHECK_INT_EQ(lw_einsum(ctx, "ij,j->i", operands, 1, &C, NULL), LW_ERROR);
    CHECK_INT_EQ(lw_einsum(ctx, NULL, operands, 2, &C, NULL), LW_MISUSE);
    X.dtype = (DLDataType){kDLFloat, 32, 2};
    CHECK_INT_EQ(lw_einsum(ctx, "ij,j->i", operands, 2, &C, NULL), LW_ERROR);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text,
                 "operand 'in1' has elements of a type that is not supported: "
                 "DLPack type 2 with 32 bits and 2 lanes"); // DIAG_OPERAND_TYPE
    X.dtype.lanes = 1;
    lw_module *mod;
    CHECK_INT_EQ(lw_parse_einsum(ctx, "ij,j->i", operands, 2, &mod), LW_OK);
    if (mod) CHECK_INT_EQ(lw_function_input_count(lw_module_function(mod, 0)), 2);
    lw_module_free(mod);
    lw_context_free(ctx);
}

// --- Graphs --------------------------------------------------------------------------------------

static const DLDataType f32 = {kDLFloat, 32, 1};

// C = A B, the reduction over k.
static lw_graph *matmul_graph(lw_context *ctx) {
    lw_graph *g;
    if (lw_graph_new(ctx, "mm", &g)) return NULL;
    int m = lw_graph_dim(g, "M"), k = lw_graph_dim(g, "K"), n = lw_graph_dim(g, "N");
    int a = lw_graph_read(g, "A", f32, 2, (int[]){m, k});
    int b = lw_graph_read(g, "B", f32, 2, (int[]){k, n});
    int c = lw_graph_matmul(g, a, b, k);
    CHECK_INT_EQ(lw_graph_rank(g, c), 2);
    CHECK_INT_EQ(lw_graph_node_dim(g, c, 1), n);
    lw_graph_write(g, "C", c, 2, (int[]){m, n});
    return g;
}

// Three matrices are multiplied in the cheaper order, which is reported to the caller.
TEST(einsum_tells_its_order) {
    lw_context *ctx = lw_context_new(NULL);
    DLTensor a = tensor(NULL, 2, (int64_t[]){30, 2}, NULL);
    DLTensor b = tensor(NULL, 2, (int64_t[]){2, 40}, NULL);
    DLTensor c = tensor(NULL, 2, (int64_t[]){40, 3}, NULL);
    const DLTensor *operands[] = {&a, &b, &c};
    const char *spec = "ij,jk,kl->il";
    lw_module *mod;
    const lw_einsum_plan *plan;
    CHECK_INT_EQ(lw_parse_einsum_with(ctx, spec, operands, 3, NULL, &mod, &plan), LW_OK);
    CHECK_INT_EQ(plan->step_count, 2);
    CHECK(plan->steps[0].count == 2 && plan->steps[0].operands[0] == 1 &&
          plan->steps[0].operands[1] == 2);
    CHECK_F64_EQ(plan->flops, 2.0 * 2 * 40 * 3 + 2.0 * 30 * 2 * 3);
    CHECK_F64_EQ(plan->one_nest, 3.0 * 30 * 2 * 40 * 3);
    CHECK_F64_EQ(plan->largest, 6);
    lw_module_free(mod);
    lw_einsum_options o = {.struct_size = sizeof o, .memory_limit = 5};
    CHECK_INT_EQ(lw_parse_einsum_with(ctx, spec, operands, 3, &o, &mod, &plan), LW_OK);
    CHECK(plan->largest <= 5);
    lw_module_free(mod);
    o = (lw_einsum_options){
        .struct_size = sizeof o, .as_written = true, .dtype = {kDLFloat, 64, 1}};
    CHECK_INT_EQ(lw_parse_einsum_with(ctx, spec, operands, 3, &o, &mod, &plan), LW_OK);
    CHECK_INT_EQ(plan->step_count, 1);
    CHECK_INT_EQ(lw_function_tensor(lw_module_function(mod, 0), 3)->dtype.bits, 64);
    lw_module_free(mod);
    const int32_t path[] = {2, 0, 1, 2, 0, 1};
    o = (lw_einsum_options){.struct_size = sizeof o, .path = path, .path_length = 6};
    CHECK_INT_EQ(lw_parse_einsum_with(ctx, spec, operands, 3, &o, &mod, NULL), LW_OK);
    lw_module_free(mod);
    o.path_length = 5;
    CHECK_INT_EQ(lw_parse_einsum_with(ctx, spec, operands, 3, &o, &mod, &plan), LW_ERROR);
    CHECK(!mod && !plan);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, "the path is not a contraction order of 3 operands");
    o = (lw_einsum_options){.struct_size = sizeof o, .dtype = {5, 64, 1}};
    CHECK_INT_EQ(lw_parse_einsum_with(ctx, spec, operands, 3, &o, &mod, &plan), LW_ERROR);
    o.struct_size = 0;
    CHECK_INT_EQ(lw_parse_einsum_with(ctx, spec, operands, 3, &o, &mod, &plan), LW_MISUSE);
    lw_context_free(ctx);
}

TEST(graphs_build_functions) {
    lw_context *ctx = lw_context_new(NULL);
    lw_graph *g = matmul_graph(ctx), *again;
    if (!CHECK(g)) return lw_context_free(ctx);
    lw_module *mod;
    CHECK_INT_EQ(lw_graph_build(g, &mod), LW_OK);
    const char *text;
    CHECK_INT_EQ(lw_graph_text(g, &text), LW_OK);
    char *copy = strdup(text);
    CHECK_INT_EQ(lw_graph_parse(ctx, "mm.lwg", copy, strlen(copy), &again), LW_OK);
    CHECK_INT_EQ(lw_graph_text(again, &text), LW_OK);
    CHECK_STR_EQ(text, copy);
    CHECK_INT_EQ(lw_graph_dot(again, &text), LW_OK);
    CHECK(text && strncmp(text, "digraph", 7) == 0);
    lw_graph_free(again);
    lw_graph_free(g);
    // The module outlives its graph.
    const lw_function *f = lw_module_function(mod, 0);
    CHECK_STR_EQ(lw_function_signature(f), "mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)");
    float a[] = {1, 2, 3, 4}, c[4];
    DLTensor A = tensor(a, 2, (int64_t[]){2, 2}, NULL), C = tensor(c, 2, (int64_t[]){2, 2}, NULL);
    const DLTensor *args[] = {&A, &A, &C};
    lw_bound *b;
    CHECK_INT_EQ(lw_bind_tensors(ctx, f, args, 3, NULL, 0, &b), LW_OK);
    CHECK_INT_EQ(lw_run(ctx, b, args, 3, NULL), LW_OK);
    CHECK(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22);
    lw_bound_free(b);
    lw_module_free(mod);
    CHECK_INT_EQ(lw_parse(ctx, "mm.lwg", copy, strlen(copy), NULL, &mod), LW_OK);
    CHECK_INT_EQ(lw_module_function_count(mod), 1);
    lw_module_free(mod);
    free(copy);
    lw_context_free(ctx);
}

TEST(graphs_refuse_null) {
    lw_context *ctx = lw_context_new(NULL);
    lw_graph *g;
    if (!CHECK(lw_graph_new(ctx, "g", &g) == LW_OK)) return;
    int n = lw_graph_dim(g, "n"), x = lw_graph_read(g, "x", f32, 1, &n);
    CHECK(lw_graph_dim(g, NULL) < 0 && strstr(lw_diag_text(ctx), "name"));
    CHECK(lw_graph_dim_fresh(g, NULL) < 0 && lw_graph_read(g, NULL, f32, 1, &n) < 0);
    CHECK(lw_graph_read(g, "y", f32, 1, NULL) < 0 && strstr(lw_diag_text(ctx), "dims"));
    CHECK(lw_graph_write(g, NULL, x, 1, &n) < 0 && lw_graph_unary(g, NULL, x) < 0);
    CHECK(lw_graph_binary(g, NULL, x, x) < 0 && lw_graph_reduce(g, NULL, x, 1, &n) < 0);
    CHECK(lw_graph_op(g, "add", 2, NULL, 0, NULL) < 0 && strstr(lw_diag_text(ctx), "inputs"));
    CHECK(lw_graph_relate(g, NULL) == LW_MISUSE && lw_graph_index(g, f32, NULL, 1, &n) < 0);
    CHECK(lw_graph_view(g, x, 1, &n, NULL, 0) < 0 && lw_graph_window(g, x, 1, NULL, 0) < 0);
    CHECK(lw_graph_unary(g, "exp", x) >= 0); // later calls still work
    lw_graph_free(g);
    lw_context_free(ctx);
}

TEST(graph_sizes_follow_from_relations) {
    lw_context *ctx = lw_context_new(NULL);
    lw_graph *g;
    CHECK_INT_EQ(lw_graph_new(ctx, "sizes", &g), LW_OK);
    int a = lw_graph_dim(g, "A"), b = lw_graph_dim(g, "B");
    CHECK_INT_EQ(lw_graph_size(g, a), -1);
    CHECK_INT_EQ(lw_graph_relate(g, "size(B) = 2*size(A) + 1"), LW_OK);
    CHECK_INT_EQ(lw_graph_dim_size(g, b, 9), LW_OK);
    CHECK_INT_EQ(lw_graph_size(g, a), 4);
    CHECK_INT_EQ(lw_graph_dim_size(g, b, 10), LW_ERROR);
    lw_graph_free(g);
    lw_context_free(ctx);
}

TEST(one_mistake_in_a_graph_is_one_diagnostic) {
    lw_context *ctx = lw_context_new(NULL);
    lw_graph *g;
    CHECK_INT_EQ(lw_graph_new(ctx, "wrong", &g), LW_OK);
    int n = lw_graph_dim(g, "N"), x = lw_graph_read(g, "X", f32, 1, &n);
    int y = lw_graph_unary(g, "exq", x);
    CHECK_INT_EQ(y, LW_BAD);
    CHECK_INT_EQ(lw_diag_count(ctx), 1);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, "unknown operation 'exq'");
    int z = lw_graph_binary(g, "add", y, x);
    CHECK_INT_EQ(z, LW_BAD);
    CHECK_INT_EQ(lw_diag_count(ctx), 0);
    lw_graph_write(g, "Z", z, 1, &n);
    lw_module *mod;
    CHECK_INT_EQ(lw_graph_build(g, &mod), LW_ERROR);
    CHECK(mod == NULL);
    CHECK_INT_EQ(lw_diag_count(ctx), 1);
    CHECK_INT_EQ(lw_graph_place(g, "exp", 1, &x, 1, &n, "", LW_BORDER_NONE), LW_BAD);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text,
                 "'exp' cannot combine elements; add, mul, min and max can");
    CHECK_INT_EQ(lw_graph_read(g, "Y", (DLDataType){9, 9, 9}, 1, &n), LW_BAD);
    CHECK_STR_EQ(lw_diag_get(ctx, 0)->text, "unknown type");
    CHECK_INT_EQ(lw_graph_dim(NULL, "N"), LW_BAD);
    CHECK_INT_EQ(lw_graph_build(NULL, &mod), LW_MISUSE);
    lw_graph_free(g);
    lw_graph_free(NULL);
    CHECK_INT_EQ(lw_graph_new(ctx, "not a name", &g), LW_ERROR);
    CHECK(g == NULL);
    lw_context_free(ctx);
}

static void count_step(void *user, const char *step, double us) {
    CHECK(us >= 0 && *step);
    ++*(int *)user;
}

TEST(steps_are_traced) {
    int steps = 0;
    lw_context_options o = {.struct_size = sizeof o, .trace = count_step, .user = &steps};
    lw_context *ctx = lw_context_new(&o);
    lw_module *mod = parse(ctx, mv_text);
    CHECK_INT_EQ(steps, 2);
    lw_module_free(mod);
    lw_context_free(ctx);
}

// --- Threads -------------------------------------------------------------------------------------

typedef struct Shared {
    lw_context *ctx;
    const lw_function *mv;
    int number;
} Shared;

static void *use_context(void *arg) {
    const Shared *s = arg;
    for (int round = 0; round < 50; round++) {
        int64_t m = s->number + 1, k = round % 7 + 1;
        float a[8 * 7], x[7], c[8];
        for (int i = 0; i < 56; i++) a[i] = (float)(i % 5);
        for (int i = 0; i < 7; i++) x[i] = 1;
        lw_bound *b;
        CHECK_INT_EQ(lw_bind_values(s->ctx, s->mv, (int64_t[]){m, k}, 2, &b), LW_OK);
        DLTensor A = tensor(a, 2, (int64_t[]){m, k}, NULL), X = tensor(x, 1, &k, NULL);
        DLTensor C = tensor(c, 1, &m, NULL);
        CHECK_INT_EQ(lw_run(s->ctx, b, (const DLTensor *const[]){&A, &X, &C}, 3, NULL), LW_OK);
        float sum = 0;
        for (int64_t i = (m - 1) * k; i < m * k; i++) sum += a[i];
        CHECK(c[m - 1] == sum);
        lw_bound_free(b);
        // Each thread has its own diagnostic, which other threads do not affect.
        char name[16], want[64];
        snprintf(name, sizeof name, "Z%d", s->number * 100 + round);
        snprintf(want, sizeof want, "'mv' has no size or scalar argument '%s'", name);
        CHECK_INT_EQ(lw_bind(s->ctx, s->mv, (lw_size[]){{name, 1}}, 1, &b), LW_ERROR);
        CHECK_STR_EQ(lw_diag_get(s->ctx, 0)->text, want);
        lw_module *mod = parse(s->ctx, mv_text);
        CHECK(mod && lw_diag_count(s->ctx) == 0);
        lw_module_free(mod);
    }
    return NULL;
}

TEST(eight_threads_use_one_context) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    if (!CHECK(mod)) return lw_context_free(ctx);
    pthread_t threads[8];
    Shared shared[8];
    for (int i = 0; i < 8; i++) {
        shared[i] = (Shared){ctx, lw_module_function(mod, 0), i};
        pthread_create(&threads[i], NULL, use_context, &shared[i]);
    }
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    lw_module_free(mod);
    lw_context_free(ctx);
}

// Misuse is reported with its cause, also for the first call of a context.
#define MISUSE(call, why)                                                                          \
    do {                                                                                           \
        CHECK((call) == LW_MISUSE);                                                                \
        CHECK_STR_EQ(lw_diag_text(ctx), "error: LW_MISUSE: " why "\n");                            \
        CHECK(lw_diag_count(ctx) == 0);                                                            \
    } while (0)
#define UNSIZED "the options have no struct_size: set it to their sizeof"

TEST(misuse_has_a_text) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    MISUSE(lw_parse(ctx, NULL, "", 0, NULL, &mod), "'name' is NULL");
    MISUSE(lw_parse(ctx, "t.tc", NULL, 4, NULL, &mod), "'text' is NULL");
    MISUSE(lw_parse(ctx, "t.tc", "", 0, NULL, NULL), "'out' is NULL");
    MISUSE(lw_parse(ctx, "t.tc", "", 0, &(lw_parse_options){.strict = true}, &mod), UNSIZED);
    lw_parse_options bad = {.struct_size = sizeof bad, .language = (lw_language)77};
    MISUSE(lw_parse(ctx, "t.tc", "", 0, &bad, &mod),
           "'language' is 77, which is not a valid lw_language");
    MISUSE(lw_parse_file(ctx, NULL, NULL, &mod), "'path' is NULL");
    MISUSE(lw_parse_einsum(ctx, NULL, NULL, 0, &mod), "'spec' is NULL");
    MISUSE(lw_parse_einsum(ctx, "ij->j", NULL, 1, &mod), "'operands' is NULL");
    MISUSE(lw_parse_einsum(ctx, "ij->j", (const DLTensor *[]){NULL}, 1, &mod),
           "'operands[0]' is NULL");
    lw_graph *g;
    MISUSE(lw_graph_new(ctx, NULL, &g), "'name' is NULL");
    MISUSE(lw_graph_parse(ctx, "g.lwg", NULL, 0, &g), "'text' is NULL");
    MISUSE(lw_db_import(ctx, "x", NULL, 0, NULL), "'text' is NULL");
    MISUSE(lw_db_merge(ctx, "", NULL, NULL), "'file' is empty");
    lw_db_prune_options prune = {.struct_size = sizeof prune, .days = -1};
    MISUSE(lw_db_prune(ctx, &prune, NULL), "'days' of the options is negative");
    mod = parse(ctx, mv_text);
    CHECK_STR_EQ(lw_diag_text(ctx), "");
    lw_module_free(mod);
    lw_context_free(ctx);
}

TEST(misuse_of_functions_names_its_cause) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    const lw_function *mv = lw_module_function(mod, 0);
    const char *text;
    lw_bound *b;
    lw_kernel *k;
    lw_emitted emitted;
    const lw_tune_result *tuned;
    MISUSE(lw_function_show(ctx, NULL, LW_STAGE_PROGRAM, &text), "'f' is NULL");
    MISUSE(lw_function_show(ctx, mv, LW_STAGE_ASM, &text),
           "'stage' is 4; without sizes there is LW_STAGE_PROGRAM only");
    MISUSE(lw_bind(ctx, NULL, NULL, 0, &b), "'f' is NULL");
    MISUSE(lw_bind_values(ctx, mv, (int64_t[]){1, 2, 3}, 3, &b),
           "3 values for the 2 parameters of 'mv'");
    MISUSE(lw_bind_values(ctx, mv, NULL, 2, &b), "'values' is NULL");
    CHECK(lw_bind_values(ctx, mv, (int64_t[]){2, 3}, 2, &b) == LW_OK);
    MISUSE(lw_run(ctx, NULL, NULL, 0, NULL), "'b' is NULL");
    MISUSE(lw_run(ctx, b, NULL, 0, &(lw_run_options){.threads = 1}), UNSIZED);
    lw_show_options show = {.struct_size = sizeof show, .threads = -2};
    MISUSE(lw_bound_show_with(ctx, b, LW_STAGE_TREE, &show, &text),
           "'threads' is -2, and must not be negative");
    MISUSE(lw_bound_show(ctx, b, (lw_stage)99, &text),
           "'stage' is 99, which is not a valid lw_stage");
    MISUSE(lw_bound_emit(ctx, b, (lw_emit)9, NULL, &emitted),
           "'what' is 9, which is not a valid lw_emit");
    MISUSE(lw_compile(ctx, NULL, NULL, &k), "'b' is NULL");
    MISUSE(lw_kernel_run(ctx, NULL, NULL, 0, NULL), "'k' is NULL");
    CHECK(lw_compile(ctx, b, NULL, &k) == LW_OK);
    MISUSE(lw_kernel_show(ctx, k, LW_STAGE_TREE, false, &text),
           "'stage' is 2; a kernel has LW_STAGE_ASM and LW_STAGE_REPORT");
    lw_tune_options many = {.struct_size = sizeof many, .threads = 1 << 20};
    MISUSE(lw_tune(ctx, b, &many, NULL), "'out' is NULL");
    CHECK(lw_tune(ctx, b, &many, &tuned) == LW_MISUSE);
    CHECK(strstr(lw_diag_text(ctx), "'threads' is 1048576; there are at most "));
    lw_kernel_free(k);
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

// Targets without a listing, and instruction sets that no target has.
TEST(listings_name_what_they_cannot_show) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    lw_bound *b;
    const char *text;
    CHECK(lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){2, 3}, 2, &b) == LW_OK);
    for (int stage = LW_STAGE_ASM; stage <= LW_STAGE_REPORT; stage++) {
        lw_show_options show = {.struct_size = sizeof show, .isa = "sm_80"};
        CHECK(lw_bound_show_with(ctx, b, (lw_stage)stage, &show, &text) == LW_ERROR);
        CHECK(strstr(lw_diag_text(ctx), "declines this program: listings for this target"));
        show.isa = "neon";
        CHECK(lw_bound_show_with(ctx, b, (lw_stage)stage, &show, &text) == LW_ERROR);
        CHECK(strstr(lw_diag_text(ctx), "isa is 'neon'; it can be scalar, avx2 or avx512"));
    }
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

// The valid functions of a text in which others have errors.
TEST(texts_are_parsed_in_part) {
    static const char text[] = "def f(float(N) A) -> (B) { B(i) = A(i) }\n"
                               "def g(float(N) A) -> (B) { B(i) = C(i) }\n"
                               "def h(float(N) A) -> (B) { B(i) = 2 * A(i) }\n";
    lw_context *ctx = lw_context_new(NULL);
    lw_parse_options o = {.struct_size = sizeof o};
    lw_module *mod;
    CHECK(lw_parse(ctx, "t.tc", text, sizeof text - 1, &o, &mod) == LW_ERROR && !mod);
    o.partial = true;
    CHECK(lw_parse(ctx, "t.tc", text, sizeof text - 1, &o, &mod) == LW_ERROR);
    CHECK(lw_module_function_count(mod) == 2 && lw_module_find(mod, "h"));
    CHECK(!lw_module_find(mod, "g"));
    lw_module_free(mod);
    CHECK(lw_parse(ctx, "t.tc", "def", 3, &o, &mod) == LW_ERROR && !mod);
    lw_context_free(ctx);
}

TEST(misuse_leaves_no_diagnostic_of_the_call_before) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = parse(ctx, mv_text);
    lw_bound *b;
    const lw_function *mv = lw_module_function(mod, 0);
    CHECK(lw_bind(ctx, mv, NULL, 0, &b) == LW_ERROR);
    CHECK(*lw_diag_text(ctx) != 0);
    CHECK(lw_bind_values(ctx, mv, (int64_t[]){4}, 1, &b) == LW_MISUSE);
    CHECK(strncmp(lw_diag_text(ctx), "error: LW_MISUSE: ", 18) == 0);
    CHECK(lw_diag_count(ctx) == 0);
    lw_module_free(mod);
    lw_context_free(ctx);
}
