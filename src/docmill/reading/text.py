"""Plain text: its encoding found out, its lines set on pages of a fixed length."""

import codecs
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final

from docmill.core.faults import Faulted
from docmill.reading.cleaning import clean
from docmill.reading.flow import Piece, Row, Sheet, pages_of
from docmill.reading.pages import Document

MAX_CHARS: Final = 5_000_000
PAGE_LINES: Final = 60
FOOT_LINES: Final = 20
LINE_CHARS: Final = 2000

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@contextmanager
def open_text(file: BinaryIO) -> Generator[Document, None, None]:
    """The text, decoded. Raises BAD_FILE when it is binary, blank or too long."""
    data = file.read(4 * MAX_CHARS + 1)
    text = decoded(data)
    if len(text) > MAX_CHARS or len(data) > 4 * MAX_CHARS:
        raise Faulted("BAD_FILE", f"more than {MAX_CHARS} characters")
    sheets = _sheets(text)
    if not any(piece.text for sheet in sheets for row in sheet for piece in row):
        raise Faulted("BAD_FILE", "there is no text in it")
    yield Document(len(sheets), {}, pages_of(sheets))


def decoded(data: bytes) -> str:
    """By its byte order mark, else as UTF-8, else as Windows-1252; binary data is refused."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if b"\0" in data:
        raise Faulted("BAD_FILE", "binary data, not text")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _sheets(text: str) -> list[Sheet]:
    sheets: list[Sheet] = []
    for part in text.split("\f"):
        rows = [(Piece(0, line),) for long in part.splitlines() for line in _lines(long)]
        start = 0
        while start < len(rows):
            end = _end(rows, start)
            sheets.append(rows[start:end])
            start = end
    return sheets


def _end(rows: Sequence[Row], start: int) -> int:
    """Where a page ends that starts here: at a blank line near its foot, so that no paragraph
    is cut in two."""
    end = min(start + PAGE_LINES, len(rows))
    if end == len(rows):
        return end
    blank = (at for at in range(end, end - FOOT_LINES, -1) if not rows[at - 1][0].text)
    return next(blank, end)


def _lines(long: str) -> list[str]:
    """A line, in several where it would make a page too large to be read in one step."""
    text = clean(long.expandtabs()).rstrip()
    return [text[at : at + LINE_CHARS] for at in range(0, max(len(text), 1), LINE_CHARS)]
