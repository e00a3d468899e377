"""Whom a site answers: requests for its own hosts, and in local mode the person at the machine."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import httpx2
import pytest

from docmill.web.middleware import Hosts
from sites import Site, part, upload

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]

FOREIGN = (
    "evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example",
    "10.0.0.7", "[fe80::1]", "0.0.0.0", "", "a b", "user@localhost", "localhost:80:80",
)  # fmt: skip


async def test_a_request_for_another_host_is_refused_at_every_address(start: Start) -> None:
    for mode in ("local", "session"):
        async with start(auth_mode=mode) as site, site.client() as client:
            document = (await client.get("/openapi.json")).json()
            routes = [
                (method.upper(), path.replace("{", "").replace("}", ""))
                for path, operations in document["paths"].items()
                for method in operations
                if path not in {"/health", "/ready", "/api/healthz"}
            ]
            pages = ("/", "/queue", "/queue/events", "/trades", "/bucket", "/search", "/review")
            more = [
                ("GET", page) for page in (*pages, "/docs", "/openapi.json", "/static/docmill.css")
            ]
            posts = [("POST", "/queue/upload"), ("POST", "/bucket/count"), ("GET", "/nosuch")]
            assert len(routes) > 30
            for method, path in (*routes, *more, *posts):
                answer = await client.request(method, path, headers={"host": "evil.example"})
                assert answer.status_code == 421, (method, path)
                assert answer.json()["code"] == "WRONG_HOST"
                assert "set-cookie" not in answer.headers
            for host in FOREIGN:
                answer = await client.get("/api/jobs", headers={"host": host})
                assert answer.status_code in {400, 421}, host


async def test_probes_answer_at_any_host_and_metrics_at_any_address(
    client: httpx2.AsyncClient,
) -> None:
    for path in ("/health", "/ready", "/api/healthz"):
        for host in ("10.1.2.3:8000", "evil.example"):
            assert (await client.get(path, headers={"host": host})).status_code == 200
    assert (await client.get("/metrics", headers={"host": "10.1.2.3:8000"})).status_code == 200
    assert (await client.get("/metrics", headers={"host": "evil.example"})).status_code == 421


def test_the_machine_itself_and_the_names_given_are_answered() -> None:
    hosts = Hosts(["0.0.0.0", "Docs.Example.com:8443", "192.168.1.5", "fd00::5", "::"])
    ours = (
        "localhost",
        "LOCALHOST:8000",
        "localhost.",
        "127.0.0.1:8000",
        "127.9.9.9",
        "[::1]:8000",
    )
    for host in (*ours, "docs.example.com", "docs.example.com:1", "192.168.1.5", "[fd00::5]"):
        assert hosts.allow("/api/jobs", [(b"host", host.encode())]), host
    for host in (*FOREIGN, "example.com", "x.docs.example.com", "[::]", "192.168.1.6"):
        assert not hosts.allow("/api/jobs", [(b"host", host.encode())]), host
    twice = [(b"host", b"localhost"), (b"host", b"evil.example")]
    assert not hosts.allow("/api/jobs", twice)
    assert not hosts.allow("/api/jobs", [])


async def test_in_local_mode_everybody_at_the_machine_is_one_owner_without_a_cookie(
    start: Start,
) -> None:
    async with (
        start(auth_mode="local") as site,
        site.client() as browser,
        site.client() as curl,
    ):
        job_id = await upload(browser)
        answer = await curl.get(f"/api/jobs/{job_id}", headers={"authorization": "Bearer x"})
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers
        again = await curl.post("/api/upload", files=[part()])
        assert (again.json()["jobId"], again.json()["outcome"]) == (job_id, "existing")
        assert (await curl.post(f"/api/jobs/{job_id}/cancel")).status_code == 200


async def test_in_local_mode_a_browser_acts_for_no_other_site(start: Start) -> None:
    async with start(auth_mode="local") as site, site.client() as client:
        job_id = await upload(client)
        foreign = (
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
            {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": f"http://localhost:{site.port}"},
        )
        for headers in foreign:
            for method, path in (
                ("POST", f"/api/jobs/{job_id}/cancel"),
                ("DELETE", f"/api/jobs/{job_id}"),
                ("POST", f"/trades/{uuid4()}/approve"),
                ("POST", "/api/upload"),
                ("GET", f"/api/jobs/{job_id}/original"),
                ("GET", "/api/events"),
            ):
                answer = await client.request(method, path, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (403, "CROSS_SITE"), headers
        link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        assert (await client.get("/queue", headers=link)).status_code == 200
        assert (await client.post(f"/api/jobs/{job_id}/cancel", headers=link)).status_code == 403
        ours = {"origin": site.url, "sec-fetch-site": "same-origin"}
        assert (await client.post(f"/api/jobs/{job_id}/cancel", headers=ours)).status_code == 200


async def test_in_local_mode_nobody_comes_in_through_a_proxy(start: Start) -> None:
    async with start(auth_mode="local") as site, site.client() as client:
        for name in ("x-forwarded-for", "forwarded", "x-real-ip"):
            answer = await client.get("/api/jobs", headers={name: "203.0.113.9"})
            assert (answer.status_code, answer.json()["code"]) == (403, "NOT_LOCAL")
