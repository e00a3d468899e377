"""What owners told about themselves: kept per owner, the last word counts."""

from uuid import uuid4

import pytest

from docmill.core.jobs import JobId
from docmill.db import owners, results
from docmill.db.pool import Pool
from road import ANN, BOB, add_job, claim_one, finish

pytestmark = pytest.mark.anyio


async def test_an_owner_who_told_nothing_has_an_empty_profile(pool: Pool) -> None:
    async with pool.connection() as conn:
        assert await owners.profile(conn, ANN) == {}
        await owners.introduce(conn, ANN)
        assert await owners.profile(conn, ANN) == {}


async def test_the_last_profile_told_is_kept_and_nobody_elses_changes(pool: Pool) -> None:
    async with pool.connection() as conn:
        await owners.tell(conn, ANN, {"tin": "1", "rates": {"USD": "16250"}})
        await owners.tell(conn, BOB, {"tin": "2"})
        await owners.tell(conn, ANN, {"country": "IDN"})
    async with pool.connection() as conn:
        assert await owners.profile(conn, ANN) == {"country": "IDN"}
        assert await owners.profile(conn, BOB) == {"tin": "2"}


async def test_a_profile_does_not_touch_the_owners_place_in_the_queue(pool: Pool) -> None:
    async with pool.connection() as conn:
        await add_job(conn, ANN)
        before = await (await conn.execute("SELECT last_tag, changed_at FROM owners")).fetchone()
        await owners.tell(conn, ANN, {"tin": "1"})
        after = await (await conn.execute("SELECT last_tag, changed_at FROM owners")).fetchone()
    assert before == after


async def test_data_is_found_for_the_jobs_that_have_some(pool: Pool) -> None:
    async with pool.connection() as conn:
        done = await add_job(conn, ANN)
        assert await finish(conn, await claim_one(conn))
        waiting = await add_job(conn, BOB)
        nobody = JobId(uuid4())
        found = await results.data(conn, [waiting, done, nobody])
    assert {job_id: (row.owner, row.status) for job_id, row in found.items()} == {
        done: (ANN, "complete"),
        waiting: (BOB, "queued"),
    }
    assert found[done].key
    assert found[waiting].key is None
