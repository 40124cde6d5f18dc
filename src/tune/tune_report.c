#include "tune/tune.h"

#include "api/rates.h"
#include "base/map.h"
#include "tree/cost.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- Where it stands -----------------------------------------------------------------------------

static lw_timing work_of(const Tune *t) {
    const Program *p = t->p;
    lw_timing w = {.struct_size = sizeof w, .threads = t->used ? t->used : t->threads};
    w.isa = machine_isa(&t->machine);
    w.flops = bound_flops(t->call->scratch, t->bound, NULL);
    w.int_ops = bound_int_ops(t->call->scratch, t->bound);
    w.float_bits = program_float_bits(p);
    const double *bytes = bound_bytes(t->call->scratch, t->bound, NULL);
    for (int i = 0; i < p->ninputs + p->noutputs; i++) {
        w.bytes += bytes[i];
        if (i >= p->ninputs) w.written_bytes += bytes[i];
    }
    return w;
}

// The fraction of this machine's peak; 0: unknown. A kernel that is faster than the rates were
// measured in a slow phase of the machine; they rise to it.
static double peak_of(Tune *t, double seconds) {
    lw_timing work = work_of(t);
    lw_roof roof;
    if (!t->rated || lw_machine_roof(t->rated, &work, &roof) != LW_OK || roof.partly) return 0;
    work.p10_us = seconds * 1e6;
    if (roof.us > work.p10_us) {
        const lw_machine *raised = machine_rated(t->call, &t->machine, false, &work);
        if (raised) t->rated = raised;
        if (lw_machine_roof(t->rated, &work, &roof) != LW_OK) return 0;
    }
    return roof.us / work.p10_us;
}

void tune_figures(Tune *t) {
    lw_tune_state *s = &t->state;
    lw_timing work = work_of(t);
    s->elapsed = measure_clock() - t->began;
    if (t->measure) s->kernel_time = measure_tally(t->measure)->kernels;
    if (t->measure) s->compile_time = measure_tally(t->measure)->compile;
    if (t->remote) s->kernel_time += remote_tally(t->remote)->kernels;
    if (t->remote) s->compile_time += remote_tally(t->remote)->compile;
    if (s->seconds <= 0) return;
    s->gflops = work.float_bits ? (work.flops - work.int_ops) / s->seconds * 1e-9 : 0;
    s->gap = s->bound > 0 ? (s->seconds - s->bound) / s->bound : 0;
    s->peak = peak_of(t, s->seconds);
}

static void show_best(Tune *t, const Trial *trial, double seconds) {
    lw_tune_state *s = &t->state;
    s->seconds = seconds;
    s->low = trial->low;
    s->high = trial->high;
    if (t->npoints == t->most_points) {
        t->most_points = t->most_points ? 2 * t->most_points : 32;
        lw_tune_point *more = arena_new_n(t->call->arena, lw_tune_point, t->most_points);
        if (t->npoints) memcpy(more, t->points, (size_t)t->npoints * sizeof *more);
        t->points = more;
    }
    t->points[t->npoints++] = (lw_tune_point){measure_clock() - t->began, s->trials, seconds};
}

void tune_best(Tune *t, const Trial *trial) { show_best(t, trial, trial->seconds); }

// Interleaved with the best so far, a candidate may be surely faster and yet take longer than that
// one did before, in a slow phase. The search counts it as a little faster; users see real times.
static void count_best(Tune *t, const Trial *trial) {
    t->counted = trial->seconds;
    if (t->state.seconds <= 0 || trial->measured < t->state.seconds)
        show_best(t, trial, trial->measured);
}

void tune_progress(Tune *t) {
    if (!t->o.progress) return;
    tune_figures(t);
    t->o.progress(t->o.user, &t->state);
}

// --- Reproducers ---------------------------------------------------------------------------------
// STATE-HASH.lwp and .lws: the bound program and the schedule, as `loopwright run` takes them.

enum { MOST_FAILURES = 100 }; // reproducers of one tuning; more would show the same failure

