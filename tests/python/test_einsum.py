"""lw.einsum against numpy.einsum: numbers, types, keywords, orders of contraction."""

import os
import random
import subprocess
import sys

import loopwright as lw
import numpy as np
import pytest
from conftest import ROOT, SCALE

TYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


def drawn(rng, most=4):
    """(subscripts, shapes): a specification that NumPy takes."""
    labels = rng.sample("abcijkABZ", rng.randint(1, 6))
    sizes = {label: rng.choice([0, 1, 2, 2, 3, 3, 4]) for label in labels}
    terms, shapes, ellipses = [], [], False
    for _ in range(rng.randint(1, most)):
        term = [rng.choice(labels) for _ in range(rng.randint(0, 3))]
        ones = {label: rng.random() < 0.1 for label in term}
        shape = [1 if ones[label] else sizes[label] for label in term]
        if rng.random() < 0.25:
            at = rng.randint(0, len(term))
            term.insert(at, "...")
            shape[at:at] = [1 if rng.random() < 0.2 else n for n in [2, 3][rng.randint(0, 2):]]
            ellipses = True
        terms.append(term)
        shapes.append(tuple(shape))
    spec = ",".join("".join(term) for term in terms)
    if rng.random() < 0.7:
        used = sorted(set(x for term in terms for x in term) - {"..."})
        chosen = rng.sample(used, rng.randint(0, len(used)))
        spec += "->" + "".join(["..."] * ellipses + chosen)
    return spec, shapes


def data(rng, shape, dtype):
    draw = np.random.default_rng(rng.getrandbits(32))
    return draw.integers(0, 2 if dtype == "bool" else 4, shape).astype(dtype)


