// Changes loops step by step: a matrix product from three plain loops to a vectorised tile. Each
// step is timed, and one step is refused.
//
//     cc edit.c $(pkg-config --cflags --libs loopwright) -o edit
#include <loopwright.h>

#include <stdio.h>
#include <string.h>

enum { N = 96 };

static const char text[] = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                           "    C(m,n) +=! A(m,k) * B(k,n)\n"
                           "}\n";

static const char *const steps[] = {
    "swap n k",                           // read B along rows
    "vectorize n",                        // along contiguous elements
    "split n 32; swap m n/32; split m 6", // a tile of the result
    "swap k m/6",                         // which stays in registers
};

static float a[N * N], b[N * N], c[N * N];

static DLTensor matrix(float *data) {
    static int64_t shape[2] = {N, N};
    return (DLTensor){data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
}

static lw_status show(lw_context *ctx, const lw_schedule *s) {
    DLTensor A = matrix(a), B = matrix(b), C = matrix(c);
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o, .schedule = lw_schedule_get(s)};
    o.timing = &timing;
    o.measure_seconds = 0.01;
    const DLTensor *const args[] = {&A, &B, &C};
    lw_status status = lw_run(ctx, lw_schedule_bound(s), args, 3, &o);
    if (!status) printf("%6.1f GFLOP/s  %s", timing.flops / timing.best_us * 1e-3, o.schedule.text);
    return status;
}

int main(void) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = NULL;
    lw_bound *bound = NULL;
    lw_schedule *s = NULL, *next = NULL;
    lw_show_options naive = {.struct_size = sizeof naive, .schedule = {"", NULL}};
    lw_status status = lw_parse(ctx, "mm.tc", text, strlen(text), NULL, &mod);
    if (!status)
        status = lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){N, N, N}, 3, &bound);
    if (!status) status = lw_schedule_new(ctx, bound, &naive, &s);
    for (int i = 0; i <= 4 && !status; i++) {
        status = show(ctx, s);
        if (i == 4 || status) break;
        status = lw_schedule_edit(ctx, s, NULL, steps[i], &next);
        if (status) break;
        lw_schedule_free(s); // to support undo, keep it
        s = next;
    }
    if (status) fprintf(stderr, "%s", lw_diag_text(ctx));
    if (!status && lw_schedule_split(ctx, s, 0, 1000, false, &next))
        printf("%s\n", lw_diag_get(ctx, 0)->text);
    lw_schedule_free(s);
    lw_bound_free(bound);
    lw_module_free(mod);
    lw_context_free(ctx);
    return status != LW_OK;
}
