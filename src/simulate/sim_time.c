// Divides a Tree into tasks, in its order, and determines which tasks each task waits for.
//
// Each buffer has two moments: its last write and its last use. A moment is a number: 0 is the
// beginning, others are the end of a task or, where several tasks must have ended, the later of two
// moments. sim_events.c computes their times.
#include "simulate/sim_impl.h"

#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

enum { MOST_UNITS = 1 << 20 };

typedef struct Slot {
    int ready, used; // moments: the end of its last writer, and of its last user
} Slot;

// The copies of a buffer: `stages` for each unit that allocates it.
typedef struct Copies {
    int memory;
    int64_t stages, units;
    int64_t used; // units that have allocated it are below this number
    Slot *slot;
    int64_t *turn;   // per unit: number of allocations so far
    int64_t *placed; // per unit: the copy of the memory in which its last allocation lies
    Slot *now;       // the copy in current use
    int64_t copy;    // of the memory in which it lies
    // Buffers that can occupy the same bytes at another time, in a block around or inside.
    int nsharing;
    int *sharing;
} Copies;

// A node that is not a task and is being visited.
typedef struct SimFrame {
    const Block *block;
    Where where;
    bool unordered, begun;
    // For an unordered block: per buffer in scope, its slot at the begin and at the end.
    Slot *before, *after;
    bool *scope;
    int end; // the moment at which all tasks inside have ended
} SimFrame;

struct Clock {
    Arena *arena;
    Counter *c;
    Simulation *out;
    DiagList *diags;
    bool failed;
    int depth, inside; // number of frames; depth of nodes inside the current task, 0: none
    SimFrame frame[2 * TREE_MAX_DEPTH + 2];
    Copies *copies; // per buffer
    // Per memory and copy: the moment at which earlier siblings release it, and the last use.
    int **floor, **last;
    Where where; // of the task
    const Node *task;
    int64_t *count;   // of the task
    int **row;        // per compute unit: rows by number; -1: none yet
    int **engine_row; // per engine: rows by number
    SimMoments moments;
};

bool clock_failed(const Clock *k) { return k->failed; }
bool clock_in_task(const Clock *k) { return k->inside > 0; }

// --- Rows ----------------------------------------------------------------------------------------

static int new_row(Clock *k, const char *name, bool engine) {
    SimRow row = {.name = name, .engine = engine};
    vec_push(k->arena, &k->out->row, row);
    return k->out->row.n - 1;
}

// The innermost compute unit of a kind, on which tasks run.
static int innermost(const Hardware *h, int compute) {
    for (int i = 0; i < h->compute.n; i++)
        if (h->compute.at[i].of == compute) return innermost(h, i);
    return compute;
}

static int first_kind(const Hardware *h) {
    for (int i = 0; i < h->compute.n; i++)
        if (h->compute.at[i].of < 0) return innermost(h, i);
    return -1;
}

// The number of the engine on which a block runs: that of the unit around it which has the engine.
static int64_t engine_number(const Hardware *h, Where w) {
    int of = (int)h->transfer.at[w.engine].of;
    int64_t inside = of >= 0 && w.compute >= 0 ? hardware_inside(h, w.compute, of) : 0;
    return inside ? w.number / inside : 0;
}

static int row_of(Clock *k, Where w) {
    const Hardware *h = k->out->h;
    if (w.engine >= 0) {
        const Transfer *x = &h->transfer.at[w.engine];
        int64_t one = engine_number(h, w);
        int *row = &k->engine_row[w.engine][one % MOST_UNITS];
        const char *name =
            x->of < 0 ? x->name : arena_printf(k->arena, "%s %lld", x->name, (long long)one);
        if (*row < 0) *row = new_row(k, name, true);
        return *row;
    }
    int kind = w.compute >= 0 ? innermost(h, w.compute) : first_kind(h);
    if (kind < 0)
        return k->row[0][0] >= 0 ? k->row[0][0] : (k->row[0][0] = new_row(k, "host", false));
    int64_t number = w.number;
    for (int u = kind; w.compute >= 0 && u != w.compute; u = (int)h->compute.at[u].of)
        if (!checked_mul(number, h->compute.at[u].count, &number)) number = 0;
    int *row = &k->row[kind][number % MOST_UNITS]; // more units than this share rows
    const char *name = h->compute.at[kind].name;
    if (*row < 0)
        *row = new_row(k, arena_printf(k->arena, "%s %lld", name, (long long)number), false);
    return *row;
}

