// Measuring candidates: compiled, checked and timed in worker processes.
//
//     Measure *m = measure_open(arena, &setup);          // operands; the reference comes first
//     measure_batch(m, jobs, n, best, trials);           // ready for SearchHost.measure
//     measure_begin(m, jobs, n, best);                   // the same in two steps
//     measure_end(m, trials);
//     measure_again(m, winners, n, 0.2, trials);         // in a fresh process, absolute
//     measure_close(m);
//
// A job is bytes that mean a kernel to whoever made the setup: its `compile` runs in the worker and
// turns them into code. So this knows neither spaces nor code generators, and the same bytes may go
// to another machine.
//
//   parent                              compilers (children, on the other processors)
//     jobs ──▶ board (shared memory) ──▶ compile: code ──▶ board
//     'c' ───────────── pipe ─────────▶ worker (a child, pinned to one processor)
//     'g' ───────────── pipe ─────────▶ load what is compiled, or compile what nobody has taken;
//                                       results to a pattern, one call under a time limit, compare;
//     trials ◀── board ◀────────────── samples, in turn with the incumbent's
//         ◀──────────── pipe ────────── 'd'
//
// All three go on at once where one thread is timed: compilers are ahead of the worker, and the
// parent may think of what comes next between measure_begin and measure_end. Where several threads
// are timed, compilers come first, and are done.
//
// The time of a candidate is told by the incumbent: both take turns, and the median ratio of
// neighbouring samples times the incumbent's time is what is reported, so that slow phases of the
// machine strike both. A sample is as many calls as last tens of microseconds, less what the clock
// and the calls themselves take. One thread is timed by the time it had a core. Hopeless
// candidates are let go after one call, or in the middle of it (they may never have been compared
// then, and never become anybody's best); all others are compared with the reference before any of
// this.
//
// A worker that dies, or is silent for too long, loses the candidate it was at; the next one goes
// on behind it. One that found a wrong result is not trusted any further either.
#ifndef LW_SEARCH_MEASURE_H
#define LW_SEARCH_MEASURE_H

#include "base/kernel_abi.h"
#include "search/operands.h"
#include "search/search.h"

typedef enum JobKind {
    JOB_CAND,   // `bytes` is a candidate
    JOB_TEXT,   // `bytes` is a Schedule's text, with its NUL; "" is the naive one
    JOB_CHOSEN, // the one that is chosen without search
    JOB_PLAIN,  // the same without copies and the like: another way to the same result
} JobKind;

typedef struct Job {
    JobKind kind;
    const void *bytes;
    size_t size;
} Job;

typedef struct JobCode {
    const void *bytes;
    size_t size;
    int64_t scratch, thread_scratch; // as in code/code.h
} JobCode;

// What a test makes of a candidate; the real thing is compiled all the same.
typedef enum Plant {
    PLANT_NONE,
    PLANT_WRONG, // one bit of the result is another
    PLANT_CRASH,
    PLANT_HANG,
    PLANT_STUCK, // hangs, deaf to signals
    PLANTS
} Plant;

typedef struct MeasureSetup {
    const Program *program; // bound
    const View *views;      // per argument: shapes and strides, no data
    const ValueRange *ranges;
    int64_t instances;
    // Code for a job; false: it is declined. Runs in a worker, under arena_try of `arena`; what it
    // leaves there is released afterwards. `user` is the worker's own copy.
    bool (*compile)(void *user, Arena *arena, const Job *job, JobCode *out);
    void (*apply)(int op, int type, int to, int n, void *values); // of a KernelEnv
    void *user;
    size_t most_bytes; // of a job
    int threads;
    int compilers;            // processes that compile beside the worker; 0: it does it all
    int processor;            // one thread runs on this one of those there are, from the last
    bool cold;                // caches are emptied before every sample, which is one call
    uint64_t seed;            // of the data
    double reference_seconds; // that the interpreter may take, where compiled code can do it too
    double reference_limit;   // that computing the reference may take in any case
    double compile_seconds;   // after which a compilation hangs
    double trial_seconds;     // that a trial may take beyond its first calls; 0: any
    double slow_compile;      // seconds of processor time after which one is given up; 0: never
    bool (*cancelled)(void *cancel_user);  // NULL: never
    Plant (*plant)(void *user, int64_t n); // of the n-th candidate; NULL: none
    void *cancel_user;
} MeasureSetup;

typedef struct MeasureTally {
    int64_t trials, restarts;
    double kernels; // seconds inside candidates
    double compile; // seconds of compiling them
    double waited;  // seconds in measure_batch and measure_again
} MeasureTally;

typedef struct Measure Measure;

typedef enum MeasureFault {
    MEASURE_OK,
    MEASURE_NO_MEMORY,    // for operands
    MEASURE_NO_PROCESS,   // fork failed
    MEASURE_NO_REFERENCE, // nothing gave a result to compare with, or not in time
    MEASURE_CANCELLED,
} MeasureFault;

// Starts a worker and has it compute the reference.
Measure *measure_open(Arena *arena, const MeasureSetup *setup, MeasureFault *fault);
void measure_close(Measure *m);

void measure_batch(Measure *m, const Job *jobs, int n, double best, Trial *out);
// The same in two steps, with at most MEASURE_JOBS at a time; nothing else in between.
enum { MEASURE_JOBS = SEARCH_MAX_BATCH };
void measure_begin(Measure *m, const Job *jobs, int n, double best);
void measure_end(Measure *m, Trial *out);

// In a fresh process, checked again, in turn, for about so many seconds altogether: absolute times
// that can be compared with each other. At most MEASURE_TOGETHER.
enum { MEASURE_TOGETHER = 8 };
void measure_again(Measure *m, const Job *jobs, int n, double seconds, Trial *out);

// What was wrong with a job of the last batch that was.
const Difference *measure_difference(const Measure *m, int job);

// What the next candidates are measured in turn with, found elsewhere: it was checked there.
void measure_incumbent(Measure *m, const Job *job, double seconds);
size_t measure_room(const Measure *m); // most bytes of a job

// Seconds that computing the reference will take, by estimate.
double measure_reference_time(const MeasureSetup *setup);

const MeasureTally *measure_tally(const Measure *m);
const Operands *measure_operands(const Measure *m);
const char *measure_reference(const Measure *m); // "interpreter", or the kernels that agreed
// Of a result (by its number as an argument): comparing it says next to nothing, because what it
// should be is no number, or the same, all but everywhere.
bool measure_blank(Measure *m, int result);

double measure_clock(void); // seconds

#endif
