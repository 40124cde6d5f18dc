// The worker: runs code that may be wrong.
//
// It serves its parent until that is gone, and distrusts all code that it runs: a candidate is
// called under a timer, whose signal aborts the call (one thread) or ends the process (several
// threads, because the others cannot be stopped). State is in a Worker on the stack; the timer's
// signal carries its address.
#define _GNU_SOURCE
#include "search/measure_impl.h"

#include "run/exec.h"
#include "run/pool.h"
#include "run/timing.h"
#include "search/device_bench.h"
#include "search/sample.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum {
    MOST_SAMPLES = 101,
    FEW_SAMPLES = 2, // for long calls
    SOME_PAIRS = 6,  // to rank a candidate, with a 95 % interval
    MANY_PAIRS = 15, // to distinguish a better one from the incumbent
    MANY_CALLS = 16, // of a sample, which make the first one unimportant
};
static const double alone_seconds = 2e-3, long_seconds = 0.3, warm_seconds = 1e-3;
// Factors by which a candidate loses: in its first sample (a smaller one if that is one long call);
// in all of the first two or three samples; and if a sample is one call, if one of three is not
// faster. It may be better while the median and four of five samples are faster.
static const double hopeless = 2, hopeless_call = 1.5, loses_two = 1.08, loses_three = 1.02,
                    better = 0.995, just_better = 0.999, much_better = 0.85;

// A kernel in memory, or a program on a device.
typedef struct LoadedJob {
    bool there;
    ExecBlock *block; // NULL: none
    Kernel *entry;
    DeviceJob device;
    int64_t calls; // per sample
    double each;   // seconds of a call in the last sample; 0: not known
} LoadedJob;

typedef struct Worker {
    Measure *m;
    Board *board;
    Operands *operands;
    Workshop work;
    ExecArena *exec;
    DeviceBench *device; // NULL: this processor
    Pool *pool;
    KernelEnv env;
    Guarded scratch, ordinary; // for checked calls, and for timed ones
    LoadedJob incumbent;
    int serial; // of the board's incumbent when it was loaded
    Stopwatch watch;
    double kernels; // seconds inside kernels of the current candidate
    Alarm alarm;
    sigjmp_buf left;
    // The purpose of the next signal: 1 cut, 2 hang, 3 a compilation that takes too long.
    volatile sig_atomic_t armed;
    MeasurePlace *volatile at;
} Worker;

double measure_clock(void) { return wall_clock(); }

static double tick(const Worker *w) { return stopwatch_read(&w->watch); }

// --- Loading -------------------------------------------------------------------------------------

static bool provide_scratch(Worker *w, const JobCode *code) {
    size_t need = (size_t)(code->scratch + (w->env.threads - 1) * code->thread_scratch);
    if (need <= w->scratch.bytes && w->scratch.map) return true;
    guarded_free(&w->scratch);
    guarded_free(&w->ordinary);
    if (!guarded_new(&w->scratch, need, false) || !ordinary_new(&w->ordinary, need, w->operands->n))
        return false;
    ordinary_touch(&w->ordinary);
    return true;
}

static Job job_at(Board *b, const MeasurePlace *p) {
    return (Job){p->kind, place_bytes(b, p), p->size};
}

static bool put(Worker *w, const JobCode *code, LoadedJob *out) {
    *out = (LoadedJob){.calls = 1};
    if (w->device) {
        ArenaMark mark = arena_mark(&w->work.arena);
        out->there = device_bench_load(w->device, &w->work.arena, code->bytes, &out->device);
        arena_release(&w->work.arena, mark);
        return out->there;
    }
    if (provide_scratch(w, code)) out->block = exec_add(w->exec, code->bytes, code->size);
    if (out->block) out->entry = (Kernel *)exec_entry(out->block);
    return out->there = out->block != NULL;
}

static bool load(Worker *w, const Job *job, double patience, LoadedJob *out) {
    JobCode code;
    ArenaMark mark = arena_mark(&w->work.arena);
    *out = (LoadedJob){0};
    bool ok = job_compile(w->m->setup, &w->work, job, patience, &code) && put(w, &code, out);
    arena_release(&w->work.arena, mark);
    return ok;
}

