// Kernels through the API: found again, given up, shared by threads and inherited by children; on
// buffers of any strides.
#include "unit/check.h"

#include "api/kernel.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char product[] =
    "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }";

typedef struct Work {
    lw_context *ctx;
    lw_module *mod;
    lw_bound *bound;
    int64_t m, n, k;
} Work;

static bool open_work(Work *w, lw_context *ctx, int64_t m, int64_t n, int64_t k) {
    *w = (Work){.ctx = ctx, .m = m, .n = n, .k = k};
    lw_size sizes[] = {{"M", m}, {"N", n}, {"K", k}};
    return !lw_parse(ctx, "mm.tc", product, strlen(product), NULL, &w->mod) &&
           !lw_bind(ctx, lw_module_function(w->mod, 0), sizes, 3, &w->bound);
}

static void close_work(Work *w) {
    lw_bound_free(w->bound);
    lw_module_free(w->mod);
}

// A matrix somewhere in memory: element (i, j) at data[i*row + j*column].
typedef struct Matrix {
    float *memory, *data;
    size_t count;
    int64_t shape[2], stride[2];
    DLTensor t;
} Matrix;

enum { GAP = 64 };

static Matrix matrix(int64_t rows, int64_t columns, int64_t row, int64_t column, size_t shift) {
    Matrix x = {.shape = {rows, columns}, .stride = {row, column}};
    int64_t low = (row < 0 ? (rows - 1) * row : 0) + (column < 0 ? (columns - 1) * column : 0);
    int64_t high = (row > 0 ? (rows - 1) * row : 0) + (column > 0 ? (columns - 1) * column : 0);
    x.count = (size_t)(high - low + 1) + 2 * GAP;
    x.memory = malloc(x.count * sizeof(float) + 16);
    x.data = (float *)((char *)x.memory + shift) + GAP - low;
    memset(x.memory, 0x5a, x.count * sizeof(float) + 16);
    return x;
}

static float *element(const Matrix *x, int64_t i, int64_t j) {
    return &x->data[i * x->stride[0] + j * x->stride[1]];
}

static float value(int64_t i, int64_t j, int seed) {
    return (float)((i * 7 + j * 3 + seed) % 5 - 2);
}

static void put(Matrix *x, int seed) {
    for (int64_t i = 0; i < x->shape[0]; i++)
        for (int64_t j = 0; j < x->shape[1]; j++) {
            float v = value(i, j, seed);
            memcpy(element(x, i, j), &v, sizeof v);
        }
}

static const DLTensor *tensor(Matrix *x) {
    x->t = (DLTensor){.data = x->data,
                      .device = {kDLCPU, 0},
                      .ndim = 2,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = x->shape,
                      .strides = x->stride};
    return &x->t;
}

// Bytes of the result's memory that are not its elements still hold what they held.
static bool right(const Matrix *c, int64_t depth) {
    size_t bytes = c->count * sizeof(float) + 16, inside = 0, kept = 0;
    char *left = malloc(bytes);
    memcpy(left, c->memory, bytes);
    for (int64_t i = 0; i < c->shape[0]; i++)
        for (int64_t j = 0; j < c->shape[1]; j++) {
            float want = 0, got;
            for (int64_t k = 0; k < depth; k++) want += value(i, k, 1) * value(k, j, 2);
            memcpy(&got, element(c, i, j), sizeof got);
            if (got != want) return free(left), false;
            memset(left + ((char *)element(c, i, j) - (char *)c->memory), 0x5a, sizeof got);
            inside++;
        }
    for (size_t i = 0; i < bytes; i++) kept += left[i] == 0x5a;
    free(left);
    return kept == bytes;
}

typedef struct Layout {
    int64_t a[2], b[2], c[2];
    size_t shift;
} Layout;

static Layout dense(const Work *w) { return (Layout){{w->k, 1}, {w->n, 1}, {w->n, 1}, 0}; }

