"""Lessons: what an owner's corrections taught about the documents of one layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.core.jobs import JobId
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Lesson:
    """`taught_by` is the name of the document whose correction taught it."""

    id: UUID
    layout: str
    field: str
    lesson: dict[str, Any]
    job_id: JobId | None
    taught_by: str
    created_at: datetime


# One lesson for a field of a layout: the last correction is right.
LEARN: Final = """
INSERT INTO lessons (owner, layout, field, lesson, job_id, taught_by)
SELECT owners.owner, l ->> 'layout', l ->> 'field', l, %(job_id)s, %(taught_by)s
  FROM owners CROSS JOIN jsonb_array_elements(%(lessons)s) AS l
 WHERE owners.owner = %(owner)s AND owners.learning
ON CONFLICT (owner, layout, field) DO UPDATE SET lesson = excluded.lesson,
    job_id = excluded.job_id, taught_by = excluded.taught_by, created_at = now()
RETURNING field
"""


async def learn(
    conn: Connection,
    owner: OwnerKey,
    lessons: Sequence[dict[str, Any]],
    *,
    job_id: JobId,
    taught_by: str,
) -> list[str]:
    """Keep what a correction taught, unless the owner switched learning off; the fields kept."""
    args = {"owner": owner, "job_id": job_id, "taught_by": taught_by, "lessons": Jsonb(lessons)}
    return [row[0] for row in await (await conn.execute(LEARN, args)).fetchall()]


OF_OWNER: Final = """
SELECT id, layout, field, lesson, job_id, taught_by, created_at
  FROM lessons WHERE owner = %(owner)s ORDER BY created_at DESC, id LIMIT %(limit)s
"""


async def of_owner(conn: Connection, owner: OwnerKey, limit: int = 2000) -> list[Lesson]:
    """The newest lessons first."""
    async with conn.cursor(row_factory=class_row(Lesson)) as cur:
        return await (await cur.execute(OF_OWNER, {"owner": owner, "limit": limit})).fetchall()


async def for_run(conn: Connection, owner: OwnerKey) -> list[dict[str, Any]]:
    """What a run is handed: nothing where the owner switched learning off."""
    if not await is_learning(conn, owner):
        return []
    found = await of_owner(conn, owner)
    return [{**each.lesson, "id": str(each.id), "from": each.taught_by} for each in found]


FORGET: Final = """
DELETE FROM lessons WHERE owner = %(owner)s AND (%(id)s::uuid IS NULL OR id = %(id)s)
"""


async def forget(conn: Connection, owner: OwnerKey, lesson_id: UUID | None = None) -> int:
    """One lesson, or all of them; how many there were."""
    return (await conn.execute(FORGET, {"owner": owner, "id": lesson_id})).rowcount


IS_LEARNING: Final = "SELECT learning FROM owners WHERE owner = %s"


async def is_learning(conn: Connection, owner: OwnerKey) -> bool:
    row = await (await conn.execute(IS_LEARNING, (owner,))).fetchone()
    return row[0] if row else True


SWITCH: Final = """
INSERT INTO owners (owner, learning) VALUES (%(owner)s, %(on)s)
ON CONFLICT (owner) DO UPDATE SET learning = excluded.learning
"""


async def switch(conn: Connection, owner: OwnerKey, *, on: bool) -> None:
    """Off: nothing is learned and nothing learned is used; the lessons stay until forgotten."""
    await conn.execute(SWITCH, {"owner": owner, "on": on})
