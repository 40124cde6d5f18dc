#include "run/assemble.h"

#include "run/jitlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Returns false if libnvJitLink is missing.
static bool by_jitlink(const char *text, size_t bytes, const char *target, void *into, size_t *size,
                       char *message, size_t message_size, CcResult *result) {
    JitLink j;
    DeviceError e;
    size_t made = 0;
    if (!jitlink_open(&j, 13) && !jitlink_open(&j, 12)) return false;
    void *code = jitlink_compile(&j, text, bytes, target, &made, &e);
    jitlink_close(&j);
    *result = !code ? CC_FAILED : made > *size ? CC_SYSTEM : CC_OK;
    if (*result) snprintf(message, message_size, "%s", code ? "the code is too large" : e.text);
    if (!*result) memcpy(into, code, *size = made);
    free(code);
    return true;
}

CcResult assemble_ptx(const char *text, size_t bytes, const char *target, void *into, size_t *size,
                      char *message, size_t message_size) {
    CcResult result;
    const char *asked = getenv("LW_GPU_COMPILER");
    bool ptxas = asked && strcmp(asked, "ptxas") == 0;
    if (!ptxas && by_jitlink(text, bytes, target, into, size, message, message_size, &result))
        return result;
    return cc_assemble_ptx(text, bytes, target, into, size, message, message_size);
}
