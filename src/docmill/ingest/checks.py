"""What kind of file is this, by its content; and may it enter?"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from docmill.core import asked
from docmill.core.faults import Faulted
from docmill.core.pipeline import DOCX, PDF, TEXT

HEAD: Final = 4096
TAIL: Final = 256 << 10  # of an archive: its list of contents stands at its end
UNKNOWN: Final = "application/octet-stream"

# Readers accept a header after some junk; what mail gateways put there is shorter than this.
_PDF_HEADER: Final = re.compile(rb"%PDF-\d")
ZIP_HEADER: Final = b"PK\x03\x04"
_ZIP_ENTRY: Final = re.compile(rb"PK\x01\x02.{24}(..).{16}", re.DOTALL)
_OF_WORD: Final = frozenset({b"[Content_Types].xml", b"word/document.xml"})
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Offer:
    """What this installation can do: its pipelines and the types and mappings each takes.

    `asks`: those that find fields asked for by name.
    """

    accepts: Mapping[str, tuple[str, ...]]
    mappings: Mapping[str, tuple[str, ...]]
    asks: frozenset[str] = frozenset()

    def default_mapping(self, pipeline: str) -> str | None:
        return next(iter(self.mappings.get(pipeline, ())), None)


def kind_of(head: bytes, tail: bytes | None = None) -> str:
    """The content type told by the first bytes. Names and headers are not asked.

    What an archive is can be told only by the last bytes; without these it may be a document.
    """
    if _PDF_HEADER.search(head[:1024]):
        return PDF
    if head.startswith(ZIP_HEADER):
        return DOCX if tail is None or _members(tail) >= _OF_WORD else UNKNOWN
    if head.startswith(_UTF16) or (head and not _BINARY.search(head)):
        return TEXT
    return UNKNOWN


def _members(tail: bytes) -> frozenset[bytes]:
    """The names in an archive's list of contents, without unpacking anything."""
    found = _ZIP_ENTRY.finditer(tail)
    sizes = ((entry.end(), int.from_bytes(entry[1], "little")) for entry in found)
    return frozenset(tail[at : at + size] for at, size in sizes)


def check_wanted(offer: Offer, pipeline: str, mapping: str | None) -> None:
    if pipeline not in offer.accepts:
        raise Faulted("UNKNOWN_PIPELINE", pipelines=sorted(offer.accepts))
    known = offer.mappings.get(pipeline, ())
    if mapping is not None and mapping not in known:
        raise Faulted("UNKNOWN_MAPPING", mappings=sorted(known))


def check_asked(offer: Offer, pipeline: str, options: Mapping[str, Any]) -> None:
    if asked.OPTION in options and pipeline not in offer.asks:
        able = ", ".join(sorted(offer.asks)) or "none here"
        message = f"the pipeline {pipeline} finds no fields by name; these do: {able}"
        raise asked.wrong(message)


def check_type(offer: Offer, pipeline: str, head: bytes, tail: bytes | None = None) -> str:
    """The content type, if the pipeline takes it."""
    kind, accepted = kind_of(head, tail), offer.accepts[pipeline]
    if kind in accepted:
        return kind
    if accepted == (PDF,):
        raise Faulted("NOT_PDF")
    raise Faulted("UNSUPPORTED_TYPE", accepts=list(accepted))
