// A whole target in one small file: scalar code, as text that lists index arithmetic, branches and
// micro-operations. docs/architecture.md, "Adding a target", walks through it.
#ifndef SUPPORT_TEXTTARGET_H
#define SUPPORT_TEXTTARGET_H

#include "target/target.h"

extern const Target text_target;

#endif
