// What tails cost: random nests of three to five splits that do not divide, against the same nests
// with sizes and steps that do. The same register block in both; every other step, and every size,
// of the first is a little larger, by less than the step below it. Rows of odd lengths are not
// aligned, which costs by itself, so no operand of either is.
//
//     make bench-splits
//     build/bench/splits [--seed N] [--nests N] [--isa avx2] [--verbose]
#include "lab/lab.h"
#include "lab/ours.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOOPS = 12, ROUNDS = 9, MOST_COST = 15 };

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
    const char *iters;                       // their names; sizes are called the same, in capitals
    int niters, nsplits;
    Split split[MAX_LOOPS]; // outermost first
    int even[4], odd[4];    // sizes
} Nest;

static const char products[] = "def f(float(M,K) A, float(K,N) B) -> (C) {\n"
                               "  C(m,n) +=! A(m,k) * B(k,n)\n}\n";
static const char sums[] = "def f(float(M,N) A) -> (C) {\n  C(m) +=! A(m,n)\n}\n";
static const char maps[] = "def f(float(M,N) A, float(M,N) B) -> (C) {\n"
                           "  C(m,n) = A(m,n) * 2.0 + B(m,n)\n}\n";

// Splits an iterator's blocks once more, around those it has.
static void widen(Nest *n, uint64_t *state, int iter, int most) {
    int even = 1;
    for (int i = n->nsplits - 1; i >= 0; i--) // the outermost so far
        if (n->split[i].iter == iter) even = n->split[i].even;
    even *= 3 + below(state, most);
    Split s = {iter, even, even};
    if (even > 2) s.odd += 1 + below(state, even / 3 > 1 ? even / 3 - 1 : 1);
    memmove(n->split + 1, n->split, (size_t)n->nsplits++ * sizeof s);
    n->split[0] = s;
}

static void set_sizes(Nest *n, uint64_t *state, int least) {
    for (int i = 0; i < n->niters; i++) {
        Nest outer = *n;
        widen(&outer, state, i, 3);
        Split *s = &outer.split[0];
        while (s->even < least) s->even *= 2, s->odd *= 2;
        n->even[i] = s->even;
        n->odd[i] = s->odd | 1;
    }
}

static Nest product(uint64_t *state, int splits, int lanes, int registers) {
    Nest n = {products, "C", "k m n:v", "mnk", .niters = 3};
    int columns = lanes * (1 + below(state, 4)), room = registers - 6;
    int rows = 2 + below(state, room / (columns / lanes) > 8 ? 7 : room / (columns / lanes) - 1);
    bool first = below(state, 2);
    n.split[n.nsplits++] = first ? (Split){1, columns, columns} : (Split){0, rows, rows};
    n.split[n.nsplits++] = first ? (Split){0, rows, rows} : (Split){1, columns, columns};
    while (n.nsplits < splits) {
        int iter = below(state, 3);
        if (iter == 2 && (n.split[0].iter == 2 || n.split[n.nsplits - 1].iter == 2)) continue;
        if (iter == 2)
            widen(&n, state, 2, 100), n.split[0].even += 40, n.split[0].odd += 40;
        else
            widen(&n, state, iter, 6);
    }
    set_sizes(&n, state, 150);
    return n;
}

static Nest reduction(uint64_t *state, int splits, int lanes) {
    Nest n = {sums, "C", "m n:v", "mn", .niters = 2};
    int columns = lanes * (2 + below(state, 6)), rows = 2 + below(state, 7);
    n.split[n.nsplits++] = (Split){1, columns, columns};
    n.split[n.nsplits++] = (Split){0, rows, rows};
    while (n.nsplits < splits) widen(&n, state, below(state, 2), 5);
    set_sizes(&n, state, 60);
    return n;
}

