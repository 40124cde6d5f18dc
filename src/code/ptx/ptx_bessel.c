// Bessel functions of f64 operands. A unit below is one in the last place of the larger of the
// result and √(2/(πx)), the size of its waves: the error is at most 5 units, like that of C
// libraries, so that digits next to zeros are lost (except next to the first zeros of J0 and J1).
//
// Below 4: polynomials in x²/8 - 1. From 4 on, with s = sin x and c = cos x:
//
//     J0·√(πx) = P0·(c + s) - Q0·(s - c)/x        Y0·√(πx) = P0·(s - c) + Q0·(c + s)/x
//     J1·√(πx) = P1·(s - c) + Q1·(s + c)/x        Y1·√(πx) = Q1·(s - c)/x - P1·(s + c)
//
// where P and Q are polynomials in 16/x². The product of s + c and s - c is -cos 2x, from which the
// smaller one is computed without cancellation.
//
// Each table interpolates the function that its comment names at Chebyshev points. It was computed
// with 200 bits and rounded to f64.
#include "code/ptx/ptx_formula.h"

#include <math.h>

// J0(x)/(x² - r) and J1(x)/(x·(x² - r)), r the square of the first zero.
static const double j0_table[] = {
    -0x1.6b2948e843e2bp-4,  0x1.08d902d0bf620p-4,  -0x1.17057235d9c2bp-6,  0x1.33fa04134f0abp-9,
    -0x1.a4b2380ccc27cp-13, 0x1.87a4ac4403eadp-17, -0x1.08c62125cd7e3p-21, 0x1.0fff1f802cd60p-26,
    -0x1.b72e6575f0855p-32, 0x1.1e14059c570c4p-37, -0x1.331d4538802c4p-43, 0x1.146a209173bc4p-49,
    -0x1.a73691ea31b20p-56, 0x1.16f5edea7d556p-62, -0x1.400e3681c5c30p-69, 0x1.4258a4e1e1ea2p-76};
static const double j1_table[] = {
    -0x1.5aeded077f525p-6,  0x1.5910c675e079ap-7,  -0x1.13333a854ed90p-9,  0x1.e84c1e7be0354p-13,
    -0x1.16aa83736c816p-16, 0x1.bd76179b299ebp-21, -0x1.07cd7fb34a102p-25, 0x1.e2249b112fdefp-31,
    -0x1.5e8400924826ap-36, 0x1.9f4d2226bf34cp-42, -0x1.98d059379b635p-48, 0x1.53ba1de254658p-54,
    -0x1.e316f0ee33a9fp-61, 0x1.293efea87dcb3p-67, -0x1.3fc0ca68badcfp-74, 0x1.2f21cd2702aadp-81};
// Y0(x) - 2/π·log(x)·J0(x), and (Y1(x) - 2/π·(log(x)·J1(x) - 1/x))/x.
static const double y0_table[] = {
    0x1.1de47f3d61dbbp-1,   0x1.a1331a69b9ad2p-5,  -0x1.9d62c655f0441p-2,  0x1.3403132dcde10p-3,
    -0x1.9408055c44088p-6,  0x1.343e1fcd280ebp-9,  -0x1.36d3e4868d938p-13, 0x1.bf172600a6519p-18,
    -0x1.e2e0081a47bc2p-23, 0x1.96817b9d8912bp-28, -0x1.1273be07b306ep-33, 0x1.2ff9d22e50de0p-39,
    -0x1.193e7c4930f96p-45, 0x1.b95d7cdb8d9dbp-52, -0x1.29913d474700dp-58, 0x1.5c4c65e2cffffp-65};
static const double y1_table[] = {
    0x1.51dd34f6a80c0p-4,   0x1.369daf19b82a4p-3,  -0x1.9cc7b4993ede7p-4,  0x1.79eb3dc1c8d58p-6,
    -0x1.6fd45fc6380fap-9,  0x1.c22abaa98d924p-13, -0x1.7c6b1708d3b6fp-17, 0x1.d7d9ec1465759p-22,
    -0x1.c07376666ad3cp-27, 0x1.514dc65e0f6bap-32, -0x1.9bcb4a447478ap-38, 0x1.a051aae920839p-44,
    -0x1.625e28741e722p-50, 0x1.018088cd24c28p-56, -0x1.435678dbc0d29p-63, 0x1.62285ed1463e1p-70};
