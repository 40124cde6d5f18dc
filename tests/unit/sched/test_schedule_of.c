// Schedules read back from Trees: an order that was lowered is found again, and what is found makes
// the same loops.
#include "unit/tree_run.h"

#include "support/proglab.h"
#include "support/genprog.h"
#include "support/gensched.h"

static const char product[] =
    "program f { input A: f32[12, 10] input B: f32[10, 8] output C: f32[12, 8]\n"
    "C: for m in 0:12, n in 0:8, k in 0:10  C[m, n] +=! A[m, k]*B[k, n] }";
static const char two[] =
    "program f { input A: f32[12, 8] temp T: f32[12, 8] output C: f32[12, 8]\n"
    "T: for i in 0:12, j in 0:8  T[i, j] = A[i, j]*2.0\n"
    "C: for m in 0:12, n in 0:8  C[m, n] = T[m, n] + 1.0 }";

static const char *read_back(TreeRun *r, const char *schedule) {
    Tree *t = tr_lower(r, schedule);
    const char *why = NULL;
    if (!t) return tr_diags(r);
    const Schedule *s = schedule_of_tree(&r->arena, t, &why);
    Text out = {.arena = &r->arena};
    if (!s) return why;
    schedule_print(&out, s);
    return text_str(&out);
}

TEST(orders_are_read_back) {
    static const char *const order[] = {
        "C: m n k\n",
        "C: m/8:p n/4 k/3 m k n:v\n",
        "C: n m/5 k:any m\n",
        "C: k/4 m%3 n m k\n",
    };
    TreeRun r;
    tr_begin(&r, product);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        CHECK_STR_EQ(read_back(&r, order[i]), order[i]);
    tr_end(&r);
    tr_begin(&r, two);
    CHECK_STR_EQ(read_back(&r, "T: i j\nC: m n\n"), "T: i j\nC: m n\n");
    CHECK_STR_EQ(read_back(&r, "T: i | j\nC: m n:v\n"), "T: i | j\nC: m n:v\n");
    CHECK_STR_EQ(read_back(&r, "T: | i j\nC: m/4 n m\n"), "T: | i j\nC: m/4 n m\n");
    tr_end(&r);
}

TEST(some_trees_have_no_schedule) {
    TreeRun r;
    tr_begin(&r, product);
    CHECK_STR_EQ(read_back(&r, "C: m n k\n    copy A at m\n"), "it is no program of statements");
    tr_end(&r);
}

// Plain orders of random Programs: what is found prints, parses and makes the same text of loops.
static bool found_again(Lab *lab, uint64_t seed, bool chains) {
    const Program *p = chains ? genprog_chains(lab, seed) : genprog(lab, seed);
    GenSched g = {.state = seed, .plain = true};
    const Schedule *given = gen_schedule(&g, &lab->arena, p);
    const Tree *t = tree_lower(&lab->arena, p, given, &lab->diags);
    const char *why = NULL;
    const Schedule *s = t ? schedule_of_tree(&lab->arena, t, &why) : NULL;
    if (!s) return false;
    Text text = {.arena = &lab->arena}, one = {.arena = &lab->arena},
         other = {.arena = &lab->arena};
    schedule_print(&text, s);
    Source src = {"s.lws", text_str(&text), (uint32_t)strlen(text_str(&text))};
    s = schedule_parse(&lab->arena, &lab->names, &src, &lab->diags);
    const Tree *again = s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
    if (!CHECK(again)) return false;
    CHECK(tree_same_loops(&lab->arena, t, again));
    tree_show(&one, t, true);
    tree_show(&other, again, true);
    if (!strstr(text_str(&one), " in 1")) CHECK_STR_EQ(text_str(&other), text_str(&one));
    return true;
}

TEST(what_is_found_lowers_to_the_same) {
    int64_t found = 0, rounds = check_long_rounds(200);
    for (int64_t i = 0; i < rounds; i++) {
        Lab lab;
        lab_begin(&lab);
        found += found_again(&lab, check_first_seed() + (uint64_t)i, i % 2);
        lab_end(&lab);
    }
    CHECK(rounds < 200 || found * 5 > rounds);
}
