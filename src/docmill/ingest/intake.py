"""accept(): a stored file becomes a document and a job, in one transaction, or nothing at all."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import uuid4

from docmill.core import failpoints
from docmill.core.documents import NewDocument, shown_filename
from docmill.core.faults import Faulted
from docmill.core.jobs import DocumentId, Job, JobId, Status
from docmill.core.owners import Owner
from docmill.db import documents, jobs, owners
from docmill.db.pool import Connection, Pool, connection
from docmill.db.signals import Bell
from docmill.ingest.checks import Offer, check_asked, check_type, check_wanted
from docmill.ingest.staging import Staged
from docmill.storage import Store

PROFILE: Final = "profile"


@dataclass(frozen=True, slots=True)
class Intake:
    """What accept() works with."""

    pool: Pool
    store: Store
    offer: Offer
    work: Bell
    changes: Bell
    keep: timedelta | None
    shared_dedupe: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be done with a file, and for whom."""

    owner: Owner
    pipeline: str
    mapping: str | None = None
    priority: int | None = None
    source: str = "upload"
    request_key: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def from_bucket(self) -> bool:
        """Such a document is known by its id, not by its content, and is kept for good."""
        return self.source == "bucket"


class Outcome(StrEnum):
    CREATED = "created"
    EXISTING = "existing"
    REQUEUED = "requeued"


@dataclass(frozen=True, slots=True)
class Accepted:
    job: Job
    outcome: Outcome


async def accept(intake: Intake, staged: Staged, wanted: Wanted, *, position: int = 0) -> Accepted:
    """Check, store, write down. After this returns, the job survives any crash."""
    try:
        check_wanted(intake.offer, wanted.pipeline, wanted.mapping)
        check_asked(intake.offer, wanted.pipeline, wanted.options)
        wanted = replace(
            wanted, mapping=wanted.mapping or intake.offer.default_mapping(wanted.pipeline)
        )
        document = _document(intake, staged, wanted)
        await staged.writer.commit()
    except BaseException:
        await staged.writer.abort()
        raise
    failpoints.hit("accept.stored")
    accepted = await _write_down(intake, document, wanted, position)
    if accepted.job.document_id != document.id:
        await intake.store.delete(document.upload_key)
    failpoints.hit("accept.committed")
    intake.work.ring()
    intake.changes.ring()
    return accepted


def _document(intake: Intake, staged: Staged, wanted: Wanted) -> NewDocument:
    if not staged.bytes:
        raise Faulted("EMPTY_FILE")
    return NewDocument(
        id=DocumentId(staged.id),
        sha256=staged.sha256,
        bytes=staged.bytes,
        content_type=check_type(intake.offer, wanted.pipeline, staged.head, staged.tail),
        original_filename=shown_filename(staged.filename),
        source=wanted.source,
        upload_key=staged.key,
        meta=wanted.meta,
    )


async def _write_down(
    intake: Intake, document: NewDocument, wanted: Wanted, position: int
) -> Accepted:
    committing = False
    try:
        async with connection(intake.pool) as conn:
            accepted = await _decide(conn, intake, document, wanted, position)
            committing = True
        return accepted
    except Faulted as exc:
        if committing and exc.fault.code == "DATABASE_DOWN":
            return await _find_out(intake, document, exc)
        if not wanted.from_bucket:  # another poller may have come to this very key
            await intake.store.delete(document.upload_key)
        raise


async def _find_out(intake: Intake, document: NewDocument, outage: Faulted) -> Accepted:
    """The connection broke during COMMIT: look whether it happened before touching the file.

    If that cannot be known the file stays; the sweep of orphans removes it when no row claims it.
    """
    with suppress(Faulted):
        async with connection(intake.pool) as conn:
            job = await jobs.of_document(conn, document.id)
        if job:
            return Accepted(job, Outcome.CREATED)
        if document.source != "bucket":
            await intake.store.delete(document.upload_key)
    raise outage


