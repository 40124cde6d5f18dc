// The bytecode: one Insn per call of an emitter, in the generator's own code buffer, so that labels
// work as they do for machine code.
//
// The interpreter is as strict as isa.h allows. It overwrites everything that an emitter may
// clobber: scratch registers, lanes beyond a vector's width or tail, and across a parallel loop
// every register. Two special registers cache the last tail and the last guard until the generator
// invalidates them; the interpreter checks that they hold the values that the operation needs.
#include "support/microlab.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/kernel_abi.h"
#include "code/gen/gen.h"
#include "support/arguments.h"
#include "support/microlanes.h"

int64_t micro_count[MICRO_KINDS];

// ---- Targets

static uint64_t draw(uint64_t *state, uint64_t n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

MicroTarget micro_target(int number, uint64_t seed) {
    static const int widths[] = {4, 8, 16, 1};
    int lanes = widths[number / 2];
    bool has_mask = number % 2;
    MicroTarget t;
    Machine *m = &t.machine;
    machine_describe(m, lanes == 1 ? ISA_SCALAR : has_mask ? ISA_AVX512 : ISA_AVX2);
    seed = seed * MICRO_TARGETS + (uint64_t)number;
    for (int i = 0; i < 4; i++) draw(&seed, 2);
    if (lanes > 1) m->vector_bytes = 4 * lanes;
    m->vector_registers = draw(&seed, 2) ? 16 : 32;
    m->has_mask = lanes > 1 && has_mask;
    m->folds_broadcast = draw(&seed, 2);
    m->has_cvt64 = draw(&seed, 2);
    m->has_exponents = draw(&seed, 2);
    m->has_popcount = m->has_exponents;
    m->has_vnni = m->has_mask && draw(&seed, 2);
    t.items = (int)draw(&seed, MICRO_ITEMS + 1);
    t.masks = (int)draw(&seed, MAX_MASKS + 1);
    t.scratch = (int)draw(&seed, 2);
    t.folds = draw(&seed, 2);
    t.ties = draw(&seed, 2);
    return t;
}

const char *micro_target_text(Arena *arena, const MicroTarget *t) {
    const Machine *m = &t->machine;
    return arena_printf(arena,
                        "%d bytes, %d registers (%d scratch), %d items, %d masks%s%s%s%s%s%s",
                        m->vector_bytes, m->vector_registers, t->scratch, t->items, t->masks,
                        m->has_mask ? ", masks lanes" : "", m->has_cvt64 ? ", cvt64" : "",
                        m->has_exponents ? ", exponents" : "", m->has_vnni ? ", dots" : "",
                        t->folds ? ", folds" : "", t->ties ? ", ties" : "");
}

// ---- Instructions

typedef enum InsnKind {
    I_MOVE,
    I_OP,
    I_CHOOSE,
    I_DIVIDE,
    I_DIGIT,
    I_PUSH,
    I_POP,
    I_LOAD,
    I_CHECK,
    I_JUMP,
    I_BRANCH,
    I_OP_BRANCH,
    I_FLAGS,
    I_ENTER,
    I_ARGUMENT,
    I_TEMPORARY,
    I_LEAVE,
    I_PARALLEL,
    I_BODY,
    I_OUTER,
    I_MASKS, // masks of the region's tails, a bit for each number of lanes
    I_TAIL,  // the register of the last tail
    I_GUARD, // the register of the last guard
    I_NONE,  // no lane of a guard is true: its load or index is skipped and gives 0
    I_MICRO,
} InsnKind;

typedef struct Insn {
    InsnKind kind;
    int op;        // GenOp
    int condition; // GenCond
    bool flag;     // checked, larger, mod, plus A
    Type type;
    GenArg x, y; // of a micro-operation: its pointer, and the computed offset,
    int shift;   // in units of 1 << shift bytes
    int64_t k;
    int slot, end;
    const Micro *micro;
    int32_t target; // relative to the end of this field
} Insn;

typedef struct MicroUnit {
    const MicroTarget *target;
    int frame, vector_slots;
    const Permutation *permutations;
    Arena *arena;
    int tail;  // lanes in the tail register; 0: unknown
    int guard; // value (number + 1) in the guard register; 0: unknown
} MicroUnit;

static void put(Gen *g, Insn in, AsmLabel *to) {
    size_t at = asm_size(&g->a);
    asm_bytes(&g->a, &in, sizeof in);
    if (to) asm_refer(&g->a, to, at + offsetof(Insn, target), 0);
}

static void put_move(Gen *g, GenArg to, GenArg from) {
    require(to.kind != ARG_CONST && to.kind != ARG_NONE);
    put(g, (Insn){.kind = I_MOVE, .x = to, .y = from}, NULL);
}

static void put_op(Gen *g, GenOp op, GenArg to, GenArg by, bool checked) {
    put(g, (Insn){.kind = I_OP, .op = op, .x = to, .y = by, .flag = checked}, NULL);
}

static void put_choose(Gen *g, bool larger, GenArg x, GenArg y) {
    require((x.kind == ARG_A && y.kind == ARG_B) || (x.kind == ARG_B && y.kind == ARG_A));
    put(g, (Insn){.kind = I_CHOOSE, .flag = larger}, NULL);
}

static void put_divide(Gen *g, int64_t k, bool mod) {
    put(g, (Insn){.kind = I_DIVIDE, .k = k, .flag = mod}, NULL);
}

static void put_digit(Gen *g, Item to, int64_t k) {
    put(g, (Insn){.kind = I_DIGIT, .x = gen_at(to), .k = k}, NULL);
}

static void put_push(Gen *g) { put(g, (Insn){.kind = I_PUSH}, NULL); }
static void put_pop(Gen *g) { put(g, (Insn){.kind = I_POP}, NULL); }

static void put_load(Gen *g, Type t, Item base, int64_t disp, bool plus_a) {
    require(disp == (int32_t)disp && !(plus_a && disp));
    put(g, (Insn){.kind = I_LOAD, .type = t, .x = gen_at(base), .k = disp, .flag = plus_a}, NULL);
}

static void put_check(Gen *g, int64_t size) { put(g, (Insn){.kind = I_CHECK, .k = size}, NULL); }
static void put_jump(Gen *g, AsmLabel *to) { put(g, (Insn){.kind = I_JUMP}, to); }

static void put_branch(Gen *g, GenCond c, GenArg x, GenArg y, AsmLabel *to) {
    require((c == GEN_NEGATIVE) == (y.kind == ARG_NONE));
    put(g, (Insn){.kind = I_BRANCH, .condition = c, .x = x, .y = y}, to);
}

static void put_op_branch(Gen *g, GenOp op, GenArg to, GenArg by, GenCond c, AsmLabel *label) {
    put(g, (Insn){.kind = I_OP_BRANCH, .op = op, .condition = c, .x = to, .y = by}, label);
}

static void put_flags(Gen *g, uint32_t flags, AsmLabel *to) {
    put(g, (Insn){.kind = I_FLAGS, .k = flags}, to);
}

static void put_align(Gen *g) { (void)g; }
static void put_start(Gen *g) { g->own = g->user; }
static void put_enter(Gen *g) { put(g, (Insn){.kind = I_ENTER}, NULL); }

static void put_argument(Gen *g, Item to, int number) {
    put(g, (Insn){.kind = I_ARGUMENT, .x = gen_at(to), .k = number}, NULL);
}

static void put_temporary(Gen *g, Item to, int64_t offset) {
    put(g, (Insn){.kind = I_TEMPORARY, .x = gen_at(to), .k = offset}, NULL);
}

static void put_leave(Gen *g) {
    put(g, (Insn){.kind = I_LEAVE, .slot = g->stack.status_slot}, NULL);
}

static void put_finish(Gen *g, Code *out) {
    MicroUnit *u = g->own;
    (void)out;
    u->frame = g->stack.bytes;
    u->vector_slots = g->result.vector_slots;
    u->permutations = g->p->permutations.at;
}

static void put_parallel(Gen *g, AsmLabel *body, int64_t grain) {
    require(grain >= 0);
    put(g, (Insn){.kind = I_PARALLEL}, body);
}

static void put_body(Gen *g, AsmLabel *label, int start, int end, int64_t bytes) {
    MicroUnit *u = g->own;
    u->tail = u->guard = 0;
    asm_bind(&g->a, label);
    put(g, (Insn){.kind = I_BODY, .slot = start, .end = end, .k = bytes}, NULL);
}

static void put_outer(Gen *g, int slot) { put(g, (Insn){.kind = I_OUTER, .slot = slot}, NULL); }

static int64_t masks_of(const Gen *g) {
    int64_t set = 0;
    for (int i = 0; i < g->region.masks; i++) set |= (int64_t)1 << g->region.mask[i];
    return set;
}

static void put_masks(Gen *g) { put(g, (Insn){.kind = I_MASKS, .k = masks_of(g)}, NULL); }

static void put_forget(Gen *g, bool values) {
    MicroUnit *u = g->own;
    u->guard = 0;
    if (!values) u->tail = 0;
}

// ---- Micro-operations as instructions

static bool folds(const void *gen, const Micro *m, int arg, const Ref *r) {
    const MicroUnit *u = ((const Gen *)gen)->user;
    bool takes = m->kind == MI_FMA ? m->op == 0 && arg < 2 : m->kind == MI_OP && m->op <= OP_MAX;
    if (r->width > 1 && r->lane == 0 && !u->target->machine.folds_broadcast) return false;
    return u->target->folds && takes && r->width == m->width && r->active == r->width &&
           r->guard < 0 && type_info[r->type].bits >= 32;
}

static bool ties(const void *gen, const Micro *m, int arg) {
    (void)m, (void)arg;
    return ((const MicroUnit *)((const Gen *)gen)->user)->target->ties;
}

// Checks that the target supports it.
static void check_micro(const Gen *g, const Micro *m) {
    const Machine *machine = g->m;
    int bytes = m->width * gen_lane_size(m->type);
    bool lanes = m->kind != MI_FETCH && m->kind != MI_CHECK && m->width > 1;
    require(!lanes || bytes <= machine->vector_bytes);
    for (int i = 0; i < m->nargs; i++) require(i == m->fold || m->arg_reg[i] < g->scratch);
    require(m->dst < 0 || m->dst_reg < g->scratch);
    if (machine->has_mask) return;
    require(m->kind != MI_FMA || m->nargs == 3);
    bool narrow = m->ref && type_info[m->ref->type].bits < 32 && m->ref->width > 1;
    require(!narrow || m->kind == MI_FETCH || m->ref->lane == 0);
}

static bool is_computed(const Micro *m) { return ref_is_hard(m->ref) && !m->ref->mem->gathers; }

// The pointer, and the computed offset if there is one, which is put into A.
static void address(Gen *g, const Micro *m, Insn *in, AsmLabel *none) {
    in->x = gen_at(g->stack.stream[m->ref->stream]);
    if (!is_computed(m)) return;
    require(m->kind != MI_BEGIN);
    in->y = m->ref->row >= 0 ? gen_at(gen_row_item(g, m->ref->row)) : GEN_A;
    in->shift = gen_row_shift(g, m->ref);
    if (m->ref->row >= 0) return;
    if (m->kind == MI_LOAD && m->nargs) put(g, (Insn){.kind = I_NONE, .micro = in->micro}, none);
    gen_row_offset(g, m->ref);
}

// The operand that is the guard, or -1.
static int guard_arg(const Micro *m) {
    if (m->kind == MI_LOAD || m->kind == MI_INDEX) return m->nargs ? 0 : -1;
    if (m->kind == MI_STORE) return m->ref->guard >= 0 ? 1 : -1;
    if (m->kind == MI_FMA) return m->nargs == 4 ? 3 : -1;
    return m->kind == MI_OP && m->op == OP_SELECT ? 0 : -1;
}

static bool has_tail(const Micro *m) { return m->ref && m->ref->active < m->ref->width; }

// Loads the tail and guard registers for the operation, unless they already hold the values.
static void remember(Gen *g, const Micro *m) {
    MicroUnit *u = g->own;
    int arg = guard_arg(m);
    if (has_tail(m) && u->tail != m->ref->active) {
        put(g, (Insn){.kind = I_TAIL, .k = m->ref->active}, NULL);
        u->tail = m->ref->active;
    }
    if (arg < 0 || u->guard == m->arg[arg] + 1) return;
    put(g, (Insn){.kind = I_GUARD, .slot = m->arg_reg[arg]}, NULL);
    u->guard = m->arg[arg] + 1;
}

static void put_micro(Gen *g, const Micro *m) {
    Micro *copy = arena_copy(g->arena, m, sizeof *m);
    Insn in = {.kind = I_MICRO, .micro = copy, .k = masks_of(g)};
    AsmLabel none = asm_label(&g->a);
    check_micro(g, m);
    remember(g, m);
    if (m->ref) copy->ref = arena_copy(g->arena, m->ref, sizeof *m->ref);
    if (m->kind == MI_INDEX && m->nargs) put(g, (Insn){.kind = I_NONE, .micro = copy}, &none);
    if (m->kind == MI_INDEX) gen_index(g, m->index);
    if (m->ref && m->kind != MI_FETCH) address(g, m, &in, &none);
    put(g, in, NULL);
    asm_bind(&g->a, &none);
}

static const uint8_t item_numbers[MICRO_ITEMS] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                  8, 9, 10, 11, 12, 13, 14, 15};

