// What is read was written before: random Programs against brute force over elements (the
// interpreter, which traps reads of elements that nothing wrote), and Programs too large for that.
#include "unit/check.h"
#include "support/proglab.h"

#include <string.h>

enum { RANK = 3, MOST = 7 };

typedef struct Gen {
    uint64_t seed;
    Text out;
    int rank;
    int64_t size[RANK];
    bool data; // a guard reads data; those are all true
} Gen;

static int64_t pick(Gen *g, int64_t n) { return (int64_t)(check_random(&g->seed) % (uint64_t)n); }

// --- One statement -----------------------------------------------------------------------------

typedef struct Form {
    int n;
    int64_t lo[8], hi[8];
    char sub[RANK][64];
} Form;

static int iter(Form *f, int64_t lo, int64_t hi) {
    f->lo[f->n] = lo;
    f->hi[f->n] = hi;
    return f->n++;
}

// A part of the dimension, mostly all of it.
static void part(Gen *g, int64_t size, int64_t *lo, int64_t *hi) {
    *lo = pick(g, 3) ? 0 : pick(g, size);
    *hi = pick(g, 3) ? size : *lo + 1 + pick(g, size - *lo);
}

static void sub_digits(Gen *g, Form *f, char *out, int64_t size) {
    int64_t step = 2 + pick(g, 2), low = pick(g, step + 2), first = pick(g, 2);
    int64_t most = (size - 1 - first - low) / step;
    if (size - 1 - first - low < 0) low = 0, most = (size - 1 - first) / step;
    int i = iter(f, 0, most + 1);
    if (low == 0)
        snprintf(out, 64, "%lld*i%d + %lld", (long long)step, i, (long long)first);
    else
        snprintf(out, 64, "%lld*i%d + i%d + %lld", (long long)step, i, iter(f, 0, low + 1),
                 (long long)first);
}

static void make_sub(Gen *g, Form *f, int d) {
    char *out = f->sub[d];
    int64_t size = g->size[d], lo, hi;
    part(g, size, &lo, &hi);
    switch (pick(g, 9)) {
    case 0: snprintf(out, 64, "%lld", (long long)lo); return;
    case 1:
        if (size > 1) return sub_digits(g, f, out, size);
        break;
    case 2: // what another subscript is made of
        if (f->n) return (void)snprintf(out, 64, "i%d", (int)pick(g, f->n));
        break;
    case 3: snprintf(out, 64, "%lld - i%d", (long long)(size - 1), iter(f, lo, hi)); return;
    case 4: {
        int64_t by = 2 + pick(g, 2);
        int i = iter(f, lo * by, hi * by - pick(g, 2));
        snprintf(out, 64, "i%d/%lld", i, (long long)by);
        if (d + 1 < g->rank && g->size[d + 1] >= by)
            snprintf(f->sub[d + 1], 64, "i%d%%%lld", i, (long long)by);
        return;
    }
    case 5: snprintf(out, 64, "min(i%d, %lld)", iter(f, lo, hi + 2), (long long)(size - 1)); return;
    default: break;
    }
    snprintf(out, 64, "i%d", iter(f, lo, hi));
}

static void make_form(Gen *g, Form *f) {
    *f = (Form){0};
    for (int d = 0; d < g->rank; d++)
        if (!f->sub[d][0]) make_sub(g, f, d);
}

static void print_for(Gen *g, const Form *f) {
    for (int i = 0; i < f->n; i++)
        text_printf(&g->out, "%s i%d in %lld:%lld", i ? "," : "for", i, (long long)f->lo[i],
                    (long long)f->hi[i]);
}

static void print_element(Gen *g, const Form *f) {
    text_add(&g->out, "T[");
    for (int d = 0; d < g->rank; d++) text_printf(&g->out, "%s%s", d ? ", " : "", f->sub[d]);
    text_add(&g->out, "]");
}

static void write_stmt(Gen *g) {
    Form f;
    make_form(g, &f);
    int reduced = pick(g, 4) == 0 ? iter(&f, 0, pick(g, 3)) : -1;
    bool assign = reduced < 0 && pick(g, 2);
    print_for(g, &f);
    if (f.n >= 2 && pick(g, 4) == 0)
        text_printf(&g->out, " if i0 - i1 + %lld >= 0", (long long)pick(g, 3));
    else if (f.n && pick(g, 6) == 0)
        text_printf(&g->out, " if %lld - i0%%3 >= 0", (long long)pick(g, 3));
    text_add(&g->out, "\n        ");
    print_element(g, &f);
    text_add(&g->out, assign ? " = 1.0\n" : pick(g, 6) ? " +=! 1.0\n" : " += 1.0\n");
}

