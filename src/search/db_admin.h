// The tuning database as a thing to look at and to keep in order: listing, checking, merging,
// pruning, and JSON lines, its portable form. Acts on the file that is written; db_trouble says why
// something was not done.
#ifndef LW_SEARCH_DB_ADMIN_H
#define LW_SEARCH_DB_ADMIN_H

#include "search/db.h"

// An entry with its key. `trials` counts those of its kernel. Of a row that is only a trial,
// `state` is set and the entry holds its Schedule and its times.
typedef struct DbRow {
    int64_t kernel; // number of its key in the file
    int rank;       // among the entries of its kernel, from 0; -1: it cannot be read
    int64_t trials;
    DbKey key; // all but the family
    DbEntry entry;
    const char *state;
    const char *wrong; // what keeps it from being read; there is nothing else in it then
} DbRow;

typedef VEC(DbRow) DbRows;

// Entries by kernel, best first; of one kernel, or with 0 of all. Trials behind them, if asked for.
DbRows db_rows(Db *db, Arena *arena, int64_t kernel, bool trials);

// Does it apply? The program reads as a canonical Program, the Schedule lowers and verifies on it,
// and the rest is what a tuning might have said. NULL, and the key is complete; or what is wrong.
const char *db_row_check(Arena *arena, DbRow *row);

// Records all of them at once. The number that is kept: all or none. Trials that are there already
// are not repeated.
int db_record_rows(Db *db, Arena *scratch, const DbRow *rows, int n);

typedef struct DbPrune {
    int64_t keep;    // entries per kernel at most; < 0: all
    int64_t before;  // what is older goes, but for pinned entries: seconds since 1970
    bool trials;     // trials go, too; those before `before`, where that is given
    bool unreadable; // rows that cannot be read
} DbPrune;
// The number of rows that went; kernels without any row go with them. -1: it could not be done.
int64_t db_prune(Db *db, Arena *scratch, const DbPrune *what);
bool db_remove(Db *db, Arena *scratch, const DbRow *row);
// The file itself, page by page: NULL, or what is wrong.
const char *db_check_file(Db *db, Arena *arena);

// --- JSON lines, db_json.c -----------------------------------------------------------------------
void db_row_print(Text *out, const DbRow *row); // with the end of the line
// Reads one line. NULL; or what is wrong with it. Not checked yet: db_row_check.
const char *db_row_parse(Arena *arena, const char *line, size_t len, DbRow *out);
// "2026-11-15T09:30:00Z"
const char *db_date(Arena *arena, int64_t date);

#endif
