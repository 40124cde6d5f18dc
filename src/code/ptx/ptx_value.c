// Prints expressions as instructions, under the rules of docs/arithmetic.md. Every float
// instruction states its rounding, so that ptxas does not contract operations. Integers are kept
// sign- or zero-extended in 32 or 64 bits, and a bool is a predicate.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"

#include <math.h>

Opnd predicate(KernelWriter *w, Opnd v) {
    if (!v.literal) return v;
    return NEW(w, REG_PRED, v.bits ? "setp.eq.s32" : "setp.ne.s32", moved(w, lit(REG_32, 0)),
               lit(REG_32, 0));
}

// Wraps a 32-bit value to the range of the type.
Opnd wrapped(KernelWriter *w, Type t, Opnd v) {
    switch (t) {
    case TYPE_I8: return NEW(w, REG_32, "cvt.s32.s8", v.literal ? moved(w, v) : v);
    case TYPE_I16: return NEW(w, REG_32, "cvt.s32.s16", v.literal ? moved(w, v) : v);
    case TYPE_U8: return NEW(w, REG_32, "and.b32", v, lit(REG_32, 0xff));
    case TYPE_U16: return NEW(w, REG_32, "and.b32", v, lit(REG_32, 0xffff));
    default: return v;
    }
}

// --- Names of instructions ---------------------------------------------------------------------

static const char *with_type(KernelWriter *w, const char *op, char letter, Type t) {
    char *name = arena_raw(w->arena, strlen(op) + sizeof ".b64"), *to = put_text(name, op);
    *to++ = '.';
    *to++ = letter;
    put_text(to, type_info[t].bits == 64 ? "64" : "32")[0] = 0;
    return name;
}

// "add.rn.f32", "mul.lo.s64", "setp.lt.u32"
static const char *typed(KernelWriter *w, const char *op, Type t) {
    TypeClass c = type_info[t].class;
    return with_type(w, op, c == CLASS_FLOAT ? 'f' : c == CLASS_INT ? 's' : 'u', t);
}

static const char *bitwise(KernelWriter *w, const char *op, Type t) {
    return with_type(w, op, 'b', t);
}

static RegClass wide_class(Type t) { return type_info[t].bits == 64 ? REG_64 : REG_32; }

static Opnd in_register(KernelWriter *w, Opnd v) { return v.literal ? moved(w, v) : v; }

// --- Integers ----------------------------------------------------------------------------------

// q = floor(a / b), r = a - q·b; both 0 where b is 0.
static Opnd divide(KernelWriter *w, ExprOp op, Type t, Opnd a, Opnd b) {
    RegClass c = wide_class(t);
    bool is_signed = type_info[t].class == CLASS_INT, div = op == OP_DIV;
    Opnd zero = lit(c, 0), safe = b, none = {0};
    bool maybe_zero = !b.literal || b.bits == 0;
    a = in_register(w, a);
    if (maybe_zero) {
        b = in_register(w, b);
        none = NEW(w, REG_PRED, typed(w, "setp.eq", t), b, zero);
        safe = NEW(w, c, c == REG_64 ? "selp.b64" : "selp.b32", lit(c, 1), b, none);
    }
    Opnd q = NEW(w, c, typed(w, "div", t), a, safe), r = a;
    if (!div || is_signed) {
        Opnd p = NEW(w, c, c == REG_64 ? "mul.lo.s64" : "mul.lo.s32", q, safe);
        r = NEW(w, c, c == REG_64 ? "sub.s64" : "sub.s32", a, p);
    }
    if (is_signed) { // towards minus infinity
        Opnd differ = NEW(w, c, bitwise(w, "xor", t), r, safe);
        Opnd below = NEW(w, REG_PRED, typed(w, "setp.lt", t), differ, zero);
        Opnd some = NEW(w, REG_PRED, typed(w, "setp.ne", t), r, zero);
        Opnd fix = NEW(w, REG_PRED, "and.pred", below, some);
        Opnd more = div ? NEW(w, c, typed(w, "sub", t), q, lit(c, 1))
                        : NEW(w, c, typed(w, "add", t), r, safe);
        q = r = NEW(w, c, c == REG_64 ? "selp.b64" : "selp.b32", more, div ? q : r, fix);
    }
    Opnd z = div ? q : r;
    if (maybe_zero) z = NEW(w, c, c == REG_64 ? "selp.b64" : "selp.b32", zero, z, none);
    return z;
}

