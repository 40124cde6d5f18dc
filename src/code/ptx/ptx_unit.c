// Prints the module: its kernels with their parameters, and the list of launches.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"
#include "base/checked.h"

#include <string.h>

// --- Kernels -------------------------------------------------------------------------------------

static Opnd by_power(KernelWriter *w, const char *power, const char *other, Opnd v, int64_t n,
                     int64_t k) {
    bool bits = (n & (n - 1)) == 0;
    return NEW(w, REG_32, bits ? power : other, v, lit(REG_32, (uint64_t)(bits ? k : n)));
}

// A kernel with digits has a one-dimensional block; each digit is a part of the thread's number.
static void thread_digits(KernelWriter *w) {
    Opnd id = reg_new(w, REG_32);
    line(w, "mov.u32 %%r%d, %%tid.x;", id.reg);
    int64_t left = gpu_threads(w->k);
    for (int i = 0; i < GPU_AXES - GPU_THREAD_X && left > 1; i++) {
        int64_t size = w->k->size[gpu_fastest[i]];
        Opnd *index = &w->index[w->g->hw + (int)gpu_fastest[i]];
        if (size <= 1) continue;
        left /= size;
        *index = left > 1 ? by_power(w, "and.b32", "rem.u32", id, size, size - 1) : id;
        if (left > 1)
            id = by_power(w, "shr.u32", "div.u32", id, size, __builtin_ctzll((uint64_t)size));
    }
}

static void hardware_indices(KernelWriter *w) {
    static const char *const name[] = {"ctaid.x", "ctaid.y", "ctaid.z", "cluster_ctarank",
                                       "tid.x",   "tid.y",   "tid.z"};
    bool digits = gpu_has_digits(w->k);
    w->out = &w->scope.at[0]->head;
    for (int a = 0; a < GPU_AXES; a++) {
        int id = w->g->hw + a;
        w->depth[id] = 0;
        w->g->lo[id] = 0;
        w->g->hi[id] = w->k->size[a] - 1;
        w->index[id] = lit(REG_32, 0);
        if (w->k->size[a] <= 1 || (digits && a >= GPU_THREAD_X)) continue;
        w->index[id] = reg_new(w, REG_32);
        line(w, "mov.u32 %%r%d, %%%s;", w->index[id].reg, name[a]);
    }
    // The blocks of a cluster follow each other along x.
    int64_t cluster = w->k->size[GPU_CLUSTER];
    Opnd *x = &w->index[w->g->hw + GPU_BLOCK_X];
    if (cluster > 1 && !x->literal)
        *x = by_power(w, "shr.u32", "div.u32", *x, cluster, __builtin_ctzll((uint64_t)cluster));
    if (digits) thread_digits(w);
    w->out = &w->scope.at[0]->body;
}

static void mark_loops(KernelWriter *w, const GpuNode *n) {
    if (n->kind == GPU_LOOP) {
        w->unrolled[n->id] = n->unroll;
        w->depth[n->id] = -1;
        w->g->lo[n->id] = 0;
        w->g->hi[n->id] = max_i64(n->extent - 1, 0);
    }
    for (int i = 0; i < n->child.n; i++) mark_loops(w, n->child.at[i]);
}

static void writer_open(KernelWriter *w) {
    int n = w->g->nids, buffers = w->t->buffers.n;
    w->depth = arena_new_n(w->arena, int, n);
    w->index = arena_new_n(w->arena, Opnd, n);
    w->fixed = arena_new_n(w->arena, const Affine *, n);
    w->env = arena_new_n(w->arena, int64_t, n);
    w->unrolled = arena_new_n(w->arena, bool, n);
    w->base = arena_new_n(w->arena, Opnd, buffers);
    w->empty = arena_new_n(w->arena, bool, buffers);
    for (int i = 0; i < buffers; i++) {
        const Buffer *b = &w->t->buffers.at[i];
        w->base[i].reg = -1;
        for (int d = 0; d < b->rank; d++) w->empty[i] |= b->size[d] == 0;
    }
    w->status.reg = -1;
    w->shared = w->k->shared;
    plans_clear(w);
    Scope *s = arena_new(w->arena, Scope);
    vec_push(w->arena, &w->scope, s);
    hardware_indices(w);
    mark_loops(w, w->k->body);
    w->out = &s->head;
    w->scratch_base = reg_new(w, REG_64);
    line(w, "ld.param.u64 %%d%d, [scratch];", w->scratch_base.reg);
    line(w, "cvta.to.global.u64 %%d%d, %%d%d;", w->scratch_base.reg, w->scratch_base.reg);
    w->out = &s->body;
}

