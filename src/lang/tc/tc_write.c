// What a statement may write. `=` writes each element once: the left side must determine every index. And a
// statement reads all it reads before it writes anything, so the element it writes may be read, others not.
#include "lang/tc/tc.h"

// --- Each element once ------------------------------------------------------------------------------------

// An affine from which one more index can be told, given the indices in `known`; -1: none. One index with a
// constant coefficient must be all that is unknown.
static int tells(const Affine *a, uint32_t known, uint32_t inside) {
    int found = -1;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_PARAM) continue;
        if (t->kind != ATOM_ITER) {
            if (t->kind == ATOM_READ) return -1;
            continue; // checked below through `inside`
        }
        if (known >> t->index & 1) continue;
        if (found >= 0) return -1;
        found = t->index;
    }
    if (found < 0 || (inside & ~known)) return -1;
    return found;
}

// The indices that occur inside non-linear atoms.
static uint32_t inside_atoms(const Affine *a, int niters) {
    uint32_t mask = 0;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        for (int v = 0; v < niters; v++) {
            if (t->a && affine_uses_iter(t->a, v)) mask |= UINT32_C(1) << v;
            if (t->b && affine_uses_iter(t->b, v)) mask |= UINT32_C(1) << v;
        }
    }
    return mask;
}

static const Atom *only_atom(const Affine *a, AtomKind kind) {
    bool ok = a->n == 1 && a->constant == 0 && a->term[0].coef == 1 && a->term[0].atom->kind == kind;
    return ok ? a->term[0].atom : NULL;
}

// x/k and x%k together tell x: the reshape O(i/4, i%4) = A(i).
static const Affine *rejoined(const Access *w, int d) {
    const Atom *div = only_atom(w->sub[d], ATOM_DIV);
    for (int e = 0; div && e < w->rank; e++) {
        const Atom *mod = only_atom(w->sub[e], ATOM_MOD);
        if (mod && mod->a == div->a && mod->b == div->b) return div->a;
    }
    return NULL;
}

// c*i + j with 0 <= j < c tells both: the flattening O(4*i + j) = A(i,j) where j in 0:4. The least coefficient must
// be 1, and each next one at least the span of all before it. Only constant ranges are looked at here.
static uint32_t mixed_radix(const Checker *ck, const Affine *a, uint32_t known) {
    uint32_t told = 0;
    int64_t span = 1;
    for (int turn = 0; turn < a->n; turn++) {
        int best = -1;
        for (int i = 0; i < a->n; i++) {
            const Term *t = &a->term[i];
            if (t->atom->kind == ATOM_PARAM) continue;
            if (t->atom->kind != ATOM_ITER || t->coef <= 0) return 0;
            if ((known | told) >> t->atom->index & 1) continue;
            if (best < 0 || t->coef < a->term[best].coef) best = i;
        }
        if (best < 0) break;
        const Term *t = &a->term[best];
        if (t->coef < span) return 0;
        const Iter *it = &ck->iters.at[t->atom->index];
        int64_t extent = INT64_MAX;
        if (it->lo && affine_is_const(it->lo) && affine_is_const(it->hi))
            if (__builtin_sub_overflow(it->hi->constant, it->lo->constant, &extent)) return 0;
        if (extent < 1) extent = 1;
        if (__builtin_mul_overflow(extent, t->coef, &span)) span = INT64_MAX;
        told |= UINT32_C(1) << t->atom->index;
    }
    return told;
}

static bool determines(const Checker *ck, const Access *w, int nlhs, int *missing) {
    uint32_t all = nlhs == 32 ? UINT32_MAX : (UINT32_C(1) << nlhs) - 1, known = 0;
    for (bool progress = true; progress && known != all;) {
        progress = false;
        for (int d = 0; d < w->rank; d++) {
            const Affine *whole = rejoined(w, d), *a = whole ? whole : w->sub[d];
            int v = tells(a, known, inside_atoms(a, nlhs));
            uint32_t told = v >= 0 ? UINT32_C(1) << v : mixed_radix(ck, a, known);
            if (!(told & ~known)) continue;
            known |= told;
            progress = true;
        }
    }
    *missing = known == all ? -1 : __builtin_ctz(~known);
    return known == all;
}

static void check_once(Checker *ck, const TcStmt *s, const Work *w) {
    const Ten *t = &ck->tens.at[w->write->tensor];
    int missing;
    if (w->scatter) {
        Diag *d = diag_report(ck->diags, s->write_range, DIAG_TC_SCATTER_ASSIGN, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_SCATTER_NOTE);
    } else if (!determines(ck, w->write, w->nlhs, &missing)) {
        Diag *d = diag_report(ck->diags, s->write_range, DIAG_TC_NOT_ONCE, t->name,
                              ck->iters.at[missing].name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_SCATTER_NOTE);
    }
}

// --- Reads of what is written -----------------------------------------------------------------------------

typedef struct SelfRead {
    const Access *write;
    const Access *other; // a read of another element than the one written, for certain
    bool any;
} SelfRead;

// Bare indices or constants in other places than on the left, or at a constant distance from it: some instance
// surely reads what another one writes (unless there is one instance only).
static bool surely_other(const Access *write, const Access *read) {
    bool bare = true, shift = true;
    for (int d = 0; d < write->rank; d++) {
        const Affine *a = write->sub[d], *b = read->sub[d];
        bare = bare && affine_as_iter(a) >= 0 && affine_as_iter(b) >= 0;
        bool same = a->n == b->n && a->linear && b->linear;
        for (int i = 0; same && i < a->n; i++)
            same = a->term[i].atom == b->term[i].atom && a->term[i].coef == b->term[i].coef;
        int64_t step = same && a->n == 1 ? a->term[0].coef : 1;
        int64_t distance = a->constant - b->constant;
        shift = shift && same && (a->n == 1 || distance == 0) && distance % step == 0;
    }
    return bare || shift;
}

static void self_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    SelfRead *s = user;
    if (a->tensor != s->write->tensor || a->rank != s->write->rank) return;
    s->any = true;
    if (a != s->write && surely_other(s->write, a)) s->other = a;
}

static void check_in_place(Checker *ck, const TcStmt *s, const Work *w) {
    SelfRead self = {.write = w->write};
    const Ten *t = &ck->tens.at[w->write->tensor];
    expr_visit_accesses(w->value.e, self_read, &self);
    for (int d = 0; d < w->write->rank; d++)
        affine_visit_accesses(w->write->sub[d], self_read, &self);
    if (self.any && w->init) {
        Diag *d = diag_report(ck->diags, s->op_range, DIAG_TC_INIT_READS, reduce_name[w->op],
                              t->name, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_COPY_NOTE, t->name);
    } else if (self.other) {
        Range range = s->range;
        for (int i = 0; i < ck->reads->n; i++)
            if (ck->reads->at[i].access == self.other) range = ck->reads->at[i].range;
        Diag *d = diag_report(ck->diags, range, DIAG_TC_IN_PLACE, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_COPY_NOTE, t->name);
    }
}

void tc_check_write(Checker *ck, const TcStmt *s, const Work *w) {
    if (w->op == REDUCE_ASSIGN) check_once(ck, s, w);
    if (w->value.e) check_in_place(ck, s, w);
}
