// Measuring in worker processes: right candidates are timed, wrong, crashing and hanging ones are
// caught, data are exact, and time is that of the kernel.
#include "unit/check.h"

#include "code/code.h"
#include "run/exec.h"
#include "run/timing.h"
#include "search/measure.h"
#include "search/sample.h"
#include "choose/choose.h"
#include "support/proglab.h"
#include "sched/schedule.h"
#include "target/target.h"

#include <math.h>
#include <unistd.h>

static const char *const matmul = "program matmul(M, N, K) {\n"
                                  "    input A: f32[M, K]\n"
                                  "    input B: f32[K, N]\n"
                                  "    output C: f32[M, N]\n"
                                  "    C: for m in 0:M, n in 0:N, k in 0:K\n"
                                  "        C[m, n] +=! A[m, k]*B[k, n]\n"
                                  "}\n";

typedef struct Bench {
    Lab lab;
    Machine machine;
    const char *other_text;   // NULL: none
    const Program *p, *other; // what is measured, and what "other" compiles instead
    MeasureSetup setup;
    View view[8];
    Measure *m;
    int stop_after; // questions; 0: never
    int asked;
    Plant plants[64];
} Bench;

static const Schedule *job_schedule(Bench *x, const Job *job, DiagList *diags) {
    ChooseOptions o = {.machine = &x->machine, .serial = true, .plain = job->kind == JOB_PLAIN};
    Source *s = arena_new(&x->lab.arena, Source);
    *s = (Source){"<text>", job->bytes, (uint32_t)strlen(job->bytes)};
    if (job->kind != JOB_TEXT) return choose_schedule(&x->lab.arena, x->p, &o);
    return schedule_parse(&x->lab.arena, &x->lab.names, s, diags);
}

static bool compile(void *user, Arena *arena, const Job *job, JobCode *out) {
    Bench *x = user;
    DiagList diags = {.arena = arena};
    Code code;
    x->lab.arena.try = arena->try;
    if (job->kind == JOB_TEXT && !strcmp(job->bytes, "die\n")) abort();
    while (job->kind == JOB_TEXT && !strcmp(job->bytes, "hang\n")) usleep(1000);
    for (volatile int slow = !strcmp(job->bytes, "slow\n"); slow;) continue;
    bool other = job->kind == JOB_TEXT && !strcmp(job->bytes, "other\n");
    const Program *p = other ? x->other : x->p;
    const Schedule *s = other ? schedule_complete(arena, p, NULL) : job_schedule(x, job, &diags);
    const Tree *t = s ? tree_lower(arena, p, s, &diags) : NULL;
    if (!t || !target_compile(&target_x86, arena, t, &x->machine, &code, NULL, &diags))
        return false;
    *out = (JobCode){code.bytes, code.size, code.scratch, code.thread_scratch};
    return true;
}

static Plant plant(void *user, int64_t n) {
    Bench *x = user;
    return n < 64 ? x->plants[n] : PLANT_NONE;
}

static bool cancelled(void *user) {
    Bench *x = user;
    return x->stop_after && ++x->asked >= x->stop_after;
}

static void open_bench(Bench *x, const char *text, const int64_t *sizes, int64_t instances) {
    lab_begin(&x->lab);
    machine_detect(&x->machine, ISA_COUNT);
    x->p = lab_program(&x->lab, text, sizes);
    if (!CHECK(x->p)) printf("%s\n", lab_errors(&x->lab));
    if (x->other_text) CHECK(x->other = lab_program(&x->lab, x->other_text, sizes));
    LabData d = lab_data(&x->lab, x->p, 1);
    for (int i = 0; i < d.n; i++) x->view[i] = d.view[i], x->view[i].data = NULL;
    x->setup = (MeasureSetup){.program = x->p,
                              .views = x->view,
                              .instances = instances,
                              .compile = compile,
                              .apply = code_apply,
                              .user = x,
                              .most_bytes = 4096,
                              .threads = x->setup.threads > 0 ? x->setup.threads : 1,
                              .cold = x->setup.cold,
                              .compilers = x->setup.compilers,
                              .reference_seconds = 0.1,
                              .reference_limit = 10,
                              .compile_seconds = 2,
                              .slow_compile = x->setup.slow_compile,
                              .cancelled = cancelled,
                              .plant = plant,
                              .cancel_user = x};
    MeasureFault fault;
    x->m = measure_open(&x->lab.arena, &x->setup, &fault);
    CHECK(x->m && fault == MEASURE_OK);
}

