// Declarations shared by the files of the mapping.
//
//   gpu_map.c    loops, leaves, allocations       gpu_kernel.c  kernels, their blocks and threads
//   gpu_nest.c   questions about a nest           gpu_divide.c  nests divided among all threads
//   gpu_stage.c  asynchronous copies              gpu_meet.c    reductions over threads
//   gpu_cluster.c  loops over the blocks of a cluster
//   gpu_edge.c   first and last iterations        gpu_fresh.c   reductions without initial values
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
    const Affine **value;     // per index id: its value in the kernel; NULL: unchanged
    VEC(const Affine *) path; // surrounding guards, after substitution
    unsigned threads;         // axes of the surrounding thread loops
    bool plain;               // each thread runs the code below independently
    bool marked;              // some loop of the kernel has a mark
    int *stage_of;            // per buffer: id of the loop that fills its stages, or -1
    int serial;               // number of surrounding serial loops
    DiagList *diags;
    bool failed;
    unsigned inside; // axes over which the leaves below reduce
    bool clustered;  // the blocks of a cluster divide a loop
} Map;

typedef VEC(const Leaf *) Leaves;

static inline bool is_thread(Kind k) { return k >= KIND_THREAD_X && k <= KIND_LANE; }
static inline bool is_cluster(Kind k) { return k == KIND_CLUSTER; }
static inline bool divides(Kind k) { return is_thread(k) || is_cluster(k); } // within a grid
static inline bool is_grid(Kind k) { return k >= KIND_GRID_X && k <= KIND_GRID_Z; }

// --- gpu_map.c -----------------------------------------------------------------------------------
GpuNode *map_new(Map *m, GpuKind kind);
void map_push(Map *m, GpuNode *seq, GpuNode *n);
int map_id(Map *m, int64_t extent); // a new loop index
const Affine *map_hw(Map *m, GpuAxis a);
const Affine *map_affine(Map *m, const Affine *a);
unsigned map_axes(const Map *m);   // the thread axes whose extent is above 1
bool map_one_thread(const Map *m); // do the surrounding loops determine all thread axes?
bool map_checks(const Map *m, const Leaf *leaf); // does it check subscripts at run time?
bool map_unrolls(Map *m, const Block *b, int at);
void map_allocs(Map *m, const Block *b);
GpuNode *map_node(Map *m, const Node *node);
GpuNode *map_children(Map *m, const Block *b);
GpuNode *map_loop(Map *m, const Block *b, int at);
GpuNode *map_serial(Map *m, const Block *b, int at);

// --- gpu_kernel.c --------------------------------------------------------------------------------
// Maps the nests below blocks without indices to kernels; the guards of these blocks apply to each
// kernel.
void map_top(Map *m, const Node *node, const char *name);

// --- gpu_edge.c ----------------------------------------------------------------------------------
// Moves code that only the first or last iteration of a loop runs out of the loop.
void gpu_edges(Arena *arena, Tree *t);

// --- gpu_nest.c ----------------------------------------------------------------------------------
void nest_leaves(Arena *arena, const Node *n, Leaves *out);
void leaf_accesses(const Leaf *leaf, AccessVisit *fn, void *user);
bool nest_has(const Node *n, bool (*is)(Kind));
// The axis of a loop over blocks or threads. The innermost loop over warps or lanes has the last
// digit, so that a nest without the outer loops uses the same digits. Returns false if there are
// too many such loops.
bool nest_axis(const Block *b, GpuAxis *out);
int64_t nest_instances(const Node *n); // iterations of all leaves; INT64_MAX: overflow
// The work of one thread in units of leaves: iterations times a weight for the code of each leaf.
// Thread loops do not count.
int64_t nest_own_instances(const Node *n);
int64_t nest_copies(const Node *n); // iterations of one thread
bool nest_allocates(const Node *n, int buffer);
// Is every element that one iteration of this index writes accessed by that iteration alone? In an
// unordered loop only reductions can violate this.
bool nest_independent(Map *m, const Block *b, int at);
// Does the leaf write different elements for different values of the index, whatever the values of
// the nest's other indices?
bool nest_apart(Map *m, const Block *b, const Leaf *leaf, int id);
// Are reductions into one element the only dependences between iterations of the thread loop?
bool nest_only_reduces(Map *m, const Block *b);

// --- gpu_stage.c ---------------------------------------------------------------------------------
// The leaf of a nest that only copies elements and checks no subscripts; NULL for other nests.
const Leaf *stage_leaf(const Map *m, const Node *n);
int stage_count(const Map *m, const Block *b); // of the copies that begin the body; 0: none
void stage_add(Map *m, const Block *b, int loop, int stages);
GpuNode *stage_first(Map *m, const Block *b, GpuNode *loop);
GpuNode *stage_pipeline(Map *m, const Block *b, GpuNode *loop, int stages);

// --- gpu_meet.c ----------------------------------------------------------------------------------
GpuNode *meet_loop(Map *m, const Block *b); // NULL: no threads reduce together below

// --- gpu_cluster.c -------------------------------------------------------------------------------
// Sets the size of clusters if the nest has a loop for them; false with a diagnostic if the blocks
// of a cluster would need each other's results.
bool cluster_size(Map *m, const Node *node);

// --- gpu_fresh.c ---------------------------------------------------------------------------------
void gpu_fresh(Map *m); // removes initial values that reductions over threads need not read

// --- gpu_divide.c --------------------------------------------------------------------------------
// The leading independent loops of a nest.
typedef struct Band {
    int n;
    const Block *block[TREE_MAX_DEPTH];
    int at[TREE_MAX_DEPTH];
    int64_t total;
} Band;
void band_find(Map *m, const Block *b, Band *out);
// Maps iteration number 0 <= linear < total of the band. `lane` is the index of the element within
// a vector, or -1.
GpuNode *band_map(Map *m, const Band *band, const Affine *linear, int64_t total, int vector,
                  int lane, const Block *b);
GpuNode *band_divide(Map *m, const Block *b, const Band *band); // cyclically among all threads
// The distance in elements between neighbours along the index; 0 if the access is not linear.
int64_t map_step(const Map *m, const Access *a, int id);

#endif
