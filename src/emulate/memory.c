// Loads, stores, atomics and cp.async, with the checks on addresses and on undefined values.
#include "emulate/warp.h"

#include <stdio.h>
#include <string.h>

// --- Places --------------------------------------------------------------------------------------

// Describes the range for messages: the buffer's name, and the byte in it.
void emu_describe(const EmuMachine *m, const EmuPlace *at, char *into, size_t size) {
    if (!at->buffer)
        snprintf(into, size, "byte %zu of shared memory", at->offset);
    else if (at->buffer->name)
        snprintf(into, size, "byte %zu of buffer '%s'", at->offset, at->buffer->name);
    else
        snprintf(into, size, "byte %zu of buffer %d", at->offset,
                 (int)(at->buffer - m->memory->at));
}

static const char *access_name(const Ins *ins) {
    if (ins->run == emu_do_load) return "reads";
    return ins->run == emu_do_store ? "writes" : "accesses";
}

_Noreturn static void outside(Warp *w, int lane, const EmuPlace *at, int64_t offset, int bytes) {
    static const char *const spaces[] = {"global memory", "shared memory",  "shared memory",
                                         "local memory",  "the parameters", "constant memory"};
    char name[64];
    snprintf(name, sizeof name, "%s", spaces[w->m->current->space]);
    if (w->m->current->run == emu_do_cp_async) snprintf(name, sizeof name, "shared memory");
    if (at->buffer && at->buffer->name)
        snprintf(name, sizeof name, "buffer '%s'", at->buffer->name);
    else if (at->buffer)
        snprintf(name, sizeof name, "buffer %d", (int)(at->buffer - w->m->memory->at));
    if (offset < 0)
        emu_fault(w, lane, "%s %d bytes, %lld before the beginning of %s",
                  access_name(w->m->current), bytes, (long long)-offset, name);
    emu_fault(w, lane, "%s %d bytes at byte %lld of %s, which has %zu", access_name(w->m->current),
              bytes, (long long)offset, name, at->size);
}

static EmuPlace locate_global(Warp *w, int lane, uint64_t address) {
    EmuMemory *memory = w->m->memory;
    uint64_t slot = (address >> EMU_SLOT_SHIFT) - 1;
    if (slot >= (uint64_t)memory->n || !memory->at[slot].address)
        emu_fault(w, lane, "%s address 0x%llx, which belongs to no buffer",
                  access_name(w->m->current), (unsigned long long)address);
    EmuBuffer *b = &memory->at[slot];
    return (EmuPlace){b->data, b->defined, &w->m->global_shadow[slot], b, 0, b->bytes};
}

EmuPlace emu_locate(Warp *w, int lane, EmuSpace space, uint64_t address, int bytes, bool aligned) {
    EmuMachine *m = w->m;
    EmuPlace p;
    int64_t offset;
    if (space == SPACE_GLOBAL) {
        p = locate_global(w, lane, address);
        offset = (int64_t)(address - p.buffer->address);
    } else if (space == SPACE_SHARED) {
        EmuBlock *b = w->b;
        p = (EmuPlace){b->shared, b->shared_state, &b->shared_shadow, NULL, 0, m->shared_bytes};
        offset = (int64_t)address - SHARED_BASE;
    } else if (space == SPACE_CLUSTER) {
        EmuBlock *b = emu_remote(w, lane, address);
        p = (EmuPlace){b->shared, b->shared_state, &b->shared_shadow, NULL, 0, m->shared_bytes};
        offset = (int64_t)(address & ((1u << RANK_SHIFT) - 1)) - SHARED_BASE;
    } else if (space == SPACE_LOCAL) {
        size_t size = (size_t)m->entry->info.local_bytes;
        uint8_t *data = w->local + 2 * size * (size_t)lane;
        p = (EmuPlace){data, data + size, NULL, NULL, 0, size};
        offset = (int64_t)address;
    } else if (space == SPACE_CONST) {
        p = (EmuPlace){m->module->constants.at,       NULL, NULL, NULL, 0,
                       (size_t)m->module->constants.n};
        offset = (int64_t)address;
    } else {
        p = (EmuPlace){m->params, NULL, NULL, NULL, 0, m->entry->param_bytes};
        offset = (int64_t)address;
    }
    if (offset < 0 || (uint64_t)offset > p.size || (uint64_t)bytes > p.size - (uint64_t)offset)
        outside(w, lane, &p, offset, bytes);
    if (aligned && address % (uint64_t)bytes)
        emu_fault(w, lane, "%s %d bytes at address 0x%llx, which is not a multiple of %d",
                  access_name(m->current), bytes, (unsigned long long)address, bytes);
    p.offset = (size_t)offset;
    p.data += offset;
    if (p.state) p.state += offset;
    return p;
}