static void close_bench(Bench *x) {
    measure_close(x->m);
    lab_end(&x->lab);
}

static Job text_job(const char *s) { return (Job){JOB_TEXT, s, strlen(s) + 1}; }

static const char *const fast = "C: n/64 m/6 k m n:v\n", *const naive = "", *const bad = "C: q\n";

TEST(intervals_are_order_statistics) {
    double x[] = {5, 1, 4, 2, 3, 6, 9, 8, 7};
    Estimated e = sample_estimate(x, 9);
    CHECK_F64_EQ(e.median, 5);
    CHECK_F64_EQ(e.low, 2);
    CHECK_F64_EQ(e.high, 8);
    double y[] = {2, 1};
    e = sample_estimate(y, 2);
    CHECK_F64_EQ(e.median, 1.5);
    CHECK_F64_EQ(e.low, 1);
    CHECK_F64_EQ(e.high, 2);
}

TEST(candidates_are_timed) {
    static Bench x;
    open_bench(&x, matmul, (int64_t[]){64, 64, 64}, 64 * 64 * 64);
    CHECK_STR_EQ(measure_reference(x.m), "the interpreter");
    CHECK(measure_operands(x.m)->exact);
    Job jobs[] = {text_job(fast), text_job(naive), text_job(bad), text_job(fast)};
    Trial t[4];
    measure_batch(x.m, jobs, 4, INFINITY, t);
    CHECK(t[0].state == TRIAL_TIMED);
    CHECK(t[0].seconds > 1e-7 && t[0].seconds < 1e-3);
    CHECK(t[0].low <= t[0].seconds && t[0].seconds <= t[0].high);
    CHECK(t[1].state == TRIAL_SLOW);
    CHECK(t[1].seconds > 2 * t[0].seconds);
    CHECK(t[2].state == TRIAL_DECLINED);
    CHECK(t[3].state == TRIAL_TIMED || t[3].state == TRIAL_SLOW);
    CHECK(t[3].seconds < t[1].seconds);
    Trial again;
    measure_again(x.m, &jobs[0], 1, 0.02, &again);
    CHECK(again.state == TRIAL_TIMED);
    CHECK(again.seconds < 3 * t[0].seconds);
    const MeasureTally *tally = measure_tally(x.m);
    CHECK(tally->trials == 4 && tally->kernels > 0 && tally->restarts == 2);
    close_bench(&x);
}

// Several in a fresh process: those that do not run do not keep the others from it.
TEST(the_last_word_is_spoken_in_turn) {
    static Bench x;
    open_bench(&x, matmul, (int64_t[]){64, 64, 64}, 64 * 64 * 64);
    Job jobs[] = {text_job(fast), text_job(bad), text_job(naive), text_job(fast)};
    Trial t[4];
    measure_again(x.m, jobs, 4, 0.05, t);
    CHECK(t[0].state == TRIAL_TIMED && t[1].state == TRIAL_DECLINED);
    CHECK(t[2].state == TRIAL_TIMED && t[3].state == TRIAL_TIMED);
    CHECK(t[0].samples >= 6 && t[0].samples == t[2].samples && t[0].samples == t[3].samples);
    CHECK(t[0].measured > 0 && t[0].seconds <= t[0].measured && t[0].measured <= t[0].seconds);
    CHECK(t[2].seconds > 2 * t[0].seconds);
    CHECK(t[3].seconds < 1.5 * t[0].seconds && t[0].seconds < 1.5 * t[3].seconds);
    close_bench(&x);
}

TEST(planted_faults_are_caught) {
    static Bench x = {.plants = {[1] = PLANT_WRONG,
                                 [3] = PLANT_CRASH,
                                 [4] = PLANT_HANG,
                                 [6] = PLANT_STUCK,
                                 [7] = PLANT_WRONG}};
    open_bench(&x, matmul, (int64_t[]){16, 16, 16}, 4096);
    Job jobs[9];
    Trial t[9];
    for (int i = 0; i < 9; i++) jobs[i] = text_job(fast);
    measure_batch(x.m, jobs, 9, INFINITY, t);
    static const TrialState want[9] = {[1] = TRIAL_WRONG,
                                       [3] = TRIAL_CRASHED,
                                       [4] = TRIAL_HUNG,
                                       [6] = TRIAL_HUNG,
                                       [7] = TRIAL_WRONG};
    for (int i = 0; i < 9; i++)
        CHECK(want[i] ? t[i].state == want[i]
                      : t[i].state == TRIAL_TIMED || t[i].state == TRIAL_SLOW);
    CHECK(measure_tally(x.m)->restarts >= 4);
    close_bench(&x);
}

