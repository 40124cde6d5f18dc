// Peers' processes, rounds, statistics.
#include "lab.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

double lab_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double lab_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// --- Cores ---------------------------------------------------------------------------------------
void lab_pin(const Lab *lab, bool one) {
    cpu_set_t set = lab->cores;
    if (one) {
        CPU_ZERO(&set);
        CPU_SET((size_t)lab->core, &set);
    }
    sched_setaffinity(0, sizeof set, &set);
}

// --- Quiet ---------------------------------------------------------------------------------------

// Additions per ns, as many at once as there are units: falls by a third or more while another
// hyperthread of the core is busy, perhaps somebody else's, whom we cannot see otherwise.
static double canary(void) {
    enum { TURNS = 8000 };
    uint64_t a = 1, b = 2, c = 3, d = 4, k = 5;
#define ADD  a += k, b += k, c += k, d += k;
#define KEEP __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(k));
    double begin = lab_cpu();
    for (int i = 0; i < TURNS; i++) {
        ADD KEEP ADD KEEP ADD KEEP ADD KEEP ADD KEEP ADD KEEP ADD KEEP ADD KEEP
    }
    return TURNS * 32 / (lab_cpu() - begin);
}

static bool quiet(Lab *lab) {
    double rate = canary();
    lab->fastest = fmax(lab->fastest, rate);
    return rate > 0.93 * lab->fastest;
}

void lab_open(Lab *lab) {
    sched_getaffinity(0, sizeof lab->cores, &lab->cores);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &lab->cores)) lab->core = (int)i;
    lab_pin(lab, true);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 200; i++) quiet(lab);
}

// --- Peers ---------------------------------------------------------------------------------------

static void bury(LabPeer *p) {
    p->alive = false;
    if (p->to) fclose(p->to);
    if (p->from) fclose(p->from);
    p->to = p->from = NULL;
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
}

void lab_close(Lab *lab) {
    for (int i = 0; i < lab->npeers; i++)
        if (lab->peer[i].alive) bury(&lab->peer[i]);
    lab->npeers = 0;
}

static void become(const char *path, const char *env, int in, int out) {
    char *copy = strdup(env), *save = NULL;
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        putenv(word);
    dup2(in, 0), dup2(out, 1);
    execl(path, path, (char *)NULL);
    _exit(127);
}

static bool start(const Lab *lab, LabPeer *p) {
    char path[1024];
    int to[2], from[2];
    snprintf(path, sizeof path, "%s/%s", lab->peers, p->program);
    if (access(path, X_OK) || pipe2(to, O_CLOEXEC)) return false;
    if (pipe2(from, O_CLOEXEC)) return close(to[0]), close(to[1]), false;
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) become(path, p->env, to[0], from[1]);
    close(to[0]), close(from[1]);
    p->to = fdopen(to[1], "w"), p->from = fdopen(from[0], "r");
    p->alive = p->pid > 0;
    return p->alive && peer_ask(p, "name", p->title);
}

LabPeer *lab_peer(Lab *lab, const char *program, const char *env) {
    for (int i = 0; i < lab->npeers; i++) {
        LabPeer *p = &lab->peer[i];
        if (!strcmp(p->program, program) && !strcmp(p->env, env)) return p->alive ? p : NULL;
    }
    if (lab->npeers == LAB_PEERS) return NULL;
    LabPeer *p = &lab->peer[lab->npeers++];
    *p = (LabPeer){.program = program, .env = env};
    return start(lab, p) ? p : NULL;
}

bool peer_ask(LabPeer *p, const char *line, char answer[LAB_LINE]) {
    if (!p->alive) return false;
    fprintf(p->to, "%s\n", line);
    fflush(p->to);
    struct pollfd wait = {.fd = fileno(p->from), .events = POLLIN};
    if (poll(&wait, 1, PATIENCE_MS) != 1 || !fgets(answer, LAB_LINE, p->from))
        return bury(p), false;
    answer[strcspn(answer, "\n")] = 0;
    return true;
}

float *peer_fetch(LabPeer *p, size_t n) {
    char path[] = "/tmp/loopwright-bench-XXXXXX", line[LAB_LINE], answer[LAB_LINE];
    int fd = mkstemp(path);
    if (fd < 0) return NULL;
    snprintf(line, sizeof line, "result %s", path);
    float *x = malloc(n * sizeof *x + 1);
    bool ok = peer_ask(p, line, answer) && !strcmp(answer, "ok");
    // One byte more than there should be: a result of another size is none.
    for (size_t got = 0, want = n * sizeof *x; ok && got <= want;) {
        ssize_t more = read(fd, (char *)x + got, want + 1 - got);
        if (more <= 0 && (ok = got == want, true)) break;
        got += (size_t)more;
        ok = got <= want;
    }
    close(fd), unlink(path);
    if (!ok) free(x);
    return ok ? x : NULL;
}

// --- Trials --------------------------------------------------------------------------------------

static Entry *add(Trial *t, const char *name) {
    Entry *e = &t->entry[t->n++];
    memset(e, 0, sizeof *e);
    e->name = name;
    return e;
}

int trial_add_kernel(Trial *t, const char *name, void (*call)(void *), void *self) {
    if (t->n == TRIAL_ENTRIES) return -1;
    Entry *e = add(t, name);
    e->call = call, e->self = self;
    return t->n - 1;
}

int trial_add_peer(Trial *t, LabPeer *p, const char *name, const char *task) {
    char line[LAB_LINE], answer[LAB_LINE];
    if (!p || t->n == TRIAL_ENTRIES) return -1;
    snprintf(line, sizeof line, "task %s", task);
    if (!peer_ask(p, line, answer) || strcmp(answer, "ok")) return -1;
    add(t, name)->peer = p;
    return t->n - 1;
}

