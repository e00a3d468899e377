"""Whatever can go wrong between a program and docmill, as one exception in two sentences."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self

import httpx2

from docmill.core.faults import CommandError
from docmill.core.jobs import ENDED, Status
from docmill.core.json_values import is_object


class Refused(CommandError):  # noqa: N818  its name is public
    """It was not done. With a code when docmill said so; with a wait when it said when to ask."""

    def __init__(
        self,
        says: str,
        advice: str,
        *,
        code: str = "",
        wait: float | None = None,
        jobs: Sequence[str] = (),
    ) -> None:
        super().__init__(f"{says}\n{advice}")
        self.says: str = says
        self.advice: str = advice
        self.code: str = code
        self.wait: float | None = wait
        self.jobs: Sequence[str] = jobs


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a trouble, for programs; commands have their own. `by_code` goes first."""

    silent: str = "Start it, or give its address."
    address: str = "Give one like http://127.0.0.1:8000."
    stranger: str = "Check the address; a proxy before docmill may be in trouble."
    by_code: Mapping[str, str] = field(default_factory=dict[str, str])


@contextmanager
def translate_errors(base: str, words: Advice) -> Generator[None]:
    """The troubles of a connection."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
        raise Refused(f"docmill does not answer at {base}.", words.silent) from exc
    except httpx2.TimeoutException as exc:
        says = f"docmill at {base} takes too long to answer."
        raise Refused(says, "Try again; if it goes on, look at its log.") from exc
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as exc:
        raise Refused(f"{base} is not an address of docmill.", words.address) from exc
    except httpx2.TransportError as exc:
        says = f"The connection to {base} broke."
        raise Refused(says, "Try again; a file sent twice becomes one job.") from exc


def check_answer(answer: httpx2.Response, words: Advice) -> httpx2.Response:
    """The answer, or the refusal that it is."""
    if answer.is_success or answer.status_code == HTTPStatus.NOT_MODIFIED:
        return answer
    found = read_json(answer, words)
    code, says = found.get("code"), found.get("error")
    if not code or not says:
        raise _not_docmill(answer, words)
    advice = words.by_code.get(code) or _explain(found) or found.get("detail") or ""
    jobs = found.get("jobs") or [found[name] for name in ("jobId",) if name in found]
    raise Refused(f"{says}.", advice, code=code, wait=found.get("retryAfter"), jobs=jobs)


def read_json(answer: httpx2.Response, words: Advice) -> dict[str, Any]:
    try:
        found: Any = answer.json()
    except ValueError:
        found = None
    if not is_object(found):
        raise _not_docmill(answer, words)
    return found


def _explain(found: dict[str, Any]) -> str:
    """What the answer says of this very request, rather than of its kind."""
    mistakes = [f"{each['at']}: {each['message']}." for each in found.get("mistakes", [])]
    return " ".join(mistakes) or found.get("reason", "")


def _not_docmill(answer: httpx2.Response, words: Advice) -> Refused:
    says = f"{answer.url.host} answered {answer.status_code}, and not as docmill would."
    return Refused(says, words.stranger)


@dataclass(frozen=True, slots=True)
class RemoteJob:
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
    reason: str | None = None
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
            reason=facts.get("reason"),
            outcome=outcome,
            facts=facts,
        )


class JobFailed(Refused):
    """The job ended, and not well."""

    def __init__(self, job: RemoteJob) -> None:
        code = job.error_code or str(job.status).upper()
        says = f"{job.error_message or f'The job is {job.status}'}."
        super().__init__(
            says, job.reason or "Look at the job's attempts.", code=code, jobs=[job.id]
        )
        self.job: RemoteJob = job
