// Schedules chosen without search: against schedules written by hand; for small GEMMs against
// LIBXSMM; and for the layers of ResNet-50 and MobileNet-v2, channels first, against oneDNN on the
// same plain layouts, in rounds as in bench/x86. Also the time to choose.
//
//     make bench-auto
//     build/bench/auto [--quick] [--only hand,shapes,layers,time] [--item NAME]
//                      [--peers build/peers]
//
// Layers are called "64 to 256@56 1x1/1"; --item matches a prefix.
#include "lab/lab.h"
#include "lab/ours.h"
#include "lab/rivals.h"
#include "choose/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES "examples/schedules/"

typedef struct Item {
    const char *name, *program, *schedule, *sizes;
    Isa isa;
} Item;

#define CUBE(N) "M=" #N ",N=" #N ",K=" #N
static const Item items[] = {
    {"gemm 64", "matmul.tc", "gemm_avx512.lws", CUBE(64), ISA_AVX512},
    {"gemm 128", "matmul.tc", "gemm_avx512.lws", CUBE(128), ISA_AVX512},
    {"gemm 256", "matmul.tc", "gemm_avx512.lws", CUBE(256), ISA_AVX512},
    {"gemm 512", "matmul.tc", "gemm_packed.lws", CUBE(512), ISA_AVX512},
    {"gemm 1024", "matmul.tc", "gemm_packed.lws", CUBE(1024), ISA_AVX512},
    {"gemm 2048", "matmul.tc", "gemm_packed.lws", CUBE(2048), ISA_AVX512},
    {"gemm 31", "matmul.tc", "gemm_odd.lws", CUBE(31), ISA_AVX512},
    {"gemm 63", "matmul.tc", "gemm_avx512.lws", CUBE(63), ISA_AVX512},
    {"gemm 100", "matmul.tc", "gemm_avx512.lws", CUBE(100), ISA_AVX512},
    {"gemm 127", "matmul.tc", "gemm_avx512.lws", CUBE(127), ISA_AVX512},
    {"gemm 255", "matmul.tc", "gemm_avx512.lws", CUBE(255), ISA_AVX512},
    {"gemm 64 avx2", "matmul.tc", "gemm_avx2.lws", CUBE(64), ISA_AVX2},
    {"gemm 128 avx2", "matmul.tc", "gemm_avx2.lws", CUBE(128), ISA_AVX2},
    {"gemm 256 avx2", "matmul.tc", "gemm_avx2.lws", CUBE(256), ISA_AVX2},
    {"gemm 512 avx2", "matmul.tc", "gemm_avx2_packed.lws", CUBE(512), ISA_AVX2},
    {"conv 64@56", "conv3x3.tc", "conv3x3_h14w6.lws", "H=56,W=56,CO=1,CI=64,KO=1,KI=64",
     ISA_AVX512},
    {"conv 128@28", "conv3x3.tc", "conv3x3_w6.lws", "H=28,W=28,CO=1,CI=128,KO=2,KI=64", ISA_AVX512},
    {"conv 256@14", "conv3x3.tc", "conv3x3_w14.lws", "H=14,W=14,CO=1,CI=256,KO=8,KI=32",
     ISA_AVX512},
    {"conv 512@7", "conv3x3.tc", "conv3x3_h2w7.lws", "H=7,W=7,CO=8,CI=64,KO=16,KI=32", ISA_AVX512},
    {"depthwise 32@112", "depthwise.tc", "depthwise.lws", "H=112,W=112,C=32", ISA_AVX512},
    {"depthwise 256@28", "depthwise.tc", "depthwise.lws", "H=28,W=28,C=256", ISA_AVX512},
    {"depthwise 512@14", "depthwise.tc", "depthwise.lws", "H=14,W=14,C=512", ISA_AVX512},
    {"copy 4096", "copy.tc", "copy.lws", "N=4096", ISA_AVX512},
    {"copy 1048576", "copy.tc", "copy_nt.lws", "N=1048576", ISA_AVX512},
    {"copy 16777216", "copy.tc", "copy_nt.lws", "N=16777216", ISA_AVX512},
    {"axpy 65536", "axpy.tc", "axpy.lws", "N=65536", ISA_AVX512},
    {"axpy 1048576", "axpy.tc", "axpy.lws", "N=1048576", ISA_AVX512},
    {"axpy 16777216", "axpy.tc", "axpy_nt.lws", "N=16777216", ISA_AVX512},
    {"axpb_relu 65536", "axpb_relu.tc", "axpb_relu.lws", "N=65536", ISA_AVX512},
    {"row_sums 64", "row_sums.tc", "row_sums.lws", "M=64,N=64", ISA_AVX512},
    {"row_sums 1024", "row_sums.tc", "row_sums.lws", "M=1024,N=1024", ISA_AVX512},
    {"column_sums 64", "column_sums.tc", "column_sums.lws", "M=64,N=64", ISA_AVX512},
    {"column_sums 1024", "column_sums.tc", "column_sums.lws", "M=1024,N=1024", ISA_AVX512},
    {"transpose 1024", "transpose.tc", "transpose.lws", "M=1024,N=1024", ISA_AVX512},
    {"transpose 4096", "transpose.tc", "transpose.lws", "M=4096,N=4096", ISA_AVX512},
    {"softmax 1024", "softmax.tc", "softmax.lws", "N=1024,D=1024", ISA_AVX512},
    {"layernorm 1024", "layernorm.tc", "layernorm.lws", "N=1024,D=1024", ISA_AVX512},
    {"dot 4096", "dot.tc", "dot.lws", "N=4096", ISA_AVX512},
    {"gather 4096", "gather.tc", "gather.lws", "R=4096,N=4096", ISA_AVX512},
    {"embedding 64", "embedding.tc", "embedding.lws", "R=1000,C=64,N=1000", ISA_AVX512},
};

