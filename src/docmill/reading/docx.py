"""Word documents: paragraphs and table rows as lines, set on made-up pages (see flow).

Pages end where the author or Word's last layout ended them. Deleted text and field codes are left
out. Nothing but the parts named here is unpacked, and none beyond its limit. Entity bombs are
stopped by expat itself (2.4.1 or later), and it opens no other file.
"""

import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docmill.core.faults import DocmillError
from docmill.reading.cleaning import clean
from docmill.reading.pages import FlowPiece, FlowRow, FlowSheet, PagedDocument, lay_out_flow

MAX_MEMBERS: Final = 10_000
MAX_PART_BYTES: Final = 100 * 2**20
MAX_CHARS: Final = 5_000_000
MAX_CELL_COLUMNS: Final = 40
CELL_SPACE: Final = 4

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BODIES: Final = {_W + name for name in ("body", "hdr", "ftr", "footnote", "endnote")}
_MAIN: Final = "word/document.xml"
_FACTS: Final = {
    "{http://purl.org/dc/elements/1.1/}title": "title",
    "{http://purl.org/dc/elements/1.1/}creator": "author",
    "{http://purl.org/dc/elements/1.1/}subject": "subject",
    "{http://purl.org/dc/terms/}created": "created",
    "{http://purl.org/dc/terms/}modified": "modified",
}
_PAGE_BREAK: Final = "\f"
_MARKS: Final = {
    _W + "tab": " " * CELL_SPACE,
    _W + "br": "\n",
    _W + "cr": "\n",
    _W + "noBreakHyphen": "-",
    _W + "lastRenderedPageBreak": _PAGE_BREAK,
}
_UNSEEN: Final = {
    _FALLBACK,
    *(_W + name for name in ("pPr", "rPr", "sectPr", "tblPr", "trPr", "tcPr", "sdtPr", "moveFrom")),
}
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    ElementTree.ParseError,
    KeyError,
    EOFError,
    NotImplementedError,  # a way of packing that zipfile does not know
    RuntimeError,  # an encrypted part
    ValueError,
    OSError,
)


@contextmanager
def open_docx(file: BinaryIO) -> Generator[PagedDocument, None, None]:
    """The document, read. Raises BAD_FILE when it is damaged, locked or blank."""
    try:
        with zipfile.ZipFile(file) as archive:
            _check_members(archive)
            sheets, metadata = _read_sheets(archive), _read_metadata(archive)
    except _DAMAGE as exc:
        raise DocmillError("BAD_FILE", f"not a Word document that can be read: {exc}") from exc
    if not any(row for sheet in sheets for row in sheet):
        raise DocmillError("BAD_FILE", "there is no text in it")
    yield PagedDocument(len(sheets), metadata, lay_out_flow(sheets))


def _check_members(archive: zipfile.ZipFile) -> None:
    if len(archive.infolist()) > MAX_MEMBERS:
        raise DocmillError("BAD_FILE", f"more than {MAX_MEMBERS} parts")


@contextmanager
def _open_part(archive: zipfile.ZipFile, name: str) -> Generator[IO[bytes], None, None]:
    """One part, opened; zipfile never gives more of it than the size checked here."""
    info = archive.getinfo(name)
    if info.file_size > MAX_PART_BYTES:
        raise DocmillError("BAD_FILE", f"a part unpacks to {info.file_size} bytes")
    with archive.open(info) as part:
        yield part


def _read_metadata(archive: zipfile.ZipFile) -> dict[str, str]:
    if "docProps/core.xml" not in archive.namelist():
        return {}
    with _open_part(archive, "docProps/core.xml") as part:
        root = ElementTree.parse(part).getroot()  # noqa: S314  see above
    facts = {_FACTS[item.tag]: clean(item.text or "") for item in root if item.tag in _FACTS}
    return {name: fact for name, fact in sorted(facts.items()) if fact}


