// Operations of several threads: barriers of blocks and warps, shuffles, votes.
#include "emulate/warp.h"

#include <string.h>

// A value that all threads of the mask must agree on.
static uint32_t agreed(Warp *w, const EmuOperand *o, uint32_t mask, const char *what) {
    int first = __builtin_ctz(mask);
    uint32_t value = lane_u32(w, o, first);
    for (int l = first; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        if (!(w->defined[o->id] >> l & 1)) emu_fault(w, l, "%s is undefined", what);
        if (lane_u32(w, o, l) != value)
            emu_fault(w, l, "%s is %u here and %u in lane %d", what, lane_u32(w, o, l), value,
                      first);
    }
    return value;
}

static void whole_warp(Warp *w, uint32_t mask) {
    uint32_t left = w->born & ~w->live, away = w->live & ~mask;
    if (left) emu_fault(w, __builtin_ctz(left), "returned before this barrier of its block");
    if (away)
        emu_fault(w, __builtin_ctz(away),
                  "is elsewhere while other threads of its warp execute this barrier");
}

// --- Barriers of the block -----------------------------------------------------------------------

static void join(uint32_t *into, const uint32_t *from, int n) {
    for (int i = 0; i < n; i++)
        if (from[i] > into[i]) into[i] = from[i];
}

// Orders the earlier accesses of the warp before its later ones.
static void warp_sync(Warp *w) { w->clock++; }

static void release(EmuMachine *m, Warp *warps, Barrier *b) {
    for (int i = 0; i < m->nwarps; i++) {
        Warp *w = &warps[i];
        if (!(b->waiting >> i & 1)) continue;
        join(w->seen + w->b->rank * m->nwarps, b->clock, m->nwarps);
        w->waits = -1;
        warp_sync(w);
    }
    *b = (Barrier){0};
}

static void arrive(Warp *w, const Ins *ins, uint32_t mask, bool waits) {
    EmuMachine *m = w->m;
    whole_warp(w, mask);
    uint32_t id = agreed(w, &ins->src[0], mask, "the number of the barrier");
    int lane = __builtin_ctz(mask);
    if (id >= BARRIERS) emu_fault(w, lane, "there are %d barriers, from 0 on: %u", BARRIERS, id);
    int expected = m->nwarps * LANES;
    if (ins->nsrc > 1) expected = (int)agreed(w, &ins->src[1], mask, "the number of threads");
    if (expected <= 0 || expected % LANES || expected > m->nwarps * LANES)
        emu_fault(w, lane, "a barrier of %d threads in a block of %d", expected, m->threads);
    Barrier *b = &w->b->barriers[id];
    if (b->expected && b->expected != expected)
        emu_fault(w, lane, "expects %d threads at barrier %u, but line %d expects %d", expected, id,
                  b->line, b->expected);
    if (b->arrived >> w->index & 1) emu_fault(w, lane, "arrives twice at barrier %u", id);
    b->expected = expected;
    b->line = ins->line;
    b->arrived |= 1u << w->index;
    b->threads += LANES;
    join(b->clock, w->seen + w->b->rank * m->nwarps, m->nwarps);
    b->clock[w->index] = w->clock;
    m->counts->barriers++;
    if (waits) {
        b->waiting |= 1u << w->index;
        w->waits = (int)id;
    } else {
        warp_sync(w);
    }
    if (b->threads >= expected) release(m, w->b->warps, b);
}

void emu_do_barrier(Warp *w, const Ins *ins, uint32_t mask) { arrive(w, ins, mask, true); }
void emu_do_arrive(Warp *w, const Ins *ins, uint32_t mask) { arrive(w, ins, mask, false); }

// --- Within a warp -------------------------------------------------------------------------------

// All threads in the mask of a .sync instruction must execute it together.
static void named_threads(Warp *w, const EmuOperand *o, uint32_t mask) {
    uint32_t named = agreed(w, o, mask, "the mask of threads");
    uint32_t extra = mask & ~named, away = named & w->live & ~mask;
    if (extra) emu_fault(w, __builtin_ctz(extra), "is not named by the mask 0x%08x", named);
    if (away)
        emu_fault(
            w, __builtin_ctz(away),
            "is named by the mask 0x%08x, but does not execute this instruction with the others",
            named);
}

void emu_do_warp_barrier(Warp *w, const Ins *ins, uint32_t mask) {
    named_threads(w, &ins->src[0], mask);
    if (mask == w->live) warp_sync(w);
}

