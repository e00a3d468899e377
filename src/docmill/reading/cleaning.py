"""Text made safe and plain where it enters: what no database, XML or reader can use is left out."""

import unicodedata
from typing import Final

from docmill.core.texts import UNSEEN

HYPHENS: Final = "\u0002\ufffe"  # what PDFium puts for a hyphen at the end of a line
PRINTED_HYPHENS: Final = "\u2010\u2011"  # a hyphen and one that keeps a line together
SPACES: Final = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_LIGATURES: Final = {
    "ﬀ": "ff",
    "ﬁ": "fi",
    "ﬂ": "fl",
    "ﬃ": "ffi",
    "ﬄ": "ffl",
    "ﬅ": "st",
    "ﬆ": "st",
    "\uf0b7": "•",
}


def _make_table() -> dict[int, str | None]:
    gone = [
        *range(0x20),
        *range(0x7F, 0xA0),
        *UNSEEN,
    ]
    table: dict[int, str | None] = dict.fromkeys(gone)
    table |= {ord(mark): "-" for mark in (*HYPHENS, *PRINTED_HYPHENS)}
    table |= {ord(space): " " for space in SPACES}
    table |= {ord(ligature): plain for ligature, plain in _LIGATURES.items()}
    return table


_TABLE: Final = _make_table()


def clean(text: str) -> str:
    """One line of printable text: no control characters or lone surrogates, ligatures spelt out."""
    if text.isascii() and text.isprintable():
        return text
    if text.endswith("\xad"):  # only at the end of a line is a soft hyphen seen
        text = text[:-1] + "-"
    return unicodedata.normalize("NFC", text.translate(_TABLE))
