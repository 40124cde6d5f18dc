// Processor families: the best throughput of one core per cycle, and the numbers of the planner.
//
// A lower bound uses the better of the known rates of a family and the measured rates of this
// machine, so a number here is never worse than the truth: if sources disagree, or steppings
// differ, the better number is used. The numbers describe execution pipes:
//
//     Intel       multiplies and multiply-adds on two pipes (p0 p1; p0 p5 for 512 bits). Adds on
//                 the same two from Skylake on; Golden Cove has adders on p1 p5, so that 256-bit
//                 code issues three float operations per cycle, and 512-bit code two.
//     AMD Zen     two pipes multiply, two others add: four float operations per cycle. Zen 4 does
//                 512 bits in two cycles of the same pipes, Zen 5 in one.
//
// The last row is for all other processors: the best of all rows.
#include "machine/machine.h"

#include <string.h>

const char *const work_name[WORK_COUNT] = {"mul", "add", "float", "imul", "shuffle", "any"};
const char *const latency_name[LATENCY_COUNT] = {"add", "mul", "fma"};

#define KB (INT64_C(1) << 10)
#define MB (INT64_C(1) << 20)

// The planner's ports: fma, vector, shuffle, load, store, scalar, issue.
#define PLAN_INTEL_256                                                                             \
    { 2, 3, 1, 2, 1, 4, 5 }
#define PLAN_INTEL_512                                                                             \
    { 2, 2, 1, 2, 1, 4, 5 }
#define PLAN_HASWELL                                                                               \
    { 2, 3, 1, 2, 1, 4, 4 }
#define PLAN_SKYLAKE                                                                               \
    { 2, 3, 1, 2, 1, 4, 4 }
#define PLAN_ZEN2                                                                                  \
    { 2, 4, 2, 2, 1, 4, 5 }
#define PLAN_ZEN                                                                                   \
    { 2, 4, 2, 2, 1, 4, 6 }
#define PLAN_ZEN4_512                                                                              \
    { 1, 2, 1, 1, 1, 4, 6 }
#define PLAN_ZEN5_512                                                                              \
    { 2, 4, 2, 2, 1, 6, 8 }

