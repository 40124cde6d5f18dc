// Gamma function of f64 operands. The logarithm of Γ is a sum of two numbers (ptx_formula.h), so
// that its power keeps the last bits; the errors are below 4 units in the last place.
//
// With P = (a + 1)...(a + 7) for 0 <= a < 8, and E = log2 Γ of a + 8 or, from 8 on, of a:
//
//     Γ(a) = 2^E/(a·P)        Γ(-a) = -π·P/(sin(πa)·2^E)                  a < 8
//     Γ(a) = 2^E              Γ(-a) = -π/(a·sin(πa)·2^E)                  a >= 8
//
// log Γ of 0 to 3 is a polynomial, whose factors contain the zeros 1 and 2. Below 0 it has other
// zeros, close to which its error is absolute: 2 units in the last place of 1.
//
// Each table interpolates the function that its comment names at Chebyshev points. It was computed
// with 260 bits and rounded to f64.
#include "code/ptx/ptx_formula.h"

#include <math.h>

// y·(log Γ(y) - (y - 1/2)·log y + y - log √(2π)) in 1/y², y >= 8.
static const double stirling[] = {
    0x1.5555555555555p-4,  -0x1.6c16c16c16c16p-9,  0x1.a01a01a01964bp-11, -0x1.3813813619629p-11,
    0x1.b951df711aa6cp-11, -0x1.f6a981e95108ep-10, 0x1.a3e072c86b601p-8,  -0x1.ded79e664bdc2p-6,
    0x1.48d057c68360fp-3,  -0x1.6f61c43a9ae07p-1};
// log Γ(x)/((x - 1)(x - 2)) in x - 1, 1/2 <= x <= 3/2, and in x - 9/4, 3/2 <= x <= 3.
static const double around_one[] = {
    0x1.2788cfc6fb619p-1,  -0x1.f6465978d46e9p-3, 0x1.3e54520481f68p-3, -0x1.d7a3e6a8f24d3p-4,
    0x1.79cf9c4c45553p-4,  -0x1.3cb1f9d3aa706p-4, 0x1.115549ee4815fp-4, -0x1.e1824701d6850p-5,
    0x1.ae8a96845abfap-5,  -0x1.857929d7dcc22p-5, 0x1.639fa4485565ep-5, -0x1.4736db8af778dp-5,
    0x1.2efc2e0671742p-5,  -0x1.1a20b75adcbcap-5, 0x1.08732799711afp-5, -0x1.f0edd85f05d35p-6,
    0x1.caf86092e8bbcp-6,  -0x1.b1fb19c2ee9cep-6, 0x1.de0d296a971b3p-6, -0x1.c7e2bfe179a43p-6,
    0x1.c71069b651dc8p-8,  -0x1.a2e8cad163b76p-8, 0x1.23c3b948fe2fbp-4, -0x1.1a27e8f2eb17fp-4,
    -0x1.348e3ed89452ap-4, 0x1.2bff6d32eeb1ap-4,  0x1.c4b8d24b7c8ebp-4, -0x1.b6aedc79bf1d1p-4};
static const double around_two[] = {
    0x1.992dfc9539d9bp-2,  -0x1.5fc498795de90p-4,  0x1.9dff298b2099bp-6,  -0x1.155963451e35fp-7,
    0x1.8e9b025b9af59p-9,  -0x1.2b1a505956c25p-10, 0x1.ce0fe4102fdd5p-12, -0x1.6c4b7bf5d20f5p-13,
    0x1.239987968b1c9p-14, -0x1.d843ef4ace0e2p-16, 0x1.81f132f40008ap-17, -0x1.3dc2dd575dff0p-18,
    0x1.0731b5f2d7a11p-19, -0x1.b5537c31bfe25p-21, 0x1.6da565c58027bp-22, -0x1.3b2019ac01018p-23,
    0x1.0971effb3a68ap-24, -0x1.6332af10bb92bp-26, 0x1.2c1379eab732fp-27, -0x1.127a941dbefdcp-27,
    0x1.d3cb4add508a4p-29};

static const double log2_e = 0x1.71547652b82fep+0, log2_e_low = 0x1.777d0ffda0d24p-56;
static const double ln_2 = 0x1.62e42fefa39efp-1, ln_2_low = 0x1.abc9e3b39803fp-56;
static const double pi = 0x1.921fb54442d18p+1, pi_low = 0x1.1a62633145c07p-53;

typedef struct GammaParts {
    Opnd few;     // a < 8
    TwoPart e, p; // E and P
} GammaParts;

