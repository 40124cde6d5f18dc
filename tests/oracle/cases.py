"""A case: the text of a function, its inputs, and what docs/language.md and docs/arithmetic.md make of them."""

import random

import numpy as np

from . import bounds as B
from .library import TYPES

FLOATS = ("f64", "f32", "f16", "bf16")
INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
# Around the widths of vectors and of tiles of them.
EDGES = (1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 47, 48, 49, 63, 64, 65, 67, 79, 95, 96, 97, 127, 128, 129)
SHAPES, WEIGHTS = {}, {}


def shape(weight=1):
    """Registers a generator of cases under its name; a weight of 3 draws it three times as often as others."""
    def register(f):
        SHAPES[f.__name__], WEIGHTS[f.__name__] = f, weight
        return f
    return register


def total_of(t):
    """The type that a sum or product over elements of type t accumulates in, and results in."""
    if t in ("f16", "bf16"):
        return "f32"
    return "i32" if t in ("i8", "i16", "u8", "u16", "bool") else t


class Draw(random.Random):
    """What a generator chooses by: types, sizes and data."""

    def one(self, *of):
        return self.choice(of)

    def float(self):
        return self.choice(("f32", "f32", "f32", "f64", "f64", "f16", "bf16"))

    def int(self):
        return self.choice(INTS)

    def number(self):
        return self.float() if self.random() < 0.6 else self.int()

    def size(self, limit=130, least=1):
        if least == 0 and self.random() < 0.03:
            return 0
        if self.random() < 0.6:
            return self.choice([e for e in EDGES if max(1, least) <= e <= limit])
        return self.randint(max(1, least), limit)

    def sizes(self, n, work=60000, limit=130, zero=True):
        """n sizes whose product is at most `work`, in any order; rarely one is 0."""
        got = []
        for _ in range(n):
            left = work
            for g in got:
                left //= max(1, g)
            got.append(self.size(max(1, min(limit, left if len(got) == n - 1 else max(2, int(left ** 0.7)))), 0 if zero else 1))
        self.shuffle(got)
        return got

    def numpy(self):
        return np.random.default_rng(self.getrandbits(32))

    def data(self, t, dims, low=-3, high=3, whole=None):
        """Whole numbers, which keep sums exact, or any numbers of the interval; integers mostly small ones."""
        g = self.numpy()
        if t == "bool":
            return g.random(dims) < 0.5
        if t in INTS:
            info = np.iinfo(TYPES[t][0])
            if whole is None and self.random() < 0.3:
                return g.integers(info.min, info.max, dims, dtype=info.dtype, endpoint=True)
            return g.integers(max(info.min, int(np.ceil(low))), int(np.floor(high)), dims, endpoint=True).astype(info.dtype)
        if whole if whole is not None else self.random() < 0.5:
            x = g.integers(int(np.ceil(low)), int(np.floor(high)), dims, endpoint=True).astype(np.float64)
        else:
            x = g.uniform(low, high, dims)
        return B.bf16_bits(x.astype(np.float32)) if t == "bf16" else x.astype(TYPES[t][0])

    def index(self, t, dims, low, high):
        """Subscripts from low to high, inclusive."""
        return self.numpy().integers(low, high, dims, endpoint=True).astype(TYPES[t][0])

    def spell(self, t):
        return self.choice(TYPES[t][3].split())


def load(t, array):
    """An input as the oracle computes with it."""
    if t == "bf16":
        return B.Real(B.bf16_value(array), 0, "f32")
    if t in FLOATS:
        return B.Real(array, 0, "f64" if t == "f64" else "f32")
    return array


class Case:
    def __init__(self, draw):
        self.draw, self.inputs, self.sizes, self.outs = draw, [], {}, []
        self.body, self.helpers = [], []

    def take(self, name, t, dims, array):
        """Declares an input tensor, dims a text such as "M,K", and gives it for computing."""
        self.inputs.append((name, t, dims, array))
        return load(t, array)

    def data(self, name, t, dims, sizes, *how, **more):
        return self.take(name, t, dims, self.draw.data(t, tuple(sizes), *how, **more))

    def integer(self, name, value):
        """Declares an integer argument."""
        self.inputs.append((name, None, "", value))
        self.sizes[name] = value

    def size(self, name, value):
        """Gives a size that no input tells."""
        self.sizes[name] = value

    def say(self, *lines):
        self.body += lines

    def result(self, name, t, value, declared=None, start=None):
        """A result: its type, its elements, its declared shape if any, what it holds before if that counts."""
        if isinstance(value, B.Real):
            value = B.stored(value, t)
        else:
            value = np.asarray(value).astype(TYPES[t][0])
        self.outs.append((name, t, value, declared, start))

    def text(self):
        inputs = []
        for name, t, dims, _ in self.inputs:
            spelled = self.draw.spell(t) if t else "int"
            inputs.append("%s%s %s" % (spelled, "(%s)" % dims if t and dims is not None else "", name))
        outs = ["%s(%s) %s" % (self.draw.spell(t), declared, name) if declared is not None else name
                for name, t, _, declared, _ in self.outs]
        return "\n".join(self.helpers + ["def f(%s) -> (%s) {" % (", ".join(inputs), ", ".join(outs))] +
                         ["    " + line for line in self.body] + ["}", ""])


# ---- Arithmetic of integers and of reductions, for both kinds of numbers -------------------------


def wide(x):
    """An operand of a sum or product: narrow integers are widened first."""
    if isinstance(x, B.Real):
        return x
    return x.astype(np.int32) if x.dtype.itemsize < 4 else x


def total(x, axis):
    if isinstance(x, B.Real):
        return B.summed(x, axis)
    x = wide(x)
    return x.sum(axis, dtype=x.dtype)


def multiplied(x, axis):
    if isinstance(x, B.Real):
        return B.product(x, axis)
    x = wide(x)
    return x.prod(axis, dtype=x.dtype)


def plus_total(start, x, axis):
    """start + the sum of x, as `T += x` gives it."""
    if isinstance(x, B.Real):
        return B.summed(x, axis, start)
    x = wide(x)
    return (start + x.sum(axis, dtype=x.dtype)).astype(x.dtype)


def floor_div(a, b):
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    if a.dtype.kind == "i":
        quotient = np.where(safe == -1, np.negative(a), np.floor_divide(a, np.where(safe == -1, 1, safe)))
    else:
        quotient = np.floor_divide(a, safe)
    return np.where(b == 0, 0, quotient).astype(a.dtype)


def floor_mod(a, b):
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    if a.dtype.kind == "i":
        safe = np.where(safe == -1, 1, safe).astype(b.dtype)
    return np.where(b == 0, 0, np.remainder(a, safe)).astype(a.dtype)


def einsum(spec, *operands):
    """A sum of products over the indices of `spec` that its result lacks, by broadcasting."""
    ins, out = spec.split("->")
    letters = sorted(set(ins.replace(",", "")))
    value = None
    for names, x in zip(ins.split(","), operands):
        x = wide(x)
        order = [letters.index(c) for c in names]
        x = x.transpose(*np.argsort(order)) if x.ndim else x
        x = x.reshape(*[x.shape[sorted(order).index(i)] if i in order else 1 for i in range(len(letters))])
        value = x if value is None else value * x
    kept = [letters.index(c) for c in out]
    gone = tuple(i for i in range(len(letters)) if i not in kept)
    if gone:
        value = total(value, gone)
    left = sorted(kept)
    return value.transpose(*[left.index(i) for i in kept]) if kept else value
