// Schedules that are chosen without search: for random programs, known shapes and all examples they
// lower at once, verify, and compute what the program's interpreter computes, on every ISA level of
// this machine. The machine is also described with tiny caches, so that packing and blocking are
// chosen for small sizes too.
#include "unit/tc_run.h"

#include "choose/choose.h"
#include "space/cpu.h"
#include "support/genprog.h"
#include "support/jitlab.h"
#include "support/shapes.h"
#include "support/shrink.h"
#include "verify/verify.h"

#include <float.h>

typedef struct Counts {
    int64_t pairs, statements, vector, tiled, packed, turned, after, parallel, nontemporal;
} Counts;

static void count(Counts *c, const Schedule *s) {
    for (int i = 0; i < s->nstmts; i++) {
        const SchedStmt *st = s->stmt[i];
        bool split = false;
        c->statements++;
        for (int k = 0; k < st->nloops; k++) {
            c->vector += st->loop[k].kind == KIND_VECTOR;
            c->parallel += st->loop[k].kind == KIND_PARALLEL;
            split |= st->loop[k].step > 1;
        }
        c->tiled += split;
        c->packed += st->ncopies;
        c->after += st->after != NULL;
        c->nontemporal += st->nontemporal;
    }
}

static void print_counts(const char *what, const Counts *c) {
    printf("%s: %lld choices, %lld sections: %lld vector loops, %lld split, %lld packed, %lld "
           "after, %lld parallel, %lld non-temporal\n",
           what, (long long)c->pairs, (long long)c->statements, (long long)c->vector,
           (long long)c->tiled, (long long)c->packed, (long long)c->after, (long long)c->parallel,
           (long long)c->nontemporal);
}

// Machine number i of this processor: an ISA level, with its caches or tiny ones. False: no such.
static bool nth_machine(int i, Machine *m) {
    Isa isa = i % 2 ? ISA_AVX512 : ISA_AVX2;
    machine_detect(m, isa);
    if (i >= 2) m->cache[1] = 512, m->cache[2] = 2048, m->cache[3] = 8192;
    return m->isa == isa;
}
enum { MACHINES = 4 };

// Where caches are tiny, threads are worth it for anything.
static const Schedule *choice(Lab *lab, const Program *p, const Machine *m) {
    ChooseOptions o = {.machine = m, .worth = m->cache[1] < 1024 ? 1 : 0};
    return choose_schedule(&lab->arena, p, &o);
}

static Tree *choose(Lab *lab, const Program *p, const Machine *m, Counts *c) {
    const Schedule *s = choice(lab, p, m);
    int errors = lab->diags.errors;
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    bool ok = CHECK(t) && CHECK(lab->diags.errors == errors);
    if (ok) {
        DiagList found = {.arena = &lab->arena};
        ok = CHECK(tree_verify(&lab->arena, t, NULL, &found) != VERIFY_REFUSED);
    }
    c->pairs++;
    count(c, s);
    if (!ok || getenv("LW_FUZZ_VERBOSE"))
        printf("%s\n%s\n%s", lab_text(lab, p), shrink_schedule_text(lab, s), lab_errors(lab));
    fflush(stdout);
    return ok ? t : NULL;
}

// Are all outputs equal, up to `tolerance` of what they should be? 0: bit for bit.
static bool agree(Lab *lab, const Program *p, const LabData *got, const LabData *want,
                  double tolerance) {
    if (tolerance <= 0) return lab_difference(lab, p, got, want) == NULL;
    for (int t = p->ninputs; t < p->ninputs + p->noutputs; t++)
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[t]); e++) {
            double x = lab_value(got, t, e), y = lab_value(want, t, e);
            if (!(fabs(x - y) <= tolerance * fmax(1, fabs(y))) && !(isnan(x) && isnan(y)))
                return false;
        }
    return true;
}

static bool try_program(Lab *lab, const Program *p, uint64_t seed, double tolerance, Counts *c) {
    LabData start = lab_data(lab, p, seed), want = lab_copy(lab, p, &start);
    if (!program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags)) return true;
    for (int i = 0; i < MACHINES; i++) {
        Machine m;
        if (!nth_machine(i, &m)) continue;
        Tree *t = choose(lab, p, &m, c);
        if (!t) return false;
        LabData got = lab_copy(lab, p, &start);
        JitResult r = jit_run(lab, t, &m, &got, (InterpFlags){0}, i % 3 + 1, i & 1);
        bool ok = CHECK(r == JIT_OK) && CHECK(agree(lab, p, &got, &want, tolerance));
        if (!ok) {
            const Schedule *s = choice(lab, p, &m);
            printf("seed %llu on %s:\n%s\n%s\n", (unsigned long long)seed, isa_name[m.isa],
                   lab_text(lab, p), shrink_schedule_text(lab, s));
            return false;
        }
    }
    return true;
}

TEST(choices_for_random_programs_are_right) {
    Counts c = {0};
    for (int64_t i = 0; i < check_long_rounds(1500); i++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = genprog(&lab, check_first_seed() + (uint64_t)i);
        bool ok = CHECK(p) && try_program(&lab, p, check_first_seed() + (uint64_t)i, 0, &c);
        lab_end(&lab);
        if (!ok) return;
    }
    print_counts("random programs", &c);
}

TEST(choices_for_known_shapes_are_right) {
    Counts c = {0};
    for (int64_t i = 0; i < check_long_rounds(1500); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
        int64_t values[3];
        for (int k = 0; k < shape->nparams; k++) {
            uint64_t r = check_random(&state);
            values[k] = r % 12 == 0 ? 0 : (int64_t)(r / 12 % (r % 3 ? 9 : 70)) + 1;
        }
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, shape->text, values);
        bool ok = CHECK(p) && try_program(&lab, p, seed, 0, &c);
        lab_end(&lab);
        if (!ok) return;
    }
    print_counts("known shapes", &c);
}

// An iterator of one value that shares its subscript has no dimension in a copy of the operand.
TEST(iterators_of_one_value_share_subscripts) {
    static const char text[] = "program f(K, J) {\n input A: f32[32, K]\n input B: f32[K, J]\n"
                               " output O: f32[J, 1]\n"
                               " O: for j in 0:J, i in 0:1, n in 0:32, k in 0:K\n"
                               "  O[j, i] +=! A[n, k]*B[i + k, j]\n}\n";
    Counts c = {0};
    for (int64_t k = 1; k < 40; k += 4)
        for (int64_t j = 1; j < 20; j += 2) {
            Lab lab;
            lab_begin(&lab);
            const Program *p = lab_program(&lab, text, (int64_t[]){k, j});
            CHECK(p && try_program(&lab, p, (uint64_t)(k + j), 0, &c));
            lab_end(&lab);
        }
}

// What is chosen is a point of the CPU space: it reads back as decisions that go together.
TEST(choices_read_back_as_decisions) {
    enum { ROUNDS = 200 }; // however slow the build is: a part of few says little
    int64_t read = 0, partly = 0;
    for (int64_t i = 0; i < ROUNDS; i++) {
        uint64_t state = check_first_seed() + (uint64_t)i;
        const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
        int64_t values[3];
        for (int k = 0; k < 3; k++) values[k] = (int64_t)(check_random(&state) % 60) + 2;
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, shape->text, values);
        Machine m;
        if (p && nth_machine((int)(i % MACHINES), &m)) {
            const Schedule *s = choice(&lab, p, &m);
            CpuOptions o = {.machine = m, .threads = 2, .given = s};
            CpuSpace *cs = cpu_space(&lab.arena, p, &o, &lab.diags);
            int n;
            Decision *d = CHECK(cs) ? cpu_read(&lab.arena, cs, s, &lab.diags, &n) : NULL;
            if (CHECK(d)) {
                Cand *c = space_cand(&lab.arena, cs->space);
                space_copy(cs->space, c, cs->space->root);
                CHECK(space_apply(space_work(&lab.arena, cs->space), c, d, n));
            }
            CHECK(lab.diags.errors == 0);
            partly += lab.diags.items.n > 0; // a second parallel loop, say, is left open
            read++;
        }
        lab_end(&lab);
    }
    printf("%lld choices read back, %lld of them in part\n", (long long)read, (long long)partly);
    CHECK(partly * 4 < read);
}

