"""The second wall: what PostgreSQL itself shows a request, whoever owns the tables."""

from contextvars import copy_context

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from docmill.core import owners
from docmill.core.owners import Owner
from docmill.db import migrate, wall
from docmill.db.pool import Pool, connection, open_pool, read_connection
from road import ANN, BOB, add_job

pytestmark = pytest.mark.anyio

# Tell of no owner: what runs, what was applied, and how full a bucket was.
NOBODYS = {
    "workers", "breakers", "bucket_counts", "schema_migrations", "secrets", "mappings",
    "batch_parts", "embedding_models", "event_cursors", "service_pauses", "removals", "sweeps",
    "cost_sums",
}  # fmt: skip
WALLED = """
SELECT relname, relrowsecurity FROM pg_class
 WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
"""


async def count_jobs(pool: Pool, owner: Owner | None) -> tuple[int, int]:
    """How many jobs a request of this owner sees, read and in a transaction."""
    wall.enclose(owner)
    found: list[int] = []
    for way in (read_connection, connection):
        async with way(pool) as conn:
            row = await (await conn.execute("SELECT count(*) FROM jobs")).fetchone()
            assert row is not None
            found.append(row[0])
    return found[0], found[1]


async def count_all(pool: Pool) -> int:
    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT count(*) FROM jobs")).fetchone()
    assert row is not None
    return row[0]


async def test_every_table_is_walled_or_nobodys(pool: Pool) -> None:
    async with pool.connection() as conn:
        found = dict(await (await conn.execute(WALLED)).fetchall())
    assert {name for name, is_walled in found.items() if not is_walled} == NOBODYS


@pytest.mark.parametrize("pooler", [False, True], ids=["direct", "behind a pooler"])
async def test_a_request_sees_its_owners_rows_and_nothing_stays_behind(
    database_url: str, pooler: bool
) -> None:
    async with open_pool(database_url, size=1, pooler=pooler) as pool:
        async with pool.connection() as conn:
            for owner in (ANN, ANN, BOB, owners.desk("fx").key, owners.desk("rates").key):
                await add_job(conn, owner)
        odd = Owner(owners.OwnerKey('user:"},{\\ %s'))
        views = [
            (Owner(ANN), 2), (Owner(BOB), 1), (Owner(BOB, desks=("fx",)), 2),
            (Owner(ANN, desks=("*",)), 4), (odd, 0), (None, 0),
        ]  # fmt: skip
        for owner, count in views * 2:
            assert await count_jobs(pool, owner) == (count, count), owner
            assert await count_all(pool) == 5
        with wall.beyond():
            async with read_connection(pool) as conn:
                assert await (await conn.execute("SELECT count(*) FROM jobs")).fetchone() == (5,)
        wall.open_for_admin()


async def test_what_is_anothers_can_neither_be_changed_nor_added_to(pool: Pool) -> None:
    async with pool.connection() as conn:
        job_id = await add_job(conn, ANN)
    wall.enclose(Owner(BOB))
    async with connection(pool) as conn:
        for statement in (
            "UPDATE jobs SET priority = 1 WHERE id = %s",
            "DELETE FROM jobs WHERE id = %s",
        ):
            assert (await conn.execute(statement, (job_id,))).rowcount == 0
        assert await wall.is_known(conn, "jobs", job_id)
    add = "INSERT INTO job_events (job_id, kind) VALUES (%s, 'viewed')"
    with pytest.raises(Exception, match="row-level security"):
        async with pool.lend() as conn:
            await conn.execute(add, (job_id,))
    wall.open_for_admin()


async def test_an_ordinary_owner_of_the_tables_has_the_wall_once_it_may_take_the_role(
    server_url: str,
) -> None:
    """As on a managed server, where somebody else makes roles."""
    with psycopg.connect(server_url, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS plain")
        admin.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        admin.execute("CREATE DATABASE plains OWNER plain")
        url = make_conninfo(server_url, dbname="plains", user="plain", password="plain")
        try:
            await migrate.migrate(url)
            async with await psycopg.AsyncConnection.connect(url) as conn:
                gap = await wall.find_gap(conn)
                assert gap is not None
                assert "docmill_web" in gap
            async with open_pool(url, size=1) as pool:
                assert await count_jobs(pool, Owner(BOB)) == (0, 0)  # the start goes on without
            wall.open_for_admin()
            admin.execute("GRANT docmill_web TO plain")
            await migrate.migrate(url)
            async with open_pool(url, size=1) as pool:
                async with pool.connection() as conn:
                    assert await wall.find_gap(conn) is None
                    await add_job(conn, ANN)
                assert await count_jobs(pool, Owner(ANN)) == (1, 1)
                assert await count_jobs(pool, Owner(BOB)) == (0, 0)
        finally:
            wall.open_for_admin()
            admin.execute(sql.SQL("DROP DATABASE plains WITH (FORCE)"))
            admin.execute("DROP ROLE plain")


def test_outside_of_a_request_everything_is_seen() -> None:
    assert copy_context().run(wall.view_now) is wall.EVERYTHING
