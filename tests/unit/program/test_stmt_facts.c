// Facts about statements: cases known by hand, and agreement of random Programs with enumeration
// (what a fact claims holds for all iterations) and with lowering (what may follow does lower).
#include "unit/check.h"

#include "program/stmt_facts.h"
#include "support/genprog.h"
#include "sched/schedule.h"

#include <string.h>

// --- By hand -----------------------------------------------------------------------------------

static ProgramFacts *facts_of(Lab *lab, const char *text) {
    Program *p = lab_program(lab, text, NULL);
    if (!p) printf("%s\n", lab_errors(lab));
    ProgramFacts *f = p ? program_facts(&lab->arena, p) : NULL;
    if (f) facts_classes(&lab->arena, f);
    return f;
}

TEST(reads_are_listed_once_and_in_order) {
    Lab lab;
    lab_begin(&lab);
    const ProgramFacts *f =
        facts_of(&lab, "program f {\n"
                       "  input A: f32[8] input B: f32[8] input I: i32[8]\n"
                       "  input J: i32[8] output C: f32[8]\n"
                       "  C: for i in 0:8, k in 0:8\n"
                       "    C[J[i]] +=! A[k]*A[k] + select(A[i] < 0.0, B[I[i]], 1.0)\n"
                       "}\n");
    if (!CHECK(f)) return;
    const StmtFacts *c = &f->stmt[0];
    // A[k], A[i], I[i], B[I[i]] of the value; J[i] of the write
    CHECK_INT_EQ(c->nvalue, 4);
    CHECK_INT_EQ(c->nreads, 5);
    CHECK_INT_EQ(c->nsure, 2);
    CHECK(c->sure[0] == c->read[0] && c->sure[1] == c->read[1]);
    CHECK(c->read[3]->has_read && !c->read[2]->has_read);
    CHECK(stmt_read_of(c, c->read[0]->tensor) == c->read[0]);
    CHECK(stmt_first_read(c->s, c->read[4]->tensor) == c->read[4]);
    CHECK(!stmt_reads(c, c->s->write->tensor) && stmt_touches(c, c->s->write->tensor));
    CHECK(c->initialises && c->has_reduction && c->reduces && !c->injective && !c->snapshot);
    lab_end(&lab);
}

TEST(elements_tell_iterations_apart) {
    Lab lab;
    lab_begin(&lab);
    const ProgramFacts *f = facts_of(&lab, "program f {\n"
                                           "  inout S: f32[4, 8] inout V: f32[9]\n"
                                           "  S: for i in 0:4, k in 0:3  S[i, i] += V[k]\n"
                                           "  V: for i in 0:4, j in 0:5  V[i + j] += V[i + j]\n"
                                           "  D: for i in 0:4, j in 0:4  S[i, i + j] = 1.0\n"
                                           "  E: for i in 0:4, k in 0:0  S[i, i] += V[k]\n"
                                           "}\n");
    if (!CHECK(f)) return;
    CHECK(f->stmt[0].injective && !stmt_writes_once(f->stmt[0].s)); // k is a reduction
    CHECK(!f->stmt[1].injective && f->stmt[1].snapshot && !f->stmt[1].has_reduction);
    CHECK(f->stmt[2].injective && stmt_writes_once(f->stmt[2].s)); // i first, then j
    CHECK(f->stmt[3].empty && f->stmt[3].empty_reduction && !f->stmt[3].reduces);
    lab_end(&lab);
}

TEST(classes_connect_iterators_through_tensors) {
    Lab lab;
    lab_begin(&lab);
    const ProgramFacts *f =
        facts_of(&lab, "program f {\n"
                       "  input A: f32[4, 5] output C: f32[4] output D: f32[4]\n"
                       "  C: for i in 0:4, k in 0:5  C[i] +=! A[i, k]\n"
                       "  D: for k in 0:4  D[k] = C[k]\n"
                       "}\n");
    if (!CHECK(f)) return;
    CHECK(f->stmt[1].class[0] == f->stmt[0].class[0]); // k of D subscripts C, as i does
    CHECK(f->stmt[0].class[0] != f->stmt[0].class[1]);
    CHECK(stmts_depend(&f->stmt[0], &f->stmt[1]) && !stmt_overwritten(f, 0, 1, 1));
    CHECK_INT_EQ(stmt_only_reader(f, 0), 1);
    CHECK_INT_EQ(stmt_last_reader(f, 1), 1);
    CHECK_INT_EQ(follower_iter(&f->stmt[1], f->stmt[0].s, 0), 0);
    CHECK_INT_EQ(follower_iter(&f->stmt[1], f->stmt[0].s, 1), -1);
    CHECK(!follow_refused(f, 1, 0, (int[]){-1, -1}, NULL));
    CHECK(follow_refused(f, 1, 0, (int[]){-1, -1}, (bool[]){false, true, false}));
    CHECK(follow_refused(f, 0, 1, (int[]){-1, -1}, NULL));
    lab_end(&lab);
}

