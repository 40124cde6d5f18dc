// Functions of floats. Those that code/micro makes of arithmetic for the CPU are the same formulas
// here, one lane wide, so both back-ends round alike; the arguments that the CPU leaves to a call
// (huge angles, quotients beyond the mantissa) are computed here by integer arithmetic.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"
#include "code/micro/micro_math.h"

#include <math.h>
#include <string.h>

static const Machine plain = {.has_cvt64 = true};

// --- Micro-operations ----------------------------------------------------------------------------

static bool is_wide(Type t) { return type_info[type_compute(t)].bits == 64; }
static RegClass sized_class(Type t) { return is_wide(t) ? REG_64 : REG_32; }

static const char *named(KernelWriter *w, const char *op, Type t) {
    char c = type_is_float(t) ? 'f' : type_info[t].class == CLASS_INT ? 's' : 'u';
    return arena_printf(w->arena, "%s.%c%d", op, c, is_wide(t) ? 64 : 32);
}

static Opnd in_reg(KernelWriter *w, Opnd v) { return v.literal ? moved(w, v) : v; }

static Opnd micro_compare(KernelWriter *w, ExprOp op, Type from, Opnd a, Opnd b) {
    return operation(w, op, from, (Opnd[]){in_reg(w, a), b});
}

static Opnd micro_op(KernelWriter *w, const Micro *m, const Opnd *v) {
    RegClass c = sized_class(m->type);
    bool wide = c == REG_64;
    switch ((int)m->op) {
    case MOP_LESSER:
    case MOP_GREATER: {
        ExprOp op = m->op == MOP_LESSER ? OP_LT : OP_GT;
        Opnd p = micro_compare(w, op, m->type, v[0], v[1]);
        return NEW(w, c, wide ? "selp.b64" : "selp.b32", v[0], v[1], p);
    }
    case MOP_SHL:
        return NEW(w, c, wide ? "shl.b64" : "shl.b32", v[0], lit(REG_32, (uint64_t)m->value.i));
    case MOP_SHR:
        return NEW(w, c, wide ? "shr.u64" : "shr.u32", v[0], lit(REG_32, (uint64_t)m->value.i));
    case MOP_TO_INT:
        return NEW(
            w, c,
            arena_printf(w->arena, "cvt.rzi.s%d.f%d", wide ? 64 : 32, is_wide(m->from) ? 64 : 32),
            in_reg(w, v[0]));
    default: return operation(w, (ExprOp)m->op, m->from, v);
    }
}

static Opnd rescue(KernelWriter *w, const Micro *m, const Opnd *v);

static Opnd micro_value(KernelWriter *w, const Micro *m, const Opnd *v) {
    RegClass c = sized_class(m->type);
    bool wide = c == REG_64;
    switch (m->kind) {
    case MI_CONST: return lit_value(m->type, m->value);
    case MI_OP: return micro_op(w, m, v);
    case MI_FMA: return NEW(w, c, named(w, "fma.rn", m->type), v[0], v[1], v[2]);
    case MI_CHOOSE: {
        Opnd p = micro_compare(w, (ExprOp)m->op, m->from, v[0], v[1]);
        return NEW(w, c, wide ? "selp.b64" : "selp.b32", v[2], v[3], p);
    }
    case MI_WIDEN:
        return NEW(w, REG_64, m->from == TYPE_F32 ? "cvt.f64.f32" : "cvt.rn.f64.s32",
                   in_reg(w, v[0]));
    case MI_NARROW:
        return NEW(w, REG_32, m->type == TYPE_F32 ? "cvt.rn.f32.f64" : "cvt.rzi.s32.f64",
                   in_reg(w, v[0]));
    case MI_CAST: return convert(w, m->type, m->from, v[0]);
    case MI_RESCUE: return rescue(w, m, v);
    default: bug("micro-operation %d in a function", m->kind);
    }
}

