// Index arithmetic: subscripts, bounds and sizes as Affines. Everything is 64-bit; what a tensor
// holds enters as a READ atom (gather). Divisors must not depend on indices, and what has no affine
// form (a ternary, a float) is refused with the way out: compute it into an integer tensor first.
#include "lang/tc/tc.h"

#include <string.h>

// The way out: a subscript can be read from a tensor, a bound or a size cannot.
static void add_note(Checker *ck, Diag *d, const char *what) {
    bool subscript = !strcmp(what, "a subscript");
    diag_note(ck->diags, d, (Range){0, 0},
              subscript ? DIAG_TC_SUBSCRIPT_FORM_NOTE : DIAG_TC_INTEGERS_NOTE);
}

static const Affine *refuse(Checker *ck, const Node *n, const char *what) {
    add_note(ck, diag_report(ck->diags, n->range, DIAG_TC_SUBSCRIPT_FORM, what), what);
    return NULL;
}

static const Affine *not_integer(Checker *ck, const Node *n, const char *what, const char *type) {
    add_note(ck, diag_report(ck->diags, n->range, DIAG_TC_SUBSCRIPT_TYPE, what, type), what);
    return NULL;
}

// A value that is nothing but index arithmetic or an integer read, as an Affine; NULL when it is
// not. Narrow arithmetic wraps, so it is not taken apart.
const Affine *tc_expr_affine(Checker *ck, Val v) {
    const Expr *e = v.e;
    if (!e || !(type_is_integer(e->type))) return NULL;
    switch (e->kind) {
    case EXPR_CONST: return affine_const(ck->x, e->value.i);
    case EXPR_INDEX: return e->index;
    case EXPR_READ: return affine_read(ck->x, e->access);
    case EXPR_OP: break;
    }
    if (e->op == OP_CAST && type_info[e->type].bits >= 32)
        return tc_expr_affine(ck, (Val){e->arg[0], WEAK_NOT});
    if (e->n != 2 || e->type != TYPE_I64) return NULL;
    const Affine *a = tc_expr_affine(ck, (Val){e->arg[0], WEAK_NOT});
    const Affine *b = a ? tc_expr_affine(ck, (Val){e->arg[1], WEAK_NOT}) : NULL;
    if (!b) return NULL;
    switch (e->op) {
    case OP_ADD: return affine_add(ck->x, a, b);
    case OP_SUB: return affine_sub(ck->x, a, b);
    case OP_MUL: return affine_mul(ck->x, a, b);
    case OP_MIN: return affine_min(ck->x, a, b);
    case OP_MAX: return affine_max(ck->x, a, b);
    case OP_DIV: return b->has_iter || b->has_read ? NULL : affine_div(ck->x, a, b);
    case OP_MOD: return b->has_iter || b->has_read ? NULL : affine_mod(ck->x, a, b);
    default: return NULL;
    }
}

// Names, reads and the like: their value, if that has an affine form.
static const Affine *through_value(Checker *ck, const Node *n, const char *what) {
    Val v = tc_value(ck, n);
    if (!v.e) return NULL;
    const Affine *a = tc_expr_affine(ck, v);
    if (a) return a;
    Type type = tc_value_type(v);
    if (!type_is_integer(type)) return not_integer(ck, n, what, type_info[type].name);
    return refuse(ck, n, what);
}

static const Affine *divide(Checker *ck, const Node *n, const Affine *a, const Affine *b) {
    if (b->has_iter || b->has_read) {
        Diag *d = diag_report(ck->diags, n->arg[1]->range, DIAG_TC_DIVISOR);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_DIVISOR_NOTE);
        return NULL;
    }
    if (affine_is(b, 0)) {
        Diag *d = diag_report(ck->diags, n->arg[1]->range, DIAG_TC_ZERO_DIVISOR);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_DIVISOR_NOTE);
        return NULL;
    }
    return n->op == OP_DIV ? affine_div(ck->x, a, b) : affine_mod(ck->x, a, b);
}

static const Affine *arithmetic(Checker *ck, const Node *n, ExprOp op, const char *what) {
    const Affine *a = tc_affine(ck, n->arg[0], what);
    const Affine *b = n->n > 1 ? tc_affine(ck, n->arg[1], what) : a;
    if (!a || !b) return NULL;
    switch (op) {
    case OP_NEG: return affine_scale(ck->x, a, -1);
    case OP_ADD: return affine_add(ck->x, a, b);
    case OP_SUB: return affine_sub(ck->x, a, b);
    case OP_MUL: return affine_mul(ck->x, a, b);
    case OP_MIN: return affine_min(ck->x, a, b);
    case OP_MAX: return affine_max(ck->x, a, b);
    default: return divide(ck, n, a, b);
    }
}

static bool is_index_op(ExprOp op) {
    return op == OP_NEG || op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN ||
           op == OP_MAX || op == OP_DIV || op == OP_MOD;
}

const Affine *tc_affine(Checker *ck, const Node *n, const char *what) {
    if (n->kind == NODE_OP) {
        if (is_index_op((ExprOp)n->op)) return arithmetic(ck, n, (ExprOp)n->op, what);
        if (op_info[n->op].class == OP_COMPARE || op_info[n->op].class == OP_LOGIC)
            return not_integer(ck, n, what, "bool");
        return refuse(ck, n, what);
    }
    if (n->kind == NODE_FLOAT) return not_integer(ck, n, what, "float");
    if (n->kind == NODE_INT) return affine_const(ck->x, n->i);
    if (n->kind == NODE_CALL && !tc_find(ck, ck->frame, n->name)) {
        const Builtin *b = tc_builtin(n->name, strlen(n->name));
        if (b && b->kind == BUILTIN_OP && (b->op == OP_MIN || b->op == OP_MAX) && n->n == 2)
            return arithmetic(ck, n, b->op, what);
    }
    return through_value(ck, n, what);
}
