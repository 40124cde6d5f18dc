// Elementary functions as formulas of exp, log, sine and cosine, in f64. f32 operands are converted
// to f64, where their squares are exact and nothing overflows. For f64 operands the formulas scale.
#include "code/ptx/ptx_formula.h"

#include "base/bug.h"

#include <math.h>

static const uint64_t nan_bits = 0x7ff8000000000000ull, inf_bits = 0x7ff0000000000000ull;

bool formula_has(ExprOp op) {
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
    case OP_REMAINDER:
    case OP_POW:
    case OP_LOGB: return true;
    default: return false;
    }
}

// --- Roots ---------------------------------------------------------------------------------------

// The square root of a sum of squares. Very large and very small f64 operands are scaled by a power
// of two.
static Opnd norm(KernelWriter *w, int n, const Opnd *x, bool inverse, bool wide) {
    Opnd scale = f64(1), back = f64(1), y[4];
    if (wide) {
        Opnd most = size_of(w, x[0]);
        for (int i = 1; i < n; i++) most = NEW(w, REG_64, "max.f64", most, size_of(w, x[i]));
        Opnd large = is(w, "setp.gt.f64", most, f64(0x1p500));
        Opnd small = is(w, "setp.lt.f64", most, f64(0x1p-450));
        scale = where(w, large, f64(0x1p-600), where(w, small, f64(0x1p600), f64(1)));
        back = where(w, large, f64(0x1p600), where(w, small, f64(0x1p-600), f64(1)));
    }
    for (int i = 0; i < n; i++) y[i] = wide ? mul(w, x[i], scale) : x[i];
    Opnd sum = mul(w, y[0], y[0]);
    for (int i = 1; i < n; i++) sum = fma3(w, y[i], y[i], sum);
    Opnd r = root(w, sum);
    if (inverse) r = NEW(w, REG_64, "rcp.rn.f64", r);
    if (wide) r = mul(w, r, inverse ? scale : back);
    // The result is infinite if any operand is, even if another is NaN.
    for (int i = 0; i < n; i++) {
        Opnd inf = is(w, "setp.eq.f64", size_of(w, x[i]), u64(inf_bits));
        r = where(w, inf, inverse ? f64(0) : u64(inf_bits), r);
    }
    return r;
}

// 2^(log2(a)/3). For f64, a step of Newton's method follows, with a residual a - y³ that is exact
// except for its last bit, because y² is kept in two parts. Denormal numbers are scaled by 2^162.
static Opnd cube_root(KernelWriter *w, Opnd x, bool wide) {
    Opnd a = size_of(w, x), small = {0};
    if (wide) {
        small = is(w, "setp.lt.f64", a, f64(0x1p-900));
        a = where(w, small, mul(w, a, f64(0x1p162)), a);
    }
    Opnd y = call(w, OP_EXP2, quot(w, call(w, OP_LOG2, a), f64(3)));
    if (!wide) return with_sign(w, y, x);
    Opnd square = mul(w, y, y), low = fma3(w, y, y, minus(w, square));
    Opnd rest = fma3(w, minus(w, square), y, a);
    rest = fma3(w, minus(w, low), y, rest);
    Opnd better = add(w, y, quot(w, rest, mul(w, square, f64(3))));
    Opnd finite = is(w, "setp.lt.f64", a, u64(inf_bits));
    Opnd usual = is(w, "setp.gt.f64", a, f64(0));
    better = where(w, finite, where(w, usual, better, y), y);
    better = where(w, small, mul(w, better, f64(0x1p-54)), better);
    return with_sign(w, better, x);
}

// --- Angles --------------------------------------------------------------------------------------