void emu_fault_undefined(Warp *w, int lane, const char *what, const EmuOperand *o) {
    const char *name = w->m->entry->reg_names[o->id];
    char place[128];
    if (!w->hole_line) emu_fault(w, lane, "%s %s is undefined", what, name);
    emu_describe(w->m, &w->hole, place, sizeof place);
    emu_fault(w, lane, "%s %s is undefined; line %d loaded %s, which nothing had written", what,
              name, w->hole_line, place);
}

// Ends the launch if the register is undefined in a lane of the mask.
static void need_defined(Warp *w, const EmuOperand *o, uint32_t mask, const char *what) {
    uint32_t bad = mask & ~w->defined[o->id];
    if (bad) emu_fault_undefined(w, __builtin_ctz(bad), what, o);
}

// Are all of these bytes defined?
static inline bool all_defined(const uint8_t *state, size_t n) {
    uint32_t word;
    for (; n >= 4; n -= 4, state += 4) {
        memcpy(&word, state, 4);
        if (word != 0x01010101 * STATE_DEFINED) return false;
    }
    while (n && *state == STATE_DEFINED) n--, state++;
    return n == 0;
}

static void not_in_flight(Warp *w, int lane, const EmuPlace *at, int bytes) {
    if (at->buffer || !at->state || all_defined(at->state, (size_t)bytes)) return;
    for (int i = 0; i < bytes; i++)
        if (at->state[i] == STATE_IN_FLIGHT)
            emu_fault(
                w, lane,
                "%s byte %zu of shared memory, which a cp.async is writing: its thread has not "
                "waited for it yet",
                access_name(w->m->current), at->offset + (size_t)i);
}

// --- Counts --------------------------------------------------------------------------------------

static void count_access(Warp *w, const Ins *ins, uint32_t mask, const uint64_t *address, int bytes,
                         bool load) {
    EmuCounts *c = w->m->counts;
    if (ins->space == SPACE_SHARED || ins->space == SPACE_CLUSTER) {
        uint32_t at[LANES];
        int ideal = 0;
        for (int l = 0; l < LANES; l++) at[l] = (uint32_t)address[l];
        c->shared_wavefronts += emu_wavefronts(at, mask, bytes, load, &ideal);
        c->shared_ideal += ideal;
    } else if (ins->space == SPACE_GLOBAL) {
        int lanes = __builtin_popcount(mask), moved = emu_sectors(address, mask, bytes);
        EmuBuffer *b = &w->m->memory->at[(address[__builtin_ctz(mask)] >> EMU_SLOT_SHIFT) - 1];
        *(load ? &c->load_sectors : &c->store_sectors) += moved;
        *(load ? &c->load_bytes : &c->store_bytes) += lanes * bytes;
        *(load ? &b->traffic.load_sectors : &b->traffic.store_sectors) += moved;
        *(load ? &b->traffic.loaded : &b->traffic.stored) += lanes * bytes;
    }
}

// --- Loads and stores ----------------------------------------------------------------------------

// The little-endian value of 1, 2, 4 or 8 bytes.
static inline uint64_t get(const uint8_t *from, size_t size) {
    uint64_t value = 0;
    switch (size) {
    case 1: return *from;
    case 2: memcpy(&value, from, 2); break;
    case 4: memcpy(&value, from, 4); break;
    default: memcpy(&value, from, 8); break;
    }
    return value;
}

