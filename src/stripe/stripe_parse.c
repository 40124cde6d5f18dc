// Parses Stripe text to a Tree: blocks, refinements and statements.
//
// It accepts both dialects: the short one of the Stripe paper (no product of ranges, no statement
// tags) and the long one of PlaidML's dumps (":I", byte counts, exterior sizes, "new@0x..."). Parts
// without a meaning here are kept as tags. Offsets are added to the parent's as soon as a
// refinement is read, so everything below is absolute.
//
// The outermost block names the tensors: it is enclosed by a scope in which every name that it
// refines is an argument, as large as the block's ranges reach.
#include "stripe/stripe_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

// --- Indices and constraints -------------------------------------------------------------------

static void add_index(StripeParser *p, StripeScope *s, Index like, Range range) {
    if (stripe_find_index(s, like.name)) stripe_fail(p, range, DIAG_STRIPE_INDEX_TWICE, like.name);
    if (p->t->nindices + p->reserved >= TREE_MAX_INDICES)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, TREE_MAX_INDICES, "indices");
    if (!like.passed && ++s->loops > TREE_MAX_DEPTH)
        stripe_fail(p, range, DIAG_STRIPE_NESTING, TREE_MAX_DEPTH);
    if (p->failed) return;
    Index x = tree_index(p->t, like.name, like.extent);
    x.passed = like.passed;
    x.tags = like.tags;
    if (like.passed)
        affine_bounds(like.passed, p->lo, p->hi, &p->lo[x.id], &p->hi[x.id]);
    else
        p->lo[x.id] = 0, p->hi[x.id] = max_i64(like.extent - 1, 0);
    vec_push(p->arena, &s->index, x);
}

static void take_index(StripeParser *p, StripeScope *s) {
    bool paren = stripe_accept(p, "(");
    Index x = {.extent = 1, .tags = stripe_take_tags(p)};
    Range range = p->tok.range;
    x.name = stripe_take_name(p, "an index");
    if (stripe_accept(p, "=")) {
        p->gathers = false;
        x.passed = stripe_affine(p, s->up, false);
    } else {
        stripe_expect(p, ":");
        x.extent = stripe_take_int(p, "how many values the index takes");
        if (x.extent >= STRIPE_LIMIT) stripe_fail(p, range, DIAG_STRIPE_OVERFLOW);
    }
    if (paren) stripe_expect(p, ")");
    add_index(p, s, x, range);
}

static void take_indices(StripeParser *p, StripeScope *s) {
    int64_t points = 1;
    bool known = true;
    stripe_expect(p, "[");
    while (!p->failed && !stripe_is_mark(p, "]")) {
        take_index(p, s);
        if (!stripe_accept(p, ",")) break;
    }
    stripe_expect(p, "]");
    for (int i = 0; i < s->index.n; i++)
        known = known && checked_mul(points, s->index.at[i].extent, &points);
    if (!stripe_accept(p, ":")) return;
    Range range = p->tok.range;
    int64_t said = stripe_take_int(p, "the number of points");
    if (known && said != points)
        stripe_fail(p, range, DIAG_STRIPE_PRODUCT, (long long)points, (long long)said);
}

static void add_constraint(StripeParser *p, StripeScope *s, const Affine *a, Range range) {
    p->gathers = false;
    stripe_check_affine(p, a, range);
    vec_push(p->arena, &s->constraint, a);
}

