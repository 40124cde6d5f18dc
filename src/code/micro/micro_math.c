// Functions of floats, as micro-operations.
//
// A function becomes a few dozen operations in the segment that needs it, the same for every
// instruction set and number of lanes. Unrolled copies therefore share constants, registers are
// allocated for the whole segment, and nothing is called. There are no branches: special cases
// (NaN, infinities, zeros, denormals, overflow) follow from the formula, or are clamped before it,
// or selected after it. Only huge arguments of sine and cosine need a call.
//
// The usual scheme: reduce the argument to a short interval, evaluate a polynomial there, and
// combine the result. All polynomials are minimax in relative error, for coefficients of the type.
// Errors are below 2 units in the last place in f32 and 4 in f64; tests/unit/code/test_jit_math.c
// measures them.
//
// Integer operations on the same register extract the bits of a float; if the machine has
// instructions for exponents, these are used.
#include "code/micro/calc.h"

#include <math.h>

#include "base/bug.h"

// Clamps to [low, high]; NaN stays.
static int at_most(const Calc *c, int x, double high) {
    return op2(c, MOP_LESSER, num(c, high), x);
}
static int at_least(const Calc *c, int x, double low) {
    return op2(c, MOP_GREATER, num(c, low), x);
}

// y with the sign of x; y must be non-negative or already have that sign.
static int signed_as(const Calc *c, int y, int x) { return bits2(c, OP_BITOR, y, sign_of(c, x)); }

// k[0] + k[step]·x + k[2·step]·x² + ... of n numbers k.
static int horner(const Calc *c, int x, const double *k, int n, int step) {
    int last = (n - 1) / step * step, y = num(c, k[last]);
    for (int i = last - step; i >= 0; i -= step) y = fma3(c, y, x, num(c, k[i]));
    return y;
}

// Σ k[i]·xⁱ. Long polynomials use two chains, of even and odd powers, because each step waits for
// the previous one.
static int poly(const Calc *c, int x, const double *k, int n) {
    if (n < 9) return horner(c, x, k, n, 1);
    int z = mul(c, x, x);
    return fma3(c, horner(c, z, k + 1, n - 1, 2), x, horner(c, z, k, n, 2));
}

#define POLY(c, x, table) poly(c, x, table, (int)(sizeof(table) / sizeof *(table)))

// ---- exp and its relatives
//
// x = n·ln2 + r, |r| <= ln2/2; eˣ = 2ⁿ·eʳ. Adding `magic` = 1.5·2^mant rounds to an integer, which
// is then in the low bits of the sum, here with twice the bias added.

typedef struct Power {
    int raw; // the bits of n + 2·bias + magic
    int n;   // as a float
    int r;
} Power;

static const double exp_f32[] = {0x1.fffffcp-2, 0x1.55548cp-3, 0x1.55585ep-5, 0x1.12440cp-7,
                                 0x1.6ad510p-10};
static const double expm1_f32[] = {0x1.000000p-1, 0x1.555554p-3,  0x1.5554f6p-5,
                                   0x1.1112b0p-7, 0x1.6d443ap-10, 0x1.9ee420p-13};
static const double exp2_f32[] = {0x1.62e430p-1, 0x1.ebfbdcp-3,  0x1.c6af70p-5,
                                  0x1.3b2d3ap-7, 0x1.5f1576p-10, 0x1.429716p-13};
static const double exp_f64[] = {
    0x1.0000000000000p-1,  0x1.5555555555559p-3,  0x1.555555555553cp-5,  0x1.111111110f4b5p-7,
    0x1.6c16c16c1fb4cp-10, 0x1.a01a01b0c8b6dp-13, 0x1.a01a0179927ebp-16, 0x1.71ddf5d9e19c5p-19,
    0x1.27e53883beb93p-22, 0x1.af636ea79fba4p-26, 0x1.1ee87439ab518p-29};
