// A function of 4,000 statements compiles in about four times the time that 1,000 take: no step
// looks at every statement for every statement. Processor time, the least of a few runs. A step
// that did would make it 16; caches that no longer hold it all are allowed for.
#include "unit/check.h"

#include "base/arena.h"
#include "base/text.h"
#include "loopwright.h"

#include <limits.h>
#include <malloc.h>
#include <time.h>

// Each statement reads the one before.
static void chain(Text *t, int n) {
    text_add(t, "def f(float(N) X) -> (Y) {\n  T0(i) = X(i) + 1\n");
    for (int k = 1; k < n - 1; k++) text_printf(t, "  T%d(i) = T%d(i) * 0.5 + %d\n", k, k - 1, k);
    text_printf(t, "  Y(i) = T%d(i)\n}\n", n - 2);
}

// As many results.
static void results(Text *t, int n) {
    text_add(t, "def f(float(N) X) -> (");
    for (int k = 0; k < n; k++) text_printf(t, k ? ", Y%d" : "Y%d", k);
    text_add(t, ") {\n");
    for (int k = 0; k < n; k++) text_printf(t, "  Y%d(i) = X(i) * %d\n", k, k);
    text_add(t, "}\n");
}

// One result, updated again and again.
static void updates(Text *t, int n) {
    text_add(t, "def f(float(N) X) -> (Y) {\n  Y(i) = X(i)\n");
    for (int k = 1; k < n; k++) text_printf(t, "  Y(i) += X(i) * %d\n", k);
    text_add(t, "}\n");
}

// The same in place: each of them reads and writes.
static void in_place(Text *t, int n) {
    text_add(t, "def f(float(N) X) -> (Y) {\n  Y(i) = X(i)\n");
    for (int k = 1; k < n; k++) text_printf(t, "  Y(i) = Y(i) * 0.5 + %d\n", k);
    text_add(t, "}\n");
}

// Sums, each with what stands behind it.
static void sums(Text *t, int n) {
    text_add(t, "def f(float(N) X, float(N,N) W) -> (Y) {\n  R0(i) = X(i)\n");
    for (int k = 1; k < n / 2; k++)
        text_printf(t, "  S%d(i) +=! W(i,j) * R%d(j)\n  R%d(i) = relu(S%d(i))\n", k, k - 1, k, k);
    text_printf(t, "  Y(i) = R%d(i)\n}\n", n / 2 - 1);
}

// Products, each of the one before, with tiles that may share registers with their neighbours.
static void products(Text *t, int n) {
    n /= 4;
    text_add(t, "def f(float(N,N) P0, float(N,N) W) -> (Y) {\n");
    for (int k = 1; k < n; k++) text_printf(t, "  P%d(i,j) +=! P%d(i,k) * W(k,j)\n", k, k - 1);
    text_printf(t, "  Y(i,j) = P%d(i,j)\n}\n", n - 1);
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double compile(void (*shape)(Text *, int), int n) {
    double least = 1e9;
    Arena arena;
    arena_init(&arena, &allocator_libc);
    Text text = {.arena = &arena};
    shape(&text, n);
    const char *s = text_str(&text);
    for (int i = 0; i < 5; i++) {
        lw_context *ctx = lw_context_new(NULL);
        lw_module *mod = NULL;
        lw_bound *bound = NULL;
        lw_kernel *kernel = NULL;
        double start = processor_seconds();
        CHECK(!lw_parse(ctx, "f.tc", s, strlen(s), NULL, &mod));
        CHECK(!lw_bind(ctx, lw_module_function(mod, 0), (lw_size[]){{"N", 16}}, 1, &bound));
        if (!CHECK(!lw_compile(
                ctx, bound,
                &(lw_compile_options){.struct_size = sizeof(lw_compile_options), .threads = 1},
                &kernel)))
            printf("%s", lw_diag_text(ctx));
        double seconds = processor_seconds() - start;
        if (seconds < least) least = seconds;
        lw_kernel_free(kernel);
        lw_bound_free(bound);
        lw_module_free(mod);
        lw_context_free(ctx);
    }
    arena_free(&arena);
    return least;
}

// Only code that does nothing but compile tells how time grows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STATEMENTS = 100, TELLS = false };
#else
enum { STATEMENTS = 1000, TELLS = true };
#endif

// Memory is kept from one time to the next: what the kernel takes to hand it out again is not the
// compiler's. Who else is on the machine may strike one of the two: not three times in a row.
static void check_scale(const char *name, void (*shape)(Text *, int), double most) {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    bool ok = !TELLS;
    for (int i = 0; i == 0 || (i < 3 && !ok); i++) {
        double few = compile(shape, STATEMENTS), many = compile(shape, 4 * STATEMENTS);
        printf("%s: %.1f ms, four times as many %.1f ms (%.1f)\n", name, few * 1e3, many * 1e3,
               many / few);
        ok |= many < most * few;
    }
    CHECK(ok);
}

TEST(a_chain_of_statements) { check_scale("chain", chain, 6); }
TEST(many_results) { check_scale("results", results, 9); }
TEST(many_updates) { check_scale("updates", updates, 9); }
TEST(many_updates_in_place) { check_scale("in place", in_place, 9); }
TEST(many_sums) { check_scale("sums", sums, 9); }
TEST(many_products) { check_scale("products", products, 9); }
