// A guess at how long a candidate takes, learnt from those that were measured: log time as a sum of
// what single decisions contribute.
//
//     log t = mean + sum over variables v that exist: w[v][value of v]
//
// Fitted by coordinate descent on the squared error with a ridge, half a sweep at a time, over the
// last measurements. It knows nothing of what decisions do together; it is for telling good
// neighbours of a good candidate from hopeless ones, which is most of what there is to tell.
#ifndef LW_SEARCH_MODEL_H
#define LW_SEARCH_MODEL_H

#include "search/strategy.h"

Model *model_new(Search *q);
// A full candidate and its log time; INFINITY: it failed.
void model_add(Model *m, const Cand *c, double log_time);
void model_fit(Model *m); // half a sweep
double model_guess(const Model *m, const Cand *c);
// What one value contributes.
double model_value(const Model *m, int var, int bit);

#endif