// --- Durations -----------------------------------------------------------------------------------

static int64_t memory_bytes(const Clock *k, int memory) {
    return k->count[COUNT_FIXED + k->out->h->stencil.n + memory];
}

// The cycles that a memory needs for its bytes; 0 if it has no limit.
static double memory_cycles(const Clock *k, int memory) {
    double bandwidth = k->out->h->memory.at[memory].bandwidth;
    return bandwidth > 0 ? (double)memory_bytes(k, memory) / bandwidth : 0;
}

static int64_t transfer_cycles(const Clock *k, const Transfer *x) {
    int64_t bytes = memory_bytes(k, (int)x->from);
    double cycles = bytes ? (double)bytes / x->bandwidth : 0;
    cycles = fmax(cycles, memory_cycles(k, (int)x->to));
    return (int64_t)ceil(cycles) + (bytes ? x->latency : 0);
}

static int64_t whole_cycles(double cycles) { return max_i64(1, (int64_t)ceil(cycles)); }

// `slowest` receives the memory whose bandwidth limits the task, or -1, and `alone` the cycles of
// the compute unit alone.
static int64_t compute_cycles(const Clock *k, Where w, int *slowest, int64_t *alone) {
    const Hardware *h = k->out->h;
    int kind = w.compute >= 0 ? innermost(h, w.compute) : first_kind(h);
    double rate = kind >= 0 ? h->compute.at[kind].rate : 1, cycles = 0;
    if (rate > 0) cycles += (double)k->count[COUNT_OPS] / rate;
    for (int i = 0; i < h->stencil.n; i++)
        if (h->stencil.at[i].rate > 0)
            cycles += (double)k->count[COUNT_FIXED + i] / h->stencil.at[i].rate;
    *alone = whole_cycles(cycles);
    *slowest = -1;
    for (int m = 0; m < h->memory.n; m++) {
        if (memory_cycles(k, m) <= cycles) continue;
        cycles = memory_cycles(k, m);
        *slowest = m;
    }
    return whole_cycles(cycles);
}

// --- Tasks ---------------------------------------------------------------------------------------

// The later of two moments.
static int later(Clock *k, int a, int b) {
    if (a == b || !b) return a;
    if (!a) return b;
    SimMoment join = {.task = -1, .after = {a, b}};
    vec_push(k->arena, &k->moments, join);
    return k->moments.n - 1;
}

static const char *label_of(const Clock *k, const NodeInfo *info) {
    const char *to = info->nwrite ? k->c->t->buffers.at[info->write[0]].name : "";
    if (k->where.engine < 0 || !info->nwrite) return to;
    if (!info->nread) return arena_printf(k->arena, "fill %s", to);
    const char *from = k->c->t->buffers.at[info->read[0]].name;
    int memory = buffer_memory(k->out->h, &k->c->t->buffers.at[info->write[0]]);
    bool out = memory == k->out->h->transfer.at[k->where.engine].from;
    return arena_printf(k->arena, out ? "store %s" : "load %s", out ? to : from);
}

// The copies of a memory that a task accesses: those of its buffers there, or, if all of them are
// allocated inside the task, that of its unit. Returns their number, at most 2.
static int copies_used(const Clock *k, const NodeInfo *info, int memory, int64_t *copy) {
    int n = 0;
    for (int i = 0; i < info->nread + info->nwrite; i++) {
        bool read = i < info->nread;
        const Copies *c = &k->copies[read ? info->read[i] : info->write[i - info->nread]];
        if (c->memory == memory && n < 2 && !(n && copy[0] == c->copy)) copy[n++] = c->copy;
    }
    int owner = hardware_owner(k->out->h, memory);
    int64_t inside =
        k->where.compute >= 0 ? hardware_inside(k->out->h, k->where.compute, owner) : 0;
    if (!n) copy[n++] = inside ? k->where.number / inside : 0;
    return n;
}

