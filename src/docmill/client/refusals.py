"""Whatever can go wrong between a program and docmill, as one exception in two sentences."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

import httpx2

from docmill.core.faults import Told


class Refused(Told):
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
class Words:
    """What to do about a trouble, for programs; commands have their own. `by_code` goes first."""

    silent: str = "Start it, or give its address."
    address: str = "Give one like http://127.0.0.1:8000."
    stranger: str = "Check the address; a proxy before docmill may be in trouble."
    by_code: Mapping[str, str] = field(default_factory=dict[str, str])


@contextmanager
def told(base: str, words: Words) -> Generator[None]:
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


def checked(answer: httpx2.Response, words: Words) -> httpx2.Response:
    """The answer, or the refusal that it is."""
    if answer.is_success or answer.status_code == HTTPStatus.NOT_MODIFIED:
        return answer
    found = body(answer, words)
    code, says = found.get("code"), found.get("error")
    if not code or not says:
        raise _stranger(answer, words)
    advice = words.by_code.get(code) or _reason(found) or found.get("detail") or ""
    jobs = found.get("jobs") or [found[name] for name in ("jobId",) if name in found]
    raise Refused(f"{says}.", advice, code=code, wait=found.get("retryAfter"), jobs=jobs)


def body(answer: httpx2.Response, words: Words) -> dict[str, Any]:
    try:
        found: Any = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _stranger(answer, words)
    return cast("dict[str, Any]", found)


def _reason(found: dict[str, Any]) -> str:
    """What the answer says of this very request, rather than of its kind."""
    mistakes = [f"{each['at']}: {each['message']}." for each in found.get("mistakes", [])]
    return " ".join(mistakes) or found.get("reason", "")


def _stranger(answer: httpx2.Response, words: Words) -> Refused:
    says = f"{answer.url.host} answered {answer.status_code}, and not as docmill would."
    return Refused(says, words.stranger)
