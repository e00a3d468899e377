"""Rows of the tables of eval and bench: what was measured, beside what, and its floor."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `ratio` is docmill over the other as speeds: above 1, docmill is the faster.

    `ratios` are those of several runs, of which `ratio` is the median.
    """

    what: str
    docmill: str
    other: str = ""
    ratio: float | None = None
    floor: str = ""
    kept: bool | None = None
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    ratios: Sequence[float] = ()


def compare(
    what: str,
    ours: Sequence[float],
    others: Sequence[float],
    *,
    show: Callable[[float], str],
    name: str,
) -> Row:
    """Speeds of runs that took turns: medians, and how far the ratios of single turns differ."""
    ratios = [one / other for one, other in zip(ours, others, strict=True)]
    return Row(
        what, show(statistics.median(ours)), f"{name} {show(statistics.median(others))}",
        statistics.median(ratios), figures={"docmill": [*ours], "other": [*others], "name": name},
        ratios=ratios,
    )  # fmt: skip


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


def middle(paces: Sequence[Pace]) -> Pace:
    """The turn of the median speed."""
    return sorted(paces, key=_per_second)[len(paces) // 2]


def _per_second(pace: Pace) -> float:
    return pace.per_second


def compare_paces(
    what: str, ours: Sequence[Pace], others: Sequence[Pace], *, name: str
) -> Iterator[Row]:
    """Requests a second, and what each costs the server."""
    yield compare(
        f"{what}: requests/s", [*map(_per_second, ours)], [*map(_per_second, others)],
        show="{:.0f}/s".format, name=name,
    )  # fmt: skip
    yield compare(
        f"{what}: the server's CPU a request", [1000 / one.cpu_ms for one in ours],
        [1000 / one.cpu_ms for one in others], show=_show_cpu, name=name,
    )  # fmt: skip


def _show_cpu(a_second: float) -> str:
    return f"{1000 / a_second:.2f} ms"


def spread(seconds: Sequence[float]) -> Spread:
    took = sorted(1000 * second for second in seconds)
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    return Spread(statistics.median(took), cuts[94], cuts[98], took[-1])


def draw_table(rows: list[Row]) -> Table:
    table = Table(
        caption="ratio: docmill's speed over the other's; above 1, docmill is faster."
        " Of several turns the median, least and most"
    )
    for name in ("what", "docmill", "peer or bare limit"):
        table.add_column(name)
    table.add_column("ratio", justify="right")
    table.add_column("floor")
    for row in rows:
        style = "red" if row.kept is False else ""
        table.add_row(row.what, row.docmill, row.other, _ratio(row), _floor(row), style=style)
    return table


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return ""
    turns = f" ({min(row.ratios):.2f} to {max(row.ratios):.2f})" if row.ratios else ""
    return f"{row.ratio:.2f}{turns}"


def _floor(row: Row) -> str:
    if row.kept is None:
        return row.floor
    return f"{row.floor}: {'kept' if row.kept else 'MISSED'}"