// atan of x >= 0. Above 1 it is computed from 1/x, above tan(pi/8) from (t - 1)/(t + 1), and below
// by its series.
static Opnd atan_of(KernelWriter *w, Opnd x, bool wide) {
    Opnd large = is(w, "setp.gt.f64", x, f64(1));
    Opnd t = where(w, large, NEW(w, REG_64, "rcp.rn.f64", x), x);
    Opnd middle = is(w, "setp.gt.f64", t, f64(0.41421356237309503));
    t = where(w, middle, quot(w, sub(w, t, f64(1)), add(w, t, f64(1))), t);
    int last = wide ? 43 : 27;
    Opnd z = mul(w, t, t), sum = f64(-1.0 / last);
    for (int k = last - 2; k >= 3; k -= 2)
        sum = fma3(w, z, sum, f64(k % 4 == 1 ? 1.0 / k : -1.0 / k));
    Opnd y = fma3(w, mul(w, t, z), sum, t);
    // The result is π/2 or π/4, in two parts, plus or minus y; or y itself.
    Opnd high = where(w, middle, f64(0x1.921fb54442d18p-1),
                      where(w, large, f64(0x1.921fb54442d18p+0), f64(0)));
    Opnd low = where(w, middle, f64(0x1.1a62633145c07p-55),
                     where(w, large, f64(0x1.1a62633145c07p-54), f64(0)));
    y = where(w, large, minus(w, y), y);
    return add(w, high, add(w, y, low));
}

// Computes the angle from the quotient of the smaller by the larger operand, then corrects it for
// the quadrant.
static Opnd atan2_of(KernelWriter *w, Opnd y, Opnd x, bool wide) {
    Opnd ay = size_of(w, y), ax = size_of(w, x), ratio = quot(w, ay, ax);
    ratio = where(w, is(w, "setp.eq.f64", ay, ax), f64(1), ratio); // also for infinities
    ratio = where(w, is(w, "setp.eq.f64", ay, f64(0)), f64(0), ratio);
    Opnd q = atan_of(w, ratio, wide);
    Opnd back = sub(w, f64(0x1.921fb54442d18p+1), sub(w, q, f64(0x1.1a62633145c07p-53)));
    q = where(w, is(w, "setp.lt.s64", x, u64(0)), back, q);
    return where(w, is(w, "setp.nan.f64", y, x), add(w, x, y), with_sign(w, q, y));
}

// sin(πx) and cos(πx). |x| mod 2 is exact; the symmetries reduce it to the first quarter
// of the circle.
static Opnd turns(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd a = size_of(w, x), half = mul(w, a, f64(0.5));
    Opnd whole = NEW(w, REG_64, "cvt.rmi.f64.f64", half), r = fma3(w, whole, f64(-2), a);
    Opnd second = is(w, "setp.gt.f64", r, f64(1));
    r = where(w, second, sub(w, f64(2), r), r);
    Opnd beyond = is(w, "setp.gt.f64", r, f64(0.5));
    r = where(w, beyond, sub(w, f64(1), r), r);
    Opnd steep = is(w, "setp.gt.f64", r, f64(0.25));
    bool cosine = op == OP_COSPI;
    Opnd near = where(w, steep, sub(w, f64(0.5), r), r);
    near = mul(w, f64(3.14159265358979324), near);
    w->near = true;
    Opnd s = call(w, OP_SIN, near), c = call(w, OP_COS, near);
    w->near = false;
    Opnd y = cosine ? where(w, steep, s, c) : where(w, steep, c, s);
    y = where(w, cosine ? beyond : second, minus(w, y), y);
    if (cosine) return y;
    Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
    return NEW(w, REG_64, "xor.b64", y, sign);
}

// --- Hyperbolic functions ------------------------------------------------------------------------

