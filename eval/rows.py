"""Rows of the tables of eval and bench: what was measured, beside what, and its floor."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table


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


def draw_table(rows: list[Row]) -> Table:
    table = Table(caption="ratio: docmill's speed over the other's; above 1, docmill is faster")
    for name in ("what", "docmill", "peer or bare limit"):
        table.add_column(name)
    table.add_column("ratio", justify="right")
    table.add_column("floor")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        style = "red" if row.kept is False else ""
        table.add_row(row.what, row.docmill, row.other, ratio, _floor(row), style=style)
    return table


def _floor(row: Row) -> str:
    if row.kept is None:
        return row.floor
    return f"{row.floor}: {'kept' if row.kept else 'MISSED'}"
