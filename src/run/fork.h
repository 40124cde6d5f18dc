// Noticing that this process is the child of a fork.
//
// What a child inherits is a copy of memory, without the other threads of its parent: locks they
// held stay locked, work they did stays half done. An object that owns threads or shared mappings
// keeps a ForkMark and asks it before it relies on them. Asking costs one load: the mark is a page
// that the kernel empties in a child; where that is not to be had, process ids are compared.
#ifndef LW_RUN_FORK_H
#define LW_RUN_FORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct ForkMark {
    _Atomic unsigned *page; // a page of its own, or NULL
    _Atomic unsigned word;  // where there is no such page
    _Atomic pid_t pid;
} ForkMark;

void fork_mark_init(ForkMark *m);
void fork_mark_free(ForkMark *m);

// In a child, true for the first caller alone, who puts things right and then says fork_settled;
// others wait until then. False everywhere else.
bool fork_happened(ForkMark *m);
void fork_settled(ForkMark *m);

#endif
