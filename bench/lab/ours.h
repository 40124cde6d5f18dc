// Our side of a trial: compiles a program and a schedule from files, with the peers' operands.
#ifndef LW_BENCH_OURS_H
#define LW_BENCH_OURS_H

#include "base/kernel_abi.h"
#include "code/code.h"
#include "lang/lang.h"
#include "peers/operand_pool.h"
#include "run/exec.h"
#include "run/pool.h"
#include "sched/schedule.h"

enum { OURS_ARGS = 16 };
#define OURS_CHOSEN "chosen" // instead of a schedule: the one that is chosen without search

typedef struct Ours {
    Arena arena; // of the Program, whose pool of expressions grows during lowering
    Arena work;  // of a compilation, released after it
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
    const char *error; // the reason if there is no kernel
} Ours;

// `program` and `schedule` are paths (or texts, when they contain a line end); `sizes` is
// "M=64,N=64". NULL schedule: the naive one; OURS_CHOSEN: as the library chooses. On failure the
// result has `error` set.
Ours *ours_new(const char *program, const char *schedule, const char *sizes, Isa cap);
void ours_free(Ours *o);
void ours_call(void *ours);
const float *ours_result(const Ours *o, size_t *n); // the first output, as f32
// Another schedule for the same operands; false: it does not lower or compile.
bool ours_schedule(Ours *o, const Schedule *s);
// Switches to separate operands, with row[i] elements between rows of operand i; false: it does not
// compile.
bool ours_rows(Ours *o, const int64_t *row);
// Disables checks of data-dependent indices; false: it does not compile.
bool ours_vouch(Ours *o);
// Sets the number of threads of parallel loops.
void ours_threads(Ours *o, int threads);
// Whether the result equals the reference interpreter's, up to `tolerance` of its largest element.
bool ours_check(Ours *o, float tolerance);

// The best rates of `times` measurements of this machine: disturbances only make it slower.
bool ours_rates(Rates *out, int times);

// No element of y is farther from x than `tolerance` times the largest of x.
bool ours_close(const float *x, const float *y, size_t n, float tolerance);

// ns from the bound Program and the parsed Schedule to a callable pointer, compiled again.
double ours_compile(Ours *o);

#endif
