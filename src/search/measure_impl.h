// Inside measuring: the board that parent and worker share.
#ifndef LW_SEARCH_MEASURE_IMPL_H
#define LW_SEARCH_MEASURE_IMPL_H

#include "run/child.h"
#include "search/measure.h"

#include <stdatomic.h>

enum {
    BOARD_JOBS = MEASURE_JOBS,
    MOST_COMPILERS = 16,
    CODE_ROOM = 256 * 1024, // bytes of code that a compiler can hand over
    WORN_OUT = 128 << 20,   // bytes of Programs and Trees after which a process is replaced
    HEARTBEAT_MS = 20,      // how often processes are looked after
};

typedef enum PlaceState { PLACE_WAITING, PLACE_WORKING, PLACE_DONE } PlaceState;

// Who makes the code of a place: MADE_TAKEN and more is the number of a compiler.
enum { MADE_NOT, MADE_CODE, MADE_DECLINED, MADE_TOO_LARGE, MADE_BY_WORKER, MADE_TAKEN = 100 };

// One job on the board; its bytes lie behind.
typedef struct Place {
    atomic_int state, made;
    JobCode code; // of MADE_CODE, but for its bytes
    JobKind kind;
    size_t size;
    Plant plant;
    double long_seconds; // not 0: all on the board are timed in turn, for so long altogether
    double started;      // measure_clock
    double limit;        // seconds from there; the parent ends it then
    double first;        // seconds of the call that was checked
    Trial trial;
    Difference difference; // of a wrong one
    double kernels, compile;
} Place;

typedef struct Board {
    Place place[BOARD_JOBS];
    Place incumbent; // size 0: none
    int serial;      // changes with the incumbent
    double best;     // its time
    double first;    // that of the call that was checked, beside guard pages; or 0
    double cut;      // seconds after which a call is hopeless; INFINITY: never
    double hang;     // seconds after which it is no mere slowness
    double patience; // seconds that a compilation may take; INFINITY: as long as it likes
    double leisure;  // seconds that may still be spent on telling a slow call from an endless one
    int count;
    atomic_int reference; // REFERENCE_*
    int checks;           // sets of data that results are compared on
    size_t room;          // bytes per job
    char bytes[];         // of each place, then of the incumbent
} Board;

enum { REFERENCE_NONE, REFERENCE_INTERPRETER, REFERENCE_NAIVE, REFERENCE_PLAIN };

struct Measure {
    const MeasureSetup *setup;
    Operands operands;
    Guarded memory, codes;
    Board *board;
    Child child;
    Child compiler[MOST_COMPILERS];
    bool told[MOST_COMPILERS]; // that there are jobs, and has not answered
    bool going;                // the worker likewise
    int processor;             // that one thread is timed on; -1: any
    bool avoided;              // we stay away from it meanwhile
    int starting;              // number of the compiler that is forked next
    double began;              // what is on the board
    double compiled;           // seconds that the compilations of timed candidates took,
    int64_t ncompiled;         // and how many they were
    MeasureTally tally;
    int64_t numbered; // candidates so far, for `plant`
};

static inline char *place_bytes(Board *b, const Place *p) {
    size_t i = p == &b->incumbent ? BOARD_JOBS : (size_t)(p - b->place);
    return b->bytes + i * b->room;
}

static inline char *place_code(const Measure *m, const Place *p) {
    return m->codes.data + (size_t)(p - m->board->place) * CODE_ROOM;
}

bool measure_cancelled(const Measure *m);

// compiler.c
// Where compilations happen. They run out of memory when they run out of time: unwinding leaves
// everything as it should be, which a signal does not.
typedef struct Workshop {
    Arena arena;
    Allocator allocator;
    double until; // of the thread's time
    void *kept;   // chunks that came back: the first word of each is the next one
} Workshop;
void workshop_open(Workshop *w);
// What it makes lies in the workshop's arena. False: it is declined.
bool job_compile(const MeasureSetup *setup, Workshop *w, const Job *job, double patience,
                 JobCode *out);
ChildBody compiler_main;
void compilers_tell(Measure *m);  // that there are jobs
bool compilers_wait(Measure *m);  // until they are done; false: cancelled
void compilers_watch(Measure *m); // gives up those that died or hang
void compilers_end(Measure *m);

// worker.c: what a worker does until its parent is gone. `arg` is the Measure. Characters:
//   'r' compute the reference       'i' the same, by the interpreter in any case
//   'g' do what waits on the board
//   'd' done                        'x' done, and worn out: start another
ChildBody worker_main;

#endif
