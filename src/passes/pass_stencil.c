// stencil: tiles a contraction to the sizes of a matrix instruction.
//
//     for [m:100, n:100, k:100]: C[m, n] += A[m, k]*B[k, n]
//  -> for [m:7, n:7]: for #stencil [m':16, n':16, k:100] where ...      with 16x16xany
//
// A stencil's indices are matched with the block's indices in every possible way. An index of a
// stencil must run through the output and each input with the stride that the stencil requires (0:
// not at all, 1: contiguous, any: with any stride). The cost of a match, in multiply-adds:
//
//     Π ceil(range/size)·size + startup · Π ceil(range/size)         over all indices of the block
//
// With fits=UNIT, the cost also counts the inputs that do not fit the unit: they are loaded from
// the surrounding unit for every tile.
//
// An index of the block without a matching index has size 1, or its whole range if it is reduced
// over and whole=yes. The match with the least cost divided by the rate of its stencil wins. Among
// equals, the match whose tile spans the fewest bytes wins, then the first in the order of the
// text.
//
// A statement that copies is tiled in the same way: a stencil without reduced indices can
// transpose.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"

enum { MAX_BLOCK = 8 };

typedef struct Match {
    const Stencil *stencil;
    int of[MAX_BLOCK]; // per index of the block: the index of the stencil, or -1
    int input[STENCIL_MAX_TENSORS];
    double cost, time, span;
} Match;

typedef struct Matcher {
    PassRun *r;
    const char *use; // names of the stencils to try; "": all
    bool strict, whole;
    const Tree *t;
    const Block *b;
    const TileViews *v;
    const TileView *out, *in[STENCIL_MAX_TENSORS];
    int nin;
    const MemoryUnit *unit; // `fits`; NULL: none
    Match now, best;
    bool found;
    int tried;
} Matcher;

// The stride of an index through the only access of a view, in elements.
static int64_t flat_stride(const Matcher *m, const TileView *view, int index) {
    const Buffer *b = &m->t->buffers.at[view->buffer];
    int64_t stride = 0;
    for (int d = 0; d < b->rank; d++)
        stride += view->access[0].coef[d * m->b->nindex + index] * b->stride[d];
    return stride;
}

static bool stride_fits(int rule, int64_t stride) {
    return rule == STRIDE_ANY ? stride != 0 : stride == rule;
}

static bool index_fits(const Matcher *m, int index, const StencilIndex *s) {
    int64_t extent = m->b->index[index].extent;
    if (m->strict && s->size > 0 && extent % s->size != 0) return false;
    if (!stride_fits(s->out.at[0], flat_stride(m, m->out, index))) return false;
    for (int k = 0; k < s->in_.n; k++)
        if (!stride_fits(s->in_.at[k], flat_stride(m, m->in[m->now.input[k]], index))) return false;
    return true;
}

static int64_t size_of(const Matcher *m, const Match *match, int index) {
    int64_t extent = m->b->index[index].extent;
    int of = match->of[index];
    bool stays = of < 0 && m->whole && !index_is_output(m->v, index);
    return stays                                ? extent
           : of < 0                             ? 1
           : match->stencil->index[of].size < 0 ? extent
                                                : match->stencil->index[of].size;
}

// The bytes from the first to the last element that a tile accesses, summed over all tensors.
static double span_of_match(const Matcher *m) {
    int64_t tile[MAX_BLOCK], size[TREE_MAX_RANK];
    double span = 0;
    for (int i = 0; i < m->b->nindex; i++)
        tile[i] = min_i64(size_of(m, &m->now, i), max_i64(m->b->index[i].extent, 1));
    for (int i = 0; i < m->v->n; i++) {
        const Buffer *b = &m->t->buffers.at[m->v->at[i].buffer];
        tile_box(m->v, &m->v->at[i], tile, size);
        for (int d = 0; d < b->rank; d++)
            span += (double)(size[d] - 1) * (double)b->stride[d] * type_info[b->type].bytes;
    }
    return span;
}

// The number of different sets of a cache that a box of elements maps to. Elements whose distance
// is a multiple of the bytes of one way share a set.
static double sets_of(const Matcher *m, const Buffer *b, const int64_t *size, int64_t sets) {
    int64_t line = m->unit->line, way = sets * line, run = 0;
    double reached = 1;
    for (int d = 0; d < b->rank; d++) {
        int64_t step = llabs(b->stride[d]) * type_info[b->type].bytes;
        if (size[d] > 1 && step < line) run += (size[d] - 1) * step;
        if (size[d] > 1 && step >= line)
            reached *= (double)min_i64(size[d], way / gcd_i64(step, way));
    }
    return fmin(reached * ceil((double)(run + 1) / (double)line), (double)sets);
}

enum { REGISTERS = 64 }; // iterations of an index that may share an element in a register

