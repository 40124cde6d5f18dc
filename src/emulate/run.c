// Runs a launch: clusters one after the other, each warp until it waits, the threads of a warp in
// lockstep. A block without a cluster is a cluster of its own.
#include "emulate/warp.h"

#include <stdio.h>
#include <string.h>

static const int64_t default_limit = 10000000000;

// --- Errors --------------------------------------------------------------------------------------

// The statement at a line, without surrounding blanks.
static int line_text(const EmuModule *m, int line, const char **at) {
    const char *s = m->text, *end = m->text + m->len;
    for (int i = 1; i < line && s < end; s++) i += *s == '\n';
    while (s < end && (*s == ' ' || *s == '\t')) s++;
    const char *stop = s;
    while (stop < end && *stop != '\n' && stop - s < 80) stop++;
    while (stop > s && (stop[-1] == ' ' || stop[-1] == '\r' || stop[-1] == ';')) stop--;
    *at = s;
    return (int)(stop - s);
}

_Noreturn static void fail(EmuMachine *m, int line, const char *who, const char *what) {
    const char *text;
    int n = line_text(m->module, line, &text);
    m->error->line = line;
    snprintf(m->error->text, sizeof m->error->text, "kernel '%s', PTX line %d, '%.*s': %s %s",
             m->entry->info.name, line, n, text, who, what);
    longjmp(m->failed, 1);
}

void emu_fault(Warp *w, int lane, const char *format, ...) {
    EmuMachine *m = w->m;
    char who[128], what[512];
    int t = w->index * LANES + lane, x = (int)m->launch->block[0], y = (int)m->launch->block[1];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const uint32_t *block = w->b->at;
    snprintf(who, sizeof who, "block (%u,%u,%u) thread (%d,%d,%d):", block[0], block[1], block[2],
             t % x, t / x % y, t / x / y);
    fail(m, m->current->line, who, what);
}

void emu_fault_block(EmuMachine *m, const EmuBlock *b, int line, const char *format, ...) {
    char who[64], what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(who, sizeof who, "block (%u,%u,%u):", b->at[0], b->at[1], b->at[2]);
    fail(m, line, who, what);
}

// --- Control -------------------------------------------------------------------------------------

void emu_do_nothing(Warp *w, const Ins *ins, uint32_t mask) { (void)w, (void)ins, (void)mask; }

void emu_do_trap(Warp *w, const Ins *ins, uint32_t mask) {
    (void)ins;
    emu_fault(w, __builtin_ctz(mask), "stops the launch");
}

void emu_do_branch(Warp *w, const Ins *ins, uint32_t mask) {
    EmuGroup *g = &w->groups[w->current];
    if (mask == g->mask) {
        g->pc = (int)ins->offset;
        return;
    }
    if (ins->flag) emu_fault(w, __builtin_ctz(mask), "threads of the warp disagree about bra.uni");
    g->mask &= ~mask;
    w->groups[w->ngroups++] = (EmuGroup){mask, (int)ins->offset};
}

void emu_do_return(Warp *w, const Ins *ins, uint32_t mask) {
    (void)ins;
    EmuGroup *g = &w->groups[w->current];
    if (w->m->nblocks > 1) emu_leave(w);
    w->live &= ~mask;
    g->mask &= ~mask;
    if (!g->mask) *g = w->groups[--w->ngroups];
}

// Selects the group with the lowest program counter, and merges groups with equal program counters.
static void choose_group(Warp *w) {
    int best = 0;
    for (int i = 1; i < w->ngroups; i++)
        if (w->groups[i].pc < w->groups[best].pc) best = i;
    for (int i = w->ngroups - 1; i > best; i--)
        if (w->groups[i].pc == w->groups[best].pc) {
            w->groups[best].mask |= w->groups[i].mask;
            w->groups[i] = w->groups[--w->ngroups];
        }
    w->current = best;
}

