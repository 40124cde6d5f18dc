"""Layers of neural networks as lazy tensors: each call builds an expression, and a whole network is one kernel.

Dimensions are given by their symbols, so there are no conventions about their order.

    n, c, h, w, o, r, s = lw.symbols("n c h w o r s")
    y = lw.nn.relu(lw.nn.conv(x.to(n, c, h, w), weights.to(o, c, r, s), {h: r, w: s}, padding=1))
    y = lw.nn.max_pool(y, {h: 2, w: 2})
"""

from __future__ import annotations

import math
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Tuple, Union

from ._lazy import Tensor, erf, exp, log, maximum, minimum, tanh, where
from ._symbols import Symbol
from ._types import Error

Amount = Union[int, Sequence[int], Mapping[Symbol, int]]

# --- Activations ------------------------------------------------------------------------------------------------------------------------


def relu(x: Tensor) -> Tensor:
    """max(x, 0)"""
    return maximum(x, 0)


def relu6(x: Tensor) -> Tensor:
    """x between 0 and 6"""
    return minimum(maximum(x, 0), 6)


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    return where(x > 0, x, x * slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return where(x > 0, x, (exp(minimum(x, 0.0)) - 1) * alpha)


def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


def hardsigmoid(x: Tensor) -> Tensor:
    return relu6(x + 3) / 6


def silu(x: Tensor) -> Tensor:
    """x*sigmoid(x), also called swish"""
    return x * x.sigmoid()


def hardswish(x: Tensor) -> Tensor:
    return x * relu6(x + 3) / 6


def gelu(x: Tensor) -> Tensor:
    """x*P(X <= x) for a normal X, by erf."""
    return x * 0.5 * (erf(x * math.sqrt(0.5)) + 1)


def gelu_tanh(x: Tensor) -> Tensor:
    """The approximation of gelu by tanh."""
    return x * 0.5 * (tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), without overflow"""
    return maximum(x, 0.0) + log(exp(-x.abs()) + 1)


def mish(x: Tensor) -> Tensor:
    return x * tanh(softplus(x))


# --- Linear and convolution -------------------------------------------------------------------------------------------------------------


def linear(x: Tensor, w: Tensor, b: Optional[Tensor] = None) -> Tensor:
    """Sums x*w over the symbols that they share; then adds b.

    >>> import numpy as np, loopwright as lw
    >>> b, i, o = lw.symbols("b i o")
    >>> x, w = lw.Tensor(np.ones((2, 3), "f4")).to(b, i), lw.Tensor(np.ones((4, 3), "f4")).to(o, i)
    >>> lw.nn.linear(x, w).numpy().shape
    (2, 4)
    """
    shared = [d for d in x.symbols if d in w.symbols]
    if not shared:
        raise Error("x has the dimensions %s and the weights %s: linear() sums over those that they share" % (x.symbols, w.symbols))
    y = (x * w).sum(*shared)
    return y if b is None else y + b


def _each(amount: Amount, along: Sequence[Symbol], name: str) -> Dict[Symbol, int]:
    """One number for every dimension, from a number for all, a sequence in order, or a mapping."""
    if isinstance(amount, Mapping):
        unknown = [str(s) for s in amount if s not in along]
        if unknown:
            raise Error("%s is given for %s, which is no dimension of the window" % (name, ", ".join(unknown)))
        least = 0 if name == "padding" else 1
        return {s: amount.get(s, least) for s in along}
    if isinstance(amount, int):
        return {s: amount for s in along}
    if len(amount) != len(along):
        raise Error("%s has %d numbers for %d dimensions" % (name, len(amount), len(along)))
    return dict(zip(along, amount))


def _windows(x: Tensor, taps: Mapping[Symbol, Symbol], stride: Amount, dilation: Amount, padding: Amount, value: float) -> Tensor:
    """x, padded, with an additional dimension of taps for each dimension of the window."""
    along = list(taps)
    steps, gaps, pads = _each(stride, along, "stride"), _each(dilation, along, "dilation"), _each(padding, along, "padding")
    for d in along:
        if pads[d]:
            x = x.pad(d, pads[d], value=value)
    return x[tuple(steps[d] * d + gaps[d] * taps[d] if d in taps else d for d in x.symbols)]


def _replaced(dims: Iterable[Symbol], old: Optional[Symbol], new: Sequence[Symbol]) -> Tuple[Symbol, ...]:
    made = [s for d in dims for s in (new if d == old else (d,))]
    return tuple(made) if old is not None else tuple(made) + tuple(new)


def conv(x: Tensor, weights: Tensor, window: Mapping[Symbol, Symbol], bias: Optional[Tensor] = None, *, stride: Amount = 1, dilation: Amount = 1,
         padding: Amount = 0, groups: int = 1, keep: Sequence[Symbol] = ()) -> Tensor:
    """A convolution (as in machine learning: without mirroring the weights), in any number of dimensions.

    `window` maps each dimension of x that the window moves along to the dimension of its taps in the weights: {h: r, w: s}. Other symbols that x and the
    weights share, usually the channels, are summed over, except those in `keep`: weights.to(c, r, s) with keep=[c] is a depthwise convolution. With
    `groups`, x has `groups` times as many channels as the weights, and the channels of the result are computed from those of their group. The result has
    the dimensions of x, with the channels of the weights in place of those of x. Stride, dilation and padding are numbers, or one per dimension of
    the window.

    >>> import numpy as np, loopwright as lw
    >>> c, h, w, o, r, s = lw.symbols("c h w o r s")
    >>> x = lw.Tensor(np.ones((3, 8, 8), "f4")).to(c, h, w)
    >>> weights = lw.Tensor(np.ones((4, 3, 3, 3), "f4")).to(o, c, r, s)
    >>> lw.nn.conv(x, weights, {h: r, w: s}, stride=2, padding=1)
    <lazy tensor f32(o, h, w)>
    """
    taps = list(window.values())
    for d, tap in window.items():
        if d not in x.symbols or tap not in weights.symbols:
            raise Error("the window maps '%s' to '%s': a dimension of x to one of the weights, which have %s and %s" % (d, tap, x.symbols, weights.symbols))
    over = [d for d in weights.symbols if d in x.symbols and d not in keep and d not in window]
    new = [d for d in weights.symbols if d not in taps and d not in over and d not in keep]
    channel = over[0] if len(over) == 1 else None
    dims = _replaced(x.symbols, channel, new) if channel is not None or not over else None
    if groups > 1:
        return _grouped(x, weights, window, bias, groups, channel, new, dict(stride=stride, dilation=dilation, padding=padding))
    y = (_windows(x, window, stride, dilation, padding, 0) * weights).sum(*over, *taps)
    y = y.transpose(*(dims or [d for d in x.symbols if d not in over] + new))
    return y if bias is None else y + bias


def _grouped(x: Tensor, weights: Tensor, window: Mapping[Symbol, Symbol], bias: Optional[Tensor], groups: int, channel: Optional[Symbol],
             new: Sequence[Symbol], options: Dict[str, Any]) -> Tensor:
    if channel is None or len(new) != 1:
        raise Error("a grouped convolution sums over one dimension of channels and has one of new channels")
    group, out = Symbol("group"), new[0]
    inputs, outputs = (dict(zip(t.symbols, t.shape)) for t in (x, weights))
    if inputs[channel] != groups * outputs[channel] or outputs[out] % groups:
        raise Error("%d groups do not divide %d channels into groups of %d, or %d new channels" % (groups, inputs[channel], outputs[channel], outputs[out]))
    few, many = outputs[channel], outputs[out] // groups
    x = x.to(*_replaced(x.symbols, channel, (group, channel)), constraints=[(channel, few * group + channel)]).set_size(channel, few)
    weights = weights.to(*_replaced(weights.symbols, out, (group, out)), constraints=[(out, many * group + out)]).set_size(out, many)
    y = conv(x, weights, window, keep=(group,), **options)
    dims = [d for d in y.symbols if d not in (group, out)]
    y = y.flatten(group, out)
    y = y.to(*[out if d not in dims else d for d in y.symbols])
    return y if bias is None else y + bias


# --- Pools ------------------------------------------------------------------------------------------------------------------------------


def _pool(x: Tensor, window: Mapping[Symbol, int], stride: Optional[Amount], dilation: Amount, padding: Amount, value: float) -> Tuple[Tensor, Tuple[Symbol, ...]]:
    taps = {d: Symbol("%s.tap" % d) for d in window}
    y = _windows(x, taps, dict(window) if stride is None else stride, dilation, padding, value)
    for d, size in window.items():
        y = y.set_size(taps[d], size)
    return y, tuple(taps.values())


def max_pool(x: Tensor, window: Mapping[Symbol, int], *, stride: Optional[Amount] = None, dilation: Amount = 1, padding: Amount = 0) -> Tensor:
    """The greatest element of each window. `window` has its sizes: {h: 2, w: 2}. By default windows do not overlap; the padding is the lowest value of the type."""
    lowest = -math.inf if x.dtype.kind not in "iu" else -2**(8 * x.dtype.itemsize - 1) if x.dtype.kind == "i" else 0
    y, taps = _pool(x, window, stride, dilation, padding, lowest)
    return y.max(*taps)


def avg_pool(x: Tensor, window: Mapping[Symbol, int], *, stride: Optional[Amount] = None, padding: Amount = 0) -> Tensor:
    """The mean of each window; the padding counts as zeros."""
    y, taps = _pool(x, window, stride, 1, padding, 0)
    return y.mean(*taps)


# --- Norms ------------------------------------------------------------------------------------------------------------------------------


def _scaled(x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor]) -> Tensor:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def layer_norm(x: Tensor, *symbols: Symbol, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    """Normalises to mean 0 and variance 1 along dimensions, then multiplies by the weight and adds the bias."""
    centred = x - x.mean(*symbols)
    return _scaled(centred * ((centred**2).mean(*symbols) + eps).rsqrt(), weight, bias)


def rms_norm(x: Tensor, *symbols: Symbol, weight: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    """Normalises to root mean square 1 along dimensions, then multiplies by the weight."""
    return _scaled(x * ((x**2).mean(*symbols) + eps).rsqrt(), weight, None)


def batch_norm(x: Tensor, mean: Tensor, variance: Tensor, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, *, eps: float = 1e-5) -> Tensor:
    """(x - mean)/sqrt(variance + eps) with given statistics, as in inference."""
    return _scaled((x - mean) * (variance + eps).rsqrt(), weight, bias)


def group_norm(x: Tensor, groups: int, channel: Symbol, *symbols: Symbol, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None,
               eps: float = 1e-5) -> Tensor:
    """Normalises to mean 0 and variance 1 over each group of neighbouring channels and the other given dimensions; with groups = channels it is the instance norm."""
    size = dict(zip(x.symbols, x.shape))[channel]
    if groups < 1 or size % groups:
        raise Error("%d groups do not divide %d channels" % (groups, size))
    group, inner = Symbol("group"), Symbol("%s.inner" % channel)
    split = x.to(*_replaced(x.symbols, channel, (group, inner)), constraints=[(channel, size // groups * group + inner)]).set_size(inner, size // groups)
    y = layer_norm(split, inner, *symbols, eps=eps).flatten(group, inner)
    return _scaled(y.to(*x.symbols), weight, bias)


# --- Attention --------------------------------------------------------------------------------------------------------------------------


def softmax(x: Tensor, *symbols: Symbol) -> Tensor:
    """exp(x) divided by its sum along one or several dimensions.

    >>> import numpy as np, loopwright as lw
    >>> i = lw.symbols("i")
    >>> lw.nn.softmax(lw.Tensor(np.zeros(4, "f4")).to(i), i).numpy()
    array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    e = exp(x - x.max(*symbols))
    return e / e.sum(*symbols)


def log_softmax(x: Tensor, *symbols: Symbol) -> Tensor:
    shifted = x - x.max(*symbols)
    return shifted - log(exp(shifted).sum(*symbols))


def attention(q: Tensor, k: Tensor, v: Tensor, keys: Symbol, features: Symbol, *, mask: Optional[Tensor] = None, scale: Optional[float] = None) -> Tensor:
    """softmax(scale*q*k)*v: q and k share the symbol `features`, k and v the symbol `keys`; all other shared symbols, such as batches and heads, are kept.

    `mask` is a tensor of bools, such as `i >= j` for causal attention; scale is 1/sqrt of the number of features by default.
    """
    for name, x, needs in (("q", q, (features,)), ("k", k, (keys, features)), ("v", v, (keys,))):
        for d in needs:
            if d not in x.symbols:
                raise Error("attention needs the dimension '%s' in %s, which has %s" % (d, name, x.symbols))
    if scale is None:
        scale = 1 / math.sqrt(dict(zip(q.symbols, q.shape))[features])
    scores = (q * k).sum(features) * scale
    if mask is not None:
        scores = where(mask, scores, -math.inf)
    e = exp(scores - scores.max(keys))
    y = (e * v).sum(keys) / e.sum(keys)
    return y.transpose(*_order_of(q, v, y, features))


def _order_of(q: Tensor, v: Tensor, y: Tensor, features: Symbol) -> Tuple[Symbol, ...]:
    """The dimensions of q, with the additional dimensions of v in place of the features."""
    added = [d for d in y.symbols if d not in q.symbols or d == features]
    order = [d for s in q.symbols for d in (added if s == features else [s])]
    return tuple(order)
