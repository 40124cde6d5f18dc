// Random walks: ten transformations on the Tree of a random program under a random schedule. The
// result stays the same bit by bit, the verifier and the trace checker accept every Tree on the
// way, and each transformation is applied, and refused, at least once.
#include "unit/check.h"

#include "base/checked.h"
#include "support/genprog.h"
#include "support/gensched.h"
#include "support/proglab.h"
#include "support/shapes.h"
#include "support/shrink.h"
#include "tree/cost.h"
#include "tree/trace.h"
#include "tree/tree_interp.h"
#include "transform/transform.h"
#include "verify/verify.h"

typedef enum Action {
    SPLIT,
    SPLIT_INTERLEAVED,
    MERGE,
    INTERCHANGE,
    MOVE,
    SINK,
    FUSE,
    DISTRIBUTE,
    UNROLL,
    UNROLL_AND_JAM,
    VECTORIZE,
    PARALLELIZE,
    BIND,
    ANNOTATE,
    TILE,
    PEEL,
    SKEW,
    STAGE,
    UNSTAGE,
    COPY_INPUT,
    DROP_COPY,
    SWAP_LAYOUT,
    ACTIONS
} Action;

static const char *const action_name[ACTIONS] = {
    "split",   "split interleaved", "merge",     "interchange", "move",      "sink",
    "fuse",    "distribute",        "unroll",    "jam",         "vectorize", "parallelize",
    "bind",    "annotate",          "tile",      "peel",        "skew",      "stage",
    "unstage", "copy input",        "drop copy", "swap layout",
};

typedef struct Totals {
    int64_t walks, steps, traced, recomputed, pairs, unproven;
    int64_t done[ACTIONS], refused[ACTIONS];
    int64_t order, shape, verify, not_proven; // refusals by reason
    int64_t forced, confirmed;
    Verify verifier;
} Totals;

typedef struct Walk {
    Lab *lab;
    uint64_t *state;
    const Tree *t;
    int loop[TREE_MAX_INDICES], nloops;
} Walk;

static uint64_t draw(Walk *w, uint64_t n) { return n ? check_random(w->state) % n : 0; }

static bool note_loop(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    Walk *w = user;
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++) w->loop[w->nloops++] = b->index[i].id;
    return true;
}

static int any_loop(Walk *w) { return w->nloops ? w->loop[draw(w, (uint64_t)w->nloops)] : -1; }

// Prefers buffers that are allocated.
static int any_buffer(Walk *w) {
    int n = w->t->buffers.n, first = w->t->nargs;
    return first < n && draw(w, 4) ? first + (int)draw(w, (uint64_t)(n - first))
                                   : (int)draw(w, (uint64_t)n);
}

// A buffer together with a loop that allocates it, where there is one.
static void any_allocation(Walk *w, int *buffer, int *loop) {
    *buffer = any_buffer(w);
    *loop = any_loop(w);
    for (int i = 0; i < w->nloops; i++) {
        const Block *b = tree_loop_at(w->t, w->loop[i]);
        if (b->nallocs && draw(w, 2)) {
            *buffer = b->alloc[draw(w, (uint64_t)b->nallocs)];
            *loop = w->loop[i];
        }
    }
}

// Brings a buffer back inside its loop: one that lies so already, or one that is staged first.
static const Tree *unstage(Walk *w, const TreeEdit *e) {
    const Tree *t = w->t;
    int buffer, loop;
    any_allocation(w, &buffer, &loop);
    if (draw(w, 3) == 0) return tree_unstage(t, buffer, loop, e);
    const Tree *staged = tree_stage(t, buffer, loop, e);
    return staged ? tree_unstage(staged, staged->buffers.n - 1, loop, e) : NULL;
}

