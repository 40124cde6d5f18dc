#include "code/micro/micro.h"

#include <string.h>

#include "base/checked.h"

// ---- Building

void seg_init(Seg *s, Arena *arena, int nbuffers) {
    *s = (Seg){.arena = arena, .nbuffers = nbuffers, .table_cap = 64, .loc_cap = 64};
    s->table = arena_new_n(arena, int, s->table_cap);
    s->loc_table = arena_new_n(arena, int, s->loc_cap);
    s->buffer = arena_new_n(arena, struct SegBuffer, nbuffers);
    seg_reset(s);
}

void seg_reset(Seg *s) {
    s->micros.n = s->vals.n = s->locs.n = s->spills = s->strided = s->deinterleaved = s->fetched.n =
        s->guarded.n = 0;
    s->rows = s->begun = 0;
    s->crowded = false;
    s->torn = -1;
    memset(s->table, 0, (size_t)s->table_cap * sizeof(int));
    memset(s->loc_table, 0, (size_t)s->loc_cap * sizeof(int));
    for (int i = 0; i < s->nbuffers; i++)
        s->buffer[i] = (struct SegBuffer){.head = -1, .lo = INT64_MAX, .hi = INT64_MIN};
}

static int new_val(Seg *s, int def, Type type, int width) {
    vec_push(s->arena, &s->vals,
             ((Val){.def = def, .pin = -1, .type = type, .width = (uint8_t)width}));
    return s->vals.n - 1;
}

static void use(Seg *s, int val) { s->vals.at[val].uses++; }

static uint64_t micro_hash(const Micro *m) {
    uint64_t h = (uint64_t)m->kind << 24 | (uint64_t)m->op << 16 | (uint64_t)m->type << 8 | m->from;
    h = hash_mix(h, (uint64_t)m->value.i ^ m->width);
    for (int i = 0; i < m->nargs; i++) h = h * 31 + (uint64_t)m->arg[i];
    if (m->index)
        h ^= (uint64_t)(uintptr_t)m->index->affine ^ (uint64_t)(uintptr_t)m->index->counters ^
             (uint64_t)m->index->lane_step;
    return hash_mix(h, 0);
}

static bool index_same(const IndexOf *a, const IndexOf *b) {
    if (!a || !b) return a == b;
    return a->affine == b->affine && a->env == b->env && a->counters == b->counters &&
           a->lane_step == b->lane_step && a->active == b->active;
}

static bool micro_same(const Micro *a, const Micro *b) {
    if (a->kind != b->kind || a->op != b->op || a->type != b->type || a->from != b->from ||
        a->width != b->width || a->nargs != b->nargs || a->value.i != b->value.i)
        return false;
    for (int i = 0; i < a->nargs; i++)
        if (a->arg[i] != b->arg[i]) return false;
    return index_same(a->index, b->index);
}

// Gathers and stores are appended without looking here, so one doubling may not be enough.
static void table_grow(Seg *s) {
    while (2 * (s->micros.n + 1) > s->table_cap) s->table_cap *= 2;
    s->table = arena_new_n(s->arena, int, s->table_cap);
    uint64_t mask = (uint64_t)s->table_cap - 1;
    for (int i = 0; i < s->micros.n; i++) {
        if (s->micros.at[i].dst < 0 || s->micros.at[i].kind == MI_LOAD) continue;
        uint64_t at = micro_hash(&s->micros.at[i]) & mask;
        while (s->table[at]) at = (at + 1) & mask;
        s->table[at] = i + 1;
    }
}

// Appends m, or finds an equal operation; returns its value.
int seg_value(Seg *s, Micro *m) {
    if (2 * (s->micros.n + 1) > s->table_cap) table_grow(s);
    uint64_t mask = (uint64_t)s->table_cap - 1, at = micro_hash(m) & mask;
    for (; s->table[at]; at = (at + 1) & mask)
        if (micro_same(&s->micros.at[s->table[at] - 1], m))
            return s->micros.at[s->table[at] - 1].dst;
    m->dst = new_val(s, s->micros.n, m->type, m->width);
    for (int i = 0; i < m->nargs; i++) use(s, m->arg[i]);
    s->table[at] = s->micros.n + 1;
    m->line = s->line;
    vec_push(s->arena, &s->micros, *m);
    return m->dst;
}

// ---- Memory

