// Functions of the kernel: entry and exit, parallel loops, constants. And the GenIsa itself.
#include "code/x86/x86_impl.h"

#include <stddef.h>
#include <string.h>

#include "base/bug.h"
#include "base/kernel_abi.h"
#include "code/x86/code_x86.h"
#include "code/x86/mem.h"

static const uint8_t callee_saved[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};
static const uint8_t item_regs[] = {X86_RBX, X86_RSI, X86_RDI, X86_R8,  X86_R9,  X86_R10,
                                    X86_R11, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};

// ---- Constants

static bool same_entry(const void *key, const void *item) {
    const PoolEntry *a = key, *b = item;
    return a->size == b->size && !memcmp(a->bytes, b->bytes, (size_t)a->size);
}

AsmLabel *x86_pool(Gen *g, const void *bytes, int size) {
    X86Own *o = own(g);
    PoolEntry key = {.size = size};
    memcpy(key.bytes, bytes, (size_t)size);
    uint64_t hash = hash_bytes((uint64_t)size, key.bytes, (size_t)size);
    PoolEntry **e = (PoolEntry **)set_find(g->arena, &o->pooled, hash, &key, same_entry);
    if (*e) return &(*e)->label;
    *e = arena_copy(g->arena, &key, sizeof key);
    (*e)->label = asm_label(&g->a);
    o->pooled.n++;
    vec_push(g->arena, &o->pool, *e);
    return &(*e)->label;
}

static void constants(Gen *g) {
    for (int size = 64; size >= 4; size /= 2)
        for (int i = 0; i < own(g)->pool.n; i++) {
            PoolEntry *e = own(g)->pool.at[i];
            if (e->size != size) continue;
            asm_fill(&g->a, (size_t)size, 0);
            asm_bind(&g->a, &e->label);
            asm_bytes(&g->a, e->bytes, (size_t)size);
        }
}

// ---- Entry and exit

void x86_frame(Gen *g, FrameRule rule, int kept, int at) {
    KernelFrame f = {(uint32_t)asm_size(&g->a), rule, kept, at};
    vec_push(g->arena, &own(g)->unwind, f);
}

static uint32_t features_of(const Machine *m) {
    uint32_t f = X86_HAS_POPCNT | X86_HAS_BMI1 | X86_HAS_BMI2 | X86_HAS_AVX | X86_HAS_AVX2 |
                 X86_HAS_FMA | X86_HAS_F16C | X86_HAS_PREFETCHW; // the first with AVX2 ignore it
    if (m->isa == ISA_AVX512)
        f |= X86_HAS_AVX512F | X86_HAS_AVX512VL | X86_HAS_AVX512BW | X86_HAS_AVX512DQ |
             X86_HAS_AVX512CD;
    if (m->isa == ISA_AVX512 && m->has_vnni) f |= X86_HAS_AVX512VNNI;
    if (m->isa == ISA_AVX512 && m->has_popcount) f |= X86_HAS_AVX512POPCNT;
    return f;
}

static void start(Gen *g) {
    X86Own *o = arena_new(g->arena, X86Own);
    *o = (X86Own){.listing = g->user};
    o->call_area = (g->stack.bytes + 63) & ~63;
    o->vector_area = o->call_area + 64 * 40;
    g->own = o;
    g->a.features = features_of(g->m);
    if (!o->listing) return;
    g->a.listen = list_heard;
    *o->listing = (Listing){.arena = g->arena};
}

// Saves registers, makes the frame, sets the status to 0; rdi, rsi, rdx, rcx are kept.
static void enter_frame(Gen *g) {
    Asm *a = &g->a;
    own(g)->leave = asm_label(a);
    own(g)->bad = asm_label(a);
    x86_frame(g, FRAME_RSP, 0, 0);
    for (int i = 0; i < 6; i++) {
        x86_1(a, X86_push, x86_r64(callee_saved[i]));
        x86_frame(g, FRAME_RSP, i + 1, 0);
    }
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RSP));
    x86_frame(g, FRAME_RAX, 6, 0);
    x86_2(a, X86_sub, x86_r64(X86_RSP), x86_imm(0x7fffffff)); // patched when the frame is known
    vec_push(g->arena, &own(g)->frames, asm_size(a) - 4);
    x86_2(a, X86_and, x86_r64(X86_RSP), x86_imm(-64));
    x86_2(a, X86_mov, x86_slot(g->stack.env_slot + 8), x86_r64(X86_RAX));
    x86_frame(g, FRAME_SLOT, 6, g->stack.env_slot + 8);
    x86_2(a, X86_mov, x86_slot(g->stack.status_slot), x86_imm(0));
}

