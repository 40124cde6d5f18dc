// Micro-operations on vectors of bytes. For microlab.c.
#ifndef SUPPORT_MICROLANES_H
#define SUPPORT_MICROLANES_H

#include "code/micro/micro.h"

// A vector register: lanes of 4 or 8 bytes as docs/code.md describes them.
typedef struct MicroVec {
    uint8_t byte[64];
} MicroVec;

Value micro_get(Type t, const MicroVec *v, int lane);
void micro_set(Type t, MicroVec *v, int lane, Value x);

// The result of an operation that touches neither memory nor the environment; `permutations` are
// those of the Plan.
MicroVec micro_compute(const Micro *m, const MicroVec *arg, const Permutation *permutations);

#endif
