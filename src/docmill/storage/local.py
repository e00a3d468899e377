"""A store in a local folder: written unnamed or under tmp/, synced, then linked to its key."""

import asyncio
import errno
import functools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, ParamSpec, TypeVar

from docmill.core.faults import Faulted
from docmill.storage.contract import Stored, Writer

P = ParamSpec("P")
T = TypeVar("T")

TRIES: Final = 3
FIRST_WAIT: Final = 1.0
CHUNK: Final = 1 << 20
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


async def tried(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call that may be repeated in a thread: three tries, the waits growing."""
    wait = FIRST_WAIT
    for left in reversed(range(TRIES)):
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except OSError as exc:
            if not left or exc.errno in FULL or isinstance(exc, FileNotFoundError):
                raise _as_fault(exc) from exc
        await asyncio.sleep(wait)
        wait *= 2
    raise AssertionError("unreachable")


def _as_fault(exc: OSError) -> Faulted:
    if exc.errno in FULL:
        return Faulted("DISK_FULL", str(exc), retryAfter=60)
    if isinstance(exc, FileNotFoundError):
        return Faulted("EXPIRED", "no such key in the store")
    return Faulted("IO_ERROR", str(exc), retryAfter=60)


class LocalStore:
    """Holds nothing but its root."""

    def __init__(self, root: Path) -> None:
        self.root: Path = root.absolute()
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _path(self, key: str) -> Path:
        path = (self.root / key).absolute()
        if ".." in key or not path.is_relative_to(self.root) or path == self.root:
            raise ValueError(f"not a key: {key!r}")
        return path

    async def writer(self, key: str) -> Writer:
        path = self._path(key)
        return LocalWriter(path, await tried(_open_temporary, self.root))

    async def put(self, key: str, data: bytes) -> None:
        await tried(_put, self._path(key), self.root, data)

    async def size(self, key: str) -> int | None:
        path = self._path(key)
        return await tried(lambda: path.stat().st_size if path.exists() else None)

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
        await tried(functools.partial(self._path(key).unlink, missing_ok=True))

    async def walk(self, prefix: str) -> AsyncIterator[Stored]:
        folder = self._path(prefix)
        for path in await tried(lambda: sorted(p for p in folder.rglob("*") if p.is_file())):
            stat = await tried(path.stat)
            changed_at = datetime.fromtimestamp(stat.st_mtime, UTC)
            yield Stored(path.relative_to(self.root).as_posix(), stat.st_size, changed_at)

    async def fullness(self) -> float:
        usage = await tried(shutil.disk_usage, self.root)
        return usage.used / (usage.used + usage.free)


class LocalWriter:
    """A file without a name until it is committed, so that a crash leaves nothing behind."""

    def __init__(self, path: Path, temporary: "Temporary") -> None:
        self._path: Path = path
        self._temporary: Temporary = temporary

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        try:
            await asyncio.to_thread(_write_all, self._temporary.fd, chunk)
        except OSError as exc:
            raise _as_fault(exc) from exc

    async def commit(self) -> None:
        await tried(self._temporary.link, self._path)
        self._temporary.close()

    async def abort(self) -> None:
        self._temporary.close()


class Temporary:
    """An open file with no name, or one under tmp/ where the file system has no such thing."""

    def __init__(self, fd: int, path: str | None) -> None:
        self.fd: int = fd
        self._path: str | None = path

    def link(self, target: Path) -> None:
        os.fsync(self.fd)
        changed = _made(target.parent)
        source = self._path or f"/proc/self/fd/{self.fd}"
        try:
            # With a folder given, Python calls linkat(), which follows /proc/self/fd.
            os.link(source, target, src_dir_fd=self.fd, follow_symlinks=True)
        except FileExistsError:
            # A try before this one linked it and failed later; keys are never used twice.
            if not Path(target).samefile(source):
                raise
        for folder in changed:
            _sync(folder)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self._path:
            Path(self._path).unlink(missing_ok=True)
            self._path = None


def _open_temporary(root: Path) -> Temporary:
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        try:
            return Temporary(os.open(root, os.O_TMPFILE | os.O_RDWR, 0o600), None)
        except OSError as exc:
            if exc.errno not in {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL}:
                raise
    folder = root / "tmp"
    folder.mkdir(exist_ok=True, mode=0o700)
    return Temporary(*tempfile.mkstemp(dir=folder))


def _put(path: Path, root: Path, data: bytes) -> None:
    temporary = _open_temporary(root)
    try:
        _write_all(temporary.fd, data)
        temporary.link(path)
    finally:
        temporary.close()


def _write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _made(folder: Path) -> list[Path]:
    """Make the folder if need be; every folder that has a new name in it now or soon."""
    changed = [folder]
    while not changed[-1].exists():
        changed.append(changed[-1].parent)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return changed


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