// The function as micro-operations, and these as instructions.
static Opnd expand(KernelWriter *w, ExprOp op, Type type, const Opnd *args) {
    Seg seg;
    int arg[4], n = op_info[op].arity;
    seg_init(&seg, w->arena, 0);
    for (int i = 0; i < n; i++) {
        if (args[i].literal && type_is_float(type)) {
            Value v;
            float f;
            uint32_t bits = (uint32_t)args[i].bits;
            if (type == TYPE_F64) {
                memcpy(&v.f, &args[i].bits, 8);
            } else {
                memcpy(&f, &bits, 4);
                v.f = f;
            }
            arg[i] = seg_const(&seg, type, 1, v);
            continue;
        }
        arg[i] = seg.vals.n;
        vec_push(w->arena, &seg.vals, ((Val){.def = -1, .pin = -1, .type = type, .width = 1}));
    }
    Opnd *val = NULL;
    int result = math_expand(&seg, &plain, op, type, 1, arg);
    val = arena_new_n(w->arena, Opnd, seg.vals.n);
    for (int i = 0; i < n; i++) val[arg[i]] = args[i];
    for (int i = 0; i < seg.micros.n; i++) {
        const Micro *m = &seg.micros.at[i];
        Opnd v[4];
        for (int k = 0; k < m->nargs; k++) v[k] = val[m->arg[k]];
        if (m->dst >= 0) val[m->dst] = micro_value(w, m, v);
    }
    return val[result];
}

// --- Huge angles ---------------------------------------------------------------------------------
//
// x = m·2^e with an integer m of 53 bits. The bits of 2/π from the one of weight 2^(1-e) on, times
// m, give x·2/π modulo 4: two bits of quadrant, then 126 bits of fraction.

static const uint64_t two_over_pi[] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
    0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
    0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

static Opnd u64(uint64_t x) { return lit(REG_64, x); }

// Four words of the table from number `word` on.
static void table_words(KernelWriter *w, Opnd word, Opnd *out) {
    int n = (int)(sizeof two_over_pi / sizeof *two_over_pi) - 3;
    for (int i = 0; i < 4; i++) out[i] = moved(w, u64(two_over_pi[n - 1 + i]));
    for (int k = 0; k < n - 1; k++) {
        Opnd here = NEW(w, REG_PRED, "setp.eq.s32", word, lit(REG_32, (uint64_t)k));
        for (int i = 0; i < 4; i++)
            INS(w, "selp.b64", out[i], u64(two_over_pi[k + i]), out[i], here);
    }
}

