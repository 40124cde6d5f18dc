// Race detection. For every 4 bytes (or every byte) it records the last write and the reads since,
// and tests whether a barrier orders them before the present access.
//
// Each warp has a clock, which counts its barriers. At a barrier of the block, all its warps learn
// each other's clocks; bar.warp.sync advances the clock of its warp, which orders the threads of
// that warp. Barriers of a cluster do the same for the warps of its blocks; other blocks of one
// launch are never ordered. Two of the readers since the last write are
// kept, which is enough to find a race with any writer that no barrier separates from the readers.
#include "emulate/warp.h"

#include <stdio.h>
#include <string.h>

enum { CLOCK_BITS = 25, THREAD_SHIFT = 26, BLOCK_SHIFT = 36, ATOMIC = 1 };

static Access access_now(const Warp *w, int lane, bool atomic) {
    uint64_t thread = (uint64_t)(w->index * LANES + lane);
    return (uint64_t)w->b->number << BLOCK_SHIFT | thread << THREAD_SHIFT |
           (uint64_t)(w->clock & ((1u << CLOCK_BITS) - 1)) << 1 | (atomic ? ATOMIC : 0);
}
static uint32_t block_of(Access a) { return (uint32_t)(a >> BLOCK_SHIFT); }
static int thread_of(Access a) { return (int)(a >> THREAD_SHIFT & 1023); }
static uint32_t clock_of(Access a) { return (uint32_t)(a >> 1) & ((1u << CLOCK_BITS) - 1); }

// Did that access happen before the present access of this thread?
static bool happened(const Warp *w, int lane, Access a) {
    if (!a) return true;
    uint32_t rank = block_of(a) - w->m->blocks[0].number; // in this cluster
    if (rank >= (uint32_t)w->m->nblocks) return false;
    int thread = thread_of(a), warp = thread / LANES + (int)rank * w->m->nwarps;
    if (warp != emu_number(w)) return clock_of(a) <= w->seen[warp];
    return thread == w->index * LANES + lane || clock_of(a) < w->clock;
}

void emu_shadow_reset(EmuMachine *m, Shadow *s, size_t bytes) {
    size_t pages = (bytes / (s->shift ? 4 : 1) + PAGE_CELLS) / PAGE_CELLS;
    if (!s->page) {
        *s = (Shadow){.npages = (bytes / 4 + PAGE_CELLS) / PAGE_CELLS, .shift = 2};
        s->page = arena_new_n(m->arena, Cell *, s->npages);
        return;
    }
    for (size_t i = 0; i < pages && i < s->npages; i++)
        if (s->page[i]) memset(s->page[i], 0, PAGE_CELLS * sizeof(Cell));
}

// Divides cells of four bytes into cells of one.
static void refine(EmuMachine *m, Shadow *s) {
    Shadow fine = {.npages = s->npages * 4, .shift = 0};
    fine.page = arena_new_n(m->arena, Cell *, fine.npages);
    for (size_t i = 0; i < s->npages; i++) {
        if (!s->page[i]) continue;
        for (size_t k = 0; k < 4; k++) {
            Cell *cells = fine.page[4 * i + k] = arena_new_n(m->arena, Cell, PAGE_CELLS);
            for (size_t c = 0; c < PAGE_CELLS; c++) cells[c] = s->page[i][(k * PAGE_CELLS + c) / 4];
        }
    }
    *s = fine;
}

static bool writes(AccessKind kind) { return kind == ACCESS_WRITE || kind == ACCESS_ATOMIC; }

_Noreturn static void race(Warp *w, int lane, const EmuPlace *at, AccessKind kind, Access other,
                           int line, bool other_writes) {
    const EmuMachine *m = w->m;
    char place[128], who[64] = "another block";
    emu_describe(m, at, place, sizeof place);
    uint32_t nx = m->launch->grid[0], ny = m->launch->grid[1], b = block_of(other) - 1;
    int t = thread_of(other), bx = (int)m->launch->block[0], by = (int)m->launch->block[1];
    if (b + 1 != w->b->number)
        snprintf(who, sizeof who, "block (%u,%u,%u) thread (%d,%d,%d)", b % nx, b / nx % ny,
                 b / nx / ny, t % bx, t / bx % by, t / bx / by);
    else
        snprintf(who, sizeof who, "thread (%d,%d,%d)", t % bx, t / bx % by, t / bx / by);
    emu_fault(w, lane, "%s %s, which %s %s in line %d without a barrier in between",
              writes(kind) ? "writes" : "reads", place, who, other_writes ? "wrote" : "read", line);
}

