// The front-ends. Each turns a text (or calls of a builder) into Programs with symbolic sizes. Only
// TeML, whose values are loops, gives Trees as well.
//
//   tc       the comprehension language            docs/language.md
//   einsum   NumPy's notation                       docs/einsum.md
//   graph    LoopTool's dataflow graphs             docs/graphs.md, lang/graph.h
//   teml     tensor expressions and loops as values docs/teml.md, lang/teml/teml.h
#ifndef LW_LANG_LANG_H
#define LW_LANG_LANG_H

#include "lang/einsum_path.h"
#include "program/program.h"

// What a file holds: one Program per function, in file order. Functions that failed are left out.
typedef struct Module {
    VEC(Program *) programs;
    VEC(const struct Tree *)
    trees;                               // per Program, where loops were given; else empty: the
                                         // Program then has its arguments and no statements
    VEC(const struct Tree *) references; // of the same function, the loops before transformations
    struct TcFile *tc;                   // of TC: what tc_infer needs
} Module;

// Parses and checks every function of a TC source. Ranges and sizes that the text leaves open are
// NULL. Never NULL itself; whatever is wrong is in `diags`.
Module *tc_parse(Arena *arena, Names *names, const Source *source, DiagList *diags);
// Infers these ranges and sizes (program/infer.h) and returns `m`, without functions that fail.
// Reports to the `diags` of tc_parse.
Module *tc_infer(Module *m);

// NumPy's einsum. `spec` is the subscripts string; operand ranks and types are known, sizes become
// parameters named after the labels (upper-cased dimension names such as "N_i"). The result is a
// Program with inputs in0, in1, ... and one output `out`, in one statement or in the steps of the
// plan. NULL after an error.
typedef struct EinsumOperand {
    Type type;
    int rank;
    const int64_t
        *size; // sizes are needed to resolve broadcasting of 1s; NULL: symbolic, no broadcasting
} EinsumOperand;

typedef struct EinsumOptions {
    double limit;        // elements of an intermediate result; 0: any
    bool as_written;     // one statement
    Type type;           // to compute in, and of the result; TYPE_NONE: that of the operands
    const int32_t *path; // as in path_given; NULL: chosen
    size_t path_length;
} EinsumOptions;

typedef struct EinsumPlan {
    PathProblem problem;
    Path path;
    double naive;  // operations of one nest
    bool one_nest; // which this is
} EinsumPlan;

Program *einsum_parse(Arena *arena, Names *names, const Source *spec, int noperands,
                      const EinsumOperand *operands, const EinsumOptions *options, EinsumPlan *plan,
                      DiagList *diags);

// Runs a TeML program. A transformation that changes the result is refused, and so is one that is
// not proven. `scratch` is for what only the run of the program needs. The module is never NULL;
// whatever is wrong is in `diags`.
typedef enum TemlTrust {
    TEML_PROVEN,
    TEML_UNPROVEN,  // unproven transformations pass
    TEML_UNCHECKED, // everything does; functions that are wrong get a warning
} TemlTrust;

// A parameter of the meta-language: `param T = 32 in [8, 16, 32]`.
typedef struct TemlParam {
    Name name;
    int64_t value;
    int nchoices; // 0: any number
    const int64_t *choice;
} TemlParam;

typedef struct TemlSetting {
    const char *name;
    int64_t value;
} TemlSetting;

typedef struct TemlOptions {
    TemlTrust trust;
    int nset;
    const TemlSetting *set; // values of parameters, in place of those that the text has
    // The text of a module that `from` imports by `path`; NULL: it cannot be read.
    const Source *(*import)(void *user, const Source *from, const char *path);
    void *user;
} TemlOptions;

typedef struct TemlResult {
    Module *module;
    const char *store; // the values of all names, as trees
    int nparams;
    const TemlParam *param;
} TemlResult;
TemlResult teml_parse(Arena *arena, Arena *scratch, Names *names, const Source *source,
                      const TemlOptions *options, DiagList *diags);
// The TeML program that makes the loops of a Program's Tree; NULL: there is none, for a reason that
// is reported. The loops are compared with those that the text makes.
const char *teml_path(Arena *arena, const struct Tree *t, DiagList *diags);

#endif
