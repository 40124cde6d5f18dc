// TC's scheduler against enumeration: every pair of instances that touch one element runs in the
// order of the Program, parallel loops carry none, and the Schedules that follow compute the same.
#include "unit/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/checked.h"
#include "sched/mapping.h"
#include "support/genprog.h"
#include "support/proglab.h"
#include "support/shapes.h"
#include "verify/verify.h"
#include "tree/tree_interp.h"

enum { MAX_INSTANCES = 600, MAX_TIMES = 64 };

typedef struct Inst {
    int stmt; // of the scop
    int64_t at[PROGRAM_MAX_ITERS];
} Inst;

typedef struct Brute {
    const PolyScop *s;
    int n;
    Inst inst[MAX_INSTANCES];
} Brute;

static bool exists(const PolyStmt *s, const int64_t *at) {
    for (int c = 0; c < s->s->nconstraints && !s->init; c++) {
        int64_t v;
        if (s->s->constraint[c]->has_read) continue;
        if (affine_eval(s->s->constraint[c], at, NULL, NULL, NULL, &v) && v < 0) return false;
    }
    return true;
}

static bool list_from(Brute *b, int stmt, Inst *x, int k) {
    const PolyStmt *s = &b->s->stmt[stmt];
    if (k == s->niters) {
        if (b->n == MAX_INSTANCES) return false;
        if (exists(s, x->at)) b->inst[b->n++] = *x;
        return true;
    }
    const Iter *iter = &s->s->iter[s->iter[k]];
    for (int64_t v = iter_lo(iter); v < iter_hi(iter); v++) {
        x->at[s->iter[k]] = v;
        if (!list_from(b, stmt, x, k + 1)) return false;
    }
    return true;
}

static bool list_instances(Brute *b, const PolyScop *s) {
    b->s = s;
    b->n = 0;
    for (int i = 0; i < s->n; i++) {
        Inst x = {.stmt = i};
        for (int k = 0; k < s->stmt[i].s->niters; k++) x.at[k] = iter_lo(&s->stmt[i].s->iter[k]);
        if (!list_from(b, i, &x, 0)) return false;
    }
    return true;
}

// Whether the accesses may touch one element. An initialisation of everything touches all.
static bool meet(const PolyStmt *p, const Access *f, const int64_t *x, const PolyStmt *q,
                 const Access *g, const int64_t *y) {
    if (f->tensor != g->tensor) return false;
    if ((p->init && !p->niters) || (q->init && !q->niters)) return true;
    for (int d = 0; d < f->rank; d++) {
        int64_t u, v;
        if (f->sub[d]->has_read || g->sub[d]->has_read) continue;
        if (affine_eval(f->sub[d], x, NULL, NULL, NULL, &u) &&
            affine_eval(g->sub[d], y, NULL, NULL, NULL, &v) && u != v)
            return false;
    }
    return true;
}

static const Access *access_at(const PolyScop *s, int stmt, int i) {
    const PolyStmt *p = &s->stmt[stmt];
    const StmtFacts *f = &s->facts->stmt[p->stmt];
    if (i == 0) return p->s->write;
    return !p->init && i <= f->nreads ? f->read[i - 1] : NULL;
}

// Must the two run in the order of the Program, or stay in one iteration of a parallel loop?
static bool conflict(const PolyScop *s, const Inst *x, const Inst *y) {
    const Access *f, *g;
    const PolyStmt *p = &s->stmt[x->stmt], *q = &s->stmt[y->stmt];
    if (x->stmt == y->stmt)
        return p->s->op != REDUCE_ASSIGN && !p->init &&
               meet(p, p->s->write, x->at, q, q->s->write, y->at);
    for (int i = 0; (f = access_at(s, x->stmt, i)); i++)
        for (int k = 0; (g = access_at(s, y->stmt, k)); k++)
            if ((!i || !k) && meet(p, f, x->at, q, g, y->at)) return true;
    return false;
}

static int64_t value(const PolyScop *s, const PolyMember *m, const Inst *x) {
    const int64_t *row = m->value[x->stmt];
    int64_t v = row ? row[POLY_ROW - 1] : 0;
    for (int i = 0; row && i < s->stmt[x->stmt].s->niters; i++) v += row[i] * x->at[i];
    if (m->part == POLY_TILES) return floor_div(v, m->tile);
    return m->part == POLY_POINTS ? v - m->tile * floor_div(v, m->tile) : v;
}