static Opnd shift(KernelWriter *w, ExprOp op, Type t, Opnd a, Opnd b) {
    RegClass c = wide_class(t);
    Opnd count = b;
    if (c == REG_64) count = b.literal ? lit(REG_32, b.bits) : NEW(w, REG_32, "cvt.u32.u64", b);
    count = NEW(w, REG_32, "and.b32", count, lit(REG_32, (uint64_t)type_info[t].bits - 1));
    return NEW(w, c, op == OP_SHL ? bitwise(w, "shl", t) : typed(w, "shr", t), a, count);
}

static Opnd integer_op(KernelWriter *w, ExprOp op, Type t, const Opnd *v) {
    RegClass c = wide_class(t);
    Opnd a = v[0], b = op_info[op].arity > 1 ? v[1] : v[0];
    bool is_signed = type_info[t].class == CLASS_INT;
    switch (op) {
    case OP_ADD: return NEW(w, c, typed(w, "add", t), a, b);
    case OP_SUB: return NEW(w, c, typed(w, "sub", t), a, b);
    case OP_MUL: return NEW(w, c, typed(w, "mul.lo", t), a, b);
    case OP_DIV:
    case OP_MOD: return divide(w, op, t, a, b);
    case OP_MIN: return NEW(w, c, typed(w, "min", t), a, b);
    case OP_MAX: return NEW(w, c, typed(w, "max", t), a, b);
    case OP_NEG: return NEW(w, c, c == REG_64 ? "sub.s64" : "sub.s32", lit(c, 0), a);
    case OP_ABS:
        if (!is_signed) return a;
        return NEW(w, c, typed(w, "max", t), a, NEW(w, c, typed(w, "sub", t), lit(c, 0), a));
    case OP_RELU: return is_signed ? NEW(w, c, typed(w, "max", t), a, lit(c, 0)) : a;
    case OP_BITAND: return NEW(w, c, bitwise(w, "and", t), a, b);
    case OP_BITOR: return NEW(w, c, bitwise(w, "or", t), a, b);
    case OP_BITXOR: return NEW(w, c, bitwise(w, "xor", t), a, b);
    case OP_SHL:
    case OP_SHR: return shift(w, op, t, a, b);
    default: bug("%s of integers", op_info[op].name);
    }
}

// --- Bool --------------------------------------------------------------------------------------

static Opnd not_of(KernelWriter *w, Opnd p) { return NEW(w, REG_PRED, "not.pred", p); }

// The operands are the numbers 0 and 1; a result other than 0 becomes 1.
static Opnd bool_op(KernelWriter *w, ExprOp op, const Opnd *v) {
    Opnd x = predicate(w, v[0]), y = op_info[op].arity > 1 ? predicate(w, v[1]) : x;
    switch (op) {
    case OP_MUL:
    case OP_DIV:
    case OP_MIN:
    case OP_BITAND:
    case OP_AND: return NEW(w, REG_PRED, "and.pred", x, y);
    case OP_ADD:
    case OP_MAX:
    case OP_BITOR:
    case OP_OR: return NEW(w, REG_PRED, "or.pred", x, y);
    case OP_SUB:
    case OP_BITXOR:
    case OP_NE: return NEW(w, REG_PRED, "xor.pred", x, y);
    case OP_EQ: return NEW(w, REG_PRED, "xor.pred", x, not_of(w, y));
    case OP_SHR:
    case OP_GT: return NEW(w, REG_PRED, "and.pred", x, not_of(w, y));
    case OP_LT: return NEW(w, REG_PRED, "and.pred", not_of(w, x), y);
    case OP_LE: return NEW(w, REG_PRED, "or.pred", not_of(w, x), y);
    case OP_GE: return NEW(w, REG_PRED, "or.pred", x, not_of(w, y));
    case OP_MOD: return predicate(w, lit(REG_PRED, 0));
    case OP_NOT: return not_of(w, x);
    case OP_NEG:
    case OP_ABS:
    case OP_RELU:
    case OP_SHL: return x; // by 0 or 1; 1 << 1 = 2 also counts as true
    default: bug("%s of bool", op_info[op].name);
    }
}

