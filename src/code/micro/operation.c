// Adding operations to a segment: constants, arithmetic, divisions, permutations, indices.
#include "code/micro/micro.h"

#include <string.h>

int seg_const(Seg *s, Type type, int width, Value v) {
    return seg_value(s,
                     &(Micro){.kind = MI_CONST, .type = type, .width = (uint8_t)width, .value = v});
}

int seg_op(Seg *s, MicroKind kind, int op, Type type, Type from, int width, int n,
           const int *args) {
    Micro m = {.kind = kind,
               .op = (uint8_t)op,
               .type = type,
               .from = from,
               .width = (uint8_t)width,
               .nargs = (uint8_t)n};
    for (int i = 0; i < n; i++) m.arg[i] = args[i];
    return seg_value(s, &m);
}

// Is the value the same in all lanes? Looks at a few preceding operations.
static bool is_uniform(const Seg *s, int val, int depth) {
    int def = s->vals.at[val].def;
    const Micro *m = def < 0 ? NULL : &s->micros.at[def];
    if (!m || !depth) return false;
    if (m->kind == MI_CONST || m->kind == MI_BROADCAST) return true;
    if (m->kind == MI_LOAD) return m->ref->lane == 0 && m->ref->guard < 0 && !m->nargs;
    bool same = m->kind == MI_OP || m->kind == MI_FMA;
    for (int i = 0; i < m->nargs && same; i++) same = is_uniform(s, m->arg[i], depth - 1);
    return same;
}

int seg_divide(Seg *s, int op, Type type, int width, int active, int n, const int *args) {
    enum { BACK = 4 };
    int least = 128 / type_info[type].bits, narrow = width;
    bool same = width > 1;
    for (int i = 0; i < n; i++) same = same && is_uniform(s, args[i], BACK);
    if (same) {
        int one = seg_op(s, MI_OP, op, type, type, 1, n, args);
        return seg_op(s, MI_BROADCAST, 0, type, type, width, 1, &one);
    }
    while (narrow / 2 >= active && narrow / 2 >= least) narrow /= 2;
    int val = seg_op(s, MI_OP, op, type, type, narrow, n, args);
    s->vals.at[val].width = (uint8_t)width; // the lanes above are zero
    return val;
}

Micro plan_lane_numbers(Plan *p, Type type, int width, const Permutation *picks) {
    int number = 0;
    while (number < p->permutations.n && memcmp(&p->permutations.at[number], picks, sizeof *picks))
        number++;
    if (number == p->permutations.n) vec_push(p->arena, &p->permutations, *picks);
    return (Micro){.kind = MI_LANE_NUMBERS,
                   .type = type_info[type].bits == 64 ? TYPE_I64 : TYPE_I32,
                   .width = (uint8_t)width,
                   .value.i = number};
}

int seg_permute(Seg *s, Plan *p, Type type, int width, int n, const int *args,
                const Permutation *picks) {
    Micro numbers = plan_lane_numbers(p, type, width, picks);
    Micro m = {.kind = MI_PERMUTE,
               .type = type,
               .from = type,
               .width = (uint8_t)width,
               .nargs = (uint8_t)(n + 1),
               .value = numbers.value};
    for (int i = 0; i < n; i++) m.arg[i] = args[i];
    m.arg[n] = seg_value(s, &numbers);
    return seg_value(s, &m);
}

int seg_shift(Seg *s, int op, Type type, int width, int arg, int bits) {
    Micro m = {.kind = MI_OP,
               .op = (uint8_t)op,
               .type = type,
               .from = type,
               .width = (uint8_t)width,
               .nargs = 1,
               .arg = {arg},
               .value.i = bits,
               .line = s->line};
    return seg_value(s, &m);
}

int seg_index(Seg *s, Type type, int width, const Affine *a, const int64_t *env,
              int64_t lane_step) {
    IndexOf *index = arena_new(s->arena, IndexOf);
    *index = (IndexOf){a, env, NULL, lane_step, 0};
    int val = seg_value(
        s, &(Micro){.kind = MI_INDEX, .type = type, .width = (uint8_t)width, .index = index});
    if (a && a->has_read) s->vals.at[val].uses++; // it must be checked, even if unused
    return val;
}

int seg_index_where(Seg *s, int width, const Affine *a, const int64_t *env, int guard, int active) {
    IndexOf *index = arena_new(s->arena, IndexOf);
    *index = (IndexOf){a, env, NULL, 0, active};
    int val = seg_value(s, &(Micro){.kind = MI_INDEX,
                                    .type = TYPE_I64,
                                    .width = (uint8_t)width,
                                    .nargs = 1,
                                    .arg = {guard},
                                    .index = index});
    s->vals.at[val].uses++;
    return val;
}

int seg_counters(Seg *s, int width, const Lin *counters, int64_t lane_step) {
    IndexOf *index = arena_new(s->arena, IndexOf);
    *index = (IndexOf){NULL, NULL, counters, lane_step, 0};
    return seg_value(
        s, &(Micro){.kind = MI_INDEX, .type = TYPE_I32, .width = (uint8_t)width, .index = index});
}

void seg_drop_unused(Seg *s) {
    for (int i = s->micros.n - 1; i >= 0; i--) {
        const Micro *m = &s->micros.at[i];
        if (m->dst < 0 || s->vals.at[m->dst].uses) continue;
        for (int k = 0; k < m->nargs; k++) s->vals.at[m->arg[k]].uses--;
    }
}
