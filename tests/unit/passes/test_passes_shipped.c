// Random changes of the shipped descriptions' lists of passes, on random TC functions of several
// statements: products, windows with borders, guards, gathers, steps that run in order. Passes are
// left out, repeated, moved and given other parameters; the result is always what the interpreter
// computes.
#include "unit/passes/passes_run.h"

#include "lang/lang.h"

#include <stdlib.h>

static int below(uint64_t *state, int n) { return (int)(check_random(state) % (uint64_t)n); }

// --- Functions -----------------------------------------------------------------------------------

// Writes a function: statements over earlier tensors of a rows and b columns.
typedef struct Writer {
    Arena *arena;
    uint64_t *state;
    Text out;
    int a, b, n; // sizes; the tensors T0 to Tn-1 exist, of a rows and b columns
} Writer;

static const char *tensor(Writer *w) {
    int i = below(w->state, w->n + 1);
    return i == w->n ? "A" : arena_printf(w->arena, "T%d", i);
}

static void statement(Writer *w) {
    const char *x = tensor(w), *y = tensor(w);
    int n = w->n;
    text_add(&w->out, "    ");
    switch (below(w->state, 9)) {
    case 0: text_printf(&w->out, "T%d(i,j) +=! %s(i,k) * S(k,j)\n", n, x); break;
    case 1:
        text_printf(&w->out, "T%d(i,j) +=! pad(%s(i + r - 1, j)) * K(r) where i in 0:%d\n", n, x,
                    w->a);
        break;
    case 2: text_printf(&w->out, "T%d(i,j) = %s(i,j) - %s(i,j)\n", n, x, y); break;
    case 3:
        text_printf(&w->out, "T%d(i,j) = i > j ? %s(i,j) : %s(i,%d - j)\n", n, x, y, w->b - 1);
        break;
    case 4: text_printf(&w->out, "T%d(i,j) = %s(X(i),j) + v(j)\n", n, x); break;
    case 5:
        text_printf(&w->out,
                    "T%d(i,j) max=! pad(%s(i, j + s - 1)) where s in 0:3, i in 0:%d, j in 0:%d\n",
                    n, x, w->a, w->b);
        break;
    case 6:
        text_printf(&w->out, "T%d(i,j) = %s(i,j) where i in 0:1, j in 0:%d\n", n, x, w->b);
        if (w->a > 1)
            text_printf(&w->out, "    for t in 1:%d { T%d(t,j) = %s(t,j) - T%d(t - 1,j) }\n", w->a,
                        n, y, n);
        break;
    case 7:
        text_printf(&w->out, "m%d(i) max=! %s(i,j)\n    T%d(i,j) = %s(i,j) - m%d(i)\n", n, x, n, y,
                    n);
        break;
    default:
        text_printf(&w->out, "u%d(j,i) = %s(i,j)\n    T%d(i,j) = u%d(j,i) + v(j)\n", n, x, n, n);
    }
    w->n++;
}

static const char *function_of(Arena *arena, uint64_t *state) {
    Writer w = {.arena = arena, .state = state, .out = {.arena = arena}};
    w.a = 3 + below(state, 9);
    w.b = 1 + below(state, 9);
    const char *type = below(state, 3) ? "float" : "double";
    int statements = 1 + below(state, 4);
    text_printf(&w.out,
                "def f(%s(%d,%d) A, %s(%d,%d) S, %s(3) K, %s(%d) v, int32(%d) X) -> (T%d) {\n",
                type, w.a, w.b, type, w.b, w.b, type, type, w.b, w.a, statements - 1);
    while (w.n < statements) statement(&w);
    text_add(&w.out, "}\n");
    return text_str(&w.out);
}

static void read_function(TreeRun *r, const char *text) {
    tr_init(r);
    const Source *source = tr_source(r, "f.tc", text);
    r->diags.source = source;
    Module *m = tc_infer(tc_parse(&r->arena, &r->names, source, &r->diags));
    int64_t none = 0;
    if (!r->diags.errors && m->programs.n)
        r->p = program_bind(&r->arena, m->programs.at[0], &none, &r->diags);
    r->diags.source = NULL;
}

// --- Lists ---------------------------------------------------------------------------------------

