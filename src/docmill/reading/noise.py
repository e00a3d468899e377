"""Noise in scanned pages: how much there is, and a black and white picture without most of it."""

from typing import Final

import numpy as np

from docmill.reading.pictures import Pixels

NOISY: Final = 0.15  # specks of a page that is cleaned before it is read
CLEAN: Final = 0.06
HOPELESS: Final = 0.1  # Tesseract takes minutes to look for lines among so many
ROUNDS: Final = 4


def specks(pixels: Pixels) -> float:
    """How much of the ink stands alone, from 0: what a median changes, as a share of all ink."""
    ink = (pixels <= _threshold(pixels)).view(np.uint8)
    total = np.count_nonzero(ink)
    return np.count_nonzero(ink != smoothed(ink)) / total if total else 0.0


def cleaned(pixels: Pixels) -> Pixels:
    """In black and white, smoothed as often as it takes."""
    for _ in range(ROUNDS):
        pixels = _blurred(smoothed(pixels))
        black = np.where(pixels <= _threshold(pixels), 0, 255).astype(np.uint8)
        if specks(black) <= CLEAN:
            return black
    return smoothed(black)


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
