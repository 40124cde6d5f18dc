"""Shapes of programs: reductions, products, element-wise arithmetic, types, and ways to subscript."""

import numpy as np

from . import bounds as B
from .cases import FLOATS, INTS, Case, einsum, floor_div, floor_mod, load, multiplied, shape, total, total_of, wide
from .library import TYPES

SIGNED = ("i8", "i16", "i32", "i64")
OPS = {"+=!": total, "*=!": multiplied, "max=!": B.largest, "min=!": B.least}


def kept_type(op, t):
    return total_of(t) if op in ("+=!", "*=!") else t


# ---- Reductions ----------------------------------------------------------------------------------

LAYOUTS = (("M,K", "m,k", "m", 1), ("K,M", "k,m", "m", 0), ("M,K", "m,k", "", (0, 1)), ("M,K,N", "m,k,n", "m,n", 1),
           ("K,M,N", "k,m,n", "m,n", 0), ("M,N,K", "m,n,k", "m,n", 2), ("K,M,L", "k,m,l", "m", (0, 2)))


@shape(12)
def function_reduction(d):
    """Row, column and inner reductions of a function."""
    c, t, name = Case(d), d.float(), d.choice(sorted(B.FUNCTIONS))
    if t == "f64" and name in B.ONLY_F32:
        name = "exp"
    dims, at, left, axis = d.choice(LAYOUTS)
    op = d.one("+=!", "+=!", "+=!", "max=!", "min=!")
    x = c.data("A", t, dims, d.sizes(dims.count(",") + 1), *B.FUNCTIONS[name][1], whole=False)
    c.say("O(%s) %s %s(A(%s))" % (left, op, name, at))
    c.result("O", kept_type(op, t), OPS[op](B.call(name, x), axis))
    return c


@shape(4)
def plain_reduction(d):
    c, t = Case(d), d.number()
    dims, at, left, axis = d.choice(LAYOUTS)
    op = d.one("+=!", "*=!", "max=!", "min=!")
    high = 2 if op == "*=!" else 3
    x = c.data("A", t, dims, d.sizes(dims.count(",") + 1), *((0.9, 1.1, False) if op == "*=!" and t in FLOATS else (-high, high)))
    c.say("O(%s) %s A(%s)" % (left, op, at))
    c.result("O", kept_type(op, t), OPS[op](x, axis))
    return c


@shape(6)
def integer_reduction(d):
    """Reductions of integer arithmetic; operands of narrow types are widened only in sums and products."""
    c, t = Case(d), d.one("i32", "i64", "u32", "u64")
    dims, at, left, axis = d.choice(LAYOUTS)
    sizes = d.sizes(dims.count(",") + 1)
    a, b = c.data("A", t, dims, sizes), c.data("B", t, dims, sizes)
    text, value = d.choice((
        ("A(I) / B(I)", lambda: floor_div(a, b)), ("A(I) % B(I)", lambda: floor_mod(a, b)), ("A(I) & B(I)", lambda: a & b),
        ("A(I) | B(I)", lambda: a | b), ("A(I) ^ B(I)", lambda: a ^ b), ("abs(A(I) - B(I))", lambda: absolute(a - b)),
        ("min(A(I), B(I))", lambda: np.minimum(a, b)), ("A(I) > B(I) ? A(I) : B(I) + 1", lambda: np.where(a > b, a, b + 1).astype(a.dtype)),
        ("(A(I) << 3) + (B(I) >> 2)", lambda: (a << 3) + (b >> 2)), ("A(I) % 7", lambda: floor_mod(a, np.full_like(a, 7))),
        ("A(I) / 5", lambda: floor_div(a, np.full_like(a, 5)))))
    op = d.choice(sorted(OPS))
    c.say("O(%s) %s %s" % (left, op, text.replace("I", at)))
    c.result("O", t, OPS[op](value(), axis))
    return c


def absolute(x):
    return np.where(x < 0, np.negative(x), x).astype(x.dtype) if x.dtype.kind == "i" else x


@shape(4)
def cast_reduction(d):
    """Sums of converted elements."""
    c, t, to = Case(d), d.one("i8", "u8", "i16", "u16", "i32"), d.one("f32", "f64")
    dims, at, left, axis = d.choice(LAYOUTS)
    x = c.data("A", t, dims, d.sizes(dims.count(",") + 1), whole=True)
    c.say("O(%s) +=! %s(A(%s))" % (left, d.spell(to), at))
    c.result("O", to, total(B.real(x, to), axis))
    return c


