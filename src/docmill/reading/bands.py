"""Printed lines of a table whose columns are known, put together into the rows they belong to."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from docmill.reading.pages import Word, around

CLOSE: Final = 0.65  # of the height: a smaller gap may lie between lines of one cell
SAME_LINE: Final = 0.5
JUMP: Final = 0.2  # of the height: gaps that differ by more are of two kinds
SPACE: Final = 0.35


@dataclass(frozen=True, slots=True)
class Band:
    """One printed line: its words by the column they start in, and the last one they reach."""

    cells: Mapping[int, Sequence[Word]]
    top: float
    bottom: float
    reach: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    def last(self, column: int) -> int:
        return self.reach.get(column, column)

    def wide(self, column: int) -> bool:
        return self.last(column) > column


Row = dict[int, list[Word]]


@dataclass(frozen=True, slots=True)
class Grid:
    """What all lines of a table tell: how wide its columns are, and which gap parts its rows.

    `parting` is None where the gaps are all of one kind.
    """

    widths: Mapping[int, float]
    usual: float
    parting: float | None


def band_of(cells: Mapping[int, Sequence[Word]], reach: Mapping[int, int] | None = None) -> Band:
    box = around([word.box for words in cells.values() for word in words])
    return Band(cells, box.y0, box.y1, reach or {})


def bands_of(columns: Mapping[int, Sequence[Word]]) -> list[Band]:
    """The printed lines in columns of words, from top to bottom."""
    placed = [(word, column) for column, words in columns.items() for word in words]
    placed.sort(key=lambda item: (item[0].box.middle, item[0].box.x0))
    lines: list[list[tuple[Word, int]]] = []
    for word, column in placed:
        first = lines[-1][0][0].box if lines else None
        reach = SAME_LINE * min(first.height, word.box.height) if first else 0
        if first and word.box.middle - first.middle <= reach:
            lines[-1].append((word, column))
        else:
            lines.append([(word, column)])
    return [_band(line) for line in lines]


def _band(line: Sequence[tuple[Word, int]]) -> Band:
    cells: dict[int, list[Word]] = {}
    for word, column in sorted(line, key=lambda item: item[0].box.x0):
        cells.setdefault(column, []).append(word)
    return band_of(cells)


def rows_of(bands: Sequence[Band], levels: Sequence[float] = ()) -> list[list[Band]]:
    """The lines of each row; a rule at a level parts rows."""
    rows: list[list[Band]] = []
    grid = _grid(bands)
    for zone in _zones(bands, levels):
        if len(zone) < len(bands) and _is_row(zone, grid):
            rows.append(zone)
            continue
        start = len(rows)
        for band in zone:
            if len(rows) > start and _goes_on(band, rows[-1], grid):
                rows[-1].append(band)
            else:
                rows.append([band])
    return rows


def _zones(bands: Sequence[Band], levels: Sequence[float]) -> list[list[Band]]:
    """The lines between one rule and the next."""
    zones: list[list[Band]] = []
    for band in bands:
        above = zones[-1][-1] if zones else None
        if above and not any(above.middle <= level <= band.middle for level in levels):
            zones[-1].append(band)
        else:
            zones.append([band])
    return zones


def _is_row(zone: Sequence[Band], grid: Grid) -> bool:
    """Whether each column of a zone holds one text, and no cell has cells of its own under it."""
    if any(_heads(above, band) for above, band in itertools.pairwise(zone)):
        return False
    for column in {column for band in zone for column in band.cells}:
        lines = [band for band in zone if column in band.cells]
        if not all(
            _wraps(below, above, column, grid) for above, below in itertools.pairwise(lines)
        ):
            return False
    return True


def joined(row: Sequence[Band]) -> Row:
    """The words of a row's lines by column."""
    found: Row = {}
    for band in row:
        for column, words in band.cells.items():
            found.setdefault(column, []).extend(words)
    return found


def _grid(bands: Sequence[Band]) -> Grid:
    widths: dict[int, float] = {}
    for band in bands:
        for column, words in band.cells.items():
            if not band.wide(column):
                widths[column] = max(widths.get(column, 0.0), _width(words))
    gaps = sorted(below.top - above.bottom for above, below in itertools.pairwise(bands))
    usual = median(gaps) if gaps else 0.0
    height = median(band.height for band in bands) if bands else 0.0
    return Grid(widths, usual, _parting(gaps, height))


def _parting(gaps: Sequence[float], height: float) -> float | None:
    """The gap from which on rows are parted, where small gaps and large ones stand out."""
    jumps = [(above - below, below) for below, above in itertools.pairwise(gaps)]
    widest, below = max(jumps, default=(0.0, 0.0))
    if widest < JUMP * height or below > CLOSE * height:
        return None
    return below + widest / 2


def _goes_on(band: Band, row: Sequence[Band], grid: Grid) -> bool:
    """Whether a line is the rest of the row above: near it, and its words would not have fitted."""
    above = row[-1]
    gap = band.top - above.bottom
    if gap > CLOSE * min(band.height, above.height):
        return False
    if _heads(above, band) or not all(_wraps(band, above, column, grid) for column in band.cells):
        return False
    known = {column for each in row for column in each.cells}
    if grid.parting is not None:
        return gap <= grid.parting
    fewer = len(band.cells) * 2 <= len(known) or (0 in known and 0 not in band.cells)
    return gap <= grid.usual + 1 and fewer and band.cells.keys() < known


def _heads(above: Band, band: Band) -> bool:
    """Whether a cell over several columns has cells of its own under it."""
    return any(
        sum(column <= at <= last for at in band.cells) > (band.reach.get(column) == last)
        for column, last in above.reach.items()
        if last > column
    )


def _wraps(band: Band, above: Band, column: int, grid: Grid) -> bool:
    """Whether what stands in a column goes on from the line above, where its word had no room."""
    before, words = above.cells.get(column), band.cells[column]
    if not before or band.wide(column) or above.wide(column):
        return True
    if all(map(_is_figure, words)) and not before[-1].text.isupper():
        return False
    space = SPACE * band.height
    return _width(before) + space + words[0].box.width > grid.widths[column]


def _is_figure(word: Word) -> bool:
    return any(map(str.isdigit, word.text)) and not any(map(str.isalpha, word.text))


def _width(words: Sequence[Word]) -> float:
    return max(word.box.x1 for word in words) - min(word.box.x0 for word in words)