// The lane to read from, or the lane itself if the source lies outside the segment (*inside is
// false).
static int shuffle_source(int mode, int lane, uint32_t b, uint32_t c, bool *inside) {
    int by = (int)(b & 31), clamp = (int)(c & 31), segment = (int)(c >> 8 & 31);
    int most = (lane & segment) | (clamp & ~segment), least = lane & segment, from;
    switch (mode) {
    case 0:
        from = lane - by;
        *inside = from >= most;
        break;
    case 1:
        from = lane + by;
        *inside = from <= most;
        break;
    case 2:
        from = lane ^ by;
        *inside = from <= most;
        break;
    default:
        from = least | (by & ~segment);
        *inside = from <= most;
        break;
    }
    return *inside ? from : lane;
}

// The sources are the value, the lane operand, segment and clamp, and the mask. The value of a
// thread that does not take part is undefined.
void emu_do_shuffle(Warp *w, const Ins *ins, uint32_t mask) {
    uint32_t value[LANES], defined = 0, inside_mask = 0;
    named_threads(w, &ins->src[3], mask);
    for (int s = 1; s < 3; s++) {
        uint32_t bad = mask & ~w->defined[ins->src[s].id];
        if (bad) emu_fault(w, __builtin_ctz(bad), "the lane to read from is undefined");
    }
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        bool inside;
        int from = shuffle_source(ins->what, l, lane_u32(w, &ins->src[1], l),
                                  lane_u32(w, &ins->src[2], l), &inside);
        value[l] = lane_u32(w, &ins->src[0], from);
        if (w->defined[ins->src[0].id] & mask & 1u << from) defined |= 1u << l;
        if (inside) inside_mask |= 1u << l;
    }
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1) set_lane(w, &ins->dst[0], l, value[l]);
    define(w, &ins->dst[0], mask, defined);
    if (ins->ndst < 2) return;
    uint32_t *p = &w->pred[ins->dst[1].id];
    *p = (*p & ~mask) | (inside_mask & mask);
    define(w, &ins->dst[1], mask, ~0u);
}

static uint32_t votes(Warp *w, const Ins *ins, uint32_t mask) {
    named_threads(w, &ins->src[1], mask);
    uint32_t bad = mask & ~w->defined[ins->src[0].id];
    if (bad) emu_fault(w, __builtin_ctz(bad), "votes with an undefined predicate");
    return pred_mask(w, &ins->src[0]) & mask;
}

void emu_do_vote(Warp *w, const Ins *ins, uint32_t mask) {
    uint32_t yes = votes(w, ins, mask);
    bool result = ins->what == 0   ? yes == mask
                  : ins->what == 1 ? yes != 0
                                   : yes == mask || yes == 0;
    uint32_t *p = &w->pred[ins->dst[0].id];
    *p = (*p & ~mask) | (result ? mask : 0);
    define(w, &ins->dst[0], mask, ~0u);
}

static void set_all(Warp *w, const Ins *ins, uint32_t mask, uint32_t value) {
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1) set_lane(w, &ins->dst[0], l, value);
    define(w, &ins->dst[0], mask, ~0u);
}

void emu_do_ballot(Warp *w, const Ins *ins, uint32_t mask) {
    set_all(w, ins, mask, votes(w, ins, mask));
}

void emu_do_active(Warp *w, const Ins *ins, uint32_t mask) { set_all(w, ins, mask, mask); }

static uint32_t reduce_two(const Ins *ins, uint32_t a, uint32_t b) {
    bool less = ins->type == PTX_S32 ? (int32_t)a < (int32_t)b : a < b;
    switch (ins->what) {
    case 0: return a + b;
    case 1: return less ? a : b;
    case 2: return less ? b : a;
    case 3: return a & b;
    case 4: return a | b;
    default: return a ^ b;
    }
}

void emu_do_redux(Warp *w, const Ins *ins, uint32_t mask) {
    named_threads(w, &ins->src[1], mask);
    uint32_t bad = mask & ~w->defined[ins->src[0].id];
    if (bad) emu_fault(w, __builtin_ctz(bad), "reduces an undefined value");
    int first = __builtin_ctz(mask);
    uint32_t value = lane_u32(w, &ins->src[0], first);
    for (int l = first + 1; l < LANES; l++)
        if (mask >> l & 1) value = reduce_two(ins, value, lane_u32(w, &ins->src[0], l));
    set_all(w, ins, mask, value);
}
