// Divides nests without thread loops among all threads of the block.
#include "code/gpu/gpu_impl.h"

#include "base/checked.h"

enum { COPIES_IN_FLIGHT = 16 };

static const Block *only_child(const Block *b) {
    return b->nchildren == 1 && !b->nallocs ? as_block(b->child[0]) : NULL;
}

void band_find(Map *m, const Block *b, Band *out) {
    *out = (Band){.total = 1};
    for (; b; b = only_child(b)) {
        for (int i = 0; i < b->nindex; i++) {
            if (b->index[i].passed) continue;
            if (!nest_independent(m, b, i) || out->n == TREE_MAX_DEPTH) return;
            int64_t total;
            if (!checked_mul(out->total, b->index[i].extent, &total) || total >= INT32_MAX) return;
            out->total = total;
            out->block[out->n] = b;
            out->at[out->n++] = i;
        }
    }
}

static bool in_band(const Band *band, const Block *b, int at, int *number) {
    for (int i = 0; i < band->n; i++)
        if (band->block[i] == b && band->at[i] == at) {
            *number = i;
            return true;
        }
    return false;
}

static GpuNode *band_loop(Map *m, const Band *band, const Affine *const *value, const Block *b,
                          int at);

static GpuNode *band_body(Map *m, const Band *band, const Affine *const *value, const Block *b) {
    int before = m->path.n;
    for (int i = 0; i < b->nconstraints; i++)
        vec_push(m->arena, &m->path, map_affine(m, b->constraint[i]));
    map_allocs(m, b);
    bool last = b == band->block[band->n - 1];
    GpuNode *n = last ? map_children(m, b) : band_loop(m, band, value, only_child(b), 0);
    m->path.n = before;
    return n;
}

static GpuNode *band_loop(Map *m, const Band *band, const Affine *const *value, const Block *b,
                          int at) {
    int number;
    if (at == b->nindex) return band_body(m, band, value, b);
    int id = b->index[at].id;
    if (!b->index[at].passed && !in_band(band, b, at, &number)) return map_serial(m, b, at);
    m->value[id] = b->index[at].passed ? map_affine(m, b->index[at].passed) : value[number];
    GpuNode *n = band_loop(m, band, value, b, at + 1);
    m->value[id] = NULL;
    return n;
}

// The values of the band's indices for iteration number 0 <= linear < total / vector. The last
// index advances by `vector`.
static void band_values(Map *m, const Band *band, const Affine *linear, int vector,
                        const Affine **value) {
    Exprs *x = m->x;
    for (int i = band->n - 1; i >= 0; i--) {
        int64_t extent = band->block[i]->index[band->at[i]].extent;
        int64_t by = i == band->n - 1 ? extent / vector : extent;
        bool first = i == 0;
        value[i] = first ? linear : affine_mod(x, linear, affine_const(x, by));
        linear = affine_div(x, linear, affine_const(x, by));
        if (i == band->n - 1 && vector > 1) value[i] = affine_scale(x, value[i], vector);
    }
}

// The number of the thread among those that no surrounding loop distinguishes, and their count.
static const Affine *linear_thread(Map *m, int64_t *count) {
    const int64_t *size = m->k->size;
    const Affine *sum = affine_const(m->x, 0);
    *count = 1;
    for (int i = 0; i < GPU_AXES - GPU_THREAD_X; i++) {
        GpuAxis a = gpu_fastest[i];
        if (m->threads >> a & 1) continue;
        sum = affine_add(m->x, sum, affine_scale(m->x, map_hw(m, a), *count));
        *count *= size[a];
    }
    return sum;
}

// The leaf of a nest that only copies elements; NULL for other nests.
static const Leaf *copy_leaf(const Band *band) {
    const Block *b = band->n ? band->block[band->n - 1] : NULL;
    const Leaf *leaf = b && b->nchildren == 1 ? as_leaf(b->child[0]) : NULL;
    if (!leaf && b && b->nchildren == 1) { // below a guard
        const Block *g = as_block(b->child[0]);
        leaf = g && !g->nindex && g->nchildren == 1 ? as_leaf(g->child[0]) : NULL;
    }
    if (!leaf || leaf->op != REDUCE_ASSIGN || leaf->value->kind != EXPR_READ) return NULL;
    return leaf;
}

// A buffer with stages has one dimension more than the accesses of the Tree.
static int64_t stride_of(const Map *m, const Access *a, int d) {
    const Buffer *b = &m->t->buffers.at[a->tensor];
    return b->stride[d + b->rank - a->rank];
}

