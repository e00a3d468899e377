"""Facts of a job in words for people: sizes, spans, ages, and the line under a badge."""

import math
from datetime import UTC, datetime
from typing import Final

from docmill.core.faults import FAULTS
from docmill.core.jobs import Job, Status
from docmill.web.shapes import JobShape

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 24 * HOUR


def size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def span(seconds: float) -> str:
    """How long something took, to about two figures."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min {seconds % MINUTE:.0f} s"
    return f"{seconds // HOUR:.0f} h {seconds % HOUR // MINUTE:.0f} min"


def left(seconds: float) -> str:
    """An estimate: nobody believes it to the second."""
    if seconds < MINUTE:
        return f"about {max(math.ceil(seconds), 1)} s left"
    if seconds < HOUR:
        return f"about {math.ceil(seconds / MINUTE)} min left"
    return f"about {math.ceil(seconds / HOUR)} h left"


def ago(at: datetime) -> str:
    """As age.js says it."""
    seconds = (datetime.now(UTC) - at).total_seconds()
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min ago"
    if seconds < DAY:
        return f"{seconds // HOUR:.0f} h ago"
    return f"{seconds // DAY:.0f} d ago"


def is_expired(job: Job) -> bool:
    return job.status is Status.COMPLETE and job.result_key is None


def trouble(job: Job) -> str | None:
    """The one sentence about what is wrong with a job."""
    if is_expired(job):
        return FAULTS["EXPIRED"].says
    return job.error_message


def detail(job: Job, shape: JobShape) -> str:
    """What there is to say about how far a job is."""
    if job.status is Status.COMPLETE and job.completed_at and job.started_at:
        return f"in {span((job.completed_at - job.started_at).total_seconds())}"
    if job.status is Status.FAILED and job.failed_at and job.started_at:
        return f"after {span((job.failed_at - job.started_at).total_seconds())}"
    parts = [job.stage] if job.status is Status.PROCESSING and job.stage else []
    if job.run_at:
        parts.append("waits to try again")
    if shape.estimated_seconds_left is not None:
        parts.append(left(shape.estimated_seconds_left))
    return " · ".join(parts)
