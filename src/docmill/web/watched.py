"""The watched bucket as the web knows it: whose it is, and a way to count it now."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import structlog

from docmill.core.faults import FAULTS, Faulted
from docmill.core.owners import Owner, may_see
from docmill.db.bucket_counts import Count
from docmill.db.pool import OUTAGES

log = structlog.get_logger()

# A count of a large archive goes on after this; whoever asked for it sees the page meanwhile.
PATIENCE: Final = timedelta(seconds=10)

Counting = Callable[[], Awaitable[list[Count]]]


@dataclass(slots=True)
class Watched:
    """`count` is None where no bucket is watched. There is one count at a time."""

    desk: Owner
    count: Counting | None = None
    place: str = ""
    _task: asyncio.Task[None] | None = field(default=None, repr=False)
    _fault: str | None = None

    @property
    def counting(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def fault(self) -> str | None:
        """Why the last count asked for here came to nothing."""
        return None if self.counting else self._fault

    def is_seen_by(self, owner: Owner) -> bool:
        """What came by the bucket is its desk's, and so is how much came."""
        return may_see(owner, self.desk.key)

    def check(self, owner: Owner) -> None:
        if not self.is_seen_by(owner):
            raise Faulted("FORBIDDEN")

    async def count_now(self) -> None:
        """Count, or wait for the count that is under way; not for ever."""
        if self.count is None:
            raise Faulted("NOT_FOUND", "no bucket is watched")
        if not self.counting:
            self._task = asyncio.create_task(self._counted(self.count))
        assert self._task is not None
        await asyncio.wait({self._task}, timeout=PATIENCE.total_seconds())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _counted(self, count: Counting) -> None:
        self._fault = FAULTS["UNKNOWN"].says
        try:
            await count()
        except Faulted as exc:
            log.warning("bucket.not_counted", code=exc.fault.code, detail=exc.detail)
            self._fault = exc.fault.says
        except OUTAGES as exc:
            log.warning("bucket.not_counted", error=type(exc).__name__)
            self._fault = FAULTS["DATABASE_DOWN"].says
        else:
            self._fault = None


def counted_at(counts: list[Count]) -> datetime | None:
    """The prefixes are counted one after another: the oldest tells how old the whole is."""
    return min((count.counted_at for count in counts if count.counted_at), default=None)


def total(counts: list[Count]) -> Count:
    """All prefixes together."""
    names = ("objects", "done", "failed", "waiting", "unknown", "missing")
    sums = {name: sum(getattr(count, name) for count in counts) for name in names}
    return Count("all", **sums, counted_at=counted_at(counts))
