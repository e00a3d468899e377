"""The poller: what is dropped into a bucket becomes a job, and the object is filed when it ended.

Every step may be repeated: it begins with what the row and the bucket say now. So a crash between
any two steps costs time and nothing else, and any number of pollers may run.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

import psycopg
import structlog

from docmill.core import failpoints
from docmill.core.documents import BUCKET, clean_filename
from docmill.core.faults import FAULTS, MAX_UPLOAD_BYTES, DocmillError
from docmill.core.jobs import DocumentId
from docmill.core.owners import Owner
from docmill.core.texts import strip_invisible
from docmill.db.pool import connection
from docmill.documents import accept, buckets, sources
from docmill.documents.accept import Acceptor, JobRequest
from docmill.documents.buckets import BucketObject, FoundObject, ObjectChange, ObjectOwner
from docmill.documents.places import (
    ARCHIVE,
    FAILED,
    INCOMING,
    file_ending,
    filed_key,
    last_part,
    processing_key,
)
from docmill.documents.sources import NewSource
from docmill.documents.staging import FileStage
from docmill.queue import enqueue
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.names import display_name, is_hidden

log = structlog.get_logger()

# Objects a poller works on at the same time.
MOST_AT_ONCE: Final = 4
RETRY_AFTER: Final = timedelta(seconds=20)
# What breaks in a way nobody foresaw is tried again for so long, then filed as failed.
GIVE_UP: Final = timedelta(minutes=10)
LONGEST_SENDER: Final = 320
# Bytes. A longer key does not fit into an index of PostgreSQL; S3 itself allows 1,024.
LONGEST_KEY: Final = 1024
ORIGINAL_FILENAME: Final = "original_filename"
# What a retry completed is no longer said to have failed.
NO_ERROR: Final = {"error_code": "", "error_message": "", "failed_at": ""}


@dataclass(frozen=True, slots=True)
class Bucket:
    """A watched bucket: its own store, and what becomes of what is dropped into it.

    `paused`: a source that is seen for the first time begins so.
    """

    store: Store
    acceptor: Acceptor
    owner: Owner
    pipeline: str
    max_bytes: int = MAX_UPLOAD_BYTES
    batch: int = 100
    stuck: timedelta = timedelta(minutes=10)
    source: str = BUCKET
    paused: bool = False
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))

    @property
    def name(self) -> str:
        return self.store.name

    @property
    def whose(self) -> ObjectOwner:
        return ObjectOwner(self.name, self.source, self.owner.key)


async def begin(bucket: Bucket) -> None:
    """Write down that this source is watched, and whose it is."""
    facts = NewSource(
        bucket.source, bucket.name, bucket.pipeline, bucket.owner.key, paused=bucket.paused
    )
    async with connection(bucket.acceptor.pool) as conn:
        await sources.register_source(conn, facts)


async def poll(bucket: Bucket) -> int:
    """One round: take what is new, go on with what was left, file what has ended.

    No object stops it. What fails on our side is let go, to be tried again later; a listing that
    fails is told at the end, when all else is done. A source that is paused takes nothing new.
    """
    steps, trouble = 0, None
    async with connection(bucket.acceptor.pool) as conn:
        paused = await sources.is_paused(conn, bucket.source)
    try:
        if not paused:
            async for batch in _register_new(bucket):
                steps += await _run_each(bucket, take_object, batch)
    except DocmillError as exc:
        trouble = exc
    steps += await _drain(bucket, buckets.resume, take_object)
    steps += await _drain(bucket, buckets.take_ended, file_away)
    async with connection(bucket.acceptor.pool) as conn:
        await sources.note_look(conn, bucket.source, trouble.fault.says if trouble else None)
    if trouble:
        raise trouble
    return steps


async def _register_new(bucket: Bucket) -> AsyncIterator[list[BucketObject]]:
    """What lies in incoming/ and nobody has seen, registered a batch at a time."""
    async for page in bucket.store.pages(INCOMING):
        short: list[ObjectInfo] = []
        for one in page:
            if not is_object(one):
                continue
            if len(one.key.encode()) <= LONGEST_KEY:
                short.append(one)
            else:
                await _shorten(bucket, one)
        found = [FoundObject(one.key, one.generation, one.bytes) for one in short]
        async with connection(bucket.acceptor.pool) as conn:
            fresh = {one.key for one in await buckets.find_unknown(conn, bucket.name, found)}
        ready = [
            FoundObject(one.key, one.generation, one.bytes)
            for one in short
            if one.key in fresh and await _is_complete(bucket, one)
        ]
        for start in range(0, len(ready), bucket.batch):
            batch = ready[start : start + bucket.batch]
            async with connection(bucket.acceptor.pool) as conn:
                registered = await buckets.register(conn, bucket.whose, batch, hold=bucket.stuck)
            yield registered


async def _is_complete(bucket: Bucket, found: ObjectInfo) -> bool:
    try:
        return await bucket.store.is_complete(found)
    except DocmillError as exc:
        log.warning("object.not_looked_at", code=exc.fault.code, detail=exc.detail)
        return False


async def _shorten(bucket: Bucket, found: ObjectInfo) -> None:
    """A key too long to be written down gives way to a short one; the name stays known."""
    if not await _is_complete(bucket, found):
        return
    name = {ORIGINAL_FILENAME: clean_filename(display_name(found.key))}
    try:
        await bucket.store.move(found, spare_key(found), metadata=name)
    except DocmillError as exc:
        log.warning("object.not_shortened", code=exc.fault.code, detail=exc.detail)


def spare_key(found: ObjectInfo) -> str:
    """A place in incoming/ that is this object's own, and the same whoever asks."""
    digest = sha256(f"{found.key}\n{found.generation}".encode()).hexdigest()[:32]
    return f"{INCOMING}/{digest}{file_ending(found.key)}"


