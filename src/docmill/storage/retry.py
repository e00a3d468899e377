"""Calls to a store that may be repeated: run in a thread, tried three times, then a fault."""

import asyncio
import errno
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from docmill.core.faults import DocmillError

P = ParamSpec("P")
T = TypeVar("T")

TRIES: Final = 3
FIRST_WAIT: Final = 1.0
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
# What is so at every try: waiting does not shorten a name.
LASTING: Final = FULL | {
    errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EACCES, errno.EPERM,
    errno.EINVAL, errno.ENXIO, errno.EROFS,
}  # fmt: skip


class StoreError(OSError):
    """What an adapter makes of its library's exceptions; the library's own is its cause."""


async def call_with_retries(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Three tries, the waits growing. What is missing or full is so at every try."""
    wait = FIRST_WAIT
    for left in reversed(range(TRIES)):
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except OSError as exc:
            if not left or exc.errno in LASTING or isinstance(exc, FileNotFoundError):
                raise as_fault(exc) from exc
        await asyncio.sleep(wait)
        wait *= 2
    raise AssertionError("unreachable")


def as_fault(exc: OSError) -> DocmillError:
    """The detail is for logs: what happened, without the names of files."""
    what = str(exc) if exc.errno is None else f"{errno.errorcode.get(exc.errno)}: {exc.strerror}"
    if exc.errno in FULL:
        return DocmillError("DISK_FULL", what, retryAfter=60)
    if isinstance(exc, FileNotFoundError):
        return DocmillError("EXPIRED", "no such key in the store")
    return DocmillError("IO_ERROR", what, retryAfter=60)
