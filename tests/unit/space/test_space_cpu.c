// The CPU space: every full candidate is a Schedule that lowers, verifies, compiles and computes
// what the Program says; and properties of propagation on real backbones.
#include "unit/check.h"

#include "sched/mapping.h"
#include "space/cpu.h"
#include "space/cpu_space.h"
#include "support/genprog.h"
#include "support/gensched.h"
#include "support/gensteps.h"
#include "support/jitlab.h"
#include "support/shapes.h"
#include "tree/tree_interp.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char matmul[] =
    "program mm(M, N, K) {\n"
    "    input A: f32[M, K]\n    input B: f32[K, N]\n    output C: f32[M, N]\n"
    "    C: for m in 0:M, n in 0:N, k in 0:K\n        C[m, n] +=! A[m, k]*B[k, n]\n}\n";

static CpuOptions options(int threads) {
    CpuOptions o = {.threads = threads};
    jit_machine(ISA_COUNT, &o.machine);
    return o;
}

static const char *schedule_text(Lab *lab, const Schedule *s) {
    Text out = {.arena = &lab->arena};
    schedule_print(&out, s);
    return text_str(&out);
}

static const char *cand_text(Lab *lab, const CpuSpace *cs, const Cand *c) {
    Text out = {.arena = &lab->arena};
    space_print(&out, cs->space, c);
    return text_str(&out);
}

typedef struct Totals {
    int64_t full, dead, refused, unproven, declined, programs;
    int64_t place[4], merged, packed, privatised, interleaved;
} Totals;

static void count(const CpuSpace *cs, const Cand *c, Totals *t) {
    const Space *s = cs->space;
    for (int v = 0; v < s->ndecisions; v++) {
        const SpaceVar *x = &s->var[v];
        uint64_t dom = space_domain(s, c, v);
        if (!x->present || !space_exists(s, c, x->a)) continue;
        if (x->choice == CPU_PLACE) t->place[__builtin_ctzll(dom)]++;
        if (x->choice == CPU_ORDER && space_exists(s, c, x->b))
            t->merged += dom == CPU_ORDER_MERGED;
        if (x->choice == CPU_PACK) t->packed += dom == CPU_PACK_YES;
        if (x->choice == CPU_PRIVATISE) t->privatised += dom == CPU_PRIVATISE_YES;
        if (x->choice == CPU_SPLIT) t->interleaved += dom == CPU_SPLIT_INTERLEAVE;
    }
}

// Runs one candidate against the interpreter; NULL: the same.
static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed,
                              Totals *totals) {
    LabData want = lab_data(lab, p, seed);
    LabData start = lab_copy(lab, p, &want);
    if (!program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags)) return NULL;
    for (Isa isa = ISA_SCALAR; isa < ISA_COUNT; isa++) {
        Machine m;
        if (!jit_machine(isa, &m)) continue;
        LabData got = lab_copy(lab, p, &start);
        int threads = 1 + (int)(seed % 4);
        JitResult r = jit_run(lab, t, &m, &got, (InterpFlags){0}, threads, seed & 1);
        if (r == JIT_DECLINED) {
            totals->declined++;
            printf("declined: %s", lab_errors(lab));
            continue;
        }
        if (r == JIT_STATUS) return "a status";
        if (r == JIT_BROKEN) return "memory or processor state that is not the kernel's changed";
        const char *d = lab_difference(lab, p, &got, &want);
        if (!d) continue;
        LabData tree = lab_copy(lab, p, &start); // whose fault is it?
        bool ran = tree_interpret(&lab->arena, t, tree.view, (InterpFlags){0}, &lab->diags);
        bool right = ran && !lab_difference(lab, p, &tree, &want);
        return arena_printf(&lab->arena, "%s: %s (the tree is %s)", isa_name[isa], d,
                            right ? "right" : "wrong");
    }
    return NULL;
}

static const char *tree_text(Lab *lab, const Tree *t) {
    Text out = {.arena = &lab->arena};
    tree_show(&out, t, false);
    return text_str(&out);
}

