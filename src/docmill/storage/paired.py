"""Two stores as one, for as long as objects are moved from one to the other."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import BinaryIO, TypeVar

from docmill.core.faults import DocmillError
from docmill.storage.contract import PAGE, Metadata, ObjectInfo, SignedPut, Store, Writer

T = TypeVar("T")


class PairedStore:
    """Writes go to `first`; what is read may lie in either, and may move while it is looked for."""

    def __init__(self, first: Store, also: Store) -> None:
        self._first: Store = first
        self._also: Store = also
        # What goes over from `also` to `first` between two looks is found by the third.
        self._looks: tuple[Store, Store, Store] = (first, also, first)

    @property
    def name(self) -> str:
        return self._first.name

    async def writer(self, key: str, *, metadata: Metadata | None = None) -> Writer:
        return await self._first.writer(key, metadata=metadata)

    async def put(self, key: str, data: bytes, *, metadata: Metadata | None = None) -> None:
        await self._first.put(key, data, metadata=metadata)

    async def create(self, key: str, data: bytes) -> bool:
        return await self._also.head(key) is None and await self._first.create(key, data)

    async def head(self, key: str) -> ObjectInfo | None:
        for store in self._looks:
            if found := await store.head(key):
                return found
        return None

    async def file(self, key: str) -> BinaryIO:
        return await self._read(lambda store: store.file(key))

    async def chunks(self, key: str) -> AsyncIterator[bytes]:
        begun, first = await self._read(lambda store: _begin(store.chunks(key)))
        yield first
        async for chunk in begun:
            yield chunk

    async def _read(self, read: Callable[[Store], Awaitable[T]]) -> T:
        missing: DocmillError | None = None
        for store in self._looks:
            try:
                return await read(store)
            except DocmillError as exc:
                if exc.fault.code != "EXPIRED":
                    raise
                missing = exc
        assert missing is not None
        raise missing

    async def delete(self, key: str) -> None:
        """Whichever way it moves meanwhile, it is deleted where it comes from before where it goes.

        Who moves it looks once more where it came from, and takes a copy of nothing back.
        """
        for store in (self._also, self._first, self._also):
            await store.delete(key)

    async def move(self, stored: ObjectInfo, to: str, *, metadata: Metadata | None = None) -> bool:
        return await self._first.move(stored, to, metadata=metadata) or await self._also.move(
            stored, to, metadata=metadata
        )

    async def pages(self, prefix: str) -> AsyncIterator[list[ObjectInfo]]:
        """What lies in both is listed once, as it is in `first`."""
        page: list[ObjectInfo] = []
        async for stored in _merge(self._first.pages(prefix), self._also.pages(prefix)):
            page.append(stored)
            if len(page) == PAGE:
                yield page
                page = []
        if page:
            yield page

    async def is_complete(self, stored: ObjectInfo) -> bool:
        return await (await self._holder(stored)).is_complete(stored)

    async def is_readable(self, stored: ObjectInfo) -> bool:
        return await (await self._holder(stored)).is_readable(stored)

    async def _holder(self, stored: ObjectInfo) -> Store:
        return self._first if await self._first.head(stored.key) else self._also

    async def signed_url(self, key: str, *, expires: timedelta) -> None:
        """None: an address in one store would end when the object goes to the other."""

    async def signed_put(self, key: str, size: int, *, expires: timedelta) -> SignedPut | None:
        return await self._first.signed_put(key, size, expires=expires)

    async def fullness(self) -> float | None:
        return await self._first.fullness()

    async def close(self) -> None:
        await self._first.close()
        await self._also.close()


async def _begin(chunks: AsyncIterator[bytes]) -> tuple[AsyncIterator[bytes], bytes]:
    """A stream that is known to be there: it, and its first bytes."""
    return chunks, await anext(chunks, b"")


async def _merge(
    first: AsyncIterator[list[ObjectInfo]], also: AsyncIterator[list[ObjectInfo]]
) -> AsyncIterator[ObjectInfo]:
    ours, theirs = _flatten(first), _flatten(also)
    mine, other = await anext(ours, None), await anext(theirs, None)
    while mine or other:
        if mine and (other is None or mine.key <= other.key):
            if other and other.key == mine.key:
                other = await anext(theirs, None)
            yield mine
            mine = await anext(ours, None)
        elif other:
            yield other
            other = await anext(theirs, None)


async def _flatten(pages: AsyncIterator[list[ObjectInfo]]) -> AsyncIterator[ObjectInfo]:
    async for page in pages:
        for stored in page:
            yield stored
