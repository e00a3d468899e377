"""The watched buckets as the web knows them: whose each is, and a way to count it now."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import structlog

from docmill.core.documents import BUCKET, clean_filename
from docmill.core.faults import FAULTS, DocmillError
from docmill.core.owners import Owner, may_see
from docmill.core.texts import strip_invisible
from docmill.db import wall
from docmill.db.pool import OUTAGES, Pool, read_connection
from docmill.documents import buckets
from docmill.documents.buckets import BucketCount, BucketObjectRow
from docmill.storage.names import display_name
from docmill.web import params
from docmill.web.params import Cursor

log = structlog.get_logger()

# A count of a large archive goes on after this; whoever asked for it sees the page meanwhile.
PATIENCE: Final = timedelta(seconds=10)

Counting = Callable[[], Awaitable[list[BucketCount]]]


@dataclass(slots=True)
class WatchedBucket:
    """`count` is None where no bucket is watched. There is one count at a time."""

    desk: Owner
    count: Counting | None = None
    place: str = ""
    source: str = BUCKET
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

    async def count_now(self) -> None:
        """Count, or wait for the count that is under way; not for ever."""
        if self.count is None:
            raise DocmillError("NOT_FOUND", "no bucket is watched")
        if not self.counting:
            self._task = asyncio.create_task(self._run_count(self.count))
        assert self._task is not None
        await asyncio.wait({self._task}, timeout=PATIENCE.total_seconds())

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait({self._task})

    async def _run_count(self, count: Counting) -> None:
        self._fault = FAULTS["UNKNOWN"].says
        try:
            with wall.beyond():
                await count()
        except DocmillError as exc:
            log.warning("bucket.not_run_count", code=exc.fault.code, detail=exc.detail)
            self._fault = exc.fault.says
        except OUTAGES as exc:
            log.warning("bucket.not_run_count", error=type(exc).__name__)
            self._fault = FAULTS["DATABASE_DOWN"].says
        else:
            self._fault = None


@dataclass(frozen=True, slots=True)
class WatchedBuckets:
    """All of them; at least one, which may be none in truth."""

    buckets: tuple[WatchedBucket, ...]

    def seen_by(self, owner: Owner) -> list[WatchedBucket]:
        return [one for one in self.buckets if one.is_seen_by(owner)]

    def find(self, owner: Owner, source: str = "") -> WatchedBucket:
        """The one of this name, or the first that the asker may see."""
        seen = self.seen_by(owner)
        if not seen:
            raise DocmillError("FORBIDDEN")
        found = [one for one in seen if source in {"", one.source}]
        if not found:
            raise DocmillError("NOT_FOUND", source=strip_invisible(source)[:64])
        return found[0]

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for one in self.buckets:
                await stack.enter_async_context(one.running())
            yield


def find_oldest_count(counts: list[BucketCount]) -> datetime | None:
    """The prefixes are counted one after another: the oldest tells how old the whole is."""
    return min((count.counted_at for count in counts if count.counted_at), default=None)


def sum_counts(counts: list[BucketCount]) -> BucketCount:
    """All prefixes together."""
    names = ("objects", "done", "failed", "waiting", "unknown", "missing")
    sums = {name: sum(getattr(count, name) for count in counts) for name in names}
    return BucketCount("all", **sums, counted_at=find_oldest_count(counts))


@dataclass(frozen=True, slots=True)
class ObjectLine:
    """An object of the list, its names cleaned for showing."""

    row: BucketObjectRow

    @property
    def key(self) -> str:
        return strip_invisible(display_name(self.row.key))

    @property
    def place(self) -> str:
        return strip_invisible(display_name(self.row.place))

    @property
    def filename(self) -> str:
        return clean_filename(display_name(self.row.key))


async def list_objects(
    pool: Pool, asker: Owner, *, state: str | None, cursor: str | None, limit: int
) -> tuple[list[ObjectLine], str | None]:
    """A page of objects, and where the next page begins if there is one."""
    after = params.parse_cursor(cursor) if cursor else None
    async with read_connection(pool) as conn:
        found = await buckets.list_rows(conn, asker, state=state, after=after, limit=limit + 1)
    page, last = params.cut_page(found, limit, lambda row: Cursor(row.registered_at, row.id))
    return [ObjectLine(row) for row in page], last