static const double exp2_f64[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a1d4p-5,  0x1.3b2ab6fba521fp-7,
    0x1.5d87fe7874667p-10, 0x1.430912f738a8cp-13, 0x1.ffcbfd4796815p-17, 0x1.62c0267af6a36p-20,
    0x1.b5233864303b3p-24, 0x1.e4c4a14a1e972p-28, 0x1.ec634bf359e99p-32, 0x1.ca03939ddd474p-36};

static double magic(const Calc *c) { return 1.5 * ldexp(1, c->mant) + 2 * c->bias; }

// n = round(x·scale), r = x - n/scale with 1/scale in two parts.
static Power reduce(const Calc *c, int x, double scale, double high, double low) {
    Power p;
    p.raw = fma3(c, x, num(c, scale), num(c, magic(c)));
    p.n = sub(c, p.raw, num(c, magic(c)));
    p.r = fma3(c, p.n, num(c, -high), x);
    if (low != 0) p.r = fma3(c, p.n, num(c, -low), p.r);
    return p;
}

static Power reduce_exp(const Calc *c, int x) {
    return is_f64(c) ? reduce(c, x, M_LOG2E, 0x1.62e42fefa2p-1, 0x1.9ef35793c7673p-41)
                     : reduce(c, x, M_LOG2E, 0x1.62e4p-1, 0x1.7f7d1cp-20);
}

// y·2ⁿ for y near 1, rounded once even if the result is denormal. Uses two factors, neither of
// which overflows.
static int times_power(const Calc *c, int y, const Power *p) {
    if (c->machine->has_exponents) return op2(c, MOP_SCALE, y, p->n);
    int half = shift(c, MOP_SHR, p->raw, 1), rest = bits2(c, OP_SUB, p->raw, half);
    return mul(c, mul(c, y, shift(c, MOP_SHL, half, c->mant)), shift(c, MOP_SHL, rest, c->mant));
}

// The same where 2ⁿ is a normal number.
static int times_normal(const Calc *c, int y, const Power *p) {
    if (c->machine->has_exponents) return op2(c, MOP_SCALE, y, p->n);
    return mul(c, y, shift(c, MOP_SHL, bits2(c, OP_SUB, p->raw, word(c, c->bias)), c->mant));
}

// Like times_power, if x was clamped to `low` because the result is 0 from there on: multiplies 0
// by a power, because a product that underflows to 0 takes a processor a hundred cycles.
static int times_power_from(const Calc *c, int y, const Power *p, int x, double low) {
    return times_power(c, choose(c, OP_LE, x, num(c, low), num(c, 0), y), p);
}

// eʳ
static int exp_rest(const Calc *c, int r) {
    int q = is_f64(c) ? POLY(c, r, exp_f64) : POLY(c, r, exp_f32);
    return add(c, fma3(c, mul(c, r, r), q, r), num(c, 1));
}

// eˣ where 2ⁿ is a normal number.
static int exp_inside(const Calc *c, int x) {
    Power p = reduce_exp(c, x);
    return times_normal(c, exp_rest(c, p.r), &p);
}

// Beyond these, eˣ is infinite or rounds to 0.
static double exp_max(const Calc *c) { return is_f64(c) ? 710 : 89; }
static double exp_min(const Calc *c) { return is_f64(c) ? -746 : -104; }

// eˣ for x that are not too large.
static int exp_from(const Calc *c, int x) {
    x = at_least(c, x, exp_min(c));
    Power p = reduce_exp(c, x);
    return times_power_from(c, exp_rest(c, p.r), &p, x, exp_min(c));
}

static int do_exp(const Calc *c, int x) { return exp_from(c, at_most(c, x, exp_max(c))); }

static int do_exp2(const Calc *c, int x) {
    double low = -(c->bias + c->mant + 1);
    x = at_least(c, at_most(c, x, c->bias + 2), low);
    Power p = reduce(c, x, 1, 1, 0);
    int q = is_f64(c) ? POLY(c, p.r, exp2_f64) : POLY(c, p.r, exp2_f32);
    return times_power_from(c, fma3(c, p.r, q, num(c, 1)), &p, x, low);
}

