#include "machine/machine_cost.h"

static const MachineCost costs[COST_COLUMNS] = {
    [COST_SCALAR] =
        {
#define COST(type, name, scalar, avx2, avx512, zen4, zen5, unit, source, text) .name = scalar,
#include "machine/machine_cost.def"
        },
    [COST_AVX2] =
        {
#define COST(type, name, scalar, avx2, avx512, zen4, zen5, unit, source, text) .name = avx2,
#include "machine/machine_cost.def"
        },
    [COST_AVX512] =
        {
#define COST(type, name, scalar, avx2, avx512, zen4, zen5, unit, source, text) .name = avx512,
#include "machine/machine_cost.def"
        },
    [COST_ZEN4] =
        {
#define COST(type, name, scalar, avx2, avx512, zen4, zen5, unit, source, text) .name = zen4,
#include "machine/machine_cost.def"
        },
    [COST_ZEN5] =
        {
#define COST(type, name, scalar, avx2, avx512, zen4, zen5, unit, source, text) .name = zen5,
#include "machine/machine_cost.def"
        },
};

const MachineCost *machine_cost(const Machine *m) {
    if (m->cost) return m->cost;
    if (m->width != WIDTH_FULL) return &costs[m->width == WIDTH_HALF ? COST_AVX2 : COST_SCALAR];
    return &costs[m->family ? m->family->costs : COST_AVX512];
}
