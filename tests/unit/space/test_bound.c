// The lower bound: monotone along any decisions, positive and finite, what it says of known
// programs, and what it costs. That it is never above a measured time is bench/bound.c's to show.
#include "unit/check.h"

#include "machine/machine_cost.h"
#include "space/bound.h"
#include "space/cpu_space.h"
#include "support/genprog.h"
#include "support/gensteps.h"
#include "support/shapes.h"

#include <math.h>
#include <time.h>

#define MATMUL                                                                                     \
    "program mm(M, N, K) {\n"                                                                      \
    "    input A: f32[M, K]\n    input B: f32[K, N]\n    output C: f32[M, N]\n"                    \
    "    C: for m in 0:M, n in 0:N, k in 0:K\n        C[m, n] +=! A[m, k]*B[k, n]\n}\n"

// A machine of round numbers: 2 GHz, two FMAs of 16 lanes a cycle, caches of 32 K, 1 M and 16 M.
static const Rates round_rates = {
    .cores = 2,
    .fma = {{{8, 16}, {8, 16}}, {{64, 128}, {32, 64}}, {{128, 256}, {64, 128}}},
    .move = {{{256, 512}, {128, 256}, {256, 512}},
             {{128, 256}, {64, 128}, {85, 170}},
             {{32, 64}, {32, 64}, {32, 64}},
             {{16, 16}, {16, 16}, {16, 16}}},
};

static CpuOptions options(int threads) {
    CpuOptions o = {.threads = threads};
    machine_describe(&o.machine, ISA_AVX512);
    o.machine.family = family_by_name("sapphirerapids");
    o.machine.rates = &round_rates;
    return o;
}

typedef struct Case {
    Lab lab;
    const CpuSpace *cs;
    const Space *s;
    const BoundModel *b;
    SpaceWork *w;
    Cand *c;
} Case;

static bool open_space(Case *x, const Program *p, int threads) {
    CpuOptions o = options(threads);
    if (!CHECK(p)) return false;
    x->cs = cpu_space(&x->lab.arena, p, &o, &x->lab.diags);
    if (!CHECK(x->cs)) return false;
    x->s = x->cs->space;
    x->b =
        bound_new(&x->lab.arena, x->cs, &(BoundOptions){.machine = &o.machine, .threads = threads});
    x->w = space_work(&x->lab.arena, x->s);
    x->c = space_cand(&x->lab.arena, x->s);
    space_copy(x->s, x->c, x->s->root);
    return CHECK(x->b);
}

static bool open_text(Case *x, const char *text, const int64_t *sizes, int threads) {
    lab_begin(&x->lab);
    return open_space(x, lab_program(&x->lab, text, sizes), threads);
}

static bool take(Case *x, const char *text) {
    Source source = {"test", text, (uint32_t)strlen(text)};
    int n;
    Decision *d = space_parse(&x->lab.arena, x->s, &source, &x->lab.diags, &n);
    return CHECK(d) && CHECK(space_apply(x->w, x->c, d, n));
}

static double seconds(Case *x) { return bound_seconds(x->b, x->c, NULL); }
// At the rates of the machine of round numbers.
static bool near(double got, double want) {
    want /= machine_cost(&(Machine){.width = WIDTH_FULL})->bound_margin;
    bool ok = fabs(got - want) <= 1e-3 * want;
    if (!ok) printf("got %g, want %g\n", got, want);
    return ok;
}

// Keeps random values of random decisions until nothing is open; every bound is at least the one
// before, and every term of it too.
static bool walk(Case *x, uint64_t *random) {
    BoundTerm before[BOUND_KINDS], after[BOUND_KINDS];
    space_copy(x->s, x->c, x->s->root);
    double last = bound_seconds(x->b, x->c, before);
    bool ok = CHECK(isfinite(last) && last > 0);
    while (ok && !space_full(x->s, x->c)) {
        int skip = (int)(check_random(random) % (uint64_t)space_count_open(x->s, x->c)), var = -1;
        do var = space_open(x->s, x->c, var + 1);
        while (skip--);
        uint64_t dom = space_domain(x->s, x->c, var), keep = dom & check_random(random);
        if (check_random(random) % 2 || !keep) keep = dom & -dom;
        if (keep == dom) continue;
        if (!space_keep(x->w, x->c, var, keep)) return true;
        double now = bound_seconds(x->b, x->c, after);
        ok = CHECK(now >= last * (1 - 1e-12)) && CHECK(isfinite(now)) &&
             CHECK(fabs(bound_seconds(x->b, x->c, NULL) - now) <= 1e-9 * now);
        for (int k = 0; k < BOUND_KINDS; k++)
            if (!CHECK(after[k].seconds >= before[k].seconds * (1 - 1e-12) - 1e-18)) {
                printf("%s: %g after %g\n", bound_name[k], after[k].seconds, before[k].seconds);
                ok = false;
            }
        memcpy(before, after, sizeof before);
        last = now;
    }
    return ok;
}