// a >= b and the other comparisons, as an expression that is >= 0.
static void take_constraint(StripeParser *p, StripeScope *s) {
    Range range = p->tok.range;
    p->gathers = false;
    p->one_line = true; // otherwise the sign of the next constraint would continue this one
    const Affine *a = stripe_affine(p, s, false);
    if (p->failed) return;
    char sign = p->tok.kind == ST_MARK ? p->tok.text[0] : 0;
    bool equal = p->tok.len == 2;
    if ((sign != '>' && sign != '<' && sign != '=') || (sign == '=' && !equal)) {
        stripe_expected(p, "'>='");
        return;
    }
    stripe_next(p);
    const Affine *b = stripe_affine(p, s, false);
    p->one_line = false;
    if (p->failed) return;
    const Affine *d = sign == '<' ? affine_sub(p->x, b, a) : affine_sub(p->x, a, b);
    if (!equal) d = affine_add_const(p->x, d, -1);
    bool remainder = d->n == 1 && d->constant == 0 && d->term[0].coef == 1 &&
                     d->term[0].atom->kind == ATOM_MOD; // never negative
    if (sign == '=') add_constraint(p, s, affine_scale(p->x, d, -1), range);
    if (sign != '=' || !remainder) add_constraint(p, s, d, range);
}

// --- Refinements -------------------------------------------------------------------------------

Refine *stripe_find_view(const StripeScope *s, Name name) {
    for (int i = 0; s && i < s->view.n; i++)
        if (s->view.at[i]->v.into == name) return s->view.at[i];
    return NULL;
}

Type stripe_find_type(const char *name, int len) {
    for (int t = 1; t < TYPE_COUNT; t++)
        if ((int)strlen(type_info[t].stripe) == len &&
            !memcmp(type_info[t].stripe, name, (size_t)len))
            return (Type)t;
    return type_by_name(name, len);
}

Type stripe_take_type(StripeParser *p) {
    Range range = p->tok.range;
    Name name = stripe_take_name(p, "a type");
    Type type = stripe_find_type(name, (int)strlen(name));
    if (!type) stripe_fail(p, range, DIAG_STRIPE_TYPE, name);
    return type;
}

static int int_list(StripeParser *p, int64_t *out, int *bank) {
    int n = 0;
    stripe_expect(p, "(");
    while (!p->failed && !stripe_is_mark(p, ")")) {
        if (n == STRIPE_MAX_RANK) {
            stripe_fail(p, p->tok.range, DIAG_STRIPE_LIMIT, STRIPE_MAX_RANK, "dimensions");
            break;
        }
        bool banked = bank && stripe_accept(p, "{");
        if (banked) *bank = n;
        out[n++] = stripe_take_int(p, "a number");
        if (banked) stripe_expect(p, "}");
        if (!stripe_accept(p, ",")) break;
    }
    stripe_expect(p, ")");
    return n;
}

static int find_agg(const char *name) {
    for (int i = 0; i < 5; i++)
        if (strcmp(name, stripe_agg[i]) == 0) return i;
    return -1;
}

Reduce stripe_take_agg(StripeParser *p) {
    Range range = p->tok.range;
    Name name = stripe_take_name(p, "an aggregation");
    int agg = find_agg(name);
    if (agg < 0) stripe_fail(p, range, DIAG_STRIPE_AGG, name);
    return agg < 0 ? REDUCE_ASSIGN : (Reduce)agg;
}

// ":4 B", ":1.5 KiB": sizes in bytes, which are computed instead of read.
static void skip_bytes(StripeParser *p) {
    if (p->tok.kind != ST_INT && p->tok.kind != ST_FLOAT) return;
    stripe_next(p);
    if (p->tok.kind == ST_NAME) stripe_next(p);
}

// The parts of a refinement as written.
typedef struct Written {
    Tags tags;
    Range range;
    ViewDir dir;
    Name into, from; // `from` NULL: the same name, or none
    Range from_range;
    Place place;
    int noffsets, nsizes, nstrides, bank;
    const Affine *offset[STRIPE_MAX_RANK];
    int64_t size[STRIPE_MAX_RANK], stride[STRIPE_MAX_RANK];
    bool has_agg;
    Reduce agg;
    Type type;
} Written;

static bool is_dir(const StripeToken *t, ViewDir *dir) {
    static const char *const words[] = {"none", "in", "out", "inout"};
    for (int i = 0; i < 4; i++)
        if (stripe_token_is(t, words[i])) {
            *dir = (ViewDir)i;
            return true;
        }
    return false;
}

