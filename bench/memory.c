// Memory-bound kernels under the schedules of examples/schedules, against the bandwidth that a
// simple vector loop with as many streams reaches on the same number of bytes, and against a peer
// where one is given, all in one run, interleaved.
//
//     make build/bench/memory && taskset -c 1 build/bench/memory [peer.so] [case ...]
//
// A peer is a shared object with `void *peer_make(const char *op, int64_t n, void **buffers)`
// (NULL: cannot) and `void peer_run(void *)`; see bench/peers/dnnl_memory.cpp. GB/s are those of
// the arguments, each moved once; `of bandwidth` compares with the faster of plain and non-temporal
// stores.
#include <dlfcn.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/kernel_abi.h"
#include "code/code.h"
#include "lang/lang.h"
#include "run/exec.h"
#include "tree/schedule.h"
// link: -ldl

typedef struct Case {
    const char *name, *schedule, *sizes;
    const char *peer; // operation that a peer may know
    int64_t n;
    int reads, writes; // streams of the reference loop; 0, 0: none
} Case;

static const Case cases[] = {
    {"copy", "copy", "N=4096", NULL, 0, 1, 1},
    {"copy", "copy", "N=65536", NULL, 0, 1, 1},
    {"copy", "copy_nt", "N=1048576", NULL, 0, 1, 1},
    {"copy", "copy_nt", "N=16777216", NULL, 0, 1, 1},
    {"axpy", "axpy", "N=2048", NULL, 0, 2, 1},
    {"axpy", "axpy", "N=65536", NULL, 0, 2, 1},
    {"axpy", "axpy_nt", "N=16777216", NULL, 0, 2, 1},
    {"axpb_relu", "axpb_relu", "N=2048", NULL, 0, 2, 1},
    {"axpb_relu", "axpb_relu", "N=65536", NULL, 0, 2, 1},
    {"axpb_relu", "axpb_relu_nt", "N=16777216", NULL, 0, 2, 1},
    {"row_sums", "row_sums", "M=64,N=64", "rowsum", 64, 1, 0},
    {"row_sums", "row_sums", "M=256,N=256", "rowsum", 256, 1, 0},
    {"row_sums", "row_sums", "M=1024,N=1024", "rowsum", 1024, 1, 0},
    {"row_sums", "row_sums", "M=4096,N=4096", "rowsum", 4096, 1, 0},
    {"column_sums", "column_sums", "M=64,N=64", "colsum", 64, 1, 0},
    {"column_sums", "column_sums", "M=256,N=256", "colsum", 256, 1, 0},
    {"column_sums", "column_sums", "M=1024,N=1024", "colsum", 1024, 1, 0},
    {"column_sums", "column_sums", "M=4096,N=4096", "colsum", 4096, 1, 0},
    {"dot", "dot", "N=4096", NULL, 0, 2, 0},
    {"dot", "dot", "N=131072", NULL, 0, 2, 0},
    {"row_max", "row_max", "M=256,N=256", NULL, 0, 1, 0},
    {"transpose", "transpose", "M=64,N=64", "transpose", 64, 1, 1},
    {"transpose", "transpose", "M=1024,N=1024", "transpose", 1024, 1, 1},
    {"transpose", "transpose", "M=4096,N=4096", "transpose", 4096, 1, 1},
    {"softmax", "softmax", "N=1024,D=1024", "softmax", 1024, 1, 1},
    {"layernorm", "layernorm", "N=1024,D=1024", "layernorm", 1024, 1, 1},
    {"depthwise", "depthwise", "C=32,H=112,W=112", "depthwise32", 112, 0, 0},
    {"depthwise", "depthwise", "C=256,H=28,W=28", "depthwise256", 28, 0, 0},
    {"depthwise", "depthwise", "C=512,H=14,W=14", "depthwise512", 14, 0, 0},
    {"embedding", "embedding", "R=100000,C=64,N=6400", NULL, 0, 1, 1},
    {"gather", "gather", "R=100000,N=65536", NULL, 0, 0, 0},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- Reference loops: `n` bytes per stream

typedef struct Streams {
    int reads, writes;
    bool nontemporal;
    size_t n;
    char *at[3];
} Streams;

#define WIDE __attribute__((target("avx512f"), optimize("O3", "unroll-loops"), noinline))

WIDE static void loop_copy(const Streams *s) {
    for (size_t i = 0; i + 256 <= s->n; i += 256)
        for (size_t k = 0; k < 256; k += 64) {
            __m512i v = _mm512_loadu_si512(s->at[0] + i + k);
            if (s->nontemporal)
                _mm512_stream_si512((void *)(s->at[1] + i + k), v);
            else
                _mm512_storeu_si512(s->at[1] + i + k, v);
        }
    if (s->nontemporal) _mm_sfence();
}

WIDE static void loop_triad(const Streams *s) {
    __m512 a = _mm512_set1_ps(1.5f);
    for (size_t i = 0; i + 256 <= s->n; i += 256)
        for (size_t k = 0; k < 256; k += 64) {
            __m512 v = _mm512_fmadd_ps(a, _mm512_loadu_ps(s->at[0] + i + k),
                                       _mm512_loadu_ps(s->at[1] + i + k));
            if (s->nontemporal)
                _mm512_stream_ps((void *)(s->at[2] + i + k), v);
            else
                _mm512_storeu_ps(s->at[2] + i + k, v);
        }
    if (s->nontemporal) _mm_sfence();
}

static volatile float sink;

WIDE static void loop_read(const Streams *s) {
    __m512 c[8];
    for (int k = 0; k < 8; k++) c[k] = _mm512_setzero_ps();
    for (int r = 0; r < s->reads; r++)
        for (size_t i = 0; i + 512 <= s->n; i += 512)
            for (int k = 0; k < 8; k++)
                c[k] = _mm512_add_ps(c[k], _mm512_loadu_ps(s->at[r] + i + 64 * k));
    for (int k = 1; k < 8; k++) c[0] = _mm512_add_ps(c[0], c[k]);
    sink = _mm512_reduce_add_ps(c[0]);
}

static void reference(void *user) {
    const Streams *s = user;
    if (s->writes == 0)
        loop_read(s);
    else if (s->reads == 1)
        loop_copy(s);
    else
        loop_triad(s);
}

// ---- Kernels

typedef struct Made {
    Arena arena;
    Names names;
    DiagList diags;
    Source source[2];
    const Program *p;
    Kernel *kernel;
    ExecArena *exec;
    void *buffer[16];
    void *scratch;
    KernelEnv env;
    double bytes;
    const char *report;
} Made;

static void *big(size_t bytes) { // 2 MB pages, touched
    size_t room = (bytes + (2u << 20)) & ~(((size_t)1 << 21) - 1);
    void *p = aligned_alloc(2 << 20, room);
    if (!p) exit(1);
    madvise(p, room, MADV_HUGEPAGE);
    memset(p, 0, room);
    return p;
}

static Source file(Arena *arena, const char *name) {
    const char *root = getenv("LW_ROOT");
    const char *path = arena_printf(arena, "%s/examples/schedules/%s", root ? root : ".", name);
    FILE *f = fopen(path, "rb");
    char *text = arena_alloc(arena, 1 << 16);
    uint32_t len = f ? (uint32_t)fread(text, 1, (1 << 16) - 1, f) : 0;
    if (f) fclose(f);
    return (Source){path, text, len};
}

static int64_t size_of(const char *sizes, const char *name) {
    size_t len = strlen(name);
    for (const char *p = sizes; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, len) && p[len] == '=') return strtoll(p + len + 1, NULL, 10);
    return 0;
}

