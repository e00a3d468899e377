"""Uploads: the fields say what is wanted, and each file is staged while it comes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import Request

from docmill.core import field_request
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.documents import content_types
from docmill.documents.accept import FileStage, StagedFile
from docmill.documents.content_types import HEAD_BYTES
from docmill.documents.multipart import LONGEST_FIELD, BodyLimits, FormReader
from docmill.storage.contract import Store
from docmill.web.config import WebConfig

FILE_NAMES: Final = frozenset({"file", "files", "file[]", "files[]"})
FIELDS: Final = {
    **dict.fromkeys(("pipeline", "mapping", "priority"), LONGEST_FIELD),
    field_request.OPTION: field_request.LONGEST,
}
MOST_FIELDS: Final = 100
# How far a too large first file is read on in the hope that others follow it.
SKIP_BYTES: Final = 7 << 20
LONGEST_KEY: Final = 255
# Printable, and no space at an end: HTTP takes those off.
KEY_PATTERN: Final = rf"^[!-~]([ -~]{{0,{LONGEST_KEY - 2}}}[!-~])?$"
MOST_PRIORITY: Final = 100


_INTEGER: Final = re.compile(r"([+-]?[0-9]{1,9})(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class UploadFields:
    """What the sender wants done; None where the field did not come."""

    pipeline: str | None = None
    mapping: str | None = None
    priority: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """One file of a request that may not enter, and why."""

    filename: str
    fault: DocmillError


@dataclass(frozen=True, slots=True)
class ReceivedUpload:
    """A body read to its end."""

    fields: UploadFields
    files: list[StagedFile | RefusedFile]

    async def abort(self, *, after: int = -1) -> None:
        for file in self.files[after + 1 :]:
            if isinstance(file, StagedFile):
                await file.writer.abort()


def read_fields(values: Mapping[str, str], catalog: PipelineCatalog) -> UploadFields:
    """Checked as far as they are known: a bad field is refused before anything is stored."""
    pipeline, mapping = values.get("pipeline") or None, values.get("mapping") or None
    wanted = values.get(field_request.OPTION)
    options = (
        {field_request.OPTION: field_request.parse_fields(wanted)} if wanted is not None else {}
    )
    if pipeline is not None:
        content_types.check_pipeline(catalog, pipeline, mapping)
        content_types.check_field_request(catalog, pipeline, options)
    priority = _parse_priority(values["priority"]) if values.get("priority") else None
    return UploadFields(pipeline, mapping, priority, options)


def _parse_priority(text: str) -> int:
    """A whole number, which JSON may write with a fraction of zero."""
    found = _INTEGER.fullmatch(text)
    if found is None or abs(int(found[1])) > MOST_PRIORITY:
        raise DocmillError(
            "BAD_REQUEST", mistakes=[{"at": "priority", "message": "not -100 to 100"}]
        )
    return int(found[1])


def read_request_key(headers: Headers) -> str | None:
    """The Idempotency-Key, if one was sent."""
    key = headers.get("idempotency-key")
    if key is not None and not (
        0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()
    ):
        message = f"1 to {LONGEST_KEY} printable characters"
        raise DocmillError("BAD_REQUEST", mistakes=[{"at": "Idempotency-Key", "message": message}])
    return key


@dataclass(frozen=True, slots=True)
class UploadContext:
    """What an upload is read with: `fields` are kept, and `read_fields` says what they mean."""

    store: Store
    catalog: PipelineCatalog
    config: WebConfig
    fields: Mapping[str, int] = field(default_factory=lambda: FIELDS)
    read_fields: Callable[[Mapping[str, str], PipelineCatalog], UploadFields] = read_fields


async def receive(request: Request, context: UploadContext) -> ReceivedUpload:
    """Read the whole body. Whatever stops it, nothing that was staged is left."""
    reader = UploadReader(context, request.query_params)
    try:
        await reader.read(request)
        return reader.finish()
    except BaseException:
        await reader.abort()
        raise


class UploadReader(FormReader):
    """A file of the wrong type or size is refused, and the others are read on."""

    def __init__(self, context: UploadContext, given: Mapping[str, str]) -> None:
        config = context.config
        limits = BodyLimits(config.max_upload_bytes, config.max_files, MOST_FIELDS)
        super().__init__(limits, FILE_NAMES, context.fields)
        self.values |= {name: given[name] for name in context.fields if name in given}
        self._context: UploadContext = context
        self._read: UploadFields = context.read_fields(self.values, context.catalog)
        self._received: list[StagedFile | RefusedFile] = []
        self._stage: FileStage | None = None
        self._typed: bool = False
        self._skipped: int = 0

    def finish(self) -> ReceivedUpload:
        if not self._received:
            raise DocmillError("NO_FILE")
        return ReceivedUpload(self._read, self._received)

    async def abort(self) -> None:
        if self._stage:
            await self._stage.abort()
        await ReceivedUpload(self._read, self._received).abort()

    def end_field(self) -> None:
        self._read = self._context.read_fields(self.values, self._context.catalog)

    def begin_file(self, filename: str) -> None:
        limit = self.limits.file_bytes
        self._stage = FileStage(self._context.store, filename, max_bytes=limit)
        self._typed, self._skipped = False, 0

    async def write_file(self, chunk: bytes | bytearray) -> None:
        stage = self._stage
        if stage is None:
            self._skip(len(chunk))
            return
        try:
            await stage.write(chunk)
            if len(stage.head) == HEAD_BYTES:
                self._check_type(stage)
        except DocmillError as exc:
            await self._refuse(stage, exc)

    async def end_file(self) -> None:
        stage, self._stage = self._stage, None
        if stage is None:
            return
        if stage.filename or stage.bytes:
            self._received.append(await stage.finish())
        else:  # what a browser sends of a file input that was left empty
            self.file_count -= 1

    def _check_type(self, stage: FileStage) -> None:
        """Refuse with the first bytes, when the pipeline is known by then."""
        if not self._typed and self._read.pipeline:
            content_types.check_type(self._context.catalog, self._read.pipeline, stage.head)
            self._typed = True

    async def _refuse(self, stage: FileStage, exc: DocmillError) -> None:
        """A file's own fault is its outcome; a fault of the store is everybody's."""
        await stage.abort()
        if exc.fault.status >= 500:
            raise exc
        self._stage = None
        self._received.append(RefusedFile(stage.filename, exc))

    def _skip(self, count: int) -> None:
        """A too large first file is not read to its end when nothing follows it for long."""
        self._skipped += count
        match self._received:
            case [RefusedFile(fault=fault)] if self._skipped > SKIP_BYTES:
                raise fault
            case _:
                return
