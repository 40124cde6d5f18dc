// The simulator: times by hand on small located Trees, and counting against executing on random
// programs under random passes.
#include "passes/pass.h"
#include "simulate/simulate.h"
#include "stripe/stripe.h"
#include "support/genprog.h"
#include "unit/tree_run.h"

static const char units[] = "machine toy\nmemory DRAM\n"
                            "memory SRAM in=DRAM size=4KiB banks=2 align=16\n"
                            "compute BANK in=SRAM count=2\n"
                            "compute PROC of=BANK in=SRAM count=2 rate=2\n"
                            "memory PAD in=SRAM size=512 align=8\n"
                            "compute CORE in=PAD own=yes count=3 rate=2\n"
                            "transfer DMA from=DRAM to=SRAM bandwidth=4 latency=10\n"
                            "transfer MOVE of=CORE from=SRAM to=PAD bandwidth=8 latency=2\n"
                            "transfer BUS from=SRAM to=PAD bandwidth=4 latency=3\n"
                            "stencil mac startup=8 rate=4\n  index m size=2 out=any in=any,0\n"
                            "  index n size=2 out=any in=0,any\n  index k size=any out=0 "
                            "in=any,any\n"
                            "stencil dot\n  index n size=2 out=any in=any\n"
                            "  index k size=2 out=0 in=any\n";

static const Hardware *machine(TreeRun *r, const char *lines) {
    const char *text = arena_printf(&r->arena, "%s%s", units, lines);
    const Hardware *h =
        hardware_parse(&r->arena, &r->names, tr_source(r, "m.lwm", text), NULL, NULL, &r->diags);
    CHECK_STR_EQ(tr_diags(r), "");
    return h;
}

static Simulation timed(TreeRun *r, const char *lines, const char *stripe) {
    const Hardware *h = machine(r, lines);
    const Tree *t = stripe_parse(&r->arena, &r->names, tr_source(r, "t.stripe", stripe), &r->diags);
    Simulation s = {0};
    CHECK(h && t && simulate(&r->arena, h, t, NULL, &s, &r->diags));
    CHECK_STR_EQ(tr_diags(r), "");
    return s;
}

// "load A 0-18 on DMA; ..."
static const char *tasks(TreeRun *r, const Simulation *s) {
    Text out = {.arena = &r->arena};
    for (int i = 0; i < s->task.n; i++) {
        const SimTask *t = &s->task.at[i];
        text_printf(&out, "%s%s %lld-%lld on %s", i ? "; " : "", t->label, (long long)t->start,
                    (long long)t->end, s->row.at[t->row].name);
    }
    return text_str(&out);
}

// Tiles of 8 floats: loaded in 10 + 32/4 cycles, doubled in 8/2, stored in 18.
static const char *tiles(TreeRun *r, const char *tags, const char *place) {
    return arena_printf(
        &r->arena,
        "block []:1 ( in A[0] fp32(16):(1) out C[0] fp32(16):(1) ) {\n"
        "0: #order=serial block [x:2]:2 ( in A[8*x] fp32(8):(1) out C[8*x] fp32(8):(1)\n"
        "  %s none T<SRAM>[0] fp32(8):(1) %s none U<SRAM>[0] fp32(8):(1) ) {\n"
        "  0: block<DMA> [i:8]:8 ( in A[i] fp32(1):(1) out T[i] fp32(1):(1) ) {\n"
        "    0: $a = load(A) 1: T = store($a) }\n"
        "  1: block<%s> [i:8%s]:8 ( in T[i] fp32(1):(1) out U[i] fp32(1):(1) ) {\n"
        "    0: $a = load(T) 1: $b = add($a, $a) 2: U = store($b) }\n"
        "  2: block<DMA> [i:8]:8 ( in U[i] fp32(1):(1) out C[i] fp32(1):(1) ) {\n"
        "    0: $a = load(U) 1: C = store($a) }\n} }\n",
        tags, tags, place, strstr(place, "x_0") ? ", x_0 = x" : "");
}

