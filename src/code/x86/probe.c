// Loops that show what a processor can do at best, for api/rates.c: multiply-adds into all
// registers; adds, multiplies or additions of integers, in parallel or in a chain; unrolled loads,
// stores or both over a buffer. Each runs `rcx` iterations, in the calling convention of
// MeasureKernel.
#include "code/x86/probe.h"

#include "asm/x86.h"

enum { FMA_REPEAT = 4 };

static unsigned accumulators(Width w) { return w == WIDTH_FULL ? 28 : 14; }

// acc = acc * 1/2 + 1/2, which neither overflows nor gets denormal. Returns operations per pass.
double x86_probe_fma(Asm *a, Width w, bool f64) {
    unsigned bytes = w == WIDTH_FULL ? 64 : w == WIDTH_HALF ? 32 : 16, n = accumulators(w);
    X86Op op = w == WIDTH_ONE ? (f64 ? X86_vfmadd213sd : X86_vfmadd213ss)
                              : (f64 ? X86_vfmadd213pd : X86_vfmadd213ps);
    X86Arg half = x86_vec(bytes, n);
    x86_set(a, X86_RAX, f64 ? 0x3fe0000000000000 : 0x3f000000);
    x86_2(a, X86_vmovq, x86_xmm(n), x86_r64(X86_RAX));
    if (w != WIDTH_ONE) x86_2(a, f64 ? X86_vbroadcastsd : X86_vbroadcastss, half, x86_xmm(n));
    for (unsigned i = 0; i < n; i++) x86_2(a, X86_vmovaps, x86_vec(bytes, i), half);
    AsmLabel loop = asm_label(a);
    x86_align(a, 64);
    asm_bind(a, &loop);
    for (unsigned i = 0; i < n * FMA_REPEAT; i++) x86_3(a, op, x86_vec(bytes, i % n), half, half);
    x86_1(a, X86_dec, x86_r64(X86_RCX));
    x86_1(a, X86_jnz, x86_to(&loop));
    x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
    unsigned lanes = w == WIDTH_ONE ? 1 : bytes / (f64 ? 8 : 4);
    return 2.0 * lanes * n * FMA_REPEAT;
}

// Instructions of one kind that wait for nothing, in all registers. Returns their number per pass.
double x86_probe_work(Asm *a, Width w, WorkKind work) {
    static const X86Op ops[WORK_COUNT][2] = {
        [WORK_MUL] = {X86_vmulps, X86_vmulps},           [WORK_ADD] = {X86_vaddps, X86_vaddps},
        [WORK_FLOAT] = {X86_vmulps, X86_vaddps},         [WORK_IMUL] = {X86_vpmulld, X86_vpmulld},
        [WORK_SHUFFLE] = {X86_vunpcklps, X86_vunpcklps}, [WORK_ANY] = {X86_vpaddd, X86_vpaddd}};
    unsigned bytes = w == WIDTH_FULL ? 64 : 32, n = accumulators(w);
    X86Arg zero = x86_vec(bytes, n);
    AsmLabel loop = asm_label(a);
    x86_3(a, X86_vxorps, x86_vec(32, n), x86_vec(32, n), x86_vec(32, n));
    x86_align(a, 64);
    asm_bind(a, &loop);
    for (unsigned i = 0; i < n * FMA_REPEAT; i++)
        x86_3(a, ops[work][i % 2], x86_vec(bytes, i % n), zero, zero);
    x86_1(a, X86_dec, x86_r64(X86_RCX));
    x86_1(a, X86_jnz, x86_to(&loop));
    x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
    return n * FMA_REPEAT;
}

// Operations that wait for each other: one after the other. LATENCY_COUNT: additions in a general
// register, which take a cycle each.
double x86_probe_chain(Asm *a, Latency of) {
    enum { LENGTH = 64 };
    static const X86Op ops[LATENCY_COUNT] = {X86_vaddps, X86_vmulps, X86_vfmadd213ps};
    AsmLabel loop = asm_label(a);
    x86_set(a, X86_RAX, 0x3f800000); // 1
    x86_2(a, X86_vmovq, x86_xmm(1), x86_r64(X86_RAX));
    x86_2(a, X86_vbroadcastss, x86_vec(32, 1), x86_xmm(1));
    x86_2(a, X86_vmovaps, x86_vec(32, 0), x86_vec(32, 1));
    x86_align(a, 64);
    asm_bind(a, &loop);
    for (int i = 0; i < LENGTH; i++) {
        if (of == LATENCY_COUNT)
            x86_2(a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RDX));
        else if (of == LATENCY_FMA)
            x86_3(a, ops[of], x86_vec(32, 0), x86_vec(32, 1), x86_vec(32, 1));
        else
            x86_3(a, ops[of], x86_vec(32, 0), x86_vec(32, 0), x86_vec(32, 1));
    }
    x86_1(a, X86_dec, x86_r64(X86_RCX));
    x86_1(a, X86_jnz, x86_to(&loop));
    x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
    return LENGTH;
}

// One step of a moving kernel: `disp` bytes on from where rax points.
static void move_step(Asm *a, const Machine *m, int move, bool past_caches, unsigned i) {
    bool wide = m->vector_bytes > 8;
    unsigned reg = wide ? i % 8 : X86_R8 + i % 4;
    X86Arg v = wide ? x86_vec((unsigned)m->vector_bytes, reg) : x86_r64(reg);
    X86Op op = wide ? X86_vmovups : X86_mov, out = past_caches && wide ? X86_vmovntps : op;
    int64_t disp = (int64_t)i * m->vector_bytes;
    if (move != MOVE_STORE) x86_2(a, op, v, x86_mem_index(X86_RSI, X86_RAX, 0, disp));
    if (move != MOVE_LOAD) x86_2(a, out, x86_mem_index(X86_RDI, X86_RAX, 0, disp), v);
}

// One loop that wraps around, since leaving an inner loop at the end of a small buffer would cost a
// mispredicted branch each time. A pass is one turn of it.
void x86_probe_move(Asm *a, const Machine *m, int move, bool past_caches) {
    AsmLabel loop = asm_label(a);
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_R8));
    x86_1(a, X86_dec, x86_r64(X86_RDX));
    x86_align(a, 64);
    asm_bind(a, &loop);
    for (unsigned i = 0; i < X86_PROBE_UNROLL; i++) move_step(a, m, move, past_caches, i);
    x86_2(a, X86_add, x86_r64(X86_RAX), x86_imm(X86_PROBE_UNROLL * m->vector_bytes));
    x86_2(a, X86_and, x86_r64(X86_RAX), x86_r64(X86_RDX));
    x86_1(a, X86_dec, x86_r64(X86_RCX));
    x86_1(a, X86_jnz, x86_to(&loop));
    if (past_caches) x86_0(a, X86_sfence);
    if (m->vector_bytes > 8) x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
}
