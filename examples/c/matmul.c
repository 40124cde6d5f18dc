// Matrix product from C: parses a text, takes the sizes from the arguments, and runs it.
//
//     cc matmul.c $(pkg-config --cflags --libs loopwright) -o matmul
#include <loopwright.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "def matmul(float(M,K) A, float(K,N) B) -> (C) {\n"
                           "    C(m,n) +=! A(m,k) * B(k,n)\n"
                           "}\n";

static DLTensor matrix(float *data, int64_t *shape) {
    return (DLTensor){data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
}

int main(void) {
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[4];
    DLTensor A = matrix(a, (int64_t[]){2, 3}), B = matrix(b, (int64_t[]){3, 2});
    DLTensor C = matrix(c, (int64_t[]){2, 2});
    const DLTensor *args[] = {&A, &B, &C};

    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = NULL;
    lw_bound *bound = NULL;
    lw_status status = lw_parse(ctx, "matmul.tc", text, strlen(text), NULL, &mod);
    if (!status)
        status = lw_bind_tensors(ctx, lw_module_function(mod, 0), args, 2, NULL, 0, &bound);
    if (!status) status = lw_run(ctx, bound, args, 3, NULL);
    if (status) {
        fprintf(stderr, "%s", lw_diag_text(ctx));
    } else {
        printf("%s\n", lw_function_signature(lw_module_function(mod, 0)));
        printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);
    }
    lw_bound_free(bound);
    lw_module_free(mod);
    lw_context_free(ctx);
    return status != LW_OK;
}
