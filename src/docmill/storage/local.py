"""Files of a local store: written unnamed or under .tmp/, synced, then linked to their place."""

import asyncio
import errno
import fcntl
import functools
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from os import stat_result
from pathlib import Path
from typing import BinaryIO, Final

import structlog

from docmill.core.json_values import as_object
from docmill.storage.contract import CHUNK, PAGE, Metadata, ObjectInfo, Writer, merge_metadata
from docmill.storage.names import is_hidden, key_of, name_of
from docmill.storage.retry import as_fault, call_with_retries

log = structlog.get_logger()

# A file nobody holds open for writing is quiet after this; longer where that cannot be told.
QUIET_SECONDS: Final = 1.0
LONG_QUIET_SECONDS: Final = 5.0
LONGEST_SIDECAR: Final = 1 << 16
NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
# Of a name that can't be had at all, and of a link, a pipe, a file that is somebody else's.
NO_SIDECAR: Final = NOT_THERE | {errno.ENAMETOOLONG, errno.EISDIR, errno.EPERM}
UNREADABLE: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.ENAMETOOLONG}
)


class Temporary:
    """An open file with no name, or one under .tmp/ where the file system has no such thing."""

    def __init__(self, fd: int, path: str | None, folder: Path) -> None:
        self.fd: int = fd
        self._path: str | None = path
        self._folder: Path = folder

    def link(self, target: Path, *, replace: bool) -> None:
        """Give it its name. With `replace` one that is there already gives way."""
        os.fsync(self.fd)
        changed = _make_folder(target.parent)
        try:
            self._link(target)
        except FileExistsError:
            if not replace:
                raise
            spare = self._folder / f"{target.name}.{os.getpid()}.{time.monotonic_ns()}"
            self._folder.mkdir(exist_ok=True, mode=0o700)
            self._link(spare)
            spare.replace(target)
        for folder in changed:
            sync_folder(folder)

    def _link(self, target: Path) -> None:
        source = self._path or f"/proc/self/fd/{self.fd}"
        # With a folder given, Python calls linkat(), which follows /proc/self/fd.
        os.link(source, target, src_dir_fd=self.fd, follow_symlinks=True)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self._path:
            Path(self._path).unlink(missing_ok=True)
            self._path = None


def open_temporary(root: Path) -> Temporary:
    folder = root / ".tmp"
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        try:
            return Temporary(os.open(root, os.O_TMPFILE | os.O_RDWR, 0o600), None, folder)
        except OSError as exc:
            if exc.errno not in {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL}:
                raise
    folder.mkdir(exist_ok=True, mode=0o700)
    return Temporary(*tempfile.mkstemp(dir=folder), folder)


def put_file(path: Path, root: Path, data: bytes, *, replace: bool) -> None:
    temporary = open_temporary(root)
    try:
        write_all(temporary.fd, data)
        temporary.link(path, replace=replace)
    finally:
        temporary.close()


def write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def generation_of(found: os.stat_result) -> str:
    """A rename keeps it, every way of writing changes it."""
    return f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"


def modified_at(found: os.stat_result) -> datetime:
    """A file may bear any time at all; one that no calendar knows is as old as time itself."""
    try:
        return datetime.fromtimestamp(found.st_mtime, UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)


def stat_entry(path: Path) -> os.stat_result | None:
    """The stat of whatever has this name and is no folder; links are not followed."""
    try:
        found = path.lstat()
    except OSError as exc:
        if exc.errno in NOT_THERE:
            return None
        raise
    return None if stat.S_ISDIR(found.st_mode) else found


def open_plain(path: Path) -> BinaryIO:
    """A plain file, opened to be read. Links lead out of the store, and a pipe may wait for ever.

    A file without a name is no path: the descriptor is opened as it is.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a plain file")
    return os.fdopen(fd, "rb")


def _close_opened(opening: asyncio.Future[BinaryIO]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def is_readable_file(path: Path) -> bool:
    try:
        open_plain(path).close()
    except OSError as exc:
        if exc.errno in UNREADABLE:
            return False
        raise
    return True


def walk_files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """What lies below, in the order of the names; hidden things and folders are not listed.

    However deep: folders that wait stand in a list, not in calls within calls.
    """
    waiting = _list_folder(folder)
    while waiting:
        each = waiting.pop()
        if each.is_dir(follow_symlinks=False):
            waiting += _list_folder(Path(each.path))
        elif found := stat_entry(Path(each.path)):
            yield Path(each.path), found


def _list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """What is in one folder, the last name first; nothing where it can't be looked into."""
    try:
        with os.scandir(folder) as found:
            seen = [each for each in found if not is_hidden(each.name)]
    except OSError as exc:
        if exc.errno not in NOT_THERE:
            log.warning("folder.not_listed", error=exc.strerror)
        return []
    return sorted(seen, key=lambda each: each.name, reverse=True)


def sidecar_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.json")


def read_metadata(path: Path) -> dict[str, str]:
    """What the sidecar tells; one that cannot be read, or is too long, tells nothing."""
    with suppress(OSError, ValueError, RecursionError):
        with open_plain(sidecar_path(path)) as file:
            text = file.read(LONGEST_SIDECAR + 1)
        parsed = json.loads(text) if len(text) <= LONGEST_SIDECAR else None
        return {name: str(value) for name, value in as_object(parsed).items()}
    return {}


def write_metadata(path: Path, root: Path, metadata: Metadata) -> None:
    if metadata:
        put_file(sidecar_path(path), root, json.dumps(dict(metadata)).encode(), replace=True)
    else:
        remove_metadata(path)


def remove_metadata(path: Path) -> None:
    """A sidecar that is a folder, or whose name would be too long, is none."""
    try:
        sidecar_path(path).unlink()
    except OSError as exc:
        if exc.errno not in NO_SIDECAR:
            raise


