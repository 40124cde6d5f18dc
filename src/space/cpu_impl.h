// Private to the CPU space.
#ifndef LW_SPACE_CPU_IMPL_H
#define LW_SPACE_CPU_IMPL_H

#include "space/cpu.h"

// Does the statement combine several values into one element?
static inline bool cpu_reduces(const StmtFacts *f) {
    return f->s->op != REDUCE_ASSIGN && f->reduces;
}
// Does the statement share no loops and stay in place? It has no iterations, its initialisation is
// a separate nest, or it reads a copy of the elements that it overwrites.
static inline bool cpu_is_apart(const StmtFacts *f) {
    return f->empty || (f->initialises && !f->injective) || f->snapshot;
}

// --- cpu_moves.c ---------------------------------------------------------------------------------

// The statement that number i may follow as a post-operation; -1: none.
int cpu_find_host(Arena *arena, const ProgramFacts *f, int i);
// May the definition be computed where it is read? At a loop of its only reader?
bool cpu_may_inline(Arena *arena, const ProgramFacts *f, int i);
bool cpu_may_recompute(Arena *arena, const ProgramFacts *f, int i, int reader);
// May it have partial results over the iterator?
bool cpu_may_have_parts(Arena *arena, const ProgramFacts *f, int i, int iter);
// Which statements read the result of number q, directly or through statements that may be inlined?
void cpu_reach(const ProgramFacts *f, int q, const bool *through, bool *reached);

// --- cpu_schedule.c, cpu_read.c ------------------------------------------------------------------

// The loops of a statement that run more than once, outermost first.
typedef struct CpuPath {
    int n;
    int dim[TREE_MAX_DEPTH]; // objects
} CpuPath;

// The loops of the section of a copy, with lanes or in transposed blocks; their number.
enum { CPU_COPY_LOOPS = 2 * PROGRAM_MAX_RANK + 4 };
int cpu_copy_loops(Arena *arena, const CpuSpace *cs, int window, const Storage *layout, bool turned,
                   SchedLoop *out);

// The variable of a choice of cpu.space, -1: this space has none; and its values, the first one
// where it has none. The values of `place`, `pack`, `privatise`, `split`, `order`, `at` and
// `layout` are the same in every description.
static inline int cpu_var(const CpuSpace *cs, int choice, int a, int b, bool *flipped) {
    int own = cs->words->choice[choice];
    return own < 0 ? -1 : space_var(cs->space, own, a, b, flipped);
}
static inline uint64_t cpu_ask(const CpuSpace *cs, const Cand *c, int choice, int a, int b) {
    int own = cs->words->choice[choice];
    return own < 0 || space_var(cs->space, own, a, b, NULL) < 0
               ? 1
               : space_ask(cs->space, c, own, a, b);
}
// The cache operator that value number `value` of `cache` stands for: the first is that of loads of
// which a Schedule says nothing.
static inline LoadCache cpu_cache(int value) {
    return value ? (LoadCache)(LOAD_READONLY + value) : LOAD_AUTO;
}
static inline bool cpu_is_thread(Kind k) { return k >= KIND_THREAD_X && k <= KIND_LANE; }
// The mark of a loop in a full candidate.
static inline Kind cpu_kind(const CpuSpace *cs, uint64_t values) {
    return cs->words->kind[__builtin_ctzll(values)];
}

// Does a section give nothing but a place, memory and a priority?
bool cpu_section_is_plain(const SchedStmt *s);
// The step of a loop in a candidate.
int64_t cpu_step(const CpuSpace *cs, const Cand *c, int dim);
int64_t cpu_size(const CpuSpace *cs, const Cand *c, int dim); // of a tile
bool cpu_used(const CpuSpace *cs, const Cand *c, int dim);

#endif