static bool make_folders(Arena *arena, const char *path) {
    char *copy = arena_strndup(arena, path, strlen(path));
    for (char *at = copy + 1;; at++) {
        char c = *at;
        if (c != '/' && c) continue;
        *at = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) return false;
        *at = c;
        if (!c) return true;
    }
}

static bool write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t size = strlen(text);
    if (fd < 0) return false;
    bool ok = write(fd, text, size) == (ssize_t)size;
    return close(fd) == 0 && ok;
}

// Reports it once.
static const char *unkept(Tune *t) {
    if (!t->unkept)
        diag_report(t->call->diags, (Range){0, 0}, DIAG_TUNE_UNKEPT, t->folder, strerror(errno));
    t->unkept = true;
    return NULL;
}

const char *tune_reproducer(Tune *t, const char *schedule, const char *what, const char *options) {
    Arena *arena = &t->text;
    Text program = {.arena = arena};
    if (!t->folder || t->failures >= MOST_FAILURES) return NULL;
    if (!make_folders(arena, t->folder)) return unkept(t);
    program_print(&program, t->p);
    const char *text = text_str(&program);
    uint64_t hash = hash_bytes(hash_bytes(0, text, strlen(text)), schedule, strlen(schedule));
    const char *base =
        arena_printf(arena, "%s/%s-%s-%016" PRIx64, t->folder, t->p->name, what, hash);
    const char *lwp = arena_printf(arena, "%s.lwp", base);
    const char *lws = arena_printf(arena, "%s.lws", base);
    const char *where =
        arena_printf(arena, "--isa %s --threads %d", machine_isa(&t->machine), t->threads);
    if (t->o.device) where = arena_printf(arena, "--device %s", t->o.device);
    const char *how =
        arena_printf(arena,
                     "# %s when it was tuned with %s, isa %s, threads %d; to see it again:\n"
                     "#     loopwright run %s.lwp --schedule %s.lws %s --seed %llu %s\n",
                     what, LW_BUILD_VERSION, machine_isa(&t->machine), t->threads, base, base,
                     where, (unsigned long long)t->o.seed, options);
    if (!write_file(lwp, arena_printf(arena, "%s%s", how, text)) ||
        !write_file(lws, arena_printf(arena, "%s%s", how, schedule)))
        return unkept(t);
    t->failures++;
    return arena_strndup(t->call->arena, lws, strlen(lws));
}

// --- Trials --------------------------------------------------------------------------------------

static bool is_failure(TrialState s) {
    return s == TRIAL_WRONG || s == TRIAL_CRASHED || s == TRIAL_HUNG;
}

void tune_trial(Tune *t, const Job *job, const Trial *trial, double bound) {
    lw_tune_state *s = &t->state;
    bool best = trial->state == TRIAL_TIMED && (t->counted <= 0 || trial->seconds < t->counted);
    int64_t number = s->trials++;
    s->count[trial->state]++;
    if (best) count_best(t, trial);
    if (!t->o.trial && !t->db && !is_failure(trial->state)) return;
    t->text.try = t->call->arena->try;
    ArenaMark mark = arena_mark(&t->text);
    DiagList quiet = {.arena = &t->text};
    const Schedule *schedule = tune_schedule(t, &t->text, job, &quiet);
    Text text = {.arena = &t->text};
    if (schedule) schedule_print(&text, schedule);
    lw_trial shown = {.number = number,
                      .state = (lw_trial_state)trial->state,
                      .at = measure_clock() - t->began,
                      .seconds = trial->measured,
                      .low = trial->low,
                      .high = trial->high,
                      .bound = bound,
                      .best = best,
                      .ratio = trial->ratio,
                      .samples = trial->samples,
                      .schedule = text_str(&text)};
    if (schedule) tune_keep_trial(t, schedule, trial);
    if (is_failure(trial->state))
        shown.reproducer =
            tune_reproducer(t, shown.schedule, trial_state_name[trial->state], "--check");
    if (t->o.trial) t->o.trial(t->o.user, &shown);
    arena_release(&t->text, mark);
}
