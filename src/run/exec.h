// Executable memory. Pages are never writable and executable at once: code is written into a shared
// memory object through a writable mapping and run through a second, executable one; if that is
// refused, pages are written first and then made executable.
//
// Kernels share arenas of code; each block counts references, and memory is returned to the system
// when the last block of its chunk is freed. No byte of code is ever written twice: a child made by
// fork shares the pages and keeps inherited code whatever its parent does; its own code goes to
// separate memory.
#ifndef LW_RUN_EXEC_H
#define LW_RUN_EXEC_H

#include <stddef.h>

typedef struct ExecBlock ExecBlock;

typedef struct ExecArena ExecArena;

// NULL if there is no memory. An arena is thread-safe.
ExecArena *exec_arena_new(void);
// An arena of private pages with at most one kernel per page: debuggers can put breakpoints only in
// such pages.
ExecArena *exec_arena_new_private(void);
void exec_arena_free(ExecArena *a);
size_t exec_arena_mapped(ExecArena *a); // bytes of address space that hold code

// Copies `size` bytes of code in; 64-byte aligned. NULL when there is no memory.
ExecBlock *exec_add(ExecArena *a, const void *code, size_t size);
void *exec_entry(const ExecBlock *b);
void exec_retain(ExecBlock *b);
void exec_release(ExecBlock *b);

#endif