static bool complain(Made *m) {
    Text t = {.arena = &m->arena};
    for (int i = 0; i < m->diags.items.n; i++) diag_print(&t, m->diags.items.at[i]);
    printf("%s\n", text_str(&t));
    return false;
}

static void fill(const Program *p, const Tensor *t, void *data) {
    int64_t n = tensor_elements(t);
    for (int64_t i = 0; i < n; i++) {
        if (t->type == TYPE_F32) ((float *)data)[i] = (float)(rand() % 1000) / 1000 - 0.5f;
        if (t->type == TYPE_I32)
            ((int32_t *)data)[i] = (int32_t)(rand() % tensor_size(&p->tensors.at[0], 0));
    }
}

static bool make(Made *m, const Case *c) {
    *m = (Made){.names = {0}};
    arena_init(&m->arena, &allocator_libc);
    m->names.arena = m->diags.arena = &m->arena;
    m->source[0] = file(&m->arena, arena_printf(&m->arena, "%s.tc", c->name));
    m->source[1] = file(&m->arena, arena_printf(&m->arena, "%s.lws", c->schedule));
    m->diags.source = &m->source[0];
    Module *module = tc_parse(&m->arena, &m->names, &m->source[0], &m->diags);
    if (!module->programs.n) return complain(m);
    const Program *p = module->programs.at[0];
    int64_t values[PROGRAM_MAX_PARAMS];
    for (int i = 0; i < p->params.n; i++) values[i] = size_of(c->sizes, p->params.at[i].name);
    m->p = program_bind(&m->arena, p, values, &m->diags);
    if (!m->p) return complain(m);
    m->diags.source = &m->source[1];
    Schedule *s = schedule_parse(&m->arena, &m->names, &m->source[1], &m->diags);
    Tree *t = s ? tree_lower(&m->arena, m->p, s, &m->diags) : NULL;
    Machine machine;
    const char *cap = getenv("LW_ISA");
    machine_detect(&machine, cap ? (Isa)isa_by_name(cap) : ISA_COUNT);
    Code code;
    if (!t || !code_x86(&m->arena, t, &machine, &code, &m->diags)) return complain(m);
    m->report = code.report;
    m->exec = exec_arena_new();
    m->kernel = (Kernel *)exec_entry(exec_add(m->exec, code.bytes, code.size));
    m->env = (KernelEnv){.threads = 1, .apply = code_apply};
    m->scratch = big((size_t)code.scratch + 64);
    for (int i = 0; i < t->nargs; i++) {
        const Tensor *x = &m->p->tensors.at[i];
        size_t bytes = (size_t)(tensor_elements(x) * type_info[x->type].bytes);
        m->buffer[i] = big(bytes + 64);
        bool table = !strcmp(c->name, "embedding") || !strcmp(c->name, "gather");
        if (table) // of the table as much as of the result
            m->bytes += i == 0 ? 0 : i == 1 ? (double)bytes : 2.0 * (double)bytes;
        else
            m->bytes += (double)bytes;
        fill(m->p, x, m->buffer[i]);
    }
    if (getenv("DUMP")) {
        FILE *f = fopen(getenv("DUMP"), "wb");
        if (f) {
            fwrite(code.bytes, 1, code.size, f);
            fclose(f);
        }
    }
    return true;
}

