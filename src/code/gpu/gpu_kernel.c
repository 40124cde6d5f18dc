// Maps each nest of the root to a kernel with its numbers of blocks and threads.
#include "code/gpu/gpu_impl.h"

#include "base/checked.h"

enum { FEW_BLOCKS = 128 }; // with fewer blocks, processors are idle

static bool thread_sizes(const Node *n, int64_t *size, const Block **many) {
    const Block *b = as_block(n);
    GpuAxis axis;
    if (b && b->nindex == 1 && is_thread(b->kind)) {
        if (nest_axis(b, &axis))
            size[axis] = max_i64(size[axis], b->index[0].extent);
        else
            *many = b;
    }
    for (int i = 0; b && i < b->nchildren; i++) thread_sizes(b->child[i], size, many);
    return !*many;
}

// The product of the axes, saturated at INT32_MAX.
static int64_t product(const int64_t *size, int from, int to) {
    int64_t n = 1;
    for (int a = from; a < to; a++) n = min_i64(n * min_i64(size[a], INT32_MAX), INT32_MAX);
    return n;
}

static bool threads_fit(Map *m, const Node *node) {
    const int64_t *size = m->k->size;
    Range range = gpu_range(m->t, node);
    const Block *many = NULL;
    if (!thread_sizes(node, m->k->size, &many)) {
        int most = many->kind == KIND_WARP ? GPU_LANE_0 - GPU_WARP_0 : GPU_AXES - GPU_LANE_0;
        diag_report(m->diags, range, DIAG_GPU_DIGITS, most, kind_name[many->kind]);
        return false;
    }
    int64_t lanes = product(size, GPU_LANE_0, GPU_AXES);
    int64_t all = product(size, GPU_THREAD_X, GPU_AXES);
    if (lanes > GPU_WARP) {
        diag_report(m->diags, range, DIAG_GPU_LANES, (long long)lanes, GPU_WARP);
        return false;
    }
    bool fits = all <= GPU_MAX_THREADS && (gpu_has_digits(m->k) || size[GPU_THREAD_Z] <= 64);
    if (!fits)
        diag_report(m->diags, range, DIAG_GPU_THREADS, (long long)all,
                    all <= GPU_MAX_THREADS ? 64 : GPU_MAX_THREADS);
    return fits;
}

static int most_blocks(Kind k) { return k == KIND_GRID_X ? INT32_MAX : GPU_MAX_GRID_YZ; }

// Does the index select results, rather than terms of a sum?
static bool selects_results(Map *m, const Block *b) {
    Leaves all = {0};
    nest_leaves(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++)
        for (int d = 0; d < all.at[i]->write->rank; d++)
            if (affine_coef(all.at[i]->write->sub[d], b->index[0].id)) return true;
    return false;
}

// Warns of grid loops that are not divided among blocks.
static void report_serial(Map *m, const Node *node) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nchildren; i++) report_serial(m, b->child[i]);
    if (!b || b->nindex != 1 || !is_grid(b->kind) || b->index[0].extent <= 1) return;
    bool free = nest_independent(m, b, 0), many = b->index[0].extent > most_blocks(b->kind);
    const char *why = !free  ? "its iterations depend on each other"
                      : many ? "a grid has fewer blocks along this axis"
                             : "other loops or nests are around or beside it";
    Diag *d = diag_report(m->diags, gpu_range(m->t, node), DIAG_GPU_SERIAL, b->index[0].name,
                          kind_name[b->kind], why);
    if (!free && nest_only_reduces(m, b) && !selects_results(m, b))
        diag_note(m->diags, d, (Range){0, 0}, DIAG_GPU_SERIAL_NOTE, b->index[0].name);
}

// Maps the leading grid loops of a marked nest to blocks.
static GpuNode *map_grid(Map *m, const Node *node, bool *any) {
    const Block *b = as_block(node);
    GpuAxis axis;
    if (b && b->nindex == 1 && is_grid(b->kind) && nest_axis(b, &axis) && m->k->size[axis] == 1 &&
        !b->index[0].passed && nest_independent(m, b, 0) &&
        b->index[0].extent <= most_blocks(b->kind)) {
        *any = true;
        m->k->size[axis] = max_i64(b->index[0].extent, 1);
        m->g->hi[m->g->hw + (int)axis] = m->k->size[axis] - 1;
        m->value[b->index[0].id] = map_hw(m, axis);
        int before = m->path.n;
        for (int i = 0; i < b->nconstraints; i++)
            vec_push(m->arena, &m->path, map_affine(m, b->constraint[i]));
        map_allocs(m, b);
        for (int i = 0; b->nchildren > 1 && i < b->nchildren; i++) report_serial(m, b->child[i]);
        GpuNode *n = b->nchildren == 1 ? map_grid(m, b->child[0], any) : map_children(m, b);
        m->path.n = before;
        return n;
    }
    report_serial(m, node);
    return map_node(m, node);
}

