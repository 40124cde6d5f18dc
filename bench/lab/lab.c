// Peers' processes, rounds, and their statistics.
#include "lab.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

// --- Cores ---------------------------------------------------------------------------------------
static void pin(const Lab *lab, pid_t who, bool one) {
    cpu_set_t set = lab->cores;
    if (one) {
        CPU_ZERO(&set);
        CPU_SET((size_t)lab->core, &set);
    }
    sched_setaffinity(who, sizeof set, &set);
}

void lab_pin(const Lab *lab, bool one) { pin(lab, 0, one); }

// --- Quiet ---------------------------------------------------------------------------------------

// Additions per ns on all units: drops by a third or more while another hyperthread of the core is
// busy, perhaps with another user's process, which cannot be detected otherwise.
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

// The address at which copies of peers connect; it is not in the file system.
static struct sockaddr_un address(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "loopwright-bench-%d", (int)getpid());
    return a;
}

static int listen_there(void) {
    struct sockaddr_un a = address();
    socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a.sun_path + 1));
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0 && (bind(s, (struct sockaddr *)&a, size) || listen(s, 8))) close(s), s = -1;
    // Every copy needs two file descriptors; the usual limit of a thousand is too low.
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return s;
}

void lab_open(Lab *lab) {
    lab->listen = listen_there();
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
    if (lab->listen >= 0) close(lab->listen);
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
    *p = (LabPeer){.program = program};
    snprintf(p->env, sizeof p->env, "%s", env);
    return start(lab, p) ? p : NULL;
}

bool peer_ask(LabPeer *p, const char *line, char answer[LAB_LINE]) {
    if (!p->alive) return false;
    fprintf(p->to, "%s\n", line);
    fflush(p->to);
    return peer_hear(p, answer);
}

bool peer_hear(LabPeer *p, char answer[LAB_LINE]) {
    if (!p->alive) return false;
    struct pollfd wait = {.fd = fileno(p->from), .events = POLLIN};
    if (poll(&wait, 1, PATIENCE_MS) != 1 || !fgets(answer, LAB_LINE, p->from))
        return bury(p), false;
    answer[strcspn(answer, "\n")] = 0;
    return true;
}

LabPeer *lab_fork(const Lab *lab, LabPeer *p) {
    char line[LAB_LINE], answer[LAB_LINE];
    struct pollfd wait = {.fd = lab->listen, .events = POLLIN};
    if (lab->listen < 0) return NULL;
    snprintf(line, sizeof line, "fork %s", address().sun_path + 1);
    if (!peer_ask(p, line, answer) || strcmp(answer, "ok")) return NULL;
    int s = poll(&wait, 1, PATIENCE_MS) == 1 ? accept4(lab->listen, NULL, NULL, SOCK_CLOEXEC) : -1;
    int again = s < 0 ? -1 : fcntl(s, F_DUPFD_CLOEXEC, 0);
    if (again < 0) return close(s), NULL;
    LabPeer *copy = malloc(sizeof *copy);
    *copy = *p;
    copy->to = fdopen(s, "w"), copy->from = fdopen(again, "r");
    if (!fgets(answer, sizeof answer, copy->from)) answer[0] = 0;
    copy->pid = (pid_t)atol(answer);
    if (copy->pid > 0) return copy;
    fclose(copy->to), fclose(copy->from), free(copy);
    return NULL;
}

float *peer_fetch(LabPeer *p, size_t n) {
    char path[] = "/tmp/loopwright-bench-XXXXXX", line[LAB_LINE], answer[LAB_LINE];
    int fd = mkstemp(path);
    if (fd < 0) return NULL;
    snprintf(line, sizeof line, "result %s", path);
    float *x = malloc(n * sizeof *x + 1);
    bool ok = peer_ask(p, line, answer) && !strcmp(answer, "ok");
    // Reads one byte more than expected: a result of another size is invalid.
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
    e->wall = t->threads > 1;
    return t->n - 1;
}

static void let_go(Entry *e) {
    if (!e->own) return;
    if (e->peer->alive) bury(e->peer);
    free(e->peer);
}

// A copy may use any core until it is ready.
int trial_ask_peer(Trial *t, LabPeer *p, const char *name, const char *task) {
    if (!p || t->n == TRIAL_ENTRIES) return -1;
    if (t->own && !(p = lab_fork(t->own, p))) return -1;
    if (t->own) pin(t->own, p->pid, false);
    Entry *e = add(t, name);
    e->peer = p, e->own = t->own != NULL;
    fprintf(p->to, "task %s\n", task);
    fflush(p->to);
    e->asked = true;
    return t->n - 1;
}

