"""einsum: NumPy's notation, in the cheapest order of contraction."""

from __future__ import annotations

import functools
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._nodes import FULL, common_type, device_name, type_name
from ._types import Error

Shape = Tuple[int, ...]
Path = List[Tuple[int, ...]]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order in which NumPy sorts labels
LETTERS += "".join(map(chr, range(0xC0, 0xC0 + 65)))  # further labels, as in opt_einsum
TYPES: Dict[str, Tuple[int, int]] = {
    "bool": (6, 8), "int8": (0, 8), "int16": (0, 16), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8), "uint16": (1, 16),
    "uint32": (1, 32), "uint64": (1, 64), "float16": (2, 16), "float32": (2, 32), "float64": (2, 64), "bfloat16": (4, 16)}


CASTING = ("no", "equiv", "safe", "same_kind", "unsafe")


class PathInfo(NamedTuple):
    """The cost of an einsum: operations with and without the chosen order, and the sizes of intermediate results."""

    subscripts: str
    path: Path  #: per step, the positions of its operands among the remaining ones; its result is appended to these
    naive_cost: float  #: operations of one nest over all labels
    opt_cost: float  #: operations in this order
    largest_intermediate: float  #: elements; 0 if there is no intermediate result
    sizes: Tuple[float, ...]  #: elements of the result of each step

    @property
    def speedup(self) -> float:
        return self.naive_cost / self.opt_cost if self.opt_cost else 1.0

    def __repr__(self) -> str:
        lines = ["  subscripts            %s" % self.subscripts, "  one nest              %.3e operations" % self.naive_cost,
                 "  in this order         %.3e operations, %.4g times fewer" % (self.opt_cost, self.speedup),
                 "  largest intermediate  %.3e elements" % self.largest_intermediate]
        lines += ["  step %-16d %s gives %.3e elements" % (i, step, size) for i, (step, size) in enumerate(zip(self.path, self.sizes))]
        return "\n".join(lines)


class _Plan(NamedTuple):
    function: _native.Function
    info: PathInfo


@functools.lru_cache(maxsize=1024)
def _plan(subscripts: str, shapes: Tuple[Shape, ...], types: Tuple[Tuple[int, int], ...], result: Tuple[int, int], limit: float,
          as_written: bool, path: Optional[Tuple[Tuple[int, ...], ...]]) -> _Plan:
    flat = None if path is None else tuple(n for step in path for n in (len(step),) + step)
    function, steps, flops, one_nest, largest = _native.einsum(subscripts, shapes, types, result, limit, as_written, flat)
    return _Plan(function, PathInfo(subscripts, [step for step, _ in steps], one_nest, flops, largest, tuple(size for _, size in steps)))


def _label(symbols: Dict[Any, str], sublist: Sequence[Any]) -> str:
    return "".join("..." if label is Ellipsis else symbols[label] for label in sublist)


def _interleaved(operands: Tuple[Any, ...]) -> Tuple[str, List[Any]]:
    """Converts einsum(op0, [0, 1], op1, [1, 2], [0, 2]) to the form with a subscripts string."""
    arrays, lists = list(operands[0:-1:2]), list(operands[1::2])
    last = list(operands[-1]) if len(operands) % 2 else None
    used = {label for sublist in lists + [last or []] for label in sublist if label is not Ellipsis}
    if not all(isinstance(label, (int, np.integer)) and 0 <= label < len(LETTERS) for label in used):
        raise Error("the labels of an einsum are integers from 0 to %d, and Ellipsis" % (len(LETTERS) - 1))
    symbols = {label: LETTERS[label] for label in used}
    text = ",".join(_label(symbols, sublist) for sublist in lists)
    return text if last is None else "%s->%s" % (text, _label(symbols, last)), arrays


def _given(operands: Tuple[Any, ...]) -> Tuple[str, List[Any]]:
    if not operands:
        raise Error("an einsum needs subscripts and operands")
    if isinstance(operands[0], bytes):
        return operands[0].decode(), list(operands[1:])
    if isinstance(operands[0], str):
        return operands[0], list(operands[1:])
    return _interleaved(operands)


