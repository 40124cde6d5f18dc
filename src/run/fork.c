#define _GNU_SOURCE
#include "run/fork.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FORKED = 0, SETTLED = 1, SETTLING = 2 }; // a page cleared by fork reads as FORKED

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void fork_mark_init(ForkMark *m) {
    void *page =
        mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, page_size(), MADV_WIPEONFORK) != 0) {
        munmap(page, page_size());
        page = MAP_FAILED;
    }
    m->page = page == MAP_FAILED ? NULL : page;
    atomic_init(&m->word, SETTLED);
    atomic_init(&m->pid, getpid());
    if (m->page) atomic_init(m->page, SETTLED);
}

void fork_mark_free(ForkMark *m) {
    if (m->page) munmap((void *)m->page, page_size());
    m->page = NULL;
}

static _Atomic unsigned *state(ForkMark *m) {
    if (m->page) return m->page;
    pid_t was = atomic_load(&m->pid), is = getpid();
    if (was != is && atomic_compare_exchange_strong(&m->pid, &was, is))
        atomic_store(&m->word, FORKED);
    return &m->word;
}

bool fork_happened(ForkMark *m) {
    _Atomic unsigned *s = state(m);
    for (;;) {
        unsigned now = atomic_load_explicit(s, memory_order_acquire);
        if (__builtin_expect(now == SETTLED, 1)) return false;
        if (now == FORKED && atomic_compare_exchange_strong(s, &now, SETTLING)) return true;
        sched_yield();
    }
}

void fork_settled(ForkMark *m) {
    atomic_store_explicit(m->page ? m->page : &m->word, SETTLED, memory_order_release);
}
