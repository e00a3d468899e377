"""Fields asked for with an upload, on the whole road: web, worker, result."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from docmill.core.installed import PipelineCatalog
from docmill.core.plugins import PDF
from docmill.db.pool import Pool
from docmill.jobs.runner import RunnerParts
from docmill.services.breaker import ServiceGuard
from docmill.services.broker import Service
from docmill.services.endpoint import Endpoint
from docmill.services.openai import OpenAI
from pdfs import make_pdf
from sites import Site, part
from speakers import answer, speaking
from waits import PATIENCE, until
from workers import working

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
OFFER = PipelineCatalog({"extract": (PDF,), "trades": (PDF,)}, {}, frozenset({"extract"}))
BILL = make_pdf([[(72, 72, "Invoice No: INV-17"), (72, 100, "Total: EUR 12.50")]])
SCHEMA = {"type": "object", "properties": {"total": {"type": "string", "format": "amount"}}}


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start(offer=OFFER) as running_site:
        yield running_site


async def send(client: httpx2.AsyncClient, fields: str, **more: str) -> httpx2.Response:
    return await client.post("/api/upload", data={**more, "fields": fields}, files=[part(BILL)])


async def found(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    async def done() -> bool:
        return (await client.get(f"/api/jobs/{job_id}")).json()["status"] == "complete"

    await until(done)
    data = await client.get(f"/api/jobs/{job_id}/download", params={"form": "data"})
    return data.json()["asked"]


@pytest.mark.parametrize(
    ("fields", "at", "says"),
    [
        ("", "fields", "asks for nothing"),
        ("total:lots", "fields.total", "there is no type 'lots'"),
        ("{", "fields", "begins like JSON"),
        (",".join(f"f{at}" for at in range(51)), "fields", "at most 50"),
        ('{"properties": {"a": {"type": "array", "items": {}}}}', "fields.properties.a", "a list"),
        ('{"properties": {"a": {"properties": {}}}}', "fields.properties.a", "an object in an"),
        ('{"properties": {"a": {"type": "date"}}}', "fields.properties.a", "type must be"),
    ],
)
async def test_a_bad_schema_is_400_and_nothing_is_stored(
    client: httpx2.AsyncClient, site: Site, fields: str, at: str, says: str
) -> None:
    for files_first in (False, True):
        form = [("fields", (None, fields.encode()))]
        body = [part(BILL), *form] if files_first else [*form, part(BILL)]
        told = await client.post("/api/upload", files=body)
        assert (told.status_code, told.json()["code"]) == (400, "BAD_REQUEST")
        (mistake,) = told.json()["mistakes"]
        assert mistake["at"] == at
        assert says in mistake["message"]
    assert site.stored() == []
    assert (await client.get("/api/jobs")).json()["jobs"] == []


async def test_a_schema_that_never_ends_is_refused(client: httpx2.AsyncClient, site: Site) -> None:
    told = await send(client, "a" * 70_000)
    assert told.status_code == 400
    assert site.stored() == []


async def test_a_pipeline_that_finds_no_fields_by_name_says_which_do(
    client: httpx2.AsyncClient, site: Site
) -> None:
    told = await send(client, "total", pipeline="trades")
    assert told.status_code == 400
    assert "these do: extract" in told.json()["mistakes"][0]["message"]
    assert site.stored() == []


async def test_the_default_pipeline_is_checked_as_well(start: Start) -> None:
    async with start(offer=OFFER, default_pipeline="trades") as site, site.client() as client:
        assert (await send(client, "total")).status_code == 400
        assert site.stored() == []


async def test_the_same_file_with_other_fields_is_another_job(client: httpx2.AsyncClient) -> None:
    plain = (await client.post("/api/upload", files=[part(BILL)])).json()["jobId"]
    total = (await send(client, "total:amount")).json()["jobId"]
    number = (await send(client, "invoice_no:id")).json()["jobId"]
    assert len({plain, total, number}) == 3
    again = (await send(client, json.dumps(SCHEMA))).json()
    assert (again["jobId"], again["outcome"]) == (total, "existing")


async def test_a_request_key_sent_again_with_other_fields_is_refused(
    client: httpx2.AsyncClient,
) -> None:
    headers = {"Idempotency-Key": "bill-17"}
    answers = [
        await client.post("/api/upload", data=data, files=[part(BILL)], headers=headers)
        for data in ({"fields": "total"}, {"fields": "total:text"}, {"fields": "due"}, {})
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 422, 422]
    assert answers[0].json()["jobId"] == answers[1].json()["jobId"]
    assert answers[2].json()["code"] == "KEY_REUSED"


async def test_the_answer_is_in_the_result_of_either_door(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    first = (await send(client, "invoice_no:id,total:amount,due:date")).json()["jobId"]
    sent = await client.post("/documents", data={"fields": "total"}, files=[part(BILL)])
    async with working(pool, site.services.store, ["extract"]):
        asked, text = await found(client, first), await found(client, sent.json()["jobId"])
    assert [asked[name]["value"] for name in asked] == ["INV-17", "12.50", None]
    assert asked["due"]["why"] == "no label like it was found"
    assert (text["total"]["value"], text["total"]["page"]) == ("EUR 12.50", 1)
    async with pool.connection() as conn:
        rows = await conn.execute(
            "SELECT label, value, kind, amount::text, currency, plain FROM document_fields"
            " WHERE asked AND job_id = %s ORDER BY position",
            (first,),
        )
        assert await rows.fetchall() == [
            ("invoice_no", "INV-17", "id", None, None, "INV-17"),
            ("total", "EUR 12.50", "amount", "12.50", "EUR", None),
        ]


async def test_a_language_model_is_asked_and_checked(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    told = json.dumps({"number": "INV-17", "owner": "Nobody"})
    said = {"choices": [{"message": {"content": told}, "finish_reason": "stop"}]}
    async with (
        speaking(answer("200 OK", json.dumps(said).encode())) as speaker,
        Endpoint(speaker.url, timeout=timedelta(seconds=PATIENCE), trust_env=False) as opened,
    ):
        writer = OpenAI(opened, "m1")
        service = Service(
            ServiceGuard("complete"), lambda question: writer.complete(question.request)
        )
        job_id = (await send(client, "number:id,owner")).json()["jobId"]
        outside = RunnerParts(services={"complete": service})
        async with working(pool, site.services.store, ["extract"], outside):
            asked = await found(client, job_id)
    ((_, body),) = speaker.heard
    form = json.loads(body)["response_format"]["json_schema"]
    assert (form["strict"], form["schema"]["required"]) == (True, ["number", "owner"])
    assert (asked["number"]["value"], asked["number"]["text"]) == ("INV-17", "INV-17")
    assert asked["number"]["confidence"] > 0.8
    assert (asked["owner"]["value"], asked["owner"]["confidence"]) == ("Nobody", 0.3)
    assert "not found on the page" in asked["owner"]["why"]


async def test_the_api_documents_the_fields(client: httpx2.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    for path in ("/api/upload", "/documents"):
        body = document["paths"][path]["post"]["requestBody"]["content"]["multipart/form-data"]
        assert "yes/no" in body["schema"]["properties"]["fields"]["description"]
