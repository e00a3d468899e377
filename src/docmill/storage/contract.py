"""What every store can do. Keys are made by us, never by a user; writes are atomic."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol


class Writer(Protocol):
    """One object being written. Nothing is visible under its key before `commit`."""

    async def write(self, chunk: bytes | bytearray | memoryview) -> None: ...
    async def commit(self) -> None: ...
    async def abort(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Stored:
    """One object in a listing."""

    key: str
    bytes: int
    changed_at: datetime


class Store(Protocol):
    """Failures come as Faulted: IO_ERROR, DISK_FULL, or EXPIRED for a key that is not there."""

    async def writer(self, key: str) -> Writer: ...
    async def put(self, key: str, data: bytes) -> None: ...
    async def size(self, key: str) -> int | None:
        """The stored size, None when there is no such key."""
        ...

    async def file(self, key: str) -> BinaryIO:
        """The object as an open local file, for handing to a child."""
        ...

    def chunks(self, key: str) -> AsyncIterator[bytes]: ...
    async def delete(self, key: str) -> None:
        """Deleting what is not there is fine."""
        ...

    def walk(self, prefix: str) -> AsyncIterator[Stored]: ...
    async def fullness(self) -> float | None:
        """How full the store is, from 0 to 1; None where that means nothing."""
        ...
