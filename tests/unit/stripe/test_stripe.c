// Stripe text: printed text parses back to the same text and computes the same; text written by
// hand has the meaning of docs/trees.md.
#include "unit/check.h"

#include "lang/lang.h"
#include "support/files.h"
#include "support/gensched.h"
#include "support/proglab.h"
#include "support/shapes.h"
#include "stripe/lift.h"
#include "stripe/stripe.h"
#include "tree/special.h"
#include "verify/verify.h"
#include "tree/tree_interp.h"

#include <dirent.h>
#include <stdlib.h>

static const Source *source_of(Lab *lab, const char *name, const char *text) {
    Source *s = arena_new(&lab->arena, Source);
    *s = (Source){name, text, (uint32_t)strlen(text)};
    return s;
}

static const char *printed(Lab *lab, const Tree *t) {
    Text out = {.arena = &lab->arena};
    stripe_print(&out, t);
    return text_str(&out);
}

static Tree *parsed(Lab *lab, const char *text) {
    return stripe_parse(&lab->arena, &lab->names, source_of(lab, "t.stripe", text), &lab->diags);
}

// --- Everything that is lowered ----------------------------------------------------------------

// The Tree, its print, and the Tree that comes back from it.
static bool comes_back(Lab *lab, const Program *p, const Schedule *s, uint64_t seed) {
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    if (!t) return false;
    const char *first = printed(lab, t);
    Tree *again = parsed(lab, first);
    if (!CHECK(again && !lab->diags.errors)) {
        printf("%s%s", lab_errors(lab), first);
        return true;
    }
    const char *second = printed(lab, again);
    if (!CHECK_STR_EQ(first, second)) return true;
    DiagList found = {.arena = &lab->arena}, other = found;
    bool proven = tree_verify(&lab->arena, t, NULL, &other) == VERIFY_OK;
    // A Program without iterations may read unwritten tensors; a Tree may not.
    for (int i = 0; i < p->tensors.n; i++) proven &= tensor_elements(&p->tensors.at[i]) > 0;
    if (proven) tree_verify(&lab->arena, again, NULL, &found);
    Text said = {.arena = &lab->arena};
    for (int i = 0; i < found.items.n; i++) {
        DiagId id = found.items.at[i]->id; // a whole copy takes along what nobody defined
        if (id != DIAG_TREE_UNWRITTEN && id != DIAG_TREE_NOT_PROVEN)
            diag_print(&said, found.items.at[i]);
    }
    if (!CHECK_STR_EQ(text_str(&said), "")) printf("%s", first);
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    InterpFlags flags = {0};
    CHECK(tree_interpret(&lab->arena, t, want.view, flags, &lab->diags));
    for (int i = 0; i < t->nargs; i++) // Stripe has flat arguments where a Schedule flattened them
        again->buffers.at[i].of_view = t->buffers.at[i].of_view;
    CHECK(tree_interpret(&lab->arena, again, got.view, flags, &lab->diags));
    const char *difference = lab_difference(lab, p, &got, &want);
    CHECK_STR_EQ(difference ? difference : "", "");
    if (difference) printf("%s", first);
    return true;
}

static int under_schedules(Lab *lab, const Program *p, int64_t rounds, uint64_t seed) {
    GenSched g = {.state = seed};
    int lowered = 0;
    comes_back(lab, p, NULL, seed);
    for (int64_t i = 0; i < rounds; i++) {
        const Schedule *s = gen_schedule(&g, &lab->arena, p);
        lowered += comes_back(lab, p, s, seed + (uint64_t)i);
        lab->diags = (DiagList){.arena = &lab->arena}; // refused schedules are no failure
    }
    return lowered;
}

// Beside support/shapes.h.
static const Shape more_shapes[] = {
    {"program types(N) { input a: f16[N] input b: bf16[N] input c: u8[N] inout d: f64[N] output e: "
     "bool[N]\n"
     "d: for i in 0:N  d[i] max= f64(f16(a[i]*a[i])) + f64(b[i]) + f64(index(i/2 + i%3))\n"
     "e: for i in 0:N  e[i] = c[i] > u8(3) && !(a[i] < f16(0.1)) }",
     1},
};

