// Private to measuring: the board that parent and worker share.
#ifndef LW_SEARCH_MEASURE_IMPL_H
#define LW_SEARCH_MEASURE_IMPL_H

#include "run/child.h"
#include "search/measure.h"

#include <stdatomic.h>

enum {
    BOARD_JOBS = MEASURE_JOBS,
    MOST_COMPILERS = 16,
    CODE_ROOM = 256 * 1024, // bytes of code that a compiler process can pass on
    WORN_OUT = 128 << 20,   // bytes of Programs and Trees after which a process is replaced
    HEARTBEAT_MS = 20,      // period of checks on the processes
};

typedef enum PlaceState { PLACE_WAITING, PLACE_WORKING, PLACE_DONE } PlaceState;

// The origin of the code of a place: MADE_TAKEN and above is the number of a compiler process.
enum { MADE_NOT, MADE_CODE, MADE_DECLINED, MADE_TOO_LARGE, MADE_BY_WORKER, MADE_TAKEN = 100 };

// One job on the board; its bytes follow the board.
typedef struct MeasurePlace {
    atomic_int state, made;
    JobCode code; // of MADE_CODE, without its bytes
    JobKind kind;
    size_t size;
    Plant plant;
    double long_seconds; // not 0: time all jobs alternately, for this total time
    double started;      // measure_clock
    double limit;        // seconds after `started`; the parent then kills the worker
    double first;        // seconds of the call that was checked
    Trial trial;
    Difference difference; // of a wrong one
    double kernels, compile;
} MeasurePlace;

typedef struct Board {
    MeasurePlace place[BOARD_JOBS];
    MeasurePlace incumbent; // size 0: none
    int serial;             // changes with the incumbent
    double best;            // its time
    double first;           // time of its checked call, next to guard pages; or 0
    double cut;             // seconds after which a call is abandoned; INFINITY: never
    double hang;            // seconds after which a call counts as hung
    double patience;        // limit for a compilation in seconds; INFINITY: none
    double leisure;         // remaining seconds for telling a slow call from an endless one
    int count;
    atomic_int reference;          // REFERENCE_*
    char trouble[MEASURE_TROUBLE]; // why a device cannot be used; "": it can
    int checks;                    // data sets on which results are compared
    size_t room;                   // bytes per job
    char bytes[];                  // of each place, then of the incumbent
} Board;

enum { REFERENCE_NONE, REFERENCE_INTERPRETER, REFERENCE_NAIVE, REFERENCE_PLAIN };

struct Measure {
    const MeasureSetup *setup;
    Operands operands;
    Guarded memory, codes;
    Board *board;
    Child child;
    Child compiler[MOST_COMPILERS];
    bool told[MOST_COMPILERS]; // it was told that there are jobs, and has not answered
    bool going;                // the worker likewise
    int processor;             // for timing one thread; -1: any
    bool avoided;              // the parent avoids that processor
    int starting;              // number of the compiler process to fork next
    double began;              // start time of the jobs on the board
    double compiled;           // total compile time of timed candidates
    int64_t ncompiled;         // number of these
    MeasureTally tally;
    int64_t numbered; // candidates so far, for `plant`
};

static inline char *place_bytes(Board *b, const MeasurePlace *p) {
    size_t i = p == &b->incumbent ? BOARD_JOBS : (size_t)(p - b->place);
    return b->bytes + i * b->room;
}

static inline char *place_code(const Measure *m, const MeasurePlace *p) {
    return m->codes.data + (size_t)(p - m->board->place) * CODE_ROOM;
}

bool measure_cancelled(const Measure *m);

// compiler.c
// The allocator of compilations. It reports out of memory when the time limit is reached, because
// unwinding leaves all state consistent, unlike a signal.
typedef struct Workshop {
    Arena arena;
    Allocator allocator;
    double until; // on the thread's clock
    void *kept;   // list of freed chunks: the first word of each points to the next
} Workshop;
void workshop_open(Workshop *w);
// The code is in the workshop's arena. False: it is declined.
bool job_compile(const MeasureSetup *setup, Workshop *w, const Job *job, double patience,
                 JobCode *out);
ChildBody compiler_main;
void compilers_tell(Measure *m);  // that there are jobs
bool compilers_wait(Measure *m);  // until they are done; false: cancelled
void compilers_watch(Measure *m); // replaces those that died or hang
void compilers_end(Measure *m);

// worker.c: the main loop of a worker, until its parent is gone. `arg` is the Measure. Characters:
//   'r' compute the reference       'i' the same, always by the interpreter
//   'g' process the jobs on the board
//   'd' done                        'x' done, and worn out: start another
ChildBody worker_main;

#endif
