"""Lazy tensors: LoopTool's notation. Expressions of tensors with named dimensions; `.numpy()` compiles them to one kernel and runs it."""

from __future__ import annotations

import html
import importlib
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from . import _fuse, _native
from ._loop_tree import LoopTree
from ._nodes import (FLOATS, FULL, Concat, Const, Count, Dims, Flatten, Index, Input, Node, Op, Pad, Reduce, SetSize, View, common_type, device_name, float_type,
                     has_names, numpy_type, type_name)
from ._roofline import Roofline, duration
from ._symbols import Expr, Symbol, affine
from ._types import Error, TuneResult

Number = Union[bool, int, float]
ARITHMETIC_OF_BOOL = {"+": "||", "*": "&&"}


class Tensor:
    """A value for each point of its named dimensions, computed on demand.

    >>> import numpy as np
    >>> import loopwright as lw
    >>> m, n, k = lw.symbols("m n k")
    >>> A, B = lw.Tensor(np.ones((2, 3), "f4")), lw.Tensor(np.arange(12, dtype="f4").reshape(3, 4))
    >>> C = (A.to(m, k) * B.to(k, n)).sum(k)
    >>> C
    <lazy tensor f32(m, n)>
    >>> C.numpy()
    array([[12., 15., 18., 21.],
           [12., 15., 18., 21.]], dtype=float32)

    `Tensor(array)` copies nothing: expressions see the content that the array has when they are evaluated.
    """

    __slots__ = ("_node", "_program", "_schedule", "__weakref__")
    _node: Node
    _program: Optional[_fuse.Program]
    _schedule: Optional[str]

    def __init__(self, array: Any, name: Optional[str] = None) -> None:
        if isinstance(array, Node):
            self._node = array
        elif isinstance(array, Expr):
            self._node = Index(array)
        else:
            self._node = Input(array, name)
        self._program = None
        self._schedule = None

    # --- Dimensions ---------------------------------------------------------------------------------------------------------------------

    @property
    def symbols(self) -> Dims:
        """The symbols of its dimensions, in order."""
        return self._node.dims

    @property
    def ndim(self) -> int:
        return len(self._node.dims)

    @property
    def shape(self) -> Tuple[int, ...]:
        """The sizes of its dimensions. Raises an error if one is not known."""
        return _fuse.shape(self._node)

    @property
    def dtype(self) -> Any:
        """The type of its elements, as a NumPy dtype."""
        return numpy_type(self._node.type)

    def to(self, *symbols: Symbol, constraints: Sequence[Tuple[Symbol, Any]] = ()) -> "Tensor":
        """Names all dimensions. With constraints it is a view: each pair gives an old symbol as an expression of the new ones.

        >>> import numpy as np, loopwright as lw
        >>> n, outer, inner = lw.symbols("n outer inner")
        >>> x = lw.Tensor(np.arange(6)).to(n)
        >>> x.to(outer, inner, constraints=[(n, 3*outer + inner)]).set_size(inner, 3).numpy()
        array([[0, 1, 2],
               [3, 4, 5]])
        """
        for symbol in symbols:
            if not isinstance(symbol, Symbol):
                raise TypeError("a dimension is named by a symbol, not %r; lw.symbols(\"i j\") makes two" % (symbol,))
        if len(set(symbols)) != len(symbols):
            raise Error("a symbol names two dimensions in to%s; a diagonal is x[i, i]" % (symbols,))
        if constraints:
            return self._constrained(symbols, constraints)
        if len(symbols) != self.ndim:
            raise Error("to() names all dimensions: %d symbols for %d dimensions" % (len(symbols), self.ndim))
        return Tensor(View(self._node, symbols, symbols, renames=True))

    def _constrained(self, symbols: Dims, constraints: Sequence[Tuple[Symbol, Any]]) -> "Tensor":
        given = {old: affine(expr) for old, expr in constraints}
        for old, expr in given.items():
            if old not in self.symbols or expr is None:
                raise Error("a constraint gives a dimension of the tensor, %s, as an affine expression; '%s' is none" % (self.symbols, old))
        subscripts = [given.get(d, d) for d in self.symbols]
        used = {s for e in subscripts for s in e.terms}
        if used != set(symbols):
            raise Error("the constraints use the symbols %s, and the view has %s" % (sorted(s.name for s in used), [s.name for s in symbols]))
        return Tensor(View(self._node, symbols, subscripts))

    def __getitem__(self, subscripts: Any) -> "Tensor":
        """Reads at subscripts, one affine expression for each dimension: x[2*i + j, 0]."""
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != self.ndim:
            raise Error("%d subscripts for %d dimensions" % (len(given), self.ndim))
        each = [affine(s) for s in given]
        for s, e in zip(given, each):
            if e is None:
                raise TypeError("a subscript is an affine expression of symbols, such as 2*i + j, not %r" % (s,))
        dims = tuple(dict.fromkeys(s for e in each for s in e.terms))
        return Tensor(View(self._node, dims, each))

    def __iter__(self) -> Any:
        raise TypeError("a lazy tensor cannot be iterated over; use .numpy()")

    def _dim(self, symbol: Any) -> Symbol:
        if not isinstance(symbol, Symbol):
            raise TypeError("a dimension is given by its symbol, not %r" % (symbol,))
        if symbol not in self.symbols:
            raise Error("there is no dimension '%s'; there is %s" % (symbol, ", ".join(s.name for s in self.symbols) or "none"))
        return symbol

    def set_size(self, symbol: Symbol, size: int) -> "Tensor":
        """The same tensor, with a size for a dimension whose size is not determined otherwise."""
        if size < 0:
            raise Error("the size of '%s' is %d" % (symbol, size))
        return Tensor(SetSize(self._node, self._dim(symbol), int(size)))

    def pad(self, symbol: Symbol, pre: int, post: Optional[int] = None, *, value: Number = 0) -> "Tensor":
        """Adds elements along a dimension, `pre` before and `post` after it (by default the same number), with a constant value."""
        post = pre if post is None else post
        if pre < 0 or post < 0:
            raise Error("a tensor is padded by 0 or more elements, not by %d and %d" % (pre, post))
        return Tensor(Pad(self._node, self._dim(symbol), int(pre), int(post), Const(value, self._node.type)))

    def transpose(self, *symbols: Symbol) -> "Tensor":
        """The same dimensions in another order; without symbols, in reverse order."""
        wanted = symbols or tuple(reversed(self.symbols))
        if sorted(s.name for s in wanted) != sorted(s.name for s in self.symbols):
            raise Error("transpose%s should have the symbols %s in another order" % (wanted, self.symbols))
        return Tensor(View(self._node, wanted, self.symbols, renames=True))

    def flatten(self, *symbols: Symbol) -> "Tensor":
        """Merges dimensions into one, at the position of the first; the last symbol varies fastest. Without symbols it merges all. Use to() to name the result."""
        parts = tuple(self._dim(s) for s in symbols) or self.symbols
        if len(set(parts)) != len(parts):
            raise Error("flatten%s has a symbol twice" % (parts,))
        return Tensor(Flatten(self._node, parts)) if len(parts) > 1 else self

    def __or__(self, other: Any) -> "Tensor":
        """Concatenates two tensors along the one symbol that differs; for bools and integers with the same symbols, the bitwise or."""
        a, b = _pair(self, other)
        first, second = [d for d in a.dims if d not in b.dims], [d for d in b.dims if d not in a.dims]
        if not first and not second and a.type not in FLOATS:
            return _binary("or", self, other)
        if len(first) != 1 or len(second) != 1:
            raise Error("'|' joins along the one symbol that differs, and %s and %s differ in %s" %
                        (a.dims, b.dims, "%d and %d" % (len(first), len(second)) if first or second else "none"))
        return Tensor(Concat(a, b, first[0], second[0]))

    __array_ufunc__ = None  # array * tensor is also a lazy tensor

    # --- Operations on elements ---------------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> "Tensor":
        return _binary("+", self, other)

    def __radd__(self, other: Any) -> "Tensor":
        return _binary("+", other, self)

    def __sub__(self, other: Any) -> "Tensor":
        return _binary("-", self, other)

    def __rsub__(self, other: Any) -> "Tensor":
        return _binary("-", other, self)

    def __mul__(self, other: Any) -> "Tensor":
        return _binary("*", self, other)

    def __rmul__(self, other: Any) -> "Tensor":
        return _binary("*", other, self)

    def __truediv__(self, other: Any) -> "Tensor":
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> "Tensor":
        return _divide(other, self)

    def __floordiv__(self, other: Any) -> "Tensor":
        return _integer("/", "//", self, other)

    def __rfloordiv__(self, other: Any) -> "Tensor":
        return _integer("/", "//", other, self)

    def __mod__(self, other: Any) -> "Tensor":
        return _integer("%", "%", self, other)

    def __rmod__(self, other: Any) -> "Tensor":
        return _integer("%", "%", other, self)

    def __and__(self, other: Any) -> "Tensor":
        return _integer("&", "&", self, other)

    __rand__ = __and__

    def __xor__(self, other: Any) -> "Tensor":
        return _integer("^", "^", self, other)

    __rxor__ = __xor__

    def __pow__(self, other: Any) -> "Tensor":
        return _power(self, other)

    def __rpow__(self, other: Any) -> "Tensor":
        return _power(other, self)

    def __neg__(self) -> "Tensor":
        if self._node.type == "bool":
            raise Error("bools have no sign; use ~x")
        return Tensor(Op("neg", self._node.type, self._node))

    def __invert__(self) -> "Tensor":
        if self._node.type in FLOATS:
            raise Error("'~' is for bools and integers")
        if self._node.type == "bool":
            return Tensor(Op("not", "bool", self._node))
        ones = (1 << int(self._node.type[1:])) - 1 if self._node.type[0] == "u" else -1
        return ones - self

    def __abs__(self) -> "Tensor":
        return self.abs()

    def __lt__(self, other: Any) -> "Tensor":
        return compare("<", self, other)

    def __le__(self, other: Any) -> "Tensor":
        return compare("<=", self, other)

    def __gt__(self, other: Any) -> "Tensor":
        return compare(">", self, other)

    def __ge__(self, other: Any) -> "Tensor":
        return compare(">=", self, other)

    def __eq__(self, other: Any) -> "Tensor":  # type: ignore[override]
        return compare("==", self, other)

    def __ne__(self, other: Any) -> "Tensor":  # type: ignore[override]
        return compare("!=", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("the value of a lazy tensor is not known; use .numpy(), and lw.where() to choose by elements")

    def cast(self, dtype: Any) -> "Tensor":
        """Converts the elements: floats to integers saturate, integers wrap, to bool means x != 0."""
        type = type_name(dtype)
        return self if type == self._node.type else Tensor(Op("cast", type, self._node))

    def abs(self) -> "Tensor":
        """The absolute value of each element."""
        return self if self._node.type in ("bool", "u8", "u16", "u32", "u64") else Tensor(Op("abs", self._node.type, self._node))

    def exp(self) -> "Tensor":
        """e to the power of each element."""
        return _function("exp", self)

    def log(self) -> "Tensor":
        """The natural logarithm of each element."""
        return _function("log", self)

    def sqrt(self) -> "Tensor":
        """The square root of each element."""
        return _function("sqrt", self)

    def rsqrt(self) -> "Tensor":
        """1/sqrt(x)"""
        return _function("rsqrt", self)

    def reciprocal(self) -> "Tensor":
        """1/x"""
        return _function("reciprocal", self)

    def sin(self) -> "Tensor":
        """The sine of each element."""
        return _function("sin", self)

    def cos(self) -> "Tensor":
        """The cosine of each element."""
        return _function("cos", self)

    def tanh(self) -> "Tensor":
        """The hyperbolic tangent of each element."""
        return _function("tanh", self)

    def erf(self) -> "Tensor":
        """The error function of each element."""
        return _function("erf", self)

    def sigmoid(self) -> "Tensor":
        """1/(1 + exp(-x)) of each element."""
        return _function("sigmoid", self)

    def floor(self) -> "Tensor":
        """The greatest integer <= x, for each element."""
        return _function("floor", self)

    def ceil(self) -> "Tensor":
        """The least integer >= x, for each element."""
        return _function("ceil", self)

    # --- Reductions ---------------------------------------------------------------------------------------------------------------------

    def reduce(self, op: str, *symbols: Symbol) -> "Tensor":
        """Combines the elements along dimensions (without symbols, along all of them) by "add", "mul", "min", "max", "and" or "or"."""
        if op not in REDUCTIONS:
            raise Error("a reduction is by %s, not by '%s'" % (", ".join(REDUCTIONS), op))
        over = tuple(self._dim(s) for s in symbols) or self.symbols
        x, as_type = self._node, self._node.type
        if op in ("and", "or") and as_type != "bool":
            raise Error("'%s' reduces bools, not %s" % (op, as_type))
        if op in ("add", "mul"):
            wide = "i64" if as_type == "bool" else "f32" if as_type in ("f16", "bf16") else as_type
            as_type = "i64" if as_type == "bool" else as_type
            x = Tensor(x).cast(wide)._node
        elif as_type == "bool":
            x = Tensor(x).cast("u8")._node  # minimum and maximum of bools are computed with 0 and 1
        return Tensor(Reduce(REDUCTIONS[op], x, over)).cast(as_type)

    def sum(self, *symbols: Symbol) -> "Tensor":
        """Sums along dimensions. Sums of integers keep their type; bools are counted in int64; float16 is summed in float32."""
        return self.reduce("add", *symbols)

    def prod(self, *symbols: Symbol) -> "Tensor":
        """Multiplies along dimensions."""
        return self.reduce("mul", *symbols)

    def max(self, *symbols: Symbol) -> "Tensor":
        """The greatest element along dimensions; lw.maximum compares two tensors."""
        return self.reduce("max", *symbols)

    def min(self, *symbols: Symbol) -> "Tensor":
        """The least element along dimensions."""
        return self.reduce("min", *symbols)

    def any(self, *symbols: Symbol) -> "Tensor":
        """Whether some element along dimensions is true."""
        return self.reduce("or", *symbols)

    def all(self, *symbols: Symbol) -> "Tensor":
        """Whether all elements along dimensions are true."""
        return self.reduce("and", *symbols)

    def mean(self, *symbols: Symbol) -> "Tensor":
        """The mean along dimensions; the mean of integers is float64."""
        type = self._node.type
        wide = type if type in ("f32", "f64") else "f32" if type in FLOATS else "f64"
        over = tuple(self._dim(s) for s in symbols) or self.symbols
        count = Tensor(Count(self._node, over, wide))
        return (self.cast(wide).sum(*over) / count).cast(type if type in FLOATS else wide)

    # --- Evaluation ---------------------------------------------------------------------------------------------------------------------

    def _ready(self) -> _fuse.Program:
        if self._program is None:
            self._program = _fuse.program([self._node])
        return self._program

    def _function(self) -> _native.Function:
        function = self._ready().function
        return function if self._schedule is None else function.schedule(self._schedule)

    def numpy(self, out: Any = None) -> Any:
        """Computes the tensor from the present contents of the arrays, and returns a NumPy array, or `out`."""
        p = self._ready()
        if out is None:
            if p.device is not None:
                raise Error("the arrays are on %s: use .torch() or .cupy(), and copy the result" % p.device)
            out = np.empty(p.shapes[0], numpy_type(p.types[0]))
        self._function()(*p.inputs, out=out)
        return out

    def torch(self) -> Any:
        """Computes the tensor, and returns a tensor of torch; on a GPU if its arrays are there."""
        torch: Any = importlib.import_module("torch")
        p = self._ready()
        out = torch.empty(p.shapes[0], dtype=getattr(torch, FULL[p.types[0]]), device=p.device)
        self._function()(*p.inputs, out=out)
        return out

    def cupy(self) -> Any:
        """Computes the tensor on the GPU that has its arrays, and returns an array of CuPy."""
        p = self._ready()
        if p.device is None:
            raise Error("the arrays are in host memory: use .numpy()")
        cupy: Any = importlib.import_module("cupy")
        with cupy.cuda.Device(int(p.device[5:])):
            out = cupy.empty(p.shapes[0], numpy_type(p.types[0]))
        self._function()(*p.inputs, out=out)
        return out

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        if copy is False:
            raise ValueError("a lazy tensor becomes an array only by computing it")
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def item(self) -> Any:
        """The value of a tensor without dimensions, as a Python number."""
        return self.numpy().item()

    def compile(self) -> _native.Kernel:
        """Compiles the kernel without running it."""
        p = self._ready()
        return self._function().compile(*p.inputs)

    def tune(self, seconds: float = 1, **options: Any) -> TuneResult:
        """Searches for a faster schedule by measuring; later evaluations of equal expressions use it. The options are those of Function.tune."""
        p = self._ready()
        return self._function().tune(*p.inputs, seconds=seconds, **options)

    def explain(self) -> str:
        """The schedule, the loops with their costs, and a report on the code."""
        p = self._ready()
        return self._function().explain(*p.inputs)

    def roofline(self) -> Roofline:
        """The least time that one core of this machine could need, and what limits it."""
        kernel = self.compile()
        return Roofline.of(kernel.flops, kernel.bytes, "f64" if "f64" in self._ready().types else "f32")

    @property
    def program(self) -> str:
        """The one Program that computes the tensor, as text."""
        return self._ready().function.program

    def schedule(self, text: Optional[str]) -> "Tensor":
        """The same tensor, computed with the schedule `text`; None: the compiler chooses."""
        made = Tensor(self._node)
        made._program, made._schedule = self._ready(), text
        return made

    @property
    def loop_tree(self) -> LoopTree:
        """The loops of its kernel. Methods that change them return a new tree; `set` uses one.

        >>> import numpy as np, loopwright as lw
        >>> m, n = lw.symbols("m n")
        >>> x = (lw.Tensor(np.ones((64, 32), "f4")).to(m, n) * 2).schedule("out: m n")
        >>> tree = x.loop_tree.split("m", 8).vectorize("n")
        >>> print(tree)
        for m in 8
          for m.1 in 8
            for n in 32 vector
              out[8*m + m.1, n] = in0[8*m + m.1, n]*2.0
        >>> float(x.set(tree).numpy().sum())
        4096.0
        """
        p = self._ready()
        return self._function().loop_tree(*p.inputs)

    def set(self, tree: LoopTree) -> "Tensor":
        """The same tensor, computed by the loops of a tree of this expression."""
        if not isinstance(tree, LoopTree):
            raise TypeError("set() takes a loop tree, not %r; schedule() takes a text" % (tree,))
        if tree.function.program != self.program:
            raise Error("the loop tree is one of another expression")
        return self.schedule(tree.schedule)

    def _repr_html_(self) -> str:
        """In notebooks: the loops with their costs, and the roofline with the measured time of one call on one core."""
        if self._ready().device is not None:  # loop trees are those of this processor
            return "<code>%s</code>" % html.escape(repr(self))
        tree = self.loop_tree
        roof, seconds = self.roofline(), tree.measure(threads=1)
        text = "one call takes %s on one core, %.0f %% of the least time, limited by %s" % (duration(seconds), 100 * roof.seconds / seconds, roof.limit)
        return "<div><code>%s</code>%s%s<p>%s</p></div>" % (html.escape(repr(self)), tree._repr_html_(), roof.svg(seconds), html.escape(text))

    def __repr__(self) -> str:
        dims = ", ".join(d.name for d in self.symbols) if has_names(self.symbols) else ", ".join("?" * self.ndim)
        return "<lazy tensor %s(%s)>" % (self._node.type, dims)


REDUCTIONS = {"add": "+", "mul": "*", "min": "min", "max": "max", "and": "min", "or": "max"}


def compute(*tensors: Tensor) -> Tuple[Any, ...]:
    """Computes several tensors with one kernel, which computes common subexpressions once.

    >>> import numpy as np, loopwright as lw
    >>> x = lw.Tensor(np.arange(4.0)).to(lw.symbols("i"))
    >>> mean = x.mean()
    >>> lw.compute(mean, ((x - mean) * (x - mean)).mean())
    (array(1.5), array(1.25))
    """
    p = _fuse.program([_lift(t) for t in tensors])
    if p.device is not None:
        made = p.function(*p.inputs)
        return made if isinstance(made, tuple) else (made,)
    out = tuple(np.empty(shape, numpy_type(type)) for shape, type in zip(p.shapes, p.types))
    if out:
        p.function(*p.inputs, out=out if len(out) > 1 else out[0])
    return out


# --- Operands ---------------------------------------------------------------------------------------------------------------------------


def _lift(x: Any) -> Node:
    """An operand that is not a Python number, as a node."""
    if isinstance(x, Tensor):
        return x._node
    return Tensor(x)._node


def _weak(x: Any, type: str) -> Const:
    """A Python number next to elements of `type`: it takes their type if that can hold its kind, as in NumPy."""
    if isinstance(x, float) and type not in FLOATS:
        return Const(x, "f64")
    if type == "bool" and not isinstance(x, bool):
        return Const(x, "i64")
    return Const(x, type)


def _number(x: Any) -> bool:
    return type(x) in (bool, int, float)


def _pair(a: Any, b: Any) -> Tuple[Node, Node]:
    """Two operands in their common type."""
    if _number(a) and _number(b):
        a = np.asarray(a)
    if _number(a):
        y = _lift(b)
        x: Node = _weak(a, y.type)
    elif _number(b):
        x = _lift(a)
        y = _weak(b, x.type)
    else:
        x, y = _lift(a), _lift(b)
    common = common_type(x.type, y.type)
    return _as(x, common), _as(y, common)


def _as(x: Node, type: str) -> Node:
    if x.type == type:
        return x
    return Const(x.value, type) if isinstance(x, Const) else Op("cast", type, x)


def _binary(op: str, a: Any, b: Any) -> Tensor:
    x, y = _pair(a, b)
    if x.type == "bool" and op in ARITHMETIC_OF_BOOL:
        op = ARITHMETIC_OF_BOOL[op]
    elif x.type == "bool" and op == "or":
        op = "||"
    elif x.type == "bool" and op == "-":
        raise Error("bools cannot be subtracted; use != or ^")
    return Tensor(Op(op, x.type, x, y))


def _divide(a: Any, b: Any) -> Tensor:
    x, y = _pair(a, b)
    wide = x.type if x.type in FLOATS else "f64"
    return Tensor(Op("/", wide, _as(x, wide), _as(y, wide)))


def _integer(op: str, written: str, a: Any, b: Any) -> Tensor:
    x, y = _pair(a, b)
    if x.type in FLOATS:
        raise Error("'%s' is for integers, not for %s" % (written, x.type))
    if x.type == "bool":
        if op not in "&^":
            raise Error("'%s' is for integers, not for bools" % written)
        op = "&&" if op == "&" else "!="
    return Tensor(Op(op, x.type, x, y))


def _power(a: Any, b: Any) -> Tensor:
    if _number(b) and b == 2:
        x = _lift(a)
        return Tensor(Op("square", x.type, x)) if x.type != "bool" else _binary("*", a, a)
    x, y = _pair(a, b)
    if x.type not in FLOATS:
        raise Error("'**' of integers is only there for the exponent 2; cast to a float")
    return Tensor(Op("pow", x.type, x, y))


def _function(name: str, x: Any) -> Tensor:
    node = _lift(x)
    wide = float_type(node.type)
    return Tensor(Op(name, wide, _as(node, wide)))


def compare(op: str, a: Any, b: Any) -> Tensor:
    x, y = _pair(a, b)
    if x.type == "bool" and op not in ("==", "!="):
        x, y = _as(x, "u8"), _as(y, "u8")
    return Tensor(Op(op, "bool", x, y))


# --- Functions --------------------------------------------------------------------------------------------------------------------------


def maximum(a: Any, b: Any) -> Tensor:
    """The greater of two elements; NaN if one is NaN."""
    return _extreme("max", a, b)


def minimum(a: Any, b: Any) -> Tensor:
    """The lesser of two elements; NaN if one is NaN."""
    return _extreme("min", a, b)


def _extreme(op: str, a: Any, b: Any) -> Tensor:
    x, y = _pair(a, b)
    if x.type == "bool":
        return Tensor(Op("||" if op == "max" else "&&", "bool", x, y))
    return Tensor(Op(op, x.type, x, y))


def where(condition: Any, a: Any, b: Any) -> Tensor:
    """a where the condition holds, b elsewhere.

    >>> import numpy as np, loopwright as lw
    >>> i, j = lw.symbols("i j")
    >>> lw.where(i >= j, lw.Tensor(np.ones((2, 2), "f4")).to(i, j), 0).numpy()
    array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    test = _lift(condition)
    x, y = _pair(a, b)
    return Tensor(Op("select", x.type, _as(test, "bool"), x, y))


def cast(x: Any, dtype: Any) -> Tensor:
    """Converts elements: `x.cast(dtype)`."""
    return Tensor(_lift(x)).cast(dtype)


def exp(x: Any) -> Tensor:
    """e to the power of each element."""
    return _function("exp", x)


def log(x: Any) -> Tensor:
    """The natural logarithm of each element."""
    return _function("log", x)


def sqrt(x: Any) -> Tensor:
    """The square root of each element."""
    return _function("sqrt", x)


def tanh(x: Any) -> Tensor:
    """The hyperbolic tangent of each element."""
    return _function("tanh", x)


def erf(x: Any) -> Tensor:
    """The error function of each element."""
    return _function("erf", x)
