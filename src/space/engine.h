// The run-time part of generated code: the worklist, and the primitives that shrink domains.
// Private to space/ and to code that spacec generates.
//
// Events are variables. A variable is queued when its domain has shrunk (a counter: when something
// that it counts has), at most once at a time. The generated `changed` handles it, and only
// examines constraints with a part that the shrunken domain has made false. New objects wait in a
// separate list; all constraints on them are examined then. Nothing depends on the order of events.
#ifndef LW_SPACE_ENGINE_H
#define LW_SPACE_ENGINE_H

#include "base/bug.h"
#include "space/space.h"

struct SpaceWork {
    const Space *s;
    uint8_t *v;     // the current candidate
    int *queue;     // ring of variables
    int head, used; // its first entry, and the number of entries
    uint8_t *queued;
    int *fresh; // new objects
    int nfresh;
    bool dead;
    SpaceTrace *trace;
    int why[5]; // the current rule and its objects, kept while tracing
    Arena *arena;
    Cand *spare;
};

#define SPACE_INF INT64_MAX

static inline bool eng_exists(const SpaceWork *w, int o) { return w->v[o] != 0; }

static inline void eng_push(SpaceWork *w, int var) {
    if (w->queued[var]) return;
    w->queued[var] = 1;
    int at = w->head + w->used++;
    w->queue[at < w->s->nvars ? at : at - w->s->nvars] = var;
}

void eng_record(SpaceWork *w, int var, uint64_t removed);

#define ENG_WHY(w, rule, a, b, c, d)                                                               \
    (__builtin_expect((w)->trace != NULL, 0)                                                       \
         ? (void)((w)->why[0] = (rule), (w)->why[1] = (a), (w)->why[2] = (b), (w)->why[3] = (c),   \
                  (w)->why[4] = (d))                                                               \
         : (void)0)

static inline void eng_keep8(SpaceWork *w, int var, uint8_t *dom, uint8_t keep) {
    uint8_t now = *dom & keep;
    if (now == *dom) return;
    if (__builtin_expect(w->trace != NULL, 0)) eng_record(w, var, *dom & (uint8_t)~keep);
    *dom = now;
    if (!now) w->dead = true;
    eng_push(w, var);
}

static inline void eng_keep64(SpaceWork *w, int var, uint64_t *dom, uint64_t keep) {
    uint64_t now = *dom & keep;
    if (now == *dom) return;
    if (__builtin_expect(w->trace != NULL, 0)) eng_record(w, var, *dom & ~keep);
    *dom = now;
    if (!now) w->dead = true;
    eng_push(w, var);
}

// Creates the object; for triggers.
static inline void space_add(SpaceWork *w, int object) {
    if (w->v[object]) return;
    w->v[object] = 1;
    w->fresh[w->nfresh++] = object;
}

static inline bool eng_in_family(const Space *s, int set, int param, int object) {
    const ObjectFamily *f = &s->family[set];
    for (int i = f->first[param]; i < f->first[param + 1]; i++)
        if (f->item[i] == object) return true;
    return false;
}

// --- Numbers: integers by their universe, counters by their bounds -------------------------------

static inline int64_t eng_min(const Space *s, int var, uint64_t dom) {
    return dom ? s->universe[var][__builtin_ctzll(dom)] : SPACE_INF;
}
static inline int64_t eng_max(const Space *s, int var, uint64_t dom) {
    return dom ? s->universe[var][63 - __builtin_clzll(dom)] : -SPACE_INF;
}
// The values in a universe that are at most / at least k, equal to k.
uint64_t eng_at_most(const Space *s, int var, int64_t k);
uint64_t eng_at_least(const Space *s, int var, int64_t k);
uint64_t eng_equal(const Space *s, int var, int64_t k);
// The values of x that occur among the values `dom` of y.
uint64_t eng_common(const Space *s, int x, int y, uint64_t dom);

// Do the domains of two integers share a value; does one contain k; are both this single value?
static inline bool eng_shared(const SpaceWork *w, int cx, int ix, uint64_t x, int cy, int iy,
                              uint64_t y) {
    return (x & eng_common(w->s, w->s->base[cx] + ix, w->s->base[cy] + iy, y)) != 0;
}
static inline bool eng_has(const SpaceWork *w, int c, int i, uint64_t dom, int64_t k) {
    return (dom & eng_equal(w->s, w->s->base[c] + i, k)) != 0;
}
static inline bool eng_same(uint64_t x, uint64_t y) { return x == y && (x & (x - 1)) == 0; }

static inline int64_t eng_add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? (a < 0 ? -SPACE_INF : SPACE_INF) : r;
}
static inline int64_t eng_mul(int64_t a, int64_t b) {
    int64_t r;
    if (a == 0 || b == 0) return 0;
    return __builtin_mul_overflow(a, b, &r) ? SPACE_INF : r;
}

// A factor of a product. Negative factors would reverse bounds, so descriptions must not have any.
static inline int64_t eng_factor(int64_t a) {
    require(a >= 0 || a == -SPACE_INF); // -SPACE_INF is the largest of no values
    return a < 0 ? 0 : a;
}

// Handles all events. Returns false if the candidate is dead.
bool eng_run(SpaceWork *w);

#endif
