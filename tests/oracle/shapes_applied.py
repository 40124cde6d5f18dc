"""Shapes of programs: statistics, images, geometry, losses, wide strides and offsets."""

import numpy as np

from . import bounds as B
from .cases import Case, einsum, load, shape, total, total_of
from .library import TYPES
from .shapes_models import literal, padded, windows


@shape()
def cross_entropy(d):
    """Labels pick an element of each row."""
    c, t = Case(d), d.one("f32", "f64")
    n, k = d.sizes(2, 6000, zero=False)
    x = c.data("X", t, "N,K", (n, k))
    y = c.take("Y", "i32", "N", d.index("i32", (n,), 0, k - 1))
    c.say("top(i) max=! X(i,j)", "z(i) +=! exp(X(i,j) - top(i))", "L(i) = log(z(i)) + top(i) - X(i,Y(i))", "S() +=! L(i)")
    top = B.largest(x, 1)
    loss = B.call("log", total(B.call("exp", x - top[:, None]), 1)) + top - x[np.arange(n), y]
    c.result("L", t, loss)
    c.result("S", t, total(loss, 0))
    return c


@shape()
def batchnorm(d):
    """Over columns, with statistics of the batch."""
    c, t = Case(d), d.one("f32", "f64")
    n, k = d.sizes(2, 8000, zero=False)
    x, g = c.data("X", t, "N,C", (n, k)), c.data("g", t, "C", (k,))
    c.say("mu(c) +=! X(n,c)", "mu(c) = mu(c) / N", "v(c) +=! (X(n,c) - mu(c)) * (X(n,c) - mu(c))",
          "O(n,c) = (X(n,c) - mu(c)) / sqrt(v(c) / N + 1e-3) * g(c)")
    off = x - (total(x, 0) / n)[None, :]
    c.result("O", t, off / B.call("sqrt", total(off * off, 0) / n + 1e-3)[None, :] * g[None, :])
    return c


@shape()
def groupnorm(d):
    c, t = Case(d), d.one("f32", "f64")
    g, ch, w = d.sizes(3, 4000, 30, zero=False)
    x = c.data("X", t, "G,C,W", (g, ch, w))
    c.say("s(g) +=! X(g,c,w)", "q(g) +=! X(g,c,w) * X(g,c,w)", "O(g,c,w) = X(g,c,w) - s(g) / (C * W)", "R(g) = q(g) / (C * W)")
    s, q = total(x, (1, 2)), total(x * x, (1, 2))
    c.result("O", t, x - (s / (ch * w))[:, None, None])
    c.result("R", t, q / (ch * w))
    return c


@shape()
def covariance(d):
    """A Gram matrix, and its upper triangle only."""
    c, t = Case(d), d.one("f32", "f64", "i32", "i16")
    n, k = d.sizes(2, 3000, zero=False)
    x = c.data("X", t, "N,K", (n, k), whole=True)
    c.say("G(i,j) +=! X(n,i) * X(n,j)", "U(i,j) = i <= j ? G(i,j) : 0")
    g = einsum("ni,nj->ij", x, x)
    c.result("G", total_of(t), g)
    c.result("U", total_of(t), B.where(np.arange(k)[:, None] <= np.arange(k)[None, :], g, literal(g, 0)))
    return c


@shape()
def cosine(d):
    c, t = Case(d), d.one("f32", "f64")
    m, n, k = d.sizes(3, 20000, zero=False)
    a, b = c.data("A", t, "M,K", (m, k), 0.5, 2), c.data("B", t, "N,K", (n, k), 0.5, 2)
    c.say("x(i) +=! A(i,k) * A(i,k)", "y(j) +=! B(j,k) * B(j,k)", "d(i,j) +=! A(i,k) * B(j,k)",
          "O(i,j) = d(i,j) * rsqrt(x(i)) * rsqrt(y(j))")
    x, y = B.call("rsqrt", total(a * a, 1)), B.call("rsqrt", total(b * b, 1))
    c.result("O", t, einsum("ik,jk->ij", a, b) * x[:, None] * y[None, :])
    return c


@shape()
def triangular_product(d):
    """Only part of a sum exists: a guard over its indices."""
    c, t = Case(d), d.one("f32", "f64", "i32")
    n, m = d.sizes(2, 2500, 60, zero=False)
    a, b = c.data("A", t, "N,N", (n, n), whole=True), c.data("B", t, "N,M", (n, m), whole=True)
    lower = d.random() < 0.5
    c.say("O(i,j) +=! k %s i ? A(i,k) * B(k,j) : 0" % ("<=" if lower else ">="))
    at = np.arange(n)
    keep = at[None, :] <= at[:, None] if lower else at[None, :] >= at[:, None]
    c.result("O", total_of(t), einsum("ik,kj->ij", B.where(keep, a, literal(a, 0)), b))
    return c


