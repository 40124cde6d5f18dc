"""Random lazy expressions, each with its value by NumPy and a bound on the error of floats.

A `Twin` holds a lazy tensor and what it should be: the value in float64 (integers and bools in their own type), and for each element the largest
error that the operations so far may have made. Bound 0 demands equal values.

    tests/python/lazygen.py [--build DIR] [--count N] [--seed N]

checks many expressions. Without NumPy it says so and does nothing.
"""

import argparse
import os
import random
import sys

if __name__ == "__main__":
    try:
        import numpy as np
    except ImportError:
        print("SKIPPED: this Python has no NumPy")
        sys.exit(0)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.path.insert(0, os.path.join(options.build, "python"))
    os.environ.setdefault("LW_DB", "none")

import loopwright as lw
import numpy as np  # noqa: F811

EPS = {"f16": 2.0**-10, "f32": 2.0**-23, "f64": 2.0**-52}
LARGE = {"f16": 2e4, "f32": 1e15, "f64": 1e15}
TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "u8": "u1", "bool": "?"}
MOST_POINTS = 3000
NAMES = "a b c d e"


class Twin:
    def __init__(self, lazy, dims, value, error):
        self.lazy, self.dims, self.value = lazy, tuple(dims), value
        self.error = np.broadcast_to(np.asarray(error, "f8"), np.shape(value))
        self.type = lazy._node.type

    @property
    def exact(self):
        return not self.error.any()

    def size(self, d):
        return self.value.shape[self.dims.index(d)]


class Skip(Exception):
    """The step does not apply here."""


def along(twin, dims, array):
    """An array with the twin's dimensions as one with `dims`."""
    order = [twin.dims.index(d) for d in dims if d in twin.dims]
    return np.transpose(array, order).reshape([twin.size(d) if d in twin.dims else 1 for d in dims])


