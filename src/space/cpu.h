// The space of a Program on a CPU: cpu.space instantiated. Another description whose objects are
// these (gpu.space) is instantiated by the same code, which finds choices and sets by name.
//
//     CpuSpace *cs = cpu_space(arena, program, &options, diags);
//     Cand *c = ...;  space_copy(cs->space, c, cs->space->root);
//     space_complete(work, c, &seed);
//     const Schedule *s = cpu_schedule(arena, cs, c);          // of a full candidate
//     Decision *d = cpu_read(arena, cs, schedule, diags, &n);  // and back
//
// Objects, by name:
//     C             a statement, by its label: its place, its stores
//     C.body        its innermost code, ordered among all bodies and loops
//     C.m.0 C.m.1   the loops of iterator m, outermost first; .0 is the top, the rest are tiles
//     C.A           a packed copy of A that C might read
//     C.A.at T.at   the loop of the reader at which the copy, or temporary T, is computed
//     C.A.mem T.mem memory of the copy, of temporary T
//     C.A.read      C's reads of A, for prefetching; on a GPU, for caches
//
// Body, loops and accesses exist once place(C) is NEST, windows and their memory once a decision
// asks for them. A full candidate corresponds to exactly one Schedule, which lowering turns into a
// Tree. Facts about the CPU enter through CpuOptions alone.
#ifndef LW_SPACE_CPU_H
#define LW_SPACE_CPU_H

#include "machine/limits.h"
#include "program/stmt_facts.h"
#include "space/engine.h"
#include "sched/flatten.h"
#include "sched/schedule.h"

// A Schedule for a GPU may have more levels: blocks, warps, lanes, and what one thread computes.
enum { CPU_LEVELS = 4, CPU_MAX_LEVELS = 6, CPU_MAX_STAGES = 4 };

// An object as the code of the description sees it. The set of the object decides which members
// have a meaning.
typedef struct CpuObject {
    int stmt, iter, level, nlevels; // numbers in the Program; -1: none
    int class;                      // of a loop: StmtFacts.class of its iterator
    int64_t extent; // of a loop's iterator; of memory and windows, bytes or elements
    bool reduction;
    bool step;    // of a loop: its iterations run in order
    bool changes; // of a copy: of a tensor that changes from step to step
    bool may_follow, may_inline, may_recompute; // of a computation
    bool may_parallel, may_unroll;              // of a loop
    bool may_meet;                              // of a loop on a GPU: threads that sum together
    bool may_cluster;                           // likewise: blocks
    bool may_as_read, may_as_written, given;    // of memory; of reads on a GPU
    bool may_turn;                              // of a copy: in transposed blocks
    bool may_async;                 // of a copy on a GPU, or of reads: from global to shared memory
    int lanes;                      // of a copy: elements of a vector
    int bytes;                      // of a copy: of an element
    Type as;                        // of a copy: its type; TYPE_NONE: the same
    int host, reader, comp, tensor; // objects (tensor: its number); -1: none
    int ntops;
    int first; // of a window: the first iterator that may run innermost
    int nsizes;
    const int64_t *sizes;   // of a tile, ascending
    const Storage *storage; // GIVEN
    const SchedStmt *own;   // GIVEN: a section with loops or prefetches of its own
} CpuObject;

typedef struct CpuHost {
    const Program *p;
    int nobjects;
    CpuObject *object;
    const bool *partner;  // per pair of objects: loops that may be merged
    const bool *precedes; // per pair of statements: a dependence orders them
    const bool *restarts; // per pair of statements: the first initialises a tensor of the second
    const bool *const *follower;  // per follower: loops that may still be merged; NULL: all
    const int *comp, *body;       // per statement: its objects
    const int *first_dim, *ndims; // per statement: its loops
    const int *first_access, *naccesses;
    const int *window; // per statement: T.at, or -1
    const int *region; // per statement: T.mem, or -1
    const int *parts;  // per statement: the loop that `privatise` divides, or -1
    VEC(int) copies;   // windows of possible copies
    int64_t unroll_limit, stack_limit, registers;
    int64_t shared;      // bytes of a GPU's block
    int64_t cluster;     // blocks of a GPU's cluster, at most
    int nunroll, ngrain; // values of `given`
    int64_t unroll[8], grain[8];
} CpuHost;

// A description with the objects of cpu.c: where the choices and sets of cpu.space are in it, and
// what the values of `kind` and `home` mean.
enum { CPU_MAX_MARKS = 12 };
typedef struct CpuWords {
    const SpaceDesc *desc;
    const int *choice; // per choice of cpu.space; -1: there is none such
    const int *set;    // per set of cpu.space, likewise
    Kind kind[CPU_MAX_MARKS];
    BufferHome home[CPU_MAX_MARKS];
    // Of gpu.space only; -1 elsewhere.
    int by, stages, swizzle, copied, cache, splits, split_partners, reader_splits, memory_of,
        box_tiles, copied_by;
} CpuWords;
const CpuWords *cpu_words(Arena *arena, const SpaceDesc *desc);