static bool below(const PolyNode *n, int stmt) {
    for (int i = 0; i < n->nstmts; i++)
        if (n->stmt[i] == stmt) return true;
    return false;
}

// x has to run before y (or, of a reduction, in any order). NULL: all is well.
static const char *judge(const PolyScop *s, const PolyNode *n, const Inst *x, const Inst *y) {
    bool free = x->stmt == y->stmt;
    while (n->kind != POLY_LEAF) {
        if (n->kind == POLY_SEQUENCE) {
            int a = 0, b = 0;
            while (!below(n->child[a], x->stmt)) a++;
            while (!below(n->child[b], y->stmt)) b++;
            if (a != b) return a < b || free ? NULL : "children run in the wrong order";
            n = n->child[a];
            continue;
        }
        int order = 0;
        for (int i = 0; i < n->n; i++) {
            int64_t u = value(s, &n->member[i], x), v = value(s, &n->member[i], y);
            if (u != v && n->member[i].coincident) return "a parallel loop carries a dependence";
            if (!order) order = (u > v) - (u < v);
        }
        if (order) return order < 0 || free ? NULL : "a loop runs the sink first";
        n = n->child[0];
    }
    return free || x->stmt < y->stmt ? NULL : "nothing orders them";
}

static const char *fault(const PolyScop *s, const PolyNode *root) {
    static Brute b;
    if (!list_instances(&b, s)) return NULL;
    for (int i = 0; i < b.n; i++)
        for (int k = i + 1; k < b.n; k++) {
            const char *what =
                conflict(s, &b.inst[i], &b.inst[k]) ? judge(s, root, &b.inst[i], &b.inst[k]) : NULL;
            if (what) return what;
        }
    return NULL;
}

// --- Random programs -----------------------------------------------------------------------------

static const Program *any_program(Lab *lab, uint64_t seed) {
    uint64_t state = seed;
    if (check_random(&state) % 2 == 0) return genprog(lab, seed);
    const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
    int64_t values[3];
    for (int k = 0; k < shape->nparams; k++) values[k] = 1 + (int64_t)(check_random(&state) % 4);
    return lab_program(lab, shape->text, values);
}

static Mapping any_mapping(uint64_t seed) {
    uint64_t state = seed * 31;
    Mapping m = {.outer.fusion = (PolyFusion)(check_random(&state) % POLY_FUSIONS)};
    m.inner = (PolyFusion)(check_random(&state) % POLY_FUSIONS);
    m.ntiles = (int)(check_random(&state) % 4);
    for (int i = 0; i < m.ntiles; i++) m.tile[i] = (int64_t)(check_random(&state) % 4);
    m.unroll = (int64_t)(check_random(&state) % 9);
    m.outermost = check_random(&state) % 4 == 0;
    m.promote = check_random(&state) % 8 == 0;
    m.marks = check_random(&state) % 2;
    return m;
}

static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    bool a = program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags);
    bool b = tree_interpret(&lab->arena, t, got.view, (InterpFlags){0}, &lab->diags);
    if (a != b) return b ? "only the program fails" : "only the tree fails";
    return a ? lab_difference(lab, p, &got, &want) : NULL;
}

typedef struct Totals {
    int64_t programs, fused, parallel;
} Totals;

static const char *try_mapping(Lab *lab, const Program *p, uint64_t seed, Totals *totals) {
    Mapping m = any_mapping(seed);
    MappingSteps steps;
    DiagList found = {.arena = &lab->arena};
    if (!mapping_steps(&lab->arena, p, &m, &steps, &found)) return "not scheduled";
    const PolyNode *tree[] = {steps.canonical, steps.fused, steps.tiled, steps.sunk};
    for (int i = 0; i < 4; i++) {
        const char *what = fault(steps.scop, tree[i]);
        if (what) return what;
    }
    totals->fused += steps.fused->kind == POLY_BAND && p->stmts.n > 1;
    totals->parallel += steps.fused->kind == POLY_BAND && steps.fused->member[0].coincident;
    const Schedule *s = mapping_schedule(&lab->arena, p, &m, &found);
    if (!s) return "no Schedule";
    Tree *t = tree_lower(&lab->arena, p, s, &found);
    if (!t) return m.promote ? NULL : found.items.at[0]->text; // a gathered input is not copied
    if (tree_verify(&lab->arena, t, NULL, &found) == VERIFY_REFUSED) return "does not verify";
    return difference(lab, p, t, seed);
}

