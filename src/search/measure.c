// The parent's side: puts jobs on the board; starts, watches and replaces workers.
#include "search/measure_impl.h"

#include "base/bug.h"

#include <math.h>
#include <string.h>

// A call is cut short at `slow` times the incumbent, but not before `least_cut`, or `leave_cut` if
// this ends the worker because other threads cannot be stopped; the fraction `leisure` of the time
// spent in kernels may be used for telling slow calls from endless ones.
static const double slow = 3, least_cut = 2e-4, leave_cut = 2e-3, leisure = 0.05,
                    first_leisure = 0.15;
// Seconds after which a call counts as hung: per statement iteration, with limits.
static const double instance_limit = 30e-9, least_hang = 0.1, most_hang = 60;

// A candidate that takes `lengthy` times as long to compile as those that were worth timing is
// abandoned: it is usually excessively unrolled code.
static const double lengthy = 3, least_patience = 3e-4;

enum { MOST_RESTARTS = 4 }; // consecutive restarts without progress

const MeasureTally *measure_tally(const Measure *m) { return &m->tally; }
const Operands *measure_operands(const Measure *m) { return &m->operands; }

const char *measure_reference(const Measure *m) {
    static const char *const name[] = {"none", "the interpreter", "naive code", "plain code"};
    return name[atomic_load(&m->board->reference)];
}

bool measure_blank(Measure *m, int result) {
    return operands_blank(&m->operands, result, m->board->checks);
}

// --- Workers -------------------------------------------------------------------------------------

static bool start_worker(Measure *m) {
    if (m->child.pid) return true;
    m->tally.restarts++;
    return child_start(&m->child, worker_main, m);
}

bool measure_cancelled(const Measure *m) {
    return m->setup->cancelled && m->setup->cancelled(m->setup->cancel_user);
}

typedef enum Served { SERVED, SERVED_DIED, SERVED_HUNG, SERVED_CANCELLED } Served;

// The current place of a worker; NULL: none.
static MeasurePlace *working(Measure *m) {
    for (int i = 0; i < m->board->count; i++)
        if (atomic_load(&m->board->place[i].state) == PLACE_WORKING) return &m->board->place[i];
    return NULL;
}

static int done(const Measure *m) {
    int n = 0;
    for (int i = 0; i < m->board->count; i++)
        n += atomic_load(&m->board->place[i].state) == PLACE_DONE;
    return n;
}

// Waits until the worker is done or must be replaced. `limit` is the time limit for any progress.
static Served wait_for(Measure *m, double limit) {
    double begin = measure_clock();
    for (int before = 0;;) {
        char what = 0;
        ChildSaid said = child_hear(&m->child, HEARTBEAT_MS * 1e-3, &what);
        if (said == CHILD_SAID) {
            if (what == 'x') child_end(&m->child);
            return SERVED;
        }
        if (said == CHILD_DIED) return SERVED_DIED;
        if (measure_cancelled(m)) return SERVED_CANCELLED;
        compilers_watch(m);
        MeasurePlace *p = working(m);
        double now = measure_clock();
        if (done(m) > before) before = done(m), begin = now;
        if (p ? now - p->started > p->limit : now - begin > limit) return SERVED_HUNG;
    }
}

static void drop_incumbent(Board *b) {
    b->incumbent.size = 0;
    b->serial++;
}

// --- Batches -------------------------------------------------------------------------------------

static void post(Measure *m, int i, const Job *job, double long_seconds) {
    Board *b = m->board;
    MeasurePlace *p = &b->place[i];
    require(job->size <= b->room);
    bool counted = long_seconds <= 0 && m->setup->plant;
    *p = (MeasurePlace){.kind = job->kind,
                        .size = job->size,
                        .long_seconds = long_seconds,
                        .limit = 4 * b->hang + m->setup->compile_seconds + long_seconds};
    if (counted) p->plant = m->setup->plant(m->setup->user, m->numbered++);
    memcpy(place_bytes(b, p), job->bytes, job->size);
}

