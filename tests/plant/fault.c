#include "base/fault.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

// tests/faults writes the list: PLANT(name) for each fault of its table.
#define PLANT(NAME) _Bool fault_##NAME;
#include "base/fault_names.def"
#undef PLANT

static const struct {
    const char *name;
    _Bool *planted;
} faults[] = {
#define PLANT(NAME) {#NAME, &fault_##NAME},
#include "base/fault_names.def"
#undef PLANT
};

__attribute__((constructor(101))) static void plant(void) {
    const char *wanted = getenv("LW_FAULT");
    if (!wanted || !*wanted) return;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (!strcmp(faults[i].name, wanted)) {
            *faults[i].planted = 1;
            return;
        }
    bug("there is no fault called '%s'", wanted);
}
