// Guarded reads in inference: an index that also subscripts a whole tensor runs over all of it, or
// a warning says what is left out. Values against an evaluation of the guard and the subscript at
// every index.
#include "unit/check.h"

#include "base/checked.h"
#include "lang/lang.h"

#include <string.h>

// A condition or a subscript: how it is written, and its value at i for N elements.
typedef struct Piece {
    char text[160];
    int kind[8];
    int64_t c[8];
    int n;
    bool both; // && rather than ||
} Piece;

static int64_t pick(uint64_t *state, int64_t n) {
    return (int64_t)(check_random(state) % (uint64_t)n);
}

static bool compare(int kind, int64_t c, int64_t i, int64_t n) {
    switch (kind) {
    case 0: return i > c;
    case 1: return i >= c;
    case 2: return i < n - c;
    case 3: return i <= n - c;
    case 4: return i != c;
    case 5: return i == c;
    case 6: return i != n - c;
    case 7: return !(i < c);
    default: return i % 2 == c % 2;
    }
}

static void make_guard(Piece *g, uint64_t *state) {
    static const char *const form[] = {"i > %lld",      "i >= %lld",   "i < N - %lld",
                                       "i <= N - %lld", "i != %lld",   "i == %lld",
                                       "i != N - %lld", "!(i < %lld)", "i %% 2 == %lld %% 2"};
    *g = (Piece){.n = 1 + (int)pick(state, 3), .both = pick(state, 3) > 0};
    for (int k = 0; k < g->n; k++) {
        g->kind[k] = (int)pick(state, 9);
        g->c[k] = pick(state, 4);
        size_t at = strlen(g->text);
        if (k) at += (size_t)sprintf(g->text + at, g->both ? " && " : " || ");
        sprintf(g->text + at, form[g->kind[k]], (long long)g->c[k]);
    }
}

static bool guard_holds(const Piece *g, int64_t i, int64_t n) {
    bool all = true, any = false;
    for (int k = 0; k < g->n; k++) {
        bool one = compare(g->kind[k], g->c[k], i, n);
        all &= one;
        any |= one;
    }
    return g->both ? all : any;
}

static int64_t sub_value(const Piece *s, int64_t i, int64_t n) {
    int64_t c = s->c[0];
    switch (s->kind[0]) {
    case 0: return i - c;
    case 1: return i + c;
    case 2: return n - 1 - i + c;
    case 3: return (i + c) / 2;
    default: return i + c < n ? i + c : n - 1;
    }
}

static void make_sub(Piece *s, uint64_t *state) {
    static const char *const form[] = {"i - %lld", "i + %lld", "N - 1 - i + %lld", "(i + %lld)/2",
                                       "min(i + %lld, N - 1)"};
    *s = (Piece){.n = 1};
    s->kind[0] = (int)pick(state, 5);
    s->c[0] = pick(state, 3);
    sprintf(s->text, form[s->kind[0]], (long long)s->c[0]);
}

// --- One program -------------------------------------------------------------------------------

enum { MOST = 12 };
typedef struct Lab {
    Arena arena;
    Names names;
    DiagList diags;
} Lab;

static void lab_start(Lab *l) {
    arena_init(&l->arena, &allocator_libc);
    l->names = (Names){.arena = &l->arena};
    l->diags = (DiagList){.arena = &l->arena};
}

static void show(Lab *l, const char *text) {
    Text t = {.arena = &l->arena};
    for (int i = 0; i < l->diags.items.n; i++) diag_print(&t, l->diags.items.at[i]);
    fprintf(stderr, "%s%s", text, text_str(&t));
}

static const Program *bind_sizes(Lab *l, const char *text, const int64_t *sizes) {
    Source *s = arena_new(&l->arena, Source);
    *s = (Source){"test.tc", text, (uint32_t)strlen(text)};
    const Module *m = tc_infer(tc_parse(&l->arena, &l->names, s, &l->diags));
    return m->programs.n ? program_bind(&l->arena, m->programs.at[0], sizes, &l->diags) : NULL;
}

static const Program *bind(Lab *l, const char *text, int64_t n) { return bind_sizes(l, text, &n); }

