"""docmill sessions: an operator sees who is there and ends it."""

from datetime import timedelta

import psycopg
import pytest

from docmill.core import owners
from docmill.db.pool import Pool
from docmill.web.sessions import SignedInSessions
from sites import Start, upload
from terminal import Terminal
from waits import until

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


async def test_an_operator_ends_an_anonymous_session_and_its_jobs_stay(
    start: Start, terminal: Terminal, database_url: str
) -> None:
    operator = terminal.with_(DATABASE_URL=database_url)
    async with start() as site, site.client() as guest:
        job_id = await upload(guest)
        (listed,) = operator.run("sessions", "list", "--json").json
        assert (listed["signed_in"], listed["owner"]) == (False, f"session:{listed['id']}")
        assert listed["id"] in operator.run("sessions", "list").out
        done = operator.run("sessions", "end", listed["id"])
        assert (done.code, "1 sessions ended" in done.out) == (0, True)

        async def is_stranger() -> bool:
            return (await guest.get(f"/api/jobs/{job_id}")).status_code == 403

        await until(is_stranger)
        assert operator.run("sessions", "list", "--json").json == []
        assert operator.run("sessions", "end", listed["id"]).code == 1
    with psycopg.connect(database_url) as conn:
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


async def test_an_operator_ends_all_of_a_user(
    terminal: Terminal, pool: Pool, database_url: str
) -> None:
    operator = terminal.with_(DATABASE_URL=database_url)
    from_now = SignedInSessions(pool, secure=False)
    async with pool.connection() as conn:
        for subject in ("ann", "ann", "bob"):
            who = owners.user(subject)
            await conn.execute("INSERT INTO owners VALUES (%s) ON CONFLICT DO NOTHING", (who.key,))
            await from_now.begin(conn, who, subject, DAY)
        await conn.execute(
            "INSERT INTO api_keys (owner, name, hash, hint, scopes) "
            "VALUES ('user:ann', 'n', sha256('x'), 'dm_', '{read}')"
        )
    done = operator.run("sessions", "end", "--user", "ann", "--keys", "--json")
    assert done.json == {"sessions": 2, "keys": 1}
    left = operator.run("sessions", "list", "--json").json
    assert [(one["name"], one["signed_in"]) for one in left] == [("bob", True)]
    assert operator.run("sessions", "end").code == 2
