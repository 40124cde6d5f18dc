// Edits through the API: what an action does, how it is refused, and random walks that keep the
// meaning of random programs.
#include "unit/check.h"

#include "loopwright.h"
#include "support/genprog.h"
#include "api/api.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char product[] =
    "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }";
static const char chain[] = "def f(float(N,D) I) -> (O) {\n"
                            "    top(n) max=! I(n,d)\n    O(n,d) = exp(I(n,d) - top(n))\n}";

typedef struct Work {
    lw_context *ctx;
    lw_module *mod;
    lw_bound *bound;
    lw_schedule *s;
} Work;

static bool begin(Work *w, const char *name, const char *text, const lw_size *sizes, size_t n,
                  const char *schedule) {
    lw_show_options o = {.struct_size = sizeof o, .schedule = {schedule, NULL}};
    *w = (Work){.ctx = lw_context_new(NULL)};
    return CHECK(!lw_parse(w->ctx, name, text, strlen(text), NULL, &w->mod) &&
                 !lw_bind(w->ctx, lw_module_function(w->mod, 0), sizes, n, &w->bound) &&
                 !lw_schedule_new(w->ctx, w->bound, &o, &w->s));
}

static void end(Work *w) {
    lw_schedule_free(w->s);
    lw_bound_free(w->bound);
    lw_module_free(w->mod);
    lw_context_free(w->ctx);
}

static const lw_size matmul_sizes[] = {{"M", 7}, {"K", 9}, {"N", 10}};

// The old schedule is replaced by the new one.
static bool step(Work *w, lw_status status, lw_schedule **now) {
    if (status) return false;
    lw_schedule_free(w->s);
    w->s = *now;
    return true;
}

#define TEXT(w) (lw_schedule_get((w)->s).text)

TEST(edit_actions_change_the_schedule) {
    Work w;
    lw_schedule *n;
    if (!begin(&w, "mm.tc", product, matmul_sizes, 3, "")) return;
    CHECK_STR_EQ(TEXT(&w), "C: m n k\n");
    CHECK(step(&w, lw_schedule_split(w.ctx, w.s, lw_schedule_find(w.s, "C:m"), 4, false, &n), &n));
    CHECK_STR_EQ(TEXT(&w), "C: m/4 m n k\n");
    CHECK_INT_EQ(lw_schedule_cursor(w.s), lw_schedule_find(w.s, "C:m/4"));
    CHECK_INT_EQ(lw_schedule_node(w.s, 0)->tail, 3);
    CHECK(step(&w,
               lw_schedule_swap(w.ctx, w.s, lw_schedule_find(w.s, "C:n"),
                                lw_schedule_find(w.s, "C:k"), &n),
               &n));
    CHECK_STR_EQ(TEXT(&w), "C: m/4 m k n\n");
    CHECK(step(&w,
               lw_schedule_annotate(w.ctx, w.s, lw_schedule_find(w.s, "C:n"), LW_LOOP_VECTOR, &n),
               &n));
    CHECK(step(&w, lw_schedule_move(w.ctx, w.s, lw_schedule_find(w.s, "C:k"), 0, &n), &n));
    CHECK_STR_EQ(TEXT(&w), "C: k m/4 m n:v\n");
    int m = lw_schedule_find(w.s, "C:m/4");
    CHECK(step(&w, lw_schedule_copy_input(w.ctx, w.s, "C", "A", m, &n), &n));
    CHECK_STR_EQ(TEXT(&w), "C: k m/4 m n:v\n    copy A at m/4\n");
    CHECK(lw_schedule_find(w.s, "C.A:m") >= 0); // the loops of the copy can be edited too
    CHECK(
        step(&w, lw_schedule_split(w.ctx, w.s, lw_schedule_find(w.s, "C.A:m"), 2, false, &n), &n));
    CHECK(step(&w, lw_schedule_drop_copy(w.ctx, w.s, "C", "A", &n), &n) || true);
    CHECK(step(&w, lw_schedule_edit(w.ctx, w.s, NULL, "merge m; goto n; back", &n), &n) || true);
    end(&w);
}