TEST(one_buffer_waits_and_two_overlap) {
    TreeRun r;
    tr_init(&r);
    Simulation one = timed(&r, "", tiles(&r, "", "PROC"));
    CHECK_STR_EQ(tasks(&r, &one), "load A 0-18 on DMA; U 18-22 on PROC 0; store C 22-40 on DMA; "
                                  "load A 40-58 on DMA; U 58-62 on PROC 0; store C 62-80 on DMA");
    Simulation two = timed(&r, "", tiles(&r, "#stages=2", "PROC"));
    CHECK_STR_EQ(tasks(&r, &two), "load A 0-18 on DMA; U 18-22 on PROC 0; store C 36-54 on DMA; "
                                  "load A 18-36 on DMA; U 36-40 on PROC 0; store C 54-72 on DMA");
    Simulation fast = timed(&r, "compute PROC rate=0.125\n", tiles(&r, "#stages=2", "PROC"));
    CHECK_STR_EQ(tasks(&r, &fast), "load A 0-18 on DMA; U 18-82 on PROC 0; store C 82-100 on DMA; "
                                   "load A 18-36 on DMA; U 82-146 on PROC 0; store C 146-164 on "
                                   "DMA");
    CHECK_INT_EQ(one.memory[1].used, 64);
    CHECK_INT_EQ(two.memory[1].used, 128);
    CHECK_INT_EQ(two.moved, 128);
    CHECK_INT_EQ(two.least_moved, 128);
    tr_end(&r);
}

TEST(processors_run_side_by_side_in_their_own_memory) {
    TreeRun r;
    tr_init(&r);
    Simulation s = timed(&r, "compute PROC rate=0.125\n", tiles(&r, "#stages=2", "PROC[x_0]"));
    CHECK_STR_EQ(tasks(&r, &s), "load A 0-18 on DMA; U 18-82 on PROC 1; store C 82-100 on DMA; "
                                "load A 18-36 on DMA; U 36-100 on PROC 0; store C 100-118 on DMA");
    tr_end(&r);
}

TEST(a_start_costs_the_size_of_the_unit) {
    TreeRun r;
    tr_init(&r);
    Simulation s = timed(
        &r, "",
        "block []:1 ( in A[0, 0] fp32(3, 5):(5, 1) in B[0, 0] fp32(5, 2):(2, 1)\n"
        "  inout C[0, 0]:add fp32(3, 2):(2, 1) ) {\n"
        "0: block [i:2]:2 ( in A[2*i, 0] fp32(2, 5):(5, 1) in B[0, 0] fp32(5, 2):(2, 1)\n"
        "    inout C[2*i, 0]:add fp32(2, 2):(2, 1) ) {\n"
        "  0: #stencil=mac block [#stencil_m m:2, #stencil_n n:2, #stencil_k k:5, i_0 = i]:20 (\n"
        "    2 - m - 2*i_0 >= 0\n"
        "    in A[m, k] fp32(1, 1):(5, 1) in B[k, n] fp32(1, 1):(2, 1)\n"
        "    inout C[m, n]:add fp32(1, 1):(2, 1) ) {\n"
        "      0: $a = load(A) 1: $b = load(B) 2: $c = mul($a, $b) 3: C = store($c) } } }\n");
    CHECK_INT_EQ(s.starts, 2);
    CHECK_INT_EQ(s.products, 30);                    // 3 x 2 x 5
    CHECK_INT_EQ(s.cycles, 2 * (2 * 2 * 5 + 8) / 4); // at 4 products a cycle
    CHECK_INT_EQ(s.memory[0].accessed, 2 * 4 * (10 + 10 + 2 * 4));
    tr_end(&r);
}

// --- Counting against executing ------------------------------------------------------------------

static const char *const lines[] = {
    "pass autotile max_total=300 inner=#in outer=#out",
    "pass autotile reqs=#contraction even=yes max_product=9 outer=#out",
    "pass autotile max_product=7 outer=#out inner=#in",
    "pass cache reqs=#out unit=SRAM move=DMA",
    "pass cache reqs=#out unit=SRAM move=DMA out=no",
    "pass partition reqs=#out unit=PROC parts=4",
    "pass partition reqs=#in unit=PROC",
    "pass stencil outer=#out inner=#in",
    "pass fuse always=yes",
    "pass localize",
    "pass boundary least=0",
    "pass constraints",
    "pass prune",
    "pass unroll most=3",
    "pass locate buffers=DRAM",
    "pass place unit=SRAM",
    "pass schedule reqs=#contraction unit=SRAM move=DMA outer=#out inner=#in\npass initialize",
    "pass schedule reqs=#contraction unit=SRAM move=DMA keep=yes outer=#out\npass initialize",
    "pass schedule unit=SRAM move=DMA keep=yes outer=#out inner=#in",
    ("pass schedule unit=SRAM move=DMA inner=#in\npass partition reqs=#in unit=CORE outer=#core\n"
     "pass schedule reqs=#in unit=PAD move=MOVE"),
    "pass partition reqs=#in unit=CORE outer=#core\npass schedule reqs=#in unit=PAD move=BUS",
    "pass partition reqs=#in unit=CORE outer=#core\npass cache reqs=#core unit=PAD move=MOVE",
    "pass locate reqs=#in blocks=CORE\npass locate buffers=PAD",
    "pass deps\npass place unit=SRAM",
};