static void run_made(void *user) {
    Made *m = user;
    if (m->kernel(m->buffer, m->scratch, &m->env)) exit(2);
}

// ---- Timing

typedef struct Way {
    void (*run)(void *);
    void *user;
    int64_t calls;
    double best, sample[64];
} Way;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { ROUNDS = 31 };

static void time_ways(Way *w, int n) {
    for (int i = 0; i < n; i++) {
        w[i].run(w[i].user);
        double t = now();
        w[i].run(w[i].user);
        t = now() - t;
        w[i].calls = t > 1e-3 ? 1 : (int64_t)(1e-3 / (t + 1e-9)) + 1;
        w[i].best = 1e9;
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < n; i++) {
            double t = now();
            for (int64_t k = 0; k < w[i].calls; k++) w[i].run(w[i].user);
            t = (now() - t) / (double)w[i].calls;
            w[i].sample[r] = t;
            if (t < w[i].best) w[i].best = t;
        }
    for (int i = 0; i < n; i++) qsort(w[i].sample, ROUNDS, sizeof(double), by_value);
}

typedef void *PeerMake(const char *op, int64_t n, void **buffers);
typedef void PeerRun(void *);

static void bench(const Case *c, void *peer) {
    Made m;
    if (!make(&m, c)) {
        printf("%s %s: does not compile\n", c->name, c->sizes);
        return;
    }
    Way w[4] = {{run_made, &m, 0, 0, {0}}};
    int n = 1, nt = -1, peer_at = -1;
    Streams s[2] = {{.reads = c->reads, .writes = c->writes}};
    if (c->reads) {
        int k = c->reads + c->writes;
        s[0].n = (size_t)(m.bytes / k);
        for (int i = 0; i < k; i++) s[0].at[i] = big(s[0].n + 4096);
        s[1] = s[0];
        s[1].nontemporal = true;
        w[n++] = (Way){.run = reference, .user = &s[0]};
        if (c->writes) nt = n, w[n++] = (Way){.run = reference, .user = &s[1]};
    }
    void *p =
        peer && c->peer ? ((PeerMake *)dlsym(peer, "peer_make"))(c->peer, c->n, m.buffer) : NULL;
    if (p) peer_at = n, w[n++] = (Way){.run = (PeerRun *)dlsym(peer, "peer_run"), .user = p};
    time_ways(w, n);
    double us = w[0].sample[ROUNDS / 2] * 1e6;
    printf("%-12s %-22s %9.2f us %7.1f GB/s", c->name, c->sizes, us, m.bytes / us * 1e-3);
    if (c->reads) {
        int best = nt > 0 && w[nt].sample[ROUNDS / 2] < w[1].sample[ROUNDS / 2] ? nt : 1;
        printf("  bandwidth %6.1f: %5.1f %% (best/best %5.1f %%)",
               m.bytes / w[best].sample[ROUNDS / 2] * 1e-9,
               100 * w[best].sample[ROUNDS / 2] / w[0].sample[ROUNDS / 2],
               100 * w[best].best / w[0].best);
    }
    if (peer_at > 0)
        printf("  peer %8.2f us: %5.2fx (best/best %5.2fx)", w[peer_at].sample[ROUNDS / 2] * 1e6,
               w[peer_at].sample[ROUNDS / 2] / w[0].sample[ROUNDS / 2],
               w[peer_at].best / w[0].best);
    printf("\n");
    if (getenv("REPORT")) printf("%s\n", m.report);
    fflush(stdout);
    for (int i = 0; i < 3; i++) free(s[0].at[i]);
    for (int i = 0; i < 16; i++) free(m.buffer[i]);
    free(m.scratch);
    exec_arena_free(m.exec);
    arena_free(&m.arena);
}

int main(int argc, char **argv) {
    void *peer = argc > 1 && strstr(argv[1], ".so") ? dlopen(argv[1], RTLD_NOW) : NULL;
    int first = argc > 1 && strstr(argv[1], ".so") ? 2 : 1;
    if (first == 2 && !peer) printf("%s\n", dlerror());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool wanted = first >= argc;
        for (int a = first; a < argc; a++) wanted |= !strcmp(argv[a], cases[i].name);
        if (wanted) bench(&cases[i], peer);
    }
    return 0;
}