void trial_gather(Trial *t) {
    char answer[LAB_LINE];
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        Entry *e = &t->entry[i];
        bool ready = !e->asked || (peer_hear(e->peer, answer) && !strcmp(answer, "ok"));
        if (ready && e->asked && e->own && t->threads < 2) pin(t->own, e->peer->pid, true);
        e->asked = false;
        if (!ready) let_go(e);
        if (ready && n != i) t->entry[n] = *e;
        n += ready;
    }
    t->n = n;
}

int trial_add_peer(Trial *t, LabPeer *p, const char *name, const char *task) {
    int n = t->n;
    if (trial_ask_peer(t, p, name, task) < 0) return -1;
    trial_gather(t);
    return t->n > n ? n : -1;
}

void trial_close(Trial *t) {
    for (int i = 0; i < t->n; i++) let_go(&t->entry[i]);
    t->n = 0;
}

static double timed(Entry *e, int64_t calls) {
    double (*now)(void) = e->wall ? lab_now : lab_cpu;
    double begin = now();
    for (int64_t i = 0; i < calls; i++) e->call(e->self);
    double ns = (now() - begin) / (double)calls;
    e->last = lab_now();
    return ns;
}

// Like peer_calibrate in the peer.
static void calibrate(const Lab *lab, Entry *e) {
    char line[LAB_LINE], answer[LAB_LINE];
    if (e->peer) {
        snprintf(line, sizeof line, "calls %g", lab->round_ns);
        e->failed = !peer_ask(e->peer, line, answer);
        return;
    }
    e->calls = 1;
    if (e->round) return;
    e->each = timed(e, 1);
    if (e->each > 1e8 && e->each > lab->round_ns) return;
    if (e->wall) // includes waking threads
        for (double end = lab_now() + 5 * lab->round_ns; lab_now() < end;) timed(e, 1);
    e->each = timed(e, 1);
    while (e->each * (double)e->calls < lab->round_ns / 4 && e->calls < 1 << 28)
        e->each = timed(e, e->calls *= 2);
    e->calls = e->each < lab->round_ns ? (int64_t)(lab->round_ns / e->each) : 1;
}

// Whether a thread of the process is running.
static bool runs(pid_t pid) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    bool found = false;
    for (struct dirent *d; tasks && !found && (d = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", (int)pid, d->d_name);
        FILE *f = d->d_name[0] == '.' ? NULL : fopen(path, "r");
        const char *state = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
        found = state && state[1] && state[2] == 'R';
        if (f) fclose(f);
    }
    if (tasks) closedir(tasks);
    return found;
}

// Idle threads spin for a while before they sleep, and would take a core from the next measurement.
// Waits for those of peers.
static void settle(const Trial *t) {
    const struct timespec nap = {0, 500000};
    double end = lab_now() + 2e8;
    for (int i = 0; i < t->n; i++)
        while (t->entry[i].peer && runs(t->entry[i].peer->pid) && lab_now() < end)
            nanosleep(&nap, NULL);
}

// Like peer_round in the peer.
static double round_of(Entry *e) {
    enum { SHORT_NS = 5000000, LONG_NS = 50000000, RESTED_NS = 100000000 };
    char answer[LAB_LINE];
    if (e->peer) {
        e->failed = e->failed || !peer_ask(e->peer, "round", answer);
        return e->failed ? NAN : atof(answer);
    }
    if (e->round) return e->round(e->self);
    bool rested = lab_now() - e->last > RESTED_NS;
    // Threads have to wake first.
    if (e->each < SHORT_NS || (e->each < LONG_NS && rested))
        timed(e, 1 + e->calls / (e->wall ? 2 : 20));
    return e->each = timed(e, e->calls);
}

// Waits for a core without other load, and repeats rounds that were measured with other load, both
// within `patience`. The decision does not depend on the measured entry.
static double quiet_round(Lab *lab, Entry *e, double *patience) {
    const struct timespec nap = {0, 2000000};
    for (;;) {
        double begin = lab_now();
        while (*patience > 0 && !quiet(lab)) {
            nanosleep(&nap, NULL);
            *patience -= lab_now() - begin, begin = lab_now();
        }
        begin = lab_now();
        double ns = round_of(e), took = lab_now() - begin;
        if (lab->sparse_ns > 0 && took > lab->sparse_ns) e->sparse = true;
        if (e->failed || *patience <= 0 || quiet(lab)) return ns;
        *patience -= took;
        lab->repeated++;
    }
}

