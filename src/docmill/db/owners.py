"""Owners: their row, their place in the queue, how much they may upload, what they told."""

from datetime import timedelta
from typing import Any, Final

from psycopg.types.json import Jsonb

from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection

# The lock is for whoever decides by what is already there; it must come before that is looked at.
INTRODUCE: Final = """
WITH new AS (INSERT INTO owners (owner) VALUES (%(owner)s) ON CONFLICT (owner) DO NOTHING)
SELECT pg_advisory_xact_lock(hashtextextended(%(about)s, 0))
"""


async def introduce(conn: Connection, owner: OwnerKey, *, about: str = "") -> None:
    """Make sure the owner has a row, and be the only one to decide `about` this until COMMIT."""
    await conn.execute(INTRODUCE, {"owner": owner, "about": about or owner})


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


PROFILE: Final = "SELECT profile FROM owners WHERE owner = %s"


async def profile(conn: Connection, owner: OwnerKey) -> dict[str, Any]:
    """What the owner told about itself; empty for one who told nothing or was never here."""
    row = await (await conn.execute(PROFILE, (owner,))).fetchone()
    return row[0] if row else {}


TELL: Final = """
INSERT INTO owners (owner, profile) VALUES (%(owner)s, %(profile)s)
ON CONFLICT (owner) DO UPDATE SET profile = excluded.profile
"""


async def tell(conn: Connection, owner: OwnerKey, profile: dict[str, Any]) -> None:
    """Keep this profile in place of the last. Jobs that are there already keep theirs."""
    await conn.execute(TELL, {"owner": owner, "profile": Jsonb(profile)})
