// Transposes blocks of strided vectors in registers.
//
// Sixteen loads with a stride of `lane` bytes between lanes and adjacent first elements read a
// block of memory by columns:
//
//     load 0 reads     base,          base + lane,          base + 2·lane ...
//     load 1 reads     base + size,   base + size + lane,   ...
//
// The same elements form as many contiguous rows. So whole rows are loaded and transposed by
// log2(lanes) rounds of interleaving: pairs of 4-byte lanes, pairs of 8-byte lanes, then 16-byte
// pieces. Stores work the other way round. Exactly the same bytes are accessed.
//
// Runs once on a finished segment, between seg_close and micro_assign, if it has strided accesses.
#include "code/micro/regroup.h"

#include <stdlib.h>

#include "base/checked.h"

// ---- Finding groups

static bool is_strided(const Ref *r) {
    return r->width > 1 && r->lane != 0 && r->lane != type_info[r->type].bytes && !ref_is_hard(r) &&
           r->guard < 0;
}

static int order_of(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int by_place(const void *x, const void *y) {
    const Strided *p = x, *q = y;
    const Ref *a = p->ref, *b = q->ref;
    int o = order_of(p->store, q->store);
    if (!o) o = order_of(a->buffer, b->buffer);
    if (!o) o = order_of(a->stream, b->stream);
    if (!o) o = order_of(a->lane, b->lane);
    if (!o) o = order_of(a->width << 8 | a->active, b->width << 8 | b->active);
    if (!o) o = order_of(a->disp, b->disp);
    return o ? o : order_of(p->micro, q->micro);
}

static bool side_by_side(const Strided *p, const Strided *q) {
    const Ref *a = p->ref, *b = q->ref;
    return p->store == q->store && a->buffer == b->buffer && a->stream == b->stream &&
           a->lane == b->lane && a->width == b->width && a->active == b->active &&
           a->nontemporal == b->nontemporal && b->disp - a->disp == type_info[a->type].bytes;
}

// Buffers with accesses at computed addresses, or with overlapping locations, keep their order.
static bool *settled_buffers(Seg *s) {
    bool *ok = arena_new_n(s->arena, bool, s->nbuffers);
    for (int b = 0; b < s->nbuffers; b++) ok[b] = !(s->buffer[b].written && s->buffer[b].overlap);
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        bool moves = m->kind == MI_LOAD || m->kind == MI_STORE;
        if (m->kind == MI_GATHER || (moves && (ref_is_hard(m->ref) || m->ref->guard >= 0)))
            ok[m->ref->buffer] = false;
    }
    return ok;
}

static int find_strided(Seg *s, Strided **list) {
    int n = 0;
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        n += (m->kind == MI_LOAD || m->kind == MI_STORE) && is_strided(m->ref);
    }
    if (!n) return 0;
    bool *ok = settled_buffers(s);
    *list = arena_new_n(s->arena, Strided, n);
    n = 0;
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        if ((m->kind == MI_LOAD || m->kind == MI_STORE) && is_strided(m->ref) && ok[m->ref->buffer])
            (*list)[n++] = (Strided){m->ref, i, m->kind == MI_STORE};
    }
    qsort(*list, (size_t)n, sizeof **list, by_place);
    return n;
}

static void add_group(Regroup *t, const Strided *column, int n, bool comb) {
    Group g = {column, n, column[0].store ? -1 : column[0].micro, comb};
    for (int i = 0; i < n; i++) {
        int at = column[i].micro;
        t->of[at] = t->ngroups;
        if (column[0].store)
            g.at = (int)max_i64(g.at, t->s->micros.at[at].after);
        else
            g.at = (int)min_i64(g.at, at);
    }
    t->group[t->ngroups++] = g;
}

static void find_groups(Regroup *t, const Strided *list, int n) {
    for (int i = 0, run; i < n; i += run) {
        int most = list[i].ref->width;
        if ((run = deinterleave_columns(t, list + i, n - i))) {
            add_group(t, list + i, run, true);
            continue;
        }
        for (run = 1;
             i + run < n && run < most && side_by_side(&list[i + run - 1], &list[i + run]);)
            run++;
        bool again = i + run < n && list[i + run].ref->disp == list[i + run - 1].ref->disp;
        const Ref *r = list[i].ref;
        bool wide = r->width * lane_bytes(r->type) >= LIMIT_TRANSPOSE_BYTES;
        if (run >= LIMIT_TRANSPOSE && r->active >= LIMIT_TRANSPOSE && wide && !again)
            add_group(t, list + i, run, false);
    }
}

// ---- The network

