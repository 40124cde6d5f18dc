// The cost of finding a kernel, calling it, and running it on several threads.
//
//     make bench-dispatch
//
//   find     nanoseconds to find a cached kernel: in the thread's cache, and in the context's table
//   call     a whole lw_run of a tiny kernel, and the kernel alone
//   make     a kernel through the API for a size not seen before: bound, chosen, lowered, generated
//   wake     a parallel loop of two tasks: soon after another, and after a pause
//   threads  the gain from a second thread, for a product of 1024 by 1024 matrices and for a loop
//            of pure multiply-adds, interleaved
#define _GNU_SOURCE
#include "api/kernel.h"
#include "asm/x86.h"
#include "lab/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 301 };

// Nanoseconds of one `fn`, done `times` at a time: the least, and the median.
static void measure(const char *what, void (*fn)(void *), void *arg, int times) {
    double sample[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double start = lab_now();
        for (int k = 0; k < times; k++) fn(arg);
        sample[i] = (lab_now() - start) / times;
    }
    sort_values(sample, RUNS);
    printf("  %-44s %10.1f ns   median %10.1f\n", what, sample[0], sample[RUNS / 2]);
}

// --- A function and its arguments ----------------------------------------------------------------

typedef struct Bench {
    lw_context *ctx;
    lw_module *mod;
    lw_bound *bound;
    DLTensor tensor[3];
    const DLTensor *arg[3];
    lw_run_options options;
    int64_t size; // of the last kernel
    // internals behind the API
    Slot *slot;
    View views[3];
    Way way;
    const KernelCode *code;
    void *buffers[3];
    KernelEnv env;
    void *scratch;
} Bench;

static void open_bench(Bench *b, const char *text, const char *schedule, int64_t n, int threads) {
    *b = (Bench){.ctx = lw_context_new(NULL)};
    lw_size sizes[] = {{"N", n}};
    if (lw_parse(b->ctx, "bench.tc", text, strlen(text), NULL, &b->mod) ||
        lw_bind(b->ctx, lw_module_function(b->mod, 0), sizes, 1, &b->bound)) {
        fprintf(stderr, "%s", lw_diag_text(b->ctx));
        exit(1);
    }
    for (size_t i = 0; i < 3; i++) {
        b->tensor[i] = *lw_bound_tensor(b->bound, i);
        size_t count = 1;
        for (int d = 0; d < b->tensor[i].ndim; d++) count *= (size_t)b->tensor[i].shape[d];
        float *data = aligned_alloc(64, (count * sizeof *data + 63) & ~(size_t)63);
        for (size_t e = 0; e < count; e++) data[e] = (float)(e % 7) - 3;
        b->tensor[i].data = data;
        b->arg[i] = &b->tensor[i];
        b->views[i] = (View){.data = data,
                             .type = TYPE_F32,
                             .rank = b->tensor[i].ndim,
                             .size = b->tensor[i].shape,
                             .stride = b->tensor[i].strides};
        b->buffers[i] = data;
    }
    b->options = (lw_run_options){
        .struct_size = sizeof b->options, .schedule = {schedule, "bench.lws"}, .threads = threads};
}

static void call(void *arg) {
    Bench *b = arg;
    if (lw_run(b->ctx, b->bound, b->arg, 3, &b->options)) {
        fprintf(stderr, "%s", lw_diag_text(b->ctx));
        exit(1);
    }
}

static void close_bench(Bench *b) {
    for (int i = 0; i < 3; i++) free(b->tensor[i].data);
    lw_bound_free(b->bound);
    lw_module_free(b->mod);
    lw_context_free(b->ctx);
}

// --- Finding -------------------------------------------------------------------------------------

static lw_status see_slot(Call *c, void *arg) {
    ((Bench *)arg)->slot = c->slot;
    return LW_OK;
}

static void find(void *arg) {
    Bench *b = arg;
    b->code = kernel_find(b->slot, b->bound, b->way, b->views);
}

static lw_status look_up(Call *c, void *arg) {
    Bench *b = arg;
    KernelCode *draft;
    b->code = kernel_look_up(c, b->bound, b->way, b->views, &draft);
    return b->code ? LW_OK : LW_ERROR;
}

static void find_in_table(void *arg) {
    Bench *b = arg;
    if (call_run(b->ctx, look_up, b)) exit(1);
}

static void alone(void *arg) {
    Bench *b = arg;
    b->code->loaded.entry(b->buffers, NULL, &b->env);
}

static void finding(void) {
    Bench b;
    open_bench(&b, "def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }", "C: i:v\n", 16,
               1);
    call(&b);
    call_run(b.ctx, see_slot, &b);
    b.way = (Way){b.options.schedule.text, machine_isa(context_machine(b.ctx, ISA_COUNT)), false};
    b.env.threads = 1;
    printf("find\n");
    measure("in the thread's memory", find, &b, 1000);
    if (!b.code) exit(1);
    measure("in the context's table", find_in_table, &b, 100);
    printf("call\n");
    measure("lw_run of 16 additions", call, &b, 100);
    measure("its kernel alone", alone, &b, 1000);
    close_bench(&b);
}

// --- Making --------------------------------------------------------------------------------------

static void make_one(void *arg) {
    Bench *b = arg;
    lw_bound *bound = NULL;
    lw_kernel *kernel = NULL;
    lw_size sizes[] = {{"N", ++b->size}};
    if (lw_bind(b->ctx, lw_module_function(b->mod, 0), sizes, 1, &bound) ||
        lw_compile(b->ctx, bound, NULL, &kernel)) {
        fprintf(stderr, "%s", lw_diag_text(b->ctx));
        exit(1);
    }
    lw_kernel_free(kernel);
    lw_bound_free(bound);
}

