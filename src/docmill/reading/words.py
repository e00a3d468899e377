"""A PDF page's characters put together into words: at spaces, and where the geometry says so."""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.cleaning import HYPHENS, SPACES, clean
from docmill.reading.order import turn_box, turn_upright
from docmill.reading.pages import Box, Word, bounding_box
from docmill.reading.pdfium import Characters, Floats

GAP: Final = 0.45  # of the height: too wide for spaced-out letters
ODD_GAP: Final = 0.12  # enough where the other gaps of the word are narrower by that much
JUMP_BACK: Final = 1.5
SHIFT: Final = 0.6  # a raised or lowered character stays within
SNAP_DEGREES: Final = 8
LINE_END: Final = (0x0D, 0x0A)
TOUCHING: Final = 0.05  # of the height: characters that lie no further apart

_BREAKS: Final = {*range(0x21), *map(ord, SPACES), 0x200B, 0xFEFF} - set(map(ord, HYPHENS))
_IS_BREAK: Final = np.zeros(0x10000, np.bool_)  # by code; none stands beyond
_IS_BREAK[list(_BREAKS)] = True


def find_words(chars: Characters, size: tuple[float, float]) -> list[Word]:
    """The words on the shown page, in the PDF's own order; what lies outside is left out."""
    seen = np.flatnonzero(~_IS_BREAK[np.minimum(chars.codes, _IS_BREAK.size - 1)])
    if not seen.size:
        return []
    codes, boxes = chars.codes[seen], chars.boxes[seen]
    joined = (np.diff(seen) == 1) | _find_false_ends(chars, seen, boxes)
    starts = np.flatnonzero(np.append(True, ~joined))
    angles = np.array([snap_angle(chars.angle_of(int(index))) for index in seen[starts]])
    per_char = np.repeat(angles, np.diff(starts, append=seen.size))
    cut = np.append(True, ~joined | _find_cuts(boxes, per_char, size, joined))
    starts = np.flatnonzero(cut)
    hulls = _enclose_words(boxes, starts)
    texts = map(clean, _cut_texts(codes, starts))
    bold = map(chars.bold_of, seen[starts].tolist())
    turns = per_char[starts].tolist()
    found = zip(texts, hulls.tolist(), turns, bold, _on_page(hulls, size), strict=True)
    words = [
        Word(text, Box(*hull), turn, bold=heavy)
        for text, hull, turn, heavy, shown in found
        if shown and text
    ]
    return join_spaced(words)


def _find_false_ends(chars: Characters, seen: NDArray[np.intp], boxes: Floats) -> NDArray[np.bool_]:
    """Where the end of a line comes between two characters that touch: PDFium has made it up."""
    between = np.diff(seen) == len(LINE_END) + 1
    for at, code in enumerate(LINE_END, 1):
        between &= chars.codes[np.minimum(seen[:-1] + at, chars.codes.size - 1)] == code
    near = TOUCHING * (boxes[:-1, 3] - boxes[:-1, 1])
    level = np.abs(boxes[1:, 1] - boxes[:-1, 1]) < near
    return between & level & (np.abs(boxes[1:, 0] - boxes[:-1, 2]) < near)


@lru_cache(maxsize=1024)  # the words of a page have one angle or two
def snap_angle(degrees: float) -> int:
    """Whole degrees from 0 to 359, near quarter turns made exact."""
    quarter = round(degrees / 90) * 90
    near = quarter if abs(degrees - quarter) <= SNAP_DEGREES else round(degrees)
    return near % 360


