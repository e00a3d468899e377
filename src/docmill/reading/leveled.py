"""Tables with level rules alone: above and below, under the head, at times between all rows."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

import numpy as np

from docmill.reading.aligned import Run, aligned_part, clear_of, gaps_of, strips_of
from docmill.reading.order import rows_of
from docmill.reading.pages import Box, Line, Page
from docmill.reading.ruled import Rules, joined_rules
from docmill.reading.tables import Table, upright

SAME_END: Final = 4.0  # points
SHORTEST: Final = 60.0
MIN_RULES: Final = 3
MAX_LEVELS: Final = 200
NAME_WORDS: Final = 8
NEAR: Final = 1.2  # of the height
KEPT: Final = 0.6
LONG_WORDS: Final = 14


def leveled_tables(page: Page, known: Sequence[Table]) -> list[Table]:
    """The tables between rules that start and end together, but for those known already."""
    level = joined_rules(page.rules, steep=False)
    if not MIN_RULES <= len(level.at) <= MAX_LEVELS:
        return []
    found: list[Table] = []
    for frame in _stacks(level):
        lines = _lines(page, frame)
        for start, end in _stretches(lines, frame):
            table = _table(lines, start, end, page)
            if table and not any(_meet(table.box, other.box) for other in [*known, *found]):
                found.append(table)
    return found


def _stacks(level: Rules) -> Iterator[list[Box]]:
    """Rules of one place and length, from top to bottom."""
    left = np.ones(len(level.at), np.bool_)
    while left.any():
        first = int(np.flatnonzero(left)[0])
        same = left & (np.abs(level.start - level.start[first]) <= SAME_END)
        same &= np.abs(level.end - level.end[first]) <= SAME_END
        left &= ~same
        if same.sum() >= MIN_RULES and level.end[first] - level.start[first] >= SHORTEST:
            sides = zip(level.start[same], level.at[same], level.end[same], strict=True)
            yield [Box(float(x0), float(y), float(x1), float(y)) for x0, y, x1 in sides]


def _lines(page: Page, stack: Sequence[Box]) -> list[Line]:
    low, high = stack[0].x0 - SAME_END, stack[0].x1 + SAME_END
    words = [
        word
        for line in upright(page)
        for word in line.words
        if low <= word.box.x0 and word.box.x1 <= high
    ]
    return list(rows_of(words, (page.width, page.height)))


def _stretches(lines: Sequence[Line], stack: Sequence[Box]) -> Iterator[tuple[int, int]]:
    """From which line to which the rules may hold a table: running text between them ends one."""
    start, count = 0, 0
    for above, below in pairwise(stack):
        inside = [at for at, line in enumerate(lines) if above.y0 < line.box.middle < below.y0]
        if not inside:
            continue
        if _is_text([lines[at] for at in inside]):
            if count:
                yield start, inside[0]
            count = 0
            continue
        start, count = (start, count + 1) if count else (inside[0], 1)
        end = inside[-1] + 1
        if below is stack[-1]:
            yield start, end


def _is_text(lines: Sequence[Line]) -> bool:
    left = min(line.box.x0 for line in lines)
    plain = all(len(line.cells) == 1 and line.box.x0 < left + line.box.height for line in lines)
    return plain and sum(len(line.words) for line in lines) > NAME_WORDS


def _table(lines: Sequence[Line], start: int, end: int, page: Page) -> Table | None:
    gutters = _gutters(lines[start:end])
    if not gutters:
        return None
    start, end = _extended(lines, start, end, gutters)
    chosen = lines[start:end]
    gutters = _gutters(chosen)
    wide = [line for line in chosen if len(line.cells) > 1]
    if not wide or median(len(line.words) / len(line.cells) for line in wide) > LONG_WORDS:
        return None
    over = tuple(line for line in chosen if len(clear_of(gutters, line)) < len(gutters))
    part = aligned_part(Run(tuple(chosen), gutters, over), page)
    return part.table if part else None


def _gutters(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """What all lines that show the columns leave free of the gaps in the fullest of them."""
    body = _body(lines)
    fullest = max(body, key=lambda line: len(line.cells))
    gutters = gaps_of(fullest)
    for line in body:
        gutters = clear_of(gutters, line)
    gutters = sorted([*gutters, *strips_of(body, gutters)])
    for line in lines[lines.index(fullest) :]:
        gutters = [(clear_of([gutter], line) or [gutter])[0] for gutter in gutters]
    return gutters


def _body(lines: Sequence[Line]) -> list[Line]:
    """The lines that show the columns: not those of one cell, or of few, as in a head."""
    most = max(len(line.cells) for line in lines)
    return [line for line in lines if len(line.cells) * 2 > most] if most > 1 else list(lines)


def _extended(
    lines: Sequence[Line], start: int, end: int, gutters: list[tuple[float, float]]
) -> tuple[int, int]:
    """With the lines of the same columns right above and below, outside the rules."""
    while start and _fits(lines[start - 1], lines[start], gutters):
        start -= 1
    while end < len(lines) and _fits(lines[end], lines[end - 1], gutters):
        end += 1
    return start, end


def _fits(line: Line, beside: Line, gutters: list[tuple[float, float]]) -> bool:
    upper, lower = sorted((line.box, beside.box), key=lambda box: box.y0)
    if lower.y0 - upper.y1 > NEAR * line.box.height:
        return False
    heads = upper is line.box and line.box.x0 >= gutters[0][0]
    return heads or (len(line.cells) > 1 and len(clear_of(gutters, line)) >= KEPT * len(gutters))


def _meet(one: Box, other: Box) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1
