"""Documents: what is known of a file that entered the system."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from docmill.core.jobs import DocumentId
from docmill.core.owners import OwnerKey
from docmill.core.texts import clean_text, storable

__all__ = ["Document", "NewDocument", "clean_text", "shown_filename", "storable"]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A file that has been stored and hashed, not yet written down."""

    id: DocumentId
    sha256: str
    bytes: int
    content_type: str
    original_filename: str
    source: str
    upload_key: str
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    id: DocumentId
    owner: OwnerKey
    sha256: str
    bytes: int
    content_type: str
    original_filename: str
    source: str
    upload_key: str | None
    meta: Mapping[str, Any]
    created_at: datetime
    expires_at: datetime | None
    expired_at: datetime | None


def shown_filename(given: str) -> str:
    """A file name for showing: the last part of whatever path was sent, short and clean."""
    name = clean_text(given.replace("\\", "/").rsplit("/", 1)[-1]).strip()
    if len(name) > 200:
        stem, dot, ending = name.rpartition(".")
        name = f"{stem[:180]}{dot}{ending[:16]}" if dot and stem else name[:200]
    return name or "document"
