// The table of targets: rows are whole, names are unique, and a row compiles, loads and runs.
#include "unit/check.h"

#include "sched/lower.h"
#include "support/proglab.h"
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
    CHECK(t->compile(&lab.arena, tree, &m, &code, &listing, &lab.diags));
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
