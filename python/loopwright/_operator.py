"""The common part of operators of torch and JAX: the signature of a function, the shapes of its results, and the program of its gradient."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _native
from ._define import define
from ._types import Error

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MARKS = ("d_%s", "d%s", "grad_%s", "%s_grad")  # names for the gradient of a tensor


class Size:
    """A size as an expression of parameters, such as "H - KH + 1", which can be evaluated with numbers of any kind."""

    def __init__(self, text: str) -> None:
        self.names = [name for name in dict.fromkeys(NAME.findall(text)) if name not in ("min", "max")]
        self.code = compile(ast.parse(text.replace("/", "//"), mode="eval"), "<size>", "eval")

    def value(self, parameters: Dict[str, Any], least: Callable[..., Any], most: Callable[..., Any]) -> Any:
        return eval(self.code, {"__builtins__": {}, "min": least, "max": most}, parameters)

    def solve(self, size: Any, known: Dict[str, Any]) -> None:
        """Determines a parameter if it is the only unknown one and the size is linear in it."""
        unknown = [name for name in self.names if name not in known]
        if len(unknown) == 1:
            at = [self.value({**known, unknown[0]: n}, min, max) for n in (0, 1, 2)]
            step = at[1] - at[0]
            if step and at[2] - at[1] == step:
                known[unknown[0]] = (size - at[0]) // step


class Argument(NamedTuple):
    name: str
    type: Optional[str]  #: of the elements; None: an integer argument
    sizes: Tuple[Size, ...]


class Signature:
    """Arguments in the order of a call, and results."""

    def __init__(self, function: _native.Function) -> None:
        self.function, self.name = function, function.__name__
        tensors = {name: (type, tuple(map(Size, sizes))) for name, role, type, sizes in function.tensors if role == "input"}
        self.arguments = [Argument(name, *tensors.get(name, (None, ()))) for name in function.inputs]
        self.results = [Argument(name, type, tuple(map(Size, sizes))) for name, role, type, sizes in function.tensors if role != "input"]
        for name, role, _, _ in function.tensors:
            if role == "inout":
                raise Error("result '%s' of %s() depends on its old content: an operator returns new tensors" % (name, self.name))

    def shapes(self, given: Sequence[Any], least: Callable[..., Any] = min, most: Callable[..., Any] = max) -> List[Tuple[Any, ...]]:
        """The shapes of the results, from shapes of the arguments or values of integer arguments."""
        known: Dict[str, Any] = {}
        for argument, value in zip(self.arguments, given):
            if argument.type is None:
                known[argument.name] = value
            elif len(value) != len(argument.sizes):
                raise Error("argument '%s' of %s() should have %d dimensions, but has %d" % (argument.name, self.name, len(argument.sizes), len(value)))
        for _ in range(2):
            for argument, value in zip(self.arguments, given):
                for size, n in zip(argument.sizes, value if argument.type else ()):
                    size.solve(n, known)
        try:
            return [tuple(size.value(known, least, most) for size in result.sizes) for result in self.results]
        except NameError as error:
            raise Error("the arguments of %s() do not determine the shapes of its results: %s" % (self.name, error)) from error


class Gradient:
    """A backward program: the sources of its arguments, and the inputs whose gradients it returns."""

    def __init__(self, forward: Signature, text: str) -> None:
        self.signature = Signature(only_function(text))
        inputs = [a.name for a in forward.arguments]
        outputs = [r.name for r in forward.results]
        floats = [a.name for a in forward.arguments if a.type and "float" in a.type]
        self.sources = self._by_name(inputs, outputs) or self._by_position(inputs, outputs)
        names = [r.name for r in self.signature.results]
        of = {mark % name: name for name in floats for mark in MARKS}
        wrt = [of.get(name) for name in names]
        if None in wrt and len(names) != len(floats):
            raise Error("%s() should return the gradients of %s, by names such as d_%s" % (self.signature.name, ", ".join(floats), floats[0] if floats else "x"))
        self.of = floats if None in wrt else [str(name) for name in wrt]

    def _by_name(self, inputs: List[str], outputs: List[str]) -> Optional[List[Tuple[str, int]]]:
        known = {name: ("input", i) for i, name in enumerate(inputs)}
        known.update({mark % name: ("gradient", i) for i, name in enumerate(outputs) for mark in MARKS})
        known.update({name: ("output", i) for i, name in enumerate(outputs)})
        found = [known.get(a.name) for a in self.signature.arguments]
        return None if None in found else [f for f in found if f]

    def _by_position(self, inputs: List[str], outputs: List[str]) -> List[Tuple[str, int]]:
        if len(self.signature.arguments) != len(inputs) + len(outputs):
            raise Error("%s() should take the inputs %s and the gradients of %s, as d_%s" %
                        (self.signature.name, ", ".join(inputs), ", ".join(outputs), outputs[0] if outputs else "y"))
        return [("input", i) for i in range(len(inputs))] + [("gradient", i) for i in range(len(outputs))]

    @property
    def needs_outputs(self) -> bool:
        return any(kind == "output" for kind, _ in self.sources)

    def arguments(self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]) -> List[Any]:
        from_ = {"input": inputs, "output": outputs, "gradient": gradients}
        return [from_[kind][i] for kind, i in self.sources]


def only_function(text: str) -> _native.Function:
    """The function of a text. If there are several, the last one: it may call the others."""
    functions = list(define(text, name="<op>"))
    if not functions:
        raise Error("the text of an operator defines no function")
    return functions[-1]