// sin or cos of a double beyond the reach of the polynomial's own reduction.
static Opnd trig_far(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd field = NEW(w, REG_32, "cvt.u32.u64", NEW(w, REG_64, "shr.u64", x, lit(REG_32, 52)));
    field = NEW(w, REG_32, "and.b32", field, lit(REG_32, 0x7ff));
    Opnd m = NEW(w, REG_64, "and.b64", x, u64(0xfffffffffffffull));
    m = NEW(w, REG_64, "or.b64", m, u64(0x10000000000000ull));
    // The first bit that counts has number e + 61 of the table, which begins with 64 zeros.
    Opnd at = NEW(w, REG_32, "sub.s32", field, lit(REG_32, 1075 - 61 - 1));
    at = NEW(w, REG_32, "max.s32", at, lit(REG_32, 0));
    Opnd word = NEW(w, REG_32, "shr.u32", at, lit(REG_32, 6));
    Opnd bit = NEW(w, REG_32, "and.b32", at, lit(REG_32, 63));
    Opnd back = NEW(w, REG_32, "sub.s32", lit(REG_32, 64), bit);
    Opnd t[4], s[3];
    table_words(w, word, t);
    for (int i = 0; i < 3; i++) // shifts by 64 give 0
        s[i] = NEW(w, REG_64, "or.b64", NEW(w, REG_64, "shl.b64", t[i], bit),
                   NEW(w, REG_64, "shr.u64", t[i + 1], back));
    // The product's upper 128 of 192 bits, modulo 2^192.
    Opnd l2 = NEW(w, REG_64, "mul.hi.u64", m, s[2]);
    Opnd l1 = NEW(w, REG_64, "mul.lo.s64", m, s[1]), h1 = NEW(w, REG_64, "mul.hi.u64", m, s[1]);
    Opnd high = NEW(w, REG_64, "mad.lo.s64", m, s[0], h1);
    Opnd low = NEW(w, REG_64, "add.s64", l1, l2);
    Opnd carry = NEW(w, REG_PRED, "setp.lt.u64", low, l1);
    high = NEW(w, REG_64, "add.s64", high, NEW(w, REG_64, "selp.b64", u64(1), u64(0), carry));
    // The nearest quadrant, and the rest as a signed fraction of one.
    Opnd q = NEW(w, REG_64, "add.s64", high, u64(0x2000000000000000ull));
    q = NEW(w, REG_64, "shr.u64", q, lit(REG_32, 62));
    Opnd f1 = NEW(w, REG_64, "shl.b64", high, lit(REG_32, 2));
    f1 = NEW(w, REG_64, "or.b64", f1, NEW(w, REG_64, "shr.u64", low, lit(REG_32, 62)));
    Opnd f0 = NEW(w, REG_64, "shl.b64", low, lit(REG_32, 2));
    Opnd part[3] = {NEW(w, REG_64, "shr.s64", f1, lit(REG_32, 32)),
                    NEW(w, REG_64, "and.b64", f1, u64(0xffffffffull)),
                    NEW(w, REG_64, "shr.u64", f0, lit(REG_32, 32))};
    static const double weight[] = {0x1p-32, 0x1p-64, 0x1p-96};
    Opnd sum = {0};
    for (int i = 2; i >= 0; i--) {
        Opnd f = NEW(w, REG_64, "cvt.rn.f64.s64", part[i]);
        Opnd k = lit_value(TYPE_F64, (Value){.f = weight[i]});
        sum = i == 2 ? NEW(w, REG_64, "mul.rn.f64", f, k) : NEW(w, REG_64, "fma.rn.f64", f, k, sum);
    }
    Opnd r = NEW(w, REG_64, "mul.rn.f64", sum,
                 lit_value(TYPE_F64, (Value){.f = 1.57079632679489661923}));
    // |r| <= π/4: the reduction inside finds quadrant 0.
    w->near = true;
    Opnd sine = expand(w, OP_SIN, TYPE_F64, &r), cosine = expand(w, OP_COS, TYPE_F64, &r);
    w->near = false;
    if (op == OP_COS) q = NEW(w, REG_64, "add.s64", q, u64(1));
    Opnd odd = NEW(w, REG_PRED, "setp.ne.s64", NEW(w, REG_64, "and.b64", q, u64(1)), u64(0));
    Opnd y = NEW(w, REG_64, "selp.b64", cosine, sine, odd);
    Opnd turn = NEW(w, REG_64, "shl.b64", NEW(w, REG_64, "and.b64", q, u64(2)), lit(REG_32, 62));
    if (op == OP_SIN) {
        Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
        turn = NEW(w, REG_64, "xor.b64", turn, sign);
    }
    y = NEW(w, REG_64, "xor.b64", y, turn);
    Opnd size = NEW(w, REG_64, "and.b64", x, u64(INT64_MAX));
    Opnd bad = NEW(w, REG_PRED, "setp.ge.u64", size, u64(0x7ff0000000000000ull));
    return NEW(w, REG_64, "selp.b64", u64(0x7ff8000000000000ull), y, bad);
}

// --- Remainders of any size ----------------------------------------------------------------------

