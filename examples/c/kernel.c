// Creates a kernel: compiles it under a Schedule, prints its properties, runs it on tensors and on
// plain pointers, and compares its time with the limits of this machine.
//
//     cc kernel.c $(pkg-config --cflags --libs loopwright) -o kernel
#include <loopwright.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 96 };

static const char text[] = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                           "    C(m,n) +=! A(m,k) * B(k,n)\n"
                           "}\n";

static DLTensor matrix(float *data) {
    static int64_t shape[2] = {N, N};
    return (DLTensor){data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
}

static lw_status make(lw_context *ctx, lw_kernel **kernel) {
    lw_module *mod = NULL;
    lw_bound *bound = NULL;
    lw_compile_options o = {.struct_size = sizeof o};
    o.schedule = (lw_schedule_text){"C: m/8 n/32 k m n:v\n", "mm.lws"};
    lw_status status = lw_parse(ctx, "mm.tc", text, strlen(text), NULL, &mod);
    if (!status)
        status = lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){N, N, N}, 3, &bound);
    if (!status) status = lw_compile(ctx, bound, &o, kernel);
    lw_bound_free(bound); // the kernel keeps what it needs
    lw_module_free(mod);
    return status;
}

int main(void) {
    static float a[N * N], b[N * N], c[N * N], again[N * N];
    for (int i = 0; i < N * N; i++) a[i] = (float)(i % 3), b[i] = (float)(i % 5 - 2);
    DLTensor A = matrix(a), B = matrix(b), C = matrix(c);
    lw_context *ctx = lw_context_new(NULL);
    lw_kernel *kernel = NULL;
    lw_status status = make(ctx, &kernel);
    if (!status)
        status = lw_kernel_run(ctx, kernel, (const DLTensor *const[]){&A, &B, &C}, 3, NULL);
    if (status) {
        fprintf(stderr, "%s", lw_diag_text(ctx));
    } else {
        const lw_kernel_info *info = lw_kernel_get_info(kernel);
        void *scratch =
            info->scratch ? aligned_alloc(64, (size_t)(info->scratch + 63) / 64 * 64) : NULL;
        int bad = lw_kernel_call(kernel, (void *const[]){a, b, again}, scratch, 1);
        free(scratch);
        printf("%s: %g operations on %g bytes; argument 2 has strides %lld, %lld\n", info->name,
               info->flops, info->bytes, (long long)lw_kernel_tensor(kernel, 2)->strides[0],
               (long long)lw_kernel_tensor(kernel, 2)->strides[1]);
        printf("status %d, %s\n", bad, memcmp(c, again, sizeof c) ? "different" : "the same");
    }
    lw_context_free(ctx); // handles may be freed in any order
    lw_kernel_free(kernel);
    return status != LW_OK;
}
