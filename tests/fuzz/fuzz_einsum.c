// einsum on any bytes. Up to the first newline the operands are described, two bytes each: rank and
// type (and whether sizes are given); what follows is the specification.
#include "lang/lang.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_OPERANDS = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    EinsumOperand operand[MAX_OPERANDS];
    int64_t sizes[MAX_OPERANDS][32];
    int n = 0;
    size_t at = 0;
    for (; at + 1 < size && data[at] != '\n' && n < MAX_OPERANDS; at += 2, n++) {
        int rank = data[at] % 20;
        uint8_t type = data[at + 1];
        for (int d = 0; d < rank; d++) sizes[n][d] = type >> 6 == 1 ? 1 : (type >> 4) % 4;
        operand[n] = (EinsumOperand){(Type)(1 + type % (TYPE_COUNT - 1)), rank,
                                     type & 128 ? NULL : sizes[n]};
    }
    if (at < size && data[at] == '\n') at++;

    Arena arena;
    arena_init(&arena, &allocator_libc);
    Names names = {.arena = &arena};
    DiagList diags = {.arena = &arena};
    Source spec = {"<einsum>", arena_strndup(&arena, (const char *)data + at, size - at),
                   (uint32_t)(size - at)};
    EinsumPlan plan;
    Program *p =
        einsum_parse(&arena, &names, &spec, n, operand, &(EinsumOptions){0}, &plan, &diags);
    if (!p && diags.errors == 0) __builtin_trap();
    Text text = {.arena = &arena};
    for (int i = 0; i < diags.items.n; i++) diag_print(&text, diags.items.at[i]);
    arena_free(&arena);
    return 0;
}