static uint32_t guarded(Warp *w, const Ins *ins, uint32_t mask) {
    uint32_t bad = mask & ~w->defined[ins->guard.id];
    if (bad) emu_fault_undefined(w, __builtin_ctz(bad), "the predicate", &ins->guard);
    return mask & pred_mask(w, &ins->guard);
}

static void step(Warp *w) {
    EmuMachine *m = w->m;
    w->current = 0;
    if (w->ngroups > 1) choose_group(w);
    EmuGroup *g = &w->groups[w->current];
    const Ins *ins = m->current = &m->entry->code[g->pc++];
    uint32_t mask = g->mask;
    if (--m->steps < 0) emu_fault(w, __builtin_ctz(mask), "the launch does not end");
    m->counts->instructions++;
    if (ins->guard.bits && !(mask = guarded(w, ins, mask))) return;
    m->counts->lane_instructions += __builtin_popcount(mask);
    if (!ins->plain) {
        ins->run(w, ins, mask);
        return;
    }
    uint32_t defined = w->defined[ins->src[0].id];
    for (int s = 1; s < ins->nsrc; s++) defined &= w->defined[ins->src[s].id];
    ins->run(w, ins, mask);
    define(w, &ins->dst[0], mask, defined);
    if (emu_is_fma_f32(ins)) m->counts->fma += __builtin_popcount(mask);
}

// --- Blocks --------------------------------------------------------------------------------------

static uint32_t special_value(const EmuMachine *m, const Warp *w, int which, int lane) {
    uint32_t t = (uint32_t)(w->index * LANES + lane);
    uint32_t x = m->launch->block[0], y = m->launch->block[1];
    switch ((EmuSpecial)which) {
    case SPECIAL_TID_X: return t % x;
    case SPECIAL_TID_Y: return t / x % y;
    case SPECIAL_TID_Z: return t / x / y;
    case SPECIAL_NTID_X:
    case SPECIAL_NTID_Y:
    case SPECIAL_NTID_Z: return m->launch->block[which - SPECIAL_NTID_X];
    case SPECIAL_CTAID_X:
    case SPECIAL_CTAID_Y:
    case SPECIAL_CTAID_Z: return w->b->at[which - SPECIAL_CTAID_X];
    case SPECIAL_NCTAID_X:
    case SPECIAL_NCTAID_Y:
    case SPECIAL_NCTAID_Z: return m->launch->grid[which - SPECIAL_NCTAID_X];
    case SPECIAL_LANE: return (uint32_t)lane;
    case SPECIAL_WARP: return (uint32_t)w->index;
    case SPECIAL_RANK: return (uint32_t)w->b->rank;
    default: return (1u << lane) - 1;
    }
}

static void start_warp(EmuMachine *m, Warp *w) {
    const Entry *e = m->entry;
    int threads = m->threads - w->index * LANES;
    w->live = w->born = threads >= LANES ? ~0u : (1u << threads) - 1;
    w->groups[0] = (EmuGroup){w->live, 0};
    w->ngroups = 1;
    w->waits = -1;
    w->arrived = false;
    w->clock = 1;
    w->hole_line = 0;
    w->copies.n = 0;
    memset(w->seen, 0, (size_t)(m->nblocks * m->nwarps) * sizeof *w->seen);
    memset(w->groups_committed, 0, sizeof w->groups_committed);
    memset(w->defined, 0, (size_t)e->nregs * sizeof *w->defined);
    w->defined[0] = ~0u;
    if (w->local) memset(w->local, 0, (size_t)e->info.local_bytes * 2 * LANES);
    for (int s = 0; s < SPECIAL_COUNT; s++)
        for (int l = 0; e->special[s] && l < LANES; l++) {
            EmuOperand o = {.row = e->special[s] - 1, .bits = 32};
            set_lane(w, &o, l, special_value(m, w, s, l));
        }
}

