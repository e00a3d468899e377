"""Results going out: downloads and the status that programs poll."""

import asyncio
import gzip
import json
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import httpx2
import pytest
from starlette.types import Message

from docmill.app import create_web
from docmill.db.pool import Pool
from docmill.web.config import WebConfig
from sites import Site, a_pdf, complete, fail, part, upload
from waits import PATIENCE, until

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
BIG = json.dumps({"text": "abc " * 500_000}).encode()


async def test_a_result_comes_packed_or_plain_as_the_client_likes(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await client.post("/api/upload", files=[part(name='Rech"nung März.pdf')])
    job_id = answer.json()["jobId"]
    await complete(site, job_id, BIG)
    url = f"/api/jobs/{job_id}/download"
    for accept in ("gzip", "br, gzip;q=0.5", "*"):
        async with client.stream("GET", url, headers={"Accept-Encoding": accept}) as packed:
            body = b"".join([chunk async for chunk in packed.aiter_raw()])
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(body) == BIG
    for accept in ("identity", "gzip;q=0", "br"):
        plain = await client.get(url, headers={"Accept-Encoding": accept})
        assert "content-encoding" not in plain.headers
        assert plain.content == BIG
        assert plain.headers["content-length"] == str(len(BIG))
    assert plain.headers["content-type"] == "application/json"
    plain_name, whole_name = plain.headers["content-disposition"].split("; ")[1:]
    assert plain_name == 'filename="Rech_nung M_rz.json"'
    assert whole_name == "filename*=UTF-8''Rech%22nung%20M%C3%A4rz.json"
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    assert job["download_count"] == 6
    assert job["first_downloaded_at"]
    assert [event["kind"] for event in job["events"]].count("downloaded") == 6


async def test_a_result_that_is_not_there_yet_or_any_more_is_told_so(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    job_id = await upload(client)
    url = f"/api/jobs/{job_id}/download"
    early = await client.get(url)
    assert (early.status_code, early.json()["code"]) == (409, "NOT_READY")
    assert early.json()["error"] == "Conversion not finished yet"
    await complete(site, job_id)
    (key,) = [key for key in site.stored() if key.startswith("results/")]
    (site.root / key).unlink()
    lost = await client.get(url)
    assert (lost.status_code, lost.json()["code"]) == (404, "EXPIRED")
    async with pool.connection() as conn:
        await conn.execute("UPDATE jobs SET result_key = NULL")
    late = await client.get(url)
    assert (late.status_code, late.json()["code"]) == (404, "EXPIRED")
    assert late.json()["error"] == "File was removed by retention. Re-upload to regenerate"
    status = (await client.get(f"/api/job-status/{job_id}")).json()
    assert (status["status"], status["code"]) == ("completed", "EXPIRED")


async def test_results_may_go_with_their_first_download(start: Start) -> None:
    async with start(delete_on_download=True) as site, site.client() as client:
        job_id = await upload(client)
        await complete(site, job_id, BIG)
        first = await client.get(f"/api/jobs/{job_id}/download")
        assert first.content == BIG
        async with asyncio.timeout(PATIENCE):
            second = first
            while second.status_code == 200:  # it goes when the last byte has left
                second = await client.get(f"/api/jobs/{job_id}/download")
        assert (second.status_code, second.json()["code"]) == (404, "EXPIRED")
        await until(lambda: not [key for key in site.stored() if key.startswith("results/")])


async def test_status_tells_a_job_in_four_words(client: httpx2.AsyncClient, site: Site) -> None:
    job_id = await upload(client)
    url = f"/api/job-status/{job_id}"
    queued = (await client.get(url)).json()
    assert queued == {
        "success": True, "jobId": job_id, "status": "queued", "progress": 0,
        "queuedAt": queued["queuedAt"], "startedAt": None, "completedAt": None,
        "processingTime": None,
    }  # fmt: skip
    assert abs(queued["queuedAt"] - time.time() * 1000) < PATIENCE * 1000
    await complete(site, job_id, BIG)
    done = (await client.get(url)).json()
    assert (done["status"], done["progress"]) == ("completed", 100)
    assert done["result"] == json.loads(BIG)
    assert done["completedAt"] >= done["startedAt"] >= done["queuedAt"]
    assert done["processingTime"] >= 0


@pytest.mark.parametrize("data", [b'{"pages": []}', BIG[:900_000] + b'"}'])
async def test_the_status_of_a_complete_job_is_sent_in_one_piece(
    client: httpx2.AsyncClient, site: Site, data: bytes
) -> None:
    """The last of several small pieces would wait for a delayed acknowledgement."""
    job_id = await upload(client)
    await complete(site, job_id, data)
    sent = await messages(site, client, f"/api/job-status/{job_id}")
    bodies = [each for each in sent if each["type"] == "http.response.body"]
    assert len(bodies) == 1
    assert json.loads(bodies[0]["body"])["result"] == json.loads(data)


async def test_the_status_with_a_large_result_is_streamed(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await complete(site, job_id, BIG)
    sent = await messages(site, client, f"/api/job-status/{job_id}")
    assert len([each for each in sent if each["type"] == "http.response.body"]) > 2


async def messages(site: Site, client: httpx2.AsyncClient, path: str) -> list[Message]:
    """What an application over the same services gives its server to send."""
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 1),
        "headers": [(b"host", b"127.0.0.1"), (b"cookie", cookie.encode())],
    }  # fmt: skip
    asked: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if asked:
            return asked.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await create_web(site.services, WebConfig())(scope, receive, send)
    return sent


async def test_status_of_a_failed_job_carries_its_code_and_sentence(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await fail(site, job_id, "GW_4XX")
    failed = (await client.get(f"/api/job-status/{job_id}")).json()
    assert (failed["success"], failed["status"], failed["code"]) == (True, "failed", "GW_4XX")
    assert failed["error"] == "Couldn't convert with this mapping"
    assert "result" not in failed
    other = await upload(client, a_pdf("2"))
    await client.post(f"/api/jobs/{other}/cancel")
    cancelled = (await client.get(f"/api/job-status/{other}")).json()
    assert (cancelled["status"], cancelled["code"]) == ("failed", "CANCELLED")
