// Expressions have two forms: values (tc_value: typed Exprs with conversions) and subscripts or
// bounds (tc_affine: 64-bit index arithmetic). A name is, in this order, an index of the statement,
// a `where` definition, or a name of the function; any other bare name becomes an index.
//
// Literals are weak: they take the type of the other operand. Until then a weak value is kept in
// i64 or f64.
#include "lang/tc/tc.h"

#include <math.h>
#include <string.h>

#include "base/nearest.h"

static const TcVal poison = {.weak = WEAK_NOT};

static TcVal strong(const Expr *e) { return (TcVal){.e = e}; }

static TcVal weak(const Expr *e, Weak kind, const TcNode *written) {
    return (TcVal){.e = e, .weak = kind, .written = written};
}

// --- Types ---------------------------------------------------------------------------------------

Type tc_value_type(TcVal v) {
    return v.weak == WEAK_INT ? TYPE_I32 : v.weak == WEAK_FLOAT ? TYPE_F32 : v.e->type;
}

// Gives a weak value its type. Sums of integer literals stay integer arithmetic. The literals of
// float arithmetic and of both branches of a ternary take the type themselves, so that each rounds
// once.
static const Expr *coerce_weak(TcChecker *ck, const Expr *e, Type type) {
    if (e->kind == EXPR_CONST)
        return expr_const(ck->x, type, type_convert(type, e->type, e->value));
    if (e->kind == EXPR_OP && e->op == OP_SELECT)
        return expr_select(ck->x, e->arg[0], coerce_weak(ck, e->arg[1], type),
                           coerce_weak(ck, e->arg[2], type));
    if (e->kind == EXPR_OP && e->type == TYPE_F64 && e->op != OP_CAST && type_is_float(type)) {
        const Expr *arg[4];
        for (int i = 0; i < e->n; i++) arg[i] = coerce_weak(ck, e->arg[i], type);
        return expr_op(ck->x, e->op, type, e->n, arg);
    }
    return expr_cast(ck->x, type, e);
}

static const char *source_text(TcChecker *ck, const TcNode *n) {
    uint32_t len = n->range.to - n->range.from;
    return arena_strndup(ck->arena, ck->source->text + n->range.from, len);
}

// 1/2 becomes a float, but its value is 0 already.
static void warn_rounded(TcChecker *ck, const TcNode *n) {
    Diag *d = tc_warn(ck, n->range, DIAG_TC_INTEGER_DIVISION, source_text(ck, n));
    if (d) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INTEGER_DIVISION_NOTE);
}

// Does a literal keep its value in a type, up to the rounding of floats?
static bool keeps_value(Type type, const Expr *literal, Value in_type) {
    Value was = literal->value;
    if (!type_is_float(type)) return in_type.i == was.i && (type != TYPE_U64 || was.i >= 0);
    double f = type_is_float(literal->type) ? was.f : (double)was.i;
    return isinf(in_type.f) == isinf(f) && (in_type.f == 0) == (f == 0);
}

// 300 in u8 is 44, and 1e40 in f32 is infinite.
static void warn_lost(TcChecker *ck, TcVal v, Type type) {
    Value value = type_convert(type, v.e->type, v.e->value);
    if (keeps_value(type, v.e, value)) return;
    const char *now = type_is_float(type) ? arena_printf(ck->arena, "%g", value.f)
                      : type == TYPE_U64
                          ? arena_printf(ck->arena, "%llu", (unsigned long long)value.i)
                          : arena_printf(ck->arena, "%lld", (long long)value.i);
    const char *text = source_text(ck, v.written), *name = type_info[type].name;
    Diag *d = tc_warn(ck, v.written->range, DIAG_TC_LITERAL_LOST, text, name, now);
    if (d) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_LITERAL_LOST_NOTE, name, text);
}

const Expr *tc_coerce(TcChecker *ck, TcVal v, Type type) {
    if (v.rounded && type_is_float(type)) warn_rounded(ck, v.rounded);
    if (v.weak && v.written && v.e->kind == EXPR_CONST) warn_lost(ck, v, type);
    return v.weak ? coerce_weak(ck, v.e, type) : expr_cast(ck->x, type, v.e);
}