// --- The examples --------------------------------------------------------------------------------

typedef struct Example {
    const char *file, *sizes; // parameters that are not named are `other`
    int64_t other;
} Example;

static const Example examples[] = {
    {"attention.tc", "B=2,N=13,M=19,D=16,E=33", 5},
    {"conv1d.tc", "M=70,N=5", 5},
    {"conv2d.tc", "B=2,IP=5,H=11,W=39,OP=9,KH=3,KW=3", 5},
    {"embedding_bag.tc", "E=20,D=37,B=6,L=4", 5},
    {"fcrelu.tc", "B=13,I=21,O=70", 5},
    {"gather.tc", "N=30,A=7,B=40", 5},
    {"gconv.tc", "N=2,G=3,C=4,F=5,H=9,W=21,KH=3,KW=3,M=5", 5},
    {"groupnorm.tc", "N=3,G=4,D=2,H=5,W=17", 5},
    {"histogram.tc", "N=100,K=20", 5},
    {"quantised.tc", "M=37,N=70,K=64", 6},
    {"kru.tc", "", 6},
    {"layernorm.tc", "N=7,D=85", 5},
    {"matmul_bias_relu.tc", "M=31,N=67,K=20", 5},
    {"maxpool2x2.tc", "B=2,C=3,H=10,W=38", 5},
    {"mv.tc", "M=33,K=130", 5},
    {"mv2.tc", "M=33,K=130", 5},
    {"outer_product_mm.tc", "P=3,Q=9,R=11,S=5,T=20", 5},
    {"padded_conv2d.tc", "N=2,C=3,H=9,W=20,F=6,KH=3,KW=3", 5},
    {"padded_maxpool.tc", "N=2,C=3,H=12,W=22", 5},
    {"prod_model.tc", "", 17},
    {"sconv2d.tc", "N=2,C=3,H=15,W=30,F=6,KH=3,KW=3,sh=2,sw=2", 2},
    {"sgemm.tc", "N=40,M=21,K=18", 5},
    {"softmax.tc", "N=9,D=75", 5},
    {"tbmm.tc", "B=3,N=11,M=37,K=20", 5},
    {"tmm.tc", "M=21,N=66,K=35", 5},
    {"wavenet.tc", "F=1,B=2,R=8,T=40,C=4,S=9", 5},
};

static int64_t value_of(const Example *e, const char *name) {
    size_t n = strlen(name);
    for (const char *at = e->sizes; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, n) && at[n] == '=') return atoll(at + n + 1);
    return e->other;
}

static void try_example(const Example *e, Counts *c) {
    Lab lab;
    lab_begin(&lab);
    Source source = {.name = e->file};
    source.text = tc_read_file(&lab.arena, e->file, &source.len);
    lab.diags.source = &source;
    const Module *m = tc_infer(tc_parse(&lab.arena, &lab.names, &source, &lab.diags));
    for (int f = 0; CHECK(m) && f < m->programs.n; f++) {
        const Program *p = m->programs.at[f];
        int64_t value[PROGRAM_MAX_PARAMS];
        for (int i = 0; i < p->params.n; i++) value[i] = value_of(e, p->params.at[i].name);
        const Program *bound = program_bind(&lab.arena, p, value, &lab.diags);
        if (!bound) continue; // sizes that do not go together
        CHECK(try_program(&lab, bound, 7, 1e-4, c));
    }
    lab_end(&lab);
}

TEST(choices_for_the_examples_are_right) {
    Counts c = {0};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) try_example(&examples[i], &c);
    print_counts("examples", &c);
    CHECK(c.packed > 0 && c.after > 0 && c.parallel > 0 && c.vector > c.pairs / 2);
}

// --- What is chosen ------------------------------------------------------------------------------

// `family`: of processors; NULL: a machine with AVX-512.
static const char *chosen(Lab *lab, const char *family, const char *text, const int64_t *sizes) {
    Machine m;
    if (family)
        machine_pretend(&m, family_by_name(family), ISA_COUNT);
    else
        machine_describe(&m, ISA_AVX512);
    const Program *p = lab_program(lab, text, sizes);
    ChooseOptions o = {.machine = &m, .serial = true};
    return p ? shrink_schedule_text(lab, choose_schedule(&lab->arena, p, &o)) : "";
}

static void check_chosen(const char *family, const char *want, const int64_t *sizes,
                         const char *text) {
    Lab lab;
    lab_begin(&lab);
    const char *got = chosen(&lab, family, text, sizes);
    if (!CHECK(!strcmp(got, want))) printf("got:\n%s", got);
    lab_end(&lab);
}

#define CHOSEN(WANT, SIZES, TEXT) check_chosen(NULL, WANT, (const int64_t[]){SIZES}, TEXT)
#define CHOSEN_ON(FAMILY, WANT, SIZES, TEXT)                                                       \
    check_chosen(FAMILY, WANT, (const int64_t[]){SIZES}, TEXT)
#define SIZES(...) __VA_ARGS__

TEST(common_kernels_get_their_tiles) {
    const char *mm = "program mm(M, N, K) {\n input A: f32[M, K]\n input B: f32[K, N]\n"
                     " output C: f32[M, N]\n C: for m in 0:M, n in 0:N, k in 0:K\n"
                     "  C[m, n] +=! A[m, k]*B[k, n]\n}\n";
    CHOSEN("C: n/64 m/6 k m n:v\n", SIZES(256, 256, 256), mm);
    CHOSEN("r: i j:v\n", SIZES(64, 256),
           "program r(M, N) {\n input A: f32[M, N]\n output r: f32[M]\n"
           " r: for i in 0:M, j in 0:N\n  r[i] +=! A[i, j]\n}\n");
    CHOSEN("P: x g c:v\n    at g\nP.1: x g c:v\n    at g\nO: g w/14 c s w f:v\n", SIZES(28, 32, 16),
           "program g(W, G, C) {\n input I: f32[W, G, C]\n input K: f32[3, C, G, C]\n"
           " output O: f32[W, G, C]\n temp P: f32[W + 2, G, C]\n"
           " P: for x in 0:W + 2, g in 0:G, c in 0:C\n  P[x, g, c] = 0.0\n"
           " P.1: for x in 0:W, g in 0:G, c in 0:C\n  P[x + 1, g, c] = I[x, g, c]\n"
           " O: for w in 0:W, g in 0:G, f in 0:C, s in 0:3, c in 0:C\n"
           "  O[w, g, f] +=! P[w + s, g, c]*K[s, c, g, f]\n}\n");
    CHOSEN("O: g/4 c s w g f:v\n    unroll 192\n", SIZES(28, 32, 4),
           "program b(W, G, C) {\n input I: f32[W, G, C]\n input K: f32[3, C, G, C]\n"
           " output O: f32[W, G, C]\n"
           " O: for w in 0:W, g in 0:G, f in 0:C, s in 0:3, c in 0:C"
           " if w + s - 1 >= 0, W - w - s >= 0\n"
           "  O[w, g, f] +=! I[w + s - 1, g, c]*K[s, c, g, f]\n}\n");
    CHOSEN(
        "flatten\nO: k/6 c k h:v\nO.1:\n    after O\n", SIZES(16, 24, 7),
        "program p(C, K, H) {\n input I: f32[1, C, H, H]\n input F: f32[K, C]\n input b: f32[K]\n"
        " output O: f32[1, K, H, H]\n"
        " O: for n in 0:1, k in 0:K, h in 0:H, w in 0:H, c in 0:C\n"
        "  O[n, k, h, w] +=! I[n, c, h, w]*F[k, c]\n"
        " O.1: for n in 0:1, k in 0:K, h in 0:H, w in 0:H\n"
        "  O[n, k, h, w] = relu(O[n, k, h, w] + b[k])\n}\n");
    CHOSEN(
        "P: m g/16 g b:v\n", SIZES(4096, 128), // through memory
        "program q(M, G) {\n input W: f32[M, G, 32]\n input x: f32[G, 32]\n output P: f32[M, G]\n"
        " P: for m in 0:M, g in 0:G, b in 0:32\n  P[m, g] +=! W[m, g, b]*x[g, b]\n}\n");
    CHOSEN("C: m/6 k/16 m n k:v\n    copy B layout (n k) align 64\nC.B: k/16 n k:v\n",
           SIZES(117, 4, 1178), // few columns
           "program c(M, N, K) {\n input A: f32[M, K]\n input B: f32[K, N]\n output C: f32[M, N]\n"
           " C: for m in 0:M, n in 0:N, k in 0:K\n  C[m, n] +=! A[m, k]*B[k, n]\n}\n");
    CHOSEN("B: j/16 i/32 j i:v\n", SIZES(256, 256),
           "program t(M, N) {\n input A: f32[M, N]\n output B: f32[N, M]\n"
           " B: for i in 0:M, j in 0:N\n  B[j, i] = A[i, j]\n}\n");
}

