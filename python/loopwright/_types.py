"""Errors, warnings and results: plain Python classes that the extension module instantiates."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, Optional, Tuple


class Diagnostic(NamedTuple):
    """One error, warning or note with its location. Lines and columns count from 1, columns in bytes; both are 0 if there is no location."""

    severity: str  #: "error", "warning" or "note"
    file: Optional[str]
    line: int
    column: int
    text: str  #: the message alone
    notes: Tuple["Diagnostic", ...]
    end_line: int
    end_column: int


class Error(ValueError):
    """An error in the input: a text, a size, an argument. `str()` shows the source lines; `diagnostics` has them as objects.

    >>> import loopwright as lw
    >>> try:
    ...     lw.define("def f(float(N) A) -> (B) { B(i) = A(i) + C(i) }")
    ... except lw.Error as error:
    ...     print(error.diagnostics[0].line, error.diagnostics[0].column, error.diagnostics[0].text)
    1 42 no tensor or function named 'C'
    """

    __module__ = "loopwright"  # its public name
    diagnostics: Tuple[Diagnostic, ...]

    def __init__(self, text: str, diagnostics: Tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.diagnostics)


class Warning(UserWarning):
    """A program that may be unintended, or is slower than its text suggests."""

    __module__ = "loopwright"


class TuneResult(NamedTuple):
    """The result of a search. Times are in seconds; 0 if unknown."""

    schedule: str  #: the fastest, as text for `Function.schedule`
    seconds: float  #: time of one call with it
    chosen: float  #: time of one call with the schedule chosen without search
    bound: float  #: lower bound for all schedules
    gap: float  #: (seconds - bound)/bound
    gflops: float
    elapsed: float  #: duration of the search
    trials: int
    strategy: str  #: strategy that found it; "database" if there was no search, "chosen" if nothing was faster
    finished: bool  #: everything was measured or ruled out
    stored: bool  #: in the tuning database
    points: Tuple[Tuple[float, int, float], ...]  #: the best time over the search: (elapsed, trials, seconds)

    @property
    def speedup(self) -> float:
        """The speed-up over the schedule chosen without search."""
        return self.chosen / self.seconds if self.chosen and self.seconds else 1.0

    def plot(self, ax: Any = None) -> Any:
        """Plots the best time over the search with matplotlib, with lines for the chosen schedule and the bound: as a new figure, or into the given axes."""
        if ax is None:
            pyplot: Any = importlib.import_module("matplotlib.pyplot")
            ax = pyplot.subplots()[1]
        points = [p for p in self.points if p[2] > 0]
        ax.step([p[0] for p in points] + [self.elapsed], [p[2] * 1e6 for p in points] + [self.seconds * 1e6], where="post", label="best so far")
        for time, style, label in ((self.chosen, "--", "chosen without search"), (self.bound, ":", "lower bound")):
            if time > 0:
                ax.axhline(time * 1e6, linestyle=style, color="gray", label=label)
        ax.set_xlabel("seconds of search")
        ax.set_ylabel("microseconds per call")
        ax.set_ylim(bottom=0)
        ax.legend()
        return ax.figure


def rebuild(origin: Tuple[Any, ...], name: str, schedule: Optional[str], cache_size: int, device: Optional[str] = None) -> Any:
    """Rebuilds a pickled function from its text."""
    from . import _native

    for function in _native.parse(*origin):
        if function.__name__ == name:
            made = function if schedule is None else function.schedule(schedule)
            made = made if device is None else made.on(device)
            made.cache_size = cache_size
            return made
    raise Error("the text has no function '%s'" % name)


def show_tree(native: Any) -> Any:
    """The public LoopTree or Tree for one of the extension module."""
    from . import _native
    from ._loop_tree import LoopTree
    from ._tree import Tree

    return Tree(native) if isinstance(native, _native.Tree) else LoopTree(native)