TEST(edit_acts_on_every_statement_of_a_shared_loop) {
    Work w;
    lw_schedule *n;
    static const lw_size sizes[] = {{"N", 6}, {"D", 4}};
    if (!begin(&w, "f.tc", chain, sizes, 2, "")) return;
    CHECK(step(&w, lw_schedule_split(w.ctx, w.s, 0, 2, false, &n), &n));
    CHECK_STR_EQ(TEXT(&w), "top: n/2 n d\nO: n/2 n d\n");
    CHECK(step(&w, lw_schedule_decrease_reuse(w.ctx, w.s, "top", &n), &n));
    CHECK(step(&w, lw_schedule_decrease_reuse(w.ctx, w.s, "top", &n), &n));
    CHECK_STR_EQ(TEXT(&w), "top: n/2 | n d\nO: n/2 n d\n");
    CHECK(step(&w, lw_schedule_increase_reuse(w.ctx, w.s, "top", &n), &n));
    CHECK(
        step(&w, lw_schedule_compute_at(w.ctx, w.s, "top", lw_schedule_find(w.s, "O:n"), &n), &n));
    CHECK_STR_EQ(TEXT(&w), "top: n/2 n | d\n    at n\nO: n/2 n d\n");
    CHECK(step(&w, lw_schedule_root(w.ctx, w.s, "top", &n), &n));
    CHECK_STR_EQ(TEXT(&w), "top: n/2 n | d\nO: n/2 n d\n");
    end(&w);
}

static const char *refusal(Work *w, lw_status status) {
    return status == LW_ERROR && lw_diag_count(w->ctx) ? lw_diag_get(w->ctx, 0)->text : "accepted";
}

TEST(edit_refuses_with_a_reason) {
    Work w;
    lw_schedule *n;
    if (!begin(&w, "mm.tc", product, matmul_sizes, 3, "")) return;
    CHECK_STR_EQ(refusal(&w, lw_schedule_split(w.ctx, w.s, 0, 8, false, &n)),
                 "cannot split: the loop has only 7 iterations");
    CHECK_STR_EQ(refusal(&w, lw_schedule_split(w.ctx, w.s, 2, 2, false, &n)),
                 "cannot split: node 2 is not a loop of a statement");
    CHECK_STR_EQ(refusal(&w, lw_schedule_merge(w.ctx, w.s, -1, &n)),
                 "cannot merge: node -2 is not a loop of a statement");
    CHECK_STR_EQ(refusal(&w, lw_schedule_inline(w.ctx, w.s, "D", &n)),
                 "no statement 'D' in the program");
    CHECK(!n);
    CHECK_INT_EQ(lw_schedule_annotate(w.ctx, w.s, 0, (lw_loop_kind)99, &n), LW_MISUSE);
    CHECK_INT_EQ(lw_schedule_edit(w.ctx, w.s, NULL, NULL, &n), LW_MISUSE);
    CHECK_INT_EQ(lw_schedule_edit(w.ctx, NULL, NULL, "up", &n), LW_MISUSE);
    CHECK_INT_EQ(lw_schedule_inline(w.ctx, w.s, NULL, &n), LW_MISUSE);
    CHECK(lw_schedule_action(0, NULL) && !lw_schedule_action(1000, NULL));
    CHECK(!lw_loop_kind_name((lw_loop_kind)99) && !lw_schedule_node(w.s, 99));
    end(&w);
}

TEST(edit_answers_what_would_happen) {
    Work w;
    lw_schedule *tiled;
    static const char *const scripts[] = {"split m 4", "merge", "vectorize k", "nonsense"};
    bool ok[4];
    double plain, better;
    if (!begin(&w, "mm.tc", product, matmul_sizes, 3, "")) return;
    CHECK(!lw_schedule_accepts(w.ctx, w.s, scripts, 4, ok));
    CHECK(ok[0] && !ok[1] && ok[2] && !ok[3]);
    CHECK_INT_EQ(lw_schedule_accepts(w.ctx, w.s, (const char *[]){NULL}, 1, ok), LW_MISUSE);
    CHECK_INT_EQ(lw_schedule_access_count(w.s), 4); // C = 0, C += A*B
    const lw_access *b = lw_schedule_access(w.s, 3);
    CHECK_STR_EQ(b->buffer, "B");
    CHECK(b->loop_count == 2 && b->strides[0] + b->strides[1] == 11 && !b->write);
    CHECK(!lw_schedule_lower_bound(w.ctx, w.s, 1, &plain) && plain > 0);
    CHECK(!lw_schedule_edit(w.ctx, w.s, NULL, "swap n k; vectorize n", &tiled));
    CHECK(!lw_schedule_lower_bound(w.ctx, tiled, 1, &better) && better > 0 && better < plain);
    CHECK_INT_EQ(lw_schedule_lower_bound(w.ctx, tiled, -1, &better), LW_MISUSE);
    lw_schedule_free(tiled);
    end(&w);
}

