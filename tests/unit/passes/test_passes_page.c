// A second generator of lists of passes, which knows only what docs/passes.md says: the table of
// passes, and the tables of parameters with their units and ranges. A machine of its own, and
// Programs of shapes that people write: products, convolutions with borders, chains, transposes.
#include "unit/passes/passes_run.h"

#include "support/files.h"

#include <stdlib.h>

enum { MAX_PASSES = 40, MAX_ROWS = 24, MAX_WORD = 64 };

typedef struct PageRow {
    char name[MAX_WORD], unit[MAX_WORD], range[MAX_WORD];
} PageRow;
typedef struct PagePass {
    char name[MAX_WORD];
    int n;
    PageRow row[MAX_ROWS];
} PagePass;
typedef struct Page {
    int n;
    PagePass pass[MAX_PASSES];
} Page;

static const char two_levels[] =
    "machine page \"a DSP\"\nmemory RAM line=16\nmemory BIG in=RAM size=1KiB banks=4 align=8\n"
    "memory NEAR in=BIG size=256 align=4\ncompute CLUSTER in=BIG count=2\n"
    "compute CORE in=NEAR of=CLUSTER count=2 rate=4\ntransfer IN from=RAM to=BIG bandwidth=8\n"
    "transfer NEXT from=BIG to=NEAR bandwidth=32 latency=3\n"
    "stencil square startup=3\n  index a size=2 out=any in=any,0\n  index b size=2 out=1 in=0,any\n"
    "  index c size=4 out=0 in=any,any\n"
    "stencil line\n  index x size=5 out=1 in=1\n";

// --- The page ------------------------------------------------------------------------------------

// Column `at` of a row of a table, without backquotes.
static void column(const char *line, int at, char *out) {
    size_t n = 0;
    for (line++; *line && *line != '\n' && at >= 0; line++) {
        if (*line == '|')
            at--;
        else if (at == 0 && *line != '`' && n + 1 < MAX_WORD)
            out[n++] = *line;
    }
    while (n && out[n - 1] == ' ') n--;
    out[n] = 0;
    if (out[0] == ' ') memmove(out, out + 1, n);
}

static PagePass *pass_named(Page *p, const char *name, size_t len) {
    for (int i = 0; i < p->n; i++)
        if (strlen(p->pass[i].name) == len && !memcmp(p->pass[i].name, name, len))
            return &p->pass[i];
    return NULL;
}

static void read_tables(const char *text, Page *p) {
    const char *passes = strstr(text, "## The passes"), *params = strstr(text, "## Parameters");
    const char *end = strstr(text, "## Costs");
    PagePass *now = NULL;
    for (const char *at = passes; at && params && end && at < end;) {
        if (at < params && at[0] == '|' && at[2] == '`' && p->n < MAX_PASSES)
            column(at, 0, p->pass[p->n++].name);
        if (at > params && at[0] == '*') {
            const char *close = strstr(at + 2, "**");
            now = close ? pass_named(p, at + 2, (size_t)(close - at) - 2) : NULL;
        }
        if (at > params && now && at[0] == '|' && at[2] == '`' && now->n < MAX_ROWS) {
            PageRow *row = &now->row[now->n++];
            column(at, 0, row->name);
            column(at, 2, row->unit);
            column(at, 4, row->range);
        }
        at = strchr(at, '\n');
        if (at) at++;
    }
}

// --- Lists ---------------------------------------------------------------------------------------

static int below(uint64_t *state, int n) { return (int)(check_random(state) % (uint64_t)n); }