static void add_totals(Clock *k, const NodeInfo *info) {
    const Hardware *h = k->out->h;
    k->out->starts += k->count[COUNT_STARTS];
    k->out->products += k->count[COUNT_PRODUCTS];
    if (k->where.engine < 0) k->out->ops += k->count[COUNT_OPS];
    for (int m = 0; m < h->memory.n; m++) {
        SimMemory *to = &k->out->memory[m];
        int64_t bytes = memory_bytes(k, m), copy[2];
        to->accessed += bytes;
        int n = bytes ? copies_used(k, info, m, copy) : 0;
        for (int i = 0; i < n; i++) to->copy[copy[i] % to->ncopies].accessed += bytes / n;
    }
}

// Reports an access to a copy of a memory that belongs to another unit.
static void check_copy(Clock *k, const Node *node, int buffer) {
    const Hardware *h = k->out->h;
    const Copies *c = &k->copies[buffer];
    int owner = hardware_owner(h, c->memory), kind = k->where.compute;
    int64_t number = k->where.number;
    if (owner < 0 || k->failed) return;
    if (k->where.engine >= 0) {
        kind = (int)h->transfer.at[k->where.engine].of;
        number = engine_number(h, k->where);
    }
    if (kind < 0 || hardware_together(h, kind, number, owner, c->copy)) return;
    const char *unit =
        k->where.engine >= 0 ? h->transfer.at[k->where.engine].name : h->compute.at[kind].name;
    diag_report(k->diags, tree_range(k->c->t, node), DIAG_SIM_OTHER, unit, (long long)number,
                k->c->t->buffers.at[buffer].name, h->memory.at[c->memory].name,
                h->compute.at[owner].name, (long long)c->copy);
    k->failed = true;
}

// Notes that a task which ends at `now` uses a buffer.
static void note_use(Clock *k, const Node *node, int buffer, int now) {
    const Copies *c = &k->copies[buffer];
    int *last = &k->last[c->memory][c->copy % k->out->memory[c->memory].ncopies];
    check_copy(k, node, buffer);
    if (k->out->memory[c->memory].ncopies > 1) *last = later(k, *last, now);
}

// Does a task without a place access the outermost memory, which no compute unit works on?
static bool works_outside(const Clock *k) {
    const Hardware *h = k->out->h;
    int kind = first_kind(h), outer = hardware_outermost(h);
    bool placed = k->where.engine >= 0 || k->where.compute >= 0;
    return !placed && memory_bytes(k, outer) && kind >= 0 && hardware_works_on(h, kind) != outer;
}

static void run_task(Clock *k, const Node *node) {
    const NodeInfo *info = node_info(k->c, node);
    bool engine = k->where.engine >= 0;
    const Transfer *x = engine ? &k->out->h->transfer.at[k->where.engine] : NULL;
    int slowest = -1, ready = 0, row = row_of(k, k->where);
    int64_t alone = 0;
    int64_t cycles = engine ? transfer_cycles(k, x) : compute_cycles(k, k->where, &slowest, &alone);
    for (int i = 0; i < info->nread; i++)
        ready = later(k, ready, k->copies[info->read[i]].now->ready);
    for (int i = 0; i < info->nwrite; i++) {
        const Slot *s = k->copies[info->write[i]].now;
        ready = later(k, later(k, ready, s->ready), s->used);
    }
    SimMoment end = {.task = k->out->task.n, .after = {ready, 0}};
    SimTask task = {node,
                    label_of(k, info),
                    row,
                    0,
                    cycles, // run_events computes its times
                    engine ? memory_bytes(k, (int)x->from) : 0};
    vec_push(k->arena, &k->moments, end);
    vec_push(k->arena, &k->out->task, task);
    int now = k->moments.n - 1;
    for (int i = 0; i < info->nread; i++) {
        Slot *s = k->copies[info->read[i]].now;
        s->used = later(k, s->used, now);
        note_use(k, node, info->read[i], now);
    }
    for (int i = 0; i < info->nwrite; i++) {
        k->copies[info->write[i]].now->ready = now;
        note_use(k, node, info->write[i], now);
    }
    if (works_outside(k)) k->out->outside += cycles;
    if (slowest >= 0) {
        k->out->memory[slowest].waited += cycles;
        k->out->memory[slowest].computed += alone;
    }
    k->out->row.at[row].busy += cycles;
    k->out->row.at[row].tasks++;
    k->out->moved += task.bytes;
    add_totals(k, info);
    if (k->depth) k->frame[k->depth - 1].end = later(k, k->frame[k->depth - 1].end, now);
}

