"""Where a PDF that does not open is damaged, as far as its bytes tell."""

import re
from typing import Final

_TAIL: Final = 2048
_POINTER: Final = re.compile(rb"startxref\s+(\d{1,12})")
_TABLE: Final = re.compile(rb"\s*(?:xref\b|\d+\s+\d+\s+obj\b)")


def explain_damage(data: bytes) -> str:
    """A sentence for its owner: it ends too early, or something in it is not where it should be."""
    if b"%PDF-" not in data[:1024]:
        return "It does not begin like a PDF: it is another kind of file, or its start is missing."
    tail = data[-_TAIL:]
    if b"%%EOF" not in tail:
        return f"It is not closed properly: it ends at byte {len(data):,} in the middle."
    pointers = _POINTER.findall(tail)
    if not pointers:
        return f"It is damaged near byte {len(data):,}: the way to its contents is missing."
    place = int(pointers[-1])
    if place >= len(data) or not _TABLE.match(data, place):
        return (
            f"It is damaged at byte {min(place, len(data)):,}: its table of contents is not there."
        )
    return f"It is damaged after byte {place:,}: its table of contents leads to nothing."