// Runs on fresh memory; true when the result is right.
static bool run(Work *w, const Layout *l, const char *schedule, int threads, lw_timing *timing) {
    Matrix a = matrix(w->m, w->k, l->a[0], l->a[1], l->shift);
    Matrix b = matrix(w->k, w->n, l->b[0], l->b[1], l->shift);
    Matrix c = matrix(w->m, w->n, l->c[0], l->c[1], l->shift);
    put(&a, 1);
    put(&b, 2);
    lw_run_options o = {.struct_size = sizeof o,
                        .backend = LW_BACKEND_JIT,
                        .schedule = {schedule, "s.lws"},
                        .threads = threads,
                        .timing = timing};
    const DLTensor *args[] = {tensor(&a), tensor(&b), tensor(&c)};
    lw_status status = lw_run(w->ctx, w->bound, args, 3, &o);
    if (status) printf("%s", lw_diag_text(w->ctx));
    bool ok = !status && right(&c, w->k);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    return ok;
}

TEST(a_kernel_is_found_again) {
    Work w, other;
    lw_context *ctx = lw_context_new(NULL);
    lw_timing t = {.struct_size = sizeof t};
    char schedule[64];
    CHECK(open_work(&w, ctx, 9, 17, 5) && open_work(&other, ctx, 9, 17, 5));
    Layout l = dense(&w), columns = {{1, 9}, {1, 5}, {17, 1}, 0};
    strcpy(schedule, "C: m n k\n");
    CHECK(run(&w, &l, schedule, 1, &t) && t.compile_us > 0);
    CHECK(run(&w, &l, schedule, 1, &t) && t.compile_us == 0);
    CHECK(kernels_count(ctx) == 1);
    CHECK(run(&other, &l, schedule, 1, &t) && t.compile_us == 0); // the same program
    strcpy(schedule, "C: n m k\n");                               // other text, same place
    CHECK(run(&w, &l, schedule, 1, &t) && t.compile_us > 0);
    CHECK(run(&w, &columns, schedule, 1, &t) && t.compile_us > 0);
    CHECK(run(&w, &columns, schedule, 1, &t) && t.compile_us == 0);
    CHECK(run(&w, &l, NULL, 1, &t) && t.compile_us > 0);
    CHECK(run(&w, &l, NULL, 1, &t) && t.compile_us == 0);
    CHECK(run(&w, &l, schedule, 1, &t) && t.compile_us == 0);
    CHECK(kernels_count(ctx) == 4);
    close_work(&w);
    CHECK(run(&other, &l, schedule, 1, &t) && t.compile_us == 0);
    close_work(&other);
    lw_context_free(ctx);
}

static lw_status see_slot(Call *call, void *slot) {
    *(Slot **)slot = call->slot;
    return LW_OK;
}

// Right after it was made, without the table.
TEST(a_thread_finds_its_kernel_at_once) {
    static const char *const schedules[] = {NULL, "C: m n k\n", "C: n m k\n", "C: k m n\n"};
    lw_context *ctx = lw_context_new(NULL);
    const char *isa = machine_isa(context_machine(ctx, ctx->isa_cap));
    for (int64_t n = 3; n < 30; n++) {
        Work w;
        Slot *slot = NULL;
        CHECK(open_work(&w, ctx, n, n, n));
        Layout l = dense(&w);
        const char *schedule = schedules[n % 4];
        CHECK(run(&w, &l, schedule, 1, NULL));
        call_run(ctx, see_slot, &slot);
        int64_t size[] = {n, n}, stride[] = {n, 1};
        View v = {.type = TYPE_F32, .rank = 2, .size = size, .stride = stride};
        CHECK(kernel_find(slot, w.bound, (Way){schedule, isa, !schedule}, (View[]){v, v, v}));
        close_work(&w);
    }
    lw_context_free(ctx);
}

