#include "machine/machine_cost.h"

typedef enum CostColumn {
    COLUMN_SCALAR,
    COLUMN_AVX2,
    COLUMN_AVX512,
    COLUMN_ZEN512,
    COST_COLUMNS
} CostColumn;

static const MachineCost costs[COST_COLUMNS] = {
    [COLUMN_SCALAR] =
        {
#define COST(type, name, scalar, avx2, avx512, zen512, unit, source, text) .name = scalar,
#include "machine/machine_cost.def"
        },
    [COLUMN_AVX2] =
        {
#define COST(type, name, scalar, avx2, avx512, zen512, unit, source, text) .name = avx2,
#include "machine/machine_cost.def"
        },
    [COLUMN_AVX512] =
        {
#define COST(type, name, scalar, avx2, avx512, zen512, unit, source, text) .name = avx512,
#include "machine/machine_cost.def"
        },
    [COLUMN_ZEN512] =
        {
#define COST(type, name, scalar, avx2, avx512, zen512, unit, source, text) .name = zen512,
#include "machine/machine_cost.def"
        },
};

const MachineCost *machine_cost(const Machine *m) {
    if (m->width != WIDTH_FULL) return &costs[m->width == WIDTH_HALF ? COLUMN_AVX2 : COLUMN_SCALAR];
    return &costs[m->family && m->family->slow_gather ? COLUMN_ZEN512 : COLUMN_AVX512];
}