// Runs it; whether O(i), from `first` on, is what the guard and the subscript say.
static bool is_right(Lab *l, const Program *p, const Piece *g, const Piece *s, int64_t n) {
    float a[MOST], b[MOST], o[MOST];
    int64_t size = tensor_size(&p->tensors.at[2], 0), first = tensor_origin(&p->tensors.at[2], 0);
    View v[] = {
        {a, TYPE_F32, 1, &n, NULL}, {b, TYPE_F32, 1, &n, NULL}, {o, TYPE_F32, 1, &size, NULL}};
    for (int i = 0; i < n; i++) a[i] = (float)(3 * i + 1), b[i] = (float)(100 * i);
    if (!program_interpret(&l->arena, p, v, (InterpFlags){.trap_uninitialised = true}, &l->diags))
        return false;
    for (int64_t k = 0; k < size; k++) {
        int64_t i = first + k;
        float read = guard_holds(g, i, n) ? a[sub_value(s, i, n)] : 0;
        if (o[k] != b[i] + read) return false;
    }
    return true;
}

static bool stays_inside(const Piece *g, const Piece *s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sub_value(s, i, n);
        if (guard_holds(g, i, n) && (at < 0 || at >= n)) return false;
    }
    return true;
}

// Inequalities that keep a shifted index inside, whatever N is: nothing excuses a smaller range.
static bool surely_inside(const Piece *g, const Piece *s) {
    if ((g->n > 1 && !g->both) || s->kind[0] > 1) return false;
    for (int k = 0; k < g->n; k++)
        if (g->kind[k] > 3 && g->kind[k] != 7) return false;
    for (int64_t n = 1; n < 4 * MOST; n++)
        if (!stays_inside(g, s, n)) return false;
    return true;
}

static int whole, warned, refused, sure;

static bool try_one(uint64_t state) {
    Piece g, s;
    char text[400];
    int64_t n = 3 + pick(&state, MOST - 3);
    make_guard(&g, &state);
    make_sub(&s, &state);
    snprintf(text, sizeof text,
             "def f(float(N) A, float(N) B) -> (O) { O(i) = B(i) + (%s ? A(%s) : 0.0) }\n", g.text,
             s.text);
    bool inside = stays_inside(&g, &s, n), surely = surely_inside(&g, &s);
    Lab l;
    lab_start(&l);
    const Program *p = bind(&l, text, n);
    bool all =
        p && tensor_size(&p->tensors.at[2], 0) == n && tensor_origin(&p->tensors.at[2], 0) == 0;
    bool said = l.diags.warnings > 0;
    bool ok = p ? is_right(&l, p, &g, &s, n) && all == !said : !inside || l.diags.errors > 0;
    if (p && all && !inside) ok = false; // it reads outside
    if (surely && !all) ok = false;
    sure += surely;
    whole += all;
    warned += said;
    refused += !p;
    if (!ok) {
        fprintf(stderr, "N = %lld\n", (long long)n);
        show(&l, text);
    }
    arena_free(&l.arena);
    return ok;
}

TEST(guarded_reads_narrow_no_range_in_silence) {
    int64_t rounds = check_long_rounds(20000);
    whole = warned = refused = sure = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!CHECK(try_one((check_first_seed() + (uint64_t)i) * 131))) return;
    if (rounds < 300) return;
    CHECK(whole * 4 > rounds); // most guards keep their read inside
    CHECK((warned > 0 || !check_usual_rounds()) && warned * 2 < rounds);
    CHECK(refused * 4 < rounds);
    CHECK(sure * 50 > rounds);
}

// --- Transposed convolutions -------------------------------------------------------------------

//     O(h) +=! h + c - d*p >= 0 && (h + c - d*p) % s == r && .. < N ? I((h + c - d*p)/s) * W(p) : 0
typedef struct Transposed {
    int64_t n, k, s, c, d, r;
    bool low, high, rest; // of the guard
    char text[600];
} Transposed;

static bool is_performed(const Transposed *t, int64_t h, int64_t p) {
    int64_t x = h + t->c - t->d * p;
    if (t->low && x < 0) return false;
    if (t->high && x >= t->s * t->n) return false;
    return !t->rest || (x % t->s + t->s) % t->s == t->r;
}