// 10ˣ = 2ⁿ·e^(r·ln10)
static int do_exp10(const Calc *c, int x) {
    bool w = is_f64(c);
    double from = w ? -324 : -46;
    x = at_least(c, at_most(c, x, w ? 309 : 39), from);
    Power p = w ? reduce(c, x, 0x1.a934f0979a371p+1, 0x1.34413509f6p-2, 0x1.9fef311f12b36p-42)
                : reduce(c, x, 0x1.a934f0p+1, 0x1.3440p-2, 0x1.3509f8p-18);
    int low = mul(c, p.r, num(c, w ? -0x1.f48ad494ea3e9p-53 : -0x1.12aabap-25));
    int r = fma3(c, p.r, num(c, w ? 0x1.26bb1bbb55516p+1 : 0x1.26bb1cp+1), low);
    return times_power_from(c, exp_rest(c, r), &p, x, from);
}

// eˣ - 1 = 2ⁿ·(eʳ - 1) + (2ⁿ - 1), all halved so that 2ⁿ does not overflow. n = 0 keeps small
// numbers exact.
static int do_expm1(const Calc *c, int x0) {
    int x = at_least(c, at_most(c, x0, exp_max(c)), is_f64(c) ? -38 : -18);
    Power p = reduce_exp(c, x);
    int q = is_f64(c) ? POLY(c, p.r, exp_f64) : POLY(c, p.r, expm1_f32);
    int e = fma3(c, mul(c, p.r, p.r), q, p.r);
    int half = shift(c, MOP_SHL, bits2(c, OP_SUB, p.raw, word(c, c->bias + 1)), c->mant);
    int y = fma3(c, e, half, sub(c, half, num(c, 0.5)));
    return signed_as(c, choose(c, OP_EQ, p.n, num(c, 0), e, add(c, y, y)), x0);
}

// e/d with d = 1 + small; corrects the rounding of d to stay within 2 ULP. A correction that is far
// too small to matter is omitted, because its product with e would underflow.
static int ratio(const Calc *c, int e, int d, int small) {
    if (is_f64(c)) return divide(c, e, d);
    int low = sub(c, small, sub(c, d, num(c, 1)));
    low = choose(c, OP_LT, small, num(c, 0x1p-40), num(c, 0), low);
    int r = divide(c, num(c, 1), d), q = mul(c, e, r);
    int minus = bits2(c, OP_BITXOR, q, sign_word(c));
    int rest = fma3(c, minus, low, fma3(c, minus, d, e));
    return fma3(c, rest, r, q);
}

// With e = exp(-|x|): 1/(1 + e), or e/(1 + e) for negative x.
static int do_sigmoid(const Calc *c, int x) {
    int e = exp_from(c, bits2(c, OP_BITOR, x, sign_word(c)));
    int one = num(c, 1), above = choose(c, OP_LT, x, num(c, 0), e, one);
    return ratio(c, above, add(c, one, e), e);
}

static const double tanh_f32[] = {-0x1.555532p-2, 0x1.1106f6p-3, -0x1.b835a4p-5, 0x1.51f8cep-6,
                                  -0x1.750ce2p-8};

// f32: x + x³·P(x²) below 5/8, 1 - 2/(e²ˣ + 1) above. f64: t/(t + 2) with t = expm1(2|x|).
static int do_tanh(const Calc *c, int x) {
    int a = at_most(c, magnitude(c, x), is_f64(c) ? 20 : 10);
    if (is_f64(c)) {
        int t = do_expm1(c, add(c, a, a));
        return signed_as(c, divide(c, t, add(c, t, num(c, 2))), x);
    }
    int e = add(c, exp_inside(c, add(c, a, a)), num(c, 1));
    int high = fma3(c, divide(c, num(c, 1), e), num(c, -2), num(c, 1)), z = mul(c, a, a);
    int low = fma3(c, mul(c, POLY(c, z, tanh_f32), z), a, a);
    return signed_as(c, choose(c, OP_LT, a, num(c, 0.625), low, high), x);
}

// erf(x) = x + x·P(x²) below 1; 1 - exp(-Q(x)) above, Q ≈ -log(erfc).
static const double erf_f32[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2ce6p-4, -0x1.b7f71ap-6,
                                 0x1.53f224p-8, -0x1.a3515ep-11, 0x1.4771fcp-14};
