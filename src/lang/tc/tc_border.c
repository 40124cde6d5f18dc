// Borders: what a read outside its tensor means.
//
//     pad(A(i+k-1))       in a reduction: instances outside do not exist, so the operator's
//     identity counts pad(A(i+k-1), v)    v outside:                  inside ? A(i+k-1) : v
//     clamp(A(i+k-1))     the nearest element:        A(max(0, min(i+k-1, N-1)))
//     mirror(A(i+k-1))    reflected, the edge once:   A(min(m, 2*(N-1) - m)),  m = (i+k-1) %
//     (2*(N-1))
//
// A subscript that is just an index whose range is inferred stays inside by that inference and is
// left alone.
#include "lang/tc/tc.h"

#include <string.h>

static const Val poison = {NULL, WEAK_NOT};

static bool has_range(const Checker *ck, Name name) {
    for (int i = 0; i < ck->stmt->nwhere; i++) {
        const TcWhere *w = &ck->stmt->where[i];
        if (w->kind == WHERE_RANGE && w->name == name) return true;
    }
    return false;
}

static bool stays_inside(const Checker *ck, const Affine *sub) {
    int i = affine_as_iter(sub);
    return i >= 0 && !has_range(ck, ck->iters.at[i].name);
}

// Distance from the lower edge, and from the upper one; both are >= 0 inside.
static const Affine *above(Checker *ck, const Access *a, int d) {
    return affine_sub(ck->x, a->sub[d], tc_origin(ck, a->tensor, d));
}

static const Affine *last(Checker *ck, const Access *a, int d) {
    return affine_add_const(ck->x, tc_extent(ck, a->tensor, d), -1);
}

static const Affine *below(Checker *ck, const Access *a, int d) {
    return affine_sub(ck->x, last(ck, a, d), above(ck, a, d));
}

static void add_constraint(Checker *ck, const Affine *c) {
    for (int i = 0; i < ck->constraints.n; i++)
        if (ck->constraints.at[i] == c) return;
    vec_push(ck->arena, &ck->constraints, c);
}

// Leaves out the instances that read outside.
static bool leave_out(Checker *ck, const Node *n, const Access *a) {
    DiagId id = ck->guard ? DIAG_TC_PAD_GUARDED : DIAG_TC_PAD_COMPUTED;
    bool bad = ck->guard > 0;
    for (int d = 0; d < a->rank; d++) bad = bad || (a->sub[d]->has_read);
    if (bad) {
        Diag *diag = diag_report(ck->diags, n->range, id);
        diag_note(ck->diags, diag, (Range){0, 0}, DIAG_TC_PAD_VALUE_NOTE);
        return false;
    }
    ck->padded = n->range;
    for (int d = 0; d < a->rank; d++) {
        if (stays_inside(ck, a->sub[d])) continue;
        add_constraint(ck, above(ck, a, d));
        add_constraint(ck, below(ck, a, d));
    }
    return true;
}

static const Expr *not_negative(Checker *ck, const Affine *a) {
    return expr_binary(ck->x, OP_GE, expr_index(ck->x, TYPE_I64, a), expr_int(ck->x, TYPE_I64, 0));
}

// Whether the read lies inside, as a condition; NULL when it always does.
static const Expr *inside(Checker *ck, const Access *a) {
    const Expr *all = NULL;
    for (int d = 0; d < a->rank; d++) {
        if (stays_inside(ck, a->sub[d])) continue;
        const Expr *one = expr_binary(ck->x, OP_AND, not_negative(ck, above(ck, a, d)),
                                      not_negative(ck, below(ck, a, d)));
        all = all ? expr_binary(ck->x, OP_AND, all, one) : one;
    }
    return all;
}

static const Affine *clamped(Checker *ck, const Access *a, int d) {
    const Affine *zero = affine_const(ck->x, 0), *s = above(ck, a, d);
    s = affine_max(ck->x, zero, affine_min(ck->x, s, last(ck, a, d)));
    return affine_add(ck->x, s, tc_origin(ck, a->tensor, d));
}

static const Affine *mirrored(Checker *ck, const Access *a, int d) {
    const Affine *period = affine_scale(ck->x, last(ck, a, d), 2);
    const Affine *m = affine_mod(ck->x, above(ck, a, d), period);
    const Affine *s = affine_min(ck->x, m, affine_sub(ck->x, period, m));
    return affine_add(ck->x, s, tc_origin(ck, a->tensor, d));
}

static const Access *moved(Checker *ck, const Access *a, BuiltinKind kind) {
    const Affine *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < a->rank; d++)
        sub[d] = stays_inside(ck, a->sub[d]) ? a->sub[d]
                 : kind == BUILTIN_CLAMP     ? clamped(ck, a, d)
                                             : mirrored(ck, a, d);
    return access_make(ck->x, a->tensor, a->rank, sub);
}

// The read that a border function is given.
static const Access *border_read(Checker *ck, const Node *n, Type *type) {
    const Node *arg = n->arg[0];
    const Sym *s = arg->kind == NODE_CALL ? tc_find(ck, ck->frame, arg->name) : NULL;
    if (arg->kind == NODE_BAD || (s && s->kind == SYM_POISON)) return NULL;
    if (arg->kind == NODE_CALL && !s && !tc_builtin(arg->name, strlen(arg->name)) &&
        !tc_type_name(arg->name, strlen(arg->name))) {
        tc_report_undefined(ck, arg);
        return NULL;
    }
    if (!s || s->kind != SYM_TENSOR) {
        Diag *d = diag_report(ck->diags, arg->range, DIAG_TC_BORDER_READ, n->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_BORDER_READ_NOTE, n->name);
        return NULL;
    }
    const Range *subs;
    const Access *a = tc_access(ck, arg, s->tensor, &subs);
    *type = tc_tensor_type(ck, s->tensor);
    if (!a || *type == TYPE_NONE) return NULL;
    tc_add_read(ck, a, READ_PADDED, arg->range, subs);
    return a;
}

Val tc_border(Checker *ck, const Node *n, BuiltinKind kind) {
    Type type = TYPE_NONE;
    const Access *a = border_read(ck, n, &type);
    if (kind == BUILTIN_PAD && n->n == 2) {
        ck->guard++;
        Val v = tc_value(ck, n->arg[1]);
        ck->guard--;
        if (!a || !v.e) return poison;
        const Expr *c = inside(ck, a);
        Val read = {expr_read(ck->x, type, a), WEAK_NOT};
        return c ? tc_select(ck, (Val){c, WEAK_NOT}, read, v, n->range) : read;
    }
    if (!a) return poison;
    if (kind == BUILTIN_PAD) {
        if (!leave_out(ck, n, a)) return poison;
    } else {
        a = moved(ck, a, kind);
    }
    return (Val){expr_read(ck->x, type, a), WEAK_NOT};
}
