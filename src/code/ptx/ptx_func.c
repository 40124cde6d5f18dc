// Functions of floats. Functions that code/micro expands to arithmetic for the CPU use the same
// formulas here, one lane wide, so both back-ends round alike. Where the CPU calls a function for
// rare arguments (huge angles, quotients beyond the mantissa), the code here uses integer
// arithmetic. Where the CPU always calls a function, it uses formulas (ptx_formula.c,
// ptx_special.c).
#include "code/ptx/ptx_formula.h"

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

static Opnd micro_compare(KernelWriter *w, ExprOp op, Type from, Opnd a, Opnd b) {
    return operation(w, op, from, (Opnd[]){func_register(w, a), b});
}

// Is it 1/x of a function whose quotients are normal numbers? sigmoid divides by 1 to 2, tanh by 2
// to 2^30.
static bool is_inverse(const KernelWriter *w, const Micro *m, const Opnd *v) {
    return w->normal && m->op == OP_DIV && m->type == TYPE_F32 && v[0].literal &&
           v[0].bits == 0x3f800000u;
}

static bool divides_normal(ExprOp op) { return op == OP_TANH || op == OP_SIGMOID; }

// What rcp.rn does to such numbers, without its test for others: an estimate and a step of Newton's
// method, r + r·(1 - x·r).
static Opnd inverse(KernelWriter *w, Opnd x) {
    Opnd one = lit_value(TYPE_F32, (Value){.f = 1});
    Opnd r = NEW(w, REG_32, "rcp.approx.ftz.f32", x), minus = NEW(w, REG_32, "neg.f32", r);
    Opnd rest = NEW(w, REG_32, "fma.rn.f32", x, minus, one);
    return NEW(w, REG_32, "fma.rn.f32", r, rest, r);
}

// Is it c < x ? c : x, or with >, for a number c that is not 0? Then min.NaN is the same, also if x
// is NaN, and takes half of the time of a comparison and a selection.
static bool is_clamp(const Micro *m, const Opnd *v) {
    uint64_t size = v[0].bits & 0x7fffffff;
    return m->type == TYPE_F32 && v[0].literal && !v[1].literal && size && size < 0x7f800000;
}

static Opnd micro_op(KernelWriter *w, const Micro *m, const Opnd *v) {
    RegClass c = sized_class(m->type);
    bool wide = c == REG_64;
    if (is_inverse(w, m, v)) return inverse(w, func_register(w, v[1]));
    switch ((int)m->op) {
    case MOP_LESSER:
    case MOP_GREATER: {
        ExprOp op = m->op == MOP_LESSER ? OP_LT : OP_GT;
        if (is_clamp(m, v))
            return NEW(w, c, op == OP_LT ? "min.NaN.f32" : "max.NaN.f32", v[1], v[0]);
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
            func_register(w, v[0]));
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
                   func_register(w, v[0]));
    case MI_NARROW:
        return NEW(w, REG_32, m->type == TYPE_F32 ? "cvt.rn.f32.f64" : "cvt.rzi.s32.f64",
                   func_register(w, v[0]));
    case MI_CAST: return convert(w, m->type, m->from, v[0]);
    case MI_RESCUE: return rescue(w, m, v);
    default: bug("micro-operation %d in a function", m->kind);
    }
}

// Expands the function to micro-operations, and prints these as instructions.
Opnd func_expand(KernelWriter *w, ExprOp op, Type type, const Opnd *args) {
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
    w->normal = divides_normal(op);
    for (int i = 0; i < seg.micros.n; i++) {
        const Micro *m = &seg.micros.at[i];
        Opnd v[4];
        for (int k = 0; k < m->nargs; k++) v[k] = val[m->arg[k]];
        if (m->dst >= 0) val[m->dst] = micro_value(w, m, v);
    }
    w->normal = false;
    return val[result];
}

// --- Huge angles ---------------------------------------------------------------------------------
//
// x = m·2^e with an integer m of 53 bits. m times the bits of 2/π from weight 2^(1-e) on gives
// x·2/π modulo 4: two bits for the quadrant, then 126 bits of fraction.

static const uint64_t two_over_pi[] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
    0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
    0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

// Four words of the table, from index `word` on.
static void table_words(KernelWriter *w, Opnd word, Opnd *out) {
    int n = (int)(sizeof two_over_pi / sizeof *two_over_pi) - 3;
    for (int i = 0; i < 4; i++) out[i] = moved(w, u64(two_over_pi[n - 1 + i]));
    for (int k = 0; k < n - 1; k++) {
        Opnd here = NEW(w, REG_PRED, "setp.eq.s32", word, lit(REG_32, (uint64_t)k));
        for (int i = 0; i < 4; i++)
            INS(w, "selp.b64", out[i], u64(two_over_pi[k + i]), out[i], here);
    }
}

