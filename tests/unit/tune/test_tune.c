// lw_tune: results are right and usable, faults are caught and recorded and never the result,
// callbacks are called, what is known is not searched again.
#define _GNU_SOURCE
#include "unit/check.h"

#include "loopwright.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static const char text[] = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                           "    C(m,n) +=! A(m,k) * B(k,n)\n"
                           "}\n"
                           "def row(float(M,N) x) -> (s, o) {\n"
                           "    s(m) max=! x(m,n)\n"
                           "    o(m,n) = exp(x(m,n) - s(m))\n"
                           "}\n"
                           "def pick(float(N) x, int32(M) at) -> (o) { o(i) = x(at(i)) }\n"
                           "def scan(float(T,N) x) -> (float(T,N) y) {\n"
                           "    y(0,i) = x(0,i)\n"
                           "    for t in 1:T {\n"
                           "        s(t) +=! x(t,i) * y(t-1,i)\n"
                           "        y(t,i) = max(y(t-1,i) - s(t), x(t,i))\n"
                           "    }\n"
                           "}\n"
                           "def vast(float(N) x) -> (o) {\n"
                           "    t(i,j) = x(i)*x(j)\n"
                           "    o(i) +=! t(j,i)*t(i,j)\n"
                           "}\n";

static lw_bound *bind(lw_context *ctx, const char *name, const int64_t *values, size_t n) {
    lw_module *mod;
    lw_bound *b = NULL;
    if (!CHECK(lw_parse(ctx, "t.tc", text, sizeof text - 1, NULL, &mod) == LW_OK)) return NULL;
    CHECK(lw_bind_values(ctx, lw_module_find(mod, name), values, n, &b) == LW_OK);
    lw_module_free(mod);
    return b;
}

enum { MOST_SEEN = 4096 };
typedef struct Seen {
    double times[MOST_SEEN]; // that were measured
    int64_t trials, progress, best, failures, stop_at;
    int64_t count[8];
    bool blocks_of_four; // every candidate has them
    char first[256];     // schedule
    double expected;     // seconds, before the first trial
} Seen;

// Is `m` split by four? Blocks may follow each other or interleave; a size says nothing of that.
static bool has_blocks_of_four(const char *schedule) {
    const char *blocked = strstr(schedule, " m/4"), *apart = strstr(schedule, " m%4");
    const char *found = blocked ? blocked : apart;
    return found && strchr(" :", found[4]);
}

static void on_trial(void *user, const lw_trial *t) {
    Seen *s = user;
    CHECK(t->number == s->trials);
    CHECK(t->schedule && lw_trial_state_name(t->state));
    if (s->blocks_of_four && !CHECK(has_blocks_of_four(t->schedule))) printf("%s", t->schedule);
    if (t->state == LW_TRIAL_TIMED) CHECK(t->seconds > 0 && t->low <= t->high);
    bool failed = t->state >= LW_TRIAL_WRONG && t->state <= LW_TRIAL_HUNG;
    CHECK(!t->reproducer || failed);
    if (t->reproducer) CHECK(access(t->reproducer, R_OK) == 0);
    s->failures += t->reproducer != NULL;
    s->best += t->best;
    if (s->trials == 0) snprintf(s->first, sizeof s->first, "%s", t->schedule);
    s->count[t->state]++;
    if (s->trials < MOST_SEEN) s->times[s->trials] = t->seconds;
    s->trials++;
}

static void on_progress(void *user, const lw_tune_state *state) {
    Seen *s = user;
    CHECK(state->trials == s->trials);
    s->progress++;
}

static bool on_cancelled(void *user) {
    const Seen *s = user;
    return s->stop_at && s->trials >= s->stop_at;
}

static lw_tune_options options(Seen *seen) {
    *seen = (Seen){0};
    return (lw_tune_options){.struct_size = sizeof(lw_tune_options),
                             .trials = 60,
                             .threads = 1,
                             .db = "none",
                             .failures = "none",
                             .progress = on_progress,
                             .trial = on_trial,
                             .cancelled = on_cancelled,
                             .user = seen};
}

