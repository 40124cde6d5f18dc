#include "search/remote.h"

#include "base/bug.h"

#include <math.h>
#include <string.h>
#include <time.h>

// Seconds of silence after which a rank, or process 0 and with it the search, counts as lost.
static const double rank_silent = 3, leader_silent = 5;

typedef enum MessageKind { MESSAGE_HELLO, MESSAGE_JOB, MESSAGE_TRIAL, MESSAGE_END } MessageKind;

typedef struct Message {
    int64_t tuning; // its number: messages of an earlier tuning are ignored
    MessageKind kind;
    int job; // of the batch
    int64_t batch;
    uint64_t hash; // of a hello
    JobKind job_kind, incumbent_kind;
    size_t size, incumbent_size; // of the data that follow
    double best;
    Trial trial;
    double kernels, compile;
    int lost; // in an end message: a lost rank; 0: none
} Message;

typedef struct Rank {
    bool ready; // said hello with our Space
    int job;    // its current job; -1: none
} Rank;

struct Remote {
    const Messenger *messenger;
    Measure *m;
    int rank, count;
    int64_t number, batch;
    uint64_t hash;
    Rank *ranks;
    char *buffer;
    size_t room;
    RemoteTally tally;
    int lost; // a lost rank; 0: none
};

const RemoteTally *remote_tally(const Remote *r) { return &r->tally; }

static void nap(void) { nanosleep(&(struct timespec){0, 50000}, NULL); }

static bool say(Remote *r, int to, Message *msg) {
    msg->tuning = r->number;
    return r->messenger->send(to, msg, sizeof *msg);
}

Remote *remote_open(Arena *arena, const Messenger *messenger, Measure *m, int64_t number,
                    uint64_t hash) {
    Remote *r = arena_new(arena, Remote);
    *r = (Remote){.messenger = messenger, .m = m, .number = number, .hash = hash};
    if (!messenger->open(&r->rank, &r->count)) return NULL;
    r->ranks = arena_new_n(arena, Rank, r->count);
    for (int i = 0; i < r->count; i++) r->ranks[i].job = -1;
    r->room = sizeof(Message) + 2 * measure_room(m);
    r->buffer = arena_alloc(arena, r->room);
    if (r->rank) say(r, 0, &(Message){.kind = MESSAGE_HELLO, .hash = hash});
    return r;
}

// --- Process 0 -----------------------------------------------------------------------------------

typedef struct RemoteBatch {
    const Job *jobs, *incumbent;
    int n, done;
    double best;
    Trial *out;
    char state[SEARCH_MAX_BATCH]; // JOB_OPEN, ...
} RemoteBatch;
enum { JOB_OPEN, JOB_AWAY, JOB_DONE };

static void take_trial(Remote *r, RemoteBatch *b, const Message *msg) {
    if (msg->batch != r->batch || msg->job < 0 || msg->job >= b->n) return;
    if (b->state[msg->job] == JOB_DONE) return;
    b->state[msg->job] = JOB_DONE;
    b->out[msg->job] = msg->trial;
    b->done++;
    r->tally.trials++;
    r->tally.kernels += msg->kernels;
    r->tally.compile += msg->compile;
}

// Handles all messages that have arrived.
static bool listen(Remote *r, RemoteBatch *b) {
    bool any = false;
    int from;
    long size;
    while ((size = r->messenger->receive(r->buffer, r->room, &from)) >= 0) {
        Message msg;
        if ((size_t)size < sizeof msg || from <= 0 || from >= r->count) continue;
        memcpy(&msg, r->buffer, sizeof msg);
        if (msg.tuning != r->number) continue;
        Rank *rank = &r->ranks[from];
        any = true;
        if (msg.kind == MESSAGE_HELLO) rank->ready = msg.hash == r->hash;
        if (msg.kind == MESSAGE_TRIAL) {
            take_trial(r, b, &msg);
            rank->job = -1;
        }
    }
    return any;
}

static bool give(Remote *r, RemoteBatch *b, int to, int job) {
    const Job *j = &b->jobs[job], *i = b->incumbent;
    Message msg = {.tuning = r->number,
                   .kind = MESSAGE_JOB,
                   .job = job,
                   .batch = r->batch,
                   .job_kind = j->kind,
                   .size = j->size,
                   .best = b->best};
    if (i) msg.incumbent_kind = i->kind, msg.incumbent_size = i->size;
    memcpy(r->buffer, &msg, sizeof msg);
    memcpy(r->buffer + sizeof msg, j->bytes, j->size);
    if (i) memcpy(r->buffer + sizeof msg + j->size, i->bytes, i->size);
    return r->messenger->send(to, r->buffer, sizeof msg + msg.size + msg.incumbent_size);
}

