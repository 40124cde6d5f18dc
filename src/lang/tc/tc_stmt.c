// Checks statements: the written element, its value, and the indices.
//
// The left side is checked first, so its indices come first; then the used definitions of the
// `where`, the value, `exists` clauses and ranges. Any index that does not occur on the left side
// is reduced over.
//
// Errors in writes that are certain before sizes are known are reported here: `=` cannot scatter,
// and a statement may read the element that it writes but no other one. Questions that depend on
// sizes (does `=` write an element twice, do parts overlap) are decided exactly by program_bind.
#include "lang/tc/tc.h"

#include "program/stmt_facts.h"

#include <string.h>

// --- Statements ----------------------------------------------------------------------------------

// The tensor that a statement defines; a new temporary is created. Returns -1 after a report.
int tc_target(TcChecker *ck, TcFrame *frame, const TcTarget *target, int rank, Range range) {
    Sym *s = tc_find(ck, frame, target->name);
    if (!s) {
        if (!tc_can_define(ck, frame, target->name, target->range)) return -1;
        Name name =
            frame->caller ? tc_fresh_name(ck, frame->func->name, target->name) : target->name;
        s = tc_add_sym(ck, frame, target->name, SYM_TENSOR, target->range);
        s->tensor = tc_new_tensor(ck, name, ROLE_TEMP, target->range);
    }
    if (s->kind == SYM_POISON) return -1;
    if (s->kind == SYM_SCALAR) {
        Diag *d = diag_report(ck->diags, target->range, DIAG_TC_SCALAR_WRITTEN, target->name,
                              s->is_size ? "a size" : "a scalar argument");
        diag_note(ck->diags, d, s->range, DIAG_TC_FIRST_NOTE);
        return -1;
    }
    Ten *t = &ck->tens.at[s->tensor];
    if (t->role == ROLE_INPUT) {
        Diag *d = diag_report(ck->diags, target->range, DIAG_TC_INPUT_WRITTEN, target->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INPUT_WRITTEN_NOTE);
        return -1;
    }
    if (rank < 0) return s->tensor;
    if (!tc_rank_fits(ck, rank, range)) return -1;
    if (t->rank < 0) t->rank = rank, t->range = target->range;
    if (t->rank == rank) return s->tensor;
    Diag *d = diag_report(ck->diags, range, DIAG_TC_RANK, t->name, t->rank, t->rank == 1 ? "" : "s",
                          rank, rank == 1 ? "" : "s");
    diag_note(ck->diags, d, t->range, DIAG_TC_DECLARED_NOTE, t->name);
    return -1;
}

const Affine *tc_own_subscript(TcChecker *ck, Name name, int d, const Affine *sub) {
    const Sym *s = tc_find(ck, ck->frame, name);
    if (!s || s->kind != SYM_TENSOR || !s->from_zero || d >= ck->tens.at[s->tensor].rank)
        return sub;
    return affine_add(ck->x, sub, tc_origin(ck, s->tensor, d));
}

// The written element; its iterators come first.
static const Access *left_side(TcChecker *ck, const TcStmt *s, int tensor, const Range **ranges) {
    const Affine *sub[PROGRAM_MAX_RANK];
    Range *r = arena_new_n(ck->arena, Range, s->nsubs);
    bool ok = tensor >= 0;
    for (int d = 0; d < s->nsubs; d++) {
        const TcNode *n = s->sub[d];
        const Sym *sym = n->kind == NODE_NAME ? tc_find(ck, ck->frame, n->name) : NULL;
        const Affine *a = NULL;
        if (sym && (sym->size || (sym->kind == SYM_SCALAR && sym->is_size))) {
            Diag *diag = diag_report(ck->diags, n->range, DIAG_TC_INDEX_IS_SIZE, n->name);
            diag_note(ck->diags, diag, sym->range, DIAG_TC_FIRST_NOTE);
        } else {
            a = tc_affine(ck, n, "a subscript");
        }
        r[d] = n->range;
        if (a && d < PROGRAM_MAX_RANK) sub[d] = tc_own_subscript(ck, s->target[0].name, d, a);
        ok = ok && a;
    }
    *ranges = r;
    return ok ? access_make(ck->x, tensor, s->nsubs, sub) : NULL;
}