_Noreturn static void deadlock(EmuMachine *m) {
    for (int i = 0; i < m->nblocks * m->nwarps; i++) {
        const EmuBlock *block = &m->blocks[i / m->nwarps];
        int id = block->warps[i % m->nwarps].waits;
        if (id < 0) continue;
        if (id == BARRIERS)
            emu_fault_block(m, block, m->arrive_line,
                            "the barrier of the cluster waits forever for %d of %d warps",
                            m->nblocks * m->nwarps - m->arrived, m->nblocks * m->nwarps);
        const Barrier *b = &block->barriers[id];
        emu_fault_block(m, block, b->line, "barrier %d waits forever for %d of %d threads", id,
                        b->expected - b->threads, b->expected);
    }
    emu_fault_block(m, &m->blocks[0], 1, "deadlock");
}

static void start_block(EmuMachine *m, EmuBlock *b) {
    size_t warps = (size_t)(m->nblocks * m->nwarps);
    memset(b->barriers, 0, sizeof b->barriers);
    memset(b->shared_state, STATE_UNDEFINED, m->shared_bytes);
    emu_shadow_reset(m, &b->shared_shadow, m->shared_bytes);
    b->ends = false;
    memset(b->remote, 0, warps * sizeof *b->remote);
    for (int i = 0; i < m->nwarps; i++) start_warp(m, &b->warps[i]);
}

// Runs the blocks of a cluster together.
static void run_cluster(EmuMachine *m) {
    size_t warps = (size_t)(m->nblocks * m->nwarps);
    m->arrived = 0;
    memset(m->clock, 0, warps * sizeof *m->clock);
    for (int i = 0; i < m->nblocks; i++) start_block(m, &m->blocks[i]);
    for (bool more = true; more;) {
        bool moved = false;
        more = false;
        for (size_t i = 0; i < warps; i++) {
            Warp *w = &m->blocks[i / (size_t)m->nwarps].warps[i % (size_t)m->nwarps];
            while (w->ngroups && w->waits < 0) {
                step(w);
                moved = true;
            }
            more = more || w->ngroups;
        }
        if (more && !moved) deadlock(m);
    }
}

// --- Launches ------------------------------------------------------------------------------------

static void make_warps(EmuMachine *m, EmuBlock *b) {
    const Entry *e = m->entry;
    b->warps = arena_new_n(m->arena, Warp, m->nwarps);
    for (int i = 0; i < m->nwarps; i++) {
        Warp *w = &b->warps[i];
        w->m = m;
        w->b = b;
        w->index = i;
        w->rows = arena_raw(m->arena, e->row_bytes);
        w->defined = arena_new_n(m->arena, uint32_t, e->nregs);
        w->pred = arena_new_n(m->arena, uint32_t, e->nregs);
        w->seen = arena_new_n(m->arena, uint32_t, m->nblocks * m->nwarps);
        memset(w->rows, 0, e->row_bytes);
        if (e->info.local_bytes)
            w->local = arena_new_n(m->arena, uint8_t, e->info.local_bytes * 2 * LANES);
    }
}

static void make_blocks(EmuMachine *m) {
    int warps = m->nblocks * m->nwarps;
    m->blocks = arena_new_n(m->arena, EmuBlock, m->nblocks);
    m->clock = arena_new_n(m->arena, uint32_t, warps);
    m->passed = arena_new_n(m->arena, uint32_t, warps);
    for (int i = 0; i < m->nblocks; i++) {
        EmuBlock *b = &m->blocks[i];
        b->rank = i;
        b->shared = arena_new_n(m->arena, uint8_t, m->shared_bytes + 1);
        b->shared_state = arena_new_n(m->arena, uint8_t, m->shared_bytes + 1);
        b->remote = arena_new_n(m->arena, uint32_t, warps);
        b->remote_line = arena_new_n(m->arena, int, warps);
        make_warps(m, b);
    }
}

