"""Programs as operators of torch: `loopwright.torch.op(text)`. They work in eager mode, under torch.compile, with vmap, and with autograd if a backward program is given."""

from __future__ import annotations

import importlib
import keyword
import re
from typing import Any, Dict, List, Optional, Tuple

from ._operator import Gradient, Signature, only_function
from ._types import Error

__all__ = ["Operator", "op"]

torch: Any = importlib.import_module("torch")  # imported without its types, which may not be installed
_registered: Dict[str, "Operator"] = {}


class Operator:
    """A program as an operator of torch; `.op` is the entry of `torch.ops.loopwright`."""

    def __init__(self, text: str, signature: Signature, backward: Optional[str]) -> None:
        self.text, self.backward, self.signature = text, backward, signature
        self.gradient = Gradient(signature, backward) if backward is not None else None
        name = _identifier(signature.name)
        self._defined = _define(name, signature)
        self.op = getattr(torch.ops.loopwright, name)
        self.__name__ = signature.name
        self.__doc__ = "torch.ops.loopwright.%s: %s" % (name, signature.function.signature)
        if self.gradient:
            self._register_gradient(self.gradient, name + "_backward")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = self._given(args, keywords)
        if self.gradient is None and torch.is_grad_enabled():
            for argument, value in zip(self.signature.arguments, given):
                if isinstance(value, torch.Tensor) and value.requires_grad:
                    raise Error("argument '%s' of %s() requires a gradient, and there is no backward program: pass its .detach(), or op(text, backward=...)" %
                                (argument.name, self.signature.name))
        return self.op(*given)

    def _given(self, args: Tuple[Any, ...], keywords: Dict[str, Any]) -> List[Any]:
        names = [a.name for a in self.signature.arguments]
        if len(args) > len(names) or any(k not in names[len(args):] for k in keywords) or len(args) + len(keywords) < len(names):
            raise TypeError("%s() takes %s" % (self.signature.name, ", ".join(names) or "no arguments"))
        given = list(args) + [keywords[name] for name in names[len(args):]]
        for i, argument in enumerate(self.signature.arguments):
            if argument.type and not argument.sizes and not isinstance(given[i], torch.Tensor):
                given[i] = torch.tensor(given[i], dtype=getattr(torch, argument.type))
        return given

    def _register_gradient(self, gradient: Gradient, name: str) -> None:
        _define(name, gradient.signature)
        backward_op = getattr(torch.ops.loopwright, name)
        names = [a.name for a in self.signature.arguments]

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            outputs = output if isinstance(output, tuple) else (output,)
            tensors = [x for x in inputs if isinstance(x, torch.Tensor)]
            ctx.others = [None if isinstance(x, torch.Tensor) else x for x in inputs]
            ctx.save_for_backward(*tensors, *(outputs if gradient.needs_outputs else ()))
            ctx.like = [(y.shape, y.dtype, y.device) for y in outputs]

        def backward(ctx: Any, *gradients: Any) -> Any:
            saved = list(ctx.saved_tensors)
            inputs = [saved.pop(0) if x is None else x for x in ctx.others]
            full = [torch.zeros(shape, dtype=dtype, device=device) if g is None else g for g, (shape, dtype, device) in zip(gradients, ctx.like)]
            made = backward_op(*gradient.arguments(inputs, saved, full))
            by_name = dict(zip(gradient.of, made if isinstance(made, tuple) else (made,)))
            each = tuple(by_name.get(name) for name in names)
            return each if len(each) > 1 else each[0]

        self._defined.register_autograd(backward, setup_context=setup)

    def __repr__(self) -> str:
        return "<loopwright operator %s>" % self.signature.function.signature

    def __reduce__(self) -> Any:
        return _rebuild, (self.text, self.backward)


def _identifier(name: str) -> str:
    clean = re.sub(r"\W", "_", name)
    return "_" + clean if clean[0].isdigit() else clean + "_" if keyword.iskeyword(clean) else clean


def _define(name: str, signature: Signature) -> Any:
    """Registers the operator with its kernel for the CPU and for CUDA, for tensors without data, and for vmap."""
    if not hasattr(torch.library, "custom_op"):
        raise Error("operators of torch need torch 2.5 or newer (torch.library.custom_op); this is torch %s" % torch.__version__)
    arguments = ", ".join("%s %s" % ("Tensor" if a.type else "int", _identifier(a.name)) for a in signature.arguments)
    results = ", ".join("Tensor" for _ in signature.results)
    function, single = signature.function, len(signature.results) == 1
    schema = "(%s) -> %s" % (arguments, results if single else "(%s)" % results)

    def run(*args: Any) -> Any:
        made = function(*(a.detach() if isinstance(a, torch.Tensor) else a for a in args))
        each = tuple(y if isinstance(y, torch.Tensor) else torch.from_numpy(y) for y in (made if isinstance(made, tuple) else (made,)))
        return each[0] if single else each

    def fake(*args: Any) -> Any:
        shapes = signature.shapes([tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in args], torch.sym_min, torch.sym_max)
        devices = [a.device for a in args if isinstance(a, torch.Tensor)]
        device = next((d for d in devices if d.type == "cuda"), devices[0] if devices else None)  # numbers may be on the CPU
        each = tuple(torch.empty(shape, dtype=getattr(torch, str(r.type)), device=device) for shape, r in zip(shapes, signature.results))
        return each[0] if single else each

    def batched(info: Any, in_dims: Any, *args: Any) -> Any:
        """One call for each element of the batch."""
        each = [getattr(torch.ops.loopwright, name)(*(a if d is None else a.select(d, i) for a, d in zip(args, in_dims))) for i in range(info.batch_size)]
        if single:
            return torch.stack(each), 0
        return tuple(torch.stack(ys) for ys in zip(*each)), (0,) * len(signature.results)

    defined = torch.library.custom_op("loopwright::" + name, run, mutates_args=(), device_types=("cpu", "cuda"), schema=schema)
    defined.register_fake(fake)
    defined.register_vmap(batched)
    return defined


def _rebuild(text: str, backward: Optional[str]) -> Operator:
    return op(text, backward=backward)


def op(text: str, *, backward: Optional[str] = None) -> Operator:
    """Registers a program as an operator of torch, with the name of its function (of the last, if the text has several), and returns it as a callable.

    `backward` is the text of a program for the gradient. It takes inputs of the program by their names, the gradients of its results as d_NAME (and
    the results themselves by their names, if it needs them), and returns the gradients of inputs as d_NAME. Alternatively it takes its arguments by position, all inputs and then the
    gradients of all results, and returns the gradients of all float inputs.

        square = op("def square(float(N) x) -> (y) { y(i) = x(i) * x(i) }",
                    backward="def back(float(N) x, float(N) d_y) -> (d_x) { d_x(i) = 2 * x(i) * d_y(i) }")
        square(x).sum().backward()
    """
    signature = Signature(only_function(text))
    known = _registered.get(signature.name)
    if known is not None:
        if (known.text, known.backward) != (text, backward):
            raise Error("there is an operator '%s' of another text already: choose another name" % signature.name)
        return known
    _registered[signature.name] = made = Operator(text, signature, backward)
    return made
