// One SQLite file of the tuning database: opening, checking its format, and error handling.
// Private to the database's own files.
#ifndef LW_SEARCH_DB_FILE_H
#define LW_SEARCH_DB_FILE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "run/fork.h"
#include "search/db.h"

enum {
    DB_APPLICATION = 0x4c575444, // "LWTD", in the header of the file
    DB_READ_MS = 1000,           // wait for a lock when reading
    DB_WRITE_MS = 30000,         // wait for a lock when writing
    DB_MAX_TEXT = 8 << 20,       // bytes of a row
    DB_MAX_FILES = 8,
};

#define DB_KEY_COLUMNS                                                                             \
    "k.id, k.name, k.program, k.strides, k.target, k.cpu, k.isa, k.threads, k.sizes"
// The order of entries: pinned ones first, then those no slower than the chosen Schedule, then the
// rest; within each group the fastest first; ties in any order.
#define DB_WINS "(chosen <= 0 OR seconds <= chosen)"
#define DB_STATEMENTS(X)                                                                           \
    X(FIND, "SELECT id FROM kernel WHERE program = ? AND strides = ? AND target = ? AND cpu = ? "  \
            "AND isa = ? AND threads = ?")                                                         \
    X(BEST_OF, "SELECT schedule, seconds, low, high, samples, bound, date, version, verified, "    \
               "origin, pinned, chosen FROM best WHERE kernel = ? ORDER BY pinned DESC, " DB_WINS  \
               " DESC, seconds")                                                                   \
    X(FAMILY,                                                                                      \
      "SELECT k.id, k.sizes FROM family f JOIN kernel k ON k.family = f.id WHERE f.text = ? AND "  \
      "k.target = ? AND k.cpu = ? AND k.isa = ? AND k.threads = ? AND k.strides = ''")             \
    X(STRIDED,                                                                                     \
      "SELECT k.id, k.sizes FROM family f JOIN kernel k ON k.family = f.id WHERE f.text = ? AND "  \
      "k.target = ? AND k.cpu = ? AND k.isa = ? AND k.threads = ? AND k.strides > ''")             \
    X(ELSEWHERE,                                                                                   \
      "SELECT isa, threads FROM kernel k WHERE program = ?1 AND strides = ?2 AND target = ?3 AND " \
      "cpu = ?4 AND (isa, threads) <> (?5, ?6) AND EXISTS (SELECT 1 FROM best WHERE kernel = "     \
      "k.id) ORDER BY isa <> ?5, abs(threads - ?6), isa, threads LIMIT 1")                         \
    X(ADD_FAMILY, "INSERT INTO family(text) VALUES(?) ON CONFLICT DO NOTHING")                     \
    X(ADD_KERNEL, "INSERT INTO kernel(program, strides, target, cpu, isa, threads, name, family, " \
                  "sizes) VALUES(?, ?, ?, ?, ?, ?, ?, (SELECT id FROM family WHERE text = ?), ?)") \
    X(ADD_BEST,                                                                                    \
      "INSERT INTO best(kernel, schedule, seconds, low, high, samples, bound, date, version, "     \
      "verified, origin, pinned, chosen) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON "        \
      "CONFLICT DO UPDATE SET seconds = excluded.seconds, low = excluded.low, high = "             \
      "excluded.high, samples = excluded.samples, bound = excluded.bound, date = excluded.date, "  \
      "version = excluded.version, verified = excluded.verified, origin = excluded.origin, "       \
      "pinned = excluded.pinned, chosen = excluded.chosen WHERE (excluded.pinned, "                \
      "excluded.chosen <= 0 OR excluded.seconds <= excluded.chosen, -excluded.seconds, "           \
      "excluded.date, excluded.chosen) > (best.pinned, best.chosen <= 0 OR best.seconds <= "       \
      "best.chosen, -best.seconds, best.date, best.chosen) OR typeof(best.seconds) <> 'real' OR "  \
      "best.seconds < 0")                                                                          \
    X(DROP_WORST,                                                                                  \
      "DELETE FROM best WHERE kernel = ?1 AND NOT pinned AND schedule NOT IN (SELECT schedule "    \
      "FROM best WHERE kernel = ?1 AND NOT pinned ORDER BY " DB_WINS " DESC, seconds, date, "      \
      "schedule LIMIT ?2)")                                                                        \
    X(SEARCHED, "SELECT 1 FROM search WHERE kernel = ? AND strategy = ? AND seconds >= ? AND "     \
                "trials >= ? AND gap <= ? LIMIT 1")                                                \
    X(ADD_SEARCH, "INSERT INTO search(kernel, strategy, seconds, trials, gap, date) VALUES(?, ?, " \
                  "?, ?, ?, ?) ON CONFLICT DO UPDATE SET date = excluded.date")                    \
    X(ADD_TRIAL, "INSERT INTO trial(kernel, schedule, state, seconds, low, high, date) VALUES(?, " \
                 "?, ?, ?, ?, ?, ?)")                                                              \
    X(LIST, "SELECT " DB_KEY_COLUMNS                                                               \
            ", (SELECT count(*) FROM trial WHERE trial.kernel = k.id), b.schedule, b.seconds, "    \
            "b.low, b.high, b.samples, b.bound, b.date, b.version, b.verified, b.origin, "         \
            "b.pinned, b.chosen FROM kernel k JOIN best b ON b.kernel = k.id WHERE ?1 = 0 OR "     \
            "k.id = ?1 ORDER BY k.id, b.pinned DESC, " DB_WINS " DESC, b.seconds")                 \
    X(LIST_TRIALS, "SELECT " DB_KEY_COLUMNS                                                        \
                   ", t.schedule, t.state, t.seconds, t.low, t.high, t.date FROM kernel k JOIN "   \
                   "trial t ON t.kernel = k.id WHERE ?1 = 0 OR k.id = ?1 ORDER BY t.rowid")        \
    X(DATA_VERSION, "PRAGMA data_version")                                                         \
    X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                              \
    X(COMMIT, "COMMIT")

