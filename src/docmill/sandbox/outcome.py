"""What a run was asked, what it may use, how it ended: the pure half of a confined run."""

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from docmill.core import faults, plugins
from docmill.core.jobs import About, Usage
from docmill.core.summaries import clean_sentence, clean_summary
from docmill.sandbox.limits import LimitReached, RunLimits
from docmill.sandbox.protocol import NO_MEMORY_EXIT, Frame


@dataclass(frozen=True, slots=True)
class Task:
    """What to run, on which document. Its host remembers steps and pages where it `keeps`."""

    pipeline: str
    filename: str
    content_type: str
    sha256: str = ""
    mapping: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rows: bool = False
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class RunReturned:
    """`data` is the JSON a child wrote. Its bytes came from a parser of strangers' bytes.

    `pages` is how many it said it was about to read, if it said so to no host.
    """

    data: bytes
    version: str
    usage: Usage
    artifact: plugins.Artifact | None = None
    rows: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    about: About = field(default_factory=About)
    pages: int | None = None


@dataclass(frozen=True, slots=True)
class RunFailed:
    """`code` is a fault's; `detail` is one line and `stack` many, both for the log alone.

    `delay` is how long a service asked to be left alone; `spared` costs no attempt. `says` is the
    sentence for people where the fault's own is not enough, `reason` the one that says why.
    `stalled`: it may have been the machine's fault, so one more try is worth it.
    """

    code: str
    detail: str
    stack: str
    usage: Usage
    delay: timedelta | None = None
    spared: bool = False
    says: str = ""
    stalled: bool = False
    reason: str = ""
    pages: int | None = None

    @property
    def message(self) -> str:
        """For people, where nobody tries again."""
        return self.says or faults.FAULTS[self.code].final

    def as_fault(self) -> faults.DocmillError:
        """For a caller who waits for the answer: it is told at once, in the words above."""
        told = {"reason": self.reason} if self.reason else {}
        exc = faults.DocmillError(self.code, self.detail, **told)
        exc.fault = replace(exc.fault, says=self.message)
        return exc


RunOutcome = RunReturned | RunFailed
REASON_CHARACTERS: Final = 500


def read_about(payload: bytes) -> About:
    """What a child tells of its reading; what can't be used of it is left out."""
    try:
        words: dict[str, Any] = dict(json.loads(payload))
    except (ValueError, TypeError, RecursionError):
        return About()
    return About(
        clean_summary(words.get("summary")),
        clean_line(str(words.get("pipeline") or ""), 100) or None,
        decision=_read_sentence(words, "decision") or None,
        refusal=_read_sentence(words, "refusal") or None,
        written=clean_line(str(words.get("written") or ""), 100) or None,
    )


def _read_sentence(words: Mapping[str, Any], name: str) -> str:
    return clean_sentence(str(words.get(name) or ""), REASON_CHARACTERS)


@dataclass(frozen=True, slots=True)
class ChildExit:
    """How a child went, as the fork server saw it. No exit: the fork server itself was lost."""

    exit: int | None = None
    not_started: int = 0
    usage: Usage = field(default_factory=Usage)


# PDFium gives up in these ways when memory runs out or a check fails: again, on the same bytes.
_SELF_ENDED: Final = {-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL}
# A run that got less of a CPU than this ran on a busy machine.
_BUSY_SHARE: Final = 0.7
# Our own word for it, and the C library's when it cannot allocate for a thread.
_OUT_OF_MEMORY: Final = {NO_MEMORY_EXIT, 127}


def judge(
    word: Frame | None,
    ending: ChildExit,
    *,
    cut: LimitReached | None,
    task: Task,
    limits: RunLimits,
) -> RunFailed:
    """Of a run without a result: what the child said counts, then what we did, then its exit."""
    if word is not None:
        return _read_fault(word.payload, task, ending.usage)
    # A lost sandbox is the fault of no document, even where it made a run seem to stall; and a
    # child that gave up by itself was only slow to go.
    if cut is not None and ending.exit is not None and ending.exit not in _SELF_ENDED:
        says = _explain_limit(cut.limit) if cut.limit else ""
        stalled = cut.stalled and _was_busy(ending.usage)
        return RunFailed(cut.code, cut.detail, "", ending.usage, says=says, stalled=stalled)
    if ending.exit == -signal.SIGXCPU:
        says = _explain_limit(limits.budget_reached(ending.usage.cpu_ms // 1000))
        return RunFailed("TIMED_OUT", "used up its CPU time", "", ending.usage, says=says)
    code, detail = _explain_exit(ending, task, limits)
    return RunFailed(code, detail, "", ending.usage)


def _explain_limit(limit: str) -> str:
    return f"{faults.FAULTS['TIMED_OUT'].says}: {limit}"


def _was_busy(usage: Usage) -> bool:
    return usage.cpu_ms < _BUSY_SHARE * usage.duration_ms


def _read_fault(payload: bytes, task: Task, usage: Usage) -> RunFailed:
    """A fault in the child's own words, none of which is trusted."""
    try:
        words: dict[str, Any] = dict(json.loads(payload))
    except (ValueError, TypeError, RecursionError):
        return RunFailed("CRASHED", "the child's last word could not be read", "", usage)
    code, detail, stack = (str(words.get(key, "")) for key in ("code", "detail", "stack"))
    if words.get("exhausted") is True:
        code = _memory_fault(task)
    known = code if code in faults.FAULTS else "UNKNOWN"
    return RunFailed(
        known,
        clean_line(detail, 500),
        "\n".join(map(clean_line, stack.splitlines())),
        usage,
        reason=_read_sentence(words, "reason"),
    )


def _explain_exit(ending: ChildExit, task: Task, limits: RunLimits) -> tuple[str, str]:
    match ending.exit:
        case None:
            return "CRASHED", "the fork server was lost"
        case number if number in _OUT_OF_MEMORY or number in _SELF_ENDED:
            detail = f"needs more than {limits.memory_bytes >> 20} MB ({_describe_exit(number)})"
            return _memory_fault(task), detail
        case _ if ending.not_started:
            return "CRASHED", f"no child could be started, errno {ending.not_started}"
        case number:
            return "CRASHED", f"ended without an answer ({_describe_exit(number)})"


def _memory_fault(task: Task) -> str:
    """Needing too much is the same at every try; a PDF that does it is taken for a damaged one."""
    return "BAD_PDF" if task.content_type == plugins.PDF else "OUT_OF_MEMORY"


def _describe_exit(number: int) -> str:
    return signal.Signals(-number).name if number < 0 else f"exit {number}"


def clean_line(text: str, longest: int = 300) -> str:
    """Text from a child, safe to log or show: one line, printable, short."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])
