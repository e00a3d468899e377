"""Retention: periods by pipeline and owner, pressure of the disk, the archive and its way back."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from bench import sweep as lane
from docmill.core.retention import RetentionRules
from docmill.db.pool import Connection, Pool
from docmill.jobs import event_archive, retention, sweep
from docmill.jobs.event_archive import WantedEvents
from docmill.storage.local import LocalStore
from road import ANN, add_job, claim, finish
from workers import swept

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)
RULES = RetentionRules(
    7 * DAY, 30 * DAY, {"results": {"study": None, "invoice": 2 * DAY}, "uploads": {"trades": None}}
)
OWN = """
INSERT INTO retention_rules (owner, pipeline, uploads_days, results_days, set_by)
VALUES (%s, %s, %s, %s, 'operator')
"""
DAYS = "SELECT retention_days(%s, %s, %s, %s)"


async def days(conn: Connection, kind: str, owner: str, pipeline: str) -> float | None:
    given = (kind, owner, pipeline, Jsonb(RULES.in_days()))
    row = await (await conn.execute(DAYS, given)).fetchone()
    assert row
    return row[0]


async def test_the_nearest_rule_says_how_long_something_is_kept(conn: Connection) -> None:
    for owner in ("user:ann", "user:ben"):
        await conn.execute("INSERT INTO owners (owner) VALUES (%s)", (owner,))
    await conn.execute(OWN, ("user:ann", "", 1, None))
    await conn.execute(OWN, ("user:ann", "invoice", None, 90))
    await conn.execute(OWN, ("user:ben", "", float("inf"), 5))
    await conn.execute(OWN, ("user:ben", "study", None, 6))
    assert await days(conn, "uploads", "user:eve", "extract") == 7
    assert await days(conn, "uploads", "user:eve", "trades") is None
    assert await days(conn, "results", "user:eve", "invoice") == 2
    assert await days(conn, "results", "user:eve", "study") is None
    assert await days(conn, "uploads", "user:ann", "extract") == 1
    assert await days(conn, "uploads", "user:ann", "trades") is None  # only by its name
    assert await days(conn, "results", "user:ann", "extract") == 30
    assert await days(conn, "results", "user:ann", "invoice") == 90
    assert await days(conn, "uploads", "user:ben", "extract") is None
    assert await days(conn, "results", "user:ben", "extract") == 5
    assert await days(conn, "results", "user:ben", "study") == 6


AGE = """
UPDATE jobs SET completed_at = completed_at - %(age)s, expires_at = expires_at - %(age)s;
UPDATE documents SET created_at = created_at - %(age)s, expires_at = expires_at - %(age)s
"""


async def age(pool: Pool, by: timedelta) -> None:
    async with pool.connection() as conn:
        for statement in AGE.split(";"):
            await conn.execute(statement, {"age": by})


LEFT = """
SELECT (SELECT count(upload_key) FROM documents), (SELECT count(result_key) FROM jobs)
"""


async def read_left(pool: Pool) -> tuple[int, int]:
    """Uploads and results that rows still point to."""
    async with pool.connection() as conn:
        row = await (await conn.execute(LEFT)).fetchone()
    assert row
    return row[0], row[1]


FROM_BUCKET = """
UPDATE documents SET source = 'bucket', expires_at = NULL FROM jobs
 WHERE document_id = documents.id AND pipeline = 'study'