typedef struct Bench {
    Lab lab;
    const char *only, *item;
} Bench;

static bool wanted(const Bench *b, const char *list) { return !b->only || strstr(b->only, list); }

static const char *one_line(Ours *o) {
    Text text = {.arena = &o->arena};
    schedule_print(&text, o->schedule);
    char *s = (char *)text_str(&text);
    for (char *at = s; *at; at++)
        if (*at == '\n') *at = at[1] ? ';' : 0;
    return s;
}

// The time to choose in us; the least of several.
static double choose_us(Ours *o) {
    ChooseOptions choice = {.machine = &o->machine, .serial = true}; // one core
    double best = INFINITY;
    for (int i = 0; i < 9; i++) {
        ArenaMark mark = arena_mark(&o->work);
        double begin = lab_cpu();
        choose_schedule(&o->work, o->program, &choice);
        best = fmin(best, lab_cpu() - begin);
        arena_release(&o->work, mark);
    }
    return best / 1e3;
}

// --- By hand -------------------------------------------------------------------------------------

static double compare(Bench *b, const Item *it) {
    char program[256], schedule[256];
    snprintf(program, sizeof program, EXAMPLES "%s", it->program);
    snprintf(schedule, sizeof schedule, EXAMPLES "%s", it->schedule);
    Ours *chosen = ours_new(program, OURS_CHOSEN, it->sizes, it->isa);
    Ours *hand = ours_new(program, schedule, it->sizes, it->isa);
    double ratio = NAN;
    if (chosen->error || hand->error) {
        fprintf(stderr, "%s: %s\n", it->name, chosen->error ? chosen->error : hand->error);
    } else {
        static Trial t;
        t = (Trial){0};
        trial_add_kernel(&t, "chosen", ours_call, chosen);
        trial_add_kernel(&t, "hand", ours_call, hand);
        trial_run(&b->lab, &t);
        double work =
            chosen->flops > 0 && strncmp(it->name, "trans", 5) ? chosen->flops : chosen->bytes;
        ratio = trial_ratio(&t, 0, 1).median;
        printf("  %-17s %7.1f %7.1f  %5.2f  %5.2f  %6.1f us  %s\n", it->name,
               work / trial_best(&t, 0), work / trial_best(&t, 1), ratio,
               trial_best(&t, 1) / trial_best(&t, 0), choose_us(chosen), one_line(chosen));
        fflush(stdout);
    }
    ours_free(chosen);
    ours_free(hand);
    return ratio;
}

static void run_hand(Bench *b) {
    double sum = 0, least = INFINITY;
    int n = 0;
    printf("G/s (flops, bytes), best rounds; ratio of medians, and of best rounds\n");
    printf("  %-17s %7s %7s  %5s  %5s  %9s\n", "", "chosen", "hand", "ratio", "best", "choosing");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (b->item && strcmp(b->item, items[i].name)) continue;
        double ratio = compare(b, &items[i]);
        if (!(ratio > 0)) continue;
        sum += log(ratio), n++;
        least = fmin(least, ratio);
    }
    if (n) printf("  geometric mean %.3f, least %.3f (bars: 0.90, 0.75)\n", exp(sum / n), least);
}

