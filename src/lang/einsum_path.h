// Finds the order in which an einsum of several operands multiplies them, pair by pair. A good
// order needs orders of magnitude fewer operations than one nest over all labels, and no
// intermediate result larger than the caller allows.
//
//   up to PATH_OPTIMAL operands   dynamic programming over subsets: no order is cheaper
//   more operands                 greedy: the pair whose result saves most memory; then the same
//                                 with random noise, several times, and the cheapest order is kept;
//                                 finally its parts are replaced by their optimal orders
//
// Costs are counted as in opt_einsum: each element of the joint index space of a step costs one
// multiplication per operand after the first, and one addition if the step sums.
#ifndef LW_LANG_EINSUM_PATH_H
#define LW_LANG_EINSUM_PATH_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { PATH_OPTIMAL = 12, PATH_MAX = 128, PATH_DIMS = 128 };

typedef unsigned __int128 DimSet; // dimension d is bit d
#define DIM(d) ((DimSet)1 << (d))

typedef struct PathProblem {
    int n;             // number of operands
    const DimSet *has; // the dimensions of each operand
    DimSet output;
    const double *size; // of each dimension
    double limit;       // most elements of an intermediate result; 0: no limit
    int max_rank;       // highest rank of an intermediate result
    int max_dims;       // most dimensions of a step
} PathProblem;

// Step i multiplies the terms `term` and sums the labels that are needed nowhere else. Terms are
// numbered: first the operands, then the results of the steps.
typedef struct PathStep {
    int n;
    int *term;
    DimSet all, result;
    double flops, size; // size: elements of the result
} PathStep;

typedef struct Path {
    int n; // number of steps; the last one gives the output
    PathStep *step;
    double flops;
    double largest; // elements of the largest intermediate result
} Path;

double path_size(const PathProblem *p, DimSet set);
int path_rank(DimSet set);
// A single step for everything.
Path path_all(Arena *arena, const PathProblem *p);
// The best order found. Its last step has more than two terms if no other order stays within the
// limits.
Path path_find(Arena *arena, const PathProblem *p);
// The order that the caller gives: `count` steps, each the number of its terms and their positions
// among the remaining terms; a result is appended at the end. Returns false if the list is not of
// this form.
bool path_given(Arena *arena, const PathProblem *p, const int32_t *list, size_t length, Path *out);
// The positions of the terms of step i, as in `path_given`, in ascending order.
void path_positions(const PathProblem *p, const Path *path, int step, int32_t *into);

#endif
