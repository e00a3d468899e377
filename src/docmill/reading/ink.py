"""Ink that stands outside what was read: where on a picture there may be more words."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.pages import Box, bounding_box

STEP: Final = 10  # pixels that are looked at as one
LEAST_INK: Final = 3  # dark pixels of such a square: a speck has fewer
REACH: Final = 2  # squares: so far apart are two words of a line at most
EDGE: Final = 0.12  # of a word's height: gray edges and accents that its box leaves out
MOST_SQUARES: Final = 20_000  # with ink: a picture has more, and its words are not looked for

Squares = set[tuple[int, int]]


def find_ink(ink: NDArray[np.bool_], covered: Iterable[Box]) -> Iterator[Box]:
    """Boxes around what is dark and near each other, without what boxes of words cover."""
    left = ink.copy()
    for box in covered:
        edge = EDGE * box.height + 1
        rows, columns = _slice(box.y0 - edge, box.y1 + edge), _slice(box.x0 - edge, box.x1 + edge)
        left[rows, columns] = False
    height, width = (side // STEP * STEP for side in left.shape)
    squares = left[:height, :width].reshape(height // STEP, STEP, width // STEP, STEP)
    dark: NDArray[np.intp] = np.argwhere(squares.sum(axis=(1, 3)) >= LEAST_INK)
    if len(dark) <= MOST_SQUARES:
        for group in _group_squares({(int(row), int(column)) for row, column in dark}):
            yield _fit_box(left, group)


def _slice(start: float, end: float) -> slice:
    return slice(max(int(start), 0), max(int(end) + 1, 0))


def _group_squares(squares: Squares) -> Iterator[Squares]:
    """Squares that touch, or stand a word's gap apart in a row."""
    while squares:
        first = squares.pop()
        group, edge = {first}, [first]
        while edge:
            row, column = edge.pop()
            near = {
                (row + down, column + across)
                for down in (-1, 0, 1)
                for across in range(-REACH, REACH + 1)
            } & squares
            squares -= near
            group |= near
            edge.extend(near)
        yield group


def _fit_box(ink: NDArray[np.bool_], group: Squares) -> Box:
    """The box of a group's squares, drawn in to its ink."""
    around = bounding_box([Box(column, row, column + 1, row + 1) for row, column in group])
    top, left = int(around.y0) * STEP, int(around.x0) * STEP
    part = ink[top : int(around.y1) * STEP, left : int(around.x1) * STEP]
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    return Box(
        left + int(columns[0]),
        top + int(rows[0]),
        left + int(columns[-1]) + 1,
        top + int(rows[-1]) + 1,
    )
