"""Operators of JAX through XLA's foreign-function interface."""

import pickle

import loopwright as lw
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="SKIPPED LOUDLY: JAX is not installed, and its operators were not tested")
if not hasattr(jax, "ffi"):
    pytest.skip("this JAX has no jax.ffi; its operators were not tested", allow_module_level=True)
jnp = jax.numpy

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
BACK = """def mm_grad(float(M,K) A, float(K,N) B, float(M,N) d_C) -> (d_A, d_B) {
    d_A(m,k) +=! d_C(m,n) * B(k,n)
    d_B(k,n) +=! d_C(m,n) * A(m,k)
}"""


def data(*shape):
    return jnp.asarray(np.random.default_rng(0).integers(-3, 4, shape).astype("f4"))


def test_eager_jit_and_vmap():
    mm = lw.jax.op(MM)
    a, b = data(4, 5), data(5, 6)
    expected = np.asarray(a) @ np.asarray(b)
    assert np.array_equal(mm(a, b), expected) and np.array_equal(jax.jit(mm)(a, b), expected)
    batch = data(3, 4, 5)
    assert np.array_equal(jax.vmap(mm, in_axes=(0, None))(batch, b), np.asarray(batch) @ np.asarray(b))
    assert np.array_equal(jax.jit(lambda x: mm(x.T, b) * 2 + 1)(a.T), expected * 2 + 1)
    with pytest.raises(lw.Error, match="argument 'A'"):
        mm(a.astype("int32"), b)
    with pytest.raises(TypeError, match="takes A, B"):
        mm(a)
    assert np.array_equal(pickle.loads(pickle.dumps(mm))(a, b), expected)


def test_grad():
    mm = lw.jax.op(MM, backward=BACK)
    a, b = data(4, 5), data(5, 6)
    got = jax.jit(jax.grad(lambda a, b: (mm(a, b) ** 2).sum(), argnums=(0, 1)))(a, b)
    expected = jax.grad(lambda a, b: ((a @ b) ** 2).sum(), argnums=(0, 1))(a, b)
    assert all(np.allclose(g, e) for g, e in zip(got, expected))


def test_several_results_numbers_and_scalars():
    f = lw.jax.op("def f(float(N) x, float a, int s) -> (y, t) { y(i) = a * x(s*i) where i in 0:N/s\n t +=! x(i) }")
    y, t = jax.jit(lambda x: f(x, 10, 2))(jnp.arange(6.0, dtype="f4"))
    assert np.array_equal(y, [0, 20, 40]) and float(t) == 15
    half = lw.jax.op("def h(bfloat16(N) x) -> (y) { y(i) = x(i) + x(i) }")
    assert half(jnp.ones(3, "bfloat16")).dtype == jnp.bfloat16
    holes = lw.jax.op("def holes(float(N) x) -> (y) { y(2*i) = x(i) }")
    assert np.array_equal(holes(jnp.ones(2, "f4")), [1, 0, 1])


def test_an_error_at_run_time():
    gather = lw.jax.op("def g(float(N) x, int(M) at) -> (y) { y(i) = x(at(i)) }")
    x = jnp.arange(4.0, dtype="f4")
    assert np.array_equal(gather(x, jnp.array([3, 0], "int32")), [3, 0])
    with pytest.raises(Exception, match="'x'|index|outside"):
        jax.block_until_ready(gather(x, jnp.array([9], "int32")))


def test_arrays_of_jax_are_arguments():
    f = lw.define(MM).mm
    assert np.array_equal(f(data(2, 3), data(3, 2)), np.asarray(data(2, 3)) @ np.asarray(data(3, 2)))
