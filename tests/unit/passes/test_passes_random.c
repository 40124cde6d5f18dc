// Random lists of passes on random Programs: any order and repetition of passes computes what the
// interpreter computes, on the Tree and on its Stripe text, and descriptions read back.
#include "unit/check.h"

#include "passes/pass.h"
#include "sched/schedule.h"
#include "stripe/stripe.h"
#include "support/genprog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char units[] =
    "machine random\nmemory DRAM line=64\nmemory SRAM in=DRAM size=2KiB banks=2 line=16 align=16\n"
    "compute BANK in=SRAM count=2\ncompute PROC of=BANK in=SRAM count=3\n"
    "transfer DMA from=DRAM to=SRAM bandwidth=16 latency=8\n"
    "stencil mac startup=2\n  index m size=3 out=any in=any,0\n  index n size=4 out=any in=0,any\n"
    "  index k size=any out=0 in=any,any\n"
    "stencil dot\n  index n size=2 out=any in=any\n  index k size=2 out=0 in=any\n";

static int below(uint64_t *state, int n) { return (int)(check_random(state) % (uint64_t)n); }

// Lines of passes with parameters that matter; each pass occurs somewhere.
static const char *const lines[] = {
    "pass flatten",
    "pass autotile max_total=%d inner=#in outer=#out",
    "pass autotile reqs=#contraction po2=yes fits=SRAM share=0.%d outer=#out",
    "pass autotile even=yes max_product=%d acc=no",
    "pass autotile interleave=yes max_product=%d skip_1d=yes input_cost=3",
    "pass autotile reqs=#in min_size=%d max_count=9 split_factor=-1",
    "pass stencil outer=#out inner=#in",
    "pass stencil use=dot strict=yes",
    "pass partition unit=PROC outer=#part",
    "pass partition parts=%d index=p",
    "pass bank unit=SRAM",
    "pass fuse always=yes",
    "pass fuse fits=SRAM set=#fused",
    "pass fuse a=#zero b=#out always=yes",
    "pass localize",
    "pass fuse always=yes\npass localize\npass scalarize",
    "pass reorder\npass fuse\npass localize",
    "pass scalarize",
    "pass transpose",
    "pass cache unit=SRAM move=DMA",
    "pass cache reqs=#out out=no odd=%d",
    "pass cache reqs=#in in=no",
    "pass cache strided=yes unit=SRAM",
    "pass boundary least=0.%d",
    "pass boundary reqs=#contraction least=0",
    "pass constraints",
    "pass autotile max_product=%d\npass unroll most=9\npass constraints",
    "pass prune",
    "pass dead",
    "pass unroll most=%d",
    "pass unroll reqs=#part index=p",
    "pass order",
    "pass order vector=%d registers=4",
    "pass parallel work=0 least=2",
    "pass threads threads=%d",
    "pass reorder",
    "pass deps",
    "pass locate buffers=SRAM blocks=PROC",
    "pass place",
    "pass place unit=SRAM",
};
enum { LINES = sizeof lines / sizeof *lines };

static const char *random_list(Arena *arena, uint64_t *state) {
    Text out = {.arena = arena};
    text_add(&out, units);
    if (below(state, 8)) text_add(&out, "pass flatten\n");
    for (int n = 1 + below(state, 8); n > 0; n--) {
        const char *line = lines[below(state, LINES)];
        const char *number = strstr(line, "%d");
        text_add_n(&out, line, number ? (size_t)(number - line) : strlen(line));
        if (number) text_printf(&out, "%d%s", 1 + below(state, 60), number + 2);
        text_char(&out, '\n');
    }
    return text_str(&out);
}

static const Source *source_of(Lab *lab, const char *text) {
    Source *s = arena_new(&lab->arena, Source);
    *s = (Source){"m.lwm", text, (uint32_t)strlen(text)};
    return s;
}

static const Hardware *read(Lab *lab, const char *text) {
    return hardware_parse(&lab->arena, &lab->names, source_of(lab, text), NULL, NULL, &lab->diags);
}

