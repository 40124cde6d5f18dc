// An instruction set, for the generator: a few facts, and emitters for index arithmetic,
// control flow, frames and micro-operations. Private to code/.
//
// Index arithmetic runs on an accumulator machine with 64-bit integers:
//
//     A, B       scratch registers; an emitter may destroy B where its comment says so
//     Items      pointers and counters, each in a register or in a slot of the stack frame
//     constants  any 64-bit number
//
// An instruction set is one GenIsa, in a folder of its own beside this one. Emitters append to
// Gen.a; labels and the code buffer are those of asm/asm.h, which all encoders share. docs/code.md
// says what a new one has to provide.
#ifndef LW_CODE_GEN_ISA_H
#define LW_CODE_GEN_ISA_H

#include "asm/asm.h"
#include "code/code.h"
#include "code/micro/micro.h"

typedef struct Gen Gen;

// A 64-bit quantity in a register or a stack slot.
typedef struct Item {
    int reg;  // one of GenIsa.item; -1: in the slot
    int slot; // byte offset in the frame
} Item;

// An operand of index arithmetic.
typedef enum ArgKind { ARG_NONE, ARG_A, ARG_B, ARG_ITEM, ARG_CONST } ArgKind;

typedef struct GenArg {
    ArgKind kind;
    Item item;
    int64_t value; // ARG_CONST
} GenArg;

#define GEN_A    ((GenArg){.kind = ARG_A})
#define GEN_B    ((GenArg){.kind = ARG_B})
#define GEN_NONE ((GenArg){.kind = ARG_NONE})

static inline GenArg gen_at(Item it) { return (GenArg){.kind = ARG_ITEM, .item = it}; }
static inline GenArg gen_at_slot(int slot) { return gen_at((Item){-1, slot}); }
static inline GenArg gen_const(int64_t value) {
    return (GenArg){.kind = ARG_CONST, .value = value};
}

typedef enum GenOp {
    GEN_ADD,
    GEN_SUB,
    GEN_MUL,
    GEN_SHL,
    GEN_NEG,  // takes no second operand
    GEN_CLEAR // to <- 0; no second operand
} GenOp;

typedef enum GenCond { GEN_LT, GEN_LE, GEN_GT, GEN_GE, GEN_EQ, GEN_NE, GEN_NEGATIVE } GenCond;

enum { MAX_MASKS = 4 }; // of tails that a region keeps in registers

struct GenIsa {
    // Facts
    int items; // registers for Items, in the order in which they are given out
    const uint8_t *item;
    int masks;   // where Machine.has_mask: masks that a region keeps in registers, up to MAX_MASKS
    int scratch; // vector registers, the last ones, that hold no values

    // Integers. Adding 0 and multiplying by 1 emit nothing. Constants that an instruction cannot
    // hold go through B where the other operand is A, and through A where it is an Item.
    void (*move)(Gen *g, GenArg to, GenArg from);
    // to <- to op by. `checked`: the kernel ends with KERNEL_BAD_INDEX where the result overflows.
    void (*op)(Gen *g, GenOp op, GenArg to, GenArg by, bool checked);
    // A <- the larger or the smaller of x and y, which are A and B in either order.
    void (*choose)(Gen *g, bool larger, GenArg x, GenArg y);
    void (*divide)(Gen *g, int64_t k, bool mod); // A <- floor(A / k), or A mod k; uses B
    void (*digit)(Gen *g, Item to, int64_t k);   // to <- A mod k; A <- A / k; of A >= 0; uses B
    void (*push)(Gen *g);                        // A; slots keep their numbers
    void (*pop)(Gen *g);                         // to B
    // A <- the integer at base + disp, or (`plus_a`) at base + A; uses B. disp has 32 bits.
    void (*load)(Gen *g, Type t, Item base, int64_t disp, bool plus_a);
    void (*check_below)(Gen *g, int64_t size); // KERNEL_BAD_INDEX unless 0 <= A < size; uses B

    // Control flow
    void (*jump)(Gen *g, AsmLabel *to);
    // GEN_NEGATIVE: x < 0, and y is GEN_NONE.
    void (*branch)(Gen *g, GenCond c, GenArg x, GenArg y, AsmLabel *to);
    // The operation, then a branch on how its result compares with 0.
    void (*op_branch)(Gen *g, GenOp op, GenArg to, GenArg by, GenCond c, AsmLabel *label);
    void (*branch_flags)(Gen *g, uint32_t flags, AsmLabel *to); // any of KernelEnv.flags; uses A
    void (*align)(Gen *g);                                      // the top of a loop

    // Functions. `start` comes first: Gen.own and what it needs of the frame behind GenStack.
    void (*start)(Gen *g);
    void (*enter)(Gen *g);                                   // the kernel
    void (*argument)(Gen *g, Item to, int number);           // to <- the pointer of a buffer
    void (*temporary)(Gen *g, Item to, int64_t offset);      // to <- scratch memory + offset
    void (*leave)(Gen *g);                                   // returns the status
    void (*finish)(Gen *g, Code *out);                       // routines and constants; Code.frames
    void (*parallel)(Gen *g, AsmLabel *body, int64_t grain); // shares out B iterations of `body`;
                                                             // leaves with its status unless 0
    // The body of a parallel loop. Its range, counted from the slot of the first index in the
    // caller's frame, goes to slots `start` and `end` of its own. B <- thread · bytes.
    void (*enter_body)(Gen *g, AsmLabel *label, int start, int end, int64_t bytes);
    void (*outer)(Gen *g, int slot); // behind enter_body, with move and op alone in between: A <-
                                     // the caller's slot

    // Vectors
    void (*emit)(Gen *g, const Micro *m); // a micro-operation, registers filled in; uses A, B
    bool (*folds)(const void *gen, const Micro *m, int arg, const Ref *ref); // as MicroIsa
    bool (*ties)(const void *gen, const Micro *m, int arg);                  // as MicroIsa
    void (*set_masks)(Gen *g); // GenRegion.mask into mask registers; uses A
    // Registers that `emit` uses on its own account hold nothing known: paths meet here, or
    // (`values`) the numbers of values stand for others from here on.
    void (*forget)(Gen *g, bool values);
};
typedef struct GenIsa GenIsa;

#endif
