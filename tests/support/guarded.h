// Memory between guard pages: an access outside it crashes, or is detected afterwards.
#ifndef SUPPORT_GUARDED_H
#define SUPPORT_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Guarded {
    char *map;
    size_t mapped, bytes;
    char *data;
} Guarded;

// `low`: it begins directly after a guard page; otherwise it ends directly before one, as far as
// `align` allows.
Guarded guarded_new(size_t bytes, size_t align, bool low);
bool guarded_untouched(const Guarded *g); // whether the bytes around the data are unchanged
void guarded_free(const Guarded *g);

#endif
