// Integer arithmetic in as few bits as its use needs.
//
// Iterators are i64, so `int32((A(n) >> k) & 1)` computes in 64 bits: i32(i64(A[n]) >> k & 1). The
// cast keeps 32 bits only, and those are known without the others:
//
//     +, -, *, &, |, ^, and << by fewer than 32   the low bits depend on low bits alone
//     >>, /, %, min, max, abs                     also where the operands fit in 32 bits
//
// So the operations between the reads and the cast become i32 or u32, and twice as many lanes run
// at once. A cast to a float and a comparison count as such a use where
// their operands fit in 32 bits. Expressions of indices alone stay i64: those are conditions and
// subscripts, which others recognise.
#include "program/program.h"

#include "base/checked.h"

// Visits of nodes for one statement; beyond this limit expressions stay unchanged.
enum { FUEL = 20000 };

typedef struct Narrow {
    Exprs *x;
    const int64_t *lo, *hi; // of each iterator, inclusive
    int fuel;
} Narrow;

typedef struct ValueInterval {
    int64_t lo, hi;
} ValueInterval;

static const ValueInterval fits_i32 = {INT32_MIN, INT32_MAX}, fits_u32 = {0, UINT32_MAX};

static bool lies_in(ValueInterval a, ValueInterval b) { return a.lo >= b.lo && a.hi <= b.hi; }

// The values of a type; false: it has 64 bits, or is not an integer type.
static bool type_interval(Type t, ValueInterval *r) {
    int bits = type_info[t].bits;
    if (t == TYPE_BOOL) return *r = (ValueInterval){0, 1}, true;
    if (!type_is_integer(t) || bits == 64) return false;
    bool is_signed = type_info[t].class == CLASS_INT;
    r->lo = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    r->hi = ((int64_t)1 << (bits - is_signed)) - 1;
    return true;
}

static ValueInterval hull(const int64_t *v, int n) {
    ValueInterval r = {v[0], v[0]};
    for (int i = 1; i < n; i++) r = (ValueInterval){min_i64(r.lo, v[i]), max_i64(r.hi, v[i])};
    return r;
}

static bool product(ValueInterval a, ValueInterval b, ValueInterval *r) {
    int64_t v[4];
    bool ok = checked_mul(a.lo, b.lo, &v[0]) && checked_mul(a.lo, b.hi, &v[1]) &&
              checked_mul(a.hi, b.lo, &v[2]) && checked_mul(a.hi, b.hi, &v[3]);
    if (ok) *r = hull(v, 4);
    return ok;
}

// 2^n - 1, at least v.
static int64_t all_ones(int64_t v) {
    return v ? (int64_t)(UINT64_MAX >> __builtin_clzll((uint64_t)v)) : 0;
}

static bool shift(ExprOp op, ValueInterval a, ValueInterval count, ValueInterval *r) {
    if (a.lo < 0 || !lies_in(count, (ValueInterval){0, 62})) return false;
    if (op == OP_SHR) return *r = (ValueInterval){a.lo >> count.hi, a.hi >> count.lo}, true;
    return product(a, (ValueInterval){(int64_t)1 << count.lo, (int64_t)1 << count.hi}, r);
}

