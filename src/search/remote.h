// Measuring by several processes, on one machine or on several of one kind.
//
// Process 0 searches and hands out candidates one at a time; the others, the ranks, measure them as
// measure.h does and send the trials back. How messages travel is a plug-in's business (Messenger);
// what is in them is decided here. All processes make the same Space from the same program, and say
// so at the beginning; one that has another Space is not asked.
//
//   rank ──▶ 0    hello (its Space's hash)
//   0 ──▶ rank    job (candidate, incumbent and its time)
//   rank ──▶ 0    trial
//   0 ──▶ rank    end
//
// That a process is alive is the plug-in's business too, whatever the process is busy with. A rank
// that is silent for a while has died: its candidate goes to another, and nothing else is lost.
// Where no rank is left, process 0 measures by itself. Without process 0 there is nothing to do.
#ifndef LW_SEARCH_REMOTE_H
#define LW_SEARCH_REMOTE_H

#include "search/measure.h"

enum { MESSENGER_VERSION = 2, REMOTE_RANKS = 1024 };

// What a plug-in exports: `const Messenger *lw_messenger(void)`.
typedef struct Messenger {
    int version;
    // Which of how many processes this is; false: not started together with others. May be called
    // again.
    bool (*open)(int *rank, int *count);
    // Never waits; the bytes are copied. False: not sent.
    bool (*send)(int to, const void *bytes, size_t size);
    // The next message: its size, and who sent it; -1: there is none. What is longer than `room` is
    // cut off.
    long (*receive)(void *into, size_t room, int *from);
    // Seconds since it gave a sign of life; each does, several times a second, from open on.
    double (*silence)(int rank);
    void (*lost)(int rank); // it has died, as far as one can tell
} Messenger;
typedef const Messenger *MessengerEntry(void);

typedef struct Remote Remote;
// `number` counts calls of this function in a process, the same in all of them; `hash` is that of
// the Space. `m` measures here.
Remote *remote_open(Arena *arena, const Messenger *messenger, Measure *m, int64_t number,
                    uint64_t hash);

// Process 0: as measure_batch. `incumbent`: whose time `best` is; NULL: nobody's.
void remote_batch(Remote *r, const Job *jobs, int n, const Job *incumbent, double best, Trial *out,
                  bool (*cancelled)(void *user), void *user);
// The others may go on to what comes next.
void remote_end(Remote *r);

// A rank: measures until process 0 says that it is over. False: it is gone.
bool remote_serve(Remote *r);

// Trials that were measured by others, and ranks that were lost.
typedef struct RemoteTally {
    int64_t trials, lost;
    double kernels, compile;
} RemoteTally;
const RemoteTally *remote_tally(const Remote *r);

#endif
