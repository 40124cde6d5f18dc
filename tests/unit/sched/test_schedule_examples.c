// The memory-bound kernels of examples/schedules, compiled under their schedules for every ISA
// level of this machine, against the interpreter, at sizes with tails everywhere.
#include "unit/check.h"

#include <math.h>
#include <stdlib.h>

#include "lang/lang.h"
#include "support/files.h"
#include "support/jitlab.h"
#include "sched/schedule.h"

typedef struct Example {
    const char *name, *schedule;
    int64_t size[4]; // of the parameters, in order
    bool rounds;     // the order of its operations shows in the last bits
} Example;

static const Example examples[] = {
    {"copy", "copy", {1000}, false},
    {"copy", "copy_nt", {1000}, false},
    {"axpy", "axpy", {1000}, false},
    {"axpb_relu", "axpb_relu", {1000}, false},
    {"axpb_relu", "axpb_relu_nt", {1000}, false},
    {"row_sums", "row_sums", {7, 300}, false},
    {"column_sums", "column_sums", {37, 300}, false},
    {"row_max", "row_max", {7, 300}, false},
    {"dot", "dot", {1000}, false},
    {"transpose", "transpose", {70, 90}, false},
    {"transpose", "transpose", {64, 64}, false},
    {"embedding", "embedding", {50, 70, 30}, false},
    {"gather", "gather", {50, 300}, false},
    {"depthwise", "depthwise", {9, 11, 70}, false},
    {"softmax", "softmax", {5, 300}, true},
    {"layernorm", "layernorm", {5, 300}, true},
};

static Source file(Arena *arena, const char *name) {
    const char *path = arena_printf(arena, "examples/schedules/%s", name);
    const char *text = project_file(arena, path);
    return (Source){path, text ? text : "", text ? (uint32_t)strlen(text) : 0};
}

static bool nearly(const Program *p, const LabData *got, const LabData *want) {
    for (int i = p->ninputs; i < got->n; i++)
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++) {
            double a = lab_value(got, i, e), b = lab_value(want, i, e);
            if (!(fabs(a - b) <= 1e-5 * (1 + fabs(b)))) return false;
        }
    return true;
}

static void try_example(const Example *e) {
    Lab lab;
    lab_begin(&lab);
    Source program = file(&lab.arena, arena_printf(&lab.arena, "%s.tc", e->name));
    Source schedule = file(&lab.arena, arena_printf(&lab.arena, "%s.lws", e->schedule));
    Module *module = tc_infer(tc_parse(&lab.arena, &lab.names, &program, &lab.diags));
    const Program *p = CHECK(module->programs.n)
                           ? program_bind(&lab.arena, module->programs.at[0], e->size, &lab.diags)
                           : NULL;
    Schedule *s = schedule_parse(&lab.arena, &lab.names, &schedule, &lab.diags);
    Tree *t = CHECK(p && s) ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    LabData want = lab_data(&lab, p, 1);
    CHECK(t && lab_run(&lab, p, &want));
    for (Isa isa = ISA_AVX2; isa < ISA_COUNT && t; isa++) {
        Machine m;
        machine_detect(&m, isa);
        LabData got = lab_data(&lab, p, 1);
        CHECK(m.isa != isa || jit_run(&lab, t, &m, &got, (InterpFlags){0}, 1, true) == JIT_OK);
        if (m.isa != isa) continue;
        bool same = e->rounds ? nearly(p, &got, &want) : !lab_difference(&lab, p, &got, &want);
        if (!CHECK(same)) printf("%s under %s.lws, %s\n", e->name, e->schedule, isa_name[isa]);
    }
    lab_end(&lab);
}

TEST(examples_keep_their_meaning_under_their_schedules) {
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) try_example(&examples[i]);
}
