"""What befalls pages on the glass, for tests: `from scans import scanned`."""

from math import radians, tan

import numpy as np

from eval.scans import Gray, as_is, picture_pdf, scanned

__all__ = [
    "Gray",
    "as_is",
    "askew",
    "noisy",
    "on_its_side",
    "picture_pdf",
    "scanned",
    "upside_down",
]


def on_its_side(pixels: Gray) -> Gray:
    return np.rot90(pixels, -1)


def upside_down(pixels: Gray) -> Gray:
    return np.rot90(pixels, 2)


def noisy(pixels: Gray) -> Gray:
    """With specks, and gray all over."""
    draw = np.random.default_rng(7)
    dull = pixels * 0.75 + 40 + draw.normal(0, 20, pixels.shape)
    specks = draw.random(pixels.shape)
    dull[specks < 0.02] = 0
    return np.clip(dull, 0, 255).astype(np.uint8)


def askew(pixels: Gray) -> Gray:
    """Turned by one degree, by shifting columns."""
    width, slope = pixels.shape[1], tan(radians(1))
    shifts = [round((at - width / 2) * slope) for at in range(width)]
    return np.stack([np.roll(pixels[:, at], by) for at, by in enumerate(shifts)], 1)
