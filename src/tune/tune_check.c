// lw_check: the result of one Schedule, or of the loops of one machine description, compared with
// the reference, on the data and in the process that a candidate of a tuning has. So a wrong
// candidate is wrong here too, and shown.
#include "tune/tune.h"

#include <math.h>
#include <string.h>

const char *tune_compared(Tune *t) {
    const char *not = t->result->unchecked;
    return arena_printf(t->call->arena, "%s, against %s%s%s",
                        measure_operands(t->measure)->exact ? "bit for bit" : "up to rounding",
                        measure_reference(t->measure), not ? ", but not " : "", not ? not : "");
}

// "C[2, 3] is 7, not 8; 3 of 64 elements differ"
static const char *difference_text(Tune *t, const Difference *d) {
    Text text = {.arena = t->call->arena};
    if (d->result < 0) return "it did not run to its end";
    const Operand *x = &measure_operands(t->measure)->at[d->result];
    if (!d->count) return arena_printf(t->call->arena, "memory between elements of %s", x->name);
    text_printf(&text, "%s", x->name);
    for (int i = 0; i < x->view.rank; i++)
        text_printf(&text, "%s%lld", i ? ", " : "[", (long long)d->at[i]);
    text_printf(&text, "%s is %.9g, not %.9g; %lld of %lld elements differ",
                x->view.rank ? "]" : "", d->got, d->want, (long long)d->count,
                (long long)d->elements);
    return text_str(&text);
}

static bool compares_nothing(const Tune *t) {
    for (int i = t->p->ninputs; i < t->p->ninputs + t->p->noutputs; i++)
        if (!measure_blank(t->measure, i)) return false;
    return true;
}

static Job checked_job(const Tune *t) {
    const char *text = t->described ? t->described : t->o.schedule.text;
    if (!text) return (Job){JOB_CHOSEN, "", 1};
    return (Job){t->described ? JOB_MACHINE : JOB_TEXT, text, strlen(text) + 1};
}

// The warnings of the code of a given Schedule, as of a run; reading it gave those of its text.
// False: they are errors.
static bool warn(Tune *t) {
    DiagList quiet = {.arena = t->call->arena}, *diags = t->call->diags;
    Compilation c = compilation_of(t->call, t->bound, &t->o.schedule);
    c.machine = &t->machine;
    c.views = t->views;
    c.threads = t->o.threads;
    t->call->diags = &quiet;
    lw_status status = pipeline(&c, STEP_LOWER);
    t->call->diags = diags;
    call_source(t->call, t->bound->function->module);
    c.first = STEP_VERIFY;
    if (status) return true; // the candidate did run
    if (pipeline(&c, STEP_GENERATE) == LW_OK) warn_slow_loops(&c);
    return !diags->errors;
}

bool tune_check(Tune *t) {
    Job job = checked_job(t);
    Trial trial;
    measure_batch(t->measure, &job, 1, INFINITY, &trial);
    if (trial.state == TRIAL_DECLINED && tune_refused(t, &job)) return false;
    if (job.kind == JOB_TEXT && trial.state != TRIAL_DECLINED && !warn(t)) return false;
    bool wrong = trial.state == TRIAL_WRONG;
    lw_check_result *r = t->checked;
    r->state = (lw_trial_state)trial.state;
    r->compared = tune_compared(t);
    r->unchecked = t->result->unchecked;
    r->nothing = compares_nothing(t);
    if (wrong) r->difference = difference_text(t, measure_difference(t->measure, 0));
    if (trial.state <= TRIAL_SLOW) r->seconds = trial.measured;
    return true;
}
