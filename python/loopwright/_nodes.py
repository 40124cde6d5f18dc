"""The nodes of lazy expressions, and the types of their elements.

A node has dimensions, named by symbols, and an element type. _sizes.py finds its sizes when it is evaluated. Nodes are immutable and refer to
their operands, so an expression is a directed acyclic graph.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._symbols import Expr, Symbol
from ._types import Error

Dims = Tuple[Symbol, ...]

# --- Types ------------------------------------------------------------------------------------------------------------------------------

NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
         "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool"}
FULL = {short: full for full, short in NAMES.items()}
FLOATS = ("f16", "bf16", "f32", "f64")
LIMITS = {"i8": (-2**7, 2**7), "i16": (-2**15, 2**15), "i32": (-2**31, 2**31), "i64": (-2**63, 2**63), "u8": (0, 2**8), "u16": (0, 2**16),
          "u32": (0, 2**32), "u64": (0, 2**64)}


def type_name(dtype: Any) -> str:
    """The short name of a type: "f32" for numpy.float32, "f4", "float32", torch.float32 or "f32"."""
    text = str(getattr(dtype, "name", None) or dtype).replace("torch.", "")
    if text in FULL:
        return text
    if text not in NAMES:
        try:
            text = np.dtype(dtype).name
        except TypeError:
            pass
    if text not in NAMES:
        raise Error("there are no elements of type %s; there are %s" % (text, ", ".join(sorted(FULL))))
    return NAMES[text]


def device_name(array: Any) -> Optional[str]:
    """"cuda:0" of an array on that GPU; None: it is in host memory."""
    if isinstance(array, np.ndarray):
        return None
    if hasattr(array, "__dlpack_device__"):
        type, number = array.__dlpack_device__()
        return "cuda:%d" % number if type in (2, 13) else None
    return "cuda:0" if hasattr(array, "__cuda_array_interface__") else None


def numpy_type(name: str) -> Any:
    if name != "bf16":
        return np.dtype(FULL[name])
    try:
        ml_dtypes: Any = importlib.import_module("ml_dtypes")
    except ImportError as error:
        raise Error("NumPy has no bfloat16 without the package ml_dtypes; cast to float32") from error
    return np.dtype(ml_dtypes.bfloat16)


def common_type(a: str, b: str) -> str:
    """NumPy's common type of two types. bfloat16 and an integer type give bfloat16; bfloat16 and float16 give float32."""
    if a == b:
        return a
    if "bf16" in (a, b):
        other = b if a == "bf16" else a
        return "f32" if other == "f16" else other if other in FLOATS else "bf16"
    return NAMES[np.result_type(FULL[a], FULL[b]).name]


def float_type(a: str) -> str:
    """The type in which NumPy computes functions such as exp."""
    return a if a in FLOATS else common_type(a, "f16")


# --- Nodes ------------------------------------------------------------------------------------------------------------------------------


class Node:
    """A value for each point of its dimensions."""

    __slots__ = ("dims", "type", "args", "__weakref__")
    dims: Dims
    type: str
    args: Tuple["Node", ...]

    def __init__(self, dims: Dims, type: str, args: Tuple["Node", ...]) -> None:
        self.dims, self.type, self.args = dims, type, args


class Input(Node):
    """An array; its contents are read when the expression is evaluated."""

    __slots__ = ("array", "shape", "name")

    def __init__(self, array: Any, name: Optional[str]) -> None:
        if not hasattr(array, "shape") or not hasattr(array, "dtype") or isinstance(array, np.generic):
            array = np.asarray(array)
        if isinstance(array, np.ndarray) and not array.dtype.isnative:
            raise Error("the bytes of the array's elements are not in this machine's order")
        self.array, self.name = array, name
        self.shape = tuple(int(n) for n in array.shape)
        super().__init__(unnamed(len(self.shape)), type_name(array.dtype), ())


class Const(Node):
    __slots__ = ("value",)

    def __init__(self, value: Union[bool, int, float], type: str) -> None:
        if type in LIMITS and not LIMITS[type][0] <= int(value) < LIMITS[type][1]:
            raise OverflowError("%d does not fit the type %s" % (value, type))
        super().__init__((), type, ())
        self.value = value


class Index(Node):
    """The value of an affine expression of indices."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        super().__init__(tuple(expr.terms), "i64", ())
        self.expr = expr


class Op(Node):
    """An operation on elements; "cast" converts to the node's type."""

    __slots__ = ("op",)

    def __init__(self, op: str, type: str, *args: Node) -> None:
        super().__init__(joined(*args), type, args)
        self.op = op