// |a| mod |b| of finite doubles, b not 0, by long division of the mantissas, bit by bit.
static Opnd fmod_far(KernelWriter *w, Opnd a, Opnd b) {
    Opnd mag = u64(INT64_MAX), mask = u64(0xfffffffffffffull), one = u64(0x10000000000000ull);
    Opnd in[2] = {NEW(w, REG_64, "and.b64", a, mag), NEW(w, REG_64, "and.b64", b, mag)}, m[2], e[2];
    for (int i = 0; i < 2; i++) { // denormals have the exponent of the least normal number
        Opnd field =
            NEW(w, REG_32, "cvt.u32.u64", NEW(w, REG_64, "shr.u64", in[i], lit(REG_32, 52)));
        Opnd none = NEW(w, REG_PRED, "setp.eq.s32", field, lit(REG_32, 0));
        e[i] = NEW(w, REG_32, "max.s32", field, lit(REG_32, 1));
        m[i] = NEW(w, REG_64, "and.b64", in[i], mask);
        m[i] = NEW(w, REG_64, "selp.b64", m[i], NEW(w, REG_64, "or.b64", m[i], one), none);
    }
    Opnd r = moved(w, m[0]), left = NEW(w, REG_32, "sub.s32", e[0], e[1]), p = reg_new(w, REG_PRED);
    int loop = label_new(w), end = label_new(w);
    INS(w, "setp.lt.s32", p, left, lit(REG_32, 0)); // |a| < |b| when it is negative
    Opnd below = p;
    Opnd out = moved(w, in[0]);
    branch(w, below, true, end);
    label_put(w, loop);
    Opnd some = NEW(w, REG_PRED, "setp.ge.u64", r, m[1]);
    Opnd less = NEW(w, REG_64, "sub.s64", r, m[1]);
    INS(w, "selp.b64", r, less, r, some);
    Opnd last = NEW(w, REG_PRED, "setp.le.s32", left, lit(REG_32, 0));
    Opnd twice = NEW(w, REG_64, "shl.b64", r, lit(REG_32, 1));
    INS(w, "selp.b64", r, r, twice, last);
    INS(w, "sub.s32", left, left, lit(REG_32, 1));
    branch(w, last, false, loop);
    // r·2^(e - 1075): an integer times a power, exact.
    Opnd f = NEW(w, REG_64, "cvt.rn.f64.u64", r);
    Opnd k = NEW(w, REG_32, "sub.s32", e[1], lit(REG_32, 1));
    Opnd half = NEW(w, REG_32, "shr.s32", k, lit(REG_32, 1)),
         rest = NEW(w, REG_32, "sub.s32", k, half);
    Opnd power[2] = {half, rest};
    f = NEW(w, REG_64, "mul.rn.f64", f, lit_value(TYPE_F64, (Value){.f = 0x1p-1000}));
    for (int i = 0; i < 2; i++) {
        Opnd field = NEW(w, REG_32, "add.s32", power[i], lit(REG_32, 1023));
        Opnd bits =
            NEW(w, REG_64, "shl.b64", NEW(w, REG_64, "cvt.s64.s32", field), lit(REG_32, 52));
        f = NEW(w, REG_64, "mul.rn.f64", f, bits);
        if (i == 0) f = NEW(w, REG_64, "mul.rn.f64", f, lit_value(TYPE_F64, (Value){.f = 0x1p-74}));
    }
    INS(w, "mov.b64", out, f);
    label_put(w, end);
    return out;
}

static Opnd remainder_far(KernelWriter *w, ExprOp op, Opnd a, Opnd b) {
    Opnd sign = u64(0x8000000000000000ull), mag = u64(INT64_MAX), inf = u64(0x7ff0000000000000ull);
    Opnd r = fmod_far(w, a, b);
    r = NEW(w, REG_64, "or.b64", r, NEW(w, REG_64, "and.b64", a, sign));
    Opnd zero = lit_value(TYPE_F64, (Value){.f = 0});
    if (op == OP_MOD) { // the sign of b
        Opnd none = NEW(w, REG_PRED, "setp.eq.f64", r, zero);
        Opnd apart = NEW(w, REG_PRED, "setp.lt.s64", NEW(w, REG_64, "xor.b64", r, b), u64(0));
        Opnd sum = NEW(w, REG_64, "add.rn.f64", r, b);
        Opnd moved_r = NEW(w, REG_64, "selp.b64", sum, r, apart);
        r = NEW(w, REG_64, "selp.b64", NEW(w, REG_64, "and.b64", b, sign), moved_r, none);
    }
    Opnd size_a = NEW(w, REG_64, "and.b64", a, mag), size_b = NEW(w, REG_64, "and.b64", b, mag);
    Opnd bad = NEW(w, REG_PRED, "setp.ge.u64", size_a, inf);
    Opnd nan_b = NEW(w, REG_PRED, "setp.gt.u64", size_b, inf);
    Opnd null = NEW(w, REG_PRED, "setp.eq.s64", size_b, u64(0));
    bad = NEW(w, REG_PRED, "or.pred", NEW(w, REG_PRED, "or.pred", bad, nan_b), null);
    // By infinity: a itself, or infinity where the signs differ and a is not 0.
    Opnd infinite = NEW(w, REG_PRED, "setp.eq.s64", size_b, inf), whole = a;
    if (op == OP_MOD) {
        Opnd apart = NEW(w, REG_PRED, "setp.lt.s64", NEW(w, REG_64, "xor.b64", a, b), u64(0));
        Opnd none = NEW(w, REG_PRED, "setp.eq.s64", size_a, u64(0));
        whole = NEW(w, REG_64, "selp.b64", b, a, apart);
        whole = NEW(w, REG_64, "selp.b64", NEW(w, REG_64, "and.b64", b, sign), whole, none);
    }
    r = NEW(w, REG_64, "selp.b64", whole, r, infinite);
    return NEW(w, REG_64, "selp.b64", u64(0x7ff8000000000000ull), r, bad);
}