static const double erfc_f32[] = {0x1.8b3dd2p-13, -0x1.212c2cp+0, -0x1.4434f6p-1, -0x1.bc1896p-4,
                                  0x1.9d0b38p-6,  -0x1.13981cp-8, 0x1.cee8a8p-12, -0x1.6c04ccp-16};

static int do_erf(const Calc *c, int x) {
    int a = at_most(c, magnitude(c, x), 4), z = mul(c, a, a);
    int low = fma3(c, a, POLY(c, z, erf_f32), a);
    int high = sub(c, num(c, 1), exp_inside(c, POLY(c, a, erfc_f32)));
    return signed_as(c, choose(c, OP_LT, a, num(c, 1), low, high), x);
}

// ---- Logarithms
//
// x = 2ᵉ·(1 + f), -1/4 <= f < 1/2; log(1 + f) = f + g, where g collects the rounding errors.

typedef struct Log {
    int e, f, g;
} Log;

static const double log_f32[] = {0x1.5555a4p-2, -0x1.00004ap-2, 0x1.99696ep-3, -0x1.54ee72p-3,
                                 0x1.288252p-3, -0x1.0d983cp-3, 0x1.ad29c8p-4, -0x1.72afe2p-5};
static const double log_f64[] = {0x1.5555555555780p-1, 0x1.99999998ee0edp-2, 0x1.249249b405c86p-2,
                                 0x1.c71c00309819cp-3, 0x1.747513de4666dp-3, 0x1.384f01998ab55p-3,
                                 0x1.3adbecce44edep-3};

// -f²/2 + f³·P(f); for f64, with s = f/(2 + f), -f²/2 + s·(f²/2 + s²·P(s²)).
static int log_rest(const Calc *c, int f) {
    int z = mul(c, f, f);
    if (!is_f64(c)) {
        int p = POLY(c, f, log_f32);
        return mul(c, z, fma3(c, p, f, num(c, -0.5)));
    }
    int s = divide(c, f, add(c, f, num(c, 2))), ss = mul(c, s, s), half = mul(c, z, num(c, 0.5));
    int p = fma3(c, ss, POLY(c, ss, log_f64), half);
    return fma3(c, s, p, bits2(c, OP_BITXOR, half, sign_word(c)));
}

// Lowers the bits of x by 3/4, so that the exponent changes at 3/4·2ᵉ.
static int64_t three_quarters(const Calc *c) {
    return ((int64_t)c->bias << c->mant) - ((int64_t)1 << (c->mant - 1));
}

// The exponent e of a positive normal number with lowered bits u, as a float: the integer is placed
// in the low bits of 2^mant.
static int exponent_of(const Calc *c, int u) {
    int64_t one = (int64_t)1 << c->mant, up = c->bias + 1;
    int i = shift(c, MOP_SHR, bits2(c, OP_ADD, u, word(c, up << c->mant)), c->mant);
    int y = bits2(c, OP_BITOR, i, word(c, (int64_t)(c->bias + c->mant) << c->mant));
    return sub(c, y, num(c, (double)(one + up)));
}

// `normal`: x is not denormal.
static Log take_apart(const Calc *c, int x, bool normal) {
    Log l;
    if (c->machine->has_exponents) {
        int m = unary(c, MOP_MANTISSA, x);
        l.e = sub(c, unary(c, MOP_EXPONENT, x), unary(c, MOP_EXPONENT, m));
        l.f = sub(c, m, num(c, 1));
        return l;
    }
    int least = num(c, ldexp(1, 1 - c->bias)); // denormals become normal
    int up = mul(c, x, num(c, ldexp(1, c->mant + 1))), zero = num(c, 0);
    int n = normal ? x : choose(c, OP_LT, x, least, up, x);
    int u = bits2(c, OP_SUB, n, word(c, three_quarters(c)));
    int m = bits2(c, OP_BITAND, u, word(c, ((int64_t)1 << c->mant) - 1));
    m = bits2(c, OP_ADD, m, word(c, three_quarters(c)));
    l.f = sub(c, m, num(c, 1));
    l.e = exponent_of(c, u);
    if (!normal) l.e = sub(c, l.e, choose(c, OP_LT, x, least, num(c, c->mant + 1), zero));
    return l;
}

