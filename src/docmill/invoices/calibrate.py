"""Confidence fitted anew to an owner's own documents, from what people approved of them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import structlog

from docmill.core.experience import ENOUGH
from docmill.core.faults import DocmillError
from docmill.core.owners import OwnerKey
from docmill.db.pool import Pool, read_connection
from docmill.invoices import queries, touchless
from docmill.invoices.experience import count_reviews
from docmill.jobs import experience, results
from docmill.storage.contract import Store
from docmill.web.params import Cursor

log = structlog.get_logger()

BATCH = 50
MOST = 2000  # reviews, the newest of which say most

Reviewed = tuple[dict[str, Any], dict[str, Any]]


async def calibrate_owner(pool: Pool, store: Store, owner: OwnerKey) -> dict[str, Any]:
    """Counts what stayed of what was read, and keeps it where there are enough reviews."""
    pairs = [pair async for pair in _list_reviewed(pool, store, owner)]
    done = await experience.fit_experience(
        pool, owner, count_reviews(pairs), pipeline=touchless.PIPELINE, reviews=len(pairs)
    )
    if done["kept"]:
        log.info("invoices.calibrated", reviews=done["reviews"], values=done["values"])
    return done


async def calibrate_all(pool: Pool, store: Store) -> None:
    """Each owner with new reviews, once a day."""
    async with read_connection(pool) as conn:
        owners = await touchless.list_reviewers(conn, enough=ENOUGH)
    for owner in owners:
        await calibrate_owner(pool, store, owner)


async def _list_reviewed(pool: Pool, store: Store, owner: OwnerKey) -> AsyncIterator[Reviewed]:
    after: Cursor | None = None
    for _ in range(MOST // BATCH):
        async with read_connection(pool) as conn:
            found = await queries.list_samples(conn, owner, after=after, limit=BATCH)
        for sample in found:
            try:
                read = await results.read_data(pool, store, sample.read_key)
                approved = await results.read_data(pool, store, sample.approved_key)
            except (DocmillError, json.JSONDecodeError):
                continue  # retention took it since, or it is damaged
            if read.get("source") == "page":
                yield read, approved
        if len(found) < BATCH:
            return
        after = Cursor(found[-1].created_at, found[-1].job_id)
