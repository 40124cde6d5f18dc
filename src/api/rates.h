// Rates of this machine, found by running small kernels.
#ifndef LW_API_RATES_H
#define LW_API_RATES_H

#include "api/api.h"
#include "machine/machine.h"

// Cores that this process may use.
int measure_cores(void);
// Runs kernels for about a second. False when there is no executable memory or no thread.
bool measure_rates(Call *call, const Machine *machine, Rates *out);
void rates_improve(Rates *r, const Rates *kept); // of each rate the better one

// Gives the machine (detected, without a cap) the rates that were kept for it; false: there are
// none, and nothing is measured. They lie in the arena.
bool measure_kept(Call *call, Machine *m);
// The same, measuring and keeping them where there are none. False: they cannot be measured.
bool measure_known(Call *call, Machine *m);

// The same, of a machine with any cap, measured where there are none; and what lw_machine_get
// gives. `again`: they are measured in any case, and of each rate the better one is kept. `run` may
// be NULL, and means what it means in lw_machine_options.
const lw_machine *machine_rated(Call *call, Machine *m, bool again, const lw_timing *run);

// The factor of LW_TUNE_PLANT for lower bounds, for tests; 0: none.
double planted_bound(void);

#endif