def _array(operand: Any) -> Any:
    """The operand as an array of this machine's byte order."""
    try:
        array = np.asarray(operand)
    except TypeError as error:
        if str(getattr(operand, "dtype", "")) != "torch.bfloat16":
            raise
        raise Error("NumPy has no bfloat16: an einsum takes such tensors of torch where all operands are of that type, without dtype, out and order") from error
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _beyond_numpy(given: Sequence[Any]) -> bool:
    """Are there arrays on a GPU, or are all bfloat16 tensors of torch? NumPy cannot represent these; they are passed to the library by DLPack."""
    if any(not isinstance(a, np.ndarray) and hasattr(a, "shape") and device_name(a) for a in given):
        return True
    torch = sys.modules.get("torch")
    return torch is not None and bool(given) and all(isinstance(a, torch.Tensor) and a.dtype == torch.bfloat16 for a in given)


@functools.lru_cache(maxsize=256)
def _type(dtype: Any) -> Tuple[int, int]:
    if dtype.name not in TYPES:
        raise Error("an einsum does not compute with elements of type %s" % dtype.name)
    return TYPES[dtype.name]


def _order(optimize: Any) -> Tuple[bool, float, Optional[Tuple[Tuple[int, ...], ...]]]:
    """NumPy's keyword `optimize` as (as written, memory limit, path)."""
    if optimize is None or optimize is False:
        return True, 0.0, None
    if optimize is True or optimize in ("greedy", "optimal", "auto"):
        return False, 0.0, None
    if isinstance(optimize, (tuple, list)):
        if len(optimize) == 2 and isinstance(optimize[0], str) and isinstance(optimize[1], (int, float)):
            return False, float(optimize[1]), None
        steps = optimize[1:] if optimize and optimize[0] == "einsum_path" else optimize
        return False, 0.0, tuple(tuple(int(i) for i in step) for step in steps)
    raise Error("optimize is %r; it can be True, False, 'greedy', 'optimal', or a path" % (optimize,))


def _prepare(arrays: List[Any], subscripts: str, types: Tuple[Tuple[int, int], ...], result: Tuple[int, int], optimize: Any,
             memory_limit: Optional[float]) -> _Plan:
    as_written, limit, path = _order(optimize)
    if memory_limit is not None:
        limit = float(memory_limit)
    return _plan(subscripts, tuple(tuple(a.shape) for a in arrays), types, result, limit, as_written, path)


def _as_given(given: List[Any], subscripts: str, optimize: Any, memory_limit: Optional[float]) -> _Plan:
    names = [type_name(a.dtype) for a in given]
    types = tuple(TYPES[FULL[name]] for name in names)
    return _prepare(given, subscripts, types, TYPES[FULL[functools.reduce(common_type, names)]], optimize, memory_limit)


def _of_arrays(arrays: List[Any], subscripts: str, result: Any, optimize: Any, memory_limit: Optional[float]) -> _Plan:
    return _prepare(arrays, subscripts, tuple(_type(a.dtype) for a in arrays), _type(result), optimize, memory_limit)


def _result_type(arrays: List[Any], dtype: Any, casting: str) -> Any:
    if casting not in CASTING:
        raise Error("casting is %r; it can be %s" % (casting, ", ".join(map(repr, CASTING))))
    dtype = np.result_type(*arrays) if dtype is None else np.dtype(dtype)
    for i, array in enumerate(arrays):
        if not np.can_cast(array, dtype, casting=casting):  # type: ignore[arg-type]
            raise TypeError("operand %d of type %s cannot be cast to %s according to the rule '%s'" % (i, array.dtype, dtype, casting))
    return dtype


# Functions by subscripts, types and shapes, so that a call without keywords needs only a lookup. Arrays without dimensions are excluded:
# in NumPy 1 their values affect the type of the result.
_quick: Dict[Tuple[Any, ...], _native.Function] = {}


def _key(operands: Sequence[Any]) -> Tuple[Any, ...]:
    return (operands[0],) + tuple([(a.dtype, a.shape) if type(a) is np.ndarray else None for a in operands[1:]])


