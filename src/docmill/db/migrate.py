"""Brings a database to the schema of this code: numbered SQL files, each applied once, in order.

Needs a direct connection: behind a transaction pooler the advisory lock would belong to nobody.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import psycopg
from psycopg.rows import TupleRow

from docmill.core.faults import CommandError
from docmill.core.installed import find_rooms
from docmill.core.plugins import Table
from docmill.db import wall

Connection = psycopg.AsyncConnection[TupleRow]

FOLDER: Final = Path(__file__).parent / "migrations"
NAME: Final = re.compile(r"(\d{4})_(\w+)\.sql")
NO_TRANSACTION: Final = "-- no transaction"


class MigrationError(CommandError):
    """The database cannot be brought up to date."""

    def __init__(self, says: str, advice: str, /) -> None:
        super().__init__(f"{says}\n{advice}")


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of the folder. Once applied anywhere it is never edited."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def statements(self) -> list[str]:
        """The file as one, or one by one where PostgreSQL refuses a transaction.

        Then a statement ends with a semicolon at the end of a line, and each must bear being run
        twice (DROP INDEX CONCURRENTLY IF EXISTS before CREATE INDEX CONCURRENTLY).
        """
        if not self.sql.startswith(NO_TRANSACTION):
            return [self.sql]
        bare = re.sub(r"^\s*--.*$", "", self.sql, flags=re.MULTILINE)
        return [
            part.strip() for part in re.split(r";\s*$", bare, flags=re.MULTILINE) if part.strip()
        ]


async def migrate(
    conninfo: str, *, folder: Path = FOLDER, wait: timedelta = timedelta(seconds=60)
) -> list[str]:
    """Apply what is missing and tell its names. Safe to run from many processes at once."""
    known = read_migrations(folder)
    async with await _connect(conninfo) as conn:
        # Whoever waits for us must not wait inside a statement: its snapshot would block
        # CREATE INDEX CONCURRENTLY for ever. So: try, sleep, try again.
        await _take_turn(conn, wait)
        await conn.execute(CREATE_TABLE)
        missing = _select_missing(known, await _read_applied(conn))
        for migration in missing:
            await _apply(conn, migration)
        await conn.execute("SET lock_timeout = '5s'")
        await conn.execute(ADD_VECTORS)
        for table in find_rooms().tables.values():
            if table.schema:
                await _create_room_table(conn, table)
        await wall.raise_wall(conn)
        return [migration.name for migration in missing]


async def find_pending(conninfo: str, *, folder: Path = FOLDER) -> list[str]:
    """The names of what `migrate` would apply; changes nothing."""
    async with await _connect(conninfo) as conn:
        return await find_missing(conn, folder=folder)


async def _connect(conninfo: str) -> Connection:
    try:
        return await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=10)
    except (psycopg.OperationalError, psycopg.ProgrammingError) as exc:
        says = f"The database can't be reached: {str(exc).splitlines()[0]}"
        raise MigrationError(says, "Check DATABASE_URL and that PostgreSQL runs.") from exc


async def find_missing(conn: Connection, *, folder: Path = FOLDER) -> list[str]:
    """The same over a connection that is open already."""
    return [
        migration.name
        for migration in _select_missing(read_migrations(folder), await _read_applied(conn))
    ]


def read_migrations(folder: Path) -> list[Migration]:
    """All migrations of a folder in the order of their numbers."""
    found: dict[int, Migration] = {}
    for path in sorted(folder.glob("*.sql")):
        named = NAME.fullmatch(path.name)
        if named is None or int(named[1]) in found:
            raise MigrationError(
                f"The migration {path.name} has no number of its own.",
                "Name it NNNN_words.sql with the next free number.",
            )
        found[int(named[1])] = Migration(int(named[1]), path.stem, path.read_text("utf-8"))
    return list(found.values())


TRY_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('docmill migrate', 0))"


async def _take_turn(conn: Connection, wait: timedelta) -> None:
    until = time.monotonic() + wait.total_seconds()
    while (await (await conn.execute(TRY_LOCK)).fetchone()) != (True,):
        if time.monotonic() > until:
            raise MigrationError(
                f"Another process is migrating this database, {wait.total_seconds():.0f} s by now.",
                "Wait until it is done, then run `docmill migrate` again.",
            )
        await asyncio.sleep(0.1)


CREATE_TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    integer     PRIMARY KEY,
    name       text        NOT NULL,
    sha256     text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""

TABLE_EXISTS: Final = "SELECT to_regclass('schema_migrations') IS NOT NULL"
APPLIED: Final = "SELECT version, sha256 FROM schema_migrations"


# pgvector may be installed after its migration ran.
ADD_VECTORS: Final = """
DO $$ BEGIN
    IF to_regprocedure('docmill_add_vectors()') IS NOT NULL THEN
        PERFORM docmill_add_vectors();
    END IF;
END $$
"""


async def _create_room_table(conn: Connection, table: Table) -> None:
    """The table of a room outside docmill; its statements bear being run again."""
    try:
        async with conn.transaction():
            await conn.execute(table.schema.encode())
    except psycopg.Error as exc:
        raise MigrationError(
            f"The table of {table.rows} can't be made: {exc.diag.message_primary or exc}",
            "Update or remove the package that registers it, then run `docmill migrate` again.",
        ) from exc


async def _read_applied(conn: Connection) -> dict[int, str]:
    if (await (await conn.execute(TABLE_EXISTS)).fetchone()) != (True,):
        return {}
    return dict(await (await conn.execute(APPLIED)).fetchall())


def _select_missing(known: Sequence[Migration], applied: Mapping[int, str]) -> list[Migration]:
    """Versions that only the database knows are a newer release's, and none of our business."""
    for migration in known:
        if applied.get(migration.version, migration.sha256) != migration.sha256:
            raise MigrationError(
                f"The migration {migration.name} was edited after it had been applied.",
                "Put the file back as it was, and write the change as a new migration.",
            )
    return [migration for migration in known if migration.version not in applied]


RECORD: Final = "INSERT INTO schema_migrations (version, name, sha256) VALUES (%s, %s, %s)"


async def _apply(conn: Connection, migration: Migration) -> None:
    record = (migration.version, migration.name, migration.sha256)
    try:
        if migration.sql.startswith(NO_TRANSACTION):
            # It blocks nobody while it waits for old transactions, so it may wait long.
            await conn.execute("SET lock_timeout = 0")
            for statement in migration.statements:
                await conn.execute(statement.encode())
            await conn.execute(RECORD, record)
            return
        await conn.execute("SET lock_timeout = '5s'")
        async with conn.transaction():
            await conn.execute(migration.sql.encode())
            await conn.execute(RECORD, record)
    except psycopg.errors.LockNotAvailable as exc:
        raise MigrationError(
            f"The migration {migration.name} found its tables locked for 5 s and was undone.",
            "End the long transaction (see pg_stat_activity), then run `docmill migrate` again.",
        ) from exc
    except psycopg.Error as exc:
        raise MigrationError(
            f"The migration {migration.name} failed: {exc.diag.message_primary or exc}",
            "Nothing of it was kept, unless it says `-- no transaction`; mend it and run it again.",
        ) from exc
