"""A file that was staged is accepted: checked, stored, and written down with its job."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import uuid4

import structlog
from structlog.contextvars import get_contextvars

from docmill import tracing
from docmill.core import failpoints, log_lines
from docmill.core.documents import BUCKET, NewDocument, clean_filename
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import ENDED, DocumentId, Job, JobId, Schedule, Status
from docmill.core.owners import Owner, OwnerKey
from docmill.db import wall
from docmill.db.notify import Notifier
from docmill.db.pool import (
    CommitUnknownError,
    Connection,
    Pool,
    connection,
    read,
    try_again,
    write_once,
)
from docmill.db.turns import TurnQueueByKey
from docmill.documents import assignments, queries, quotas
from docmill.documents.assignments import OwnerChoices
from docmill.documents.at_once import BelievedChoices, NewUpload, add_at_once
from docmill.documents.content_types import check_field_request, check_pipeline, check_type
from docmill.documents.staging import StagedFile
from docmill.queue import enqueue
from docmill.queue.enqueue import Prerequisite
from docmill.storage.contract import Store
from docmill.web.config import QuotaConfig

log = structlog.get_logger()

PROFILE: Final = "profile"
AT_ONCE: Final = Schedule()
NO_QUOTAS: Final = QuotaConfig()


@dataclass(frozen=True, slots=True)
class Acceptor:
    """What accept() works with."""

    pool: Pool
    store: Store
    catalog: PipelineCatalog
    work: Notifier
    changes: Notifier
    keep: timedelta | None
    shared_dedupe: bool = False
    # Of pipelines with a period of their own.
    keeps: Mapping[str, timedelta | None] = field(default_factory=dict[str, timedelta | None])
    turns: TurnQueueByKey = field(default_factory=TurnQueueByKey)
    believed: BelievedChoices = field(default_factory=BelievedChoices)


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is to be done with a file, and for whom.

    `preferred`: the owner's preferences go before our defaults, as `prefer` says. `choices`: the
    owner's, as they are or are believed to be.
    """

    owner: Owner
    pipeline: str
    mapping: str | None = None
    priority: int | None = None
    source: str = "upload"
    request_key: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    preferred: bool = False
    prefer: Callable[["JobRequest", OwnerChoices], "JobRequest"] | None = None
    choices: OwnerChoices | None = None
    schedule: Schedule = field(default_factory=Schedule)
    quotas: QuotaConfig = field(default_factory=QuotaConfig)

    @property
    def from_bucket(self) -> bool:
        """Such a document is known by its id, not by its content, and is kept for good."""
        return self.source == BUCKET


class AcceptOutcome(StrEnum):
    CREATED = "created"
    EXISTING = "existing"
    REQUEUED = "requeued"


LOGGED: Final = {
    AcceptOutcome.CREATED: "job.created",
    AcceptOutcome.EXISTING: "job.existing",
    AcceptOutcome.REQUEUED: "job.requeued",
}


@dataclass(frozen=True, slots=True)
class Accepted:
    """`told`: workers have been notified of it."""

    job: Job
    outcome: AcceptOutcome
    told: bool = False


async def accept(
    acceptor: Acceptor, staged: StagedFile, wanted: JobRequest, *, position: int = 0
) -> Accepted:
    """Check, store, write down. After this returns, the job survives any crash."""
    try:
        plan = await _plan(acceptor, staged, wanted)
        await staged.writer.commit()
    except BaseException:
        await staged.writer.abort()
        raise
    failpoints.hit("accept.stored")
    accepted = await _record(acceptor, plan, position)
    if accepted.job.document_id != staged.id and not wanted.from_bucket:
        await acceptor.store.delete(staged.key)
    failpoints.hit("accept.committed")
    if not accepted.told:
        acceptor.work.ring()
    acceptor.changes.ring()
    facts = {
        "job": str(accepted.job.id),
        "owner": wanted.owner.key,
        "pipeline": accepted.job.requested_pipeline,
        "source": wanted.source,
    }
    if not log_lines.write_fact(LOGGED[accepted.outcome], {**get_contextvars(), **facts}):
        log.info(LOGGED[accepted.outcome], **facts)
    return accepted


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """What becomes of a file. `sure`: not by what its owner is only believed to have chosen."""

    staged: StagedFile
    document: NewDocument
    asked: JobRequest  # before the owner's preferences
    wanted: JobRequest
    sure: bool