def _read_sheets(archive: zipfile.ZipFile) -> list[FlowSheet]:
    """Headers on the first sheet, then the text, then footers and notes on the last."""
    names = sorted(name for name in archive.namelist() if name.startswith("word/"))
    heads = [name for name in names if name.startswith("word/header")]
    feet = [name for name in names if name.startswith(("word/footer", "word/footn", "word/endn"))]
    sheets: list[list[FlowRow]] = [[]]
    room = MAX_CHARS
    for name in (*heads, _MAIN, *feet):
        if not name.endswith(".xml"):
            continue
        for row in _read_rows(archive, name):
            room -= sum(len(piece.text) for piece in row)
            if room < 0:
                raise DocmillError("BAD_FILE", f"more than {MAX_CHARS} characters")
            _add_row(row, sheets)
    return [*sheets]


def _add_row(row: FlowRow, sheets: list[list[FlowRow]]) -> None:
    """Put a row on the last sheet; a page break in its text starts new ones."""
    if not row or _PAGE_BREAK not in row[0].text:
        sheets[-1].append(row)
        return
    for index, text in enumerate(row[0].text.split(_PAGE_BREAK)):
        if index and any(sheets[-1]):  # Word marks a break twice: where it is, and where it fell
            sheets.append([])
        if text.strip():
            sheets[-1].append((FlowPiece(0, text),))


def _read_rows(archive: zipfile.ZipFile, name: str) -> Iterator[FlowRow]:
    with _open_part(archive, name) as part:
        for block in _iterate_blocks(part):
            if block.tag == _W + "tbl":
                yield from _make_table_rows(block)
            else:
                yield from map(_make_text_row, _block_text(block).split("\n"))
                yield ()  # a paragraph ends: nothing else tells it from the next


def _make_text_row(line: str) -> FlowRow:
    return (FlowPiece(0, line),) if line.strip(" ") else ()


def _iterate_blocks(part: IO[bytes]) -> Iterator[Element]:
    """The paragraphs and tables of a part, each let go when the next is asked for."""
    parents: list[Element] = []
    events = ElementTree.iterparse(part, ("start", "end"))  # noqa: S314  see above
    for event, element in events:
        if event == "start":
            parents.append(element)
            continue
        parents.pop()
        if parents and parents[-1].tag in _BODIES:
            yield element
            parents[-1].remove(element)


def _make_table_rows(table: Element) -> Iterator[FlowRow]:
    """Rows with their cells below each other: each column starts where its longest text lets it."""
    rows = [
        [_cell_text(cell) for cell in _find_children(row, "tc")]
        for row in _find_children(table, "tr")
    ]
    widths = [0] * max(map(len, rows), default=0)
    for row in rows:
        for index, text in enumerate(row):
            widths[index] = max(widths[index], min(len(text), MAX_CELL_COLUMNS))
    for row in rows:
        yield _make_table_row(row, widths)


def _find_children(element: Element, name: str) -> Iterator[Element]:
    """Children of this name, also those inside a content control."""
    for child in element:
        if child.tag == _W + name:
            yield child
        elif child.tag in {_W + "sdt", _W + "sdtContent"}:
            yield from _find_children(child, name)


def _cell_text(cell: Element) -> str:
    return " ".join(_block_text(cell).replace(_PAGE_BREAK, " ").split())


def _make_table_row(texts: list[str], widths: list[int]) -> FlowRow:
    pieces: list[FlowPiece] = []
    nominal = end = 0
    for text, width in zip(texts, widths, strict=False):
        column = max(nominal, end)
        if text:
            pieces.append(FlowPiece(column, text))
            end = column + len(text) + CELL_SPACE
        nominal += width + CELL_SPACE
    return pieces


def _block_text(block: Element) -> str:
    """What a reader sees of it; lines end with a line feed, pages with a form feed."""
    parts: list[str] = []
    waiting = [block]
    while waiting:
        element = waiting.pop()
        if element.tag in _UNSEEN:
            continue
        if element.tag == _W + "p" and element is not block and parts:
            parts.append("\n")
        parts.append(_element_text(element))
        waiting.extend(reversed(element))
    return "".join(parts)


def _element_text(element: Element) -> str:
    if element.tag == _W + "t":
        return clean(element.text or "")
    if element.tag == _W + "br" and element.get(_W + "type") == "page":
        return _PAGE_BREAK
    return _MARKS.get(element.tag, "")
