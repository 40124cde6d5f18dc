// loopwright demo: four programs, from their text to machine code at the speed of the machine, in
// under a minute. Each is compiled, checked against the reference interpreter, measured as chosen
// without search, tuned for a second, checked and measured again, and compared with a C compiler on
// the same loops as written.
#include "command/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Story {
    const char *word;                 // name for --only
    const char *title, *suite, *name; // an item of the suites, or
    BenchItem own;                    // a separate item
} Story;

static const Story stories[] = {
    {.word = "matmul", .title = "matmul", .suite = "gemm", .name = "256"},
    {.word = "conv",
     .title = "convolution, bias, relu",
     .own = {.suite = "demo",
             .name = "conv",
             .program = "def conv(float(H,W,C) I, float(3,3,C,K) F, float(K) bias) -> (O) {\n"
                        "    P(y,x,c) = 0.0 where y in 0:H + 2, x in 0:W + 2, c in 0:C\n"
                        "    P(y + 1,x + 1,c) = I(y,x,c)\n"
                        "    O(h,w,k) +=! P(h + r,w + s,c) * F(r,s,c,k) where h in 0:H, w in 0:W\n"
                        "    O(h,w,k) = relu(O(h,w,k) + bias(k))\n}\n",
             .sizes = "H=28,W=28,C=64,K=64"}},
    {.word = "softmax", .title = "softmax", .suite = "memory", .name = "softmax 1024"},
    {.word = "attention", .title = "attention", .suite = "gemm", .name = "attention 8 x 128, 64"},
};
enum { STORIES = sizeof stories / sizeof *stories };

typedef struct Outcome {
    double naive_us, compile_us, chosen_us, tuned_us, bound_us, roof_us;
    long long trials;
    bool right, tuned_right, tuned;
    bool kept;    // tuning found nothing faster than the chosen schedule
    bool refuted; // measured below the bound: there is no certificate
    char *schedule;
    const BenchItem *item;
} Outcome;

// The title of the table's first column: a C compiler on the loops as written, or, without one, our
// own code for them.
static const char naive_cc[] = "gcc -O3", naive_own[] = "as written";

// Alternates only the kernels. A tuned schedule that is slower here than the chosen one is not
// used: the difference is measurement noise.
static void measure(Bench *b, BenchKernel *chosen, BenchKernel *tuned, Outcome *o) {
    static Trial t;
    t = (Trial){0};
    trial_add_kernel(&t, "chosen", bench_kernel_call, chosen);
    if (tuned) trial_add_kernel(&t, "tuned", bench_kernel_call, tuned);
    trial_run(&b->lab, &t);
    o->chosen_us = trial_median(&t, 0) / 1e3;
    if (tuned) o->tuned_us = trial_median(&t, 1) / 1e3;
    o->kept = tuned && o->tuned_us >= o->chosen_us;
    if (o->kept) o->tuned_us = o->chosen_us;
}

// Times the loops as written separately: they may take a hundred times as long as the others.
static double naive_us(Bench *b, const BenchItem *item, BenchKernel *chosen, const char *who) {
    static Trial t;
    BenchKernel own = {0};
    BenchCompiled c = {0};
    double us = NAN;
    bool cc = who == naive_cc;
    t = (Trial){0};
    if (cc && bench_kernel_compile(chosen, "gcc", &c))
        trial_add_kernel(&t, naive_cc, bench_compiled_call, &c);
    else if (!cc)
        bench_kernel_open_with(&own, b, item, "");
    if (!cc && !own.error) trial_add_kernel(&t, naive_own, bench_kernel_call, &own);
    if (c.run || own.kernel) {
        trial_run(&b->lab, &t);
        us = trial_median(&t, 0) / 1e3;
    }
    bench_compiled_close(&c);
    bench_kernel_close(&own);
    return us;
}

// The kernel under the tuned schedule, with its own operands. False: there is none.
static bool tune(Bench *b, const BenchItem *item, BenchKernel *k, BenchKernel *tuned, Outcome *o) {
    const lw_tune_result *found;
    lw_tune_options t = {.struct_size = sizeof t, .seconds = 1, .threads = 1, .seed = 1};
    t.db = "none", t.failures = "none";
    lab_pin(&b->lab, false);
    lw_status status = lw_tune(k->ctx, k->bound, &t, &found);
    lab_pin(&b->lab, true);
    if (status) return false;
    o->bound_us = found->state->bound * 1e6;
    o->refuted = found->refuted;
    o->trials = found->state->trials;
    o->schedule = strdup(found->schedule);
    bench_kernel_open_with(tuned, b, item, found->schedule);
    return !tuned->error;
}

