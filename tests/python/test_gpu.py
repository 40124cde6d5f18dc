"""Calls on a real GPU, with tensors of torch and arrays of CuPy and JAX; without a GPU, test_device.py goes as far as it can."""

import gc
import os
import subprocess
import sys

import loopwright as lw
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="SKIPPED LOUDLY: torch is not installed, and calls on a GPU were not tested")
if not torch.cuda.is_available():
    pytest.skip("SKIPPED LOUDLY: there is no GPU, and calls on one were not tested", allow_module_level=True)

TEXT = """
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
def scale(float(N) x, float a) -> (y) { y(i) = a * x(i) }
def both(float(M,N) x) -> (y, s) { y(i,j) = x(i,j) + 1
    s +=! x(i,j) }
def update(float(N) x) -> (float(N) y) { y(i) = y(i) + x(i) }
def some(float(N) x) -> (float(M) y) { y(2*i) = x(i) }
def pick(float(N) x, int64(M) at) -> (y) { y(i) = x(at(i)) }
"""


@pytest.fixture(scope="module")
def T():
    return lw.define(TEXT)


def integers(*shape, seed=0):
    return torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(seed)).float()


def on_gpu(*shape, seed=0):
    return integers(*shape, seed=seed).cuda()


def same(got, want):
    return got.device.type == "cuda" and torch.equal(got.cpu(), want.cpu())


def test_results_are_there(T):
    a, b = on_gpu(70, 33), on_gpu(33, 50, seed=1)
    assert same(T.mm(a, b), a @ b) and same(T.mm(A=a, B=b), a @ b)
    into = torch.full((70, 50), -1.0, device="cuda")
    address = into.data_ptr()
    assert T.mm(a, b, out=into) is into and into.data_ptr() == address and same(into, a @ b)
    y, s = T.both(a)
    assert same(y, a + 1) and s.shape == () and same(s, a.sum())
    x, total = on_gpu(9), on_gpu(9, seed=2)
    before = total.clone()
    assert same(T.update(x), x)
    T.update(x, out=total)
    assert same(total, x + before)
    assert same(T.some(x, M=20)[:18:2], x) and same(T.some(x, M=20)[1::2], torch.zeros(10))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"])
def test_types(name):
    short = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "bool": "bool"}.get(name) or name.replace("uint", "u").replace("int", "i")
    copy = lw.define("def copy(%s(N) A) -> (B) { B(i) = A(i) }" % short).copy
    x = (torch.arange(37) % 5).to(getattr(torch, name)).cuda()
    got = copy(x)
    assert got.dtype == x.dtype and same(got, x)


def test_strides(T):
    a, b = on_gpu(40, 48), on_gpu(48, 24, seed=1)
    for x in (a.T.contiguous().T, on_gpu(40, 96)[:, ::2], on_gpu(80, 48)[3:43], on_gpu(1, 48).expand(40, 48), on_gpu(41, 49)[1:, 1:]):
        assert same(T.mm(x, b), x @ b)
    into = torch.zeros(24, 40, device="cuda").T
    assert T.mm(a, b, out=into) is into and same(into, a @ b)
    wide = torch.zeros(40, 48, device="cuda")
    T.mm(a, b, out=wide[:, ::2])
    assert same(wide[:, ::2], a @ b) and same(wide[:, 1::2], torch.zeros(40, 24))
    with pytest.raises(lw.Error, match="overlap|shares"):
        T.update(a[0], out=a[0])


def test_random_shapes(T):
    rng = np.random.default_rng(0)
    for i in range(80):  # more than the programs that are kept
        m, k, n = (int(v) for v in rng.integers(1, 70, 3))
        a, b = on_gpu(m, k, seed=i), on_gpu(k, n, seed=i + 1)
        assert same(T.mm(a, b), a @ b), (m, k, n)
    assert T.mm(on_gpu(0, 4), on_gpu(4, 3)).shape == (0, 3) and same(T.mm(on_gpu(2, 0), on_gpu(0, 3)), torch.zeros(2, 3))


def test_numbers(T):
    x = on_gpu(50)
    for number in (2, 2.0, np.float32(2), torch.tensor(2.0), torch.tensor(2.0, device="cuda")):
        assert same(T.scale(x, number), 2 * x)