TEST(edit_transforms_trees) {
    Work w;
    lw_tree *t, *u, *v;
    if (!begin(&w, "f.tc", chain, (lw_size[]){{"N", 6}, {"D", 4}}, 2, "")) return;
    lw_show_options o = {.struct_size = sizeof o, .schedule = {"top: | n d\nO: n d\n", NULL}};
    if (!CHECK(!lw_tree_new(w.ctx, w.bound, &o, &t))) return end(&w);
    CHECK(!lw_tree_split(w.ctx, t, 0, 4, false, &u));
    CHECK_INT_EQ(lw_tree_follow(t, 1, u), 2);
    CHECK_INT_EQ(lw_tree_interchange(w.ctx, t, 0, &v), LW_ERROR);
    CHECK_STR_EQ(lw_diag_get(w.ctx, 0)->text, "cannot interchange: no loop stands alone inside it");
    CHECK_INT_EQ(lw_tree_stage(w.ctx, t, "Z", 0, &v), LW_ERROR);
    CHECK_STR_EQ(lw_diag_get(w.ctx, 0)->text, "no buffer 'Z' in the tree");
    CHECK(!lw_tree_edit(w.ctx, t, NULL, "unroll @2; undo; split @2 4", &v));
    CHECK_STR_EQ(lw_tree_show(v), lw_tree_show(u));
    lw_tree_free(v);
    CHECK_INT_EQ(lw_tree_edit(w.ctx, t, NULL, NULL, &v), LW_MISUSE);
    CHECK(lw_tree_action(0, NULL) && !lw_tree_action(1000, NULL));
    lw_tree_free(t); // `u` keeps what it needs
    lw_module *mod;
    CHECK(!lw_tree_module(w.ctx, u, &mod));
    CHECK(strstr(lw_tree_show(u), "for n.1 in 4 where"));
    lw_module_free(mod);
    lw_tree_free(u);
    end(&w);
}

// The note of a refusal; "": none.
static const char *note_of(Work *w) {
    const lw_diag *d = lw_diag_get(w->ctx, 0);
    return d && d->note_count ? d->notes[0]->text : "";
}

// Neighbours that a refusal names are legal.
TEST(edit_names_legal_neighbours) {
    Work w;
    lw_tree *t, *u;
    static const char skewed[] =
        "block []:1 ( inout B[0, 0, 0] fp32(8, 8, 8):(64, 8, 1) ) {\n"
        "  0: #serial block [i:7]:7 ( inout B[i, 0, 0] fp32(2, 8, 8):(64, 8, 1) ) {\n"
        "    0: #serial block [j:7]:7 ( inout B[0, j, 0] fp32(2, 2, 8):(64, 8, 1) ) {\n"
        "      0: #serial block [k:8]:8 (\n"
        "        in C = B[0, 1, k] fp32(1, 1, 1):(64, 8, 1)\n"
        "        out B[1, 0, k] fp32(1, 1, 1):(64, 8, 1)\n"
        "      ) { 0: $a = load(C)\n 1: B = store($a)\n }\n }\n }\n}\n";
    w = (Work){.ctx = lw_context_new(NULL)};
    lw_show_options o = {.struct_size = sizeof o};
    if (!CHECK(!lw_parse(w.ctx, "f.stripe", skewed, strlen(skewed), NULL, &w.mod)) ||
        !CHECK(!lw_bind(w.ctx, lw_module_function(w.mod, 0), NULL, 0, &w.bound)) ||
        !CHECK(!lw_tree_new(w.ctx, w.bound, &o, &t)))
        return end(&w);
    CHECK_INT_EQ(lw_tree_interchange(w.ctx, t, 0, &u), LW_ERROR);
    CHECK_STR_EQ(note_of(&w), "legal instead: interchange after a skew of 'j' (node 1) by 1 times "
                              "'i'; interchange of 'j' (node 1)");
    CHECK(!lw_tree_interchange(w.ctx, t, 1, &u));
    lw_tree_free(u);
    lw_tree *ahead = NULL;
    CHECK(!lw_tree_skew(w.ctx, t, 1, 0, 1, &ahead));
    CHECK(!lw_tree_interchange(w.ctx, ahead, 0, &u));
    lw_tree_free(ahead);
    lw_tree_free(u);
    CHECK_INT_EQ(lw_tree_skew(w.ctx, t, 0, 1, 1, &u), LW_ERROR);
    CHECK_INT_EQ(lw_tree_annotate(w.ctx, t, 0, LW_LOOP_PARALLEL, &u), LW_ERROR);
    CHECK_STR_EQ(note_of(&w), "legal instead: parallel of 'j' (node 1); parallel of 'k' (node 2)");
    CHECK(!lw_tree_annotate(w.ctx, t, 2, LW_LOOP_PARALLEL, &u));
    lw_tree_free(u);
    CHECK_INT_EQ(lw_tree_split(w.ctx, t, 0, 2, true, &u), LW_ERROR);
    CHECK_STR_EQ(note_of(&w), "legal instead: split of 'i' (node 0), not interleaved");
    // A script names lines, of the Tree as it has left it so far.
    CHECK_INT_EQ(lw_tree_edit(w.ctx, t, NULL, "peel j 2; annotate i parallel", &u), LW_ERROR);
    CHECK_STR_EQ(note_of(&w), "legal instead: parallel of 'j' (@2); parallel of 'k' (@3); parallel "
                              "of 'j' (@5)");
    CHECK(!lw_tree_edit(w.ctx, t, NULL, "peel j 2; annotate @5 parallel", &u));
    lw_tree_free(u);
    CHECK_INT_EQ(lw_tree_edit(w.ctx, t, NULL, "interleave i 2", &u), LW_ERROR);
    CHECK_STR_EQ(note_of(&w), "legal instead: split of 'i' (@1), not interleaved");
    CHECK_INT_EQ(lw_tree_edit(w.ctx, t, NULL, "interchange k", &u), LW_ERROR);
    CHECK_STR_EQ(note_of(&w), ""); // refused for its shape
    lw_tree_free(t);
    end(&w);
}

