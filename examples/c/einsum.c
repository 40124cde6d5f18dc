// einsum from C on strided views: strides express a transpose, and the result goes to every other
// element.
//
//     cc einsum.c $(pkg-config --cflags --libs loopwright) -o einsum
#include <loopwright.h>

#include <stdio.h>

int main(void) {
    double a[] = {1, 2, 3, 4, 5, 6}, x[] = {1, 10}, y[6] = {0};
    DLDataType f64 = {kDLFloat, 64, 1};
    DLDevice cpu = {kDLCPU, 0};
    // A is 2 x 3 in memory; this is its transpose, 3 x 2.
    DLTensor At = {a, cpu, 2, f64, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0};
    DLTensor X = {x, cpu, 1, f64, (int64_t[]){2}, NULL, 0};
    DLTensor Y = {y, cpu, 1, f64, (int64_t[]){3}, (int64_t[]){2}, 0};

    lw_context *ctx = lw_context_new(NULL);
    lw_status status = lw_einsum(ctx, "ij,j->i", (const DLTensor *const[]){&At, &X}, 2, &Y, NULL);
    if (status) fprintf(stderr, "%s", lw_diag_text(ctx));
    for (int i = 0; i < 6; i++) printf("%g%c", y[i], i < 5 ? ' ' : '\n');
    lw_context_free(ctx);
    return status != LW_OK;
}