class Reduce(Node):
    """Combines all elements along some dimensions. `op` is an operator of Program text: +, *, min or max."""

    __slots__ = ("op",)

    def __init__(self, op: str, x: Node, over: Iterable[Symbol]) -> None:
        gone = set(over)
        super().__init__(tuple(d for d in x.dims if d not in gone), x.type, (x,))
        self.op = op


class View(Node):
    """Reads x at subscripts that are expressions of this node's indices, one for each dimension of x. If it `renames`, a subscript that is a single symbol has
    the size of its dimension; otherwise that size is only an upper bound."""

    __slots__ = ("subscripts", "renames")

    def __init__(self, x: Node, dims: Dims, subscripts: Sequence[Expr], renames: bool = False) -> None:
        super().__init__(dims, x.type, (x,))
        self.subscripts, self.renames = tuple(subscripts), renames


class Count(Node):
    """The number of elements along some dimensions of its operand."""

    __slots__ = ("over",)

    def __init__(self, x: Node, over: Dims, type: str) -> None:
        super().__init__((), type, (x,))
        self.over = over


class Copy(Node):
    """The same values, as a result."""

    __slots__ = ()

    def __init__(self, x: Node) -> None:
        super().__init__(x.dims, x.type, (x,))


class SetSize(Node):
    __slots__ = ("symbol", "size")

    def __init__(self, x: Node, symbol: Symbol, size: int) -> None:
        super().__init__(x.dims, x.type, (x,))
        self.symbol, self.size = symbol, size


class Pad(Node):
    """Adds `before` and `after` elements with a constant value along a dimension."""

    __slots__ = ("symbol", "before", "after", "value")

    def __init__(self, x: Node, symbol: Symbol, before: int, after: int, value: Const) -> None:
        super().__init__(x.dims, x.type, (x,))
        self.symbol, self.before, self.after, self.value = symbol, before, after, value


class Concat(Node):
    """The elements of a, then those of b, along dimension `symbol`, which replaces `first` of a and `second` of b."""

    __slots__ = ("symbol", "first", "second")

    def __init__(self, a: Node, b: Node, first: Symbol, second: Symbol) -> None:
        self.symbol, self.first, self.second = Symbol("%s|%s" % (first, second)), first, second
        super().__init__(tuple(self.symbol if d == first else d for d in a.dims), a.type, (a, b))


class Flatten(Node):
    """Merges several dimensions into one; the last of them varies fastest."""

    __slots__ = ("symbol", "parts")

    def __init__(self, x: Node, parts: Dims) -> None:
        self.symbol, self.parts = Symbol("*".join(p.name for p in parts)), parts
        dims: List[Symbol] = []
        for d in x.dims:
            if d not in parts:
                dims.append(d)
            elif self.symbol not in dims:
                dims.append(self.symbol)
        super().__init__(tuple(dims), x.type, (x,))


def unnamed(rank: int) -> Dims:
    """The dimensions of an array before .to() names them. They are counted from the last one, as NumPy aligns them."""
    return tuple(Symbol("_%d" % (rank - i)) for i in range(rank))


def has_names(dims: Dims) -> bool:
    return not any(d.name[0] == "_" and d.name[1:].isdigit() for d in dims)


def joined(*args: Node) -> Dims:
    """The dimensions of an element-wise operation, in the order of first appearance."""
    dims: Dict[Symbol, None] = {}
    for node in args:
        dims.update(dict.fromkeys(node.dims))
    ranked = [node for node in args if node.dims]
    if len({has_names(node.dims) for node in ranked}) > 1:
        raise Error("an operand with dimensions %s meets one whose dimensions have no names: name them by .to(...)" %
                    next(str(node.dims) for node in ranked if has_names(node.dims)))
    if ranked and not has_names(ranked[0].dims):
        return unnamed(max(len(node.dims) for node in ranked))
    return tuple(dims)


def order(roots: Sequence[Node]) -> List[Node]:
    """All nodes below the roots, each after its operands."""
    done: Dict[int, Node] = {}
    stack: List[Tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready or not node.args:
            done[id(node)] = node
            continue
        stack.append((node, True))
        stack.extend((arg, False) for arg in reversed(node.args))
    return list(done.values())
