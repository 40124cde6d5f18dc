// Costs on a kind of machine: the rows of machine_cost.def as a struct.
#ifndef LW_MACHINE_MACHINE_COST_H
#define LW_MACHINE_MACHINE_COST_H

#include "machine/machine.h"

typedef struct MachineCost {
#define COST(type, name, scalar, avx2, avx512, zen4, zen5, unit, source, text) type name;
#include "machine/machine_cost.def"
} MachineCost;

// Machine.cost, or else those of the machine's instruction set, and of its family where that
// differs.
const MachineCost *machine_cost(const Machine *m);

#endif
