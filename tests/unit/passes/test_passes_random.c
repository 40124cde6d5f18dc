// Random lists of passes on random Programs: any order and repetition of passes computes what the
// interpreter computes, on the Tree and on its Stripe text, and descriptions read back. Half of the
// lines are made from the table of passes, so that every parameter occurs. Half of the lists go
// through text: a list stops after some pass, its Tree is printed and parsed, and another list goes
// on from there.
#include "unit/check.h"

#include "passes/pass.h"
#include "sched/schedule.h"
#include "stripe/stripe.h"
#include "support/genprog.h"
#include "tree/special.h"
#include "tree/tree_interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char units[] =
    "machine random\nmemory DRAM line=64\nmemory SRAM in=DRAM size=2KiB banks=2 line=16 align=16\n"
    "memory PAD in=SRAM size=512 align=8\n"
    "compute BANK in=SRAM count=2\ncompute PROC of=BANK in=SRAM count=3\n"
    "compute CORE in=PAD own=yes count=2\n"
    "transfer DMA from=DRAM to=SRAM bandwidth=16 latency=8\n"
    "transfer MOVE of=CORE from=SRAM to=PAD bandwidth=8 latency=2\n"
    "stencil mac startup=2\n  index m size=3 out=any in=any,0\n  index n size=4 out=any in=0,any\n"
    "  index k size=any out=0 in=any,any\n"
    "stencil dot\n  index n size=2 out=any in=any\n  index k size=2 out=0 in=any\n"
    "stencil flip rate=2\n  index j size=2 out=any in=1\n  index n size=3 out=1 in=any\n";

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
    "pass stencil whole=yes outer=#out\npass cache reqs=#out out=no along=stencil_n",
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
    "pass flatten\npass fuse always=yes\npass localize\npass prune\npass scalarize",
    "pass transpose",
    "pass cache unit=SRAM move=DMA",
    "pass cache reqs=#out out=no odd=%d",
    "pass cache reqs=#in in=no",
    "pass cache strided=yes unit=SRAM",
    "pass pad to=4 most=9",
    "pass pad to=%d least=2 most=60 unit=SRAM move=DMA\npass autotile even=yes max_product=12",
    "pass pad reqs=#contraction most=20\npass stencil reqs=#contraction strict=yes outer=#out",
    "pass boundary least=0.%d",
    "pass boundary reqs=#contraction least=0",
    "pass constraints",
    "pass autotile max_product=%d\npass unroll most=6\npass constraints",
    "pass prune",
    "pass dead",
    "pass unroll most=4", // a verified Tree of hundreds of statements takes seconds
    "pass unroll reqs=#part index=p",
    "pass order",
    "pass order vector=%d registers=4",
    "pass order vector=%d\npass stream fits=PAD",
    "pass parallel work=0 least=2",
    "pass threads threads=%d",
    "pass reorder",
    "pass deps",
    "pass locate buffers=SRAM blocks=PROC",
    "pass place",
    "pass place unit=SRAM",
    "pass schedule unit=SRAM move=DMA outer=#out inner=#in",
    "pass schedule reqs=#contraction unit=SRAM move=DMA stages=1",
    "pass schedule reqs=#contraction unit=SRAM move=DMA\npass initialize\npass stencil reqs=#in",
    "pass schedule reqs=#contraction unit=SRAM move=DMA keep=yes inner=#in\npass initialize",
    "pass schedule unit=SRAM move=DMA keep=yes stages=2 inner=#in",
    "pass partition reqs=#in unit=CORE\npass schedule reqs=#in unit=PAD move=MOVE inner=#tile",
    "pass locate blocks=CORE\npass locate buffers=PAD",
    "pass initialize",
};
enum { LINES = sizeof lines / sizeof *lines };

static void known_line(Text *out, uint64_t *state) {
    const char *line = lines[below(state, LINES)];
    const char *number = strstr(line, "%d");
    text_add_n(out, line, number ? (size_t)(number - line) : strlen(line));
    if (number) text_printf(out, "%d%s", 1 + below(state, 60), number + 2);
}

static const char *one_of(uint64_t *state, const char *const *words) {
    int n = 0;
    while (words[n]) n++;
    return words[below(state, n)];
}

// A value within the range of a parameter; numbers of iterations and bytes stay small.
static void random_value(Text *out, uint64_t *state, const PassParam *p) {
    static const char *const tags[] = {
        "#in",    "#out",     "#in,#part",    "#contraction", "#eltwise",    "#copy",   "#zero",
        "#fused", "#stencil", "#stencil=mac", "#cache",       "#cache_load", "#kernel", NULL};
    static const char *const memories[] = {"SRAM", "DRAM", "PAD", NULL};
    static const char *const computes[] = {"PROC", "BANK", "CORE", NULL};
    static const char *const names[] = {"p", "stencil_n", "stencil_k", NULL};
    static const char *const stencils[] = {"mac", "dot", "flip", "dot,mac", NULL};
    double most = p->most - p->least < 64 ? p->most : p->least + 64;
    if (strcmp(p->name, "most") == 0) most = 4; // copies of a copy of a copy
    double part = (double)below(state, 101) / 100;
    switch (p->kind) {
    case PASS_INT:
    case PASS_BYTES: text_printf(out, "%.0f", p->least + (most - p->least) * part); break;
    case PASS_REAL:
        text_printf(out, "%g", p->least < -1 ? 4 * part - 2 : p->least + (most - p->least) * part);
        break;
    case PASS_FLAG: text_add(out, below(state, 2) ? "yes" : "no"); break;
    case PASS_TAGS: text_add(out, one_of(state, tags)); break;
    case PASS_MEMORY: text_add(out, one_of(state, memories)); break;
    case PASS_COMPUTE: text_add(out, one_of(state, computes)); break;
    case PASS_TRANSFER: text_add(out, below(state, 2) ? "DMA" : "MOVE"); break;
    case PASS_STENCIL: text_add(out, one_of(state, stencils)); break;
    case PASS_NAME: text_add(out, one_of(state, names)); break;
    }
}

