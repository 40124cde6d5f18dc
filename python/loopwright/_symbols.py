"""Symbols, the names of dimensions, and affine expressions of them, the subscripts of lazy tensors."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Dict, List

from ._types import Error

if TYPE_CHECKING:
    from ._lazy import Tensor


class Expr:
    """An affine expression: a sum of symbols times integers, and an integer.

    >>> i, j = symbols("i j")
    >>> 2*i + j - 1
    2*i + j - 1
    >>> (2*i + j - 1) - 2*i
    j - 1
    """

    __slots__ = ("terms", "constant")
    terms: Dict["Symbol", int]
    constant: int

    def __init__(self, terms: Dict["Symbol", int], constant: int = 0) -> None:
        self.terms = {symbol: factor for symbol, factor in terms.items() if factor}
        self.constant = constant

    def _plus(self, other: Any, sign: int) -> Any:
        other = affine(other)
        if other is None:
            return NotImplemented
        terms = dict(self.terms)
        for symbol, factor in other.terms.items():
            terms[symbol] = terms.get(symbol, 0) + sign * factor
        return Expr(terms, self.constant + sign * other.constant)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __radd__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __mul__(self, other: Any) -> Any:
        factor = affine(other)
        if factor is None:
            return NotImplemented
        if factor.terms and self.terms:
            raise Error("'(%s)*(%s)' is not affine: subscripts are sums of symbols times integers" % (self, factor))
        if factor.terms:
            return factor * self.constant
        return Expr({symbol: n * factor.constant for symbol, n in self.terms.items()}, self.constant * factor.constant)

    __rmul__ = __mul__

    def __neg__(self) -> "Expr":
        return Expr({symbol: -n for symbol, n in self.terms.items()}, -self.constant)

    # Comparisons of indices give bool tensors, for masks: lw.where(i >= j, x, 0).
    def __lt__(self, other: Any) -> "Tensor":
        return _compare("<", self, other)

    def __le__(self, other: Any) -> "Tensor":
        return _compare("<=", self, other)

    def __gt__(self, other: Any) -> "Tensor":
        return _compare(">", self, other)

    def __ge__(self, other: Any) -> "Tensor":
        return _compare(">=", self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expr):
            return NotImplemented
        return self.terms == other.terms and self.constant == other.constant

    def __hash__(self) -> int:
        if self.constant == 0 and list(self.terms.values()) == [1]:
            return hash(next(iter(self.terms)))  # equal to the symbol
        return hash((frozenset(self.terms.items()), self.constant))

    def __bool__(self) -> bool:
        raise TypeError("the value of '%s' is only known inside a kernel" % self)

    def __repr__(self) -> str:
        return self.text({symbol: symbol.name for symbol in self.terms})

    def text(self, names: Dict["Symbol", str]) -> str:
        """The expression as text, with the given texts in place of its symbols."""
        text = ""
        for symbol, n in self.terms.items():
            sign = (" - " if n < 0 else " + ") if text else ("-" if n < 0 else "")
            text += sign + ("" if abs(n) == 1 else "%d*" % abs(n)) + names[symbol]
        if not text:
            return str(self.constant)
        return text + (" %s %d" % ("-" if self.constant < 0 else "+", abs(self.constant)) if self.constant else "")


class Symbol(Expr):
    """The name of a dimension. Symbols of the same name are equal."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        self.name = name
        self.terms = {self: 1}
        self.constant = 0

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Symbol) else Expr.__eq__(self, other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return Symbol, (self.name,)

    def __repr__(self) -> str:
        return self.name


def _compare(op: str, a: Any, b: Any) -> "Tensor":
    from ._lazy import compare

    return compare(op, a, b)


def affine(value: Any) -> Any:
    """An expression or an integer as an Expr; None if it is neither."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return None
    try:
        return Expr({}, operator.index(value))
    except TypeError:
        return None


def symbols(names: str) -> Any:  # a type checker does not count the names
    """Makes symbols from their names: a tuple of several, or a single symbol.

    >>> m, n = symbols("m n")
    >>> symbols("m") == m
    True
    """
    each: List[str] = names.replace(",", " ").split()
    if not each:
        raise Error("symbols() needs the names of symbols, such as \"m n k\"")
    for name in each:
        if not name.isidentifier():
            raise Error("'%s' cannot name a symbol: it should be an identifier" % name)
    made = tuple(Symbol(name) for name in each)
    return made[0] if len(made) == 1 else made
