// Names and line numbers of kernels, for profilers and debuggers.
//
// The lines are those of a text (in practice, of the Tree), which is written to a file with the
// kernel's name, so that tools can show it.
//
//   map      /tmp/perf-PID.map: names for `perf record` and `perf report`
//   jitdump  FOLDER/jit-PID.dump: names, code and lines for `perf inject --jit` and `perf annotate`
//   gdb      the debugger's JIT interface: names, lines, breakpoints
//
// Nothing here is fast, and all of it is off by default. A file that cannot be written is omitted:
// a profile without names is not an error.
#ifndef LW_RUN_DEBUG_H
#define LW_RUN_DEBUG_H

#include "base/kernel_abi.h"

#include <stddef.h>
#include <stdint.h>

enum { DEBUG_MAP = 1, DEBUG_JITDUMP = 2, DEBUG_GDB = 4 };

typedef struct Debug Debug;
typedef struct DebugEntry DebugEntry; // a kernel registered with gdb

// From `offset` on, instructions belong to `line` of the text, counted from 1; 0: none.
typedef struct DebugLine {
    uint32_t offset;
    int line;
} DebugLine;

typedef struct DebugCode {
    const char *name; // of the function; the kernel is called lw_NAME_NUMBER
    const void *code; // executable address
    size_t size;
    const char *text;
    const DebugLine *lines; // sorted by offset
    int nlines;
    const KernelFrame *frames;
    int nframes;
} DebugCode;

// Reads LW_PERF (map, jitdump, or both separated by a comma) and LW_GDB (1). -1: LW_PERF is
// invalid.
int debug_wanted(void);

// Files go to `folder`; NULL: LW_DEBUG_DIR, or a folder for this process under TMPDIR. Returns NULL
// if there is no memory.
Debug *debug_new(int what, const char *folder);
void debug_free(Debug *d);
// The gdb entry, which must be removed before the code is freed; NULL if gdb is off.
DebugEntry *debug_add(Debug *d, const DebugCode *code);
void debug_remove(DebugEntry *e);

// gdb.c
typedef struct GdbCode {
    const char *name, *file, *folder;
    const void *code;
    size_t size;
    const DebugLine *lines;
    int nlines;
    const KernelFrame *frames;
    int nframes;
} GdbCode;
DebugEntry *gdb_add(const GdbCode *c); // NULL when there is no memory

#endif
