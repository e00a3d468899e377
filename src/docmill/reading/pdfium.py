"""PDFium through ctypes with plain integers as handles, so that asking for the box of every
character is one C call each and no Python object. Not thread-safe: one document per process.
"""

import ctypes
import math
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ctypes import c_char_p, c_float, c_int, c_size_t, c_uint, c_ulong, c_void_p
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any, Final

import numpy as np
import pypdfium2.raw
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PASSWORD_NEEDED: Final = 4
LOCK_UNKNOWN: Final = 5
_SURROGATES: Final = (0xD800, 0xDFFF)
_BOLD: Final = (b"bold", b"black", b"heavy", b"semibd", b"demi")


def bind(name: str, gives: Any, *takes: Any, quick: bool = False) -> Callable[..., Any]:
    """A C function of PDFium. `quick` ones keep the interpreter lock: cheaper, for tiny calls."""
    raw: Any = pypdfium2.raw
    address = ctypes.cast(getattr(raw, name), c_void_p).value
    assert address is not None
    prototype = ctypes.PYFUNCTYPE if quick else ctypes.CFUNCTYPE
    return prototype(gives, *takes)(address)


_open_document = bind("FPDF_LoadMemDocument64", c_void_p, c_char_p, c_size_t, c_char_p)
_close_document = bind("FPDF_CloseDocument", None, c_void_p)
_last_error = bind("FPDF_GetLastError", c_ulong)
_page_count = bind("FPDF_GetPageCount", c_int, c_void_p)
_attachment_count = bind("FPDFDoc_GetAttachmentCount", c_int, c_void_p)
_meta = bind("FPDF_GetMetaText", c_ulong, c_void_p, c_char_p, c_void_p, c_ulong)
_open_page = bind("FPDF_LoadPage", c_void_p, c_void_p, c_int)
_close_page = bind("FPDF_ClosePage", None, c_void_p)
_rotation = bind("FPDFPage_GetRotation", c_int, c_void_p)
_bounds = bind("FPDF_GetPageBoundingBox", c_int, c_void_p, c_void_p)
_annotation_count = bind("FPDFPage_GetAnnotCount", c_int, c_void_p)
_flatten = bind("FPDFPage_Flatten", c_int, c_void_p, c_int)
_load_text = bind("FPDFText_LoadPage", c_void_p, c_void_p)
_close_text = bind("FPDFText_ClosePage", None, c_void_p)
_char_count = bind("FPDFText_CountChars", c_int, c_void_p)
_text = bind("FPDFText_GetText", c_int, c_void_p, c_int, c_int, c_void_p)
_code = bind("FPDFText_GetUnicode", c_uint, c_void_p, c_int, quick=True)
_angle = bind("FPDFText_GetCharAngle", c_float, c_void_p, c_int, quick=True)
_font = bind(
    "FPDFText_GetFontInfo", c_ulong, c_void_p, c_int, c_void_p, c_ulong, c_void_p, quick=True
)
_loose_box = bind("FPDFText_GetLooseCharBox", c_int, c_void_p, c_int, c_void_p, quick=True)


_FONT_NAME_BYTES: Final = 64
_FONT_NAME: Final = ctypes.create_string_buffer(_FONT_NAME_BYTES)  # written anew by each question


class PdfOpenError(Exception):
    """PDFium gives no document; `code` is its last error."""

    def __init__(self, code: int) -> None:
        self.code: int = code
        super().__init__(f"PDFium error {code}")


@dataclass(frozen=True, slots=True)
class Pdf:
    """An open PDF. `data` is what PDFium reads from, and so must live as long."""

    handle: int
    data: bytes

    @property
    def page_count(self) -> int:
        return _page_count(self.handle)

    @property
    def attachment_count(self) -> int:
        return _attachment_count(self.handle)

    def meta(self, key: str) -> str:
        """One entry of the document's information; the empty string where there is none."""
        size = min(_meta(self.handle, key.encode(), None, 0), 4096)
        buffer = ctypes.create_string_buffer(max(size, 2))
        _meta(self.handle, key.encode(), buffer, size)
        return buffer.raw[: size - size % 2].decode("utf-16-le", "replace").rstrip("\0")