static void making(void) {
    static const struct {
        const char *what, *text;
    } kinds[] = {
        {"matmul N x 64 x 64",
         "def mm(float(N,64) A, float(64,64) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"},
        {"sum of N vectors of 64", "def s(float(N,64) A, float(N) B) -> (C) { C(i) +=! A(n,i) }"},
        {"addition of N", "def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }"},
    };
    printf("make\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Bench b;
        open_bench(&b, kinds[i].text, NULL, 16, 1);
        b.size = 16;
        measure(kinds[i].what, make_one, &b, 1);
        close_bench(&b);
    }
}

// --- Waking --------------------------------------------------------------------------------------

typedef struct Wake {
    Pool *pool;
    _Atomic int64_t seen; // when the second thread began; 0: not yet
} Wake;

static int two_tasks(void *arg, int64_t from, int64_t to, int thread) {
    Wake *w = arg;
    (void)to;
    if (thread) w->seen = (int64_t)lab_now();
    double until = lab_now() + 2e5; // wait for the other thread
    while (!thread && from == 0 && !w->seen && lab_now() < until) continue;
    return 0;
}

static void waking(void) {
    static const int pause_us[] = {0, 20, 1000};
    Wake w = {.pool = pool_new(2)};
    printf("wake\n");
    for (int p = 0; p < 3; p++) {
        double sample[RUNS];
        int n = 0;
        for (int i = 0; i < RUNS; i++) {
            if (pause_us[p]) usleep((unsigned)pause_us[p]);
            w.seen = 0;
            double start = lab_now();
            pool_for(w.pool, 2, two_tasks, &w, 2, 1);
            if (w.seen) sample[n++] = (double)w.seen - start;
        }
        if (!n) continue;
        sort_values(sample, n);
        printf(
            "  a second thread, %4d us after the last loop    %10.1f ns   median %10.1f   (%d of "
            "%d)\n",
            pause_us[p], sample[0], sample[n / 2], n, RUNS);
    }
    pool_free(w.pool);
}

// --- Threads -------------------------------------------------------------------------------------

// Two million multiply-adds of one vector register each.
static KernelBody *bare_loop(ExecArena *exec, Isa isa) {
    static uint8_t memory[4096];
    Asm a;
    asm_init(&a, memory, sizeof memory);
    AsmLabel top = asm_label(&a);
    for (unsigned i = 0; i < 12; i++) x86_3(&a, X86_vxorps, x86_xmm(i), x86_xmm(i), x86_xmm(i));
    x86_set(&a, X86_RAX, 2000000 / 12);
    asm_bind(&a, &top);
    for (unsigned i = 0; i < 12; i++) {
        X86Arg v = isa == ISA_AVX512 ? x86_zmm(i) : x86_ymm(i);
        x86_3(&a, X86_vfmadd231ps, v, v, v);
    }
    x86_1(&a, X86_dec, x86_r64(X86_RAX));
    x86_1(&a, X86_jnz, x86_to(&top));
    x86_0(&a, X86_vzeroupper);
    x86_2(&a, X86_xor, x86_r32(X86_RAX), x86_r32(X86_RAX));
    x86_0(&a, X86_ret);
    return (KernelBody *)exec_entry(exec_add(exec, memory, asm_size(&a)));
}

typedef struct Bare {
    Pool *pool;
    KernelBody *loop;
    int threads;
} Bare;

static int bare_task(void *arg, int64_t from, int64_t to, int thread) {
    Bare *b = arg;
    for (int64_t i = from; i < to; i++) b->loop(NULL, 0, 0, thread);
    return 0;
}

static double bare(Bare *b, int threads) {
    double start = lab_now();
    pool_for(b->pool, threads, bare_task, b, 16, 1);
    return lab_now() - start;
}

static double product(Bench *b, int threads) {
    b->options.threads = threads;
    double start = lab_now();
    call(b);
    return lab_now() - start;
}

static void scaling(void) {
    enum { TURNS = 25 };
    Bench b;
    Machine m;
    machine_detect(&m, ISA_COUNT);
    if (m.isa == ISA_SCALAR) return;
    ExecArena *exec = exec_arena_new();
    Bare f = {.pool = pool_new(2), .loop = bare_loop(exec, m.isa)};
    open_bench(&b, "def mm(float(N,N) A, float(N,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
               "C: m/168:p n/512 k/256 m/14 n/32 k m n:v\n"
               "    copy B at k/256 layout (n/32 k n) align 64\n",
               1024, 1);
    double gain[2][TURNS], least[2][2] = {{1e18, 1e18}, {1e18, 1e18}};
    for (int i = 0; i < TURNS; i++) {
        double t[2][2] = {{bare(&f, 1), bare(&f, 2)}, {product(&b, 1), product(&b, 2)}};
        for (int k = 0; k < 2; k++) {
            gain[k][i] = t[k][0] / t[k][1];
            for (int n = 0; n < 2; n++)
                if (t[k][n] < least[k][n]) least[k][n] = t[k][n];
        }
    }
    printf("threads\n");
    for (int k = 0; k < 2; k++) {
        sort_values(gain[k], TURNS);
        printf(
            "  %-20s 1 thread %8.2f ms, 2 threads %8.2f ms: gain %.2f of the least, %.2f median\n",
            k ? "1024^3 product" : "bare multiply-adds", least[k][0] * 1e-6, least[k][1] * 1e-6,
            least[k][0] / least[k][1], gain[k][TURNS / 2]);
    }
    close_bench(&b);
    pool_free(f.pool);
    exec_arena_free(exec);
}

int main(void) {
    finding();
    making();
    waking();
    scaling();
    return 0;
}
