// Reading Stripe text: the statements of a block.
#include "stripe/stripe_impl.h"

#include <string.h>

#include "base/nearest.h"

// --- Statements --------------------------------------------------------------------------------

static int find_scalar(const StripeScope *s, Name name) {
    for (int i = s->scalar.n - 1; i >= 0; i--)
        if (s->scalar.at[i].name == name) return i;
    return -1;
}

static int use_scalar(StripeParser *p, StripeScope *s) {
    if (p->failed || p->tok.kind != ST_SCALAR) {
        stripe_expected(p, "a scalar");
        return 0;
    }
    Name name = name_intern(p->names, p->tok.text, (size_t)p->tok.len);
    int i = find_scalar(s, name);
    if (i < 0)
        stripe_fail(p, p->tok.range, DIAG_STRIPE_SCALAR_UNKNOWN, name);
    else
        s->scalar.at[i].last_use = s->stmt.n;
    stripe_next(p);
    return i;
}

const Affine *stripe_scalar_atom(StripeParser *p, StripeScope *s, bool allowed) {
    if (!allowed) {
        stripe_fail(p, p->tok.range, DIAG_STRIPE_SCALAR_HERE);
        return affine_const(p->x, 0);
    }
    int i = use_scalar(p, s);
    p->gathers = true;
    return affine_iter(p->x, TREE_MAX_INDICES + (i < 0 ? 0 : i));
}

static Refine *use_view(StripeParser *p, StripeScope *s, Name name, Range range, bool write) {
    Refine *r = stripe_find_view(s, name);
    if (!r)
        stripe_fail(p, range, DIAG_STRIPE_VIEW_UNKNOWN, name);
    else if (write && r->v.dir == VIEW_IN)
        stripe_fail(p, range, DIAG_STRIPE_WRITE_IN, name);
    return r;
}

// Optional subscripts behind the name of a view, counted from where it begins.
static void take_subscripts(StripeParser *p, StripeScope *s, StripeStmt *st, Range range) {
    const Affine *sub[STRIPE_MAX_RANK];
    if (!stripe_accept(p, "[")) return;
    int n = stripe_affine_list(p, s, true, "]", sub);
    st->gathers |= p->gathers;
    if (p->failed || !st->view) return;
    if (n != st->view->rank)
        stripe_fail(p, range, DIAG_STRIPE_RANK, st->view->v.into, st->view->rank, n, "subscripts");
    st->sub = arena_copy(p->arena, sub, sizeof *sub * (size_t)n);
}

static Type const_type(StripeParser *p, bool *soft) {
    *soft = stripe_is_word(p, "int") || stripe_is_word(p, "float");
    if (stripe_is_word(p, "int")) return stripe_next(p), TYPE_I32;
    if (stripe_is_word(p, "float")) return stripe_next(p), TYPE_F32;
    return stripe_take_type(p);
}

static Value int_value(StripeParser *p, Type type, bool minus, Range range) {
    uint64_t v = 0;
    for (int i = 0; i < p->tok.len; i++) {
        uint64_t digit = (uint64_t)(p->tok.text[i] - '0');
        if (digit > 9 || v > (UINT64_MAX - digit) / 10) {
            stripe_fail(p, range, DIAG_STRIPE_NUMBER);
            return (Value){0};
        }
        v = v * 10 + digit;
    }
    Value value = {.i = (int64_t)(minus ? 0 - v : v)};
    Value back = type_round(type, value);
    bool negative = type != TYPE_U64 && minus ? value.i > 0 : type != TYPE_U64 && value.i < 0;
    if (back.i != value.i || negative) stripe_fail(p, range, DIAG_STRIPE_NUMBER);
    return back;
}

// (fp32)0.5, (i32)-3, (bool)true
static void take_const(StripeParser *p, StripeScope *s, StripeStmt *st) {
    bool soft, minus;
    st->kind = SS_CONST;
    stripe_next(p);
    st->type = const_type(p, &soft);
    stripe_expect(p, ")");
    Range range = p->tok.range;
    minus = stripe_accept(p, "-");
    if (p->failed) return;
    bool number = p->tok.kind == ST_INT || p->tok.kind == ST_FLOAT;
    if (st->type == TYPE_BOOL && (stripe_is_word(p, "true") || stripe_is_word(p, "false"))) {
        st->value.i = stripe_is_word(p, "true");
    } else if (type_is_float(st->type) &&
               (number || stripe_is_word(p, "inf") || stripe_is_word(p, "nan"))) {
        double f = 0;
        if (!text_parse_float(p->tok.text, (size_t)p->tok.len, st->type != TYPE_F64, &f))
            stripe_fail(p, range, DIAG_STRIPE_NUMBER);
        st->value.f = minus ? -f : f;
        st->value = type_round(st->type, st->value);
    } else if (p->tok.kind == ST_INT) {
        st->value = int_value(p, st->type, minus, range);
    } else {
        stripe_expected(p, "a literal");
    }
    stripe_next(p);
    s->scalar.at[st->result].soft = soft;
}

