// Index arithmetic at its limits: wide coefficients, and indices from data that lie outside or
// would wrap to something inside. All that run a program agree with its interpreter on whether an
// index is out of range, and bit by bit on results where none is: the interpreter of Trees, machine
// code on every ISA between guard pages on both sides, and C.
#include "unit/check.h"

#include "support/clab.h"
#include "support/gensched.h"
#include "support/genwide.h"
#include "support/jitlab.h"
#include "support/shrink.h"
#include "tree/tree_interp.h"

typedef const char *MakeText(Arena *arena, uint64_t seed);

typedef struct Totals {
    int64_t pairs, refused, bad, ran; // of programs: refused when bound; with a bad index; without
} Totals;

static LabData data_of(Lab *lab, const Program *p, uint64_t seed) {
    LabData d = lab_data(lab, p, seed);
    for (int i = p->ninputs; i < d.n; i++)
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
            lab_set(&d, i, e, (double)(e % 3));
    genwide_fill(p, &d, seed);
    return d;
}

static const char *verdict(Lab *lab, const char *who, bool want, bool got) {
    return want == got ? NULL
                       : arena_printf(&lab->arena, "%s %s an index out of range", who,
                                      got ? "misses" : "imagines");
}

// NULL: everybody agrees with the interpreter.
static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed, Totals *n) {
    LabData start = data_of(lab, p, seed), want = lab_copy(lab, p, &start);
    bool fine = program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags);
    if (n) n->bad += !fine, n->ran += fine;
    LabData got = lab_copy(lab, p, &start);
    bool ok = tree_interpret(&lab->arena, t, got.view, (InterpFlags){0}, &lab->diags);
    const char *what = verdict(lab, "the Tree's interpreter", fine, ok);
    if (!what && fine) what = lab_difference(lab, p, &got, &want);
    for (int run = 0; run < 2 * (int)ISA_COUNT && !what; run++) {
        Machine m;
        Isa isa = (Isa)(run / 2);
        if (!jit_machine(isa, &m)) continue;
        if (seed % 3) m.unroll_limit = seed % 3 == 1 ? 8 : 40;
        got = lab_copy(lab, p, &start);
        JitResult r = jit_run(lab, t, &m, &got, (InterpFlags){0}, 1, run & 1);
        if (r == JIT_BROKEN) what = "memory or processor state that is not the kernel's changed";
        if (r == JIT_DECLINED) what = arena_printf(&lab->arena, "declined: %s", lab_errors(lab));
        if (!what) what = verdict(lab, isa_name[isa], fine, r == JIT_OK);
        if (!what && fine) what = lab_difference(lab, p, &got, &want);
    }
    return what;
}

static Tree *lower(Lab *lab, const Program *p, uint64_t seed, const Schedule **s) {
    for (int plain = 0; plain < 2; plain++) {
        GenSched g = {.state = seed, .plain = plain};
        *s = gen_schedule(&g, &lab->arena, p);
        Tree *t = tree_lower(&lab->arena, p, *s, &lab->diags);
        if (t) return t;
    }
    return NULL;
}

static const char *pair_fault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed) {
    const Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    return t ? difference(lab, p, t, seed, NULL) : NULL;
}

static bool try_one(Lab *lab, MakeText *make, uint64_t seed, Totals *n) {
    const Program *p = lab_program(lab, make(&lab->arena, seed), NULL);
    const Schedule *s;
    if (!p) n->refused++;
    if (!p) return true;
    Tree *t = lower(lab, p, seed, &s);
    if (!CHECK(t)) return false;
    n->pairs++;
    const char *what = difference(lab, p, t, seed, n);
    if (CHECK(!what)) return true;
    printf("seed %llu: %s\n%s\n%s\n", (unsigned long long)seed, what, lab_text(lab, p),
           shrink_schedule_text(lab, s));
    shrink_explain(lab, seed, p, s, pair_fault);
    return false;
}

static Totals try_many(MakeText *make, int64_t rounds) {
    Totals n = {0};
    for (int64_t i = 0; i < check_long_rounds(rounds); i++) {
        Lab lab;
        lab_begin(&lab);
        bool ok = try_one(&lab, make, check_first_seed() + (uint64_t)i, &n);
        lab_end(&lab);
        if (!ok) break;
    }
    printf("%lld pairs, %lld refused, %lld with a bad index, %lld without\n", (long long)n.pairs,
           (long long)n.refused, (long long)n.bad, (long long)n.ran);
    return n;
}

TEST(wide_coefficients_are_exact_or_refused) {
    Totals n = try_many(genwide_affine, 1500);
    CHECK(n.pairs < 100 || (n.refused * 5 > n.pairs && n.bad == 0));
}

TEST(wide_indices_from_data_are_judged_alike) {
    Totals n = try_many(genwide_data, 3000);
    CHECK(n.pairs < 100 || (n.bad * 10 > n.pairs && n.ran * 3 > n.pairs));
}

// --- Known cases ---------------------------------------------------------------------------------

typedef struct Known {
    const char *text;
    int64_t index[4]; // of I
    bool fine;
} Known;

