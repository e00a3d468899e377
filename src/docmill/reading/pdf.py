"""PDF: pages one at a time, within limits of our own; what cannot be read is said, not raised."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import BinaryIO, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import Tools
from docmill.core.steps import Steps
from docmill.reading import bombs, ocr, pdfium, pictures
from docmill.reading.cleaning import clean
from docmill.reading.order import lines_of
from docmill.reading.pages import BUILT_IN, Box, Document, Page, Word
from docmill.reading.remembered import KIND, Turned, packed, unpacked
from docmill.reading.rulings import drawn_on
from docmill.reading.words import words_of

MAX_BYTES: Final = 256 * 2**20
MAX_PAGES: Final = 2000
MAX_SIDE: Final = 50_000.0  # points, about 17 metres
MAX_PAGE_CHARS: Final = 200_000
MAX_CHARS: Final = 10_000_000
FEW_CHARS: Final = 40  # a stamp or a page number on a scan
SOME_IMAGE: Final = 0.02  # of the page: less is no text to read
MOST_IMAGE: Final = 0.5
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


def _unheard(percent: int, stage: str) -> None:
    """Progress that nobody waits for."""


ALONE: Final = Tools(_unheard)


@contextmanager
def open_pdf(file: BinaryIO, tools: Tools = ALONE) -> Generator[Document, None, None]:
    """The PDF, opened. Raises BAD_PDF at once when there is nothing in it to read."""
    with checked(file) as pdf:
        warnings: list[str] = []
        yield Document(pdf.page_count, metadata(pdf), _pages(pdf, warnings, tools), warnings)


@contextmanager
def checked(file: BinaryIO) -> Generator[pdfium.Pdf, None, None]:
    """The PDF as PDFium has it, within our limits."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Faulted("BAD_PDF", f"larger than {MAX_BYTES} bytes")
    bombs.weigh(data)
    try:
        with pdfium.opened(data) as pdf:
            _check_count(pdf.page_count)
            yield pdf
    except pdfium.Unopened as exc:
        raise Faulted("BAD_PDF", _WHY.get(exc.code, "truncated, damaged or not a PDF")) from exc


def _check_count(pages: int) -> None:
    if pages < 1:
        raise Faulted("BAD_PDF", "it has no pages")
    if pages > MAX_PAGES:
        raise Faulted("BAD_PDF", f"it claims {pages} pages, more than {MAX_PAGES}")


def metadata(pdf: pdfium.Pdf) -> dict[str, str]:
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


def _pages(pdf: pdfium.Pdf, warnings: list[str], tools: Tools) -> Iterator[Page]:
    """Every page that loads; BAD_PDF at the end when none did."""
    room, loaded = MAX_CHARS, 0
    for turned in _turned(pdf, tools):
        warnings += turned.warnings
        room -= turned.chars
        if room < 0:
            raise Faulted("BAD_PDF", f"more than {MAX_CHARS} characters")
        if turned.page:
            loaded += 1
            yield turned.page
    if not loaded:
        raise Faulted("BAD_PDF", f"none of its {pdf.page_count} pages loads")


def _turned(pdf: pdfium.Pdf, tools: Tools) -> Iterator[Turned]:
    """One page after the other, the first from what an earlier try has kept."""
    steps = Steps(tools.memory, KIND, packed)
    begin = 0
    for turned in map(unpacked, steps.earlier()):
        if turned.reader != BUILT_IN:
            break  # the setting was changed meanwhile
        yield turned
        begin += 1
    for index in range(begin, pdf.page_count):
        told = partial(tools.progress, 0, f"reading the picture of page {index + 1}")
        turned = _page(pdf, index, told)
        steps.done(turned, turned.size)
        yield turned


def _page(pdf: pdfium.Pdf, index: int, alive: Callable[[], None]) -> Turned:
    with pdfium.loaded(pdf, index) as handle:
        if not handle:
            return Turned(None, [f"page {index + 1} can't be read"], 0)
        shape, words, count = written(handle, index + 1)
        width, height = shape.size
        lines, (rules, marks) = lines_of(words, shape.size), drawn_on(handle, shape)
        page = Page(index + 1, round(width, 2), round(height, 2), lines, rules=rules, marks=marks)
        warnings: list[str] = []
        if _is_picture(words, handle, shape):
            page = _scanned(page, handle, warnings, alive)
    return Turned(page, warnings, count)


def written(handle: int, number: int) -> tuple[pdfium.PageShape, Sequence[Word], int]:
    """A loaded page's shape, its words, and how many characters it took."""
    shape = pdfium.shape(handle)
    width, height = shape.size
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise Faulted("BAD_PDF", f"page {number} measures {width:g} by {height:g} points")
    with pdfium.text_of(handle) as (text, count):
        if count > MAX_PAGE_CHARS:
            raise Faulted("BAD_PDF", f"too many characters: {count} on page {number}")
        return shape, words_of(pdfium.characters(text, count, shape), shape.size), count


def outline(pdf: pdfium.Pdf, number: int) -> tuple[tuple[float, float], bool] | None:
    """A page's size as it is shown and whether it is a picture; None where it does not load."""
    with pdfium.loaded(pdf, number - 1) as handle:
        if not handle:
            return None
        shape, words, _ = written(handle, number)
        return shape.size, _is_picture(words, handle, shape)


def _is_picture(words: Sequence[Word], handle: int, shape: pdfium.PageShape) -> bool:
    """Little or no text, and images: much of the page where a few characters are text."""
    if sum(len(word.text) for word in words) > FEW_CHARS:
        return False
    return pictures.covered(handle, shape) >= (MOST_IMAGE if words else SOME_IMAGE)


def _scanned(page: Page, handle: int, warnings: list[str], alive: Callable[[], None]) -> Page:
    """The page with what OCR reads from its picture beside the text it has."""
    if not ocr.installed():
        warnings.append(f"page {page.number} is a picture; OCR is not installed")
        return page
    size = page.width, page.height
    seen = ocr.read(pictures.drawn(handle, size), size, alive)
    if not seen.whole:
        warnings.append(
            f"page {page.number} holds too much to read it as a picture; it was left out"
        )
    elif seen.words and seen.confidence < HARD:
        warnings.append(f"page {page.number} is a picture that is hard to read")
    known = [word.box for word in page.words]
    words = [*page.words, *(word for word in seen.words if not _within(word.box, known))]
    lines = lines_of(words, size)
    return replace(page, lines=lines, scanned=True, confidence=seen.confidence)


def _within(box: Box, others: Sequence[Box]) -> bool:
    x, y = (box.x0 + box.x1) / 2, box.middle
    return any(other.x0 <= x <= other.x1 and other.y0 <= y <= other.y1 for other in others)