def test_the_current_stream_orders_the_call(T):
    a, b = on_gpu(64, 64), on_gpu(64, 64, seed=1)
    want = T.mm(a, b).cpu()
    T.mm(torch.zeros_like(a), b)
    torch.cuda.synchronize()
    for side in (torch.cuda.Stream(), torch.cuda.Stream()):
        with torch.cuda.stream(side):
            x = torch.zeros_like(a)
            torch.cuda._sleep(400_000_000)  # about 0.2 s
            x.copy_(a)
            got = T.mm(x, b)
            ended = side.query()
            del x  # its memory may be used again after the call, in the order of the stream
            torch.zeros_like(a).fill_(7)
        assert not ended, "the call did not wait"
        side.synchronize()
        assert same(got, want)


def test_captured_in_a_graph(T):
    a, b, c = on_gpu(32, 32), on_gpu(32, 32, seed=1), torch.zeros(32, 32, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        T.mm(a, b, out=c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        T.mm(a, b, out=c)
    a.copy_(on_gpu(32, 32, seed=5))
    graph.replay()
    torch.cuda.synchronize()
    assert same(c, a @ b)


def test_refusals(T):
    a, b = on_gpu(4, 4), on_gpu(4, 4)
    for args, message in (((a, b.cpu()), "'B' is in host memory, but 'A' is on cuda:0"), ((a.cpu(), b), "'A' is in host memory"), ((a.double(), b), "elements of type f32"),
                          ((a[0], b), "rank 2"), ((a, on_gpu(5, 4)), "dimension 0 of argument 'B'"), ((a.clone().requires_grad_(), b), "detach")):
        with pytest.raises(lw.Error, match=message):
            T.mm(*args)
    with pytest.raises(lw.Error, match="'C' is in host memory"):
        T.mm(a, b, out=torch.zeros(4, 4))
    with pytest.raises(lw.Error, match="for code of this processor"):
        T.mm.compile(a, b)
    with pytest.raises(lw.Error, match="tune with arrays in host memory"):
        T.mm.tune(a, b)
    with pytest.raises(lw.Error, match="pick"):
        T.pick(a[0], torch.tensor([0, 7], device="cuda"))
    assert same(T.pick(a[0], torch.tensor([3, 0], device="cuda")), a[0][[3, 0]])
    assert ".entry" in T.mm.explain(a, b)


def test_arrays_of_the_host_on_the_gpu(T):
    a, b = integers(20, 30).numpy(), integers(30, 10).numpy()
    got = T.mm.on("cuda:0")(a, b)
    assert type(got) is np.ndarray and np.array_equal(got, a @ b)
    assert same(T.mm.on("cuda:0")(torch.from_numpy(a).cuda(), b), torch.from_numpy(a @ b))


def test_einsum():
    a, b, c = on_gpu(12, 9), on_gpu(9, 20, seed=1), on_gpu(20, 5, seed=2)
    assert same(lw.einsum("ij,jk,kl->il", a, b, c), a @ b @ c)
    assert same(lw.einsum(a, [0, 1], [1, 0]), a.T)
    into = torch.zeros(12, 20, device="cuda")
    assert lw.einsum("ij,jk->ik", a, b, out=into) is into and same(into, a @ b)
    assert same(lw.einsum("ij,jk->ik", a.bfloat16(), b.bfloat16()), (a @ b).bfloat16())


def test_lazy_tensors():
    m, n, k = lw.symbols("m n k")
    a, b = on_gpu(16, 24), on_gpu(24, 40, seed=1)
    c = (lw.Tensor(a).to(m, k) * lw.Tensor(b).to(k, n)).sum(k)
    assert same(c.torch(), a @ b)
    p = lw.nn.softmax(lw.Tensor(a).to(m, n), n)
    assert torch.allclose(p.torch(), torch.softmax(a, 1), atol=1e-6)
    total, largest = lw.compute(c.sum(), c.max())
    assert same(total, (a @ b).sum()) and same(largest, (a @ b).max())
    with pytest.raises(lw.Error, match="use .torch"):
        c.numpy()


def test_operators_of_torch():
    f = lw.torch.op("def lw_gpu_swish(float(N) x, float a) -> (y) { y(i) = x(i) * sigmoid(a * x(i)) }",
                    backward="def b(float(N) x, float a, float(N) d_y) -> (d_x) { s(i) = sigmoid(a * x(i))\n d_x(i) = d_y(i) * s(i) * (1 + a * x(i) * (1 - s(i))) }")
    x = torch.rand(1000, device="cuda", requires_grad=True)
    want = x * torch.sigmoid(2 * x)
    (wanted,) = torch.autograd.grad(want.sum(), x)
    y = f(x, 2.0)
    assert y.is_cuda and torch.allclose(y, want, atol=1e-6)
    (got,) = torch.autograd.grad(y.sum(), x)
    assert got.is_cuda and torch.allclose(got, wanted, atol=1e-6)
    compiled = torch.compile(lambda x: f(x, 2.0) + 1, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(x), want + 1, atol=1e-6)
    torch.library.opcheck(f.op.default, (torch.rand(5, device="cuda", requires_grad=True), torch.tensor(2.0)))


class Interface:
    def __init__(self, of):
        self.__cuda_array_interface__ = of.__cuda_array_interface__


def test_cuda_array_interface(T):
    a, b, c = on_gpu(20, 30), on_gpu(30, 10), torch.zeros(20, 10, device="cuda")
    torch.cuda.synchronize()
    T.mm(Interface(a), Interface(b), out=Interface(c))
    assert same(c, a @ b)
    assert same(T.mm(a, Interface(b)), a @ b)
    assert same(T.mm(a, Interface(on_gpu(10, 30).T)), a @ on_gpu(10, 30).T)


def test_cupy(T):
    cupy = pytest.importorskip("cupy")
    a, b = (cupy.asarray(integers(*s).numpy()) for s in ((30, 40), (40, 20)))
    got = T.mm(a, b)
    assert isinstance(got, cupy.ndarray) and cupy.array_equal(got, a @ b)
    assert cupy.array_equal(T.mm(a[::2], b[:, ::-1]), a[::2] @ b[:, ::-1])
    into = cupy.zeros((30, 20), "f4")
    assert T.mm(a, b, out=into) is into and cupy.array_equal(into, a @ b)
    with cupy.cuda.Stream(non_blocking=True):
        assert cupy.array_equal(T.mm(a + 1, b), (a + 1) @ b)
    assert isinstance(T.mm(torch.as_tensor(a, device="cuda"), b), torch.Tensor), "the kind of the first array"
    m, n = lw.symbols("m n")
    assert cupy.array_equal((lw.Tensor(a).to(m, n) * 2).cupy(), a * 2) and cupy.array_equal(lw.einsum("ij->ji", a), a.T)


def test_jax(T):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX sees no GPU")
    a, b = (jax.device_put(integers(*s).numpy()) for s in ((30, 40), (40, 20)))
    into = torch.zeros(30, 20, device="cuda")
    T.mm(a, b, out=into)
    assert np.array_equal(into.cpu().numpy(), np.asarray(a) @ np.asarray(b))
    with pytest.raises(lw.Error, match="give it by out="):
        T.mm(a, b)
    with pytest.raises(lw.Error, match="cannot be written"):
        T.mm(a, b, out=jax.device_put(np.zeros((30, 20), "f4")))


def test_calls_keep_no_memory(T):
    a, b = on_gpu(512, 512), on_gpu(512, 512)
    for _ in range(5):
        T.mm(a, b)
    torch.cuda.synchronize()
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(200):
        T.mm(a, b)
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_tuning_for_the_gpu():
    script = """
import numpy as np, loopwright as lw
f = lw.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }").mm.on("cuda:0")
a = np.ones((256, 256), "f4")
found = f.tune(a, a, seconds=6)
assert found.seconds > 0 and found.trials > 1, found
assert (f(a, a) == 256).all()
print("tuned", found.seconds, found.speedup, found.trials)
import torch
x = torch.ones(256, 256, device="cuda")
assert (f(x, x) == 256).all().item()
"""
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "tuned" in done.stdout, done.stderr
