// Random (program, schedule) pairs compiled for every ISA level of this machine, against the
// program's interpreter, bit for bit on exact data. A failure is shrunk and printed as program text
// and schedule text. The run also fails if too many of the compared outputs are constant.
#include "unit/check.h"

#include "support/jitlab.h"
#include "support/pairs.h"
#include "support/shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Totals {
    int64_t pairs, declined, feature[FEATURE_COUNT];
    int64_t outputs, constant; // of more than 4 elements: compared, and with one value throughout
} Totals;

static const int thread_counts[] = {1, 2, 5};

static const InterpFlags flag_sets[] = {{0}, {.accumulate = true}, {.skip_post = true}};

// A wrong index or order is not detected if all elements are equal.
static void count_constant(const Program *p, const LabData *d, Totals *totals) {
    for (int i = p->ninputs; i < d->n; i++) {
        int64_t n = tensor_elements(&p->tensors.at[i]);
        if (n <= 4) continue;
        size_t bytes = (size_t)type_info[p->tensors.at[i].type].bytes;
        const char *data = d->view[i].data;
        totals->outputs++;
        totals->constant += !memcmp(data, data + bytes, (size_t)(n - 1) * bytes);
    }
}

typedef struct Want {
    LabData start, end; // contents before a run with these flags, and expected contents after it
    bool runs;
} Want;

// Whether these flags change the program's meaning.
static bool flags_matter(const Program *p, InterpFlags flags) {
    bool matter = !flags.accumulate && !flags.skip_post;
    for (int i = 0; i < p->stmts.n; i++)
        matter |=
            (flags.accumulate && p->stmts.at[i].init) || (flags.skip_post && p->stmts.at[i].post);
    return matter;
}

static Want wanted(Lab *lab, const Program *p, InterpFlags flags, uint64_t seed, Totals *totals) {
    Want w = {.end = lab_data(lab, p, seed)};
    for (int i = p->ninputs; flags.accumulate && i < w.end.n; i++) // garbage would round
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
            lab_set(&w.end, i, e, (double)(e % 3));
    w.start = lab_copy(lab, p, &w.end);
    w.runs = program_interpret(&lab->arena, p, w.end.view, flags, &lab->diags);
    if (w.runs && totals) count_constant(p, &w.end, totals);
    return w;
}

// Runs the kernel with one set of flags: on one thread, with simulated threads, and, on one level
// of each pair, with real threads.
static const char *run_flags(Lab *lab, const Program *p, const JitKernel *k, Isa isa, int f,
                             const Want *want, uint64_t seed) {
    for (int i = 0; i < 3; i++) {
        int threads = thread_counts[i];
        if (threads > 1 && !k->code.parallel) continue;
        if (threads == 5 && seed % ISA_COUNT != isa) continue;
        LabData got = lab_copy(lab, p, &want->start);
        JitResult r = jit_kernel_run(lab, k, &got, flag_sets[f], threads, (seed + (uint64_t)f) & 1);
        if (r == JIT_STATUS) return "a status";
        if (r == JIT_BROKEN) return "memory or processor state that is not the kernel's changed";
        const char *d = lab_difference(lab, p, &got, &want->end);
        if (d)
            return arena_printf(&lab->arena, "%s, flags %d, threads %d: %s", isa_name[isa], f,
                                threads, d);
    }
    return NULL;
}

