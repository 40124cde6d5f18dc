// The peers of each operation, and how to run each at its best.
//
// OpenBLAS and BLIS do not recognise every processor, so their kernels are selected explicitly;
// oneDNN 2.6 crashes on processors with AMX, and runs in its preferred layouts, without the
// reorders, and in plain ones. `how` is appended to a task; entries with different `env` are
// separate processes.
#ifndef LW_BENCH_RIVALS_H
#define LW_BENCH_RIVALS_H

#include "lab/lab.h"

enum { RIVAL_AVX2 = 1, RIVAL_AVX512 = 2, RIVAL_ISAS = 3 };

typedef struct Rival {
    const char *name, *program, *ops, *how;
    const char *env[RIVAL_ISAS]; // NULL: it cannot be restricted to that instruction set
    bool other; // another algorithm, with fewer operations: does not count for peak
} Rival;

extern const Rival rivals[]; // terminated by a NULL name

// Whether `word` of n characters is in a list such as "gemm,conv".
bool rival_word(const char *words, const char *word, size_t n);
// Adds all peers with `task` ("gemm 64 64 64") that support the trial's number of threads; `only`
// selects some, NULL: all. A trial with its own peers must then gather them.
void rivals_add(Lab *lab, Trial *t, const char *task, int isa, const char *only);

#endif
