// One SQLite file: opening it, identifying it, and continuing without it.
//
// Any error turns a file off: FILE_OFF is final for the life of the Db, so that a broken database
// costs one attempt and one warning. An error that only prevents writing (a full disk, a read-only
// file system) makes it `readonly` instead, and it is still read, without SQLite's auxiliary files
// if there is no room for them.
//
// A file is ours when its header says so (application_id), its tables are of a version we know
// (user_version), and its schema is exactly ours: no triggers, no views, nothing that would run
// when we read. In addition SQLite is configured to distrust it (DEFENSIVE, no trusted schema,
// limits on lengths, no memory mapping, cell_size_check).
#define _GNU_SOURCE
#include "search/db_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *const statement_text[] = {
#define STATEMENT(id, sql) sql,
    DB_STATEMENTS(STATEMENT)
#undef STATEMENT
};

// The schema, by name, as SQLite keeps it.
static const struct {
    const char *name, *sql;
} schema[] = {
    {"best",
     "CREATE TABLE best(kernel INTEGER NOT NULL, schedule TEXT NOT NULL, "
     "seconds REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, "
     "samples INTEGER NOT NULL, bound REAL NOT NULL, date INTEGER NOT NULL, "
     "version TEXT NOT NULL, verified TEXT NOT NULL, origin TEXT NOT NULL, "
     "pinned INTEGER NOT NULL, chosen REAL NOT NULL, PRIMARY KEY(kernel, schedule)) WITHOUT ROWID"},
    {"family", "CREATE TABLE family(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"},
    {"kernel", "CREATE TABLE kernel(id INTEGER PRIMARY KEY, program TEXT NOT NULL, "
               "strides TEXT NOT NULL, target TEXT NOT NULL, cpu TEXT NOT NULL, "
               "isa TEXT NOT NULL, threads INTEGER NOT NULL, name TEXT NOT NULL, "
               "family INTEGER NOT NULL, sizes TEXT NOT NULL, "
               "UNIQUE(program, strides, target, cpu, isa, threads))"},
    {"kernel_family",
     "CREATE INDEX kernel_family ON kernel(family, target, cpu, isa, threads, strides, sizes)"},
    {"trial", "CREATE TABLE trial(kernel INTEGER NOT NULL, schedule TEXT NOT NULL, "
              "state TEXT NOT NULL, seconds REAL NOT NULL, low REAL NOT NULL, "
              "high REAL NOT NULL, date INTEGER NOT NULL)"},
    {"trial_kernel", "CREATE INDEX trial_kernel ON trial(kernel)"},
    {"search", "CREATE TABLE search(kernel INTEGER NOT NULL, strategy TEXT NOT NULL, "
               "seconds REAL NOT NULL, trials REAL NOT NULL, gap REAL NOT NULL, "
               "date INTEGER NOT NULL, "
               "PRIMARY KEY(kernel, strategy, seconds, trials, gap)) WITHOUT ROWID"},
};
// The number of tables, and of those in version 1, which come first.
enum { SCHEMA = sizeof schema / sizeof *schema, SCHEMA_1 = SCHEMA - 1 };

// --- Errors --------------------------------------------------------------------------------------

void db_wrong(Db *db, const DbFile *f, const char *format, ...) {
    int none = 0;
    if (!atomic_compare_exchange_strong(&db->wrong, &none, -1)) return;
    int n = snprintf(db->why, sizeof db->why, "'%.*s' ", 700, f->path);
    va_list args;
    va_start(args, format);
    vsnprintf(db->why + n, sizeof db->why - (size_t)n, format, args);
    va_end(args);
    atomic_store(&db->wrong, 1);
}

void db_restamp(Db *db) {
    bool any = false;
    for (int i = 0; i < db->nfiles; i++) any |= db->file[i].state == FILE_OPEN;
    atomic_store(&db->stamp, any ? 1 + atomic_load(&db->records) : 0);
}

static void turn_off(Db *db, DbFile *f) {
    db_file_close(f);
    f->state = FILE_OFF;
    db_restamp(db);
}

void db_failed(Db *db, DbFile *f, int code, bool writing) {
    const char *message = f->handle ? sqlite3_errmsg(f->handle) : sqlite3_errstr(code);
    switch (code & 0xff) {
    case SQLITE_FULL: db_wrong(db, f, "is not written: the disk is full"); break;
    case SQLITE_READONLY: db_wrong(db, f, "is not written: it is read-only"); break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: db_wrong(db, f, "is locked by another process"); break;
    case SQLITE_NOTADB: db_wrong(db, f, "is not a database"); break;
    case SQLITE_CORRUPT: db_wrong(db, f, "is damaged"); break;
    case SQLITE_NOMEM: db_wrong(db, f, "is not used: out of memory"); break;
    default: db_wrong(db, f, "cannot be %s: %.200s", writing ? "written" : "read", message); break;
    }
    int kind = code & 0xff;
    f->readonly = kind;
    if (kind == SQLITE_FULL || kind == SQLITE_READONLY || (writing && kind == SQLITE_IOERR)) return;
    turn_off(db, f);
}

