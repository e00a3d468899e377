"""Rows nobody needs any more."""

from datetime import timedelta
from typing import Final

from docmill.db.pool import Connection

FORGET_REQUESTS: Final = "DELETE FROM idempotency_keys WHERE created_at < now() - %s"


async def forget_requests(conn: Connection, keep: timedelta) -> int:
    """Idempotency keys are for retries, not for ever."""
    return (await conn.execute(FORGET_REQUESTS, (keep,))).rowcount


FORGET_DELETIONS: Final = "DELETE FROM job_deletions WHERE deleted_at < now() - %s"


async def forget_deletions(conn: Connection, keep: timedelta) -> int:
    """Pages that were away for longer have been loaded again meanwhile."""
    return (await conn.execute(FORGET_DELETIONS, (keep,))).rowcount
