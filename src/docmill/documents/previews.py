"""Runs over a document for a page that somebody looks at: pictures, and what pages ask besides.

The web process never opens a document itself; a sandbox does.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from starlette.requests import ClientDisconnect, Request

from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, ReportProgress, ignore_progress
from docmill.core.owners import OwnerKey
from docmill.core.plugins import PDF
from docmill.documents.stored import open_stored
from docmill.sandbox.outcome import RunFailed, RunOutcome, RunReturned, Task
from docmill.web.site import Site

Answer = TypeVar("Answer")

VIEWER: Final = "viewer"
MOST_BYTES: Final = 64 << 20
AT_A_TIME: Final = 3
# Of one owner; a page of a browser asks for a few at once.
MOST_WAITING: Final = 50


class PreviewSandbox(Protocol):
    """A `SandboxPool`, or what stands for one in a test."""

    async def run(self, task: Task, document: int, progress: ReportProgress) -> RunOutcome: ...


class FairTurns:
    """Who may run a child now: owner after owner, and one owner never in all places at once."""

    def __init__(self, at_a_time: int = AT_A_TIME, most_waiting: int = MOST_WAITING) -> None:
        self._places: int = at_a_time
        self._share: int = max(1, at_a_time - 1)
        self._most_waiting: int = most_waiting
        self._running: Counter[OwnerKey] = Counter()
        self._waiting: OrderedDict[OwnerKey, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, owner: OwnerKey) -> AsyncGenerator[None]:
        """Waits for it. Raises BUSY for who has too many waiting; who is cancelled has none."""
        await self._come(owner)
        try:
            yield
        finally:
            self._leave(owner)

    async def _come(self, owner: OwnerKey) -> None:
        line = self._waiting.setdefault(owner, deque())
        if len(line) >= self._most_waiting:
            raise DocmillError("BUSY", f"{len(line)} pages of one owner wait", retryAfter=2)
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(called)
        self._call()
        try:
            await called
        except asyncio.CancelledError:
            if not called.cancelled():
                self._leave(owner)
            raise

    def _leave(self, owner: OwnerKey) -> None:
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]
        self._call()

    def _call(self) -> None:
        while self._running.total() < self._places and (owner := self._next()):
            self._waiting[owner].popleft().set_result(None)
            self._waiting.move_to_end(owner)
            self._running[owner] += 1

    def _next(self) -> OwnerKey | None:
        """Whoever was called longest ago and may run another; those who have gone are dropped."""
        for owner, line in list(self._waiting.items()):
            while line and line[0].done():
                line.popleft()
            if not line:
                del self._waiting[owner]
            elif self._running[owner] < self._share:
                return owner
        return None


class SharedRuns:
    """A sandbox whose places are shared fairly between owners."""

    def __init__(self, sandbox: PreviewSandbox | None, turns: FairTurns | None = None) -> None:
        self._sandbox: PreviewSandbox | None = sandbox
        self._turns: FairTurns = turns or FairTurns()

    async def run(
        self, site: Site, job: Job, owner: OwnerKey, name: str, options: dict[str, Any]
    ) -> RunReturned:
        """A run over a job's document, if that is still there. Raises what it failed with."""
        if job.upload_key is None:
            raise DocmillError("EXPIRED", jobId=str(job.id))
        task = Task(name, "document.pdf", PDF, options=options)
        checked = await open_stored(site.pool, site.store, job.upload_key)
        try:
            if self._sandbox is None:
                raise DocmillError("BUSY", "this process was started without a sandbox")
            async with self._turns.turn(owner):
                ran = await self._sandbox.run(task, checked.file.fileno(), ignore_progress)
        finally:
            checked.close()
        if isinstance(ran, RunFailed):
            raise ran.as_fault()
        return ran


async def run_unless_gone(request: Request, work: Coroutine[Any, Any, Answer]) -> Answer:
    """The work's answer; it is given up when the client does not wait for it any more."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


PageKey = tuple[UUID, int, int]  # the document, its page, and how wide the picture is


class PageViews:
    """Pages as they were drawn, the last ones kept; two who ask at once wait for one drawing."""

    def __init__(self, shares: SharedRuns, site: Site, most_bytes: int = MOST_BYTES) -> None:
        self._shares: SharedRuns = shares
        self._site: Site = site
        self._room: int = most_bytes
        self._kept: OrderedDict[PageKey, RunReturned] = OrderedDict()
        self._drawing: dict[PageKey, asyncio.Task[RunReturned]] = {}
        self._askers: Counter[asyncio.Task[RunReturned]] = Counter()

    async def page(self, job: Job, number: int, owner: OwnerKey, *, wide: int = 0) -> RunReturned:
        """What nobody waits for any more is not drawn. `wide`: a thumbnail of so many pixels."""
        key = (job.document_id, number, wide)
        if kept := self._kept.get(key):
            self._kept.move_to_end(key)
            return kept
        drawing = self._drawing.get(key)
        if drawing is None:
            options = {"page": number, "wide": wide} if wide else {"page": number}
            asked = self._shares.run(self._site, job, owner, VIEWER, options)
            drawing = self._drawing[key] = asyncio.create_task(asked)
            drawing.add_done_callback(lambda done: self._keep(key, done))
        self._askers[drawing] += 1
        try:
            return await asyncio.shield(drawing)
        finally:
            self._askers[drawing] -= 1
            if not self._askers[drawing]:
                del self._askers[drawing]
                self._forget(key, drawing)
                drawing.cancel()

    def _forget(self, key: PageKey, drawing: asyncio.Task[RunReturned]) -> None:
        if self._drawing.get(key) is drawing:
            del self._drawing[key]

    def _keep(self, key: PageKey, done: asyncio.Task[RunReturned]) -> None:
        self._forget(key, done)
        if done.cancelled() or done.exception():
            return
        self._kept[key] = done.result()
        self._room -= _byte_size(done.result())
        while self._room < 0:
            self._room += _byte_size(self._kept.popitem(last=False)[1])


def _byte_size(found: RunReturned) -> int:
    return len(found.data) + (len(found.artifact.content) if found.artifact else 0)
