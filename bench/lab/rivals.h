// Who else does an operation, and how each is run at its best.
//
// OpenBLAS and BLIS do not know every processor by itself and are told which kernels to take,
// oneDNN 2.6 dies where it finds AMX, and gets the layouts that it likes with the reorders left out
// beside plain ones. `how` is what a task gets behind it; entries differ in `env` to be processes
// of their own.
#ifndef LW_BENCH_RIVALS_H
#define LW_BENCH_RIVALS_H

#include "lab/lab.h"

enum { RIVAL_AVX2 = 1, RIVAL_AVX512 = 2, RIVAL_ISAS = 3 };

typedef struct Rival {
    const char *name, *program, *ops, *how;
    const char *env[RIVAL_ISAS]; // NULL: it cannot be held to that instruction set
    bool other;                  // another algorithm, with fewer operations: no measure of peak
} Rival;

extern const Rival rivals[]; // ended by a NULL name

// Is `word` of n characters among the words of a list "gemm,conv"?
bool rival_word(const char *words, const char *word, size_t n);
// Adds all that know `task` ("gemm 64 64 64") and can have as many threads as the trial; `only`
// names some, NULL: all of them. A trial with peers of its own has then to gather them.
void rivals_add(Lab *lab, Trial *t, const char *task, int isa, const char *only);

#endif