// --- Rare arguments ------------------------------------------------------------------------------

static Opnd far_value(KernelWriter *w, ExprOp op, Type t, const Opnd *args) {
    Opnd wide[2];
    for (int i = 0; i < op_info[op].arity; i++)
        wide[i] =
            t == TYPE_F64 ? in_reg(w, args[i]) : NEW(w, REG_64, "cvt.f64.f32", in_reg(w, args[i]));
    Opnd z = op == OP_SIN || op == OP_COS ? trig_far(w, op, wide[0])
                                          : remainder_far(w, op, wide[0], wide[1]);
    return t == TYPE_F64 ? z : NEW(w, REG_32, "cvt.rn.f32.f64", z);
}

// See MI_RESCUE: the formula's value where it is right, else the slow way, behind a branch.
static Opnd rescue(KernelWriter *w, const Micro *m, const Opnd *v) {
    bool two = op_info[m->op].arity == 2;
    Opnd usual = two ? v[1] : v[2];
    if (w->near) return usual;
    Opnd fine = two ? operation(w, OP_EQ, m->type, (Opnd[]){in_reg(w, v[0]), in_reg(w, v[0])})
                    : operation(w, OP_LE, m->type, (Opnd[]){in_reg(w, v[0]), v[1]});
    Opnd z = moved(w, usual);
    int end = label_new(w);
    branch(w, fine, true, end);
    Opnd far = far_value(w, (ExprOp)m->op, m->type, two ? v + 2 : v + 3);
    INS(w, z.class == REG_64 ? "mov.b64" : "mov.b32", z, far);
    label_put(w, end);
    return z;
}

// --- All of it -----------------------------------------------------------------------------------

// f32 functions that are formulas in f64.
static bool by_formula(ExprOp op) {
    switch (op) {
    case OP_HYPOT:
    case OP_RHYPOT:
    case OP_NORM3D:
    case OP_RNORM3D:
    case OP_NORM4D:
    case OP_RNORM4D:
    case OP_TAN:
    case OP_SINH:
    case OP_COSH:
    case OP_ASINH:
    case OP_ACOSH:
    case OP_ATANH:
    case OP_CBRT:
    case OP_RCBRT:
    case OP_ATAN:
    case OP_ASIN:
    case OP_ACOS:
    case OP_ATAN2:
    case OP_SINPI:
    case OP_COSPI:
    case OP_LOGB: return true;
    default: return false;
    }
}

bool func_has(ExprOp op, Type type) {
    Type t = type_compute(type);
    if (!type_is_float(t)) return true;
    if (op == OP_POW) return t == TYPE_F32;
    if (math_has(op, t)) return true;
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_FDIVIDE:
    case OP_FMA:
    case OP_MIN:
    case OP_MAX:
    case OP_RELU:
    case OP_NEG:
    case OP_ABS:
    case OP_FABS:
    case OP_SQRT:
    case OP_RECIP:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_SELECT:
    case OP_CAST: return true;
    default: break;
    }
    if (op_info[op].class == OP_COMPARE || op_info[op].class == OP_LOGIC) return true;
    return t == TYPE_F32 && by_formula(op);
}