static uint64_t extend(PtxType type, uint64_t value) {
    int bits = ptx_info[type].bits;
    if (ptx_info[type].kind == KIND_SIGNED && bits < 64 && value >> (bits - 1) & 1)
        value |= ~0ull << bits;
    return value;
}

static void load_lane(Warp *w, const Ins *ins, int lane, const EmuPlace *at, uint32_t *defined) {
    size_t size = (size_t)ptx_info[ins->type].bits / 8;
    for (int e = 0; e < ins->count; e++) {
        uint64_t value = get(at->data + (size_t)e * size, size);
        if (!at->state || all_defined(at->state + (size_t)e * size, size)) {
            defined[e] |= 1u << lane;
        } else if (w->hole_line != ins->line) {
            w->hole_line = ins->line;
            w->hole = *at;
        }
        set_lane(w, &ins->dst[e], lane, extend(ins->type, value));
    }
}

// The operand with its offset; addresses in shared memory have 32 bits.
static uint64_t lane_address(const Warp *w, const Ins *ins, int lane) {
    uint64_t address = lane_bits(w, &ins->src[0], lane) + (uint64_t)ins->offset;
    bool shared = ins->space == SPACE_SHARED || ins->space == SPACE_CLUSTER;
    return shared ? (uint32_t)address : address;
}

void emu_do_load(Warp *w, const Ins *ins, uint32_t mask) {
    int bytes = ins->count * ptx_info[ins->type].bits / 8;
    uint32_t defined[MAX_DST] = {0};
    uint64_t address[LANES];
    need_defined(w, &ins->src[0], mask, "the address");
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        address[l] = lane_address(w, ins, l);
        EmuPlace at = emu_locate(w, l, ins->space, address[l], bytes, true);
        if (at.shadow) {
            not_in_flight(w, l, &at, bytes);
            emu_access(w, l, &at, bytes, ins->flag ? ACCESS_ATOMIC_READ : (AccessKind)ins->what,
                       false);
        }
        load_lane(w, ins, l, &at, defined);
    }
    for (int e = 0; e < ins->count; e++) define(w, &ins->dst[e], mask, defined[e]);
    count_access(w, ins, mask, address, bytes, true);
}

static void store_lane(Warp *w, const Ins *ins, int lane, const EmuPlace *at) {
    size_t size = (size_t)ptx_info[ins->type].bits / 8;
    for (int e = 0; e < ins->count; e++) {
        const EmuOperand *o = &ins->src[1 + e];
        uint64_t value = lane_bits(w, o, lane);
        bool defined = w->defined[o->id] >> lane & 1;
        if (!defined && at->buffer) emu_fault_undefined(w, lane, "stores to global memory, but", o);
        memcpy(at->data + (size_t)e * size, &value, size);
        memset(at->state + (size_t)e * size, defined ? STATE_DEFINED : STATE_UNDEFINED, size);
    }
}

// Does the store leave the bytes unchanged? Its order among other stores then does not matter.
static bool stores_same(const Warp *w, const Ins *ins, int lane, const EmuPlace *at) {
    size_t size = (size_t)ptx_info[ins->type].bits / 8;
    for (int e = 0; e < ins->count; e++) {
        const EmuOperand *o = &ins->src[1 + e];
        uint64_t value = lane_bits(w, o, lane);
        if (!(w->defined[o->id] >> lane & 1) ||
            memcmp(at->data + (size_t)e * size, &value, size) != 0 ||
            !all_defined(at->state + (size_t)e * size, size))
            return false;
    }
    return true;
}

