// Eight processes write to one tuning database and are killed at any moment: what was acknowledged
// is there, whole and once, and nobody who lives sees an error.
//
// In each round eight writers are started, and killed one after
// the other within some milliseconds; every tenth round begins without a file, so that they are
// killed while they make it. A writer w writes its rows 0, 1, 2, ... and counts in shared memory
// those that were acknowledged:
//
//     trial   under a key of its own: rows 0 to n-1, and at most one more
//     best    under a key that all share: the fastest that anybody had acknowledged, or faster
// link: -lsqlite3
#define _GNU_SOURCE
#include "unit/check.h"

#include "search/db_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 8 };
static const char path[] = "crash.db";

typedef struct Shared {
    atomic_int trials[WRITERS]; // that were acknowledged
    atomic_int best[WRITERS];
    atomic_int refused; // a call that should not have failed
} Shared;
static Shared *shared;

static void pause_us(long us) {
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static DbKey key_of(Arena *arena, int round, int writer) {
    DbKey key = {.program = arena_printf(arena, "round %d writer %d", round, writer),
                 .strides = "",
                 .target = "x86-64",
                 .cpu = "a processor",
                 .isa = "avx2",
                 .threads = 1,
                 .name = "f",
                 .family = "family",
                 .sizes = ""};
    return key;
}

// All that writer w records is faster than what it recorded before, and of no other's speed.
static double seconds_of(int writer, int i) { return 1.0 / (1 + i * WRITERS + writer); }

static void write_until_killed(int round, int w) {
    Arena arena;
    Db *db;
    arena_init(&arena, &allocator_libc);
    db_new(&allocator_libc, path, &db);
    DbKey own = key_of(&arena, round, w), common = key_of(&arena, round, -1);
    for (int i = 0; i < 100000; i++) {
        ArenaMark mark = arena_mark(&arena);
        DbTrial t = {arena_printf(&arena, "trial %d", i), "timed", 1, 1, 1};
        if (db_trials(db, &arena, &own, &t, 1))
            atomic_fetch_add(&shared->trials[w], 1);
        else
            atomic_fetch_add(&shared->refused, 1);
        DbEntry e = {.schedule = arena_printf(&arena, "writer %d, %d", w, i),
                     .seconds = seconds_of(w, i),
                     .verified = ""};
        if (db_record(db, &arena, &common, &e))
            atomic_fetch_add(&shared->best[w], 1);
        else
            atomic_fetch_add(&shared->refused, 1);
        if (!db_best(db, &arena, &common)) atomic_fetch_add(&shared->refused, 1);
        const char *why = db_complaint(db, &arena);
        if (why) printf("round %d writer %d: %s\n", round, w, why), fflush(stdout);
        arena_release(&arena, mark);
    }
    _exit(0);
}

static int64_t ask(sqlite3 *db, const char *text) {
    sqlite3_stmt *s;
    if (!CHECK(sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK)) {
        printf("%s: %s\n", text, sqlite3_errmsg(db));
        return -1;
    }
    int64_t n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_finalize(s);
    return n;
}

static void look_after(int round) {
    sqlite3 *db;
    char text[512];
    int written = 0;
    double fastest = 10;
    for (int w = 0; w < WRITERS; w++) {
        int n = atomic_load(&shared->best[w]);
        written += atomic_load(&shared->trials[w]) + n;
        if (n && seconds_of(w, n - 1) < fastest) fastest = seconds_of(w, n - 1);
    }
    if (!written) return;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK_INT_EQ(ask(db, "SELECT count(*) FROM pragma_quick_check WHERE quick_check <> 'ok'"), 0);
    for (int w = 0; w < WRITERS; w++) {
        int n = atomic_load(&shared->trials[w]);
        snprintf(text, sizeof text,
                 "SELECT count(*) FROM trial WHERE kernel = (SELECT id FROM kernel WHERE program = "
                 "'round %d writer %d')",
                 round, w);
        int64_t rows = ask(db, text);
        if (!CHECK(rows == n || rows == n + 1))
            printf("round %d writer %d: %d acknowledged, %d there\n", round, w, n, (int)rows);
        snprintf(text, sizeof text,
                 "SELECT count(DISTINCT schedule) FROM trial WHERE kernel = (SELECT id FROM kernel "
                 "WHERE program = 'round %d writer %d') AND substr(schedule, 7) + 0 < %d",
                 round, w, n);
        CHECK_INT_EQ(ask(db, text), n);
    }
    snprintf(text, sizeof text,
             "SELECT count(*) FROM best WHERE kernel = (SELECT id FROM kernel WHERE program = "
             "'round %d writer -1') AND seconds <= %.17g",
             round, fastest);
    CHECK(fastest > 1 || ask(db, text) > 0);
    snprintf(text, sizeof text,
             "SELECT count(*) FROM best WHERE kernel = (SELECT id FROM kernel WHERE program = "
             "'round %d writer -1')",
             round);
    CHECK(ask(db, text) <= DB_KEEP);
    sqlite3_close(db);
}

static void one_round(int round, uint64_t *state) {
    pid_t pid[WRITERS];
    memset(shared, 0, sizeof *shared);
    if (round % 10 == 0) {
        unlink("crash.db");
        unlink("crash.db-wal");
        unlink("crash.db-shm");
    }
    fflush(stdout);
    for (int w = 0; w < WRITERS; w++) {
        pid[w] = fork();
        if (pid[w] == 0) write_until_killed(round, w);
    }
    for (int w = 0; w < WRITERS; w++) {
        pause_us((long)(check_random(state) % 4000));
        kill(pid[w], SIGKILL);
    }
    for (int w = 0; w < WRITERS; w++) waitpid(pid[w], NULL, 0);
    CHECK_INT_EQ(atomic_load(&shared->refused), 0);
    look_after(round);
}

TEST(db_crash_killed_writers_lose_nothing) {
    int64_t n = check_long_rounds(20);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(shared != MAP_FAILED)) return;
    uint64_t state = 10 + check_first_seed();
    long long written = 0;
    for (int64_t i = 0; i < n; i++) {
        one_round((int)i, &state);
        for (int w = 0; w < WRITERS; w++)
            written += atomic_load(&shared->trials[w]) + atomic_load(&shared->best[w]);
    }
    printf("%lld rounds, %lld rows acknowledged\n", (long long)n, written);
    CHECK(n < 10 || written > 0); // a few writers may be killed before they wrote anything
}