static Opnd f64_op(KernelWriter *w, const char *op, Opnd a, Opnd b) {
    return NEW(w, REG_64, op, a, b);
}

// Square root of a sum of squares: f32 squares are exact in f64.
static Opnd norm(KernelWriter *w, int n, const Opnd *x, bool inverse) {
    Opnd sum = f64_op(w, "mul.rn.f64", x[0], x[0]);
    for (int i = 1; i < n; i++) sum = NEW(w, REG_64, "fma.rn.f64", x[i], x[i], sum);
    Opnd root = NEW(w, REG_64, "sqrt.rn.f64", sum);
    for (int i = 0; i < n; i++) { // infinity wins over NaN
        Opnd size = NEW(w, REG_64, "and.b64", x[i], u64(INT64_MAX));
        Opnd inf = NEW(w, REG_PRED, "setp.eq.s64", size, u64(0x7ff0000000000000ull));
        root = NEW(w, REG_64, "selp.b64", u64(0x7ff0000000000000ull), root, inf);
    }
    return inverse ? NEW(w, REG_64, "rcp.rn.f64", root) : root;
}

static Opnd f64(double x) { return lit_value(TYPE_F64, (Value){.f = x}); }
static Opnd with_sign(KernelWriter *w, Opnd y, Opnd x) { // y is not negative
    Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
    return NEW(w, REG_64, "or.b64", y, sign);
}
static Opnd where(KernelWriter *w, Opnd p, Opnd a, Opnd b) {
    return NEW(w, REG_64, "selp.b64", a, b, p);
}
static Opnd is(KernelWriter *w, const char *compare, Opnd a, Opnd b) {
    return NEW(w, REG_PRED, compare, in_reg(w, a), b);
}

// atan of x >= 0: above 1 from 1/x, above tan(pi/8) from (t - 1)/(t + 1); then its series.
static Opnd atan_of(KernelWriter *w, Opnd x) {
    Opnd large = is(w, "setp.gt.f64", x, f64(1));
    Opnd t = where(w, large, NEW(w, REG_64, "rcp.rn.f64", x), x);
    Opnd middle = is(w, "setp.gt.f64", t, f64(0.41421356237309503));
    Opnd less = f64_op(w, "sub.rn.f64", t, f64(1)), more = f64_op(w, "add.rn.f64", t, f64(1));
    t = where(w, middle, f64_op(w, "div.rn.f64", less, more), t);
    Opnd z = f64_op(w, "mul.rn.f64", t, t), sum = f64(1.0 / 27);
    for (int k = 25; k >= 1; k -= 2)
        sum = NEW(w, REG_64, "fma.rn.f64", z, sum, f64(k % 4 == 1 ? 1.0 / k : -1.0 / k));
    Opnd y = f64_op(w, "mul.rn.f64", t, sum);
    y = where(w, middle, f64_op(w, "add.rn.f64", y, f64(0.78539816339744831)), y);
    return where(w, large, f64_op(w, "sub.rn.f64", f64(1.57079632679489662), y), y);
}

// By quadrants of x from the quotient of the smaller by the larger.
static Opnd atan2_of(KernelWriter *w, Opnd y, Opnd x) {
    Opnd ay = NEW(w, REG_64, "abs.f64", y), ax = NEW(w, REG_64, "abs.f64", x);
    Opnd ratio = f64_op(w, "div.rn.f64", ay, ax);
    Opnd equal = is(w, "setp.eq.f64", ay, ax); // infinities too
    ratio = where(w, equal, f64(1), ratio);
    ratio = where(w, is(w, "setp.eq.f64", ay, f64(0)), f64(0), ratio);
    Opnd nan = is(w, "setp.nan.f64", y, x);
    Opnd q = atan_of(w, ratio), back = f64_op(w, "sub.rn.f64", f64(3.14159265358979324), q);
    q = where(w, is(w, "setp.lt.s64", x, u64(0)), back, q);
    return where(w, nan, f64_op(w, "add.rn.f64", x, y), with_sign(w, q, y));
}

