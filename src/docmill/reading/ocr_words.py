"""Words as Tesseract tells them, in pixels, until they stand in points on the shown page."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import hypot
from statistics import median
from typing import Any, Final

from docmill.reading.cleaning import clean
from docmill.reading.misread import mend_heading, mend_text, part_glued
from docmill.reading.order import turn_box
from docmill.reading.pages import Box, Word, bounding_box

try:
    import tesserocr
except ImportError:
    tesserocr = None

LEAST: Final = 30.0  # a word below is noise
LEAST_MARK: Final = 80.0  # so is a dash or a bar below: mostly a rule or a fold
BEARING: Final = 0.045  # of the height: what fonts keep free on each side of a word
ASCENT: Final = 0.2  # of a row's height: what fonts keep free above their letters
SPLIT: Final = 0.65  # of the height: a number in two words is one up to this gap
PITCH: Final = 1.6  # of a figure's width: so wide is a space even in fonts of one width
SPACE: Final = 0.3  # of the height: what stands so near is one number
LEVEL: Final = 0.002  # a slope below needs no levelling
_MEANT: Final = frozenset("€$£%:#&+=@")  # marks that look like no rule or fold
_PLAIN: Final = re.compile(r"(?:[^\W\d_]?[a-zß-ÿ]{3,}|[A-ZÀ-Þ]{4,})[-:.,]?")
_GROUP_FIRST: Final = re.compile(r"[-+(]?\d{1,3}")
_GROUP_NEXT: Final = re.compile(r"\d{3}(?!\d)")
_MARK_FIRST: Final = re.compile(r"[.,]\d{2,3}(?!\d)")
_MARK_LAST: Final = re.compile(r"\d[.,]$")
_GROUP: Final = re.compile(r"\d{3}(?![\d/-])|\d\d$")


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One word in pixels of the picture it was read from, and the slope of its line."""

    text: str
    box: Box
    sure: float
    slope: float
    run: float
    angle: int = 0


def is_credible(word: OcrWord) -> bool:
    """A plain word is kept however unsure: Tesseract doubts whatever its dictionary lacks."""
    if any(char.isalnum() for char in word.text):
        return word.sure >= LEAST or _PLAIN.fullmatch(word.text) is not None
    return word.sure >= (LEAST if set(word.text) <= _MEANT else LEAST_MARK)


def read_words(engine: Any) -> Iterator[OcrWord]:
    library: Any = tesserocr
    level = library.RIL
    words = engine.GetIterator()
    for word in library.iterate_level(words, level.WORD) if words else ():
        if word.Empty(level.WORD):
            continue
        text = mend_text("".join(clean(word.GetUTF8Text(level.WORD) or "").split()))
        line = word.Baseline(level.TEXTLINE)
        if text and line:
            yield from _part_glued(_make_word(word, text, line))


def _part_glued(word: OcrWord) -> Iterator[OcrWord]:
    """A word, or the two that it is, each as wide as its share of the letters."""
    left, pitch = word.box.x0, word.box.width / len(word.text)
    for text in part_glued(word.text):
        right = left + pitch * len(text)
        yield replace(word, text=text, box=replace(word.box, x0=left, x1=right))
        left = right


def mend_headings(words: list[OcrWord]) -> Iterator[OcrWord]:
    """Words, those that stand alone in their row as headings are spelled."""
    for word in words:
        text = mend_heading(word.text)
        if text == word.text or any(_is_beside(word, other) for other in words):
            yield word
        else:
            yield replace(word, text=text)


def _is_beside(word: OcrWord, other: OcrWord) -> bool:
    gap = max(other.box.x0 - word.box.x1, word.box.x0 - other.box.x1)
    level = other.box.y0 < word.box.middle < other.box.y1
    return other is not word and level and gap < word.box.height


