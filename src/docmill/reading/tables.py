"""What a table is, and how places with words in them become one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docmill.reading.pages import Box, Line, Page, Word, around, line_of


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one place of a table, which may take several rows or columns."""

    row: int
    column: int
    text: str
    box: Box
    row_span: int = 1
    column_span: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """The cells in reading order; places without a cell are empty."""

    box: Box
    rows: int
    columns: int
    cells: tuple[Cell, ...]

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
        x, y = (box.x0 + box.x1) / 2, box.middle
        return self.box.x0 <= x <= self.box.x1 and self.box.y0 <= y <= self.box.y1


@dataclass(frozen=True, slots=True)
class Place:
    """A cell before its words are known."""

    row: int
    column: int
    row_span: int
    column_span: int
    words: Sequence[Word]


def upright(page: Page) -> list[Line]:
    return [line for line in page.lines if not line.words[0].angle]


def assembled(places: Iterable[Place], frame: Box | None = None) -> Table | None:
    """A table of these places without the rows and columns in which nothing stands."""
    filled = [place for place in places if place.words]
    if not filled:
        return None
    rows = _numbers([place.row for place in filled])
    columns = _numbers([place.column for place in filled])
    cells = [_cell(place, rows, columns) for place in filled]
    cells.sort(key=lambda cell: (cell.row, cell.column))
    box = around([cell.box for cell in cells])
    return Table(frame or box, len(rows), len(columns), tuple(cells))


def _numbers(used: Sequence[int]) -> dict[int, int]:
    """The numbers that are used, counted anew from 0."""
    return {old: new for new, old in enumerate(sorted(set(used)))}


def _cell(place: Place, rows: dict[int, int], columns: dict[int, int]) -> Cell:
    line = line_of(place.words)
    return Cell(
        rows[place.row],
        columns[place.column],
        line.text,
        line.box,
        max(sum(row in rows for row in range(place.row, place.row + place.row_span)), 1),
        max(sum(at in columns for at in range(place.column, place.column + place.column_span)), 1),
    )
