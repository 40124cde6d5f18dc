// Arithmetic in f64 for the functions that are expressed as formulas: ptx_formula.c, and
// ptx_special.c with ptx_gamma.c and ptx_bessel.c.
#ifndef LW_CODE_PTX_PTX_FORMULA_H
#define LW_CODE_PTX_PTX_FORMULA_H

#include "code/ptx/ptx_impl.h"

// --- ptx_func.c ----------------------------------------------------------------------------------
// Prints a function for which math_has holds as instructions. Its operands have the type `type`.
Opnd func_expand(KernelWriter *w, ExprOp op, Type type, const Opnd *args);
Opnd func_fmod_far(KernelWriter *w, Opnd a, Opnd b); // |a| mod |b|, both finite, b not 0

// --- ptx_formula.c, ptx_special.c ----------------------------------------------------------------
// Functions of f64 operands. With `wide` the error is at most 4 units in the last place of f64 for
// all operands. Otherwise operands and results are f32 values, and the error is far below one unit
// in the last place of f32.
bool formula_has(ExprOp op);
Opnd formula_value(KernelWriter *w, ExprOp op, bool wide, const Opnd *x);
Opnd special_value(KernelWriter *w, ExprOp op, bool wide, const Opnd *x);
Opnd gamma_value(KernelWriter *w, ExprOp op, Opnd x);               // wide
Opnd bessel_value(KernelWriter *w, bool second, int order, Opnd x); // wide

// --- Helpers -------------------------------------------------------------------------------------

static inline Opnd u64(uint64_t x) { return lit(REG_64, x); }
static inline Opnd f64(double x) { return lit_value(TYPE_F64, (Value){.f = x}); }
static inline Opnd func_register(KernelWriter *w, Opnd v) { return v.literal ? moved(w, v) : v; }
static inline Opnd add(KernelWriter *w, Opnd a, Opnd b) {
    return NEW(w, REG_64, "add.rn.f64", a, b);
}
static inline Opnd sub(KernelWriter *w, Opnd a, Opnd b) {
    return NEW(w, REG_64, "sub.rn.f64", a, b);
}
static inline Opnd mul(KernelWriter *w, Opnd a, Opnd b) {
    return NEW(w, REG_64, "mul.rn.f64", a, b);
}
static inline Opnd quot(KernelWriter *w, Opnd a, Opnd b) {
    return NEW(w, REG_64, "div.rn.f64", a, b);
}
static inline Opnd fma3(KernelWriter *w, Opnd a, Opnd b, Opnd c) {
    return NEW(w, REG_64, "fma.rn.f64", a, b, c);
}
static inline Opnd root(KernelWriter *w, Opnd a) { return NEW(w, REG_64, "sqrt.rn.f64", a); }
static inline Opnd size_of(KernelWriter *w, Opnd a) { return NEW(w, REG_64, "abs.f64", a); }
static inline Opnd minus(KernelWriter *w, Opnd a) { return NEW(w, REG_64, "neg.f64", a); }
static inline Opnd call(KernelWriter *w, ExprOp op, Opnd x) {
    return func_expand(w, op, TYPE_F64, &x);
}
static inline Opnd is(KernelWriter *w, const char *compare, Opnd a, Opnd b) {
    return NEW(w, REG_PRED, compare, func_register(w, a), b);
}
static inline Opnd where(KernelWriter *w, Opnd p, Opnd a, Opnd b) {
    return NEW(w, REG_64, "selp.b64", a, b, p);
}
static inline Opnd with_sign(KernelWriter *w, Opnd y, Opnd x) { // y is not negative
    Opnd sign = NEW(w, REG_64, "and.b64", x, u64(0x8000000000000000ull));
    return NEW(w, REG_64, "or.b64", y, sign);
}
static inline Opnd unless_nan(KernelWriter *w, Opnd x, Opnd y) {
    return where(w, is(w, "setp.nan.f64", x, x), add(w, x, x), y);
}
// k[0] + k[1]·x + ... + k[n-1]·x^(n-1)
static inline Opnd horner(KernelWriter *w, Opnd x, const double *k, int n) {
    Opnd y = f64(k[n - 1]);
    for (int i = n - 2; i >= 0; i--) y = fma3(w, y, x, f64(k[i]));
    return y;
}
#define HORNER(w, x, table) horner(w, x, table, (int)(sizeof(table) / sizeof *(table)))

// --- Numbers of two parts ------------------------------------------------------------------------

// A number as the sum of two: `high`, and a correction of at most half a unit in its last place.
typedef struct TwoPart {
    Opnd high, low;
} TwoPart;

static inline TwoPart pair_sum(KernelWriter *w, Opnd a, Opnd b, Opnd low) { // |a| >= |b|
    Opnd sum = add(w, a, b), rest = sub(w, b, sub(w, sum, a));
    return (TwoPart){sum, add(w, rest, low)};
}

static inline TwoPart pair_of(KernelWriter *w, Opnd a, Opnd b) { // a + b, in any order
    Opnd sum = add(w, a, b), part = sub(w, sum, a);
    return (TwoPart){sum, add(w, sub(w, a, sub(w, sum, part)), sub(w, b, part))};
}

static inline TwoPart pair_add(KernelWriter *w, TwoPart a, TwoPart b) {
    TwoPart sum = pair_of(w, a.high, b.high);
    return pair_sum(w, sum.high, add(w, sum.low, add(w, a.low, b.low)), f64(0));
}

static inline TwoPart pair_mul(KernelWriter *w, TwoPart a, TwoPart b) {
    Opnd high = mul(w, a.high, b.high), low = fma3(w, a.high, b.high, minus(w, high));
    low = fma3(w, a.low, b.high, fma3(w, a.high, b.low, low));
    return pair_sum(w, high, low, f64(0));
}

TwoPart log2_pair(KernelWriter *w, Opnd a); // ptx_formula.c: log2(a), a > 0

#endif
