// The tuning database: the best Schedules that were measured for a Program on a machine.
//
//     Db *db;                                                  // NULL: no database
//     db_new(&allocator, NULL, &db);                           // nothing is opened yet
//     DbKey key = db_key(arena, canon, strides, machine);
//     const DbEntry *best = db_best(db, arena, &key);          // NULL: none
//     db_record(db, arena, &key, &entry);                      // stored if it is among the best
//     db_searched(db, arena, &key, &search);                   // was this search done before?
//     db_trials(db, arena, &key, trials, n);                   // stores all trials
//
// One SQLite file (WAL) that many processes read and write at once, and any number of further
// read-only ones, such as a database for all users of a machine. The key is compared as text. The
// file stores Schedules in canonical names (canon.h), never machine code; the caller parses and
// lowers them again, so a bad file can make code slow but never wrong.
//
// A database is a cache: nothing here fails. An unreadable row is a miss, a failed write is
// dropped, and db_complaint reports the first problem once in the life of a Db. Files are opened by
// the first call that needs one; only db_record and db_trials create a missing file. A Db may be
// used by many threads, and by the children of a fork, which open the files again.
//
// Tables:
//     kernel   one row per key
//     best     the DB_KEEP fastest Schedules of a kernel; the same Schedule again keeps the faster
//              measurement, so that records commute: in whatever order processes write and files
//              are merged, the result is the same
//     trial    every measured Schedule, with its time or its failure
//     search   completed searches, since version 2: files of version 1 are read as they are, and
//              get the table at the first write
//
// An entry has the time of the Schedule chosen without search, measured together with its own.
// Entries that lose to it rank last: they serve as starting points of a search and are not
// compiled otherwise.
#ifndef LW_SEARCH_DB_H
#define LW_SEARCH_DB_H

#include "machine/machine.h"
#include "search/canon.h"

enum {
    DB_KEEP = 8,    // Schedules per key
    DB_VERSION = 2, // of the tables; a file of a newer version is not used
};

typedef struct Db Db;

typedef struct DbKey {
    const char *program; // canonical text: shapes and types are in it
    const char *strides; // "": all arguments are dense
    const char *target;  // "x86-64", or (db_cold) "x86-64, cold"
    const char *cpu, *isa;
    int threads;
    // Computed from the members above.
    // The function, when it was first recorded; behind it, as far as they are known, its sizes and
    // its names (canon_names): "mm M=64,K=32,N=48 m,n,k A,B,C C"
    const char *name;
    const char *family; // the program up to sizes
    const char *sizes;
} DbKey;

typedef struct DbEntry DbEntry;
struct DbEntry {
    const char *schedule;      // canonical
    double seconds, low, high; // of one call: median and its 95 % confidence interval
    int64_t samples;
    double bound;         // lower bound of the space in seconds; 0: unknown
    int64_t date;         // seconds since 1970; 0: now
    const char *version;  // of the library; NULL: this one
    const char *verified; // comparison with the reference: "exact: 4096 elements equal"
    const char *origin;   // "tuned", "hand"
    bool pinned;          // preferred to faster entries, on a user's request
    double chosen;        // seconds of the Schedule chosen without search; 0: unknown
};

typedef struct DbTrial {
    const char *schedule; // canonical
    const char *state;    // trial_state_name
    double seconds, low, high;
} DbTrial;

// The budgets of a search, which ends at the first that is exhausted. INFINITY: no limit.
typedef struct DbSearch {
    const char *strategy; // with its options
    double seconds, trials;
    double gap; // 0: only when the best is proved optimal
} DbSearch;

// --- Opening -------------------------------------------------------------------------------------
// Files, separated by colons, the first one written and the others only read; "none"; NULL or "":
// $LW_DB, or else $XDG_DATA_HOME/loopwright/tune.db (~/.local/share) and the like in XDG_DATA_DIRS,
// read only. *out is NULL for "none"; every call below accepts that. False: no memory.
bool db_new(const Allocator *allocator, const char *where, Db **out);
void db_free(Db *db);
const char *db_path(const Db *db); // of the file that is written
// The first problem, as a sentence; only the first caller after the problem gets it, all others
// NULL.
const char *db_complaint(Db *db, Arena *arena);
// The same for every caller; NULL: there was no problem.
const char *db_trouble(const Db *db);
// 0: there is nothing to find. Otherwise a number that changes with every record stored through
// this Db, so that results looked up under another number may be out of date. The first call opens
// the files, later ones access none.
unsigned db_stamp(Db *db);

// --- Keys ----------------------------------------------------------------------------------------
// The part of a key that describes the machine; its texts are not changed.
typedef struct DbMachine {
    const char *target, *cpu, *isa;
    int threads;
} DbMachine;
// `stride`, per argument, in elements; NULL (or a NULL entry): dense.
DbKey db_key(Arena *arena, const Canon *c, const int64_t *const *stride, DbMachine machine);
// The target of times that were measured with cold caches.
const char *db_cold(Arena *arena, const char *target);
// The target of loops that the passes of a machine description make, by the description's text:
// "x86-64, machine avx512 0123456789abcdef". Its entries have descriptions in place of Schedules.
const char *db_machine(Arena *arena, const char *target, const char *text);
bool db_is_machine(const DbKey *key);
// (seconds - bound) / bound; -1: there is no bound.
double db_gap(const DbEntry *e);
// Whether it is at least as fast as the Schedule chosen without search, as far as that is known.
bool db_wins(const DbEntry *e);

// --- Reading -------------------------------------------------------------------------------------
const DbEntry *db_best(Db *db, Arena *arena, const DbKey *key);
// All of a key, best first: at most DB_KEEP and the pinned ones, of each file.
int db_all(Db *db, Arena *arena, const DbKey *key, const DbEntry **out);
// Whether a completed search had at least these budgets.
bool db_searched(Db *db, Arena *arena, const DbKey *key, const DbSearch *search);
// Whether this program is known on this processor for another number of threads or instruction set;
// `other` is the key of the nearest one.
bool db_elsewhere(Db *db, Arena *arena, const DbKey *key, DbKey *other);
// The best entry for the nearest sizes of the same family and target (canon_distance), and those
// sizes. NULL: none is near.
const DbEntry *db_nearest(Db *db, Arena *arena, const DbKey *key, const Canon *c,
                          const char **sizes);

// --- Writing: true once it is stored durably -----------------------------------------------------
bool db_record(Db *db, Arena *scratch, const DbKey *key, const DbEntry *entry);
// Several at once, and the search that found them; NULL: the search does not count as completed.
bool db_record_search(Db *db, Arena *scratch, const DbKey *key, const DbEntry *entries, int n,
                      const DbSearch *search);
bool db_trials(Db *db, Arena *scratch, const DbKey *key, const DbTrial *trials, int n);

#endif
