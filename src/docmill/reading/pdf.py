"""PDF: pages one at a time, within limits of our own; what cannot be read is said, not raised."""

import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, Final

import pypdfium2

from docmill.core.faults import MAX_PAGES, DocmillError
from docmill.core.plugins import Steps, Tools
from docmill.reading import form_fields, ocr, pdfium, pictures
from docmill.reading.cleaning import clean
from docmill.reading.damage import explain_damage
from docmill.reading.order import order_lines
from docmill.reading.page_json import KIND, PageRecord, pack_page, unpack_page
from docmill.reading.pages import BUILT_IN, Page, PagedDocument, Word
from docmill.reading.pictures import find_rules_and_marks
from docmill.reading.words import find_words

ReadPicture = Callable[[pictures.Pixels, tuple[float, float]], ocr.OcrResult]

MAX_PDF_BYTES: Final = 256 * 2**20
MAX_SIDE: Final = 50_000.0  # points, about 17 metres
MAX_PAGE_CHARS: Final = 200_000
MAX_CHARS: Final = 10_000_000
FEW_CHARS: Final = 40  # a stamp or a page number on a scan
SOME_IMAGE: Final = 0.02  # of the page: less is no text to read
MOST_IMAGE: Final = 0.5
EDGE: Final = 0.04  # of the height: head and foot of a printed web page
HARD: Final = 0.6

_FACTS: Final = {
    "title": "Title",
    "author": "Author",
    "subject": "Subject",
    "keywords": "Keywords",
    "creator": "Creator",
    "producer": "Producer",
    "created": "CreationDate",
    "modified": "ModDate",
}
_DATE: Final = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?"
)
_WHY: Final = {
    pdfium.PASSWORD_NEEDED: "encrypted, and the empty password does not open it",
    pdfium.LOCK_UNKNOWN: "encrypted in a way PDFium does not know",
}


_LOCKED: Final = {
    pdfium.PASSWORD_NEEDED: "It is locked with a password.",
    pdfium.LOCK_UNKNOWN: "It is locked in a way that can't be opened here.",
}
_BOMB: Final = "It unpacks to far more than its size: nothing that people make does."


def _ignore_progress(percent: int, stage: str) -> None:
    """Progress that nobody waits for."""


NO_TOOLS: Final = Tools(_ignore_progress)


@contextmanager
def open_pdf(
    file: BinaryIO, tools: Tools = NO_TOOLS, *, drawn: bool = True
) -> Generator[PagedDocument, None, None]:
    """The PDF, opened. Raises BAD_PDF at once when there is nothing in it to read."""
    with open_checked(file) as pdf:
        tools.size(pdf.page_count)
        warnings: list[str] = []
        records = _read_records(pdf, tools, drawn=drawn)
        pages = _read_pages(records, pdf.page_count, warnings)
        embeds = pdf.attachment_count > 0
        yield PagedDocument(pdf.page_count, read_metadata(pdf), pages, warnings, embeds=embeds)


@contextmanager
def open_checked(file: BinaryIO) -> Generator[pdfium.Pdf, None, None]:
    """The PDF as PDFium has it, within our limits."""
    data = file.read(MAX_PDF_BYTES + 1)
    if len(data) > MAX_PDF_BYTES:
        raise _refuse(
            f"larger than {MAX_PDF_BYTES} bytes", f"It is larger than {MAX_PDF_BYTES >> 20} MB."
        )
    check_streams(data)
    try:
        with pdfium.open_bytes(data) as pdf:
            _check_count(pdf.page_count)
            yield pdf
    except pdfium.PdfOpenError as exc:
        raise _refuse(
            _WHY.get(exc.code, "truncated, damaged or not a PDF"),
            _LOCKED.get(exc.code) or explain_damage(data),
        ) from exc


def _refuse(detail: str, reason: str) -> DocmillError:
    return DocmillError("BAD_PDF", detail, reason=reason)


def _check_count(pages: int) -> None:
    if pages < 1:
        raise _refuse("it has no pages", "It has no pages.")
    if pages > MAX_PAGES:
        detail = f"it claims {pages} pages, more than {MAX_PAGES}"
        reason = f"It has {pages:,} pages, and at most {MAX_PAGES:,} are read."
        raise DocmillError("TOO_MANY_PAGES", detail, reason=reason)


def read_metadata(pdf: pdfium.Pdf) -> dict[str, str]:
    facts = {name: clean(pdf.meta(key)).strip() for name, key in _FACTS.items()}
    for name in ("created", "modified"):
        facts[name] = iso_date(facts[name])
    return {name: fact for name, fact in facts.items() if fact}