static void take_arguments_of(StripeParser *p, StripeScope *s, StripeStmt *st) {
    stripe_expect(p, "(");
    while (!p->failed && !stripe_is_mark(p, ")")) {
        if (st->nargs == 4) {
            stripe_fail(p, p->tok.range, DIAG_STRIPE_LIMIT, 4, "operands");
            return;
        }
        st->arg[st->nargs++] = use_scalar(p, s);
        if (!stripe_accept(p, ",")) break;
    }
    stripe_expect(p, ")");
}

static const char *nth_op(const void *of, size_t i) {
    (void)of;
    return i < OP_COUNT ? stripe_op_name((ExprOp)i) : NULL;
}

static void unknown_operation(StripeParser *p, Range range, Name name) {
    if (p->failed) return;
    Diag *d = diag_report(p->diags, range, DIAG_STRIPE_OPERATION, name);
    const char *near = nearest(name, nth_op, NULL);
    if (near) diag_note(p->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    p->failed = true;
}

// as_fp32($x); PlaidML's as_float, as_int, as_uint and as_bool; ident and assign keep the value.
static bool take_cast(StripeStmt *st, const char *name) {
    static const struct {
        const char *name;
        Type type;
    } other[] = {{"float", TYPE_F32}, {"int", TYPE_I32}, {"uint", TYPE_U32}};
    st->kind = SS_CAST;
    if (!strcmp(name, "ident") || !strcmp(name, "assign")) return true;
    if (strncmp(name, "as_", 3)) return false;
    for (int i = 0; i < 3; i++)
        if (!strcmp(name + 3, other[i].name)) st->type = other[i].type;
    if (!st->type) st->type = stripe_find_type(name + 3, (int)strlen(name + 3));
    return st->type != TYPE_NONE;
}

static void take_intrinsic(StripeParser *p, StripeScope *s, StripeStmt *st) {
    Range range = p->tok.range;
    Name name = stripe_take_name(p, "an operation");
    if (p->failed) return;
    if (!strcmp(name, "load")) {
        st->kind = SS_LOAD;
        stripe_expect(p, "(");
        Range at = p->tok.range;
        Name view = stripe_take_name(p, "the name of a refinement");
        if (!p->failed) st->view = use_view(p, s, view, at, false);
        take_subscripts(p, s, st, at);
        stripe_expect(p, ")");
        return;
    }
    if (!strcmp(name, "load_index")) {
        st->kind = SS_INDEX;
        stripe_expect(p, "(");
        p->gathers = false;
        st->index = stripe_affine(p, s, true);
        st->gathers = p->gathers;
        stripe_expect(p, ")");
        return;
    }
    int op = stripe_op_find(name, (int)strlen(name)), arity = 1;
    if (op >= 0) {
        st->kind = SS_OP;
        st->op = (ExprOp)op;
        arity = op_info[op].arity;
    } else if (!take_cast(st, name)) {
        unknown_operation(p, range, name);
        return;
    }
    take_arguments_of(p, s, st);
    if (st->nargs != arity) stripe_fail(p, range, DIAG_STRIPE_ARITY, name, arity, st->nargs);
}

static void take_scalar_statement(StripeParser *p, StripeScope *s, StripeStmt *st) {
    Range range = p->tok.range;
    Name name = name_intern(p->names, p->tok.text, (size_t)p->tok.len);
    if (find_scalar(s, name) >= 0) stripe_fail(p, range, DIAG_STRIPE_SCALAR_TWICE, name);
    if (s->scalar.n == STRIPE_MAX_SCALARS)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, STRIPE_MAX_SCALARS, "scalars in one block");
    stripe_next(p);
    stripe_expect(p, "=");
    if (p->failed) return;
    // A scalar is not visible to its own operands.
    StripeScalar scalar = {.last_use = -1};
    vec_push(p->arena, &s->scalar, scalar);
    st->result = s->scalar.n - 1;
    if (stripe_is_mark(p, "("))
        take_const(p, s, st);
    else
        take_intrinsic(p, s, st);
    s->scalar.at[st->result].name = name;
}

static void take_store(StripeParser *p, StripeScope *s, StripeStmt *st) {
    st->kind = SS_STORE;
    stripe_expect(p, "(");
    st->nargs = 1;
    st->arg[0] = use_scalar(p, s);
    stripe_expect(p, ")");
    if (!stripe_accept(p, ":")) return;
    st->has_agg = true;
    st->agg = stripe_take_agg(p);
}

typedef struct StmtOperands {
    int n;
    BlockView at[8];
} StmtOperands;

static void add_operand(StripeParser *p, StripeScope *s, StmtOperands *o, Name name, Range range,
                        bool write) {
    Refine *r = use_view(p, s, name, range, write);
    if (p->failed) return;
    if (o->n == 8)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, 8, "operands");
    else
        o->at[o->n++] = r->v;
}