static bool refinement_next(const StripeParser *p) {
    ViewDir dir;
    return p->tok.kind == ST_TAG || (is_dir(&p->tok, &dir) && stripe_peek(p).kind == ST_NAME);
}

// fp32[layout][codec]:I(4, {8}):(8, 1):128 B, E(4, 8):128 B, cache[0]
static void take_shape(StripeParser *p, StripeScope *s, Written *w) {
    w->type = stripe_take_type(p);
    for (int i = 0; i < 2 && stripe_accept(p, "["); i++) {
        stripe_push_tag(p, &w->tags, i ? "codec" : "layout", stripe_take_name(p, "a layout"));
        stripe_expect(p, "]");
    }
    if (stripe_accept(p, ":")) {
        if (!stripe_is_word(p, "I")) stripe_expected(p, "'I'");
        stripe_next(p);
    }
    w->nsizes = int_list(p, w->size, &w->bank);
    if (!stripe_accept(p, ":")) return;
    w->nstrides = int_list(p, w->stride, NULL);
    if (stripe_accept(p, ":")) skip_bytes(p);
    while (!p->failed && stripe_is_mark(p, ",")) {
        stripe_next(p);
        int64_t ignored[STRIPE_MAX_RANK];
        const Affine *unit[STRIPE_MAX_RANK];
        if (stripe_is_word(p, "E")) {
            stripe_next(p);
            int_list(p, ignored, NULL);
            if (stripe_accept(p, ":")) skip_bytes(p);
        } else if (stripe_is_word(p, "cache")) {
            uint32_t from = stripe_peek(p).range.to;
            stripe_next(p);
            stripe_expect(p, "[");
            stripe_affine_list(p, s, false, "]", unit);
            if (p->failed) return;
            uint32_t to = from;
            while (p->lx.source->text[to] != ']') to++;
            stripe_push_tag(p, &w->tags, "cache",
                            arena_strndup(p->arena, p->lx.source->text + from, to - from));
        } else {
            stripe_expected(p, "'E' or 'cache'");
        }
    }
}

static Written take_written(StripeParser *p, StripeScope *s) {
    Written w = {.tags = stripe_take_tags(p), .range = p->tok.range, .bank = -1};
    if (!is_dir(&p->tok, &w.dir)) stripe_expected(p, "none, in, out or inout");
    stripe_next(p);
    if (stripe_is_word(p, "const") && stripe_peek(p).kind == ST_NAME) {
        stripe_push_tag(p, &w.tags, "const", NULL);
        stripe_next(p);
    }
    if (stripe_is_word(p, "new") && stripe_peek(p).kind == ST_MARK &&
        stripe_peek(p).text[0] == '@') {
        stripe_next(p);
        stripe_next(p);
        int64_t address = stripe_take_int(p, "an address");
        stripe_push_tag(p, &w.tags, "address",
                        arena_printf(p->arena, "0x%08llx", (unsigned long long)address));
    }
    w.into = stripe_take_name(p, "the name of a refinement");
    w.from_range = p->tok.range;
    if (stripe_accept(p, "=")) {
        w.from_range = p->tok.range;
        w.from = stripe_take_name(p, "the name of a refinement of the enclosing block");
    }
    if (stripe_accept(p, "<")) w.place = stripe_take_place(p, s);
    stripe_expect(p, "[");
    w.noffsets = stripe_affine_list(p, s, false, "]", w.offset);
    if (stripe_accept(p, ":")) {
        w.has_agg = true;
        w.agg = stripe_take_agg(p);
    }
    take_shape(p, s, &w);
    if (!p->failed) w.range = (Range){w.range.from, w.from_range.from};
    if (w.noffsets != w.nsizes)
        stripe_fail(p, w.range, DIAG_STRIPE_RANK, w.into, w.nsizes, w.noffsets, "offsets");
    if (w.nstrides && w.nstrides != w.nsizes)
        stripe_fail(p, w.range, DIAG_STRIPE_RANK, w.into, w.nsizes, w.nstrides, "strides");
    return w;
}

