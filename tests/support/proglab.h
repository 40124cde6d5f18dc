// Utilities for tests of Programs: parse, bind, generate data, run, print errors.
//
//     Lab lab;
//     lab_begin(&lab);
//     Program *p = lab_program(&lab, "program f(N) { ... }", (int64_t[]){8});   // bound
//     LabData d = lab_data(&lab, p, seed);                                       // exact data
//     CHECK(lab_run(&lab, p, &d));
//     lab_end(&lab);
#ifndef SUPPORT_PROGLAB_H
#define SUPPORT_PROGLAB_H

#include "program/program.h"
#include "sched/schedule.h"

typedef struct Lab {
    Arena arena;
    Names names;
    DiagList diags;
} Lab;

void lab_begin(Lab *lab);
void lab_end(Lab *lab);

// Parses; NULL with the errors in lab->diags.
Program *lab_parse(Lab *lab, const char *text);
// Parses and binds; values in the order of the parameters.
Program *lab_program(Lab *lab, const char *text, const int64_t *values);
const char *lab_text(Lab *lab, const Program *p); // program_print
const Schedule *lab_schedule(Lab *lab, const char *text);
// All diagnostics so far, as diag_print shows them.
const char *lab_errors(Lab *lab);

// A dense buffer for every argument of a bound Program, in its tensors' order.
typedef struct LabData {
    int n;
    View *view;
} LabData;

// Inputs and in-outs hold integers -2 ... 2 (0 ... 3 where unsigned, 0 and 1 for bool), so that
// sums and products stay exact; a tensor that is used as a subscript holds valid indices. Outputs
// are filled with the byte 0xa5, which reveals unwritten elements.
LabData lab_data(Lab *lab, const Program *p, uint64_t seed);
LabData lab_copy(Lab *lab, const Program *p, const LabData *d);
bool lab_run(Lab *lab, const Program *p, const LabData *d); // the interpreter, all traps off
// The first difference of the outputs, as text; NULL when all bits agree (any NaN equals any NaN).
const char *lab_difference(Lab *lab, const Program *p, const LabData *got, const LabData *want);

// Element `number` in row-major order, as a double.
double lab_value(const LabData *d, int tensor, int64_t number);
void lab_set(const LabData *d, int tensor, int64_t number, double value);

#endif