// A Schedule read as decisions, in a space that knows its sizes, and written again; NULL: wrong.
static const Schedule *reread(Lab *lab, const Program *p, const Schedule *s, int threads) {
    CpuOptions o = options(threads);
    o.given = s;
    DiagList diags = {.arena = &lab->arena};
    CpuSpace *cs = cpu_space(&lab->arena, p, &o, &diags);
    if (!cs) return NULL;
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    int n;
    Decision *d = cpu_read(&lab->arena, cs, s, &diags, &n);
    space_copy(cs->space, c, cs->space->root);
    bool ok = d && space_apply(w, c, d, n) && space_full(cs->space, c) && !diags.items.n;
    if (ok) return cpu_schedule(&lab->arena, cs, c);
    Text text = {.arena = &lab->arena};
    for (int i = 0; i < diags.items.n; i++) diag_print(&text, diags.items.at[i]);
    for (int v = -1; (v = space_open(cs->space, c, v + 1)) >= 0;) {
        space_print_var(&text, cs->space, v);
        text_add(&text, " is open\n");
    }
    printf("%s", text_str(&text));
    return NULL;
}

static const char *reread_difference(Lab *lab, const Program *p, const Schedule *s, const Tree *t,
                                     int threads) {
    const Schedule *again = reread(lab, p, s, threads);
    if (!again) return "it does not read back";
    DiagList diags = {.arena = &lab->arena};
    const Tree *u = tree_lower(&lab->arena, p, again, &diags);
    if (!u) return "what it reads back to does not lower";
    const char *a = tree_text(lab, t), *b = tree_text(lab, u);
    return strcmp(a, b) == 0 ? NULL
                             : arena_printf(&lab->arena, "it reads back to another:\n%s\n%s\n%s", a,
                                            b, schedule_text(lab, again));
}

static bool try_candidates(Lab *lab, const Program *p, uint64_t seed, int n, bool run,
                           Totals *totals) {
    CpuOptions o = options(seed % 3 ? 2 : 1);
    CpuSpace *cs = cpu_space(&lab->arena, p, &o, &lab->diags);
    if (!CHECK(cs) || !CHECK(!space_dead(cs->space, cs->space->root))) {
        printf("seed %llu\n%s\n", (unsigned long long)seed, lab_text(lab, p));
        return false;
    }
    totals->programs++;
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    for (int i = 0; i < n; i++) {
        uint64_t state = seed * 1000 + (uint64_t)i;
        space_copy(cs->space, c, cs->space->root);
        if (!space_complete(w, c, &state)) {
            totals->dead++;
            continue;
        }
        totals->full++;
        count(cs, c, totals);
        const Schedule *s = cpu_schedule(&lab->arena, cs, c);
        if (getenv("LW_FUZZ_VERBOSE")) {
            printf("seed %llu\n%s\n%s\n", (unsigned long long)seed, lab_text(lab, p),
                   schedule_text(lab, s));
            fflush(stdout);
        }
        DiagList diags = {.arena = &lab->arena};
        const Tree *t = tree_lower(&lab->arena, p, s, &diags);
        const char *wrong = NULL;
        if (!t) {
            Text text = {.arena = &lab->arena};
            diag_print(&text, diags.items.at[0]);
            wrong = text_str(&text);
        } else if (tree_verify(&lab->arena, t, NULL, &diags) == VERIFY_REFUSED) {
            wrong = "refused by the verifier";
        } else if (run) {
            int64_t declined = totals->declined;
            wrong = difference(lab, p, t, seed, totals);
            if (!wrong && i == 0) wrong = reread_difference(lab, p, s, t, o.threads);
            if (totals->declined > declined)
                printf("seed %llu\n%s\n%s\n", (unsigned long long)seed, lab_text(lab, p),
                       schedule_text(lab, s));
        }
        if (!CHECK(!wrong)) {
            printf("seed %llu, candidate %d: %s\n%s\n%s\n%s\n", (unsigned long long)seed, i, wrong,
                   lab_text(lab, p), schedule_text(lab, s), cand_text(lab, cs, c));
            return false;
        }
    }
    return true;
}

