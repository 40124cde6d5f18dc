// Columns with a small stride, deinterleaved from whole vectors.
//
// Columns of a tensor whose rows are short (x and y, red, green and blue, matrices of 2 by 2) are
// read and written in lanes along the rows. Each of s columns has a stride of s elements, and
// together they occupy s whole vectors:
//
//     vectors     a0 b0 a1 b1 a2 b2 a3 b3 | a4 b4 a5 b5 a6 b6 a7 b7
//     columns     a0 a1 a2 a3 a4 a5 a6 a7     b0 b1 b2 b3 b4 b5 b6 b7
//
// An even s is halved: the even lanes of each two vectors, and the odd lanes, form half as many
// vectors of half as many columns. For an odd s, lanes are taken from all vectors in rotation.
// Stores interleave in the opposite direction, provided that all columns are stored, so that
// nothing else is written. Loads read nothing outside the range from the first to the last wanted
// element.
#include "code/micro/regroup.h"

#include "base/checked.h"

typedef struct Deinterleave {
    Regroup *t;
    Type type;
    int width;
    int line;
} Deinterleave;

// ---- Selection

static bool same_rows(const Strided *p, const Strided *q) {
    const Ref *a = p->ref, *b = q->ref;
    return p->store == q->store && a->buffer == b->buffer && a->stream == b->stream &&
           a->lane == b->lane && a->width == b->width && a->active == b->active &&
           a->nontemporal == b->nontemporal && a->type == b->type &&
           (b->disp - a->disp) % type_info[a->type].bytes == 0 && b->disp - a->disp < a->lane;
}

// A single column of a few vectors of 64 bytes takes the same number of loads with built-in
// shuffles.
static bool pays(const Regroup *t, const Strided *x, int n, int s) {
    const Ref *r = x->ref;
    int size = type_info[r->type].bytes;
    bool wide = t->p->machine->vector_bytes == 64;
    if (!can_comb(t->p->machine, s)) return false;
    if (n == s && r->active >= LIMIT_TRANSPOSE &&
        is_transposed(t->p->machine, s, r->width, lane_bytes(r->type)))
        return false;
    if (x->store) return n == s;
    if (n == 1) return wide ? s <= 4 && r->width * size < 64 : s <= 3;
    return s <= 4 || 2 * n > s;
}

static int step_of(const Ref *r) { return (int)(r->lane / type_info[r->type].bytes); }

int deinterleave_columns(const Regroup *t, const Strided *list, int n) {
    const Ref *r = list->ref;
    int size = type_info[r->type].bytes, run = 1;
    if (r->lane % size || r->lane > LIMIT_COMB * size || r->lane <= size) return 0;
    if (r->width < LIMIT_COMB_LANES || r->active < 2) return 0;
    for (; run < n && same_rows(list, list + run); run++)
        if (list[run].ref->disp == list[run - 1].ref->disp) return 0; // read again, after a store
    return pays(t, list, run, step_of(r)) ? run : 0;
}

// ---- Shuffles

static int push(Regroup *t, Micro m) {
    Seg *s = t->s;
    for (int k = 0; k < m.nargs; k++) s->vals.at[m.arg[k]].uses++;
    s->vals.at[m.dst].def = t->out.n;
    vec_push(s->arena, &t->out, m);
    return m.dst;
}

// The value that holds lane numbers; it is made once.
static int numbers_of(Deinterleave *c, Micro m) {
    Regroup *t = c->t;
    for (int i = 0; i < t->numbers.n; i++) {
        const Micro *known = &t->out.at[t->s->vals.at[t->numbers.at[i]].def];
        if (known->value.i == m.value.i && known->type == m.type && known->width == m.width)
            return t->numbers.at[i];
    }
    m.dst = regroup_value(t, m.type, m.width);
    m.line = c->line;
    vec_push(t->s->arena, &t->numbers, m.dst);
    return push(t, m);
}

// Selects lanes of a and b, one of which may be missing (-1, any value), into `dst` or a new value
// (-1).
static int pick(Deinterleave *c, int dst, int a, int b, const Permutation *from) {
    Regroup *t = c->t;
    bool one = a < 0 || b < 0;
    Permutation p = *from;
    if (a < 0 && b < 0) return -1;
    for (int i = 0; i < c->width && one; i++) p.from[i] = (uint8_t)(p.from[i] % c->width);
    Micro numbers = plan_lane_numbers(t->p, c->type, c->width, &p);
    Micro m = {.kind = MI_PERMUTE,
               .type = c->type,
               .from = c->type,
               .width = (uint8_t)c->width,
               .nargs = one ? 2 : 3,
               .arg = {a < 0 ? b : a, b},
               .value = numbers.value,
               .line = c->line};
    m.arg[m.nargs - 1] = numbers_of(c, numbers);
    m.dst = dst < 0 ? regroup_value(t, c->type, c->width) : dst;
    return push(t, m);
}

// The lanes with even numbers, or odd ones.
static int every_other(Deinterleave *c, int dst, int a, int b, int odd) {
    Permutation p = {{0}};
    for (int i = 0; i < c->width; i++) p.from[i] = (uint8_t)(2 * i + odd);
    return pick(c, dst, a, b, &p);
}

// The first or second half of the interleaved lanes.
static int in_turn(Deinterleave *c, int a, int b, int second) {
    Permutation p = {{0}};
    for (int i = 0; i < c->width; i++)
        p.from[i] = (uint8_t)(i / 2 + second * c->width / 2 + (i & 1) * c->width);
    return pick(c, -1, a, b, &p);
}