@dataclass(frozen=True, slots=True)
class PageShape:
    """Where the shown page lies in the PDF's own coordinates, and its quarter turns clockwise."""

    left: float
    bottom: float
    right: float
    top: float
    turns: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height as shown."""
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.turns % 2 else (width, height)

    def to_page(self, boxes: Floats) -> Floats:
        """Boxes of left, top, right, bottom, as x0, y0, x1, y1 with the origin at the top left."""
        left, top, right, bottom = boxes.T
        corners = {
            0: (left - self.left, self.top - top, right - self.left, self.top - bottom),
            1: (bottom - self.bottom, left - self.left, top - self.bottom, right - self.left),
            2: (self.right - right, bottom - self.bottom, self.right - left, top - self.bottom),
            3: (self.top - top, self.right - right, self.top - bottom, self.right - left),
        }
        return np.stack(corners[self.turns], axis=1)


@dataclass(frozen=True, slots=True)
class Characters:
    """A page's text in PDFium's order: codes, boxes as the page is shown, the rest on demand."""

    codes: NDArray[np.uint32]
    boxes: Floats
    angle_of: Callable[[int], float]
    bold_of: Callable[[int], bool]


@contextmanager
def open_bytes(data: bytes) -> Generator[Pdf, None, None]:
    """The PDF in these bytes; the empty password is tried. Raises Unopened."""
    handle = _open_document(data, len(data), None)
    if not handle:
        raise PdfOpenError(_last_error())
    try:
        yield Pdf(handle, data)
    finally:
        _close_document(handle)


@contextmanager
def load_page(pdf: Pdf, index: int) -> Generator[int | None, None, None]:
    """The handle of one page, filled-in form fields drawn into it; None where it does not load."""
    handle = _open_page(pdf.handle, index)
    if handle and _annotation_count(handle) > 0 and _flatten(handle, 0) == 1:
        _close_page(handle)
        handle = _open_page(pdf.handle, index)
    try:
        yield handle
    finally:
        if handle:
            _close_page(handle)


def page_shape(page: int) -> PageShape:
    sides = (c_float * 4)()
    _bounds(page, sides)
    left, top, right, bottom = sides
    return PageShape(left, bottom, right, top, _rotation(page) % 4)


@contextmanager
def open_text_page(page: int) -> Generator[tuple[int, int], None, None]:
    """The handle of a page's text (0 where there is none) and how many characters it has."""
    handle = _load_text(page) or 0
    try:
        yield handle, max(_char_count(handle), 0) if handle else 0
    finally:
        if handle:
            _close_text(handle)


def read_characters(text: int, count: int, page: PageShape) -> Characters:
    """All characters of a page's text. Angles and weights can be asked only while it is open."""
    boxes = np.zeros((count, 4), np.float32)
    start = boxes.ctypes.data
    calls = map(_loose_box, repeat(text), range(count), range(start, start + 16 * count, 16))
    deque(calls, maxlen=0)
    turned = page.turns * 90

    def angle_of(index: int) -> float:
        return math.degrees(_angle(text, index)) + turned

    def bold_of(index: int) -> bool:
        return _is_bold(text, index)

    shown = page.to_page(boxes.astype(np.float64))
    return Characters(_read_codes(text, count), shown, angle_of, bold_of)


def _is_bold(text: int, index: int) -> bool:
    """By the name of the font, which says it more often than its weight does."""
    length = _font(text, index, _FONT_NAME, _FONT_NAME_BYTES, None)
    return 0 < length <= _FONT_NAME_BYTES and _names_bold(_FONT_NAME.value)


@lru_cache(maxsize=512)
def _names_bold(name: bytes) -> bool:
    return any(word in name.lower() for word in _BOLD)


def _read_codes(text: int, count: int) -> NDArray[np.uint32]:
    """All codes in one call, or one by one where that call skips characters or splits them."""
    buffer = np.zeros(count + 1, np.uint16)
    written = _text(text, 0, count, buffer.ctypes.data)
    split = (buffer >= _SURROGATES[0]) & (buffer <= _SURROGATES[1])
    if written == count + 1 and not split.any():
        return buffer[:count].astype(np.uint32)
    return np.fromiter(map(_code, repeat(text), range(count)), np.uint32, count)
