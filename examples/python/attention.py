"""Attention for the shapes of your model, as one kernel: causal, with grouped queries and a bias by distance. Libraries have no kernel for this."""

import time

import numpy as np

import loopwright as lw

HEADS, SHARED, LENGTH, FEATURES = 8, 4, 128, 32  # `SHARED` query heads read the same keys and values
h, g, i, j, d = lw.symbols("h g i j d")
rng = np.random.default_rng(0)
q = rng.standard_normal((HEADS // SHARED, SHARED, LENGTH, FEATURES), dtype="f4")
k, v = (rng.standard_normal((HEADS // SHARED, LENGTH, FEATURES), dtype="f4") for _ in range(2))
slope = (2.0 ** -np.arange(1, SHARED + 1)).astype("f4")

Q, K, V, S = lw.Tensor(q).to(h, g, i, d), lw.Tensor(k).to(h, j, d), lw.Tensor(v).to(h, j, d), lw.Tensor(slope).to(g)
scores = (Q * K).sum(d) / FEATURES**0.5 - S * lw.cast(lw.Tensor(i - j), "f4")
scores = lw.where(i >= j, scores, -np.inf)
weights = lw.exp(scores - scores.max(j))
out = ((weights * V).sum(j) / weights.sum(j)).transpose(h, g, i, d)  # the mask names i first


def by_numpy():
    s = np.einsum("hgid,hjd->hgij", q, k) / np.float32(FEATURES**0.5)
    at = np.arange(LENGTH)
    s = np.where(at[:, None] >= at, s - slope[:, None, None] * (at[:, None] - at).astype("f4"), -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hgij,hjd->hgid", e / e.sum(-1, keepdims=True), v)


def best(call):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


print("equal to NumPy:", np.allclose(out.numpy(), by_numpy(), atol=1e-5))
print("loopwright %.0f us, NumPy %.0f us" % (best(out.numpy) * 1e6, best(by_numpy) * 1e6))
