// The lower bound against measured times: random implementations of about thirty programs, none of
// which may be faster than its bound, and the gap from the bound of the whole space to the best
// known implementation: of these, the chosen one, and the one written by hand.
//
//     make bench-bound
//     build/bench/bound [--samples 250] [--item NAME] [--seed 1] [--verbose]
//
// On machines other than this one: bench/described.c.
//
// Half of the implementations are random descents; the other half keep most decisions of the
// analytic choice, since a bound is most likely wrong near the best. Noise makes kernels slower:
// the least of several short rounds counts, and more of them are run if the bound is near. Clock
// frequencies change, so the machine is measured again if a kernel seems too fast.
#include "api/rates.h"
#include "lab/lab.h"
#include "lab/ours.h"
#include "choose/choose.h"
#include "space/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES "examples/schedules/"
#define CUBE(N)  "M=" #N ",N=" #N ",K=" #N

typedef struct Item {
    const char *name, *program, *schedule, *sizes; // a name in examples/schedules, or a text
    int threads;
    double bar; // of the gap; 0: none
} Item;

#define STRIDED                                                                                    \
    "def strided(float(M,K,32) A, float(K,N) B) -> (C) {\n    C(m,n) +=! A(m,k,0) * B(k,n)\n}\n"
#define MATVEC "def mv(float(M,K) A, float(K) x) -> (y) {\n    y(m) +=! A(m,k) * x(k)\n}\n"

#define FIRST                                                                                      \
    "def conv(float(C,H,W) I, float(K,C,3,3) F) -> (O) {\n"                                        \
    "    O(k,h,w) +=! I(c, h + r, w + s) * F(k,c,r,s)\n}\n"
#define RUNNING                                                                                    \
    "def running(float(N,T) X) -> (Y) {\n    Y(n,t) +=! s <= t ? X(n,s) : 0.0 where t in 0:T\n}\n"
#define LAYERS                                                                                     \
    "def layers(float(B,I) X, float(I,H) V, float(H) v, float(H,O) W, float(O) w) -> (Y, Z) {\n"   \
    "    Y(b,h) +=! X(b,i) * V(i,h)\n    Y(b,h) = fmax(Y(b,h) + v(h), 0)\n"                        \
    "    Z(b,o) +=! Y(b,h) * W(h,o)\n    Z(b,o) = fmax(Z(b,o) + w(o), 0)\n}\n"

#define INTEGERS                                                                                   \
    "def ints(int32(M,K) A, int32(K,N) B) -> (C) {\n    C(m,n) +=! A(m,k) * B(k,n)\n}\n"
#define DOUBLES                                                                                    \
    "def doubles(double(M,K) A, double(K,N) B) -> (C) {\n    C(m,n) +=! A(m,k) * B(k,n)\n}\n"
#define DISTANCES                                                                                  \
    "def distances(float(M,K) A, float(N,K) B) -> (D) {\n"                                         \
    "    D(m,n) +=! (A(m,k) - B(n,k)) * (A(m,k) - B(n,k))\n}\n"
#define ADDS                                                                                       \
    "def adds(float(N) A, float(N) B) -> (C) {\n"                                                  \
    "    C(i) = (A(i) + B(i)) + (A(i) - B(i)) + (B(i) + 1.5)\n}\n"
#define HORNER                                                                                     \
    "def horner(float(N) X) -> (Y) {\n    Y(i) = (((((X(i) * 0.5 + 0.25) * X(i) + 0.125) * X(i) "  \
    "+ 0.5) * X(i) + 0.75) * X(i) + 1.5) * X(i) + 2.5\n}\n"
#define TWICE                                                                                      \
    "def twice(float(N) A) -> (C, D) {\n    T(i) = (A(i) * 2.5 + 1.5) * A(i)\n"                    \
    "    C(i) = T(i) * T(i)\n    D(i) = T(i) + 3.5\n}\n"
#define ALONG "def along(float(N) A) -> (S) {\n    S() +=! A(i)\n}\n"