int64_t map_step(const Map *m, const Access *a, int id) {
    int64_t sum = 0;
    for (int d = 0; d < a->rank; d++) {
        if (!a->sub[d]->linear) return 0;
        sum += affine_coef(a->sub[d], id) * stride_of(m, a, d);
    }
    return sum;
}

// Is the address a multiple of `v` elements, apart from the term of `id`?
static bool keeps_vectors(const Map *m, const Access *a, int id, int v) {
    for (int d = 0; d < a->rank; d++) {
        const Affine *s = a->sub[d];
        if (s->constant * stride_of(m, a, d) % v) return false;
        for (int i = 0; i < s->n; i++)
            if (s->term[i].atom->index != id && s->term[i].coef * stride_of(m, a, d) % v)
                return false;
    }
    return true;
}

// Can a constraint hold for only a part of a vector of `v` elements along the index?
static bool cuts(const Affine *a, int id, int v) {
    if (!affine_uses_iter(a, id)) return false;
    if (!a->linear || affine_coef(a, id) != -1 || (a->constant + 1) % v) return true;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->index != id && a->term[i].coef % v) return true;
    return false;
}

static bool constrained(const Band *band, int id, int v) {
    for (int i = 0; i < band->n; i++)
        for (int c = 0; c < band->block[i]->nconstraints; c++)
            if (cuts(band->block[i]->constraint[c], id, v)) return true;
    const Block *g = as_block(band->block[band->n - 1]->child[0]);
    for (int c = 0; g && c < g->nconstraints; c++)
        if (cuts(g->constraint[c], id, v)) return true;
    return false;
}

static int vector_of(Map *m, const Band *band) {
    const Leaf *leaf = copy_leaf(band);
    if (!leaf || map_checks(m, leaf)) return 1;
    const Index *x = &band->block[band->n - 1]->index[band->at[band->n - 1]];
    const Access *r = leaf->value->access;
    Type type = m->t->buffers.at[r->tensor].type;
    if (type != m->t->buffers.at[leaf->write->tensor].type) return 1;
    if (map_step(m, leaf->write, x->id) != 1 || map_step(m, r, x->id) != 1) return 1;
    for (int v = 16 / type_info[type].bytes; v > 1; v /= 2) {
        if (v * type_info[type].bytes < 4) break;
        if (x->extent % v == 0 && keeps_vectors(m, leaf->write, x->id, v) &&
            keeps_vectors(m, r, x->id, v) && !constrained(band, x->id, v))
            return v;
    }
    return 1;
}

static void mark_vectors(GpuNode *n, int vector) {
    if (n->kind == GPU_LEAF) n->vector = vector;
    for (int i = 0; i < n->child.n; i++) mark_vectors(n->child.at[i], vector);
}

// Maps iteration number `linear` of the band. `lane` is the index of the element within a vector,
// or -1.
GpuNode *band_map(Map *m, const Band *band, const Affine *linear, int64_t total, int vector,
                  int lane, const Block *b) {
    const Affine *value[TREE_MAX_DEPTH];
    int64_t lo, hi;
    int before = m->path.n;
    const Affine *guard = affine_sub(m->x, affine_const(m->x, total - 1), linear);
    if (!affine_bounds(guard, m->g->lo, m->g->hi, &lo, &hi) || lo < 0)
        vec_push(m->arena, &m->path, guard);
    band_values(m, band, linear, vector, value);
    if (lane >= 0)
        value[band->n - 1] = affine_add(m->x, value[band->n - 1], affine_iter(m->x, lane));
    GpuNode *n = band_loop(m, band, value, b, 0);
    m->path.n = before;
    if (vector > 1 && lane < 0) mark_vectors(n, vector);
    return n;
}

// Divides the iterations of the band cyclically among all threads of the block.
GpuNode *band_divide(Map *m, const Block *b, const Band *band) {
    int vector = vector_of(m, band);
    int64_t threads, total = band->total / vector;
    const Affine *own = linear_thread(m, &threads);
    int64_t rounds = ceil_div(total, threads);
    unsigned before = m->threads;
    bool plain = m->plain;
    m->threads |= ALL_THREADS;
    m->plain = true;
    GpuNode *loop = map_new(m, GPU_LOOP);
    loop->name = name_of(m->t->names, "turn");
    loop->extent = rounds;
    loop->id = map_id(m, rounds);
    loop->unroll = rounds == 1 || (copy_leaf(band) && rounds <= COPIES_IN_FLIGHT);
    const Affine *turn = affine_scale(m->x, affine_iter(m->x, loop->id), threads);
    GpuNode *inner = band_map(m, band, affine_add(m->x, turn, own), total, vector, -1, b);
    m->threads = before;
    m->plain = plain;
    vec_push(m->arena, &loop->child, inner);
    loop->independent = true;
    return loop;
}