// Loads the code of a compiler process, or compiles the job here.
static bool load_place(Worker *w, MeasurePlace *p, LoadedJob *out) {
    int made = atomic_load(&p->made);
    double begin = thread_clock(), patience = w->board->patience;
    JobCode code = p->code;
    *out = (LoadedJob){0};
    if (made == MADE_DECLINED) return false;
    if (made == MADE_CODE) {
        code.bytes = place_code(w->m, p);
        return put(w, &code, out);
    }
    Job job = job_at(w->board, p);
    // Calls of a device's driver are never cut short: the parent ends a worker that hangs.
    w->armed = w->device ? 0 : 3;
    alarm_set(&w->alarm, p->long_seconds > 0 || w->device ? 0 : w->m->setup->slow_compile);
    bool ok = load(w, &job, p->long_seconds > 0 ? INFINITY : patience, out);
    alarm_set(&w->alarm, 0);
    w->armed = 0;
    p->compile = thread_clock() - begin;
    return ok;
}

static void unload(Worker *w, LoadedJob *k) {
    if (k->block) exec_release(k->block);
    if (w->device && k->there) device_bench_unload(w->device, &k->device);
    *k = (LoadedJob){0};
}

// --- Calls under a time limit --------------------------------------------------------------------

// The trial of one call, complete or not.
static Trial cut_short(TrialState state, double seconds) {
    return (Trial){state, seconds, seconds, seconds, .measured = seconds, .samples = 1};
}

// A call took too long. The first time there may be time left to see whether it ever ends.
static void alarm_rang(void *worker) {
    Worker *w = worker;
    Board *b = w->board;
    if (!w->armed) return;
    if (w->armed == 3) {
        w->at->trial = (Trial){.state = TRIAL_DECLINED};
        atomic_store(&w->at->state, PLACE_DONE);
        child_leave(); // the aborted call leaves inconsistent state
    }
    if (w->armed == 1 && b->leisure >= b->hang) {
        b->leisure -= b->hang;
        w->armed = 2;
        alarm_set(&w->alarm, b->hang - b->cut);
        return;
    }
    bool hung = w->armed == 2;
    w->armed = 0;
    if (w->env.threads > 1) {
        w->at->trial = cut_short(hung ? TRIAL_HUNG : TRIAL_SLOW, hung ? b->hang : b->cut);
        w->at->kernels += w->at->trial.seconds;
        atomic_store(&w->at->state, PLACE_DONE);
        child_leave();
    }
    siglongjmp(w->left, hung ? 2 : 1);
}

// Changes one element by more than rounding.
static void spoil(Operand *x) {
    size_t step = (size_t)type_info[x->type].bytes;
    char *p = x->image.data + x->image.bytes / step / 2 * step;
    Value v = type_load(x->type, p);
    if (type_is_float(x->type))
        type_store(x->type, p, type_convert(x->type, TYPE_F64, (Value){.f = v.f != v.f ? 1 : NAN}));
    else
        *p ^= type_info[x->type].class == CLASS_BOOL ? 1 : 0x40;
}

static void plant(Worker *w, Plant what) {
    Operand *x = &w->operands->at[w->operands->ninputs];
    sigset_t all;
    if (what == PLANT_WRONG && x->image.bytes) spoil(x);
    if (what == PLANT_CRASH) *(volatile char *)x->image.map = 0; // a guard page
    sigfillset(&all);
    if (what == PLANT_STUCK) sigprocmask(SIG_BLOCK, &all, NULL);
    for (volatile int endless = what == PLANT_HANG || what == PLANT_STUCK; endless;) continue;
}

// One call on a data set: its status.
static int call(Worker *w, LoadedJob *k, DataSet set, double *seconds) {
    int status;
    if (!w->device) {
        double start = tick(w);
        status = k->entry(w->operands->buffer[set], w->scratch.data, &w->env);
        *seconds = fmax(tick(w) - start - w->watch.overhead, 1e-9);
        return status;
    }
    status = device_bench_call(w->device, &k->device, set, seconds);
    if (status < 0) child_leave(); // with the device's context
    return status;
}

// The same under the eyes of the parent alone.
static bool first_on_device(Worker *w, LoadedJob *k, MeasurePlace *p, DataSet set, double *seconds,
                            int *status) {
    operands_reset(w->operands, set);
    *status = call(w, k, set, seconds);
    if (p->plant) plant(w, p->plant);
    w->kernels += *seconds;
    return true;
}

