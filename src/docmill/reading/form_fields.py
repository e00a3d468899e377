"""What people typed into the fields of a PDF form, as words where a viewer shows them.

Many programs fill in a field's value and leave it to the viewer to draw it: then the page itself
has no text there.
"""

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import c_char_p, c_float, c_int, c_ulong, c_void_p
from typing import Final

import numpy as np

from docmill.reading.cleaning import clean
from docmill.reading.pages import Box, Word
from docmill.reading.pdfium import PageShape, Pdf, bind

MAX_FIELDS: Final = 2000
MAX_CHARS: Final = 4000
LARGEST: Final = 11.0  # points: text in a field is hardly ever higher
LEADING: Final = 1.2
CHAR_WIDTH: Final = 0.5  # of the height, about
PADDING: Final = 2.0
_WIDGET: Final = 20
_UNSEEN: Final = 0x02 | 0x20  # hidden, not viewed
_TEXTS: Final = ("Tx", "Ch", "")  # typed, chosen, or said by the field's parent

_form_type = bind("FPDF_GetFormType", c_int, c_void_p)
_open_page = bind("FPDF_LoadPage", c_void_p, c_void_p, c_int)
_close_page = bind("FPDF_ClosePage", None, c_void_p)
_count = bind("FPDFPage_GetAnnotCount", c_int, c_void_p)
_get = bind("FPDFPage_GetAnnot", c_void_p, c_void_p, c_int)
_close = bind("FPDFPage_CloseAnnot", None, c_void_p)
_kind = bind("FPDFAnnot_GetSubtype", c_int, c_void_p)
_flags = bind("FPDFAnnot_GetFlags", c_int, c_void_p)
_rectangle = bind("FPDFAnnot_GetRect", c_int, c_void_p, c_void_p)
_entry = bind("FPDFAnnot_GetStringValue", c_ulong, c_void_p, c_char_p, c_void_p, c_ulong)

Field = tuple[str, tuple[float, float, float, float]]  # text; left, top, right, bottom


def read_fields(pdf: Pdf, index: int) -> list[Field]:
    """The filled-in fields of a page, asked before the page is flattened."""
    if _form_type(pdf.handle) <= 0:
        return []
    page = _open_page(pdf.handle, index)
    if not page:
        return []
    try:
        return list(_iterate_fields(page))
    finally:
        _close_page(page)


def _iterate_fields(page: int) -> Iterator[Field]:
    for index in range(min(_count(page), MAX_FIELDS)):
        if not (widget := _get(page, index)):
            continue
        try:
            if field := _read_field(widget):
                yield field
        finally:
            _close(widget)


def _read_field(widget: int) -> Field | None:
    if _kind(widget) != _WIDGET or _flags(widget) & _UNSEEN:
        return None
    text = _read_entry(widget, b"V").strip()
    sides = (c_float * 4)()
    if not text or _read_entry(widget, b"FT") not in _TEXTS or not _rectangle(widget, sides):
        return None
    left, top, right, bottom = sides
    return text, (left, top, right, bottom)


def _read_entry(widget: int, key: bytes) -> str:
    size = min(_entry(widget, key, None, 0), 2 * MAX_CHARS)
    buffer = ctypes.create_string_buffer(max(size, 2))
    _entry(widget, key, buffer, size)
    return buffer.raw[: size - size % 2].decode("utf-16-le", "replace").rstrip("\0")


def add_fields(words: Sequence[Word], fields: Sequence[Field], shape: PageShape) -> Sequence[Word]:
    """The words of a page, with those of fields where it has none."""
    more: list[Word] = []
    for text, sides in fields:
        box = Box(*shape.to_page(np.array([sides], np.float64))[0].tolist())
        if not any(box.holds(word.box) for word in words):
            more += _lay_out(text, box)
    return [*words, *more] if more else words


def _lay_out(text: str, box: Box) -> Iterator[Word]:
    """The words of a field, line by line from its top; a single line runs through its middle."""
    lines = text.splitlines()
    height = min(LARGEST, box.height / (LEADING * len(lines)))
    top = box.y0 + PADDING if len(lines) > 1 else box.middle - height / 2
    for number, line in enumerate(lines):
        left, y = box.x0 + PADDING, top + number * LEADING * height
        for part in line.split():
            right = left + CHAR_WIDTH * height * len(part)
            if shown := clean(part):
                yield Word(shown, Box(left, y, right, y + height))
            left = right + CHAR_WIDTH * height
