"""Converts a lazy expression to one Program.

Operations on elements, views, padding, concatenation and flattening are substituted into the statements that use them; each reduction is a statement.
A node gets its own statement, and is stored, if several statements need its expensive value, if a reduction would compute it repeatedly, or if
the text would become too large. The compiler then fuses the loops of the statements.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from . import _native
from ._contract import contract
from ._define import LANGUAGES
from ._nodes import FLOATS, Concat, Const, Copy, Count, Dims, Flatten, Index, Input, Node, Op, Pad, Reduce, SetSize, View, device_name, order
from ._sizes import Sizes, product, solve
from ._symbols import Symbol

MOST_NODES = 300  # in the value of one statement
MOST_REPEATS = 4  # limit for repeated computations of a value
INFIX = {"+", "-", "*", "/", "%", "&&", "||", "<", "<=", ">", ">=", "==", "!=", "&", "^"}
CHEAP = INFIX | {"min", "max", "abs", "neg", "not", "select", "cast", "relu", "fma", "or", "square"}

KINDS = {"+": "sum", "*": "prod", "min": "least", "max": "most"}  # names for the tensors of reductions

Env = Dict[Symbol, str]


class Program(NamedTuple):
    text: str
    inputs: List[Any]  #: arrays, in order
    shapes: List[Tuple[int, ...]]  #: of the results
    types: List[str]  #: of the results
    function: _native.Function
    device: Optional[str]  #: "cuda:0" if arrays are there; None: the host


# --- Stored nodes -----------------------------------------------------------------------------------------------------------------------


class _Weights(NamedTuple):
    nodes: Dict[int, int]  # size of the text, by id of the node
    dear: Set[int]  # nodes whose value needs an expensive function
    stored: Set[int]


def _weigh(nodes: Sequence[Node]) -> _Weights:
    """Computes the size of each node's text, bottom-up. A node with too large a text is stored."""
    w = _Weights({}, set(), set())
    for node in nodes:
        if isinstance(node, Count):
            w.nodes[id(node)] = 1
            continue
        size = 1 + sum(w.nodes[id(arg)] for arg in node.args)
        if isinstance(node, Op) and node.op == "square":
            size = 2 * size
        if isinstance(node, Reduce):
            w.stored.add(id(node))
        elif size > MOST_NODES and node.args:
            large = max(node.args, key=lambda arg: w.nodes[id(arg)])
            w.stored.update(id(arg) for arg in node.args if w.nodes[id(arg)] > MOST_NODES // 4 or arg is large)
            size = 1 + sum(1 if id(arg) in w.stored else w.nodes[id(arg)] for arg in node.args)
        w.nodes[id(node)] = 1 if id(node) in w.stored else size
        if isinstance(node, Op) and node.op not in CHEAP or any(id(arg) in w.dear for arg in node.args if not isinstance(arg, Reduce)):
            w.dear.add(id(node))
    return w


def _trivial(node: Node) -> bool:
    """Is it a read or a constant? Storing it would gain nothing."""
    while isinstance(node, (View, SetSize)):
        node = node.args[0]
    return isinstance(node, (Input, Const, Count, Index, Reduce))


def _stored(nodes: Sequence[Node], roots: Sequence[Node], sizes: Dict[int, Sizes]) -> Set[int]:
    """The nodes that are stored, by id. Nodes are visited top-down, so that the statements in which a node occurs are already known."""
    w = _weigh(nodes)
    stored = w.stored | {id(root) for root in roots}
    where: Dict[int, Dict[int, Tuple[int, bool]]] = {id(node): {} for node in nodes}  # per statement: its iterations, and whether it reduces
    points = {id(node): product(list(sizes[id(node)].values())) for node in nodes}
    for node in reversed(nodes):
        if isinstance(node, Count):
            continue
        mine = where[id(node)]
        if id(node) not in stored and not _trivial(node) and isinstance(node, (Op, Pad, Concat, Flatten)) and node.dims:
            again = [n > MOST_REPEATS * max(1, points[id(node)]) and (reduces or id(node) in w.dear) for n, reduces in mine.values()]
            larger = points[id(node)] > 4 * max([points[id(arg)] for arg in node.args])
            if (len(mine) > 1 and id(node) in w.dear) or (any(again) and not larger):
                stored.add(id(node))
        if id(node) in stored:
            mine = {id(node): (points[id(node.args[0])] if isinstance(node, Reduce) else points[id(node)], isinstance(node, Reduce))}
        for arg in node.args:
            where[id(arg)].update(mine)
    return stored


# --- Layouts ----------------------------------------------------------------------------------------------------------------------------


def _layouts(nodes: Sequence[Node], roots: Sequence[Node]) -> Dict[int, Dims]:
    """The order of each node's dimensions in loops and, if it is stored, in memory. It is the order of the operand with the most dimensions, so that a mask
    or a scale does not change it. Results have the order of their symbols."""
    layout: Dict[int, Dims] = {}
    for node in nodes:
        dims = node.dims
        if isinstance(node, Op) and node.args:
            widest = max(node.args, key=lambda arg: len(arg.dims))
            dims = tuple(dict.fromkeys(layout[id(widest)] + dims))
        elif isinstance(node, Reduce):
            dims = tuple(d for d in layout[id(node.args[0])] if d in dims)
        elif isinstance(node, View) and node.renames:
            new = dict(zip(node.args[0].dims, node.subscripts))
            dims = tuple(e for d in layout[id(node.args[0])] for e in new[d].terms)
        elif isinstance(node, (SetSize, Pad)):
            dims = layout[id(node.args[0])]
        layout[id(node)] = dims
    layout.update((id(root), root.dims) for root in roots)
    return layout


# --- Text -------------------------------------------------------------------------------------------------------------------------------


def _literal(value: Any, type: str) -> str:
    if type == "bool":
        return "true" if value else "false"
    if type not in FLOATS:
        return "%s(%d)" % (type, value)
    number = float(value)
    text = "nan" if math.isnan(number) else ("-inf" if number < 0 else "inf") if math.isinf(number) else repr(number)
    return "%s(%s)" % (type, text)


class _Writer:
    def __init__(self, nodes: Sequence[Node], roots: Sequence[Node]) -> None:
        self.nodes, self.roots = nodes, roots
        self.sizes = solve(nodes)
        self.stored = _stored(nodes, roots, self.sizes)
        self.layout = _layouts(nodes, roots)
        self.names: Dict[int, str] = {}  # of stored nodes and inputs
        self.used: Set[str] = set()
        self.symbols: Env = {}
        for node in nodes:
            for d in node.dims:
                if d not in self.symbols:
                    self.symbols[d] = "`%s`" % self.unique(d.name if d.name.isascii() else "i")

    def unique(self, like: str) -> str:
        clean = "".join(c if c.isalnum() or c == "_" else "_" for c in like)
        name, n = clean, 0
        while name in self.used:
            n += 1
            name = "%s%d" % (clean, n)
        self.used.add(name)
        return name

    def element(self, node: Node, env: Env) -> str:
        return "`%s`[%s]" % (self.names[id(node)], ", ".join(env[d] for d in self.layout[id(node)]))

    def inside(self, index: str, first: int, size: int) -> List[str]:
        """The conditions for index - first to be in 0:size."""
        return ["index(%s) >= i64(%d)" % (index, first), "index(%s) < i64(%d)" % (index, first + size)]

    def value(self, node: Node, env: Env) -> str:
        """The value of a node, with the given expressions as its indices."""
        if id(node) in self.names:
            return self.element(node, env)
        return self.formula(node, env)

    def formula(self, node: Node, env: Env) -> str:
        if isinstance(node, Const):
            return _literal(node.value, node.type)
        if isinstance(node, Count):
            return _literal(product([self.sizes[id(node.args[0])][d] for d in node.over]), node.type)
        if isinstance(node, Index):
            return "index(%s)" % node.expr.text({s: "(%s)" % env[s] for s in node.expr.terms})
        if isinstance(node, Op):
            return self.operation(node, env)
        x = node.args[0]
        if isinstance(node, View):
            names = {s: "(%s)" % env[s] for s in node.dims}
            return self.value(x, {d: e.text(names) for d, e in zip(x.dims, node.subscripts)})
        if isinstance(node, Pad):
            return self.padded(node, env)
        if isinstance(node, Concat):
            return self.concatenated(node, env)
        if isinstance(node, Flatten):
            return self.value(x, self.parted(node, env))
        return self.value(x, env)

    def operation(self, node: Op, env: Env) -> str:
        args = [self.value(arg, {d: env[d] for d in arg.dims}) for arg in node.args]
        if node.op in INFIX:
            return "(%s %s %s)" % (args[0], node.op, args[1])
        if node.op in ("neg", "not"):
            return "(%s%s)" % ("-" if node.op == "neg" else "!", args[0])
        if node.op == "or":
            return "(%s | %s)" % (args[0], args[1])
        if node.op == "square":
            return "(%s*%s)" % (args[0], args[0])
        return "%s(%s)" % (node.type if node.op == "cast" else node.op, ", ".join(args))

    def padded(self, node: Pad, env: Env) -> str:
        at = env[node.symbol]
        size = self.sizes[id(node.args[0])][node.symbol]
        first, last = self.inside(at, node.before, size)
        tests = ([first] if node.before > 0 else []) + ([last] if node.after > 0 else [])
        read = self.value(node.args[0], {**env, node.symbol: "(%s) - %d" % (at, node.before)})
        return "select(%s, %s, %s)" % (" && ".join(tests), read, _literal(node.value.value, node.type)) if tests else read

    def concatenated(self, node: Concat, env: Env) -> str:
        at = env[node.symbol]
        size = self.sizes[id(node.args[0])][node.first]
        a = self.value(node.args[0], {**env, node.first: at})
        b = self.value(node.args[1], {**env, node.second: "(%s) - %d" % (at, size)})
        return "select(index(%s) < i64(%d), %s, %s)" % (at, size, a, b)

    def parted(self, node: Flatten, env: Env) -> Env:
        inner, below = dict(env), self.sizes[id(node.args[0])]
        stride = 1
        for i, part in enumerate(reversed(node.parts)):
            text = "(%s)" % env[node.symbol] if stride == 1 else "((%s)/%d)" % (env[node.symbol], stride)
            inner[part] = text if i == len(node.parts) - 1 else "%s %% %d" % (text, max(1, below[part]))
            stride *= max(1, below[part])
        return inner

    def loops(self, node: Node) -> str:
        each = ", ".join("%s in 0:%d" % (self.symbols[d], self.sizes[id(node)][d]) for d in self.layout[id(node)])
        return "for %s" % each if each else ""

    def line(self, over: Node, element: str, operator: str, value: str) -> str:
        return "    %s\n        %s %s %s\n" % (self.loops(over), element, operator, value)

    def part(self, node: Node, arg: Node, symbol: Symbol, subscript: str) -> str:
        """Writes an operand to the part of the result where `symbol` equals `subscript`, an expression of the operand's indices."""
        element = self.element(node, {**self.symbols, symbol: subscript})
        return self.line(arg, element, "=", self.value(arg, self.symbols))

    def statement(self, node: Node) -> str:
        x = node.args[0] if node.args else node
        if isinstance(node, Concat):
            offset = self.sizes[id(x)][node.first]
            return (self.part(node, x, node.symbol, self.symbols[node.first]) +
                    self.part(node, node.args[1], node.symbol, "%s + %d" % (self.symbols[node.second], offset)))
        if isinstance(node, Flatten):
            place = "0"
            for part in node.parts:
                place = "(%s)*%d + %s" % (place, max(1, self.sizes[id(x)][part]), self.symbols[part])
            return self.part(node, x, node.symbol, place)
        if isinstance(node, Reduce):
            return self.line(x, self.element(node, self.symbols), "%s=!" % node.op, self.value(x, self.symbols))
        return self.line(node, self.element(node, self.symbols), "=", self.formula(node, self.symbols))

    def declare(self, kind: str, node: Node) -> str:
        return "    %s `%s`: %s[%s]\n" % (kind, self.names[id(node)], node.type, ", ".join(str(self.sizes[id(node)][d]) for d in self.layout[id(node)]))

    def write(self) -> str:
        """Writes the whole Program, and names all tensors."""
        inputs = [node for node in self.nodes if isinstance(node, Input)]
        temps = [node for node in self.nodes if id(node) in self.stored and all(node is not root for root in self.roots)]
        text = "program lazy {\n"
        for i, array in enumerate(inputs):
            self.names[id(array)] = self.unique(array.name or "in%d" % i)
            text += self.declare("input", array)
        for kind, tensors in (("output", self.roots), ("temp", temps)):
            for node in tensors:
                like = "out" if kind == "output" else KINDS.get(node.op, "t") if isinstance(node, Reduce) else "t"
                self.names[id(node)] = self.unique(like)
                text += self.declare(kind, node)
        return text + "".join(self.statement(node) for node in self.nodes if id(node) in self.stored) + "}\n"


# --- Programs ---------------------------------------------------------------------------------------------------------------------------

_functions: "OrderedDict[str, _native.Function]" = OrderedDict()
MOST_FUNCTIONS = 512


def _function(text: str) -> _native.Function:
    """The function of a Program text; recently used ones are cached."""
    made = _functions.pop(text, None)
    if made is None:
        made = _native.parse(text, "<lazy>", LANGUAGES["program"])[0]
        if len(_functions) >= MOST_FUNCTIONS:
            _functions.popitem(last=False)
    _functions[text] = made
    return made


def _results(roots: Sequence[Node]) -> List[Node]:
    """The nodes of the outputs. A read becomes a copy, and so does a root that was given twice. Names of dimensions do not matter here."""
    made: List[Node] = []
    for root in roots:
        while isinstance(root, View) and root.renames and root.subscripts == root.dims:
            root = root.args[0]
        plain = isinstance(root, (Input, Const, Index, View, SetSize)) or any(root is other for other in made)
        made.append(Copy(root) if plain else root)
    return made


def program(given: Sequence[Node]) -> Program:
    """One Program that computes all of the given nodes."""
    roots = contract(_results(given))
    nodes = order(roots)
    writer = _Writer(nodes, roots)
    text = writer.write()
    inputs = [node.array for node in nodes if isinstance(node, Input)]
    shapes, types = [tuple(writer.sizes[id(root)].values()) for root in roots], [root.type for root in roots]
    return Program(text, inputs, shapes, types, _function(text), next((d for d in map(device_name, inputs) if d), None))


def shape(node: Node) -> Tuple[int, ...]:
    return tuple(solve(order([node]))[id(node)].values())