// NULL: the same on all levels; else what differs. `totals`: NULL where a failure is shrunk.
// Flags without effect are tried sometimes.
static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed,
                              Totals *totals) {
    Want want[3] = {0};
    for (int f = 0; f < 3; f++)
        if (seed % 16 == 0 || flags_matter(p, flag_sets[f]))
            want[f] = wanted(lab, p, flag_sets[f], seed, totals);
    const char *what = NULL;
    for (int isa = 0; isa < (int)ISA_COUNT && !what; isa++) {
        Machine m;
        JitKernel k;
        if (!jit_machine((Isa)isa, &m)) continue;
        if (seed % 3) m.unroll_limit = seed % 3 == 1 ? 8 : 40; // small programs have loops too
        if (!jit_kernel_new(lab, t, &m, &k)) {
            if (totals) printf("seed %llu: %s", (unsigned long long)seed, lab_errors(lab));
            if (totals) totals->declined++;
            continue;
        }
        for (int f = 0; f < 3 && !what; f++)
            if (want[f].runs) what = run_flags(lab, p, &k, (Isa)isa, f, &want[f], seed);
        jit_kernel_free(&k);
    }
    return what;
}

static const char *pair_fault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed) {
    const Tree *t = pair_lower(lab, p, s, seed);
    return t ? difference(lab, p, t, seed, NULL) : NULL;
}

static bool try_pair(Lab *lab, const Program *p, uint64_t seed, Totals *totals) {
    GenSched g;
    Tree *t;
    const Schedule *s = pair_schedule(lab, p, seed, &g, &t);
    if (!CHECK(t)) return false;
    totals->pairs++;
    for (int f = 0; f < FEATURE_COUNT; f++) totals->feature[f] += g.used[f];
    if (getenv("LW_FUZZ_VERBOSE")) {
        printf("seed %llu\n%s\n%s\n", (unsigned long long)seed, lab_text(lab, p),
               shrink_schedule_text(lab, s));
        fflush(stdout);
    }
    if (CHECK(!difference(lab, p, t, seed, totals))) return true;
    shrink_explain(lab, seed, p, s, pair_fault);
    return false;
}

static void check_totals(const Totals *t, int most_constant) {
    printf("%lld pairs, %lld declined\n", (long long)t->pairs, (long long)t->declined);
    printf("%lld of %lld outputs constant\n", (long long)t->constant, (long long)t->outputs);
    CHECK(t->declined == 0);
    // Too many constant outputs mean data that hides faults; a few pairs may be unlucky.
    CHECK(t->pairs < 100 || t->constant * 100 <= t->outputs * most_constant);
}

// Runs pairs of programs and schedules, one per seed; returns their number, or 0 after a failure.
// At most `most_constant` percent of the outputs may be constant.
static int64_t try_pairs(PairProgram *make, int most_constant) {
    Totals totals = {0};
    int64_t rounds = check_long_rounds(1500);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = make(&lab, seed);
        bool ok = CHECK(p) && try_pair(&lab, p, seed, &totals);
        if (!p) printf("seed %llu: %s", (unsigned long long)seed, lab_errors(&lab));
        lab_end(&lab);
        if (!ok) return 0;
    }
    check_totals(&totals, most_constant);
    return rounds;
}

TEST(compiled_schedules_keep_their_meaning) { try_pairs(pair_shape, 30); }

TEST(compiled_nested_splits_keep_their_meaning) { try_pairs(pair_large_shape, 30); }

TEST(compiled_lanes_keep_their_meaning) { try_pairs(pair_lanes, 30); }

TEST(compiled_compositions_keep_their_meaning) { try_pairs(pair_composed, 40); }

TEST(compiled_steps_keep_their_meaning) { try_pairs(pair_steps, 40); }

TEST(compiled_random_programs_keep_their_meaning) {
    int64_t rounds = try_pairs(pair_random, 30);
    if (!rounds) return;
    printf("%lld runs on threads, %lld with memory of their own\n", (long long)jit_count.parallel,
           (long long)jit_count.private);
    CHECK(rounds < 1000 || (jit_count.parallel > 100 && jit_count.private > 0));
    for (int i = 0; i < TRICK_COUNT; i++) {
        printf("%s %lld\n", code_trick_name[i], (long long)jit_tricks[i]);
        CHECK(jit_tricks[i] > 0 || i == TRICK_SKIP || // test_jit_cases has a skip
              !check_usual_rounds());
    }
}
