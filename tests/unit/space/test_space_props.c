// Properties of the CPU space on random programs: decisions commute, domains only shrink, text
// reads back to the same bytes, and lowering merges the loops that the candidate merges.
#include "unit/check.h"

#include "space/cpu.h"
#include "space/cpu_space.h"
#include "support/genprog.h"
#include "support/gensteps.h"
#include "support/shapes.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Walk {
    Lab lab;
    const Program *p;
    CpuSpace *cs;
    SpaceWork *w;
    Cand *c, *again, *before;
} Walk;

// A program as people write them, a random one, or one whose statements run in steps.
typedef enum Origin { KNOWN, RANDOM, STEPS, ORIGINS } Origin;

static bool walk_begin(Walk *k, uint64_t seed, Origin from) {
    lab_begin(&k->lab);
    if (from == KNOWN) {
        uint64_t state = seed;
        const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
        int64_t values[3];
        for (int i = 0; i < 3; i++) values[i] = 1 + (int64_t)(check_random(&state) % 70);
        k->p = lab_program(&k->lab, shape->text, values);
    } else {
        k->p = from == STEPS ? lab_program(&k->lab, gensteps_text(&k->lab.arena, seed), NULL)
                             : genprog(&k->lab, seed);
    }
    CpuOptions o = {.threads = seed & 1 ? 2 : 1};
    machine_describe(&o.machine, ISA_AVX2);
    k->cs = k->p ? cpu_space(&k->lab.arena, k->p, &o, &k->lab.diags) : NULL;
    if (!CHECK(k->cs)) return false;
    k->w = space_work(&k->lab.arena, k->cs->space);
    k->c = space_cand(&k->lab.arena, k->cs->space);
    k->again = space_cand(&k->lab.arena, k->cs->space);
    k->before = space_cand(&k->lab.arena, k->cs->space);
    return true;
}

typedef struct Found {
    Decision d[4096];
    int n;
} Found;

// A random leaf, by the decisions that lead to it.
static bool descend(Walk *k, uint64_t *seed, Found *f) {
    const Space *s = k->cs->space;
    space_copy(s, k->c, s->root);
    f->n = 0;
    for (int var; (var = space_open(s, k->c, 0)) >= 0 && f->n < 4096;) {
        uint64_t dom = space_domain(s, k->c, var), bit = dom;
        int skip = (int)(check_random(seed) % (uint64_t)__builtin_popcountll(dom));
        while (skip--) bit &= bit - 1;
        f->d[f->n++] = (Decision){var, bit & -bit};
        if (!space_keep(k->w, k->c, var, bit & -bit)) return false;
    }
    return true;
}

static void shuffle(Found *f, uint64_t *seed) {
    for (int i = f->n - 1; i > 0; i--) {
        int j = (int)(check_random(seed) % (uint64_t)(i + 1));
        Decision t = f->d[i];
        f->d[i] = f->d[j];
        f->d[j] = t;
    }
}

static bool shrinks(const Space *s, const Cand *now, const Cand *before) {
    for (int v = 0; v < s->ndecisions; v++)
        if (space_domain(s, now, v) & ~space_domain(s, before, v)) return false;
    for (int o = 0; o < s->nobjects; o++)
        if (space_exists(s, before, o) && !space_exists(s, now, o)) return false;
    return true;
}

// What two candidates that should be the same disagree about.
static void show_difference(Walk *k) {
    const Space *s = k->cs->space;
    for (int v = 0; v < s->ndecisions; v++) {
        if (space_domain(s, k->again, v) == space_domain(s, k->c, v)) continue;
        Text text = {.arena = &k->lab.arena};
        space_print_var(&text, s, v);
        text_add(&text, ": ");
        space_print_values(&text, s, v, space_domain(s, k->c, v));
        text_add(&text, " against ");
        space_print_values(&text, s, v, space_domain(s, k->again, v));
        printf("%s\n", text_str(&text));
    }
}

