"""Bucket and database held against each other: counted, and brought back together."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Final
from uuid import UUID

import structlog

from docmill.core.faults import Faulted
from docmill.db import bucket_counts, buckets
from docmill.db.bucket_counts import Count, Known
from docmill.db.buckets import Found, News
from docmill.db.pool import OUTAGES, connection
from docmill.ingest.poller import INCOMING, PREFIXES, PROCESSING, Bucket, is_object, poll
from docmill.storage import Stored

log = structlog.get_logger()

# A full count lists the whole archive, which may be large.
COUNT_EVERY: Final = timedelta(days=1)
SURE: Final = frozenset({"queued", "archived", "failed"})
MEANS: Final = {
    "registered": "waiting",
    "refused": "waiting",
    "queued": "waiting",
    "archived": "done",
    "failed": "failed",
    "gone": "unknown",
}


async def keep_polling(bucket: Bucket, *, every: timedelta, sweep_every: timedelta) -> None:
    """Polls, and now and then sweeps, until cancelled. Many pollers do not march in step."""
    log.info("poller.started", bucket=bucket.name)
    due = time.monotonic()
    while True:
        try:
            await poll(bucket)
            if time.monotonic() >= due:
                due = time.monotonic() + sweep_every.total_seconds() * _jitter()
                await sweep(bucket)
        except Faulted as exc:
            log.warning("poller.waits", code=exc.fault.code, detail=exc.detail)
        except OUTAGES as exc:
            log.warning("poller.waits", error=type(exc).__name__)
        await asyncio.sleep(every.total_seconds() * _jitter())


def _jitter() -> float:
    return random.uniform(0.8, 1.2)  # noqa: S311  a die, not a secret


async def sweep(bucket: Bucket) -> int:
    """Objects in processing/ that no row expects there find their way; how many did."""
    mended = 0
    async for page in bucket.store.pages(PROCESSING):
        known = await _known(bucket, PROCESSING, page)
        for found, row in zip(page, known, strict=True):
            if row is None or row.state not in {"registered", "refused", "queued"}:
                log.warning("object.astray", key=found.key, row=row and row.state)
                await _mend(bucket, found, row)
                mended += 1
    async with connection(bucket.intake.pool) as conn:
        last = await bucket_counts.last(conn, bucket.name)
    counted_at = min((each.counted_at for each in last if each.counted_at), default=None)
    if counted_at is None or datetime.now(UTC) - counted_at > COUNT_EVERY:
        await reconcile(bucket)
    return mended


async def _mend(bucket: Bucket, found: Stored, row: Known | None) -> None:
    """Nobody's object is taken in again; the copy a late poller made is removed."""
    if row is None:
        await bucket.store.move(found, f"{INCOMING}/{PurePosixPath(found.key).name}")
    elif row.state != "gone" and await bucket.store.head(row.place):
        await bucket.store.delete(found.key)
    else:
        state = "registered" if row.state == "gone" else "queued"
        async with connection(bucket.intake.pool) as conn:
            await buckets.note(conn, row.id, News(state, found.key), was=[row.state])


async def reconcile(bucket: Bucket) -> list[Count]:
    """Count every object against the rows: objects = done + failed + waiting + unknown."""
    counts = [await _count(bucket, prefix) for prefix in PREFIXES]
    async with connection(bucket.intake.pool) as conn:
        for count in counts:
            await bucket_counts.save(conn, bucket.name, count)
    return counts


async def _count(bucket: Bucket, prefix: str) -> Count:
    async with connection(bucket.intake.pool) as conn:
        expected = (await bucket_counts.expected(conn, bucket.name)).get(prefix, 0)
    seen: Counter[str] = Counter()
    sure = 0
    async for listed in bucket.store.pages(prefix):
        page = [found for found in listed if is_object(found.key)]
        rows = await _known(bucket, prefix, page)
        for found, row in zip(page, rows, strict=True):
            meaning = _meaning(prefix, found, row)
            # It may have moved on since it was listed.
            if meaning == "unknown" and await bucket.store.head(found.key) is None:
                continue
            seen[meaning] += 1
            sure += row is not None and row.state in SURE and row.place == found.key
    return Count(
        prefix,
        seen.total(),
        done=seen["done"],
        failed=seen["failed"],
        waiting=seen["waiting"],
        unknown=seen["unknown"],
        missing=max(expected - sure, 0),
    )


def _meaning(prefix: str, found: Stored, row: Known | None) -> str:
    if prefix == INCOMING:
        return "waiting" if row is None else MEANS[row.state]
    if row is None:
        return "unknown"
    on_its_way = prefix == PROCESSING and row.state in {"registered", "refused"}
    return MEANS[row.state] if on_its_way or row.place == found.key else "unknown"


async def _known(bucket: Bucket, prefix: str, page: Sequence[Stored]) -> list[Known | None]:
    """The row of each object of a page: by generation where it came in, by its id elsewhere."""
    async with connection(bucket.intake.pool) as conn:
        if prefix == INCOMING:
            found = [Found(one.key, one.generation, one.bytes) for one in page]
            known = await bucket_counts.of_generations(conn, bucket.name, found)
            return [known.get((one.key, one.generation)) for one in page]
        ids = [_id(one.key) for one in page]
        rows = await bucket_counts.of_ids(conn, bucket.name, [one for one in ids if one])
        return [rows.get(one) if one else None for one in ids]


def _id(key: str) -> UUID | None:
    try:
        return UUID(PurePosixPath(key).stem)
    except ValueError:
        return None
