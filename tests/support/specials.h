// Programs that apply one operation to every pair of values, for tests of whole operator tables.
#ifndef SUPPORT_SPECIALS_H
#define SUPPORT_SPECIALS_H

#include "support/proglab.h"

// Whether the operation exists for the type.
bool op_applies(int op, Type t);
// A program with inputs A and B of n values: "C[i, j] = A[j] + B[i]", or with a call.
const char *op_program(Arena *arena, int op, Type t, int n);
// One with an input A of n values: "C[i] = to(A[i])".
const char *cast_program(Arena *arena, Type from, Type to, int n);
// The program's data, whose inputs hold value(type, 0), value(type, 1), ...
LabData special_data(Lab *lab, const Program *p, int n, Value (*value)(Type, int));

#endif
