// Tails: what becomes of splits that do not divide.
//
// A split that does not divide bounds its inner loop by the indices of loops around it:
//
//     for n in 2
//       for n.1 in 4 where 332 - 200*n - 64*n.1 >= 0
//         for n.2 in 64 where 332 - 200*n - 64*n.1 - n.2 >= 0 and 199 - 64*n.1 - n.2 >= 0
//
// However many levels there are, n.2 has few numbers of iterations, about one a level: 64, 8 and 5.
// Each is a *case*. The code of a region is made once per case, and the right one is chosen at run
// time. Loops that are decided by the same loops have their cases in common (a *group*); where
// several groups meet, combinations are made as long as they are worth their code: a combination
// that hardly ever happens shares code that tests each copy. So code grows with the number of
// cases, not with the number of their combinations.
#include "code/gen/gen.h"

#include <string.h>

#include "base/checked.h"

enum {
    MAX_TAILS = 48, // of a group
    MAX_GROUPS = 6, // of a region
    MAX_OUTER = 32, // loops that decide a group
    MAX_CASES = 64,
    MAX_BOXES = 4096, // that are looked at to find the cases of a group
    FEW_VARIANTS = 9, // that are made whatever they are worth, where much may be unrolled
};

// How the bounds of a loop come out: its number of iterations; or, where they depend on copies of
// loops inside the region too, what the machine loops outside contribute to one bound.
typedef struct Tail {
    PNode *loop;
    VEC(PNode *) same; // loops with the same bounds, those of an initialisation and its update, say
    const LoopBound *bound; // NULL: the number of iterations
    const Lin *sum;         // of `bound`: the machine loops outside
    int64_t never, full;    // of `bound`: it holds nowhere up to `never`, everywhere from `full` on
} Tail;

typedef struct TailCase {
    double weight; // the share of the region's work
    int64_t value[MAX_TAILS];
    int64_t first, last; // of the one loop that decides
} TailCase;

typedef struct TailGroup {
    int ntails, nouter, ncases;
    Tail tail[MAX_TAILS];
    PNode *outer[MAX_OUTER];
    TailCase *at;  // the one where nothing is cut off first, then by weight
    bool exact;    // every case needs code of its own: lanes run along a loop
    bool counts;   // all loops are machine loops, which can count at run time
    bool by_index; // two cases, distinguished by the index of the deciding loop
} TailGroup;

typedef struct Tails {
    int n, first_inside;
    TailGroup *at[MAX_GROUPS];
} Tails;

// Indices of the loops that decide.
typedef struct TailBox {
    int64_t lo[MAX_OUTER], hi[MAX_OUTER];
} TailBox;

// ---- Ranges

static int outer_of(const TailGroup *group, int loop) {
    for (int i = 0; i < group->nouter; i++)
        if (group->outer[i]->loop == loop) return i;
    return -1;
}

static bool add_range(int64_t k, int64_t lo, int64_t hi, int64_t *min, int64_t *max) {
    return checked_fma(k, k < 0 ? hi : lo, min) && checked_fma(k, k < 0 ? lo : hi, max);
}

// The range of a sum of loops around here; false: it does not fit.
static bool range_in(const Gen *g, const TailGroup *group, const TailBox *box, const Lin *l,
                     int64_t *min, int64_t *max) {
    *min = *max = l->c;
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = g->p->loop[l->t[i].loop];
        int at = outer_of(group, loop->loop);
        int64_t known = g->here.value[loop->loop];
        bool fine = at >= 0           ? add_range(l->t[i].k, box->lo[at], box->hi[at], min, max)
                    : loop->form.real ? add_range(l->t[i].k, 0, loop->extent - 1, min, max)
                                      : add_range(l->t[i].k, known, known, min, max);
        if (!fine) return false;
    }
    return true;
}

static int64_t clip(int64_t v, int64_t lo, int64_t hi) { return max_i64(lo, min_i64(v, hi)); }