TEST(definitions_have_a_dimension_for_each_iterator) {
    Lab lab;
    lab_begin(&lab);
    const ProgramFacts *f =
        facts_of(&lab, "program f {\n"
                       "  input A: f32[9] temp T: f32[8, 9] from [1, 0]\n"
                       "  temp U: f32[16] temp H: f16[8] output C: f32[8]\n"
                       "  T: for i in 0:8, j in 0:9  T[i + 1, j] = A[i] + A[j]\n"
                       "  U: for i in 0:8  U[2*i] = A[i]\n"
                       "  H: for i in 0:8  H[i] = f16(A[i])\n"
                       "  C: for i in 0:8  C[i] = T[i + 1, i] + U[2*i] + f32(H[i])\n"
                       "}\n");
    if (!CHECK(f)) return;
    CHECK(stmt_is_definition(f->p, f->stmt[0].s));
    CHECK(!stmt_is_definition(f->p, f->stmt[1].s)); // a step of 2
    CHECK(!stmt_is_definition(f->p, f->stmt[2].s)); // storing rounds
    CHECK(!stmt_is_definition(f->p, f->stmt[3].s)); // not a temporary
    lab_end(&lab);
}

// --- Enumeration -------------------------------------------------------------------------------

// The number of the element accessed at a point; -1: the iteration does not exist, or its element
// depends on data or lies outside.
static int64_t element_at(const Program *p, const Stmt *s, const Access *a, const int64_t *at) {
    const Tensor *t = &p->tensors.at[a->tensor];
    int64_t n = 0, v;
    for (int c = 0; c < s->nconstraints && !s->init; c++)
        if (s->constraint[c]->has_read ||
            !affine_eval(s->constraint[c], at, NULL, NULL, NULL, &v) || v < 0)
            return -1;
    for (int d = 0; d < a->rank; d++) {
        if (a->sub[d]->has_read || !affine_eval(a->sub[d], at, NULL, NULL, NULL, &v)) return -1;
        v -= tensor_origin(t, d);
        if (v < 0 || v >= tensor_size(t, d)) return -1;
        n = n * tensor_size(t, d) + v;
    }
    return n;
}

// The points of a statement, in order; false: there are no more.
static bool first_point(const Stmt *s, int64_t *at) {
    bool any = true;
    for (int i = 0; i < s->niters; i++) {
        at[i] = iter_lo(&s->iter[i]);
        any &= iter_extent(&s->iter[i]) > 0;
    }
    return any;
}

static bool next_point(const Stmt *s, bool reductions, int64_t *at) {
    for (int i = s->niters - 1; i >= 0; i--) {
        if (s->iter[i].reduction && !reductions) continue;
        if (++at[i] < iter_hi(&s->iter[i])) return true;
        at[i] = iter_lo(&s->iter[i]);
    }
    return false;
}

static bool elements_are_distinct(Lab *lab, const Program *p, const Stmt *s, bool reductions) {
    int64_t at[PROGRAM_MAX_ITERS];
    bool *seen = arena_new_n(&lab->arena, bool, tensor_elements(&p->tensors.at[s->write->tensor]));
    if (!first_point(s, at)) return true;
    do {
        int64_t e = element_at(p, s, s->write, at);
        if (e >= 0 && seen[e]) return false;
        if (e >= 0) seen[e] = true;
    } while (next_point(s, reductions, at));
    return true;
}

// Per element, how far iterator i is from its start where the access touches it.
typedef struct Distance {
    int64_t least, most; // most < least: nothing touches it
} Distance;

static Distance *distances(Lab *lab, const Program *p, const Stmt *s, const Access *a, int i) {
    int64_t at[PROGRAM_MAX_ITERS], n = tensor_elements(&p->tensors.at[a->tensor]);
    Distance *d = arena_new_n(&lab->arena, Distance, n + 1);
    for (int64_t e = 0; e < n; e++) d[e] = (Distance){INT64_MAX, INT64_MIN};
    for (bool more = first_point(s, at); more; more = next_point(s, true, at)) {
        int64_t e = element_at(p, s, a, at), far = at[i] - iter_lo(&s->iter[i]);
        if (e >= 0 && far < d[e].least) d[e].least = far;
        if (e >= 0 && far > d[e].most) d[e].most = far;
    }
    return d;
}

