// The tables of ops.def, which explains them. Private to code/x86.
//
// An X86Way is an entry of an operation or a conversion: one instruction with its operands, or a
// function that emits several.
#ifndef LW_CODE_X86_OPS_H
#define LW_CODE_X86_OPS_H

#include "code/x86/x86_impl.h"

typedef struct OpArgs OpArgs;

typedef enum WayForm {
    WAY_NONE,
    WAY_SAME, // as the entry of the level
    WAY_AB,   // op d, a, b
    WAY_A,    // op d, a
    WAY_AA,   // op d, a, a
    WAY_AI,   // op d, a, imm
    WAY_AV,   // op d, a, Micro.value
    WAY_SEQ   // the function
} WayForm;

typedef struct X86Way {
    WayForm form : 8;
    uint8_t imm;
    X86Op op : 16;
    void (*seq)(OpArgs *o);
} X86Way;

// The operands of an operation.
struct OpArgs {
    Gen *g;
    const Micro *m;
    const X86Way *way;
    Type type;         // of the operands
    X86Arg d, a, b, t; // destination, operands, scratch register
};

// Entries of ops.def; WAY makes the initialiser of an X86Way out of one.
#define AB(i)        (WAY_AB, 0, X86_##i, NULL)
#define A(i)         (WAY_A, 0, X86_##i, NULL)
#define AA(i)        (WAY_AA, 0, X86_##i, NULL)
#define AI(i, n)     (WAY_AI, n, X86_##i, NULL)
#define AV(i)        (WAY_AV, 0, X86_##i, NULL)
#define SEQ(f, i, n) (WAY_SEQ, n, X86_##i, f)
#define SAME         (WAY_SAME, 0, X86_nop, NULL)
#define NONE         (WAY_NONE, 0, X86_nop, NULL)
#define WAY(...)                                                                                   \
    { __VA_ARGS__ }

typedef enum X86Use {
#define X86_INSTR(use, ...) USE_##use,
#include "code/x86/ops.def"
    USE_COUNT
} X86Use;

// An X86_COMPARE row: the predicates of a comparison, by ExprOp.
typedef struct Predicate {
    uint8_t of_floats, of_ints;
} Predicate;

// An X86_COMPARE_LANES row, by lane type.
typedef struct CompareLanes {
    X86Op by_predicate, greater, equal;
} CompareLanes;

// An X86_MEMORY row, by type.
typedef struct MemoryOps {
    X86Op one, load, store;
} MemoryOps;

// ops_table.c
extern const Predicate x86_predicate[];
extern const CompareLanes x86_compare_lanes[TYPE_COUNT];
extern const MemoryOps x86_memory[TYPE_COUNT];

// The instruction of an X86_INSTR row for lanes of t, at the level of g.
X86Op x86_instr(const Gen *g, X86Use use, Type t);
static inline const CompareLanes *x86_compare_of(Type t) {
    return &x86_compare_lanes[type_info[t].lane];
}
static inline X86Arg x86_predicate_of(ExprOp op, Type t) {
    const Predicate *p = &x86_predicate[op];
    return x86_imm(type_is_float(t) ? p->of_floats : p->of_ints);
}

// The two entries of a row by level, AVX2 and AVX-512.
static inline const X86Way *x86_level(const Gen *g, const X86Way by_level[2]) {
    return &by_level[x86_has_avx512(g)];
}
void x86_emit_way(OpArgs *o);
void x86_zero(Gen *g, int reg); // all lanes of a vector register

#endif
