"""PDF: pages one at a time, within limits of our own; what cannot be read is said, not raised."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from docmill.core.faults import Faulted
from docmill.reading import bombs, pdfium
from docmill.reading.cleaning import clean
from docmill.reading.order import lines_of
from docmill.reading.pages import Document, Page
from docmill.reading.words import words_of

MAX_BYTES: Final = 256 * 2**20
MAX_PAGES: Final = 2000
MAX_SIDE: Final = 50_000.0  # points, about 17 metres
MAX_PAGE_CHARS: Final = 200_000
MAX_CHARS: Final = 10_000_000

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


@contextmanager
def open_pdf(file: BinaryIO) -> Generator[Document, None, None]:
    """The PDF, opened. Raises BAD_PDF at once when there is nothing in it to read."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Faulted("BAD_PDF", f"larger than {MAX_BYTES} bytes")
    bombs.weigh(data)
    try:
        with pdfium.opened(data) as pdf:
            _check_count(pdf.page_count)
            warnings: list[str] = []
            yield Document(pdf.page_count, _metadata(pdf), _pages(pdf, warnings), warnings)
    except pdfium.Unopened as exc:
        raise Faulted("BAD_PDF", _WHY.get(exc.code, "truncated, damaged or not a PDF")) from exc


def _check_count(pages: int) -> None:
    if pages < 1:
        raise Faulted("BAD_PDF", "it has no pages")
    if pages > MAX_PAGES:
        raise Faulted("BAD_PDF", f"it claims {pages} pages, more than {MAX_PAGES}")


def _metadata(pdf: pdfium.Pdf) -> dict[str, str]:
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


def _pages(pdf: pdfium.Pdf, warnings: list[str]) -> Iterator[Page]:
    """Every page that loads; BAD_PDF at the end when none did."""
    room, loaded = MAX_CHARS, 0
    for index in range(pdf.page_count):
        page, used = _page(pdf, index, room)
        if page is None:
            warnings.append(f"page {index + 1} can't be read")
            continue
        room -= used
        loaded += 1
        yield page
    if not loaded:
        raise Faulted("BAD_PDF", f"none of its {pdf.page_count} pages loads")


def _page(pdf: pdfium.Pdf, index: int, room: int) -> tuple[Page | None, int]:
    """One page and how many characters it took, or no page."""
    with pdfium.loaded(pdf, index) as handle:
        if not handle:
            return None, 0
        shape = pdfium.shape(handle)
        width, height = shape.size
        if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
            raise Faulted("BAD_PDF", f"page {index + 1} measures {width:g} by {height:g} points")
        with pdfium.text_of(handle) as (text, count):
            if count > min(MAX_PAGE_CHARS, room):
                raise Faulted("BAD_PDF", f"too many characters: {count} on page {index + 1}")
            words = words_of(pdfium.characters(text, count, shape), shape.size)
        lines = lines_of(words, shape.size)
    return Page(index + 1, round(width, 2), round(height, 2), lines), count
