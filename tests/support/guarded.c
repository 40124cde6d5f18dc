#include "support/guarded.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, TRACE = 0x5a };

Guarded guarded_new(size_t bytes, size_t align, bool low) {
    Guarded g = {.bytes = bytes};
    size_t room = (bytes + align + PAGE - 1) / PAGE * PAGE;
    g.mapped = room + 2 * PAGE;
    g.map = mmap(NULL, g.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(g.map + PAGE, room, PROT_READ | PROT_WRITE);
    memset(g.map + PAGE, TRACE, room);
    g.data = low ? g.map + PAGE : g.map + PAGE + (room - bytes) / align * align;
    return g;
}

bool guarded_untouched(const Guarded *g) {
    for (char *p = g->map + PAGE; p < g->map + g->mapped - PAGE; p++)
        if ((p < g->data || p >= g->data + g->bytes) && *p != TRACE) return false;
    return true;
}

void guarded_free(const Guarded *g) { munmap(g->map, g->mapped); }
