// The GPU kernel form: a Tree mapped to grids, blocks and threads. Code generators print it.
//
//     Tree ─ gpu_map ─▶ GpuProgram: a list of kernels, launched one after the other
//
// Every kernel is one nest of the Tree's root (a dependence between nests is a dependence between
// launches). Its loops have become
//
//   hardware indices   ids of blocks and threads: GpuProgram.hw + GPU_BLOCK_X ... Threads have x, y
//                      and z, or digits: one for each loop over warps and lanes, so that any bits
//                      of a lane's number may belong to any loop.
//                      An index of a mapped loop is replaced by its value in terms of these, so two
//                      nests that use thread.x for different loops have equal subscripts where
//                      their threads touch equal elements.
//   serial loops       GPU_LOOP, run by every thread in the same number of iterations
//   unrolled loops     GPU_LOOP with `unroll`
//
// and a nest whose loops have no mark is divided among the threads of its block (gpu_divide.c).
// Barriers follow from dependences (gpu_barrier.c) and are written by nobody.
//
//   gpu_impl.h     lists the files of the mapping  gpu_place.c     where buffers live
//   gpu_barrier.c  where threads must wait         gpu_owner.c     which thread touches an element
#ifndef LW_CODE_GPU_GPU_H
#define LW_CODE_GPU_GPU_H

#include "base/diag.h"
#include "tree/tree.h"

typedef enum GpuAxis {
    GPU_BLOCK_X,
    GPU_BLOCK_Y,
    GPU_BLOCK_Z,
    GPU_THREAD_X,
    GPU_THREAD_Y,
    GPU_THREAD_Z,
    GPU_WARP_0, // digits of the warp's number, the highest first
    GPU_LANE_0 = GPU_WARP_0 + 4,
    GPU_AXES = GPU_LANE_0 + 6
} GpuAxis;

enum {
    GPU_WARP = 32,
    GPU_MAX_THREADS = 1024,
    GPU_SHARED_BYTES = 232448,
    GPU_SHARED_FOR_SUMS = 8 * GPU_MAX_THREADS, // reductions over threads need 8 bytes per thread
    GPU_SHARED_MOST = GPU_SHARED_BYTES - GPU_SHARED_FOR_SUMS, // for buffers
    GPU_MAX_GRID_YZ = 65535
};

typedef enum GpuSpace {
    GPU_GLOBAL,   // an argument, or scratch memory of the device
    GPU_SHARED,   // one per block
    GPU_LOCAL,    // one per thread
    GPU_REGISTER, // one per thread; every subscript is known, so each element is a register
} GpuSpace;

// Where a buffer lives in a kernel.
typedef struct GpuBuffer {
    GpuSpace space;
    bool used, written; // by this kernel
    int64_t offset;     // bytes from the start of scratch, shared or local memory
    int64_t bytes;
    bool moved;     // to scratch memory: shared memory has no room for it
    bool per_block; // scratch memory: every block has its own, `block_bytes` apart
    int64_t block_bytes;
    unsigned slices; // shared memory: threads that differ in these axes have their own
    int stages;      // of asynchronous copies ahead of their use, its first dimension; 0: none
    const int64_t *stride; // bytes, per dimension
} GpuBuffer;

typedef enum GpuKind {
    GPU_SEQ,
    GPU_LOOP,
    GPU_LEAF,
    GPU_REDUCE,  // threads that differ in `meet` reduce into the same elements below
    GPU_BARRIER, // all threads of the block
    GPU_COMMIT,  // ends a group of asynchronous copies
    GPU_WAIT,    // until at most `stages` groups are under way
} GpuKind;

typedef struct GpuNode GpuNode;
struct GpuNode {
    GpuKind kind;
    const Node *from;          // of the Tree; NULL: made by the mapping
    VEC(const Affine *) guard; // each >= 0, or nothing below runs
    VEC(GpuNode *) child;      // GPU_SEQ, GPU_LOOP, GPU_REDUCE
    bool independent;          // threads touch nothing below that another one writes
    // GPU_LOOP
    Name name;
    int id;
    int64_t extent;
    bool unroll;
    int stages; // GPU_WAIT; GPU_LOOP: stages of its asynchronous copies, 0: none
    // GPU_LEAF
    VEC(const Affine *) where; // all guards around, wherever they are asked
    const Leaf *leaf;          // over hardware indices and loops of the kernel
    int vector;                // a copy: consecutive elements that it moves; 1: one element
    bool async;                // an asynchronous copy
    unsigned single;           // axes of threads of which only thread 0 runs it, as bits
    unsigned meet; // GPU_REDUCE and the leaves below it: axes over which threads reduce together
};

typedef struct GpuKernel {
    const char *name;
    const Node *nest;       // of the Tree
    int64_t size[GPU_AXES]; // blocks and threads
    int64_t shared;         // bytes
    int64_t local;          // bytes per thread
    GpuNode *body;
    GpuBuffer *buffer; // per buffer of the Tree
    int barriers;
} GpuKernel;

typedef struct GpuProgram {
    Arena *arena;
    const char *name; // the prefix of the kernels' names, an identifier
    Tree *tree;       // specials expanded
    int hw;           // id of GPU_BLOCK_X; the others follow
    int nids;         // ids of indices are below
    int64_t *lo, *hi; // per id, inclusive
    VEC(GpuKernel *) kernel;
    int64_t scratch;     // bytes of device memory
    int64_t *scratch_at; // per buffer of the Tree's root: its place there; -1: none
} GpuProgram;

// Maps any Tree that verifies; NULL, with a diagnostic: its blocks have too many threads. Kernels
// are named after `name`.
GpuProgram *gpu_map(Arena *arena, const Tree *t, const char *name, DiagList *diags);

// gpu_place.c: spaces and offsets of every buffer of a kernel; the Tree's scratch memory grows.
void gpu_place(GpuProgram *g, GpuKernel *k);
// gpu_barrier.c: adds barriers to the body.
void gpu_barriers(GpuProgram *g, GpuKernel *k);

// gpu_nest.c: where the first statement of a nest stands in the source.
Range gpu_range(const Tree *t, const Node *n);

static inline int gpu_threads(const GpuKernel *k) {
    int64_t n = 1;
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++) n *= k->size[a];
    return (int)n;
}
// gpu_owner.c: the number of a thread in its block is the sum of its axes, each times gpu_step. The
// last lane digit runs fastest, then warps, then x, y and z; without warps and lanes these are
// those of the hardware.
int64_t gpu_step(const GpuKernel *k, GpuAxis a);
extern const GpuAxis gpu_fastest[GPU_AXES - GPU_THREAD_X]; // the axes of threads in this order
bool gpu_has_digits(const GpuKernel *k);
// gpu_owner.c: an access as digits of a number. False: it is not one.
typedef struct GpuDigit {
    int64_t coef, extent; // elements
    int axis;             // of threads; -1: of a loop
} GpuDigit;
typedef struct GpuDigits {
    int n;
    GpuDigit digit[AFFINE_MAX_TERMS]; // of loops and threads, the lowest first
    const Affine *other;              // of blocks, and the constant
    unsigned axes;                    // of threads among the digits
} GpuDigits;
bool gpu_digits(const GpuProgram *g, const GpuKernel *k, const Access *a, GpuDigits *out);
bool gpu_digits_equal(const GpuDigits *a, const GpuDigits *b);
unsigned gpu_used_axes(const GpuKernel *k);

// The axes of threads, as bits, whose index occurs in the affine.
unsigned gpu_axes_of(const GpuProgram *g, const Affine *a);
unsigned gpu_axes_of_access(const GpuProgram *g, const Access *a);

#endif
