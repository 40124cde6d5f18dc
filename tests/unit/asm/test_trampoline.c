// The trampoline that tests call kernels through notices each kind of damage, and undoes it.
#include "unit/check.h"

#include "run/exec.h"
#include "support/trampoline.h"

typedef struct Fault {
    const char *broken; // expected report of the trampoline
    const char *code;   // usually: clobber it; ret
    size_t size;
} Fault;

#define CODE(BYTES) BYTES, sizeof(BYTES) - 1

static const Fault faults[] = {
    {NULL, CODE("\xc3")},
    {"rbx", CODE("\x31\xdb\xc3")},
    {"rbp", CODE("\x31\xed\xc3")},
    {"r12", CODE("\x45\x31\xe4\xc3")},
    {"r13", CODE("\x45\x31\xed\xc3")},
    {"r14", CODE("\x45\x31\xf6\xc3")},
    {"r15", CODE("\x45\x31\xff\xc3")},
    {"rsp", CODE("\xc2\x08\x00")},                                            // ret 8
    {"the caller's frame", CODE("\x48\xc7\x44\x24\x10\x00\x00\x00\x00\xc3")}, // [rsp + 16] = 0
    {"the direction flag", CODE("\xfd\xc3")},
    // [rsp - 8] = 0x9f80, flush to zero; ldmxcsr
    {"mxcsr", CODE("\xc7\x44\x24\xf8\x80\x9f\x00\x00\x0f\xae\x54\x24\xf8\xc3")},
    // [rsp - 8] = 0x7f, single precision; fldcw
    {"the x87 control word", CODE("\xc7\x44\x24\xf8\x7f\x00\x00\x00\xd9\x6c\x24\xf8\xc3")},
    // Only the status bits of MXCSR: 1.0f/3
    {NULL, CODE("\x6a\x03\x58\xf3\x0f\x2a\xc8\x6a\x01\x58\xf3\x0f\x2a\xc0\xf3\x0f\x5e\xc1\xc3")},
};

static const Fault avx2_fault = {"the upper halves of vector registers",
                                 CODE("\xc5\xfd\x76\xc0\xc3")}; // vpcmpeqd ymm0, ymm0, ymm0
static const Fault avx2_clean = {NULL, CODE("\xc5\xfd\x76\xc0\xc5\xf8\x77\xc3")}; // vzeroupper

static void try_fault(ExecArena *arena, const Fault *f) {
    ExecBlock *block = exec_add(arena, (const uint8_t *)f->code, f->size);
    const char *broken = NULL;
    trampoline((void (*)(void))exec_entry(block), (uintptr_t[4]){0}, &broken);
    if (!CHECK(!broken == !f->broken && (!broken || !strcmp(broken, f->broken))))
        printf("want %s, got %s\n", f->broken ? f->broken : "nothing", broken ? broken : "nothing");
    exec_release(block);
}

TEST(broken_conventions_are_named) {
    ExecArena *arena = exec_arena_new();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) try_fault(arena, &faults[i]);
    if (__builtin_cpu_supports("avx2")) {
        try_fault(arena, &avx2_fault);
        try_fault(arena, &avx2_clean);
    }
    exec_arena_free(arena);
}

TEST(arguments_and_the_result_pass_through) {
    ExecArena *arena = exec_arena_new();
    // eax = edi - esi + edx - ecx
    static const uint8_t code[] = {0x89, 0xf8, 0x29, 0xf0, 0x01, 0xd0, 0x29, 0xc8, 0xc3};
    ExecBlock *block = exec_add(arena, code, sizeof code);
    const char *broken = NULL;
    CHECK_INT_EQ(
        trampoline((void (*)(void))exec_entry(block), (uintptr_t[4]){1000, 200, 30, 4}, &broken),
        826);
    CHECK(!broken);
    exec_release(block);
    exec_arena_free(arena);
}
