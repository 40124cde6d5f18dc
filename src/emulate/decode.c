// Decodes statements: the modifiers of the mnemonic, and the operands of each kind of instruction.
//
// ptx_ops.def lists arithmetic instructions by their whole spelling. This file handles the families
// with modifiers of their own. It skips modifiers that do not change a result (cache hints), and
// refuses unknown ones.
#include "emulate/parse.h"

#include <string.h>

// The parts of a mnemonic between its dots. The parts before `next` have been decoded.
typedef struct Modifiers {
    PtxWord at[12];
    int n, next;
} Modifiers;

static Modifiers split(PtxWord mnemonic) {
    Modifiers m = {.n = 0, .next = 0};
    const char *s = mnemonic.s, *end = s + mnemonic.len;
    while (s <= end && m.n < 12) {
        const char *dot = memchr(s, '.', (size_t)(end - s));
        if (!dot) dot = end;
        m.at[m.n++] = (PtxWord){s, (size_t)(dot - s)};
        s = dot + 1;
    }
    return m;
}

static bool take(Modifiers *m, const char *name) {
    if (m->next >= m->n || !ptx_word_is(m->at[m->next], name)) return false;
    m->next++;
    return true;
}

static bool take_any(Modifiers *m, const char *const *names, int n, int *which) {
    for (int i = 0; i < n; i++)
        if (take(m, names[i])) {
            if (which) *which = i;
            return true;
        }
    return false;
}

static PtxType take_type(PtxParser *p, Modifiers *m) {
    PtxType type = PTX_NONE;
    if (m->next < m->n) type = ptx_type(m->at[m->next].s, m->at[m->next].len);
    if (type == PTX_NONE) ptx_refuse(p, "'%.*s' needs a type", (int)m->at[0].len, m->at[0].s);
    m->next++;
    return type;
}

static void finish(PtxParser *p, const Modifiers *m) {
    if (m->next < m->n)
        ptx_refuse(p, "the emulator does not know .%.*s of '%.*s'", (int)m->at[m->next].len,
                   m->at[m->next].s, (int)m->at[0].len, m->at[0].s);
}