// May a definition have this name? Reports if not.
static bool let_is_free(TcChecker *ck, const TcWhere *w) {
    const char *taken = NULL;
    for (int i = 0; i < ck->iters.n; i++)
        if (ck->iters.at[i].name == w->name) taken = "an index";
    for (int i = 0; i < ck->lets.n; i++)
        if (ck->lets.at[i].name == w->name) taken = "a 'where' definition";
    if (!taken && tc_find(ck, ck->frame, w->name)) taken = "a name of the function";
    if (!taken && tc_is_reserved(w->name) && !tc_is_coordinate(w->name))
        taken = "a builtin or a type";
    if (!taken) return true;
    Diag *d = diag_report(ck->diags, w->range, DIAG_TC_LET_TAKEN, w->name, taken);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RENAME_NOTE);
    return false;
}

static void add_let(TcChecker *ck, const TcWhere *w) {
    Let let = {.name = let_is_free(ck, w) ? w->name : NULL};
    ck->owner = ck->lets.n;
    let.val = tc_value(ck, w->a);
    ck->owner = -1;
    if (let.val.e && let.val.weak && let.val.e->kind != EXPR_CONST)
        let.val = (TcVal){.e = tc_coerce(ck, let.val, tc_value_type(let.val))};
    vec_push(ck->arena, &ck->lets, let);
}

static const Affine *bound(TcChecker *ck, const TcNode *n) {
    ck->no_index = "a range";
    const Affine *a = tc_affine(ck, n, "a bound");
    ck->no_index = NULL;
    if (a && a->has_iter) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_TRIANGULAR);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INDEX_IN_BOUND_NOTE);
        return NULL;
    }
    if (a && a->has_read) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_READ_IN_BOUND, "a bound");
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_READ_IN_BOUND_NOTE);
        return NULL;
    }
    return a;
}

static bool range_target(TcChecker *ck, const TcWhere *w) {
    const Sym *s = tc_find(ck, ck->frame, w->name);
    const char *what = !s ? NULL : s->kind == SYM_TENSOR ? "a tensor" : "a size or scalar";
    for (int i = 0; i < ck->lets.n; i++)
        if (ck->lets.at[i].name == w->name) what = "a 'where' definition";
    if (!what) return true;
    Diag *d = diag_report(ck->diags, w->range, DIAG_TC_RANGE_OF, w->name, what);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RANGE_OF_NOTE);
    return false;
}

static void add_range(TcChecker *ck, const TcWhere *w) {
    int it = -1;
    if (!range_target(ck, w)) return;
    const Affine *lo = bound(ck, w->a), *hi = bound(ck, w->b);
    for (int i = 0; i < ck->iters.n; i++)
        if (ck->iters.at[i].name == w->name) it = i;
    if (it < 0) {
        if (ck->iters.n == PROGRAM_MAX_ITERS) {
            diag_report(ck->diags, w->range, DIAG_TC_TOO_MANY, "indices in one statement",
                        PROGRAM_MAX_ITERS);
            return;
        }
        Iter fresh = {.name = w->name, .range = w->range};
        vec_push(ck->arena, &ck->iters, fresh);
        it = ck->iters.n - 1;
    }
    if (ck->iters.at[it].lo) {
        diag_report(ck->diags, w->range, DIAG_TC_RANGE_TWICE, w->name);
        return;
    }
    if (!lo || !hi) return;
    ck->iters.at[it].range = range_join(w->range, w->b->range);
    ck->iters.at[it].lo = lo;
    ck->iters.at[it].hi = hi;
}

// --- Used definitions ----------------------------------------------------------------------------

static void mark_names(const TcStmt *s, const TcNode *n, bool *used) {
    if (n->kind == NODE_NAME || n->kind == NODE_CALL)
        for (int i = 0; i < s->nwhere; i++)
            if (s->where[i].kind == WHERE_LET && s->where[i].name == n->name) used[i] = true;
    for (int i = 0; i < n->n; i++) mark_names(s, n->arg[i], used);
}

