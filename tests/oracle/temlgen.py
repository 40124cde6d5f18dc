"""Random TeML programs with their meaning: assignments that are evaluated here, loop by loop, as docs/teml.md describes them, and paths."""

import itertools

NAMES = "ABCDEFGH"


class Assign:
    """target[left] = value(get, point) for all points, iterators in the order of `build`; `free`: any order gives the same."""

    def __init__(self, target, left, value, extents, free):
        self.target, self.left, self.value, self.extents, self.free = target, left, value, extents, free

    def run(self, data, written):
        for point in itertools.product(*[range(n) for n in self.extents]):
            at = tuple(f(point) for f in self.left)
            data[self.target][at] = self.value(lambda name, *sub: data[name][sub].item(), point, at)
            written[self.target][at] = True


def level(k, more=0):
    return lambda point: point[k] + more


class Maker:
    """Writes statements to `lines`, and knows the shape of each tensor and the assignments in order."""

    def __init__(self, rng):
        self.rng, self.lines, self.shape, self.init, self.assigns = rng, [], {}, {}, []
        self.type = rng.choice(["double", "double", "float", "int", "long"])
        self.stmts = []  # (name of the assignment, number)

    def say(self, text, *args):
        self.lines.append(text % args if args else text)

    def tensor(self, shape, init=None):
        name = "T%d" % len(self.shape)
        self.shape[name] = tuple(shape)
        kind = "" if self.type == "double" and self.rng.random() < 0.5 else self.type + ", "
        self.say("%s = tensor(%s[%s])", name, kind, ", ".join(map(str, shape)))
        if init == "fill":
            self.init[name] = self.rng.randint(-2, 2)
            self.say("init(%s, %d)", name, self.init[name])
        elif init == "list":
            size = 1
            for n in shape:
                size *= n
            self.init[name] = [self.rng.choice([1, 2, 3]) for _ in range(size)]
            self.say("init(%s, [%s])", name, ", ".join(map(str, self.init[name])))
        return name

    def sizes(self, n):
        return [self.rng.randint(2, 6) for _ in range(n)]

    def operand(self, shape):
        """An input, a tensor with listed elements, or the result of an assignment before."""
        old = [t for t, s in self.shape.items() if s == tuple(shape) and any(a.target == t for a in self.assigns)]
        if old and self.rng.random() < 0.4:
            return self.rng.choice(old)
        small = len(shape) <= 2 and self.rng.random() < 0.15
        return self.tensor(shape, "list" if small else None)

    def add(self, name, target, left, value, extents, free):
        if len(extents) > 7:
            return
        self.assigns.append(Assign(target, left, value, extents, free))
        self.stmts.append((name, len(self.assigns) - 1))

    def result(self, shape, init=None):
        """The name of an assignment and the tensor that it writes: the tensor's own, or another with @."""
        target = self.tensor(shape, init)
        if self.rng.random() < 0.5:
            return target, target, ""
        return "a%d" % len(self.assigns), target, "@%s: " % target

    # ---- Assignments ---------------------------------------------------------------------------

    def contract(self):
        """Several pairs of dimensions; what is left of the first operand, then of the second."""
        pairs = self.rng.randint(1, 2)
        left, right = self.rng.randint(0, 2), self.rng.randint(0, 1)
        if left + right == 0:
            left = 1
        common, mine, other = self.sizes(pairs), self.sizes(left), self.sizes(right)
        a = [("r", k) for k in range(pairs)] + [("m", k) for k in range(left)]
        b = [("r", k) for k in range(pairs)] + [("o", k) for k in range(right)]
        self.rng.shuffle(a)
        self.rng.shuffle(b)
        mine_in_order = [k for kind, k in a if kind == "m"]
        other_in_order = [k for kind, k in b if kind == "o"]
        size = {"r": common, "m": mine, "o": other}
        one, two = (self.operand([size[kind][k] for kind, k in dims]) for dims in (a, b))
        shape = [mine[k] for k in mine_in_order] + [other[k] for k in other_in_order]
        name, target, at = self.result(shape, self.rng.choice(["fill", None]))
        text = ["[%d, %d]" % (a.index(("r", k)) + 1, b.index(("r", k)) + 1) for k in range(pairs)]
        n = len(shape)
        place = {("m", k): i for i, k in enumerate(mine_in_order)}
        place.update({("o", k): left + i for i, k in enumerate(other_in_order)})
        place.update({("r", k): n + k for k in range(pairs)})
        virtual = self.rng.random() < 0.3
        if virtual and one != target and two != target:  # S - vcontract(...): it overwrites
            s = self.operand(shape)
            v = "v%d" % len(self.assigns)
            self.say("%s = vcontract(%s, %s, %s)", v, one, two, text[0] if pairs == 1 else "[%s]" % ", ".join(text))
            self.say("%s = %sentrywise_sub(%s, %s)", name, at, s, v)

            def value(get, point, _):
                total = sum(get(one, *[point[place[d]] if d[0] != "r" else r[d[1]] for d in a]) *
                            get(two, *[point[place[d]] if d[0] != "r" else r[d[1]] for d in b])
                            for r in itertools.product(*map(range, common)))
                return get(s, *point) - total
            self.add(name, target, [level(k) for k in range(n)], value, shape, target not in (one, two))
            return
        self.say("%s = %scontract(%s, %s, %s)", name, at, one, two, text[0] if pairs == 1 else "[%s]" % ", ".join(text))

        def total(get, point, sub):
            return get(target, *sub) + get(one, *[point[place[d]] for d in a]) * get(two, *[point[place[d]] for d in b])
        self.add(name, target, [level(k) for k in range(n)], total, shape + common, target not in (one, two))

    def entrywise(self):
        shape = self.sizes(self.rng.randint(1, 3))
        operands = [self.operand(shape) for _ in range(self.rng.randint(2, 3))]
        op = self.rng.choice(["add", "sub", "mul"])
        name, target, at = self.result(shape)
        virtual = len(operands) == 2 and self.rng.random() < 0.3
        if virtual:
            v, iters = "v%d" % len(self.assigns), ", ".join("i%d" % (k + 1) for k in range(len(shape)))
            self.say("%s = v%s(%s, %s, [[%s], [%s]])", v, op, operands[0], operands[1], iters, iters)
            self.say("%s = %sadd(%s, %s, [[%s], ] -> [%s])", name, at, operands[0], v, iters, iters)
        else:
            self.say("%s = %sentrywise_%s(%s)", name, at, op, ", ".join(operands))

        def value(get, point, _):
            values = [get(t, *point) for t in operands]
            total = values[0]
            for x in values[1:]:
                total = total + x if op == "add" else total - x if op == "sub" else total * x
            return values[0] + total if virtual else total
        self.add(name, target, [level(k) for k in range(len(shape))], value, shape, True)

    def transpose(self):
        shape = self.sizes(self.rng.randint(2, 3))
        pairs = [self.rng.sample(range(len(shape)), 2) for _ in range(self.rng.randint(1, 2))]
        x = self.operand(shape)
        order = list(range(len(shape)))  # dimension d of the result is dimension order[d] of x
        for p, q in pairs:
            order[p], order[q] = order[q], order[p]
        name, target, at = self.result([shape[d] for d in order])
        self.say("%s = %stranspose(%s, [%s])", name, at, x, ", ".join("[%d, %d]" % (p + 1, q + 1) for p, q in pairs))

        def value(get, point, _):
            sub = [0] * len(shape)
            for d, of in enumerate(order):
                sub[of] = point[d]
            return get(x, *sub)
        self.add(name, target, [level(k) for k in range(len(shape))], value, [shape[d] for d in order], True)

    def outer(self):
        one, two = self.sizes(self.rng.randint(1, 2)), self.sizes(1)
        a, b = self.operand(one), self.operand(two)
        name, target, at = self.result(one + two)
        self.say("%s = %souterproduct(%s, %s)", name, at, a, b)
        n = len(one)
        self.add(name, target, [level(k) for k in range(n + 1)],
                 lambda get, point, _: get(a, *point[:n]) * get(b, point[n]), one + two, True)

    def recurrence(self):
        """Reads what earlier iterations wrote: the order of its loops is its meaning."""
        n, m = self.sizes(2)
        w = [self.rng.randint(0, 2) for _ in range(4)]  # of the write, and of the read
        t = self.tensor([n + max(w[0], w[2]), m + max(w[1], w[3])])
        x = self.operand([n, m])
        rows = n + max(w[0], w[2]) - max(w[0], w[2])
        self.say("%s = add(%s, %s, [[i1, i2], [i1 + %d, i2 + %d]] -> [i1 + %d, i2 + %d])", t, x, t, w[2], w[3], w[0], w[1])
        self.add(t, t, [level(0, w[0]), level(1, w[1])],
                 lambda get, point, _: get(x, *point) + get(t, point[0] + w[2], point[1] + w[3]), [rows, m], False)

    def window(self):
        n, k = self.rng.randint(2, 7), self.rng.randint(2, 4)
        x, f = self.operand([n + k - 1]), self.operand([k])
        name, target, at = self.result([n], "fill")
        v = "v%d" % len(self.assigns)
        self.say("%s = vmul(%s, %s, [[i1 + i2], [i2]])", v, x, f)
        self.say("%s = %sadd(%s, %s, [[i1], ] -> [i1])", name, at, target, v)
        self.add(name, target, [level(0)],
                 lambda get, point, sub: get(target, *sub) + get(x, point[0] + point[1]) * get(f, point[1]), [n, k], target not in (x, f))

    def diagonal(self):
        n, m = self.sizes(2)
        x = self.operand([n, n, m])
        name, target, at = self.result([m, n])
        self.say("%s = %seq(%s, [i1, i1, i2] -> [i2, i1])", name, at, x)
        self.add(name, target, [level(1), level(0)], lambda get, point, _: get(x, point[0], point[0], point[1]), [n, m], True)

    def assignment(self):
        kinds = [self.contract] * 3 + [self.entrywise, self.transpose, self.outer, self.recurrence, self.recurrence, self.window, self.diagonal]
        self.rng.choice(kinds)()


