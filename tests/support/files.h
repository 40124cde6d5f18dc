// Files of the project that tests read.
#ifndef SUPPORT_FILES_H
#define SUPPORT_FILES_H

#include "base/arena.h"

// The text of a file, by its path in the project (LW_ROOT, or the current folder); NULL: there is
// none.
char *project_file(Arena *arena, const char *path);

#endif
