"""docmill replay and docmill compare, on invoices and trades that people approved."""

import hashlib
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, LiteralString

import httpx2
import psycopg
import pytest

from docmill.core.installed import PipelineCatalog
from docmill.core.plugins import PDF
from docmill.jobs.runner import RunnerParts
from invoices.test_reviews import approved, edit
from layouts import odd_invoice
from notes import GERMAN, note
from sites import Site, Start, upload_to
from terminal import Ran, Terminal
from warm_sandboxes import WARM
from workers import until, working

pytestmark = pytest.mark.anyio

OFFER = PipelineCatalog(
    {"invoice": (PDF,), "trades": (PDF,)}, {"invoice": ("pt_simon_invoice_v1", "ubl_invoice_v1")}
)


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start(offer=OFFER) as running_site:
        yield running_site


@pytest.fixture
def operator(site: Site, terminal: Terminal) -> Terminal:
    """Somebody at a machine that reaches the database and the store."""
    return terminal.with_(
        DATABASE_URL=str(site.services.listen_url), DOCMILL_STORE=str(site.root), **WARM
    )


async def approve_both(site: Site, client: httpx2.AsyncClient) -> tuple[str, str]:
    """An invoice whose number a person typed, and a note whose trades a person approved."""
    invoice = await upload_to(client, "invoice", odd_invoice("SJA-25-0417"))
    trades = await upload_to(client, "trades", note(*GERMAN))
    services = site.services
    async with working(services.pool, services.store, ["invoice", "trades"], RunnerParts()):

        async def ended() -> bool:
            found = [(await client.get(f"/api/jobs/{one}")).json() for one in (invoice, trades)]
            return all(job["status"] == "complete" for job in found)

        await until(ended)
    await edit(client, invoice, 0, ("invoice_number", "SJA-25-0417"))
    await approved(client, invoice)
    document = (await client.get(f"/api/jobs/{trades}")).json()["document_id"]
    seen = (await client.get(f"/api/documents/{document}/trades")).json()
    if seen["status"] != "approved":
        answer = await client.post(
            f"/api/documents/{document}/trades/approve", json={"revision": seen["revision"]}
        )
        assert answer.status_code == 200, answer.text
    return invoice, trades


def outcomes(ran: Ran) -> dict[str, str]:
    return {row["job"]: row["outcome"] for row in ran.json}


def paths(ran: Ran, job: str, kind: str) -> list[str]:
    (row,) = [row for row in ran.json if row["job"] == job]
    return [one["path"] for one in row[kind]]


async def test_an_upgrade_is_tried_on_all_that_was_approved(
    site: Site, client: httpx2.AsyncClient, operator: Terminal, tmp_path: Path
) -> None:
    invoice, trades = await approve_both(site, client)
    first = operator.run("replay", "--json", "--save", "replay.jsonl")
    assert first.code == 0, first.err
    assert outcomes(first).keys() == {invoice, trades}
    assert outcomes(first)[trades] == "same"
    assert paths(first, invoice, "lost") == []
    # What a person typed that no version ever read is nothing that an upgrade costs.
    _execute(site, "UPDATE trades SET quantity = quantity + 1")
    again = operator.run("replay", "--json", "--save", "replay.jsonl")
    assert again.json == first.json, "what was kept is read again"
    fresh = operator.run("replay", "--json", "--pipeline", "trades")
    assert (fresh.code, paths(fresh, trades, "lost")) == (0, [])
    _execute(site, "UPDATE trades SET quantity = quantity - 1")
    # A version that reads another quantity: the same as this one on another file.
    await _swap_file(site, trades, note(*(line.replace("Stück 25", "Stück 26") for line in GERMAN)))
    worse = operator.run("replay", "--json", "--pipeline", "trades", "--limit", "1")
    assert (worse.code, outcomes(worse)) == (1, {trades: "changed"})
    assert "trades[0].quantity" in paths(worse, trades, "lost")
    told = operator.run("replay", "--pipeline", "trades")
    assert f"{trades}: LOST trades[0].quantity: " in told.out
    (tmp_path / "broken.jsonl").write_text('{"job": "cut')
    kept = ("--pipeline", "invoice", "--save", tmp_path / "broken.jsonl")
    assert operator.run("replay", *kept).code == 0
    _execute(site, "UPDATE documents SET upload_key = NULL, expired_at = now()")
    gone = operator.run("replay", "--json")
    assert (gone.code, outcomes(gone)) == (1, {invoice: "fails", trades: "fails"})


def _execute(site: Site, statement: LiteralString) -> None:
    with psycopg.connect(str(site.services.listen_url)) as conn:
        conn.execute(statement)


async def _swap_file(site: Site, job: str, data: bytes) -> None:
    await site.services.store.put("uploads/other", data)
    with psycopg.connect(str(site.services.listen_url)) as conn:
        conn.execute(
            "UPDATE documents d SET upload_key = 'uploads/other', sha256 = %s, bytes = %s"
            "  FROM jobs WHERE jobs.document_id = d.id AND jobs.id = %s",
            (hashlib.sha256(data).hexdigest(), len(data), job),
        )


async def test_readings_versions_readers_and_mappings_are_compared(
    site: Site, client: httpx2.AsyncClient, operator: Terminal, tmp_path: Path
) -> None:
    invoice, trades = await approve_both(site, client)
    same = operator.run("compare", "stored", "now", "--json")
    assert {outcomes(same)[invoice], outcomes(same)[trades]} <= {"same", "different"}
    assert outcomes(same)[trades] == "same"
    manual = operator.run("compare", "stored", "approved", "--json")
    assert manual.code == 1
    assert "invoice_number" in paths(manual, invoice, "differences")
    assert outcomes(manual)[trades] == "same"
    assert operator.run("compare", "rules", "now", "--pipeline", "trades").code == 0
    model = operator.run("compare", "rules", "model", "--pipeline", "trades", "--json")
    assert outcomes(model) == {trades: "unknown"}, "no model is set here"
    both = ("mapping:pt_simon_invoice_v1", "mapping:ubl_invoice_v1")
    mapped = operator.run("compare", *both, "--pipeline", "invoice", "--json")
    assert (mapped.code, outcomes(mapped)[invoice]) == (1, "different")
    assert operator.run("compare", both[0], both[0], "--pipeline", "invoice").code == 0
    _compare_versions(operator, trades, tmp_path)
    assert operator.run("compare", "stored", "nowhere").code == 2
    assert operator.run("compare", "stored", "other").code == 2
    assert operator.run("compare", "stored", "now", "--pipeline", "study").code == 1


def _compare_versions(operator: Terminal, trades: str, tmp_path: Path) -> None:
    """What another version read lies in a folder, or is read by its own python."""
    folder = tmp_path / "readings"
    (tmp_path / "note.pdf").write_bytes(note(*GERMAN))
    assert operator.run("read", "trades", tmp_path / "note.pdf", "--out", folder).code == 0
    only = ("--pipeline", "trades", "--json")
    assert outcomes(operator.run("compare", str(folder), "now", *only)) == {trades: "same"}
    (path,) = folder.iterdir()
    data: dict[str, Any] = json.loads(path.read_bytes())
    data["trades"][0]["quantity"] = "12345"
    path.write_text(json.dumps(data))
    changed = operator.run("compare", str(folder), "now", *only)
    assert (changed.code, paths(changed, trades, "differences")) == (1, ["trades[0].quantity"])
    other = operator.run("compare", "other", "now", "--python", sys.executable, *only)
    assert (other.code, outcomes(other)) == (0, {trades: "same"})
