// Inside measuring: the board that parent and worker share.
#ifndef LW_SEARCH_MEASURE_IMPL_H
#define LW_SEARCH_MEASURE_IMPL_H

#include "run/child.h"
#include "search/measure.h"

#include <stdatomic.h>

enum { BOARD_JOBS = 32 };

typedef enum PlaceState { PLACE_WAITING, PLACE_WORKING, PLACE_DONE } PlaceState;

// One job on the board; its bytes lie behind.
typedef struct Place {
    atomic_int state;
    JobKind kind;
    size_t size;
    Plant plant;
    double long_seconds; // not 0: timed alone for so long
    double started;      // measure_clock
    double limit;        // seconds from there; the parent ends it then
    Trial trial;
    double kernels, compile;
} Place;

typedef struct Board {
    Place place[BOARD_JOBS];
    Place incumbent; // size 0: none
    int serial;      // changes with the incumbent
    double best;     // its time
    double cut;      // seconds after which a call is hopeless; INFINITY: never
    double hang;     // seconds after which it is no mere slowness
    double leisure;  // seconds that may still be spent on telling a slow call from an endless one
    int count;
    atomic_int reference; // REFERENCE_*
    size_t room;          // bytes per job
    char bytes[];         // of each place, then of the incumbent
} Board;

enum { REFERENCE_NONE, REFERENCE_INTERPRETER, REFERENCE_NAIVE, REFERENCE_PLAIN };

struct Measure {
    const MeasureSetup *setup;
    Operands operands;
    Guarded memory;
    Board *board;
    Child child;
    MeasureTally tally;
    int64_t numbered; // candidates so far, for `plant`
};

static inline char *place_bytes(Board *b, const Place *p) {
    size_t i = p == &b->incumbent ? BOARD_JOBS : (size_t)(p - b->place);
    return b->bytes + i * b->room;
}

// worker.c: what a worker does until its parent is gone. `arg` is the Measure. Characters:
//   'r' compute the reference       'i' the same, by the interpreter in any case
//   'g' do what waits on the board
//   'd' done                        'x' done, and worn out: start another
ChildBody worker_main;

#endif
