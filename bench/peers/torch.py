#!/usr/bin/python3
"""PyTorch and NumPy as a peer, by the lines of peer.h.

    copy N   axpy N   triad N   chain N     y = x; a x + y; relu(a x + y); a chain of eight pointwise steps
    transpose M N   softmax M N   layernorm M N   rowsum M N   colsum M N
    bgemm B M N K T                         B products; T 1: each right operand is stored N x K, 2: each left one K x M
    tmm M N K   tbmm B N M K                TC's names for that
    embedding R C N                         rows by subscripts
    lut B D L E   lut2 B D L E              TC's 1LUT: sums of L rows of a table; 2LUT: of two tables
    c3 B WX WY   fcrelu B I O   mlp3 B N O P Q
    kru M D0 D1 D2 N0 N1 N2                 a product with a Kronecker product of three factors
    conv2d N C F H W K STRIDE PAD           channels first
    convnchw N C F H W K   gconv N G C F H W K
    groupnorm N G D H W   moments N K
    attention B N M D E
    einsum SPEC SHAPE...                    NumPy, "ij,jk->ik 64x32 32x16"; einsum64: in double

A word `numpy` behind a task asks for NumPy instead.
"""
import os
import socket
import sys
import time

import numpy as np

clock = time.monotonic_ns if os.environ.get("LW_WALL") else time.thread_time_ns
torch = None
if os.environ.get("LW_ROW") != "numpy":
    try:
        import torch
        import torch.nn.functional as F
    except ImportError:
        sys.exit(1)


def states(n, seed):
    """The first n states of the generator in peer.h: by doubling, as a step of it is linear over bits."""
    def one(x):
        x ^= x << 13 & 0xffffffff
        x ^= x >> 17
        return x ^ (x << 5 & 0xffffffff)
    columns = [one(1 << i) for i in range(32)]

    def tables(columns):
        made = []
        for byte in range(4):
            t = np.zeros(256, np.uint32)
            for i in range(8):
                t[1 << i:2 << i] = t[:1 << i] ^ np.uint32(columns[8 * byte + i])
            made.append(t)
        return made

    def apply(t, x):
        return t[0][x & 255] ^ t[1][x >> 8 & 255] ^ t[2][x >> 16 & 255] ^ t[3][x >> 24]
    x = np.empty(n, np.uint32)
    if n:
        x[0] = one((2463534242 + seed * 7919) & 0xffffffff)
    have = 1
    while have < n:
        t, more = tables(columns), min(have, n - have)
        x[have:have + more] = apply(t, x[:more])
        columns = [int(c) for c in apply(t, np.array(columns, np.uint32))]
        have += more
    return x


def operand(seed, *shape):
    n = int(np.prod(shape))
    return ((states(n, seed) % 17).astype(np.float32) - 8).reshape(shape) / np.float32(8)


def subscripts(seed, most, *shape):
    n = int(np.prod(shape))
    return (states(n, seed) % np.uint32(most + 1)).astype(np.int32).reshape(shape)


# Each task gives a function without arguments whose value is the result.

def numpy_task(op, a):
    if op == "copy":
        x, y = operand(0, a[0]), np.empty(a[0], np.float32)
        return lambda: (np.copyto(y, x), y)[1]
    if op == "axpy":
        x, y = operand(0, a[0]), operand(1, a[0])
        k = np.float32(0.5)
        return lambda: k * x + y
    if op in ("rowsum", "colsum"):
        x = operand(0, *a)
        return lambda: x.sum(axis=1 if op == "rowsum" else 0)
    return None


def einsum_task(words, dtype):
    shapes = [[int(n) for n in w.split("x")] for w in words[1:]]
    x = [operand(i, *s).astype(dtype) for i, s in enumerate(shapes)]
    path = np.einsum_path(words[0], *x, optimize="optimal")[0]
    return lambda: np.einsum(words[0], *x, optimize=path)