void clock_stop(Clock *k) {
    if (!k->failed) run_events(k->arena, &k->moments, k->out);
}

// --- Blocks --------------------------------------------------------------------------------------

static bool runs_in_any_order(Kind kind) { return kind != KIND_SERIAL && kind != KIND_UNROLL; }

static void copy_slots(const Clock *k, Slot *to, const bool *scope) {
    for (int i = 0; i < k->c->t->buffers.n; i++)
        if (scope[i]) to[i] = *k->copies[i].now;
}

static void merge_slots(Clock *k, SimFrame *f) {
    for (int i = 0; i < k->c->t->buffers.n; i++) {
        if (!f->scope[i]) continue;
        const Slot *s = k->copies[i].now;
        if (s->ready != f->before[i].ready)
            f->after[i].ready = later(k, f->after[i].ready, s->ready);
        if (s->used != f->before[i].used) f->after[i].used = later(k, f->after[i].used, s->used);
    }
}

static void push_frame(Clock *k, const Block *b, Where where) {
    require(k->depth < (int)(sizeof k->frame / sizeof *k->frame));
    SimFrame *f = &k->frame[k->depth++];
    int n = k->c->t->buffers.n;
    *f = (SimFrame){.block = b, .where = where};
    f->unordered = runs_in_any_order(b->kind) && b->nindex;
    if (!f->unordered) return;
    f->before = arena_new_n(k->arena, Slot, n);
    f->after = arena_new_n(k->arena, Slot, n);
    f->scope = arena_new_n(k->arena, bool, n);
    for (int i = 0; i < n; i++) f->scope[i] = k->copies[i].now != NULL;
    copy_slots(k, f->before, f->scope);
    copy_slots(k, f->after, f->scope);
}

// A buffer comes into use: its memory is free when the users of buffers at the same bytes have
// finished.
static void bear(Clock *k, int buffer) {
    const Copies *c = &k->copies[buffer];
    for (int i = 0; i < c->nsharing; i++) {
        const Copies *other = &k->copies[c->sharing[i]];
        for (int64_t u = 0; u < other->used; u++)
            for (int64_t s = 0; s < other->stages && other->placed[u] == c->copy; s++) {
                const Slot *slot = &other->slot[u * other->stages + s];
                c->now->ready = later(k, later(k, c->now->ready, slot->ready), slot->used);
            }
    }
}

bool clock_begin(Clock *k, const Node *node, const int64_t *value) {
    const Block *b = as_block(node);
    if (k->inside) {
        k->inside++;
        return false;
    }
    const NodeInfo *info = node_info(k->c, node);
    for (int i = 0; i < info->nborn; i++) bear(k, info->born[i]);
    Where around = k->depth ? k->frame[k->depth - 1].where : (Where){-1, -1, 0};
    if (!info->task) {
        push_frame(k, b, around);
        return true;
    }
    k->where = around;
    if (b && !where_of(k->out->h, k->c->t, b, around, value, &k->where, k->diags)) k->failed = true;
    k->inside = 1;
    k->task = node;
    memset(k->count, 0, (size_t)k->c->n * sizeof *k->count);
    return false;
}

// Takes the next copy of an allocation.
static void allocate(Clock *k, int buffer, Where w, const int64_t *value) {
    const Hardware *h = k->out->h;
    Copies *c = &k->copies[buffer];
    int64_t unit = w.engine < 0 && w.compute >= 0 && w.number < c->units ? w.number : 0;
    c->now = &c->slot[unit * c->stages + c->turn[unit]++ % c->stages];
    c->copy = max_i64(0, buffer_copy(h, &k->c->t->buffers.at[buffer], c->memory, w, value));
    c->placed[unit] = c->copy;
    c->used = max_i64(c->used, unit + 1);
    int floor = k->floor[c->memory][c->copy % k->out->memory[c->memory].ncopies];
    c->now->ready = later(k, c->now->ready, floor);
}