static Nest map(uint64_t *state, int splits, int lanes) {
    Nest n = {maps, "C", "m n:v", "mn", .niters = 2};
    n.split[n.nsplits++] = (Split){1, lanes * (2 + below(state, 6)), 0};
    n.split[0].odd = n.split[0].even;
    while (n.nsplits < splits) widen(&n, state, below(state, 4) ? 1 : 0, 5);
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

// ns of one call, of as many as take a tenth of a millisecond.
static double one_call(Ours *o) {
    int calls = 1;
    for (;;) {
        double begin = lab_cpu();
        for (int i = 0; i < calls; i++) ours_call(o);
        double ns = lab_cpu() - begin;
        if (ns > 1e5) return ns / calls;
        calls *= ns > 1e4 ? 2 : 8;
    }
}

// Operands of their own, one element off the beginning of a line.
static void misalign(Ours *o) {
    for (int i = 0; i < OURS_ARGS && o->elements[i]; i++) {
        size_t bytes = o->elements[i] * 4;
        char *memory = aligned_alloc(64, (bytes + 191) / 64 * 64);
        if (!memory) exit(1);
        o->buffer[i] = memcpy(memory + 4, o->buffer[i], bytes);
    }
}

static void release(Ours *o) {
    for (int i = 0; i < OURS_ARGS && o->elements[i]; i++) free((char *)o->buffer[i] - 4);
    ours_free(o);
}

typedef struct Measured {
    double rate[2]; // iterations a ns: even, odd
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
        if (made && verbose && *o[odd]->code.report) printf("    %s", o[odd]->code.report);
        if (made) m->right &= ours_check(o[odd], 1e-4f), m->bytes[odd] = o[odd]->code.size;
    }
    for (int odd = 0; odd < 2 && made; odd++) misalign(o[odd]);
    for (int i = 0; i < ROUNDS && made; i++)
        for (int odd = 0; odd < 2; odd++) best[odd] = fmin(best[odd], one_call(o[odd]));
    for (int odd = 0; odd < 2; odd++) {
        m->rate[odd] = work(n, odd) / best[odd];
        if (made) release(o[odd]);
    }
    return made;
}

static Nest random_nest(uint64_t *state, int lanes, int registers) {
    int splits = 3 + below(state, 3), kind = below(state, 5);
    return kind < 3    ? product(state, splits, lanes, registers)
           : kind == 3 ? reduction(state, splits, lanes)
                       : map(state, splits, lanes);
}

int main(int argc, char **argv) {
    uint64_t seed = 1;
    int nests = 40, over = 0;
    bool verbose = false;
    Isa cap = ISA_COUNT;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--verbose")) verbose = true;
        if (!strcmp(argv[i], "--seed") && more) seed = strtoull(argv[++i], NULL, 10);
        if (!strcmp(argv[i], "--nests") && more) nests = atoi(argv[++i]);
        if (!strcmp(argv[i], "--isa") && more) cap = (Isa)isa_by_name(argv[++i]);
    }
    Machine machine;
    machine_detect(&machine, cap);
    int lanes = machine.vector_bytes / 4;
    double product = 1, worst = 1;
    printf("%-52s %8s %8s %6s %13s\n", "", "even", "odd", "cost", "bytes");
    for (int i = 0; i < nests; i++) {
        Nest n = random_nest(&seed, lanes, machine.vector_registers);
        Measured m;
        char schedule[256];
        schedule_text(&n, true, schedule, sizeof schedule);
        schedule[strcspn(schedule, "\n")] = 0;
        if (!measure(&n, cap, &m, verbose)) return 1;
        double cost = m.rate[0] / m.rate[1];
        printf("%-52s %8.2f %8.2f %4.0f %% %6zu %6zu%s\n", schedule, m.rate[0], m.rate[1],
               100 * (cost - 1), m.bytes[0], m.bytes[1], m.right ? "" : "  WRONG");
        fflush(stdout);
        product *= cost;
        worst = fmax(worst, cost);
        over += cost > 1 + MOST_COST / 100.0;
    }
    printf("%d nests, iterations a ns: tails cost %.1f %% in the geometric mean, %.0f %% at most; "
           "%d cost more than %d %%\n",
           nests, 100 * (pow(product, 1.0 / nests) - 1), 100 * (worst - 1), over, MOST_COST);
    return 0;
}