TEST(schedules_of_random_programs_keep_dependences) {
    Totals totals = {0};
    int64_t rounds = check_long_rounds(400);
    for (int64_t i = 0; i < rounds && !poly_missing(); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = any_program(&lab, seed);
        const char *what = p ? try_mapping(&lab, p, seed, &totals) : NULL;
        totals.programs += p != NULL;
        if (!CHECK(!what)) {
            Text out = {.arena = &lab.arena};
            MappingSteps steps;
            Mapping m = any_mapping(seed);
            if (mapping_steps(&lab.arena, p, &m, &steps, &lab.diags))
                poly_print(&out, steps.scop, steps.sunk);
            printf("seed %" PRIu64 ": %s\n%s%s", seed, what, lab_text(&lab, p), text_str(&out));
            i = rounds;
        }
        lab_end(&lab);
    }
    printf("%" PRId64 " programs: %" PRId64 " fused whole, %" PRId64
           " with a parallel outer loop\n",
           totals.programs, totals.fused, totals.parallel);
}

// --- Steps ---------------------------------------------------------------------------------------

// A stencil over time: every element is the sum of a few at the last step or the one before, at
// most two places away. Borders are written for all steps.
static const char *stencil(Arena *arena, uint64_t *state) {
    Text sum = {.arena = arena};
    int rank = 1 + (int)(check_random(state) % 2), n = 7 + (int)(check_random(state) % 8);
    int steps = 2 + (int)(check_random(state) % 7), terms = 1 + (int)(check_random(state) % 4);
    for (int i = 0; i < terms; i++) {
        int back = (int)(check_random(state) % 3 == 0), at = (int)(check_random(state) % 5) - 2;
        int across = (int)(check_random(state) % 5) - 2;
        text_printf(&sum, "%sU[t - %d, i + %d", i ? " + " : "", back, at);
        text_printf(&sum, rank == 2 ? ", j + %d]" : "]", across);
    }
    const char *size = rank == 2 ? arena_printf(arena, ", %d", n) : "";
    const char *all = rank == 2 ? arena_printf(arena, ", j in 0:%d", n) : "";
    const char *inner = rank == 2 ? arena_printf(arena, ", j in 2:%d", n - 2) : "";
    const char *j = rank == 2 ? ", j" : "";
    return arena_printf(arena,
                        "program stencil {\n    input A: i32[%d%s]\n    output B: i32[%d%s]\n"
                        "    temp U: i32[%d, %d%s]\n"
                        "    for s in 0:%d, i in 0:%d%s\n        U[s, i%s] = A[i%s]\n"
                        "    for t in 1:%d {\n        for i in 2:%d%s\n"
                        "            U[t + 1, i%s] = %s\n    }\n"
                        "    for i in 0:%d%s\n        B[i%s] = U[%d, i%s]\n}\n",
                        n, size, n, size, steps + 1, n, size, steps + 1, n, all, j, j, steps, n - 2,
                        inner, j, text_str(&sum), n, all, j, steps, j);
}

static const char *try_stencil(Lab *lab, const Program *p, uint64_t seed, int64_t *skewed) {
    Mapping m = any_mapping(seed);
    DiagList found = {.arena = &lab->arena};
    m.outer.skew = true;
    m.outer.any_orthant = seed % 4 == 0;
    const Schedule *s = mapping_schedule(&lab->arena, p, &m, &found);
    if (!s) return "no Schedule";
    for (int i = 0; i < s->nstmts; i++) *skewed += s->stmt[i]->nskews > 0;
    Tree *t = tree_lower(&lab->arena, p, s, &found);
    if (!t) return found.items.at[0]->text;
    if (tree_verify(&lab->arena, t, NULL, &found) == VERIFY_REFUSED) return "does not verify";
    return difference(lab, p, t, seed);
}