void clock_enter(Clock *k, const Block *b, const int64_t *value) {
    if (k->inside) return;
    SimFrame *f = &k->frame[k->depth - 1];
    Where around = k->depth > 1 ? k->frame[k->depth - 2].where : (Where){-1, -1, 0};
    if (f->unordered && f->begun) merge_slots(k, f);
    for (int i = 0; f->unordered && f->begun && i < k->c->t->buffers.n; i++)
        if (f->scope[i]) *k->copies[i].now = f->before[i];
    f->begun = true;
    if (!where_of(k->out->h, k->c->t, b, around, value, &f->where, k->diags)) k->failed = true;
    for (int i = 0; i < b->nallocs && !k->failed; i++) allocate(k, b->alloc[i], f->where, value);
}

void clock_count(Clock *k, const int64_t *count) { count_add(k->c, k->count, count, 1); }

// Siblings that allocate in the same memory use it one after the other. Of a memory with a copy for
// each unit, this holds for each copy.
static void leave_memory(Clock *k, const SimFrame *parent, const Block *child, int end) {
    const NodeInfo *info = node_info(k->c, &child->node);
    for (int m = 0; m < k->out->h->memory.n; m++) {
        int takers = 0, copies = k->out->memory[m].ncopies;
        for (int i = 0; i < parent->block->nchildren; i++)
            takers += node_info(k->c, parent->block->child[i])->allocates[m];
        if (!info->allocates[m] || takers < 2) continue;
        for (int i = 0; i < copies; i++)
            k->floor[m][i] = later(k, k->floor[m][i], copies > 1 ? k->last[m][i] : end);
    }
}

static bool has_room(Clock *k, const Node *node) {
    if (k->out->task.n < SIM_MOST_TASKS) return true;
    diag_report(k->diags, node->range, DIAG_SIM_TASKS, SIM_MOST_TASKS + 1LL, SIM_MOST_TASKS);
    k->failed = true;
    return false;
}

void clock_end(Clock *k, const Node *node) {
    if (k->inside && --k->inside) return;
    if (k->task == node) {
        bool done = false;
        for (int i = 0; i < k->c->n; i++) done |= k->count[i] != 0;
        if (done && !k->failed && has_room(k, node)) run_task(k, node);
        k->task = NULL;
        return;
    }
    SimFrame *f = &k->frame[--k->depth];
    if (f->unordered && f->begun) {
        merge_slots(k, f);
        for (int i = 0; i < k->c->t->buffers.n; i++)
            if (f->scope[i]) *k->copies[i].now = f->after[i];
    }
    for (int i = 0; i < f->block->nallocs; i++) k->copies[f->block->alloc[i]].now = NULL;
    if (!k->depth) return;
    SimFrame *parent = &k->frame[k->depth - 1];
    parent->end = later(k, parent->end, f->end);
    leave_memory(k, parent, f->block, f->end);
}

// --- Construction --------------------------------------------------------------------------------

static int64_t most_units(const Hardware *h) {
    int64_t most = 1;
    for (int i = 0; i < h->compute.n; i++) most = max_i64(most, hardware_units(h, i));
    return min_i64(most, MOST_UNITS);
}

static void new_copies(Clock *k, int buffer, int64_t units) {
    const Buffer *b = &k->c->t->buffers.at[buffer];
    Copies *c = &k->copies[buffer];
    bool argument = buffer < k->c->t->nargs;
    c->memory = buffer_memory(k->out->h, b);
    c->stages = argument ? 1 : max_i64(1, min_i64(64, tag_number(b->tags, "stages", 1)));
    c->units = argument ? 1 : min_i64(units, 4096);
    c->slot = arena_new_n(k->arena, Slot, c->stages * c->units);
    c->turn = arena_new_n(k->arena, int64_t, c->units);
    c->placed = arena_new_n(k->arena, int64_t, c->units);
    if (argument) c->now = c->slot;
}

