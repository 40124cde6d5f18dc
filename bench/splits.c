// The cost of tails: random nests of three to five splits that do not divide ("odd"), against the
// same nests with sizes and steps that do ("even"). Both have the same register block; all other
// steps of the odd nest are as near as possible to the even ones such that the last block has a
// random length, and every size is within a sixteenth.
//
// Rates are iterations per ns. Costs are per vector operation: a block of 17 columns is two vectors
// per row in any implementation, so the cost of masked-off lanes ("masked") is separated from the
// additional cost of tails ("tails"). All else is equal: operands of both have the same distance
// between rows, an odd number of elements, so that loads cross lines equally often and map to the
// same cache sets; and operands fit in half of L2, because larger ones would compare memory. A cost
// is the median of the ratios of interleaved rounds. A nest above the limit is measured four times
// more, each time in other pages and by other code, because both can collide in caches and other
// processes may disturb it: the median of all five counts, and their range is printed.
//
//     make bench-splits
//     build/bench/splits [--seed N] [--nests N] [--isa avx2] [--only 'n/32 m/5'] [--verbose]
#include "lab/lab.h"
#include "lab/ours.h"
#include "target/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOOPS = 12, ROUNDS = 21, AGAIN = 5, MOST_COST = 15 };

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    return z ^ (z >> 27);
}

static int below(uint64_t *state, int n) { return (int)(next(state) % (uint64_t)n); }

typedef struct Split {
    int iter;
    int even, odd; // steps
} Split;

typedef struct Nest {
    const char *program, *statement, *inner; // the loops inside the splits
    const char *iters; // their names; the sizes have the same names in capitals
    const char *rows;  // per operand: the iterator along its rows, or -
    int niters, nsplits;
    Split split[MAX_LOOPS]; // outermost first
    int even[4], odd[4];    // sizes
} Nest;

static const char products[] = "def f(float(M,K) A, float(K,N) B) -> (C) {\n"
                               "  C(m,n) +=! A(m,k) * B(k,n)\n}\n";
static const char sums[] = "def f(float(M,N) A) -> (C) {\n  C(m) +=! A(m,n)\n}\n";
static const char maps[] = "def f(float(M,N) A, float(M,N) B) -> (C) {\n"
                           "  C(m,n) = A(m,n) * 2.0 + B(m,n)\n}\n";

// The number nearest to `even` whose last block has a random other length.
static int ragged(uint64_t *state, int even, int block) {
    if (block < 2) return even > 4 ? even + below(state, even / 4) - even / 8 : even + 1;
    int last = 1 + below(state, block - 1);
    return 2 * last < block ? even + last : even - block + last;
}

// Adds an outer split of an iterator.
static void widen(Nest *n, uint64_t *state, int iter, int least, int most) {
    int block = 1;
    for (int i = n->nsplits - 1; i >= 0; i--) // the outermost so far
        if (n->split[i].iter == iter) block = n->split[i].even;
    int even = block * (least + below(state, most - least + 1));
    Split s = {iter, even, ragged(state, even, block)};
    memmove(n->split + 1, n->split, (size_t)n->nsplits++ * sizeof s);
    n->split[0] = s;
}

static void set_sizes(Nest *n, uint64_t *state, int least) {
    for (int i = 0; i < n->niters; i++) {
        Nest outer = *n;
        widen(&outer, state, i, 3, 5);
        int even = outer.split[0].even;
        while (even < least) even *= 2;
        n->even[i] = even;
        n->odd[i] = ragged(state, even, even / 8) | 1;
    }
}

// Register blocks of three rows or more: blocks with fewer rows are limited by loads of B, and a
// last block of one row loads as much of B as one of two.
static Nest product(uint64_t *state, int splits, int lanes, int registers) {
    Nest n = {products, "C", "k m n:v", "mnk", "knn", .niters = 3};
    int room = registers - 6, vectors = 1 + below(state, room / 3 < 4 ? room / 3 : 4);
    int most = room / vectors < 8 ? room / vectors : 8;
    int columns = lanes * vectors, rows = 3 + below(state, most - 2);
    bool first = below(state, 2);
    n.split[n.nsplits++] = first ? (Split){1, columns, columns} : (Split){0, rows, rows};
    n.split[n.nsplits++] = first ? (Split){0, rows, rows} : (Split){1, columns, columns};
    while (n.nsplits < splits) {
        int iter = below(state, 3);
        if (iter == 2 && (n.split[0].iter == 2 || n.split[n.nsplits - 1].iter == 2)) continue;
        widen(&n, state, iter, iter == 2 ? 40 : 3, iter == 2 ? 140 : 8);
    }
    set_sizes(&n, state, 150);
    return n;
}

