"""Reviews in the database: history that can't be changed, one head, states that make sense."""

from decimal import Decimal
from typing import LiteralString

import psycopg
import pytest

from docmill.core.jobs import JobId
from docmill.db.pool import Connection
from docmill.invoices import queries
from docmill.invoices.edits import Change
from docmill.invoices.queries import ReviewFilter
from docmill.jobs import queries as jobs_queries
from docmill.web.params import Cursor
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
    assert await queries.record_edits(conn, job_id, [CHANGE, CHANGE], base=0, by=ANN)
    with pytest.raises(psycopg.errors.CheckViolation, match="history"):
        await conn.execute("UPDATE review_revisions SET after = '1'")


async def test_what_was_seen_must_be_what_is_there(conn: Connection) -> None:
    job_id = await complete(conn)
    assert await queries.record_edits(conn, job_id, [CHANGE], base=0, by=ANN)
    assert not await queries.record_edits(conn, job_id, [CHANGE], base=0, by=BOB)
    assert not await queries.record_rejection(conn, job_id, base=0, by=BOB, reason="no")
    assert await queries.record_rejection(conn, job_id, base=1, by=BOB, reason="no")
    assert [each.made_by for each in await queries.load_revisions(conn, job_id)] == [ANN, BOB]
    assert (await queries.load_head(conn, job_id)).revision == 2


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
    assert await queries.record_edits(conn, job_id, [CHANGE], base=0, by=ANN)
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute(change)


async def test_a_deleted_job_takes_its_review_along_and_leaves_its_lessons(
    conn: Connection,
) -> None:
    job_id = await complete(conn)
    assert await queries.record_edits(conn, job_id, [CHANGE], base=0, by=ANN)
    taught = [{"layout": "a", "field": "currency", "supplier": ""}]
    kept = await queries.learn(conn, ANN, taught, job_id=job_id, taught_by="a.pdf")
    assert kept == ["currency"]
    await jobs_queries.delete_job(conn, job_id)
    assert await queries.load_revisions(conn, job_id) == []
    (lesson,) = await queries.list_lessons(conn, ANN)
    assert (lesson.job_id, lesson.taught_by) == (None, "a.pdf")


async def test_a_field_of_a_layout_has_one_lesson_and_another_owner_none(
    conn: Connection,
) -> None:
    job_id = await complete(conn)
    for value in ("USD", "IDR"):
        taught = [{"layout": "a", "field": "currency", "constant": value}]
        await queries.learn(conn, ANN, taught, job_id=job_id, taught_by="a.pdf")
    (given,) = await queries.lessons_for_run(conn, ANN)
    assert given["constant"] == "IDR"
    assert await queries.lessons_for_run(conn, BOB) == []
    await queries.switch_learning(conn, ANN, on=False)
    assert await queries.lessons_for_run(conn, ANN) == []
    assert await queries.learn(conn, ANN, [given], job_id=job_id, taught_by="b.pdf") == []
    assert await queries.forget_lessons(conn, BOB) == 0
    assert await queries.forget_lessons(conn, ANN) == 1


async def test_reviews_are_sorted_filtered_and_paged_without_an_end(conn: Connection) -> None:
    totals = ["9.5", "100", None, "20", "1000000"]
    jobs = [await complete(conn) for _ in totals]
    await conn.execute("UPDATE jobs SET mapping = 'ubl_invoice_v1'")
    for number, (job_id, total) in enumerate(zip(jobs, totals, strict=True)):
        about = {"title": f"PT {number}", "check": number % 2, "amount": total}
        await queries.record_summary(
            conn, job_id, {k: v for k, v in about.items() if v is not None}
        )

    async def names(only: ReviewFilter) -> list[str]:
        """All of them, two at a time."""
        found, after = list[str](), None
        while page := await queries.list_reviews(conn, ANN, only, after=after, limit=2):
            found += [str((each.summary or {})["title"])[-1] for each in page]
            after = Cursor(page[-1].created_at, page[-1].job_id)
        return found

    assert await names(ReviewFilter(sort="amount")) == ["4", "1", "3", "0", "2"]
    assert await names(ReviewFilter(sort="matter")) == ["1", "3", "4", "0", "2"]
    assert sorted(await names(ReviewFilter())) == ["0", "1", "2", "3", "4"]
    assert await names(ReviewFilter(supplier="pt 3")) == ["3"]
    between = ReviewFilter(least=Decimal(10), most=Decimal(100), sort="amount")
    assert await names(between) == ["1", "3"]
    assert await queries.count_waiting(conn, ANN) == (2, 5)