typedef struct CommonType {
    Type type;
    Weak weak;
} CommonType;

// The common type of two operands: type_promote, or the type of the other operand if one is weak.
static CommonType common(TcVal a, TcVal b) {
    if (a.weak && b.weak) {
        bool f = a.weak == WEAK_FLOAT || b.weak == WEAK_FLOAT;
        return (CommonType){f ? TYPE_F64 : TYPE_I64, f ? WEAK_FLOAT : WEAK_INT};
    }
    if (!a.weak && !b.weak) return (CommonType){type_promote(a.e->type, b.e->type), WEAK_NOT};
    Type t = a.weak ? b.e->type : a.e->type;
    Weak w = a.weak ? a.weak : b.weak;
    if (w == WEAK_INT) return (CommonType){t == TYPE_BOOL ? TYPE_I32 : t, WEAK_NOT};
    return (CommonType){type_is_float(t) ? t : TYPE_F32, WEAK_NOT};
}

static TcVal report_bool(TcChecker *ck, const TcNode *n, TcVal v) {
    Diag *d = diag_report(ck->diags, n->range, DIAG_TC_NOT_BOOL, type_info[tc_value_type(v)].name);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_NOT_BOOL_NOTE);
    return poison;
}

static TcVal as_bool(TcChecker *ck, const TcNode *n, TcVal v) {
    if (v.e && (v.weak || v.e->type != TYPE_BOOL)) return report_bool(ck, n, v);
    return v;
}

// Moves a conversion to a wider type down to the operands, so that arithmetic on narrow types
// happens in the wide type. It is used for values that a reduction accumulates: products of i8 do
// not wrap before they are added, and a product of f16 remains a product that can be fused.
typedef struct Widened {
    const Expr *from, *to;
} Widened;

static bool same_widened(const void *key, const void *item) {
    return ((const Widened *)item)->from == key;
}

// Integers divide with rounding, so a float gets the quotient, not the operands.
static bool rounds_down(const Expr *e, Type type) {
    return type_is_float(type) && !type_is_float(e->type) && (e->op == OP_DIV || e->op == OP_MOD);
}

static const Expr *widen(TcChecker *ck, Set *seen, const Expr *e, Type type);

// A conversion to the common type of two operands, which the program does not write:
//
//     u8*u8*i8      i16(u8*u8)*i16(i8)    the product of two u8 would wrap: widen its operands
//     f16*i32       f16*f16(i32)          f16 would round the integer: convert it to `type`
static const Expr *widen_common(TcChecker *ck, Set *seen, const Expr *e, Type type) {
    const Expr *arg = e->arg[0];
    if (arg->type != type_accumulator(arg->type)) return widen(ck, seen, arg, type);
    return expr_cast(ck->x, type, e->type == type_accumulator(e->type) ? e : arg);
}

static const Expr *widen(TcChecker *ck, Set *seen, const Expr *e, Type type) {
    if (e->kind != EXPR_OP) return expr_cast(ck->x, type, e);
    if (e->op == OP_CAST && numbers_get(&ck->casts, e) < 0) return widen_common(ck, seen, e, type);
    bool select = e->op == OP_SELECT;
    if (rounds_down(e, type))
        return expr_cast(ck->x, type, tc_widen(ck, e, type_accumulator(e->type)));
    if (!select && (op_info[e->op].class != OP_ARITH || e->op == OP_BITAND || e->op == OP_BITOR ||
                    e->op == OP_BITXOR || e->op == OP_SHL || e->op == OP_SHR))
        return expr_cast(ck->x, type, e);
    uint64_t hash = hash_mix(1, (uint64_t)(uintptr_t)e);
    void **slot = set_find(ck->arena, seen, hash, e, same_widened);
    if (*slot) return ((Widened *)*slot)->to;
    const Expr *arg[4];
    for (int i = 0; i < e->n; i++)
        arg[i] = select && i == 0 ? e->arg[0] : widen(ck, seen, e->arg[i], type);
    Widened *w = arena_new(ck->arena, Widened);
    w->from = e;
    w->to = select ? expr_select(ck->x, arg[0], arg[1], arg[2])
                   : expr_op(ck->x, e->op, type, e->n, arg);
    slot = set_find(ck->arena, seen, hash, e, same_widened);
    *slot = w;
    seen->n++;
    return w->to;
}

