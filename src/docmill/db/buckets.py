"""Objects of watched buckets: which generations are known, and what is next to do with each.

A poller holds a row while it works on it. A hold ends by itself, so a dead poller's work goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Found:
    """A generation as a listing shows it."""

    key: str
    generation: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Object:
    """A known generation; `place` is where it lies, as far as is known."""

    id: UUID
    key: str
    generation: str
    bytes: int
    state: str
    place: str
    code: str | None
    reason: str | None
    registered_at: datetime


KNOWN: Final = """
SELECT o.key, o.generation FROM bucket_objects o
  JOIN unnest(%(keys)s::text[], %(generations)s::text[]) AS f(key, generation)
    ON o.key = f.key AND o.generation = f.generation
 WHERE o.bucket = %(bucket)s
"""


async def unknown(conn: Connection, bucket: str, found: Sequence[Found]) -> list[Found]:
    """Those of a page that no row knows: one statement for all of them."""
    args = {
        "bucket": bucket,
        "keys": [one.key for one in found],
        "generations": [one.generation for one in found],
    }
    rows = await (await conn.execute(KNOWN, args)).fetchall()
    known = {(row[0], row[1]) for row in rows}
    return [one for one in found if (one.key, one.generation) not in known]


REGISTER: Final = """
INSERT INTO bucket_objects (bucket, key, generation, bytes, place, held_until)
SELECT %(bucket)s, f.key, f.generation, f.bytes, f.key, now() + %(hold)s
  FROM unnest(%(keys)s::text[], %(generations)s::text[], %(sizes)s::bigint[])
       AS f(key, generation, bytes)
 ORDER BY f.key
ON CONFLICT ON CONSTRAINT one_row_per_generation DO NOTHING
RETURNING id, key, generation, bytes, state, place, code, reason, registered_at
"""


async def register(
    conn: Connection, bucket: str, found: Sequence[Found], *, hold: timedelta
) -> list[Object]:
    """Write down new generations; those that this call was the first to know, held by it."""
    args = {
        "bucket": bucket,
        "keys": [one.key for one in found],
        "generations": [one.generation for one in found],
        "sizes": [one.bytes for one in found],
        "hold": hold,
    }
    async with conn.cursor(row_factory=class_row(Object)) as cur:
        return await (await cur.execute(REGISTER, args)).fetchall()


RESUME: Final = """
WITH picked AS MATERIALIZED (
    SELECT id FROM bucket_objects
     WHERE bucket = %(bucket)s AND state IN ('registered', 'refused') AND held_until < now()
     ORDER BY registered_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
UPDATE bucket_objects o SET held_until = now() + %(hold)s FROM picked WHERE o.id = picked.id
RETURNING o.id, o.key, o.generation, o.bytes, o.state, o.place, o.code, o.reason, o.registered_at
"""


async def resume(conn: Connection, bucket: str, *, limit: int, hold: timedelta) -> list[Object]:
    """Take up what somebody began and did not end."""
    args = {"bucket": bucket, "limit": limit, "hold": hold}
    async with conn.cursor(row_factory=class_row(Object)) as cur:
        return await (await cur.execute(RESUME, args)).fetchall()


# The newest job over the document decides. One that is gone has failed; one that failed and was
# retried may still complete.
ENDED: Final = """
WITH picked AS MATERIALIZED (
    SELECT o.id, coalesce(j.status, 'deleted') AS status, j.error_code, j.error_message
      FROM bucket_objects o
      LEFT JOIN LATERAL (
           SELECT status, error_code, error_message FROM jobs WHERE document_id = o.id
            ORDER BY created_at DESC LIMIT 1) AS j ON true
     WHERE o.bucket = %(bucket)s AND o.held_until < now()
       AND (o.state = 'queued' AND coalesce(j.status, 'deleted') IN
                ('complete', 'failed', 'cancelled', 'deleted')
            OR o.state = 'failed' AND j.status = 'complete')
     LIMIT %(limit)s FOR UPDATE OF o SKIP LOCKED)
UPDATE bucket_objects o SET held_until = now() + %(hold)s FROM picked WHERE o.id = picked.id
RETURNING o.id, o.key, o.generation, o.bytes, picked.status AS state, o.place,
          picked.error_code AS code, picked.error_message AS reason, o.registered_at
"""


async def ended(conn: Connection, bucket: str, *, limit: int, hold: timedelta) -> list[Object]:
    """Objects whose job has ended; `state` is the job's here, `code` and `reason` as well."""
    args = {"bucket": bucket, "limit": limit, "hold": hold}
    async with conn.cursor(row_factory=class_row(Object)) as cur:
        return await (await cur.execute(ENDED, args)).fetchall()


NOTE: Final = """
UPDATE bucket_objects
   SET state = %(state)s, place = %(place)s, code = %(code)s, reason = %(reason)s,
       held_until = CASE WHEN %(state)s = 'refused' THEN held_until ELSE 'epoch' END,
       changed_at = now()
 WHERE id = %(id)s AND state = ANY(%(was)s)
"""


@dataclass(frozen=True, slots=True)
class News:
    """What became of an object."""

    state: str
    place: str
    code: str | None = None
    reason: str | None = None


async def note(conn: Connection, object_id: UUID, news: News, *, was: Sequence[str]) -> bool:
    """Write down a step that was taken; False when another poller was ahead of us."""
    args = {
        "id": object_id,
        "state": news.state,
        "place": news.place,
        "code": news.code,
        "reason": news.reason,
        "was": list(was),
    }
    return (await conn.execute(NOTE, args)).rowcount == 1


RELEASE: Final = "UPDATE bucket_objects SET held_until = now() + %(wait)s WHERE id = ANY(%(ids)s)"


async def release(conn: Connection, ids: Sequence[UUID], *, wait: timedelta) -> None:
    """Let others, or us, try again after a while."""
    await conn.execute(RELEASE, {"ids": list(ids), "wait": wait})
