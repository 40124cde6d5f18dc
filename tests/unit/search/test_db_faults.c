// The tuning database when things go wrong: it becomes "no database", with one complaint, and
// nothing else happens.
//
// Faults of the system come from a VFS of ours that stands before SQLite's own and lets the n-th
// operation of a kind fail, for n = 1, 2, 3, ... until everything goes well.
// link: -lsqlite3
#include "unit/check.h"

#include "search/db_file.h"
#include "support/proglab.h"

#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char matmul[] =
    "program mm {\n"
    "    input A: f32[64, 32]\n    input B: f32[32, 48]\n    output C: f32[64, 48]\n"
    "    C: for m in 0:64, n in 0:48, k in 0:32\n        C[m, n] +=! A[m, k]*B[k, n]\n}\n";
static const char schedule[] = "s0: i0/4 i1/16 i2 i0 i1:v\n";

typedef struct Site {
    Lab lab;
    Db *db;
    DbKey key;
    const Canon *canon;
} Site;

static void begin(Site *s, const char *where) {
    lab_begin(&s->lab);
    CHECK(db_new(&allocator_libc, where, &s->db));
    s->canon = canon_of(&s->lab.arena, lab_program(&s->lab, matmul, NULL));
    DbMachine m = {"x86-64", "a processor", "avx2", 1};
    s->key = db_key(&s->lab.arena, s->canon, NULL, m);
}

static void end(Site *s) {
    db_free(s->db);
    lab_end(&s->lab);
}

static bool record(Site *s, double us) {
    DbEntry e = {.schedule = schedule, .seconds = us * 1e-6, .verified = "exact"};
    return db_record(s->db, &s->lab.arena, &s->key, &e);
}

static const DbEntry *best(Site *s) { return db_best(s->db, &s->lab.arena, &s->key); }

static void remove_files(const char *path) {
    char name[256];
    static const char *const more[] = {"", "-wal", "-shm", "-journal"};
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, more[i]);
        unlink(name);
    }
}

// A file with one entry, nothing left in its log.
static void make_good(const char *path) {
    Site s;
    remove_files(path);
    begin(&s, path);
    CHECK(record(&s, 10));
    end(&s);
}

static size_t read_bytes(const char *path, unsigned char *into, size_t most) {
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(into, 1, most, f) : 0;
    if (f) fclose(f);
    return n;
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!CHECK(f)) return;
    fwrite(bytes, 1, n, f);
    fclose(f);
}