static GenIsa isa_of(const MicroTarget *t) {
    return (GenIsa){
        .items = t->items,
        .item = item_numbers,
        .masks = t->masks,
        .scratch = t->scratch,
        .move = put_move,
        .op = put_op,
        .choose = put_choose,
        .divide = put_divide,
        .digit = put_digit,
        .push = put_push,
        .pop = put_pop,
        .load = put_load,
        .check_below = put_check,
        .jump = put_jump,
        .branch = put_branch,
        .op_branch = put_op_branch,
        .branch_flags = put_flags,
        .align = put_align,
        .start = put_start,
        .enter = put_enter,
        .argument = put_argument,
        .temporary = put_temporary,
        .leave = put_leave,
        .finish = put_finish,
        .parallel = put_parallel,
        .enter_body = put_body,
        .outer = put_outer,
        .emit = put_micro,
        .folds = folds,
        .ties = ties,
        .set_masks = put_masks,
        .forget = put_forget,
    };
}

// ---- Running

enum { MOST_STEPS = 50000000, MOST_PUSHED = 64 };
static const int64_t garbage = (int64_t)0xa5a5a5a5a5a5a5a5u;

typedef struct Run {
    const MicroUnit *u;
    const uint8_t *code;
    void *const *buffers;
    uint8_t *scratch;
    uint32_t flags;
    int threads;
    int64_t steps;
} Run;