static double timed(Entry *e, int64_t calls) {
    double (*now)(void) = e->wall ? lab_now : lab_cpu;
    double begin = now();
    for (int64_t i = 0; i < calls; i++) e->call(e->self);
    return (now() - begin) / (double)calls;
}

static void calibrate(const Lab *lab, Entry *e) {
    char line[LAB_LINE], answer[LAB_LINE];
    if (e->peer) {
        snprintf(line, sizeof line, "calls %g", lab->round_ns);
        e->failed = !peer_ask(e->peer, line, answer);
        return;
    }
    e->calls = 1;
    timed(e, 1);
    e->each = timed(e, 1);
    while (e->each * (double)e->calls < lab->round_ns / 4 && e->calls < 1 << 28)
        e->each = timed(e, e->calls *= 2);
    e->calls = e->each < lab->round_ns ? (int64_t)(lab->round_ns / e->each) : 1;
}

// As peer_round does on its side.
static double round_of(Entry *e) {
    char answer[LAB_LINE];
    if (e->peer) {
        e->failed = e->failed || !peer_ask(e->peer, "round", answer);
        return e->failed ? NAN : atof(answer);
    }
    if (e->each < 5e6) timed(e, 1 + e->calls / 20);
    return e->each = timed(e, e->calls);
}

// Waits for a core that nobody else uses; what was measured while it was not is measured again.
// Both as long as `patience` lasts. Who is measured has no part in the decision.
static double quiet_round(Lab *lab, Entry *e, double *patience) {
    const struct timespec nap = {0, 2000000};
    for (;;) {
        double begin = lab_now();
        while (*patience > 0 && !quiet(lab)) {
            nanosleep(&nap, NULL);
            *patience -= lab_now() - begin, begin = lab_now();
        }
        double ns = round_of(e);
        if (e->failed || *patience <= 0 || quiet(lab)) return ns;
        *patience -= lab_now() - begin;
        lab->repeated++;
    }
}

// One call with nothing in the caches; NAN where the entry cannot do that.
static double cold_call(Entry *e) {
    char answer[LAB_LINE];
    if (e->failed) return NAN;
    if (e->peer) {
        if (!peer_ask(e->peer, "cold", answer)) e->failed = true;
        return e->failed || answer[0] == 'n' ? NAN : atof(answer);
    }
    if (!e->flush) return NAN;
    e->flush(e->self);
    return timed(e, 1);
}

static void cold_rounds(Lab *lab, Trial *t) {
    int rounds = lab->cold < TRIAL_COLD ? lab->cold : TRIAL_COLD;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < t->n; i++) {
            Entry *e = &t->entry[(i + r) % t->n];
            double ns = cold_call(e);
            if (isfinite(ns)) e->cold[e->ncold++] = ns;
        }
}

void trial_run(Lab *lab, Trial *t) {
    enum { LEAST = 5 }; // rounds, whatever they take
    double patience = lab->patience_ns, end = lab_now() + lab->trial_ns;
    int most = lab->rounds < TRIAL_ROUNDS ? lab->rounds : TRIAL_ROUNDS;
    for (int i = 0; i < t->n; i++) calibrate(lab, &t->entry[i]);
    for (t->rounds = 0; t->rounds < most; t->rounds++) {
        int r = t->rounds;
        if (lab->trial_ns > 0 && r >= LEAST && r % 2 && lab_now() > end) break;
        for (int i = 0; i < t->n; i++) {
            Entry *e = &t->entry[(i + r) % t->n];
            e->ns[r] = quiet_round(lab, e, &patience);
        }
    }
    cold_rounds(lab, t);
    lab->rounds_run += t->rounds * t->n;
    lab->noisy += patience <= 0;
}

// --- Statistics ----------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(const double *sorted, int n, double q) {
    int i = (int)(q * n);
    return n ? sorted[i < n ? i : n - 1] : NAN;
}

// The bounds are the k-th smallest and the k-th largest value, for the largest k with P(fewer than
// k of n lie below the median) <= 2.5 %: no assumption about the distribution. Fewer than 6 values
// promise less.
Estimate estimate(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_value);
    double below = 0, p = pow(0.5, n);
    int k = 0;
    while (k < n / 2 && below + p <= 0.025) {
        below += p;
        p *= (double)(n - k) / (k + 1);
        k++;
    }
    int low = k ? k - 1 : 0;
    return n ? (Estimate){x[n / 2], x[low], x[n - 1 - low]} : (Estimate){NAN, NAN, NAN};
}

Estimate trial_time(const Trial *t, int i) {
    double x[TRIAL_ROUNDS];
    memcpy(x, t->entry[i].ns, sizeof *x * (size_t)t->rounds);
    return t->entry[i].failed ? (Estimate){NAN, NAN, NAN} : estimate(x, t->rounds);
}

double trial_median(const Trial *t, int i) { return trial_time(t, i).median; }

double trial_cold(const Trial *t, int i) {
    double x[TRIAL_COLD];
    memcpy(x, t->entry[i].cold, sizeof x);
    return estimate(x, t->entry[i].failed ? 0 : t->entry[i].ncold).median;
}

double trial_best(const Trial *t, int i) {
    double best = INFINITY;
    for (int r = 0; r < t->rounds; r++) best = fmin(best, t->entry[i].ns[r]);
    return best;
}

Estimate trial_ratio(const Trial *t, int i, int j) {
    double x[TRIAL_ROUNDS];
    if (t->entry[i].failed || t->entry[j].failed) return (Estimate){NAN, NAN, NAN};
    for (int r = 0; r < t->rounds; r++) x[r] = t->entry[j].ns[r] / t->entry[i].ns[r];
    return estimate(x, t->rounds);
}
