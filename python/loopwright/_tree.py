"""Trees: loops changed by transformations, each of which is checked against the dependences of the statements."""

from __future__ import annotations

import re
from typing import Any, Optional, Tuple, Union

from ._loop_tree import KINDS, Loops, Node, Ref
from ._native import Function, parse
from ._native import Tree as NativeTree
from ._types import Error


class Tree(Loops):
    """The loops of a function for certain sizes, without a schedule; also for functions in Stripe, which have none.

    Every method that changes something returns a new tree, or raises `Error`; if dependences forbid the change, the error names two iterations that
    would run in the wrong order. Loops are given as a node of `loops`, as its number, or by name as the tree shows it: "m.1", or "@5", the loop on line 5.

    >>> import loopwright as lw
    >>> T = lw.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
    >>> tree = T.mm.schedule("").tree(M=64, K=32, N=48)
    >>> tree = tree.distribute("n", 1).interchange("@4").annotate("@5", "vectorize")
    >>> print(tree)
    for m in 64
      for n in 48
        C[m, n] = 0.0
      for k in 32
        for n in 48 vector
          C[m, n] += A[m, k]*B[k, n]
    >>> import numpy as np
    >>> float(tree.function(np.ones((64, 32), "f4"), np.ones((32, 48), "f4")).max())
    32.0
    """

    __slots__ = ()
    _native: NativeTree
    _made = NativeTree, "tree()"

    @property
    def stripe(self) -> str:
        """The tree as Stripe text."""
        return self._native.stripe

    @property
    def function(self) -> Function:
        """A function that runs these loops."""
        return parse(self.stripe, "<tree>", -4)[0]

    @property
    def loops(self) -> Tuple[Node, ...]:
        """The loops in pre-order."""
        return tuple(n for n in self.nodes if n.type == "loop")

    def find(self, name: str) -> Node:
        """The loop that the tree shows as "m.1", or the loop on line 5 for "@5"."""
        found = [n for n in self.loops if name in ("@%d" % n.line, _shown(n))]
        if len(found) == 1:
            return found[0]
        there = ", ".join("@%d %s" % (n.line, _shown(n)) for n in found or self.loops)
        raise Error("%s '%s'; there are %s" % ("several loops are named" if found else "no loop", name, there))

    def follow(self, ref: Ref, to: "Tree") -> Optional[Node]:
        """The node of a later tree that a node of this one has become; None if it is gone."""
        at = self._native.follow(self._number(ref, any_node=True), to._native)
        return to.nodes[at] if at >= 0 else None

    # --- Transformations ------------------------------------------------------------------------

    def edit(self, script: str) -> "Tree":
        """Runs a script of transformations: "split m 64; interchange m.1; annotate @5 vector". Errors are located in it."""
        return Tree(self._native.edit(script))

    def _at(self, ref: Ref, any_node: bool = False) -> str:
        node = self.nodes[self._number(ref, any_node)]
        if not node.line:
            raise Error("the node '%s' has no line of its own" % node.text)
        return "@%d" % node.line

    def _do(self, word: str, *operands: Union[str, int]) -> "Tree":
        return self.edit(" ".join([word, *map(str, operands)]))

    def split(self, ref: Ref, inner: int, *, interleaved: bool = False) -> "Tree":
        """Splits a loop in two. The inner loop has `inner` iterations, which are adjacent or distributed over the range."""
        return self._do("interleave" if interleaved else "split", self._at(ref), inner)

    def merge(self, ref: Ref) -> "Tree":
        """Merges a loop with the one inside."""
        return self._do("merge", self._at(ref))

    def interchange(self, ref: Ref) -> "Tree":
        """Exchanges a loop with the one inside."""
        return self._do("interchange", self._at(ref))

    def move(self, ref: Ref, by: int) -> "Tree":
        """Exchanges a loop or leaf with the next node beside it (1), or the previous one (-1)."""
        return self._do("move", self._at(ref, any_node=True), by)

    def sink(self, leaf: Ref, ref: Ref) -> "Tree":
        """Runs a leaf in the first or last iteration of the loop beside it."""
        return self._do("sink", self._at(leaf, any_node=True), self._at(ref))

    def fuse(self, ref: Ref) -> "Tree":
        """Fuses a loop with the next one beside it."""
        return self._do("fuse", self._at(ref))

    def distribute(self, ref: Ref, at: int) -> "Tree":
        """Divides a loop into two loops; the second one has the children from number `at` on."""
        return self._do("distribute", self._at(ref), at)

    def unroll(self, ref: Ref) -> "Tree":
        """Replaces a loop by its iterations."""
        return self._do("unroll", self._at(ref))

    def unroll_and_jam(self, ref: Ref, factor: int) -> "Tree":
        """Unrolls iterations of a loop into the loops inside."""
        return self._do("jam", self._at(ref), factor)

    def annotate(self, ref: Ref, kind: str) -> "Tree":
        """Runs a loop as "serial", "parallel", "unroll", "vectorize" or "any"."""
        if kind not in KINDS:
            raise Error("kind is %r; it can be %s" % (kind, ", ".join(sorted(KINDS))))
        return self._do("annotate", self._at(ref), {"vectorize": "vector", "parallelize": "parallel"}.get(kind, kind))

    def tile(self, ref: Ref, outer: int, inner: int) -> "Tree":
        """Splits a loop and the one inside, and interchanges."""
        return self._do("tile", self._at(ref), outer, inner)

    def skew(self, ref: Ref, by: Ref, factor: int) -> "Tree":
        """Skews a loop by `factor` times the index of a surrounding loop."""
        return self._do("skew", self._at(ref), self._at(by), factor)

    def peel(self, ref: Ref, n: int) -> "Tree":
        """Divides a loop into two loops; the first one has `n` iterations."""
        return self._do("peel", self._at(ref), n)

    def stage(self, buffer: str, ref: Ref) -> "Tree":
        """Keeps the buffers of all iterations of a loop, side by side."""
        return self._do("stage", _quoted(buffer), "at", self._at(ref))

    def unstage(self, buffer: str, ref: Ref) -> "Tree":
        """Gives each iteration of a loop its own part of a buffer."""
        return self._do("unstage", _quoted(buffer), "at", self._at(ref))

    def copy_input(self, buffer: str, ref: Ref) -> "Tree":
        """Copies the part of a buffer that one iteration of a loop reads, and reads the copy."""
        return self._do("copy", _quoted(buffer), "at", self._at(ref))

    def drop_copy(self, buffer: str) -> "Tree":
        """Removes a copy, and reads the original instead."""
        return self._do("drop", _quoted(buffer))

    def swap_layout(self, buffer: str, a: int, b: int) -> "Tree":
        """Exchanges two dimensions of the memory of a temporary."""
        return self._do("layout", _quoted(buffer), a, b)

    def __repr__(self) -> str:
        return "<loopwright tree of %s: %d loops>" % (self._native.function.__name__, len(self.loops))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self.stripe == other.stripe

    def __hash__(self) -> int:
        return hash(self.stripe)

    def __reduce__(self) -> Any:
        return _rebuild, (self.function,)


def _quoted(name: str) -> str:
    return "`%s`" % name


def _shown(node: Node) -> str:
    """The index of a loop as the tree shows it, with a number if an outer loop has the same name."""
    shown = re.match(r"for (\S+) ", node.text)
    return shown.group(1) if shown else str(node.name)


def _rebuild(function: Function) -> Tree:
    return function.tree()
