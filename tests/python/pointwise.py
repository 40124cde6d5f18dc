#!/usr/bin/env python3
"""Random lazy expressions and einsums against their meaning, one element at a time in plain Python.

    pointwise.py [--build DIR] [--count N] [--seed N]

lazygen.py compares with NumPy, whose operations on whole arrays resemble those of the package. Here an expression is a function from an
index to a number: a sum is a loop, a pad a comparison, a view the subscript that it stands for. It was written from docs/python.md alone.
Integers wrap to their types; floating-point values are small multiples of 1/4, and exact unless a function of `FUNCTIONS` made them.
"""

import argparse
import itertools
import math
import os
import random
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

TYPES = ["float32", "float64", "int8", "uint8", "int32", "int64"]
LETTERS = "abcdefghpqrstuvw"
FUNCTIONS = {"exp": math.exp, "tanh": math.tanh, "erf": math.erf, "sqrt": lambda v: math.sqrt(abs(v))}
LIMIT = 1 << 20  # of floating-point values: they stay exact in f32, with two binary places


class Skip(Exception):
    """The case left what can be compared exactly."""


def store(dtype, value):
    """A Python number as an element of this type."""
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind == "f":
        if not abs(value) < LIMIT:
            raise Skip
        return float(value)
    bits = 8 * dtype.itemsize
    value = int(value) & ((1 << bits) - 1)
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


class Mirror:
    """A tensor of the package, and what it means: dims with their sizes, a type, and the rule of an element."""

    def __init__(self, lazy, sizes, dtype, rule, inexact=False):
        self.lazy, self.sizes, self.dtype, self.rule = lazy, sizes, np.dtype(dtype), rule
        self.inexact, self.memo = inexact, {}

    def __call__(self, index):
        key = tuple(index[d] for d in self.sizes)
        if key not in self.memo:
            value = self.rule(index)
            self.memo[key] = store(self.dtype, value)
            if self.dtype.kind == "f" and not self.inexact and value * 4 != int(value * 4):
                raise Skip
        return self.memo[key]

    def array(self):
        places = [dict(zip(self.sizes, p)) for p in itertools.product(*map(range, self.sizes.values()))]
        return np.array([self(p) for p in places], self.dtype).reshape(tuple(self.sizes.values()))


