"""Owners: what the one person of local mode takes over, and the secrets of an installation."""

import psycopg
import pytest

from docmill.accounts import adoption
from docmill.core import owners
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.documents import queries as db_owners
from docmill.invoices import queries as invoices_queries
from docmill.jobs import queries
from docmill.queue import enqueue
from docmill.web import sessions
from road import ANN, BOB, add_job, claim_one, finish, the

pytestmark = pytest.mark.anyio

ME = owners.LOCAL.key


async def jobs_of(conn: Connection, owner: OwnerKey) -> set[str]:
    found = await queries.list_recent(conn, owner, queries.JobFilter(), after=None, limit=10)
    return {str(job.id) for job in found}


async def test_the_one_person_takes_over_what_sessions_had_and_nothing_else(
    conn: Connection,
) -> None:
    user, desk = owners.user("eve").key, owners.desk("trading").key
    mine = [await add_job(conn, owner) for owner in (ANN, BOB)]
    others = {owner: await add_job(conn, owner) for owner in (user, desk)}
    await finish(conn, await claim_one(conn))
    await db_owners.save_profile(conn, ANN, {"tin": "1"})
    for owner, label in ((ANN, "old"), (BOB, "new")):
        lesson = {"layout": "l", "field": "total", "label": label}
        await invoices_queries.learn(conn, owner, [lesson], job_id=mine[0], taught_by="a.pdf")
    assert await adoption.adopt_sessions(conn, ME) == 2
    assert await jobs_of(conn, ME) == {str(job_id) for job_id in mine}
    for owner, job_id in others.items():
        assert await jobs_of(conn, owner) == {str(job_id)}
    assert (await the(conn, mine[0])).owner == ME
    assert await db_owners.read_profile(conn, ME) == {"tin": "1"}
    assert len(await invoices_queries.list_lessons(conn, ME)) == 1
    assert await invoices_queries.list_lessons(conn, ANN) == []
    await conn.commit()
    await adoption.adopt_sessions(conn, ME)
    assert await jobs_of(conn, ME) == {str(job_id) for job_id in mine}


async def test_with_no_sessions_there_is_nothing_to_take_over(conn: Connection) -> None:
    await add_job(conn, owners.user("eve").key)
    assert await adoption.adopt_sessions(conn, ME) == 0


@pytest.mark.parametrize("to", ["desk:trading", "session:bob"])
async def test_a_sessions_job_goes_to_a_known_person_alone(conn: Connection, to: str) -> None:
    job_id = await add_job(conn, ANN)
    await enqueue.ensure_owner(conn, OwnerKey(to))
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute("UPDATE jobs SET owner = %s WHERE id = %s", (to, job_id))


async def test_the_first_secret_of_a_name_is_everybodys(conn: Connection) -> None:
    first = await sessions.share_secret(conn, "sessions", b"1" * 32)
    assert await sessions.share_secret(conn, "sessions", b"2" * 32) == first == b"1" * 32
    assert await sessions.share_secret(conn, "other", b"2" * 32) == b"2" * 32