// The range of an operation on these operands, as unbounded integers.
static bool combine(ExprOp op, ValueInterval a, ValueInterval b, ValueInterval *r) {
    switch (op) {
    case OP_ADD: return checked_add(a.lo, b.lo, &r->lo) && checked_add(a.hi, b.hi, &r->hi);
    case OP_SUB: return checked_sub(a.lo, b.hi, &r->lo) && checked_sub(a.hi, b.lo, &r->hi);
    case OP_MUL: return product(a, b, r);
    case OP_MIN: return *r = (ValueInterval){min_i64(a.lo, b.lo), min_i64(a.hi, b.hi)}, true;
    case OP_MAX: return *r = (ValueInterval){max_i64(a.lo, b.lo), max_i64(a.hi, b.hi)}, true;
    case OP_BITAND:
        if (a.lo < 0 && b.lo < 0) return false;
        *r = (ValueInterval){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : min_i64(a.hi, b.hi)};
        return true;
    case OP_BITOR:
    case OP_BITXOR:
        if (a.lo < 0 || b.lo < 0) return false;
        return *r = (ValueInterval){0, all_ones(a.hi | b.hi)}, true;
    case OP_SHL:
    case OP_SHR: return shift(op, a, b, r);
    case OP_MOD:
        if (b.lo <= 0) return false;
        return *r = (ValueInterval){0, a.lo >= 0 ? min_i64(a.hi, b.hi - 1) : b.hi - 1}, true;
    case OP_DIV:
        if (a.lo < 0 || b.lo <= 0) return false;
        return *r = (ValueInterval){a.lo / b.hi, a.hi / b.lo}, true;
    default: return false;
    }
}

static bool interval_of(Narrow *n, const Expr *e, ValueInterval *r);

static bool op_interval(Narrow *n, const Expr *e, ValueInterval *r) {
    ValueInterval a, b;
    if (e->type == TYPE_U64) return false;
    if (e->op == OP_SELECT) {
        if (!interval_of(n, e->arg[1], &a) || !interval_of(n, e->arg[2], &b)) return false;
        return *r = (ValueInterval){min_i64(a.lo, b.lo), max_i64(a.hi, b.hi)}, true;
    }
    if (e->op == OP_CAST) return interval_of(n, e->arg[0], r);
    if (e->n != 2 || op_info[e->op].class != OP_ARITH) return false;
    return interval_of(n, e->arg[0], &a) && interval_of(n, e->arg[1], &b) &&
           combine(e->op, a, b, r);
}

// Between which values does an integer expression lie? False: not known.
static bool interval_of(Narrow *n, const Expr *e, ValueInterval *r) {
    ValueInterval type;
    bool known = false, narrow = type_interval(e->type, &type);
    if (n->fuel-- < 0 || type_is_float(e->type)) return false;
    if (e->kind == EXPR_CONST)
        known = e->type != TYPE_U64, *r = (ValueInterval){e->value.i, e->value.i};
    else if (e->kind == EXPR_INDEX)
        known = !e->index->has_read && affine_bounds(e->index, n->lo, n->hi, &r->lo, &r->hi);
    else if (e->kind == EXPR_OP)
        known = op_interval(n, e, r);
    if (narrow && (!known || !lies_in(*r, type))) *r = type;
    return known || narrow;
}

static const Expr *low_bits(Narrow *n, const Expr *e, Type as);

// Operations whose low bits need operands of known size: in u32 or in i32, whichever holds them.
static const Expr *whole(Narrow *n, const Expr *e, Type as) {
    ValueInterval a, b = {0, 0};
    if (!interval_of(n, e->arg[0], &a) || (e->n > 1 && !interval_of(n, e->arg[1], &b))) return NULL;
    Type type = lies_in(a, fits_u32) && lies_in(b, fits_u32)   ? TYPE_U32
                : lies_in(a, fits_i32) && lies_in(b, fits_i32) ? TYPE_I32
                                                               : TYPE_NONE;
    if (!type || (e->op == OP_SHR && !lies_in(b, (ValueInterval){0, 31}))) return NULL;
    const Expr *arg[2];
    for (int i = 0; i < e->n; i++) {
        arg[i] = low_bits(n, e->arg[i], type);
        if (!arg[i]) return NULL;
    }
    return expr_cast(n->x, as, expr_op(n->x, e->op, type, e->n, arg));
}

// Operations whose low bits need no more than the low bits of their operands.
static const Expr *ring(Narrow *n, const Expr *e, Type as) {
    const Expr *arg[3];
    int first = e->op == OP_SELECT;
    arg[0] = e->arg[0];
    for (int i = first; i < e->n; i++) {
        arg[i] = low_bits(n, e->arg[i], as);
        if (!arg[i]) return NULL;
    }
    return expr_op(n->x, e->op, as, e->n, arg);
}

