// What is certain about a statement's write before sizes are known. `=` cannot scatter, and a
// statement reads all it reads before it writes anything, so the element it writes may be read,
// others not. What depends on sizes (whether `=` writes an element twice, whether parts overlap)
// program_bind decides exactly.
#include "lang/tc/tc.h"

// --- Reads of what is written
// -----------------------------------------------------------------------------

typedef struct SelfRead {
    const Access *write;
    const Access *other; // a read of another element than the one written, for certain
    bool any;
} SelfRead;

// Bare indices or constants in other places than on the left, or at a constant distance from it:
// some instance surely reads what another one writes (unless there is one instance only).
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
        for (int i = 0; i < ck->reads.n; i++)
            if (ck->reads.at[i].read.access == self.other) range = ck->reads.at[i].read.range;
        Diag *d = diag_report(ck->diags, range, DIAG_TC_IN_PLACE, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_COPY_NOTE, t->name);
    }
}

void tc_check_write(Checker *ck, const TcStmt *s, const Work *w) {
    if (w->op == REDUCE_ASSIGN && w->scatter) {
        const Ten *t = &ck->tens.at[w->write->tensor];
        Diag *d = diag_report(ck->diags, s->write_range, DIAG_TC_SCATTER_ASSIGN, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_SCATTER_NOTE);
    }
    if (w->value.e) check_in_place(ck, s, w);
}
