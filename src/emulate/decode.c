// Statements: the mnemonic's modifiers and the operands of each kind of instruction.
//
// Arithmetic is found by its whole spelling in ops.def; here are the families that have modifiers
// of their own. A modifier that does not change a result (cache hints) is skipped; one that is
// unknown is refused.
#include "emulate/impl.h"

#include <string.h>

Modifiers split(Word mnemonic) {
    Modifiers m = {.n = 0, .next = 0};
    const char *s = mnemonic.s, *end = s + mnemonic.len;
    while (s <= end && m.n < 12) {
        const char *dot = memchr(s, '.', (size_t)(end - s));
        if (!dot) dot = end;
        m.at[m.n++] = (Word){s, (size_t)(dot - s)};
        s = dot + 1;
    }
    return m;
}

bool take(Modifiers *m, const char *name) {
    if (m->next >= m->n || !word_is(m->at[m->next], name)) return false;
    m->next++;
    return true;
}

bool take_any(Modifiers *m, const char *const *names, int n, int *which) {
    for (int i = 0; i < n; i++)
        if (take(m, names[i])) {
            if (which) *which = i;
            return true;
        }
    return false;
}

PtxType take_type(Parser *p, Modifiers *m) {
    PtxType type = PTX_NONE;
    if (m->next < m->n) type = ptx_type(m->at[m->next].s, m->at[m->next].len);
    if (type == PTX_NONE) refuse(p, "'%.*s' needs a type", (int)m->at[0].len, m->at[0].s);
    m->next++;
    return type;
}

static void finish(Parser *p, const Modifiers *m) {
    if (m->next < m->n)
        refuse(p, "the emulator does not know .%.*s of '%.*s'", (int)m->at[m->next].len,
               m->at[m->next].s, (int)m->at[0].len, m->at[0].s);
}