// P and Q.
static const double p0_table[] = {
    0x1.0000000000000p+0,  -0x1.1ffffffffcf2cp-8,  0x1.cb5fffdd8c352p-12, -0x1.251ed43d682b7p-13,
    0x1.84b6f0d83cb40p-14, -0x1.b775eaf1ea0e2p-14, 0x1.766acb689f5dep-13, -0x1.ad165a364707ap-12,
    0x1.21d3dbe6766ebp-10, -0x1.95bba36fd0638p-9,  0x1.0b6e44ae5a507p-7,  -0x1.38e745c1d7496p-6,
    0x1.39fd7d3aa982fp-5,  -0x1.08aca2431e35ap-4,  0x1.71637966782e7p-4,  -0x1.a54ff2a7d361bp-4,
    0x1.83333ed1f191fp-4,  -0x1.199ef5f6b019cp-4,  0x1.3c2c4fa2d5989p-5,  -0x1.07d981bdde4c2p-6,
    0x1.33dc1515dd086p-8,  -0x1.bfd3233cdf324p-11, 0x1.31729802213b0p-14};
static const double q0_table[] = {
    -0x1.ffffffffffff9p-4,  0x1.2bffffffe3ab5p-8,  -0x1.d11dff5fd61fcp-11, 0x1.ba4bfd605dbd2p-12,
    -0x1.860837fff7645p-12, 0x1.12f398aa72e97p-11, -0x1.16eb5feaf8cf8p-10, 0x1.6c4a6a4ab5695p-9,
    -0x1.0ce4b1c14b3f0p-7,  0x1.8e10aea1ef583p-6,  -0x1.0f98858ad92ddp-4,  0x1.44c858bb53e58p-3,
    -0x1.4a9cfe6df587bp-2,  0x1.196ff31477d21p-1,  -0x1.8b8b7c8c6e540p-1,  0x1.c57c17c91315dp-1,
    -0x1.a268ed1b069a9p-1,  0x1.31413ac400b02p-1,  -0x1.578b3b6fd27abp-2,  0x1.1f42286596fd0p-3,
    -0x1.4fb81edd25ae2p-5,  0x1.e9039b00ab732p-8,  -0x1.4dec9acc6ee5dp-11};
static const double p1_table[] = {
    0x1.0000000000000p+0,   0x1.dffffffffcc88p-8,  -0x1.274fffedd819ep-11, 0x1.5a6a432d1dc6cp-13,
    -0x1.b88b8ec095444p-14, 0x1.e5c0509c1bae7p-14, -0x1.97285ae3dac78p-13, 0x1.cda4589b54443p-12,
    -0x1.35c0a2b6f702bp-10, 0x1.afed88ef63618p-9,  -0x1.1c0a45e6c5e7fp-7,  0x1.4bdef7ecba362p-6,
    -0x1.4cb9c6b21f992p-5,  0x1.184c8cccd3228p-4,  -0x1.8707cd44005fap-4,  0x1.bddc1d51feb52p-4,
    -0x1.99aa758e6a52ap-4,  0x1.29e86766be009p-4,  -0x1.4e694457633b1p-5,  0x1.1709b44d2c0f1p-6,
    -0x1.458d1882f842ep-8,  0x1.d985def18e55bp-11, -0x1.42f462bd8ba47p-14};
static const double q1_table[] = {
    0x1.7fffffffffffep-2,  -0x1.a3ffffffe22e8p-8,  0x1.1c3cffabb8278p-10, -0x1.fe57b78f42d7bp-12,
    0x1.b3ec03b5a9692p-12, -0x1.2d2b281b876fcp-11, 0x1.2d6a720088358p-10, -0x1.8631d6c870f98p-9,
    0x1.1e71477ac664ep-7,  -0x1.a6ad13ccb498ap-6,  0x1.1fd5a9749d2b2p-4,  -0x1.57cb76b90ad1ap-3,
    0x1.5db3044d2f6fep-2,  -0x1.2987b2d42f640p-1,  0x1.a202426d36444p-1,  -0x1.df1c280bb4f81p-1,
    0x1.b9f67bf7f3101p-1,  -0x1.42630bcf68057p-1,  0x1.6ac77703034fcp-2,  -0x1.2f4fb1c526bd2p-3,
    0x1.6273550f61417p-5,  -0x1.022193fdb8d6bp-7,  0x1.60828ed09d5a5p-11};
