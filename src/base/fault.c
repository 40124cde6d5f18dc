#include "base/fault.h"

#ifdef LW_FAULTS

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

int fault_planted;

__attribute__((constructor(101))) static void plant(void) {
    static const char *const name[] = {
#define PLANT(NAME, ...) #NAME,
#include "base/fault.def"
    };
    const char *wanted = getenv("LW_FAULT");
    if (!wanted || !*wanted) return;
    for (int i = 0; i < (int)(sizeof name / sizeof *name); i++)
        if (!strcmp(name[i], wanted)) fault_planted = i + 1;
    if (!fault_planted) bug("there is no fault called '%s'", wanted);
}

#endif