// One element has the same location for a scalar and for a broadcast to all lanes.
static int place_lanes(const Ref *r) { return r->lane ? r->width << 8 | r->active : 0; }

static uint64_t place_hash(const Ref *r) {
    uint64_t h = hash_mix((uint64_t)r->stream, (uint64_t)r->disp);
    return hash_mix(h, (uint64_t)place_lanes(r));
}

static bool same_place(const Ref *a, const Ref *b) {
    return a->disp == b->disp && a->stream == b->stream && a->lane == b->lane &&
           type_info[a->type].bytes == type_info[b->type].bytes &&
           place_lanes(a) == place_lanes(b) && !ref_is_hard(a) && !ref_is_hard(b) && b->guard < 0;
}

static int64_t place_span(const Ref *r) {
    int64_t size = type_info[r->type].bytes;
    int64_t lane = r->lane < 0 ? -r->lane : r->lane;
    return lane * (r->active - 1) + size;
}

static int64_t place_start(const Ref *r) {
    return r->disp + (r->lane < 0 ? r->lane * (r->active - 1) : 0);
}

// With different pointers, the distance of two locations is a constant plus multiples of some g:
// those of U[t, i] and U[1 - t, i] are an odd number of rows apart.
static bool never_meet(const Ref *l, const Ref *r) {
    const Lin *a = l->mem->off, *b = r->mem->off;
    int64_t g = 0;
    for (int i = 0; i < a->n; i++) g = gcd_i64(g, a->t[i].k - lin_coef(b, a->t[i].loop));
    for (int i = 0; i < b->n; i++) g = gcd_i64(g, b->t[i].k - lin_coef(a, b->t[i].loop));
    if (!g) return false;
    int64_t apart = floor_mod(place_start(r) - place_start(l), g);
    return apart >= place_span(l) && g - apart >= place_span(r);
}

bool ref_overlap(const Ref *l, const Ref *r) {
    if (ref_is_hard(l) || ref_is_hard(r)) return true;
    if (l->stream != r->stream) return !never_meet(l, r);
    if (l->lane == r->lane && l->lane) { // interleaved lanes do not overlap
        int64_t lane = l->lane < 0 ? -l->lane : l->lane;
        int64_t apart = floor_mod(r->disp - l->disp, lane);
        if (apart >= type_info[l->type].bytes && lane - apart >= type_info[r->type].bytes)
            return false;
    }
    int64_t a = place_start(l), b = place_start(r);
    return a < b + place_span(r) && b < a + place_span(l);
}

static void loc_insert(Seg *s, int index) {
    uint64_t mask = (uint64_t)s->loc_cap - 1, at = place_hash(s->locs.at[index].ref) & mask;
    while (s->loc_table[at]) at = (at + 1) & mask;
    s->loc_table[at] = index + 1;
}

static void loc_table_grow(Seg *s) {
    s->loc_cap *= 2;
    s->loc_table = arena_new_n(s->arena, int, s->loc_cap);
    for (int i = 0; i < s->locs.n; i++) loc_insert(s, i);
}

Loc *seg_find(Seg *s, const Ref *ref) {
    uint64_t mask = (uint64_t)s->loc_cap - 1, at = place_hash(ref) & mask;
    for (; s->loc_table[at]; at = (at + 1) & mask) {
        Loc *l = &s->locs.at[s->loc_table[at] - 1];
        if (!l->dead && same_place(l->ref, ref)) return l;
    }
    return NULL;
}

// Copies of a loop usually access a buffer in ascending order: most new locations are beyond all
// known ones, and need not be compared with each.
static bool beyond(const struct SegBuffer *b, const Ref *r) {
    if (b->scattered || ref_is_hard(r) || (b->head >= 0 && r->stream != b->stream)) return false;
    return place_start(r) >= b->hi || place_start(r) + place_span(r) <= b->lo;
}

static void cover(struct SegBuffer *b, const Ref *r) {
    if (ref_is_hard(r) || (b->head >= 0 && r->stream != b->stream)) b->scattered = true;
    b->stream = r->stream;
    if (place_start(r) < b->lo) b->lo = place_start(r);
    if (place_start(r) + place_span(r) > b->hi) b->hi = place_start(r) + place_span(r);
}

