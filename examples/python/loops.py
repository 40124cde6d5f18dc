"""A loop tree changed by hand: from three plain loops to a tile in registers, each step measured."""

import loopwright as lw
import numpy as np

MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


def main():
    A, B = np.ones((96, 96), "f4"), np.ones((96, 96), "f4")
    tree = lw.define(MATMUL).mm.schedule("").loop_tree(A, B)
    steps = [lambda t: t.swap_loops("n", "k"), lambda t: t.vectorize("n"), lambda t: t.split("n", 32).swap_loops("m", "n/32"),
             lambda t: t.split("m", 6).swap_loops("k", "m/6")]
    for step in [lambda t: t] + steps:
        tree = step(tree)
        print("%7.1f GFLOP/s  %s" % (tree.flops / tree.measure() * 1e-9, tree.schedule.strip()))
    assert np.array_equal(tree.function(A, B), A @ B)
    try:
        tree.vectorize("k")
    except lw.Error as error:
        print(error)
    print(tree)


if __name__ == "__main__":
    main()