TEST(stripe_random_programs) {
    int lowered = 0;
    for (int64_t i = 0; i < check_rounds(1200); i++) {
        uint64_t seed = (uint64_t)i + 1;
        int which = (int)(i % (nshapes + (int64_t)(sizeof more_shapes / sizeof *more_shapes)));
        const Shape *shape = which < nshapes ? &shapes[which] : &more_shapes[which - nshapes];
        int64_t sizes[3];
        for (int k = 0; k < 3; k++) sizes[k] = (int64_t)(check_random(&seed) % 7);
        Lab lab;
        lab_begin(&lab);
        Program *p = lab_program(&lab, shape->text, sizes);
        if (CHECK(p)) lowered += under_schedules(&lab, p, 4, seed);
        lab_end(&lab);
    }
    CHECK(lowered > 0);
}

static void every_function(const char *file) {
    Lab lab;
    lab_begin(&lab);
    const char *text = project_file(&lab.arena, arena_printf(&lab.arena, "examples/tc/%s", file));
    Module *m = tc_infer(tc_parse(&lab.arena, &lab.names, source_of(&lab, file, text), &lab.diags));
    for (int i = 0; i < m->programs.n; i++) {
        lab.diags = (DiagList){.arena = &lab.arena};
        int64_t *values = arena_new_n(&lab.arena, int64_t, m->programs.at[i]->params.n);
        for (int k = 0; k < m->programs.at[i]->params.n; k++) values[k] = 2 + k % 3;
        const Program *p = program_bind(&lab.arena, m->programs.at[i], values, &lab.diags);
        lab.diags = (DiagList){.arena = &lab.arena};
        if (p) under_schedules(&lab, p, 5, (uint64_t)i + 7);
    }
    lab_end(&lab);
}

TEST(stripe_examples_in_tc) {
    const char *root = getenv("LW_ROOT");
    char path[1024];
    snprintf(path, sizeof path, "%s/examples/tc", root ? root : ".");
    DIR *folder = opendir(path);
    if (!CHECK(folder)) return;
    for (struct dirent *e; (e = readdir(folder));)
        if (strstr(e->d_name, ".tc")) every_function(e->d_name);
    closedir(folder);
}

// --- By hand -----------------------------------------------------------------------------------

// Runs a text on data of its own; the values of its last argument, as text.
static const char *result(Lab *lab, const char *text, const char *inputs) {
    Tree *t = parsed(lab, text);
    if (!t) return lab_errors(lab);
    const char *first = printed(lab, t);
    Tree *again = parsed(lab, first);
    if (!CHECK(again)) return lab_errors(lab);
    CHECK_STR_EQ(first, printed(lab, again));
    const Program *p = t->program;
    LabData d = lab_data(lab, p, 1);
    const char *at = inputs;
    for (int i = 0; i < d.n; i++)
        for (int64_t k = 0; *at && k < tensor_elements(&p->tensors.at[i]); k++) {
            char *end;
            lab_set(&d, i, k, strtod(at, &end));
            at = end + strspn(end, " ");
        }
    CHECK(tree_verify(&lab->arena, t, NULL, &lab->diags) != VERIFY_REFUSED);
    LabData other = lab_copy(lab, p, &d);
    InterpFlags flags = {.trap_uninitialised = true};
    if (!tree_interpret(&lab->arena, tree_expand(t), d.view, flags, &lab->diags) ||
        !tree_interpret(&lab->arena, tree_expand(again), other.view, flags, &lab->diags))
        return lab_errors(lab);
    CHECK(!lab_difference(lab, p, &d, &other));
    Text out = {.arena = &lab->arena};
    for (int64_t k = 0; k < tensor_elements(&p->tensors.at[d.n - 1]); k++)
        text_printf(&out, "%s%g", k ? " " : "", lab_value(&d, d.n - 1, k));
    return text_str(&out);
}

static void gives(const char *text, const char *inputs, const char *want) {
    Lab lab;
    lab_begin(&lab);
    CHECK_STR_EQ(result(&lab, text, inputs), want);
    lab_end(&lab);
}

