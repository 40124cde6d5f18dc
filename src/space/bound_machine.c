// The machine as the lower bound sees it: rates that nothing exceeds, from those that were measured
// and from what is known of its ports.
#include "space/bound_impl.h"

#include "base/checked.h"

#include <math.h>

const double bound_margin = 1.02;
static const double quieter = 1.04; // L3, when its other users do less
static const double mixing = 0.94;  // loads and stores together, against copies

// Cycles a second, from the instruction set that ran fastest.
static double clock_of(const Machine *m) {
    double best = 0;
    for (int isa = 0; isa < ISA_COUNT; isa++)
        for (int wide = 0; wide < 2; wide++) {
            double lanes = isa == ISA_SCALAR ? 1 : (isa == ISA_AVX512 ? 64 : 32) / (wide ? 8 : 4);
            best = most_of(best, m->rates->fma[isa][wide][CORES_ONE] / lanes);
        }
    return best * 1e9 / 2 / m->fma_ports * bound_margin;
}

void bound_rates(BoundModel *b, const Machine *m, const CpuHost *h) {
    double inside = 0, all_inside = 0;
    b->hertz = clock_of(m);
    for (int wide = 0; wide < 2; wide++) {
        double lanes = m->isa == ISA_SCALAR ? 1 : m->vector_bytes / (wide ? 8 : 4);
        b->instructions[wide] =
            m->rates->fma[m->isa][wide][CORES_ONE] * 1e9 / 2 / lanes * bound_margin;
        b->vectors[wide] = b->instructions[wide];
        if (m->isa == ISA_AVX512)
            b->vectors[wide] = most_of(b->vectors[wide], m->rates->fma[ISA_AVX2][wide][CORES_ONE] *
                                                             1e9 / lanes * bound_margin);
    }
    b->fastest = b->hertz * m->fma_ports;
    b->issue = b->hertz * (double)max_i64(m->ports[PORT_ISSUE], 6);
    b->loads = b->hertz * (double)max_i64(m->load_ports, 2);
    b->stores = b->hertz * (double)max_i64(m->store_ports, 2);
    b->scalar_ops = b->hertz * (double)max_i64(m->ports[PORT_SCALAR], 5);
    b->shuffles = b->hertz * (double)max_i64(m->ports[PORT_SHUFFLE], m->vector_bytes < 64 ? 2 : 1);
    b->vector_ports = most_of(1, (double)m->ports[PORT_VECTOR] / m->fma_ports);
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
            // What is shared with others may be faster than it was when it was measured.
            if (level == LEVEL_L3) in *= quieter, out *= quieter;
            if (p && shared)
                in = least_of(in, move[MOVE_LOAD][1]), out = least_of(out, move[MOVE_STORE][1]);
            b->in[p][level] = in > 0 ? 1e-9 / in / bound_margin : 0;
            b->out[p][level] = out > 0 ? 1e-9 / out / bound_margin : 0;
        }
        // How far loads and stores get in each other's way, as copies show; other mixtures may
        // do a little better.
        double sum = 1 / move[MOVE_LOAD][0] + 1 / move[MOVE_STORE][0];
        double copy = move[MOVE_COPY][0];
        b->both[level] =
            copy > 0 && sum > 0 && isfinite(sum) ? least_of(1, 2 / copy / sum) * mixing : 0;
        int64_t bytes = level < LEVEL_MEMORY ? m->cache[level + 1] : 0;
        inside += (double)bytes;
        all_inside += (double)bytes * (level < LEVEL_L3 ? b->cores : 1);
    }
}