def _remember(subscripts: str, arrays: List[Any], function: _native.Function) -> None:
    if len(_quick) >= 1024:
        _quick.clear()
    _quick[_key([subscripts, *arrays])] = function


def einsum(*operands: Any, out: Any = None, dtype: Any = None, order: str = "K", casting: str = "safe",
           optimize: Union[bool, str, Sequence[Any]] = True) -> Any:
    """NumPy's einsum, compiled, in the cheapest order of contraction.

    >>> import numpy as np
    >>> a, b, c = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2))
    >>> einsum("ij,jk,kl->il", a, b, c)
    array([[12., 12.],
           [12., 12.]])
    >>> einsum(a, [0, 1], [1, 0]).shape
    (3, 2)

    Operands and keywords are those of `numpy.einsum`, and so is the type of the result; it is always a new array, or `out`. `optimize=False` computes one nest over
    all labels; a path from `einsum_path` is followed.
    """
    if out is None and dtype is None and optimize is True and order == "K" and casting == "safe" and operands and type(operands[0]) is str:
        known = _quick.get(_key(operands))
        if known is not None:
            return known(*operands[1:])
    subscripts, given = _given(operands)
    order = order.upper()
    if order not in ("C", "F", "A", "K"):
        raise Error("order is %r; it can be 'C', 'F', 'A' or 'K'" % (order,))
    if _beyond_numpy(given):
        if dtype is not None or order not in ("C", "K") or casting not in CASTING:
            raise Error("arrays of bfloat16, and arrays on a GPU, are computed in their common type and in C order: leave out dtype and order")
        return _as_given(given, subscripts, optimize, None).function(*given, out=out)
    if out is not None and not isinstance(out, np.ndarray):
        raise TypeError("out should be an array of NumPy, not %r" % (out,))
    arrays = [_array(operand) for operand in given]
    if not arrays:
        raise Error("an einsum needs at least one operand")
    result = _result_type(arrays, dtype, casting)
    function = _of_arrays(arrays, subscripts, result, optimize, None).function
    if out is None and order in ("C", "K"):
        if dtype is None and optimize is True and casting == "safe" and all(type(a) is np.ndarray and a.ndim and a.dtype.isnative for a in given):
            _remember(subscripts, given, function)
        made = function(*arrays)
    elif out is None:
        made = function(*arrays)
        fortran = order == "F" or all(a.flags.f_contiguous and not a.flags.c_contiguous for a in arrays)
        made = np.asfortranarray(made) if fortran and made.ndim else made
    elif type(out) is np.ndarray and out.dtype == result and not any(np.may_share_memory(out, a) for a in arrays):
        return function(*arrays, out=out)
    else:
        made = function(*arrays)
        if out.shape != made.shape:
            raise Error("out has the shape %s, and the result %s" % (out.shape, made.shape))
        np.copyto(out, made, casting=casting)  # type: ignore[arg-type]
        return out
    torch = sys.modules.get("torch")
    return torch.from_numpy(made) if torch is not None and isinstance(given[0], torch.Tensor) else made


def einsum_path(*operands: Any, optimize: Union[bool, str, Sequence[Any]] = True, memory_limit: Optional[float] = None) -> Tuple[Path, PathInfo]:
    """The order in which `einsum` contracts these operands, and its cost. `memory_limit` is the largest number of elements of an intermediate result.

    >>> import numpy as np
    >>> path, info = einsum_path("ij,jk,kl->il", np.ones((2, 50)), np.ones((50, 60)), np.ones((60, 3)))
    >>> path
    [(0, 1), (0, 1)]
    >>> round(info.speedup, 1)
    4.2
    """
    subscripts, given = _given(operands)
    if _beyond_numpy(given):
        info = _as_given(given, subscripts, optimize, memory_limit).info
    else:
        arrays = [_array(operand) for operand in given]
        info = _of_arrays(arrays, subscripts, np.result_type(*arrays), optimize, memory_limit).info
    return info.path, info