static int64_t sum(const int64_t *n) {
    int64_t all = 0;
    for (int i = 0; i < 8; i++) all += n[i];
    return all;
}

TEST(a_tuned_schedule_runs) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){33, 40, 50}, 3);
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    if (!CHECK(lw_tune(ctx, b, &o, &r) == LW_OK)) return (void)printf("%s", lw_diag_text(ctx));
    CHECK(r->state->seconds > 0 && r->state->low <= r->state->seconds);
    CHECK(r->state->trials == seen.trials && seen.trials <= 60 && seen.progress > 0);
    CHECK(sum(r->state->count) == seen.trials);
    CHECK(memcmp(r->state->count, seen.count, sizeof seen.count) == 0);
    CHECK(r->point_count >= 1 && r->points[0].seconds > 0);
    CHECK(r->state->gflops > 0 && r->chosen > 0 && !r->stored && !r->served);
    char *schedule = strdup(r->schedule);
    lw_kernel *k;
    lw_compile_options c = {.struct_size = sizeof c, .schedule = {schedule, "tuned.lws"}};
    if (CHECK(lw_compile(ctx, b, &c, &k) == LW_OK)) lw_kernel_free(k);
    free(schedule);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// How the best came about is told by times that were measured, each less than the one before. The
// search itself counts what is surely faster, and was measured in a slow phase, as a little faster.
TEST(curves_show_what_was_measured) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){48, 48, 48}, 3);
    static Seen seen;
    for (uint64_t seed = 0; seed < 4; seed++) {
        lw_tune_options o = options(&seen);
        const lw_tune_result *r;
        o.strategy = "auto scratch";
        o.trials = 150;
        o.seed = seed;
        if (!CHECK(lw_tune(ctx, b, &o, &r) == LW_OK)) break;
        for (size_t i = 0; i + 1 < r->point_count; i++) {
            bool found = false;
            for (int64_t k = 0; k < r->points[i].trials; k++)
                found |= !(seen.times[k] < r->points[i].seconds) &&
                         !(seen.times[k] > r->points[i].seconds);
            CHECK(found);
            if (i > 0) CHECK(r->points[i].seconds < r->points[i - 1].seconds);
        }
    }
    lw_bound_free(b);
    lw_context_free(ctx);
}

// Every strategy, on a program whose results round, on one that reads through subscripts, and on
// one whose statements run in steps.
TEST(every_strategy_tunes) {
    static const struct {
        const char *name;
        int64_t size[2];
        int trials;
    } programs[] = {{"row", {7, 65}, 12}, {"pick", {100, 30}, 6}, {"scan", {9, 70}, 6}};
    lw_context *ctx = lw_context_new(NULL);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        lw_bound *b = bind(ctx, programs[i].name, programs[i].size, 2);
        for (const char *const *s = lw_tune_strategies(); b && *s; s++) {
            Seen seen;
            lw_tune_options o = options(&seen);
            const lw_tune_result *r;
            o.strategy = *s;
            o.trials = programs[i].trials;
            o.seconds = 5;
            if (!CHECK(lw_tune(ctx, b, &o, &r) == LW_OK))
                printf("%s by %s: %s", programs[i].name, *s, lw_diag_text(ctx));
            CHECK(!seen.count[LW_TRIAL_WRONG] && !seen.count[LW_TRIAL_CRASHED]);
        }
        lw_bound_free(b);
    }
    lw_context_free(ctx);
}

static int files_in(const char *folder, const char *ending) {
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += strlen(e->d_name) > 4 && !strcmp(e->d_name + strlen(e->d_name) - 4, ending);
    if (d) closedir(d);
    return n;
}

