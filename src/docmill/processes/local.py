"""Local mode: what the one person at the machine takes over, and what to set for other people."""

from typing import Final

import psycopg
import structlog

from docmill.cli.console import say
from docmill.core import owners
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.extract import queries
from docmill.queue.enqueue import ensure_owner
from docmill.settings import Settings
from docmill.web.middleware import EVERYWHERE

log = structlog.get_logger()


async def take_over_sessions(settings: Settings, url: str) -> None:
    """What sessions in this data folder had uploaded is the one person's.

    Only in the embedded database: one of DATABASE_URL may have other people's sessions in it.
    """
    if settings.auth_mode != "local" or settings.database_url:
        return
    async with await psycopg.AsyncConnection.connect(url) as conn:
        count = await adopt_sessions(conn, owners.LOCAL.key)
    if count:
        log.info("sessions.taken_over", sessions=count)


def advise_hosts(settings: Settings) -> None:
    """Who listens at all addresses is reached by names nobody told us."""
    if settings.host in EVERYWHERE and not settings.hosts:
        say("Only localhost is answered: set DOCMILL_HOSTS to the names and addresses people use.")


FIND_SESSIONS: Final = """
SELECT owner FROM owners
 WHERE owner LIKE 'session:%'
   AND (profile <> '{}' OR preferences <> '{}'
        OR EXISTS (SELECT FROM documents WHERE documents.owner = owners.owner))
 ORDER BY changed_at DESC
"""
ADOPT: Final = (
    "UPDATE documents SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "UPDATE jobs SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "UPDATE trades SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "UPDATE reprocesses SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "UPDATE document_fields SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "UPDATE chunks SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    # Of two lessons about the same thing the newer one stays.
    """
    INSERT INTO lessons (owner, layout, field, lesson, job_id, taught_by, created_at)
    SELECT DISTINCT ON (layout, field)
           %(to)s, layout, field, lesson, job_id, taught_by, created_at
      FROM lessons WHERE owner = ANY(%(from)s) ORDER BY layout, field, created_at DESC
    ON CONFLICT (owner, layout, field) DO NOTHING
    """,
    "DELETE FROM lessons WHERE owner = ANY(%(from)s)",
    """
    UPDATE owners SET (profile, learning) = (
        SELECT profile, learning FROM owners
         WHERE owner = ANY(%(from)s) AND profile <> '{}' ORDER BY changed_at DESC LIMIT 1)
     WHERE owner = %(to)s AND profile = '{}'
       AND EXISTS (SELECT FROM owners WHERE owner = ANY(%(from)s) AND profile <> '{}')
    """,
    """
    UPDATE owners SET preferences = (
        SELECT preferences FROM owners
         WHERE owner = ANY(%(from)s) AND preferences <> '{}' ORDER BY changed_at DESC LIMIT 1)
     WHERE owner = %(to)s AND preferences = '{}'
       AND EXISTS (SELECT FROM owners WHERE owner = ANY(%(from)s) AND preferences <> '{}')
    """,
)
ADOPT_VECTORS: Final = "UPDATE chunk_vectors SET owner = %(to)s WHERE owner = ANY(%(from)s)"


async def adopt_sessions(conn: Connection, to: OwnerKey) -> int:
    """Everything of anonymous sessions becomes that owner's; of how many sessions."""
    sessions = [row[0] for row in await (await conn.execute(FIND_SESSIONS)).fetchall()]
    if not sessions:
        return 0
    await ensure_owner(conn, to)
    moved = {"to": to, "from": sessions}
    for statement in ADOPT:
        await conn.execute(statement, moved)
    if await queries.have_vectors(conn):
        await conn.execute(ADOPT_VECTORS, moved)
    return len(sessions)