// An unused definition must not introduce indices, so it is omitted.
static void check_lets(TcChecker *ck, const TcStmt *s) {
    bool any = false;
    for (int i = 0; i < s->nwhere; i++) any |= s->where[i].kind == WHERE_LET;
    if (!any) return;
    bool *used = arena_new_n(ck->arena, bool, s->nwhere);
    mark_names(s, s->value, used);
    for (int i = s->nwhere - 1; i >= 0; i--) {
        const TcWhere *w = &s->where[i];
        if (w->kind == WHERE_LET && used[i]) mark_names(s, w->a, used);
        if (w->kind == WHERE_EXISTS) mark_names(s, w->a, used);
        if (w->kind == WHERE_RANGE) mark_names(s, w->a, used);
        if (w->kind == WHERE_RANGE) mark_names(s, w->b, used);
    }
    for (int i = 0; i < s->nwhere; i++) {
        const TcWhere *w = &s->where[i];
        if (w->kind != WHERE_LET) continue;
        if (used[i])
            add_let(ck, w);
        else if (let_is_free(ck, w))
            tc_warn(ck, w->range, DIAG_TC_UNUSED, w->name);
    }
}

static void where_clauses(TcChecker *ck, const TcStmt *s, WhereKind kind) {
    for (int i = 0; i < s->nwhere; i++) {
        const TcWhere *w = &s->where[i];
        if (w->kind != kind) continue;
        if (kind == WHERE_EXISTS) tc_value(ck, w->a);
        ck->unread = kind == WHERE_RANGE;
        if (kind == WHERE_RANGE) add_range(ck, w);
        ck->unread = false;
    }
}

static void names_list(TcChecker *ck, Text *t, int from) {
    for (int i = from; i < ck->iters.n; i++)
        text_printf(t, "%s'%s'",
                    i == from              ? ""
                    : i + 1 == ck->iters.n ? " and "
                                           : ", ",
                    ck->iters.at[i].name);
}

// `=` with indices that only the right side has is a sum, with a warning.
static void assign_reduces(TcChecker *ck, const TcStmt *s, TcWork *w) {
    Text names = {.arena = ck->arena};
    names_list(ck, &names, w->nlhs);
    Diag *d = tc_warn(ck, s->op_range, DIAG_TC_ASSIGN_REDUCES, text_str(&names));
    if (d) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_ASSIGN_REDUCES_NOTE);
    w->op = REDUCE_ADD;
    w->init = true;
}

// `op=` without `!` on a tensor that no statement has defined before.
static void check_initialised(TcChecker *ck, const TcStmt *s, const TcWork *w, int tensor) {
    const Ten *t = &ck->tens.at[tensor];
    if (w->op == REDUCE_ASSIGN || w->init || t->defs > 0) return;
    if (t->role == ROLE_TEMP) {
        Diag *d = diag_report(ck->diags, s->op_range, DIAG_TC_TEMP_UPDATED, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INIT_NOTE, reduce_name[w->op]);
        return;
    }
    Diag *d = tc_warn(ck, s->op_range, DIAG_TC_UNINITIALISED, reduce_name[w->op], t->name);
    if (d) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INIT_NOTE, reduce_name[w->op]);
}

static void check_padding(TcChecker *ck, const TcWork *w) {
    if (!ck->padded.to || w->op != REDUCE_ASSIGN) return;
    Diag *d = diag_report(ck->diags, ck->padded, DIAG_TC_PAD_ASSIGN);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_PAD_VALUE_NOTE);
}

// Does each index of the left side have a subscript that determines it?
static bool tells_indices(const TcWork *w) {
    uint32_t told = (UINT32_C(1) << w->serial) - 1; // a step has one value of each of these
    for (int d = 0; d < w->write->rank; d++) {
        const Affine *a = w->write->sub[d];
        if (a->n == 1 && a->term[0].atom->kind == ATOM_ITER)
            told |= UINT32_C(1) << a->term[0].atom->index;
    }
    return w->nlhs == __builtin_popcount(told);
}

// Does the value use elements of the written tensor that no earlier step has written?
static bool reads_this_step(const TcChecker *ck, const Access *write) {
    for (int i = 0; write && i < ck->reads.n; i++) {
        const Access *a = ck->reads.at[i].read.access;
        if (a->tensor == write->tensor && !steps_differ(a, write, ck->steps.n)) return true;
    }
    return false;
}

