"""Objects of watched buckets: which generations are known, and what is next to do with each.

A poller holds a row while it works on it. A hold ends by itself, so a dead poller's work goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, get_args
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.faults import Fault
from docmill.core.owners import Owner
from docmill.db.pool import Connection
from docmill.web.params import Cursor

LONGEST_PAUSE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A generation as a listing shows it."""

    key: str
    generation: str
    bytes: int


@dataclass(frozen=True, slots=True)
class BucketObject:
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


async def find_unknown(
    conn: Connection, bucket: str, found: Sequence[FoundObject]
) -> list[FoundObject]:
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
INSERT INTO bucket_objects (bucket, key, generation, bytes, place, held_until, source, owner)
SELECT %(bucket)s, f.key, f.generation, f.bytes, f.key, now() + %(hold)s, %(source)s, %(owner)s
  FROM unnest(%(keys)s::text[], %(generations)s::text[], %(sizes)s::bigint[])
       AS f(key, generation, bytes)
 ORDER BY f.key
ON CONFLICT ON CONSTRAINT one_row_per_generation DO NOTHING
RETURNING id, key, generation, bytes, state, place, code, reason, registered_at
"""


@dataclass(frozen=True, slots=True)
class ObjectOwner:
    """Whose the objects of a bucket are: the source they come by, and its desk."""

    bucket: str
    source: str
    owner: str


async def register(
    conn: Connection, whose: ObjectOwner, found: Sequence[FoundObject], *, hold: timedelta
) -> list[BucketObject]:
    """Write down new generations; those that this call was the first to know, held by it."""
    args = {
        "bucket": whose.bucket,
        "source": whose.source,
        "owner": whose.owner,
        "keys": [one.key for one in found],
        "generations": [one.generation for one in found],
        "sizes": [one.bytes for one in found],
        "hold": hold,
    }
    async with conn.cursor(row_factory=class_row(BucketObject)) as cur:
        return await (await cur.execute(REGISTER, args)).fetchall()


PLACED: Final = """
SELECT bucket, id, key, generation, bytes, state, place, code, reason, registered_at
  FROM bucket_objects WHERE id = %s
