#include "support/boundlab.h"

#include "code/code.h"
#include "choose/choose.h"
#include "sched/lower.h"
#include "sched/schedule.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

bool boundlab_open(BoundLab *x, Lab *lab, const Program *p, const Family *f) {
    Arena *arena = &lab->arena;
    Machine host;
    *x = (BoundLab){.lab = lab, .program = p};
    machine_detect(&host, ISA_COUNT);
    machine_pretend(&x->machine, f, ISA_COUNT);
    if (host.isa < x->machine.isa) return false;
    machine_fit(&x->machine, &host);
    family_rates(f, &x->rates);
    x->machine.rates = &x->rates;
    x->chosen = choose_schedule(arena, p, &(ChooseOptions){.machine = &x->machine, .serial = true});
    CpuOptions o = {.machine = x->machine, .threads = 1, .given = x->chosen};
    x->cs = cpu_space(arena, p, &o, &lab->diags);
    if (!x->cs) return false;
    x->model = bound_new(arena, x->cs, &(BoundOptions){.machine = &x->machine, .threads = 1});
    x->work = space_work(arena, x->cs->space);
    x->c = space_cand(arena, x->cs->space);
    x->decided = cpu_read(arena, x->cs, x->chosen, &lab->diags, &x->nchosen);
    x->want = lab_data(lab, p, 1);
    x->steps = (Steps){.at = arena_new_n(arena, Step, MANY_STEPS)};
    return x->model && lab_run(lab, p, &x->want);
}

bool boundlab_sample(BoundLab *x, uint64_t *random) {
    const Space *s = x->cs->space;
    Cand *tried = space_cand(&x->lab->arena, s);
    bool near = draw(random) % 2 && x->decided;
    uint64_t drop = 1 + draw(random) % 20;
    space_copy(s, x->c, s->root);
    for (int i = 0; near && i < x->nchosen; i++) {
        if (draw(random) % 100 < drop) continue;
        space_copy(s, tried, x->c);
        if (space_keep(x->work, tried, x->decided[i].var, x->decided[i].keep))
            space_copy(s, x->c, tried);
    }
    return space_complete(x->work, x->c, random);
}

// Runs it on a copy of the data. False: it declines, or takes too long.
static bool run(BoundLab *x, const Code *code, const Listing *l, LabData *got) {
    Arena *arena = &x->lab->arena;
    void **buffers = arena_new_n(arena, void *, got->n + 1);
    for (int i = 0; i < got->n; i++) buffers[i] = got->view[i].data;
    void *scratch = aligned_alloc(64, ((size_t)code->scratch + 127) / 64 * 64);
    int status = step_kernel(code, l, buffers, scratch, arena, &x->steps);
    free(scratch);
    return status == 0 && !x->steps.cut;
}

static void show(BoundLab *x, const Schedule *s, const char *what) {
    Text text = {.arena = &x->lab->arena};
    schedule_print(&text, s);
    printf("%s: %s\n%s%s\n", x->machine.family->name, what, lab_text(x->lab, x->program),
           text_str(&text));
}

static void complain(BoundLab *x, const Schedule *s, const Cand *c, double seconds,
                     const char *why) {
    Text text = {.arena = &x->lab->arena};
    show(x, s, "faster than its bound");
    bound_explain(&text, x->model, c);
    printf("%.4g ns by %s\n%s\n", seconds * 1e9, why, text_str(&text));
}

BoundVerdict boundlab_try(BoundLab *x, const Schedule *schedule, double *gap) {
    Arena *arena = &x->lab->arena;
    DiagList quiet = {.arena = arena};
    Code code;
    Listing listing = {.arena = arena};
    const char *why;
    const Cand *c = schedule ? x->cs->space->root : x->c;
    double bound = bound_seconds(x->model, c, NULL);
    if (!schedule) schedule = cpu_schedule(arena, x->cs, x->c);
    const Tree *tree = tree_lower(arena, x->program, schedule, &quiet);
    if (!tree || !target_compile(&target_x86, arena, tree, &x->machine, &code, &listing, &quiet))
        return BOUND_DECLINED;
    LabData got = lab_data(x->lab, x->program, 1);
    if (!run(x, &code, &listing, &got)) return BOUND_DECLINED;
    const char *differs = lab_difference(x->lab, x->program, &got, &x->want);
    if (differs) return show(x, schedule, differs), BOUND_WRONG;
    double seconds = step_seconds(arena, &listing, &x->steps, x->machine.family, &why);
    // The bound includes a nanosecond for calling a kernel, the simulation does not.
    if (bound <= 1.01e-9) return BOUND_HELD;
    *gap = seconds / bound;
    if (*gap * (1 + 1e-9) >= 1) return BOUND_HELD;
    complain(x, schedule, c, seconds, why);
    return BOUND_ABOVE;
}
