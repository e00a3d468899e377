"""Words into lines, and lines into the order in which a person reads them: columns one by one."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from statistics import median
from typing import Any, Final

from docmill.reading.initials import with_initials
from docmill.reading.pages import Box, Line, Word, line_of

SAME_ROW: Final = 0.4  # of the height: how far middles on one row may lie apart
SAME_PLACE: Final = 0.25
ALIGNED: Final = 0.12
MIN_ROWS: Final = 4
MIN_GUTTER: Final = 0.9
PROSE_WORDS: Final = 3
PROSE_FILL: Final = 0.55
LEVEL_SHARE: Final = 0.3
STRETCH: Final = 4.0  # points
SHARED: Final = 0.4  # of the rows: a gap in so many is a gutter
IN_STEP: Final = 0.7  # of the gaps between rows
ALIGNED_BREAKS: Final = 2.0  # points
BREAK: Final = 0.2  # of the height, beyond the usual step
MAX_COLUMNS: Final = 12
MAX_WORDS: Final = 5000  # more on a page are read row by row: looking for columns costs too much


def upright(sides: Any, turn: int, size: tuple[float, float]) -> tuple[Any, Any, Any, Any]:
    """The sides of a box (numbers or arrays) as seen when text at this angle is turned upright."""
    x0, y0, x1, y1 = sides
    width, height = size
    turned = {
        0: (x0, y0, x1, y1),
        90: (y0, width - x1, y1, width - x0),
        180: (width - x1, height - y1, width - x0, height - y0),
        270: (height - y1, x0, height - y0, x1),
    }
    return turned[turn]


@dataclass(frozen=True, slots=True)
class Placed:
    """A word and its box in the frame in which it stands upright."""

    word: Word
    box: Box


Row = list[Placed]
Gutter = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Refused:
    """A gutter that parts no columns: not looked at again before this row, or tables cost much."""

    gutter: Gutter
    until: int


def lines_of(words: Sequence[Word], size: tuple[float, float]) -> tuple[Line, ...]:
    """All lines in reading order: upright text first, then each way of turning by itself."""
    lines: list[Line] = []
    for angle in sorted({word.angle for word in words}):
        same = [word for word in words if word.angle == angle]
        same = same if angle else with_initials(same)
        if angle % 90:
            lines.append(line_of(same))  # a watermark across the page
            continue
        placed = [Placed(word, _turned(word, size)) for word in same]
        columns = MAX_COLUMNS if len(placed) <= MAX_WORDS else 0
        lines += [_line(row) for row in _ordered(_rows(placed), columns)]
    return tuple(lines)


def rows_of(words: Sequence[Word], size: tuple[float, float]) -> tuple[Line, ...]:
    """Upright words in rows across the whole page, whatever columns there are."""
    return tuple(_line(row) for row in _rows([Placed(word, _turned(word, size)) for word in words]))


def _turned(word: Word, size: tuple[float, float]) -> Box:
    box = word.box
    if not word.angle:
        return box
    return Box(*upright((box.x0, box.y0, box.x1, box.y1), word.angle, size))


def _rows(placed: Sequence[Placed]) -> list[Row]:
    """Words whose middles are level, from top to bottom, each row from left to right."""
    rows: list[Row] = []
    for item in sorted(placed, key=lambda item: (item.box.middle, item.box.x0)):
        first = rows[-1][0].box if rows else None
        reach = SAME_ROW * min(first.height, item.box.height) if first else 0
        if first and item.box.middle - first.middle <= max(reach, 0.5):
            rows[-1].append(item)
        else:
            rows.append([item])
    return [_once(sorted(row, key=lambda item: item.box.x0)) for row in rows]


def _once(row: Row) -> Row:
    """A row without what is drawn twice in one place: shadows and fake bold."""
    kept = row[:1]
    for item in row[1:]:
        last = kept[-1]
        near = item.box.x0 - last.box.x0 < SAME_PLACE * item.box.height
        if not near or item.word.text != last.word.text:
            kept.append(item)
    return kept


def _line(row: Row) -> Line:
    words = [item.word for item in row]
    if 2 * sum(map(_right_to_left, words)) > len(words):
        words.reverse()
    return line_of(words)


def _right_to_left(word: Word) -> bool:
    return not word.text.isascii() and unicodedata.bidirectional(word.text[0]) in {"R", "AL"}


def _ordered(rows: list[Row], depth: int) -> list[Row]:
    """Rows, with runs that stand in two columns cut into the left one, then the right one."""
    done: list[Row] = []
    refused: list[Refused] = []
    start = 0
    while start < len(rows):
        end, gutter = _column_run(rows, start, refused) if depth else (start + 1, None)
        if gutter is None:
            done.append(rows[start])
            start += 1
            continue
        for side in _sides(rows[start:end], gutter):
            done += _ordered(_rows([item for row in side for item in row]), depth - 1)
        start = end
    return done


def _gaps(row: Row) -> list[Gutter]:
    """The gaps in a row that are wide enough to lie between columns."""
    gaps: list[Gutter] = []
    reach = row[0].box.x1
    for item in row[1:]:
        if item.box.x0 - reach >= MIN_GUTTER * item.box.height:
            gaps.append((reach, item.box.x0))
        reach = max(reach, item.box.x1)
    return gaps


def _column_run(rows: list[Row], start: int, refused: list[Refused]) -> tuple[int, Gutter | None]:
    """The longest run of rows from `start` that share a gutter, if it reads as two columns."""
    best: tuple[int, Gutter | None] = (start + 1, None)
    refused[:] = [known for known in refused if start < known.until]
    near = [item for row in rows[start : start + 2] for item in row]
    for gutter in _gaps(sorted(near, key=lambda item: item.box.x0)):
        if any(gutter[0] < known.gutter[1] and known.gutter[0] < gutter[1] for known in refused):
            continue
        end, shared = _follow(rows, start, gutter)
        if end - start < MIN_ROWS:
            refused.append(Refused(shared, start + (end - start) // 4))
        elif _in_step(*_sides(rows[start:end], shared)):
            refused.append(Refused(shared, end))
        elif not _independent(rows[start:end], shared):
            refused.append(Refused(shared, start + (end - start) // 4))
        elif end > best[0]:
            best = (end, shared)
    return best


def _follow(rows: list[Row], start: int, gutter: Gutter) -> tuple[int, Gutter]:
    """How far down a gutter goes, and what is left of its width there."""
    for end in range(start + 1, len(rows)):
        low, high = _widest(rows[end], gutter)
        if high - low < MIN_GUTTER * rows[end][0].box.height:
            return end, gutter
        gutter = low, high
    return len(rows), gutter


def _widest(row: Row, gutter: Gutter) -> Gutter:
    """The widest part of a gutter in which no word of a row stands."""
    reach, high = gutter
    best = (reach, reach)
    for item in row:
        if item.box.x0 >= high:
            break
        if item.box.x0 - reach > best[1] - best[0]:
            best = (reach, item.box.x0)
        reach = max(reach, item.box.x1)
    return (reach, high) if high - reach > best[1] - best[0] else best


def _sides(rows: list[Row], gutter: Gutter) -> tuple[list[Row], list[Row]]:
    left = [[item for item in row if item.box.x1 <= gutter[0]] for row in rows]
    right = [[item for item in row if item.box.x1 > gutter[0]] for row in rows]
    return [row for row in left if row], [row for row in right if row]


def _independent(rows: list[Row], gutter: Gutter) -> bool:
    """Whether the two sides are read one after the other, not across like a table."""
    left, right = _sides(rows, gutter)
    if len(left) < MIN_ROWS - 1 or len(right) < MIN_ROWS - 1:
        return False
    prose = _prose(left), _prose(right)
    if all(prose):
        return True
    if _level_share(rows, gutter) >= LEVEL_SHARE:
        return False
    return any(prose) or (_one_celled(left) and _one_celled(right))


def _in_step(left: list[Row], right: list[Row]) -> bool:
    """Whether both sides leave the same gaps between their rows, as the cells of a table do."""
    if min(len(left), len(right)) < MIN_ROWS:
        return False
    usual = min(_usual_step(left), _usual_step(right))
    one, other = _breaks(left, usual), _breaks(right, usual)
    same = sum(any(abs(y - each) <= ALIGNED_BREAKS for each in other) for y in one)
    return same >= MIN_ROWS - 1 and same >= IN_STEP * max(len(one), len(other))


def _usual_step(rows: list[Row]) -> float:
    steps = sorted(below[0].box.y0 - above[0].box.y0 for above, below in pairwise(rows))
    return steps[len(steps) * 2 // 5]


def _breaks(rows: list[Row], usual: float) -> list[float]:
    """Where rows begin that stand further below the one above than is usual."""
    return [
        below[0].box.y0
        for above, below in pairwise(rows)
        if below[0].box.y0 - above[0].box.y0 > usual + BREAK * below[0].box.height
    ]


def _one_celled(rows: list[Row]) -> bool:
    return median(len(_gaps(row)) for row in rows) == 0


def _level_share(rows: list[Row], gutter: Gutter) -> float:
    """The share of rows with text on both sides that stands on one baseline."""
    level = 0
    for row in rows:
        left = [item.box for item in row if item.box.x1 <= gutter[0]]
        right = [item.box for item in row if item.box.x1 > gutter[0]]
        if left and right:
            level += abs(left[-1].middle - right[0].middle) <= ALIGNED * right[0].height
    fewer = min(len(side) for side in _sides(rows, gutter))
    return level / fewer


def _prose(rows: list[Row]) -> bool:
    """Whether rows look like running text: several words a cell, most of the width filled."""
    widths = [row[-1].box.x1 - row[0].box.x0 for row in rows]
    if median(widths) < PROSE_FILL * max(widths):
        return False
    gaps = [_gaps(row) for row in rows]
    shared = _shared(gaps) if median(map(len, gaps)) else {}
    return median(map(_words_a_cell, rows, gaps, repeat(shared))) >= PROSE_WORDS


def _shared(gaps: Sequence[Sequence[Gutter]]) -> dict[int, int]:
    """In how many rows there is a gap, for each stretch of the page's width."""
    counts: Counter[int] = Counter()
    for row in gaps:
        for low, high in row:
            counts.update(range(int(low / STRETCH), int(high / STRETCH) + 1))
    return {stretch: count for stretch, count in counts.items() if count >= SHARED * len(gaps)}


def _words_a_cell(row: Row, gaps: Sequence[Gutter], shared: Mapping[int, int]) -> float:
    """Words by cell; a gap that other rows do not have there is one of a spaced-out line."""
    wordy = sum(item.word.text[0].isalpha() for item in row)
    apart = sum(int((low + high) / 2 / STRETCH) in shared for low, high in gaps)
    return wordy / (apart + 1)
