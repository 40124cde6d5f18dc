// TeML: random programs with random paths of transformations. What is accepted computes what the
// assignments say, by the tree interpreter and by machine code, and the trace checker finds no two
// iterations of an unordered loop in conflict. What is refused as illegal is counted as wrong when
// it is applied all the same, and each alternative that the refusal names is legal and right.
#include "unit/check.h"

#include "base/random.h"
#include "lang/lang.h"
#include "loopwright.h"
#include "tree/trace.h"
#include "tree/tree_interp.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

// --- Running -------------------------------------------------------------------------------------

typedef struct Lab {
    Arena arena, scratch;
    Names names;
    DiagList diags;
    TemlResult r;
} Lab;

static void lab_open(Lab *lab, const char *text, bool unchecked) {
    *lab = (Lab){0};
    arena_init(&lab->arena, &allocator_libc);
    arena_init(&lab->scratch, &allocator_libc);
    lab->names.arena = &lab->arena;
    lab->diags.arena = &lab->arena;
    Source *source = arena_new(&lab->arena, Source);
    *source = (Source){"random.teml", text, (uint32_t)strlen(text)};
    TemlOptions options = {.trust = unchecked ? TEML_UNCHECKED : TEML_PROVEN};
    lab->r = teml_parse(&lab->arena, &lab->scratch, &lab->names, source, &options, &lab->diags);
}

static void lab_close(Lab *lab) {
    arena_free(&lab->arena);
    arena_free(&lab->scratch);
}

static void fill(const Program *p, uint64_t seed, double **data, View *views) {
    for (int i = 0; i < p->tensors.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        int64_t n = tensor_elements(t), *size = calloc((size_t)t->rank * 2 + 1, sizeof *size);
        uint64_t state = seed + (uint64_t)i;
        data[i] = calloc((size_t)n + 1, sizeof **data);
        for (int64_t k = 0; k < n; k++) data[i][k] = 1 + random_below(&state, 5);
        int64_t *stride = size + t->rank, step = 1;
        for (int d = t->rank - 1; d >= 0; step *= size[d--]) {
            size[d] = tensor_size(t, d);
            stride[d] = step;
        }
        views[i] = (View){data[i], TYPE_F64, t->rank, size, stride};
    }
}

static void forget(const Program *p, double **data, View *views) {
    for (int i = 0; i < p->tensors.n; i++) {
        free(data[i]);
        free((void *)views[i].size);
    }
}

// Does the Tree of the first function compute what its reference does, bit by bit?
static bool same_result(Lab *lab, uint64_t seed) {
    const Program *p = lab->r.module->programs.at[0];
    const Tree *tree[2] = {lab->r.module->references.at[0], lab->r.module->trees.at[0]};
    double *data[2][64];
    View views[2][64];
    bool same = true;
    fill(p, seed, data[0], views[0]);
    fill(p, seed, data[1], views[1]);
    CHECK(tree_interpret(&lab->scratch, tree[0], views[0], (InterpFlags){0}, &lab->diags));
    same = tree_trace(&lab->scratch, tree[1], views[1], NULL, &lab->diags);
    for (int i = 0; i < p->tensors.n; i++)
        same &= !memcmp(data[0][i], data[1][i],
                        (size_t)tensor_elements(&p->tensors.at[i]) * sizeof(double));
    for (int i = 0; i < 2; i++) forget(p, data[i], views[i]);
    return same;
}

// --- Random programs -----------------------------------------------------------------------------

typedef struct Gen {
    uint64_t state;
    char text[8192];
    int loops; // l0, l1, ... are loops
} Gen;

__attribute__((format(printf, 2, 3))) static void add(Gen *g, const char *format, ...) {
    size_t len = strlen(g->text);
    va_list args;
    va_start(args, format);
    vsnprintf(g->text + len, sizeof g->text - len, format, args);
    va_end(args);
}

static int pick(Gen *g, int n) { return random_below(&g->state, n); }