static void report(const Totals *t) {
    printf("%lld programs, %lld candidates, %lld dead ends, %lld declined; nest %lld after %lld "
           "inline %lld at %lld, merged %lld, packed %lld, privatised %lld, interleaved %lld\n",
           (long long)t->programs, (long long)t->full, (long long)t->dead, (long long)t->declined,
           (long long)t->place[0], (long long)t->place[1], (long long)t->place[2],
           (long long)t->place[3], (long long)t->merged, (long long)t->packed,
           (long long)t->privatised, (long long)t->interleaved);
}

static void candidates_of(Program *(*generate)(Lab *, uint64_t)) {
    Totals totals = {0};
    int64_t rounds = check_long_rounds(500);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = generate(&lab, seed);
        bool ok = CHECK(p) && try_candidates(&lab, p, seed, 4, true, &totals);
        lab_end(&lab);
        if (!ok) return;
    }
    report(&totals);
    CHECK(totals.declined * 100 <= totals.full); // gaps of the back-end, each printed above
    CHECK(totals.dead * 3 < totals.full);
}

TEST(candidates_of_random_programs) { candidates_of(genprog); }

TEST(candidates_of_random_chains) { candidates_of(genprog_chains); }

static Program *steps_program(Lab *lab, uint64_t seed) {
    return lab_program(lab, gensteps_text(&lab->arena, seed), NULL);
}

TEST(candidates_of_programs_in_steps) { candidates_of(steps_program); }

TEST(candidates_of_known_shapes) {
    Totals totals = {0};
    int64_t rounds = check_long_rounds(500);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
        int64_t values[3];
        for (int k = 0; k < shape->nparams; k++) {
            uint64_t r = check_random(&state);
            values[k] = r % 12 == 0 ? 0 : (int64_t)(r / 12 % (r % 3 ? 9 : 70)) + 1;
        }
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, shape->text, values);
        bool ok = CHECK(p) && try_candidates(&lab, p, seed, 4, true, &totals);
        lab_end(&lab);
        if (!ok) return;
    }
    report(&totals);
    CHECK(totals.declined * 100 <= totals.full); // gaps of the back-end, each printed above
    CHECK(totals.dead * 3 < totals.full);
}

// Two decisions that are right alone and not together: inlining both statements of a chain would
// read what is overwritten on the way; a copy that fits on the stack does not once it is widened
// and blocked; what is inlined leaves nothing to copy, or makes a host read what its follower
// writes.
TEST(candidates_of_tight_programs) {
    static const struct {
        const char *text;
        int64_t size[2];
    } tight[] = {
        {"program chain(N, M) { input A: i32[N] output O: i32[M] temp T: i32[N] temp U: i32[N]\n"
         "    O: for i in 0:M  O[i] = i32(index(i))\n"
         "    T: for i in 0:N  T[i] = O[i%M] + A[i]\n"
         "    U: for i in 0:N  U[i] = T[i]*i32(2)\n"
         "    O.1: for i in 0:M, k in 0:N  O[i] +=! U[k]*i32(index(i))\n}\n",
         {9, 4}},
        {"program wide(N, M) { input A: i8[N, M] output O: i64[4, 5]\n"
         "    O: for i in 0:4, j in 0:5, k in 0:7  O[i, j] +=! i64(A[i, k])*i64(A[k, i])\n}\n",
         {120, 130}},
        {"program gone(N, M) { input A: f32[N] output O: f32[N, M] output P: f32[M] temp T: "
         "f32[M]\n"
         "    T: for j in 0:M  T[j] = 3.0\n"
         "    O: for i in 0:N, j in 0:M  O[i, j] = select(T[j] < 2.0, A[i], T[j])\n"
         "    P: for j in 0:M, i in 0:N  P[j] +=! A[i]\n}\n",
         {12, 5}},
        {"program behind(N, M) { input A: f32[N, M] inout X: f32[N] output S: f32[N] temp T: "
         "f32[N]\n"
         "    T: for i in 0:N  T[i] = X[i] + 1.0\n"
         "    S: for i in 0:N, k in 0:M  S[i] +=! A[i, k]*T[i]\n"
         "    X: for i in 0:N  X[i] = S[i]*2.0\n}\n",
         {8, 5}},
    };
    Totals totals = {0};
    for (size_t k = 0; k < sizeof tight / sizeof *tight; k++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, tight[k].text, tight[k].size);
        if (CHECK(p)) try_candidates(&lab, p, 2 * k + 1, 200, true, &totals);
        lab_end(&lab);
    }
    report(&totals);
    CHECK(totals.place[1] && totals.place[2] && totals.packed);
}

