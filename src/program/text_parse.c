// The parser of program text (docs/program-text.md): recursive descent over tokens made on demand.
//
// Errors: the first mistake of an item is reported and the rest of it skipped, up to the next line
// that begins a declaration or a labelled statement. Statements are skipped when a declaration
// failed: every use of the missing name would be an error too. The next line that begins a program
// is parsed in any case.
#include "program/program.h"

#include "program/lex.h"

#include <string.h>

// Printed text parses back: a node within a node takes two levels at most, as in a - (b - c).
enum { MAX_NESTING = 2 * EXPRS_MAX_DEPTH + 8 };

typedef struct Parser {
    Program *p;
    Arena *arena;
    Lexer lex;
    DiagList *diags;
    Token token;  // the current one
    uint32_t end; // of the one before
    bool bad;     // the current item is in error: nothing is accepted any more
    int nesting;
    const Stmt *st;   // whose iterators are in scope, or NULL
    VEC(Iter) serial; // of the open blocks
    VEC(int) blocks;  // of each one: serial iterators around it
    int joined;       // serial iterators that the last statement has, too
    Numbers tensors, labels;
} Parser;

// --- What stands here --------------------------------------------------------------------------

static void next(Parser *ps) {
    ps->end = ps->token.range.to;
    ps->token = lex_next(&ps->lex);
    ps->bad |= ps->token.kind == TOKEN_BAD;
}

static void fail(Parser *ps) { ps->bad = true; }

static bool at(const Parser *ps, TokenKind kind) { return !ps->bad && ps->token.kind == kind; }

static bool is(const Parser *ps, const char *mark) {
    const Token *t = &ps->token;
    return (at(ps, TOKEN_MARK) || at(ps, TOKEN_WORD)) && (size_t)t->len == strlen(mark) &&
           !memcmp(t->text, mark, (size_t)t->len);
}

static bool accept(Parser *ps, const char *mark) {
    if (!is(ps, mark)) return false;
    next(ps);
    return true;
}

static void expected(Parser *ps, const char *what) {
    const Token *t = &ps->token;
    if (!ps->bad && t->kind == TOKEN_END)
        diag_report(ps->diags, t->range, DIAG_TEXT_EXPECTED_END, what);
    else if (!ps->bad)
        diag_report(ps->diags, t->range, DIAG_TEXT_EXPECTED, what,
                    t->len > 40 ? 40 : (int)(t->range.to - t->range.from),
                    ps->lex.source->text + t->range.from);
    fail(ps);
}

static bool expect(Parser *ps, const char *mark) {
    if (accept(ps, mark)) return true;
    expected(ps, arena_printf(ps->arena, "'%s'", mark));
    return false;
}

static Name expect_name(Parser *ps, const char *what) {
    if (!at(ps, TOKEN_NAME)) {
        expected(ps, what);
        return NULL;
    }
    Name name = name_intern(ps->p->names, ps->token.text, (size_t)ps->token.len);
    next(ps);
    return name;
}

static Type accept_type(Parser *ps) {
    if (!at(ps, TOKEN_WORD)) return TYPE_NONE;
    Type t = type_by_name(ps->token.text, ps->token.len);
    if (t != TYPE_NONE) next(ps);
    return t;
}

static bool too_many(Parser *ps, Range range, const char *what, int n, int limit) {
    if (n < limit) return false;
    if (!ps->bad) diag_report(ps->diags, range, DIAG_PROGRAM_LIMIT, n + 1, what, limit);
    fail(ps);
    return true;
}

static bool enter(Parser *ps) {
    if (++ps->nesting <= MAX_NESTING) return true;
    if (!ps->bad) diag_report(ps->diags, ps->token.range, DIAG_TEXT_NESTING, MAX_NESTING);
    fail(ps);
    return false;
}

// --- Affines -----------------------------------------------------------------------------------

static const Affine *parse_affine(Parser *ps);
static const Access *parse_access(Parser *ps, Name name, Range range);

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
        const Access *a = parse_access(ps, name, range);
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
    const Affine *a = parse_affine(ps);
    expect(ps, ",");
    const Affine *b = parse_affine(ps);
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
        a = parse_affine(ps);
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

