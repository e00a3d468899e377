"""The poller: what is dropped into a bucket becomes a job, and the object is filed when it ended.

    incoming/… -> processing/{id}.pdf -> archive/{YYYY}/{MM}/{id}.pdf or failed/{YYYY}/{MM}/{id}.pdf

Every step may be repeated: it begins with what the row and the bucket say now. So a crash between
any two steps costs time and nothing else, and any number of pollers may run.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Final

import structlog

from docmill.core import failpoints
from docmill.core.faults import FAULTS, Faulted
from docmill.core.jobs import DocumentId
from docmill.core.owners import Owner
from docmill.db import buckets, jobs
from docmill.db.buckets import Found, News, Object
from docmill.db.pool import connection
from docmill.ingest import intake
from docmill.ingest.intake import Intake, Wanted
from docmill.ingest.staging import Stage
from docmill.storage import Store, Stored

log = structlog.get_logger()

INCOMING: Final = "incoming"
PROCESSING: Final = "processing"
ARCHIVE: Final = "archive"
FAILED: Final = "failed"
PREFIXES: Final = (INCOMING, PROCESSING, ARCHIVE, FAILED)

# Objects a poller works on at the same time.
AT_ONCE: Final = 4
AGAIN: Final = timedelta(seconds=20)
LONGEST_SENDER: Final = 320
# What a retry completed is no longer said to have failed.
NO_ERROR: Final = {"error_code": "", "error_message": ""}


@dataclass(frozen=True, slots=True)
class Bucket:
    """A watched bucket: its own store, and what becomes of what is dropped into it."""

    store: Store
    intake: Intake
    owner: Owner
    pipeline: str
    max_bytes: int = 52_428_800
    batch: int = 100
    stuck: timedelta = timedelta(minutes=10)
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    @property
    def name(self) -> str:
        return self.store.name


async def poll(bucket: Bucket) -> int:
    """One round: take what is new, go on with what was left, file what has ended."""
    steps = 0
    async for batch in _new(bucket):
        steps += await _each(bucket, take, batch)
    steps += await _until_none(bucket, buckets.resume, take)
    return steps + await _until_none(bucket, buckets.ended, file_away)


async def _new(bucket: Bucket) -> AsyncIterator[list[Object]]:
    """What lies in incoming/ and nobody has seen, registered a batch at a time."""
    async for page in bucket.store.pages(INCOMING):
        found = [Found(one.key, one.generation, one.bytes) for one in page if is_object(one.key)]
        async with connection(bucket.intake.pool) as conn:
            fresh = {one.key for one in await buckets.unknown(conn, bucket.name, found)}
        ready = [
            Found(one.key, one.generation, one.bytes)
            for one in page
            if one.key in fresh and await bucket.store.is_complete(one)
        ]
        for start in range(0, len(ready), bucket.batch):
            batch = ready[start : start + bucket.batch]
            async with connection(bucket.intake.pool) as conn:
                registered = await buckets.register(conn, bucket.name, batch, hold=bucket.stuck)
            yield registered


def is_object(key: str) -> bool:
    """Hidden names and the empty marks that stand for folders are not objects to anybody."""
    return not key.endswith("/") and not PurePosixPath(key).name.startswith(".")


async def _until_none(
    bucket: Bucket,
    pick: Callable[..., Awaitable[list[Object]]],
    step: Callable[[Bucket, Object], Awaitable[None]],
) -> int:
    steps = 0
    while True:
        async with connection(bucket.intake.pool) as conn:
            batch = await pick(conn, bucket.name, limit=bucket.batch, hold=bucket.stuck)
        steps += await _each(bucket, step, batch)
        if len(batch) < bucket.batch:
            return steps


async def _each(
    bucket: Bucket, step: Callable[[Bucket, Object], Awaitable[None]], batch: Sequence[Object]
) -> int:
    """Some at a time. What fails on our side is let go, to be tried again; the others go on."""

    async def one(each: Object) -> Faulted | None:
        async with bucket.turns:
            try:
                await step(bucket, each)
            except Faulted as exc:
                return exc
        return None

    outcomes = await asyncio.gather(*(one(each) for each in batch))
    troubles = [(each, exc) for each, exc in zip(batch, outcomes, strict=True) if exc]
    if troubles:
        async with connection(bucket.intake.pool) as conn:
            await buckets.release(conn, [each.id for each, _ in troubles], wait=AGAIN)
        raise troubles[0][1]
    return len(batch)


async def take(bucket: Bucket, each: Object) -> None:
    """From incoming to a queued job, or to failed with the reason."""
    failpoints.hit("poll.registered")
    if each.state == "refused":
        await file_away(bucket, each)
        return
    try:
        check(bucket, each)
        if not await bucket.store.move(_as_registered(each), processing_key(each)):
            await _note(bucket, each, News("gone", each.key), was=["registered"])
            return
        failpoints.hit("poll.moved")
        await admit(bucket, each)
    except Faulted as exc:
        if exc.fault.status >= 500:
            raise
        await _refuse(bucket, each, exc)
        return
    failpoints.hit("poll.accepted")
    await _note(bucket, each, News("queued", processing_key(each)), was=["registered"])


def check(bucket: Bucket, each: Object) -> None:
    """What is seen without reading it."""
    if not each.key.lower().endswith(".pdf"):
        raise Faulted("NOT_PDF")
    if not each.bytes:
        raise Faulted("EMPTY_FILE")
    if each.bytes > bucket.max_bytes:
        raise Faulted("TOO_LARGE")


async def admit(bucket: Bucket, each: Object) -> None:
    """Copy it into our store and make its job; once, however often this is called."""
    async with connection(bucket.intake.pool) as conn:
        if await jobs.of_document(conn, DocumentId(each.id)):
            return
    found = await bucket.store.head(processing_key(each))
    if found is None:
        raise Faulted("IO_ERROR", "the object is not where it was moved to")
    name = PurePosixPath(each.key).name
    stage = Stage(bucket.intake.store, name, max_bytes=bucket.max_bytes, document_id=each.id)
    try:
        async for chunk in bucket.store.chunks(found.key):
            await stage.write(chunk)
        staged = await stage.finish()
    except BaseException:
        await stage.abort()
        raise
    wanted = Wanted(bucket.owner, bucket.pipeline, source="bucket", meta=_meta(bucket, each, found))
    await intake.accept(bucket.intake, staged, wanted)


def _meta(bucket: Bucket, each: Object, found: Stored) -> dict[str, str]:
    told = found.metadata or {}
    sender = told.get("sender_email") or told.get("sender-email") or ""
    meta = {"bucket": bucket.name, "key": each.key, "generation": each.generation}
    return {**meta, "sender_email": sender[:LONGEST_SENDER]} if sender else meta


async def _refuse(bucket: Bucket, each: Object, exc: Faulted) -> None:
    taken = await bucket.store.head(processing_key(each))
    place, code, reason = taken.key if taken else each.key, exc.fault.code, exc.fault.says
    news = News("refused", place, code, reason)
    if await _note(bucket, each, news, was=["registered"]):
        failpoints.hit("poll.refused")
        refused = replace(each, state="refused", place=place, code=code, reason=reason)
        await file_away(bucket, refused)


async def file_away(bucket: Bucket, each: Object) -> None:
    """Move it to archive or failed; `state` tells why: its job's, or that it was refused."""
    done = each.state == "complete"
    target = filed_key(each, ARCHIVE if done else FAILED)
    metadata = {"document_id": str(each.id)} | (NO_ERROR if done else _error(each))
    found = await _where_it_is(bucket, each)
    moved = found is not None and await bucket.store.move(found, target, metadata=metadata)
    there = moved or await bucket.store.head(target) is not None
    failpoints.hit("poll.filed")
    state = ("archived" if done else "failed") if there else "gone"
    code, reason = (None, None) if done else (each.code, each.reason)
    news = News(state, target if there else each.place, code, reason)
    await _note(bucket, each, news, was=["queued", "failed", "refused"])
    log.info("object.filed", document=str(each.id), to=state, code=code)