TEST(stripe_flat_matmul_of_the_long_dialect) {
    gives("0: #contraction #agg_op_add #comb_op_mul #kernel\n"
          "block [i:2, j:2, k:3]:12 ( // mm\n"
          "    // a comment\n"
          "    in A[i, k] fp32:I(1, 1):(3, 1):4 B, E(2, 3):24 B\n"
          "    in B[k, j] fp32:I(1, 1):(2, 1):4 B, E(3, 2):24 B\n"
          "    out C[i, j]:add fp32:I(1, 1):(2, 1):4 B, E(2, 2):16 B\n"
          ") { 0: $a = load(A)  1: $b = load(B)  2: $c = mul($a, $b)  3: C = store($c) }",
          "1 2 3 4 5 6  1 0 0 1 1 1", "4 5 10 11");
}

TEST(stripe_program_and_main) {
    gives("0: #program #total_macs=2\n"
          "block []:1 ( // program\n"
          "    #user none new@0x00000000 A[0] fp32:I(2):(1):8 B\n"
          "    #user none new@0x00000000 B[0] fp32:I(2):(1):8 B\n"
          "    #tmp none new@0x00000000 T[0] fp32:I(2):(1):8 B\n"
          ") {\n"
          "    0: #main\n"
          "    block []:1 ( // main\n"
          "        in const A[0] fp32:I(2):(1):8 B\n"
          "        out B[0]:assign fp32:I(2):(1):8 B\n"
          "        inout T[0] fp32:I(2):(1):8 B\n"
          "    ) {\n"
          "        0: #eltwise #kernel\n"
          "        block [(#row i1:2)]:2 ( // k\n"
          "            in A[i1] fp32:I(1):(1):4 B, E(2):8 B\n"
          "            out T[i1]:assign fp32:I(1):(1):4 B, E(2):8 B\n"
          "        ) { 0: $A = load(A) 1: $T = neg($A) 2: T = store($T) }\n"
          "        1[0]: B = copy(T)\n"
          "    }\n"
          "}\n",
          "1 2", "-1 -2");
}

TEST(stripe_uneven_tile) {
    gives("block [x:3]:3 ( in I[4*x] i8(4):(1) out O[4*x]:assign i8(4):(1) ) {\n"
          "  0: block [x:4, x_0 = x]:4 ( 9 - x - 4*x_0 >= 0\n"
          "     in I[x] i8(1):(1)\n out O[x]:assign i8(1):(1) ) {\n"
          "  $0 = load(I) O = store($0) } }",
          "1 2 3 4 5 6 7 8 9 10 11 12  0 0 0 0 0 0 0 0 0 0 77 78", "1 2 3 4 5 6 7 8 9 10 77 78");
}

TEST(stripe_interleaved_split) {
    gives("block []:1 ( in I[0] i32(6):(1) out O[0] i32(6):(1) ) {\n"
          "  0: block [o:2]:2 ( in I[o] i32(5):(1) out O[5 - o] i32(1):(1) out P = O[1 - o] "
          "i32(5):(1) "
          ") {\n"
          "    0: block [i:3]:3 ( in I[2*i] i32(1):(1) out P[4 - 2*i]:assign i32(1):(1) ) {\n"
          "      $0 = load(I) P = store($0) } } }",
          "1 2 3 4 5 6", "6 5 4 3 2 1");
}

TEST(stripe_lattice) {
    gives(
        "block []:1 ( in I[0] i32(6):(1) inout O[0] i32(6):(1) ) {\n"
        "  0: block [i:6] ( (i + 1)%2 == 0 i >= 2\n in I[i] i32(1):(1)\n inout O[i]:add i32(1):(1) "
        ") { $0 = load(I) O = store($0) } }",
        "1 2 3 4 5 6  10 10 10 10 10 10", "10 10 10 14 10 16");
}

TEST(stripe_loads_before_stores) {
    const char *swap =
        "block []:1 ( inout A[0] i32(2):(1) inout B[0] i32(2):(1) ) {\n"
        "  0: block [i:2]:2 ( inout A[i] i32(1):(1) inout B[i] i32(1):(1) ) {\n"
        "    0: $a = load(A)\n 1: $b = load(B)\n 2: $c = add($a, $b)\n"
        "    3: A = store($b)\n 4: B = store($c)\n 5: $d = load(A) 6: $e = mul($d, $a)\n"
        "    7: A = store($e) 8: B = store($a):add\n } }";
    gives(swap, "1 2 10 20", "12 24");
}