static const Known known[] = {
    // u32 plus a constant wraps in 32 bits
    {"program k { input I: u32[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[I[i] + 1] }",
     {0, 1, 4294967295, 2},
     false},
    // a product wraps in 64 bits
    {"program k { input I: i64[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[2*I[i] + 1] }",
     {0, 1, INT64_MIN, 0},
     false},
    // an embedding with padding: the same index for all lanes
    {"program k { input I: i32[4] input E: f32[4, 40] output O: f32[4, 40]\n"
     "O: for i in 0:4, d in 0:40 O[i, d] = select(I[i] >= 0, E[I[i], d], 0.0) }",
     {0, -1, 3, -7},
     true},
    {"program k { input I: i32[4] input E: f32[4, 40] output O: f32[4, 40]\n"
     "O: for i in 0:4, d in 0:40 O[i, d] = select(I[i] >= 0, E[I[i], d], 0.0) }",
     {0, -1, 4, -7},
     false},
    // an index per lane
    {"program k { input I: i32[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = select(I[i] >= 0, E[I[i]], 0.0) }",
     {0, -1, 3, -7},
     true},
    // a sum that wraps in 32 bits before its maximum and minimum
    {"program k { input I: i32[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[max(min(I[i] + 1, 3), 0)] }",
     {2147483647, -2147483648, 2147483646, 1},
     true},
    {"program k { input I: i32[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[min(3*I[i] - 5, 3)] }",
     {2147483647, -1431655762, 2, 3},
     false},
    {"program k { input I: i32[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[(I[i] + 1) % 4] + E[min(I[i]/2 + 3, 3) % 3] }",
     {2147483647, -2147483648, 5, 1},
     true},
    // a minimum of u32 is not negative
    {"program k { input I: u32[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[min(I[i], 3)] + E[I[i] % 3] }",
     {4294967295, 2147483648, 1, 2},
     true},
    // nobody wants the element
    {"program k { input I: i32[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[I[i]]\nO.1: for i in 0:4 O[i] = 1.0 }",
     {0, 1, 4, 2},
     false},
    // nor that of an index which the same loop computes
    {"program k { input I: i32[4] input E: f32[4] output O: f32[4] temp J: i32[4]\n"
     "J: for i in 0:4 J[i] = I[i]\nO: for i in 0:4 O[i] = E[J[i]]\n"
     "O.1: for i in 0:4 O[i] = 1.0 }",
     {0, 1, 4, 2},
     false},
    // two indices whose sum wraps
    {"program k { input I: i64[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[I[i] + I[3 - i]] }",
     {0, INT64_MIN, INT64_MIN, 1},
     false},
    // a subscript that is a multiple of a 64-bit index and stays inside
    {"program k { input I: u64[4] input E: f32[8] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[2*I[i] + 1] }",
     {0, 3, 1, 2},
     true},
    // a sum that overflows, whatever multiples of the divisor a divided loop adds
    {"program k { input I: i64[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[(I[i] + i) % 2] }",
     {0, 1, INT64_MAX, 0},
     false},
    {"program k { input I: i64[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[min((I[i] + i)/2, 3)] }",
     {0, 1, INT64_MAX, 0},
     false},
    {"program k { input I: i64[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in 0:4 O[i] = E[max(min(I[i]/2 + i, 3)/2, 0)] }",
     {0, INT64_MIN, INT64_MAX, INT64_MAX},
     true},
    // a product that fits, of a factor that is a sum in a divided loop
    {"program k { input I: i64[4] input E: f32[4] output O: f32[4]\n"
     "O: for i in -3:1 O[i + 3] = E[I[i + 3]*i] }",
     {0, 0, -3, INT64_MIN},
     true},
    // far elements behind a guard, lanes at a distance: the address needs a register of its own
    {"program k { input I: i32[4] input E: f32[40] output O: f32[8, 4]\n"
     "O: for h in 0:8, g in 0:4\n"
     "    O[h, g] = select(index(65536*g + h - 2147483646) >= i64(0) &&\n"
     "                     index(65536*g + h - 2147483646) < i64(40),\n"
     "                     E[65536*g + h - 2147483646], 7.0) }",
     {0},
     true},
};

static LabData known_data(Lab *lab, const Program *p, const Known *k) {
    LabData d = lab_data(lab, p, 1);
    Type type = p->tensors.at[0].type;
    for (int i = 0; i < 4; i++)
        type_store(type, (char *)d.view[0].data + i * type_info[type].bytes,
                   (Value){.i = k->index[i]});
    return d;
}

// What becomes of the innermost loop of the first statement.
typedef enum Way { AS_WRITTEN, IN_LANES, DIVIDED, DIVIDED_IN_LANES, WAYS } Way;

