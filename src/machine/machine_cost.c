#include "machine/machine_cost.h"

static const MachineCost costs[ISA_COUNT] = {
    [ISA_SCALAR] =
        {
#define COST(type, name, scalar, avx2, avx512, unit, source, text) .name = scalar,
#include "machine/machine_cost.def"
        },
    [ISA_AVX2] =
        {
#define COST(type, name, scalar, avx2, avx512, unit, source, text) .name = avx2,
#include "machine/machine_cost.def"
        },
    [ISA_AVX512] =
        {
#define COST(type, name, scalar, avx2, avx512, unit, source, text) .name = avx512,
#include "machine/machine_cost.def"
        },
};

const MachineCost *machine_cost(const Machine *m) { return &costs[m->isa]; }