// log x for 0 < x < inf, otherwise -inf, NaN or inf; `from` is the x for which the result is log 0.
static int log_special(const Calc *c, int y, int x, double from) {
    int low = num(c, from), inf = num(c, INFINITY);
    int bad = choose(c, OP_EQ, x, low, num(c, -INFINITY), num(c, NAN));
    y = choose(c, OP_LT, low, x, y, bad);
    return choose(c, OP_LT, x, inf, y, x);
}

// e·(ehigh + elow) + (f + g)·(high + low). elow has the sign of ehigh, so that e may be infinite.
// f·high and its sum with e are rounded; the rounding errors (0 for infinities) are added to the
// small terms.
static int log_sum(const Calc *c, const Log *l, double ehigh, double elow, double high,
                   double low) {
    int e = ehigh == 1 ? l->e : mul(c, l->e, num(c, ehigh)), k = num(c, high);
    int product = mul(c, l->f, k), sum = add(c, e, product), came = sub(c, sum, e);
    if (c->machine->has_exponents) came = choose(c, OP_EQ, came, came, came, product);
    int minus = bits2(c, OP_BITXOR, product, sign_word(c));
    int rest = fma3(c, l->f, num(c, low), mul(c, l->g, k));
    if (elow != 0) rest = fma3(c, l->e, num(c, elow), rest);
    rest = add(c, rest, fma3(c, l->f, k, minus));
    return add(c, sum, add(c, sub(c, product, came), rest));
}

// e·(high + low) + f + g
static int log_natural(const Calc *c, const Log *l, double high, double low) {
    int y = add(c, l->f, fma3(c, l->e, num(c, low), l->g));
    return fma3(c, l->e, num(c, high), y);
}

static int log_base(const Calc *c, ExprOp op, const Log *l) {
    bool w = is_f64(c);
    switch (op) {
    case OP_LOG2:
        return w ? log_sum(c, l, 1, 0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56)
                 : log_sum(c, l, 1, 0, 0x1.715476p+0, 0x1.4ae0c0p-26);
    case OP_LOG10:
        return w ? log_sum(c, l, 0x1.34413509f6p-2, 0x1.9fef311f12b36p-42, 0x1.bcb7b1526e50ep-2,
                           0x1.95355baaafad3p-57)
                 : log_sum(c, l, 0x1.3440p-2, 0x1.3509f8p-18, 0x1.bcb7b2p-2, -0x1.5b235ep-27);
    default:
        return w ? log_natural(c, l, 0x1.62e42fefa2p-1, 0x1.9ef35793c7673p-41)
                 : log_natural(c, l, 0x1.62e4p-1, 0x1.7f7d1cp-20);
    }
}

static int do_log(const Calc *c, ExprOp op, int x) {
    Log l = take_apart(c, x, false);
    l.g = log_rest(c, l.f);
    int y = log_base(c, op, &l);
    return c->machine->has_exponents ? y : log_special(c, y, x, 0);
}

// The exponent comes from 1 + x, rounded; f = 2⁻ᵉ·x + (2⁻ᵉ - 1) is rounded once more, except for e
// = 0, where it is x.
static int do_log1p(const Calc *c, int x) {
    int one = num(c, 1), u = bits2(c, OP_SUB, add(c, x, one), word(c, three_quarters(c)));
    Log l = {.e = exponent_of(c, u)};
    int64_t fraction = ((int64_t)1 << c->mant) - 1;
    int e = bits2(c, OP_BITAND, u, word(c, ~fraction));
    int s = bits2(c, OP_SUB, one, e), zero = word(c, 0);
    s = choose_bits(c, OP_LT, s, zero, zero, s);
    l.f = add(c, bits2(c, OP_SUB, x, e), sub(c, s, one));
    l.g = log_rest(c, l.f);
    return log_special(c, signed_as(c, log_base(c, OP_LOG, &l), x), x, -1);
}