// One or two assignments and their loops.
static void kernel(Gen *g) {
    int n = 2 + pick(g, 5), m = 2 + pick(g, 5), k = 2 + pick(g, 4);
    add(g, "A = tensor([%d, %d])\nB = tensor([%d, %d])\nC = tensor([%d, %d])\n", n, k, k, m, n, m);
    int which = pick(g, 9);
    bool plain = which < 2 || which == 8;
    switch (which) {
    case 0: add(g, "C = contract(A, B, [2, 1])\n"); break;
    case 1:
        add(g, "t = vcontract(A, B, [2, 1])\nS = tensor([%d, %d])\n", n, m);
        add(g, "C = entrywise_%s(S, t)\n", pick(g, 2) ? "mul" : "add");
        break;
    case 2: // a recurrence along two diagonals
        add(g, "R = tensor([%d, %d])\n", n + 2, m + 2);
        add(g, "C = @R: eq(R, [i1 + %d, i2 + %d] -> [i1 + %d, i2 + %d])\n", pick(g, 3), pick(g, 3),
            pick(g, 3), pick(g, 3));
        break;
    case 3: // the order of a sum that is none
        add(g, "c = tensor([%d])\nC = @c: sub(A, c, [[i1, i2], [i1]] -> [i1])\n", n);
        break;
    case 4: // in place
        add(g, "Q = tensor([%d, %d])\nC = @Q: eq(Q, [i1, i2] -> [i2, i1])\n", n, n);
        break;
    case 5: // a window
        add(g, "W = tensor([%d])\nV = tensor([%d])\nO = tensor([%d])\n", k, n + k - 1, n);
        add(g, "v = vmul(V, W, [[i1 + i2], [i2]])\nC = @O: add(O, v, [[i1], ] -> [i1])\n");
        break;
    case 6: // a scatter that adds
        add(g, "W = tensor([%d])\nO = tensor([%d])\n", k, n + k - 1);
        add(g, "V = tensor([%d])\nv = vmul(V, W, [[i1], [i2]])\n", n);
        add(g, "C = @O: add(O, v, [[i1 + i2], ] -> [i1 + i2])\n");
        break;
    case 7: // a scatter that assigns
        add(g, "O = tensor([%d])\nC = @O: eq(A, [i1, i2] -> [i1 + i2])\n", n + k - 1);
        break;
    case 8: // a contraction inside a difference
        add(g, "S = tensor([%d, %d])\nt = vcontract(A, B, [2, 1])\nC = entrywise_sub(S, t, S)\n", n,
            m);
        break;
    }
    add(g, "l0 = build(C)\n");
    g->loops = 1;
    if (pick(g, 2)) { // and two more, the second of which may read or write what the first does
        int d = pick(g, 2), e = pick(g, 2), w = pick(g, 2);
        bool back = d == e && !w && pick(g, 2);
        add(g, "X = tensor([%d, %d])\nY = tensor([%d, %d])\n", n, m, n + d, m + w);
        add(g, "X = eq(Y, [i1 + %d, i2 + %d] -> [i1, i2])\n", d, w);
        add(g, "Z = tensor([%d, %d])\n", n + e, m);
        add(g, "x = @%s: eq(%s, [i1, i2] -> [i1 + %d, i2])\n", back ? "Y" : "Z",
            plain && pick(g, 2) ? "C" : "X", e);
        add(g, "l1 = build(X)\nl2 = build(x)\n");
        g->loops = 3;
    }
}

static void transformation(Gen *g) {
    int l = pick(g, g->loops), r = 1 + pick(g, 4), v = 1 + pick(g, 4);
    add(g, "l%d = ", g->loops);
    switch (pick(g, 14)) {
    case 0: add(g, "stripmine(l%d, %d, %d)\n", l, r, v); break;
    case 1:
    case 2: add(g, "interchange(l%d, %d, %d)\n", l, r, 1 + pick(g, 4)); break;
    case 3:
    case 4: add(g, "fuse_outer(l%d, l%d, %d)\n", l, pick(g, g->loops), 1 + pick(g, 2)); break;
    case 5: add(g, "fuse_inner(l%d, %d)\n", l, r); break;
    case 6: add(g, "unroll(l%d, %d%s)\n", l, r, pick(g, 2) ? ", 2" : ""); break;
    case 7: add(g, "unroll_and_jam(l%d, %d, 2)\n", l, r); break;
    case 8: add(g, "tile(l%d, %d)\n", l, v); break;
    case 9: add(g, "interchange_n(l%d, %d, %d)\n", l, r, 1 + pick(g, 2)); break;
    case 10: add(g, "stripmine_n(l%d, %d, %d)\n", l, r, v); break;
    case 11: add(g, "%s(l%d, %d)\n", pick(g, 2) ? "parallelize" : "vectorize", l, r); break;
    case 12:
    case 13: add(g, "skew(l%d, %d, %d, %d)\n", l, r, r + 1 + pick(g, 2), v - 2); break;
    }
}