// Does a known location of a buffer partially overlap `ref`? Tested when a loc is made, and for all
// locs when the buffer is first written; buffers that are only read need no test.
static void note_overlap(Seg *s, const Ref *ref, int before) {
    struct SegBuffer *b = &s->buffer[ref->buffer];
    for (int i = before; i >= 0 && !b->overlap; i = s->locs.at[i].next)
        if (!s->locs.at[i].dead && ref_overlap(s->locs.at[i].ref, ref)) b->overlap = true;
}

static void note_written(Seg *s, int buffer) {
    struct SegBuffer *b = &s->buffer[buffer];
    if (b->written) return;
    b->written = true;
    for (int i = b->head; i >= 0; i = s->locs.at[i].next)
        note_overlap(s, s->locs.at[i].ref, s->locs.at[i].next);
}

// `ref` must stay valid as long as the segment.
static Loc *loc_new(Seg *s, const Ref *ref) {
    if (2 * (s->locs.n + 1) > s->loc_cap) loc_table_grow(s);
    struct SegBuffer *b = &s->buffer[ref->buffer];
    int index = s->locs.n;
    if (b->written && !beyond(b, ref)) note_overlap(s, ref, b->head);
    cover(b, ref);
    vec_push(s->arena, &s->locs, ((Loc){.ref = ref, .pin = -1, .val = -1, .next = b->head}));
    b->head = index;
    loc_insert(s, index);
    return &s->locs.at[index];
}

static const Ref *keep(Seg *s, const Ref *ref) { return arena_copy(s->arena, ref, sizeof *ref); }

static bool is_apart(const Ref *r) { return r->lane && r->lane != type_info[r->type].bytes; }

static void emit_store(Seg *s, const Ref *ref, int val, int after) {
    s->strided += is_apart(ref);
    Micro m = {.kind = MI_STORE,
               .type = s->vals.at[val].type,
               .width = ref->width,
               .dst = -1,
               .nargs = 1,
               .arg = {val},
               .ref = ref,
               .line = s->line};
    use(s, val);
    if (ref->guard >= 0) {
        m.nargs = 2;
        m.arg[1] = ref->guard;
        use(s, ref->guard);
    }
    int def = s->vals.at[val].def;
    m.after = after > def ? after : def;
    vec_push(s->arena, &s->micros, m);
}

Value reduce_identity(Type t, int op) {
    if (op == REDUCE_ADD && type_is_float(t)) return (Value){.f = -0.0}; // keeps the sign of zero
    return reduce_start(t, (Reduce)op);
}

// Combines the parts of a split reduction, pairwise.
static void join_parts(Seg *s, Loc *l) {
    Parts *p = l->parts;
    if (!p || !p->live) return;
    Type t = l->ref->type;
    p->live = false;
    p->val[0] = l->val;
    int width = s->vals.at[l->val].width;
    for (int n = p->n, h; n > 1; n = h) {
        h = (n + 1) / 2;
        for (int k = 0; k + h < n; k++) {
            if (p->val[k + h] < 0) continue;
            int both[2] = {p->val[k], p->val[k + h]};
            p->val[k] =
                both[0] < 0 ? both[1] : seg_op(s, MI_OP, reduce_op[p->op], t, t, width, 2, both);
        }
    }
    l->val = p->val[0];
}

// The initial value of the reduction of a loc, in as many lanes as `ref` has.
static int begin_value(Seg *s, const Loc *l, const Ref *ref) {
    Micro m = {.kind = MI_BEGIN,
               .op = l->begin,
               .type = type_compute(ref->type),
               .from = ref->type,
               .width = ref->width,
               .value = l->init,
               .ref = ref,
               .line = s->line};
    m.dst = new_val(s, s->micros.n, m.type, m.width);
    vec_push(s->arena, &s->micros, m);
    return m.dst;
}

// Combines the initial value with `val`.
static int begin_with(Seg *s, const Loc *l, const Ref *ref, int val) {
    Type t = ref->type;
    if (!l->begin) return val;
    int both[2] = {begin_value(s, l, ref), val};
    return seg_op(s, MI_OP, reduce_op[l->pending], t, t, ref->width, 2, both);
}

