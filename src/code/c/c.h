// Prints Trees as readable, stand-alone C99.
//
// A unit is one C file (and its header) with one public function per Tree:
//
//     void matmul(const float *restrict A, const float *restrict B, float *restrict C);
//     int matmul_kernel(void *const *buffers, void *scratch, const struct KernelEnv *env);
//
// The first function is for people; it returns an int (0, or a status) if it can fail at run time.
// The second is the same as a Kernel (base/kernel_abi.h), including flags. Loops are those of the
// Tree, with its names; the tail of a split is a loop bound. Small static functions perform
// arithmetic that C leaves undefined or defines differently; the file contains only those that it
// uses. Compile with -ffp-contract=off.
//
//   unit.c    the file: names, parameters, wrappers, header       block.c  loops, guards, buffers
//   c_expr.c  expressions and subscripts                          helper.c the static functions
#ifndef LW_CODE_C_C_H
#define LW_CODE_C_C_H

#include "tree/tree.h"

typedef struct CUnit CUnit;

typedef struct CFunction {
    const char *name, *kernel; // as C spells them
    int64_t scratch;           // bytes of scratch memory for the kernel, 64-byte aligned
    bool parallel;             // has a loop that OpenMP divides among threads
} CFunction;

CUnit *c_unit(Arena *arena);
// Adds a function called `name` (NULL: the Program's name), changed to a valid and unique
// identifier. Returns false with a diagnostic if C cannot express the Tree.
bool c_unit_add(CUnit *u, Tree *t, const char *name, CFunction *out, DiagList *diags);
// Prints the whole file. `include` is the header's name in the source; NULL: the source contains
// the header's text.
void c_unit_print(const CUnit *u, const char *include, Text *source, Text *header);

#endif
