// Declarations shared by the files of this folder: a unit, the function being printed, and its
// parts.
#ifndef LW_CODE_C_C_IMPL_H
#define LW_CODE_C_C_IMPL_H

#include "code/c/c.h"

// The static functions of the output, each after the ones that it calls. Those with types are
// printed once for each type that needs them.
typedef enum Helper {
#define HELPER(id, ...) HELPER_##id,
#include "code/c/helper.def"
#undef HELPER
    HELPER_COUNT
} Helper;

struct CUnit {
    Arena *arena;
    uint32_t used[HELPER_COUNT];    // sets of Types
    bool math, posix, memory;       // headers to include
    bool rounds;                    // some products need a barrier against contraction
    bool pragmas, parallel, locals; // marked loops; memory on the stack
    VEC(const char *) names;        // of functions
    Text bodies, prototypes;
};

// "lw_add_i32"; also marks it as used.
const char *helper(CUnit *u, Helper h, Type type);
void helpers_print(const CUnit *u, Text *out);

// A function being written.
typedef struct CBuffer {
    const char *name;
    bool scalar;          // an allocation of one element: a plain variable
    bool used, read;      // in the text printed so far
    bool open;            // an argument, or allocated by a surrounding block
    bool on_stack;        // otherwise at `offset` of the scratch memory
    int64_t span, offset; // elements from the first to the last; bytes
} CBuffer;

typedef struct CIndex {
    const char *name; // NULL: not open
    int depth;        // of the block that has it
} CIndex;

typedef struct CWriter {
    CUnit *u;
    Tree *t;
    Arena *arena;
    DiagList *diags;
    Text *out;
    int indent;
    CBuffer *buffer;             // per buffer
    CIndex *index;               // per index id
    int64_t *lo, *hi, *extent;   // per index id: bounds, inclusive; extent, -1 when passed
    VEC(const char *) scope;     // names of open indices
    VEC(const Affine *) settled; // constraints that already hold here
    const Leaf *leaf;            // being printed
    const Leaf *sum;             // the leaf whose element is in a variable...
    const char *sum_name;        // ...of this name
    int depth;                   // of open blocks
    bool parallel;               // inside a loop that OpenMP divides
    bool under_init, under_post; // inside if (init), if (post)
    bool uses_init, uses_post;   // the function needs them
    bool checks;                 // it has a status
    bool differences;            // it subtracts floats: barriers keep products from being fused
    bool has_parallel;
    int collapse; // remaining loops of a parallel nest
    int64_t stack, scratch, most_scratch;
} CWriter;

// unit.c
bool c_reserved(const char *name);
const char *c_identifier(Arena *arena, const char *name);
bool c_name_taken(const CWriter *w, const char *name);

// block.c
void c_tree(CWriter *w);

// c_expr.c
void c_line(CWriter *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void c_affine(CWriter *w, Text *out, const Affine *a);
// Is a float subtracted or negated anywhere in it?
bool c_subtracts(const Expr *e);
// "64*m + i <= 99", of a >= 0.
void c_condition(CWriter *w, Text *out, const Affine *a);
void c_leaf(CWriter *w, const Leaf *leaf);
// An element as an lvalue; NULL if its buffer is empty.
const char *c_element(CWriter *w, const Access *a);
// Are all subscripts inside, even without guards?
bool c_bounded(const CWriter *w, const Access *a);
const char *c_type(Type t);       // in memory
const char *c_value_type(Type t); // in expressions
// Do C's operators on memory compute it correctly?
bool c_is_plain(Type t);
bool c_skippable(const CWriter *w, const Leaf *leaf, bool *init, bool *post);

#endif