// With e = expm1(a) the value is (e + e/(e + 1))/2, with e = exp(a) it is (e + 1/e)/2. Where e^a
// overflows, it is computed as the square of e^(a/2).
static Opnd hyperbolic(KernelWriter *w, ExprOp op, Opnd x, bool wide) {
    Opnd a = size_of(w, x), y;
    if (op == OP_SINH) {
        Opnd e = call(w, OP_EXPM1, a), inf = is(w, "setp.eq.f64", e, u64(inf_bits));
        y = add(w, e, where(w, inf, f64(1), quot(w, e, add(w, e, f64(1)))));
    } else {
        Opnd e = call(w, OP_EXP, a);
        y = add(w, e, NEW(w, REG_64, "rcp.rn.f64", e));
    }
    y = mul(w, y, f64(0.5));
    if (wide) {
        Opnd half = call(w, OP_EXP, mul(w, a, f64(0.5)));
        y = where(w, is(w, "setp.gt.f64", a, f64(709)), mul(w, mul(w, half, f64(0.5)), half), y);
    }
    return op == OP_SINH ? with_sign(w, y, x) : y;
}

static Opnd inverse_hyperbolic(KernelWriter *w, ExprOp op, Opnd x, bool wide) {
    Opnd a = size_of(w, x), one = f64(1), y;
    if (op == OP_ATANH) { // log1p(2a/(1 - a))/2
        y = quot(w, add(w, a, a), sub(w, one, a));
        return with_sign(w, mul(w, call(w, OP_LOG1P, y), f64(0.5)), x);
    }
    if (op == OP_ACOSH) { // log1p(d + sqrt(d·(x + 1))) with d = x - 1
        Opnd d = sub(w, x, one);
        y = add(w, d, root(w, mul(w, d, add(w, x, one))));
    } else { // log1p(a + a²/(1 + sqrt(a² + 1)))
        Opnd square = mul(w, x, x), r = root(w, add(w, square, one));
        Opnd sum = add(w, a, quot(w, square, add(w, r, one)));
        y = where(w, is(w, "setp.eq.f64", a, u64(inf_bits)), a, sum);
    }
    y = call(w, OP_LOG1P, y);
    if (wide) { // log(2a), before squares overflow
        Opnd far = add(w, call(w, OP_LOG, a), f64(0.69314718055994531));
        y = where(w, is(w, "setp.gt.f64", a, f64(0x1p28)), far, y);
    }
    if (op == OP_ASINH) return with_sign(w, y, x);
    return where(w, is(w, "setp.lt.f64", x, one), u64(nan_bits), y);
}

// --- Powers --------------------------------------------------------------------------------------

// log2(a) = e + log2(m), sqrt(1/2) < m < sqrt(2), where log(m) = 2·(s + s·z·(1/3 + z/5 + ...)) with
// s = (m - 1)/(m + 1) and z = s². The terms from z/5 on are so small that one f64 is enough for
// them.
TwoPart log2_pair(KernelWriter *w, Opnd a) {
    Opnd tiny = is(w, "setp.lt.f64", a, f64(0x1p-1022));
    Opnd n = where(w, tiny, mul(w, a, f64(0x1p54)), a), lower = u64(0x3fe6a09e667f3bcdull);
    // So that the mantissa is in [sqrt(1/2), sqrt(2)).
    Opnd bits = NEW(w, REG_64, "sub.s64", n, lower);
    Opnd e = NEW(w, REG_64, "shr.s64", bits, lit(REG_32, 52));
    Opnd m = NEW(w, REG_64, "and.b64", bits, u64(0xfffffffffffffull));
    m = NEW(w, REG_64, "add.s64", m, lower);
    e = NEW(w, REG_64, "cvt.rn.f64.s64", e);
    e = where(w, tiny, sub(w, e, f64(54)), e);
    Opnd top = sub(w, m, f64(1)), den = add(w, m, f64(1)), lost = sub(w, m, sub(w, den, f64(1)));
    TwoPart s = {quot(w, top, den), {0}};
    Opnd rest = fma3(w, minus(w, s.high), den, top);
    s.low = quot(w, fma3(w, minus(w, s.high), lost, rest), den);
    TwoPart z = pair_mul(w, s, s);
    Opnd tail = f64(1.0 / 45);
    for (int k = 43; k >= 5; k -= 2) tail = fma3(w, tail, z.high, f64(1.0 / k));
    tail = mul(w, tail, z.high);
    TwoPart p =
        pair_mul(w, z, pair_sum(w, f64(0x1.5555555555555p-2), tail, f64(0x1.5555555555555p-56)));
    p = pair_mul(w, s, p);
    p = pair_sum(w, s.high, p.high, add(w, s.low, p.low));
    p = pair_mul(w, p, (TwoPart){f64(0x1.71547652b82fep+1), f64(0x1.777d0ffda0d24p-55)}); // 2/ln 2
    // e is 0, or an integer of larger magnitude than p.
    TwoPart sum = pair_sum(w, e, p.high, p.low);
    Opnd none = is(w, "setp.eq.f64", e, f64(0));
    return (TwoPart){where(w, none, p.high, sum.high), where(w, none, p.low, sum.low)};
}

