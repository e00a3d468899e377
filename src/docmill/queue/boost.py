"""A queued job moves ahead: of its owner's other jobs, or with a higher priority of everybody's."""

from typing import Final

from docmill.core.jobs import JobId
from docmill.db.pool import Connection

RAISE: Final = """
WITH old AS MATERIALIZED (SELECT id, priority FROM jobs WHERE id = %(id)s FOR UPDATE),
raised AS (
    UPDATE jobs SET priority = %(priority)s FROM old
     WHERE jobs.id = old.id AND jobs.status = 'queued' AND old.priority < %(priority)s
    RETURNING jobs.id, old.priority AS was)
INSERT INTO job_events (job_id, kind, meta)
SELECT id, 'queued', jsonb_build_object('boosted', 'priority', 'priority', %(priority)s::int,
                                        'was', was)
  FROM raised
"""


async def raise_priority(conn: Connection, job_id: JobId, priority: int) -> bool:
    """False for a job that is not queued any more, or has such a priority already."""
    return (await conn.execute(RAISE, {"id": job_id, "priority": priority})).rowcount == 1


# The two change places: the tags stay those that the owner was given, so nobody else waits longer.
MOVE_AHEAD: Final = """
WITH mine AS MATERIALIZED (
    SELECT id, owner, pipeline, long, priority FROM jobs
     WHERE id = %(id)s AND status = 'queued' AND run_at IS NULL),
first AS MATERIALIZED (
    SELECT jobs.id FROM jobs JOIN mine USING (owner, pipeline, long, priority)
     WHERE jobs.status = 'queued' AND jobs.run_at IS NULL ORDER BY jobs.start_tag LIMIT 1),
pair AS MATERIALIZED (
    SELECT id, start_tag FROM jobs
     WHERE id IN (SELECT id FROM mine UNION SELECT id FROM first)
       AND status = 'queued' AND run_at IS NULL
     ORDER BY id FOR UPDATE),
swapped AS (
    UPDATE jobs SET start_tag = other.start_tag FROM pair, pair AS other
     WHERE jobs.id = pair.id AND other.id <> pair.id RETURNING jobs.id)
INSERT INTO job_events (job_id, kind, meta)
SELECT id, 'queued', jsonb_build_object('boosted', 'place')
  FROM swapped WHERE id = %(id)s
"""


async def move_ahead(conn: Connection, job_id: JobId) -> bool:
    """Change places with the first of the owner's jobs in the same line; False where it is that."""
    return (await conn.execute(MOVE_AHEAD, {"id": job_id})).rowcount == 1
