// What strategies share (private to search/).
//
// A strategy is a function of a Search that proposes full candidates until search_over(). It draws
// them with search_complete (at random) and search_imitate (like another one, where that can be),
// collects those that nobody has seen in a Batch, and has the Batch measured.
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
    const int *order; // per position: the variable that is decided there
    Set seen;         // of Known
    Cand *spare, *spare2;
    double began, measuring; // seconds at the beginning, and spent inside the host's measuring
    int begun;               // candidates of the batch that is being measured
    double root_bound;
    double aim;         // of rollouts, where that is less than the best
    const Model *model; // what values cost beyond their bounds; NULL: nobody learns it
    int stale;          // proposals in a row that had been seen or came to nothing
    int drawn;          // decisions of the last one that were left to chance
    VEC(SearchPoint) curve;
    SearchState state;
} Search;

typedef void Strategy(Search *q);
Strategy search_random, search_exhaustive, search_greedy, search_beam, search_genetic, search_mcts,
    search_sweep, search_auto;

// A budget is used up, somebody cancelled, or nothing new has turned up for very long.
bool search_over(Search *q);
double search_elapsed(const Search *q); // seconds since it began

// The seconds of a right result; INFINITY otherwise.
static inline double trial_time(const Trial *t) {
    return t->state <= TRIAL_SLOW ? t->seconds : (double)INFINITY;
}

// Of a candidate; 0 when there is none, or it is not to be used (blind).
double search_bound(Search *q, const Cand *c);
// Nothing below can beat the best.
bool search_hopeless(Search *q, const Cand *c);
// Something stronger than the bound of the root has been shown of the whole Space.
void search_raise_bound(Search *q, double bound);

// --- Candidates ----------------------------------------------------------------------------------

static inline Cand *search_cand(Search *q) { return space_cand(q->arena, q->s); }

// The first open variable from position *at on, in the order of the search; -1: the candidate is
// full. Objects that came into being may have earlier ones: the look-up wraps.
int search_open(const Search *q, const Cand *c, int *at);
// A variable that a candidate of this Space has, with something to choose from at the root.
bool search_varies(const Search *q, const Cand *c, int var);

// The time that a rollout tries to stay below: the best, or less (q->aim).
double search_aim(const Search *q);
// How much likelier than others a value is to be taken, by what it was seen to cost.
double search_favour(const Search *q, int var, int bit);
// Random descent from `c`; false: dead ends only. With the bound, values are taken with
// probability p ~ max(aim - bound, 0), of `most` that are compared at each decision.
bool search_complete(Search *q, Cand *c);
enum { ROLLOUT_MOST = 8 };
bool search_rollout(Search *q, Cand *c, int most);
// Decides everything that is open as `like` does, where it still can be and skip[var] is not set
// (skip may be NULL); the rest at random.
bool search_imitate(Search *q, Cand *c, const Cand *like, const bool *skip);
// The same with three models, one of them for each decision.
bool search_cross(Search *q, Cand *c, const Cand *const parent[3], const bool *skip);

// --- Batches -------------------------------------------------------------------------------------

typedef struct Batch {
    Cand *cand[SEARCH_MAX_BATCH];
    Trial trial[SEARCH_MAX_BATCH];
    int tag[SEARCH_MAX_BATCH]; // of the strategy
    int n;
} Batch;

Batch *batch_new(Search *q);
// How many candidates to ask about now: a small part of the time that is left.
int batch_room(const Search *q);
// It is full, or what is new has become rare: the search ends where nothing is, and what it has
// found before that is to be measured.
enum { STALE_BATCH = 256 };
static inline bool batch_full(const Search *q, const Batch *b) {
    return b->n >= batch_room(q) || (b->n > 0 && q->stale >= STALE_BATCH);
}
// Adds a full candidate unless it has been seen or is hopeless.
bool batch_offer(Search *q, Batch *b, const Cand *c, int tag);
// Asks about all of them; b->trial holds the answers until the next batch_offer.
void batch_measure(Search *q, Batch *b);
// The same in two steps: another batch may be filled in between, none begun. Where the host cannot
// do that, all is done by the first.
void batch_begin(Search *q, Batch *b);
void batch_end(Search *q, Batch *b);
// The answer to a candidate that has been measured; NULL: it has not.
const Trial *search_known(Search *q, const Cand *c);

// How promising a child is that was visited `n` of `total` times, `s` of them among the best.
double mcts_tag_score(int s, int n, int total, int children);

#endif
