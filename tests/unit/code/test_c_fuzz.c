// Random (program, schedule) pairs as C, through gcc and clang, against the program's interpreter:
// bit for bit on exact data. Many kernels share one start of a compiler. A failure is shrunk and
// printed as program text, schedule text and C.
//
// LW_FUZZ_BATCH sets the kernels per start (1: the C of a failure holds nothing else).
#include "unit/check.h"

#include "support/clab.h"
#include "support/genprog.h"
#include "support/gensched.h"
#include "support/shapes.h"
#include "support/shrink.h"

enum { BATCH = 100 };

typedef struct Pair {
    Lab lab;
    uint64_t seed;
    const Program *p;
    const Schedule *s;
    Tree *t;
    int kernel;
} Pair;

static const InterpFlags flag_sets[] = {{0}, {.accumulate = true}, {.skip_post = true}};

// --- Pairs -------------------------------------------------------------------------------------

static const Program *known_program(Lab *lab, uint64_t seed) {
    uint64_t state = seed;
    const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
    int64_t values[3];
    for (int k = 0; k < shape->nparams; k++) {
        uint64_t r = check_random(&state);
        values[k] = r % 12 == 0 ? 0 : (int64_t)(r / 12 % (k ? 7 : 11)) + 1;
    }
    return lab_program(lab, shape->text, values);
}

static bool make_pair(Pair *pair, uint64_t seed) {
    Lab *lab = &pair->lab;
    lab_begin(lab);
    pair->seed = seed;
    pair->kernel = -1;
    pair->p = seed & 1 ? known_program(lab, seed) : genprog(lab, seed);
    if (!CHECK(pair->p)) return false;
    GenSched g = {.state = seed};
    pair->s = gen_schedule(&g, &lab->arena, pair->p);
    pair->t = tree_lower(&lab->arena, pair->p, pair->s, &lab->diags);
    if (!pair->t) {
        g = (GenSched){.state = seed, .plain = true};
        pair->s = gen_schedule(&g, &lab->arena, pair->p);
        pair->t = tree_lower(&lab->arena, pair->p, pair->s, &lab->diags);
    }
    return CHECK(pair->t);
}

// --- Comparing ---------------------------------------------------------------------------------

// NULL: the same; else what differs.
static const char *difference(CLab *c, Pair *pair) {
    Lab *lab = &pair->lab;
    const Program *p = pair->p;
    for (int f = 0; f < 3; f++) {
        LabData want = lab_data(lab, p, pair->seed);
        for (int i = p->ninputs; flag_sets[f].accumulate && i < want.n; i++) // garbage would round
            for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
                lab_set(&want, i, e, (double)(e % 3));
        LabData got = lab_copy(lab, p, &want);
        bool ok = program_interpret(&lab->arena, p, want.view, flag_sets[f], &lab->diags);
        int status = clab_run(c, pair->kernel, &got, flag_sets[f], f & 1);
        if (ok != (status == 0)) return arena_printf(&lab->arena, "flags %d: status %d", f, status);
        const char *d = ok ? lab_difference(lab, p, &got, &want) : NULL;
        if (d) return arena_printf(&lab->arena, "flags %d: %s", f, d);
    }
    return NULL;
}

typedef struct How {
    const char *name, *compiler;
    const char *flags[8];
    bool openmp;
} How;

