"""Words into lines, and lines into the order in which a person reads them: columns one by one."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from math import inf
from operator import attrgetter
from statistics import median
from typing import Any, Final, TypeVar

from docmill.reading.pages import Box, Line, Word, make_line

SAME_ROW: Final = 0.4  # of the height: how far middles on one row may lie apart
LEAST_ROW: Final = 0.5  # points: nearer middles are on one row, however small the letters
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


def turn_upright(sides: Any, turn: int, size: tuple[float, float]) -> tuple[Any, Any, Any, Any]:
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


def turn_box(box: Box, turn: int, size: tuple[float, float]) -> Box:
    """A box on a page of this size as seen when text at this angle is turned upright."""
    return Box(*turn_upright((box.x0, box.y0, box.x1, box.y1), turn, size)) if turn else box


@dataclass(slots=True)  # not frozen, as boxes
class PlacedWord:
    """A word and its box in the frame in which it stands upright."""

    word: Word
    box: Box


_LEFT: Final = attrgetter("box.x0")
HasBox = TypeVar("HasBox", Word, PlacedWord)
WordRow = list[PlacedWord]
Gutter = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RefusedGutter:
    """A gutter that parts no columns: not looked at again before this row, or tables cost much."""

    gutter: Gutter
    until: int


def order_lines(words: Sequence[Word], size: tuple[float, float]) -> tuple[Line, ...]:
    """All lines in reading order: first the way most text runs, then each other by itself."""
    lines: list[Line] = []
    first = find_turn(words)
    for angle in sorted({word.angle for word in words}, key=lambda angle: (angle != first, angle)):
        same = [word for word in words if word.angle == angle]
        same = same if angle else join_initials(same)
        if angle % 90:
            lines.append(make_line(same))  # a watermark across the page
            continue
        placed = [PlacedWord(word, turn_box(word.box, word.angle, size)) for word in same]
        columns = MAX_COLUMNS if len(placed) <= MAX_WORDS else 0
        lines += [_make_row_line(row) for row in _order_columns(_group_rows(placed), columns)]
    return tuple(lines)


def find_turn(words: Iterable[Word]) -> int:
    """The quarter turn at which most letters run; 0 where that is upright or none."""
    words = list(words)
    if {word.angle for word in words} <= {0}:
        return 0
    letters: Counter[int] = Counter()
    for word in words:
        letters[word.angle] += len(word.text)
    angle, count = letters.most_common(1)[0] if letters else (0, 0)
    return angle if angle % 90 == 0 and 2 * count > letters.total() else 0


def find_rows(words: Sequence[Word], size: tuple[float, float]) -> tuple[Line, ...]:
    """Upright words in rows across the whole page, whatever columns there are."""
    placed = (PlacedWord(word, turn_box(word.box, word.angle, size)) for word in words)
    return tuple(_make_row_line(row) for row in _group_rows(placed))


def group_by_level(items: Iterable[HasBox]) -> list[list[HasBox]]:
    """Things whose middles are level, from top to bottom, each row from left to right."""
    rows: list[list[HasBox]] = []
    row: list[HasBox] = []
    middle, height = -inf, 0.0  # of the first in the row
    # Each box is asked once: sorting with keys and asking again takes twice as long.
    # What differs by less than its middle tells comes in the order of its edges, however drawn.
    placed = [
        (box.middle, box.x0, box.y0, box.x1, box.y1, at, item)
        for at, item in enumerate(items)
        for box in (item.box,)
    ]
    for own, *_, item in sorted(placed):
        tall = item.box.height
        apart = own - middle
        if apart <= LEAST_ROW or (apart <= SAME_ROW * height and apart <= SAME_ROW * tall):
            row.append(item)
        else:
            row = [item]
            rows.append(row)
            middle, height = own, tall
    return [sorted(row, key=_LEFT) if len(row) > 1 else row for row in rows]


def _group_rows(placed: Iterable[PlacedWord]) -> list[WordRow]:
    return [_drop_doubles(row) for row in group_by_level(placed)]


def _drop_doubles(row: WordRow) -> WordRow:
    """A row without what is drawn twice in one place: shadows and fake bold."""
    kept = row[:1]
    for item in row[1:]:
        last = kept[-1]
        near = item.box.x0 - last.box.x0 < SAME_PLACE * item.box.height
        if not near or item.word.text != last.word.text:
            kept.append(item)
    return kept


def _make_row_line(row: WordRow) -> Line:
    words = [item.word for item in row]
    if 2 * sum(map(_is_right_to_left, words)) > len(words):
        words.reverse()
    return make_line(words)


def _is_right_to_left(word: Word) -> bool:
    return not word.text.isascii() and unicodedata.bidirectional(word.text[0]) in {"R", "AL"}


def _order_columns(rows: list[WordRow], depth: int) -> list[WordRow]:
    """Rows, with runs that stand in two columns cut into the left one, then the right one."""
    done: list[WordRow] = []
    refused: list[RefusedGutter] = []
    start = 0
    while start < len(rows):
        end, gutter = _find_column_run(rows, start, refused) if depth else (start + 1, None)
        if gutter is None:
            done.append(rows[start])
            start += 1
            continue
        for side in _split_sides(rows[start:end], gutter):
            done += _order_columns(_group_rows([item for row in side for item in row]), depth - 1)
        start = end
    return done


def _find_gaps(row: WordRow) -> list[Gutter]:
    """The gaps in a row that are wide enough to lie between columns."""
    gaps: list[Gutter] = []
    reach = row[0].box.x1
    for item in row[1:]:
        box = item.box
        if box.x0 > reach and box.x0 - reach >= MIN_GUTTER * box.height:
            gaps.append((reach, box.x0))
        if box.x1 > reach:
            reach = box.x1
    return gaps


def _find_column_run(
    rows: list[WordRow], start: int, refused: list[RefusedGutter]
) -> tuple[int, Gutter | None]:
    """The longest run of rows from `start` that share a gutter, if it reads as two columns."""
    best: tuple[int, Gutter | None] = (start + 1, None)
    refused[:] = [known for known in refused if start < known.until]
    near = [item for row in rows[start : start + 2] for item in row]
    for gutter in _find_gaps(sorted(near, key=_LEFT)):
        if any(gutter[0] < known.gutter[1] and known.gutter[0] < gutter[1] for known in refused):
            continue
        end, shared = _follow_gutter(rows, start, gutter)
        if end - start < MIN_ROWS:
            refused.append(RefusedGutter(shared, start + (end - start) // 4))
            continue
        left, right = _split_sides(rows[start:end], shared)
        if _are_in_step(left, right):
            refused.append(RefusedGutter(shared, end))
        elif not _are_independent(left, right, rows[start:end], shared):
            refused.append(RefusedGutter(shared, start + (end - start) // 4))
        elif end > best[0]:
            best = (end, shared)
    return best


def _follow_gutter(rows: list[WordRow], start: int, gutter: Gutter) -> tuple[int, Gutter]:
    """How far down a gutter goes, and what is left of its width there."""
    for end in range(start + 1, len(rows)):
        low, high = _widest_part(rows[end], gutter)
        if high - low < MIN_GUTTER * rows[end][0].box.height:
            return end, gutter
        gutter = low, high
    return len(rows), gutter


def _widest_part(row: WordRow, gutter: Gutter) -> Gutter:
    """The widest part of a gutter in which no word of a row stands."""
    reach, high = gutter
    best = (reach, reach)
    for item in row:
        box = item.box
        if box.x0 >= high:
            break
        if box.x0 - reach > best[1] - best[0]:
            best = (reach, box.x0)
        if box.x1 > reach:
            reach = box.x1
    return (reach, high) if high - reach > best[1] - best[0] else best


def _split_sides(rows: list[WordRow], gutter: Gutter) -> tuple[list[WordRow], list[WordRow]]:
    edge = gutter[0]
    lefts: list[WordRow] = []
    rights: list[WordRow] = []
    for row in rows:
        left = [item for item in row if item.box.x1 <= edge]
        if not left:
            rights.append(row)
            continue
        lefts.append(left)
        if len(left) < len(row):
            rights.append([item for item in row if item.box.x1 > edge])
    return lefts, rights


def _are_independent(
    left: list[WordRow], right: list[WordRow], rows: list[WordRow], gutter: Gutter
) -> bool:
    """Whether the two sides of rows are read one after the other, not across like a table."""
    if len(left) < MIN_ROWS - 1 or len(right) < MIN_ROWS - 1:
        return False
    prose = _is_prose(left)
    if prose and _is_prose(right):
        return True
    if _level_share(rows, gutter) >= LEVEL_SHARE:
        return False
    return prose or _is_prose(right) or (_has_one_cell(left) and _has_one_cell(right))


def _are_in_step(left: list[WordRow], right: list[WordRow]) -> bool:
    """Whether both sides leave the same gaps between their rows, as the cells of a table do."""
    if min(len(left), len(right)) < MIN_ROWS:
        return False
    usual = min(_usual_step(left), _usual_step(right))
    one, other = _find_breaks(left, usual), _find_breaks(right, usual)
    same = sum(any(abs(y - each) <= ALIGNED_BREAKS for each in other) for y in one)
    return same >= MIN_ROWS - 1 and same >= IN_STEP * max(len(one), len(other))


def _usual_step(rows: list[WordRow]) -> float:
    tops = [row[0].box.y0 for row in rows]
    steps = sorted([below - above for above, below in pairwise(tops)])
    return steps[len(steps) * 2 // 5]


def _find_breaks(rows: list[WordRow], usual: float) -> list[float]:
    """Where rows begin that stand further below the one above than is usual."""
    return [
        below[0].box.y0
        for above, below in pairwise(rows)
        if below[0].box.y0 - above[0].box.y0 > usual + BREAK * below[0].box.height
    ]


def _has_one_cell(rows: list[WordRow]) -> bool:
    return median(len(_find_gaps(row)) for row in rows) == 0


def _level_share(rows: list[WordRow], gutter: Gutter) -> float:
    """The share of rows with text on both sides that stands on one baseline."""
    level = lefts = rights = 0
    edge = gutter[0]
    for row in rows:
        last = first = None
        for item in row:
            if item.box.x1 <= edge:
                last = item.box
            elif first is None:
                first = item.box
        if last and first:
            level += abs(last.middle - first.middle) <= ALIGNED * first.height
        lefts, rights = lefts + (last is not None), rights + (first is not None)
    return level / min(lefts, rights)


def _is_prose(rows: list[WordRow]) -> bool:
    """Whether rows look like running text: several words a cell, most of the width filled."""
    if median(map(len, rows)) < PROSE_WORDS:
        return False
    widths = [row[-1].box.x1 - row[0].box.x0 for row in rows]
    if median(widths) < PROSE_FILL * max(widths):
        return False
    gaps = [_find_gaps(row) for row in rows]
    shared = _count_shared_gaps(gaps) if median(map(len, gaps)) else {}
    return median(map(_words_per_cell, rows, gaps, repeat(shared))) >= PROSE_WORDS


def _count_shared_gaps(gaps: Sequence[Sequence[Gutter]]) -> dict[int, int]:
    """In how many rows there is a gap, for each stretch of the page's width."""
    counts: Counter[int] = Counter()
    for row in gaps:
        for low, high in row:
            counts.update(range(int(low / STRETCH), int(high / STRETCH) + 1))
    least = SHARED * len(gaps)
    return {stretch: count for stretch, count in counts.items() if count >= least}


