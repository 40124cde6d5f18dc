// The tuning database as compiling and tuning see it.
#ifndef LW_API_DATABASE_H
#define LW_API_DATABASE_H

#include "api/pipeline.h"
#include "search/db.h"

// The key of a Program (program_fork) for the machine, the strides and the threads of `c`.
DbKey database_key(const Compilation *c, const Canon *canon);

// Finds the best Schedule that is known for these very sizes, or else the one for the nearest sizes
// where it does the same inside (canon_same_inside). Sets c->tuned, schedule, tree and origin; or,
// if there is none, c->elsewhere to the key of another machine or number of threads that has one. A
// Schedule from the file is checked like one that a stranger wrote: it is ignored with a warning if
// it does not parse, lower or verify.
void database_look_up(Compilation *c);

// The description that was tuned from that of `c`, and sets c->tuned; NULL: there is none.
const char *database_description(Compilation *c);
// Warns that c->tuned is not used, and forgets it.
void database_ignore(Compilation *c, const DiagList *why);

// Reports the first problem of the database, once in this context.
void database_complain(Call *call, Db *db);

// "tuned: 12.3 us on 2026-11-15, gap 6 %": where the Schedule of `c` is from; or
// "chosen: tuned for 1 thread of avx512, not for 2 of avx512". NULL: the database knows nothing of
// it.
const char *database_origin(const Compilation *c);

#endif
