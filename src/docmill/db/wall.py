"""The second wall: PostgreSQL itself shows a request its owner's rows alone.

The first are the owner checks in code. A request says once whose it is (`enclose`), and whatever
connection is lent to it from then on acts as the role `docmill_web` and sees that owner's rows.
Outside of requests nothing is enclosed. See docs/decisions/0045-second-wall.md.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow

from docmill.core.owners import Owner, OwnerKey

Connection = psycopg.AsyncConnection[TupleRow]

ROLE: Final = "docmill_web"


@dataclass(frozen=True, slots=True)
class View:
    """Whose rows are seen: an array of owners as PostgreSQL reads it, and the desks held."""

    owners: str
    desks: str
    role: str = ROLE


NOBODY: Final = View("{}", "")
EVERYTHING: Final = View("{}", "", "none")
UNSURE: Final = View("", "", "")  # of a connection that was being set
_VIEW: Final[ContextVar[View]] = ContextVar("docmill_view", default=EVERYTHING)


def view_now() -> View:
    return _VIEW.get()


def enclose(owner: Owner | None) -> None:
    """From here on this request sees what is the owner's, or nothing."""
    _VIEW.set(_view_of(owner.key, owner.desks) if owner else NOBODY)


@lru_cache(maxsize=1024)
def _view_of(owner: OwnerKey, desks: tuple[str, ...]) -> View:
    keys = [owner, *(f"desk:{name}" for name in desks)]
    escaped = (key.replace("\\", "\\\\").replace('"', '\\"') for key in keys)
    literal = "{" + ",".join(f'"{key}"' for key in escaped) + "}"
    return View(literal, "*" if "*" in desks else ",".join(desks))


def open_for_admin() -> None:
    """From here on this request sees everything: who asks was found to be an administrator."""
    _VIEW.set(EVERYTHING)


@contextmanager
def beyond() -> Generator[None]:
    """For what belongs to no single owner: who is asking, how long the queue is, signed links."""
    token = _VIEW.set(EVERYTHING)
    try:
        yield
    finally:
        _VIEW.reset(token)


SET_VIEW: Final = """
SELECT set_config('docmill.owners', %(owners)s, %(local)s),
       set_config('docmill.desks', %(desks)s, %(local)s),
       set_config('role', %(role)s, %(local)s)
"""


async def set_view(conn: Connection, view: View, *, local: bool) -> None:
    """What the connection sees: until it is set again, or (`local`) until the transaction ends."""
    given = {"owners": view.owners, "desks": view.desks, "role": view.role, "local": local}
    await conn.execute(SET_VIEW, given)


IS_KNOWN: Final = "SELECT docmill_is_known(%s, %s)"


async def is_known(conn: Connection, kind: str, wanted: UUID) -> bool:
    """Whether such an id is anybody's: what is hidden is refused, not unknown."""
    row = await (await conn.execute(IS_KNOWN, (kind, wanted))).fetchone()
    return row == (True,)


# Asked as the role itself. The tables that must be walled are those that say whose a row is.
FIND_OPEN_TABLE: Final = """
SELECT CASE WHEN to_regclass('jobs') IS NULL THEN 'jobs' ELSE min(c.relname) END FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname IN ('owner', 'job_id', 'document_id')
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
   AND (NOT row_security_active(c.oid) OR NOT has_table_privilege(c.oid, 'SELECT'))
"""


async def find_gap(conn: Connection) -> str | None:
    """Why the wall does not stand; None when it does. Needs a connection of its own."""
    try:
        async with conn.transaction(force_rollback=True):
            await set_view(conn, NOBODY, local=True)
            row = await (await conn.execute(FIND_OPEN_TABLE)).fetchone()
    except (psycopg.errors.InvalidParameterValue, psycopg.errors.InsufficientPrivilege) as exc:
        return f"the role {ROLE} can't be taken: {exc.diag.message_primary}"
    return f"the table {row[0]} is open, or closed altogether" if row and row[0] else None


# A view that shows whoever asks what they may see of its tables needs no policy of its own.
RAISE_WALL: Final = """
DO $$ DECLARE
    one regclass;
BEGIN
    IF to_regprocedure('docmill_raise_wall()') IS NOT NULL THEN
        PERFORM docmill_raise_wall();
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'docmill_web') THEN
        FOR one IN SELECT oid::regclass FROM pg_class
                    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v'
                      AND reloptions @> ARRAY['security_invoker=true']
                      AND pg_has_role(relowner, 'USAGE') LOOP
            EXECUTE format('GRANT SELECT ON %s TO docmill_web', one);
        END LOOP;
    END IF;
END $$
"""


async def raise_wall(conn: Connection) -> None:
    """As far as this database allows; `find_gap` tells whether it stands."""
    await conn.execute(RAISE_WALL)
