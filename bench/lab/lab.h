// The laboratory: how kernels are compared. It knows nothing of the compiler.
//
// A Trial has entries, each something that runs rounds: a function of this process, or a peer (a
// program under bench/peers, in a process of its own). All are pinned to one core and take turns,
// round by round, starting with another one each time, so that a slow phase of the machine strikes
// all of them alike; what counts is the median of the ratios within rounds, and its 95 % interval.
// Time is what a thread had a core for, and rounds in which a busy hyperthread slowed the core down
// are repeated, so that others on the machine disturb less.
// Results are compared before anything is timed.
//
// A machine that others share is slower in one minute than in the next. Rounds that follow each
// other see nothing of that, so a trial is cut into passes, and many trials that are open at once
// take turns with theirs (`own`: each has processes of its own, copies of a peer that is ready).
// One pass gives one value, the median of its rounds; the interval is that of the passes' values.
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
    char title[LAB_LINE]; // what it says it is
    pid_t pid;
    FILE *to, *from;
    bool alive;
} LabPeer;

typedef struct Lab {
    const char *peers;  // folder of the peers' programs
    int rounds;         // per trial, odd
    double round_ns;    // of one entry
    double trial_ns;    // what a trial may take about; fewer rounds, but 5, where it would not do
    int cold;           // cold calls per entry and trial
    int core;           // everything runs on this one; both set by lab_open
    cpu_set_t cores;    // all there are
    double patience_ns; // a trial may wait so long for a core of its own, and repeat rounds
    double pass_ns;     // a pass has fewer rounds than asked for, but one, where it takes longer
    double sparse_ns;   // whose round takes longer is in every second pass only; 0: in all
    int listen;         // where copies of peers answer; set by lab_open, -1: nowhere
    int64_t repeated, rounds_run;
    int noisy;      // trials that ran out of patience
    double fastest; // of the loop that tells whether the core is ours alone
    int npeers;
    LabPeer peer[LAB_PEERS];
} Lab;

void lab_open(Lab *lab); // pins this process to the last core it may use
void lab_close(Lab *lab);
// One core, or all there are: for this process and for peers started from here on.
void lab_pin(const Lab *lab, bool one);
// The peer, started if need be; NULL when it is absent or has died.
LabPeer *lab_peer(Lab *lab, const char *program, const char *env);

// A copy of the peer in a process of its own, to be given to trials; NULL: it died.
LabPeer *lab_fork(const Lab *lab, LabPeer *p);

// Sends a line, reads the answer; false when the peer died or was silent for a minute.
bool peer_ask(LabPeer *p, const char *line, char answer[LAB_LINE]);
bool peer_hear(LabPeer *p, char answer[LAB_LINE]); // the answer to what was sent before
// The result of its task, malloc'd; NULL: none.
float *peer_fetch(LabPeer *p, size_t n);

typedef struct Entry {
    const char *name;
    void (*call)(void *self);    // of this process, or
    void (*flush)(void *self);   // takes its operands out of the caches; NULL: it cannot
    double (*round)(void *self); // or: a round as it measures it by itself, ns
    void *self;
    bool own;   // the peer is a copy, which ends with the trial
    bool asked; // and has not answered yet
    bool wall;  // it has more threads than one: measured by the clock on the wall
    LabPeer *peer;
    int64_t calls; // per round
    double each;   // ns of the last call
    double last;   // when that was
    bool failed, sparse;
    double ns[TRIAL_ROUNDS];
    int ncold;
    double cold[TRIAL_COLD]; // ns of single calls, nothing of its operands in a cache
} Entry;

typedef struct Trial {
    int n;
    int threads; // that everybody may use; 0: one. Several are timed by the clock on the wall
    Lab *own;    // peers that are added get a process of their own; NULL: they share one
    int rounds;  // over all passes
    int passes;
    int begin[TRIAL_ROUNDS + 1]; // of each pass: its first round
    double patience;             // what is left of it
    Entry entry[TRIAL_ENTRIES];
} Trial;

int trial_add_kernel(Trial *t, const char *name, void (*call)(void *), void *self);
// -1 when the peer is absent or does not do the task. Those that are asked get ready at once, on
// all cores, while others are asked; gathering waits for them, and drops who does not do it.
int trial_ask_peer(Trial *t, LabPeer *p, const char *name, const char *task);
void trial_gather(Trial *t);
int trial_add_peer(Trial *t, LabPeer *p, const char *name, const char *task);
void trial_begin(const Lab *lab, Trial *t);                 // how many calls a round has
void trial_pass(Lab *lab, Trial *t, int rounds, bool cold); // at most so many rounds
void trial_run(Lab *lab, Trial *t);
void trial_close(Trial *t); // ends the peers of its own

double trial_median(const Trial *t, int i); // ns
double trial_best(const Trial *t, int i);   // ns
double trial_fast(const Trial *t, int i);   // ns, of the fastest tenth of the rounds the slowest
double trial_cold(const Trial *t, int i);   // ns, the median of cold calls; NAN: none

// Of values one a round, as functions of rounds: medians by pass, then the interval of these.
// Rounds without a value are NAN.
Estimate trial_estimate(const Trial *t, const double *x);
Estimate trial_ratio(const Trial *t, int i, int j); // time of j by time of i
Estimate trial_time(const Trial *t, int i);         // ns

#endif