static bool refuse_launch(EmuError *e, const Entry *entry, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse_launch(EmuError *e, const Entry *entry, const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(e->text, sizeof e->text, "kernel '%s' cannot be launched: %s", entry->info.name, what);
    return false;
}

static bool check_launch(const Entry *entry, const EmuLaunch *l, uint64_t shared, EmuError *e) {
    static const uint64_t most_blocks[3] = {0x7fffffff, 65535, 65535};
    static const uint64_t most_threads[3] = {1024, 1024, 64};
    uint64_t threads = 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] < 1 || l->grid[i] > most_blocks[i])
            return refuse_launch(e, entry, "a grid of (%u,%u,%u) blocks", l->grid[0], l->grid[1],
                                 l->grid[2]);
        if (l->block[i] < 1 || l->block[i] > most_threads[i])
            return refuse_launch(e, entry, "blocks of (%u,%u,%u) threads", l->block[0], l->block[1],
                                 l->block[2]);
        threads *= l->block[i];
        blocks *= l->grid[i];
    }
    int limit = entry->info.max_threads;
    if (threads > 1024 || (limit && threads > (uint64_t)limit) ||
        (entry->info.exact_threads && threads != (uint64_t)limit))
        return refuse_launch(e, entry, "blocks of %d threads, declared for %d", (int)threads,
                             limit ? limit : 1024);
    if (entry->info.cluster > 1 && l->grid[0] % (unsigned)entry->info.cluster)
        return refuse_launch(e, entry, "a grid of %u blocks along x, in clusters of %d", l->grid[0],
                             entry->info.cluster);
    if (blocks >= 1 << 27)
        return refuse_launch(e, entry, "%llu blocks are too many for the emulator",
                             (unsigned long long)blocks);
    if (shared > l->shared_limit)
        return refuse_launch(e, entry, "%llu bytes of shared memory, the limit is %u",
                             (unsigned long long)shared, l->shared_limit);
    return true;
}

static void run_grid(EmuMachine *m) {
    const uint32_t *grid = m->launch->grid;
    uint32_t number = 0;
    for (uint32_t z = 0; z < grid[2]; z++)
        for (uint32_t y = 0; y < grid[1]; y++)
            for (uint32_t x = 0; x < grid[0]; x += (uint32_t)m->nblocks) {
                for (int i = 0; i < m->nblocks; i++) {
                    EmuBlock *b = &m->blocks[i];
                    b->at[0] = x + (uint32_t)i;
                    b->at[1] = y;
                    b->at[2] = z;
                    b->number = ++number;
                }
                run_cluster(m);
            }
}

bool emu_launch(Arena *scratch, const EmuModule *module, const EmuLaunch *l, EmuMemory *memory,
                EmuCounts *counts, EmuError *e) {
    const Entry *entry = &module->entries.at[l->entry];
    *e = (EmuError){0};
    uint64_t align = entry->dynamic_align;
    uint64_t shared = entry->shared_static;
    if (l->shared) shared = (shared + align - 1) / align * align + l->shared;
    if (!check_launch(entry, l, shared, e)) return false;
    EmuMachine *m = arena_new(scratch, EmuMachine);
    m->arena = scratch;
    m->module = module;
    m->entry = entry;
    m->launch = l;
    m->memory = memory;
    m->counts = counts;
    m->error = e;
    m->steps = l->limit ? l->limit : default_limit;
    m->threads = (int)(l->block[0] * l->block[1] * l->block[2]);
    m->nwarps = (m->threads + LANES - 1) / LANES;
    m->shared_bytes = (uint32_t)shared;
    m->nblocks = entry->info.cluster > 1 ? entry->info.cluster : 1;
    m->global_shadow = arena_new_n(scratch, Shadow, memory->n + 1);
    m->params = arena_new_n(scratch, uint8_t, entry->param_bytes + 1);
    for (int i = 0; i < entry->info.nparams; i++)
        memcpy(m->params + entry->params[i].offset, l->params[i], entry->params[i].bytes);
    for (int i = 0; i < memory->n; i++) memory->at[i].traffic = (EmuTraffic){0};
    make_blocks(m);
    if (setjmp(m->failed)) return false;
    run_grid(m);
    return true;
}