// What a stencil reads is computed in the place of each read where that takes less than to bring it
// back: sums do, exponentials do not; and what is read once needs no memory anyway.
TEST(definitions_go_where_they_are_cheaper) {
#define STENCIL(VALUE)                                                                             \
    "program s(H, W) {\n input I: f32[H + 2, W + 1]\n output O: f32[H, W]\n"                       \
    " temp T: f32[H + 2, W]\n T: for i in 0:H + 2, j in 0:W\n  T[i, j] = " VALUE "\n"              \
    " O: for i in 0:H, j in 0:W\n  O[i, j] = T[i, j] + T[i + 1, j] + T[i + 2, j]\n}\n"
    CHOSEN("T:\n    inline\nO: i/4 j/64 i j:v\n", SIZES(160, 160),
           STENCIL("I[i, j] + I[i, j + 1]"));
    CHOSEN("T: i j:v\nO: i j:v\n", SIZES(160, 160), STENCIL("exp(I[i, j]) + exp(I[i, j + 1])"));
    CHOSEN("T: i j:v\nO: i j:v\n", SIZES(160, 160),
           "program p(H, W) {\n input I: f32[H, W]\n output O: f32[H, W]\n temp T: f32[H, W]\n"
           " T: for i in 0:H, j in 0:W\n  T[i, j] = I[i, j] + 1.0\n"
           " O: for i in 0:H, j in 0:W\n  O[i, j] = T[i, j]*T[i, j]\n}\n");
}

// Behind a sum in lanes there is one result at a time: what is dear is done in lanes when all are
// there, unless others wait for it in the same row.
TEST(what_finishes_sums_runs_in_lanes) {
    CHOSEN("h: f/12 d/16 f d:v\nh.1: f:v\n", SIZES(512, 256),
           "program h(F, D) {\n input X: f32[D]\n input A: f32[F, D]\n output h: f32[F]\n"
           " h: for f in 0:F, d in 0:D\n  h[f] +=! X[d]*A[f, d]\n"
           " h.1: for f in 0:F\n  h[f] = h[f]*sigmoid(h[f])\n}\n");
    CHOSEN("m: n d:v\nm.1:\n    after m\nY: n d:v\n", SIZES(64, 768),
           "program c(N, D) {\n input X: f32[N, D]\n output Y: f32[N, D]\n temp m: f32[N]\n"
           " m: for n in 0:N, d in 0:D\n  m[n] +=! X[n, d]\n"
           " m.1: for n in 0:N\n  m[n] = m[n]/768.0\n"
           " Y: for n in 0:N, d in 0:D\n  Y[n, d] = X[n, d] - m[n]\n}\n");
}

// Short rows are added up together, which other statements must not come between; beyond the second
// cache in blocks.
TEST(short_rows_are_added_up_together) {
#define COSINE                                                                                     \
    "program c(N, D) {\n input A: f32[N, D]\n input B: f32[N, D]\n output C: f32[N]\n"             \
    " temp x: f32[N]\n temp y: f32[N]\n x: for n in 0:N, d in 0:D\n  x[n] +=! A[n, d]*B[n, d]\n"   \
    " y: for n in 0:N, d in 0:D\n  y[n] +=! A[n, d]*A[n, d]\n"                                     \
    " C: for n in 0:N\n  C[n] = x[n]/y[n]\n}\n"
    CHOSEN("x: | n/16 n d:v\ny: | n/16 n d:v\nC: n:v\n", SIZES(500, 9), COSINE);
    CHOSEN("x: n/256 | n/16 n d:v\ny: n/256 | n/16 n d:v\nC: n/256 | n:v\n", SIZES(50000, 9),
           COSINE);
}

// Results a few elements apart, as of complex numbers, run in lanes too.
TEST(pairs_run_in_lanes) {
    CHOSEN("C: n:v\nC.1: n:v\n", SIZES(1000),
           "program c(N) {\n input A: f32[N, 2]\n input B: f32[N, 2]\n output C: f32[N, 2]\n"
           " C: for n in 0:N\n  C[n, 0] = A[n, 0]*B[n, 0] - A[n, 1]*B[n, 1]\n"
           " C.1: for n in 0:N\n  C[n, 1] = A[n, 0]*B[n, 1] + A[n, 1]*B[n, 0]\n}\n");
}

// Rows of a few elements are columns that are combed in blocks, and so are planes that are read out
// of them; longer ones are not, nor are rows that follow each other in everything.
TEST(short_rows_are_columns) {
#define OUTER                                                                                      \
    "program o(N, M) {\n input a: f32[N]\n input b: f32[M]\n output O: f32[N, M]\n"                \
    " O: for i in 0:N, j in 0:M\n  O[i, j] = a[i] - b[j]\n}\n"
    CHOSEN("O: i/32 j:u i:v\n", SIZES(1000, 3), OUTER);
    CHOSEN("O: i/8 i:u j:v\n", SIZES(1000, 9), OUTER);
    CHOSEN("O: c/16 i/32 c i:v\n", SIZES(1000, 3),
           "program p(N, C) {\n input X: f32[N, C]\n output O: f32[C, N]\n"
           " O: for c in 0:C, i in 0:N\n  O[c, i] = X[i, c]*0.5\n}\n");
    CHOSEN("Y: n/112 j i n:v\n", SIZES(1000, 3),
           "program r(N, D) {\n input X: f32[N, D]\n input R: f32[D, D]\n output Y: f32[N, D]\n"
           " Y: for n in 0:N, i in 0:D, j in 0:D\n  Y[n, i] +=! X[n, j]*R[i, j]\n}\n");
}

// Results with the same remainder have the same terms: they are computed together.
TEST(remainders_make_phases) {
    CHOSEN("O: f/16 y%28 y x%28 x/16 c i j f x:v\n", SIZES(32, 28),
           "program t(C, H) {\n input I: f32[C, H, H]\n input K: f32[C, C, 4, 4]\n"
           " output O: f32[C, 2*H, 2*H]\n"
           " O: for f in 0:C, y in 0:2*H, x in 0:2*H, c in 0:C, i in 0:4, j in 0:4\n"
           "  O[f, y, x] +=! select(index(y - i)%i64(2) == i64(0) && index(x - j)%i64(2) == i64(0)"
           " && index(y) >= index(i) && index(x) >= index(j), I[c, (y - i)/2, (x - j)/2]*"
           "K[c, f, i, j], 0.0)\n}\n");
    CHOSEN("O: n%100 n/16 k n:v\n", SIZES(300),
           "program u(N) {\n input A: f32[N]\n input K: f32[7]\n output O: f32[N]\n"
           " O: for n in 0:N, k in 0:7\n"
           "  O[n] +=! select(index((n + k)%3) < i64(2), A[n]*K[k], 0.0)\n}\n");
}