static TwoPart where_pair(KernelWriter *w, Opnd p, TwoPart a, TwoPart b) {
    return (TwoPart){where(w, p, a.high, b.high), where(w, p, a.low, b.low)};
}

// log2 Γ(y + d) for y >= 8 and d below half a unit in the last place of y, by Stirling's formula.
static TwoPart stirling_pair(KernelWriter *w, Opnd y, Opnd d) {
    Opnd r = NEW(w, REG_64, "rcp.rn.f64", y), s = mul(w, HORNER(w, mul(w, r, r), stirling), r);
    TwoPart l = log2_pair(w, y), half = {sub(w, y, f64(0.5)), f64(0)};
    TwoPart e = pair_mul(w, half, l);
    e = pair_add(w, e,
                 pair_mul(w, (TwoPart){y, f64(0)}, (TwoPart){f64(-log2_e), f64(-log2_e_low)}));
    TwoPart rest = pair_sum(w, f64(0x1.536439a4c6efcp+0), mul(w, s, f64(log2_e)),
                            f64(-0x1.49e49a361efebp-54)); // log2 √(2π) + s·log2(e)
    e = pair_add(w, e, rest);
    // The derivative, log y - 1/(2y) - ..., corrects for d.
    Opnd slope = mul(w, r, fma3(w, r, f64(-1.0 / 12), f64(-0.5)));
    e.low = fma3(w, d, fma3(w, slope, f64(log2_e), l.high), e.low);
    return e;
}

static GammaParts gamma_parts(KernelWriter *w, Opnd a) {
    GammaParts g = {.few = is(w, "setp.lt.f64", a, f64(8))};
    Opnd more = where(w, g.few, a, f64(0)), least = where(w, g.few, f64(8), a);
    TwoPart y = pair_sum(w, least, more, f64(0));
    g.p = pair_of(w, more, f64(1));
    for (int i = 2; i < 8; i++) g.p = pair_mul(w, g.p, pair_of(w, more, f64(i)));
    g.p = where_pair(w, g.few, g.p, (TwoPart){f64(1), f64(0)});
    g.e = stirling_pair(w, y.high, y.low);
    return g;
}

// |sin(πa)| for a >= 0. |a| mod 1 is exact, and π·a has two parts.
static Opnd sine_of_turns(KernelWriter *w, Opnd a) {
    Opnd r = sub(w, a, NEW(w, REG_64, "cvt.rmi.f64.f64", a));
    r = NEW(w, REG_64, "min.f64", r, sub(w, f64(1), r));
    Opnd steep = is(w, "setp.gt.f64", r, f64(0.25)), n = where(w, steep, sub(w, f64(0.5), r), r);
    Opnd t = mul(w, n, f64(pi)), low = fma3(w, n, f64(pi), minus(w, t));
    low = fma3(w, n, f64(pi_low), low);
    w->near = true;
    Opnd s = call(w, OP_SIN, t), c = call(w, OP_COS, t);
    w->near = false;
    return where(w, steep, fma3(w, minus(w, s), low, c), fma3(w, c, low, s));
}

// π/(s·f), f = 1 or, from 8 on, a.
static TwoPart mirror(KernelWriter *w, const GammaParts *g, Opnd a, Opnd s) {
    Opnd f = where(w, g->few, f64(1), a), d = mul(w, f, s), low = fma3(w, f, s, minus(w, d));
    Opnd q = quot(w, f64(pi), d), rest = fma3(w, minus(w, q), d, f64(pi));
    rest = fma3(w, minus(w, q), low, add(w, rest, f64(pi_low)));
    return (TwoPart){q, quot(w, rest, d)};
}

static Opnd ratio(KernelWriter *w, TwoPart p) { return quot(w, p.low, p.high); }

static TwoPart log2_of_pair(KernelWriter *w, TwoPart p) {
    TwoPart l = log2_pair(w, p.high);
    l.low = fma3(w, ratio(w, p), f64(log2_e), l.low);
    return l;
}

static Opnd ln_of(KernelWriter *w, TwoPart e) { // e·log 2
    Opnd high = mul(w, e.high, f64(ln_2)), low = fma3(w, e.high, f64(ln_2), minus(w, high));
    low = fma3(w, e.low, f64(ln_2), fma3(w, e.high, f64(ln_2_low), low));
    return add(w, high, low);
}

static TwoPart negated(KernelWriter *w, TwoPart p) {
    return (TwoPart){minus(w, p.high), minus(w, p.low)};
}

static TwoPart whole_product(KernelWriter *w, const GammaParts *g, Opnd a) { // a·P, or 1
    return where_pair(w, g->few, pair_mul(w, g->p, (TwoPart){a, f64(0)}), g->p);
}

