"""Multipart bodies as they come: what the headers tell is checked first, then part follows part."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Final

import multipart

from docmill.core.faults import Faulted, too_large

# Room for the boundaries, headers and fields around the files.
SURROUNDINGS: Final = 1 << 20
LONGEST_BOUNDARY: Final = 200

# A part begins, some of its bytes, its end.
Event = multipart.MultipartSegment | bytes | bytearray | None


@dataclass(frozen=True, slots=True)
class Most:
    """How much a body may hold: bytes of a file, files, and parts of any kind."""

    file_bytes: int
    files: int
    parts: int

    @property
    def bytes(self) -> int:
        return self.files * self.file_bytes + SURROUNDINGS


def boundary_of(headers: Mapping[str, str], most: Most) -> str:
    """Everything the headers tell, checked before a byte of the body is read."""
    header = Message()
    header["content-type"] = headers.get("content-type", "").replace("\n", " ")
    kind, boundary = header.get_content_type(), header.get_boundary("")
    if kind != "multipart/form-data" or not 0 < len(boundary) <= LONGEST_BOUNDARY:
        raise Faulted("NO_FILE", "not multipart/form-data with a boundary")
    declared = headers.get("content-length", "0")
    if not declared.isdecimal():
        raise Faulted("BAD_REQUEST", "Content-Length is not a number")
    if int(declared) > most.bytes:
        raise too_large(most.file_bytes, "by its Content-Length")
    return boundary


async def events(
    stream: AsyncIterator[bytes], boundary: str, most: Most
) -> AsyncIterator[list[Event]]:
    """What each chunk of the body brings."""
    try:
        with multipart.PushMultipartParser(boundary, max_segment_count=most.parts) as parser:
            async for chunk in limited(stream, most):
                yield list(parser.parse(chunk))
    except multipart.MultipartError as exc:
        raise Faulted("BAD_REQUEST", f"multipart: {exc}") from exc


async def limited(stream: AsyncIterator[bytes], most: Most) -> AsyncIterator[bytes]:
    """A chunked body has no declared length; it ends here at the latest."""
    left = most.bytes
    async for chunk in stream:
        left -= len(chunk)
        if left < 0:
            raise too_large(most.file_bytes, "the body as a whole")
        if chunk:
            yield chunk
