// auto: the default. It starts from the host's guesses (an analytic choice, a schedule from the
// database) and continues with moves, each used in proportion to its success:
//
//     step     change a number to a neighbouring value: tile sizes, accumulators, distances
//     flip     change any one decision
//     pair     change two decisions at once
//     object   redraw all decisions about one object: the place of a loop, the shape of a copy
//     choice   redraw all decisions of one kind: all orders, all sizes
//     tail     redraw all decisions after some position
//     cross    cross three of the best
//     fresh    a rollout from the root, weighted by the bound
//
// A move makes its own decisions first and then imitates its parent, so that propagation repairs
// everything that the move made impossible. Moves start from one of the best, usually the best one.
// The success of a move, and of a choice (a candidate faster than its parent), determines how often
// it is tried: the squared mean of a Beta distribution over decaying counts, divided by the cost of
// generating a candidate relative to measuring it. A model trained during the search selects the
// candidate to measure from several that the bound does not rule out.
#include "search/model.h"
#include "search/strategy.h"

typedef enum Move { STEP, FLIP, PAIR, OBJECT, CHOICE, TAIL, CROSS, FRESH, MOVES } Move;

// Successes and trials of a move or choice, and the seconds spent on generating its candidates.
typedef struct Credit {
    double won, tried, thought;
} Credit;

enum { MAX_CHOICES = 64, RIVALS = 4, COMPARED = 1 };

// The origin of a candidate.
typedef struct Made {
    Move how;
    int which;   // choice; -1: none
    double from; // the time of its parent
} Made;

typedef struct Auto {
    Search *q;
    Batch *batch[2]; // one is filled while the other may be in measurement
    Model *model;
    Cand *c, *rival;
    int rivals; // candidates per measurement, at a small part of its cost
    bool *anew; // per variable
    Credit move[MOVES], choice[MAX_CHOICES];
    Made made;                          // of the candidate in c
    double parent[2][SEARCH_MAX_BATCH]; // times of the parents
} Auto;

static const double FADE = 0.98, FASTER = 0.995, THINKING = 0.15, AT_ONCE = 0.6;

// Failures that each move is credited with at the start: small moves come first.
static const double doubt[MOVES] = {
    [PAIR] = 4, [OBJECT] = 2, [CHOICE] = 7, [TAIL] = 0, [CROSS] = 5, [FRESH] = 9};

static double worth(const Credit *c) {
    double mean = (c->won + 1) / (c->tried + 2);
    return mean * mean;
}

// The same divided by the cost of measuring and generating a candidate.
static double move_worth(const Credit *c, double measured) {
    double thought = c->thought / (c->tried + 1);
    return measured > 0 ? worth(c) * measured / (measured + thought) : worth(c);
}

static int draw(uint64_t *random, const double *weight, int n) {
    double total = 0;
    for (int i = 0; i < n; i++) total += weight[i];
    double at = random_unit(random) * total;
    for (int i = 0; i < n; i++)
        if ((at -= weight[i]) < 0) return i;
    return n - 1;
}

// --- Moves ---------------------------------------------------------------------------------------

// Draws a choice with open variables in `from`, weighted by its success and its number of
// variables; -1: there is none.
static int pick_choice(Auto *a, const Cand *from, bool numbers) {
    double weight[MAX_CHOICES] = {0};
    bool any = false;
    for (int v = 0; v < a->q->s->ndecisions; v++) {
        int k = a->q->s->var[v].choice;
        if (k >= MAX_CHOICES || !search_varies(a->q, from, v)) continue;
        if (numbers && a->q->s->desc->choice[k].kind != CHOICE_INTEGER) continue;
        weight[k] += worth(&a->choice[k]);
        any = true;
    }
    return any ? draw(&a->q->random, weight, MAX_CHOICES) : -1;
}

static int pick_var(Auto *a, const Cand *from, int choice) {
    int found = -1, n = 0;
    for (int v = 0; v < a->q->s->ndecisions; v++)
        if (a->q->s->var[v].choice == choice && search_varies(a->q, from, v) &&
            random_below(&a->q->random, ++n) == 0)
            found = v;
    return found;
}

