"""For those who watch: alive, ready, metrics, and the contract."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2
import pytest

from docmill.db.pool import Pool
from sites import Site, a_pdf, complete, fail, part, upload

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]


async def test_the_process_says_that_it_lives_and_can_work(
    client: httpx2.AsyncClient, site: Site
) -> None:
    for path in ("/health", "/api/healthz"):
        body = (await client.get(path)).json()
        assert (body["status"], "version" in body, body["uptime_seconds"] >= 0) == (
            "ok",
            True,
            True,
        )
    ready = await client.get("/ready")
    assert (ready.status_code, ready.json()["parts"]) == (200, {"database": "ok", "store": "ok"})
    assert "set-cookie" not in ready.headers
    assert site.stored() == []


async def test_without_its_database_it_lives_but_is_not_ready(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    await pool.close()
    assert (await client.get("/health")).status_code == 200
    ready = await client.get("/ready")
    assert (ready.status_code, ready.json()["parts"]["database"]) == (503, "DATABASE_DOWN")
    metrics = await client.get("/metrics")
    assert metrics.status_code == 200
    assert "database_up 0.0" in metrics.text
    jobs = await client.get("/api/jobs")
    assert (jobs.status_code, jobs.json()["retryAfter"]) == (503, 60)


async def test_metrics_count_what_happened_once(client: httpx2.AsyncClient, site: Site) -> None:
    await complete(site, await upload(client))
    await fail(site, await upload(client, a_pdf("2")))
    await upload(client, a_pdf("3"))
    await client.post("/api/upload", files=[part(b"words")])
    await client.get("/metrics")
    text = (await client.get("/metrics")).text
    for line in (
        "documents_received_total 3.0",
        "documents_processed_total 1.0",
        'documents_failed_total{error_type="BAD_PDF"} 1.0',
        "documents_pending 1.0",
        "documents_processing 0.0",
        "document_processing_seconds_sum 1.5",
        'uploads_total{outcome="created"} 3.0',
        'uploads_total{outcome="NOT_PDF"} 1.0',
        "database_up 1.0",
    ):
        assert line in text, line
    assert 'http_request_seconds_count{method="POST",route="/api/upload",status="200"} 3.0' in text


async def test_the_contract_documents_every_route_its_errors_and_the_form(
    client: httpx2.AsyncClient,
) -> None:
    document: dict[str, Any] = (await client.get("/openapi.json")).json()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            # One without a problem of ours would be the framework's.
            refused = operation["responses"].get("422", {"content": ["application/problem+json"]})
            assert "application/problem+json" in refused["content"], path
    upload_route = document["paths"]["/api/upload"]["post"]
    assert "multipart/form-data" in upload_route["requestBody"]["content"]
    assert {"400", "401", "403", "413", "429", "503"} <= set(upload_route["responses"])
    problem = upload_route["responses"]["413"]["content"]["application/problem+json"]
    assert problem["schema"]["$ref"] == "#/components/schemas/Problem"
    assert "Problem" in document["components"]["schemas"]


def read_values(*texts: str) -> dict[str, float]:
    """The sum of each sample over the processes."""
    found: dict[str, float] = {}
    for text in texts:
        for line in text.splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name] = found.get(name, 0.0) + float(value)
    return found


async def test_an_event_is_counted_by_one_of_several_processes(start: Start) -> None:
    async with start() as one, start() as two, one.client() as first, two.client() as second:
        asked = [first, second]
        for number in range(4):
            await complete(one, await upload(first, a_pdf(str(number))))
            await asked[number % 2].get("/metrics")
        texts = [(await each.get("/metrics")).text for each in asked]
        added = read_values(*texts)
        assert added["documents_received_total"] == added["documents_processed_total"] == 4
        assert added["document_processing_seconds_count"] == 4
        assert {read_values(text)["documents_received_total"] for text in texts} == {2.0}
        assert read_values(texts[1])['owner_requests_total{kind="session"}'] == 0
        assert read_values(texts[0])['owner_requests_total{kind="session"}'] == 4


async def test_metrics_that_are_switched_off_are_not_there(start: Start) -> None:
    async with start(metrics=False) as site, site.client() as client:
        assert (await client.get("/metrics")).status_code == 404
        assert (await client.get("/health")).status_code == 200
