"""Columns that a person named: what a table's heading calls them no longer counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from docmill.invoices.reader.table import Column, Header
from docmill.reading.labels import squeeze
from docmill.reading.pages import Box

MOVED: Final = 60.0  # points: how far a heading may stand from where it was taught
DRIFT: Final = 12.0  # the same of a column without a heading


@dataclass(frozen=True, slots=True)
class TaughtColumn:
    """What the values under a heading, or at a place where there is none, are."""

    kind: str
    heading: str
    x0: float
    x1: float


def teach_column(kind: str, column: Column) -> TaughtColumn:
    return TaughtColumn(kind, squeeze(column.text), column.x0, column.x1)


def name_columns(header: Header, taught: Sequence[TaughtColumn]) -> Header:
    """The heading with its columns called as taught, the first word about a column being right.

    Who was called so before has no name. It is the very same heading where nothing was taught.
    """
    named: dict[int, str] = {}
    for each in taught:
        index = _find_column(header, each)
        if index is not None and index not in named and each.kind not in named.values():
            named[index] = each.kind
    if not named:
        return header
    kinds = set(named.values())
    columns = tuple(
        replace(column, kind=named.get(index, "" if column.kind in kinds else column.kind))
        for index, column in enumerate(header.columns)
    )
    return replace(header, columns=columns)


def _find_column(header: Header, taught: TaughtColumn) -> int | None:
    found = [
        (_distance(column, taught.x0, taught.x1), index)
        for index, column in enumerate(header.columns)
        if not taught.heading or squeeze(column.text) == taught.heading
    ]
    distance, index = min(found, default=(MOVED, None))
    return index if distance < (MOVED if taught.heading else DRIFT) else None


def _distance(column: Column, x0: float, x1: float) -> float:
    return min(abs(column.x0 - x0), abs(column.x1 - x1))


def find_column_of(header: Header, box: Box) -> Column | None:
    """The column that something on the page stands in: the nearest, then the best aligned."""

    def misfit(column: Column) -> tuple[float, float]:
        apart = max(column.x0 - box.x1, box.x0 - column.x1, 0.0)
        return apart, _distance(column, box.x0, box.x1)

    return min(header.columns, key=misfit, default=None)
