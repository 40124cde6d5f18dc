// Assigns registers in a finished segment.
//
// It makes one pass over the micro-operations in their final order (stores move up to the write
// that they perform). It brings operands into registers, and releases the registers of dead values.
// If no register is free, it spills the value with the farthest next use, unless that can be loaded
// or computed again. Loads and constants are delayed until their first use, and become memory
// operands of their only user if the back-end supports it. Elements of the tile end in the
// registers to which they are pinned.
//
// Owners of registers:
//
//     held     (Seg.held)                none in this segment: its content lives across it
//     pinned   (below npins, not held)   the tile; in a crowded segment, another value until the
//                                        pinned element gets its final value
//     free     (the others)              any value
//
// A pinned register that has its final value is closed, like a held one. No operation writes a
// closed register: emit() checks this.
#include "code/micro/micro.h"

#include <string.h>

#include "base/bug.h"

enum { NEVER = 1 << 30 };

typedef struct Assign {
    Seg *s;
    const MicroIsa *isa;
    int npins;
    int *next;       // per value: position of its next use from here on
    int *reg;        // per value: register, or -1
    int *slot;       // per value: stack slot, or -1
    int holder[64];  // per register: value, or -1
    int *use_next;   // per micro and operand: next use of that operand after this micro
    int *store;      // per buffer: position of the next store
    uint64_t closed; // registers that are held, or pinned and have their final value
    int opened;      // the closed register that gets its final value now, or -1
} Assign;

static int *carve(int **room, int n) {
    int *at = *room;
    *room += n;
    return at;
}

// Moves stores directly after the write that they perform, so that the value need not be kept.
// Returns the positions of micros in the final order, ended by -1. `only`: per micro, whether to
// include it.
static int *order_micros(Seg *s, const bool *only, int **room) {
    int n = s->micros.n, at = 0;
    int *first = carve(room, n + 2), *next = carve(room, n + 2), *order = carve(room, n + 1);
    memset(first, 0, (size_t)(n + 2) * sizeof(int));
    for (int i = n - 1; i >= 0; i--) { // lists of stores by the micro they follow, in program order
        const Micro *m = &s->micros.at[i];
        if (m->kind != MI_STORE || (only && !only[i])) continue;
        next[i] = first[m->after + 1];
        first[m->after + 1] = i + 1;
    }
    for (int i = -1; i < n; i++) {
        if (i >= 0 && s->micros.at[i].kind == MI_STORE) {
            for (int st = first[i + 1]; st; st = next[st - 1]) order[at++] = st - 1;
            continue;
        }
        if (i >= 0 && (!only || only[i])) order[at++] = i;
        for (int st = first[i + 1]; st; st = next[st - 1]) order[at++] = st - 1;
    }
    order[at] = -1;
    return order;
}

static bool is_dead(const Seg *s, const Micro *m) {
    return m->dst >= 0 && !s->vals.at[m->dst].uses;
}

// Finds the next use of every operand, and for each load the position of the next store to its
// buffer. Omitted operations use nothing: a delayed load must not wait for them.
static void use_positions(Assign *a, const int *order, int n) {
    Seg *s = a->s;
    int *store = a->store;
    for (int i = 0; i < s->nbuffers; i++) store[i] = NEVER;
    for (int v = 0; v < s->vals.n; v++) a->next[v] = NEVER;
    for (int i = n - 1; i >= 0; i--) {
        Micro *m = &s->micros.at[order[i]];
        if (m->kind == MI_LOAD) m->after = store[m->ref->buffer];
        if (m->kind == MI_STORE) store[m->ref->buffer] = i;
        if (is_dead(s, m)) continue;
        for (int k = 0; k < m->nargs; k++) a->use_next[4 * i + k] = a->next[m->arg[k]];
        for (int k = 0; k < m->nargs; k++) a->next[m->arg[k]] = i;
    }
}

static bool is_closed(const Assign *a, int r) { return a->closed >> r & 1; }

static void emit(Assign *a, const Micro *m) {
    if (micro_writes(m) && m->dst_reg != a->opened && is_closed(a, m->dst_reg))
        bug("register %d is written, but its content lives on", m->dst_reg);
    a->isa->emit(a->isa->user, m);
}

static bool is_arg(const Micro *m, int v) {
    for (int k = 0; k < m->nargs; k++)
        if (m->arg[k] == v) return true;
    return false;
}

// Can the value be loaded or computed again at its next use, without a stack slot?
static bool again(const Assign *a, int v) {
    int def = a->s->vals.at[v].def;
    if (def < 0) return false;
    const Micro *d = &a->s->micros.at[def];
    return d->kind == MI_CONST || d->kind == MI_LANE_NUMBERS ||
           (d->kind == MI_LOAD && a->next[v] < d->after && !d->nargs && !ref_is_hard(d->ref));
}

