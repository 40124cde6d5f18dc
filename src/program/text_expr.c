// Affines and expressions of program text.
#include "program/text_impl.h"

// --- Affines -----------------------------------------------------------------------------------

static const Affine *zero(Parser *ps) { return affine_const(ps->p->exprs, 0); }

// The digits as a magnitude; false beyond 64 bits.
static bool magnitude(const Token *t, uint64_t *out) {
    *out = 0;
    for (int i = 0; i < t->len; i++)
        if (__builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (uint64_t)(t->text[i] - '0'), out))
            return false;
    return true;
}

static const Affine *parse_integer(Parser *ps, bool minus) {
    uint64_t m;
    bool fits = magnitude(&ps->token, &m) && m <= (uint64_t)INT64_MAX + minus;
    if (!fits) {
        diag_report(ps->diags, ps->token.range, DIAG_TEXT_LITERAL, "i64");
        fail(ps);
        return zero(ps);
    }
    next(ps);
    return affine_const(ps->p->exprs, (int64_t)(minus ? 0 - m : m));
}

static const Affine *parse_name_in_affine(Parser *ps) {
    Range range = ps->token.range;
    Name name = expect_name(ps, "an index expression");
    Exprs *x = ps->p->exprs;
    if (is(ps, "[")) {
        const Access *a = text_access(ps, name, range);
        if (!a) return zero(ps);
        Type type = ps->p->tensors.at[a->tensor].type;
        if (type_is_integer(type)) return affine_read(x, a);
        diag_report(ps->diags, range, DIAG_TEXT_INDEX_TYPE, name, type_info[type].name);
        fail(ps);
        return zero(ps);
    }
    for (int i = 0; ps->st && i < ps->st->niters; i++)
        if (ps->st->iter[i].name == name) return affine_iter(x, i);
    int param = name ? program_find_param(ps->p, name) : -1;
    if (param >= 0) return affine_param(x, param);
    if (!ps->bad)
        diag_report(ps->diags, range, DIAG_TEXT_UNKNOWN,
                    ps->st ? "iterator or parameter" : "parameter", name);
    fail(ps);
    return zero(ps);
}

static const Affine *parse_extremum(Parser *ps, bool min) {
    next(ps);
    expect(ps, "(");
    const Affine *a = text_affine(ps);
    expect(ps, ",");
    const Affine *b = text_affine(ps);
    expect(ps, ")");
    return min ? affine_min(ps->p->exprs, a, b) : affine_max(ps->p->exprs, a, b);
}

static const Affine *parse_factor(Parser *ps) {
    const Affine *a = zero(ps);
    if (!enter(ps)) {
    } else if (accept(ps, "-")) {
        a = at(ps, TOKEN_INT) ? parse_integer(ps, true)
                              : affine_scale(ps->p->exprs, parse_factor(ps), -1);
    } else if (at(ps, TOKEN_INT)) {
        a = parse_integer(ps, false);
    } else if (is(ps, "min") || is(ps, "max")) {
        a = parse_extremum(ps, is(ps, "min"));
    } else if (accept(ps, "(")) {
        a = text_affine(ps);
        expect(ps, ")");
    } else {
        a = parse_name_in_affine(ps);
    }
    ps->nesting--;
    return a;
}

static const Affine *parse_product(Parser *ps) {
    const Affine *a = parse_factor(ps);
    for (;;) {
        Exprs *x = ps->p->exprs;
        if (accept(ps, "*"))
            a = affine_mul(x, a, parse_factor(ps));
        else if (accept(ps, "/"))
            a = affine_div(x, a, parse_factor(ps));
        else if (accept(ps, "%"))
            a = affine_mod(x, a, parse_factor(ps));
        else
            return a;
    }
}

const Affine *text_affine(Parser *ps) {
    const Affine *a = parse_product(ps);
    for (;;) {
        if (accept(ps, "+"))
            a = affine_add(ps->p->exprs, a, parse_product(ps));
        else if (accept(ps, "-"))
            a = affine_sub(ps->p->exprs, a, parse_product(ps));
        else
            return a;
    }
}

// `name` was read; its subscripts follow.
const Access *text_access(Parser *ps, Name name, Range range) {
    const Affine *sub[PROGRAM_MAX_RANK];
    int rank = 0, tensor = name ? numbers_get(&ps->tensors, name) : -1;
    expect(ps, "[");
    if (!ps->bad && tensor < 0) {
        diag_report(ps->diags, range, DIAG_TEXT_UNKNOWN, "tensor", name);
        fail(ps);
    }
    while (!ps->bad && !is(ps, "]")) {
        if (too_many(ps, ps->token.range, "subscripts", rank, PROGRAM_MAX_RANK)) break;
        sub[rank++] = text_affine(ps);
        if (!accept(ps, ",")) break;
    }
    range.to = ps->token.range.to;
    expect(ps, "]");
    if (ps->bad) return NULL;
    if (rank != ps->p->tensors.at[tensor].rank) {
        diag_report(ps->diags, range, DIAG_TEXT_RANK, name, ps->p->tensors.at[tensor].rank, rank);
        fail(ps);
        return NULL;
    }
    return access_make(ps->p->exprs, tensor, rank, sub);
}

