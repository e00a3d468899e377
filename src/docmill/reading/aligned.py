"""Tables without rules: lines whose cells leave the same gutters free, one below the other."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from docmill.reading.bands import Band, band_of, rows_of
from docmill.reading.pages import Box, Line, Page, Word
from docmill.reading.tables import Place, Table, assembled

GUTTER: Final = 0.6  # of the height: the least that must stay free between columns
STRIP: Final = 0.45
APART: Final = 2.2  # of the height: a wider gap between lines ends a table
KEPT: Final = 0.6  # of the gutters so far must outlive another line
MIN_ROWS: Final = 3
LONG_WORDS: Final = 12

Free = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Run:
    """Lines that may be a table, and the gutters they leave free, from left to right."""

    lines: tuple[Line, ...]
    gutters: Free

    @property
    def wide(self) -> list[Line]:
        return [line for line in self.lines if len(line.cells) > 1]


def aligned_tables(page: Page, lines: Sequence[Line]) -> list[Table]:
    """The tables among these lines of a page, in reading order."""
    levels = sorted({rule.y0 for rule in page.rules if rule.width > rule.height})
    found = (_table(run, levels) for run in _runs(lines))
    return [table for table in found if table and table.columns > 1]


def _runs(lines: Sequence[Line]) -> Iterator[Run]:
    start = 0
    while start < len(lines):
        if len(lines[start].cells) < 2:
            start += 1
            continue
        run = _grown(lines, start)
        if _is_table(run):
            yield run
            start += len(run.lines)
        else:
            start += 1


def _grown(lines: Sequence[Line], start: int) -> Run:
    """As many lines from here on as keep the gutters free."""
    run = Run((lines[start],), _gutters(lines[start]))
    for line in lines[start + 1 :]:
        grown = _with(run, line)
        if grown is None:
            break
        run = grown
    kept = list(run.lines)
    while kept and not _belongs(kept):
        kept.pop()
    return Run(tuple(kept), run.gutters)


def _belongs(lines: Sequence[Line]) -> bool:
    """Whether the last line is part of the table: several cells, or close under such a line."""
    last = lines[-1]
    if len(last.cells) > 1 or len(lines) == 1:
        return True
    above = lines[-2]
    near = last.box.y0 - above.box.y1 < GUTTER * last.box.height
    return near and len(above.cells) > 1 and len(last.words) <= LONG_WORDS


def _gutters(line: Line) -> Free:
    boxes = [cell.box for cell in line.cells]
    return [(left.x1, right.x0) for left, right in itertools.pairwise(boxes)]


def _with(run: Run, line: Line) -> Run | None:
    """The run and one more line; None where that would not be one table."""
    last = run.lines[-1].box
    height = max(last.height, line.box.height)
    if not -0.5 * height < line.box.y0 - last.y1 < APART * height:
        return None
    least = GUTTER * line.box.height
    known = _clear(run.gutters, line, least)
    if len(known) < max(1, KEPT * len(run.gutters)):
        return None
    new = [] if len(run.wide) > 1 else _gutters(line)
    for above in run.lines:
        new = _clear(new, above, least)
    more = [gutter for gutter in new if not any(_meet(gutter, each) for each in known)]
    return Run((*run.lines, line), sorted([*known, *more]))


def _meet(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _clear(gutters: Free, line: Line, least: float) -> Free:
    """What a line leaves of the gutters: of each the widest part without a word in it."""
    left: Free = []
    for low, high in gutters:
        cells = [cell.box for cell in line.cells if cell.box.x1 > low and cell.box.x0 < high]
        edges = [low, *(side for box in cells for side in (box.x0, box.x1)), high]
        parts = [(edges[at], edges[at + 1]) for at in range(0, len(edges), 2)]
        widest = max(parts, key=lambda part: part[1] - part[0])
        if widest[1] - widest[0] >= least:
            left.append(widest)
    return left


def _is_table(run: Run) -> bool:
    wide = run.wide
    enough = len(wide) >= MIN_ROWS or (len(wide) == 2 and len(run.gutters) >= 2)
    if not enough or not run.gutters or len(wide) * 2 < len(run.lines):
        return False
    return median(len(line.words) / len(line.cells) for line in wide) <= LONG_WORDS


def _strips(run: Run) -> Free:
    """The gutters, and narrower strips that no word of any line stands in."""
    words = sorted((word.box for line in run.lines for word in line.words), key=lambda box: box.x0)
    least = STRIP * median(box.height for box in words)
    found: Free = []
    reach = words[0].x1
    for box in words[1:]:
        if box.x0 - reach >= least and not any(_meet((reach, box.x0), old) for old in run.gutters):
            found.append((reach, box.x0))
        reach = max(reach, box.x1)
    return [strip for strip in found if _has_both_sides(run, strip)]


def _has_both_sides(run: Run, strip: tuple[float, float]) -> bool:
    both = sum(line.box.x0 < strip[0] and line.box.x1 > strip[1] for line in run.lines)
    return both >= MIN_ROWS and both * 2 >= len(run.lines)


def _table(run: Run, levels: Sequence[float]) -> Table | None:
    gutters = sorted([*run.gutters, *_strips(run)])
    edges = [(low + high) / 2 for low, high in gutters]
    rows = rows_of([_band(line, edges) for line in run.lines], levels)
    places = [
        Place(number, column, 1, _span(words, edges, column), words)
        for number, row in enumerate(rows)
        for column, words in row.items()
    ]
    return assembled(places)


def _band(line: Line, edges: Sequence[float]) -> Band:
    cells: dict[int, list[Word]] = {}
    for word in line.words:
        cells.setdefault(_column(word.box, edges), []).append(word)
    return band_of(cells)


def _column(box: Box, edges: Sequence[float]) -> int:
    middle = (box.x0 + box.x1) / 2
    return sum(edge < middle for edge in edges)


def _span(words: Sequence[Word], edges: Sequence[float], column: int) -> int:
    """How many columns a cell reaches over."""
    right = max(word.box.x1 for word in words)
    return 1 + sum(edge < right for edge in edges[column:])
