// A child process that works for this one: started by fork, told and heard through pipes, ended
// when it is no longer wanted. And memory for it: between guard pages, shared or not.
//
// A child has every signal at its default, ignores the terminal's interrupt, leaves no core file
// behind and dies with its parent. It never returns from its body.
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
// Waits at most so long for a character.
ChildSaid child_hear(Child *c, double seconds, char *what);
void child_end(Child *c); // at once; nothing when there is none

// --- The child's own side
// --------------------------------------------------------------------------
bool pipe_say(int out, char what);
bool pipe_hear(int in, char *what); // waits; false: the parent is gone
// Where this thread runs: on one processor (-1: as before); on all others, if there are any; and
// there again.
void child_pin(int processor);
bool child_avoid(int processor); // false: as before
void child_rejoin(int processor);
int nth_processor(int n); // of those this process may run on, from the last, around and around
_Noreturn void child_leave(void);

// Calls rang(arg) on this thread, wherever it is, so many seconds after alarm_set; 0: no more. The
// seconds are those that the thread has a processor, or all that pass, and are met to some
// microseconds. What it calls must be safe in a signal handler; it may leave by siglongjmp.
typedef struct Alarm {
    timer_t timer;
    bool works; // otherwise nothing ever rings
    bool all_time;
    double due; // of the thread's own clock, unless all time counts
    void (*rang)(void *arg);
    void *arg;
} Alarm;
void alarm_open(Alarm *a, bool all_time, void (*rang)(void *arg), void *arg);
void alarm_set(Alarm *a, double seconds);

// --- Memory
// ----------------------------------------------------------------------------------------
// `bytes` zeroed bytes, the first one aligned to a cache line, with a page behind them (less than a
// line further on) and one in front that nobody may touch. NULL: no memory.
typedef struct Guarded {
    void *map;
    size_t mapped;
    char *data;
    size_t bytes;
} Guarded;
bool guarded_new(Guarded *g, size_t bytes, bool shared);
void guarded_free(Guarded *g);
// Memory as a caller's: no page that nobody may touch beside it, since masked accesses there take
// microcode assists, and ordinary pages. Of several arrays each begins 17 lines further into its
// page than the one before, so that stores to one do not alias with loads from another; the cli
// places the arguments of `run` in the same way. Give it back with guarded_free.
bool ordinary_new(Guarded *g, size_t bytes, int number);
// Writes to every page of it, also those in front and behind, so that none is missing or shared
// with another process when a kernel is timed there. Contents stay.
void ordinary_touch(const Guarded *g);
void guarded_protect(const Guarded *g); // from here on it can only be read

#endif
