// Code around a kernel that makes it callable from C: see aot.h.
//
// The kernel's bytes come first, at offset 0, then the functions made here, with the same encoder
// and into the same Listing.
#include "code/x86/aot.h"

#include "asm/x86.h"
#include "base/bug.h"
#include "base/kernel_abi.h"
#include "code/c/c_impl.h"

#include <stddef.h>
#include <string.h>

typedef struct Maker {
    Arena *arena;
    Aot *out;
    Asm a;
    AsmLabel kernel, apply;
    VEC(ElfSymbol) symbols;
    VEC(ElfCall) calls;
} Maker;

static X86Arg r64(unsigned n) { return x86_r64(n); }

// --- The C library's functions -------------------------------------------------------------------

// Those whose double version means what the language means by the operation (docs/arithmetic.md):
// the reference computes every float type in double.
static const uint8_t libm[] = {
    OP_ACOS,   OP_ACOSH, OP_ASIN, OP_ASINH, OP_ATAN,  OP_ATANH, OP_CBRT, OP_COS,       OP_COSH,
    OP_ERF,    OP_ERFC,  OP_EXP,  OP_EXP2,  OP_EXPM1, OP_J0,    OP_J1,   OP_LGAMMA,    OP_LOG,
    OP_LOG10,  OP_LOG1P, OP_LOG2, OP_LOGB,  OP_ROUND, OP_SIN,   OP_SINH, OP_TAN,       OP_TANH,
    OP_TGAMMA, OP_Y0,    OP_Y1,   OP_ATAN2, OP_FMOD,  OP_HYPOT, OP_POW,  OP_REMAINDER,
};

static bool in_libm(const ListedCall *c) {
    bool known = false;
    for (size_t i = 0; i < sizeof libm; i++) known |= libm[i] == c->op;
    return known && c->from == c->to && type_is_float(c->from);
}

static uint32_t symbol_of(Maker *m, const char *name) {
    for (int i = 0; i < m->symbols.n; i++)
        if (!strcmp(m->symbols.at[i].name, name)) return (uint32_t)i;
    vec_push(m->arena, &m->symbols, ((ElfSymbol){.name = name}));
    return (uint32_t)(m->symbols.n - 1);
}

// call NAME, which the linker finds.
static void call_out(Maker *m, const char *name) {
    static const uint8_t call[5] = {0xe8};
    uint32_t at = (uint32_t)asm_size(&m->a);
    asm_bytes(&m->a, call, sizeof call);
    ListedInsn in = {.offset = at, .size = sizeof call, .label = -1, .sum = -1, .writes = -1};
    in.text = arena_printf(m->arena, "call %s@PLT", name);
    vec_push(m->arena, &m->out->listing.insns, in);
    vec_push(m->arena, &m->calls, ((ElfCall){at + 1, symbol_of(m, name)}));
}

static void heard(Asm *a, size_t offset, unsigned op, const void *operands) {
    Maker *m = a->user;
    list_add(&m->out->listing, a, offset, op, operands);
}

// --- apply ---------------------------------------------------------------------------------------

// One operation: rbx points at the operands, 64 bytes each, r12 has the number of lanes.
static void apply_lanes(Maker *m, const ListedCall *c) {
    Asm *a = &m->a;
    bool wide = type_info[type_compute(c->from)].bits == 64;
    unsigned scale = wide ? 3 : 2;
    AsmLabel loop = asm_label(a), end = asm_label(a);
    x86_2(a, X86_xor, x86_r32(X86_R13), x86_r32(X86_R13));
    asm_bind(a, &loop);
    x86_2(a, X86_cmp, r64(X86_R13), r64(X86_R12));
    x86_1(a, X86_jge, x86_to(&end));
    for (int i = 0; i < op_info[c->op].arity; i++) {
        X86Arg lane = x86_mem_index(X86_RBX, X86_R13, scale, 64 * i), v = x86_xmm((unsigned)i);
        if (wide)
            x86_2(a, X86_vmovsd, v, lane);
        else
            x86_3(a, X86_vcvtss2sd, v, v, lane);
    }
    call_out(m, op_info[c->op].name);
    if (!wide) x86_3(a, X86_vcvtsd2ss, x86_xmm(0), x86_xmm(0), x86_xmm(0));
    x86_2(a, wide ? X86_vmovsd : X86_vmovss, x86_mem_index(X86_RBX, X86_R13, scale, 0), x86_xmm(0));
    x86_1(a, X86_inc, r64(X86_R13));
    x86_1(a, X86_jmp, x86_to(&loop));
    asm_bind(a, &end);
}