static void set_threads(Map *m, int64_t x) {
    m->k->size[GPU_THREAD_X] = x;
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++) m->g->hi[m->g->hw + a] = m->k->size[a] - 1;
}

static GpuNode *map_marked(Map *m, const Node *node) {
    bool any = false;
    if (m->failed || !threads_fit(m, node) || !cluster_size(m, node)) {
        m->failed = true;
        for (int a = GPU_THREAD_X; a < GPU_AXES; a++) m->k->size[a] = 1;
    }
    int64_t x = m->k->size[GPU_THREAD_X];
    if (gpu_threads(m->k) == 1) x = PLAIN_THREADS;
    set_threads(m, x);
    m->clustered = false;
    GpuNode *n = map_grid(m, node, &any);
    if (m->k->size[GPU_CLUSTER] > 1 && !m->clustered) {
        diag_report(m->diags, gpu_range(m->t, node), DIAG_GPU_CLUSTER_LOOP);
        m->failed = true;
    }
    return n;
}

static bool constrained_by(const Node *n, int id) {
    const Block *b = as_block(n);
    for (int i = 0; b && i < b->nconstraints; i++)
        if (affine_uses_iter(b->constraint[i], id)) return true;
    for (int i = 0; b && i < b->nchildren; i++)
        if (constrained_by(b->child[i], id)) return true;
    return false;
}

// The number of neighbours along the band's last loop that one thread computes, so that it can load
// and store 16 bytes at once. More than 1 only if every leaf writes contiguous elements and the
// nest does little else.
static int neighbours(Map *m, const Band *band) {
    enum { LEAVES = 8, ENOUGH = 1 << 15 };
    const Block *b = band->block[band->n - 1];
    const Index *x = &b->index[band->at[band->n - 1]];
    Leaves all = {0};
    int v = 4;
    nest_leaves(m->arena, &b->node, &all);
    if (all.n > LEAVES || nest_instances(&b->node) > LEAVES * x->extent || b->nindex > 1) return 1;
    for (int i = 0; i < band->n; i++)
        for (int c = 0; c < band->block[i]->nconstraints; c++)
            if (affine_uses_iter(band->block[i]->constraint[c], x->id)) return 1;
    if (constrained_by(&b->node, x->id)) return 1;
    for (int i = 0; i < all.n; i++) {
        if (map_step(m, all.at[i]->write, x->id) != 1 || all.at[i]->write->has_read) return 1;
        v = (int)min_i64(v, 16 / type_info[m->t->buffers.at[all.at[i]->write->tensor].type].bytes);
    }
    return v < 2 || x->extent % v || band->total / v < ENOUGH ? 1 : v;
}

static GpuNode *map_plain(Map *m, const Block *b) {
    Band band;
    band_find(m, b, &band);
    if (band.total <= 1) { // one block; its threads divide the inner loops
        set_threads(m, PLAIN_THREADS);
        return map_node(m, &b->node);
    }
    int vector = neighbours(m, &band);
    int64_t total = band.total / vector;
    int64_t threads = min_i64(PLAIN_THREADS, ceil_div(total, GPU_WARP) * GPU_WARP);
    while (threads > 2 * GPU_WARP && total < threads * FEW_BLOCKS) threads /= 2;
    threads = ceil_div(threads, GPU_WARP) * GPU_WARP;
    int64_t blocks = ceil_div(total, threads);
    m->k->size[GPU_BLOCK_X] = blocks;
    m->g->hi[m->g->hw + GPU_BLOCK_X] = blocks - 1;
    set_threads(m, threads);
    m->plain = true;
    m->threads = ALL_THREADS;
    const Affine *id = affine_scale(m->x, map_hw(m, GPU_BLOCK_X), threads);
    id = affine_add(m->x, id, map_hw(m, GPU_THREAD_X));
    GpuNode *only = vector == 1 ? band_map(m, &band, id, total, 1, -1, b) : NULL;
    if (only) only->independent = true;
    if (only) return only;
    GpuNode *lanes = map_new(m, GPU_LOOP);
    lanes->name = name_of(m->t->names, "lane");
    lanes->unroll = lanes->independent = true;
    lanes->extent = vector;
    lanes->id = map_id(m, vector);
    map_push(m, lanes, band_map(m, &band, id, total, vector, lanes->id, b));
    return lanes;
}

