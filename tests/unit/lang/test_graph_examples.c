// The graphs of examples/graphs: each parses, prints back to itself, builds, and gives exactly
// these results.
#include "unit/lab.h"

#include "lang/graph.h"
#include "support/files.h"

typedef struct Example {
    const char *name, *sizes;
    int count;
    double want[16];
} Example;

// Inputs hold 0, 1, 2, ... less 3, so that some are negative.
static const Example examples[] = {
    {"matmul", "M=2,N=2,K=2", 4, {11, 6, 3, 2}},
    {"conv2d", "N=1,C=1,H=2,W=2,M=1", 4, {-11, -5, 7, 13}},
    {"maxpool", "C=1,H=3,W=3", 4, {1, 2, 4, 5}},
    {"layer", "Batch=2,In=2,Out=2", 4, {10, 1, 0, 0}},
    {"concat", "Rows=2,N=2,M=1", 6, {-3, -2, -3, -1, 0, -2}},
    {"softmax", "N=3,K=1", 3, {1, 1, 1}},
    {"space_to_depth", "C=1,H=2,W=4", 8, {-3, -1, -2, 0, 1, 3, 2, 4}},
    {"transposed_conv", "H=2", 5, {9, 6, 9, 4, 2}},
};
enum { NEXAMPLES = sizeof examples / sizeof *examples };

static const char *read_example(Lab *lab, const char *name) {
    const char *text =
        project_file(&lab->arena, arena_printf(&lab->arena, "examples/graphs/%s.lwg", name));
    return CHECK(text) ? text : "";
}

static const char *printed(Lab *lab, const Graph *g) {
    Text t = {.arena = &lab->arena};
    graph_print(&t, g);
    return text_str(&t);
}

// The Program is an ordinary one: its text parses back to itself.
static void check_program_text(Lab *lab, const Program *p) {
    Text once = {.arena = &lab->arena}, twice = {.arena = &lab->arena};
    program_print(&once, p);
    Source *source = lab_source(lab, "program", text_str(&once));
    Program *again = program_parse(&lab->arena, &lab->names, source, &lab->diags);
    lab_show(lab);
    if (!CHECK(again)) return;
    program_print(&twice, again);
    CHECK_STR_EQ(text_str(&twice), text_str(&once));
}

static void check_example(const Example *e) {
    Lab *lab = lab_new();
    const char *text = read_example(lab, e->name);
    Graph *g = graph_parse(&lab->arena, &lab->names, lab_source(lab, e->name, text), &lab->diags);
    Program *p = g ? graph_build(&lab->arena, g) : NULL;
    lab_show(lab);
    if (CHECK(p)) {
        const char *once = printed(lab, g);
        Graph *again =
            graph_parse(&lab->arena, &lab->names, lab_source(lab, "again", once), &lab->diags);
        if (CHECK(again)) CHECK_STR_EQ(printed(lab, again), once);
        check_program_text(lab, p);
        double data[64];
        const double *inputs[8];
        for (int i = 0; i < 64; i++) data[i] = i - 3;
        for (int i = 0; i < 8; i++) inputs[i] = data;
        const double *got = lab_run(lab, p, lab_params(lab, p, e->sizes), inputs, 0);
        bool ok = CHECK(got) && CHECK_INT_EQ(lab->count, e->count);
        for (int i = 0; ok && i < e->count; i++)
            if (!CHECK_F64_EQ(got[i], e->want[i])) printf("  %s, element %d\n", e->name, i);
    }
    lab_free(lab);
}

TEST(graph_examples) {
    for (int i = 0; i < NEXAMPLES; i++) check_example(&examples[i]);
}
