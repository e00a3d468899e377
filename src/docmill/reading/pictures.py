"""A PDF page as a picture: how much of it images cover, and its pixels as PDFium draws them."""

from collections.abc import Callable, Iterator
from ctypes import byref, c_float, c_int, c_uint, c_ulong, c_void_p
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.pdfium import PageShape, bind

Pixels = NDArray[np.uint8]

DPI: Final = 300
MAX_PIXELS: Final = 16_000_000  # A3 at nearly 300 dpi
MAX_OBJECTS: Final = 5000
MAX_DEPTH: Final = 4
FORM: Final = 5
_IMAGE: Final = 3
_GRAY: Final = 1
_IN_GRAY: Final = 0x08
_WHITE: Final = 0xFFFFFFFF

_object_count = bind("FPDFPage_CountObjects", c_int, c_void_p)
_object = bind("FPDFPage_GetObject", c_void_p, c_void_p, c_int)
_form_count = bind("FPDFFormObj_CountObjects", c_int, c_void_p)
_form_object = bind("FPDFFormObj_GetObject", c_void_p, c_void_p, c_ulong)
kind_of = bind("FPDFPageObj_GetType", c_int, c_void_p)
_object_bounds = bind("FPDFPageObj_GetBounds", c_int, c_void_p, *[c_void_p] * 4)
_create = bind("FPDFBitmap_CreateEx", c_void_p, c_int, c_int, c_int, c_void_p, c_int)
_destroy = bind("FPDFBitmap_Destroy", None, c_void_p)
_fill = bind("FPDFBitmap_FillRect", c_int, c_void_p, c_int, c_int, c_int, c_int, c_uint)
_render = bind("FPDF_RenderPageBitmap", None, c_void_p, c_void_p, *[c_int] * 6)


def covered(page: int, shape: PageShape) -> float:
    """The share of the page under images, from 0 to 1; what overlaps counts twice."""
    area = (shape.right - shape.left) * (shape.top - shape.bottom)
    images = (each for each in page_objects(page) if _shows_image(each))
    return min(sum(_area(each, shape) for each in images) / area, 1.0)


def page_objects(page: int) -> Iterator[int]:
    return _objects(_object_count, _object, page)


def inner_objects(form: int, room: int = MAX_OBJECTS) -> Iterator[int]:
    return _objects(_form_count, _form_object, form, room)


def _objects(
    count: Callable[..., Any], get: Callable[..., Any], owner: int, room: int = MAX_OBJECTS
) -> Iterator[int]:
    for index in range(min(count(owner), room)):
        if found := get(owner, index):
            yield found


def _shows_image(item: int, depth: int = 0) -> bool:
    """An image, or a group of objects with one in it."""
    kind = kind_of(item)
    if kind != FORM or depth == MAX_DEPTH:
        return kind == _IMAGE
    return any(_shows_image(each, depth + 1) for each in inner_objects(item, room=50))


def _area(item: int, shape: PageShape) -> float:
    """How much of the shown page the object's box takes."""
    left, bottom, right, top = (c_float() for _ in range(4))
    if not _object_bounds(item, byref(left), byref(bottom), byref(right), byref(top)):
        return 0.0
    width = min(right.value, shape.right) - max(left.value, shape.left)
    height = min(top.value, shape.top) - max(bottom.value, shape.bottom)
    return max(width, 0.0) * max(height, 0.0)


def drawn(page: int, size: tuple[float, float]) -> Pixels:
    """The page as shown, in gray on white: at 300 dpi, or at what keeps it within MAX_PIXELS."""
    scale = min(DPI / 72, sqrt(MAX_PIXELS / (size[0] * size[1])))
    width, height = (max(int(side * scale), 1) for side in size)
    pixels = np.empty((height, width), np.uint8)
    bitmap = _create(width, height, _GRAY, pixels.ctypes.data, width)
    if not bitmap:
        raise MemoryError
    try:
        _fill(bitmap, 0, 0, width, height, _WHITE)
        _render(bitmap, page, 0, 0, width, height, 0, _IN_GRAY)
    finally:
        _destroy(bitmap)
    return pixels
