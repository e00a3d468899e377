"""Reading and writing are two things: what was read is kept whatever a format says."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import Broke, Retry, settle
from docmill.core.plugins import PDF
from docmill.invoices.pipeline import pipeline
from docmill.jobs.runner import JobRunner
from docmill.processes import web
from docmill.queue.settle import Settlement, Settler
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.pool import SandboxPool
from invoice_pdfs import HEAD, paper
from road import claim
from sites import Site, Start, part
from waits import PATIENCE

pytestmark = pytest.mark.anyio

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "EUR 500.00"), ("VAT 20%", "EUR 100.00"), ("Total", "EUR 600.00")]
EURO = paper(ROWS, TOTALS, [*HEAD[:6], (340, 100, "Invoice number : A-17"), HEAD[7]])
CORETAX = "pt_simon_invoice_v1"
OFFER = PipelineCatalog({"invoice": (PDF,)}, {"invoice": pipeline.mappings})


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[SandboxPool]:
    limits = RunLimits(stall=timedelta(seconds=PATIENCE), total=timedelta(minutes=10))
    async with SandboxPool(limits, pipelines=["invoice", *web.list_preview_runs()]) as opened:
        yield opened


@pytest.fixture
async def site(start: Start, sandbox: SandboxPool) -> AsyncGenerator[Site]:
    async with start(offer=OFFER, sandbox=sandbox) as running_site:
        yield running_site


async def convert(
    client: httpx2.AsyncClient,
    site: Site,
    sandbox: SandboxPool,
    *,
    document: bytes = EURO,
    **wish: str,
) -> tuple[str, Any]:
    sent = await client.post(
        "/api/upload", files=[part(document)], data={"pipeline": "invoice", **wish}
    )
    pool = site.services.pool
    async with pool.connection() as conn:
        (claimed,) = await claim(conn, pipelines=["invoice"])
    runner = JobRunner(pool, site.services.store, sandbox)
    ending, _ = await runner(claimed, lambda _percent, _stage: None)
    settler = Settler(pool)
    move = settle(claimed, ending, retry=Retry(), chance=0)
    assert await settler.settle(Settlement(claimed, move, keep=timedelta(days=1)))
    await settler.close()
    return sent.json()["jobId"], ending


@pytest.fixture
async def refused(client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool) -> str:
    job_id, ending = await convert(client, site, sandbox, mapping=CORETAX)
    assert isinstance(ending, Broke)
    return job_id


async def test_a_chosen_format_that_refuses_fails_the_job_and_keeps_the_reading(
    client: httpx2.AsyncClient, refused: str
) -> None:
    job = (await client.get(f"/api/jobs/{refused}")).json()
    assert (job["status"], job["error_code"], job["result_location"]) == ("failed", "GW_4XX", None)
    assert job["reason"] == (
        "Coretax takes amounts in IDR, this invoice is in EUR. Give a rate in Settings, or download"
        " as UBL."
    )
    names = [one["name"] for one in job["actions"]]
    assert names == ["write_ubl", "review", "set_rate"]
    assert job["summary"]["amount"] == "600.00"
    data = (await client.get(f"/api/jobs/{refused}/download?form=data")).json()
    assert data["totals"]["gross"] == "600.00"


async def test_the_formats_of_a_job_say_which_can_be_written_and_why_others_cannot(
    client: httpx2.AsyncClient, refused: str
) -> None:
    offered = {
        one["name"]: one for one in (await client.get(f"/api/jobs/{refused}")).json()["formats"]
    }
    assert offered["coretax"]["label"] == "Coretax e-Faktur (Indonesia)"
    assert not offered["coretax"]["ready"]
    assert "EUR" in offered["coretax"]["reason"]
    assert offered["json"]["ready"]
    assert offered["csv"]["ready"]
    refusal = await client.get(f"/api/jobs/{refused}/download?format=coretax")
    assert refusal.status_code == 422
    assert "EUR" in refusal.json()["reason"]


async def test_a_reading_is_written_in_any_format_on_demand(
    client: httpx2.AsyncClient, refused: str
) -> None:
    table = await client.get(f"/api/jobs/{refused}/download?format=csv")
    assert table.status_code == 200
    assert "Paper A4" in table.text
    xml = await client.get(f"/api/jobs/{refused}/download?format=ubl&draft=true")
    assert xml.status_code == 200, xml.text
    assert "A-17" in xml.text


async def test_a_format_that_lacks_values_names_them_and_can_be_had_as_a_draft(
    client: httpx2.AsyncClient, refused: str
) -> None:
    edits = [{"path": "seller.tax_id", "value": ""}]
    body = {"revision": 0, "edits": edits}
    edited = await client.post(f"/api/reviews/{refused}/edits", json=body)
    approve = {"revision": edited.json()["revision"]}
    assert (await client.post(f"/api/reviews/{refused}/approve", json=approve)).status_code == 200
    job = (await client.get(f"/api/jobs/{refused}")).json()
    ubl = next(one for one in job["formats"] if one["name"] == "ubl")
    assert (ubl["ready"], ubl["draft"]) == (False, True)
    assert "Seller tax number" in ubl["reason"]
    address = f"/api/jobs/{refused}/download?format=ubl"
    strict, draft = await client.get(address), await client.get(f"{address}&draft=true")
    assert (strict.status_code, strict.json()["reason"]) == (422, ubl["reason"])
    assert draft.status_code == 200
    assert "A-17" in draft.text


async def test_a_rate_given_afterwards_lets_the_format_be_written(
    client: httpx2.AsyncClient, refused: str
) -> None:
    profile = {"rates": {"EUR": "17500"}}
    assert (await client.put("/api/profile", json=profile)).status_code == 200
    answer = await client.get(f"/api/jobs/{refused}/download?format=coretax")
    assert answer.status_code == 200, answer.text
    assert "<TaxInvoiceBulk" in answer.text


async def test_a_refused_reading_is_reviewed_and_approved_and_then_written(
    client: httpx2.AsyncClient, refused: str
) -> None:
    (waiting,) = (await client.get("/api/reviews")).json()["reviews"]
    assert waiting["job_id"] == refused
    edits = [{"path": "invoice_number", "value": "B-18"}]
    body = {"revision": 0, "edits": edits}
    edited = await client.post(f"/api/reviews/{refused}/edits", json=body)
    assert edited.status_code == 200, edited.text
    approved = await client.post(
        f"/api/reviews/{refused}/approve", json={"revision": edited.json()["revision"]}
    )
    assert approved.status_code == 200, approved.text
    job = (await client.get(f"/api/jobs/{refused}")).json()
    assert (job["status"], job["summary"]["state"]) == ("failed", "approved")
    xml = (await client.get(f"/api/jobs/{refused}/download?format=ubl&draft=true")).text
    assert "B-18" in xml


WHOLE = paper(
    ROWS,
    TOTALS,
    [
        (40, 40, "Hill Tools GmbH"),
        (40, 54, "Ringweg 4, 12345 Berlin, Germany"),
        (40, 68, "USt-IdNr.: DE123456789"),
        (40, 100, "Bill to:"),
        (40, 114, "Vale Works Ltd."),
        (40, 128, "Main Road 9, London NW8 0AE, United Kingdom"),
        (340, 100, "Invoice number : A-17"),
        (340, 114, "Invoice date : 14.03.2025"),
    ],
)


async def approve(client: httpx2.AsyncClient, job_id: str) -> None:
    seen = (await client.get(f"/api/reviews/{job_id}")).json()["revision"]
    answer = await client.post(f"/api/reviews/{job_id}/approve", json={"revision": seen})
    assert answer.status_code == 200, answer.text


async def test_what_was_refused_and_is_approved_says_so_and_can_be_downloaded(
    client: httpx2.AsyncClient, refused: str
) -> None:
    early = await client.get(f"/api/jobs/{refused}/download")
    assert (early.status_code, early.json()["code"]) == (409, "NOT_READY")
    before = (await client.get("/queue")).text
    assert ">Failed</span>" in before
    await approve(client, refused)
    row = (await client.get("/queue")).text
    assert '<span class="badge settled">Approved</span>' in row
    assert "refused as Coretax e-Faktur (Indonesia)" in row
    assert f'href="/api/jobs/{refused}/download"' in row
    page = (await client.get(f"/jobs/{refused}")).text
    assert '<span class="badge settled" id="badge">Approved</span>' in page
    assert "Coretax e-Faktur (Indonesia) refused it" in page
    assert 'class="note bad"><svg' not in page
    assert f'href="/api/jobs/{refused}/download?format=csv"' in page
    data = await client.get(f"/api/jobs/{refused}/download")
    assert (data.status_code, data.json()["totals"]["gross"]) == (200, "600.00")


async def test_approved_once_the_format_takes_it_the_download_is_its_document(
    client: httpx2.AsyncClient, refused: str
) -> None:
    assert (await client.put("/api/profile", json={"rates": {"EUR": "17500"}})).status_code == 200
    await approve(client, refused)
    answer = await client.get(f"/api/jobs/{refused}/download")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/xml")
    assert "<TaxInvoiceBulk" in answer.text
    edits = [{"path": "invoice_number", "value": "B-18"}]
    seen = (await client.get(f"/api/reviews/{refused}")).json()["revision"]
    body = {"revision": seen, "edits": edits}
    assert (await client.post(f"/api/reviews/{refused}/edits", json=body)).status_code == 200
    assert ">Failed</span>" in (await client.get("/queue")).text


async def test_without_a_choice_the_format_is_chosen_by_the_invoice(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool
) -> None:
    job_id, _ = await convert(client, site, sandbox, document=WHOLE)
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    assert (job["status"], job["mapping"]) == ("complete", "auto")
    address = f"/api/jobs/{job_id}/download"
    plain, asked = (
        (await client.get(address)).text,
        (await client.get(f"{address}?format=ubl")).text,
    )
    assert "urn:oasis:names:specification:ubl" in plain
    assert plain == asked


async def test_without_a_choice_a_draft_is_no_result(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool
) -> None:
    job_id, _ = await convert(client, site, sandbox)
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    ubl = next(one for one in job["formats"] if one["name"] == "ubl")
    assert (job["status"], ubl["ready"], ubl["draft"]) == ("complete", False, True)
    address = f"/api/jobs/{job_id}/download"
    data = (await client.get(address)).json()
    assert data["totals"]["gross"] == "600.00"
    assert data["notes"] == [ubl["reason"]]
    assert (await client.get(f"{address}?format=ubl")).status_code == 422
