// The GPU kernel form: a Tree mapped to grids, blocks and threads. gpu_map makes it, and code
// generators such as code/ptx print it.
//
//     Tree ─ gpu_map ─▶ GpuProgram: a list of kernels, launched one after the other
//
// Each nest at the root of the Tree becomes a kernel, so a dependence between nests is a dependence
// between launches. The loops of a nest become
//
//   hardware indices   ids of blocks and threads: GpuProgram.hw + GPU_BLOCK_X ... Threads have
//                      x, y and z, or digits: one for each loop over warps and lanes. Any
//                      bits of a lane's number may therefore belong to any loop.
//                      The index of a mapped loop is replaced by its value in terms of these. Two
//                      nests that use thread.x for different loops therefore have equal subscripts
//                      where their threads access equal elements.
//   serial loops       GPU_LOOP; every thread runs the same number of iterations
//   unrolled loops     GPU_LOOP with `unroll`
//
//   blocks of a cluster divide a loop with the mark `cluster` (gpu_cluster.c). They only meet where
//   they combine the partial results of a reduction; the first block runs everything outside.
//
// A nest whose loops have no mark is divided among the threads of its block (gpu_divide.c). The
// mapping inserts barriers where dependences require them (gpu_barrier.c); a Tree contains none.
//
//   gpu_impl.h     lists the files of the mapping  gpu_place.c     memory spaces of buffers
//   gpu_barrier.c  barriers between threads        gpu_owner.c     which thread accesses an element
#ifndef LW_CODE_GPU_GPU_H
#define LW_CODE_GPU_GPU_H

#include "base/diag.h"
#include "machine/bit_matrix.h"
#include "machine/gpu_machine.h"
#include "tree/tree.h"

typedef enum GpuAxis {
    GPU_BLOCK_X,
    GPU_BLOCK_Y,
    GPU_BLOCK_Z,
    GPU_CLUSTER, // the number of the block in its cluster
    GPU_THREAD_X,
    GPU_THREAD_Y,
    GPU_THREAD_Z,
    GPU_WARP_0, // digits of the warp's number, the most significant first
    GPU_LANE_0 = GPU_WARP_0 + 4,
    GPU_AXES = GPU_LANE_0 + 6
} GpuAxis;

typedef enum GpuSpace {
    GPU_GLOBAL,   // an argument, or scratch memory of the device
    GPU_SHARED,   // one per block
    GPU_LOCAL,    // one per thread
    GPU_REGISTER, // one per thread; all subscripts are constant, so each element is a register
} GpuSpace;

// The memory space and address of a buffer in a kernel.
typedef struct GpuBuffer {
    GpuSpace space;
    bool used, written; // by this kernel
    bool cached;        // some leaf that writes it is not nontemporal
    int64_t offset;     // bytes from the start of scratch, shared or local memory
    int64_t bytes;
    bool moved;     // to scratch memory, because shared memory has no room for it
    bool per_block; // in scratch memory, each block has its own copy, `block_bytes` apart
    int64_t block_bytes;
    unsigned slices; // in shared memory, threads that differ in these axes have their own copies
    int stages; // its first dimension: the stages that asynchronous copies fill in advance; 0: none
    const int64_t *stride; // bytes, per dimension
    Swizzle swizzle;       // shared memory: of offsets from its start
} GpuBuffer;

typedef enum GpuKind {
    GPU_SEQ,
    GPU_LOOP,
    GPU_LEAF,
    GPU_REDUCE,  // threads that differ in `meet` reduce into the same elements below
    GPU_BARRIER, // all threads of the block
    GPU_COMMIT,  // ends a group of asynchronous copies
    GPU_WAIT,    // until at most `stages` groups are pending
} GpuKind;