// Another value for a variable; for a number usually a near one.
static uint64_t pick_value(Auto *a, const Cand *from, int var, bool near) {
    uint64_t old = space_domain(a->q->s, from, var);
    uint64_t others = space_domain(a->q->s, a->q->root, var) & ~old;
    if (!others || !near) return others ? random_bit(&a->q->random, others) : 0;
    uint64_t below = others & (old - 1), above = others & ~(old - 1) & ~old;
    bool up = !below || (above && random_next(&a->q->random) & 1);
    for (;;) { // the next one, or with probability 0.4 the one after, ...
        uint64_t *side = up ? &above : &below;
        uint64_t bit = up ? *side & -*side : 1ull << (63 - __builtin_clzll(*side));
        *side &= ~bit;
        if (!*side || random_unit(&a->q->random) >= 0.4) return bit;
    }
}

// Decides another value for one variable.
static bool alter(Auto *a, const Cand *from, bool numbers) {
    Search *q = a->q;
    int choice = pick_choice(a, from, numbers), var = choice < 0 ? -1 : pick_var(a, from, choice);
    if (var < 0) return false;
    bool number = q->s->desc->choice[choice].kind == CHOICE_INTEGER;
    uint64_t value = pick_value(a, from, var, number && random_unit(&q->random) < 0.7);
    a->made.which = choice;
    return value && space_keep(q->w, a->c, var, value);
}

static bool about(const SpaceVar *x, int object) { return x->a == object || x->b == object; }

static bool redraw_object(Auto *a, const Cand *from) {
    Search *q = a->q;
    int choice = pick_choice(a, from, false), var = choice < 0 ? -1 : pick_var(a, from, choice);
    if (var < 0) return false;
    const SpaceVar *x = &q->s->var[var];
    int object = x->b >= 0 && random_next(&q->random) & 1 ? x->b : x->a;
    for (int v = 0; v < q->s->ndecisions; v++) a->anew[v] = about(&q->s->var[v], object);
    return search_imitate(q, a->c, from, a->anew);
}

static bool redraw_choice(Auto *a, const Cand *from) {
    Search *q = a->q;
    a->made.which = pick_choice(a, from, false);
    for (int v = 0; v < q->s->ndecisions; v++) a->anew[v] = q->s->var[v].choice == a->made.which;
    return a->made.which >= 0 && search_imitate(q, a->c, from, a->anew);
}

// The first decisions stay.
static bool redraw_tail(Auto *a, const Cand *from) {
    Search *q = a->q;
    int choice = pick_choice(a, from, false), var = choice < 0 ? -1 : pick_var(a, from, choice);
    bool anew = false;
    for (int i = 0; i < q->s->ndecisions; i++) {
        int v = q->order ? q->order[i] : i;
        anew |= v == var;
        a->anew[v] = anew;
    }
    return var >= 0 && search_imitate(q, a->c, from, a->anew);
}

// One of the best, usually the first.
static const SearchFound *pick_parent(Auto *a) {
    const SearchState *s = &a->q->state;
    int at = 0;
    while (at + 1 < s->ntop && random_unit(&a->q->random) < 0.5) at++;
    return &s->top[at];
}

static bool cross(Auto *a) {
    const SearchState *s = &a->q->state;
    const Cand *p[3];
    for (int i = 0; i < 3; i++) p[i] = s->top[random_below(&a->q->random, s->ntop)].cand;
    for (int v = 0; v < a->q->s->ndecisions; v++) a->anew[v] = random_unit(&a->q->random) < 0.03;
    return search_cross(a->q, a->c, p, a->anew);
}

// Makes one candidate in a->c.
static bool make(Auto *a) {
    Search *q = a->q;
    double weight[MOVES], measured = q->measuring / (double)(q->state.trials + 1);
    for (int i = 0; i < MOVES; i++) weight[i] = move_worth(&a->move[i], measured);
    a->made.how = q->state.ntop ? (Move)draw(&q->random, weight, MOVES) : FRESH;
    a->made.which = -1;
    space_copy(q->s, a->c, q->root);
    if (a->made.how == FRESH) {
        a->made.from = search_best(&q->state);
        return search_rollout(q, a->c, COMPARED);
    }
    const SearchFound *from = pick_parent(a);
    a->made.from = from->trial.seconds;
    switch (a->made.how) {
    case OBJECT: return redraw_object(a, from->cand);
    case CHOICE: return redraw_choice(a, from->cand);
    case TAIL: return redraw_tail(a, from->cand);
    case CROSS: return cross(a);
    case PAIR:
        if (!alter(a, from->cand, false)) return false;
        break;
    default: break;
    }
    return alter(a, from->cand, a->made.how == STEP) && search_imitate(q, a->c, from->cand, NULL);
}

