// The tuning database: stored entries, lookup, order, and concurrent access.
#include "unit/check.h"

#include "search/db.h"
#include "support/proglab.h"

#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const char matmul[] =
    "program mm(M, N, K) {\n"
    "    input A: f32[M, K]\n    input B: f32[K, N]\n    output C: f32[M, N]\n"
    "    C: for m in 0:M, n in 0:N, k in 0:K\n        C[m, n] +=! A[m, k]*B[k, n]\n}\n";

typedef struct Site {
    Lab lab;
    Db *db;
    Machine machine;
} Site;

static void begin(Site *p, const char *where) {
    lab_begin(&p->lab);
    CHECK(db_new(&allocator_libc, where, &p->db));
    machine_describe(&p->machine, ISA_AVX2);
    strcpy(p->machine.cpu, "a processor");
}

static void end(Site *p) {
    db_free(p->db);
    lab_end(&p->lab);
}

static const Canon *canon_for(Site *p, int64_t m, int64_t n, int64_t k) {
    const Program *bound = lab_program(&p->lab, matmul, (int64_t[]){m, n, k});
    return canon_of(&p->lab.arena, lab_program(&p->lab, lab_text(&p->lab, bound), NULL));
}

static DbMachine where(const Site *p) {
    return (DbMachine){"x86-64", p->machine.cpu, isa_name[p->machine.isa], 1};
}

static DbKey key_for(Site *p, int64_t m, int64_t n, int64_t k) {
    return db_key(&p->lab.arena, canon_for(p, m, n, k), NULL, where(p));
}

static bool record(Site *p, const DbKey *key, const char *schedule, double us) {
    DbEntry e = {.schedule = schedule,
                 .seconds = us * 1e-6,
                 .low = us * 0.9e-6,
                 .high = us * 1.1e-6,
                 .samples = 11,
                 .bound = us * 0.5e-6,
                 .verified = "exact"};
    return db_record(p->db, &p->lab.arena, key, &e);
}

static void remove_files(const char *path) {
    char name[256];
    static const char *const more[] = {"", "-wal", "-shm", "-journal"};
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, more[i]);
        unlink(name);
    }
}

TEST(db_finds_what_was_recorded) {
    Site p;
    remove_files("found.db");
    begin(&p, "found.db");
    DbKey key = key_for(&p, 64, 48, 32);
    CHECK(!db_best(p.db, &p.lab.arena, &key));
    CHECK_INT_EQ(db_stamp(p.db), 0);
    CHECK(access("found.db", F_OK) != 0);
    CHECK(record(&p, &key, "s0: i0 i1 i2\n", 12));
    unsigned stamp = db_stamp(p.db);
    CHECK(record(&p, &key, "s0: i1 i0 i2\n", 8));
    CHECK(stamp && db_stamp(p.db) && db_stamp(p.db) != stamp);
    CHECK(record(&p, &key, "s0: i2 i0 i1\n", 10));
    const DbEntry *e = db_best(p.db, &p.lab.arena, &key);
    if (!CHECK(e)) return;
    CHECK_STR_EQ(e->schedule, "s0: i1 i0 i2\n");
    CHECK_F64_EQ(e->seconds, 8e-6);
    CHECK_F64_EQ(db_gap(e), 1);
    CHECK_INT_EQ(e->samples, 11);
    CHECK_STR_EQ(e->version, LW_BUILD_VERSION);
    CHECK_STR_EQ(e->verified, "exact");
    CHECK_STR_EQ(e->origin, "tuned");
    CHECK(e->date > 1700000000);
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), 3);
    CHECK_STR_EQ(e[2].schedule, "s0: i0 i1 i2\n");
    CHECK(!db_complaint(p.db, &p.lab.arena));
    end(&p);
    begin(&p, "found.db");
    key = key_for(&p, 64, 48, 32);
    CHECK((e = db_best(p.db, &p.lab.arena, &key)) && !strcmp(e->schedule, "s0: i1 i0 i2\n"));
    end(&p);
}