// ---- Sine and cosine
//
// |x| = n·π/2 + r. With π/2 in three parts, r is accurate up to `reach`; beyond it, and for NaN,
// the environment computes the function.

static const double sin_f32[] = {-0x1.555544p-3, 0x1.1106aep-7, -0x1.990f92p-13};
static const double cos_f32[] = {0x1.555548p-5, -0x1.6c0af4p-10, 0x1.99911cp-16};
static const double sin_f64[] = {-0x1.5555555555548p-3,  0x1.111111110f79ep-7,
                                 -0x1.a01a019bf771dp-13, 0x1.71de356200c4cp-19,
                                 -0x1.ae5e55ddb26b5p-26, 0x1.5d8e6a998116ep-33};
static const double cos_f64[] = {0x1.555555555554bp-5,  -0x1.6c16c16c14f58p-10,
                                 0x1.a01a019c7e9bcp-16, -0x1.27e4f7e68b149p-22,
                                 0x1.1ee9d4c3d57d1p-29, -0x1.8fa30b36017b0p-37};
static const double half_pi_f32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
static const double half_pi_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                     -0x1.f1976b7ed8fbcp-110};

static int do_trig(const Calc *c, ExprOp op, int x) {
    bool w = is_f64(c);
    const double *piece = w ? half_pi_f64 : half_pi_f32;
    double reach = w ? 0x1p24 : 0x1p17;
    int top = num(c, 1.5 * ldexp(1, c->mant)), a = magnitude(c, x);
    int raw = fma3(c, a, num(c, M_2_PI), top), n = sub(c, raw, top), r = a;
    for (int i = 0; i < 3; i++) r = fma3(c, n, num(c, -piece[i]), r);
    int z = mul(c, r, r);
    int p = w ? POLY(c, z, sin_f64) : POLY(c, z, sin_f32);
    int q = w ? POLY(c, z, cos_f64) : POLY(c, z, cos_f32);
    int sine = fma3(c, mul(c, p, z), r, r);
    int cosine = fma3(c, fma3(c, q, z, num(c, -0.5)), z, num(c, 1));
    // Odd quadrants swap sine and cosine, bit 1 of the quadrant changes the sign; cosine is one
    // quadrant ahead.
    if (op == OP_COS) raw = bits2(c, OP_ADD, raw, word(c, 1));
    int last = c->mant == 52 ? 63 : 31, zero = word(c, 0);
    int odd = shift(c, MOP_SHL, raw, last);
    int y = choose_bits(c, OP_LT, odd, zero, cosine, sine);
    int turn = shift(c, MOP_SHL, raw, last - 1);
    if (op == OP_SIN) turn = bits2(c, OP_BITXOR, turn, x);
    y = bits2(c, OP_BITXOR, y, sign_of(c, turn));
    return seg_op(c->s, MI_RESCUE, op, c->type, c->type, c->width, 4,
                  (int[]){a, num(c, reach), y, x});
}

// ---- Powers
//
// f32: 2^(y·log2|x|) in f64, half of the lanes at a time, so that only the end rounds.

static const double log2_near[] = {
    0x1.71547652b7c19p+0, -0x1.7154765404e85p-1, 0x1.ec709dcb8e99dp-2, -0x1.715473b699766p-2,
    0x1.2776bd09db14dp-2, -0x1.ec720c59da68ep-3, 0x1.a61ce65c5ab89p-3, -0x1.712f2fa1bb53ep-3,
    0x1.4786a916e5162p-3, -0x1.2871765d61877p-3, 0x1.17bb42224476bp-3, -0x1.039c212b58d55p-3,
    0x1.72e42f5a81425p-4, -0x1.088d49ed0b614p-5};
static const double exp2_near[] = {
    0x1.62e42fef896a3p-1,  0x1.ebfbdff8f0ffep-3,  0x1.c6b08dcff2292p-5,  0x1.3b2ab5ea3402cp-7,
    0x1.5d874b9f2c9f7p-10, 0x1.430aabbc331f0p-13, 0x1.00d949390f4f8p-16, 0x1.61c3f4c36be65p-20};

