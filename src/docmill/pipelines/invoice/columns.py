"""Numbers put into the columns of a table, by how their edges line up."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from docmill.pipelines.invoice.headers import Column, Header
from docmill.pipelines.invoice.layout import Figure, Row, figures
from docmill.reading.numbers import Mark
from docmill.reading.pages import Box

FAR: Final = 45.0
LEFT_OUT: Final = 14.0
ALONE: Final = 9.0  # the cost of a number that is between a column's neighbours
WORDY: Final = frozenset({"description", "code", "date", "unit"})
_PERCENT: Final = frozenset({"discount", "tax_rate", ""})


@dataclass(frozen=True, slots=True)
class Edges:
    """Where the numbers of a column start and end, as far as known."""

    x0: float
    x1: float


@dataclass(frozen=True, slots=True)
class Placed:
    """A row of a table: its numbers by the column they stand in, and those in none."""

    row: Row
    numbers: dict[int, Figure]
    loose: tuple[Figure, ...]

    def of(self, header: Header, kind: str) -> Figure | None:
        """The number in the last column of a kind."""
        found = [
            figure
            for index, figure in sorted(self.numbers.items())
            if header.columns[index].kind == kind
        ]
        return found[-1] if found else None


def place(header: Header, rows: Sequence[Row], mark: Mark) -> list[Placed]:
    """Every row with its numbers in their columns: by the headings, then by each other's edges."""
    edges: dict[int, Edges] = {}
    placed: list[Placed] = []
    found = [figures(row, mark) for row in rows]
    for _ in range(2):
        placed = [_place(header, *pair, edges) for pair in zip(rows, found, strict=True)]
        edges = _edges(placed)
    return placed


def _edges(placed: Sequence[Placed]) -> dict[int, Edges]:
    inside: dict[int, list[Figure]] = {}
    for row in placed:
        for index, figure in row.numbers.items():
            inside.setdefault(index, []).append(figure)
    return {
        index: Edges(median(f.box.x0 for f in found), median(f.box.x1 for f in found))
        for index, found in inside.items()
        if len(found) > 1
    }


def _place(header: Header, row: Row, found: list[Figure], edges: dict[int, Edges]) -> Placed:
    """The cheapest way to put a row's numbers into columns from left to right."""
    if not found:
        return Placed(row, {}, ())
    columns = header.columns
    costs = [
        [_cost(header, index, figure, edges.get(index)) for index in range(len(columns))]
        for figure in found
    ]
    width = len(columns)
    table = [[0.0] * (width + 1) for _ in range(len(found) + 1)]
    for at in range(1, len(found) + 1):
        table[at][0] = at * LEFT_OUT
        for index in range(1, width + 1):
            table[at][index] = min(
                table[at][index - 1],
                table[at - 1][index] + LEFT_OUT,
                table[at - 1][index - 1] + costs[at - 1][index - 1],
            )
    return _traced(row, found, costs, table)


def _traced(
    row: Row, found: list[Figure], costs: list[list[float]], table: list[list[float]]
) -> Placed:
    numbers: dict[int, Figure] = {}
    loose: list[Figure] = []
    at, index = len(found), len(table[0]) - 1
    while at:
        if index and table[at][index] == table[at][index - 1]:
            index -= 1
        elif index and table[at][index] == table[at - 1][index - 1] + costs[at - 1][index - 1]:
            numbers[index - 1] = found[at - 1]
            at, index = at - 1, index - 1
        else:
            loose.append(found[at - 1])
            at -= 1
    return Placed(row, numbers, tuple(loose))


def _cost(header: Header, index: int, figure: Figure, edges: Edges | None) -> float:
    """How badly a number fits a column."""
    column, box = header.columns[index], figure.box
    if column.kind in WORDY or not _kind_fits(column, figure):
        return FAR * 4
    apart = max(column.x0 - box.x1, box.x0 - column.x1, 0.0)
    off = min(
        abs(box.x0 - column.x0),
        abs(box.x1 - column.x1),
        abs(box.x0 + box.x1 - column.x0 - column.x1) / 2,
    )
    if edges:
        off = min(abs(box.x1 - edges.x1), abs(box.x0 - edges.x0)) + min(off, 3.0) / 3
        apart = max(edges.x0 - box.x1, box.x0 - edges.x1, 0.0)
    cost = off / 3 + apart
    inside = column.x0 - 2 <= (box.x0 + box.x1) / 2 <= column.x1 + 2
    if inside and cost < FAR:
        return min(cost, 6.0)
    if not edges and _in_slot(header, index, box):
        return min(cost, ALONE)
    return cost if cost < FAR else FAR * 4


def _in_slot(header: Header, index: int, box: Box) -> bool:
    """Whether a number stands under no other heading between this column's neighbours."""
    columns = header.columns
    left = columns[index - 1] if index else None
    right = columns[index + 1] if index + 1 < len(columns) else None
    after = columns[index].x0 if left is None or left.kind in WORDY else left.x1
    return box.x0 >= after - 2 and (right is None or box.x1 <= right.x0 + 1)


def _kind_fits(column: Column, figure: Figure) -> bool:
    number = figure.number
    if number.percent:
        return column.kind in _PERCENT
    if column.kind == "position":
        return (
            number.value == int(number.value) and 0 <= number.value < 10000 and not number.currency
        )
    return not (number.currency and column.kind in {"quantity", "tax_rate"})
