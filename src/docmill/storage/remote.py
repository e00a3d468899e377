"""Stores over the network. What they share is here; a driver speaks to one kind of them.

Bytes on their way pass through unnamed local files: a try can be repeated, memory stays flat, and
what is given up half-way has never been in the bucket.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, Protocol, cast

import httpx2

from docmill.storage.contract import CHUNK, Metadata, ObjectInfo, SignedPut, Writer
from docmill.storage.retry import StoreError, as_fault, call_with_retries

FETCH: Final = timedelta(minutes=10)
TIMEOUT: Final = httpx2.Timeout(60, connect=5)


class Driver(Protocol):
    """Plain blocking calls. They raise OSError; FileNotFoundError for what is not there."""

    @property
    def name(self) -> str: ...
    def put(self, key: str, file: BinaryIO, metadata: Metadata) -> None: ...
    def create(self, key: str, data: bytes) -> bool: ...
    def head(self, key: str) -> ObjectInfo | None: ...
    def read(self, key: str) -> Iterator[bytes]: ...
    def delete(self, key: str) -> None: ...
    def copy(self, stored: ObjectInfo, to: str, metadata: Metadata) -> None:
        """FileNotFoundError when that generation is not there any more."""
        ...

    def remove(self, stored: ObjectInfo) -> None:
        """Delete this generation; a newer one stays."""
        ...

    def pages(self, prefix: str, after: str) -> Iterator[list[ObjectInfo]]: ...
    def sign(self, key: str, expires: timedelta) -> str | None: ...
    def sign_put(self, key: str, size: int, expires: timedelta) -> SignedPut | None: ...
    def close(self) -> None: ...


class RemoteStore:
    """A store through its driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver: Driver = driver
        self._web: httpx2.Client = httpx2.Client(timeout=TIMEOUT)

    @property
    def name(self) -> str:
        return self._driver.name

    async def writer(self, key: str, *, metadata: Metadata | None = None) -> Writer:
        return RemoteWriter(self._driver, key, metadata or {}, await call_with_retries(open_spool))

    async def put(self, key: str, data: bytes, *, metadata: Metadata | None = None) -> None:
        await call_with_retries(send, self._driver, key, BytesIO(data), metadata or {})

    async def create(self, key: str, data: bytes) -> bool:
        return await call_with_retries(self._driver.create, key, data)

    async def head(self, key: str) -> ObjectInfo | None:
        return await call_with_retries(self._driver.head, key)

    async def file(self, key: str) -> BinaryIO:
        """Fetched through a signed address where there is one, as anybody without our rights."""
        return await call_with_retries(self._fetch, key)

    def _fetch(self, key: str) -> BinaryIO:
        url = self._driver.sign(key, FETCH)
        return spool_chunks(self._download(url) if url else self._driver.read(key))

    def _download(self, url: str) -> Iterator[bytes]:
        try:
            with self._web.stream("GET", url) as answer:
                if answer.status_code == 404:
                    raise FileNotFoundError("no such key in the store")
                answer.raise_for_status()
                yield from answer.iter_bytes(CHUNK)
        except httpx2.HTTPStatusError as exc:  # its text would hold the signature
            raise StoreError(f"a signed address answered {exc.response.status_code}") from None
        except httpx2.TransportError as exc:
            raise StoreError(f"a signed address failed: {type(exc).__name__}") from None

    async def chunks(self, key: str) -> AsyncIterator[bytes]:
        chunks = self._driver.read(key)
        first = await call_with_retries(next, chunks, b"")
        yield first
        while chunk := await _read_next(chunks):
            yield chunk

    async def delete(self, key: str) -> None:
        await call_with_retries(self._driver.delete, key)

    async def move(self, stored: ObjectInfo, to: str, *, metadata: Metadata | None = None) -> bool:
        return await call_with_retries(self._move, stored, to, metadata or {})

    def _move(self, stored: ObjectInfo, to: str, metadata: Metadata) -> bool:
        """Copy, look, remove: at every moment the object is in at least one of the two places."""
        if self._driver.head(to) is None:
            try:
                self._driver.copy(stored, to, metadata)
            except FileNotFoundError:
                return self._driver.head(to) is not None
            copied = self._driver.head(to)
            if copied is None or copied.bytes != stored.bytes:
                self._driver.delete(to)
                raise StoreError("the copy is not what was copied")
        self._driver.remove(stored)
        return True

    async def pages(self, prefix: str) -> AsyncIterator[list[ObjectInfo]]:
        listing = ResumableListing(self._driver, prefix)
        while page := await call_with_retries(listing.next_page):
            yield page

    async def is_complete(self, stored: ObjectInfo) -> bool:
        return True

    async def is_readable(self, stored: ObjectInfo) -> bool:
        return True

    async def signed_url(self, key: str, *, expires: timedelta) -> str | None:
        return await call_with_retries(self._driver.sign, key, expires)

    async def signed_put(self, key: str, size: int, *, expires: timedelta) -> SignedPut | None:
        return await call_with_retries(self._driver.sign_put, key, size, expires)

    async def fullness(self) -> None:
        """Others care for their space."""

    async def close(self) -> None:
        self._web.close()
        self._driver.close()


class ResumableListing:
    """A listing that goes on after the last key it has seen when it is interrupted."""

    def __init__(self, driver: Driver, prefix: str) -> None:
        self._driver: Driver = driver
        self._prefix: str = prefix
        self._after: str = ""
        self._pages: Iterator[list[ObjectInfo]] | None = None

    def next_page(self) -> list[ObjectInfo]:
        if self._pages is None:
            self._pages = self._driver.pages(self._prefix, self._after)
        try:
            page = next(self._pages, list[ObjectInfo]())
        except OSError:
            self._pages = None
            raise
        if page:
            self._after = page[-1].key
        return page


class RemoteWriter:
    """Keeps what is written in an unnamed local file and sends it with `commit`."""

    def __init__(self, driver: Driver, key: str, metadata: Metadata, file: BinaryIO) -> None:
        self._driver: Driver = driver
        self._key: str = key
        self._metadata: Metadata = metadata
        self._file: BinaryIO = file

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        try:
            await asyncio.to_thread(self._file.write, chunk)
        except OSError as exc:
            raise as_fault(exc) from exc

    async def commit(self) -> None:
        await call_with_retries(send, self._driver, self._key, self._file, self._metadata)
        self._file.close()

    async def abort(self) -> None:
        self._file.close()


def send(driver: Driver, key: str, file: BinaryIO, metadata: Metadata) -> None:
    file.seek(0)
    try:
        driver.put(key, file, metadata)
    except FileNotFoundError as exc:
        raise StoreError(f"{driver.name} is not there") from exc


def open_spool() -> BinaryIO:
    return cast(BinaryIO, tempfile.TemporaryFile(prefix="docmill-"))


def spool_chunks(chunks: Iterator[bytes]) -> BinaryIO:
    """An unnamed file with these bytes, open for reading alone, as a child may have it."""
    with tempfile.NamedTemporaryFile(prefix="docmill-") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        return Path(file.name).open("rb")  # its name goes, it stays


async def _read_next(chunks: Iterator[bytes]) -> bytes:
    """The next bytes of a stream that cannot be read a second time."""
    try:
        return await asyncio.to_thread(next, chunks, b"")
    except OSError as exc:
        raise as_fault(exc) from exc
