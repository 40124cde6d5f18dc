"""Arrays of every kind, without a copy: types, strides, other libraries, lifetimes."""

import array
import gc
import os
import sys

import loopwright as lw
import numpy as np
import pytest
import shapes
from conftest import SCALE

TYPES = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
         "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64"}


def copier(t, rank):
    sizes, at = ",".join("N%d" % d for d in range(rank)), ",".join("i%d" % d for d in range(rank))
    return lw.define("def copy(%s%s A) -> (B) { B(%s) = A(%s) }" % (t, "(%s)" % sizes if rank else "()", at, at)).copy


def strided(draw, shape, dtype):
    """An array of this shape that lies somehow in a larger one."""
    steps = [int(draw.choice([1, 1, 2, 3, -1, -2])) for _ in shape]
    order = draw.permutation(len(shape))
    whole = np.empty([shape[d] * abs(steps[d]) + 2 for d in order], dtype)
    view = whole.transpose(np.argsort(order))
    view = view[tuple(slice(None, None, s) for s in steps)][tuple(slice(0, n) for n in shape)]
    view[...] = draw.integers(0, 2, shape) if dtype == bool else draw.integers(0, 100, shape)
    return view


def test_random_views_of_every_type():
    draw = np.random.default_rng(3)
    kept = {}
    for _ in range(400 // SCALE + 20):
        name = str(draw.choice(list(TYPES)))
        rank = int(draw.integers(0, 5))
        copy = kept.setdefault((name, rank), copier(TYPES[name], rank))
        shape = tuple(int(n) for n in draw.integers(0, 5, rank))
        a = strided(draw, shape, np.dtype(name)) if rank else np.array(1, name)
        if draw.random() < 0.3:
            a = np.broadcast_to(a, a.shape)
        a.flags.writeable = bool(draw.random() < 0.5) and a.flags.writeable
        before = a.copy()
        b = copy(a)
        assert b.dtype == a.dtype and b.shape == a.shape and np.array_equal(a, b) and np.array_equal(a, before)
        into = strided(draw, shape, np.dtype(name)) if rank else np.array(0, name)
        assert copy(a, out=into) is into and np.array_equal(a, into)


def test_broadcast_inputs_have_stride_zero():
    copy = copier("f32", 2)
    assert np.array_equal(copy(np.broadcast_to(np.arange(3, dtype="f4"), (4, 3))), [[0, 1, 2]] * 4)
    with pytest.raises(lw.Error, match="several elements"):
        copy(np.zeros((4, 3), "f4"), out=np.lib.stride_tricks.as_strided(np.zeros(3, "f4"), (4, 3), (0, 4)))


def test_arrays_that_are_no_whole_elements_apart():
    copy = copier("f32", 1)
    odd = np.zeros(4, np.dtype([("a", "u1"), ("b", "f4")]))["b"]
    with pytest.raises(lw.Error, match="aligned|multiples"):
        copy(odd)
    assert np.array_equal(copy(np.zeros(4, np.dtype([("a", "f4"), ("b", "f4")]))["b"]), [0] * 4)


def test_memory_without_numpy():
    copy = copier("f32", 1)
    source = array.array("f", [1, 2, 3])
    assert np.array_equal(copy(source), [1, 2, 3]) and np.array_equal(copy(memoryview(source)), [1, 2, 3])
    into = array.array("f", [0, 0, 0])
    copy(source, out=into)
    assert list(into) == [1, 2, 3]
    assert np.array_equal(copier("u8", 1)(b"abc"), [97, 98, 99])
    with pytest.raises(lw.Error, match="read-only"):
        copier("u8", 1)(b"abc", out=b"xyz")

    class Interface:
        def __init__(self, of):
            self.of, self.__array_interface__ = of, of.__array_interface__

    assert np.array_equal(copy(Interface(np.arange(6, dtype="f4")[::2])), [0, 2, 4])


class OnlyDLPack:
    """What another library's array looks like from here."""

    def __init__(self, of, device=(1, 0)):
        self.of, self.device = of, device

    def __dlpack__(self, stream=None):
        return self.of.__dlpack__()

    def __dlpack_device__(self):
        return self.device


def test_dlpack():
    copy = copier("f32", 2)
    a = np.arange(12, dtype="f4").reshape(3, 4)
    for view in (a, a.T, a[:, ::2], a[::-1]):
        assert np.array_equal(copy(OnlyDLPack(view)), view)
    with pytest.raises(lw.Error, match="'B' is to be on a GPU"):
        copy(OnlyDLPack(a, (2, 0)))
    with pytest.raises(lw.Error, match="cannot be written"):
        copy(a, out=OnlyDLPack(np.zeros((3, 4), "f4")))


def test_half_scalars_round_to_nearest():
    f = lw.define("def f(f16() a) -> (b) { b() = a() }").f
    draw = np.random.default_rng(5)
    values = np.concatenate([draw.normal(size=300) * 2.0 ** draw.integers(-30, 17, 300), [0.0, -0.0, 65504, 65519.99, 65520, 1e9, 2.0**-25,
                                                                                          2.0**-24 * 1.5, np.inf, -np.inf]])
    with np.errstate(over="ignore"):
        for x in values:
            assert f(float(x)).tobytes() == np.float16(x).tobytes(), x
    assert np.isnan(f(float("nan")))


def test_integer_scalars_have_a_range():
    for t, name in (("i8", "int8"), ("u8", "uint8"), ("i64", "int64"), ("u64", "uint64")):
        f, info = lw.define("def f(%s() a) -> (b) { b() = a() }" % t).f, np.iinfo(name)
        assert f(info.min) == info.min and f(info.max) == info.max
        for outside in (info.min - 1, info.max + 1, 1.5, None):
            with pytest.raises(lw.Error, match="should be a number of type %s" % t):
                f(outside)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.arange(-3, 5, dtype=ml_dtypes.bfloat16)
    b = copier("bf16", 1)(a)
    assert b.dtype == a.dtype and np.array_equal(a, b)
    f = lw.define("def f(bf16() a) -> (b) { b() = a() }").f
    for x in np.random.default_rng(5).normal(size=200) * 1e3:
        assert f(float(x)) == ml_dtypes.bfloat16(x)
    with pytest.raises(lw.Error, match="but has f32"):
        copier("bf16", 1)(a.astype("f4"))


def test_torch():
    torch = pytest.importorskip("torch")
    copy = copier("f32", 2)
    t = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    for view in (t, t.T, t[:, ::2]):
        got = copy(view)
        assert isinstance(got, torch.Tensor) and torch.equal(got, view)
    assert isinstance(copy(t.numpy()), np.ndarray)
    out = torch.zeros(3, 4)
    assert copy(t, out=out) is out and torch.equal(out, t)
    add = lw.define("def add(float(N) a, float(N) b) -> (c) { c(i) = a(i) + b(i) }").add
    assert isinstance(add(torch.ones(3), np.ones(3, "f4")), torch.Tensor) and isinstance(add(np.ones(3, "f4"), torch.ones(3)), np.ndarray)
    with pytest.raises(lw.Error, match="detach"):
        copy(t.requires_grad_())
    b = torch.ones(4, dtype=torch.bfloat16)
    assert copier("bf16", 1)(b).dtype == torch.bfloat16


def test_references_come_and_go():
    copy = copier("f32", 1)
    a, out, wrong = np.zeros(4, "f4"), np.zeros(4, "f4"), np.zeros((2, 2), "f4")
    text = "out"

    def everything():
        copy(a), copy(a, out=out), copy(A=a), copy(OnlyDLPack(a)), copy(array.array("f", [1])), copy.compile(a)(a)
        for args, keywords in (((wrong,), {}), ((a,), {text: wrong}), ((), {}), ((a, a), {}), ((a,), {"out": a}), ((None,), {})):
            with pytest.raises((lw.Error, TypeError)):
                copy(*args, **keywords)

    everything()
    gc.collect()
    before = [sys.getrefcount(o) for o in (a, out, wrong, copy, None if sys.version_info >= (3, 12) else lw.Error)]
    for _ in range(50):
        everything()
    gc.collect()
    after = [sys.getrefcount(o) for o in (a, out, wrong, copy, None if sys.version_info >= (3, 12) else lw.Error)]
    assert before == after


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer keeps freed memory for a while")
def test_many_shapes_do_not_grow_the_process():
    grown, sizes = shapes.grow(lw, 8000 // SCALE + 2000)
    assert grown < 6 << 20, sizes
    copy, a = copier("f32", 1), np.zeros(8, "f4")
    copy(a)
    copy.cache_size = 0
    assert copy.cached == 0 and copy(a[:5]).shape == (5,)
    copy.cache_size = 2
    copy(a[:5]), copy(a[:6]), copy(a[:7])
    assert copy.cached == 2


def dirty():
    for _ in range(60):
        np.full(9, 7.5, "f4")


def test_elements_that_nothing_writes_are_zero():
    T = lw.define("""
        def up(float(N) x, float(K) w) -> (O) { O(2*i + k) +=! x(i)*w(k) }
        def third(float(N) x) -> (O) { O(3*i) = x(i) }
        def ring(float(T) k, int pos) -> (float(S) C) { C((pos + t) % S) = k(t) }
        def copy(float(N) x) -> (O) { O(i) = x(i) }""")
    x = np.ones(5, "f4")
    for _ in range(5):
        dirty()
        assert T.up(x, np.ones(1, "f4")).tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1]
        dirty()
        assert T.third(x[:3]).tolist() == [1, 0, 0, 1, 0, 0, 1]
        dirty()
        assert T.ring(x[:3], 8, S=9).tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1]
        assert T.copy(x).tolist() == x.tolist()


def test_negated_views_of_torch_are_refused():
    torch = pytest.importorskip("torch")
    z = torch.complex(torch.ones(3), torch.ones(3)).conj().imag
    copy = copier("f32", 1)
    assert z.is_neg()
    with pytest.raises(lw.Error, match="resolve_neg"):
        copy(z)
    assert copy(z.resolve_neg()).tolist() == [-1, -1, -1]
