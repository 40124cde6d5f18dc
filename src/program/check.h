// Checks of a bound Program's statements, called by program_bind: subscripts stay inside their
// tensors, '=' writes each element once, a statement that reads the tensor it writes has no
// conflicting instances, and what is read of temporaries and results was written before.
#ifndef LW_PROGRAM_CHECK_H
#define LW_PROGRAM_CHECK_H

#include "program/program.h"

// Reports and returns false when something is wrong.
bool program_check(Arena *scratch, Program *p, DiagList *diags);
// Does some statement alone write every element? False: it is not known.
bool program_writes_all(const Program *p, int tensor);

#endif