static const Item items[] = {
    {"gemm 64", "matmul.tc", "gemm_avx512.lws", CUBE(64), 1, 0.15},
    {"gemm 128", "matmul.tc", "gemm_avx512.lws", CUBE(128), 1, 0.15},
    {"gemm 256", "matmul.tc", "gemm_avx512.lws", CUBE(256), 1, 0.15},
    {"gemm 100", "matmul.tc", "gemm_avx512.lws", CUBE(100), 1, 0.15},
    {"gemm 512", "matmul.tc", "gemm_packed.lws", CUBE(512), 1, 0.15},
    {"gemm 256, threads", "matmul.tc", "gemm_parallel.lws", CUBE(256), 2, 0},
    {"strided gemm 128", STRIDED, NULL, CUBE(128), 1, 0},
    {"matvec 1024", MATVEC, NULL, "M=1024,K=1024", 1, 0.3},
    {"axpy 3072", "axpy.tc", "axpy.lws", "N=3072", 1, 0.3},
    {"axpy 65536", "axpy.tc", "axpy.lws", "N=65536", 1, 0.3},
    {"axpy 1048576", "axpy.tc", "axpy.lws", "N=1048576", 1, 0.3},
    {"axpy 16777216", "axpy.tc", "axpy_nt.lws", "N=16777216", 1, 0.3},
    {"copy 65536", "copy.tc", "copy.lws", "N=65536", 1, 0.3},
    {"copy 16777216", "copy.tc", "copy_nt.lws", "N=16777216", 1, 0.3},
    {"axpb_relu 65536", "axpb_relu.tc", "axpb_relu.lws", "N=65536", 1, 0.3},
    {"row_sums 384", "row_sums.tc", "row_sums.lws", "M=384,N=384", 1, 0.3},
    {"column_sums 384", "column_sums.tc", "column_sums.lws", "M=384,N=384", 1, 0.3},
    {"transpose 512", "transpose.tc", "transpose.lws", "M=512,N=512", 1, 0},
    {"softmax 128", "softmax.tc", "softmax.lws", "N=128,D=512", 1, 0},
    {"conv 64@28", "conv3x3.tc", "conv3x3_w14.lws", "H=28,W=28,CO=1,CI=64,KO=1,KI=64", 1, 0},
    {"conv 16@14, channels first", FIRST, NULL, "C=16,K=16,H=16,W=16", 1, 0},
    {"two layers of 64", LAYERS, NULL, "B=16,I=64,H=64,O=64", 1, 0},
    {"running sums of 64", RUNNING, NULL, "N=64,T=64", 1, 0},
    {"integer gemm 50", INTEGERS, NULL, CUBE(50), 1, 0},
    {"f64 gemm 64", DOUBLES, NULL, CUBE(64), 1, 0},
    {"distances 64", DISTANCES, NULL, CUBE(64), 1, 0},
    {"adds 3072", ADDS, NULL, "N=3072", 1, 0},
    {"polynomial 3072", HORNER, NULL, "N=3072", 1, 0},
    {"read twice 3072", TWICE, NULL, "N=3072", 1, 0},
    {"one sum of 4096", ALONG, NULL, "N=4096", 1, 0},
};

typedef struct Bench {
    int samples;
    const char *item;
    uint64_t seed;
    bool verbose;
    Rates rates;
    int tried, declined, violations;
} Bench;

// --- Times ---------------------------------------------------------------------------------------

// Wall-clock time: processor time is too small if a virtual machine was interrupted.
static double round_ns(Ours *o, int64_t calls) {
    double begin = lab_now();
    for (int64_t i = 0; i < calls; i++) ours_call(o);
    return (lab_now() - begin) / (double)calls;
}

// Seconds of a call: the least of several rounds, of more if it comes close to `near`.
static double least_seconds(Ours *o, double near, double budget_ns) {
    double first = round_ns(o, 1), best = first, spent = first;
    int64_t calls = first < 20e3 ? (int64_t)(20e3 / (first + 1)) + 1 : 1;
    for (int round = 0; round < 60 && spent < budget_ns; round++) {
        double ns = round_ns(o, calls);
        spent += ns * (double)calls;
        best = fmin(best, ns);
        if (round >= 4 && best * 1e-9 > 1.5 * near) break;
    }
    return best * 1e-9;
}

// --- Candidates ----------------------------------------------------------------------------------

