"""What every answer has, whatever happens behind it; and the server itself."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import UUID

import httpx2
import psycopg
import pytest

from docmill.db.pool import open_pool
from docmill.jobs import queries
from docmill.web import server
from docmill.web.middleware import make_request_id
from sites import Site, fail, part, running, upload
from waits import PATIENCE

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]


async def test_every_answer_carries_the_security_headers(client: httpx2.AsyncClient) -> None:
    for path in ("/queue", "/api/jobs", "/nosuch", "/health", "/docs", "/static/docmill.css"):
        headers = (await client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-request-id"]
        assert headers["cache-control"]


async def test_a_request_has_a_random_uuid() -> None:
    ids = [UUID(make_request_id()) for _ in range(64)]
    assert {one.version for one in ids} == {4}
    assert len(set(ids)) == len(ids)


async def test_errors_are_problem_documents(client: httpx2.AsyncClient) -> None:
    for method, path, status, code in (
        ("GET", "/nosuch", 404, "NOT_FOUND"),
        ("PUT", "/api/jobs", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/api/jobs?limit=many", 400, "BAD_REQUEST"),
        ("GET", "/api/jobs/x", 404, "JOB_NOT_FOUND"),
    ):
        answer = await client.request(method, path)
        body = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, body["status"], body["code"]) == (status, status, code)
        assert {"type", "title", "detail", "instance", "error", "retryable"} <= set(body)
        assert body["instance"] == f"urn:uuid:{answer.headers['x-request-id']}"


async def test_a_bug_of_ours_is_told_without_its_inside(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise KeyError("the inside")

    monkeypatch.setattr(queries, "list_recent", broken)
    answer = await client.get("/api/jobs")
    assert (answer.status_code, answer.json()["code"]) == (500, "UNKNOWN")
    assert answer.json()["error"] == "Something went wrong"
    assert "inside" not in answer.text
    assert "nosniff" in answer.headers["x-content-type-options"]
    page = await client.get("/api/jobs", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"][:9]) == (500, "text/html")
    assert "Something went wrong" in page.text
    assert page.headers["x-request-id"] in page.text
    assert "inside" not in page.text


async def test_logs_tell_routes_but_neither_names_nor_addresses(
    client: httpx2.AsyncClient, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = await client.post("/api/upload?canary=1", files=[part(name="canary.pdf")])
    job_id = answer.json()["jobId"]
    await client.post("/api/upload", files=[part(b"canary", name="canary.pdf")])
    await fail(site, job_id)
    await client.get(f"/api/jobs/{job_id}?q=canary", headers={"Cookie": "docmill_session=canary"})
    await client.get("/canary/..%2Fcanary")
    logged = capsys.readouterr()
    assert "/api/jobs/{job_id}" in logged.out + logged.err
    (sent,) = [line for line in logged.out.splitlines() if "/api/upload" in line and job_id in line]
    assert answer.headers["x-request-id"] in sent
    assert "canary" not in logged.out + logged.err


async def test_slow_headers_are_not_waited_for(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server.HEADER_MS < 30_000
    monkeypatch.setattr(server, "HEADER_MS", 500)
    async with start() as site:
        for begun in (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow"):
            reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(begun)
            async with asyncio.timeout(PATIENCE):
                assert await reader.read() == b""
            writer.close()


async def test_many_waiting_clients_leave_room_for_others(
    client: httpx2.AsyncClient, site: Site
) -> None:
    idle = await asyncio.gather(
        *(asyncio.open_connection("127.0.0.1", site.port) for _ in range(300))
    )
    for _, writer in idle:
        writer.write(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(reader.readuntil(b"retry:") for reader, _ in idle))
        await upload(client)
    for _, writer in idle:
        writer.close()


async def test_a_locked_database_is_told_in_time_to_everybody(
    database_url: str, tmp_path: Path
) -> None:
    async with (
        open_pool(database_url) as pool,
        running(pool, tmp_path, listen_url=database_url) as site,
        site.client() as client,
        await psycopg.AsyncConnection.connect(database_url) as greedy,
    ):
        job_id = await upload(client)
        await greedy.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        # Answered while the lock is held, which nobody gives back.
        answers = await asyncio.gather(
            *(client.get(f"/api/job-status/{job_id}") for _ in range(100))
        )
        await greedy.rollback()
        assert {answer.status_code for answer in answers} == {503}
        assert (await client.get(f"/api/job-status/{job_id}")).status_code == 200


async def test_a_taken_port_is_told_in_two_lines() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(server.ServeError, match=rf"Port {port} .* is taken\.\n.*--port"):
            server.bind("127.0.0.1", port)
    with pytest.raises(server.ServeError):
        server.bind("no.such.host.invalid", 0)
