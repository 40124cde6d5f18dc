#include "support/proglab.h"

#include "base/checked.h"

#include <string.h>

static uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void lab_begin(Lab *lab) {
    *lab = (Lab){0};
    arena_init(&lab->arena, &allocator_libc);
    lab->names.arena = &lab->arena;
    lab->diags.arena = &lab->arena;
}

void lab_end(Lab *lab) { arena_free(&lab->arena); }

Program *lab_parse(Lab *lab, const char *text) {
    Source *s = arena_new(&lab->arena, Source);
    *s = (Source){"test.lwp", text, (uint32_t)strlen(text)};
    return program_parse(&lab->arena, &lab->names, s, &lab->diags);
}

Program *lab_program(Lab *lab, const char *text, const int64_t *values) {
    Program *p = lab_parse(lab, text);
    return p ? program_bind(&lab->arena, p, values, &lab->diags) : NULL;
}

const Schedule *lab_schedule(Lab *lab, const char *text) {
    Source *s = arena_new(&lab->arena, Source);
    *s = (Source){"test.lws", text, (uint32_t)strlen(text)};
    return schedule_parse(&lab->arena, &lab->names, s, &lab->diags);
}

const char *lab_text(Lab *lab, const Program *p) {
    Text t = {.arena = &lab->arena};
    program_print(&t, p);
    return text_str(&t);
}

const char *lab_errors(Lab *lab) {
    Text t = {.arena = &lab->arena};
    for (int i = 0; i < lab->diags.items.n; i++) diag_print(&t, lab->diags.items.at[i]);
    return text_str(&t);
}

// --- Data --------------------------------------------------------------------------------------

// The values that a tensor used as a subscript may hold: [lo, hi), narrowed by every use.
typedef struct IndexRange {
    const Program *p;
    int64_t *lo, *hi; // per tensor
    bool *used;       // as a subscript
} IndexRange;

static void narrow(void *user, const Access *a, bool guarded) {
    (void)guarded;
    IndexRange *r = user;
    const Tensor *t = &r->p->tensors.at[a->tensor];
    for (int d = 0; d < a->rank; d++) {
        const Affine *s = a->sub[d];
        if (s->n != 1 || s->term[0].coef != 1 || s->term[0].atom->kind != ATOM_READ) continue;
        int index = s->term[0].atom->read->tensor;
        int64_t first = tensor_origin(t, d) - s->constant, end = first + tensor_size(t, d);
        r->lo[index] = r->used[index] ? max_i64(r->lo[index], first) : first;
        r->hi[index] = r->used[index] ? min_i64(r->hi[index], end) : end;
        r->used[index] = true;
    }
}

static IndexRange index_ranges(Arena *arena, const Program *p) {
    int n = p->tensors.n;
    IndexRange r = {p, arena_new_n(arena, int64_t, n), arena_new_n(arena, int64_t, n),
                    arena_new_n(arena, bool, n)};
    for (int i = 0; i < n; i++) {
        TypeClass class = type_info[p->tensors.at[i].type].class;
        bool is_signed = class == CLASS_INT || class == CLASS_FLOAT;
        r.lo[i] = is_signed ? -2 : 0;
        r.hi[i] = class == CLASS_BOOL ? 2 : is_signed ? 3 : 4;
    }
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *st = &p->stmts.at[s];
        expr_visit_accesses(st->value, narrow, &r);
        narrow(&r, st->write, false);
        for (int d = 0; d < st->write->rank; d++)
            affine_visit_accesses(st->write->sub[d], narrow, &r);
    }
    return r;
}

static Value random_value(const IndexRange *r, int tensor, Type type, uint64_t *state) {
    int64_t span = r->hi[tensor] - r->lo[tensor], v = 0;
    if (span > 0) v = r->lo[tensor] + (int64_t)(random_next(state) % (uint64_t)span);
    return type_convert(type, TYPE_I64, (Value){.i = v});
}

static LabData dense(Lab *lab, const Program *p) {
    LabData d = {p->ninputs + p->noutputs, NULL};
    d.view = arena_new_n(&lab->arena, View, d.n);
    for (int i = 0; i < d.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        int64_t *size = arena_new_n(&lab->arena, int64_t, t->rank);
        int64_t *stride = arena_new_n(&lab->arena, int64_t, t->rank), step = 1;
        for (int k = t->rank - 1; k >= 0; k--) {
            size[k] = tensor_size(t, k);
            stride[k] = step;
            step *= max_i64(size[k], 1);
        }
        size_t bytes = (size_t)(tensor_elements(t) * type_info[t->type].bytes);
        void *data = arena_alloc(&lab->arena, bytes);
        memset(data, 0xa5, bytes);
        d.view[i] = (View){data, t->type, t->rank, size, stride};
    }
    return d;
}

LabData lab_data(Lab *lab, const Program *p, uint64_t seed) {
    LabData d = dense(lab, p);
    IndexRange r = index_ranges(&lab->arena, p);
    for (int i = 0; i < d.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        int64_t n = tensor_elements(t), bytes = type_info[t->type].bytes;
        if (t->role == ROLE_OUTPUT) continue;
        for (int64_t e = 0; e < n; e++)
            type_store(t->type, (char *)d.view[i].data + e * bytes,
                       random_value(&r, i, t->type, &seed));
    }
    return d;
}

LabData lab_copy(Lab *lab, const Program *p, const LabData *from) {
    LabData d = dense(lab, p);
    for (int i = 0; i < d.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        size_t bytes = (size_t)(tensor_elements(t) * type_info[t->type].bytes);
        memcpy(d.view[i].data, from->view[i].data, bytes);
    }
    return d;
}

bool lab_run(Lab *lab, const Program *p, const LabData *d) {
    return program_interpret(&lab->arena, p, d->view, (InterpFlags){0}, &lab->diags);
}

double lab_value(const LabData *d, int tensor, int64_t number) {
    const View *v = &d->view[tensor];
    Value x = type_load(v->type, (char *)v->data + number * type_info[v->type].bytes);
    return type_convert(TYPE_F64, v->type, x).f;
}

void lab_set(const LabData *d, int tensor, int64_t number, double value) {
    const View *v = &d->view[tensor];
    type_store(v->type, (char *)v->data + number * type_info[v->type].bytes,
               type_convert(v->type, TYPE_F64, (Value){.f = value}));
}

const char *lab_difference(Lab *lab, const Program *p, const LabData *got, const LabData *want) {
    for (int i = p->ninputs; i < got->n; i++) {
        const Tensor *t = &p->tensors.at[i];
        int64_t n = tensor_elements(t), bytes = type_info[t->type].bytes;
        for (int64_t e = 0; e < n; e++) {
            const char *g = (char *)got->view[i].data + e * bytes;
            const char *w = (char *)want->view[i].data + e * bytes;
            double x = lab_value(got, i, e), y = lab_value(want, i, e);
            if (!memcmp(g, w, (size_t)bytes) || (x != x && y != y)) continue;
            return arena_printf(&lab->arena, "%s, element %lld: got %.17g, want %.17g", t->name,
                                (long long)e, x, y);
        }
    }
    return NULL;
}
