// Counters against brute force: random amounts (negative and 0 as well), factors (0 as well) and
// bounds. Propagation never removes a value that a solution has, and whatever is full is a
// solution.
#include "unit/check.h"

#include "space/space.h"
#include "spaces/counts_space.h"
#include "spaces/hosts.h"

#include <stdio.h>

enum { MOST = 4 };

typedef struct Point {
    bool taken[MOST];
    int amount[MOST], factor[MOST]; // numbers of values
} Point;

static int64_t between(uint64_t *state, int64_t lo, int64_t hi) {
    return lo + (int64_t)(check_random(state) % (uint64_t)(hi - lo + 1));
}

static CountsValues values(uint64_t *state, int64_t lo, int64_t hi) {
    CountsValues v = {.n = (int)between(state, 1, 3)};
    for (int i = 0; i < v.n; i++) v.at[i] = between(state, i ? v.at[i - 1] + 1 : lo, hi + i);
    return v;
}

static CountsHost host_of(uint64_t *state, int n) {
    static const int64_t far = 1000;
    CountsHost h = {0};
    bool negative = check_random(state) % 2, zero = check_random(state) % 2;
    for (int i = 0; i < n; i++)
        h.item[i] = (CountsItem){values(state, negative ? -4 : 0, 4), values(state, !zero, 3),
                                 between(state, negative ? -3 : 0, 3)};
    for (int k = 0; k < 3; k++) {
        bool low = check_random(state) % 2, high = check_random(state) % 2;
        h.least[k] = low ? between(state, -5, 8) : -far;
        h.most[k] = high ? between(state, -2, 12) : far;
    }
    return h;
}

static bool solves(const CountsHost *h, int n, const Point *p) {
    int64_t total[3] = {0, 0, 1};
    for (int i = 0; i < n; i++) {
        if (!p->taken[i]) continue;
        total[0] += h->item[i].amount.at[p->amount[i]];
        total[1] += h->item[i].fixed;
        total[2] *= h->item[i].factor.at[p->factor[i]];
    }
    for (int k = 0; k < 3; k++)
        if (total[k] < h->least[k] || total[k] > h->most[k]) return false;
    return true;
}

// The next point of all; false: there are no more.
static bool step(const CountsHost *h, int n, Point *p) {
    for (int i = 0; i < n; i++) {
        if (++p->amount[i] < h->item[i].amount.n) return true;
        p->amount[i] = 0;
        if (++p->factor[i] < h->item[i].factor.n) return true;
        p->factor[i] = 0;
        if ((p->taken[i] = !p->taken[i])) return true;
    }
    return false;
}

static uint64_t domain(const Space *s, const Cand *c, int choice, int object) {
    return space_domain(s, c, space_var(s, choice, object, -1, NULL));
}

static bool holds(const Space *s, const Cand *c, int n, const Point *p) {
    for (int i = 0; i < n; i++)
        if (!(domain(s, c, COUNTS_TAKEN, i) >> p->taken[i] & 1) ||
            !(domain(s, c, COUNTS_AMOUNT, i) >> p->amount[i] & 1) ||
            !(domain(s, c, COUNTS_FACTOR, i) >> p->factor[i] & 1))
            return false;
    return true;
}

// Solutions below one candidate that another one has lost.
static int64_t lost(const Space *s, const CountsHost *h, int n, const Cand *from, const Cand *to,
                    int var, uint64_t kept) {
    int64_t count = 0;
    Point p = {0};
    do {
        if (!solves(h, n, &p) || !holds(s, from, n, &p) || holds(s, to, n, &p)) continue;
        if (var < 0) {
            count++;
            continue;
        }
        const SpaceVar *x = &s->var[var];
        int bit = x->choice == COUNTS_TAKEN    ? p.taken[x->a]
                  : x->choice == COUNTS_AMOUNT ? p.amount[x->a]
                                               : p.factor[x->a];
        if (kept >> bit & 1) count++; // it was not decided away
    } while (step(h, n, &p));
    return count;
}

static bool descend(Arena *arena, const Space *s, const CountsHost *h, int n, uint64_t *state) {
    SpaceWork *w = space_work(arena, s);
    Cand *c = space_cand(arena, s), *before = space_cand(arena, s);
    space_copy(s, c, s->root);
    for (int var; (var = space_open(s, c, 0)) >= 0;) {
        uint64_t dom = space_domain(s, c, var), bit = dom;
        for (int skip = (int)(check_random(state) % (uint64_t)__builtin_popcountll(dom)); skip;
             skip--)
            bit &= bit - 1;
        space_copy(s, before, c);
        bool alive = space_keep(w, c, var, bit & -bit);
        if (!CHECK_INT_EQ(lost(s, h, n, before, c, var, bit & -bit), 0)) return false;
        if (!alive) return true;
    }
    Point p = {0};
    bool found = false;
    do found |= holds(s, c, n, &p) && solves(h, n, &p);
    while (step(h, n, &p));
    return CHECK(found);
}

TEST(counters_keep_every_solution) {
    int64_t dead = 0, rounds = check_long_rounds(3000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        int n = (int)between(&state, 1, 3);
        CountsHost h = host_of(&state, n);
        Arena arena;
        arena_init(&arena, &allocator_libc);
        Backbone *k = backbone_new(&arena, &counts_desc, &h);
        for (int o = 0; o < n; o++)
            backbone_add(k, COUNTS_SET_ITEMS,
                         backbone_object(k, (char[]){(char)('a' + o), 0}, false));
        Space *s = space_new(&arena, k);
        Point p = {0};
        bool some = false, ok = true;
        do some |= solves(&h, n, &p);
        while (step(&h, n, &p));
        bool is_dead = space_dead(s, s->root);
        dead += is_dead;
        ok = CHECK(!is_dead || !some); // only what has no solution dies
        do
            if (ok && solves(&h, n, &p)) ok = CHECK(holds(s, s->root, n, &p));
        while (step(&h, n, &p));
        for (int d = 0; d < 4 && ok && !is_dead; d++) ok = descend(&arena, s, &h, n, &state);
        arena_free(&arena);
        if (ok) continue;
        printf("seed %llu\n", (unsigned long long)seed);
        return;
    }
    printf("%lld spaces, %lld without solutions\n", (long long)rounds, (long long)dead);
}