// Calls the kernel on results filled with a pattern. False: the call was aborted.
static bool first_call(Worker *w, LoadedJob *k, MeasurePlace *p, DataSet set, double *seconds,
                       int *status) {
    Board *b = w->board;
    if (w->device) return first_on_device(w, k, p, set, seconds, status);
    volatile double start = tick(w);
    operands_reset(w->operands, set);
    int how = sigsetjmp(w->left, 1);
    if (how) {
        *seconds = how == 2 ? b->hang : b->cut;
        w->kernels += *seconds;
        p->trial = cut_short(how == 2 ? TRIAL_HUNG : TRIAL_SLOW, *seconds);
        return false;
    }
    bool cuts = b->cut < b->hang;
    w->armed = cuts ? 1 : 2;
    alarm_set(&w->alarm, cuts ? b->cut : b->hang);
    start = tick(w);
    *status = k->entry(w->operands->buffer[set], w->scratch.data, &w->env);
    if (p->plant) plant(w, p->plant);
    *seconds = fmax(tick(w) - start - w->watch.overhead, 1e-9);
    w->armed = 0;
    alarm_set(&w->alarm, 0);
    w->kernels += *seconds;
    return true;
}

// --- Samples -------------------------------------------------------------------------------------

// Seconds of one call, as if the kernel had run before: another one may have left the caches
// without its operands, as after non-temporal stores. Many calls make up for it, and long ones.
static double sample(Worker *w, LoadedJob *k) {
    if (w->device) {
        double each = device_bench_sample(w->device, &k->device, k->calls);
        if (each <= 0) child_leave();
        w->kernels += each * (double)k->calls;
        return each;
    }
    operands_restore(w->operands);
    if (w->m->setup->cold) operands_empty_caches(w->operands);
    KernelCall call = {k->entry, w->operands->ordinary, w->ordinary.data, &w->env};
    bool first = !w->m->setup->cold && k->calls < MANY_CALLS && k->each < warm_seconds;
    if (first) w->kernels += kernel_sample(&w->watch, &call, 1);
    k->each = kernel_sample(&w->watch, &call, k->calls);
    w->kernels += k->each * (double)k->calls;
    return k->each;
}

// Determines the number of calls per sample; returns the approximate time of one.
static double calibrate_calls(Worker *w, LoadedJob *k, double first) {
    k->calls = 1;
    if (w->device) {
        sample(w, k); // the first runs are slow
        double run = sample(w, k);
        k->calls = device_bench_runs(w->device, run);
        return run;
    }
    if (w->m->setup->cold || first > 10 * sample_length()) return first;
    double once = fmin(first, sample(w, k));
    k->calls = calls_per_sample(once);
    return once;
}

// The absolute times of samples.
static Trial by_samples(double *x, int n) {
    Estimated e = sample_estimate(x, n);
    return (Trial){TRIAL_TIMED, e.median, e.low, e.high, .measured = e.median, .samples = n};
}

// Whether to take another sample: for `seconds`, at least some, but few if they would take longer
// than `most`.
static bool another_sample(int n, double began, double seconds, double most) {
    double spent = measure_clock() - began;
    if (n < SOME_PAIRS) return n < FEW_SAMPLES || spent < fmax(seconds, most);
    return n < MOST_SAMPLES && spent < seconds;
}

static void time_alone(Worker *w, LoadedJob *k, Trial *t) {
    double x[MOST_SAMPLES], began = measure_clock();
    int n = 0;
    while (another_sample(n, began, alone_seconds, long_seconds)) x[n++] = sample(w, k);
    *t = by_samples(x, n);
}

// The time of a candidate from its ratio to the incumbent. Selecting small ratios introduces a
// bias: their product would drift below any measured time. So a significantly better candidate gets
// its measured time, or just less than the incumbent's in a slow phase; any other candidate is no
// better.
static Trial by_ratio(const Worker *w, Estimated ratio, double *seen, int n) {
    double best = w->board->best;
    Trial t = by_samples(seen, n);
    t.ratio = ratio.median;
    t.seconds = best * fmax(ratio.median, 1);
    if (ratio.high < 1) t.seconds = fmin(t.measured, best * just_better);
    return t;
}

