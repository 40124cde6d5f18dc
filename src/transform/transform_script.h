// Transformations by name: transform.def lists them, docs/edit.md describes scripts of them.
#ifndef LW_TRANSFORM_TRANSFORM_SCRIPT_H
#define LW_TRANSFORM_TRANSFORM_SCRIPT_H

#include "transform/transform.h"

typedef enum TransformId {
#define TRANSFORM(id, word, operands, usage, meaning) TRANSFORM_##id,
#include "transform/transform.def"
#undef TRANSFORM
    TRANSFORM_COUNT
} TransformId;

typedef struct TransformInfo {
    const char *word, *operands, *usage, *meaning;
} TransformInfo;
extern const TransformInfo transform_info[TRANSFORM_COUNT];

typedef struct TreeAction {
    TransformId id;
    TreeRef node, other;
    int64_t n, m; // a kind is `n`
    int buffer;
} TreeAction;

// The action of a script that was refused, and the Tree before it.
typedef struct TreeRefusal {
    const Tree *tree; // NULL: there was none
    TreeAction action;
} TreeRefusal;

// The new Tree, or NULL: refused.
const Tree *tree_act(const Tree *t, const TreeAction *a, const TreeEdit *e);
// Runs a script; NULL: an error, or a refusal, which is located in the script.
const Tree *tree_script(const Tree *t, const Source *script, const TreeEdit *e);
int tree_find_buffer(const Tree *t, const char *name); // -1: none

#endif
