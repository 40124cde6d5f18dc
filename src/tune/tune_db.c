#include "tune/tune.h"

#include "sched/schedule.h"

#include <math.h>
#include <string.h>

enum { TRIALS_AT_ONCE = 1000 };

// The names behind the canonical ones, for people.
static const char *names_of(const Tune *t) {
    Text out = {.arena = t->call->arena};
    const lw_function *f = t->bound->function;
    text_printf(&out, "%s ", t->p->name);
    for (int i = 0; i < f->program->params.n; i++)
        text_printf(&out, "%s%s=%lld", i ? "," : "", f->params[i].name,
                    (long long)t->bound->values[i]);
    text_printf(&out, " %s", canon_names(t->call->arena, t->canon));
    return text_str(&out);
}

void tune_open_db(Tune *t) {
    Arena *arena = t->call->arena;
    const char *where = t->o.db && !*t->o.db ? "none" : t->o.db;
    if (where && !db_new(&t->call->ctx->allocator, where, &t->own_db)) arena_out_of_memory(arena);
    t->db = where ? t->own_db : t->call->ctx->db;
    if (!t->db) return;
    const int64_t *const *stride = strides_of(arena, t->p, t->o.args ? t->views : NULL);
    t->canon = canon_of(arena, t->p);
    const char *target = t->machine.target->name;
    if (t->o.cold) target = db_cold(arena, target);
    t->key = db_key(arena, t->canon, stride,
                    (DbMachine){target, t->machine.cpu, machine_isa(&t->machine), t->threads});
    t->key.name = names_of(t);
}

void tune_close_db(Tune *t) {
    db_free(t->own_db);
    t->db = t->own_db = NULL;
}

// A stored text may be anything: it counts once it parses, lowers, and gives the right result.
static const Schedule *restore(Tune *t, const DbEntry *e) {
    DiagList quiet = {.arena = t->call->arena};
    return canon_schedule_parse(t->call->arena, t->canon, e->schedule, &quiet);
}

// Whether the search depends on no decisions, data or start of the user, so that its completion
// holds for other searches.
static bool is_plain(const Tune *t) {
    return !t->o.set && !(t->o.args && t->o.data) && !t->o.schedule.text;
}

static DbSearch search_of(Tune *t, const SearchOptions *o) {
    const char *strategy = t->o.strategy ? t->o.strategy : search_strategy_name[o->strategy];
    if (o->order)
        strategy =
            arena_printf(t->call->arena, "%s, order %s", strategy, search_order_name[o->order]);
    return (DbSearch){strategy, t->o.seconds > 0 ? t->o.seconds : INFINITY,
                      o->trials > 0 ? (double)o->trials : INFINITY, o->gap};
}

bool tune_known(Tune *t, const SearchOptions *options, Job *job) {
    const DbEntry *all, *e = NULL;
    if (!t->db || t->o.again || !is_plain(t)) return false;
    int n = db_all(t->db, t->call->arena, &t->key, &all);
    for (int i = 0; i < n && !e; i++) // skips pinned entries that are slow
        if (db_wins(&all[i])) e = &all[i];
    const Schedule *s = e ? restore(t, e) : NULL;
    if (!s) return false;
    DbSearch search = search_of(t, options);
    bool reached = e->bound > 0 && db_gap(e) <= options->gap;
    if (!reached && !db_searched(t->db, t->call->arena, &t->key, &search)) return false;
    Text text = {.arena = t->call->arena};
    schedule_print(&text, s);
    *job = (Job){JOB_TEXT, text_str(&text), (size_t)text.len + 1};
    return job->size <= TUNE_MOST_TEXT;
}

int tune_known_schedules(Tune *t, const Schedule **out, int most) {
    const DbEntry *all;
    const char *sizes;
    int n = 0;
    if (!t->db) return 0;
    int found = db_all(t->db, t->call->arena, &t->key, &all);
    for (int i = 0; i < found && n < most; i++)
        if ((out[n] = restore(t, &all[i]))) n++;
    if (n) return n;
    const DbEntry *e = db_nearest(t->db, t->call->arena, &t->key, t->canon, &sizes);
    const Schedule *s = e ? restore(t, e) : NULL;
    if (s && most > 0 && (out[0] = canon_adapt(t->call->arena, t->canon, s, sizes))) n = 1;
    return n;
}

void tune_keep_trial(Tune *t, const Schedule *s, const Trial *trial) {
    Arena *arena = t->call->arena;
    if (!t->db) return;
    const char *text = canon_schedule_text(arena, t->canon, s);
    if (!text) return;
    DbTrial kept = {text, trial_state_name[trial->state], trial->measured, trial->low, trial->high};
    vec_push(arena, &t->trials, kept);
    if (t->trials.n >= TRIALS_AT_ONCE) tune_keep_trials(t);
}

void tune_keep_trials(Tune *t) {
    if (t->db && t->trials.n) db_trials(t->db, t->call->arena, &t->key, t->trials.at, t->trials.n);
    t->trials.n = 0;
}

// A bound under decisions of the user holds only for the rest of the Space, so it is not stored.
static DbEntry entry_of(Tune *t, const char *schedule, const Trial *trial) {
    return (DbEntry){.schedule = schedule,
                     .seconds = trial->seconds,
                     .low = trial->low,
                     .high = trial->high,
                     .samples = trial->samples,
                     .bound = t->o.set ? 0 : t->state.bound,
                     .origin = t->put ? "hand" : "tuned",
                     .pinned = t->pin,
                     .chosen = t->result->chosen,
                     .verified = tune_compared(t)};
}

bool tune_keep(Tune *t, const Job *jobs, const Trial *trials, int n, const SearchOptions *options) {
    Arena *arena = t->call->arena;
    DiagList quiet = {.arena = arena};
    VEC(DbEntry) kept = {0};
    if (!t->db) return false;
    for (int i = 0; i < n; i++) {
        const Schedule *s = tune_schedule(t, arena, &jobs[i], &quiet);
        const char *text = s ? canon_schedule_text(arena, t->canon, s) : NULL;
        if (text && trials[i].state == TRIAL_TIMED)
            vec_push(arena, &kept, entry_of(t, text, &trials[i]));
    }
    DbSearch search = options ? search_of(t, options) : (DbSearch){0};
    return kept.n && db_record_search(t->db, arena, &t->key, kept.at, kept.n,
                                      options && is_plain(t) ? &search : NULL);
}
