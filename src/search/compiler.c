// Compiler processes: they compile the jobs of a board on the processors that the worker does not
// use for timing. A place's `made` assigns its job; a compiler process that dies loses its job.
#include "search/measure_impl.h"

#include "run/timing.h"

#include <math.h>
#include <string.h>

typedef struct JobCompileCall {
    const MeasureSetup *setup;
    Arena *work;
    const Job *job;
    JobCode *code;
    bool ok;
} JobCompileCall;

static void compile_body(void *arg) {
    JobCompileCall *c = arg;
    c->ok = c->setup->compile(c->setup->user, c->work, c->job, c->code);
}

enum { CHUNK = 64 * 1024 };

static void *workshop_alloc(void *workshop, size_t size) {
    Workshop *w = workshop;
    void *chunk = w->kept;
    if (w->until < INFINITY && thread_clock() > w->until) return NULL;
    if (size != CHUNK || !chunk) return allocator_libc.alloc(NULL, size);
    memcpy(&w->kept, chunk, sizeof w->kept);
    return chunk;
}

static void workshop_free(void *workshop, void *chunk, size_t size) {
    Workshop *w = workshop;
    if (size != CHUNK) {
        allocator_libc.free(NULL, chunk, size);
        return;
    }
    memcpy(chunk, &w->kept, sizeof w->kept);
    w->kept = chunk;
}

void workshop_open(Workshop *w) {
    *w = (Workshop){.until = INFINITY};
    w->allocator = (Allocator){workshop_alloc, workshop_free, w, CHUNK};
    arena_init(&w->arena, &w->allocator);
}

bool job_compile(const MeasureSetup *setup, Workshop *w, const Job *job, double patience,
                 JobCode *out) {
    JobCompileCall c = {setup, &w->arena, job, out, false};
    if (patience < INFINITY) w->until = thread_clock() + patience;
    bool ok = arena_try(&w->arena, compile_body, &c) && c.ok;
    w->until = INFINITY;
    return ok;
}

// The pools of an aborted compilation must not be used again: the process exits.
static void took_too_long(void *place) {
    MeasurePlace *p = *(MeasurePlace *volatile *)place;
    atomic_store(&p->made, MADE_DECLINED);
    child_leave();
}

static void make(Measure *m, Workshop *w, MeasurePlace *p) {
    Board *b = m->board;
    Job job = {p->kind, place_bytes(b, p), p->size};
    JobCode code;
    ArenaMark mark = arena_mark(&w->arena);
    p->started = measure_clock();
    double begin = thread_clock();
    bool ok = job_compile(m->setup, w, &job, b->patience, &code),
         fits = ok && code.size <= CODE_ROOM;
    if (fits) {
        memcpy(place_code(m, p), code.bytes, code.size);
        p->code = (JobCode){NULL, code.size, code.scratch, code.thread_scratch};
    }
    arena_release(&w->arena, mark);
    p->compile = thread_clock() - begin;
    atomic_store(&p->made, fits ? MADE_CODE : ok ? MADE_TOO_LARGE : MADE_DECLINED);
}

void compiler_main(void *arg, int in, int out) {
    Measure *m = arg;
    Board *b = m->board;
    Workshop work;
    char what;
    MeasurePlace *volatile at = NULL;
    Alarm alarm;
    int me = m->starting;
    const Arena *pool = m->setup->program->arena;
    size_t fresh = pool->reserved;
    workshop_open(&work);
    child_avoid(m->processor);
    alarm_open(&alarm, false, took_too_long, (void *)&at);
    while (pipe_hear(in, &what)) {
        for (int i = 0; i < b->count; i++) {
            int none = MADE_NOT;
            MeasurePlace *p = &b->place[i];
            if (!atomic_compare_exchange_strong(&p->made, &none, MADE_TAKEN + me)) continue;
            at = p;
            alarm_set(&alarm, m->setup->slow_compile);
            make(m, &work, p);
            alarm_set(&alarm, 0);
        }
        bool worn = pool->reserved + work.arena.reserved > fresh + WORN_OUT;
        if (!pipe_say(out, worn ? 'x' : 'd')) return;
    }
}

// --- The parent's side ---------------------------------------------------------------------------

static void give_up(Measure *m, int compiler, TrialState state) {
    child_end(&m->compiler[compiler]);
    for (int i = 0; i < m->board->count; i++) {
        MeasurePlace *p = &m->board->place[i];
        if (atomic_load(&p->made) != MADE_TAKEN + compiler) continue;
        p->trial = (Trial){.state = state};
        atomic_store(&p->state, PLACE_DONE);
    }
}

static bool overdue(const Measure *m, int compiler) {
    for (int i = 0; i < m->board->count; i++) {
        const MeasurePlace *p = &m->board->place[i];
        if (atomic_load(&p->made) == MADE_TAKEN + compiler && p->started > 0)
            return measure_clock() - p->started > m->setup->compile_seconds;
    }
    return false;
}

// Handles its message within `seconds`; returns whether to keep waiting for it.
static bool hear(Measure *m, int i, double seconds) {
    char what = 0;
    ChildSaid said = child_hear(&m->compiler[i], seconds, &what);
    if (said == CHILD_SAID && what == 'x') child_end(&m->compiler[i]);
    if (said == CHILD_DIED) give_up(m, i, TRIAL_CRASHED);
    if (said == CHILD_SILENT && overdue(m, i)) give_up(m, i, TRIAL_HUNG), said = CHILD_DIED;
    return m->told[i] = said == CHILD_SILENT;
}

// The worker compiles jobs that are left over.
void compilers_tell(Measure *m) {
    int n = m->setup->compilers < MOST_COMPILERS ? m->setup->compilers : MOST_COMPILERS;
    if (m->board->count < 2) return;
    for (int i = 0; i < n; i++) {
        m->starting = i;
        if (!m->compiler[i].pid && !child_start(&m->compiler[i], compiler_main, m)) continue;
        m->told[i] = child_tell(&m->compiler[i], 'c');
        if (!m->told[i]) child_end(&m->compiler[i]);
    }
}

void compilers_watch(Measure *m) {
    for (int i = 0; i < MOST_COMPILERS; i++)
        if (m->told[i]) hear(m, i, 0);
}

bool compilers_wait(Measure *m) {
    for (int i = 0; i < MOST_COMPILERS; i++)
        while (m->told[i] && hear(m, i, HEARTBEAT_MS * 1e-3))
            if (measure_cancelled(m)) return compilers_end(m), false;
    return true;
}

void compilers_end(Measure *m) {
    for (int i = 0; i < MOST_COMPILERS; i++) {
        child_end(&m->compiler[i]);
        m->told[i] = false;
    }
}
