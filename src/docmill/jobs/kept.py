"""Answers that were given once and are kept: each with its owner and the version it is true for.

A kept answer is given again only when the database says that its version is still the present one,
or when the database can't be asked. What is known to have changed is forgotten, so that nobody is
told then what was true before. What was kept before we could not hear of changes is not believed.
"""

import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from docmill.cache import Cache
from docmill.core.faults import DocmillError
from docmill.core.owners import OwnerKey
from docmill.web.metrics import LoopCount, Metrics

OUTAGE_CODES: Final = frozenset({"DATABASE_DOWN", "BUSY"})
RETRY_AFTER: Final = 30
MOST_OWED: Final = 10_000
KEEP_STATUS: Final = timedelta(hours=24)
KEEP_LISTS: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    owner: OwnerKey
    version: str
    body: bytes
    # When it was last found true, by the clock of whoever did.
    at: float = field(default_factory=time.time)

    def is_of(self, owner: OwnerKey, changed_at: datetime | None) -> bool:
        """Whether it is theirs, and true since that time."""
        return (
            changed_at is not None
            and self.owner == owner
            and self.version == changed_at.isoformat()
        )


class KeptAnswers:
    """Those of one kind, in the cache of the site."""

    def __init__(self, kind: str, cache: Cache, metrics: Metrics, *, keep: timedelta) -> None:
        self._kind: str = kind
        self._cache: Cache = cache
        self._keep: timedelta = keep
        lookups = metrics.cache_lookups
        self._hits: LoopCount = lookups.labels(kind, "hit")
        self._misses: LoopCount = lookups.labels(kind, "miss")
        self._outages: LoopCount = lookups.labels(kind, "outage")
        # Those that the cache could not be told to forget. More than a few are not remembered one
        # by one: then none is believed.
        self._owed: set[str] = set()
        self._deaf_until: float = 0.0

    async def find(self, name: str, *, patient: bool = False) -> KeptAnswer | None:
        """`patient`: the database is away, so nobody else can say."""
        if self._owed and not await self._pay(name):
            return None
        found = await self._cache.get(f"{self._kind}:{name}", patient=patient)
        return _unpack(found) if found else None

    async def keep(self, name: str, answer: KeptAnswer) -> None:
        packed = f"{answer.at} {answer.version} {answer.owner}\n".encode() + answer.body
        await self._cache.put(f"{self._kind}:{name}", packed, keep=self._keep)

    async def forget(self, name: str) -> None:
        """It has changed: what is kept is not true any more."""
        if not await self._cache.drop(f"{self._kind}:{name}"):
            self._owed.add(name)

    def note_gap(self) -> None:
        """For a while nobody told us what changed: what is older must be found true again."""
        self._deaf_until = time.time()

    async def confirm(self, name: str, answer: KeptAnswer) -> None:
        """The database says that it is still true."""
        if answer.at <= self._deaf_until:
            await self.keep(name, replace(answer, at=time.time()))

    async def _pay(self, name: str) -> bool:
        """Whether what is kept of this name may be looked at."""
        if name not in self._owed:
            return len(self._owed) < MOST_OWED
        self._owed.discard(name)
        await self.forget(name)
        return name not in self._owed

    def count(self, *, hit: bool) -> None:
        (self._hits if hit else self._misses).inc()

    async def bridge(self, exc: DocmillError, name: str, owner: OwnerKey) -> bytes:
        """What is known while the database can't be asked; raises where it is nothing."""
        if exc.fault.code not in OUTAGE_CODES:
            raise exc
        kept = await self.find(name, patient=True)
        if kept and kept.owner == owner and kept.at > self._deaf_until:
            self._outages.inc()
            return kept.body
        raise DocmillError(exc.fault.code, exc.detail, retryAfter=RETRY_AFTER) from exc


class KeptStatuses(KeptAnswers):
    """The statuses of jobs that have ended."""

    def __init__(self, cache: Cache, metrics: Metrics) -> None:
        super().__init__("status", cache, metrics, keep=KEEP_STATUS)


class KeptLists(KeptAnswers):
    """Lists of jobs, each true until a job of its owner changes."""

    def __init__(self, cache: Cache, metrics: Metrics) -> None:
        super().__init__("list", cache, metrics, keep=KEEP_LISTS)


def _unpack(packed: bytes) -> KeptAnswer | None:
    """Nothing where somebody else wrote what is there."""
    head, _, body = packed.partition(b"\n")
    try:
        at, version, owner = _read_head(head)
    except ValueError:
        return None
    return KeptAnswer(owner, version, body, at)


@lru_cache(maxsize=4096)
def _read_head(head: bytes) -> tuple[float, str, OwnerKey]:
    at, version, owner = head.decode().split(" ", 2)
    return float(at), version, OwnerKey(owner)
