// Specials: operations on whole views, each defined by its expansion into blocks and leaves.
#ifndef LW_TREE_SPECIAL_H
#define LW_TREE_SPECIAL_H

#include "tree/tree.h"

typedef enum SpecialOp {
#define SPECIAL(id, name, nouts, nins) SPECIAL_##id,
#include "tree/special.def"
#undef SPECIAL
    SPECIAL_COUNT
} SpecialOp;

typedef struct SpecialInfo {
    const char *name;
    int nouts, nins;
} SpecialInfo;
extern const SpecialInfo special_info[SPECIAL_COUNT];

int special_find(Name op); // SpecialOp, or -1
// NULL when the operands fit; else what is wrong, in a sentence.
const char *special_check(Arena *arena, const Tree *t, const Special *s);
int special_indices(const Tree *t, const Special *s); // the most indices that its expansion has
// The same Tree with every special replaced by its expansion; `t` itself when there is none.
const Tree *tree_expand(const Tree *t);

#endif
