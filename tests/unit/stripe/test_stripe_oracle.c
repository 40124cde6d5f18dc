// Random Stripe blocks against an oracle that shares nothing with the compiler: the text is made
// together with plain loops over plain arrays that say what it means.
#include "unit/check.h"

#include "support/jitlab.h"
#include "stripe/lift.h"
#include "stripe/stripe.h"
#include "tree/tree_interp.h"
#include "verify/verify.h"

#include <stdio.h>

enum { MOST_INDICES = 3, MOST_RANK = 2, MOST_ELEMENTS = 4096 };

// c + sum of coef * index, shifted so that it is never negative; `size` values at most.
typedef struct Sub {
    int64_t c, coef[MOST_INDICES], size;
} Sub;

typedef struct View2 {
    int rank;
    Sub sub[MOST_RANK];
} View2;

typedef enum Agg { AGG_ASSIGN, AGG_ADD, AGG_MUL, AGG_MIN, AGG_MAX, AGG_COUNT } Agg;

typedef struct Model {
    int n;
    int64_t extent[MOST_INDICES];
    int64_t tile; // of index 0; 0: not tiled
    View2 a, b, o;
    bool constrained;
    int64_t limit, weight[MOST_INDICES]; // limit - sum of weight * index >= 0
    Agg agg;
    bool ordered;
    int op;       // of the two loads
    bool indexed; // an index is added to it
} Model;

static const char *const agg_names[] = {"assign", "add", "mul", "min", "max"};
static const char *const op_names[] = {"add", "sub", "mul", "min", "max"};
static const char index_names[] = "ijk";

static int64_t between(uint64_t *state, int64_t lo, int64_t hi) {
    return lo + (int64_t)(check_random(state) % (uint64_t)(hi - lo + 1));
}

// --- Making one ----------------------------------------------------------------------------------

static void fit(const Model *m, Sub *s, int64_t slack) {
    int64_t least = 0, most = 0;
    for (int i = 0; i < m->n; i++) {
        int64_t end = s->coef[i] * (m->extent[i] - 1);
        *(end < 0 ? &least : &most) += end;
    }
    s->c = -least;
    s->size = most - least + 1 + slack;
}

static View2 any_view(uint64_t *state, const Model *m) {
    View2 v = {.rank = (int)between(state, 1, MOST_RANK)};
    for (int d = 0; d < v.rank; d++) {
        for (int i = 0; i < m->n; i++)
            if (check_random(state) % 2) v.sub[d].coef[i] = between(state, -1, 2);
        fit(m, &v.sub[d], between(state, 0, 1));
    }
    return v;
}

// Every index alone, by a mixed radix: no two iterations meet.
static View2 injective_view(uint64_t *state, const Model *m) {
    View2 v = {.rank = (int)between(state, 1, MOST_RANK)};
    int64_t radix[MOST_RANK] = {1, 1};
    for (int i = 0; i < m->n; i++) {
        int d = (int)between(state, 0, v.rank - 1);
        v.sub[d].coef[i] = check_random(state) % 3 ? radix[d] : -radix[d];
        radix[d] *= m->extent[i];
    }
    for (int d = 0; d < v.rank; d++) fit(m, &v.sub[d], between(state, 0, 1));
    return v;
}

static Model model_of(uint64_t *state) {
    Model m = {.n = (int)between(state, 1, MOST_INDICES)};
    for (int i = 0; i < m.n; i++) m.extent[i] = between(state, 1, 6);
    if (check_random(state) % 2) m.tile = between(state, 1, 4);
    m.agg = (Agg)between(state, 0, AGG_COUNT - 1);
    m.ordered = check_random(state) % 2;
    m.a = any_view(state, &m);
    m.b = any_view(state, &m);
    m.o = m.agg == AGG_ASSIGN && !m.ordered ? injective_view(state, &m) : any_view(state, &m);
    m.constrained = check_random(state) % 2;
    m.limit = between(state, 0, 8);
    for (int i = 0; i < m.n; i++) m.weight[i] = between(state, -1, 2);
    m.op = (int)between(state, 0, 4);
    m.indexed = check_random(state) % 4 == 0;
    return m;
}

// --- As text -------------------------------------------------------------------------------------