static lw_graph *sums(lw_context *ctx, int *sum) {
    lw_graph *g;
    CHECK(!lw_graph_new(ctx, "sums", &g));
    int n = lw_graph_dim(g, "N"), k = lw_graph_dim(g, "K");
    int x = lw_graph_read(g, "X", (DLDataType){kDLFloat, 32, 1}, 2, (int[]){n, k});
    *sum = lw_graph_reduce(g, "add", x, 1, (int[]){k});
    lw_graph_write(g, "Y", lw_graph_binary(g, "mul", *sum, x), 2, (int[]){n, k});
    return g;
}

TEST(edit_statements_have_the_names_of_graph_nodes) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = NULL;
    lw_bound *b = NULL;
    lw_schedule *s = NULL;
    int sum;
    lw_graph *wrong = sums(ctx, &sum), *g = sums(ctx, &sum);
    CHECK(lw_graph_label(wrong, 99, "nothing") == LW_ERROR);
    CHECK(!lw_graph_label(g, sum, "scores"));
    lw_show_options o = {.struct_size = sizeof o, .schedule = {"", NULL}};
    CHECK(!lw_graph_build(g, &mod));
    CHECK(!lw_bind(ctx, lw_module_function(mod, 0), (lw_size[]){{"N", 3}, {"K", 4}}, 2, &b));
    CHECK(!lw_schedule_new(ctx, b, &o, &s));
    CHECK_STR_EQ(lw_schedule_get(s).text, "scores: n k\nY: n k\n");
    lw_schedule_free(s);
    lw_bound_free(b);
    lw_module_free(mod);
    lw_graph_free(g);
    lw_graph_free(wrong);
    lw_context_free(ctx);
}

// --- Random walks ------------------------------------------------------------------------------

typedef struct Walk {
    Lab lab;
    Program *p;
    Work w;
    LabData data, want;
} Walk;

static bool walk_begin(Walk *k, uint64_t seed) {
    lab_begin(&k->lab);
    k->p = genprog(&k->lab, seed);
    k->data = lab_data(&k->lab, k->p, seed);
    k->want = lab_copy(&k->lab, k->p, &k->data);
    CHECK(lab_run(&k->lab, k->p, &k->want));
    return begin(&k->w, "p.lwp", lab_text(&k->lab, k->p), NULL, 0, "");
}

static void walk_end(Walk *k) {
    end(&k->w);
    lab_end(&k->lab);
}