// apply(op, from, to, lanes, operands) for the operations that the kernel calls.
static void make_apply(Maker *m) {
    static const uint8_t kept[] = {X86_RBX, X86_R12, X86_R13}; // and with them rsp is aligned
    Asm *a = &m->a;
    x86_align(a, 16);
    asm_bind(a, &m->apply);
    for (int i = 0; i < 3; i++) x86_1(a, X86_push, r64(kept[i]));
    x86_2(a, X86_mov, r64(X86_RBX), r64(X86_R8));
    x86_2(a, X86_movsxd, r64(X86_R12), x86_r32(X86_RCX));
    AsmLabel end = asm_label(a);
    const Listing *l = &m->out->listing;
    for (int i = 0; i < l->calls.n; i++) {
        AsmLabel next = asm_label(a);
        x86_2(a, X86_cmp, x86_r32(X86_RDI), x86_imm(l->calls.at[i].op));
        x86_1(a, X86_jne, x86_to(&next));
        x86_2(a, X86_cmp, x86_r32(X86_RSI), x86_imm(l->calls.at[i].from));
        x86_1(a, X86_jne, x86_to(&next));
        apply_lanes(m, &l->calls.at[i]);
        x86_1(a, X86_jmp, x86_to(&end));
        asm_bind(a, &next);
    }
    asm_bind(a, &end);
    for (int i = 2; i >= 0; i--) x86_1(a, X86_pop, r64(kept[i]));
    x86_0(a, X86_ret);
}

// --- NAME_kernel and NAME ------------------------------------------------------------------------

static void define(Maker *m, const char *name, size_t offset) {
    vec_push(m->arena, &m->symbols, ((ElfSymbol){.name = name, .offset = offset, .defined = 1}));
}

// A kernel that calls `apply` gets an environment that has ours.
static void make_raw(Maker *m) {
    Asm *a = &m->a;
    enum { FRAME = 40 }; // an environment; with the return address rsp is aligned
    x86_align(a, 16);
    define(m, arena_printf(m->arena, "%s_kernel", m->out->name), asm_size(a));
    x86_2(a, X86_sub, r64(X86_RSP), x86_imm(FRAME));
    for (int i = 0; i < (int)sizeof(KernelEnv); i += 8) {
        if (i == (int)offsetof(KernelEnv, apply)) continue;
        x86_2(a, X86_mov, r64(X86_RAX), x86_mem(X86_RDX, i));
        x86_2(a, X86_mov, x86_mem(X86_RSP, i), r64(X86_RAX));
    }
    x86_2(a, X86_lea, r64(X86_RAX), x86_mem_label(&m->apply));
    x86_2(a, X86_mov, x86_mem(X86_RSP, (int)offsetof(KernelEnv, apply)), r64(X86_RAX));
    x86_2(a, X86_mov, r64(X86_RDX), r64(X86_RSP));
    x86_1(a, X86_call, x86_to(&m->kernel));
    x86_2(a, X86_add, r64(X86_RSP), x86_imm(FRAME));
    x86_0(a, X86_ret);
}

