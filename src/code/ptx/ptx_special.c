// Error function, gamma and Bessel functions, in f64. The error of erf and erfc is at most 4 units
// in the last place of f64; the formulas of the other functions here are accurate for operands and
// results in f32. For f64 operands ptx_gamma.c and ptx_bessel.c have longer ones.
//
// Each table interpolates the function that its comment names at Chebyshev points. It was computed
// with 200 bits and rounded to f64.
#include "code/ptx/ptx_formula.h"

#include "base/bug.h"

#include <math.h>

// --- Error function ------------------------------------------------------------------------------

// erf(x)/x - 1 in x², x² <= 1/4.
static const double erf_small[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b29p-4,  -0x1.b82ce3127f739p-6,
    0x1.565bcd0aa6349p-8,  -0x1.c02db23d41138p-11, 0x1.f9a2a6635fe79p-14, -0x1.f4bb9f7301dedp-17,
    0x1.b776442df3041p-20, -0x1.39fb524e9c1f7p-23};
// exp(a²)·erfc(a)·(1 + 2a) in (a - 4)/(a + 4), 1/2 <= a <= 28.
static const double erfc_scaled[] = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a28ep-3,  0x1.f7f5df66fd76dp-7,   0x1.16ecefcfa52b5p-4,
    -0x1.9ddb23c3e8e00p-4,  0x1.7fee004e14c37p-4,   -0x1.0fb06dfe4e4f9p-4,  0x1.3079edf61e7a1p-5,
    -0x1.09623883f080cp-6,  0x1.49c672aa08182p-8,   -0x1.8d4a9b1376eaep-11, -0x1.a1df44d0d357ap-13,
    0x1.3be055036ec36p-13,  -0x1.9954dbbbdf343p-16, -0x1.788966f85ff88p-17, 0x1.7ef4d531cf830p-18,
    0x1.3abf792a3125dp-22,  -0x1.b7f86449a0aa8p-21, 0x1.43dc50b7baccdp-24,  0x1.bb7be885c5a0bp-24,
    -0x1.3c396538d8d44p-26, -0x1.4ba5c49bc26a7p-27, 0x1.0eff5654f9fd0p-29};

// erfc(a) for a >= 1/2: exp(-a²) times a slowly varying function. The rounding errors of a² and 1 +
// 2a are corrected at the end.
static Opnd erfc_far(KernelWriter *w, Opnd a) {
    a = NEW(w, REG_64, "min.f64", a, f64(28));
    Opnd t = quot(w, sub(w, a, f64(4)), add(w, a, f64(4))), two = add(w, a, a);
    Opnd d = add(w, two, f64(1)), r = NEW(w, REG_64, "rcp.rn.f64", d);
    Opnd lost = where(w, is(w, "setp.gt.f64", two, f64(1)), sub(w, f64(1), sub(w, d, two)),
                      sub(w, two, sub(w, d, f64(1))));
    Opnd scaled = quot(w, HORNER(w, t, erfc_scaled), d);
    Opnd square = mul(w, a, a), low = fma3(w, a, a, minus(w, square));
    Opnd y = mul(w, call(w, OP_EXP, minus(w, square)), scaled);
    return fma3(w, minus(w, y), fma3(w, lost, r, low), y);
}

static Opnd error_function(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd a = size_of(w, x), near = is(w, "setp.lt.f64", a, f64(0.5));
    Opnd small = fma3(w, HORNER(w, mul(w, x, x), erf_small), x, x), far = erfc_far(w, a), y;
    if (op == OP_ERF) {
        y = where(w, near, small, with_sign(w, sub(w, f64(1), far), x));
    } else {
        Opnd negative = is(w, "setp.lt.f64", x, f64(0));
        far = where(w, negative, sub(w, f64(2), far), far);
        y = where(w, near, sub(w, f64(1), small), far);
    }
    return unless_nan(w, x, y);
}

// --- Gamma function ------------------------------------------------------------------------------

// log Γ(x)/((x - 1)(x - 2)) in x - 2, 1 <= x <= 3.
static const double lgamma_near[] = {
    0x1.b0ee6072089dcp-2,   -0x1.9ae6509e9fd7cp-4,  0x1.0e0c9df674be1p-5,  -0x1.95ce2242146a0p-7,
    0x1.4797445935898p-8,   -0x1.14511e25b378fp-9,  0x1.dfed6270bc3a7p-11, -0x1.a96bc3b09eb2cp-12,
    0x1.7eaefe6399f08p-13,  -0x1.5c600770f13a3p-14, 0x1.427805e48b179p-15, -0x1.2a830eb83959fp-16,
    0x1.ffd331405a2f6p-18,  -0x1.ddf1b90f2ee8dp-19, 0x1.5c7d113658cffp-19, -0x1.4aba041cf173cp-20,
    -0x1.afbc5c9894118p-23, 0x1.a98f4de8d84cdp-24,  0x1.5978569ac24fcp-22, -0x1.4b4cd7e8c6cabp-23};