static int64_t bound_limit(const LoopBound *b, int64_t rest) { return floor_div(rest, -b->k) + 1; }

// Values of a tail in a box.
static bool tail_range(const Gen *g, const TailGroup *group, const Tail *t, const TailBox *box,
                       int64_t *lo, int64_t *hi) {
    int64_t min, max;
    if (t->bound) {
        if (!range_in(g, group, box, t->sum, &min, &max)) return false;
        *lo = clip(min, t->never, t->full);
        *hi = clip(max, t->never, t->full);
        return true;
    }
    *lo = *hi = t->loop->extent;
    for (int i = 0; i < t->loop->nbounds; i++) {
        const LoopBound *b = &t->loop->bound[i];
        if (!range_in(g, group, box, b->rest, &min, &max)) return false;
        *lo = min_i64(*lo, bound_limit(b, min));
        *hi = min_i64(*hi, bound_limit(b, max));
    }
    *lo = max_i64(*lo, 0);
    *hi = max_i64(*hi, 0);
    return true;
}

// Do the loops that decide have these iterations? 1: all of them; 0: none; -1: some, or unknown.
static int exists(const Gen *g, const TailGroup *group, const TailBox *box) {
    int all = 1;
    for (int i = 0; i < group->nouter; i++) {
        const PNode *loop = group->outer[i];
        for (int k = 0; k < loop->nbounds; k++) {
            const LoopBound *b = &loop->bound[k];
            int64_t min, max;
            if (!range_in(g, group, box, b->rest, &min, &max) ||
                !add_range(b->k, box->lo[i], box->hi[i], &min, &max))
                all = -1;
            else if (max < 0)
                return 0;
            else if (min < 0)
                all = -1;
        }
    }
    return all;
}

// ---- Cases

static bool add_case(TailGroup *group, const TailCase *c) {
    int i = 0;
    size_t size = sizeof(int64_t) * (size_t)group->ntails;
    while (i < group->ncases && memcmp(group->at[i].value, c->value, size)) i++;
    if (i == MAX_CASES) return false;
    if (i == group->ncases) {
        group->at[group->ncases++] = *c;
        return true;
    }
    TailCase *is = &group->at[i];
    is->weight += c->weight;
    is->first = min_i64(is->first, c->first);
    is->last = max_i64(is->last, c->last);
    return true;
}

// The work of a case, as far as these loops tell.
static double weight_of(const TailGroup *group, const TailCase *c, const TailBox *box) {
    double weight = 1;
    for (int i = 0; i < group->nouter; i++) weight *= (double)(box->hi[i] - box->lo[i] + 1);
    for (int i = 0; i < group->ntails; i++)
        if (!group->tail[i].bound)
            weight *= (double)c->value[i] / (double)group->tail[i].loop->extent;
    return weight;
}

// The widest step of an undecided loop; -1: the box is one iteration.
static int widest(const TailGroup *group, const TailBox *box) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < group->nouter; i++) {
        double step = 1;
        for (int t = 0; t < group->ntails; t++)
            for (int b = 0; b < group->tail[t].loop->nbounds; b++) {
                double k =
                    (double)lin_coef(group->tail[t].loop->bound[b].rest, group->outer[i]->loop);
                if (k < 0) k = -k;
                if (k > step) step = k;
            }
        double span = step * (double)(box->hi[i] - box->lo[i]);
        if (span > most) most = span, best = i;
    }
    return best;
}