// Alternates with the incumbent until the result is clear.
static void time_in_turn(Worker *w, LoadedJob *k, Trial *t) {
    double ratio[MANY_PAIRS], sorted[MANY_PAIRS], seen[MANY_PAIRS];
    Estimated e = {0};
    int n = 0;
    bool slow = false, clear = false;
    double most = w->m->setup->trial_seconds, began = measure_clock();
    while (n < MANY_PAIRS && !clear) {
        double first = sample(w, n % 2 ? k : &w->incumbent);
        double second = sample(w, n % 2 ? &w->incumbent : k);
        seen[n] = n % 2 ? first : second;
        ratio[n] = n % 2 ? first / second : second / first;
        memcpy(sorted, ratio, (size_t)++n * sizeof *ratio);
        e = sample_estimate(sorted, n);
        slow = e.median > (k->calls > 1 ? hopeless : hopeless_call) ||
               (n >= 2 && e.low > loses_two) || (n >= 3 && e.low > loses_three) ||
               (n == 3 && k->calls == 1 && e.high > 1);
        bool doubtful = e.median > better || sorted[n - 1 - n / 5] > 1;
        clear = slow || (n >= 3 && e.high < much_better) ||
                (n >= SOME_PAIRS && (doubtful || e.high < 1)) ||
                (n >= FEW_SAMPLES && most > 0 && measure_clock() - began > most);
    }
    *t = by_ratio(w, e, seen, n);
    if (slow && n < SOME_PAIRS) t->state = TRIAL_SLOW;
}

// --- A candidate ---------------------------------------------------------------------------------

static void become_incumbent(Worker *w, LoadedJob *k, const MeasurePlace *p) {
    Board *b = w->board;
    if (p != &b->incumbent) {
        b->incumbent.size = 0; // readers see none meanwhile
        b->incumbent.kind = p->kind;
        memcpy(place_bytes(b, &b->incumbent), place_bytes(b, p), p->size);
        b->incumbent.size = p->size;
        b->best = p->trial.seconds;
        b->first = p->first;
        b->serial++;
    }
    unload(w, &w->incumbent);
    w->incumbent = *k;
    w->serial = b->serial;
    *k = (LoadedJob){0};
}

// Compiles another worker's best again; it has already been checked.
static void load_incumbent(Worker *w) {
    Board *b = w->board;
    LoadedJob k;
    if (w->incumbent.there && w->serial == b->serial) return;
    unload(w, &w->incumbent);
    if (!b->incumbent.size || !(b->best < INFINITY)) return;
    Job job = job_at(b, &b->incumbent);
    if (!load(w, &job, INFINITY, &k)) return;
    double first;
    if (w->device) call(w, &k, DATA_WHOLE, &first); // the emulator's estimate comes from a run
    first = sample(w, &k);
    calibrate_calls(w, &k, first);
    if (b->first <= 0) {
        operands_reset(w->operands, DATA_WHOLE);
        call(w, &k, DATA_WHOLE, &b->first);
    }
    become_incumbent(w, &k, &b->incumbent);
}

static void time_candidate(Worker *w, LoadedJob *k, MeasurePlace *p, double first) {
    Board *b = w->board;
    Trial *t = &p->trial;
    double once = calibrate_calls(w, k, first);
    bool in_turn = w->incumbent.there;
    // One call that is much shorter than a sample is a poor estimate.
    double limit = k->calls > 1 ? 4 * hopeless * b->best : hopeless_call * fmax(b->best, b->first);
    if (in_turn && once > limit)
        *t = cut_short(TRIAL_SLOW, once);
    else if (in_turn)
        time_in_turn(w, k, t);
    else
        time_alone(w, k, t);
    if (t->state == TRIAL_TIMED && t->seconds < b->best) become_incumbent(w, k, p);
}

// Loads a candidate, calls it once on each data set and compares. False: p->trial says why it is
// not timed.
static bool check_candidate(Worker *w, MeasurePlace *p, LoadedJob *k, double *seconds) {
    int status;
    bool ok = load_place(w, p, k);
    p->trial = (Trial){.state = TRIAL_DECLINED};
    p->first = 0;
    for (DataSet set = DATA_WHOLE; ok && (int)set < w->board->checks; set++) {
        if (!first_call(w, k, p, set, seconds, &status)) return false;
        p->trial.state = TRIAL_WRONG;
        p->first = fmax(p->first, *seconds);
        ok = status == KERNEL_OK && operands_agree(w->operands, set);
        if (!ok) p->difference = operands_difference(w->operands, set);
    }
    return ok;
}

static void try_candidate(Worker *w, MeasurePlace *p) {
    LoadedJob k;
    double seconds;
    if (check_candidate(w, p, &k, &seconds)) time_candidate(w, &k, p, seconds);
    unload(w, &k);
}

static void enter(Worker *w, MeasurePlace *p) {
    w->kernels = 0;
    p->started = measure_clock();
    w->at = p;
    atomic_store(&p->state, PLACE_WORKING);
}

