"""What lists and waiting requests ask for, read from query strings and headers."""

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from docmill.core.documents import clean_text
from docmill.core.faults import Faulted
from docmill.core.jobs import JobId, Status
from docmill.db import trades
from docmill.db.lists import Filter, Place
from docmill.web.shapes import iso

LONGEST_TEXT: Final = 200
LONGEST_WAIT: Final = 60.0
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?=$|[,;\s])", re.IGNORECASE)
_SPACE: Final = re.compile(r" (\d\d:?\d\d)$")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def refuse(at: str, message: str) -> Faulted:
    return Faulted("BAD_REQUEST", mistakes=[{"at": at, "message": message}])


def instant(text: str, *, at: str) -> datetime:
    """An ISO time; UTC unless it says otherwise. A `+` in a query string arrives as a space."""
    try:
        given = datetime.fromisoformat(_SPACE.sub(r"+\1", text.strip()))
        return given.replace(tzinfo=given.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise refuse(at, "not a time like 2026-01-31T12:00:00.000000Z") from exc


def statuses(texts: list[str]) -> tuple[Status, ...] | None:
    """`status=queued,failed` and `status=queued&status=failed` mean the same."""
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    try:
        return tuple(Status(word) for word in words) or None
    except ValueError as exc:
        raise refuse("status", f"one of {', '.join(Status)}") from exc


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of recent jobs from a place on, or of changes since a time."""

    only: Filter
    since: datetime | None
    after: Place | None


def filter_of(status: list[str], pipeline: str | None, text: str | None) -> Filter:
    """The jobs asked for; an empty field of a form asks for nothing special."""
    if pipeline and not _NAME.fullmatch(pipeline):
        raise refuse("pipeline", "not the name of a pipeline")
    words = clean_text(text or "").strip()[:LONGEST_TEXT]
    return Filter(statuses(status), pipeline or None, words or None)


def listing(only: Filter, since: str | None, cursor: str | None) -> Listing:
    if cursor:
        place = _place(cursor)
        if isinstance(place, Place):
            return Listing(only, None, place)
        return Listing(only, place, None)
    return Listing(only, instant(since, at="since") if since else None, None)


def cursor_of(place: Place | datetime) -> str:
    """Opaque to clients: where the next page begins."""
    text = iso(place) if isinstance(place, datetime) else f"{iso(place.created_at)} {place.id}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place(cursor: str) -> Place | datetime:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
        at, _, job_id = text.partition(" ")
        time = instant(at, at="cursor")
        return Place(time, JobId(UUID(job_id))) if job_id else time
    except (binascii.Error, ValueError) as exc:
        raise refuse("cursor", "not a cursor of ours") from exc


def cursor_at(at: datetime, id_: UUID) -> str:
    """Opaque to clients: where the next page of trades or documents begins."""
    return cursor_of(Place(at, JobId(id_)))


def trade_place(cursor: str) -> trades.Place:
    place = _place(cursor)
    if isinstance(place, datetime):
        raise refuse("cursor", "not a cursor of ours")
    return trades.Place(place.created_at, place.id)


def identity(text: str, *, at: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise refuse(at, "not an id like 0b0e7c5e-6f0a-4d53-9e0e-3c6d5b9a1f11") from exc


def seconds_to_wait(prefer: str | None) -> float | None:
    """`Prefer: wait=N` (RFC 7240), no longer than we are ready to."""
    found = _WAIT.search(prefer or "")
    return min(float(found[1]), LONGEST_WAIT) if found else None


def accepts_gzip(header: str | None) -> bool:
    """Accept-Encoding: gzip, unless with q=0."""
    for item in (header or "").lower().split(","):
        coding, _, options = item.partition(";")
        if coding.strip() in {"gzip", "x-gzip", "*"}:
            return re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", options) is None
    return False
