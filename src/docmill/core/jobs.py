"""Jobs and their states. `settle` decides what follows from how a run ended; nothing writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NewType
from uuid import UUID

from docmill.core.faults import FAULTS
from docmill.core.owners import OwnerKey

JobId = NewType("JobId", UUID)
DocumentId = NewType("DocumentId", UUID)


class Status(StrEnum):
    UPLOADED = "uploaded"
    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE: Final = frozenset({Status.UPLOADED, Status.QUEUED, Status.PROCESSING})
ENDED: Final = frozenset({Status.COMPLETE, Status.FAILED, Status.CANCELLED})

MOVES: Final[frozenset[tuple[Status, Status]]] = frozenset(
    {
        (Status.UPLOADED, Status.QUEUED),
        (Status.UPLOADED, Status.CANCELLED),
        (Status.QUEUED, Status.PROCESSING),
        (Status.QUEUED, Status.FAILED),
        (Status.QUEUED, Status.CANCELLED),
        (Status.PROCESSING, Status.COMPLETE),
        (Status.PROCESSING, Status.QUEUED),
        (Status.PROCESSING, Status.FAILED),
        (Status.PROCESSING, Status.CANCELLED),
        (Status.FAILED, Status.QUEUED),
    }
)

LABELS: Final[Mapping[Status, str]] = {
    Status.UPLOADED: "Queued",
    Status.QUEUED: "Waiting",
    Status.PROCESSING: "Converting...",
    Status.COMPLETE: "Ready",
    Status.FAILED: "Failed",
    Status.CANCELLED: "Cancelled",
}


@dataclass(frozen=True, slots=True)
class Job:
    """A job as people see it: its row and its document's."""

    id: JobId
    document_id: DocumentId
    owner: OwnerKey
    original_filename: str
    content_type: str
    bytes: int
    sha256: str
    source: str
    upload_key: str | None
    pipeline: str
    mapping: str | None
    status: Status
    priority: int
    progress: int
    stage: str
    result_key: str | None
    error_code: str | None
    error_message: str | None
    created_at: datetime
    updated_at: datetime
    queued_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    failed_at: datetime | None
    cancelled_at: datetime | None
    run_at: datetime | None
    leased_by: str | None
    lease_expires_at: datetime | None
    claim: int
    attempt_count: int
    expires_at: datetime | None
    download_count: int
    first_downloaded_at: datetime | None
    duplicate_of: JobId | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job in a worker's hands: what it needs to run, and the fence for writing."""

    id: JobId
    document_id: DocumentId
    owner: OwnerKey
    pipeline: str
    mapping: str | None
    options: Mapping[str, Any]
    duplicate_of: JobId | None
    claim: int
    attempt_count: int
    upload_key: str | None
    original_filename: str
    content_type: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result that was stored and seen to exist."""

    key: str
    content_type: str
    bytes: int
    stored_bytes: int
    sha256: str
    version: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run cost; `call` tells of the gateway that did it and the services it asked."""

    duration_ms: int = 0
    cpu_ms: int = 0
    memory_bytes: int = 0
    call: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Finished:
    """`result` is the data found; `document`, if any, was made of it for people to download.

    `rows` are those to write with it: by noun, a JSON array.
    """

    result: StoredResult
    document: StoredResult | None = None
    rows: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class Broke:
    """`delay` is the shortest wait before another try, if somebody asked for one."""

    code: str
    detail: str = ""
    stack: str = ""
    delay: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """Given back: its worker shuts down, or what it needs is left alone. Costs no attempt.

    `code` is the fault that says why, where there is one.
    """

    delay: timedelta | None = None
    code: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """The worker went silent or died; counts as an attempt."""


Ending = Finished | Broke | Stopped | LeaseLost


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how soon a pipeline's jobs are tried again."""

    attempts: int = 3
    base: timedelta = timedelta(seconds=5)
    jitter: timedelta = timedelta(seconds=5)
    delays: tuple[timedelta, ...] = ()

    def delay(self, attempt: int, chance: float) -> timedelta:
        """`chance` is a random number from 0 to 1, so that the rule itself stays repeatable."""
        if self.delays:
            return self.delays[min(attempt, len(self.delays)) - 1]
        return self.base * 2**attempt + self.jitter * chance


@dataclass(frozen=True, slots=True)
class Move:
    """A decision about a job: where it goes, and what the attempt's record says."""

    to: Status
    outcome: str
    code: str | None = None
    message: str | None = None
    detail: str = ""
    stack: str = ""
    delay: timedelta | None = None
    refund: bool = False
    result: StoredResult | None = None
    document: StoredResult | None = None
    rows: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def settle(job: Claimed, ending: Ending, *, retry: Retry, chance: float) -> Move:
    """What follows for a job in processing from the way its run ended."""
    match ending:
        case Finished(result, document, rows):
            return Move(Status.COMPLETE, "complete", result=result, document=document, rows=rows)
        case Stopped(delay, code, detail):
            says = FAULTS[code].says if code else None
            return Move(Status.QUEUED, "stopped", code, says, detail, delay=delay, refund=True)
        case LeaseLost():
            lost = Broke("WORKER_LOST", "the lease ran out or its worker died")
            return _broken(job, lost, retry=retry, chance=0.0, outcome="lost")
        case Broke():
            return _broken(job, ending, retry=retry, chance=chance, outcome="retry")


def _broken(job: Claimed, broke: Broke, *, retry: Retry, chance: float, outcome: str) -> Move:
    fault = FAULTS[broke.code]
    again = fault.retried and job.attempt_count < retry.attempts
    delay = None if outcome == "lost" else retry.delay(job.attempt_count, chance)
    if delay is not None and broke.delay is not None:
        delay = max(delay, broke.delay)
    return Move(
        Status.QUEUED if again else Status.FAILED,
        outcome if again or outcome == "lost" else "failed",
        code=broke.code,
        message=fault.says,
        detail=broke.detail,
        stack=broke.stack,
        delay=delay if again else None,
    )
