"""Files by a part of their name, and jobs that were deleted meanwhile."""

from datetime import UTC, datetime, timedelta

import pytest

from docmill.core.jobs import JobId, Status
from docmill.db.pool import Connection
from docmill.jobs import queries, retention
from docmill.jobs.queries import JobFilter
from docmill.web.params import Cursor
from road import ANN, BOB, add_job, the

pytestmark = pytest.mark.anyio

LONG_AGO = datetime.fromtimestamp(0, UTC)
RENAME = """
UPDATE documents SET original_filename = %s
 WHERE id = (SELECT document_id FROM jobs WHERE id = %s)
"""


async def named(conn: Connection, name: str) -> JobId:
    job_id = await add_job(conn)
    await conn.execute(RENAME, (name, job_id))
    await conn.commit()  # jobs of one transaction are of the same age
    return job_id


async def found(conn: Connection, text: str, **given: Status) -> list[JobId]:
    only = JobFilter(tuple(given.values()) or None, text=text)
    page = await queries.list_recent(conn, ANN, only, after=None, limit=10)
    return [job.id for job in page]


@pytest.mark.parametrize("few", [0, 500], ids=["many have it", "few have it"])
async def test_a_part_of_a_name_finds_the_file(
    conn: Connection, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By both ways: through the names first, and through the jobs."""
    monkeypatch.setattr(queries, "FEW", few)
    first = await named(conn, "Rechnung 100%_Müller.pdf")
    second = await named(conn, "rechnung 7.pdf")
    await add_job(conn, BOB)
    assert await found(conn, "RECHNUNG") == [second, first]
    assert await found(conn, "müller") == [first]
    assert await found(conn, "%_") == [first]
    assert await found(conn, "\\") == []
    assert await found(conn, "a.pdf") == []  # Bob's
    assert await found(conn, "rechnung", status=Status.FAILED) == []
    job = await the(conn, second)
    only = JobFilter(text="rechnung")
    after = Cursor(job.created_at, job.id)
    page = await queries.list_recent(conn, ANN, only, after=after, limit=10)
    assert [each.id for each in page] == [first]
    assert only.lets(job)
    assert not JobFilter(text="müller").lets(job)


async def test_a_deletion_is_told_by_the_owners_clock(conn: Connection) -> None:
    kept, gone = await add_job(conn), await add_job(conn)
    before = (await the(conn, gone)).updated_at
    await queries.delete_job(conn, gone)
    (told,) = await queries.list_deleted(conn, ANN, since=before, limit=10)
    assert told.job_id == gone
    assert told.deleted_at > before
    assert (await queries.read_clocks(conn, [ANN]))[ANN] == told.deleted_at
    assert await queries.list_deleted(conn, ANN, since=told.deleted_at, limit=10) == []
    assert await queries.list_deleted(conn, BOB, since=LONG_AGO, limit=10) == []
    assert (await the(conn, kept)).updated_at < told.deleted_at


async def test_deletions_are_forgotten_after_a_while(conn: Connection) -> None:
    job_id = await add_job(conn)
    await queries.delete_job(conn, job_id)
    await conn.execute("UPDATE job_deletions SET deleted_at = now() - interval '8 days'")
    assert await retention.delete_old_deletions(conn, timedelta(days=9)) == 0
    assert await retention.delete_old_deletions(conn, timedelta(days=7)) == 1
    assert await queries.list_deleted(conn, ANN, since=LONG_AGO, limit=10) == []