static bool move(Auto *a) {
    double begin = search_elapsed(a->q);
    bool made = make(a);
    a->move[a->made.how].thought += search_elapsed(a->q) - begin;
    return made;
}

// --- The search ----------------------------------------------------------------------------------

// Makes some candidates and leaves in a->c the one that the model likes best, or one in six times
// any of them.
static bool compete(Auto *a) {
    Search *q = a->q;
    Made won = a->made;
    double least = INFINITY;
    bool blindly = random_below(&q->random, 6) == 0;
    for (int i = 0; i < a->rivals; i++) {
        if (!move(a) || search_known(q, a->c) || search_hopeless(q, a->c)) continue;
        double guess = model_guess(a->model, a->c);
        if (!(guess < least)) continue;
        least = guess;
        won = a->made;
        space_copy(q->s, a->rival, a->c);
        if (blindly) break;
    }
    if (isinf(least)) return false;
    a->made = won;
    space_copy(q->s, a->c, a->rival);
    return true;
}

static void pay(Credit *c, double reward) {
    c->won = c->won * FADE + reward;
    c->tried = c->tried * FADE + 1;
    c->thought *= FADE;
}

// Updates the statistics from a batch that began when the best time was `best`.
static void learn(Auto *a, int at, double best) {
    const Batch *b = a->batch[at];
    const double *parent = a->parent[at];
    for (int i = 0; i < b->n; i++) {
        double t = trial_time(&b->trial[i]);
        double reward = t < best * FASTER ? 1 : t < parent[i] * FASTER ? 0.5 : 0;
        model_add(a->model, b->cand[i], log(t));
        int how = b->tag[i] % MOVES, which = b->tag[i] / MOVES - 1;
        pay(&a->move[how], reward);
        if (which >= 0) pay(&a->choice[which], reward);
    }
    model_fit(a->model);
    // Generating candidates while the host measures is free, as long as measuring takes longer.
    double thinking = search_elapsed(a->q) - a->q->measuring;
    int more = thinking < (a->q->host->begin ? AT_ONCE : THINKING) * a->q->measuring ? 1 : -1;
    if (a->rivals + more >= 1 && a->rivals + more <= RIVALS) a->rivals += more;
}

static void propose(Auto *a, int which) {
    Search *q = a->q;
    Batch *b = a->batch[which];
    b->n = 0;
    while (!search_over(q) && !batch_full(q, b)) {
        if (!compete(a)) {
            q->stale++;
            continue;
        }
        int at = b->n, tag = (int)a->made.how + MOVES * (a->made.which + 1);
        if (batch_offer(q, b, a->c, tag)) a->parent[which][at] = a->made.from;
    }
}

void search_auto(Search *q) {
    Auto a = {.q = q, .c = search_cand(q), .rival = search_cand(q)};
    a.model = model_new(q);
    a.rivals = 2;
    a.anew = arena_new_n(q->arena, bool, q->s->ndecisions);
    for (int i = 0; i < MOVES; i++) a.move[i].tried = doubt[i];
    // If the host supports it, a batch is measured while the next one is generated.
    bool ahead = q->host->begin;
    for (int i = 0; i < 2; i++) a.batch[i] = batch_new(q);
    double best[2] = {INFINITY, INFINITY};
    for (int at = 0; !search_over(q) || q->begun; at ^= 1) {
        int done = ahead ? at ^ 1 : at;
        propose(&a, at);
        if (ahead) batch_end(q, a.batch[done]);
        best[at] = search_best(&q->state);
        batch_begin(q, a.batch[at]);
        if (!ahead) batch_end(q, a.batch[done]);
        learn(&a, done, best[done]);
    }
}
