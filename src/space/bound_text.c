// The lower bound as a tree, for people:
//
//     bound            1.45 us, by compute
//       compute        1.45 us
//         C            1.45 us  262144 operations in 16 lanes on 2 cores
//       L1             0.31 us
//         C            0.31 us  every run of C.m.2 C.n.2 C.k.0
//       memory         0.20 us  every argument once
#include "space/bound_impl.h"
#include "space/gpu_bound.h"

#include <math.h>

static void add_time(Text *out, double seconds) {
    if (seconds < 1e-6)
        text_printf(out, "%.3g ns", seconds * 1e9);
    else if (seconds < 1e-3)
        text_printf(out, "%.3g us", seconds * 1e6);
    else
        text_printf(out, "%.3g ms", seconds * 1e3);
}

// "12.3 us" and blanks, for a column.
static void add_column(Text *out, double seconds) {
    size_t from = out->len;
    add_time(out, seconds);
    while (out->len < from + 10) text_char(out, ' ');
}

// The loops of a piece, or the loop whose iterations are the pieces.
static bool runs_once(const BoundLoop *l, const Cand *c) {
    if (!l->size || l->top) return false;
    uint64_t dom = *(const uint64_t *)(const void *)((const uint8_t *)c + l->size);
    return dom == 1 && l->universe[0] == 1;
}

static void add_piece(Text *out, const BoundModel *b, const BoundStmt *s, int64_t piece,
                      const Cand *c) {
    const Space *space = b->cs->space;
    bool whole = true;
    if (piece < -1) {
        text_printf(out, "every iteration of %s", space->name[s->loop[-2 - piece].object]);
        return;
    }
    for (int i = 0; i < s->niters; i++) whole &= (piece >> (8 * i) & 0xff) == s->nlevels[i];
    if (piece < 0 || whole) {
        text_add(out, "all of the nest");
        return;
    }
    text_add(out, "every run of");
    for (int i = 0; i < s->niters; i++)
        for (int n = (int)(piece >> (8 * i) & 0xff); n > 0; n--)
            if (!runs_once(&s->loop[s->last[i] - n + 1], c))
                text_printf(out, " %s", space->name[s->loop[s->last[i] - n + 1].object]);
}

static void add_why(Text *out, const BoundModel *b, const Cand *c, BoundKind kind, int stmt,
                    const BoundPart *p) {
    const BoundStmt *s = &b->stmt[stmt];
    if (kind == BOUND_COMPUTE) {
        text_printf(out, "%.3g operations, ", s->work[WORK_ANY]);
        if (p->lanes > 1)
            text_printf(out, "%.3g of %d lanes", p->lanes, s->lanes);
        else
            text_add(out, "no lanes");
        text_printf(out, ", %.3g core%s", p->cores, p->cores > 1 ? "s" : "");
    } else if (kind == BOUND_ISSUE) {
        text_add(out, "instructions started");
    } else if (kind == BOUND_CHAIN) {
        text_printf(out, "%.2g cycles a step, %.3g sums at a time", s->latency * b->hertz,
                    p->chains);
    } else if (kind == BOUND_LAUNCH) {
        text_printf(out, "%.3g times", p->launches);
    } else {
        if (kind == BOUND_NEST && p->along < 0) text_add(out, "no lanes; ");
        if (kind == BOUND_NEST && p->along >= 0)
            text_printf(out, "lanes along %s; ", b->p->stmts.at[stmt].iter[p->along].name);
        if (kind == BOUND_NEST && p->piece[kind] < 0)
            text_add(out, "arithmetic");
        else
            add_piece(out, b, s, p->piece[kind], c);
    }
}

static void add_parts(Text *out, const BoundModel *b, const Cand *c, BoundKind kind,
                      const BoundPart *parts) {
    for (int i = 0; i < b->nstmts; i++) {
        if (parts[i].seconds[kind] <= 0) continue;
        const char *name = b->cs->space->name[b->cs->host->comp[i]];
        text_printf(out, "    %-12s ", name);
        add_column(out, parts[i].seconds[kind]);
        text_char(out, ' ');
        add_why(out, b, c, kind, i, &parts[i]);
        text_char(out, '\n');
    }
}

void bound_summary(Text *out, const BoundModel *b, const Cand *c) {
    BoundTerm terms[BOUND_KINDS];
    double s = bound_seconds(b, c, terms);
    int by = 0;
    for (int k = 1; k < BOUND_KINDS; k++)
        if (terms[k].seconds > terms[by].seconds) by = k;
    text_add(out, "bound            ");
    if (isfinite(s)) {
        add_time(out, s);
        text_printf(out, ", by %s\n", terms[by].seconds > 0 ? bound_name[by] : "the call");
    } else {
        text_add(out, "nothing is left\n");
    }
}

void bound_explain(Text *out, const BoundModel *b, const Cand *c) {
    if (b->gpu) {
        gpu_bound_explain(out, b, c);
        return;
    }
    BoundTerm terms[BOUND_KINDS];
    BoundPart *parts = arena_new_n(out->arena, BoundPart, b->nstmts + 1);
    bool done[BOUND_KINDS] = {false};
    bound_summary(out, b, c);
    if (!isfinite(bound_evaluate(b, c, terms, parts))) return;
    for (int n = 0; n < BOUND_KINDS; n++) { // the largest first
        int best = -1;
        for (int k = 0; k < BOUND_KINDS; k++)
            if (!done[k] && (best < 0 || terms[k].seconds > terms[best].seconds)) best = k;
        done[best] = true;
        if (terms[best].seconds <= 0) return;
        bool once = best > BOUND_CHAIN && terms[best].stmt == -1;
        text_printf(out, "  %-14s ", bound_name[best]);
        if (once)
            add_column(out, terms[best].seconds);
        else
            add_time(out, terms[best].seconds);
        text_add(out, once ? " every argument once\n" : "\n");
        if (!once) add_parts(out, b, c, best, parts);
    }
}