const Expr *tc_widen(TcChecker *ck, const Expr *e, Type type) {
    Set seen = {0};
    return widen(ck, &seen, e, type);
}

// --- Names and reads -----------------------------------------------------------------------------

void tc_add_read(TcChecker *ck, const Access *a, ReadMode mode, Range range, const Range *subs) {
    if (ck->unread) return;
    if (mode == READ_PLAIN && ck->guard) mode = READ_GUARDED;
    OwnedRead r = {{a, mode, ck->guards, range, subs}, ck->owner};
    vec_push(ck->arena, &ck->reads, r);
}

const InferRead *tc_take_reads(TcChecker *ck, int *n) {
    enum { UNUSED, GUARDED, PLAIN };
    uint8_t *state = arena_new_n(ck->arena, uint8_t, ck->lets.n);
    for (int i = ck->uses.n - 1; i >= 0; i--) { // a definition only uses earlier ones
        const LetUse *u = &ck->uses.at[i];
        int from = u->owner < 0 ? PLAIN : state[u->owner];
        uint8_t now = (uint8_t)(u->guarded && from == PLAIN ? GUARDED : from);
        if (now > state[u->let]) state[u->let] = now;
    }
    InferRead *out = arena_new_n(ck->arena, InferRead, ck->reads.n);
    *n = 0;
    for (int i = 0; i < ck->reads.n; i++) {
        const OwnedRead *r = &ck->reads.at[i];
        int how = r->owner < 0 ? PLAIN : state[r->owner];
        if (how == UNUSED) continue;
        out[*n] = r->read;
        if (how == GUARDED && out[*n].mode == READ_PLAIN) out[*n].mode = READ_GUARDED;
        ++*n;
    }
    return out;
}

static int find_iter(const TcChecker *ck, Name name) {
    for (int i = 0; i < ck->iters.n; i++)
        if (ck->iters.at[i].name == name) return i;
    return -1;
}

static Let *find_let(TcChecker *ck, Name name) {
    for (int i = 0; i < ck->lets.n; i++)
        if (ck->lets.at[i].name == name) return &ck->lets.at[i];
    return NULL;
}

static int new_iter(TcChecker *ck, Name name, Range range) {
    if (ck->no_index) {
        Diag *d = diag_report(ck->diags, range, DIAG_TC_INDEX_IN_BOUND, ck->no_index, name);
        bool of_range = !strcmp(ck->no_index, "a range");
        diag_note(ck->diags, d, (Range){0, 0},
                  of_range ? DIAG_TC_INDEX_IN_BOUND_NOTE : DIAG_TC_INTEGERS_NOTE);
        return -1;
    }
    if (ck->iters.n == PROGRAM_MAX_ITERS) {
        diag_report(ck->diags, range, DIAG_TC_TOO_MANY, "indices in one statement",
                    PROGRAM_MAX_ITERS);
        ck->no_index = "an index beyond the limit";
        return -1;
    }
    Iter it = {.name = name, .range = range};
    vec_push(ck->arena, &ck->iters, it);
    return ck->iters.n - 1;
}

static TcVal use_let(TcChecker *ck, const Let *let) {
    LetUse use = {ck->owner, (int)(let - ck->lets.at), ck->guard > 0};
    vec_push(ck->arena, &ck->uses, use);
    return let->val;
}

// A bare name without a definition: a constant, or a mistake; false: it is an index.
static bool constant_name(TcChecker *ck, const TcNode *n, TcVal *out) {
    Name name = n->name;
    if (name == ck->name_true || name == ck->name_false) {
        *out = strong(expr_int(ck->x, TYPE_BOOL, name == ck->name_true));
    } else if (name == ck->name_inf || name == ck->name_nan) {
        double f = name == ck->name_inf ? (double)INFINITY : (double)NAN;
        *out = weak(expr_float(ck->x, TYPE_F64, f), WEAK_FLOAT, n);
    } else if (tc_builtin(name, strlen(name)) && !tc_is_coordinate(name)) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_BARE_FUNCTION, name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_BARE_FUNCTION_NOTE, name);
        *out = poison;
    } else {
        return false;
    }
    return true;
}