"""


class FullStore(LocalStore):
    """On a disk that is almost full."""

    async def fullness(self) -> float:
        return 0.86


async def test_a_period_that_is_changed_holds_for_what_is_there_already(
    pool: Pool, tmp_path: Path
) -> None:
    async with pool.connection() as conn:
        await add_job(conn, pipeline="study")
        await add_job(conn, pipeline="extract")
        for job in await claim(conn, pipelines=["study", "extract"], slots=2):
            assert await finish(conn, job)
    await age(pool, 40 * DAY)
    await age(pool, -35 * DAY)  # five days old now; the rows are stamped for 30
    store = LocalStore(tmp_path)
    await swept(pool, store, RetentionRules(4 * DAY, 10 * DAY, {"results": {"study": None}}))
    assert await read_left(pool) == (0, 2)
    async with pool.connection() as conn:
        rows = await (await conn.execute("SELECT pipeline, expires_at FROM jobs")).fetchall()
        assert {name for name, at in rows if at is None} == {"study"}
        await conn.execute(OWN, (ANN, "extract", None, 2))
        lines = await sweep.preview(conn, RULES, pressed=False, keep_events=90 * DAY)
    assert [(one.kind, one.pipeline, one.count) for one in lines] == [("results", "extract", 1)]
    await swept(pool, store, RULES)
    assert await read_left(pool) == (0, 1)


async def test_a_full_disk_shortens_periods_and_what_is_kept_for_good_stays(
    pool: Pool, tmp_path: Path
) -> None:
    async with pool.connection() as conn:
        for pipeline in ("extract", "study"):
            await add_job(conn, pipeline=pipeline)
        for job in await claim(conn, pipelines=["study", "extract"], slots=2):
            assert await finish(conn, job)
        await conn.execute(FROM_BUCKET)
    rules = RetentionRules(pipelines={"results": {"study": None}}, pressed_results=3 * DAY)
    await age(pool, 2 * DAY)
    await swept(pool, LocalStore(tmp_path), rules)
    assert await read_left(pool) == (2, 2)
    await swept(pool, FullStore(tmp_path), rules)
    assert await read_left(pool) == (1, 2)  # the upload is older than a day
    await age(pool, 2 * DAY)
    await swept(pool, FullStore(tmp_path), rules)
    assert await read_left(pool) == (1, 1)
    async with pool.connection() as conn:
        last = "SELECT pressed, results FROM sweeps ORDER BY id DESC LIMIT 1"
        assert await (await conn.execute(last)).fetchone() == (True, 1)


async def test_events_go_to_the_archive_once_and_come_back(pool: Pool, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    async with pool.connection() as conn:
        first, second = await add_job(conn), await add_job(conn)
        await conn.execute("ALTER TABLE job_events DISABLE TRIGGER ALL")
        await conn.execute("UPDATE job_events SET at = at - interval '91 days'")
        await conn.execute("ALTER TABLE job_events ENABLE TRIGGER ALL")
        told = await (await conn.execute("SELECT count(*) FROM job_events")).fetchone()
    assert told
    assert await event_archive.archive_events(pool, store, 90 * DAY) == told[0]
    nobody = WantedEvents(job_id=str(uuid4()))
    assert (await event_archive.restore_events(pool, store, nobody)).restored == 0
    own = await event_archive.restore_events(pool, store, WantedEvents(job_id=str(first)))
    assert 0 < own.restored < told[0]
    rest = await event_archive.restore_events(pool, store, WantedEvents())
    assert (rest.restored, rest.known) == (told[0] - own.restored, own.restored)
    assert await event_archive.archive_events(pool, store, 90 * DAY) == 0  # they stay a week
    async with pool.connection() as conn:
        await conn.execute("DELETE FROM jobs WHERE id = %s", (second,))
    again = await event_archive.restore_events(pool, store, WantedEvents())
    assert again.restored == 0


async def test_a_sweep_asked_for_is_taken_once(pool: Pool) -> None:
    async with pool.connection() as conn:
        assert await retention.ask_sweep(conn, "user:root")
        assert not await retention.ask_sweep(conn, "user:root")
    taken = await retention.take_asked_sweep(pool)
    assert taken is not None
    assert await retention.take_asked_sweep(pool) is None
    await retention.end_sweep(pool, taken, retention.SweepTotals(uploads=3))
    async with pool.connection() as conn:
        (line,) = await retention.list_sweeps(conn, 10)
    assert (line.asked_by, line.uploads, line.ended_at is not None) == ("user:root", 3, True)


@pytest.mark.parametrize("control", ["", "forget", "hasty"])
def test_a_sweep_that_is_killed_again_and_again_takes_what_is_due_and_nothing_else(
    database_url: str, tmp_path: Path, control: str
) -> None:
    scene = lane.Scene(database_url, tmp_path, documents=1200, control=control, batch=20)
    verdict, places = lane.run(scene, kills=6, seed=1, tell=str)
    assert places.total() == 6
    assert verdict.clean == (not control), verdict
