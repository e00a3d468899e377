"""A PDF page as a picture: how much of it images cover, and its pixels as PDFium draws them."""

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from ctypes import POINTER, Structure, byref, c_float, c_int, c_uint, c_ulong, c_void_p
from itertools import pairwise
from math import sqrt
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.pages import Box
from docmill.reading.pdfium import PageShape, bind

Pixels = NDArray[np.uint8]

DPI: Final = 300
MAX_PIXELS: Final = 16_000_000  # A3 at nearly 300 dpi
SHOWN_DPI: Final = 144
SHOWN_PIXELS: Final = 4_000_000
MAX_OBJECTS: Final = 5000
MAX_DEPTH: Final = 4
DRAWN_SEGMENTS: Final = 300  # a few words; a letterhead's logo or a table's rules have fewer
FORM: Final = 5
_IMAGE: Final = 3
_GRAY, _COLOUR = 1, 3
_ANNOTATIONS, _IN_GRAY, _RED_FIRST = 0x01, 0x08, 0x10
_WHITE: Final = 0xFFFFFFFF

_object_count = bind("FPDFPage_CountObjects", c_int, c_void_p)
_object = bind("FPDFPage_GetObject", c_void_p, c_void_p, c_int, quick=True)
_form_count = bind("FPDFFormObj_CountObjects", c_int, c_void_p)
_form_object = bind("FPDFFormObj_GetObject", c_void_p, c_void_p, c_ulong, quick=True)
object_kind = bind("FPDFPageObj_GetType", c_int, c_void_p, quick=True)
_object_bounds = bind("FPDFPageObj_GetBounds", c_int, c_void_p, *[c_void_p] * 4)
_create = bind("FPDFBitmap_CreateEx", c_void_p, c_int, c_int, c_int, c_void_p, c_int)
_destroy = bind("FPDFBitmap_Destroy", None, c_void_p)
_fill = bind("FPDFBitmap_FillRect", c_int, c_void_p, c_int, c_int, c_int, c_int, c_uint)
_render = bind("FPDF_RenderPageBitmap", None, c_void_p, c_void_p, *[c_int] * 6)


def image_share(page: int, shape: PageShape) -> float:
    """The share of the page under images, from 0 to 1; what overlaps counts twice."""
    area = (shape.right - shape.left) * (shape.top - shape.bottom)
    images = (each for each in iterate_page_objects(page) if _shows_image(each))
    return min(sum(_object_area(each, shape) for each in images) / area, 1.0)


def is_drawn(page: int) -> bool:
    """Whether the page has enough outlines to be text drawn without a font."""
    paths = (each for each in iterate_page_objects(page) if object_kind(each) != _IMAGE)
    segments = 0
    for each in paths:
        segments += _count_segments(each)
        if segments >= DRAWN_SEGMENTS:
            return True
    return False


def _count_segments(item: int, depth: int = 0) -> int:
    kind = object_kind(item)
    if kind == _PATH:
        return max(_segment_count(item), 0)
    if kind != FORM or depth == MAX_DEPTH:
        return 0
    return sum(_count_segments(each, depth + 1) for each in iterate_form_objects(item, room=500))


def iterate_page_objects(page: int) -> Iterator[int]:
    return _iterate_objects(_object_count, _object, page)


def iterate_form_objects(form: int, room: int = MAX_OBJECTS) -> Iterator[int]:
    return _iterate_objects(_form_count, _form_object, form, room)


def _iterate_objects(
    count: Callable[..., Any], get: Callable[..., Any], owner: int, room: int = MAX_OBJECTS
) -> Iterator[int]:
    for index in range(min(count(owner), room)):
        if found := get(owner, index):
            yield found


def _shows_image(item: int, depth: int = 0) -> bool:
    """An image, or a group of objects with one in it."""
    kind = object_kind(item)
    if kind != FORM or depth == MAX_DEPTH:
        return kind == _IMAGE
    return any(_shows_image(each, depth + 1) for each in iterate_form_objects(item, room=50))