static void leave(Worker *w, MeasurePlace *p, PlaceState state) {
    p->kernels += w->kernels;
    atomic_store(&p->state, state);
    if (state == PLACE_DONE && p->trial.state == TRIAL_WRONG)
        child_leave(); // it may have overwritten other memory
}

// The time of one of several alternating kernels: the median ratio of its samples to another one's,
// times that one's median. Sorts `x`.
static Trial by_turns(double *x, const double *other, int n) {
    double ratio[MOST_SAMPLES], sorted[MOST_SAMPLES];
    for (int i = 0; i < n; i++) ratio[i] = x[i] / other[i];
    memcpy(sorted, other, (size_t)n * sizeof *sorted);
    double seconds = sample_estimate(ratio, n).median * sample_estimate(sorted, n).median;
    Trial t = by_samples(x, n);
    t.seconds = seconds;
    t.low = fmin(t.low, seconds);
    t.high = fmax(t.high, seconds);
    return t;
}

// Times all jobs of the board alternately, so that slow phases affect them equally.
static void time_together(Worker *w, double seconds) {
    Board *b = w->board;
    LoadedJob k[MEASURE_TOGETHER] = {0};
    double x[MEASURE_TOGETHER][MOST_SAMPLES], first;
    int n = 0;
    for (int i = 0; i < b->count; i++) {
        MeasurePlace *p = &b->place[i];
        if (atomic_load(&p->state) != PLACE_WAITING) continue;
        enter(w, p);
        bool right = check_candidate(w, p, &k[i], &first);
        if (right) calibrate_calls(w, &k[i], first);
        if (!right) unload(w, &k[i]);
        leave(w, p, right ? PLACE_WAITING : PLACE_DONE);
    }
    double began = measure_clock();
    for (; another_sample(n, began, seconds, 3 * seconds); n++)
        for (int i = 0; i < b->count; i++) {
            int at = (i + n) % b->count;
            if (!k[at].there) continue;
            enter(w, &b->place[at]);
            x[at][n] = sample(w, &k[at]);
            leave(w, &b->place[at], PLACE_WAITING);
        }
    int other = 0;
    while (other < b->count && !k[other].there) other++;
    for (int i = b->count - 1; i >= other; i--) {
        if (!k[i].there) continue;
        b->place[i].trial = by_turns(x[i], x[other], n);
        atomic_store(&b->place[i].state, PLACE_DONE);
        unload(w, &k[i]);
    }
}

// --- The reference -------------------------------------------------------------------------------

typedef struct InterpretCall {
    Worker *w;
    DataSet set;
    bool ok;
} InterpretCall;

static void interpret_body(void *arg) {
    InterpretCall *c = arg;
    const Program *p = c->w->m->setup->program;
    Operands *o = c->w->operands;
    DiagList diags = {.arena = &c->w->work.arena};
    View *views = arena_new_n(&c->w->work.arena, View, o->n);
    for (int i = 0; i < o->n; i++) {
        views[i] = o->at[i].view;
        views[i].data = o->buffer[c->set][i];
    }
    c->ok = program_interpret(&c->w->work.arena, p, views, (InterpFlags){0}, &diags);
}

static bool interpret(Worker *w, DataSet set) {
    InterpretCall c = {.w = w, .set = set};
    ArenaMark mark = arena_mark(&w->work.arena);
    operands_reset(w->operands, set);
    bool ok = arena_try(&w->work.arena, interpret_body, &c) && c.ok;
    arena_release(&w->work.arena, mark);
    if (ok) operands_expect(w->operands, set);
    return ok;
}

static bool run_once(Worker *w, DataSet set, JobKind kind) {
    LoadedJob k;
    Job job = {kind, "", 1};
    if (!load(w, &job, INFINITY, &k)) return false;
    operands_reset(w->operands, set);
    double seconds;
    bool ok = call(w, &k, set, &seconds) == KERNEL_OK;
    unload(w, &k);
    return ok;
}

// Whether two kernels compiled in different ways agree.
static bool cross_check(Worker *w, DataSet set, JobKind one) {
    if (!run_once(w, set, one)) return false;
    operands_expect(w->operands, set);
    return run_once(w, set, JOB_CHOSEN) && operands_agree(w->operands, set);
}

// Least iterations per second of the interpreter and of naive code, and most of plain code.
static const double interpreted = 30e6, naive = 400e6, plain = 8e9;

// Whether the interpreter is to compute the reference. Code for the emulator is slower than it.
static bool is_small(const MeasureSetup *s) {
    bool emulated = s->device && strcmp(s->device, "emulate") == 0;
    return emulated || (double)s->instances <= interpreted * s->reference_seconds;
}