#define NAMES(...)                                                                                 \
    (const char *const[]){__VA_ARGS__},                                                            \
        (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

// --- Arithmetic ----------------------------------------------------------------------------------

static void decode_op(PtxParser *p, const Op *op, Ins *ins) {
    ins->run = op->run;
    ins->plain = true;
    ins->ndst = 1;
    ins->nsrc = op->nsrc;
    ins->type = op->result;
    ins->dst[0] = ptx_register(p, op->result, false);
    for (int i = 0; i < op->nsrc; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_source(p, op->src[i], false);
    }
}

static void decode_lop3(PtxParser *p, Modifiers *m, Ins *ins) {
    if (!take(m, "b32")) ptx_refuse(p, "lop3 needs .b32");
    ins->run = emu_do_lop3;
    ins->ndst = 1;
    ins->nsrc = 3;
    ins->dst[0] = ptx_register(p, PTX_B32, false);
    for (int i = 0; i < 3; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_source(p, PTX_B32, false);
    }
    ptx_expect(p, ',');
    ins->what = (uint8_t)ptx_integer(p);
}

static void decode_predicate(PtxParser *p, Modifiers *m, Ins *ins, Exec *run, int nsrc) {
    m->next = m->n;
    ins->run = run;
    ins->ndst = 1;
    ins->nsrc = (uint8_t)nsrc;
    ins->dst[0] = ptx_predicate(p, false);
    for (int i = 0; i < nsrc; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_predicate(p, false);
    }
}

// mov %d, a; mov %d, {a, b}; mov {%d, %e}, a
static void decode_mov(PtxParser *p, Modifiers *m, Ins *ins) {
    PtxType type = take_type(p, m), part = PTX_NONE;
    if (type == PTX_PRED) {
        decode_predicate(p, m, ins, emu_do_pred_move, 1);
        return;
    }
    if (type == PTX_B16) part = PTX_B8;
    if (type == PTX_B32) part = PTX_B16;
    if (type == PTX_B64) part = PTX_B32;
    ins->type = type;
    ins->ndst = ins->nsrc = 1;
    if (ptx_next_is(p, '{')) {
        if (part == PTX_NONE) ptx_refuse(p, "mov.%s has no parts", ptx_info[type].name);
        ins->run = emu_do_unpack;
        ins->ndst = (uint8_t)ptx_vector(p, PTX_B16, false, ins->dst, MAX_DST);
        ptx_expect(p, ',');
        ins->src[0] = ptx_source(p, type, false);
        ins->src[0].bits = (uint16_t)ptx_info[type].bits;
    } else {
        ins->dst[0] = ptx_register(p, type, false);
        ptx_expect(p, ',');
        ins->run = emu_do_move;
        if (ptx_next_is(p, '{')) {
            ins->run = emu_do_pack;
            ins->nsrc = (uint8_t)ptx_vector(p, PTX_B16, true, ins->src, MAX_DST);
        } else {
            ins->src[0] = ptx_source(p, type, false);
        }
    }
    int parts = ins->run == emu_do_pack ? ins->nsrc : ins->ndst;
    if (ins->run == emu_do_move) return;
    if (parts != 2 && !(parts == 4 && type == PTX_B64)) ptx_refuse(p, "mov of %d parts", parts);
    for (int i = 0; i < parts; i++) {
        const EmuOperand *o = ins->run == emu_do_pack ? &ins->src[i] : &ins->dst[i];
        if (!o->constant && o->bits != ptx_info[type].bits / parts)
            ptx_refuse(p, "a part of mov.%s has %d bits", ptx_info[type].name, o->bits);
    }
}

static void decode_selp(PtxParser *p, Modifiers *m, Ins *ins) {
    ins->type = take_type(p, m);
    ins->run = emu_do_select;
    ins->ndst = 1;
    ins->nsrc = 3;
    ins->dst[0] = ptx_register(p, ins->type, false);
    for (int i = 0; i < 2; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_source(p, ins->type, false);
    }
    ptx_expect(p, ',');
    ins->src[2] = ptx_predicate(p, false);
}

typedef struct Comparison {
    const char *name;
    uint8_t holds; // CMP_ bits
    bool only_floats, only_unsigned;
} Comparison;
static const Comparison comparisons[] = {
    {"eq", CMP_EQ, false, false},
    {"ne", CMP_LT | CMP_GT, false, false},
    {"lt", CMP_LT, false, false},
    {"le", CMP_LT | CMP_EQ, false, false},
    {"gt", CMP_GT, false, false},
    {"ge", CMP_GT | CMP_EQ, false, false},
    {"lo", CMP_LT, false, true},
    {"ls", CMP_LT | CMP_EQ, false, true},
    {"hi", CMP_GT, false, true},
    {"hs", CMP_GT | CMP_EQ, false, true},
    {"equ", CMP_EQ | CMP_UNORDERED, true, false},
    {"neu", CMP_LT | CMP_GT | CMP_UNORDERED, true, false},
    {"ltu", CMP_LT | CMP_UNORDERED, true, false},
    {"leu", CMP_LT | CMP_EQ | CMP_UNORDERED, true, false},
    {"gtu", CMP_GT | CMP_UNORDERED, true, false},
    {"geu", CMP_GT | CMP_EQ | CMP_UNORDERED, true, false},
    {"num", CMP_LT | CMP_EQ | CMP_GT, true, false},
    {"nan", CMP_UNORDERED, true, false},
};

static const Comparison *take_comparison(PtxParser *p, Modifiers *m) {
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (take(m, comparisons[i].name)) return &comparisons[i];
    ptx_refuse(p, "setp needs a comparison");
}

// setp.lt.and.s32 %p|%q, a, b, !%r
static void decode_setp(PtxParser *p, Modifiers *m, Ins *ins) {
    const Comparison *c = take_comparison(p, m);
    int combine = -1;
    take_any(m, NAMES("and", "or", "xor"), &combine);
    PtxType type = ins->type = take_type(p, m);
    EmuKind kind = ptx_info[type].kind;
    ins->run = emu_compare(type);
    if (!ins->run || (c->only_floats && kind != KIND_FLOAT) ||
        (c->only_unsigned && kind != KIND_UNSIGNED) ||
        (kind == KIND_BITS && strcmp(c->name, "eq") != 0 && strcmp(c->name, "ne") != 0))
        ptx_refuse(p, "setp.%s does not compare .%s", c->name, ptx_info[type].name);
    ins->what = c->holds;
    ins->what2 = (uint8_t)(combine + 1);
    ins->ndst = 1;
    ins->nsrc = 2;
    ins->dst[0] = ptx_predicate(p, false);
    if (ptx_accept(p, '|')) ins->dst[ins->ndst++] = ptx_predicate(p, false);
    for (int i = 0; i < 2; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_source(p, type, false);
    }
    if (combine < 0) return;
    ptx_expect(p, ',');
    ins->src[ins->nsrc++] = ptx_predicate(p, true);
}

// cvt.rn.f32.s32, cvt.rzi.s32.f32, cvt.u64.u32 ...
static void decode_cvt(PtxParser *p, Modifiers *m, Ins *ins) {
    int mode = -1;
    take_any(m, NAMES("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"), &mode);
    ins->flag = take(m, "sat");
    PtxType to = ins->type = take_type(p, m), from = ins->from = take_type(p, m);
    bool to_float = ptx_info[to].kind == KIND_FLOAT, from_float = ptx_info[from].kind == KIND_FLOAT;
    bool whole = mode >= 4;
    bool needs = to_float != from_float || (to_float && ptx_info[to].bits < ptx_info[from].bits);
    bool bits = ptx_info[to].kind == KIND_BITS || ptx_info[from].kind == KIND_BITS;
    if (bits || to == PTX_PRED || from == PTX_PRED) ptx_refuse(p, "cvt needs numbers");
    if (needs && mode < 0) ptx_refuse(p, "this cvt needs a rounding mode");
    if (from_float && !to_float && !whole)
        ptx_refuse(p, "cvt to an integer needs .rni, .rzi, .rmi or .rpi");
    if (to_float && !from_float && whole)
        ptx_refuse(p, "cvt of an integer needs .rn, .rz, .rm or .rp");
    if (!to_float && !from_float && mode >= 0)
        ptx_refuse(p, "cvt of integers has no rounding mode");
    if (to_float && from_float && mode >= 0 && !whole && !needs)
        ptx_refuse(p, "cvt to a wider float has no rounding mode");
    if (to_float && from_float && whole && to != from) ptx_refuse(p, "cvt.r?i needs equal types");
    ins->run = emu_do_convert;
    ins->what = (uint8_t)(mode < 0 ? 0 : mode % 4 + 1);
    ins->what2 = whole && to_float;
    ins->ndst = ins->nsrc = 1;
    ins->dst[0] = ptx_register(p, to, true);
    ptx_expect(p, ',');
    ins->src[0] = ptx_source(p, from, true);
}

// --- Memory --------------------------------------------------------------------------------------

static EmuSpace take_space(PtxParser *p, Modifiers *m) {
    if (take(m, "global")) return SPACE_GLOBAL;
    if (take(m, "shared") || take(m, "shared::cta")) return SPACE_SHARED;
    if (take(m, "shared::cluster")) return SPACE_CLUSTER;
    if (take(m, "local")) return SPACE_LOCAL;
    if (take(m, "param")) return SPACE_PARAM;
    if (take(m, "const")) return SPACE_CONST;
    ptx_refuse(p, "'%.*s' needs a state space; the emulator has no generic addresses",
               (int)m->at[0].len, m->at[0].s);
}

static bool is_hint(PtxWord w) {
    static const char *const hints[] = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (ptx_word_is(w, hints[i])) return true;
    return w.len > 4 && (memcmp(w.s, "L1::", 4) == 0 || memcmp(w.s, "L2::", 4) == 0);
}

// relaxed.gpu: such accesses never race with each other.
static bool take_order(Modifiers *m) {
    if (take_any(m, NAMES("relaxed", "acquire", "release", "acq_rel"), NULL)) {
        take_any(m, NAMES("cta", "cluster", "gpu", "sys"), NULL);
        return true;
    }
    return !take(m, "weak") && take(m, "volatile");
}

// The operator that decides what a load may miss; the others are hints about speed.
static AccessKind take_hints(PtxParser *p, Modifiers *m, EmuSpace space) {
    AccessKind kind = ACCESS_READ;
    for (; m->next < m->n && is_hint(m->at[m->next]); m->next++) {
        if (ptx_word_is(m->at[m->next], "ca")) kind = ACCESS_READ_L1;
        if (ptx_word_is(m->at[m->next], "nc")) kind = ACCESS_READ_ONLY;
    }
    if (kind == ACCESS_READ_ONLY && space != SPACE_GLOBAL)
        ptx_refuse(p, "only loads from global memory use the read-only cache");
    return space == SPACE_GLOBAL ? kind : ACCESS_READ;
}

static void take_element(PtxParser *p, Modifiers *m, Ins *ins) {
    ins->space = take_space(p, m);
    ins->what = (uint8_t)take_hints(p, m, ins->space);
    ins->count = take(m, "v2") ? 2 : take(m, "v4") ? 4 : 1;
    ins->type = take_type(p, m);
    if (ins->type == PTX_PRED || ins->count * ptx_info[ins->type].bits > 128)
        ptx_refuse(p, "an access of at most 16 bytes was expected");
}

static void decode_ld(PtxParser *p, Modifiers *m, Ins *ins) {
    ins->flag = take_order(m);
    take_element(p, m, ins);
    ins->run = emu_do_load;
    ins->ndst = ins->count;
    if (ins->count > 1) {
        if (ptx_vector(p, ins->type, false, ins->dst, MAX_DST) != ins->count)
            ptx_refuse(p, "expected %d registers", ins->count);
    } else {
        ins->dst[0] = ptx_register(p, ins->type, true);
    }
    ptx_expect(p, ',');
    ptx_address(p, ins, ins->space);
}

static void decode_st(PtxParser *p, Modifiers *m, Ins *ins) {
    ins->flag = take_order(m);
    take_element(p, m, ins);
    if (ins->space == SPACE_PARAM || ins->space == SPACE_CONST)
        ptx_refuse(p, "parameters and constants cannot be stored");
    ins->run = emu_do_store;
    ptx_address(p, ins, ins->space);
    ptx_expect(p, ',');
    ins->nsrc = (uint8_t)(1 + ins->count);
    if (ins->count > 1) {
        if (ptx_vector(p, ins->type, true, ins->src + 1, MAX_DST) != ins->count)
            ptx_refuse(p, "expected %d registers", ins->count);
    } else {
        ins->src[1] = ptx_source(p, ins->type, true);
    }
}

static bool atom_supports(AtomOp op, PtxType t) {
    EmuKind k = ptx_info[t].kind;
    int bits = ptx_info[t].bits;
    if (bits < 32) return false;
    switch (op) {
    case ATOM_ADD: return k != KIND_BITS;
    case ATOM_MIN:
    case ATOM_MAX: return k == KIND_SIGNED || k == KIND_UNSIGNED;
    case ATOM_INC:
    case ATOM_DEC: return t == PTX_U32;
    default: return k == KIND_BITS;
    }
}

// atom.relaxed.gpu.global.add.u32 %d, [a], b; red without a result
static void decode_atom(PtxParser *p, Modifiers *m, Ins *ins, bool result) {
    int op = 0;
    take_order(m);
    ins->space = take_space(p, m);
    if (ins->space != SPACE_GLOBAL && ins->space != SPACE_SHARED)
        ptx_refuse(p, "atomics are for global and shared memory");
    if (!take_any(m, NAMES("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"),
                  &op))
        ptx_refuse(p, "unknown atomic operation");
    ins->type = take_type(p, m);
    if (!atom_supports((AtomOp)op, ins->type))
        ptx_refuse(p, "no atomic of this kind for .%s", ptx_info[ins->type].name);
    ins->what = (uint8_t)op;
    ins->run = emu_do_atom;
    ins->count = 1;
    if (result) {
        ins->ndst = 1;
        ins->dst[0] = ptx_register(p, ins->type, false);
        ptx_expect(p, ',');
    }
    ptx_address(p, ins, ins->space);
    for (int i = 0; i < (op == ATOM_CAS ? 2 : 1); i++) {
        ptx_expect(p, ',');
        ins->src[ins->nsrc++] = ptx_source(p, ins->type, false);
    }
}

// cp.async.cg.shared.global [s], [g], 16, bytes; commit_group; wait_group n; wait_all
static void decode_cp(PtxParser *p, Modifiers *m, Ins *ins) {
    if (!take(m, "async")) ptx_refuse(p, "unknown form of cp");
    if (take(m, "commit_group")) {
        ins->run = emu_do_commit;
    } else if (take(m, "wait_all")) {
        ins->run = emu_do_wait;
        ins->flag = true;
    } else if (take(m, "wait_group")) {
        ins->run = emu_do_wait;
        ins->offset = ptx_integer(p);
    } else {
        bool cg = take(m, "cg");
        if (!cg && !take(m, "ca"))
            ptx_refuse(p, "the emulator does not know this form of cp.async");
        if (!take(m, "shared") && !take(m, "shared::cta"))
            ptx_refuse(p, "cp.async writes shared memory");
        if (!take(m, "global")) ptx_refuse(p, "cp.async reads global memory");
        take_hints(p, m, SPACE_SHARED);
        Ins source = {0};
        ptx_address(p, ins, SPACE_SHARED);
        ptx_expect(p, ',');
        ptx_address(p, &source, SPACE_GLOBAL);
        ptx_expect(p, ',');
        int64_t bytes = ptx_integer(p);
        if (bytes != 16 && (cg || (bytes != 4 && bytes != 8)))
            ptx_refuse(p, "cp.async copies 4, 8 or 16 bytes, with .cg only 16");
        ins->run = emu_do_cp_async;
        ins->what = (uint8_t)bytes;
        ins->what2 = cg ? ACCESS_READ : ACCESS_READ_L1;
        ins->src[1] = source.src[0];
        ins->src[2] = ptx_constant(p, (uint64_t)source.offset, 64);
        ins->src[3] = ptx_constant(p, (uint64_t)bytes, 32);
        if (ptx_accept(p, ',')) ins->src[3] = ptx_source(p, PTX_U32, false);
        ins->nsrc = 4;
    }
}

// --- Barriers, shuffles and votes ----------------------------------------------------------------

static void decode_bar(PtxParser *p, Modifiers *m, Ins *ins) {
    take(m, "cta");
    if (take(m, "warp")) {
        if (!take(m, "sync")) ptx_refuse(p, "unknown form of bar.warp");
        ins->run = emu_do_warp_barrier;
        ins->src[ins->nsrc++] = ptx_source(p, PTX_U32, false);
        return;
    }
    bool arrive = take(m, "arrive");
    if (!arrive && !take(m, "sync")) ptx_refuse(p, "the emulator knows bar.sync and bar.arrive");
    take(m, "aligned");
    ins->run = arrive ? emu_do_arrive : emu_do_barrier;
    ins->src[ins->nsrc++] = ptx_source(p, PTX_U32, false);
    if (ptx_accept(p, ',')) ins->src[ins->nsrc++] = ptx_source(p, PTX_U32, false);
    if (arrive && ins->nsrc < 2) ptx_refuse(p, "bar.arrive needs a number of threads");
}

// shfl.sync.bfly.b32 %d|%p, a, b, c, mask
static void decode_shfl(PtxParser *p, Modifiers *m, Ins *ins) {
    int mode = 0;
    if (!take(m, "sync")) ptx_refuse(p, "shfl needs .sync");
    if (!take_any(m, NAMES("up", "down", "bfly", "idx"), &mode))
        ptx_refuse(p, "unknown form of shfl");
    if (!take(m, "b32")) ptx_refuse(p, "shfl needs .b32");
    ins->run = emu_do_shuffle;
    ins->what = (uint8_t)mode;
    ins->ndst = 1;
    ins->nsrc = 4;
    ins->dst[0] = ptx_register(p, PTX_B32, false);
    if (ptx_accept(p, '|')) ins->dst[ins->ndst++] = ptx_predicate(p, false);
    for (int i = 0; i < 4; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_source(p, PTX_B32, false);
    }
}

static void decode_vote(PtxParser *p, Modifiers *m, Ins *ins) {
    int mode = 0;
    if (!take(m, "sync")) ptx_refuse(p, "vote needs .sync");
    if (!take_any(m, NAMES("all", "any", "uni", "ballot"), &mode))
        ptx_refuse(p, "unknown form of vote");
    ins->what = (uint8_t)mode;
    ins->ndst = 1;
    ins->nsrc = 2;
    if (mode == 3) {
        if (!take(m, "b32")) ptx_refuse(p, "vote.sync.ballot needs .b32");
        ins->run = emu_do_ballot;
        ins->dst[0] = ptx_register(p, PTX_B32, false);
    } else {
        if (!take(m, "pred")) ptx_refuse(p, "vote needs .pred");
        ins->run = emu_do_vote;
        ins->dst[0] = ptx_predicate(p, false);
    }
    ptx_expect(p, ',');
    ins->src[0] = ptx_predicate(p, true);
    ptx_expect(p, ',');
    ins->src[1] = ptx_source(p, PTX_B32, false);
}

static void decode_redux(PtxParser *p, Modifiers *m, Ins *ins) {
    int op = 0;
    if (!take(m, "sync")) ptx_refuse(p, "redux needs .sync");
    if (!take_any(m, NAMES("add", "min", "max", "and", "or", "xor"), &op))
        ptx_refuse(p, "unknown form of redux");
    ins->type = take_type(p, m);
    if (ptx_info[ins->type].bits != 32 || ins->type == PTX_F32 ||
        (op < 3) != (ins->type != PTX_B32))
        ptx_refuse(p, "redux does not take .%s", ptx_info[ins->type].name);
    ins->run = emu_do_redux;
    ins->what = (uint8_t)op;
    ins->ndst = 1;
    ins->nsrc = 2;
    ins->dst[0] = ptx_register(p, ins->type, false);
    for (int i = 0; i < 2; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_source(p, PTX_B32, false);
    }
}

// mapa.shared::cluster.u32 %d, address, rank
static void decode_mapa(PtxParser *p, Modifiers *m, Ins *ins) {
    if (!take(m, "shared::cluster") || !take(m, "u32"))
        ptx_refuse(p, "the emulator knows mapa.shared::cluster.u32 only");
    ins->run = emu_do_mapa;
    ins->ndst = 1;
    ins->nsrc = 2;
    ins->dst[0] = ptx_register(p, PTX_U32, false);
    for (int i = 0; i < 2; i++) {
        ptx_expect(p, ',');
        ins->src[i] = ptx_source(p, PTX_U32, false);
    }
}

// Without a qualifier, arrivals release and waits acquire.
static void decode_cluster_barrier(PtxParser *p, Modifiers *m, Ins *ins) {
    bool arrive = take(m, "arrive");
    if (!arrive && !take(m, "wait")) ptx_refuse(p, "unknown form of barrier.cluster");
    take(m, arrive ? "release" : "acquire");
    if (!take(m, "aligned")) ptx_refuse(p, "the emulator knows barrier.cluster with .aligned only");
    ins->run = arrive ? emu_do_cluster_arrive : emu_do_cluster_wait;
}

static void decode_branch(PtxParser *p, Modifiers *m, Ins *ins) {
    ins->flag = take(m, "uni");
    ins->run = emu_do_branch;
    ins->offset = ptx_label(p, ptx_identifier(p));
}

// --- All instructions ----------------------------------------------------------------------------

static bool decode_control(PtxParser *p, PtxWord name, Modifiers *m, Ins *ins) {
    if (ptx_word_is(name, "bra")) {
        decode_branch(p, m, ins);
    } else if (ptx_word_is(name, "ret") || ptx_word_is(name, "exit")) {
        take(m, "uni");
        ins->run = emu_do_return;
    } else if (ptx_word_is(name, "trap")) {
        ins->run = emu_do_trap;
    } else if (ptx_word_is(name, "barrier") && take(m, "cluster")) {
        decode_cluster_barrier(p, m, ins);
    } else if (ptx_word_is(name, "bar") || ptx_word_is(name, "barrier")) {
        decode_bar(p, m, ins);
    } else if (ptx_word_is(name, "membar") || ptx_word_is(name, "fence") ||
               ptx_word_is(name, "griddepcontrol")) {
        // The emulator performs every access at once, and only barriers order threads.
        m->next = m->n;
        ins->run = emu_do_nothing;
    } else if (ptx_word_is(name, "prefetch")) {
        m->next = m->n;
        ins->run = emu_do_nothing;
        ptx_address(p, ins, SPACE_GLOBAL);
    } else {
        return false;
    }
    return true;
}

static bool decode_logic(PtxParser *p, PtxWord name, Modifiers *m, Ins *ins) {
    if (!take(m, "pred")) return false;
    if (ptx_word_is(name, "and"))
        decode_predicate(p, m, ins, emu_do_pred_and, 2);
    else if (ptx_word_is(name, "or"))
        decode_predicate(p, m, ins, emu_do_pred_or, 2);
    else if (ptx_word_is(name, "xor"))
        decode_predicate(p, m, ins, emu_do_pred_xor, 2);
    else if (ptx_word_is(name, "not"))
        decode_predicate(p, m, ins, emu_do_pred_not, 1);
    else
        return false;
    return true;
}

static bool decode_data(PtxParser *p, PtxWord name, Modifiers *m, Ins *ins) {
    if (ptx_word_is(name, "mov"))
        decode_mov(p, m, ins);
    else if (ptx_word_is(name, "selp"))
        decode_selp(p, m, ins);
    else if (ptx_word_is(name, "setp"))
        decode_setp(p, m, ins);
    else if (ptx_word_is(name, "cvt"))
        decode_cvt(p, m, ins);
    else if (ptx_word_is(name, "lop3"))
        decode_lop3(p, m, ins);
    else if (ptx_word_is(name, "ld"))
        decode_ld(p, m, ins);
    else if (ptx_word_is(name, "st"))
        decode_st(p, m, ins);
    else if (ptx_word_is(name, "atom"))
        decode_atom(p, m, ins, true);
    else if (ptx_word_is(name, "red"))
        decode_atom(p, m, ins, false);
    else if (ptx_word_is(name, "cp"))
        decode_cp(p, m, ins);
    else if (ptx_word_is(name, "shfl"))
        decode_shfl(p, m, ins);
    else if (ptx_word_is(name, "vote"))
        decode_vote(p, m, ins);
    else if (ptx_word_is(name, "redux"))
        decode_redux(p, m, ins);
    else if (ptx_word_is(name, "mapa"))
        decode_mapa(p, m, ins);
    else
        return false;
    return true;
}

void ptx_decode(PtxParser *p, PtxWord mnemonic, Ins *ins) {
    const Op *op = emu_find_op(p, mnemonic);
    if (op) {
        decode_op(p, op, ins);
        return;
    }
    Modifiers m = split(mnemonic);
    PtxWord name = m.at[m.next++];
    if (ptx_word_is(name, "cvta")) { // generic addresses equal those of global memory
        if (!take(&m, "to") || !take(&m, "global") || !take(&m, "u64"))
            ptx_refuse(p, "the emulator knows cvta.to.global.u64 only");
        ins->run = emu_do_move;
        ins->ndst = ins->nsrc = 1;
        ins->dst[0] = ptx_register(p, PTX_U64, false);
        ptx_expect(p, ',');
        ins->src[0] = ptx_source(p, PTX_U64, false);
    } else if (ptx_word_is(name, "activemask")) {
        if (!take(&m, "b32")) ptx_refuse(p, "activemask needs .b32");
        ins->run = emu_do_active;
        ins->ndst = 1;
        ins->dst[0] = ptx_register(p, PTX_B32, false);
    } else if (!decode_control(p, name, &m, ins) && !decode_data(p, name, &m, ins) &&
               !decode_logic(p, name, &m, ins)) {
        ptx_refuse(p, "the emulator does not know '%.*s'", (int)mnemonic.len, mnemonic.s);
    }
    finish(p, &m);
}