// a^y = 2^(y·log2(a)) for a > 0. The low part of the exponent becomes a factor close to 1.
static Opnd power_of(KernelWriter *w, Opnd a, Opnd y) {
    TwoPart l = log2_pair(w, a);
    Opnd high = mul(w, y, l.high), low = fma3(w, y, l.high, minus(w, high));
    low = mul(w, fma3(w, y, l.low, low), f64(0.69314718055994531));
    Opnd e = call(w, OP_EXP2, high), exact = fma3(w, e, low, e);
    Opnd usual = is(w, "setp.lt.f64", e, u64(inf_bits));
    exact = where(w, usual, where(w, is(w, "setp.gt.f64", e, f64(0)), exact, e), e);
    Opnd grows = is(w, "setp.gt.f64", y, f64(0)); // 0 and infinity
    Opnd none = where(w, grows, f64(0), f64(INFINITY)),
         all = where(w, grows, f64(INFINITY), f64(0));
    exact = where(w, is(w, "setp.eq.f64", a, f64(0)), none, exact);
    return where(w, is(w, "setp.eq.f64", a, f64(INFINITY)), all, exact);
}

// For negative x, the result is negative if y is odd, and NaN if y is not an integer. The result is
// 1 if y = 0 or x = 1, even if the other operand is NaN.
static Opnd power(KernelWriter *w, Opnd x, Opnd y) {
    Opnd a = size_of(w, x), most = f64(0x1.fffffffffffffp+1023), nan = u64(nan_bits);
    Opnd finite = NEW(w, REG_64, "min.f64", y, most);
    finite = NEW(w, REG_64, "max.f64", finite, minus(w, most));
    Opnd z = power_of(w, a, finite), half = mul(w, y, f64(0.5));
    Opnd whole = is(w, "setp.eq.f64", NEW(w, REG_64, "cvt.rmi.f64.f64", y), y);
    Opnd odd = is(w, "setp.ne.f64", NEW(w, REG_64, "cvt.rmi.f64.f64", half), half);
    Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
    Opnd turned = NEW(w, REG_64, "or.b64", z, where(w, odd, sign, u64(0)));
    Opnd bounded = is(w, "setp.lt.f64", a, u64(inf_bits));
    Opnd broken = where(w, is(w, "setp.lt.f64", x, f64(0)), where(w, bounded, nan, z), z);
    z = where(w, whole, turned, broken);
    z = where(w, is(w, "setp.nan.f64", x, y), nan, z);
    z = where(w, is(w, "setp.eq.f64", y, f64(0)), f64(1), z);
    return where(w, is(w, "setp.eq.f64", x, f64(1)), f64(1), z);
}

// --- Bits ----------------------------------------------------------------------------------------