static bool walks(Case *x, uint64_t seed) {
    uint64_t random = seed;
    for (int i = 0; i < 3; i++)
        if (!walk(x, &random)) {
            Text text = {.arena = &x->lab.arena};
            space_print(&text, x->s, x->c);
            printf("seed %llu\n%s\n%s\n", (unsigned long long)seed,
                   lab_text(&x->lab, x->cs->program), text_str(&text));
            return false;
        }
    return true;
}

TEST(decisions_never_lower_it_on_random_programs) {
    int64_t rounds = check_rounds(2000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = (uint64_t)i + 1;
        Case x;
        lab_begin(&x.lab);
        bool ok = open_space(&x, genprog(&x.lab, seed), seed % 3 ? 2 : 1) && walks(&x, seed);
        lab_end(&x.lab);
        if (!ok) return;
    }
}

TEST(decisions_never_lower_it_on_programs_in_steps) {
    int64_t rounds = check_rounds(500);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = (uint64_t)i + 1;
        Case x;
        lab_begin(&x.lab);
        const Program *p = lab_program(&x.lab, gensteps_text(&x.lab.arena, seed), NULL);
        bool ok = open_space(&x, p, seed % 3 ? 2 : 1) && walks(&x, seed);
        lab_end(&x.lab);
        if (!ok) return;
    }
}

TEST(decisions_never_lower_it_on_known_shapes) {
    int64_t rounds = check_rounds(1000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = (uint64_t)i + 1, state = seed;
        const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
        int64_t sizes[3];
        for (int k = 0; k < shape->nparams; k++) {
            uint64_t r = check_random(&state);
            sizes[k] = r % 12 == 0 ? 0 : (int64_t)(r / 12 % (r % 3 ? 9 : 700)) + 1;
        }
        Case x;
        lab_begin(&x.lab);
        bool ok = open_space(&x, lab_program(&x.lab, shape->text, sizes), seed % 3 ? 2 : 1) &&
                  walks(&x, seed);
        lab_end(&x.lab);
        if (!ok) return;
    }
}

TEST(a_product_is_bound_by_its_arithmetic) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){256, 256, 256}, 1)) return;
    double peak = 2 * 256.0 * 256 * 256 / 128e9;
    BoundTerm t[BOUND_KINDS];
    CHECK(near(bound_seconds(x.b, x.c, t), peak));
    CHECK(near(t[BOUND_COMPUTE].seconds, peak));
    take(&x, "kind(C.n.0) is not VECTOR; kind(C.n.1) is not VECTOR; kind(C.n.2) is not VECTOR\n"
             "kind(C.m.0) is not VECTOR; kind(C.m.1) is not VECTOR; kind(C.m.2) is not VECTOR\n"
             "kind(C.k.0) is not VECTOR; kind(C.k.1) is not VECTOR");
    CHECK(near(seconds(&x), 16 * peak)); // one lane
    lab_end(&x.lab);
}

TEST(threads_share_it) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){256, 256, 256}, 2)) return;
    double peak = 2 * 256.0 * 256 * 256 / 128e9;
    CHECK(near(seconds(&x), peak / 2));
    take(&x, "kind(C.m.0) = PARALLEL; size(C.m.1) = 86; size(C.m.2) = 1"); // 86 + 84, and 86
    CHECK(near(seconds(&x), peak * 170 / 256));
    lab_end(&x.lab);
}

