// Measuring candidates: compiled, checked and timed in worker processes.
//
//     Measure *m = measure_open(arena, &setup);          // operands; the reference comes first
//     measure_batch(m, jobs, n, best, trials);           // implements SearchHost.measure
//     measure_begin(m, jobs, n, best);                   // the same in two steps
//     measure_end(m, trials);
//     measure_again(m, winners, n, 0.2, trials);         // absolute times in a fresh process
//     measure_close(m);
//
// A job is a string of bytes that describes a kernel to the author of the setup: the setup's
// `compile` runs in the worker and turns the bytes into code. So this module knows neither spaces
// nor code generators, and the bytes may be sent to another machine.
//
//   parent                              compilers (children, on the other processors)
//     jobs ──▶ board (shared memory) ──▶ compile: code ──▶ board
//     'c' ───────────── pipe ─────────▶ worker (a child, pinned to one processor)
//     'g' ───────────── pipe ─────────▶ load compiled code, or compile jobs that no one has taken;
//                                       fill results with a pattern, call once under a time limit,
//                                       compare;
//     trials ◀── board ◀────────────── samples, alternating with the incumbent's
//         ◀──────────── pipe ────────── 'd'
//
// If one thread is timed, all three run concurrently: compilers run ahead of the worker, and the
// parent may generate the next batch between measure_begin and measure_end. If several threads are
// timed, compilation finishes before timing starts.
//
// The time of a candidate is measured relative to the incumbent: samples of both alternate, and the
// reported time is the median ratio of neighbouring samples multiplied by the incumbent's time, so
// that slow phases of the machine affect both. A sample is a series of calls that takes tens of
// microseconds, minus the cost of the clock. One thread is timed by its processor time. Candidates
// that are clearly slower are abandoned after one call, or during it (these may not have been
// compared with the reference and never become the best); all others are compared before timing.
//
// A worker that dies, or is silent for too long, loses its current candidate; its replacement
// continues with the next one. A worker that found a wrong result is replaced too.
#ifndef LW_SEARCH_MEASURE_H
#define LW_SEARCH_MEASURE_H

#include "base/kernel_abi.h"
#include "search/operands.h"
#include "search/search.h"

typedef enum JobKind {
    JOB_CAND,    // `bytes` is a candidate
    JOB_TEXT,    // `bytes` is a Schedule's text, with its NUL; "" is the naive one
    JOB_MACHINE, // `bytes` is a machine description, with its NUL: its passes make the loops
    JOB_CHOSEN,  // the Schedule chosen without search
    JOB_PLAIN,   // the same without copies and other options: another way to the same result
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

// The planted behaviour of a candidate in a test; the candidate is compiled anyway.
typedef enum Plant {
    PLANT_NONE,
    PLANT_WRONG, // flips one bit of the result
    PLANT_CRASH,
    PLANT_HANG,
    PLANT_STUCK, // hangs and ignores signals
    PLANTS
} Plant;

typedef struct MeasureSetup {
    const char *device;     // run on it (run/device.h): code is a packed DeviceProgram; NULL: here
    const Program *program; // bound
    const View *views;      // per argument: shapes and strides, no data
    const ValueRange *ranges;
    int64_t instances;
    // Compiles a job; false: it is declined. Runs in a worker, under arena_try of `arena`, which is
    // released afterwards. `user` is the worker's own copy.
    bool (*compile)(void *user, Arena *arena, const Job *job, JobCode *out);
    void (*apply)(int op, int type, int to, int n, void *values); // for KernelEnv
    void *user;
    size_t most_bytes; // of a job
    int threads;
    int compilers;            // processes that compile; 0: the worker compiles
    int processor;            // number of the processor of single-threaded kernels, from the last
    bool cold;                // flush the caches before every sample, which is one call
    uint64_t seed;            // of the data
    double reference_seconds; // limit for the interpreter, if compiled code can be the reference
    double reference_limit;   // limit for computing the reference in any way
    double compile_seconds;   // after which a compilation counts as hung
    double trial_seconds;     // limit for a trial after its first calls; 0: none
    double slow_compile;      // processor time after which a compilation is abandoned; 0: never
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
    MEASURE_NO_REFERENCE, // no reference result could be computed in time
    MEASURE_CANCELLED,
    MEASURE_NO_DEVICE, // or it is not usable in a child of this process
} MeasureFault;
enum { MEASURE_TROUBLE = 512 };

// Starts a worker, which computes the reference.
Measure *measure_open(Arena *arena, const MeasureSetup *setup, MeasureFault *fault);
// The same; `why`, of MEASURE_TROUBLE bytes, is the reason of MEASURE_NO_DEVICE.
Measure *measure_open_device(Arena *arena, const MeasureSetup *setup, MeasureFault *fault,
                             char *why);
void measure_close(Measure *m);

void measure_batch(Measure *m, const Job *jobs, int n, double best, Trial *out);
// The same in two steps, with at most MEASURE_JOBS at a time; no other call in between.
enum { MEASURE_JOBS = SEARCH_MAX_BATCH };
void measure_begin(Measure *m, const Job *jobs, int n, double best);
void measure_end(Measure *m, Trial *out);

// Checks the jobs again in a fresh process and times them alternately for about `seconds` in total:
// absolute times that can be compared with each other. At most MEASURE_TOGETHER.
enum { MEASURE_TOGETHER = 8 };
void measure_again(Measure *m, const Job *jobs, int n, double seconds, Trial *out);

// The difference of a wrong job of the last batch.
const Difference *measure_difference(const Measure *m, int job);

// Sets the incumbent that the next candidates are compared with; it was found and checked
// elsewhere.
void measure_incumbent(Measure *m, const Job *job, double seconds);
size_t measure_room(const Measure *m); // most bytes of a job

// Estimated seconds for computing the reference.
double measure_reference_time(const MeasureSetup *setup);

const MeasureTally *measure_tally(const Measure *m);
const Operands *measure_operands(const Measure *m);
const char *measure_reference(const Measure *m); // "the interpreter", or the kernels that agreed
// Whether comparing a result (by its number as an argument) proves little, because the reference is
// NaN or constant almost everywhere.
bool measure_blank(Measure *m, int result);

double measure_clock(void); // seconds

#endif