typedef struct Net {
    Regroup *t;
    Type type;
    int width, pieces, per_piece; // lanes; pieces of 16 bytes; lanes in a piece
    int line;
    int in[16], pair[8][2], quad[4][4], half[4][2][2]; // values; -1: any value
} Net;

int regroup_value(Regroup *t, Type type, int width) {
    Seg *s = t->s;
    Val v = {.def = t->out.n, .pin = -1, .type = type, .width = (uint8_t)width};
    vec_push(s->arena, &s->vals, v);
    return s->vals.n - 1;
}

// Into `dst`, or a new value. A missing row may have any value.
static int shuffle_to(Net *n, int dst, Shuffle how, int a, int b) {
    Seg *s = n->t->s;
    if (a < 0 && b < 0) return -1;
    if (a < 0) a = b;
    if (b < 0) b = a;
    if (dst < 0) dst = regroup_value(n->t, n->type, n->width);
    Micro m = {.kind = MI_SHUFFLE,
               .op = (uint8_t)how,
               .type = n->type,
               .from = n->type,
               .width = (uint8_t)n->width,
               .nargs = 2,
               .arg = {a, b},
               .dst = dst,
               .line = n->line};
    s->vals.at[a].uses++;
    s->vals.at[b].uses++;
    s->vals.at[dst].def = n->t->out.n;
    vec_push(s->arena, &n->t->out, m);
    return dst;
}

static int shuffle(Net *n, Shuffle how, int a, int b) { return shuffle_to(n, -1, how, a, b); }

static void net_begin(Net *n, Regroup *t, const Ref *r, int line) {
    *n = (Net){.t = t, .type = type_compute(r->type), .width = r->width, .line = line};
    n->per_piece = lane_bytes(r->type) == 8 ? 2 : 4;
    n->pieces = r->width / n->per_piece;
    for (int i = 0; i < 16; i++) n->in[i] = -1;
}

// Rows as long as a piece: group g of them gives quad[g][c], whose piece k holds their elements of
// column per_piece·k + c.
static void turn_pieces(Net *n, int g, int columns) {
    if (n->per_piece == 2) {
        for (int c = 0; c < 2 && c < columns; c++)
            n->quad[g][c] =
                shuffle(n, c ? SHUFFLE_HIGH64 : SHUFFLE_LOW64, n->in[2 * g], n->in[2 * g + 1]);
        return;
    }
    for (int p = 2 * g; p < 2 * g + 2; p++)
        for (int h = 0; h < 2 && 2 * h < columns; h++)
            n->pair[p][h] =
                shuffle(n, h ? SHUFFLE_HIGH32 : SHUFFLE_LOW32, n->in[2 * p], n->in[2 * p + 1]);
    for (int c = 0; c < 4 && c < columns; c++)
        n->quad[g][c] = shuffle(n, c & 1 ? SHUFFLE_HIGH64 : SHUFFLE_LOW64, n->pair[2 * g][c >> 1],
                                n->pair[2 * g + 1][c >> 1]);
}

// All rounds but the last, for the first `columns` columns of the result.
static void net_rounds(Net *n, int columns) {
    for (int g = 0; g < n->pieces; g++) turn_pieces(n, g, columns);
    for (int c = 0; c < n->per_piece && n->pieces == 4; c++)
        for (int odd = 0; odd < 2 && c + odd * n->per_piece < columns; odd++)
            for (int p = 0; p < 2; p++)
                n->half[c][odd][p] = shuffle(n, odd ? SHUFFLE_ODD128 : SHUFFLE_EVEN128,
                                             n->quad[2 * p][c], n->quad[2 * p + 1][c]);
}

static int net_column(Net *n, int column, int dst) {
    int k = column / n->per_piece, c = column % n->per_piece;
    if (n->pieces == 2)
        return shuffle_to(n, dst, k ? SHUFFLE_ODD128 : SHUFFLE_EVEN128, n->quad[0][c],
                          n->quad[1][c]);
    return shuffle_to(n, dst, k & 2 ? SHUFFLE_ODD128 : SHUFFLE_EVEN128, n->half[c][k & 1][0],
                      n->half[c][k & 1][1]);
}

// The number of the i-th column, in an order in which the values of the next-to-last round die
// early.
static int column_number(const Net *n, int i) {
    int c = i / n->pieces, k = i % n->pieces;
    if (n->pieces == 4) k = (k >> 1) | (k & 1) << 1;
    return c + k * n->per_piece;
}

