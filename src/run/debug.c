// Files for perf, and the text that lines refer to. See debug.h.
#define _GNU_SOURCE
#include "run/debug.h"

#include "run/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 512, NAME = 128 };

struct Debug {
    int what;
    pthread_mutex_t lock;
    ForkMark fork;
    char *given;       // requested folder, or NULL
    char folder[PATH]; // of this process
    unsigned number;   // kernels so far
    int dump;          // the jitdump file, or -1
    void *mark;        // the mapping by which perf finds the file
};

// --- Requested outputs -------------------------------------------------------------------------

static bool is_word(const char *text, size_t len, const char *word) {
    return strlen(word) == len && !memcmp(text, word, len);
}

int debug_wanted(void) {
    const char *perf = getenv("LW_PERF"), *gdb = getenv("LW_GDB");
    int what = gdb && *gdb && strcmp(gdb, "0") != 0 ? DEBUG_GDB : 0;
    while (perf && *perf) {
        size_t len = strcspn(perf, ",");
        if (is_word(perf, len, "map"))
            what |= DEBUG_MAP;
        else if (is_word(perf, len, "jitdump"))
            what |= DEBUG_JITDUMP;
        else
            return -1;
        perf += len;
        if (*perf == ',') perf++;
    }
    return what;
}

// --- Files -------------------------------------------------------------------------------------

