"""What kind of file is this, by its content; and may it enter?"""

import re
from collections.abc import Mapping
from typing import Any, Final

from docmill.core import field_request
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.plugins import DOCX, PDF, TEXT

HEAD_BYTES: Final = 4096
TAIL_BYTES: Final = 256 << 10  # of an archive: its list of contents stands at its end
UNKNOWN: Final = "application/octet-stream"
CONTENT_TYPES: Final = (PDF, DOCX, TEXT, UNKNOWN)

# Readers accept a header after some junk; what mail gateways put there is shorter than this.
_PDF_HEADER: Final = re.compile(rb"%PDF-\d")
ZIP_HEADER: Final = b"PK\x03\x04"
_ZIP_ENTRY: Final = re.compile(rb"PK\x01\x02.{24}(..).{16}", re.DOTALL)
_OF_WORD: Final = frozenset({b"[Content_Types].xml", b"word/document.xml"})
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def detect_type(head: bytes, tail: bytes | None = None) -> str:
    """The content type by the first bytes; names and headers count for nothing.

    What an archive is shows only in the last bytes; without these it may be a document.
    """
    if _PDF_HEADER.search(head[:1024]):
        return PDF
    if head.startswith(ZIP_HEADER):
        return DOCX if tail is None or _archive_names(tail) >= _OF_WORD else UNKNOWN
    if head.startswith(_UTF16) or (head and not _BINARY.search(head)):
        return TEXT
    return UNKNOWN


def _archive_names(tail: bytes) -> frozenset[bytes]:
    """The names in an archive's list of contents, without unpacking anything."""
    found = _ZIP_ENTRY.finditer(tail)
    sizes = ((entry.end(), int.from_bytes(entry[1], "little")) for entry in found)
    return frozenset(tail[at : at + size] for at, size in sizes)


def check_pipeline(catalog: PipelineCatalog, pipeline: str, mapping: str | None) -> None:
    if pipeline not in catalog.accepts:
        raise DocmillError("UNKNOWN_PIPELINE", pipelines=sorted(catalog.accepts))
    known = catalog.mappings.get(pipeline, ())
    if mapping is not None and mapping not in known:
        raise DocmillError("UNKNOWN_MAPPING", mappings=sorted(known))


def check_field_request(
    catalog: PipelineCatalog, pipeline: str, options: Mapping[str, Any]
) -> None:
    if field_request.OPTION in options and pipeline not in catalog.asks:
        able = ", ".join(sorted(catalog.asks)) or "none here"
        message = f"the pipeline {pipeline} finds no fields by name; these do: {able}"
        raise field_request.refuse_fields(message)


def check_type(
    catalog: PipelineCatalog, pipeline: str, head: bytes, tail: bytes | None = None
) -> str:
    """The content type, if the pipeline takes it."""
    kind, accepted = detect_type(head, tail), catalog.accepts[pipeline]
    if kind in accepted:
        return kind
    if accepted == (PDF,):
        raise DocmillError("NOT_PDF")
    raise DocmillError("UNSUPPORTED_TYPE", accepts=list(accepted))
