"""Rows of a run: written with its completion or not at all."""

import json
from collections.abc import AsyncIterator, Mapping

import pytest

from docmill.core import installed
from docmill.core.installed import Rooms
from docmill.core.jobs import (
    About,
    Claimed,
    Ending,
    Finished,
    JobId,
    ReportProgress,
    Status,
    Usage,
)
from docmill.core.plugins import Room, Table
from docmill.db.pool import Connection, Pool
from docmill.queue import rows
from docmill.queue.worker import Runner
from docmill.sandbox.outcome import RunReturned
from docmill.sandbox.pool import SandboxPool
from road import a_result, the
from sandbox.pools import a_task, silent
from tests.queue.test_worker import add, working
from waits import until

pytestmark = pytest.mark.anyio

TABLE = "CREATE TABLE notes (job_id uuid, note text, size int CHECK (size > 0))"
WRITE = """
INSERT INTO notes (job_id, note, size)
SELECT %s, note, size FROM jsonb_to_recordset(%s::jsonb) AS n(note text, size int)
"""


async def write(conn: Connection, job: Claimed, array: str) -> None:
    await conn.execute("DELETE FROM notes WHERE job_id = %s", (job.id,))
    await conn.execute(WRITE, (job.id, array))


async def exist(conn: Connection, job_id: JobId) -> bool:
    found = await conn.execute("SELECT 1 FROM notes WHERE job_id = %s LIMIT 1", (job_id,))
    return await found.fetchone() is not None


@pytest.fixture(autouse=True)
async def notes(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """A noun of the test's own."""
    table = Table("notes", f"{__name__}:write", f"{__name__}:exist")
    monkeypatch.setattr(
        installed, "find_rooms", lambda: Rooms({"tests": Room("tests", tables=(table,))}, {})
    )
    async with pool.connection() as conn:
        await conn.execute(TABLE)
    yield
    async with pool.connection() as conn:
        await conn.execute("DROP TABLE notes")


def giving(array: object) -> Runner:
    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        found: Mapping[str, bytes] = {"notes": json.dumps(array).encode()}
        return Finished(a_result(job).result, None, found), Usage(1, 1, 1)

    return run


async def written(pool: Pool) -> list[tuple[str, int]]:
    async with pool.connection() as conn:
        return await (await conn.execute("SELECT note, size FROM notes ORDER BY note")).fetchall()


async def ended(pool: Pool, runner: Runner) -> tuple[Status, str | None]:
    (job_id,) = await add(pool)

    async def is_over() -> bool:
        async with pool.connection() as conn:
            return (await the(conn, job_id)).status in (Status.COMPLETE, Status.FAILED)

    async with working(pool, None, runner):
        await until(is_over)
    async with pool.connection() as conn:
        job = await the(conn, job_id)
        assert await rows.rows_exist(conn, job_id) is (job.status is Status.COMPLETE)
    return job.status, job.error_code


async def test_rows_are_written_with_the_completion_of_their_job(pool: Pool) -> None:
    array = [{"note": "a\ufffdb", "size": 1}, {"note": "c", "size": 2}]
    assert await ended(pool, giving(array)) == (Status.COMPLETE, None)
    assert await written(pool) == [("a\ufffdb", 1), ("c", 2)]


@pytest.mark.parametrize("array", [[{"note": "ok", "size": 1}, {"size": 0}], {"no": "list"}, "x"])
async def test_rows_that_do_not_fit_fail_their_job_and_leave_nothing(
    pool: Pool, array: object
) -> None:
    assert await ended(pool, giving(array)) == (Status.FAILED, "UNKNOWN")
    assert await written(pool) == []


async def test_rows_cross_from_the_child_as_they_are(sandbox: SandboxPool, document: int) -> None:
    given = {"notes": [{"note": "a\x00b\ud800", "size": 3}], "empty": []}
    ran = await sandbox.run(a_task("rows", rows=given), document, silent)
    assert isinstance(ran, RunReturned)
    assert {noun: json.loads(array) for noun, array in ran.rows.items()} == {
        "notes": [{"note": "a\ufffdb?", "size": 3}],
        "empty": [],
    }


async def test_a_summary_is_written_with_the_completion_of_its_job(pool: Pool) -> None:
    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        about = About({"title": "Acme"}, "trades", None, "Read as trades: it names an ISIN")
        return Finished(a_result(job).result, about=about), Usage(1, 1, 1)

    (job_id,) = await add(pool)

    async def is_over() -> bool:
        async with pool.connection() as conn:
            return (await the(conn, job_id)).status is Status.COMPLETE

    async with working(pool, None, run):
        await until(is_over)
    async with pool.connection() as conn:
        job = await the(conn, job_id)
    assert job.summary == {"title": "Acme"}
    assert (job.requested_pipeline, job.pipeline) == ("extract", "trades")
    assert job.decision == "Read as trades: it names an ISIN"
