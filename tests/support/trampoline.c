// A kernel that clobbers a register of its caller computes the right numbers: the damage appears in
// later code. So the call goes through assembly that records every register.
//
// Callee-saved registers are filled with patterns that are not addresses, and so is the start of
// the frame that the kernel returns to. The values on return are compared in C. The caller of the
// trampoline always gets its own values back, and tests continue.
#include "support/trampoline.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { REGS = 6 };

typedef struct CpuState {
    uint64_t reg[REGS], rsp, flags;
    uint32_t mxcsr;
    uint16_t x87;
    uint8_t frame_differs;
} CpuState;

typedef struct Crossing {
    CpuState before, after;
} Crossing;

_Static_assert(offsetof(CpuState, rsp) == 48 && offsetof(CpuState, flags) == 56 &&
                   offsetof(CpuState, mxcsr) == 64 && offsetof(CpuState, x87) == 68 &&
                   offsetof(CpuState, frame_differs) == 70 && offsetof(Crossing, after) == 72,
               "the assembly below spells these offsets");

static const char *const reg_name[REGS] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};

// The innermost call of this thread; on return no register can be trusted to point to it.
extern _Thread_local Crossing *trampoline_crossing __attribute__((tls_model("local-exec")));
_Thread_local Crossing *trampoline_crossing;

int trampoline_enter(void (*code)(void), const uintptr_t *args, Crossing *c);

__asm__(".text\n"
        ".hidden trampoline_enter\n"
        ".globl trampoline_enter\n"
        ".type trampoline_enter, @function\n"
        "trampoline_enter:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    sub $264, %rsp\n" // 33 words of pattern; rsp is now a multiple of 16
        "    mov %rdi, %r11\n"
        "    mov %rsi, %r10\n"
        "    mov %rsp, %rdi\n"
        "    mov (%rdx), %rax\n"
        "    mov $33, %ecx\n"
        "    rep stosq\n"
        "    mov %rsp, 48(%rdx)\n"
        "    pushfq\n"
        "    popq 56(%rdx)\n"
        "    stmxcsr 64(%rdx)\n"
        "    fnstcw 68(%rdx)\n"
        "    mov (%rdx), %rbx\n"
        "    mov 8(%rdx), %rbp\n"
        "    mov 16(%rdx), %r12\n"
        "    mov 24(%rdx), %r13\n"
        "    mov 32(%rdx), %r14\n"
        "    mov 40(%rdx), %r15\n"
        "    mov (%r10), %rdi\n"
        "    mov 8(%r10), %rsi\n"
        "    mov 16(%r10), %rdx\n"
        "    mov 24(%r10), %rcx\n"
        "    call *%r11\n"
        "    mov %fs:trampoline_crossing@tpoff, %r8\n"
        "    mov %rbx, 72(%r8)\n"
        "    mov %rbp, 80(%r8)\n"
        "    mov %r12, 88(%r8)\n"
        "    mov %r13, 96(%r8)\n"
        "    mov %r14, 104(%r8)\n"
        "    mov %r15, 112(%r8)\n"
        "    mov %rsp, 120(%r8)\n"
        "    mov 48(%r8), %rsp\n"
        "    pushfq\n"
        "    popq 128(%r8)\n"
        "    cld\n"
        "    stmxcsr 136(%r8)\n"
        "    fnstcw 140(%r8)\n"
        "    ldmxcsr 64(%r8)\n"
        "    fldcw 68(%r8)\n"
        "    mov %eax, %r9d\n"
        "    mov %rsp, %rdi\n"
        "    mov (%r8), %rax\n"
        "    mov $33, %ecx\n"
        "    repe scasq\n"
        "    setne 142(%r8)\n"
        "    mov %r9d, %eax\n"
        "    add $264, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size trampoline_enter, .-trampoline_enter\n");

// Whether XGETBV reports the vector state in use. Cached, because CPUID is slow under a hypervisor.
static bool sees_vectors(void) {
    static int known; // 1: no, 2: yes; all threads compute the same value
    if (!__atomic_load_n(&known, __ATOMIC_RELAXED)) {
        uint32_t a, b, c, d;
        bool yes =
            __builtin_cpu_supports("avx") && __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a & 4;
        __atomic_store_n(&known, yes ? 2 : 1, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&known, __ATOMIC_RELAXED) == 2;
}

// Bits 2 and 6 of XINUSE: the upper halves of ymm0-15, and of zmm0-15.
static uint32_t uppers_in_use(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(1));
    return lo & 0x44;
}

static const char *what_differs(const CpuState *was, const CpuState *is) {
    enum { CONTROL = 0xffc0, DIRECTION = 0x400 }; // the low bits of MXCSR are results
    for (int i = 0; i < REGS; i++)
        if (was->reg[i] != is->reg[i]) return reg_name[i];
    if (was->rsp != is->rsp) return "rsp";
    if (is->frame_differs) return "the caller's frame";
    if (is->flags & DIRECTION) return "the direction flag";
    if ((was->mxcsr ^ is->mxcsr) & CONTROL) return "mxcsr";
    if (was->x87 != is->x87) return "the x87 control word";
    return NULL;
}

int trampoline(void (*code)(void), const uintptr_t args[4], const char **broken) {
    Crossing c = {0}, *outer = trampoline_crossing;
    for (int i = 0; i < REGS; i++)
        c.before.reg[i] = UINT64_C(0x5eed0000c0de0000) + (uint64_t)i; // not canonical
    // A processor may report unused state as in use, so only changes count.
    bool vectors = sees_vectors();
    uint32_t in_use = 0;
    if (vectors) {
        __asm__ volatile("vzeroupper");
        in_use = uppers_in_use();
    }
    trampoline_crossing = &c;
    int result = trampoline_enter(code, args, &c);
    trampoline_crossing = outer;
    if (vectors && uppers_in_use() & ~in_use) *broken = "the upper halves of vector registers";
    const char *differs = what_differs(&c.before, &c.after);
    if (differs) *broken = differs;
    return result;
}
