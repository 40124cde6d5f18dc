// Clusters: the barrier of their blocks, and accesses to the shared memory of another block.
//
// A block must not end while others may access its shared memory: every access of another block
// must be ordered before its first thread returns.
#include "emulate/warp.h"

static void join(uint32_t *into, const uint32_t *from, int n) {
    for (int i = 0; i < n; i++)
        if (from[i] > into[i]) into[i] = from[i];
}

// --- The barrier ---------------------------------------------------------------------------------

static void whole_warp(Warp *w, uint32_t mask) {
    uint32_t away = w->born & ~mask;
    if (away)
        emu_fault(w, __builtin_ctz(away),
                  "returned, or is elsewhere, while other threads of its warp execute this barrier "
                  "of the cluster");
}

static void pass(Warp *w) {
    join(w->seen, w->m->passed, w->m->nblocks * w->m->nwarps);
    w->waits = -1;
    w->arrived = false;
    w->clock++;
}

// All warps have arrived: those that wait go on.
static void complete(EmuMachine *m) {
    int warps = m->nblocks * m->nwarps;
    for (int i = 0; i < warps; i++) {
        m->passed[i] = m->clock[i];
        m->clock[i] = 0;
    }
    m->arrived = 0;
    m->phase++;
    for (int i = 0; i < warps; i++) {
        Warp *w = &m->blocks[i / m->nwarps].warps[i % m->nwarps];
        if (w->waits == BARRIERS) pass(w);
    }
}

void emu_do_cluster_arrive(Warp *w, const Ins *ins, uint32_t mask) {
    EmuMachine *m = w->m;
    whole_warp(w, mask);
    if (w->arrived)
        emu_fault(w, __builtin_ctz(mask),
                  "arrives twice at the barrier of the cluster without waiting for it");
    int warps = m->nblocks * m->nwarps;
    join(m->clock, w->seen, warps);
    m->clock[emu_number(w)] = w->clock;
    w->arrived = true;
    w->phase = m->phase;
    w->clock++; // later accesses are not ordered by this arrival
    m->arrive_line = ins->line;
    m->counts->barriers++;
    if (++m->arrived == warps) complete(m);
}

// If the barrier has completed already, this warp learns now what the others had done.
void emu_do_cluster_wait(Warp *w, const Ins *ins, uint32_t mask) {
    (void)ins;
    EmuMachine *m = w->m;
    whole_warp(w, mask);
    if (!w->arrived)
        emu_fault(w, __builtin_ctz(mask),
                  "waits for the barrier of the cluster without having arrived");
    if (w->phase == m->phase)
        w->waits = BARRIERS;
    else
        pass(w);
}

// --- Shared memory of other blocks ---------------------------------------------------------------

void emu_do_mapa(Warp *w, const Ins *ins, uint32_t mask) {
    uint32_t defined = w->defined[ins->src[0].id] & w->defined[ins->src[1].id];
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t address = lane_u32(w, &ins->src[0], l), rank = lane_u32(w, &ins->src[1], l);
        if ((defined >> l & 1) && (rank >= (uint32_t)w->m->nblocks || address >> RANK_SHIFT))
            emu_fault(w, l, "maps address 0x%x to block %u of a cluster of %d", address, rank,
                      w->m->nblocks);
        set_lane(w, &ins->dst[0], l, address | (rank + 1) << RANK_SHIFT);
    }
    define(w, &ins->dst[0], mask, defined);
}

EmuBlock *emu_remote(Warp *w, int lane, uint64_t address) {
    uint32_t rank = (uint32_t)address >> RANK_SHIFT;
    if (!rank) return w->b;
    if (rank > (uint32_t)w->m->nblocks)
        emu_fault(w, lane, "accesses shared memory of block %u of a cluster of %d", rank - 1,
                  w->m->nblocks);
    EmuBlock *b = &w->m->blocks[rank - 1];
    if (b == w->b) return b;
    if (b->ends)
        emu_fault(w, lane,
                  "accesses shared memory of block %u of its cluster, which may have ended",
                  rank - 1);
    b->remote[emu_number(w)] = w->clock;
    b->remote_line[emu_number(w)] = w->m->current->line;
    return b;
}

void emu_leave(Warp *w) {
    const EmuBlock *b = w->b;
    for (int i = 0; i < w->m->nblocks * w->m->nwarps; i++)
        if (b->remote[i] > w->seen[i])
            emu_fault(
                w, 0,
                "returns, but line %d of block %d of its cluster may access the shared memory "
                "of this block later",
                b->remote_line[i], i / w->m->nwarps);
    w->b->ends = true;
}
