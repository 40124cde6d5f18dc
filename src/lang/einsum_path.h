// In which order an einsum of several operands multiplies them: which two first, their result with
// which other, and so on. A good order needs orders of magnitude fewer operations than one nest of
// all labels, and no intermediate result larger than the caller allows.
//
//   up to PATH_OPTIMAL operands   dynamic programming over their subsets: no order is cheaper
//   beyond                        greedy: the pair whose result saves most memory; then the same
//                                 with random noise, a number of times, and the cheapest is kept;
//                                 parts of it are then replaced by their best orders
//
// Costs are counted as opt_einsum does: every element of the joint index space of a step costs one
// multiplication per operand but the first, and one addition where the step sums.
#ifndef LW_LANG_EINSUM_PATH_H
#define LW_LANG_EINSUM_PATH_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { PATH_OPTIMAL = 12, PATH_MAX = 128, PATH_DIMS = 128 };

typedef unsigned __int128 DimSet; // dimension d is bit d
#define DIM(d) ((DimSet)1 << (d))

typedef struct PathProblem {
    int n;             // operands
    const DimSet *has; // the dimensions of each
    DimSet output;
    const double *size; // of each dimension
    double limit;       // elements of an intermediate result; 0: any
    int max_rank;       // of an intermediate result
    int max_dims;       // of a step
} PathProblem;

// Step i multiplies the terms `term` and sums what is needed nowhere else. Terms are numbered: the
// operands, then the results of the steps.
typedef struct PathStep {
    int n;
    int *term;
    DimSet all, result;
    double flops, size; // size: elements of the result
} PathStep;

typedef struct Path {
    int n; // steps; the last one gives the output
    PathStep *step;
    double flops;
    double largest; // elements of the largest intermediate result
} Path;

double path_size(const PathProblem *p, DimSet set);
int path_rank(DimSet set);
// One step for all of it.
Path path_all(Arena *arena, const PathProblem *p);
// The best that is found. One step of more than two terms ends it where nothing else keeps to the
// limits.
Path path_find(Arena *arena, const PathProblem *p);
// As the caller says: `count` steps, each the number of its terms and their positions among the
// terms that are left, where a result is appended at the end. False: it is not such a list.
bool path_given(Arena *arena, const PathProblem *p, const int32_t *list, size_t length, Path *out);
// The positions of the terms of step i as in `path_given`, ascending.
void path_positions(const PathProblem *p, const Path *path, int step, int32_t *into);

#endif
