"""Calls on devices: real ones on the emulator, and arrays that claim to be on a GPU, as far as a machine without one can go."""

import gc
import pickle
import sys
import types
import weakref

import loopwright as lw
import numpy as np
import pytest

TEXT = """
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
def scale(float(N) x, float a) -> (y) { y(i) = a * x(i) }
def both(float(N) x) -> (y, s) { y(i) = x(i) + 1
    s +=! x(i) }
def add(float(N) x) -> (float(N) y) { y(i) = y(i) + x(i) }
"""
NO_GPU = "device 'cuda:[01]'"  # the error where the driver or the GPU is missing


@pytest.fixture(scope="module")
def T():
    return lw.define(TEXT)


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")  # addresses of the host must not reach a real one


def matrices():
    return np.arange(12, dtype="f4").reshape(3, 4), np.arange(8, dtype="f4").reshape(4, 2) - 3


# --- On the emulator ------------------------------------------------------------------------------------------------------------------


def test_arrays_of_the_host_are_copied_to_a_device(T):
    a, b = matrices()
    mm = T.mm.on("emulate")
    assert mm.device == "emulate" and T.mm.device is None and mm.on(None).device is None
    for x in (a, a.copy(order="F"), np.repeat(a, 2, axis=1)[:, ::2]):
        assert np.array_equal(mm(x, b), a @ b)
    into = np.zeros((2, 3), "f4").T
    assert mm(a, b, out=into) is into and np.array_equal(into, a @ b)
    y, s = T.both.on("emulate")(a[0])
    assert np.array_equal(y, a[0] + 1) and float(s) == a[0].sum()
    assert np.array_equal(T.scale.on("emulate")(a[0], 2.5), a[0] * 2.5)
    assert np.array_equal(T.add.on("emulate")(a[0]), a[0])
    total = np.ones(4, "f4")
    T.add.on("emulate")(a[0], out=total)
    assert np.array_equal(total, a[0] + 1)
    assert pickle.loads(pickle.dumps(mm)).device == "emulate"


def test_device_schedules(T):
    a, b = matrices()
    mine = T.mm.on("emulate").schedule("C: m:grid.x n:thread.x k")
    assert mine.device == "emulate" and np.array_equal(mine(a, b), a @ b)
    assert "m:grid.x" in mine.explain(a, b) and ".entry" in mine.explain(a, b)
    tuned = T.mm.on("emulate")
    found = tuned.tune(a, b, trials=4, seconds=20)
    assert np.array_equal(tuned(a, b), a @ b) and found.schedule.split("\n")[0] in tuned.explain(a, b)


def test_what_devices_refuse(T):
    a, b = matrices()
    mm = T.mm.on("emulate")
    for what in (mm.compile, mm.loop_tree, mm.tree):
        with pytest.raises(lw.Error, match="for code of this processor, but the call runs on emulate"):
            what(a, b)
    for name in ("gpu", "cuda:", "cuda:x", ""):
        with pytest.raises(lw.Error, match="there is no device"):
            T.mm.on(name)
    with pytest.raises(TypeError, match="a device is a text"):
        T.mm.on(0)
    with pytest.raises(lw.Error, match=NO_GPU):
        T.mm.on("cuda")(a, b)
    with pytest.raises(lw.Error, match="should have elements of type f32"):
        mm(a.astype("f8"), b)


# --- Arrays that claim to be on a GPU ---------------------------------------------------------------------------------------------------


class OnGPU:
    """Another library's array: memory of the host that says it is on a GPU."""

    def __init__(self, of, device=(2, 0)):
        self.of, self.device, self.streams = of, device, []
        self.shape, self.dtype = of.shape, of.dtype

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self.of.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class Interface:
    """The same by __cuda_array_interface__."""

    def __init__(self, of, stream=None, read_only=False, **more):
        self.of = of
        strides = None if of.flags.c_contiguous else of.strides
        self.__cuda_array_interface__ = {"shape": of.shape, "typestr": of.dtype.str, "data": (of.ctypes.data, read_only), "strides": strides,
                                         "version": 3, "stream": stream, **more}


