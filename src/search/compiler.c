// Compilers: processes that turn the jobs of a board into code, all processors at once, before the
// worker times them one after the other with nobody else about. Which job is whose is settled by
// the place's `made`; a compiler that dies costs the job it had taken.
#include "search/measure_impl.h"

#include <string.h>

typedef struct CompileCall {
    const MeasureSetup *setup;
    Arena *work;
    const Job *job;
    JobCode *code;
    bool ok;
} CompileCall;

static void compile_body(void *arg) {
    CompileCall *c = arg;
    c->ok = c->setup->compile(c->setup->user, c->work, c->job, c->code);
}

bool job_compile(const MeasureSetup *setup, Arena *work, const Job *job, JobCode *out) {
    CompileCall c = {setup, work, job, out, false};
    return arena_try(work, compile_body, &c) && c.ok;
}

// The pools of a compilation that is left in the middle are not to be used again: the process goes.
static void took_too_long(void *place) {
    Place *p = *(Place *volatile *)place;
    atomic_store(&p->made, MADE_DECLINED);
    child_leave();
}

static void make(Measure *m, Arena *work, Place *p) {
    Board *b = m->board;
    Job job = {p->kind, place_bytes(b, p), p->size};
    JobCode code;
    ArenaMark mark = arena_mark(work);
    p->started = measure_clock();
    bool ok = job_compile(m->setup, work, &job, &code), fits = ok && code.size <= CODE_ROOM;
    if (fits) {
        memcpy(place_code(m, p), code.bytes, code.size);
        p->code = (JobCode){NULL, code.size, code.scratch, code.thread_scratch};
    }
    arena_release(work, mark);
    p->compile = measure_clock() - p->started;
    atomic_store(&p->made, fits ? MADE_CODE : ok ? MADE_TOO_LARGE : MADE_DECLINED);
}

void compiler_main(void *arg, int in, int out) {
    Measure *m = arg;
    Board *b = m->board;
    Arena work;
    char what;
    Place *volatile at = NULL;
    Alarm alarm;
    int me = m->starting;
    const Arena *pool = m->setup->program->arena;
    size_t fresh = pool->reserved;
    arena_init(&work, &allocator_libc);
    alarm_open(&alarm, false, took_too_long, (void *)&at);
    while (pipe_hear(in, &what)) {
        for (int i = 0; i < b->count; i++) {
            int none = MADE_NOT;
            Place *p = &b->place[i];
            if (!atomic_compare_exchange_strong(&p->made, &none, MADE_TAKEN + me)) continue;
            at = p;
            alarm_set(&alarm, m->setup->slow_compile);
            make(m, &work, p);
            alarm_set(&alarm, 0);
        }
        bool worn = pool->reserved + work.reserved > fresh + WORN_OUT;
        if (!pipe_say(out, worn ? 'x' : 'd')) return;
    }
}

// --- The parent's side ---------------------------------------------------------------------------

static void give_up(Measure *m, int compiler, TrialState state) {
    child_end(&m->compiler[compiler]);
    for (int i = 0; i < m->board->count; i++) {
        Place *p = &m->board->place[i];
        if (atomic_load(&p->made) != MADE_TAKEN + compiler) continue;
        p->trial = (Trial){.state = state};
        atomic_store(&p->state, PLACE_DONE);
    }
}

static bool overdue(const Measure *m, int compiler) {
    for (int i = 0; i < m->board->count; i++) {
        const Place *p = &m->board->place[i];
        if (atomic_load(&p->made) == MADE_TAKEN + compiler && p->started > 0)
            return measure_clock() - p->started > m->setup->compile_seconds;
    }
    return false;
}

// Until it is done; false: cancelled.
static bool wait_for_compiler(Measure *m, int i) {
    for (;;) {
        char what = 0;
        ChildSaid said = child_hear(&m->compiler[i], HEARTBEAT_MS * 1e-3, &what);
        if (said == CHILD_SAID && what == 'x') child_end(&m->compiler[i]);
        if (said == CHILD_SAID) return true;
        if (said == CHILD_DIED) return give_up(m, i, TRIAL_CRASHED), true;
        if (measure_cancelled(m)) return false;
        if (overdue(m, i)) return give_up(m, i, TRIAL_HUNG), true;
    }
}

// What is not made in the end the worker makes by itself.
bool compilers_run(Measure *m) {
    bool told[MOST_COMPILERS] = {false}, ok = true;
    int n = m->setup->compilers < MOST_COMPILERS ? m->setup->compilers : MOST_COMPILERS;
    if (m->board->count < 2) return true;
    for (int i = 0; i < n; i++) {
        m->starting = i;
        if (!m->compiler[i].pid && !child_start(&m->compiler[i], compiler_main, m)) continue;
        told[i] = child_tell(&m->compiler[i], 'c');
        if (!told[i]) child_end(&m->compiler[i]);
    }
    for (int i = 0; i < n && ok; i++)
        if (told[i]) ok = wait_for_compiler(m, i);
    if (!ok) compilers_end(m);
    return ok;
}

void compilers_end(Measure *m) {
    for (int i = 0; i < MOST_COMPILERS; i++) child_end(&m->compiler[i]);
}
