"""Stored bytes held against what was written down of them, before anybody gets one of them."""

import asyncio
import hashlib
import os
import zlib
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Final

from docmill.core.faults import DocmillError
from docmill.storage.contract import Store
from docmill.storage.retry import as_fault

PIECE: Final = 1 << 18
HEAD: Final = 1 << 16
GZIP: Final = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True)
class Expected:
    """What an object is by its row. Results are stored packed, which makes them `packed_bytes`."""

    key: str
    bytes: int
    sha256: str
    packed_bytes: int | None = None


class CheckedObject:
    """An open object that is what it should be. Read it once, then close it."""

    def __init__(self, file: BinaryIO, expected: Expected) -> None:
        self.file: BinaryIO = file
        self.expected: Expected = expected

    def head(self) -> bytes:
        """The first bytes, by which a kind of file is known."""
        first = self.file.read(HEAD)
        self.file.seek(0)
        return first

    async def raw(self) -> AsyncIterator[bytes]:
        """The bytes as they lie in the store."""
        while piece := await asyncio.to_thread(self.file.read, PIECE):
            yield piece

    async def content(self) -> AsyncIterator[bytes]:
        """What was put into it, unpacked in small pieces: memory grows with neither."""
        pieces = _unpack(self.file, self.expected)
        while piece := await asyncio.to_thread(next, pieces, b""):
            yield piece

    async def whole(self) -> bytes:
        """All of the content; the object is closed."""
        try:
            return b"".join([piece async for piece in self.content()])
        finally:
            self.close()

    @contextmanager
    def closing_on_error(self) -> Generator[None]:
        """For what comes between opening and handing on."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.file.close()


async def open_checked(store: Store, expected: Expected) -> CheckedObject:
    """DAMAGED unless length and hash are right. A first pass over the very file that is sent."""
    checked = CheckedObject(await store.file(expected.key), expected)
    with checked.closing_on_error():
        try:
            await asyncio.to_thread(_check, checked.file, expected)
        except OSError as exc:
            raise as_fault(exc) from exc
    return checked


def _check(file: BinaryIO, expected: Expected) -> None:
    right = expected.bytes if expected.packed_bytes is None else expected.packed_bytes
    size = os.fstat(file.fileno()).st_size
    if size != right:
        raise DocmillError("DAMAGED", f"{expected.key} has {size} bytes instead of {right}")
    digest, count = hashlib.sha256(), 0
    try:
        for piece in _unpack(file, expected):
            digest.update(piece)
            count += len(piece)
            if count > expected.bytes:
                break
    except zlib.error as exc:
        raise DocmillError("DAMAGED", f"{expected.key} can't be unpacked") from exc
    if count != expected.bytes or digest.hexdigest() != expected.sha256:
        raise DocmillError("DAMAGED", f"{expected.key} holds other bytes than were written")
    file.seek(0)


def _unpack(file: BinaryIO, expected: Expected) -> Iterator[bytes]:
    if expected.packed_bytes is None:
        while piece := file.read(PIECE):
            yield piece
        return
    gzip = zlib.decompressobj(wbits=GZIP)
    while left := file.read(PIECE):
        while left:
            if piece := gzip.decompress(left, PIECE):
                yield piece
            left = gzip.unconsumed_tail
    if rest := gzip.flush():
        yield rest
    if not gzip.eof:
        raise zlib.error("it ends too soon")
