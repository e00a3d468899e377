"""The worker's end of one run's channel: hears progress, questions and the last word."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from docmill.core.faults import Faulted
from docmill.core.pipeline import Artifact
from docmill.work import framing
from docmill.work.framing import Frame, Kind
from docmill.work.verdict import plain

Progress = Callable[[int, str], None]

# What a child may say.
_SPOKEN: Final = (
    Kind.PROGRESS, Kind.ASK, Kind.ARTIFACT, Kind.ROWS, Kind.RESULT, Kind.FAULT,
)  # fmt: skip


class Desk(Protocol):
    """Where a run's questions are answered: `answer` raises Faulted, and takes its own time."""

    @property
    def services(self) -> frozenset[str]: ...
    async def answer(self, service: str, request: Any) -> Any: ...


class Line(asyncio.Protocol):
    """What it hears was written by a parser of strangers' bytes: nothing of it is trusted."""

    def __init__(self, progress: Progress, desk: Desk | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.word: Frame | None = None
        self.wrong = ""
        self.broke: BaseException | None = None
        self.began_at = self.heard_at = loop.time()
        self.artifact: Artifact | None = None
        self.rows: dict[str, bytes] = {}
        self._clock = loop.time
        self._progress = progress
        self._desk = desk
        self._percent = 0
        self._spoken = 0
        self._asked = 0
        self._asked_bytes = 0
        self._answering: asyncio.Task[None] | None = None
        self._splitter = framing.Splitter(*_SPOKEN)
        self._transport: asyncio.Transport | None = None

    @property
    def is_answering(self) -> bool:
        """The child waits for us now, so its silence means nothing."""
        return self._answering is not None and not self._answering.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self.word is not None or self.wrong:
            return
        try:
            for frame in self._splitter.feed(data):
                self._hear(frame)
        except framing.Malformed as exc:
            self.wrong = f"broke the channel: {exc}"
            self.hang_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self.heard_at = self._clock()
        if not self.closed.done():
            self.closed.set_result(None)

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def leave(self) -> None:
        """Give up what is being asked for, and the channel."""
        if self._answering is not None:
            self._answering.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({self._answering})
        self.hang_up()
        await self.closed

    def _hear(self, frame: Frame) -> None:
        if self.word is not None:
            return
        self.heard_at = self._clock()
        if frame.kind is Kind.PROGRESS:
            self._hear_progress(frame)
        elif frame.kind is Kind.ASK:
            self._hear_question(frame)
        elif frame.kind is Kind.ARTIFACT:
            kind, _, content = frame.payload.partition(b"\n")
            self.artifact = Artifact(content, plain(kind.decode(errors="replace"), 100))
        elif frame.kind is Kind.ROWS:
            noun, _, rows = frame.payload.partition(b"\n")
            self.rows = {plain(noun.decode(errors="replace"), 100): rows, **self.rows}
        else:
            self.word = frame

    def _hear_progress(self, frame: Frame) -> None:
        self._spoken += 1
        seconds = self.heard_at - self.began_at
        # Twice what an honest child can send: a flood would take the time of the other runs.
        if self._spoken > 2 * (framing.SPARE_STAGES + seconds / framing.PACE_SECONDS):
            raise framing.Malformed("too much progress")
        if not frame.payload or frame.payload[0] > 100:
            raise framing.Malformed("progress without a percentage")
        self._percent = max(self._percent, frame.payload[0])
        self._progress(self._percent, plain(frame.payload[1:].decode(errors="replace"), 100))

    def _hear_question(self, frame: Frame) -> None:
        """One at a time: a child that asks on without taking its answers would fill our memory."""
        assert self._transport is not None
        self._asked += 1
        self._asked_bytes += len(frame.payload)
        if self.is_answering or self._transport.get_write_buffer_size():
            raise framing.Malformed("a question before the last answer was taken")
        if self._asked > framing.MOST_ASKED or self._asked_bytes > framing.MOST_ASKED_BYTES:
            raise framing.Malformed("too many questions")
        self._answering = asyncio.create_task(self._answer(*_question(frame.payload)))
        self._answering.add_done_callback(self._answered)

    async def _answer(self, service: str, request: Any) -> None:
        try:
            if self._desk is None:
                raise Faulted("SERVICE_UNSET", f"no service {service}")
            words = _frame({"answer": await self._desk.answer(service, request)})
        except Faulted as exc:
            said = {"code": exc.fault.code, "detail": exc.detail[:1000], "facts": exc.facts}
            words = _frame(said)
        self.heard_at = self._clock()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(words)

    def _answered(self, answering: asyncio.Task[None]) -> None:
        """What no desk foresaw ends the run; `broke` is raised by whoever attends it."""
        if not answering.cancelled() and (exc := answering.exception()):
            self.broke = exc
            self.hang_up()


def _question(payload: bytes) -> tuple[str, Any]:
    try:
        words: dict[str, Any] = dict(json.loads(payload))
        return plain(str(words["service"]), 50), words["request"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise framing.Malformed("a question that can't be read") from None


def _frame(words: dict[str, Any]) -> bytes:
    payload = json.dumps(words).encode()
    if len(payload) > framing.LONGEST[Kind.ANSWER]:
        raise Faulted("SERVICE_REFUSED", f"an answer of {len(payload) >> 20} MB")
    return framing.pack(Kind.ANSWER, payload)