// What is copied one by one anyway has no lanes.
TEST(copies_of_single_elements) {
    CHOSEN("d: i/32 i:u\n", SIZES(200),
           "program d(N) {\n input A: f32[N, N]\n output d: f32[N]\n"
           " d: for i in 0:N\n  d[i] = A[i, i]\n}\n");
}

// Rows of windows share what is computed of them.
TEST(windows_without_weights_share_rows) {
    CHOSEN("V: y/13 x/16 j i y x:v\n", SIZES(70, 70),
           "program s(H, W) {\n input A: f32[H, W]\n input B: f32[H, W]\n"
           " output V: f32[H - 6, W - 6]\n"
           " V: for y in 0:H - 6, x in 0:W - 6, i in 0:7, j in 0:7\n"
           "  V[y, x] +=! (A[y + i, x + j] - B[y + i, x + j])*(A[y + i, x + j] - B[y + i, x + j])\n"
           "}\n");
    CHOSEN("b:\n    inline\nO: i/4 j/64 i j:v\n", SIZES(130, 130),
           "program u(H, W) {\n input I: f32[H, W]\n output O: f32[H - 2, W]\n"
           " temp b: f32[H - 2, W]\n b: for i in 0:H - 2, j in 0:W\n"
           "  b[i, j] = I[i, j] + I[i + 1, j] + I[i + 2, j]\n"
           " O: for i in 0:H - 2, j in 0:W\n  O[i, j] = I[i + 1, j] - b[i, j]\n}\n");
}

// An operand that is read once, and not along cache lines, is read in whole rows.
TEST(what_passes_by_is_read_in_whole_rows) {
    CHOSEN("Y: i/6 j i k:v\n", SIZES(50, 50, 50),
           "program t(I, J, K) {\n input X: f32[I, J, K]\n input v: f32[J]\n"
           " output Y: f32[I, K]\n Y: for i in 0:I, k in 0:K, j in 0:J\n"
           "  Y[i, k] +=! X[i, j, k]*v[j]\n}\n");
}

// Lanes of a transpose run along the side that fills its blocks: what is read, with columns of
// several rows of the result where one is short; else the result.
TEST(transposes_fill_their_blocks) {
#define TURN(TYPE)                                                                                 \
    "program t(M, N) {\n input A: " TYPE "[M, N]\n output B: " TYPE "[N, M]\n"                     \
    " B: for i in 0:M, j in 0:N\n  B[j, i] = A[i, j]\n}\n"
    CHOSEN("B: j/16 i/16 i:u j:v\n", SIZES(8, 40), TURN("i8"));
    CHOSEN("B: j/8 i/8 i:u j:v\n", SIZES(6, 183), TURN("f64"));
    CHOSEN("B: j/16 i/32 j i:v\n", SIZES(7, 84), TURN("i8"));
    CHOSEN("B: j/16 i/32 j i:v\n", SIZES(77, 164), TURN("f32"));
    CHOSEN("B: j/7 k/16 j:u i:u k:v\n", SIZES(2, 7, 46),
           "program r(M, N, P) {\n input A: i8[M, N, P]\n output B: i8[P, N, M]\n"
           " B: for i in 0:M, j in 0:N, k in 0:P\n  B[k, j, i] = A[i, j, k]\n}\n");
#undef TURN
}

// Of two operands that are not read along the lanes, the one with more elements is transposed.
TEST(the_larger_operand_is_transposed) {
    CHOSEN("Z: j i/16 k/32 i k:v\n", SIZES(32, 32, 48),
           "program t(A, B, C) {\n input X: f32[C, B]\n input Y: f32[B, C, A]\n"
           " output Z: f32[A, B, C]\n Z: for i in 0:A, j in 0:B, k in 0:C\n"
           "  Z[i, j, k] = X[k, j]*Y[j, k, i]\n}\n");
    CHOSEN("Z: i j/16 k/32 j k:v\n", SIZES(32, 32, 48),
           "program t(A, B, C) {\n input X: f32[A, C, B]\n input Y: f32[C, A]\n"
           " output Z: f32[A, B, C]\n Z: for i in 0:A, j in 0:B, k in 0:C\n"
           "  Z[i, j, k] = Y[k, i]*X[i, k, j]\n}\n");
}

// Results that begin inside cache lines, and do not stay in the first cache, are stored several
// vectors at a time; rows of a stencil share in two directions.
TEST(rows_that_split_lines_are_stored_in_one_go) {
#define CONV                                                                                       \
    "program c(H, W) {\n input A: f32[H, W]\n input k: f32[3, 3]\n"                                \
    " output B: f32[H - 2, W - 2]\n"                                                               \
    " B: for y in 0:H - 2, x in 0:W - 2, i in 0:3, j in 0:3\n"                                     \
    "  B[y, x] +=! A[y + i, x + j]*k[i, j]\n}\n"
    CHOSEN("B: y/5 x/48 j i y x:v\n", SIZES(100, 280), CONV);
    CHOSEN("B: j i y x:v\n", SIZES(17, 11), CONV);
#undef CONV
    CHOSEN("B: y/4 x/4 z/64 y:u x:u z:v\n", SIZES(28, 34, 29),
           "program h(H, W, D) {\n input A: f32[H, W, D]\n output B: f32[H - 2, W - 2, D]\n"
           " B: for y in 0:H - 2, x in 0:W - 2, z in 0:D\n"
           "  B[y, x, z] = A[y, x + 1, z] + A[y + 2, x + 1, z] + A[y + 1, x, z] +\n"
           "    A[y + 1, x + 2, z] + A[y + 1, x + 1, z]\n}\n");
}

// A window moves over a tensor beyond L2 in the order of memory, and takes pairs of lines; one in
// L1 is divided into tiles of any shape.
TEST(windows_stream_in_the_order_of_memory) {
#define DEPTHWISE                                                                                  \
    "program d(N, C, H, W) {\n input A: f32[N, C, H + 2, W + 2]\n input k: f32[C, 3, 3]\n"         \
    " output B: f32[N, C, H, W]\n"                                                                 \
    " B: for n in 0:N, c in 0:C, y in 0:H, x in 0:W, i in 0:3, j in 0:3\n"                         \
    "  B[n, c, y, x] +=! A[n, c, y + i, x + j]*k[c, i, j]\n}\n"
    CHOSEN("B: n c y/7 x/32 j i y x:v\n", SIZES(8, 64, 112, 112), DEPTHWISE);
    CHOSEN("B: c y/16 x/16 n j i y x:v\n", SIZES(1, 2, 32, 32), DEPTHWISE);
#undef DEPTHWISE
}

// Sums over rows of a few vectors have nests of their own, unless they add up what the same row
// computes. A few rows of less than a vector run in lanes across them.
TEST(short_rows_do_not_wait_for_their_sums) {
#define SOFTMAX                                                                                    \
    "program s(M, N) {\n input A: f32[M, N]\n output S: f32[M, N]\n temp X: f32[M]\n"              \
    " temp E: f32[M, N]\n temp D: f32[M]\n"                                                        \
    " X: for i in 0:M, j in 0:N\n  X[i] max=! A[i, j]\n"                                           \
    " E: for i in 0:M, j in 0:N\n  E[i, j] = exp(A[i, j] - X[i])\n"                                \
    " D: for i in 0:M, j in 0:N\n  D[i] +=! E[i, j]\n"                                             \
    " S: for i in 0:M, j in 0:N\n  S[i, j] = E[i, j]/D[i]\n}\n"
    CHOSEN("X: | i/16 i j:v\nE: i j:v\nD: i j:v\nS: i j:v\n", SIZES(110, 128), SOFTMAX);
    CHOSEN("X: | i j:v\nE: i j:v\nD: i j:v\nS: i j:v\n", SIZES(7, 65), SOFTMAX);
    CHOSEN("X: i j:v\nE: i j:v\nD: i j:v\nS: i j:v\n", SIZES(66, 350), SOFTMAX);
    CHOSEN("X: j i:v\nE: i/16 j:u i:v\nD: j i:v\nS: i/16 j:u i:v\n", SIZES(11, 5), SOFTMAX);
#undef SOFTMAX
}