// Index i, or tile*o + i.
static void print_term(Text *out, const Model *m, int64_t coef, int i) {
    if (!coef) return;
    if (i == 0 && m->tile) text_printf(out, " + %lld*o", (long long)(coef * m->tile));
    text_printf(out, " + %lld*%c", (long long)coef, index_names[i]);
}

static void print_view(Text *out, const Model *m, const char *dir, const char *name, const View2 *v,
                       const char *agg, bool whole) {
    text_printf(out, "        %s %s[", dir, name);
    for (int d = 0; d < v->rank; d++) {
        text_printf(out, d ? ", %lld" : "%lld", whole ? 0LL : (long long)v->sub[d].c);
        for (int i = 0; i < m->n && !whole; i++) print_term(out, m, v->sub[d].coef[i], i);
    }
    text_printf(out, "]%s%s i32(", *agg ? ":" : "", agg);
    for (int d = 0; d < v->rank; d++)
        text_printf(out, d ? ", %lld" : "%lld", whole ? (long long)v->sub[d].size : 1LL);
    text_printf(out, "):(");
    if (v->rank == 2) text_printf(out, "%lld, ", (long long)v->sub[1].size);
    text_add(out, "1)\n");
}

static void print_views(Text *out, const Model *m, bool whole) {
    const char *agg = whole ? "" : agg_names[m->agg];
    print_view(out, m, "in", "A", &m->a, "", whole);
    print_view(out, m, "in", "B", &m->b, "", whole);
    print_view(out, m, "inout", "O", &m->o, agg, whole);
}

static void print_inner(Text *out, const Model *m, const char *kind) {
    text_printf(out, "    0: %sblock [", kind);
    for (int i = 0; i < m->n; i++)
        text_printf(out, "%s%c:%lld", i ? ", " : "", index_names[i],
                    (long long)(i == 0 && m->tile ? m->tile : m->extent[i]));
    text_add(out, m->tile ? ", o = o] (\n" : "] (\n");
    if (m->tile)
        text_printf(out, "        %lld - %lld*o - i >= 0\n", (long long)(m->extent[0] - 1),
                    (long long)m->tile);
    if (m->constrained) {
        text_printf(out, "        %lld", (long long)m->limit);
        for (int i = 0; i < m->n; i++) print_term(out, m, -m->weight[i], i);
        text_add(out, " >= 0\n");
    }
    print_views(out, m, false);
    text_printf(out,
                "    ) {\n        $a = load(A)\n        $b = load(B)\n        $c = %s($a, $b)\n",
                op_names[m->op]);
    if (m->indexed) {
        text_add(out, "        $x = load_index(0");
        print_term(out, m, 1, m->n - 1);
        text_add(out, ")\n        $y = as_i32($x)\n        $d = add($c, $y)\n");
    }
    text_printf(out, "        O = store($%c)\n    }\n", m->indexed ? 'd' : 'c');
}

static const char *text_of(Arena *arena, const Model *m, uint64_t *state) {
    static const char *const unordered[] = {"", "#parallel "};
    static const char *const ordered[] = {"#serial ", "#unroll "};
    const char *kind = (m->ordered ? ordered : unordered)[check_random(state) % 2];
    Text out = {.arena = arena};
    text_add(&out, "block []:1 (\n");
    print_views(&out, m, true);
    text_add(&out, ") {\n");
    if (m->tile) {
        text_printf(&out, "  0: %sblock [o:%lld] (\n", m->ordered ? "#serial " : "",
                    (long long)((m->extent[0] + m->tile - 1) / m->tile));
        print_views(&out, m, true);
        text_add(&out, "  ) {\n");
    }
    print_inner(&out, m, kind);
    text_add(&out, m->tile ? "  }\n}\n" : "}\n");
    return text_str(&out);
}

// --- As plain loops ------------------------------------------------------------------------------

static int64_t place_of(const Model *m, const View2 *v, const int64_t *x) {
    int64_t at = 0;
    for (int d = 0; d < v->rank; d++) {
        int64_t s = v->sub[d].c;
        for (int i = 0; i < m->n; i++) s += v->sub[d].coef[i] * x[i];
        at = at * v->sub[d].size + s;
    }
    return at;
}

