// Stripe text of random candidates of random Programs: it reads back, is proven as what it was
// printed from is, and computes the same.
#include "unit/check.h"

#include "space/cpu.h"
#include "support/genprog.h"
#include "support/jitlab.h"
#include "stripe/stripe.h"
#include "tree/tree_interp.h"
#include "verify/verify.h"

static const Source *source_of(Lab *lab, const char *text) {
    Source *s = arena_new(&lab->arena, Source);
    *s = (Source){"printed.stripe", text, (uint32_t)strlen(text)};
    return s;
}

static const char *printed(Lab *lab, const Tree *t) {
    Text out = {.arena = &lab->arena};
    stripe_print(&out, t);
    return text_str(&out);
}

static const char *said(Lab *lab, const DiagList *diags) {
    Text out = {.arena = &lab->arena};
    for (int i = 0; i < diags->items.n; i++) diag_print(&out, diags->items.at[i]);
    return text_str(&out);
}

// What is wrong with a Tree or its text; NULL: nothing.
static const char *fault_of(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    DiagList diags = {.arena = &lab->arena};
    const char *first = printed(lab, t);
    Tree *again = stripe_parse(&lab->arena, &lab->names, source_of(lab, first), &diags);
    if (!again || diags.errors) return said(lab, &diags);
    if (strcmp(first, printed(lab, again))) return "it prints otherwise";
    if (tree_verify(&lab->arena, t, NULL, &diags) != VERIFY_OK) return said(lab, &diags);
    if (tree_verify(&lab->arena, again, NULL, &diags) != VERIFY_OK) return said(lab, &diags);
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    for (int i = 0; i < t->nargs; i++) // Stripe has flat arguments where a Schedule flattened them
        again->buffers.at[i].of_view = t->buffers.at[i].of_view;
    InterpFlags flags = {0};
    if (!program_interpret(&lab->arena, p, want.view, flags, &diags) ||
        !tree_interpret(&lab->arena, again, got.view, flags, &diags))
        return said(lab, &diags);
    return lab_difference(lab, p, &got, &want);
}

static bool try_program(Lab *lab, const Program *p, uint64_t seed, int64_t *trees) {
    CpuOptions o = {.threads = seed % 3 ? 2 : 1};
    jit_machine(ISA_COUNT, &o.machine);
    CpuSpace *cs = cpu_space(&lab->arena, p, &o, &lab->diags);
    if (!CHECK(cs)) return false;
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t state = seed * 1000 + i;
        space_copy(cs->space, c, cs->space->root);
        if (!space_complete(w, c, &state)) continue;
        const Schedule *s = cpu_schedule(&lab->arena, cs, c);
        const Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
        const char *wrong = t ? fault_of(lab, p, t, seed) : "it does not lower";
        ++*trees;
        if (CHECK(!wrong)) continue;
        Text out = {.arena = &lab->arena};
        schedule_print(&out, s);
        printf("seed %llu, candidate %d: %s\n%s\n%s\n%s\n", (unsigned long long)seed, (int)i, wrong,
               lab_text(lab, p), text_str(&out), t ? printed(lab, t) : "");
        return false;
    }
    return true;
}

// All of them are proven, too: small Trees are walked through where reasoning leaves something
// open.
TEST(candidates_come_back_from_stripe) {
    int64_t trees = 0;
    for (int64_t i = 0; i < check_long_rounds(600); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = i % 2 ? genprog(&lab, seed) : genprog_chains(&lab, seed);
        bool ok = CHECK(p) && try_program(&lab, p, seed, &trees);
        lab_end(&lab);
        if (!ok) return;
    }
    printf("%lld candidates\n", (long long)trees);
}

static const Tree *lowered(Lab *lab, const Program *p, const char *schedule) {
    Schedule *s = schedule_parse(&lab->arena, &lab->names, source_of(lab, schedule), &lab->diags);
    const Tree *t = s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
    if (!CHECK(t)) printf("%s", lab_errors(lab));
    return t;
}