// Nobody works while a loop is handed out: 72 cycles at 2 GHz, in each of 256 iterations.
TEST(parallel_loops_are_launched) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){256, 256, 256}, 2)) return;
    BoundTerm t[BOUND_KINDS];
    take(&x, "kind(C.n.0) = PARALLEL; size(C.n.1) = 64; size(C.n.2) = 1");
    bound_seconds(x.b, x.c, t);
    CHECK(t[BOUND_LAUNCH].seconds == 0); // with everything else around it, one thread does it
    take(&x, "size(C.m.1) = 1; size(C.m.2) = 1; order(C.m.0, C.n.0) = OUTER\n"
             "order(C.n.0, C.k.0) = OUTER");
    double most = 0, launched = bound_seconds(x.b, x.c, t);
    for (int k = 0; k < BOUND_LAUNCH; k++) most = fmax(most, t[k].seconds);
    CHECK(near(launched - most, 256 * 42 / 2e9));
    CHECK(t[BOUND_LAUNCH].seconds == launched);
    lab_end(&x.lab);
}

TEST(lanes_follow_from_sizes) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){256, 256, 256}, 1)) return;
    double peak = 2 * 256.0 * 256 * 256 / 128e9;
    take(&x, "size(C.n.1) = 8; size(C.n.2) = 1; kind(C.n.1) = VECTOR");
    CHECK(near(seconds(&x), peak)); // C.n.0 may stand right around it, and become part of it
    take(&x, "order(C.k.0, C.n.0) = INNER");
    CHECK(near(seconds(&x), 2 * peak));
    lab_end(&x.lab);
}

TEST(order_says_what_is_brought_again) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){2048, 2048, 2048}, 1)) return;
    take(&x, "pack(C.A) = NO; pack(C.B) = NO; privatise(C) = NO\n"
             "size(C.m.1) = 1; size(C.n.1) = 1; size(C.k.1) = 1\n"
             "order(C.m.0, C.n.0) = OUTER; order(C.m.0, C.k.0) = OUTER");
    BoundTerm t[BOUND_KINDS];
    bound_seconds(x.b, x.c, t);
    // 16 M of B go by for each of 2048 rows, at most 1 M and 32 K of it from the inner caches
    double bytes = 2048 * (2048 * 2048 * 4.0 - (1 << 20) - (32 << 10));
    CHECK(t[BOUND_L3].seconds > 0.93 * bytes / 32e9);
    CHECK_INT_EQ(t[BOUND_L3].stmt, 0);
    lab_end(&x.lab);
}

TEST(sums_wait_for_themselves) {
    static const char text[] = "program sum(N) {\n    input A: f32[N]\n    output S: f32[]\n"
                               "    S: for i in 0:N\n        S[] +=! A[i]\n}\n";
    Case x;
    if (!open_text(&x, text, (int64_t[]){1 << 20}, 1)) return;
    take(&x, "accumulators(S) = 1; kind(S.i.0) = SERIAL; size(S.i.1) = 1; size(S.i.2) = 1\n"
             "privatise(S) = NO");
    BoundTerm t[BOUND_KINDS];
    bound_seconds(x.b, x.c, t);
    CHECK(t[BOUND_CHAIN].seconds > 0.97 * (1 << 20) * 2 / 2e9); // two cycles a step
    lab_end(&x.lab);
}

static bool take_schedule(Case *x, const char *text) {
    Source source = {"test.lws", text, (uint32_t)strlen(text)};
    int n;
    const Schedule *s = schedule_parse(&x->lab.arena, &x->lab.names, &source, &x->lab.diags);
    Decision *d = CHECK(s) ? cpu_read(&x->lab.arena, x->cs, s, &x->lab.diags, &n) : NULL;
    return CHECK(d) && CHECK(space_apply(x->w, x->c, d, n));
}

