#ifndef LW_ASM_ASM_H
#define LW_ASM_ASM_H
/* asm/: instruction encoders by table, with their own assembly text.
 *
 * This header is what all encoders share: a code buffer with a sticky error, and labels. x86.h adds
 * the instructions of x86-64. The path of one instruction:
 *
 *     x86_2(a, X86_mov, x86_eax, imm)      the caller: an instruction and typed operands
 *       └─ x86_emit          x86.c         finds the first form whose pattern takes the operands
 *            ├─ x86_forms[]  x86.def       one row per form: operands, prefix, map, opcode, flags
 *            └─ bytes        x86.c         prefix, opcode, ModRM, displacement, immediate
 *     x86_print              x86_print.c   the same form and operands as Intel text
 *
 * Rules of the folder:
 * - Nothing allocates. Bytes go into memory that the caller supplies; `grow` may supply more.
 * - Errors are sticky. The first one is kept, later instructions write nothing, and asm_finish says
 *   what happened, so that a generator checks once per function. Operands that no form takes are an
 *   error, never other bytes.
 * - The output depends on the calls alone: no addresses, no hidden state.
 * - Positions are offsets from `start`, so the buffer may move while it grows, and the code may be
 *   copied anywhere once it is finished.
 *
 * Labels cost no memory either: they belong to the caller (often the generator's own loop record).
 * Until a label is bound, the 32-bit fields that refer to it form a chain through the code itself:
 * each holds the place of the one before, and binding walks the chain. A constant pool is labels
 * bound after the code: x86_mem_label(&c) addresses one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum AsmError {
    ASM_OK,
    ASM_FULL,         // the buffer is full and could not grow
    ASM_BAD_OPERANDS, // no form of the instruction takes these operands (or its feature is off)
    ASM_BAD_LABEL,    // a label was bound twice, or used and never bound
    ASM_TOO_FAR,      // code beyond ASM_LIMIT
} AsmError;

enum { ASM_LIMIT = 1 << 28 }; // bytes of code in one buffer; fixup chains rely on it

typedef struct Asm Asm;

struct Asm {
    uint8_t *at;       // the next byte
    uint8_t *end;      // one past the last byte there is room for
    uint8_t *start;    // the first byte
    uint32_t features; // instructions that may be used: X86_HAS_* bits
    AsmError error;    // the first error; nothing is written after it
    unsigned pending;  // fields that wait for a label
    unsigned labels;   // labels made so far; numbers them for the text

    /* Optional. Makes room for `need` more bytes by setting start, at and end (contents kept), or
     * returns false. A buffer without it has a fixed size. */
    bool (*grow)(Asm *a, size_t need);
    /* Optional. Called for every emitted instruction with its offset and operation. `args` are the
     * encoder's operands (X86Arg[4]). Listings and line tables are made from it. */
    void (*listen)(Asm *a, size_t offset, unsigned op, const void *args);
    void *user; // for grow and listen
};

typedef struct AsmLabel {
    int32_t pos;   // its offset; -1 while unbound
    uint32_t link; // last field that waits for it, 1 + (offset << 3 | bytes after the field); or 0
    uint32_t id;   // number in the text: L0, L1, ...
} AsmLabel;

// A buffer of `size` bytes at `memory`, everything allowed, no callbacks.
void asm_init(Asm *a, void *memory, size_t size);

// Offset of the next byte.
static inline size_t asm_size(const Asm *a) { return (size_t)(a->at - a->start); }

/* Ends the code: the first error, or ASM_BAD_LABEL when a field still waits for its label. */
AsmError asm_finish(Asm *a);

// The text of an error, for reports.
const char *asm_error_text(AsmError e);

void asm_fail(Asm *a, AsmError e); // records the first error, and leaves no room

/* A new, unbound label. Its address must not change until it is bound. */
AsmLabel asm_label(Asm *a);
void asm_bind(Asm *a, AsmLabel *label); // here, once

/* Makes sure that `need` bytes fit; false, with the error set, if they do not or one was set
 * before. */
bool asm_room(Asm *a, size_t need);

void asm_bytes(Asm *a, const void *data, size_t n); // data, for constant pools
void asm_fill(Asm *a, size_t alignment,
              uint8_t filler); // pads data to a multiple of a power of two

/* For encoders: a 32-bit field at offset `field`, holding label - (field + 4 + after) once known.
 */
void asm_refer(Asm *a, AsmLabel *label, size_t field, unsigned after);

#endif
