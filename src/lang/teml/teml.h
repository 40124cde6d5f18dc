// TeML, private to src/lang/teml: the meta-language in which tensor expressions and loop nests are
// values (docs/teml.md; equation numbers are the paper's). lang.h has the entry point.
//
//   teml_parse.c                text to statements
//   teml_expand.c               expands functions, parameters, loops and modules to a list of
//                               statements, each of which applies one built-in
//   teml.c                      runs these statements on the store; the table of built-ins
//   teml_tensor.c               tensor expressions: scalar ... outerproduct, init
//   teml_range.c                ranges of iterators and shapes, from the indexing of tensors
//   teml_build.c                build: converts an assignment to a loop nest
//   teml_loop.c                 loop transformations, based on transform/transform.h
//   teml_judge.c                checks a loop value: its order against the definitions
//   teml_near.c                 the nearest legal alternatives to an illegal step
//   teml_codegen.c              functions: arguments, initial values, the final Tree
//   teml_store.c                the store as text
//   teml_path.c                 the TeML program that makes a given Tree
//
// Tensor expressions are Exprs of one pool; iterators are numbered by name in that pool, tensors by
// their position in Teml.tensors. A virtual contraction is a read of a tensor whose number is
// VIRTUAL or more, subscripted by its result dimensions. Loop nests are nodes of Trees whose
// buffers are also numbered by Teml.tensors. Every index has a unique id in the whole program, so
// that nests can be combined without renaming. The statement number of a leaf identifies the leaf
// of the untransformed nest, and its iterators give the values of those loops.
#ifndef LW_LANG_TEML_TEML_H
#define LW_LANG_TEML_TEML_H

#include "lang/lang.h"
#include "tree/tree.h"

enum { // declared limits, beside those of program.h and tree.h
    TEML_MAX_SOURCE = 1 << 20,
    TEML_MAX_NESTING = 16,    // depth of brackets
    TEML_MAX_BAD = 8,         // invalid bytes to report before the rest is ignored
    TEML_MAX_LEAVES = 1024,   // statements of one loop value
    TEML_MAX_ELEMENTS = 1024, // elements in the list of an init
    TEML_MAX_ARGUMENTS = 64,
    TEML_MAX_CALLS = 32,   // depth of calls of functions
    TEML_MAX_MODULES = 64, // files that a program imports
    VIRTUAL = 1 << 20,
};

// --- Syntax, teml_parse.c ----------------------------------------------------------------------
typedef enum SynKind {
    SYN_NONE,    // omitted, as in [[i1], ]
    SYN_INT,     // i
    SYN_FLOAT,   // f
    SYN_NAME,    // name
    SYN_SUM,     // i + sum of at[k], each a SYN_TERM or a SYN_PRODUCT
    SYN_TERM,    // i * name
    SYN_PRODUCT, // i * at[0] * ..., of names, numbers and divisors; expansion evaluates it
    SYN_DIVISOR, // / at[0]
    SYN_LIST,    // [at[0], ...]
    SYN_ARROW,   // at[0] -> at[1]
    SYN_SPAN,    // at[0]:at[1], the numbers from the first up to but not including the second
} SynKind;

typedef struct Syn Syn;
struct Syn {
    SynKind kind;
    Range range;
    Name name;
    int64_t i;
    double f;
    int n;
    const Syn **at;
};

typedef enum TemlStmtKind {
    TEML_APPLY,  // target = @real: builtin(arg, ...); without a target: init and codegen
    TEML_PARAM,  // param target = arg[0] in arg[1]
    TEML_DEF,    // def builtin(arg, ...) { body }
    TEML_FOR,    // for target in arg[0] { body }
    TEML_RETURN, // return arg[0]
    TEML_IMPORT, // import "builtin"
    TEML_ALIAS,  // target = arg[0]: the result of a call; only expansion makes it
    TEML_BROKEN, // an argument has no value, which was reported; so the target has none
} TemlStmtKind;

typedef struct TemlStmt TemlStmt;
typedef VEC(TemlStmt) TemlStmts;

// The call of a function that a statement comes from.
typedef struct TemlCall TemlCall;
struct TemlCall {
    Name function;
    const Source *source;
    Range range;
    const TemlCall *up; // NULL: called by the program itself
};

struct TemlStmt {
    TemlStmtKind kind;
    Range range, target_range, real_range, head;
    Name target, real, builtin;
    int n;
    const Syn **arg;
    TemlStmts body;
    const Source *source;
    const TemlCall *call; // NULL: none
};

