// Declarations shared by the files of the choice for GPUs.
//
//   choose_gpu.c         contractions, transpositions, gathers, and the order of the attempts
//   choose_gpu_rows.c    sums: of rows, in parts, of volumes, of columns
//   choose_gpu_window.c  convolutions
//   choose_gpu_layer.c   products of products, in one kernel
//   choose_gpu_scores.c  products of reduced rows of products (attention), in one kernel
//   choose_gpu_share.c   kernels of their own for statements that would share too few loops
#ifndef LW_CHOOSE_CHOOSE_GPU_IMPL_H
#define LW_CHOOSE_CHOOSE_GPU_IMPL_H

#include "machine/gpu_cost.h"
#include "machine/gpu_machine.h"
#include "program/stmt_facts.h"
#include "sched/schedule.h"

// A kernel of sums over several dimensions: the classes of the two that threads divide, the threads
// along each, neighbours along x that a thread has, and blocks.
typedef struct GpuVolume {
    int x, y; // x -1: none
    int64_t tx, ty, each, blocks;
} GpuVolume;

typedef struct Gpu {
    Arena *arena;
    const GpuMachine *m;
    const GpuCost *cost;
    const Program *p;
    const ProgramFacts *f;
    const int64_t *const *stride; // of arguments
    int *host;                    // per statement: whose post-operation it is, or -1
    Text out;
    int row_stmt;  // the last statement of a group of rows, or -1
    int row_first; // and the first
    int nrows, row_class[3], row_threads;
    int row_each; // rows of a block
    int64_t row_inner;
    GpuVolume volume; // instead of row_inner and row_threads
} Gpu;

// A sum of products of two tensors: a has m and not n, b has n and not m, both have k.
typedef struct Contraction {
    const Access *a, *b; // a without n, b without m
    int m, n, k;
    int64_t M, N, K;
    Type type;
} Contraction;

// The loop of an iterator in the order that is being written: name, /step, :mark.
void gpu_loop(Gpu *g, const Stmt *s, int iter, int64_t step, const char *mark);
void gpu_label(Gpu *g, const Stmt *s, const char *suffix);
int gpu_contiguous(const Gpu *g, const Stmt *s, const Access *a); // the iterator; -1: none
const Access *gpu_factor(const Expr *e);                          // a read, converted or not
bool gpu_product(const Gpu *g, const Stmt *s, Contraction *c);
const char *gpu_swizzle_word(const Gpu *g, int tensor); // of a copy in shared memory
int64_t gpu_iterations(const Stmt *s, bool reductions); // of reductions, or of the others

bool gpu_try_row(Gpu *g, int i);
bool gpu_try_partial(Gpu *g, int i);
bool gpu_try_volume(Gpu *g, int i);
bool gpu_try_columns(Gpu *g, int i);
bool gpu_try_windows(Gpu *g, int i);
// The statements from i on: how many of them are in its kernel; 0: it is no such product.
int gpu_try_layers(Gpu *g, int i);
int gpu_try_scores(Gpu *g, int i);
// Whether f reads the results of the statements from `first` on in its own iterations of n classes.
bool gpu_stays_in_rows(const Gpu *g, int first, const StmtFacts *f, const int *class, int n);
void gpu_divide_kernels(Arena *arena, const Program *p, Schedule *s);

#endif