// What computes short rows shares the block of rows whose sums are reduced together, in steps too.
TEST(short_rows_are_computed_in_the_block_of_their_sums) {
    CHOSEN("H: d/16 d s:v\nY: d/16 d s:v\n", SIZES(128, 16, 0),
           "program rows(D, S, N) {\n input G: f32[D, S]\n temp H: f32[D, S]\n"
           " output Y: f32[D]\n H: for d in 0:D, s in 0:S  H[d, s] = exp(G[d, s])*2.0\n"
           " Y: for d in 0:D, s in 0:S  Y[d] +=! H[d, s]\n}\n");
    CHOSEN("H: d/16 d s:v\nH.1: d/16 d s:v\nY: d/16 d s:v\n", SIZES(128, 16, 9),
           "program scan(D, S, T) {\n input G: f32[D, S]\n temp H: f32[T + 1, D, S]\n"
           " output Y: f32[T, D]\n H: for d in 0:D, s in 0:S  H[0, d, s] = G[d, s]\n"
           " for t in 0:T {\n"
           "  H.1: for d in 0:D, s in 0:S  H[t + 1, d, s] = exp(G[d, s])*H[t, d, s]\n"
           "  Y: for d in 0:D, s in 0:S  Y[t, d] +=! H[t + 1, d, s]\n }\n}\n");
}

// A condition is asked once for all rows that it does not depend on; where everything is unrolled
// it is known.
TEST(rows_share_conditions) {
#define RUNNING                                                                                    \
    "program c(B, N) {\n input x: f32[B, N]\n output y: f32[B, N]\n"                               \
    " y: for b in 0:B, i in 0:N, j in 0:N\n"                                                       \
    "  y[b, i] +=! select(index(j) <= index(i), x[b, j], 0.0)\n}\n"
    CHOSEN("y: b/13 i/32 j b i:v\n", SIZES(64, 200), RUNNING);
    CHOSEN("y: b j i:v\n", SIZES(64, 64), RUNNING);
}

// Tiles have no element twice: taps of a transposed convolution are outside.
TEST(tiles_have_no_element_twice) {
    CHOSEN("Y: w/48 f/8 x c f w:v\n", SIZES(16, 200, 16, 5),
           "program d(C, W, F, K) {\n input X: f32[C, W]\n input k: f32[C, F, K]\n"
           " output Y: f32[F, W + K - 1]\n Y: for f in 0:F, w in 0:W, x in 0:K, c in 0:C\n"
           "  Y[f, w + x] +=! X[c, w]*k[c, f, x]\n}\n");
}

// What is stored under a mask is not read at once; lanes that run backwards are not turned.
TEST(loads_do_not_wait_for_masked_stores) {
    CHOSEN("c: | n d:v\nC: n i j:v\n", SIZES(100, 7),
           "program c(N, D) {\n input X: f32[N, D]\n input m: f32[D]\n output C: f32[D, D]\n"
           " temp c: f32[N, D]\n c: for n in 0:N, d in 0:D\n  c[n, d] = X[n, d] - m[d]\n"
           " C: for i in 0:D, j in 0:D, n in 0:N\n  C[i, j] +=! c[n, i]*c[n, j]\n}\n");
    CHOSEN("S: i j/16 j d:v\n", SIZES(48, 32),
           "program r(N, D) {\n input Q: f32[N, D]\n input K: f32[N, D]\n"
           " input R: f32[2*N - 1, D]\n output S: f32[N, N]\n"
           " S: for i in 0:N, j in 0:N, d in 0:D\n"
           "  S[i, j] +=! Q[i, d]*(K[j, d] + R[i - j + N - 1, d])\n}\n");
}

// In straight-line code sums take the values from registers.
TEST(few_values_do_not_wait_for_masked_stores) {
#define COLUMNS                                                                                    \
    "program c(M, N) {\n input A: f32[M, N]\n output S: f32[M, N]\n temp E: f32[M, N]\n"           \
    " temp D: f32[N]\n E: for m in 0:M, n in 0:N\n  E[m, n] = exp(A[m, n])\n"                      \
    " D: for n in 0:N, m in 0:M\n  D[n] +=! E[m, n]\n"                                             \
    " S: for m in 0:M, n in 0:N\n  S[m, n] = E[m, n]/D[n]\n}\n"
    CHOSEN("E: m n:v\nD: m n:v\nS: m n:v\n", SIZES(3, 7), COLUMNS);
    CHOSEN("E: | m n:v\nD: m n:v\nS: m n:v\n", SIZES(300, 7), COLUMNS);
#undef COLUMNS
}

// A temporary is computed in parts where they are needed if that takes less than to bring it back.
TEST(parts_are_computed_where_they_are_cheaper) {
#define GROUPS                                                                                     \
    "program g(W, G, C) {\n input I: f32[W, G, C]\n input K: f32[3, C, G, C]\n"                    \
    " output O: f32[W, G, C]\n temp P: f32[W + 2, G, C]\n"                                         \
    " P: for x in 0:W + 2, g in 0:G, c in 0:C\n  P[x, g, c] = 0.0\n"                               \
    " P.1: for x in 0:W, g in 0:G, c in 0:C\n  P[x + 1, g, c] = I[x, g, c]\n"                      \
    " O: for w in 0:W, g in 0:G, f in 0:C, s in 0:3, c in 0:C\n"                                   \
    "  O[w, g, f] +=! P[w + s, g, c]*K[s, c, g, f]\n}\n"
    CHOSEN("P: x g c:v\n    at g\nP.1: x g c:v\n    at g\nO: g w/14 c s w f:v\n", SIZES(56, 64, 16),
           GROUPS);
    CHOSEN("P: x g c:v\nP.1: x g c:v\nO: g c s w f:v\n", SIZES(4, 4, 16), GROUPS);
}

// Few rows do not pay for a copy of the other operand.
TEST(an_operand_is_transposed_block_by_block) {
#define ROWS_BY_ROWS                                                                               \
    "program d(M, N, K) {\n input A: f32[M, K]\n input B: f32[N, K]\n output C: f32[M, N]\n"       \
    " C: for m in 0:M, n in 0:N, k in 0:K\n  C[m, n] +=! A[m, k]*B[n, k]\n}\n"
    CHOSEN_ON("zen5", "C: n/32 k/16 k m n:v\n", SIZES(7, 100, 107), ROWS_BY_ROWS);
    CHOSEN_ON("zen5", "C: n/32 k/16 k m n:v\n", SIZES(8, 300, 328), ROWS_BY_ROWS);
    CHOSEN_ON("zen5", "C: n/7 k/16 n m k:v\n", SIZES(3, 26, 328), ROWS_BY_ROWS);
}