// --- Floats ------------------------------------------------------------------------------------

// NaN if an operand is NaN; -0 < +0. No f64 instruction propagates NaN.
static Opnd extreme(KernelWriter *w, bool max, Type t, Opnd a, Opnd b) {
    if (t == TYPE_F32) return NEW(w, REG_32, max ? "max.NaN.f32" : "min.NaN.f32", a, b);
    Opnd z = NEW(w, REG_64, max ? "max.f64" : "min.f64", a, b);
    Opnd nan = NEW(w, REG_PRED, "setp.nan.f64", a, b), sum = NEW(w, REG_64, "add.rn.f64", a, b);
    return NEW(w, REG_64, "selp.b64", sum, z, nan);
}

static Opnd float_op(KernelWriter *w, ExprOp op, Type t, const Opnd *v) {
    RegClass c = wide_class(t);
    bool f64 = t == TYPE_F64;
    Opnd a = v[0], b = op_info[op].arity > 1 ? v[1] : v[0];
    switch (op) {
    case OP_ADD: return NEW(w, c, typed(w, "add.rn", t), a, b);
    case OP_SUB: return NEW(w, c, typed(w, "sub.rn", t), a, b);
    case OP_MUL: return NEW(w, c, typed(w, "mul.rn", t), a, b);
    case OP_FDIVIDE:
    case OP_DIV: return NEW(w, c, typed(w, "div.rn", t), in_register(w, a), b);
    case OP_FMA: return NEW(w, c, typed(w, "fma.rn", t), a, b, v[2]);
    case OP_MIN: return extreme(w, false, t, a, b);
    case OP_MAX: return extreme(w, true, t, a, b);
    case OP_RELU: return extreme(w, true, t, a, lit(c, 0));
    case OP_FMIN: return NEW(w, c, typed(w, "min", t), a, b);
    case OP_FMAX: return NEW(w, c, typed(w, "max", t), a, b);
    case OP_NEG: return NEW(w, c, typed(w, "neg", t), in_register(w, a));
    case OP_FABS:
    case OP_ABS: return NEW(w, c, typed(w, "abs", t), in_register(w, a));
    case OP_SQRT: return NEW(w, c, typed(w, "sqrt.rn", t), in_register(w, a));
    case OP_RECIP: return NEW(w, c, typed(w, "rcp.rn", t), in_register(w, a));
    case OP_FLOOR: return NEW(w, c, f64 ? "cvt.rmi.f64.f64" : "cvt.rmi.f32.f32", in_register(w, a));
    case OP_CEIL: return NEW(w, c, f64 ? "cvt.rpi.f64.f64" : "cvt.rpi.f32.f32", in_register(w, a));
    case OP_TRUNC: return NEW(w, c, f64 ? "cvt.rzi.f64.f64" : "cvt.rzi.f32.f32", in_register(w, a));
    default: return func_value(w, op, t, v);
    }
}

static Opnd compare(KernelWriter *w, ExprOp op, Type t, Opnd a, Opnd b) {
    static const char *const name[] = {[OP_LT - OP_LT] = "setp.lt", [OP_LE - OP_LT] = "setp.le",
                                       [OP_GT - OP_LT] = "setp.gt", [OP_GE - OP_LT] = "setp.ge",
                                       [OP_EQ - OP_LT] = "setp.eq", [OP_NE - OP_LT] = "setp.ne"};
    if (t == TYPE_BOOL) return bool_op(w, op, (Opnd[]){a, b});
    const char *o = op == OP_NE && type_is_float(t) ? "setp.neu" : name[op - OP_LT];
    return NEW(w, REG_PRED, typed(w, o, t), in_register(w, a), b);
}

Opnd operation(KernelWriter *w, ExprOp op, Type type, const Opnd *v) {
    Type t = type_compute(type);
    if (op_info[op].class == OP_COMPARE) return compare(w, op, t, v[0], v[1]);
    if (t == TYPE_BOOL) return bool_op(w, op, v);
    if (type_is_float(t)) {
        bool found;
        KnownValue *k = value_slot(w, op, t, v, &found);
        if (found) return value_found(k);
        Opnd value = float_op(w, op, t, v);
        if (k) value_put(w, k, op, t, v, value);
        return value;
    }
    return wrapped(w, t, integer_op(w, op, t, v));
}

