"""Answers that were given once and are kept: each with its owner and the version it is true for.

A kept answer is given again only when the database says that its version is still the present one,
or when the database can't be asked.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from prometheus_client import Counter

from docmill.cache import Cache
from docmill.core.faults import DocmillError
from docmill.core.owners import OwnerKey
from docmill.web.metrics import Metrics

OUTAGE_CODES: Final = frozenset({"DATABASE_DOWN", "BUSY"})
RETRY_AFTER: Final = 30
KEEP_STATUS: Final = timedelta(hours=24)
KEEP_LISTS: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    owner: OwnerKey
    version: str
    body: bytes

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
        self._lookups: Counter = metrics.cache_lookups

    async def find(self, name: str) -> KeptAnswer | None:
        found = await self._cache.get(f"{self._kind}:{name}")
        return _unpack(found) if found else None

    async def keep(self, name: str, answer: KeptAnswer) -> None:
        head = json.dumps({"owner": answer.owner, "version": answer.version})
        packed = head.encode() + b"\n" + answer.body
        await self._cache.put(f"{self._kind}:{name}", packed, keep=self._keep)

    def count(self, *, hit: bool) -> None:
        self._lookups.labels(self._kind, "hit" if hit else "miss").inc()

    def bridge(self, exc: DocmillError, kept: KeptAnswer | None, owner: OwnerKey) -> bytes:
        """What is known while the database can't be asked; raises where it is nothing."""
        if exc.fault.code not in OUTAGE_CODES:
            raise exc
        if kept and kept.owner == owner:
            self._lookups.labels(self._kind, "outage").inc()
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
        said: Any = json.loads(head)
        return KeptAnswer(OwnerKey(said["owner"]), str(said["version"]), body)
    except (ValueError, KeyError, TypeError):
        return None