// "a >= b" and its like, as affines that must not be negative; == gives two.
int text_condition(Parser *ps, const Affine *out[2]) {
    Exprs *x = ps->p->exprs;
    const Affine *a = text_affine(ps);
    static const char *const relations[] = {">=", "<=", ">", "<", "=="};
    int r = 0;
    while (r < 5 && !accept(ps, relations[r])) r++;
    if (r == 5) expected(ps, "'>=', '<=', '>', '<' or '=='");
    const Affine *b = text_affine(ps);
    out[0] = r == 1 || r == 3 ? affine_sub(x, b, a) : affine_sub(x, a, b);
    if (r == 2 || r == 3) out[0] = affine_add_const(x, out[0], -1);
    out[1] = affine_sub(x, b, a);
    return r == 4 ? 2 : 1;
}

// --- Expressions -------------------------------------------------------------------------------

static const Expr *no_expr(Parser *ps) { return expr_float(ps->p->exprs, TYPE_F32, 0); }

static bool at_number(const Parser *ps) {
    return at(ps, TOKEN_INT) || at(ps, TOKEN_FLOAT) || is(ps, "inf") || is(ps, "nan");
}

static const Expr *float_literal(Parser *ps, Type type, bool minus) {
    const Token *t = &ps->token;
    bool single = type != TYPE_F64;
    double f = is(ps, "inf") ? __builtin_inf() : __builtin_nan("");
    if (t->kind != TOKEN_WORD && !text_parse_float(t->text, (size_t)t->len, single, &f)) {
        diag_report(ps->diags, t->range, DIAG_TEXT_LITERAL, type_info[type].name);
        fail(ps);
    }
    next(ps);
    return expr_float(ps->p->exprs, type, minus ? -f : f);
}

static const Expr *int_literal(Parser *ps, Type type, bool minus) {
    uint64_t m;
    bool fits = magnitude(&ps->token, &m);
    int64_t v = (int64_t)(minus ? 0 - m : m);
    if (type == TYPE_U64)
        fits &= !minus || m == 0;
    else
        fits &= m <= (uint64_t)INT64_MAX + minus && type_round(type, (Value){.i = v}).i == v;
    if (!fits) {
        diag_report(ps->diags, ps->token.range, DIAG_TEXT_LITERAL, type_info[type].name);
        fail(ps);
        return no_expr(ps);
    }
    next(ps);
    return expr_const(ps->p->exprs, type, (Value){.i = v});
}

// A literal of a type; false: the text has no literal of that type (3.5 is no i32).
static bool accept_literal(Parser *ps, Type type, bool minus, const Expr **out) {
    if (!at_number(ps) || type == TYPE_BOOL) return false;
    if (type_is_float(type))
        *out = float_literal(ps, type, minus);
    else if (at(ps, TOKEN_INT))
        *out = int_literal(ps, type, minus);
    else
        return false;
    return true;
}

static const Expr *untyped_literal(Parser *ps, bool minus) {
    bool integer = at(ps, TOKEN_INT);
    const Expr *e = no_expr(ps);
    accept_literal(ps, integer ? TYPE_I32 : TYPE_F32, minus, &e);
    return e;
}

// "f64(0.1)" is a literal of its type, "f64(A[i])" a cast.
static const Expr *parse_cast(Parser *ps, Type type) {
    Parser saved = *ps;
    const Expr *e = NULL;
    if (accept(ps, "(")) {
        bool minus = accept(ps, "-");
        if (at_number(ps) && accept_literal(ps, type, minus, &e) && !ps->bad && accept(ps, ")"))
            return e;
    }
    if (ps->bad) return no_expr(ps);
    *ps = saved;
    expect(ps, "(");
    e = text_expr(ps, 0);
    expect(ps, ")");
    return expr_op(ps->p->exprs, OP_CAST, type, 1, &e);
}

static const char *operand_kind(ExprOp op) {
    if (op_info[op].trait == TRAIT_BITS) return "integer or bool";
    return op_info[op].class == OP_MATH ? "float" : "bool";
}

static bool operand_ok(ExprOp op, Type t) {
    switch (op_info[op].class) {
    case OP_MATH: return type_is_float(t);
    case OP_LOGIC: return t == TYPE_BOOL;
    case OP_ARITH: return op_info[op].trait != TRAIT_BITS || !type_is_float(t);
    default: return true;
    }
}

