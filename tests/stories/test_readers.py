"""Documents read by Azure, on the whole road, against a double that reads what it is sent."""

import asyncio
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import openai_double
from asker import RULES
from azure_double import KEY, AzureDouble
from docmill.core.jobs import JobId, Status
from docmill.core.plugins import PDF
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool
from docmill.queue import leases
from docmill.queue.rescue import Upkeep, rescue_jobs
from docmill.services import azure
from docmill.storage import open_store
from doubles import HANG, doubling
from openai_double import OpenAIDouble
from outside import attempts, desk, done, ended, outcomes
from pdfs import make_pdf
from road import add_stored_job, the
from sites import rows, upload_to
from speakers import answer
from terminal import Process, Terminal, begin, book
from waits import PATIENCE, until

pytestmark = pytest.mark.anyio

BUSY = answer("429 Too Many Requests", b'{"error": {"code": "429"}}', retry_after="1")
LETTER = make_pdf([[(72, 72, "Invoice No: INV-17"), (72, 100, "The lorry broke down in Lyon.")]])


def settings(double: AzureDouble, model: str = "prebuilt-layout") -> dict[str, Any]:
    return {
        "reader": "azure", "reader_endpoint": double.url, "reader_key": KEY, "reader_model": model,
    }  # fmt: skip


async def test_pauses_that_azure_asks_for_are_kept_and_nothing_is_paid_for_twice(
    pool: Pool, tmp_path: Path
) -> None:
    async with doubling(AzureDouble()) as double:
        double.next("POST", BUSY)
        double.next("GET", BUSY)
        given = settings(double, "prebuilt-document")
        async with desk(pool, tmp_path, "extract", **given) as client:
            job_id = await upload_to(client, "extract", LETTER)
            data = await done(client, job_id)
            found = (await client.get("/api/search", params={"q": "lorry in Lyon"})).json()
    assert await outcomes(pool, job_id) == [
        ("retry", "SERVICE_BUSY"), ("retry", "SERVICE_BUSY"), ("complete", None),
    ]  # fmt: skip
    first, second, third = await attempts(pool, job_id)
    for one, following in ((first, second), (second, third)):
        assert one.ended_at
        assert following.started_at - one.ended_at >= timedelta(seconds=0.9)
        assert "429" in (one.error_message or "")
    assert double.paid == ["1-1"]
    assert data["reader"] == "azure prebuilt-document"
    assert [(one["label"], one["value"]) for one in data["fields"]] == [("Invoice No", "INV-17")]
    assert [hit["job_id"] for hit in found["hits"]] == [job_id]
    assert await rows(pool, "document_fields") == 1


async def test_azure_hangs_talks_nonsense_and_refuses_and_the_attempts_say_so(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure, "TIMEOUT", timedelta(seconds=5))
    async with doubling(AzureDouble()) as double:
        double.next("POST", HANG)
        double.next("GET", answer("200 OK", b'{"status": "succeeded", "analyzeResult": {'))
        async with desk(pool, tmp_path, "extract", **settings(double)) as client:
            job_id = await upload_to(client, "extract", LETTER)
            assert (await done(client, job_id))["reader"] == "azure prebuilt-layout"
            assert double.paid == ["1-1"]
            double.failure = {"code": "InvalidRequest", "innererror": {"code": "InvalidContent"}}
            refused = await upload_to(client, "extract", make_pdf([[(72, 72, "another")]]))
            job = await ended(client, refused)
    assert await outcomes(pool, job_id) == [
        ("retry", "SERVICE_TIMEOUT"), ("retry", "SERVICE_FAILED"), ("complete", None),
    ]  # fmt: skip
    assert (job["status"], job["error_code"]) == ("failed", "SERVICE_REFUSED")
    assert await outcomes(pool, refused) == [("failed", "SERVICE_REFUSED")]
    (last,) = await attempts(pool, refused)
    assert "InvalidContent" in (last.error_message or "")


async def killed_when(worker: Process, *happen: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            for one in happen:
                await one.wait()
    finally:
        worker.kill()
        await asyncio.to_thread(worker.wait, PATIENCE)


async def test_a_worker_is_killed_while_services_are_at_work_and_none_is_paid_twice(
    pool: Pool, tmp_path: Path, database_url: str
) -> None:
    store = open_store(str(tmp_path / "store"))
    add = partial(add_stored_job, pool, store, content_type=PDF, pipeline="extract")
    long = await add(make_pdf([[(72, 72, f"page {at}")] for at in range(21)]))
    dense = await add(book(5))
    async with doubling(AzureDouble()) as reader, doubling(OpenAIDouble()) as model:
        given = {**settings(reader), **openai_double.settings(model)}
        variables = {f"DOCMILL_{name.upper()}": value for name, value in given.items()}
        variables |= {"DATABASE_URL": database_url, "DOCMILL_STORE": f"file://{tmp_path}/store"}
        variables |= {"DOCMILL_PIPELINES": "extract"}
        reader.when(lambda asked: reader.pages_of(asked) == "21-21", HANG)
        model.when(lambda _: model.count("POST") == 2, HANG)
        worker = begin(Terminal(tmp_path, variables), ["worker"], tmp_path / "log")
        await killed_when(worker, reader.hanging, model.hanging)
        work, changes = Notifier(pool, WORK), Notifier(pool, CHANGES)
        await rescue_jobs(Upkeep(pool, store, work, changes, RULES, leases.identify()))
        async with desk(pool, tmp_path / "store", "extract", **given):
            for job_id in (long, dense):
                await until(partial(_is_complete, pool, job_id))
    for job_id in (long, dense):
        assert await outcomes(pool, str(job_id)) == [("lost", "WORKER_LOST"), ("complete", None)]
    assert sorted(reader.paid) == ["1-20", "1-5", "21-21"]
    assert reader.count("POST") == 3
    asked = [str(body["input"]) for body in model.heard("/embeddings")]
    assert asked == [asked[0], asked[1], asked[1]], "only what had no answer is asked again"
    assert asked[0] != asked[1]
    await asyncio.gather(work.close(), changes.close())


async def _is_complete(pool: Pool, job_id: JobId) -> bool:
    async with pool.connection() as conn:
        return (await the(conn, job_id)).status is Status.COMPLETE