// With an incumbent a call is not waited for: what hangs is left like what is slow.
TEST(hopeless_calls_are_cut_short) {
    static Bench x = {.plants = {[1] = PLANT_HANG, [2] = PLANT_HANG, [3] = PLANT_HANG}};
    open_bench(&x, matmul, (int64_t[]){16, 16, 16}, 4096);
    Job jobs[4] = {text_job(fast), text_job(fast), text_job(fast), text_job(fast)};
    Trial t[4];
    measure_batch(x.m, jobs, 1, INFINITY, t);
    double begin = measure_clock();
    measure_batch(x.m, jobs + 1, 3, t[0].seconds, t + 1);
    for (int i = 1; i < 4; i++) CHECK(t[i].state == TRIAL_HUNG || t[i].state == TRIAL_SLOW);
    CHECK(t[1].state == TRIAL_HUNG);
    CHECK(t[3].state == TRIAL_SLOW && t[3].seconds > t[0].seconds);
    CHECK(measure_clock() - begin < 5);
    close_bench(&x);
}

TEST(a_batch_is_cancelled) {
    static Bench x = {.plants = {[0] = PLANT_STUCK}};
    open_bench(&x, matmul, (int64_t[]){16, 16, 16}, 4096);
    Job jobs[3] = {text_job(fast), text_job(fast), text_job(fast)};
    Trial t[3];
    x.asked = 0;
    x.stop_after = 3;
    measure_batch(x.m, jobs, 3, INFINITY, t);
    for (int i = 0; i < 3; i++) CHECK(t[i].state == TRIAL_CANCELLED);
    x.stop_after = 0;
    measure_batch(x.m, jobs, 1, INFINITY, t);
    CHECK(t[0].state == TRIAL_TIMED);
    close_bench(&x);
}

TEST(large_programs_are_cross_checked) {
    static Bench x;
    open_bench(&x, matmul, (int64_t[]){256, 256, 256}, 256 * 256 * 256);
    CHECK_STR_EQ(measure_reference(x.m), "naive code");
    Job job = text_job(fast);
    Trial t;
    measure_batch(x.m, &job, 1, INFINITY, &t);
    CHECK(t.state == TRIAL_TIMED);
    close_bench(&x);
}

// Nobody waits longer for it, and nobody who cancels waits at all.
TEST(the_reference_has_a_limit) {
    static Bench x;
    open_bench(&x, matmul, (int64_t[]){256, 256, 256}, 256 * 256 * 256);
    MeasureSetup s = x.setup;
    MeasureFault fault;
    double begin = measure_clock();
    s.reference_seconds = 60;
    s.reference_limit = 0.01; // the interpreter takes half a second; it would take too long
    CHECK(!measure_open(&x.lab.arena, &s, &fault) && fault == MEASURE_NO_REFERENCE);
    s.reference_limit = 60;
    x.stop_after = 1;
    CHECK(!measure_open(&x.lab.arena, &s, &fault) && fault == MEASURE_CANCELLED);
    CHECK(measure_clock() - begin < 0.4);
    close_bench(&x);
}

// Rounding: no two orders give the same bits, and none is wrong for it.
TEST(inexact_programs_have_a_tolerance) {
    static Bench x;
    open_bench(&x,
               "program f(M, K) {\n"
               "    input A: f32[M, K]\n"
               "    output C: f32[M]\n"
               "    C: for m in 0:M, k in 0:K\n"
               "        C[m] +=! exp(A[m, k])\n"
               "}\n",
               (int64_t[]){40, 100}, 4000);
    CHECK(!measure_operands(x.m)->exact);
    Job jobs[] = {text_job("C: m k:v\n"), text_job("C: k/7 k m:v\n")};
    Trial t[2];
    measure_batch(x.m, jobs, 2, INFINITY, t);
    for (int i = 0; i < 2; i++) CHECK(t[i].state == TRIAL_TIMED || t[i].state == TRIAL_SLOW);
    close_bench(&x);
}

// --- Data ----------------------------------------------------------------------------------------

static float most_of(const void *data, size_t n) {
    const float *x = data;
    float most = 0;
    for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    return most;
}

