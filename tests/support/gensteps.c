// Every program has states H0, H1, ... over time, initialised at time 0, and a block of statements
// that computes time t + 1 from time t. Statements may read what is written before them: states at
// time t, states and temporaries of this step that stand further up, inputs.
#include "support/gensteps.h"

enum { MAX_STATES = 3 };

typedef struct Gen {
    Text out;
    uint64_t state;
    const char *type;
    bool floats;
    int steps, wide, states;
    bool done[MAX_STATES]; // written in this step
    bool local, total;     // temporaries of this step: L[i] and S[]
    bool timed;            // and G[t, i], which is defined once
} Gen;

static uint64_t draw(uint64_t *state) { // splitmix64
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int below(Gen *g, int n) { return (int)(draw(&g->state) % (uint64_t)n); }
static bool one_in(Gen *g, int n) { return below(g, n) == 0; }

static const char *show(Gen *g, const char *format, int a, const char *b) {
    return arena_printf(g->out.arena, format, a, b);
}

// An operand at position `at`, where the block has computed the states that are done.
static const char *operand(Gen *g, const char *at) {
    int h = below(g, g->states);
    switch (below(g, 7)) {
    case 0: return show(g, "X[t + %d, %s]", below(g, 2), at);
    case 1: return show(g, g->done[h] ? "H%d[t + 1, %s]" : "H%d[t, %s]", h, at);
    case 2:
        if (g->timed && one_in(g, 2)) return show(g, "G[t, %.0d%s]", 0, at);
        return g->local ? show(g, "L[%.0d%s]", 0, at) : show(g, "H%d[t, %s]", h, at);
    case 3: return g->total ? "S[]" : show(g, "H%d[t, %s]", h, at);
    case 4: return show(g, "A%.0d[%s]", 0, at);
    case 5: return arena_printf(g->out.arena, "H%d[t, max(%s - 1, 0)]", h, at);
    default: return show(g, "H%d[t, %s]", h, at);
    }
}

// Small again, so that floats stay exact.
static const char *small(Gen *g, const char *value) {
    if (g->floats) return arena_printf(g->out.arena, "min(max(%s, -4.0), 4.0)", value);
    return value;
}

static const char *value(Gen *g, const char *at) {
    static const char *const op[] = {" + ", " - ", "*"};
    const char *a = operand(g, at), *b = operand(g, at);
    if (one_in(g, 3)) return arena_printf(g->out.arena, "max(%s, %s)", a, b);
    if (one_in(g, 4))
        return arena_printf(g->out.arena, "select(index(t) %s i64(%d), %s, %s)",
                            one_in(g, 2) ? "<" : ">", below(g, 4), a, b);
    return arena_printf(g->out.arena, "%s%s%s", a, op[below(g, 3)], b);
}

static void state_step(Gen *g) {
    int h = below(g, g->states);
    if (g->done[h]) return;
    text_printf(&g->out, "        for i in 0:%d\n            H%d[t + 1, i] = %s\n", g->wide, h,
                small(g, value(g, "i")));
    g->done[h] = true;
}

static void reduction_step(Gen *g) {
    static const char *const op[] = {"+=!", "max=!", "min=!"};
    const char *reduce = op[below(g, 3)];
    int h = below(g, g->states);
    if (one_in(g, 3)) { // a state
        if (g->done[h]) return;
        text_printf(&g->out,
                    "        for i in 0:%d, k in 0:%d\n            H%d[t + 1, i] %s %s*W[i, k]\n",
                    g->wide, g->wide, h, g->floats ? "max=!" : reduce, operand(g, "k"));
        g->done[h] = true;
    } else if (one_in(g, 2)) {
        g->total = false; // a reduction does not read what it writes
        text_printf(&g->out, "        for k in 0:%d\n            S[] %s %s\n", g->wide, reduce,
                    operand(g, "k"));
        g->total = true;
    } else {
        g->local = false;
        text_printf(&g->out, "        for i in 0:%d, k in 0:%d\n            L[i] %s %s*W[k, i]\n",
                    g->wide, g->wide, reduce, operand(g, "k"));
        text_printf(&g->out, "        for i in 0:%d\n            L[i] = %s\n", g->wide,
                    small(g, "L[i]"));
        g->local = true;
    }
}

static void timed_step(Gen *g) {
    if (g->timed) return;
    if (one_in(g, 2))
        text_printf(&g->out, "        for i in 0:%d\n            G[t, i] = %s\n", g->wide,
                    small(g, value(g, "i")));
    else
        text_printf(&g->out,
                    "        for i in 0:%d, k in 0:%d\n            G[t, i] max=! %s*W[i, k]\n",
                    g->wide, g->wide, operand(g, "k"));
    g->timed = true;
}

static void local_step(Gen *g) {
    text_printf(&g->out, "        for i in 0:%d\n            L[i] = %s\n", g->wide,
                small(g, value(g, "i")));
    g->local = true;
}

// Updates that go on from step to step, and scatters.
static void update_step(Gen *g) {
    if (one_in(g, 3))
        text_printf(&g->out, "        for i in 0:%d\n            Q[I[i]] += %s\n", g->wide,
                    operand(g, "i"));
    else if (one_in(g, 2))
        text_printf(&g->out, "        for i in 0:%d\n            A[i] = %s\n", g->wide,
                    small(g, arena_printf(g->out.arena, "A[i] - %s", operand(g, "i"))));
    else
        text_printf(&g->out, "        for i in 0:%d\n            Q[i] += %s\n", g->wide,
                    operand(g, "i"));
}

// A recurrence of its own along another iterator, inside the step, and an update in its steps.
static void nested_step(Gen *g) {
    text_printf(&g->out,
                "        for u in 1:%d {\n            for i in 0:%d\n                "
                "D[u, i] = %s\n",
                2 + below(g, 4), g->wide,
                small(g, arena_printf(g->out.arena, "D[u - 1, i] + %s", operand(g, "i"))));
    if (one_in(g, 2)) // an operand of the steps outside
        text_printf(&g->out, "            for i in 0:%d\n                A[i] = %s\n", g->wide,
                    small(g, "A[i] - D[u, i]"));
    text_add(&g->out, "        }\n");
}

static void block(Gen *g) {
    text_printf(&g->out, "    for t in 0:%d {\n", g->steps);
    g->local = g->total = g->timed = false;
    for (int i = 0; i < MAX_STATES; i++) g->done[i] = false;
    for (int n = 1 + below(g, 4); n > 0; n--) {
        int kind = below(g, 9);
        if (kind < 3) state_step(g);
        if (kind == 3 || kind == 4) reduction_step(g);
        if (kind == 5) local_step(g);
        if (kind == 6) update_step(g);
        if (kind == 7) nested_step(g);
        if (kind == 8) timed_step(g);
    }
    for (int h = 0; h < g->states; h++)
        if (!g->done[h])
            text_printf(&g->out, "        for i in 0:%d\n            H%d[t + 1, i] = %s\n", g->wide,
                        h, small(g, value(g, "i")));
    text_add(&g->out, "    }\n");
}

// A table in which each element follows from three neighbours.
static void table(Gen *g) {
    int n = 1 + below(g, 9), m = 1 + below(g, 9);
    text_printf(&g->out,
                "program k {\n    input X: %s[%d, %d]\n    output E: %s[%d, %d]\n"
                "    for i in 0:%d\n        E[i, 0] = %s(1)\n    for j in 1:%d\n"
                "        E[0, j] = %s(2)\n    for i in 1:%d, j in 1:%d {\n        E[i, j] = %s\n"
                "    }\n}\n",
                g->type, n + 1, m + 1, g->type, n + 1, m + 1, n + 1, g->type, m + 1, g->type, n + 1,
                m + 1,
                small(g, one_in(g, 2) ? "max(E[i - 1, j], E[i, j - 1]) + X[i, j]"
                                      : "E[i - 1, j - 1] - E[i - 1, j] + E[i, j - 1]*X[i, j]"));
}

const char *gensteps_text(Arena *arena, uint64_t seed) {
    static const int widths[] = {1, 2, 7, 8, 16, 17, 33};
    Gen g = {.out.arena = arena, .state = seed * 7919};
    g.floats = one_in(&g, 2);
    g.type = g.floats ? "f32" : "i32";
    if (one_in(&g, 8)) {
        table(&g);
        return text_str(&g.out);
    }
    g.steps = one_in(&g, 12) ? 0 : 1 + below(&g, 6);
    g.wide = widths[below(&g, 7)];
    g.states = 1 + below(&g, MAX_STATES);
    text_printf(&g.out, "program k {\n    input X: %s[%d, %d]\n    input W: %s[%d, %d]\n", g.type,
                g.steps + 2, g.wide, g.type, g.wide, g.wide);
    text_printf(&g.out, "    input I: i32[%d]\n    inout A: %s[%d]\n    output B: %s[%d]\n", g.wide,
                g.type, g.wide, g.type, g.wide);
    text_printf(&g.out, "    inout Q: %s[%d]\n", g.type, g.wide);
    for (int h = 0; h < g.states; h++)
        text_printf(&g.out, "    %s H%d: %s[%d, %d]\n", h && one_in(&g, 2) ? "output" : "temp", h,
                    g.type, g.steps + 1, g.wide);
    text_printf(&g.out, "    temp L: %s[%d]\n    temp S: %s[]\n    temp D: %s[8, %d]\n", g.type,
                g.wide, g.type, g.type, g.wide);
    text_printf(&g.out, "    temp G: %s[%d, %d]\n", g.type, g.steps, g.wide);
    for (int h = 0; h < g.states; h++)
        text_printf(&g.out, "    for i in 0:%d\n        H%d[0, i] = X[0, i]\n", g.wide, h);
    text_printf(&g.out, "    for i in 0:%d\n        D[0, i] = X[0, i]\n", g.wide);
    block(&g);
    text_printf(&g.out, "    for i in 0:%d\n        B[i] = H0[%d, i]\n}\n", g.wide, g.steps);
    return text_str(&g.out);
}