TEST(db_every_part_of_the_key_counts) {
    Site p;
    remove_files("key.db");
    begin(&p, "key.db");
    DbKey key = key_for(&p, 64, 48, 32), other[7];
    CHECK(record(&p, &key, "s0: i0 i1 i2\n", 12));
    for (int i = 0; i < 7; i++) other[i] = key;
    other[0].program = "program f { }";
    other[1].strides = "64,1;;";
    other[2].target = "aarch64";
    other[3].cpu = "another";
    other[4].isa = "scalar";
    other[5].threads = 2;
    other[6] = key_for(&p, 64, 48, 33);
    for (int i = 0; i < 7; i++) CHECK(!db_best(p.db, &p.lab.arena, &other[i]));
    for (int i = 0; i < 7; i++) CHECK(record(&p, &other[i], "s0: i2 i1 i0\n", 1 + i));
    for (int i = 0; i < 7; i++) {
        const DbEntry *e = db_best(p.db, &p.lab.arena, &other[i]);
        CHECK(e && e->seconds == (1 + i) * 1e-6);
    }
    const DbEntry *e = db_best(p.db, &p.lab.arena, &key);
    CHECK(e && e->seconds == 12 * 1e-6);
    const int64_t *dense[] = {(int64_t[]){32, 1}, (int64_t[]){48, 1}, NULL};
    const int64_t *padded[] = {(int64_t[]){40, 1}, NULL, (int64_t[]){1, 64}};
    const Canon *c = canon_for(&p, 64, 48, 32);
    CHECK_STR_EQ(db_key(&p.lab.arena, c, dense, where(&p)).strides, "");
    CHECK_STR_EQ(db_key(&p.lab.arena, c, padded, where(&p)).strides, "40,1;;1,64");
    end(&p);
}

// The fastest DB_KEEP are kept, a Schedule keeps its fastest time, and the result does not depend
// on the order of the records.
TEST(db_keeps_the_best_in_any_order) {
    const DbEntry *e;
    uint64_t state = 3;
    for (int round = 0; round < 4; round++) {
        Site p;
        remove_files("order.db");
        begin(&p, "order.db");
        DbKey key = key_for(&p, 8, 8, 8);
        int order[40];
        for (int i = 0; i < 40; i++) order[i] = i;
        for (int i = 39; i > 0; i--) {
            int k = (int)(check_random(&state) % (uint64_t)(i + 1)), t = order[i];
            order[i] = order[k];
            order[k] = t;
        }
        for (int i = 0; i < 40; i++) { // 20 Schedules, each twice
            char text[64];
            snprintf(text, sizeof text, "s0: i0/%d i1 i2\n", order[i] % 20 + 2);
            CHECK(record(&p, &key, text, 100 + order[i] % 20 * 3 + order[i] / 20));
        }
        int n = db_all(p.db, &p.lab.arena, &key, &e);
        CHECK_INT_EQ(n, DB_KEEP);
        for (int i = 0; i < n; i++) CHECK_F64_EQ(e[i].seconds, (100 + 3 * i) * 1e-6);
        end(&p);
    }
}

TEST(db_pinned_entries_come_first) {
    Site p;
    remove_files("pin.db");
    begin(&p, "pin.db");
    DbKey key = key_for(&p, 8, 8, 8);
    DbEntry hand = {.schedule = "s0: i0 i2 i1\n",
                    .seconds = 1,
                    .verified = "",
                    .origin = "hand",
                    .pinned = true};
    CHECK(db_record(p.db, &p.lab.arena, &key, &hand));
    for (int i = 0; i < 2 * DB_KEEP; i++) {
        char text[64];
        snprintf(text, sizeof text, "s0: i0/%d i1 i2\n", i + 2);
        CHECK(record(&p, &key, text, 100 + i));
    }
    const DbEntry *e;
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), DB_KEEP + 1);
    CHECK_STR_EQ(e[0].schedule, hand.schedule);
    CHECK_STR_EQ(e[0].origin, "hand");
    end(&p);
}

// Entries that lose to the chosen schedule rank last, whatever their time, and are dropped first.
TEST(db_losers_come_last) {
    Site p;
    remove_files("lost.db");
    begin(&p, "lost.db");
    DbKey key = key_for(&p, 8, 8, 8);
    DbEntry lost = {.schedule = "s0: i0 i2 i1\n", .seconds = 2e-6, .chosen = 1e-6, .verified = ""};
    DbEntry won = {.schedule = "s0: i1 i2 i0\n", .seconds = 3e-6, .chosen = 4e-6, .verified = ""};
    const DbEntry *e;
    CHECK(!db_wins(&lost) && db_wins(&won));
    CHECK(db_record(p.db, &p.lab.arena, &key, &lost));
    CHECK(db_record(p.db, &p.lab.arena, &key, &won));
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), 2);
    CHECK_STR_EQ(e[0].schedule, won.schedule);
    // It was faster than the chosen schedule in a slow phase: that counts, in any order of records.
    lost.seconds = 5e-6;
    lost.chosen = 6e-6;
    CHECK(db_record(p.db, &p.lab.arena, &key, &lost));
    lost.seconds = 2e-6;
    lost.chosen = 1e-6;
    CHECK(db_record(p.db, &p.lab.arena, &key, &lost));
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), 2);
    CHECK_F64_EQ(e[1].seconds, 5e-6);
    lost.schedule = "s0: i2 i1 i0\n";
    CHECK(db_record(p.db, &p.lab.arena, &key, &lost));
    for (int i = 0; i < DB_KEEP; i++) {
        char text[64];
        snprintf(text, sizeof text, "s0: i0/%d i1 i2\n", i + 2);
        CHECK(record(&p, &key, text, 100 + i));
    }
    int n = db_all(p.db, &p.lab.arena, &key, &e);
    CHECK_INT_EQ(n, DB_KEEP);
    for (int i = 0; i < n; i++) CHECK(db_wins(&e[i]));
    end(&p);
}