@shape()
def banded(d):
    """A band of a matrix, stored by diagonals."""
    c, t, w = Case(d), d.one("f32", "f64"), d.randint(1, 4)
    n = d.size(100)
    a, x = c.data("A", t, "N,%d" % (2 * w + 1), (n, 2 * w + 1)), c.data("x", t, "N", (n,))
    c.say("y(i) +=! A(i,k) * pad(x(i + k - %d), 0)" % w)
    c.result("y", t, total(a * windows(padded(x, 0, w, w), 0, n, 1, 2 * w + 1), 1))
    return c


@shape()
def integral_image(d):
    c, t = Case(d), d.one("i32", "i64", "u32", "f64")
    h, w = d.sizes(2, 400, 24, zero=False)
    x = c.data("A", t, "H,W", (h, w), whole=True)
    c.say("R(y,x) +=! k <= x ? A(y,k) : 0 where x in 0:W", "O(y,x) +=! k <= y ? R(k,x) : 0 where y in 0:H")
    v = x.v if isinstance(x, B.Real) else x
    sums = np.cumsum(np.cumsum(v, 1, dtype=v.dtype), 0, dtype=v.dtype)
    c.result("O", t, B.Real(sums, 0, x.t) if isinstance(x, B.Real) else sums)
    return c


@shape()
def running_extreme(d):
    c, t = Case(d), d.number()
    n, k = d.size(80), d.size(12)
    x = c.data("A", t, "N", (n + k - 1,))
    c.integer("K", k)
    c.integer("M", n)
    c.say("O(i) max=! A(i + k) where k in 0:K, i in 0:M", "P(i) max=! k <= i ? A(k) : A(0) where i in 0:M")
    c.result("O", t, B.largest(windows(x, 0, n, 1, k), 1))
    v = x.v if isinstance(x, B.Real) else x
    running = np.array([max(v[:i + 1]) for i in range(n)], v.dtype)
    c.result("P", t, B.Real(running, 0, x.t) if isinstance(x, B.Real) else running)
    return c


@shape()
def blend(d):
    """Eight-bit images, computed in wider integers and converted back."""
    c = Case(d)
    h, w = d.sizes(2, 6000)
    a, b, m = (c.data(n, "u8", "H,W", (h, w)) for n in "ABM")
    c.say("O(y,x) = u8((int(A(y,x)) * int(M(y,x)) + int(B(y,x)) * (255 - int(M(y,x)))) / 255)",
          "G(y,x) = u8((int(A(y,x)) * 77 + int(B(y,x)) * 150 + int(M(y,x)) * 29) >> 8)", "D(y,x) = A(y,x) - B(y,x)")
    i, j, k = (x.astype(np.int32) for x in (a, b, m))
    c.result("O", "u8", (i * k + j * (255 - k)) // 255)
    c.result("G", "u8", (i * 77 + j * 150 + k * 29) >> 8)
    c.result("D", "u8", a - b)
    return c


@shape()
def hamming(d):
    c, t = Case(d), d.one("u8", "u32", "i64")
    m, n = d.sizes(2, 3000)
    a, b = c.data("A", t, "M,K", (m, 3)), c.data("B", t, "N,K", (n, 3))
    c.say("D(i,j) +=! A(i,k) != B(j,k) ? 1 : 0")
    c.result("D", "i32", (a[:, None, :] != b[None, :, :]).sum(2))
    return c


@shape()
def quaternions(d):
    """Points under matrices, and products of quaternions by constant subscripts."""
    c, t = Case(d), d.one("f32", "f64")
    n = d.size(100, 0)
    p, q = c.data("P", t, "N,4", (n, 4)), c.data("Q", t, "N,4", (n, 4))
    c.say("O(i,0) = P(i,0)*Q(i,0) - P(i,1)*Q(i,1) - P(i,2)*Q(i,2) - P(i,3)*Q(i,3) where i in 0:N",
          "O(i,1) = P(i,0)*Q(i,1) + P(i,1)*Q(i,0) + P(i,2)*Q(i,3) - P(i,3)*Q(i,2) where i in 0:N",
          "O(i,2) = P(i,0)*Q(i,2) - P(i,1)*Q(i,3) + P(i,2)*Q(i,0) + P(i,3)*Q(i,1) where i in 0:N",
          "O(i,3) = P(i,0)*Q(i,3) + P(i,1)*Q(i,2) - P(i,2)*Q(i,1) + P(i,3)*Q(i,0) where i in 0:N")
    a, b = [p[:, i] for i in range(4)], [q[:, i] for i in range(4)]
    rows = [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]]
    c.result("O", t, B.stack(rows, 1), "N,4")
    return c


