"""Where the object of a bucket lies on its way, and the store that finds it wherever it is now.

incoming/… -> processing/{id}.pdf -> archive/{YYYY}/{MM}/{id}.pdf or failed/{YYYY}/{MM}/{id}.pdf
"""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import PurePosixPath
from typing import BinaryIO, Final
from uuid import UUID

from docmill.core.documents import parse_object_key
from docmill.core.faults import DocmillError
from docmill.db.pool import Pool, read_connection
from docmill.documents import buckets
from docmill.documents.buckets import BucketObject
from docmill.storage import open_store
from docmill.storage.contract import Metadata, ObjectInfo, SignedPut, Store, Writer

INCOMING: Final = "incoming"
PROCESSING: Final = "processing"
ARCHIVE: Final = "archive"
FAILED: Final = "failed"
PREFIXES: Final = (INCOMING, PROCESSING, ARCHIVE, FAILED)
# An object that moves between the look at its row and the opening is found by the next look.
LOOKS: Final = 3


def processing_key(each: BucketObject) -> str:
    return f"{PROCESSING}/{each.id}.pdf"


def filed_key(each: BucketObject, prefix: str) -> str:
    """By the month it came in, so that a repeated step finds the same place."""
    return f"{prefix}/{each.registered_at:%Y/%m}/{each.id}{file_ending(each.key)}"


def file_ending(key: str) -> str:
    """Of a name, where it is a short and plain one."""
    ending = PurePosixPath(last_part(key)).suffix.lower()
    plain = ending[1:].isalnum() and ending.isascii() and len(ending) <= 9
    return ending if plain else ""


def last_part(key: str) -> str:
    return key.rpartition("/")[2]


def list_places(each: BucketObject) -> list[str]:
    """Where an admitted object may lie, first where its row says: a row learns of a move after it.

    Never where it came in: another generation may have come there since.
    """
    known = [processing_key(each), filed_key(each, ARCHIVE), filed_key(each, FAILED)]
    return [*(key for key in known if key == each.place), *(k for k in known if k != each.place)]


class PlacedStore:
    """Our own store, through which the originals in watched buckets are read as well.

    An original that came by a bucket is stored once: there. Its key here names its row, and the
    row says where it lies. Nothing is ever written, moved or deleted there by this class.
    """

    def __init__(self, own: Store, pool: Pool, buckets: Sequence[str] = ()) -> None:
        """`buckets` are the addresses of those that are watched, with their options."""
        self._own: Store = own
        self._pool: Pool = pool
        self._addresses: Sequence[str] = buckets
        self._opened: dict[str, Store] = {}

    @property
    def name(self) -> str:
        return self._own.name

    async def file(self, key: str) -> BinaryIO:
        document_id = parse_object_key(key)
        if document_id is None:
            return await self._own.file(key)
        for _ in range(LOOKS):
            if found := await self._open_file(document_id):
                return found
        raise DocmillError("EXPIRED", "the object is nowhere in its bucket")

    async def _open_file(self, document_id: UUID) -> BinaryIO | None:
        async for store, place in self._look_for(document_id):
            try:
                return await store.file(place)
            except DocmillError as exc:
                if exc.fault.code != "EXPIRED":
                    raise
        return None

    async def head(self, key: str) -> ObjectInfo | None:
        document_id = parse_object_key(key)
        if document_id is None:
            return await self._own.head(key)
        async for store, place in self._look_for(document_id):
            if found := await store.head(place):
                return found
        return None

    async def chunks(self, key: str) -> AsyncIterator[bytes]:
        if parse_object_key(key) is None:
            async for chunk in self._own.chunks(key):
                yield chunk
            return
        with await self.file(key) as file:
            while chunk := file.read(1 << 20):
                yield chunk

    async def signed_url(self, key: str, *, expires: timedelta) -> str | None:
        """The bucket's own address only for what is archived: anything else may still move."""
        document_id = parse_object_key(key)
        if document_id is None:
            return await self._own.signed_url(key, expires=expires)
        async for store, place in self._look_for(document_id):
            filed = place.startswith(f"{ARCHIVE}/") and await store.head(place) is not None
            return await store.signed_url(place, expires=expires) if filed else None
        return None

    async def signed_put(self, key: str, size: int, *, expires: timedelta) -> SignedPut | None:
        return await self._own.signed_put(key, size, expires=expires)

    async def delete(self, key: str) -> None:
        """An archive is for good: what came by a bucket stays there."""
        if parse_object_key(key) is None:
            await self._own.delete(key)

    async def _look_for(self, document_id: UUID) -> AsyncIterator[tuple[Store, str]]:
        async with read_connection(self._pool) as conn:
            found = await buckets.find_placed(conn, document_id)
        if found is not None:
            store = self._open(found.bucket)
            for place in list_places(found.object):
                yield store, place

    def _open(self, bucket: str) -> Store:
        """By its name, which is its address without options; those are told by the settings."""
        if not self._opened:
            stores = [open_store(address) for address in self._addresses]
            self._opened = {store.name: store for store in stores}
        if bucket not in self._opened:
            self._opened[bucket] = open_store(bucket)
        return self._opened[bucket]

    async def writer(self, key: str, *, metadata: Metadata | None = None) -> Writer:
        return await self._own.writer(key, metadata=metadata)

    async def put(self, key: str, data: bytes, *, metadata: Metadata | None = None) -> None:
        await self._own.put(key, data, metadata=metadata)

    async def create(self, key: str, data: bytes) -> bool:
        return await self._own.create(key, data)

    async def move(self, stored: ObjectInfo, to: str, *, metadata: Metadata | None = None) -> bool:
        return await self._own.move(stored, to, metadata=metadata)

    async def pages(self, prefix: str) -> AsyncIterator[list[ObjectInfo]]:
        async for page in self._own.pages(prefix):
            yield page

    async def is_complete(self, stored: ObjectInfo) -> bool:
        return await self._own.is_complete(stored)

    async def is_readable(self, stored: ObjectInfo) -> bool:
        return await self._own.is_readable(stored)

    async def fullness(self) -> float | None:
        return await self._own.fullness()

    async def close(self) -> None:
        for store in self._opened.values():
            await store.close()
        await self._own.close()