// How often a tile loads the same elements of an input: for each iteration of its indices of size
// `any` along which the input does not move, and for each 64 of those of a fixed size.
static double reuses_of(const Matcher *m, int input, const int64_t *tile) {
    double n = 1;
    for (int i = 0; i < m->b->nindex; i++) {
        const StencilIndex *s = m->now.of[i] < 0 ? NULL : &m->now.stencil->index[m->now.of[i]];
        int64_t loads = !s ? 1 : s->size < 0 ? tile[i] : ceil_div(tile[i], REGISTERS);
        for (int k = 0; s && k < s->in_.n; k++)
            if (m->now.input[k] == input && s->in_.at[k] == STRIDE_NONE) n *= (double)loads;
    }
    return n;
}

// The cycles that loading the inputs of a tile takes which do not stay in the unit. An input that
// is larger than the unit is loaded again whenever it is reused.
static double reload_cycles(const Matcher *m, const int64_t *tile) {
    const MemoryUnit *u = m->unit;
    double from = u && u->in >= 0 ? m->r->h->memory.at[u->in].bandwidth : 0, bytes = 0;
    int64_t size[TREE_MAX_RANK];
    if (!u || !u->size || from <= 0) return 0;
    for (int i = 0; i < m->nin; i++) {
        const Buffer *b = &m->t->buffers.at[m->in[i]->buffer];
        double lines = tile_lines(m->v, m->in[i], tile, u->line, true);
        double room = (double)u->size * (double)u->banks / (double)u->line;
        int64_t sets = u->ways ? max_i64((int64_t)(room / (double)u->ways), 1) : 0;
        tile_box(m->v, m->in[i], tile, size);
        double times = lines > room ? reuses_of(m, i, tile) : 1;
        if (sets) room = sets_of(m, b, size, sets) * (double)u->ways;
        if (lines > room) bytes += lines * (double)u->line * times;
    }
    return bytes / from;
}

static double cost_of_match(const Matcher *m) {
    int64_t tile[MAX_BLOCK];
    double work = 1, starts = 1;
    for (int i = 0; i < m->b->nindex; i++) {
        int64_t extent = m->b->index[i].extent, size = size_of(m, &m->now, i);
        work *= (double)(ceil_div(extent, size) * size);
        starts *= (double)ceil_div(extent, size);
        tile[i] = min_i64(size, max_i64(extent, 1));
    }
    double start = (double)m->now.stencil->startup;
    return work + (start + m->now.stencil->rate * reload_cycles(m, tile)) * starts;
}

// Matches the stencil's indices from number `k` on.
static void match_indices(Matcher *m, int k) {
    if (k == m->now.stencil->nindex) {
        m->tried++;
        m->now.cost = cost_of_match(m);
        m->now.time = m->now.cost / fmax(m->now.stencil->rate, 1e-9);
        if (m->found && m->now.time > m->best.time) return;
        m->now.span = span_of_match(m);
        if (m->found && m->now.time == m->best.time && m->now.span >= m->best.span) return;
        m->best = m->now;
        m->found = true;
        return;
    }
    for (int i = 0; i < m->b->nindex; i++) {
        if (m->now.of[i] >= 0 || !index_fits(m, i, &m->now.stencil->index[k])) continue;
        m->now.of[i] = k;
        match_indices(m, k + 1);
        m->now.of[i] = -1;
    }
}

// Matches the stencil's inputs from number `k` on, then its indices.
static void match_inputs(Matcher *m, int k) {
    if (k == m->now.stencil->index[0].in_.n) {
        match_indices(m, 0);
        return;
    }
    for (int i = 0; i < m->nin; i++) {
        bool taken = false;
        for (int j = 0; j < k; j++) taken |= m->now.input[j] == i;
        m->now.input[k] = i;
        if (!taken) match_inputs(m, k + 1);
    }
}

// Is the name in the list "a,b", or the list empty?
static bool is_wanted(const char *use, const char *name) {
    size_t len = strlen(name);
    for (const char *s = use; *s;) {
        size_t n = strcspn(s, ",");
        if (n == len && memcmp(s, name, n) == 0) return true;
        s += n + (s[n] == ',');
    }
    return !*use;
}

// Checks that the block is a reduction or a copy of one leaf. Returns NULL, or the reason why not.
static const char *prepare(Matcher *m) {
    const Leaf *leaf = m->b->nchildren == 1 ? as_leaf(m->b->child[0]) : NULL;
    bool copy = leaf && leaf->op == REDUCE_ASSIGN && leaf->value->kind == EXPR_READ;
    if (!leaf || (leaf->op == REDUCE_ASSIGN && !copy))
        return "it is no reduction or copy of one statement";
    if (m->b->nindex > MAX_BLOCK) return "it has more than 8 indices";
    if (!m->v->exact) return "an access is not affine";
    for (int i = 0; i < m->v->n; i++) {
        const TileView *view = &m->v->at[i];
        if (view->nbox > 1) return "it uses a tensor twice";
        if (view->written)
            m->out = view;
        else if (m->nin < STENCIL_MAX_TENSORS)
            m->in[m->nin++] = view;
    }
    return m->out && m->nin ? NULL : "it has no input";
}

