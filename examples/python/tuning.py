"""Tuning: finds a faster schedule for these shapes by measuring, and plots the search."""

import argparse

import numpy as np

import loopwright as lw

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("seconds", type=float, nargs="?", default=1.0, help="of search (1)")
parser.add_argument("figure", nargs="?", help="draw the curve into this file, by matplotlib")
given = parser.parse_args()

T = lw.define("""
def fcrelu(float(B,M) I, float(N,M) W, float(N) b) -> (O) {
    O(i,n) +=! I(i,m) * W(n,m)
    O(i,n) = fmax(O(i,n) + b(n), 0)
}""")
I, W, b = np.ones((32, 200), "f4"), np.ones((48, 200), "f4"), np.ones(48, "f4")

result = lw.tune(T.fcrelu, I, W, b, seconds=given.seconds)  # Ctrl-C ends it with the best so far
print("chosen without search: %.1f us" % (result.chosen * 1e6))
print("tuned: %.1f us after %d trials; no schedule takes less than %.1f us" % (result.seconds * 1e6, result.trials, result.bound * 1e6))
print(result.schedule)
print("right:", float(T.fcrelu(I, W, b)[0, 0]) == 201)  # later calls use it
if given.figure:
    result.plot().savefig(given.figure)
