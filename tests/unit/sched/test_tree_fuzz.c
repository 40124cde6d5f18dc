// Random (program, schedule) pairs: the tree's interpreter against the program's, bit for bit on
// exact data. A failure is shrunk and printed as program text and schedule text; a feature that
// never occurred fails the run.
#include "unit/check.h"

#include <math.h>

#include "base/checked.h"
#include "tree/cost.h"

#include "support/genprog.h"
#include "support/gensched.h"
#include "support/gensteps.h"
#include "support/pairs.h"
#include "support/proglab.h"
#include "support/shapes.h"
#include "support/shrink.h"
#include "verify/verify.h"
#include "tree/tree_interp.h"

typedef struct Totals {
    int64_t feature[FEATURE_COUNT];
    int64_t pairs, refused, shared, guards, ragged, unproven;
    Verify verify;
} Totals;

static const InterpFlags flag_sets[] = {
    {0}, {.accumulate = true}, {.skip_post = true}, {.trap_uninitialised = true}};

// Random programs keep results exact when outputs start from the identity; where old content comes
// in, they may not stay so.
static bool is_small(const Program *p, const LabData *d) {
    for (int i = p->ninputs; i < d->n; i++)
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
            if (type_is_float(p->tensors.at[i].type) && !(fabs(lab_value(d, i, e)) <= 64))
                return false;
    return true;
}

// NULL: the same; else what differs.
static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    int sets = t->program == p ? 4 : 3; // copies read what may never have been written
    for (int f = 0; f < sets; f++) {
        LabData want = lab_data(lab, p, seed);
        for (int i = p->ninputs; flag_sets[f].accumulate && i < want.n; i++) // garbage would round
            for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
                lab_set(&want, i, e, 1);
        LabData got = lab_copy(lab, p, &want);
        bool a = program_interpret(&lab->arena, p, want.view, flag_sets[f], &lab->diags);
        bool b = tree_interpret(&lab->arena, t, got.view, flag_sets[f], &lab->diags);
        if (!a && (!b || f == 3)) continue; // an index out of range in both, or never written
        if (a != b) return b ? "only the program fails" : "only the tree fails";
        const char *d = lab_difference(lab, p, &got, &want);
        if (d && !(flag_sets[f].accumulate && !is_small(p, &want))) return d;
    }
    return NULL;
}

static bool reads_back(Lab *lab, const Schedule *s) {
    const char *text = shrink_schedule_text(lab, s);
    Source src = {"s.lws", text, (uint32_t)strlen(text)};
    const Schedule *again = schedule_parse(&lab->arena, &lab->names, &src, &lab->diags);
    return again && !strcmp(shrink_schedule_text(lab, again), text);
}

// The Tree, unless copying whole tensors in inner loops would take too long to run.
static Tree *lowered(Lab *lab, const Program *p, const Schedule *s) {
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    return t && tree_cost(&lab->arena, t)->at[0].iterations < 200000 ? t : NULL;
}

// NULL: verified, and the same; else what is wrong.
static const char *fault(Lab *lab, const Program *p, const Tree *t, uint64_t seed, Totals *totals) {
    DiagList found = {.arena = &lab->arena};
    VerifyAnswer answer = tree_verify(&lab->arena, t, &totals->verify, &found);
    totals->unproven += answer == VERIFY_UNPROVEN;
    return answer == VERIFY_REFUSED ? found.items.at[0]->text : difference(lab, p, t, seed);
}

static const char *pair_fault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed) {
    Totals ignored = {0};
    const Tree *t = lowered(lab, p, s);
    return t ? fault(lab, p, t, seed, &ignored) : NULL;
}

static bool count_blocks(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    Totals *totals = user;
    const Block *b = as_block(node);
    if (b && !b->nindex && b->nconstraints) totals->guards++;
    if (b && b->nindex && b->nconstraints) totals->ragged++;
    int loops = 0;
    for (int i = 0; b && i < b->nchildren; i++)
        loops += as_leaf(b->child[i]) || as_block(b->child[i]);
    if (b && b->nindex && loops > 1) totals->shared++;
    return true;
}

