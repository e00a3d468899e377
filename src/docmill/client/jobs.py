"""A job as the API shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from docmill.client.refusals import Refused
from docmill.core.jobs import ENDED, Status


@dataclass(frozen=True, slots=True)
class Job:
    """What most programs ask of a job; `facts` has all the rest. `outcome` is an upload's."""

    id: str
    status: Status
    progress: int
    stage: str
    filename: str
    pipeline: str
    error_code: str | None = None
    error_message: str | None = None
    outcome: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def good(self) -> bool:
        return self.status is Status.COMPLETE

    @classmethod
    def of(cls, facts: Mapping[str, Any], outcome: str = "") -> Self:
        return cls(
            id=facts["id"],
            status=Status(facts["status"]),
            progress=facts["progress"],
            stage=facts["stage"],
            filename=facts["filename"],
            pipeline=facts["pipeline"],
            error_code=facts["error_code"],
            error_message=facts["error_message"],
            outcome=outcome,
            facts=facts,
        )


class Failed(Refused):
    """The job ended, and not well."""

    def __init__(self, job: Job) -> None:
        code = job.error_code or str(job.status).upper()
        says = f"{job.error_message or f'The job is {job.status}'}."
        super().__init__(says, "Look at the job's attempts.", code=code, jobs=[job.id])
        self.job: Job = job
