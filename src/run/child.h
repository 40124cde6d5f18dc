// A worker process: started by fork, controlled through pipes, killed when it is no longer needed.
// Also memory for it, with or without guard pages.
//
// A child has every signal at its default, ignores the terminal's interrupt, writes no core file
// and dies with its parent. It never returns from its body.
#ifndef LW_RUN_CHILD_H
#define LW_RUN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

typedef struct Child {
    pid_t pid;    // 0: there is none
    int to, from; // pipes
} Child;

typedef void ChildBody(void *arg, int in, int out);

bool child_start(Child *c, ChildBody *body, void *arg); // false: no process or no pipe
bool child_tell(const Child *c, char what);             // false: it is gone
typedef enum ChildSaid { CHILD_SAID, CHILD_DIED, CHILD_SILENT } ChildSaid;
// Waits at most `seconds` for a character.
ChildSaid child_hear(Child *c, double seconds, char *what);
void child_end(Child *c); // kills it immediately; no effect if there is none

// --- The child's side -------------------------------------------------------------------------
bool pipe_say(int out, char what);
bool pipe_hear(int in, char *what); // waits; false: the parent is gone
// Binds this thread to one processor (-1: restores the previous set), or to all others, if there
// are any.
void child_pin(int processor);
bool child_avoid(int processor); // false: unchanged
void child_rejoin(int processor);
int nth_processor(int n); // of the allowed processors, counted cyclically from the last
_Noreturn void child_leave(void);

// Calls rang(arg) on this thread, asynchronously, `seconds` after alarm_set; 0 cancels. Time is the
// processor time of the thread or wall-clock time, accurate to some microseconds. The callback must
// be safe in a signal handler; it may leave by siglongjmp.
typedef struct Alarm {
    timer_t timer;
    bool works; // if false, the alarm never rings
    bool all_time;
    double due; // time on the thread's clock, or on the wall clock
    void (*rang)(void *arg);
    void *arg;
} Alarm;
void alarm_open(Alarm *a, bool all_time, void (*rang)(void *arg), void *arg);
void alarm_set(Alarm *a, double seconds);

// --- Memory -----------------------------------------------------------------------------------
// `bytes` zeroed bytes, aligned to a cache line, with a guard page after them (less than a line
// further on) and one before them.
typedef struct Guarded {
    void *map;
    size_t mapped;
    char *data;
    size_t bytes;
} Guarded;
bool guarded_new(Guarded *g, size_t bytes, bool shared);
void guarded_free(Guarded *g);
// Memory like that of a caller, in ordinary pages without guard pages, next to which masked
// accesses would take microcode assists. Array `number` begins 17 lines further into its page than
// the previous one, so that stores to one do not alias with loads from another; the cli places the
// arguments of `run` in the same way. Free it with guarded_free.
bool ordinary_new(Guarded *g, size_t bytes, int number);
// Writes to every page, including those before and after the bytes, so that none is missing or
// shared with another process while a kernel is timed. The contents do not change.
void ordinary_touch(const Guarded *g);
void guarded_protect(const Guarded *g); // makes it read-only

#endif