static void any_line(Text *out, uint64_t *state) {
    const PassInfo *p = &pass_info[below(state, pass_count)];
    text_printf(out, "pass %s", p->name);
    for (int i = 0; i < pass_params(p); i++) {
        if (below(state, 3)) continue;
        text_printf(out, " %s=", p->param[i].name);
        random_value(out, state, &p->param[i]);
    }
}

static const char *random_list(Arena *arena, uint64_t *state) {
    Text out = {.arena = arena};
    text_add(&out, units);
    if (below(state, 8)) text_add(&out, "pass flatten\n");
    // Values replace buffers only if little has happened to the loops before.
    if (!below(state, 8))
        text_add(&out,
                 "pass fuse as=join always=yes\npass localize as=own\npass scalarize as=value\n");
    for (int n = 1 + below(state, 8); n > 0; n--) {
        (below(state, 2) ? known_line : any_line)(&out, state);
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

// A trial: a Program, a list of passes, and the one that goes on from its text, or NULL.
typedef struct Trial {
    Lab lab;
    const Program *p;
    const char *list, *then;
    Passes passes;
    int64_t *fired;
    Arena scratch;
} Trial;

static bool run_list(Trial *x, const char *list, const Tree *t, const char *until) {
    const Hardware *h = read(&x->lab, list);
    if (!h) return false;
    Text once = {.arena = &x->lab.arena}, twice = {.arena = &x->lab.arena};
    hardware_print(&once, h);
    const Hardware *back = read(&x->lab, text_str(&once));
    if (CHECK(back)) hardware_print(&twice, back);
    CHECK_STR_EQ(text_str(&twice), text_str(&once));
    PassesOptions o = {.until = until && h->pass.n ? h->pass.at[h->pass.n / 2].label : NULL,
                       .scratch = &x->scratch};
    bool ran = passes_run(&x->lab.arena, h, t, &o, &x->passes, &x->lab.diags);
    if (ran) count_changes(&x->passes, x->fired);
    return ran;
}

// The last Tree as text, parsed again, through another list.
static const char *go_on(Trial *x, uint64_t seed) {
    Text text = {.arena = &x->lab.arena};
    stripe_print(&text, x->passes.tree);
    const Tree *t = stripe_parse(&x->lab.arena, &x->lab.names, source_of(&x->lab, text_str(&text)),
                                 &x->lab.diags);
    if (!t) return "its text does not parse";
    for (int i = 0; i < t->buffers.n; i++) // places that depend on loops are refused
        for (int k = 0; k < t->buffers.at[i].place.n; k++)
            if (t->buffers.at[i].place.unit[k].n) return NULL;
    if (!run_list(x, x->then, tree_expand(t), NULL)) return "it does not go on";
    return compared(&x->lab, x->p, x->passes.tree, (InterpFlags){0}, seed + 3);
}

static bool try_list(uint64_t seed, int64_t *fired) {
    Trial x = {.fired = fired};
    lab_begin(&x.lab);
    arena_init(&x.scratch, &allocator_libc);
    uint64_t state = seed * 77 + 5;
    x.p = below(&state, 2) ? genprog(&x.lab, seed) : genprog_chains(&x.lab, seed);
    x.list = random_list(&x.lab.arena, &state);
    bool apart = below(&state, 6), until = below(&state, 4) == 0;
    if (below(&state, 2)) x.then = random_list(&x.lab.arena, &state);
    const char *wrong = "it does not run";
    if (run_list(&x, x.list, start(&x.lab, x.p, apart), until ? "" : NULL))
        wrong = fault_of(&x.lab, x.p, x.passes.tree, seed);
    if (!wrong && x.then) wrong = go_on(&x, seed);
    if (!CHECK(!wrong)) {
        Text out = {.arena = &x.lab.arena};
        if (x.passes.tree) tree_show(&out, x.passes.tree, false);
        printf("seed %llu: %s\n%s\n%s\nthen\n%s\n%s\n%s", (unsigned long long)seed, wrong,
               lab_text(&x.lab, x.p), x.list + strlen(units), x.then ? x.then + strlen(units) : "-",
               text_str(&out), lab_errors(&x.lab));
    }
    arena_free(&x.scratch);
    lab_end(&x.lab);
    return !wrong;
}

TEST(any_list_of_passes_is_right) {
    int64_t *fired = calloc((size_t)pass_count, sizeof *fired), rounds = check_long_rounds(100);
    bool right = true;
    for (int64_t i = 0; i < rounds && right; i++)
        right = try_list(check_first_seed() + (uint64_t)i, fired);
    for (int i = 0; i < pass_count && right && rounds >= 20000; i++)
        if (!CHECK(fired[i])) printf("pass '%s' never changed anything\n", pass_info[i].name);
    free(fired);
}