TEST(stripe_aggregations_start_from_their_identity) {
    gives("block [i:2, k:3]:6 ( in A[i, k] i32(1, 1):(3, 1) out M[i]:max i32(1):(1) ) {\n"
          "$0 = load(A) M = store($0) }",
          "-5 -3 -9 4 2 1 100 100", "-3 4");
    gives("block [i:2, k:3]:6 ( in A[i, k] i32(1, 1):(3, 1) inout M[i]:max i32(1):(1) ) {\n"
          "$0 = load(A) M = store($0) }",
          "-5 -3 -9 4 2 1  0 100", "0 100");
    gives("block [i:2, k:0]:0 ( out M[i]:mul i32(1):(1) ) { $0 = (int)3 M = store($0) }", "7 7",
          "1 1");
}

TEST(stripe_initialisations_may_meet) {
    gives("block [i:3, j:2]:6 ( in A[i, j] i32(1, 1):(2, 1) out D[i + j]:add i32(1):(1) ) {\n"
          "$0 = load(A) D = store($0) }",
          "1 2 3 4 5 6  9 9 9 9", "1 5 9 6");
}

TEST(stripe_scalars) {
    gives("block [i:4]:4 ( in A[i] fp32(1):(1) out O[i] fp32(1):(1) ) {\n"
          "$i = load_index(2*i + 1) $a = load(A) $h = (float)0.5 $m = mul($a, $h) $z = (int)0\n"
          "$l = lt($a, $z) $n = neg($m) $c = cond($l, $n, $m) $s = add($c, $i) O = store($s) }",
          "-2 2 -4 4", "2 4 7 9");
    gives("block [i:3]:3 ( in X[i] i32(1):(1) in T[0] fp32(5):(1) out O[i] fp32(1):(1) ) {\n"
          "$x = load(X) $t = load(T[$x + 1]) O = store($t) }",
          "3 0 1  10 20 30 40 50", "50 20 30");
}

TEST(stripe_specials) {
    const char *head = "block []:1 ( in A[0, 0] fp32(2, 3):(3, 1) in X[0] i32(2):(1) ";
    Lab lab;
    lab_begin(&lab);
    const char *gather = arena_printf(&lab.arena,
                                      "%s out O[0, 0] fp32(2, 2):(2, 1) ) { O = "
                                      "gather(A, X, axis=1) }",
                                      head);
    gives(gather, "1 2 3 4 5 6  2 0", "3 1 6 4");
    const char *scatter = arena_printf(&lab.arena,
                                       "%s out O[0, 0] fp32(4, 3):(3, 1) ) { O = "
                                       "scatter(A, X) }",
                                       head);
    gives(scatter, "1 2 3 4 5 6  2 2", "0 0 0 0 0 0 5 7 9 0 0 0");
    const char *reshape = arena_printf(&lab.arena,
                                       "%s none T[0, 0] fp32(2, 3):(3, 1) out O[0, 0] "
                                       "fp32(3, 2):(2, 1) ) { 0: T = copy(A) 1[0]: O = "
                                       "reshape(T) }",
                                       head);
    gives(reshape, "1 2 3 4 5 6  0 0", "1 2 3 4 5 6");
    lab_end(&lab);
    gives("block []:1 ( out O[0] i8(3):(1) ) { O = zero() }", "", "0 0 0");
    gives("block []:1 ( out O[0] i8(3):(1) ) { O = agg_init_min() }", "", "127 127 127");
    gives("block []:1 ( out O[0] i8(2):(1) ) { O = agg_init_max() }", "", "-128 -128");
    gives("block []:1 ( out O[0] fp32(1):(1) ) { O = agg_init_mul() }", "", "1");
    gives("block []:1 ( out O[0] fp32(1):(1) ) { O = agg_init_add() }", "", "0");
    // taus88 from (128, 16, 32), computed independently.
    gives("block []:1 ( in S[0, 0] u32(3, 1):(1, 1) out T[0, 0] u32(3, 1):(1, 1) "
          "out R[0] u32(3):(1) ) { (T, R) = prng_step(S) }",
          "128 16 32", "4.71885e+06 2.14751e+09 2.44954e+09");
}