// sin or cos of a double that is too large for the range reduction of the polynomial.
static Opnd trig_far(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd field = NEW(w, REG_32, "cvt.u32.u64", NEW(w, REG_64, "shr.u64", x, lit(REG_32, 52)));
    field = NEW(w, REG_32, "and.b32", field, lit(REG_32, 0x7ff));
    Opnd m = NEW(w, REG_64, "and.b64", x, u64(0xfffffffffffffull));
    m = NEW(w, REG_64, "or.b64", m, u64(0x10000000000000ull));
    // The first relevant bit is bit e + 61 of the table, which begins with 64 zeros.
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
    // The nearest quadrant, and the remainder as a signed fraction of a quadrant.
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
    // |r| <= π/4, so the range reduction of the formula finds quadrant 0.
    w->near = true;
    Opnd sine = func_expand(w, OP_SIN, TYPE_F64, &r), cosine = func_expand(w, OP_COS, TYPE_F64, &r);
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

// --- Remainders for any quotient
// ------------------------------------------------------------------

// |a| mod |b| of finite doubles, b not 0, by long division of the mantissas, bit by bit.
Opnd func_fmod_far(KernelWriter *w, Opnd a, Opnd b) {
    Opnd mag = u64(INT64_MAX), mask = u64(0xfffffffffffffull), one = u64(0x10000000000000ull);
    Opnd in[2] = {NEW(w, REG_64, "and.b64", a, mag), NEW(w, REG_64, "and.b64", b, mag)}, m[2], e[2];
    for (int i = 0; i < 2; i++) { // normalise denormals, with lower exponents
        Opnd low = NEW(w, REG_PRED, "setp.lt.f64", in[i], f64(0x1p-1022));
        Opnd n = where(w, low, mul(w, in[i], f64(0x1p54)), in[i]);
        Opnd field = NEW(w, REG_32, "cvt.u32.u64", NEW(w, REG_64, "shr.u64", n, lit(REG_32, 52)));
        Opnd down = NEW(w, REG_32, "selp.b32", lit(REG_32, 54), lit(REG_32, 0), low);
        e[i] = NEW(w, REG_32, "sub.s32", field, down);
        m[i] = NEW(w, REG_64, "or.b64", NEW(w, REG_64, "and.b64", n, mask), one);
    }
    Opnd r = moved(w, m[0]), left = NEW(w, REG_32, "sub.s32", e[0], e[1]), p = reg_new(w, REG_PRED);
    int loop = label_new(w), end = label_new(w);
    INS(w, "setp.lt.s32", p, left, lit(REG_32, 0)); // negative if |a| < |b|
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
    // r·2^(e - 1075), exactly: a negative exponent leaves an integer, other exponents are applied
    // in two halves.
    Opnd f = mul(w, NEW(w, REG_64, "cvt.rn.f64.u64", r), f64(0x1p-1000));
    Opnd k = NEW(w, REG_32, "sub.s32", e[1], lit(REG_32, 1));
    Opnd down = NEW(w, REG_32, "min.s32", k, lit(REG_32, 0));
    k = NEW(w, REG_32, "max.s32", k, lit(REG_32, 0));
    Opnd half = NEW(w, REG_32, "shr.s32", k, lit(REG_32, 1));
    Opnd power[3] = {down, half, NEW(w, REG_32, "sub.s32", k, half)};
    for (int i = 0; i < 3; i++) {
        Opnd field = NEW(w, REG_32, "add.s32", power[i], lit(REG_32, 1023));
        field = NEW(w, REG_64, "cvt.s64.s32", field);
        f = mul(w, f, NEW(w, REG_64, "shl.b64", field, lit(REG_32, 52)));
        if (i == 1) f = mul(w, f, f64(0x1p-74));
    }
    INS(w, "mov.b64", out, f);
    label_put(w, end);
    return out;
}

static Opnd remainder_far(KernelWriter *w, ExprOp op, Opnd a, Opnd b) {
    Opnd sign = u64(0x8000000000000000ull), mag = u64(INT64_MAX), inf = u64(0x7ff0000000000000ull);
    Opnd r = func_fmod_far(w, a, b);
    r = NEW(w, REG_64, "or.b64", r, NEW(w, REG_64, "and.b64", a, sign));
    Opnd zero = lit_value(TYPE_F64, (Value){.f = 0});
    if (op == OP_MOD) { // the result has the sign of b
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
    // Modulo infinity the result is a, or infinity if the signs differ and a is not 0.
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
        wide[i] = t == TYPE_F64 ? func_register(w, args[i])
                                : NEW(w, REG_64, "cvt.f64.f32", func_register(w, args[i]));
    Opnd z = op == OP_SIN || op == OP_COS ? trig_far(w, op, wide[0])
                                          : remainder_far(w, op, wide[0], wide[1]);
    return t == TYPE_F64 ? z : NEW(w, REG_32, "cvt.rn.f32.f64", z);
}

// See MI_RESCUE: selects the value of the formula where it is accurate; elsewhere a branch leads to
// the slow computation.
static Opnd rescue(KernelWriter *w, const Micro *m, const Opnd *v) {
    bool two = op_info[m->op].arity == 2;
    Opnd usual = two ? v[1] : v[2];
    if (w->near) return usual;
    Opnd fine =
        two ? operation(w, OP_EQ, m->type, (Opnd[]){func_register(w, v[0]), func_register(w, v[0])})
            : operation(w, OP_LE, m->type, (Opnd[]){func_register(w, v[0]), v[1]});
    Opnd z = moved(w, usual);
    int end = label_new(w);
    branch(w, fine, true, end);
    Opnd far = far_value(w, (ExprOp)m->op, m->type, two ? v + 2 : v + 3);
    INS(w, z.class == REG_64 ? "mov.b64" : "mov.b32", z, far);
    label_put(w, end);
    return z;
}

// --- Dispatch
// -------------------------------------------------------------------------------------

// Functions that expand to micro-operations. For powers in f64 the CPU calls the C library instead.
static bool is_expanded(ExprOp op, Type t) {
    return math_has(op, t) && !(op == OP_POW && t == TYPE_F64);
}

// Is the power a product or a reciprocal, as on the CPU?
static bool is_small_power(ExprOp op, const Opnd *args) {
    double y;
    if (op != OP_POW || !args[1].literal) return false;
    memcpy(&y, &args[1].bits, sizeof y);
    return y == 1 || y == 2 || y == 3 || y == -1;
}

// The next number after x towards y: the bits of x plus or minus 1.
static Opnd next_after(KernelWriter *w, Type t, Opnd x, Opnd y) {
    bool wide = t == TYPE_F64;
    RegClass c = wide ? REG_64 : REG_32;
    uint64_t sign = wide ? 1ull << 63 : 1u << 31;
    x = func_register(w, x);
    y = func_register(w, y);
    const char *and = wide ? "and.b64" : "and.b32", * or = wide ? "or.b64" : "or.b32";
    const char *selp = wide ? "selp.b64" : "selp.b32";
    Opnd zero = lit(c, 0), below = NEW(w, REG_PRED, wide ? "setp.lt.f64" : "setp.lt.f32", x, y);
    Opnd negative = NEW(w, REG_PRED, wide ? "setp.lt.s64" : "setp.lt.s32", x, zero);
    Opnd away = NEW(w, REG_PRED, "xor.pred", below, negative); // away from zero
    Opnd step = NEW(w, c, selp, lit(c, 1), lit(c, UINT64_MAX), away);
    Opnd next = NEW(w, c, wide ? "add.s64" : "add.s32", x, step);
    Opnd least = NEW(w, c, or, NEW(w, c, and, y, lit(c, sign)), lit(c, 1));
    Opnd none = NEW(w, REG_PRED, wide ? "setp.eq.f64" : "setp.eq.f32", x, zero);
    next = NEW(w, c, selp, least, next, none);
    Opnd equal = NEW(w, REG_PRED, wide ? "setp.eq.f64" : "setp.eq.f32", x, y);
    next = NEW(w, c, selp, y, next, equal);
    Opnd nan = NEW(w, REG_PRED, wide ? "setp.nan.f64" : "setp.nan.f32", x, y);
    Opnd sum = NEW(w, c, wide ? "add.rn.f64" : "add.rn.f32", x, y);
    return NEW(w, c, selp, sum, next, nan);
}

Opnd func_value(KernelWriter *w, ExprOp op, Type type, const Opnd *args) {
    if (op == OP_NEXTAFTER) return next_after(w, type, args[0], args[1]);
    if (is_expanded(op, type) || is_small_power(op, args)) return func_expand(w, op, type, args);
    bool wide = type == TYPE_F64;
    Opnd x[4];
    for (int i = 0; i < op_info[op].arity; i++) {
        x[i] = func_register(w, args[i]);
        if (!wide) x[i] = NEW(w, REG_64, "cvt.f64.f32", x[i]);
    }
    Opnd y = formula_has(op) ? formula_value(w, op, wide, x) : special_value(w, op, wide, x);
    return wide ? y : NEW(w, REG_32, "cvt.rn.f32.f64", y);
}