typedef struct ReadTotals {
    int64_t schedules, whole, warned, completed;
} ReadTotals;

// Whatever else is decided in the space of a Schedule, the result lowers.
static const char *completions(Lab *lab, const Program *p, const CpuSpace *cs, uint64_t seed,
                               ReadTotals *n) {
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t state = seed * 10 + i;
        space_copy(cs->space, c, cs->space->root);
        if (!space_complete(w, c, &state)) continue;
        n->completed++;
        const Schedule *s = cpu_schedule(&lab->arena, cs, c);
        DiagList diags = {.arena = &lab->arena};
        if (tree_lower(&lab->arena, p, s, &diags)) continue;
        Text text = {.arena = &lab->arena};
        for (int k = 0; k < diags.items.n; k++) diag_print(&text, diags.items.at[k]);
        schedule_print(&text, s);
        return text_str(&text);
    }
    return NULL;
}

// Does some loop run once? It is no loop in the space, and the Trees differ in it.
static bool has_idle_loop(const Program *p, const Schedule *s) {
    for (int i = 0; i < p->stmts.n; i++) {
        const SchedStmt *g = schedule_find(s, p->stmts.at[i].label);
        for (int k = 0; g && k < g->nloops; k++)
            if (schedule_extent(&p->stmts.at[i], g, k) <= 1) return true;
    }
    return false;
}

// What a Schedule says is read, or a warning says what is not.
static const char *silent_loss(Lab *lab, const Program *p, const Schedule *s, uint64_t seed,
                               ReadTotals *n) {
    DiagList diags = {.arena = &lab->arena};
    const Tree *t = tree_lower(&lab->arena, p, s, &diags);
    if (!t) return NULL;
    n->schedules++;
    CpuOptions o = options(2);
    o.given = s;
    o.literal = seed % 3 == 0;
    diags = (DiagList){.arena = &lab->arena};
    CpuSpace *cs = cpu_space(&lab->arena, p, &o, &diags);
    int nd = 0;
    Decision *d = cs ? cpu_read(&lab->arena, cs, s, &diags, &nd) : NULL;
    if (!cs || !d) return "it is not read";
    const char *refused = completions(lab, p, cs, seed, n);
    if (refused) return refused;
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    space_copy(cs->space, c, cs->space->root);
    if (!space_apply(w, c, d, nd)) return "its decisions contradict each other";
    n->warned += diags.items.n > 0;
    if (diags.items.n) return NULL;
    n->whole++;
    int open = space_open(cs->space, c, 0);
    if (open >= 0) {
        Text text = {.arena = &lab->arena};
        space_print_var(&text, cs->space, open);
        text_add(&text, " is open\n");
        return text_str(&text);
    }
    const Schedule *again = cpu_schedule(&lab->arena, cs, c);
    const Tree *u = tree_lower(&lab->arena, p, again, &diags);
    if (!u) return "what it reads back to does not lower";
    bool same = !strcmp(tree_text(lab, t), tree_text(lab, u));
    if (t->prefetches.n == u->prefetches.n && (same || has_idle_loop(p, s))) return NULL;
    return arena_printf(&lab->arena, "it reads back to another:\n%s\n%s\n%s", tree_text(lab, t),
                        tree_text(lab, u), schedule_text(lab, again));
}

