// The table of targets, and looking up rows in it.
#include "target/target.h"

#include <string.h>

static const Target *const targets[] = {&target_x86, &target_nvidia};
enum { TARGETS = sizeof targets / sizeof *targets };

const Target *target_host(void) { return targets[0]; }

const Target *target_by_name(const char *name) {
    for (int i = 0; i < TARGETS; i++)
        if (!strcmp(targets[i]->name, name)) return targets[i];
    return NULL;
}

int target_isa(const Target *t, const char *isa) {
    for (int i = 0; i < t->nisas; i++)
        if (!strcmp(t->isa[i], isa)) return i;
    return -1;
}

const Target *target_with_isa(const char *isa, int *out) {
    for (int i = 0; i < TARGETS; i++)
        if ((*out = target_isa(targets[i], isa)) >= 0) return targets[i];
    return NULL;
}

const char *const *target_isas(const char *name) {
    const Target *t = target_by_name(name);
    return t ? t->isa : NULL;
}

bool target_space(const CpuSpace *cs, ProgramSpace *out) {
    if (cs) *out = (ProgramSpace){cs->space, cs->program, cs};
    return cs;
}

const Schedule *target_schedule(Arena *arena, const ProgramSpace *s, const Cand *c) {
    return cpu_schedule(arena, s->own, c);
}

Decision *target_read(Arena *arena, const ProgramSpace *s, const Schedule *schedule,
                      DiagList *diags, int *n) {
    return cpu_read(arena, s->own, schedule, diags, n);
}

bool target_compile(const Target *t, Arena *arena, const Tree *tree, const Machine *m, Code *out,
                    Listing *listing, DiagList *diags) {
    CodeAnswer answer = CODE_REPLAN;
    for (void *plan = NULL; answer == CODE_REPLAN;) {
        plan = t->plan(arena, tree, m, plan, diags);
        if (!plan) return false;
        answer = t->generate(plan, out, listing, diags);
    }
    return answer == CODE_DONE;
}