static void print_guard(Gen *g, const Form *f) {
    int i = (int)pick(g, f->n), j = (int)pick(g, f->n);
    switch (pick(g, 7)) {
    case 0: text_printf(&g->out, "index(i%d) < index(i%d)", i, j); break;
    case 1: text_printf(&g->out, "index(i%d) != i64(%lld)", i, (long long)pick(g, 4)); break;
    case 2: text_printf(&g->out, "index((i%d + i%d)%%2) == i64(0)", i, j); break;
    case 3:
        text_printf(&g->out, "index(i%d) >= i64(%lld) || index(i%d) < i64(%lld)", i,
                    (long long)pick(g, 5), j, (long long)pick(g, 4));
        break;
    case 4: text_printf(&g->out, "!(index(i%d) <= index(i%d))", i, j); break;
    default:
        text_printf(&g->out, "index(i%d) <= i64(%lld) && index(i%d) >= i64(%lld)", i,
                    (long long)pick(g, MOST), j, (long long)pick(g, 3));
    }
}

static void read_stmt(Gen *g) {
    Form f;
    make_form(g, &f);
    print_for(g, &f);
    text_add(&g->out, "\n        O[] +=! ");
    bool guarded = f.n && pick(g, 2);
    g->data = pick(g, 8) == 0;
    if (g->data) text_add(&g->out, "select(D[], ");
    if (guarded) text_add(&g->out, "select("), print_guard(g, &f), text_add(&g->out, ", ");
    print_element(g, &f);
    if (guarded) text_add(&g->out, ", 0.0)");
    if (g->data) text_add(&g->out, ", 0.0)");
    text_add(&g->out, "\n");
}

// --- Against brute force -----------------------------------------------------------------------

static const char *make_body(Gen *g, Arena *arena) {
    g->out = (Text){.arena = arena};
    int writers = 1 + (int)pick(g, 3);
    for (int w = 0; w < writers; w++) write_stmt(g);
    read_stmt(g);
    return text_str(&g->out);
}

static const char *make_program(Gen *g, Lab *lab, const char *role, const char *body) {
    Text t = {.arena = &lab->arena};
    text_printf(&t, "program f {\n    input D: bool[]\n    output O: f32[]\n    %s T: f32[", role);
    for (int d = 0; d < g->rank; d++)
        text_printf(&t, "%s%lld", d ? ", " : "", (long long)g->size[d]);
    text_printf(&t, "]\n    %s}\n", body);
    return text_str(&t);
}

// Does a statement read an element of T that nothing wrote? -1: the Program is wrong otherwise.
static int brute_force(Gen *g, Lab *lab, const char *body) {
    Program *p = lab_program(lab, make_program(g, lab, "inout", body), NULL);
    if (!p) return -1;
    int t = program_find_tensor(p, name_of(&lab->names, "T"));
    LabData d = lab_data(lab, p, 1);
    *(uint8_t *)d.view[0].data = 1;
    p->tensors.at[t].role = ROLE_OUTPUT;
    InterpFlags trap = {.trap_uninitialised = true};
    if (program_interpret(&lab->arena, p, d.view, trap, &lab->diags)) return 0;
    return lab->diags.items.at[0]->id == DIAG_RUN_UNINITIALISED ? 1 : -1;
}

static int tried, unwritten, maybe;

static bool try_one(uint64_t seed) {
    Gen g = {.seed = seed * 77 + 5};
    Lab lab, own;
    lab_begin(&lab);
    lab_begin(&own);
    g.rank = 1 + (int)pick(&g, RANK);
    for (int d = 0; d < g.rank; d++) g.size[d] = 1 + pick(&g, MOST);
    const char *body = make_body(&g, &lab.arena);
    int want = brute_force(&g, &lab, body);
    bool ok = true;
    if (want >= 0) {
        const char *text = make_program(&g, &own, "temp", body);
        bool refused = !lab_program(&own, text, NULL), warned = own.diags.warnings > 0;
        bool first = strstr(lab_errors(&own), "is read before anything defines it");
        tried++;
        unwritten += want;
        maybe += warned;
        if (!first) ok = g.data ? (warned || refused) == want : refused == want && !warned;
        if (!ok)
            fprintf(stderr, "%s%s: %s\n%s%s", text, want ? "reads unwritten" : "reads written",
                    refused ? "refused" : "accepted", lab_errors(&own), lab_errors(&lab));
    }
    lab_end(&lab);
    lab_end(&own);
    return ok;
}

