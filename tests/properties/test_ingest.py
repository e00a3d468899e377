"""SPEC section 12: what holds for any file that comes in."""

import asyncio
import hashlib
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.core.documents import clean_filename
from docmill.core.faults import DocmillError
from docmill.core.jobs import Status
from docmill.db.pool import Pool
from docmill.documents.accept import Acceptor, JobRequest
from docmill.jobs import queries
from docmill.queue import claim
from properties.senders import ANN, ANY_TEXT, LIMIT, RICH, a_file, bring, examples
from road import LEASE
from sites import SHOWN_COLUMNS, Site, a_pdf, part, rows, running

pytestmark = pytest.mark.anyio

MB50 = 52_428_800


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


@examples(40)
@given(size=st.integers(64, LIMIT), chunk=st.integers(1, 4096))
@example(size=LIMIT, chunk=LIMIT)
@example(size=LIMIT - 1, chunk=7)
async def test_any_file_up_to_the_limit_is_stored_and_gets_a_job_id(
    intake: Acceptor, size: int, chunk: int
) -> None:
    """Property 1."""
    data = a_file(size)
    accepted = await bring(intake, data, chunk=chunk)
    assert accepted.job.id.version == 4
    assert accepted.job.upload_key is not None
    stored = b"".join([piece async for piece in intake.store.chunks(accepted.job.upload_key)])
    assert stored == data
    assert accepted.job.sha256 == hashlib.sha256(data).hexdigest()


@examples(25)
@given(size=st.integers(64, LIMIT))
@example(size=LIMIT)
async def test_any_file_up_to_the_limit_is_taken_by_the_api(
    client: httpx2.AsyncClient, size: int
) -> None:
    """Property 1."""
    answer = await client.post("/api/upload", files=[part(a_file(size))])
    assert answer.status_code == 200
    assert answer.json()["success"] is True
    assert UUID(answer.json()["jobId"]).version == 4
    assert answer.json()["job"]["bytes"] == size


@examples(25)
@given(over=st.integers(1, 3 * LIMIT))
@example(over=1)
async def test_any_larger_file_is_refused_and_leaves_nothing(
    client: httpx2.AsyncClient, site: Site, pool: Pool, over: int
) -> None:
    """Property 2."""
    before = site.stored(), await rows(pool, "jobs"), await rows(pool, "documents")
    answer = await client.post("/api/upload", files=[part(a_file(LIMIT + over))])
    assert answer.status_code == 413
    body = answer.json()
    assert (body["code"], body["maxSize"]) == ("TOO_LARGE", LIMIT)
    assert body["error"] == f"File size exceeds {LIMIT} byte limit"
    assert (site.stored(), await rows(pool, "jobs"), await rows(pool, "documents")) == before


@examples(25)
@given(over=st.integers(1, LIMIT), chunk=st.integers(1, 4096))
async def test_the_first_byte_too_many_ends_the_reading(
    intake: Acceptor, tmp_path: Path, over: int, chunk: int
) -> None:
    """Property 2."""
    before = files(tmp_path)
    with pytest.raises(DocmillError, match="TOO_LARGE"):
        await bring(intake, a_file(LIMIT + over), chunk=chunk)
    assert files(tmp_path) == before


async def test_fifty_megabytes_is_accepted_and_one_byte_more_is_not(
    pool: Pool, tmp_path: Path
) -> None:
    """Properties 1 and 2, at the limit an installation has by default."""
    async with running(pool, tmp_path / "big") as site, site.client() as client:
        whole = await client.post("/api/upload", files=[part(a_file(MB50))])
        assert (whole.status_code, whole.json()["job"]["bytes"]) == (200, MB50)
        stored = site.stored()
        more = await client.post("/api/upload", files=[part(a_file(MB50 + 1))])
        assert (more.status_code, more.json()["maxSize"]) == (413, MB50)
        assert site.stored() == stored


@examples(40)
@given(filename=ANY_TEXT, size=st.integers(64, 500), asked=st.none() | st.integers(-100, 100))
async def test_every_job_has_its_fields_whatever_its_name_and_priority(
    intake: Acceptor, filename: str, size: int, asked: int | None
) -> None:
    """Properties 3 and 7."""
    data = a_file(size)
    wanted = JobRequest(RICH, "extract", priority=asked)
    job = (await bring(intake, data, wanted, filename=filename)).job
    assert job.original_filename == clean_filename(filename)
    assert (job.bytes, job.sha256) == (size, hashlib.sha256(data).hexdigest())
    assert (job.owner, job.pipeline, job.source) == (RICH.key, "extract", "upload")
    assert job.content_type == "application/pdf"
    assert job.priority == (10 if asked is None else min(asked, 10))
    assert (job.status, job.progress, job.attempt_count) == (Status.QUEUED, 0, 0)
    assert None not in (job.created_at, job.updated_at, job.queued_at, job.upload_key)


@examples(20)
@given(name=st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1))
async def test_the_api_shows_every_column_of_a_job(client: httpx2.AsyncClient, name: str) -> None:
    """Properties 3 and 7."""
    answer = await client.post("/api/upload", files=[part(a_file(200), name)])
    assert answer.status_code == 200
    assert answer.json().keys() >= {"success", "jobId", "message", "estimatedTime", "job"}
    job = (await client.get(f"/api/jobs/{answer.json()['jobId']}")).json()
    assert not SHOWN_COLUMNS - job.keys()
    assert (job["status"], job["progress"]) == ("queued", 0)
    assert [event["kind"] for event in job["events"]] == ["created", "queued"]


@examples(25)
@given(asked=st.none() | st.integers(-100, 100), premium=st.booleans())
async def test_every_queued_job_carries_its_id_location_and_priority(
    intake: Acceptor, asked: int | None, premium: bool
) -> None:
    """Property 5. Nobody gets more priority than is granted."""
    owner = RICH if premium else ANN
    job = (await bring(intake, a_file(100), JobRequest(owner, "extract", priority=asked))).job
    granted = owner.priority
    assert job.priority == (granted if asked is None else min(asked, granted))
    async with intake.pool.connection() as conn:
        queued = (await queries.list_events(conn, job.id))[-1]
        (claimed,) = await claim.claim(conn, "w1", pipelines=["extract"], slots=9, lease=LEASE)
    assert (queued.kind, queued.meta["priority"]) == ("queued", job.priority)
    assert (claimed.id, claimed.upload_key) == (job.id, job.upload_key)
    stored = await intake.store.head(str(claimed.upload_key))
    assert stored is not None
    assert stored.bytes == 100


async def test_a_hundred_uploads_at_once_all_succeed(site: Site, pool: Pool) -> None:
    """Property 23."""
    async with site.client() as client:
        sends = [
            client.post("/api/upload", files=[part(a_pdf(str(number)))]) for number in range(100)
        ]
        answers = await asyncio.gather(*sends)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["jobId"] for answer in answers}) == 100
    assert await rows(pool, "jobs") == await rows(pool, "documents") == 100
    assert len(site.stored()) == 100


async def test_the_same_file_a_hundred_times_at_once_is_one_job(site: Site, pool: Pool) -> None:
    """Section 3, dedupe: race-free under concurrent uploads."""
    async with site.client() as client:
        await client.get("/api/jobs")
        sends = [client.post("/api/upload", files=[part()]) for _ in range(100)]
        answers = await asyncio.gather(*sends)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["jobId"] for answer in answers}) == 1
    assert [answer.json()["duplicate"] for answer in answers].count(False) == 1
    assert await rows(pool, "jobs") == await rows(pool, "documents") == len(site.stored()) == 1
