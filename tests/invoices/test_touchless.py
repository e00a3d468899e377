"""What is approved by rule, in the database."""

import json

import pytest

from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.invoices import queries, touchless
from docmill.invoices.edits import Change
from docmill.jobs import experience
from road import ANN, add_job, claim_one, finish

pytestmark = pytest.mark.anyio

KEPT = {"doubts": 0, "expected": 0.004, "rate": 0.01}


async def record(conn: Connection, **told: float) -> queries.ReviewHead:
    job_id = await add_job(conn)
    job = await claim_one(conn)
    assert await finish(conn, job)
    await conn.execute("UPDATE jobs SET summary = '{\"check\": 0}' WHERE id = %s", (job_id,))
    await touchless.record_doubts(conn, job, json.dumps([{**KEPT, **told}]))
    return await queries.load_head(conn, job_id)


async def test_what_keeps_the_promise_is_approved_by_its_rule(conn: Connection) -> None:
    head = await record(conn)
    assert (head.status, head.approved_by) == ("approved", "rule <= 1 %")
    found = await (await conn.execute("SELECT summary FROM jobs")).fetchone()
    assert found == ({"check": 0, "state": "approved", "approved_by": "rule <= 1 %"},)


@pytest.mark.parametrize(
    "told", [{"doubts": 1}, {"expected": 0.02}, {"rate": 0.0, "expected": 0.0}]
)
async def test_all_else_waits_for_a_person(conn: Connection, told: dict[str, float]) -> None:
    head = await record(conn, **told)
    assert (head.status, head.approved_by) == ("pending", None)


async def test_a_value_changed_later_is_an_error_found(conn: Connection) -> None:
    await record(conn)
    await record(conn, doubts=2)
    row = await (await conn.execute("SELECT job_id FROM reviews WHERE rule IS NOT NULL")).fetchone()
    assert row
    change = Change("currency", None, "IDR")
    assert await queries.record_edits(conn, row[0], [change, change], base=0, by=ANN)
    found = await touchless.count_touchless(conn, OwnerKey(ANN))
    assert found == experience.Touchless(2, 1, 1, 1)
    assert (await queries.load_head(conn, row[0])).status == "pending"


async def test_what_no_person_approved_is_no_sample(conn: Connection) -> None:
    await record(conn)
    assert await queries.list_samples(conn, OwnerKey(ANN), limit=5) == []
    assert await touchless.list_reviewers(conn, enough=1) == []


async def test_experience_is_kept_and_handed_to_runs(conn: Connection) -> None:
    await record(conn)
    counts = {"currency": {"0.9": [3, 4]}}
    for reviews in (20, 21):
        await experience.keep_experience(
            conn, OwnerKey(ANN), counts, pipeline="invoice", reviews=reviews
        )
    assert await experience.read_experience(conn, OwnerKey(ANN), "invoice") == counts
