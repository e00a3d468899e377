"""Endings that the database could not be told: kept in the store until it can.

A finished job whose worker dies during an outage of the database is settled from here by whoever
rescues it, instead of being run again.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog

from docmill.core.faults import DocmillError
from docmill.core.jobs import Claimed
from docmill.storage.contract import Store

log = structlog.get_logger()

PREFIX: Final = "unsettled"
# What nobody asked for by then belongs to a job that went another way.
KEEP: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class KeptEnding:
    """`move` as the settling statement reads it, and the rows that go with it, by noun."""

    move: dict[str, Any]
    rows: dict[str, bytes]


async def keep_ending(store: Store, job: Claimed, ending: KeptEnding) -> bool:
    """False where the store is away as well; then the ending lives in the worker alone."""
    rows = {name: array.decode() for name, array in ending.rows.items()}
    try:
        await store.put(_key(job), json.dumps({"move": ending.move, "rows": rows}).encode())
    except DocmillError as exc:
        log.warning("ending.not_kept", job=str(job.id), code=exc.fault.code)
        return False
    log.warning("ending.kept", job=str(job.id), claim=job.claim)
    return True


async def find_ending(store: Store, job: Claimed) -> KeptEnding | None:
    """That of this very claim."""
    if await store.head(_key(job)) is None:
        return None
    found = json.loads(b"".join([chunk async for chunk in store.chunks(_key(job))]))
    rows = {name: array.encode() for name, array in found["rows"].items()}
    return KeptEnding(found["move"], rows)


async def forget_ending(store: Store, job: Claimed) -> None:
    try:
        await store.delete(_key(job))
    except DocmillError as exc:
        log.warning("ending.not_forgotten", job=str(job.id), code=exc.fault.code)


async def sweep_endings(store: Store) -> None:
    before = datetime.now(UTC) - KEEP
    async for page in store.pages(PREFIX):
        for item in page:
            if item.changed_at < before:
                await store.delete(item.key)


def _key(job: Claimed) -> str:
    return f"{PREFIX}/{job.id}.{job.claim}.json"
