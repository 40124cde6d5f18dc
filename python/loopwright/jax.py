"""Programs as operators of JAX, through XLA's foreign-function interface: `loopwright.jax.op(text)`. They work under jit, vmap, and grad if a backward program is given."""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _native
from ._nodes import NAMES, numpy_type
from ._operator import Gradient, Signature, only_function

__all__ = ["Operator", "op"]

jax: Any = importlib.import_module("jax")  # imported without its types, which may not be installed

TARGET = "loopwright_run"
_kernels: Dict[Tuple[Any, ...], _native.Kernel] = {}  # compiled XLA programs refer to them by address, so they are kept
_ready = False


def _register() -> None:
    global _ready
    if not _ready:
        jax.ffi.register_ffi_target(TARGET, _native.xla_handler(), platform="cpu")
        _ready = True


def _dtype(name: Optional[str]) -> Any:
    return numpy_type(NAMES[str(name)])


class Operator:
    """A program as a function of JAX arrays; integer arguments are Python integers."""

    def __init__(self, text: str, backward: Optional[str]) -> None:
        self.text, self.backward = text, backward
        self.signature = Signature(only_function(text))
        self.gradient = Gradient(self.signature, backward) if backward is not None else None
        self.__name__ = self.signature.name
        self.__doc__ = self.signature.function.signature
        _register()

    def __call__(self, *args: Any) -> Any:
        given = self._given(args)
        numbers = tuple(None if a.type else x for a, x in zip(self.signature.arguments, given))
        tensors = [x for a, x in zip(self.signature.arguments, given) if a.type]
        if self.gradient is None:
            return _run(self.signature, _merged(numbers, tensors))
        return self._differentiable(self.gradient, numbers)(*tensors)

    def _given(self, args: Tuple[Any, ...]) -> List[Any]:
        if len(args) != len(self.signature.arguments):
            raise TypeError("%s() takes %s" % (self.signature.name, ", ".join(a.name for a in self.signature.arguments)))
        return [int(x) if a.type is None else x if hasattr(x, "shape") else jax.numpy.asarray(x, _dtype(a.type)) for a, x in zip(self.signature.arguments, args)]

    def _differentiable(self, gradient: Gradient, numbers: Tuple[Any, ...]) -> Any:
        def run(*tensors: Any) -> Any:
            return _run(self.signature, _merged(numbers, tensors))

        call = jax.custom_vjp(run)

        def forward(*tensors: Any) -> Any:
            made = call(*tensors)
            return made, (tensors, made if gradient.needs_outputs else None)

        def backward(saved: Any, gradients: Any) -> Any:
            tensors, made = saved
            outputs = made if isinstance(made, tuple) else (made,)
            incoming = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
            found = _run(gradient.signature, gradient.arguments(_merged(numbers, tensors), outputs, incoming))
            by_name = dict(zip(gradient.of, found if isinstance(found, tuple) else (found,)))
            names = [a.name for a in self.signature.arguments if a.type]
            return tuple(by_name[name] if name in by_name else _zero(x) for name, x in zip(names, tensors))

        call.defvjp(forward, backward)
        return call

    def __repr__(self) -> str:
        return "<loopwright operator %s>" % self.signature.function.signature

    def __reduce__(self) -> Any:
        return Operator, (self.text, self.backward)


def _zero(x: Any) -> Any:
    """The zero gradient of an input without one."""
    return jax.numpy.zeros_like(x) if jax.numpy.issubdtype(x.dtype, jax.numpy.floating) else np.zeros(x.shape, jax.dtypes.float0)


def _merged(numbers: Tuple[Any, ...], tensors: Any) -> List[Any]:
    rest = iter(tensors)
    return [next(rest) if n is None else n for n in numbers]


def _kernel(signature: Signature, given: List[Any]) -> _native.Kernel:
    key = (signature.function,) + tuple((x.shape, str(x.dtype)) if hasattr(x, "shape") else x for x in given)
    if key not in _kernels:
        _kernels[key] = signature.function.compile(*(np.empty(x.shape, x.dtype) if hasattr(x, "shape") else x for x in given))
    return _kernels[key]


def _run(signature: Signature, given: List[Any]) -> Any:
    kernel = _kernel(signature, given)
    shapes = signature.shapes([tuple(x.shape) if hasattr(x, "shape") else x for x in given])
    results = tuple(jax.ShapeDtypeStruct(shape, _dtype(r.type)) for shape, r in zip(shapes, signature.results))
    call = jax.ffi.ffi_call(TARGET, results if len(results) > 1 else results[0], vmap_method="sequential")
    made = call(*(x for x in given if hasattr(x, "shape")), kernel=np.int64(id(kernel)))
    return tuple(made) if len(results) > 1 else made


def op(text: str, *, backward: Optional[str] = None) -> Operator:
    """Makes a function of JAX arrays from the last function of the text. `backward` is as in loopwright.torch.op.

        square = op("def square(float(N) x) -> (y) { y(i) = x(i) * x(i) }",
                    backward="def back(float(N) x, float(N) d_y) -> (d_x) { d_x(i) = 2 * x(i) * d_y(i) }")
        jax.jit(jax.grad(lambda x: square(x).sum()))(x)
    """
    return Operator(text, backward)
