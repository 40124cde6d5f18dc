// A kernel's instructions as text, and the ports that they occupy. It is made together with the
// code on request; otherwise it costs nothing.
//
//     Target.generate ──▶ Code, Listing ──┬─ listing_print   assembly text between the Tree's lines
//                                         └─ listing_loops   machine loops, counted by unit
#ifndef LW_CODE_LISTING_H
#define LW_CODE_LISTING_H

#include "code/code.h"

typedef struct ListedInsn {
    uint32_t offset;
    uint8_t size;
    uint8_t units;  // set of 1 << Port for the ports that it occupies
    int8_t sum;     // vector register that a multiply-add adds to, or -1
    int8_t writes;  // vector register that it overwrites, or -1
    int32_t label;  // number of the label it refers to, or -1
    int32_t target; // offset of that label
    bool jump;
    const char *text; // as asm/ prints it
} ListedInsn;

// An operation that the code leaves to KernelEnv.apply.
typedef struct ListedCall {
    int op; // ExprOp
    Type from, to;
} ListedCall;

typedef struct Listing {
    Arena *arena;
    VEC(ListedInsn) insns; // by offset; bytes between them are padding or constants
    VEC(ListedCall) calls; // each once
} Listing;

// The line of the Tree's text that the byte at `offset` belongs to; 0: none.
int code_line(const Code *code, uint32_t offset);

// A name for an offset.
typedef struct ListedSymbol {
    const char *name;
    uint32_t offset;
} ListedSymbol;

typedef struct ListingStyle {
    bool exact;       // states the length of jumps for which GNU as would choose a shorter form
    const char *stem; // prefix of the names of labels
    const ListedSymbol *symbols;
    int nsymbols;
} ListingStyle;

// Text that GNU as assembles to the same bytes under `.intel_syntax noprefix`. If `tree_text` is
// given, its lines are printed as comments before their code.
void listing_print(Text *out, const Code *code, const Listing *listing, const char *tree_text,
                   const ListingStyle *style);

// An innermost machine loop, and the time of its iterations.
typedef struct ListedLoop {
    int line;          // of the Tree's text
    uint32_t from, to; // offsets
    int count[PORT_COUNT];
    int sums;      // registers that multiply-adds accumulate into across iterations
    int chain;     // most multiply-adds of an iteration into the same of these registers
    double cycles; // lower bound for one iteration
    int binds;     // the Port that limits it, or PORT_COUNT: the latency of multiply-adds
} ListedLoop;

typedef VEC(ListedLoop) ListedLoops;

// By offset. Code without any loop is one "loop" over all of it, with line 0.
void listing_loops(const Code *code, const Listing *listing, const Machine *m, ListedLoops *out);

// For code generators: list_add adds an emitted instruction; list_resolve finds the labels of all
// instructions from `first` on, once their `bytes` are final.
struct Asm;
void list_add(Listing *l, struct Asm *a, size_t offset, unsigned op, const void *operands);
void list_resolve(Listing *l, int first, const uint8_t *bytes);

#endif