static const Tree *step(Walk *w, Action action, const TreeEdit *e) {
    const Tree *t = w->t;
    int loop = any_loop(w), buffer = any_buffer(w);
    int64_t size = 1 + (int64_t)draw(w, 5);
    static const Kind kinds[] = {KIND_SERIAL, KIND_ANY, KIND_UNROLL, KIND_PARALLEL};
    switch (action) {
    case SPLIT: return tree_split(t, loop, size, false, e);
    case SPLIT_INTERLEAVED: return tree_split(t, loop, size, true, e);
    case MERGE: return tree_merge(t, loop, e);
    case INTERCHANGE: return tree_interchange(t, loop, e);
    case MOVE: {
        TreeRef ref = {draw(w, 2) ? loop : -1, (int)draw(w, (uint64_t)tree_leaves(t))};
        return tree_move(t, ref, draw(w, 2) ? 1 : -1, e);
    }
    case SINK: {
        const Block *parent = NULL; // a leaf beside a loop, if there is one
        for (int i = 0; i < tree_leaves(t); i++) {
            parent = tree_parent_of(t, (TreeRef){-1, i});
            for (int k = 0; k < parent->nchildren; k++) {
                const Block *b = as_block(parent->child[k]);
                if (b && b->nindex && draw(w, 2)) return tree_sink(t, i, b->index[0].id, e);
            }
        }
        return tree_sink(t, (int)draw(w, (uint64_t)tree_leaves(t)), loop, e);
    }
    case FUSE: return tree_fuse(t, loop, e);
    case DISTRIBUTE: return tree_distribute(t, loop, 1, e);
    case UNROLL: {
        const Block *b = loop >= 0 ? tree_loop_at(t, loop) : NULL;
        return b && b->index[0].extent > 6 ? NULL : tree_unroll(t, loop, e);
    }
    case UNROLL_AND_JAM: return tree_unroll_and_jam(t, loop, 1 + size % 3, e);
    case VECTORIZE: return tree_vectorize(t, loop, e);
    case PARALLELIZE: return tree_parallelize(t, loop, e);
    case BIND: return tree_bind(t, loop, KIND_GRID_X + (Kind)draw(w, 6), e);
    case ANNOTATE: return tree_annotate(t, loop, kinds[draw(w, 4)], e);
    case TILE: return tree_tile(t, loop, size, 1 + (int64_t)draw(w, 4), e);
    case PEEL: return tree_peel(t, loop, size, e);
    case SKEW: {
        int inner = any_loop(w);
        const Block *b = inner >= 0 ? tree_loop_at(t, inner) : NULL; // long loops take long to run
        bool few = b && b->index[0].extent <= 6 && draw(w, 4) == 0;
        return few ? tree_skew(t, inner, loop, size % 4 - 1, e) : NULL;
    }
    case STAGE: any_allocation(w, &buffer, &loop); return tree_stage(t, buffer, loop, e);
    case UNSTAGE: return unstage(w, e);
    case COPY_INPUT: return tree_copy_input(t, (int)draw(w, (uint64_t)t->buffers.n), loop, e);
    case DROP_COPY: return tree_drop_copy(t, buffer, e);
    case SWAP_LAYOUT: return tree_swap_layout(t, buffer, 0, 1, e);
    case ACTIONS: break;
    }
    return NULL;
}

static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    bool a = program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags);
    bool b = tree_interpret(&lab->arena, t, got.view, (InterpFlags){0}, &lab->diags);
    if (a != b) return b ? "only the program fails" : "only the tree fails";
    return a ? lab_difference(lab, p, &got, &want) : NULL;
}

static int64_t instances(const Program *p) {
    int64_t sum = 0;
    for (int i = 0; i < p->stmts.n; i++) {
        int64_t n = 1;
        for (int k = 0; k < p->stmts.at[i].niters; k++)
            n *= max_i64(iter_hi(&p->stmts.at[i].iter[k]) - iter_lo(&p->stmts.at[i].iter[k]), 0);
        sum += n;
    }
    return sum;
}

static const char *show(Lab *lab, const Tree *t) {
    Text out = {.arena = &lab->arena};
    tree_show(&out, t, false);
    return text_str(&out);
}

// NULL: all is well.
static const char *fault(Lab *lab, const Program *p, const Tree *t, uint64_t seed, Totals *totals) {
    DiagList found = {.arena = &lab->arena};
    const char *d = difference(lab, p, t, seed);
    if (d) return d;
    VerifyAnswer answer = tree_verify(&lab->arena, t, &totals->verifier, &found);
    totals->unproven += answer == VERIFY_UNPROVEN;
    if (answer == VERIFY_REFUSED) return found.items.at[0]->text;
    if (instances(p) > 1500) return NULL;
    LabData data = lab_data(lab, p, seed);
    TraceCount count;
    int before = lab->diags.errors;
    lab->diags.items.n = 0;
    if (!tree_trace(&lab->arena, t, data.view, &count, &lab->diags) && lab->diags.items.n) {
        const Diag *first = lab->diags.items.at[0];
        if (first->id != DIAG_TREE_INDEX_OUTSIDE) return first->text; // a gather, in both
    }
    lab->diags.errors = before;
    totals->traced++;
    totals->recomputed += count.recomputed;
    totals->pairs += count.pairs;
    return NULL;
}

