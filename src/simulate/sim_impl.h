// Declarations shared by the files of the simulator (private to src/simulate).
#ifndef LW_SIMULATE_SIM_IMPL_H
#define LW_SIMULATE_SIM_IMPL_H

#include "base/map.h"
#include "passes/pass.h"
#include "simulate/simulate.h"

// --- The machine, sim_units.c --------------------------------------------------------------------

// Where a node runs: on a compute unit or on a transfer engine. If both are -1, no place is given;
// the node then runs on the first compute unit and can access every memory.
typedef struct Where {
    int compute, engine; // numbers in the description
    int64_t number;      // of the compute unit, counted over all units of its kind
} Where;

// The place of a block inside `around`; `value` has the value of each index. Returns false after a
// diagnostic.
bool where_of(const Hardware *h, const Tree *t, const Block *b, Where around, const int64_t *value,
              Where *out, DiagList *diags);
// -1: its place is not a memory.
int buffer_memory(const Hardware *h, const Buffer *b);

// The copy of its memory in which a buffer lies that is allocated at `w`; -1: its place names none.
int64_t buffer_copy(const Hardware *h, const Buffer *b, int memory, Where w, const int64_t *value);
// The copies that are told apart; those of more units share numbers.
enum { SIM_MOST_COPIES = 4096 };
int64_t sim_copies(const Hardware *h, int memory);

// --- Counts, sim_count.c -------------------------------------------------------------------------

// The counts of a subtree: COUNT_FIXED numbers, then the work of each stencil, then the bytes of
// each memory.
enum { COUNT_PRODUCTS, COUNT_STARTS, COUNT_OPS, COUNT_LEAVES, COUNT_FIXED };

// Facts about a node that do not depend on the values of indices.
typedef struct NodeInfo {
    const Node *node;
    bool task;         // it runs on one unit as a whole
    bool stencil;      // it is one start of a matrix unit
    bool joined;       // an initialisation directly before the statement that adds to it
    int64_t *cost;     // cost of one execution of a leaf, or of one start
    int nfree;         // number of outer indices that its conditions depend on
    const int *free;   // their ids
    int nread, nwrite; // buffers that are allocated outside
    const int *read, *write;
    bool *allocates; // per memory: this block or one below allocates there
    // Buffers with offsets that its parent allocates and that it is the first child to use.
    int nborn;
    const int *born;
    int64_t *count; // its count once it is known, if it has no free indices
} NodeInfo;

typedef struct Counter {
    Arena *arena;
    const Hardware *h;
    const Tree *t;
    int n; // numbers in a count
    Set infos, counts;
} Counter;

Counter counter_new(Arena *arena, const Hardware *h, const Tree *t);
NodeInfo *node_info(Counter *c, const Node *node);
// The counts of one execution of the node, for the given values of its free indices.
const int64_t *count_node(Counter *c, const Node *node, int64_t *value);
bool block_holds(const Block *b, const int64_t *value);
// The first and the last child of a block that use a buffer; false: none.
bool child_users(Counter *c, const Block *b, int buffer, int *first, int *last);
void count_add(const Counter *c, int64_t *sum, const int64_t *add, int64_t times);
// The bytes of arguments that every Tree for the same program must move.
int64_t least_bytes(Arena *arena, const Tree *flat);

// --- The checks, sim_check.c ---------------------------------------------------------------------

// Do all places exist, and does the machine have what the simulator needs?
bool check_places(const Hardware *h, const Tree *t, DiagList *diags);
// Checks accesses and sizes. `most` receives, per memory and copy, the most bytes in use at once.
bool check_located(Arena *arena, Counter *counter, int64_t **most, DiagList *diags);

// --- Events, sim_events.c ------------------------------------------------------------------------

// The end of a task, or, if task is -1, the later of two moments. `after` are its predecessors.
typedef struct SimMoment {
    int task;
    int after[2];
} SimMoment;
typedef VEC(SimMoment) SimMoments;

// Computes the time of every task. A unit that is free starts its first ready task, in the order of
// the Tree. The load of the next tile therefore does not queue behind the store of the present
// tile, which waits for results. On entry, `end` of a task is its duration.
void run_events(Arena *arena, const SimMoments *moments, Simulation *s);

// --- Time, sim_time.c ----------------------------------------------------------------------------

enum { SIM_MOST_TASKS = 1 << 22 };
typedef struct Clock Clock;
Clock *clock_new(Arena *arena, Counter *c, Simulation *out, DiagList *diags);
// clock_begin and clock_end report the begin and end of a node, clock_enter the begin of an
// iteration of a block. clock_begin returns false if the node is a task or part of one; clock_count
// then adds the counts of its contents.
bool clock_begin(Clock *k, const Node *node, const int64_t *value);
void clock_enter(Clock *k, const Block *b, const int64_t *value);
void clock_count(Clock *k, const int64_t *count);
void clock_end(Clock *k, const Node *node);
void clock_stop(Clock *k); // after the last node: computes the times of the tasks
bool clock_failed(const Clock *k);
bool clock_in_task(const Clock *k);

#endif
