// Products of narrow types under schedules that pack and convert them, over all values that the
// types have: pairs and fours of integers that are multiplied and added up by one instruction, and
// floats of 16 bits that are computed with in 32. Against the interpreter, bit for bit.
#include "unit/check.h"

#include "support/jitlab.h"
#include "support/proglab.h"
#include "choose/choose.h"
#include "sched/schedule.h"

#include <stdio.h>
#include <string.h>

typedef struct Case {
    uint64_t state;
    int m, n, k;
    int rows, lanes, word; // of the tile; products taken together
    const char *a, *b, *sum;
    const char *wide; // the type of the copies; "": their own
} Case;

static int pick(Case *c, int n) { return (int)(check_random(&c->state) % (uint64_t)n); }

static Case random_case(uint64_t seed) {
    static const struct {
        const char *a, *b, *sum, *wide;
        int word;
    } kinds[] = {{"i8", "i8", "i32", "i16", 2},   {"u8", "i8", "i32", "", 4},
                 {"i8", "u8", "i32", "", 4},      {"u8", "u8", "i32", "i16", 2},
                 {"i16", "i16", "i32", "", 2},    {"i16", "i16", "u32", "", 2},
                 {"u8", "i8", "i32", "i16", 2},   {"i8", "i16", "i32", "i16", 2},
                 {"f16", "f16", "f32", "f32", 1}, {"bf16", "bf16", "f32", "f32", 1},
                 {"i8", "i8", "i32", "i32", 1},   {"u16", "i16", "i32", "i32", 2},
                 {"i8", "i8", "i64", "i16", 2},   {"f16", "bf16", "f64", "f64", 1}};
    static const int lanes[] = {8, 16, 32, 64}, sizes[] = {1, 2, 3, 4, 8, 12, 17, 40};
    Case c = {.state = seed};
    int kind = pick(&c, (int)(sizeof kinds / sizeof *kinds));
    c.a = kinds[kind].a, c.b = kinds[kind].b, c.sum = kinds[kind].sum, c.wide = kinds[kind].wide;
    c.word = kinds[kind].word;
    c.m = 1 + pick(&c, 13);
    c.n = 1 + pick(&c, 70);
    c.k = sizes[pick(&c, 8)] * (pick(&c, 4) ? c.word : 1);
    c.rows = 1 + pick(&c, 7);
    c.lanes = lanes[pick(&c, 4)];
    return c;
}

static const char *text_of(Lab *lab, const Case *c) {
    return arena_printf(&lab->arena,
                        "program p { input A: %s[%d, %d] input B: %s[%d, %d] inout C: %s[%d, %d]\n"
                        "C: for m in 0:%d, n in 0:%d, k in 0:%d  C[m, n] += %s(A[m, k])*%s(B[k, n])"
                        " }",
                        c->a, c->m, c->k, c->b, c->k, c->n, c->sum, c->m, c->n, c->m, c->n, c->k,
                        c->sum, c->sum);
}

// Same types need no conversion.
static const char *as(Lab *lab, const Case *c, const char *type) {
    return *c->wide && strcmp(c->wide, type) != 0 ? arena_printf(&lab->arena, " as %s", c->wide)
                                                  : "";
}

static const char *schedule_of(Lab *lab, Case *c) {
    static const char *const inner[] = {"k m n:v", "m k n:v"};
    static const char *const copies[] = {"k/%d n/%d k n:v", "k/%d k n:v", "n k/%d k",
                                         "k/%d n/%d n k:u"};
    const char *w = arena_printf(&lab->arena, "k/%d", c->word);
    Text t = {.arena = &lab->arena};
    text_printf(&t, "C: n/%d m/%d %s %s\n", c->lanes, c->rows, w, inner[pick(c, 2)]);
    text_printf(&t, "    copy B%s%s layout (n/%d %s n k) align 64\n", as(lab, c, c->b),
                pick(c, 3) ? arena_printf(&lab->arena, " at n/%d", c->lanes) : "", c->lanes, w);
    if (*c->wide || pick(c, 2)) text_printf(&t, "    copy A%s\n", as(lab, c, c->a));
    text_add(&t, "C.B: ");
    text_printf(&t, copies[pick(c, 4)], c->word, 16);
    text_add(&t, "\n");
    return text_str(&t);
}

// Any value of the type, its ends more often than others; of floats integers, so that sums are
// exact.
static void fill(Case *c, const Program *p, const LabData *d, int tensor) {
    Type type = p->tensors.at[tensor].type;
    for (int64_t e = 0; e < tensor_elements(&p->tensors.at[tensor]); e++) {
        int bits = type_info[type].bits < 32 ? type_info[type].bits : 32;
        int64_t span = (int64_t)1 << bits, low = type_info[type].class == CLASS_INT ? -span / 2 : 0;
        int64_t ends[] = {low, low + span - 1, low + span / 2};
        int64_t any = low + (int64_t)(check_random(&c->state) % (uint64_t)span);
        if (type_is_float(type)) any = pick(c, 33) - 16;
        lab_set(d, tensor, e, (double)(type_is_float(type) || pick(c, 2) ? any : ends[pick(c, 3)]));
    }
}

