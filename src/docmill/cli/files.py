"""Files that commands write: whole or not at all."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: Path, *, mode: int = 0o666) -> Generator[BinaryIO]:
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
