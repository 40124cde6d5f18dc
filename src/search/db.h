// The tuning database: the best Schedules that were measured for a Program on a machine.
//
//     Db *db;                                                  // NULL: none is wanted
//     db_new(&allocator, NULL, &db);                           // nothing is opened yet
//     DbKey key = db_key(arena, canon, strides, &where);
//     const DbEntry *best = db_best(db, arena, &key);          // NULL: none
//     db_record(db, arena, &key, &entry);                      // kept when it is among the best
//     db_searched(db, arena, &key, &search);                   // was that asked for before?
//     db_trials(db, arena, &key, trials, n);                   // everything that was tried
//
// One SQLite file (WAL) that many processes read and write at once, and any number of further ones
// that are only read: a database shared by all users of a machine beside one's own. The key is
// compared as text. Stored are Schedules in canonical names (canon.h), never machine code; the
// caller parses and lowers what it reads again, so what is in the file can make code slow and never
// wrong.
//
// A database is a cache: nothing here fails. What cannot be read is a miss, what cannot be written
// is not kept, and db_complaint says so once in the life of a Db. Files are opened by the first
// call that needs one; where there is none, only db_record and db_trials make it. A Db may be used
// by many threads, and by the children of a fork, which open files of their own.
//
// Tables:
//     kernel   one row per key
//     best     the DB_KEEP fastest Schedules of a kernel; the same Schedule again keeps the faster
//              measurement, so that records commute: in whatever order processes write and files
//              are merged, the result is the same
//     trial    every Schedule that was tried, with its time or its failure
//     search   what was searched to its end, since version 2: files of version 1 are read as they
//              are, and get the table when something is written to them
//
// An entry has the time of what is chosen without search, measured beside its own. Those that lose
// to it come last: they are where a search may begin, and nobody should compile them.
#ifndef LW_SEARCH_DB_H
#define LW_SEARCH_DB_H

#include "machine/machine.h"
#include "search/canon.h"

enum {
    DB_KEEP = 8,    // Schedules per key
    DB_VERSION = 2, // of the tables; a file of a newer one is not touched
};

// What a key is for, and whether times are of empty caches.
#define DB_TARGET      "x86-64"
#define DB_TARGET_COLD "x86-64, cold"

typedef struct Db Db;

typedef struct DbKey {
    const char *program; // canonical text: shapes and types are in it
    const char *strides; // "": all arguments are dense
    const char *target;  // DB_TARGET
    const char *cpu, *isa;
    int threads;
    // What follows from it.
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
    double bound;         // seconds that no implementation in the space can beat; 0: not known
    int64_t date;         // seconds since 1970; 0: now
    const char *version;  // of the library; NULL: this one
    const char *verified; // how its result was compared: "exact: 4096 elements equal"
    const char *origin;   // "tuned", "hand"
    bool pinned;          // taken before anything faster: a person said so
    double chosen;        // seconds of what is chosen without search; 0: not known
};

typedef struct DbTrial {
    const char *schedule; // canonical
    const char *state;    // trial_state_name
    double seconds, low, high;
} DbTrial;

// How far a search may go: it ends by the first of these. INFINITY: without end.
typedef struct DbSearch {
    const char *strategy; // with its options
    double seconds, trials;
    double gap; // 0: only where nothing can be better
} DbSearch;

// --- Opening -------------------------------------------------------------------------------------
// Files, separated by colons, the first one written and the others only read; "none"; NULL or "":
// $LW_DB, or else $XDG_DATA_HOME/loopwright/tune.db (~/.local/share) and the like in XDG_DATA_DIRS,
// read only. *out is NULL when none is wanted; every call below takes that. False: no memory.
bool db_new(const Allocator *allocator, const char *where, Db **out);
void db_free(Db *db);
const char *db_path(const Db *db); // of the one that is written
// The first thing that went wrong, as a sentence; the first caller after it went wrong gets it, all
// others NULL.
const char *db_complaint(Db *db, Arena *arena);
// The same as often as it is asked; NULL: nothing went wrong.
const char *db_trouble(const Db *db);
// 0: nothing can be found. Otherwise a number that changes with every record that was kept through
// this Db: what was looked up under another may be out of date. The first call opens the files,
// later ones touch none.
unsigned db_stamp(Db *db);

// --- Keys ----------------------------------------------------------------------------------------
// `stride`, per argument, in elements; NULL (or a NULL entry): dense.
DbKey db_key(Arena *arena, const Canon *c, const int64_t *const *stride, const Machine *machine,
             int threads);
// (seconds - bound) / bound; -1: there is no bound.
double db_gap(const DbEntry *e);
// Is it no slower than what is chosen without search, as far as that is known?
bool db_wins(const DbEntry *e);

// --- Reading -------------------------------------------------------------------------------------
const DbEntry *db_best(Db *db, Arena *arena, const DbKey *key);
// All of a key, best first: at most DB_KEEP and the pinned ones, of each file.
int db_all(Db *db, Arena *arena, const DbKey *key, const DbEntry **out);
// Did a search go as far as this one may?
bool db_searched(Db *db, Arena *arena, const DbKey *key, const DbSearch *search);
// Is this very program known on this processor, but for another number of threads or instruction
// set? `other` is the key of those nearest to what was asked for.
bool db_elsewhere(Db *db, Arena *arena, const DbKey *key, DbKey *other);
// The best entry for the nearest sizes of the same family and target (canon_distance), and those
// sizes. NULL: none is near.
const DbEntry *db_nearest(Db *db, Arena *arena, const DbKey *key, const Canon *c,
                          const char **sizes);

// --- Writing: true when it is kept, whatever happens to this process next ------------------------
bool db_record(Db *db, Arena *scratch, const DbKey *key, const DbEntry *entry);
// Several at once, and the search that found them; NULL: not one that says anything about others.
bool db_record_search(Db *db, Arena *scratch, const DbKey *key, const DbEntry *entries, int n,
                      const DbSearch *search);
bool db_trials(Db *db, Arena *scratch, const DbKey *key, const DbTrial *trials, int n);

#endif