static void settle_rest(Measure *m, TrialState state) {
    for (int i = 0; i < m->board->count; i++) {
        MeasurePlace *p = &m->board->place[i];
        if (atomic_load(&p->state) == PLACE_DONE) continue;
        p->trial = (Trial){.state = state};
        atomic_store(&p->state, PLACE_DONE);
    }
}

// The worker died or must be killed: blames its current candidate.
static void blame(Measure *m, Served how) {
    MeasurePlace *p = working(m);
    child_end(&m->child);
    if (!p) return;
    p->trial = (Trial){.state = how == SERVED_HUNG ? TRIAL_HUNG : TRIAL_CRASHED};
    atomic_store(&p->state, PLACE_DONE);
}

// Starts compilers and a worker on the jobs of the board.
static void begin(Measure *m) {
    if (m->board->place[0].long_seconds <= 0) compilers_tell(m);
    if (m->setup->threads > 1 && !compilers_wait(m)) return;
    m->going = start_worker(m) && child_tell(&m->child, 'g');
}

// Lets workers process all jobs of the board.
static void serve(Measure *m) {
    Board *b = m->board;
    double limit = m->setup->compile_seconds + 4 * b->hang;
    for (int idle = 0; (m->going || done(m) < b->count) && !measure_cancelled(m);) {
        int before = done(m);
        Served how = SERVED_DIED;
        if (idle == MOST_RESTARTS / 2) drop_incumbent(b); // it may be the cause
        if (idle >= MOST_RESTARTS || !start_worker(m)) break;
        if (m->going || child_tell(&m->child, 'g')) how = wait_for(m, limit);
        m->going = false;
        if (how == SERVED_CANCELLED) {
            child_end(&m->child);
            break;
        }
        if (how != SERVED) blame(m, how);
        idle = done(m) > before ? 0 : idle + 1;
    }
    if (m->going) child_end(&m->child);
    m->going = false;
    compilers_wait(m);
    settle_rest(m, TRIAL_CANCELLED);
}

static void account(Measure *m, const MeasurePlace *p) {
    m->tally.kernels += p->kernels;
    m->tally.compile += p->compile;
    if (p->trial.state == TRIAL_TIMED) m->compiled += p->compile, m->ncompiled++;
    m->board->leisure += leisure * p->kernels;
}

void measure_begin(Measure *m, const Job *jobs, int n, double best) {
    Board *b = m->board;
    m->began = measure_clock();
    require(n <= BOARD_JOBS);
    double least = m->setup->threads > 1 ? leave_cut : least_cut;
    b->cut = best < INFINITY ? fmax(least, slow * fmax(best, b->first)) : INFINITY;
    b->best = best;
    if (!(best < INFINITY)) drop_incumbent(b);
    b->patience = INFINITY;
    if (m->ncompiled)
        b->patience = fmax(least_patience, lengthy * m->compiled / (double)m->ncompiled);
    b->count = n;
    for (int i = 0; i < n; i++) post(m, i, &jobs[i], 0);
    begin(m);
}

void measure_end(Measure *m, Trial *out) {
    Board *b = m->board;
    serve(m);
    for (int i = 0; i < b->count; i++) {
        out[i] = b->place[i].trial;
        account(m, &b->place[i]);
    }
    m->tally.trials += b->count;
    m->tally.waited += measure_clock() - m->began;
}

void measure_batch(Measure *m, const Job *jobs, int n, double best, Trial *out) {
    for (int from = 0; from < n; from += BOARD_JOBS) {
        int some = n - from < BOARD_JOBS ? n - from : BOARD_JOBS;
        measure_begin(m, jobs + from, some, best);
        measure_end(m, out + from);
    }
}

