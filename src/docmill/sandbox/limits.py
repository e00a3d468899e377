"""What a run has used, and which limit it has reached.

A limit counts the CPU that a run used: on a busy machine it reaches none that it would not reach
on an idle one. The wall clock ends only what does nothing, and what lasts absurdly long.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from docmill.sandbox.confine import LINUX

# A run may do nothing for this many times the longest silence: it costs nobody but its slot.
PATIENCE: Final = 10
# Less CPU than this in all that time is what waking up to look at a clock costs.
_NOTHING: Final = 0.05
# A child that closed its channel has nothing more to say; its exit comes at once, or is made to.
LEAVING: Final = 1.0
# Looked at so much later than planned, we were stopped ourselves, and the child may have been too.
_OVERSLEPT: Final = 1.0
# Running, waiting for a disk, or dead and not yet collected: it goes on if the machine lets it.
_EAGER: Final = "RDZ"
_CPU_CLOCK: Final = 2  # of a whole process: see clock_getcpuclockid(3)


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """A look at a process. `cpu` is None where nobody can tell: no process yet, or not Linux."""

    at: float
    cpu: float | None = None
    eager: bool = False


def sample_process(pid: int | None, at: float) -> ProcessSample:
    """The process as it is now, `at` this moment of the caller's clock."""
    return (
        ProcessSample(at, read_cpu(pid), _read_state(pid) in _EAGER)
        if pid and LINUX
        else ProcessSample(at)
    )


def read_cpu(pid: int) -> float | None:
    """Seconds of CPU that all threads of a process have used; None when it is gone."""
    if not LINUX:
        return None
    try:
        return time.clock_gettime(~pid << 3 | _CPU_CLOCK)
    except OSError:
        return None


def _read_state(pid: int) -> str:
    """The letter of /proc; where that is hidden, `S` for a process that seems to sleep."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return "S"
    return stat.rpartition(b") ")[2][:1].decode()


@dataclass(frozen=True, slots=True)
class ChannelState:
    """What the worker knows of a run's channel."""

    at: float
    is_answering: bool = False
    is_closed: bool = False


CPU_SETTING: Final = "DOCMILL_CHILD_CPU_SECONDS"


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Per run. `stall` is the most CPU that a run uses without a word, `cpu` the most it uses.

    A larger document may use more, `cpu_per_mb`: a long one has many bytes, one made to keep us
    busy has few. `total` is by the wall clock, for what nothing else ends. `cpu_setting` is where
    `cpu` can be raised.
    """

    memory_bytes: int = 1 << 30
    stall: timedelta = timedelta(seconds=10)
    total: timedelta = timedelta(minutes=100)
    cpu: timedelta = timedelta(minutes=10)
    cpu_per_mb: timedelta = timedelta(minutes=1)
    cpu_setting: str = CPU_SETTING

    def budget(self, size: int) -> timedelta:
        """The CPU that a run over a document of so many bytes may use."""
        return self.cpu + self.cpu_per_mb * (size >> 20)

    def budget_reached(self, seconds: float) -> str:
        """A budget as people are told of it."""
        return f"{seconds:g} s of CPU ({self.cpu_setting}={self.cpu.total_seconds():g})"


@dataclass(frozen=True, slots=True)
class LimitReached:
    """Why the worker ended a run before its time; `limit` is the one that was reached."""

    code: str
    detail: str
    limit: str = ""
    stalled: bool = False


class RunMeter:
    """Follows one run by samples; it asks no clock itself."""

    def __init__(self, limits: RunLimits, began: ProcessSample, *, size: int = 0) -> None:
        """`size` is the document's, which its budget depends on."""
        self._limits: RunLimits = limits
        self._budget: float = limits.budget(size).total_seconds()
        self._stall: float = limits.stall.total_seconds()
        self._began_at: float = began.at
        self._seen_at: float = began.at
        self._heard_at: float = began.at
        # When it last did something, and when it last said something.
        self._idle: ProcessSample = began
        self._word: ProcessSample = began

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        return max(0.02, min(self._stall / 4, 0.5))

    def check(self, now: ProcessSample, heard: ChannelState) -> LimitReached | None:
        """The limit that is reached by now."""
        self._follow(now, heard)
        if heard.is_closed:
            return self._leaving(now)
        return self._out_of_time(now) or self._out_of_cpu(now) or self._idle_too_long(now)

    def _follow(self, now: ProcessSample, heard: ChannelState) -> None:
        late = now.at - self._seen_at - self.pause
        self._seen_at = now.at
        spoke = heard.at != self._heard_at or heard.is_answering
        self._heard_at = heard.at
        if spoke or late > _OVERSLEPT or self._word.cpu is None:
            self._word = now
        # Without a look at its CPU, a word is the only sign that a run does something.
        active = spoke if now.cpu is None else _has_worked(self._idle, now) or now.eager
        if active or late > _OVERSLEPT or heard.is_answering:
            self._idle = now

    def _leaving(self, now: ProcessSample) -> LimitReached | None:
        sleeps = not now.eager and now.at - max(self._idle.at, self._heard_at) >= LEAVING
        spins = _cpu_between(self._word, now) >= LEAVING
        if sleeps or spins or now.at - self._heard_at >= PATIENCE * self._stall:
            return LimitReached("CRASHED", "closed its channel and stayed")
        return None

    def _out_of_time(self, now: ProcessSample) -> LimitReached | None:
        total = self._limits.total.total_seconds()
        if now.at - self._began_at < total:
            return None
        limit = f"{total:g} s ({TOTAL_SETTING}={total:g})"
        return LimitReached("TIMED_OUT", f"still running after {total:g} s", limit)

    def _out_of_cpu(self, now: ProcessSample) -> LimitReached | None:
        if now.cpu is None:
            return None
        if now.cpu >= self._budget:
            detail = f"used {self._budget:g} s of CPU"
            return LimitReached("TIMED_OUT", detail, self._limits.budget_reached(self._budget))
        if _cpu_between(self._word, now) >= self._stall:
            limit = f"{self._stall:g} s of CPU without progress ({STALL_SETTING}={self._stall:g})"
            return LimitReached(
                "TIMED_OUT", f"no progress for {self._stall:g} s of CPU", limit, stalled=True
            )
        return None

    def _idle_too_long(self, now: ProcessSample) -> LimitReached | None:
        patience = PATIENCE * self._stall
        if now.at - self._idle.at < patience:
            return None
        limit = f"{patience:g} s without any work ({STALL_SETTING}={self._stall:g})"
        return LimitReached("TIMED_OUT", f"did nothing for {patience:g} s", limit, stalled=True)


def _cpu_between(since: ProcessSample, now: ProcessSample) -> float:
    return 0.0 if now.cpu is None or since.cpu is None else now.cpu - since.cpu


def _has_worked(since: ProcessSample, now: ProcessSample) -> bool:
    return since.cpu is None or _cpu_between(since, now) >= _NOTHING


STALL_SETTING: Final = "DOCMILL_CHILD_STALL_SECONDS"
TOTAL_SETTING: Final = "DOCMILL_CHILD_SECONDS"