static void match_all(Matcher *m) {
    Type type = m->t->buffers.at[m->in[0]->buffer].type;
    for (int i = 0; i < m->r->h->stencil.n; i++) {
        const Stencil *s = &m->r->h->stencil.at[i];
        if (!is_wanted(m->use, s->name) || !s->nindex || s->index[0].in_.n > m->nin) continue;
        if (s->type != TYPE_NONE && (Type)s->type != type) continue;
        m->now.stencil = s;
        for (int k = 0; k < MAX_BLOCK; k++) m->now.of[k] = -1;
        match_inputs(m, 0);
    }
}

// Finds the best match. Returns NULL, or the reason why there is none.
static const char *matched(Matcher *m) {
    m->v = tile_views(m->r->arena, m->t, m->b);
    const char *why = prepare(m);
    if (!why) match_all(m);
    return why || m->found ? why : "no stencil matches";
}

const char *stencil_sizes(PassRun *r, const Tree *t, const Block *b, const char *use,
                          int64_t *size) {
    Matcher m = {.r = r, .t = t, .b = b, .use = use};
    const char *why = matched(&m);
    for (int i = 0; !why && i < b->nindex; i++) size[i] = size_of(&m, &m.best, i);
    return why;
}

// The tags of a parameter, and #name=STENCIL.
static Tags tags_with(const Matcher *m, const char *param, const char *name) {
    Tags given = pass_tags(m->r, m->t, param);
    Tag tag = {name_of(m->t->names, name), name_of(m->t->names, m->best.stencil->name)};
    return tags_and(m->r->arena, given, (Tags){1, &tag});
}

// Tags the tile. Its indices get the tag #stencil_NAME of the stencil index that they match.
static const Tree *tagged(const Matcher *m, const Tree *t, int loop, const int *of) {
    Block like = *tree_loop_at(t, loop);
    Index *index = arena_copy(m->r->arena, like.index, (size_t)like.nindex * sizeof *index);
    for (int i = 0; i < like.nindex; i++) {
        if (of[i] < 0) continue;
        Tag *tag = arena_new(m->r->arena, Tag);
        const char *name = m->best.stencil->index[of[i]].name;
        tag->name = name_of(t->names, arena_printf(m->r->arena, "stencil_%s", name));
        index[i].tags = (Tags){1, tag};
    }
    like.index = index;
    like.node.tags = tags_and(m->r->arena, like.node.tags, tags_with(m, "inner", "stencil"));
    TreeEdit e = {.diags = &m->r->refused, .unchecked = true};
    return tree_block_like(t, loop, &like, "stencil", &e);
}

static const Tree *tile_to(Matcher *m, int loop) {
    int64_t size[MAX_BLOCK];
    int of[MAX_BLOCK], n = 0, inner = loop;
    bool whole = true, one = true;
    for (int i = 0; i < m->b->nindex; i++) {
        int64_t extent = m->b->index[i].extent;
        size[i] = min_i64(size_of(m, &m->best, i), max_i64(extent, 1));
        whole &= size[i] == extent;
        one &= size[i] == 1;
        if (size[i] == extent || size[i] > 1) of[n++] = m->best.of[i];
    }
    if (one) {
        pass_left(m->r, m->b, "the stencil '%s' would be one iteration", m->best.stencil->name);
        return m->t;
    }
    TreeEdit e = pass_edit(m->r);
    TileHow how = {.size = size, .outer = tags_with(m, "outer", "tiles_of")};
    const Tree *now = whole ? m->t : tree_block_tile(m->t, loop, &how, NULL, &inner, &e);
    if (!now) {
        pass_refused(m->r, m->b);
        return m->t;
    }
    pass_did(m->r, m->b, "%s as %s, cost %.0f, the least of %d", m->best.stencil->name,
             tile_text(m->r->arena, size, m->b->nindex), m->best.cost, m->tried);
    return tagged(m, now, inner, of);
}

const Tree *pass_stencil(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    for (int i = 0; i < list.n; i++) {
        const Block *b = tree_loop_at(t, list.at[i]);
        Matcher m = {.r = r, .t = t, .b = b, .use = pass_text(r, "use")};
        m.strict = pass_int(r, "strict") != 0;
        m.whole = pass_int(r, "whole") != 0;
        if (pass_int(r, "fits") >= 0) m.unit = &r->h->memory.at[pass_int(r, "fits")];
        const char *why = matched(&m);
        if (why)
            pass_left(r, b, "%s", why);
        else
            t = tile_to(&m, list.at[i]);
    }
    return t;
}