static void note_read(Warp *w, int lane, Cell *c, Access now, int line) {
    if (c->reader == now) return;
    bool first = happened(w, lane, c->reader), second = happened(w, lane, c->reader2);
    if (first) {
        c->reader = now;
        if (second) c->reader2 = 0;
        c->reader_line = line;
    } else if (second) {
        c->reader2 = now;
    } else if (c->reader >> (THREAD_SHIFT + 5) == c->reader2 >> (THREAD_SHIFT + 5)) {
        c->reader2 = now;
    }
}

_Noreturn static void stale(Warp *w, int lane, const EmuPlace *at, const char *does,
                            const char *but, int line) {
    char place[128];
    emu_describe(w->m, at, place, sizeof place);
    emu_fault(w, lane, "%s %s%s line %d", does, place, but, line);
}

// A load must not use a cache that may miss stores of this launch.
static void check_caches(Warp *w, int lane, const EmuPlace *at, const Cell *c, AccessKind kind) {
    bool stored = c->touched & TOUCH_STORED, held = c->touched & TOUCH_READ_ONLY;
    if (kind == ACCESS_READ_ONLY && stored)
        stale(w, lane, at, "reads", " through the read-only cache; written in", c->writer_line);
    if (kind == ACCESS_READ_L1 && stored && block_of(c->writer) != w->b->number)
        stale(w, lane, at, "reads", " through L1; another block wrote it in", c->writer_line);
    if (writes(kind) && held)
        stale(w, lane, at, "writes", ", read through the read-only cache in", c->reader_line);
}

static void check_cell(Warp *w, int lane, const EmuPlace *at, Cell *c, AccessKind kind,
                       bool same_value, Access now) {
    int line = w->m->current->line;
    bool atomic = now & ATOMIC, both_atomic = atomic && (c->writer & ATOMIC);
    bool unchanged = writes(kind) && same_value;
    if (c->writer && !both_atomic && !unchanged && !happened(w, lane, c->writer))
        race(w, lane, at, kind, c->writer, c->writer_line, true);
    check_caches(w, lane, at, c, kind);
    if (!writes(kind)) {
        note_read(w, lane, c, now, line);
        return;
    }
    Access reader = !happened(w, lane, c->reader)    ? c->reader
                    : !happened(w, lane, c->reader2) ? c->reader2
                                                     : 0;
    if (reader && !same_value && !(atomic && (reader & ATOMIC)))
        race(w, lane, at, kind, reader, c->reader_line, false);
    if (!reader) c->reader = c->reader2 = 0;
    c->writer = now;
    c->writer_line = line;
}

void emu_access(Warp *w, int lane, const EmuPlace *at, int bytes, AccessKind kind,
                bool same_value) {
    Shadow *s = at->shadow;
    if (!s->page) emu_shadow_reset(w->m, s, at->size);
    if (s->shift && ((at->offset | (size_t)bytes) & 3)) refine(w->m, s);
    size_t from = at->offset >> s->shift, to = (at->offset + (size_t)bytes) >> s->shift;
    Access now = access_now(w, lane, kind >= ACCESS_ATOMIC);
    uint32_t touch = kind == ACCESS_WRITE       ? TOUCH_STORED
                     : kind == ACCESS_ATOMIC    ? TOUCH_LOADED | TOUCH_STORED
                     : kind == ACCESS_READ_ONLY ? TOUCH_LOADED | TOUCH_READ_ONLY
                                                : TOUCH_LOADED;
    for (size_t i = from; i < to; i++) {
        Cell **page = &s->page[i / PAGE_CELLS];
        if (!*page) *page = arena_new_n(w->m->arena, Cell, PAGE_CELLS);
        Cell *c = &(*page)[i % PAGE_CELLS];
        check_cell(w, lane, at, c, kind, same_value, now);
        if (at->buffer && (c->touched & touch) != touch) {
            int64_t size = 1 << s->shift;
            if (touch & ~c->touched & TOUCH_LOADED) at->buffer->traffic.load_touched += size;
            if (touch & ~c->touched & TOUCH_STORED) at->buffer->traffic.store_touched += size;
            c->touched |= touch;
        }
    }
}
