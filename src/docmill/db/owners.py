"""Owners: their row, their fair place in the queue, and how much they may upload."""

from datetime import timedelta
from typing import Final

from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection

INTRODUCE: Final = "INSERT INTO owners (owner) VALUES (%s) ON CONFLICT (owner) DO NOTHING"


async def introduce(conn: Connection, owner: OwnerKey) -> None:
    """Make sure the owner has a row."""
    await conn.execute(INTRODUCE, (owner,))


# One tag past the owner's last, but never behind the queue's head: an owner who floods the queue
# waits behind himself, and one who comes later starts at the head. An empty queue has no head, so
# the clock (in microseconds, faster than any enqueuing) stands in and old debts are forgotten.
NEXT_TAG: Final = """
UPDATE owners
   SET last_tag = greatest(last_tag + 1, coalesce(
       (SELECT start_tag FROM jobs
         WHERE status = 'queued' AND run_at IS NULL
           AND pipeline = %(pipeline)s AND priority = %(priority)s
         ORDER BY start_tag LIMIT 1),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
 WHERE owner = %(owner)s
RETURNING last_tag
"""


async def next_tag(conn: Connection, owner: OwnerKey, *, pipeline: str, priority: int) -> int:
    """The fair start tag of the owner's next job."""
    args = {"owner": owner, "pipeline": pipeline, "priority": priority}
    row = await (await conn.execute(NEXT_TAG, args)).fetchone()
    assert row is not None, "introduce() comes first"
    return row[0]


# A window begins with the first upload after the last window ended.
COUNT_UPLOAD: Final = """
INSERT INTO owners AS mine (owner, window_started_at, window_uploads) VALUES (%(owner)s, now(), 1)
ON CONFLICT (owner) DO UPDATE SET
    window_uploads = CASE WHEN mine.window_started_at > now() - %(window)s
                          THEN mine.window_uploads + 1 ELSE 1 END,
    window_started_at = CASE WHEN mine.window_started_at > now() - %(window)s
                             THEN mine.window_started_at ELSE now() END
RETURNING window_uploads, extract(epoch FROM window_started_at + %(window)s - now())::float8
"""


async def count_upload(
    conn: Connection, owner: OwnerKey, *, limit: int, window: timedelta
) -> float | None:
    """Count one upload; the seconds to wait when it is one too many."""
    # Losing a count in a crash harms nobody, so nobody waits for the disk.
    await conn.execute("SET LOCAL synchronous_commit = off")
    row = await (await conn.execute(COUNT_UPLOAD, {"owner": owner, "window": window})).fetchone()
    assert row is not None
    return row[1] if row[0] > limit else None
