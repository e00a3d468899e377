"""Noise in scanned pages: how much there is, and a black and white picture without most of it."""

from typing import Final

import numpy as np

from docmill.reading.pictures import Pixels

NOISY: Final = 0.15  # specks of a page that is cleaned before it is read
CROWDED: Final = 12_000  # strokes: small print has 5,000, and Tesseract takes minutes at 30,000
ROUNDS: Final = 4


def is_noisy(pixels: Pixels) -> bool:
    """Whether much of the ink stands alone: a median changes it."""
    ink = pixels <= _threshold(pixels)
    alone = ink != smoothed(ink.view(np.uint8)).view(np.bool_)
    share = np.count_nonzero(alone) / max(np.count_nonzero(ink), 1)
    return bool(share > NOISY) or is_crowded(pixels)


def is_crowded(pixels: Pixels) -> bool:
    """More strokes in a million pixels than any text has."""
    ink = pixels <= _threshold(pixels)
    strokes = np.count_nonzero(ink[:, 1:] & ~ink[:, :-1])
    return bool(strokes > CROWDED * ink.size / 1_000_000)


def cleaned(pixels: Pixels) -> Pixels:
    """In black and white, smoothed as often as it takes."""
    black = pixels
    for _ in range(ROUNDS):
        pixels = _blurred(smoothed(pixels))
        black = np.where(pixels <= _threshold(pixels), 0, 255).astype(np.uint8)
        if not is_crowded(black):
            break
    return black


def smoothed(pixels: Pixels) -> Pixels:
    """Without specks: the median of three across, then down."""
    across = _middle(pixels[:, :-2], pixels[:, 1:-1], pixels[:, 2:])
    wide = np.pad(across, 1, mode="edge")
    return _middle(wide[:-2], wide[1:-1], wide[2:])


def _middle(first: Pixels, second: Pixels, third: Pixels) -> Pixels:
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.maximum(low, np.minimum(high, third))


def _blurred(pixels: Pixels) -> Pixels:
    """The mean of three by three."""
    wide = np.pad(pixels, 1, mode="edge").astype(np.uint16)
    down = wide[:-2] + wide[1:-1] + wide[2:]
    return ((down[:, :-2] + down[:, 1:-1] + down[:, 2:]) // 9).astype(np.uint8)


def _threshold(pixels: Pixels) -> int:
    """Otsu's: the gray that parts ink from paper best."""
    counts = np.bincount(pixels[::2, ::2].ravel(), minlength=256).astype(np.float64)
    below, light = np.cumsum(counts), np.cumsum(counts * np.arange(256))
    above = below[-1] - below
    spread = (light[-1] * below - light * below[-1]) ** 2 / np.maximum(below * above, 1)
    return int(np.argmax(spread[:-1]))