static const Affine *parse_affine(Parser *ps) {
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
static const Access *parse_access(Parser *ps, Name name, Range range) {
    const Affine *sub[PROGRAM_MAX_RANK];
    int rank = 0, tensor = name ? numbers_get(&ps->tensors, name) : -1;
    expect(ps, "[");
    if (!ps->bad && tensor < 0) {
        diag_report(ps->diags, range, DIAG_TEXT_UNKNOWN, "tensor", name);
        fail(ps);
    }
    while (!ps->bad && !is(ps, "]")) {
        if (too_many(ps, ps->token.range, "subscripts", rank, PROGRAM_MAX_RANK)) break;
        sub[rank++] = parse_affine(ps);
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
static int parse_condition(Parser *ps, const Affine *out[2]) {
    Exprs *x = ps->p->exprs;
    const Affine *a = parse_affine(ps);
    static const char *const relations[] = {">=", "<=", ">", "<", "=="};
    int r = 0;
    while (r < 5 && !accept(ps, relations[r])) r++;
    if (r == 5) expected(ps, "'>=', '<=', '>', '<' or '=='");
    const Affine *b = parse_affine(ps);
    out[0] = r == 1 || r == 3 ? affine_sub(x, b, a) : affine_sub(x, a, b);
    if (r == 2 || r == 3) out[0] = affine_add_const(x, out[0], -1);
    out[1] = affine_sub(x, b, a);
    return r == 4 ? 2 : 1;
}

// --- Expressions -------------------------------------------------------------------------------

static const Expr *parse_expr(Parser *ps, int least);

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
    e = parse_expr(ps, 0);
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
        arg[i] = parse_expr(ps, 0);
    }
    range.to = ps->token.range.to;
    expect(ps, ")");
    return make_op(ps, range, op, arg);
}

static const Expr *parse_read(Parser *ps) {
    Range range = ps->token.range;
    Name name = expect_name(ps, "an expression");
    const Access *a = ps->bad ? NULL : parse_access(ps, name, range);
    return a ? expr_read(ps->p->exprs, ps->p->tensors.at[a->tensor].type, a) : no_expr(ps);
}

static const Expr *parse_prefix(Parser *ps, ExprOp op) {
    Range range = ps->token.range;
    next(ps);
    if (op == OP_NEG && at_number(ps)) return untyped_literal(ps, true);
    const Expr *e = parse_expr(ps, 11);
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
        const Expr *e = parse_expr(ps, 0);
        expect(ps, ")");
        return e;
    }
    if (accept(ps, "index")) {
        expect(ps, "(");
        const Affine *a = parse_affine(ps);
        expect(ps, ")");
        return expr_index(x, TYPE_I64, a);
    }
    Type type = accept_type(ps);
    if (type != TYPE_NONE) return parse_cast(ps, type);
    ExprOp op = at(ps, TOKEN_WORD) ? op_named(&ps->token, false) : OP_COUNT;
    return op == OP_COUNT ? parse_read(ps) : parse_call(ps, op);
}

// Operators that bind at least as strongly as `least`, from left to right; 11: none.
static const Expr *parse_expr(Parser *ps, int least) {
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
        const Expr *arg[] = {e, parse_expr(ps, op_info[op].binds + 1)};
        e = make_op(ps, (Range){range.from, ps->end}, op, arg);
    }
    ps->nesting--;
    return e;
}

// --- Declarations ------------------------------------------------------------------------------

static void check_size(Parser *ps, Range range) {
    Exprs *x = ps->p->exprs;
    if (!ps->bad && x->overflow) diag_report(ps->diags, range, DIAG_PROGRAM_OVERFLOW);
    if (!ps->bad && x->too_large) diag_report(ps->diags, range, DIAG_PROGRAM_TOO_LARGE);
    if (x->overflow || x->too_large) fail(ps);
    x->overflow = x->too_large = false;
}

static void duplicate(Parser *ps, Range range, Name name) {
    if (!ps->bad) diag_report(ps->diags, range, DIAG_TEXT_DUPLICATE, name);
    fail(ps);
}

static void parse_param(Parser *ps) {
    Range range = ps->token.range;
    Name name = expect_name(ps, "the name of a parameter");
    Type type = TYPE_NONE;
    if (ps->bad || too_many(ps, range, "parameters", ps->p->params.n, PROGRAM_MAX_PARAMS)) return;
    if (accept(ps, ":")) {
        type = accept_type(ps);
        if (!type_is_integer(type)) expected(ps, "an integer type");
    }
    if (program_find_param(ps->p, name) >= 0) duplicate(ps, range, name);
    if (ps->bad) return;
    int i = program_param(ps->p, name, type ? PARAM_SCALAR : PARAM_SIZE);
    ps->p->params.at[i].range = range;
    if (type) ps->p->params.at[i].type = type;
}

