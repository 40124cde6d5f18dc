// The machine model of the lower bound: rates that are never exceeded, from measurements and from
// facts about its ports.
#include "space/bound_impl.h"

#include "base/checked.h"

#include <math.h>

// --- Pipes ---------------------------------------------------------------------------------------
//
// The better of the measured rate and the family's number counts. The clock is the fastest that any
// measurement shows. Wide vectors may run at a lower clock; the operations that were measured at
// that width show the best one.

// 10^9 multiply-adds a second that were measured at a width; 0: none were.
static double shown_fma(const Machine *m, Width w, bool f64) {
    return m->rates->fma[w][f64][CORES_ONE] / width_lanes(w, f64) / 2;
}

// The clock in GHz according to the rates of a width; 0: nothing was measured.
static double shown_clock(const Machine *m, Width w) {
    const double *pipes = m->family->work[w == WIDTH_FULL];
    double best = 0;
    for (int f64 = 0; f64 < 2; f64++) best = most_of(best, shown_fma(m, w, f64) / pipes[WORK_MUL]);
    for (int k = 0; k < WORK_COUNT; k++)
        if (pipes[k] > 0) best = most_of(best, m->rates->work[w][k] / pipes[k]);
    return best;
}

// Cycles per second, from a chain of additions or from two multiply-adds per cycle.
static double clock_of(const Machine *m) {
    double best = m->rates->ghz;
    for (Width w = WIDTH_ONE; w < WIDTH_COUNT && m->rates->ghz <= 0; w++)
        best = most_of(best, shown_clock(m, w));
    for (int f64 = 0; f64 < 2; f64++) best = most_of(best, shown_fma(m, WIDTH_ONE, f64) / 2);
    return best * 1e9 * machine_cost(m)->bound_margin;
}

// Instructions of one kind per second.
static double work_rate(const Machine *m, Width w, WorkKind k, double hertz) {
    double margin = machine_cost(m)->bound_margin;
    double shown = shown_clock(m, w) * 1e9 * margin;
    double clock = shown > 0 ? least_of(shown, hertz) : hertz;
    double measured = m->rates->work[w][k];
    for (int f64 = 0; k == WORK_MUL && f64 < 2; f64++)
        measured = most_of(measured, shown_fma(m, w, f64));
    return most_of(m->family->work[w == WIDTH_FULL][k] * clock, measured * 1e9 * margin);
}

static void see_pipes(BoundModel *b, const Machine *m) {
    const Family *f = m->family;
    bool full = m->width == WIDTH_FULL;
    for (int k = 0; k < WORK_COUNT; k++) {
        double half = f->work[0][k] * b->hertz;
        if (m->width != WIDTH_ONE)
            half = most_of(half, work_rate(m, WIDTH_HALF, (WorkKind)k, b->hertz));
        b->half[k] = b->alone[k] = 1 / half;
        b->full[k] = full ? 1 / work_rate(m, WIDTH_FULL, (WorkKind)k, b->hertz) : b->half[k];
        // Lanes of a full vector cost no more than those of two halves, however the measured rates
        // of the two widths differ: otherwise a tail in halves would lower the bound.
        b->full[k] = least_of(most_of(b->full[k], b->half[k]), 2 * b->half[k]);
    }
    // Scalar integers are in general registers; at most two multiplies start in a cycle.
    b->alone[WORK_IMUL] = least_of(b->alone[WORK_IMUL], 0.5 / b->hertz);
    b->alone[WORK_ANY] = least_of(b->alone[WORK_ANY], 1 / (f->scalar * b->hertz));
    for (int wide = 0; wide < 2; wide++)
        for (int w = 0; w < 3; w++)
            b->divide[wide][w] = f->divide[wide][full ? w : w > 0] / b->hertz;
    for (int k = 0; k < LATENCY_COUNT; k++) {
        double measured = m->rates->latency[k] * 1e-12 / b->cost->bound_margin;
        b->latency[k] = f->latency[k] / b->hertz;
        if (measured > 0) b->latency[k] = least_of(b->latency[k], measured);
    }
}

void bound_rates(BoundModel *b, const Machine *m, const CpuHost *h) {
    const Family *f = m->family;
    const MachineCost *cost = b->cost;
    double inside = 0, all_inside = 0;
    b->hertz = clock_of(m);
    see_pipes(b, m);
    b->issue = b->hertz * f->issue;
    b->loads = b->hertz * f->loads;
    b->stores = b->hertz * f->stores;
    b->vector_bytes = m->vector_bytes;
    b->registers = m->vector_registers;
    b->unrolled = m->unroll_limit;
    for (int i = 0; i < h->nunroll; i++) b->unrolled = max_i64(b->unrolled, h->unroll[i]);
    b->line_bytes = m->line_bytes;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const double(*move)[CORES_COUNT] = m->rates->move[level];
        bool shared = level >= LEVEL_L3;
        b->cache[0][level] = inside;
        b->cache[1][level] = all_inside;
        for (int p = 0; p < 2; p++) {
            double n = p ? b->cores : 1;
            double in = move[MOVE_LOAD][0] * n, out = move[MOVE_STORE][0] * n;
            if (level == LEVEL_L1) {
                in = most_of(in, f->load_bytes * b->hertz * 1e-9 / cost->bound_margin * n);
                out = most_of(out, f->store_bytes * b->hertz * 1e-9 / cost->bound_margin * n);
            }
            // A cache that others use may be faster than it was when it was measured.
            if (level == LEVEL_L3) in *= cost->bound_quiet, out *= cost->bound_quiet;
            if (p && shared)
                in = least_of(in, move[MOVE_LOAD][1]), out = least_of(out, move[MOVE_STORE][1]);
            b->in[p][level] = in > 0 ? 1e-9 / in / cost->bound_margin : 0;
            b->out[p][level] = out > 0 ? 1e-9 / out / cost->bound_margin : 0;
        }
        // How much loads and stores delay each other, according to copies; other mixtures may be
        // a little faster.
        double sum = 1 / move[MOVE_LOAD][0] + 1 / move[MOVE_STORE][0];
        double copy = move[MOVE_COPY][0];
        bool known = copy > 0 && sum > 0 && isfinite(sum);
        b->both[level] = known ? least_of(1, 2 / copy / sum) * cost->bound_mixing : 0;
        if (level == LEVEL_L1) b->both[level] = 0; // loads and stores have separate pipes
        int64_t bytes = level < LEVEL_MEMORY ? m->cache[level + 1] : 0;
        inside += (double)bytes;
        all_inside += (double)bytes * (level < LEVEL_L3 ? b->cores : 1);
    }
}
