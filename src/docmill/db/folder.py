"""A data folder has one owner at a time."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from docmill.core.faults import Told


class FolderTaken(Told):
    """Another docmill is at work in the folder."""


@contextmanager
def hold(folder: Path) -> Generator[None]:
    """Be the one owner of a data folder until the block ends or the process dies."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "docmill.lock").open("a+") as lock:
        # A forked child would keep the lock after our death.
        os.register_at_fork(after_in_child=lock.close)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            lock.seek(0)
            raise FolderTaken(
                f"The folder {folder} is in use by another docmill, process {lock.read().strip()}."
                "\nStop that process, or choose another data folder with --data."
            ) from exc
        lock.truncate(0)
        os.write(lock.fileno(), f"{os.getpid()}\n".encode())
        yield
