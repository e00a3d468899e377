"""How long runs take, learned from those before: pure, and nothing of it asks a database.

Past runs say what a page costs, printed or scanned. How far runs like this one were off from that
says what to tell: the time that would have been right for most of them. See decision 71.
"""

import heapq
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from docmill.core.jobs import JobId

GUESS: Final = 5.0  # seconds, while nothing has run
ALIKE: Final = 15  # runs that a run is compared with
LATEST: Final = 60  # runs: those alike are of these, so that a machine's new speed is followed
ENOUGH: Final = 5  # of a sort apart, or that have told their progress
HALF_LIFE: Final = 50  # runs: one so many runs ago counts half
SHORTEST: Final = 0.1  # seconds: below, a run is as long as it takes to start one
SETTLED: Final = 50  # rounds in which the rates come to rest
OUTLIVED: Final = 0.2  # of its time so far is left to a run that took longer than all alike
NO_RATES: Final = (0.0, 0.0, 0.0, 0.0)
TRUSTED: Final = 5  # percent: a word before says nothing about the rest


@dataclass(frozen=True, slots=True)
class DocumentSize:
    bytes: int
    pages: int | None = None
    scans: int = 0


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that ended. `progress` is what it told, and `told_after` when, in seconds."""

    size: DocumentSize
    seconds: float
    progress: Sequence[int] = ()
    told_after: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class RunState:
    """How far a run is: what it told last, and how many of its seconds were over then."""

    elapsed: float = 0.0
    progress: int = 0
    told_after: float = 0.0


NOT_BEGUN: Final = RunState()


@dataclass(frozen=True, slots=True)
class _ScaledRun:
    run: PastRun
    expected: float

    def left_at(self, progress: int) -> float:
        """Of its seconds those that were left when it was so far, as if it went evenly between."""
        before = (0, 0.0)
        told = zip(self.run.progress, self.run.told_after, strict=True)
        for percent, seconds in (*told, (100, self.run.seconds)):
            if progress <= percent:
                part = (progress - before[0]) / max(percent - before[0], 1)
                over = before[1] + part * (seconds - before[1])
                return max(self.run.seconds - over, 0.0)
            before = (percent, seconds)
        return 0.0


class _SortedRuns:
    """Runs in the order of what was expected of them: those most alike are next to each other."""

    def __init__(self, runs: Sequence[_ScaledRun]) -> None:
        self._runs: list[_ScaledRun] = sorted(runs, key=lambda one: one.expected)
        self._logs: list[float] = [math.log(one.expected) for one in self._runs]

    def __len__(self) -> int:
        return len(self._runs)

    def list_alike(self, expected: float) -> list[_ScaledRun]:
        own = math.log(expected)
        at = bisect_left(self._logs, own)
        near = range(max(at - ALIKE, 0), min(at + ALIKE, len(self._logs)))
        nearest = sorted(near, key=lambda place: abs(self._logs[place] - own))
        return [self._runs[place] for place in nearest[:ALIKE]]


class _BySort:
    """Scans and texts apart, where there are enough of them."""

    def __init__(self, runs: Sequence[_ScaledRun]) -> None:
        self.runs: _SortedRuns = _SortedRuns(runs)
        self._scans: _SortedRuns = _SortedRuns([one for one in runs if one.run.size.scans])
        self._texts: _SortedRuns = _SortedRuns([one for one in runs if not one.run.size.scans])

    def choose(self, *, is_scan: bool) -> _SortedRuns:
        same = self._scans if is_scan else self._texts
        return same if len(same) >= ENOUGH else self.runs


class History:
    """The last runs that were asked for alike, newest first."""

    def __init__(self, runs: Sequence[PastRun] = ()) -> None:
        printed = [one.size for one in runs if one.size.pages and not one.size.scans]
        self._page_bytes: float = median([one.bytes / (one.pages or 1) for one in printed] or [0])
        self._rates: list[float] = _fit_rates(
            [(self._measure(one.size), one.seconds) for one in runs]
        )
        scaled = [_ScaledRun(one, self.expect(one.size)) for one in runs[:LATEST]]
        self._all: _BySort = _BySort(scaled)
        self._tellers: _BySort = _BySort([one for one in scaled if one.run.progress])

    def expect(self, size: DocumentSize) -> float:
        """What its pages cost at the rates of all."""
        measured = zip(self._rates, self._measure(size), strict=True)
        return max(sum(rate * amount for rate, amount in measured), SHORTEST / 10)

    def estimate_left(self, size: DocumentSize, state: RunState = NOT_BEGUN) -> float:
        """Seconds until a run ends, as somebody is told."""
        return choose_likeliest(self._list_left(size, state))

    def average_left(self, size: DocumentSize, state: RunState = NOT_BEGUN) -> float:
        """The same for whoever waits for several: one that takes long is waited for as well."""
        return fmean(self._list_left(size, state))

    def _list_left(self, size: DocumentSize, state: RunState) -> Sequence[float]:
        """What was left to those most alike that took longer than this one so far."""
        elapsed, progress, told_after = state.elapsed, state.progress, state.told_after
        if not len(self._all.runs):
            by_pace = elapsed * (100 - progress) / progress if progress else GUESS - elapsed
            return [max(by_pace, 0.0)]
        runs = self._tellers
        if progress < TRUSTED or len(runs.runs) < ENOUGH:
            runs, progress, told_after = self._all, 0, 0.0
        expected = self.expect(size)
        alike = runs.choose(is_scan=bool(size.scans)).list_alike(expected)
        left = [one.left_at(progress) * expected / one.expected for one in alike]
        since = max(elapsed - told_after, 0.0)
        return [each - since for each in left if each > since] or [OUTLIVED * elapsed]

    def _measure(self, size: DocumentSize) -> tuple[float, float, float, float]:
        """What a run pays for: its start, printed pages, scanned pages, megabytes of scans."""
        guessed = size.bytes / self._page_bytes if self._page_bytes else 1.0
        pages = float(size.pages or max(guessed, 1.0))
        scans = min(float(size.scans), pages)
        return 1.0, pages - scans, scans, size.bytes / 1e6 if scans else 0.0


def _fit_rates(runs: Sequence[tuple[Sequence[float], float]]) -> list[float]:
    """Seconds for each thing that runs pay for, none below nothing: the least squares of how many
    times the estimates are off, by one rate after the other."""
    if not runs:
        return list(NO_RATES)
    count = len(NO_RATES)
    products = [[0.0] * count for _ in range(count)]
    sums = [0.0] * count
    for age, (amounts, seconds) in enumerate(runs):
        weight = 0.5 ** (age / HALF_LIFE)
        shares = [amount / max(seconds, SHORTEST) for amount in amounts]
        for at, share in enumerate(shares):
            sums[at] += weight * share
            for other, beside in enumerate(shares):
                products[at][other] += weight * share * beside
    rates = [0.0] * count
    for _ in range(SETTLED):
        for at in range(count):
            if own := products[at][at]:
                others = sum(products[at][i] * rates[i] for i in range(count) if i != at)
                rates[at] = max(sums[at] - others, 0.0) / own
    return rates


def choose_likeliest(seconds: Sequence[float]) -> float:
    """Of these times the one that is within half of most of them; the middle one of several."""
    ordered = sorted(seconds)
    near = [bisect_right(ordered, 2 * each) - bisect_left(ordered, each / 1.5) for each in ordered]
    best = [each for each, count in zip(ordered, near, strict=True) if count == max(near)]
    return best[len(best) // 2]


class QueueAhead:
    """The queue as it will be worked off: each slot takes the next when it is free."""

    def __init__(self, running: Sequence[float] = (), *, slots: int = 1) -> None:
        """`running` are the seconds left of what runs."""
        self._free: list[float] = [*running, *[0.0] * (max(slots, 1) - len(running))]
        heapq.heapify(self._free)
        self._begins: dict[JobId, float] = {}
        self._work: float = 0.0

    def __contains__(self, job_id: JobId) -> bool:
        return job_id in self._begins

    def begin_of(self, job_id: JobId, seconds: float) -> float:
        """In how many seconds a job begins that takes so many; one that is new comes last."""
        if job_id not in self._begins:
            self._begins[job_id] = self._free[0]
            self._work += seconds
            heapq.heapreplace(self._free, self._free[0] + seconds)
        return self._begins[job_id]

    def add_unseen(self, count: int) -> None:
        """Jobs that nobody looked at, each as long as one of the others that wait."""
        each = self._work / max(len(self._begins), 1)
        self._free = [one + count * each / len(self._free) for one in self._free]
