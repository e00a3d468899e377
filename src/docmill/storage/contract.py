"""What every store can do. Keys are made by us, never by a user; writes are atomic."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import BinaryIO, Final, Protocol

CHUNK: Final = 1 << 20
PAGE: Final = 1000

Metadata = Mapping[str, str]


def merge_metadata(known: Metadata, news: Metadata) -> dict[str, str]:
    """What is known of an object with the news added; an empty word takes an entry away."""
    return {name: word for name, word in {**known, **news}.items() if word}


class Writer(Protocol):
    """One object being written. Nothing is visible under its key before `commit`."""

    async def write(self, chunk: bytes | bytearray | memoryview) -> None: ...
    async def commit(self) -> None: ...
    async def abort(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object as it is now. Its generation is another whenever it was written again."""

    key: str
    bytes: int
    changed_at: datetime
    generation: str
    metadata: Metadata | None = None  # None in a listing, which may not know


@dataclass(frozen=True, slots=True)
class SignedPut:
    """A request that anybody may make for a while: PUT the bytes, with exactly these headers."""

    url: str
    headers: Mapping[str, str]


class Store(Protocol):
    """Failures are DocmillErrors: IO_ERROR, DISK_FULL, or EXPIRED for a key that is not there."""

    @property
    def name(self) -> str:
        """Its address without secrets and options, by which its objects are remembered."""
        ...

    async def writer(self, key: str, *, metadata: Metadata | None = None) -> Writer: ...
    async def put(self, key: str, data: bytes, *, metadata: Metadata | None = None) -> None:
        """Write, or write again: the last one wins, and nobody sees half of it."""
        ...

    async def create(self, key: str, data: bytes) -> bool:
        """Write if there is no such key; of many who try at once, one gets True."""
        ...

    async def head(self, key: str) -> ObjectInfo | None:
        """What is stored there, with its metadata."""
        ...

    async def file(self, key: str) -> BinaryIO:
        """The object as an open local file, for handing to a child."""
        ...

    def chunks(self, key: str) -> AsyncIterator[bytes]: ...
    async def delete(self, key: str) -> None:
        """Deleting what is not there is fine."""
        ...

    async def move(self, stored: ObjectInfo, to: str, *, metadata: Metadata | None = None) -> bool:
        """Move exactly this generation, with its metadata changed; may be repeated after a crash.

        True when it lies at `to` now, whoever moved it. False when it is neither here nor there;
        a newer generation under the old key is left alone.
        """
        ...

    def pages(self, prefix: str) -> AsyncIterator[list[ObjectInfo]]:
        """What lies under a folder ("" for all), in the order of the keys, a page at a time."""
        ...

    async def is_complete(self, stored: ObjectInfo) -> bool:
        """False while somebody may still be writing it."""
        ...

    async def is_readable(self, stored: ObjectInfo) -> bool:
        """False when it is no plain file, or one that we have no right to read."""
        ...

    async def signed_url(self, key: str, *, expires: timedelta) -> str | None:
        """An address that works for anybody until then; None where the store has none."""
        ...

    async def signed_put(self, key: str, size: int, *, expires: timedelta) -> SignedPut | None:
        """Where anybody may put an object of this size until then; None where there is no such.

        Not every store refuses other sizes: who asked for it looks at what came.
        """
        ...

    async def fullness(self) -> float | None:
        """How full the store is, from 0 to 1; None where that means nothing."""
        ...

    async def close(self) -> None:
        """Let go of its connections."""
        ...