// A buffer of these sizes, checked; row-major unless strides are written.
static int new_buffer(StripeParser *p, const Written *w, Name name, const int64_t *size,
                      BufferHome home) {
    int64_t stride[STRIPE_MAX_RANK], step = 1, span = type_info[w->type].bytes;
    bool fits = true;
    for (int d = w->nsizes - 1; d >= 0; d--) {
        stride[d] = w->nstrides ? w->stride[d] : step;
        fits = fits && checked_mul(step, max_i64(size[d], 1), &step);
    }
    for (int d = 0; d < w->nsizes && fits; d++)
        fits = checked_fma(max_i64(size[d] - 1, 0), stride[d], &span);
    fits = fits && checked_mul(span, 16, &span) && checked_mul(step, 16, &step);
    if (!fits) stripe_fail(p, w->range, DIAG_STRIPE_BUFFER, name);
    Buffer b = {.name = name,
                .type = w->type,
                .home = home,
                .tensor = -1,
                .rank = w->nsizes,
                .size = size,
                .stride = stride,
                .place = w->place,
                .bank_dim = w->bank,
                .tags = w->tags};
    int64_t align = 0;
    if (home != HOME_ARGUMENT) {
        for (int h = 0; h < HOME_COUNT; h++)
            if (*home_name[h] && stripe_pull_tag(p, &b.tags, home_name[h], w->range, NULL))
                b.home = (BufferHome)h;
        if (stripe_pull_tag(p, &b.tags, "align", w->range, &align)) b.align = (int)align;
    }
    return tree_buffer(p->t, &b);
}

static const Affine **add_offsets(StripeParser *p, const Written *w, const Refine *parent) {
    const Affine **off = arena_new_n(p->arena, const Affine *, w->noffsets);
    p->gathers = false;
    for (int d = 0; d < w->noffsets; d++) {
        off[d] = parent ? affine_add(p->x, parent->v.offset[d], w->offset[d]) : w->offset[d];
        stripe_check_affine(p, off[d], w->range);
    }
    return off;
}

static void take_prefetches(StripeParser *p, Refine *r) {
    for (int i = 0; i < r->v.tags.n;) {
        Tag tag = r->v.tags.at[i];
        int64_t distance;
        if (strncmp(tag.name, "prefetch", 8) || tag.name[8] < '0' || tag.name[8] > '9' ||
            tag.name[9]) {
            i++;
            continue;
        }
        if (!stripe_pull_tag(p, &r->v.tags, tag.name, r->range, &distance)) return;
        vec_push(p->arena, &r->prefetch, tag);
    }
}

// All aggregations from the outermost refinement inwards must agree.
static void set_level(StripeParser *p, Refine *r, const Written *w) {
    Refine *outer = r->parent ? r->parent->level : NULL;
    bool own = w->has_agg && w->agg != REDUCE_ASSIGN;
    r->level = outer ? outer : own ? r : NULL;
    if (outer && own && outer->v.agg != w->agg)
        stripe_fail(p, w->range, DIAG_STRIPE_AGG_MIXED, w->into, stripe_agg[w->agg],
                    stripe_agg[outer->v.agg]);
    if (r->level != r || r->v.dir != VIEW_OUT || stripe_has_tag(&w->tags, "initialized")) return;
    r->starts = true;
    r->v.dir = VIEW_INOUT;
}