// A search is answered by one with at least the same budget, on the same key.
TEST(db_knows_what_was_searched) {
    Site p;
    remove_files("searched.db");
    begin(&p, "searched.db");
    DbKey key = key_for(&p, 8, 8, 8), cold = key;
    cold.target = db_cold(&p.lab.arena, key.target);
    DbEntry e[2] = {{.schedule = "s0: i0 i2 i1\n", .seconds = 2, .verified = ""},
                    {.schedule = "s0: i1 i2 i0\n", .seconds = 1, .verified = ""}};
    DbSearch done = {"auto", 5, INFINITY, 0.03};
    static const struct {
        DbSearch search;
        bool answered;
    } asked[] = {
        {{"auto", 5, INFINITY, 0.03}, true},  {{"auto", 1, INFINITY, 0.03}, true},
        {{"auto", 5, 100, 0.03}, true},       {{"auto", 5, INFINITY, 0.1}, true},
        {{"auto", 6, INFINITY, 0.03}, false}, {{"auto", INFINITY, 100, 0.03}, false},
        {{"auto", 5, INFINITY, 0}, false},    {{"random", 5, INFINITY, 0.03}, false},
    };
    CHECK(!db_searched(p.db, &p.lab.arena, &key, &done));
    CHECK(db_record_search(p.db, &p.lab.arena, &key, e, 2, NULL));
    CHECK(!db_searched(p.db, &p.lab.arena, &key, &done));
    CHECK(db_record_search(p.db, &p.lab.arena, &key, e, 2, &done));
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        CHECK(db_searched(p.db, &p.lab.arena, &key, &asked[i].search) == asked[i].answered);
    CHECK(!db_searched(p.db, &p.lab.arena, &cold, &done));
    CHECK(!db_best(p.db, &p.lab.arena, &cold));
    const DbEntry *all;
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &all), 2);
    end(&p);
}

TEST(db_finds_the_nearest_size) {
    Site p;
    remove_files("near.db");
    begin(&p, "near.db");
    DbKey a = key_for(&p, 64, 64, 64), b = key_for(&p, 100, 100, 100), c = key_for(&p, 90, 80, 90);
    const char *sizes = NULL;
    CHECK(record(&p, &a, "s0: i0 i1 i2\n", 5));
    CHECK(!db_best(p.db, &p.lab.arena, &c));
    const Canon *want = canon_for(&p, 90, 80, 90), *far = canon_for(&p, 640, 64, 64);
    const DbEntry *e = db_nearest(p.db, &p.lab.arena, &c, want, &sizes);
    CHECK(e && !strcmp(e->schedule, "s0: i0 i1 i2\n"));
    CHECK_STR_EQ(sizes, "64,64,64");
    CHECK(record(&p, &b, "s0: i1 i0 i2\n", 9));
    e = db_nearest(p.db, &p.lab.arena, &c, want, &sizes);
    CHECK(e && !strcmp(e->schedule, "s0: i1 i0 i2\n"));
    CHECK_STR_EQ(sizes, "100,100,100");
    DbKey d = key_for(&p, 640, 64, 64);
    CHECK(!db_nearest(p.db, &p.lab.arena, &d, far, &sizes));
    c.isa = "scalar";
    CHECK(!db_nearest(p.db, &p.lab.arena, &c, want, &sizes));
    end(&p);
}

TEST(db_trials_are_quick) {
    enum { BATCH = 64 };
    Site p;
    remove_files("trials.db");
    begin(&p, "trials.db");
    DbKey key = key_for(&p, 64, 64, 64);
    DbTrial trials[BATCH];
    for (int i = 0; i < BATCH; i++)
        trials[i] = (DbTrial){"s0: i0/16 i1/16 i2/8 i0 i2 i1:v\n", "timed", 1e-6, 1e-6, 2e-6};
    for (int i = 0; i < 16; i++) CHECK(db_trials(p.db, &p.lab.arena, &key, trials, BATCH));
    CHECK(db_trials(p.db, &p.lab.arena, &key, NULL, 0));
    CHECK(!db_best(p.db, &p.lab.arena, &key));
    end(&p);
}

