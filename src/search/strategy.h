// Functions shared by the strategies (private to search/).
//
// A strategy is a function of a Search that proposes full candidates until search_over(). It draws
// them with search_complete (at random) and search_imitate (like another one, where possible),
// collects new ones in a Batch, and has the Batch measured.
#ifndef LW_SEARCH_STRATEGY_H
#define LW_SEARCH_STRATEGY_H

#include "base/map.h"
#include "base/random.h"
#include "base/vec.h"
#include "search/search.h"

typedef struct Model Model; // model.h

typedef struct Search {
    Arena *arena;
    const SearchHost *host;
    SearchOptions o; // defaults filled in
    const Space *s;
    SpaceWork *w;
    const Cand *root;
    uint64_t random;
    const int *order; // per position: the variable to decide
    Set seen;         // of Known
    Cand *spare, *spare2;
    double began, measuring; // time at the beginning; seconds spent in the host's measuring
    int begun;               // candidates of the batch in measurement
    double root_bound;
    double aim;         // time that rollouts aim at, if less than the best
    const Model *model; // cost of values beyond their bounds; NULL: no model
    int stale;          // consecutive proposals that were duplicates or dead ends
    int drawn;          // random decisions of the last proposal
    VEC(SearchPoint) curve;
    SearchState state;
} Search;

typedef void Strategy(Search *q);
Strategy search_random, search_exhaustive, search_greedy, search_beam, search_genetic, search_mcts,
    search_sweep, search_auto;

// A budget is exhausted, the search was cancelled, or there was nothing new for very long.
bool search_over(Search *q);
double search_elapsed(const Search *q); // seconds since it began

// The seconds of a right result; INFINITY otherwise.
static inline double trial_time(const Trial *t) {
    return t->state <= TRIAL_SLOW ? t->seconds : (double)INFINITY;
}

// The bound of a candidate; 0 if there is none, or it is not used (blind).
double search_bound(Search *q, const Cand *c);
// Nothing below can beat the best.
bool search_hopeless(Search *q, const Cand *c);
// Raises the bound of the whole Space above that of the root.
void search_raise_bound(Search *q, double bound);

// --- Candidates ----------------------------------------------------------------------------------

static inline Cand *search_cand(Search *q) { return space_cand(q->arena, q->s); }

// The first open variable from position *at on, in the order of the search; -1: the candidate is
// full. New objects may have earlier variables: the search wraps around.
int search_open(const Search *q, const Cand *c, int *at);
// Whether the candidate has the variable, and it has several values at the root.
bool search_varies(const Search *q, const Cand *c, int var);

// The time that rollouts try to beat: the best, or less (q->aim).
double search_aim(const Search *q);
// The relative weight of a value, from its learnt cost.
double search_favour(const Search *q, int var, int bit);
// Random descent from `c`; false: only dead ends. With the bound, values are taken with probability
// p ~ max(aim - bound, 0), of `most` that are compared at each decision.
bool search_complete(Search *q, Cand *c);
enum { ROLLOUT_MOST = 8 };
bool search_rollout(Search *q, Cand *c, int most);
// Makes the open decisions as `like` does, if still possible and skip[var] is not set (skip may be
// NULL); the rest at random.
bool search_imitate(Search *q, Cand *c, const Cand *like, const bool *skip);
// The same with three parents, one of them for each decision.
bool search_cross(Search *q, Cand *c, const Cand *const parent[3], const bool *skip);

// --- Batches -------------------------------------------------------------------------------------

typedef struct Batch {
    Cand *cand[SEARCH_MAX_BATCH];
    Trial trial[SEARCH_MAX_BATCH];
    int tag[SEARCH_MAX_BATCH]; // of the strategy
    int n;
} Batch;

Batch *batch_new(Search *q);
// The number of candidates for the next batch: a small part of the remaining time.
int batch_room(const Search *q);
// The batch is full, or new candidates have become rare: then those found are measured before the
// search ends for lack of new ones.
enum { STALE_BATCH = 256 };
static inline bool batch_full(const Search *q, const Batch *b) {
    return b->n >= batch_room(q) || (b->n > 0 && q->stale >= STALE_BATCH);
}
// Adds a full candidate unless it is a duplicate or cannot beat the best.
bool batch_offer(Search *q, Batch *b, const Cand *c, int tag);
// Measures all of them; b->trial holds the results until the next batch_offer.
void batch_measure(Search *q, Batch *b);
// The same in two steps: another batch may be filled in between, but not begun. If the host cannot
// do that, batch_begin does everything.
void batch_begin(Search *q, Batch *b);
void batch_end(Search *q, Batch *b);
// The result of a measured candidate; NULL: it has not been measured.
const Trial *search_known(Search *q, const Cand *c);

// The score of a child that was visited `n` of `total` times, `s` of them among the best.
double mcts_tag_score(int s, int n, int total, int children);

#endif