// The exponent as a number. f32 denormals are normal numbers in f64.
static Opnd exponent(KernelWriter *w, Opnd x, bool wide) {
    Opnd a = size_of(w, x), n = a, less = u64(1023);
    if (wide) {
        Opnd small = is(w, "setp.lt.f64", a, f64(0x1p-1022));
        n = where(w, small, mul(w, a, f64(0x1p54)), a);
        less = where(w, small, u64(1023 + 54), u64(1023));
    }
    Opnd field = NEW(w, REG_64, "shr.u64", n, lit(REG_32, 52));
    Opnd e = NEW(w, REG_64, "cvt.rn.f64.s64", NEW(w, REG_64, "sub.s64", field, less));
    e = where(w, is(w, "setp.eq.f64", a, f64(0)), f64(-INFINITY), e);
    return where(w, is(w, "setp.lt.f64", a, u64(inf_bits)), e, a);
}

// Computes |x| mod 2|y|, which is exact, and subtracts |y| at most twice, also exactly. Half of a
// very small number is not exact, so there the comparison uses doubled values.
static Opnd remainder_of(KernelWriter *w, Opnd x, Opnd y) {
    Opnd ax = size_of(w, x), ay = size_of(w, y), half = mul(w, ay, f64(0.5));
    Opnd r = func_fmod_far(w, ax, add(w, ay, ay));
    Opnd tiny = is(w, "setp.lt.f64", ay, f64(0x1p-1021));
    Opnd limit = where(w, tiny, ay, half);
    Opnd over = is(w, "setp.gt.f64", where(w, tiny, add(w, r, r), r), limit);
    Opnd once = sub(w, r, ay), twice = sub(w, once, ay);
    Opnd again = is(w, "setp.ge.f64", where(w, tiny, add(w, once, once), once), limit);
    r = where(w, over, where(w, again, twice, once), r);
    Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
    r = NEW(w, REG_64, "xor.b64", r, sign);
    Opnd fine = is(w, "setp.lt.f64", ax, u64(inf_bits)); // false for NaN
    r = where(w, fine, r, u64(nan_bits));
    return where(w, is(w, "setp.gt.f64", ay, f64(0)), r, u64(nan_bits));
}

// --- Dispatch ------------------------------------------------------------------------------------

Opnd formula_value(KernelWriter *w, ExprOp op, bool wide, const Opnd *x) {
    switch (op) {
    case OP_HYPOT:
    case OP_NORM3D:
    case OP_NORM4D: return norm(w, op_info[op].arity, x, false, wide);
    case OP_RHYPOT:
    case OP_RNORM3D:
    case OP_RNORM4D: return norm(w, op_info[op].arity, x, true, wide);
    case OP_TAN: return quot(w, call(w, OP_SIN, x[0]), call(w, OP_COS, x[0]));
    case OP_SINH:
    case OP_COSH: return hyperbolic(w, op, x[0], wide);
    case OP_ASINH:
    case OP_ACOSH:
    case OP_ATANH: return inverse_hyperbolic(w, op, x[0], wide);
    case OP_CBRT: return cube_root(w, x[0], wide);
    case OP_RCBRT: return NEW(w, REG_64, "rcp.rn.f64", cube_root(w, x[0], wide));
    case OP_ATAN: return with_sign(w, atan_of(w, size_of(w, x[0]), wide), x[0]);
    case OP_ATAN2: return atan2_of(w, x[0], x[1], wide);
    case OP_ASIN:
    case OP_ACOS: { // from the other leg of a right triangle
        Opnd side = root(w, mul(w, sub(w, f64(1), x[0]), add(w, f64(1), x[0])));
        return op == OP_ASIN ? atan2_of(w, x[0], side, wide) : atan2_of(w, side, x[0], wide);
    }
    case OP_SINPI:
    case OP_COSPI: return turns(w, op, x[0]);
    case OP_REMAINDER: return remainder_of(w, x[0], x[1]);
    case OP_POW: return power(w, x[0], x[1]);
    case OP_LOGB: return exponent(w, x[0], wide);
    default: bug("formula of %s", op_info[op].name);
    }
}