def iso_date(text: str) -> str:
    """A PDF's date (D:20240131120000+01'00') as ISO 8601, as far as it goes; else as it is."""
    match = _DATE.fullmatch(text.rstrip("'"))
    if not match:
        return text
    year, month, day, hour, minute, second, utc, offset, offset_minutes = match.groups()
    date = "-".join(part for part in (year, month, day) if part)
    if not hour:
        return date
    zone = "Z" if utc else f"{offset}:{offset_minutes or '00'}" if offset else ""
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"


def _read_pages(
    records: Iterable[PageRecord], page_count: int, warnings: list[str]
) -> Iterator[Page]:
    """Every page that loads; BAD_PDF at the end when none did."""
    room, loaded = MAX_CHARS, 0
    for turned in records:
        warnings += turned.warnings
        room -= turned.chars
        if room < 0:
            raise _refuse(
                f"more than {MAX_CHARS} characters", f"It has more than {MAX_CHARS:,} characters."
            )
        if turned.page:
            loaded += 1
            yield turned.page
    if not loaded:
        raise _refuse(
            f"none of its {page_count} pages loads",
            f"It is damaged: none of its pages ({page_count:,}) can be opened.",
        )


def _read_records(pdf: pdfium.Pdf, tools: Tools, *, drawn: bool) -> Iterator[PageRecord]:
    """One page after the other, the first from what an earlier try has kept."""
    steps = Steps(tools.memory, KIND, pack_page)
    begin = 0
    for turned in map(unpack_page, steps.recall()):
        if turned.reader != BUILT_IN:
            break  # the setting was changed meanwhile
        yield turned
        begin += 1
    readings = ocr.OcrCache()
    for index in range(begin, pdf.page_count):
        told = partial(tools.progress, 0, f"reading the picture of page {index + 1}")
        turned = _read_page(pdf, index, partial(readings.read, alive=told), drawn=drawn)
        steps.add(turned, turned.size)
        yield turned


def _read_page(pdf: pdfium.Pdf, index: int, look: ReadPicture, *, drawn: bool) -> PageRecord:
    fields = form_fields.read_fields(pdf, index)
    with pdfium.load_page(pdf, index) as handle:
        if not handle:
            return PageRecord(None, [f"page {index + 1} can't be read"], 0)
        shape, words, count = read_text_layer(handle, index + 1)
        words = form_fields.add_fields(words, fields, shape)
        width, height = shape.size
        lines = order_lines(words, shape.size)
        rules, marks = find_rules_and_marks(handle, shape) if drawn else ((), ())
        page = Page(index + 1, round(width, 2), round(height, 2), lines, rules=rules, marks=marks)
        warnings: list[str] = []
        if _is_picture(words, handle, shape):
            page = _add_ocr(page, handle, warnings, look)
    return PageRecord(page, warnings, count)


def read_text_layer(handle: int, number: int) -> tuple[pdfium.PageShape, Sequence[Word], int]:
    """A loaded page's shape, its words, and how many characters it took."""
    shape = pdfium.page_shape(handle)
    width, height = shape.size
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise _refuse(
            f"page {number} measures {width:g} by {height:g} points",
            f"Page {number:,} has no size that can be shown.",
        )
    with pdfium.open_text_page(handle) as (text, count):
        if count > MAX_PAGE_CHARS:
            raise _refuse(
                f"too many characters: {count} on page {number}",
                f"Page {number:,} has more than {MAX_PAGE_CHARS:,} characters.",
            )
        return shape, find_words(pdfium.read_characters(text, count, shape), shape.size), count


def inspect_page(pdf: pdfium.Pdf, number: int) -> tuple[tuple[float, float], bool] | None:
    """A page's size as it is shown and whether it is a picture; None where it does not load."""
    with pdfium.load_page(pdf, number - 1) as handle:
        if not handle:
            return None
        shape, words, _ = read_text_layer(handle, number)
        return shape.size, _is_picture(words, handle, shape)


def _is_picture(words: Sequence[Word], handle: int, shape: pdfium.PageShape) -> bool:
    """Little or no text, and images: much of the page where a few characters are text.

    What a browser prints at the edges does not count. A page without any text may also be drawn.
    """
    height = shape.size[1]
    edge = EDGE * height
    inner = [word for word in words if edge < word.box.middle < height - edge]
    if sum([len(word.text) for word in inner]) > FEW_CHARS:
        return False
    share = pictures.image_share(handle, shape)
    return share >= (MOST_IMAGE if inner else SOME_IMAGE) or (
        not inner and pictures.is_drawn(handle)
    )


def _add_ocr(page: Page, handle: int, warnings: list[str], look: ReadPicture) -> Page:
    """The page with what OCR reads from its picture beside the text it has."""
    if not ocr.is_installed():
        warnings.append(f"page {page.number} is a picture; OCR is not installed")
        return page
    size = page.width, page.height
    seen = look(pictures.render_gray(handle, size), size)
    if not seen.whole:
        warnings.append(
            f"page {page.number} holds too much to read it as a picture; it was left out"
        )
    elif seen.words and seen.confidence < HARD:
        warnings.append(f"page {page.number} is a picture that is hard to read")
    known = [word.box for word in page.words]
    more = [word for word in seen.words if not any(box.holds(word.box) for box in known)]
    lines = order_lines([*page.words, *more], size)
    return replace(page, lines=lines, scanned=True, confidence=seen.confidence)


