"""Tables without rules: lines whose cells leave the same gutters free, one below the other."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from docmill.reading.bands import Band, band_of, joined, rows_of
from docmill.reading.columns import Gutter, runs_of, sides_of, widened, without_signs
from docmill.reading.columns import Run as Cell
from docmill.reading.judging import Look, look_of
from docmill.reading.pages import Box, Line, Word, line_of
from docmill.reading.spans import with_row_spans
from docmill.reading.tables import Place, Table, assembled

GUTTER: Final = 0.6  # of the height: the least that must stay free between columns
STRIP: Final = 0.45
APART: Final = 2.2  # of the height: a wider gap between lines ends a table
KEPT: Final = 0.6  # of the gutters so far must outlive another line
MIN_ROWS: Final = 3
LONG_WORDS: Final = 12
NAME_WORDS: Final = 6
HEAD_LINES: Final = 3  # above the first line that shows all columns
FULL: Final = 0.75  # of the columns
ACROSS: Final = 0.5  # of a table's width: a shorter rule parts no rows

Free = list[Gutter]


@dataclass(frozen=True, slots=True)
class Run:
    """Lines that may be a table, and the gutters they leave free, from left to right.

    Lines in `over` do not: they name several columns at once, or the rows that follow.
    """

    lines: tuple[Line, ...]
    gutters: Free
    over: tuple[Line, ...] = ()

    @property
    def body(self) -> list[Line]:
        return [line for line in self.lines if line not in self.over]

    @property
    def wide(self) -> list[Line]:
        return [line for line in self.lines if len(line.cells) > 1]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The level rules of a page: as they are drawn, and with pieces that touch put together."""

    pieces: Sequence[Box]
    levels: Sequence[Box]


@dataclass(frozen=True, slots=True)
class Part:
    """Lines that are a table, or else texts beside each other: the lines of one after another."""

    lines: tuple[Line, ...]
    table: Table | None
    columns: tuple[Line, ...] = ()


def aligned_parts(lines: Sequence[Line], drawn: Drawn) -> list[Part]:
    """The tables among these lines of a page, and the texts beside each other, in order."""
    found = (aligned_part(run, drawn) for run in _runs(lines))
    return [part for part in found if part]


def _runs(lines: Sequence[Line]) -> Iterator[Run]:
    start = end = 0
    while start < len(lines):
        if len(lines[start].cells) < 2:
            start += 1
            continue
        run = _headed(lines, start)
        if _is_table(run):
            yield _under(lines[max(end, start - HEAD_LINES) : start], run)
            start = end = start + len(run.lines)
        else:
            start += 1


def _headed(lines: Sequence[Line], start: int) -> Run:
    """The run from here, or one from below with more columns, under these lines as its head."""
    best = _grown(lines, start)
    for below in range(start + 1, min(start + 1 + HEAD_LINES, len(lines))):
        if not _near(lines[below - 1], lines[below]):
            break
        run = _grown(lines, below) if len(lines[below].cells) > 1 else best
        longer = below + len(run.lines) >= start + len(best.lines)
        if longer and len(run.gutters) > len(best.gutters) and _is_table(run):
            head = tuple(lines[start:below])
            best = Run((*head, *run.lines), run.gutters, (*head, *run.over))
    return best


def _under(lines: Sequence[Line], run: Run) -> Run:
    """The run with the lines right above it that stand over all columns but the first."""
    for line in reversed(lines):
        first = run.lines[0]
        near = line.box.y0 < first.box.y0 and first.box.y0 - line.box.y1 < line.box.height
        if (
            not near
            or line.box.x0 < run.gutters[0][0]
            or line.box.x1 > _right(run) + line.box.height
        ):
            break
        run = Run((line, *run.lines), run.gutters, (line, *run.over))
    return run


def _right(run: Run) -> float:
    return max(line.box.x1 for line in run.lines)


def _near(above: Line, line: Line) -> bool:
    height = max(above.box.height, line.box.height)
    return -0.5 * height < line.box.y0 - above.box.y1 < APART * height


def _grown(lines: Sequence[Line], start: int) -> Run:
    """As many lines from here on as keep the gutters free; one that names the next may not."""
    run = Run((lines[start],), gaps_of(lines[start]))
    for at in range(start + 1, len(lines)):
        line = lines[at]
        grown = _with(run, line)
        if grown is None and at + 1 < len(lines) and _names(line, run):
            named = Run((*run.lines, line), run.gutters, (*run.over, line))
            after = _with(named, lines[at + 1])
            grown = named if after and len(after.gutters) == len(run.gutters) else None
        if grown is None:
            break
        run = grown
    kept = list(run.lines)
    while kept and not _belongs(kept):
        kept.pop()
    return Run(tuple(kept), run.gutters, tuple(line for line in run.over if line in kept))