static void check_parent(StripeParser *p, const Written *w, const Refine *parent) {
    const Buffer *b = &p->t->buffers.at[parent->v.buffer];
    if (w->nsizes != b->rank) {
        stripe_fail(p, w->range, DIAG_STRIPE_RANK, w->into, b->rank, w->nsizes, "sizes");
        return;
    }
    if (w->type != parent->type)
        stripe_fail(p, w->range, DIAG_STRIPE_TYPE_DIFFERS, w->into, type_info[w->type].stripe,
                    type_info[parent->type].stripe);
    for (int d = 0; d < w->nstrides; d++)
        if (w->size[d] > 1 && b->size[d] > 1 && w->stride[d] != b->stride[d])
            stripe_fail(p, w->range, DIAG_STRIPE_STRIDES, w->into, d, (long long)w->stride[d],
                        (long long)b->stride[d]);
    if (w->dir != VIEW_IN && parent->v.dir == VIEW_IN)
        stripe_fail(p, w->range, DIAG_STRIPE_DIRECTION, w->into, parent->v.into);
    if (w->bank >= 0 && b->bank_dim >= 0 && w->bank != b->bank_dim)
        stripe_fail(p, w->range, DIAG_STRIPE_BANK, w->into, w->bank, b->bank_dim);
    if (w->bank >= 0) p->t->buffers.at[parent->v.buffer].bank_dim = w->bank;
}

static Refine *new_refine(StripeParser *p, const Written *w, Refine *parent) {
    Refine *r = arena_new(p->arena, Refine);
    *r = (Refine){.parent = parent, .range = w->range, .type = w->type, .rank = w->nsizes};
    r->v = (BlockView){.dir = w->dir,
                       .into = w->into,
                       .agg = w->agg,
                       .has_agg = w->has_agg,
                       .place = w->place,
                       .tags = w->tags};
    r->v.size = arena_copy(p->arena, w->size, sizeof(int64_t) * (size_t)w->nsizes);
    if (parent) r->v.buffer = parent->v.buffer;
    return r;
}

static void take_allocation(StripeParser *p, StripeScope *s, const Written *w) {
    if (w->from) stripe_fail(p, w->from_range, DIAG_STRIPE_NONE_FROM);
    for (int d = 0; d < w->noffsets; d++)
        if (!affine_is(w->offset[d], 0)) stripe_fail(p, w->range, DIAG_STRIPE_NONE_OFFSET, w->into);
    if (p->failed) return;
    Written own = *w;
    Refine *r = new_refine(p, w, NULL);
    take_prefetches(p, r);
    own.tags = r->v.tags;
    r->v.buffer = new_buffer(p, &own, w->into, w->size, HOME_AUTO);
    r->v.offset = add_offsets(p, w, NULL);
    vec_push(p->arena, &s->alloc, r->v.buffer);
    vec_push(p->arena, &s->view, r);
}

static void take_refinement(StripeParser *p, StripeScope *s, const Written *w) {
    if (stripe_find_view(s, w->into)) stripe_fail(p, w->range, DIAG_STRIPE_VIEW_TWICE, w->into);
    if (p->failed) return;
    if (w->dir == VIEW_NONE) {
        take_allocation(p, s, w);
        return;
    }
    Refine *parent = stripe_find_view(s->up, w->from ? w->from : w->into);
    if (!parent) {
        stripe_fail(p, w->range, DIAG_STRIPE_FROM_UNKNOWN, w->from ? w->from : w->into);
        return;
    }
    check_parent(p, w, parent);
    if (p->failed) return;
    Refine *r = new_refine(p, w, parent);
    r->v.offset = add_offsets(p, w, parent);
    take_prefetches(p, r);
    set_level(p, r, w);
    vec_push(p->arena, &s->view, r);
}

// --- Arguments ---------------------------------------------------------------------------------