static bool is_illegal(const Lab *lab) {
    for (int i = 0; i < lab->diags.items.n; i++)
        if (lab->diags.items.at[i]->id == DIAG_TEML_ILLEGAL) return true;
    return false;
}

typedef struct Count {
    int64_t accepted, malformed, illegal, wrong, alternatives, skewed;
} Count;

// The text with a function of its newest loop.
static void open_newest(Lab *lab, const Gen *g, int newest, bool unchecked, char *text,
                        size_t size) {
    snprintf(text, size, "%scodegen(l%d)\n", g->text, newest);
    lab_open(lab, text, unchecked);
}

// What is illegal is applied all the same: does the result differ?
static void apply_unchecked(const Gen *g, uint64_t seed, Count *count) {
    static char text[9000];
    Lab lab;
    open_newest(&lab, g, g->loops, true, text, sizeof text);
    if (CHECK(lab.r.module->programs.n == 1 && !lab.diags.errors))
        count->wrong += !same_result(&lab, seed);
    else
        fprintf(stderr, "seed %llu: %s\n%s", (unsigned long long)seed, lab.diags.items.at[0]->text,
                text);
    lab_close(&lab);
}

static const char *alternatives(const Lab *lab) {
    static const char head[] = "legal instead: ";
    for (int i = 0; i < lab->diags.items.n; i++)
        for (const Diag *d = lab->diags.items.at[i]->notes; d; d = d->next)
            if (d->id == DIAG_EDIT_NEAR_NOTE) return d->text + strlen(head);
    return "";
}

// Each alternative in place of the refused step.
static void apply_alternatives(const Gen *g, size_t before, const char *list, uint64_t seed,
                               Count *count) {
    static char text[9000];
    for (size_t len; *list; list += len + (list[len] ? 2 : 0)) {
        Lab lab;
        len = strcspn(list, ";");
        const char *skew = strstr(list, " after ");
        if (skew && skew > list + len) skew = NULL;
        size_t own = skew ? (size_t)(skew - list) : len,
               first = skew ? own + strlen(" after ") : len;
        snprintf(text, sizeof text, "%.*s%.*s\nl%d = %.*s\ncodegen(l%d)\n", (int)before, g->text,
                 (int)(len - first), list + first, g->loops, (int)own, list, g->loops);
        count->skewed += skew != NULL;
        lab_open(&lab, text, false);
        count->alternatives++;
        if (!CHECK(!lab.diags.errors && lab.r.module->programs.n == 1) ||
            !CHECK(same_result(&lab, seed)))
            fprintf(stderr, "seed %llu:\n%s", (unsigned long long)seed, text);
        lab_close(&lab);
    }
}