def _find_cuts(
    boxes: Floats, angles: NDArray[np.int64], size: tuple[float, float], joined: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Between which characters a word ends without a space: a gap, a jump back, another line."""
    frame = boxes
    for turn in (90, 180, 270):
        if (turned := angles == turn).any():
            frame = np.where(turned[:, None], np.stack(turn_upright(boxes.T, turn, size), 1), frame)
    x0, y0, x1, y1 = frame.T
    height = np.maximum((y1 - y0)[1:], (y1 - y0)[:-1])
    gap = x0[1:] - x1[:-1]
    shift = np.abs((y0 + y1)[1:] - (y0 + y1)[:-1]) / 2
    far = (gap > GAP * height) | (gap < -JUMP_BACK * height) | (shift > SHIFT * height)
    odd = _stands_out(gap, joined, ODD_GAP * height)
    return (far | odd) & (height > 0) & (angles[1:] % 90 == 0)


def _stands_out(gap: Floats, joined: NDArray[np.bool_], least: Floats) -> NDArray[np.bool_]:
    """Gaps wider than both neighbours in the same word by more than `least`."""
    inside = np.where(joined, gap, -np.inf)
    beside = np.maximum(np.append(-np.inf, inside[:-1]), np.append(inside[1:], -np.inf))
    return joined & np.isfinite(beside) & (gap - np.maximum(beside, 0) > least)


def _cut_texts(codes: NDArray[np.uint32], starts: NDArray[np.intp]) -> list[str]:
    wrong = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))
    text = np.where(wrong, 0xFFFD, codes).astype("<u4").tobytes().decode("utf-32-le")
    ends = [*starts[1:].tolist(), len(text)]
    return [text[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]


def _enclose_words(boxes: Floats, starts: NDArray[np.intp]) -> Floats:
    low = np.minimum.reduceat(boxes[:, :2], starts)
    high = np.maximum.reduceat(boxes[:, 2:], starts)
    return np.hstack([low, high])


def _on_page(hulls: Floats, size: tuple[float, float]) -> NDArray[np.bool_]:
    middles = (hulls[:, :2] + hulls[:, 2:]) / 2
    inside = (middles >= 0) & (middles <= np.array(size))
    return inside[:, 0] & inside[:, 1]


FEWEST: Final = 4  # letters: fewer may be initials
FEWEST_SMALL: Final = 6  # where none is a capital: fewer may be the answers of a quiz
FEWEST_BESIDE: Final = 6  # capitals, where whole words stand as near as the letters do
WIDEST: Final = 0.8  # of the height: a wider gap lies between columns
APART: Final = 2.5  # of the height: what stands farther away is another run
LEVEL: Final = 0.15  # of the height: how far the middles of neighbours may lie apart
EVEN: Final = 0.25  # of the usual gap: how far others may differ from it
KERN: Final = 0.06  # of the height: and at least so far
WORD_BREAK: Final = 1.5  # times the usual gap: a new word begins
VOWELS: Final = 0.15  # of the letters: fewer are codes or days of the week
IN_COLUMN: Final = 0.6  # of the letters of a run: so many stand in columns of short words
ROWS: Final = 2  # other rows that make a column
CENTRE: Final = 0.15  # of the height: how far centres in one column may lie apart
_MONTH_INITIALS: Final = "jfmamjjasond"

LetterRun = list[int]


@dataclass(frozen=True, slots=True)
class _LetterPage:
    """The words of a page, and the boxes they have when they stand upright."""

    words: Sequence[Word]
    boxes: Sequence[Box]

    def gap(self, at: int) -> float:
        """The free space before a word."""
        return self.boxes[at].x0 - self.boxes[at - 1].x1

    def text(self, run: LetterRun) -> str:
        return "".join(self.words[at].text for at in run)

    def follows(self, at: int, reach: float) -> bool:
        """Whether a word stands on the line of the one before it, within `reach` heights."""
        box, last = self.boxes[at], self.boxes[at - 1]
        height = max(box.height, last.height)
        level = abs(box.middle - last.middle) <= LEVEL * height
        near = 0 <= box.x0 - last.x1 <= reach * height
        return self.words[at].angle == self.words[at - 1].angle and level and near


def join_spaced(words: Sequence[Word]) -> list[Word]:
    """The words in their order, with runs of evenly spaced letters made into words.

    A wider gap within such a run parts two words. Columns of letters, lists of options, initials
    and marks stay as they are.
    """
    runs = list(_find_runs(words))
    if not runs:
        return list(words)
    page = _LetterPage(words, [_upright_box(word) for word in words])
    runs = [part for run in runs for part in _cut_at_lines(page, run)]
    parts = {run[0]: _cut_into_words(page, run, gap) for run, gap in _choose_runs(page, runs)}
    return list(_replace_runs(words, parts))


def _choose_runs(page: _LetterPage, runs: Sequence[LetterRun]) -> Iterator[tuple[LetterRun, float]]:
    """Runs that were meant as words, and what stands beside one and is set like it."""
    columns = _LetterColumns(page)
    gaps = [_find_letter_gap(page, run) for run in runs]
    sure = [
        gap > 0 and _is_spaced(page, run, gap, columns) for run, gap in zip(runs, gaps, strict=True)
    ]
    for at, (run, gap) in enumerate(zip(runs, gaps, strict=True)):
        beside = [other for other in (at - 1, at + 1) if 0 <= other < len(runs) and sure[other]]
        like = any(_is_like(page, (run, runs[other]), (gap, gaps[other])) for other in beside)
        if sure[at] or (gap and like):
            yield run, gap


def _upright_box(word: Word) -> Box:
    box = word.box
    if word.angle % 90 or not word.angle:
        return box
    return turn_box(box, word.angle, (0.0, 0.0))


def _find_runs(words: Sequence[Word]) -> Iterator[LetterRun]:
    """Single characters that follow each other."""
    run: LetterRun = []
    for at, word in enumerate(words):
        if len(word.text) == 1 and not word.angle % 90:
            run.append(at)
            continue
        if len(run) > 1:
            yield run
        run = []
    if len(run) > 1:
        yield run


def _cut_at_lines(page: _LetterPage, run: LetterRun) -> Iterator[LetterRun]:
    """A run, cut where a line ends or another column begins."""
    part = run[:1]
    for at in run[1:]:
        if not page.follows(at, APART):
            yield part
            part = []
        part.append(at)
    yield part


def _find_letter_gap(page: _LetterPage, run: LetterRun) -> float:
    """The gap between letters if it is even and narrow; 0 if not."""
    if len(run) < 2:
        return 0.0
    height = max(page.boxes[at].height for at in run)
    gaps = sorted(page.gap(at) for at in run[1:])
    usual = gaps[len(gaps) // 3]
    reach = max(EVEN * usual, KERN * height)
    even = all(abs(gap - usual) <= reach or gap >= WORD_BREAK * usual for gap in gaps)
    return usual if even and 0 < usual <= WIDEST * height else 0.0


def _is_spaced(page: _LetterPage, run: LetterRun, gap: float, columns: "_LetterColumns") -> bool:
    """Whether the characters of a run were meant as words."""
    letters = [char for char in page.text(run) if char.isalpha()]
    capitals = sum(not char.islower() for char in letters)
    fewest = FEWEST if capitals else FEWEST_SMALL
    if len(letters) < fewest or len(set(letters)) < 3 or _is_list(letters):
        return False
    if _touches(page, run, gap) and capitals < max(FEWEST_BESIDE, len(letters)):
        return False
    return _is_pronounceable(letters) and (capitals < len(letters) or not columns.hold(run))


def _is_list(letters: Sequence[str]) -> bool:
    """A B C D, or such as stand over the columns of a calendar."""
    folded = [char.lower() for char in letters]
    steps = [ord(after) - ord(before) for before, after in pairwise(folded)]
    rising = all(step > 0 for step in steps)
    alphabet = rising and (set(steps) == {1} or folded[0] == "a")
    return alphabet or "".join(folded) in _MONTH_INITIALS


def _is_pronounceable(letters: Sequence[str]) -> bool:
    """Latin words have vowels; of other scripts nothing is asked."""
    bases = [unicodedata.normalize("NFD", char)[0].lower() for char in letters]
    latin = [base for base in bases if "a" <= base <= "z"]
    return sum(base in "aeiouy" for base in latin) >= VOWELS * len(latin)


def _touches(page: _LetterPage, run: LetterRun, gap: float) -> bool:
    """Whether a whole word stands beside the run, no farther than its letters from each other."""
    first, last = run[0], run[-1]
    before = first > 0 and page.follows(first, WIDEST) and page.gap(first) < WORD_BREAK * gap
    if before:
        return True
    after = last + 1 < len(page.words) and page.follows(last + 1, WIDEST)
    return after and page.gap(last + 1) < WORD_BREAK * gap


class _LetterColumns:
    """Where short words stand under each other: tables of letters, calendars, ticks."""

    def __init__(self, page: _LetterPage) -> None:
        short = [
            (round(box.centre, 2), round(box.middle, 2))
            for word, box in zip(page.words, page.boxes, strict=True)
            if len(word.text) < 3 and word.text == word.text.upper()
        ]
        self._page: _LetterPage = page
        self._centres: list[tuple[float, float]] = sorted(short)

    def hold(self, run: LetterRun) -> bool:
        return sum(map(self._holds, run)) >= IN_COLUMN * len(run)

    def _holds(self, at: int) -> bool:
        """Whether a letter has others above or below it, in rows of their own."""
        box = self._page.boxes[at]
        centre, reach = box.centre, CENTRE * box.height
        first = bisect_left(self._centres, (centre - reach, float("-inf")))
        last = bisect_right(self._centres, (centre + reach, float("inf")))
        others = {
            y for _, y in self._centres[first : min(last, first + 50)] if abs(y - box.middle) > 1
        }
        return len(others) >= ROWS


def _is_like(
    page: _LetterPage, runs: tuple[LetterRun, LetterRun], gaps: tuple[float, float]
) -> bool:
    """Whether two runs stand on one line and are set alike."""
    box, other = (page.boxes[run[0]] for run in runs)
    level = abs(other.middle - box.middle) <= LEVEL * box.height
    alike = abs(other.height - box.height) <= LEVEL * box.height
    even = abs(gaps[0] - gaps[1]) <= max(EVEN * gaps[1], KERN * box.height)
    return level and alike and even


def _cut_into_words(page: _LetterPage, run: LetterRun, gap: float) -> list[LetterRun]:
    """The words of a run; where no gap is wider than the others, cut between letters and digits."""
    broken = any(page.gap(at) >= WORD_BREAK * gap for at in run[1:])
    parts = [run[:1]]
    for at in run[1:]:
        pair = page.words[at - 1].text, page.words[at].text
        changes = any(map(str.isalpha, pair)) and any(map(str.isdigit, pair))
        if page.gap(at) >= WORD_BREAK * gap if broken else changes:
            parts.append([])
        parts[-1].append(at)
    return parts


def _replace_runs(words: Sequence[Word], parts: dict[int, list[LetterRun]]) -> Iterator[Word]:
    at = 0
    while at < len(words):
        if at not in parts:
            yield words[at]
            at += 1
            continue
        for part in parts[at]:
            yield _join_letters([words[index] for index in part])
            at += len(part)


def _join_letters(letters: Sequence[Word]) -> Word:
    first = letters[0]
    text = "".join(letter.text for letter in letters)
    sure = min(letter.confidence for letter in letters)
    box = bounding_box([letter.box for letter in letters])
    return Word(text, box, first.angle, sure, first.bold)
