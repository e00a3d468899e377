"""A file on its way in: hashed and counted while it streams, invisible until it is accepted."""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

from docmill.core.faults import too_large
from docmill.core.keys import upload_key
from docmill.ingest.checks import HEAD, TAIL, ZIP_HEADER
from docmill.storage import Store, Writer

BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that has been read to its end and lies in the store without a name.

    `tail`: the last bytes of an archive; nothing of other files.
    """

    id: UUID
    key: str
    filename: str
    head: bytes
    tail: bytes
    bytes: int
    sha256: str
    writer: Writer


class Stage:
    """Takes chunks of any size and writes them in blocks, so that memory does not grow."""

    def __init__(
        self, store: Store, filename: str, *, max_bytes: int, document_id: UUID | None = None
    ) -> None:
        self.id: UUID = document_id or uuid4()
        self.filename: str = filename
        self.key: str = upload_key(self.id)
        self.head: bytes = b""
        self.tail: bytes = b""
        self.bytes: int = 0
        self._max: int = max_bytes
        self._store: Store = store
        self._hash = hashlib.sha256()
        self._block: bytearray = bytearray()
        self._writer: Writer | None = None

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Raises TOO_LARGE with the first byte over the limit."""
        self.bytes += len(chunk)
        if self.bytes > self._max:
            raise too_large(self._max)
        if len(self.head) < HEAD:
            self.head += bytes(chunk[: HEAD - len(self.head)])
        if self.head.startswith(ZIP_HEADER):
            self.tail = (self.tail + bytes(chunk[-TAIL:]))[-TAIL:]
        self._block += chunk
        if len(self._block) >= BLOCK:
            await self._flush()

    async def finish(self) -> Staged:
        await self._flush()
        assert self._writer is not None
        return Staged(
            id=self.id,
            key=self.key,
            filename=self.filename,
            head=self.head,
            tail=self.tail,
            bytes=self.bytes,
            sha256=self._hash.hexdigest(),
            writer=self._writer,
        )

    async def abort(self) -> None:
        if self._writer:
            await self._writer.abort()

    async def _flush(self) -> None:
        if self._writer is None:
            self._writer = await self._store.writer(self.key)
        block, self._block = self._block, bytearray()
        if len(block) >= BLOCK // 16:
            await asyncio.to_thread(self._hash.update, block)
        else:
            self._hash.update(block)
        if block:
            await self._writer.write(block)
