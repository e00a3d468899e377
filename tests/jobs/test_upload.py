"""Files coming in over HTTP: what is accepted, and as what."""

import asyncio
import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import httpx2
import pytest

from docmill.db.pool import Pool
from sites import PDF_FILE, Site, a_pdf, fail, part, rows, upload

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


async def test_an_upload_is_answered_at_once_with_its_job(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/upload", files=[part(name="dir/Rechnung März.pdf")])
    assert answer.status_code == 200
    body = answer.json()
    assert body["success"] is True
    assert body["message"]
    assert body["estimatedTime"] > 0
    assert body["duplicate"] is False
    job = body["job"]
    assert job["id"] == body["jobId"]
    assert job["filename"] == job["original_filename"] == "Rechnung März.pdf"
    assert (job["bytes"], job["status"], job["label"]) == (len(PDF_FILE), "queued", "Waiting")
    assert job["sha256"] == hashlib.sha256(PDF_FILE).hexdigest()
    assert ISO.fullmatch(job["created_at"])
    assert (job["pipeline"], job["source"], job["progress"]) == ("extract", "upload", 0)


async def test_what_is_stored_is_what_was_sent(client: httpx2.AsyncClient, site: Site) -> None:
    data = a_pdf("x") + bytes(range(256)) * 10_000 + b"\r\n--"
    await upload(client, data)
    (key,) = site.stored()
    assert key.startswith("uploads/")
    assert (site.root / key).read_bytes() == data


async def test_documents_answers_with_the_document_and_its_job(client: httpx2.AsyncClient) -> None:
    body = (await client.post("/documents", files=[part()])).json()
    assert body["document"]["id"] == body["documentId"] == body["job"]["document_id"]
    assert body["document"]["sha256"] == hashlib.sha256(PDF_FILE).hexdigest()
    assert body["job"]["source"] == "api"


async def test_fields_choose_pipeline_mapping_and_priority(client: httpx2.AsyncClient) -> None:
    wishes = {"pipeline": "study", "mapping": "plain_v1", "priority": "-5"}
    job = (await client.post("/api/upload", files=[part()], data=wishes)).json()["job"]
    assert (job["pipeline"], job["mapping"], job["priority"]) == ("study", "plain_v1", -5)
    text = [part(b"words, words", "a.txt")]
    job = (await client.post("/api/upload?pipeline=study", files=text)).json()["job"]
    assert (job["pipeline"], job["content_type"]) == ("study", "text/plain")


async def test_nobody_gets_more_priority_than_granted(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/upload", files=[part()], data={"priority": "10"})
    assert answer.json()["job"]["priority"] == 0


async def test_52428800_bytes_are_accepted_and_one_more_is_refused(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    largest = b"%PDF-1.7\n".ljust(52_428_800, b"x")
    over = await client.post("/api/upload", files=[part(largest + b"x")])
    assert over.status_code == 413
    body = over.json()
    assert body["error"] == "File size exceeds 50MB limit"
    assert (body["maxSize"], body["code"]) == (52_428_800, "TOO_LARGE")
    assert (site.stored(), await rows(pool, "jobs"), await rows(pool, "documents")) == ([], 0, 0)
    exact = await client.post("/api/upload", files=[part(largest)])
    assert exact.status_code == 200
    assert exact.json()["job"]["bytes"] == 52_428_800


async def test_the_same_file_gives_back_the_same_job(
    client: httpx2.AsyncClient, site: Site
) -> None:
    first = await upload(client)
    again = (await client.post("/api/upload", files=[part(name="other.pdf")])).json()
    assert (again["jobId"], again["duplicate"], again["outcome"]) == (first, True, "existing")
    assert len(site.stored()) == 1
    other = (await client.post("/api/upload?pipeline=study", files=[part()])).json()
    assert other["jobId"] != first


async def test_a_failed_file_sent_again_is_queued_again(
    client: httpx2.AsyncClient, site: Site
) -> None:
    first = await upload(client)
    await fail(site, first)
    again = (await client.post("/api/upload", files=[part()])).json()
    assert (again["jobId"], again["outcome"], again["job"]["status"]) == (
        first,
        "requeued",
        "queued",
    )


async def test_fifty_equal_uploads_at_once_make_one_job(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    await client.get("/api/jobs")  # one browser, one cookie
    ids = await asyncio.gather(*(upload(client) for _ in range(50)))
    assert len(set(ids)) == 1
    assert await rows(pool, "jobs") == 1
    assert len(site.stored()) == 1


async def test_a_hundred_uploads_at_once_are_all_accepted(site: Site, pool: Pool) -> None:
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(site.client()) for _ in range(10)]
        for client in people:
            await client.get("/api/jobs")
        ids = await asyncio.gather(*(upload(people[n % 10], a_pdf(str(n))) for n in range(100)))
    assert len(set(ids)) == await rows(pool, "jobs") == 100


async def test_a_repeated_request_key_makes_one_job(client: httpx2.AsyncClient, pool: Pool) -> None:
    key = {"Idempotency-Key": "order-17"}
    await client.get("/api/jobs")
    ids = await asyncio.gather(*(upload(client, headers=key) for _ in range(10)))
    assert len(set(ids)) == await rows(pool, "jobs") == 1
    other = await client.post("/api/upload", files=[part(a_pdf("2"))], headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "KEY_REUSED")


async def test_several_files_have_an_outcome_each(start: Start, pool: Pool) -> None:
    big = b"%PDF-1.7\n".ljust(30_000, b"x")
    async with start(max_upload_bytes=20_000) as site, site.client() as client:
        files = [part(), part(b"words", "b.pdf"), part(big, "c.pdf", "files"), part(a_pdf("d"))]
        answer = await client.post("/api/upload", files=files)
        stored = site.stored()
    assert answer.status_code == 200
    body = answer.json()
    assert body["success"] is False
    assert [one["success"] for one in body["jobs"]] == [True, False, False, True]
    assert [one.get("code") for one in body["jobs"]] == [None, "NOT_PDF", "TOO_LARGE", None]
    assert body["jobs"][2]["filename"] == "c.pdf"
    assert body["jobs"][3]["job"]["status"] == "queued"
    assert len(stored) == await rows(pool, "jobs") == 2


async def test_several_files_under_one_key_are_remembered_one_by_one(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    files = [part(a_pdf("1")), part(a_pdf("2"))]
    key = {"Idempotency-Key": "both"}
    first = (await client.post("/api/upload", files=files, headers=key)).json()
    again = (await client.post("/api/upload", files=files, headers=key)).json()
    assert [one["jobId"] for one in first["jobs"]] == [one["jobId"] for one in again["jobs"]]
    assert await rows(pool, "jobs") == 2


async def test_too_many_uploads_a_minute_are_told_when_to_come_back(start: Start) -> None:
    async with start(uploads_per_minute=1, uploads_burst=3) as site, site.client() as client:
        for n in range(3):
            await upload(client, a_pdf(str(n)))
        answer = await client.post("/api/upload", files=[part(a_pdf("4"))])
        assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMITED")
        assert answer.json()["error"] == "Too many uploads. Try again in a moment"
        assert 0 < int(answer.headers["retry-after"]) <= 60
        async with site.client() as other:
            await upload(other)