// Comparisons in one of the ways people write them; negated in a guard that leaves out.
static void write_transposed(Transposed *t, uint64_t *state) {
    static const char *const low[] = {"X >= 0", "Q >= 0", "0 <= X", "!(X < 0)", "X > -1"};
    static const char *const high[] = {"Q < N", "X < s*N", "Q <= N - 1", "!(Q >= N)", "N > Q"};
    static const char *const not_low[] = {"X < 0", "Q < 0", "!(X >= 0)"};
    static const char *const not_high[] = {"Q >= N", "X >= s*N", "X > s*N - 1"};
    bool out = pick(state, 4) == 0;
    char guard[120] = "", value[40] = "I(Q) * W(p)";
    int n = 0;
    const char *all[3] = {
        t->low ? out ? not_low[pick(state, 3)] : low[pick(state, 5)] : NULL,
        t->high ? out ? not_high[pick(state, 3)] : high[pick(state, 5)] : NULL,
        t->rest ? out ? "X % s != r" : "X % s == r" : NULL,
    };
    for (int i = (int)pick(state, 3), k = 0; k < 3; k++, i = (i + 1) % 3)
        if (all[i]) n += sprintf(guard + n, "%s%s", n ? out ? " || " : " && " : "", all[i]);
    char raw[300], *o = t->text;
    if (!n)
        snprintf(raw, sizeof raw, "O(h) +=! %s", value);
    else
        snprintf(raw, sizeof raw, out ? "O(h) +=! (%s) ? 0.0 : %s" : "O(h) +=! (%s) ? %s : 0.0",
                 guard, value);
    o += sprintf(o, "def f(float(N) I, float(K) W) -> (O) { ");
    char x[40];
    snprintf(x, sizeof x, t->d == 1 ? "h + %lld - p" : "h + %lld - %lld*p", (long long)t->c,
             (long long)t->d);
    for (const char *c = raw; *c; c++) {
        if (*c == 'X')
            o += sprintf(o, "(%s)", x);
        else if (*c == 'Q')
            o += sprintf(o, t->s == 1 ? "(%s)" : "((%s)/%lld)", x, (long long)t->s);
        else if (*c == 's')
            o += sprintf(o, "%lld", (long long)t->s);
        else if (*c == 'r')
            o += sprintf(o, "%lld", (long long)t->r);
        else
            *o++ = *c;
    }
    sprintf(o, " }\n");
}

static Transposed make_transposed(uint64_t *state) {
    Transposed t = {.n = 1 + pick(state, 6), .k = 1 + pick(state, 4), .s = 1 + pick(state, 3)};
    t.c = pick(state, 3);
    t.d = 1 + (pick(state, 4) == 0);
    t.r = pick(state, 4) ? 0 : pick(state, t.s);
    t.low = pick(state, 8) > 0;
    t.high = pick(state, 8) > 0;
    t.rest = t.s > 1 && pick(state, 4) > 0;
    write_transposed(&t, state);
    return t;
}

// The first index behind all at which some read is performed.
static int64_t last_performed(const Transposed *t) {
    int64_t end = 0;
    for (int64_t h = 0; h < 100; h++)
        for (int64_t p = 0; p < t->k; p++)
            if (is_performed(t, h, p)) end = h + 1;
    return end;
}

static bool sums_right(Lab *l, const Program *prog, const Transposed *t) {
    float in[8], w[4], o[100];
    int64_t size = tensor_size(&prog->tensors.at[2], 0);
    int64_t first = tensor_origin(&prog->tensors.at[2], 0);
    View v[] = {{in, TYPE_F32, 1, &t->n, NULL},
                {w, TYPE_F32, 1, &t->k, NULL},
                {o, TYPE_F32, 1, &size, NULL}};
    for (int i = 0; i < 8; i++) in[i] = (float)(i + 1);
    for (int i = 0; i < 4; i++) w[i] = (float)(10 * i + 1);
    if (!CHECK(size <= 100)) return false;
    if (!program_interpret(&l->arena, prog, v, (InterpFlags){.trap_uninitialised = true},
                           &l->diags))
        return false;
    for (int64_t h = first; h < first + size; h++) {
        float sum = 0;
        for (int64_t p = 0; p < t->k; p++)
            if (is_performed(t, h, p)) sum += in[floor_div(h + t->c - t->d * p, t->s)] * w[p];
        if (o[h - first] != sum) return false;
    }
    return true;
}

static int full;

