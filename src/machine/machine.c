#include "machine/limits.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *const isa_name[ISA_COUNT + 1] = {"scalar", "avx2", "avx512", NULL};

const char *const port_name[PORT_COUNT] = {"fma",   "vector", "shuffle", "load",
                                           "store", "scalar", "issue"};

static void take_family(Machine *m, const Family *f) {
    const int *plan = f->plan[m->width == WIDTH_FULL];
    m->family = f;
    memcpy(m->ports, plan, sizeof m->ports);
    m->fma_ports = plan[PORT_FMA];
    m->load_ports = plan[PORT_LOAD];
    m->store_ports = plan[PORT_STORE];
    m->fma_latency = f->latency[LATENCY_FMA];
}

void machine_describe(Machine *m, Isa isa) {
    *m = (Machine){
        .isa = isa,
        .width = isa_width(isa),
        .vector_bytes = isa == ISA_AVX512 ? 64
                        : isa == ISA_AVX2 ? 32
                                          : 8,
        .vector_registers = isa == ISA_AVX512 ? 32 : 16,
        .folds_broadcast = isa == ISA_AVX512,
        .has_mask = isa == ISA_AVX512,
        .has_cvt64 = isa == ISA_AVX512,
        .has_exponents = isa == ISA_AVX512,
        .cache = {0, 32 << 10, 1 << 20, 16 << 20},
        .line_bytes = 64,
        .unroll_limit = LIMIT_UNROLL,
    };
    take_family(m, family_by_name("unknown"));
}

void machine_pretend(Machine *m, const Family *f, Isa cap) {
    machine_describe(m, f->isa < cap ? f->isa : cap);
    bool full = m->isa == ISA_AVX512;
    take_family(m, f);
    snprintf(m->cpu, sizeof m->cpu, "described %s", f->name);
    for (int level = 0; level < 3; level++) m->cache[level + 1] = f->cache[level];
    m->has_vnni = full && f->has_vnni;
    m->has_popcount = full && f->has_popcount;
    m->has_bf16 = full && f->has_bf16;
    m->has_fp16 = full && f->has_fp16;
    m->has_amx = full && f->has_amx;
}

void machine_fit(Machine *m, const Machine *host) {
    const struct Target *target = m->target;
    if (host->isa < m->isa) machine_pretend(m, m->family, host->isa);
    m->target = target;
    m->has_vnni &= host->has_vnni;
    m->has_popcount &= host->has_popcount;
    m->has_bf16 &= host->has_bf16;
    m->has_fp16 &= host->has_fp16;
    m->has_amx &= host->has_amx;
}

#if defined(__x86_64__)
static uint64_t xcr0(void) {
    uint32_t lo, hi;
    __asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

static Isa best_isa(Machine *m) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return ISA_SCALAR;
    bool osxsave = c >> 27 & 1, avx = c >> 28 & 1, fma = c >> 12 & 1, f16c = c >> 29 & 1;
    if (!osxsave || !avx || !fma || !f16c || (xcr0() & 6) != 6) return ISA_SCALAR;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return ISA_SCALAR;
    bool avx2 = b >> 5 & 1, bmi2 = b >> 8 & 1;
    bool avx512 = (b >> 16 & 1) && (b >> 17 & 1) && (b >> 30 & 1) && (b >> 31 & 1); // F DQ BW VL
    m->has_vnni = c >> 11 & 1;
    m->has_popcount = c >> 14 & 1;
    m->has_fp16 = d >> 23 & 1;
    m->has_amx = d >> 24 & 1;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) m->has_bf16 = a >> 5 & 1;
    if (!avx2 || !bmi2) return ISA_SCALAR;
    return avx512 && (xcr0() & 0xe6) == 0xe6 ? ISA_AVX512 : ISA_AVX2;
}

// The vendor, and family, model and stepping as CPUID packs them.
static unsigned signature(char vendor[13]) {
    unsigned a, b, c, d;
    memset(vendor, 0, 13);
    if (!__get_cpuid(0, &a, &b, &c, &d)) return 0;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    return __get_cpuid(1, &a, &b, &c, &d) ? a : 0;
}

static void detect_family(Machine *m) {
    char vendor[13];
    unsigned cpu = signature(vendor);
    take_family(m, family_of(vendor, cpu));
}

// Deterministic cache parameters: leaf 4 on Intel; AMD has them in another leaf, and nothing in
// leaf 4. Sizes of data and unified caches.
static unsigned cache_leaf(void) {
    unsigned a, b, c, d;
    bool intel = __get_cpuid_count(4, 0, &a, &b, &c, &d) && a & 31;
    return intel ? 4 : 0x8000001d;
}

static void detect_caches(Machine *m) {
    unsigned leaf = cache_leaf();
    for (unsigned i = 0; i < 8; i++) {
        unsigned a, b, c, d;
        if (!__get_cpuid_count(leaf, i, &a, &b, &c, &d) || !(a & 31)) return;
        unsigned level = a >> 5 & 7;
        if ((a & 31) == 2 || level < 1 || level > 3) continue;
        m->cache[level] =
            (int64_t)((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * ((int64_t)c + 1);
        m->line_bytes = (int)(b & 4095) + 1;
    }
}

static void detect_name(Machine *m) {
    unsigned r[12];
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]))
            return;
    memcpy(m->cpu, r, sizeof r);
    m->cpu[sizeof r] = 0;
    size_t from = strspn(m->cpu, " "), n = strlen(m->cpu); // padded with blanks
    while (n > from && m->cpu[n - 1] == ' ') n--;
    memmove(m->cpu, m->cpu + from, n - from);
    m->cpu[n - from] = 0;
}
#endif

void machine_detect(Machine *m, Isa cap) {
    Machine found = {.isa = ISA_SCALAR};
#if defined(__x86_64__)
    found.isa = best_isa(&found);
#endif
    machine_describe(m, found.isa < cap ? found.isa : cap);
    m->has_vnni = found.has_vnni && m->isa == ISA_AVX512;
    m->has_popcount = found.has_popcount && m->isa == ISA_AVX512;
    m->has_bf16 = found.has_bf16 && m->isa == ISA_AVX512;
    m->has_fp16 = found.has_fp16 && m->isa == ISA_AVX512;
    m->has_amx = found.has_amx && m->isa == ISA_AVX512;
#if defined(__x86_64__)
    detect_family(m);
    detect_caches(m);
    detect_name(m);
#endif
}