@shape()
def resize(d):
    """Rows and columns at a rational ratio, and linear interpolation between them."""
    c, t = Case(d), d.one("f32", "f64")
    n, p, q = 2 + d.size(40), d.randint(1, 5), d.randint(1, 5)
    m = (n - 2) * p // q + 1
    x = c.data("A", t, "N", (n,))
    c.integer("M", m)
    c.say("O(i) = A(%d*i / %d) + (A(%d*i / %d + 1) - A(%d*i / %d)) * 0.5 where i in 0:M" % (q, p, q, p, q, p))
    at = q * np.arange(m) // p
    c.result("O", t, x[at] + (x[at + 1] - x[at]) * 0.5)
    return c


@shape()
def im2col(d):
    c, t, k = Case(d), d.number(), d.randint(1, 4)
    h, w = d.size(14), d.size(30)
    x = c.data("A", t, "H,W", (h + k - 1, w + k - 1))
    c.say("O(y,x,r,s) = A(y + r, x + s) where r in 0:%d, s in 0:%d" % (k, k))
    c.result("O", t, windows(windows(x, 0, h, 1, k), 2, w, 1, k).transpose(0, 2, 1, 3))
    return c


@shape()
def conv3d(d):
    c, t, k = Case(d), d.one("f32", "f64", "i32"), d.randint(1, 3)
    x, y, z, f = d.size(8), d.size(8), d.size(18), d.size(5)
    a, w = c.data("A", t, "X,Y,Z", (x + k - 1, y + k - 1, z + k - 1)), c.data("W", t, "F,I,J,K", (f, k, k, k))
    c.say("O(f,x,y,z) +=! A(x + i, y + j, z + k) * W(f,i,j,k)")
    view = windows(windows(windows(a, 0, x, 1, k), 2, y, 1, k), 4, z, 1, k)
    c.result("O", total_of(t), einsum("xiyjzk,fijk->fxyz", view, w))
    return c


@shape()
def joint_histogram(d):
    c = Case(d)
    n, k, l = d.size(130, 0), d.size(12), d.size(12)
    i, j = (c.take(name, "u8", "N", d.index("u8", (n,), 0, m - 1)) for name, m in (("I", k), ("J", l)))
    c.integer("K", k)
    c.integer("L", l)
    c.say("H(I(n), J(n)) +=! 1", "F(L * I(n) + J(n)) +=! 1")
    out = np.zeros((k, l), np.int32)
    np.add.at(out, (i, j), 1)
    c.result("H", "i32", out, "K,L")
    c.result("F", "i32", out.reshape(k * l), "K*L")
    return c


@shape()
def segment_sum(d):
    """Rows summed into the segments that they belong to, on top of what is there."""
    c, t = Case(d), d.one("f32", "f64", "i32")
    n, k, s = d.size(60, 0), d.size(40), d.size(12)
    x, at = c.data("X", t, "N,K", (n, k), whole=True), c.take("S", "i32", "N", d.index("i32", (n,), 0, s - 1))
    old = d.data(t, (s, k), whole=True)
    c.integer("M", s)
    c.say("O(S(n), k) += X(n,k)")
    out = old.astype(np.float64 if isinstance(x, B.Real) else old.dtype)
    np.add.at(out, at, x.v.astype(np.float64) if isinstance(x, B.Real) else x)
    c.result("O", t, B.Real(out, 0, x.t) if isinstance(x, B.Real) else out, "M,K", old)
    return c


@shape()
def wide_steps(d):
    """Large strides, offsets and dilations of one subscript."""
    c, t = Case(d), d.number()
    n, step, lead = d.size(30), d.choice((1, 7, 100, 1000)), d.choice((0, 1, 63, 4099))
    x = c.data("A", t, "N", (step * (n - 1) + lead + 1,))
    c.integer("M", n)
    c.say("O(i) = A(%d*i + %d) where i in 0:M" % (step, lead), "P(i) = A(%d - %d*i) where i in 0:M" % (step * (n - 1) + lead, step))
    at = step * np.arange(n) + lead
    c.result("O", t, x[at])
    c.result("P", t, x[step * (n - 1) + lead - step * np.arange(n)])
    return c


@shape()
def unit_extents(d):
    """Dimensions of one element or none, broadcast by constant subscripts."""
    c, t = Case(d), d.number()
    m, n = d.size(40, 0), d.size(40, 0)
    a, b = c.data("A", t, "M,1", (m, 1)), c.data("B", t, "1,N", (1, n))
    c.say("O(i,j) = A(i,0) + B(0,j)", "S(k,j) +=! A(i,k) * B(k,j)")
    c.result("O", t, a + b)
    c.result("S", total_of(t), einsum("ik,kj->kj", a, b))
    return c


