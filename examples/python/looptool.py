"""A session as with LoopTool: lazy tensors, their loops, and changes of the loops."""

import numpy as np

import loopwright as lw

m, n, k = lw.symbols("m n k")
a, b = np.random.rand(120, 128).astype("f4"), np.random.rand(128, 128).astype("f4")
A, B = lw.Tensor(a).to(m, k), lw.Tensor(b).to(k, n)
C = (A * B).sum(k)

# The loops that are chosen without search.
print(C.loop_tree, "\n")

# The loops as written, then as an expert would arrange them. Each method returns a new tree, or raises an error with the reason.
tree = C.schedule("out: m n k").loop_tree
print("as written: %.0f us" % (tree.measure() * 1e6))
tree = tree.split("m", 6).split("n", 64)
print([loop.loop for loop in tree.loops])
tree = tree.move("n/64", "m/6").move("k", "m").vectorize("n")
print("arranged: %.0f us" % (tree.measure() * 1e6))
print(tree, "\n")

try:
    tree.vectorize("k")
except lw.Error as error:
    print(error)

# The same tensor, computed with these loops.
fast = C.set(tree)
print("right:", np.allclose(fast.numpy(), a @ b, atol=1e-3))