static bool commutes(Walk *k, Found *f, bool alive, uint64_t *seed) {
    const Space *s = k->cs->space;
    bool same = true;
    shuffle(f, seed);
    space_copy(s, k->again, s->root);
    for (int i = 0; i < f->n && same; i++) {
        space_copy(s, k->before, k->again);
        same = space_keep(k->w, k->again, f->d[i].var, f->d[i].keep);
        if (same && !CHECK(shrinks(s, k->again, k->before))) return false;
    }
    if (!CHECK(same == alive)) return false;
    if (!alive || CHECK(memcmp(k->again, k->c, s->size) == 0)) return true;
    show_difference(k);
    return false;
}

static bool reads_back(Walk *k) {
    const Space *s = k->cs->space;
    Text text = {.arena = &k->lab.arena}, twice = {.arena = &k->lab.arena};
    space_print(&text, s, k->c);
    Source src = {"<space>", text_str(&text), (uint32_t)text.len};
    int n;
    Decision *d = space_parse(&k->lab.arena, s, &src, &k->lab.diags, &n);
    if (!CHECK(d)) return false;
    space_copy(s, k->again, s->root);
    bool ok =
        CHECK(space_apply(k->w, k->again, d, n)) && CHECK(memcmp(k->again, k->c, s->size) == 0);
    space_print(&twice, s, k->again);
    return ok && CHECK_STR_EQ(text_str(&text), text_str(&twice));
}

TEST(decisions_commute_on_random_programs) {
    Found *f = malloc(sizeof *f);
    for (int64_t i = 0; i < check_rounds(200); i++) {
        uint64_t seed = (uint64_t)i + 1;
        Walk k;
        bool ok = walk_begin(&k, seed, i % ORIGINS);
        for (int r = 0; ok && r < 3; r++) {
            bool alive = descend(&k, &seed, f);
            ok = commutes(&k, f, alive, &seed) && (!alive || reads_back(&k));
        }
        if (!ok) printf("seed %lld\n%s\n", (long long)i + 1, lab_text(&k.lab, k.p));
        lab_end(&k.lab);
        if (!ok) break;
    }
    free(f);
}

// --- Sharing -------------------------------------------------------------------------------------

enum { DEEP = 64 };

typedef struct Paths {
    const Tree *t;
    const Block *open[DEEP];
    int n[64];
    const Block *loop[64][DEEP]; // per statement of the Program: the loops around its update
    const Program *p;
} Paths;

static bool visit(void *user, const Node *node, int depth, const Block *parent) {
    (void)parent;
    Paths *x = user;
    const Block *b = as_block(node);
    if (b && depth < DEEP) x->open[depth] = b;
    const Leaf *leaf = as_leaf(node);
    if (!leaf || leaf->role == LEAF_INIT || leaf->stmt < 0) return true;
    Name label = x->t->program->stmts.at[leaf->stmt].label;
    for (int i = 0; i < x->p->stmts.n; i++) {
        if (x->p->stmts.at[i].label != label) continue;
        x->n[i] = 0;
        for (int d = 0; d < depth; d++)
            if (x->open[d]->nindex) x->loop[i][x->n[i]++] = x->open[d];
    }
    return true;
}

static int shared(const Paths *x, int a, int b) {
    int n = 0;
    while (n < x->n[a] && n < x->n[b] && x->loop[a][n] == x->loop[b][n]) n++;
    return n;
}

static int merged(const CpuSpace *cs, const Cand *c, int a, int b) {
    const CpuHost *h = cs->host;
    int n = 0;
    for (int i = 0; i < h->ndims[a]; i++)
        for (int j = 0; j < h->ndims[b]; j++)
            n += space_ask(cs->space, c, CPU_ORDER, h->first_dim[a] + i, h->first_dim[b] + j) ==
                 CPU_ORDER_MERGED;
    return n;
}

static bool nested(const CpuSpace *cs, const Cand *c, int stmt) {
    return space_ask(cs->space, c, CPU_PLACE, cs->host->comp[stmt], -1) == CPU_PLACE_NEST;
}

// Are all statements in nests of their own, so that merging is all there is to sharing?
static bool plain(const CpuSpace *cs, const Cand *c) {
    for (int i = 0; i < cs->program->stmts.n; i++)
        if (!nested(cs, c, i)) return false;
    return true;
}

