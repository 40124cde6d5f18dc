// The front-end from text to a bound Program: microseconds and bytes, through the public API.
//
//     make bench-front
//
// Each round parses the text, infers types and ranges, and binds every size, from nothing to a
// lw_bound; freeing is not timed. All memory of the context comes through the hooks below, and
// malloc itself is counted, which detects allocations outside the arenas. Bars: the p50 of mv at
// most 20 us, of prodModel at most 150 us; at most 256 KiB for prodModel; nothing outside the
// arenas.
#include "lab/stats.h"
#include "loopwright.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM = 200, ROUNDS = 5001, MAX_TEXT = 1 << 16, MAX_SIZES = 32 };

typedef struct Case {
    const char *file, *function;
    double limit_us; // 0: none
    lw_size sizes[MAX_SIZES];
} Case;

static const Case cases[] = {
    {"mv.tc", "mv", 20, {{"M", 64}, {"K", 32}}},
    {"sgemm.tc", "sgemm", 0, {{"M", 64}, {"N", 48}, {"K", 32}}},
    {"conv2d.tc",
     "conv2d",
     0,
     {{"B", 2}, {"IP", 3}, {"H", 32}, {"W", 32}, {"OP", 8}, {"KH", 3}, {"KW", 3}}},
    {"prod_model.tc",
     "prodModel",
     150,
     {{"E1", 100},
      {"D", 16},
      {"B", 8},
      {"L1", 5},
      {"E2", 100},
      {"L2", 7},
      {"WX", 24},
      {"WY", 10},
      {"M", 42},
      {"N", 12},
      {"O", 11},
      {"P", 9},
      {"Q", 4}}},
};

// --- Memory --------------------------------------------------------------------------------------

static size_t live, peak, calls; // through the hooks
static size_t outside;           // calls of malloc and similar functions other than by the hooks

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *ptr);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);

void *malloc(size_t size) {
    outside++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    outside++;
    return __libc_calloc(count, size);
}
void *realloc(void *ptr, size_t size) {
    outside++;
    return __libc_realloc(ptr, size);
}
void free(void *ptr) { __libc_free(ptr); }

static void *hook_alloc(void *user, size_t size) {
    (void)user;
    calls++;
    live += size;
    if (live > peak) peak = live;
    return __libc_malloc(size);
}

static void hook_free(void *user, void *ptr, size_t size) {
    (void)user;
    live -= size;
    __libc_free(ptr);
}

// --- Measuring -----------------------------------------------------------------------------------

static void die(lw_context *ctx, const char *what) {
    fprintf(stderr, "bench: %s failed\n%s", what, lw_diag_text(ctx));
    exit(1);
}

static double round_us(lw_context *ctx, const Case *c, size_t nsizes, const char *text,
                       size_t len) {
    lw_module *mod;
    lw_bound *bound;
    double start = lab_now();
    if (lw_parse(ctx, c->file, text, len, NULL, &mod)) die(ctx, "parse");
    const lw_function *f = lw_module_find(mod, c->function);
    if (!f || lw_bind(ctx, f, c->sizes, nsizes, &bound)) die(ctx, "bind");
    double us = (lab_now() - start) * 1e-3;
    lw_bound_free(bound);
    lw_module_free(mod);
    return us;
}

static size_t read_text(const char *file, char *text) {
    char path[256];
    snprintf(path, sizeof path, "examples/tc/%s", file);
    FILE *in = fopen(path, "rb");
    if (!in) {
        fprintf(stderr, "bench: no %s; run it from the root of the source tree\n", path);
        exit(1);
    }
    size_t len = fread(text, 1, MAX_TEXT, in);
    fclose(in);
    return len;
}

// Prints one row; returns whether it meets its bars.
static int measure(lw_context *ctx, const Case *c) {
    static char text[MAX_TEXT];
    static double us[ROUNDS];
    size_t len = read_text(c->file, text), nsizes = 0;
    while (nsizes < MAX_SIZES && c->sizes[nsizes].name) nsizes++;
    for (int i = 0; i < WARM; i++) round_us(ctx, c, nsizes, text, len);
    size_t base = peak = live;
    calls = outside = 0;
    for (int i = 0; i < ROUNDS; i++) us[i] = round_us(ctx, c, nsizes, text, len);
    sort_values(us, ROUNDS);
    size_t bytes = peak - base, loose = outside;
    double p50 = us[ROUNDS / 2];
    int ok = (!c->limit_us || p50 <= c->limit_us) && bytes <= 256 * 1024 && !loose;
    printf("%-10s %8.1f %8.1f %8.1f %8.1f %9.1f %7.1f %8zu   ", c->function, us[0], p50,
           us[ROUNDS * 9 / 10], us[ROUNDS * 99 / 100], (double)bytes / 1024, (double)calls / ROUNDS,
           loose);
    printf(c->limit_us ? "%s (p50 <= %g us)\n" : "%s\n", ok ? "ok" : "OVER", c->limit_us);
    return ok;
}

int main(void) {
    lw_context_options options = {
        .struct_size = sizeof options, .alloc = hook_alloc, .free = hook_free};
    int ok = 1;
    // As in a long-running program, the heap keeps its memory.
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
    lw_context *ctx = lw_context_new(&options);
    printf("text -> bound Program, %d rounds, us; memory of one round, chunks, calls of malloc\n",
           ROUNDS);
    printf("%-10s %8s %8s %8s %8s %9s %7s %8s\n", "", "best", "p50", "p90", "p99", "KiB", "chunks",
           "malloc");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) ok &= measure(ctx, &cases[i]);
    lw_context_free(ctx);
    return !ok;
}
