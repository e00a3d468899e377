"""Reading one request of the gateway: the file goes to a nameless file on disk, block by block."""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import multipart
from starlette.requests import ClientDisconnect, Request

from docmill import mappings
from docmill.core.faults import Faulted, too_large
from docmill.ingest import parts

MOST_BYTES: Final = 50 << 20
MOST: Final = parts.Most(MOST_BYTES, files=1, parts=16)
MAX_FIELD: Final = 1024
LONGEST: Final = {"profile": 16 << 10}
SECONDS: Final = 120.0
# Who answers before the end of a body reads on for a while, or a client in the middle of sending
# gets a reset instead of the answer.
DRAINED: Final = parts.Most(64 << 20, files=1, parts=0)
DRAIN_SECONDS: Final = 5.0
TRUE: Final = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class Sent:
    """A body read to its end. `file` can only be read, and is gone from the disk when closed."""

    file: BinaryIO
    size: int
    mapping: str | None
    pretty: bool
    profile: Mapping[str, Any]


@dataclass(slots=True)
class _Parts:
    """What came so far; `name` is the part under way."""

    to: BinaryIO
    size: int | None = None
    name: str = ""
    fields: dict[str, bytearray] = field(default_factory=dict[str, bytearray])

    def take(self, events: Iterable[parts.Event]) -> None:
        for event in events:
            if isinstance(event, multipart.MultipartSegment):
                self._begin(event)
            elif event is not None:
                self._add(event)

    def _begin(self, part: multipart.MultipartSegment) -> None:
        self.name = part.name or ""
        if self.name == "file":
            if self.size is not None:
                raise Faulted("TOO_MANY_FILES", maxFiles=1)
            self.size = 0
        else:
            self.fields[self.name] = bytearray()

    def _add(self, data: bytes | bytearray) -> None:
        if self.name != "file":
            self.fields[self.name] += data
            if len(self.fields[self.name]) > LONGEST.get(self.name, MAX_FIELD):
                raise Faulted("BAD_REQUEST", "a field is too long")
            return
        self.size = (self.size or 0) + len(data)
        if self.size > MOST_BYTES:
            raise too_large(MOST_BYTES)
        self.to.write(data)

    def text(self, name: str) -> str:
        return self.fields.get(name, bytearray()).decode("utf-8", "replace").strip()


@asynccontextmanager
async def received(request: Request) -> AsyncGenerator[Sent]:
    """Read the whole body, then give it out for as long as the block lasts."""
    writes, reads = await asyncio.to_thread(_nameless)
    with writes, reads:
        body = await _read(request, writes)
        writes.flush()
        if body.size is None:
            raise Faulted("NO_FILE")
        if not body.size:
            raise Faulted("EMPTY_FILE")
        pretty = body.text("pretty").lower() in TRUE
        profile = _profile(body.text("profile"))
        yield Sent(reads, body.size, body.text("mapping") or None, pretty, profile)


def _profile(text: str) -> Mapping[str, Any]:
    """The profile as it was sent, if it can be one."""
    if not text:
        return {}
    try:
        told: dict[str, Any] = dict(json.loads(text))
        found = mappings.profile_mistakes(mappings.profile_of(told))
    except (ValueError, TypeError, RecursionError) as exc:
        message = str(exc) if type(exc) is ValueError else "not a JSON object"
        raise _mistaken([("profile", message)]) from exc
    if found:
        raise _mistaken([(f"profile.{name}", message) for name, message in found])
    return told


def _mistaken(found: list[tuple[str, str]]) -> Faulted:
    mistakes = [{"at": at, "message": message} for at, message in found]
    return Faulted("BAD_REQUEST", mistakes=mistakes)


async def drain(request: Request) -> None:
    """Take in what is still being sent, for a while."""
    with suppress(TimeoutError, ClientDisconnect, RuntimeError, Faulted):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in parts.limited(request.stream(), DRAINED):
                pass


def _nameless() -> tuple[BinaryIO, BinaryIO]:
    """A file without a name, once to write and once to read: a confined run may only read."""
    number, path = tempfile.mkstemp(prefix="docmill-gateway-")
    try:
        return os.fdopen(number, "wb"), Path(path).open("rb")
    finally:
        Path(path).unlink()


async def _read(request: Request, to: BinaryIO) -> _Parts:
    read = _Parts(to)
    boundary = parts.boundary_of(request.headers, MOST)
    try:
        async with asyncio.timeout(SECONDS):
            async for events in parts.events(request.stream(), boundary, MOST):
                await asyncio.to_thread(read.take, events)
    except TimeoutError as exc:
        raise Faulted("TOO_SLOW", "the body stalled") from exc
    return read