static void hand_out(Remote *r, RemoteBatch *b) {
    int next = 0;
    for (int i = 1; i < r->count; i++) {
        Rank *rank = &r->ranks[i];
        if (!rank->ready || rank->job >= 0) continue;
        while (next < b->n && b->state[next] != JOB_OPEN) next++;
        if (next == b->n) return;
        if (!give(r, b, i, next)) continue;
        b->state[next] = JOB_AWAY;
        rank->job = next;
    }
}

// Drops ranks that were silent for too long and reopens their jobs. Returns the number of ranks
// left.
static int look_after(Remote *r, RemoteBatch *b) {
    int left = 0;
    for (int i = 1; i < r->count; i++) {
        Rank *rank = &r->ranks[i];
        if (rank->ready && r->messenger->silence(i) > rank_silent) {
            if (rank->job >= 0 && b->state[rank->job] == JOB_AWAY) b->state[rank->job] = JOB_OPEN;
            *rank = (Rank){.job = -1};
            r->messenger->lost(i);
            r->tally.lost++;
            r->lost = i;
        }
        left += rank->ready;
    }
    return left;
}

// Measures one candidate in this process, because no rank is left.
static void measure_one(Remote *r, RemoteBatch *b) {
    for (int i = 0; i < b->n; i++) {
        if (b->state[i] != JOB_OPEN) continue;
        if (b->incumbent) measure_incumbent(r->m, b->incumbent, b->best);
        measure_batch(r->m, &b->jobs[i], 1, b->best, &b->out[i]);
        b->state[i] = JOB_DONE;
        b->done++;
        return;
    }
}

void remote_batch(Remote *r, const Job *jobs, int n, const Job *incumbent, double best, Trial *out,
                  bool (*cancelled)(void *user), void *user) {
    RemoteBatch b = {.jobs = jobs, .incumbent = incumbent, .n = n, .best = best, .out = out};
    require(n <= SEARCH_MAX_BATCH);
    r->batch++;
    for (int i = 0; i < n; i++) out[i] = (Trial){.state = TRIAL_CANCELLED};
    while (b.done < n && !(cancelled && cancelled(user))) {
        hand_out(r, &b);
        if (!listen(r, &b)) nap();
        if (look_after(r, &b) == 0) measure_one(r, &b);
    }
    for (int i = 1; i < r->count; i++) r->ranks[i].job = -1;
}

void remote_end(Remote *r) {
    for (int i = 1; i < r->count; i++) say(r, i, &(Message){.kind = MESSAGE_END, .lost = r->lost});
}

// --- A rank --------------------------------------------------------------------------------------

static void answer(Remote *r, const Message *msg) {
    const char *bytes = r->buffer + sizeof *msg;
    Job job = {msg->job_kind, bytes, msg->size};
    Job incumbent = {msg->incumbent_kind, bytes + msg->size, msg->incumbent_size};
    Message back = {.kind = MESSAGE_TRIAL, .job = msg->job, .batch = msg->batch};
    MeasureTally before = *measure_tally(r->m);
    if (incumbent.size) measure_incumbent(r->m, &incumbent, msg->best);
    measure_batch(r->m, &job, 1, msg->best, &back.trial);
    back.kernels = measure_tally(r->m)->kernels - before.kernels;
    back.compile = measure_tally(r->m)->compile - before.compile;
    say(r, 0, &back);
}

bool remote_serve(Remote *r) {
    while (r->messenger->silence(0) < leader_silent) {
        int from;
        long size = r->messenger->receive(r->buffer, r->room, &from);
        Message msg;
        if (size < (long)sizeof msg) {
            if (size < 0) nap();
            continue;
        }
        memcpy(&msg, r->buffer, sizeof msg);
        if (from != 0 || msg.tuning != r->number) continue;
        if (msg.kind == MESSAGE_END) {
            if (msg.lost) r->messenger->lost(msg.lost); // otherwise MPI would wait for it
            return true;
        }
        if (msg.kind == MESSAGE_JOB && sizeof msg + msg.size + msg.incumbent_size <= r->room)
            answer(r, &msg);
    }
    r->messenger->lost(0);
    return false;
}
