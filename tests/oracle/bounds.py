"""Numbers that carry a bound of their own error, for judging results of floating-point programs.

A `Real` is an array of values (80-bit), an array of bounds, and the type that the program computes in. Each operation follows
docs/arithmetic.md: one rounding per operation, any order within a reduction, functions to 2 units in the last place in f32 and 4 in
f64. Where the operands are known exactly, the result of an operation is too (bound 0: it must agree bit by bit); otherwise the bounds
of the operands and the new rounding add up, as in running error analysis. A sum whose terms are multiples of a power of two and fit
the significand is exact in every order. No tolerance is picked: every bound follows from these rules.
"""

import math

import numpy as np

LD = np.longdouble
NATIVE = {"f64": np.float64, "f32": np.float32, "f16": np.float16}
UNIT = {"f64": LD(2) ** -53, "f32": LD(2) ** -24, "f16": LD(2) ** -11, "bf16": LD(2) ** -8}
TINY = {"f64": LD(2) ** -1074, "f32": LD(2) ** -149, "f16": LD(2) ** -24, "bf16": LD(2) ** -133}
BITS = {"f64": 53, "f32": 24}
# Units in the last place that a function may be off: those of the back-end, half a unit of the correctly rounded result (f32), two
# of the C library (f64).
ULPS = {"f32": LD(2.5), "f64": LD(6)}


