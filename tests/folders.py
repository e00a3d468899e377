"""Folders for what tests throw away: in memory, where there is room, for a disk is slow to sync."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")
_ROOM: Final = 2 << 30


def quick() -> Path:
    """Where such folders are made. pytest's own are too deep for the path of a socket."""
    roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
    return _MEMORY if roomy else Path("/tmp")


@contextmanager
def quick_folder(prefix: str) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"docmill-{prefix}-", dir=quick()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
