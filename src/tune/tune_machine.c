// Tuning a machine description: the parameters of its passes, by measuring.
//
// From the given description the search goes to the best neighbour (hardware_moves: one parameter
// changed, or one pass dropped) as long as one is faster. A neighbour whose passes leave loops that
// were seen before is not measured. The best is timed once more together with the given description
// and the chosen Schedule. The database keys the result by the text of the given description.
#include "tune/tune.h"

#include "base/map.h"
#include "passes/hardware.h"

#include <math.h>
#include <string.h>

enum { MACHINE_BATCH = 8, MACHINE_SEEN = 4096 };
static const double machine_final = 0.5; // seconds of the last measurement
// A neighbour must take less than this share of the time to replace what it came from.
static const double machine_gain = 0.98;

typedef struct MachineTuning {
    Tune *t;
    Names names;
    const char *given, *best; // descriptions
    double seconds;           // of the best
    int nseen;
    uint64_t seen[MACHINE_SEEN]; // hashes of loops
} MachineTuning;

static const Hardware *read_machine(MachineTuning *m, const char *text) {
    Arena *arena = m->t->call->arena;
    DiagList quiet = {.arena = arena};
    Source *s = arena_new(arena, Source);
    *s = (Source){"<machine>", text, (uint32_t)strlen(text)};
    return hardware_parse(arena, &m->names, s, NULL, NULL, &quiet);
}

// The description with one more line, printed in full; NULL: it does not read.
static const char *with_line(MachineTuning *m, const char *text, const char *line) {
    Arena *arena = m->t->call->arena;
    const Hardware *h = read_machine(m, arena_printf(arena, "%s%s\n", text, line));
    Text out = {.arena = arena};
    if (h) hardware_print(&out, h);
    return h && (size_t)out.len < TUNE_MOST_TEXT ? text_str(&out) : NULL;
}

// Do its passes give loops that were not measured yet?
static bool is_new(MachineTuning *m, const char *text) {
    Arena *scratch = m->t->call->scratch;
    ArenaMark mark = arena_mark(scratch);
    DiagList quiet = {.arena = scratch};
    const Program *p = program_fork(scratch, m->t->p);
    const Tree *tree = passes_tree(scratch, p, text, &quiet);
    Text out = {.arena = scratch};
    if (tree) tree_show(&out, tree, false);
    uint64_t hash = tree ? hash_bytes(0, text_str(&out), (size_t)out.len) : 0;
    arena_release(scratch, mark);
    if (!tree || m->nseen == MACHINE_SEEN) return false;
    for (int i = 0; i < m->nseen; i++)
        if (m->seen[i] == hash) return false;
    m->seen[m->nseen++] = hash;
    return true;
}

static Job machine_job(const char *text) { return (Job){JOB_MACHINE, text, strlen(text) + 1}; }

static bool is_spent(const Tune *t) {
    bool cancelled = t->o.cancelled && t->o.cancelled(t->o.user);
    bool late = t->o.seconds > 0 && measure_clock() - t->began > t->o.seconds - machine_final;
    return cancelled || late || (t->o.trials > 0 && t->state.trials >= t->o.trials);
}

// Measures some neighbours; one that is surely faster becomes the best.
static void try_batch(MachineTuning *m, const char *const *text, int n) {
    Job jobs[MACHINE_BATCH];
    Trial trials[MACHINE_BATCH];
    for (int i = 0; i < n; i++) jobs[i] = machine_job(text[i]);
    measure_batch(m->t->measure, jobs, n, m->seconds, trials);
    for (int i = 0; i < n; i++) {
        if (trials[i].state != TRIAL_CANCELLED) tune_trial(m->t, &jobs[i], &trials[i], 0);
        if (trials[i].state != TRIAL_TIMED || trials[i].seconds >= machine_gain * m->seconds)
            continue;
        m->seconds = trials[i].seconds;
        m->best = text[i];
    }
    tune_progress(m->t);
}