def finish(lazy, dims, value, error):
    """A twin of an operation's result: floats round once more."""
    type = lazy._node.type
    assert tuple(lazy.symbols) == tuple(dims), (lazy.symbols, dims)
    if type not in EPS:
        return Twin(lazy, dims, np.asarray(value), 0)
    value = np.asarray(value, "f8")
    if not np.all(np.isfinite(value)) or (np.abs(value) + error > LARGE[type]).any():
        raise Skip
    small = np.asarray(value).astype(TYPES[type]).astype("f8") == value
    rounding = np.where(small & (np.asarray(error) == 0), 0, 2 * EPS[type] * np.abs(value) + 1e-30 + (1e-7 if type == "f16" else 0))
    return Twin(lazy, dims, value, error + rounding)


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = np.random.default_rng(seed)
        self.symbols = lw.symbols(NAMES)
        self.sizes = {s: self.r.choice([1, 2, 3, 4, 5, 8, 17]) for s in self.symbols}
        if self.r.random() < 0.05:
            self.sizes[self.symbols[0]] = 0

    # --- Leaves ---------------------------------------------------------------------------------------------------------------------

    def leaf(self):
        dims = self.r.sample(self.symbols, self.r.choice([0, 1, 1, 2, 2, 3]))
        return self.array(dims, [self.sizes[d] for d in dims])

    def array(self, dims, shape, type=None):
        type = type or self.r.choice(["f32", "f32", "f32", "f64", "f16", "i32", "i64", "u8", "bool"])
        if np.prod(shape, dtype=float) > MOST_POINTS:
            raise Skip
        low, high = (0, 2) if type == "bool" else (0, 5) if type == "u8" else (-4, 5)
        data = self.n.integers(low, high, shape).astype(TYPES[type])
        if type in EPS and self.r.random() < 0.3:
            data = self.n.random(shape).astype(TYPES[type])
        data = np.asarray(data)
        stored = data
        if data.ndim and self.r.random() < 0.3:  # another layout in memory
            stored = np.asfortranarray(data) if self.r.random() < 0.5 else np.repeat(data, 2, axis=data.ndim - 1)[..., ::2]
        return Twin(lw.Tensor(stored).to(*dims), dims, data.astype("f8") if type in EPS else data, 0)

    # --- Operations -----------------------------------------------------------------------------------------------------------------

    def operands(self, x, y):
        if any(d in y.dims and x.size(d) != y.size(d) for d in x.dims):
            raise Skip
        dims = list(dict.fromkeys(x.dims + y.dims))
        size = np.prod([float(x.size(d) if d in x.dims else y.size(d)) for d in dims])
        if size > MOST_POINTS:
            raise Skip
        each = [(along(t, dims, t.value), along(t, dims, t.error)) for t in (x, y)]
        shape = np.broadcast_shapes(each[0][0].shape, each[1][0].shape)
        return dims, [np.broadcast_to(a, shape) for pair in each for a in pair]

    def common(self, lazy, *values):
        """Operands as NumPy would convert them; floats stay float64 with their error."""
        type = lazy._node.type
        return [v.astype("f8" if type in EPS else TYPES[type]) for v in values]

    def binary(self, x, y):
        dims, (a, ea, b, eb) = self.operands(x, y)
        op = self.r.choice(["+", "-", "*", "max", "min", "/", "<", "==", "&"])
        if op in "&" and (x.type in EPS or y.type in EPS):
            raise Skip
        if op == "-" and x.type == y.type == "bool":
            raise Skip
        if op in ("+", "-", "*", "max", "min") and x.type == y.type == "bool":
            lazy = {"+": lambda: x.lazy + y.lazy, "*": lambda: x.lazy * y.lazy, "max": lambda: lw.maximum(x.lazy, y.lazy),
                    "min": lambda: lw.minimum(x.lazy, y.lazy)}[op]()
            return finish(lazy, dims, a | b if op in ("+", "max") else a & b, 0)
        if op in ("<", "=="):
            if not (x.exact and y.exact):
                raise Skip
            return finish(x.lazy < y.lazy if op == "<" else x.lazy == y.lazy, dims, a < b if op == "<" else a == b, 0)
        if op == "&":
            lazy = x.lazy & y.lazy
            a, b = self.common(lazy, a, b)
            return finish(lazy, dims, a & b, 0)
        if op == "/":
            lazy = x.lazy / y.lazy
            if not (np.abs(b.astype("f8")) - eb > 0.25).all():
                raise Skip
            a, b = self.common(lazy, a, b)
            return finish(lazy, dims, a / b, (ea + np.abs(a / b) * eb) / (np.abs(b) - eb))
        lazy = {"+": lambda: x.lazy + y.lazy, "-": lambda: x.lazy - y.lazy, "*": lambda: x.lazy * y.lazy,
                "max": lambda: lw.maximum(x.lazy, y.lazy), "min": lambda: lw.minimum(x.lazy, y.lazy)}[op]()
        a, b = self.common(lazy, a, b)
        value = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "max": lambda: np.maximum(a, b), "min": lambda: np.minimum(a, b)}[op]()
        error = {"*": lambda: np.abs(a) * eb + np.abs(b) * ea + ea * eb}.get(op, lambda: ea + eb)()
        return finish(lazy, dims, value, error)

    def unary(self, x):
        op = self.r.choice(["neg", "abs", "sqrt", "exp", "tanh", "scale", "square", "cast", "relu", "index"])
        v, e = x.value, x.error
        if x.type == "bool":
            return finish(~x.lazy, x.dims, ~v, 0)
        if op == "neg":
            return finish(-x.lazy, x.dims, -v, e)
        if op == "abs":
            return finish(x.lazy.abs(), x.dims, np.abs(v), e)
        if op == "scale":
            lazy = 3 - x.lazy * 2
            return finish(lazy, x.dims, 3 - v * 2 if x.type in EPS else (3 - v * v.dtype.type(2)).astype(v.dtype), 2 * e + (3 * EPS.get(x.type, 0)) * np.abs(v))
        if op == "square":
            return finish(x.lazy**2, x.dims, v * v, 2 * np.abs(v) * e + e * e)
        if op == "relu":
            return finish(lw.maximum(x.lazy, 0), x.dims, np.maximum(v, 0), e)
        if op == "index":
            d = self.r.choice(x.dims) if x.dims else None
            if d is None or x.type != "i64":
                raise Skip
            steps = along(Twin(lw.Tensor(0), (d,), np.arange(x.size(d)), 0), x.dims, np.arange(x.size(d)))
            return finish(x.lazy + (2 * d + 1), x.dims, v + 2 * steps + 1, 0)
        if op == "cast":
            to = self.r.choice(["f32", "f64", "i32", "i64"])
            if to not in EPS and x.type in EPS and (not x.exact or (np.abs(v) > 1e6).any()):
                raise Skip
            return finish(x.lazy.cast(to), x.dims, v.astype(TYPES[to]) if to not in EPS else v.astype("f8"), e)
        f = np.abs(v.astype("f8")) if op == "sqrt" else np.minimum(v.astype("f8"), 3.0)
        if op == "sqrt":
            if x.type not in EPS:
                raise Skip
            with np.errstate(divide="ignore", invalid="ignore"):
                error = np.where(e == 0, 0, np.minimum(np.sqrt(e), e / np.sqrt(np.maximum(f - e, 1e-300))))
            return finish(lw.sqrt(x.lazy.abs()), x.dims, np.sqrt(f), error)
        if x.type not in EPS:
            raise Skip
        more = 4 * EPS[x.type]
        if op == "tanh":
            return finish(lw.tanh(x.lazy), x.dims, np.tanh(v), e + more * np.abs(np.tanh(v)))
        return finish(lw.exp(lw.minimum(x.lazy, 3.0)), x.dims, np.exp(f), np.exp(f) * (np.expm1(e) + more))

    def reduce(self, x):
        if not x.dims:
            raise Skip
        over = self.r.sample(x.dims, self.r.randint(1, min(2, len(x.dims))))
        axes = tuple(x.dims.index(d) for d in over)
        dims = [d for d in x.dims if d not in over]
        op = self.r.choice(["sum", "sum", "sum", "max", "min", "mean", "prod"])
        v, e, n = x.value, x.error, int(np.prod([x.size(d) for d in over]))
        if op in ("max", "min", "mean") and n == 0:
            raise Skip
        lazy = getattr(x.lazy, op)(*over)
        if op in ("max", "min"):
            return finish(lazy, dims, getattr(np, op)(v, axis=axes), np.max(e, axis=axes))
        wide = "f8" if lazy._node.type in EPS else TYPES[lazy._node.type]
        eps = max(EPS.get(lazy._node.type, 0), 0) if lazy._node.type != "f16" else EPS["f32"]
        if op == "prod":
            if x.type in EPS and not (x.exact and (np.abs(v) <= 4).all() and n <= 10 and (v == np.rint(v)).all()):
                raise Skip
            return finish(lazy, dims, np.prod(v, axis=axes, dtype=wide), 0)
        total = np.sum(np.abs(v.astype("f8")), axis=axes)
        inexact = 0 if x.exact and lazy._node.type not in EPS else n * eps * total
        if x.exact and lazy._node.type in EPS and (v.astype("f8") == np.rint(v.astype("f8"))).all() and (total < 2.0**20).all():
            inexact = 0 * total
        value, error = np.sum(v, axis=axes, dtype=wide), np.sum(e, axis=axes) + inexact
        if op == "mean":
            value, error = value / n, error / n
        return finish(lazy, dims, value, error)

    def contract(self, x):
        """A sum of products with another array."""
        if not x.dims or x.type not in EPS:
            raise Skip
        d = self.r.choice(x.dims)
        other = self.r.choice([s for s in self.symbols if s not in x.dims] or [d])
        if other == d:
            raise Skip
        y = self.array([d, other], [x.size(d), self.sizes[other]], x.type)
        dims, (a, ea, b, eb) = self.operands(x, y)
        axis = dims.index(d)
        lazy = (x.lazy * y.lazy).sum(d)
        total = (np.abs(a) * np.abs(b)).sum(axis)
        error = (np.abs(a) * eb + np.abs(b) * ea + ea * eb).sum(axis) + (a.shape[axis] + 2) * EPS[x.type] * total
        if x.exact and y.exact and (a == np.rint(a)).all() and (b == np.rint(b)).all() and (total < 2.0**10).all():
            error = 0 * total
        return finish(lazy, [s for s in dims if s != d], (a * b).sum(axis), error)

    # --- Views ----------------------------------------------------------------------------------------------------------------------

    def view(self, x):
        if not x.dims:
            raise Skip
        op = self.r.choice(["transpose", "pad", "flatten", "concat", "shift", "stride", "window", "reverse", "diagonal", "split", "where"])
        return getattr(self, op)(x, self.r.choice(x.dims))

    def transpose(self, x, d):
        dims = self.r.sample(x.dims, len(x.dims))
        axes = [x.dims.index(s) for s in dims]
        return Twin(x.lazy.transpose(*dims), dims, x.value.transpose(axes), x.error.transpose(axes))

    def pad(self, x, d):
        before, after = self.r.randint(0, 2), self.r.randint(0, 2)
        fill = 1 if x.type == "bool" else self.r.choice([0, 2])
        widths = [(before, after) if s == d else (0, 0) for s in x.dims]
        return Twin(x.lazy.pad(d, before, after, value=fill), x.dims, np.pad(x.value, widths, constant_values=fill), np.pad(x.error, widths))

    def flatten(self, x, d):
        parts = self.r.sample(x.dims, self.r.randint(1, len(x.dims)))
        free = self.fresh(x)
        first = next(i for i, s in enumerate(x.dims) if s in parts)
        rest = [s for s in x.dims if s not in parts]
        at = sum(1 for s in x.dims[:first] if s not in parts)
        dims = rest[:at] + [free] + rest[at:]
        axes = [x.dims.index(s) for s in rest[:at] + parts + rest[at:]]
        shape = [x.size(s) for s in rest[:at]] + [int(np.prod([x.size(s) for s in parts]))] + [x.size(s) for s in rest[at:]]
        return Twin(x.lazy.flatten(*parts).to(*dims), dims, x.value.transpose(axes).reshape(shape), x.error.transpose(axes).reshape(shape))

    def fresh(self, x):
        free = [s for s in self.symbols if s not in x.dims]
        if not free:
            raise Skip
        return self.r.choice(free)

    def concat(self, x, d):
        free = self.fresh(x)
        y = self.array([free if s == d else s for s in x.dims], [self.sizes[free] if s == d else x.size(s) for s in x.dims], x.type)
        order = self.r.sample(y.dims, len(y.dims))
        y = Twin(y.lazy.transpose(*order), order, y.value.transpose([y.dims.index(s) for s in order]), 0)
        mine = [y.dims.index(free if s == d else s) for s in x.dims]
        axis = x.dims.index(d)
        lazy = (x.lazy | y.lazy).to(*x.dims)
        return Twin(lazy, x.dims, np.concatenate([x.value, y.value.transpose(mine)], axis), np.concatenate([x.error, y.error.transpose(mine)], axis))

    def pick(self, x, d, expr, indices, dims=None):
        """x read at `expr` in dimension d, which selects `indices` there."""
        axis = x.dims.index(d)
        lazy = x.lazy[tuple(expr if s == d else s for s in x.dims)]
        return Twin(lazy, dims or x.dims, np.take(x.value, indices, axis), np.take(x.error, indices, axis))

    def shift(self, x, d):
        n = self.r.randint(0, 2)
        if x.size(d) <= n:
            raise Skip
        return self.pick(x, d, d + n, range(n, x.size(d)))

    def stride(self, x, d):
        n = self.r.randint(2, 3)
        if not x.size(d):
            raise Skip
        return self.pick(x, d, n * d, range(0, x.size(d), n))

    def reverse(self, x, d):
        if not x.size(d):
            raise Skip
        return self.pick(x, d, x.size(d) - 1 - d, range(x.size(d) - 1, -1, -1))

    def window(self, x, d):
        """A sum over a window with weights."""
        w, step, reach = self.fresh(x), self.r.randint(1, 2), self.r.randint(1, 2)
        taps = self.r.randint(1, 3)
        count = (x.size(d) - 1 - reach * (taps - 1)) // step + 1
        if x.type not in EPS or count < 1 or x.value.size * taps > MOST_POINTS:
            raise Skip
        weights = self.n.integers(-2, 3, taps).astype("f8")
        y = lw.Tensor(weights.astype(TYPES[x.type])).to(w)
        lazy = (x.lazy[tuple(step * d + reach * w if s == d else s for s in x.dims)] * y).sum(w)
        axis = x.dims.index(d)
        each = [np.arange(count) * step + reach * t for t in range(taps)]
        value = sum(np.take(x.value, at, axis) * k for at, k in zip(each, weights))
        total = sum(np.take(np.abs(x.value), at, axis) * abs(k) for at, k in zip(each, weights))
        error = sum(np.take(x.error, at, axis) * abs(k) for at, k in zip(each, weights))
        exact = x.exact and (x.value == np.rint(x.value)).all() and (total < 2.0**10).all()
        return finish(lazy, x.dims, value, error + (0 if exact else (taps + 2) * EPS[x.type] * total))

    def diagonal(self, x, d):
        others = [s for s in x.dims if s != d and x.size(s) <= x.size(d)]
        if not others:
            raise Skip
        e = self.r.choice(others)
        a, b = x.dims.index(d), x.dims.index(e)
        lazy = x.lazy[tuple(e if s == d else s for s in x.dims)]
        index = np.arange(x.size(e))
        rest = [s for s in x.dims if s not in (d, e)]

        def diag(array):
            moved = np.moveaxis(array, (a, b), (0, 1))[index, index]
            dims = [e] + rest
            order = [dims.index(s) for s in lazy.symbols]
            return moved.transpose(order)

        return Twin(lazy, lazy.symbols, diag(x.value), diag(x.error))

    def split(self, x, d):
        inner = self.fresh(x)
        n = self.r.randint(1, 4)
        outer = x.size(d) // n
        if not outer:
            raise Skip
        lazy = x.lazy.to(*[s for e in x.dims for s in ((e, inner) if e == d else (e,))], constraints=[(d, n * d + inner)]).set_size(inner, n)
        axis = x.dims.index(d)
        shape = x.value.shape[:axis] + (outer, n) + x.value.shape[axis + 1:]
        cut = [a.take(range(outer * n), axis).reshape(shape) for a in (x.value, x.error)]
        return Twin(lazy, lazy.symbols, *cut)

    def where(self, x, d):
        """A mask by indices."""
        n = self.r.randint(0, 3)
        steps = np.arange(x.size(d)).reshape([-1 if s == d else 1 for s in x.dims])
        fill = False if x.type == "bool" else 1
        return Twin(lw.where(d >= n, x.lazy, fill), (d,) + tuple(s for s in x.dims if s != d),
                    *[np.moveaxis(a, x.dims.index(d), 0) for a in (np.where(steps >= n, x.value, x.value.dtype.type(fill)), np.where(steps >= n, x.error, 0))])

    # --- Expressions ----------------------------------------------------------------------------------------------------------------

    def expression(self):
        """A pool of twins grows by random steps, which may use a twin again; the last one is returned."""
        pool = []
        wanted = self.r.randint(1, 9)
        for _ in range(200):
            try:
                step = self.r.random()
                x = self.r.choice(pool[-3:]) if pool else None
                if x is None or step < 0.1:
                    made = self.leaf()
                elif step < 0.35:
                    made = self.binary(x, self.r.choice(pool + [self.leaf()]))
                elif step < 0.55:
                    made = self.unary(x)
                elif step < 0.7:
                    made = self.reduce(x)
                elif step < 0.8:
                    made = self.contract(x)
                else:
                    made = self.view(x)
            except Skip:
                continue
            pool.append(made)
            if len(pool) > wanted:
                break
        return pool[-1]


def check(seed):
    """One random expression; raises AssertionError with the seed."""
    with np.errstate(all="ignore"):
        twin = Generator(seed).expression()
    check_twin(seed, twin, twin.lazy)


def check_twin(seed, twin, lazy):
    got = lazy.numpy()
    assert got.shape == twin.value.shape, (seed, got.shape, twin.value.shape)
    assert got.dtype == np.dtype(TYPES[twin.type]), (seed, got.dtype)
    if twin.type in EPS:
        wrong = ~(np.abs(got.astype("f8") - twin.value) <= twin.error)
    else:
        wrong = got != twin.value
    if wrong.any():
        at = tuple(int(i[0]) for i in np.nonzero(wrong))
        raise AssertionError("seed %d: element %s is %r, not %r within %g\n%s" % (seed, at, got[at], twin.value[at], twin.error[at], lazy.program))


if __name__ == "__main__":
    for number in range(options.seed, options.seed + options.count):
        check(number)
    print("%d random expressions agree" % options.count)