// The kernel's arguments, until Items are set: rcx the buffers, rdx scratch memory.
static void enter(Gen *g) {
    Asm *a = &g->a;
    enter_frame(g);
    x86_2(a, X86_mov, x86_slot(g->stack.env_slot), x86_r64(X86_RDX));
    x86_2(a, X86_mov, x86_r64(X86_RCX), x86_r64(X86_RDI)); // rdi and rsi hold items from here on
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RSI));
}

static void set_pointer(Gen *g, Item to, X86Op op, X86Arg from) {
    X86Arg reg = x86_r64(to.reg < 0 ? X86_RAX : (unsigned)to.reg);
    x86_2(&g->a, op, reg, from);
    if (to.reg < 0) x86_2(&g->a, X86_mov, x86_item(to), reg);
}

static void argument(Gen *g, Item to, int number) {
    set_pointer(g, to, X86_mov, x86_mem(X86_RCX, 8 * number));
}

static void temporary(Gen *g, Item to, int64_t offset) {
    set_pointer(g, to, X86_lea, x86_mem(X86_RDX, offset));
}

static void leave(Gen *g) {
    Asm *a = &g->a;
    X86Own *o = own(g);
    asm_bind(a, &o->leave);
    if (o->streams_out) x86_0(a, X86_sfence);
    o->streams_out = false;
    x86_2(a, X86_mov, x86_r32(X86_RAX), x86_sized(x86_mem(X86_RSP, g->stack.status_slot), 4));
    x86_2(a, X86_mov, x86_r64(X86_RSP), x86_slot(g->stack.env_slot + 8));
    x86_frame(g, FRAME_RSP, 6, 0);
    for (int i = 5; i >= 0; i--) {
        x86_1(a, X86_pop, x86_r64(callee_saved[i]));
        x86_frame(g, FRAME_RSP, i, 0);
    }
    if (g->m->isa != ISA_SCALAR) x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
    x86_frame(g, FRAME_SLOT, 6, g->stack.env_slot + 8); // what lies behind is jumped to
    if (o->bad_used) {
        asm_bind(a, &o->bad);
        x86_2(a, X86_mov, x86_slot(g->stack.status_slot), x86_imm(KERNEL_BAD_INDEX));
        x86_1(a, X86_jmp, x86_to(&o->leave));
    }
    o->bad_used = false;
}

// The frame's size is patched in when the number of spills is known.
static void patch_frames(Gen *g) {
    X86Own *o = own(g);
    int32_t total = o->vector_area + 64 * (g->result.vector_slots + 1);
    for (int i = 0; i < o->frames.n && g->a.error == ASM_OK; i++) {
        memcpy(g->a.start + o->frames.at[i], &total, 4);
        if (o->listing) list_frame(g, o->frames.at[i], total);
    }
    if (o->listing && g->a.error == ASM_OK) list_resolve(o->listing, 0, g->a.start);
}

static void finish(Gen *g, Code *out) {
    x86_apply_routine(g);
    x86_frame(g, FRAME_SLOT, 6, g->stack.env_slot + 8);
    x86_detours(g);
    x86_frame(g, FRAME_RSP, 0, 0);
    x86_divide_routines(g);
    constants(g);
    patch_frames(g);
    out->nframes = own(g)->unwind.n;
    out->frames = own(g)->unwind.at;
}

// ---- Parallel loops