static void run_machine_code(const char *text, uint64_t seed) {
    lw_context *ctx = lw_context_new(NULL);
    lw_parse_options o = {.struct_size = sizeof o, .language = LW_LANG_TEML};
    lw_tune_options how = {.struct_size = sizeof how, .seed = seed, .threads = 1 + (int)(seed % 2)};
    const lw_check_result *c = NULL;
    lw_module *mod = NULL;
    lw_bound *b = NULL;
    if (CHECK(lw_parse(ctx, "t", text, strlen(text), &o, &mod) == LW_OK) &&
        CHECK(lw_bind(ctx, lw_module_function(mod, 0), NULL, 0, &b) == LW_OK) &&
        CHECK(lw_check(ctx, b, &how, &c) == LW_OK))
        if (!CHECK(c->state == LW_TRIAL_TIMED))
            fprintf(stderr, "seed %llu: %s\n%s", (unsigned long long)seed, c->difference, text);
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

static void one_path(uint64_t seed, Count *count, bool machine_code) {
    static char text[9000];
    Gen g = {.state = seed};
    Lab lab;
    kernel(&g);
    for (int i = 0; i < 6; i++) {
        size_t before = strlen(g.text);
        transformation(&g);
        open_newest(&lab, &g, g.loops, false, text, sizeof text);
        bool ok = !lab.diags.errors, illegal = is_illegal(&lab);
        if (ok && CHECK(lab.r.module->programs.n == 1)) {
            count->accepted++;
            if (!CHECK(same_result(&lab, seed)))
                fprintf(stderr, "seed %llu:\n%s", (unsigned long long)seed, text);
        }
        count->illegal += illegal;
        count->malformed += !ok && !illegal;
        if (illegal) apply_alternatives(&g, before, alternatives(&lab), seed, count);
        lab_close(&lab);
        if (illegal) apply_unchecked(&g, seed, count);
        if (ok && machine_code) run_machine_code(text, seed);
        if (ok)
            g.loops++;
        else
            g.text[before] = 0;
    }
}

// --- Limits --------------------------------------------------------------------------------------

// `unit` again and again between `head` and `tail`; of statements each gets a name of its own.
static void check_limit(const char *head, const char *unit, int n, const char *tail, DiagId id) {
    Arena arena;
    Lab lab;
    arena_init(&arena, &allocator_libc);
    Text text = {.arena = &arena};
    text_add(&text, head);
    for (int i = 0; i < n; i++) {
        text_add(&text, unit);
        if (id == DIAG_TEML_STATEMENTS) text_printf(&text, "%d = scalar()\n", i);
    }
    text_add(&text, tail);
    lab_open(&lab, text_str(&text), false);
    CHECK(lab.diags.errors == 1 && lab.diags.items.at[0]->id == id);
    CHECK_INT_EQ(lab.r.module->programs.n, 0);
    lab_close(&lab);
    arena_free(&arena);
}

TEST(teml_limits_are_diagnosed) {
    check_limit("A = tensor([2])\ninit(A, [1", ", 1", 1100, "])\n", DIAG_TEML_LONG);
    check_limit("", "# a line that says nothing at all\n", 40000, "", DIAG_TEML_SIZE);
    check_limit("", "a", 4200, "", DIAG_TEML_STATEMENTS);
}

// Writes a program again in which each transformation is a function of its first loop, called with
// a number from a loop or from a parameter.
static void wrap(Gen *g, const char *core) {
    char target[16], op[24], loop[16], rest[40];
    g->text[0] = 0;
    for (const char *line = core; *line; line += strcspn(line, "\n") + 1) {
        int f = (int)(line - core), number, at = 0;
        if (sscanf(line, "%15[l0-9] = %23[a-z_](%15[l0-9], %39[^)]", target, op, loop, rest) != 4) {
            add(g, "%.*s\n", (int)strcspn(line, "\n"), line);
            continue;
        }
        for (int i = 0; rest[i]; i++)
            if (rest[i] == ' ' || !i) at = i;
        number = atoi(rest + at);
        bool loops = pick(g, 2);
        if (!loops) add(g, "param p%d = %d\n", f, number + 1);
        add(g, "def f%d(x, v) {\n    y = %s(x, %.*s 2*v - v)\n    return y\n}\n", f, op, at, rest);
        if (loops)
            add(g, "for q in %d:%d { %s = f%d(%s, q) }\n", number, number + 1, target, f, loop);
        else
            add(g, "%s = f%d(%s, p%d - 1)\n", target, f, loop, f);
    }
}

// Compares the text of the newest function's loops.
TEST(teml_functions_expand_to_their_bodies) {
    int same = 0;
    for (int64_t i = 0; i < check_rounds(2000); i++) {
        Gen g = {.state = (uint64_t)i + 77}, wrapped = {.state = (uint64_t)i};
        Lab core, meta;
        Text text[2];
        kernel(&g);
        for (int k = pick(&g, 4); k >= 0; k--) transformation(&g), g.loops++;
        add(&g, "codegen(l%d)\n", g.loops - 1);
        wrap(&wrapped, g.text);
        lab_open(&core, g.text, false);
        lab_open(&meta, wrapped.text, false);
        CHECK_INT_EQ(core.diags.errors, meta.diags.errors);
        CHECK_INT_EQ(core.r.module->trees.n, meta.r.module->trees.n);
        for (int k = 0; k < core.r.module->trees.n && k < meta.r.module->trees.n; k++) {
            text[0] = text[1] = (Text){.arena = &core.arena};
            tree_show(&text[0], core.r.module->trees.at[k], false);
            tree_show(&text[1], meta.r.module->trees.at[k], false);
            if (!CHECK_STR_EQ(text_str(&text[0]), text_str(&text[1]))) fputs(wrapped.text, stderr);
            same++;
        }
        lab_close(&core);
        lab_close(&meta);
    }
    CHECK(same > 0 || check_rounds(2000) < 20);
}

// --- Without a path ------------------------------------------------------------------------------

typedef struct Run {
    lw_module *mod;
    lw_bound *b;
    double data[16][256];
    DLTensor t[16];
} Run;

// Arguments are small whole numbers: results are exact in any order. False: no Program.
static bool run_one(lw_context *ctx, const char *text, bool no_path, Run *r) {
    lw_parse_options o = {.struct_size = sizeof o, .language = LW_LANG_TEML, .no_path = no_path};
    lw_run_options how = {.struct_size = sizeof how, .backend = LW_BACKEND_INTERP};
    const DLTensor *args[16];
    *r = (Run){0};
    if (lw_parse(ctx, "t", text, strlen(text), &o, &r->mod)) return false;
    const lw_function *f = lw_module_function(r->mod, 0);
    size_t n = lw_function_input_count(f) + lw_function_output_count(f);
    if (!CHECK(n <= 16) || !CHECK(!lw_bind(ctx, f, NULL, 0, &r->b))) return false;
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 256; k++) r->data[i][k] = 1 + (int)(7 * i + 3 * (size_t)k) % 5;
        r->t[i] = *lw_bound_tensor(r->b, i);
        r->t[i].data = r->data[i];
        args[i] = &r->t[i];
    }
    if (no_path) how.backend = LW_BACKEND_JIT;
    return CHECK(!lw_run(ctx, r->b, args, n, &how));
}