static Nest reduction(uint64_t *state, int splits, int lanes) {
    Nest n = {sums, "C", "m n:v", "mn", "n-", .niters = 2};
    int columns = lanes * (2 + below(state, 6)), rows = 2 + below(state, 7);
    n.split[n.nsplits++] = (Split){1, columns, columns};
    n.split[n.nsplits++] = (Split){0, rows, rows};
    while (n.nsplits < splits) widen(&n, state, below(state, 2), 2, 6);
    set_sizes(&n, state, 60);
    return n;
}

static Nest map(uint64_t *state, int splits, int lanes) {
    Nest n = {maps, "C", "m n:v", "mn", "nnn", .niters = 2};
    n.split[n.nsplits++] = (Split){1, lanes * (2 + below(state, 6)), 0};
    n.split[0].odd = n.split[0].even;
    while (n.nsplits < splits) widen(&n, state, below(state, 4) ? 1 : 0, 2, 6);
    set_sizes(&n, state, 40);
    return n;
}

static void schedule_text(const Nest *n, bool odd, char *out, size_t room) {
    size_t at = (size_t)snprintf(out, room, "%s:", n->statement);
    for (int i = 0; i < n->nsplits; i++)
        at += (size_t)snprintf(out + at, room - at, " %c/%d", n->iters[n->split[i].iter],
                               odd ? n->split[i].odd : n->split[i].even);
    snprintf(out + at, room - at, " %s\n", n->inner);
}

static void sizes_text(const Nest *n, bool odd, char *out, size_t room) {
    size_t at = 0;
    for (int i = 0; i < n->niters; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%c=%d", i ? "," : "",
                               n->iters[i] - 'a' + 'A', odd ? n->odd[i] : n->even[i]);
}

static double work(const Nest *n, bool odd) {
    double all = 1;
    for (int i = 0; i < n->niters; i++) all *= odd ? n->odd[i] : n->even[i];
    return all;
}

// The number of vectors that n's splits make of a length; partial vectors count as full ones.
static double in_vectors(const Nest *n, bool odd, int from, int length, int lanes) {
    while (from < n->nsplits && n->iters[n->split[from].iter] != 'n') from++;
    if (from == n->nsplits) return (double)((length + lanes - 1) / lanes * lanes);
    int step = odd ? n->split[from].odd : n->split[from].even;
    double all = length / step * in_vectors(n, odd, from + 1, step < length ? step : length, lanes);
    return length % step ? all + in_vectors(n, odd, from + 1, length % step, lanes) : all;
}

// The overhead of masked-off lanes in the odd nest: lanes per iteration.
static double masked(const Nest *n, int lanes) {
    int i = (int)(strchr(n->iters, 'n') - n->iters);
    return in_vectors(n, true, 0, n->odd[i], lanes) / n->odd[i];
}

// ns of one call, averaged over 50 us.
static double one_call(Ours *o) {
    int calls = 1;
    for (;;) {
        double begin = lab_cpu();
        for (int i = 0; i < calls; i++) ours_call(o);
        double ns = lab_cpu() - begin;
        if (ns > 5e4) return ns / calls;
        calls *= ns > 1e4 ? 2 : 8;
    }
}

// Elements between rows along an iterator, of both nests.
static int64_t row(const Nest *n, char iter) {
    const char *at = strchr(n->iters, iter);
    if (!at) return 1;
    int i = (int)(at - n->iters);
    return (n->even[i] > n->odd[i] ? n->even[i] : n->odd[i]) | 1;
}

static bool set_rows(const Nest *n, Ours *o) {
    int64_t rows[OURS_ARGS];
    for (int i = 0; n->rows[i]; i++) rows[i] = row(n, n->rows[i]);
    return ours_rows(o, rows);
}

typedef struct Measured {
    double rate[2]; // best iterations per ns: even, odd
    double cost;    // time of the odd nest relative to the even one
    size_t bytes[2];
    bool right;
} Measured;

static bool measure(const Nest *n, Isa cap, Measured *m, bool verbose) {
    Ours *o[2];
    bool made = true;
    double best[2] = {INFINITY, INFINITY};
    *m = (Measured){.right = true};
    for (int odd = 0; odd < 2; odd++) {
        char schedule[256], sizes[128];
        schedule_text(n, odd, schedule, sizeof schedule);
        sizes_text(n, odd, sizes, sizeof sizes);
        o[odd] = ours_new(n->program, schedule, sizes, cap);
        if (verbose) printf("    %s at %.*s\n", sizes, (int)strcspn(schedule, "\n"), schedule);
        if (o[odd]->error) printf("%s\n", o[odd]->error), made = false;
        made = made && set_rows(n, o[odd]);
        for (int i = 0; made && verbose && i < o[odd]->code.nlosses; i++) {
            Text text = {.arena = &o[odd]->arena};
            loss_print(&text, &o[odd]->code.losses[i]);
            printf("    line %d: %s\n", o[odd]->code.losses[i].line, text_str(&text));
        }
        if (made) m->right &= ours_check(o[odd], 1e-4f), m->bytes[odd] = o[odd]->code.size;
    }
    double cost[ROUNDS];
    for (int i = 0; i < ROUNDS && made; i++) {
        double ns[2];
        for (int odd = 0; odd < 2; odd++) {
            ns[odd] = one_call(o[odd]);
            best[odd] = fmin(best[odd], ns[odd]);
        }
        cost[i] = ns[1] / work(n, true) / (ns[0] / work(n, false));
    }
    if (made) m->cost = median(cost, ROUNDS);
    for (int odd = 0; odd < 2; odd++) {
        m->rate[odd] = work(n, odd) / best[odd];
        ours_free(o[odd]);
    }
    return made;
}

