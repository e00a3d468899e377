"""Changes told live: server-sent events, from where a client left off."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2
import pytest

from docmill.jobs import events, live
from sites import Site, a_pdf, complete, upload
from waits import PATIENCE

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]


async def told(answer: httpx2.Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Events as they come: id and job."""
    number = ""
    async for line in answer.aiter_lines():
        if line.startswith("id: "):
            number = line[4:]
        elif line.startswith("data: "):
            yield number, json.loads(line[6:])


async def test_an_owner_hears_of_his_own_changes_and_no_others(
    client: httpx2.AsyncClient, site: Site
) -> None:
    before = await upload(client, a_pdf("before"))
    async with (
        asyncio.timeout(PATIENCE),
        client.stream("GET", "/api/events") as answer,
        site.client() as other,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        heard = told(answer)
        await upload(other)
        job_id = await upload(client)
        number, job = await anext(heard)
        assert (job["id"], job["status"], job["updated_at"]) == (job_id, "queued", number)
        await client.post(f"/api/jobs/{before}/cancel")
        _, job = await anext(heard)
        assert (job["id"], job["status"]) == (before, "cancelled")


async def test_a_client_that_was_away_hears_what_it_missed(
    client: httpx2.AsyncClient, site: Site
) -> None:
    async with client.stream("GET", "/api/events?since=2020-01-01T00:00:00Z") as answer:
        first = await upload(client)
        number, _ = await anext(told(answer))
    await complete(site, first)
    second = await upload(client, a_pdf("2"))
    headers = {"Last-Event-ID": number}
    async with (
        asyncio.timeout(PATIENCE),
        client.stream("GET", "/api/events", headers=headers) as answer,
    ):
        heard = told(answer)
        jobs = [(await anext(heard))[1] for _ in range(2)]
    assert [(job["id"], job["status"]) for job in jobs] == [
        (first, "complete"),
        (second, "queued"),
    ]


async def test_changes_are_heard_without_notifications_as_well(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS_DEAF", 0.2)
    async with (
        asyncio.timeout(PATIENCE),
        start(listen_url=None) as site,
        site.client() as client,
        client.stream("GET", "/api/events") as answer,
    ):
        job_id = await upload(client)
        assert (await anext(told(answer)))[1]["id"] == job_id


async def test_a_quiet_stream_gives_signs_of_life_and_ends_with_the_server(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.1)
    async with asyncio.timeout(PATIENCE):
        async with start() as site:
            client = site.client()
            stream = client.stream("GET", "/api/events?since=nonsense")
            answer = await stream.__aenter__()
            lines = answer.aiter_lines()
            while not (await anext(lines)).startswith(": still here"):
                pass
        rest = [line async for line in lines]
    assert all(not line or line.startswith(":") for line in rest)
    await client.aclose()


async def test_the_page_gets_its_rows_drawn(client: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE), client.stream("GET", "/queue/events") as answer:
        job_id = await upload(client)
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                assert line.startswith(f'data: <tr class="job" role="row" id="job-{job_id}"')
                break


async def test_a_deletion_is_told_to_streams_and_to_who_asks_since(
    client: httpx2.AsyncClient,
) -> None:
    job_id = await upload(client)
    since = (await client.get("/api/jobs")).json()["since"]
    async with asyncio.timeout(PATIENCE), client.stream("GET", "/api/events") as answer:
        heard = told(answer)
        assert (await client.delete(f"/api/jobs/{job_id}")).status_code == 204
        number, one = await anext(heard)
        assert (one["id"], number > since) == (job_id, True)
        news = (await client.get("/api/jobs", params={"since": since})).json()
        assert (news["deleted"], news["jobs"], news["since"]) == ([job_id], [], number)
        again = (await client.get("/api/jobs", params={"since": number})).json()
        assert again["deleted"] == []


async def test_a_page_whose_stream_is_cut_asks_for_the_same(client: httpx2.AsyncClient) -> None:
    since = (await client.get("/api/jobs")).json()["since"]
    job_id, other = await upload(client), await upload(client, a_pdf("other"))
    await client.delete(f"/api/jobs/{other}")
    asked = {"since": since}
    news = (await client.get("/queue/changes", params=asked)).json()
    assert (news["active"], news["more"]) == (1, False)
    assert [event["name"] for event in news["events"]] == ["row", "deleted"]
    assert f"job-{job_id}" in news["events"][0]["data"]
    again = (await client.get("/queue/changes", params={"since": news["since"]})).json()
    assert (again["events"], again["since"]) == ([], news["since"])
    # What is not in the view is gone from it.
    news = (await client.get("/queue/changes", params={**asked, "status": "failed"})).json()
    assert [event["name"] for event in news["events"]] == ["deleted", "deleted"]