TEST(lowering_merges_what_the_candidate_merges) {
    int64_t pairs = 0, fused = 0;
    Paths *x = malloc(sizeof *x);
    for (int64_t i = 0; i < check_rounds(1000); i++) {
        Walk k;
        uint64_t seed = (uint64_t)i;
        bool ok = walk_begin(&k, (uint64_t)i + 1, i % ORIGINS);
        for (int r = 0; ok && r < 4 && k.p->stmts.n < 64; r++) {
            space_copy(k.cs->space, k.c, k.cs->space->root);
            // as much merged as there can be: the interesting case is rare at random
            for (int v = 0; v < k.cs->space->ndecisions; v++) {
                if (k.cs->space->var[v].choice != CPU_ORDER || (check_random(&seed) & 1)) continue;
                space_copy(k.cs->space, k.before, k.c);
                if (space_keep(k.w, k.before, v, CPU_ORDER_MERGED))
                    space_copy(k.cs->space, k.c, k.before);
            }
            if (!space_complete(k.w, k.c, &seed)) continue;
            const Schedule *s = cpu_schedule(&k.lab.arena, k.cs, k.c);
            const Tree *t = tree_lower(&k.lab.arena, k.p, s, &k.lab.diags);
            if (!CHECK(t)) {
                Text text = {.arena = &k.lab.arena};
                schedule_print(&text, s);
                printf("seed %lld: %s%s\n%s\n", (long long)i + 1, lab_errors(&k.lab),
                       lab_text(&k.lab, k.p), text_str(&text));
                break;
            }
            if (!CHECK(tree_verify(&k.lab.arena, t, NULL, &k.lab.diags) != VERIFY_REFUSED)) break;
            if (!plain(k.cs, k.c)) continue;
            *x = (Paths){.t = t, .p = k.p};
            tree_walk(t, visit, x);
            for (int a = 0; ok && a < k.p->stmts.n; a++)
                for (int b = 0; ok && b < a; b++) {
                    int want = merged(k.cs, k.c, a, b), got = shared(x, a, b);
                    pairs++;
                    fused += want > 0;
                    if (CHECK_INT_EQ(got, want)) continue;
                    Text text = {.arena = &k.lab.arena};
                    schedule_print(&text, s);
                    tree_show(&text, t, false);
                    printf("seed %lld: %s and %s\n%s\n%s\n", (long long)i + 1,
                           k.p->stmts.at[a].label, k.p->stmts.at[b].label, lab_text(&k.lab, k.p),
                           text_str(&text));
                    ok = false;
                }
        }
        lab_end(&k.lab);
        if (!ok) break;
    }
    printf("%lld pairs, %lld fused\n", (long long)pairs, (long long)fused);
    free(x);
}

// Lowered and verified, not run: many.
TEST(candidates_verify) {
    int64_t full = 0, dead = 0, unproven = 0;
    int64_t rounds = check_long_rounds(1000), first = (int64_t)check_first_seed();
    for (int64_t i = first; i < first + rounds; i++) {
        Walk k;
        uint64_t seed = (uint64_t)i * 77;
        bool ok = walk_begin(&k, (uint64_t)i + 100000, i % ORIGINS);
        for (int r = 0; ok && r < 10; r++) {
            space_copy(k.cs->space, k.c, k.cs->space->root);
            if (!space_complete(k.w, k.c, &seed)) {
                dead++;
                continue;
            }
            full++;
            const Schedule *s = cpu_schedule(&k.lab.arena, k.cs, k.c);
            DiagList diags = {.arena = &k.lab.arena};
            const Tree *t = tree_lower(&k.lab.arena, k.p, s, &diags);
            VerifyAnswer v = t ? tree_verify(&k.lab.arena, t, NULL, &diags) : VERIFY_REFUSED;
            unproven += v == VERIFY_UNPROVEN;
            if (CHECK(v != VERIFY_REFUSED)) continue;
            Text text = {.arena = &k.lab.arena};
            for (int d = 0; d < diags.items.n; d++) diag_print(&text, diags.items.at[d]);
            schedule_print(&text, s);
            printf("seed %lld\n%s\n%s\n", (long long)i, lab_text(&k.lab, k.p), text_str(&text));
            ok = false;
        }
        lab_end(&k.lab);
        if (!ok) return;
    }
    printf("%lld candidates, %lld dead ends, %lld not proven\n", (long long)full, (long long)dead,
           (long long)unproven);
    CHECK(dead * 3 < full);
}