static void define(TcChecker *ck, const TcStmt *s, const TcWork *w, int tensor) {
    Ten *t = &ck->tens.at[tensor];
    t->defs++;
    if (!w->value.e) {
        if (!t->declared) t->weak = WEAK_NOT;
        return;
    }
    if (ck->untyped && w->value.weak) { // no other operand determines the type
        bool fresh = !reads_this_step(ck, w->write);
        if (fresh && w->value.weak > t->literal) t->literal = w->value.weak;
        return;
    }
    Type type = w->value.e->type;
    bool sum = w->op == REDUCE_ADD || w->op == REDUCE_MUL;
    bool reduces = w->niters > w->nlhs || w->meets;
    if (sum && reduces && !t->declared && !w->value.weak) type = type_accumulator(type);
    tc_join_type(ck, tensor, type, w->value.weak, s->value->range);
}

static void too_large(TcChecker *ck, const TcStmt *s) {
    if (ck->x->overflow) diag_report(ck->diags, s->range, DIAG_TC_OVERFLOW);
    if (ck->x->too_large) diag_report(ck->diags, s->range, DIAG_TC_EXPR_LARGE);
    ck->x->overflow = ck->x->too_large = false;
}

static void start_stmt(TcChecker *ck, TcFrame *frame, const TcStmt *s) {
    ck->frame = frame;
    ck->stmt = s;
    ck->write = NULL;
    ck->iters.n = ck->lets.n = ck->constraints.n = ck->hoists.n = ck->guard = 0;
    for (int i = 0; i < ck->steps.n; i++) vec_push(ck->arena, &ck->iters, ck->steps.at[i].iter);
    ck->reads.n = ck->uses.n = 0;
    ck->owner = -1;
    ck->unread = ck->untyped = false;
    ck->guards = NULL;
    ck->no_index = NULL;
    ck->padded = (Range){0, 0};
}

static bool room_for_stmt(TcChecker *ck, const TcStmt *s) {
    if (ck->full) return false;
    if (ck->works.n < PROGRAM_MAX_STMTS) return true;
    diag_report(ck->diags, s->range, DIAG_TC_TOO_MANY, "statements in one function",
                PROGRAM_MAX_STMTS);
    ck->full = true;
    return false;
}

// --- Reads of the written tensor -----------------------------------------------------------------

typedef struct SelfRead {
    const TcChecker *ck;
    const Access *write;
    const Access *other; // a read that certainly is of another element than the written one
    bool shifted;        // it is at a constant distance
    bool any;
} SelfRead;

// Does the expression use an index with a constant range? Parts may then be disjoint, and
// program_bind decides.
static bool is_given(const TcChecker *ck, const Affine *a) {
    for (int i = 0; i < ck->iters.n; i++) {
        const Iter *it = &ck->iters.at[i];
        if (it->lo && affine_uses_iter(a, i) && affine_is_const(affine_sub(ck->x, it->hi, it->lo)))
            return true;
    }
    return false;
}

// Bare indices or constants in other positions than on the left, or at a constant distance: some
// iteration certainly reads an element that another one writes (unless there is only one
// iteration).
static bool surely_other(const TcChecker *ck, const Access *write, const Access *read,
                         bool *shifted) {
    bool bare = true, shift = true;
    for (int d = 0; d < write->rank; d++) {
        const Affine *a = write->sub[d], *b = read->sub[d];
        uint32_t steps = (UINT32_C(1) << ck->steps.n) - 1; // program_bind decides about these
        if (a != b && (affine_iter_mask(a) | affine_iter_mask(b)) & steps) return *shifted = false;
        if (a != b && (is_given(ck, a) || is_given(ck, b))) return *shifted = false;
        bare = bare && affine_as_iter(a) >= 0 && affine_as_iter(b) >= 0;
        bool same = a->n == b->n && a->linear && b->linear;
        for (int i = 0; same && i < a->n; i++)
            same = a->term[i].atom == b->term[i].atom && a->term[i].coef == b->term[i].coef;
        int64_t step = same && a->n == 1 ? a->term[0].coef : 1;
        int64_t distance = a->constant - b->constant;
        shift = shift && same && (a->n == 1 || distance == 0) && distance % step == 0;
    }
    *shifted = shift;
    return bare || shift;
}

static void self_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    SelfRead *s = user;
    if (a->tensor != s->write->tensor || a->rank != s->write->rank) return;
    if (steps_differ(a, s->write, s->ck->steps.n)) return;
    s->any = true;
    bool shifted;
    if (a == s->write || !surely_other(s->ck, s->write, a, &shifted)) return;
    s->other = a;
    s->shifted = shifted;
}

