"""Who runs in a worker's slots: long documents keep to a lane, and one slot is kept in reserve.

How long a document takes is not known when it is claimed. A run that says it has many pages, or
that has taken long, counts as long from then on. See docs/decisions/0033-shares.md.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from docmill.core.jobs import Claimed, JobId
from docmill.core.owners import OwnerKey
from docmill.queue.claim import FreeSlots

# Full slots of which none was filled in this time are not about to become free.
STEADY_SECONDS: Final = 1.0
# So often at most a job is given back for others; what it needs to end must not be lost for ever.
MOST_GIVEN_BACK: Final = 5


@dataclass(frozen=True, slots=True)
class RunningJob:
    job: Claimed
    began_at: float


class Lanes:
    """What runs in one worker. It decides nothing for other workers, and asks nobody."""

    def __init__(
        self,
        slots: int,
        *,
        long_pages: int = 30,
        long_after: timedelta = timedelta(seconds=10),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.give_back: Callable[[Claimed], None] = _ignore
        self.most_long: int = max(1, slots - 1)
        self._slots: int = slots
        self._long_pages: int = long_pages
        self._long_seconds: float = long_after.total_seconds()
        self._clock: Callable[[], float] = clock
        self._entries: dict[JobId, RunningJob] = {}
        self._long: set[JobId] = set()
        self._entered_at: float = 0.0

    def enter(self, job: Claimed) -> None:
        self._entered_at = self._clock()
        self._entries[job.id] = RunningJob(job, self._entered_at)
        if job.long:
            self._long.add(job.id)

    def leave(self, job: Claimed) -> None:
        """Once is enough; a later claim of the same job is not meant."""
        entry = self._entries.get(job.id)
        if entry and entry.job.claim == job.claim:
            del self._entries[job.id]
            self._long.discard(job.id)

    def note_pages(self, job: Claimed, pages: int) -> None:
        """A run says how many pages it is about to read; too long for a full lane, it goes back."""
        entry = self._entries.get(job.id)
        if entry is None or entry.job.claim != job.claim or job.id in self._long:
            return
        if pages <= self._long_pages:
            return
        self._long.add(job.id)
        if len(list(self._long_ones())) > self.most_long:
            self.give_back(entry.job)

    @property
    def room(self) -> FreeSlots:
        """The slots that are free now; the reserve is none of them."""
        long_slots = self.most_long - len(list(self._long_ones()))
        return FreeSlots(max(0, self._slots - len(self._entries)), max(0, long_slots))

    @property
    def owners(self) -> set[OwnerKey]:
        return {entry.job.owner for entry in self._entries.values()}

    @property
    def reserve_opens_in(self) -> float | None:
        """Seconds until one more job may run than there are slots; None while one does."""
        if len(self._entries) > self._slots:
            return None
        return max(0.0, self._entered_at + STEADY_SECONDS - self._clock())

    def overdue(self) -> Claimed | None:
        """Of more long runs than the lane holds the one that has run longest: it may give way."""
        long = list(self._long_ones())
        if len(long) <= self.most_long:
            return None
        movable = [
            entry for entry in long if entry.job.claim - entry.job.attempt_count < MOST_GIVEN_BACK
        ]
        return min(movable, key=lambda entry: entry.began_at).job if movable else None

    def _long_ones(self) -> Iterator[RunningJob]:
        now = self._clock()
        for entry in self._entries.values():
            if entry.job.id in self._long or now - entry.began_at > self._long_seconds:
                yield entry


def _ignore(_job: Claimed) -> None:
    """Until a worker is there to give anything back."""