// All cases in a box: it is halved until it has one.
static bool find_cases(const Gen *g, TailGroup *group, const TailBox *box, int *budget) {
    if (--*budget < 0) return false;
    int there = exists(g, group, box);
    if (!there) return true;
    TailCase c = {.first = box->lo[0], .last = box->hi[0]};
    bool one = there >= 0;
    for (int i = 0; i < group->ntails; i++) {
        int64_t hi;
        if (!tail_range(g, group, &group->tail[i], box, &c.value[i], &hi)) return false;
        one &= c.value[i] == hi;
    }
    int at = one ? -1 : widest(group, box);
    if (at < 0) {
        c.weight = weight_of(group, &c, box);
        return add_case(group, &c);
    }
    TailBox half[2] = {*box, *box};
    half[0].hi[at] = box->lo[at] + (box->hi[at] - box->lo[at]) / 2;
    half[1].lo[at] = half[0].hi[at] + 1;
    return find_cases(g, group, &half[0], budget) && find_cases(g, group, &half[1], budget);
}

static bool is_whole(const TailGroup *group, const TailCase *c) {
    for (int i = 0; i < group->ntails; i++) {
        const Tail *t = &group->tail[i];
        if (c->value[i] != (t->bound ? t->full : t->loop->extent)) return false;
    }
    return true;
}

static void sort_cases(TailGroup *group) {
    double sum = 0;
    for (int i = 0; i < group->ncases; i++) {
        TailCase c = group->at[i];
        int to = i;
        for (; to > 0 && (is_whole(group, &c) || (group->at[to - 1].weight < c.weight &&
                                                  !is_whole(group, &group->at[to - 1])));
             to--)
            group->at[to] = group->at[to - 1];
        group->at[to] = c;
        sum += c.weight;
    }
    for (int i = 0; i < group->ncases && sum > 0; i++) group->at[i].weight /= sum;
}

static bool set_cases(const Gen *g, TailGroup *group) {
    TailBox all = {0};
    int budget = MAX_BOXES;
    for (int i = 0; i < group->nouter; i++) all.hi[i] = group->outer[i]->extent - 1;
    group->ncases = 0;
    group->at = arena_new_n(g->arena, TailCase, MAX_CASES);
    if (!find_cases(g, group, &all, &budget)) return false;
    sort_cases(group);
    const TailCase *c = group->at;
    group->by_index = group->nouter == 1 && group->ncases == 2 && is_whole(group, c) &&
                      !g->here.value[group->outer[0]->loop] && c[0].last < c[1].first &&
                      c[1].first == (int32_t)c[1].first;
    return true;
}

// ---- Groups

static bool same_bounds(const PNode *a, const PNode *b) {
    if (a->extent != b->extent || a->nbounds != b->nbounds) return false;
    for (int i = 0; i < a->nbounds; i++) {
        const Lin *x = a->bound[i].rest, *y = b->bound[i].rest;
        if (a->bound[i].k != b->bound[i].k || x->c != y->c || x->n != y->n ||
            !lin_same_terms(x->t, y->t, x->n))
            return false;
    }
    return true;
}

// The machine loops outside that a sum depends on, and those that decide whether they run.
static bool add_outer(const Gen *g, TailGroup *group, const Lin *l, int first_inside) {
    for (int i = 0; i < l->n; i++) {
        PNode *loop = g->p->loop[l->t[i].loop];
        if (!loop->form.real || loop->loop >= first_inside || outer_of(group, loop->loop) >= 0)
            continue;
        if (group->nouter == MAX_OUTER) return false;
        group->outer[group->nouter++] = loop;
        for (int b = 0; b < loop->nbounds; b++)
            if (!add_outer(g, group, loop->bound[b].rest, first_inside)) return false;
    }
    return true;
}

static bool overlaps(const TailGroup *a, const TailGroup *b) {
    for (int i = 0; i < b->nouter; i++)
        if (outer_of(a, b->outer[i]->loop) >= 0) return true;
    return false;
}

// Both, if there is room; else false, and nothing has happened.
static bool merge(TailGroup *into, const TailGroup *from) {
    TailGroup all = *into;
    if (all.ntails + from->ntails > MAX_TAILS) return false;
    for (int i = 0; i < from->nouter; i++) {
        if (outer_of(&all, from->outer[i]->loop) >= 0) continue;
        if (all.nouter == MAX_OUTER) return false;
        all.outer[all.nouter++] = from->outer[i];
    }
    for (int i = 0; i < from->ntails; i++) all.tail[all.ntails++] = from->tail[i];
    *into = all;
    return true;
}

