"""Statuses that are read together: as true as if each had been asked for alone."""

import asyncio
from collections.abc import Collection
from uuid import UUID

import httpx2
import psycopg
import pytest

from docmill.core.jobs import JobId
from docmill.core.owners import Owner, OwnerKey
from docmill.db import wall
from docmill.db.pool import Connection
from docmill.jobs import queries
from docmill.jobs.status import StatusReader
from sites import Site, Start, a_pdf, complete, fail, upload

pytestmark = pytest.mark.anyio

CHANGES = 40


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many jobs each statement asked for."""
    sizes: list[int] = []
    read = queries.read_statuses

    async def read_counted(conn: Connection, ids: Collection[JobId]) -> object:
        sizes.append(len(ids))
        return await read(conn, ids)

    monkeypatch.setattr(queries, "read_statuses", read_counted)
    return sizes


async def upload_some(client: httpx2.AsyncClient, count: int) -> list[str]:
    return [await upload(client, a_pdf(str(number))) for number in range(count)]


async def test_those_who_ask_at_the_same_time_share_a_statement(
    client: httpx2.AsyncClient, asked: list[int]
) -> None:
    jobs = await upload_some(client, 5)
    paths = [f"/api/job-status/{job_id}" for job_id in jobs * 4]
    answers = await asyncio.gather(*(client.get(path) for path in paths))
    assert [answer.json()["jobId"] for answer in answers] == jobs * 4
    assert len(asked) < len(paths)
    assert max(asked) > 1


async def test_only_those_who_see_the_same_are_asked_for_together(
    site: Site, asked: list[int]
) -> None:
    async with site.client() as mine, site.client() as theirs:
        jobs = [await upload(mine), await upload(theirs, a_pdf("other"))]
    async with site.services.pool.connection() as conn:
        found = await queries.read_statuses(conn, [JobId(UUID(job)) for job in jobs])
    asked.clear()
    reader = StatusReader(site.services.pool)

    async def find(owner: OwnerKey, job_id: str) -> OwnerKey | None:
        wall.enclose(Owner(owner))
        row = await reader.find(job_id)
        return row.owner if row else None

    owners = [found[JobId(UUID(job))].owner for job in jobs]
    asks = [(owner, job) for owner in owners for job in jobs]
    told = await asyncio.gather(*(asyncio.create_task(find(*ask)) for ask in asks))
    assert told == [owners[0], None, None, owners[1]]
    assert asked == [2, 2]


async def test_who_goes_away_leaves_the_others_their_answer(
    site: Site, client: httpx2.AsyncClient
) -> None:
    job_id = await upload(client)
    reader = StatusReader(site.services.pool)
    asks = [asyncio.create_task(reader.find(job_id)) for _ in range(3)]
    await asyncio.sleep(0)
    asks[0].cancel()
    gone, *others = await asyncio.gather(*asks, return_exceptions=True)
    assert isinstance(gone, asyncio.CancelledError)
    assert [str(row.id) for row in others if isinstance(row, queries.StatusFacts)] == [job_id] * 2
    found = await reader.find(job_id)
    assert found is not None


async def test_a_failure_is_told_to_all_who_wait_and_to_nobody_after(
    site: Site, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await upload(client)
    reader = StatusReader(site.services.pool)
    with monkeypatch.context() as sick:
        sick.setattr(queries, "STATUSES", "SELECT broken FROM jobs WHERE id = ANY(%s)")
        asks = [asyncio.create_task(reader.find(job_id)) for _ in range(3)]
        failed = await asyncio.gather(*asks, return_exceptions=True)
    assert {type(one) for one in failed} == {psycopg.errors.UndefinedColumn}
    assert await reader.find(job_id) is not None


async def test_what_another_process_has_answered_is_known_to_all(start: Start) -> None:
    """One process changes a job; whoever asks another one then is told what is true now."""
    async with start() as first, start() as second, first.client() as client:
        job_id = await upload(client)
        async with second.client(cookies=client.cookies) as other:
            path = f"/api/job-status/{job_id}"
            for _ in range(CHANGES):
                await fail(first, job_id)
                polls = [asyncio.create_task(other.get(path)) for _ in range(8)]
                assert (await other.get(path)).json()["status"] == "failed"
                assert (await client.post(f"/api/jobs/{job_id}/retry")).status_code == 200
                assert (await other.get(path)).json()["status"] == "queued"
                assert {poll.status_code for poll in await asyncio.gather(*polls)} == {200}
            await complete(first, job_id)
            polls = [asyncio.create_task(other.get(path)) for _ in range(8)]
            assert (await other.get(path)).json()["status"] == "completed"
            assert (await client.delete(f"/api/jobs/{job_id}")).status_code in {200, 204}
            assert (await other.get(path)).status_code == 404
            assert {poll.status_code for poll in await asyncio.gather(*polls)} <= {200, 404}
