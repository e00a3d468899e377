"""Documents: what is known of a file that entered the system."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from docmill.core.jobs import DocumentId
from docmill.core.owners import OwnerKey
from docmill.core.texts import clean_text, make_storable, strip_invisible

__all__ = ["Document", "NewDocument", "clean_filename", "clean_text", "make_storable"]


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


def clean_filename(given: str) -> str:
    """A file name for showing: the last part of whatever path was sent, short and clean."""
    last = given.replace("\\", "/").rsplit("/", 1)[-1]
    name = strip_invisible(last).strip()
    if len(name) > 200:
        stem, dot, ending = name.rpartition(".")
        name = f"{stem[:180]}{dot}{ending[:16]}" if dot and stem else name[:200]
    return name or "document"


def upload_key(document_id: UUID) -> str:
    return f"uploads/{_spread_key(document_id)}"


def direct_key(upload_id: UUID) -> str:
    """Where a client puts bytes itself; nothing is read from there but to be checked."""
    return f"direct/{_spread_key(upload_id)}"


def result_key(job_id: UUID, claim: int, form: str = "data") -> str:
    """The claim is part of the key: a stale worker never overwrites a newer result."""
    return f"results/{_spread_key(job_id)}.{claim}.{form}.gz"


def reviewed_key(job_id: UUID, revision: int, form: str) -> str:
    """Unlike any other, even of the same revision: only one of two who approve at once is kept."""
    return f"results/{_spread_key(job_id)}.r{revision}-{uuid4().hex[:8]}.{form}.gz"


def _spread_key(name: UUID) -> str:
    return f"{name.hex[:2]}/{name.hex[2:4]}/{name}"
