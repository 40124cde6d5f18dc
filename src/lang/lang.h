// The front-ends. Each converts a text, or calls of a builder, to Programs with symbolic sizes.
// Only TeML, whose values are loops, also gives Trees.
//
//   tc       the comprehension language            docs/language.md
//   einsum   NumPy's notation                       docs/einsum.md
//   graph    LoopTool's dataflow graphs             docs/graphs.md, lang/graph.h
//   teml     tensor expressions and loops as values docs/teml.md, lang/teml/teml.h
#ifndef LW_LANG_LANG_H
#define LW_LANG_LANG_H

#include "lang/einsum_path.h"
#include "program/program.h"

// The contents of a file: one Program per function, in file order, without functions that failed.
typedef struct Module {
    VEC(Program *) programs;
    // Per Program, if the text gives loops: its Tree. Such a Program has arguments and no
    // statements.
    VEC(const struct Tree *) trees;
    VEC(const struct Tree *) references; // of the same functions, the loops before transformations
    struct TcFile *tc;                   // the state of tc_parse that tc_infer needs
} Module;

// Parses and checks every function of a TC source. Ranges and sizes that the text does not give are
// NULL. Never returns NULL; `diags` has all errors.
Module *tc_parse(Arena *arena, Names *names, const Source *source, DiagList *diags);
// Infers these ranges and sizes (program/infer.h). Returns `m` without the functions that fail,
// which are reported to the `diags` of tc_parse.
Module *tc_infer(Module *m);

// NumPy's einsum. `spec` is the subscripts string. Ranks and types of the operands are known; sizes
// become parameters named after the labels ("N_i"). The result is a Program with inputs in0, in1,
// ... and one output `out`, with one statement or one per step of the plan. NULL after an error.
typedef struct EinsumOperand {
    Type type;
    int rank;
    const int64_t *size; // for the broadcasting of 1s; NULL: symbolic, without broadcasting
} EinsumOperand;

typedef struct EinsumOptions {
    double limit;        // most elements of an intermediate result; 0: no limit
    bool as_written;     // in one statement
    Type type;           // of the computation and the result; TYPE_NONE: that of the operands
    const int32_t *path; // as in path_given; NULL: chosen
    size_t path_length;
} EinsumOptions;

typedef struct EinsumPlan {
    PathProblem problem;
    Path path;
    double naive;  // operations of a single nest
    bool one_nest; // the plan is a single nest
} EinsumPlan;

Program *einsum_parse(Arena *arena, Names *names, const Source *spec, int noperands,
                      const EinsumOperand *operands, const EinsumOptions *options, EinsumPlan *plan,
                      DiagList *diags);

// Runs a TeML program. It refuses transformations that change the result or that are not proven to
// keep it. `scratch` is for data that only the run of the program needs. The module is never NULL;
// `diags` has all errors.
typedef enum TemlTrust {
    TEML_PROVEN,
    TEML_UNPROVEN,  // unproven transformations are accepted
    TEML_UNCHECKED, // all are accepted; wrong functions only get a warning
    TEML_UNUSED,    // all are accepted: nobody uses the loops that they make
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
    const TemlSetting *set; // values of parameters, which replace those in the text
    // The text of a module that `from` imports by `path`; NULL: it cannot be read.
    const Source *(*import)(void *user, const Source *from, const char *path);
    void *user;
} TemlOptions;

typedef struct TemlResult {
    Module *module;
    const char *store; // the values of all names, printed as trees
    int nparams;
    const TemlParam *param;
} TemlResult;
TemlResult teml_parse(Arena *arena, Arena *scratch, Names *names, const Source *source,
                      const TemlOptions *options, DiagList *diags);
// The TeML program that makes the loops of a Program's Tree; NULL after a report if there is none.
// The text is run, and its loops are compared with those of the Tree.
const char *teml_path(Arena *arena, const struct Tree *t, DiagList *diags);

#endif