typedef struct GpuNode GpuNode;
struct GpuNode {
    GpuKind kind;
    const Node *from;          // the node of the Tree; NULL: the mapping made it
    VEC(const Affine *) guard; // all must be >= 0 for the node to run
    VEC(GpuNode *) child;      // GPU_SEQ, GPU_LOOP, GPU_REDUCE
    bool independent;          // no thread accesses an element below that another thread writes
    // GPU_LOOP
    Name name;
    int id;
    int64_t extent;
    bool unroll;
    int stages; // GPU_WAIT; GPU_LOOP: stages of its asynchronous copies, 0: none
    // GPU_LEAF
    VEC(const Affine *) where; // all guards around the leaf, also those on outer nodes
    const Leaf *leaf;          // in terms of hardware indices and loops of the kernel
    int vector;                // for a copy, the consecutive elements that it moves; otherwise 1
    bool async;                // an asynchronous copy
    unsigned single; // bit set of thread axes: only thread 0 of each of them runs the leaf
    unsigned meet;   // GPU_REDUCE and the leaves below it: axes over which threads reduce together
    const Expr *first; // such a leaf: the constant that its elements begin with; NULL: in memory
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
    const GpuMachine *machine; // its limits hold
    const char *name;          // the prefix of the kernels' names, an identifier
    Tree *tree;                // with special functions expanded
    int hw;                    // id of GPU_BLOCK_X; the others follow
    int nids;                  // all index ids are less than this
    int64_t *lo, *hi;          // per id, inclusive
    VEC(GpuKernel *) kernel;
    int64_t scratch;     // bytes of device memory
    int64_t *scratch_at; // per buffer of the Tree's root: its offset in scratch memory; -1: none
} GpuProgram;

// Maps any Tree that the verifier accepts. Returns NULL with a diagnostic if a block would have too
// many threads, or a cluster is impossible. The kernels' names begin with `name`.
GpuProgram *gpu_map(Arena *arena, const Tree *t, const char *name, const GpuMachine *machine,
                    DiagList *diags);

// gpu_place.c: chooses the memory space and offset of every buffer of a kernel, and enlarges the
// scratch memory of the program.
void gpu_place(GpuProgram *g, GpuKernel *k);
// gpu_barrier.c: inserts barriers into the body.
void gpu_barriers(GpuProgram *g, GpuKernel *k);
// The fewest barriers between n children, which a loop repeats if `cyclic`: child i and the next
// child j need one between them if needs[i*n + j]. Sets pick[j] if there is one before child j.
int gpu_fewest_barriers(const bool *needs, int n, bool cyclic, bool *pick);

// gpu_place.c: the swizzle of a buffer in shared memory; `first`: its first dimension that is not
// the stages.
Swizzle gpu_swizzle(const Buffer *b, int first);

// gpu_nest.c: the source location of the first statement of a nest.
Range gpu_range(const Tree *t, const Node *n);

static inline int gpu_threads(const GpuKernel *k) {
    int64_t n = 1;
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++) n *= k->size[a];
    return (int)n;
}
// gpu_owner.c: the stride of an axis: the number of a thread in its block is the sum over all axes
// of its index times this stride. The last lane digit varies fastest, then warps, then x, y and z.
// In a kernel without warps and lanes this is the numbering of the hardware.
int64_t gpu_step(const GpuKernel *k, GpuAxis a);
extern const GpuAxis gpu_fastest[GPU_AXES - GPU_THREAD_X]; // the thread axes in this order
bool gpu_has_digits(const GpuKernel *k);
// gpu_owner.c: an access as a number in a mixed radix, one digit per loop or thread axis. Returns
// false if the address has no such form.
typedef struct GpuDigit {
    int64_t coef, extent; // elements
    int axis;             // the thread axis; -1: a loop
} GpuDigit;
typedef struct GpuDigits {
    int n;
    GpuDigit digit[AFFINE_MAX_TERMS]; // of loops and thread axes, the least significant first
    const Affine *other;              // the terms of blocks, and the constant
    unsigned axes;                    // bit set of the thread axes among the digits
} GpuDigits;
bool gpu_digits(const GpuProgram *g, const GpuKernel *k, const Access *a, GpuDigits *out);
bool gpu_digits_equal(const GpuDigits *a, const GpuDigits *b);
unsigned gpu_used_axes(const GpuKernel *k);

// The blocks of the grid, those of a cluster counted one by one.
static inline int64_t gpu_blocks(const GpuKernel *k) {
    return k->size[GPU_BLOCK_X] * k->size[GPU_BLOCK_Y] * k->size[GPU_BLOCK_Z] *
           k->size[GPU_CLUSTER];
}

// The thread axes whose index occurs in the affine expression, as a bit set.
unsigned gpu_axes_of(const GpuProgram *g, const Affine *a);
unsigned gpu_axes_of_access(const GpuProgram *g, const Access *a);

#endif