// Lanes run along the rows of a product with few columns, in several vectors; if the reduction is
// longer, along it, and shuffles separate the columns.
TEST(products_with_few_columns_fill_lanes) {
#define FEW_COLUMNS                                                                                \
    "program e(M, N, K) {\n input A: f32[M, K]\n input B: f32[K, N]\n output C: f32[M, N]\n"       \
    " C: for m in 0:M, n in 0:N, k in 0:K\n  C[m, n] +=! A[m, k]*B[k, n]\n}\n"
    CHOSEN_ON("zen5", "C: k n m:v\n", SIZES(43, 4, 7), FEW_COLUMNS);
    CHOSEN_ON("zen5", "C: m n k:v\n", SIZES(3, 3, 20), FEW_COLUMNS);
    CHOSEN_ON(
        "zen5", "C: m n k:v\n", SIZES(4, 4, 28),
        "program f(M, N, K) {\n input A: f32[K, M]\n input B: f32[K, N]\n output C: f32[M, N]\n"
        " C: for m in 0:M, n in 0:N, k in 0:K\n  C[m, n] +=! A[k, m]*B[k, n]\n}\n");
#undef FEW_COLUMNS
}

// Sums of a few rows run in lanes, where the lanes of all rows are reduced together.
TEST(sums_of_a_few_rows_run_in_lanes) {
#define SOFTMAX                                                                                    \
    "program s(M, N) {\n input A: f32[M, N]\n output S: f32[M, N]\n temp X: f32[M]\n"              \
    " temp E: f32[M, N]\n temp D: f32[M]\n"                                                        \
    " X: for m in 0:M, n in 0:N\n  X[m] max=! A[m, n]\n"                                           \
    " E: for m in 0:M, n in 0:N\n  E[m, n] = exp(A[m, n] - X[m])\n"                                \
    " D: for m in 0:M, n in 0:N\n  D[m] +=! E[m, n]\n"                                             \
    " S: for m in 0:M, n in 0:N\n  S[m, n] = E[m, n]/D[m]\n}\n"
#define APART "X: | m n:v\nE: | m n:v\nD: | m n:v\nS: m n:v\n"
    CHOSEN_ON("zen5", APART, SIZES(3, 10), SOFTMAX);
    CHOSEN_ON("zen5", APART, SIZES(20, 11), SOFTMAX);
}

// Several rows are added up before the rows are divided by their sums, unless rows are long.
TEST(rows_are_added_up_in_blocks) {
#define SCALED_ROWS                                                                                \
    "program n(M, N) {\n input A: f32[M, N]\n temp D: f32[M]\n output S: f32[M, N]\n"              \
    " D: for m in 0:M, n in 0:N\n  D[m] +=! A[m, n]*A[m, n]\n"                                     \
    " S: for m in 0:M, n in 0:N\n  S[m, n] = A[m, n]/sqrt(D[m] + 0.00001)\n}\n"
    CHOSEN_ON("zen5", "D: m/4 | m n:v\nS: m/4 | m n:v\n", SIZES(100, 100), SCALED_ROWS);
    CHOSEN_ON("zen5", "D: m n:v\nS: m n:v\n", SIZES(10, 2000), SCALED_ROWS);
#undef SCALED_ROWS
}

// One copy serves both reads: all of the tensor, turned.
TEST(a_tensor_times_itself_is_packed) {
#define GRAM(product)                                                                              \
    "program g(N, K) {\n input A: f32[N, K]\n output O: f32[N, N]\n"                               \
    " O: for i in 0:N, j in 0:N, k in 0:K\n  O[i, j] +=! " product "\n}\n"
    CHOSEN("O: j/64 i/6 k i j:v\n    copy A layout (k i) align 64\nO.A: k/16 i/16 k i:v\n",
           SIZES(192, 256), GRAM("A[i, k]*A[j, k]"));
    CHOSEN("O: j/64 i/6 k i j:v\n    copy A layout (k j) align 64\nO.A: k/16 j/16 k j:v\n",
           SIZES(192, 256), GRAM("A[j, k]*A[i, k]"));
}

// Few results of long sums: tiles of sums in lanes.
TEST(long_sums_go_in_tiles) {
    CHOSEN("C: n/6 k/16 n m k:v\n", SIZES(4, 2048, 4096),
           "program d(M, N, K) {\n input A: f32[M, K]\n input B: f32[N, K]\n"
           " output C: f32[M, N]\n C: for m in 0:M, n in 0:N, k in 0:K\n"
           "  C[m, n] +=! A[m, k]*B[n, k]\n}\n");
}

// Sizes that no memory holds are chosen for like others.
TEST(huge_extents_do_not_overflow) {
    CHOSEN("C: k/256 m/6 k m n:v\n    prefetch B at k/256 distance 1 level 2\n",
           SIZES(64, 64, (int64_t)1 << 47),
           "program h(M, N, K) {\n input A: u8[M, K]\n input B: i8[K, N]\n"
           " output C: i32[M, N]\n C: for m in 0:M, n in 0:N, k in 0:K\n"
           "  C[m, n] +=! i32(A[m, k])*i32(B[k, n])\n}\n");
}

// Rows of tiles that come from beyond the second cache are whole pairs of lines. Panels are fetched
// ahead where they lie, or packed if many rows pass by.
TEST(panels_are_pairs_of_lines) {
    static const char gemm[] = "program g(M, N, K) {\n input A: f32[M, K]\n input B: f32[K, N]\n"
                               " output C: f32[M, N]\n C: for m in 0:M, n in 0:N, k in 0:K\n"
                               "  C[m, n] +=! A[m, k]*B[k, n]\n}\n";
    CHOSEN("C: n/64 m/6 k/16 k m n:v\n"
           "    prefetch C at m/6 distance 0 level 1\n    prefetch B at n/64 distance 1 level 2\n",
           SIZES(64, 3136, 64), gemm);
    CHOSEN("C: n/448 m/6 n/64 k/16 k m n:v\n    copy B at n/448 layout (n/64 k n) align 64\n"
           "    prefetch C at n/64 distance 0 level 1\nC.B: n/64 k n:v\n",
           SIZES(256, 3136, 64), gemm);
}

// Of a batch that the second cache does not hold the next blocks are fetched meanwhile, also those
// that are packed.
TEST(batches_are_fetched_ahead) {
    CHOSEN("Z: b n/13 m/24 m n k:v\n    copy Y at b layout (b m k) align 64\n"
           "    prefetch X at b distance 1 level 1\n    prefetch Z at n/13 distance 0 level 1\n"
           "Z.Y: b m/16 k/16 m k:v\n    prefetch Y at b distance 1 level 1\n",
           SIZES(500, 26, 26, 72),
           "program t(B, N, K, M) {\n input X: f32[B, N, M]\n input Y: f32[B, K, M]\n"
           " output Z: f32[B, N, K]\n Z: for b in 0:B, n in 0:N, k in 0:K, m in 0:M\n"
           "  Z[b, n, k] +=! X[b, n, m]*Y[b, k, m]\n}\n");
}

// K[h/4] is one matrix for four values of h: chosen as if h were two iterators, and statements that
// share the loops have them too.
TEST(quotients_of_the_result_move_panels) {
    const char *heads = "program g(H, M, D) {\n input Q: f32[4*H, M, D]\n input K: f32[H, M, D]\n"
                        " output S: f32[4*H, M, M]\n"
                        " S: for h in 0:4*H, q in 0:M, k in 0:M, d in 0:D\n"
                        "  S[h, q, k] +=! Q[h, q, d]*K[h/4, k, d]\n}\n";
    CHOSEN("S: h/4 k/64 h q/6 d/16 d q k:v\n    copy K at k/64 layout (d0 k/64 d k) align 64\n"
           "    prefetch Q at h/4 distance 1 level 2\n    prefetch S at q/6 distance 0 level 1\n"
           "S.K: d0 d/16 k/16 d k:v\n    prefetch K at h/4 distance 1 level 2\n",
           SIZES(8, 256, 64), heads);
    CHOSEN("s: h/4 k/64 h q/6 d/16 d q k:v\n    copy K at k/64 layout (d0 k/64 d k) align 64\n"
           "    prefetch Q at h/4 distance 1 level 2\n    prefetch s at q/6 distance 0 level 1\n"
           "s.K: d0 d/16 k/16 d k:v\n    prefetch K at h/4 distance 1 level 2\n"
           "top: h/4 h q k:v\nO: h/4 h q/6 k/32 k q e:v\n"
           "    prefetch V at h/4 distance 1 level 2\n    prefetch O at q/6 distance 0 level 1\n",
           SIZES(8, 256, 64),
           "program a(H, M, D) {\n input Q: f32[4*H, M, D]\n input K: f32[H, M, D]\n"
           " input V: f32[H, M, D]\n output O: f32[4*H, M, D]\n output top: f32[4*H, M]\n"
           " temp s: f32[4*H, M, M]\n s: for h in 0:4*H, q in 0:M, k in 0:M, d in 0:D\n"
           "  s[h, q, k] +=! Q[h, q, d]*K[h/4, k, d]\n"
           " top: for h in 0:4*H, q in 0:M, k in 0:M\n  top[h, q] max=! s[h, q, k]\n"
           " O: for h in 0:4*H, q in 0:M, k in 0:M, e in 0:D\n"
           "  O[h, q, e] +=! s[h, q, k]*V[h/4, k, e]\n}\n");
}

