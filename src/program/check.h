// Checks of a bound Program's statements, called by program_bind: subscripts stay inside their
// tensors, '=' writes each element once, a statement that reads the tensor it writes has no
// conflicting instances, and elements of temporaries and results are written before they are read.
#ifndef LW_PROGRAM_CHECK_H
#define LW_PROGRAM_CHECK_H

#include "program/program.h"

// Reports and returns false when something is wrong.
bool program_check(Arena *scratch, Program *p, DiagList *diags);
// Does some statement alone write every element? False: unknown.
bool program_writes_all(const Program *p, int tensor);

#endif