static bool whole(const void *data, size_t n) {
    const float *x = data;
    for (size_t i = 0; i < n; i++)
        if (x[i] != truncf(x[i])) return false;
    return true;
}

// A sum of 4096 small integers is in the hundreds, and its exponential infinite: times would be
// those of infinities. Candidates are checked on integers and timed on sums that are about 1.
TEST(times_are_of_numbers_in_range) {
    static Bench x;
    open_bench(&x,
               "program f(M, N, K) {\n"
               "    input A: f32[M, K]\n"
               "    input B: f32[K, N]\n"
               "    input I: i32[M]\n"
               "    inout S: f32[M]\n"
               "    temp H: f32[M, N]\n"
               "    H: for m in 0:M, n in 0:N, k in 0:K\n"
               "        H[m, n] +=! A[m, k]*B[k, n]\n"
               "    S: for m in 0:M, n in 0:N\n"
               "        S[m] += exp(H[m, n])*f32(I[m])\n"
               "}\n",
               (int64_t[]){4, 8, 4096}, 4 * 8 * 4096);
    const Operands *o = measure_operands(x.m);
    enum { A = 4 * 4096, B = 8 * 4096, M = 4, N = 8, K = 4096 };
    void **ints = o->buffer[DATA_WHOLE], **real = o->buffer[DATA_REAL];
    CHECK(!o->exact && o->timed == DATA_REAL);
    CHECK(whole(ints[0], A) && whole(ints[1], B) && whole(o->at[3].data[DATA_WHOLE].data, M));
    CHECK(most_of(real[0], A) <= 0.2f && most_of(real[0], A) > 0.1f);
    CHECK(!whole(real[1], B) && !whole(o->at[3].data[DATA_REAL].data, M));
    CHECK(real[2] == ints[2] && real[3] == ints[3]); // integers, results
    const float *a = real[0], *b = real[1];
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += (double)a[m * K + k] * (double)b[k * N + n];
            CHECK(fabs(sum) < 5);
        }
    Job jobs[] = {text_job("S: m n:v\n"), text_job("H: m k n:v\nS: m n:v\n")};
    Trial t[2];
    measure_batch(x.m, jobs, 2, INFINITY, t);
    for (int i = 0; i < 2; i++) CHECK(t[i].state == TRIAL_TIMED || t[i].state == TRIAL_SLOW);
    close_bench(&x);
}

// Products take as long whatever they multiply: there is one set of data.
TEST(exact_programs_have_one_set_of_data) {
    static Bench x;
    open_bench(&x, matmul, (int64_t[]){16, 16, 16}, 4096);
    const Operands *o = measure_operands(x.m);
    CHECK(o->exact && o->timed == DATA_WHOLE);
    for (int i = 0; i < o->n; i++) CHECK(o->buffer[DATA_REAL][i] == o->buffer[DATA_WHOLE][i]);
    close_bench(&x);
}

// A user's data are timed on, gaps of strides and all, and not checked on.
TEST(data_of_a_user_are_timed_on) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, matmul, (int64_t[]){2, 3, 2});
    float a[] = {1.5f, 2.5f, 99, 3.5f, 4.5f};
    int64_t size[3][2] = {{2, 2}, {2, 3}, {2, 3}}, stride[2] = {-3, 1};
    View v[3] = {{.data = a + 3, .type = TYPE_F32, .rank = 2, .size = size[0], .stride = stride},
                 {.type = TYPE_F32, .rank = 2, .size = size[1]},
                 {.type = TYPE_F32, .rank = 2, .size = size[2]}};
    Operands o;
    if (CHECK(operands_make(&o, &lab.arena, p, v, NULL, 0))) {
        const float *timed = o.buffer[DATA_GIVEN][0], *checked = o.buffer[DATA_WHOLE][0];
        CHECK(o.timed == DATA_GIVEN && timed[0] == 3.5f && timed[1] == 4.5f && timed[-3] == 1.5f);
        CHECK(checked[0] == truncf(checked[0]) && checked[-3] == truncf(checked[-3]));
        CHECK(o.buffer[DATA_GIVEN][1] == o.buffer[DATA_WHOLE][1]);
    }
    operands_free(&o);
    size[0][0] = 0; // no element: no byte before the first is looked at either
    if (CHECK(operands_make(&o, &lab.arena, p, v, NULL, 0)))
        CHECK(o.at[0].data[DATA_GIVEN].bytes == 0);
    operands_free(&o);
    int64_t back[2] = {1, -1};
    size[0][0] = 0, size[0][1] = 3;
    v[0].stride = back;
    if (CHECK(operands_make(&o, &lab.arena, p, v, NULL, 0)))
        CHECK(o.at[0].data[DATA_GIVEN].bytes == 0);
    operands_free(&o);
    lab_end(&lab);
}

