"""Local mode: what the one person at the machine takes over, and what to set for other people."""

from typing import Final

import psycopg
import structlog

from docmill.accounts import adoption
from docmill.cli.console import say
from docmill.core import owners
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
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
        OR EXISTS (SELECT FROM documents WHERE documents.owner = owners.owner)
        OR EXISTS (SELECT FROM webhooks WHERE webhooks.owner = owners.owner))
 ORDER BY changed_at DESC
"""


async def adopt_sessions(conn: Connection, to: OwnerKey) -> int:
    """Everything of anonymous sessions becomes that owner's; of how many sessions."""
    sessions = [row[0] for row in await (await conn.execute(FIND_SESSIONS)).fetchall()]
    if sessions:
        await adoption.adopt(conn, to, sessions)
    return len(sessions)