def test_random_specifications_agree_with_numpy():
    rng = random.Random(11)
    refused = orders = 0
    for _ in range(1500 // SCALE + 60):
        spec, shapes = drawn(rng, 6)
        first = rng.choice(TYPES)
        mixed = np.lib.NumpyVersion(np.__version__) >= "2.0.0" or all(shapes)  # before, values of arrays without dimensions had a say
        operands = [data(rng, shape, rng.choice(TYPES) if mixed and rng.random() < 0.3 else first) for shape in shapes]
        try:
            want = np.einsum(spec, *operands)
        except (ValueError, TypeError):
            refused += 1
            continue
        got = lw.einsum(spec, *operands)
        assert got.dtype == want.dtype and got.shape == want.shape, spec
        assert np.array_equal(got, want), (spec, shapes, [o.dtype for o in operands])
        assert np.array_equal(lw.einsum(spec, *operands, optimize=False), want), spec
        path, info = lw.einsum_path(spec, *operands)
        orders += len(path) > 1
        assert info.opt_cost <= info.naive_cost
        if len(operands) > 1:
            assert np.array_equal(lw.einsum(spec, *operands, optimize=path), want), (spec, path)
    assert refused < 1000 // SCALE + 60 and orders > 0


def test_numpys_own_tests():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests/python/numpy_einsum.py")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout


def test_integers_wrap_as_in_numpy():
    for dtype in ("int8", "uint8", "int16", "int32", "int64", "uint64"):
        info = np.iinfo(dtype)
        a = np.random.default_rng(1).integers(info.min, info.max, (9, 9), dtype=dtype, endpoint=True)
        with np.errstate(over="ignore"):
            for spec in ("ij,jk->ik", "ij,jk,kl->il", "ij->", "ij,ij->ij", "ii"):
                want = np.einsum(spec, *[a] * len(spec.split("->")[0].split(",")))
                assert np.array_equal(lw.einsum(spec, *[a] * len(spec.split("->")[0].split(","))), want), (dtype, spec)


def test_interleaved_operands():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    assert np.array_equal(lw.einsum(a, [0, 1], b, [1, 2]), a @ b)
    assert np.array_equal(lw.einsum(a, [0, 1], b, [1, 2], [2, 0]), (a @ b).T)
    assert np.array_equal(lw.einsum(a, [Ellipsis, 7], [7, Ellipsis]), a.T)
    assert np.array_equal(lw.einsum(a, [51, 1], b, [1, 26], [51, 26]), a @ b)
    many = [np.full((1, 1), 2.0)] * 30
    chain = [x for i, m in enumerate(many) for x in (m, [i, i + 1])]
    assert lw.einsum(*chain, [0, 30])[0, 0] == 2.0**30
    with pytest.raises(lw.Error, match="integers"):
        lw.einsum(a, ["i", "j"])


def test_keywords():
    a = np.arange(6, dtype="i4").reshape(2, 3)
    assert lw.einsum("ij->j", a, dtype="f8").dtype == np.float64
    with pytest.raises(TypeError, match="cannot be cast"):
        lw.einsum("ij->j", a, dtype="i2")
    assert lw.einsum("ij->j", a, dtype="i2", casting="unsafe").dtype == np.int16
    assert lw.einsum("ij->ij", a, order="F").flags.f_contiguous
    out = np.zeros(3, "i4")
    assert lw.einsum("ij->j", a, out=out) is out and np.array_equal(out, a.sum(0))
    wide = np.zeros(3, "f8")
    lw.einsum("ij->j", a, out=wide)
    assert np.array_equal(wide, a.sum(0))
    with pytest.raises(TypeError):
        lw.einsum("ij->j", a, out=np.zeros(3, "i2"))
    with pytest.raises(lw.Error, match="shape"):
        lw.einsum("ij->j", a, out=np.zeros((2, 3), "f8"))
    assert np.array_equal(lw.einsum("ij->i", a.tolist()), a.sum(1))
    for optimize in (True, False, "greedy", "optimal", ("greedy", 100), ["einsum_path", (0, 1)]):
        assert np.array_equal(lw.einsum("ij,kj->ik", a, a, optimize=optimize), a @ a.T)
    for wrong in ([(0, 2)], [(0, 0)], [(0,)], []):
        with pytest.raises(lw.Error, match="path"):
            lw.einsum("ij,kj->ik", a, a, optimize=["einsum_path"] + wrong)
    square = np.arange(9.0).reshape(3, 3)
    assert lw.einsum("ij->ji", square, out=square) is square and square[0, 1] == 3, "an overlapping out is computed aside"


def test_refusals_of_numpy_are_ours():
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.ones(3, "f8")
    for casting in ("no", "equiv"):
        assert lw.einsum("ij,j->i", a, a[0], casting=casting).dtype == np.float32
        with pytest.raises(TypeError, match="cannot be cast"):
            lw.einsum("ij,j->i", a, b, casting=casting)
    with pytest.raises(ValueError, match="casting is 'foo'"):
        lw.einsum("ij,j->i", a, b, casting="foo")
    for label in (-1, 117, 999):
        with pytest.raises(ValueError, match="from 0 to 116"):
            lw.einsum(a, [0, label], [0])


def test_byte_orders_are_converted():
    a = np.arange(6, dtype=">f4").reshape(2, 3)
    for _ in range(2):
        assert np.array_equal(lw.einsum("ij->i", a), a.sum(1))


def test_steps_of_one_operand():
    a, b, c = np.arange(6.0).reshape(2, 3), np.ones((3, 4)), np.arange(8.0).reshape(4, 2)
    want = a @ b @ c
    for path in ([(0,), (0, 1), (0, 1)], [(0,), (1,), (0, 1), (0, 1)], [(2,), (0, 1), (0, 1), (0,)], [(0,), (0,), (0,), (0, 1, 2)]):
        assert np.array_equal(lw.einsum("ij,jk,kl->il", a, b, c, optimize=["einsum_path"] + path), want), path
    with pytest.raises(lw.Error, match="path"):
        lw.einsum("ij,jk,kl->il", a, b, c, optimize=["einsum_path", (0,), (1,), (2,)])


@pytest.mark.parametrize("ml_dtypes", [True, False])
def test_bfloat16_of_torch(ml_dtypes, monkeypatch):
    torch = pytest.importorskip("torch")
    if not ml_dtypes:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    a = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    got = lw.einsum("ij,kj->ik", a, a)
    assert got.dtype == torch.bfloat16 and torch.equal(got, a @ a.T)
    assert lw.einsum_path("ij,kj->ik", a, a)[0] == [(0, 1)]
    with pytest.raises(lw.Error, match="all operands"):
        lw.einsum("ij,kj->ik", a, np.ones((2, 3), "f4"))


def test_results_are_never_views():
    a = np.arange(6.0).reshape(2, 3)
    b = lw.einsum("ij->ji", a)
    b[0, 0] = 99
    assert a[0, 0] == 0 and lw.einsum("ij->", a).shape == ()


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "object", "longdouble", "S3", "datetime64[s]"])
def test_other_types_are_refused_by_name(dtype):
    with pytest.raises((lw.Error, TypeError), match="type|Cannot|could not"):
        lw.einsum("i->i", np.zeros(3, dtype))