// The number of blocks that a multiprocessor should have room for; 0: the assembler decides. A
// kernel of many blocks with asynchronous copies shares its multiprocessor with a second block,
// which computes while the first waits; each thread then gets at most half of the registers. A
// kernel with at most one block per multiprocessor needs no such room, and asks for 1: otherwise
// the assembler would spill to make room. (Staged products of large blocks do not spill, and were
// measured to be faster without the request.) A smaller staged one has room for two: for three, the
// assembler would spill.
static int least_blocks(const GpuMachine *m, const GpuKernel *k, int nbuffers) {
    enum { THREADS = 256 };
    bool staged = false, alone = gpu_blocks(k) <= m->processors;
    for (int i = 0; i < nbuffers; i++) staged |= k->buffer[i].stages > 1;
    bool large = staged && gpu_threads(k) >= THREADS;
    if (alone) return large ? 0 : 1;
    if (staged && gpu_threads(k) == THREADS / 2) return 2;
    return large && gpu_threads(k) == THREADS && 2 * k->shared <= gpu_block_shared(m) - 4096 ? 2
                                                                                             : 0;
}

static void block_shape(const GpuKernel *k, unsigned *block) {
    bool digits = gpu_has_digits(k);
    for (int a = 0; a < 3; a++) block[a] = digits ? 1 : (unsigned)k->size[GPU_THREAD_X + a];
    if (digits) block[0] = (unsigned)gpu_threads(k);
}

static void print_entry(const KernelWriter *w, Text *out) {
    static const char *const type[] = {"pred", "b16", "b32", "b64"};
    static const char *const prefix[] = {"p", "h", "r", "d"};
    unsigned block[3];
    block_shape(w->k, block);
    text_printf(out, "\n.visible .entry %s(\n", w->k->name);
    for (int i = 0; i < w->t->nargs; i++) text_printf(out, "\t.param .u64 arg%d,\n", i);
    text_add(out, "\t.param .u64 scratch,\n\t.param .u64 status\n)\n");
    text_printf(out, ".maxntid %u, %u, %u\n", block[0], block[1], block[2]);
    if (w->k->size[GPU_CLUSTER] > 1)
        text_printf(out, ".reqnctapercluster %d, 1, 1\n", (int)w->k->size[GPU_CLUSTER]);
    int least = least_blocks(w->g->machine, w->k, w->t->buffers.n);
    if (least) text_printf(out, ".minnctapersm %d\n", least);
    text_add(out, "{\n");
    for (int c = 0; c < REG_CLASSES; c++)
        if (w->nregs[c])
            text_printf(out, "\t.reg .%s %%%s<%d>;\n", type[c], prefix[c], w->nregs[c]);
    if (w->uses_local)
        text_printf(out, "\t.local .align 16 .b8 local[%lld];\n",
                    (long long)max_i64(w->k->local, 16));
}

typedef struct PtxKernel {
    Text entry; // up to the registers
    PtxText code;
} PtxKernel;

typedef struct PtxModule {
    PtxKernel *kernel;
    bool shared, swizzles, checks;
} PtxModule;

// PTX compilers treat each register separately; a text with more registers than this takes minutes
// to compile.
static bool too_long(const KernelWriter *w) {
    enum { MOST_REGISTERS = 1 << 16 };
    int64_t all = 0;
    for (int c = 0; c < REG_CLASSES; c++) all += w->nregs[c];
    if (all < MOST_REGISTERS) return false;
    Diag *d = diag_report(w->diags, gpu_range(w->t, w->k->nest), DIAG_GPU_TEXT, w->k->name,
                          (long long)all, MOST_REGISTERS);
    diag_note(w->diags, d, (Range){0, 0}, DIAG_GPU_TEXT_NOTE);
    return true;
}