// What is chosen for one thread has no parallel loops; both are kept, and found again.
TEST(one_thread_has_a_kernel_of_its_own) {
    Work w;
    lw_context *ctx = lw_context_new(NULL);
    lw_timing one = {.struct_size = sizeof one}, two = one;
    CHECK(open_work(&w, ctx, 192, 192, 192));
    Layout l = dense(&w);
    CHECK(run(&w, &l, NULL, 1, &one) && one.compile_us > 0 && one.threads == 1);
    CHECK(run(&w, &l, NULL, 2, &two) && two.compile_us > 0 && two.threads == 2);
    CHECK(kernels_count(ctx) == 2);
    CHECK(run(&w, &l, NULL, 1, &one) && one.compile_us == 0 && one.threads == 1);
    CHECK(run(&w, &l, NULL, 2, &two) && two.compile_us == 0 && two.threads == 2);
    for (int threads = 1; threads <= 2; threads++) {
        lw_compile_options o = {.struct_size = sizeof o, .threads = threads};
        lw_kernel *k;
        CHECK(lw_compile(ctx, w.bound, &o, &k) == LW_OK);
        CHECK(lw_kernel_get_info(k)->parallel == (threads > 1));
        lw_kernel_free(k);
    }
    close_work(&w);
    lw_context_free(ctx);
}

TEST(a_bound_function_of_another_context) {
    Work w;
    lw_context *ctx = lw_context_new(NULL), *guest = lw_context_new(NULL);
    CHECK(open_work(&w, ctx, 4, 5, 6));
    Layout l = dense(&w);
    CHECK(run(&w, &l, NULL, 1, NULL));
    w.ctx = guest;
    CHECK(run(&w, &l, NULL, 1, NULL) && run(&w, &l, NULL, 1, NULL));
    w.ctx = ctx;
    close_work(&w);
    lw_context_free(guest);
    lw_context_free(ctx);
}

TEST(any_strides_and_any_alignment) {
    static const char *const schedules[] = {NULL, "C: m/4:p n/16 k m n:v\n", "C: m n k:v\n",
                                            "C: n:p k m:v\n"};
    Work w;
    lw_context *ctx = lw_context_new(NULL);
    CHECK(open_work(&w, ctx, 19, 37, 11));
    const Layout layouts[] = {
        {{11, 1}, {37, 1}, {37, 1}, 4},    {{11, 1}, {37, 1}, {37, 1}, 1}, // not even by element
        {{1, 19}, {1, 11}, {1, 19}, 0},    {{-11, 1}, {-37, 1}, {-37, 1}, 0},
        {{11, -1}, {37, -1}, {37, -1}, 8}, {{-30, -2}, {100, 2}, {-80, -2}, 3},
        {{0, 0}, {0, 0}, {40, 1}, 0},      {{1, 19}, {-1, -11}, {3, 60}, 2},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
            if (!layouts[i].a[0]) continue; // one element everywhere: another sum
            CHECK(run(&w, &layouts[i], schedules[s], 3, NULL) ||
                  (printf("layout %zu, schedule %zu\n", i, s), false));
        }
    close_work(&w);
    lw_context_free(ctx);
}

TEST(buffers_that_overlap_are_refused) {
    Work w;
    lw_context *ctx = lw_context_new(NULL);
    CHECK(open_work(&w, ctx, 8, 8, 8));
    Matrix a = matrix(8, 8, 8, 1, 0), b = matrix(8, 8, 8, 1, 0);
    put(&a, 1);
    put(&b, 2);
    lw_run_options o = {.struct_size = sizeof o, .backend = LW_BACKEND_JIT};
    for (int64_t by = -64; by <= 64; by += 16) {
        Matrix c = a;
        c.data += by;
        const DLTensor *args[] = {tensor(&a), tensor(&b), tensor(&c)};
        bool apart = by == -64 || by == 64;
        CHECK(lw_run(ctx, w.bound, args, 3, &o) == (apart ? LW_OK : LW_ERROR));
        CHECK(apart || strstr(lw_diag_text(ctx), "shares memory"));
    }
    free(a.memory);
    free(b.memory);
    close_work(&w);
    lw_context_free(ctx);
}

