"""Rows of the table: what was measured, beside what, and the floor it must keep."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `ratio` is docmill over the other as speeds: above 1, docmill is the faster."""

    what: str
    docmill: str
    other: str = ""
    ratio: float | None = None
    floor: str = ""
    kept: bool | None = None
    figures: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Spread:
    """How long things took, in milliseconds."""

    p50: float
    p95: float
    p99: float
    most: float

    def __str__(self) -> str:
        return f"p50 {self.p50:.1f}, p95 {self.p95:.1f} ms"


@dataclass(frozen=True, slots=True)
class Pace:
    """How a server took a steady stream of requests; `cpu_ms` is its own, for each."""

    per_second: float
    cpu_ms: float
    took: Spread


def spread(seconds: Sequence[float]) -> Spread:
    took = sorted(1000 * second for second in seconds)
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    return Spread(statistics.median(took), cuts[94], cuts[98], took[-1])