void measure_again(Measure *m, const Job *jobs, int n, double seconds, Trial *out) {
    Board *b = m->board;
    m->began = measure_clock();
    child_end(&m->child);
    b->cut = b->best = INFINITY;
    drop_incumbent(b);
    require(n <= MEASURE_TOGETHER);
    b->count = n;
    b->patience = INFINITY;
    for (int i = 0; i < n; i++) post(m, i, &jobs[i], seconds);
    begin(m);
    serve(m);
    for (int i = 0; i < n; i++) {
        out[i] = b->place[i].trial;
        account(m, &b->place[i]);
    }
    m->tally.waited += measure_clock() - m->began;
}

const Difference *measure_difference(const Measure *m, int job) {
    return &m->board->place[job].difference;
}

size_t measure_room(const Measure *m) { return m->board->room; }

void measure_incumbent(Measure *m, const Job *job, double seconds) {
    Board *b = m->board;
    MeasurePlace *p = &b->incumbent;
    require(job->size <= b->room);
    b->best = seconds;
    if (p->size == job->size && p->kind == job->kind &&
        !memcmp(place_bytes(b, p), job->bytes, job->size))
        return;
    p->kind = job->kind;
    p->size = job->size;
    memcpy(place_bytes(b, p), job->bytes, job->size);
    b->first = 0;
    b->serial++;
}

// --- Opening and closing -------------------------------------------------------------------------

static bool make_board(Measure *m) {
    size_t room = (m->setup->most_bytes + 63) / 64 * 64 + 64;
    if (!guarded_new(&m->memory, sizeof(Board) + (BOARD_JOBS + 1) * room, true)) return false;
    if (m->setup->compilers && !guarded_new(&m->codes, BOARD_JOBS * CODE_ROOM, true)) return false;
    m->board = (Board *)m->memory.data;
    m->board->room = room;
    m->board->best = INFINITY;
    m->board->leisure = first_leisure;
    double hang = least_hang + instance_limit * (double)m->setup->instances;
    m->board->hang = fmin(hang, most_hang);
    return true;
}

// If a worker dies while running the reference kernels, the next one uses the interpreter.
static MeasureFault have_reference(Measure *m) {
    double until = measure_clock() + m->setup->reference_limit;
    Served how = SERVED_DIED;
    for (int i = 0; i < 2 && how == SERVED_DIED; i++) {
        if (!start_worker(m)) return MEASURE_NO_PROCESS;
        if (child_tell(&m->child, i ? 'i' : 'r')) how = wait_for(m, until - measure_clock());
        if (how != SERVED) child_end(&m->child);
    }
    if (how == SERVED_CANCELLED) return MEASURE_CANCELLED;
    if (m->board->trouble[0]) return MEASURE_NO_DEVICE;
    bool found = how == SERVED && atomic_load(&m->board->reference) != REFERENCE_NONE;
    return found ? MEASURE_OK : MEASURE_NO_REFERENCE;
}

Measure *measure_open(Arena *arena, const MeasureSetup *setup, MeasureFault *fault) {
    return measure_open_device(arena, setup, fault, NULL);
}

Measure *measure_open_device(Arena *arena, const MeasureSetup *setup, MeasureFault *fault,
                             char *why) {
    Measure *m = arena_new(arena, Measure);
    m->setup = setup;
    m->processor = setup->threads > 1 || setup->device ? -1 : nth_processor(setup->processor);
    *fault = MEASURE_NO_MEMORY;
    if (operands_make(&m->operands, arena, setup->program, setup->views, setup->ranges,
                      setup->seed) &&
        make_board(m))
        *fault = have_reference(m);
    if (*fault == MEASURE_OK) {
        m->avoided = setup->compilers && child_avoid(m->processor);
        return m;
    }
    if (why && m->board) memcpy(why, m->board->trouble, MEASURE_TROUBLE);
    measure_close(m);
    return NULL;
}

void measure_close(Measure *m) {
    if (!m) return;
    child_end(&m->child);
    compilers_end(m);
    operands_free(&m->operands);
    guarded_free(&m->memory);
    guarded_free(&m->codes);
    if (m->avoided) child_rejoin(m->processor);
}