// --- What comparing says -------------------------------------------------------------------------

// exp(-sum of squares): of integers it is 0, whatever the sum.
static const char *const kernel_text =
    "program rbf(N, M, D) {\n"
    "    input X: f32[N, D]\n"
    "    input Y: f32[M, D]\n"
    "    output K: f32[N, M]\n"
    "    temp S: f32[N, M]\n"
    "    S: for i in 0:N, j in 0:M, d in 0:D%s\n"
    "        S[i, j] +=! (X[i, d] - Y[j, d])*(X[i, d] - Y[j, d])\n"
    "    K: for i in 0:N, j in 0:M\n"
    "        K[i, j] = exp(%s*S[i, j])\n"
    "}\n";

static void open_rbf(Bench *x, const char *factor) {
    char text[600], wrong[600];
    int64_t sizes[] = {30, 21, 64};
    snprintf(text, sizeof text, kernel_text, "", factor);
    snprintf(wrong, sizeof wrong, kernel_text, " - 1", factor); // forgets one term of 64
    x->other_text = wrong;
    open_bench(x, text, sizes, 30 * 21 * 65);
}

TEST(results_that_saturate_are_compared_on_other_data) {
    static Bench x = {.plants = {[2] = PLANT_WRONG}};
    open_rbf(&x, "-1.0");
    const Operands *o = measure_operands(x.m);
    CHECK(!o->exact && most_of(o->at[2].expected[DATA_WHOLE].data, 30 * 21) == 0);
    CHECK(most_of(o->at[2].expected[DATA_REAL].data, 30 * 21) > 1e-3f);
    CHECK(!measure_blank(x.m, 2));
    Job jobs[] = {text_job("S: i j d:v\n"), text_job("other\n"), text_job("S: i j d:v\n")};
    Trial t[3];
    measure_batch(x.m, jobs, 3, INFINITY, t);
    CHECK(t[0].state == TRIAL_TIMED);
    CHECK(t[1].state == TRIAL_WRONG && t[2].state == TRIAL_WRONG);
    close_bench(&x);
}

// Nothing helps: that is told.
TEST(what_says_nothing_on_any_data_is_told) {
    static const char *const factors[] = {"-100000.0", "0.0000000001", "-1.0"};
    for (int i = 0; i < 3; i++) {
        static Bench x;
        x = (Bench){0};
        open_rbf(&x, factors[i]);
        CHECK(measure_blank(x.m, 2) == (i < 2));
        close_bench(&x);
    }
}

// A result in few bits of sums in many: what is rounded is the result.
TEST(rounding_is_that_of_the_sums) {
    static const char *const text = "program soft(N, M) {\n"
                                    "    input A: f32[N, M]\n"
                                    "    output O: bf16[N, M]\n"
                                    "    temp e: f32[N, M]\n"
                                    "    temp s: f32[N]\n"
                                    "    e: for i in 0:N, j in 0:M\n"
                                    "        e[i, j] = exp(A[i, j])\n"
                                    "    s: for i in 0:N, j in 0:M\n"
                                    "        s[i] +=! e[i, j]\n"
                                    "    O: for i in 0:N, j in 0:M\n"
                                    "        O[i, j] = bf16(e[i, j]/s[i])\n"
                                    "}\n";
    static Bench x;
    open_bench(&x, text, (int64_t[]){20, 1000}, 60000);
    CHECK(!measure_blank(x.m, 1) && measure_operands(x.m)->at[1].tolerance < 0.5);
    Job jobs[] = {text_job("s: i j:v\n"), text_job("s: j i\n")};
    Trial t[2];
    measure_batch(x.m, jobs, 2, INFINITY, t);
    for (int i = 0; i < 2; i++) CHECK(t[i].state == TRIAL_TIMED || t[i].state == TRIAL_SLOW);
    close_bench(&x);
}

