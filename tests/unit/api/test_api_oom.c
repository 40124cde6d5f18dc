// Out of memory, everywhere: each allocation of a scenario is made to fail in turn. The call
// returns a status, everything taken is given back, and the context goes on working.
//
// Arenas take memory in chunks; with chunks of one allocation each, every arena_alloc of the
// compiler is a call of the allocator and so a place to fail.
#include "unit/check.h"
#include "loopwright.h"

typedef struct Budget {
    int64_t left; // allocations that succeed; negative: all
    int64_t calls;
    int64_t live; // bytes
    bool failed;
} Budget;

static void *budget_alloc(void *user, size_t size) {
    Budget *b = user;
    b->calls++;
    if (b->left == 0) {
        b->failed = true;
        return NULL;
    }
    if (b->left > 0) b->left--;
    b->live += (int64_t)size;
    return malloc(size);
}

static void budget_free(void *user, void *ptr, size_t size) {
    ((Budget *)user)->live -= (int64_t)size;
    free(ptr);
}

// --- Scenarios: each ends with LW_OK, LW_ERROR where the input is wrong, or LW_NO_MEMORY ---------

typedef lw_status Scenario(lw_context *ctx);

static lw_status run_text(lw_context *ctx, const char *name, const char *text, const lw_size *sizes,
                          size_t n) {
    lw_module *mod;
    lw_bound *b = NULL;
    lw_status status = lw_parse(ctx, name, text, strlen(text), NULL, &mod);
    if (status) return status;
    const lw_function *f = lw_module_function(mod, lw_module_function_count(mod) - 1);
    status = lw_bind(ctx, f, sizes, n, &b);
    static char memory[16][4096];
    DLTensor tensors[16];
    const DLTensor *args[16];
    size_t count = lw_function_input_count(f) + lw_function_output_count(f);
    memset(memory, 0, sizeof memory);
    for (size_t i = 0; i < count && !status; i++) {
        tensors[i] = *lw_bound_tensor(b, i);
        tensors[i].data = memory[i];
        args[i] = &tensors[i];
    }
    if (!status) status = lw_run(ctx, b, args, count, NULL);
    lw_bound_free(b);
    lw_module_free(mod);
    return status;
}

static lw_status matmul(lw_context *ctx) {
    return run_text(ctx, "mm.tc",
                    "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                    "    C(m,n) +=! A(m,k) * B(k,n)\n"
                    "}\n",
                    (lw_size[]){{"M", 4}, {"K", 3}, {"N", 5}}, 3);
}

static lw_status several(lw_context *ctx) {
    return run_text(ctx, "net.tc",
                    "def fc(float(B,M) I, float(N,M) W, float(N) b) -> (O) {\n"
                    "    O(i,n) +=! I(i,m) * W(n,m)\n"
                    "    O(i,n) = max(O(i,n) + b(n), 0.0)\n"
                    "}\n"
                    "def conv(float(N,C,H) I, float(O,C,KH) W, int32(O) P) -> (T, R) {\n"
                    "    T(n,o,h) +=! I(n,c,h + kh) * W(o,c,kh)\n"
                    "    R(n,o) max=! T(n,P(o),h) + exp(T(n,o,h)) / 2\n"
                    "}\n",
                    (lw_size[]){{"N", 2}, {"C", 3}, {"H", 8}, {"O", 4}, {"KH", 3}}, 5);
}

static lw_status wrong_text(lw_context *ctx) {
    return run_text(ctx, "bad.tc",
                    "def f(float(N) A) -> (B) { B(i) = A(i) + D(i) }\n"
                    "def g(float(N) A) -> (B) { B(i) = A(i + }\n"
                    "def h(float(N) A) -> (B) { B(i) = A(i,j) * A(i + 1) }\n",
                    NULL, 0);
}

static lw_status wrong_sizes(lw_context *ctx) {
    return run_text(ctx, "c.tc",
                    "def c(float(H) I, float(KH) W) -> (O) { O(h) +=! I(h + k) * W(k) }\n",
                    (lw_size[]){{"H", 2}, {"KH", 5}}, 2);
}

static lw_status text_form(lw_context *ctx) {
    lw_module *mod;
    const char *text = NULL;
    const char *tc = "def f(float(N) A) -> (B) { B(i) = A(i) * 2 + i }\n";
    lw_status status = lw_parse(ctx, "f.tc", tc, strlen(tc), NULL, &mod);
    if (!status)
        status = lw_function_show(ctx, lw_module_function(mod, 0), LW_STAGE_PROGRAM, &text);
    char *copy = strdup(text ? text : "");
    lw_module_free(mod);
    if (!status) status = run_text(ctx, "f.lwp", copy, (lw_size[]){{"N", 4}}, 1);
    free(copy);
    return status;
}

static lw_status einsum(lw_context *ctx) {
    float a[6] = {0}, b[12] = {0}, c[8] = {0};
    DLTensor A = {a, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){2, 3}, NULL, 0};
    DLTensor B = {b, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){3, 4}, NULL, 0};
    DLTensor C = {c, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){2, 4}, NULL, 0};
    return lw_einsum(ctx, "ij,jk->ik", (const DLTensor *const[]){&A, &B}, 2, &C, NULL);
}