// What is unpacked of an operand is the same for all rows: it costs a tile little that has many.
TEST(nibbles_are_unpacked_for_all_rows) {
    CHOSEN("O: m/12 n/32 k/2 k m n:v\n    copy W layout (n/32 d1 n) align 64\n"
           "O.W: d1/16 n/32 n/16 d1 n:v\n",
           SIZES(128, 512, 256),
           "program w(M, N, K) {\n input X: f32[M, 2*K]\n input W: u8[N, K]\n"
           " output O: f32[M, N]\n O: for m in 0:M, n in 0:N, k in 0:2*K\n"
           "  O[m, n] +=! X[m, k]*f32((W[n, k/2] >> u8(i64(4)*(index(k)%i64(2)))) & u8(15))\n}\n");
    // Lanes cannot run along pairs of k.
    CHOSEN("O: m/128 k/2 k m:v\n    copy W at m/128 layout (m/128 d1 m) align 64\n"
           "O.W: d1/16 m/16 d1 m:v\n",
           SIZES(1024, 1024),
           "program v(M, K) {\n input W: u8[M, K/2]\n input x: f32[K]\n output O: f32[M]\n"
           " O: for m in 0:M, k in 0:K\n"
           "  O[m] +=! f32((W[m, k/2] >> u8(i64(4)*(index(k)%i64(2)))) & u8(15))*x[k]\n}\n");
}

// Tiles of whole rows may be wider than others, where registers hold them.
TEST(tiles_take_whole_rows) {
#define ROWS_OF_B                                                                                  \
    "program r(M, N, K) {\n input A: f32[K, M]\n input B: f32[K, N]\n output C: f32[M, N]\n"       \
    " C: for m in 0:M, n in 0:N, k in 0:K\n  C[m, n] +=! A[k, m]*B[k, n]\n}\n"
    CHOSEN_ON("zen5", "C: k m n:v\n", SIZES(2, 154, 300), ROWS_OF_B);
    CHOSEN_ON("zen5", "C: n/96 k m n:v\n", SIZES(2, 190, 300), ROWS_OF_B);
#undef ROWS_OF_B
}

// Rows of a stencil share loads where they are copies of code.
TEST(rows_of_a_stencil_are_copies) {
#define NEIGHBOURS                                                                                 \
    "program n(M, N) {\n input A: f32[M, N]\n output B: f32[M - 1, N - 1]\n"                       \
    " B: for i in 0:M - 1, j in 0:N - 1\n  B[i, j] = A[i, j] + A[i + 1, j] + A[i, j + 1]\n}\n"
    CHOSEN_ON("zen5", "B: i/48 j/64 i:u j:v\n", SIZES(97, 100), NEIGHBOURS);
    CHOSEN("B: i/4 j/64 i j:v\n", SIZES(97, 100), NEIGHBOURS);
#undef NEIGHBOURS
}

// A Zen 5 overlaps the blocks of straight-line code, unless rows of the result evict each other.
TEST(dense_matrices_are_transposed_in_runs) {
#define DENSE(TYPE)                                                                                \
    "program t(M, N) {\n input A: " TYPE "[M, N]\n output C: " TYPE "[N, M]\n"                     \
    " C: for n in 0:N, m in 0:M\n  C[n, m] = A[m, n]\n}\n"
    CHOSEN_ON("zen5", "C: m/32 n/112 n:u m:v\n", SIZES(300, 300), DENSE("f32"));
    CHOSEN_ON("zen5", "C: m/32 n/104 n:u m:v\n", SIZES(300, 300), DENSE("f64"));
    CHOSEN_ON("zen5", "C: n/16 m/32 n m:v\n", SIZES(256, 256), DENSE("f32"));
    CHOSEN("C: n/16 m/32 n m:v\n", SIZES(300, 300), DENSE("f32"));
#undef DENSE
}

// A large operand that is read once is read in the order of memory, also by tiles of several rows.
TEST(tiles_of_rows_follow_memory) {
    CHOSEN_ON("zen4", "y: m/15 b m k:v\n", SIZES(1005, 16, 64),
              "program w(M, B, K) {\n input W: f32[M, B, K]\n input x: f32[B, K]\n"
              " output y: f32[M, B]\n y: for m in 0:M, b in 0:B, k in 0:K\n"
              "  y[m, b] +=! W[m, b, k]*x[b, k]\n}\n");
}

// Recurrences along contiguous rows: each step waits for the one before, so steps of several rows
// run together, where no row reads another one.
TEST(recurrences_along_rows_take_several_rows) {
#define SCAN(READ)                                                                                 \
    "program r(N, T) {\n input X: f32[N, T]\n output Y: f32[N, T]\n"                               \
    " Y: for i in 0:N\n  Y[i, 0] = X[i, 0]\n"                                                      \
    " for t in 1:T { Y.1: for i in 0:N\n  Y[i, t] = X[i, t] + " READ " }\n}\n"
    CHOSEN("Y: i\nY.1: i/8 t i:u\n", SIZES(64, 100), SCAN("Y[i, t - 1]"));
    CHOSEN("Y: i\nY.1: i/4 t i:u\n", SIZES(64, 256), SCAN("Y[i, t - 1]"));
    CHOSEN("Y: i\nY.1: i/5 t i:u\n", SIZES(10, 100), SCAN("Y[i, t/2]"));
    CHOSEN("Y: i\nY.1: i\n", SIZES(64, 100), SCAN("Y[max(i - 1, 0), t - 1]"));
    CHOSEN("Y: i\nY.1: i\n", SIZES(64, 100), SCAN("Y[N - 1 - i, t - 1]"));
#undef SCAN
}

// Half vectors cross fewer lines, where they are as fast as whole ones; blocks of rows are equal.
TEST(a_stencil_takes_half_vectors_where_they_are_fast) {
#define CROSS                                                                                      \
    "program x(M, N) {\n input A: f32[M + 2, N + 2]\n output B: f32[M, N]\n"                       \
    " B: for i in 0:M, j in 0:N\n  B[i, j] = A[i + 1, j + 1] + A[i, j + 1] + A[i + 2, j + 1] +"    \
    " A[i + 1, j] + A[i + 1, j + 2]\n}\n"
    CHOSEN_ON("zen4", "B: i/10 j/8 i:u j:v\n", SIZES(40, 100), CROSS);
    CHOSEN_ON("zen4", "B: i/3 j/8 i:u j:v\n", SIZES(3, 12), CROSS);
    CHOSEN_ON("icelake", "B: i/4 j/64 i j:v\n", SIZES(40, 100), CROSS);
    CHOSEN_ON("sapphirerapids", "B: i/4 j/64 i j:v\n", SIZES(40, 100), CROSS);
#undef CROSS
    CHOSEN_ON("zen4", "B: i/64 i/8:u i:v\n", SIZES(500),
              "program r(N) {\n input A: f32[N + 2]\n output B: f32[N]\n"
              " B: for i in 0:N  B[i] = A[i] + A[i + 1] + A[i + 2]\n}\n");
}

