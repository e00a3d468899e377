"""Cells over several rows in tables where no rule shows them: the corners of heads, and groups."""

from collections.abc import Mapping
from dataclasses import replace

from docmill.reading.judging import is_figure
from docmill.reading.tables import Cell, Table

Places = Mapping[tuple[int, int], Cell]


def with_row_spans(table: Table) -> Table:
    """The table, with cells that go on through the empty places below them."""
    places = {
        (cell.row, column): cell
        for cell in table.cells
        for column in range(cell.column, cell.column + cell.column_span)
    }
    spans = _corners(table, places) | _groups(table, places)
    cells = (replace(cell, row_span=spans.get(id(cell), 1)) for cell in table.cells)
    return replace(table, cells=tuple(cells))


def _corners(table: Table, places: Places) -> dict[int, int]:
    """Beside a cell over columns that are named under it, cells with nothing under them."""
    first = [cell for cell in table.cells if cell.row == 0]
    heads = [cell for cell in first if cell.column_span > 1]
    named = heads and all(
        (1, column) in places
        for cell in heads
        for column in range(cell.column, cell.column + cell.column_span)
    )
    if not named:
        return {}
    return {
        id(cell): 2 for cell in first if cell.column_span == 1 and (1, cell.column) not in places
    }


def _groups(table: Table, places: Places) -> dict[int, int]:
    """Names in the first column, each of several rows whose own names stand in the second."""
    rows = range(1, table.rows)
    firsts = [places[row, 0] for row in rows if (row, 0) in places]
    seconds = [places[row, 1] for row in rows if (row, 1) in places]
    words = sum(not is_figure(cell.text) for cell in seconds)
    if len(seconds) < len(rows) or len(firsts) < 2 or 2 * words < len(seconds):
        return {}
    if any(cell.column_span > 1 for cell in firsts):
        return {}
    ends = [*(cell.row for cell in firsts[1:]), table.rows]
    return {id(cell): end - cell.row for cell, end in zip(firsts, ends, strict=True)}