def move_file(source: Path, target: Path, root: Path, *, only: str, metadata: Metadata) -> bool:
    """A rename. The target's sidecar is written before, the source's removed after."""
    found = stat_entry(source)
    if found is None or generation_of(found) != only:
        if found is None:
            remove_metadata(source)
        return stat_entry(target) is not None
    write_metadata(target, root, merge_metadata(read_metadata(source), metadata))
    touched = [source.parent, *_make_folder(target.parent)]
    # What is written over the source in this very moment moves with it, and no byte is lost.
    source.rename(target)
    remove_metadata(source)
    for folder in touched:
        sync_folder(folder)
    return True


def is_quiet(path: Path) -> bool:
    """Nobody writes it any more, as far as this system can tell."""
    found = stat_entry(path)
    if found is None:
        return False
    quiet = LONG_QUIET_SECONDS if (written := _is_open_for_writing(path)) is None else QUIET_SECONDS
    return not written and abs(time.time() - found.st_mtime) >= quiet


def _is_open_for_writing(path: Path) -> bool | None:
    """Linux lends a read lease on a file only while nobody has it open for writing."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as exc:
        return True if exc.errno == errno.EAGAIN else None
    finally:
        os.close(fd)
    return False


def _make_folder(folder: Path) -> list[Path]:
    """Make the folder if need be; every folder that has a new name in it now or soon."""
    changed = [folder]
    while not changed[-1].exists():
        changed.append(changed[-1].parent)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return changed


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


NO_NAMES: Final = frozenset({b"", b".", b".."})


class LocalStore:
    """Holds nothing but its root."""

    def __init__(self, root: Path) -> None:
        self.root: Path = root.absolute()
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def name(self) -> str:
        return self.root.as_uri()

    def _path(self, key: str) -> Path:
        """Inside the root, whatever the key: every part of it is the name of one file."""
        name = name_of(key)
        if b"\0" in name or any(part in NO_NAMES for part in name.split(b"/")):
            raise ValueError("not a key")
        return self.root / os.fsdecode(name)

    async def writer(self, key: str, *, metadata: Metadata | None = None) -> Writer:
        path = self._path(key)
        temporary = await call_with_retries(open_temporary, self.root)
        return LocalWriter(path, temporary, self.root, metadata or {})

    async def put(self, key: str, data: bytes, *, metadata: Metadata | None = None) -> None:
        path = self._path(key)
        await call_with_retries(write_metadata, path, self.root, metadata or {})
        await call_with_retries(put_file, path, self.root, data, replace=True)

    async def create(self, key: str, data: bytes) -> bool:
        return await call_with_retries(self._create, self._path(key), data)

    def _create(self, path: Path, data: bytes) -> bool:
        try:
            put_file(path, self.root, data, replace=False)
        except FileExistsError:
            return False
        return True

    async def head(self, key: str) -> ObjectInfo | None:
        return await call_with_retries(self._head, self._path(key))

    def _head(self, path: Path) -> ObjectInfo | None:
        found = stat_entry(path)
        return found and self._describe(path, found, read_metadata(path))

    def _describe(
        self, path: Path, found: stat_result, metadata: Metadata | None = None
    ) -> ObjectInfo:
        changed_at = modified_at(found)
        key = key_of(os.fsencode(path.relative_to(self.root)))
        return ObjectInfo(key, found.st_size, changed_at, generation_of(found), metadata)

    async def file(self, key: str) -> BinaryIO:
        """Who is cancelled meanwhile leaves no file open."""
        opening = asyncio.ensure_future(call_with_retries(open_plain, self._path(key)))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_opened)
            raise

    async def chunks(self, key: str) -> AsyncIterator[bytes]:
        file = await self.file(key)
        try:
            while chunk := await call_with_retries(file.read, CHUNK):
                yield chunk
        finally:
            file.close()

    async def delete(self, key: str) -> None:
        path = self._path(key)
        await call_with_retries(functools.partial(path.unlink, missing_ok=True))
        await call_with_retries(remove_metadata, path)

    async def move(self, stored: ObjectInfo, to: str, *, metadata: Metadata | None = None) -> bool:
        return await call_with_retries(
            move_file,
            self._path(stored.key),
            self._path(to),
            self.root,
            only=stored.generation,
            metadata=metadata or {},
        )

    async def pages(self, prefix: str) -> AsyncIterator[list[ObjectInfo]]:
        files = walk_files(self._path(prefix) if prefix else self.root)

        def page() -> list[ObjectInfo]:
            return [self._describe(path, found) for path, found in islice(files, PAGE)]

        while found := await call_with_retries(page):
            yield found

    async def is_complete(self, stored: ObjectInfo) -> bool:
        return await call_with_retries(is_quiet, self._path(stored.key))

    async def is_readable(self, stored: ObjectInfo) -> bool:
        return await call_with_retries(is_readable_file, self._path(stored.key))

    async def signed_url(self, key: str, *, expires: timedelta) -> None:
        """A folder has no addresses; the web part makes and serves its own."""

    async def signed_put(self, key: str, size: int, *, expires: timedelta) -> None:
        """The same goes for what is put there."""

    async def fullness(self) -> float:
        usage = await call_with_retries(shutil.disk_usage, self.root)
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
            await asyncio.to_thread(write_all, self._temporary.fd, chunk)
        except OSError as exc:
            raise as_fault(exc) from exc

    async def commit(self) -> None:
        if self._metadata:
            await call_with_retries(write_metadata, self._path, self._root, self._metadata)
        await call_with_retries(self._temporary.link, self._path, replace=True)
        self._temporary.close()

    async def abort(self) -> None:
        self._temporary.close()
