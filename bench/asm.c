// Nanoseconds per instruction of the x86 encoder, for the mixes that a generator emits.
//
//     make bench-asm
//
// Prints the best of many short runs, with the median: the encoder does the same work every time,
// so times above the best are noise.

#include "asm/x86.h"
#include "lab/stats.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200, RUNS = 2001 };

// The body of a matrix product: loads and fused multiply-adds with broadcast operands.
static unsigned emit_fma(Asm *a) {
    for (unsigned i = 0; i < 12; i++) {
        X86Arg b = x86_bcast(x86_mem(X86_RSI, 4 * (int64_t)i));
        x86_3(a, X86_vfmadd231ps, x86_zmm(i), x86_zmm(30), b);
        x86_3(a, X86_vfmadd231ps, x86_zmm(12 + i), x86_zmm(31), b);
    }
    x86_2(a, X86_vmovups, x86_zmm(30), x86_mem(X86_RDX, 0));
    x86_2(a, X86_vmovups, x86_zmm(31), x86_mem(X86_RDX, 64));
    return 26;
}

// The same for AVX2: separate broadcasts, VEX.
static unsigned emit_avx2(Asm *a) {
    for (unsigned i = 0; i < 6; i++) {
        x86_2(a, X86_vbroadcastss, x86_ymm(15), x86_mem_index(X86_RSI, X86_RAX, 2, 4 * (int64_t)i));
        x86_3(a, X86_vfmadd231ps, x86_ymm(i), x86_ymm(12), x86_ymm(15));
        x86_3(a, X86_vfmadd231ps, x86_ymm(6 + i), x86_ymm(13), x86_ymm(15));
    }
    return 18;
}

// Loop control and addresses.
static unsigned emit_integer(Asm *a) {
    AsmLabel loop = asm_label(a);
    x86_set(a, X86_RCX, 1000);
    asm_bind(a, &loop);
    x86_2(a, X86_lea, x86_r64(X86_RSI), x86_mem_index(X86_RSI, X86_R8, 3, 256));
    x86_2(a, X86_add, x86_r64(X86_RDX), x86_imm(4096));
    x86_2(a, X86_mov, x86_r64(X86_R9), x86_mem(X86_RSP, 24));
    x86_2(a, X86_cmp, x86_r64(X86_R9), x86_r64(X86_RDX));
    x86_1(a, X86_prefetcht0, x86_mem(X86_RSI, 1024));
    x86_1(a, X86_dec, x86_r64(X86_RCX));
    x86_1(a, X86_jnz, x86_to(&loop));
    return 8;
}

// Masked tails.
static unsigned emit_masked(Asm *a) {
    x86_2(a, X86_kmovw, x86_k(1), x86_r32(X86_RAX));
    x86_2(a, X86_vmovups, x86_masked(x86_zmm(0), 1, true), x86_mem(X86_RDI, 128));
    x86_3(a, X86_vaddps, x86_zmm(0), x86_zmm(0), x86_zmm(17));
    x86_4(a, X86_vcmpps, x86_k(2), x86_zmm(0), x86_zmm(18), x86_imm(1));
    x86_3(a, X86_vmaxps, x86_masked(x86_zmm(0), 2, false), x86_zmm(0), x86_zmm(18));
    x86_2(a, X86_vmovups, x86_masked(x86_mem(X86_RDX, 128), 1, false), x86_zmm(0));
    return 6;
}

static void measure(const char *name, unsigned (*emit)(Asm *)) {
    static uint8_t code[1 << 18];
    static double ns[RUNS];
    size_t bytes = 0;
    for (unsigned r = 0; r < RUNS; r++) {
        Asm a;
        unsigned n = 0;
        asm_init(&a, code, sizeof code);
        double start = lab_now();
        for (unsigned i = 0; i < ROUNDS; i++) n += emit(&a);
        ns[r] = (lab_now() - start) / n;
        bytes = asm_size(&a) / ROUNDS;
        if (asm_finish(&a) != ASM_OK) exit(1);
    }
    sort_values(ns, RUNS);
    printf("%-10s %6.2f ns/instruction, median %6.2f, %zu bytes\n", name, ns[0], ns[RUNS / 2],
           bytes);
}

int main(void) {
    measure("fma", emit_fma);
    measure("avx2", emit_avx2);
    measure("integer", emit_integer);
    measure("masked", emit_masked);
}
