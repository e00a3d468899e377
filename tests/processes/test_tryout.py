"""docmill try: the samples, with a docmill that runs and without one; and from an empty queue."""

import socket
from pathlib import Path

import httpx2
import pytest

from docmill.core.plugins import PDF
from docmill.jobs.samples import SAMPLES
from scripts.samples import SAMPLES as DRAWN
from sites import INVOICES, Start
from terminal import Terminal
from warm_sandboxes import WARM


def test_the_samples_are_those_that_the_script_draws() -> None:
    assert {one.filename: one.read() for one in SAMPLES.values()} == {
        name: draw() for name, draw in DRAWN.items()
    }


def test_both_samples_are_read_by_a_docmill_that_runs(desk: Terminal) -> None:
    ran = desk.run("try", "--no-browser", "--json")
    assert ran.code == 0, ran.err
    assert [(row["sample"], row["status"]) for row in ran.json] == [
        ("invoice", "complete"),
        ("trade-note", "complete"),
    ]
    xml = desk.run("result", ran.json[0]["job_id"], "--form", "document").out
    assert "<TaxInvoiceDate>2025-03-14" in xml
    (trade,) = desk.run("trades", "list", "--json").json
    assert trade["isin"] == "DE000NWE4203"


def test_where_none_runs_one_is_started_and_stopped(terminal: Terminal, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    words = ("--no-browser", "--no-stay", "--url", url, "--data", tmp_path / "data")
    ran = terminal.with_(**WARM).run("try", *words)
    assert ran.code == 0, ran.err
    first, second = ran.out.splitlines()
    assert first.startswith("Sample invoice: Ready")
    assert second.startswith("Sample trade note: Ready")
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url)


def test_none_is_started_on_another_machine(terminal: Terminal) -> None:
    ran = terminal.run("try", "--url", "http://localhost.invalid:9")
    assert ran.code == 1
    assert "does not answer at http://localhost.invalid:9" in ran.err


@pytest.mark.anyio
async def test_an_empty_queue_offers_the_samples_it_can_read(start: Start) -> None:
    async with start(offer=INVOICES) as site, site.client() as client:
        page = await client.get("/queue")
        assert 'value="invoice"' in page.text
        assert 'value="trade-note"' not in page.text
        sent = await client.post("/queue/samples", data={"sample": "invoice"})
        assert sent.status_code == 303
        job = (await client.get("/api" + sent.headers["location"])).json()
        assert (job["pipeline"], job["content_type"]) == ("invoice", PDF)
        again = await client.post("/queue/samples", data={"sample": "invoice"})
        assert again.headers["location"] == sent.headers["location"]
        for unknown in ("trade-note", "nonsense", ""):
            refused = await client.post("/queue/samples", data={"sample": unknown})
            assert refused.status_code == 400