static bool try_transposed(uint64_t state) {
    Transposed t = make_transposed(&state);
    Lab l;
    lab_start(&l);
    const Program *p = bind_sizes(&l, t.text, (int64_t[]){t.n, t.k});
    bool complete = t.low && t.high;
    bool never = !complete || last_performed(&t) == 0;
    bool ok = p ? sums_right(&l, p, &t) : never && l.diags.errors > 0;
    if (complete && p) {
        int64_t origin = tensor_origin(&p->tensors.at[2], 0), end = last_performed(&t);
        ok = ok && origin == 0 && tensor_size(&p->tensors.at[2], 0) == end && !l.diags.warnings;
        full += ok;
    }
    if (!ok) {
        fprintf(stderr, "N = %lld, K = %lld\n", (long long)t.n, (long long)t.k);
        show(&l, t.text);
    }
    arena_free(&l.arena);
    return ok;
}

TEST(transposed_convolutions_have_their_full_output) {
    int64_t rounds = check_long_rounds(5000);
    full = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!CHECK(try_transposed((check_first_seed() + (uint64_t)i) * 977))) return;
    if (rounds >= 100) CHECK(full * 2 > rounds);
}

// --- Elements that a range leaves out ------------------------------------------------------------

// A tensor that is read at i + k for one or two k.
typedef struct Shifted {
    int64_t size, k[2];
    int n;
} Shifted;

static Shifted make_shifted(uint64_t *state) {
    Shifted t = {.size = 6 + pick(state, 4), .n = 1 + (pick(state, 3) == 0)};
    t.k[0] = pick(state, 2) ? 0 : pick(state, 5) - 2;
    t.k[1] = t.n == 2 ? t.k[0] + 1 + pick(state, 2) : t.k[0];
    return t;
}

static int write_shifted(const Shifted *t, char name, char *out) {
    int n = sprintf(out, "%c(i + %lld)", name, (long long)t->k[0]);
    if (t->n == 2) n += sprintf(out + n, " * %c(i + %lld)", name, (long long)t->k[1]);
    return n;
}

// Does lo:hi miss an index from 0 on at which all reads of t are inside?
static bool leaves_out(const Shifted *t, int64_t lo, int64_t hi) {
    return lo > max_i64(0, -t->k[0]) || hi < t->size - t->k[1];
}

static int silent, loud;

static bool try_shifted(uint64_t state) {
    Shifted x = make_shifted(&state), y = make_shifted(&state);
    bool declared = pick(&state, 3) == 0;
    int64_t size = 1 + pick(&state, 9), sizes[] = {x.size, y.size, size};
    char text[300];
    int n = sprintf(text, "def f(float(N) X, float(M) Y, float(L) Z) -> (%s) { O(i) = ",
                    declared ? "float(L) O" : "O");
    n += write_shifted(&x, 'X', text + n);
    n += sprintf(text + n, " + ");
    n += write_shifted(&y, 'Y', text + n);
    sprintf(text + n, " }\n");
    int64_t lo = max_i64(0, max_i64(-x.k[0], -y.k[0]));
    int64_t hi = min_i64(x.size - x.k[1], y.size - y.k[1]);
    if (declared && (lo > 0 || size > hi)) return true; // refused: it does not fit
    if (declared) hi = size;
    bool out_x = leaves_out(&x, lo, hi), out_y = leaves_out(&y, lo, hi);
    bool want = declared ? out_x || out_y : (out_x && y.n == 1) || (out_y && x.n == 1);
    bool bare = !x.k[1] && !y.k[1] && !declared; // two sizes: another warning
    Lab l;
    lab_start(&l);
    const Program *p = bind_sizes(&l, text, sizes);
    bool ok = p && (bare || (l.diags.warnings > 0) == want);
    silent += !want;
    loud += want;
    if (!ok) {
        fprintf(stderr, "N = %lld, M = %lld, L = %lld\n", (long long)sizes[0], (long long)sizes[1],
                (long long)sizes[2]);
        show(&l, text);
    }
    arena_free(&l.arena);
    return ok;
}

TEST(ranges_that_leave_out_elements_say_so) {
    int64_t rounds = check_long_rounds(5000);
    silent = loud = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!CHECK(try_shifted((check_first_seed() + (uint64_t)i) * 613))) return;
    if (rounds >= 100) CHECK(silent * 20 > rounds && loud * 4 > rounds);
}
