"""Claims where an operator limits how many jobs of an owner or a pipeline run at a time.

Such limits hold over all workers, so their claims go one after another. Without limits nothing of
this runs. See docs/decisions/0046-limits.md.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from psycopg.rows import class_row

from docmill.core.jobs import Claimed
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.queue.claim import Claimer, FreeSlots
from docmill.queue.moves import TAKE

# No limit; more than runs anywhere.
ENDLESS: Final = 1_000_000
# Who is at the limit is passed over. New owners come in at the head of the queue, so the first few
# hundred have them; only where all of those wait for their turn, more are looked at.
LOOKED_AT: Final = (200, 4_000, 80_000)


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """`owner`: running jobs of one owner, 0 for any number. `pipelines`: of the pipelines named."""

    owner: int = 0
    pipelines: Mapping[str, int] = field(default_factory=dict[str, int])

    def concern(self, pipelines: Collection[str]) -> bool:
        return bool(self.owner or any(name in self.pipelines for name in pipelines))


TAKE_TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended('docmill claim', 0))"
NEXT_WITHIN: Final = """
WITH running AS MATERIALIZED (
    SELECT owner, pipeline FROM jobs WHERE status = 'processing'),
served AS MATERIALIZED (
    SELECT s.pipeline, s.most - (SELECT count(*) FROM running r WHERE r.pipeline = s.pipeline) room
      FROM unnest(%(pipelines)s::text[], %(most)s::int[]) AS s(pipeline, most)),
near AS MATERIALIZED (
    SELECT ready.id, ready.owner, ready.priority, ready.start_tag, served.pipeline,
           served.room AS pipeline_room, lane.long, lane.room
      FROM served
     CROSS JOIN (VALUES (false, %(slots)s::int), (true, %(long_slots)s::int)) AS lane(long, room)
     CROSS JOIN LATERAL (
           SELECT id, owner, priority, start_tag FROM jobs
            WHERE status = 'queued' AND run_at IS NULL AND pipeline = served.pipeline
              AND long = lane.long
            ORDER BY priority DESC, start_tag LIMIT %(looked_at)s) AS ready
     WHERE served.room > 0 AND lane.room > 0),
of_owner AS (
    SELECT near.*, coalesce(busy.jobs, 0) + row_number() OVER (
               PARTITION BY near.owner ORDER BY priority DESC, start_tag, near.id) AS owner_place
      FROM near LEFT JOIN (SELECT owner, count(*) AS jobs FROM running GROUP BY owner) AS busy
           ON busy.owner = near.owner
     WHERE near.owner <> ALL(%(besides)s::text[])),
placed AS (
    SELECT of_owner.*,
           row_number() OVER (PARTITION BY pipeline
                                  ORDER BY priority DESC, start_tag) AS in_pipeline,
           row_number() OVER (PARTITION BY long ORDER BY priority DESC, start_tag) AS in_lane
      FROM of_owner WHERE owner_place <= %(owner_most)s),
wanted AS MATERIALIZED (
    SELECT id, priority, start_tag FROM placed
     WHERE in_pipeline <= pipeline_room AND in_lane <= room
     ORDER BY priority DESC, start_tag LIMIT %(slots)s),
picked AS MATERIALIZED (
    SELECT free.id, free.owner FROM wanted CROSS JOIN LATERAL (
           SELECT id, owner FROM jobs
            WHERE jobs.id = wanted.id AND status = 'queued' AND run_at IS NULL
              FOR UPDATE SKIP LOCKED) AS free),
"""
CLAIM_WITHIN: Final = NEXT_WITHIN + TAKE


async def claim_within(
    conn: Connection,
    taker: Claimer,
    *,
    room: FreeSlots,
    limits: ShareLimits,
    besides: Collection[OwnerKey] = (),
) -> list[Claimed]:
    """As `claim`, of what the limits leave room for. Others who claim wait until the COMMIT."""
    await conn.execute(TAKE_TURN)
    args = {
        **taker.args,
        "slots": room.slots,
        "long_slots": min(room.long_slots, room.slots),
        "most": [limits.pipelines.get(name, ENDLESS) for name in taker.pipelines],
        "owner_most": limits.owner or ENDLESS,
        "besides": list(besides),
    }
    for looked_at in LOOKED_AT:
        async with conn.cursor(row_factory=class_row(Claimed)) as cur:
            await cur.execute(CLAIM_WITHIN, {**args, "looked_at": looked_at})
            if claimed := await cur.fetchall():
                return claimed
        if not await _is_longer(conn, taker, looked_at):
            break
    return []


IS_LONGER: Final = """
SELECT FROM unnest(%(pipelines)s::text[]) AS served(pipeline)
 CROSS JOIN (VALUES (false), (true)) AS lane(long)
 CROSS JOIN LATERAL (
       SELECT FROM jobs
        WHERE status = 'queued' AND run_at IS NULL AND pipeline = served.pipeline
          AND long = lane.long
        ORDER BY priority DESC, start_tag OFFSET %(looked_at)s LIMIT 1) AS behind
 LIMIT 1
"""


async def _is_longer(conn: Connection, taker: Claimer, looked_at: int) -> bool:
    """Whether jobs wait behind those that were looked at."""
    args = {"pipelines": list(taker.pipelines), "looked_at": looked_at}
    return (await conn.execute(IS_LONGER, args)).rowcount > 0
