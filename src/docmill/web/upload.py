"""Reading a multipart body as it comes: fields are remembered, files go to a stage in blocks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import multipart
from starlette.datastructures import Headers
from starlette.requests import Request

from docmill.core import asked
from docmill.core.faults import Faulted
from docmill.ingest import checks, parts
from docmill.ingest.checks import HEAD, Offer
from docmill.ingest.staging import Stage, Staged
from docmill.storage import Store
from docmill.web.rules import Rules

FILE_NAMES: Final = frozenset({"file", "files", "file[]", "files[]"})
FIELDS: Final = frozenset({"pipeline", "mapping", "priority", asked.OPTION})
MAX_FIELD: Final = 1024
LONGER: Final = {asked.OPTION: asked.LONGEST}
MAX_FIELDS: Final = 100
# How far a too large first file is read on in the hope that others follow it.
SKIP_BYTES: Final = 7 << 20
LONGEST_KEY: Final = 255


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the sender wants done; None where the field did not come."""

    pipeline: str | None = None
    mapping: str | None = None
    priority: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Refused:
    """One file of a request that may not enter, and why."""

    filename: str
    fault: Faulted


@dataclass(frozen=True, slots=True)
class Received:
    """A body read to its end."""

    wishes: Wishes
    files: list[Staged | Refused]

    async def abort(self, *, after: int = -1) -> None:
        for file in self.files[after + 1 :]:
            if isinstance(file, Staged):
                await file.writer.abort()


def wishes_of(values: Mapping[str, str], offer: Offer) -> Wishes:
    """Checked as far as they are known: a bad wish is refused before anything is stored."""
    pipeline, mapping = values.get("pipeline") or None, values.get("mapping") or None
    wanted = values.get(asked.OPTION)
    options = {asked.OPTION: asked.option_of(wanted)} if wanted is not None else {}
    if pipeline is not None:
        checks.check_wanted(offer, pipeline, mapping)
        checks.check_asked(offer, pipeline, options)
    priority = _priority(values["priority"]) if values.get("priority") else None
    return Wishes(pipeline, mapping, priority, options)


def _priority(text: str) -> int:
    try:
        priority = int(text)
    except ValueError:
        priority = 1000
    if not -100 <= priority <= 100:
        raise Faulted("BAD_REQUEST", mistakes=[{"at": "priority", "message": "not -100 to 100"}])
    return priority


def most_of(rules: Rules) -> parts.Most:
    return parts.Most(rules.max_upload_bytes, rules.max_files, rules.max_files + MAX_FIELDS)


def request_key_of(headers: Headers) -> str | None:
    """The Idempotency-Key, if one was sent."""
    key = headers.get("idempotency-key")
    if key is not None and not (
        0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()
    ):
        message = f"1 to {LONGEST_KEY} printable characters"
        raise Faulted("BAD_REQUEST", mistakes=[{"at": "Idempotency-Key", "message": message}])
    return key


@dataclass(frozen=True, slots=True)
class Desk:
    """What a reading works with."""

    store: Store
    offer: Offer
    rules: Rules
    fields: frozenset[str] = FIELDS
    wishes: Callable[[Mapping[str, str], Offer], Wishes] = wishes_of


async def receive(request: Request, boundary: str, desk: Desk) -> Received:
    """Read the whole body. Whatever stops it, nothing that was staged is left."""
    reading = Reading(desk, {k: v for k, v in request.query_params.items() if k in desk.fields})
    try:
        async for events in parts.events(request.stream(), boundary, most_of(desk.rules)):
            await reading.take_all(events)
        return reading.done()
    except BaseException:
        await reading.abort()
        raise


class Reading:
    """Takes the parser's events one by one: a part begins, its bytes, its end (None)."""

    def __init__(self, desk: Desk, given: dict[str, str]) -> None:
        self._desk: Desk = desk
        self._values: dict[str, str] = given
        self._wishes: Wishes = desk.wishes(given, desk.offer)
        self._files: list[Staged | Refused] = []
        self._fields: int = 0
        self._name: str = ""
        self._value: bytearray = bytearray()
        self._stage: Stage | None = None
        self._typed: bool = False
        self._skipped: int | None = None

    async def take_all(self, events: Iterable[parts.Event]) -> None:
        for event in events:
            await self.take(event)

    async def take(self, event: parts.Event) -> None:
        if isinstance(event, multipart.MultipartSegment):
            self._begin(event)
        elif event is None:
            await self._end()
        elif self._stage is not None:
            await self._write(self._stage, event)
        elif self._name in self._desk.fields:
            self._value += event
            if len(self._value) > LONGER.get(self._name, MAX_FIELD):
                raise Faulted("BAD_REQUEST", f"the field {self._name} is too long")
        elif self._skipped is not None:
            self._skip(len(event))

    def done(self) -> Received:
        if not self._files:
            raise Faulted("NO_FILE")
        return Received(self._wishes, self._files)

    async def abort(self) -> None:
        if self._stage:
            await self._stage.abort()
        await Received(self._wishes, self._files).abort()

    def _begin(self, part: multipart.MultipartSegment) -> None:
        self._name, self._value, self._skipped = part.name or "", bytearray(), None
        if self._name not in FILE_NAMES:
            self._fields += 1
            if self._fields > MAX_FIELDS:
                raise Faulted("BAD_REQUEST", "too many fields")
            return
        if len(self._files) >= self._desk.rules.max_files:
            raise Faulted("TOO_MANY_FILES", maxFiles=self._desk.rules.max_files)
        limit = self._desk.rules.max_upload_bytes
        self._stage = Stage(self._desk.store, part.filename or "", max_bytes=limit)
        self._typed = False

    async def _write(self, stage: Stage, chunk: bytes | bytearray) -> None:
        try:
            await stage.write(chunk)
            if len(stage.head) == HEAD:
                self._check_type(stage)
        except Faulted as exc:
            await self._refuse(stage, exc)

    def _check_type(self, stage: Stage) -> None:
        """Refuse with the first bytes, when the pipeline is known by then."""
        if not self._typed and self._wishes.pipeline:
            checks.check_type(self._desk.offer, self._wishes.pipeline, stage.head)
            self._typed = True

    async def _refuse(self, stage: Stage, exc: Faulted) -> None:
        """A file's own fault is its outcome; a fault of the store is everybody's."""
        await stage.abort()
        if exc.fault.status >= 500:
            raise exc
        self._stage, self._skipped = None, 0
        self._files.append(Refused(stage.filename, exc))

    def _skip(self, count: int) -> None:
        assert self._skipped is not None
        self._skipped += count
        refused = self._files[-1]
        if len(self._files) == 1 and self._skipped > SKIP_BYTES and isinstance(refused, Refused):
            raise refused.fault

    async def _end(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            # A browser's file input that was left empty sends a part without a name or bytes.
            if stage.filename or stage.bytes:
                self._files.append(await stage.finish())
        elif self._name in self._desk.fields:
            self._values[self._name] = self._value.decode("utf-8", "replace").strip()
            self._wishes = self._desk.wishes(self._values, self._desk.offer)