// log Γ(y) for y >= 8, by Stirling's series.
static Opnd stirling(KernelWriter *w, Opnd y) {
    static const double series[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                    1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    Opnd r = NEW(w, REG_64, "rcp.rn.f64", y), log = call(w, OP_LOG, y);
    Opnd sum = mul(w, HORNER(w, mul(w, r, r), series), r);
    sum = add(w, sum, f64(0.91893853320467274));
    return add(w, fma3(w, sub(w, y, f64(0.5)), log, minus(w, y)), sum);
}

// log Γ(a), a > 0. Below 1 it uses Γ(a + 1) = a·Γ(a); up to 3 the table, whose factors contain the
// zeros; from 3 to 8 Stirling's series of a + 5.
static Opnd log_gamma(KernelWriter *w, Opnd a) {
    Opnd one = f64(1), below = is(w, "setp.lt.f64", a, one);
    Opnd x = where(w, below, add(w, a, one), a), u = sub(w, x, f64(2));
    Opnd near = mul(w, mul(w, sub(w, x, one), u), HORNER(w, u, lgamma_near));
    near = where(w, below, sub(w, near, call(w, OP_LOG, a)), near);
    Opnd some = is(w, "setp.lt.f64", a, f64(8)), product = a;
    for (int i = 1; i < 5; i++) product = mul(w, product, add(w, a, f64(i)));
    product = where(w, some, product, one);
    Opnd far = stirling(w, where(w, some, add(w, a, f64(5)), a));
    far = sub(w, far, call(w, OP_LOG, product));
    far = where(w, is(w, "setp.eq.f64", a, f64(INFINITY)), a, far);
    return where(w, is(w, "setp.lt.f64", a, f64(3)), near, far);
}

// Γ(-a) = -π/(a·sin(πa)·Γ(a)): the sine determines the signs at and between poles.
static Opnd gamma_of(KernelWriter *w, ExprOp op, Opnd x) {
    Opnd a = size_of(w, x), log = log_gamma(w, a), negative = is(w, "setp.lt.f64", x, f64(0));
    Opnd turn = mul(w, x, formula_value(w, OP_SINPI, false, &a));
    Opnd mirror = quot(w, f64(3.14159265358979324), turn), y;
    if (op == OP_LGAMMA) {
        Opnd other = sub(w, call(w, OP_LOG, size_of(w, mirror)), log);
        other = where(w, is(w, "setp.eq.f64", turn, f64(0)), f64(INFINITY), other);
        y = where(w, negative, other, log);
        y = where(w, is(w, "setp.eq.f64", a, f64(INFINITY)), a, y);
    } else {
        Opnd other = mul(w, mirror, call(w, OP_EXP, minus(w, log)));
        other = where(w, is(w, "setp.eq.f64", turn, f64(0)), f64(NAN), other);
        y = where(w, negative, other, call(w, OP_EXP, log));
        y = where(w, is(w, "setp.eq.f64", x, f64(-INFINITY)), f64(NAN), y);
        y = where(w, is(w, "setp.eq.f64", a, f64(0)), with_sign(w, f64(INFINITY), x), y);
    }
    return unless_nan(w, x, y);
}

// --- Bessel functions ----------------------------------------------------------------------------
//
// Below 8: polynomials in x²/32 - 1. For J, factors with the first zeros are separated, so that it
// is accurate next to them. From 8 on, with s = sin x and c = cos x:
//
//     J0·√(πx) = P0·(c + s) - Q0·(s - c)/x        Y0·√(πx) = P0·(s - c) + Q0·(c + s)/x
//     J1·√(πx) = P1·(s - c) + Q1·(s + c)/x        Y1·√(πx) = Q1·(s - c)/x - P1·(s + c)
//
// where P and Q are polynomials in 64/x².

// J0(x)/((x² - r)(x² - s)) and J1(x)/(x·(x² - r)(x² - s)), r and s squares of the first zeros.
static const double j0_near[] = {
    0x1.2bc29174dd587p-10, -0x1.15d87e4b8d5b1p-9,  0x1.99e65104a68bdp-10, -0x1.5059ea69f58a2p-11,
    0x1.6409a6fd7bc97p-13, -0x1.08db6a2de2780p-15, 0x1.250f5378fba0dp-18, -0x1.f633ea85aeaf4p-22,
    0x1.577f68f90c28cp-25, -0x1.801f7f897bcc4p-29, 0x1.65eb678d1386cp-33, -0x1.1a4d197e0e361p-37,
    0x1.7f85770d30192p-42, -0x1.c1a4da88b6196p-47};
static const double j1_near[] = {
    0x1.98ec1eee7c01ap-13, -0x1.1adb1329ed86fp-12, 0x1.4c9bd11c0aa35p-13, -0x1.c5a7fc38dd1d2p-15,
    0x1.9ac7788fbdf53p-17, -0x1.0af8bb9889c30p-19, 0x1.06438a691a3b7p-22, -0x1.941a82673c992p-26,
    0x1.f6297a8912d60p-30, -0x1.0137e041afe88p-33, 0x1.ba3eacfd61b44p-38, -0x1.43c19bc2ec2b6p-42,
    0x1.9a2b2823473f9p-47, -0x1.c2bffa9dfe96ap-52};
// Y0(x) - 2/π·log(x)·J0(x), and (Y1(x) - 2/π·(log(x)·J1(x) - 1/x))/x.
static const double y0_near[] = {
    -0x1.876cb72f1c7ebp-2,  -0x1.a828bfbfdc936p-1, 0x1.a5a81d661f788p+0,   0x1.272bb3b608b42p-3,
    -0x1.13da2b14a486ep+0,  0x1.5827981135a27p-1,  -0x1.c06cc647f6a9dp-3,  0x1.7bd6bf2ce921bp-5,
    -0x1.cc70601236722p-8,  0x1.a6a8c6c98385bp-11, -0x1.31537c5c91eedp-14, 0x1.651b8eda081b1p-18,
    -0x1.5995ab83d6874p-22, 0x1.1998aad3b2e5ap-26, -0x1.880052e1acd53p-31, 0x1.d7ca9aa7b0e67p-36,
    -0x1.f1a7705cf8efcp-41, 0x1.ccbf52cb5a567p-46};
static const double y1_near[] = {
    0x1.21d516f81acf6p-4,   -0x1.f26fddceafd0ep-3, 0x1.7edab31507d03p-6,   0x1.e16d7a1d07b70p-3,
    -0x1.923952d7c42a6p-3,  0x1.41bb6917b15dbp-4,  -0x1.4198f92a31f29p-6,  0x1.c097bb98fdbc4p-9,
    -0x1.d1604f9ccaf30p-12, 0x1.76c164b8551b8p-15, -0x1.e35169de28d75p-19, 0x1.ff34fc771f995p-23,
    -0x1.c3f1d9451c511p-27, 0x1.532f6866c9544p-31, -0x1.b5d3615dacbddp-36, 0x1.eb637888e7b3ap-41,
    -0x1.e583582591c40p-46, 0x1.a7031bc8588e9p-51};
static const double bessel_p0[] = {
    0x1.ffffffffffff8p-1,  -0x1.1fffffff3116ep-10, 0x1.cb5ff92e621dap-16, -0x1.251c0f5051902p-19,
    0x1.841e704f0d434p-22, -0x1.adbde9cb89ee6p-24, 0x1.43cb915eaaf94p-25, -0x1.f8c1882f46116p-27,
    0x1.2acab0377fb2ap-28, -0x1.660c6058be7f6p-31};
static const double bessel_q0[] = {
    -0x1.ffffffffffe19p-4,  0x1.2bfffffa07703p-10, -0x1.d11de6c2a0c37p-15, 0x1.ba41c57566188p-18,
    -0x1.84eddab3b97d6p-20, 0x1.09e78faebed8cp-21, -0x1.ced03fd0ff1b8p-23, 0x1.88d14de8d285cp-24,
    -0x1.e74bcb3acb3f7p-26, 0x1.2ba8b2f792fbdp-28};
static const double bessel_p1[] = {
    0x1.0000000000004p+0,   0x1.dfffffff22e08p-10, -0x1.274ffc5b5aea0p-15, 0x1.5a674d8ace116p-19,
    -0x1.b7e89d6636d91p-22, 0x1.db5ee92a6bfcep-24, -0x1.611e0f0fbb380p-25, 0x1.1125976a1a929p-26,
    -0x1.422060598f50dp-28, 0x1.813841cbbb5ccp-31};
static const double bessel_q1[] = {
    0x1.7ffffffffff7ep-2,  -0x1.a3fffff9a335ap-10, 0x1.1c3cf28de7ac5p-14, -0x1.fe4cd3f06e81cp-18,
    0x1.b2bf2e176d689p-20, -0x1.23886eb136823p-21, 0x1.f5ac3aa052147p-23, -0x1.a73525765f2abp-24,
    0x1.05ab270a30dfbp-25, -0x1.4145eea637f3bp-28};
// The squares of the first two zeros of J0 and of J1, each as a sum of two numbers.
static const double zeros[2][2][2] = {
    {{0x1.721fb80462bbbp+2, 0x1.db60c816c15d3p-52}, {0x1.e78a4a621dd6fp+4, -0x1.10d7c5048826bp-52}},
    {{0x1.d5d2b4189822cp+3, -0x1.c6a0d245172bap-54},
     {0x1.89bf66072a432p+5, 0x1.25355661cb79cp-51}}};

static Opnd j_near(KernelWriter *w, int order, Opnd a) {
    Opnd z = mul(w, a, a), u = fma3(w, z, f64(1.0 / 32), f64(-1));
    Opnd y = order ? HORNER(w, u, j1_near) : HORNER(w, u, j0_near);
    for (int i = 0; i < 2; i++) {
        const double *r = zeros[order][i];
        y = mul(w, y, sub(w, sub(w, z, f64(r[0])), f64(r[1])));
    }
    return order ? mul(w, y, a) : y;
}

static Opnd y_near(KernelWriter *w, int order, Opnd a) {
    Opnd z = mul(w, a, a), u = fma3(w, z, f64(1.0 / 32), f64(-1)), j = j_near(w, order, a);
    Opnd log = call(w, OP_LOG, a), two = f64(0.63661977236758134);
    if (!order) return fma3(w, mul(w, two, log), j, HORNER(w, u, y0_near));
    Opnd main = fma3(w, log, j, minus(w, NEW(w, REG_64, "rcp.rn.f64", a)));
    return fma3(w, two, main, mul(w, a, HORNER(w, u, y1_near)));
}

static Opnd bessel_far(KernelWriter *w, bool second, int order, Opnd a) {
    Opnd r = NEW(w, REG_64, "rcp.rn.f64", a), u = mul(w, mul(w, r, f64(64)), r);
    Opnd p = order ? HORNER(w, u, bessel_p1) : HORNER(w, u, bessel_p0);
    Opnd q = mul(w, order ? HORNER(w, u, bessel_q1) : HORNER(w, u, bessel_q0), r);
    Opnd s = call(w, OP_SIN, a), c = call(w, OP_COS, a);
    Opnd sum = add(w, s, c), less = sub(w, s, c);
    bool straight = second == (order == 1); // P multiplies the sum s + c
    Opnd main = mul(w, p, straight ? sum : less), rest = mul(w, q, straight ? less : sum), y;
    if (second)
        y = order ? sub(w, rest, main) : add(w, main, rest);
    else
        y = order ? add(w, main, rest) : sub(w, main, rest);
    y = quot(w, y, root(w, mul(w, a, f64(3.14159265358979324))));
    return where(w, is(w, "setp.eq.f64", a, f64(INFINITY)), f64(0), y);
}

static Opnd bessel(KernelWriter *w, bool second, int order, Opnd x) {
    Opnd a = size_of(w, x), near = second ? y_near(w, order, a) : j_near(w, order, a);
    Opnd y = where(w, is(w, "setp.lt.f64", a, f64(8)), near, bessel_far(w, second, order, a));
    if (second) {
        y = where(w, is(w, "setp.eq.f64", x, f64(0)), f64(-INFINITY), y);
        y = where(w, is(w, "setp.lt.f64", x, f64(0)), f64(NAN), y);
    } else if (order) { // J1 is odd
        Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
        y = NEW(w, REG_64, "xor.b64", y, sign);
    }
    return unless_nan(w, x, y);
}

static Opnd bessel_of(KernelWriter *w, bool second, int order, bool wide, Opnd x) {
    return wide ? bessel_value(w, second, order, x) : bessel(w, second, order, x);
}

Opnd special_value(KernelWriter *w, ExprOp op, bool wide, const Opnd *x) {
    switch (op) {
    case OP_ERF:
    case OP_ERFC: return error_function(w, op, x[0]);
    case OP_LGAMMA:
    case OP_TGAMMA: return wide ? gamma_value(w, op, x[0]) : gamma_of(w, op, x[0]);
    case OP_J0: return bessel_of(w, false, 0, wide, x[0]);
    case OP_J1: return bessel_of(w, false, 1, wide, x[0]);
    case OP_Y0: return bessel_of(w, true, 0, wide, x[0]);
    case OP_Y1: return bessel_of(w, true, 1, wide, x[0]);
    default: bug("formula of %s", op_info[op].name);
    }
}
