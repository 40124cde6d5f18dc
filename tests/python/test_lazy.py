"""Lazy tensors: their contract, and random expressions against NumPy."""

import gc
import pickle
import random
import sys
import threading
import tracemalloc

import lazygen
import loopwright as lw
import numpy as np
import pytest
from conftest import SCALE

m, n, k, i, j = lw.symbols("m n k i j")


def ints(*shape, type="f4"):
    return (np.arange(int(np.prod(shape))) % 7 - 3).astype(type).reshape(shape)


def same(tensor, expected):
    got = tensor.numpy()
    assert got.dtype == np.asarray(expected).dtype and got.shape == np.shape(expected)
    np.testing.assert_array_equal(got, expected)


def test_symbols():
    assert isinstance(lw.symbols("m n"), tuple) and isinstance(lw.symbols("m"), lw.Symbol)
    assert lw.symbols("m") == m and hash(lw.symbols("m")) == hash(m) and m != n
    assert pickle.loads(pickle.dumps(m)) == m
    assert str(2 * i + j - 1) == "2*i + j - 1" and 2 * i - i - i == i * 0 and i + 0 == i and hash(i + 0) == hash(i)
    for text in ("", "2x", "a-b"):
        with pytest.raises(lw.Error):
            lw.symbols(text)
    with pytest.raises(lw.Error, match="not affine"):
        i * j
    with pytest.raises(TypeError):
        i * 0.5


def test_matmul_and_order_of_dimensions():
    a, b = ints(3, 4), ints(4, 5)
    A, B = lw.Tensor(a), lw.Tensor(b)
    C = (A.to(m, k) * B.to(k, n)).sum(k)
    assert C.symbols == (m, n) and C.shape == (3, 5) and C.dtype == np.float32 and "sum" not in repr(C)
    same(C, a @ b)
    same((B.to(k, n) * A.to(m, k)).sum(k), (a @ b).T)
    same(A.to(m, k) + lw.Tensor(ints(3)).to(m), a + ints(3)[:, None])


def test_nothing_runs_before_numpy():
    a = ints(4)
    x = lw.Tensor(a)
    y = x + 1
    assert y.numpy()[0] == a[0] + 1
    a[0] = 100
    assert y.numpy()[0] == 101  # the array is not copied, and evaluated as it is now
    out = np.zeros(4, "f4")
    assert y.numpy(out=out) is out and out[0] == 101
    assert np.asarray(y)[0] == 101 and (x.sum() + 0).item() == a.sum()


def test_one_fused_kernel():
    x = lw.Tensor(ints(6, 8)).to(m, n)
    e = lw.exp(x - x.max(n))
    y = e / e.sum(n)
    assert y.program.count("program ") == 1 and y.compile().flops > 0
    assert "exp" in y.explain()
    two = lw.compute(e.sum(n), y)
    assert len(two) == 2 and np.allclose(two[1].sum(1), 1)