// An activation of a function.
typedef struct Act {
    Run *run;
    int64_t a, b, item[MICRO_ITEMS];
    int64_t pushed[MOST_PUSHED];
    int depth;
    uint8_t *frame, *spills;
    MicroVec v[64], guard;
    int64_t tail, masks;
    const uint8_t *outer; // for a body: the caller's frame
    int64_t from, to;
    int thread;
} Act;

static void *slot_at(const Act *t, int slot) {
    require(slot >= 0 && slot + 8 <= t->run->u->frame);
    return t->frame + slot;
}

static int64_t get(const Act *t, GenArg x) {
    int64_t value;
    switch (x.kind) {
    case ARG_A: return t->a;
    case ARG_B: return t->b;
    case ARG_CONST: return x.value;
    case ARG_ITEM: break;
    case ARG_NONE: return 0;
    }
    if (x.item.reg >= 0) return t->item[x.item.reg];
    memcpy(&value, slot_at(t, x.item.slot), 8);
    return value;
}

static void set(Act *t, GenArg to, int64_t value) {
    if (to.kind == ARG_A)
        t->a = value;
    else if (to.kind == ARG_B)
        t->b = value;
    else if (to.item.reg >= 0)
        t->item[to.item.reg] = value;
    else
        memcpy(slot_at(t, to.item.slot), &value, 8);
}