@shape()
def count(d):
    c, t = Case(d), d.number()
    m, n = d.sizes(2)
    a, b = c.data("A", t, "M,N", (m, n), whole=True), c.data("B", t, "N", (n,), whole=True)
    c.say("O(i) +=! A(i,j) > B(j) ? 1 : 0")
    more = a.v > b.v if isinstance(a, B.Real) else a > b
    c.result("O", "i32", more.sum(1))
    return c


@shape(2)
def norms(d):
    c, t = Case(d), d.float()
    m, n = d.sizes(2)
    column = d.random() < 0.5
    x = c.data("A", t, "N,M" if column else "M,N", (n, m) if column else (m, n))
    at, axis = ("A(j,i)", 0) if column else ("A(i,j)", 1)
    c.say("L(i) +=! abs(%s)" % at, "S(i) +=! %s * %s" % (at, at), "E(i) = sqrt(S(i))", "X(i) max=! fabs(%s)" % at)
    squares = total(x * x, axis)
    c.result("L", total_of(t), total(B.absolute(x), axis))
    c.result("S", total_of(t), squares)
    c.result("E", total_of(t), B.call("sqrt", squares))
    c.result("X", t, B.largest(B.absolute(x), axis))
    return c


@shape()
def moments(d):
    c, t = Case(d), d.one("f32", "f64")
    m, n = d.sizes(2, zero=False)
    x = c.data("A", t, "M,N", (m, n))
    column = d.random() < 0.5
    left, size, axis = ("j", "M", 0) if column else ("i", "N", 1)
    c.say("mu(%s) +=! A(i,j)" % left, "mu(%s) = mu(%s) / %s" % (left, left, size),
          "V(%s) +=! (A(i,j) - mu(%s)) * (A(i,j) - mu(%s))" % (left, left, left), "V(%s) = V(%s) / %s" % (left, left, size))
    mean = total(x, axis) / (m if column else n)
    off = x - (mean[None, :] if column else mean[:, None])
    c.result("V", t, total(off * off, axis) / (m if column else n))
    c.result("mu", t, mean)
    return c


# ---- Products ------------------------------------------------------------------------------------


@shape(3)
def matmul(d):
    c, t = Case(d), d.number()
    m, n, k = d.sizes(3, 120000)
    ta, tb = d.one(0, 1), d.one(0, 1)
    a = c.data("A", t, "K,M" if ta else "M,K", (k, m) if ta else (m, k))
    b = c.data("B", t, "N,K" if tb else "K,N", (n, k) if tb else (k, n))
    c.say("C(m,n) +=! A(%s) * B(%s)" % ("k,m" if ta else "m,k", "n,k" if tb else "k,n"))
    c.result("C", total_of(t), einsum("%s,%s->mn" % ("km" if ta else "mk", "nk" if tb else "kn"), a, b))
    return c


@shape(6)
def contraction(d):
    """Two or three tensors with any indices: one statement."""
    c, t = Case(d), d.one("f32", "f64", "i32", "i64", "u32", "i8", "f16")
    letters = "ijkl"[:d.randint(2, 4)]
    sizes = dict(zip(letters, d.sizes(len(letters), 20000)))
    names = ["".join(d.sample(letters, d.randint(1, len(letters)))) for _ in range(d.randint(1, 3))]
    used = sorted(set("".join(names)))
    out = "".join(d.sample(used, d.randint(0, min(3, len(used)))))
    xs = [c.data("ABC"[i], t, ",".join(n.upper()), [sizes[x] for x in n], whole=True) for i, n in enumerate(names)]
    c.say("O(%s) +=! %s" % (",".join(out), " * ".join("%s(%s)" % ("ABC"[i], ",".join(n)) for i, n in enumerate(names))))
    if len(out) == len(used):  # nothing is reduced: narrow types stay
        c.result("O", t, einsum("%s->%s" % (",".join(names), out), *xs))
    else:
        c.result("O", total_of(t), einsum("%s->%s" % (",".join(names), out), *xs))
    return c


@shape()
def batched_product(d):
    c, t = Case(d), d.number()
    b, m, n, k = d.sizes(4, 60000, 40)
    x, y = c.data("X", t, "B,M,K", (b, m, k)), c.data("Y", t, "B,N,K", (b, n, k))
    c.say("Z(b,n,m) +=! X(b,m,k) * Y(b,n,k)" if d.random() < 0.5 else "Z(b,n,m) +=! Y(b,n,kk) * X(b,m,kk)")
    c.result("Z", total_of(t), einsum("bmk,bnk->bnm", x, y))
    return c


