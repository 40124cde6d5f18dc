// The table of targets: rows are whole, names are unique, and a row compiles, loads and runs. And a
// new target in 200 lines: tests/support/texttarget.c.
#include "unit/check.h"

#include "sched/lower.h"
#include "support/pairs.h"
#include "support/texttarget.h"
#include "target/target.h"

#include <string.h>

TEST(rows_are_found_by_name_and_by_instruction_set) {
    const Target *host = target_host();
    CHECK(target_by_name(host->name) == host);
    CHECK(!target_by_name("") && !target_by_name("x86-64, cold"));
    CHECK(host->nisas > 0 && host->nisas <= TARGET_MAX_ISAS && !host->isa[host->nisas]);
    for (int i = 0; i < host->nisas; i++) {
        int found = -1;
        CHECK(target_with_isa(host->isa[i], &found) == host && found == i);
        CHECK(target_isa(host, host->isa[i]) == i);
    }
    int none;
    CHECK(!target_with_isa("pdp11", &none) && target_isa(host, "pdp11") == -1);
    CHECK(target_isas(host->name) == host->isa && !target_isas("pdp11"));
}

TEST(machines_know_their_target) {
    const Target *host = target_host();
    Machine m;
    host->detect(&m, host->nisas);
    CHECK(m.target == host && target_isa(host, machine_isa(&m)) == (int)m.isa);
    for (int i = 0; i < host->nisas; i++) {
        host->describe(&m, i);
        CHECK(m.target == host && !strcmp(machine_isa(&m), host->isa[i]));
        Machine narrow;
        host->describe(&narrow, 0);
        host->pretend(&m, family_at(0), i);
        machine_fit(&m, &narrow);
        CHECK(m.target == host && m.isa == 0);
    }
}

// The whole road through one row: choose, lower, compile, list, load, call, unload.
TEST(a_row_is_enough_to_run_a_program) {
    const Target *t = target_host();
    Lab lab;
    Machine m;
    Code code;
    Listing listing;
    lab_begin(&lab);
    t->detect(&m, t->nisas);
    const Program *p =
        lab_program(&lab,
                    "program add() {\n"
                    "    input A: f32[4]\n    input B: f32[4]\n    output C: f32[4]\n"
                    "    C: for i in 0:4\n        C[i] = A[i] + B[i]\n}\n",
                    NULL);
    if (!CHECK(p)) return;
    const Schedule *s = t->choose(&lab.arena, p, &(ChooseOptions){.machine = &m, .serial = true});
    const Tree *tree = tree_for_views(&lab.arena, tree_lower(&lab.arena, p, s, &lab.diags), NULL);
    CHECK(target_compile(t, &lab.arena, tree, &m, &code, &listing, &lab.diags));
    Text text = {.arena = &lab.arena};
    t->list(&text, &code, &listing, "");
    CHECK(text.len > 0);
    Loader loader = {.exec = exec_arena_new()};
    Loaded loaded;
    if (!CHECK(t->load(&loader, &code, NULL, &loaded))) return;
    float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, c[4] = {0};
    void *buffers[] = {a, b, c};
    KernelEnv env = {.threads = 1, .apply = code_apply, .user = loaded.user};
    CHECK(code.scratch == 0 && loaded.entry(buffers, NULL, &env) == KERNEL_OK);
    for (int i = 0; i < 4; i++) CHECK(c[i] == a[i] + b[i]);
    t->unload(&loaded);
    exec_arena_free(loader.exec);
    lab_end(&lab);
}

static const char *tree_code(Lab *lab, const Tree *tree) {
    const Target *t = &text_target;
    Machine m;
    Code code;
    Text text = {.arena = &lab->arena};
    t->detect(&m, t->nisas);
    if (!target_compile(t, &lab->arena, tree, &m, &code, NULL, &lab->diags)) return NULL;
    t->list(&text, &code, NULL, NULL);
    return text_str(&text);
}