// --- Small GEMMs ---------------------------------------------------------------------------------

static const int side[] = {1, 2, 3, 4, 5, 8, 13, 16, 23, 32, 48, 64};
enum { SIDES = sizeof side / sizeof *side, SHAPES = SIDES * SIDES * SIDES };

typedef struct Shape {
    int m, n, k;
    double ratio, choose, compile;
} Shape;

static int by_ratio(const void *a, const void *b) {
    const Shape *x = a, *y = b;
    return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

static void try_shape(Bench *b, Shape *s, bool timed) {
    char sizes[64], task[64];
    snprintf(sizes, sizeof sizes, "M=%d,N=%d,K=%d", s->m, s->n, s->k);
    snprintf(task, sizeof task, "gemm %d %d %d", s->m, s->n, s->k);
    Ours *o = ours_new(EXAMPLES "matmul.tc", OURS_CHOSEN, sizes, ISA_AVX512);
    if (o->error) fprintf(stderr, "%s: %s\n", sizes, o->error);
    if (!o->error && timed) {
        static Trial t;
        t = (Trial){0};
        trial_add_kernel(&t, "chosen", ours_call, o);
        LabPeer *peer = lab_peer(&b->lab, "libxsmm", "LIBXSMM_TARGET=clx");
        if (trial_add_peer(&t, peer, "libxsmm", task) >= 0) {
            trial_run(&b->lab, &t);
            s->ratio = trial_best(&t, 1) / trial_best(&t, 0);
        }
    } else if (!o->error) {
        s->choose = choose_us(o);
        s->compile = fmin(ours_compile(o), ours_compile(o)) / 1e3;
    }
    ours_free(o);
}

static Shape *all_shapes(Bench *b, bool timed, int step, int *n) {
    Shape *all = calloc(SHAPES, sizeof *all);
    *n = 0;
    for (int i = 0; i < SHAPES; i += step) {
        Shape *s = &all[(*n)++];
        *s = (Shape){side[i / SIDES / SIDES], side[i / SIDES % SIDES], side[i % SIDES], 0, 0, 0};
        try_shape(b, s, timed);
    }
    return all;
}

static void run_shapes(Bench *b, int step) {
    double sum = 0;
    int n, known = 0;
    Lab was = b->lab;
    b->lab.rounds = 5, b->lab.round_ns = 2e4, b->lab.patience_ns = 0;
    Shape *s = all_shapes(b, true, step, &n);
    b->lab.rounds = 25; // five rounds of a few microseconds are sometimes misleading
    for (int i = 0; i < n; i++)
        if (s[i].ratio > 0 && s[i].ratio < 0.8) try_shape(b, &s[i], true);
    b->lab.rounds = was.rounds, b->lab.round_ns = was.round_ns,
    b->lab.patience_ns = was.patience_ns;
    qsort(s, (size_t)n, sizeof *s, by_ratio);
    for (int i = 0; i < n; i++)
        if (s[i].ratio > 0) sum += log(s[i].ratio), known++;
    if (!known) {
        printf("small GEMMs: LIBXSMM is absent\n");
    } else {
        printf("small GEMMs against LIBXSMM: geometric mean %.3f, of %d (bars: 0.90, least 0.60)\n",
               exp(sum / known), known);
        for (int i = n - known, shown = 0; i < n && shown < 12; i++, shown++)
            printf("  %2d %2d %2d  %.2f\n", s[i].m, s[i].n, s[i].k, s[i].ratio);
    }
    free(s);
}

// --- Layers --------------------------------------------------------------------------------------

// Image c x h x h, filters r x r; k 0: one filter for each channel.
typedef struct Layer {
    const char *net;
    int c, k, h, r, stride;
} Layer;

#define RESNET "ResNet-50"
#define MOBILE "MobileNet-v2"
static const Layer layers[] = {
    {RESNET, 3, 64, 224, 7, 2},    {RESNET, 64, 64, 56, 1, 1},    {RESNET, 64, 64, 56, 3, 1},
    {RESNET, 64, 256, 56, 1, 1},   {RESNET, 256, 64, 56, 1, 1},   {RESNET, 256, 128, 56, 1, 1},
    {RESNET, 128, 128, 56, 3, 2},  {RESNET, 128, 512, 28, 1, 1},  {RESNET, 256, 512, 56, 1, 2},
    {RESNET, 512, 128, 28, 1, 1},  {RESNET, 128, 128, 28, 3, 1},  {RESNET, 512, 256, 28, 1, 1},
    {RESNET, 256, 256, 28, 3, 2},  {RESNET, 256, 1024, 14, 1, 1}, {RESNET, 512, 1024, 28, 1, 2},
    {RESNET, 1024, 256, 14, 1, 1}, {RESNET, 256, 256, 14, 3, 1},  {RESNET, 1024, 512, 14, 1, 1},
    {RESNET, 512, 512, 14, 3, 2},  {RESNET, 512, 2048, 7, 1, 1},  {RESNET, 1024, 2048, 14, 1, 2},
    {RESNET, 2048, 512, 7, 1, 1},  {RESNET, 512, 512, 7, 3, 1},   {MOBILE, 3, 32, 224, 3, 2},
    {MOBILE, 32, 0, 112, 3, 1},    {MOBILE, 32, 16, 112, 1, 1},   {MOBILE, 16, 96, 112, 1, 1},
    {MOBILE, 96, 0, 112, 3, 2},    {MOBILE, 96, 24, 56, 1, 1},    {MOBILE, 24, 144, 56, 1, 1},
    {MOBILE, 144, 0, 56, 3, 1},    {MOBILE, 144, 24, 56, 1, 1},   {MOBILE, 144, 0, 56, 3, 2},
    {MOBILE, 144, 32, 28, 1, 1},   {MOBILE, 32, 192, 28, 1, 1},   {MOBILE, 192, 0, 28, 3, 1},
    {MOBILE, 192, 32, 28, 1, 1},   {MOBILE, 192, 0, 28, 3, 2},    {MOBILE, 192, 64, 14, 1, 1},
    {MOBILE, 64, 384, 14, 1, 1},   {MOBILE, 384, 0, 14, 3, 1},    {MOBILE, 384, 64, 14, 1, 1},
    {MOBILE, 384, 96, 14, 1, 1},   {MOBILE, 96, 576, 14, 1, 1},   {MOBILE, 576, 0, 14, 3, 1},
    {MOBILE, 576, 96, 14, 1, 1},   {MOBILE, 576, 0, 14, 3, 2},    {MOBILE, 576, 160, 7, 1, 1},
    {MOBILE, 160, 960, 7, 1, 1},   {MOBILE, 960, 0, 7, 3, 1},     {MOBILE, 960, 160, 7, 1, 1},
    {MOBILE, 960, 320, 7, 1, 1},   {MOBILE, 320, 1280, 7, 1, 1},
};
enum { LAYERS = sizeof layers / sizeof *layers };

static Ours *layer_new(const Layer *l) {
    char program[512], sizes[64], y[32], x[32];
    int pad = l->r / 2, out = (l->h - 1) / l->stride + 1;
    snprintf(y, sizeof y, "%d*h + r - %d", l->stride, pad);
    snprintf(x, sizeof x, "%d*w + s - %d", l->stride, pad);
    const char *image = pad ? "pad(I(c, %s, %s))" : "I(c, %s, %s)";
    char read[128];
    snprintf(read, sizeof read, image, y, x);
    if (l->k)
        snprintf(program, sizeof program,
                 "def conv(float(C,H,H) I, float(K,C,R,R) F) -> (O) {\n"
                 "    O(k,h,w) +=! %s * F(k,c,r,s) where h in 0:%d, w in 0:%d\n}\n",
                 read, out, out);
    else
        snprintf(program, sizeof program,
                 "def conv(float(C,H,H) I, float(C,R,R) F) -> (O) {\n"
                 "    O(c,h,w) +=! %s * F(c,r,s) where h in 0:%d, w in 0:%d\n}\n",
                 read, out, out);
    int n = snprintf(sizes, sizeof sizes, "C=%d,H=%d,R=%d", l->c, l->h, l->r);
    if (l->k) snprintf(sizes + n, sizeof sizes - (size_t)n, ",K=%d", l->k);
    return ours_new(program, OURS_CHOSEN, sizes, ISA_AVX512);
}

static double try_layer(Bench *b, const Layer *l) {
    char task[LAB_LINE], name[64];
    static Trial t;
    t = (Trial){0};
    double ratio = NAN;
    int k = l->k ? l->k : l->c;
    snprintf(name, sizeof name, "%d to %d@%d %dx%d/%d", l->c, k, l->h, l->r, l->r, l->stride);
    if (b->item && strncmp(name, b->item, strlen(b->item))) return NAN;
    Ours *o = layer_new(l);
    snprintf(task, sizeof task, "nchw 1 %d %d %d %d %d %d %d %d", l->h, l->h, l->c, k, l->r,
             l->stride, l->r / 2, l->k ? 1 : l->c);
    if (!o->error) {
        trial_add_kernel(&t, "chosen", ours_call, o);
        rivals_add(&b->lab, &t, task, ISA_AVX512, "onednn");
    }
    if (t.n == 2) {
        size_t n;
        const float *mine = ours_result(o, &n);
        ours_call(o);
        float *theirs = peer_fetch(t.entry[1].peer, n);
        bool same = theirs && ours_close(mine, theirs, n, 1e-5f);
        free(theirs);
        trial_run(&b->lab, &t);
        Estimate e = trial_ratio(&t, 0, 1);
        ratio = e.median;
        printf("  %-12s %-22s %7.1f %7.1f  %5.2f [%.2f, %.2f]%s  %s\n", l->net, name,
               o->flops / trial_median(&t, 0), o->flops / trial_median(&t, 1), ratio, e.low, e.high,
               same ? "" : " DIFFERS", one_line(o));
        fflush(stdout);
    }
    if (o->error) fprintf(stderr, "%s: %s\n", task, o->error);
    ours_free(o);
    return ratio;
}

static void run_layers(Bench *b) {
    double sum = 0, least = INFINITY;
    int n = 0;
    printf(
        "layers, channels first: GFLOP/s of the chosen schedule and of oneDNN, and their ratio\n");
    for (int i = 0; i < LAYERS; i++) {
        double ratio = try_layer(b, &layers[i]);
        if (ratio > 0) sum += log(ratio), least = fmin(least, ratio), n++;
    }
    if (n)
        printf("  geometric mean %.3f, least %.3f, of %d (bar: 1)\n", exp(sum / n), least, n);
    else
        printf(b->item ? "  no such layer, or oneDNN is absent\n" : "  oneDNN is absent\n");
}

// --- Time ----------------------------------------------------------------------------------------

static void print_times(const char *what, double *choose, double *both, int n) {
    sort_values(choose, n);
    sort_values(both, n);
    printf("%d %s: choosing p50 %.1f us, p99 %.1f us (bar: p50 120); with lowering and code p50 "
           "%.1f us, p99 %.1f us (bars: 200, 1000)\n",
           n, what, quantile(choose, n, 0.5), quantile(choose, n, 0.99), quantile(both, n, 0.5),
           quantile(both, n, 0.99));
}

static void run_time(Bench *b, int step) {
    static double choose[SHAPES + LAYERS], both[SHAPES + LAYERS];
    int n, all = 0;
    for (int i = 0; i < LAYERS; i += step) {
        Ours *o = layer_new(&layers[i]);
        if (!o->error) {
            choose[all] = choose_us(o);
            both[all] = choose[all] + fmin(ours_compile(o), ours_compile(o)) / 1e3;
            all++;
        }
        ours_free(o);
    }
    print_times("layers", choose, both, all);
    Shape *s = all_shapes(b, false, step, &n);
    for (int i = 0; i < n; i++, all++)
        choose[all] = s[i].choose, both[all] = s[i].choose + s[i].compile;
    free(s);
    print_times("layers and GEMM shapes", choose, both, all);
}

// --- The command ---------------------------------------------------------------------------------

int main(int argc, char **argv) {
    Bench b = {.lab = {.peers = "build/peers", .rounds = 21, .round_ns = 2e6, .patience_ns = 5e9}};
    int step = 1;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick"))
            b.lab.rounds = 9, b.lab.round_ns = 5e5, b.lab.patience_ns = 2e8, step = 7;
        else if (value && !strcmp(argv[i], "--only"))
            b.only = argv[++i];
        else if (value && !strcmp(argv[i], "--item"))
            b.item = argv[++i];
        else if (value && !strcmp(argv[i], "--peers"))
            b.lab.peers = argv[++i];
        else
            return fprintf(stderr,
                           "usage: auto [--quick] [--only hand,shapes,layers,time] [--item NAME]"
                           " [--peers FOLDER]\n"),
                   2;
    }
    lab_open(&b.lab);
    if (wanted(&b, "hand")) run_hand(&b);
    if (wanted(&b, "time") && !b.item) run_time(&b, step);
    if (wanted(&b, "layers")) run_layers(&b);
    if (wanted(&b, "shapes") && !b.item) run_shapes(&b, step);
    lab_close(&b.lab);
    return 0;
}