static void count_refusal(Totals *totals, const DiagList *found) {
    for (int i = 0; i < found->items.n; i++) {
        DiagId id = found->items.at[i]->id;
        totals->order += id == DIAG_EDIT_ORDER;
        totals->shape += id == DIAG_EDIT_SHAPE;
        totals->verify += id == DIAG_EDIT_VERIFY;
        totals->not_proven += id == DIAG_EDIT_NOT_PROVEN;
    }
}

static bool only_shape(const DiagList *found) {
    return found->items.n && found->items.at[0]->id == DIAG_EDIT_SHAPE;
}

// A refusal that dependences gave: done all the same, the trace checker finds fault with it.
static void confirm(Lab *lab, const Program *p, const Tree *t, Action action, uint64_t state,
                    uint64_t seed, Totals *totals) {
    Walk w = {.lab = lab, .state = &state, .t = t};
    tree_walk(t, note_loop, &w);
    DiagList found = {.arena = &lab->arena};
    TreeEdit e = {.diags = &found, .unchecked = true};
    const Tree *forced = step(&w, action, &e);
    if (!forced || instances(p) > 1500) return;
    DiagList faults = {.arena = &lab->arena};
    LabData data = lab_data(lab, p, seed);
    totals->forced++;
    totals->confirmed += !tree_trace(&lab->arena, forced, data.view, NULL, &faults);
}

// --- Shrinking ---------------------------------------------------------------------------------

// A walk as it went: transformations, each with the random numbers that it drew from.
typedef struct Step {
    Action action;
    uint64_t state;
} Step;

typedef struct Trail {
    Lab *lab;
    uint64_t seed;
    int n;
    Step step[10];
    const Tree *before, *after; // of the transformation that failed; before NULL: lowering did
    Action failed;
    const char *what;
} Trail;

// Walks again; a transformation that is refused by now is left out.
static bool fails(void *user, const Program *p, const Schedule *s) {
    Trail *trail = user;
    Totals ignored = {0};
    const Tree *t = tree_lower(&trail->lab->arena, p, s, &trail->lab->diags), *before = NULL;
    const char *what = t ? fault(trail->lab, p, t, trail->seed, &ignored) : NULL;
    Action last = ACTIONS;
    for (int i = 0; t && i < trail->n && !what; i++) {
        DiagList found = {.arena = &trail->lab->arena};
        TreeEdit e = {.diags = &found};
        uint64_t state = trail->step[i].state;
        Walk w = {.lab = trail->lab, .state = &state, .t = t};
        tree_walk(t, note_loop, &w);
        const Tree *next = step(&w, trail->step[i].action, &e);
        if (!next) continue;
        last = trail->step[i].action;
        before = t;
        t = next;
        what = fault(trail->lab, p, t, trail->seed, &ignored);
    }
    if (!what) return false;
    trail->before = before;
    trail->after = t;
    trail->failed = last;
    trail->what = what;
    return true;
}

static bool less_steps(Trail *trail, const Program *p, const Schedule *s) {
    for (int i = 0; i < trail->n; i++) {
        Trail less = *trail;
        less.n--;
        memmove(less.step + i, less.step + i + 1, (size_t)(less.n - i) * sizeof *less.step);
        if (fails(&less, p, s)) return *trail = less, true;
    }
    return false;
}

static void explain(Trail *trail, const Program *p, const Schedule *s) {
    while (less_steps(trail, p, s)) {}
    shrink_pair(trail->lab, trail->seed, &p, &s, fails, trail);
    while (less_steps(trail, p, s)) {}
    shrink_report(trail->lab, trail->seed, trail->what, p, s);
    printf("--- steps:");
    for (int i = 0; i < trail->n; i++) printf(" %s", action_name[trail->step[i].action]);
    if (trail->before)
        printf("\n--- before %s\n%s--- after\n%s", action_name[trail->failed],
               show(trail->lab, trail->before), show(trail->lab, trail->after));
}

// --- Walks -------------------------------------------------------------------------------------

