// Any bytes as program text. What parses must print, read back to the same text, bind or be
// refused, and run or be trapped.
#include "support/proglab.h"

#include "base/bug.h"
#include "base/checked.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INSTANCES = 50000, MAX_ELEMENTS = 100000 };

static int64_t product(int64_t a, int64_t b, int64_t limit) {
    int64_t p;
    return checked_mul(a, max_i64(b, 0), &p) && p <= limit ? p : limit + 1;
}

// Small enough to be run for every input.
static bool small(const Program *p) {
    int64_t instances = 0, elements = 0;
    for (int s = 0; s < p->stmts.n; s++) {
        int64_t n = 1;
        for (int i = 0; i < p->stmts.at[s].niters; i++) {
            const Iter *it = &p->stmts.at[s].iter[i];
            n = product(n, max_i64(iter_hi(it) - iter_lo(it), 1), MAX_INSTANCES);
        }
        instances += n * (1 + p->stmts.at[s].value->weight / 64);
    }
    for (int i = 0; i < p->tensors.n; i++) {
        int64_t n = 1;
        for (int d = 0; d < p->tensors.at[i].rank; d++)
            n = product(n, max_i64(tensor_size(&p->tensors.at[i], d), 1), MAX_ELEMENTS);
        elements += n;
    }
    return instances <= MAX_INSTANCES && elements <= MAX_ELEMENTS;
}

static void bind_and_run(Lab *lab, const Program *p, int64_t base) {
    int64_t values[PROGRAM_MAX_PARAMS];
    for (int i = 0; i < p->params.n; i++) values[i] = base + i % 3;
    Program *q = program_bind(&lab->arena, p, values, &lab->diags);
    if (!q || !small(q)) return;
    Program *again = lab_parse(lab, lab_text(lab, q));
    require(again != NULL);
    require(!strcmp(lab_text(lab, again), lab_text(lab, q)));
    LabData d = lab_data(lab, q, 1);
    program_interpret(&lab->arena, q, d.view, (InterpFlags){0}, &lab->diags);
    program_interpret(&lab->arena, q, d.view, (InterpFlags){.trap_uninitialised = true},
                      &lab->diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Lab lab;
    lab_begin(&lab);
    char *text = arena_alloc(&lab.arena, size + 1);
    if (size) memcpy(text, data, size);
    Source source = {"fuzz.lwp", text, (uint32_t)size};
    Program *p = program_parse(&lab.arena, &lab.names, &source, &lab.diags);
    if (p) {
        const char *printed = lab_text(&lab, p);
        Program *q = lab_parse(&lab, printed);
        require(q != NULL);
        require(!strcmp(lab_text(&lab, q), printed));
        for (int64_t base = 0; base < 5; base += 2) bind_and_run(&lab, p, base);
    }
    (void)lab_errors(&lab);
    lab_end(&lab);
    return 0;
}