def _make_word(word: Any, text: str, line: Any) -> OcrWord:
    """As high as its line, like text in a PDF: a dash is as high as the letters beside it."""
    assert tesserocr
    level = tesserocr.RIL.WORD
    left, top, right, bottom = word.BoundingBox(level)
    (x0, y0), (x1, y1) = line
    sure = word.Confidence(level)
    if x1 - x0 <= abs(y1 - y0):
        angle = 90 if y1 > y0 else 270
        return OcrWord(text, Box(left, top, right, bottom), sure, 0.0, 0.0, angle)
    slope = (y1 - y0) / (x1 - x0)
    base = y0 + slope * ((left + right) / 2 - x0)
    row = word.RowAttributes()
    low = base - row["descenders"]
    high = low - row["row_height"] * (1 + ASCENT)
    if not high < (top + bottom) / 2 < low:
        high, low = top, bottom
    return OcrWord(text, Box(left, high, right, low), sure, slope, hypot(x1 - x0, y1 - y0))


def join_numbers(words: Iterable[OcrWord]) -> list[OcrWord]:
    """Numbers that were cut at a comma or point in one piece again, even cut into two columns."""
    whole: list[OcrWord] = []
    numbers: list[OcrWord] = []
    for word in sorted(words, key=lambda word: word.box.x0):
        if not any(char.isdigit() for char in word.text):
            whole.append(word)
            continue
        at = next((at for at, last in enumerate(numbers) if _continues_number(last, word)), None)
        if at is None:
            numbers.append(word)
        else:
            last = numbers[at]
            box = bounding_box([last.box, word.box])
            sure = min(last.sure, word.sure)
            numbers[at] = replace(last, text=last.text + word.text, box=box, sure=sure)
    return [*whole, *_draw_groups_near(numbers)]


def _draw_groups_near(numbers: list[OcrWord]) -> Iterator[OcrWord]:
    """Numbers, the groups of one (`22 222,00`) no farther apart than words, in any font."""
    tails = [word for word in numbers if _GROUP_NEXT.match(word.text)]
    for word in numbers:
        box = word.box
        follower = next((each for each in tails if _is_next_group(word, each)), None)
        if follower and _GROUP_FIRST.fullmatch(word.text):
            box = replace(box, x1=max(follower.box.x0 - SPACE * box.height, box.x1))
        yield replace(word, box=box)


def _is_next_group(word: OcrWord, other: OcrWord) -> bool:
    """Whether another number stands right behind, about the width of a figure away."""
    pitch = other.box.width / len(other.text)
    level = abs(word.box.middle - other.box.middle) < other.box.height / 4
    return level and 0 < other.box.x0 - word.box.x1 < PITCH * pitch


def _continues_number(last: OcrWord, word: OcrWord) -> bool:
    gap = word.box.x0 - last.box.x1
    level = abs(word.box.middle - last.box.middle) < word.box.height / 2
    near = level and abs(gap) < SPLIT * word.box.height
    cut_before_mark = last.text[-1].isdigit() and _MARK_FIRST.match(word.text)
    cut_after_mark = _MARK_LAST.search(last.text) and _GROUP.match(word.text)
    return near and bool(cut_before_mark or cut_after_mark)


def level_rows(words: list[OcrWord], width: float) -> list[OcrWord]:
    """A page that was laid askew on the glass: rows made level, about the middle of the page."""
    long = sorted(words, key=lambda word: word.run)[len(words) // 2 :]
    slope = median([word.slope for word in long]) if long else 0.0
    if abs(slope) < LEVEL:
        return words
    return [_shift_up(word, slope * (word.box.centre - width / 2)) for word in words]


def _shift_up(word: OcrWord, by: float) -> OcrWord:
    box = Box(word.box.x0, word.box.y0 - by, word.box.x1, word.box.y1 - by)
    return replace(word, box=box)


def to_page_word(
    word: OcrWord, scale: tuple[float, float], frame: tuple[float, float], turn: int
) -> Word:
    """The word in points of the shown page."""
    across, down = scale
    box = word.box
    free = BEARING * box.height if not word.angle else 0.0
    left, right = (box.x0 - free) * across, (box.x1 + free) * across
    scaled = Box(left, box.y0 * down, right, box.y1 * down)
    shown = turn_box(scaled, (360 - turn) % 360, frame)
    return Word(word.text, shown, (turn + word.angle) % 360, round(word.sure / 100, 2))