typedef struct Case {
    Ours *o;
    const CpuSpace *cs;
    const BoundModel *b;
    SpaceWork *w;
    Cand *c;
    int nchosen;
    Decision *chosen; // decisions of the analytic choice
    uint64_t random;
    int threads;
} Case;

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// A random implementation; with `near`, near the chosen one. False: a dead end.
static bool sample(Case *x, bool near) {
    const Space *s = x->cs->space;
    Cand *tried = space_cand(&x->o->work, s);
    space_copy(s, x->c, s->root);
    uint64_t drop = 1 + next(&x->random) % 20;
    for (int i = 0; near && i < x->nchosen; i++) {
        if (next(&x->random) % 100 < drop) continue;
        space_copy(s, tried, x->c);
        if (space_keep(x->w, tried, x->chosen[i].var, x->chosen[i].keep))
            space_copy(s, x->c, tried);
    }
    return space_complete(x->w, x->c, &x->random);
}

static void complain(const Case *x, double seconds, double bound) {
    BoundTerm terms[BOUND_KINDS];
    Text text = {.arena = &x->o->work};
    bound_seconds(x->b, x->c, terms);
    schedule_print(&text, x->o->schedule);
    printf("  faster than its bound: %.4g us, bound %.4g us\n", seconds * 1e6, bound * 1e6);
    for (int k = 0; k < BOUND_KINDS; k++)
        printf("    %-8s %.4g us\n", bound_name[k], terms[k].seconds * 1e6);
    printf("%s\n", text_str(&text));
}

// Prints one candidate, to find out where the bound is weak.
static void tell(const Case *x, double seconds, double bound) {
    BoundTerm terms[BOUND_KINDS];
    Text text = {.arena = &x->o->work};
    int why = 0;
    bound_seconds(x->b, x->c, terms);
    for (int k = 1; k < BOUND_KINDS; k++)
        if (terms[k].seconds > terms[why].seconds) why = k;
    schedule_print(&text, x->o->schedule);
    printf("    %7.2f times: %.4g us, bound %.4g us by %s\n%s", seconds / bound, seconds * 1e6,
           bound * 1e6, bound_name[why], text_str(&text));
}

// Clock frequencies vary with other load: a kernel that seems too fast may have run when this
// machine was faster than during the measurement of its rates. Measures them again and keeps the
// best.
static double bound_again(Bench *b, Case *x, double seconds) {
    double bound = bound_seconds(x->b, x->c, NULL);
    for (int i = 0; i < 30 && seconds < bound; i++) {
        Rates fresh;
        if (!ours_rates(&fresh, 1)) break;
        rates_improve(&b->rates, &fresh);
        x->b = bound_new(&x->o->arena, x->cs,
                         &(BoundOptions){.machine = &x->o->machine, .threads = x->threads});
        bound = bound_seconds(x->b, x->c, NULL);
    }
    return bound;
}

// Compiles and times the current candidate; INFINITY: it does not compile.
static double try_candidate(Bench *b, Case *x, double budget_ns, double *closest) {
    double bound = bound_seconds(x->b, x->c, NULL);
    DiagList quiet = {.arena = &x->o->work};
    DiagList said = x->o->diags;
    x->o->diags = quiet;
    bool ok = ours_schedule(x->o, cpu_schedule(&x->o->work, x->cs, x->c));
    x->o->diags = said;
    if (!ok) {
        b->declined++;
        return INFINITY;
    }
    double seconds = least_seconds(x->o, bound, budget_ns);
    bound = bound_again(b, x, seconds);
    b->tried++;
    *closest = fmin(*closest, seconds / bound);
    if (seconds < bound) {
        b->violations++;
        complain(x, seconds, bound);
    }
    if (b->verbose) tell(x, seconds, bound);
    return seconds;
}

// --- Programs ------------------------------------------------------------------------------------

static Ours *make(const Item *it, bool hand) {
    char program[256], schedule[256];
    bool text = strchr(it->program, '\n') != NULL;
    snprintf(program, sizeof program, EXAMPLES "%s", it->program);
    snprintf(schedule, sizeof schedule, EXAMPLES "%s", it->schedule ? it->schedule : "");
    return ours_new(text ? it->program : program, hand ? schedule : OURS_CHOSEN, it->sizes,
                    ISA_COUNT);
}

