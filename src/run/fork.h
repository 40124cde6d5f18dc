// Detects that this process is the child of a fork.
//
// A child inherits a copy of memory without the other threads of its parent: locks that they held
// stay locked, and their work stays half done. An object that owns threads or shared mappings
// keeps a ForkMark and tests it before it relies on them. The test costs one load: the mark is a
// page that the kernel clears in a child; if that is not available, process ids are compared.
#ifndef LW_RUN_FORK_H
#define LW_RUN_FORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct ForkMark {
    _Atomic unsigned *page; // the page, or NULL
    _Atomic unsigned word;  // used if there is no such page
    _Atomic pid_t pid;
} ForkMark;

void fork_mark_init(ForkMark *m);
void fork_mark_free(ForkMark *m);

// In a child, true for the first caller only, which repairs the state and then calls fork_settled;
// other callers wait until then. False everywhere else.
bool fork_happened(ForkMark *m);
void fork_settled(ForkMark *m);

#endif