static bool matches(BenchKernel *k, const void *reference, bool rounded) {
    bench_kernel_call(k);
    return bench_kernel_same(k, reference, rounded);
}

// Prints it as a Schedule file: options are indented by four more than statements.
static void print_schedule(FILE *to, const char *schedule, bool kept) {
    fprintf(to, kept ? "  loops as chosen, none faster found:\n" : "  loops after tuning:\n");
    for (size_t n; *schedule; schedule += n + (schedule[n] == '\n')) {
        n = strcspn(schedule, "\n");
        fprintf(to, "    %.*s\n", (int)n, schedule);
    }
}

// The outcome of a search that found nothing faster: the chosen schedule.
static void keep_choice(BenchKernel *chosen, Outcome *o) {
    const char *text;
    lw_show_options show = {.struct_size = sizeof show, .threads = 1};
    if (lw_bound_show_with(chosen->ctx, chosen->bound, LW_STAGE_SCHEDULE, &show, &text)) return;
    free(o->schedule);
    o->schedule = strdup(text);
}

static void play(Bench *b, const Story *s, const char *naive, Outcome *o) {
    const BenchItem *item = s->suite ? bench_find(s->suite, s->name) : &s->own;
    BenchKernel chosen, tuned = {0};
    void *reference = NULL;
    lw_roof roof;
    bench_kernel_open(&chosen, b, item);
    o->item = item;
    if (b->out) fprintf(b->out, "\n%s, %s\n%s", s->title, item->sizes, item->program);
    if (b->out) fflush(b->out);
    if (chosen.error) {
        if (b->out) fprintf(b->out, "  %s\n", chosen.error);
        return bench_kernel_close(&chosen);
    }
    double us[9];
    for (int i = 0; i < 9; i++) us[i] = bench_compile_us(b, item, NULL);
    o->compile_us = median(us, 9);
    bool known = bench_kernel_refer(&chosen, LW_BACKEND_INTERP, &reference);
    o->right = known && matches(&chosen, reference, item->rounded);
    if (bench_roof(b, &chosen, chosen.info->bytes, &roof)) o->roof_us = roof.us;
    o->tuned = tune(b, item, &chosen, &tuned, o);
    o->tuned_right = o->tuned && known && matches(&tuned, reference, item->rounded);
    measure(b, &chosen, o->tuned ? &tuned : NULL, o);
    if (o->kept) keep_choice(&chosen, o);
    o->refuted |=
        o->bound_us > 0 && fmin(o->chosen_us, o->tuned ? o->tuned_us : INFINITY) < o->bound_us;
    o->naive_us = naive_us(b, item, &chosen, naive);
    if (o->schedule && b->out) print_schedule(b->out, o->schedule, o->kept);
    free(reference);
    bench_kernel_close(&tuned);
    bench_kernel_close(&chosen);
}

static const char *in_words(double us, char text[32]) {
    if (!(us > 0))
        snprintf(text, 32, "-");
    else if (us < 1e3)
        snprintf(text, 32, "%.1f us", us);
    else
        snprintf(text, 32, "%.2f ms", us / 1e3);
    return text;
}

static void table(const Outcome *all, const char *naive) {
    char a[32], c[32], d[32], e[32], n[32];
    printf("\n%-24s %11s %11s %11s %11s %8s %12s %6s %8s  %s\n", "", "compiled in", naive,
           "as chosen", "tuned 1 s", "trials", "cannot beat", "gap", "of peak",
           "equal to the interpreter");
    for (int i = 0; i < STORIES; i++) {
        const Outcome *o = &all[i];
        if (!o->item) continue;
        double best = o->tuned ? o->tuned_us : o->chosen_us;
        printf("%-24s %11s %11s %11s %11s %8lld %12s ", stories[i].title,
               in_words(o->compile_us, a), in_words(o->naive_us, n), in_words(o->chosen_us, c),
               in_words(o->tuned_us, d), o->trials,
               o->refuted ? "refuted" : in_words(o->bound_us, e));
        if (o->bound_us > 0 && !o->refuted)
            printf("%4.0f %% ", 100 * (best / o->bound_us - 1));
        else
            printf("%6s ", "-");
        printf("%6.0f %%  %s\n", 100 * o->roof_us / best,
               !o->right                     ? "NO"
               : o->tuned && !o->tuned_right ? "as chosen; tuned: NO"
                                             : "yes");
    }
}

