"""A PDF page's characters put together into words: at spaces, and where the geometry says so."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.cleaning import HYPHENS, SPACES, clean
from docmill.reading.order import upright
from docmill.reading.pages import Box, Word
from docmill.reading.pdfium import Characters, Floats

GAP: Final = 0.45  # of the height: too wide for spaced-out letters
ODD_GAP: Final = 0.12  # enough where the other gaps of the word are narrower by that much
JUMP_BACK: Final = 1.5
SHIFT: Final = 0.6  # a raised or lowered character stays within
SNAP_DEGREES: Final = 8

_BREAKS: Final = np.array(
    sorted({*range(0x21), *map(ord, SPACES), 0x200B, 0xFEFF} - set(map(ord, HYPHENS))), np.uint32
)


def words_of(chars: Characters, size: tuple[float, float]) -> list[Word]:
    """The words on the shown page, in the PDF's own order; what lies outside is left out."""
    seen = np.flatnonzero(~np.isin(chars.codes, _BREAKS))
    if not seen.size:
        return []
    codes, boxes = chars.codes[seen], chars.boxes[seen]
    starts = np.flatnonzero(np.diff(seen, prepend=-2) > 1)
    angles = np.array([snapped(chars.angle_of(int(index))) for index in seen[starts]])
    per_char = np.repeat(angles, np.diff(starts, append=seen.size))
    joined = np.diff(seen) == 1
    cut = np.append(True, ~joined | _cuts(boxes, per_char, size, joined))
    starts = np.flatnonzero(cut)
    hulls = _hulls(boxes, starts)
    texts = map(clean, _texts(codes, starts))
    bold = map(chars.bold_of, seen[starts].tolist())
    turns = per_char[starts].tolist()
    found = zip(texts, hulls.tolist(), turns, bold, _on_page(hulls, size), strict=True)
    return [
        Word(text, Box(*hull), turn, bold=heavy)
        for text, hull, turn, heavy, shown in found
        if shown and text
    ]


def snapped(degrees: float) -> int:
    """Whole degrees from 0 to 359, near quarter turns made exact."""
    quarter = round(degrees / 90) * 90
    near = quarter if abs(degrees - quarter) <= SNAP_DEGREES else round(degrees)
    return near % 360


def _cuts(
    boxes: Floats, angles: NDArray[np.int64], size: tuple[float, float], joined: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Between which characters a word ends without a space: a gap, a jump back, another line."""
    frame = boxes
    for turn in (90, 180, 270):
        if (turned := angles == turn).any():
            frame = np.where(turned[:, None], np.stack(upright(boxes.T, turn, size), 1), frame)
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


def _texts(codes: NDArray[np.uint32], starts: NDArray[np.intp]) -> list[str]:
    wrong = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))
    text = np.where(wrong, 0xFFFD, codes).astype("<u4").tobytes().decode("utf-32-le")
    ends = [*starts[1:].tolist(), len(text)]
    return [text[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]


def _hulls(boxes: Floats, starts: NDArray[np.intp]) -> Floats:
    low = np.minimum.reduceat(boxes[:, :2], starts)
    high = np.maximum.reduceat(boxes[:, 2:], starts)
    return np.hstack([low, high])


def _on_page(hulls: Floats, size: tuple[float, float]) -> NDArray[np.bool_]:
    middles = (hulls[:, :2] + hulls[:, 2:]) / 2
    inside = (middles >= 0) & (middles <= np.array(size))
    return inside[:, 0] & inside[:, 1]
