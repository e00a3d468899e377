"""Printed lines of a table whose columns are known, put together into the rows they belong to."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from docmill.reading.pages import Word, around

CLOSE: Final = 0.65  # of the height: a smaller gap may lie between lines of one cell
SAME_LINE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Band:
    """One printed line: its words by the column they start in."""

    cells: Mapping[int, Sequence[Word]]
    top: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


Row = dict[int, list[Word]]


def band_of(cells: Mapping[int, Sequence[Word]]) -> Band:
    box = around([word.box for words in cells.values() for word in words])
    return Band(cells, box.y0, box.y1)


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


def rows_of(bands: Sequence[Band], levels: Sequence[float] = ()) -> list[Row]:
    """Lines that go on in the cells above are put there; a rule at a level parts rows."""
    rows: list[Row] = []
    if not bands:
        return rows
    gaps = [below.top - above.bottom for above, below in itertools.pairwise(bands)]
    usual = median(gaps) if gaps else 0.0
    for index, band in enumerate(bands):
        above = bands[index - 1] if index else None
        if above and rows and _goes_on(band, above, rows[-1], usual, levels):
            for column, words in band.cells.items():
                rows[-1].setdefault(column, []).extend(words)
        else:
            rows.append({column: list(words) for column, words in band.cells.items()})
    return rows


def _goes_on(band: Band, above: Band, row: Row, usual: float, levels: Sequence[float]) -> bool:
    """Whether a line is the rest of the row above: near, with fewer cells, none of them new."""
    gap = band.top - above.bottom
    if any(above.bottom - 1 <= level <= band.top + 1 for level in levels):
        return False
    near = gap <= CLOSE * min(band.height, above.height) and gap <= usual + 1
    fewer = len(band.cells) * 2 <= len(row) or (0 in row and 0 not in band.cells)
    return near and fewer and len(band.cells) < len(row) and set(band.cells) <= set(row)
