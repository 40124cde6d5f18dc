"""Programs that run step by step, against NumPy."""

import pathlib

import numpy as np
import pytest

import loopwright as lw

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "tc"


def load(name):
    return getattr(lw.define((EXAMPLES / f"{name}.tc").read_text()), name)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("steps,wide", [(1, 5), (7, 1), (20, 33)])
def test_cumsum(steps, wide):
    x = normal(1, steps, wide)
    np.testing.assert_allclose(load("cumsum")(x), np.cumsum(x, axis=0), rtol=1e-5, atol=1e-5)


def test_recurrence():
    a, x = normal(1, 12, 17), normal(2, 12, 17)
    want = np.zeros_like(x)
    for t in range(12):
        want[t] = x[t] + (a[t] * want[t - 1] if t else 0)
    np.testing.assert_allclose(load("recurrence")(a, x), want, rtol=1e-4, atol=1e-4)


def test_selective_scan():
    steps, d, s = 9, 6, 5
    x, delta = normal(1, steps, d), np.abs(normal(2, steps, d))
    a, b, c = -np.abs(normal(3, d, s)), normal(4, steps, s), normal(5, steps, s)
    state, want = np.zeros((d, s)), []
    for t in range(steps):
        state = np.exp(delta[t][:, None] * a) * state + (delta[t] * x[t])[:, None] * b[t]
        want.append(state @ c[t])
    np.testing.assert_allclose(load("selective_scan")(x, delta, a, b, c), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("batch,n", [(1, 8), (3, 33)])
def test_lstm(batch, n):
    steps, i = 5, 7
    x, wx, wh = normal(1, steps, batch, i), normal(2, 4, n, i), normal(3, 4, n, n) / 4
    bias, h, c = normal(4, 4, n), normal(5, batch, n), normal(6, batch, n)
    got_h, got_c = load("lstm")(x, wx, wh, bias, h, c)
    for t in range(steps):
        g = np.einsum("bi,gni->gbn", x[t], wx) + np.einsum("bk,gnk->gbn", h, wh) + bias[:, None]
        c = sigmoid(g[1]) * c + sigmoid(g[0]) * np.tanh(g[2])
        h = sigmoid(g[3]) * np.tanh(c)
        np.testing.assert_allclose(got_c[t + 1], c, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(got_h[t + 1], h, rtol=1e-3, atol=1e-4)


def test_gru():
    steps, batch, i, n = 5, 2, 7, 19
    x, wx, wh = normal(1, steps, batch, i), normal(2, 3, n, i), normal(3, 3, n, n) / 4
    bx, bh, h = normal(4, 3, n), normal(5, 3, n), normal(6, batch, n)
    got = load("gru")(x, wx, wh, bx, bh, h)
    for t in range(steps):
        p = np.einsum("bi,gni->gbn", x[t], wx) + bx[:, None]
        g = np.einsum("bk,gnk->gbn", h, wh) + bh[:, None]
        r, z = sigmoid(p[0] + g[0]), sigmoid(p[1] + g[1])
        h = (1 - z) * np.tanh(p[2] + r * g[2]) + z * h
        np.testing.assert_allclose(got[t + 1], h, rtol=1e-3, atol=1e-4)


def test_lcs():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, 21).astype(np.int32), rng.integers(0, 3, 17).astype(np.int32)
    want = np.zeros((22, 18), np.int32)
    for i in range(21):
        for j in range(17):
            same = a[i] == b[j]
            want[i + 1, j + 1] = want[i, j] + 1 if same else max(want[i, j + 1], want[i + 1, j])
    np.testing.assert_array_equal(load("lcs")(a, b), want)


def test_viterbi():
    steps, n = 11, 6
    start, trans, emit = normal(1, n), normal(2, n, n), normal(3, steps, n)
    path, score = load("viterbi")(start, trans, emit)
    best, back = start + emit[0], []
    for t in range(1, steps):
        all_ = best[:, None] + trans
        back.append(all_.argmax(axis=0))
        best = all_.max(axis=0) + emit[t]
    want = [int(best.argmax())]
    for from_ in reversed(back):
        want.append(int(from_[want[-1]]))
    np.testing.assert_array_equal(path, want[::-1])
    np.testing.assert_allclose(score, best.max(), rtol=1e-5)


def test_heat():
    a, k = normal(1, 12, 21), np.float32(0.1)
    want = a.copy()
    for _ in range(6):
        new = want.copy()
        mid = want[1:-1, 1:-1]
        new[1:-1, 1:-1] = mid + k * (
            want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:] - 4 * mid
        )
        want = new
    np.testing.assert_allclose(load("heat2d")(a, k, 6), want, rtol=1e-4, atol=1e-5)
    row, want = a[0], a[0].copy()
    for _ in range(6):
        new = want.copy()
        new[1:-1] = want[1:-1] + k * (want[:-2] - 2 * want[1:-1] + want[2:])
        want = new
    np.testing.assert_allclose(load("heat1d")(row, k, 6), want, rtol=1e-4, atol=1e-5)