async def _where_it_is(bucket: Bucket, each: Object) -> Stored | None:
    if each.place == each.key:
        return _as_registered(each)
    return await bucket.store.head(each.place)


def _as_registered(each: Object) -> Stored:
    return Stored(each.key, each.bytes, each.registered_at, each.generation)


def _error(each: Object) -> dict[str, str]:
    code = each.code or {"cancelled": "CANCELLED", "deleted": "DELETED"}.get(each.state, "UNKNOWN")
    reason = each.reason or (FAULTS[code].says if code in FAULTS else "The job was deleted")
    name = PurePosixPath(each.key).name
    return {"error_code": code, "error_message": reason, "original_filename": name}


def processing_key(each: Object) -> str:
    return f"{PROCESSING}/{each.id}.pdf"


def filed_key(each: Object, prefix: str) -> str:
    """By the month it came in, so that a repeated step finds the same place."""
    ending = PurePosixPath(each.key).suffix.lower()
    if not ending[1:].isalnum() or not ending.isascii() or len(ending) > 9:
        ending = ""
    return f"{prefix}/{each.registered_at:%Y/%m}/{each.id}{ending}"


async def _note(bucket: Bucket, each: Object, news: News, *, was: Sequence[str]) -> bool:
    async with connection(bucket.intake.pool) as conn:
        ours = await buckets.note(conn, each.id, news, was=was)
    failpoints.hit("poll.noted")
    return ours