typedef enum DbStatement {
#define STATEMENT(id, sql) DB_##id,
    DB_STATEMENTS(STATEMENT)
#undef STATEMENT
        DB_STATEMENT_COUNT
} DbStatement;

typedef enum DbFileState {
    FILE_CLOSED, // not needed so far
    FILE_ABSENT, // there is none
    FILE_OPEN,
    FILE_OFF, // it cannot be used, and will not be tried again
} DbFileState;

// A cache of the kernels of one family: programs of changing sizes look up the same ones
// repeatedly.
typedef struct DbFamily {
    Arena arena;
    DbKey key;                // only the members that identify a family; family NULL: empty
    int64_t version, changes; // of the file at that time, by others and by this process
    int n;
    int64_t *id;
    const char **sizes;
} DbFamily;

typedef struct DbFile {
    const char *path;
    DbFileState state;
    bool shared;  // never written
    int readonly; // SQLite's code if it cannot be written; 0: it can
    int version;  // of its tables, when last read
    sqlite3 *handle;
    sqlite3_stmt *stmt[DB_STATEMENT_COUNT];
    DbFamily family;
} DbFile;

struct Db {
    Allocator allocator;
    pthread_mutex_t lock; // held while a file is used
    ForkMark fork;
    atomic_uint records; // number of stored records
    atomic_uint stamp;   // of db_stamp
    atomic_bool looked;  // the existing files were opened
    atomic_int wrong;    // 0: no problem; 1: `why` is not yet reported; 2: it was reported
    char why[1024];
    int read_ms, write_ms; // wait for a lock
    bool usual;            // the default file: its folders are created
    size_t size;           // of this object
    int nfiles;
    DbFile file[DB_MAX_FILES];
    char paths[];
};

// Runs `body` with the lock held, and releases it even if the body runs out of memory in the arena,
// which then unwinds as usual.
void db_locked(Db *db, Arena *arena, void (*body)(void *arg), void *arg);

// Opens the file unless that was tried before; with `create`, creates a missing file. Returns
// whether it is open.
bool db_file_open(Db *db, DbFile *f, bool create);
void db_file_close(DbFile *f);
// Whether it has the table of version 2.
bool db_has_searches(DbFile *f);

// A statement, reset and ready to be bound; NULL: it cannot be prepared, and the file is off.
sqlite3_stmt *db_prepare(Db *db, DbFile *f, DbStatement which);
// Steps to the next row. False: there is none, or an error turned the file off.
bool db_row(Db *db, DbFile *f, sqlite3_stmt *s);
// Runs a statement that returns no rows. False: there was an error; an error of a write (a full
// disk) does not affect reading.
bool db_step(Db *db, DbFile *f, DbStatement which);
// Begins a write transaction on tables of this version. False: it did not begin and must not be
// ended.
bool db_begin(Db *db, DbFile *f);
bool db_commit(Db *db, DbFile *f);
void db_rollback(Db *db, DbFile *f);

// Reads the columns of DB_BEST_OF from `at` on; false: the row is invalid.
bool db_read_entry(Arena *arena, sqlite3_stmt *s, int at, DbEntry *e);
// Inside a write transaction: finds or creates the row of a key; 0: error.
int64_t db_kernel_row(Db *db, DbFile *f, const DbKey *key);
bool db_add_best(Db *db, DbFile *f, int64_t kernel, const DbEntry *e);

void db_bind_text(sqlite3_stmt *s, int at, const char *text);
// A copy; NULL if the column is not text.
const char *db_text(Arena *arena, sqlite3_stmt *s, int column);

// Records a problem, if it is the first one.
void db_wrong(Db *db, const DbFile *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Call after files were opened or turned off, or a record was stored.
void db_restamp(Db *db);
void db_failed(Db *db, DbFile *f, int code, bool writing);

#endif
