// What the files of the mapping share.
//
//   gpu_map.c    loops, leaves, allocations       gpu_kernel.c  kernels, their blocks and threads
//   gpu_nest.c   questions about a nest           gpu_divide.c  nests divided among all threads
//   gpu_stage.c  asynchronous copies              gpu_meet.c    reductions over threads
//   gpu_edge.c   first and last iterations
#ifndef LW_CODE_GPU_GPU_IMPL_H
#define LW_CODE_GPU_GPU_IMPL_H

#include "code/gpu/gpu.h"

enum { PLAIN_THREADS = 256, ALL_THREADS = (1 << GPU_AXES) - (1 << GPU_THREAD_X) };

typedef struct Map {
    GpuProgram *g;
    Tree *t;
    Exprs *x;
    Arena *arena;
    GpuKernel *k;
    const Affine **value;     // per index id: its value in the kernel; NULL: itself
    VEC(const Affine *) path; // guards around, substituted
    unsigned threads;         // axes of thread loops around
    bool plain;               // every thread runs what is below on its own
    bool marked;              // loops of the kernel have marks
    int *stage_of;            // per buffer: id of the loop whose iterations have stages, or -1
    int serial;               // serial loops around
    DiagList *diags;
    bool failed;
    unsigned inside; // leaves below reduce over these axes
} Map;

typedef VEC(const Leaf *) Leaves;

static inline bool is_thread(Kind k) { return k >= KIND_THREAD_X && k <= KIND_LANE; }
static inline bool is_grid(Kind k) { return k >= KIND_GRID_X && k <= KIND_GRID_Z; }

// --- gpu_map.c -----------------------------------------------------------------------------------
GpuNode *map_new(Map *m, GpuKind kind);
void map_push(Map *m, GpuNode *seq, GpuNode *n);
int map_id(Map *m, int64_t extent); // of a new loop
const Affine *map_hw(Map *m, GpuAxis a);
const Affine *map_affine(Map *m, const Affine *a);
unsigned map_axes(const Map *m);                 // of threads, of which there are several
bool map_one_thread(const Map *m);               // is every axis decided here?
bool map_checks(const Map *m, const Leaf *leaf); // are subscripts compared with sizes at run time?
bool map_unrolls(Map *m, const Block *b, int at);
void map_allocs(Map *m, const Block *b);
GpuNode *map_node(Map *m, const Node *node);
GpuNode *map_children(Map *m, const Block *b);
GpuNode *map_loop(Map *m, const Block *b, int at);
GpuNode *map_serial(Map *m, const Block *b, int at);

// --- gpu_kernel.c --------------------------------------------------------------------------------
// Blocks without indices at the top hold kernels; their guards go into each.
void map_top(Map *m, const Node *node, const char *name);

// --- gpu_edge.c ----------------------------------------------------------------------------------
// Takes out of loops what only their first or last iteration does.
void gpu_edges(Arena *arena, Tree *t);

// --- gpu_nest.c ----------------------------------------------------------------------------------
void nest_leaves(Arena *arena, const Node *n, Leaves *out);
void leaf_accesses(const Leaf *leaf, AccessVisit *fn, void *user);
bool nest_has(const Node *n, bool (*is)(Kind));
// The axis of a loop of blocks or threads. Of warps and lanes, the innermost loop has the last
// digit, so that nests that lack the outer ones use the same digits. False: there are too many.
bool nest_axis(const Block *b, GpuAxis *out);
int64_t nest_instances(const Node *n); // of leaves; INT64_MAX: more
// The leaves that one thread runs by their code, thread loops not counted.
int64_t nest_own_instances(const Node *n);
bool nest_allocates(const Node *n, int buffer);
// Do iterations of this index touch no element that another iteration writes? If the loop is
// unordered, only reductions can meet.
bool nest_independent(Map *m, const Block *b, int at);
// Does the leaf write other elements for other values of an index of the nest, whatever the other
// indices of the nest are?
bool nest_apart(Map *m, const Block *b, const Leaf *leaf, int id);
// Do iterations of the thread loop reduce into one element, and nothing worse?
bool nest_only_reduces(Map *m, const Block *b);

// --- gpu_stage.c ---------------------------------------------------------------------------------
// The leaf of a nest that only copies elements, and checks no subscript; NULL: it does more.
const Leaf *stage_leaf(const Map *m, const Node *n);
int stage_count(const Map *m, const Block *b); // of the copies that the body begins with; 0: none
void stage_add(Map *m, const Block *b, int loop, int stages);
GpuNode *stage_first(Map *m, const Block *b, GpuNode *loop);
GpuNode *stage_pipeline(Map *m, const Block *b, GpuNode *loop, int stages);

// --- gpu_meet.c ----------------------------------------------------------------------------------
GpuNode *meet_loop(Map *m, const Block *b); // NULL: nothing meets below

// --- gpu_divide.c --------------------------------------------------------------------------------
// The leading independent loops of a nest.
typedef struct Band {
    int n;
    const Block *block[TREE_MAX_DEPTH];
    int at[TREE_MAX_DEPTH];
    int64_t total;
} Band;
void band_find(Map *m, const Block *b, Band *out);
// Its iterations from a number 0 <= linear < total; `lane`: the index of the elements within a
// vector, or -1.
GpuNode *band_map(Map *m, const Band *band, const Affine *linear, int64_t total, int vector,
                  int lane, const Block *b);
GpuNode *band_divide(Map *m, const Block *b, const Band *band); // all threads take turns
// Elements between neighbours along the index; 0: not linear.
int64_t map_step(const Map *m, const Access *a, int id);

#endif
