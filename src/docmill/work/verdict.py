"""What a run was asked, what it may use, how it ended: the pure half of a confined run."""

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from docmill.core import faults, pipeline
from docmill.core.jobs import Usage
from docmill.work.framing import NO_MEMORY_EXIT, Frame


@dataclass(frozen=True, slots=True)
class Task:
    """What to run, on which document."""

    pipeline: str
    filename: str
    content_type: str
    sha256: str = ""
    mapping: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rows: bool = False
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Per run. `stall` is the longest silence: a run that shows no progress for so long ends."""

    memory_bytes: int = 1 << 30
    stall: timedelta = timedelta(seconds=10)
    total: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Returned:
    """`data` is the JSON a child wrote. Its bytes came from a parser of strangers' bytes."""

    data: bytes
    version: str
    usage: Usage
    artifact: pipeline.Artifact | None = None
    rows: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class Failed:
    """`code` is a fault's; `detail` is one line and `stack` many, both for the log alone.

    `delay` is how long a service asked to be left alone; `spared` costs no attempt.
    """

    code: str
    detail: str
    stack: str
    usage: Usage
    delay: timedelta | None = None
    spared: bool = False


Ran = Returned | Failed


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child went, as the nursery saw it. No exit: the nursery itself was lost."""

    exit: int | None = None
    not_started: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Cut:
    """Why the worker ended a run before its time."""

    code: str
    detail: str


# PDFium gives up in these ways when memory runs out or a check fails: again, on the same bytes.
_SELF_ENDED: Final = {-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL}
# Our own word for it, and the C library's when it cannot allocate for a thread.
_OUT_OF_MEMORY: Final = {NO_MEMORY_EXIT, 127}


def judge(
    word: Frame | None, ending: Ending, *, cut: Cut | None, task: Task, limits: Limits
) -> Failed:
    """Of a run without a result: what the child said counts, then what we did, then its exit."""
    if word is not None:
        return _told(word.payload, task, ending.usage)
    # A lost nursery is the fault of no document, even where it made a run seem to stall; and a
    # child that gave up by itself was only slow to go.
    if cut is not None and ending.exit is not None and ending.exit not in _SELF_ENDED:
        return Failed(cut.code, cut.detail, "", ending.usage)
    code, detail = _exited(ending, task, limits)
    return Failed(code, detail, "", ending.usage)


def _told(payload: bytes, task: Task, usage: Usage) -> Failed:
    """A fault in the child's own words, none of which is trusted."""
    try:
        words: dict[str, object] = dict(json.loads(payload))
    except (ValueError, TypeError, RecursionError):
        return Failed("CRASHED", "the child's last word could not be read", "", usage)
    code, detail, stack = (str(words.get(key, "")) for key in ("code", "detail", "stack"))
    if words.get("exhausted") is True:
        code = _exhausted(task)
    known = code if code in faults.FAULTS else "UNKNOWN"
    return Failed(known, plain(detail, 500), "\n".join(map(plain, stack.splitlines())), usage)


def _exited(ending: Ending, task: Task, limits: Limits) -> tuple[str, str]:
    match ending.exit:
        case None:
            return "CRASHED", "the nursery was lost"
        case number if number in _OUT_OF_MEMORY or number in _SELF_ENDED:
            detail = f"needs more than {limits.memory_bytes >> 20} MB ({_way(number)})"
            return _exhausted(task), detail
        case number if number == -signal.SIGXCPU:
            return "TIMED_OUT", "used up its CPU time"
        case _ if ending.not_started:
            return "CRASHED", f"no child could be started, errno {ending.not_started}"
        case number:
            return "CRASHED", f"ended without an answer ({_way(number)})"


def _exhausted(task: Task) -> str:
    """Needing too much is the same at every try; a PDF that does it is taken for a damaged one."""
    return "BAD_PDF" if task.content_type == pipeline.PDF else "OUT_OF_MEMORY"


def _way(number: int) -> str:
    return signal.Signals(-number).name if number < 0 else f"exit {number}"


def plain(text: str, longest: int = 300) -> str:
    """Text from a child, safe to log or show: one line, printable, short."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])