// 14 rows in interleaved parts of 10 are two parts of 7: with three columns of a vector, 21 sums,
// which registers keep, where 30 would be stored in each step.
TEST(interleaved_parts_are_even) {
    static const char text[] =
        "program conv(K, C) {\n    input I: f32[C, 16, 16]\n    input F: f32[C, 3, 3, K]\n"
        "    output O: f32[K, 14, 14]\n"
        "    O: for h in 0:14, w in 0:14, k in 0:K, c in 0:C, r in 0:3, s in 0:3\n"
        "        O[k, h, w] +=! I[c, h + r, w + s]*F[c, r, s, k]\n}\n";
    Case x;
    if (!open_text(&x, text, (int64_t[]){16, 16}, 1)) return;
    take_schedule(&x, "O: w%3 h%10 s c w:u h:u r:u k:v\n");
    BoundTerm t[BOUND_KINDS];
    bound_seconds(x.b, x.c, t);
    CHECK(t[BOUND_NEST].seconds <= t[BOUND_COMPUTE].seconds * (1 + 1e-12));
    lab_end(&x.lab);
}

TEST(streams_are_bound_by_their_level) {
    static const char text[] = "program add(N) {\n    input A: f32[N]\n    input B: f32[N]\n"
                               "    output C: f32[N]\n    C: for i in 0:N\n"
                               "        C[i] = A[i] + B[i]\n}\n";
    BoundTerm t[BOUND_KINDS];
    Case x;
    if (!open_text(&x, text, (int64_t[]){1 << 24}, 1)) return;
    bound_seconds(x.b, x.c, t);
    double bytes = 3 * 4.0 * (1 << 24), held = (16 << 20) + (1 << 20) + (32 << 10);
    CHECK(t[BOUND_MEMORY].seconds > 0.94 * (bytes - held) / 16e9);
    CHECK(t[BOUND_MEMORY].seconds <= 0.94 * bytes / 16e9);
    lab_end(&x.lab);
    if (!open_text(&x, text, (int64_t[]){1024}, 1)) return;
    bound_seconds(x.b, x.c, t);
    CHECK(t[BOUND_MEMORY].seconds == 0 && t[BOUND_L2].seconds == 0);
    CHECK(t[BOUND_L1].seconds >= 0.97 * 2 * 4096 / 256e9);
    lab_end(&x.lab);
}

TEST(strides_say_what_is_touched) {
    static const char text[] =
        "program copy(M, N) {\n    input A: f32[M, N]\n    output C: f32[M, N]\n"
        "    C: for i in 0:M, j in 0:N\n        C[i, j] = A[i, j]\n}\n";
    Case x;
    if (!open_text(&x, text, (int64_t[]){512, 512}, 1)) return;
    // dense; one row for all; one line an element; all places overlap
    static const int64_t strides[][2] = {{512, 1}, {0, 1}, {16 * 512, 16}, {1, 1}};
    double l2[4];
    for (int i = 0; i < 4; i++) {
        CpuOptions o = options(1);
        const int64_t *stride[] = {strides[i], NULL};
        BoundTerm t[BOUND_KINDS];
        const BoundModel *b =
            bound_new(&x.lab.arena, x.cs,
                      &(BoundOptions){.machine = &o.machine, .threads = 1, .stride = stride});
        bound_seconds(b, x.s->root, t);
        l2[i] = t[BOUND_L2].seconds;
    }
    CHECK(l2[1] < l2[0] && l2[3] < l2[0] && l2[2] > 4 * l2[0]);
    lab_end(&x.lab);
}

TEST(lanes_that_lie_apart_take_a_load_each) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){256, 256, 256}, 1)) return;
    double peak = 2 * 256.0 * 256 * 256 / 128e9;
    take(&x, "pack(C.A) = NO; pack(C.B) = NO; privatise(C) = NO; kind(C.m.0) = VECTOR");
    CHECK(seconds(&x) < 1.2 * peak); // rows of A and C may be turned
    take(&x, "order(C.n.0, C.k.0) = OUTER; size(C.n.1) = 1; size(C.k.1) = 128");
    take(&x, "order(C.k.0, C.k.1) = OUTER; kind(C.k.0) = SERIAL; kind(C.k.1) = SERIAL");
    // Loads of A: one by one at three a cycle, or by three rounds of shuffling half vectors at two
    // a cycle, or both ways at the same time.
    double loads = 256.0 * 256 * 256, each = loads / 3 / 2e9, shuffled = loads / 8 * 3 / 2 / 2e9;
    CHECK(seconds(&x) > 0.9 * each * shuffled / (each + shuffled));
    CHECK(seconds(&x) < 1.1 * each * shuffled / (each + shuffled));
    lab_end(&x.lab);
}

