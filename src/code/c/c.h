// C: Trees as readable C99 that stands alone.
//
// A unit is one C file (and its header) with one public function per Tree:
//
//     void matmul(const float *restrict A, const float *restrict B, float *restrict C);
//     int matmul_kernel(void *const *buffers, void *scratch, const struct KernelEnv *env);
//
// The first is for people; it returns an int (0, or a status) where something can go wrong when it
// runs. The second is the same as a Kernel (base/kernel_abi.h), flags included. Loops stand as the
// Tree has them, under its names; a split's tail is a loop bound. Arithmetic that C leaves
// undefined or defines differently goes through small static functions, of which the file holds
// those it uses. Compile with -ffp-contract=off.
//
//   unit.c    the file: names, parameters, wrappers, header       block.c  loops, guards, buffers
//   expr.c    expressions and subscripts                          helper.c the static functions
#ifndef LW_CODE_C_C_H
#define LW_CODE_C_C_H

#include "tree/tree.h"

typedef struct CUnit CUnit;

typedef struct CFunction {
    const char *name, *kernel; // as C spells them
    int64_t scratch;           // bytes that the kernel is given, 64-byte aligned
    bool parallel;             // has a loop that OpenMP shares out
} CFunction;

CUnit *c_unit(Arena *arena);
// Adds a function called `name` (NULL: the Program's), made a valid and unique identifier. False,
// with a diagnostic, when the Tree holds something that C cannot say.
bool c_unit_add(CUnit *u, Tree *t, const char *name, CFunction *out, DiagList *diags);
// The whole file. `include` is how the source names its header; NULL: the header's text stands in
// the source.
void c_unit_print(const CUnit *u, const char *include, Text *source, Text *header);

#endif
