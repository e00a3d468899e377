"""A file on its way in: hashed and counted while it streams, invisible until it is accepted."""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

from docmill.core.documents import GuessedPages, object_key, upload_key
from docmill.core.faults import DocmillError
from docmill.documents.content_types import HEAD_BYTES, TAIL_BYTES, ZIP_HEADER
from docmill.documents.sketch import PdfSketch
from docmill.storage.contract import Store, Writer

BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class StagedFile:
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
    guessed: GuessedPages
    writer: Writer


class AlreadyStored:
    """Writes nothing: the bytes lie where they stay."""

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """They are there."""

    async def commit(self) -> None:
        """They are there."""

    async def abort(self) -> None:
        """They stay."""


class FileStage:
    """Takes chunks of any size and writes them in blocks, so that memory does not grow."""

    def __init__(
        self, store: Store | None, filename: str, *, max_bytes: int, document_id: UUID | None = None
    ) -> None:
        """Without a store the file is looked at alone: it stays in the bucket it came by."""
        self.id: UUID = document_id or uuid4()
        self.filename: str = filename
        self.key: str = upload_key(self.id) if store else object_key(self.id)
        self.head: bytes = b""
        self.tail: bytes = b""
        self.bytes: int = 0
        self._max: int = max_bytes
        self._store: Store | None = store
        self._hash = hashlib.sha256()
        self._sketch: PdfSketch = PdfSketch()
        self._block: bytearray = bytearray()
        self._writer: Writer | None = None

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Raises TOO_LARGE with the first byte over the limit."""
        self.bytes += len(chunk)
        if self.bytes > self._max:
            raise DocmillError("TOO_LARGE", maxSize=self._max)
        if len(self.head) < HEAD_BYTES:
            self.head += bytes(chunk[: HEAD_BYTES - len(self.head)])
        if self.head.startswith(ZIP_HEADER):
            self.tail = (self.tail + bytes(chunk[-TAIL_BYTES:]))[-TAIL_BYTES:]
        self._block += chunk
        if len(self._block) >= BLOCK:
            await self._flush()

    async def finish(self) -> StagedFile:
        await self._flush()
        assert self._writer is not None
        return StagedFile(
            id=self.id,
            key=self.key,
            filename=self.filename,
            head=self.head,
            tail=self.tail,
            bytes=self.bytes,
            sha256=self._hash.hexdigest(),
            guessed=self._sketch.finish(),
            writer=self._writer,
        )

    async def abort(self) -> None:
        if self._writer:
            await self._writer.abort()

    async def _flush(self) -> None:
        if self._writer is None:
            self._writer = await self._store.writer(self.key) if self._store else AlreadyStored()
        block, self._block = self._block, bytearray()
        if len(block) >= BLOCK // 16:
            await asyncio.to_thread(self._look, block)
        else:
            self._look(block)
        if block:
            await self._writer.write(block)

    def _look(self, block: bytearray) -> None:
        self._hash.update(block)
        self._sketch.update(block)