// Columns of `work`: mul, add, either of these, imul, shuffle, any.
static const Family families[] = {
    {.name = "haswell", // and Broadwell
     .isa = ISA_AVX2,
     .ghz = 3.5,
     .work = {{2, 1, 2, 0.5, 1, 3}},
     .divide = {{2.5, 5, 5}, {4, 8, 8}},
     .latency = {3, 3, 5},
     .scalar = 4,
     .issue = 4,
     .loads = 2,
     .stores = 1,
     .load_bytes = 64,
     .store_bytes = 32,
     .cache = {32 * KB, 256 * KB, 8 * MB},
     .gbps = {160, 60, 20},
     .plan = {PLAN_HASWELL}},
    {.name = "skylake", // client: Skylake to Comet Lake
     .isa = ISA_AVX2,
     .ghz = 4.2,
     .work = {{2, 2, 2, 1, 1, 3}},
     .divide = {{3, 5, 5}, {4, 8, 8}},
     .latency = {4, 4, 4},
     .scalar = 4,
     .issue = 4,
     .loads = 2,
     .stores = 1,
     .load_bytes = 64,
     .store_bytes = 32,
     .cache = {32 * KB, 256 * KB, 8 * MB},
     .gbps = {220, 80, 30},
     .plan = {PLAN_SKYLAKE}},
    {.name = "skylake-server", // and Cascade Lake
     .isa = ISA_AVX512,
     .has_vnni = true,
     .ghz = 3.5,
     .work = {{2, 2, 2, 1, 1, 3}, {2, 2, 2, 1, 1, 2}},
     .divide = {{3, 5, 10}, {4, 8, 16}},
     .latency = {4, 4, 4},
     .scalar = 4,
     .issue = 4,
     .loads = 2,
     .stores = 1,
     .load_bytes = 128,
     .store_bytes = 64,
     .cache = {32 * KB, 1 * MB, 24 * MB},
     .gbps = {200, 30, 14},
     .plan = {PLAN_INTEL_256, PLAN_INTEL_512}},
    {.name = "icelake", // servers with two 512-bit multipliers; Tiger and Rocket Lake have one
     .isa = ISA_AVX512,
     .has_vnni = true,
     .has_popcount = true,
     .ghz = 3.5,
     .work = {{2, 2, 2, 1, 2, 3}, {2, 2, 2, 1, 1, 2}},
     .divide = {{3, 5, 10}, {4, 8, 16}},
     .latency = {4, 4, 4},
     .scalar = 4,
     .issue = 5,
     .loads = 2,
     .stores = 2,
     .load_bytes = 128,
     .store_bytes = 64,
     .cache = {48 * KB, 1280 * KB, 32 * MB},
     .gbps = {200, 30, 16},
     .plan = {PLAN_INTEL_256, PLAN_INTEL_512}},
    {.name = "alderlake", // performance cores of Alder and Raptor Lake
     .isa = ISA_AVX2,
     .ghz = 5.0,
     .work = {{2, 2, 3, 1, 2, 3}},
     .divide = {{3, 5, 5}, {4, 8, 8}},
     .latency = {2, 4, 4},
     .scalar = 5,
     .issue = 6,
     .loads = 3,
     .stores = 2,
     .load_bytes = 96,
     .store_bytes = 64,
     .cache = {48 * KB, 1280 * KB, 30 * MB},
     .gbps = {240, 60, 35},
     .plan = {PLAN_INTEL_256}},
    {.name = "sapphirerapids", // Sapphire, Emerald and Granite Rapids
     .isa = ISA_AVX512,
     .has_vnni = true,
     .has_popcount = true,
     .has_bf16 = true,
     .has_fp16 = true,
     .has_amx = true,
     .ghz = 3.6,
     .work = {{2, 2, 3, 1, 2, 3}, {2, 2, 2, 1, 1, 2}},
     .divide = {{3, 5, 10}, {4, 8, 16}},
     .latency = {2, 4, 4},
     .scalar = 5,
     .issue = 6,
     .loads = 3,
     .stores = 2,
     .load_bytes = 128,
     .store_bytes = 64,
     .cache = {48 * KB, 2 * MB, 64 * MB},
     .gbps = {180, 34, 35},
     .plan = {PLAN_INTEL_256, PLAN_INTEL_512}},
    {.name = "zen2",
     .isa = ISA_AVX2,
     .ghz = 4.3,
     .work = {{2, 2, 4, 1, 2, 4}},
     .divide = {{3, 3, 3}, {4, 5, 5}},
     .latency = {3, 3, 5},
     .scalar = 4,
     .issue = 5,
     .loads = 2,
     .stores = 1,
     .load_bytes = 64,
     .store_bytes = 32,
     .cache = {32 * KB, 512 * KB, 16 * MB},
     .gbps = {130, 80, 25},
     .plan = {PLAN_ZEN2}},
    {.name = "zen3",
     .isa = ISA_AVX2,
     .ghz = 4.7,
     .work = {{2, 2, 4, 2, 2, 4}},
     .divide = {{3, 3, 3}, {4, 4.5, 4.5}},
     .latency = {3, 3, 4},
     .scalar = 4,
     .issue = 6,
     .loads = 3,
     .stores = 2,
     .load_bytes = 64,
     .store_bytes = 32,
     .cache = {32 * KB, 512 * KB, 32 * MB},
     .gbps = {140, 90, 30},
     .plan = {PLAN_ZEN}},
    {.name = "zen4",
     .isa = ISA_AVX512,
     .has_vnni = true,
     .has_popcount = true,
     .has_bf16 = true,
     .slow_gather = true,
     .costs = COST_ZEN4,
     .ghz = 5.0,
     .work = {{2, 2, 4, 2, 2, 4}, {1, 1, 2, 1, 1, 2}},
     .divide = {{3, 3, 6}, {4, 4.5, 9}},
     .latency = {3, 3, 4},
     .scalar = 4,
     .issue = 6,
     .loads = 3,
     .stores = 2,
     .load_bytes = 64,
     .store_bytes = 32,
     .cache = {32 * KB, 1 * MB, 32 * MB},
     .gbps = {150, 100, 35},
     .plan = {PLAN_ZEN, PLAN_ZEN4_512}},
    {.name = "zen5",
     .isa = ISA_AVX512,
     .has_vnni = true,
     .has_popcount = true,
     .has_bf16 = true,
     .slow_gather = true,
     .costs = COST_ZEN5,
     .ghz = 5.4,
     .work = {{2, 2, 4, 2, 3, 4}, {2, 2, 4, 2, 3, 4}},
     .divide = {{2.5, 2.5, 2.5}, {4, 4, 4}},
     .latency = {2, 3, 4},
     .scalar = 6,
     .issue = 8,
     .loads = 4,
     .stores = 2,
     .load_bytes = 128,
     .store_bytes = 64,
     .cache = {48 * KB, 1 * MB, 32 * MB},
     .gbps = {300, 120, 40},
     .plan = {PLAN_ZEN, PLAN_ZEN5_512}},
    {.name = "unknown",
     .isa = ISA_AVX512,
     .has_vnni = true,
     .has_popcount = true,
     .has_bf16 = true,
     .has_fp16 = true,
     .has_amx = true,
     .ghz = 5.4,
     .work = {{2, 2, 4, 2, 3, 4}, {2, 2, 4, 2, 3, 4}},
     .divide = {{2.5, 2.5, 2.5}, {4, 4, 4}},
     .latency = {2, 3, 4},
     .scalar = 6,
     .issue = 8,
     .loads = 4,
     .stores = 2,
     .load_bytes = 128,
     .store_bytes = 64,
     .cache = {32 * KB, 1 * MB, 16 * MB},
     .gbps = {300, 120, 40},
     .plan = {PLAN_INTEL_256, PLAN_INTEL_512}},
};
enum { FAMILIES = sizeof families / sizeof *families, UNKNOWN = FAMILIES - 1 };