TEST(stripe_keeps_tags_places_and_dependences) {
    Lab lab;
    lab_begin(&lab);
    const char *text = "#program #total_macs=24 block []:1 ( // net\n"
                       "    #user in A<DRAM>[0, 0] fp32(4, {6}):(6, 1)\n"
                       "    #user out B<DRAM>[0, 0] fp32(4, {6}):(6, 1)\n"
                       ") {\n"
                       "    0: #parallel #grain=2 #main=\"a b\" block<PROC[i%2]> [#row i:4]:4 (\n"
                       "        in A<SRAM[i, 0]/BANK>[i, 0] fp32(1, {6}):(6, 1)\n"
                       "        out B[i, 0]:assign fp32(1, {6}):(6, 1)\n"
                       "        #stack #align=64 #cached none T<REG>[0] fp32(6):(1)\n"
                       "    ) {\n"
                       "        0: #cache_load T = reshape(A)\n"
                       "        1[0, parent]: #vector block [j:6, p = i]:6 (\n"
                       "            j + p >= 0\n"
                       "            in T[j] fp32(1):(1)\n"
                       "            out B[0, j]:assign fp32(1, {1}):(6, 1)\n"
                       "        ) {\n"
                       "            0: #cache=l2 $T = load(T)\n"
                       "            1: $0 = (fp32)2.5\n"
                       "            2: $1 = mul($T, $0)\n"
                       "            3: #nontemporal #mark B = store($1)\n"
                       "        }\n"
                       "    }\n"
                       "}\n";
    Tree *t = parsed(&lab, text);
    CHECK_STR_EQ(lab_errors(&lab), "");
    if (t) CHECK_STR_EQ(printed(&lab, t), text);
    lab_end(&lab);
}

// #bank in a place is the index that has the tag.
TEST(stripe_places_by_tags) {
    Lab lab;
    lab_begin(&lab);
    Tree *t = parsed(&lab, "block []:1 ( out B[0] fp32(4):(1) ) {\n"
                           "    block<PROC[2*#bank + #proc]> [(#bank i:2), (#proc j:2)]:4 (\n"
                           "        out B<SRAM[#bank]>[2*i + j] fp32(1):(1)\n"
                           "    ) { $0 = (fp32)1.0 B = store($0) }\n}\n");
    CHECK_STR_EQ(lab_errors(&lab), "");
    if (CHECK(t)) {
        const char *text = printed(&lab, t);
        CHECK(strstr(text, "block<PROC[2*i + j]> [") && strstr(text, "out B<SRAM[i]>[2*i + j]"));
        CHECK_STR_EQ(printed(&lab, parsed(&lab, text)), text);
    }
    lab_end(&lab);
}

// --- Loops in index order ------------------------------------------------------------------------

typedef struct Ordered {
    const char *text;
    VerifyAnswer answer;
} Ordered;

#define STORE "{ $a = load(A) $p = load(P) $s = add($a, $p) S = store($s) }"
#define SCAN  "block []:1 ( in A[0] i32(1000000):(1) out S[0] i32(1000000):(1) ) { $z = (i32)0 "

