// .npy files: no byte sequence makes the reader crash or read outside, and what it accepts writes
// back.
#include "../../cli/data.c"
#include "../../cli/json.c"
#include "../../cli/npy.c"

#include <stdarg.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void *cli_alloc(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (!p) abort();
    return p;
}

char *cli_printf(const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return strdup(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Array a;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        char *wrong = npy_parse(data, size, bf16, 0, &a);
        if (!wrong) {
            (void)data_checksum(&a.t);
            free(data_values(&a.t, 4));
        }
        free(wrong);
        data_free(&a);
    }
    return 0;
}