int family_count(void) { return FAMILIES; }
const Family *family_at(int i) { return &families[i]; }

const Family *family_by_name(const char *name) {
    for (int i = 0; i < FAMILIES; i++)
        if (!strcmp(families[i].name, name)) return &families[i];
    return NULL;
}

// --- Identification ------------------------------------------------------------------------------

// Models from `from` to `to` of a vendor's family, as CPUID numbers them.
typedef struct Models {
    bool amd;
    unsigned family, from, to;
    const char *name;
} Models;

static const Models models[] = {
    {false, 6, 0x3c, 0x3d, "haswell"},        {false, 6, 0x3f, 0x3f, "haswell"},
    {false, 6, 0x45, 0x47, "haswell"},        {false, 6, 0x4f, 0x4f, "haswell"},
    {false, 6, 0x56, 0x56, "haswell"},        {false, 6, 0x4e, 0x4e, "skylake"},
    {false, 6, 0x5e, 0x5e, "skylake"},        {false, 6, 0x8e, 0x8e, "skylake"},
    {false, 6, 0x9e, 0x9e, "skylake"},        {false, 6, 0xa5, 0xa6, "skylake"},
    {false, 6, 0x55, 0x55, "skylake-server"}, {false, 6, 0x6a, 0x6a, "icelake"},
    {false, 6, 0x6c, 0x6c, "icelake"},        {false, 6, 0x7d, 0x7e, "icelake"},
    {false, 6, 0x8c, 0x8d, "icelake"},        {false, 6, 0xa7, 0xa7, "icelake"},
    {false, 6, 0x97, 0x97, "alderlake"},      {false, 6, 0x9a, 0x9a, "alderlake"},
    {false, 6, 0xb7, 0xb7, "alderlake"},      {false, 6, 0xba, 0xba, "alderlake"},
    {false, 6, 0xbf, 0xbf, "alderlake"},      {false, 6, 0x8f, 0x8f, "sapphirerapids"},
    {false, 6, 0xcf, 0xcf, "sapphirerapids"}, {false, 6, 0xad, 0xae, "sapphirerapids"},
    {true, 0x17, 0x30, 0xff, "zen2"},         {true, 0x19, 0x00, 0x0f, "zen3"},
    {true, 0x19, 0x20, 0x5f, "zen3"},         {true, 0x19, 0x10, 0x1f, "zen4"},
    {true, 0x19, 0x60, 0x7f, "zen4"},         {true, 0x19, 0xa0, 0xaf, "zen4"},
    {true, 0x1a, 0x00, 0xff, "zen5"},
};

const Family *family_of(const char *vendor, unsigned signature) {
    bool intel = !strcmp(vendor, "GenuineIntel"), amd = !strcmp(vendor, "AuthenticAMD");
    unsigned family = signature >> 8 & 15, model = signature >> 4 & 15;
    if (family == 6 || family == 15) model |= signature >> 12 & 0xf0;
    if (family == 15) family += signature >> 20 & 255;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const Models *m = &models[i];
        if ((m->amd ? amd : intel) && m->family == family && m->from <= model && model <= m->to)
            return family_by_name(m->name);
    }
    return &families[UNKNOWN];
}

// --- Rates ---------------------------------------------------------------------------------------

// For a machine that cannot be measured: every core has the best rates of its family.
void family_rates(const Family *f, Rates *r) {
    enum { CORES = 2 };
    *r = (Rates){.cores = CORES, .ghz = f->ghz};
    for (Width w = WIDTH_ONE; w <= isa_width(f->isa); w++) {
        const double *work = f->work[w == WIDTH_FULL];
        for (int f64 = 0; f64 < 2; f64++)
            r->fma[w][f64][CORES_ONE] = 2.0 * width_lanes(w, f64) * work[WORK_MUL] * f->ghz;
        for (int k = 0; w != WIDTH_ONE && k < WORK_COUNT; k++) r->work[w][k] = work[k] * f->ghz;
    }
    for (int k = 0; k < LATENCY_COUNT; k++) r->latency[k] = 1e3 * f->latency[k] / f->ghz;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        double in = level ? f->gbps[level - 1] : f->load_bytes * f->ghz;
        double out = level ? in * 0.7 : f->store_bytes * f->ghz;
        double(*move)[CORES_COUNT] = r->move[level];
        move[MOVE_LOAD][CORES_ONE] = in;
        move[MOVE_STORE][CORES_ONE] = out;
        move[MOVE_COPY][CORES_ONE] = level ? in : 2 * (in < out ? in : out);
    }
    double *all = &r->fma[0][0][0], *moves = &r->move[0][0][0];
    for (int i = 0; i < WIDTH_COUNT * 2; i++) all[2 * i + 1] = CORES * all[2 * i];
    for (int i = 0; i < LEVEL_COUNT * MOVE_COUNT; i++)
        moves[2 * i + 1] = (i < LEVEL_MEMORY * MOVE_COUNT ? CORES : 1.5) * moves[2 * i];
}
