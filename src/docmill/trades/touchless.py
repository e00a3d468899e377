"""Trades approved by rule: how many, what was wrong in them, and what reviews say of confidence."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import structlog
from psycopg.rows import class_row

from docmill.core.experience import ENOUGH, count_values
from docmill.core.jobs import Claimed
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool, read_connection
from docmill.jobs import experience, preferences
from docmill.jobs.experience import Touchless
from docmill.storage.contract import Store
from docmill.trades.confidence import PROMISED

log = structlog.get_logger()

PIPELINE: Final = "trades"
MOST: Final = 5000  # trades, the newest of which say most

# What a rule approved stays known when a person changes it later; a value that was typed over has
# how sure it was as `read`. One that was rejected is one wrong value.
COUNT_TOUCHLESS: Final = """
SELECT count(*)::int AS documents, count(rule)::int AS by_rule,
       coalesce(sum(wrong), 0)::int AS wrong_values,
       (count(*) FILTER (WHERE wrong > 0))::int AS wrong_documents
  FROM (SELECT t.raw_extracted_data #>> '{promise,rule}' AS rule,
               CASE WHEN t.raw_extracted_data #>> '{promise,rule}' IS NULL THEN 0
                    WHEN t.review_status = 'rejected' THEN 1
                    ELSE (SELECT count(*) FROM jsonb_each(t.raw_extracted_data -> 'evidence') e
                           WHERE e.value ->> 'edited' = 'true') END AS wrong
          FROM trades t WHERE t.owner = %s AND t.raw_extracted_data ? 'promise') AS judged
"""


async def count_touchless(conn: Connection, owner: OwnerKey) -> Touchless:
    async with conn.cursor(row_factory=class_row(Touchless)) as cur:
        return await (await cur.execute(COUNT_TOUCHLESS, (owner,))).fetchone() or Touchless()


async def read_run_options(conn: Connection, job: Claimed) -> dict[str, Any]:
    """What a run is told: how sure is sure enough, and what its owner's reviews say."""
    told = await preferences.read_run_options(conn, job)
    if counts := await experience.read_experience(conn, job.owner, PIPELINE):
        told["experience"] = counts
    return told


LIST_REVIEWED: Final = """
SELECT raw_extracted_data -> 'evidence' FROM trades
 WHERE owner = %(owner)s AND review_status = 'approved' AND reviewed_by IS NOT NULL
   AND raw_extracted_data ? 'promise'
 ORDER BY reviewed_at DESC, id LIMIT %(limit)s
"""


async def list_reviewed(conn: Connection, owner: OwnerKey) -> list[dict[str, Any]]:
    """What was seen of the values of trades that a person approved."""
    found = await conn.execute(LIST_REVIEWED, {"owner": owner, "limit": MOST})
    return [row[0] for row in await found.fetchall()]


def list_values(reviewed: Iterable[dict[str, Any]]) -> Iterator[tuple[str, float, bool]]:
    """Each value that was read: its field, how sure it was, and whether a person left it."""
    for evidence in reviewed:
        for name in PROMISED:
            seen: dict[str, Any] = evidence.get(name) or {}
            changed = bool(seen.get("edited"))
            sure = seen.get("read" if changed else "confidence")
            if sure is not None:
                yield f"trades.{name}", float(sure), not changed


async def calibrate_owner(pool: Pool, owner: OwnerKey) -> dict[str, Any]:
    """Counts what stayed of what was read, and keeps it where there are enough reviews."""
    async with read_connection(pool) as conn:
        reviewed = await list_reviewed(conn, owner)
    counts = count_values(list_values(reviewed))
    done = await experience.fit_experience(
        pool, owner, counts, pipeline=PIPELINE, reviews=len(reviewed)
    )
    if done["kept"]:
        log.info("trades.calibrated", reviews=done["reviews"], values=done["values"])
    return done


# Whose people have approved something since the last fit.
LIST_OWNERS: Final = """
SELECT t.owner FROM trades t
  LEFT JOIN experience x ON x.owner = t.owner AND x.pipeline = %(pipeline)s
 WHERE t.review_status = 'approved' AND t.reviewed_by IS NOT NULL
   AND t.raw_extracted_data ? 'promise'
 GROUP BY t.owner, x.made_at
HAVING count(*) >= %(enough)s AND (x.made_at IS NULL OR max(t.reviewed_at) > x.made_at)
 ORDER BY t.owner LIMIT 100
"""


async def list_reviewers(conn: Connection, *, enough: int) -> list[OwnerKey]:
    found = await conn.execute(LIST_OWNERS, {"pipeline": PIPELINE, "enough": enough})
    return [OwnerKey(row[0]) for row in await found.fetchall()]


async def calibrate_all(pool: Pool, _store: Store) -> None:
    """Each owner with new reviews, once a day."""
    async with read_connection(pool) as conn:
        owners = await list_reviewers(conn, enough=ENOUGH)
    for owner in owners:
        await calibrate_owner(pool, owner)