// Runs `b` on a copy of the data; NULL: as the interpreter does.
static const char *run(Walk *k, const lw_bound *b, lw_schedule_text schedule, lw_backend backend) {
    LabData got = lab_copy(&k->lab, k->p, &k->data);
    DLTensor t[64];
    const DLTensor *args[64];
    for (int i = 0; i < got.n; i++) {
        t[i] = *lw_bound_tensor(b, (size_t)i);
        t[i].data = got.view[i].data;
        args[i] = &t[i];
    }
    lw_run_options o = {.struct_size = sizeof o, .backend = backend, .schedule = schedule};
    if (lw_run(k->w.ctx, b, args, (size_t)got.n, &o)) return lw_diag_text(k->w.ctx);
    return lab_difference(&k->lab, k->p, &got, &k->want);
}

static lw_status random_action(Walk *k, uint64_t *state, int *what, lw_schedule **out) {
    lw_context *ctx = k->w.ctx;
    const lw_schedule *s = k->w.s;
    uint64_t x = check_random(state), y = check_random(state), z = check_random(state);
    size_t n = lw_schedule_node_count(s) + 1;
    int a = (int)(x % n), b = (int)(y % n);
    const lw_node *node = lw_schedule_node(s, (size_t)a);
    const char *label = node && node->statement ? node->statement : "nothing";
    const char *tensor = k->p->tensors.at[y % (uint64_t)k->p->tensors.n].name;
    *what = (int)(z % 16);
    switch (*what) {
    case 0: return lw_schedule_split(ctx, s, a, (int64_t)(y % 6) + 1, z & 64, out);
    case 1: return lw_schedule_merge(ctx, s, a, out);
    case 2: return lw_schedule_swap(ctx, s, a, b, out);
    case 3: return lw_schedule_move(ctx, s, a, b, out);
    case 4: return lw_schedule_annotate(ctx, s, a, (lw_loop_kind)(y % 5), out);
    case 5: return lw_schedule_copy_input(ctx, s, label, tensor, y & 1 ? a : -1, out);
    case 6: return lw_schedule_drop_copy(ctx, s, label, tensor, out);
    case 7: return lw_schedule_increase_reuse(ctx, s, label, out);
    case 8: return lw_schedule_decrease_reuse(ctx, s, label, out);
    case 9: return lw_schedule_compute_at(ctx, s, label, b, out);
    case 10: return lw_schedule_inline(ctx, s, label, out);
    case 11: return lw_schedule_root(ctx, s, label, out);
    case 12: return lw_schedule_swap_dims(ctx, s, label, (int)(x % 3), (int)(y % 3), out);
    case 13: return lw_schedule_goto(ctx, s, a, out);
    case 14: return lw_schedule_skew(ctx, s, a, b, (int64_t)(z / 16 % 5) - 2, out);
    default: return lw_schedule_edit(ctx, s, "edit", y & 1 ? "next; swap" : "split 2", out);
    }
}

// The text of a result reads back to itself.
static bool reads_back(Walk *k) {
    lw_schedule *again;
    lw_show_options o = {.struct_size = sizeof o, .schedule = lw_schedule_get(k->w.s)};
    if (lw_schedule_new(k->w.ctx, k->w.bound, &o, &again)) return false;
    bool same = !strcmp(TEXT(&k->w), lw_schedule_get(again).text) &&
                !strcmp(lw_schedule_tree(k->w.s), lw_schedule_tree(again));
    lw_schedule_free(again);
    return same;
}

TEST(edit_walks_keep_the_meaning) {
    int applied[16] = {0}, refused = 0;
    uint64_t first = check_first_seed();
    for (int64_t i = 0; i < check_long_rounds(800); i++) {
        Walk k;
        uint64_t seed = first + (uint64_t)i, state = seed;
        if (!walk_begin(&k, seed)) return walk_end(&k);
        for (int j = 0; j < 10; j++) {
            lw_schedule *next;
            int what;
            lw_status status = random_action(&k, &state, &what, &next);
            CHECK(status == LW_OK || (status == LW_ERROR && lw_diag_count(k.w.ctx) && !next));
            if (!step(&k.w, status, &next)) {
                refused++;
                continue;
            }
            applied[what]++;
            lw_backend backend = j % 4 ? LW_BACKEND_TREE : LW_BACKEND_JIT;
            const char *wrong = run(&k, k.w.bound, lw_schedule_get(k.w.s), backend);
            if (CHECK(!wrong) && CHECK(reads_back(&k))) continue;
            printf("walk %llu, action %d: %s\n%s%s", (unsigned long long)seed, what,
                   wrong ? wrong : "", lab_text(&k.lab, k.p), TEXT(&k.w));
            break;
        }
        walk_end(&k);
    }
    for (int a = 0; a < 16 && check_usual_rounds(); a++)
        if (!CHECK(applied[a] > 0)) printf("action %d was never applied\n", a);
    CHECK(refused > 0 || !check_usual_rounds());
}

