"""What the bytes of a PDF tell about its length while they pass by; nothing of it is parsed.

Only for estimates: a file can lie here and nothing but the time left is wrong. Pictures and fonts
are streams, which no PDF hides; pages may lie in packed objects, and then nobody knows them yet.
"""

import re
from typing import Final

from docmill.core.documents import GuessedPages

HEADER: Final = b"%PDF-"
HEADER_WITHIN: Final = 1024
# A picture's width and height stand this near to what says that it is one.
REACH: Final = 400
# Pixels for each page that make a text: an A4 page at 75 dpi, or a fax.
LEAST_PIXELS: Final = 500_000
# Of the file's head, where one that is made for the web says how many pages it has.
LINEARIZED: Final = re.compile(rb"/Linearized\b.{0,200}?/N\s+(\d{1,6})\b", re.DOTALL)
PAGE: Final = re.compile(rb"/Type\s*/Page(?!\w)")
IMAGE: Final = re.compile(rb"/Subtype\s*/Image(?!\w)")
WIDTH: Final = re.compile(rb"/Width\s+(\d{1,6})\b")
HEIGHT: Final = re.compile(rb"/Height\s+(\d{1,6})\b")
# The first is seen in plain objects; the others belong to the streams of fonts.
FONTS: Final = (b"/Font", b"/Length1", b"/Type1C", b"/CIDFontType0C")


class PdfSketch:
    """Looks at a file block by block, each byte once."""

    def __init__(self) -> None:
        self._is_pdf: bool | None = None
        self._pages: int = 0
        self._told_pages: int = 0
        self._pixels: int = 0
        self._pictures: int = 0
        self._has_fonts: bool = False
        # What was counted last, for pictures that begin in it, and what is not counted yet.
        self._counted: bytes = b""
        self._open: bytes = b""

    def update(self, block: bytes | bytearray) -> None:
        if self._is_pdf is None:
            self._is_pdf = HEADER in block[:HEADER_WITHIN]
            if match := LINEARIZED.search(block[:HEADER_WITHIN]):
                self._told_pages = int(match[1])
        if self._is_pdf:
            data = self._counted + self._open + block
            self._count(data, len(self._counted), len(data) - REACH)

    def finish(self) -> GuessedPages:
        if not self._is_pdf:
            return GuessedPages()
        data = self._counted + self._open
        self._count(data, len(self._counted), len(data))
        pages = self._told_pages or self._pages
        if self._has_fonts:
            return GuessedPages(pages or None)
        if not pages:
            return GuessedPages(self._pictures or None, self._pictures)
        return GuessedPages(pages, pages if self._pixels >= LEAST_PIXELS * pages else 0)

    def _count(self, data: bytes, begin: int, end: int) -> None:
        """What begins from `begin` up to `end`; what lies around it may be looked at."""
        end = max(end, begin)
        self._pages += sum(1 for at in _find(data, b"/Type", begin, end) if PAGE.match(data, at))
        for at in _find(data, b"/Subtype", begin, end):
            if IMAGE.match(data, at):
                self._add_picture(data, at)
        if not self._has_fonts:
            self._has_fonts = any(data.find(name, begin) >= 0 for name in FONTS)
        self._counted, self._open = data[max(0, end - REACH) : end], data[end:]

    def _add_picture(self, data: bytes, at: int) -> None:
        begin = max(data.rfind(b"obj", max(0, at - REACH), at), 0, at - REACH)
        end = data.find(b"stream", at, at + REACH)
        around = data[begin : end if end >= 0 else at + REACH]
        width, height = WIDTH.search(around), HEIGHT.search(around)
        pixels = int(width[1]) * int(height[1]) if width and height else 0
        self._pixels += pixels
        self._pictures += pixels >= LEAST_PIXELS


def _find(data: bytes, name: bytes, begin: int, end: int) -> list[int]:
    found: list[int] = []
    at = data.find(name, begin)
    while 0 <= at < end:
        found.append(at)
        at = data.find(name, at + 1)
    return found