static void add_value(Text *out, uint64_t *state, const Hardware *h, const PassParam *p) {
    static const char *const tags[] = {"#contraction", "#tiles", "#zero",    "#eltwise", "#copy",
                                       "#kernel",      "#cache", "#stencil", "#mine"};
    double most = p->most - p->least < 50 ? p->most : p->least + 50;
    double value = p->least + (most - p->least) * below(state, 21) / 20;
    switch (p->kind) {
    case PASS_INT:
    case PASS_BYTES:
        text_printf(out, "%.0f", strcmp(p->name, "most") ? value : 1 + below(state, 4));
        break;
    case PASS_REAL: text_printf(out, "%g", p->least < -1 ? 1 : value); break;
    case PASS_FLAG: text_add(out, below(state, 2) ? "yes" : "no"); break;
    case PASS_TAGS: text_add(out, tags[below(state, (int)(sizeof tags / sizeof *tags))]); break;
    case PASS_MEMORY: text_add(out, h->memory.at[below(state, h->memory.n)].name); break;
    case PASS_COMPUTE: text_add(out, h->compute.at[below(state, h->compute.n)].name); break;
    case PASS_TRANSFER: text_add(out, h->transfer.at[below(state, h->transfer.n)].name); break;
    case PASS_STENCIL: text_add(out, h->stencil.at[below(state, h->stencil.n)].name); break;
    case PASS_NAME: text_add(out, below(state, 2) ? "stencil_n" : "A"); break;
    }
}

static bool has_units(const Hardware *h, PassKind kind) {
    if (kind == PASS_MEMORY) return h->memory.n;
    if (kind == PASS_COMPUTE) return h->compute.n;
    if (kind == PASS_TRANSFER) return h->transfer.n;
    return kind != PASS_STENCIL || h->stencil.n;
}

static void add_params(Text *out, uint64_t *state, const Hardware *h, const PassInfo *pass,
                       int one_in) {
    for (int i = 0; i < pass_params(pass); i++) {
        if (below(state, one_in) || !has_units(h, pass->param[i].kind)) continue;
        text_printf(out, " %s=", pass->param[i].name);
        add_value(out, state, h, &pass->param[i]);
    }
    text_char(out, '\n');
}

// The description with some passes dropped, some changed, and others added anywhere.
static const char *changed(Arena *arena, uint64_t *state, const Hardware *h, const char *name) {
    Text out = {.arena = arena};
    text_printf(&out, "machine changed\ninclude %s\n", name);
    for (int n = below(state, 5); n > 0; n--) {
        const PassInfo *pass = &pass_info[below(state, pass_count)];
        text_printf(&out, "pass %s as=new%d", pass->name, n);
        if (below(state, 2))
            text_printf(&out, " before=%s", h->pass.at[below(state, h->pass.n)].label);
        add_params(&out, state, h, pass, 3);
    }
    for (int i = 0; i < h->pass.n; i++) {
        if (below(state, 6) == 0)
            text_printf(&out, "drop %s\n", h->pass.at[i].label);
        else if (below(state, 6) == 0) {
            text_printf(&out, "set %s", h->pass.at[i].label);
            add_params(&out, state, h, h->pass.at[i].pass, 5);
        }
    }
    return text_str(&out);
}

// --- Trials --------------------------------------------------------------------------------------

static const Hardware *described(TreeRun *r, const char *text) {
    return hardware_parse(&r->arena, &r->names, tr_source(r, "m.lwm", text), NULL, NULL, &r->diags);
}

static bool runs_right(uint64_t seed, int64_t *bound) {
    Arena arena;
    arena_init(&arena, &allocator_libc);
    uint64_t state = seed * 977 + 3;
    const char *function = function_of(&arena, &state),
               *name = shipped_name(below(&state, shipped_count()));
    TreeRun r;
    read_function(&r, function);
    bool ok = r.p != NULL;
    *bound += ok;
    if (!ok) printf("refused: %s%s", function, tr_diags(&r));
    const Hardware *shipped = ok ? described(&r, shipped_text(name)) : NULL;
    const char *list = shipped ? changed(&arena, &state, shipped, name) : "";
    const Hardware *h = shipped ? described(&r, list) : NULL;
    const Tree *t = h ? apart(&r) : NULL;
    Passes p = {0};
    ok = ok && t && passes_run(&r.arena, h, t, &(PassesOptions){0}, &p, &r.diags);
    if (ok) computing(&r, &p);
    ok = CHECK(ok) && !tr_diags(&r)[0];
    if (!ok) printf("seed %llu\n%s\n%s%s", (unsigned long long)seed, function, list, tr_diags(&r));
    tr_end(&r);
    arena_free(&arena);
    return ok;
}

TEST(changed_lists_of_shipped_machines_are_right) {
    int64_t rounds = check_long_rounds(60), bound = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!runs_right(check_first_seed() + (uint64_t)i, &bound)) break;
    CHECK(bound > 0);
}