static const How every[] = {
    {"gcc",
     "gcc",
     {"-O1", "-ffp-contract=off", "-march=native", "-Wall", "-Wextra", "-Werror"},
     false},
    {"clang",
     "clang",
     {"-O1", "-ffp-contract=off", "-march=native", "-Wall", "-Wextra", "-Werror"},
     false},
};
static const How first[] = {
    {"gcc -O3 -fopenmp", "gcc", {"-O3", "-ffp-contract=off", "-march=native"}, true},
    {"gcc -fsanitize=undefined",
     "gcc",
     {"-O1", "-ffp-contract=off", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"},
     false},
};

// --- Shrinking ---------------------------------------------------------------------------------

typedef struct Trial {
    Pair *pair;
    const How *how;
    const char *what; // of the last pair that failed
} Trial;

// One pair by itself, in the place of the one that failed.
static bool fails(void *user, const Program *p, const Schedule *s) {
    Trial *trial = user;
    Pair *pair = trial->pair, was = *pair;
    Tree *t = tree_lower(&pair->lab.arena, p, s, &pair->lab.diags);
    if (!t) return false;
    CLab c;
    clab_begin(&c);
    pair->p = p, pair->s = s, pair->t = t;
    pair->kernel = clab_add(&c, t);
    const char *what = "does not compile";
    if (clab_compile(&c, trial->how->compiler, trial->how->flags, trial->how->openmp))
        what = difference(&c, pair);
    pair->p = was.p, pair->s = was.s, pair->t = was.t;
    pair->kernel = was.kernel;
    clab_end(&c);
    if (what) trial->what = what;
    return what != NULL;
}

static void explain(Pair *pair, const How *how) {
    Trial trial = {pair, how, NULL};
    const Program *p = pair->p;
    const Schedule *s = pair->s;
    if (fails(&trial, p, s)) shrink_pair(&pair->lab, pair->seed, &p, &s, fails, &trial);
    printf("%s\n", how->name);
    shrink_report(&pair->lab, pair->seed, trial.what, p, s);
    CLab one;
    clab_begin(&one);
    clab_add(&one, tree_lower(&pair->lab.arena, p, s, &pair->lab.diags));
    printf("--- C\n%s", clab_source(&one));
    clab_end(&one);
}

// --- Many at once ------------------------------------------------------------------------------

// The pair that does not compile by itself.
static void blame(Pair *pair, int n, const How *how) {
    for (int i = 0; i < n; i++) {
        Trial trial = {&pair[i], how, NULL};
        if (!fails(&trial, pair[i].p, pair[i].s)) continue;
        explain(&pair[i], how);
        return;
    }
}

static bool compare(CLab *c, Pair *pair, int n, const How *how) {
    if (!clab_has(how->compiler)) {
        printf("there is no %s\n", how->compiler);
        return true;
    }
    if (!CHECK(clab_compile(c, how->compiler, how->flags, how->openmp))) {
        printf("%s, seed %llu: %s\n", how->name, (unsigned long long)pair->seed, c->message);
        blame(pair, n, how);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (getenv("LW_FUZZ_VERBOSE")) printf("seed %llu\n", (unsigned long long)pair[i].seed);
        const char *d = difference(c, &pair[i]);
        if (!CHECK(!d)) {
            explain(&pair[i], how);
            return false;
        }
    }
    return true;
}

static bool batch(uint64_t seed, int n, bool is_first) {
    static Pair pair[BATCH];
    CLab c;
    clab_begin(&c);
    bool ok = true;
    int made = 0;
    for (; made < n && ok; made++) {
        ok = make_pair(&pair[made], seed + (uint64_t)made);
        if (ok) ok = CHECK((pair[made].kernel = clab_add(&c, pair[made].t)) >= 0);
    }
    for (int h = 0; h < 2 && ok; h++) ok = compare(&c, pair, made, &every[h]);
    for (int h = 0; h < 2 && ok && is_first; h++) ok = compare(&c, pair, made, &first[h]);
    clab_end(&c);
    for (int i = 0; i < made; i++) lab_end(&pair[i].lab);
    return ok;
}

TEST(c_keeps_the_meaning_of_schedules) {
    int64_t pairs = check_long_rounds(400), done = 0;
    uint64_t size = check_env("LW_FUZZ_BATCH", BATCH), seed = check_first_seed();
    if (size > BATCH) size = BATCH;
    while (done < pairs) {
        int n = pairs - done < (int64_t)size ? (int)(pairs - done) : (int)size;
        if (!batch(seed + (uint64_t)done, n, done == 0)) return;
        done += n;
    }
    printf("%lld pairs\n", (long long)done);
}
