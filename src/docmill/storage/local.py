"""A store in a local folder. Metadata lies beside a file: that of a.pdf in .a.pdf.json."""

import asyncio
import functools
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from os import stat_result
from pathlib import Path
from typing import BinaryIO

from docmill.storage import local_files
from docmill.storage.contract import CHUNK, PAGE, Metadata, Stored, Writer
from docmill.storage.local_files import Temporary
from docmill.storage.trying import as_fault, tried


class LocalStore:
    """Holds nothing but its root."""

    def __init__(self, root: Path) -> None:
        self.root: Path = root.absolute()
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def name(self) -> str:
        return self.root.as_uri()

    def _path(self, key: str) -> Path:
        path = (self.root / key).absolute()
        if ".." in key or not path.is_relative_to(self.root) or path == self.root:
            raise ValueError(f"not a key: {key!r}")
        return path

    async def writer(self, key: str, *, metadata: Metadata | None = None) -> Writer:
        path = self._path(key)
        temporary = await tried(local_files.open_temporary, self.root)
        return LocalWriter(path, temporary, self.root, metadata or {})

    async def put(self, key: str, data: bytes, *, metadata: Metadata | None = None) -> None:
        path = self._path(key)
        await tried(local_files.write_metadata, path, self.root, metadata or {})
        await tried(local_files.put, path, self.root, data, replace=True)

    async def create(self, key: str, data: bytes) -> bool:
        return await tried(self._create, self._path(key), data)

    def _create(self, path: Path, data: bytes) -> bool:
        try:
            local_files.put(path, self.root, data, replace=False)
        except FileExistsError:
            return False
        return True

    async def head(self, key: str) -> Stored | None:
        return await tried(self._head, self._path(key))

    def _head(self, path: Path) -> Stored | None:
        found = local_files.regular(path)
        return found and self._stored(path, found, local_files.read_metadata(path))

    def _stored(self, path: Path, found: stat_result, metadata: Metadata | None = None) -> Stored:
        changed_at = datetime.fromtimestamp(found.st_mtime, UTC)
        key, generation = path.relative_to(self.root).as_posix(), local_files.generation(found)
        return Stored(key, found.st_size, changed_at, generation, metadata)

    async def file(self, key: str) -> BinaryIO:
        return await tried(functools.partial(open, self._path(key), "rb"))

    async def chunks(self, key: str) -> AsyncIterator[bytes]:
        file = await self.file(key)
        try:
            while chunk := await tried(file.read, CHUNK):
                yield chunk
        finally:
            file.close()

    async def delete(self, key: str) -> None:
        path = self._path(key)
        await tried(functools.partial(path.unlink, missing_ok=True))
        await tried(functools.partial(local_files.sidecar(path).unlink, missing_ok=True))

    async def move(self, stored: Stored, to: str, *, metadata: Metadata | None = None) -> bool:
        return await tried(
            local_files.move,
            self._path(stored.key),
            self._path(to),
            self.root,
            only=stored.generation,
            metadata=metadata or {},
        )

    async def pages(self, prefix: str) -> AsyncIterator[list[Stored]]:
        files = local_files.walk(self._path(prefix))

        def page() -> list[Stored]:
            return [self._stored(path, found) for path, found in islice(files, PAGE)]

        while found := await tried(page):
            yield found

    async def is_complete(self, stored: Stored) -> bool:
        return await tried(local_files.is_quiet, self._path(stored.key))

    async def signed_url(self, key: str, *, expires: timedelta) -> None:
        """A folder has no addresses; the web part makes and serves its own."""

    async def fullness(self) -> float:
        usage = await tried(shutil.disk_usage, self.root)
        return usage.used / (usage.used + usage.free)

    async def close(self) -> None:
        """There is nothing to let go of."""


class LocalWriter:
    """A file without a name until it is committed, so that a crash leaves nothing behind."""

    def __init__(self, path: Path, temporary: Temporary, root: Path, metadata: Metadata) -> None:
        self._path: Path = path
        self._temporary: Temporary = temporary
        self._root: Path = root
        self._metadata: Metadata = metadata

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        try:
            await asyncio.to_thread(local_files.write_all, self._temporary.fd, chunk)
        except OSError as exc:
            raise as_fault(exc) from exc

    async def commit(self) -> None:
        if self._metadata:
            await tried(local_files.write_metadata, self._path, self._root, self._metadata)
        await tried(self._temporary.link, self._path, replace=True)
        self._temporary.close()

    async def abort(self) -> None:
        self._temporary.close()