static void parse_head(Parser *ps) {
    expect(ps, "program");
    Name name = expect_name(ps, "the name of the program");
    if (name) ps->p->name = name;
    if (accept(ps, "(") && !accept(ps, ")")) {
        do parse_param(ps);
        while (!ps->bad && accept(ps, ","));
        expect(ps, ")");
    }
    expect(ps, "{");
}

// "[a, b]"
static int parse_list(Parser *ps, const Affine *out[PROGRAM_MAX_RANK]) {
    int n = 0;
    expect(ps, "[");
    while (!ps->bad && !is(ps, "]")) {
        if (too_many(ps, ps->token.range, "dimensions", n, PROGRAM_MAX_RANK)) break;
        out[n++] = parse_affine(ps);
        if (!accept(ps, ",")) break;
    }
    expect(ps, "]");
    return n;
}

static void no_reads(Parser *ps, const Affine *const *a, int n, Range range) {
    for (int d = 0; d < n && !ps->bad; d++) {
        if (!a[d]->has_read) continue;
        diag_report(ps->diags, range, DIAG_TEXT_NO_READS);
        fail(ps);
    }
}

static void parse_tensor(Parser *ps, Role role) {
    Program *p = ps->p;
    const Affine *size[PROGRAM_MAX_RANK], *origin[PROGRAM_MAX_RANK];
    Range range = ps->token.range;
    Name name = expect_name(ps, "the name of a tensor");
    if (ps->bad || too_many(ps, range, "tensors", p->tensors.n, PROGRAM_MAX_TENSORS)) return;
    if (numbers_get(&ps->tensors, name) >= 0) duplicate(ps, range, name);
    expect(ps, ":");
    Type type = accept_type(ps);
    if (type == TYPE_NONE) expected(ps, "a type");
    int rank = parse_list(ps, size), origins = 0;
    bool shifted = !ps->bad && accept(ps, "from");
    if (shifted) origins = parse_list(ps, origin);
    if (shifted && !ps->bad && origins != rank) {
        diag_report(ps->diags, range, DIAG_TEXT_RANK, name, rank, origins);
        fail(ps);
    }
    no_reads(ps, size, rank, range);
    no_reads(ps, origin, origins, range);
    check_size(ps, range);
    if (ps->bad) return;
    numbers_put(&ps->tensors, name, p->tensors.n);
    program_tensor(p, name, type, role, rank, size);
    Tensor *t = &vec_last(&p->tensors);
    t->range = range;
    for (int d = 0; d < origins; d++) t->origin[d] = origin[d];
}

static void parse_require(Parser *ps, bool warn) {
    const Affine *what[2];
    Range range = ps->token.range;
    int n = parse_condition(ps, what);
    no_reads(ps, what, n, range);
    check_size(ps, range);
    const char *why = NULL;
    if (at(ps, TOKEN_STRING)) {
        why = arena_strndup(ps->arena, ps->token.text, (size_t)ps->token.len);
        next(ps);
    }
    for (int i = 0; i < n && !ps->bad; i++)
        vec_push(ps->arena, &ps->p->preconditions,
                 ((Require){.what = what[i], .why = why, .range = range, .warn = warn}));
}

// --- Statements --------------------------------------------------------------------------------

static void parse_iter(Parser *ps, Stmt *st) {
    Range range = ps->token.range;
    Name name = expect_name(ps, "the name of an iterator");
    if (ps->bad || too_many(ps, range, "iterators", st->niters, PROGRAM_MAX_ITERS)) return;
    for (int i = 0; i < st->niters; i++)
        if (st->iter[i].name == name) duplicate(ps, range, name);
    expect(ps, "in");
    ps->st = NULL; // ranges know parameters only
    const Affine *bounds[2] = {parse_affine(ps), NULL};
    expect(ps, ":");
    bounds[1] = parse_affine(ps);
    ps->st = st;
    no_reads(ps, bounds, 2, range);
    if (ps->bad) return;
    st->iter[st->niters++] = (Iter){.name = name, .lo = bounds[0], .hi = bounds[1], .range = range};
}

static void parse_constraints(Parser *ps, Stmt *st) {
    VEC(const Affine *) all = {0};
    do {
        const Affine *two[2];
        Range range = ps->token.range;
        int n = parse_condition(ps, two);
        no_reads(ps, two, n, range);
        for (int i = 0; i < n; i++) vec_push(ps->arena, &all, two[i]);
    } while (!ps->bad && accept(ps, ","));
    st->constraint = all.at;
    st->nconstraints = all.n;
}