static void release(Assign *a, int v) {
    if (a->reg[v] >= 0) a->holder[a->reg[v]] = -1;
    a->reg[v] = -1;
}

static void evict(Assign *a, int r) {
    int v = a->holder[r];
    if (a->next[v] != NEVER && !again(a, v) && a->slot[v] < 0) {
        a->slot[v] = a->s->spills++;
        emit(a, &(Micro){.kind = MI_SPILL,
                         .type = a->s->vals.at[v].type,
                         .width = a->s->vals.at[v].width,
                         .dst = -1,
                         .nargs = 1,
                         .arg = {v},
                         .arg_reg = {(int8_t)r},
                         .slot = a->slot[v],
                         .fold = -1});
    }
    release(a, v);
}

// A register for value v during micro m. Pinned registers only hold their own values, unless the
// segment is crowded and no other register is free: then other values may use them until they are
// closed.
static int take(Assign *a, int v, const Micro *m) {
    int pin = v >= 0 ? a->s->vals.at[v].pin : -1, best = -1, spare = -1;
    if (pin >= 0 && a->holder[pin] < 0 && !is_closed(a, pin)) return pin;
    for (int r = a->s->crowded ? 0 : a->npins; r < a->isa->registers; r++) {
        if (is_closed(a, r)) continue;
        if (a->holder[r] < 0 && r >= a->npins) return r;
        if (a->holder[r] < 0) spare = r;
        if (a->holder[r] < 0 || is_arg(m, a->holder[r])) continue;
        if (best < 0 || a->next[a->holder[r]] > a->next[a->holder[best]]) best = r;
    }
    if (spare >= 0) return spare;
    if (best < 0 && !a->s->crowded) { // as a last resort
        a->s->crowded = true;
        return take(a, v, m);
    }
    if (best < 0) bug("no register left");
    evict(a, best);
    return best;
}

static void hold(Assign *a, int v, int r) {
    a->reg[v] = r;
    a->holder[r] = v;
}

// Brings a value that is in no register into r.
static void fetch_into(Assign *a, int v, int r) {
    hold(a, v, r);
    if (a->slot[v] >= 0) {
        emit(a, &(Micro){.kind = MI_RELOAD,
                         .type = a->s->vals.at[v].type,
                         .width = a->s->vals.at[v].width,
                         .dst = v,
                         .dst_reg = (int8_t)r,
                         .slot = a->slot[v],
                         .fold = -1});
        return;
    }
    int def = a->s->vals.at[v].def;
    if (def < 0) bug("a pinned value was lost");
    Micro d = a->s->micros.at[def];
    d.dst_reg = (int8_t)r;
    d.fold = -1;
    emit(a, &d);
}

static void fetch(Assign *a, int v, const Micro *m) {
    if (a->reg[v] < 0) fetch_into(a, v, take(a, v, m));
}

// A load or constant waits for its first use, unless the loaded element is overwritten before that.
static bool lazy(const Assign *a, const Micro *m) {
    if (m->kind == MI_CONST || m->kind == MI_LANE_NUMBERS) return true;
    return m->kind == MI_LOAD && again(a, m->dst);
}

static int pick_fold(const Assign *a, const Micro *m, int at) {
    for (int k = m->nargs - 1; k >= 0; k--) {
        int v = m->arg[k], def = a->s->vals.at[v].def;
        if (def < 0 || a->reg[v] >= 0 || a->slot[v] >= 0 || a->s->vals.at[v].uses != 1) continue;
        const Micro *d = &a->s->micros.at[def];
        if (d->kind == MI_LOAD && at < d->after && !d->nargs && !ref_is_hard(d->ref) &&
            a->isa->folds(a->isa->user, m, k, d->ref))
            return k;
    }
    return -1;
}

// Moves the value in register r to another one if it is needed after position `at`.
static void vacate(Assign *a, int r, const Micro *m, int at) {
    int v = a->holder[r];
    bool needed = a->next[v] != NEVER && a->next[v] > at;
    int to = needed ? take(a, -1, m) : -1;
    if (needed)
        emit(a, &(Micro){.kind = MI_PIN,
                         .type = a->s->vals.at[v].type,
                         .width = a->s->vals.at[v].width,
                         .dst = -1,
                         .nargs = 1,
                         .arg = {v},
                         .arg_reg = {(int8_t)r},
                         .dst_reg = (int8_t)to,
                         .fold = -1});
    release(a, v);
    if (needed) hold(a, v, to);
}