typedef struct CpuOptions {
    const SpaceDesc *desc; // NULL: that of a CPU
    Machine machine;
    int threads;           // 1: no parallel loops
    int levels;            // of an iterator; 0: 3
    bool flatten;          // use the Program's flat form, if there is one; implied by `given`
    const Schedule *given; // its sizes, levels and layouts are added to the universes; may be NULL
    bool literal;          // loops that `given` unrolls whole are not split
} CpuOptions;

typedef struct CpuSpace {
    Space *space;
    const CpuWords *words;
    CpuHost *host;
    const Program *program;    // the flat one, if that is used
    const ProgramFacts *facts; // of `program`, with classes
    Flat flat;
} CpuSpace;

// NULL: the Program is too large (reported).
CpuSpace *cpu_space(Arena *arena, const Program *p, const CpuOptions *o, DiagList *diags);

// The Schedule of a full candidate.
const Schedule *cpu_schedule(Arena *arena, const CpuSpace *cs, const Cand *c);

// A Schedule as decisions: orders, sizes, marks, windows, layouts. Loops are shared as lowering
// would share them. Parts that this space cannot express are reported as warnings and left open.
// NULL: reported as an error.
Decision *cpu_read(Arena *arena, const CpuSpace *cs, const Schedule *s, DiagList *diags, int *n);

// --- For the description -------------------------------------------------------------------------

static inline bool cpu_partners(const CpuHost *h, int d, int e) {
    return h->partner[d * h->nobjects + e];
}
static inline bool cpu_precedes(const CpuHost *h, const CpuObject *a, const CpuObject *b) {
    return h->precedes[a->stmt * h->p->stmts.n + b->stmt];
}
static inline bool cpu_restarts(const CpuHost *h, const CpuObject *d, const CpuObject *e) {
    return h->restarts[d->stmt * h->p->stmts.n + e->stmt] ||
           h->restarts[e->stmt * h->p->stmts.n + d->stmt];
}
static inline bool cpu_follower_shares(const CpuHost *h, const CpuObject *f, const CpuObject *d,
                                       const CpuObject *e) {
    const bool *ok = h->follower[f->stmt];
    return !ok || ok[(d - h->object) * h->nobjects + (e - h->object)];
}
// Is it the loop whose iterations `privatise` gives partial results to?
static inline bool cpu_gives_parts(const CpuHost *h, const CpuObject *d) {
    return h->parts[d->stmt] == d - h->object;
}
static inline int cpu_stages(const CpuObject *w, int64_t *out) {
    int n = w->may_async ? CPU_MAX_STAGES : 1;
    for (int i = 0; i < n; i++) out[i] = i + 1;
    return n;
}
// 0: none, and padding instead.
static inline int cpu_swizzles(const CpuObject *r, int64_t *out) {
    int n = 0;
    for (int bytes = 0; bytes <= 128; bytes += bytes ? bytes : 32)
        if (bytes == 0 || bytes == 128 || (r->storage && r->storage->swizzle == bytes))
            out[n++] = bytes;
    return n;
}
static inline int cpu_values(const int64_t *from, int n, int64_t *out) {
    for (int i = 0; i < n; i++) out[i] = from[i];
    return n;
}
static inline int cpu_sizes(const CpuObject *d, int64_t *out) {
    return cpu_values(d->sizes, d->nsizes, out);
}
static inline int cpu_iterators(const CpuObject *w, int64_t *out) {
    int n = w->nsizes > 0 ? w->nsizes : 1;
    for (int i = 0; i < n; i++) out[i] = w->first + i;
    return n;
}
static inline int cpu_distances(const CpuObject *a, int64_t *out) {
    return cpu_values(a->sizes, a->nsizes, out);
}
static inline int cpu_accumulators(const CpuObject *c, int64_t *out) {
    return cpu_values(c->sizes, c->nsizes, out);
}
static inline int cpu_unroll_limits(const CpuHost *h, int64_t *out) {
    return cpu_values(h->unroll, h->nunroll, out);
}
static inline int cpu_grains(const CpuHost *h, int64_t *out) {
    return cpu_values(h->grain, h->ngrain, out);
}

// Objects that exist with a nest, with memory, with a copy.
static inline void cpu_add(SpaceWork *w, const CpuHost *h, int comp) {
    int s = h->object[comp].stmt;
    space_add(w, h->body[s]);
    for (int i = 0; i < h->ndims[s]; i++) space_add(w, h->first_dim[s] + i);
    for (int i = 0; i < h->naccesses[s]; i++) space_add(w, h->first_access[s] + i);
}
static inline void cpu_add_region(SpaceWork *w, const CpuHost *h, int comp) {
    int r = h->region[h->object[comp].stmt];
    if (r >= 0) space_add(w, r);
}
static inline void cpu_add_copy(SpaceWork *w, int pack) {
    space_add(w, pack + 1); // the window
    space_add(w, pack + 2); // its memory
}

#endif