async def _plan(acceptor: Acceptor, staged: StagedFile, asked: JobRequest) -> UploadPlan:
    """Raises what keeps the file out, after a look at what its owner has chosen."""
    if _is_plain(acceptor, asked):
        with suppress(DocmillError):
            believed = acceptor.believed.find(asked.owner.key)
            return _plan_by(acceptor, staged, asked, believed, sure=False)
    return await _plan_surely(acceptor, staged, asked)


async def _plan_surely(acceptor: Acceptor, staged: StagedFile, asked: JobRequest) -> UploadPlan:
    if asked.prefer is None:  # what it takes of them is read when it is written down
        return _plan_by(acceptor, staged, asked, None, sure=True)
    choices = await read(
        acceptor.pool, lambda conn: assignments.read_choices(conn, asked.owner.key)
    )
    acceptor.believed.note(asked.owner.key, choices)
    return _plan_by(acceptor, staged, asked, choices, sure=True)


def _plan_by(
    acceptor: Acceptor,
    staged: StagedFile,
    asked: JobRequest,
    choices: OwnerChoices | None,
    *,
    sure: bool,
) -> UploadPlan:
    wanted = replace(asked, choices=choices)
    if choices and asked.prefer:
        wanted = asked.prefer(wanted, choices)
    check_pipeline(acceptor.catalog, wanted.pipeline, wanted.mapping)
    check_field_request(acceptor.catalog, wanted.pipeline, wanted.options)
    document = _describe_document(acceptor, staged, wanted)
    return UploadPlan(staged, document, asked, wanted, sure)


def _is_plain(acceptor: Acceptor, asked: JobRequest) -> bool:
    """Whether a job is all that comes of it, so that one statement can write it down."""
    return not (
        acceptor.shared_dedupe
        or asked.from_bucket
        or asked.request_key
        or asked.schedule != AT_ONCE
        or asked.quotas != NO_QUOTAS
        or tracing.is_on()
    )


def _describe_document(acceptor: Acceptor, staged: StagedFile, wanted: JobRequest) -> NewDocument:
    if not staged.bytes:
        raise DocmillError("EMPTY_FILE")
    return NewDocument(
        id=DocumentId(staged.id),
        sha256=staged.sha256,
        bytes=staged.bytes,
        content_type=check_type(acceptor.catalog, wanted.pipeline, staged.head, staged.tail),
        original_filename=clean_filename(staged.filename),
        source=wanted.source,
        upload_key=staged.key,
        meta=wanted.meta,
        guessed=staged.guessed,
    )


async def _record(acceptor: Acceptor, plan: UploadPlan, position: int) -> Accepted:
    wanted, document = plan.wanted, plan.document
    writing = Writing(acceptor, plan, position)
    try:
        # Those who send the same bytes wait here, not inside the database with a connection each.
        async with acceptor.turns.turn(f"{wanted.owner.key} {document.sha256}"):
            # Where results are shared, anybody's job over the same content is looked for.
            with wall.beyond() if acceptor.shared_dedupe else nullcontext():
                return await try_again(writing.write)
    except CommitUnknownError as exc:
        return await _resolve_commit(acceptor, document, exc)
    except DocmillError:
        # Another poller may have come to this very key; what is written late needs its file.
        if not wanted.from_bucket and not writing.is_unsure:
            await acceptor.store.delete(document.upload_key)
        raise


class Writing:
    """A file's job on its way into the database: at once if it is plain, else step by step.

    `is_unsure`: a connection broke, and perhaps the job was written, or will be. Step by step it
    is then found, by its content, or is there first.
    """

    def __init__(self, acceptor: Acceptor, plan: UploadPlan, position: int) -> None:
        self._acceptor: Acceptor = acceptor
        self._plan: UploadPlan = plan
        self._position: int = position
        self.is_unsure: bool = False

    async def write(self) -> Accepted:
        acceptor = self._acceptor
        if not self._plan.sure and not self.is_unsure and (new := await self._write_at_once()):
            return new
        if not self._plan.sure:
            self._plan = await _plan_surely(acceptor, self._plan.staged, self._plan.asked)
        plan, position = self._plan, self._position
        accepted = await write_once(
            acceptor.pool,
            lambda conn: _decide(conn, acceptor, plan.document, plan.wanted, position),
        )
        if self.is_unsure and accepted.job.document_id == plan.document.id:
            return Accepted(accepted.job, AcceptOutcome.CREATED)
        return accepted

    async def _write_at_once(self) -> Accepted | None:
        """None where it takes more than one statement: its content is known already, say."""
        acceptor, plan = self._acceptor, self._plan
        believed = plan.wanted.choices
        assert believed is not None
        wanted = _choose(acceptor, plan.wanted, believed)
        job = _describe_job(plan.document, wanted, None)
        keep = acceptor.keeps.get(wanted.pipeline, acceptor.keep)
        upload = NewUpload(plan.document, job, keep, believed)
        rings, added = acceptor.work.take_turn(), None
        try:
            added = await add_at_once(acceptor.pool, upload, rings=rings)
        except CommitUnknownError as exc:
            self.is_unsure = True
            raise DocmillError(exc.fault.code, exc.detail, **exc.facts) from exc
        finally:
            if rings and not isinstance(added, Job):
                acceptor.work.give_back()
        if isinstance(added, OwnerChoices):
            acceptor.believed.note(wanted.owner.key, added)
            self._plan = _plan_by(acceptor, plan.staged, plan.asked, added, sure=False)
            return await self._write_at_once()
        return added and Accepted(added, AcceptOutcome.CREATED, told=rings)


