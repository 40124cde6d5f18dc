/* Code buffer and labels; asm.h has the contracts.
 *
 * A field that waits for a label holds the label's previous `link`, so the chain of waiting fields
 * needs no memory of its own. `after` (the bytes between the field and the end of its instruction)
 * rides in the low three bits: displacements count from the end of the instruction. */

#include "asm/asm.h"

#include <string.h>

void asm_init(Asm *a, void *memory, size_t size) {
    *a = (Asm){.at = memory, .start = memory, .features = UINT32_MAX};
    a->end = a->start + (size < ASM_LIMIT ? size : ASM_LIMIT);
}

void asm_fail(Asm *a, AsmError e) {
    if (a->error == ASM_OK) a->error = e;
    a->end = a->at;
}

AsmError asm_finish(Asm *a) {
    if (a->pending) asm_fail(a, ASM_BAD_LABEL);
    return a->error;
}

const char *asm_error_text(AsmError e) {
    static const char *const text[] = {
        [ASM_OK] = "no error",
        [ASM_FULL] = "the code buffer is full",
        [ASM_BAD_OPERANDS] = "no form of the instruction takes these operands",
        [ASM_BAD_LABEL] = "a label was bound twice or never",
        [ASM_TOO_FAR] = "the code is too large",
    };
    return text[e];
}

bool asm_room(Asm *a, size_t need) {
    if (a->error != ASM_OK) return false;
    if ((size_t)(a->end - a->at) >= need) return true;
    if (asm_size(a) + need > ASM_LIMIT)
        asm_fail(a, ASM_TOO_FAR);
    else if (!a->grow || !a->grow(a, need))
        asm_fail(a, ASM_FULL);
    else if (a->end - a->start > ASM_LIMIT)
        a->end = a->start + ASM_LIMIT;
    return a->error == ASM_OK;
}

void asm_bytes(Asm *a, const void *data, size_t n) {
    if (n == 0 || !asm_room(a, n)) return;
    memcpy(a->at, data, n);
    a->at += n;
}

void asm_fill(Asm *a, size_t alignment, uint8_t filler) {
    size_t n = -asm_size(a) & (alignment - 1);
    if (!asm_room(a, n)) return;
    memset(a->at, filler, n);
    a->at += n;
}

AsmLabel asm_label(Asm *a) { return (AsmLabel){.pos = -1, .id = a->labels++}; }

static void write32(Asm *a, size_t at, uint32_t value) { memcpy(a->start + at, &value, 4); }

static uint32_t read32(const Asm *a, size_t at) {
    uint32_t value;
    memcpy(&value, a->start + at, 4);
    return value;
}

void asm_refer(Asm *a, AsmLabel *label, size_t field, unsigned after) {
    if (label->pos >= 0) {
        write32(a, field, (uint32_t)label->pos - (uint32_t)(field + 4 + after));
        return;
    }
    write32(a, field, label->link);
    label->link = 1 + ((uint32_t)field << 3 | after);
    a->pending++;
}

void asm_bind(Asm *a, AsmLabel *label) {
    if (a->error != ASM_OK) return;
    if (label->pos >= 0) {
        asm_fail(a, ASM_BAD_LABEL);
        return;
    }
    label->pos = (int32_t)asm_size(a);
    while (label->link) {
        size_t field = (label->link - 1) >> 3;
        unsigned after = (label->link - 1) & 7;
        label->link = read32(a, field);
        write32(a, field, (uint32_t)label->pos - (uint32_t)(field + 4 + after));
        a->pending--;
    }
}
