// op_eval: the arithmetic of the language, one operation at a time.
//
// Integers are computed in 64 bits and wrap to their width. Floats of type f32 (f16 and bf16
// compute as f32) are computed in float, one rounding per operation. The functions of class MATH
// are computed in double for every float type; rounding that to f32 gives the correctly rounded
// value almost always, since double has 29 bits to spare. The exceptions are defined by their
// rounding: fma and nextafter are those of the type.
#include "program/expr.h"

#include "base/bug.h"
#include "base/checked.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

// --- Integers ----------------------------------------------------------------------------------

static uint64_t div_u64(uint64_t a, uint64_t b) { return b ? a / b : 0; }

static uint64_t mod_u64(uint64_t a, uint64_t b) { return b ? a % b : 0; }

static int64_t compare_int(ExprOp op, bool less, bool equal) {
    switch (op) {
    case OP_LT: return less;
    case OP_LE: return less || equal;
    case OP_GT: return !less && !equal;
    case OP_GE: return !less;
    case OP_EQ: return equal;
    default: return !equal;
    }
}

static int64_t eval_int(ExprOp op, Type type, int64_t a, int64_t b) {
    bool is_unsigned = type_info[type].class != CLASS_INT;
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    uint64_t count = y & (uint64_t)(type_info[type].bits - 1);
    bool less = is_unsigned ? x < y : a < b;
    switch (op) {
    case OP_ADD: return (int64_t)(x + y);
    case OP_SUB: return (int64_t)(x - y);
    case OP_MUL: return (int64_t)(x * y);
    case OP_DIV: return is_unsigned ? (int64_t)div_u64(x, y) : floor_div(a, b);
    case OP_MOD: return is_unsigned ? (int64_t)mod_u64(x, y) : floor_mod(a, b);
    case OP_MIN: return less ? a : b;
    case OP_MAX: return less ? b : a;
    case OP_NEG: return (int64_t)(0 - x);
    case OP_ABS: return !is_unsigned && a < 0 ? (int64_t)(0 - x) : a;
    case OP_RELU: return !is_unsigned && a < 0 ? 0 : a;
    case OP_BITAND: return (int64_t)(x & y);
    case OP_BITOR: return (int64_t)(x | y);
    case OP_BITXOR: return (int64_t)(x ^ y);
    case OP_SHL: return (int64_t)(x << count);
    case OP_SHR: return is_unsigned ? (int64_t)(x >> count) : a >> count;
    default: return compare_int(op, less, a == b);
    }
}

// --- Floats ------------------------------------------------------------------------------------

