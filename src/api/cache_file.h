// Small text files below $XDG_CACHE_HOME/loopwright (or $HOME/.cache) that keep measurements.
#ifndef LW_API_CACHE_FILE_H
#define LW_API_CACHE_FILE_H

#include "base/arena.h"

// The path of the file `name`; NULL: there is no such folder.
const char *cache_file(Arena *arena, const char *name);
// Letters and digits of a processor's name with '-' in between: a part of a file's name.
const char *cache_slug(Arena *arena, const char *name);
// False: there is no file. One that cannot be read, or is too long, reads as "".
bool cache_read(Arena *arena, const char *path, const char **text);
// False, with errno. Other processes see the old file or the new one, never a part.
bool cache_write(Arena *arena, const char *path, const char *text);

#endif