def bf16_bits(x):
    """f32 to the bits of bf16, to nearest even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded).astype(np.uint16).reshape(np.shape(x))


def bf16_value(bits):
    return (np.ascontiguousarray(bits).astype(np.uint32) << 16).view(np.float32).reshape(np.shape(bits))


def narrow(x, t):
    """Values rounded to type t, as 80-bit values; to f16 and bf16 by way of f32."""
    if t == "bf16":
        return bf16_value(bf16_bits(x.astype(np.float32))).astype(LD)
    if t == "f16":
        x = x.astype(np.float32)
    return x.astype(NATIVE[t]).astype(LD)


class Real:
    def __init__(self, v, e, t):
        self.v, self.e, self.t = np.asarray(v, LD), np.broadcast_to(np.asarray(e, LD), np.shape(v)), t

    shape = property(lambda self: self.v.shape)
    ndim = property(lambda self: self.v.ndim)
    T = property(lambda self: self.transpose())

    def __getitem__(self, at):
        return Real(self.v[at], self.e[at], self.t)

    def transpose(self, *axes):
        return Real(self.v.transpose(*axes), self.e.transpose(*axes), self.t)

    def reshape(self, *shape):
        return Real(self.v.reshape(*shape), self.e.reshape(*shape), self.t)

    def _rounded(self, native, v, e, t):
        """One operation in type t: `native` where the operands are exact, else v with bound e and a rounding."""
        e = np.where(np.isfinite(v), e + UNIT[t] * np.abs(v) * LD(1.0001) + TINY[t], 0)
        return Real(np.where(native[1], native[0], v), np.where(native[1], 0, e), t)

    def _two(self, other, op, bound):
        b = real(other, self.t)
        t = "f64" if "f64" in (self.t, b.t) else "f32"
        at, bt = self.v.astype(NATIVE[t]), b.v.astype(NATIVE[t])
        exact = (self.e == 0) & (b.e == 0)
        return self._rounded((op(at, bt).astype(LD), exact), op(self.v, b.v), bound(self, b), t)

    def __add__(self, o):
        return self._two(o, np.add, lambda a, b: a.e + b.e)

    def __sub__(self, o):
        return self._two(o, np.subtract, lambda a, b: a.e + b.e)

    def __mul__(self, o):
        return self._two(o, np.multiply, lambda a, b: np.abs(a.v) * b.e + np.abs(b.v) * a.e + a.e * b.e)

    def __truediv__(self, o):
        def bound(a, b):
            least = np.abs(b.v) - b.e
            return np.where(least > 0, (a.e + np.abs(a.v / b.v) * b.e) / np.maximum(least, LD(1e-4000)), LD("inf"))
        return self._two(o, np.divide, bound)

    def __radd__(self, o):
        return real(o, self.t) + self

    def __rsub__(self, o):
        return real(o, self.t) - self

    def __rmul__(self, o):
        return real(o, self.t) * self

    def __rtruediv__(self, o):
        return real(o, self.t) / self

    def __neg__(self):
        return Real(-self.v, self.e, self.t)


def real(x, t="f32"):
    """A Real of a Real, of integers, or of a literal, which takes the type t."""
    if isinstance(x, Real):
        return x
    x = np.asarray(x)
    return Real(x.astype(NATIVE[t]).astype(LD), 0, t)


def widest(a, b):
    return "f64" if "f64" in (a.t, b.t) else "f32"


def take(op):
    """min or max: the choice is exact, and its bound that of the worse operand."""
    def pick(a, b):
        if not isinstance(a, Real) and not isinstance(b, Real):
            return op(a, b)
        a, b = (real(a, b.t) if isinstance(b, Real) else a), real(b, a.t if isinstance(a, Real) else "f32")
        return Real(op(a.v, b.v), np.maximum(*np.broadcast_arrays(a.e, b.e)), widest(a, b))
    return pick


maximum, minimum = take(np.maximum), take(np.minimum)


def where(c, a, b):
    if not isinstance(a, Real) and not isinstance(b, Real):
        return np.where(c, a, b)
    a = real(a, b.t) if isinstance(b, Real) else a
    b = real(b, a.t)
    return Real(np.where(c, a.v, b.v), np.where(c, a.e, b.e), widest(a, b))


def absolute(x):
    return Real(np.abs(x.v), x.e, x.t) if isinstance(x, Real) else np.abs(x)


def stack(parts, axis):
    if isinstance(parts[0], Real):
        return Real(np.stack([p.v for p in parts], axis), np.stack([p.e for p in parts], axis), parts[0].t)
    return np.stack(parts, axis)


def concatenate(parts, axis):
    if isinstance(parts[0], Real):
        return Real(np.concatenate([p.v for p in parts], axis), np.concatenate([p.e for p in parts], axis), parts[0].t)
    return np.concatenate(parts, axis)


def add_exactly(v, axis, total, bits):
    """Whether sums over an axis are exact in every order: multiples of 2**-k that fit the significand."""
    exact = np.zeros(total.shape, bool)
    for k in (0, 4, 10):
        scaled = v * LD(2) ** k
        exact |= (scaled == np.rint(scaled)).all(axis) & (total * LD(2) ** k <= LD(2) ** bits)
    return exact


def summed(x, axis, start=None):
    """A sum in any order, with or without fused products; `start` is what it begins with."""
    if start is not None:
        x = concatenate([x, Real(np.expand_dims(start.v, axis), np.expand_dims(start.e, axis), start.t)], axis)
    if x.v.size == 0:
        return Real(x.v.sum(axis), 0, x.t)
    n = x.v.size // max(1, x.v.sum(axis).size)
    total = np.abs(x.v).sum(axis)
    exact = add_exactly(x.v, axis, total, BITS[x.t]) & (x.e == 0).all(axis)
    e = x.e.sum(axis) + (n + 2) * UNIT[x.t] * LD(1.001) * (total + x.e.sum(axis)) + n * TINY[x.t]
    return Real(x.v.sum(axis), np.where(exact, 0, e), x.t)


def product(x, axis):
    v = x.v.prod(axis)
    if x.v.size == 0:
        return Real(v, 0, x.t)
    n = x.v.size // max(1, v.size)
    with np.errstate(all="ignore"):
        relative = np.where(x.v == 0, LD(0), x.e / np.maximum(np.abs(x.v), LD(1e-4000)))
        e = np.abs(v) * np.expm1(np.log1p(relative).sum(axis) + n * UNIT[x.t] * LD(1.001)) + n * TINY[x.t]
    sure = (x.e == 0).all(axis) & powers_of_two(x.v).all(axis) & (np.abs(v) < LD(2) ** 100) & (np.abs(v) > LD(2) ** -100)
    return Real(v, np.where(sure, 0, e), x.t)


def powers_of_two(v):
    return np.frexp(np.abs(v))[0] == LD(0.5)


def largest(x, axis, t=None):
    return extreme(x, axis, np.max, -np.inf, t)


def least(x, axis, t=None):
    return extreme(x, axis, np.min, np.inf, t)


def extreme(x, axis, op, identity, t):
    if isinstance(x, Real):
        return Real(op(x.v, axis=axis, initial=identity), op_bound(x.e, axis), x.t)
    info = np.iinfo(x.dtype)
    return op(x, axis=axis, initial=info.min if identity < 0 else info.max).astype(x.dtype)


def op_bound(e, axis):
    return np.max(e, axis=axis, initial=0)


# ---- Functions -----------------------------------------------------------------------------------


def by_math(f):
    return lambda x: np.vectorize(lambda y: LD(f(float(y))), otypes=[LD])(x) if np.size(x) else np.asarray(x, LD)


# name: evaluation in 80 bits, and the interval that arguments are drawn from
FUNCTIONS = {
    "exp": (np.exp, (-3, 3)), "log": (np.log, (0.1, 9)), "sqrt": (np.sqrt, (0, 9)), "sin": (np.sin, (-6, 6)),
    "cos": (np.cos, (-6, 6)), "tanh": (np.tanh, (-3, 3)), "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-8, 8)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0.1, 9)), "exp2": (np.exp2, (-4, 4)), "expm1": (np.expm1, (-2, 2)),
    "log1p": (np.log1p, (-0.5, 4)), "log2": (np.log2, (0.1, 9)), "log10": (np.log10, (0.1, 9)), "atan": (np.arctan, (-5, 5)),
    "asin": (np.arcsin, (-0.9, 0.9)), "acos": (np.arccos, (-0.9, 0.9)), "sinh": (np.sinh, (-3, 3)), "cosh": (np.cosh, (-3, 3)),
    "cbrt": (np.cbrt, (-9, 9)), "asinh": (np.arcsinh, (-5, 5)), "acosh": (np.arccosh, (1.1, 9)), "atanh": (np.arctanh, (-0.9, 0.9)),
    "tan": (np.tan, (-1.2, 1.2)), "reciprocal": (lambda x: 1 / x, (0.2, 9)), "erf": (by_math(math.erf), (-3, 3)),
    "erfc": (by_math(math.erfc), (-2, 3)), "lgamma": (by_math(math.lgamma), (2.5, 9)), "tgamma": (by_math(math.gamma), (0.5, 6)),
    "exp10": (lambda x: LD(10) ** x, (-2, 2)), "rcbrt": (lambda x: 1 / np.cbrt(x), (0.1, 9)),
}
ONLY_F32 = ("erf", "erfc", "lgamma", "tgamma")  # known to double precision only
STEPS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


def call(name, x):
    """A function of docs/language.md at x: the bound follows from its values at both ends of the interval of x."""
    f = FUNCTIONS[name][0]
    v = f(x.v)
    with np.errstate(all="ignore"):
        spread = np.maximum(np.abs(f(x.v + x.e) - v), np.abs(f(x.v - x.e) - v))
    e = 2 * spread + ULPS[x.t] * 2 * UNIT[x.t] * np.abs(v) + TINY[x.t]
    return Real(v, np.where(np.isfinite(v), e, 0), x.t)


def stored(x, t):
    """What a tensor of type t holds after x is written to it, read again."""
    computed = "f64" if t == "f64" else "f32"
    v = narrow(x.v, t)
    e = np.where(x.e == 0, 0, x.e + UNIT[t] * (np.abs(x.v) + x.e) * LD(1.001) + TINY[t])
    return Real(np.where(x.e == 0, v, x.v), np.where(np.isfinite(x.v), e, 0), computed)
