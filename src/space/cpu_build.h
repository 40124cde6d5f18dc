// While a CPU space is built (private): cpu.c makes its objects, cpu_relate.c their relations.
#ifndef LW_SPACE_CPU_BUILD_H
#define LW_SPACE_CPU_BUILD_H

#include "space/cpu_impl.h"
#include "space/cpu_space.h"

typedef struct SpaceBuild {
    Arena *arena;
    const Program *p;
    const CpuOptions *o;
    DiagList *diags;
    const ProgramFacts *facts;
    const ProgramFacts *places; // as lowering compares accesses of statements that share loops
    CpuHost *h;
    Backbone *b;
    const CpuWords *words;
    bool gpu;
    VEC(const char *) name; // of the objects
    int levels;
    int **nlevels; // per statement, per iterator
    int *first_dim, *ndims, *comp, *body, *window, *region, *first_access, *naccesses, *parts;
} SpaceBuild;

// Sets that a description does not have stay out.
static inline void add(SpaceBuild *x, int set, int object) {
    backbone_add(x->b, x->words->set[set], object);
}
static inline void relate_in(SpaceBuild *x, int set, int param, int object) {
    if (set >= 0) backbone_relate(x->b, set, param, object);
}
static inline void relate(SpaceBuild *x, int set, int param, int object) {
    relate_in(x, x->words->set[set], param, object);
}

static inline const StmtFacts *stmt_of(const SpaceBuild *x, int i) { return &x->facts->stmt[i]; }

static inline bool is_tiled(const CpuObject *loop) { return loop->level == 0 && loop->nlevels > 1; }
static inline bool has_inside(const CpuObject *loop) { return loop->level + 1 < loop->nlevels; }

// --- cpu_relate.c --------------------------------------------------------------------------------

// Loops, bodies and what may be merged with what.
void cpu_relate_all(SpaceBuild *x);
// Which merged loops of its host a post-operation leaves alone.
void cpu_relate_followers(SpaceBuild *x);
// The loop whose iterations privatise gives partial results to.
void cpu_relate_parts(SpaceBuild *x, int i);

#endif
