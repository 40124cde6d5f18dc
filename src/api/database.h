// The tuning database as compiling and tuning see it: whose Schedules for this Program are known,
// and what becomes of them.
#ifndef LW_API_DATABASE_H
#define LW_API_DATABASE_H

#include "api/pipeline.h"
#include "search/db.h"

// The key of a Program of the call's own (program_fork) in a setting.
DbKey database_key(Call *call, const Canon *c, Setting setting);

// The best Schedule that is known for these very sizes, or else what was tuned for the nearest ones
// where it does the same inside (canon_same_inside), lowered; call->origin and call->tuned say
// which. What is read is checked like anything that a stranger wrote: a Schedule that does not
// parse, lower or verify is ignored with a warning. False: none is known; call->elsewhere, if not
// NULL, is what else it is known for.
bool database_lower(Call *call, const Program *p, Setting setting, const Schedule **schedule,
                    const Tree **out);

// Reports what is wrong with the database, if that was not said before in this context.
void database_complain(Call *call, Db *db);

// "tuned: 12.3 us on 2026-11-15, gap 6 %": where the Schedule that was just lowered is from; or
// "chosen: tuned for 1 thread of avx512, not for 2 of avx512". NULL: the database knows nothing of
// it.
const char *database_origin(Call *call);

#endif
