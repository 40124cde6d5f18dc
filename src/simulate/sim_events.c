// The event loop: handles moments in the order of time.
#include "simulate/sim_impl.h"

#include "base/checked.h"

// A heap of moments by time, then by number.
typedef struct EventItem {
    int64_t time;
    int moment;
} EventItem;
typedef VEC(EventItem) EventHeap;

typedef struct Events {
    Arena *arena;
    const SimMoments *m;
    Simulation *s;
    int *waits;          // per moment: number of predecessors that have not happened
    int *first, *follow; // per moment: its successors, as a list of entries 2*moment + side
    int64_t *ready;      // per moment: time of its latest predecessor
    EventHeap running;   // running tasks, ordered by their end
    EventHeap *queue;    // per row: ready tasks, in the order of the Tree
    bool *busy;          // per row
    VEC(int) happened;   // moments whose successors have not been updated
} Events;

static bool sooner(EventItem a, EventItem b) {
    return a.time != b.time ? a.time < b.time : a.moment < b.moment;
}

static void heap_push(Arena *arena, EventHeap *h, EventItem item) {
    vec_push(arena, h, item);
    for (int i = h->n - 1, up; i > 0; i = up) {
        up = (i - 1) / 2;
        if (!sooner(item, h->at[up])) break;
        h->at[i] = h->at[up];
        h->at[up] = item;
    }
}

static EventItem heap_pop(EventHeap *h) {
    EventItem top = h->at[0], last = h->at[--h->n];
    for (int i = 0, down; h->n; i = down) {
        h->at[i] = last;
        down = 2 * i + 1;
        if (down >= h->n) break;
        if (down + 1 < h->n && sooner(h->at[down + 1], h->at[down])) down++;
        if (!sooner(h->at[down], last)) break;
        h->at[i] = h->at[down];
    }
    return top;
}

// All predecessors of the moment have happened.
static void is_ready(Events *e, int moment) {
    int task = e->m->at[moment].task;
    if (task < 0) {
        vec_push(e->arena, &e->happened, moment);
        return;
    }
    EventItem item = {0, moment};
    heap_push(e->arena, &e->queue[e->s->task.at[task].row], item);
}

static void tell_followers(Events *e) {
    while (e->happened.n) {
        int moment = e->happened.at[--e->happened.n];
        for (int x = e->first[moment]; x >= 0; x = e->follow[x]) {
            int next = x / 2;
            e->ready[next] = max_i64(e->ready[next], e->ready[moment]);
            if (--e->waits[next] == 0) is_ready(e, next);
        }
    }
}

static void begin_tasks(Events *e, int64_t now) {
    for (int row = 0; row < e->s->row.n; row++) {
        if (e->busy[row] || !e->queue[row].n) continue;
        int moment = heap_pop(&e->queue[row]).moment;
        SimTask *t = &e->s->task.at[e->m->at[moment].task];
        t->start = now;
        t->end += now;
        e->busy[row] = true;
        EventItem item = {t->end, moment};
        heap_push(e->arena, &e->running, item);
    }
}

static void link_moments(Events *e) {
    int n = e->m->n;
    e->waits = arena_new_n(e->arena, int, n);
    e->first = arena_new_n(e->arena, int, n);
    e->follow = arena_new_n(e->arena, int, 2 * n);
    e->ready = arena_new_n(e->arena, int64_t, n);
    for (int i = 0; i < n; i++) e->first[i] = -1;
    for (int i = 1; i < n; i++)
        for (int side = 0; side < 2; side++) {
            int before = e->m->at[i].after[side];
            e->follow[2 * i + side] = e->first[before];
            e->first[before] = 2 * i + side;
            e->waits[i]++;
        }
}

void run_events(Arena *arena, const SimMoments *moments, Simulation *s) {
    Events e = {.arena = arena, .m = moments, .s = s};
    e.queue = arena_new_n(arena, EventHeap, s->row.n + 1);
    e.busy = arena_new_n(arena, bool, s->row.n + 1);
    link_moments(&e);
    vec_push(arena, &e.happened, 0);
    tell_followers(&e);
    begin_tasks(&e, 0);
    while (e.running.n) {
        int64_t now = e.running.at[0].time;
        while (e.running.n && e.running.at[0].time == now) {
            int moment = heap_pop(&e.running).moment;
            e.busy[s->task.at[moments->at[moment].task].row] = false;
            e.ready[moment] = now;
            vec_push(arena, &e.happened, moment);
        }
        tell_followers(&e);
        begin_tasks(&e, now);
        s->cycles = now;
    }
}