static bool distances_agree(Lab *lab, const Program *p, const Stmt *a, const Access *x, int i,
                            const Stmt *b, const Access *y, int j) {
    Distance *f = distances(lab, p, a, x, i), *g = distances(lab, p, b, y, j);
    int64_t n = tensor_elements(&p->tensors.at[x->tensor]);
    for (int64_t e = 0; e < n; e++) {
        if (f[e].most < f[e].least || g[e].most < g[e].least) continue;
        if (f[e].least != f[e].most || g[e].least != g[e].most || f[e].least != g[e].least)
            return false;
    }
    return true;
}

// Accesses of two statements to the tensor that one of them writes; how many were confirmed.
static int check_pair(Lab *lab, const Program *p, const StmtFacts *a, const StmtFacts *b) {
    int confirmed = 0;
    for (int r = -1; r < b->nreads; r++) {
        const Access *y = r < 0 ? b->s->write : b->read[r];
        if (y->tensor != a->s->write->tensor) continue;
        for (int i = 0; i < a->s->niters; i++)
            for (int j = 0; j < b->s->niters; j++) {
                if (!same_iteration(&lab->arena, a->s, a->s->write, i, b->s, y, j, 0)) continue;
                CHECK(distances_agree(lab, p, a->s, a->s->write, i, b->s, y, j));
                confirmed++;
            }
    }
    return confirmed;
}

TEST(facts_hold_for_all_iterations) {
    int confirmed = 0, distinct = 0;
    uint64_t rounds = (uint64_t)check_rounds(10000);
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = seed % 2 ? genprog(&lab, seed) : genprog_chains(&lab, seed);
        const ProgramFacts *f = program_facts(&lab.arena, p);
        int before = check_failures;
        for (int i = 0; i < p->stmts.n; i++) {
            const Stmt *s = &p->stmts.at[i];
            if (f->stmt[i].injective) CHECK(elements_are_distinct(&lab, p, s, false));
            if (stmt_writes_once(s)) CHECK(elements_are_distinct(&lab, p, s, true));
            distinct += f->stmt[i].injective;
            for (int k = 0; k < i; k++) confirmed += check_pair(&lab, p, &f->stmt[k], &f->stmt[i]);
        }
        if (check_failures > before) printf("  seed %llu\n", (unsigned long long)seed);
        lab_end(&lab);
    }
    CHECK(confirmed > 0 && distinct > 0);
}

// --- Lowering ----------------------------------------------------------------------------------

static bool lowers(Lab *lab, const Program *p, const SchedStmt *section) {
    const SchedStmt *list[] = {section};
    Schedule s = {.arena = &lab->arena, .names = p->names, .nstmts = 1, .stmt = list};
    DiagList quiet = {.arena = &lab->arena};
    return tree_lower(&lab->arena, p, &s, &quiet) != NULL;
}

// The space and the choice rely on it: a statement may follow another where the facts say so, and
// only there. Statements whose old elements lowering copies first are asked about after that.
TEST(lowering_agrees_on_what_may_follow) {
    int follow = 0, refused = 0;
    uint64_t rounds = (uint64_t)check_rounds(10000);
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = seed % 2 ? genprog(&lab, seed) : genprog_chains(&lab, seed);
        const ProgramFacts *f = program_facts(&lab.arena, p);
        int *none = arena_new_n(&lab.arena, int, p->stmts.n);
        for (int i = 0; i < p->stmts.n; i++) none[i] = -1;
        for (int i = 0; i < p->stmts.n; i++)
            for (int h = 0; h < i; h++) {
                if (f->stmt[i].snapshot || f->stmt[h].snapshot) continue;
                SchedStmt section = {.label = p->stmts.at[i].label,
                                     .stage = -1,
                                     .storage.home = HOME_AUTO,
                                     .after = p->stmts.at[h].label};
                bool may = !follow_refused(f, i, h, none, NULL);
                if (!CHECK(lowers(&lab, p, &section) == may))
                    printf("  seed %llu: %s after %s\n", (unsigned long long)seed, section.label,
                           section.after);
                follow += may, refused += !may;
            }
        lab_end(&lab);
    }
    CHECK((follow > 0 && refused > 0) || !check_usual_rounds()); // one pair in 400 may
}