// A 64-bit constant operand uses a scratch register.
static void spoil_for(Act *t, GenArg x, GenArg y) {
    if (y.kind != ARG_CONST || y.value == (int32_t)y.value) return;
    if (x.kind == ARG_ITEM)
        t->a = garbage;
    else if (x.kind == ARG_A)
        t->b = garbage;
}

// False: it overflowed.
static bool operate(Act *t, const Insn *in) {
    int64_t x = get(t, in->x), y = get(t, in->y), out = 0;
    bool over = false;
    switch ((GenOp)in->op) {
    case GEN_ADD: over = __builtin_add_overflow(x, y, &out); break;
    case GEN_SUB: over = __builtin_sub_overflow(x, y, &out); break;
    case GEN_MUL: over = __builtin_mul_overflow(x, y, &out); break;
    case GEN_SHL: out = (int64_t)((uint64_t)x << y); break;
    case GEN_NEG: out = (int64_t)(0 - (uint64_t)x); break;
    case GEN_CLEAR: break;
    }
    spoil_for(t, in->x, in->y);
    set(t, in->x, out);
    return !over;
}

static bool compare(GenCond c, int64_t x, int64_t y) {
    switch (c) {
    case GEN_LT:
    case GEN_NEGATIVE: return x < y;
    case GEN_LE: return x <= y;
    case GEN_GT: return x > y;
    case GEN_GE: return x >= y;
    case GEN_EQ: return x == y;
    case GEN_NE: return x != y;
    }
    bug("condition %d", (int)c);
}

