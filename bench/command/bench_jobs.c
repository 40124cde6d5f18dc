// The plan of a run: open rows alternate, pass by pass.
//
// The speed of a shared machine changes from minute to minute, and consecutive rounds do not see
// that. So every row is prepared once (its kernel compiled, its peers' copies holding their
// operands, results compared) and measured in passes: the first pass of all rows, the second of all
// rows, and so on. The value of a row is the median over its passes, and its interval is that of
// the passes, which includes the variation of the machine during the run.
//
//     row 1   open, pass 1   .   .   pass 2   .   .   pass 3 ...   finish
//     row 2        .   open, pass 1   .   pass 2   .   .   ...
//
// Rows stay open while memory suffices; then a batch of them is finished before the next is opened.
// With --quick the run has a deadline: after LEAST passes, another one starts only if the duration
// of the last such pass still fits. The summary reports the number of passes.
#include "command/bench.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LEAST = 3, QUICK = 9, FULL = 11 };

// Half of the free memory, because the peers' copies need memory too.
static double memory(void) {
    return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 2;
}

static double footprint(const BenchJob *j) {
    double bytes = 0, page = 2 << 20;
    for (int i = 0; i < j->kernel.n; i++) bytes += (double)j->kernel.bytes[i];
    return (bytes + 4 * page) * (j->trial->n + 1);
}

static void progress(const Bench *b, const char *what, int i, int n) {
    if (b->out && isatty(STDERR_FILENO)) fprintf(stderr, "\r  %s %d of %d \033[K", what, i, n);
}

static void progress_end(const Bench *b) {
    if (b->out && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
}

static void nap(double ns) {
    struct timespec t = {(time_t)(ns / 1e9), (long)(ns - 1e9 * (double)(time_t)(ns / 1e9))};
    if (ns > 0) nanosleep(&t, NULL);
}

// Flushing large operands from the caches takes long: with --quick that is done once.
static bool cold(const Bench *b, const BenchJob *j) {
    int p = j->trial->passes;
    if (!j->trial->entry[0].flush) return false;
    return p == 0 || (p % 2 == 0 && (!b->quick || j->kernel.pool.blocks <= 1));
}

static void pass(Bench *b, BenchJob *j) {
    BenchRow *r = &b->row[j->row];
    if (r->note) return;
    lab_pin(&b->lab, j->item->threads < 2);
    trial_pass(&b->lab, j->trial, b->quick ? 3 : 5, cold(b, j));
    lab_pin(&b->lab, true);
    r->passes = j->trial->passes;
    if (j->kind->sample) j->kind->sample(b, j);
}

static void open_job(Bench *b, BenchJob *j) {
    j->row = b->n;
    j->trial = cli_alloc(sizeof *j->trial);
    *j->trial = (Trial){.own = &b->lab, .threads = j->item->threads};
    bench_row(b, j->item);
    lab_pin(&b->lab, j->item->threads < 2);
    j->kind->open(b, j, &b->row[j->row]);
    if (!b->row[j->row].note) trial_begin(&b->lab, j->trial);
    lab_pin(&b->lab, true);
    pass(b, j);
}

static void close_job(Bench *b, BenchJob *j) {
    if (!b->row[j->row].note) j->kind->finish(b, j, &b->row[j->row]);
    trial_close(j->trial);
    bench_kernel_close(&j->kernel);
    bench_kernel_close(&j->chosen);
    free(j->trial);
    free(j->us);
}

// Passes are at least a quarter of a second apart, so that a single row samples the machine at
// different times too.
static void more_passes(Bench *b, BenchJob *jobs, int n, double end) {
    const double apart = 2.5e8;
    int most = b->quick ? QUICK : FULL;
    double took[FULL] = {0};
    for (int p = 1; p < most; p++) {
        // Long entries run in every second pass.
        if (end > 0 && p >= LEAST && lab_now() + took[p - 2] > end) break;
        double begin = lab_now();
        progress(b, "pass", p + 1, most);
        for (int i = 0; i < n; i++) pass(b, &jobs[i]);
        took[p] = lab_now() - begin;
        if (p + 1 < most) nap(apart - took[p]);
    }
}

static void print_groups(Bench *b, int *printed, bool all) {
    for (int i = *printed + 1; i <= b->n; i++) {
        const BenchItem *last = b->row[i - 1].item, *next = i < b->n ? b->row[i].item : NULL;
        if (next ? !strcmp(last->suite, next->suite) && !strcmp(last->group, next->group) : !all)
            continue;
        bench_print_group(b, *printed, i);
        *printed = i;
    }
}

void bench_jobs(Bench *b, BenchJob *jobs, int n) {
    double most = memory(), begin = lab_now();
    int printed = b->n;
    for (int first = 0, end; first < n; first = end) {
        double held = 0;
        for (end = first; end < n && held < most; end++) {
            progress(b, "preparing row", end + 1, n);
            open_job(b, &jobs[end]);
            held += footprint(&jobs[end]);
        }
        // The remaining time minus the time to open the other rows is divided among the batches.
        double now = lab_now(), rest = (now - begin) / end * (n - end);
        double share = (double)(end - first) / (n - first);
        more_passes(b, jobs + first, end - first,
                    b->deadline > 0 ? now + (b->deadline - now - rest) * share : 0);
        progress_end(b);
        for (int i = first; i < end; i++) close_job(b, &jobs[i]);
        print_groups(b, &printed, end == n);
    }
}

void bench_note(BenchJob *j, double us) {
    if (j->n == j->cap) {
        j->cap = j->cap ? 2 * j->cap : 64;
        double *more = cli_alloc((size_t)j->cap * sizeof *more);
        if (j->n) memcpy(more, j->us, (size_t)j->n * sizeof *more);
        free(j->us);
        j->us = more;
    }
    j->us[j->n++] = us;
}