static double time_hand(const Item *it, double root) {
    if (!it->schedule) return INFINITY;
    Ours *o = make(it, true);
    double s = INFINITY;
    if (it->threads > 1) ours_threads(o, it->threads);
    if (!o->error) s = least_seconds(o, root, 60e6);
    ours_free(o);
    return s;
}

static bool open_case(const Bench *b, const Item *it, Case *x) {
    Ours *o = x->o;
    if (it->threads > 1) ours_threads(o, it->threads);
    ChooseOptions choice = {.machine = &o->machine, .serial = it->threads < 2};
    const Schedule *chosen = choose_schedule(&o->arena, o->program, &choice);
    o->machine.rates = &b->rates;
    CpuOptions options = {.machine = o->machine, .threads = it->threads, .given = chosen};
    x->cs = cpu_space(&o->arena, o->program, &options, &o->diags);
    if (!x->cs) return false;
    x->b = bound_new(&o->arena, x->cs,
                     &(BoundOptions){.machine = &o->machine, .threads = it->threads});
    x->w = space_work(&o->arena, x->cs->space);
    x->c = space_cand(&o->arena, x->cs->space);
    x->chosen = cpu_read(&o->arena, x->cs, chosen, &o->diags, &x->nchosen);
    x->random = b->seed;
    x->threads = it->threads;
    return x->b && x->chosen && ours_schedule(o, chosen);
}

static double run_samples(Bench *b, Case *x, double best, double *closest) {
    for (int i = 0; i < b->samples; i++) {
        ArenaMark mark = arena_mark(&x->o->work);
        if (sample(x, i % 2)) best = fmin(best, try_candidate(b, x, 2e6, closest));
        arena_release(&x->o->work, mark);
    }
    return best;
}

static void run_item(Bench *b, const Item *it) {
    Case x = {.o = make(it, false)};
    if (x.o->error || !open_case(b, it, &x)) {
        printf("%-18s %s\n", it->name, x.o->error ? x.o->error : "has no space");
        ours_free(x.o);
        return;
    }
    BoundTerm terms[BOUND_KINDS];
    double root = bound_seconds(x.b, x.cs->space->root, terms), closest = INFINITY;
    double best = fmin(least_seconds(x.o, root, 60e6), time_hand(it, root));
    int why = 0;
    for (int k = 1; k < BOUND_KINDS; k++)
        if (terms[k].seconds > terms[why].seconds) why = k;
    best = run_samples(b, &x, best, &closest);
    root = bound_seconds(x.b, x.cs->space->root, terms); // at rates that may be better by now
    double gap = best / root - 1;
    printf("%-18s %10.3f %10.3f %-8s %6.1f %%%s %8.2f\n", it->name, best * 1e6, root * 1e6,
           bound_name[why], 100 * gap,
           it->bar == 0     ? "  "
           : gap <= it->bar ? " ="
                            : " !",
           closest);
    fflush(stdout);
    if (best < root) b->violations++;
    ours_free(x.o);
}

int main(int argc, char **argv) {
    Bench b = {.samples = 250, .seed = 1};
    Lab lab = {.peers = ""};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--samples") && i + 1 < argc) b.samples = atoi(argv[++i]);
        if (!strcmp(argv[i], "--seed") && i + 1 < argc) b.seed = strtoull(argv[++i], NULL, 10);
        if (!strcmp(argv[i], "--item") && i + 1 < argc) b.item = argv[++i];
        if (!strcmp(argv[i], "--verbose")) b.verbose = true;
    }
    if (!ours_rates(&b.rates, 8)) return fprintf(stderr, "this machine cannot be measured\n"), 1;
    lab_open(&lab);
    printf("%-18s %10s %10s %-8s %8s %10s\n", "us", "best known", "root bound", "by", "gap  ",
           "closest");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (b.item && strcmp(b.item, items[i].name)) continue;
        lab_pin(&lab, items[i].threads < 2);
        run_item(&b, &items[i]);
    }
    printf("%d implementations, %d declined, %d faster than their bound\n", b.tried, b.declined,
           b.violations);
    lab_close(&lab);
    return b.violations > 0;
}