// x >= 0 and y are f32 values in f64, so none of them is denormal.
static int pow_wide(const Calc *c, int x, int y) {
    Log l = take_apart(c, x, true);
    int g = fma3(c, l.f, POLY(c, l.f, log2_near), l.e);
    if (!c->machine->has_exponents) g = log_special(c, g, x, 0);
    int t = at_least(c, at_most(c, mul(c, y, g), 130), -160);
    Power p = reduce(c, t, 1, 1, 0);
    int z = fma3(c, p.r, POLY(c, p.r, exp2_near), num(c, 1));
    return times_normal(c, z, &p);
}

static int pow_lanes(const Calc *c, const Calc *half, int x, int y) {
    int z[2], n = c->width == 1 ? 1 : 2;
    for (int i = 0; i < n; i++) {
        int wx = seg_op(c->s, MI_WIDEN, i, TYPE_F64, TYPE_F32, half->width, 1, &x);
        int wy = seg_op(c->s, MI_WIDEN, i, TYPE_F64, TYPE_F32, half->width, 1, &y);
        z[i] = pow_wide(half, wx, wy);
    }
    return seg_op(c->s, MI_NARROW, 0, TYPE_F32, TYPE_F64, c->width, n, z);
}

// For negative x, the result is negative if y is odd, and NaN if y is not an integer. It is 1 if y
// = 0 or x = 1, even if the other operand is NaN.
static int pow_f32(const Calc *c, const Calc *half, int x, int y) {
    int a = magnitude(c, x), one = num(c, 1), zero = num(c, 0);
    int nan = num(c, -NAN);       // as libm returns it
    double most = 0x1.fffffep127; // instead of infinity, because 0 · inf is NaN
    int z = pow_lanes(c, half, a, at_least(c, at_most(c, y, most), -most));
    int h = mul(c, y, num(c, 0.5)), whole = unary(c, OP_FLOOR, y);
    int sign = choose(c, OP_NE, unary(c, OP_FLOOR, h), h, sign_of(c, x), zero);
    int whole_z = bits2(c, OP_BITOR, z, sign);
    int negative = choose(c, OP_LT, a, num(c, INFINITY), nan, z);
    int other = choose(c, OP_LT, x, zero, negative, z);
    z = choose(c, OP_EQ, whole, y, whole_z, other);
    z = choose(c, OP_EQ, y, zero, one, z);
    return choose(c, OP_EQ, x, one, one, z);
}

static bool constant(const Seg *s, int val, double *x) {
    int def = s->vals.at[val].def;
    if (def < 0 || s->micros.at[def].kind != MI_CONST) return false;
    *x = s->micros.at[def].value.f;
    return true;
}

static int do_pow(const Calc *c, const Machine *machine, int x, int y) {
    double k;
    if (constant(c->s, y, &k)) {
        if (k == 1) return x;
        if (k == 2) return mul(c, x, x);
        if (k == 3) return mul(c, mul(c, x, x), x);
        if (k == -1) return divide(c, num(c, 1), x);
    }
    if (is_f64(c)) return op2(c, OP_POW, x, y);
    Calc half = calc_for(c->s, machine, TYPE_F64, c->width == 1 ? 1 : c->width / 2);
    return pow_f32(c, &half, x, y);
}

// ---- Small functions

// Rounds halves away from zero: adding 1/2 minus one unit never carries to the next integer.
static int do_round(const Calc *c, int x) {
    int half = num(c, is_f64(c) ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2);
    return unary(c, OP_TRUNC, add(c, x, signed_as(c, half, x)));
}

// The other operand if one is NaN.
static int do_fminmax(const Calc *c, ExprOp op, int x, int y) {
    int z = op2(c, op == OP_FMIN ? OP_MIN : OP_MAX, x, y);
    return choose(c, OP_EQ, x, x, choose(c, OP_EQ, y, y, z, x), y);
}

// ---- All of it

