// The loops by which this machine is measured, as machine code.
#ifndef LW_CODE_X86_PROBE_H
#define LW_CODE_X86_PROBE_H

#include "asm/asm.h"
#include "machine/machine.h"

enum { X86_PROBE_UNROLL = 16 }; // vectors that one iteration of x86_probe_move moves

double x86_probe_fma(Asm *a, Width w, bool f64);
double x86_probe_work(Asm *a, Width w, WorkKind work);
double x86_probe_chain(Asm *a, Latency of);
void x86_probe_move(Asm *a, const Machine *m, int move, bool past_caches);

#endif