static void parse_flags(Parser *ps, Stmt *st) {
    for (;;) {
        if (accept(ps, "post")) {
            st->post = true;
        } else if (accept(ps, "unchecked")) {
            st->unchecked = true;
        } else if (accept(ps, "hint")) {
            if (!at(ps, TOKEN_STRING)) expected(ps, "a string");
            if (ps->bad) return;
            st->hint = name_intern(ps->p->names, ps->token.text, (size_t)ps->token.len);
            next(ps);
        } else {
            return;
        }
    }
}

static void parse_operator(Parser *ps, Stmt *st) {
    for (int op = REDUCE_ASSIGN; op <= REDUCE_MAX; op++) {
        const char *name = reduce_name[op], *init = arena_printf(ps->arena, "%s!", name);
        bool plain = accept(ps, name);
        if (!plain && (op == REDUCE_ASSIGN || !accept(ps, init))) continue;
        st->op = (Reduce)op;
        st->init = !plain;
        return;
    }
    expected(ps, "'=', '+=', '*=', 'min=' or 'max='");
}

static void parse_label(Parser *ps, Stmt *st, Name label, Range range) {
    if (numbers_get(&ps->labels, label) >= 0) duplicate(ps, range, label);
    st->label = label;
    next(ps); // the colon
}

static void open_block(Parser *ps, const Stmt *st, Range range) {
    int outer = ps->serial.n;
    if (too_many(ps, range, "blocks inside each other", ps->blocks.n, PROGRAM_MAX_ITERS)) return;
    for (int i = outer; i < st->niters; i++) vec_push(ps->arena, &ps->serial, st->iter[i]);
    vec_push(ps->arena, &ps->blocks, outer);
}

static void close_block(Parser *ps) {
    ps->serial.n = ps->blocks.at[--ps->blocks.n];
    if (ps->joined > ps->serial.n) ps->joined = ps->serial.n;
}

// Label, domain, constraints and flags; gives the name of the tensor that is written, and its
// place. NULL also for iterators that open a block.
static Name parse_domain(Parser *ps, Stmt *st, Range *target) {
    *target = ps->token.range;
    if (at(ps, TOKEN_NAME)) {
        Name name = expect_name(ps, "");
        if (!is(ps, ":")) return name;
        parse_label(ps, st, name, *target);
    }
    if (accept(ps, "for")) {
        do parse_iter(ps, st);
        while (!ps->bad && accept(ps, ","));
        if (!st->label && accept(ps, "{")) {
            open_block(ps, st, *target);
            return NULL;
        }
    }
    if (accept(ps, "if")) parse_constraints(ps, st);
    parse_flags(ps, st);
    *target = ps->token.range;
    return expect_name(ps, "the element that is written");
}

static void parse_stmt(Parser *ps) {
    Program *p = ps->p;
    Iter iters[PROGRAM_MAX_ITERS];
    Stmt st = {.iter = iters, .serial = ps->serial.n, .joined = ps->joined};
    for (int i = 0; i < st.serial; i++) iters[st.niters++] = ps->serial.at[i];
    ps->st = &st;
    Name name = parse_domain(ps, &st, &st.range);
    if (!ps->bad && !name) {
        ps->st = NULL;
        return;
    }
    if (!ps->bad) st.write = parse_access(ps, name, st.range);
    if (!ps->bad) parse_operator(ps, &st);
    Range value = ps->token.range;
    if (!ps->bad) st.value = parse_expr(ps, 0);
    st.range.to = value.to = ps->end;
    check_size(ps, st.range);
    ps->st = NULL;
    if (ps->bad) return;
    const Tensor *t = &p->tensors.at[st.write->tensor];
    if (st.value->type != t->type) {
        diag_report(ps->diags, value, DIAG_TEXT_VALUE_TYPE, t->name, type_info[t->type].name,
                    type_info[st.value->type].name);
        fail(ps);
        return;
    }
    st.iter = arena_copy(ps->arena, iters, (size_t)st.niters * sizeof(Iter));
    if (st.label) numbers_put(&ps->labels, st.label, p->stmts.n);
    ps->joined = st.serial;
    *program_stmt(p, st.range) = st;
}

// --- The whole ---------------------------------------------------------------------------------

static const char *const declarations[] = {"input", "output", "inout", "temp", "require", "expect"};
enum { DECLARE_REQUIRE = 4, DECLARE_EXPECT, DECLARATIONS };

static int accept_declaration(Parser *ps) {
    for (int i = 0; i < DECLARATIONS; i++)
        if (accept(ps, declarations[i])) return i;
    return -1;
}