// eax <- the status of the loop, rcx its iterations.
static void call_body(Gen *g, AsmLabel *body, int64_t grain) {
    Asm *a = &g->a;
    AsmLabel alone = asm_label(a), done = asm_label(a);
    X86Arg threads = x86_sized(x86_mem(X86_RDI, (int64_t)offsetof(KernelEnv, threads)), 4);
    x86_2(a, X86_mov, x86_r64(X86_RDI), x86_slot(g->stack.env_slot));
    x86_2(a, X86_cmp, threads, x86_imm(1));
    x86_1(a, X86_jle, x86_to(&alone));
    x86_2(a, X86_mov, x86_r64(X86_RAX),
          x86_sized(x86_mem(X86_RDI, (int64_t)offsetof(KernelEnv, parallel_for)), 8));
    x86_2(a, X86_test, x86_r64(X86_RAX), x86_r64(X86_RAX));
    x86_1(a, X86_jz, x86_to(&alone));
    x86_2(a, X86_lea, x86_r64(X86_RSI), x86_mem_label(body));
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RSP));
    x86_set(a, X86_R8, grain);
    if (g->m->isa != ISA_SCALAR) x86_0(a, X86_vzeroupper);
    x86_1(a, X86_call, x86_r64(X86_RAX));
    x86_1(a, X86_jmp, x86_to(&done));
    asm_bind(a, &alone);
    x86_2(a, X86_mov, x86_r64(X86_RDI), x86_r64(X86_RSP));
    x86_2(a, X86_xor, x86_r32(X86_RSI), x86_r32(X86_RSI));
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RCX));
    x86_2(a, X86_xor, x86_r32(X86_RCX), x86_r32(X86_RCX));
    x86_1(a, X86_call, x86_to(body));
    asm_bind(a, &done);
}

static void parallel(Gen *g, AsmLabel *body, int64_t grain) {
    Asm *a = &g->a;
    require(!own(g)->depth);
    call_body(g, body, grain);
    x86_2(a, X86_mov, x86_slot(g->stack.status_slot), x86_r64(X86_RAX));
    x86_2(a, X86_test, x86_r32(X86_RAX), x86_r32(X86_RAX));
    x86_1(a, X86_jnz, x86_to(&own(g)->leave));
}

// A body is called with rdi the kernel's frame, rsi from, rdx to, ecx the thread.
static void take_range(Gen *g, int first, int end) {
    Asm *a = &g->a;
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_sized(x86_mem(X86_RDI, first), 8));
    x86_2(a, X86_add, x86_r64(X86_RSI), x86_r64(X86_RAX));
    x86_2(a, X86_add, x86_r64(X86_RDX), x86_r64(X86_RAX));
    x86_2(a, X86_mov, x86_slot(first), x86_r64(X86_RSI));
    x86_2(a, X86_mov, x86_slot(end), x86_r64(X86_RDX));
}

static void enter_body(Gen *g, AsmLabel *label, int first, int end, int64_t bytes) {
    Asm *a = &g->a;
    x86_align(a, 16);
    asm_bind(a, label);
    enter_frame(g);
    own(g)->k1 = own(g)->k3 = 0;
    take_range(g, first, end);
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_sized(x86_mem(X86_RDI, g->stack.env_slot), 8));
    x86_2(a, X86_mov, x86_slot(g->stack.env_slot), x86_r64(X86_RAX));
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RDI)); // rdi and rsi hold items from here on
    x86_2(a, X86_movsxd, x86_r64(X86_RCX), x86_r32(X86_RCX));
    x86_set(a, X86_RAX, bytes);
    x86_2(a, X86_imul, x86_r64(X86_RCX), x86_r64(X86_RAX));
}

static void outer(Gen *g, int slot) {
    x86_2(&g->a, X86_mov, x86_r64(X86_RAX), x86_sized(x86_mem(X86_RDX, slot), 8));
}

// ---- The instruction set

static void align(Gen *g) { x86_align(&g->a, 16); }

static void forget(Gen *g, bool values) {
    own(g)->k3 = 0;
    if (!values) own(g)->k1 = 0;
}

static const GenIsa isa = {
    .items = sizeof item_regs,
    .item = item_regs,
    .masks = MAX_MASKS,
    .scratch = 1,
    .move = x86_move,
    .op = x86_op,
    .choose = x86_choose,
    .divide = x86_divide,
    .digit = x86_digit,
    .push = x86_push,
    .pop = x86_pop,
    .load = x86_load_integer,
    .check_below = x86_check_below,
    .jump = x86_jump,
    .branch = x86_branch,
    .op_branch = x86_op_branch,
    .branch_flags = x86_branch_flags,
    .align = align,
    .start = start,
    .enter = enter,
    .argument = argument,
    .temporary = temporary,
    .leave = leave,
    .finish = finish,
    .parallel = parallel,
    .enter_body = enter_body,
    .outer = outer,
    .emit = x86_emit_micro,
    .folds = x86_folds,
    .ties = x86_ties,
    .set_masks = x86_set_masks,
    .forget = forget,
};

CodeAnswer code_x86(Plan *plan, Code *out, Listing *listing, DiagList *diags) {
    if (listing) *listing = (Listing){.arena = plan->arena};
    return gen_code(plan, &isa, listing, out, diags);
}