// Reduces the lanes into the first one, by halves, and broadcasts the result.
static int fold_lanes(Seg *s, const Loc *l) {
    int op = l->pending, val = l->val, width = s->vals.at[val].width;
    Type t = l->ref->type;
    for (int w = width / 2; w >= 1; w /= 2) {
        int both[2] = {val, seg_op(s, MI_UPPER, 0, t, t, w, 1, &val)};
        val = seg_op(s, MI_OP, reduce_op[op], t, t, w, 2, both);
    }
    if (l->begin) {
        Ref *one = arena_copy(s->arena, l->ref, sizeof *one);
        one->width = one->active = 1;
        val = begin_with(s, l, one, val);
    }
    return seg_op(s, MI_BROADCAST, 0, t, t, width, 1, &val);
}

static int resolve(Seg *s, Loc *l) {
    join_parts(s, l);
    if (l->pending)
        l->val = fold_lanes(s, l);
    else if (l->begin)
        l->val = begin_value(s, l, l->ref);
    l->pending = 0;
    l->begin = 0;
    return l->val;
}

static void flush(Seg *s, Loc *l) {
    if (!l->dirty || l->pin >= 0) return;
    int line = s->line;
    s->line = l->line;
    int val = resolve(s, l);
    const Micro *def = s->vals.at[val].def >= 0 ? &s->micros.at[s->vals.at[val].def] : NULL;
    if (l->ref->lane == 0 && def && def->kind == MI_BROADCAST)
        val = def->arg[0]; // one lane is enough
    emit_store(s, l->ref, val, l->written);
    s->line = line;
    l->dirty = false;
}

// Before an access to memory at `ref`: stores locations that may overlap it, and forgets them if
// `ref` is written. `exact` is the loc of `ref` itself; if it exists and nothing overlaps, there is
// nothing to do.
static void settle(Seg *s, const Ref *ref, bool write, const Loc *exact) {
    struct SegBuffer *b = &s->buffer[ref->buffer];
    if (!b->written || (exact && !b->overlap) || beyond(b, ref)) return;
    for (int i = b->head; i >= 0; i = s->locs.at[i].next) {
        Loc *l = &s->locs.at[i];
        if (l == exact || l->dead || !ref_overlap(l->ref, ref)) continue;
        b->overlap = true; // also with forgotten locations, whose stores keep their order
        if (l->pin >= 0) s->torn = ref->buffer;
        flush(s, l);
        l = &s->locs.at[i];
        if (write) l->dead = true;
    }
}

// ---- Rows
//
// Horizontal reductions with adjacent results are done together. Two shuffles combine halves of
// each pair of vectors, so that one operation reduces both; after log2(lanes) rounds every lane has
// the result of a row, in order, and one store writes all of them.
//
//     a0 a1 a2 a3   b0 b1 b2 b3   ->   a02 b02 a13 b13   ->   a b c d

// Are lanes still to be reduced, and the result stored?
static bool is_row(const Loc *l) { return l->pending && l->dirty && !l->dead && l->pin < 0; }

// Does b hold the reduction of the row after a's, in lanes like a's?
static bool next_row(const Seg *s, const Loc *a, const Loc *b, int64_t k) {
    return is_row(b) && b->pending == a->pending && !b->ref->lane &&
           b->ref->buffer == a->ref->buffer && b->ref->stream == a->ref->stream &&
           b->ref->disp == a->ref->disp + k * type_info[a->ref->type].bytes &&
           b->begin == a->begin && b->init.i == a->init.i && !ref_is_hard(b->ref) &&
           s->vals.at[b->val].width == s->vals.at[a->val].width;
}

// One round combines pairs of values; a last one without a partner is paired with itself.
static int fold_round(Seg *s, const Loc *l, Shuffle low, Shuffle high, int *val, int n) {
    Type t = l->ref->type;
    int width = s->vals.at[val[0]].width;
    for (int i = 0; i < n; i += 2) {
        int two[2] = {val[i], val[i + 1 < n ? i + 1 : i]};
        int both[2] = {seg_op(s, MI_SHUFFLE, (int)low, t, t, width, 2, two),
                       seg_op(s, MI_SHUFFLE, (int)high, t, t, width, 2, two)};
        val[i / 2] = seg_op(s, MI_OP, reduce_op[l->pending], t, t, width, 2, both);
    }
    return (n + 1) / 2;
}

