// Parts of buffers that blocks access (private to src/transform).
#ifndef LW_TRANSFORM_TRANSFORM_REGION_H
#define LW_TRANSFORM_TRANSFORM_REGION_H

#include "transform/edit.h"

// The box of a buffer that some nodes access, relative to the surrounding indices.
typedef struct TouchedBox {
    EditWork *w;
    const TreeFacts *f; // bounds of indices
    const bool *below;  // per index id: of a block below
    int buffer, rank;
    const Affine *base[TREE_MAX_RANK]; // its corner
    int64_t min[TREE_MAX_RANK], max[TREE_MAX_RANK];
    int64_t step[TREE_MAX_RANK]; // step between the subscripts that occur; 0: there is only one
    bool any, ok;
    bool read, assigned, reduced;
    bool starts; // an initialisation of an argument, which accumulating runs skip
    Reduce op;
} TouchedBox;
TouchedBox region_box(EditWork *w, const TreeFacts *f, const Node *const *node, int n, int buffer);

// A row-major allocation with the type of a buffer; dimensions of at least `odd` > 0 become odd.
int region_buffer(EditWork *w, int like, const char *name, Place place, const int64_t *size,
                  int64_t odd);

// A box of a copy, and the source of its elements.
typedef struct CopyPart {
    int buffer, to;              // the tensor and its copy
    const int64_t *at, *size;    // the box of the copy
    const Affine *const *corner; // the element of the tensor at `at`,
    const int64_t *step;         // and the distance there between neighbours of the copy
    const Expr *value;           // constant elements; NULL: those of the tensor
    bool store;                  // the other direction: stores elements to the tensor
    Reduce op;                   // with this operator
    const char *tag[2];
    Place mover;
    const Block *around; // the block that gets the copies; NULL: copy the whole box
} CopyPart;
// for [x, y]: T[at + (x, y)] = A[corner + (x, y)*step], guarded where it may leave A, and, if A is
// itself a copy, where elements of A were copied.
const Block *region_copy(EditWork *w, const TreeFacts *f, const CopyPart *part);

// The initial value of partial results. That of a sum is -0: x + -0 is x, also for x = -0.
const Expr *region_start(EditWork *w, Type type, Reduce op);
// The block with one allocation less and one more; -1: none. Its views are derived again.
Block region_block(EditWork *w, const Block *b, int drop, int add);
// The block inside `b`, or itself, that allocates the buffer; NULL: none.
const Block *region_home(const Block *b, int buffer);

#endif