// Everybody finishes: everything is there.
TEST(db_crash_many_writers_lose_nothing) {
    enum { ROWS = 40 };
    Arena arena;
    pid_t pid[WRITERS];
    unlink("crash.db");
    unlink("crash.db-wal");
    unlink("crash.db-shm");
    arena_init(&arena, &allocator_libc);
    fflush(stdout);
    for (int w = 0; w < WRITERS; w++) {
        pid[w] = fork();
        if (pid[w]) continue;
        Db *db;
        DbKey common = key_of(&arena, 0, -1);
        db_new(&allocator_libc, path, &db);
        for (int i = 0; i < ROWS; i++) {
            DbTrial t = {arena_printf(&arena, "writer %d, %d", w, i), "timed", 1, 1, 1};
            DbEntry e = {.schedule = t.schedule, .seconds = seconds_of(w, i), .verified = ""};
            if (!db_trials(db, &arena, &common, &t, 1) || !db_record(db, &arena, &common, &e))
                _exit(1);
        }
        bool complains = db_complaint(db, &arena) != NULL;
        db_free(db);
        _exit(complains);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status = 1;
        waitpid(pid[w], &status, 0);
        CHECK_INT_EQ(status, 0);
    }
    sqlite3 *db;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK_INT_EQ(ask(db, "SELECT count(DISTINCT schedule) FROM trial"), WRITERS * ROWS);
    CHECK_INT_EQ(ask(db, "SELECT count(*) FROM kernel"), 1);
    CHECK_INT_EQ(ask(db, "SELECT count(*) FROM best"), DB_KEEP);
    // The eight fastest of all are the last of each writer.
    char text[128];
    snprintf(text, sizeof text, "SELECT count(*) FROM best WHERE schedule LIKE '%%, %d'", ROWS - 1);
    CHECK_INT_EQ(ask(db, text), WRITERS);
    sqlite3_close(db);
    arena_free(&arena);
}
