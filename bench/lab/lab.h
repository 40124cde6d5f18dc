// The laboratory: how kernels are compared. It knows nothing of the compiler.
//
// A Trial has entries that run rounds: a function of this process, or a peer (a program under
// bench/peers, in a separate process). All are pinned to one core and alternate, round by round,
// starting with a different one each time, so that slow phases of the machine affect all of them
// equally; the result is the median of the ratios within rounds, and its 95 % interval. Times are
// processor times, and rounds in which a busy hyperthread slowed the core down are repeated, so
// that other load matters less. Results are compared before anything is timed.
//
// The speed of a shared machine changes from minute to minute. Consecutive rounds do not see that,
// so a trial is divided into passes, and the passes of many open trials alternate (`own`: each has
// its own processes, copies of a prepared peer). One pass gives one value, the median of its
// rounds; the interval is that of the passes' values.
//
//     Lab lab = {.peers = "build/peers", .rounds = 21, .round_ns = 2e6};
//     lab_open(&lab);
//     Trial t = {0};
//     trial_add_kernel(&t, "ours", call, self);
//     trial_add_peer(&t, lab_peer(&lab, "openblas", env), "gemm 64 64 64");
//     trial_run(&lab, &t);
//     Estimate e = trial_ratio(&t, 0, 1);      how many times faster entry 0 is than entry 1
//
// trial_run is trial_begin and as many passes of one round as there are rounds.
#ifndef LW_BENCH_LAB_H
#define LW_BENCH_LAB_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "stats.h"

enum { LAB_PEERS = 32, TRIAL_ENTRIES = 16, TRIAL_ROUNDS = 201, TRIAL_COLD = 31, LAB_LINE = 1024 };

typedef struct LabPeer {
    const char *program;  // its file under `peers`
    char env[256];        // "A=1 B=2"
    char title[LAB_LINE]; // its description of itself
    pid_t pid;
    FILE *to, *from;
    bool alive;
} LabPeer;

typedef struct Lab {
    const char *peers;  // folder of the peers' programs
    int rounds;         // per trial, odd
    double round_ns;    // of one entry
    double trial_ns;    // approximate limit for a trial, with at least 5 rounds
    int cold;           // cold calls per entry and trial
    int core;           // the core for everything; set by lab_open, like `cores`
    cpu_set_t cores;    // all there are
    double patience_ns; // limit for waiting for an idle core and repeating rounds, per trial
    double pass_ns;     // limit for a pass, with at least one round
    double sparse_ns;   // entries with longer rounds run in every second pass; 0: in all
    int listen;         // socket for copies of peers; set by lab_open; -1: none
    int64_t repeated, rounds_run;
    int noisy;      // trials that exceeded patience_ns
    double fastest; // best rate of the loop that detects other load on the core
    int npeers;
    LabPeer peer[LAB_PEERS];
} Lab;

void lab_open(Lab *lab); // pins this process to the last core it may use
void lab_close(Lab *lab);
// Pins this process, and peers started later, to one core or to all.
void lab_pin(const Lab *lab, bool one);
// The peer, started if necessary; NULL if it is absent or has died.
LabPeer *lab_peer(Lab *lab, const char *program, const char *env);

// A copy of the peer in a separate process, for a trial; NULL: it died.
LabPeer *lab_fork(const Lab *lab, LabPeer *p);

// Sends a line, reads the answer; false when the peer died or was silent for a minute.
bool peer_ask(LabPeer *p, const char *line, char answer[LAB_LINE]);
bool peer_hear(LabPeer *p, char answer[LAB_LINE]); // the answer to an earlier line
// The result of its task, malloc'd; NULL: none.
float *peer_fetch(LabPeer *p, size_t n);

typedef struct Entry {
    const char *name;
    void (*call)(void *self);    // of this process, or
    void (*flush)(void *self);   // evicts its operands from the caches; NULL: not possible
    double (*round)(void *self); // or: measures a round itself, in ns
    void *self;
    bool own;   // the peer is a copy, which ends with the trial
    bool asked; // and has not answered yet
    bool wall;  // it has several threads: wall-clock time
    LabPeer *peer;
    int64_t calls; // per round
    double each;   // ns of the last call
    double last;   // time of that call
    bool failed, sparse;
    double ns[TRIAL_ROUNDS];
    int ncold;
    double cold[TRIAL_COLD]; // ns of single calls with cold caches
} Entry;

typedef struct Trial {
    int n;
    int threads; // number for all entries; 0: one. Several are timed by wall-clock time
    Lab *own;    // added peers get separate processes; NULL: they share one
    int rounds;  // over all passes
    int passes;
    int begin[TRIAL_ROUNDS + 1]; // first round of each pass
    double patience;             // remaining
    Entry entry[TRIAL_ENTRIES];
} Trial;

int trial_add_kernel(Trial *t, const char *name, void (*call)(void *), void *self);
// -1 if the peer is absent or does not support the task. trial_ask_peer lets peers prepare
// concurrently, on all cores; trial_gather waits for them and drops those without the task.
int trial_ask_peer(Trial *t, LabPeer *p, const char *name, const char *task);
void trial_gather(Trial *t);
int trial_add_peer(Trial *t, LabPeer *p, const char *name, const char *task);
void trial_begin(const Lab *lab, Trial *t);                 // determines the calls per round
void trial_pass(Lab *lab, Trial *t, int rounds, bool cold); // at most `rounds` rounds
void trial_run(Lab *lab, Trial *t);
void trial_close(Trial *t); // ends its own peers

double trial_median(const Trial *t, int i); // ns
double trial_best(const Trial *t, int i);   // ns
double trial_fast(const Trial *t, int i);   // ns, the first decile of the rounds
double trial_cold(const Trial *t, int i);   // ns, the median of cold calls; NAN: none

// The estimate from one value per round: medians by pass, then their interval. Rounds without a
// value are NAN.
Estimate trial_estimate(const Trial *t, const double *x);
Estimate trial_ratio(const Trial *t, int i, int j); // time of j divided by time of i
Estimate trial_time(const Trial *t, int i);         // ns

#endif