// One transformation of a kind, at a place that its shape allows if one is found; NULL: refused.
static const Tree *attempt(Lab *lab, const Program *p, const Tree *t, Action action, Trail *trail,
                           uint64_t *state, Totals *totals) {
    Walk w = {.lab = lab, .state = state, .t = t};
    tree_walk(t, note_loop, &w);
    DiagList found;
    uint64_t before = 0;
    for (int i = 0; i < 8; i++) {
        found = (DiagList){.arena = &lab->arena};
        TreeEdit e = {.diags = &found};
        before = *state;
        const Tree *next = step(&w, action, &e);
        if (next) trail->step[trail->n++] = (Step){action, before};
        if (next) return next;
        if (!only_shape(&found)) break;
    }
    if (found.items.n && !only_shape(&found))
        confirm(lab, p, t, action, before, trail->seed, totals);
    totals->refused[action] += found.errors > 0;
    count_refusal(totals, &found);
    return NULL;
}

// Copies and recomputation can multiply the work of a small program by hundreds: a Tree that runs
// more instances than this is walked around.
enum { LARGE = 20000 };

static bool large(Lab *lab, const Tree *t) { return tree_instances(&lab->arena, t) > LARGE; }

static bool walk(Lab *lab, const Program *p, const Schedule *s, const Tree *t, uint64_t seed,
                 Totals *totals) {
    uint64_t state = seed * 7919;
    Trail trail = {.lab = lab, .seed = seed};
    const char *what = fault(lab, p, t, seed, totals);
    for (int i = 0; i < 10 && !what; i++) {
        Walk w = {.state = &state};
        Action action = (Action)draw(&w, ACTIONS);
        const Tree *next = attempt(lab, p, t, action, &trail, &state, totals);
        if (next && large(lab, next)) trail.n--;
        if (!next || large(lab, next)) continue;
        totals->steps++;
        totals->done[action]++;
        what = fault(lab, p, next, seed, totals);
        t = next;
    }
    totals->walks++;
    if (CHECK(!what)) return true;
    explain(&trail, p, s);
    return false;
}

static const Program *any_program(Lab *lab, uint64_t seed) {
    uint64_t state = seed;
    if (check_random(&state) % 3 == 0) return genprog(lab, seed);
    const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
    int64_t values[3];
    for (int k = 0; k < shape->nparams; k++) values[k] = 1 + (int64_t)(check_random(&state) % 6);
    return lab_program(lab, shape->text, values);
}

static void report(const Totals *t, int64_t rounds) {
    printf("%lld walks, %lld steps; %lld trees traced (%lld ordered pairs, %lld instances "
           "recomputed)\n",
           (long long)t->walks, (long long)t->steps, (long long)t->traced, (long long)t->pairs,
           (long long)t->recomputed);
    printf("  refused: %lld by order, %lld by the verifier, %lld not proven, %lld by shape\n",
           (long long)t->order, (long long)t->verify, (long long)t->not_proven,
           (long long)t->shape);
    printf("  of %lld refusals forced, %lld are wrong in the trace\n", (long long)t->forced,
           (long long)t->confirmed);
    printf("  verifier: %lld questions, %lld undecided; %lld of %lld trees not proven\n ",
           (long long)t->verifier.questions, (long long)t->verifier.undecided,
           (long long)t->unproven, (long long)(t->walks + t->steps));
    for (int a = 0; a < ACTIONS; a++)
        printf(" %s %lld/%lld", action_name[a], (long long)t->done[a], (long long)t->refused[a]);
    printf("\n");
    if (!check_usual_rounds()) return;
    for (int a = 0; a < ACTIONS; a++)
        if (!CHECK(t->done[a] > 0 && (t->refused[a] > 0 || a == SKEW))) // a skew is always legal
            printf("never: %s\n", action_name[a]);
    CHECK(t->verify > 0 && t->shape > 0);
    CHECK(t->order > 0 || rounds < 2000); // about one in 200 walks
}

TEST(walks_of_ten_transformations_keep_the_meaning) {
    Totals totals = {0};
    int64_t rounds = check_long_rounds(2000);
    uint64_t first = check_first_seed();
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = first + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = any_program(&lab, seed);
        GenSched g = {.state = seed, .plain = seed % 3 != 0};
        const Schedule *s = p ? gen_schedule(&g, &lab.arena, p) : NULL;
        const Tree *t = p ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
        if (p && (!t || large(&lab, t))) { // an option that cannot be had
            g = (GenSched){.state = seed, .plain = true};
            s = gen_schedule(&g, &lab.arena, p);
            t = tree_lower(&lab.arena, p, s, &lab.diags);
        }
        bool ok = CHECK(p && t) && walk(&lab, p, s, t, seed, &totals);
        lab_end(&lab);
        if (!ok) return;
    }
    report(&totals, rounds);
}
