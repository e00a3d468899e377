"""The columns of a table without rules: which of them each run of words stands in."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from docmill.reading.pages import Box, Line, Word, around

SLACK: Final = 1.0  # points
SIGNS_BEFORE: Final = frozenset(
    ["$", "€", "£", "¥", "US$", "EUR", "USD", "GBP", "CHF", "Rp", "Rp.", "("]
)
SIGNS_BEHIND: Final = frozenset(["%", ")", ")%", "*", "**", "***", "†", "‡", "€", "EUR"])
HEAD_LINES: Final = 2
UNDER: Final = 1.2  # of the height below its middle: a rule that underlines a cell
BETTER: Final = 3.0  # points nearer to the middle of more columns

Gutter = tuple[float, float]
Gutters = Sequence[Gutter]
Sides = list[tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class Run:
    """Words of one line that make a cell, and the columns they stand in, both ends included."""

    words: tuple[Word, ...]
    first: int
    last: int

    @property
    def box(self) -> Box:
        return around([word.box for word in self.words])


def runs_of(line: Line, gutters: Gutters) -> list[Run]:
    """The cells of a line: cut at wide gaps and at each gutter that it leaves free."""
    runs: list[list[Word]] = []
    for cell in line.cells:
        runs.append([cell.words[0]])
        for one, other in pairwise(cell.words):
            if _parted(one.box, other.box, gutters):
                runs.append([])
            runs[-1].append(other)
    return [_run(words, gutters) for words in runs]


def _parted(one: Box, other: Box, gutters: Gutters) -> bool:
    return any(one.x1 <= low + SLACK and other.x0 >= high - SLACK for low, high in gutters)


def _run(words: Sequence[Word], gutters: Gutters) -> Run:
    box = around([word.box for word in words])
    first = sum((low + high) / 2 < (words[0].box.x0 + words[0].box.x1) / 2 for low, high in gutters)
    last = sum(low + SLACK < box.x1 and (low + high) / 2 < box.x1 for low, high in gutters)
    return Run(tuple(words), first, max(first, last))


def without_signs(lines: Sequence[Line], gutters: Gutters) -> list[Gutter]:
    """The gutters but for those between a sign of money and its amount, or before a per cent."""
    body = [run for line in lines[HEAD_LINES:] for run in runs_of(line, gutters)]
    texts: dict[int, set[str]] = {}
    for run in body:
        texts.setdefault(run.first, set()).update(word.text for word in run.words)
    return [
        gutter
        for at, gutter in enumerate(gutters)
        if not _only(texts.get(at), SIGNS_BEFORE) and not _only(texts.get(at + 1), SIGNS_BEHIND)
    ]


def _only(found: set[str] | None, signs: frozenset[str]) -> bool:
    return bool(found) and found <= signs


def sides_of(lines: Sequence[Sequence[Run]], count: int) -> Sides:
    """From where to where each column has words, those of cells over several left out."""
    sides: Sides = [None] * count
    for run in (run for runs in lines for run in runs if run.first == run.last):
        known = sides[run.first] or (run.box.x0, run.box.x1)
        sides[run.first] = (min(known[0], run.box.x0), max(known[1], run.box.x1))
    return sides


def widened(runs: Sequence[Run], sides: Sides, rules: Sequence[Box]) -> list[Run]:
    """Cells of a head's upper line, each over the columns it is ruled off from or centred on."""
    found: list[Run] = []
    for at, run in enumerate(runs):
        low = found[-1].last + 1 if found else 0
        high = runs[at + 1].first - 1 if at + 1 < len(runs) else len(sides) - 1
        below = next((rule for rule in rules if _underlines(rule, run.box)), None)
        under = _columns_over(below, sides) if below else []
        if under:
            found.append(Run(run.words, max(under[0], low), max(under[-1], low)))
            continue
        found.append(_widest(run, range(low, run.first + 1), range(run.last, high + 1), sides))
    return found


def _underlines(rule: Box, box: Box) -> bool:
    near = 0 <= rule.y0 - box.middle <= UNDER * box.height
    return near and rule.x0 <= box.x0 + SLACK and rule.x1 >= box.x1 - SLACK


def _columns_over(rule: Box, sides: Sides) -> list[int]:
    return [
        at
        for at, side in enumerate(sides)
        if side and rule.x0 <= (side[0] + side[1]) / 2 <= rule.x1
    ]


def _widest(run: Run, firsts: range, lasts: range, sides: Sides) -> Run:
    middle = (run.box.x0 + run.box.x1) / 2
    best, least = run, _off(middle, run.first, run.last, sides) - BETTER
    for first in reversed(firsts):
        for last in lasts:
            off = _off(middle, first, last, sides)
            if off < least:
                best, least = Run(run.words, first, last), off
    return best


def _off(middle: float, first: int, last: int, sides: Sides) -> float:
    """How far from the middle of these columns, whichever way their words are set in them."""
    start, end = sides[first], sides[last]
    if not start or not end:
        return float("inf")
    before = sides[first - 1] if first else None
    after = sides[last + 1] if last + 1 < len(sides) else None
    middles = [(start[0] + end[1]) / 2]
    if before:
        middles.append((before[1] + end[1]) / 2)
    if after:
        middles.append((start[0] + after[0]) / 2)
    return min(abs(middle - each) for each in middles)
