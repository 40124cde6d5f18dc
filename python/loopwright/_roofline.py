"""The rates of this machine, and the roofline of a computation."""

from __future__ import annotations

import html
import json
import math
from typing import Any, Dict, NamedTuple, Optional

from . import _native

_machine: Optional[Dict[str, Any]] = None


def machine() -> Dict[str, Any]:
    """The measured rates of this machine: "gflops" by instruction set and type, "gbps" by level of the memory, each for one core and for all; caches, clock.

    Measures for about two seconds, unless there is a file of an earlier measurement.
    """
    global _machine
    if _machine is None:
        _machine = json.loads(_native.machine())
    return _machine


def duration(seconds: float) -> str:
    """A time with its unit.

    >>> duration(2.5e-5), duration(0.012), duration(3)
    ('25.0 us', '12.0 ms', '3.00 s')
    """
    if seconds < 1e-3:
        return "%.1f us" % (seconds * 1e6)
    return "%.1f ms" % (seconds * 1e3) if seconds < 1 else "%.2f s" % seconds


class Roofline(NamedTuple):
    """The least time of a computation on one core: the time of its operations at the peak rate, or of one transfer of its arguments from the level that holds them, whichever is longer."""

    flops: float
    bytes: float
    gflops: float  #: peak rate of one core, in 1e9 operations per second
    gbps: float  #: bandwidth of the level, in 1e9 bytes per second
    level: str  #: "L1", "L2", "L3" or "memory": the innermost that holds the arguments

    @classmethod
    def of(cls, flops: float, bytes: float, type: str) -> "Roofline":
        m = machine()
        peak = max(rates[type][0] for rates in m["gflops"].values())
        held = [level for level, size in zip(("L1", "L2", "L3"), m["cache"]) if size and bytes <= size]
        level = held[0] if held else "memory"
        return cls(flops, bytes, peak, m["gbps"][level]["load"][0], level)

    @property
    def seconds(self) -> float:
        """The least time."""
        return max(self.flops / self.gflops, self.bytes / self.gbps) * 1e-9

    @property
    def limit(self) -> str:
        """"compute" or the level of the memory."""
        return "compute" if self.flops / self.gflops > self.bytes / self.gbps else self.level

    def svg(self, seconds: float = 0.0) -> str:
        """A drawing on logarithmic axes: operations per second over operations per byte, with a dot for the measured time of a call."""
        width, height, left, top = 320, 180, 50, 10
        ridge, here = self.gflops / self.gbps, max(self.flops / max(self.bytes, 1.0), 1e-3)
        low, high = math.log10(min(ridge, here)) - 1, math.log10(max(ridge, here)) + 1
        most = math.log10(self.gflops) + 0.3
        least = math.log10(self.gbps) + low

        def x(intensity: float) -> float:
            return left + (math.log10(intensity) - low) / (high - low) * (width - left - 10)

        def y(rate: float) -> float:
            return top + (most - math.log10(max(rate, 1e-12))) / (most - least) * (height - top - 30)

        parts = ['<polyline fill="none" stroke="#0969da" stroke-width="2" points="%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>' %
                 (x(10**low), y(10**least), x(ridge), y(self.gflops), x(10**high), y(self.gflops)),
                 '<text x="%.0f" y="%.0f" font-size="10">%.0f GFLOP/s</text>' % (x(ridge) + 2, y(self.gflops) - 3, self.gflops),
                 '<text x="%.0f" y="%d" font-size="10">%.2g FLOP/B, %s %.0f GB/s</text>' % (left, height - 8, here, html.escape(self.level), self.gbps)]
        if self.flops:
            parts.append('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#999" stroke-dasharray="3"/>' % (x(here), x(here), top, height - 25))
        if seconds and self.flops:
            rate = self.flops / seconds * 1e-9
            parts.append('<circle cx="%.1f" cy="%.1f" r="4" fill="#cf222e"><title>%.3g GFLOP/s</title></circle>' % (x(here), min(height - 25, y(rate)), rate))
        return '<svg width="%d" height="%d" xmlns="http://www.w3.org/2000/svg">%s</svg>' % (width, height, "".join(parts))

    def _repr_html_(self) -> str:
        return self.svg()
