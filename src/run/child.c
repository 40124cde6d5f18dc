#define _GNU_SOURCE
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// --- Starting and ending -------------------------------------------------------------------------

// The child does not inherit the parent's signal handling.
static void settle(pid_t parent) {
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL); // this fails for some signals, without harm
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0); // the parent died before prctl
}

static void close_pair(const int fd[2]) {
    close(fd[0]);
    close(fd[1]);
}

bool child_start(Child *c, ChildBody *body, void *arg) {
    int to[2], from[2];
    *c = (Child){0};
    if (pipe2(to, O_CLOEXEC) != 0) return false;
    if (pipe2(from, O_CLOEXEC) != 0) return close_pair(to), false;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(to[1]);
        close(from[0]);
        settle(parent);
        body(arg, to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    if (pid < 0) {
        close(to[1]);
        close(from[0]);
        return false;
    }
    *c = (Child){pid, to[1], from[0]};
    return true;
}

static void wait_for(pid_t pid) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

void child_end(Child *c) {
    if (!c->pid) return;
    kill(c->pid, SIGKILL);
    wait_for(c->pid);
    close(c->to);
    close(c->from);
    *c = (Child){0};
}

// --- Talking -------------------------------------------------------------------------------------

bool pipe_say(int out, char what) {
    for (;;) {
        ssize_t n = write(out, &what, 1);
        if (n == 1) return true;
        if (n < 0 && errno != EINTR) return false;
    }
}

bool pipe_hear(int in, char *what) {
    for (;;) {
        ssize_t n = read(in, what, 1);
        if (n == 1) return true;
        if (n == 0 || errno != EINTR) return false;
    }
}

// A library must not change the process's SIGPIPE handling: the signal is blocked and consumed.
bool child_tell(const Child *c, char what) {
    sigset_t broken, old, pending;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &old);
    bool ok = pipe_say(c->to, what);
    if (!ok && !was_pending) sigtimedwait(&broken, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}

ChildSaid child_hear(Child *c, double seconds, char *what) {
    struct pollfd p = {.fd = c->from, .events = POLLIN};
    int ms = seconds > 1e6 ? 1000000000 : (int)(seconds * 1e3 + 0.999);
    if (poll(&p, 1, ms) <= 0) {
        // Another child may keep the pipe open after ours has exited.
        siginfo_t info = {0};
        bool dead = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
                    info.si_pid == c->pid;
        return dead ? CHILD_DIED : CHILD_SILENT;
    }
    return pipe_hear(c->from, what) ? CHILD_SAID : CHILD_DIED;
}

// --- Processors ----------------------------------------------------------------------------------

int nth_processor(int n) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    int left = n % CPU_COUNT(&set);
    for (int i = CPU_SETSIZE - 1; i >= 0; i--)
        if (CPU_ISSET((size_t)i, &set) && left-- == 0) return i;
    return -1;
}

void child_pin(int processor) {
    cpu_set_t set;
    if (processor < 0) return;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    sched_setaffinity(0, sizeof set, &set); // if it is refused, timing is noisier
}

bool child_avoid(int processor) {
    cpu_set_t set;
    if (processor < 0 || sched_getaffinity(0, sizeof set, &set) != 0) return false;
    CPU_CLR((size_t)processor, &set);
    return CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0;
}

void child_rejoin(int processor) {
    cpu_set_t set;
    if (processor < 0 || sched_getaffinity(0, sizeof set, &set) != 0) return;
    CPU_SET((size_t)processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

_Noreturn void child_leave(void) { _exit(0); }

// --- Alarms --------------------------------------------------------------------------------------

// Timers of thread CPU time expire only at the next scheduler tick, milliseconds late. So a
// wall-clock timer is used, and restarted for the time that the thread did not run.

static void start_timer(const Alarm *a, double seconds) {
    struct itimerspec t = {0};
    if (seconds > 0 && seconds < 1e6) {
        t.it_value.tv_sec = (time_t)seconds;
        t.it_value.tv_nsec = (long)((seconds - (double)t.it_value.tv_sec) * 1e9) + 1;
    }
    if (a->works) timer_settime(a->timer, 0, &t, NULL);
}

static double thread_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_alarm(int number, siginfo_t *info, void *context) {
    const Alarm *a = info->si_value.sival_ptr;
    (void)number, (void)context;
    double missing = a->all_time ? 0 : a->due - thread_time();
    if (missing > 0)
        start_timer(a, missing);
    else
        a->rang(a->arg);
}

void alarm_open(Alarm *a, bool all_time, void (*rang)(void *arg), void *arg) {
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    *a = (Alarm){.rang = rang, .arg = arg, .all_time = all_time};
    event.sigev_value.sival_ptr = a;
    event._sigev_un._tid = gettid();
    a->works = sigaction(SIGALRM, &action, NULL) == 0 &&
               timer_create(CLOCK_MONOTONIC, &event, &a->timer) == 0;
}

void alarm_set(Alarm *a, double seconds) {
    if (!a->all_time && seconds > 0) a->due = thread_time() + seconds;
    start_timer(a, seconds);
}

// --- Memory --------------------------------------------------------------------------------------

enum { LINE = 64, STAGGER = 17 * LINE };

bool guarded_new(Guarded *g, size_t bytes, bool shared) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *g = (Guarded){.bytes = bytes};
    if (bytes > SIZE_MAX / 2) return false;
    size_t lines = (bytes + LINE - 1) / LINE * LINE;
    size_t inside = (lines + page - 1) / page * page;
    g->mapped = inside + 2 * page;
    int flags = MAP_ANONYMOUS | MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE);
    g->map = mmap(NULL, g->mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (g->map == MAP_FAILED) return false;
    char *start = (char *)g->map + page;
    if (!shared) madvise(start, inside, MADV_HUGEPAGE); // as for a program's large arrays
    mprotect(g->map, page, PROT_NONE);
    mprotect(start + inside, page, PROT_NONE);
    g->data = start + (inside - lines);
    return true;
}

bool ordinary_new(Guarded *g, size_t bytes, int number) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = (size_t)number * STAGGER % page;
    *g = (Guarded){.bytes = bytes};
    if (bytes > SIZE_MAX / 2) return false;
    g->mapped = (bytes + offset + page - 1) / page * page + 2 * page;
    int flags = MAP_ANONYMOUS | MAP_NORESERVE | MAP_PRIVATE;
    g->map = mmap(NULL, g->mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (g->map == MAP_FAILED) return false;
    g->data = (char *)g->map + page + offset;
    return true;
}

void ordinary_touch(const Guarded *g) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < g->mapped; i += page) {
        volatile char *p = (char *)g->map + i;
        *p = *p;
    }
}

void guarded_protect(const Guarded *g) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (g->map && g->mapped > 2 * page)
        mprotect((char *)g->map + page, g->mapped - 2 * page, PROT_READ);
}

void guarded_free(Guarded *g) {
    if (g->map && g->map != MAP_FAILED) munmap(g->map, g->mapped);
    *g = (Guarded){0};
}