@shape()
def cached(d):
    """Rows put at a place of a cache that the caller keeps; the rest of it stays."""
    c, t = Case(d), d.one("f32", "f64", "f16")
    n, k = 2 + d.size(30), d.size(60)
    pos = d.randrange(n)
    row, old = c.data("k", t, "D", (k,)), d.data(t, (n, k))
    c.integer("pos", pos)
    c.size("N", n)
    c.say("C(pos,d) = k(d)", "S(n) +=! C(n,d) * k(d)")
    full = load(t, old)
    at = np.arange(n)[:, None] == pos
    full = B.where(at, B.Real(np.broadcast_to(row.v, (n, k)), 0, row.t), full)
    c.result("C", t, full, "N,D", old)
    c.result("S", total_of(t), einsum("nd,d->n", full, row))
    return c


@shape()
def several_results(d):
    """A call with several results, used again."""
    c, t = Case(d), d.one("f32", "f64", "i32")
    m, n = d.sizes(2, 6000)
    a, name = c.data("A", t, "M,N", (m, n), whole=True), d.spell(t)
    c.helpers.append("def parts(%s(M,N) X) -> (R, C) {\n    R(i) +=! X(i,j)\n    C(j) +=! X(i,j)\n}" % name)
    c.say("(r, s) = parts(A)", "O(i,j) = r(i) * s(j) - A(i,j)")
    c.result("O", t, total(a, 1)[:, None] * total(a, 0)[None, :] - a)
    return c


@shape(2)
def mixed_guards(d):
    """Guards of indices and of data together."""
    c, t = Case(d), d.number()
    m, n = d.sizes(2, 6000, zero=False)
    a, b = c.data("A", t, "M,N", (m, n), whole=True), c.data("B", t, "M,N", (m, n), whole=True)
    data_guard = d.random() < 0.7
    c.say("O(i,j) = i > 0 && A(i - 1,j) < B(i,j) ? A(i - 1,j) : B(i,j) where i in 0:M",
          "S(j) +=! i % 2 == 0" + (" || A(i,j) >= B(i,j)" if data_guard else "") + " ? A(i,j) : B(i,j)")
    av, bv = (a.v, b.v) if isinstance(a, B.Real) else (a, b)
    above = av[np.maximum(np.arange(m) - 1, 0)]
    first = (np.arange(m) > 0)[:, None] & (above < bv)
    up = a[np.maximum(np.arange(m) - 1, 0)]
    c.result("O", t, B.where(first, up, b))
    even = (np.arange(m) % 2 == 0)[:, None]
    pick = even | (av >= bv) if data_guard else np.broadcast_to(even, (m, n))
    c.result("S", total_of(t), total(B.where(pick, a, b), 0))
    return c


@shape()
def narrow_subscripts(d):
    """Arithmetic on subscripts is 64-bit, whatever type they are read from."""
    c, t, it = Case(d), d.number(), d.one("i8", "u8", "u8", "i16", "u16")
    top, m, k = np.iinfo(TYPES[it][0]).max, d.size(130, 0), d.size(3)
    scale, shift = d.choice(((1, 1), (1, 3), (2, 0), (2, 1)))
    low = max(0, top - 40)
    x = c.data("X", t, "K,N", (k, scale * top + shift + 1))
    i = c.take("I", it, "M", d.index(it, (m,), low, top)).astype(np.int64)
    c.say("O(k,j) = X(k, %d * I(j) + %d)" % (scale, shift), "S(k) +=! X(k, I(j) + %d)" % shift,
          "Y(j) = X(0, %d - I(j)) where j in 0:M" % top)
    c.result("O", t, x[:, scale * i + shift])
    c.result("S", total_of(t), total(x[:, i + shift], 1))
    c.result("Y", t, x[0][top - i])
    return c


@shape()
def far_subscripts(d):
    """Subscripts read near the ends of their type, brought back by a constant that the type does not hold."""
    c, t, it = Case(d), d.number(), d.one("i32", "u32", "i16", "u16")
    info, n, m = np.iinfo(TYPES[it][0]), d.size(40), d.size(130, 0)
    x = c.data("X", t, "N", (n,))
    at = d.index("i64", (m,), 0, n - 1)
    if d.random() < 0.5 and it[0] == "i":
        c.take("I", it, "M", (at + info.min).astype(info.dtype))
        c.say("O(j) = X(I(j) + %d)" % -info.min)
    else:
        c.take("I", it, "M", (at + (info.max - n + 1)).astype(info.dtype))
        c.say("O(j) = X(I(j) - %d)" % (info.max - n + 1))
    c.result("O", t, x[at])
    return c