static bool add_group(const Gen *g, Tails *tails, TailGroup *group) {
    for (int i = 0; i < tails->n; i++)
        if (overlaps(tails->at[i], group)) return merge(tails->at[i], group);
    if (tails->n == MAX_GROUPS) return false;
    tails->at[tails->n++] = arena_copy(g->arena, group, sizeof *group);
    return true;
}

static bool join_tail(Gen *g, Tails *tails, PNode *n) {
    bool joined = false;
    for (int i = 0; i < tails->n; i++)
        for (int t = 0; t < tails->at[i]->ntails; t++) {
            Tail *tail = &tails->at[i]->tail[t];
            if (!same_bounds(tail->loop, n)) continue;
            vec_push(g->arena, &tail->same, n);
            joined = true;
        }
    return joined;
}

// Its bounds depend on nothing inside: the number of iterations decides.
static bool is_outside(const PNode *n, int first_inside) {
    for (int i = 0; i < n->nbounds; i++)
        for (int k = 0; k < n->bound[i].rest->n; k++)
            if (n->bound[i].rest->t[k].loop >= first_inside) return false;
    return true;
}

// Two loops are digits of one number, as those of a split are; the indices of a window are not.
static bool are_digits(int64_t k, int64_t extent, int64_t of, int64_t other) {
    int64_t span;
    if (k >= 0 || of >= 0) return false;
    return (checked_mul(k, extent, &span) && of <= span) ||
           (checked_mul(of, other, &span) && k <= span);
}

// Copies inside that the bound depends on belong to the same split.
bool gen_ends_split(const Gen *g, const PNode *n, const LoopBound *b, int first_inside) {
    for (int i = 0; i < b->rest->n; i++) {
        const LinTerm *term = &b->rest->t[i];
        const PNode *loop = g->p->loop[term->loop];
        if (term->loop < first_inside) continue;
        if (loop->form.real || !are_digits(b->k, n->extent, term->k, loop->extent)) return false;
    }
    return b->k < 0;
}

// The tail of a bound that depends on copies inside. False: it is none, or nothing is to be
// decided.
static bool bound_tail(Gen *g, PNode *n, const LoopBound *b, int first_inside, Tail *t) {
    LinTerm sum[TREE_MAX_DEPTH * 2];
    int64_t min = b->rest->c, max = b->rest->c;
    int count = 0;
    if (!gen_ends_split(g, n, b, first_inside)) return false;
    if (!add_range(b->k, 0, n->extent - 1, &min, &max)) return false;
    for (int i = 0; i < b->rest->n; i++) {
        const LinTerm *term = &b->rest->t[i];
        const PNode *loop = g->p->loop[term->loop];
        int64_t known = g->here.value[term->loop];
        bool inside = term->loop >= first_inside;
        if (!inside && loop->form.real)
            sum[count++] = *term;
        else if (inside ? !add_range(term->k, 0, loop->extent - 1, &min, &max)
                        : !add_range(term->k, known, known, &min, &max))
            return false;
    }
    if (!count || !checked_sub(0, min, &min) || !checked_sub(-1, max, &max)) return false;
    *t = (Tail){
        .loop = n, .bound = b, .sum = code_lin(g->arena, 0, sum, count), .never = max, .full = min};
    gen_lin_limits(g, t->sum, &min, &max);
    return min < t->full;
}

static bool ends_only(const PNode *n) {
    for (int i = 0; i < n->nbounds; i++)
        if (n->bound[i].k > 0) return false;
    return true;
}