def _names(line: Line, run: Run) -> bool:
    """Whether a line is a heading among rows: short, and begins where they begin."""
    left = min(each.box.x0 for each in run.lines)
    return (
        len(line.cells) == 1
        and len(line.words) <= NAME_WORDS
        and abs(line.box.x0 - left) < line.box.height
        and _near(run.lines[-1], line)
    )


def _belongs(lines: Sequence[Line]) -> bool:
    """Whether the last line is part of the table: several cells, or close under such a line."""
    last = lines[-1]
    if len(last.cells) > 1 or len(lines) == 1:
        return True
    above = lines[-2]
    near = last.box.y0 - above.box.y1 < GUTTER * last.box.height
    return near and len(above.cells) > 1 and len(last.words) <= LONG_WORDS


def gaps_of(line: Line) -> Free:
    boxes = [cell.box for cell in line.cells]
    return [(left.x1, right.x0) for left, right in itertools.pairwise(boxes)]


def _with(run: Run, line: Line) -> Run | None:
    """The run and one more line; None where that would not be one table."""
    if not _near(run.lines[-1], line):
        return None
    known = clear_of(run.gutters, line)
    if len(known) < max(1, KEPT * len(run.gutters)):
        return None
    new = [] if len(run.wide) > 1 else gaps_of(line)
    for above in run.lines if new else ():
        new = clear_of(new, above)
    more = [gutter for gutter in new if not any(_meet(gutter, each) for each in known)]
    return Run((*run.lines, line), sorted([*known, *more]), run.over)


def _meet(one: Gutter, other: Gutter) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def clear_of(gutters: Free, line: Line) -> Free:
    """What a line leaves of the gutters: of each the widest part without a word in it."""
    left: Free = []
    least = GUTTER * line.box.height
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


def strips_of(lines: Sequence[Line], known: Free) -> Free:
    """Strips narrower than the gutters that no word of any line stands in."""
    words = sorted((word.box for line in lines for word in line.words), key=lambda box: box.x0)
    least = STRIP * median(box.height for box in words)
    found: Free = []
    reach = words[0].x1
    for box in words[1:]:
        if box.x0 - reach >= least and not any(_meet((reach, box.x0), old) for old in known):
            found.append((reach, box.x0))
        reach = max(reach, box.x1)
    return [strip for strip in found if _has_both_sides(lines, strip)]


def _has_both_sides(lines: Sequence[Line], strip: Gutter) -> bool:
    both = sum(line.box.x0 < strip[0] and line.box.x1 > strip[1] for line in lines)
    return both >= MIN_ROWS and both * 2 >= len(lines)


def aligned_part(run: Run, drawn: Drawn) -> Part | None:
    """What the lines of a run are; nothing where they are a form."""
    body = run.body
    gutters = without_signs(body, sorted([*run.gutters, *strips_of(body, run.gutters)]))
    cells = [runs_of(line, gutters) for line in run.lines]
    low, high = min(line.box.x0 for line in body), max(line.box.x1 for line in body)
    across = [rule for rule in drawn.levels if rule.x0 < high and rule.x1 > low]
    lines = _spread(cells, len(gutters) + 1, drawn.pieces)
    table = _table(lines, [rule.y0 for rule in across if rule.width >= ACROSS * (high - low)])
    look = look_of(lines, table, across) if table and table.columns > 1 else Look.FORM
    if look is Look.FORM:
        return None
    if look is Look.TABLE and table:
        return Part(run.lines, with_row_spans(table))
    return Part(run.lines, None, tuple(_columns(lines)))


def _table(lines: Sequence[Sequence[Cell]], levels: Sequence[float]) -> Table | None:
    rows = rows_of([_band(cells) for cells in lines], levels)
    return assembled(
        Place(number, column, 1, 1 + max(band.last(column) for band in row) - column, words)
        for number, row in enumerate(rows)
        for column, words in joined(row).items()
    )


def _columns(lines: Sequence[Sequence[Cell]]) -> Iterator[Line]:
    """The cells as lines of their own, column by column."""
    cells = sorted((cell for line in lines for cell in line), key=lambda cell: cell.first)
    return (line_of(cell.words) for cell in cells)


def _spread(
    lines: Sequence[Sequence[Cell]], count: int, rules: Sequence[Box]
) -> list[Sequence[Cell]]:
    """The lines, those of a head above the first full line spread over the columns they name."""
    full = next((at for at, cells in enumerate(lines) if len(cells) >= FULL * count), 0)
    sides = sides_of(lines, count)
    return [widened(cells, sides, rules) if at < full else cells for at, cells in enumerate(lines)]


def _band(cells: Sequence[Cell]) -> Band:
    words: dict[int, list[Word]] = {}
    reach: dict[int, int] = {}
    for cell in cells:
        words.setdefault(cell.first, []).extend(cell.words)
        reach[cell.first] = max(reach.get(cell.first, 0), cell.last)
    return band_of(words, reach)