// Makes the operation after checking the types of its operands.
static const Expr *make_op(Parser *ps, Range range, ExprOp op, const Expr *const *arg) {
    int n = op_info[op].arity, first = op == OP_SELECT ? 1 : 0;
    const char *name = op_info[op].name;
    if (ps->bad) return no_expr(ps);
    if (op == OP_SELECT && arg[0]->type != TYPE_BOOL) {
        diag_report(ps->diags, range, DIAG_TEXT_OPERAND, name, "a bool condition",
                    type_info[arg[0]->type].name);
        fail(ps);
    }
    for (int i = first + 1; i < n && !ps->bad; i++) {
        if (arg[i]->type == arg[first]->type) continue;
        diag_report(ps->diags, range, DIAG_TEXT_TYPES, name, type_info[arg[first]->type].name,
                    type_info[arg[i]->type].name);
        fail(ps);
    }
    if (!ps->bad && !operand_ok(op, arg[first]->type)) {
        const char *kind = arena_printf(ps->arena, "%s operands", operand_kind(op));
        diag_report(ps->diags, range, DIAG_TEXT_OPERAND, name, kind,
                    type_info[arg[first]->type].name);
        fail(ps);
    }
    if (ps->bad) return no_expr(ps);
    bool truth = op_info[op].class == OP_COMPARE || op_info[op].class == OP_LOGIC;
    return expr_op(ps->p->exprs, op, truth ? TYPE_BOOL : arg[first]->type, n, arg);
}

static ExprOp op_named(const Token *t, bool infix) {
    for (int op = 0; op < OP_COUNT; op++) {
        const char *name = op_info[op].name;
        if ((op_info[op].binds > 0) == infix && (size_t)t->len == strlen(name) &&
            !memcmp(name, t->text, (size_t)t->len) && op != OP_NEG && op != OP_NOT && op != OP_CAST)
            return (ExprOp)op;
    }
    return OP_COUNT;
}

static const Expr *parse_call(Parser *ps, ExprOp op) {
    const Expr *arg[4];
    Range range = ps->token.range;
    next(ps);
    expect(ps, "(");
    for (int i = 0; i < op_info[op].arity; i++) {
        if (i) expect(ps, ",");
        arg[i] = text_expr(ps, 0);
    }
    range.to = ps->token.range.to;
    expect(ps, ")");
    return make_op(ps, range, op, arg);
}

static const Expr *parse_read(Parser *ps) {
    Range range = ps->token.range;
    Name name = expect_name(ps, "an expression");
    const Access *a = ps->bad ? NULL : text_access(ps, name, range);
    return a ? expr_read(ps->p->exprs, ps->p->tensors.at[a->tensor].type, a) : no_expr(ps);
}

static const Expr *parse_prefix(Parser *ps, ExprOp op) {
    Range range = ps->token.range;
    next(ps);
    if (op == OP_NEG && at_number(ps)) return untyped_literal(ps, true);
    const Expr *e = text_expr(ps, 11);
    return make_op(ps, (Range){range.from, ps->end}, op, &e);
}

static const Expr *parse_primary(Parser *ps) {
    Exprs *x = ps->p->exprs;
    if (is(ps, "-")) return parse_prefix(ps, OP_NEG);
    if (is(ps, "!")) return parse_prefix(ps, OP_NOT);
    if (at_number(ps)) return untyped_literal(ps, false);
    if (accept(ps, "true")) return expr_int(x, TYPE_BOOL, 1);
    if (accept(ps, "false")) return expr_int(x, TYPE_BOOL, 0);
    if (accept(ps, "(")) {
        const Expr *e = text_expr(ps, 0);
        expect(ps, ")");
        return e;
    }
    if (accept(ps, "index")) {
        expect(ps, "(");
        const Affine *a = text_affine(ps);
        expect(ps, ")");
        return expr_index(x, TYPE_I64, a);
    }
    Type type = accept_type(ps);
    if (type != TYPE_NONE) return parse_cast(ps, type);
    ExprOp op = at(ps, TOKEN_WORD) ? op_named(&ps->token, false) : OP_COUNT;
    return op == OP_COUNT ? parse_read(ps) : parse_call(ps, op);
}

// Operators that bind at least as strongly as `least`, from left to right; 11: none.
const Expr *text_expr(Parser *ps, int least) {
    Range range = ps->token.range;
    if (!enter(ps)) {
        ps->nesting--;
        return no_expr(ps);
    }
    const Expr *e = parse_primary(ps);
    while (!ps->bad) {
        ExprOp op = at(ps, TOKEN_MARK) ? op_named(&ps->token, true) : OP_COUNT;
        if (op == OP_COUNT || op_info[op].binds < least) break;
        next(ps);
        const Expr *arg[] = {e, text_expr(ps, op_info[op].binds + 1)};
        e = make_op(ps, (Range){range.from, ps->end}, op, arg);
    }
    ps->nesting--;
    return e;
}
