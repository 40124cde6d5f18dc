// The front-ends. Each turns a text (or calls of a builder) into Programs with symbolic sizes; none
// of them knows anything below the Program.
//
//   tc       the comprehension language            docs/language.md
//   einsum   NumPy's notation                       docs/einsum.md
//   graph    LoopTool's dataflow graphs             docs/graphs.md, lang/graph.h
#ifndef LW_LANG_LANG_H
#define LW_LANG_LANG_H

#include "program/program.h"

// What a file holds: one Program per function, in file order. Functions that failed are left out.
typedef struct Module {
    VEC(Program *) programs;
} Module;

// Parses, checks and infers every function of a TC source. Never NULL; whatever is wrong is in
// `diags`.
Module *tc_parse(Arena *arena, Names *names, const Source *source, DiagList *diags);

// NumPy's einsum. `spec` is the subscripts string; operand ranks and types are known, sizes become
// parameters named after the labels (upper-cased dimension names such as "N_i"). The result is a
// Program with inputs in0, in1, ... and one output `out`. NULL after an error.
typedef struct EinsumOperand {
    Type type;
    int rank;
    const int64_t
        *size; // sizes are needed to resolve broadcasting of 1s; NULL: symbolic, no broadcasting
} EinsumOperand;
Program *einsum_parse(Arena *arena, Names *names, const Source *spec, int noperands,
                      const EinsumOperand *operands, DiagList *diags);

#endif