TEST(planted_faults_are_recorded_and_never_stored) {
    char folder[] = "/tmp/lw-tune-XXXXXX", db[64], failures[64], command[128];
    if (!CHECK(mkdtemp(folder))) return;
    snprintf(db, sizeof db, "%s/t.db", folder);
    snprintf(failures, sizeof failures, "%s/deep/failures", folder);
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){20, 24, 28}, 3);
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    o.db = db;
    o.failures = failures;
    setenv("LW_TUNE_PLANT", "wrong=5,crash=7,hang=11", 1);
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK && r->stored);
    unsetenv("LW_TUNE_PLANT");
    // Every 35th and 55th trial have two faults, and every 77th.
    CHECK(seen.count[LW_TRIAL_WRONG] >= seen.trials / 5 - seen.trials / 35 - seen.trials / 55 - 3);
    CHECK(seen.count[LW_TRIAL_CRASHED] >= seen.trials / 7 - seen.trials / 77 - 3);
    CHECK(seen.count[LW_TRIAL_HUNG] >= 1);
    CHECK(seen.failures > 0);
    // What is planted again and again in one schedule leaves one pair of files.
    CHECK(files_in(failures, ".lws") > 0 && files_in(failures, ".lws") <= seen.failures);
    CHECK_INT_EQ(files_in(failures, ".lwp"), files_in(failures, ".lws"));

    // What is known is looked at and not searched, unless more is asked for; `again` searches.
    o = options(&seen);
    o.db = db;
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    CHECK_STR_EQ(r->strategy, "database");
    CHECK(seen.trials == 0 && r->state->seconds > 0);
    o = options(&seen);
    o.db = db;
    o.again = true;
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK && seen.trials > 0);

    // Where everything is wrong, nothing is the result.
    o = options(&seen);
    o.trials = 10;
    setenv("LW_TUNE_PLANT", "wrong=1", 1);
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    CHECK_STR_EQ(r->strategy, "chosen");
    CHECK(seen.count[LW_TRIAL_WRONG] == seen.trials);
    o = options(&seen);
    o.trials = 10;
    o.failures = "/dev/null/failures";
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK && seen.failures == 0);
    const char *told =
        strstr(lw_diag_text(ctx), "cannot save the failing candidate to '/dev/null/");
    CHECK(told && !strstr(told + 1, "cannot save the failing"));
    o = options(&seen);
    o.trials = 10;
    o.set = "place(C) = NEST";
    CHECK(lw_tune(ctx, b, &o, &r) == LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "candidates ran with a correct result"));
    CHECK(strstr(lw_diag_text(ctx), "the default choice: "));
    unsetenv("LW_TUNE_PLANT");
    lw_bound_free(b);
    lw_context_free(ctx);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

// A candidate faster than its bound refutes it: there is no certificate, files show the candidate,
// the search goes on without bounds, and the database keeps none.
TEST(a_bound_that_is_too_high_is_withdrawn) {
    char folder[] = "/tmp/lw-tune-XXXXXX", db[64], command[128];
    if (!CHECK(mkdtemp(folder))) return;
    snprintf(db, sizeof db, "%s/t.db", folder);
    lw_context_options where = {.struct_size = sizeof where, .database = db};
    lw_context *ctx = lw_context_new(&where);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){20, 24, 28}, 3);
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    const char *const strategies[] = {"auto", "exhaustive"};
    for (int i = 0; i < 2; i++) {
        o = options(&seen);
        o.strategy = strategies[i];
        o.trials = 30;
        o.gap = 0.01; // a bound that is lowered to fit would end it at once
        o.db = db;
        o.again = true;
        o.failures = folder;
        setenv("LW_TUNE_PLANT", "bound=1000", 1);
        CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
        unsetenv("LW_TUNE_PLANT");
        CHECK(r->refuted && strstr(r->refuted, "below the bound of"));
        CHECK(r->reproducer && strstr(r->reproducer, "mm-below-bound-"));
        CHECK(r->state->bound <= 0 && r->state->gap <= 0 && !r->finished);
        CHECK(seen.trials > 16); // more than the batch that refuted it
    }
    CHECK(files_in(folder, ".lwp") >= 1 && files_in(folder, ".lws") >= 1);
    const lw_db_entry *entries;
    size_t n = 0;
    if (CHECK(lw_db_list(ctx, NULL, &entries, &n) == LW_OK) && CHECK(n > 0))
        for (size_t i = 0; i < n; i++) CHECK(entries[i].bound <= 0);
    o = options(&seen);
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK && !r->refuted && r->state->bound > 0);
    lw_bound_free(b);
    lw_context_free(ctx);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

