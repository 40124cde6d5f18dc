// Keeps elements in registers from one iteration of a machine loop to the next.
//
//     for t { Y[t + 1] = a*Y[t] + X[t] }      y = Y[0]; for t { y = a*y + X[t]; Y[t + 1] = y }
//
// The body of an innermost loop is one segment. A load carries over if the previous iteration
// stored the same element and no other store of the body may write it. It is loaded once before the
// loop; then it stays in a register, as an element of the tile does. The stores remain, but no
// iteration waits until its load finds them.
#include "code/micro/micro.h"

enum { MOST_CARRIED = 8, SPARE = 6 };

// Bytes by which the stream's pointer moves per iteration.
static int64_t advance(const Plan *p, const Ref *r, const LoopBody *body) {
    const Stream *st = &p->streams.at[r->stream];
    int64_t by = 0;
    for (int t = 0; t < st->n; t++)
        if (st->t[t].loop == body->loop) by += st->t[t].k * body->stride;
    return by;
}

// Memory holds the value as a register does.
static bool is_plain(const Micro *m) {
    const Ref *r = m->ref;
    return m->nargs == (m->kind == MI_STORE) && !ref_is_hard(r) && r->row < 0 &&
           type_compute(r->type) == r->type && type_info[r->type].bytes >= 4;
}

static bool is_previous(const Micro *load, const Micro *store, int64_t by) {
    const Ref *l = load->ref, *r = store->ref;
    return r->buffer == l->buffer && r->stream == l->stream && r->type == l->type &&
           r->lane == l->lane && r->width == l->width && r->active == l->active &&
           (l->lane || l->width == 1) && r->disp == l->disp + by && is_plain(store);
}

// May the store write the element that the load reads, in this iteration or in the previous one?
static bool disturbs(const Ref *load, const Ref *store, int64_t by) {
    if (store->buffer != load->buffer) return false;
    if (ref_is_hard(store) || store->row >= 0 || store->stream != load->stream) return true;
    Ref before = *store;
    before.disp -= by;
    return ref_overlap(load, store) || ref_overlap(load, &before);
}

// The value that the previous iteration stored where the load reads; -1: there is none.
static int stored_before(const Seg *s, const Plan *p, const LoopBody *body, int load) {
    const Micro *l = &s->micros.at[load];
    int64_t by = advance(p, l->ref, body);
    int found = -1;
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        if (m->kind != MI_STORE) continue;
        if (found < 0 && is_previous(l, m, by) && s->vals.at[m->arg[0]].width == l->width &&
            s->vals.at[m->arg[0]].type == l->type && (by ? !ref_overlap(l->ref, m->ref) : i > load))
            found = m->arg[0];
        else if (disturbs(l->ref, m->ref, by))
            return -1;
    }
    return found;
}

// The most registers that hold values at a time, where each is kept until its last use.
static int most_live(const Seg *s) {
    int *last = arena_new_n(s->arena, int, s->vals.n + 1), live = 0, most = 0;
    int *ends = arena_new_n(s->arena, int, s->micros.n + 1);
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        int at = m->kind == MI_STORE ? m->after : i; // stores move up
        for (int k = 0; k < m->nargs; k++)
            if (at > last[m->arg[k]]) last[m->arg[k]] = at;
    }
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        live -= ends[i];
        if (m->dst < 0 || s->vals.at[m->dst].pin >= 0 || !s->vals.at[m->dst].uses) continue;
        ends[last[m->dst] > i ? last[m->dst] : i]++;
        if (++live > most) most = live;
    }
    return most;
}

// The load moves in front of the loop, to a register, which receives the stored value at the end.
static void carry(Seg *s, const MicroIsa *isa, int load, int stored, int reg) {
    Micro *m = &s->micros.at[load];
    Micro first = *m;
    first.dst_reg = (int8_t)reg;
    first.fold = -1;
    isa->emit(isa->user, &first);
    Val *v = &s->vals.at[m->dst];
    v->def = -1;
    v->pin = (int16_t)reg;
    Val unused = {.def = load, .pin = -1, .type = m->type, .width = m->width};
    *m = (Micro){.kind = MI_CONST,
                 .type = m->type,
                 .from = m->type,
                 .width = m->width,
                 .dst = s->vals.n,
                 .line = m->line};
    vec_push(s->arena, &s->vals, unused);
    Val *last = &s->vals.at[stored];
    last->uses++;
    if (last->pin < 0) last->pin = (int16_t)reg;
    Micro pin = {.kind = MI_PIN,
                 .type = last->type,
                 .width = last->width,
                 .dst = -1,
                 .nargs = 1,
                 .arg = {stored},
                 .dst_reg = (int8_t)reg};
    vec_push(s->arena, &s->micros, pin);
}

int micro_carry(Seg *s, const MicroIsa *isa, const Plan *p, const LoopBody *body, int npins) {
    int room = -1, n = 0, end = s->micros.n;
    for (int i = 0; i < end && n < MOST_CARRIED; i++) {
        const Micro *m = &s->micros.at[i];
        if (m->kind != MI_LOAD || !s->buffer[m->ref->buffer].written || !is_plain(m)) continue;
        if (!s->vals.at[m->dst].uses) continue;
        int stored = stored_before(s, p, body, i);
        if (stored < 0) continue;
        if (room < 0) room = isa->registers - npins - SPARE - most_live(s);
        if (n >= room) break;
        carry(s, isa, i, stored, npins + n++);
    }
    return n;
}