static void add_tail(Gen *g, Tails *tails, const Tail *t) {
    TailGroup group = {.ntails = 1, .tail = {*t}};
    bool fits = true;
    for (int i = 0; i < t->loop->nbounds && fits; i++)
        if (!t->bound || t->bound == &t->loop->bound[i])
            fits = add_outer(g, &group, t->loop->bound[i].rest, tails->first_inside);
    if (fits && group.nouter) add_group(g, tails, &group);
}

static void add_loop(Gen *g, PNode *n, Tails *tails) {
    if (!ends_only(n) || join_tail(g, tails, n)) return;
    if (is_outside(n, tails->first_inside)) {
        int64_t lo, hi;
        bool known = !n->form.real && !gen_limits(g, n, &lo, &hi, NULL);
        if (!known && gen_has_bounds(g, n)) add_tail(g, tails, &(Tail){.loop = n});
        return;
    }
    for (int i = 0; i < n->nbounds; i++) {
        Tail t;
        if (bound_tail(g, n, &n->bound[i], tails->first_inside, &t)) add_tail(g, tails, &t);
    }
}

static void find_tails(Gen *g, PNode *n, Tails *tails) {
    if (n->kind == P_LOOP && n->nbounds && n->variant.limit < 0) add_loop(g, n, tails);
    for (int i = 0; i < n->nchild; i++) find_tails(g, n->child[i], tails);
}

static bool any_tail(const TailGroup *group, bool (*is)(const PNode *n)) {
    for (int i = 0; i < group->ntails; i++) {
        if (is(group->tail[i].loop)) return true;
        for (int k = 0; k < group->tail[i].same.n; k++)
            if (is(group->tail[i].same.at[k])) return true;
    }
    return false;
}

static bool is_vector(const PNode *n) { return n->simd.vector; }
static bool is_copied(const PNode *n) { return !n->form.real || n->simd.vector; }

static void decide_groups(const Gen *g, Tails *tails) {
    int kept = 0;
    for (int i = 0; i < tails->n; i++) {
        TailGroup *group = tails->at[i];
        if (!set_cases(g, group) || !group->ncases) continue;
        group->exact = any_tail(group, is_vector);
        group->counts = !any_tail(group, is_copied);
        tails->at[kept++] = group;
    }
    tails->n = kept;
}

// ---- Choosing

// Does a case get code of its own where what led here has this share of the work?
static bool is_worth(const TailGroup *group, int i, double share, double least) {
    return group->exact || i == 0 || share * group->at[i].weight >= least;
}

// Copies of the region's code.
static int64_t count(const Tails *tails, int k, double share, double least) {
    if (k == tails->n) return 1;
    const TailGroup *group = tails->at[k];
    int64_t n = 0;
    bool rest = false;
    for (int i = 0; i < group->ncases; i++) {
        if (is_worth(group, i, share, least))
            n += count(tails, k + 1, share * group->at[i].weight, least);
        else
            rest = true;
    }
    return n + (rest ? count(tails, k + 1, share / 64, least) : 0);
}

static void drop(Tails *tails, int at) {
    for (int i = at + 1; i < tails->n; i++) tails->at[i - 1] = tails->at[i];
    tails->n--;
}

// All combinations, if these are few. Else machine loops count at run time, and of the others those
// are made that have a large enough share of the work, so that copies are at most a few times as
// many as cases. The least such share.
static double choose(const Gen *g, Tails *tails) {
    int64_t few = clip(g->m->unroll_limit / 28, 1, FEW_VARIANTS), most = few;
    double least = 1e-4;
    if (count(tails, 0, 1, 0) <= few) return 0;
    for (int i = tails->n - 1; i >= 0; i--)
        if (tails->at[i]->counts) drop(tails, i);
    for (int i = 1; i < tails->n; i++) // those that need all of their cases first
        for (int k = i; k > 0 && tails->at[k]->exact && !tails->at[k - 1]->exact; k--) {
            TailGroup *t = tails->at[k];
            tails->at[k] = tails->at[k - 1];
            tails->at[k - 1] = t;
        }
    if (count(tails, 0, 1, 0) <= few) return 0;
    for (int i = 0; i < tails->n && few > 1; i++) most += 2 * (tails->at[i]->ncases - 1);
    while (least < 1 && count(tails, 0, 1, least) > most) least *= 2;
    while (tails->n > 1 && count(tails, 0, 1, least) > MAX_CASES) drop(tails, 0);
    return least;
}

