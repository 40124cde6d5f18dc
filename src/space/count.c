// Estimates the number of implementations below a candidate, by sampling its tree of decisions.
//
// A node of the tree is a live candidate; its children are the live values of its first open
// variable. Knuth: descend at random; the product of the numbers of children is an unbiased
// estimate of the number of leaves. Chen: proceed level by level; one node represents all nodes of
// a stratum (same depth, same number of open decisions), with their total weight; the weights of
// leaves are summed.
#include "space/space.h"

#include "base/random.h"
#include "space/engine.h"

#include <math.h>

typedef struct Moments {
    double sum, squares;
    int64_t n;
} Moments;

static void add(Moments *m, double x) {
    m->sum += x;
    m->squares += x * x;
    m->n++;
}

static SpaceEstimate estimate(const Moments *m) {
    double n = (double)m->n, mean = m->n ? m->sum / n : 0;
    double var = n > 1 ? (m->squares - n * mean * mean) / (n - 1) : 0;
    return (SpaceEstimate){mean, m->n ? 1.96 * sqrt(var > 0 ? var / n : 0) : 0, m->n};
}

// --- Knuth ---------------------------------------------------------------------------------------

// The live children of `c` for one variable: a random one in `out`, and their number.
static int random_child(SpaceWork *w, const Cand *c, int var, Cand *out, Cand *scratch,
                        uint64_t *state) {
    int live = 0;
    for (uint64_t left = space_domain(w->s, c, var); left; left &= left - 1) {
        space_copy(w->s, scratch, c);
        if (!space_keep(w, scratch, var, left & -left)) continue;
        live++;
        if (random_next(state) % (uint64_t)live == 0) space_copy(w->s, out, scratch);
    }
    return live;
}

static double descend(SpaceWork *w, const Cand *from, Cand *c, Cand *child, Cand *scratch,
                      uint64_t *state) {
    double leaves = 1;
    space_copy(w->s, c, from);
    for (int var = 0;
         (var = space_open(w->s, c, var)) >= 0 || (var = space_open(w->s, c, 0)) >= 0;) {
        int live = random_child(w, c, var, child, scratch, state);
        if (!live) return 0;
        leaves *= live;
        space_copy(w->s, c, child);
    }
    return leaves;
}

SpaceEstimate space_knuth(SpaceWork *w, Arena *scratch, const Cand *c, int64_t samples,
                          uint64_t seed) {
    Moments m = {0};
    ArenaMark mark = arena_mark(scratch);
    Cand *a = space_cand(scratch, w->s), *b = space_cand(scratch, w->s),
         *t = space_cand(scratch, w->s);
    for (int64_t i = 0; i < samples && !space_dead(w->s, c); i++)
        add(&m, descend(w, c, a, b, t, &seed));
    arena_release(scratch, mark);
    return estimate(&m);
}

SpaceEstimate space_dead_ends(SpaceWork *w, Arena *scratch, const Cand *c, int64_t samples,
                              uint64_t seed) {
    Moments m = {0};
    ArenaMark mark = arena_mark(scratch);
    Cand *a = space_cand(scratch, w->s);
    for (int64_t i = 0; i < samples; i++) {
        space_copy(w->s, a, c);
        add(&m, space_complete(w, a, &seed) ? 0 : 1);
    }
    arena_release(scratch, mark);
    return estimate(&m);
}

// --- Chen ----------------------------------------------------------------------------------------

typedef struct Stratum {
    int open; // number of open decisions of its members
    double weight;
    Cand *member;
} Stratum;

typedef struct CountLevel {
    VEC(Stratum) at;
} CountLevel;

// Adds a node to the stratum with this number of open decisions; its representative is drawn by
// weight.
static void join(Arena *arena, const Space *s, CountLevel *level, const Cand *c, double weight,
                 uint64_t *state) {
    int open = space_count_open(s, c);
    for (int i = 0; i < level->at.n; i++) {
        Stratum *x = &level->at.at[i];
        if (x->open != open) continue;
        x->weight += weight;
        if (random_unit(state) * x->weight < weight) space_copy(s, x->member, c);
        return;
    }
    Stratum fresh = {open, weight, space_cand(arena, s)};
    space_copy(s, fresh.member, c);
    vec_push(arena, &level->at, fresh);
}

static double chen_once(SpaceWork *w, Arena *arena, const Cand *c, uint64_t *state) {
    const Space *s = w->s;
    CountLevel now = {0};
    double leaves = 0;
    Cand *child = space_cand(arena, s);
    join(arena, s, &now, c, 1, state);
    while (now.at.n) {
        CountLevel next = {0};
        for (int i = 0; i < now.at.n; i++) {
            const Stratum *x = &now.at.at[i];
            int var = space_open(s, x->member, 0);
            if (var < 0) {
                leaves += x->weight;
                continue;
            }
            for (uint64_t left = space_domain(s, x->member, var); left; left &= left - 1) {
                space_copy(s, child, x->member);
                if (space_keep(w, child, var, left & -left))
                    join(arena, s, &next, child, x->weight, state);
            }
        }
        now = next;
    }
    return leaves;
}

SpaceEstimate space_chen(SpaceWork *w, Arena *scratch, const Cand *c, int64_t samples,
                         uint64_t seed) {
    Moments m = {0};
    for (int64_t i = 0; i < samples && !space_dead(w->s, c); i++) {
        ArenaMark mark = arena_mark(scratch);
        add(&m, chen_once(w, scratch, c, &seed));
        arena_release(scratch, mark);
    }
    return estimate(&m);
}
