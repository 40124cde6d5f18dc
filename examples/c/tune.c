// Finds a fast schedule for a matrix product by measuring, and uses it.
//
//     cc tune.c $(pkg-config --cflags --libs loopwright) -o tune
//     ./tune [SIZE] [SECONDS]
#include <loopwright.h>

#include <stdio.h>
#include <stdlib.h>

static const char text[] = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                           "    C(m,n) +=! A(m,k) * B(k,n)\n"
                           "}\n";

static void die(lw_context *ctx) {
    fprintf(stderr, "%s", lw_diag_text(ctx));
    exit(1);
}

// Called after each batch of candidates.
static void show(void *user, const lw_tune_state *s) {
    double *shown = user;
    if (s->elapsed < *shown + 0.25 || s->seconds <= 0) return;
    *shown = s->elapsed;
    printf("%6.2f s  %5lld trials  best %8.2f us  %6.1f GFLOP/s\n", s->elapsed,
           (long long)s->trials, s->seconds * 1e6, s->gflops);
}

int main(int argc, char **argv) {
    long long size = argc > 1 ? atoll(argv[1]) : 64;
    double seconds = argc > 2 ? atof(argv[2]) : 1, shown = 0;
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    lw_bound *b;
    if (lw_parse(ctx, "mm.tc", text, sizeof text - 1, NULL, &mod)) die(ctx);
    lw_size sizes[] = {{"M", size}, {"N", size}, {"K", size}};
    if (lw_bind(ctx, lw_module_function(mod, 0), sizes, 3, &b)) die(ctx);

    lw_tune_options o = {
        .struct_size = sizeof o, .seconds = seconds, .gap = 0.02, .progress = show, .user = &shown};
    const lw_tune_result *r;
    if (lw_tune(ctx, b, &o, &r)) die(ctx);
    const lw_tune_state *s = r->state;
    printf(
        "%.2f us (%.2f to %.2f), %.1f GFLOP/s, %lld trials in %.1f s, %.0f %% of it in kernels\n",
        s->seconds * 1e6, s->low * 1e6, s->high * 1e6, s->gflops, (long long)s->trials, s->elapsed,
        100 * s->kernel_time / s->elapsed);
    if (s->bound > 0) printf("nothing can be faster than %.2f us\n", s->bound * 1e6);
    printf("%s", r->schedule);

    // Results belong to the last call, so keep a copy of the schedule.
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
    return 0;
}