static Tree *known_tree(Lab *lab, const Program *p, Way way) {
    const Stmt *s = &p->stmts.at[0];
    SchedLoop loop[3];
    int n = s->niters;
    for (int i = 0; i < n; i++)
        loop[i] = (SchedLoop){.iter = s->iter[i].name, .step = 1, .kind = KIND_SERIAL};
    if (way == DIVIDED || way == DIVIDED_IN_LANES) loop[n - 1].step = 2, loop[n] = loop[n - 1], n++;
    loop[n - 1].step = 1;
    loop[n - 1].kind = way == DIVIDED ? KIND_UNROLL : KIND_VECTOR;
    SchedStmt section = {.label = s->label, .stage = -1, .loop = loop, .nloops = n};
    const SchedStmt *sections[] = {&section};
    Schedule schedule = {.nstmts = 1, .stmt = sections};
    return tree_lower(&lab->arena, p, way == AS_WRITTEN ? NULL : &schedule, &lab->diags);
}

static void check_known(const Known *k, Way way) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, k->text, NULL);
    const Tree *t = p ? known_tree(&lab, p, way) : NULL;
    if (!CHECK(t)) return;
    LabData d = known_data(&lab, p, k), want = lab_copy(&lab, p, &d);
    CHECK(lab_run(&lab, p, &want) == k->fine);
    for (int isa = 0; isa < (int)ISA_COUNT; isa++) {
        Machine m;
        if (!jit_machine((Isa)isa, &m)) continue;
        LabData got = lab_copy(&lab, p, &d);
        JitResult r = jit_run(&lab, t, &m, &got, (InterpFlags){0}, 1, false);
        if (!CHECK((r == JIT_OK) == k->fine)) printf("%s, %s\n", k->text, isa_name[isa]);
        if (k->fine) CHECK(!lab_difference(&lab, p, &got, &want));
    }
    lab_end(&lab);
}

enum { KNOWN = sizeof known / sizeof *known };

TEST(wide_known_cases) {
    for (int k = 0; k < KNOWN; k++) {
        for (Way way = AS_WRITTEN; way < WAYS; way++) check_known(&known[k], way);
    }
}

// --- C -------------------------------------------------------------------------------------------

typedef struct Pair {
    Lab lab;
    uint64_t seed;
    const Program *p;
    int kernel;
} Pair;

static const char *const c_flags[8] = {"-O1", "-ffp-contract=off", "-fsanitize=undefined",
                                       "-fno-sanitize-recover=undefined"};

TEST(wide_known_cases_in_c) {
    Lab lab;
    CLab c;
    const Program *p[KNOWN];
    lab_begin(&lab);
    clab_begin(&c);
    for (int k = 0; k < KNOWN; k++) {
        p[k] = lab_program(&lab, known[k].text, NULL);
        if (!CHECK(p[k] && clab_add(&c, known_tree(&lab, p[k], false)) == k)) return;
    }
    if (!CHECK(clab_compile(&c, "gcc", c_flags, false))) return;
    for (int k = 0; k < KNOWN; k++) {
        LabData got = known_data(&lab, p[k], &known[k]), want = lab_copy(&lab, p[k], &got);
        CHECK(lab_run(&lab, p[k], &want) == known[k].fine);
        bool ok = clab_run(&c, k, &got, (InterpFlags){0}, false) == 0;
        if (!CHECK(ok == known[k].fine)) printf("%s\n", known[k].text);
        if (ok && known[k].fine) CHECK(!lab_difference(&lab, p[k], &got, &want));
    }
    clab_end(&c);
    lab_end(&lab);
}

TEST(wide_indices_in_c_are_judged_alike) {
    enum { MANY = 120 };
    static Pair pair[MANY];
    int64_t count = check_rounds(MANY) < 12 ? 12 : check_rounds(MANY);
    CLab c;
    clab_begin(&c);
    for (int64_t i = 0; i < count; i++) {
        const Schedule *s;
        pair[i].seed = check_first_seed() + (uint64_t)i;
        pair[i].kernel = -1;
        lab_begin(&pair[i].lab);
        const char *text =
            (i % 4 ? genwide_data : genwide_affine)(&pair[i].lab.arena, pair[i].seed);
        pair[i].p = lab_program(&pair[i].lab, text, NULL);
        Tree *t = pair[i].p ? lower(&pair[i].lab, pair[i].p, pair[i].seed, &s) : NULL;
        if (t) pair[i].kernel = clab_add(&c, t);
    }
    bool compiled = CHECK(clab_compile(&c, "gcc", c_flags, false));
    for (int64_t i = 0; i < count; i++) {
        Lab *lab = &pair[i].lab;
        const Program *p = pair[i].p;
        if (compiled && pair[i].kernel >= 0) {
            LabData want = data_of(lab, p, pair[i].seed), got = lab_copy(lab, p, &want);
            bool fine = program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags);
            bool ok = clab_run(&c, pair[i].kernel, &got, (InterpFlags){0}, i & 1) == 0;
            const char *what = verdict(lab, "C", fine, ok);
            if (!what && fine) what = lab_difference(lab, p, &got, &want);
            if (!CHECK(!what))
                printf("seed %llu: %s\n%s\n", (unsigned long long)pair[i].seed, what,
                       lab_text(lab, p));
        }
        lab_end(lab);
    }
    clab_end(&c);
}
