// Planted faults: mistakes on purpose, to see whether the tests notice.
//
//     x86_imm(FAULT(tail_mask_full) ? -1 : mask)
//
// FAULT(name) is false, and costs nothing, unless the library was built with -DLW_FAULTS and the
// environment says LW_FAULT=name. Every name is a row of fault.def and stands in one place of the
// source. `make faults` plants one after the other and runs the tests until one of them fails.
#ifndef LW_BASE_FAULT_H
#define LW_BASE_FAULT_H

enum {
    FAULT_none,
#define PLANT(NAME, ...) FAULT_##NAME,
#include "base/fault.def"
#undef PLANT
};

#ifdef LW_FAULTS
extern int fault_planted; // set before main
#define FAULT(NAME) (fault_planted == FAULT_##NAME)
#else
#define FAULT(NAME) (FAULT_none == FAULT_##NAME)
#endif

#endif