// ---- Making

static void set_limit(Tail *t, int64_t limit) {
    if (t->bound) return;
    t->loop->variant.limit = limit;
    for (int i = 0; i < t->same.n; i++) t->same.at[i]->variant.limit = limit;
}

// A <- the number of iterations.
static void gen_limit(Gen *g, const PNode *n) {
    gen_move(g, GEN_A, gen_const(n->extent));
    for (int i = 0; i < n->nbounds; i++) { // A <- min(A, limit)
        const LoopBound *b = &n->bound[i];
        g->isa->push(g);
        gen_lin(g, b->rest);
        g->isa->divide(g, -b->k, false);
        gen_op(g, GEN_ADD, GEN_A, gen_const(1));
        g->isa->pop(g);
        g->isa->choose(g, false, GEN_B, GEN_A);
    }
}

// ---- Numbers of iterations, ahead of where they are tested
//
// The loop that decides one last puts it into a slot, so that regions further in compare the slot:
//
//     for n.1                             for n.1 { slot = min(64, 333 - 200*n - 64*n.1)
//       for m                               for m
//         for n.2 in 64 where ...             slot == 64 ? ... : slot == 8 ? ... : ...

// The innermost of the loops that decide; -1: the one that does can be compared itself.
static int decided_by(const Gen *g, const PNode *n) {
    int last = -1, real = 0;
    for (int i = 0; i < n->nbounds; i++) {
        const Lin *l = n->bound[i].rest;
        for (int k = 0; k < l->n; k++) real += g->p->loop[l->t[k].loop]->form.real;
        if (l->n && l->t[l->n - 1].loop > last) last = l->t[l->n - 1].loop;
    }
    return real > 1 ? last : -1;
}

static void put_count(Gen *g, PNode *n) {
    for (int i = 0; i < g->here.counts.n; i++) {
        const PNode *other = g->here.counts.at[i];
        if (!same_bounds(other, n)) continue;
        g->here.count_slot[n->loop] = g->here.count_slot[other->loop];
        vec_push(g->arena, &g->here.counts, n);
        return;
    }
    int slot = g->here.count_slot[n->loop] = gen_end_slot(g, n);
    gen_line(g, n->line);
    gen_limit(g, n);
    gen_move(g, gen_at_slot(slot), GEN_A);
    vec_push(g->arena, &g->here.counts, n);
}

// For loops of the region that contains n.
static void put_counts_of(Gen *g, PNode *n, int loop, int first_inside) {
    if (n->kind == P_LOOP && n->nbounds && n->variant.limit < 0 && !g->here.count_slot[n->loop] &&
        ends_only(n) && is_outside(n, first_inside)) {
        int by = decided_by(g, n);
        if (by >= 0 && by <= loop && gen_has_bounds(g, n)) put_count(g, n);
    }
    for (int i = 0; i < n->nchild; i++) put_counts_of(g, n->child[i], loop, first_inside);
}

static void put_counts(Gen *g, PNode *n, int loop) {
    for (int i = 0, span; i < n->nchild; i += span) {
        PNode *at = n->child[i];
        int first = g->p->nloops;
        span = at->form.region ? at->form.region : 1;
        if (!at->form.region && !(at->kind == P_LOOP && at->simd.vector)) {
            put_counts(g, at, loop);
            continue;
        }
        for (int j = i; j < i + span && first == g->p->nloops; j++)
            first = plan_first_loop(n->child[j], g->p->nloops);
        for (int j = i; j < i + span; j++) put_counts_of(g, n->child[j], loop, first);
    }
}