def test_mistakes_have_places():
    with pytest.raises(lw.Error) as error:
        lw.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5)))
    assert error.value.diagnostics[0].column == 4 and "^" in str(error.value)


def test_the_order_is_cheap():
    """Matrix chains have a known optimum; the memory limit is kept."""
    rng = random.Random(5)
    for _ in range(60):
        n = rng.randint(3, 8)
        dims = [rng.choice([1, 2, 3, 5, 8, 13]) for _ in range(n + 1)]
        best = {}
        for length in range(1, n + 1):
            for i in range(n - length + 1):
                j = i + length
                best[i, j] = 0 if length == 1 else min(best[i, k] + best[k, j] + 2 * dims[i] * dims[k] * dims[j] for k in range(i + 1, j))
        spec = ",".join(chr(97 + i) + chr(98 + i) for i in range(n)) + "->a" + chr(97 + n)
        arrays = [np.ones((dims[i], dims[i + 1])) for i in range(n)]
        path, info = lw.einsum_path(spec, *arrays)
        assert info.opt_cost <= min(best[0, n], info.naive_cost), (spec, dims)
        _, tight = lw.einsum_path(spec, *arrays, memory_limit=4)
        assert tight.largest_intermediate <= 4
        assert np.array_equal(lw.einsum(spec, *arrays), np.einsum(spec, *arrays, optimize=True))


def test_networks_of_many_tensors():
    rng = random.Random(9)
    for n in (12, 20, 30):
        edges = [(i, i + 1) for i in range(n - 1)] + [tuple(rng.sample(range(n), 2)) for _ in range(n // 3)]
        edges = edges[:50]
        terms = ["".join(chr((97 if k < 26 else 65 - 26) + k) for k, e in enumerate(edges) if i in e) for i in range(n)]
        arrays = [np.random.default_rng(i).integers(0, 2, (2,) * len(t)).astype("f8") for i, t in enumerate(terms)]
        spec = ",".join(terms) + "->"
        assert lw.einsum(spec, *arrays) == np.einsum(spec, *arrays, optimize="greedy")
        path, info = lw.einsum_path(spec, *arrays)
        assert len(path) == n - 1 and info.speedup > 100
        opt_einsum = pytest.importorskip("opt_einsum")
        assert info.opt_cost <= 1.1 * float(opt_einsum.contract_path(spec, *arrays, optimize="auto")[1].opt_cost)


def test_order_keeps_scalars():
    x = np.ones(3)
    for order in "CFAK":
        assert lw.einsum("i,i", x, x, order=order).shape == ()


def test_more_labels_than_letters():
    """A chain of 25 matrices and vectors on each: 76 labels, by number and by character."""
    rng = np.random.default_rng(5)
    mats = [rng.integers(-1, 2, (2, 3, 2)).astype("f8") for _ in range(25)]
    vecs = [rng.integers(-1, 2, (3, 2)).astype("f8") for _ in range(6)]
    args = []
    for number, mat in enumerate(mats):
        args += [mat, [number, 26 + number, number + 1]]
    for number, vec in enumerate(vecs):
        args += [vec, [26 + number, 60 + number]]
    got = lw.einsum(*args, [0, 25, 60, 65])
    state = np.eye(2)
    parts = [np.tensordot(vec.sum(1), mat, (0, 1)) if 0 < number < 5 else None for number, (mat, vec) in enumerate(zip(mats, vecs))]
    first, last = np.einsum("asb,st->atb", mats[0], vecs[0]), np.einsum("asb,st->atb", mats[5], vecs[5])
    state = first
    for number in range(1, 5):
        state = np.einsum("atb,bc->atc", state, parts[number])
    state = np.einsum("atb,buc->atuc", state, last)
    for mat in mats[6:]:
        state = np.einsum("atuc,cd->atud", state, mat.sum(1))
    assert np.allclose(got, state.transpose(0, 3, 1, 2))
    a = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(lw.einsum("\u00c0z,z\u00c1->\u00c1\u00c0", a, a.T), (a @ a.T).T)
    assert np.array_equal(lw.einsum("\u00c0z", a), a.T), "letters sort first"
    with pytest.raises(lw.Error, match="label '\u00c0' occurs twice"):
        lw.einsum("\u00c0z->\u00c0\u00c0", a)