TEST(random_schedules_are_read_whole_or_with_warnings) {
    ReadTotals n = {0};
    for (int64_t i = 0; i < check_long_rounds(500); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = i % 2 ? genprog(&lab, seed) : genprog_chains(&lab, seed);
        GenSched g = {.state = seed};
        const char *wrong = NULL;
        for (int k = 0; p && k < 4 && !wrong; k++) {
            const Schedule *s = gen_schedule(&g, &lab.arena, p);
            wrong = silent_loss(&lab, p, s, seed, &n);
            if (!CHECK(!wrong))
                printf("seed %llu, schedule %d: %s\n%s\n%s\n", (unsigned long long)seed, k, wrong,
                       lab_text(&lab, p), schedule_text(&lab, s));
        }
        lab_end(&lab);
        if (wrong && !getenv("LW_STAT")) return;
    }
    printf("%lld schedules, %lld read whole, %lld with warnings; %lld candidates\n",
           (long long)n.schedules, (long long)n.whole, (long long)n.warned, (long long)n.completed);
}

// unroll(N) of TC's options decides: loops are unrolled from the innermost on, as long as there are
// at most N copies.
static void mapping_decides(const char *text, const char *mapping, const char *want) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, NULL);
    Mapping m;
    if (poly_missing() || !CHECK(p && mapping_parse(mapping, &m, &lab.diags))) return;
    const Schedule *s = mapping_schedule(&lab.arena, p, &m, &lab.diags);
    CpuOptions o = options(1);
    o.given = s;
    o.literal = true;
    CpuSpace *cs = cpu_space(&lab.arena, p, &o, &lab.diags);
    int n = 0;
    Decision *d = CHECK(cs) ? cpu_read(&lab.arena, cs, s, &lab.diags, &n) : NULL;
    CHECK_STR_EQ(lab_errors(&lab), "");
    if (CHECK(d)) {
        SpaceWork *w = space_work(&lab.arena, cs->space);
        Cand *c = space_cand(&lab.arena, cs->space);
        space_copy(cs->space, c, cs->space->root);
        CHECK(space_apply(w, c, d, n) && space_open(cs->space, c, 0) < 0);
        CHECK_STR_EQ(schedule_text(&lab, cpu_schedule(&lab.arena, cs, c)), want);
    }
    lab_end(&lab);
}

TEST(mapping_options_decide_what_is_unrolled) {
    static const char mm[] =
        "program mm { input A: f32[16, 16] input B: f32[16, 16] output C: f32[16, 16]\n"
        "    C: for m in 0:16, n in 0:16, k in 0:16  C[m, n] +=! A[m, k]*B[k, n]\n}\n";
    static const char chain[] =
        "program chain { input A: f32[40, 24] temp T: f32[40, 24] output S: f32[40]\n"
        "    T: for i in 0:40, j in 0:24  T[i, j] = A[i, j]*2.0\n"
        "    S: for i in 0:40, j in 0:24  S[i] +=! T[i, j]\n}\n";
    mapping_decides(mm, "unroll(4096)", "C: m:u n:u k:u\n    unroll 4096\n");
    mapping_decides(mm, "unroll(4095)", "C: m n:u k:u\n    unroll 4095\n");
    mapping_decides(mm, "unroll(256)", "C: m n:u k:u\n    unroll 256\n");
    mapping_decides(mm, "unroll(64)", "C: m n k:u\n    unroll 64\n");
    mapping_decides(mm, "unroll(15)", "C: m n k\n    unroll 15\n");
    mapping_decides(mm, "tile(8,8,8).unroll(4096)",
                    "C: m/8 n/8 k/8 k:u m:u n:u\n    unroll 4096\n");
    mapping_decides(mm, "tile(8).unroll(4096)", "C: m/8 n:u k:u m:u\n    unroll 4096\n");
    mapping_decides(chain, "unroll(24)", "T: | i j:u\n    unroll 24\nS: i j:u\n    unroll 24\n");
    mapping_decides(chain, "unroll(4096)",
                    "T: | i:u j:u\n    unroll 4096\nS: i:u j:u\n    unroll 4096\n");
}