TEST(random_stencils_are_tiled_in_time) {
    int64_t rounds = check_long_rounds(200), skewed = 0;
    for (int64_t i = 0; i < rounds && !poly_missing(); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, stencil(&lab.arena, &state), NULL);
        const char *what = CHECK(p) ? try_stencil(&lab, p, seed, &skewed) : NULL;
        if (!p) printf("%s", lab_errors(&lab));
        if (!CHECK(!what)) {
            Mapping m = any_mapping(seed);
            Text out = {.arena = &lab.arena};
            m.outer.skew = true;
            m.outer.any_orthant = seed % 4 == 0;
            const Schedule *s = mapping_schedule(&lab.arena, p, &m, &lab.diags);
            if (s) schedule_print(&out, s);
            printf("seed %" PRIu64 ": %s\n%s%s", seed, what, lab_text(&lab, p), text_str(&out));
            i = rounds;
        }
        lab_end(&lab);
    }
    printf("%" PRId64 " of %" PRId64 " skewed\n", skewed, rounds);
    CHECK(rounds < 10 || skewed * 8 > rounds || poly_missing());
}

// --- By hand -------------------------------------------------------------------------------------

static const char chain[] =
    "program chain { input A: f32[40, 24] temp T: f32[40, 24] output S: f32[40]\n"
    "    T: for i in 0:40, j in 0:24  T[i, j] = A[i, j]*2.0\n"
    "    S: for i in 0:40, j in 0:24  S[i] +=! T[i, j]\n}\n";

static void gives(const char *program, const char *mapping, const char *want) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, program, NULL);
    Mapping m;
    if (!poly_missing() && CHECK(p && mapping_parse(mapping, &m, &lab.diags))) {
        const Schedule *s = mapping_schedule(&lab.arena, p, &m, &lab.diags);
        Text out = {.arena = &lab.arena};
        if (CHECK(s)) schedule_print(&out, s);
        CHECK_STR_EQ(text_str(&out), want);
    }
    lab_end(&lab);
}

TEST(strategies_of_fusion) {
    gives(chain, "fuse(max)", "T: i | j\nS: i j\n");
    gives(chain, "fuse(min)", "T: | i j\nS: i j\n");
    gives(chain, "fuse(preserve3)", "T: | i j\nS: i j\n"); // T alone has two parallel loops
}

TEST(every_option_of_tc_parses) {
    Lab lab;
    Mapping m;
    lab_begin(&lab);
    DiagList *diags = &lab.diags;
    CHECK(
        mapping_parse("naive.outerScheduleFusionStrategy(Min).intraTileScheduleFusionStrategy(Max)"
                      ".outerScheduleAllowSkewing(false).outerSchedulePositiveOrthant(true)"
                      ".intraTileScheduleAllowSkewing(false).intraTileSchedulePositiveOrthant(true)"
                      ".fixParametersBeforeScheduling(true).tileImperfectlyNested(false)"
                      ".matchLibraryCalls(false).unroll(16)",
                      &m, diags));
    CHECK(m.outer.fusion == POLY_MIN && m.inner == POLY_MAX && m.outermost && m.ntiles == 3);
    CHECK(mapping_parse("conv.gpu.mapToThreads(8,2).useSharedMemory(true).usePrivateMemory(true)"
                        ".useReadOnlyCache(true)",
                        &m, diags));
    CHECK(m.nblocks == 3 && m.block[2] == 256 && m.nthreads == 2 && m.thread[1] == 2 && m.shared);
    CHECK(mapping_parse("naive", &m, diags) && !m.nblocks && !m.nthreads);
    CHECK(mapping_parse("mlp", &m, diags) && m.outer.fusion == POLY_MAX &&
          mapping_parse("unmapped", &m, diags));
    static const char *const wrong[] = {"tile(x)",
                                        "tile(99999999999999999999)",
                                        "tile(1,2,3,4,5,6,7,8,9)",
                                        "unroll(5000)",
                                        "fast",
                                        "tile(1",
                                        "matchLibraryCalls(true)",
                                        "unroll(1,2)",
                                        "fuse(all)",
                                        "naive x",
                                        "tile(2).",
                                        "mapToThreads(64,32)",
                                        "mapToBlocks()",
                                        "mapToThreads(0)",
                                        "mapToBlocks(1,2,3,4)",
                                        "useSharedMemory(1)",
                                        "usePrivateMemory(false)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int before = diags->errors;
        CHECK(!mapping_parse(wrong[i], &m, diags));
        CHECK(diags->errors > before);
    }
    lab_end(&lab);
}
