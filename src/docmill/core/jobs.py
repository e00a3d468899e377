"""Jobs and their states. `settle` decides what follows from how a run ended; nothing writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NewType
from uuid import UUID

from docmill.core.faults import FAULTS
from docmill.core.owners import OwnerKey
from docmill.core.summaries import Summary

JobId = NewType("JobId", UUID)
DocumentId = NewType("DocumentId", UUID)
# How far a run is, in percent, and what it does now.
ReportProgress = Callable[[int, str], None]


def ignore_progress(_percent: int, _stage: str) -> None:
    """For a run that nobody watches."""


@dataclass(frozen=True, slots=True)
class StatusRow:
    """All that is said of one status.

    - `label`: what pages and commands call it.
    - `api_word`: its word in /api/job-status.
    - `docling_word`: its word for callers that speak docling's API.
    - `event`: what a job's timeline says when it gets there.
    - `meaning`: its sentence in the reference.
    - `moves`: the statuses it may go to, and when it does.
    - `active`: the job is still to run, or runs.
    - `style`: its colour in a terminal.
    """

    label: str
    api_word: str
    docling_word: str
    event: str
    meaning: str
    moves: Mapping[str, str]
    active: bool = False
    style: str = ""


class Status(StrEnum):
    """The statuses of a job. Adding one is a member and a row here, and a migration."""

    UPLOADED = "uploaded"
    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def row(self) -> StatusRow:
        return _STATUS_ROWS[self]

    @property
    def label(self) -> str:
        return self.row.label


_OWNER_CANCELS: Final = "The owner cancels."
# Pages, API, commands, docs and checks follow from this table.
_STATUS_ROWS: Final[Mapping[Status, StatusRow]] = {
    Status.UPLOADED: StatusRow(
        label="Queued",
        api_word="queued",
        docling_word="pending",
        event="Received and stored",
        meaning="The file is stored and hashed; the job is written down.",
        moves={
            "queued": "It is ready to run; in the same transaction as its upload.",
            "cancelled": _OWNER_CANCELS,
        },
        active=True,
    ),
    Status.QUEUED: StatusRow(
        label="Waiting",
        api_word="queued",
        docling_word="pending",
        event="Put in the queue",
        meaning="Ready to run, or waiting: until `run_at`, its time or that of a retry, or for the "
        "jobs in `after`.",
        moves={
            "processing": "A worker claims it; claim and attempt count grow by one.",
            "failed": "A service it needs keeps failing, or a job it waits for did not complete.",
            "cancelled": _OWNER_CANCELS,
        },
        active=True,
    ),
    Status.PROCESSING: StatusRow(
        label="Converting...",
        api_word="processing",
        docling_word="started",
        event="Conversion began",
        meaning="A worker holds the job under a lease and runs its pipeline.",
        moves={
            "complete": "The run finished and its result is stored.",
            "queued": "A fault that is retried, a lost worker, or a worker that stops.",
            "failed": "A fault that is not retried, or no attempts are left.",
            "cancelled": "The owner cancels; the run is ended.",
        },
        active=True,
        style="cyan",
    ),
    Status.COMPLETE: StatusRow(
        label="Ready",
        api_word="completed",
        docling_word="success",
        event="Finished",
        meaning="The result is stored and was seen to exist.",
        moves={},
        style="green",
    ),
    Status.FAILED: StatusRow(
        label="Failed",
        api_word="failed",
        docling_word="failure",
        event="Failed",
        meaning="It met a fault that is not retried, or its last attempt broke.",
        moves={"queued": "The owner retries it, or uploads the same file again."},
        style="red",
    ),
    Status.CANCELLED: StatusRow(
        label="Cancelled",
        api_word="failed",
        docling_word="failure",
        event="Cancelled",
        meaning="The owner cancelled it.",
        moves={},
        style="dim",
    ),
}

ACTIVE: Final = frozenset(status for status in Status if status.row.active)
ENDED: Final = frozenset(Status) - ACTIVE
# For `status = ANY(%s)`.
ACTIVE_WORDS: Final = [str(status) for status in Status if status in ACTIVE]
MOVES: Final = frozenset((status, Status(to)) for status in Status for to in status.row.moves)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a job may run: not before a time, and after these jobs of its owner have completed."""

    not_before: datetime | None = None
    after: tuple[JobId, ...] = ()


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
    requested_pipeline: str
    decision: str | None = None
    reason: str | None = None
    summary: Summary | None = None
    reading_key: str | None = None
    pages: int | None = None
    scans: int = 0
    not_before: datetime | None = None
    after: Sequence[JobId] | None = None

    @property
    def schedule(self) -> Schedule:
        """What of its owner's wish is still to come."""
        return Schedule(self.not_before, tuple(self.after or ()))


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job in a worker's hands: what it needs to run, and the fence for writing.

    `long` when an earlier run found it so (`queue/lanes.py`).
    """

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
    long: bool = False
    source: str = "upload"


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result that was stored and seen to exist.

    `version` is that of its pipeline, `docmill` that of the program; `mapping` is what wrote it.
    """

    key: str
    content_type: str
    bytes: int
    stored_bytes: int
    sha256: str
    version: str
    docmill: str | None = None
    mapping: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run cost; `call` tells of the gateway that did it and the services it asked."""

    duration_ms: int = 0
    cpu_ms: int = 0
    memory_bytes: int = 0
    call: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class About:
    """What a run tells of its reading: in short, and how it chose to read, if it did.

    `mapping` is the job's where `pipeline` is another than was asked for. `refusal` is why no
    document could be made of it; `written` the mapping of the one that was.
    """

    summary: Summary | None = None
    pipeline: str | None = None
    mapping: str | None = None
    decision: str | None = None
    refusal: str | None = None
    written: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """`result` is the data found; `document`, if any, was made of it for people to download.

    `rows` are those to write with it: by noun, a JSON array.
    """

    result: StoredResult
    document: StoredResult | None = None
    rows: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    about: About = field(default_factory=About)


@dataclass(frozen=True, slots=True)
class Broke:
    """`delay` is the shortest wait before another try, if somebody asked for one.

    `says` is the sentence for people where the fault's own is not enough, `reason` the one that
    says why. `once`: one more try is worth it, although the fault is not one that is retried.
    `reading`: what was read all the same.
    """

    code: str
    detail: str = ""
    stack: str = ""
    delay: timedelta | None = None
    says: str = ""
    once: bool = False
    reason: str = ""
    reading: Finished | None = None


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
    about: About = field(default_factory=About)
    reason: str | None = None


def settle(job: Claimed, ending: Ending, *, retry: Retry, chance: float) -> Move:
    """What follows for a job in processing from the way its run ended."""
    match ending:
        case Finished(result, document, rows, about):
            return Move(
                Status.COMPLETE, "complete", result=result, document=document, rows=rows,
                about=about,
            )  # fmt: skip
        case Stopped(delay, code, detail):
            says = FAULTS[code].says if code else None
            return Move(Status.QUEUED, "stopped", code, says, detail, delay=delay, refund=True)
        case LeaseLost():
            lost = Broke("WORKER_LOST", "the lease ran out or its worker died")
            return _settle_broken(job, lost, retry=retry, chance=0.0, outcome="lost")
        case Broke():
            return _settle_broken(job, ending, retry=retry, chance=chance, outcome="retry")


def _settle_broken(
    job: Claimed, broke: Broke, *, retry: Retry, chance: float, outcome: str
) -> Move:
    fault = FAULTS[broke.code]
    tries = retry.attempts if fault.retried else min(2, retry.attempts) if broke.once else 1
    again = job.attempt_count < tries
    delay = None if outcome == "lost" else retry.delay(job.attempt_count, chance)
    if delay is not None and broke.delay is not None:
        delay = max(delay, broke.delay)
    kept = None if again else broke.reading
    return Move(
        Status.QUEUED if again else Status.FAILED,
        outcome if again or outcome == "lost" else "failed",
        code=broke.code,
        message=broke.says or (fault.says if again else fault.final),
        detail=broke.detail,
        stack=broke.stack,
        delay=delay if again else None,
        reason=broke.reason or f"{broke.says or fault.final}.",
        result=kept and kept.result,
        rows=kept.rows if kept else {},
        about=kept.about if kept else About(),
    )
