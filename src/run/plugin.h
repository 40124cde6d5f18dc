// Shared objects that are loaded on demand and stay loaded.
#ifndef LW_RUN_PLUGIN_H
#define LW_RUN_PLUGIN_H

#include <stddef.h>

// A symbol of a plug-in. `name` is a path, or a name such as "mpi": the file loopwright-mpi.so in
// the folder LW_PLUGINS, in the folder of the program, or in lib/loopwright next to it. NULL:
// `message` says why.
void *plugin_find(const char *name, const char *symbol, char *message, size_t size);

#endif
