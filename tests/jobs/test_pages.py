"""The pages: what they say, and that they ask nobody else for anything."""

import re
from datetime import timedelta

import httpx2
import pytest

from docmill.core.faults import FAULTS
from docmill.db.pool import Pool
from docmill.jobs import pages
from docmill.queue import leases
from docmill.services import breaker
from docmill.services.breaker import BreakerReport, CircuitState
from sites import Site, a_pdf, complete, fail, part, upload

pytestmark = pytest.mark.anyio


async def test_an_empty_queue_invites(client: httpx2.AsyncClient) -> None:
    home = await client.get("/")
    assert (home.status_code, home.headers["location"]) == (307, "/queue")
    page = await client.get("/queue")
    assert page.status_code == 200
    assert "No files yet. Drop PDFs here to convert" in page.text
    assert "set-cookie" in page.headers


async def test_the_queue_and_the_metrics_tell_of_a_service_that_fails(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    async with pool.connection() as conn:
        await leases.record_worker(conn, leases.WorkerRow("w1", "h", "m", 1, 3, ["invoice"], "0"))
        await breaker.save_states(
            conn, "w1", [BreakerReport("gateway", CircuitState.CLOSED, timedelta())]
        )
    assert "has been failing" not in (await client.get("/queue")).text
    assert 'breaker_state{service="gateway"} 0.0' in (await client.get("/metrics")).text
    async with pool.connection() as conn:
        await breaker.save_states(
            conn, "w1", [BreakerReport("gateway", CircuitState.OPEN, timedelta(hours=1))]
        )
    page = (await client.get("/queue")).text
    assert (
        "The service &#34;gateway&#34; has been failing" in page
        or '"gateway" has been failing' in page
    )
    assert 'breaker_state{service="gateway"} 2.0' in (await client.get("/metrics")).text


async def test_the_queue_shows_each_job_with_what_can_be_done(
    client: httpx2.AsyncClient, site: Site
) -> None:
    await complete(site, await upload(client))
    await fail(site, await upload(client, a_pdf("2")))
    await client.post("/api/upload", files=[part(a_pdf("3"), "<script>alert(1)</script>.pdf")])
    page = (await client.get("/queue")).text
    for words in (
        "Ready",
        "Download",
        "Failed",
        FAULTS["BAD_PDF"].says,
        "Retry",
        "Waiting",
        "Cancel",
    ):
        assert words.replace("'", "&#39;") in page, words
    assert "<script>alert" not in page
    assert page.count('<tr class="job"') == 3


async def test_pages_ask_no_third_party_and_have_nothing_inline(
    client: httpx2.AsyncClient, site: Site
) -> None:
    await complete(site, await upload(client))
    job_id = (await client.get("/api/jobs")).json()["jobs"][0]["id"]
    for path in ("/queue", f"/jobs/{job_id}", "/docs"):
        page = (await client.get(path)).text
        for address in re.findall(r"""(?:src|href|action)\s*=\s*"([^"]*)\"""", page):
            assert address.startswith(("/", "#")), address
            assert not address.startswith("//")
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
        for asset in re.findall(r'"(/static/[^"]+)"', page):
            answer = await client.get(asset)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", answer.text), asset
    assert (await client.get("/static/../app.py")).status_code == 404


async def test_the_docs_name_every_route_and_fault(client: httpx2.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    for path in (await client.get("/openapi.json")).json()["paths"]:
        assert path in page
    for code in FAULTS:
        assert f'id="{code}"' in page


async def test_the_queue_comes_in_pages(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    for number in range(3):
        await upload(client, a_pdf(str(number)))
    first = (await client.get("/queue")).text
    older = re.search(r'href="(/queue\?cursor=[^"]+)"', first)
    assert older
    last = (await client.get(older[1])).text
    assert (first.count('<tr class="job"'), last.count('<tr class="job"')) == (2, 1)
    assert "cursor=" not in re.sub(r'data-here="[^"]*"', "", last)