TEST(a_planted_fault_exceeds_any_rounding) {
    static Bench x = {.plants = {[1] = PLANT_WRONG}};
    open_bench(&x,
               "program f(M, N) {\n"
               "    input A: f32[M, N]\n"
               "    output B: f32[M, N]\n"
               "    B: for m in 0:M, n in 0:N\n"
               "        B[m, n] = sqrt(A[m, n])\n" // half of them are no numbers
               "}\n",
               (int64_t[]){40, 100}, 4000);
    Job jobs[] = {text_job("B: m n:v\n"), text_job("B: m n:v\n")};
    Trial t[2];
    measure_batch(x.m, jobs, 2, INFINITY, t);
    CHECK(t[0].state == TRIAL_TIMED && t[1].state == TRIAL_WRONG);
    CHECK(!measure_blank(x.m, 1));
    close_bench(&x);
}

// What is added to must start anew for every comparison, and may be added to while it is timed.
TEST(in_outs_start_from_the_same_content) {
    static Bench x;
    open_bench(&x,
               "program f(M, N) {\n"
               "    input A: f32[M, N]\n"
               "    inout C: f32[M]\n"
               "    C: for m in 0:M, n in 0:N\n"
               "        C[m] += A[m, n]\n"
               "}\n",
               (int64_t[]){33, 65}, 33 * 65);
    CHECK(measure_operands(x.m)->exact);
    Job jobs[] = {text_job("C: m n:v\n"), text_job("C: m n:v\n"), text_job("C: n m:v\n")};
    Trial t[3];
    measure_batch(x.m, jobs, 3, INFINITY, t);
    for (int i = 0; i < 3; i++) CHECK(t[i].state == TRIAL_TIMED || t[i].state == TRIAL_SLOW);
    close_bench(&x);
}

TEST(threads_are_the_workers_own) {
    static Bench x = {.setup.threads = 2, .plants = {[2] = PLANT_HANG}};
    open_bench(&x, matmul, (int64_t[]){96, 96, 96}, 96 * 96 * 96);
    Job jobs[] = {text_job("C: m/16:p n/64 m/6 k m n:v\n"), text_job("C: n/64:p m/6 k m n:v\n"),
                  text_job(fast), text_job("C: m/24:p n/64 m/6 k m n:v\n")};
    Trial t[4];
    measure_batch(x.m, jobs, 4, INFINITY, t);
    CHECK(t[0].state == TRIAL_TIMED);
    CHECK(t[1].state == TRIAL_TIMED || t[1].state == TRIAL_SLOW);
    CHECK(t[2].state == TRIAL_HUNG);
    CHECK(t[3].state == TRIAL_TIMED || t[3].state == TRIAL_SLOW);
    close_bench(&x);
}

// What takes long to compile is left out, whoever compiles.
TEST(slow_compilations_are_given_up) {
    for (int compilers = 0; compilers <= 2; compilers += 2) {
        static Bench x;
        x = (Bench){.setup = {.compilers = compilers, .slow_compile = 0.03}};
        open_bench(&x, matmul, (int64_t[]){16, 16, 16}, 4096);
        Job jobs[] = {text_job(fast), text_job("slow\n"), text_job(fast), text_job("slow\n")};
        Trial t[4];
        measure_batch(x.m, jobs, 4, INFINITY, t);
        for (int i = 0; i < 4; i++)
            CHECK(i % 2 ? t[i].state == TRIAL_DECLINED
                        : t[i].state == TRIAL_TIMED || t[i].state == TRIAL_SLOW);
        close_bench(&x);
    }
}

// Compilers hand over what the worker would have made; one that dies or hangs costs its job.
TEST(jobs_are_compiled_at_once) {
    static Bench x = {.setup.compilers = 3};
    open_bench(&x, matmul, (int64_t[]){32, 32, 32}, 32 * 32 * 32);
    enum { N = 40 };
    Job jobs[N];
    Trial t[N];
    static const char *const text[] = {
        "", "C: n/32 m/6 k m n:v\n", "C: q\n", "die\n", "C: m n:v k\n", "C: m k n:v\n", "hang\n"};
    for (int i = 0; i < N; i++) jobs[i] = text_job(text[i == 6 ? 6 : i % 6]);
    measure_batch(x.m, jobs, N, INFINITY, t);
    for (int i = 0; i < N; i++) {
        const char *s = text[i == 6 ? 6 : i % 6];
        TrialState got = t[i].state;
        if (!strcmp(s, "die\n"))
            CHECK(got == TRIAL_CRASHED);
        else if (!strcmp(s, "hang\n"))
            CHECK(got == TRIAL_HUNG);
        else if (!strcmp(s, "C: q\n") || !strcmp(s, "C: m n:v k\n"))
            CHECK(got == TRIAL_DECLINED);
        else
            CHECK(got == TRIAL_TIMED || got == TRIAL_SLOW);
    }
    CHECK(measure_tally(x.m)->compile > 0);
    close_bench(&x);
}