async def _resolve_commit(
    acceptor: Acceptor, document: NewDocument, outage: DocmillError
) -> Accepted:
    """The connection broke during COMMIT: look whether it happened before touching the file.

    If that cannot be known the file stays; the sweep of orphans removes it when no row claims it.
    """
    with suppress(DocmillError):
        async with connection(acceptor.pool) as conn:
            job = await enqueue.find_job_of_document(conn, document.id)
        if job:
            return Accepted(job, AcceptOutcome.CREATED)
        if document.source != BUCKET:
            await acceptor.store.delete(document.upload_key)
    raise outage


async def _decide(
    conn: Connection, acceptor: Acceptor, document: NewDocument, wanted: JobRequest, position: int
) -> Accepted:
    """The job for this request: remembered by its key, known by its content, or new."""
    wanted = await _apply_choices(conn, acceptor, wanted)
    dedupe_key = _make_dedupe_key(document, wanted)
    await enqueue.ensure_owner(conn, wanted.owner.key, about=dedupe_key)
    if wanted.from_bucket and (before := await enqueue.find_job_of_document(conn, document.id)):
        return Accepted(before, AcceptOutcome.EXISTING)
    key = None
    if wanted.request_key:
        key = enqueue.RequestKey(wanted.owner.key, wanted.request_key, position)
        if before := await enqueue.find_request(conn, key):
            return await _repeat_request(conn, before, document, wanted)
    wanted, others = await _check_prerequisites(conn, wanted)
    twin = await enqueue.find_twin(conn, dedupe_key)
    if twin:
        accepted = await _reuse(conn, twin, wanted.schedule, others)
    else:
        accepted = await _create(conn, acceptor, document, wanted)
    if key:
        await enqueue.record_request(conn, key, sha256=document.sha256, job_id=accepted.job.id)
    return accepted


async def _apply_choices(conn: Connection, acceptor: Acceptor, wanted: JobRequest) -> JobRequest:
    """With a mapping: as it was asked for, else the one assigned to the owner, else the default.

    And with the owner's profile as it is now: the job keeps it, so it gives the same result again.
    A profile that says nothing leaves no trace; the job's key is then the one it always had.
    """
    if not acceptor.catalog.mappings.get(wanted.pipeline):
        return wanted
    choices = wanted.choices or await assignments.read_choices(conn, wanted.owner.key)
    return _choose(acceptor, wanted, choices)


def _choose(acceptor: Acceptor, wanted: JobRequest, choices: OwnerChoices) -> JobRequest:
    known = acceptor.catalog.mappings.get(wanted.pipeline)
    if not known:
        return wanted
    mapping = wanted.mapping or choices.choose_mapping(known) or known[0]
    told = {PROFILE: choices.profile} if choices.profile else {}
    return replace(wanted, mapping=mapping, options={**wanted.options, **told})


async def _repeat_request(
    conn: Connection, before: tuple[JobId, str], document: NewDocument, wanted: JobRequest
) -> Accepted:
    """The job of a request that comes again. One that asks for something else is another request.

    A profile is no wish: it may have changed since.
    """
    job_id, sha256 = before
    job, asked = await _load_job(conn, job_id), await enqueue.read_options(conn, job_id)
    # One that was read as something without mappings has dropped the one it was sent with.
    dropped = job.mapping is None and job.pipeline != job.requested_pipeline
    same = job.requested_pipeline == wanted.pipeline and (dropped or job.mapping == wanted.mapping)
    if sha256 != document.sha256 or not same or _own_options(asked) != _own_options(wanted.options):
        raise DocmillError("KEY_REUSED")
    return Accepted(job, AcceptOutcome.EXISTING)


