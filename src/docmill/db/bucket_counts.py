"""Buckets held against their rows: who knows an object, and how it added up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.db.buckets import Found
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Count:
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
class Known:
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


async def of_generations(
    conn: Connection, bucket: str, found: Sequence[Found]
) -> dict[tuple[str, str], Known]:
    """Rows of objects where they came in, by key and generation."""
    args = {
        "bucket": bucket,
        "keys": [one.key for one in found],
        "generations": [one.generation for one in found],
    }
    rows = await (await conn.execute(OF_GENERATIONS, args)).fetchall()
    return {(row[0], row[1]): Known(row[2], row[3], row[4]) for row in rows}


OF_IDS: Final = """
SELECT id, state, place FROM bucket_objects WHERE bucket = %(bucket)s AND id = ANY(%(ids)s)
"""


async def of_ids(conn: Connection, bucket: str, ids: Sequence[UUID]) -> dict[UUID, Known]:
    args = {"bucket": bucket, "ids": list(ids)}
    rows = await (await conn.execute(OF_IDS, args)).fetchall()
    return {row[0]: Known(row[0], row[1], row[2]) for row in rows}


EXPECTED: Final = """
SELECT split_part(place, '/', 1), count(*) FROM bucket_objects
 WHERE bucket = %s AND state IN ('queued', 'archived', 'failed') GROUP BY 1
"""


async def expected(conn: Connection, bucket: str) -> dict[str, int]:
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


async def save(conn: Connection, bucket: str, count: Count) -> None:
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
 WHERE bucket = coalesce(%s, (SELECT bucket FROM bucket_counts ORDER BY counted_at DESC LIMIT 1))
 ORDER BY array_position(ARRAY['incoming', 'processing', 'archive', 'failed'], prefix)
"""


async def last(conn: Connection, bucket: str | None = None) -> list[Count]:
    """As it was last counted; without a name, the bucket that was counted last."""
    async with conn.cursor(row_factory=class_row(Count)) as cur:
        return await (await cur.execute(LAST, (bucket,))).fetchall()
