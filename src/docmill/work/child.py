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
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, Self

from docmill.core.faults import Faulted
from docmill.core.jobs import Usage
from docmill.work import framing
from docmill.work.confine import Confinement
from docmill.work.framing import Kind
from docmill.work.line import Desk, Line, Progress
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
)

__all__ = ["Failed", "Limits", "Nursery", "Ran", "Returned", "Task", "Usage"]

# A child that closed its channel has nothing more to say; its exit comes at once, or is made to.
_LEAVING: Final = 1.0
# How long a killed child may take to go before the nursery counts as hung.
PATIENCE: Final = 5.0
# Woken so much later than asked, we were stopped ourselves, and the child may have been as well.
_OVERSLEPT: Final = 1.0


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

    async def run(
        self, task: Task, document: int, progress: Progress, *, desk: Desk | None = None
    ) -> Ran:
        """`document` is an open fd, for reading only, which nobody else may read from meanwhile.

        `progress` must not raise; `desk` answers what the run asks of services. Cancelling kills
        the child and waits for it.
        """
        if fcntl.fcntl(document, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
            raise ValueError("a run is given its document for reading only")
        try:
            parent = await self._ready()
        except Faulted as exc:
            return Failed(exc.fault.code, exc.detail, "", Usage())
        line = Line(progress, desk)
        services = sorted(desk.services) if desk else []
        words = json.dumps({**asdict(task), "services": services}).encode()
        cut, ending = await self._attend(line, words, document, parent=parent)
        if line.word is not None and line.word.kind is Kind.RESULT:
            # Said is said, however the child went afterwards.
            version = parent.hello.versions.get(task.pipeline, "")
            return Returned(line.word.payload, version, ending.usage, line.artifact, line.rows)
        return judge(line.word, ending, cut=cut, task=task, limits=self.limits)

    async def _attend(
        self, line: Line, task: bytes, document: int, *, parent: Parent
    ) -> tuple[Cut | None, Ending]:
        number = next(self._numbers)
        ours, theirs = socket.socketpair()
        with theirs:
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: line, sock=ours
            )
            ended = parent.begin(number, theirs.fileno(), document)
        try:
            transport.write(framing.pack(Kind.TASK, task))
            cut = await self._watch(line, ended)
        finally:
            await _finish(number, ended, line=line, parent=parent)
        if line.broke:
            raise line.broke
        return cut, ended.result()

    async def _watch(self, line: Line, ended: asyncio.Future[Ending]) -> Cut | None:
        """Until the child is gone and its channel read to the end, or until it must be ended."""
        clock = asyncio.get_running_loop().time
        while waiting := {future for future in (line.closed, ended) if not future.done()}:
            if line.wrong or line.broke or (ended.done() and ended.result().exit is None):
                break
            asked_at, due_at = clock(), self._due(line)[1]
            # An answer to the child is not waited for: its silence counts again from then on.
            patience = min(due_at - asked_at, self.limits.stall.total_seconds())
            await asyncio.wait(
                waiting, timeout=max(0, patience), return_when=asyncio.FIRST_COMPLETED
            )
            if clock() - max(due_at, asked_at) > _OVERSLEPT:
                line.heard_at = clock()
            cut, due_at = self._due(line)
            if clock() >= due_at:
                return cut
        return Cut("CRASHED", line.wrong) if line.wrong else None

    def _due(self, line: Line) -> tuple[Cut, float]:
        """What ends this run next if nothing is heard, and when."""
        stall, total = self.limits.stall.total_seconds(), self.limits.total.total_seconds()
        if line.closed.done():
            return Cut("CRASHED", "closed its channel and stayed"), line.heard_at + _LEAVING
        long = Cut("TIMED_OUT", f"still running after {total:g} s"), line.began_at + total
        if line.is_answering:
            return long
        silent = Cut("TIMED_OUT", f"no progress for {stall:g} s"), line.heard_at + stall
        return min(silent, long, key=lambda due: due[1])


async def _finish(
    number: int, ended: asyncio.Future[Ending], *, line: Line, parent: Parent
) -> None:
    """No run leaves a process behind: a hung nursery goes with its children."""
    if not ended.done():
        parent.kill(number)
        await asyncio.wait({ended}, timeout=PATIENCE)
    if not ended.done():
        parent.abandon()
        await ended
    await line.leave()
