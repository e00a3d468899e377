"""Reviews in the database: history that can't be changed, one head, states that make sense."""

from typing import LiteralString

import psycopg
import pytest

from docmill.core.jobs import JobId
from docmill.db import jobs, lessons, reviews
from docmill.db.pool import Connection
from docmill.mappings import Change
from road import ANN, BOB, add_job, claim_one, finish

pytestmark = pytest.mark.anyio

CHANGE = Change("currency", None, "IDR")
NAMELESS = """
INSERT INTO review_revisions (job_id, revision, kind, made_by)
SELECT job_id, 9, 'edit', 'x' FROM reviews
"""


async def complete(conn: Connection) -> JobId:
    job_id = await add_job(conn)
    assert await finish(conn, await claim_one(conn))
    return job_id


async def test_revisions_are_history(conn: Connection) -> None:
    job_id = await complete(conn)
    assert await reviews.edit(conn, job_id, [CHANGE, CHANGE], base=0, by=ANN)
    with pytest.raises(psycopg.errors.CheckViolation, match="history"):
        await conn.execute("UPDATE review_revisions SET after = '1'")


async def test_what_was_seen_must_be_what_is_there(conn: Connection) -> None:
    job_id = await complete(conn)
    assert await reviews.edit(conn, job_id, [CHANGE], base=0, by=ANN)
    assert not await reviews.edit(conn, job_id, [CHANGE], base=0, by=BOB)
    assert not await reviews.reject(conn, job_id, base=0, by=BOB, reason="no")
    assert await reviews.reject(conn, job_id, base=1, by=BOB, reason="no")
    assert [each.made_by for each in await reviews.revisions(conn, job_id)] == [ANN, BOB]
    assert (await reviews.head(conn, job_id)).revision == 2


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE reviews SET status = 'done'",
        "UPDATE reviews SET reason = 'because'",
        "UPDATE reviews SET status = 'approved'",
        "UPDATE reviews SET revision = -1",
        NAMELESS,
    ],
)
async def test_states_that_make_no_sense_are_refused(
    conn: Connection, change: LiteralString
) -> None:
    job_id = await complete(conn)
    assert await reviews.edit(conn, job_id, [CHANGE], base=0, by=ANN)
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute(change)


async def test_a_deleted_job_takes_its_review_along_and_leaves_its_lessons(
    conn: Connection,
) -> None:
    job_id = await complete(conn)
    assert await reviews.edit(conn, job_id, [CHANGE], base=0, by=ANN)
    taught = [{"layout": "a", "field": "currency", "supplier": ""}]
    kept = await lessons.learn(conn, ANN, taught, job_id=job_id, taught_by="a.pdf")
    assert kept == ["currency"]
    await jobs.delete(conn, job_id)
    assert await reviews.revisions(conn, job_id) == []
    (lesson,) = await lessons.of_owner(conn, ANN)
    assert (lesson.job_id, lesson.taught_by) == (None, "a.pdf")


async def test_a_field_of_a_layout_has_one_lesson_and_another_owner_none(
    conn: Connection,
) -> None:
    job_id = await complete(conn)
    for value in ("USD", "IDR"):
        taught = [{"layout": "a", "field": "currency", "constant": value}]
        await lessons.learn(conn, ANN, taught, job_id=job_id, taught_by="a.pdf")
    (given,) = await lessons.for_run(conn, ANN)
    assert given["constant"] == "IDR"
    assert await lessons.for_run(conn, BOB) == []
    await lessons.switch(conn, ANN, on=False)
    assert await lessons.for_run(conn, ANN) == []
    assert await lessons.learn(conn, ANN, [given], job_id=job_id, taught_by="b.pdf") == []
    assert await lessons.forget(conn, BOB) == 0
    assert await lessons.forget(conn, ANN) == 1