// Trials that the same database is asked for with other options.
static int64_t trials_of(lw_context *ctx, lw_bound *b, lw_tune_options o, Seen *seen) {
    const lw_tune_result *r = NULL;
    *seen = (Seen){0};
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    return seen->trials;
}

// A search answers those that ask for no more, and no others: what was tuned with decisions of
// somebody's, with cold caches, or in less time says nothing.
TEST(tuning_searches_what_was_not_searched) {
    char folder[] = "/tmp/lw-tune-XXXXXX", db[64], command[128];
    if (!CHECK(mkdtemp(folder))) return;
    snprintf(db, sizeof db, "%s/t.db", folder);
    lw_context_options where = {.struct_size = sizeof where, .database = db};
    lw_context *ctx = lw_context_new(&where);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){64, 48, 32}, 3);
    Seen seen;
    lw_tune_options plain = options(&seen), pinned, cold, more, random, hand;
    plain.db = NULL;
    plain.trials = 40;
    pinned = cold = more = random = hand = plain;
    pinned.set = "kind(C.k.0) = SERIAL; size(C.m.1) = 4; size(C.m.2) = 1";
    cold.cold = true;
    more.trials = 60;
    random.strategy = "random";
    const lw_tune_result *r;
    CHECK(lw_db_put(ctx, b, &hand, false, &r) == LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "no schedule given; use --schedule FILE.lws"));
    hand.schedule.text = "C: m n k\n";
    CHECK(lw_db_put(ctx, b, &hand, false, &r) == LW_OK && r->stored);
    CHECK(r->chosen > 0 && r->chosen < r->state->seconds);
    CHECK(trials_of(ctx, b, pinned, &seen) > 0);
    CHECK(trials_of(ctx, b, cold, &seen) > 0);
    CHECK(trials_of(ctx, b, plain, &seen) > 0);
    CHECK(trials_of(ctx, b, pinned, &seen) > 0);
    CHECK(trials_of(ctx, b, more, &seen) > 0);
    CHECK(trials_of(ctx, b, random, &seen) > 0);
    // Several were checked and timed at the end: all of them are there, and those that lost last.
    const lw_db_entry *e;
    size_t n = 0, apart = 0;
    CHECK(lw_db_list(ctx, NULL, &e, &n) == LW_OK && n > 2);
    for (size_t i = 0; i < n; i++) {
        CHECK(e[i].rank || e[i].seconds <= e[i].chosen);
        apart += strcmp(e[i].target, "x86-64, cold") == 0;
    }
    CHECK(apart > 0 && apart < n);
    lw_bound_free(b);
    lw_context_free(ctx);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

TEST(tuning_is_cancelled) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){64, 64, 64}, 3);
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    o.trials = 0;
    o.seconds = 60;
    seen.stop_at = 20;
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    CHECK(seen.trials >= 20 && seen.trials < 200 && r->state->elapsed < 30);
    CHECK(r->state->seconds > 0);
    lw_bound_free(b);
    lw_context_free(ctx);
}

static bool at_once(void *seen) {
    (void)seen;
    return true;
}

static void count_early(void *seen, const lw_tune_state *s) {
    Seen *x = seen;
    x->stop_at += s->trials == 0;
}

// The space splits an iterator three times at most. A Schedule with more is measured as it is.
TEST(a_given_schedule_is_measured_as_it_is) {
    static const struct {
        const char *given;
        bool near;
    } some[] = {{"C: m/16 m/8 m/4 m/2 k m n:v\n", true}, {"C: m k n:v\n", false}};
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){20, 24, 40}, 3);
    for (int i = 0; i < 2; i++) {
        Seen seen;
        lw_tune_options o = options(&seen);
        const lw_tune_result *r;
        o.schedule = (lw_schedule_text){some[i].given, "s.lws"};
        o.trials = 1;
        CHECK(lw_tune(ctx, b, &o, &r) == LW_OK && r->near == some[i].near);
        CHECK(seen.trials == 1 && seen.count[LW_TRIAL_TIMED] == 1);
        CHECK_STR_EQ(seen.first, some[i].given);
        o = options(&seen);
        o.schedule = (lw_schedule_text){some[i].given, "s.lws"};
        o.trials = 10;
        CHECK(lw_tune(ctx, b, &o, &r) == LW_OK && seen.trials == 10);
        CHECK(r->state->seconds < 1.5 * seen.times[0]);
    }
    lw_bound_free(b);
    lw_context_free(ctx);
}

