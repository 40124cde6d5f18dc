"""lw.tune: a search that shows its progress, as a line in a terminal or a bar in a notebook."""

from __future__ import annotations

import html
import importlib
import sys
from typing import Any, Optional, Union

from . import _native
from ._lazy import Tensor
from ._roofline import duration
from ._types import TuneResult


def _line(elapsed: float, trials: int, seconds: float, bound: float, gflops: float) -> str:
    text = "%5.1f s  %5d trials" % (elapsed, trials)
    if seconds:
        text += "  best %s" % duration(seconds)
    if gflops:
        text += "  %.1f GFLOP/s" % gflops
    if seconds and bound:
        text += "  at most %.0f %% above the bound" % max(0.0, 100 * (seconds / bound - 1))
    return text


class _Terminal:
    """One line that is overwritten."""

    def __init__(self, budget: float) -> None:
        self.width = 0

    def __call__(self, *state: Any) -> None:
        text = _line(*state)
        self.width = max(self.width, len(text))
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()

    def done(self) -> None:
        if self.width:
            sys.stderr.write("\n")
            sys.stderr.flush()


class _Notebook:
    """A progress bar of HTML."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.module: Any = importlib.import_module("IPython.display")
        self.handle = self.module.display(self._bar(0.0, "tuning"), display_id=True)

    def _bar(self, part: float, text: str) -> Any:
        return self.module.HTML('<progress max="1" value="%.3f" style="vertical-align: middle"></progress> <code>%s</code>' % (part, html.escape(text)))

    def __call__(self, elapsed: float, *state: Any) -> None:
        self.handle.update(self._bar(min(1.0, elapsed / self.budget) if self.budget else 0.0, _line(elapsed, *state)))

    def done(self) -> None:
        pass


def _display(wanted: Optional[bool], budget: float) -> Any:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if wanted is not False and shell is not None and hasattr(shell, "kernel"):
        return _Notebook(budget)
    if wanted or (wanted is None and sys.stderr.isatty()):
        return _Terminal(budget)
    return None


def tune(what: Union[_native.Function, Tensor], *args: Any, seconds: float = 1, trials: int = 0, strategy: Optional[str] = None, again: bool = False,
         device: Optional[str] = None, display: Optional[bool] = None, **keywords: Any) -> TuneResult:
    """Searches for a faster schedule of a function with arguments, or of a lazy tensor, by measuring. It shows the progress, in a terminal as a line, in a
    notebook as a bar; `display` turns this on or off. Later calls use the schedule. Ctrl-C ends the search with the best so far. `device` tunes for a GPU, "cuda:0", or
    for its emulator, "emulate"; the command uses the result with `run --device`.

    >>> import numpy as np, loopwright as lw
    >>> f = lw.define("def f(float(N) x) -> (y) { y(i) = 2 * x(i) }").f
    >>> result = lw.tune(f, np.ones(100, "f4"), seconds=0.1)
    >>> result.speedup >= 1
    True
    """
    shown = _display(display, seconds)
    options = dict(seconds=seconds, trials=trials, strategy=strategy, again=again, device=device, progress=shown)
    try:
        if isinstance(what, Tensor):
            return what.tune(**options)
        return what.tune(*args, **options, **keywords)
    finally:
        if shown is not None:
            shown.done()