static void check_in_place(TcChecker *ck, const TcStmt *s, const TcWork *w) {
    SelfRead self = {.ck = ck, .write = w->write};
    const Ten *t = &ck->tens.at[w->write->tensor];
    if (w->value.e) expr_visit_accesses(w->value.e, self_read, &self);
    bool untyped = !w->value.e || ck->untyped; // is it defined only in terms of itself?
    for (int i = 0; untyped && i < ck->reads.n; i++) {
        const Access *a = ck->reads.at[i].read.access;
        self_read(&self, a, false);
        bool undefined =
            t->role == ROLE_TEMP && !t->in_steps && a->tensor == w->write->tensor && a != w->write;
        if (undefined && !self.other) self.other = a;
    }
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
        if (self.shifted) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RECURRENCE_NOTE, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_COPY_NOTE, t->name);
    }
}

static void check_write(TcChecker *ck, const TcStmt *s, const TcWork *w, int errors) {
    if (w->op == REDUCE_ASSIGN && !access_tells_iters(w->write)) {
        const Ten *t = &ck->tens.at[w->write->tensor];
        Diag *d = diag_report(ck->diags, s->write_range, DIAG_TC_SCATTER_ASSIGN, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_SCATTER_NOTE);
    }
    if (w->value.e || ck->diags->errors == errors) check_in_place(ck, s, w);
}

// --- Whole statements ----------------------------------------------------------------------------

static void check_stmt(TcChecker *ck, TcFrame *frame, const TcStmt *s) {
    int errors = ck->diags->errors;
    start_stmt(ck, frame, s);
    if (!room_for_stmt(ck, s) || tc_call_stmt(ck, frame, s)) return;
    int tensor = tc_target(ck, frame, &s->target[0], s->nsubs, s->write_range);
    TcWork w = {.op = s->op, .init = s->init, .hint = s->hint, .range = s->range};
    w.serial = ck->steps.n;
    w.write_range = s->write_range;
    w.write = left_side(ck, s, tensor, &w.sub_range);
    w.nlhs = ck->iters.n;
    ck->write = w.write;
    check_lets(ck, s);
    w.value = tc_value(ck, s->value);
    where_clauses(ck, s, WHERE_EXISTS);
    where_clauses(ck, s, WHERE_RANGE);
    w.niters = ck->iters.n;
    too_large(ck, s);
    if (tensor < 0) return;
    if (w.write) {
        w.scatter = w.write->has_read;
        w.meets = w.scatter || !tells_indices(&w);
        check_write(ck, s, &w, errors);
        bool silent = ck->diags->errors > errors; // warnings would only repeat the error
        if (w.op == REDUCE_ASSIGN && w.niters > w.nlhs && !silent) assign_reduces(ck, s, &w);
        check_padding(ck, &w);
        if (!silent) check_initialised(ck, s, &w, tensor);
        if (w.op != REDUCE_ASSIGN && !w.init)
            tc_add_read(ck, w.write, READ_PLAIN, s->write_range, w.sub_range);
    }
    define(ck, s, &w, tensor);
    if (!w.write || !w.value.e) return;
    tc_put_hoists(ck);
    w.iter = arena_copy(ck->arena, ck->iters.at, (size_t)w.niters * sizeof(Iter));
    w.nconstraints = ck->constraints.n;
    w.constraint =
        arena_copy(ck->arena, ck->constraints.at, (size_t)w.nconstraints * sizeof(Affine *));
    w.reads = tc_take_reads(ck, &w.nreads);
    tc_put_work(ck, &w);
}

void tc_put_work(TcChecker *ck, TcWork *w) {
    int *step = arena_new_n(ck->arena, int, ck->steps.n);
    for (int i = 0; i < ck->steps.n; i++) step[i] = ck->steps.at[i].number;
    w->serial = ck->steps.n;
    w->step = step;
    w->call = ck->frame->call;
    vec_push(ck->arena, &ck->works, *w);
}

// --- Steps ---------------------------------------------------------------------------------------

Iter *tc_step_iters(TcChecker *ck, int more) {
    Iter *iter = arena_new_n(ck->arena, Iter, ck->steps.n + more);
    for (int i = 0; i < ck->steps.n; i++) iter[i] = ck->steps.at[i].iter;
    return iter;
}

