// Any bytes as schedule text. What parses must print, read back to the same text, and lower to a
// Tree that computes what the program does, or be refused with a reason.
#include "support/proglab.h"

#include "base/bug.h"
#include "sched/schedule.h"
#include "tree/tree_interp.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Labels and iterators of one letter, so that chance finds them.
static const char program[] =
    "program p {\n"
    "    input A: f32[5, 4]\n    input B: f32[4, 6]\n    output O: f32[5, 4]\n    temp S: f32[5, "
    "4]\n"
    "    temp C: f32[5, 6]\n"
    "    S: for m in 0:5, k in 0:4\n        S[m, k] = A[m, k] + 1.0\n"
    "    C: for m in 0:5, n in 0:6, k in 0:4\n        C[m, n] +=! S[m, k]*B[k, n]\n"
    "    O: for y in 0:5, x in 0:4, r in 0:3\n        O[y, x] +=! C[y, x + r]\n"
    "}\n";

static const char *printed(Lab *lab, const Schedule *s) {
    Text text = {.arena = &lab->arena};
    schedule_print(&text, s);
    return text_str(&text);
}

static const Schedule *parse(Lab *lab, const char *text, size_t size) {
    Source *source = arena_new(&lab->arena, Source);
    *source = (Source){"fuzz.lws", text, (uint32_t)size};
    return schedule_parse(&lab->arena, &lab->names, source, &lab->diags);
}

static void lower_and_run(Lab *lab, const Schedule *s) {
    const Program *p = lab_program(lab, program, NULL);
    int errors = lab->diags.errors;
    require(p != NULL);
    const Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    require((t != NULL) == (lab->diags.errors == errors));
    if (!t) return;
    LabData want = lab_data(lab, p, 1), got = lab_copy(lab, p, &want);
    require(lab_run(lab, p, &want));
    require(tree_interpret(&lab->arena, t, got.view, (InterpFlags){0}, &lab->diags));
    const char *difference = lab_difference(lab, p, &got, &want);
    if (difference) bug("%s", difference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Lab lab;
    lab_begin(&lab);
    char *text = arena_alloc(&lab.arena, size + 1);
    if (size) memcpy(text, data, size);
    const Schedule *s = parse(&lab, text, size);
    require(s != NULL || lab.diags.errors > 0);
    if (s) {
        const char *once = printed(&lab, s);
        const Schedule *again = parse(&lab, once, strlen(once));
        require(again != NULL);
        require(!strcmp(printed(&lab, again), once));
        lower_and_run(&lab, s);
    }
    lab_end(&lab);
    return 0;
}