void emu_do_store(Warp *w, const Ins *ins, uint32_t mask) {
    int bytes = ins->count * ptx_info[ins->type].bits / 8;
    uint64_t address[LANES];
    need_defined(w, &ins->src[0], mask, "the address");
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        address[l] = lane_address(w, ins, l);
        EmuPlace at = emu_locate(w, l, ins->space, address[l], bytes, true);
        if (at.shadow) {
            not_in_flight(w, l, &at, bytes);
            emu_access(w, l, &at, bytes, ins->flag ? ACCESS_ATOMIC : ACCESS_WRITE,
                       stores_same(w, ins, l, &at));
        }
        store_lane(w, ins, l, &at);
    }
    count_access(w, ins, mask, address, bytes, false);
}

// --- Atomics -------------------------------------------------------------------------------------

static uint64_t add_values(PtxType type, uint64_t a, uint64_t b) {
    if (type == PTX_F32) {
        float x, y;
        memcpy(&x, &a, 4);
        memcpy(&y, &b, 4);
        x += y;
        uint32_t bits = 0x7fffffff;
        if (x == x) memcpy(&bits, &x, 4);
        return bits;
    }
    if (type == PTX_F64) {
        double x, y;
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        x += y;
        uint64_t bits = 0x7ff8000000000000ull;
        if (x == x) memcpy(&bits, &x, 8);
        return bits;
    }
    return a + b;
}

static bool less(PtxType type, uint64_t a, uint64_t b) {
    if (ptx_info[type].kind == KIND_UNSIGNED) return a < b;
    return ptx_info[type].bits == 32 ? (int32_t)a < (int32_t)b : (int64_t)a < (int64_t)b;
}

static uint64_t atom_value(const Ins *ins, uint64_t old, uint64_t b, uint64_t c) {
    switch ((AtomOp)ins->what) {
    case ATOM_ADD: return add_values(ins->type, old, b);
    case ATOM_MIN: return less(ins->type, b, old) ? b : old;
    case ATOM_MAX: return less(ins->type, old, b) ? b : old;
    case ATOM_AND: return old & b;
    case ATOM_OR: return old | b;
    case ATOM_XOR: return old ^ b;
    case ATOM_EXCH: return b;
    case ATOM_CAS: return old == b ? c : old;
    case ATOM_INC: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
    }
}

void emu_do_atom(Warp *w, const Ins *ins, uint32_t mask) {
    int bytes = ptx_info[ins->type].bits / 8;
    uint64_t address[LANES];
    need_defined(w, &ins->src[0], mask, "the address");
    for (int s = 1; s < ins->nsrc; s++) need_defined(w, &ins->src[s], mask, "the operand");
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        address[l] = lane_bits(w, &ins->src[0], l) + (uint64_t)ins->offset;
        EmuPlace at = emu_locate(w, l, ins->space, address[l], bytes, true);
        not_in_flight(w, l, &at, bytes);
        emu_access(w, l, &at, bytes, ACCESS_ATOMIC, false);
        for (int i = 0; i < bytes; i++)
            if (!at.state[i]) emu_fault(w, l, "an atomic operation on undefined memory");
        uint64_t old = 0, b = lane_bits(w, &ins->src[1], l);
        uint64_t c = ins->nsrc > 2 ? lane_bits(w, &ins->src[2], l) : 0;
        memcpy(&old, at.data, (size_t)bytes);
        uint64_t value = atom_value(ins, old, b, c);
        memcpy(at.data, &value, (size_t)bytes);
        if (ins->ndst) set_lane(w, &ins->dst[0], l, old);
    }
    if (ins->ndst) define(w, &ins->dst[0], mask, ~0u);
    count_access(w, ins, mask, address, bytes, false);
}

// --- cp.async ------------------------------------------------------------------------------------
//
// Hardware performs the copy at any time between its issue and the wait of its thread. Both ends
// count. At the issue, the copy counts as a read of the source and a write of the target. Until the
// wait no thread may access the target. At the wait both accesses count again, and the source must
// not have changed.

