// Our side of a trial: a program and a schedule from files, compiled, with operands as the peers
// fill them.
#ifndef LW_BENCH_OURS_H
#define LW_BENCH_OURS_H

#include "base/kernel_abi.h"
#include "code/code.h"
#include "lang/lang.h"
#include "peers/pool.h"
#include "run/exec.h"
#include "run/pool.h"
#include "sched/schedule.h"

enum { OURS_ARGS = 16 };
#define OURS_CHOSEN "chosen" // instead of a schedule: the one that is chosen without search

typedef struct Ours {
    Arena arena; // what the Program is in, whose pool of expressions grows as it is lowered
    Arena work;  // what a compilation needs, released behind it
    Names names;
    DiagList diags;
    Machine machine;
    const Program *program; // bound
    const Schedule *schedule;
    const Tree *tree;
    Code code;
    ExecArena *exec;
    ExecBlock *block;
    Kernel *kernel;
    KernelEnv env;
    Pool *pool; // NULL: one thread
    void *scratch;
    void *buffer[OURS_ARGS];
    PeerPool pool_of_operands, pool_of_scratch; // what they are in
    size_t elements[OURS_ARGS];
    const int64_t *stride[OURS_ARGS]; // NULL: dense
    double flops, bytes;
    const char *error; // why there is no kernel
} Ours;

// `program` and `schedule` are paths (or texts, when they contain a line end); `sizes` is
// "M=64,N=64". NULL schedule: the naive one; OURS_CHOSEN: as the library chooses. The result has
// `error` set when something is wrong.
Ours *ours_new(const char *program, const char *schedule, const char *sizes, Isa cap);
void ours_free(Ours *o);
void ours_call(void *ours);
const float *ours_result(const Ours *o, size_t *n); // the first output, as f32
// Another schedule for the same operands; false: it does not lower or compile.
bool ours_schedule(Ours *o, const Schedule *s);
// Operands of their own from here on, rows of operand i row[i] elements apart; false: it does not
// compile.
bool ours_rows(Ours *o, const int64_t *row);
// No index from data is checked from here on; false: it does not compile.
bool ours_vouch(Ours *o);
// Parallel loops run on so many threads from here on.
void ours_threads(Ours *o, int threads);
// Does the result equal the reference interpreter's, up to `tolerance` of its largest element?
bool ours_check(Ours *o, float tolerance);

// The best rates of so many measurements of this machine: what disturbs one makes it slower.
bool ours_rates(Rates *out, int times);

// No element of y is farther from x than `tolerance` times the largest of x.
bool ours_close(const float *x, const float *y, size_t n, float tolerance);

// ns from the bound Program and the parsed Schedule to a callable pointer, made once more.
double ours_compile(Ours *o);

#endif
