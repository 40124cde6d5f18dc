// Rows of tables. Subscripts that are read from memory, or compared with sizes, choose a row; the
// others are distances from its start:
//
//     O[b, d] = T[I[b], d]      row T[I[b]]: loaded, checked and multiplied once for all d
//
// Elements of a row are then like others: neighbours that straight-line code reads are loaded
// together. A row is known within straight-line code, of tables that the kernel does not write,
// chosen by elements that it does not write.
#include "code/ptx/ptx_impl.h"

#include "base/checked.h"

static bool is_constant(const KernelWriter *w, int buffer) {
    const GpuBuffer *b = &w->k->buffer[buffer];
    return b->space == GPU_GLOBAL && !b->written && buffer < w->t->nargs;
}

typedef struct RowReads {
    const KernelWriter *w;
    bool constant;
} RowReads;

static void see_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    RowReads *r = user;
    r->constant &= is_constant(r->w, a->tensor);
}

static int row_find(KernelWriter *w, const TableRow *r, int rank) {
    for (int i = 0; i < w->row.n; i++) {
        const TableRow *q = &w->row.at[i];
        bool same = q->buffer == r->buffer && q->checked == r->checked;
        for (int d = 0; d < rank && same; d++) same = q->sub[d] == r->sub[d];
        if (same) return i;
    }
    vec_push(w->arena, &w->row, *r);
    return w->row.n - 1;
}

// The key of elements in a row: their distance from its start, and an index that means the row.
static const Affine *row_key(KernelWriter *w, int row, const Affine *soft) {
    return affine_add(w->x, soft, affine_iter(w->x, w->g->nids + 1 + w->t->buffers.n + row));
}

bool row_plan(KernelWriter *w, const Access *a, AccessPlan *p) {
    const Buffer *b = &w->t->buffers.at[a->tensor];
    const GpuBuffer *g = &w->k->buffer[a->tensor];
    const Affine *sum = affine_const(w->x, 0);
    TableRow r = {.buffer = a->tensor, .sub = arena_new_n(w->arena, const Affine *, a->rank)};
    RowReads reads = {w, is_constant(w, a->tensor)};
    int64_t align = 16;
    for (int d = 0; d < a->rank; d++) {
        bool check = needs_check(w, a->sub[d], b->size[d]);
        affine_visit_accesses(a->sub[d], see_read, &reads);
        if (!check && !a->sub[d]->has_read) {
            sum = affine_add(w->x, sum, affine_scale(w->x, a->sub[d], g->stride[d]));
            continue;
        }
        if (mentions_unrolled(w, a->sub[d])) return reads.constant;
        r.sub[d] = a->sub[d];
        r.checked |= (unsigned)check << d;
        align = gcd_i64(align, g->stride[d]);
    }
    if (!reads.constant) return false;
    divide_terms(w, p, sum);
    if (mentions_unrolled(w, p->rest)) return true;
    p->soft = p->rest;
    p->align = (int)gcd_i64(align, alignment_of(w, a->tensor, p->soft));
    p->row = row_find(w, &r, a->rank);
    p->rest = row_key(w, p->row, p->soft);
    return true;
}

static void row_open(KernelWriter *w, int row, const Access *a) {
    unsigned dims = 0;
    for (int d = 0; d < a->rank; d++) dims |= (unsigned)(w->row.at[row].sub[d] != NULL) << d;
    Opnd address = checked_address(w, a, dims, base_of(w, a->tensor)); // may open other rows
    w->row.at[row].address = address;
    w->row.at[row].open = true;
    w->row.at[row].soft = NULL;
}

Opnd row_address(KernelWriter *w, const AccessPlan *p, int64_t constant, int64_t *disp) {
    int row = p->row;
    const Affine *soft = near_offset(w, p->soft, constant, disp);
    if (!w->row.at[row].open) row_open(w, row, p->access);
    TableRow *r = &w->row.at[row];
    if (affine_is(soft, 0)) return r->address;
    if (r->soft == soft) return r->at;
    Opnd v = affine_value(w, soft, true);
    if (v.class == REG_32) v = NEW(w, REG_64, "cvt.s64.s32", v);
    r->soft = soft;
    r->at = NEW(w, REG_64, "add.s64", r->address, v);
    return r->at;
}

void rows_close(KernelWriter *w) {
    for (int i = 0; i < w->row.n; i++) w->row.at[i].open = false;
}