static Diag *report_rank(TcChecker *ck, Range range, int tensor, int n) {
    const Ten *t = &ck->tens.at[tensor];
    Diag *d = diag_report(ck->diags, range, DIAG_TC_RANK, t->name, t->rank, t->rank == 1 ? "" : "s",
                          n, n == 1 ? "" : "s");
    diag_note(ck->diags, d, t->range, DIAG_TC_DECLARED_NOTE, t->name);
    return d;
}

static bool is_defined(TcChecker *ck, int tensor, Range range) {
    const Ten *t = &ck->tens.at[tensor];
    if (t->role != ROLE_TEMP || t->defs > 0 || t->in_steps) return true;
    Diag *d = diag_report(ck->diags, range, DIAG_TC_TEMP_READ, t->name);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_TEMP_READ_NOTE, t->name);
    return false;
}

static bool fits_rank(TcChecker *ck, int tensor, int n, Range range) {
    Ten *t = &ck->tens.at[tensor];
    if (t->rank < 0) t->rank = n, t->range = range;
    if (t->rank == n) return true;
    report_rank(ck, range, tensor, n);
    return false;
}

// Can the tensor be read here with n subscripts?
bool tc_readable(TcChecker *ck, int tensor, int n, Range range) {
    return is_defined(ck, tensor, range) && fits_rank(ck, tensor, n, range);
}

// Reading other elements of the statement's own tensor is a mistake with its own message.
const Access *tc_access(TcChecker *ck, const TcNode *n, int tensor, const Range **subs) {
    const Affine *sub[PROGRAM_MAX_RANK];
    bool ok = fits_rank(ck, tensor, n->n, n->range);
    Range *ranges = arena_new_n(ck->arena, Range, n->n);
    for (int d = 0; d < n->n; d++) {
        const Affine *s = tc_affine(ck, n->arg[d], "a subscript");
        ranges[d] = n->arg[d]->range;
        if (s && d < PROGRAM_MAX_RANK) sub[d] = ok ? tc_own_subscript(ck, n->name, d, s) : s;
        ok = ok && s;
    }
    *subs = ranges;
    const Access *a = ok ? access_make(ck->x, tensor, n->n, sub) : NULL;
    bool itself = a && ck->write && ck->write->tensor == tensor && ck->write != a;
    return a && (itself || is_defined(ck, tensor, n->range)) ? a : NULL;
}

static TcVal read_tensor(TcChecker *ck, const TcNode *n, int tensor) {
    const Range *subs;
    const Access *a = tc_access(ck, n, tensor, &subs);
    Type type = tc_tensor_type(ck, tensor);
    if (a) tc_add_read(ck, a, READ_PLAIN, n->range, subs);
    if (!a) return poison;
    if (type != TYPE_NONE) return strong(expr_read(ck->x, type, a));
    ck->untyped = true; // takes the type of the other operand; the next round knows it
    return weak(expr_int(ck->x, TYPE_I64, 0), WEAK_INT, NULL);
}

static TcVal name_value(TcChecker *ck, const TcNode *n) {
    int i = find_iter(ck, n->name);
    if (i >= 0) return strong(expr_index(ck->x, TYPE_I64, affine_iter(ck->x, i)));
    const Let *let = find_let(ck, n->name);
    if (let) return use_let(ck, let);
    const Sym *s = tc_find(ck, ck->frame, n->name);
    TcVal v;
    if (!s) {
        if (constant_name(ck, n, &v)) return v;
        i = new_iter(ck, n->name, n->range);
        return i < 0 ? poison : strong(expr_index(ck->x, TYPE_I64, affine_iter(ck->x, i)));
    }
    if (s->kind == SYM_POISON) return poison;
    if (s->kind == SYM_SCALAR) return strong(expr_index(ck->x, s->type, s->value));
    if (s->size) return strong(expr_index(ck->x, TYPE_I64, s->size));
    if (ck->tens.at[s->tensor].rank > 0) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_NO_SUBSCRIPTS, n->name,
                              ck->tens.at[s->tensor].rank);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_NO_SUBSCRIPTS_NOTE, n->name);
        return poison;
    }
    return read_tensor(ck, n, s->tensor);
}