static void divide(Act *t, const Insn *in) {
    int64_t k = in->k;
    t->a = k == 0 ? 0 : in->flag ? floor_mod(t->a, k) : floor_div(t->a, k);
    t->b = garbage;
}

static int run_function(Act *t, size_t pc);

static void act_begin(Act *t, Run *run) {
    memset(t, 0xa5, sizeof *t);
    t->run = run;
    t->depth = 0;
    t->tail = t->masks = 0;
}

static int call_body(Act *caller, size_t pc, int64_t from, int64_t to, int thread) {
    const MicroUnit *u = caller->run->u;
    Act *body = arena_new(u->arena, Act);
    act_begin(body, caller->run);
    body->frame = arena_raw(u->arena, (size_t)u->frame);
    body->spills = arena_raw(u->arena, 64 * (size_t)(u->vector_slots + 1));
    memset(body->frame, 0xa5, (size_t)u->frame);
    body->outer = caller->frame;
    body->from = from;
    body->to = to;
    body->thread = thread;
    return run_function(body, pc);
}

// Simulates threads one after the other, last iterations first. Registers are clobbered.
static int parallel(Act *t, size_t pc) {
    int64_t count = t->b, step = count / (2 * t->run->threads) + 1, n = ceil_div(count, step);
    int status = 0;
    for (int64_t i = n - 1; i >= 0 && !status; i--)
        status =
            call_body(t, pc, i * step, min_i64(count, (i + 1) * step), (int)(i % t->run->threads));
    t->a = t->b = garbage;
    memset(t->item, 0xa5, sizeof t->item);
    memset(t->v, 0xa5, sizeof t->v);
    memset(&t->guard, 0xa5, sizeof t->guard);
    t->tail = t->masks = 0;
    return status;
}

static void enter_body(Act *t, const Insn *in) {
    int64_t first;
    memcpy(&first, t->outer + in->slot, 8);
    set(t, gen_at_slot(in->slot), first + t->from);
    set(t, gen_at_slot(in->end), first + t->to);
    t->a = garbage;
    t->b = t->thread * in->k;
}

// ---- Micro-operations

static char *place(const Act *t, const Insn *in) {
    int64_t computed = (int64_t)((uint64_t)get(t, in->y) << in->shift);
    return (char *)(get(t, in->x) + computed + in->micro->ref->disp); // NOLINT
}

static bool guard_holds(const Act *t, const Micro *m, int lane) {
    return guard_arg(m) < 0 || micro_get(TYPE_BOOL, &t->guard, lane).i;
}

// Lanes beyond the tail are undefined, those where a guard is false are 0.
static MicroVec load_vector(const Act *t, const Insn *in, bool guarded) {
    const Ref *r = in->micro->ref;
    const char *at = place(t, in);
    MicroVec out;
    bool any = !guarded;
    memset(&out, 0xa5, sizeof out);
    for (int i = 0; i < r->active; i++) any |= guarded && guard_holds(t, in->micro, i);
    for (int i = 0; i < (r->lane ? r->active : r->width); i++) {
        bool here = r->lane && guarded ? guard_holds(t, in->micro, i) : any;
        micro_set(r->type, &out, i, here ? type_load(r->type, at + i * r->lane) : (Value){.i = 0});
    }
    return out;
}

static void store_vector(const Act *t, const Insn *in) {
    const Micro *m = in->micro;
    const Ref *r = m->ref;
    char *at = place(t, in);
    for (int i = 0; i < (r->lane ? r->active : 1); i++)
        if (guard_holds(t, m, i))
            type_store(r->type, at + i * r->lane, micro_get(r->type, &t->v[m->arg_reg[0]], i));
}