def _object_area(item: int, shape: PageShape) -> float:
    """How much of the shown page the object's box takes."""
    left, bottom, right, top = (c_float() for _ in range(4))
    if not _object_bounds(item, byref(left), byref(bottom), byref(right), byref(top)):
        return 0.0
    width = min(right.value, shape.right) - max(left.value, shape.left)
    height = min(top.value, shape.top) - max(bottom.value, shape.bottom)
    return max(width, 0.0) * max(height, 0.0)


def render_gray(page: int, size: tuple[float, float]) -> Pixels:
    """The page as shown, in gray on white: at 300 dpi, or at what keeps it within MAX_PIXELS."""
    scale = min(DPI / 72, sqrt(MAX_PIXELS / (size[0] * size[1])))
    width, height = (max(int(side * scale), 1) for side in size)
    pixels = np.empty((height, width), np.uint8)
    _render_pixels(page, pixels, _GRAY, _IN_GRAY)
    return pixels


def render_colour(page: int, size: tuple[float, float], wide: int = 0) -> Pixels:
    """The page as people see it, in colour: rows of red, green, blue within SHOWN_PIXELS.

    `wide`: no more pixels across than this, for a thumbnail.
    """
    scale = min(SHOWN_DPI / 72, sqrt(SHOWN_PIXELS / (size[0] * size[1])))
    scale = min(scale, wide / max(size)) if wide else scale
    width, height = (max(int(side * scale), 1) for side in size)
    pixels = np.empty((height, width, 4), np.uint8)  # rows of whole words, as PDFium wants them
    _render_pixels(page, pixels, _COLOUR, _RED_FIRST | _ANNOTATIONS)
    return pixels[:, :, :3]


def _render_pixels(page: int, pixels: Pixels, form: int, flags: int) -> None:
    height, width = pixels.shape[:2]
    bitmap = _create(width, height, form, pixels.ctypes.data, pixels.strides[0])
    if not bitmap:
        raise MemoryError
    try:
        _fill(bitmap, 0, 0, width, height, _WHITE)
        _render(bitmap, page, 0, 0, width, height, 0, flags)
    finally:
        _destroy(bitmap)


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

_matrix = bind("FPDFPageObj_GetMatrix", c_int, c_void_p, POINTER(_Matrix), quick=True)
_draw_mode = bind("FPDFPath_GetDrawMode", c_int, c_void_p, c_void_p, c_void_p, quick=True)
_segment_count = bind("FPDFPath_CountSegments", c_int, c_void_p, quick=True)
_segment = bind("FPDFPath_GetPathSegment", c_void_p, c_void_p, c_int, quick=True)
_segment_kind = bind("FPDFPathSegment_GetType", c_int, c_void_p, quick=True)
_segment_point = bind("FPDFPathSegment_GetPoint", c_int, c_void_p, c_void_p, c_void_p, quick=True)
_segment_closes = bind("FPDFPathSegment_GetClose", c_int, c_void_p, quick=True)


Sides = tuple[float, float, float, float]


def find_rules_and_marks(page: int, shape: PageShape) -> tuple[tuple[Box, ...], tuple[Box, ...]]:
    """Level and upright lines as boxes without width or height, and marks: small, as wide as high.

    Too many on a page are a drawing.
    """
    rules: list[Sides] = []
    marks: list[Sides] = []
    room = MAX_SEGMENTS
    for item, matrix in _iterate_paths(iterate_page_objects(page), UNTURNED, 0):
        count = _segment_count(item)
        room -= count
        if room < 0 or len(rules) > MAX_RULES:
            break
        strokes = [
            [_transform(point, matrix) for point in points] for points in _read_strokes(item)
        ]
        found = list(_find_rules(strokes))
        rules += found
        if not found and count <= MARK_SEGMENTS and len(marks) < MAX_MARKS:
            marks += _find_marks(strokes)
    return _boxes_on_page(rules, shape), _boxes_on_page(marks, shape)