static void store_arguments(Maker *m, int env) {
    static const uint8_t passed[] = {X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9};
    Asm *a = &m->a;
    for (int i = 0; i < m->out->tree->nargs; i++) {
        unsigned from = i < 6 ? passed[i] : X86_RAX;
        if (i >= 6) x86_2(a, X86_mov, r64(X86_RAX), x86_mem(X86_RBP, 16 + 8 * (i - 6)));
        x86_2(a, X86_mov, x86_mem(X86_RSP, 8 * i), r64(from));
    }
    x86_2(a, X86_xor, x86_r32(X86_RAX), x86_r32(X86_RAX));
    for (int i = 0; i < (int)sizeof(KernelEnv); i += 8)
        x86_2(a, X86_mov, x86_mem(X86_RSP, env + i), r64(X86_RAX));
    x86_2(a, X86_mov, x86_sized(x86_mem(X86_RSP, env + (int)offsetof(KernelEnv, threads)), 4),
          x86_imm(1));
    if (!m->out->listing.calls.n) return;
    x86_2(a, X86_lea, r64(X86_RAX), x86_mem_label(&m->apply));
    x86_2(a, X86_mov, x86_mem(X86_RSP, env + (int)offsetof(KernelEnv, apply)), r64(X86_RAX));
}

// Plain pointers in, a status out: 1 when there is no memory.
static void make_plain(Maker *m) {
    Asm *a = &m->a;
    int64_t scratch = (m->out->code.scratch + 63) & ~(int64_t)63;
    int env = 8 * m->out->tree->nargs, frame = (env + (int)sizeof(KernelEnv) + 15) & ~15;
    AsmLabel leave = asm_label(a);
    x86_align(a, 16);
    define(m, m->out->name, asm_size(a));
    x86_1(a, X86_push, r64(X86_RBP));
    x86_2(a, X86_mov, r64(X86_RBP), r64(X86_RSP));
    x86_1(a, X86_push, r64(X86_RBX));
    x86_2(a, X86_sub, r64(X86_RSP), x86_imm(frame + 8));
    store_arguments(m, env);
    x86_2(a, X86_xor, x86_r32(X86_RBX), x86_r32(X86_RBX));
    if (scratch) {
        x86_set(a, X86_RDI, 64);
        x86_set(a, X86_RSI, scratch);
        call_out(m, "aligned_alloc");
        x86_2(a, X86_mov, r64(X86_RBX), r64(X86_RAX));
        x86_2(a, X86_test, r64(X86_RAX), r64(X86_RAX));
        x86_2(a, X86_mov, x86_r32(X86_RAX), x86_imm(1));
        x86_1(a, X86_jz, x86_to(&leave));
    }
    x86_2(a, X86_mov, r64(X86_RDI), r64(X86_RSP));
    x86_2(a, X86_mov, r64(X86_RSI), r64(X86_RBX));
    x86_2(a, X86_lea, r64(X86_RDX), x86_mem(X86_RSP, env));
    x86_1(a, X86_call, x86_to(&m->kernel));
    if (scratch) {
        x86_2(a, X86_mov, r64(X86_RDI), r64(X86_RBX));
        x86_2(a, X86_mov, x86_r32(X86_RBX), x86_r32(X86_RAX));
        call_out(m, "free");
        x86_2(a, X86_mov, x86_r32(X86_RAX), x86_r32(X86_RBX));
    }
    asm_bind(a, &leave);
    x86_2(a, X86_mov, r64(X86_RBX), x86_mem(X86_RBP, -8));
    x86_0(a, X86_leave);
    x86_0(a, X86_ret);
}

// --- All of it -----------------------------------------------------------------------------------

static bool grow(Asm *a, size_t need) {
    Maker *m = a->user;
    size_t used = asm_size(a), cap = (size_t)(a->end - a->start) * 2 + need;
    uint8_t *memory = arena_alloc(m->arena, cap);
    memcpy(memory, a->start, used);
    a->start = memory;
    a->at = memory + used;
    a->end = memory + cap;
    return true;
}

static bool all_in_libm(const Listing *l, DiagList *diags) {
    for (int i = 0; i < l->calls.n; i++) {
        const ListedCall *c = &l->calls.at[i];
        if (in_libm(c)) continue;
        Diag *d = diag_report(diags, (Range){0, 0}, DIAG_AOT_CALL, op_info[c->op].name,
                              type_info[c->from].name, type_info[c->to].name);
        diag_note(diags, d, (Range){0, 0}, DIAG_AOT_CALL_NOTE);
        return false;
    }
    return true;
}

