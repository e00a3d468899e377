"""Exports: complete invoices of one owner as one file, or the reason why not."""

import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from docmill.db.pool import Pool
from docmill.invoices import exports, formats
from docmill.invoices.formats import validators
from docmill.invoices.formats.validators import has_passed
from invoice_samples import european, indonesian
from sites import INVOICES, Site, Start, a_pdf, complete, fail, upload, upload_to

pytestmark = pytest.mark.anyio

TIN = "0012345678901000"


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start(offer=INVOICES) as running_site:
        yield running_site


async def done(client: httpx2.AsyncClient, site: Site, invoice: dict[str, Any]) -> str:
    """A complete job over this invoice."""
    job_id = await upload_to(client, "invoice", a_pdf(str(uuid4())))
    await complete(site, job_id, json.dumps({**invoice, "evidence": {}}).encode())
    return job_id


async def export(client: httpx2.AsyncClient, *jobs: str, **given: Any) -> httpx2.Response:
    return await client.post("/api/exports", json={"jobs": list(jobs), **given})


async def refused(client: httpx2.AsyncClient, *jobs: str, **given: Any) -> dict[str, Any]:
    answer = await export(client, *jobs, **given)
    assert answer.status_code == answer.json()["status"] != 200
    return answer.json()


async def test_several_invoices_become_one_file_in_the_order_asked_for(
    client: httpx2.AsyncClient, site: Site
) -> None:
    ids = [await done(client, site, indonesian(invoice_number=f"INV-{no}")) for no in range(3)]
    answer = await export(client, ids[2], ids[0], ids[1], ids[0])
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/xml"
    assert answer.headers["content-disposition"] == (
        'attachment; filename="pt_simon_invoice_v1-3.xml"'
    )
    mapping = formats.load("pt_simon_invoice_v1")
    back = formats.read_back_all(mapping, answer.content)
    assert [each["invoice_number"] for each in back] == ["INV-2", "INV-0", "INV-1"]
    assert answer.content.count(b"<TIN>") == 1
    assert has_passed(validators.validate(mapping, answer.content))
    job = (await client.get(f"/api/jobs/{ids[0]}")).json()
    assert (job["download_count"], len(job["events"])) == (0, 4)


async def test_an_invoice_without_a_printed_number_takes_the_owners(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await done(client, site, indonesian(seller={"name": "PT Simon"}))
    assert b"<TIN/>" in (await export(client, job_id)).content
    await client.put("/api/profile", json={"tin": TIN})
    answer = await export(client, job_id)
    assert f"<TIN>{TIN}</TIN>".encode() in answer.content
    assert answer.headers["x-review-count"] == "0"


async def test_an_invoice_is_written_with_the_profile_it_came_with(
    client: httpx2.AsyncClient, site: Site
) -> None:
    dollars = indonesian(currency="USD", profile={"rates": {"USD": "10000"}})
    job_id = await done(client, site, dollars)
    before = (await export(client, job_id)).content
    await client.put("/api/profile", json={"rates": {"USD": "16250"}})
    assert (await export(client, job_id)).content == before
    assert b"<TaxBase>1200000000000</TaxBase>" in before


async def test_invoices_of_two_sellers_do_not_go_into_one_file(
    client: httpx2.AsyncClient, site: Site
) -> None:
    other = {"name": "PT Lain", "tax_id": "0998877665544332"}
    ids = [
        await done(client, site, indonesian()),
        await done(client, site, indonesian(seller=other)),
    ]
    problem = await refused(client, *ids)
    assert (problem["status"], problem["code"]) == (422, "GW_4XX")
    assert problem["reason"].startswith("one file has one TIN, and these invoices have 2:")


async def test_the_invoice_that_can_not_be_written_is_named(
    client: httpx2.AsyncClient, site: Site
) -> None:
    good, bad = (
        await done(client, site, indonesian()),
        await done(client, site, indonesian(currency="EUR")),
    )
    problem = await refused(client, good, bad)
    assert (problem["code"], problem["jobs"]) == ("GW_4XX", [bad])
    assert "EUR" in problem["reason"]


async def test_a_mapping_for_one_invoice_takes_one(client: httpx2.AsyncClient, site: Site) -> None:
    ids = [await done(client, site, european(invoice_number=no)) for no in ("1", "2")]
    answer = await export(client, ids[0], mapping="ubl_invoice_v1")
    assert answer.status_code == 200
    assert b"Invoice-2" in answer.content
    problem = await refused(client, *ids, mapping="ubl_invoice_v1")
    assert problem["reason"] == "ubl_invoice_v1 writes one invoice, not 2"


async def test_jobs_that_can_not_be_exported_are_told_one_by_one(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    good = await done(client, site, indonesian())
    failed = await upload(client, a_pdf("failed"))
    await fail(site, failed)
    letter = await upload(client, a_pdf("letter"))
    await complete(site, letter)
    gone = await done(client, site, indonesian())
    async with pool.connection() as conn:
        await conn.execute("UPDATE jobs SET result_key = NULL WHERE id = %s", (gone,))
    waiting = await upload_to(client, "invoice", a_pdf("waiting"))
    unknown = str(uuid4())
    for bad, status, code in (
        (waiting, 409, "NOT_READY"), (failed, 409, "NOT_READY"), (letter, 409, "NOT_INVOICE"),
        (gone, 404, "EXPIRED"), (unknown, 404, "JOB_NOT_FOUND"), ("x", 404, "JOB_NOT_FOUND"),
    ):  # fmt: skip
        problem = await refused(client, good, bad)
        assert (problem["status"], problem["code"], problem["jobId"]) == (status, code, bad)
    async with site.client() as stranger:
        assert (await refused(stranger, good))["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"jobs": []}, "BAD_REQUEST"),
        ({}, "BAD_REQUEST"),
        ({"jobs": ["x"], "maping": "y"}, "BAD_REQUEST"),
        ({"jobs": [str(uuid4()) for _ in range(exports.MOST_JOBS + 1)]}, "TOO_MANY_JOBS"),
    ],
)
async def test_a_request_that_can_not_be_meant_is_refused(
    client: httpx2.AsyncClient, body: dict[str, Any], code: str
) -> None:
    answer = await client.post("/api/exports", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_only_mappings_that_are_offered_can_be_exported(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await done(client, site, indonesian())
    problem = await refused(client, job_id, mapping="cii_invoice_v1")
    assert (problem["status"], problem["code"]) == (400, "UNKNOWN_MAPPING")
    assert problem["mappings"] == ["pt_simon_invoice_v1", "ubl_invoice_v1"]