// --- Many kernels --------------------------------------------------------------------------------

static size_t resident(void) {
    size_t total = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%zu %zu", &total, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

// As many different kernels as one likes, in memory that stays the same. LW_KERNELS says how many.
TEST(many_kernels_in_flat_memory) {
    const char *text = getenv("LW_KERNELS");
    long count = text ? atol(text) : 6000 / (check_rounds(20) < 20 ? 2 : 1);
    lw_context *ctx = lw_context_new(NULL);
    size_t before = 0, mapped = 0;
    for (long i = 0; i < count; i++) {
        Work w;
        if (i == count / 2) before = resident();
        if (!CHECK(open_work(&w, ctx, 1 + i % 50, 1 + i / 50 % 70, 1 + i / 3500))) break;
        Layout l = dense(&w);
        if (!CHECK(run(&w, &l, i % 2 ? "C: m n k\n" : "C: n k m\n", 1, NULL))) break;
        close_work(&w);
        size_t now = exec_arena_mapped(context_exec(ctx));
        if (now > mapped) mapped = now;
    }
    size_t grown = resident() > before ? resident() - before : 0;
    CHECK(kernels_count(ctx) <= 2048);
    CHECK(mapped < (size_t)48 << 20);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(grown < (size_t)16 << 20 || (printf("grown by %zu KiB\n", grown >> 10), false));
#endif
    (void)grown;
    lw_context_free(ctx);
}

// What left the table does not hide what stands behind it. A kernel that is used again outlives one
// that is not, so the newest are all there.
TEST(kernels_are_found_after_others_left) {
    enum { FIRST = 2048, MORE = 500 };
    lw_context *ctx = lw_context_new(NULL);
    int made = 0;
    for (int pass = 0; pass < 2; pass++)
        for (long i = pass ? FIRST : 0; i < FIRST + MORE; i++) {
            Work w;
            lw_timing t = {.struct_size = sizeof t};
            if (!CHECK(open_work(&w, ctx, 1 + i % 20, 1 + i / 20 % 20, 1 + i / 400))) return;
            Layout l = dense(&w);
            for (int again = 0; again < 2; again++) {
                CHECK(run(&w, &l, "C: m n k\n", 1, &t));
                made += pass && t.compile_us > 0;
            }
            close_work(&w);
        }
    CHECK_INT_EQ(made, 0);
    lw_context_free(ctx);
}

// --- Many threads and processes ------------------------------------------------------------------

typedef struct Crowd {
    lw_context *ctx;
    Work *shared; // used by all
    uint64_t seed;
    int rounds;
    int failed;
} Crowd;

static void *one_of_many(void *arg) {
    static const char *const schedules[] = {NULL, "C: m:p n k\n", "C: m/4:p n/8:p k m n:v\n",
                                            "C: m n/8 k n:v\n    copy B at n/8 layout (n k)\n"};
    Crowd *c = arg;
    for (int i = 0; i < c->rounds; i++) {
        uint64_t r = check_random(&c->seed);
        Work own, *w = c->shared;
        if (r % 3) {
            if (!open_work(&own, c->ctx, 1 + (int64_t)(r / 3 % 12), 1 + (int64_t)(r / 64 % 12),
                           1 + (int64_t)(r / 1024 % 4)))
                c->failed++;
            w = &own;
        }
        Layout l = dense(w);
        c->failed += !run(w, &l, schedules[r / 4096 % 4], 1 + (int)(r / 65536 % 4), NULL);
        if (w == &own) close_work(&own);
    }
    return NULL;
}

static int crowd(lw_context *ctx, Work *shared, int threads, int rounds, int forks) {
    pthread_t t[16];
    Crowd c[16];
    int failed = 0;
    for (int i = 0; i < threads; i++) {
        c[i] = (Crowd){ctx, shared, (uint64_t)i + 1, rounds, 0};
        pthread_create(&t[i], NULL, one_of_many, &c[i]);
    }
    for (int i = 0; i < forks; i++) { // the others are in the middle of something
        pid_t pid = fork();
        if (pid == 0) {
            Crowd child = {ctx, shared, (uint64_t)i + 100, 12, 0};
            one_of_many(&child);
            _exit(child.failed ? 1 : 0);
        }
        int status = -1;
        failed += waitpid(pid, &status, 0) != pid || status != 0;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
        failed += c[i].failed;
    }
    return failed;
}

TEST(sixteen_threads_compile_and_run) {
    Work w;
    lw_context *ctx = lw_context_new(NULL);
    CHECK(open_work(&w, ctx, 33, 20, 7));
    CHECK(crowd(ctx, &w, 16, 40, 0) == 0);
    close_work(&w);
    lw_context_free(ctx);
}

// ThreadSanitizer does not follow a fork while there are threads.
#if !defined(__SANITIZE_THREAD__)
TEST(forks_in_the_middle) {
    Work w;
    lw_context *ctx = lw_context_new(NULL);
    CHECK(open_work(&w, ctx, 33, 20, 7));
    CHECK(crowd(ctx, &w, 4, 60, 10) == 0);
    close_work(&w);
    lw_context_free(ctx);
}

static volatile sig_atomic_t forked_here; // by the handler: 1 in the parent, 2 in the child

static void fork_now(int signal) {
    (void)signal;
    if (!forked_here) forked_here = fork() ? 1 : 2;
}

// A signal handler forks while a kernel runs on two threads. The child goes back into the kernel,
// which ends with an error there, and can run others.
TEST(forks_inside_a_kernel) {
    Work w;
    lw_context *ctx = lw_context_new(NULL);
    CHECK(open_work(&w, ctx, 700, 300, 300));
    Matrix a = matrix(700, 300, 300, 1, 0), b = matrix(300, 300, 300, 1, 0);
    Matrix c = matrix(700, 300, 300, 1, 0);
    put(&a, 1), put(&b, 2);
    const DLTensor *args[] = {tensor(&a), tensor(&b), tensor(&c)};
    static const char slow[] = "C: m:p n k\n";
    lw_run_options o = {.struct_size = sizeof o, .threads = 2};
    o.schedule = (lw_schedule_text){.text = slow};
    CHECK(!lw_run(ctx, w.bound, args, 3, &o));
    struct sigaction old, act = {.sa_handler = fork_now, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &act, &old);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 5000}}, NULL);
    pid_t me = getpid();
    while (!forked_here) {
        lw_status status = lw_run(ctx, w.bound, args, 3, &o);
        if (getpid() != me) { // the loop was over at the very moment, or it was not
            static const char unfinished[] =
                "did not finish: the process forked while it ran on several threads";
            bool told = !status || strstr(lw_diag_text(ctx), unfinished);
            bool again = !lw_run(ctx, w.bound, args, 3, &o);
            _exit(told && again ? 0 : 1);
        }
        CHECK(!status);
    }
    sigaction(SIGALRM, &old, NULL);
    int child = -1;
    CHECK(waitpid(-1, &child, 0) > 0 && child == 0);
    free(a.memory), free(b.memory), free(c.memory);
    close_work(&w);
    lw_context_free(ctx);
}

// Parent and child go on with what they both have.
TEST(two_processes_at_once) {
    Work w;
    lw_context *ctx = lw_context_new(NULL);
    CHECK(open_work(&w, ctx, 33, 20, 7));
    CHECK(crowd(ctx, &w, 1, 20, 0) == 0);
    pid_t pid = fork();
    int failed = crowd(ctx, &w, 3, 60, 0);
    close_work(&w);
    lw_context_free(ctx);
    if (pid == 0) _exit(failed ? 1 : 0);
    int status = -1;
    CHECK(failed == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}
#endif