MAX_STREAMS: Final = 1_000_000
MAX_STREAM_BYTES: Final = 64 * 2**20
MAX_TOTAL_BYTES: Final = 512 * 2**20
MAX_LAYERS: Final = 3
RATIO_BYTES: Final = 8 * 2**20
MAX_RATIO: Final = 100  # from there on; page content reaches 20, bombs 500 to 1000

_PIECE: Final = 2**16
_LEAD: Final = re.compile(rb"stream\s{0,3}")
_PICTURE: Final = re.compile(rb"/Subtype\s*/Image\b")
_DICTIONARY_BYTES: Final = 1024


def check_streams(data: bytes) -> None:
    """Raises BAD_PDF when one stream, or all of them together, unpack to more than we take."""
    total = 0
    for count, (keyword, start) in enumerate(_find_streams(data)):
        if count > MAX_STREAMS:
            raise _refuse(f"more than {MAX_STREAMS} streams", _BOMB)
        if not _is_deflated(data[start : start + 2]) or _is_image_stream(data, keyword):
            continue
        total += _unpacked_size(data, start)
        if total > MAX_TOTAL_BYTES:
            raise _refuse(f"streams unpack to more than {MAX_TOTAL_BYTES} bytes", _BOMB)


def _find_streams(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each keyword `stream` or `endstream` stands, and what follows it."""
    place = data.find(b"stream")
    while place >= 0:
        lead = _LEAD.match(data, place)
        assert lead is not None
        yield place, lead.end()
        place = data.find(b"stream", lead.end())


def _is_deflated(start: bytes) -> bool:
    """Whether data starts the way zlib data does."""
    return len(start) == 2 and start[0] & 15 == 8 and int.from_bytes(start, "big") % 31 == 0


def _is_image_stream(data: bytes, end: int) -> bool:
    before = data[max(0, end - _DICTIONARY_BYTES) : end]
    return _PICTURE.search(before, max(before.rfind(b" obj"), 0)) is not None


def _unpacked_size(data: bytes, start: int) -> int:
    """The size of one stream with every layer unpacked, together."""
    total = 0
    layer: Iterable[bytes] = (
        data[place : place + _PIECE] for place in range(start, len(data), _PIECE)
    )
    for _ in range(MAX_LAYERS):
        size, head, layer = _unpack_layer(layer)
        total += size
        if not _is_deflated(head[:2]):
            break
    return total


def _unpack_layer(packed: Iterable[bytes]) -> tuple[int, bytes, list[bytes]]:
    """Unpack one layer: its size, how it starts, and its data where that is packed once more."""
    size, head = 0, b""
    kept: list[bytes] = []
    for fed, piece in _inflate(packed):
        size += len(piece)
        head = head or piece[:2]
        _check_size(size, fed)
        if _is_deflated(head):
            kept.append(piece)
    return size, head, kept


def _check_size(size: int, fed: int) -> None:
    if size > MAX_STREAM_BYTES:
        raise _refuse(f"a stream unpacks to more than {MAX_STREAM_BYTES} bytes", _BOMB)
    if size > RATIO_BYTES and size > MAX_RATIO * fed:
        raise _refuse(f"a stream unpacks to more than {MAX_RATIO} times its size", _BOMB)


def _inflate(packed: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Small pieces of unpacked data, as far as it goes, each with how much was fed in till then."""
    unpacker, fed = zlib.decompressobj(), 0
    for chunk in packed:
        fed += len(chunk)
        rest = chunk
        while rest and not unpacker.eof:
            try:
                yield fed, unpacker.decompress(rest, _PIECE)
            except zlib.error:
                return
            rest = unpacker.unconsumed_tail
        if unpacker.eof:
            return


MAX_ATTACHMENTS: Final = 50
MAX_ATTACHMENT_BYTES: Final = 20 * 2**20


def read_attachments(data: bytes) -> list[tuple[str, bytes]]:
    """Name and content of each embedded file; none where the PDF cannot be opened."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError:
        return []
    try:
        return _read_files(document)
    except pypdfium2.PdfiumError:
        return []
    finally:
        document.close()


def _read_files(document: Any) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for index in range(min(document.count_attachments(), MAX_ATTACHMENTS)):
        file = document.get_attachment(index)
        content = bytes(file.get_data())
        if len(content) <= MAX_ATTACHMENT_BYTES:
            found.append((file.get_name(), content))
    return found