TEST(copies_are_made_again) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){256, 256, 256}, 1)) return;
    BoundTerm t[BOUND_KINDS];
    take(&x, "pack(C.B) = YES; size(C.m.1) = 1; at(C.B.at, C.m.0) = INSIDE\n"
             "at(C.B.at, C.n.0) = OUTSIDE; at(C.B.at, C.k.0) = OUTSIDE");
    bound_seconds(x.b, x.c, t);
    double vectors = 256.0 * 256 * 256 / 16; // once for every row
    CHECK(t[BOUND_STORE].seconds > 0.97 * vectors / 4e9);
    take(&x, "window_kind(C.B.at) = SERIAL");
    bound_seconds(x.b, x.c, t);
    CHECK(t[BOUND_STORE].seconds > 0.97 * 16 * vectors / 4e9);
    lab_end(&x.lab);
}

#define CHAIN                                                                                      \
    "program chain(N) {\n    input A: f32[N]\n    output C: f32[N]\n    temp T: f32[N]\n"          \
    "    T: for i in 0:N\n        T[i] = A[i] + 1.0\n"                                             \
    "    C: for i in 0:N\n        C[i] = T[i]*T[i]\n}\n"

TEST(temporaries_go_through_memory_unless_loops_are_shared) {
    BoundTerm t[BOUND_KINDS];
    double l2[2];
    for (int apart = 0; apart < 2; apart++) {
        Case x;
        if (!open_text(&x, CHAIN, (int64_t[]){1 << 17}, 1)) return;
        take(&x, "place(T) = NEST");
        if (apart) take(&x, "order(T.i.0, C.i.0) = BEFORE");
        bound_seconds(x.b, x.c, t);
        l2[apart] = t[BOUND_L2].seconds;
        lab_end(&x.lab);
    }
    CHECK(l2[1] > 1.4 * l2[0]);
}

TEST(what_is_computed_in_a_loop_is_computed_again) {
    static const char text[] =
        "program again(M, N) {\n    input A: f32[N]\n    output C: f32[M, N]\n    temp T: f32[N]\n"
        "    T: for i in 0:N\n        T[i] = exp(A[i])\n"
        "    C: for m in 0:M, i in 0:N\n        C[m, i] = T[i]\n}\n";
    Case x;
    BoundTerm t[BOUND_KINDS];
    if (!open_text(&x, text, (int64_t[]){64, 4096}, 1)) return;
    take(&x, "place(T) = AT; size(C.m.1) = 1; at(T.at, C.m.0) = INSIDE");
    bound_seconds(x.b, x.c, t);
    CHECK(t[BOUND_COMPUTE].seconds < 1.03 * 4096 / 16 * 10 / 4e9); // if C.m.0 is unrolled
    take(&x, "at(T.at, C.i.0) = OUTSIDE; at(T.at, C.i.1) = OUTSIDE");
    bound_seconds(x.b, x.c, t);
    CHECK(t[BOUND_COMPUTE].seconds > 0.97 * 64 * 4096 / 16 * 10 / 4e9);
    lab_end(&x.lab);
}

TEST(without_rates_there_is_none) {
    Lab lab;
    lab_begin(&lab);
    CpuOptions o = options(1);
    const Program *p = lab_program(&lab, MATMUL, (int64_t[]){8, 8, 8});
    const CpuSpace *cs = cpu_space(&lab.arena, p, &o, &lab.diags);
    o.machine.rates = NULL;
    CHECK(!bound_new(&lab.arena, cs, &(BoundOptions){.machine = &o.machine, .threads = 1}));
    lab_end(&lab);
}

TEST(it_is_cheap) {
    Case x;
    if (!open_text(&x, MATMUL, (int64_t[]){1024, 1024, 1024}, 2)) return;
    enum { MANY = 20000 };
    double best = INFINITY, sum = 0;
    for (int round = 0; round < 5; round++) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        for (int i = 0; i < MANY; i++) sum += seconds(&x);
        clock_gettime(CLOCK_MONOTONIC, &t1);
        double ns = (double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec);
        best = fmin(best, ns / MANY);
    }
    printf("%.0f ns at the root of a matrix product\n", best);
    CHECK(sum > 0);
    lab_end(&x.lab);
}
