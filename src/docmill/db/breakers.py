"""Circuit breakers as each worker has them: for people and metrics, and for jobs that wait."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from psycopg.rows import class_row

from docmill.core.breaker import State
from docmill.core.faults import FAULTS
from docmill.core.jobs import JobId
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Breaker:
    service: str
    state: State
    failing: timedelta


# Without the worker's own row there is nobody to speak for.
NOTE: Final = """
INSERT INTO breakers (worker, service, state, failing_from)
SELECT workers.id, b.service, b.state,
       CASE WHEN b.state <> 'closed' THEN now() - b.failing END
  FROM workers, unnest(%(services)s::text[], %(states)s::text[], %(failing)s::interval[])
                AS b(service, state, failing)
 WHERE workers.id = %(worker)s
ON CONFLICT (worker, service)
   DO UPDATE SET state = excluded.state, failing_from = excluded.failing_from
"""


async def note(conn: Connection, worker: str, breakers: Sequence[Breaker]) -> bool:
    """False while the worker itself is not known yet."""
    args = {
        "worker": worker,
        "services": [one.service for one in breakers],
        "states": [str(one.state) for one in breakers],
        "failing": [one.failing for one in breakers],
    }
    return (await conn.execute(NOTE, args)).rowcount > 0


@dataclass(frozen=True, slots=True)
class Shown:
    """A service as its worst-off living worker sees it: 0 closed, 1 half open, 2 open."""

    service: str
    level: int
    failing_from: datetime | None


ALL: Final = """
SELECT b.service,
       max(CASE b.state WHEN 'open' THEN 2 WHEN 'half_open' THEN 1 ELSE 0 END) AS level,
       min(b.failing_from) AS failing_from
  FROM breakers b JOIN workers w ON w.id = b.worker
 WHERE w.seen_at > now() - interval '2 minutes'
 GROUP BY b.service ORDER BY b.service
"""


async def shown(conn: Connection) -> list[Shown]:
    async with conn.cursor(row_factory=class_row(Shown)) as cur:
        return await (await cur.execute(ALL)).fetchall()


# A service is gone when no living worker that serves the pipeline gets through to it. Jobs that
# came later wait just as long.
REFUSE: Final = """
WITH gone AS MATERIALIZED (
    SELECT max(b.failing_from) AS since
      FROM breakers b JOIN workers w ON w.id = b.worker
     WHERE b.service = %(service)s AND %(pipeline)s = ANY(w.pipelines)
       AND w.seen_at > now() - interval '2 minutes'
    HAVING bool_and(b.state <> 'closed')),
picked AS MATERIALIZED (
    SELECT jobs.id, jobs.owner FROM jobs, gone
     WHERE jobs.status = 'queued' AND jobs.pipeline = %(pipeline)s
       AND greatest(jobs.queued_at, gone.since) < now() - %(patience)s
     ORDER BY jobs.id LIMIT 100 FOR UPDATE OF jobs SKIP LOCKED),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM picked) ORDER BY owner FOR UPDATE),
refused AS (
    UPDATE jobs SET status = 'failed', failed_at = now(), run_at = NULL,
           error_code = 'SERVICE_GONE', error_message = %(message)s
      FROM picked WHERE jobs.id = picked.id AND (SELECT count(*) FROM held) > 0
    RETURNING jobs.id)
INSERT INTO job_events (job_id, kind, meta)
SELECT refused.id, 'failed', jsonb_build_object(
           'from', 'queued', 'to', 'failed', 'code', 'SERVICE_GONE',
           'service', %(service)s::text, 'failing_from', gone.since)
  FROM refused, gone
RETURNING job_id
"""


async def refuse(
    conn: Connection, *, pipeline: str, service: str, patience: timedelta
) -> list[JobId]:
    """Fail jobs that have waited too long for a service that keeps failing."""
    args = {
        "pipeline": pipeline,
        "service": service,
        "patience": patience,
        "message": FAULTS["SERVICE_GONE"].says,
    }
    return [row[0] for row in await (await conn.execute(REFUSE, args)).fetchall()]