// One schedule, compared as a candidate is.
TEST(a_schedule_is_checked) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){12, 13, 14}, 3);
    const lw_check_result *r;
    lw_tune_options o = {.struct_size = sizeof o, .threads = 1, .schedule = {"C: m k n:v\n", "s"}};
    CHECK(lw_check(ctx, b, &o, &r) == LW_OK && r->state == LW_TRIAL_TIMED && r->seconds > 0);
    CHECK_STR_EQ(r->compared, "bit for bit, against the interpreter");
    CHECK(!r->difference);
    setenv("LW_TUNE_PLANT", "wrong=1", 1);
    CHECK(lw_check(ctx, b, &o, &r) == LW_OK && r->state == LW_TRIAL_WRONG);
    unsetenv("LW_TUNE_PLANT");
    CHECK(strstr(r->difference, "C[6, ") && strstr(r->difference, "1 of 168 elements differ"));
    CHECK(lw_check(ctx, b, NULL, &r) == LW_OK && r->state == LW_TRIAL_TIMED); // what is chosen
    o.schedule.text = "C: q\n";
    CHECK(lw_check(ctx, b, &o, &r) == LW_ERROR && !r);
    CHECK(lw_check(ctx, NULL, &o, &r) == LW_MISUSE && lw_check(ctx, b, &o, NULL) == LW_MISUSE);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// While the reference is computed that is told, and what is chosen is the result of an interrupt.
TEST(tuning_is_cancelled_before_it_begins) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){400, 400, 400}, 3);
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    o.trials = 0;
    o.seconds = 60; // the interpreter takes its time
    o.cancelled = at_once;
    o.progress = count_early;
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    CHECK_STR_EQ(r->strategy, "cancelled");
    CHECK(r->state->seconds <= 0 && r->state->elapsed < 1 && seen.trials == 0 && seen.stop_at > 0);
    CHECK(strncmp(r->schedule, "C: ", 3) == 0 && !r->stored && !r->finished);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// What the reference and a few calls take at least is told before anything is computed.
static void note_expected(void *user, const lw_tune_state *s) {
    Seen *seen = user;
    if (s->trials == 0) seen->expected = s->expected;
}

TEST(long_tunings_are_announced) {
    lw_context *ctx = lw_context_new(NULL);
    for (int64_t n = 32; n <= 4096; n *= 128) {
        lw_bound *b = bind(ctx, "mm", (int64_t[]){n, n, n}, 3);
        Seen seen;
        lw_tune_options o = options(&seen);
        const lw_tune_result *r;
        o.trials = n > 32 ? 0 : 1;
        o.seconds = 1;
        o.cancelled = n > 32 ? at_once : NULL;
        o.progress = note_expected;
        CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
        CHECK(n > 32 ? seen.expected > 5 : r->state->expected < 0.2);
        lw_bound_free(b);
    }
    lw_context_free(ctx);
}

TEST(pinned_decisions_hold) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){32, 32, 32}, 3);
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    for (uint64_t seed = 0; seed < 6; seed++) {
        o = options(&seen);
        o.set = "size(C.m.1) = 4; size(C.m.2) = 1";
        o.trials = 20;
        o.seed = seed;
        seen.blocks_of_four = true;
        CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
        if (!CHECK(has_blocks_of_four(r->schedule))) printf("%s", r->schedule);
    }
    o = (lw_tune_options){.struct_size = sizeof o, .trials = 1, .threads = 1, .db = "none"};
    o.schedule = (lw_schedule_text){"C: n/16 m/2 k m n:v\n", "mine.lws"};
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    lw_bound_free(b);
    lw_context_free(ctx);
}