static void sql(const char *path, const char *text) {
    sqlite3 *db;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK_INT_EQ(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

// Reading finds nothing, writing keeps nothing, and that is said once, in these words.
static void expect_off(const char *path, const char *why) {
    Site s;
    begin(&s, path);
    CHECK(!best(&s));
    const char *said = db_complaint(s.db, &s.lab.arena);
    if (!CHECK(said && strstr(said, why))) printf("%s\n", said ? said : "(nothing)");
    CHECK(!record(&s, 5));
    CHECK(!best(&s));
    CHECK_INT_EQ(db_stamp(s.db), 0);
    CHECK(!db_complaint(s.db, &s.lab.arena));
    end(&s);
    begin(&s, path); // writing first
    CHECK(!record(&s, 5));
    said = db_complaint(s.db, &s.lab.arena);
    if (!CHECK(said && strstr(said, why))) printf("%s\n", said ? said : "(nothing)");
    CHECK(!best(&s));
    CHECK(!db_complaint(s.db, &s.lab.arena));
    end(&s);
}

// --- Files that are not what they should be ------------------------------------------------------

TEST(db_faults_files_of_others) {
    unsigned char bytes[4096];
    for (int i = 0; i < 4096; i++) bytes[i] = (unsigned char)("some text\n"[i % 10]);
    remove_files("f.db");
    write_bytes("f.db", bytes, sizeof bytes);
    expect_off("f.db", "is not a database");
    remove_files("f.db");
    sql("f.db", "CREATE TABLE mine(a); INSERT INTO mine VALUES(1)");
    expect_off("f.db", "belongs to another program");
    make_good("f.db");
    sql("f.db", "PRAGMA user_version = 3");
    expect_off("f.db", "was made by a newer version (tables 3, this one knows 2)");
    make_good("f.db");
    sql("f.db", "PRAGMA user_version = 1");
    expect_off("f.db", "its tables are not ours");
    make_good("f.db");
    sql("f.db", "CREATE TRIGGER t AFTER INSERT ON best BEGIN DELETE FROM best; END");
    expect_off("f.db", "its tables are not ours");
    make_good("f.db");
    sql("f.db", "ALTER TABLE best ADD COLUMN more");
    expect_off("f.db", "its tables are not ours");
    mkdir("folder.db", 0755);
    expect_off("folder.db", "is not a file");
    unlink("fifo.db");
    CHECK(mkfifo("fifo.db", 0644) == 0);
    expect_off("fifo.db", "is not a file");
    remove_files("f.db");
    write_bytes("f.db", bytes, 0);
    Site s; // nothing is in an empty file, and it becomes a database
    begin(&s, "f.db");
    CHECK(!best(&s) && record(&s, 5) && best(&s) && !db_complaint(s.db, &s.lab.arena));
    end(&s);
}

// One of version 1 is read as it is, by those who may not write it too; what is written to it makes
// it one of this version, and nothing is lost.
TEST(db_faults_older_version) {
    DbSearch search = {"auto", 5, INFINITY, 0};
    Site s, t;
    make_good("old.db");
    sql("old.db", "DROP TABLE search; PRAGMA user_version = 1");
    begin(&s, "none.db:old.db");
    CHECK(best(&s) && !db_searched(s.db, &s.lab.arena, &s.key, &search));
    CHECK(!db_complaint(s.db, &s.lab.arena));
    end(&s);
    begin(&s, "old.db");
    begin(&t, "old.db");
    CHECK(best(&s) && best(&t));
    CHECK(!db_searched(s.db, &s.lab.arena, &s.key, &search));
    DbEntry e = {.schedule = "s0: i1 i0 i2\n", .seconds = 2e-6, .verified = ""};
    CHECK(db_record_search(s.db, &s.lab.arena, &s.key, &e, 1, &search));
    CHECK(db_searched(t.db, &t.lab.arena, &t.key, &search));
    CHECK(db_record_search(t.db, &t.lab.arena, &t.key, &e, 1, &search));
    const DbEntry *all;
    CHECK_INT_EQ(db_all(t.db, &t.lab.arena, &t.key, &all), 2);
    CHECK(!db_complaint(s.db, &s.lab.arena) && !db_complaint(t.db, &t.lab.arena));
    end(&s);
    end(&t);
    begin(&s, "old.db");
    CHECK(best(&s) && db_searched(s.db, &s.lab.arena, &s.key, &search));
    end(&s);
}

// A few bytes less, or other ones: a miss or an entry, and at most one complaint.
static void try_bytes(const unsigned char *bytes, size_t n) {
    Site s;
    remove_files("m.db");
    write_bytes("m.db", bytes, n);
    begin(&s, "m.db");
    const char *sizes;
    const DbEntry *e = best(&s), *near = db_nearest(s.db, &s.lab.arena, &s.key, s.canon, &sizes);
    if (e) CHECK(e->schedule && e->seconds >= 0 && !isnan(e->seconds));
    if (near) CHECK(near->schedule && sizes);
    int said = db_complaint(s.db, &s.lab.arena) != NULL;
    record(&s, 5);
    best(&s);
    said += db_complaint(s.db, &s.lab.arena) != NULL;
    said += db_complaint(s.db, &s.lab.arena) != NULL;
    CHECK(said <= 1);
    end(&s);
}

TEST(db_faults_truncated) {
    static unsigned char bytes[1 << 18];
    make_good("good.db");
    size_t n = read_bytes("good.db", bytes, sizeof bytes);
    if (!CHECK(n > 4096 && n < sizeof bytes)) return;
    int64_t tries = check_rounds(100);
    for (int64_t i = 1; i <= tries; i++) try_bytes(bytes, n * (size_t)i / (size_t)(tries + 1));
    for (size_t pages = 1; pages * 4096 < n; pages++) try_bytes(bytes, pages * 4096);
    try_bytes(bytes, 100);
    try_bytes(bytes, 1);
}

TEST(db_faults_mutated) {
    static unsigned char good[1 << 18], bytes[1 << 18];
    make_good("good.db");
    size_t n = read_bytes("good.db", good, sizeof good);
    uint64_t state = 1;
    for (int64_t i = 0; i < check_rounds(300); i++) {
        memcpy(bytes, good, n);
        int changes = 1 + (int)(check_random(&state) % 8);
        for (int k = 0; k < changes; k++) {
            // Half of them in headers of pages, where it hurts most.
            uint64_t at = check_random(&state) % n;
            if (check_random(&state) & 1) at = at / 4096 * 4096 + at % 64;
            bytes[at] = (unsigned char)check_random(&state);
        }
        try_bytes(bytes, n);
    }
}

// Rows that we would not have written.
TEST(db_faults_absurd_rows) {
    static const char *const change[] = {
        "UPDATE best SET schedule = x'0001'",
        "UPDATE best SET schedule = 17",
        "UPDATE best SET seconds = 'soon'",
        "UPDATE best SET seconds = -1",
        "UPDATE best SET verified = x'00'",
        "UPDATE best SET schedule = CAST(x'730000' AS TEXT)",
        "UPDATE best SET schedule = printf('%.*c', 1000000, 'x')",
        "UPDATE kernel SET sizes = x'00'",
        "UPDATE kernel SET sizes = '64,48,32,,,'",
        "UPDATE kernel SET sizes = 5",
        "UPDATE kernel SET family = 'none'",
        "UPDATE best SET kernel = 99",
        "DELETE FROM family",
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        Site s;
        const char *sizes;
        make_good("rows.db");
        sql("rows.db", change[i]);
        begin(&s, "rows.db");
        const DbEntry *e = best(&s);
        CHECK(!e || (e->schedule && e->verified && e->seconds >= 0));
        e = db_nearest(s.db, &s.lab.arena, &s.key, s.canon, &sizes);
        CHECK(!e || (e->schedule && sizes));
        CHECK(record(&s, 3));
        CHECK(best(&s));
        end(&s);
    }
}

// --- What is done to a file that is open ---------------------------------------------------------

TEST(db_faults_deleted_while_open) {
    Site s;
    make_good("gone.db");
    begin(&s, "gone.db");
    CHECK(best(&s));
    remove_files("gone.db");
    CHECK(!best(&s));
    const char *why = db_complaint(s.db, &s.lab.arena);
    CHECK(why && strstr(why, "was deleted or replaced while it was in use"));
    CHECK(!record(&s, 1) && !best(&s) && !db_complaint(s.db, &s.lab.arena));
    CHECK(access("gone.db", F_OK) != 0);
    end(&s);
    make_good("gone.db");
    make_good("other.db");
    begin(&s, "gone.db");
    CHECK(best(&s));
    CHECK(rename("other.db", "gone.db") == 0);
    CHECK(!record(&s, 1));
    why = db_complaint(s.db, &s.lab.arena);
    CHECK(why && strstr(why, "was deleted or replaced while it was in use"));
    end(&s);
}

TEST(db_faults_truncated_while_open) {
    Site s;
    make_good("cut.db");
    begin(&s, "cut.db");
    CHECK(best(&s));
    CHECK(truncate("cut.db", 5000) == 0);
    for (int i = 0; i < 3; i++) {
        best(&s);
        record(&s, 9 - i);
    }
    db_complaint(s.db, &s.lab.arena);
    CHECK(!db_complaint(s.db, &s.lab.arena));
    end(&s);
}

TEST(db_faults_locked) {
    Site s;
    sqlite3 *other;
    make_good("locked.db");
    CHECK(sqlite3_open("locked.db", &other) == SQLITE_OK);
    CHECK(!sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    begin(&s, "locked.db");
    s.db->read_ms = s.db->write_ms = 100;
    CHECK(best(&s)); // somebody else writes: that is no reason to wait
    CHECK(!record(&s, 5));
    const char *why = db_complaint(s.db, &s.lab.arena);
    CHECK(why && strstr(why, "is locked by another process"));
    CHECK(!best(&s) && !db_complaint(s.db, &s.lab.arena));
    end(&s);
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE best SET low = 0",
                 NULL, NULL, NULL);
    sqlite3_close(other);
    make_good("locked.db");
    CHECK(sqlite3_open("locked.db", &other) == SQLITE_OK);
    CHECK(
        !sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL, NULL));
    begin(&s, "locked.db");
    s.db->read_ms = s.db->write_ms = 100;
    CHECK(!best(&s));
    why = db_complaint(s.db, &s.lab.arena);
    if (!CHECK(why && strstr(why, "is locked by another process"))) printf("%s\n", why);
    CHECK(!record(&s, 5) && !db_complaint(s.db, &s.lab.arena));
    end(&s);
    sqlite3_close(other);
}

// --- What may not be written ---------------------------------------------------------------------

// As a user without rights, in a process of its own; what fails ends it.
static void as_nobody(void (*body)(void)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int before = check_failures;
        bool ok = getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
        if (CHECK(ok)) body();
        fflush(stdout);
        _exit(check_failures != before);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT_EQ(status, 0);
}

static void read_only_file(void) {
    Site s;
    begin(&s, "/tmp/lw-ro/tune.db");
    const DbEntry *e = best(&s);
    CHECK(e && !strcmp(e->schedule, schedule));
    CHECK(!db_complaint(s.db, &s.lab.arena));
    CHECK(!record(&s, 1));
    const char *why = db_complaint(s.db, &s.lab.arena);
    CHECK(why && strstr(why, "is not written: it is read-only"));
    CHECK(!record(&s, 1) && !db_complaint(s.db, &s.lab.arena));
    CHECK(best(&s)); // reading goes on
    end(&s);
    begin(&s, "/tmp/lw-ro/new.db");
    CHECK(!best(&s) && !db_complaint(s.db, &s.lab.arena));
    CHECK(!record(&s, 1));
    why = db_complaint(s.db, &s.lab.arena);
    if (!CHECK(why && strstr(why, "cannot be made: "))) printf("%s\n", why);
    end(&s);
    begin(&s, "/tmp/lw-ro/none.db:/tmp/lw-ro/tune.db"); // as shared
    CHECK(best(&s) && !db_complaint(s.db, &s.lab.arena));
    end(&s);
    begin(&s, "/tmp/lw-ro/secret.db");
    CHECK(!best(&s));
    why = db_complaint(s.db, &s.lab.arena);
    CHECK(why && strstr(why, "cannot be "));
    end(&s);
}

TEST(db_faults_read_only) {
    mkdir("/tmp/lw-ro", 0755);
    chmod("/tmp/lw-ro", 0755);
    make_good("/tmp/lw-ro/tune.db");
    make_good("/tmp/lw-ro/secret.db");
    chmod("/tmp/lw-ro/tune.db", 0444);
    chmod("/tmp/lw-ro/secret.db", 0000);
    chmod("/tmp/lw-ro", 0555);
    as_nobody(read_only_file);
    chmod("/tmp/lw-ro", 0755);
    remove_files("/tmp/lw-ro/tune.db");
    remove_files("/tmp/lw-ro/secret.db");
    rmdir("/tmp/lw-ro");
}

// Nobody else looks into what was tuned.
TEST(db_faults_new_files_are_private) {
    struct stat st;
    Site s;
    char folder[4096];
    const char *was = getenv("LW_DB");
    char *db = was ? strdup(was) : NULL;
    CHECK(getcwd(folder, sizeof folder - 8));
    strcat(folder, "/fresh");
    remove_files("fresh/loopwright/tune.db");
    rmdir("fresh/loopwright");
    rmdir("fresh");
    // A place that was named is not made: it may be a mistake.
    begin(&s, "fresh/loopwright/tune.db");
    CHECK(!record(&s, 5));
    CHECK(db_trouble(s.db) && strstr(db_trouble(s.db), "in a folder that does not exist"));
    CHECK(stat("fresh", &st) != 0);
    end(&s);
    // The usual one is.
    setenv("XDG_DATA_HOME", folder, 1);
    unsetenv("LW_DB");
    begin(&s, NULL);
    CHECK(record(&s, 5));
    unsetenv("XDG_DATA_HOME");
    if (db) setenv("LW_DB", db, 1);
    free(db);
    CHECK(stat("fresh/loopwright/tune.db", &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(stat("fresh/loopwright/tune.db-wal", &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(stat("fresh/loopwright", &st) == 0 && (st.st_mode & 0777) == 0700);
    end(&s);
}

// --- Faults of the system ------------------------------------------------------------------------

typedef enum Fault { NO_FAULT, ON_OPEN, ON_READ, ON_WRITE, ON_SYNC, ON_TRUNCATE, ON_LOCK } Fault;

static struct {
    Fault kind;
    int countdown, code;
    bool stays; // once it failed, it goes on failing
    int met;
} fault;

static int strike(Fault kind) {
    if (fault.kind != kind || fault.countdown > 1) {
        if (fault.kind == kind) fault.countdown--;
        return SQLITE_OK;
    }
    if (fault.countdown < 1 && !fault.stays) return SQLITE_OK;
    fault.countdown = 0;
    fault.met++;
    return fault.code;
}

typedef struct FaultFile {
    sqlite3_file base;
    sqlite3_file *real;
} FaultFile;
static sqlite3_vfs *real_vfs;
#define REAL            ((FaultFile *)f)->real
#define PASS(name, ...) REAL->pMethods->name(REAL, ##__VA_ARGS__)

static int f_close(sqlite3_file *f) { return PASS(xClose); }
static int f_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at) {
    int code = strike(ON_READ);
    return code ? code : PASS(xRead, to, n, at);
}
static int f_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at) {
    int code = strike(ON_WRITE);
    return code ? code : PASS(xWrite, from, n, at);
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n) {
    int code = strike(ON_TRUNCATE);
    return code ? code : PASS(xTruncate, n);
}
static int f_sync(sqlite3_file *f, int flags) {
    int code = strike(ON_SYNC);
    return code ? code : PASS(xSync, flags);
}
static int f_size(sqlite3_file *f, sqlite3_int64 *n) { return PASS(xFileSize, n); }
static int f_lock(sqlite3_file *f, int how) {
    int code = strike(ON_LOCK);
    return code ? code : PASS(xLock, how);
}
static int f_unlock(sqlite3_file *f, int how) { return PASS(xUnlock, how); }
static int f_reserved(sqlite3_file *f, int *out) { return PASS(xCheckReservedLock, out); }
static int f_control(sqlite3_file *f, int op, void *arg) { return PASS(xFileControl, op, arg); }
static int f_sector(sqlite3_file *f) { return PASS(xSectorSize); }
static int f_device(sqlite3_file *f) { return PASS(xDeviceCharacteristics); }
static int f_map(sqlite3_file *f, int page, int size, int extend, void volatile **to) {
    int code = strike(ON_LOCK);
    return code ? code : PASS(xShmMap, page, size, extend, to);
}
static int f_shm_lock(sqlite3_file *f, int at, int n, int flags) {
    int code = flags & SQLITE_SHM_LOCK ? strike(ON_LOCK) : SQLITE_OK;
    return code ? code : PASS(xShmLock, at, n, flags);
}
static void f_barrier(sqlite3_file *f) { PASS(xShmBarrier); }
static int f_unmap(sqlite3_file *f, int gone) { return PASS(xShmUnmap, gone); }

static const sqlite3_io_methods fault_methods = {
    .iVersion = 2,
    .xClose = f_close,
    .xRead = f_read,
    .xWrite = f_write,
    .xTruncate = f_truncate,
    .xSync = f_sync,
    .xFileSize = f_size,
    .xLock = f_lock,
    .xUnlock = f_unlock,
    .xCheckReservedLock = f_reserved,
    .xFileControl = f_control,
    .xSectorSize = f_sector,
    .xDeviceCharacteristics = f_device,
    .xShmMap = f_map,
    .xShmLock = f_shm_lock,
    .xShmBarrier = f_barrier,
    .xShmUnmap = f_unmap,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out) {
    FaultFile *file = (FaultFile *)f;
    (void)v;
    file->base.pMethods = NULL;
    file->real = (sqlite3_file *)(file + 1);
    int code = strike(ON_OPEN);
    if (!code) code = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
    if (!code) file->base.pMethods = &fault_methods;
    return code;
}

static void with_faults(bool on) {
    static sqlite3_vfs vfs;
    if (!real_vfs) {
        real_vfs = sqlite3_vfs_find(NULL);
        vfs = *real_vfs;
        vfs.zName = "faults";
        vfs.szOsFile = (int)sizeof(FaultFile) + real_vfs->szOsFile;
        vfs.xOpen = v_open;
        vfs.pNext = NULL;
    }
    if (on)
        sqlite3_vfs_register(&vfs, 1);
    else
        sqlite3_vfs_unregister(&vfs);
    fault.kind = NO_FAULT;
}

// The n-th operation of a kind fails, once or for good, in the life of a Db that reads and writes.
// What was acknowledged is there afterwards, in a database that is sound.
static bool strike_at(Fault kind, int code, int n, bool stays) {
    Site s;
    make_good("vfs.db");
    begin(&s, "vfs.db");
    s.db->read_ms = s.db->write_ms = 5;
    fault.kind = kind;
    fault.countdown = n;
    fault.code = code;
    fault.stays = stays;
    fault.met = 0;
    int said = 0;
    double kept = 10;
    best(&s);
    said += db_complaint(s.db, &s.lab.arena) != NULL;
    for (int i = 0; i < 3; i++) {
        if (record(&s, 9 - i)) kept = 9 - i;
        said += db_complaint(s.db, &s.lab.arena) != NULL;
        best(&s);
    }
    said += db_complaint(s.db, &s.lab.arena) != NULL;
    CHECK(said <= 1);
    bool met = fault.met > 0;
    db_free(s.db);
    fault.kind = NO_FAULT;
    CHECK(db_new(&allocator_libc, "vfs.db", &s.db));
    const DbEntry *e = best(&s);
    const char *why = db_complaint(s.db, &s.lab.arena);
    if (!CHECK(e && e->seconds <= kept * 1e-6 * 1.0001))
        printf("fault %d code %d at %d: %s\n", kind, code, n, why ? why : "lost");
    end(&s);
    return met;
}

TEST(db_faults_of_the_system) {
    static const struct {
        Fault kind;
        int code;
    } kinds[] = {
        {ON_OPEN, SQLITE_CANTOPEN},    {ON_READ, SQLITE_IOERR_READ},
        {ON_WRITE, SQLITE_FULL},       {ON_WRITE, SQLITE_IOERR_WRITE},
        {ON_SYNC, SQLITE_IOERR_FSYNC}, {ON_TRUNCATE, SQLITE_IOERR_TRUNCATE},
        {ON_LOCK, SQLITE_IOERR_LOCK},  {ON_LOCK, SQLITE_BUSY},
        {ON_LOCK, SQLITE_NOMEM},
    };
    with_faults(true);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int stays = 0; stays < 2; stays++) {
            int n = 1;
            // SQLite waits ten seconds for a lock that is never free.
            if (stays && kinds[k].code == SQLITE_BUSY) continue;
            while (n < 400 && strike_at(kinds[k].kind, kinds[k].code, n, stays)) n++;
            CHECK(n > 1 || kinds[k].kind == ON_TRUNCATE);
            CHECK(n < 400);
        }
    with_faults(false);
}

TEST(db_faults_full_disk_is_said_and_reading_goes_on) {
    Site s;
    with_faults(true);
    make_good("full.db");
    begin(&s, "full.db");
    CHECK(best(&s));
    fault.kind = ON_WRITE;
    fault.countdown = 1;
    fault.code = SQLITE_FULL;
    fault.stays = true;
    CHECK(!record(&s, 1));
    const char *why = db_complaint(s.db, &s.lab.arena);
    CHECK(why && strstr(why, "is not written: the disk is full"));
    CHECK(best(&s) && !record(&s, 1) && !db_complaint(s.db, &s.lab.arena));
    fault.kind = NO_FAULT;
    end(&s);
    with_faults(false);
}

// As a disk is that was full before: there is no room for the files beside it.
TEST(db_faults_no_room_to_open) {
    Site s;
    with_faults(true);
    make_good("full.db");
    for (int writes_first = 0; writes_first < 2; writes_first++) {
        begin(&s, "full.db");
        fault.kind = ON_LOCK; // shared memory included: one lock is taken before it
        fault.countdown = 2;
        fault.code = SQLITE_IOERR_SHMSIZE;
        fault.stays = false;
        fault.met = 0;
        if (!writes_first) CHECK(best(&s) && !db_complaint(s.db, &s.lab.arena));
        CHECK(!record(&s, 1) && fault.met == 1);
        const char *why = db_complaint(s.db, &s.lab.arena);
        if (!CHECK(why && strstr(why, "is not written: the disk is full"))) printf("%s\n", why);
        CHECK(best(&s) && !db_complaint(s.db, &s.lab.arena));
        fault.kind = NO_FAULT;
        end(&s);
    }
    with_faults(false);
}

// --- Out of memory -------------------------------------------------------------------------------

static int allocations;
static void *few_alloc(void *user, size_t size) {
    (void)user;
    return allocations-- > 0 ? malloc(size) : NULL;
}
static void few_free(void *user, void *p, size_t size) { (void)user, (void)size, free(p); }

typedef struct Few {
    Site *site;
    Arena arena;
    const DbEntry *found;
} Few;

static void find_in(void *arg) {
    Few *f = arg;
    const DbEntry *all;
    f->found = db_best(f->site->db, &f->arena, &f->site->key);
    db_all(f->site->db, &f->arena, &f->site->key, &all);
}

// Running out of memory in the middle of reading leaves nothing locked.
TEST(db_faults_out_of_memory) {
    Allocator few = {few_alloc, few_free, NULL, 64};
    Site s;
    make_good("memory.db");
    begin(&s, "memory.db");
    bool enough = false;
    for (int n = 0; n < 100 && !enough; n++) {
        Few f = {.site = &s};
        arena_init(&f.arena, &few);
        allocations = n;
        enough = arena_try(&f.arena, find_in, &f);
        CHECK(!enough || f.found);
        arena_free(&f.arena);
        CHECK(best(&s));
    }
    CHECK(enough);
    CHECK(record(&s, 2));
    end(&s);
    for (int n = 0; n < 4; n++) {
        Db *db = NULL;
        allocations = n;
        bool ok = db_new(&few, "memory.db", &db);
        CHECK(ok == (db != NULL));
        db_free(db);
    }
}
