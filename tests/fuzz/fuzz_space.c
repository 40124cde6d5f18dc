// Decisions as text, on the space of a product of two matrices followed by a pointwise statement:
// whatever is read is applied, and a live candidate prints to what reads back to itself.
#include "space/cpu.h"
#include "support/proglab.h"

#include <stdlib.h>
#include <string.h>

static const char program[] = "program f(M, N, K) {\n    input A: f32[M, K]\n    input B: f32[K, "
                              "N]\n    output O: f32[M, N]\n"
                              "    temp C: f32[M, N]\n    C: for m in 0:M, n in 0:N, k in 0:K\n"
                              "        C[m, n] +=! A[m, k]*B[k, n]\n"
                              "    O: for m in 0:M, n in 0:N\n        O[m, n] = relu(C[m, n])\n}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 4096) return 0;
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, program, (int64_t[]){40, 33, 24});
    CpuOptions o = {.threads = 2};
    machine_describe(&o.machine, ISA_AVX2);
    CpuSpace *cs = cpu_space(&lab.arena, p, &o, &lab.diags);
    const Space *s = cs->space;
    Source src = {"<set>", arena_strndup(&lab.arena, (const char *)data, size), (uint32_t)size};
    int n;
    Decision *d = space_parse(&lab.arena, s, &src, &lab.diags, &n);
    SpaceWork *w = space_work(&lab.arena, s);
    Cand *c = space_cand(&lab.arena, s), *again = space_cand(&lab.arena, s);
    space_copy(s, c, s->root);
    if (d && space_apply(w, c, d, n)) {
        Text text = {.arena = &lab.arena};
        space_print(&text, s, c);
        Source printed = {"<space>", text_str(&text), (uint32_t)text.len};
        space_copy(s, again, s->root);
        d = space_parse(&lab.arena, s, &printed, &lab.diags, &n);
        if (!d || !space_apply(w, again, d, n) || memcmp(c, again, s->size)) abort();
    }
    lab_end(&lab);
    return 0;
}