double measure_reference_time(const MeasureSetup *s) {
    double instances = (double)s->instances;
    bool small = is_small(s), medium = instances <= naive * s->reference_seconds;
    return instances / (small ? interpreted : medium ? naive : plain);
}

static int reference_on(Worker *w, DataSet set, bool interpreter) {
    const MeasureSetup *s = w->m->setup;
    double instances = (double)s->instances;
    bool small = interpreter || is_small(s);
    bool medium = instances <= naive * s->reference_seconds;
    bool bearable = instances <= interpreted * s->reference_limit;
    if (!small && cross_check(w, set, medium ? JOB_TEXT : JOB_PLAIN))
        return medium ? REFERENCE_NAIVE : REFERENCE_PLAIN;
    return bearable && interpret(w, set) ? REFERENCE_INTERPRETER : REFERENCE_NONE;
}

// Also on floats, if the integers leave little to compare.
static void compute_reference(Worker *w, bool interpreter) {
    Board *b = w->board;
    Operands *o = w->operands;
    int how = reference_on(w, DATA_WHOLE, interpreter);
    b->checks = 1;
    if (how && o->real && operands_vague(o, DATA_WHOLE))
        b->checks += reference_on(w, DATA_REAL, how == REFERENCE_INTERPRETER) != REFERENCE_NONE;
    atomic_store(&b->reference, how);
}

// --- Serving -------------------------------------------------------------------------------------

static bool open_worker(Worker *w) {
    const MeasureSetup *s = w->m->setup;
    workshop_open(&w->work);
    if (s->device) {
        DeviceError e = {0};
        w->device = device_bench_open(s->program->arena, s->device, w->operands, &e);
        if (!w->device) memcpy(w->board->trouble, e.text, sizeof w->board->trouble);
        w->board->trouble[sizeof w->board->trouble - 1] = 0;
        if (!w->device) return false;
    }
    w->exec = exec_arena_new();
    if (!w->exec) return false;
    if (!s->device) child_pin(w->m->processor);
    w->env = (KernelEnv){.threads = 1, .apply = s->apply};
    if (s->threads > 1 && (w->pool = pool_new(s->threads)))
        w->env = (KernelEnv){.threads = s->threads,
                             .apply = s->apply,
                             .parallel_for = pool_parallel_for,
                             .user = w->pool};
    alarm_open(&w->alarm, w->env.threads > 1, alarm_rang, w);
    w->watch = stopwatch_new(w->env.threads);
    operands_touch(w->operands);
    return true;
}

// The next compiled job, or one that no compiler has taken. NULL: there is neither; *more: there
// will be.
static MeasurePlace *next_place(Board *b, bool *more) {
    MeasurePlace *free = NULL;
    *more = false;
    for (int i = 0; i < b->count; i++) {
        MeasurePlace *p = &b->place[i];
        if (atomic_load(&p->state) != PLACE_WAITING) continue;
        int made = atomic_load(&p->made);
        if (made != MADE_NOT && made < MADE_TAKEN) return p;
        if (made == MADE_NOT && !free) free = p;
        *more = true;
    }
    int none = MADE_NOT;
    bool taken = free && atomic_compare_exchange_strong(&free->made, &none, MADE_BY_WORKER);
    return taken ? free : NULL;
}

static void serve_board(Worker *w) {
    Board *b = w->board;
    MeasurePlace *p;
    if (b->count && b->place[0].long_seconds > 0) {
        time_together(w, b->place[0].long_seconds);
        return;
    }
    load_incumbent(w);
    for (bool more; (p = next_place(b, &more)) || more;) {
        if (!p) {
            sched_yield();
            continue;
        }
        enter(w, p);
        try_candidate(w, p);
        leave(w, p, PLACE_DONE);
    }
}

void worker_main(void *arg, int in, int out) {
    Worker w = {.m = arg};
    char what;
    w.board = w.m->board;
    w.operands = &w.m->operands;
    if (!open_worker(&w)) return;
    const Arena *pool = w.m->setup->program->arena;
    size_t fresh = pool->reserved;
    while (pipe_hear(in, &what)) {
        if (what == 'r' || what == 'i') compute_reference(&w, what == 'i');
        if (what == 'g') serve_board(&w);
        bool worn = pool->reserved + w.work.arena.reserved > fresh + WORN_OUT;
        if (!pipe_say(out, worn ? 'x' : 'd')) return;
    }
}