// Lane i is number at[i] of all lanes of the n vectors.
static int from_all(Deinterleave *c, int dst, const int *vector, int n, const int *at) {
    int w = c->width, all = vector[0], last = 0;
    for (int v = 1; v < n; v++)
        if (vector[v] >= 0) last = v;
    for (int v = last ? 1 : 0; v <= last; v++) {
        Permutation p = {{0}};
        for (int i = 0; i < w; i++) {
            int mine = at[i] / w == v, kept = v == 1 ? at[i] % w : i;
            p.from[i] = (uint8_t)(mine ? (v ? w : 0) + at[i] % w : kept);
        }
        all = pick(c, v == last ? dst : -1, all, v ? vector[v] : -1, &p);
    }
    return all;
}

// Extracts the s columns of s vectors (missing ones -1) into out[j·step] where `want` is set.
static void part(Deinterleave *c, int s, const int *vector, const bool *want, int *out, int step) {
    int half[2][LIMIT_COMB / 2];
    if (s == 1) {
        out[0] = vector[0];
        return;
    }
    if (s & 1) {
        for (int j = 0; j < s; j++) {
            int at[LIMIT_LANES];
            for (int i = 0; i < c->width; i++) at[i] = s * i + j;
            if (want[j * step]) out[j * step] = from_all(c, out[j * step], vector, s, at);
        }
        return;
    }
    for (int odd = 0; odd < 2; odd++) {
        bool any = false;
        for (int j = odd; j < s; j += 2) any |= want[j * step];
        for (int k = 0; k < s / 2 && any; k++)
            half[odd][k] = every_other(c, s == 2 ? out[odd * step] : -1, vector[2 * k],
                                       vector[2 * k + 1], odd);
        if (any) part(c, s / 2, half[odd], want + odd * step, out + odd * step, 2 * step);
    }
}

// The first n of the s vectors that interleave s columns.
static void mesh(Deinterleave *c, int s, const int *column, int step, int *out, int n) {
    int half[2][LIMIT_COMB];
    if (s == 1) {
        out[0] = column[0];
        return;
    }
    if (s & 1) {
        int own[LIMIT_COMB];
        for (int j = 0; j < s; j++) own[j] = column[j * step];
        for (int v = 0; v < n; v++) {
            int at[LIMIT_LANES];
            for (int i = 0; i < c->width; i++) {
                int e = v * c->width + i;
                at[i] = e % s * c->width + e / s;
            }
            out[v] = from_all(c, -1, own, s, at);
        }
        return;
    }
    for (int odd = 0; odd < 2; odd++)
        mesh(c, s / 2, column + odd * step, 2 * step, half[odd], (n + 1) / 2);
    for (int v = 0; v < n; v++) out[v] = in_turn(c, half[0][v / 2], half[1][v / 2], v & 1);
}

// ---- Rewriting

static Deinterleave comb_of(Regroup *t, const Group *g) {
    const Ref *r = g->column[0].ref;
    return (Deinterleave){.t = t,
                          .type = type_compute(r->type),
                          .width = r->width,
                          .line = t->s->micros.at[g->column[0].micro].line};
}

// Vector number v, of `span` elements in all.
static const Ref *vector_ref(Seg *s, const Group *g, int v, int64_t span) {
    Ref *r = arena_copy(s->arena, g->column[0].ref, sizeof *r);
    r->lane = type_info[r->type].bytes;
    r->disp += v * r->width * r->lane;
    r->active = (uint8_t)min_i64(r->width, span - v * r->width);
    return r;
}

void deinterleave_loads(Regroup *t, const Group *g) {
    Seg *s = t->s;
    Deinterleave c = comb_of(t, g);
    const Ref *r = g->column[0].ref;
    int step = step_of(r);
    int64_t size = type_info[r->type].bytes;
    int64_t last = (g->column[g->n - 1].ref->disp - r->disp) / size;
    int64_t span = step * (r->active - 1) + last + 1;
    int vector[LIMIT_COMB], out[LIMIT_COMB] = {0};
    bool want[LIMIT_COMB] = {false};
    for (int v = 0; v < step; v++) {
        vector[v] = -1;
        if (span <= v * r->width) continue;
        Micro m = {.kind = MI_LOAD,
                   .type = c.type,
                   .from = r->type,
                   .width = r->width,
                   .ref = vector_ref(s, g, v, span),
                   .dst = regroup_value(t, c.type, r->width),
                   .line = c.line};
        vec_push(s->arena, &t->out, m);
        vector[v] = m.dst;
    }
    for (int i = 0; i < g->n; i++) {
        int64_t j = (g->column[i].ref->disp - r->disp) / size;
        want[j] = true;
        out[j] = s->micros.at[g->column[i].micro].dst;
    }
    part(&c, step, vector, want, out, 1);
}

void deinterleave_stores(Regroup *t, const Group *g) {
    Seg *s = t->s;
    Deinterleave c = comb_of(t, g);
    const Ref *r = g->column[0].ref;
    int step = step_of(r);
    int64_t span = step * r->active;
    int column[LIMIT_COMB], out[LIMIT_COMB];
    for (int i = 0; i < g->n; i++) {
        column[i] = s->micros.at[g->column[i].micro].arg[0];
        s->vals.at[column[i]].uses--;
    }
    int n = (int)ceil_div(span, r->width);
    mesh(&c, step, column, 1, out, n);
    for (int v = 0; v < n; v++) {
        Micro m = {.kind = MI_STORE,
                   .type = c.type,
                   .width = r->width,
                   .dst = -1,
                   .nargs = 1,
                   .arg = {out[v]},
                   .ref = vector_ref(s, g, v, span),
                   .after = t->out.n - 1,
                   .line = c.line};
        s->vals.at[out[v]].uses++;
        vec_push(s->arena, &t->out, m);
    }
}
