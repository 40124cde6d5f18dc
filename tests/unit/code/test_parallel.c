// Parallel loops in compiled code: each kind of loop and buffer, the same with threads and without.
#include "unit/check.h"

#include "base/kernel_abi.h"
#include "code/code.h"
#include "run/exec.h"
#include "run/pool.h"
#include "support/jitlab.h"
#include "sched/schedule.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

typedef struct Case {
    const char *program, *schedule;
    int parallel;       // loops that are shared out
    bool private;       // threads have memory of their own
    const char *report; // a part of it, or NULL
} Case;

#define MATMUL                                                                                     \
    "program mm { input A: f32[37, 29] input B: f32[29, 43] output C: f32[37, 43]\n"               \
    "C: for m in 0:37, n in 0:43, k in 0:29  C[m, n] +=! A[m, k]*B[k, n] }"

static const Case cases[] = {
    {MATMUL, "C: m:p n k", 1, false, NULL},
    {MATMUL, "C: m/5:p n k m", 1, false, NULL},
    {MATMUL, "C: m/5:p n/16:p k m n:v", 1, false, NULL}, // collapsed
    {MATMUL, "C: m:p n:p k", 1, false, NULL},
    {MATMUL, "C: m/8 m:p k n:v", 1, false, NULL}, // its end depends on m/8
    {MATMUL, "C: n/8 k/4 m:p k n:v", 1, false, NULL},
    {MATMUL, "C: m/7:p n/16 k m n:v\n    copy A at m/7 layout (k m)", 1, true, NULL},
    {MATMUL, "C: m/7:p n/16:p k m n:v\n    copy B at n/16", 1, true, NULL},
    {MATMUL, "C: m/7:p n/16:p k m n:v\n    copy A at m/7", 1, true, NULL}, // shared by n: one level
    {MATMUL, "C: m/10:p k/8 m/4 k m n:v", 1, false, NULL}, // the last block of ten has two rows
    {MATMUL, "C: m/10:p n/13:p k/7 m/4 n/8 k m n:v", 1, false, NULL},
    {MATMUL, "C: n/11:p k/5 n/4 m k n", 1, false, NULL},
    {MATMUL, "C: k/9:p m/4 k/4 m k n:v", 0, false, "update the same elements of 'C'"},
    {MATMUL, "C: k:p m n", 0, false,
     "update the same elements of 'C', which the schedule does not"},
    {MATMUL, "C: m k:p n:v", 0, false, "parallel loop runs on one thread"},
    {MATMUL, "C: m n\n    privatise k/8\nC.part: k.p:p m k n:v", 1, false, NULL},
    {"program two { input A: f32[50] input B: f32[50] temp T: f32[50] output C: f32[50]\n"
     "T: for i in 0:50  T[i] = A[i]*2.0\nC: for j in 0:50  C[j] = T[49 - j] + B[j] }",
     "T: i/8:p i:v\nC: j/4:p j", 2, false, NULL},
    {"program box { input A: f32[102, 20] output O: f32[100, 20] temp X: f32[102, 20]\n"
     "X: for y in 0:102, x in 0:20  X[y, x] = A[y, x]*3.0\n"
     "O: for y in 0:100, x in 0:20  O[y, x] = X[y, x] + X[y + 1, x] + X[y + 2, x] }",
     "X: y x:v\n    at y/8\nO: y/8:p y x:v", 1, true, NULL},
    {"program window { input A: i32[40] input W: i32[9] output O: i32[48]\n"
     "O: for i in 0:40, j in 0:9  O[i + j] +=! A[i]*W[j] }",
     "O: i:p j", 0, false, "update the same elements of 'O'"},
    {"program strided { input A: i32[40] input W: i32[9] output O: i32[400]\n"
     "O: for i in 0:40, j in 0:9  O[10*i + j] +=! A[i]*W[j] }",
     "O: i:p j", 1, false, NULL},
    {"program touch { input A: i32[40] input W: i32[9] output O: i32[400]\n"
     "O: for i in 0:40, j in 0:9  O[8*i + j] +=! A[i]*W[j] }",
     "O: i:p j", 0, false, "update the same elements of 'O'"}, // one element of nine
    {"program scatter { input A: i32[40, 6] input X: i32[40] output O: i32[40, 6]\n"
     "O: for i in 0:40, j in 0:6  O[X[i], j] +=! A[i, j] }",
     "O: i:p j", 0, false, "update the same elements of 'O'"},
    {"program guarded { input A: f32[64] input B: f32[13] output S: f32[13] output O: f32[13]\n"
     "S: for k in 0:64, i in 0:13  S[i] +=! A[k]\n"
     "O: for i in 0:13  O[i] = select(B[i] >= 0.0, B[i], S[i]) }",
     "S: k i\nO: i/4 i", 0, false, NULL}, // a guarded read of what is in registers
    {"program columns { input A: i32[40, 6] input X: i32[40] output O: i32[40, 6]\n"
     "O: for i in 0:40, j in 0:6  O[X[i], j] +=! A[i, j] }",
     "O: j:p i", 1, false, NULL},
    {"program band { input A: i32[40] input W: i32[9] output O: i32[204]\n"
     "O: for i in 0:40, j in 0:9 if 4 - j >= 0  O[5*i + j] +=! A[i]*W[j] }",
     "O: i:p j", 1, false, NULL}, // apart where the condition holds
    {"program meets { input A: i32[40] input W: i32[9] output O: i32[208]\n"
     "O: for i in 0:40, j in 0:9 if 5 - j >= 0  O[5*i + j] +=! A[i]*W[j] }",
     "O: i:p j", 0, false, "update the same elements of 'O'"},
    {"program up { input A: i32[40] input W: i32[9] output O: i32[204]\n"
     "O: for i in 0:40, j in 0:9 if j - 4 >= 0  O[5*i + j] +=! A[i]*W[j] }",
     "O: i:p j", 1, false, NULL},
    {"program down { input A: i32[40] input W: i32[9] output O: i32[204]\n"
     "O: for i in 0:40, j in 0:9 if j - 4 >= 0  O[5*i - j + 8] +=! A[i]*W[j] }",
     "O: i:p j", 1, false, NULL},
    {"program late { input A: f32[9, 40] output O: f32[40]\n"
     "O: for j in 0:9, i in 0:40 if i - 4*j >= 0  O[i] +=! A[j, i] }",
     "O: j i:p", 2, false, NULL}, // it starts later each time
};

