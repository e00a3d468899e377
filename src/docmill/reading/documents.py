"""The one way into a document, `open_document`, by content type; and plain text, set on pages."""

import codecs
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import BinaryIO, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import DOCX, PDF, TEXT, Tools
from docmill.reading.cleaning import clean
from docmill.reading.docx import open_docx
from docmill.reading.pages import FlowPiece, FlowRow, FlowSheet, PagedDocument, lay_out_flow
from docmill.reading.pdf import NO_TOOLS, open_pdf

MAX_TEXT_CHARS: Final = 5_000_000
PAGE_LINES: Final = 60
FOOT_LINES: Final = 20
LINE_CHARS: Final = 2000

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@contextmanager
def open_text(file: BinaryIO) -> Generator[PagedDocument, None, None]:
    """The text, decoded. Raises BAD_FILE when it is binary, blank or too long."""
    data = file.read(4 * MAX_TEXT_CHARS + 1)
    text = decode(data)
    if len(text) > MAX_TEXT_CHARS or len(data) > 4 * MAX_TEXT_CHARS:
        reason = f"It has more than {MAX_TEXT_CHARS:,} characters."
        raise DocmillError("BAD_FILE", f"more than {MAX_TEXT_CHARS} characters", reason=reason)
    sheets = _cut_into_sheets(text)
    if not any(piece.text for sheet in sheets for row in sheet for piece in row):
        raise DocmillError("BAD_FILE", "there is no text in it", reason="There is no text in it.")
    yield PagedDocument(len(sheets), {}, lay_out_flow(sheets))


def decode(data: bytes) -> str:
    """By its byte order mark, else as UTF-8, else as Windows-1252; binary data is refused."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if b"\0" in data:
        reason = "It is not text, although its name or type says so."
        raise DocmillError("BAD_FILE", "binary data, not text", reason=reason)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _cut_into_sheets(text: str) -> list[FlowSheet]:
    sheets: list[FlowSheet] = []
    for part in text.split("\f"):
        rows = [
            (FlowPiece(0, line),) for long in part.splitlines() for line in _break_long_line(long)
        ]
        start = 0
        while start < len(rows):
            end = _find_page_end(rows, start)
            sheets.append(rows[start:end])
            start = end
    return sheets


def _find_page_end(rows: Sequence[FlowRow], start: int) -> int:
    """Where a page ends that starts here: at a blank line near its foot, so that no paragraph
    is cut in two."""
    end = min(start + PAGE_LINES, len(rows))
    if end == len(rows):
        return end
    blank = (at for at in range(end, end - FOOT_LINES, -1) if not rows[at - 1][0].text)
    return next(blank, end)


def _break_long_line(long: str) -> list[str]:
    """A line, in several where it would make a page too large to be read in one step."""
    text = clean(long.expandtabs()).rstrip()
    return [text[at : at + LINE_CHARS] for at in range(0, max(len(text), 1), LINE_CHARS)]


_OPENERS: Final = {DOCX: open_docx, TEXT: open_text}


def open_document(
    file: BinaryIO, content_type: str, tools: Tools = NO_TOOLS, *, drawn: bool = True
) -> AbstractContextManager[PagedDocument]:
    """A context that gives the Document. Pages are read as they are asked for, and then let go.

    A page that takes long tells of its progress meanwhile; of many, those that an earlier try has
    read are not read again. Who needs no lines and marks that are drawn on pages says so.
    """
    if tools.document is not None:
        return nullcontext(tools.document)
    plain = content_type.partition(";")[0].strip().lower()
    if plain != PDF and plain not in _OPENERS:
        raise DocmillError("UNSUPPORTED_TYPE", f"no reader for {plain}")
    file.seek(0)
    return open_pdf(file, tools, drawn=drawn) if plain == PDF else _OPENERS[plain](file)