// value·(1 + low), but infinities and zeros stay.
static Opnd corrected(KernelWriter *w, Opnd value, Opnd low) {
    Opnd finite = is(w, "setp.lt.f64", value, f64(INFINITY));
    return where(w, finite, fma3(w, value, where(w, finite, low, f64(0)), value), value);
}

static Opnd log_of_small(KernelWriter *w, Opnd a) { // log Γ(a), 0 < a <= 3
    Opnd half = is(w, "setp.lt.f64", a, f64(0.5)), less = sub(w, a, f64(1));
    Opnd u = where(w, half, a, less), v = where(w, half, less, sub(w, a, f64(2)));
    Opnd table = where(w, is(w, "setp.lt.f64", a, f64(1.5)), HORNER(w, u, around_one),
                       HORNER(w, sub(w, a, f64(2.25)), around_two));
    Opnd y = mul(w, mul(w, u, v), table);
    return where(w, half, sub(w, y, call(w, OP_LOG, a)), y);
}

static Opnd log_gamma(KernelWriter *w, Opnd x, Opnd a) {
    GammaParts g = gamma_parts(w, a);
    TwoPart e = pair_add(w, g.e, negated(w, log2_of_pair(w, whole_product(w, &g, a))));
    // Above 2^58 the other terms do not count, and E might overflow.
    Opnd far = mul(w, a, sub(w, call(w, OP_LOG, a), f64(1)));
    Opnd y = where(w, is(w, "setp.gt.f64", a, f64(0x1p58)), far, ln_of(w, e));
    y = where(w, is(w, "setp.lt.f64", a, f64(3)), log_of_small(w, a), y);
    Opnd s = sine_of_turns(w, a);
    TwoPart other = pair_add(w, log2_of_pair(w, mirror(w, &g, a, s)), log2_of_pair(w, g.p));
    Opnd below = ln_of(w, pair_add(w, other, negated(w, g.e)));
    below = where(w, is(w, "setp.eq.f64", s, f64(0)), f64(INFINITY), below);
    y = where(w, is(w, "setp.le.f64", x, f64(0)), below, y);
    return where(w, is(w, "setp.eq.f64", a, f64(INFINITY)), a, y);
}

static Opnd gamma_itself(KernelWriter *w, Opnd x, Opnd a) {
    GammaParts g = gamma_parts(w, a);
    Opnd e = call(w, OP_EXP2, g.e.high);
    TwoPart p = whole_product(w, &g, a);
    Opnd y = corrected(w, quot(w, e, p.high), fma3(w, g.e.low, f64(ln_2), minus(w, ratio(w, p))));
    y = where(w, is(w, "setp.gt.f64", a, f64(172)), f64(INFINITY), y);
    // Below -150 the result is multiplied by 2^200 before it is rounded to a denormal number.
    Opnd tiny = is(w, "setp.gt.f64", g.e.high, f64(900)), s = sine_of_turns(w, a);
    e = call(w, OP_EXP2, sub(w, where(w, tiny, f64(200), f64(0)), g.e.high));
    TwoPart m = mirror(w, &g, a, s);
    Opnd low = fma3(w, g.e.low, f64(-ln_2), add(w, ratio(w, m), ratio(w, g.p)));
    Opnd below = corrected(w, mul(w, m.high, mul(w, g.p.high, e)), low);
    below = where(w, tiny, mul(w, below, f64(0x1p-200)), below);
    // It is negative between -1 and 0, positive between -2 and -1, and so on.
    Opnd whole = mul(w, NEW(w, REG_64, "cvt.rmi.f64.f64", a), f64(0.5));
    Opnd even = is(w, "setp.eq.f64", NEW(w, REG_64, "cvt.rmi.f64.f64", whole), whole);
    below = where(w, even, minus(w, below), below);
    Opnd bad = is(w, "setp.eq.f64", s, f64(0)); // at the poles
    below = where(w, bad, f64(NAN), below);
    below = where(w, is(w, "setp.eq.f64", a, f64(INFINITY)), f64(NAN), below);
    y = where(w, is(w, "setp.lt.f64", x, f64(0)), below, y);
    return where(w, is(w, "setp.eq.f64", a, f64(0)), with_sign(w, f64(INFINITY), x), y);
}

Opnd gamma_value(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd a = size_of(w, x), y = op == OP_LGAMMA ? log_gamma(w, x, a) : gamma_itself(w, x, a);
    return unless_nan(w, x, y);
}