static int fold_vectors(Seg *s, const Loc *l, int *val, int n) {
    int size = lane_bytes(l->ref->type);
    int bytes = size * s->vals.at[val[0]].width;
    if (size == 4) n = fold_round(s, l, SHUFFLE_LOW32, SHUFFLE_HIGH32, val, n);
    n = fold_round(s, l, SHUFFLE_LOW64, SHUFFLE_HIGH64, val, n);
    for (; bytes > 16; bytes /= 2) n = fold_round(s, l, SHUFFLE_EVEN128, SHUFFLE_ODD128, val, n);
    return val[0];
}

// Stores the first lanes of a value in pieces of 2^k lanes: after one masked store of all, loads of
// the next rows would wait until it reaches the cache.
static void store_rows(Seg *s, const Ref *all, int val, int written) {
    int rows = all->active, size = type_info[all->type].bytes;
    if (size != lane_bytes(all->type) || rows == all->width) {
        emit_store(s, all, val, written);
        return;
    }
    Ref piece = *all;
    for (; rows; rows -= piece.active) {
        int lanes = 1;
        while (2 * lanes <= rows) lanes *= 2;
        piece.active = (uint8_t)lanes;
        emit_store(s, keep(s, &piece), val, written);
        if (rows > lanes) val = seg_op(s, MI_UPPER, 0, piece.type, piece.type, lanes, 1, &val);
        piece.disp += lanes * size;
        piece.width = (uint8_t)lanes;
    }
}

// Reduces as many rows as there are lanes, from loc number `first` on; a single row stays as it is.
static void fold_rows(Seg *s, int first) {
    const Loc *l = &s->locs.at[first];
    int width = s->vals.at[l->val].width, at[LIMIT_LANES] = {first}, val[LIMIT_LANES], n = 1;
    int size = lane_bytes(l->ref->type), written = l->written;
    if (width > LIMIT_LANES || width * size < 16 || ref_is_hard(l->ref) || l->ref->lane) return;
    for (int i = first + 1; i < s->locs.n && i < at[n - 1] + 8 && n < width; i++)
        if (next_row(s, l, &s->locs.at[i], n)) at[n++] = i;
    if (n == 1) return;
    int line = s->line;
    s->line = l->line;
    for (int i = 0; i < n; i++) {
        join_parts(s, &s->locs.at[at[i]]);
        val[i] = s->locs.at[at[i]].val;
        if (s->locs.at[at[i]].written > written) written = s->locs.at[at[i]].written;
    }
    l = &s->locs.at[first];
    Ref *all = arena_copy(s->arena, l->ref, sizeof *all);
    all->lane = type_info[all->type].bytes;
    all->width = (uint8_t)width;
    all->active = (uint8_t)n;
    store_rows(s, all, begin_with(s, l, all, fold_vectors(s, l, val, n)), written);
    for (int i = 0; i < n; i++) {
        s->locs.at[at[i]].dirty = false;
        s->locs.at[at[i]].dead = true; // later uses read memory
    }
    s->rows += n;
    s->line = line;
}

// ---- Loads and stores

// Broadcasts a single lane if more lanes are wanted.
static int as_wide(Seg *s, int val, int width) {
    const Val *v = &s->vals.at[val];
    if (width == 1 || v->width >= width) return val;
    const Micro *def = v->def < 0 ? NULL : &s->micros.at[v->def];
    if (def && def->kind == MI_CONST) return seg_const(s, v->type, width, def->value);
    return seg_op(s, MI_BROADCAST, 0, v->type, v->type, width, 1, &val);
}

// The same load under the same guard, with as many lanes, of a buffer that the segment does not
// write; -1: none. Copies of a loop often repeat such loads.
static int find_guarded(const Seg *s, const Ref *ref, const Ref *plain) {
    enum { RECENT = 32 };
    if (ref->guard < 0 || s->buffer[ref->buffer].written) return -1;
    for (int i = s->guarded.n - 1; i >= 0 && i >= s->guarded.n - RECENT; i--) {
        const GuardedLoad *g = &s->guarded.at[i];
        bool lanes = g->ref->width == ref->width && g->ref->active >= ref->active;
        if (g->ref->guard == ref->guard && lanes && same_place(g->ref, plain)) return g->val;
    }
    return -1;
}