// An index behind the last element is wrong even where blocks of the layout leave room for it.
TEST(an_index_into_padding_is_out_of_range) {
    static const char text[] =
        "program g { input A: f32[9] input I: i32[4] output O: f32[4] temp T: "
        "f32[9]\n"
        "    T: for i in 0:9  T[i] = A[i] + 1.0\n"
        "    O: for j in 0:4  O[j] = T[I[j]]\n}\n";
    for (int64_t index = -1; index <= 12; index++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, text, NULL);
        const Tree *t = CHECK(p) ? lowered(&lab, p, "T: | i\n    layout (0/6 0)\nO: j:v\n") : NULL;
        if (!t) return;
        CHECK(!fault_of(&lab, p, t, 1));
        LabData start = lab_data(&lab, p, 1), got = lab_copy(&lab, p, &start);
        for (int k = 0; k < 4; k++) lab_set(&start, 1, k, k == 2 ? (double)index : 3);
        bool inside = index >= 0 && index < 9;
        got = lab_copy(&lab, p, &start);
        DiagList diags = {.arena = &lab.arena};
        CHECK(tree_interpret(&lab.arena, t, got.view, (InterpFlags){0}, &diags) == inside);
        for (Isa isa = ISA_SCALAR; isa < ISA_COUNT; isa++) {
            Machine m;
            if (!jit_machine(isa, &m)) continue;
            got = lab_copy(&lab, p, &start);
            JitResult r = jit_run(&lab, t, &m, &got, (InterpFlags){0}, 1, false);
            CHECK_INT_EQ(r, inside ? JIT_OK : JIT_STATUS);
        }
        lab_end(&lab);
    }
}

// Blocks of blocks: as many dimensions as a Schedule may ask for.
TEST(layouts_of_many_dimensions_come_back) {
    static const char text[] =
        "program g { input A: f32[9, 4] output O: f32[9, 4] temp T: f32[9, 4]\n"
        "    T: for i in 0:9, j in 0:4  T[i, j] = A[i, j] + 1.0\n"
        "    O: for i in 0:9, j in 0:4  O[i, j] = T[8 - i, j] + T[i, j]\n}\n";
    for (int64_t i = 0; i < check_rounds(200); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, text, NULL);
        Text layout = {.arena = &lab.arena};
        int n = 2 + (int)(check_random(&state) % 31);
        text_add(&layout, "T: | i j\n    layout (");
        for (int d = 0; d < n; d++)
            text_printf(&layout, d + 2 < n ? "%d/%d " : "%d ", d + 2 < n ? d % 2 : n - 1 - d,
                        d % 2 ? 1 + (int)(check_random(&state) % 3)
                              : 1 + (int)(check_random(&state) % 6));
        text_add(&layout, ")\nO: i j\n");
        const Tree *t = CHECK(p) ? lowered(&lab, p, text_str(&layout)) : NULL;
        const char *wrong = t ? fault_of(&lab, p, t, seed) : "it does not lower";
        LabData start = lab_data(&lab, p, seed), want = lab_copy(&lab, p, &start);
        if (!wrong) CHECK(lab_run(&lab, p, &want));
        for (Isa isa = ISA_SCALAR; isa < ISA_COUNT && !wrong; isa++) {
            Machine m;
            if (!jit_machine(isa, &m)) continue;
            LabData got = lab_copy(&lab, p, &start);
            bool ran = jit_run(&lab, t, &m, &got, (InterpFlags){0}, 1, false) == JIT_OK;
            wrong = ran ? lab_difference(&lab, p, &got, &want) : "machine code does not run";
        }
        if (!CHECK(!wrong))
            printf("seed %llu: %s\n%s", (unsigned long long)seed, wrong, text_str(&layout));
        lab_end(&lab);
        if (wrong) return;
    }
}
