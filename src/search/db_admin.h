// Maintenance of the tuning database: listing, checking, merging, pruning, and JSON lines, its
// portable form. Acts on the file that is written; db_trouble gives the reason of a failure.
#ifndef LW_SEARCH_DB_ADMIN_H
#define LW_SEARCH_DB_ADMIN_H

#include "search/db.h"

// An entry with its key. `trials` counts those of its kernel. If the row is only a trial, `state`
// is set and the entry holds its Schedule and its times.
typedef struct DbRow {
    int64_t kernel; // number of its key in the file
    int rank;       // among the entries of its kernel, from 0; -1: it cannot be read
    int64_t trials;
    DbKey key; // without the family
    DbEntry entry;
    const char *state;
    const char *wrong; // why it cannot be read; all else is then empty
} DbRow;

typedef VEC(DbRow) DbRows;

// Entries by kernel, best first; of one kernel, or with 0 of all. Optionally followed by trials.
DbRows db_rows(Db *db, Arena *arena, int64_t kernel, bool trials);

// The instruction sets of a target, ended by NULL; NULL: no target has that name.
typedef const char *const *DbTargets(const char *target);

// Whether the row applies: the program parses as a canonical Program, the Schedule lowers and
// verifies on it, and a tuning could have written the rest. Returns NULL and completes the key, or
// returns the reason.
const char *db_row_check(Arena *arena, DbRow *row, DbTargets *targets);

// Stores all rows in one transaction and returns their number, or 0. Trials that exist already are
// not repeated.
int db_record_rows(Db *db, Arena *scratch, const DbRow *rows, int n);

typedef struct DbPrune {
    int64_t keep;    // entries per kernel at most; < 0: all
    int64_t before;  // delete older entries that are not pinned: seconds since 1970
    bool trials;     // also delete trials, or those before `before` if that is given
    bool unreadable; // rows that cannot be read
} DbPrune;
// The number of deleted rows; kernels without any row are deleted too. -1: failure.
int64_t db_prune(Db *db, Arena *scratch, const DbPrune *what);
bool db_remove(Db *db, Arena *scratch, const DbRow *row);
// Checks the file page by page: NULL, or the reason.
const char *db_check_file(Db *db, Arena *arena);

// --- JSON lines, db_json.c -----------------------------------------------------------------------
void db_row_print(Text *out, const DbRow *row); // with the end of the line
// Parses one line, without db_row_check. NULL, or the error.
const char *db_row_parse(Arena *arena, const char *line, size_t len, DbRow *out);
// "2026-11-15T09:30:00Z"
const char *db_date(Arena *arena, int64_t date);

#endif