// One call with cold caches; nothing is recorded if the entry does not support that.
static void cold_call(Entry *e) {
    char answer[LAB_LINE];
    double ns = NAN;
    if (e->failed || e->ncold == TRIAL_COLD) return;
    if (e->peer) {
        e->failed = !peer_ask(e->peer, "cold", answer);
        if (!e->failed && answer[0] != 'n') ns = atof(answer);
    } else if (e->flush) {
        e->flush(e->self);
        ns = timed(e, 1);
    }
    if (isfinite(ns)) e->cold[e->ncold++] = ns;
}

void trial_begin(const Lab *lab, Trial *t) {
    t->rounds = t->passes = 0;
    t->patience = lab->patience_ns;
    for (int i = 0; i < t->n; i++) calibrate(lab, &t->entry[i]);
}

void trial_pass(Lab *lab, Trial *t, int rounds, bool cold) {
    double begin = lab_now();
    bool patient = t->patience > 0;
    int first = t->rounds, end = first + rounds < TRIAL_ROUNDS ? first + rounds : TRIAL_ROUNDS;
    for (; t->rounds < end; t->rounds++) {
        int r = t->rounds;
        if (r > first && lab->pass_ns > 0 && lab_now() - begin > lab->pass_ns) break;
        for (int i = 0; i < t->n; i++) {
            Entry *e = &t->entry[(i + r) % t->n];
            bool rests = e->sparse && t->passes % 2;
            if (cold && r == first && !rests) cold_call(e);
            if (rests || (e->sparse && r > first)) {
                e->ns[r] = NAN;
                continue;
            }
            if (t->threads > 1) settle(t);
            e->ns[r] = quiet_round(lab, e, &t->patience);
        }
    }
    t->begin[t->passes] = first;
    if (t->rounds > first) t->begin[++t->passes] = t->rounds;
    lab->rounds_run += (t->rounds - first) * t->n;
    lab->noisy += patient && t->patience <= 0;
}

void trial_run(Lab *lab, Trial *t) {
    enum { LEAST = 5 }; // rounds, whatever their duration
    double end = lab_now() + lab->trial_ns;
    int most = lab->rounds < TRIAL_ROUNDS ? lab->rounds : TRIAL_ROUNDS;
    trial_begin(lab, t);
    while (t->rounds < most) {
        int r = t->rounds;
        if (lab->trial_ns > 0 && r >= LEAST && r % 2 && lab_now() > end) break;
        trial_pass(lab, t, 1, r < lab->cold);
    }
}

// --- Statistics ----------------------------------------------------------------------------------

Estimate trial_estimate(const Trial *t, const double *x) {
    double value[TRIAL_ROUNDS], of[TRIAL_ROUNDS];
    int n = 0;
    for (int p = 0; p < t->passes; p++) {
        int k = 0;
        for (int r = t->begin[p]; r < t->begin[p + 1]; r++)
            if (isfinite(x[r])) of[k++] = x[r];
        if (k) value[n++] = median(of, k);
    }
    return estimate(value, n);
}

Estimate trial_time(const Trial *t, int i) {
    return t->entry[i].failed ? (Estimate){NAN, NAN, NAN} : trial_estimate(t, t->entry[i].ns);
}

double trial_median(const Trial *t, int i) { return trial_time(t, i).median; }

double trial_cold(const Trial *t, int i) {
    double x[TRIAL_COLD];
    memcpy(x, t->entry[i].cold, sizeof x);
    return median(x, t->entry[i].failed ? 0 : t->entry[i].ncold);
}

double trial_best(const Trial *t, int i) {
    double best = INFINITY;
    for (int r = 0; r < t->rounds; r++) best = fmin(best, t->entry[i].ns[r]);
    return best;
}

double trial_fast(const Trial *t, int i) {
    double x[TRIAL_ROUNDS];
    int n = 0;
    for (int r = 0; r < t->rounds; r++)
        if (isfinite(t->entry[i].ns[r])) x[n++] = t->entry[i].ns[r];
    sort_values(x, n);
    return t->entry[i].failed ? NAN : quantile(x, n, 0.1);
}

Estimate trial_ratio(const Trial *t, int i, int j) {
    double x[TRIAL_ROUNDS];
    if (t->entry[i].failed || t->entry[j].failed) return (Estimate){NAN, NAN, NAN};
    for (int r = 0; r < t->rounds; r++) x[r] = t->entry[j].ns[r] / t->entry[i].ns[r];
    return trial_estimate(t, x);
}