def torch_task(op, a):
    t = lambda seed, *shape: torch.from_numpy(operand(seed, *shape))
    if op == "copy":
        x, y = t(0, a[0]), torch.empty(a[0])
        return lambda: y.copy_(x)
    if op == "axpy":
        x, y = t(0, a[0]), t(1, a[0])
        return lambda: torch.add(y, x, alpha=0.5)
    if op == "triad":
        x, y = t(0, a[0]), t(1, a[0])
        return lambda: torch.add(y, x, alpha=0.5).relu_()
    if op == "chain":
        x, y = t(0, a[0]), t(1, a[0])
        return lambda: ((x * y + x).relu() * 0.5 - y).abs() * x + y
    if op == "transpose":
        x = t(0, *a)
        y = torch.empty(a[1], a[0])
        return lambda: y.copy_(x.t())
    if op == "softmax":
        x = t(0, *a)
        return lambda: F.softmax(x, dim=1)
    if op == "layernorm":
        x, g, b = t(0, *a), t(1, a[1]), t(2, a[1])
        return lambda: F.layer_norm(x, (a[1],), g, b, 1e-5)
    if op in ("rowsum", "colsum"):
        x = t(0, *a)
        return lambda: x.sum(1 if op == "rowsum" else 0)
    if op == "bgemm":
        x = t(0, a[0], a[3], a[1]).transpose(1, 2) if a[4] == 2 else t(0, a[0], a[1], a[3])
        y = t(1, a[0], a[2], a[3]).transpose(1, 2) if a[4] == 1 else t(1, a[0], a[3], a[2])
        return lambda: torch.bmm(x, y)
    if op == "tmm":
        x, y = t(0, a[0], a[2]), t(1, a[1], a[2])
        return lambda: x @ y.t()
    if op == "tbmm":
        x, y = t(0, a[0], a[1], a[2]), t(1, a[0], a[3], a[2])
        return lambda: torch.bmm(x, y.transpose(1, 2))
    if op == "embedding":
        x, i = t(0, a[0], a[1]), torch.from_numpy(subscripts(1, a[0] - 1, a[2]))
        return lambda: F.embedding(i, x)
    if op == "lut":
        x, i = t(0, a[3], a[1]), torch.from_numpy(subscripts(1, a[3] - 1, a[0], a[2]))
        return lambda: F.embedding_bag(i, x, mode="sum")
    if op == "lut2":
        tables = [(t(2 * i, a[3], a[1]), torch.from_numpy(subscripts(2 * i + 1, a[3] - 1, a[0], a[2]))) for i in range(2)]
        return lambda: [F.embedding_bag(i, x, mode="sum") for x, i in tables][0]
    if op == "c3":
        x, w = t(0, a[0], a[1]), t(1, a[2], a[1])
        return lambda: F.linear(x, w)
    if op == "fcrelu":
        x, w, b = t(0, a[0], a[1]), t(1, a[2], a[1]), t(2, a[2])
        return lambda: F.linear(x, w, b).relu_()
    if op == "mlp3":
        x = t(0, a[0], a[1])
        w = [(t(2 * i + 1, a[i + 2], a[i + 1]), t(2 * i + 2, a[i + 2])) for i in range(3)]

        def run():
            y = x
            for weight, bias in w:
                y = F.linear(y, weight, bias).relu_()
            return y
        return run
    if op == "kru":
        m, d, n = a[0], a[1:4], a[4:7]
        w0, w1, w2 = (t(i, d[i], n[i]) for i in range(3))
        x = t(3, m, *n)

        def run():
            y = x @ w2.t()
            y = torch.matmul(w1, y)
            return torch.matmul(w0, y.reshape(m, n[0], -1)).reshape(m, *d)
        return run
    if op == "conv2d":
        x, w = t(0, a[0], a[1], a[3], a[4]), t(1, a[2], a[1], a[5], a[5])
        return lambda: F.conv2d(x, w, stride=a[6], padding=a[7])
    if op == "convnchw":
        x, w, b = t(0, a[0], a[1], a[3], a[4]), t(1, a[2], a[1], a[5], a[5]), t(2, a[2])
        return lambda: F.conv2d(x, w, b)
    if op == "gconv":
        n, g, c, f, h, wd, k = a[:7]
        x, w, b = t(0, n, g * c, h, wd), t(1, g * f, c, k, k), t(2, f)
        b = b.repeat(g)
        return lambda: F.conv2d(x, w, b, groups=g)
    if op == "groupnorm":
        n, g, d, h, w = a[:5]
        x, gamma, beta = t(0, n, g * d, h, w), t(1, g * d), t(2, g * d)
        return lambda: F.group_norm(x, g, gamma, beta, 1e-5)
    if op == "moments":
        x = t(0, *a)
        return lambda: torch.var_mean(x, 1, unbiased=False)[1]
    if op == "attention":
        b, n, m, d, e = a[:5]
        q, k, v = t(0, b, n, d), t(1, b, m, d), t(2, b, m, e)
        scale = float(d) ** -0.5
        return lambda: torch.bmm(F.softmax(torch.bmm(q, k.transpose(1, 2)) * scale, -1), v)
    return None