static lw_status random_transformation(lw_context *ctx, const lw_tree *t, uint64_t *state,
                                       lw_tree **out) {
    uint64_t x = check_random(state), y = check_random(state), z = check_random(state);
    size_t n = lw_tree_node_count(t) + 1;
    int a = (int)(x % n), b = (int)(y % n);
    int64_t k = (int64_t)(y % 4) + 1;
    switch (z % 13) {
    case 0: return lw_tree_split(ctx, t, a, k, z & 64, out);
    case 1: return lw_tree_merge(ctx, t, a, out);
    case 2: return lw_tree_interchange(ctx, t, a, out);
    case 3: return lw_tree_move(ctx, t, a, y & 1 ? 1 : -1, out);
    case 4: return lw_tree_sink(ctx, t, a, b, out);
    case 5: return lw_tree_fuse(ctx, t, a, out);
    case 6: return lw_tree_distribute(ctx, t, a, (int)k, out);
    case 7: return lw_tree_unroll(ctx, t, a, out);
    case 8: return lw_tree_unroll_and_jam(ctx, t, a, k, out);
    case 9: return lw_tree_annotate(ctx, t, a, (lw_loop_kind)k, out);
    case 10: return lw_tree_tile(ctx, t, a, k, 2, out);
    case 11: return lw_tree_skew(ctx, t, a, b, k - 2, out);
    default: return lw_tree_peel(ctx, t, a, k, out);
    }
}

static const char *run_tree(Walk *k, const lw_tree *t) {
    lw_module *mod = NULL;
    lw_bound *b = NULL;
    const char *wrong = "it does not read back";
    if (!lw_tree_module(k->w.ctx, t, &mod) &&
        !lw_bind(k->w.ctx, lw_module_function(mod, 0), NULL, 0, &b))
        wrong = run(k, b, (lw_schedule_text){NULL, NULL}, LW_BACKEND_TREE);
    lw_bound_free(b);
    lw_module_free(mod);
    return wrong;
}

TEST(edit_tree_walks_keep_the_meaning) {
    int applied = 0, refused = 0;
    uint64_t first = check_first_seed();
    for (int64_t i = 0; i < check_long_rounds(200); i++) {
        Walk k;
        uint64_t seed = first + (uint64_t)i, state = seed + 77;
        lw_tree *t = NULL;
        if (!walk_begin(&k, seed)) return walk_end(&k);
        lw_show_options o = {.struct_size = sizeof o, .schedule = {"", NULL}};
        CHECK(!lw_tree_new(k.w.ctx, k.w.bound, &o, &t) || lw_diag_count(k.w.ctx));
        for (int j = 0; t && j < 6; j++) {
            lw_tree *next;
            lw_status status = random_transformation(k.w.ctx, t, &state, &next);
            CHECK(status == LW_OK || (status == LW_ERROR && lw_diag_count(k.w.ctx) && !next));
            applied += status == LW_OK, refused += status != LW_OK;
            if (status) continue;
            lw_tree_free(t);
            t = next;
            const char *wrong = run_tree(&k, t);
            if (CHECK(!wrong)) continue;
            printf("tree walk %llu: %s\n%s", (unsigned long long)seed, wrong, lw_tree_stripe(t));
            break;
        }
        lw_tree_free(t);
        walk_end(&k);
    }
    CHECK((applied > 20 && refused > 20) || !check_usual_rounds());
}

// --- Threads -----------------------------------------------------------------------------------

static void *edit_often(void *arg) {
    Work *w = arg;
    long faults = 0;
    for (int i = 0; i < 50; i++) {
        lw_schedule *a = NULL, *b = NULL;
        faults += lw_schedule_split(w->ctx, w->s, 0, 2 + i % 5, false, &a) != LW_OK;
        faults += lw_schedule_edit(w->ctx, a, NULL, "down; swap", &b) != LW_OK;
        lw_schedule_free(a);
        lw_schedule_free(b);
    }
    return (void *)faults;
}

TEST(edit_one_schedule_by_many_threads) {
    Work w;
    pthread_t thread[4];
    if (!begin(&w, "mm.tc", product, matmul_sizes, 3, "")) return;
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, edit_often, &w);
    for (int i = 0; i < 4; i++) {
        void *faults;
        pthread_join(thread[i], &faults);
        CHECK(!faults);
    }
    end(&w);
}