static int *new_rows(Clock *k, int64_t units) {
    int64_t n = min_i64(units, MOST_UNITS);
    int *row = arena_new_n(k->arena, int, n);
    memset(row, -1, (size_t)n * sizeof *row);
    return row;
}

// The blocks below the home of each buffer, as a range of numbers in the order of the Tree.
typedef struct SimHomes {
    const Tree *t;
    int n, *from, *to; // per buffer
} SimHomes;

static void number_homes(SimHomes *x, const Block *b) {
    int from = x->n++;
    for (int i = 0; i < b->nallocs; i++) x->from[b->alloc[i]] = from;
    for (int i = 0; i < b->nchildren; i++)
        if (as_block(b->child[i])) number_homes(x, as_block(b->child[i]));
    for (int i = 0; i < b->nallocs; i++) x->to[b->alloc[i]] = x->n;
}

// Do two buffers have offsets at which they overlap?
static bool share_bytes(const Clock *k, int a, int b) {
    const Hardware *h = k->out->h;
    const Buffer *x = &k->c->t->buffers.at[a], *y = &k->c->t->buffers.at[b];
    int m = k->copies[a].memory;
    int64_t p = tag_number(x->tags, "offset", -1), q = tag_number(y->tags, "offset", -1);
    if (a == b || m != k->copies[b].memory || p < 0 || q < 0) return false;
    return p < q + buffer_bytes(y, h->memory.at[m].align) * k->copies[b].stages &&
           q < p + buffer_bytes(x, h->memory.at[m].align) * k->copies[a].stages;
}

// Finds the buffers that share bytes and whose homes are the same or contain each other. Those of
// siblings follow each other because of `floor`.
static void find_sharing(Clock *k) {
    const Tree *t = k->c->t;
    SimHomes x = {.t = t};
    x.from = arena_new_n(k->arena, int, t->buffers.n + 1);
    x.to = arena_new_n(k->arena, int, t->buffers.n + 1);
    number_homes(&x, t->root);
    for (int a = t->nargs; a < t->buffers.n; a++) {
        Copies *c = &k->copies[a];
        c->sharing = arena_new_n(k->arena, int, t->buffers.n);
        for (int b = t->nargs; b < t->buffers.n; b++) {
            bool nested = (x.from[a] <= x.from[b] && x.from[b] < x.to[a]) ||
                          (x.from[b] <= x.from[a] && x.from[a] < x.to[b]);
            if (nested && share_bytes(k, a, b)) c->sharing[c->nsharing++] = b;
        }
    }
}

Clock *clock_new(Arena *arena, Counter *c, Simulation *out, DiagList *diags) {
    const Hardware *h = out->h;
    Clock *k = arena_new(arena, Clock);
    *k = (Clock){.arena = arena, .c = c, .out = out, .diags = diags};
    k->copies = arena_new_n(arena, Copies, c->t->buffers.n + 1);
    k->floor = arena_new_n(arena, int *, h->memory.n + 1);
    k->last = arena_new_n(arena, int *, h->memory.n + 1);
    for (int i = 0; i < h->memory.n; i++) {
        k->floor[i] = arena_new_n(arena, int, out->memory[i].ncopies);
        k->last[i] = arena_new_n(arena, int, out->memory[i].ncopies);
    }
    SimMoment beginning = {.task = -1};
    vec_push(arena, &k->moments, beginning);
    k->count = arena_new_n(arena, int64_t, c->n);
    k->row = arena_new_n(arena, int *, h->compute.n + 1);
    k->engine_row = arena_new_n(arena, int *, h->transfer.n + 1);
    int64_t units = most_units(h);
    for (int i = 0; i < h->compute.n || i == 0; i++)
        k->row[i] = new_rows(k, i < h->compute.n ? hardware_units(h, i) : 1);
    for (int i = 0; i < h->transfer.n; i++) {
        int of = (int)h->transfer.at[i].of;
        k->engine_row[i] = new_rows(k, of < 0 ? 1 : hardware_units(h, of));
    }
    for (int i = 0; i < c->t->buffers.n; i++) new_copies(k, i, units);
    find_sharing(k);
    return k;
}