// The tensor of a refinement of the outermost block is as large as the block's ranges reach.
static void new_argument(StripeParser *p, StripeScope *outside, const Written *w, ViewDir dir) {
    Name name = w->from ? w->from : w->into;
    int64_t size[STRIPE_MAX_RANK];
    if (stripe_find_view(outside, name)) stripe_fail(p, w->range, DIAG_STRIPE_VIEW_TWICE, name);
    if (w->nsizes > PROGRAM_MAX_RANK)
        stripe_fail(p, w->range, DIAG_STRIPE_LIMIT, PROGRAM_MAX_RANK, "dimensions of an argument");
    for (int d = 0; d < w->nsizes && !p->failed; d++) {
        int64_t lo = 0, hi = 0;
        affine_bounds(w->offset[d], p->lo, p->hi, &lo, &hi);
        if (lo < 0) stripe_fail(p, w->range, DIAG_STRIPE_BEFORE, w->into, d, (long long)lo);
        if (!checked_add(hi, w->size[d], &size[d])) stripe_fail(p, w->range, DIAG_STRIPE_OVERFLOW);
    }
    if (p->failed) return;
    Written whole = *w;
    whole.dir = dir;
    whole.into = name;
    whole.has_agg = false;
    whole.agg = REDUCE_ASSIGN;
    Refine *r = new_refine(p, &whole, NULL);
    r->v.buffer = new_buffer(p, &whole, name, size, HOME_ARGUMENT);
    p->t->buffers.at[r->v.buffer].tensor = r->v.buffer;
    for (int d = 0; d < w->nsizes; d++) whole.offset[d] = affine_const(p->x, 0);
    r->v.offset = add_offsets(p, &whole, NULL);
    r->v.size = p->t->buffers.at[r->v.buffer].size;
    vec_push(p->arena, &outside->view, r);
}

// PlaidML's outermost block allocates the user's tensors; the direction is known further in.
static ViewDir user_direction(const StripeParser *p, Name name) {
    DiagList quiet = {.arena = p->arena};
    StripeLexer lx = p->lx;
    ViewDir dir = VIEW_NONE;
    lx.diags = &quiet;
    for (StripeToken t = stripe_lex(&lx); t.kind != ST_END && t.kind != ST_BAD;) {
        StripeToken word = t;
        ViewDir found;
        t = stripe_lex(&lx);
        if (stripe_token_is(&t, "const")) t = stripe_lex(&lx);
        bool same =
            t.kind == ST_NAME && (int)strlen(name) == t.len && !memcmp(name, t.text, (size_t)t.len);
        if (same && is_dir(&word, &found) && found != VIEW_NONE)
            dir = dir == VIEW_NONE || dir == found ? found : VIEW_INOUT;
    }
    return dir == VIEW_NONE ? VIEW_IN : dir;
}

// Inputs first, then outputs, each in the order of the text.
static void take_arguments(StripeParser *p, StripeScope *outside, const Written *w, int n) {
    for (int outputs = 0; outputs < 2; outputs++)
        for (int i = 0; i < n && !p->failed; i++)
            if (w[i].dir != VIEW_NONE && (w[i].dir != VIEW_IN) == outputs)
                new_argument(p, outside, &w[i], w[i].dir);
    p->t->nargs = outside->view.n;
}

// --- Blocks ------------------------------------------------------------------------------------

static Kind pull_kind(StripeParser *p, Tags *tags, Range range, bool loops) {
    for (int k = 0; k < KIND_COUNT; k++)
        if (loops && stripe_pull_tag(p, tags, kind_name[k], range, NULL)) return (Kind)k;
    return loops ? KIND_ANY : KIND_SERIAL;
}

// Constraints and refinements. Those of the outermost block are collected first: they make the
// arguments.
static void take_header(StripeParser *p, StripeScope *s, bool outermost) {
    VEC(Written) written = {0};
    while (!p->failed && !stripe_is_mark(p, ")")) {
        if (refinement_next(p)) {
            Written w = take_written(p, s);
            if (p->failed) return;
            vec_push(p->arena, &written, w);
        } else {
            take_constraint(p, s);
        }
    }
    stripe_expect(p, ")");
    for (int i = 0; i < written.n && outermost; i++)
        if (written.at[i].dir == VIEW_NONE && stripe_has_tag(&written.at[i].tags, "user"))
            written.at[i].dir = user_direction(p, written.at[i].into);
    if (outermost) take_arguments(p, s->up, written.at, written.n);
    for (int i = 0; i < written.n && !p->failed; i++) take_refinement(p, s, &written.at[i]);
}