// ---- Remainders
//
// a - q·b with the truncated quotient q is exact, in one multiply-add, as long as q is. The rounded
// quotient may be an integer that the true one just misses: q is then one too large, the remainder
// has the other sign (and is still exact), and adding b corrects it. Larger quotients, and operands
// that are not finite, need a call.

static int do_fmod(const Calc *c, int a, int b, ExprOp op) {
    int ratio = divide(c, a, b), size = magnitude(c, ratio), q = unary(c, OP_TRUNC, ratio);
    int r = fma3(c, bits2(c, OP_BITXOR, q, sign_word(c)), b, a);
    int zero = word(c, 0), other = bits2(c, OP_BITXOR, r, a);
    int back = add(c, r, signed_as(c, magnitude(c, b), a));
    int right = choose_bits(c, OP_LT, other, zero, back, r);
    r = choose(c, OP_EQ, r, num(c, 0), r, right);
    r = choose(c, OP_EQ, q, num(c, 0), a, r); // for any b, finite or not
    r = signed_as(c, magnitude(c, r), a);
    if (op == OP_MOD) { // the result has the sign of b
        int apart = bits2(c, OP_BITXOR, r, b);
        int floor = choose_bits(c, OP_LT, apart, zero, add(c, r, b), r);
        r = choose(c, OP_EQ, r, num(c, 0), sign_of(c, b), floor);
    }
    double most = is_f64(c) ? 0x1p51 : 0x1p22;
    int fits = choose(c, OP_LE, size, num(c, most), size, num(c, NAN));
    return seg_op(c->s, MI_RESCUE, op, c->type, c->type, c->width, 4, (int[]){fits, r, a, b});
}

bool math_has(ExprOp op, Type type) {
    if (!type_is_float(type)) return false;
    switch (op) {
    case OP_EXP:
    case OP_EXP2:
    case OP_EXP10:
    case OP_EXPM1:
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG10:
    case OP_LOG1P:
    case OP_SIGMOID:
    case OP_TANH:
    case OP_SIN:
    case OP_COS:
    case OP_POW:
    case OP_RSQRT:
    case OP_ROUND:
    case OP_COPYSIGN:
    case OP_FDIM:
    case OP_FMIN:
    case OP_FMAX:
    case OP_FMOD:
    case OP_MOD: return true;
    case OP_ERF: return type_compute(type) == TYPE_F32;
    default: return false;
    }
}

int math_cost(ExprOp op, Type type) {
    if (!math_has(op, type)) return 1;
    return op == OP_POW ? 80 : op <= OP_FMIN && op >= OP_COPYSIGN ? 4 : 24;
}

int math_expand(Seg *s, const Machine *machine, ExprOp op, Type type, int width, const int *args) {
    Calc c = calc_for(s, machine, type_compute(type), width);
    int x = args[0];
    s->crowded = true;
    switch (op) {
    case OP_EXP: return do_exp(&c, x);
    case OP_EXP2: return do_exp2(&c, x);
    case OP_EXP10: return do_exp10(&c, x);
    case OP_EXPM1: return do_expm1(&c, x);
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG10: return do_log(&c, op, x);
    case OP_LOG1P: return do_log1p(&c, x);
    case OP_SIGMOID: return do_sigmoid(&c, x);
    case OP_TANH: return do_tanh(&c, x);
    case OP_ERF: return do_erf(&c, x);
    case OP_SIN:
    case OP_COS: return do_trig(&c, op, x);
    case OP_POW: return do_pow(&c, machine, x, args[1]);
    case OP_FMOD:
    case OP_MOD: return do_fmod(&c, x, args[1], op);
    case OP_RSQRT: return divide(&c, num(&c, 1), unary(&c, OP_SQRT, x));
    case OP_ROUND: return do_round(&c, x);
    case OP_COPYSIGN: return signed_as(&c, magnitude(&c, x), args[1]);
    case OP_FDIM: return choose(&c, OP_LE, x, args[1], num(&c, 0), sub(&c, x, args[1]));
    case OP_FMIN:
    case OP_FMAX: return do_fminmax(&c, op, x, args[1]);
    default: bug("function %d", (int)op);
    }
}
