# %% [markdown]
# # A tour of Loopwright in Python
# The cells can be run one after the other in an editor that supports `# %%`, or all at once as a program.

# %% Define and call: the mathematics is a text, and a call compiles it for the shapes of its arguments
import numpy as np

import loopwright as lw

T = lw.define("""
def matmul(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}""")
A, B = np.random.rand(60, 64).astype("f4"), np.random.rand(64, 48).astype("f4")
C = T.matmul(A, B)
assert np.allclose(C, A @ B, atol=1e-4)
print(T.matmul)

# %% The result of compilation: the schedule, the loops with their costs, the code
print(T.matmul.explain(A, B).split("\ncode\n")[0])

# %% Mistakes are found before anything runs, with their location
try:
    T.matmul(A, B[:10])
except lw.Error as error:
    print(error)

# %% einsum: NumPy's notation, the cheapest order
a, b, c = np.random.rand(20, 300), np.random.rand(300, 10), np.random.rand(10, 40)
path, info = lw.einsum_path("ij,jk,kl->il", a, b, c)
print(info)
assert np.allclose(lw.einsum("ij,jk,kl->il", a, b, c), a @ b @ c)

# %% Lazy tensors: dimensions have names, and an expression is one kernel
m, n, k, i, j = lw.symbols("m n k i j")
X, W = lw.Tensor(A).to(m, k), lw.Tensor(B).to(k, n)
Y = lw.nn.softmax(lw.nn.gelu((X * W).sum(k)), n)
print(Y.program)
assert np.allclose(Y.numpy().sum(1), 1, atol=1e-5)

# %% Views by affine subscripts: a stencil with stride and padding
x = lw.Tensor(np.arange(10, dtype="f4")).to(i).pad(i, 1)
w = lw.Tensor(np.array([1, 2, 1], "f4")).to(j)
print((x[2 * i + j] * w).sum(j).numpy())

# %% Tuning by measuring
result = lw.tune(T.matmul, A, B, seconds=0.5, display=False)
print("%.2f times faster than the choice without search; at most %.0f %% above the bound" % (result.speedup, 100 * result.gap))
