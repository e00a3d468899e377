"""Uploads: the fields say what is wanted, and each file is staged while it comes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers
from starlette.requests import Request

from docmill.core import field_request
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import JobId, Schedule
from docmill.documents import content_types
from docmill.documents.content_types import HEAD_BYTES
from docmill.documents.fetch import fetch_file
from docmill.documents.multipart import LONGEST_FIELD, BodyLimits, FormReader
from docmill.documents.staging import FileStage, StagedFile
from docmill.services.outbound import LONGEST_URL
from docmill.storage.contract import Store
from docmill.web.config import WebConfig
from docmill.web.json_body import WholeNumber, read_json, read_limited
from docmill.web.params import bad_param, parse_id, parse_instant

# How many jobs one may wait for.
MOST_AFTER: Final = 50
# A time that is over for longer than clocks differ is a mistake; so is one that nobody will see.
PAST: Final = timedelta(minutes=5)
FUTURE: Final = timedelta(days=366)
RUN_AT_HELP: Final = "Not before this time, at most a year ahead: 2026-01-31T12:00:00Z"
AFTER_HELP: Final = "Ids of your jobs that must have completed before; if one does not, this fails"
URL_HELP: Final = "An address to fetch the file from: public, https, without a password"
JSON_TYPE: Final = "application/json"
FORM_TYPE: Final = "application/x-www-form-urlencoded"
FILE_NAMES: Final = frozenset({"file", "files", "file[]", "files[]"})
FIELDS: Final = {
    **dict.fromkeys(("pipeline", "mapping", "priority", "run_at"), LONGEST_FIELD),
    "url": LONGEST_URL,
    "after": 40 * MOST_AFTER,
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
    schedule: Schedule = field(default_factory=Schedule)
    url: str | None = None


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


class JobWishes(BaseModel):
    """What shall be done with a file, in JSON; `read_fields` says what each means."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    pipeline: str | None = Field(None, description="GET /api/pipelines lists them")
    mapping: str | None = Field(None, description="GET /api/mappings lists them")
    priority: WholeNumber | None = Field(
        None, ge=-MOST_PRIORITY, le=MOST_PRIORITY, description="At most what the owner is granted"
    )
    fields: str | None = Field(
        None, max_length=field_request.LONGEST, description=field_request.HELP
    )
    run_at: str | None = Field(
        None, description=RUN_AT_HELP, json_schema_extra={"format": "date-time"}
    )
    after: list[UUID] = Field(default=[], max_length=MOST_AFTER, description=AFTER_HELP)

    def to_values(self) -> dict[str, str]:
        """As a form would send them."""
        given = {name: getattr(self, name) for name in JobWishes.model_fields}
        given["after"] = ",".join(map(str, self.after)) or None
        return {name: str(value) for name, value in given.items() if value is not None}


class AddressRequest(JobWishes):
    """Where a file is, for docmill to fetch it."""

    url: str = Field(min_length=1, max_length=LONGEST_URL, description=URL_HELP)

    def to_values(self) -> dict[str, str]:
        return {**super().to_values(), "url": self.url}


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
    schedule = read_schedule(values.get("run_at"), values.get("after"))
    return UploadFields(pipeline, mapping, priority, options, schedule, values.get("url") or None)


def read_schedule(run_at: str | None, after: str | None) -> Schedule:
    """`after`: ids with commas between them."""
    not_before = parse_instant(run_at, at="run_at") if run_at else None
    if not_before is not None:
        now = datetime.now(UTC)
        if not_before < now - PAST:
            raise bad_param("run_at", "is over; give a time to come, or leave it out")
        if not_before > now + FUTURE:
            raise bad_param("run_at", "is more than a year ahead")
    names = list(dict.fromkeys(name.strip() for name in (after or "").split(",") if name.strip()))
    if len(names) > MOST_AFTER:
        raise bad_param("after", f"names more than {MOST_AFTER} jobs")
    return Schedule(not_before, tuple(JobId(parse_id(name, at="after")) for name in names))


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
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if "url" in context.fields and kind in {JSON_TYPE, FORM_TYPE}:
        return await _receive_address(request, context, kind)
    reader = UploadReader(context, request.query_params if request.scope["query_string"] else {})
    try:
        await reader.read(request)
        if address := reader.fields.url:
            reader.add(await _fetch(address, context))
        return reader.finish()
    except BaseException:
        await reader.abort()
        raise


async def _receive_address(request: Request, context: UploadContext, kind: str) -> ReceivedUpload:
    """No file, only the address of one and what shall be done with it."""
    if kind == JSON_TYPE:
        asked = (await read_json(request, AddressRequest)).to_values()
    else:
        asked = dict(parse_qsl((await read_limited(request)).decode("utf-8", "replace")))
    given = {**dict(request.query_params), **asked}
    values = {name: given[name] for name in context.fields if name in given}
    if too_long := [name for name, text in values.items() if len(text) > context.fields[name]]:
        raise DocmillError("BAD_REQUEST", f"the field {too_long[0]} is too long")
    fields = context.read_fields(values, context.catalog)
    if fields.url is None:
        raise DocmillError("NO_FILE", "neither a file nor an address")
    return ReceivedUpload(fields, [await _fetch(fields.url, context)])


async def _fetch(url: str, context: UploadContext) -> StagedFile | RefusedFile:
    try:
        return await fetch_file(url, context.store, context.config)
    except DocmillError as exc:
        if exc.fault.status >= 500:
            raise
        return RefusedFile(url, exc)


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

    @property
    def fields(self) -> UploadFields:
        return self._read

    def add(self, file: StagedFile | RefusedFile) -> None:
        """One that came by another way."""
        self._received.append(file)

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