class Peer:
    def __init__(self):
        self.run, self.calls, self.each, self.last = None, 1, 0.0, 0.0
        self.sweep = np.ones(16 << 20, np.float32)

    def task(self, line):
        words = line.split()
        numpy = words[-1] == "numpy"
        if numpy:
            words.pop()
        if words[0] in ("einsum", "einsum64"):
            self.run = einsum_task(words[1:], np.float64 if words[0] == "einsum64" else np.float32)
        else:
            make = numpy_task if numpy else torch_task
            self.run = make(words[0], [int(w) for w in words[1:]])
        if not self.run:
            return "no not offered"
        begin = clock()
        self.run()
        self.each = float(clock() - begin)
        return "ok"

    def fork(self, address):
        """A copy of this process answers at that socket; as in peer.h."""
        between = os.fork()
        if between:
            os.waitpid(between, 0)
            return "ok"
        if os.fork():
            os._exit(0)
        s = socket.socket(socket.AF_UNIX)
        s.connect("\0" + address)
        os.dup2(s.fileno(), 0), os.dup2(s.fileno(), 1)
        return str(os.getpid())

    def result(self, path):
        y = self.run()
        y = y if isinstance(y, np.ndarray) else y.contiguous().numpy()
        np.ascontiguousarray(y).tofile(path)
        return "ok"

    def time(self, calls):
        run = self.run
        begin = clock()
        for _ in range(calls):
            run()
        return (clock() - begin) / calls

    def calibrate(self, ns):
        self.calls = 1
        if self.each > max(ns, 1e8):
            return "1"
        end = clock() + 5 * ns  # threads wake
        while clock == time.monotonic_ns and clock() < end:
            self.time(1)
        self.each = self.time(1)
        while self.each * self.calls < ns / 4 and self.calls < 1 << 20:
            self.calls *= 2
            self.each = self.time(self.calls)
        self.calls = max(1, int(ns / max(self.each, 1)))
        return str(self.calls)

    def round(self):
        if self.each < 5e6 or (self.each < 5e7 and time.monotonic() - self.last > 0.1):
            self.time(1 + self.calls // (2 if clock == time.monotonic_ns else 20))
        self.each = self.time(self.calls)
        self.last = time.monotonic()
        return "%.3f" % self.each

    def cold(self):
        self.sweep.max()  # more than the caches hold
        return "%.3f" % self.time(1)

    def answer(self, line):
        word, _, rest = line.partition(" ")
        if word == "name":
            return "PyTorch " + torch.__version__ if torch else "NumPy " + np.__version__
        if word == "task":
            return self.task(rest)
        if word == "result":
            return self.result(rest)
        if word == "calls":
            return self.calibrate(float(rest))
        if word == "round":
            return self.round()
        if word == "cold":
            return self.cold()
        if word == "fork":
            return self.fork(rest)
        return "no such command"


def main():
    if torch:
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        torch.set_grad_enabled(False)
        x = torch.ones(1, 4, 8, 8)  # what is set up at a first call, copies of this process need not repeat
        F.conv2d(x, torch.ones(4, 4, 3, 3)), torch.bmm(x[0], x[0]), F.softmax(x, 1), x.sum().relu_()
    peer = Peer()
    for line in iter(sys.stdin.readline, ""):
        try:
            text = peer.answer(line.rstrip("\n"))
        except Exception as error:  # whatever a library throws is an answer, not an end
            text = "no " + str(error).split("\n")[0]
        print(text, flush=True)


main()
