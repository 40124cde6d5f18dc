#include "machine/machine.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *const isa_name[ISA_COUNT] = {"scalar", "avx2", "avx512"};

const char *const port_name[PORT_COUNT] = {"fma",   "vector", "shuffle", "load",
                                           "store", "scalar", "issue"};

int isa_by_name(const char *name) {
    for (int i = 0; i < ISA_COUNT; i++)
        if (!strcmp(name, isa_name[i])) return i;
    return -1;
}

void machine_describe(Machine *m, Isa isa) {
    *m = (Machine){
        .isa = isa,
        .vector_bytes = isa == ISA_AVX512 ? 64
                        : isa == ISA_AVX2 ? 32
                                          : 8,
        .vector_registers = isa == ISA_AVX512 ? 32 : 16,
        .fma_ports = 2,
        .fma_latency = 4,
        .load_ports = 2,
        .store_ports = 1,
        .ports = {[PORT_FMA] = 2,
                  [PORT_VECTOR] = isa == ISA_AVX512 ? 2 : 3,
                  [PORT_SHUFFLE] = 1,
                  [PORT_LOAD] = 2,
                  [PORT_STORE] = 1,
                  [PORT_SCALAR] = 4,
                  [PORT_ISSUE] = 5},
        .folds_broadcast = isa == ISA_AVX512,
        .has_mask = isa == ISA_AVX512,
        .has_cvt64 = isa == ISA_AVX512,
        .has_exponents = isa == ISA_AVX512,
        .cache = {0, 32 << 10, 1 << 20, 16 << 20},
        .line_bytes = 64,
        .unroll_limit = 256,
    };
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
    m->has_fp16 = d >> 23 & 1;
    m->has_amx = d >> 24 & 1;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) m->has_bf16 = a >> 5 & 1;
    if (!avx2 || !bmi2) return ISA_SCALAR;
    return avx512 && (xcr0() & 0xe6) == 0xe6 ? ISA_AVX512 : ISA_AVX2;
}

// Deterministic cache parameters (leaf 4); sizes of data and unified caches.
static void detect_caches(Machine *m) {
    for (unsigned i = 0; i < 8; i++) {
        unsigned a, b, c, d;
        if (!__get_cpuid_count(4, i, &a, &b, &c, &d) || !(a & 31)) return;
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
}
#endif

void machine_detect(Machine *m, Isa cap) {
    Machine found = {.isa = ISA_SCALAR};
#if defined(__x86_64__)
    found.isa = best_isa(&found);
#endif
    machine_describe(m, found.isa < cap ? found.isa : cap);
    m->has_vnni = found.has_vnni && m->isa == ISA_AVX512;
    m->has_bf16 = found.has_bf16 && m->isa == ISA_AVX512;
    m->has_fp16 = found.has_fp16 && m->isa == ISA_AVX512;
    m->has_amx = found.has_amx && m->isa == ISA_AVX512;
#if defined(__x86_64__)
    detect_caches(m);
    detect_name(m);
#endif
}
