// Any bytes as a machine description. A description that parses must print and read back to the
// same text; its passes must compute what the program does; simulating the result must end, counted
// and executed alike.
#include "support/proglab.h"

#include "base/bug.h"
#include "passes/pass.h"
#include "sched/schedule.h"
#include "simulate/simulate.h"
#include "tree/tree_interp.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char program[] =
    "program p {\n"
    "    input A: f32[5, 4]\n    input B: f32[4, 6]\n    output O: f32[5, 4]\n"
    "    temp C: f32[5, 6]\n"
    "    C: for m in 0:5, n in 0:6, k in 0:4\n        C[m, n] +=! A[m, k]*B[k, n]\n"
    "    O: for y in 0:5, x in 0:4, r in 0:3\n        O[y, x] +=! max(C[y, x + r], 0.0)\n"
    "}\n";

static const Hardware *parse(Lab *lab, const char *text, size_t size) {
    Source *source = arena_new(&lab->arena, Source);
    *source = (Source){"fuzz.lwm", text, (uint32_t)size};
    return hardware_parse(&lab->arena, &lab->names, source, NULL, NULL, &lab->diags);
}

static const char *printed(Lab *lab, const Hardware *h) {
    Text text = {.arena = &lab->arena};
    hardware_print(&text, h);
    return text_str(&text);
}

// The loops as written.
static const Tree *plain_loops(Lab *lab, const Program *p) {
    Source *none = arena_new(&lab->arena, Source);
    *none = (Source){"none", "", 0};
    const Schedule *s = schedule_parse(&lab->arena, &lab->names, none, &lab->diags);
    const Tree *t = s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
    require(t != NULL);
    return t;
}

static void compare(Lab *lab, const Program *p, const Tree *t) {
    LabData want = lab_data(lab, p, 1), got = lab_copy(lab, p, &want);
    require(lab_run(lab, p, &want));
    require(tree_interpret(&lab->arena, t, got.view, (InterpFlags){0}, &lab->diags));
    const char *difference = lab_difference(lab, p, &got, &want);
    if (difference) bug("%s", difference);
}

static void check_simulation(Lab *lab, const Program *p, const Hardware *h, const Tree *t) {
    Simulation counted, executed;
    DiagList refused = {.arena = &lab->arena};
    LabData data = lab_data(lab, p, 1);
    bool ok = simulate(&lab->arena, h, t, NULL, &counted, &refused);
    require(ok || refused.errors > 0);
    if (!ok) return;
    require(simulate_executed(&lab->arena, h, t, NULL, data.view, &executed, &refused));
    require(counted.cycles == executed.cycles && counted.task.n == executed.task.n);
}

static void run_passes(Lab *lab, const Hardware *h) {
    const Program *p = lab_program(lab, program, NULL);
    require(p != NULL);
    Passes out;
    int errors = lab->diags.errors;
    bool ran =
        passes_run(&lab->arena, h, plain_loops(lab, p), &(PassesOptions){0}, &out, &lab->diags);
    require(ran == (lab->diags.errors == errors));
    if (!ran) return;
    compare(lab, p, out.tree);
    check_simulation(lab, p, h, out.tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Lab lab;
    if (size > 4096) return 0;
    lab_begin(&lab);
    char *text = arena_alloc(&lab.arena, size + 1);
    if (size) memcpy(text, data, size);
    const Hardware *h = parse(&lab, text, size);
    require(h != NULL || lab.diags.errors > 0);
    if (h) {
        const char *once = printed(&lab, h);
        const Hardware *again = parse(&lab, once, strlen(once));
        require(again != NULL);
        require(!strcmp(printed(&lab, again), once));
        if (h->pass.n <= 24) run_passes(&lab, h);
    }
    lab_end(&lab);
    return 0;
}