// The tensor that a node of the form name(...) reads; -1: none, or an error was reported (*bad).
static int called_tensor(TcChecker *ck, const TcNode *n, bool *bad) {
    const char *what = find_iter(ck, n->name) >= 0 ? "an index" : NULL;
    if (!what && find_let(ck, n->name)) what = "a 'where' definition";
    const Sym *s = what ? NULL : tc_find(ck, ck->frame, n->name);
    if (s && s->kind == SYM_TENSOR) return s->tensor;
    *bad = s && s->kind == SYM_POISON;
    if (s && s->kind == SYM_SCALAR) what = s->is_size ? "a size" : "a scalar";
    if (what) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_NOT_A_TENSOR, n->name, what);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_NOT_A_TENSOR_NOTE);
        *bad = true;
    }
    return -1;
}

typedef struct KnownValue {
    const TcFrame *frame;
    const TcFile *file;
    bool calls;
} KnownValue;

// The tensors of the function, then the functions of the file and the builtin ones.
static const char *nth_known(const void *of, size_t i) {
    const KnownValue *k = of;
    size_t seen = 0;
    for (int s = 0; s < k->frame->syms.cap; s++) {
        const Sym *sym = k->frame->syms.at[s];
        if (sym && sym->kind == SYM_TENSOR && seen++ == i) return sym->name;
    }
    if (!k->calls) return NULL;
    const char *function = tc_nth_function(k->file, i - seen);
    if (function) return function;
    const TcBuiltin *b = tc_builtin_at((int)(i - seen) - k->file->funcs.n);
    return b ? b->name : NULL;
}

static const TcTarget *defined_later(const TcFunc *f, const TcNode *n) {
    for (const TcStmt *st = f->stmts; st; st = st->next)
        for (int i = 0; i < st->ntargets; i++)
            if (st->target[i].name == n->name && st->range.from > n->range.from)
                return &st->target[i];
    return NULL;
}

void tc_note_undefined(TcChecker *ck, Diag *d, const TcFrame *frame, const TcNode *n) {
    KnownValue known = {frame, ck->file, n->kind == NODE_CALL};
    const char *hint = known.calls ? tc_function_hint(n->name) : NULL;
    const char *near = nearest(n->name, nth_known, &known);
    const TcTarget *later = defined_later(ck->func, n);
    if (later)
        diag_note(ck->diags, d, later->range, DIAG_TC_LATER_NOTE);
    else if (hint)
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INSTEAD_NOTE, hint);
    else if (near)
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    else
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_UNDEFINED_NOTE);
}

void tc_report_undefined(TcChecker *ck, const TcNode *n) {
    if (tc_find_func(ck->file, ck->arena, n->name)) {
        Diag *d = diag_report(ck->diags, n->head, DIAG_TC_CALL_INSIDE, n->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_CALL_INSIDE_NOTE, n->name);
        return;
    }
    Diag *d = diag_report(ck->diags, n->range, DIAG_TC_UNDEFINED_CALL, n->name);
    tc_note_undefined(ck, d, ck->frame, n);
    tc_add_sym(ck, ck->frame, n->name, SYM_POISON, n->range);
}

static const Affine *extent(TcChecker *ck, const TcNode *n) {
    const Sym *s = tc_find(ck, ck->frame, n->name);
    if (s && s->kind == SYM_POISON) return NULL;
    if (!s || s->kind != SYM_TENSOR) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_DIM_NO_TENSOR, n->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_DIM_NOTE);
        return NULL;
    }
    const Ten *t = &ck->tens.at[s->tensor];
    if (!tc_readable(ck, s->tensor, t->rank, n->range)) return NULL;
    if (n->i >= t->rank) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_DIM_RANGE, n->i, n->name, t->rank,
                              t->rank == 1 ? "" : "s");
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_DIM_NOTE);
        return NULL;
    }
    return tc_extent(ck, s->tensor, (int)n->i);
}