static bool at_declaration(const Parser *ps) {
    for (int i = 0; i < DECLARATIONS; i++)
        if (is(ps, declarations[i])) return true;
    return false;
}

static bool at_program(const Parser *ps) { return ps->token.first && is(ps, "program"); }

static bool at_body_end(const Parser *ps) {
    return ps->token.kind == TOKEN_END || is(ps, "}") || at_program(ps);
}

// Continues after a mistake: at a line that begins a declaration, a labelled statement or one with
// a domain, or at the end. `item` is where the faulty item began.
static void recover(Parser *ps, uint32_t item) {
    uint32_t line = ps->token.range.from;
    while (line > 0 && ps->lex.source->text[line - 1] != '\n') line--;
    ps->lex.quiet = true;
    if (line > item) { // the mistake may have been a missing end: look at this line from its start
        ps->lex.pos = line;
        next(ps);
        ps->token.first = true;
    }
    ps->bad = false;
    ps->nesting = 0;
    ps->st = NULL;
    while (!at_body_end(ps)) {
        bool labelled = at(ps, TOKEN_NAME) && lex_peek(&ps->lex) == ':';
        if (ps->token.first && (at_declaration(ps) || is(ps, "for") || labelled)) break;
        next(ps);
        ps->bad = false;
    }
    ps->lex.quiet = false;
}

static void parse_body(Parser *ps) {
    bool sound = true; // the declarations
    while (!at_body_end(ps) || (ps->blocks.n && is(ps, "}"))) {
        if (ps->blocks.n && accept(ps, "}")) {
            close_block(ps);
            continue;
        }
        if (too_many(ps, ps->token.range, "statements", ps->p->stmts.n, PROGRAM_MAX_STMTS)) return;
        uint32_t item = ps->token.range.from;
        int d = accept_declaration(ps);
        if (d < 0 && !sound) return;
        if (d >= DECLARE_REQUIRE)
            parse_require(ps, d == DECLARE_EXPECT);
        else if (d >= 0)
            parse_tensor(ps, (Role)d);
        else
            parse_stmt(ps);
        if (!ps->bad) continue;
        sound &= d < 0;
        recover(ps, item);
    }
    expect(ps, "}");
}

// Continues after a faulty program, at the next one.
static void skip_program(Parser *ps) {
    ps->lex.quiet = true;
    ps->bad = false;
    for (; ps->token.kind != TOKEN_END && !at_program(ps); ps->bad = false) next(ps);
    ps->nesting = 0;
    ps->st = NULL;
    ps->lex.quiet = false;
}

static Program *parse_one(Parser *ps, Names *names) {
    int before = ps->diags->errors;
    ps->p = program_new(ps->arena, names, "", 0);
    ps->tensors = ps->labels = (Numbers){.arena = ps->arena};
    ps->serial.n = ps->blocks.n = ps->joined = 0;
    ps->p->source = ps->lex.source;
    parse_head(ps);
    if (!ps->bad) parse_body(ps);
    return !ps->bad && ps->diags->errors == before && program_finish(ps->p, ps->diags) ? ps->p
                                                                                       : NULL;
}

int program_parse_all(Arena *arena, Names *names, const Source *source, DiagList *diags,
                      Program ***out) {
    const Source *outer = diags->source;
    VEC(Program *) list = {0};
    diags->source = source;
    Parser *ps = arena_new(arena, Parser);
    *ps = (Parser){.arena = arena, .lex = {.source = source, .diags = diags}, .diags = diags};
    if (source->len > PROGRAM_MAX_SOURCE) {
        diag_report(diags, (Range){0, 0}, DIAG_TEXT_SIZE, PROGRAM_MAX_SOURCE);
    } else {
        next(ps);
        do {
            Program *p = parse_one(ps, names);
            bool twice = false;
            if (!p) skip_program(ps);
            for (int i = 0; p && i < list.n; i++) twice |= list.at[i]->name == p->name;
            if (twice) diag_report(diags, (Range){0, 0}, DIAG_TEXT_PROGRAM_TWICE, p->name);
            if (p && !twice) vec_push(arena, &list, p);
        } while (ps->token.kind != TOKEN_END);
    }
    diags->source = outer;
    *out = list.at;
    return list.n;
}

Program *program_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    Program **all;
    int before = diags->errors, n = program_parse_all(arena, names, source, diags, &all);
    if (n > 1) diag_report(diags, (Range){0, 0}, DIAG_TEXT_ONE_PROGRAM, n);
    return n == 1 && diags->errors == before ? all[0] : NULL;
}