// One round over all neighbours of the best; false: none is faster, or the budget is spent.
static bool improve(MachineTuning *m) {
    const char *const *line, *text[MACHINE_BATCH], *from = m->best;
    const Hardware *h = read_machine(m, from);
    int moves = h ? hardware_moves(m->t->call->arena, h, &line) : 0, n = 0;
    for (int i = 0; i < moves && !is_spent(m->t); i++) {
        const char *next = with_line(m, from, line[i]);
        if (next && is_new(m, next)) text[n++] = next;
        if (n < MACHINE_BATCH && i + 1 < moves) continue;
        try_batch(m, text, n);
        n = 0;
    }
    return m->best != from;
}

// The best once more, in a fresh process, with the given description and the chosen Schedule.
static bool decide_machine(MachineTuning *m) {
    Tune *t = m->t;
    Job jobs[3] = {machine_job(m->best), machine_job(m->given), {JOB_CHOSEN, "", 1}};
    Trial trials[3];
    t->finishing = true;
    measure_again(t->measure, jobs, 3, machine_final, trials);
    if (trials[1].state == TRIAL_TIMED &&
        (trials[0].state != TRIAL_TIMED || trials[1].seconds <= trials[0].seconds)) {
        trials[0] = trials[1];
        m->best = m->given;
    }
    if (trials[0].state != TRIAL_TIMED) {
        diag_report(t->call->diags, (Range){0, 0}, DIAG_TUNE_FAILED, (long long)t->state.trials);
        return false;
    }
    if (trials[1].state == TRIAL_TIMED) t->result->described = trials[1].seconds;
    if (trials[2].state == TRIAL_TIMED) t->result->chosen = trials[2].seconds;
    tune_best(t, &trials[0]);
    t->used = t->threads;
    tune_figures(t);
    DbEntry entry = {.schedule = m->best,
                     .seconds = trials[0].seconds,
                     .low = trials[0].low,
                     .high = trials[0].high,
                     .samples = trials[0].samples,
                     .origin = "tuned",
                     .verified = tune_compared(t)};
    t->result->stored = t->db && db_record(t->db, t->call->arena, &t->key, &entry);
    return true;
}

static bool recall_machine(MachineTuning *m) {
    Tune *t = m->t;
    const DbEntry *e = t->db && !t->o.again ? db_best(t->db, t->call->arena, &t->key) : NULL;
    Trial trial;
    if (!e || !hardware_is(e->schedule) || !read_machine(m, e->schedule)) return false;
    Job job = machine_job(e->schedule);
    measure_again(t->measure, &job, 1, machine_final, &trial);
    if (trial.state != TRIAL_TIMED) return false;
    m->best = e->schedule;
    tune_best(t, &trial);
    t->used = t->threads;
    tune_figures(t);
    t->result->stored = true;
    return true;
}

static bool has_line(const char *text, const char *line, size_t len) {
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") == len && memcmp(text, line, len) == 0) return true;
    return false;
}

// The lines of the best that the given description lacks; "": they are the same.
static const char *changes_of(const MachineTuning *m) {
    Text out = {.arena = m->t->call->arena};
    for (const char *at = m->best; *at;) {
        size_t len = strcspn(at, "\n");
        if (!has_line(m->given, at, len)) text_printf(&out, "%.*s\n", (int)len, at);
        at += len + (at[len] == '\n');
    }
    return out.len ? text_str(&out) : "";
}

bool tune_machine(Tune *t, const char *text) {
    MachineTuning *m = arena_new(t->call->arena, MachineTuning);
    *m = (MachineTuning){.t = t, .names.arena = t->call->arena, .given = text, .best = text};
    t->result->schedule = text;
    t->result->strategy = "database";
    if (t->db) t->key.target = db_machine(t->call->arena, t->key.target, text);
    bool known = recall_machine(m);
    if (!known) {
        Job first = machine_job(text);
        Trial trial;
        is_new(m, text);
        measure_batch(t->measure, &first, 1, INFINITY, &trial);
        tune_trial(t, &first, &trial, 0);
        m->seconds = trial.state == TRIAL_TIMED ? trial.seconds : INFINITY;
        t->result->strategy = "machine";
        while (improve(m)) continue;
        t->result->finished = !is_spent(t);
        if (!decide_machine(m)) return false;
    }
    t->result->schedule = m->best;
    t->result->changes = changes_of(m);
    return true;
}