"""


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """An object and the name of its bucket."""

    bucket: str
    object: BucketObject


async def find_placed(conn: Connection, object_id: UUID) -> PlacedObject | None:
    row = await (await conn.execute(PLACED, (object_id,))).fetchone()
    return PlacedObject(row[0], BucketObject(*row[1:])) if row else None


RESUME: Final = """
WITH picked AS MATERIALIZED (
    SELECT id FROM bucket_objects
     WHERE bucket = %(bucket)s AND state IN ('registered', 'refused') AND held_until < now()
     ORDER BY registered_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
UPDATE bucket_objects o SET held_until = now() + %(hold)s FROM picked WHERE o.id = picked.id
RETURNING o.id, o.key, o.generation, o.bytes, o.state, o.place, o.code, o.reason, o.registered_at
"""


async def resume(
    conn: Connection, bucket: str, *, limit: int, hold: timedelta
) -> list[BucketObject]:
    """Take up what somebody began and did not end."""
    args = {"bucket": bucket, "limit": limit, "hold": hold}
    async with conn.cursor(row_factory=class_row(BucketObject)) as cur:
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


async def take_ended(
    conn: Connection, bucket: str, *, limit: int, hold: timedelta
) -> list[BucketObject]:
    """Objects whose job has ended; `state` is the job's here, `code` and `reason` as well."""
    args = {"bucket": bucket, "limit": limit, "hold": hold}
    async with conn.cursor(row_factory=class_row(BucketObject)) as cur:
        return await (await cur.execute(ENDED, args)).fetchall()


RECORD_CHANGE: Final = """
UPDATE bucket_objects
   SET state = %(state)s, place = %(place)s, code = %(code)s, reason = %(reason)s,
       held_until = CASE WHEN %(state)s = 'refused' THEN held_until ELSE 'epoch' END,
       changed_at = now()
 WHERE id = %(id)s AND state = ANY(%(was)s)
"""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """What became of an object."""

    state: str
    place: str
    code: str | None = None
    reason: str | None = None


async def record_change(
    conn: Connection, object_id: UUID, news: ObjectChange, *, was: Sequence[str]
) -> bool:
    """Write down a step that was taken; False when another poller was ahead of us."""
    args = {
        "id": object_id,
        "state": news.state,
        "place": news.place,
        "code": news.code,
        "reason": news.reason,
        "was": list(was),
    }
    return (await conn.execute(RECORD_CHANGE, args)).rowcount == 1


# The older it is the longer it waits: by half its age, so that each pause is longer than the last.
RELEASE: Final = """
UPDATE bucket_objects
   SET held_until = now() + greatest(%(wait)s, least((now() - registered_at) / 2, %(longest)s)),
       code = CASE WHEN state = 'registered' THEN %(code)s ELSE code END,
       reason = CASE WHEN state = 'registered' THEN %(reason)s ELSE reason END
 WHERE id = %(id)s
"""


async def release(conn: Connection, object_id: UUID, why: Fault, *, wait: timedelta) -> None:
    """Let others, or us, try again after a while; until then the list says why it waits."""
    args = {"id": object_id, "code": why.code, "reason": why.says, "wait": wait}
    await conn.execute(RELEASE, {**args, "longest": LONGEST_PAUSE})


ObjectState = Literal["registered", "refused", "queued", "archived", "failed", "gone"]
STATES: Final[tuple[ObjectState, ...]] = get_args(ObjectState)


@dataclass(frozen=True, slots=True)
class BucketObjectRow:
    """An object for people: where it came in, where it lies, and how it stands."""

    id: UUID
    bucket: str
    source: str | None
    key: str
    bytes: int
    state: ObjectState
    place: str
    code: str | None
    reason: str | None
    registered_at: datetime
    changed_at: datetime
    job_id: UUID | None


# Two statements, so that each is read from its index.
COLUMNS: Final = """
SELECT o.id, o.bucket, o.source, o.key, o.bytes, o.state, o.place, o.code, o.reason,
       o.registered_at, o.changed_at,
       (SELECT j.id FROM jobs j WHERE j.document_id = o.id ORDER BY created_at DESC LIMIT 1)
       AS job_id
  FROM bucket_objects o
 WHERE o.owner LIKE 'desk:%%'
   AND ('*' = ANY(%(desks)s) OR substr(o.owner, 6) = ANY(%(desks)s))
   AND (o.registered_at, o.id) < (%(at)s, %(id)s)
"""
NEWEST: Final = " ORDER BY o.registered_at DESC, o.id DESC LIMIT %(limit)s"
LIST: Final = COLUMNS + NEWEST
LIST_OF_STATE: Final = COLUMNS + " AND o.state = %(state)s" + NEWEST


async def list_rows(
    conn: Connection, asker: Owner, *, state: str | None, after: Cursor | None, limit: int
) -> list[BucketObjectRow]:
    """Every object that was ever registered for the asker's desks, the newest first."""
    args = {
        "desks": list(asker.desks),
        "state": state,
        "at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(BucketObjectRow)) as cur:
        return await (await cur.execute(LIST_OF_STATE if state else LIST, args)).fetchall()


@dataclass(frozen=True, slots=True)
class BucketCount:
    """One prefix of a bucket: objects = done + failed + waiting + unknown.

    `missing` are rows whose object is not where they say.
    """

    prefix: str
    objects: int
    done: int
    failed: int
    waiting: int
    unknown: int
    missing: int
    counted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KnownObject:
    """What a row says of an object."""

    id: UUID
    state: str
    place: str


OF_GENERATIONS: Final = """
SELECT o.key, o.generation, o.id, o.state, o.place FROM bucket_objects o
  JOIN unnest(%(keys)s::text[], %(generations)s::text[]) AS f(key, generation)
    ON o.key = f.key AND o.generation = f.generation
 WHERE o.bucket = %(bucket)s
"""


async def find_by_generation(
    conn: Connection, bucket: str, found: Sequence[FoundObject]
) -> dict[tuple[str, str], KnownObject]:
    """Rows of objects where they came in, by key and generation."""
    args = {
        "bucket": bucket,
        "keys": [one.key for one in found],
        "generations": [one.generation for one in found],
    }
    rows = await (await conn.execute(OF_GENERATIONS, args)).fetchall()
    return {(row[0], row[1]): KnownObject(row[2], row[3], row[4]) for row in rows}


OF_IDS: Final = """
SELECT id, state, place FROM bucket_objects WHERE bucket = %(bucket)s AND id = ANY(%(ids)s)
"""


async def find_by_id(conn: Connection, bucket: str, ids: Sequence[UUID]) -> dict[UUID, KnownObject]:
    args = {"bucket": bucket, "ids": list(ids)}
    rows = await (await conn.execute(OF_IDS, args)).fetchall()
    return {row[0]: KnownObject(row[0], row[1], row[2]) for row in rows}


EXPECTED: Final = """
SELECT split_part(place, '/', 1), count(*) FROM bucket_objects
 WHERE bucket = %s AND state IN ('queued', 'archived', 'failed') GROUP BY 1
"""


async def count_expected(conn: Connection, bucket: str) -> dict[str, int]:
    """How many objects must lie under each prefix, by the rows that are sure of it."""
    rows = await (await conn.execute(EXPECTED, (bucket,))).fetchall()
    return {row[0]: row[1] for row in rows}


SAVE: Final = """
INSERT INTO bucket_counts AS c
       (bucket, prefix, objects, done, failed, waiting, unknown, missing, counted_at)
VALUES (%(bucket)s, %(prefix)s, %(objects)s, %(done)s, %(failed)s, %(waiting)s, %(unknown)s,
        %(missing)s, now())
ON CONFLICT (bucket, prefix) DO UPDATE SET
    objects = excluded.objects, done = excluded.done, failed = excluded.failed,
    waiting = excluded.waiting, unknown = excluded.unknown, missing = excluded.missing,
    counted_at = excluded.counted_at
"""


async def save_count(conn: Connection, bucket: str, count: BucketCount) -> None:
    args = {
        "bucket": bucket,
        "prefix": count.prefix,
        "objects": count.objects,
        "done": count.done,
        "failed": count.failed,
        "waiting": count.waiting,
        "unknown": count.unknown,
        "missing": count.missing,
    }
    await conn.execute(SAVE, args)


LAST: Final = """
SELECT prefix, objects, done, failed, waiting, unknown, missing, counted_at
  FROM bucket_counts
 WHERE bucket = (SELECT bucket FROM sources WHERE name = %s)
 ORDER BY array_position(ARRAY['incoming', 'processing', 'archive', 'failed'], prefix)
"""


async def last_counts(conn: Connection, source: str) -> list[BucketCount]:
    """As the source's bucket was last counted."""
    async with conn.cursor(row_factory=class_row(BucketCount)) as cur:
        return await (await cur.execute(LAST, (source,))).fetchall()