def test_operators():
    a, b = ints(5, type="i4"), ints(5, type="i4") + 1
    A, B = lw.Tensor(a).to(i), lw.Tensor(b).to(i)
    same(A + B, a + b), same(A - B, a - b), same(A * B, a * b), same(-A, -a), same(abs(A), abs(a)), same(2 - A, 2 - a)
    same(A // 2, a // 2), same(A % 3, a % 3), same(A / 2, a / 2), same(A**2, a**2), same(A & 3, a & 3), same(A ^ B, a ^ b), same(~A, ~a), same(A | B, a | b)
    same(A < B, a < b), same(A == B, a == b), same(A != 0, a != 0), same(A >= B, a >= b)
    same(lw.maximum(A, B), np.maximum(a, b)), same(lw.minimum(A, 0), np.minimum(a, 0)), same(lw.where(A > 0, A, B), np.where(a > 0, a, b))
    same(lw.cast(A, "f8"), a.astype("f8")), same(A.cast("bool"), a.astype(bool)), same(A + 0.5, a + 0.5), same(np.int32(2) * B, 2 * b)
    x = np.array([0.25, 1, 4], "f4")
    X = lw.Tensor(x).to(i)
    for lazy, expected in [(lw.sqrt(X), np.sqrt(x)), (lw.exp(X), np.exp(x)), (X.log(), np.log(x)), (X.reciprocal(), 1 / x), (X.rsqrt(), 1 / np.sqrt(x)),
                           (X.sin(), np.sin(x)), (X.cos(), np.cos(x)), (lw.tanh(X), np.tanh(x)), (X**1.5, x**np.float32(1.5)), (2.0**X, 2**x),
                           (X.floor(), np.floor(x)), (X.ceil(), np.ceil(x)), (X.sigmoid(), 1 / (1 + np.exp(-x)))]:
        np.testing.assert_allclose(lazy.numpy(), expected, rtol=1e-6)
        assert lazy.dtype == np.float32
    flags = np.array([True, False, True])
    F = lw.Tensor(flags).to(i)
    same(F.sum(), np.int64(2)), same(F.any(), np.True_), same(F.all(), np.False_), same(F + F, flags), same(~F, ~flags), same(F & F, flags), same(F ^ F, flags ^ flags)


def test_reductions():
    a = ints(3, 4, 5, type="i4")
    A = lw.Tensor(a).to(m, n, k)
    same(A.sum(n), a.sum(1, dtype="i4"))  # sums of integers keep their type
    same(A.sum(), a.sum(dtype="i4")), same(A.max(m, k), a.max((0, 2))), same(A.min(k), a.min(2)), same(A.prod(k), a.prod(2, dtype="i4"))
    same(A.mean(k), a.mean(2)), same(A.reduce("add", m), a.sum(0, dtype="i4"))
    half = np.full(4096, 1, "f2")
    same(lw.Tensor(half).to(i).sum(), np.float16(4096))
    same(lw.Tensor(np.zeros((0, 3))).to(i, j).sum(i), np.zeros(3))
    for bad, error in [(lambda: A.sum(i), lw.Error), (lambda: A.reduce("xor", m), lw.Error), (lambda: A.sum("m"), TypeError), (lambda: A.any(m), lw.Error)]:
        with pytest.raises(error):
            bad()


def test_views():
    x = np.arange(10, dtype="f4")
    X = lw.Tensor(x)
    w = lw.Tensor(np.array([1, 2, 3], "f4")).to(j)
    same((X[2 * i + j] * w).sum(j), np.array([x[2 * a:2 * a + 3] @ [1, 2, 3] for a in range(4)], "f4"))
    same(X[9 - i], x[::-1]), same(X[3], x[3]), same(X[i + 2].set_size(i, 4), x[2:6])
    same(X.to(i).pad(i, 1), np.pad(x, 1)), same(X.to(i).pad(i, 0, 2, value=5), np.pad(x, (0, 2), constant_values=5))
    y = np.arange(6.0).reshape(2, 3)
    Y = lw.Tensor(y).to(m, n)
    same(Y.transpose(n, m), y.T), same(Y.transpose(), y.T), same(Y.flatten(m, n), y.ravel()), same(Y.flatten(n, m), y.T.ravel()), same(Y.flatten(), y.ravel())
    same(lw.Tensor(y)[i, i], np.diag(y[:, :2])), same(Y | lw.Tensor(y).to(m, k), np.concatenate([y, y], 1)), same(X.to(i) | w, np.concatenate([x, [1, 2, 3]]).astype("f4"))
    same(X.to(i).to(m, n, constraints=[(i, 5 * m + n)]).set_size(n, 5), x.reshape(2, 5))
    same(lw.where(m > n, Y, 0), np.where(np.arange(2)[:, None] > np.arange(3), y, 0)), same(Y.cast("i8") * n, y.astype("i8") * np.arange(3))
    chained = X.to(i)
    for _ in range(11):  # LoopTool's test of chained pads
        chained = chained.pad(i, 1)
    same(chained, np.pad(x, 11))


@pytest.mark.parametrize("make, text", [
    (lambda x: x[i + j].numpy(), "the size of 'i' is not known"),
    (lambda x: (x.to(i) + lw.Tensor(np.ones(3, "f4")).to(i)).numpy(), "'i' is 10 in one place and 3"),
    (lambda x: x.to(i).set_size(i, 3).numpy(), "'i' is 10 in one place and 3|'i' is 3 in one place and 10"),
    (lambda x: x[i + 5].set_size(i, 8).numpy(), "runs from 5 to 12, outside a dimension of 10"),
    (lambda x: x.to(i, j), "2 symbols for 1 dimensions"),
    (lambda x: x[i, j], "2 subscripts for 1 dimensions"),
    (lambda x: x.to(i) | x.to(i), "differ in none"),
    (lambda x: x.to(i) + x, "have no names"),
    (lambda x: x.to(i) // 2, "is for integers"),
    (lambda x: x.to(i).transpose(j), "another order"),
    (lambda x: x.to(i).pad(i, -1), "0 or more"),
    (lambda x: x.to(i).to(j, constraints=[(k, j)]), "constraint"),
    (lambda x: lw.Tensor(np.zeros(3, "c8")), "complex64"),
])
def test_errors(make, text):
    with pytest.raises(lw.Error, match=text):
        make(lw.Tensor(np.arange(10, dtype="f4")))


def test_mistakes_of_use():
    x = lw.Tensor(np.arange(4)).to(i)
    for bad in (lambda: bool(x), lambda: list(x), lambda: x["a"], lambda: x.to("i"), lambda: bool(i)):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(OverflowError):
        lw.Tensor(np.arange(4, dtype="u1")).to(i) + 300


def test_types_are_numpys():
    kinds = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "f2", "f4", "f8"]
    for a in kinds:
        for b in kinds:
            x, y = np.ones(2, a), np.ones(2, b)
            X, Y = lw.Tensor(x).to(i), lw.Tensor(y).to(i)
            assert (X + Y).dtype == (x + y).dtype and (X * Y).dtype == (x * y).dtype and (X / Y).dtype == np.result_type((x / y).dtype, "f2"), (a, b)
            same(X * Y, x * y)
        assert lw.exp(lw.Tensor(np.ones(1, a))).dtype == np.exp(np.ones(1, a)).dtype
        assert (lw.Tensor(x) * 2).dtype == (x * 2).dtype and (lw.Tensor(x) * 2.5).dtype == (x * 2.5).dtype


def test_schedules():
    a, b = ints(12, 16), ints(16, 8)
    C = (lw.Tensor(a).to(m, k) * lw.Tensor(b).to(k, n)).sum(k)
    same(C.schedule("out: k m n:v"), a @ b)
    same(C.schedule(None), a @ b)
    with pytest.raises(lw.Error, match="schedule"):
        C.schedule("out: k m q").numpy()
    result = C.tune(seconds=0.2)
    assert result.seconds >= 0
    same(C, a @ b)


def test_names_of_all_kinds():
    """Symbols may have names of the language, of tensors, or none that Program text could spell."""
    x = ints(3, 4)
    for names in ("input output", "in0 out", "for max", "t sum", "α β", "exp f32"):
        a, b = lw.symbols(names)
        X = lw.Tensor(x).to(a, b)
        same((X * 2).sum(a) + X.sum(), ((x * 2).sum(0) + x.sum()).astype("f4"))
    same(lw.Tensor(x, name="weights").to(i, j) + 1, x + 1)


def test_large_expressions():
    """Long chains and values that are used again and again stay linear in size."""
    x = lw.Tensor(ints(5, type="i8")).to(i)
    y = x
    for _ in range(60):
        y = y + y
    assert (y.numpy() == 0).sum() == (ints(5) == 0).sum()
    y = x
    for step in range(3000):
        y = y + step
    same(y, ints(5, type="i8") + sum(range(3000)))


def test_random_expressions():
    for seed in range(max(40, 600 // SCALE)):
        lazygen.check(seed)


@pytest.mark.skipif(SCALE > 1, reason="a test of memory, not of values")
def test_expressions_leave_nothing_behind():
    def rounds(count, first):
        for seed in range(first, first + count):
            lazygen.check(seed % 40)
        gc.collect()

    tracemalloc.start()
    rounds(400, 0)
    before = tracemalloc.take_snapshot()
    held = sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else 0
    rounds(300, 0)
    grown = sum(s.size_diff for s in tracemalloc.take_snapshot().compare_to(before, "filename") if "loopwright" in str(s.traceback))
    tracemalloc.stop()
    assert grown < 15000, grown  # 50 bytes an expression
    assert not held or sys.gettotalrefcount() - held < 500


def test_arrays_are_released():
    a = ints(50)
    count = sys.getrefcount(a)
    y = (lw.Tensor(a).to(i) * 2).sum()
    y.numpy(), y.numpy()
    assert sys.getrefcount(a) > count
    del y
    gc.collect()
    assert sys.getrefcount(a) == count


def test_threads():
    x = lw.Tensor(ints(20, 30)).to(i, j)
    shared = lw.exp(x * 0.1).sum(j)
    expected, wrong = shared.numpy(), []

    def work(number):
        for _ in range(20):
            own = (x * number).sum(j).numpy()
            if not np.array_equal(own, (ints(20, 30) * number).sum(1)) or not np.array_equal(shared.numpy(), expected):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_roofline():
    x = lw.Tensor(ints(64, 64)).to(m, k)
    roof = (x * lw.Tensor(ints(64, 64)).to(k, n)).sum(k).roofline()
    assert roof.flops == 2 * 64**3 and roof.seconds > 0 and roof.limit in ("compute", "L1", "L2", "L3", "memory")
    assert roof.svg(1e-5).count("<circle") == 1 and "GFLOP/s" in roof._repr_html_()
    assert lw.machine()["cores"] >= 1


def test_loop_trees():
    a, b = ints(24, 16), ints(16, 32)
    C = (lw.Tensor(a).to(m, k) * lw.Tensor(b).to(k, n)).sum(k)
    tree = C.schedule("out: m n k").loop_tree
    assert [loop.name for loop in tree.loops] == ["m", "n", "k"]
    better = tree.split("m", 6).swap_loops("n", "k").annotate("n", "vectorize")
    assert str(tree) != str(better) and tree.schedule == "out: m n k\n"
    same(C.set(better), a @ b)
    same(C, a @ b)
    assert str(C.set(better).loop_tree) == str(better)
    same(C.set(better.parallelize(better.loops[0])), a @ b)
    with pytest.raises(lw.Error, match="another expression"):
        (C + 1).set(better)
    with pytest.raises(TypeError, match="loop tree"):
        C.set("out: m n k")
    with pytest.raises(lw.Error):
        tree.annotate("m", "vectorize")
    shown = C._repr_html_()
    assert "<table" in shown and "<svg" in shown and "<circle" in shown and "of the least time" in shown


@pytest.mark.filterwarnings("ignore:.*runs on one thread")
def test_random_trees_of_random_expressions():
    """Random edits of the loops leave the values as they are."""
    import random

    changed = 0
    for seed in range(max(10, 80 // SCALE)):
        r = random.Random(seed)
        twin = lazygen.Generator(seed).expression()
        tree = twin.lazy.loop_tree
        for _ in range(4):
            if not tree.loops:
                break
            loop = r.choice(tree.loops)
            try:
                action = r.choice(["split", "swap", "annotate", "merge"])
                if action == "split":
                    tree = tree.split(loop, r.randint(2, 5))
                elif action == "swap":
                    tree = tree.swap_loops(loop, r.choice(tree.loops))
                elif action == "merge":
                    tree = tree.merge(loop)
                else:
                    tree = tree.annotate(loop, r.choice(["parallel", "unroll", "serial"]))
                changed += 1
            except lw.Error:
                pass
        lazygen.check_twin(seed, twin, twin.lazy.set(tree))
    assert changed > 10


def test_long_products_are_contracted_in_the_cheapest_order():
    i, j, k, l, m = lw.symbols("i j k l m")
    rng = np.random.default_rng(0)
    A, B, C, D = (rng.integers(-3, 4, shape).astype("f8") for shape in [(40, 50), (50, 60), (60, 70), (70, 3)])
    x = (lw.Tensor(A).to(i, j) * lw.Tensor(B).to(j, k) * lw.Tensor(C).to(k, l) * lw.Tensor(D).to(l, m) * 2.0).sum(j, k, l)
    assert x.program.count("+=!") == 3 and "l in 0:70, m in 0:3" in x.program
    np.testing.assert_array_equal(x.numpy(), 2 * (A @ B @ C @ D))
    np.testing.assert_array_equal((x.transpose(m, i) - x.max(m)).numpy(), (2 * (A @ B @ C @ D)).T - (2 * (A @ B @ C @ D)).max(1))
    # sizes of one factor that follow from another: the window of a convolution
    y, w, s = lw.Tensor(np.arange(20.0)), lw.Tensor(np.array([1.0, 2.0, 1.0])), lw.Tensor(np.arange(18.0 * 5).reshape(18, 5))
    got = (y[i + j] * w.to(j) * s.to(i, k)).sum(i, j)
    want = np.convolve(np.arange(20.0), [1, 2, 1], "valid") @ np.arange(18.0 * 5).reshape(18, 5)
    np.testing.assert_array_equal(got.numpy(), want)
    # one nest stays one nest where pairs gain nothing
    e = lw.Tensor(np.ones(8))
    assert (e.to(i) * e.to(i) * e.to(i)).sum(i).program.count("+=!") == 1


def network(rng, n):
    """A sum over the product of n random factors, and its numbers."""
    bonds = [(i, i + 1) for i in range(n - 1)] + [tuple(rng.sample(range(n), 2)) for _ in range(n // 8)]
    sizes = [rng.choice([1, 2, 2, 3]) for _ in bonds]
    of = [[k for k, bond in enumerate(bonds) if i in bond] for i in range(n)]
    arrays = [np.random.default_rng(rng.getrandbits(32)).integers(-1, 2, [sizes[k] for k in ks]).astype("f8") for ks in of]
    names = [lw.symbols("b%d" % k) for k in range(len(bonds))]
    kept = names[:1] if rng.random() < 0.5 else []
    x = lw.Tensor(np.array(0.5))
    for i in rng.sample(range(n), n):
        x = x * (lw.Tensor(arrays[i]).to(*[names[k] for k in of[i]]) if of[i] else lw.Tensor(arrays[i]))
    operands = [part for array, ks in zip(arrays, of) for part in (array, ks)]
    want = 0.5 * (arrays[0] if n == 1 else lw.einsum(*operands, [0] if kept else []))
    return x.sum(*[s for s in x.symbols if s not in kept]), want


def test_products_of_any_number_of_factors():
    rng = random.Random(4)
    for n in [3, 12, 31, 33, 60, 90] + [rng.randint(2, 90) for _ in range(10 // SCALE)]:
        got, want = network(rng, n)
        np.testing.assert_array_equal(got.numpy(), want)


def test_chains_longer_than_an_einsum():
    for n in (40, 129, 300):
        s = lw.symbols(" ".join("d%d" % i for i in range(n + 1)))
        mats = [np.random.default_rng(i).integers(-1, 2, (2, 2)).astype("i8") for i in range(n)]
        x, want = lw.Tensor(mats[0]).to(s[0], s[1]), mats[0]
        for i in range(1, n):
            x, want = x * lw.Tensor(mats[i]).to(s[i], s[i + 1]), want @ mats[i]
        np.testing.assert_array_equal(x.sum(*s[1:-1]).numpy(), want)  # integers wrap alike in any order
    with pytest.raises(lw.Error, match="dimensions, the limit is 16"):
        x.sum(s[1]).numpy()
