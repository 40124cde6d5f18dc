// Ahead of time: a kernel with everything that it needs outside of the library.
//
//     int NAME(const float *A, ..., float *C);       allocates scratch memory, runs the kernel
//     int NAME_kernel(buffers, scratch, env);        the Kernel ABI (base/kernel_abi.h)
//
// Both are in one piece of position-independent code. What no instruction computes is a call of the
// C library's mathematics; whatever else would be a call into Loopwright is declined.
#ifndef LW_CODE_X86_AOT_H
#define LW_CODE_X86_AOT_H

#include "asm/elf.h"
#include "code/listing.h"

typedef struct Aot {
    const char *name; // as C spells it
    const Tree *tree;
    Isa isa;
    Code code;       // all of it: size, scratch memory and lines
    Listing listing; // likewise
    ElfObject object;
} Aot;

// From a kernel and its Listing; `name` NULL: the Program's. False, with a diagnostic, when the
// kernel calls something that only the library has.
bool aot_make(Arena *arena, const Tree *tree, const Machine *m, const char *name, const Code *code,
              const Listing *listing, Aot *out, DiagList *diags);

void aot_header(const Aot *a, Text *out);
// GNU assembler text of the same bytes, between the lines of the Tree's text.
void aot_asm(const Aot *a, const char *tree_text, Text *out);

#endif