// Behind the name of a special: (A, B, axis=1)
static void take_special(StripeParser *p, StripeScope *s, StripeStmt *st, const StmtOperands *outs,
                         Name name, Range range) {
    StmtOperands ins = {0};
    Tags params = {0};
    stripe_expect(p, "(");
    while (!p->failed && !stripe_is_mark(p, ")")) {
        Range at = p->tok.range;
        Name word = stripe_take_name(p, "an operand");
        if (stripe_accept(p, "=")) {
            int64_t value = stripe_take_int(p, "a number");
            stripe_push_tag(p, &params, word, arena_printf(p->arena, "%lld", (long long)value));
        } else {
            add_operand(p, s, &ins, word, at, false);
        }
        if (!stripe_accept(p, ",")) break;
    }
    stripe_expect(p, ")");
    if (p->failed) return;
    Special *sp = arena_new(p->arena, Special);
    *sp = (Special){.node = {.kind = NODE_SPECIAL, .tags = st->tags, .ndeps = -1},
                    .op = name,
                    .nouts = outs->n,
                    .nins = ins.n,
                    .out = arena_copy(p->arena, outs->at, sizeof(BlockView) * (size_t)outs->n),
                    .in = arena_copy(p->arena, ins.at, sizeof(BlockView) * (size_t)ins.n),
                    .nparams = params.n,
                    .param = params.at};
    st->kind = SS_SPECIAL;
    st->node = &sp->node;
    const char *wrong = special_check(p->arena, p->t, sp);
    if (wrong) stripe_fail(p, range, DIAG_STRIPE_SPECIAL, name, wrong);
    p->reserved += special_indices(p->t, sp);
    if (p->t->nindices + p->reserved > TREE_MAX_INDICES)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, TREE_MAX_INDICES, "indices");
    if (s->loops + special_indices(p->t, sp) > TREE_MAX_DEPTH)
        stripe_fail(p, range, DIAG_STRIPE_NESTING, TREE_MAX_DEPTH);
}

// R = store($x), R = copy(A), (R, S) = prng_step(T)
static void take_effect(StripeParser *p, StripeScope *s, StripeStmt *st) {
    StmtOperands outs = {0};
    bool several = stripe_accept(p, "(");
    Range at = p->tok.range;
    do {
        at = p->tok.range;
        Name name = stripe_take_name(p, "a statement");
        if (!p->failed) add_operand(p, s, &outs, name, at, true);
        if (outs.n == 1) st->view = stripe_find_view(s, name);
        if (!several) take_subscripts(p, s, st, at);
    } while (several && stripe_accept(p, ","));
    if (several) stripe_expect(p, ")");
    stripe_expect(p, "=");
    Range range = p->tok.range;
    Name op = stripe_take_name(p, "store or a special");
    if (p->failed) return;
    if (!strcmp(op, "store") && !several) {
        take_store(p, s, st);
    } else if (special_find(op) < 0) {
        unknown_operation(p, range, op);
    } else if (st->sub) {
        stripe_fail(p, at, DIAG_STRIPE_SPECIAL, op, "it works on whole refinements");
    } else {
        take_special(p, s, st, &outs, op, range);
    }
}

static void take_deps(StripeParser *p, StripeStmt *st) {
    VEC(int64_t) deps = {0};
    st->dep_range = p->tok.range;
    stripe_expect(p, "[");
    while (!p->failed && !stripe_is_mark(p, "]")) {
        int64_t dep = -1;
        if (stripe_is_word(p, "parent"))
            stripe_next(p);
        else
            dep = stripe_take_int(p, "the number of a statement");
        vec_push(p->arena, &deps, dep);
        if (!stripe_accept(p, ",")) break;
    }
    stripe_expect(p, "]");
    st->ndeps = deps.n;
    st->dep = deps.at;
}

void stripe_take_statement(StripeParser *p, StripeScope *s) {
    StripeStmt st = {.range = p->tok.range, .number = -1, .ndeps = -1, .result = -1, .child = -1};
    if (p->tok.kind == ST_INT) {
        st.number = stripe_take_int(p, "a statement");
        if (stripe_is_mark(p, "[")) take_deps(p, &st);
        stripe_expect(p, ":");
    }
    st.tags = stripe_take_tags(p);
    if (p->failed) return;
    st.range = p->tok.range;
    if (stripe_is_word(p, "block")) {
        st.kind = SS_BLOCK;
        StripeScope *inner = NULL;
        const Block *b = stripe_take_block(p, s, st.tags, &inner);
        st.node = b ? &b->node : NULL;
        st.scope = inner;
    } else if (p->tok.kind == ST_SCALAR) {
        take_scalar_statement(p, s, &st);
    } else if (p->tok.kind == ST_NAME || stripe_is_mark(p, "(")) {
        take_effect(p, s, &st);
    } else {
        stripe_expected(p, "a statement or '}'");
    }
    if (st.kind != SS_BLOCK) st.range.to = p->end;
    if (st.kind == SS_SPECIAL && st.node) ((Node *)st.node)->range = st.range; // fresh
    stripe_accept(p, ";");
    vec_push(p->arena, &s->stmt, st);
}