// Row `i` of a block: n adjacent elements.
static const Ref *row_ref(Seg *s, const Group *g, int i) {
    Ref *r = arena_copy(s->arena, g->column[0].ref, sizeof *r);
    r->disp += i * r->lane;
    r->lane = type_info[r->type].bytes;
    r->active = (uint8_t)g->n;
    return r;
}

// ---- Rewriting

static void emit_loads(Regroup *t, const Group *g) {
    Seg *s = t->s;
    const Ref *r = g->column[0].ref;
    Net n;
    net_begin(&n, t, r, s->micros.at[g->at].line);
    for (int i = 0; i < r->active; i++) {
        Micro m = {.kind = MI_LOAD,
                   .type = n.type,
                   .from = r->type,
                   .width = r->width,
                   .ref = row_ref(s, g, i),
                   .dst = regroup_value(t, n.type, r->width),
                   .line = n.line};
        vec_push(s->arena, &t->out, m);
        n.in[i] = m.dst;
    }
    net_rounds(&n, g->n);
    for (int i = 0; i < r->width; i++) {
        int column = column_number(&n, i);
        if (column < g->n) net_column(&n, column, s->micros.at[g->column[column].micro].dst);
    }
}

static void emit_stores(Regroup *t, const Group *g) {
    Seg *s = t->s;
    const Ref *r = g->column[0].ref;
    Net n;
    net_begin(&n, t, r, s->micros.at[g->column[0].micro].line);
    for (int i = 0; i < g->n; i++) {
        n.in[i] = s->micros.at[g->column[i].micro].arg[0];
        s->vals.at[n.in[i]].uses--;
    }
    net_rounds(&n, r->active);
    for (int i = 0; i < r->width; i++) {
        int row = column_number(&n, i);
        if (row >= r->active) continue;
        int val = net_column(&n, row, -1);
        Micro m = {.kind = MI_STORE,
                   .type = n.type,
                   .width = r->width,
                   .dst = -1,
                   .nargs = 1,
                   .arg = {val},
                   .ref = row_ref(s, g, row),
                   .after = t->out.n - 1,
                   .line = n.line};
        s->vals.at[val].uses++;
        vec_push(s->arena, &t->out, m);
    }
}

static void emit_stores_behind(Regroup *t, int at) {
    for (int i = 0; i < t->ngroups; i++)
        if (t->group[i].column[0].store && t->group[i].at == at)
            (t->group[i].deinterleaved ? deinterleave_stores : emit_stores)(t, &t->group[i]);
}

static void copy_micro(Regroup *t, const Micro *old, const int *place) {
    Micro m = *old;
    if (m.dst >= 0) t->s->vals.at[m.dst].def = t->out.n;
    if (m.kind == MI_STORE) {
        int after = m.after >= 0 ? place[m.after] : -1;
        m.after = (int)max_i64(after, t->s->vals.at[m.arg[0]].def);
        if (m.nargs > 1) m.after = (int)max_i64(m.after, t->s->vals.at[m.arg[1]].def);
    }
    vec_push(t->s->arena, &t->out, m);
}

static void rewrite(Regroup *t) {
    Seg *s = t->s;
    int n = s->micros.n;
    int *place = arena_new_n(s->arena, int, n + 1); // old micro -> the new one at its end
    emit_stores_behind(t, -1);
    for (int i = 0; i < n; i++) {
        const Micro *m = &s->micros.at[i];
        const Group *g = t->of[i] >= 0 ? &t->group[t->of[i]] : NULL;
        if (!g)
            copy_micro(t, m, place);
        else if (m->kind == MI_LOAD && g->at == i)
            (g->deinterleaved ? deinterleave_loads : emit_loads)(t, g);
        place[i] = t->out.n - 1;
        emit_stores_behind(t, i);
    }
    s->micros.n = 0;
    for (int i = 0; i < t->out.n; i++) vec_push(s->arena, &s->micros, t->out.at[i]);
}

int micro_transpose(Seg *s, Plan *p) {
    Strided *list;
    if (!s->strided) return 0;
    int n = find_strided(s, &list);
    if (!n) return 0;
    Regroup t = {.s = s, .p = p};
    t.group = arena_new_n(s->arena, Group, n);
    t.of = arena_new_n(s->arena, int, s->micros.n);
    for (int i = 0; i < s->micros.n; i++) t.of[i] = -1;
    find_groups(&t, list, n);
    int turned = 0;
    for (int i = 0; i < t.ngroups; i++) {
        turned += !t.group[i].deinterleaved;
        s->deinterleaved += t.group[i].deinterleaved ? t.group[i].n : 0;
    }
    if (t.ngroups) rewrite(&t);
    return turned;
}
