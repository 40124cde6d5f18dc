"""Calls with many distinct shapes: the last kernels are kept, and the process does not grow.

    python3 tests/python/shapes.py --count 100000
"""

import argparse
import os
import resource
import sys

import numpy as np

LARGEST = 47  # of a dimension: three dimensions have more than 100,000 shapes


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def shape(number):
    number = number * 61001 % LARGEST**3  # small and large ones in turn
    return number % LARGEST + 1, number // LARGEST % LARGEST + 1, number // LARGEST**2 % LARGEST + 1


def call(lw, matmul, number, data, more):
    """One call with shapes that no other number has; with `more` sometimes also of einsum or a lazy tensor, whose programs are kept as well."""
    m, k, n = shape(number)
    a, b = data[:m * k].reshape(m, k), data[:k * n].reshape(k, n)
    assert matmul(a, b)[-1, -1] == k
    if more and number % 4 == 0:
        assert lw.einsum("ij,jk->i", a, b)[0] == k * n
    if more and number % 8 == 2:
        i, j = lw.symbols("i j")
        assert (lw.Tensor(a).to(i, j) * 2).sum(j).numpy()[0] == 2 * k


def grow(lw, count, more=False, first=0):
    """Bytes by which the second half of calls with `count` distinct shapes grows the process, and its sizes after each tenth."""
    matmul = lw.define("def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }").matmul
    data, sizes = np.ones(LARGEST**2, "f4"), []
    for tenth in range(10):
        for number in range(first + tenth * count // 10, first + (tenth + 1) * count // 10):
            call(lw, matmul, number, data, more)
        sizes.append(resident())
    assert matmul.cached == matmul.cache_size == 256
    return sizes[-1] - sizes[4], sizes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first shape")
    options = parser.parse_args()
    if options.build:
        os.environ["LW_BUILD"] = options.build
    import conftest  # noqa: F401
    import loopwright as lw
    grown, sizes = grow(lw, options.count, True, options.seed)
    print("%d cases of shapes: the process has %s MB after each tenth" % (options.count, ", ".join("%.1f" % (size / 1e6) for size in sizes)))
    sys.exit("the process grew by %.1f MB" % (grown / 1e6) if grown > 8 << 20 else 0)


if __name__ == "__main__":
    main()