// --- Operators and builtins ----------------------------------------------------------------------

static const Affine *small_index(TcChecker *ck, const Expr *e) {
    if (e->kind == EXPR_INDEX) return e->index;
    if (e->kind != EXPR_CONST || e->type != TYPE_I64) return NULL;
    return e->value.i > INT32_MAX || e->value.i < INT32_MIN ? NULL
                                                            : affine_const(ck->x, e->value.i);
}

// Index arithmetic in a value stays index arithmetic, so that guards such as  h + kh - 1 < H
// remain affine.
static const Expr *index_arith(TcChecker *ck, ExprOp op, const Expr *a, const Expr *b) {
    if (a->type != TYPE_I64 || b->type != TYPE_I64) return NULL;
    const Affine *l = small_index(ck, a), *r = small_index(ck, b);
    if (!l || !r || l->has_read || r->has_read) return NULL;
    switch (op) {
    case OP_ADD: return expr_index(ck->x, TYPE_I64, affine_add(ck->x, l, r));
    case OP_SUB: return expr_index(ck->x, TYPE_I64, affine_sub(ck->x, l, r));
    case OP_MUL:
        if (!affine_is_const(l) && !affine_is_const(r)) return NULL;
        return expr_index(ck->x, TYPE_I64, affine_mul(ck->x, l, r));
    default: return NULL;
    }
}

static bool is_bitwise(ExprOp op) {
    return op == OP_BITAND || op == OP_BITOR || op == OP_BITXOR || op == OP_SHL || op == OP_SHR;
}

// Masks are converted by their bits: 0xff is a mask of i8, and -2 one of u8.
static TcVal mask(TcVal v, Type type) {
    int bits = 8 * type_info[type].bytes;
    if (!v.weak || v.e->kind != EXPR_CONST || bits == 64) return v;
    if (v.e->value.i >= -(INT64_C(1) << (bits - 1)) && v.e->value.i < INT64_C(1) << bits)
        v.written = NULL;
    return v;
}

// The common type of u64 and a signed type is i64, in which half of the values of u64 are negative.
// Sums and products are not affected.
static void warn_signed(TcChecker *ck, ExprOp op, const TcNode *n, TcVal a, TcVal b) {
    if (a.weak || b.weak || op == OP_ADD || op == OP_SUB || op == OP_MUL || is_bitwise(op)) return;
    Type s = a.e->type, u = b.e->type;
    if (s == TYPE_U64) s = b.e->type, u = a.e->type;
    if (u != TYPE_U64 || s == TYPE_U64 || type_promote(s, u) != TYPE_I64) return;
    Diag *d = tc_warn(ck, n->range, DIAG_TC_SIGNED, op_info[op].name, type_info[a.e->type].name,
                      type_info[b.e->type].name);
    if (d) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_SIGNED_NOTE);
}

static bool leaves_rest(ExprOp op, const Expr *a, const Expr *b) {
    return op == OP_DIV && a->kind == EXPR_CONST && b->kind == EXPR_CONST && b->value.i > 0 &&
           a->value.i % b->value.i != 0;
}

static TcVal arith(TcChecker *ck, ExprOp op, const TcNode *n, TcVal a, TcVal b) {
    CommonType c = common(a, b);
    if (c.type == TYPE_BOOL) c.type = TYPE_I32;
    if (is_bitwise(op) && !type_is_integer(c.type)) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_NOT_INTEGER, op_info[op].name,
                              type_info[c.type].name);
        if (op == OP_BITXOR) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_POWER_NOTE);
        return poison;
    }
    if (is_bitwise(op)) a = mask(a, c.type), b = mask(b, c.type);
    warn_signed(ck, op, n, a, b);
    const Expr *x = tc_coerce(ck, a, c.type), *y = tc_coerce(ck, b, c.type);
    const Expr *e = c.type == TYPE_I64 ? index_arith(ck, op, x, y) : NULL;
    TcVal v = weak(e ? e : expr_binary(ck->x, op, x, y), c.weak, n);
    if (c.weak == WEAK_INT)
        v.rounded = leaves_rest(op, x, y) ? n : a.rounded ? a.rounded : b.rounded;
    return v;
}