// Reports errors and continues parsing.
TemlStmts teml_syntax(Arena *arena, Names *names, const Source *source, DiagList *diags);

// --- Expansion, teml_expand.c ------------------------------------------------------------------
// A list of statements of kinds TEML_APPLY, TEML_ALIAS and TEML_BROKEN, in the order in which they
// run. Parameters are replaced by their values.
typedef struct Teml Teml;
TemlStmts teml_expand(Teml *t, const TemlStmts *list);
bool teml_is_builtin(const char *name);
// Adds to every diagnostic from number `from` on the calls through which its statement was reached.
void teml_note_calls(Teml *t, const TemlCall *call, int from);

// --- Values ------------------------------------------------------------------------------------
typedef struct TemlTensor {
    Name name;
    Type type;
    int rank; // -1: a name that may become a tensor, but is none yet
    int64_t size[PROGRAM_MAX_RANK];
    Range range;
    bool scalar;     // made by scalar(): takes no iterators
    const Syn *init; // a number or a list of them; NULL: none
} TemlTensor;

// A sum over iterators, subscripted by its result dimensions (vcontract).
typedef struct TemlSum {
    Type type;
    int rank, nreduced;
    int64_t size[PROGRAM_MAX_RANK];
    int result[PROGRAM_MAX_RANK]; // iterators that represent the dimensions in `body`
    int reduced[PROGRAM_MAX_RANK];
    int64_t extent[PROGRAM_MAX_RANK]; // of these dimensions
    const Expr *body;
} TemlSum;

typedef struct TemlBuilt TemlBuilt;

// tensor[sub] = value, with the data needed to run it.
typedef struct TemlAssign {
    int number; // in order of definition
    int tensor;
    const Access *left;
    const Expr *value;
    int niters;
    int iter[PROGRAM_MAX_ITERS]; // ordered by level
    int64_t extent[PROGRAM_MAX_ITERS];
    Range range;
    TemlBuilt *built; // NULL: not built yet
} TemlAssign;

// The nest of an assignment, as `build` makes it.
struct TemlBuilt {
    TemlAssign *of;
    const Node *nest;
};

typedef struct TemlLoop {
    int n; // top-level nodes: 1, or those of ⟨•, ...⟩
    const Node *const *node;
    int nbuilt;
    TemlBuilt *const *built; // the assignments that it runs, in order of definition
    bool bare;               // ⟨•, ...⟩
} TemlLoop;

typedef enum ValueKind {
    VALUE_BAD,     // an error was reported
    VALUE_TENSOR,  // declared
    VALUE_EXPR,    // made by vop: its iterators are fixed
    VALUE_VIRTUAL, // made by a virtual operation of Section 4: indexed by its result dimensions
    VALUE_ASSIGN,
    VALUE_LOOP,
} TemlKind;

typedef struct TemlValue {
    TemlKind kind;
    int tensor; // TENSOR
    const Expr *expr;
    int rank; // VIRTUAL: rank of the result
    int64_t size[PROGRAM_MAX_RANK];
    int result[PROGRAM_MAX_RANK]; // iterators of `expr` that represent the dimensions
    TemlAssign *assign;
    const TemlLoop *loop;
    Name from;     // the operation that the store shows, such as vcontract
    Range range;   // its statement
    bool consumed; // a loop from which another value was made
} TemlValue;

typedef struct TemlBinding {
    Name name;
    TemlValue *value;
} TemlBinding;

struct Teml {
    Arena *arena; // its contents live as long as the evaluation
    Names *names;
    const Source *source;
    DiagList *diags;
    const TemlOptions *options;
    VEC(TemlParam) params;
    Exprs *x;
    VEC(TemlBinding) store;    // latest value of each name, in order of first assignment
    VEC(TemlTensor) tensors;   // the first buffers of every Tree; all names that are assigned to
    int nreal;                 // number of these; accumulators have higher numbers
    VEC(TemlSum) sums;         // number VIRTUAL + k
    VEC(Name) iters;           // iterator names by number
    VEC(TemlAssign *) assigns; // in order of definition
    Tree *base;                // the buffers and the number of indices so far
    Program *parts;            // statement k is a leaf of a nest as built
    Module *module;            // the functions
    Arena *out;                // the arena of the functions
    VEC(Name) generated;       // names that codegen has used
    bool probing;              // a step is only tried: its errors are not explained
    int tried;                 // number of steps tried
};

