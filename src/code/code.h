// Code: a Tree compiled for one machine. It performs exactly the loops of the Tree, in their order.
//
//   plan/       Tree -> Plan: loops, guards and leaves with linear byte offsets (plan.c); collapsed
//               loops (collapse.c), vector loops (plan_lanes.c), parallel loops (plan_parallel.c),
//               sums of products of narrow integers (dots.c), reads at quotients, remainders and
//               extrema (plan_piece.c), prefetches (fetch.c); loops that are unrolled and outputs
//               that stay in registers, after LoopNest's register blocking (regions.c)
//   micro/      straight-line code as micro-operations on vector values, for no instruction set in
//               particular: value numbering and store forwarding (micro.c), functions without an
//               instruction (micro_math.c, micro_integer.c, micro_cast.c; calc.h writes them like
//               formulas), strided blocks (transpose.c, deinterleave.c), loop-invariant values
//               (hoist.c), registers by farthest next use (assign.c)
//   gen/        loops, guards, leaves and index arithmetic for any instruction set (gen/isa.h)
//   x86/        x86-64: the instruction set behind gen/isa.h; aot.c makes objects of a kernel
//   c/          Trees as C
//   gpu/, ptx/  Trees as kernels of GPUs, and these as PTX
//   apply.c     operations without an instruction: kernels call it, a vector at a time
//   loss.c      optimisations that the planner declined, and why, as text
//   listing.c   the instructions as text between the Tree's lines, and counted by port
//
// Below the Tree's loops the generator does what experts do by hand: it vectorises the marked loop,
// masks tails, keeps the outermost output tile that fits in registers, unrolls below it, uses
// memory operands, and splits accumulators.
#ifndef LW_CODE_CODE_H
#define LW_CODE_CODE_H

#include "base/kernel_abi.h"
#include "machine/machine.h"
#include "tree/tree.h"

// Instructions from `offset` on, until the next entry, belong to this line of the Tree's text
// (tree_show without costs), counted from 1; 0: to no line (entry, exit, constants).
typedef struct CodeLine {
    uint32_t offset;
    int line;
} CodeLine;

// Techniques that a kernel uses; tests count them.
typedef enum CodeTrick {
    TRICK_SPLIT,        // accumulators split to cover latency
    TRICK_TRANSPOSE,    // blocks of strided accesses transposed in registers
    TRICK_DEINTERLEAVE, // columns deinterleaved from whole vectors, or interleaved into them
    TRICK_STRIDED,      // other strided lanes: gathered, scattered, or one by one
    TRICK_BACKWARDS,    // lanes in reverse
    TRICK_NONTEMPORAL,  // non-temporal stores
    TRICK_PREFETCH,
    TRICK_ROW,      // rows found by an index from data
    TRICK_GATHER,   // lanes found by indices from data
    TRICK_COLLAPSE, // loops collapsed into a vector loop
    TRICK_LANES,    // conditions that differ from lane to lane
    TRICK_DOTS,     // products of narrow integers summed several at a time
    TRICK_ROWS,     // several horizontal reductions done together
    TRICK_PERMUTE,  // lanes permuted from whole vectors
    TRICK_SKIP,     // a load far from its buffer, skipped if its guard holds in no lane
    TRICK_CARRY,    // elements kept in registers from one iteration to the next
    TRICK_CUT,      // loops divided where conditions inside start and stop holding
    TRICK_COUNT
} CodeTrick;
extern const char *const code_trick_name[TRICK_COUNT];

// Why a loop is slower than the Tree's text suggests, as the planner decided.
typedef enum LossWhy {
    LOSS_NONE,
#define LOSS(name, of, why) name,
#include "code/loss.def"
#undef LOSS
    LOSS_COUNT
} LossWhy;

typedef enum LossOf { LOSS_OF_SUMS, LOSS_OF_LANES, LOSS_OF_THREADS } LossOf;

typedef struct CodeLoss {
    int line; // of the loop in the Tree's text
    LossWhy why;
    int most;         // SPILL_TOO_MANY: registers available for sums; SPILL_UNROLL: copies
    const char *name; // THREADS_MEET: name of the buffer
} CodeLoss;

LossOf loss_of(const CodeLoss *l);
void loss_print(Text *out, const CodeLoss *l); // "the vector loop runs as a serial one: ..."

typedef struct Code {
    const uint8_t *bytes; // position independent; the entry, a Kernel (base/kernel_abi.h), is at 0
    size_t size;
    int64_t scratch;        // bytes that the caller provides, 64-byte aligned, for one thread
    int64_t thread_scratch; // and for each further thread
    int parallel;           // number of parallel loops
    int64_t shared;         // iterations of those parallel loops that have work for several threads
    int nlosses;
    const CodeLoss *losses;
    int nlines;
    const CodeLine *lines; // by offset; the first is at 0, neighbours differ
    int nframes;
    const KernelFrame *frames; // by offset
    int tricks[TRICK_COUNT];
} Code;

// --- The two steps: Tree -> Plan -> Code ---------------------------------------------------------

// Loops, lanes, threads and register tiles of a Tree on one machine; plan/plan.h.
typedef struct Plan Plan;

// Returns NULL with a diagnostic if the planner declines the Tree. `before`: a Plan that the
// generator answered with CODE_REPLAN, or NULL.
Plan *gen_plan(Arena *arena, const Tree *tree, const Machine *machine, Plan *before,
               DiagList *diags);
// The nodes with the decisions about each, pointers, and declined optimisations.
void plan_print(Text *out, const Plan *plan);

// The answer of the generator (gen_code, gen/gen.h).
typedef enum CodeAnswer {
    CODE_DONE,
    CODE_REPLAN,   // the Plan relies on lanes or a tile that are impossible; plan again without
    CODE_DECLINED, // the generator declines the Tree, with a diagnostic
} CodeAnswer;

// KernelEnv.apply for kernels of this compiler.
void code_apply(int op, int from, int to, int n, void *values);

#endif
