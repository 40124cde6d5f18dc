"""Loopwright, a tensor compiler: you write the mathematics, it finds the loops and emits machine code in microseconds.

    import loopwright as lw

    T = lw.define('''
    def matmul(float(M,K) A, float(K,N) B) -> (C) {
        C(m,n) +=! A(m,k) * B(k,n)
    }''')
    C = T.matmul(A, B)                     # compiled for these shapes on first use; new arrays
    T.matmul(A, B, out=C)                  # or into existing arrays
    k = T.matmul.compile(A, B)             # a kernel: k(A, B)
    T.matmul.tune(A, B, seconds=1)         # searches for a faster schedule; later calls use it
    print(T.matmul.explain())              # its loops and their code
    lw.einsum("ij,jk,kl->il", A, B, C)     # NumPy's einsum, in the cheapest order

Arguments are arrays of NumPy, torch or any library with DLPack, and objects that export memory; nothing is copied or converted.
Errors are raised as `loopwright.Error`, with their location in the text.
"""

from __future__ import annotations

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

__all__ = ["Definitions", "Diagnostic", "Error", "Function", "Kernel", "PathInfo", "TuneResult", "Warning", "define", "einsum",
           "einsum_path", "tc"]