static MicroVec gather(const Act *t, const Insn *in) {
    const Micro *m = in->micro;
    const char *at = place(t, in);
    MicroVec out;
    memset(&out, 0xa5, sizeof out);
    for (int i = 0; i < m->ref->active; i++) {
        int64_t distance = micro_get(m->from, &t->v[m->arg_reg[0]], i).i;
        micro_set(m->ref->type, &out, i,
                  type_load(m->ref->type, at + distance * type_info[m->ref->type].bytes));
    }
    return out;
}

static bool in_range(const Act *t, const Micro *m) {
    for (int i = 0; i < m->op; i++) {
        int64_t x = micro_get(m->type, &t->v[m->arg_reg[0]], i).i;
        if (x < 0 || x >= m->value.i) return false;
    }
    return true;
}

static MicroVec indices(const Act *t, const Micro *m) {
    MicroVec out;
    memset(&out, 0xa5, sizeof out);
    for (int i = 0; i < m->width; i++) {
        uint64_t x = (uint64_t)t->a + (uint64_t)i * (uint64_t)m->index->lane_step;
        micro_set(m->type, &out, i, (Value){.i = (int64_t)x});
    }
    return out;
}

static MicroVec compute(const Act *t, const Insn *in) {
    const Micro *m = in->micro;
    MicroVec arg[4];
    for (int k = 0; k < m->nargs; k++)
        arg[k] = k == m->fold        ? load_vector(t, in, false)
                 : k == guard_arg(m) ? t->guard
                                     : t->v[m->arg_reg[k]];
    return micro_compute(m, arg, t->run->u->permutations);
}

static int micro(Act *t, const Insn *in) {
    const Micro *m = in->micro;
    MicroVec *dst = &t->v[m->dst_reg & 63];
    micro_count[m->kind]++;
    require((t->masks & in->k) == in->k && (!has_tail(m) || t->tail == m->ref->active));
    switch (m->kind) {
    case MI_LOAD: *dst = load_vector(t, in, m->nargs > 0); break;
    case MI_BEGIN:
        *dst = m->op & t->run->flags ? load_vector(t, in, false)
                                     : micro_compute(&(Micro){.kind = MI_CONST,
                                                              .type = m->type,
                                                              .width = m->width,
                                                              .value = m->value},
                                                     NULL, NULL);
        break;
    case MI_STORE: store_vector(t, in); break;
    case MI_GATHER: *dst = gather(t, in); break;
    case MI_CHECK:
        if (!in_range(t, m)) return KERNEL_BAD_INDEX;
        break;
    case MI_INDEX: *dst = indices(t, m); break;
    case MI_FETCH: break;
    case MI_SPILL: memcpy(t->spills + 64 * m->slot, &t->v[m->arg_reg[0]], 64); break;
    case MI_RELOAD: memcpy(dst, t->spills + 64 * m->slot, 64); break;
    default: *dst = compute(t, in); break;
    }
    t->a = t->b = garbage;
    return 0;
}

static bool no_lane_holds(Act *t, const Micro *m) {
    for (int i = 0; i < (m->ref ? m->ref->active : m->index->active); i++)
        if (guard_holds(t, m, i)) return false;
    memset(&t->v[m->dst_reg], 0, sizeof t->v[0]);
    return true;
}

// ---- Instructions

static void load_integer(Act *t, const Insn *in) {
    const char *at = (const char *)(get(t, in->x) + (in->flag ? t->a : in->k)); // NOLINT
    t->a = type_load(in->type, at).i;
    t->b = garbage;
}

static bool branches(Act *t, const Insn *in) {
    bool taken = compare((GenCond)in->condition, get(t, in->x), get(t, in->y));
    spoil_for(t, in->x, in->y);
    return taken;
}

