// Runs a function of a TC text on given data and compares its results: parse, infer, bind,
// interpret.
//
//     RUNS(mv, "def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }",
//          "M=2 K=2", "A=1 2 3 4  x=5 6", "C=17 39")
//
// Sizes and integer scalars, then inputs (and the old content of in-out results, zeros otherwise),
// then the expected elements of results in row-major order: `=` exactly, `~` to six digits.
// `C:i32=...` checks the type too, `C[2,3]=...` the shape. A text that starts with @ names a file
// under examples/tc and a function: "@mv.tc mv".
#ifndef TC_RUN_H
#define TC_RUN_H

#include "unit/check.h"
#include "lang/lang.h"
#include "support/files.h"

#include <ctype.h>
#include <math.h>

typedef struct TcRun {
    Arena arena;
    Names names;
    Source source;
    DiagList diags;
    Module *module;
    const Program *program; // unbound, then bound
    View *views;
} TcRun;

static inline const char *tc_read_file(Arena *arena, const char *name, uint32_t *len) {
    const char *text = project_file(arena, arena_printf(arena, "examples/tc/%s", name));
    *len = text ? (uint32_t)strlen(text) : 0;
    return text ? text : "";
}

static inline void tc_run_show(TcRun *r) {
    Text t = {.arena = &r->arena};
    for (int i = 0; i < r->diags.items.n; i++) diag_print(&t, r->diags.items.at[i]);
    printf("%s", text_str(&t));
}

// Parses; the program is the function named after the file, or the last one of the text.
static inline bool tc_run_parse(TcRun *r, const char *text) {
    *r = (TcRun){.names = {0}};
    arena_init(&r->arena, &allocator_libc);
    r->names.arena = r->diags.arena = &r->arena;
    const char *want = NULL;
    r->source = (Source){"test.tc", text, (uint32_t)strlen(text)};
    if (text[0] == '@') {
        char *file = arena_strndup(&r->arena, text + 1, strcspn(text + 1, " "));
        want = text + 1 + strcspn(text + 1, " ");
        want += *want == ' ';
        r->source.name = file;
        r->source.text = tc_read_file(&r->arena, file, &r->source.len);
    }
    r->diags.source = &r->source;
    r->module = tc_infer(tc_parse(&r->arena, &r->names, &r->source, &r->diags));
    for (int i = 0; i < r->module->programs.n; i++)
        if (!want || !*want || !strcmp(want, r->module->programs.at[i]->name))
            r->program = r->module->programs.at[i];
    return r->diags.errors == 0 && r->program;
}

// The text after `name` and its mark (= or ~) in a list such as "A=1 2  x=3"; NULL when it is not
// there.
static inline const char *tc_entry(const char *list, const char *name, char *mark) {
    size_t len = strlen(name);
    for (const char *p = list; (p = strstr(p, name)); p += len) {
        if (p > list && !isspace((unsigned char)p[-1])) continue;
        const char *q = p + len + strcspn(p + len, "=~ ");
        if (!strchr("=~:[", p[len]) || (*q != '=' && *q != '~')) continue;
        if (mark) *mark = *q;
        return q + 1;
    }
    return NULL;
}

static inline bool tc_run_bind(TcRun *r, const char *sizes) {
    int64_t values[PROGRAM_MAX_PARAMS] = {0};
    for (int i = 0; i < r->program->params.n; i++) {
        const char *v = tc_entry(sizes, r->program->params.at[i].name, NULL);
        if (v) values[i] = strtoll(v, NULL, 0);
        if (!v) printf("no value for parameter %s\n", r->program->params.at[i].name);
    }
    r->program = program_bind(&r->arena, r->program, values, &r->diags);
    return r->program;
}