class Path:
    """Random steps. `loops`: name of a loop value: the assignments that it runs, in order."""

    def __init__(self, rng, maker):
        self.rng, self.maker, self.loops, self.count, self.holes = rng, maker, {}, 0, {}

    def number(self, lines, value):
        """A number: itself, an expression of it, or a parameter with choices."""
        kind = self.rng.randrange(4)
        if kind == 0:
            name = "p%d" % self.count
            choices = sorted({value, 1, 2, 3})
            lines.append("param %s = %d in [%s]" % (name, self.rng.choice(choices), ", ".join(map(str, choices))))
            return name
        return "%d - 1" % (value + 1) if kind == 1 else str(value)

    def step(self):
        """(lines, the new loop's name, its assignments), or None."""
        r, lines = self.rng, []
        self.count += 1
        new, old = "l%d" % self.count, r.choice(list(self.loops))
        runs = self.loops[old]
        a, b, size = r.randint(1, 5), r.randint(1, 5), r.randint(1, 4)
        op = r.choice(["stripmine", "interchange", "interchange", "interchange_n", "stripmine_n", "tile", "unroll", "unroll2", "jam", "skew", "skew",
                       "parallelize", "vectorize", "fuse_outer", "fuse_outer", "fuse_inner"])
        if op == "fuse_outer":
            other = r.choice(list(self.loops))
            if set(self.loops[other]) & set(runs):
                return None
            call, runs = "fuse_outer(%s, %s, %d)" % (old, other, r.randint(1, 2)), sorted(runs + self.loops[other])
        else:
            call = {"stripmine": "stripmine(%s, %d, %s)" % (old, a, self.number(lines, size)),
                    "interchange": "interchange(%s, %d, %d)" % (old, a, b),
                    "interchange_n": "interchange_n(%s, %d, %d)" % (old, a, r.randint(1, 2)),
                    "stripmine_n": "stripmine_n(%s, %d, %s)" % (old, r.randint(1, 2), size),
                    "tile": "tile(%s, %s)" % (old, self.number(lines, size)),
                    "unroll": "unroll(%s, %d)" % (old, a), "unroll2": "unroll(%s, %d, 2)" % (old, a),
                    "jam": "unroll_and_jam(%s, %d, 2)" % (old, a),
                    "skew": "skew(%s, %d, %d, %d)" % (old, a, b, r.choice([1, 1, 2, -1])),
                    "parallelize": "parallelize(%s, %d)" % (old, a), "vectorize": "vectorize(%s, %d)" % (old, a),
                    "fuse_inner": "fuse_inner(%s, %d)" % (old, a)}[op]
        wrapped = r.randrange(4)
        if wrapped == 0:  # as a function of its loop
            own = "xy"[self.count % 2]  # a name of its own, or the parameter
            lines += ["def f%d(x) {" % self.count, "    %s = " % own + call.replace(old, "x", 1), "    return " + own, "}", "%s = f%d(%s)" % (new, self.count, old)]
        elif wrapped == 1:
            lines += ["for q in 0:1 { %s = %s }" % (new, call)]
        else:
            lines += ["%s = %s" % (new, call)]
        return [line for line in lines if not (line.startswith("param") and line.split()[1] not in call)], new, runs


def program(rng):
    """A Maker with one to three assignments, and a Path that has built each of them."""
    maker = Maker(rng)
    while not maker.assigns or (len(maker.assigns) < 3 and rng.random() < 0.5):
        maker.assignment()
    path = Path(rng, maker)
    for name, number in maker.stmts:
        if any(a == name for a, k in maker.stmts if k > number):
            continue
        maker.say("b%d = build(%s)", number, name)
        path.loops["b%d" % number] = [number]
    return maker, path
