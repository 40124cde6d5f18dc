"""Makes the functions of a text callable."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from . import _native
from ._types import Error

LANGUAGES: Dict[str, int] = {"tc": 1, "program": 2, "graph": 3, "stripe": 4, "teml": 5}


class Definitions:
    """The functions of a text, each an attribute; use `getattr(T, "2LUT")` if a name is not an identifier.

    >>> T = define("def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }")
    >>> T
    <loopwright definitions: mv(f32(M, K) A, f32(K) x) -> (f32(M) C)>
    >>> [f.__name__ for f in T]
    ['mv']
    """

    def __init__(self, functions: List[_native.Function]) -> None:
        self.__dict__.update((f.__name__, f) for f in functions)

    def __getattr__(self, name: str) -> _native.Function:
        raise AttributeError("no function '%s' is defined; there is %s" % (name, ", ".join(self.__dict__) or "none"))

    def __contains__(self, item: object) -> bool:
        return any(item is f or item == f.__name__ for f in self)

    def __iter__(self) -> Iterator[_native.Function]:
        return iter(self.__dict__.values())

    def __len__(self) -> int:
        return len(self.__dict__)

    def __repr__(self) -> str:
        return "<loopwright definitions: %s>" % "; ".join(f.signature for f in self)

    def __reduce__(self) -> Any:
        return Definitions, (list(self),)


def _parse(text: str, name: str, language: str, parameters: Optional[Mapping[str, int]] = None, path: bool = True) -> List[_native.Function]:
    if not isinstance(text, str):
        raise TypeError("the text of a program should be a str, not %s" % type(text).__name__)
    if language not in LANGUAGES:
        raise ValueError("language is %r; it can be %s" % (language, ", ".join(LANGUAGES)))
    if language != "teml" and (parameters or not path):
        raise ValueError("parameters and path are for language='teml', not %r" % language)
    return _native.parse(text, name, LANGUAGES[language], 3, dict(parameters or {}), path)  # level 3: warnings show the line of the caller's caller


def define(text: str, *, language: str = "tc", name: str = "<define>", parameters: Optional[Mapping[str, int]] = None, path: bool = True) -> Definitions:
    """The functions of a text, ready to be called.

    `language` is "tc" (the comprehension language), "program" (Program text), "graph", "stripe" or "teml"; `name` appears in error messages.
    All errors of the text are raised here, as one `Error`. For a TeML program, `parameters` sets the parameters that it declares (`param`);
    with `path=False` its transformations are ignored: the compiler chooses the loops, and schedules apply.

    >>> import numpy as np
    >>> T = define('''
    ... def matmul(float(M,K) A, float(K,N) B) -> (C) {
    ...     C(m,n) +=! A(m,k) * B(k,n)
    ... }''')
    >>> T.matmul(np.ones((2, 3), "f4"), np.ones((3, 2), "f4"))
    array([[3., 3.],
           [3., 3.]], dtype=float32)

    Each `codegen` of a TeML program is a function:

    >>> L = define('''
    ... param N = 4
    ... x = tensor([N, N])
    ... y = tensor([N, N])
    ... y = transpose(x, [[1, 2]])
    ... plain = build(y)
    ... tiled = tile(plain, 2)
    ... codegen(plain)
    ... codegen(tiled)
    ... ''', language="teml", parameters={"N": 2})
    >>> L.tiled(np.array([[1., 2.], [3., 4.]]))
    array([[1., 3.],
           [2., 4.]])
    """
    return Definitions(_parse(text, name, language, parameters, path))


def tc(function: Callable[..., Any]) -> _native.Function:
    """A decorator: the docstring of the function is a text of the comprehension language, and its definition of the same name replaces the function.

    >>> import numpy as np
    >>> @tc
    ... def scale(x, a):
    ...     '''
    ...     def scale(float(N) x, float a) -> (y) {
    ...         y(i) = a * x(i)
    ...     }
    ...     '''
    >>> scale(np.arange(3, dtype="f4"), 2)
    array([0., 2., 4.], dtype=float32)
    """
    text = inspect.getdoc(function)
    if not text:
        raise Error("'%s' has no docstring to be its program" % function.__name__)
    made: _native.Function = getattr(Definitions(_parse(text, "<%s>" % function.__name__, "tc")), function.__name__)
    return made