static inline void tc_run_fill(TcRun *r, const char *data) {
    const Program *p = r->program;
    int n = p->ninputs + p->noutputs;
    r->views = arena_new_n(&r->arena, View, n);
    for (int i = 0; i < n; i++) {
        const Tensor *t = &p->tensors.at[i];
        int64_t count = tensor_elements(t), *size = arena_new_n(&r->arena, int64_t, t->rank * 2);
        for (int d = t->rank - 1; d >= 0; d--) {
            size[d] = tensor_size(t, d);
            size[t->rank + d] = d == t->rank - 1 ? 1 : size[t->rank + d + 1] * size[d + 1];
        }
        int bytes = type_info[t->type].bytes;
        char *at = arena_alloc(&r->arena, (size_t)(count * bytes));
        r->views[i] = (View){at, t->type, t->rank, size, size + t->rank};
        const char *v = tc_entry(data, t->name, NULL);
        if (!v && t->role == ROLE_INPUT && count) printf("no data for input %s\n", t->name);
        for (int64_t k = 0; v && k < count; k++) {
            char *end;
            double f = strtod(v, &end);
            if (end == v) {
                printf("too few elements for %s\n", t->name);
                break;
            }
            v = end;
            type_store(t->type, at + k * bytes, type_convert(t->type, TYPE_F64, (Value){.f = f}));
        }
    }
}

static inline bool tc_same(double got, double want, char mark) {
    if (got == want || (isnan(got) && isnan(want))) return true;
    return mark == '~' && fabs(got - want) <= 1e-6 * (1 + fabs(want));
}

static inline void tc_show_result(const Tensor *t, const View *v, int64_t count) {
    printf("%s:%s[", t->name, type_info[t->type].name);
    for (int d = 0; d < t->rank; d++) printf("%s%" PRId64, d ? "," : "", v->size[d]);
    printf("]=");
    for (int64_t k = 0; k < count && k < 40; k++) {
        Value x = type_load(t->type, (char *)v->data + k * type_info[t->type].bytes);
        printf("%.9g ", type_is_float(t->type) ? x.f : (double)x.i);
    }
    printf("\n");
}

// Type and shape where the expectation gives them: "C:i32[2,3]=".
static inline bool tc_same_head(const char *list, const Tensor *t, const View *v) {
    const char *p = list;
    size_t len = strlen(t->name);
    while ((p = strstr(p, t->name)) && p > list && !isspace((unsigned char)p[-1])) p += len;
    if (!p) return true;
    p += len;
    if (*p == ':') {
        const char *name = type_info[t->type].name;
        if (strncmp(p + 1, name, strlen(name))) return false;
        p += 1 + strlen(name);
    }
    if (*p != '[') return true;
    int d = 0;
    for (p++; *p && *p != ']'; d++) {
        char *end;
        if (d >= t->rank || strtoll(p, &end, 10) != v->size[d]) return false;
        p = end + (*end == ',');
    }
    return d == t->rank;
}

static inline bool tc_run_compare(TcRun *r, const char *want) {
    bool all = true;
    const Program *p = r->program;
    for (int i = p->ninputs; i < p->ninputs + p->noutputs; i++) {
        const Tensor *t = &p->tensors.at[i];
        int64_t count = tensor_elements(t);
        char mark, *end;
        const char *v = tc_entry(want, t->name, &mark);
        bool ok = !v || tc_same_head(want, t, &r->views[i]);
        for (int64_t k = 0; v && k < count; k++, v = end) {
            double w = strtod(v, &end);
            Value x = type_load(t->type, (char *)r->views[i].data + k * type_info[t->type].bytes);
            ok = ok && end != v && tc_same(type_is_float(t->type) ? x.f : (double)x.i, w, mark);
        }
        if (v) strtod(v, &end), ok = ok && (end == v); // no element left over
        if (!ok) tc_show_result(t, &r->views[i], count);
        all &= ok;
    }
    return all;
}

static inline void tc_run(const char *text, const char *sizes, const char *data, const char *want) {
    TcRun r;
    bool ok = tc_run_parse(&r, text) && tc_run_bind(&r, sizes);
    if (ok) {
        tc_run_fill(&r, data);
        ok = program_interpret(&r.arena, r.program, r.views,
                               (InterpFlags){.trap_uninitialised = true}, &r.diags);
    }
    if (!ok) tc_run_show(&r);
    CHECK(ok && tc_run_compare(&r, want));
    arena_free(&r.arena);
}

#define RUNS(NAME, TEXT, SIZES, DATA, WANT)                                                        \
    TEST(NAME) { tc_run(TEXT, SIZES, DATA, WANT); }

#endif
