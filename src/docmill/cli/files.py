"""Files that commands write: whole or not at all."""

import hashlib
import os
import secrets
import stat
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from docmill.core.documents import clean_filename
from docmill.core.plugins import DOCX, PDF, TEXT
from docmill.core.texts import clean_text


@contextmanager
def write_whole(path: Path, *, mode: int = 0o666) -> Generator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends well."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(fd)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


class UnreadableFileError(Exception):
    """Why a path can't be read, in a sentence."""


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A file open for reading. Its place is the start whenever nobody reads."""

    path: Path
    fd: int
    size: int

    @property
    def filename(self) -> str:
        return clean_filename(self.path.name)

    def head(self, length: int) -> bytes:
        return os.pread(self.fd, length, 0)

    def tail(self, length: int) -> bytes:
        return os.pread(self.fd, length, max(0, os.fstat(self.fd).st_size - length))

    def sha256(self) -> str:
        """Raises UnreadableFileError when the disk fails."""
        try:
            with os.fdopen(self.fd, "rb", closefd=False) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.lseek(self.fd, 0, os.SEEK_SET)
        except OSError as exc:
            raise UnreadableFileError(f"can't be read: {exc.strerror}.") from exc
        return digest


@contextmanager
def open_document(path: Path) -> Generator[OpenDocument]:
    """Raises UnreadableFileError for no file, or one not ours to read. A pipe is not waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as exc:
        raise UnreadableFileError(f"can't be opened: {exc.strerror}.") from exc
    try:
        facts = os.fstat(fd)
        if stat.S_ISDIR(facts.st_mode):
            raise UnreadableFileError("is a folder.")
        if not stat.S_ISREG(facts.st_mode):
            raise UnreadableFileError("is not a file.")
        yield OpenDocument(path, fd, facts.st_size)
    finally:
        os.close(fd)


# What files in a folder are taken for, by their names; docmill looks at the content itself.
ENDINGS: Final = {".pdf": PDF, ".docx": DOCX, ".txt": TEXT}


def list_documents(given: Iterable[Path], endings: Collection[str]) -> tuple[list[Path], int]:
    """The files named, and those of folders that end so; and how many others folders have."""
    files: list[Path] = []
    skipped = 0
    for path in given:
        if not path.is_dir():
            files.append(path)
            continue
        for found in _walk(path):
            if found.suffix.lower() in endings:
                files.append(found)
            else:
                skipped += 1
    return files, skipped


def _walk(folder: Path) -> Iterator[Path]:
    """Every file below, in order; hidden ones are somebody else's, and links lead in circles."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place, name)


def printable_path(path: Path | str) -> str:
    """A path as a terminal may show it."""
    return clean_text(str(path))