// Sizes of functions: up to the next one, or the end.
static void measure_symbols(Maker *m) {
    for (int i = 0; i < m->symbols.n; i++) {
        ElfSymbol *s = &m->symbols.at[i];
        uint64_t end = asm_size(&m->a);
        for (int k = 0; k < m->symbols.n; k++) {
            const ElfSymbol *o = &m->symbols.at[k];
            if (o->defined && o->offset > s->offset && o->offset < end) end = o->offset;
        }
        if (s->defined) s->size = end - s->offset;
    }
}

bool aot_make(Arena *arena, const Tree *tree, const Machine *machine, const char *name,
              const Code *code, const Listing *listing, Aot *out, DiagList *diags) {
    if (!all_in_libm(listing, diags)) return false;
    const char *own = tree->program && tree->program->name ? tree->program->name : "kernel";
    *out = (Aot){.name = c_identifier(arena, name ? name : own), .tree = tree, .isa = machine->isa};
    out->code = *code;
    out->listing = (Listing){.arena = arena};
    for (int i = 0; i < listing->insns.n; i++)
        vec_push(arena, &out->listing.insns, listing->insns.at[i]);
    for (int i = 0; i < listing->calls.n; i++)
        vec_push(arena, &out->listing.calls, listing->calls.at[i]);
    Maker m = {.arena = arena, .out = out};
    asm_init(&m.a, arena_alloc(arena, code->size + 4096), code->size + 4096);
    m.a.grow = grow;
    m.a.user = &m;
    m.kernel = asm_label(&m.a);
    m.apply = asm_label(&m.a);
    asm_bind(&m.a, &m.kernel);
    asm_bytes(&m.a, code->bytes, code->size);
    m.a.listen = heard;
    int before = out->listing.insns.n;
    if (listing->calls.n)
        make_raw(&m);
    else
        define(&m, arena_printf(arena, "%s_kernel", out->name), 0);
    make_plain(&m);
    if (listing->calls.n) make_apply(&m);
    AsmError error = asm_finish(&m.a);
    if (error != ASM_OK) bug("code around a kernel: %s", asm_error_text(error));
    list_resolve(&out->listing, before, m.a.start);
    measure_symbols(&m);
    CodeLine *lines = arena_new_n(arena, CodeLine, code->nlines + 1);
    memcpy(lines, code->lines, (size_t)code->nlines * sizeof *lines);
    lines[code->nlines] = (CodeLine){(uint32_t)code->size, 0};
    out->code.lines = lines;
    out->code.nlines = code->nlines + 1;
    out->code.bytes = m.a.start;
    out->code.size = asm_size(&m.a);
    out->object = (ElfObject){out->code.bytes,     out->code.size, m.symbols.at,
                              (size_t)m.symbols.n, m.calls.at,     (size_t)m.calls.n};
    return true;
}

// --- Text ----------------------------------------------------------------------------------------

static void print_arguments(const Aot *a, Text *out) {
    const Tree *t = a->tree;
    VEC(const char *) names = {0};
    for (int i = 0; i < t->nargs; i++) {
        const Buffer *b = &t->buffers.at[i];
        bool written = !t->program || i >= t->program->ninputs;
        const char *base = c_identifier(out->arena, b->name ? b->name : "T"), *name = base;
        for (int k = 2, j = 0; j < names.n; j++)
            if (!strcmp(names.at[j], name)) {
                name = arena_printf(out->arena, "%s_%d", base, k++);
                j = -1;
            }
        vec_push(out->arena, &names, name);
        text_printf(out, "%s%s%s *restrict %s", i ? ", " : "", written ? "" : "const ",
                    c_type(b->type), name);
    }
    if (!t->nargs) text_add(out, "void");
}

static void describe(const Aot *a, Text *out) {
    for (int i = 0; i < a->tree->nargs; i++) {
        const Buffer *b = &a->tree->buffers.at[i];
        text_add(out, i ? ", " : " ");
        text_escape(out, b->name ? b->name : "T", '`'); // a line end would end the comment
        text_char(out, ' ');
        argument_print(out, a->tree, i);
    }
}