static const char *random_lines(Arena *arena, uint64_t *state) {
    Text out = {.arena = arena};
    text_add(&out, "pass flatten\n");
    for (int n = 1 + (int)(check_random(state) % 6); n > 0; n--)
        text_printf(&out, "%s\n", lines[check_random(state) % (sizeof lines / sizeof *lines)]);
    return text_str(&out);
}

static const Tree *passed(Lab *lab, const Program *p, const Hardware *h) {
    const Schedule *s = schedule_complete(&lab->arena, p, NULL);
    for (int i = 0; i < p->stmts.n; i++) {
        const Schedule *staged = schedule_stage(s, p->stmts.at[i].label, 0);
        if (staged) s = staged;
    }
    const Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    Passes passes = {0};
    CHECK(t && passes_run(&lab->arena, h, t, &(PassesOptions){0}, &passes, &lab->diags));
    return passes.tree;
}

static bool same_tasks(const Simulation *a, const Simulation *b) {
    bool same = a->task.n == b->task.n && a->cycles == b->cycles && a->moved == b->moved &&
                a->starts == b->starts && a->products == b->products && a->ops == b->ops;
    for (int i = 0; same && i < a->task.n; i++) {
        const SimTask *x = &a->task.at[i], *y = &b->task.at[i];
        same = x->node == y->node && x->row == y->row && x->start == y->start && x->end == y->end;
    }
    for (int i = 0; same && i < a->h->memory.n; i++)
        for (int k = 0; same && k < a->memory[i].ncopies; k++)
            same = a->memory[i].copy[k].accessed == b->memory[i].copy[k].accessed &&
                   a->memory[i].copy[k].used == b->memory[i].copy[k].used;
    return same;
}

// What is wrong; NULL: nothing. *fits: the Tree passed the simulator's checks.
static const char *compare(Lab *lab, const Program *p, const Hardware *h, const Tree *t,
                           uint64_t seed, bool *fits, int64_t *starts) {
    DiagList found = {.arena = &lab->arena};
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    Simulation counted, executed;
    *fits = simulate(&lab->arena, h, t, NULL, &counted, &found);
    if (!*fits) return found.errors ? NULL : "it fails without a diagnostic";
    *starts += counted.starts;
    bool ran = simulate_executed(&lab->arena, h, t, NULL, got.view, &executed, &found);
    bool ok = program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &found);
    if (ran != ok) return "one of them fails";
    if (!ok) return NULL;
    if (!same_tasks(&counted, &executed)) return "other tasks are executed than were counted";
    return lab_difference(lab, p, &got, &want);
}

TEST(counting_and_executing_give_the_same_tasks) {
    int64_t rounds = check_long_rounds(150), simulated = 0, starts = 0;
    bool right = true;
    for (int64_t i = 0; i < rounds && right; i++) {
        Lab lab;
        lab_begin(&lab);
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed * 31 + 7;
        const Program *p = i % 2 ? genprog(&lab, seed) : genprog_chains(&lab, seed);
        const char *list = random_lines(&lab.arena, &state), *wrong = "it does not read";
        const char *text = arena_printf(&lab.arena, "%s%s", units, list);
        Source *src = arena_new(&lab.arena, Source);
        *src = (Source){"m.lwm", text, (uint32_t)strlen(text)};
        const Hardware *h = hardware_parse(&lab.arena, &lab.names, src, NULL, NULL, &lab.diags);
        const Tree *t = h ? passed(&lab, p, h) : NULL;
        bool fits = false;
        if (t) wrong = compare(&lab, p, h, t, seed, &fits, &starts);
        simulated += fits;
        right = CHECK(!wrong);
        if (!right) {
            Text out = {.arena = &lab.arena};
            if (t) tree_show(&out, t, false);
            printf("seed %llu: %s\n%s\n%s\n%s", (unsigned long long)seed, wrong, lab_text(&lab, p),
                   list, text_str(&out));
        }
        lab_end(&lab);
    }
    CHECK(!right || simulated > rounds / 3);
    CHECK(!right || starts > 0 || !check_usual_rounds());
}