static TcVal compare(TcChecker *ck, ExprOp op, const TcNode *n, TcVal a, TcVal b) {
    CommonType c = common(a, b);
    warn_signed(ck, op, n, a, b);
    if (c.type == TYPE_BOOL && op != OP_EQ && op != OP_NE) c.type = TYPE_I32;
    return strong(expr_binary(ck->x, op, tc_coerce(ck, a, c.type), tc_coerce(ck, b, c.type)));
}

static TcVal arith_unary(TcChecker *ck, ExprOp op, const TcNode *n, TcVal a) {
    if (!a.weak && a.e->type == TYPE_BOOL) a = strong(expr_cast(ck->x, TYPE_I32, a.e));
    if (op == OP_NEG && !a.weak && a.e->kind == EXPR_INDEX && a.e->type == TYPE_I64)
        return strong(expr_index(ck->x, TYPE_I64, affine_scale(ck->x, a.e->index, -1)));
    TcVal v = weak(expr_unary(ck->x, op, a.e), a.weak, n);
    v.rounded = a.rounded;
    return v;
}

static TcVal math(TcChecker *ck, ExprOp op, int n, const TcVal *v) {
    CommonType c = {v[0].weak ? TYPE_NONE : v[0].e->type, v[0].weak};
    if (v[0].weak) c.type = v[0].weak == WEAK_INT ? TYPE_I64 : TYPE_F64;
    TcVal sum = v[0];
    for (int i = 1; i < n; i++) {
        c = common(sum, v[i]);
        sum = weak(expr_int(ck->x, c.type, 0), c.weak, NULL);
    }
    if (c.weak) c = (CommonType){TYPE_F64, WEAK_FLOAT};
    if (!type_is_float(c.type)) c.type = TYPE_F32;
    const Expr *arg[4];
    for (int i = 0; i < n; i++) arg[i] = tc_coerce(ck, v[i], c.type);
    return weak(expr_op(ck->x, op, c.type, n, arg), c.weak, NULL);
}

TcVal tc_select(TcChecker *ck, TcVal c, TcVal a, TcVal b) {
    if (!c.e || !a.e || !b.e) return poison;
    CommonType t = common(a, b);
    const Expr *x = tc_coerce(ck, a, t.type), *y = tc_coerce(ck, b, t.type);
    return weak(expr_select(ck->x, c.e, x, y), t.weak, NULL);
}

static TcVal guarded(TcChecker *ck, const TcNode *n, const Expr *cond, bool holds) {
    InferGuard *g = arena_new(ck->arena, InferGuard);
    *g = (InferGuard){cond, holds, ck->guards};
    if (cond) ck->guards = g;
    ck->guard++;
    TcVal v = tc_value(ck, n);
    ck->guard--;
    ck->guards = g->up;
    return v;
}

static TcVal ternary(TcChecker *ck, const TcNode *n) {
    TcVal c = as_bool(ck, n->arg[0], tc_value(ck, n->arg[0]));
    TcVal a = guarded(ck, n->arg[1], c.e, true), b = guarded(ck, n->arg[2], c.e, false);
    return tc_select(ck, c, a, b);
}

static TcVal logic(TcChecker *ck, const TcNode *n) {
    TcVal a = as_bool(ck, n->arg[0], tc_value(ck, n->arg[0]));
    if (n->op == OP_NOT) return a.e ? strong(expr_unary(ck->x, OP_NOT, a.e)) : poison;
    TcVal b = as_bool(ck, n->arg[1], guarded(ck, n->arg[1], a.e, n->op == OP_AND));
    return a.e && b.e ? strong(expr_binary(ck->x, (ExprOp)n->op, a.e, b.e)) : poison;
}

