"""Reading one request of the gateway: the file goes to a nameless file on disk, block by block."""

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import BinaryIO, Final

import multipart
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request

from docmill.core.faults import Faulted

MOST_BYTES: Final = 50 << 20
# Room for the boundaries, headers and fields around the file.
SURROUNDINGS: Final = 1 << 20
MAX_FIELD: Final = 1024
MAX_PARTS: Final = 16
SECONDS: Final = 120.0
# Who answers before the end of a body reads on for a while, or a client in the middle of sending
# gets a reset instead of the answer.
DRAIN_BYTES: Final = 64 << 20
DRAIN_SECONDS: Final = 5.0
TRUE: Final = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class Sent:
    """A body read to its end. `file` can only be read, and is gone from the disk when closed."""

    file: BinaryIO
    size: int
    mapping: str | None
    pretty: bool


@dataclass(slots=True)
class _Parts:
    """What came so far; `name` is the part under way."""

    to: BinaryIO
    size: int | None = None
    name: str = ""
    fields: dict[str, bytearray] = field(default_factory=dict[str, bytearray])

    def begin(self, part: multipart.MultipartSegment) -> None:
        self.name = part.name or ""
        if self.name == "file":
            if self.size is not None:
                raise Faulted("TOO_MANY_FILES", maxFiles=1)
            self.size = 0
        else:
            self.fields[self.name] = bytearray()

    def add(self, data: bytes | bytearray) -> None:
        if self.name != "file":
            self.fields[self.name] += data
            if len(self.fields[self.name]) > MAX_FIELD:
                raise Faulted("BAD_REQUEST", "a field is too long")
            return
        self.size = (self.size or 0) + len(data)
        if self.size > MOST_BYTES:
            raise Faulted("TOO_LARGE", maxSize=MOST_BYTES)
        self.to.write(data)

    def text(self, name: str) -> str:
        return self.fields.get(name, bytearray()).decode("utf-8", "replace").strip()


@asynccontextmanager
async def received(request: Request) -> AsyncGenerator[Sent]:
    """Read the whole body, then give it out for as long as the block lasts."""
    writes, reads = await asyncio.to_thread(_nameless)
    with writes, reads:
        parts = await _read(request, writes)
        writes.flush()
        if parts.size is None:
            raise Faulted("NO_FILE")
        if not parts.size:
            raise Faulted("EMPTY_FILE")
        pretty = parts.text("pretty").lower() in TRUE
        yield Sent(reads, parts.size, parts.text("mapping") or None, pretty)


async def drain(request: Request) -> None:
    """Take in what is still being sent, for a while."""
    with suppress(TimeoutError, ClientDisconnect, RuntimeError, Faulted):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in _limited(request.stream(), DRAIN_BYTES):
                pass


def _nameless() -> tuple[BinaryIO, BinaryIO]:
    """A file without a name, once to write and once to read: a confined run may only read."""
    number, path = tempfile.mkstemp(prefix="docmill-gateway-")
    try:
        return os.fdopen(number, "wb"), Path(path).open("rb")
    finally:
        Path(path).unlink()


async def _read(request: Request, to: BinaryIO) -> _Parts:
    parts = _Parts(to)
    boundary = _boundary(request.headers)
    try:
        async with asyncio.timeout(SECONDS):
            await _parse(request, boundary, parts)
    except multipart.MultipartError as exc:
        raise Faulted("BAD_REQUEST", f"multipart: {exc}") from exc
    except TimeoutError as exc:
        raise Faulted("TOO_SLOW", "the body stalled") from exc
    return parts


async def _parse(request: Request, boundary: str, parts: _Parts) -> None:
    with multipart.PushMultipartParser(boundary, max_segment_count=MAX_PARTS) as parser:
        async for chunk in _limited(request.stream(), MOST_BYTES + SURROUNDINGS):
            await asyncio.to_thread(_take, parts, parser, chunk)


def _take(parts: _Parts, parser: multipart.PushMultipartParser, chunk: bytes) -> None:
    for event in parser.parse(chunk):
        if isinstance(event, multipart.MultipartSegment):
            parts.begin(event)
        elif event is not None:
            parts.add(event)


async def _limited(stream: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """A chunked body has no declared length; it ends here at the latest."""
    async for chunk in stream:
        most -= len(chunk)
        if most < 0:
            raise Faulted("TOO_LARGE", "the body as a whole", maxSize=MOST_BYTES)
        if chunk:
            yield chunk


def _boundary(headers: Headers) -> str:
    header = Message()
    header["content-type"] = headers.get("content-type", "").replace("\n", " ")
    boundary = header.get_boundary("")
    if header.get_content_type() != "multipart/form-data" or not 0 < len(boundary) <= 200:
        raise Faulted("NO_FILE", "not multipart/form-data with a boundary")
    declared = headers.get("content-length", "0")
    if not declared.isdecimal():
        raise Faulted("BAD_REQUEST", "Content-Length is not a number")
    if int(declared) > MOST_BYTES + SURROUNDINGS:
        raise Faulted("TOO_LARGE", "by its Content-Length", maxSize=MOST_BYTES)
    return boundary