// The squares of the first zeros of J0 and of J1, each as a sum of two numbers.
static const double zero[2][2] = {{0x1.721fb80462bbbp+2, 0x1.db60c816c15d3p-52},
                                  {0x1.d5d2b4189822cp+3, -0x1.c6a0d245172bap-54}};

static const double two_by_pi = 0x1.45f306dc9c883p-1;

static Opnd j_near(KernelWriter *w, int order, Opnd a) {
    Opnd z = mul(w, a, a), low = fma3(w, a, a, minus(w, z));
    Opnd u = fma3(w, z, f64(1.0 / 8), f64(-1));
    Opnd y = order ? HORNER(w, u, j1_table) : HORNER(w, u, j0_table);
    Opnd from = add(w, sub(w, z, f64(zero[order][0])), sub(w, low, f64(zero[order][1])));
    y = mul(w, y, from);
    return order ? mul(w, y, a) : y;
}

static Opnd y_near(KernelWriter *w, int order, Opnd a) {
    Opnd u = fma3(w, mul(w, a, a), f64(1.0 / 8), f64(-1)), j = j_near(w, order, a);
    Opnd log = mul(w, call(w, OP_LOG, a), f64(two_by_pi));
    if (!order) return fma3(w, log, j, HORNER(w, u, y0_table));
    Opnd rest = fma3(w, log, j, mul(w, a, HORNER(w, u, y1_table)));
    return sub(w, rest, quot(w, f64(two_by_pi), a));
}

static Opnd far_value(KernelWriter *w, bool second, int order, Opnd a) {
    Opnd r = NEW(w, REG_64, "rcp.rn.f64", a), u = mul(w, mul(w, r, f64(16)), r);
    Opnd p = order ? HORNER(w, u, p1_table) : HORNER(w, u, p0_table);
    Opnd q = mul(w, order ? HORNER(w, u, q1_table) : HORNER(w, u, q0_table), r);
    Opnd s = call(w, OP_SIN, a), c = call(w, OP_COS, a), sum = add(w, s, c), less = sub(w, s, c);
    Opnd both = minus(w, call(w, OP_COS, add(w, a, a)));
    both =
        where(w, is(w, "setp.gt.f64", a, f64(0x1p1000)), mul(w, sum, less), both); // 2a overflows
    Opnd apart = is(w, "setp.lt.f64", mul(w, s, c), f64(0));
    Opnd small = quot(w, both, where(w, apart, less, sum));
    sum = where(w, apart, small, sum);
    less = where(w, apart, less, small);
    bool straight = second == (order == 1); // P multiplies the sum s + c
    Opnd main = mul(w, p, straight ? sum : less), rest = mul(w, q, straight ? less : sum), y;
    if (second)
        y = order ? sub(w, rest, main) : add(w, main, rest);
    else
        y = order ? add(w, main, rest) : sub(w, main, rest);
    y = quot(w, y, mul(w, root(w, a), f64(0x1.c5bf891b4ef6bp+0))); // √a·√π
    return where(w, is(w, "setp.eq.f64", a, f64(INFINITY)), f64(0), y);
}

Opnd bessel_value(KernelWriter *w, bool second, int order, Opnd x) {
    Opnd a = size_of(w, x), near = second ? y_near(w, order, a) : j_near(w, order, a);
    Opnd y = where(w, is(w, "setp.lt.f64", a, f64(4)), near, far_value(w, second, order, a));
    if (second) {
        y = where(w, is(w, "setp.eq.f64", x, f64(0)), f64(-INFINITY), y);
        y = where(w, is(w, "setp.lt.f64", x, f64(0)), f64(NAN), y);
    } else if (order) { // J1 is odd
        Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
        y = NEW(w, REG_64, "xor.b64", y, sign);
    }
    return unless_nan(w, x, y);
}
