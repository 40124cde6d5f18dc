"""Finds the sizes of all dimensions of a lazy expression.

Each dimension of each node has a cell. Element-wise operations and reductions unify the cells of equal symbols; arrays and set_size() give numbers; the
subscripts of views, padding, concatenation and flattening are relations between cells, which are applied until nothing changes. A size that
only a subscript limits becomes the largest for which the subscript stays inside.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from ._nodes import Concat, Flatten, Input, Node, Pad, SetSize, View
from ._symbols import Expr, Symbol
from ._types import Error

Sizes = Dict[Symbol, int]


class Cell:
    __slots__ = ("symbol", "up", "size")

    def __init__(self, symbol: Symbol, size: Optional[int] = None) -> None:
        self.symbol, self.size = symbol, size
        self.up: Optional[Cell] = None

    def root(self) -> "Cell":
        cell = self
        while cell.up:
            if cell.up.up:
                cell.up = cell.up.up
            cell = cell.up
        return cell


def conflict(symbol: Symbol, a: int, b: int) -> Error:
    return Error("the size of '%s' is %d in one place and %d in another" % (symbol, a, b))


def unite(a: Cell, b: Cell) -> None:
    a, b = a.root(), b.root()
    if a is b:
        return
    if a.size is not None and b.size is not None and a.size != b.size:
        raise conflict(a.symbol, a.size, b.size)
    b.up = a
    a.size = b.size if a.size is None else a.size


def fix(cell: Cell, size: int) -> None:
    cell = cell.root()
    if cell.size is not None and cell.size != size:
        raise conflict(cell.symbol, cell.size, size)
    cell.size = size


class Subscript(NamedTuple):
    """The values of `expr`, over the cells of its symbols, must be at least 0 and less than the size of `inside`."""

    expr: Expr
    of: Dict[Symbol, Cell]
    inside: Cell

    def others(self, without: Optional[Symbol]) -> Optional[Tuple[int, int]]:
        """The least and greatest value of the expression with `without` at 0; None: another size is unknown."""
        low = high = self.expr.constant
        for symbol, factor in self.expr.terms.items():
            size = self.of[symbol].root().size
            if symbol == without:
                continue
            if size is None:
                return None
            low, high = low + min(0, factor * (size - 1)), high + max(0, factor * (size - 1))
        return low, high

    def most(self, symbol: Symbol) -> Optional[int]:
        """The largest size of `symbol` for which the expression stays inside; None: not known yet."""
        size, rest, factor = self.inside.root().size, self.others(symbol), self.expr.terms[symbol]
        if size is None or rest is None:
            return None
        return max(0, (size - 1 - rest[1]) // factor + 1 if factor > 0 else rest[0] // -factor + 1)

    def check(self) -> None:
        if any(self.of[symbol].root().size == 0 for symbol in self.expr.terms):
            return
        range_, size = self.others(None), self.inside.root().size
        if range_ and size is not None and not (0 <= range_[0] and range_[1] < size):
            raise Error("subscript '%s' runs from %d to %d, outside a dimension of %d" % (self.expr, range_[0], range_[1], size))


class Relation(NamedTuple):
    """`whole_of` computes the size of `whole` from those of `parts`; `part_of` computes one missing part from the whole and the other parts, None if there is no solution."""

    whole: Cell
    parts: Tuple[Cell, ...]
    whole_of: Callable[[Sequence[int]], int]
    part_of: Callable[[int, Sequence[int]], Optional[int]]

    def apply(self) -> bool:
        sizes = [part.root().size for part in self.parts]
        known = [size for size in sizes if size is not None]
        whole = self.whole.root().size
        if len(known) == len(sizes):
            fix(self.whole, self.whole_of(known))
            return whole is None
        if whole is None or len(known) + 1 < len(sizes):
            return False
        part = self.part_of(whole, known)
        if part is None:
            return False
        if part < 0:
            raise Error("the size of '%s' is %d, too small for its parts" % (self.whole.symbol, whole))
        self.parts[sizes.index(None)].root().size = part
        return True


def product(sizes: Sequence[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def divided(whole: int, others: Sequence[int]) -> Optional[int]:
    n = product(others)
    return whole // n if n and whole % n == 0 else None


def added(extra: int) -> Tuple[Callable[[Sequence[int]], int], Callable[[int, Sequence[int]], Optional[int]]]:
    return lambda parts: sum(parts) + extra, lambda whole, others: whole - extra - sum(others)


class _Solver:
    def __init__(self) -> None:
        self.cells: Dict[int, Dict[Symbol, Cell]] = {}
        self.subscripts: List[Subscript] = []
        self.relations: List[Relation] = []

    def add(self, node: Node) -> None:
        mine = self.cells[id(node)] = {d: Cell(d) for d in node.dims}
        changed: Tuple[Symbol, ...] = ()  # dimensions whose size differs from the operand's
        if isinstance(node, Input):
            for d, size in zip(node.dims, node.shape):
                mine[d].size = size
        elif isinstance(node, View):
            below = self.cells[id(node.args[0])]
            for d, expr in zip(node.args[0].dims, node.subscripts):
                if isinstance(expr, Symbol) and node.renames:
                    unite(mine[expr], below[d])
                else:
                    self.subscripts.append(Subscript(expr, mine, below[d]))
            return
        elif isinstance(node, SetSize):
            fix(mine[node.symbol], node.size)
        elif isinstance(node, Pad):
            changed = (node.symbol,)
            self.relations.append(Relation(mine[node.symbol], (self.cells[id(node.args[0])][node.symbol],), *added(node.before + node.after)))
        elif isinstance(node, Concat):
            changed = (node.symbol, node.first, node.second)
            a, b = (self.cells[id(arg)] for arg in node.args)
            self.relations.append(Relation(mine[node.symbol], (a[node.first], b[node.second]), *added(0)))
        elif isinstance(node, Flatten):
            changed = (node.symbol,) + node.parts
            below = self.cells[id(node.args[0])]
            self.relations.append(Relation(mine[node.symbol], tuple(below[p] for p in node.parts), product, divided))
        for arg in node.args:
            for d, cell in self.cells[id(arg)].items():
                if d in mine and d not in changed:
                    unite(mine[d], cell)

    def infer(self) -> bool:
        """One round over the subscripts: determines unknown sizes that all their subscripts limit; if there is none, those that some subscript limits."""
        most: Dict[int, Tuple[Cell, int]] = {}
        open_: Set[int] = set()
        for subscript in self.subscripts:
            for symbol in subscript.expr.terms:
                cell = subscript.of[symbol].root()
                if cell.size is not None:
                    continue
                size = subscript.most(symbol)
                if size is None:
                    open_.add(id(cell))
                elif id(cell) not in most or size < most[id(cell)][1]:
                    most[id(cell)] = cell, size
        for cell, size in [found for i, found in most.items() if i not in open_] or most.values():
            cell.size = size
        return bool(most)

    def solve(self) -> None:
        while any([relation.apply() for relation in self.relations]) or self.infer():
            pass
        for subscript in self.subscripts:
            subscript.check()


def solve(nodes: Sequence[Node]) -> Dict[int, Sizes]:
    """The sizes of each node's dimensions, by id(). `nodes` has operands before their users."""
    solver = _Solver()
    for node in nodes:
        solver.add(node)
    solver.solve()
    sizes: Dict[int, Sizes] = {}
    for node in nodes:
        mine = sizes[id(node)] = {}
        for d, cell in solver.cells[id(node)].items():
            size = cell.root().size
            if size is None:
                raise Error("the size of '%s' is not known: combine it with a tensor that has this dimension, or use set_size(%s, n)" % (d, d))
            mine[d] = size
    return sizes