Opnd combine(KernelWriter *w, Reduce op, Type type, Opnd a, Opnd b) {
    return operation(w, reduce_op[op], type, (Opnd[]){a, b});
}

// --- Conversions -------------------------------------------------------------------------------

static Opnd to_storage(KernelWriter *w, Type to, Opnd v) {
    if (to == TYPE_F16) {
        Opnd h = NEW(w, REG_16, "cvt.rn.f16.f32", in_register(w, v));
        return NEW(w, REG_32, "cvt.f32.f16", h);
    }
    Opnd h = NEW(w, REG_16, "cvt.rn.bf16.f32", in_register(w, v));
    return NEW(w, REG_32, "shl.b32", NEW(w, REG_32, "cvt.u32.u16", h), lit(REG_32, 16));
}

static Opnd clamp(KernelWriter *w, Opnd v, int64_t lo, int64_t hi) {
    v = NEW(w, REG_32, "max.s32", v, lit(REG_32, (uint64_t)lo));
    return NEW(w, REG_32, "min.s32", v, lit(REG_32, (uint64_t)hi));
}

// Saturates; NaN becomes 0. The instructions with 64 bits on either side do not do so for NaN.
static Opnd float_to_int(KernelWriter *w, Type to, Type from, Opnd v) {
    v = in_register(w, v);
    bool narrow = type_info[to].bits < 32, is_signed = type_info[to].class == CLASS_INT;
    Type via = narrow ? TYPE_I32 : to;
    RegClass c = wide_class(via);
    const char *op =
        arena_printf(w->arena, "cvt.rzi.%s%d.f%d", type_info[via].class == CLASS_INT ? "s" : "u",
                     type_info[via].bits, type_info[from].bits);
    Opnd z = NEW(w, c, op, v);
    if (c == REG_64 || from == TYPE_F64) {
        Opnd nan = NEW(w, REG_PRED, typed(w, "setp.nan", from), v, v);
        z = NEW(w, c, c == REG_64 ? "selp.b64" : "selp.b32", lit(c, 0), z, nan);
    }
    int bits = type_info[to].bits;
    if (narrow)
        z = is_signed ? clamp(w, z, -((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1)
                      : clamp(w, z, 0, ((int64_t)1 << bits) - 1);
    return z;
}

static Opnd int_to_float(KernelWriter *w, Type to, Type from, Opnd v) {
    int bits = type_info[from].bits == 64 ? 64 : 32;
    bool is_signed = type_info[from].class == CLASS_INT || type_info[from].bits < 32;
    const char *op =
        arena_printf(w->arena, "cvt.rn.f%d.%c%d", type_info[to].bits, is_signed ? 's' : 'u', bits);
    return NEW(w, wide_class(to), op, in_register(w, v));
}

static Opnd int_to_int(KernelWriter *w, Type to, Type from, Opnd v) {
    bool wide = type_info[to].bits == 64, was = type_info[from].bits == 64;
    if (wide && was) return v;
    if (wide)
        return NEW(w, REG_64, type_info[from].class == CLASS_INT ? "cvt.s64.s32" : "cvt.u64.u32",
                   in_register(w, v));
    if (was) v = NEW(w, REG_32, "cvt.u32.u64", in_register(w, v));
    return wrapped(w, to, v);
}

Opnd convert(KernelWriter *w, Type to, Type from, Opnd v) {
    bool was_storage = type_is_storage(from);
    Type f = type_compute(from);
    if (to == from && !was_storage) return v;
    if (to == TYPE_BOOL)
        return NEW(w, REG_PRED, typed(w, type_is_float(f) ? "setp.neu" : "setp.ne", f),
                   in_register(w, v), lit(wide_class(f), 0));
    if (from == TYPE_BOOL) {
        v = NEW(w, REG_32, "selp.b32", lit(REG_32, 1), lit(REG_32, 0), predicate(w, v));
        return convert(w, to, TYPE_I32, v);
    }
    if (type_is_float(to)) {
        Type t = type_compute(to);
        if (!type_is_float(f))
            v = int_to_float(w, t, f, v);
        else if (t != f)
            v = NEW(w, wide_class(t), t == TYPE_F64 ? "cvt.f64.f32" : "cvt.rn.f32.f64",
                    in_register(w, v));
        return type_is_storage(to) ? to_storage(w, to, v) : v;
    }
    return type_is_float(f) ? float_to_int(w, to, f, v) : int_to_int(w, to, f, v);
}

// --- Expressions -------------------------------------------------------------------------------

static void see_read(void *user, const Access *a, bool guarded) {
    (void)a, (void)guarded;
    *(bool *)user = true;
}

static bool reads(const Expr *e) {
    bool any = false;
    expr_visit_accesses(e, see_read, &any);
    return any;
}

static Opnd choose(KernelWriter *w, Type t, Opnd c, Opnd a, Opnd b) {
    if (t == TYPE_BOOL) {
        Opnd x = NEW(w, REG_PRED, "and.pred", c, predicate(w, a));
        Opnd y = NEW(w, REG_PRED, "and.pred", not_of(w, c), predicate(w, b));
        return NEW(w, REG_PRED, "or.pred", x, y);
    }
    RegClass k = class_of(t);
    return NEW(w, k, k == REG_64 ? "selp.b64" : "selp.b32", a, b, c);
}

void reg_assign(KernelWriter *w, Opnd to, Opnd v) {
    if (!v.literal && v.class == to.class && v.reg == to.reg) return;
    if (to.class == REG_PRED) {
        v = predicate(w, v);
        INS(w, "and.pred", to, v, v);
    } else
        INS(w, to.class == REG_64 ? "mov.b64" : "mov.b32", to, v);
}

// A load inside a branch may require a pending store of the same element; store it before the
// branch.
static void store_before(void *user, const Access *a, bool guarded) {
    (void)guarded;
    memory_store(user, a->tensor);
}

// Evaluates only one of the two operands, so its reads happen only in that case.
static Opnd select_lazily(KernelWriter *w, Type t, Opnd c, const Expr *a, const Expr *b,
                          Opnd given) {
    Opnd z = reg_new(w, class_of(t));
    int other = label_new(w), end = label_new(w);
    if (a) expr_visit_accesses(a, store_before, w);
    if (b) expr_visit_accesses(b, store_before, w);
    branch(w, c, false, other);
    int before = w->loc.n;
    reg_assign(w, z, a ? expr_value(w, a) : given);
    memory_forget(w, before);
    line(w, "bra $L%d;", end);
    label_put(w, other);
    reg_assign(w, z, b ? expr_value(w, b) : given);
    memory_forget(w, before);
    label_put(w, end);
    return z;
}

static Opnd lazy_op(KernelWriter *w, const Expr *e) {
    Opnd c = predicate(w, expr_value(w, e->arg[0]));
    if (e->op == OP_SELECT) {
        if (reads(e->arg[1]) || reads(e->arg[2]))
            return select_lazily(w, e->type, c, e->arg[1], e->arg[2], c);
        return choose(w, e->type, c, expr_value(w, e->arg[1]), expr_value(w, e->arg[2]));
    }
    if (reads(e->arg[1]))
        return e->op == OP_AND ? select_lazily(w, TYPE_BOOL, c, e->arg[1], NULL, c)
                               : select_lazily(w, TYPE_BOOL, c, NULL, e->arg[1], c);
    return bool_op(w, e->op, (Opnd[]){c, expr_value(w, e->arg[1])});
}

static Opnd op_value(KernelWriter *w, const Expr *e) {
    if (op_info[e->op].trait == TRAIT_LAZY) return lazy_op(w, e);
    Opnd v[4];
    for (int i = 0; i < e->n; i++) v[i] = expr_value(w, e->arg[i]);
    Type from = e->arg[0]->type;
    if (e->op == OP_CAST) return convert(w, e->type, from, v[0]);
    return operation(w, e->op, from, v);
}

Opnd expr_value(KernelWriter *w, const Expr *e) {
    switch (e->kind) {
    case EXPR_CONST: return lit_value(e->type, e->value);
    case EXPR_READ: return element_load(w, e->access);
    case EXPR_OP: return op_value(w, e);
    case EXPR_INDEX: break;
    }
    Opnd v = affine_value(w, e->index, false);
    return convert(w, e->type, v.class == REG_64 ? TYPE_I64 : TYPE_I32, v);
}