// Executes one instruction; sets *status if the kernel ends.
static bool step(Act *t, const Insn *in, int *status, size_t target) {
    Run *run = t->run;
    switch (in->kind) {
    case I_MOVE:
        spoil_for(t, in->x, in->y);
        set(t, in->x, get(t, in->y));
        break;
    case I_OP:
        if (!operate(t, in) && in->flag) *status = KERNEL_BAD_INDEX;
        break;
    case I_CHOOSE: t->a = in->flag ? max_i64(t->a, t->b) : min_i64(t->a, t->b); break;
    case I_DIVIDE: divide(t, in); break;
    case I_DIGIT:
        set(t, in->x, t->a % in->k);
        t->a /= in->k;
        t->b = garbage;
        break;
    case I_PUSH: t->pushed[t->depth++] = t->a; break;
    case I_POP: t->b = t->pushed[--t->depth]; break;
    case I_LOAD: load_integer(t, in); break;
    case I_CHECK:
        if (t->a < 0 || t->a >= in->k) *status = KERNEL_BAD_INDEX;
        t->b = garbage;
        break;
    case I_JUMP: return true;
    case I_BRANCH: return branches(t, in);
    case I_OP_BRANCH: operate(t, in); return compare((GenCond)in->condition, get(t, in->x), 0);
    case I_FLAGS: t->a = garbage; return (run->flags & (uint32_t)in->k) != 0;
    case I_ENTER: break;
    case I_ARGUMENT: set(t, in->x, (int64_t)(intptr_t)run->buffers[in->k]); break;
    case I_TEMPORARY: set(t, in->x, (int64_t)(intptr_t)(run->scratch + in->k)); break;
    case I_LEAVE: *status = KERNEL_OK; break;
    case I_PARALLEL: {
        int ended = parallel(t, target);
        if (ended) *status = ended;
        break;
    }
    case I_BODY: enter_body(t, in); break;
    case I_OUTER: memcpy(&t->a, t->outer + in->slot, 8); break;
    case I_MASKS:
        t->a = garbage;
        t->masks = in->k;
        break;
    case I_TAIL: t->tail = in->k; break;
    case I_GUARD: t->guard = t->v[in->slot]; break;
    case I_NONE: return no_lane_holds(t, in->micro);
    case I_MICRO: {
        int ended = micro(t, in);
        if (ended) *status = ended;
        break;
    }
    }
    require(t->depth >= 0 && t->depth < MOST_PUSHED);
    return false;
}

static int run_function(Act *t, size_t pc) {
    for (int status = -1;; pc += sizeof(Insn)) {
        Insn in;
        memcpy(&in, t->run->code + pc, sizeof in);
        size_t target = pc + offsetof(Insn, target) + 4 + (size_t)(int64_t)in.target;
        if (++t->run->steps > MOST_STEPS) return KERNEL_FORKED; // a status that ends everything
        bool jumps = step(t, &in, &status, target);
        if (status >= 0) return status;
        if (jumps) pc = target - sizeof(Insn);
    }
}

static int run_kernel(Arena *arena, Run *run) {
    const MicroUnit *u = run->u;
    Act *t = arena_new(arena, Act);
    act_begin(t, run);
    t->frame = arena_raw(arena, (size_t)u->frame);
    t->spills = arena_raw(arena, 64 * (size_t)(u->vector_slots + 1));
    memset(t->frame, 0xa5, (size_t)u->frame);
    return run_function(t, 0);
}

MicroResult micro_run(Lab *lab, const Tree *t, const MicroTarget *target, const LabData *data,
                      InterpFlags flags, int threads, bool low) {
    GenIsa isa = isa_of(target);
    MicroUnit u = {.target = target, .arena = &lab->arena};
    Code code;
    Plan *plan = NULL;
    CodeAnswer answer = CODE_REPLAN;
    while (answer == CODE_REPLAN) {
        plan = gen_plan(&lab->arena, t, &target->machine, plan, &lab->diags);
        answer = plan ? gen_code(plan, &isa, &u, &code, &lab->diags) : CODE_DECLINED;
    }
    if (answer == CODE_DECLINED) return MICRO_DECLINED;
    int64_t scratch = code.scratch + (threads - 1) * code.thread_scratch;
    Arguments args = arguments_new(&lab->arena, data, flags, scratch, low);
    Run run = {.u = &u,
               .code = code.bytes,
               .buffers = args.buffers,
               .scratch = (uint8_t *)args.scratch,
               .flags = args.flags,
               .threads = threads};
    int status = run_kernel(&lab->arena, &run);
    bool clean = arguments_end(&args, data);
    if (run.steps > MOST_STEPS) return MICRO_ENDLESS;
    return !clean ? MICRO_BROKEN : status ? MICRO_STATUS : MICRO_OK;
}