def _boxes_on_page(sides: Sequence[Sides], shape: PageShape) -> tuple[Box, ...]:
    if not sides:
        return ()
    return tuple(Box(*box) for box in shape.to_page(np.array(sides, np.float64)).tolist())


def _find_marks(strokes: Sequence[Sequence[Point]]) -> Iterator[Sides]:
    """The box around the whole path, if it is that of a dot or of a small square."""
    points = [point for stroke in strokes for point in stroke]
    if not points:
        return
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    short, long = sorted((right - left, high - low))
    if MARK[0] <= short and long <= MARK[1] and long <= SQUARE * short:
        yield left, high, right, low


def _iterate_paths(items: Iterator[int], outer: Matrix, depth: int) -> Iterator[tuple[int, Matrix]]:
    for item in items:
        kind = object_kind(item)
        if kind == _PATH and _is_drawn(item):
            yield item, _combine(outer, _own_matrix(item))
        elif kind == FORM and depth < MAX_DEPTH:
            yield from _iterate_paths(
                iterate_form_objects(item), _combine(outer, _own_matrix(item)), depth + 1
            )


def _is_drawn(item: int) -> bool:
    fill, stroke = c_int(), c_int()
    return bool(_draw_mode(item, byref(fill), byref(stroke)) and (fill.value or stroke.value))


def _own_matrix(item: int) -> Matrix:
    found = _Matrix()
    if not _matrix(item, found):
        return UNTURNED
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def _combine(outer: Matrix, inner: Matrix) -> Matrix:
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


def _find_rules(strokes: Sequence[Sequence[Point]]) -> Iterator[Sides]:
    """Left, top, right, bottom of every level or upright stretch, in the PDF's coordinates."""
    for places in strokes:
        for (x0, y0), (x1, y1) in pairwise(places):
            long = max(abs(x1 - x0), abs(y1 - y0)) >= SHORTEST
            if long and min(abs(x1 - x0), abs(y1 - y0)) <= SLANT:
                yield min(x0, x1), max(y0, y1), max(x0, x1), min(y0, y1)


def _transform(point: Point, matrix: Matrix) -> Point:
    x, y = point
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _read_strokes(item: int) -> Iterator[Sequence[Point]]:
    """The straight runs of a path; a curve ends one."""
    x, y = c_float(), c_float()
    across, down = byref(x), byref(y)
    run: list[Point] = []
    for index in range(_segment_count(item)):
        segment = _segment(item, index)
        _segment_point(segment, across, down)
        kind, point = _segment_kind(segment), (x.value, y.value)
        if kind == _LINE:
            run.append(point)
        else:
            yield run
            run = [point]
        if _segment_closes(segment) and run and kind != _CURVE:
            run.append(run[0])
    yield run


PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PNG_GRAY, _PNG_COLOUR = 0, 2
_PNG_UP: Final = (
    2  # each row is written as what changed from the one above: paper is mostly the same
)


def encode_png(pixels: Pixels) -> bytes:
    """A picture of rows of red, green, blue; one without colour is written in gray."""
    plain = bool((pixels == pixels[:, :, :1]).all())
    rows = pixels[:, :, 0] if plain else pixels.reshape(pixels.shape[0], -1)
    height, width = pixels.shape[:2]
    head = struct.pack("!IIBBBBB", width, height, 8, _PNG_GRAY if plain else _PNG_COLOUR, 0, 0, 0)
    lines = np.empty((height, rows.shape[1] + 1), np.uint8)
    lines[:, 0] = _PNG_UP
    lines[0, 1:] = rows[0]
    lines[1:, 1:] = rows[1:] - rows[:-1]
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(_encode_chunk(kind, data) for kind, data in parts)


def _encode_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))