// Measures a nest, and again if it costs more than `limit`; *low and *high: the range of its costs.
static bool measure_often(const Nest *n, Isa cap, double limit, bool verbose, Measured *m,
                          double *low, double *high) {
    double cost[AGAIN];
    Measured next;
    if (!measure(n, cap, m, verbose)) return false;
    cost[0] = *low = *high = m->cost;
    for (int i = 1; i < AGAIN && cost[0] > limit; i++) {
        if (!measure(n, cap, &next, false)) return false;
        cost[i] = next.cost;
        *low = fmin(*low, cost[i]);
        *high = fmax(*high, cost[i]);
    }
    if (cost[0] > limit) m->cost = median(cost, AGAIN);
    return true;
}

static Nest draw(uint64_t *state, int kind, int splits, const Machine *m) {
    int lanes = m->vector_bytes / 4;
    return kind < 3    ? product(state, splits, lanes, m->vector_registers)
           : kind == 3 ? reduction(state, splits, lanes)
                       : map(state, splits, lanes);
}

// Bytes of all operands, of the larger nest.
static double bytes(const Nest *n) {
    double all = 0, each = 1;
    for (int i = 0; i < n->niters; i++) each *= (double)row(n, n->iters[i]);
    for (int i = 0; n->rows[i]; i++) // an operand has all iterators except one
        all += 4 * (n->niters == 2 ? each : each / (double)row(n, "nmk"[i]));
    return all;
}

static Nest random_nest(uint64_t *state, const Machine *m) {
    int splits = 3 + below(state, 3), kind = below(state, 5);
    for (;;) {
        Nest n = draw(state, kind, splits, m);
        if (2 * bytes(&n) <= (double)m->cache[2]) return n;
    }
}

int main(int argc, char **argv) {
    uint64_t seed = 1;
    int nests = 40, over = 0;
    bool verbose = false;
    const char *only = "";
    Isa cap = ISA_COUNT;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--verbose")) verbose = true;
        if (!strcmp(argv[i], "--seed") && more) seed = strtoull(argv[++i], NULL, 10);
        if (!strcmp(argv[i], "--only") && more) only = argv[++i];
        if (!strcmp(argv[i], "--nests") && more) nests = atoi(argv[++i]);
        if (!strcmp(argv[i], "--isa") && more) cap = (Isa)target_isa(target_host(), argv[++i]);
    }
    Machine machine;
    machine_detect(&machine, cap);
    double worst = 1, *each = calloc(2 * (size_t)nests, sizeof *each), *all = each + nests;
    printf("%-44s %8s %8s %6s %6s %6s %13s\n", "", "even", "odd", "cost", "masked", "tails",
           "bytes");
    int measured = 0;
    for (int i = 0; i < nests; i++) {
        Nest n = random_nest(&seed, &machine);
        Measured m;
        char schedule[256];
        schedule_text(&n, true, schedule, sizeof schedule);
        schedule[strcspn(schedule, "\n")] = 0;
        if (!strstr(schedule, only)) continue;
        double off = masked(&n, machine.vector_bytes / 4), limit = off * (1 + MOST_COST / 100.0);
        double low, high;
        if (!measure_often(&n, cap, limit, verbose, &m, &low, &high)) return 1;
        double tails = m.cost / off;
        printf("%-44s %8.2f %8.2f %4.0f %% %4.0f %% %4.0f %% %6zu %6zu%s", schedule, m.rate[0],
               m.rate[1], 100 * (m.cost - 1), 100 * (off - 1), 100 * (tails - 1), m.bytes[0],
               m.bytes[1], m.right ? "" : "  WRONG");
        if (high > low)
            printf("  (%.0f to %.0f %%)", 100 * (low / off - 1), 100 * (high / off - 1));
        printf("\n");
        fflush(stdout);
        all[measured] = m.cost;
        each[measured++] = tails;
        worst = fmax(worst, tails);
        over += tails > 1 + MOST_COST / 100.0;
    }
    printf("%d nests: in the median tails cost %.1f %% a vector (%.1f %% an iteration), "
           "%.0f %% at most; %d cost more than %d %%\n",
           measured, 100 * (median(each, measured) - 1), 100 * (median(all, measured) - 1),
           100 * (worst - 1), over, MOST_COST);
    free(each);
    return 0;
}