// The place of a block precedes the indices that it may use, so it is parsed after them.
static void skip_place(StripeParser *p) {
    int depth = 0;
    while (!p->failed && p->tok.kind != ST_END && (depth || !stripe_is_mark(p, ">"))) {
        depth += stripe_is_mark(p, "[") ? 1 : stripe_is_mark(p, "]") ? -1 : 0;
        stripe_next(p);
    }
    stripe_expect(p, ">");
}

static void take_prefetch_of(StripeParser *p, const StripeScope *s, const Block *b) {
    for (int i = 0; i < s->view.n; i++) {
        const Refine *r = s->view.at[i];
        for (int k = 0; k < r->prefetch.n; k++) {
            Prefetch f = {.at = b,
                          .buffer = r->v.buffer,
                          .level = r->prefetch.at[k].name[8] - '0',
                          .distance = strtoll(r->prefetch.at[k].value, NULL, 10)};
            vec_push(p->arena, &p->t->prefetches, f);
        }
    }
}

static const Block *finish_block(StripeParser *p, StripeScope *s, Block *like) {
    VEC(BlockView) views = {0};
    for (int i = 0; i < s->view.n; i++)
        if (s->view.at[i]->parent) vec_push(p->arena, &views, s->view.at[i]->v);
    like->nindex = s->index.n, like->index = s->index.at;
    like->nconstraints = s->constraint.n, like->constraint = s->constraint.at;
    like->nallocs = s->alloc.n, like->alloc = s->alloc.at;
    like->nviews = views.n, like->view = views.at;
    const Block *b = tree_block(p->t, like, s->child.at, s->child.n);
    take_prefetch_of(p, s, b);
    return b;
}

const Block *stripe_take_block(StripeParser *p, StripeScope *up, Tags tags, StripeScope **out) {
    StripeScope *s = arena_new(p->arena, StripeScope);
    *s = (StripeScope){.up = up, .depth = up->depth + 1, .loops = up->loops};
    *out = s;
    Range range = p->tok.range;
    if (s->depth > STRIPE_MAX_BLOCKS) {
        stripe_fail(p, range, DIAG_STRIPE_NESTING, STRIPE_MAX_BLOCKS);
        return NULL;
    }
    stripe_next(p);
    StripeParser at_place = *p;
    bool placed = stripe_accept(p, "<");
    if (placed) skip_place(p);
    take_indices(p, s);
    if (p->failed) return NULL;
    Block like = {.node = {.range = {range.from, p->end}, .tags = tags, .ndeps = -1}};
    if (placed) {
        StripeLexer lx = p->lx;
        StripeToken tok = p->tok;
        p->lx = at_place.lx, p->tok = at_place.tok;
        stripe_next(p);
        like.place = stripe_take_place(p, s);
        p->lx = lx, p->tok = tok;
    }
    int len = 0;
    const char *name = stripe_is_mark(p, "(") ? stripe_lex_comment(&p->lx, &len) : NULL;
    if (name && len) like.name = name_intern(p->names, name, (size_t)len);
    stripe_expect(p, "(");
    take_header(p, s, up->up == NULL);
    stripe_expect(p, "{");
    while (!p->failed && !stripe_is_mark(p, "}")) stripe_take_statement(p, s);
    stripe_expect(p, "}");
    if (p->failed || !stripe_fold(p, s)) return NULL;
    int64_t n = 0;
    bool loops = s->loops > up->loops;
    like.kind = pull_kind(p, &like.node.tags, range, loops);
    if (stripe_pull_tag(p, &like.node.tags, "unroll_limit", range, &n)) like.unroll_limit = (int)n;
    if (stripe_pull_tag(p, &like.node.tags, "grain", range, &n)) like.grain = n;
    return p->failed ? NULL : finish_block(p, s, &like);
}

// --- The program -------------------------------------------------------------------------------

static const char *program_name(StripeParser *p, const Block *b) {
    if (b->name && stripe_plain(b->name)) return b->name;
    const char *file = p->lx.source->name, *slash = strrchr(file, '/');
    if (slash) file = slash + 1;
    const char *dot = strchr(file, '.');
    char *stem = arena_strndup(p->arena, file, dot ? (size_t)(dot - file) : strlen(file));
    return stripe_plain(stem) ? stem : "main";
}

