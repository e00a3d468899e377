"""Forms with files, read as they come: headers are checked first, then part follows part.

Uploads and the gateway read with the same reader and differ in where the bytes of a file go.
"""

import abc
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Final

import multipart
from starlette.requests import Request

from docmill.core.faults import DocmillError

# Room for the boundaries, headers and fields around the files.
SURROUNDINGS: Final = 1 << 20
LONGEST_BOUNDARY: Final = 200
LONGEST_FIELD: Final = 1024
FORM_TYPE: Final = "multipart/form-data"
# As nearly everybody writes it; any other way is read by all the rules of headers.
PLAIN_FORM: Final = re.compile(rf"{FORM_TYPE}; ?boundary=([0-9A-Za-z_-]+)")


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How much a body may hold: bytes of a file, files, and fields beside them."""

    file_bytes: int
    files: int
    fields: int

    @property
    def bytes(self) -> int:
        return self.files * self.file_bytes + SURROUNDINGS


def read_boundary(headers: Mapping[str, str], limits: BodyLimits) -> str:
    """Everything the headers tell, checked before a byte of the body is read."""
    kind, boundary = _parse_form_type(headers.get("content-type", ""))
    if kind != FORM_TYPE or not 0 < len(boundary) <= LONGEST_BOUNDARY:
        raise DocmillError("NO_FILE", "not multipart/form-data with a boundary")
    declared = headers.get("content-length", "0")
    if not declared.isdecimal():
        raise DocmillError("BAD_REQUEST", "Content-Length is not a number")
    if int(declared) > limits.bytes:
        raise DocmillError("TOO_LARGE", "by its Content-Length", maxSize=limits.file_bytes)
    return boundary


def _parse_form_type(header: str) -> tuple[str, str]:
    """The type and the boundary; nothing where there is none."""
    if plain := PLAIN_FORM.fullmatch(header):
        return FORM_TYPE, plain[1]
    message = Message()
    message["content-type"] = header.replace("\n", " ")
    return message.get_content_type(), message.get_boundary("")


async def limit_body(stream: AsyncIterator[bytes], limits: BodyLimits) -> AsyncIterator[bytes]:
    """A chunked body has no declared length; it ends here at the latest."""
    left = limits.bytes
    async for chunk in stream:
        left -= len(chunk)
        if left < 0:
            raise DocmillError("TOO_LARGE", "the body as a whole", maxSize=limits.file_bytes)
        if chunk:
            yield chunk


# A part begins, some of its bytes, its end.
FormEvent = multipart.MultipartSegment | bytes | bytearray | None


class FormReader(abc.ABC):
    """Keeps the fields of a form as text; a subclass takes its files.

    `longest` are the fields that are kept, each with its most bytes; others are read over.
    """

    def __init__(
        self, limits: BodyLimits, file_names: frozenset[str], longest: Mapping[str, int]
    ) -> None:
        self.limits: BodyLimits = limits
        self.values: dict[str, str] = {}
        self._file_names: frozenset[str] = file_names
        self._longest: Mapping[str, int] = longest
        self._name: str = ""
        self._value: bytearray = bytearray()
        self.file_count: int = 0
        self._fields: int = 0

    async def read(self, request: Request) -> None:
        """The whole body."""
        boundary = read_boundary(request.headers, self.limits)
        most = self.limits.files + self.limits.fields
        try:
            with multipart.PushMultipartParser(boundary, max_segment_count=most) as parser:
                async for chunk in limit_body(request.stream(), self.limits):
                    await self._take_all(parser.parse(chunk))
        except multipart.MultipartError as exc:
            raise DocmillError("BAD_REQUEST", f"multipart: {exc}") from exc

    @abc.abstractmethod
    def begin_file(self, filename: str) -> None: ...
    @abc.abstractmethod
    async def write_file(self, chunk: bytes | bytearray) -> None: ...
    @abc.abstractmethod
    async def end_file(self) -> None: ...

    def end_field(self) -> None:  # noqa: B027  most need nothing here
        """A field is in `values` now."""

    async def _take_all(
        self, events: Iterable[multipart.MultipartSegment | bytes | bytearray | None]
    ) -> None:
        for event in list(events):
            await self._take(event)

    async def _take(self, event: FormEvent) -> None:
        """A part begins, some of its bytes, its end."""
        if isinstance(event, multipart.MultipartSegment):
            self._begin(event)
        elif self._name in self._file_names:
            await (self.end_file() if event is None else self.write_file(event))
        elif self._name in self._longest:
            self._add_to_field(event)

    def _begin(self, part: multipart.MultipartSegment) -> None:
        self._name, self._value = part.name or "", bytearray()
        if self._name in self._file_names:
            self.file_count += 1
            if self.file_count > self.limits.files:
                raise DocmillError("TOO_MANY_FILES", maxFiles=self.limits.files)
            self.begin_file(part.filename or "")
            return
        self._fields += 1
        if self._fields > self.limits.fields:
            raise DocmillError("BAD_REQUEST", "too many fields")

    def _add_to_field(self, event: bytes | bytearray | None) -> None:
        if event is None:
            self.values[self._name] = self._value.decode("utf-8", "replace").strip()
            self.end_field()
            return
        self._value += event
        if len(self._value) > self._longest[self._name]:
            raise DocmillError("BAD_REQUEST", f"the field {self._name} is too long")