// An operation of expr.def over the node's arguments, whether written infix or as a call.
static TcVal operation(TcChecker *ck, ExprOp op, const TcNode *n) {
    if (op == OP_SELECT) return ternary(ck, n);
    if (op_info[op].class == OP_LOGIC) return logic(ck, n);
    TcVal v[4] = {poison};
    bool ok = true;
    for (int i = 0; i < n->n; i++) v[i] = tc_value(ck, n->arg[i]), ok = ok && v[i].e;
    if (!ok) return poison;
    if (op_info[op].class == OP_COMPARE) return compare(ck, op, n, v[0], v[1]);
    if (op_info[op].class == OP_MATH) return math(ck, op, n->n, v);
    return n->n == 1 ? arith_unary(ck, op, n, v[0]) : arith(ck, op, n, v[0], v[1]);
}

static bool check_arity(TcChecker *ck, const TcNode *n, int least, int most) {
    for (int i = 0; i < n->n; i++)
        if (n->arg[i]->kind == NODE_NAMED) {
            diag_report(ck->diags, n->arg[i]->range, DIAG_TC_NAMED_ARGUMENT, n->name,
                        n->arg[i]->name);
            return false;
        }
    if (n->n >= least && n->n <= most) return true;
    diag_report(ck->diags, n->range, DIAG_TC_ARITY, n->name, least, least == 1 ? "" : "s", n->n);
    return false;
}

static TcVal cast(TcChecker *ck, const TcNode *n, Type type) {
    if (!check_arity(ck, n, 1, 1)) return poison;
    TcVal v = tc_value(ck, n->arg[0]);
    v.written = NULL; // a conversion is explicit
    if (!v.e) return poison;
    v = strong(tc_coerce(ck, v, type));
    numbers_put(&ck->casts, v.e, 0);
    return v;
}

static TcVal builtin(TcChecker *ck, const TcNode *n, const TcBuiltin *b) {
    switch (b->kind) {
    case BUILTIN_OP:
        return check_arity(ck, n, op_info[b->op].arity, op_info[b->op].arity)
                   ? operation(ck, b->op, n)
                   : poison;
    case BUILTIN_PAD: return check_arity(ck, n, 1, 2) ? tc_border(ck, n, b->kind) : poison;
    case BUILTIN_CLAMP:
    case BUILTIN_MIRROR: return check_arity(ck, n, 1, 1) ? tc_border(ck, n, b->kind) : poison;
    case BUILTIN_CONCAT: {
        Diag *d = diag_report(ck->diags, n->head, DIAG_TC_CONCAT_INSIDE);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_CONCAT_NOTE);
        return poison;
    }
    case BUILTIN_NONE: {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_NO_BUILTIN, b->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INSTEAD_NOTE, b->instead);
        return poison;
    }
    }
    return poison;
}

static TcVal call_value(TcChecker *ck, const TcNode *n) {
    bool bad = false;
    int tensor = called_tensor(ck, n, &bad);
    if (tensor >= 0) return read_tensor(ck, n, tensor);
    if (bad) return poison;
    size_t len = strlen(n->name);
    Type type = tc_type_name(n->name, len);
    if (type) return cast(ck, n, type);
    const TcBuiltin *b = tc_builtin(n->name, len);
    if (b) return builtin(ck, n, b);
    tc_report_undefined(ck, n);
    return poison;
}

TcVal tc_value(TcChecker *ck, const TcNode *n) {
    switch ((TcNodeKind)n->kind) {
    case NODE_BAD: return poison;
    case NODE_INT: return weak(expr_int(ck->x, TYPE_I64, n->i), WEAK_INT, n);
    case NODE_FLOAT: return weak(expr_float(ck->x, TYPE_F64, n->f), WEAK_FLOAT, n);
    case NODE_NAME: return name_value(ck, n);
    case NODE_CALL: return call_value(ck, n);
    case NODE_OP: return operation(ck, (ExprOp)n->op, n);
    case NODE_DIM: {
        const Affine *a = extent(ck, n);
        return a ? strong(expr_index(ck->x, TYPE_I64, a)) : poison;
    }
    case NODE_NAMED: return poison;
    }
    return poison;
}
