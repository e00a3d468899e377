"""What a table is, and how places with words in them become one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docmill.reading.pages import Box, Line, Page, Word, bounding_box, make_line


@dataclass(frozen=True, slots=True)
class TableCell:
    """What stands in one place of a table, which may take several rows or columns."""

    row: int
    column: int
    text: str
    box: Box
    row_span: int = 1
    column_span: int = 1


@dataclass(frozen=True, slots=True)
class PageTable:
    """The cells in reading order; places without a cell are empty."""

    box: Box
    rows: int
    columns: int
    cells: tuple[TableCell, ...]

    @property
    def grid(self) -> list[list[str]]:
        """The texts row by row; the text of a wide cell stands in its first place."""
        grid = [[""] * self.columns for _ in range(self.rows)]
        for cell in self.cells:
            grid[cell.row][cell.column] = cell.text
        return grid

    @property
    def is_filled(self) -> bool:
        """Whether rows have cells beside each other; else the columns are an accident."""
        counts = Counter(cell.row for cell in self.cells)
        return 3 * sum(count > 1 for count in counts.values()) >= self.rows

    def holds(self, box: Box) -> bool:
        return self.box.holds(box)


@dataclass(frozen=True, slots=True)
class CellSlot:
    """A cell before its words are known."""

    row: int
    column: int
    row_span: int
    column_span: int
    words: Sequence[Word]


def upright_lines(page: Page) -> list[Line]:
    return [line for line in page.lines if not line.words[0].angle]


def assemble(places: Iterable[CellSlot], frame: Box | None = None) -> PageTable | None:
    """A table of these places without the rows and columns in which nothing stands."""
    filled = [place for place in places if place.words]
    if not filled:
        return None
    rows = _renumber([place.row for place in filled])
    columns = _renumber([place.column for place in filled])
    cells = [_make_cell(place, rows, columns) for place in filled]
    cells.sort(key=lambda cell: (cell.row, cell.column))
    box = bounding_box([cell.box for cell in cells])
    return PageTable(frame or box, len(rows), len(columns), tuple(cells))


def _renumber(used: Sequence[int]) -> dict[int, int]:
    """The numbers that are used, counted anew from 0."""
    return {old: new for new, old in enumerate(sorted(set(used)))}


def _make_cell(place: CellSlot, rows: dict[int, int], columns: dict[int, int]) -> TableCell:
    line = make_line(place.words)
    return TableCell(
        rows[place.row],
        columns[place.column],
        line.text,
        line.box,
        max(sum(row in rows for row in range(place.row, place.row + place.row_span)), 1),
        max(sum(at in columns for at in range(place.column, place.column + place.column_span)), 1),
    )