// |x| mod 2 is exact; halves of a turn are mirrored to the first quarter.
static Opnd turns(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd a = NEW(w, REG_64, "abs.f64", x), half = f64_op(w, "mul.rn.f64", a, f64(0.5));
    Opnd whole = NEW(w, REG_64, "cvt.rmi.f64.f64", half);
    Opnd r = NEW(w, REG_64, "fma.rn.f64", whole, f64(-2), a);
    Opnd second = is(w, "setp.gt.f64", r, f64(1));
    r = where(w, second, f64_op(w, "sub.rn.f64", f64(2), r), r);
    Opnd beyond = is(w, "setp.gt.f64", r, f64(0.5));
    r = where(w, beyond, f64_op(w, "sub.rn.f64", f64(1), r), r);
    Opnd steep = is(w, "setp.gt.f64", r, f64(0.25)), pi = f64(3.14159265358979324);
    Opnd other = f64_op(w, "sub.rn.f64", f64(0.5), r);
    bool cosine = op == OP_COSPI;
    Opnd near = f64_op(w, "mul.rn.f64", pi, where(w, steep, other, r));
    w->near = true;
    Opnd s = expand(w, OP_SIN, TYPE_F64, &near), c = expand(w, OP_COS, TYPE_F64, &near);
    w->near = false;
    Opnd y = cosine ? where(w, steep, s, c) : where(w, steep, c, s);
    Opnd minus = NEW(w, REG_64, "neg.f64", y);
    y = where(w, cosine ? beyond : second, minus, y);
    if (cosine) return y;
    Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
    return NEW(w, REG_64, "xor.b64", y, sign);
}

// The exponent as a number; f32 denormals are normal in f64.
static Opnd exponent(KernelWriter *w, Opnd x) {
    Opnd a = NEW(w, REG_64, "abs.f64", x);
    Opnd field = NEW(w, REG_64, "shr.u64", a, lit(REG_32, 52));
    Opnd e = NEW(w, REG_64, "cvt.rn.f64.s64", NEW(w, REG_64, "sub.s64", field, u64(1023)));
    e = where(w, is(w, "setp.eq.f64", a, f64(0)), u64(0xfff0000000000000ull), e);
    Opnd finite = is(w, "setp.lt.f64", a, u64(0x7ff0000000000000ull));
    return where(w, finite, e, a);
}

static Opnd cube_root(KernelWriter *w, Opnd x) {
    Opnd a = NEW(w, REG_64, "abs.f64", x), l = expand(w, OP_LOG2, TYPE_F64, &a);
    l = f64_op(w, "div.rn.f64", l, f64(3));
    return with_sign(w, expand(w, OP_EXP2, TYPE_F64, &l), x);
}

static Opnd inverse_hyperbolic(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd a = NEW(w, REG_64, "abs.f64", x), one = f64(1), y;
    if (op == OP_ATANH) { // log1p(2a/(1 - a))/2
        Opnd twice = f64_op(w, "add.rn.f64", a, a);
        y = f64_op(w, "div.rn.f64", twice, f64_op(w, "sub.rn.f64", one, a));
        return with_sign(w, f64_op(w, "mul.rn.f64", expand(w, OP_LOG1P, TYPE_F64, &y), f64(0.5)),
                         x);
    }
    Opnd square = f64_op(w, "mul.rn.f64", x, x);
    if (op == OP_ACOSH) { // log1p(d + sqrt(d·(x + 1))) with d = x - 1
        Opnd d = f64_op(w, "sub.rn.f64", x, one), s = f64_op(w, "add.rn.f64", x, one);
        Opnd root = NEW(w, REG_64, "sqrt.rn.f64", f64_op(w, "mul.rn.f64", d, s));
        y = f64_op(w, "add.rn.f64", d, root);
        Opnd below = is(w, "setp.lt.f64", x, one);
        return where(w, below, u64(0x7ff8000000000000ull), expand(w, OP_LOG1P, TYPE_F64, &y));
    }
    // log1p(a + a²/(1 + sqrt(a² + 1)))
    Opnd root = NEW(w, REG_64, "sqrt.rn.f64", f64_op(w, "add.rn.f64", square, one));
    Opnd part = f64_op(w, "div.rn.f64", square, f64_op(w, "add.rn.f64", root, one));
    y = where(w, is(w, "setp.eq.f64", a, u64(0x7ff0000000000000ull)), a,
              f64_op(w, "add.rn.f64", a, part));
    return with_sign(w, expand(w, OP_LOG1P, TYPE_F64, &y), x);
}