static bool run_threads(Lab *lab, const Program *p, const Tree *t, const Machine *m) {
    bool ok = true;
    for (int threads = 1; ok && threads <= 5; threads++) {
        LabData want = lab_data(lab, p, 3), got = lab_copy(lab, p, &want);
        ok = CHECK(lab_run(lab, p, &want));
        ok =
            ok && CHECK(jit_run(lab, t, m, &got, (InterpFlags){0}, threads, threads & 1) == JIT_OK);
        ok = ok && CHECK(!lab_difference(lab, p, &got, &want));
    }
    return ok;
}

static bool run_case(const Case *c, Isa isa) {
    Lab lab;
    Machine m;
    Code code;
    lab_begin(&lab);
    machine_describe(&m, isa);
    const Program *p = lab_program(&lab, c->program, NULL);
    Source src = {"s.lws", c->schedule, (uint32_t)strlen(c->schedule)};
    const Schedule *s = p ? schedule_parse(&lab.arena, p->names, &src, &lab.diags) : NULL;
    Tree *t = s ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    bool ok = CHECK(t && target_compile(&target_x86, &lab.arena, t, &m, &code, NULL, &lab.diags));
    if (!ok) printf("%s%s", c->schedule, lab_errors(&lab));
    ok =
        ok && CHECK(code.parallel == c->parallel) && CHECK((code.thread_scratch > 0) == c->private);
    Text report = {.arena = &lab.arena};
    for (int i = 0; ok && i < code.nlosses; i++) loss_print(&report, &code.losses[i]);
    ok = ok && CHECK(!c->report || strstr(text_str(&report), c->report));
    machine_detect(&m, isa);
    if (m.isa == isa) {
        ok = ok && run_threads(&lab, p, t, &m);
        ok = ok && run_threads(&lab, p, jit_bound_loops(t), &m);
    }
    if (!ok) printf("schedule: %s\n", c->schedule);
    lab_end(&lab);
    return ok;
}

