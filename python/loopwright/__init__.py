"""Loopwright, a tensor compiler: you write the mathematics, it finds the loops and emits machine code in microseconds.

    import loopwright as lw

    T = lw.define('''
    def matmul(float(M,K) A, float(K,N) B) -> (C) {
        C(m,n) +=! A(m,k) * B(k,n)
    }''')
    C = T.matmul(A, B)                     # compiled for these shapes on first use; new arrays
    T.matmul(A, B, out=C)                  # or into existing arrays
    k = T.matmul.compile(A, B)             # a kernel: k(A, B)
    lw.tune(T.matmul, A, B, seconds=1)     # searches for a faster schedule; later calls use it
    print(T.matmul.explain())              # its loops and their code
    lw.einsum("ij,jk,kl->il", A, B, C)     # NumPy's einsum, in the cheapest order

    m, n, k = lw.symbols("m n k")          # lazy tensors: one fused kernel, run on demand
    C = (lw.Tensor(A).to(m, k) * lw.Tensor(B).to(k, n)).sum(k)
    C.numpy()
    lw.nn.softmax(C, n).numpy()            # layers of neural networks: loopwright.nn

Arguments are arrays of NumPy, torch or any library with DLPack, or objects that export memory; nothing is copied or converted.
Errors are raised as `loopwright.Error`, with their location in the text.
"""

from __future__ import annotations

from typing import Any

from ._types import Diagnostic, Error, TuneResult, Warning

try:
    from ._native import Function, Kernel
    from ._native import version as __version__
except ImportError as error:
    import sysconfig

    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise ImportError("loopwright needs a Python with the GIL; free-threaded builds cannot load it") from error
    raise
from ._define import Definitions, define, tc
from ._einsum import PathInfo, einsum, einsum_path
from ._lazy import Tensor, cast, compute, erf, exp, log, maximum, minimum, sqrt, tanh, where
from ._loop_tree import LoopTree, Node
from ._roofline import Roofline, machine
from ._symbols import Expr, Symbol, symbols
from ._tree import Tree
from ._tune import tune

__all__ = ["Definitions", "Diagnostic", "Error", "Expr", "Function", "Kernel", "LoopTree", "Node", "PathInfo", "Roofline", "Symbol", "Tensor", "Tree", "TuneResult", "Warning", "cast", "compute",
           "define", "einsum", "einsum_path", "erf", "exp", "log", "machine", "maximum", "minimum", "sqrt", "symbols", "tanh", "tc", "tune", "where"]


def __getattr__(name: str) -> Any:
    """Loads some modules of the package on first use."""
    if name not in ("db", "edit", "jax", "nn", "rl", "torch"):
        raise AttributeError("module 'loopwright' has no attribute '%s'" % name)
    import importlib

    return importlib.import_module("loopwright." + name)
