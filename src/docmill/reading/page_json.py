"""A page that was read, as JSON, and back again: not a digit of it may change on the way."""

import base64
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.reading.pages import BUILT_IN, Box, Line, Page, Word, make_line

KIND: Final = "pages"  # of steps


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A page of a PDF: none where it does not load. `chars` is how many it took to read it."""

    page: Page | None
    warnings: list[str]
    chars: int
    reader: str = BUILT_IN

    @property
    def size(self) -> int:
        """Of its JSON, about."""
        page = self.page
        return 200 + sum(60 * len(line.words) for line in page.lines) if page else 200


def pack_page(turned: PageRecord) -> dict[str, Any]:
    said = {"warnings": turned.warnings, "chars": turned.chars, "reader": turned.reader}
    page = turned.page
    if page is None:
        return said
    words = page.words
    return {
        **said,
        "number": page.number,
        "size": [page.width, page.height],
        "scanned": page.scanned,
        "confidence": page.confidence,
        "lines": [[word.text for word in line.words] for line in page.lines],
        "boxes": _pack_boxes(word.box for word in words),
        "rules": _pack_boxes(page.rules),
        "marks": _pack_boxes(page.marks),
        "odd": {
            str(index): [word.angle, word.confidence, word.bold]
            for index, word in enumerate(words)
            if word.angle or word.bold or word.confidence < 1
        },
    }


def unpack_page(kept: Mapping[str, Any]) -> PageRecord:
    page = _unpack_content(kept) if "number" in kept else None
    return PageRecord(page, kept["warnings"], kept["chars"], kept["reader"])


def _unpack_content(kept: Mapping[str, Any]) -> Page:
    width, height = kept["size"]
    return Page(
        kept["number"],
        width,
        height,
        tuple(_unpack_lines(kept["lines"], _unpack_boxes(kept["boxes"]), kept["odd"])),
        scanned=kept["scanned"],
        confidence=kept["confidence"],
        rules=tuple(_unpack_boxes(kept["rules"])),
        marks=tuple(_unpack_boxes(kept.get("marks", ""))),
    )


def _unpack_lines(
    lines: Sequence[Sequence[str]], boxes: Sequence[Box], odd: Mapping[str, Any]
) -> Iterable[Line]:
    index = 0
    for texts in lines:
        words: list[Word] = []
        for text in texts:
            words.append(Word(text, boxes[index], *odd.get(str(index), ())))
            index += 1
        yield make_line(words)


def _pack_boxes(boxes: Iterable[Box]) -> str:
    sides = array("d", [side for box in boxes for side in (box.x0, box.y0, box.x1, box.y1)])
    return base64.b64encode(sides.tobytes()).decode()


def _unpack_boxes(sides: str) -> list[Box]:
    numbers = array("d", base64.b64decode(sides))
    return [Box(*numbers[at : at + 4]) for at in range(0, len(numbers), 4)]