// A value of type `as`, i32 or u32, that equals the integer `e` in its low 32 bits; NULL: none is
// known.
static const Expr *low_bits(Narrow *n, const Expr *e, Type as) {
    ValueInterval count;
    if (n->fuel-- < 0) return NULL;
    if (type_info[e->type].bits <= 32 || e->kind == EXPR_CONST) return expr_cast(n->x, as, e);
    if (e->kind == EXPR_INDEX) return e->index->has_read ? NULL : expr_index(n->x, as, e->index);
    if (e->kind != EXPR_OP) return NULL;
    switch (e->op) {
    case OP_CAST: return type_is_float(e->arg[0]->type) ? NULL : low_bits(n, e->arg[0], as);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_SELECT: return ring(n, e, as);
    case OP_SHL:
        return interval_of(n, e->arg[1], &count) && lies_in(count, (ValueInterval){0, 31})
                   ? ring(n, e, as)
                   : NULL;
    case OP_SHR:
    case OP_DIV:
    case OP_MOD:
    case OP_MIN:
    case OP_MAX:
    case OP_ABS:
    case OP_RELU: return whole(n, e, as);
    default: return NULL;
    }
}

static bool reads(const Expr *e) {
    bool any = e->kind == EXPR_READ;
    for (int i = 0; e->kind == EXPR_OP && i < e->n && !any; i++) any = reads(e->arg[i]);
    return any;
}

static bool is_wide(const Expr *e) {
    return e->kind == EXPR_OP && (e->type == TYPE_I64 || e->type == TYPE_U64) && reads(e);
}

// The same value as an i32, which holds it; NULL: not known to.
static const Expr *as_i32(Narrow *n, const Expr *e) {
    ValueInterval r;
    return interval_of(n, e, &r) && lies_in(r, fits_i32) ? low_bits(n, e, TYPE_I32) : NULL;
}

static const Expr *narrow_cast(Narrow *n, const Expr *e) {
    const Expr *arg = e->arg[0], *low = NULL;
    if (!is_wide(arg)) return e;
    if (type_is_float(e->type))
        low = as_i32(n, arg);
    else if (type_is_integer(e->type) && type_info[e->type].bits <= 32)
        low = low_bits(n, arg, type_info[e->type].class == CLASS_UINT ? TYPE_U32 : TYPE_I32);
    return low ? expr_cast(n->x, e->type, low) : e;
}

static const Expr *narrow_compare(Narrow *n, const Expr *e) {
    if (!is_wide(e->arg[0]) && !is_wide(e->arg[1])) return e;
    const Expr *arg[2];
    for (int i = 0; i < 2; i++) {
        arg[i] = as_i32(n, e->arg[i]);
        if (!arg[i]) return e;
    }
    return expr_op(n->x, e->op, e->type, 2, arg);
}

static const Expr *rewrite(Narrow *n, const Expr *e) {
    if (e->kind != EXPR_OP || n->fuel-- < 0) return e;
    const Expr *arg[4];
    bool changed = false;
    for (int i = 0; i < e->n; i++) {
        arg[i] = rewrite(n, e->arg[i]);
        changed |= arg[i] != e->arg[i];
    }
    if (changed) e = expr_op(n->x, e->op, e->type, e->n, arg);
    if (e->kind != EXPR_OP) return e;
    if (e->op == OP_CAST) return narrow_cast(n, e);
    return op_info[e->op].class == OP_COMPARE ? narrow_compare(n, e) : e;
}

const Expr *expr_narrow(Exprs *x, const Expr *e, const int64_t *lo, const int64_t *hi) {
    Narrow n = {.x = x, .lo = lo, .hi = hi, .fuel = FUEL};
    return rewrite(&n, e);
}
