// Executable memory. Pages are never writable and executable at once: code is written into a shared
// memory object through a writable mapping and run through a second, executable one; where that is
// refused, pages are written first and then made executable.
//
// Kernels share arenas of code; each block counts references, and memory goes back to the system
// when the last block of its chunk goes. No byte of code is ever written twice: a child made by
// fork shares the pages, and keeps what it inherited whatever its parent does; what it adds itself
// goes to memory of its own.
#ifndef LW_RUN_EXEC_H
#define LW_RUN_EXEC_H

#include <stddef.h>

typedef struct ExecBlock ExecBlock;

typedef struct ExecArena ExecArena;

// NULL when memory cannot be had. Thread-safe from here on.
ExecArena *exec_arena_new(void);
// In pages that no other mapping shares, one kernel to a page or more: debuggers can put
// breakpoints in these alone.
ExecArena *exec_arena_new_private(void);
void exec_arena_free(ExecArena *a);
size_t exec_arena_mapped(ExecArena *a); // bytes of address space that hold code

// Copies `size` bytes of code in; 64-byte aligned. NULL when there is no memory.
ExecBlock *exec_add(ExecArena *a, const void *code, size_t size);
void *exec_entry(const ExecBlock *b);
void exec_retain(ExecBlock *b);
void exec_release(ExecBlock *b);

#endif
