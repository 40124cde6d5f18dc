// Candidates of a search share every equal node by pointer.
#include "unit/check.h"

#include "support/genprog.h"
#include "support/gensched.h"
#include "support/proglab.h"
#include "tree/tree_interp.h"

static const char layers[] = "program layers { input A: f32[8, 9] input B: f32[9, 10] input D: "
                             "f32[10, 11] output O: f32[8, 11]\n"
                             "temp T: f32[8, 10] temp U: f32[8, 11]\n"
                             "T: for m in 0:8, n in 0:10, k in 0:9  T[m, n] +=! A[m, k]*B[k, n]\n"
                             "U: for m in 0:8, n in 0:11, k in 0:10  U[m, n] +=! T[m, k]*D[k, n]\n"
                             "O: for m in 0:8, n in 0:11  O[m, n] = relu(U[m, n]) }";

typedef struct Candidates {
    Lab lab;
    Arena kept;
    TreePool *pool;
    const Program *p;
} Candidates;

static void begin(Candidates *c, const char *text) {
    lab_begin(&c->lab);
    arena_init(&c->kept, &allocator_libc);
    c->pool = tree_pool(&c->kept);
    c->p = text ? lab_program(&c->lab, text, NULL) : NULL;
}

static void end(Candidates *c) {
    arena_free(&c->kept);
    lab_end(&c->lab);
}

static const Tree *candidate(Candidates *c, const char *text) {
    Source *src = arena_new(&c->lab.arena, Source);
    *src = (Source){"s.lws", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(&c->lab.arena, &c->lab.names, src, &c->lab.diags);
    return s ? tree_lower_shared(&c->lab.arena, c->pool, c->p, s, &c->lab.diags) : NULL;
}

TEST(candidates_share_what_they_agree_in) {
    Candidates c;
    begin(&c, layers);
    const Tree *a = candidate(&c, "T: | m n k\nU: | m/4 n k m\nO: m n:v\n");
    const Tree *b = candidate(&c, "T: | m n/2 k n\nU: | m/4 n k m\nO: m n:v\n");
    const Tree *d = candidate(&c, "T: | m n k\nU: | m/4 n k m\nO: n m:v\n");
    const Tree *again = candidate(&c, "T: | m n k\nU: | m/4 n k m\nO: m n:v\n");
    if (CHECK(a && b && d && again && a->root->nchildren == 3)) {
        CHECK(a->root->child[0] != b->root->child[0]);
        CHECK(a->root->child[1] == b->root->child[1] && a->root->child[2] == b->root->child[2]);
        CHECK(a->root->child[0] == d->root->child[0] && a->root->child[1] == d->root->child[1]);
        CHECK(a->root->child[2] != d->root->child[2]);
        CHECK(a->root == again->root); // the same Schedule, the same Tree
        // The number of indices does not grow with the number of candidates.
        int before = a->nindices;
        for (int i = 0; i < 50; i++) again = candidate(&c, i % 2 ? "T: k n m\n" : "T: n/3 m k n\n");
        CHECK(again->nindices < before + 12);
    }
    end(&c);
}

// Inside a nest: the loops of the second statement change, the first one's leaf stays.
TEST(nests_share_their_parts) {
    Candidates c;
    begin(&c, "program f { input A: f32[8, 9] output O: f32[8, 9] output P: f32[8, 9]\n"
              "O: for m in 0:8, n in 0:9  O[m, n] = A[m, n] + 1.0\n"
              "P: for m in 0:8, n in 0:9  P[m, n] = O[m, n]*2.0 }");
    const Tree *a = candidate(&c, "O: m | n\nP: m n\n"),
               *b = candidate(&c, "O: m | n\nP: m n/4 n\n");
    if (CHECK(a && b)) {
        const Block *x = as_block(a->root->child[0]), *y = as_block(b->root->child[0]);
        CHECK(x != y && x->nchildren == 2 && y->nchildren == 2);
        CHECK(x->child[0] == y->child[0] && x->child[1] != y->child[1]);
    }
    end(&c);
}

TEST(shared_trees_are_the_same_trees) {
    for (int64_t i = 0; i < check_rounds(300); i++) {
        uint64_t seed = (uint64_t)i + 1;
        Candidates c;
        begin(&c, NULL);
        const Program *p = genprog(&c.lab, seed);
        const Tree *first = NULL;
        bool ok = true;
        for (int k = 0; k < 4 && ok; k++) { // the last one is the first again
            GenSched g = {.state = seed * 3 + (uint64_t)(k % 3)};
            const Schedule *s = gen_schedule(&g, &c.lab.arena, p);
            const Tree *own = tree_lower(&c.lab.arena, p, s, &c.lab.diags);
            const Tree *shared = tree_lower_shared(&c.lab.arena, c.pool, p, s, &c.lab.diags);
            ok = CHECK(!own == !shared);
            if (k == 0) first = shared;
            if (k == 3 && first) ok = ok && CHECK(shared->root == first->root);
            if (!ok || !shared || k == 3) continue;
            LabData want = lab_data(&c.lab, p, seed), got = lab_copy(&c.lab, p, &want);
            if (!lab_run(&c.lab, p, &want)) continue;
            ok = CHECK(tree_interpret(&c.lab.arena, shared, got.view, (InterpFlags){0},
                                      &c.lab.diags)) &&
                 CHECK(!lab_difference(&c.lab, p, &got, &want));
        }
        if (!ok) printf("seed %llu\n%s\n", (unsigned long long)seed, lab_text(&c.lab, p));
        end(&c);
        if (!ok) return;
    }
}
