"""One run in a confined process of its own: the worker's side of it, in asyncio.

A run is forked from a warm parent, the nursery, serves one document and is gone. Whatever happens
in it, it ends within its limits as Returned or Failed.
"""

import asyncio
import fcntl
import itertools
import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final, Self

from docmill.core.faults import Faulted
from docmill.core.jobs import Usage
from docmill.core.pipeline import Artifact
from docmill.work import framing
from docmill.work.confine import Confinement
from docmill.work.framing import Frame, Kind
from docmill.work.parent import Parent, Plan
from docmill.work.verdict import (
    Cut,
    Ending,
    Failed,
    Limits,
    Ran,
    Returned,
    Task,
    judge,
    plain,
)

__all__ = ["Failed", "Limits", "Nursery", "Ran", "Returned", "Task", "Usage"]

Progress = Callable[[int, str], None]

# What a child may say.
_SPOKEN: Final = (Kind.PROGRESS, Kind.ARTIFACT, Kind.ROWS, Kind.RESULT, Kind.FAULT)
# A child that closed its channel has nothing more to say; its exit comes at once, or is made to.
_LEAVING: Final = 1.0
# How long a killed child may take to go before the nursery counts as hung.
PATIENCE: Final = 5.0
# Woken so much later than asked, we were stopped ourselves, and the child may have been as well.
_OVERSLEPT: Final = 1.0


class _Line(asyncio.Protocol):
    """The worker's end of one run's channel: hears progress and the last word."""

    def __init__(self, progress: Progress) -> None:
        loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.word: Frame | None = None
        self.wrong = ""
        self.began_at = self.heard_at = loop.time()
        self._clock = loop.time
        self._progress = progress
        self._percent = 0
        self._spoken = 0
        self._splitter = framing.Splitter(*_SPOKEN)
        self.artifact: Artifact | None = None
        self.rows: dict[str, bytes] = {}
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
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
            self._transport.close()

    def _hear(self, frame: Frame) -> None:
        if self.word is not None:
            return
        self.heard_at = self._clock()
        if frame.kind is Kind.PROGRESS:
            self._hear_progress(frame)
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


class Nursery:
    """Runs tasks in children of one warm parent, started when first needed and again if it dies."""

    def __init__(
        self,
        limits: Limits,
        *,
        pipelines: Sequence[str],
        paths: Sequence[str] = (),
        readable: Sequence[str] = (),
    ) -> None:
        """`pipelines` are entry point names or `module:attribute`; `paths` are more import folders.

        `readable` are more places that runs may read, such as a folder of models.
        """
        self.limits = limits
        self._plan = Plan(
            pipelines=tuple(pipelines),
            paths=tuple(paths),
            readable=tuple(readable),
            memory_bytes=limits.memory_bytes,
            cpu_seconds=int(limits.total.total_seconds()) + 5,
        )
        self._parent: Parent | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends what still runs."""
        if self._parent is not None:
            await self._parent.stop()

    @property
    def confinement(self) -> Confinement | None:
        """What holds the runs in; not known before the first `warm` or `run`."""
        return self._parent.hello.confinement if self._parent else None

    @property
    def broken(self) -> dict[str, str]:
        """The pipelines that could not be imported, with their stacks."""
        return dict(self._parent.hello.broken) if self._parent else {}

    @property
    def pid(self) -> int | None:
        """Of the warm parent, while there is one."""
        return self._parent.pid if self._parent and not self._parent.lost else None

    async def warm(self) -> Confinement:
        """Start the warm parent now. Raises Faulted when it does not come up."""
        return (await self._ready()).hello.confinement

    async def _ready(self) -> Parent:
        async with self._starting:
            if self._parent is None or self._parent.lost:
                self._parent = await Parent.start(self._plan)
            return self._parent

    async def run(self, task: Task, document: int, progress: Progress) -> Ran:
        """`document` is an open fd, for reading only, which nobody else may read from meanwhile.

        `progress` must not raise. Cancelling kills the child and waits for it.
        """
        if fcntl.fcntl(document, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
            raise ValueError("a run is given its document for reading only")
        try:
            parent = await self._ready()
        except Faulted as exc:
            return Failed(exc.fault.code, exc.detail, "", Usage())
        line, cut, ending = await self._attend(task, document, progress, parent=parent)
        if line.word is not None and line.word.kind is Kind.RESULT:
            # Said is said, however the child went afterwards.
            version = parent.hello.versions.get(task.pipeline, "")
            return Returned(line.word.payload, version, ending.usage, line.artifact, line.rows)
        return judge(line.word, ending, cut=cut, task=task, limits=self.limits)

    async def _attend(
        self, task: Task, document: int, progress: Progress, *, parent: Parent
    ) -> tuple[_Line, Cut | None, Ending]:
        number = next(self._numbers)
        line = _Line(progress)
        ours, theirs = socket.socketpair()
        with theirs:
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: line, sock=ours
            )
            ended = parent.begin(number, theirs.fileno(), document)
        try:
            transport.write(framing.pack(Kind.TASK, json.dumps(asdict(task)).encode()))
            cut = await self._watch(line, ended)
        finally:
            await _finish(number, ended, line=line, parent=parent)
        return line, cut, ended.result()

    async def _watch(self, line: _Line, ended: asyncio.Future[Ending]) -> Cut | None:
        """Until the child is gone and its channel read to the end, or until it must be ended."""
        clock = asyncio.get_running_loop().time
        while waiting := {future for future in (line.closed, ended) if not future.done()}:
            if line.wrong or (ended.done() and ended.result().exit is None):
                break
            asked_at, due_at = clock(), self._due(line)[1]
            await asyncio.wait(
                waiting, timeout=max(0, due_at - asked_at), return_when=asyncio.FIRST_COMPLETED
            )
            if clock() - max(due_at, asked_at) > _OVERSLEPT:
                line.heard_at = clock()
            cut, due_at = self._due(line)
            if clock() >= due_at:
                return cut
        return Cut("CRASHED", line.wrong) if line.wrong else None

    def _due(self, line: _Line) -> tuple[Cut, float]:
        """What ends this run next if nothing is heard, and when."""
        stall, total = self.limits.stall.total_seconds(), self.limits.total.total_seconds()
        if line.closed.done():
            return Cut("CRASHED", "closed its channel and stayed"), line.heard_at + _LEAVING
        silent = Cut("TIMED_OUT", f"no progress for {stall:g} s"), line.heard_at + stall
        long = Cut("TIMED_OUT", f"still running after {total:g} s"), line.began_at + total
        return min(silent, long, key=lambda due: due[1])


async def _finish(
    number: int, ended: asyncio.Future[Ending], *, line: _Line, parent: Parent
) -> None:
    """No run leaves a process behind: a hung nursery goes with its children."""
    if not ended.done():
        parent.kill(number)
        await asyncio.wait({ended}, timeout=PATIENCE)
    if not ended.done():
        parent.abandon()
        await ended
    line.hang_up()
    await line.closed