static bool is_marked(Kind k) { return is_grid(k) || divides(k); }

// Warns about buffers that the Schedule places in shared memory but that are in scratch memory for
// lack of room.
static void report_moved(Map *m, const GpuKernel *k) {
    for (int i = m->t->nargs; i < m->t->buffers.n; i++) {
        const GpuBuffer *b = &k->buffer[i];
        if (!b->used || !b->moved || m->t->buffers.at[i].home != HOME_SHARED) continue;
        Diag *d = diag_report(m->diags, gpu_range(m->t, k->nest), DIAG_GPU_SHARED,
                              m->t->buffers.at[i].name, (long long)b->block_bytes,
                              (long long)(gpu_buffer_shared(m->g->machine) - k->shared));
        diag_note(m->diags, d, (Range){0, 0}, DIAG_GPU_SHARED_NOTE);
    }
}

// Why a load cannot use the cache that the Schedule names; NULL: it can.
static const char *why_uncached(const GpuNode *n, const GpuBuffer *from, const Buffer *to,
                                LoadCache cache) {
    if (from->space != GPU_GLOBAL) return "the kernel keeps it in its own memory";
    if (!n->async || cache == LOAD_L1) return NULL;
    if (cache != LOAD_L2) return "asynchronous copies choose between L1 and L2 only";
    bool wide = n->vector * type_info[to->type].bytes == 16;
    return wide ? NULL : "asynchronous copies of less than 16 bytes go through L1";
}

// Refuses the read-only cache for what the kernel writes; warns of operators without effect.
static void check_caches(Map *m, const GpuKernel *k, const GpuNode *n, bool *said) {
    for (int i = 0; i < n->child.n; i++) check_caches(m, k, n->child.at[i], said);
    for (int i = 0; n->kind == GPU_LEAF && i < n->leaf->ncaches; i++) {
        CachedRead read = n->leaf->cache[i];
        const GpuBuffer *from = &k->buffer[read.buffer];
        const Buffer *of = m->t->buffers.at, *to = &of[n->leaf->write->tensor];
        const char *why = why_uncached(n, from, to, read.cache);
        bool wrong = read.cache == LOAD_READONLY && from->written && from->space == GPU_GLOBAL;
        if (said[read.buffer] || !(wrong || why)) continue;
        const char *what = arena_printf(m->arena, "'cache %s %s'", of[read.buffer].name,
                                        load_cache_name[read.cache]);
        Range range = tree_range(m->t, &n->leaf->node);
        if (wrong)
            diag_report(m->diags, range, DIAG_GPU_CACHE_WRITTEN, of[read.buffer].name);
        else
            diag_report(m->diags, range, DIAG_SCHEDULE_IDLE, what, why);
        said[read.buffer] = true;
        m->failed |= wrong;
    }
}

static void map_kernel(Map *m, const Node *node, const char *name) {
    GpuKernel *k = arena_new(m->arena, GpuKernel);
    const Block *b = as_block(node);
    k->name = arena_printf(m->arena, "%s_%d", name, m->g->kernel.n);
    for (int a = 0; a < GPU_AXES; a++) k->size[a] = 1;
    for (int a = 0; a < GPU_AXES; a++) m->g->lo[m->g->hw + a] = m->g->hi[m->g->hw + a] = 0;
    k->buffer = arena_new_n(m->arena, GpuBuffer, m->t->buffers.n);
    k->nest = node;
    m->k = k;
    m->threads = m->inside = 0;
    m->plain = false;
    m->marked = nest_has(node, is_marked);
    m->serial = 0;
    for (int i = 0; i < m->t->buffers.n; i++) m->stage_of[i] = -1;
    if (nest_instances(node) == 0) return;
    k->body = b && !m->marked ? map_plain(m, b) : map_marked(m, node);
    if (gpu_threads(k) == 1) set_threads(m, 1);
    vec_push(m->arena, &m->g->kernel, k);
    gpu_fresh(m);
    gpu_place(m->g, k);
    report_moved(m, k);
    check_caches(m, k, k->body, arena_new_n(m->arena, bool, m->t->buffers.n));
    gpu_barriers(m->g, k);
}

void map_top(Map *m, const Node *node, const char *name) {
    const Block *b = as_block(node);
    if (!b || b->nindex) {
        map_kernel(m, node, name);
        return;
    }
    int before = m->path.n;
    for (int i = 0; i < b->nconstraints; i++) vec_push(m->arena, &m->path, b->constraint[i]);
    for (int i = 0; i < b->nchildren; i++) map_top(m, b->child[i], name);
    m->path.n = before;
}