// True: the system can read and write a byte there.
static bool accessible(char *p) {
    int fd[2];
    if (!CHECK(pipe(fd) == 0)) return false;
    bool ok = write(fd[1], p, 1) == 1 && read(fd[0], p, 1) == 1;
    close(fd[0]);
    close(fd[1]);
    return ok;
}

static const char *const turned = "program turned(M, N) {\n"
                                  "    input A: f32[M, N]\n"
                                  "    output C: f32[N, M]\n"
                                  "    C: for m in 0:M, n in 0:N\n"
                                  "        C[n, m] = A[m, n]\n"
                                  "}\n";

TEST(timing_uses_ordinary_memory) {
    static Bench x;
    open_bench(&x, matmul, (int64_t[]){10, 8, 12}, 960);
    const Operands *o = measure_operands(x.m);
    for (int i = 0; i < o->n; i++) {
        char *p = o->ordinary[i];
        for (int k = 0; k < i; k++)
            CHECK(((uintptr_t)p - (uintptr_t)o->ordinary[k]) % 4096 >= 1024 &&
                  ((uintptr_t)o->ordinary[k] - (uintptr_t)p) % 4096 >= 1024);
        CHECK((uintptr_t)p % 64 == 0);
        CHECK(accessible(p - 64) && accessible(p + o->at[i].ordinary.bytes + 64));
        CHECK(!accessible((char *)o->at[i].data[0].map) || o->at[i].role != ROLE_INPUT);
        if (o->at[i].role == ROLE_INPUT)
            CHECK(!memcmp(p, o->buffer[o->timed][i], o->at[i].ordinary.bytes));
    }
    close_bench(&x);
}

// Rows that end inside a vector are stored with masks, which are slow beside pages that cannot be
// touched. A caller does not pay for that, and neither does a candidate.
TEST(a_tuning_times_what_a_caller_sees) {
    static Bench x;
    open_bench(&x, turned, (int64_t[]){10, 8}, 80);
    Job job = {JOB_CHOSEN, "", 1};
    JobCode code;
    CHECK(compile(&x, &x.lab.arena, &job, &code));
    ExecArena *exec = exec_arena_new();
    ExecBlock *block = exec_add(exec, code.bytes, code.size);
    float a[80 + 64] = {0}, c[80 + 64] = {0};
    KernelEnv env = {.threads = 1, .apply = code_apply};
    KernelCall call = {(Kernel *)exec_entry(block), (void *[]){a + 32, c + 32}, NULL, &env};
    Stopwatch watch = stopwatch_new(1);
    double least = INFINITY;
    for (int i = 0; i < 5 && least > 2; i++) { // others may use the machine
        Trial t;
        measure_again(x.m, &job, 1, 0.02, &t);
        kernel_sample(&watch, &call, 1000);
        least = fmin(least, t.seconds / kernel_sample(&watch, &call, 1000));
    }
    CHECK(least < 2);
    exec_release(block);
    exec_arena_free(exec);
    close_bench(&x);
}

// Memory is an order of magnitude slower than the second cache, whatever else the machine does.
TEST(cold_calls_are_slower) {
    static const char *const total = "program total(N) {\n"
                                     "    input A: f32[N]\n"
                                     "    output C: f32[]\n"
                                     "    C: for n in 0:N\n"
                                     "        C[] +=! A[n]\n"
                                     "}\n";
    static Bench x, y = {.setup.cold = true};
    int64_t sizes[] = {64 * 1024};
    Job job = text_job("C: n:v\n");
    Trial warm, cold;
    open_bench(&x, total, sizes, sizes[0]);
    measure_again(x.m, &job, 1, 0.03, &warm);
    close_bench(&x);
    open_bench(&y, total, sizes, sizes[0]);
    measure_again(y.m, &job, 1, 0.03, &cold);
    close_bench(&y);
    CHECK(warm.state == TRIAL_TIMED && cold.state == TRIAL_TIMED);
    CHECK(cold.seconds > warm.seconds);
}