static void json_rows(Json *j, const Outcome *all, const char *naive) {
    json_str(j, "naive", naive);
    json_open(j, "rows", '[');
    for (int i = 0; i < STORIES; i++) {
        const Outcome *o = &all[i];
        if (!o->item) continue;
        json_open(j, NULL, '{');
        json_str(j, "item", stories[i].title);
        json_str(j, "sizes", o->item->sizes);
        json_num(j, "compile_us", o->compile_us);
        json_num(j, "naive_us", o->naive_us);
        json_num(j, "chosen_us", o->chosen_us);
        json_num(j, "tuned_us", o->tuned ? o->tuned_us : (double)NAN);
        json_int(j, "trials", o->trials);
        if (o->refuted) json_bool(j, "refuted", true);
        json_num(j, "bound_us", o->bound_us > 0 && !o->refuted ? o->bound_us : (double)NAN);
        json_num(j, "roof_us", o->roof_us);
        json_bool(j, "kept", o->kept);
        json_str(j, "schedule", o->schedule);
        json_bool(j, "same", o->right && (!o->tuned || o->tuned_right));
        json_close(j, '}');
    }
    json_close(j, ']');
}

// The printed commands work as they are: the program is named as it was called, and later commands
// read files that earlier ones write.
static void say_next(const char *self, const char *naive) {
    printf("\n  %s: the same loops in the order in which they are written, %s, one core\n"
           "  cannot beat: a lower bound, at this machine's rates, of every implementation in the "
           "space that was searched\n"
           "  of peak: the least time for the operations, or for moving the arguments once, by the "
           "best time\n"
           "\nTry next:\n"
           "  echo 'def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }' > "
           "mm.tc\n"
           "  %s explain mm.tc --size M=256,N=256,K=256 -o explain.html\n"
           "  %s tune mm.tc --size M=256,N=256,K=256 --seconds 2\n"
           "  %s bench gemm --quick && %s report -o report.html\n",
           naive, naive == naive_cc ? "in C by gcc -O3 -march=native" : "compiled by loopwright",
           self, self, self, self);
}

static bool wanted(const Cli *cli, const Story *s) {
    return !cli->only || rival_word(cli->only, s->word, strlen(s->word));
}

int command_demo(Cli *cli) {
    static Bench bench;
    Bench *b = &bench;
    Outcome all[STORIES] = {0};
    *b = (Bench){.cli = cli};
    if (cli->nwords) return cli_misuse(cli, "it takes no file, not '%s'", cli->words[0]);
    int n = 0;
    for (int i = 0; i < STORIES; i++) n += wanted(cli, &stories[i]);
    if (!n) return cli_misuse(cli, "--only takes matmul, conv, softmax and attention");
    cli->quick = true;
    int status = bench_open(b);
    if (status) return status;
    b->lab.trial_ns = 1e9, b->lab.rounds = 31, b->lab.cold = 0, b->lab.patience_ns = 1e9;
    b->out = cli->json ? NULL : stdout;
    bench_describe(b);
    const char *naive = bench_has_compiler("gcc") ? naive_cc : naive_own;
    for (int i = 0; i < STORIES; i++)
        if (wanted(cli, &stories[i])) play(b, &stories[i], naive, &all[i]);
    json_rows(&cli->object, all, naive);
    if (b->out) table(all, naive);
    if (b->out) say_next(cli->self, naive);
    bool right = true;
    for (int i = 0; i < STORIES; i++) {
        if (!all[i].item) continue;
        right = right && all[i].right && (!all[i].tuned || all[i].tuned_right);
        free(all[i].schedule);
    }
    bench_close(b);
    return right ? EXIT_OK : cli_fail(cli, "a result is not the interpreter's");
}