// One pair; false after a failure.
static bool try_pair(Lab *lab, const Program *p, uint64_t seed, Totals *totals) {
    GenSched g = {.state = seed};
    const Schedule *s = gen_schedule(&g, &lab->arena, p);
    if (!CHECK(reads_back(lab, s))) {
        printf("%s", shrink_schedule_text(lab, s));
        return false;
    }
    Tree *t = lowered(lab, p, s);
    if (!t) { // a refusal is fine, with a reason, where an option asks for what cannot be
        totals->refused++;
        const Schedule *less;
        for (int n = 0; !t && (less = schedule_without(s, n)); n++)
            if ((t = lowered(lab, p, less))) s = less;
    }
    if (!t) {
        g = (GenSched){.state = seed, .plain = true};
        s = gen_schedule(&g, &lab->arena, p);
        t = tree_lower(&lab->arena, p, s, &lab->diags);
        if (!CHECK(t)) {
            printf("seed %llu\n%s%s\n%s", (unsigned long long)seed, lab_errors(lab),
                   lab_text(lab, p), shrink_schedule_text(lab, s));
            return false;
        }
    }
    sched_features(s, g.used);
    totals->pairs++;
    for (int f = 0; f < FEATURE_COUNT; f++) totals->feature[f] += g.used[f];
    tree_walk(t, count_blocks, totals);
    if (CHECK(!fault(lab, p, t, seed, totals))) return true;
    shrink_explain(lab, seed, p, s, pair_fault);
    return false;
}

// `seldom`: a feature that may not occur; -1: all do.
static void report(const Totals *totals, int seldom) {
    printf("%lld pairs, %lld refused first, %lld shared blocks, %lld guards, %lld tails\n",
           (long long)totals->pairs, (long long)totals->refused, (long long)totals->shared,
           (long long)totals->guards, (long long)totals->ragged);
    for (int f = 0; f < FEATURE_COUNT; f++)
        printf("%s%s %lld", f ? ", " : "  ", sched_feature_name[f], (long long)totals->feature[f]);
    printf("\n");
    for (int f = 0; f < FEATURE_COUNT; f++)
        if (f != seldom && !CHECK(totals->feature[f] > 0 || !check_usual_rounds()))
            printf("never: %s\n", sched_feature_name[f]);
    printf("  verifier: %lld questions, %lld undecided; %lld trees not proven (%.2f %%)\n",
           (long long)totals->verify.questions, (long long)totals->verify.undecided,
           (long long)totals->unproven,
           100.0 * (double)totals->unproven / (double)max_i64(totals->pairs, 1));
    CHECK((totals->shared > 0 && totals->guards > 0 && totals->ragged > 0) ||
          !check_usual_rounds());
}

TEST(schedules_of_known_programs_keep_their_meaning) {
    Totals totals = {0};
    for (int64_t i = 0; i < check_long_rounds(2000); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
        int64_t values[3];
        for (int k = 0; k < shape->nparams; k++) {
            uint64_t r = check_random(&state);
            values[k] = r % 12 == 0 ? 0 : (int64_t)(r / 12 % (k ? 7 : 11)) + 1;
        }
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, shape->text, values);
        if (!CHECK(p)) printf("%s\n", lab_errors(&lab));
        bool ok = p && try_pair(&lab, p, seed, &totals);
        lab_end(&lab);
        if (!ok) return;
    }
    report(&totals, -1);
}

TEST(schedules_of_random_programs_keep_their_meaning) {
    Totals totals = {0};
    for (int64_t i = 0; i < check_long_rounds(2000); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        bool ok = try_pair(&lab, genprog(&lab, seed), seed, &totals);
        lab_end(&lab);
        if (!ok) return;
    }
    report(&totals, FEATURE_AFTER); // few of their statements may follow others
}

TEST(schedules_of_steps_keep_their_meaning) {
    Totals totals = {0};
    for (int64_t i = 0; i < check_long_rounds(1500); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = pair_steps(&lab, seed);
        if (!CHECK(p)) printf("%s\n%s", lab_errors(&lab), gensteps_text(&lab.arena, seed));
        bool ok = p && try_pair(&lab, p, seed, &totals);
        lab_end(&lab);
        if (!ok) return;
    }
    printf("%lld pairs, %lld refused first, %lld skewed\n", (long long)totals.pairs,
           (long long)totals.refused, (long long)totals.feature[FEATURE_SKEW]);
    CHECK(totals.feature[FEATURE_SKEW] > 100 || !check_usual_rounds());
}

// --- Walks of actions ----------------------------------------------------------------------------

static const char *const action_name[] = {
    "split",  "interleave", "merge",      "move",           "swap",        "parallel",  "unroll",
    "vector", "stage",      "less reuse", "more reuse",     "copy",        "drop copy", "layout",
    "at",     "inline",     "after",      "maximise reuse", "unroll inner"};
enum { ACTIONS = sizeof action_name / sizeof *action_name };

typedef struct Walk {
    Lab *lab;
    const Program *p;
    uint64_t state;
} Walk;

static int draw(Walk *w, int n) { return n > 0 ? (int)(check_random(&w->state) % (uint64_t)n) : 0; }