static Opnd formula(KernelWriter *w, ExprOp op, const Opnd *x) {
    Opnd half = lit_value(TYPE_F64, (Value){.f = 0.5});
    switch (op) {
    case OP_HYPOT:
    case OP_NORM3D:
    case OP_NORM4D: return norm(w, op_info[op].arity, x, false);
    case OP_RHYPOT:
    case OP_RNORM3D:
    case OP_RNORM4D: return norm(w, op_info[op].arity, x, true);
    case OP_TAN: {
        Opnd s = expand(w, OP_SIN, TYPE_F64, x), c = expand(w, OP_COS, TYPE_F64, x);
        return f64_op(w, "div.rn.f64", s, c);
    }
    case OP_SINH: { // (e + e/(e + 1))/2 with e = expm1(|x|)
        Opnd a = NEW(w, REG_64, "abs.f64", x[0]), e = expand(w, OP_EXPM1, TYPE_F64, &a);
        Opnd d = f64_op(w, "add.rn.f64", e, lit_value(TYPE_F64, (Value){.f = 1}));
        Opnd inf = NEW(w, REG_PRED, "setp.eq.s64", e, u64(0x7ff0000000000000ull));
        Opnd ratio = NEW(w, REG_64, "selp.b64", lit_value(TYPE_F64, (Value){.f = 1}),
                         f64_op(w, "div.rn.f64", e, d), inf);
        Opnd y = f64_op(w, "mul.rn.f64", f64_op(w, "add.rn.f64", e, ratio), half);
        return NEW(w, REG_64, "or.b64", y,
                   NEW(w, REG_64, "and.b64", x[0], u64(0x8000000000000000ull)));
    }
    case OP_COSH: {
        Opnd a = NEW(w, REG_64, "abs.f64", x[0]), e = expand(w, OP_EXP, TYPE_F64, &a);
        Opnd r = NEW(w, REG_64, "rcp.rn.f64", e);
        return f64_op(w, "mul.rn.f64", f64_op(w, "add.rn.f64", e, r), half);
    }
    case OP_ASINH:
    case OP_ACOSH:
    case OP_ATANH: return inverse_hyperbolic(w, op, x[0]);
    case OP_CBRT: return cube_root(w, x[0]);
    case OP_RCBRT: return NEW(w, REG_64, "rcp.rn.f64", cube_root(w, x[0]));
    case OP_ATAN: return with_sign(w, atan_of(w, NEW(w, REG_64, "abs.f64", x[0])), x[0]);
    case OP_ATAN2: return atan2_of(w, x[0], x[1]);
    case OP_ASIN:
    case OP_ACOS: { // the other side of a right triangle
        Opnd d = f64_op(w, "sub.rn.f64", f64(1), x[0]), s = f64_op(w, "add.rn.f64", f64(1), x[0]);
        Opnd side = NEW(w, REG_64, "sqrt.rn.f64", f64_op(w, "mul.rn.f64", d, s));
        return op == OP_ASIN ? atan2_of(w, x[0], side) : atan2_of(w, side, x[0]);
    }
    case OP_SINPI:
    case OP_COSPI: return turns(w, op, x[0]);
    case OP_LOGB: return exponent(w, x[0]);
    default: bug("formula of %s", op_info[op].name);
    }
}

Opnd func_value(KernelWriter *w, ExprOp op, Type type, const Opnd *args) {
    if (math_has(op, type)) return expand(w, op, type, args);
    Opnd x[4];
    for (int i = 0; i < op_info[op].arity; i++)
        x[i] = NEW(w, REG_64, "cvt.f64.f32", in_reg(w, args[i]));
    return NEW(w, REG_32, "cvt.rn.f32.f64", formula(w, op, x));
}
