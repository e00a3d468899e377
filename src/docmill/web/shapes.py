"""Jobs as JSON: the one form in which lists, events, pages and uploads show a job."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, PlainSerializer

from docmill.core.faults import FAULTS
from docmill.core.jobs import LABELS, Job
from docmill.core.owners import Owner
from docmill.db.history import Attempt, Event
from docmill.web.paces import Paces


def iso(at: datetime) -> str:
    """UTC with microseconds, always of the same length, so that text sorts as time."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Instant = Annotated[datetime, PlainSerializer(iso, return_type=str)]


class JobShape(BaseModel):
    """A job as its owner sees it."""

    id: str
    document_id: str
    owner_session_id: str | None
    user_id: str | None
    filename: str
    original_filename: str
    content_type: str
    bytes: int
    sha256: str
    source: str = Field(examples=["upload"])
    pipeline: str
    mapping: str | None
    status: str = Field(examples=["processing"])
    label: str = Field(examples=["Converting..."])
    priority: int
    progress: int
    stage: str
    upload_location: str | None
    result_location: str | None
    error_code: str | None
    error_message: str | None
    created_at: Instant
    updated_at: Instant
    queued_at: Instant | None
    started_at: Instant | None
    completed_at: Instant | None
    failed_at: Instant | None
    cancelled_at: Instant | None
    run_at: Instant | None = Field(description="When a waiting retry begins")
    leased_by: str | None
    lease_expires_at: Instant | None
    attempt_count: int
    expires_at: Instant | None
    download_count: int
    first_downloaded_at: Instant | None
    duplicate_of: str | None
    estimated_seconds_left: float | None


SAME: Final = tuple(
    name
    for name in JobShape.model_fields
    if name in {f.name for f in fields(Job)} - {"id", "document_id", "duplicate_of"}
)


async def shape(job: Job, paces: Paces) -> JobShape:
    owner = Owner(job.owner)
    left = await paces.seconds_left(job)
    same: dict[str, Any] = {name: getattr(job, name) for name in SAME}
    return JobShape(
        **same,
        id=str(job.id),
        document_id=str(job.document_id),
        duplicate_of=str(job.duplicate_of) if job.duplicate_of else None,
        owner_session_id=owner.session_id,
        user_id=owner.user_id,
        filename=job.original_filename,
        label=LABELS[job.status],
        upload_location=job.upload_key,
        result_location=job.result_key,
        estimated_seconds_left=None if left is None else round(left, 1),
    )


class DocumentShape(BaseModel):
    """The file behind a job."""

    id: str
    filename: str
    original_filename: str
    content_type: str
    bytes: int
    sha256: str
    source: str
    upload_location: str | None
    created_at: Instant


def document_shape(job: JobShape) -> DocumentShape:
    """A job and its document are written in one transaction, so they are of the same age."""
    return DocumentShape(
        id=job.document_id,
        filename=job.filename,
        original_filename=job.original_filename,
        content_type=job.content_type,
        bytes=job.bytes,
        sha256=job.sha256,
        source=job.source,
        upload_location=job.upload_location,
        created_at=job.created_at,
    )


class EventShape(BaseModel):
    """One line of a job's history."""

    at: Instant
    kind: str
    worker: str | None
    meta: dict[str, Any]


def event_shape(event: Event) -> EventShape:
    return EventShape(at=event.at, kind=event.kind, worker=event.worker, meta=dict(event.meta))


class AttemptShape(BaseModel):
    """One try at a job. The stack and the detail stay with the operators."""

    attempt: int
    worker: str
    started_at: Instant
    ended_at: Instant | None
    outcome: str | None
    error_code: str | None
    error_message: str | None
    duration_ms: int | None
    cpu_ms: int | None
    memory_bytes: int | None


def attempt_shape(attempt: Attempt) -> AttemptShape:
    fault = FAULTS.get(attempt.error_code or "")
    return AttemptShape(
        attempt=attempt.attempt,
        worker=attempt.worker,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        outcome=attempt.outcome,
        error_code=attempt.error_code,
        error_message=fault.says if fault else None,
        duration_ms=attempt.duration_ms,
        cpu_ms=attempt.cpu_ms,
        memory_bytes=attempt.memory_bytes,
    )
