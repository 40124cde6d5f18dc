// Measuring by several processes, on one machine or on several of one kind.
//
// Process 0 searches and sends out candidates one at a time; the others, the ranks, measure them
// with measure.h and send the trials back. A plug-in transports messages (Messenger); this module
// defines their contents. All processes build the same Space from the same program and announce its
// hash at the beginning; a rank with a different Space gets no candidates.
//
//   rank ──▶ 0    hello (its Space's hash)
//   0 ──▶ rank    job (candidate, incumbent and its time)
//   rank ──▶ 0    trial
//   0 ──▶ rank    end
//
// The plug-in also sends heartbeats, whatever its process is doing. A rank that is silent for a
// while is considered dead: its candidate goes to another rank, and nothing else is lost. If no
// rank is left, process 0 measures by itself. If process 0 dies, the ranks stop.
#ifndef LW_SEARCH_REMOTE_H
#define LW_SEARCH_REMOTE_H

#include "search/measure.h"

enum { MESSENGER_VERSION = 2, REMOTE_RANKS = 1024 };

// A plug-in exports `const Messenger *lw_messenger(void)`.
typedef struct Messenger {
    int version;
    // The rank of this process and the number of processes; false: not started together with
    // others. May be called again.
    bool (*open)(int *rank, int *count);
    // Never waits; the bytes are copied. False: not sent.
    bool (*send)(int to, const void *bytes, size_t size);
    // The next message: its size and its sender; -1: there is none. Messages longer than `room` are
    // truncated.
    long (*receive)(void *into, size_t room, int *from);
    // Seconds since the last heartbeat of a rank; each sends several per second after `open`.
    double (*silence)(int rank);
    void (*lost)(int rank); // called when it is considered dead
} Messenger;
typedef const Messenger *MessengerEntry(void);

typedef struct Remote Remote;
// `number` counts calls of this function in a process and agrees between processes; `hash` is that
// of the Space. `m` measures in this process.
Remote *remote_open(Arena *arena, const Messenger *messenger, Measure *m, int64_t number,
                    uint64_t hash);

// Process 0: like measure_batch. `incumbent` is the job with time `best`; NULL: none.
void remote_batch(Remote *r, const Job *jobs, int n, const Job *incumbent, double best, Trial *out,
                  bool (*cancelled)(void *user), void *user);
// Lets the ranks end remote_serve.
void remote_end(Remote *r);

// A rank: measures until process 0 ends the search. False: process 0 is gone.
bool remote_serve(Remote *r);

// Trials that were measured by others, and ranks that were lost.
typedef struct RemoteTally {
    int64_t trials, lost;
    double kernels, compile;
} RemoteTally;
const RemoteTally *remote_tally(const Remote *r);

#endif