static bool write_all(int fd, const void *data, size_t size) {
    for (const char *at = data; size;) {
        ssize_t n = write(fd, at, size);
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

// The folder of this process; a child has its own, unless one was requested.
static void choose_folder(Debug *d) {
    const char *base = getenv("TMPDIR");
    int n = d->given ? snprintf(d->folder, PATH, "%s", d->given)
                     : snprintf(d->folder, PATH, "%s/loopwright-%d-XXXXXX",
                                base && *base ? base : "/tmp", (int)getpid());
    if (n < 0 || n >= PATH) d->folder[0] = 0;
    // A unique name, because other users may write to /tmp.
    if (d->folder[0] &&
        (d->given ? mkdir(d->folder, 0700) && errno != EEXIST : mkdtemp(d->folder) == NULL))
        d->folder[0] = 0;
}

static int make_file(const Debug *d, const char *name, const char *end, int flags, char *path) {
    int n = snprintf(path, PATH + NAME, "%s/%s%s", d->folder, name, end);
    if (!d->folder[0] || n < 0 || n >= PATH + NAME) return -1;
    return open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void write_text(const Debug *d, const char *name, const char *text) {
    char path[PATH + NAME];
    int fd = make_file(d, name, ".tree", O_WRONLY | O_TRUNC, path);
    if (fd < 0) return;
    write_all(fd, text, strlen(text));
    close(fd);
}

// One line: start, size and name. perf looks for this file and no other.
static void write_map(const char *name, const DebugCode *c) {
    char path[64], line[NAME + 64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    int n = snprintf(line, sizeof line, "%llx %zx %s\n", (unsigned long long)(uintptr_t)c->code,
                     c->size, name);
    write_all(fd, line, (size_t)n);
    close(fd);
}

// --- jitdump: tools/perf/Documentation/jitdump-specification.txt of Linux ------------------------

enum { DUMP_LOAD = 0, DUMP_LINES = 2, DUMP_CLOSE = 3, MACHINE_X86_64 = 62 };

typedef struct DumpHeader {
    uint32_t magic, version, total_size, machine, pad, pid;
    uint64_t time, flags;
} DumpHeader;

typedef struct DumpRecord {
    uint32_t id, total_size;
    uint64_t time;
} DumpRecord;

typedef struct DumpLoad {
    DumpRecord record;
    uint32_t pid, tid;
    uint64_t vma, address, size, index;
} DumpLoad;

typedef struct DumpLine {
    uint64_t address;
    uint32_t line, column;
} DumpLine;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// perf learns of the file by seeing it mapped as code.
static void open_dump(Debug *d) {
    char name[64], path[PATH + NAME];
    snprintf(name, sizeof name, "jit-%d", (int)getpid());
    d->dump = make_file(d, name, ".dump", O_RDWR | O_TRUNC, path);
    if (d->dump < 0) return;
    DumpHeader h = {.magic = 0x4a695444,
                    .version = 1,
                    .total_size = sizeof h,
                    .machine = MACHINE_X86_64,
                    .pid = (uint32_t)getpid(),
                    .time = now_ns()};
    write_all(d->dump, &h, sizeof h);
    d->mark =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, d->dump, 0);
}

static void dump_lines(Debug *d, const DebugCode *c, const char *file) {
    size_t name = strlen(file) + 1;
    uint64_t head[2] = {(uint64_t)(uintptr_t)c->code, (uint64_t)c->nlines};
    size_t total = sizeof(DumpRecord) + sizeof head + (size_t)c->nlines * (sizeof(DumpLine) + name);
    DumpRecord r = {DUMP_LINES, (uint32_t)total, now_ns()};
    write_all(d->dump, &r, sizeof r);
    write_all(d->dump, head, sizeof head);
    for (int i = 0; i < c->nlines; i++) {
        DumpLine line = {head[0] + c->lines[i].offset, (uint32_t)c->lines[i].line, 0};
        write_all(d->dump, &line, sizeof line);
        write_all(d->dump, file, name);
    }
}

static void dump_code(Debug *d, const DebugCode *c, const char *name) {
    char file[PATH + NAME + 8];
    snprintf(file, sizeof file, "%s/%s.tree", d->folder, name);
    if (d->dump < 0) open_dump(d);
    if (d->dump < 0) return;
    if (c->nlines) dump_lines(d, c, file);
    uint64_t at = (uint64_t)(uintptr_t)c->code;
    DumpLoad load = {.record = {DUMP_LOAD, 0, now_ns()},
                     .pid = (uint32_t)getpid(),
                     .tid = (uint32_t)syscall(SYS_gettid),
                     .vma = at,
                     .address = at,
                     .size = c->size,
                     .index = d->number};
    load.record.total_size = (uint32_t)(sizeof load + strlen(name) + 1 + c->size);
    write_all(d->dump, &load, sizeof load);
    write_all(d->dump, name, strlen(name) + 1);
    write_all(d->dump, c->code, c->size);
}

static void close_dump(Debug *d) {
    DumpRecord end = {DUMP_CLOSE, sizeof end, now_ns()};
    if (d->dump < 0) return;
    write_all(d->dump, &end, sizeof end);
    close(d->dump);
    if (d->mark != MAP_FAILED) munmap(d->mark, (size_t)sysconf(_SC_PAGESIZE));
    d->dump = -1;
}

// --- Kernels -----------------------------------------------------------------------------------

Debug *debug_new(int what, const char *folder) {
    if (!folder || !*folder) folder = getenv("LW_DEBUG_DIR");
    Debug *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->what = what;
    d->dump = -1;
    d->given = folder && *folder ? realpath(folder, NULL) : NULL;
    if (folder && *folder && !d->given) { // it may have to be created
        mkdir(folder, 0700);
        d->given = realpath(folder, NULL);
    }
    pthread_mutex_init(&d->lock, NULL);
    fork_mark_init(&d->fork);
    choose_folder(d);
    return d;
}

void debug_free(Debug *d) {
    if (!d) return;
    if (!fork_happened(&d->fork)) close_dump(d);
    pthread_mutex_destroy(&d->lock);
    fork_mark_free(&d->fork);
    free(d->given);
    free(d);
}

// A child does not use its parent's file.
static void lock(Debug *d) {
    if (fork_happened(&d->fork)) {
        pthread_mutex_init(&d->lock, NULL);
        if (d->dump >= 0) close(d->dump);
        d->dump = -1;
        choose_folder(d);
        fork_settled(&d->fork);
    }
    pthread_mutex_lock(&d->lock);
}

DebugEntry *debug_add(Debug *d, const DebugCode *c) {
    char name[NAME], file[NAME + 8];
    DebugEntry *entry = NULL;
    lock(d);
    snprintf(name, sizeof name, "lw_%.100s_%u", c->name, ++d->number);
    snprintf(file, sizeof file, "%s.tree", name);
    write_text(d, name, c->text);
    if (d->what & DEBUG_MAP) write_map(name, c);
    if (d->what & DEBUG_JITDUMP) dump_code(d, c, name);
    if (d->what & DEBUG_GDB)
        entry = gdb_add(&(GdbCode){.name = name,
                                   .file = file,
                                   .folder = d->folder,
                                   .code = c->code,
                                   .size = c->size,
                                   .lines = c->lines,
                                   .nlines = c->nlines,
                                   .frames = c->frames,
                                   .nframes = c->nframes});
    pthread_mutex_unlock(&d->lock);
    return entry;
}
