"""Loop trees: the loops of a function for certain sizes, changed by pure methods."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple, Union

from ._native import Function
from ._native import LoopTree as NativeLoopTree
from ._roofline import Roofline
from ._types import Error

if TYPE_CHECKING:
    from ._tree import Tree

KINDS: Dict[str, int] = {"serial": 0, "any": 1, "parallel": 2, "unroll": 3, "vector": 4, "vectorize": 4, "parallelize": 2}


class Node(NamedTuple):
    """A node of a loop tree: a loop, a guard, or a leaf, which is a statement or its initialisation. Costs are those of one complete execution."""

    number: int  #: in pre-order
    type: str  #: "loop", "guard", "leaf" or "special"
    parent: int  #: -1: none
    depth: int
    line: int  #: its line in the text, from 1
    text: str  #: that line
    statement: Optional[str]
    name: Optional[str]  #: the index of a loop
    loop: Optional[str]  #: the name of a loop in edit scripts, "C:m/64"
    extent: int
    kind: str  #: "serial", "parallel", "unroll", "vector", ...
    repeated: bool  #: a loop around an initialisation or a post-operation
    reduction: bool
    tail: int
    touches: float  #: bytes of distinct elements
    moves: float  #: bytes loaded and stored
    flops: float
    iterations: float  #: of leaves


Ref = Union[Node, int, str]


class Loops:
    """The common part of LoopTree and Tree: nodes with their costs, and how they are displayed."""

    __slots__ = ("_native", "_nodes")
    _made: Tuple[type, str]  # of the extension module, and the method that gives it

    def __init__(self, native: Any) -> None:
        if not isinstance(native, self._made[0]):
            raise TypeError("a %s comes from %s of a function, not from %r" % (type(self).__name__, self._made[1], native))
        self._native: Any = native
        self._nodes: Optional[Tuple[Node, ...]] = None

    @property
    def nodes(self) -> Tuple[Node, ...]:
        """All nodes in pre-order."""
        if self._nodes is None:
            self._nodes = tuple(map(Node._make, self._native.nodes))
        return self._nodes

    @property
    def leaves(self) -> Tuple[Node, ...]:
        """The statements and their initialisations."""
        return tuple(n for n in self.nodes if n.type == "leaf")

    @property
    def flops(self) -> float:
        """The operations of one call."""
        return sum(n.flops for n in self.nodes if n.parent < 0)

    @property
    def roofline(self) -> Roofline:
        """The least time that one core of this machine could need for the operations and bytes of these loops."""
        touched = sum(n.touches for n in self.nodes if n.parent < 0)
        return Roofline.of(self.flops, touched, "f64" if "f64" in self._native.function.signature else "f32")

    def children(self, ref: Optional[Ref] = None) -> Tuple[Node, ...]:
        """The children of a node; without one, the outermost nodes."""
        above = -1 if ref is None else self._number(ref, any_node=True)
        return tuple(n for n in self.nodes if n.parent == above)

    def find(self, name: str) -> Node:
        """The loop of that name."""
        raise NotImplementedError

    def _editable(self, node: Node) -> bool:
        return node.type == "loop"

    def _number(self, ref: Ref, any_node: bool = False) -> int:
        if isinstance(ref, str):
            return self.find(ref).number
        if isinstance(ref, Node):
            if ref.number >= len(self.nodes) or self.nodes[ref.number][:5] != ref[:5] or self.nodes[ref.number].loop != ref.loop:
                raise Error("the node '%s' belongs to another tree; find it again in this one" % ref.text)
            return ref.number
        if isinstance(ref, bool) or not isinstance(ref, int):
            raise TypeError("a loop is a node, a number or a name, not %r" % (ref,))
        if not 0 <= ref < len(self.nodes) or not (any_node or self._editable(self.nodes[ref])):
            raise Error("node %d is not a loop that can be edited" % ref)
        return ref

    def __str__(self) -> str:
        return str(self._native.text).rstrip("\n")

    def _repr_html_(self) -> str:
        return to_html(self)


class LoopTree(Loops):
    """The loops of a function for certain sizes, and the schedule that makes them.

    Every method that changes something returns a new tree, or raises `Error` with the reason; the old tree does not change. Loops are given as a node of
    `loops`, as its number, or by name: "C:m/64", or "m/64" if only one statement has it.

    >>> import loopwright as lw
    >>> T = lw.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
    >>> tree = T.mm.schedule("").loop_tree(M=64, K=32, N=48)
    >>> tree.schedule
    'C: m n k\\n'
    >>> tree.vectorize("n")
    Traceback (most recent call last):
    ...
    loopwright.Error: error: cannot annotate: vector loop over 'n' is not innermost: 'k' runs inside it
    >>> tree = tree.split("m", 8).swap_loops("n", "k").vectorize("n")
    >>> print(tree)
    for m in 8
      for m.1 in 8
        for n in 48 vector
          C[8*m + m.1, n] = 0.0
        for k in 32
          for n in 48 vector
            C[8*m + m.1, n] += A[8*m + m.1, k]*B[k, n]
    """

    __slots__ = ()
    _native: NativeLoopTree
    _made = NativeLoopTree, "loop_tree()"

    # --- Queries --------------------------------------------------------------------------------

    @property
    def schedule(self) -> str:
        """The schedule, as text for `Function.schedule`."""
        return self._native.schedule

    @property
    def function(self) -> Function:
        """The function, with this schedule."""
        return self._native.function.schedule(self._native.schedule)

    @property
    def sizes(self) -> Dict[str, int]:
        """The sizes, by name."""
        return self._native.sizes

    @property
    def tree(self) -> "Tree":
        """The same loops as a Tree, for transformations that no schedule describes."""
        return self.function.tree(**self.sizes)

    @property
    def loops(self) -> Tuple[Node, ...]:
        """The loops that can be edited, in pre-order."""
        return tuple(n for n in self.nodes if n.loop is not None and not n.repeated)

    @property
    def cursor(self) -> Optional[Node]:
        """The loop that `up`, `down` and other methods start from."""
        at = self._native.cursor
        return self.nodes[at] if at >= 0 else None

    def find(self, name: str) -> Node:
        """The loop of that name: "C:m/64" or "m/64"."""
        at = self._native.find(name)
        if at >= 0:
            return self.nodes[at]
        there = ", ".join(str(n.loop) for n in self.loops)
        raise Error("%s '%s'; there are %s" % ("several loops are named" if at == -2 else "no loop", name, there))

    def _editable(self, node: Node) -> bool:
        return node.loop is not None

    def map_ref(self, ref: Ref, to: "LoopTree") -> Optional[Node]:
        """The loop of another tree of the same function with the name of this one; None if there is none."""
        name = self.nodes[self._number(ref)].loop
        return next((n for n in to.loops if n.loop == name), None)

    # --- Actions --------------------------------------------------------------------------------

    def _act(self, action: str, loop: int = -1, n: int = 0, statement: Optional[str] = None, text: Optional[str] = None, m: int = 0) -> "LoopTree":
        return LoopTree(self._native.act(action, loop, n, statement, text, m))

    def edit(self, script: str) -> "LoopTree":
        """Runs an edit script: "split m 64; swap; vectorize n". Errors are located in it."""
        return LoopTree(self._native.edit(script))

    def split(self, ref: Ref, inner: int, *, interleaved: bool = False) -> "LoopTree":
        """Splits a loop in two. The inner loop has `inner` iterations, which are adjacent or distributed over the range."""
        return self._act("interleave" if interleaved else "split", self._number(ref), inner)

    def merge(self, ref: Ref) -> "LoopTree":
        """Merges a loop into the next one over the same iterator further out."""
        return self._act("merge", self._number(ref))

    def swap_loops(self, a: Ref, b: Ref) -> "LoopTree":
        """Exchanges two loops of a nest."""
        return self._act("swap", self._number(a), self._number(b))

    def move(self, ref: Ref, to: Ref) -> "LoopTree":
        """Moves a loop to the place of another one; the loops between make room."""
        return self._act("move", self._number(ref), self._number(to))

    def skew(self, ref: Ref, by: Ref, factor: int) -> "LoopTree":
        """Skews the loops over the iterator of a loop by `factor` times the iterator of another loop; 0 removes the skew."""
        return self._act("skew", self._number(ref), self._number(by), m=factor)

    def annotate(self, ref: Ref, kind: str) -> "LoopTree":
        """Runs a loop as "serial", "parallel", "unroll", "vectorize" or "any"."""
        if kind not in KINDS:
            raise Error("kind is %r; it can be %s" % (kind, ", ".join(sorted(KINDS))))
        return self._act("annotate", self._number(ref), KINDS[kind])

    def unroll(self, ref: Ref) -> "LoopTree":
        """Unrolls a loop."""
        return self.annotate(ref, "unroll")

    def vectorize(self, ref: Ref) -> "LoopTree":
        """Runs an innermost loop in vector lanes."""
        return self.annotate(ref, "vector")

    def parallelize(self, ref: Ref) -> "LoopTree":
        """Distributes the iterations of a loop over threads."""
        return self.annotate(ref, "parallel")

    def copy_input(self, tensor: str, ref: Optional[Ref] = None, *, statement: Optional[str] = None) -> "LoopTree":
        """Copies the part of an input that one iteration of a loop reads, or all of it, and reads the copy. By default the statement is that of the loop."""
        number = -1 if ref is None else self._number(ref)
        return self._act("copy", number, 0, statement or self._statement(number), tensor)

    def drop_copy(self, tensor: str, *, statement: Optional[str] = None) -> "LoopTree":
        """Removes the copy that `copy_input` made."""
        return self._act("drop", -1, 0, statement or self._statement(-1), tensor)

    def _statement(self, number: int) -> str:
        node = self.nodes[number] if number >= 0 else self.cursor
        if node is None or node.statement is None:
            raise Error("there is no loop to tell the statement from; name it: statement='%s'" % (self.nodes[-1].statement if self.nodes else ""))
        return node.statement

    def increase_reuse(self, statement: str) -> "LoopTree":
        """Allows later statements to share one more loop with this one."""
        return self._act("increase_reuse", -1, 0, statement)

    def decrease_reuse(self, statement: str) -> "LoopTree":
        """Allows later statements to share one loop less with this one."""
        return self._act("decrease_reuse", -1, 0, statement)

    def compute_at(self, statement: str, ref: Ref) -> "LoopTree":
        """Computes a temporary inside a loop of its reader, as far as it is needed there."""
        return self._act("compute_at", self._number(ref), 0, statement)

    def inline(self, statement: str) -> "LoopTree":
        """Replaces reads of a temporary by its definition."""
        return self._act("inline", -1, 0, statement)

    def after(self, statement: str, host: str) -> "LoopTree":
        """Runs a statement as a post-operation of another one."""
        return self._act("after", -1, 0, statement, host)

    def root(self, statement: str) -> "LoopTree":
        """Undoes `compute_at`, `inline` and `after`."""
        return self._act("root", -1, 0, statement)

    def swap_dims(self, statement: str, a: int, b: int) -> "LoopTree":
        """Exchanges two dimensions of the memory of the temporary that a statement defines."""
        return self._act("swap_dims", a, b, statement)

    # --- The cursor -----------------------------------------------------------------------------

    def goto(self, ref: Ref) -> "LoopTree":
        """Moves the cursor to a loop."""
        return self._act("goto", self._number(ref))

    def up(self) -> "LoopTree":
        """Moves the cursor to the enclosing loop."""
        return self.edit("up")

    def down(self) -> "LoopTree":
        """Moves the cursor to the first loop inside."""
        return self.edit("down")

    def next(self) -> "LoopTree":
        """Moves the cursor to the next loop of the tree."""
        return self.edit("next")

    def back(self) -> "LoopTree":
        """Moves the cursor to the previous loop of the tree."""
        return self.edit("back")

    # --- Measuring ------------------------------------------------------------------------------

    def measure(self, seconds: float = 0.01, *, threads: int = 0) -> float:
        """Compiles, calls the kernel repeatedly on made-up data for the given time, and returns the least time of one call in seconds."""
        if not seconds >= 0 or threads < 0:
            raise Error("seconds and threads must not be negative")
        return self._native.measure(seconds, threads)[0]

    # --- Showing --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return "<loopwright loop tree of %s: %s>" % (self._native.function.__name__, "; ".join(self.schedule.splitlines()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopTree) and self.schedule == other.schedule and self.sizes == other.sizes \
            and self._native.function.program == other._native.function.program

    def __hash__(self) -> int:
        return hash(self.schedule)

    def __reduce__(self) -> Any:
        return _rebuild, (self.function, self.sizes, self._native.cursor)


def _rebuild(function: Function, sizes: Dict[str, int], cursor: int) -> LoopTree:
    tree: LoopTree = function.loop_tree(**sizes)
    return tree.goto(cursor) if cursor >= 0 else tree


# --- HTML ---------------------------------------------------------------------------------------

COLOURS = {"parallel": "#1a7f37", "vector": "#8250df", "unroll": "#bf8700", "any": "#0969da", "serial": "inherit"}


def quantity(value: float, unit: str, base: int = 1000) -> str:
    """A number with three digits and a prefix: "1.5 MFLOP", "32 KiB"."""
    prefixes = ["", "K", "M", "G", "T", "P"]
    at = 0
    while value >= base and at + 1 < len(prefixes):
        value, at = value / base, at + 1
    return "%.3g %s%s%s" % (value, prefixes[at], "i" if base == 1024 and at else "", unit)


def to_html(tree: Loops) -> str:
    """The tree as a table: loops coloured by kind, and the cost of each."""
    by_line = {n.line: n for n in tree.nodes}
    total = max(tree.flops, 1.0)
    rows: List[str] = []
    for number, line in enumerate(tree._native.text.splitlines(), 1):
        node = by_line.get(number)
        code = '<code style="white-space:pre;color:%s">%s</code>' % (COLOURS.get(node.kind, "inherit") if node and node.type == "loop" else "inherit", html.escape(line))
        cells = ["", "", "", ""]
        if node is not None and node.type == "loop":
            share = 100 * node.flops / total
            bar = '<div style="background:#54aeff66;width:%.0f%%">&nbsp;%.0f&nbsp;%%</div>' % (share, share)
            cells = [quantity(node.touches, "B", 1024), quantity(node.moves, "B", 1024), quantity(node.flops, "FLOP"), bar]
        rows.append("<tr><td style='text-align:left'>%s</td>%s</tr>" % (code, "".join("<td>%s</td>" % c for c in cells)))
    head = "<tr><th style='text-align:left'>%s</th><th>touches</th><th>moves</th><th>operations</th><th>share</th></tr>" % html.escape(tree._native.function.signature)
    return "<table class='loopwright'>%s%s</table>%s" % (head, "".join(rows), tree.roofline.svg())
