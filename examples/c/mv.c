// The first program of the README, complete: a matrix times a vector.
//
//     cc mv.c $(pkg-config --cflags --libs loopwright) -o mv
#include <loopwright.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "def mv(float(M,K) A, float(K) x) -> (C) { C(m) +=! A(m,k) * x(k) }";

int main(void) {
    float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, x[3] = {1, 0, 2}, c[2];
    DLTensor A = {a, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){2, 3}, NULL, 0};
    DLTensor X = {x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, (int64_t[]){3}, NULL, 0};
    DLTensor C = {c, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, (int64_t[]){2}, NULL, 0};
    const DLTensor *args[] = {&A, &X, &C};

    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = NULL;
    lw_bound *bound = NULL;
    lw_status status = lw_parse(ctx, "mv.tc", text, strlen(text), NULL, &mod);
    if (!status) {
        const lw_function *mv = lw_module_function(mod, 0);
        status = lw_bind(ctx, mv, (lw_size[]){{"M", 2}, {"K", 3}}, 2, &bound);
    }
    if (!status) status = lw_run(ctx, bound, args, 3, NULL);
    if (!status) printf("%g %g\n", (double)c[0], (double)c[1]);
    if (status) fprintf(stderr, "%s", lw_diag_text(ctx));
    lw_bound_free(bound);
    lw_module_free(mod);
    lw_context_free(ctx);
    return status != LW_OK;
}