// Two threads update neighbouring rows again and again; the last block of the first has one row.
TEST(threads_touch_no_rows_of_others) {
    static const Case rows = {
        "program mm { input A: f32[6, 4000] input B: f32[4000, 64] output C: f32[6, 64]\n"
        "C: for m in 0:6, n in 0:64, k in 0:4000  C[m, n] +=! A[m, k]*B[k, n] }",
        "C: m/3:p k/8 n/8 m/2 k m n:v\n    grain 1", 1, false, NULL};
    for (int i = 0; i < 3; i++) run_case(&rows, ISA_AVX2);
}

TEST(parallel_loops_keep_their_meaning) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (Isa isa = ISA_AVX2; isa < ISA_COUNT; isa++) run_case(&cases[i], isa);
}

// All iterations as one thread of two, whose number stands at env->user.
static int as_thread(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                     int64_t grain) {
    (void)grain;
    return body(arg, 0, count, *(const int *)env->user);
}

// Does the second thread write into memory beside that of the first, and the first not?
static bool has_own_memory(const Case *c, const Machine *m, int thread) {
    Lab lab;
    JitKernel k;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, c->program, NULL);
    Source src = {"s.lws", c->schedule, (uint32_t)strlen(c->schedule)};
    const Schedule *s = p ? schedule_parse(&lab.arena, p->names, &src, &lab.diags) : NULL;
    const Tree *t = s ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    if (!CHECK(t && jit_kernel_new(&lab, t, m, &k))) return false;
    size_t first = (size_t)k.code.scratch, bytes = first + (size_t)k.code.thread_scratch;
    char *scratch = memset(aligned_alloc(64, (bytes + 63) / 64 * 64), 0x5a, bytes);
    LabData d = lab_data(&lab, p, 3);
    void *buffers[8], *entry = exec_entry(k.block);
    for (int i = 0; i < d.n; i++) buffers[i] = d.view[i].data;
    Kernel *kernel;
    memcpy(&kernel, &entry, sizeof entry);
    KernelEnv env = {.threads = 2, .parallel_for = as_thread, .apply = code_apply, .user = &thread};
    CHECK(kernel(buffers, scratch, &env) == 0);
    bool own = false;
    for (size_t i = first; i < bytes; i++) own |= scratch[i] != 0x5a;
    free(scratch);
    jit_kernel_free(&k);
    lab_end(&lab);
    return own;
}

TEST(threads_have_memory_of_their_own) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (Isa isa = ISA_AVX2; isa < ISA_COUNT; isa++) {
            Machine m;
            machine_detect(&m, isa);
            if (m.isa != isa || !cases[i].private) continue;
            CHECK(!has_own_memory(&cases[i], &m, 0));
            CHECK(has_own_memory(&cases[i], &m, 1));
        }
}

