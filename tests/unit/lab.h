// lab.h: runs Programs on small exact data. A Lab owns everything it creates; values are doubles.
//
//     Lab *lab = lab_new();
//     const double *out = lab_run(lab, program, lab_params(lab, program, "N=3,K=2"), inputs, 0);
//     lab_free(lab);
#ifndef LAB_H
#define LAB_H

#include "unit/check.h"
#include "program/program.h"

typedef struct Lab {
    Arena arena;
    Names names;
    DiagList diags;
    int64_t count;     // elements of the output last returned
    Program *bound;    // the Program last run
    InterpFlags flags; // for the next run
    bool quiet;        // diagnostics are expected
} Lab;

static inline Lab *lab_new(void) {
    Lab *lab = calloc(1, sizeof *lab);
    arena_init(&lab->arena, &allocator_libc);
    lab->names.arena = lab->diags.arena = &lab->arena;
    return lab;
}

static inline void lab_free(Lab *lab) {
    arena_free(&lab->arena);
    free(lab);
}

static inline Source *lab_source(Lab *lab, const char *name, const char *text) {
    Source *s = arena_new(&lab->arena, Source);
    *s = (Source){name, text, (uint32_t)strlen(text)};
    return s;
}

// Everything reported so far, as the user would see it.
static inline const char *lab_report(Lab *lab) {
    Text t = {.arena = &lab->arena};
    for (int i = 0; i < lab->diags.items.n; i++) diag_print(&t, lab->diags.items.at[i]);
    return text_str(&t);
}

static inline void lab_show(Lab *lab) {
    if (!lab->quiet && lab->diags.items.n) printf("%s", lab_report(lab));
}

// "N=3,K=2" as values of the Program's parameters; those not named are -1.
static inline const int64_t *lab_params(Lab *lab, const Program *p, const char *sizes) {
    int64_t *values = arena_new_n(&lab->arena, int64_t, p->params.n + 1);
    for (int i = 0; i < p->params.n; i++) {
        const char *name = p->params.at[i].name;
        size_t len = strlen(name);
        values[i] = -1;
        for (const char *s = sizes; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
            if (!strncmp(s, name, len) && s[len] == '=') values[i] = strtoll(s + len + 1, NULL, 10);
    }
    return values;
}

static inline View lab_view(Lab *lab, const Tensor *t, const double *data) {
    int64_t *size = arena_new_n(&lab->arena, int64_t, t->rank + 1);
    int64_t *stride = arena_new_n(&lab->arena, int64_t, t->rank + 1);
    int64_t n = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        size[d] = tensor_size(t, d);
        stride[d] = n;
        n *= size[d];
    }
    size_t bytes = (size_t)type_info[t->type].bytes;
    char *to = arena_array(&lab->arena, (size_t)n + 1, bytes);
    for (int64_t i = 0; i < n && data; i++)
        type_store(t->type, to + (size_t)i * bytes,
                   type_convert(t->type, TYPE_F64, (Value){.f = data[i]}));
    return (View){to, t->type, t->rank, size, stride};
}

static inline double *lab_values(Lab *lab, const View *v, int64_t n) {
    double *out = arena_new_n(&lab->arena, double, n + 1);
    size_t bytes = (size_t)type_info[v->type].bytes;
    for (int64_t i = 0; i < n; i++) {
        Value value = type_load(v->type, (char *)v->data + (size_t)i * bytes);
        out[i] = type_convert(TYPE_F64, v->type, value).f;
    }
    return out;
}

// Binds and runs; inputs[i] is the data of input i, row-major. The elements of output `which`, or
// NULL after a diagnostic, which is printed.
static inline const double *lab_run(Lab *lab, const Program *p, const int64_t *params,
                                    const double *const *inputs, int which) {
    lab->bound = p ? program_bind(&lab->arena, p, params, &lab->diags) : NULL;
    if (!lab->bound) {
        lab_show(lab);
        return NULL;
    }
    int n = lab->bound->ninputs + lab->bound->noutputs;
    View *views = arena_new_n(&lab->arena, View, n + 1);
    for (int i = 0; i < n; i++)
        views[i] = lab_view(lab, &lab->bound->tensors.at[i], i < p->ninputs ? inputs[i] : NULL);
    bool ok = program_interpret(&lab->arena, lab->bound, views, lab->flags, &lab->diags);
    if (!ok) lab_show(lab);
    lab->count = tensor_elements(&lab->bound->tensors.at[p->ninputs + which]);
    return ok ? lab_values(lab, &views[p->ninputs + which], lab->count) : NULL;
}

#endif