// --- Reporting ---------------------------------------------------------------------------------
// Each returns NULL, the value of a failed statement.
TemlValue *teml_argument(Teml *t, const TemlStmt *s, int arg, const char *wanted);
const char *teml_found(Teml *t, const Syn *s); // "a list", "'x'"

// --- teml.c ------------------------------------------------------------------------------------
TemlValue *teml_find(const Teml *t, Name name); // NULL: never assigned
TemlValue *teml_value(Teml *t, TemlKind kind);
int teml_iter(Teml *t, Name name);
int teml_level_iter(Teml *t, int level); // i1, i2, ...
// The value that an argument names; reports if there is none. Returns NULL silently for a BAD
// value.
TemlValue *teml_operand(Teml *t, const TemlStmt *s, int arg);
const TemlLoop *teml_loop_argument(Teml *t, const TemlStmt *s, int arg);
bool teml_int_argument(Teml *t, const TemlStmt *s, int arg, const char *what, int64_t *out);
const char *teml_shape_text(Teml *t, int rank, const int64_t *size);

typedef TemlValue *TemlEval(Teml *t, const TemlStmt *s, int op);
// Applies a built-in without assigning its value to a name; NULL: it was refused.
TemlValue *teml_apply(Teml *t, const TemlStmt *s);

// --- teml_tensor.c -----------------------------------------------------------------------------
TemlEval teml_scalar, teml_tensor, teml_eq, teml_vop, teml_op, teml_entrywise, teml_ventrywise,
    teml_transpose, teml_vtranspose, teml_contract, teml_vcontract, teml_outer, teml_vouter,
    teml_init;

// --- teml_range.c ------------------------------------------------------------------------------
typedef struct TemlRange {
    int64_t extent; // -1: not known
    const char *from;
} TemlRange;

int64_t teml_size(const Teml *t, int tensor, int dim);
int teml_rank(const Teml *t, int tensor);
const char *teml_tensor_name(const Teml *t, int tensor);
// Finds the ranges given by subscripts of a single iterator; false after a report if two differ.
bool teml_plain_ranges(Teml *t, const Access *left, const Expr *value, Range at, TemlRange *out);
// Finds all ranges, by iterator number (t->iters.n of them), such that every subscript is inside
// its tensor.
bool teml_ranges(Teml *t, const Access *left, const Expr *value, Range at, TemlRange *out);
// The iterators that occur, ordered by level.
int teml_levels(Teml *t, const Access *left, const Expr *value, int *out, int most);

// --- teml_build.c ------------------------------------------------------------------------------
TemlBuilt *teml_build_nest(Teml *t, TemlAssign *a);
// Does the assignment combine into its element, as `T[s] = T[s] + e`? Returns e.
bool teml_accumulates(const Teml *t, const TemlAssign *a, Reduce *op, const Expr **e);

// --- teml_loop.c -------------------------------------------------------------------------------
TemlEval teml_build, teml_stripmine, teml_interchange, teml_fuse_outer, teml_fuse_inner,
    teml_unroll, teml_jam, teml_skew, teml_stripmine_n, teml_interchange_n, teml_tile, teml_mark;
Tree *teml_tree(Teml *t, const Node *const *node, int n);

// --- teml_judge.c ------------------------------------------------------------------------------
// Does the loop run its assignments in an order that gives the same result? If not, `why` says why.
// An unproven step is accepted if the caller trusts it.
bool teml_right(Teml *t, const TemlLoop *loop, const char *verb, const char **why);

// --- teml_near.c -------------------------------------------------------------------------------
// Adds notes to a refused step: the loops before and after it, side by side, and up to three
// similar steps that are legal.
void teml_explain(Teml *t, const TemlStmt *s, const TemlLoop *after, Diag *d);

// --- teml_codegen.c ----------------------------------------------------------------------------
TemlEval teml_codegen;
// Without any codegen in the program: makes one function of the loops from which no other value was
// made.
void teml_codegen_rest(Teml *t);

// --- teml_store.c ------------------------------------------------------------------------------
// Removes quotes from position `from` on. Program text quotes names such as i8, which have a
// meaning there.
void teml_unquote(Text *out, size_t from);
void teml_store_print(Text *out, Teml *t);
void teml_loop_print(Text *out, Teml *t, const TemlLoop *loop); // one line for each loop, indented

#endif