// Moves the value to its pinned register, which is closed from then on.
static void do_pin(Assign *a, Micro *m, int at) {
    int v = m->arg[0], r = m->dst_reg;
    m->fold = -1;
    a->closed |= (uint64_t)1 << r;
    if (a->holder[r] >= 0 && a->holder[r] != v) vacate(a, r, m, at);
    a->opened = r;
    if (a->reg[v] < 0) fetch_into(a, v, r);
    m->arg_reg[0] = (int8_t)a->reg[v];
    const Micro *d = a->s->vals.at[v].def < 0 ? NULL : &a->s->micros.at[a->s->vals.at[v].def];
    if (a->reg[v] != r && d && d->kind == MI_CONST && !d->value.i) { // zero costs less than a move
        Micro zero = *d;
        zero.dst_reg = (int8_t)r;
        zero.fold = -1;
        emit(a, &zero);
    } else if (a->reg[v] != r) {
        emit(a, m);
    }
    a->opened = -1;
    a->next[v] = a->use_next[4 * at];
    if (a->next[v] == NEVER && a->reg[v] != r) release(a, v);
}

// FMA overwrites one of its operands, preferably the addend. If an operand dies here, the result
// takes over its register unless that is closed; in masked and integer FMAs only the addend's.
// Other operations may do the same, so that sums stay in place, unless the result has a free
// register of its own. -1: none.
static int dying(const Assign *a, const Micro *m) {
    bool fma = m->kind == MI_FMA;
    int pin = m->dst >= 0 ? a->s->vals.at[m->dst].pin : -1;
    if (!fma && (m->dst < 0 || (pin >= 0 && a->holder[pin] < 0))) return -1;
    for (int i = 0; i < (m->nargs == 4 || (fma && m->op) ? 1 : m->nargs); i++) {
        int k = fma ? 2 - i : i;
        if (!fma && !a->isa->ties(a->isa->user, m, k)) continue;
        if (m->fold == k || is_closed(a, a->reg[m->arg[k]])) continue;
        if (a->next[m->arg[k]] == NEVER) return m->arg[k];
    }
    return -1;
}

static void do_one(Assign *a, Micro m, int at) {
    m.fold = (int8_t)pick_fold(a, &m, at);
    if (m.fold >= 0) m.ref = a->s->micros.at[a->s->vals.at[m.arg[m.fold]].def].ref;
    for (int k = 0; k < m.nargs; k++)
        if (k != m.fold) fetch(a, m.arg[k], &m);
    for (int k = 0; k < m.nargs; k++) m.arg_reg[k] = (int8_t)(k == m.fold ? -1 : a->reg[m.arg[k]]);
    for (int k = 0; k < m.nargs; k++) a->next[m.arg[k]] = a->use_next[4 * at + k];
    int tied = dying(a, &m);
    int tied_reg = tied >= 0 ? a->reg[tied] : -1;
    if (m.dst >= 0) {
        if (tied >= 0) {
            release(a, tied);
            m.dst_reg = (int8_t)tied_reg;
        } else {
            m.dst_reg = (int8_t)take(a, m.dst, &m);
        }
    }
    for (int k = 0; k < m.nargs; k++)
        if (k != m.fold && a->next[m.arg[k]] == NEVER && a->reg[m.arg[k]] >= 0)
            release(a, m.arg[k]);
    if (m.dst >= 0) hold(a, m.dst, m.dst_reg);
    emit(a, &m);
    if (m.dst >= 0 && a->next[m.dst] == NEVER) release(a, m.dst);
}

void micro_assign(Seg *s, const MicroIsa *isa, int npins, const bool *only) {
    int need = 8 * (s->micros.n + 4) + 4 * s->vals.n + s->nbuffers;
    if (need > s->work_cap) {
        s->work_cap = 2 * need;
        s->work = arena_raw(s->arena, (size_t)s->work_cap * sizeof(int));
    }
    int *room = s->work, *order = order_micros(s, only, &room), n = 0;
    while (order[n] >= 0) n++;
    Assign a = {.s = s, .isa = isa, .npins = npins, .closed = s->held, .opened = -1};
    a.next = carve(&room, s->vals.n);
    a.reg = carve(&room, s->vals.n);
    a.slot = carve(&room, s->vals.n);
    a.use_next = carve(&room, 4 * n + 4);
    a.store = carve(&room, s->nbuffers);
    for (int i = 0; i < 64; i++) a.holder[i] = -1;
    for (int v = 0; v < s->vals.n; v++) a.reg[v] = a.slot[v] = -1;
    use_positions(&a, order, n);
    for (int v = 0; v < s->vals.n; v++)
        if (s->vals.at[v].def < 0 && a.next[v] != NEVER) hold(&a, v, s->vals.at[v].pin);
    for (int i = 0; i < n; i++) {
        Micro m = s->micros.at[order[i]];
        if (is_dead(s, &m)) continue;
        if (lazy(&a, &m)) continue;
        if (m.kind == MI_PIN)
            do_pin(&a, &m, i);
        else
            do_one(&a, m, i);
    }
}