int seg_load(Seg *s, const Ref *ref) {
    Ref plain = *ref;
    plain.guard = -1; // a value that is known needs no memory, and so no guard
    Loc *l = seg_find(s, &plain);
    if (l && is_row(l) && lane_bytes(l->ref->type) == type_info[l->ref->type].bytes) {
        fold_rows(s, (int)(l - s->locs.at)); // the next rows will be read, too
        l = seg_find(s, &plain);
    }
    if (l) return as_wide(s, resolve(s, l), ref->width);
    int known = find_guarded(s, ref, &plain);
    if (known >= 0) return known;
    settle(s, ref, false, NULL);
    s->strided += is_apart(ref);
    Micro m = {.kind = MI_LOAD,
               .type = type_compute(ref->type),
               .from = ref->type,
               .width = ref->width,
               .ref = keep(s, ref),
               .line = s->line};
    m.dst = new_val(s, s->micros.n, m.type, m.width);
    if (ref->guard >= 0) {
        m.nargs = 1;
        m.arg[0] = ref->guard;
        use(s, ref->guard);
    }
    vec_push(s->arena, &s->micros, m);
    if (ref->guard < 0 && !ref_is_hard(ref)) loc_new(s, m.ref)->val = m.dst;
    if (ref->guard >= 0) vec_push(s->arena, &s->guarded, ((GuardedLoad){m.ref, m.dst}));
    if (ref_checks(ref)) use(s, m.dst); // it must be checked, even if unused
    return m.dst;
}

static void write_part(Seg *s, Loc *l, int part, int val) {
    if (part)
        l->parts->val[part] = val;
    else
        l->val = val;
    l->dirty = true;
    l->line = s->line;
    l->written = s->micros.n - 1;
}

// ---- Words
//
// Narrow integers that are interleaved with others, as in panels whose pairs or fours are
// contiguous, are stored together: lanes of 4 bytes, each of which holds two or four of them.

static bool is_meshed(const Ref *r) {
    return type_is_integer(r->type) && type_info[r->type].bytes < 4 && r->lane == 4 && r->width > 1;
}

// All parts of the words that end with this store are known: writes them with one store.
static void store_words(Seg *s, const Ref *ref) {
    int bytes = type_info[ref->type].bytes, n = 4 / bytes, val[4], width = ref->width;
    Loc *part[4];
    for (int i = 0; i < n; i++) {
        Ref one = *ref;
        one.disp -= (n - 1 - i) * bytes;
        part[i] = seg_find(s, &one);
        if (!part[i] || !part[i]->dirty || part[i]->pin >= 0) return;
        if (part[i]->pending || part[i]->begin || (part[i]->parts && part[i]->parts->live)) return;
        val[i] = part[i]->val;
    }
    for (int i = 0; i < n; i++) part[i]->dirty = false;
    int low = seg_const(s, TYPE_I32, width, (Value){.i = (1 << 8 * bytes) - 1}), word = -1;
    for (int i = 0; i < n; i++) {
        int x = val[i];
        if (i < n - 1)
            x = seg_op(s, MI_OP, OP_BITAND, TYPE_I32, TYPE_I32, width, 2, (int[]){x, low});
        if (i) x = seg_shift(s, MOP_SHL, TYPE_I32, width, x, 8 * bytes * i);
        word = i ? seg_op(s, MI_OP, OP_BITOR, TYPE_I32, TYPE_I32, width, 2, (int[]){word, x}) : x;
    }
    Ref *all = arena_copy(s->arena, ref, sizeof *all);
    all->disp -= (n - 1) * bytes;
    all->type = TYPE_I32;
    emit_store(s, all, word, s->micros.n - 1);
}

void seg_store(Seg *s, const Ref *ref, int val) {
    note_written(s, ref->buffer);
    Loc *l = seg_find(s, ref);
    settle(s, ref, true, ref->guard < 0 ? l : NULL);
    if (ref_is_hard(ref) || ref->guard >= 0) {
        emit_store(s, keep(s, ref), val, s->micros.n - 1);
        return;
    }
    if (!l) l = loc_new(s, keep(s, ref));
    if (l->parts) l->parts->live = false;
    l->pending = 0;
    l->begin = 0;
    write_part(s, l, 0, val);
    if (is_meshed(ref)) store_words(s, ref);
}

