"""What is drawn on a PDF page: the rules and frames of its tables, the marks before list items."""

from collections.abc import Iterator, Sequence
from ctypes import POINTER, Structure, byref, c_float, c_int, c_void_p
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from docmill.reading.pages import Box
from docmill.reading.pdfium import PageShape, bind
from docmill.reading.pictures import FORM, MAX_DEPTH, inner_objects, kind_of, page_objects

MAX_SEGMENTS: Final = 20_000
MAX_RULES: Final = 4000
MAX_MARKS: Final = 400
MARK: Final = (1.2, 9.0)  # points: how wide and how high a drawn mark is
MARK_SEGMENTS: Final = 100
SQUARE: Final = 1.6
SHORTEST: Final = 6.0  # points
SLANT: Final = 1.0
_PATH: Final = 2
_LINE, _CURVE, _MOVE = 0, 1, 2


class _Matrix(Structure):
    _fields_: ClassVar = [(name, c_float) for name in "abcdef"]


Point = tuple[float, float]
Matrix = tuple[float, float, float, float, float, float]
UNTURNED: Final[Matrix] = (1, 0, 0, 1, 0, 0)

_matrix = bind("FPDFPageObj_GetMatrix", c_int, c_void_p, POINTER(_Matrix))
_draw_mode = bind("FPDFPath_GetDrawMode", c_int, c_void_p, c_void_p, c_void_p)
_segment_count = bind("FPDFPath_CountSegments", c_int, c_void_p)
_segment = bind("FPDFPath_GetPathSegment", c_void_p, c_void_p, c_int, quick=True)
_segment_kind = bind("FPDFPathSegment_GetType", c_int, c_void_p, quick=True)
_segment_point = bind("FPDFPathSegment_GetPoint", c_int, c_void_p, c_void_p, c_void_p, quick=True)
_segment_closes = bind("FPDFPathSegment_GetClose", c_int, c_void_p, quick=True)


Sides = tuple[float, float, float, float]


def drawn_on(page: int, shape: PageShape) -> tuple[tuple[Box, ...], tuple[Box, ...]]:
    """Level and upright lines as boxes without width or height, and marks: small, as wide as high.

    Too many on a page are a drawing.
    """
    rules: list[Sides] = []
    marks: list[Sides] = []
    room = MAX_SEGMENTS
    for item, matrix in _paths(page_objects(page), UNTURNED, 0):
        count = _segment_count(item)
        room -= count
        if room < 0 or len(rules) > MAX_RULES:
            break
        strokes = [[_placed(point, matrix) for point in points] for points in _strokes(item)]
        found = list(_lines(strokes))
        rules += found
        if not found and count <= MARK_SEGMENTS and len(marks) < MAX_MARKS:
            marks += _marks(strokes)
    return _shown(rules, shape), _shown(marks, shape)


def _shown(sides: Sequence[Sides], shape: PageShape) -> tuple[Box, ...]:
    if not sides:
        return ()
    return tuple(Box(*box) for box in shape.shown(np.array(sides, np.float64)).tolist())


def _marks(strokes: Sequence[Sequence[Point]]) -> Iterator[Sides]:
    """The box around the whole path, if it is that of a dot or of a small square."""
    points = [point for stroke in strokes for point in stroke]
    if not points:
        return
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    short, long = sorted((right - left, high - low))
    if MARK[0] <= short and long <= MARK[1] and long <= SQUARE * short:
        yield left, high, right, low


def _paths(items: Iterator[int], outer: Matrix, depth: int) -> Iterator[tuple[int, Matrix]]:
    for item in items:
        kind = kind_of(item)
        if kind == _PATH and _is_drawn(item):
            yield item, _within(outer, _own(item))
        elif kind == FORM and depth < MAX_DEPTH:
            yield from _paths(inner_objects(item), _within(outer, _own(item)), depth + 1)


def _is_drawn(item: int) -> bool:
    fill, stroke = c_int(), c_int()
    return bool(_draw_mode(item, byref(fill), byref(stroke)) and (fill.value or stroke.value))


def _own(item: int) -> Matrix:
    found = _Matrix()
    if not _matrix(item, found):
        return UNTURNED
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def _within(outer: Matrix, inner: Matrix) -> Matrix:
    """First the inner matrix, then the outer one."""
    a, b, c, d, e, f = inner
    oa, ob, oc, od, oe, of = outer
    return (
        a * oa + b * oc,
        a * ob + b * od,
        c * oa + d * oc,
        c * ob + d * od,
        e * oa + f * oc + oe,
        e * ob + f * od + of,
    )


def _lines(strokes: Sequence[Sequence[Point]]) -> Iterator[Sides]:
    """Left, top, right, bottom of every level or upright stretch, in the PDF's coordinates."""
    for places in strokes:
        for (x0, y0), (x1, y1) in pairwise(places):
            long = max(abs(x1 - x0), abs(y1 - y0)) >= SHORTEST
            if long and min(abs(x1 - x0), abs(y1 - y0)) <= SLANT:
                yield min(x0, x1), max(y0, y1), max(x0, x1), min(y0, y1)


def _placed(point: Point, matrix: Matrix) -> Point:
    x, y = point
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _strokes(item: int) -> Iterator[Sequence[Point]]:
    """The straight runs of a path; a curve ends one."""
    x, y = c_float(), c_float()
    run: list[Point] = []
    for index in range(_segment_count(item)):
        segment = _segment(item, index)
        _segment_point(segment, byref(x), byref(y))
        kind, point = _segment_kind(segment), (x.value, y.value)
        if kind == _LINE:
            run.append(point)
        else:
            yield run
            run = [point]
        if _segment_closes(segment) and run and kind != _CURVE:
            run.append(run[0])
    yield run