int gen_put_counts(Gen *g, PNode *n) {
    int before = g->here.counts.n;
    if (n->kind == P_LOOP) put_counts(g, n, n->loop);
    return before;
}

void gen_drop_counts(Gen *g, int before) {
    while (g->here.counts.n > before)
        g->here.count_slot[g->here.counts.at[--g->here.counts.n]->loop] = 0;
}

// ---- Tests

// Jumps to `other` unless the tail has this value.
static void test_tail(Gen *g, const Tail *t, int64_t value, AsmLabel *other) {
    int64_t least = t->bound ? t->never : 0, most = t->bound ? t->full : t->loop->extent;
    int slot = t->bound ? 0 : g->here.count_slot[t->loop->loop];
    GenArg is = slot ? gen_at_slot(slot) : GEN_A;
    if (t->bound)
        gen_lin(g, t->sum);
    else if (!slot)
        gen_limit(g, t->loop);
    GenCond c = value == least ? GEN_GT : value == most ? GEN_LT : GEN_NE;
    gen_branch(g, c, is, gen_const(value), other);
}

// Do cases from `i` on differ in a tail?
static bool tells(const TailGroup *group, int i, int tail) {
    for (int k = i + 1; k < group->ncases; k++)
        if (group->at[k].value[tail] != group->at[i].value[tail]) return true;
    return false;
}

// Jumps to `other` unless it is this case; it is none of those before.
static void test_case(Gen *g, const TailGroup *group, int i, AsmLabel *other) {
    gen_line(g, group->tail[0].loop->line);
    if (group->by_index) {
        GenArg counter = gen_at(gen_counter(g, group->outer[0]->loop));
        GenCond c = i ? GEN_LT : GEN_GE;
        gen_branch(g, c, counter, gen_const(group->at[1].first), other);
        return;
    }
    for (int t = 0; t < group->ntails; t++)
        if (tells(group, i, t)) test_tail(g, &group->tail[t], group->at[i].value[t], other);
}

// The code that follows is for this case.
static void enter_case(Gen *g, TailGroup *group, int i) {
    const TailCase *c = &group->at[i];
    g->here.cases++;
    for (int t = 0; t < group->ntails; t++) {
        Tail *tail = &group->tail[t];
        set_limit(tail, c->value[t]);
        if (!tail->bound) continue;
        int64_t value = c->value[t]; // of indices; copies of a machine loop are beside its counter
        for (int k = 0; k < tail->sum->n; k++)
            value -= tail->sum->t[k].k * g->here.value[tail->sum->t[k].loop];
        gen_know(g, tail->sum, c->value[t] == tail->never ? INT64_MIN : value,
                 c->value[t] == tail->full ? INT64_MAX : value);
    }
    if (!group->by_index) return;
    LinTerm counter = {.loop = group->outer[0]->loop, .k = 1};
    int64_t iteration = group->at[1].first;
    gen_know(g, code_lin(g->arena, 0, &counter, 1), i ? iteration : 0,
             i ? INT64_MAX : iteration - 1);
}

static void leave_case(Gen *g, TailGroup *group, int known) {
    for (int t = 0; t < group->ntails; t++) set_limit(&group->tail[t], -1);
    g->here.known.n = known;
    g->here.cases--;
}

typedef struct Variants {
    Tails tails;
    double least;
    AsmLabel done;
    void (*emit)(Gen *g, PNode **at, int n);
    PNode **at;
    int n;
} Variants;

