"""What the web asks of a confined child: it never opens a document itself.

Web and work are strangers, so whoever starts the process hands the way to a child in.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final
from uuid import UUID

from docmill.core.faults import Faulted
from docmill.core.jobs import Job
from docmill.storage import Store

VIEWER: Final = "viewer"
TEACHER: Final = "invoice-teacher"
MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """`data` is the JSON a child wrote; `picture` is there where it drew one."""

    data: bytes
    picture: bytes | None = None


# What runs, the document, and what is asked; raises Faulted.
Confined = Callable[[str, BinaryIO, Mapping[str, Any]], Awaitable[Found]]


async def nobody(_name: str, _file: BinaryIO, _options: Mapping[str, Any]) -> Found:
    raise Faulted("BUSY", "this process was started without a way to confined children")


async def ask(run: Confined, store: Store, job: Job, name: str, options: dict[str, Any]) -> Found:
    """A run over a job's document, if that is still there."""
    if job.upload_key is None:
        raise Faulted("EXPIRED", jobId=str(job.id))
    file = await store.file(job.upload_key)
    try:
        return await run(name, file, options)
    finally:
        file.close()


class Views:
    """Pages as they were drawn, the last ones kept; two who ask at once wait for one drawing."""

    def __init__(self, run: Confined, store: Store, most_bytes: int = MOST_BYTES) -> None:
        self._run: Confined = run
        self._store: Store = store
        self._room: int = most_bytes
        self._kept: OrderedDict[tuple[UUID, int], Found] = OrderedDict()
        self._drawing: dict[tuple[UUID, int], asyncio.Task[Found]] = {}

    async def page(self, job: Job, number: int) -> Found:
        key = (job.document_id, number)
        if kept := self._kept.get(key):
            self._kept.move_to_end(key)
            return kept
        drawing = self._drawing.get(key)
        if drawing is None:
            asked = ask(self._run, self._store, job, VIEWER, {"page": number})
            drawing = self._drawing[key] = asyncio.create_task(asked)
            drawing.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(drawing)

    def _keep(self, key: tuple[UUID, int], done: asyncio.Task[Found]) -> None:
        del self._drawing[key]
        if done.cancelled() or done.exception():
            return
        self._kept[key] = done.result()
        self._room -= _size(done.result())
        while self._room < 0:
            self._room += _size(self._kept.popitem(last=False)[1])


def _size(found: Found) -> int:
    return len(found.data) + len(found.picture or b"")