int seg_next_part(Seg *s, Loc *l, int op, int n) {
    Parts *p = l->parts;
    if (p && p->live && p->op != op) join_parts(s, l);
    if (!p && (n < 2 || l->pin >= 0)) return 0;    // no registers for parts
    if (p && p->pin >= 0 && p->op != op) return 0; // they are another reduction's, in a loop
    if (!p) {
        p = l->parts = arena_new(s->arena, Parts);
        *p = (Parts){.n = (int8_t)n, .pin = -1};
    }
    if (!p->live) {
        p->live = true;
        p->op = (uint8_t)op;
        p->next = 0;
        for (int k = 0; k < p->n; k++) p->val[k] = -1;
    }
    int k = p->next;
    p->next = (int8_t)((k + 1) % p->n);
    return k;
}

void seg_update(Seg *s, const Ref *ref, int part, int val) {
    note_written(s, ref->buffer);
    Loc *l = seg_find(s, ref);
    settle(s, ref, true, l);
    write_part(s, l, part, val);
}

int seg_gather(Seg *s, const Ref *ref, int distance, int64_t last) {
    settle(s, ref, false, NULL);
    Micro m = {.kind = MI_GATHER,
               .type = type_compute(ref->type),
               .from = s->vals.at[distance].type,
               .width = ref->width,
               .nargs = 1,
               .arg = {distance},
               .value.i = last,
               .ref = keep(s, ref),
               .line = s->line};
    use(s, distance);
    m.dst = new_val(s, s->micros.n, m.type, m.width);
    vec_push(s->arena, &s->micros, m);
    return m.dst;
}

// ---- Limits of integers

static bool limits_of(const Seg *s, int val, int active, int depth, int64_t *min, int64_t *max);

// Of an operation on two values in i32 or i64.
static bool limits_of_op(const Seg *s, const Micro *m, int active, int depth, int64_t *min,
                         int64_t *max) {
    int64_t a[2], b[2], limit = type_info[m->type].bits == 32 ? INT32_MAX : INT64_MAX;
    if (m->nargs != 2 || !limits_of(s, m->arg[0], active, depth, &a[0], &a[1]) ||
        !limits_of(s, m->arg[1], active, depth, &b[0], &b[1]))
        return false;
    switch (m->op) {
    case OP_MIN: *min = min_i64(a[0], b[0]), *max = min_i64(a[1], b[1]); return true;
    case OP_MAX: *min = max_i64(a[0], b[0]), *max = max_i64(a[1], b[1]); return true;
    case OP_ADD:
        return checked_add(a[0], b[0], min) && checked_add(a[1], b[1], max) && *min >= -limit &&
               *max <= limit;
    default: return false;
    }
}

// False: the value may wrap, or nothing is known of it.
static bool limits_of(const Seg *s, int val, int active, int depth, int64_t *min, int64_t *max) {
    const Val *v = &s->vals.at[val];
    const Micro *m = v->def < 0 ? NULL : &s->micros.at[v->def];
    if (v->checked >= active) {
        *min = 0, *max = v->below - 1;
        return true;
    }
    if (v->type != TYPE_I32 && v->type != TYPE_I64) return false;
    *min = v->type == TYPE_I32 ? INT32_MIN : INT64_MIN;
    *max = v->type == TYPE_I32 ? INT32_MAX : INT64_MAX;
    if (m && m->kind == MI_CONST) *min = *max = m->value.i;
    if (m && m->kind == MI_OP && depth) {
        int64_t lo, hi;
        if (!limits_of_op(s, m, active, depth - 1, &lo, &hi)) return true;
        *min = lo, *max = hi;
    }
    return true;
}

bool seg_is_within(const Seg *s, int val, int active, int64_t min, int64_t max) {
    enum { BACK = 6 };
    int64_t lo, hi;
    return limits_of(s, val, active, BACK, &lo, &hi) && lo >= min && hi <= max;
}

void seg_check(Seg *s, int index, int active, int64_t size) {
    Val *v = &s->vals.at[index];
    if (seg_is_within(s, index, active, 0, size - 1)) return;
    Micro m = {.kind = MI_CHECK,
               .op = (uint8_t)active,
               .type = v->type,
               .from = v->type,
               .width = v->width,
               .nargs = 1,
               .arg = {index},
               .dst = -1,
               .value = {.i = size},
               .line = s->line};
    use(s, index);
    v->checked = (uint8_t)active, v->below = size;
    vec_push(s->arena, &s->micros, m);
}