async def _decide(
    conn: Connection, intake: Intake, document: NewDocument, wanted: Wanted, position: int
) -> Accepted:
    """The job for this request: remembered by its key, known by its content, or new."""
    wanted = await _as_told(conn, intake, wanted)
    dedupe_key = _dedupe_key(document, wanted)
    await owners.introduce(conn, wanted.owner.key, about=dedupe_key)
    if wanted.from_bucket and (before := await jobs.of_document(conn, document.id)):
        return Accepted(before, Outcome.EXISTING)
    key = None
    if wanted.request_key:
        key = jobs.RequestKey(wanted.owner.key, wanted.request_key, position)
        if before := await jobs.remembered(conn, key):
            return await _same_request(conn, before, document, wanted)
    twin = await jobs.twin(conn, dedupe_key)
    if twin:
        accepted = await _reuse(conn, twin)
    else:
        accepted = await _create(conn, intake, document, wanted)
    if key:
        await jobs.remember(conn, key, sha256=document.sha256, job_id=accepted.job.id)
    return accepted


async def _as_told(conn: Connection, intake: Intake, wanted: Wanted) -> Wanted:
    """With the owner's profile as it is now: the job keeps it, so it gives the same result again.

    A profile that says nothing leaves no trace; the job's key is then the one it always had.
    """
    if not intake.offer.mappings.get(wanted.pipeline):
        return wanted
    profile = await owners.profile(conn, wanted.owner.key)
    return replace(wanted, options={**wanted.options, PROFILE: profile}) if profile else wanted


async def _same_request(
    conn: Connection, before: tuple[JobId, str], document: NewDocument, wanted: Wanted
) -> Accepted:
    """The job of a request that comes again. One with other wishes is another request.

    A profile is no wish: it may have changed since.
    """
    job_id, sha256 = before
    job, asked = await _the(conn, job_id), await jobs.asked(conn, job_id)
    same = (job.pipeline, job.mapping) == (wanted.pipeline, wanted.mapping)
    if sha256 != document.sha256 or not same or _wishes(asked) != _wishes(wanted.options):
        raise Faulted("KEY_REUSED")
    return Accepted(job, Outcome.EXISTING)


def _wishes(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wish for name, wish in options.items() if name != PROFILE}


async def _reuse(conn: Connection, twin: JobId) -> Accepted:
    """The existing job as it is, or queued again if it failed."""
    job = await _the(conn, twin)
    if job.status is not Status.FAILED:
        return Accepted(job, Outcome.EXISTING)
    await jobs.retry(conn, job)
    return Accepted(await _the(conn, twin), Outcome.REQUEUED)


async def _create(
    conn: Connection, intake: Intake, document: NewDocument, wanted: Wanted
) -> Accepted:
    original = None
    if intake.shared_dedupe and not wanted.options:  # options, such as a profile, are one's own
        original = await jobs.original(conn, document.sha256, wanted.pipeline, wanted.mapping)
    keep = None if wanted.from_bucket else intake.keep
    await documents.add(conn, wanted.owner.key, document, keep=keep)
    asked = wanted.owner.priority if wanted.priority is None else wanted.priority
    job = jobs.NewJob(
        id=JobId(uuid4()),
        document_id=document.id,
        owner=wanted.owner.key,
        pipeline=wanted.pipeline,
        mapping=wanted.mapping,
        options=dict(wanted.options),
        priority=min(asked, wanted.owner.priority),
        dedupe_key=_dedupe_key(document, wanted),
        duplicate_of=original,
    )
    await jobs.add(conn, job)
    await jobs.enqueue(conn, job)
    return Accepted(await _the(conn, job.id), Outcome.CREATED)


async def _the(conn: Connection, job_id: JobId) -> Job:
    job = await jobs.one(conn, job_id)
    assert job is not None, "written or locked in this transaction"
    return job


def _dedupe_key(document: NewDocument, wanted: Wanted) -> str:
    options = json.dumps(dict(wanted.options), sort_keys=True)
    content = str(document.id) if wanted.from_bucket else document.sha256
    parts = (wanted.owner.key, content, wanted.pipeline, wanted.mapping or "", options)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