// An iteration of a loop in index order may read elements that an earlier one wrote, and no others.
// These loops are too long to be enumerated.
static const Ordered ordered[] = {
    {SCAN "S = store($z) #serial block [i:999999] ( in A[i + 1] i32(1):(1) in P = S[i] i32(1):(1) "
          "out S[i + 1] i32(1):(1) ) " STORE "}",
     VERIFY_OK},
    {SCAN "S[1] = store($z) #serial block [i:999999] ( in A[i] i32(1):(1) in P = S[i] i32(1):(1) "
          "out S[i + 1] i32(1):(1) ) " STORE "}",
     VERIFY_REFUSED},
    {SCAN "S[999999] = store($z) #serial block [i:999999] ( in A[i] i32(1):(1) "
          "in P = S[999999 - i] i32(1):(1) out S[999998 - i] i32(1):(1) ) " STORE "}",
     VERIFY_OK},
    {SCAN "S = store($z) #serial block [i:999999] ( in A[i] i32(1):(1) in P = S[i + 1] i32(1):(1) "
          "out S[i] i32(1):(1) ) " STORE "}",
     VERIFY_REFUSED},
    // every third element, of two before
    {SCAN "S = store($z) S[3] = store($z) #serial block [i:300000] ( in A[i] i32(1):(1) "
          "in P = S[3*i] i32(1):(1) in Q = S[3*i + 3] i32(1):(1) out S[3*i + 6] i32(1):(1) ) "
          "{ $p = load(P) $q = load(Q) $s = add($p, $q) S = store($s) } }",
     VERIFY_OK},
    // time steps, in a tiled loop over time
    {"block []:1 ( in A[0] i32(1000):(1) out S[0, 0] i32(1001, 1000):(1000, 1) ) {"
     "  block [x:1000] ( in A[x] i32(1):(1) out S[0, x] i32(1, 1):(1000, 1) )"
     "    { $a = load(A) S = store($a) }"
     "  #serial block [t:125] ( inout S[0, 0] i32(1001, 1000):(1000, 1) ) {"
     "    #serial block [u:8, t = t] ( inout S[0, 0] i32(1001, 1000):(1000, 1) ) {"
     "      block [x:1000, s = 8*t + u] ( in P = S[s, max(x - 1, 0)] i32(1, 1):(1000, 1)"
     "        out S[s + 1, x] i32(1, 1):(1000, 1) ) { $p = load(P) S = store($p) } } } }",
     VERIFY_OK},
    // an index that is passed in has the value that it is given
    {"block []:1 ( out O[0] i32(1):(1) none T[0] i32(4):(1) ) {"
     "  block [i:2] ( out T[0] i32(4):(1) ) { block [j = 2*i + 1] ( out T[j] i32(1):(1) )"
     "    { $a = (i32)1 T = store($a) } }"
     "  block [] ( in T[0] i32(1):(1) out O[0] i32(1):(1) ) { $t = load(T) O = store($t) } }",
     VERIFY_REFUSED},
};

TEST(stripe_loops_in_index_order_read_what_they_wrote) {
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        Lab lab;
        lab_begin(&lab);
        const Tree *t = parsed(&lab, ordered[i].text);
        if (!CHECK(t)) printf("%s\n%s", ordered[i].text, lab_errors(&lab));
        if (t && !CHECK_INT_EQ(tree_verify(&lab.arena, t, NULL, &lab.diags), ordered[i].answer))
            printf("%s\n%s", ordered[i].text, lab_errors(&lab));
        lab_end(&lab);
    }
}

// --- Examples ----------------------------------------------------------------------------------

static LabData run_example(Lab *lab, const char *file, const Program **program) {
    Tree *t = parsed(
        lab, project_file(&lab->arena, arena_printf(&lab->arena, "examples/stripe/%s", file)));
    CHECK_STR_EQ(lab_errors(lab), "");
    if (!CHECK(t)) return (LabData){0};
    const char *first = printed(lab, t);
    Tree *again = parsed(lab, first);
    if (CHECK(again)) CHECK_STR_EQ(printed(lab, again), first);
    LabData d = lab_data(lab, t->program, 3), lifted = lab_copy(lab, t->program, &d);
    CHECK(tree_interpret(&lab->arena, tree_expand(t), d.view, (InterpFlags){0}, &lab->diags));
    Lift lift = tree_lift(&lab->arena, tree_expand(t));
    bool decides = !strcmp(file, "matmul_banked.stripe") || !strcmp(file, "specials.stripe");
    if (CHECK(!lift.program == decides) && lift.program) {
        Program *p = program_bind(&lab->arena, lift.program, NULL, &lab->diags);
        CHECK(p && lab_run(lab, p, &lifted) && !lab_difference(lab, p, &lifted, &d));
    }
    CHECK_STR_EQ(lab_errors(lab), "");
    *program = t->program;
    return d;
}

static void same_results(const char *a, const char *b) {
    Lab lab;
    lab_begin(&lab);
    const Program *p, *q;
    LabData x = run_example(&lab, a, &p), y = run_example(&lab, b, &q);
    const char *difference = x.n && y.n ? lab_difference(&lab, p, &x, &y) : "did not run";
    CHECK_STR_EQ(difference ? difference : "", "");
    lab_end(&lab);
}

TEST(stripe_figure_5_before_and_after_tiling) { same_results("conv.stripe", "conv_tiled.stripe"); }
TEST(stripe_tilings_of_figure_2) { same_results("tiles.stripe", "tiles_interleaved.stripe"); }
TEST(stripe_matmul_banked) { same_results("matmul.stripe", "matmul_banked.stripe"); }
TEST(stripe_specials_example) { same_results("specials.stripe", "specials.stripe"); }