// Results that are stored past the caches fill whole lines: no half vectors, and no rows that end
// inside of lines. The reads of a definition that is inlined do not collapse because it does.
TEST(a_stencil_that_stores_past_the_caches_fills_lines) {
    CHOSEN_ON("zen4", "B: i/12 j/64 i:u j:v\n    nontemporal\n", SIZES(8192, 4096),
              "program x(M, N) {\n input A: f32[M + 2, N + 2]\n output B: f32[M, N]\n"
              " B: for i in 0:M, j in 0:N  B[i, j] = A[i + 1, j + 1] + A[i, j + 1] +"
              " A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2]\n}\n");
    CHOSEN_ON("zen4", "T:\n    inline\nB: i/12 j/8 i:u j:v\n", SIZES(8192, 4090),
              "program y(M, N) {\n input A: f32[M + 2, N + 2]\n temp T: f32[M + 2, N]\n"
              " output B: f32[M, N]\n T: for i in 0:M + 2, j in 0:N\n"
              "  T[i, j] = A[i, j] + A[i, j + 1] + A[i, j + 2]\n"
              " B: for i in 0:M, j in 0:N  B[i, j] = T[i, j] + T[i + 1, j] + T[i + 2, j]\n}\n");
}

// Columns along an iterator that has fewer than lanes continue with those of the next one.
TEST(short_columns_are_transposed_with_those_that_follow) {
#define TURN                                                                                       \
    "program t(M, N, P) {\n input A: f32[M, N, P]\n output C: f32[P, N, M]\n"                      \
    " C: for p in 0:P, n in 0:N, m in 0:M  C[p, n, m] = A[m, n, p]\n}\n"
    CHOSEN("C: n/11 m/16 p:u n:u m:v\n", SIZES(46, 20, 3), TURN);
    CHOSEN_ON("zen4", "C: n/6 m/8 p:u n:u m:v\n", SIZES(46, 20, 3), TURN);
#undef TURN
}

// Half vectors of small results are stored row by row.
TEST(transposed_rows_are_stored_whole) {
    CHOSEN_ON("zen4", "B: j/8 i/24 j i/8 i:v\n", SIZES(45, 100),
              "program t(M, N) {\n input A: f32[M, N]\n output B: f32[N, M]\n"
              " B: for i in 0:M, j in 0:N  B[j, i] = A[i, j]\n}\n");
}

// Horizontal reductions of maxima are done for twelve rows at once, unless rows are short, few or
// from beyond L2.
TEST(maxima_of_rows_share_their_ends) {
#define LARGEST                                                                                    \
    "program l(M, N) {\n input A: f32[M, N]\n output O: f32[M]\n"                                  \
    " O: for m in 0:M, n in 0:N  O[m] max=! A[m, n]\n}\n"
#define SCALED                                                                                     \
    "program s(M, N) {\n input A: f32[M, N]\n temp top: f32[M]\n output O: f32[M, N]\n"            \
    " top: for m in 0:M, n in 0:N  top[m] max=! A[m, n]\n"                                         \
    " O: for m in 0:M, n in 0:N  O[m, n] = A[m, n]/top[m]\n}\n"
    CHOSEN_ON("zen4", "O: m/12 n/16 m n:v\n", SIZES(240, 300), LARGEST);
    CHOSEN_ON("zen4", "O: m/8 n/16 m n:v\n", SIZES(16, 300), LARGEST);
    CHOSEN_ON("zen4", "O: m n:v\n", SIZES(3, 300), LARGEST);
    CHOSEN_ON("zen4", "O: m/16 m n:v\n", SIZES(240, 64), LARGEST);
    CHOSEN_ON("zen4", "O: m n:v\n", SIZES(2000, 1000), LARGEST);
    CHOSEN_ON("zen4", "top: | m/12 n/16 m n:v\nO: m n:v\n", SIZES(48, 200), SCALED);
    CHOSEN_ON("zen4", "top: m n:v\nO: m n:v\n", SIZES(600, 700), SCALED);
#undef LARGEST
#undef SCALED
}

// A Zen 4 overlaps short rows with one sum each.
TEST(rows_stay_together_with_their_sums) {
#define NORM                                                                                       \
    "program n(M, N) {\n input A: f32[M, N]\n temp D: f32[M]\n output S: f32[M, N]\n"              \
    " D: for m in 0:M, n in 0:N  D[m] +=! A[m, n]*A[m, n]\n"                                       \
    " S: for m in 0:M, n in 0:N  S[m, n] = A[m, n]/sqrt(D[m])\n}\n"
    CHOSEN("D: | m/16 m n:v\nS: m n:v\n", SIZES(50, 100), NORM);
    CHOSEN_ON("zen4", "D: m n:v\nS: m n:v\n", SIZES(50, 100), NORM);
#undef NORM
}

// Tiles of a few vectors reach the peak of a Zen 4, and their stores overlap with the next tile;
// short sums in lanes are straight-line code.
TEST(small_tiles_pay_where_stores_overlap) {
#define PRODUCT(B)                                                                                 \
    "program p(M, N, K) {\n input A: f32[M, K]\n input B: f32[" B "]\n output C: f32[M, N]\n"      \
    " C: for m in 0:M, n in 0:N, k in 0:K\n  C[m, n] +=! A[m, k]*B[" SUBSCRIPTS "]\n}\n"
#define SUBSCRIPTS "k, n"
    CHOSEN("C: n/64 m/6 k m n:v\n", SIZES(60, 192, 16), PRODUCT("K, N"));
    CHOSEN_ON("zen4", "C: n/48 m/4 k m n:v\n", SIZES(60, 192, 16), PRODUCT("K, N"));
#undef SUBSCRIPTS
#define SUBSCRIPTS "n, k"
    CHOSEN_ON("zen4", "C: n/8 n m k:v\n", SIZES(3, 211, 51), PRODUCT("N, K"));
#undef SUBSCRIPTS
#undef PRODUCT
}

// Columns that the statement before computes are added up row by row, in its loops.
TEST(sums_of_columns_share_the_loops_of_their_rows) {
#define COLUMNS                                                                                    \
    "program s(M, N) {\n input A: f32[M, N]\n temp D: f32[N]\n output E: f32[M, N]\n"              \
    " output S: f32[M, N]\n E: for m in 0:M, n in 0:N  E[m, n] = exp(A[m, n])\n"                   \
    " D: for m in 0:M, n in 0:N  D[n] +=! E[m, n]\n"                                               \
    " S: for m in 0:M, n in 0:N  S[m, n] = E[m, n]/D[n]\n}\n"
    CHOSEN("E: m n:v\nD: m n:v\nS: m n:v\n", SIZES(36, 340), COLUMNS);
    CHOSEN("E: m n:v\nD: n/128 m n:v\nS: m n:v\n", SIZES(2, 340), COLUMNS);
#undef COLUMNS
}

// Shuffles take the pipes of the arithmetic: a small operand across the lanes is packed once.
TEST(shuffles_are_not_free_beside_products) {
    CHOSEN_ON("zen4", "C: m/2 k m n:v\n    copy B layout (k n) align 64\nC.B: n/16 k n:v\n",
              SIZES(42, 72, 4),
              "program p(M, N, K) {\n input A: f32[M, K]\n input B: f32[N, K]\n"
              " output C: f32[M, N]\n C: for m in 0:M, n in 0:N, k in 0:K\n"
              "  C[m, n] +=! A[m, k]*B[n, k]\n}\n");
}
