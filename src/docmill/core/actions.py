"""What can be done about a job as it is now: each action fits the fault, or the reading."""

from dataclasses import dataclass
from typing import Final

from docmill.core.faults import FAULTS
from docmill.core.installed import Rooms, find_rooms
from docmill.core.jobs import Job, Status
from docmill.core.plugins import JobAction, resolve

# Not retried by themselves, yet another try may go well: a service or a machine may be back.
WORTH_A_TRY: Final = frozenset(
    {
        "AFTER_FAILED",
        "SERVICE_GONE",
        "SERVICE_UNSET",
        "SERVICE_REFUSED",
        "TIMED_OUT",
        "OUT_OF_MEMORY",
    }
)
RETRY: Final = JobAction(
    "retry",
    "Try again",
    "/api/jobs/{id}/retry",
    codes=frozenset(code for code, fault in FAULTS.items() if fault.retried) | WORTH_A_TRY,
    method="POST",
)
# What was read as the wrong thing can be read as another.
MISREAD: Final = frozenset({"NO_INVOICE"})


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """`method` and `href` are the request; it needs no body."""

    name: str
    label: str
    method: str
    href: str


def list_actions(job: Job, rooms: Rooms | None = None) -> list[OfferedAction]:
    """Those that help: `Try again` only where another try can go differently."""
    found = rooms or find_rooms()
    offered = [
        *(one for one in _failure_actions(job, found) if _fits(one, job)),
        *_read_as_actions(job, found),
    ]
    return [
        OfferedAction(one.name, one.label, one.method, one.address.format(id=job.id))
        for one in offered
    ]


def _failure_actions(job: Job, rooms: Rooms) -> list[JobAction]:
    if job.status is not Status.FAILED:
        return []
    own = [one for room in rooms.of(job.pipeline) for one in room.job_actions]
    return [*own, RETRY] if job.upload_key else own


def _fits(action: JobAction, job: Job) -> bool:
    if job.error_code not in action.codes or (action.reading and job.reading_key is None):
        return False
    return action.when is None or bool(resolve(action.when)(job))


def _read_as_actions(job: Job, rooms: Rooms) -> list[JobAction]:
    misread = job.status is Status.FAILED and job.error_code in MISREAD
    if job.upload_key is None or not (misread or job.status is Status.COMPLETE):
        return []
    return [
        JobAction(
            f"read_as_{room.pipeline}",
            f"Read as {room.noun}",
            f"/api/jobs/{{id}}/read-as?pipeline={room.pipeline}",
            method="POST",
        )
        for room in rooms.rooms.values()
        if room.noun and room.pipeline != job.pipeline
    ]
