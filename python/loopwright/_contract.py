"""Chooses the order of contraction in lazy expressions: a sum over a product of three or more factors becomes sums over products of two, if that takes
fewer operations. The order is the one that `einsum` chooses for these sizes."""

from __future__ import annotations

import copy
import heapq
import math
from typing import Dict, List, Optional, Sequence, Set, Tuple

from . import _native
from ._einsum import LETTERS
from ._nodes import Const, Node, Op, Reduce, SetSize, has_names, order
from ._sizes import Sizes, solve
from ._symbols import Symbol
from ._types import Error

NARROW = ("bool", "f16", "bf16")  # partial sums in these types would be rounded
MOST_FACTORS = 128  # limit of an einsum


def _factors(node: Node, type: str) -> List[Node]:
    """The factors of a product; any other node is its own factor. Not recursive, because products may be deep."""
    found: List[Node] = []
    stack = [node]
    while stack:
        x = stack.pop()
        if isinstance(x, Op) and x.op == "*" and x.type == type and all(arg.type == type for arg in x.args):
            stack.extend(reversed(x.args))
        else:
            found.append(x)
    return found


def _candidate(node: Node) -> bool:
    if not isinstance(node, Reduce) or node.op != "+" or node.type in NARROW:
        return False
    x = node.args[0]
    return isinstance(x, Op) and x.op == "*" and any(isinstance(arg, Op) and arg.op == "*" for arg in x.args)


def _path(factors: Sequence[Node], dims: Sequence[Symbol], sizes: Sizes) -> Optional[List[Tuple[int, ...]]]:
    """The steps of an order that is cheaper than one nest; None if there is none."""
    labelled = dict.fromkeys(d for f in factors for d in f.dims)
    if len(labelled) > len(LETTERS):
        return None
    label = dict(zip(labelled, LETTERS))
    groups = ["".join(label[d] for d in f.dims) for f in factors]
    text = "%s->%s" % (",".join(groups), "".join(label[d] for d in dims))
    double = (2, 64)  # an element type, as DLPack writes it
    try:
        _, steps, _, _, _ = _native.einsum(text, tuple(tuple(sizes[d] for d in f.dims) for f in factors), (double,) * len(factors), double, 0.0, False, None)
    except Error:
        return None  # too many dimensions for an einsum
    return [step for step, _ in steps] if len(steps) > 1 else None


def _summed(x: Node, kept: Sequence[Node], dims: Sequence[Symbol]) -> Node:
    """x, summed along the dimensions that no other factor has."""
    needed = set(dims).union(*(k.dims for k in kept))
    over = [d for d in x.dims if d not in needed]
    return Reduce("+", x, over) if over else x


def _sized(x: Node, sizes: Sizes) -> Node:
    """x with its sizes in the whole product, some of which another factor may determine."""
    for d in x.dims:
        x = SetSize(x, d, sizes[d])
    return x


def _multiplied(taken: Sequence[Node], type: str) -> Node:
    made = taken[0]
    for f in taken[1:]:
        made = Op("*", type, made, f)
    return made


class _Network:
    """The factors of a product. They are contracted pair by pair until they fit in one einsum: always the pair whose result is smallest relative to its operands."""

    def __init__(self, factors: Sequence[Node], dims: Sequence[Symbol], sizes: Sizes) -> None:
        self.sizes, self.output = sizes, set(dims)
        self.factors: List[Node] = []
        self.alive: Set[int] = set()
        self.having: Dict[Symbol, Set[int]] = {}  # the factors that have each dimension
        self.pairs: List[Tuple[float, int, int]] = []  # a heap
        for f in factors:
            self.add(f)

    def elements(self, dims: Sequence[Symbol]) -> float:
        return math.prod(float(self.sizes[d]) for d in dims)

    def left(self, a: int, b: int) -> List[Symbol]:
        """The dimensions that the product of two factors keeps."""
        both = dict.fromkeys(self.factors[a].dims + self.factors[b].dims)
        return [d for d in both if d in self.output or self.having[d] - {a, b}]

    def add(self, f: Node) -> None:
        new = len(self.factors)
        self.factors.append(f)
        self.alive.add(new)
        near: Set[int] = set()
        for d in f.dims:
            near |= self.having.setdefault(d, set())
            self.having[d].add(new)
        for other in near:
            saved = self.elements(f.dims) + self.elements(self.factors[other].dims)
            heapq.heappush(self.pairs, (self.elements(self.left(new, other)) - saved, other, new))

    def contract(self, a: int, b: int, type: str) -> None:
        kept = self.left(a, b)
        made = _multiplied([self.factors[a], self.factors[b]], type)
        over = [d for d in made.dims if d not in kept]
        for i in (a, b):
            self.alive.discard(i)
            for d in self.factors[i].dims:
                self.having[d].discard(i)
        self.add(Reduce("+", made, over) if over else made)

    def shorten(self, type: str) -> List[Node]:
        while len(self.alive) > 1 and (len(self.alive) > MOST_FACTORS or sum(map(bool, self.having.values())) > len(LETTERS)):
            pair = heapq.heappop(self.pairs)[1:] if self.pairs else tuple(sorted(self.alive)[:2])
            if self.alive.issuperset(pair):
                self.contract(pair[0], pair[1], type)
        return [self.factors[i] for i in sorted(self.alive)]


def _ordered(node: Node, product: Node, sizes: Sizes) -> Optional[Node]:
    """The sum over a product in a cheaper order; None if there is none."""
    factors = _factors(product, node.type)
    scales = [f for f in factors if isinstance(f, Const)]
    factors = [f for f in factors if not isinstance(f, Const)]
    if len(factors) < 3 or not all(sizes.values()) or not all(has_names(f.dims) for f in factors if f.dims):
        return None
    left = [_sized(f, sizes) for f in factors]
    left = [_summed(f, left[:i] + left[i + 1:], node.dims) for i, f in enumerate(left)]
    left = _Network(left, node.dims, sizes).shorten(node.type)
    whole = len(left) == len(factors) and len(sizes) <= len(LETTERS)
    path = _path(factors if whole else left, node.dims, sizes)
    if path is None and whole:
        return None
    for step in path or [tuple(range(len(left)))]:
        taken = [left[i] for i in step]
        left = [f for i, f in enumerate(left) if i not in step]
        left.append(_summed(_multiplied(taken, node.type), left, node.dims))
    result = left[0]
    for scale in scales:
        result = Op("*", node.type, result, scale)
    result.dims = node.dims  # in the order of the expression
    return result


def contract(roots: Sequence[Node]) -> List[Node]:
    """The same values, with sums over products in their cheapest order."""
    nodes = order(roots)
    if not any(map(_candidate, nodes)):
        return list(roots)
    sizes = solve(nodes)
    now: Dict[int, Node] = {}
    for node in nodes:
        args = tuple(now[id(arg)] for arg in node.args)
        made: Optional[Node] = _ordered(node, args[0], sizes[id(node.args[0])]) if _candidate(node) else None
        if made is None and any(a is not b for a, b in zip(args, node.args)):
            made = copy.copy(node)
            made.args = args
        now[id(node)] = made if made is not None else node
    return [now[id(root)] for root in roots]
