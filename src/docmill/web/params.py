"""Cursors: where the next page of a list begins, opaque to clients.

Numbers in a fixed layout as base64url, so that a pattern in the OpenAPI document says exactly
which texts are cursors: each text of that form names a place, if perhaps one with nothing behind.
"""

import base64
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema
from starlette.requests import Request

from docmill.core.faults import DocmillError
from docmill.core.texts import clean_text, make_storable

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_TICK: Final = timedelta(microseconds=1)
_FIRST: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _TICK
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _TICK
_TIME: Final = struct.Struct(">q")


# The last character of some carries fewer bits than six, and the others are zero.
_PLACE_FORM: Final = "[A-Za-z0-9_-]{32}"
_TIME_FORM: Final = "[A-Za-z0-9_-]{10}[AEIMQUYcgkosw048]"


_SAYS: Final = "`next_cursor` of the page before"


def cursor_schema(form: str) -> WithJsonSchema:
    """`read` and `read_rank` keep to it; an empty field of a form asks for the first page."""
    return WithJsonSchema({"type": "string", "pattern": f"^({form})?$", "description": _SAYS})


NumberParam = Annotated[Decimal, WithJsonSchema({"type": "number"})]
CursorText = Annotated[str, cursor_schema(_PLACE_FORM)] | None
CursorOrTimeText = Annotated[str, cursor_schema(f"{_PLACE_FORM}|{_TIME_FORM}")] | None


Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page of a list ended: its rows are in the order of time, then id."""

    created_at: datetime
    id: UUID


def write_cursor(place: Cursor | datetime) -> str:
    """Opaque to clients: where the next page begins."""
    if isinstance(place, datetime):
        return encode_cursor(_TIME.pack(_ticks(place)))
    return encode_cursor(_TIME.pack(_ticks(place.created_at)) + place.id.bytes)


def read_cursor(cursor: str) -> Cursor | datetime:
    """Raises BAD_REQUEST for what no list gives out."""
    if re.fullmatch(_TIME_FORM, cursor):
        return _unpack_time(decode_cursor(cursor))
    if re.fullmatch(_PLACE_FORM, cursor):
        packed = decode_cursor(cursor)
        return Cursor(_unpack_time(packed[: _TIME.size]), UUID(bytes=packed[_TIME.size :]))
    raise bad_param("cursor", "not a cursor of ours")


def _ticks(at: datetime) -> int:
    return (at - _EPOCH) // _TICK


def _unpack_time(packed: bytes) -> datetime:
    (ticks,) = _TIME.unpack(packed)
    return _EPOCH + min(max(ticks, _FIRST), _LAST) * _TICK


def encode_cursor(packed: bytes) -> str:
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode_cursor(cursor: str) -> bytes:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


LONGEST_WAIT: Final = 60.0
LONGEST_NAME: Final = 64
NO_TIME: Final = "not a time like 2026-01-31T12:00:00.000000Z"
NOT_STORABLE: Final = "has a NUL or half a character in it"
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?=$|[,;\s])", re.IGNORECASE)
_SPACE: Final = re.compile(r" (\d\d:?\d\d)$")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def bad_param(at: str, message: str) -> DocmillError:
    return DocmillError("BAD_REQUEST", mistakes=[{"at": at, "message": message}])


async def check_texts(request: Request) -> None:
    """For every route: no text of the address holds what no database takes."""
    given = list(request.path_params.items())
    if request.scope["query_string"]:
        given += request.query_params.multi_items()
    for name, text in given:
        if not is_storable(f"{name}{text}"):
            raise bad_param(clean_text(name)[:LONGEST_NAME], NOT_STORABLE)


def is_storable(text: str) -> bool:
    return make_storable(text) == text


def parse_instant(text: str, *, at: str) -> datetime:
    """An ISO time; UTC unless it says otherwise. A `+` in a query string arrives as a space."""
    try:
        return _read_instant(text)
    except ValueError as exc:
        raise bad_param(at, NO_TIME) from exc


def _read_instant(text: object) -> datetime:
    """For texts alone: a bare number is no time."""
    try:
        given = datetime.fromisoformat(_SPACE.sub(r"+\1", str(text).strip()))
        return given.replace(tzinfo=given.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise ValueError(NO_TIME) from exc


def _read_day(text: object) -> date:
    """As ISO writes it: of a bare number we would make a day of 1970."""
    if not _DAY.fullmatch(str(text)):
        raise ValueError("not a day like 2026-01-31")
    return date.fromisoformat(str(text))


def words_schema(words: Iterable[str]) -> dict[str, Any]:
    """The schema of a text with some of these words and commas between them."""
    one = f" *(({'|'.join(words)}) *)?"
    return {"type": "string", "pattern": f"^{one}(,{one})*$"}


Day = Annotated[date, BeforeValidator(_read_day)]
Moment = Annotated[datetime, BeforeValidator(_read_instant)]
# An empty field of a form asks for nothing special.
MomentText = Annotated[
    str,
    WithJsonSchema({"type": "string", "anyOf": [{"format": "date-time"}, {"maxLength": 0}]}),
]
IdText = Annotated[
    str, WithJsonSchema({"type": "string", "anyOf": [{"format": "uuid"}, {"maxLength": 0}]})
]


def cut_page(
    found: Sequence[Row], limit: int, cursor: Callable[[Row], Cursor]
) -> tuple[Sequence[Row], str | None]:
    """The rows of one page, of which one more was asked for, and where the next page begins."""
    page = found[:limit]
    return page, write_cursor(cursor(page[-1])) if len(found) > limit else None


def parse_cursor(cursor: str) -> Cursor:
    place = read_cursor(cursor)
    if isinstance(place, datetime):
        raise bad_param("cursor", "not a cursor of ours")
    return place


def parse_id(text: str, *, at: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise bad_param(at, "not an id like 0b0e7c5e-6f0a-4d53-9e0e-3c6d5b9a1f11") from exc


def parse_wait(prefer: str | None) -> float | None:
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


def format_instant(at: datetime) -> str:
    """UTC with microseconds, always of the same length, so that text sorts as time."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


Instant = Annotated[datetime, PlainSerializer(format_instant, return_type=str)]
