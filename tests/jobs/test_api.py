"""Jobs over HTTP: listed, looked at, waited for, retried, cancelled, deleted."""

import asyncio
import inspect
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from docmill.app import FIRST_ROUTES, create_web
from docmill.core.jobs import JobId
from docmill.db.pool import Pool
from docmill.jobs import live, queries
from docmill.web.config import WebConfig
from docmill.web.params import check_texts
from road import claim
from sites import SHOWN_COLUMNS, Site, a_pdf, complete, fail, part, rows, upload

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]

OF_A_JOB = [
    ("GET", "/api/jobs/{id}"),
    ("GET", "/api/jobs/{id}/download"),
    ("POST", "/api/jobs/{id}/retry"),
    ("POST", "/api/jobs/{id}/cancel"),
    ("DELETE", "/api/jobs/{id}"),
    ("GET", "/api/job-status/{id}"),
]


async def test_unknown_and_foreign_jobs_are_refused_on_every_route(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    mine = await upload(client)
    async with site.client() as other:
        for method, path in OF_A_JOB:
            for unknown in (str(uuid4()), "nonsense", "1" * 300):
                answer = await other.request(method, path.format(id=unknown))
                assert answer.status_code == 404, (method, path, unknown)
                assert answer.json()["error"] == "Job not found"
                assert "jobId" in answer.json()
            answer = await other.request(method, path.format(id=mine))
            assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN"), path
            assert answer.json()["error"] == "This file isn't yours"
        assert (await other.get("/api/jobs")).json()["jobs"] == []
    assert await rows(pool, "jobs") == 1


async def test_the_first_routes_call_by_themselves_what_every_route_depends_on(
    client: httpx2.AsyncClient, site: Site
) -> None:
    """They find what their endpoints take without FastAPI, so nothing may be added unseen."""
    web = create_web(site.services, WebConfig())
    assert [one.dependency for one in web.router.dependencies] == [check_texts]
    takes = [[*inspect.signature(one.endpoint).parameters] for one in FIRST_ROUTES]
    assert takes == [["job_id", "site", "owner"], ["request", "site", "owner"]]
    answer = await client.post("/api/upload?q=%00", files=[part()])
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    job_id = await upload(client)
    for path in ("/api/jobs", "/api/job-status"):
        for address in (f"{path}/a%00b", f"{path}/{job_id}?q=%00"):
            answer = await client.get(address)
            assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST"), address


async def test_a_job_shows_every_column_its_events_and_attempts_but_no_stack(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await fail(site, job_id)
    answer = await client.get(f"/api/jobs/{job_id}")
    job = answer.json()
    assert not SHOWN_COLUMNS - job.keys()
    assert (job["status"], job["error_code"]) == ("failed", "BAD_PDF")
    assert job["error_message"] == "This PDF is damaged, locked or empty"
    assert [event["kind"] for event in job["events"]] == [
        "created", "queued", "processing", "failed",
    ]  # fmt: skip
    (attempt,) = job["attempts"]
    assert (attempt["error_code"], attempt["duration_ms"]) == ("BAD_PDF", 1500)
    assert "stack" not in answer.text
    assert "secret" not in answer.text


async def test_an_etag_saves_sending_what_did_not_change(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    first = await client.get(f"/api/jobs/{job_id}")
    etag = {"If-None-Match": first.headers["etag"]}
    same = await client.get(f"/api/jobs/{job_id}", headers=etag)
    assert (same.status_code, same.content) == (304, b"")
    await complete(site, job_id)
    changed = await client.get(f"/api/jobs/{job_id}", headers=etag)
    assert (changed.status_code, changed.json()["status"]) == (200, "complete")


async def test_who_prefers_to_wait_is_answered_with_the_change(
    client: httpx2.AsyncClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 3600.0)  # only a notification brings the news
    job_id = await upload(client)
    etag = (await client.get(f"/api/jobs/{job_id}")).headers["etag"]
    wait = {"Prefer": "wait=20"}
    change = asyncio.create_task(
        client.get(f"/api/jobs/{job_id}", headers=wait | {"If-None-Match": etag})
    )
    end = asyncio.create_task(client.get(f"/api/jobs/{job_id}", headers=wait))
    async with site.services.pool.connection() as conn:
        await claim(conn)
    site.services.changes.ring()
    assert (await change).json()["status"] == "processing"
    assert not end.done()
    async with site.services.pool.connection() as conn:
        await queries.cancel_job(conn, JobId(job_id))  # type: ignore[arg-type]
    site.services.changes.ring()
    ended = await end
    assert ended.json()["status"] == "cancelled"
    assert ended.headers["preference-applied"] == "wait=20"


async def test_waiting_ends_in_time_without_a_change(client: httpx2.AsyncClient) -> None:
    job_id = await upload(client)
    started = time.monotonic()
    answer = await client.get(f"/api/jobs/{job_id}", headers={"Prefer": "wait=1"})
    assert answer.json()["status"] == "queued"
    assert time.monotonic() - started > 0.9


async def test_pages_cover_every_job_once(client: httpx2.AsyncClient) -> None:
    ids = [await upload(client, a_pdf(str(n))) for n in range(7)]
    for query in ("", "since=2020-01-01T00:00:00Z&"):
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = (await client.get(f"/api/jobs?{query}limit=3&cursor={cursor}")).json()
            seen += [job["id"] for job in page["jobs"]]
            cursor = page["next_cursor"]
            assert page["active_count"] == 7
        assert seen == (ids if query else ids[::-1])


async def test_lists_can_be_filtered(client: httpx2.AsyncClient, site: Site) -> None:
    first = await upload(client)
    await fail(site, first)
    second = await client.post("/api/upload?pipeline=study", files=[("file", ("a", a_pdf("b")))])
    second_id = second.json()["jobId"]

    async def ids(query: str) -> list[str]:
        return [job["id"] for job in (await client.get(f"/api/jobs?{query}")).json()["jobs"]]

    assert await ids("status=failed") == [first]
    assert await ids("status=queued,uploaded") == [second_id]
    assert await ids("status=queued&status=failed") == [second_id, first]
    assert await ids("pipeline=study") == [second_id]
    assert await ids("since=2020-01-01T00:00:00+00:00") == [first, second_id]
    for bad in (
        "status=lost", "since=yesterday", "since=0001-01-01T00:00:00%2B23:00", "cursor=%00",
        "cursor=bm90", "limit=201", "limit=x", "pipeline=%00",
    ):  # fmt: skip
        answer = await client.get(f"/api/jobs?{bad}")
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST"), bad


async def test_asking_for_changes_since_misses_none_while_many_change(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    seen: dict[str, str] = {}
    await client.get("/api/jobs")

    async def follow(done: asyncio.Event) -> None:
        since = "2020-01-01T00:00:00Z"
        while True:
            last = done.is_set()
            page = (await client.get("/api/jobs", params={"since": since, "limit": 5})).json()
            seen.update({job["id"]: job["updated_at"] for job in page["jobs"]})
            since = page["since"]
            if last and not page["jobs"]:
                return

    async def churn(number: int) -> None:
        for turn in range(4):
            job_id = await upload(client, a_pdf(f"{number} {turn}"))
            await client.post(f"/api/jobs/{job_id}/cancel")

    done = asyncio.Event()
    follower = asyncio.create_task(follow(done))
    await asyncio.gather(*(churn(number) for number in range(8)))
    done.set()
    await follower
    truth: dict[str, Any] = {}
    for page in (await client.get("/api/jobs?limit=200")).json()["jobs"]:
        truth[page["id"]] = page["updated_at"]
    assert len(truth) == 32
    assert seen == truth


async def test_only_a_failed_job_can_be_retried_and_only_an_active_one_cancelled(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    job_id = await upload(client)
    early = await client.post(f"/api/jobs/{job_id}/retry")
    assert (early.status_code, early.json()["code"]) == (409, "WRONG_STATE")
    await fail(site, job_id)
    late = await client.post(f"/api/jobs/{job_id}/cancel")
    assert (late.status_code, late.json()["code"]) == (409, "WRONG_STATE")
    again = await client.post(f"/api/jobs/{job_id}/retry")
    assert (again.status_code, again.json()["jobId"]) == (200, job_id)
    assert (again.json()["job"]["status"], again.json()["job"]["error_code"]) == ("queued", None)
    gone = await client.post(f"/api/jobs/{job_id}/cancel")
    assert (gone.status_code, gone.json()["job"]["status"]) == (200, "cancelled")


async def test_a_job_whose_file_expired_cannot_be_retried(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    job_id = await upload(client)
    await fail(site, job_id)
    async with pool.connection() as conn:
        await conn.execute("UPDATE documents SET upload_key = NULL, expired_at = now()")
    answer = await client.post(f"/api/jobs/{job_id}/retry")
    assert (answer.status_code, answer.json()["code"]) == (404, "EXPIRED")


async def test_deleting_a_job_deletes_all_of_it(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    done, waiting = await upload(client), ""
    await complete(site, done)
    waiting = await upload(client, a_pdf("2"))
    assert len(site.stored()) == 3
    for job_id in (done, waiting):
        answer = await client.delete(f"/api/jobs/{job_id}")
        assert (answer.status_code, answer.content) == (204, b"")
        assert (await client.get(f"/api/jobs/{job_id}")).status_code == 404
    assert site.stored() == []
    assert await rows(pool, "jobs") == await rows(pool, "documents") == 0


async def test_the_offer_can_be_read(client: httpx2.AsyncClient) -> None:
    body = (await client.get("/api/pipelines")).json()
    assert [one["name"] for one in body["pipelines"]] == ["extract", "study"]
    assert body["pipelines"][0]["accepts"] == ["application/pdf"]
    mappings = (await client.get("/api/mappings")).json()["mappings"]
    assert mappings == [{"name": "plain_v1", "pipeline": "study"}]