static int32_t combine(int op, int32_t a, int32_t b) { // add, sub, mul, min, max
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    switch (op) {
    case 0: return (int32_t)(x + y);
    case 1: return (int32_t)(x - y);
    case 2: return (int32_t)(x * y);
    case 3: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static int32_t aggregate(Agg agg, int32_t old, int32_t v) {
    static const int op[] = {0, 0, 2, 3, 4};
    return agg == AGG_ASSIGN ? v : combine(op[agg], old, v);
}

// A tiled index 0 runs through its tiles in order, which is its own order.
static void run_plainly(const Model *m, const int32_t *a, const int32_t *b, int32_t *o) {
    int64_t x[MOST_INDICES] = {0}, extent[MOST_INDICES] = {1, 1, 1};
    for (int i = 0; i < m->n; i++) extent[i] = m->extent[i];
    for (x[0] = 0; x[0] < extent[0]; x[0]++)
        for (x[1] = 0; x[1] < extent[1]; x[1]++)
            for (x[2] = 0; x[2] < extent[2]; x[2]++) {
                int64_t left = m->limit;
                for (int i = 0; i < m->n; i++) left -= m->weight[i] * x[i];
                if (m->constrained && left < 0) continue;
                int32_t v = combine(m->op, a[place_of(m, &m->a, x)], b[place_of(m, &m->b, x)]);
                if (m->indexed) v = combine(0, v, (int32_t)x[m->n - 1]);
                int64_t at = place_of(m, &m->o, x);
                o[at] = aggregate(m->agg, o[at], v);
            }
}

// --- Comparing -----------------------------------------------------------------------------------

static int64_t fetch(const Program *p, const LabData *d, int tensor, int32_t *out) {
    int64_t n = tensor_elements(&p->tensors.at[tensor]);
    for (int64_t i = 0; i < n && i < MOST_ELEMENTS; i++) out[i] = (int32_t)lab_value(d, tensor, i);
    return n;
}

static bool agrees(const Program *p, const LabData *got, const int32_t *want) {
    static int32_t o[MOST_ELEMENTS];
    int64_t n = fetch(p, got, 2, o);
    return !memcmp(o, want, (size_t)n * sizeof *o);
}

// As a Program, if no kind orders the loops. Tiles are one iterator again.
static const char *lifted_difference(Lab *lab, const Model *m, const Tree *t, bool flat,
                                     const LabData *start, const int32_t *want) {
    Lift lift = tree_lift(&lab->arena, t);
    if (!lift.program) return flat || lift.reason != LIFT_KIND ? lift.text : NULL;
    if (m->tile >= 2 && lift.program->stmts.at[0].niters != m->n) return "tiles stay apart";
    const Program *p = program_bind(&lab->arena, lift.program, NULL, &lab->diags);
    LabData got = lab_copy(lab, t->program, start);
    if (!p || !program_interpret(&lab->arena, p, got.view, (InterpFlags){0}, &lab->diags))
        return lab_errors(lab);
    return agrees(t->program, &got, want) ? NULL : "the lifted program differs";
}

static const char *difference(Lab *lab, const Model *m, const char *text, uint64_t seed) {
    static int32_t a[MOST_ELEMENTS], b[MOST_ELEMENTS], o[MOST_ELEMENTS];
    Source source = {"random.stripe", text, (uint32_t)strlen(text)};
    Tree *t = stripe_parse(&lab->arena, &lab->names, &source, &lab->diags);
    if (!t) return lab_errors(lab);
    if (tree_verify(&lab->arena, t, NULL, &lab->diags) != VERIFY_OK) return lab_errors(lab);
    LabData start = lab_data(lab, t->program, seed);
    fetch(t->program, &start, 0, a);
    fetch(t->program, &start, 1, b);
    for (int64_t i = 0; i < tensor_elements(&t->program->tensors.at[2]); i++)
        lab_set(&start, 2, i, (double)(i % 5));
    fetch(t->program, &start, 2, o);
    run_plainly(m, a, b, o);
    LabData got = lab_copy(lab, t->program, &start);
    if (!tree_interpret(&lab->arena, t, got.view, (InterpFlags){0}, &lab->diags))
        return lab_errors(lab);
    if (!agrees(t->program, &got, o)) return "the tree interpreter differs";
    const char *wrong = lifted_difference(lab, m, t, !strchr(text, '#'), &start, o);
    if (wrong) return wrong;
    for (Isa isa = ISA_SCALAR; isa < ISA_COUNT; isa++) {
        Machine machine;
        if (!jit_machine(isa, &machine)) continue;
        got = lab_copy(lab, t->program, &start);
        JitResult r =
            jit_run(lab, t, &machine, &got, (InterpFlags){0}, 1 + (int)(seed % 3), seed & 1);
        if (r != JIT_OK) return "machine code does not run";
        if (!agrees(t->program, &got, o)) return "machine code differs";
    }
    return NULL;
}

TEST(random_blocks_mean_what_plain_loops_do) {
    for (int64_t i = 0; i < check_long_rounds(3000); i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        Lab lab;
        lab_begin(&lab);
        Model m = model_of(&state);
        const char *text = text_of(&lab.arena, &m, &state),
                   *wrong = difference(&lab, &m, text, seed);
        if (!CHECK(!wrong)) printf("seed %llu: %s\n%s", (unsigned long long)seed, wrong, text);
        lab_end(&lab);
        if (wrong) return;
    }
}

// --- Is what is read written before? -------------------------------------------------------------

// First some elements are written, then a loop in index order reads one element and writes another.
typedef struct Chain {
    int64_t size, n[2], coef[3], c[3], from; // write, read, write: coef*i + c; the loop from `from`
    bool passed, serial;
} Chain;

static Chain chain_of(uint64_t *state) {
    Chain c = {.passed = check_random(state) % 2, .serial = check_random(state) % 2};
    c.n[0] = between(state, 1, 6);
    c.n[1] = between(state, 1, 12);
    c.from = between(state, 0, 3);
    for (int k = 0; k < 3; k++) {
        c.coef[k] = between(state, k ? 0 : 1, 2);
        c.c[k] = between(state, 0, 4);
        int64_t last = c.coef[k] * (c.n[k > 0] - 1) + c.c[k];
        if (c.size <= last) c.size = last + 1;
    }
    return c;
}

static const char *chain_text(Arena *arena, const Chain *c) {
    Text out = {.arena = arena};
    text_printf(&out, "block []:1 ( out T[0] i32(%d):(1) ) {\n    %sblock [i:%d] ( ", (int)c->size,
                c->serial ? "#serial " : "", (int)c->n[0]);
    if (c->passed)
        text_printf(&out,
                    "out T[0] i32(%d):(1) ) { block [j = %d*i + %d] ( out T[j] i32(1):(1) ) {",
                    (int)c->size, (int)c->coef[0], (int)c->c[0]);
    else
        text_printf(&out, "out T[%d*i + %d] i32(1):(1) ) {", (int)c->coef[0], (int)c->c[0]);
    text_printf(&out, " $a = (i32)1 T = store($a) }%s\n", c->passed ? " }" : "");
    text_printf(&out,
                "    #serial block [i:%d] ( i - %d >= 0\n        in R = T[%d*i + %d] i32(1):(1)\n"
                "        out T[%d*i + %d] i32(1):(1) ) { $r = load(R) T = store($r) }\n}\n",
                (int)c->n[1], (int)c->from, (int)c->coef[1], (int)c->c[1], (int)c->coef[2],
                (int)c->c[2]);
    return text_str(&out);
}

static bool chain_reads_written(const Chain *c) {
    bool written[64] = {0};
    for (int64_t i = 0; i < c->n[0]; i++) written[c->coef[0] * i + c->c[0]] = true;
    for (int64_t i = c->from; i < c->n[1]; i++) {
        if (!written[c->coef[1] * i + c->c[1]]) return false;
        written[c->coef[2] * i + c->c[2]] = true;
    }
    return true;
}

TEST(reads_of_outputs_are_proven_where_something_wrote_them) {
    int64_t proven = 0, rounds = check_long_rounds(3000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        Lab lab;
        lab_begin(&lab);
        Chain c = chain_of(&state);
        const char *text = chain_text(&lab.arena, &c);
        Source source = {"chain.stripe", text, (uint32_t)strlen(text)};
        Tree *t = stripe_parse(&lab.arena, &lab.names, &source, &lab.diags);
        bool right = chain_reads_written(&c);
        bool ok =
            CHECK(t) && CHECK((tree_verify(&lab.arena, t, NULL, &lab.diags) == VERIFY_OK) == right);
        if (!ok) printf("seed %llu: %s\n%s", (unsigned long long)seed, text, lab_errors(&lab));
        proven += right;
        lab_end(&lab);
        if (!ok) return;
    }
    CHECK(proven * 20 > rounds && proven < rounds);
}