static const char *program_code(Lab *lab, const char *program, const char *schedule) {
    const Program *p = lab_program(lab, program, NULL);
    Source source = {"<schedule>", schedule, (uint32_t)strlen(schedule)};
    const Schedule *s = schedule_parse(&lab->arena, p->names, &source, &lab->diags);
    const Tree *lowered = s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
    return lowered ? tree_code(lab, tree_for_views(&lab->arena, lowered, NULL)) : NULL;
}

// A new target gets its loops, index arithmetic and registers from the generator.
TEST(a_target_of_200_lines_compiles_loops) {
    Lab lab;
    lab_begin(&lab);
    const char *got = program_code(&lab,
                                   "program f() {\n"
                                   "    input A: f32[100, 100]\n    output C: f32[100, 100]\n"
                                   "    C: for i in 0:100, j in 0:100\n"
                                   "        C[i, j] = A[j, i]*2.0\n}\n",
                                   "C: i j\n");
    CHECK_STR_EQ(got, "    enter\n"
                      "    r0 = argument 1\n"
                      "    r1 = argument 0\n"
                      "    r3 = 0\n"
                      "L4:\n"
                      "    r2 = 0\n"
                      "    v0 = const.f32 2\n"
                      "L6:\n"
                      "    v1 = load.f32 [r1 + 0]\n"
                      "    v1 = *.f32 v1, v0\n"
                      "    store.f32 v1 [r0 + 0]\n"
                      "    v1 = load.f32 [r1 + 400]\n"
                      "    v1 = *.f32 v1, v0\n"
                      "    store.f32 v1 [r0 + 4]\n"
                      "    v1 = load.f32 [r1 + 800]\n"
                      "    v1 = *.f32 v1, v0\n"
                      "    store.f32 v1 [r0 + 8]\n"
                      "    v1 = load.f32 [r1 + 1200]\n"
                      "    v1 = *.f32 v1, v0\n"
                      "    store.f32 v1 [r0 + 12]\n"
                      "    r0 += 16\n"
                      "    r1 += 1600\n"
                      "    r2 += 4\n"
                      "    if r2 < 100 goto L6\n"
                      "    r0 += -400\n"
                      "    r1 += -40000\n"
                      "    r0 += 400\n"
                      "    r1 += 4\n"
                      "    r3 += 1\n"
                      "    if r3 < 100 goto L4\n"
                      "    r0 += -40000\n"
                      "    r1 += -400\n"
                      "    leave\n");
    lab_end(&lab);
}

TEST(a_target_of_200_lines_declines_what_it_cannot_address) {
    Lab lab;
    lab_begin(&lab);
    const char *got = program_code(&lab,
                                   "program g() {\n"
                                   "    input A: f32[8]\n    input I: i32[4]\n"
                                   "    output C: f32[4]\n"
                                   "    C: for i in 0:4\n        C[i] = A[I[i]]\n}\n",
                                   "C: i\n");
    CHECK(!got && strstr(lab_errors(&lab), "an address from data"));
    lab_end(&lab);
}

// Whether every branch has its label.
static bool labels_stand(Lab *lab, const char *code) {
    for (const char *at = code; (at = strstr(at, " L")); at += 2) {
        int n = (int)strcspn(at + 1, "\n");
        if (!strstr(code, arena_printf(&lab->arena, "\n%.*s:\n", n, at + 1))) return false;
    }
    return true;
}

TEST(a_target_of_200_lines_compiles_random_programs) {
    int64_t rounds = check_rounds(300), made = 0;
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        GenSched g;
        Tree *tree;
        lab_begin(&lab);
        const Program *p = pair_random(&lab, seed);
        if (CHECK(p) && pair_schedule(&lab, p, seed, &g, &tree)) {
            const char *code = tree_code(&lab, tree);
            if (!CHECK(!code || labels_stand(&lab, code)))
                printf("seed %llu\n%s\n", (unsigned long long)seed, code);
            made += code != NULL;
        }
        lab_end(&lab);
    }
    printf("%lld of %lld have code\n", (long long)made, (long long)rounds);
    CHECK(made * 4 > rounds); // addresses from data are declined
}
