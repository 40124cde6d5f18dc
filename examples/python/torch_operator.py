"""A fused operator in torch, with its gradient: SwiGLU, y = silu(g)*x."""

import torch

import loopwright as lw

swiglu = lw.torch.op("def swiglu(float(N,K) g, float(N,K) x) -> (y) { y(n,k) = g(n,k) * sigmoid(g(n,k)) * x(n,k) }", backward="""
def swiglu_backward(float(N,K) g, float(N,K) x, float(N,K) d_y) -> (d_g, d_x) {
    s(n,k) = sigmoid(g(n,k))
    d_x(n,k) = d_y(n,k) * g(n,k) * s(n,k)
    d_g(n,k) = d_y(n,k) * x(n,k) * s(n,k) * (1 + g(n,k) * (1 - s(n,k)))
}""")

g, x = (torch.randn(64, 256, requires_grad=True) for _ in range(2))
y = swiglu(g, x)
y.square().sum().backward()
mine = g.grad.clone(), x.grad.clone()

# The same in torch.
g.grad = x.grad = None
(torch.nn.functional.silu(g) * x).square().sum().backward()
print("equal to torch:", torch.allclose(y, torch.nn.functional.silu(g) * x, atol=1e-5),
      torch.allclose(mine[0], g.grad, atol=1e-4), torch.allclose(mine[1], x.grad, atol=1e-4))
