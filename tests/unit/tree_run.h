// Programs and schedules as text, run by the program's interpreter and by the tree's, and compared.
#ifndef LW_TEST_TREE_RUN_H
#define LW_TEST_TREE_RUN_H

#include "unit/check.h"
#include "sched/schedule.h"
#include "tree/tree_interp.h"

#include <stdio.h>
#include <string.h>

typedef struct TreeRun {
    Arena arena;
    Names names;
    DiagList diags;
    const Program *p; // bound
} TreeRun;

static inline Source *tr_source(TreeRun *r, const char *name, const char *text) {
    Source *src = arena_new(&r->arena, Source);
    *src = (Source){name, text, (uint32_t)strlen(text)};
    return src;
}

static inline const char *tr_diags(TreeRun *r) {
    Text out = {.arena = &r->arena};
    for (int i = 0; i < r->diags.items.n; i++) diag_print(&out, r->diags.items.at[i]);
    return text_str(&out);
}

static inline void tr_init(TreeRun *r) {
    *r = (TreeRun){0};
    arena_init(&r->arena, &allocator_libc);
    r->names = (Names){.arena = &r->arena};
    r->diags = (DiagList){.arena = &r->arena};
}

// A program whose sizes are all numbers.
static inline void tr_begin(TreeRun *r, const char *text) {
    tr_init(r);
    const Source *src = tr_source(r, "p.lwp", text);
    r->diags.source = src;
    const Program *p = program_parse(&r->arena, &r->names, src, &r->diags);
    int64_t none = 0;
    r->p = p ? program_bind(&r->arena, p, &none, &r->diags) : NULL;
    r->diags.source = NULL;
    CHECK_STR_EQ(tr_diags(r), "");
}

static inline void tr_end(TreeRun *r) { arena_free(&r->arena); }

static inline const Schedule *tr_schedule(TreeRun *r, const char *text) {
    return schedule_parse(&r->arena, &r->names, tr_source(r, "s.lws", text), &r->diags);
}

static inline Tree *tr_lower(TreeRun *r, const char *schedule) {
    const Schedule *s = schedule ? tr_schedule(r, schedule) : NULL;
    return schedule && !s ? NULL : tree_lower(&r->arena, r->p, s, &r->diags);
}

static inline const char *tr_show(TreeRun *r, const char *schedule) {
    Tree *t = tr_lower(r, schedule);
    if (!t) return tr_diags(r);
    Text out = {.arena = &r->arena};
    tree_show(&out, t, false);
    return text_str(&out);
}

// Small integers, different everywhere; index tensors (i32 and i64 inputs) stay below 3.
static inline void tr_fill(TreeRun *r, View *views, uint64_t seed) {
    for (int i = 0; i < r->p->ninputs + r->p->noutputs; i++) {
        const Tensor *t = &r->p->tensors.at[i];
        int64_t n = tensor_elements(t), *size = arena_new_n(&r->arena, int64_t, t->rank);
        int64_t *stride = arena_new_n(&r->arena, int64_t, t->rank), step = 1;
        int bytes = type_info[t->type].bytes;
        for (int d = t->rank - 1; d >= 0; d--) {
            size[d] = tensor_size(t, d);
            stride[d] = step;
            step *= size[d] > 0 ? size[d] : 1;
        }
        char *data = arena_array(&r->arena, (size_t)n, (size_t)bytes);
        for (int64_t e = 0; e < n; e++) {
            uint64_t random = check_random(&seed);
            bool wide = t->type == TYPE_I32 || t->type == TYPE_I64;
            int64_t v = wide ? (int64_t)(random % 3) : (int64_t)(random % 7) - 3;
            type_store(t->type, data + e * bytes, type_convert(t->type, TYPE_I64, (Value){.i = v}));
        }
        views[i] = (View){data, t->type, t->rank, size, stride};
    }
}

// Runs both interpreters on the same data; true when every output has the same bytes.
static inline bool tr_same(TreeRun *r, const Tree *t, InterpFlags flags, uint64_t seed) {
    int n = r->p->ninputs + r->p->noutputs;
    View *a = arena_new_n(&r->arena, View, n), *b = arena_new_n(&r->arena, View, n);
    tr_fill(r, a, seed);
    tr_fill(r, b, seed);
    bool ok = program_interpret(&r->arena, r->p, a, flags, &r->diags);
    flags.trap_uninitialised = false;
    bool too = tree_interpret(&r->arena, t, b, flags, &r->diags);
    if (!ok || !too) return ok == too;
    for (int i = 0; i < n; i++) {
        const Tensor *x = &r->p->tensors.at[i];
        size_t bytes = (size_t)(tensor_elements(x) * type_info[x->type].bytes);
        if (bytes && memcmp(a[i].data, b[i].data, bytes) != 0) return false;
    }
    return true;
}

// Lowers, runs and compares; shows the Tree when something is wrong.
static inline bool tr_check(TreeRun *r, const char *schedule) {
    Tree *t = tr_lower(r, schedule);
    if (!t) fprintf(stderr, "%s", tr_diags(r));
    bool ok = t && tr_same(r, t, (InterpFlags){0}, 1) &&
              tr_same(r, t, (InterpFlags){.accumulate = true}, 2) &&
              tr_same(r, t, (InterpFlags){.skip_post = true}, 3);
    if (!ok)
        fprintf(stderr, "schedule:\n%s\ntree:\n%s", schedule ? schedule : "",
                t ? tr_show(r, schedule) : "");
    return CHECK(ok);
}

#endif
