"""Operators of torch: eager, torch.compile, vmap, autograd."""

import pickle

import loopwright as lw
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="SKIPPED LOUDLY: torch is not installed, and its operators were not tested")
if not hasattr(torch.library, "custom_op"):
    pytest.skip("this torch has no torch.library.custom_op; its operators were not tested", allow_module_level=True)

TEXT = """
def lw_mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}"""
BACK = """
def lw_mm_grad(float(M,K) A, float(K,N) B, float(M,N) d_C) -> (d_A, d_B) {
    d_A(m,k) +=! d_C(m,n) * B(k,n)
    d_B(k,n) +=! d_C(m,n) * A(m,k)
}"""


@pytest.fixture(scope="module")
def mm():
    return lw.torch.op(TEXT, backward=BACK)


def test_eager_and_checks(mm):
    a, b = torch.rand(4, 5), torch.rand(5, 6)
    assert torch.allclose(mm(a, b), a @ b) and torch.allclose(mm(A=a, B=b), a @ b)
    assert mm.op is torch.ops.loopwright.lw_mm
    torch.library.opcheck(mm.op.default, (torch.rand(3, 4, requires_grad=True), torch.rand(4, 2, requires_grad=True)))
    with pytest.raises(lw.Error, match="argument 'A'"):
        mm(a.double(), b)
    with pytest.raises(TypeError, match="takes A, B"):
        mm(a)


def test_same_text_is_the_same_operator(mm):
    assert lw.torch.op(TEXT, backward=BACK) is mm and pickle.loads(pickle.dumps(mm)) is mm
    with pytest.raises(lw.Error, match="another text"):
        lw.torch.op(TEXT + " ", backward=BACK)
    with pytest.raises(lw.Error, match="another text"):
        lw.torch.op(TEXT)


def test_autograd(mm):
    a, b = torch.rand(4, 5, requires_grad=True), torch.rand(5, 6, requires_grad=True)
    mm(a, b).sum().backward()  # the gradient is an expanded scalar
    ga, gb = a.grad.clone(), b.grad.clone()
    a.grad = b.grad = None
    (a @ b).sum().backward()
    assert torch.allclose(ga, a.grad) and torch.allclose(gb, b.grad)
    f = lw.torch.op("def lw_cube(double(N) x, double a) -> (y) { y(i) = a * x(i) * x(i) * x(i) }",
                    backward="def b(double(N) x, double a, double(N) d_y) -> (d_x) { d_x(i) = 3 * a * x(i) * x(i) * d_y(i) }")
    assert torch.autograd.gradcheck(lambda x: f(x, 2.0), (torch.rand(7, dtype=torch.float64, requires_grad=True),))
    plain = lw.torch.op("def lw_twice(float(N) x) -> (y) { y(i) = 2 * x(i) }")
    with pytest.raises(lw.Error, match="detach"):
        plain(torch.rand(3, requires_grad=True))
    assert plain(torch.rand(3, requires_grad=True).detach()).shape == (3,)


def test_several_results_and_outputs_in_the_gradient():
    f = lw.torch.op("def lw_both(float(N) x) -> (e, s) { e(i) = exp(x(i))\n s +=! x(i) }",
                    backward="def b(float(N) e, float(N) d_e, float() d_s) -> (d_x) { d_x(i) = d_e(i) * e(i) + d_s }")
    x = torch.rand(5, requires_grad=True)
    e, s = f(x)
    assert torch.allclose(e, x.exp()) and torch.allclose(s, x.sum())
    s.backward()  # the gradient of e is None there
    assert torch.allclose(x.grad, torch.ones(5))
    x.grad = None
    e, s = f(x)
    (e.sum() + 2 * s).backward()
    assert torch.allclose(x.grad, x.exp() + 2)


def test_integer_arguments_and_shapes():
    f = lw.torch.op("def lw_pick(float(N) x, int s) -> (y) { y(i) = x(s*i) where i in 0:N/s }")
    assert torch.equal(f(torch.arange(6.0), 2), torch.tensor([0.0, 2.0, 4.0]))
    with torch.device("meta"):
        assert f(torch.empty(7), 3).shape == (2,)
    conv = lw.torch.op("def lw_conv(float(C,H) x, float(O,C,K) w) -> (y) { y(o,h) +=! x(c,h+k) * w(o,c,k) }")
    x, w = torch.rand(3, 10), torch.rand(2, 3, 4)
    assert torch.allclose(conv(x, w), torch.nn.functional.conv1d(x[None], w)[0], atol=1e-5)


def test_vmap(mm):
    a, b = torch.rand(3, 4, 5), torch.rand(5, 2)
    assert torch.allclose(torch.vmap(mm, in_dims=(0, None))(a, b), a @ b)
    assert torch.allclose(torch.vmap(mm, in_dims=(1, None), out_dims=1)(a, b), a @ b)


def test_half_and_bfloat16():
    for name, type in (("half", torch.float16), ("bfloat16", torch.bfloat16)):
        f = lw.torch.op("def lw_%s(%s(N) x) -> (y) { y(i) = x(i) + x(i) }" % (name, name))
        x = torch.arange(4).to(type)
        assert torch.equal(f(x), x + x) and f(x).dtype == type


def test_compile(mm):
    def step(a, b):
        return torch.relu(mm(a, b)) * 2

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager", dynamic=True)
    for size in (3, 8):
        a, b = torch.rand(size, 4, requires_grad=True), torch.rand(4, 2)
        out = compiled(a, b)
        assert torch.allclose(out, step(a, b))
        out.sum().backward()
        assert a.grad.shape == a.shape


@pytest.mark.parametrize("text, backward, message", [
    ("def lw_io(float(N) x) -> (float(N) y) { y(i) += x(i) }", None, "old content"),
    ("def lw_bad1(float(N) x) -> (y) { y(i) = x(i) }", "def b(float(N) z) -> (d_x) { d_x(i) = z(i) }", "should take the inputs x"),
    ("def lw_bad2(float(N) x, float(N) z) -> (y) { y(i) = x(i) + z(i) }", "def b(float(N) d_y) -> (q) { q(i) = d_y(i) }", "should return the gradients"),
    ("def lw_bad3(float(N) x) -> (y) { y(i) = q(i) }", None, "no tensor"),
])
def test_errors(text, backward, message):
    with pytest.warns(Warning) if "lw_io" in text else __import__("contextlib").nullcontext():
        with pytest.raises(lw.Error, match=message):
            lw.torch.op(text, backward=backward)


def test_numpy_is_not_asked_for():
    assert isinstance(lw.define(TEXT).lw_mm(torch.rand(2, 2), np.ones((2, 2), "f4")), torch.Tensor)