static bool kernel_write(PtxModule *u, KernelWriter *w, PtxKernel *out, PtxLaunch *launch) {
    writer_open(w);
    body_grid(w);
    if (too_long(w)) return false;
    out->entry.arena = w->arena;
    print_entry(w, &out->entry);
    ptx_text_join(&out->code, &w->scope.at[0]->head);
    ptx_text_join(&out->code, &w->scope.at[0]->body);
    u->shared |= w->uses_shared;
    u->swizzles |= w->swizzles;
    u->checks |= w->checks;
    *launch = (PtxLaunch){.name = w->k->name, .shared = (unsigned)w->shared};
    for (int a = 0; a < 3; a++) launch->grid[a] = (unsigned)w->k->size[a];
    launch->grid[0] *= (unsigned)w->k->size[GPU_CLUSTER];
    block_shape(w->k, launch->block);
    return !w->failed;
}

static Numbers *lines_of(GpuProgram *g) {
    Numbers *all = arena_new(g->arena, Numbers);
    all->arena = g->arena;
    TreeLines lines = tree_show_lines(g->arena, g->tree);
    for (int i = 1; i < lines.n; i++)
        if (lines.at[i].node) numbers_put(all, lines.at[i].node, i);
    return all;
}

static bool clusters_fit(const GpuProgram *g, int sm, DiagList *diags) {
    for (int i = 0; i < g->kernel.n && sm < 90; i++) {
        const GpuKernel *k = g->kernel.at[i];
        if (k->size[GPU_CLUSTER] == 1) continue;
        diag_report(diags, gpu_range(g->tree, k->nest), DIAG_GPU_CLUSTER_TARGET, sm);
        return false;
    }
    return true;
}

static Text module_text(Arena *arena, const PtxModule *u, int nkernels, int sm) {
    enum { HEADER = 256, END = 16 };
    size_t size = HEADER;
    for (int i = 0; i < nkernels; i++)
        size += u->kernel[i].entry.len + ptx_text_size(&u->kernel[i].code) + END;
    Text text = {.arena = arena, .s = arena_raw(arena, size), .cap = size};
    // The first version that supports the target.
    const char *version = sm < 90 ? "7.0" : sm < 100 ? "7.8" : "8.6";
    text_printf(&text, ".version %s\n.target sm_%d\n.address_size 64\n", version, sm);
    if (u->shared)
        text_printf(&text, "\n.extern .shared .align %d .b8 smem[];\n", u->swizzles ? 128 : 16);
    for (int i = 0; i < nkernels; i++) {
        text_add(&text, text_str(&u->kernel[i].entry));
        ptx_text_print(&text, &u->kernel[i].code);
        text_add(&text, "\tret;\n}\n");
    }
    return text;
}

bool ptx_print(GpuProgram *g, const PtxOptions *options, PtxCode *out, DiagList *diags) {
    Arena *arena = g->arena;
    int sm = options->sm ? options->sm : 80;
    if (!clusters_fit(g, sm, diags)) return false;
    PtxLaunch *launch = arena_new_n(arena, PtxLaunch, g->kernel.n);
    PtxModule u = {.kernel = arena_new_n(arena, PtxKernel, g->kernel.n)};
    Numbers *lines = options->lines ? lines_of(g) : NULL;
    for (int i = 0; i < g->kernel.n; i++) {
        KernelWriter w = {.arena = arena,
                          .g = g,
                          .k = g->kernel.at[i],
                          .t = g->tree,
                          .x = g->tree->exprs,
                          .diags = diags,
                          .align = options->align ? options->align : 16,
                          .accumulate = options->accumulate,
                          .skip_post = options->skip_post,
                          .line_of = lines};
        if (!kernel_write(&u, &w, &u.kernel[i], &launch[i])) return false;
    }
    Text text = module_text(arena, &u, g->kernel.n, sm);
    *out = (PtxCode){.name = g->name,
                     .text = text_str(&text),
                     .size = text.len,
                     .nlaunches = g->kernel.n,
                     .launch = launch,
                     .scratch = g->scratch,
                     .checks = u.checks,
                     .program = g};
    return true;
}

bool ptx_make(Arena *arena, const Tree *t, const char *name, const PtxOptions *options,
              PtxCode *out, DiagList *diags) {
    const GpuMachine *m = options->machine ? options->machine : gpu_machine_of(options->sm);
    GpuProgram *g = gpu_map(arena, t, name, m, diags);
    return g && ptx_print(g, options, out, diags);
}