TEST(db_shared_files_are_read) {
    Site p;
    const DbEntry *e;
    remove_files("shared.db");
    remove_files("own.db");
    begin(&p, "shared.db");
    DbKey key = key_for(&p, 64, 64, 64);
    CHECK(record(&p, &key, "s0: i0 i1 i2\n", 5));
    end(&p);
    begin(&p, "own.db:shared.db");
    key = key_for(&p, 64, 64, 64);
    CHECK((e = db_best(p.db, &p.lab.arena, &key)) && e->seconds == 5 * 1e-6);
    CHECK(record(&p, &key, "s0: i1 i0 i2\n", 4));
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), 2);
    CHECK_STR_EQ(e[0].schedule, "s0: i1 i0 i2\n");
    end(&p);
    begin(&p, "shared.db");
    key = key_for(&p, 64, 64, 64);
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), 1);
    end(&p);
}

static const char *default_path(void) {
    static char path[256];
    Db *db;
    CHECK(db_new(&allocator_libc, NULL, &db));
    snprintf(path, sizeof path, "%s", db ? db_path(db) : "none");
    db_free(db);
    return path;
}

TEST(db_none_is_no_database) {
    Db *db;
    CHECK(db_new(&allocator_libc, "none", &db) && !db);
    CHECK(db_new(&allocator_libc, ":", &db) && !db);
    setenv("LW_DB", "none", 1);
    CHECK_STR_EQ(default_path(), "none");
    setenv("LW_DB", "a/b.db:c.db", 1);
    CHECK_STR_EQ(default_path(), "a/b.db");
    unsetenv("LW_DB");
    setenv("XDG_DATA_HOME", "/some/where", 1);
    CHECK_STR_EQ(default_path(), "/some/where/loopwright/tune.db");
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    CHECK_STR_EQ(default_path(), "/home/me/.local/share/loopwright/tune.db");
    setenv("HOME", "", 1);
    CHECK_STR_EQ(default_path(), "none");
    CHECK_INT_EQ(db_stamp(NULL), 0);
}

TEST(db_children_open_their_own) {
    Site p;
    remove_files("fork.db");
    begin(&p, "fork.db");
    DbKey key = key_for(&p, 64, 64, 64);
    CHECK(record(&p, &key, "s0: i0 i1 i2\n", 50));
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            char text[64];
            snprintf(text, sizeof text, "s0: i0/%d i1 i2\n", i + 2);
            bool ok = record(&p, &key, text, 40 - i) && db_best(p.db, &p.lab.arena, &key);
            _exit(!ok);
        }
        int status = 1;
        waitpid(child, &status, 0);
        CHECK_INT_EQ(status, 0);
    }
    const DbEntry *e;
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), 5);
    CHECK_STR_EQ(e[0].schedule, "s0: i0/5 i1 i2\n");
    end(&p);
}

// --- Threads -------------------------------------------------------------------------------------

typedef struct Worker {
    Db *db;
    DbKey key;
    int number;
    int failed;
} Worker;

static void *work(void *arg) {
    Worker *w = arg;
    Arena arena;
    arena_init(&arena, &allocator_libc);
    for (int i = 0; i < 30; i++) {
        DbEntry e = {.schedule = arena_printf(&arena, "s0: i0/%d i1 i2\n", 2 + i),
                     .seconds = 1.0 / (1 + 8 * i + w->number),
                     .verified = ""};
        DbTrial t = {e.schedule, "timed", e.seconds, e.seconds, e.seconds};
        w->failed += !db_record(w->db, &arena, &w->key, &e);
        w->failed += !db_trials(w->db, &arena, &w->key, &t, 1);
        w->failed += !db_best(w->db, &arena, &w->key) || !db_stamp(w->db);
    }
    arena_free(&arena);
    return NULL;
}

TEST(db_threads_share_one) {
    enum { THREADS = 4 };
    Site p;
    pthread_t thread[THREADS];
    Worker w[THREADS];
    remove_files("threads.db");
    begin(&p, "threads.db");
    DbKey key = key_for(&p, 64, 64, 64);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (Worker){p.db, key, i, 0};
        CHECK(!pthread_create(&thread[i], NULL, work, &w[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK_INT_EQ(w[i].failed, 0);
    }
    const DbEntry *e;
    CHECK_INT_EQ(db_all(p.db, &p.lab.arena, &key, &e), DB_KEEP);
    CHECK_F64_EQ(e[0].seconds, 1.0 / (1 + 8 * 29 + THREADS - 1));
    end(&p);
}