def is_object(found: ObjectInfo) -> bool:
    """Hidden names and the empty marks that stand for folders are not objects to anybody."""
    mark = found.key.endswith("/") and not found.bytes
    return not mark and not is_hidden(last_part(found.key))


async def _drain(
    bucket: Bucket,
    pick: Callable[..., Awaitable[list[BucketObject]]],
    step: Callable[[Bucket, BucketObject], Awaitable[None]],
) -> int:
    steps = 0
    while True:
        async with connection(bucket.acceptor.pool) as conn:
            batch = await pick(conn, bucket.name, limit=bucket.batch, hold=bucket.stuck)
        steps += await _run_each(bucket, step, batch)
        if len(batch) < bucket.batch:
            return steps


async def _run_each(
    bucket: Bucket,
    step: Callable[[Bucket, BucketObject], Awaitable[None]],
    batch: Sequence[BucketObject],
) -> int:
    """Some at a time; how many went well. The trouble of one is no trouble of another."""

    async def one(each: BucketObject) -> None:
        async with bucket.turns:
            await step(bucket, each)

    outcomes = await asyncio.gather(*(one(each) for each in batch), return_exceptions=True)
    well = 0
    for each, outcome in zip(batch, outcomes, strict=True):
        if outcome is None:
            well += 1
        elif isinstance(outcome, Exception):
            await _release(bucket, each, outcome)
        else:
            raise outcome
    return well


async def _release(bucket: Bucket, each: BucketObject, exc: Exception) -> None:
    """To be tried again after a pause that grows; what nobody foresaw is given up in the end."""
    if isinstance(exc, psycopg.Error) and not isinstance(exc, psycopg.DataError):
        raise exc  # it is the database that is sick, not the object
    foreseen = isinstance(exc, DocmillError)
    code = exc.fault.code if foreseen else "UNKNOWN"
    detail = exc.detail if foreseen else type(exc).__name__
    log.warning("object.waits", document=str(each.id), code=code, detail=detail)
    if not foreseen and datetime.now(UTC) - each.registered_at > GIVE_UP:
        try:
            await _refuse(bucket, each, DocmillError("UNKNOWN"))
        except DocmillError as still:
            log.warning("object.waits", document=str(each.id), code=still.fault.code)
        else:
            return
    async with connection(bucket.acceptor.pool) as conn:
        await buckets.release(conn, each.id, FAULTS[code], wait=RETRY_AFTER)


async def take_object(bucket: Bucket, each: BucketObject) -> None:
    """From incoming to a queued job, or to failed with the reason."""
    failpoints.hit("poll.registered")
    if each.state == "refused":
        await file_away(bucket, each)
        return
    try:
        check_object(bucket, each)
        if not await bucket.store.move(_registered_object(each), processing_key(each)):
            await _record_state(bucket, each, ObjectChange("gone", each.key), was=["registered"])
            return
        failpoints.hit("poll.moved")
        await admit(bucket, each)
    except DocmillError as exc:
        if exc.fault.status >= 500:
            raise
        await _refuse(bucket, each, exc)
        return
    failpoints.hit("poll.accepted")
    await _record_state(
        bucket, each, ObjectChange("queued", processing_key(each)), was=["registered"]
    )