@shape()
def quantised(d):
    c = Case(d)
    m, n, k = d.sizes(3, 100000)
    a, w = c.data("A", "u8", "M,K", (m, k)), c.data("W", "i8", "K,N", (k, n))
    z, s = c.data("zero", "i32", "N", (n,)), c.data("scale", "f32", "N", (n,))
    c.say("S(m,n) +=! int32(A(m,k)) * int32(W(k,n))", "O(m,n) = float(S(m,n) - zero(n)) * scale(n)")
    got = einsum("mk,kn->mn", a, w)
    c.result("S", "i32", got)
    c.result("O", "f32", B.real((got - z).astype(np.int32), "f32") * s)
    return c


@shape()
def block_quantised(d):
    """Weights of eight bits with a scale per block of the sum."""
    c, block = Case(d), d.one(4, 8, 16, 32)
    n, blocks, m = d.size(64), d.size(6), d.size(5)
    k = block * blocks
    w, s = c.data("W", "i8", "N,%d*G" % block, (n, k), whole=True), c.data("S", "f32", "N,G", (n, blocks))
    x = c.data("X", "f32", "M,%d*G" % block, (m, k))
    c.say("Y(m,n) +=! float(W(n,k)) * S(n,k/%d) * X(m,k)" % block)
    weights = B.real(w, "f32") * s[:, np.arange(k) // block]
    c.result("Y", "f32", einsum("nk,mk->mn", weights, x))
    return c


@shape()
def min_plus(d):
    c, t = Case(d), d.one("f32", "f64", "i32", "i64")
    m, n, k = d.sizes(3)
    a, b = c.data("A", t, "M,K", (m, k), whole=True), c.data("B", t, "K,N", (k, n), whole=True)
    op = d.one("min=!", "max=!")
    c.say("O(i,j) %s A(i,k) + B(k,j)" % op)
    c.result("O", t, OPS[op](a[:, :, None] + b[None, :, :], 1))
    return c


@shape()
def bilinear(d):
    c, t = Case(d), d.one("f32", "f64", "f16")
    n, k, i, j = d.sizes(4, 40000, 30)
    a, w, b = c.data("A", t, "N,I", (n, i)), c.data("W", t, "K,I,J", (k, i, j)), c.data("B", t, "N,J", (n, j))
    c.say("O(n,k) +=! A(n,i) * W(k,i,j) * B(n,j)")
    c.result("O", total_of(t), einsum("ni,kij,nj->nk", a, w, b))
    return c


@shape()
def chain(d):
    c, t = Case(d), d.one("f32", "f64")
    m, k, n, p = d.sizes(4, 60000, 40)
    a, b, e = c.data("A", t, "M,K", (m, k)), c.data("B", t, "K,N", (k, n)), c.data("D", t, "N,P", (n, p))
    c.say("T(m,n) +=! A(m,k) * B(k,n)", "O(m,p) +=! T(m,n) * D(n,p)")
    c.result("O", t, einsum("mn,np->mp", einsum("mk,kn->mn", a, b), e))
    return c


@shape()
def kronecker(d):
    c, t = Case(d), d.number()
    m, n, p, q = d.sizes(4, 30000, 24, zero=False)
    a, b = c.data("A", t, "M,N", (m, n), whole=True), c.data("B", t, "P,Q", (p, q), whole=True)
    c.say("O(P*i + k, Q*j + l) = A(i,j) * B(k,l)")
    value = a.reshape(m, 1, n, 1) * b.reshape(1, p, 1, q)
    c.result("O", t, value.reshape(m * p, n * q))
    return c


@shape()
def distances(d):
    c, t = Case(d), d.one("f32", "f64")
    m, n, k = d.sizes(3)
    a, b = c.data("A", t, "M,K", (m, k)), c.data("B", t, "N,K", (n, k))
    c.say("D(i,j) +=! (A(i,k) - B(j,k)) * (A(i,k) - B(j,k))")
    off = a[:, None, :] - b[None, :, :]
    c.result("D", t, total(off * off, 2))
    return c


# ---- Element by element --------------------------------------------------------------------------


@shape(3)
def arithmetic(d):
    """Expressions of + - * and comparisons: bit by bit, also in floats."""
    c, t = Case(d), d.number()
    m, n = d.sizes(2)
    a, b, s = c.data("A", t, "M,N", (m, n)), c.data("B", t, "M,N", (m, n)), c.data("s", t, "N", (n,))
    if t in FLOATS:
        c.say("O(i,j) = (A(i,j) + s(j)) * B(i,j) - A(i,j) / (abs(B(i,j)) + 1)")
        value = (a + s) * b - a / (B.absolute(b) + 1)
    else:
        c.say("O(i,j) = (A(i,j) + s(j)) * B(i,j) - A(i,j) / B(i,j) + A(i,j) % s(j)")
        value = (a + s) * b - floor_div(a, b) + floor_mod(a, np.broadcast_to(s, a.shape))
    c.result("O", t, value)
    return c


@shape()
def bits(d):
    c, t = Case(d), d.int()
    n, width = d.size(130, 0), TYPES[t][2]
    a, b, s = c.data("A", t, "N", (n,)), c.data("B", t, "N", (n,)), d.randrange(width)
    c.say("O(i) = ((A(i) & B(i)) | (A(i) ^ 3)) << %d" % s, "P(i) = A(i) >> %d" % s, "Q(i) = max(A(i), B(i)) - min(A(i), B(i))")
    c.result("O", t, ((a & b) | (a ^ a.dtype.type(3))) << a.dtype.type(s))
    c.result("P", t, a >> a.dtype.type(s))
    c.result("Q", t, np.maximum(a, b) - np.minimum(a, b))
    return c


@shape()
def popcount(d):
    c, t = Case(d), d.one("u8", "u16", "u32", "u64")
    m, n = d.sizes(2, 4000)
    a = c.data("A", t, "M,N", (m, n))
    c.say("O(i) +=! int((A(i,j) >> b) & 1) where b in 0:%d" % TYPES[t][2])
    c.result("O", "i32", np.array([sum(bin(int(x)).count("1") for x in row) for row in a], np.int32))
    return c


@shape()
def conversions(d):
    """Every type to every type."""
    c, t, to = Case(d), d.one(*TYPES), d.one(*TYPES)
    n = d.size(130, 0)
    x = c.data("A", t, "N", (n,), -200, 400)
    c.say("O(i) = %s(A(i))" % d.spell(to))
    c.result("O", to, converted(x, t, to))
    return c


def converted(x, t, to):
    if isinstance(x, B.Real):
        if to in FLOATS:
            return B.stored(x, to)
        if to == "bool":
            return x.v != 0
        info = np.iinfo(TYPES[to][0])
        return np.array([min(max(int(v), info.min), info.max) for v in x.v], TYPES[to][0])
    if to == "bool":
        return x != 0
    return B.stored(B.real(x, "f64" if to == "f64" else "f32"), to) if to in FLOATS else x.astype(TYPES[to][0])


@shape()
def mixed_types(d):
    """The common type of two operands."""
    c, t, u = Case(d), d.one("i8", "u8", "i16", "u16", "i32", "u32"), d.one("f32", "f64", "i64", "i32")
    n = d.size(130, 0)
    a, b = c.data("A", t, "N", (n,), whole=True), c.data("B", u, "N", (n,), whole=True)
    c.say("O(i) = A(i) * B(i) + A(i)")
    if u in FLOATS:
        w = B.real(a, u)
        c.result("O", u, w * b + w)
    else:
        common = "i64" if u == "i64" or t == "u32" else "i32"
        w = a.astype(TYPES[common][0])
        c.result("O", common, w * b.astype(w.dtype) + w)
    return c


@shape(3)
def functions(d):
    """Several functions of one tensor, element by element."""
    c, t = Case(d), d.float()
    names = d.sample([f for f in sorted(B.FUNCTIONS) if t != "f64" or f not in B.ONLY_F32], 2)
    low = max(B.FUNCTIONS[f][1][0] for f in names)
    high = min(B.FUNCTIONS[f][1][1] for f in names)
    if low >= high:
        names, (low, high) = names[:1], B.FUNCTIONS[names[0]][1]
    m, n = d.sizes(2, 8000)
    x = c.data("A", t, "M,N", (m, n), low, high, whole=False)
    for name, out in zip(names, "PQ"):
        c.say("%s(i,j) = %s(A(i,j))" % (out, name))
        c.result(out, t, B.call(name, x))
    return c


@shape()
def activations(d):
    c, t = Case(d), d.one("f32", "f64")
    n = d.size(130, 0)
    x = c.data("X", t, "N", (n,))
    s = B.call("sigmoid", x)
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    c.say("S(i) = X(i) * sigmoid(X(i))", "G(i) = 0.5 * X(i) * (1 + tanh(0.7978845608 * (X(i) + 0.044715 * X(i) * X(i) * X(i))))",
          "E(i) = X(i) > 0 ? X(i) : expm1(X(i))", "L(i) = max(X(i), 0.01 * X(i))", "R(i) = relu(X(i))")
    c.result("S", t, x * s)
    c.result("G", t, 0.5 * x * (1 + B.call("tanh", inner)))
    c.result("E", t, B.where(x.v > 0, x, B.call("expm1", B.where(x.v > 0, 0, x))))
    c.result("L", t, B.maximum(x, 0.01 * x))
    c.result("R", t, B.maximum(x, 0))
    return c


@shape()
def steps(d):
    c, t = Case(d), d.float()
    n = d.size(130, 0)
    x = c.data("A", t, "N", (n,), -9, 9)
    for out, name in zip("PQ", d.sample(sorted(B.STEPS), 2)):
        c.say("%s(i) = %s(A(i))" % (out, name))
        c.result(out, t, B.Real(B.STEPS[name](x.v), 0, x.t))
    return c


@shape()
def horner(d):
    c, t, order = Case(d), d.one("f32", "f64"), d.randint(1, 8)
    n = d.size(130, 0)
    x, k = c.data("X", t, "N", (n,)), c.data("K", t, "%d" % (order + 1), (order + 1,))
    text, value = "K(0)", k[0]
    for i in range(1, order + 1):
        text, value = "(%s) * X(i) + K(%d)" % (text, i), value * x + k[i]
    c.say("O(i) = " + text)
    c.result("O", t, value)
    return c


@shape()
def scalars(d):
    """Scalars read at run time, and an axpy."""
    c, t = Case(d), d.one("f32", "f64")
    n = d.size(130, 0)
    a = c.take("a", t, None, d.data(t, ()))
    x, y = c.data("X", t, "N", (n,)), c.data("Y", t, "N", (n,))
    c.say("O(i) = a * X(i) + Y(i)")
    c.result("O", t, a * x + y)
    return c


@shape()
def masked_fill(d):
    c, t = Case(d), d.number()
    m, n = d.sizes(2)
    a, mask = c.data("A", t, "M,N", (m, n)), c.data("K", "bool", "M,N", (m, n))
    c.say(d.one("O(i,j) = K(i,j) ? A(i,j) : 1", "O(i,j) = select(K(i,j), A(i,j), 1)"))
    one = 1 if isinstance(a, B.Real) else a.dtype.type(1)
    c.result("O", t, B.where(mask, a, one))
    return c


# ---- Moving elements -----------------------------------------------------------------------------


@shape(2)
def permute(d):
    c, t = Case(d), d.one(*TYPES)
    rank = d.randint(2, 4)
    names, sizes = "ijkl"[:rank], d.sizes(rank, 40000, 70)
    order = d.sample(range(rank), rank)
    x = c.data("A", t, ",".join(names.upper()), sizes)
    c.say("O(%s) = A(%s)" % (",".join(names[i] for i in order), ",".join(names)))
    c.result("O", t, x.transpose(*order))
    return c


@shape()
def flatten(d):
    c, t = Case(d), d.number()
    m, n = d.sizes(2, zero=False)
    x = c.data("A", t, "M,N", (m, n))
    if d.random() < 0.5:
        c.say("O(N*i + j) = A(i,j)")
        c.result("O", t, x.reshape(m * n))
    else:
        c.say("O(k) = A(k / N, k % N) where k in 0:M*N", "Q(i,j) = A(M - 1 - i, j) where i in 0:M")
        c.result("O", t, x.reshape(m * n))
        c.result("Q", t, x[::-1])
    return c


@shape()
def interleave(d):
    """One result, several partial definitions."""
    c, t = Case(d), d.number()
    n = d.size(100)
    a, b = c.data("A", t, "N", (n,)), c.data("B", t, "N", (n,))
    if d.random() < 0.5:
        c.say("O(2*i) = A(i) where i in 0:N", "O(2*i + 1) = B(i) where i in 0:N")
        c.result("O", t, B.stack([a, b], 1).reshape(2 * n), "2*N")
    else:
        c.say("O(i) = A(i) where i in 0:N", "O(N + i) = B(i) where i in 0:N")
        c.result("O", t, B.concatenate([a, b], 0), "2*N")
    return c


@shape()
def concatenation(d):
    c, t, axis = Case(d), d.number(), d.one(0, 1, -1)
    m, n, p = d.sizes(3, 10000, 60)
    a = c.data("A", t, "M,N", (m, n))
    b = c.data("B", t, "P,N" if axis == 0 else "M,P", (p, n) if axis == 0 else (m, p))
    c.say("O = concat(A, B%s)" % ("" if axis == -1 and d.random() < 0.5 else ", axis = %d" % axis))
    c.result("O", t, B.concatenate([a, b], axis))
    return c


@shape()
def diagonals(d):
    c, t = Case(d), d.number()
    n = d.size(100)
    a = c.data("A", t, "N,N", (n, n))
    c.say("D(i) = A(i,i)", "T() +=! A(i,i)", "L(i,j) = i >= j ? A(i,j) : 0", "U(i,j) = j - i > 1 ? A(i,j) : 1")
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    zero, one = (0, 1) if isinstance(a, B.Real) else (a.dtype.type(0), a.dtype.type(1))
    diagonal = a[np.arange(n), np.arange(n)]
    c.result("D", t, diagonal)
    c.result("T", total_of(t), total(diagonal, 0))
    c.result("L", t, B.where(i >= j, a, zero))
    c.result("U", t, B.where(j - i > 1, a, one))
    return c


@shape()
def upsample(d):
    c, t, f = Case(d), d.number(), d.randint(2, 4)
    h, w = d.sizes(2, 2000, zero=False)
    a = c.data("A", t, "H,W", (h, w))
    c.say("O(i,j) = A(i / %d, j / %d) where i in 0:%d*H, j in 0:%d*W" % (f, f, f, f))
    c.result("O", t, a[np.arange(f * h) // f][:, np.arange(f * w) // f])
    return c


@shape()
def pixel_shuffle(d):
    c, t, f = Case(d), d.number(), d.randint(2, 3)
    ch, h, w = d.sizes(3, 3000, zero=False)
    a = c.data("A", t, "%d*C,H,W" % (f * f), (f * f * ch, h, w))
    c.say("O(c,y,x) = A(%d*c + %d*(y %% %d) + x %% %d, y / %d, x / %d) where c in 0:C, y in 0:%d*H, x in 0:%d*W"
          % (f * f, f, f, f, f, f, f, f))
    value = a.reshape(ch, f, f, h, w).transpose(0, 3, 1, 4, 2).reshape(ch, f * h, f * w)
    c.result("O", t, value)
    return c


@shape()
def repeated(d):
    """An index that occurs in a range only repeats the statement."""
    c, t, times = Case(d), d.one("f32", "f64", "i32", "u64"), d.randint(1, 9)
    n = d.size(130, 0)
    a = c.data("A", t, "N", (n,), whole=True)
    c.say("O(i) +=! A(i) where j in 0:%d" % times)
    c.result("O", t, a * (times if isinstance(a, B.Real) else a.dtype.type(times)))
    return c


@shape()
def alias(d):
    """A name for a value inside a statement."""
    c, t = Case(d), d.one("f32", "f64")
    m, n = d.sizes(2)
    a, b = c.data("A", t, "M,N", (m, n)), c.data("B", t, "N", (n,))
    c.say("O(i,j) = x * x + B(j) where x = A(i,j) - B(j)")
    x = a - b
    c.result("O", t, x * x + b)
    return c


@shape()
def redefined(d):
    """A tensor that later statements change, after others have read it."""
    c, t = Case(d), d.one("f32", "f64", "i32", "i64")
    m, n = d.sizes(2)
    a = c.data("A", t, "M,N", (m, n), whole=True)
    c.say("T(i) +=! A(i,j)", "P(i) = T(i) + 1", "T(i) = T(i) * 2", "Q(i) = T(i) - P(i)", "T(i) += A(i,j)")
    first = total(a, 1)
    two, one = (2, 1) if isinstance(a, B.Real) else (first.dtype.type(2), first.dtype.type(1))
    c.result("P", t, first + one)
    c.result("Q", t, first * two - (first + one))
    c.result("T", t, first * two + first)
    return c
