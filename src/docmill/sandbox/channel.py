"""The worker's end of one run's channel: hears progress, questions and the last word."""

import asyncio
import json
from contextlib import suppress
from typing import Any, Final, Protocol, cast

from docmill.core.faults import DocmillError
from docmill.core.jobs import About, ReportProgress
from docmill.core.plugins import Artifact
from docmill.sandbox import protocol
from docmill.sandbox.outcome import clean_line, read_about
from docmill.sandbox.protocol import Frame, FrameKind

# What a child may say.
_SPOKEN: Final = (
    FrameKind.PROGRESS, FrameKind.ASK, FrameKind.ARTIFACT, FrameKind.ROWS, FrameKind.RESULT,
    FrameKind.FAULT, FrameKind.ABOUT, FrameKind.PAGES,
)  # fmt: skip


class RunHost(Protocol):
    """Answers a run's questions: `answer` raises DocmillError, and takes its own time."""

    @property
    def services(self) -> frozenset[str]: ...
    async def answer(self, service: str, request: Any) -> Any: ...


class RunChannel(asyncio.Protocol):
    """What it hears was written by a parser of strangers' bytes: nothing of it is trusted."""

    def __init__(self, progress: ReportProgress, host: RunHost | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.word: Frame | None = None
        self.wrong = ""
        self.broke: BaseException | None = None
        self.began_at = self.heard_at = loop.time()
        self.artifact: Artifact | None = None
        self.rows: dict[str, bytes] = {}
        self.about: About = About()
        self.pages: int | None = None
        self._clock = loop.time
        self._progress = progress
        self._host = host
        self._percent = 0
        self._spoken = 0
        self._asked = 0
        self._asked_bytes = 0
        self._answering: asyncio.Task[None] | None = None
        self._splitter = protocol.FrameSplitter(*_SPOKEN)
        self._transport: asyncio.Transport | None = None

    @property
    def is_answering(self) -> bool:
        """The child waits for us now, so its silence means nothing."""
        return self._answering is not None and not self._answering.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Of a stream it is one, though uvloop's is not derived from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.word is not None or self.wrong:
            return
        try:
            for frame in self._splitter.feed(data):
                self._hear(frame)
        except protocol.MalformedFrameError as exc:
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
        if frame.kind is FrameKind.PROGRESS:
            self._hear_progress(frame)
        elif frame.kind is FrameKind.ASK:
            self._hear_question(frame)
        elif frame.kind is FrameKind.ARTIFACT:
            kind, _, content = frame.payload.partition(b"\n")
            self.artifact = Artifact(content, clean_line(kind.decode(errors="replace"), 100))
        elif frame.kind is FrameKind.ROWS:
            noun, _, rows = frame.payload.partition(b"\n")
            self.rows = {clean_line(noun.decode(errors="replace"), 100): rows, **self.rows}
        elif frame.kind is FrameKind.ABOUT:
            self.about = read_about(frame.payload)
        elif frame.kind is FrameKind.PAGES:
            self._hear_pages(frame)
        else:
            self.word = frame

    def _count_word(self) -> None:
        self._spoken += 1
        seconds = self.heard_at - self.began_at
        # Twice what an honest child can send: a flood would take the time of the other runs.
        if self._spoken > 2 * (protocol.SPARE_STAGES + seconds / protocol.PACE_SECONDS):
            raise protocol.MalformedFrameError("too much progress")

    def _hear_pages(self, frame: Frame) -> None:
        self._count_word()
        if len(frame.payload) != protocol.PAGES.size:
            raise protocol.MalformedFrameError("pages without a number")
        (self.pages,) = protocol.PAGES.unpack(frame.payload)

    def _hear_progress(self, frame: Frame) -> None:
        self._count_word()
        if not frame.payload or frame.payload[0] > 100:
            raise protocol.MalformedFrameError("progress without a percentage")
        self._percent = max(self._percent, frame.payload[0])
        self._progress(self._percent, clean_line(frame.payload[1:].decode(errors="replace"), 100))

    def _hear_question(self, frame: Frame) -> None:
        """One at a time: a child that asks on without taking its answers would fill our memory."""
        assert self._transport is not None
        self._asked += 1
        self._asked_bytes += len(frame.payload)
        if self.is_answering or self._transport.get_write_buffer_size():
            raise protocol.MalformedFrameError("a question before the last answer was taken")
        if self._asked > protocol.MOST_ASKED or self._asked_bytes > protocol.MOST_ASKED_BYTES:
            raise protocol.MalformedFrameError("too many questions")
        self._answering = asyncio.create_task(self._answer(*_parse_question(frame.payload)))
        self._answering.add_done_callback(self._note_end_of_answer)

    async def _answer(self, service: str, request: Any) -> None:
        try:
            if self._host is None:
                raise DocmillError("SERVICE_UNSET", f"no service {service}")
            words = _pack_answer({"answer": await self._host.answer(service, request)})
        except DocmillError as exc:
            said = {"code": exc.fault.code, "detail": exc.detail[:1000], "facts": exc.facts}
            words = _pack_answer(said)
        self.heard_at = self._clock()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(words)

    def _note_end_of_answer(self, answering: asyncio.Task[None]) -> None:
        """What no host foresaw ends the run; `broke` is raised by whoever attends it."""
        if not answering.cancelled() and (exc := answering.exception()):
            self.broke = exc
            self.hang_up()


def _parse_question(payload: bytes) -> tuple[str, Any]:
    try:
        words: dict[str, Any] = dict(json.loads(payload))
        return clean_line(str(words["service"]), 50), words["request"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise protocol.MalformedFrameError("a question that can't be read") from None


def _pack_answer(words: dict[str, Any]) -> bytes:
    payload = json.dumps(words).encode()
    if len(payload) > protocol.LONGEST[FrameKind.ANSWER]:
        raise DocmillError("SERVICE_REFUSED", f"an answer of {len(payload) >> 20} MB")
    return protocol.pack(FrameKind.ANSWER, payload)
