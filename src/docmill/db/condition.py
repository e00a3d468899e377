"""What a database server says of its own condition."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class DatabaseCondition:
    """What a server says of itself; `now` is its clock at the moment of asking."""

    version: int
    synchronous_commit: str
    now: datetime


READ_CONDITION: Final = """
SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'),
       clock_timestamp()
"""


async def read_condition(conn: Connection) -> DatabaseCondition:
    row = await (await conn.execute(READ_CONDITION)).fetchone()
    assert row is not None
    return DatabaseCondition(*row)


READ_ONLY: Final = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool"


async def is_read_only(conn: Connection) -> bool:
    """After a failover one may be connected to what is the standby now."""
    return (await (await conn.execute(READ_ONLY)).fetchone()) == (True,)


@dataclass(frozen=True, slots=True)
class SnapshotHolder:
    """A session or a prepared transaction whose old snapshot keeps dead rows from being removed."""

    pid: int | None
    name: str
    user: str
    state: str
    age: timedelta


OLD_SNAPSHOTS: Final = """
SELECT pid, coalesce(nullif(application_name, ''), 'unnamed'), coalesce(usename, ''),
       coalesce(state, ''), now() - coalesce(xact_start, query_start, backend_start)
  FROM pg_stat_activity
 WHERE pid <> pg_backend_pid() AND datname = current_database()
   AND backend_type = 'client backend'
   AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL)
   AND coalesce(xact_start, query_start, backend_start) < now() - %(older)s
UNION ALL
SELECT NULL, gid, owner, 'prepared', now() - prepared
  FROM pg_prepared_xacts
 WHERE database = current_database() AND prepared < now() - %(older)s
 ORDER BY 5 DESC LIMIT 5
"""


async def find_old_snapshots(conn: Connection, older: timedelta) -> list[SnapshotHolder]:
    """The oldest first, at most five."""
    rows = await (await conn.execute(OLD_SNAPSHOTS, {"older": older})).fetchall()
    return [SnapshotHolder(*row) for row in rows]
