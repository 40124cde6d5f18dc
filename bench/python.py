#!/usr/bin/env python3
"""The Python package beside NumPy, opt_einsum and torch.compile, on one core; prints Markdown.

    bench/python.py [--build DIR] [--only PART,...] [--torch N] [--seconds N]

Every row times all its peers alternately, round by round, and takes the median of each. Results are compared with NumPy's in float64 first: the error must stay within
the bound of a sum of products in the type of the result. opt_einsum and torch are used where they are installed; torch.compile takes seconds for each program, so that only
--torch N of the random einsums (default 12) are given to it, and all fused expressions.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LW_THREADS"):
    os.environ[_name] = "1"
os.environ.setdefault("LW_DB", "none")

import argparse
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default=os.path.join(ROOT, "build"))
parser.add_argument("--only", default="import,calls,einsum,fused,long,rl")
parser.add_argument("--torch", type=int, default=12)
parser.add_argument("--count", type=int, default=200, help="random einsums")
parser.add_argument("--seconds", type=float, default=0.15, help="time for the rounds of a row")
options = parser.parse_args()
sys.path.insert(0, os.path.join(options.build, "python"))
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import loopwright as lw  # noqa: E402
from loopwright import nn  # noqa: E402

try:
    import opt_einsum
except ImportError:
    opt_einsum = None
try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None


def timed(calls, seconds=None):
    """Medians of calls that alternate, in seconds. Short calls are repeated within a round."""
    budget = (seconds or options.seconds) / len(calls)
    repeat, rounds = [], 5
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        repeat.append(max(1, int(50e-6 / max(once, 1e-7))))
        rounds = max(rounds, min(60, int(budget / max(once * repeat[-1], 1e-6))))
    rounds = min(rounds, 40)
    samples = [[] for _ in calls]
    for _ in range(rounds):
        for call, n, into in zip(calls, repeat, samples):
            start = time.perf_counter()
            for _ in range(n):
                call()
            into.append((time.perf_counter() - start) / n)
    return [statistics.median(s) for s in samples]


def geomean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else float("nan")


def us(seconds):
    return "%.2f us" % (seconds * 1e6) if seconds < 1e-4 else "%.0f us" % (seconds * 1e6) if seconds < 1e-2 else "%.1f ms" % (seconds * 1e3)


def agree(name, got, expected, scale, terms):
    """|got - expected| <= terms*eps*scale, element by element."""
    error = np.abs(np.asarray(got, "f8") - expected)
    bound = (terms + 8) * np.finfo("f4").eps * scale + 1e-30
    assert (error <= bound).all(), "%s: error %g, bound %g" % (name, error.max(), np.max(bound))


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def head(*cells):
    row(*cells)
    row(*["---"] * len(cells))


# --- Import and calls -------------------------------------------------------------------------------------------------------------------


def imports():
    code = "import time, numpy\ns, c = time.perf_counter(), time.process_time()\nimport loopwright\nprint(time.perf_counter() - s, time.process_time() - c)"
    with tempfile.TemporaryDirectory() as folder:  # the bytecode of an installed package is there already
        env = dict(os.environ, PYTHONPATH=os.path.join(options.build, "python"), PYTHONPYCACHEPREFIX=folder, PYTHONDONTWRITEBYTECODE="")
        runs = [subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout.split() for _ in range(10)][1:]
    wall, cpu = (statistics.median(float(r[i]) for r in runs) * 1e3 for i in (0, 1))
    print("Importing the package takes %.1f ms beside NumPy's own time, %.1f ms of them on the processor (medians of 9).\n" % (wall, cpu))


def calls():
    f = lw.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }").mm
    a, b, c = (np.ones((1, 1), "f4") for _ in range(3))
    k = f.compile(a, b)
    x = lw.Tensor(a).to(*lw.symbols("i j")) * 2
    x.numpy()
    found = timed([lambda: f(a, b), lambda: f(a, b, out=c), lambda: k(a, b, out=c), lambda: np.matmul(a, b), lambda: np.matmul(a, b, out=c), lambda: x.numpy()], 1.0)
    head("a call on 1 x 1 matrices", "time")
    for name, t in zip(("`f(a, b)`", "`f(a, b, out=c)`", "`kernel(a, b, out=c)`", "`numpy.matmul(a, b)`", "`numpy.matmul(a, b, out=c)`", "`lazy.numpy()`"), found):
        row(name, us(t))
    print()


# --- Random einsums ---------------------------------------------------------------------------------------------------------------------


def random_einsum(r):
    """A specification with its operands: two to four, up to three labels each, as users write them."""
    labels = "abcdefgh"[:r.randint(3, 6)]
    size = {label: r.choice([2, 3, 4, 8, 10, 16, 24, 32, 48, 64, 100]) for label in labels}
    while True:
        terms = ["".join(r.sample(labels, r.randint(1, min(3, len(labels))))) for _ in range(r.choice([1, 2, 2, 2, 3, 3, 4]))]
        used = sorted(set("".join(terms)))
        out = "".join(r.sample(used, r.randint(0, min(3, len(used)))))
        work = math.prod(size[label] for label in used)
        if work <= 3e7 and (len(terms) > 1 or out != terms[0]):
            return ",".join(terms) + "->" + out, [(size[x] for x in t) for t in terms]


def einsums():
    r, rng = random.Random(19), np.random.default_rng(19)
    ratio, over_torch, compile_lw, compile_torch, slow = [], [], [], [], []
    for number in range(options.count):
        spec, shapes = random_einsum(r)
        arrays = [rng.random(tuple(s), dtype="f4") - np.float32(0.5) for s in shapes]
        start = time.perf_counter()
        got = lw.einsum(spec, *arrays)
        compile_lw.append(time.perf_counter() - start)
        wide = [a.astype("f8") for a in arrays]
        sizes = dict(zip("".join(spec.split("->")[0].split(",")), (n for a in arrays for n in a.shape)))
        terms = math.prod(n for label, n in sizes.items() if label not in spec.split("->")[1])
        agree(spec, got, np.einsum(spec, *wide, optimize=True), np.einsum(spec, *map(np.abs, wide), optimize=True), terms + 4)
        peers = [lambda: lw.einsum(spec, *arrays), lambda: np.einsum(spec, *arrays, optimize=True)]
        if opt_einsum:
            expression = opt_einsum.contract_expression(spec, *[a.shape for a in arrays])
            peers.append(lambda: expression(*arrays))
        with_torch = torch is not None and number < options.torch
        if with_torch:
            tensors = [torch.from_numpy(a) for a in arrays]
            torch._dynamo.reset()  # it stops compiling after eight recompilations of one function
            compiled = torch.compile(lambda *t: torch.einsum(spec, *t), dynamic=False)
            start = time.perf_counter()
            compiled(*tensors)
            compile_torch.append(time.perf_counter() - start)
            peers.append(lambda: compiled(*tensors))
        found = timed(peers)
        best = min(found[1:3] if opt_einsum else found[1:2])
        ratio.append(best / found[0])
        if with_torch:
            over_torch.append(found[-1] / found[0])
        slow.append((ratio[-1], spec, [a.shape for a in arrays], found))
    head("%d random einsums" % options.count, "geometric mean of the speed-up", "least", "greatest", "compiled in (median)")
    row("over the faster of NumPy and opt_einsum" if opt_einsum else "over NumPy", "%.2f" % geomean(ratio), "%.2f" % min(ratio), "%.1f" % max(ratio), us(statistics.median(compile_lw)))
    if over_torch:
        row("over torch.compile (%d of them)" % len(over_torch), "%.2f" % geomean(over_torch), "%.2f" % min(over_torch), "%.1f" % max(over_torch), "%.1f s" % statistics.median(compile_torch))
    print()
    for ratio_, spec, shapes, found in sorted(slow)[:5]:
        print("slowest: %.2f %s %s %s" % (ratio_, spec, shapes, [us(t) for t in found]), file=sys.stderr)


# --- Fused expressions ------------------------------------------------------------------------------------------------------------------

n, k, i, j, d, e, h, o, t, w = lw.symbols("n k i j d e h o t w")


def softmax(rng, rows, columns):
    x = rng.standard_normal((rows, columns), dtype="f4")

    def numpy():
        z = np.exp(x - x.max(1, keepdims=True))
        return z / z.sum(1, keepdims=True)

    return [x], nn.softmax(lw.Tensor(x).to(n, k), k), numpy, lambda x: torch.softmax(x, 1)


def layer_norm(rng, rows, columns):
    x, g, b = rng.standard_normal((rows, columns), dtype="f4"), rng.random(columns, dtype="f4"), rng.random(columns, dtype="f4")

    def numpy():
        c = x - x.mean(1, keepdims=True)
        return c / np.sqrt((c * c).mean(1, keepdims=True) + np.float32(1e-5)) * g + b

    return ([x, g, b], nn.layer_norm(lw.Tensor(x).to(n, k), k, weight=lw.Tensor(g).to(k), bias=lw.Tensor(b).to(k)), numpy,
            lambda x, g, b: torch.nn.functional.layer_norm(x, x.shape[1:], g, b))


def rms_norm(rng, rows, columns):
    x, g = rng.standard_normal((rows, columns), dtype="f4"), rng.random(columns, dtype="f4")
    return ([x, g], nn.rms_norm(lw.Tensor(x).to(n, k), k, weight=lw.Tensor(g).to(k)),
            lambda: x / np.sqrt((x * x).mean(1, keepdims=True) + np.float32(1e-5)) * g,
            lambda x, g: x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-5) * g)


def attention(rng, heads, length, features):
    q, kk, v = (rng.standard_normal((heads, length, features), dtype="f4") for _ in range(3))

    def numpy():
        s = q @ kk.transpose(0, 2, 1) / np.float32(math.sqrt(features))
        z = np.exp(s - s.max(2, keepdims=True))
        return z @ v / z.sum(2, keepdims=True)

    def by_torch(q, kk, v):
        return torch.softmax(q @ kk.transpose(1, 2) / math.sqrt(features), 2) @ v

    return [q, kk, v], nn.attention(lw.Tensor(q).to(h, i, d), lw.Tensor(kk).to(h, j, d), lw.Tensor(v).to(h, j, e), j, d), numpy, by_torch


def gelu_mlp(rng, rows, inner, hidden):
    x, w1, w2 = (rng.standard_normal(s, dtype="f4") / np.float32(math.sqrt(s[0])) for s in ((rows, inner), (inner, hidden), (hidden, inner)))
    erf = np.frompyfunc(math.erf, 1, 1)
    try:
        from scipy.special import erf  # noqa: F811
    except ImportError:
        pass

    def numpy():
        z = x @ w1
        return (z * np.float32(0.5) * (1 + erf(z * np.float32(math.sqrt(0.5))).astype("f4"))) @ w2

    lazy = nn.linear(nn.gelu(nn.linear(lw.Tensor(x).to(n, k), lw.Tensor(w1).to(k, o))), lw.Tensor(w2).to(o, k))
    return [x, w1, w2], lazy, numpy, lambda x, w1, w2: torch.nn.functional.gelu(x @ w1) @ w2


def moving_average(rng, length, taps):
    x = rng.random(length, dtype="f4")
    lazy = lw.Tensor(x)[t + w].set_size(w, taps).mean(w)
    return ([x], lazy, lambda: np.convolve(x, np.full(taps, 1 / taps, "f4"), "valid"),
            lambda x: torch.nn.functional.avg_pool1d(x[None], taps, 1)[0])


FUSED = ([(softmax, s) for s in ((16, 64), (64, 256), (128, 1000), (512, 512), (8, 32000))] +
         [(layer_norm, s) for s in ((16, 64), (64, 256), (128, 768), (512, 1024), (1024, 300))] +
         [(rms_norm, s) for s in ((16, 64), (64, 256), (128, 768), (512, 1024), (32, 4096))] +
         [(attention, s) for s in ((1, 16, 16), (4, 32, 32), (8, 64, 64), (4, 128, 64), (12, 196, 64))] +
         [(gelu_mlp, s) for s in ((8, 64, 256), (32, 128, 512), (64, 256, 256), (128, 128, 512), (16, 512, 512))] +
         [(moving_average, s) for s in ((1000, 5), (10000, 7), (100000, 16), (1000000, 3), (4096, 64))])


def fused():
    rng = np.random.default_rng(7)
    head("expression", "loopwright", "NumPy", "torch.compile", "over NumPy", "over torch", "compiled in", "torch compiled in")
    over_numpy, over_torch = [], []
    for make, shape in FUSED:
        arrays, lazy, numpy, by_torch = make(rng, *shape)
        start = time.perf_counter()
        got = lazy.numpy()
        first = time.perf_counter() - start
        expected = numpy()
        terms = max(got.size and max(a.shape[-1] for a in arrays), 64)
        agree(make.__name__, got, expected.astype("f8"), np.maximum(np.abs(expected), np.abs(expected).max()), terms)
        peers, took = [lambda: lazy.numpy(), numpy], ""
        if torch is not None and options.torch:
            tensors = [torch.from_numpy(a) for a in arrays]
            torch._dynamo.reset()
            compiled = torch.compile(by_torch, dynamic=False)
            start = time.perf_counter()
            compiled(*tensors)
            took = "%.1f s" % (time.perf_counter() - start)
            peers.append(lambda: compiled(*tensors))
        found = timed(peers)
        over_numpy.append(found[1] / found[0])
        over_torch += [found[2] / found[0]] if len(found) > 2 else []
        row("%s %s" % (make.__name__.replace("_", " "), " x ".join(map(str, shape))), us(found[0]), us(found[1]), us(found[2]) if len(found) > 2 else "", "%.2f" % over_numpy[-1],
            "%.2f" % over_torch[-1] if len(found) > 2 else "", us(first), took)
    row("geometric mean", "", "", "", "%.2f" % geomean(over_numpy), "%.2f" % geomean(over_torch) if over_torch else "", "", "")
    print()


# --- Long contractions ------------------------------------------------------------------------------------------------------------------

LONG = [("chain of 5", "ab,bc,cd,de,ef->af", dict(a=8, b=64, c=6, d=80, e=10, f=40)),
        ("star", "ea,fb,abcd,gc,hd->efgh", dict(a=10, b=10, c=10, d=10, e=10, f=10, g=10, h=10)),
        ("dense 4", "ab,cd,ef,fdb->ace", dict(a=12, b=14, c=16, d=18, e=20, f=22)),
        ("outer", "a,b,c,d->abcd", dict(a=12, b=10, c=9, d=11)),
        ("hadamard", "abc,abc,abc->abc", dict(a=20, b=30, c=40)),
        ("inner", "ijk,ijl,lk->", dict(i=30, j=20, k=25, l=15)),
        ("mps", "abc,cde,efg,ghi,aj,jk->bdfhik", dict(a=4, b=3, c=8, d=3, e=8, f=3, g=8, h=3, i=4, j=5, k=3)),
        ("trace", "ij,jk,kl,li->", dict(i=40, j=30, k=20, l=10)),
        ("batched", "bij,bjk,bkl->bil", dict(b=16, i=20, j=24, k=8, l=30)),
        ("tucker", "abc,ai,bj,ck->ijk", dict(a=8, b=9, c=10, i=30, j=28, k=26)),
        ("einsum of sums", "abc,bd,ce,f->a", dict(a=20, b=18, c=16, d=14, e=12, f=10))]


def network(r, count, degree=3):
    """A random network: tensors joined by labels of size 2 to 5, with a few open ones."""
    pairs = [(a, r.randrange(a)) for a in range(1, count)]
    pairs += [tuple(r.sample(range(count), 2)) for _ in range(count * degree // 2 - count)]
    labels, terms = {}, ["" for _ in range(count)]
    for number, (a, b) in enumerate(pairs):
        label = opt_einsum.get_symbol(number)
        labels[label] = r.randint(2, 5)
        terms[a] += label
        terms[b] += label
    return ",".join(terms) + "->", labels


def long():
    if opt_einsum is None:
        print("opt_einsum is not installed: long contractions are left out\n")
        return
    rng, r = np.random.default_rng(3), random.Random(30)
    head("contraction", "operations here", "opt_einsum", "ratio", "time here", "opt_einsum", "speed-up")
    ratios, speed = [], []
    rows = LONG + [("network of 30 tensors, %d" % number,) + network(r, 30) for number in range(3)]
    for name, spec, sizes in rows:
        arrays = [rng.random([sizes[label] for label in term]) - 0.5 for term in spec.split("->")[0].split(",")]
        _, mine = lw.einsum_path(spec, *arrays)
        path, theirs = opt_einsum.contract_path(spec, *arrays, optimize="auto" if len(arrays) < 20 else opt_einsum.RandomGreedy(max_time=2, max_repeats=64))
        expression = opt_einsum.contract_expression(spec, *[a.shape for a in arrays], optimize=path)
        got, expected = lw.einsum(spec, *arrays), expression(*arrays)
        assert np.allclose(got, expected, rtol=1e-6, atol=1e-9 * max(1.0, float(np.abs(expected).max()))), name
        here, there = timed([lambda: lw.einsum(spec, *arrays), lambda: expression(*arrays)])
        ratios.append(float(mine.opt_cost) / float(theirs.opt_cost))
        speed.append(there / here)
        row(name, "%.3g" % mine.opt_cost, "%.3g" % theirs.opt_cost, "%.2f" % ratios[-1], us(here), us(there), "%.2f" % speed[-1])
    row("greatest, and geometric mean", "", "", "%.2f" % max(ratios), "", "", "%.2f" % geomean(speed))
    print()


# --- Environments -----------------------------------------------------------------------------------------------------------------------


def rl():
    """Random steps on a product of 96 x 96 matrices; episodes of 32 steps, about half of them to arrangements that are new."""
    from loopwright.rl import LoopEnv
    head("rl.LoopEnv", "steps per second of processor time", "new arrangements")
    for measure, steps in ((False, 4000), (True, 2000)):
        env = LoopEnv("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", sizes=dict(M=96, K=96, N=96), measure=measure)
        rng = np.random.default_rng(0)
        _, info = env.reset(seed=0)
        start = time.process_time()
        for _ in range(steps):
            _, _, _, truncated, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
            if truncated:
                _, info = env.reset()
        took = time.process_time() - start
        row("measured" if measure else "by the bound", "%.0f" % (steps / took), "%.0f %%" % (100 * len(env._rates) / steps))
    print()


if __name__ == "__main__":
    for part, run in (("import", imports), ("calls", calls), ("einsum", einsums), ("fused", fused), ("long", long), ("rl", rl)):
        if part in options.only.split(","):
            run()
