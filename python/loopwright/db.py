"""The tuning database: the schedules that tuning found, by program, sizes and processor.

    for entry in lw.db.entries(best=True):
        print(entry.name, entry.sizes, entry.seconds, entry.schedule)
    lw.db.save("mine.jsonl")                  # portable
    lw.db.load("theirs.jsonl")                # checked before it is stored

The environment variable LW_DB names the file; otherwise it is the default one.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional

from . import _native

__all__ = ["Counts", "Entry", "entries", "file", "load", "merge", "prune", "save", "text"]


class Entry(NamedTuple):
    """One schedule for one kernel. Times are in seconds; 0 if unknown."""

    kernel: int  #: its number in the file
    rank: int  #: among the schedules of the kernel, from 0
    pinned: bool  #: preferred even to faster schedules
    name: str  #: of the first tuned function with this kernel
    sizes: str
    schedule: str
    program: str
    seconds: float
    bound: float  #: lower bound of all schedules
    chosen: float  #: time of the schedule chosen without search
    threads: int
    low: float  #: 95 % confidence interval of `seconds`
    high: float
    cpu: str
    isa: str
    date: str
    trials: int  #: number of stored trials of the kernel
    wrong: Optional[str]  #: with `check`: why the entry would be ignored


class Counts(NamedTuple):
    """The effect of an import, a merge or a pruning on entries."""

    read: int
    kept: int
    refused: int
    removed: int


def file() -> Optional[str]:
    """The file that tuning writes; None: there is none."""
    return _native.db_file()


def entries(*, best: bool = False, check: bool = False, kernel: int = 0) -> List[Entry]:
    """The entries, fastest first for each kernel; only the `best` of each kernel, or those of one kernel. `check` reads and verifies every schedule."""
    return _native.db_list(Entry, best, check, kernel)


def text(*, best: bool = False, trials: bool = False, kernel: int = 0) -> str:
    """The entries as JSON, one object per line; with `trials`, including all measurements."""
    return _native.db_export(trials, best, kernel)


def save(path: str, *, best: bool = False, trials: bool = False) -> None:
    """Writes text() to a file."""
    with open(path, "w", encoding="utf-8") as out:
        out.write(text(best=best, trials=trials))


def load(path: str) -> Counts:
    """Adds entries of a file that save() wrote. Each is parsed and verified first; those that do not apply are refused with a warning."""
    with open(path, encoding="utf-8") as given:
        return Counts(*_native.db_import(path, given.read()))


def merge(path: str, *, trials: bool = False) -> Counts:
    """Adds the entries of another database file."""
    return Counts(*_native.db_merge(path, trials))


def prune(*, keep: int = 0, days: float = 0, trials: bool = False, bad: bool = False) -> Counts:
    """Deletes entries: all but the `keep` fastest of each kernel, entries older than `days`, `bad` entries that do not apply; and stored `trials`."""
    return Counts(*_native.db_prune(keep, days, trials, bad))
