#include "support/guarded.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, TRACE = 0x5a, SPARE = 16 };

// A cache of freed mappings: most buffers of tests have one page, and mapping it costs more than
// running a kernel on it.
static _Thread_local Guarded spare[SPARE];

static char *map_room(size_t room) {
    for (int i = 0; i < SPARE; i++)
        if (spare[i].map && spare[i].mapped == room + 2 * PAGE) {
            char *map = spare[i].map;
            spare[i].map = NULL;
            return map;
        }
    char *map = mmap(NULL, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(map + PAGE, room, PROT_READ | PROT_WRITE);
    return map;
}

Guarded guarded_new(size_t bytes, size_t align, bool low) {
    Guarded g = {.bytes = bytes};
    size_t room = (bytes + align + PAGE - 1) / PAGE * PAGE;
    g.mapped = room + 2 * PAGE;
    g.map = map_room(room);
    memset(g.map + PAGE, TRACE, room);
    g.data = low ? g.map + PAGE : g.map + PAGE + (room - bytes) / align * align;
    return g;
}

static bool all_trace(const char *p, size_t n) {
    return n == 0 || (*p == TRACE && memcmp(p, p + 1, n - 1) == 0);
}

bool guarded_untouched(const Guarded *g) {
    const char *begin = g->map + PAGE, *end = g->map + g->mapped - PAGE, *data = g->data;
    return all_trace(begin, (size_t)(data - begin)) &&
           all_trace(data + g->bytes, (size_t)(end - data) - g->bytes);
}

void guarded_free(const Guarded *g) {
    for (int i = 0; i < SPARE && g->mapped <= 8 * PAGE; i++)
        if (!spare[i].map) {
            spare[i] = *g;
            return;
        }
    munmap(g->map, g->mapped);
}
