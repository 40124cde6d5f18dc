// The one model of what a Tree costs: bytes touched, bytes moved, operations. Every later part uses
// this one.
#ifndef LW_TREE_COST_H
#define LW_TREE_COST_H

#include "tree/tree.h"

// Of one whole execution of a block (all its iterations), averaged over the enclosing ones where
// tails make them differ.
typedef struct BlockCost {
    const Node *node;
    int64_t footprint;  // bytes of distinct elements, summed over buffers; boxes of affine ranges
    int64_t traffic;    // bytes loaded and stored by leaves, nothing kept
    int64_t flops;      // operations of leaves; a fused multiply-add counts two
    int64_t iterations; // leaf executions
    const int64_t *buffer; // footprint per buffer
} BlockCost;

typedef struct TreeCost {
    int n;
    const BlockCost *at; // in the order of tree_walk
} TreeCost;

// Leaf executions of a Tree without specials: exact, unless constraints would have to be looked at
// in millions of points; then as tree_cost has it. Saturates.
int64_t tree_instances(Arena *scratch, const Tree *t);

const TreeCost *tree_cost(Arena *arena, const Tree *t);
// Operations of a bound Program, whatever its Schedule, of iterations that are performed
// (stmt_performed).
double program_flops(Arena *scratch, const Program *p);
double program_int_ops(Arena *scratch, const Program *p); // those of them that are of integers
// Of the widest floats among its arguments, or where there are none among what it computes; 0: none
// there either.
int program_float_bits(const Program *p);
// By tensor, the elements that a bound Program touches at most: all, or as many as there are
// instances of the statements that name it. A gather does not read all of its table.
const double *program_touches(Arena *arena, const Program *p);
const BlockCost *cost_of(const TreeCost *c, const Node *node); // NULL: none

#endif
