// Memory between guard pages: whoever touches a byte outside of it crashes, or leaves a trace.
#ifndef SUPPORT_GUARDED_H
#define SUPPORT_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Guarded {
    char *map;
    size_t mapped, bytes;
    char *data;
} Guarded;

// `low`: it begins right behind a guard page; otherwise it ends right in front of one, as far as
// `align` lets it.
Guarded guarded_new(size_t bytes, size_t align, bool low);
bool guarded_untouched(const Guarded *g); // bytes around the data are still what they were
void guarded_free(const Guarded *g);

#endif