// Statements in loops of their own, or sharing them.
static const Tree *start(Lab *lab, const Program *p, bool apart) {
    const Schedule *s = schedule_complete(&lab->arena, p, NULL);
    for (int i = 0; i < p->stmts.n && apart; i++) {
        const Schedule *staged = schedule_stage(s, p->stmts.at[i].label, 0);
        if (staged) s = staged;
    }
    return tree_lower(&lab->arena, p, s, &lab->diags);
}

static const char *compared(Lab *lab, const Program *p, const Tree *t, InterpFlags flags,
                            uint64_t seed) {
    DiagList found = {.arena = &lab->arena};
    LabData want = lab_data(lab, p, seed);
    for (int k = p->ninputs; flags.accumulate && k < want.n; k++) // sums of these are exact
        for (int64_t i = 0; i < tensor_elements(&p->tensors.at[k]); i++)
            lab_set(&want, k, i, p->tensors.at[k].type == TYPE_BOOL ? 1 : (double)(i % 3));
    LabData got = lab_copy(lab, p, &want);
    bool ok = program_interpret(&lab->arena, p, want.view, flags, &found);
    bool too = tree_interpret(&lab->arena, t, got.view, flags, &found);
    if (ok != too) return "one of them fails";
    return ok ? lab_difference(lab, p, &got, &want) : NULL;
}

// What is wrong with the last Tree; NULL: nothing.
static const char *fault_of(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    const char *wrong = compared(lab, p, t, (InterpFlags){0}, seed);
    if (!wrong) wrong = compared(lab, p, t, (InterpFlags){.accumulate = true}, seed + 1);
    if (!wrong) wrong = compared(lab, p, t, (InterpFlags){.skip_post = true}, seed + 2);
    if (wrong) return wrong;
    Text text = {.arena = &lab->arena}, again = {.arena = &lab->arena};
    stripe_print(&text, t);
    const Tree *read_back =
        stripe_parse(&lab->arena, &lab->names, source_of(lab, text_str(&text)), &lab->diags);
    if (!read_back) return lab_errors(lab);
    stripe_print(&again, read_back);
    return strcmp(text_str(&text), text_str(&again)) ? "its text reads back otherwise" : NULL;
}

static void count_changes(const Passes *p, int64_t *fired) {
    for (int i = 0; i < p->nsteps; i++)
        if (p->step[i].changed) fired[p->step[i].call->pass - pass_info]++;
}

static bool try_list(uint64_t seed, int64_t *fired) {
    Lab lab;
    lab_begin(&lab);
    uint64_t state = seed * 77 + 5;
    const Program *p = below(&state, 2) ? genprog(&lab, seed) : genprog_chains(&lab, seed);
    const char *text = random_list(&lab.arena, &state), *wrong = "it does not read";
    const Hardware *h = read(&lab, text);
    Passes passes = {0};
    bool apart = below(&state, 6);
    if (h) {
        Text once = {.arena = &lab.arena}, twice = {.arena = &lab.arena};
        hardware_print(&once, h);
        const Hardware *back = read(&lab, text_str(&once));
        if (CHECK(back)) hardware_print(&twice, back);
        CHECK_STR_EQ(text_str(&twice), text_str(&once));
        const Tree *t = start(&lab, p, apart);
        wrong = "it does not run";
        if (passes_run(&lab.arena, h, t, &(PassesOptions){0}, &passes, &lab.diags))
            wrong = fault_of(&lab, p, passes.tree, seed);
        count_changes(&passes, fired);
    }
    if (!CHECK(!wrong)) {
        Text out = {.arena = &lab.arena};
        if (passes.tree) tree_show(&out, passes.tree, false);
        printf("seed %llu: %s\n%s\n%s\n%s\n%s", (unsigned long long)seed, wrong, lab_text(&lab, p),
               text + strlen(units), text_str(&out), lab_errors(&lab));
    }
    lab_end(&lab);
    return !wrong;
}

TEST(any_list_of_passes_is_right) {
    int64_t *fired = calloc((size_t)pass_count, sizeof *fired), rounds = check_long_rounds(100);
    bool right = true;
    for (int64_t i = 0; i < rounds && right; i++)
        right = try_list(check_first_seed() + (uint64_t)i, fired);
    for (int i = 0; i < pass_count && right && rounds >= 3000; i++)
        if (!CHECK(fired[i])) printf("pass '%s' never changed anything\n", pass_info[i].name);
    free(fired);
}
