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


@pytest.fixture
async def sandbox() -> AsyncGenerator[SandboxPool]:
    limits = RunLimits(stall=timedelta(seconds=PATIENCE), total=timedelta(minutes=10))
    async with SandboxPool(limits, pipelines=["invoice", *web.list_preview_runs()]) as opened:
        yield opened


@pytest.fixture
async def site(start: Start, sandbox: SandboxPool) -> AsyncGenerator[Site]:
    async with start(offer=OFFER, sandbox=sandbox) as running_site:
        yield running_site


async def convert(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool, **wish: str
) -> tuple[str, Any]:
    sent = await client.post(
        "/api/upload", files=[part(EURO)], data={"pipeline": "invoice", **wish}
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


async def test_without_a_choice_the_format_is_chosen_by_the_invoice(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool
) -> None:
    job_id, _ = await convert(client, site, sandbox)
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    assert (job["status"], job["mapping"]) == ("complete", "auto")
    xml = (await client.get(f"/api/jobs/{job_id}/download")).text
    assert "urn:oasis:names:specification:ubl" in xml