// An index outside in one iteration: a status, whichever thread finds it, and nothing else.
TEST(a_status_comes_out_of_a_parallel_loop) {
    Lab lab;
    Machine m;
    lab_begin(&lab);
    machine_detect(&m, ISA_COUNT);
    const Program *p =
        lab_program(&lab,
                    "program g { input A: f32[50] input X: i32[64] output O: f32[64]\n"
                    "O: for i in 0:64  O[i] = A[X[i]] }",
                    NULL);
    const char *text = "O: i:p";
    Source src = {"s.lws", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(&lab.arena, p->names, &src, &lab.diags);
    const Tree *t = tree_lower(&lab.arena, p, s, &lab.diags);
    for (int bad = 0; bad < 64; bad += 9)
        for (int threads = 1; threads <= 5; threads++) {
            LabData d = lab_data(&lab, p, 5);
            CHECK(jit_run(&lab, t, &m, &d, (InterpFlags){0}, threads, true) == JIT_OK);
            lab_set(&d, 1, bad, 50);
            CHECK(jit_run(&lab, t, &m, &d, (InterpFlags){0}, threads, true) == JIT_STATUS);
        }
    lab_end(&lab);
}

// A loop that went wrong is not forgotten over the next one.
TEST(a_status_survives_later_loops) {
    Lab lab;
    Machine m;
    lab_begin(&lab);
    machine_detect(&m, ISA_COUNT);
    const Program *p =
        lab_program(&lab,
                    "program g { input A: f32[50] input X: i32[64] output O: f32[64] output P: "
                    "f32[64]\n"
                    "O: for i in 0:64  O[i] = A[X[i]]\nP: for j in 0:64  P[j] = O[63 - j] }",
                    NULL);
    const char *text = "O: i:p\nP: j:p";
    Source src = {"s.lws", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(&lab.arena, p->names, &src, &lab.diags);
    const Tree *t = tree_lower(&lab.arena, p, s, &lab.diags);
    for (int threads = 1; threads <= 3; threads++) {
        LabData d = lab_data(&lab, p, 5);
        lab_set(&d, 1, 40, 50);
        CHECK(jit_run(&lab, t, &m, &d, (InterpFlags){0}, threads, true) == JIT_STATUS);
    }
    lab_end(&lab);
}

static int64_t shared_out; // iterations of the last loop

static int count_only(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                      int64_t grain) {
    (void)env, (void)body, (void)arg, (void)grain;
    shared_out = count;
    return 0;
}

#define ADD                                                                                        \
    "program mm { input A: f32[37, 29] input B: f32[29, 43] inout C: f32[37, 43]\n"                \
    "C: for m in 0:37, n in 0:43, k in 0:29  C[m, n] += A[m, k]*B[k, n] }"

// Loops inside a parallel one are shared out with it, unless their iterations meet.
TEST(which_iterations_are_shared_out) {
    static const struct {
        const char *program, *schedule;
        int64_t count;
    } loops[] = {{MATMUL, "C: m:p n k", 37},
                 {MATMUL, "C: m:p n:p k", 37 * 43},
                 {ADD, "C: m:p k:p n", 37},
                 {ADD, "C: m:p n:p k:p", 37 * 43},
                 {MATMUL, "C: m/5:p n/16:p m n k", 8 * 3}};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        Lab lab;
        Machine m;
        Code code;
        lab_begin(&lab);
        machine_detect(&m, ISA_COUNT);
        const Program *p = lab_program(&lab, loops[i].program, NULL);
        Source src = {"s.lws", loops[i].schedule, (uint32_t)strlen(loops[i].schedule)};
        const Schedule *s = schedule_parse(&lab.arena, p->names, &src, &lab.diags);
        const Tree *t = tree_lower(&lab.arena, p, s, &lab.diags);
        CHECK(t && target_compile(&target_x86, &lab.arena, t, &m, &code, NULL, &lab.diags));
        LabData d = lab_data(&lab, p, 3);
        ExecArena *exec = exec_arena_new();
        ExecBlock *block = exec_add(exec, code.bytes, code.size);
        void *buffers[] = {d.view[0].data, d.view[1].data, d.view[2].data};
        KernelEnv env = {.threads = 4, .apply = code_apply, .parallel_for = count_only};
        CHECK(((Kernel *)exec_entry(block))(buffers, NULL, &env) == 0);
        if (!CHECK_INT_EQ(shared_out, loops[i].count)) printf("%s\n", loops[i].schedule);
        exec_release(block);
        exec_arena_free(exec);
        lab_end(&lab);
    }
}

// Without a parallel_for the kernel runs the loop itself, whatever the number of threads.
TEST(a_parallel_loop_without_threads) {
    Lab lab;
    Machine m;
    Code code;
    lab_begin(&lab);
    machine_detect(&m, ISA_COUNT);
    const Program *p = lab_program(&lab, MATMUL, NULL);
    const char *text = "C: m/7:p n/16 k m n:v\n    copy A at m/7 layout (k m)";
    Source src = {"s.lws", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(&lab.arena, p->names, &src, &lab.diags);
    const Tree *t = tree_lower(&lab.arena, p, s, &lab.diags);
    CHECK(target_compile(&target_x86, &lab.arena, t, &m, &code, NULL, &lab.diags) &&
          code.parallel == 1);
    LabData want = lab_data(&lab, p, 3), got = lab_copy(&lab, p, &want);
    lab_run(&lab, p, &want);
    ExecArena *exec = exec_arena_new();
    ExecBlock *block = exec_add(exec, code.bytes, code.size);
    void *buffers[] = {got.view[0].data, got.view[1].data, got.view[2].data};
    char *scratch = aligned_alloc(64, (size_t)(code.scratch + 63) & ~(size_t)63);
    KernelEnv env = {.threads = 4, .apply = code_apply};
    CHECK(((Kernel *)exec_entry(block))(buffers, scratch, &env) == 0);
    CHECK(!lab_difference(&lab, p, &got, &want));
    free(scratch);
    exec_release(block);
    exec_arena_free(exec);
    lab_end(&lab);
}