TEST(random_partial_definitions_against_brute_force) {
    uint64_t first = check_first_seed();
    int64_t rounds = check_long_rounds(20000);
    tried = unwritten = maybe = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!CHECK(try_one(first + (uint64_t)i))) return;
    if (rounds < 300) return;
    CHECK(tried * 3 > rounds);
    CHECK(unwritten * 8 > tried && unwritten * 8 < tried * 7);
    CHECK(maybe > 0 || !check_usual_rounds());
}

// --- Too large to enumerate --------------------------------------------------------------------

// Binds, with exactly so many errors and no warning.
static void expect(const char *text, int errors, const char *words) {
    Lab lab;
    lab_begin(&lab);
    lab_program(&lab, text, NULL);
    CHECK_INT_EQ(lab.diags.errors, errors);
    CHECK_INT_EQ(lab.diags.warnings, 0);
    if (words && !CHECK(strstr(lab_errors(&lab), words))) fprintf(stderr, "%s", lab_errors(&lab));
    lab_end(&lab);
}

#define READ_ALL "O: for i in 0:1048576 O[i] = T[i] }"
#define HEAD     "program f { output O: f32[1048576] temp T: f32[1048576] "

TEST(large_definitions_are_inverted) {
    expect(HEAD "for i in 0:1024, j in 0:1024 T[1024*i + j] = 1.0 " READ_ALL, 0, NULL);
    expect(HEAD "for i in 0:1024, j in 0:1023 T[1024*i + j] = 1.0 " READ_ALL, 1, "T[1023] at i = ");
    expect(HEAD "for i in 0:524288 T[2*i] = 1.0 for i in 0:524288 T[2*i + 1] = 1.0 " READ_ALL, 0,
           NULL);
    expect(HEAD "for i in 0:524288 T[2*i] = 1.0 for i in 0:524287 T[2*i + 1] = 1.0 " READ_ALL, 1,
           "reads T[1048575] at i = 1048575");
    expect(HEAD "for i in 0:524287, k in 0:3 T[2*i + k] +=! 1.0 " READ_ALL, 1, "T[1048575]");
    expect(HEAD "for i in 0:2097152 T[i/2] +=! 1.0 " READ_ALL, 0, NULL);
    expect(HEAD "for i in 0:1048576 if i - 7 >= 0 T[i] = 1.0 " READ_ALL, 1, "T[0]");
    expect(HEAD "for i in 0:1048576 if i - 7 >= 0 T[i] +=! 1.0 " READ_ALL, 0, NULL);
}

TEST(large_matrices_are_inverted) {
    const char *head = "program f { output O: f32[2000, 2000] temp T: f32[2000, 2000] ";
    const char *read = " O: for i in 0:2000, j in 0:2000 O[i, j] = T[i, j] }";
    static const struct {
        const char *write;
        int errors;
        const char *words;
    } all[] = {
        {"for i in 0:2000 T[i, i] = 1.0", 1, "T["},
        {"for i in 0:4000000 T[i/2000, i%2000] = 1.0", 0, NULL},
        {"for i in 0:3999999 T[i/2000, i%2000] = 1.0", 1, "T[1999, 1999]"},
        {"for i in 0:2000, j in 0:2000 if i - j >= 0 T[i, j] = 1.0 "
         "for i in 0:2000, j in 0:2000 if j - i - 1 >= 0 T[i, j] = 2.0",
         0, NULL},
        {"for i in 0:2000, j in 0:2000 if i - j >= 0 T[i, j] = 1.0 "
         "for i in 0:2000, j in 0:2000 if j - i - 2 >= 0 T[i, j] = 2.0",
         1, "T["},
        {"for i in 0:1000, j in 0:2000 T[i, j] = 1.0 for i in 1000:2000, j in 0:700 T[i, j] = 1.0 "
         "for i in 1000:2000, j in 0:1300 T[2999 - i, 1999 - j] = 1.0",
         0, NULL},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s", head, all[k].write, read);
        expect(text, all[k].errors, all[k].words);
    }
}