class Case:
    def __init__(self, lw, seed):
        self.lw, self.random, self.pool, self.leaves, self.log = lw, random.Random(seed), [], [], []
        self.names = iter(LETTERS * 4)
        self.sizes = {name: self.random.randint(1, 4) for name in "ijkl"}
        self.symbols = {name: lw.symbols(name) for name in "ijkl" + LETTERS}

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def add(self, text, *rest, **named):
        made = Mirror(*rest, **named)
        if math.prod(made.sizes.values()) > 300 or len(made.sizes) > 5:
            return None
        self.log.append("t%d = %s    # %s %s" % (len(self.pool), text, made.dtype, made.sizes))
        self.pool.append(made)
        return made

    def fresh(self):
        return next(self.names)

    def pick(self, kinds="fiu", exact=True):
        fitting = [t for t in self.pool if t.dtype.kind in kinds and not (exact and t.inexact)]
        return self.random.choice(fitting[-4:] if fitting and self.chance(60) else fitting) if fitting else None

    def name(self, t):
        return "t%d" % self.pool.index(t)

    # ---- What makes a tensor: each returns it, or None where it does not apply

    def leaf(self):
        dims = self.random.sample("ijkl", self.random.randint(0, 3))
        dtype = self.random.choice(TYPES)
        shape = [self.sizes[d] for d in dims]
        low = 0 if dtype == "uint8" else -4
        values = [self.random.randint(low, 4) for _ in range(math.prod(shape))]
        array = np.array(values, dtype).reshape(shape)
        for axis in range(array.ndim):  # a strided or reversed array with the same elements
            if self.chance(25):
                step = self.random.choice([-1, 2, 3])
                wide = np.zeros([n * abs(step) if a == axis else n for a, n in enumerate(array.shape)], dtype)
                view = wide[tuple(slice(None, None, step) if a == axis else slice(None) for a in range(array.ndim))]
                view[...] = array
                array = view
        self.leaves.append(array)
        tensor = self.lw.Tensor(array)
        if dims:
            tensor = tensor.to(*[self.symbols[d] for d in dims])
        return self.add("%s %s %s" % (dtype, dims, array.tolist()), tensor, {d: self.sizes[d] for d in dims}, dtype,
                        lambda at: array[tuple(at[d] for d in dims)].item())

    def renamed(self, t):
        """The same tensor with other names: of the four usual ones if they fit in size."""
        names = []
        for size in t.sizes.values():
            usual = [d for d in "ijkl" if self.sizes[d] == size and d not in names]
            names.append(self.random.choice(usual) if usual and self.chance(70) else self.fresh())
        if not names or len(set(names)) < len(names):
            return None
        old = list(t.sizes)
        return self.add("%s.to(%s)" % (self.name(t), names), t.lazy.to(*[self.symbols[d] for d in names]), dict(zip(names, t.sizes.values())), t.dtype,
                        lambda at: t(dict(zip(old, (at[d] for d in names)))))

    def binary(self):
        a, b = self.pick("fiu"), self.pick("fiu")
        if a is None or any(a.sizes[d] != b.sizes[d] for d in a.sizes if d in b.sizes):
            return None
        name, run = self.random.choice([("+", lambda x, y: x + y), ("-", lambda x, y: x - y), ("*", lambda x, y: x * y),
                                        ("maximum", max), ("minimum", min), ("<", lambda x, y: x < y), (">=", lambda x, y: x >= y),
                                        ("==", lambda x, y: x == y), ("!=", lambda x, y: x != y)])
        x, y = a.lazy, b.lazy
        made = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "<": lambda: x < y, ">=": lambda: x >= y, "==": lambda: x == y,
                "!=": lambda: x != y, "maximum": lambda: self.lw.maximum(x, y), "minimum": lambda: self.lw.minimum(x, y)}[name]()
        common = np.result_type(a.dtype, b.dtype)
        dtype = common if name in "+-*maximumminimum" else np.dtype(bool)
        return self.add("%s %s %s" % (self.name(a), name, self.name(b)), made, {**a.sizes, **b.sizes}, dtype,
                        lambda at: run(store(common, a(at)), store(common, b(at))))

    def contraction(self):
        """A sum over a product of several tensors, whose order is the compiler's."""
        factors = [self.pick("fiu") for _ in range(self.random.randint(3, 5))]
        sizes = {}
        for t in factors:
            if t is None or t.dtype != factors[0].dtype:
                return None
            for d, n in t.sizes.items():
                if sizes.setdefault(d, n) != n:
                    return None
        over = [d for d in sizes if self.chance(60)]
        if not over or math.prod(sizes.values()) > 600:
            return None
        product = factors[0].lazy
        for t in factors[1:]:
            product = product * t.lazy
        dtype = factors[0].dtype

        def rule(at):
            total = 0
            for place in itertools.product(*(range(sizes[d]) for d in over)):
                index = {**at, **dict(zip(over, place))}
                total += math.prod(t(index) for t in factors)
                if dtype.kind == "f" and not abs(total) < LIMIT:
                    raise Skip
            return total
        return self.add("(%s).sum(%s)" % (" * ".join(map(self.name, factors)), over), product.sum(*[self.symbols[d] for d in over]),
                        {d: n for d, n in sizes.items() if d not in over}, dtype, rule)

    def number(self):
        a, c = self.pick("fiu"), self.random.randint(1, 3)
        if a is None:
            return None
        floor = a.dtype.kind != "f"
        name, run = self.random.choice(
            [("+", lambda x: x + c), ("-", lambda x: x - c), ("r-", lambda x: c - x), ("*", lambda x: c * x), ("neg", lambda x: -x), ("abs", abs), ("**2", lambda x: x * x)]
            + ([("//", lambda x: x // c), ("%", lambda x: x % c), ("&", lambda x: x & c), ("^", lambda x: x ^ c), ("~", lambda x: ~x)]
               if floor else [("/", lambda x: x / 2), ("floor", math.floor), ("ceil", math.ceil)]))
        x = a.lazy
        made = {"+": lambda: x + c, "-": lambda: x - c, "r-": lambda: c - x, "*": lambda: c * x, "neg": lambda: -x, "abs": lambda: abs(x), "**2": lambda: x ** 2,
                "//": lambda: x // c, "%": lambda: x % c, "&": lambda: x & c, "^": lambda: x ^ c, "~": lambda: ~x, "/": lambda: x / 2,
                "floor": lambda: x.floor(), "ceil": lambda: x.ceil()}[name]()
        return self.add("%s %s %d" % (self.name(a), name, c), made, dict(a.sizes), a.dtype, lambda at: run(a(at)))

    def choice(self):
        c, a, b = self.pick("b"), self.pick("fiu"), self.pick("fiu")
        if c is None or a is None:
            return None
        sizes = {}
        for t in (c, a, b):
            for d, n in t.sizes.items():
                if sizes.setdefault(d, n) != n:
                    return None
        dtype = np.result_type(a.dtype, b.dtype)
        return self.add("where(%s, %s, %s)" % (self.name(c), self.name(a), self.name(b)), self.lw.where(c.lazy, a.lazy, b.lazy), sizes, dtype,
                        lambda at: a(at) if c(at) else b(at))

    def triangle(self):
        a = self.pick("fiu")
        if a is None or len(a.sizes) < 1:
            return None
        i = self.random.choice(list(a.sizes))
        j = self.random.choice(list(a.sizes))
        s, u = self.symbols[i], self.symbols[j]
        if i == j:
            condition, run = s >= 1, lambda at: at[i] >= 1
        else:
            condition, run = s >= u, lambda at: at[i] >= at[j]
        return self.add("where(%s >= %s, %s, 0)" % (i, j if i != j else 1, self.name(a)), self.lw.where(condition, a.lazy, 0), self.ordered([i, j] if i != j else [i], a), a.dtype,
                        lambda at: a(at) if run(at) else 0)

    def ordered(self, first, a):
        return {**{d: a.sizes[d] for d in first}, **a.sizes}

    def index_value(self):
        a = self.pick("f")
        if a is None or not a.sizes:
            return None
        i = self.random.choice(list(a.sizes))
        return self.add("%s * %s" % (self.name(a), i), a.lazy * self.symbols[i], dict(a.sizes), np.result_type(a.dtype, np.int64), lambda at: a(at) * at[i])

    def reduction(self):
        a = self.pick("fiub")
        if a is None:
            return None
        along = [d for d in a.sizes if self.chance(50)]
        if self.chance(20):
            along = []
        over = along or list(a.sizes)
        names = {"b": ["any", "all"], "f": ["sum", "prod", "max", "min", "mean"]}.get(a.dtype.kind, ["sum", "prod", "max", "min"])
        name = self.random.choice(names)
        count = math.prod(a.sizes[d] for d in over)
        run = {"sum": sum, "prod": math.prod, "max": max, "min": min, "any": any, "all": all, "mean": lambda v: sum(v) / count}[name]
        left = {d: n for d, n in a.sizes.items() if d not in over}

        def rule(at):
            values = []
            for place in itertools.product(*(range(a.sizes[d]) for d in over)):
                values.append(a({**at, **dict(zip(over, place))}))
                if name == "prod" and a.dtype.kind == "f" and not abs(math.prod(values)) < LIMIT:
                    raise Skip
            if name == "mean" and a.dtype.kind == "f" and not abs(sum(values)) < LIMIT:
                raise Skip
            return run(values)
        if name != "mean" and a.dtype.kind in "fiu" and self.chance(20):
            made = a.lazy.reduce({"sum": "add", "prod": "mul", "max": "max", "min": "min"}[name], *[self.symbols[d] for d in over])
        else:
            made = getattr(a.lazy, name)(*[self.symbols[d] for d in along])
        return self.add("%s.%s(%s)" % (self.name(a), name, along), made, left, a.dtype, rule)

    def cast(self):
        a, dtype = self.pick("fiub"), self.random.choice(TYPES)
        if a is None:
            return None

        def rule(at):
            value = a(at)
            if a.dtype.kind == "f":
                value = math.trunc(value) if dtype[0] in "iu" else value
                if dtype == "uint8" and not 0 <= value < 256 or dtype == "int8" and not -128 <= value < 128:
                    raise Skip  # what a conversion out of range gives is not defined
            return value
        if np.dtype(dtype).kind == "f" and a.dtype.kind in "iu" and a.dtype.itemsize == 8:
            return None
        return self.add("cast(%s, %s)" % (self.name(a), dtype), self.lw.cast(a.lazy, dtype), dict(a.sizes), dtype, rule)

    def subscripted(self):
        """One affine expression for each dimension, all sizes set or left to the largest that fits."""
        a = self.pick("fiub")
        if a is None or not a.sizes:
            return None
        chosen, subscripts, texts, terms, alone = {}, [], [], [], {}
        for size in a.sizes.values():
            if self.chance(20):
                constant = self.random.randrange(size)
                subscripts, texts, terms = subscripts + [constant], texts + [str(constant)], terms + [(constant, [])]
                continue
            room, offset, used, made = size - 1, 0, [], None
            for _ in range(self.random.randint(1, 2)):
                name = self.random.choice("ijkl") if self.chance(50) else self.fresh()
                if name in chosen or name in [n for n, _ in used]:
                    continue
                factor = self.random.choice([1, 1, 2])
                most = min(room // factor + 1, 4)
                if name in "ijkl" and self.sizes[name] > most:
                    continue
                n = self.sizes[name] if name in "ijkl" else self.random.randint(1, most)
                room -= factor * (n - 1)
                backward = self.chance(20)
                if backward:
                    offset += factor * (n - 1)
                used.append((name, -factor if backward else factor))
                chosen[name] = n
            if not used:
                return None
            offset += self.random.randint(0, room)
            for name, factor in used:
                term = factor * self.symbols[name]
                made = term if made is None else made + term
            made = made + offset
            subscripts, texts, terms = subscripts + [made], texts + [" ".join("%+d*%s" % (f, n) for n, f in used) + " %+d" % offset], terms + [(offset, used)]
            if len(used) == 1 and used[0][1] > 0:
                alone[used[0][0]] = (size - 1 - offset) // used[0][1] + 1
        if len(set(chosen)) != len(chosen):
            return None
        lazy = a.lazy[tuple(subscripts)] if len(subscripts) > 1 or self.chance(50) else a.lazy[subscripts[0]]
        for name in chosen:
            if name in alone and self.chance(30):
                chosen[name] = alone[name]  # the size that follows
            else:
                lazy = lazy.set_size(self.symbols[name], chosen[name])
        old = list(a.sizes)
        return self.add("%s[%s] %s" % (self.name(a), ", ".join(texts), chosen), lazy, chosen, a.dtype,
                        lambda at: a({d: o + sum(f * at[n] for n, f in u) for d, (o, u) in zip(old, terms)}))

    def view(self):
        """A dimension as an expression of two new ones, by constraints."""
        a = self.pick("fiub")
        usable = [d for d, n in a.sizes.items() if n in (2, 4)] if a else []
        if not usable:
            return None
        n = self.random.choice(usable)
        inner = self.random.choice([c for c in (1, 2, 4) if c <= a.sizes[n]])
        o, i = self.fresh(), self.fresh()
        if o in a.sizes or i in a.sizes or o == i:
            return None
        new = [x for d in a.sizes for x in ([o, i] if d == n else [d])]
        sizes = {**a.sizes, o: a.sizes[n] // inner, i: inner}
        so, si = self.symbols[o], self.symbols[i]
        lazy = a.lazy.to(*[self.symbols[d] for d in new], constraints=[(self.symbols[n], inner * so + si)]).set_size(si, inner).set_size(so, sizes[o])
        return self.add("%s.to(%s, constraints=[(%s, %d*%s + %s)])" % (self.name(a), new, n, inner, o, i), lazy, {d: sizes[d] for d in new}, a.dtype,
                        lambda at: a({**at, n: inner * at[o] + at[i]}))

    def pad(self):
        a = self.pick("fiu")
        if a is None or not a.sizes:
            return None
        d, pre, post = self.random.choice(list(a.sizes)), self.random.randint(0, 2), self.random.randint(0, 2)
        value, n = self.random.choice([0, 0, 3]), a.sizes[d]
        if self.chance(30):
            post, lazy = pre, a.lazy.pad(self.symbols[d], pre, value=value)
        else:
            lazy = a.lazy.pad(self.symbols[d], pre, post, value=value) if value else a.lazy.pad(self.symbols[d], pre, post)
        made = self.add("%s.pad(%s, %d, %d, value=%d)" % (self.name(a), d, pre, post, value), lazy, {**a.sizes, d: n + pre + post}, a.dtype,
                        lambda at: a({**at, d: at[d] - pre}) if 0 <= at[d] - pre < n else value)
        return made and self.renamed(made)

    def joined(self):
        a = self.pick("fiu")
        if a is None or not a.sizes:
            return None
        d, e = self.random.choice(list(a.sizes)), self.fresh()
        if e in a.sizes:
            return None
        b = self.add("%s.to(.. %s for %s)" % (self.name(a), e, d), a.lazy.to(*[self.symbols[e if x == d else x] for x in a.sizes]),
                     {e if x == d else x: n for x, n in a.sizes.items()}, a.dtype, lambda at: a({**at, d: at[e]}))
        if b is None:
            return None
        if self.chance(50):
            b = self.add("%s * 2" % self.name(b), b.lazy * 2, dict(b.sizes), b.dtype, lambda at, b=b: 2 * b(at)) or b
        n = a.sizes[d]
        names = [self.fresh() if x == d else x for x in a.sizes]
        if len(set(names)) < len(names):
            return None
        new = names[list(a.sizes).index(d)]
        sizes = {x: 2 * n if x == new else a.sizes[x] for x in names}
        return self.add("(%s | %s).to(%s)" % (self.name(a), self.name(b), names), (a.lazy | b.lazy).to(*[self.symbols[x] for x in names]), sizes, a.dtype,
                        lambda at: a({**at, d: at[new]}) if at[new] < n else b({**at, e: at[new] - n}))

    def shaped(self):
        a = self.pick("fiub")
        if a is None or len(a.sizes) < 2:
            return None
        order = self.random.sample(list(a.sizes), len(a.sizes))
        if self.chance(50):
            return self.add("%s.transpose(%s)" % (self.name(a), order), a.lazy.transpose(*[self.symbols[d] for d in order]), {d: a.sizes[d] for d in order}, a.dtype, a)
        flat = self.fresh()

        def rule(at):
            rest, place = at[flat], {}
            for d in reversed(order):
                rest, place[d] = divmod(rest, a.sizes[d])
            return a(place)
        return self.add("%s.flatten(%s).to(%s)" % (self.name(a), order, flat), a.lazy.flatten(*[self.symbols[d] for d in order]).to(self.symbols[flat]),
                        {flat: math.prod(a.sizes.values())}, a.dtype, rule)

    def function(self):
        a = self.pick("f")
        if a is None:
            return None
        name = self.random.choice(list(FUNCTIONS))
        x = abs(a.lazy) if name == "sqrt" else a.lazy
        if name == "exp":
            x = self.lw.minimum(x, 4)
        run = FUNCTIONS[name]
        return self.add("%s(%s)" % (name, self.name(a)), getattr(self.lw, name)(x), dict(a.sizes), a.dtype,
                        lambda at: run(min(a(at), 4) if name == "exp" else a(at)), inexact=True)

    # ---- A case

    def grow(self):
        for _ in range(self.random.randint(1, 3)):
            self.leaf()
        makers = [self.binary] * 5 + [self.reduction] * 3 + [self.contraction] * 3 + [self.leaf, self.number, self.choice, self.triangle, self.index_value, self.cast, self.subscripted,
                                                            self.subscripted, self.view, self.pad, self.joined, self.shaped, self.leaf]
        for _ in range(self.random.randint(2, 12)):
            self.random.choice(makers)()
            if self.chance(10) and self.pool:
                self.renamed(self.random.choice(self.pool))
        if self.chance(15):
            self.function()

    def check(self, results, outputs):
        for got, t in zip(results, outputs):
            want = t.array()
            assert got.dtype == t.dtype and got.shape == want.shape, (self.name(t), got.dtype, got.shape, t.dtype, want.shape)
            near = np.allclose(got, want, rtol=2e-6 if t.dtype == np.float32 else 1e-13, atol=1e-7) if t.inexact else np.array_equal(got, want)
            assert near, "%s is\n%s\nand should be\n%s" % (self.name(t), got, want)

    def run(self):
        self.grow()
        outputs = [self.pool[-1]] + [t for t in self.pool[:-1] if self.chance(10)]
        try:
            for t in outputs:
                t.array()
        except Skip:
            return False
        lazies = [t.lazy for t in outputs]
        self.check(self.lw.compute(*lazies) if len(lazies) > 1 else [lazies[0].numpy()], outputs)
        for array in self.leaves:  # the arrays change: the next evaluation sees it
            if array.size:
                array.flat[self.random.randrange(array.size)] = 1
        for t in self.pool:
            t.memo.clear()
        try:
            for t in outputs:
                t.array()
        except Skip:
            return True
        self.check([t.lazy.numpy() for t in outputs], outputs)
        return True


# ---- einsum ----------------------------------------------------------------------------------------


class Einsum:
    """A random string with its operands; the result by one loop over all labels."""

    def __init__(self, lw, seed):
        self.lw, self.random = lw, random.Random(seed)
        self.dtype = self.random.choice(["float32", "float64", "int8", "int32", "int64", "bool"])
        labels = self.random.sample("abcdefgABXYZ", self.random.randint(1, 5))
        self.sizes = {x: self.random.randint(1, 4) for x in labels}
        self.inputs = [[self.random.choice(labels) for _ in range(self.random.randint(0, 4))] for _ in range(self.random.randint(1, 5))]
        used = [x for group in self.inputs for x in group]
        if self.random.randrange(3):
            kept = self.random.sample(sorted(set(used)), self.random.randint(0, min(4, len(set(used)))))
        else:
            kept = None
        self.output = kept if kept is not None else sorted(x for x in set(used) if used.count(x) == 1)
        self.spec = ",".join("".join(g) for g in self.inputs) + ("" if kept is None else "->" + "".join(kept))
        self.kept, self.arrays = kept, [self.operand(group) for group in self.inputs]

    def operand(self, group):
        shape = [1 if group.count(x) == 1 and self.random.randrange(8) == 0 else self.sizes[x] for x in group]
        low, high = (0, 1) if self.dtype == "bool" else (-3, 3)
        array = np.array([self.random.randint(low, high) for _ in range(math.prod(shape))], self.dtype).reshape(shape)
        return array[..., ::-1] if shape and self.random.randrange(4) == 0 else array

    def expected(self):
        used = list(dict.fromkeys(x for g in self.inputs for x in g))
        extent = {x: max(a.shape[i] for g, a in zip(self.inputs, self.arrays) for i, y in enumerate(g) if y == x) for x in used}
        result = {}
        for place in itertools.product(*(range(extent[x]) for x in used)):
            at = dict(zip(used, place))
            product = 1
            for group, array in zip(self.inputs, self.arrays):
                product *= array[tuple(at[x] if n > 1 else 0 for x, n in zip(group, array.shape))].item()
            key = tuple(at[x] for x in self.output)
            result[key] = result.get(key, 0) + product
        dtype, shape = np.dtype(self.dtype), [extent[x] for x in self.output]
        places = itertools.product(*map(range, shape))
        return np.array([store(dtype, result.get(p, 0)) for p in places], dtype).reshape(shape)

    def run(self):
        work = math.prod(self.sizes.values()) * len(self.inputs)
        if work > 3000:
            return False
        try:
            want = self.expected()
        except Skip:
            return False
        form, options = self.random.randrange(4), {}
        if self.random.randrange(3) == 0:
            options["optimize"] = self.random.choice([False, True, "greedy", "optimal"])
        if form == 0 and all(self.inputs):
            numbers = {x: i for i, x in enumerate(sorted(self.sizes))}
            words = [w for a, g in zip(self.arrays, self.inputs) for w in (a, [numbers[x] for x in g])]
            got = self.lw.einsum(*words, *([] if self.kept is None else [[numbers[x] for x in self.kept]]), **options)
        elif form == 1:
            out = np.full(want.shape, 1, want.dtype)
            got = self.lw.einsum(self.spec, *self.arrays, out=out, **options)
            assert got is out
        else:
            got = self.lw.einsum(self.spec, *self.arrays, **options)
        assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
        assert np.array_equal(got, want), "%s\nand should be\n%s" % (got, want)
        return True


def cases(lw, count, seed, kind):
    """Runs so many cases, and returns how many of them compared something. A failure tells its seed and the expression."""
    compared = 0
    for number in range(seed, seed + count):
        case = kind(lw, number)
        try:
            compared += case.run()
        except Exception:
            print("%s %d failed:" % (kind.__name__, number))
            print("\n".join(case.log) if kind is Case else "%s %s %s" % (case.spec, case.dtype, [a.shape for a in case.arrays]))
            raise
    return compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.build:
        os.environ["LW_BUILD"] = options.build
    import conftest
    import loopwright as lw
    for kind in (Case, Einsum):
        compared = cases(lw, options.count, options.seed, kind)
        print("%d runs of %s compared with plain loops" % (compared, "lazy expressions" if kind is Case else "einsums"))


if __name__ == "__main__":
    main()