static void run_free(Run *r) {
    lw_bound_free(r->b);
    lw_module_free(r->mod);
}

// Loops that are chosen for the assignments compute what the assignments say; recurrences stay.
TEST(teml_assignments_are_programs) {
    int64_t lifted = 0, kept = 0;
    lw_context *ctx = lw_context_new(NULL);
    for (int64_t i = 0; i < check_long_rounds(300); i++) {
        static Run a, b;
        static char text[9000];
        Gen g = {.state = check_first_seed() + (uint64_t)i};
        kernel(&g);
        snprintf(text, sizeof text, "%scodegen(l%d)\n", g.text, pick(&g, g.loops));
        bool program = run_one(ctx, text, true, &b);
        if (!program && !CHECK(strstr(lw_diag_text(ctx), "cannot be chosen")))
            fputs(lw_diag_text(ctx), stderr);
        CHECK(run_one(ctx, text, false, &a));
        if (program && !CHECK(!memcmp(a.data, b.data, sizeof a.data)))
            fprintf(stderr, "seed %lld:\n%s", (long long)i, text);
        lifted += program, kept += !program;
        run_free(&a);
        run_free(&b);
    }
    printf("%lld functions without a path, %lld keep their order\n", (long long)lifted,
           (long long)kept);
    CHECK(check_long_rounds(300) < 10 || (lifted && kept));
    lw_context_free(ctx);
}

TEST(teml_random_paths_keep_results) {
    Count c = {0};
    int64_t rounds = check_long_rounds(4000);
    for (int64_t i = 0; i < rounds; i++)
        one_path(check_first_seed() + (uint64_t)i, &c, i % 50 == 0);
    printf("%lld paths: %lld steps accepted, all right; %lld malformed; %lld illegal, of which "
           "%lld change the result on the data of the test; %lld alternatives, all legal, %lld of "
           "them after a skew\n",
           (long long)rounds, (long long)c.accepted, (long long)c.malformed, (long long)c.illegal,
           (long long)c.wrong, (long long)c.alternatives, (long long)c.skewed);
    CHECK(c.accepted > 0);
    if (rounds < 1000) return;
    CHECK(c.illegal > 100 && c.alternatives > 100 && c.skewed > 10);
    CHECK(c.wrong * 2 > c.illegal); // most refusals are needed on the data of the test
}