def _words_per_cell(row: WordRow, gaps: Sequence[Gutter], shared: Mapping[int, int]) -> float:
    """Words by cell; a gap that other rows do not have there is one of a spaced-out line."""
    wordy = sum([item.word.text[0].isalpha() for item in row])
    apart = sum(int((low + high) / 2 / STRETCH) in shared for low, high in gaps)
    return wordy / (apart + 1)


INITIAL_HEIGHT: Final = 1.7  # times the usual height
INITIAL_GAP: Final = 0.8  # of the usual height
MAX_INITIALS: Final = (
    50  # of a page: more tall letters are no initials, and looking for rests costs much
)
ONE_LETTER_WORDS: Final = frozenset("AIOY")  # initials that are words by themselves


def join_initials(words: Sequence[Word]) -> Sequence[Word]:
    """The words, with each large initial and the rest of its word made one."""
    single = [at for at, word in enumerate(words) if len(word.text) == 1 and word.text.isupper()]
    usual = median(word.box.height for word in words) if single else 0.0
    initials = [at for at in single if words[at].box.height > INITIAL_HEIGHT * usual]
    if not 0 < len(initials) <= MAX_INITIALS:
        return words
    found: list[Word | None] = list(words)
    for at in initials:
        _join_initial(found, at, _find_rest(words[at].box, found, usual))
    return [word for word in found if word]


def _join_initial(found: list[Word | None], at: int, rest_at: int | None) -> None:
    """The initial at one place with the rest of its word at the other; None is left behind."""
    initial, rest = found[at], found[rest_at] if rest_at is not None else None
    if not initial or not rest or rest_at is None or not rest.text[0].isalpha():
        return
    box = Box(initial.box.x0, rest.box.y0, rest.box.x1, rest.box.y1)
    if initial.text in ONE_LETTER_WORDS:
        found[at] = replace(initial, box=replace(box, x1=initial.box.x1))
    else:
        found[rest_at] = replace(rest, text=initial.text + rest.text, box=box)
        found[at] = None


def _find_rest(initial: Box, words: Sequence[Word | None], usual: float) -> int | None:
    """Where the uppermost word stands right behind an initial; it is of the usual size itself."""
    behind = [
        (word.box.y0, at)
        for at, word in enumerate(words)
        if word
        and -2 <= word.box.x0 - initial.x1 <= INITIAL_GAP * usual
        and initial.y0 < word.box.middle < initial.y1
        and word.box.height <= INITIAL_HEIGHT * usual
    ]
    return min(behind, default=(0.0, None))[1]