void seg_row(Seg *s, const Ref *ref) {
    Micro m = {.kind = MI_ROW, .dst = -1, .slot = ref->row, .ref = keep(s, ref), .line = s->line};
    vec_push(s->arena, &s->micros, m);
}

bool seg_prefetch(Seg *s, const Ref *ref, int level) {
    Line line = {ref->stream, floor_div(ref->disp, 64)};
    for (int i = s->fetched.n - 1; i >= 0; i--)
        if (s->fetched.at[i].stream == line.stream && s->fetched.at[i].number == line.number)
            return false;
    vec_push(s->arena, &s->fetched, line);
    Micro m = {
        .kind = MI_FETCH, .op = (uint8_t)level, .dst = -1, .ref = keep(s, ref), .line = s->line};
    vec_push(s->arena, &s->micros, m);
    return true;
}

// Reduces the rows of a vector as soon as there are enough of them, which frees their registers.
static void fold_begun(Seg *s) {
    const Loc *l = &s->locs.at[s->first_begun];
    if (!s->begun || !l->pending || l->dead || s->begun < s->vals.at[l->val].width) return;
    fold_rows(s, s->first_begun);
    s->begun = 0;
}

void seg_begin(Seg *s, const Ref *ref, int flags, Value init) {
    fold_begun(s);
    note_written(s, ref->buffer);
    Loc *l = seg_find(s, ref);
    settle(s, ref, true, l);
    if (l) flush(s, l); // it may continue from memory
    if (!l) l = loc_new(s, keep(s, ref));
    if (l->parts) l->parts->live = false;
    l->pending = 0;
    write_part(s, l, 0, -1);
    l->begin = (uint8_t)flags;
    l->init = init;
    if (!s->begun++) s->first_begun = (int)(l - s->locs.at);
}

void seg_flush(Seg *s, int buffer) {
    for (int i = s->buffer[buffer].head; i >= 0; i = s->locs.at[i].next) flush(s, &s->locs.at[i]);
    s->buffer[buffer].overlap = true; // its stores keep their positions
}

static int pinned_val(Seg *s, int pin, Type type, int width) {
    int val = new_val(s, -1, type, width);
    s->vals.at[val].pin = (int16_t)pin;
    return val;
}

void seg_pin(Seg *s, const Ref *ref, int pin, Type type, int pending, const Parts *parts) {
    note_written(s, ref->buffer);
    Loc *l = loc_new(s, ref);
    l->pin = (int8_t)pin;
    l->pending = (int8_t)pending;
    l->val = pinned_val(s, pin, type, ref->width);
    if (parts->n < 2) return;
    Parts *p = l->parts = arena_copy(s->arena, parts, sizeof *parts);
    for (int k = 1; k < p->n && p->live; k++)
        p->val[k] = pinned_val(s, p->pin + k - 1, type, ref->width);
}

static void pin_to(Seg *s, int val, int pin, int line) {
    Val *v = &s->vals.at[val];
    Micro m = {.kind = MI_PIN,
               .type = v->type,
               .width = v->width,
               .dst = -1,
               .nargs = 1,
               .arg = {val},
               .dst_reg = (int8_t)pin,
               .line = line};
    v->uses++;
    if (v->pin < 0) v->pin = (int16_t)pin;
    vec_push(s->arena, &s->micros, m);
}

static void pin_parts(Seg *s, Loc *l) {
    Parts *p = l->parts;
    Type type = type_compute(l->ref->type); // a value may count as another type of the same bits
    int width = s->vals.at[l->val].width;
    for (int k = 1; k < p->n; k++) {
        if (p->val[k] < 0) p->val[k] = seg_const(s, type, width, reduce_identity(type, p->op));
        pin_to(s, p->val[k], p->pin + k - 1, l->line);
    }
}

void seg_close(Seg *s) {
    for (int i = 0; i < s->locs.n; i++) {
        const Loc *l = &s->locs.at[i];
        if (is_row(l)) fold_rows(s, i);
    }
    for (int i = 0; i < s->locs.n; i++) {
        Loc *l = &s->locs.at[i];
        if (l->pin < 0) {
            flush(s, l);
            continue;
        }
        if (!l->pending && (!l->parts || !l->parts->live))
            l->val = as_wide(s, l->val, l->ref->width);
        pin_to(s, l->val, l->pin, l->line);
        if (l->parts && l->parts->live) pin_parts(s, l);
    }
}
