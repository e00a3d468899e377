"""Bucket and database held against each other: counted, and brought back together."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import psycopg
import structlog

from docmill.core.faults import DocmillError
from docmill.core.jitter import jitter
from docmill.db.pool import Outage, connection
from docmill.documents import buckets
from docmill.documents.buckets import BucketCount, FoundObject, KnownObject, ObjectChange
from docmill.documents.places import INCOMING, PREFIXES, PROCESSING, last_part
from docmill.documents.poller import Bucket, begin, is_object, poll, spare_key
from docmill.storage.contract import ObjectInfo

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
    log.info("poller.started", bucket=bucket.name, source=bucket.source)
    due = time.monotonic()
    outage = Outage("poller")
    while True:
        try:
            await begin(bucket)
            await poll(bucket)
            outage.end()
            if time.monotonic() >= due:
                due = time.monotonic() + sweep_every.total_seconds() * jitter()
                await sweep(bucket)
        except DocmillError as exc:
            log.warning("poller.waits", code=exc.fault.code, detail=exc.detail)
        except psycopg.Error as exc:
            outage.begin(exc)
        await asyncio.sleep(every.total_seconds() * jitter())


async def sweep(bucket: Bucket) -> int:
    """Objects in processing/ that no row expects there find their way; how many did."""
    mended = 0
    async for listed in bucket.store.pages(PROCESSING):
        page = [found for found in listed if is_object(found)]
        known = await _find_rows(bucket, PROCESSING, page)
        for found, row in zip(page, known, strict=True):
            if row is None or row.state not in {"registered", "refused", "queued"}:
                log.warning("object.astray", document=row and str(row.id), row=row and row.state)
                mended += await _try_mend(bucket, found, row)
    async with connection(bucket.acceptor.pool) as conn:
        last = await buckets.last_counts(conn, bucket.source)
    counted_at = min((each.counted_at for each in last if each.counted_at), default=None)
    if counted_at is None or datetime.now(UTC) - counted_at > COUNT_EVERY:
        await reconcile(bucket)
    return mended


async def _try_mend(bucket: Bucket, found: ObjectInfo, row: KnownObject | None) -> bool:
    try:
        await _mend(bucket, found, row)
    except DocmillError as exc:
        log.warning("object.not_mended", code=exc.fault.code, detail=exc.detail)
        return False
    return True


async def _mend(bucket: Bucket, found: ObjectInfo, row: KnownObject | None) -> None:
    """Nobody's object is taken in again; the copy a late poller made is removed."""
    if row is None:
        name = last_part(found.key)
        place = f"{INCOMING}/{name}" if name.isprintable() and name.strip(".") else spare_key(found)
        taken = await bucket.store.head(place) is not None
        await bucket.store.move(found, spare_key(found) if taken else place)
    elif row.state != "gone" and await bucket.store.head(row.place):
        await bucket.store.delete(found.key)
    else:
        state = "registered" if row.state == "gone" else "queued"
        async with connection(bucket.acceptor.pool) as conn:
            await buckets.record_change(
                conn, row.id, ObjectChange(state, found.key), was=[row.state]
            )


async def reconcile(bucket: Bucket) -> list[BucketCount]:
    """Count every object against the rows: objects = done + failed + waiting + unknown."""
    await begin(bucket)
    counts = [await _count(bucket, prefix) for prefix in PREFIXES]
    async with connection(bucket.acceptor.pool) as conn:
        for count in counts:
            await buckets.save_count(conn, bucket.name, count)
    return counts


async def _count(bucket: Bucket, prefix: str) -> BucketCount:
    async with connection(bucket.acceptor.pool) as conn:
        expected = (await buckets.count_expected(conn, bucket.name)).get(prefix, 0)
    seen: Counter[str] = Counter()
    sure = 0
    async for listed in bucket.store.pages(prefix):
        page = [found for found in listed if is_object(found)]
        rows = await _find_rows(bucket, prefix, page)
        for found, row in zip(page, rows, strict=True):
            meaning = _classify(prefix, found, row)
            # It may have moved on since it was listed.
            if meaning == "unknown" and await _is_gone(bucket, found):
                continue
            seen[meaning] += 1
            sure += row is not None and row.state in SURE and row.place == found.key
    return BucketCount(
        prefix,
        seen.total(),
        done=seen["done"],
        failed=seen["failed"],
        waiting=seen["waiting"],
        unknown=seen["unknown"],
        missing=max(expected - sure, 0),
    )


async def _is_gone(bucket: Bucket, found: ObjectInfo) -> bool:
    try:
        return await bucket.store.head(found.key) is None
    except DocmillError as exc:
        log.warning("object.not_looked_at", code=exc.fault.code, detail=exc.detail)
        return False


def _classify(prefix: str, found: ObjectInfo, row: KnownObject | None) -> str:
    if prefix == INCOMING:
        return "waiting" if row is None else MEANS[row.state]
    if row is None:
        return "unknown"
    on_its_way = prefix == PROCESSING and row.state in {"registered", "refused"}
    return MEANS[row.state] if on_its_way or row.place == found.key else "unknown"


async def _find_rows(
    bucket: Bucket, prefix: str, page: Sequence[ObjectInfo]
) -> list[KnownObject | None]:
    """The row of each object of a page: by generation where it came in, by its id elsewhere."""
    async with connection(bucket.acceptor.pool) as conn:
        if prefix == INCOMING:
            found = [FoundObject(one.key, one.generation, one.bytes) for one in page]
            known = await buckets.find_by_generation(conn, bucket.name, found)
            return [known.get((one.key, one.generation)) for one in page]
        ids = [_document_id(one.key) for one in page]
        rows = await buckets.find_by_id(conn, bucket.name, [one for one in ids if one])
        return [rows.get(one) if one else None for one in ids]


def _document_id(key: str) -> UUID | None:
    try:
        return UUID(last_part(key).partition(".")[0])
    except ValueError:
        return None
