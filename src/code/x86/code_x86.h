// The code generator for x86-64, which target/target_x86.c puts into the table of targets.
#ifndef LW_CODE_X86_CODE_X86_H
#define LW_CODE_X86_CODE_X86_H

#include "code/listing.h"

// Generates code from a Plan (gen_plan), which cannot be used again. `listing` may be NULL;
// otherwise it is filled.
CodeAnswer code_x86(Plan *plan, Code *out, Listing *listing, DiagList *diags);

#endif