TEST(threads_are_tuned_for) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){96, 96, 96}, 3);
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    o.threads = 2;
    o.trials = 30;
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    CHECK(!seen.count[LW_TRIAL_WRONG] && !seen.count[LW_TRIAL_CRASHED]);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// What is too little to share out is not marked, whatever the candidates were.
TEST(idle_parallel_loops_are_not_marked) {
    lw_context *ctx = lw_context_new(NULL);
    int64_t sizes[] = {20, 20, 20};
    lw_bound *b = bind(ctx, "mm", sizes, 3);
    for (uint64_t seed = 0; seed < 4; seed++) {
        Seen seen;
        lw_tune_options o = options(&seen);
        const lw_tune_result *r;
        o.threads = 2;
        o.seed = seed;
        o.strategy = "random scratch";
        o.trials = 40;
        if (CHECK(lw_tune(ctx, b, &o, &r) == LW_OK)) CHECK(!strstr(r->schedule, ":p"));
    }
    lw_bound_free(b);
    lw_context_free(ctx);
}

// Subscripts that a user gives are looked at before anything runs on them.
TEST(data_of_a_user_are_looked_at) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "pick", (int64_t[]){100, 30}, 2);
    int64_t n = 100, m = 30, step = -1;
    float x[100] = {0};
    int32_t at[30] = {99, 98};
    DLTensor dx = {.data = x,
                   .device = {kDLCPU, 0},
                   .ndim = 1,
                   .dtype = {kDLFloat, 32, 1},
                   .shape = &n},
             dat = {.data = at + 29,
                    .device = {kDLCPU, 0},
                    .ndim = 1,
                    .dtype = {kDLInt, 32, 1},
                    .shape = &m,
                    .strides = &step};
    const DLTensor *args[] = {&dx, &dat, NULL};
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    o.trials = 6;
    o.args = args;
    o.data = true;
    if (!CHECK(lw_tune(ctx, b, &o, &r) == LW_OK)) printf("%s", lw_diag_text(ctx));
    at[0] = 100;
    CHECK(lw_tune(ctx, b, &o, &r) == LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "'at' contains 100, but subscripts must be from 0 to 99"));
    o.data = false;
    seen = (Seen){0};
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// Arguments with gaps, columns first: code is made and checked for these.
TEST(strides_are_kept) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){10, 12, 14}, 3);
    int64_t shape[3][2] = {{10, 12}, {12, 14}, {10, 14}};
    int64_t strides[3][2] = {{1, 11}, {20, 1}, {30, 2}};
    DLTensor t[3];
    const DLTensor *args[3];
    for (int i = 0; i < 3; i++) {
        t[i] = *lw_bound_tensor(b, (size_t)i);
        CHECK(t[i].shape[0] == shape[i][0] || t[i].ndim == 2);
        t[i].strides = strides[i];
        args[i] = &t[i];
    }
    Seen seen;
    lw_tune_options o = options(&seen);
    const lw_tune_result *r;
    o.args = args;
    o.trials = 20;
    CHECK(lw_tune(ctx, b, &o, &r) == LW_OK);
    CHECK(!seen.count[LW_TRIAL_WRONG] && !seen.count[LW_TRIAL_CRASHED]);
    lw_bound_free(b);
    lw_context_free(ctx);
}