static void issue(Warp *w, const Ins *ins, int lane, uint64_t *source_address) {
    Copy c = {.bytes = ins->what, .lane = (uint8_t)lane, .line = ins->line, .group = -1};
    uint32_t given = lane_u32(w, &ins->src[3], lane);
    if (given > c.bytes) emu_fault(w, lane, "cp.async of %u of %d bytes", given, c.bytes);
    c.source_bytes = (uint8_t)given;
    c.target = (uint32_t)(lane_bits(w, &ins->src[0], lane) + (uint64_t)ins->offset);
    c.source = *source_address =
        lane_bits(w, &ins->src[1], lane) + lane_bits(w, &ins->src[2], lane);
    memset(c.defined, STATE_DEFINED, sizeof c.defined);
    if (given) {
        EmuPlace from = emu_locate(w, lane, SPACE_GLOBAL, c.source, (int)given, false);
        if (c.source % c.bytes)
            emu_fault(w, lane, "copies %d bytes from address 0x%llx, which is not a multiple of %d",
                      c.bytes, (unsigned long long)c.source, c.bytes);
        emu_access(w, lane, &from, (int)given, (AccessKind)ins->what2, false);
        memcpy(c.data, from.data, given);
        memcpy(c.defined, from.state, given);
    }
    EmuPlace to = emu_locate(w, lane, SPACE_SHARED, c.target, c.bytes, true);
    not_in_flight(w, lane, &to, c.bytes);
    emu_access(w, lane, &to, c.bytes, ACCESS_WRITE, false);
    memset(to.state, STATE_IN_FLIGHT, c.bytes);
    vec_push(w->m->arena, &w->copies, c);
}

void emu_do_cp_async(Warp *w, const Ins *ins, uint32_t mask) {
    uint64_t source[LANES] = {0};
    uint32_t reads = 0, target[LANES] = {0};
    int ideal = 0;
    for (int s = 0; s < ins->nsrc; s++) need_defined(w, &ins->src[s], mask, "the operand");
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        issue(w, ins, l, &source[l]);
        target[l] = vec_last(&w->copies).target;
        if (vec_last(&w->copies).source_bytes) reads |= 1u << l;
    }
    Ins global = {.space = SPACE_GLOBAL};
    if (reads) count_access(w, &global, reads, source, ins->what, true);
    w->m->counts->shared_wavefronts += emu_wavefronts(target, mask, ins->what, false, &ideal);
    w->m->counts->shared_ideal += ideal;
}

void emu_do_commit(Warp *w, const Ins *ins, uint32_t mask) {
    (void)ins;
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1) w->groups_committed[l]++;
    for (int i = 0; i < w->copies.n; i++) {
        Copy *c = &w->copies.at[i];
        if (c->group < 0 && mask >> c->lane & 1) c->group = w->groups_committed[c->lane];
    }
}

static void complete(Warp *w, const Copy *c) {
    if (c->source_bytes) {
        EmuPlace from = emu_locate(w, c->lane, SPACE_GLOBAL, c->source, c->source_bytes, false);
        emu_access(w, c->lane, &from, c->source_bytes, ACCESS_READ, false);
        if (memcmp(from.data, c->data, c->source_bytes) != 0)
            emu_fault(w, c->lane, "the source of the cp.async in line %d changed before this wait",
                      c->line);
    }
    EmuPlace to = emu_locate(w, c->lane, SPACE_SHARED, c->target, c->bytes, true);
    emu_access(w, c->lane, &to, c->bytes, ACCESS_WRITE, false);
    memcpy(to.data, c->data, c->bytes);
    memcpy(to.state, c->defined, c->bytes);
}

// wait_group n waits for all but the newest n groups; wait_all also waits for copies without a
// group.
void emu_do_wait(Warp *w, const Ins *ins, uint32_t mask) {
    int kept = 0;
    for (int i = 0; i < w->copies.n; i++) {
        const Copy *c = &w->copies.at[i];
        bool due =
            ins->flag || (c->group > 0 && c->group <= w->groups_committed[c->lane] - ins->offset);
        if (due && mask >> c->lane & 1)
            complete(w, c);
        else
            w->copies.at[kept++] = *c;
    }
    w->copies.n = kept;
}