#define NAMES(...)                                                                                 \
    (const char *const[]){__VA_ARGS__},                                                            \
        (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

// --- Arithmetic ----------------------------------------------------------------------------------

static void decode_op(Parser *p, const Op *op, Ins *ins) {
    ins->run = op->run;
    ins->plain = true;
    ins->ndst = 1;
    ins->nsrc = op->nsrc;
    ins->type = op->result;
    ins->dst[0] = register_operand(p, op->result, false);
    for (int i = 0; i < op->nsrc; i++) {
        expect(p, ',');
        ins->src[i] = source_operand(p, op->src[i], false);
    }
}

static void decode_lop3(Parser *p, Modifiers *m, Ins *ins) {
    if (!take(m, "b32")) refuse(p, "lop3 needs .b32");
    ins->run = exec_lop3;
    ins->ndst = 1;
    ins->nsrc = 3;
    ins->dst[0] = register_operand(p, PTX_B32, false);
    for (int i = 0; i < 3; i++) {
        expect(p, ',');
        ins->src[i] = source_operand(p, PTX_B32, false);
    }
    expect(p, ',');
    ins->what = (uint8_t)integer(p);
}

static void decode_predicate(Parser *p, Modifiers *m, Ins *ins, Exec *run, int nsrc) {
    m->next = m->n;
    ins->run = run;
    ins->ndst = 1;
    ins->nsrc = (uint8_t)nsrc;
    ins->dst[0] = predicate_operand(p, false);
    for (int i = 0; i < nsrc; i++) {
        expect(p, ',');
        ins->src[i] = predicate_operand(p, false);
    }
}

// mov %d, a; mov %d, {a, b}; mov {%d, %e}, a
static void decode_mov(Parser *p, Modifiers *m, Ins *ins) {
    PtxType type = take_type(p, m), part = PTX_NONE;
    if (type == PTX_PRED) {
        decode_predicate(p, m, ins, exec_pred_move, 1);
        return;
    }
    if (type == PTX_B16) part = PTX_B8;
    if (type == PTX_B32) part = PTX_B16;
    if (type == PTX_B64) part = PTX_B32;
    ins->type = type;
    ins->ndst = ins->nsrc = 1;
    if (next_is(p, '{')) {
        if (part == PTX_NONE) refuse(p, "mov.%s has no parts", ptx_info[type].name);
        ins->run = exec_unpack;
        ins->ndst = (uint8_t)vector_operand(p, PTX_B16, false, ins->dst, MAX_DST);
        expect(p, ',');
        ins->src[0] = source_operand(p, type, false);
        ins->src[0].bits = (uint16_t)ptx_info[type].bits;
    } else {
        ins->dst[0] = register_operand(p, type, false);
        expect(p, ',');
        ins->run = exec_move;
        if (next_is(p, '{')) {
            ins->run = exec_pack;
            ins->nsrc = (uint8_t)vector_operand(p, PTX_B16, true, ins->src, MAX_DST);
        } else {
            ins->src[0] = source_operand(p, type, false);
        }
    }
    int parts = ins->run == exec_pack ? ins->nsrc : ins->ndst;
    if (ins->run == exec_move) return;
    if (parts != 2 && !(parts == 4 && type == PTX_B64)) refuse(p, "mov of %d parts", parts);
    for (int i = 0; i < parts; i++) {
        const Operand *o = ins->run == exec_pack ? &ins->src[i] : &ins->dst[i];
        if (!o->constant && o->bits != ptx_info[type].bits / parts)
            refuse(p, "a part of mov.%s has %d bits", ptx_info[type].name, o->bits);
    }
}

static void decode_selp(Parser *p, Modifiers *m, Ins *ins) {
    ins->type = take_type(p, m);
    ins->run = exec_select;
    ins->ndst = 1;
    ins->nsrc = 3;
    ins->dst[0] = register_operand(p, ins->type, false);
    for (int i = 0; i < 2; i++) {
        expect(p, ',');
        ins->src[i] = source_operand(p, ins->type, false);
    }
    expect(p, ',');
    ins->src[2] = predicate_operand(p, false);
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

static const Comparison *take_comparison(Parser *p, Modifiers *m) {
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (take(m, comparisons[i].name)) return &comparisons[i];
    refuse(p, "setp needs a comparison");
}

// setp.lt.and.s32 %p|%q, a, b, !%r
static void decode_setp(Parser *p, Modifiers *m, Ins *ins) {
    const Comparison *c = take_comparison(p, m);
    int combine = -1;
    take_any(m, NAMES("and", "or", "xor"), &combine);
    PtxType type = ins->type = take_type(p, m);
    Kind kind = ptx_info[type].kind;
    ins->run = compare_exec(type);
    if (!ins->run || (c->only_floats && kind != KIND_FLOAT) ||
        (c->only_unsigned && kind != KIND_UNSIGNED) ||
        (kind == KIND_BITS && strcmp(c->name, "eq") != 0 && strcmp(c->name, "ne") != 0))
        refuse(p, "setp.%s does not compare .%s", c->name, ptx_info[type].name);
    ins->what = c->holds;
    ins->what2 = (uint8_t)(combine + 1);
    ins->ndst = 1;
    ins->nsrc = 2;
    ins->dst[0] = predicate_operand(p, false);
    if (accept(p, '|')) ins->dst[ins->ndst++] = predicate_operand(p, false);
    for (int i = 0; i < 2; i++) {
        expect(p, ',');
        ins->src[i] = source_operand(p, type, false);
    }
    if (combine < 0) return;
    expect(p, ',');
    ins->src[ins->nsrc++] = predicate_operand(p, true);
}

// cvt.rn.f32.s32, cvt.rzi.s32.f32, cvt.u64.u32 ...
static void decode_cvt(Parser *p, Modifiers *m, Ins *ins) {
    int mode = -1;
    take_any(m, NAMES("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"), &mode);
    ins->flag = take(m, "sat");
    PtxType to = ins->type = take_type(p, m), from = ins->from = take_type(p, m);
    bool to_float = ptx_info[to].kind == KIND_FLOAT, from_float = ptx_info[from].kind == KIND_FLOAT;
    bool whole = mode >= 4;
    bool needs = to_float != from_float || (to_float && ptx_info[to].bits < ptx_info[from].bits);
    bool bits = ptx_info[to].kind == KIND_BITS || ptx_info[from].kind == KIND_BITS;
    if (bits || to == PTX_PRED || from == PTX_PRED) refuse(p, "cvt needs numbers");
    if (needs && mode < 0) refuse(p, "this cvt needs a rounding mode");
    if (from_float && !to_float && !whole)
        refuse(p, "cvt to an integer needs .rni, .rzi, .rmi or .rpi");
    if (to_float && !from_float && whole) refuse(p, "cvt of an integer needs .rn, .rz, .rm or .rp");
    if (!to_float && !from_float && mode >= 0) refuse(p, "cvt of integers has no rounding mode");
    if (to_float && from_float && mode >= 0 && !whole && !needs)
        refuse(p, "cvt to a wider float has no rounding mode");
    if (to_float && from_float && whole && to != from) refuse(p, "cvt.r?i needs equal types");
    ins->run = exec_convert;
    ins->what = (uint8_t)(mode < 0 ? 0 : mode % 4 + 1);
    ins->what2 = whole && to_float;
    ins->ndst = ins->nsrc = 1;
    ins->dst[0] = register_operand(p, to, true);
    expect(p, ',');
    ins->src[0] = source_operand(p, from, true);
}

// --- Memory --------------------------------------------------------------------------------------

static Space take_space(Parser *p, Modifiers *m) {
    if (take(m, "global")) return SPACE_GLOBAL;
    if (take(m, "shared") || take(m, "shared::cta")) return SPACE_SHARED;
    if (take(m, "local")) return SPACE_LOCAL;
    if (take(m, "param")) return SPACE_PARAM;
    refuse(p, "'%.*s' needs a state space; the emulator has no generic addresses",
           (int)m->at[0].len, m->at[0].s);
}

static bool is_hint(Word w) {
    static const char *const hints[] = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (word_is(w, hints[i])) return true;
    return w.len > 4 && (memcmp(w.s, "L1::", 4) == 0 || memcmp(w.s, "L2::", 4) == 0);
}

// relaxed.gpu: accesses that never race with each other.
static bool take_order(Modifiers *m) {
    if (take_any(m, NAMES("relaxed", "acquire", "release", "acq_rel"), NULL)) {
        take_any(m, NAMES("cta", "cluster", "gpu", "sys"), NULL);
        return true;
    }
    return !take(m, "weak") && take(m, "volatile");
}

static void take_element(Parser *p, Modifiers *m, Ins *ins) {
    ins->space = take_space(p, m);
    while (m->next < m->n && is_hint(m->at[m->next])) m->next++;
    ins->count = take(m, "v2") ? 2 : take(m, "v4") ? 4 : 1;
    ins->type = take_type(p, m);
    if (ins->type == PTX_PRED || ins->count * ptx_info[ins->type].bits > 128)
        refuse(p, "an access of at most 16 bytes was expected");
}

static void decode_ld(Parser *p, Modifiers *m, Ins *ins) {
    ins->flag = take_order(m);
    take_element(p, m, ins);
    ins->run = exec_load;
    ins->ndst = ins->count;
    if (ins->count > 1) {
        if (vector_operand(p, ins->type, false, ins->dst, MAX_DST) != ins->count)
            refuse(p, "expected %d registers", ins->count);
    } else {
        ins->dst[0] = register_operand(p, ins->type, true);
    }
    expect(p, ',');
    address_operand(p, ins, ins->space);
}

static void decode_st(Parser *p, Modifiers *m, Ins *ins) {
    ins->flag = take_order(m);
    take_element(p, m, ins);
    if (ins->space == SPACE_PARAM) refuse(p, "parameters cannot be stored");
    ins->run = exec_store;
    address_operand(p, ins, ins->space);
    expect(p, ',');
    ins->nsrc = (uint8_t)(1 + ins->count);
    if (ins->count > 1) {
        if (vector_operand(p, ins->type, true, ins->src + 1, MAX_DST) != ins->count)
            refuse(p, "expected %d registers", ins->count);
    } else {
        ins->src[1] = source_operand(p, ins->type, true);
    }
}

static bool atom_supports(AtomOp op, PtxType t) {
    Kind k = ptx_info[t].kind;
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
static void decode_atom(Parser *p, Modifiers *m, Ins *ins, bool result) {
    int op = 0;
    take_order(m);
    ins->space = take_space(p, m);
    if (ins->space != SPACE_GLOBAL && ins->space != SPACE_SHARED)
        refuse(p, "atomics are for global and shared memory");
    if (!take_any(m, NAMES("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"),
                  &op))
        refuse(p, "unknown atomic operation");
    ins->type = take_type(p, m);
    if (!atom_supports((AtomOp)op, ins->type))
        refuse(p, "no atomic of this kind for .%s", ptx_info[ins->type].name);
    ins->what = (uint8_t)op;
    ins->run = exec_atom;
    ins->count = 1;
    if (result) {
        ins->ndst = 1;
        ins->dst[0] = register_operand(p, ins->type, false);
        expect(p, ',');
    }
    address_operand(p, ins, ins->space);
    for (int i = 0; i < (op == ATOM_CAS ? 2 : 1); i++) {
        expect(p, ',');
        ins->src[ins->nsrc++] = source_operand(p, ins->type, false);
    }
}

// cp.async.cg.shared.global [s], [g], 16, bytes; commit_group; wait_group n; wait_all
static void decode_cp(Parser *p, Modifiers *m, Ins *ins) {
    if (!take(m, "async")) refuse(p, "unknown form of cp");
    if (take(m, "commit_group")) {
        ins->run = exec_commit;
    } else if (take(m, "wait_all")) {
        ins->run = exec_wait;
        ins->flag = true;
    } else if (take(m, "wait_group")) {
        ins->run = exec_wait;
        ins->offset = integer(p);
    } else {
        bool cg = take(m, "cg");
        if (!cg && !take(m, "ca")) refuse(p, "the emulator does not know this form of cp.async");
        if (!take(m, "shared") && !take(m, "shared::cta"))
            refuse(p, "cp.async writes shared memory");
        if (!take(m, "global")) refuse(p, "cp.async reads global memory");
        while (m->next < m->n && is_hint(m->at[m->next])) m->next++;
        Ins source = {0};
        address_operand(p, ins, SPACE_SHARED);
        expect(p, ',');
        address_operand(p, &source, SPACE_GLOBAL);
        expect(p, ',');
        int64_t bytes = integer(p);
        if (bytes != 16 && (cg || (bytes != 4 && bytes != 8)))
            refuse(p, "cp.async copies 4, 8 or 16 bytes, with .cg only 16");
        ins->run = exec_cp_async;
        ins->what = (uint8_t)bytes;
        ins->src[1] = source.src[0];
        ins->src[2] = constant_row(p, (uint64_t)source.offset, 64);
        ins->src[3] = constant_row(p, (uint64_t)bytes, 32);
        if (accept(p, ',')) ins->src[3] = source_operand(p, PTX_U32, false);
        ins->nsrc = 4;
    }
}

// --- Threads together ----------------------------------------------------------------------------

static void decode_bar(Parser *p, Modifiers *m, Ins *ins) {
    take(m, "cta");
    if (take(m, "warp")) {
        if (!take(m, "sync")) refuse(p, "unknown form of bar.warp");
        ins->run = exec_warp_barrier;
        ins->src[ins->nsrc++] = source_operand(p, PTX_U32, false);
        return;
    }
    bool arrive = take(m, "arrive");
    if (!arrive && !take(m, "sync")) refuse(p, "the emulator knows bar.sync and bar.arrive");
    take(m, "aligned");
    ins->run = arrive ? exec_arrive : exec_barrier;
    ins->src[ins->nsrc++] = source_operand(p, PTX_U32, false);
    if (accept(p, ',')) ins->src[ins->nsrc++] = source_operand(p, PTX_U32, false);
    if (arrive && ins->nsrc < 2) refuse(p, "bar.arrive needs a number of threads");
}

// shfl.sync.bfly.b32 %d|%p, a, b, c, mask
static void decode_shfl(Parser *p, Modifiers *m, Ins *ins) {
    int mode = 0;
    if (!take(m, "sync")) refuse(p, "shfl needs .sync");
    if (!take_any(m, NAMES("up", "down", "bfly", "idx"), &mode)) refuse(p, "unknown form of shfl");
    if (!take(m, "b32")) refuse(p, "shfl needs .b32");
    ins->run = exec_shuffle;
    ins->what = (uint8_t)mode;
    ins->ndst = 1;
    ins->nsrc = 4;
    ins->dst[0] = register_operand(p, PTX_B32, false);
    if (accept(p, '|')) ins->dst[ins->ndst++] = predicate_operand(p, false);
    for (int i = 0; i < 4; i++) {
        expect(p, ',');
        ins->src[i] = source_operand(p, PTX_B32, false);
    }
}

static void decode_vote(Parser *p, Modifiers *m, Ins *ins) {
    int mode = 0;
    if (!take(m, "sync")) refuse(p, "vote needs .sync");
    if (!take_any(m, NAMES("all", "any", "uni", "ballot"), &mode))
        refuse(p, "unknown form of vote");
    ins->what = (uint8_t)mode;
    ins->ndst = 1;
    ins->nsrc = 2;
    if (mode == 3) {
        if (!take(m, "b32")) refuse(p, "vote.sync.ballot needs .b32");
        ins->run = exec_ballot;
        ins->dst[0] = register_operand(p, PTX_B32, false);
    } else {
        if (!take(m, "pred")) refuse(p, "vote needs .pred");
        ins->run = exec_vote;
        ins->dst[0] = predicate_operand(p, false);
    }
    expect(p, ',');
    ins->src[0] = predicate_operand(p, true);
    expect(p, ',');
    ins->src[1] = source_operand(p, PTX_B32, false);
}

static void decode_redux(Parser *p, Modifiers *m, Ins *ins) {
    int op = 0;
    if (!take(m, "sync")) refuse(p, "redux needs .sync");
    if (!take_any(m, NAMES("add", "min", "max", "and", "or", "xor"), &op))
        refuse(p, "unknown form of redux");
    ins->type = take_type(p, m);
    if (ptx_info[ins->type].bits != 32 || ins->type == PTX_F32 ||
        (op < 3) != (ins->type != PTX_B32))
        refuse(p, "redux does not take .%s", ptx_info[ins->type].name);
    ins->run = exec_redux;
    ins->what = (uint8_t)op;
    ins->ndst = 1;
    ins->nsrc = 2;
    ins->dst[0] = register_operand(p, ins->type, false);
    for (int i = 0; i < 2; i++) {
        expect(p, ',');
        ins->src[i] = source_operand(p, PTX_B32, false);
    }
}

static void decode_branch(Parser *p, Modifiers *m, Ins *ins) {
    ins->flag = take(m, "uni");
    ins->run = exec_branch;
    ins->offset = label_number(p, identifier(p));
}

// --- All -----------------------------------------------------------------------------------------

static bool decode_control(Parser *p, Word name, Modifiers *m, Ins *ins) {
    if (word_is(name, "bra")) {
        decode_branch(p, m, ins);
    } else if (word_is(name, "ret") || word_is(name, "exit")) {
        take(m, "uni");
        ins->run = exec_return;
    } else if (word_is(name, "trap")) {
        ins->run = exec_trap;
    } else if (word_is(name, "bar") || word_is(name, "barrier")) {
        decode_bar(p, m, ins);
    } else if (word_is(name, "membar") || word_is(name, "fence") ||
               word_is(name, "griddepcontrol")) {
        // The emulator performs every access at once; barriers alone order threads.
        m->next = m->n;
        ins->run = exec_nothing;
    } else if (word_is(name, "prefetch")) {
        m->next = m->n;
        ins->run = exec_nothing;
        address_operand(p, ins, SPACE_GLOBAL);
    } else {
        return false;
    }
    return true;
}

static bool decode_logic(Parser *p, Word name, Modifiers *m, Ins *ins) {
    if (!take(m, "pred")) return false;
    if (word_is(name, "and"))
        decode_predicate(p, m, ins, exec_pred_and, 2);
    else if (word_is(name, "or"))
        decode_predicate(p, m, ins, exec_pred_or, 2);
    else if (word_is(name, "xor"))
        decode_predicate(p, m, ins, exec_pred_xor, 2);
    else if (word_is(name, "not"))
        decode_predicate(p, m, ins, exec_pred_not, 1);
    else
        return false;
    return true;
}

static bool decode_data(Parser *p, Word name, Modifiers *m, Ins *ins) {
    if (word_is(name, "mov"))
        decode_mov(p, m, ins);
    else if (word_is(name, "selp"))
        decode_selp(p, m, ins);
    else if (word_is(name, "setp"))
        decode_setp(p, m, ins);
    else if (word_is(name, "cvt"))
        decode_cvt(p, m, ins);
    else if (word_is(name, "lop3"))
        decode_lop3(p, m, ins);
    else if (word_is(name, "ld"))
        decode_ld(p, m, ins);
    else if (word_is(name, "st"))
        decode_st(p, m, ins);
    else if (word_is(name, "atom"))
        decode_atom(p, m, ins, true);
    else if (word_is(name, "red"))
        decode_atom(p, m, ins, false);
    else if (word_is(name, "cp"))
        decode_cp(p, m, ins);
    else if (word_is(name, "shfl"))
        decode_shfl(p, m, ins);
    else if (word_is(name, "vote"))
        decode_vote(p, m, ins);
    else if (word_is(name, "redux"))
        decode_redux(p, m, ins);
    else
        return false;
    return true;
}

void decode(Parser *p, Word mnemonic, Ins *ins) {
    const Op *op = find_op(p, mnemonic);
    if (op) {
        decode_op(p, op, ins);
        return;
    }
    Modifiers m = split(mnemonic);
    Word name = m.at[m.next++];
    if (word_is(name, "cvta")) { // generic addresses are those of global memory
        if (!take(&m, "to") || !take(&m, "global") || !take(&m, "u64"))
            refuse(p, "the emulator knows cvta.to.global.u64 only");
        ins->run = exec_move;
        ins->ndst = ins->nsrc = 1;
        ins->dst[0] = register_operand(p, PTX_U64, false);
        expect(p, ',');
        ins->src[0] = source_operand(p, PTX_U64, false);
    } else if (word_is(name, "activemask")) {
        if (!take(&m, "b32")) refuse(p, "activemask needs .b32");
        ins->run = exec_active;
        ins->ndst = 1;
        ins->dst[0] = register_operand(p, PTX_B32, false);
    } else if (!decode_control(p, name, &m, ins) && !decode_data(p, name, &m, ins) &&
               !decode_logic(p, name, &m, ins)) {
        refuse(p, "the emulator does not know '%.*s'", (int)mnemonic.len, mnemonic.s);
    }
    finish(p, &m);
}