// NaN wins; -0 < +0.
static double min_f(double a, double b) {
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double max_f(double a, double b) {
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

// Floor modulo: the sign of the divisor, like the integers'. Exact but for the last addition.
static double mod_f64(double a, double b) {
    double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static float mod_f32(float a, float b) {
    float r = fmodf(a, b);
    if (r == 0) return copysignf(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static double arith_f64(ExprOp op, double a, double b) {
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_MOD: return mod_f64(a, b);
    case OP_MIN: return min_f(a, b);
    case OP_MAX: return max_f(a, b);
    case OP_NEG: return -a;
    case OP_ABS: return fabs(a);
    case OP_RELU: return max_f(a, 0);
    default: bug("%s of floats", op_info[op].name);
    }
}

static double arith_f32(ExprOp op, float a, float b) {
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_MOD: return mod_f32(a, b);
    default: return arith_f64(op, a, b); // operations that do not round
    }
}

static bool compare_f(ExprOp op, double a, double b) {
    switch (op) {
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    case OP_GE: return a >= b;
    case OP_EQ: return a == b;
    default: return a != b;
    }
}

// --- Functions ---------------------------------------------------------------------------------

// cos(πx) and sin(πx): the argument is reduced exactly before π comes in.
static double cospi_f64(double x) {
    double r = fabs(fmod(x, 2));
    if (r > 1) r = 2 - r;
    if (r <= 0.25) return cos(pi * r);
    return r < 0.75 ? sin(pi * (0.5 - r)) : -cos(pi * (1 - r));
}

static double sinpi_f64(double x) {
    double r = fabs(fmod(x, 2)), sign = copysign(1, x);
    if (r > 1) {
        r = 2 - r;
        sign = -sign;
    }
    if (r > 0.5) r = 1 - r;
    return sign * (r <= 0.25 ? sin(pi * r) : cos(pi * (0.5 - r)));
}

// No branch overflows: exp sees a number that is not positive.
static double sigmoid_f64(double x) {
    if (x >= 0) return 1 / (1 + exp(-x));
    double e = exp(x);
    return e / (1 + e);
}

static double norm(const Value *v, int n, double scale) {
    double r = fabs(v[0].f * scale);
    for (int i = 1; i < n; i++) r = hypot(r, v[i].f * scale);
    return r;
}

// 1 / norm; scaled down where the norm itself might overflow although its reciprocal is fine.
static double rnorm(const Value *v, int n) {
    bool large = false;
    for (int i = 0; i < n; i++) large |= fabs(v[i].f) >= 0x1p1000;
    double scale = large ? 0x1p-100 : 1;
    return 1 / norm(v, n, scale) * scale;
}

static double lgamma_f64(double x) {
    int sign; // lgamma would leave it in a global
    return lgamma_r(x, &sign);
}

// fmin and fmax: a NaN is a missing value.
static double fmin_f(double a, double b) { return isnan(a) ? b : isnan(b) ? a : min_f(a, b); }

static double fmax_f(double a, double b) { return isnan(a) ? b : isnan(b) ? a : max_f(a, b); }

static double math_f64(ExprOp op, const Value *v) {
    double a = v[0].f;
    switch (op) {
    case OP_ACOS: return acos(a);
    case OP_ACOSH: return acosh(a);
    case OP_ASIN: return asin(a);
    case OP_ASINH: return asinh(a);
    case OP_ATAN: return atan(a);
    case OP_ATANH: return atanh(a);
    case OP_CBRT: return cbrt(a);
    case OP_CEIL: return ceil(a);
    case OP_COS: return cos(a);
    case OP_COSH: return cosh(a);
    case OP_COSPI: return cospi_f64(a);
    case OP_ERF: return erf(a);
    case OP_ERFC: return erfc(a);
    case OP_EXP: return exp(a);
    case OP_EXP10: return pow(10, a);
    case OP_EXP2: return exp2(a);
    case OP_EXPM1: return expm1(a);
    case OP_FABS: return fabs(a);
    case OP_FLOOR: return floor(a);
    case OP_J0: return j0(a);
    case OP_J1: return j1(a);
    case OP_LGAMMA: return lgamma_f64(a);
    case OP_LOG: return log(a);
    case OP_LOG10: return log10(a);
    case OP_LOG1P: return log1p(a);
    case OP_LOG2: return log2(a);
    case OP_LOGB: return logb(a);
    case OP_RCBRT: return 1 / cbrt(a);
    case OP_RECIP: return 1 / a;
    case OP_ROUND: return round(a);
    case OP_RSQRT: return 1 / sqrt(a);
    case OP_SIGMOID: return sigmoid_f64(a);
    case OP_SIN: return sin(a);
    case OP_SINH: return sinh(a);
    case OP_SINPI: return sinpi_f64(a);
    case OP_SQRT: return sqrt(a);
    case OP_TAN: return tan(a);
    case OP_TANH: return tanh(a);
    case OP_TGAMMA: return tgamma(a);
    case OP_TRUNC: return trunc(a);
    case OP_Y0: return y0(a);
    case OP_Y1: return y1(a);
    case OP_ATAN2: return atan2(a, v[1].f);
    case OP_COPYSIGN: return copysign(a, v[1].f);
    case OP_FDIM: return fdim(a, v[1].f);
    case OP_FDIVIDE: return a / v[1].f;
    case OP_FMAX: return fmax_f(a, v[1].f);
    case OP_FMIN: return fmin_f(a, v[1].f);
    case OP_FMOD: return fmod(a, v[1].f);
    case OP_HYPOT: return hypot(a, v[1].f);
    case OP_NEXTAFTER: return nextafter(a, v[1].f);
    case OP_POW: return pow(a, v[1].f);
    case OP_REMAINDER: return remainder(a, v[1].f);
    case OP_RHYPOT: return rnorm(v, 2);
    case OP_FMA: return fma(a, v[1].f, v[2].f);
    case OP_NORM3D: return norm(v, 3, 1);
    case OP_RNORM3D: return rnorm(v, 3);
    case OP_NORM4D: return norm(v, 4, 1);
    case OP_RNORM4D: return rnorm(v, 4);
    default: bug("%s is no function", op_info[op].name);
    }
}

static double math_f32(ExprOp op, const Value *v) {
    float a = (float)v[0].f;
    if (op == OP_FMA) return fmaf(a, (float)v[1].f, (float)v[2].f);
    if (op == OP_NEXTAFTER) return nextafterf(a, (float)v[1].f);
    return (float)math_f64(op, v);
}

// --- All of it ---------------------------------------------------------------------------------

static Value eval_float(ExprOp op, Type type, const Value *arg) {
    bool single = type_compute(type) == TYPE_F32;
    double a = arg[0].f, b = op_info[op].arity > 1 ? arg[1].f : 0;
    switch (op_info[op].class) {
    case OP_COMPARE: return (Value){.i = compare_f(op, a, b)};
    case OP_MATH: return (Value){.f = single ? math_f32(op, arg) : math_f64(op, arg)};
    default: return (Value){.f = single ? arith_f32(op, (float)a, (float)b) : arith_f64(op, a, b)};
    }
}

Value op_eval(ExprOp op, Type type, const Value *arg) {
    switch (op) {
    case OP_AND: return (Value){.i = arg[0].i && arg[1].i};
    case OP_OR: return (Value){.i = arg[0].i || arg[1].i};
    case OP_NOT: return (Value){.i = !arg[0].i};
    case OP_SELECT: return arg[0].i ? arg[1] : arg[2];
    case OP_CAST: bug("a cast has two types: type_convert");
    default: break;
    }
    if (type_is_float(type)) return eval_float(op, type, arg);
    Value v = {.i = eval_int(op, type, arg[0].i, op_info[op].arity > 1 ? arg[1].i : 0)};
    return op_info[op].class == OP_COMPARE ? v : type_round(type, v);
}

static bool eval_op(const Expr *e, const int64_t *iters, Value *out) {
    Value v[4];
    if (!expr_eval(e->arg[0], iters, &v[0])) return false;
    switch (e->op) {
    case OP_SELECT: return expr_eval(e->arg[v[0].i ? 1 : 2], iters, out);
    case OP_AND:
    case OP_OR:
        *out = v[0];
        return (v[0].i != 0) == (e->op == OP_OR) || expr_eval(e->arg[1], iters, out);
    case OP_CAST: *out = type_convert(e->type, e->arg[0]->type, v[0]); return true;
    default: break;
    }
    for (int i = 1; i < e->n; i++)
        if (!expr_eval(e->arg[i], iters, &v[i])) return false;
    *out = op_eval(e->op, e->arg[0]->type, v);
    return true;
}

bool expr_eval(const Expr *e, const int64_t *iters, Value *out) {
    switch (e->kind) {
    case EXPR_CONST: *out = e->value; return true;
    case EXPR_INDEX:
        return !e->index->has_read && affine_eval(e->index, iters, NULL, NULL, NULL, &out->i);
    case EXPR_READ: return false;
    default: return eval_op(e, iters, out);
    }
}