static Tree *lowered(Lab *lab, const Program *p, const char *text) {
    Source source = {"s", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(&lab->arena, p->names, &source, &lab->diags);
    return s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
}

// Is the Tree, compiled for an ISA level, what the program means? `made` says how it came about.
static bool is_right(Lab *lab, Case *c, const Program *p, const Tree *t, Isa isa, uint64_t seed,
                     const char *made) {
    Machine m;
    if (!jit_machine(isa, &m)) return true;
    if (seed % 5 == 0) m.has_vnni = false;
    if (seed % 3) m.unroll_limit = seed % 3 == 1 ? 8 : 40;
    LabData start = lab_data(lab, p, seed);
    for (int i = 0; i < start.n; i++) fill(c, p, &start, i);
    LabData want = lab_copy(lab, p, &start), got = lab_copy(lab, p, &start);
    if (!CHECK(lab_run(lab, p, &want))) return false;
    JitResult r = jit_run(lab, t, &m, &got, (InterpFlags){0}, 1, seed & 1);
    const char *differ =
        r == JIT_OK ? lab_difference(lab, p, &got, &want) : "no result, or a broken one";
    if (CHECK(!differ)) return true;
    printf("seed %llu, %s: %s %s\n%s\n%s", (unsigned long long)seed, isa_name[isa], differ,
           lab_errors(lab), lab_text(lab, p), made);
    return false;
}

static bool try_case(Lab *lab, uint64_t seed) {
    Case c = random_case(seed);
    const char *text = text_of(lab, &c), *schedule = schedule_of(lab, &c);
    const Program *p = lab_program(lab, text, NULL);
    Tree *t = p ? lowered(lab, p, schedule) : NULL;
    if (!CHECK(t)) {
        printf("seed %llu: %s\n%s\n%s", (unsigned long long)seed, lab_errors(lab), text, schedule);
        return false;
    }
    for (int isa = 0; isa < (int)ISA_COUNT; isa++)
        if (!is_right(lab, &c, p, t, (Isa)isa, seed, schedule)) return false;
    return true;
}

static void try_all(bool (*try)(Lab *lab, uint64_t seed), int64_t rounds) {
    for (int64_t i = 0; i < rounds; i++) {
        Lab lab;
        lab_begin(&lab);
        bool ok = try(&lab, check_first_seed() + (uint64_t)i);
        lab_end(&lab);
        if (!ok) return;
    }
    printf("%lld words of products\n", (long long)jit_tricks[TRICK_DOTS]);
}

TEST(narrow_products_keep_their_meaning) {
    int64_t rounds = check_long_rounds(1500);
    try_all(try_case, rounds);
    CHECK(rounds < 100 || jit_tricks[TRICK_DOTS] > rounds);
}

// Products and convolutions large enough for copies that convert, with operands that lie this way
// and that.
static const char *large(Lab *lab, Case *c) {
    static const char *const products[][3] = {{"m, k", "k, n", "C[m, n]"},
                                              {"k, m", "k, n", "C[m, n]"},
                                              {"m, k", "n, k", "C[m, n]"},
                                              {"m, k", "k, n", "C[n, m]"}};
    int form = pick(c, 6), m = 16 + pick(c, 20), n = 16 + pick(c, 60), k = 2 + pick(c, 30);
    int size[2][2] = {{form == 1 ? k : m, form == 1 ? m : k},
                      {form == 2 ? n : k, form == 2 ? k : n}};
    if (form < 4)
        return arena_printf(
            &lab->arena,
            "program p { input A: %s[%d, %d] input B: %s[%d, %d] inout C: %s[%d, %d]\n"
            "C: for m in 0:%d, n in 0:%d, k in 0:%d  %s += %s(A[%s])*%s(B[%s]) }",
            c->a, size[0][0], size[0][1], c->b, size[1][0], size[1][1], c->sum, form == 3 ? n : m,
            form == 3 ? m : n, m, n, k, products[form][2], c->sum, products[form][0], c->sum,
            products[form][1]);
    int w = 5 + pick(c, 8), f = 8 + pick(c, 30), ch = 2 + pick(c, 8);
    bool last = form == 4;
    return arena_printf(
        &lab->arena,
        "program p { input I: %s[%d, %d, %d] input K: %s[%d, %d, 3, 3] inout O: %s[%d, %d, %d]\n"
        "O: for h in 0:%d, w in 0:%d, f in 0:%d, r in 0:3, s in 0:3, c in 0:%d\n"
        "  O[%s] += %s(I[%s])*%s(K[f, c, r, s]) }",
        c->a, last ? w + 2 : ch, w + 2, last ? ch : w + 2, c->b, f, ch, c->sum, last ? w : f, w,
        last ? f : w, w, w, f, ch, last ? "h, w, f" : "f, h, w", c->sum,
        last ? "h + r, w + s, c" : "c, h + r, w + s", c->sum);
}

static bool try_choice(Lab *lab, uint64_t seed) {
    Case c = random_case(seed);
    const Program *p = lab_program(lab, large(lab, &c), NULL);
    for (int isa = 0; isa < (int)ISA_COUNT && CHECK(p); isa++) {
        Machine m;
        if (!jit_machine((Isa)isa, &m)) continue;
        const Schedule *s = choose_schedule(&lab->arena, p, &(ChooseOptions){.machine = &m});
        Text made = {.arena = &lab->arena};
        schedule_print(&made, s);
        Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
        if (!CHECK(t)) printf("%s\n%s", lab_errors(lab), text_str(&made));
        if (!t || !is_right(lab, &c, p, t, (Isa)isa, seed, text_str(&made))) return false;
    }
    return p != NULL;
}

TEST(choices_for_narrow_products_are_right) {
    int64_t rounds = check_long_rounds(300), before = jit_tricks[TRICK_DOTS];
    try_all(try_choice, rounds);
    CHECK(rounds < 100 || jit_tricks[TRICK_DOTS] - before > rounds);
}
