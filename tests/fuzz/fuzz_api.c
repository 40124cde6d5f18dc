// From a text to a result through the C API: parse, describe, bind small sizes, run on zeros, show.
// The first byte chooses the language. No text makes it crash, leak, or take long.
#include "loopwright.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ARGUMENTS = 16, MOST_BYTES = 1 << 16, MOST_INSTANCES = 20000 };

static void run(lw_context *ctx, const lw_bound *b, size_t count) {
    DLTensor tensors[MOST_ARGUMENTS];
    const DLTensor *args[MOST_ARGUMENTS];
    void *memory[MOST_ARGUMENTS] = {0};
    size_t made = 0;
    for (; made < count; made++) {
        tensors[made] = *lw_bound_tensor(b, made);
        size_t bytes = tensors[made].dtype.bits / 8;
        for (int d = 0; d < tensors[made].ndim && bytes <= MOST_BYTES; d++)
            if (__builtin_mul_overflow(bytes, (size_t)tensors[made].shape[d], &bytes))
                bytes = MOST_BYTES + 1;
        if (bytes > MOST_BYTES) break;
        memory[made] = calloc(1, bytes + !bytes); // exactly, so that sanitizers see the ends
        tensors[made].data = memory[made];
        args[made] = &tensors[made];
    }
    if (made == count && lw_bound_instances(b) <= MOST_INSTANCES) lw_run(ctx, b, args, count, NULL);
    while (made > 0) free(memory[--made]);
}

static void use(lw_context *ctx, const lw_function *f, int64_t size) {
    int64_t values[64];
    size_t params = lw_function_param_count(f);
    size_t count = lw_function_input_count(f) + lw_function_output_count(f);
    if (params > 64 || count > MOST_ARGUMENTS) return;
    for (size_t i = 0; i < params; i++) values[i] = size + (int64_t)(i % 2);
    lw_bound *b;
    if (lw_bind_values(ctx, f, values, params, &b)) return;
    const char *text;
    lw_bound_show(ctx, b, LW_STAGE_PROGRAM, &text);
    run(ctx, b, count);
    lw_bound_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"fuzz.tc", "fuzz.lwp", "fuzz.lwg"};
    if (size == 0) return 0;
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    lw_parse(ctx, names[data[0] % 3], (const char *)data + 1, size - 1, NULL, &mod);
    for (size_t i = 0; i < lw_module_function_count(mod) && i < 4; i++)
        for (int64_t n = 0; n < 5; n += 2) use(ctx, lw_module_function(mod, i), n);
    lw_module_free(mod);
    lw_context_free(ctx);
    return 0;
}