static lw_status graph(lw_context *ctx) {
    DLDataType f32 = {kDLFloat, 32, 1};
    lw_graph *g;
    lw_module *mod = NULL;
    lw_status status = lw_graph_new(ctx, "g", &g);
    if (status) return status;
    int h = lw_graph_dim(g, "H"), k = lw_graph_dim(g, "K"), o = lw_graph_dim(g, "O");
    int image = lw_graph_read(g, "image", f32, 1, &h);
    int weights = lw_graph_read(g, "weights", f32, 1, &k);
    lw_window window = {.from = h, .to = o, .taps = k, .step = 2};
    int sum = lw_graph_conv(g, image, weights, 1, &window, 0, NULL);
    lw_graph_write(g, "out", lw_graph_unary(g, "relu", sum), 1, &o);
    status = lw_graph_build(g, &mod);
    lw_graph_free(g);
    lw_module_free(mod);
    return status;
}

// Kernels in the caller's hand, what is said of them, and objects.
static lw_status kernel(lw_context *ctx) {
    const char *tc = "def f(float(N) A) -> (B) { B(i) = A(i) * 2 }\n";
    lw_module *mod;
    lw_bound *b = NULL;
    lw_kernel *k = NULL;
    const char *text;
    lw_emitted e;
    float in[4] = {1, 2, 3, 4}, out[4];
    lw_status status = lw_parse(ctx, "f.tc", tc, strlen(tc), NULL, &mod);
    if (!status) status = lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){4}, 1, &b);
    if (!status) status = lw_compile(ctx, b, NULL, &k);
    if (!status) status = lw_bound_emit(ctx, b, LW_EMIT_OBJ, NULL, &e);
    if (!status) status = lw_bound_emit(ctx, b, LW_EMIT_ASM, NULL, &e);
    lw_bound_free(b);
    lw_module_free(mod);
    if (!status) status = lw_kernel_show(ctx, k, LW_STAGE_REPORT, false, &text);
    if (!status) status = lw_kernel_show(ctx, k, LW_STAGE_REPORT, true, &text);
    if (!status) CHECK(lw_kernel_call(k, (void *const[]){in, out}, NULL, 1) == 0 && out[3] == 8);
    lw_kernel_free(k);
    return status;
}

static lw_status file(lw_context *ctx) {
    lw_module *mod;
    FILE *f = fopen("oom.tc", "w");
    if (!f) return LW_MISUSE;
    fputs("def f(float(N) A) -> (B) { B(i) = A(i) }\n", f);
    fclose(f);
    lw_status status = lw_parse_file(ctx, "oom.tc", NULL, &mod);
    lw_module_free(mod);
    remove("oom.tc");
    return status;
}

// --- Injection -----------------------------------------------------------------------------------

static void inject(Scenario *scenario, lw_status want, size_t chunk) {
    Budget budget = {.left = -1};
    lw_context_options o = {.struct_size = sizeof o,
                            .alloc = budget_alloc,
                            .free = budget_free,
                            .user = &budget,
                            .chunk = chunk};
    lw_context *ctx = lw_context_new(&o);
    CHECK_INT_EQ(scenario(ctx), want);
    int64_t total = budget.calls, step = total / check_rounds(total);
    for (int64_t at = 0; at < total; at += step) {
        budget.left = at;
        budget.failed = false;
        lw_status status = scenario(ctx);
        if (!CHECK(status == (budget.failed ? LW_NO_MEMORY : want)))
            printf("  at %lld\n", (long long)at);
        CHECK(status != LW_NO_MEMORY || !strncmp(lw_diag_text(ctx), "error: out of memory", 20));
        budget.left = -1;
        if (at % 16 == 0) CHECK_INT_EQ(scenario(ctx), want); // as if nothing had happened
    }
    CHECK_INT_EQ(scenario(ctx), want);
    lw_context_free(ctx);
    CHECK_INT_EQ(budget.live, 0);
    for (int64_t at = 0; at < 4; at++) { // the context itself
        budget = (Budget){.left = at};
        ctx = lw_context_new(&o);
        if (ctx) scenario(ctx);
        lw_context_free(ctx);
        CHECK_INT_EQ(budget.live, 0);
    }
}

#define OOM(NAME, WANT)                                                                            \
    TEST(oom_##NAME) {                                                                             \
        inject(NAME, WANT, 0);                                                                     \
        inject(NAME, WANT, 1);                                                                     \
    }

OOM(matmul, LW_OK)
OOM(several, LW_OK)
OOM(wrong_text, LW_ERROR)
OOM(wrong_sizes, LW_ERROR)
OOM(text_form, LW_OK)
OOM(einsum, LW_OK)
OOM(graph, LW_OK)
OOM(kernel, LW_OK)
OOM(file, LW_OK)