def test_arrays_of_a_call_are_on_one_device(T):
    a, b = matrices()
    kernel = T.mm.compile(a, b)
    for args, message in (((OnGPU(a), b), "argument 'B' is in host memory, but 'A' is on cuda:0"), ((a, OnGPU(b, (2, 1))), "'A' is in host memory, but 'B' is on cuda:1"),
                          ((OnGPU(a), OnGPU(b, (2, 1))), "'B' is on cuda:1, but 'A' on cuda:0"), ((OnGPU(a, (8, 0)), b), "neither in host memory nor on a CUDA device"),
                          ((OnGPU(a), OnGPU(b)), "give it by out=")):
        with pytest.raises(lw.Error, match=message) as raised:
            T.mm(*args)
        assert raised.value.diagnostics[0].line == 2, "it points at the declaration"
    with pytest.raises(lw.Error, match="'C' is in host memory"):
        T.mm(OnGPU(a), OnGPU(b), out=np.zeros((3, 2), "f4"))
    with pytest.raises(lw.Error, match="runs on emulate"):
        T.mm.on("emulate")(OnGPU(a), b)
    with pytest.raises(lw.Error, match="the kernel is for code of this processor"):
        kernel(OnGPU(a), OnGPU(b))
    for what in (T.mm.compile, T.mm.loop_tree, T.mm.tree):
        with pytest.raises(lw.Error, match="for code of this processor"):
            what(OnGPU(a), OnGPU(b))
    with pytest.raises(lw.Error, match="tune with arrays in host memory"):
        T.mm.tune(OnGPU(a), OnGPU(b))
    with pytest.raises(lw.Error, match="cannot be written"):
        T.mm(OnGPU(a), OnGPU(b), out=OnGPU(np.zeros((3, 2), "f4")))


def test_numbers_may_be_on_the_host(T):
    for number in (2, 2.0, np.float32(2), np.array(2, "f4")):
        with pytest.raises(lw.Error, match=NO_GPU):
            T.scale(Interface(np.ones(3, "f4")), number, out=Interface(np.zeros(3, "f4")))


def test_cuda_array_interface(T):
    a, b = matrices()
    into = Interface(np.zeros((3, 2), "f4"))
    for x in (Interface(a), Interface(np.asfortranarray(a)), Interface(a, stream=7)):
        with pytest.raises(lw.Error, match=NO_GPU):
            T.mm(x, Interface(b), out=into)
    for x, message in ((Interface(a[0]), "should have rank 2"),
                       (Interface(a.astype(">f4")), "elements of type >f4"), (Interface(a, shape=(3, 5)), "dimension 0 of argument 'B'")):
        with pytest.raises(lw.Error, match=message):
            T.mm(x, Interface(b), out=into)
    with pytest.raises(lw.Error, match="another stream than 'A'"):
        T.mm(Interface(a, stream=7), Interface(b, stream=9), out=into)
    with pytest.raises(lw.Error, match="read-only"):
        T.mm(Interface(a), Interface(b), out=Interface(np.zeros((3, 2), "f4"), read_only=True))
    for broken in ({"shape": None}, {"shape": (3, "x")}, {"data": 5}, {"strides": (4,)}, {"stream": "s"}, {"strides": (17, 4)}):
        with pytest.raises(TypeError):
            T.mm(Interface(a, **broken), Interface(b), out=into)


