// What the parts of the simulator share (private to src/simulate).
#ifndef LW_SIMULATE_SIM_IMPL_H
#define LW_SIMULATE_SIM_IMPL_H

#include "base/map.h"
#include "simulate/simulate.h"

// --- The machine, sim_units.c --------------------------------------------------------------------

// Where a node runs: on a compute unit, on a transfer engine, or (both -1) nowhere in particular:
// then on the first compute unit, with access to every memory.
typedef struct Where {
    int compute, engine; // numbers in the description
    int64_t number;      // of the compute unit, over all that there are
} Where;

int64_t unit_total(const Hardware *h, int compute); // with those that contain it
int unit_memory(const Hardware *h, int compute);    // that it works on; -1: none
// The place of a block inside `around`; `value` per index id. False: reported.
bool where_of(const Hardware *h, const Tree *t, const Block *b, Where around, const int64_t *value,
              Where *out, DiagList *diags);
int outer_memory(const Hardware *h);
int buffer_memory(const Hardware *h, const Buffer *b);                // -1: its place is no memory
int64_t buffer_bytes(const Hardware *h, const Buffer *b, int memory); // aligned, of one stage
int64_t tag_number(Tags tags, const char *name, int64_t otherwise);

// Places, accesses, sizes. `most` receives the bytes in use at once, per memory.
bool check_located(Arena *arena, const Hardware *h, const Tree *t, int64_t *most, DiagList *diags);

// --- Counts, sim_count.c -------------------------------------------------------------------------

// Counts of a subtree: COUNT_FIXED numbers, the work of each stencil, the bytes of each memory.
enum { COUNT_PRODUCTS, COUNT_STARTS, COUNT_OPS, COUNT_LEAVES, COUNT_FIXED };

// Facts about a node that do not depend on its position.
typedef struct NodeInfo {
    const Node *node;
    bool task;         // runs on one unit as a whole
    bool stencil;      // a start of a matrix unit
    bool joined;       // an initialisation right before the statement that adds to it
    int64_t *cost;     // of a leaf execution, or of a start
    int nfree;         // indices around it that its conditions depend on
    const int *free;   // their ids
    int nread, nwrite; // buffers of other blocks
    const int *read, *write;
    bool *allocates; // per memory: a block below, or this one, allocates there
    int64_t *count;  // without free indices: its count, once known
} NodeInfo;

typedef struct Counter {
    Arena *arena;
    const Hardware *h;
    const Tree *t;
    int n; // numbers of a count
    Set infos, counts;
} Counter;

Counter counter_new(Arena *arena, const Hardware *h, const Tree *t);
NodeInfo *node_info(Counter *c, const Node *node);
// The counts of one execution of the node, with its free indices at the given values.
const int64_t *count_node(Counter *c, const Node *node, int64_t *value);
bool block_holds(const Block *b, const int64_t *value);
void count_add(const Counter *c, int64_t *sum, const int64_t *add, int64_t times);
// Bytes of arguments that every Tree for the same program has to move.
int64_t least_bytes(Arena *arena, const Tree *flat);

// --- Events, sim_events.c ------------------------------------------------------------------------

// The end of a task, or (task -1) the later of two moments; `after` are moments before it.
typedef struct SimMoment {
    int task;
    int after[2];
} SimMoment;
typedef VEC(SimMoment) SimMoments;

// Gives every task its time: a unit that is free begins the first task, in the order of the Tree,
// that is ready. So the load of the next tile does not queue behind the store of this one while
// that waits for its results. `end` of a task is its duration before.
void run_events(Arena *arena, const SimMoments *moments, Simulation *s);

// --- Time, sim_time.c ----------------------------------------------------------------------------

typedef struct Clock Clock;
Clock *clock_new(Arena *arena, Counter *c, Simulation *out, DiagList *diags);
// A node begins and ends; an iteration of a block begins. False from clock_begin: the node is a
// task, or part of one, and its inside is given by clock_count.
bool clock_begin(Clock *k, const Node *node, const int64_t *value);
void clock_enter(Clock *k, const Block *b, const int64_t *value);
void clock_count(Clock *k, const int64_t *count);
void clock_end(Clock *k, const Node *node);
void clock_stop(Clock *k); // everything was given: tasks get their times
bool clock_failed(const Clock *k);
bool clock_in_task(const Clock *k);

#endif