static const char *any_of(uint64_t *state, const char *const *words, int n) {
    return words[below(state, n)];
}
#define ANY(state, ...)                                                                            \
    any_of(state, (const char *const[]){__VA_ARGS__},                                              \
           (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static void add_value(Text *out, uint64_t *state, const PageRow *row) {
    double least = strtod(row->range, NULL), most = least + 40;
    const char *to = strstr(row->range, " to ");
    if (to && strtod(to + 4, NULL) < most) most = strtod(to + 4, NULL);
    if (!strcmp(row->name, "most") && most > 5) most = 5; // copies of copies take their time
    double value = least + (most - least) * below(state, 11) / 10;
    if (!strcmp(row->name, "vector") && below(state, 2)) value = 8;
    if (!strcmp(row->unit, "count") || !strcmp(row->unit, "bytes"))
        text_printf(out, "%.0f", value);
    else if (!strcmp(row->unit, "number"))
        text_printf(out, "%g", least < -1 ? value + 1 : value);
    else if (!strcmp(row->unit, "yes or no"))
        text_add(out, ANY(state, "yes", "no"));
    else if (!strcmp(row->unit, "tags"))
        text_add(out, ANY(state, "#kernel", "#contraction", "#zero", "#eltwise", "#copy", "#mine",
                          "#mine,#yours", "#stencil=square", "#tiles_of=square", "#agg_op_add"));
    else if (!strcmp(row->unit, "memory unit"))
        text_add(out, ANY(state, "RAM", "BIG", "NEAR"));
    else if (!strcmp(row->unit, "compute unit"))
        text_add(out, ANY(state, "CLUSTER", "CORE"));
    else if (!strcmp(row->unit, "transfer engine"))
        text_add(out, ANY(state, "IN", "NEXT"));
    else if (!strcmp(row->unit, "stencils"))
        text_add(out, ANY(state, "square", "line", "line,square"));
    else
        text_add(out, ANY(state, "A", "B", "stencil_b", "stencil_x"));
}

static const char *list_of(Arena *arena, uint64_t *state, const Page *p) {
    Text out = {.arena = arena};
    bool in_turn = below(state, 3) == 0; // as the page lists them
    int at = below(state, p->n);
    text_add(&out, "pass flatten\n");
    for (int n = 2 + below(state, 9); n > 0; n--) {
        at = in_turn ? (at + 1) % p->n : below(state, p->n);
        const PagePass *pass = &p->pass[at];
        text_printf(&out, "pass %s", pass->name);
        for (int i = 0; i < pass->n; i++) {
            const char *name = pass->row[i].name;
            bool wanted = !strcmp(name, "unit") || !strcmp(name, "move") || !strcmp(name, "fits") ||
                          !strcmp(name, "vector");
            if (below(state, wanted ? 2 : 4)) continue;
            text_printf(&out, " %s=", pass->row[i].name);
            add_value(&out, state, &pass->row[i]);
        }
        text_char(&out, '\n');
    }
    return text_str(&out);
}

// --- Programs ------------------------------------------------------------------------------------

static const char *program_of(Arena *arena, uint64_t *state) {
    int a = 1 + below(state, 9), b = 1 + below(state, 9), c = 1 + below(state, 9);
    if (below(state, 4) == 0) b = 8; // rows of whole lines
    const char *type = ANY(state, "f32", "i32", "f64", "i64"), *op = ANY(state, "+=!", "max=!");
    switch (below(state, 6)) {
    case 0:
        return arena_printf(arena,
                            "program f { input A: %s[%d, %d] input B: %s[%d, %d] output C: %s[%d, "
                            "%d]\nC: for m in 0:%d, n in 0:%d, k in 0:%d  C[m, n] %s A[m, k]*B[k, "
                            "n] }",
                            type, a, c, type, c, b, type, a, b, a, b, c, op);
    case 1:
        return arena_printf(
            arena,
            "program f { input A: %s[%d, %d] input B: %s[3, %d] output C: %s[%d]\n"
            "C: for x in 0:%d, i in 0:3, c in 0:%d if x + i - 1 >= 0, %d - x - i >= 0\n"
            "  C[x] %s A[x + i - 1, c]*B[i, c] }",
            type, a, b, type, b, type, a, a, b, a, op);
    case 2:
        return arena_printf(
            arena,
            "program f { input A: %s[%d, %d] temp T: %s[%d, %d] temp S: %s[%d] output C: %s[%d, "
            "%d]\nT: for i in 0:%d, j in 0:%d  T[j, i] = A[i, j]\n"
            "S: for i in 0:%d, j in 0:%d  S[i] %s T[j, i]\n"
            "C: for i in 0:%d, j in 0:%d  C[i, j] = A[i, j] - S[i] }",
            type, a, b, type, b, a, type, a, type, a, b, a, b, a, b, op, a, b);
    case 3:
        return arena_printf(
            arena,
            "program f { input A: %s[%d, %d] temp T: %s[%d, %d] output B: %s[%d, %d] output C: "
            "%s[%d]\nT: for i in 0:%d, j in 0:%d  T[i, j] = A[i, j] + A[i, %d - j]\n"
            "B: for i in 0:%d, j in 0:%d  B[i, j] = T[i, j]*T[%d - i, j]\n"
            "C: for j in 0:%d, i in 0:%d  C[j] %s B[i, j] }",
            type, a, b, type, a, b, type, a, b, type, b, a, b, b - 1, a, b, a - 1, b, a, op);
    case 4:
        return arena_printf(
            arena,
            "program f { input A: %s[%d, %d, %d] input X: i32[%d] output C: %s[%d, %d]\n"
            "C: for g in 0:%d, i in 0:%d, k in 0:%d  C[g, i] %s A[g, k, i] }",
            type, a, c, b, a, type, a, b, a, b, c, op);
    default:
        return arena_printf(
            arena,
            "program f { input A: %s[%d] input X: i32[%d] temp T: %s[%d] temp D: %s[%d] "
            "output C: %s[%d]\nT: for i in 0:%d  T[i] = A[i] + A[i/2]\n"
            "C: for i in 0:%d  C[i] = T[i] - A[X[i]]\nD: for i in 0:%d  D[i] = A[i] }",
            type, 3 + a, 3 + a, type, 3 + a, type, 3 + a, type, 3 + a, 3 + a, 3 + a, 3 + a);
    }
}

static bool runs_right(const Page *page, uint64_t seed, int64_t *fired) {
    TreeRun r;
    uint64_t state = seed * 131 + 17;
    tr_init(&r);
    const char *program = program_of(&r.arena, &state);
    const char *list = list_of(&r.arena, &state, page);
    TreeRun run;
    tr_begin(&run, program);
    const char *text = arena_printf(&run.arena, "%s%s", two_levels, list);
    const Hardware *h = hardware_parse(&run.arena, &run.names, tr_source(&run, "m.lwm", text), NULL,
                                       NULL, &run.diags);
    const Tree *t = run.p ? apart(&run) : NULL;
    Passes p = {0};
    bool ok = h && t && passes_run(&run.arena, h, t, &(PassesOptions){0}, &p, &run.diags);
    if (ok) computing(&run, &p);
    for (int i = 0; ok && i < p.nsteps; i++)
        fired[p.step[i].call->pass - pass_info] += p.step[i].changed;
    ok = CHECK(ok) && !tr_diags(&run)[0];
    if (!ok) printf("seed %llu\n%s\n%s%s", (unsigned long long)seed, program, list, tr_diags(&run));
    tr_end(&run);
    tr_end(&r);
    return ok;
}

TEST(lists_by_the_page_are_right) {
    Arena arena;
    arena_init(&arena, &allocator_libc);
    Page *page = arena_new(&arena, Page);
    const char *text = project_file(&arena, "docs/passes.md");
    int64_t rounds = check_long_rounds(150);
    int64_t *fired = arena_new_n(&arena, int64_t, pass_count);
    if (CHECK(text)) read_tables(text, page);
    CHECK_INT_EQ(page->n, pass_count);
    for (int64_t i = 0; page->n && i < rounds; i++)
        if (!runs_right(page, check_first_seed() + (uint64_t)i, fired)) break;
    for (int i = 0; i < pass_count && rounds >= 9000; i++)
        if (!CHECK(fired[i])) printf("pass '%s' never changed anything\n", pass_info[i].name);
    arena_free(&arena);
}