def _own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wish for name, wish in options.items() if name != PROFILE}


async def _check_prerequisites(
    conn: Connection, wanted: JobRequest
) -> tuple[JobRequest, Sequence[Prerequisite]]:
    """Those that are still to complete stay in the schedule. Raises BAD_REQUEST for any other."""
    schedule = wanted.schedule
    if not schedule.after:
        return wanted, ()
    known = await enqueue.lock_prerequisites(conn, wanted.owner.key, schedule.after)
    for job_id in schedule.after:
        if job_id not in known:
            raise _refuse_after(f"{job_id} is no job of yours")
        if (status := Status(known[job_id].status)) in ENDED and status is not Status.COMPLETE:
            raise _refuse_after(f"{job_id} is {status}: retry it first, or leave it out")
    left = [one for one in known.values() if one.status != Status.COMPLETE]
    after = tuple(one.id for one in left)
    return replace(wanted, schedule=replace(schedule, after=after)), left


def _refuse_after(message: str) -> DocmillError:
    return DocmillError("BAD_REQUEST", mistakes=[{"at": "after", "message": message}])


async def _reuse(
    conn: Connection, twin: JobId, schedule: Schedule, others: Sequence[Prerequisite]
) -> Accepted:
    """The existing job as it is, or queued again if it failed.

    A job waits for older ones alone, so that none ever waits for itself.
    """
    job = await _load_job(conn, twin)
    if job.status is not Status.FAILED:
        return Accepted(job, AcceptOutcome.EXISTING)
    for other in others:
        if (other.created_at, other.id) >= (job.created_at, job.id):
            raise _refuse_after(f"{other.id} came later than this file's own job, {job.id}")
    await enqueue.retry_job(conn, job, schedule)
    return Accepted(await _load_job(conn, twin), AcceptOutcome.REQUEUED)


async def _create(
    conn: Connection, acceptor: Acceptor, document: NewDocument, wanted: JobRequest
) -> Accepted:
    await quotas.check_room(conn, wanted.owner.key, wanted.quotas, coming=document.bytes)
    original = None
    if acceptor.shared_dedupe and not wanted.options:  # options, such as a profile, are one's own
        original = await enqueue.find_original(
            conn, document.sha256, wanted.pipeline, wanted.mapping
        )
    keep = acceptor.keeps.get(wanted.pipeline, acceptor.keep)
    keep = None if wanted.from_bucket else keep
    job = _describe_job(document, wanted, original)
    # Sent together, answered together: each needs nothing that another tells.
    async with conn.pipeline():
        await queries.insert_document(conn, wanted.owner.key, document, keep=keep)
        await enqueue.add_job(conn, job)
        await enqueue.enqueue(conn, job)
        return Accepted(await _load_job(conn, job.id), AcceptOutcome.CREATED)


def _describe_job(
    document: NewDocument, wanted: JobRequest, original: JobId | None
) -> enqueue.NewJob:
    asked = wanted.owner.priority if wanted.priority is None else wanted.priority
    return enqueue.NewJob(
        id=JobId(uuid4()),
        document_id=document.id,
        owner=wanted.owner.key,
        pipeline=wanted.pipeline,
        mapping=wanted.mapping,
        options=dict(wanted.options),
        priority=min(asked, wanted.owner.priority),
        dedupe_key=_make_dedupe_key(document, wanted),
        duplicate_of=original,
        schedule=wanted.schedule,
    )


async def _load_job(conn: Connection, job_id: JobId) -> Job:
    job = await enqueue.find_job(conn, job_id)
    assert job is not None, "written or locked in this transaction"
    return job


def _make_dedupe_key(document: NewDocument, wanted: JobRequest) -> str:
    content = str(document.id) if wanted.from_bucket else document.sha256
    return hash_request(wanted.owner.key, content, wanted.pipeline, wanted.mapping, wanted.options)


def hash_request(
    owner: OwnerKey, content: str, pipeline: str, mapping: str | None, options: Mapping[str, Any]
) -> str:
    """What the same request of the same owner has in common: the job's `dedupe_key`."""
    asked = json.dumps(dict(options), sort_keys=True) if options else "{}"
    parts = (owner, content, pipeline, mapping or "", asked)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
