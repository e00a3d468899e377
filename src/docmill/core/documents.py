"""Documents: what is known of a file that entered the system."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID, uuid4

from docmill.core.jobs import DocumentId
from docmill.core.owners import OwnerKey
from docmill.core.texts import clean_text, make_storable, strip_invisible

__all__ = [
    "Document",
    "GuessedPages",
    "NewDocument",
    "clean_filename",
    "clean_text",
    "make_storable",
]


@dataclass(frozen=True, slots=True)
class GuessedPages:
    """How many pages a file seems to have, and how many of them seem to be nothing but pictures."""

    pages: int | None = None
    scans: int = 0


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
    guessed: GuessedPages = GuessedPages()


class DocumentState(StrEnum):
    """How a document stands. The view `document_states` says which it is."""

    PENDING = "pending"
    PROCESSING = "processing"
    PARSED = "parsed"
    NO_TRADES = "no_trades"
    REJECTED = "rejected"
    FAILED = "failed"
    EXPIRED = "expired"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS: Final[Mapping[DocumentState, str]] = {
    DocumentState.PENDING: "It waits for its turn, or for another try.",
    DocumentState.PROCESSING: "It is being read.",
    DocumentState.PARSED: "It was read.",
    DocumentState.NO_TRADES: "It was read as a trade note, and no trade was found in it.",
    DocumentState.REJECTED: "It was not taken: no PDF, too large, empty, or cancelled.",
    DocumentState.FAILED: "It could not be read. It may be tried again.",
    DocumentState.EXPIRED: "Its file was removed by retention.",
}


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


# Where a document came from whose file lies in a watched bucket.
BUCKET: Final = "bucket"
OBJECTS: Final = "objects/"


def object_key(document_id: UUID) -> str:
    """Stands for a file that stays in the bucket it came by; no store has such a key."""
    return f"{OBJECTS}{document_id}"


def parse_object_key(key: str) -> UUID | None:
    """The document of an `object_key`; None for every other key."""
    return UUID(key.removeprefix(OBJECTS)) if key.startswith(OBJECTS) else None


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
