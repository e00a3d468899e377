"""What a database says of its own state."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from docmill.db import condition
from docmill.db.pool import Connection

pytestmark = pytest.mark.anyio


async def test_a_server_tells_its_version_its_promises_and_its_time(conn: Connection) -> None:
    told = await condition.read_condition(conn)
    assert told.version >= 140000
    assert told.synchronous_commit == "on"
    assert abs(datetime.now(UTC) - told.now) < timedelta(minutes=1)


async def test_an_open_transaction_is_named_and_an_idle_session_is_not(
    conn: Connection, database_url: str
) -> None:
    named = make_conninfo(database_url, application_name="nightly report")
    async with await psycopg.AsyncConnection.connect(named, autocommit=True) as other:
        await other.execute("SELECT 1")
        assert await condition.find_old_snapshots(conn, timedelta(0)) == []
        await conn.rollback()
        await other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await other.execute("SELECT 1")
        (holder,) = await condition.find_old_snapshots(conn, timedelta(0))
        assert (holder.name, holder.state) == ("nightly report", "idle in transaction")
        assert holder.pid == other.info.backend_pid
        assert await condition.find_old_snapshots(conn, timedelta(minutes=5)) == []