TEST(mistakes_are_told) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){8, 8, 8}, 3);
    const lw_tune_result *r;
    static const struct {
        lw_tune_options o;
        const char *want;
    } wrong[] = {
        {{.strategy = "bean"}, "'bean' is not a valid strategy; there are auto"},
        {{.strategy = "beam width=0"},
         "'width=0' is not a valid value of width; there are whole numbers from 1 to 1000000"},
        {{.strategy = "beam width=x"}, "'width=x' is not a valid value of width"},
        {{.strategy = "beam wide=3"},
         "'wide=3' is not a valid option of beam; there are width, lookahead, batch, scratch, "
         "blind"},
        {{.strategy = "random width=3"},
         "'width=3' is not a valid option of random; there are batch, scratch, blind"},
        {{.strategy = "auto blind=1"}, "'blind=1' is not a valid option of auto"},
        {{.strategy = "genetic mutation=0"},
         "'mutation=0' is not a valid value of mutation; there are numbers above 0, up to 1000000"},
        {{.order = "random"}, "'random' is not a valid order of decisions; there are given"},
        {{.order = "kind,sise"}, "did you mean 'size'?"},
        {{.isa = "mmx"}, "isa is 'mmx'"},
        {{.plugin = "mpy"}, "plug-in 'mpy' cannot be used: there is no loopwright-mpy.so"},
        {{.set = "size(C.m.1) = 4; size(C.m.1) = 2"}, "no implementation is left"},
        {{.schedule = {"C: q\n", "q.lws"}}, "q"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lw_tune_options o = wrong[i].o;
        o.struct_size = sizeof o;
        o.db = o.failures = "none";
        o.trials = 1;
        if (o.strategy || o.order) CHECK(lw_tune_options_check(ctx, &o) == LW_ERROR);
        if (!CHECK(lw_tune(ctx, b, &o, &r) == LW_ERROR && !r)) continue;
        if (!CHECK(strstr(lw_diag_text(ctx), wrong[i].want)))
            printf("%s, want %s\n", lw_diag_text(ctx), wrong[i].want);
    }
    lw_bound *huge = bind(ctx, "mm", (int64_t[]){1 << 23, 1 << 23, 1 << 23}, 3);
    lw_tune_options h = {.struct_size = sizeof h, .db = "none"};
    CHECK(lw_tune(ctx, huge, &h, &r) == LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "cannot measure: the arguments with their copies need "));
    lw_bound_free(huge);
    CHECK(lw_tune(ctx, NULL, NULL, &r) == LW_MISUSE);
    CHECK(lw_tune(ctx, b, NULL, NULL) == LW_MISUSE);
    CHECK(lw_trial_state_name((lw_trial_state)7) == NULL);
    lw_tune_options o = {.struct_size = sizeof o, .threads = -1};
    CHECK(lw_tune(ctx, b, &o, &r) == LW_MISUSE);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// Memory that runs out anywhere leaves no process and no mapping behind.
typedef struct Scarce {
    int64_t left;
} Scarce;

static void *scarce_alloc(void *user, size_t size) {
    Scarce *s = user;
    return s->left-- > 0 ? malloc(size) : NULL;
}

static void scarce_free(void *user, void *p, size_t size) {
    (void)user, (void)size;
    free(p);
}

// Nothing compiled finds the memory that its temporary needs, and the interpreter would take years.
TEST(what_has_no_reference_is_not_waited_for) {
    lw_context *ctx = lw_context_new(
        &(lw_context_options){.struct_size = sizeof(lw_context_options), .database = "none"});
    lw_bound *b = bind(ctx, "vast", (int64_t[]){20000000}, 1);
    const lw_tune_result *r;
    lw_tune_options o = {.struct_size = sizeof o, .seconds = 0.2, .threads = 1};
    CHECK_INT_EQ(lw_tune(ctx, b, &o, &r), LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "no reference could be computed"));
    lw_bound_free(b);
    lw_context_free(ctx);
}

TEST(running_out_of_memory_is_a_status) {
    int64_t step = check_rounds(40) > 4 ? 7 : 61;
    for (int64_t k = 60;; k += step) {
        Scarce scarce = {1 << 30};
        lw_context_options co = {.struct_size = sizeof co,
                                 .alloc = scarce_alloc,
                                 .free = scarce_free,
                                 .user = &scarce,
                                 .chunk = 16 * 1024};
        lw_context *ctx = lw_context_new(&co);
        lw_bound *b = bind(ctx, "mm", (int64_t[]){8, 8, 8}, 3);
        lw_tune_options o = {.struct_size = sizeof o, .trials = 3, .threads = 1, .db = "none"};
        const lw_tune_result *r;
        scarce.left = k;
        lw_status status = lw_tune(ctx, b, &o, &r);
        CHECK(status == LW_OK || status == LW_NO_MEMORY);
        scarce.left = 1 << 30;
        lw_bound_free(b);
        lw_context_free(ctx);
        if (status == LW_OK || k > 5000) break;
    }
}
