"""Documents read by Azure, on the whole road, against a double that reads what it is sent."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

import openai_double
from azure_double import KEY, AzureDouble
from cli.terminal import Terminal, begin, book
from docmill.clients import azure
from docmill.core.jobs import JobId, Status
from docmill.core.pipeline import PDF
from docmill.db.pool import Pool
from docmill.db.signals import CHANGES, WORK, Bell
from docmill.storage import open_store
from docmill.work import identity
from docmill.work.upkeep import Upkeep, rescue
from doubles import HANG, doubling
from openai_double import OpenAIDouble
from outside import attempts, desk, done, ended, outcomes
from pdfs import make_pdf
from road import add_stored_job, the
from sites import rows, upload_to
from speakers import answer
from work.asker import RULES
from workers import until

pytestmark = pytest.mark.anyio

BUSY = answer("429 Too Many Requests", b'{"error": {"code": "429"}}', retry_after="1")
LETTER = make_pdf([[(72, 72, "Invoice No: INV-17"), (72, 100, "The lorry broke down in Lyon.")]])


Start = Callable[[], "Popen[bytes]"]


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
    monkeypatch.setattr(azure, "TIMEOUT", timedelta(seconds=1))
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


async def killed_when(happens: asyncio.Event, start: Start, upkeep: Upkeep) -> None:
    """A worker that is at work until then, ended without a word, and found missing."""
    worker = start()
    try:
        await asyncio.wait_for(happens.wait(), 60)
    finally:
        worker.kill()
        await asyncio.to_thread(worker.wait, 30)
    await rescue(upkeep)


async def test_workers_are_killed_while_services_are_at_work_and_none_is_paid_twice(
    pool: Pool, tmp_path: Path, database_url: str
) -> None:
    store = open_store(str(tmp_path / "store"))
    bells = Bell(pool, WORK), Bell(pool, CHANGES)
    upkeep = Upkeep(pool, store, *bells, RULES, identity.me())
    job_id = await add_stored_job(pool, store, book(25), content_type=PDF, pipeline="extract")
    async with doubling(AzureDouble()) as reader, doubling(OpenAIDouble()) as model:
        given = {**settings(reader), **openai_double.settings(model), "pipelines": "extract"}
        variables = {f"DOCMILL_{name.upper()}": value for name, value in given.items()}
        variables |= {"DATABASE_URL": database_url, "DOCMILL_STORE": f"file://{tmp_path}/store"}
        start = partial(begin, Terminal(tmp_path, variables), ["worker"], tmp_path / "log")

        reader.when(lambda _: len(reader.operations) == 2, HANG)
        await killed_when(reader.hanging, start, upkeep)
        model.when(lambda _: model.count("POST") == 2, HANG)
        await killed_when(model.hanging, start, upkeep)
        worker = start()
        await until(lambda: _is_complete(pool, job_id), 60)
        worker.terminate()
        await asyncio.to_thread(worker.wait, 30)
    lost = ("lost", "WORKER_LOST")
    assert await outcomes(pool, str(job_id)) == [lost, lost, ("complete", None)]
    assert reader.paid == ["1-20", "21-25"]
    assert reader.count("POST") == 2
    asked = [str(body["input"]) for body in model.heard("/embeddings")]
    assert len(asked) > 2
    assert [one for one in asked if asked.count(one) > 1] == [asked[1]] * 2, "it had no answer"
    await asyncio.gather(*(bell.close() for bell in bells))


async def _is_complete(pool: Pool, job_id: JobId) -> bool:
    async with pool.connection() as conn:
        return (await the(conn, job_id)).status is Status.COMPLETE