static const char kernel_env[] =
    "#ifndef LW_KERNEL_ENV\n#define LW_KERNEL_ENV\n"
    "// How a kernel runs; a kernel needs one. All zero: on the caller's thread. To divide "
    "parallel loops among\n"
    "// threads, parallel_for calls body(arg, from, to, thread), 0 <= thread < threads, so that "
    "the ranges cover\n"
    "// [0, count), and returns 0 or a status that one of the calls returned.\n"
    "struct KernelEnv {\n"
    "    uint32_t flags; // 1: keep the content of results instead of initialising them, 2: skip "
    "post-operations\n"
    "    int threads;\n"
    "    int (*parallel_for)(const struct KernelEnv *env,\n"
    "                        int (*body)(void *arg, int64_t from, int64_t to, int thread), void "
    "*arg,\n"
    "                        int64_t count, int64_t grain);\n"
    "    void (*apply)(int op, int from, int to, int n, void *values); // leave it NULL\n"
    "    void *user;\n"
    "};\n#endif\n\n";

void aot_header(const Aot *a, Text *out) {
    const char *n = a->name;
    text_printf(out, "#ifndef LW_%s_H\n#define LW_%s_H\n\n#include <stdint.h>\n\n", n, n);
    text_add(out, "#ifdef __cplusplus\n#define restrict __restrict\nextern \"C\" {\n#endif\n\n");
    text_add(out, kernel_env);
    text_printf(out, "// %s:", n);
    describe(a, out);
    text_printf(
        out,
        "\n// Machine code for %s. Arrays are dense, in row-major order. The result is 0, 1 "
        "where memory ran\n"
        "// out, or 1000 + the number of the statement whose subscript left its tensor.\n"
        "int %s(",
        a->isa == ISA_SCALAR ? "x86-64 with AVX and FMA" : isa_name[a->isa], n);
    print_arguments(a, out);
    text_printf(
        out,
        ");\n\n// The same on an array of pointers, with scratch memory aligned to 64 bytes: "
        "%s_scratch of them, and\n// %s_thread_scratch for every further thread.\n"
        "int %s_kernel(void *const *buffers, void *scratch, const struct KernelEnv *env);\n"
        "#define %s_scratch        INT64_C(%lld)\n"
        "#define %s_thread_scratch INT64_C(%lld)\n\n",
        n, n, n, n, (long long)a->code.scratch, n, (long long)a->code.thread_scratch);
    text_add(out, "#ifdef __cplusplus\n}\n#undef restrict\n#endif\n\n#endif\n");
}

void aot_asm(const Aot *a, const char *tree_text, Text *out) {
    text_printf(out, "# Made by Loopwright: %s for %s\n", a->name, isa_name[a->isa]);
    text_add(out, "        .intel_syntax noprefix\n        .text\n        .p2align 6\n");
    ListedSymbol *symbols = arena_new_n(out->arena, ListedSymbol, a->object.nsymbols);
    int n = 0;
    for (size_t i = 0; i < a->object.nsymbols; i++) {
        const ElfSymbol *s = &a->object.symbols[i];
        if (!s->defined) continue;
        text_printf(out, "        .globl %s\n        .type %s, @function\n", s->name, s->name);
        symbols[n++] = (ListedSymbol){s->name, (uint32_t)s->offset};
    }
    listing_print(out, &a->code, &a->listing, tree_text,
                  &(ListingStyle){.exact = true,
                                  .stem = arena_printf(out->arena, ".L%s_", a->name),
                                  .symbols = symbols,
                                  .nsymbols = n});
    for (size_t i = 0; i < a->object.nsymbols; i++) {
        const ElfSymbol *s = &a->object.symbols[i];
        if (s->defined)
            text_printf(out, "        .size %s, %llu\n", s->name, (unsigned long long)s->size);
    }
    text_add(out, "        .section .note.GNU-stack, \"\", @progbits\n");
}
