// The lower bound of a tuning, the certificate that it gives, and its withdrawal.
//
// A time below the bound refutes it. From then on the search has no bound: nothing is cut by it.
// When the search has ended the machine is measured again, since a bound that was made of rates
// from a slow phase is too high. If the better rates explain the time, the certificate holds
// with the lower bound that they give. Where they do not, the bound is wrong: there is no
// certificate, and files that show the candidate are kept for a report.
#include "tune/tune.h"

#include "api/rates.h"

#include <stdlib.h>
#include <string.h>

static double model_bound(const Tune *t, const Cand *c) { return bound_seconds(t->model, c, NULL); }

double tune_bound(const Tune *t, const Cand *c) {
    return t->model && t->below.seconds <= 0 ? model_bound(t, c) : 0;
}

static const char *text_of(Tune *t, const Job *job) {
    Text text = {.arena = t->call->arena};
    DiagList quiet = {.arena = t->call->arena};
    const Schedule *s = tune_schedule(t, t->call->arena, job, &quiet);
    if (s) schedule_print(&text, s);
    return text_str(&text);
}

void tune_doubt(Tune *t, const Cand *c, const Job *job, double seconds) {
    const Space *s = t->ps.space;
    if (!t->model || seconds <= 0 || !(seconds < model_bound(t, c ? c : t->root))) return;
    double share = seconds / model_bound(t, c ? c : t->root);
    if (t->below.seconds > 0 && share >= t->below.share) return; // not as far below
    if (!t->below.cand) t->below.cand = space_cand(t->call->arena, s);
    space_copy(s, t->below.cand, c ? c : t->root);
    t->below.seconds = seconds;
    t->below.share = share;
    t->below.schedule = text_of(t, job);
}

static void add_time(Text *out, double seconds) { text_printf(out, "%.4g us", seconds * 1e6); }

static void withdraw(Tune *t, double bound) {
    Text text = {.arena = t->call->arena};
    text_add(&text, "measured ");
    add_time(&text, t->below.seconds);
    text_add(&text, ", below the bound of ");
    add_time(&text, bound);
    t->result->refuted = text_str(&text);
    t->result->reproducer = tune_reproducer(t, t->below.schedule, "below-bound", "--time");
    t->state.bound = 0;
}

enum { SLOW_PHASES = 4 }; // in a row, in which the machine may be measured

void tune_certify(Tune *t, const Job *winner, double seconds, bool proved) {
    if (!t->model) return;
    if (t->state.bound <= 0) t->state.bound = tune_bound(t, t->root);
    tune_doubt(t, NULL, winner, seconds);
    // That everything else is slower was shown by times; the winner's is the one measured last.
    if (proved && seconds < t->state.bound) t->state.bound = seconds;
    if (t->below.seconds <= 0) return;
    double from = measure_clock(), bound = model_bound(t, t->below.cand);
    for (int i = 0; !t->o.device && i < SLOW_PHASES && t->below.seconds < bound; i++) {
        const lw_machine *better = machine_rated(t->call, &t->machine, true, NULL);
        if (better) t->rated = better;
        tune_model(t);
        bound = model_bound(t, t->below.cand);
    }
    t->began += measure_clock() - from; // as before: that is not the tuning's time
    if (t->below.seconds < bound)
        withdraw(t, bound);
    else
        t->state.bound = model_bound(t, t->root);
}