// --- Opening -------------------------------------------------------------------------------------

void db_file_close(DbFile *f) {
    for (int i = 0; i < DB_STATEMENT_COUNT; i++) sqlite3_finalize(f->stmt[i]);
    memset(f->stmt, 0, sizeof f->stmt);
    sqlite3_close_v2(f->handle);
    f->handle = NULL;
    f->state = FILE_CLOSED;
    if (f->family.arena.allocator) arena_free(&f->family.arena);
    f->family = (DbFamily){0};
}

// The first column of the first row as a number; returns an SQLite code.
static int ask(DbFile *f, const char *sql, int64_t *out) {
    sqlite3_stmt *s;
    int code = sqlite3_prepare_v2(f->handle, sql, -1, &s, NULL);
    if (code) return code;
    code = sqlite3_step(s);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

// Determines whether there are no tables, our tables (and their version), or others (version 0).
static int check_schema(DbFile *f, bool *none, int *version) {
    sqlite3_stmt *s;
    int code = sqlite3_prepare_v2(f->handle, "SELECT name, sql FROM sqlite_schema", -1, &s, NULL);
    if (code) return code;
    unsigned found = 0;
    int n = 0;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        const char *sql = (const char *)sqlite3_column_text(s, 1);
        for (int i = 0; i < SCHEMA && sql && name; i++)
            if (!strcmp(name, schema[i].name) && !strcmp(sql, schema[i].sql)) found |= 1u << i;
        n += sql != NULL;
        *none = false;
    }
    sqlite3_finalize(s);
    if (n == SCHEMA_1 && found == (1u << SCHEMA_1) - 1) *version = 1;
    if (n == SCHEMA && found == (1u << SCHEMA) - 1) *version = DB_VERSION;
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static void distrust(DbFile *f) {
    sqlite3_db_config(f->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(f->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(f->handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_limit(f->handle, SQLITE_LIMIT_LENGTH, DB_MAX_TEXT);
    sqlite3_limit(f->handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_exec(f->handle, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

// Identifies the file. SQLITE_OK with *empty for a new file.
static int identify_now(Db *db, DbFile *f, bool *empty, bool *ours) {
    int64_t application = 0, version = 0;
    bool none = true;
    int tables = 0;
    *empty = *ours = false;
    int code = ask(f, "PRAGMA application_id", &application);
    if (!code) code = ask(f, "PRAGMA user_version", &version);
    if (!code) code = check_schema(f, &none, &tables);
    if (code) return code;
    *empty = !application && !version && none;
    if (*empty) return SQLITE_OK;
    if (application != DB_APPLICATION)
        db_wrong(db, f, "belongs to another program");
    else if (version > DB_VERSION)
        db_wrong(db, f, "was made by a newer version (tables %lld, this one knows %d)",
                 (long long)version, DB_VERSION);
    else if (!tables || tables != version)
        db_wrong(db, f, "is damaged: its tables are not ours");
    else
        *ours = true;
    f->version = tables;
    return SQLITE_OK;
}

// All queries in one transaction, because another process may create the tables between two of
// them.
static int identify(Db *db, DbFile *f, bool *empty, bool *ours) {
    int code = sqlite3_exec(f->handle, "BEGIN", NULL, NULL, NULL);
    if (code) return code;
    code = identify_now(db, f, empty, ours);
    sqlite3_exec(f->handle, "COMMIT", NULL, NULL, NULL);
    return code;
}

// Creates the tables in a file without any. Another process may be doing the same.
static int create_tables(Db *db, DbFile *f) {
    int64_t tables = 0;
    char text[128];
    sqlite3_busy_timeout(f->handle, db->write_ms);
    int code = SQLITE_BUSY;
    // Changing the mode does not wait by itself.
    for (int i = 0; 10 * i <= db->write_ms && code == SQLITE_BUSY; i++) {
        if (i) usleep(10000);
        code = sqlite3_exec(f->handle, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    }
    if (!code) code = sqlite3_exec(f->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code) return code;
    code = ask(f, "SELECT count(*) FROM sqlite_schema", &tables);
    for (int i = 0; i < SCHEMA && !code && !tables; i++)
        code = sqlite3_exec(f->handle, schema[i].sql, NULL, NULL, NULL);
    snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             DB_APPLICATION, DB_VERSION);
    if (!code && !tables) code = sqlite3_exec(f->handle, text, NULL, NULL, NULL);
    if (!code) code = sqlite3_exec(f->handle, "COMMIT", NULL, NULL, NULL);
    if (code) sqlite3_exec(f->handle, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

// Creates the folders of the file, accessible to this user only.
static bool make_folders(DbFile *f) {
    char *path = (char *)f->path; // of the Db, which is locked
    for (char *c = path + 1; (c = strchr(c, '/')); c++) {
        *c = 0;
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *c = '/';
        if (!ok) return false;
    }
    return true;
}

// The folder of a named file must exist.
static bool has_folder(DbFile *f) {
    char *path = (char *)f->path, *end = strrchr(path, '/');
    struct stat st;
    if (!end || end == path) return true;
    *end = 0;
    bool there = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    *end = '/';
    return there;
}

static int open_handle(Db *db, DbFile *f, bool create) {
    int flags = f->shared ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (create) flags |= SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(f->path, &f->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code) return code;
    sqlite3_extended_result_codes(f->handle, 1);
    sqlite3_busy_timeout(f->handle, db->read_ms);
    distrust(f);
    return SQLITE_OK;
}

// In a read-only folder, a file in WAL mode opens only as immutable. If it changes nevertheless,
// the rows are validated like any others.
static int open_immutable(DbFile *f, int why) {
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendall(uri, "file:");
    for (const char *c = f->path; *c; c++) {
        if (*c == '?' || *c == '#' || *c == '%')
            sqlite3_str_appendf(uri, "%%%02x", *c);
        else
            sqlite3_str_appendchar(uri, 1, *c);
    }
    sqlite3_str_appendall(uri, "?immutable=1");
    char *text = sqlite3_str_finish(uri);
    if (!text) return SQLITE_NOMEM;
    sqlite3_close_v2(f->handle);
    f->handle = NULL;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
    int code = sqlite3_open_v2(text, &f->handle, flags, NULL);
    sqlite3_free(text);
    if (!code) distrust(f);
    f->readonly = why;
    return code;
}

// Whether there is too little space for SQLite's two auxiliary files. SQLite would leave truncated
// ones behind.
static bool no_room(const DbFile *f) {
    enum { ROOM = 64 << 10 };
    struct statvfs fs;
    struct stat st;
    char wal[PATH_MAX];
    if (statvfs(f->path, &fs) != 0 || !fs.f_blocks || fs.f_flag & ST_RDONLY) return false;
    uint64_t blocks = geteuid() ? fs.f_bavail : fs.f_bfree;
    return blocks * fs.f_frsize < ROOM && snprintf(wal, sizeof wal, "%s-wal", f->path) > 0 &&
           stat(wal, &st) != 0;
}

// SQLITE_OK, or the code of the failure to open it normally; *why is then the reason that it cannot
// be written, or 0 if it cannot be read at all.
static int open_usual(Db *db, DbFile *f, bool create, bool *empty, bool *ours, int *why) {
    int code = no_room(f) ? SQLITE_FULL : open_handle(db, f, create);
    if (!code) code = identify(db, f, empty, ours);
    switch (code) {
    case SQLITE_FULL:
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP: *why = SQLITE_FULL; break;
    default:
        *why = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY
                   ? SQLITE_READONLY
                   : SQLITE_OK;
    }
    return code;
}

static bool has_content(const DbFile *f) {
    struct stat st;
    return stat(f->path, &st) == 0 && st.st_size > 0;
}

// False: the file does not exist or cannot be opened.
static bool look(Db *db, DbFile *f, bool create) {
    struct stat st;
    if (stat(f->path, &st) == 0) {
        f->state = st.st_size == 0 && !create ? FILE_ABSENT : FILE_CLOSED;
        if (S_ISREG(st.st_mode)) return f->state == FILE_CLOSED;
        db_wrong(db, f, "is not a file");
        turn_off(db, f);
        return false;
    }
    bool absent = errno == ENOENT || errno == ENOTDIR,
         lost = absent && !db->usual && !has_folder(f);
    f->state = FILE_ABSENT;
    if (absent && !create && !lost) return false;
    int fd = -1;
    if (absent && !lost && (!db->usual || make_folders(f)))
        fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && close(fd) == 0) return true;
    if (lost)
        db_wrong(db, f, "is in a folder that does not exist");
    else
        db_wrong(db, f, "cannot be %s: %s", absent ? "made" : "read", strerror(errno));
    turn_off(db, f);
    return false;
}

static void open_file(Db *db, DbFile *f, bool create) {
    bool empty = false, ours = false;
    int why;
    if (!look(db, f, create)) return;
    int code = open_usual(db, f, create, &empty, &ours, &why);
    if (why && has_content(f) && !open_immutable(f, why)) code = identify(db, f, &empty, &ours);
    if (!code && empty && create) code = create_tables(db, f);
    if (!code && empty && create) code = identify(db, f, &empty, &ours);
    if (code) {
        db_failed(db, f, code, create);
        turn_off(db, f);
    } else if (empty) {
        db_file_close(f);
        f->state = FILE_ABSENT;
    } else if (!ours) {
        turn_off(db, f);
    } else {
        f->state = FILE_OPEN;
        if (!f->readonly && (f->shared || sqlite3_db_readonly(f->handle, "main") == 1))
            f->readonly = SQLITE_READONLY;
        sqlite3_exec(f->handle, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    }
}

bool db_file_open(Db *db, DbFile *f, bool create) {
    int moved = 0;
    if (f->state == FILE_OFF || (f->state == FILE_ABSENT && !create)) return false;
    if (f->state != FILE_OPEN) {
        open_file(db, f, create);
        db_restamp(db);
        return f->state == FILE_OPEN;
    }
    sqlite3_file_control(f->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (!moved) return true;
    db_wrong(db, f, "was deleted or replaced while it was in use");
    turn_off(db, f);
    return false;
}

// --- Statements ----------------------------------------------------------------------------------

sqlite3_stmt *db_prepare(Db *db, DbFile *f, DbStatement which) {
    if (f->stmt[which]) {
        sqlite3_reset(f->stmt[which]);
        return f->stmt[which];
    }
    int code = sqlite3_prepare_v3(f->handle, statement_text[which], -1, SQLITE_PREPARE_PERSISTENT,
                                  &f->stmt[which], NULL);
    if (code) db_failed(db, f, code, false);
    return code ? NULL : f->stmt[which];
}

bool db_row(Db *db, DbFile *f, sqlite3_stmt *s) {
    int code = sqlite3_step(s);
    if (code == SQLITE_ROW) return true;
    sqlite3_reset(s);
    if (code != SQLITE_DONE) db_failed(db, f, code, false);
    return false;
}

bool db_step(Db *db, DbFile *f, DbStatement which) {
    sqlite3_stmt *s = f->stmt[which];
    int code = sqlite3_step(s);
    sqlite3_reset(s);
    if (code == SQLITE_DONE || code == SQLITE_ROW) return true;
    db_failed(db, f, code, true);
    return false;
}

static bool run(Db *db, DbFile *f, DbStatement which) {
    return db_prepare(db, f, which) && db_step(db, f, which);
}

bool db_has_searches(DbFile *f) {
    int64_t version = 0;
    if (f->version < DB_VERSION && !ask(f, "PRAGMA user_version", &version))
        f->version = (int)version;
    return f->version >= DB_VERSION;
}

// Inside a transaction: adds the tables missing in version 1, unless another process was first.
static bool upgrade(Db *db, DbFile *f) {
    if (db_has_searches(f)) return true;
    char text[64];
    snprintf(text, sizeof text, "PRAGMA user_version = %d", DB_VERSION);
    int code = sqlite3_exec(f->handle, schema[SCHEMA_1].sql, NULL, NULL, NULL);
    if (!code) code = sqlite3_exec(f->handle, text, NULL, NULL, NULL);
    if (!code) return true;
    db_failed(db, f, code, true);
    db_rollback(db, f);
    return false;
}

bool db_begin(Db *db, DbFile *f) {
    if (f->readonly) {
        db_failed(db, f, f->readonly, true);
        return false;
    }
    sqlite3_busy_timeout(f->handle, db->write_ms);
    return run(db, f, DB_BEGIN_WRITE) && upgrade(db, f);
}

bool db_commit(Db *db, DbFile *f) {
    bool ok = run(db, f, DB_COMMIT);
    if (!ok) db_rollback(db, f);
    if (f->handle) sqlite3_busy_timeout(f->handle, db->read_ms);
    return ok;
}

void db_rollback(Db *db, DbFile *f) {
    if (f->handle && !sqlite3_get_autocommit(f->handle))
        sqlite3_exec(f->handle, "ROLLBACK", NULL, NULL, NULL);
    if (f->handle) sqlite3_busy_timeout(f->handle, db->read_ms);
}

void db_bind_text(sqlite3_stmt *s, int at, const char *text) {
    sqlite3_bind_text(s, at, text ? text : "", -1, SQLITE_STATIC);
}

const char *db_text(Arena *arena, sqlite3_stmt *s, int column) {
    if (sqlite3_column_type(s, column) != SQLITE_TEXT) return NULL;
    const char *text = (const char *)sqlite3_column_text(s, column);
    if (!text) return NULL;
    size_t len = (size_t)sqlite3_column_bytes(s, column);
    return memchr(text, 0, len) ? NULL : arena_strndup(arena, text, len);
}