def check_object(bucket: Bucket, each: BucketObject) -> None:
    """What is seen without reading it."""
    if not each.key.lower().endswith(".pdf"):
        raise DocmillError("NOT_PDF")
    if not each.bytes:
        raise DocmillError("EMPTY_FILE")
    if each.bytes > bucket.max_bytes:
        raise DocmillError("TOO_LARGE", maxSize=bucket.max_bytes)


async def admit(bucket: Bucket, each: BucketObject) -> None:
    """Make its job; once, however often this is called. The file stays where it is."""
    async with connection(bucket.acceptor.pool) as conn:
        if await enqueue.find_job_of_document(conn, DocumentId(each.id)):
            return
    found = await bucket.store.head(processing_key(each))
    if found is None:
        raise DocmillError("IO_ERROR", "the object is not where it was moved to")
    if not await bucket.store.is_readable(found):
        raise DocmillError("UNREADABLE")
    name = _original_name(each, found)
    stage = FileStage(None, name, max_bytes=bucket.max_bytes, document_id=each.id)
    async for chunk in bucket.store.chunks(found.key):
        await stage.write(chunk)
    staged = await stage.finish()
    wanted = JobRequest(
        bucket.owner, bucket.pipeline, source=BUCKET, meta=_build_meta(bucket, each, found)
    )
    await accept.accept(bucket.acceptor, staged, wanted)


def _build_meta(bucket: Bucket, each: BucketObject, found: ObjectInfo) -> dict[str, str]:
    metadata = found.metadata or {}
    sender = metadata.get("sender_email") or metadata.get("sender-email") or ""
    sender = strip_invisible(sender[: 2 * LONGEST_SENDER])[:LONGEST_SENDER]
    meta = {"bucket": bucket.name, "key": each.key, "generation": each.generation}
    return {**meta, "sender_email": sender} if sender else meta


def _original_name(each: BucketObject, found: ObjectInfo | None) -> str:
    """As it was named, also where a long name had to give way to a short one."""
    original = (found.metadata or {}).get(ORIGINAL_FILENAME) if found else None
    return clean_filename(original or display_name(last_part(each.key)))


async def _refuse(bucket: Bucket, each: BucketObject, exc: DocmillError) -> None:
    taken = await bucket.store.head(processing_key(each))
    place, code, reason = taken.key if taken else each.key, exc.fault.code, exc.fault.final
    news = ObjectChange("refused", place, code, reason)
    if await _record_state(bucket, each, news, was=["registered"]):
        failpoints.hit("poll.refused")
        refused = replace(each, state="refused", place=place, code=code, reason=reason)
        await file_away(bucket, refused)


async def file_away(bucket: Bucket, each: BucketObject) -> None:
    """Move it to archive or failed; `state` tells why: its job's, or that it was refused."""
    done = each.state == "complete"
    target = filed_key(each, ARCHIVE if done else FAILED)
    found = await _locate(bucket, each)
    metadata = {"document_id": str(each.id)} | (NO_ERROR if done else _error_metadata(each, found))
    moved = found is not None and await bucket.store.move(found, target, metadata=metadata)
    there = moved or await bucket.store.head(target) is not None
    failpoints.hit("poll.filed")
    state = ("archived" if done else "failed") if there else "gone"
    code, reason = (None, None) if done else (each.code, each.reason)
    news = ObjectChange(state, target if there else each.place, code, reason)
    await _record_state(bucket, each, news, was=["queued", "failed", "refused"])
    log.info("object.filed", document=str(each.id), to=state, code=code)


async def _locate(bucket: Bucket, each: BucketObject) -> ObjectInfo | None:
    """With what is known beside it; exactly the registered generation where it came in."""
    found = await bucket.store.head(each.place)
    if each.place == each.key:
        return replace(_registered_object(each), metadata=found.metadata if found else None)
    return found


def _registered_object(each: BucketObject) -> ObjectInfo:
    return ObjectInfo(each.key, each.bytes, each.registered_at, each.generation)


def _error_metadata(each: BucketObject, found: ObjectInfo | None) -> dict[str, str]:
    code = each.code or {"cancelled": "CANCELLED", "deleted": "DELETED"}.get(each.state, "UNKNOWN")
    reason = each.reason or (FAULTS[code].final if code in FAULTS else "The job was deleted")
    return {
        "error_code": code,
        "error_message": reason,
        "failed_at": datetime.now(UTC).isoformat(timespec="seconds"),
        ORIGINAL_FILENAME: _original_name(each, found),
    }


async def _record_state(
    bucket: Bucket, each: BucketObject, news: ObjectChange, *, was: Sequence[str]
) -> bool:
    async with connection(bucket.acceptor.pool) as conn:
        ours = await buckets.record_change(conn, each.id, news, was=was)
    failpoints.hit("poll.noted")
    return ours
