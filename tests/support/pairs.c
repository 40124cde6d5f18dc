#include "support/pairs.h"

#include <string.h>

#include "lang/lang.h"
#include "support/errlab.h"
#include "support/gencomposed.h"
#include "support/genlanes.h"
#include "support/genprog.h"
#include "support/gensteps.h"
#include "support/jitlab.h"
#include "support/shapes.h"

static uint64_t draw(uint64_t *state) { // splitmix64
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

const Program *pair_shape(Lab *lab, uint64_t seed) {
    uint64_t state = seed;
    const Shape *shape = &shapes[draw(&state) % (uint64_t)nshapes];
    int64_t values[3];
    for (int k = 0; k < shape->nparams; k++) {
        uint64_t r = draw(&state);
        values[k] = r % 12 == 0 ? 0 : (int64_t)(r / 12 % (r % 3 ? 9 : 40)) + 1;
    }
    return lab_program(lab, shape->text, values);
}

const Program *pair_large_shape(Lab *lab, uint64_t seed) {
    uint64_t state = ~seed;
    const Shape *shape = &shapes[draw(&state) % (uint64_t)nshapes];
    int64_t values[3], all = 1;
    for (int k = 0; k < shape->nparams; k++) {
        values[k] = 1 + (int64_t)(draw(&state) % 150);
        all *= values[k];
    }
    for (int k = 0; all > 2000; k = (k + 1) % shape->nparams) {
        all = all / values[k] * ((values[k] + 1) / 2);
        values[k] = (values[k] + 1) / 2;
    }
    return lab_program(lab, shape->text, values);
}

const Program *pair_lanes(Lab *lab, uint64_t seed) {
    return lab_program(lab, genlanes_text(&lab->arena, seed), NULL);
}

const Program *pair_composed(Lab *lab, uint64_t seed) {
    uint64_t state = seed * 977;
    for (int turn = 0; turn < 50; turn++) {
        Natural *text = arena_new(&lab->arena, Natural);
        DiagList quiet = {.arena = &lab->arena};
        int64_t values[8];
        composed_draw(text, &state);
        Source *source = arena_new(&lab->arena, Source);
        *source = (Source){"k.tc", text->text, (uint32_t)strlen(text->text)};
        const Module *m = tc_infer(tc_parse(&lab->arena, &lab->names, source, &quiet));
        if (quiet.errors) continue;
        const Program *k = m->programs.at[m->programs.n - 1];
        for (int i = 0; i < k->params.n; i++) {
            uint64_t r = draw(&state);
            values[i] = (int64_t)(r / 4 % (r % 4 ? 20 : 70));
        }
        const Program *p = program_bind(&lab->arena, k, values, &quiet);
        if (p && !error_possible(p)) return p;
    }
    return NULL;
}

const Program *pair_steps(Lab *lab, uint64_t seed) {
    return lab_program(lab, gensteps_text(&lab->arena, seed), NULL);
}

const Program *pair_random(Lab *lab, uint64_t seed) { return genprog(lab, seed); }

Tree *pair_lower(Lab *lab, const Program *p, const Schedule *s, uint64_t seed) {
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    return t && seed % 4 == 3 ? jit_bound_loops(t) : t;
}

static const Schedule *draw_schedule(Lab *lab, const Program *p, uint64_t seed, bool gpu,
                                     GenSched *g, Tree **tree) {
    *g = (GenSched){.state = seed, .gpu = gpu};
    const Schedule *s = gen_schedule(g, &lab->arena, p);
    *tree = pair_lower(lab, p, s, seed);
    if (*tree) return s;
    *g = (GenSched){.state = seed, .plain = true};
    s = gen_schedule(g, &lab->arena, p);
    *tree = pair_lower(lab, p, s, seed);
    return s;
}

const Schedule *pair_schedule(Lab *lab, const Program *p, uint64_t seed, GenSched *g, Tree **tree) {
    return draw_schedule(lab, p, seed, false, g, tree);
}

const Schedule *pair_gpu_schedule(Lab *lab, const Program *p, uint64_t seed, GenSched *g,
                                  Tree **tree) {
    return draw_schedule(lab, p, seed, true, g, tree);
}