static void make_program(StripeParser *p, const StripeScope *outside, const char *name) {
    Program *program = program_new(p->arena, p->names, name, strlen(name));
    for (int i = 0; i < p->t->nargs; i++) {
        const Refine *r = outside->view.at[i];
        const Buffer *b = &p->t->buffers.at[i];
        const Affine *size[STRIPE_MAX_RANK];
        for (int d = 0; d < b->rank; d++) size[d] = affine_const(program->exprs, b->size[d]);
        Role role = r->v.dir == VIEW_IN    ? ROLE_INPUT
                    : r->v.dir == VIEW_OUT ? ROLE_OUTPUT
                                           : ROLE_INOUT;
        program_tensor(program, b->name, b->type, role, b->rank, size);
        program->tensors.at[i].range = r->range;
        program->ninputs += role == ROLE_INPUT;
        program->noutputs += role != ROLE_INPUT;
    }
    program->source = p->lx.source;
    program->bound = true;
    p->t->program = program;
}

// Does it refine its whole argument, under the same name?
static bool is_whole(const Refine *r) {
    for (int d = 0; d < r->rank; d++)
        if (!affine_is(r->v.offset[d], 0) || r->v.size[d] != r->parent->v.size[d]) return false;
    return r->v.into == r->parent->v.into;
}

// The outermost block is the root unless it is a loop or has something to initialise.
static const Block *make_root(StripeParser *p, const Block *b, const StripeScope *s) {
    NodeList children = {0};
    bool plain = b->nindex == 0 && b->nconstraints == 0 && b->place.n == 0;
    for (int i = 0; i < s->view.n; i++) {
        Refine *r = s->view.at[i];
        plain &= !r->parent || is_whole(r);
        if (!r->starts || !r->updated) continue;
        stripe_init(p, b, r, &children);
        plain = false;
    }
    if (plain) {
        Block root = *b;
        root.nviews = 0, root.view = NULL;
        const Block *made = tree_block(p->t, &root, b->child, b->nchildren);
        for (int i = 0; i < p->t->prefetches.n; i++)
            if (p->t->prefetches.at[i].at == b) p->t->prefetches.at[i].at = made;
        return made;
    }
    vec_push(p->arena, &children, &b->node);
    Block root = {.node.ndeps = -1, .name = b->name};
    return tree_block(p->t, &root, children.at, children.n);
}

Tree *stripe_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    StripeParser *p = arena_new(arena, StripeParser);
    Exprs *x = arena_new(arena, Exprs);
    exprs_init(x, arena);
    x->first_element = TREE_MAX_INDICES; // scalars, until their values replace them
    *p = (StripeParser){.lx = {source, diags, arena, 0}, .arena = arena, .names = names, .x = x};
    p->diags = diags;
    p->t = tree_new(arena, x, names);
    p->lo = arena_new_n(arena, int64_t, TREE_MAX_INDICES);
    p->hi = arena_new_n(arena, int64_t, TREE_MAX_INDICES);
    const Source *before = diags->source;
    diags->source = source;
    StripeScope outside = {0}, *s = NULL;
    const Block *b = NULL;
    stripe_next(p);
    if (!p->failed && p->tok.kind == ST_INT) {
        stripe_take_int(p, "a statement");
        stripe_expect(p, ":");
    }
    Tags tags = stripe_take_tags(p);
    if (!p->failed && stripe_is_word(p, "block"))
        b = stripe_take_block(p, &outside, tags, &s);
    else
        stripe_expected(p, "a block");
    if (!p->failed && p->tok.kind != ST_END) stripe_expected(p, "the end of the text");
    if (!p->failed && b) {
        p->t->root = make_root(p, b, s);
        make_program(p, &outside, program_name(p, b));
    }
    diags->source = before;
    return p->failed || !b ? NULL : p->t;
}
