"""Files of a local store: written unnamed or under .tmp/, synced, then linked to their place."""

import errno
import fcntl
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from docmill.storage.contract import Metadata, changed

# A file nobody holds open for writing is quiet after this; longer where that cannot be told.
QUIET_SECONDS: Final = 1.0
LONG_QUIET_SECONDS: Final = 5.0


class Temporary:
    """An open file with no name, or one under .tmp/ where the file system has no such thing."""

    def __init__(self, fd: int, path: str | None, folder: Path) -> None:
        self.fd: int = fd
        self._path: str | None = path
        self._folder: Path = folder

    def link(self, target: Path, *, replace: bool) -> None:
        """Give it its name. With `replace` one that is there already gives way."""
        os.fsync(self.fd)
        changed = _made(target.parent)
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
            sync(folder)

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


def put(path: Path, root: Path, data: bytes, *, replace: bool) -> None:
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


def generation(found: os.stat_result) -> str:
    """A rename keeps it, every way of writing changes it."""
    return f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"


def regular(path: Path) -> os.stat_result | None:
    """Its stat, if it is a plain file: links are not followed out of the store."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The plain files below, in the order of their names; hidden ones are not there."""
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(base, name)
            if found := regular(path):
                yield path, found


def sidecar(path: Path) -> Path:
    return path.with_name(f".{path.name}.json")


def read_metadata(path: Path) -> dict[str, str]:
    """What the sidecar tells; one that cannot be read tells nothing."""
    with suppress(FileNotFoundError, ValueError):
        told = json.loads(sidecar(path).read_text("utf-8"))
        if isinstance(told, dict):
            return {str(name): str(value) for name, value in told.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return {}


def write_metadata(path: Path, root: Path, metadata: Metadata) -> None:
    if metadata:
        put(sidecar(path), root, json.dumps(dict(metadata)).encode(), replace=True)
    else:
        sidecar(path).unlink(missing_ok=True)


def move(source: Path, target: Path, root: Path, *, only: str, metadata: Metadata) -> bool:
    """A rename. The target's sidecar is written before, the source's removed after."""
    found = regular(source)
    if found is None or generation(found) != only:
        if found is None:
            sidecar(source).unlink(missing_ok=True)
        return regular(target) is not None
    write_metadata(target, root, changed(read_metadata(source), metadata))
    touched = [source.parent, *_made(target.parent)]
    # What is written over the source in this very moment moves with it, and no byte is lost.
    source.rename(target)
    sidecar(source).unlink(missing_ok=True)
    for folder in touched:
        sync(folder)
    return True


def is_quiet(path: Path) -> bool:
    """Nobody writes it any more, as far as this system can tell."""
    found = regular(path)
    if found is None:
        return False
    quiet = LONG_QUIET_SECONDS if (written := _open_for_writing(path)) is None else QUIET_SECONDS
    return not written and abs(time.time() - found.st_mtime) >= quiet


def _open_for_writing(path: Path) -> bool | None:
    """Linux lends a read lease on a file only while nobody has it open for writing."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
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


def _made(folder: Path) -> list[Path]:
    """Make the folder if need be; every folder that has a new name in it now or soon."""
    changed = [folder]
    while not changed[-1].exists():
        changed.append(changed[-1].parent)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return changed


def sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