// Generates the combinations of cases one after the other, each behind its test; the rest comes
// last.
static void variants(Gen *g, Variants *v, int k, double share) {
    if (k == v->tails.n) {
        v->emit(g, v->at, v->n);
        gen_jump(g, &v->done);
        return;
    }
    TailGroup *group = v->tails.at[k];
    int known = g->here.known.n, worth = 0;
    for (int i = 0; i < group->ncases; i++) worth += is_worth(group, i, share, v->least);
    for (int i = 0, made = 0; i < group->ncases; i++) {
        if (!is_worth(group, i, share, v->least)) continue;
        AsmLabel other = asm_label(&g->a);
        bool last = ++made == group->ncases;
        if (!last) test_case(g, group, i, &other);
        enter_case(g, group, i);
        variants(g, v, k + 1, share * group->at[i].weight);
        leave_case(g, group, known);
        if (!last) asm_bind(&g->a, &other);
    }
    if (worth < group->ncases) variants(g, v, k + 1, share / 64);
}

void gen_with_tails(Gen *g, PNode **at, int n, int first_inside,
                    void (*emit)(Gen *g, PNode **at, int n)) {
    Variants v = {.tails = {.first_inside = first_inside}, .emit = emit, .at = at, .n = n};
    for (int j = 0; j < n && first_inside >= 0; j++) find_tails(g, at[j], &v.tails);
    decide_groups(g, &v.tails);
    v.least = choose(g, &v.tails);
    if (!v.tails.n) {
        emit(g, at, n);
        return;
    }
    v.done = asm_label(&g->a);
    variants(g, &v, 0, 1);
    asm_bind(&g->a, &v.done);
}

// The body of a machine loop of the region; at its end accumulators are as at its beginning.
static void emit_body(Gen *g, PNode **at, int n) {
    const Lanes *meet = g->here.meet;
    for (int i = 0; i < n; i++) gen_walk(g, at[i]);
    gen_boundary(g, meet);
    g->here.meet = meet;
}

// Is there a copy of a loop in lanes whose end is not known here?
static bool has_open_lanes(Gen *g, PNode *n) {
    int64_t lo = 0, hi = 1;
    if (n->kind == P_LOOP && n->simd.vector && n->form.real) return gen_has_bounds(g, n);
    if (n->kind == P_LOOP && !n->form.real && gen_limits(g, n, &lo, &hi, NULL) && n->simd.vector)
        return true;
    if (n->kind == P_LOOP && n->simd.vector) return false;
    bool open = false;
    for (int64_t v = lo; v < hi && !open; v++) {
        if (n->kind == P_LOOP) g->here.value[n->loop] = v;
        for (int i = 0; i < n->nchild && !open; i++) open = has_open_lanes(g, n->child[i]);
    }
    if (n->kind == P_LOOP) g->here.value[n->loop] = 0;
    return open;
}

static bool has_ragged_lanes(const PNode *n) {
    bool has = n->kind == P_LOOP && n->simd.vector && n->nbounds;
    for (int i = 0; i < n->nchild && !has; i++) has = has_ragged_lanes(n->child[i]);
    return has;
}

bool gen_tails_inside(Gen *g, PNode *n) {
    Variants v = {.emit = emit_body, .at = n->child, .n = n->nchild};
    bool open = false;
    for (int i = 0; i < n->nchild && !open; i++)
        open = has_ragged_lanes(n->child[i]) && has_open_lanes(g, n->child[i]);
    if (!open) return false;
    v.tails.first_inside = n->loop + 1;
    for (int i = 0; i < n->nchild; i++) find_tails(g, n->child[i], &v.tails);
    for (int i = v.tails.n - 1; i >= 0; i--) // the others have tests
        if (!any_tail(v.tails.at[i], is_vector)) drop(&v.tails, i);
    decide_groups(g, &v.tails);
    if (!v.tails.n) return false;
    Lanes lanes = gen_lanes_wanted(g, n);
    const Lanes *around = g->here.meet;
    gen_boundary(g, &lanes);
    gen_begin_loop(g); // every iteration chooses
    g->here.meet = &lanes;
    v.done = asm_label(&g->a);
    variants(g, &v, 0, 1);
    asm_bind(&g->a, &v.done);
    g->here.meet = around;
    return true;
}