static void enter_for(TcChecker *ck, TcFrame *frame, const TcFor *f) {
    TcWhere w = {.name = f->name, .range = f->range, .a = f->a, .b = f->b};
    TcSteps s = {.at = f, .frame = frame, .number = ck->nsteps++};
    start_stmt(ck, frame, NULL);
    ck->unread = true;
    add_range(ck, &w);
    ck->unread = false;
    if (ck->iters.n > ck->steps.n) s.iter = vec_last(&ck->iters);
    if (!s.iter.hi) // reported
        s.iter = (Iter){f->name, affine_const(ck->x, 0), affine_const(ck->x, 1), 0, f->range};
    vec_push(ck->arena, &ck->steps, s);
}

static bool mentions(const TcNode *n, Name name) {
    if ((n->kind == NODE_NAME || n->kind == NODE_CALL) && n->name == name) return true;
    for (int i = 0; i < n->n; i++)
        if (mentions(n->arg[i], name)) return true;
    return false;
}

static bool stmt_mentions(const TcStmt *s, Name name) {
    for (int i = 0; i < s->nsubs; i++)
        if (mentions(s->sub[i], name)) return true;
    for (int i = 0; i < s->nwhere; i++)
        if (mentions(s->where[i].a, name)) return true;
    return mentions(s->value, name);
}

static bool is_inside(const TcStmt *s, const TcFor *f) {
    const TcFor *outer = s ? s->steps : NULL;
    while (outer && outer != f) outer = outer->up;
    return outer;
}

// Creates the temporaries that statements of a `for` read before, or while, a statement of it
// defines them: a step may read what an earlier one wrote. A temporary of the caller may exist
// already, as the result of the call.
static void foresee_temporaries(TcChecker *ck, TcFrame *frame, const TcStmt *first,
                                const TcFor *f) {
    for (const TcStmt *s = first; is_inside(s, f); s = s->next)
        for (int i = 0; i < s->ntargets; i++) {
            const TcTarget *to = &s->target[i];
            const Sym *known = tc_find(ck, frame, to->name);
            if (known ? known->kind != SYM_TENSOR : tc_is_reserved(to->name)) continue;
            const TcStmt *r = first;
            while (r != s && !stmt_mentions(r, to->name)) r = r->next;
            if (!stmt_mentions(r, to->name)) continue;
            int tensor = known ? known->tensor : tc_target(ck, frame, to, -1, to->range);
            if (tensor >= 0) ck->tens.at[tensor].in_steps = true;
        }
}

// Leaves the `for`s of this function that do not enclose the statement, and enters those that do.
// The first `outer` belong to its callers, whose indices it does not see.
static void steps_around(TcChecker *ck, TcFrame *frame, const TcStmt *s, int outer) {
    const TcFor *f = s->steps;
    int depth = f ? f->depth + 1 : 0;
    const TcFor *path[PROGRAM_MAX_ITERS];
    for (; f; f = f->up) path[f->depth] = f;
    int same = 0;
    while (same < depth && outer + same < ck->steps.n &&
           ck->steps.at[outer + same].at == path[same])
        same++;
    ck->steps.n = outer + same;
    if (!same && depth) foresee_temporaries(ck, frame, s, path[0]);
    for (; same < depth && ck->steps.n < PROGRAM_MAX_ITERS; same++)
        enter_for(ck, frame, path[same]);
}

// Renames steps so that no program can refer to them.
static void hide_steps(TcChecker *ck) {
    for (int i = 0; i < ck->steps.n; i++) {
        Name *name = &ck->steps.at[i].iter.name;
        *name = name_of(ck->names, arena_printf(ck->arena, "%s.%d", *name, i));
    }
}

void tc_check_stmts(TcChecker *ck, TcFrame *frame) {
    int outer = ck->steps.n;
    TcSteps *kept = arena_copy(ck->arena, ck->steps.at, (size_t)outer * sizeof *kept);
    hide_steps(ck);
    for (const TcStmt *s = frame->func->stmts; s && !ck->full; s = s->next) {
        int before = ck->diags->items.n;
        steps_around(ck, frame, s, outer);
        check_stmt(ck, frame, s);
        if (frame->call)
            program_note_calls(ck->diags, before, &(CallSite){frame->call->range, NULL});
    }
    ck->steps.n = outer;
    if (outer) memcpy(ck->steps.at, kept, (size_t)outer * sizeof *kept);
}
