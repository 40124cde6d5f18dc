// The tables of costs and limits: every row says what it means, a kind of machine reads its own
// column, and the rules that the choice, the bound and the generator share agree with each other.
#include "unit/check.h"

#include "machine/gpu_cost.h"
#include "machine/gpu_machine.h"
#include "machine/limits.h"
#include "machine/machine_cost.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { ZEN4 = ISA_COUNT, ZEN5, COLUMNS };

typedef struct Row {
    const char *name, *unit, *source, *text;
    double value[COLUMNS], read[COLUMNS];
} Row;

static Machine described(Isa isa) {
    Machine m;
    machine_describe(&m, isa);
    return m;
}

static Machine pretended(const char *family, Isa cap) {
    Machine m;
    machine_pretend(&m, family_by_name(family), cap);
    return m;
}

static int all_rows(Row *row) {
    Machine m[COLUMNS];
    int n = 0;
    for (int i = 0; i < ISA_COUNT; i++) m[i] = described((Isa)i);
    m[ZEN4] = pretended("zen4", ISA_COUNT);
    m[ZEN5] = pretended("zen5", ISA_COUNT);
#define READ(column, field) ((double)machine_cost(&m[column])->field)
#define COST(type, field, scalar, avx2, avx512, zen4, zen5, of, from, sentence)                    \
    row[n++] = (Row){#field,                                                                       \
                     of,                                                                           \
                     #from,                                                                        \
                     sentence,                                                                     \
                     {scalar, avx2, avx512, zen4, zen5},                                           \
                     {READ(ISA_SCALAR, field), READ(ISA_AVX2, field), READ(ISA_AVX512, field),     \
                      READ(ZEN4, field), READ(ZEN5, field)}};
#include "machine/machine_cost.def"
    return n;
}

static bool is_source(const char *word) {
    static const char *const sources[] = {"TIMED", "COUNTED", "VENDOR", "SET"};
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++)
        if (!strcmp(word, sources[k])) return true;
    return false;
}

static bool is_sentence(const char *text) {
    return isupper((unsigned char)*text) && text[strlen(text) - 1] == '.';
}

TEST(every_cost_has_a_value_a_unit_a_source_and_a_sentence) {
    static Row row[512];
    int n = all_rows(row);
    CHECK(n > 100);
    for (int i = 0; i < n; i++) {
        CHECK(is_source(row[i].source) && *row[i].unit && is_sentence(row[i].text));
        for (int k = 0; k < COLUMNS; k++) {
            CHECK(isfinite(row[i].value[k]) && row[i].value[k] >= 0);
            CHECK(row[i].value[k] == row[i].read[k]);
        }
        for (int k = 0; k < i; k++) CHECK(strcmp(row[i].text, row[k].text));
    }
}

TEST(every_cost_of_gpus_has_a_value_a_unit_a_source_and_a_sentence) {
    static const struct {
        const char *unit, *source, *text;
        int value;
    } row[] = {
#define GPU_COST(name, value, unit, source, text) {unit, #source, text, value},
#include "machine/gpu_cost.def"
    };
    int n = (int)(sizeof row / sizeof *row);
    CHECK(n > 50);
    for (int i = 0; i < n; i++) {
        CHECK(is_source(row[i].source) && *row[i].unit && row[i].value > 0);
        CHECK(is_sentence(row[i].text));
    }
}

TEST(tiles_of_gpus_are_divided_evenly_among_the_threads_of_a_block) {
    for (int i = 0; i < GPU_TILES; i++) {
        const GpuTile *t = &gpu_tile[i];
        CHECK(t->bm % t->tm == 0 && t->bn % t->tn == 0);
        CHECK(t->bm / t->tm * (t->bn / t->tn) <= GPU_MAX_THREADS);
    }
    for (int i = 0; i < gpu_score_tiles; i++)
        CHECK(gpu_score_tile[i].scores % gpu_cost.score_rows == 0);
}

TEST(a_family_has_the_costs_of_its_gathers) {
    Machine intel = pretended("icelake", ISA_COUNT), zen = pretended("zen4", ISA_COUNT);
    Machine half = pretended("zen4", ISA_AVX2), avx2 = described(ISA_AVX2);
    CHECK(machine_cost(&zen)->scatter_begin < machine_cost(&intel)->scatter_begin);
    CHECK(machine_cost(&zen)->line_pair == machine_cost(&intel)->line_pair);
    CHECK(machine_cost(&half) == machine_cost(&avx2));
}

TEST(columns_are_shuffled_where_the_generator_shuffles_them) {
    Machine scalar = described(ISA_SCALAR), avx2 = described(ISA_AVX2);
    Machine avx512 = described(ISA_AVX512);
    for (int64_t k = -2; k <= LIMIT_COMB + 2; k++) {
        CHECK(!can_comb(&scalar, k));
        CHECK(can_comb(&avx2, k) == (k >= 2 && k <= 4));
        CHECK(can_comb(&avx512, k) == (k >= 2 && k <= 8 && k != 7));
        CHECK((comb_shuffles(&avx2, k) > 0) == can_comb(&avx2, k));
        CHECK((comb_shuffles(&avx512, k) > 0) == can_comb(&avx512, k));
    }
}

TEST(products_fill_a_lane_and_are_of_types_that_hold_their_operands) {
    for (int isa = 0; isa < ISA_COUNT; isa++)
        for (int vnni = 0; vnni < 2; vnni++)
            for (Type a = TYPE_BOOL; a < TYPE_COUNT; a++)
                for (Type b = TYPE_BOOL; b < TYPE_COUNT; b++) {
                    Machine m = described((Isa)isa);
                    Type as, sa;
                    m.has_vnni = vnni;
                    int n = dot_products(&m, a, b, &as);
                    CHECK(n == dot_products(&m, b, a, &sa) && as == sa);
                    if (!n) continue;
                    CHECK(isa != ISA_SCALAR && type_is_integer(a) && type_is_integer(b));
                    Type x = as ? as : a, y = as ? as : b;
                    CHECK(x == a || type_widens(a, x));
                    CHECK(y == b || type_widens(b, y));
                    CHECK(type_info[x].bytes * n == LIMIT_WORD);
                    CHECK(type_info[y].bytes * n == LIMIT_WORD);
                    CHECK(n == 2 || (vnni && m.has_mask));
                    if (!as) CHECK(type_info[a].class != type_info[b].class); // u8 by i8
                }
}
