"""Shapes of programs: networks, signals, gathers and scatters, borders, updates in place, calls."""

import numpy as np

from . import bounds as B
from .cases import Case, einsum, load, plus_total, shape, total, total_of
from .library import TYPES


def literal(x, value):
    return value if isinstance(x, B.Real) else x.dtype.type(value)


# ---- Normalisation and attention -----------------------------------------------------------------


@shape()
def softmax(d):
    c, t = Case(d), d.one("f32", "f32", "f64", "f16")
    m, n = d.sizes(2, zero=False)
    column, logs = d.random() < 0.4, d.random() < 0.3
    x = c.data("A", t, "N,M" if column else "M,N", (n, m) if column else (m, n))
    at = "j,i" if column else "i,j"
    c.say("top(i) max=! A(%s)" % at, "E(%s) = exp(A(%s) - top(i))" % (at, at), "z(i) +=! E(%s)" % at)
    x = x.T if column else x
    shifted = x - B.largest(x, 1)[:, None]
    e = B.stored(B.call("exp", shifted), t)
    z = total(e, 1)
    if logs:
        c.say("O(%s) = A(%s) - top(i) - log(z(i))" % (at, at))
        value = shifted - B.call("log", z)[:, None]
    else:
        c.say("O(%s) = E(%s) / z(i)" % (at, at))
        value = e / z[:, None]
    c.result("O", total_of(t), value.T if column else value)
    return c


@shape()
def logsumexp(d):
    c, t = Case(d), d.one("f32", "f64")
    m, n = d.sizes(2, zero=False)
    x = c.data("A", t, "N,M", (n, m))
    c.say("top(i) max=! A(j,i)", "z(i) +=! exp(A(j,i) - top(i))", "O(i) = top(i) + log(z(i))")
    top = B.largest(x, 0)
    c.result("O", t, top + B.call("log", total(B.call("exp", x - top[None, :]), 0)))
    return c


@shape()
def layernorm(d):
    c, t = Case(d), d.one("f32", "f64")
    n, k = d.sizes(2, zero=False)
    x, g, b = c.data("I", t, "N,D", (n, k)), c.data("gamma", t, "D", (k,)), c.data("beta", t, "D", (k,))
    if d.random() < 0.5:
        c.say("mean(n) +=! I(n,d)", "mean(n) = mean(n) / D", "var(n) +=! (I(n,d) - mean(n)) * (I(n,d) - mean(n))",
              "var(n) = var(n) / D", "O(n,d) = (I(n,d) - mean(n)) * rsqrt(var(n) + 1e-5) * gamma(d) + beta(d)")
        off = x - (total(x, 1) / k)[:, None]
        value = off * B.call("rsqrt", total(off * off, 1) / k + 1e-5)[:, None] * g + b
    else:
        c.say("s(n) +=! I(n,d) * I(n,d)", "O(n,d) = I(n,d) * rsqrt(s(n) / D + 1e-5) * gamma(d) + beta(d)")
        value = x * B.call("rsqrt", total(x * x, 1) / k + 1e-5)[:, None] * g + b
    c.result("O", t, value)
    return c


@shape()
def attention(d):
    c, t = Case(d), d.one("f32", "f64")
    b, n, m, k = d.sizes(4, 12000, 24, zero=False)
    q, key, v = (c.data(name, t, dims, s) for name, dims, s in
                 (("Q", "B,N,D", (b, n, k)), ("K", "B,M,D", (b, m, k)), ("V", "B,M,D", (b, m, k))))
    causal = d.random() < 0.5
    c.say("s(b,n,m) +=! Q(b,n,d) * K(b,m,d)")
    s = einsum("bnd,bmd->bnm", q, key)
    if causal:
        c.say("s(b,n,m) = m <= n ? s(b,n,m) * 0.5 : -1e30")
        s = B.where(np.arange(m)[None, None, :] <= np.arange(n)[None, :, None], s * 0.5, -1e30)
    c.say("top(b,n) max=! s(b,n,m)", "p(b,n,m) = exp(s(b,n,m) - top(b,n))", "z(b,n) +=! p(b,n,m)",
          "O(b,n,d) +=! p(b,n,m) * V(b,m,d)", "O(b,n,d) = O(b,n,d) / z(b,n)")
    p = B.call("exp", s - B.largest(s, 2)[:, :, None])
    c.result("O", t, einsum("bnm,bmd->bnd", p, v) / total(p, 2)[:, :, None])
    return c


