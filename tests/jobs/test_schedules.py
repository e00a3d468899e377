"""Jobs that run at a time or after others, and jobs that are moved ahead."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from accounts.test_keys import RULES, as_user
from docmill.core.jobs import JobId
from docmill.db.pool import Pool
from docmill.queue import claim
from docmill.queue.rescue import fail_waiting
from properties.shifts import ended, shift
from road import a_result
from road import claim as claim_some
from sites import Site, Start, a_pdf, complete, fail, part

pytestmark = pytest.mark.anyio

NAMES = itertools.count()


async def send(
    client: httpx2.AsyncClient, data: bytes | None = None, **given: str
) -> httpx2.Response:
    file = data or a_pdf(f"number {next(NAMES)}")
    return await client.post("/api/upload", files=[part(file)], data=given)


async def submit(client: httpx2.AsyncClient, data: bytes | None = None, **given: str) -> str:
    answer = await send(client, data, **given)
    assert answer.status_code == 200, answer.text
    return answer.json()["jobId"]


async def show(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    return (await client.get(f"/api/jobs/{job_id}")).json()


async def look(pool: Pool) -> None:
    """What every worker does before it claims."""
    async with pool.connection() as conn:
        await claim.release(conn, 100)
    async with pool.connection() as conn:
        await claim.promote(conn, 100)


async def claimable(pool: Pool, count: int = 9) -> list[str]:
    """The jobs a worker would get now, in their order; they are not taken."""
    async with pool.connection() as conn:
        found = await claim_some(conn, slots=count)
        await conn.rollback()
    return [str(job.id) for job in found]


async def tags(pool: Pool) -> list[Any]:
    """The places in the queue, and whose they are."""
    async with pool.connection() as conn:
        found = await conn.execute("SELECT owner, start_tag FROM jobs ORDER BY owner, start_tag")
        return await found.fetchall()


async def test_a_job_waits_for_its_time_and_runs_then(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    run_at = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    job_id, now = await submit(client, run_at=run_at), await submit(client)
    shown = await show(client, job_id)
    assert (shown["status"], shown["run_at"][:19]) == ("queued", run_at[:19])
    assert shown["events"][-1]["meta"]["run_at"][:19] == run_at[:19]
    assert shown["estimated_seconds_left"] > 200_000
    page = (await client.get("/queue")).text
    assert "runs at" in page.lower()
    await look(pool)
    assert await claimable(pool) == [now]
    async with pool.connection() as conn:  # a service that is gone for an hour is not its trouble
        await conn.execute("UPDATE jobs SET queued_at = now() - interval '2 days'")
        await conn.execute(
            "INSERT INTO workers (id, host, machine, pid, slots, pipelines, version) "
            "VALUES ('w', 'h', 'm', 1, 1, '{extract}', '1')"
        )
        await conn.execute(
            "INSERT INTO breakers (worker, service, state, failing_from) "
            "VALUES ('w', 's', 'open', now() - interval '1 day')"
        )
        gone = await fail_waiting(
            conn, pipeline="extract", service="s", patience=timedelta(hours=1)
        )
        assert [str(one) for one in gone] == [now]
        await conn.execute("UPDATE jobs SET run_at = now() WHERE id = %s", (job_id,))
    await look(pool)
    assert await claimable(pool) == [job_id]


async def test_a_time_that_makes_no_sense_is_refused(client: httpx2.AsyncClient) -> None:
    for text in ("yesterday", "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"):
        answer = (await send(client, run_at=text)).json()
        assert (answer["code"], answer["mistakes"][0]["at"]) == ("BAD_REQUEST", "run_at")
    soon = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    assert (await send(client, run_at=soon)).json()["job"]["run_at"] is None


async def test_a_job_runs_when_all_that_it_waits_for_have_completed(
    site: Site, client: httpx2.AsyncClient, pool: Pool
) -> None:
    first, second = await submit(client), await submit(client)
    last = await submit(client, after=f"{first}, {second}")
    shown = await show(client, last)
    assert (shown["status"], set(shown["after"])) == ("queued", {first, second})
    assert "waits for" in (await client.get("/queue")).text.lower()
    await look(pool)
    assert await claimable(pool) == [first, second]
    await complete(site, first)
    assert (await client.delete(f"/api/jobs/{first}")).status_code == 204  # its work is done
    await look(pool)
    assert (await show(client, last))["after"] == [second]
    await complete(site, second)
    await look(pool)
    assert await claimable(pool) == [last]
    assert (await show(client, last))["after"] == []
    await complete(site, last)
    known = await submit(client, after=last)  # complete already: there is nothing to wait for
    assert await claimable(pool) == [known]


@pytest.mark.parametrize("end", ["fail", "cancel", "delete"])
async def test_a_job_fails_with_a_reason_when_one_it_waits_for_does_not_complete(
    site: Site, client: httpx2.AsyncClient, pool: Pool, end: str
) -> None:
    first = await submit(client)
    middle = await submit(client, data := a_pdf("middle"), after=first)
    last = await submit(client, after=middle)
    if end == "fail":
        await fail(site, first)
    elif end == "cancel":
        assert (await client.post(f"/api/jobs/{first}/cancel")).is_success
    else:
        assert (await client.delete(f"/api/jobs/{first}")).is_success
    await look(pool)
    await look(pool)
    shown = await show(client, middle)
    assert (shown["status"], shown["error_code"]) == ("failed", "AFTER_FAILED")
    word = {"fail": "failed", "cancel": "was cancelled", "delete": "was deleted"}[end]
    assert shown["reason"] == f"It was to run after job {first}, which {word}."
    assert [one["name"] for one in shown["actions"]] == ["retry"]
    assert (await show(client, last))["error_code"] == "AFTER_FAILED"
    if end != "fail":  # sent again without it, the file is read
        assert (await send(client, data)).json()["outcome"] == "requeued"
        assert await claimable(pool) == [middle]
        return
    for job_id in (first, middle):
        assert (await client.post(f"/api/jobs/{job_id}/retry")).is_success
    await look(pool)
    assert await claimable(pool) == [first]
    await complete(site, first)
    await look(pool)
    assert await claimable(pool) == [middle]


async def test_a_job_waits_for_jobs_of_its_owner_that_can_still_complete(
    site: Site, client: httpx2.AsyncClient
) -> None:
    async with site.client() as other:
        hers = await submit(other)
    broken = await submit(client, data := a_pdf("broken"))
    await client.post(f"/api/jobs/{await submit(client)}/cancel")
    async with site.services.pool.connection() as conn:
        await conn.execute("UPDATE jobs SET priority = 9 WHERE id = %s", (broken,))
    await fail(site, broken)
    for after in (hers, str(uuid4()), "x", broken, ",".join(str(uuid4()) for _ in range(51))):
        answer = (await send(client, after=after)).json()
        assert (answer["code"], answer["mistakes"][0]["at"]) == ("BAD_REQUEST", "after"), after
    later = await submit(client)
    # Else the two could wait for each other.
    assert "came later" in (await send(client, data, after=later)).json()["mistakes"][0]["message"]


async def test_a_worker_runs_a_chain_in_its_order(
    site: Site, client: httpx2.AsyncClient, pool: Pool, database_url: str
) -> None:
    chain = [await submit(client)]
    for _ in range(4):
        chain.append(await submit(client, after=chain[-1]))
    ran: list[str] = []

    async def run(job: Any, _: Any) -> tuple[Any, None]:
        ran.append(str(job.id))
        return a_result(job), None

    async with shift(pool, database_url, run, workers=2):
        await ended(pool, [JobId(UUID(job_id)) for job_id in chain])
    assert ran == chain


async def test_a_boosted_job_changes_places_with_the_first_of_its_owner(
    site: Site, client: httpx2.AsyncClient, pool: Pool
) -> None:
    mine = [await submit(client) for _ in range(3)]
    async with site.client() as other:
        await submit(other)
        before = await tags(pool)
        assert (await other.post(f"/api/jobs/{mine[2]}/boost")).status_code == 403
        answer = await client.post(f"/api/jobs/{mine[2]}/boost")
        assert (answer.status_code, answer.json()["job"]["priority"]) == (200, 0)
    assert await tags(pool) == before  # so nobody else waits longer
    after = [one for one in await claimable(pool) if one in mine]
    assert after == [mine[2], mine[1], mine[0]]
    assert (await show(client, mine[2]))["events"][-1]["meta"] == {"boosted": "place"}
    assert (await client.post(f"/api/jobs/{mine[2]}/boost")).is_success  # it is ahead already
    assert (await client.post(f"/api/jobs/{mine[0]}/cancel")).is_success
    done = await client.post(f"/api/jobs/{mine[0]}/boost")
    assert (done.status_code, done.json()["code"]) == (409, "WRONG_STATE")


async def test_an_administrators_boost_goes_before_everybody(start: Start, pool: Pool) -> None:
    async with start(auth_mode="jwt", tokens=RULES) as site:
        async with site.client(headers=as_user("ann", premium=True)) as ann:
            first = await submit(ann)
        async with site.client(headers=as_user("bob")) as bob:
            last = await submit(bob)
        assert await claimable(pool) == [first, last]
        async with site.client(headers=as_user("root", admin=True)) as root:
            answer = await root.post(f"/api/jobs/{last}/boost")
            assert answer.json()["job"]["priority"] == 50
        assert await claimable(pool) == [last, first]
