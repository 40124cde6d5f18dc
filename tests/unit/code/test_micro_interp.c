// Random (program, schedule) pairs compiled for instruction sets that exist nowhere: vectors of 4,
// 8 and 16 lanes, with and without masks, and with register counts and capabilities drawn at
// random. The micro-operations and the index arithmetic around them are interpreted
// (support/microlab.h) and compared with the program's interpreter, bit for bit on exact data. A
// failure is shrunk.
#include "unit/check.h"

#include "support/microlab.h"
#include "support/pairs.h"
#include "support/shrink.h"
#include "tree/cost.h"

static const InterpFlags flag_sets[] = {{0}, {.accumulate = true}, {.skip_post = true}};

enum { MOST_INSTANCES = 200000, MOST_VISITS = 1000000 }; // of leaves and of blocks, in a pair

typedef struct Totals {
    int64_t pairs, runs, declined;
    int64_t large; // pairs left out because they take too long
} Totals;

static Totals totals;

// The reference's result; false where the program refuses its data.
static bool reference(Lab *lab, const Program *p, InterpFlags flags, uint64_t seed, LabData *start,
                      LabData *want) {
    *want = lab_data(lab, p, seed);
    for (int i = p->ninputs; flags.accumulate && i < want->n; i++) // garbage would round
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
            lab_set(want, i, e, (double)(e % 3));
    *start = lab_copy(lab, p, want);
    return program_interpret(&lab->arena, p, want->view, flags, &lab->diags);
}

// NULL: the same on a target; else the first difference.
static const char *difference_on(Lab *lab, const Program *p, const Tree *t, int number,
                                 uint64_t seed, const LabData *start, const LabData *want,
                                 InterpFlags flags) {
    MicroTarget target = micro_target(number, seed);
    if (seed % 3) target.machine.unroll_limit = seed % 3 == 1 ? 8 : 40; // small programs have loops
    LabData got = lab_copy(lab, p, start);
    const char *what = NULL;
    totals.runs++;
    switch (micro_run(lab, t, &target, &got, flags, 1 + (int)(seed % 3),
                      (seed ^ (uint64_t)number) & 1)) {
    case MICRO_OK: what = lab_difference(lab, p, &got, want); break;
    case MICRO_DECLINED: totals.declined++; break;
    case MICRO_STATUS: what = "a status"; break;
    case MICRO_ENDLESS: what = "it does not end"; break;
    case MICRO_BROKEN: what = "bytes around a buffer changed"; break;
    }
    return what ? arena_printf(&lab->arena, "%s: %s", micro_target_text(&lab->arena, &target), what)
                : NULL;
}

static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    InterpFlags flags = flag_sets[seed % 3 == 0 ? seed / 3 % 3 : 0];
    LabData start, want;
    const char *what = NULL;
    if (!reference(lab, p, flags, seed, &start, &want)) return NULL;
    for (int i = 0; i < MICRO_TARGETS && !what; i++)
        what = difference_on(lab, p, t, i, seed, &start, &want, flags);
    return what;
}

static const char *pair_fault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed) {
    const Tree *t = pair_lower(lab, p, s, seed);
    return t ? difference(lab, p, t, seed) : NULL;
}

// Iterations of blocks, including those that a constraint excludes: a loop whose skew leaves 3 of
// 80 iterations still tests 80 conditions. Counts no further than `left`.
typedef struct Visits {
    int64_t left;
    int64_t *value; // of the indices
} Visits;

static void visit_node(Visits *v, const Node *node);

static void visit_from(Visits *v, const Block *b, int at) {
    if (at < b->nindex) {
        const Index *x = &b->index[at];
        if (x->passed) affine_eval(x->passed, v->value, NULL, NULL, NULL, &v->value[x->id]);
        for (int64_t i = 0; i < (x->passed ? 1 : x->extent) && v->left > 0; i++) {
            if (!x->passed) v->value[x->id] = i;
            visit_from(v, b, at + 1);
        }
        return;
    }
    v->left--;
    for (int i = 0; i < b->nconstraints; i++) {
        int64_t value;
        if (affine_eval(b->constraint[i], v->value, NULL, NULL, NULL, &value) && value < 0) return;
    }
    for (int i = 0; i < b->nchildren; i++) visit_node(v, b->child[i]);
}

static void visit_node(Visits *v, const Node *node) {
    if (as_block(node)) visit_from(v, (const Block *)node, 0);
}

static bool is_large(Lab *lab, const Tree *t) {
    Visits v = {MOST_VISITS, arena_new_n(&lab->arena, int64_t, t->nindices)};
    if (tree_instances(&lab->arena, t) > MOST_INSTANCES) return true;
    visit_node(&v, &t->root->node);
    return v.left <= 0;
}

static bool try_pair(Lab *lab, const Program *p, uint64_t seed) {
    GenSched g;
    Tree *t;
    const Schedule *s = pair_schedule(lab, p, seed, &g, &t);
    if (!CHECK(t)) return false;
    if (is_large(lab, t)) {
        totals.large++;
        return true;
    }
    totals.pairs++;
    if (getenv("LW_FUZZ_VERBOSE")) shrink_report(lab, seed, "this pair", p, s);
    if (CHECK(!difference(lab, p, t, seed))) return true;
    shrink_explain(lab, seed, p, s, pair_fault);
    return false;
}

static void try_pairs(PairProgram *make) {
    totals = (Totals){0};
    int64_t rounds = check_long_rounds(500);
    for (int64_t i = 0; totals.pairs < rounds && i < 2 * rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = make(&lab, seed);
        bool ok = CHECK(p) && try_pair(&lab, p, seed);
        lab_end(&lab);
        if (!ok) return;
    }
    printf("%lld pairs, %lld runs, %lld declined, %lld too large\n", (long long)totals.pairs,
           (long long)totals.runs, (long long)totals.declined, (long long)totals.large);
    CHECK(totals.declined == 0);
    CHECK(totals.large <= 1 + totals.pairs / 10);
}

TEST(interpreted_schedules_keep_their_meaning) { try_pairs(pair_shape); }
TEST(interpreted_nested_splits_keep_their_meaning) { try_pairs(pair_large_shape); }
TEST(interpreted_lanes_keep_their_meaning) { try_pairs(pair_lanes); }
TEST(interpreted_compositions_keep_their_meaning) { try_pairs(pair_composed); }

// MI_ROW is index arithmetic, MI_GROUP is left to test_jit_cases.
TEST(interpreted_random_programs_keep_their_meaning) {
    try_pairs(pair_random);
    bool all = check_long_rounds(500) >= 5000;
    for (int i = 0; i < MICRO_KINDS && all; i++)
        if (!CHECK(micro_count[i] || i == MI_ROW || i == MI_GROUP))
            printf("micro-operation %d never ran\n", i);
}