@shape()
def grouped_heads(d):
    """Queries of several heads that share one key."""
    c, t, g = Case(d), d.one("f32", "f64", "f16"), d.randint(1, 4)
    heads, n, k = d.sizes(3, 3000, zero=False)
    q, key = c.data("Q", t, "%d*H,D" % g, (g * heads, k)), c.data("K", t, "H,N,D", (heads, n, k))
    c.say("S(h,n) +=! Q(h,d) * K(h / %d, n, d)" % g)
    c.result("S", total_of(t), einsum("hd,hnd->hn", q, key[np.arange(g * heads) // g]))
    return c


@shape()
def rope(d):
    c, t = Case(d), d.one("f32", "f64")
    n, h = d.sizes(2, 8000)
    x, cos, sin = c.data("X", t, "N,2*H", (n, 2 * h)), c.data("C", t, "N,H", (n, h)), c.data("S", t, "N,H", (n, h))
    if d.random() < 0.5:
        even, odd = x[:, 0::2], x[:, 1::2]
        c.say("O(n,2*i) = X(n,2*i) * C(n,i) - X(n,2*i + 1) * S(n,i) where i in 0:H",
              "O(n,2*i + 1) = X(n,2*i + 1) * C(n,i) + X(n,2*i) * S(n,i) where i in 0:H")
        value = B.stack([even * cos - odd * sin, odd * cos + even * sin], 2).reshape(n, 2 * h)
    else:
        low, high = x[:, :h], x[:, h:]
        c.say("O(n,i) = X(n,i) * C(n,i) - X(n,i + H) * S(n,i) where i in 0:H",
              "O(n,i + H) = X(n,i + H) * C(n,i) + X(n,i) * S(n,i) where i in 0:H")
        value = B.concatenate([low * cos - high * sin, high * cos + low * sin], 1)
    c.result("O", t, value, "N,2*H")
    return c


@shape()
def dense_layers(d):
    """Calls of a function, one after the other."""
    c, t = Case(d), d.one("f32", "f64")
    b, m, n, k = d.sizes(4, 30000, 40)
    x = c.data("I", t, "B,M", (b, m))
    w1, b1 = c.data("W1", t, "N,M", (n, m)), c.data("b1", t, "N", (n,))
    w2, b2 = c.data("W2", t, "K,N", (k, n)), c.data("b2", t, "K", (k,))
    name = d.spell(t)
    c.helpers.append("def fcrelu(%s(B,M) I, %s(N,M) W, %s(N) b) -> (O) {\n    O(i,n) +=! I(i,m) * W(n,m)\n"
                     "    O(i,n) = relu(O(i,n) + b(n))\n}" % (name, name, name))
    c.say("H = fcrelu(I, W1, b1)", "O = fcrelu(H, W2, b2)")
    h = B.maximum(einsum("bm,nm->bn", x, w1) + b1, 0)
    c.result("O", t, B.maximum(einsum("bn,kn->bk", h, w2) + b2, 0))
    return c


@shape()
def sgemm(d):
    """An in-out result: the caller's content counts."""
    c, t = Case(d), d.one("f32", "f64")
    m, n, k = d.sizes(3)
    alpha, beta = c.take("a", t, None, d.data(t, ())), c.take("b", t, None, d.data(t, ()))
    x, y, old = c.data("A", t, "M,K", (m, k)), c.data("B", t, "K,N", (k, n)), d.data(t, (m, n))
    c.say("C(m,n) = b * C(m,n)", "C(m,n) += a * A(m,k) * B(k,n)")
    start = beta * load(t, old)
    terms = (alpha * x)[:, :, None] * y[None, :, :]
    c.result("C", t, plus_total(start, terms, 1), "M,N", old)
    return c


@shape()
def in_place(d):
    c, t = Case(d), d.number()
    m, n = d.sizes(2)
    a, old = c.data("A", t, "M,N", (m, n)), d.data(t, (m, n))
    text, f = d.choice((("O(i,j) = max(O(i,j), 0)", lambda o: B.maximum(o, literal(o, 0))),
                        ("O(i,j) = O(i,j) + A(i,j)", lambda o: o + a), ("O(i,j) = A(i,j) - O(i,j)", lambda o: a - o)))
    c.say(text)
    c.result("O", t, f(load(t, old)), "M,N", old)
    return c


@shape()
def accumulate(d):
    """`O(i) += ...` on a result that the caller has filled."""
    c, t = Case(d), d.one("f32", "f64", "i32", "i64", "u32")
    m, n = d.sizes(2)
    a, old = c.data("A", t, "N,M", (n, m), whole=True), d.data(t, (m,), whole=True)
    c.say("O(i) += A(j,i)")
    c.result("O", t, plus_total(load(t, old), a, 0), "M", old)
    return c


# ---- Windows -------------------------------------------------------------------------------------


def windows(x, axis, count, step, taps, dilation=1):
    """x with `axis` replaced by (count, taps): element step*i + dilation*k."""
    at = step * np.arange(count)[:, None] + dilation * np.arange(taps)[None, :]
    return x[(slice(None),) * axis + (at,)]


def padded(x, axis, before, after, value=0):
    wide = list(x.shape)
    parts = []
    for n in (before, after):
        wide[axis] = n
        filler = np.full(wide, value)
        parts.append(B.real(filler, x.t) if isinstance(x, B.Real) else filler.astype(x.dtype))
    return B.concatenate([parts[0], x, parts[1]], axis)


@shape()
def conv1d(d):
    c, t = Case(d), d.number()
    step, dilation, taps = d.one(1, 1, 2, 3), d.one(1, 1, 2, 4), d.size(7)
    ci, co, n = d.size(9), d.size(20), (taps - 1) * dilation + d.size(80)
    x, w = c.data("I", t, "C,N", (ci, n)), c.data("W", t, "F,C,K", (co, ci, taps))
    c.integer("s", step)
    c.integer("e", dilation)
    c.say("O(f,i) +=! I(c, s*i + e*k) * W(f,c,k)")
    count = (n - (taps - 1) * dilation - 1) // step + 1
    c.result("O", total_of(t), einsum("cik,fck->fi", windows(x, 1, count, step, taps, dilation), w))
    return c


@shape()
def conv2d(d):
    c, t = Case(d), d.one("f32", "f32", "f64", "i8", "u8", "i32", "f16")
    step, kh, kw = d.one(1, 1, 2, 3), d.randint(1, 4), d.randint(1, 4)
    b, ci, co = d.randint(1, 2), d.size(7), d.size(18)
    oh, ow = d.size(12), d.size(34)
    h, w = step * (oh - 1) + kh + d.randrange(step), step * (ow - 1) + kw + d.randrange(step)
    x, f = c.data("I", t, "B,C,H,W", (b, ci, h, w)), c.data("F", t, "O,C,KH,KW", (co, ci, kh, kw))
    c.say("Z(b,o,h,w) +=! I(b,c, %d*h + kh, %d*w + kw) * F(o,c,kh,kw)" % (step, step))
    view = windows(windows(x, 2, oh, step, kh), 4, ow, step, kw)
    c.result("Z", total_of(t), einsum("bchpwq,ocpq->bohw", view, f))
    return c


@shape()
def padded_conv2d(d):
    """Channels last or first, `same` padding."""
    c, t, k = Case(d), d.one("f32", "f32", "f64", "i16"), d.one(1, 3, 5)
    h, w, ci, co = d.size(12), d.size(33), d.size(6), d.size(33)
    p = k // 2
    if d.random() < 0.5:
        x, f = c.data("I", t, "H,W,C", (h, w, ci)), c.data("F", t, "R,S,C,K", (k, k, ci, co))
        c.say("O(h,w,k) +=! pad(I(h + r - %d, w + s - %d, c)) * F(r,s,c,k) where h in 0:H, w in 0:W" % (p, p))
        view = windows(windows(padded(padded(x, 0, p, p), 1, p, p), 0, h, 1, k), 2, w, 1, k)
        value = einsum("hrwsc,rsck->hwk", view, f)
    else:
        x, f = c.data("I", t, "C,H,W", (ci, h, w)), c.data("F", t, "K,C,R,S", (co, ci, k, k))
        c.say("O(k,h,w) +=! pad(I(c, h + r - %d, w + s - %d), 0) * F(k,c,r,s) where h in 0:H, w in 0:W" % (p, p))
        view = windows(windows(padded(padded(x, 1, p, p), 2, p, p), 1, h, 1, k), 3, w, 1, k)
        value = einsum("chrws,kcrs->khw", view, f)
    c.result("O", total_of(t), value)
    return c


@shape()
def depthwise(d):
    c, t, k = Case(d), d.one("f32", "f64", "u8"), d.randint(1, 5)
    ch, n, step = d.size(40), d.size(40), d.one(1, 2)
    x, f = c.data("I", t, "N,C", (step * (n - 1) + k, ch)), c.data("F", t, "K,C", (k, ch))
    c.say("O(i,c) +=! I(%d*i + k, c) * F(k,c)" % step)
    c.result("O", total_of(t), einsum("ikc,kc->ic", windows(x, 0, n, step, k), f))
    return c


@shape()
def grouped_conv(d):
    c, t = Case(d), d.one("f32", "f64")
    g, ci, co, n, k = d.randint(1, 4), d.size(5), d.size(9), d.size(40), d.randint(1, 4)
    x, f = c.data("I", t, "G,C,N", (g, ci, n + k - 1)), c.data("F", t, "G,O,C,K", (g, co, ci, k))
    c.say("O(g,o,i) +=! I(g,c,i + k) * F(g,o,c,k)")
    c.result("O", t, einsum("gcik,gock->goi", windows(x, 2, n, 1, k), f))
    return c


@shape()
def transposed_conv(d):
    """A strided convolution turned round: guards choose the taps that meet."""
    c, t, step = Case(d), d.one("f32", "f64", "i32"), d.randint(1, 3)
    n, k, ci = d.size(30), d.randint(1, 5), d.size(5)
    x, f = c.data("I", t, "C,N", (ci, n), whole=True), c.data("F", t, "C,K", (ci, k), whole=True)
    size = step * (n - 1) + k
    given = d.one("", " where o in 0:%d*(N - 1) + K, k in 0:K, c in 0:C" % step)
    c.say("O(o) +=! (o - k) %% %d == 0 && o >= k && o - k < %d*N ? I(c, (o - k) / %d) * F(c,k) : 0%s"
          % (step, step, step, given))
    value = 0
    for tap in range(k):
        column = total(x * f[:, tap][:, None], 0)
        spread = np.zeros(size, object)
        at = step * np.arange(n) + tap
        spread[at] = column.v if isinstance(column, B.Real) else column
        value = value + spread
    value = value.astype(np.float64 if isinstance(x, B.Real) else np.int32)
    c.result("O", t, B.Real(value, 0, x.t) if isinstance(x, B.Real) else value)
    return c


@shape()
def pooling(d):
    c, t = Case(d), d.number()
    k, step = d.randint(1, 4), d.randint(1, 3)
    b, oh, ow = d.size(6), d.size(14), d.size(35)
    x = c.data("I", t, "C,H,W", (b, step * (oh - 1) + k, step * (ow - 1) + k))
    op = d.one("max=!", "min=!", "+=!")
    c.say("O(c,i,j) %s I(c, %d*i + p, %d*j + q) where p in 0:%d, q in 0:%d, i in 0:%d, j in 0:%d"
          % (op, step, step, k, k, oh, ow))
    view = windows(windows(x, 1, oh, step, k), 3, ow, step, k)
    value = {"max=!": B.largest, "min=!": B.least, "+=!": total}[op](view, (2, 4))
    c.result("O", total_of(t) if op == "+=!" else t, value)
    return c


@shape()
def padded_pooling(d):
    c, t = Case(d), d.number()
    h, w = 2 * d.size(10), 2 * d.size(30)
    x = c.data("I", t, "H,W", (h, w))
    c.say("O(h,w) max=! pad(I(2*h + p - 1, 2*w + q - 1)) where p in 0:3, q in 0:3, h in 0:H/2, w in 0:W/2")
    low = -np.inf if isinstance(x, B.Real) else np.iinfo(x.dtype).min
    outer = padded(padded(x, 0, 1, 1, low), 1, 1, 1, low)
    c.result("O", t, B.largest(windows(windows(outer, 0, h // 2, 2, 3), 2, w // 2, 2, 3), (1, 3)))
    return c


@shape()
def stencil(d):
    """Five points of a plane; results from an origin of their own, or inside only."""
    c, t = Case(d), d.one("f32", "f64", "i32")
    h, w = 2 + d.size(60), 2 + d.size(60)
    x = c.data("A", t, "H,W", (h, w), whole=True)
    inner = x[1:-1, 1:-1] * literal(x, 4) - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]
    if d.random() < 0.5:
        c.say("O(i,j) = A(i,j) * 4 - A(i - 1,j) - A(i + 1,j) - A(i,j - 1) - A(i,j + 1)")
    else:
        c.say("O(i,j) = A(i + 1,j + 1) * 4 - A(i,j + 1) - A(i + 2,j + 1) - A(i + 1,j) - A(i + 1,j + 2)")
    c.result("O", t, inner)
    return c


@shape()
def heat(d):
    c, t = Case(d), d.one("f32", "f64")
    x, y, z = (2 + d.size(20) for _ in range(3))
    a = c.data("A", t, "X,Y,Z", (x, y, z))
    c.say("O(i,j,k) = A(i+1,j+1,k+1) + 0.125 * (A(i,j+1,k+1) + A(i+2,j+1,k+1) + A(i+1,j,k+1) + A(i+1,j+2,k+1) + "
          "A(i+1,j+1,k) + A(i+1,j+1,k+2) - 6 * A(i+1,j+1,k+1))")
    mid = a[1:-1, 1:-1, 1:-1]
    around = a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1] + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]
    c.result("O", t, mid + 0.125 * (around - 6 * mid))
    return c


@shape()
def borders(d):
    c, t, reach = Case(d), d.number(), d.randint(1, 3)
    n, m = d.size(60, 4), d.size(20)
    x = c.data("A", t, "M,N", (m, n), whole=True)
    kind = d.one("clamp", "mirror", "pad")
    read = "%s(A(i, j + k - %d)%s)" % (kind, reach, ", 1" if kind == "pad" else "")
    c.say("O(i,j) +=! %s where j in 0:N, k in 0:%d" % (read, 2 * reach + 1))
    at = np.arange(n)[:, None] + np.arange(2 * reach + 1)[None, :] - reach
    if kind == "mirror":
        near = np.where(at < 0, -at, np.where(at >= n, 2 * n - 2 - at, at))
        near = np.clip(near, 0, n - 1)
    else:
        near = np.clip(at, 0, n - 1)
    value = x[:, near]
    if kind == "pad":
        value = B.where((at >= 0) & (at < n), value, literal(x, 1))
    c.result("O", total_of(t), total(value, 2))
    return c


@shape()
def guarded_difference(d):
    c, t = Case(d), d.number()
    n = d.size(130)
    x = c.data("A", t, "N", (n,))
    c.say("O(i) = i > 0 ? A(i) - A(i - 1) : A(i) where i in 0:N", "P(i) = i < N - 1 ? A(i + 1) : 0 where i in 0:N")
    c.result("O", t, B.concatenate([x[:1], x[1:] - x[:-1]], 0))
    c.result("P", t, padded(x[1:], 0, 0, 1))
    return c


# ---- Sums of parts -------------------------------------------------------------------------------


@shape()
def scan(d):
    """Running sums, forwards and backwards, of rows or columns."""
    c, t = Case(d), d.one("f32", "f64", "i32", "i64", "u32", "i8")
    m, n = d.sizes(2, 4000, zero=False)
    column, back = d.random() < 0.5, d.random() < 0.5
    x = c.data("A", t, "N,M" if column else "M,N", (n, m) if column else (m, n), whole=True)
    at, left = ("A(k,i)", "j,i") if column else ("A(i,k)", "i,j")
    c.say("O(%s) +=! k %s j ? %s : 0 where j in 0:N" % (left, ">=" if back else "<=", at))
    x = x.T if column else x
    v = x.v if isinstance(x, B.Real) else x.astype(TYPES[total_of(t)][0])
    sums = np.cumsum(v[:, ::-1], 1)[:, ::-1] if back else np.cumsum(v, 1)
    sums = sums.T if column else sums
    c.result("O", total_of(t), B.Real(sums, 0, x.t) if isinstance(x, B.Real) else sums.astype(v.dtype))
    return c


@shape()
def butterfly(d):
    c, t = Case(d), d.number()
    m, h = d.sizes(2, 6000)
    x = c.data("A", t, "M,2*H", (m, 2 * h))
    if d.random() < 0.5:
        c.say("O(b,i) = A(b,i) + A(b,i + H) where i in 0:H", "O(b,i + H) = A(b,i) - A(b,i + H) where i in 0:H")
        value = B.concatenate([x[:, :h] + x[:, h:], x[:, :h] - x[:, h:]], 1)
    else:
        c.say("O(b,2*i) = A(b,2*i) + A(b,2*i + 1) where i in 0:H", "O(b,2*i + 1) = A(b,2*i) - A(b,2*i + 1) where i in 0:H")
        value = B.stack([x[:, 0::2] + x[:, 1::2], x[:, 0::2] - x[:, 1::2]], 2).reshape(m, 2 * h)
    c.result("O", t, value, "M,2*H")
    return c


@shape()
def argmax(d):
    c, t = Case(d), d.number()
    m, n = d.sizes(2, zero=False)
    column, least = d.random() < 0.4, d.random() < 0.5
    x = c.data("A", t, "N,M" if column else "M,N", (n, m) if column else (m, n), whole=True)
    at = "A(j,i)" if column else "A(i,j)"
    if least:
        c.say("top(i) min=! %s" % at, "P(i) min=! %s == top(i) ? j : N" % at)
    else:
        c.say("top(i) max=! %s" % at, "P(i) max=! %s == top(i) ? j : -1" % at)
    v = x.v if isinstance(x, B.Real) else x
    v = v.T if column else v
    c.result("P", "i64", v.argmin(1) if least else n - 1 - v[:, ::-1].argmax(1))
    return c


# ---- Subscripts from data ------------------------------------------------------------------------


@shape()
def embedding(d):
    """Rows chosen by indices; negative ones mean padding."""
    c, t, it = Case(d), d.number(), d.one("i32", "i64", "i16", "i8")
    e, k, b, l = d.size(60), d.size(70), d.size(9), d.size(12)
    table = c.data("E", t, "V,D", (e, k))
    index = d.index(it, (b, l), -1, e - 1)
    bag = d.random() < 0.5
    i = c.take("I", it, "B,L", index).astype(np.int64)
    c.say("O(b,d) +=! I(b,l) >= 0 ? E(I(b,l), d) : 0" if bag else "O(b,l,d) = I(b,l) >= 0 ? E(I(b,l), d) : 0")
    rows = B.where((i >= 0)[:, :, None], table[np.maximum(i, 0)], literal(table, 0))
    c.result("O", total_of(t) if bag else t, total(rows, 1) if bag else rows)
    return c


@shape()
def gather(d):
    c, t, it = Case(d), d.number(), d.one("i32", "i64", "u8", "u16", "u32", "u64")
    n, m, k = d.size(100, 2), d.size(130, 0), d.size(30)
    x, shift = c.data("X", t, "K,N", (k, n)), d.randint(0, 1)
    i = c.take("I", it, "M", d.index(it, (m,), 0, n - 1 - shift)).astype(np.int64)
    c.say("O(k,j) = X(k, I(j)%s)" % (" + 1" if shift else ""), "S(k) +=! X(k, I(j)%s)" % (" + 1" if shift else ""))
    got = x[:, i + shift]
    c.result("O", t, got)
    c.result("S", total_of(t), total(got, 1))
    return c


@shape()
def nested_gather(d):
    c, t = Case(d), d.one("f32", "i32", "f64")
    n, m, k = d.size(60), d.size(40), d.size(130, 0)
    x = c.data("X", t, "N", (n,))
    p, q = c.take("P", "i32", "M", d.index("i32", (m,), 0, n - 1)), c.take("Q", "i32", "K", d.index("i32", (k,), 0, m - 1))
    c.say("O(i) = X(P(Q(i)))")
    c.result("O", t, x[p[q]])
    return c


@shape()
def one_hot(d):
    c, t, it = Case(d), d.one("f32", "i32", "f64"), d.one("i32", "i64", "u8")
    n, k = d.size(60), d.size(60)
    i = c.take("I", it, "N", d.index(it, (n,), 0, k - 1))
    c.integer("C", k)
    values = ("1.0", "0.0") if t != "i32" else ("1", "0")
    value = (i[:, None] == np.arange(k)[None, :]).astype(np.int32)
    if t == "f64":
        values = ("double(1)", "0")
    c.say("O(i,c) = I(i) == c ? %s : %s where c in 0:C" % values)
    c.result("O", t, value if t == "i32" else B.real(value, t))
    return c


@shape()
def histogram(d):
    c, it = Case(d), d.one("i32", "i64", "u8", "u16")
    n, k = d.size(130, 0), d.size(40)
    i = c.take("I", it, "N", d.index(it, (n,), 0, k - 1))
    w = c.data("W", "f32", "N", (n,), whole=True)
    c.integer("K", k)
    c.say("H(I(i)) +=! 1", "G(I(i)) +=! W(i)")
    c.result("H", "i32", np.bincount(i.astype(np.int64), minlength=k), "K")
    c.result("G", "f32", B.Real(np.bincount(i.astype(np.int64), w.v.astype(np.float64), k), 0, "f32"), "K")
    return c


@shape()
def scatter_extreme(d):
    c, t = Case(d), d.one("f32", "i32", "f64", "u8")
    n, k = d.size(130, 0), d.size(30)
    i, x = c.take("I", "i32", "N", d.index("i32", (n,), 0, k - 1)), c.data("X", t, "N", (n,))
    c.integer("K", k)
    c.say("M(I(i)) max=! X(i)")
    v = x.v if isinstance(x, B.Real) else x
    out = np.full(k, -np.inf if isinstance(x, B.Real) else np.iinfo(x.dtype).min, v.dtype)
    np.maximum.at(out, i, v)
    c.result("M", t, B.Real(out, 0, x.t) if isinstance(x, B.Real) else out, "K")
    return c


@shape()
def embedding_gradient(d):
    c, t = Case(d), d.one("f32", "f64")
    b, l, k, e = d.size(9), d.size(9), d.size(40), d.size(20)
    g, i = c.data("grad", t, "B,D", (b, k), whole=True), c.take("I", "i32", "B,L", d.index("i32", (b, l), 0, e - 1))
    c.integer("E", e)
    c.say("G(I(b,l), d) +=! grad(b,d)")
    out = np.zeros((e, k), np.float64)
    np.add.at(out, i, np.repeat(g.v.astype(np.float64)[:, None, :], l, 1))
    c.result("G", t, B.Real(out, 0, g.t), "E,D")
    return c


@shape()
def sparse_product(d):
    """A sparse matrix by coordinates, or by rows of equal length."""
    c, t = Case(d), d.one("f32", "f64")
    rows, cols, nz = d.size(50), d.size(50), d.size(130, 0)
    x = c.data("x", t, "N", (cols,), whole=True)
    if d.random() < 0.5:
        v = c.data("v", t, "Z", (nz,), whole=True)
        r, k = (c.take(n, "i32", "Z", d.index("i32", (nz,), 0, m - 1)) for n, m in (("R", rows), ("C", cols)))
        c.integer("M", rows)
        c.say("y(R(e)) +=! v(e) * x(C(e))")
        out = np.zeros(rows, np.float64)
        np.add.at(out, r, (v * x[k]).v.astype(np.float64))
        c.result("y", t, B.Real(out, 0, x.t), "M")
    else:
        l = d.size(9)
        v, k = c.data("v", t, "M,L", (rows, l)), c.take("C", "i32", "M,L", d.index("i32", (rows, l), 0, cols - 1))
        c.say("y(i) +=! v(i,l) * x(C(i,l))")
        c.result("y", t, total(v * x[k], 1))
    return c


# ---- Calls, and indices as values ----------------------------------------------------------------


@shape()
def called_origin(d):
    """A call whose result starts above 0 is the argument of the next."""
    c, t = Case(d), d.one("f32", "f64", "i32", "i64")
    n = 4 + d.size(60)
    a, name = c.data("A", t, "N", (n,), whole=True), d.spell(t)
    c.helpers += ["def blur(%s(N) X) -> (Y) {\n    Y(i) = X(i - 1) + X(i) + X(i + 1)\n}" % name,
                  "def twice(%s(N) X) -> (Y) {\n    Y(i) = X(i) + X(i)\n}" % name,
                  "def rev(%s(N) X) -> (Y) {\n    Y(i) = X(N - 1 - i) where i in 0:N\n}" % name]
    second = d.one("blur", "twice", "rev")
    c.say("T = blur(A)", "O = %s(T)" % second)
    b = a[:-2] + a[1:-1] + a[2:]
    c.result("O", t, {"twice": lambda: b + b, "rev": lambda: b[::-1], "blur": lambda: b[:-2] + b[1:-1] + b[2:]}[second]())
    return c


@shape()
def positions(d):
    """Indices and sizes as values."""
    c, t = Case(d), d.one("f32", "f64")
    m, n = d.sizes(2, zero=False)
    x = c.data("A", t, "M,N", (m, n), whole=True)
    c.say("O(i,j) = A(i,j) + i * N + j", "P(j) +=! A(i,j) * i")
    at = np.arange(m)[:, None] * n + np.arange(n)[None, :]
    c.result("O", t, x + B.real(at, t))
    c.result("P", t, total(x * B.real(np.arange(m)[:, None], t), 0))
    return c


@shape()
def fourier(d):
    c, t = Case(d), "f64"
    n = d.size(40)
    x = c.data("X", t, "N", (n,))
    c.say("R(k) +=! X(j) * cos(6.283185307179586 * double((j * k) % N) / N) where k in 0:N",
          "I(k) +=! X(j) * sin(6.283185307179586 * double((j * k) % N) / N) where k in 0:N")
    angle = 6.283185307179586 * B.real((np.arange(n)[:, None] * np.arange(n)[None, :]) % n, "f64") / n
    for name, f in (("R", "cos"), ("I", "sin")):
        c.result(name, t, total(x[None, :] * B.call(f, angle), 1))
    return c


@shape()
def moving_average(d):
    c, t, k = Case(d), d.one("f32", "f64"), d.randint(1, 9)
    n, m = d.size(60), d.size(10)
    x = c.data("A", t, "M,N", (m, n + k - 1))
    c.say("S(i,j) +=! A(i, j + k) where k in 0:%d" % k, "O(i,j) = S(i,j) / %d" % k)
    c.result("O", t, total(windows(x, 1, n, 1, k), 2) / k)
    return c