TEST(a_matmul_has_a_space) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, matmul, (int64_t[]){1024, 1024, 1024});
    if (!CHECK(p)) return;
    CpuOptions o = options(2);
    CpuSpace *cs = cpu_space(&lab.arena, p, &o, &lab.diags);
    if (!CHECK(cs)) return;
    printf("%d objects, %d variables, %u bytes, %d open\n", cs->space->nobjects, cs->space->nvars,
           cs->space->size, space_count_open(cs->space, cs->space->root));
    CHECK(!space_dead(cs->space, cs->space->root));
    // copy and take one decision, over random descents
    SpaceWork *w = space_work(&lab.arena, cs->space);
    Cand *c = space_cand(&lab.arena, cs->space), *d = space_cand(&lab.arena, cs->space);
    enum { MANY = 20000 };
    double *ns = arena_new_n(&lab.arena, double, MANY);
    uint64_t state = 1;
    int n = 0;
    while (n < MANY) {
        space_copy(cs->space, c, cs->space->root);
        for (int var = 0; n < MANY && (var = space_open(cs->space, c, 0)) >= 0;) {
            uint64_t dom = space_domain(cs->space, c, var), bits = dom;
            for (int skip = (int)(check_random(&state) % (uint64_t)__builtin_popcountll(dom)); skip;
                 skip--)
                bits &= bits - 1;
            struct timespec t0, t1;
            clock_gettime(CLOCK_MONOTONIC, &t0);
            space_copy(cs->space, d, c);
            bool alive = space_keep(w, d, var, bits & -bits);
            clock_gettime(CLOCK_MONOTONIC, &t1);
            ns[n++] = (double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec);
            if (!alive) break;
            space_copy(cs->space, c, d);
        }
    }
    double lo = 0, hi = 1e9;
    for (int it = 0; it < 60; it++) {
        double mid = (lo + hi) / 2;
        int below = 0;
        for (int i = 0; i < n; i++) below += ns[i] <= mid;
        if (below * 2 >= n)
            hi = mid;
        else
            lo = mid;
    }
    printf("copy and one decision: %.0f ns in the median\n", hi);
    lab_end(&lab);
}

TEST(a_program_may_be_too_large) {
    Lab lab;
    lab_begin(&lab);
    Text text = {.arena = &lab.arena};
    text_add(&text, "program long(N) {\n    input A: f32[N]\n");
    for (int i = 0; i < 400; i++) text_printf(&text, "    output B%d: f32[N]\n", i);
    for (int i = 0; i < 400; i++)
        text_printf(&text, "    B%d: for i in 0:N\n        B%d[i] = A[i]\n", i, i);
    text_add(&text, "}\n");
    const Program *p = lab_program(&lab, text_str(&text), (int64_t[]){64});
    CpuOptions o = options(1);
    if (CHECK(p)) CHECK(!cpu_space(&lab.arena, p, &o, &lab.diags));
    CHECK(strstr(lab_errors(&lab), "loops and statements to schedule") != NULL);
    lab_end(&lab);
}

// Unrolled loops over the results of a sum hold no more of them than there are registers.
TEST(sums_stay_in_registers) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, matmul, (int64_t[]){1024, 1024, 1024});
    CpuOptions o = options(1);
    o.machine.vector_registers = 32;
    CpuSpace *cs = p ? cpu_space(&lab.arena, p, &o, &lab.diags) : NULL;
    if (!CHECK(cs)) return;
    const Space *s = cs->space;
    SpaceWork *w = space_work(&lab.arena, s);
    Cand *c = space_cand(&lab.arena, s);
    int m = space_object(s, "C.m.2"), n = space_object(s, "C.n.2"), k = space_object(s, "C.k.1");
    space_copy(s, c, s->root);
    CHECK(space_decide(w, c, CPU_KIND, m, -1, CPU_KIND_UNROLL));
    CHECK(space_decide(w, c, CPU_KIND, n, -1, CPU_KIND_UNROLL));
    CHECK(space_decide(w, c, CPU_KIND, k, -1, CPU_KIND_UNROLL));
    CHECK(space_decide_number(w, c, CPU_SIZE, m, 8));
    int var = space_var(s, CPU_SIZE, n, -1, NULL), free = space_var(s, CPU_SIZE, k, -1, NULL);
    uint64_t left = space_domain(s, c, var);
    CHECK_INT_EQ(space_value(s, var, 63 - __builtin_clzll(left)), 4);
    left = space_domain(s, c, free); // reduced loops hold nothing; 256 operations are the limit
    CHECK_INT_EQ(space_value(s, free, 63 - __builtin_clzll(left)), 16);
    lab_end(&lab);
}
