// A model of the time of a candidate, trained on the measured ones: log time as a sum of
// contributions of single decisions.
//
//     log t = mean + sum over variables v that exist: w[v][value of v]
//
// Fitted by coordinate descent on the squared error with a ridge, half a sweep at a time, over the
// last measurements. It ignores interactions between decisions; it only has to separate good
// neighbours of a good candidate from bad ones.
#ifndef LW_SEARCH_MODEL_H
#define LW_SEARCH_MODEL_H

#include "search/strategy.h"

Model *model_new(Search *q);
// A full candidate and its log time; INFINITY: it failed.
void model_add(Model *m, const Cand *c, double log_time);
void model_fit(Model *m); // half a sweep
double model_guess(const Model *m, const Cand *c);
// The contribution of one value.
double model_value(const Model *m, int var, int bit);

#endif