@pytest.fixture
def cupy(monkeypatch):
    """A library that looks like CuPy, with memory of the host."""
    module = types.ModuleType("cupy")
    module.made, module.devices = [], []

    class ndarray(OnGPU):
        @property
        def strides(self):
            return self.of.strides

    class Device:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            module.devices.append(self.number)
            return self

        def __exit__(self, *error):
            module.devices.append(-1)

    def maker(make):
        def new(shape, dtype=None):
            module.made.append((make.__name__, shape, str(dtype), module.devices[-1]))
            return ndarray(make(shape, dtype), (2, module.devices[-1]))
        return new

    module.ndarray, module.empty, module.zeros = ndarray, maker(np.empty), maker(np.zeros)
    module.cuda = types.SimpleNamespace(Device=Device, get_current_stream=lambda: types.SimpleNamespace(ptr=0x1234))
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_the_stream_of_the_caller(T, cupy):
    a, b = (cupy.ndarray(x) for x in matrices())
    other = OnGPU(matrices()[1])
    with pytest.raises(lw.Error, match=NO_GPU):
        T.mm(a, b)
    assert a.streams == b.streams == [0x1234] and cupy.made == [("empty", (3, 2), "float32", 0)] and cupy.devices == [0, -1]
    cupy.cuda.get_current_stream = lambda: types.SimpleNamespace(ptr=0)
    with pytest.raises(lw.Error, match=NO_GPU):
        T.mm(a, other)
    assert a.streams[-1] == other.streams[-1] == 1, "DLPack's name for the default stream"
    with pytest.raises(lw.Error, match=NO_GPU):
        T.add(cupy.ndarray(np.ones(3, "f4"), (2, 1)))
    assert cupy.made[-1] == ("zeros", (3,), "float32", 1), "a result that is updated starts from zeros"
    with pytest.raises(lw.Error, match=NO_GPU):
        T.mm(a, b, out=cupy.ndarray(np.zeros((3, 2), "f4")))
    with pytest.raises(lw.Error, match=NO_GPU):
        T.mm(cupy.ndarray(matrices()[0], (13, 0)), b)  # managed memory
    with pytest.raises(lw.Error, match=NO_GPU):
        T.mm(cupy.ndarray(matrices()[0][:, ::-1]), b)


def test_einsum_and_lazy_tensors_of_a_gpu(cupy):
    a, b = (cupy.ndarray(x) for x in matrices())
    with pytest.raises(lw.Error, match=NO_GPU):
        lw.einsum("ij,jk->ik", a, b)
    assert lw.einsum_path("ij,jk,kl->il", a, b, b.__class__(np.ones((2, 5), "f4")))[1].opt_cost > 0
    with pytest.raises(lw.Error, match="leave out dtype and order"):
        lw.einsum("ij,jk->ik", a, b, dtype="f8")
    m, n, k = lw.symbols("m n k")
    c = (lw.Tensor(a).to(m, k) * lw.Tensor(b).to(k, n)).sum(k)
    with pytest.raises(lw.Error, match="the arrays are on cuda:0: use .torch"):
        c.numpy()
    with pytest.raises(lw.Error, match=NO_GPU):
        c.cupy()
    with pytest.raises(lw.Error, match=NO_GPU):
        lw.compute(c, c + 1)
    assert c._repr_html_() == "<code>&lt;lazy tensor f32(m, n)&gt;</code>"
    with pytest.raises(lw.Error, match="in host memory: use .numpy"):
        lw.Tensor(matrices()[0]).cupy()


def test_failed_calls_let_go_of_their_arrays(T, cupy):
    held = []
    for make in (OnGPU, Interface, cupy.ndarray):
        a, b, c = (make(np.ones((4, 4), "f4")) for _ in range(3))
        for args, out in (((a, b), None), ((a, b), c), ((a, np.ones((4, 4), "f4")), None)):
            with pytest.raises(lw.Error):
                T.mm(*args, out=out)
        held += [weakref.ref(x) for x in (a, b, c)] + [weakref.ref(x.of) for x in (a, b, c)]
        before = sys.getrefcount(a.of)
        for _ in range(10):
            with pytest.raises(lw.Error):
                T.mm(a, b, out=c)
        after = sys.getrefcount(a.of)
        assert after == before
    del a, b, c, args, out
    gc.collect()
    assert all(ref() is None for ref in held)


# --- On a GPU ---------------------------------------------------------------------------------------------------------------------------


def test_operators_of_torch_name_cuda():
    torch = pytest.importorskip("torch")
    if not hasattr(torch.library, "custom_op"):
        with pytest.raises(lw.Error, match="need torch 2.5 or newer"):
            lw.torch.op("def lw_on_cuda(float(N) x) -> (y) { y(i) = 2 * x(i) }")
        pytest.skip("this torch has no torch.library.custom_op")
    f = lw.torch.op("def lw_on_cuda(float(N) x) -> (y) { y(i) = 2 * x(i) }")
    assert torch._C._dispatch_has_kernel_for_dispatch_key(f.op.default.name(), "CUDA")