static LoopRef some_loop(Walk *w, const Schedule *s) {
    const SchedStmt *of = s->stmt[draw(w, s->nstmts)];
    if (!of->nloops) return (LoopRef){0};
    const SchedLoop *l = &of->loop[draw(w, of->nloops)];
    return (LoopRef){l->iter, l->step, l->interleaved, {0}};
}

static const Schedule *copy_something(Walk *w, const Schedule *s, Name label) {
    SchedCopy c = {.tensor = w->p->tensors.at[draw(w, w->p->tensors.n)].name};
    c.storage.home = HOME_AUTO;
    if (draw(w, 2)) c.at = some_loop(w, s);
    return schedule_copy(s, label, &c);
}

static void note_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    bool *read = user;
    read[a->tensor] = true;
}

// Puts a statement behind the last one before it whose result it reads.
static const Schedule *put_behind(Walk *w, const Schedule *s, int from) {
    bool *read = arena_new_n(&w->lab->arena, bool, w->p->tensors.n);
    for (int i = from; i < w->p->stmts.n; i++) {
        expr_visit_accesses(w->p->stmts.at[i].value, note_read, read);
        for (int k = i - 1; k >= 0; k--)
            if (read[w->p->stmts.at[k].write->tensor])
                return schedule_after(s, w->p->stmts.at[i].label, w->p->stmts.at[k].label);
    }
    return NULL;
}

// NULL when the action does not apply.
static const Schedule *act(Walk *w, const Schedule *s, int action) {
    const SchedStmt *of = s->stmt[draw(w, s->nstmts)];
    const Stmt *st = &w->p->stmts.at[draw(w, w->p->stmts.n)];
    Name label = of->label;
    int at = draw(w, of->nloops), to = draw(w, of->nloops);
    switch (action) {
    case 0: return schedule_split(s, label, at, 1 + draw(w, 6), false);
    case 1: return schedule_split(s, label, at, 1 + draw(w, 6), true);
    case 2: return schedule_merge(s, label, at);
    case 3: return schedule_move(s, label, at, to);
    case 4: return schedule_swap(s, label, at, to);
    case 5: return schedule_mark(s, label, at, KIND_PARALLEL);
    case 6: return schedule_mark(s, label, at, KIND_UNROLL);
    case 7: return schedule_mark(s, label, of->nloops - 1, KIND_VECTOR);
    case 8: return schedule_stage(s, label, at);
    case 9: return schedule_decrease_reuse(s, label);
    case 10: return schedule_increase_reuse(s, label);
    case 11: return copy_something(w, s, label);
    case 12: return schedule_drop_copy(s, label, of->ncopies ? of->copy[0].tensor : NULL);
    case 13: return schedule_swap_dims(s, st->label, st->write->rank, 0, st->write->rank - 1);
    case 14: return schedule_at(s, st->label, some_loop(w, s));
    case 15: return schedule_inline(s, st->label, true);
    case 16: return put_behind(w, s, draw(w, w->p->stmts.n));
    case 17: return schedule_maximise_reuse(&w->lab->arena, w->p, s);
    default: return schedule_unroll_inner(&w->lab->arena, w->p, s, 16);
    }
}

// Ten actions; those that do not apply, or that lowering refuses, leave the Schedule as it was.
static bool walk(Lab *lab, const Program *p, uint64_t seed, int64_t *applied) {
    Walk w = {lab, p, seed};
    const Schedule *s = schedule_complete(&lab->arena, p, NULL);
    const Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    for (int i = 0; i < 10 && p->stmts.n; i++) {
        int action = draw(&w, ACTIONS);
        const Schedule *next = act(&w, s, action);
        const Tree *made = next ? lowered(lab, p, next) : NULL;
        if (!made) continue;
        s = next;
        t = made;
        applied[action]++;
    }
    if (CHECK(t && !difference(lab, p, t, seed))) return true;
    shrink_explain(lab, seed, p, s, pair_fault);
    return false;
}

TEST(walks_of_actions_keep_the_meaning) {
    int64_t applied[ACTIONS] = {0}, walks = check_long_rounds(2000);
    for (int64_t i = 0; i < walks; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        bool ok = walk(&lab, genprog(&lab, seed), seed, applied);
        lab_end(&lab);
        if (!ok) return;
    }
    printf("%lld walks:", (long long)walks);
    for (int a = 0; a < ACTIONS; a++) {
        printf(" %s %lld", action_name[a], (long long)applied[a]);
        CHECK(applied[a] > 0 || !check_usual_rounds());
    }
    printf("\n");
}
