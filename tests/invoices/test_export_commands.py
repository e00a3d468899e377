"""profile, export and mapping diff against a docmill that serves."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from docmill.db import embedded
from invoice_pdfs import HEAD, paper
from terminal import Served, Terminal

TIN = "0012345678901000"
ROWS = [
    ("1", "Kertas HVS A4", "10 rim", "50.000", "500.000"),
    ("2", "Tinta hitam", "2 pcs", "125.000", "250.000"),
]
TOTALS = [("Subtotal", "Rp 750.000"), ("PPN 11%", "Rp 82.500"), ("Total", "Rp 832.500")]
CORETAX = "pt_simon_invoice_v1"
OWN = """\
mapping own_invoice_v1 {title = "Own"}
Invoice
  Number {path = "invoice_number"}
  Seller {path = "profile.tin"}
"""


def sent(desk: Terminal, number: str) -> str:
    """The id of a complete job over an invoice with this number."""
    head = [(x, y, text.replace("INV/2025/03/0017", number)) for x, y, text in HEAD]
    file = desk.home / f"{number}.pdf"
    file.write_bytes(paper(ROWS, TOTALS, head))
    (row,) = desk.run("submit", file, "--pipeline", "invoice", "--watch", "--json").json
    assert row["status"] == "complete", row
    return row["job_id"]


@pytest.fixture
def own(desk: Terminal) -> Path:
    file = desk.home / "own_invoice_v1.mapping"
    file.write_text(OWN)
    return file


def test_a_profile_is_told_piece_by_piece_and_shown(desk: Terminal) -> None:
    assert desk.run("profile", "set", f"tin={TIN}", "rates.usd=16250").code == 0
    assert desk.run("profile", "set", "trx_code=04", "rates.EUR=17500").code == 0
    shown = desk.run("profile", "show", "--json").json
    assert (shown["tin"], shown["trx_code"]) == (TIN, "04")
    assert shown["rates"] == {"USD": "16250", "EUR": "17500"}
    assert desk.run("profile", "set", "tin=", "rates.USD=").code == 0
    lines = desk.run("profile", "show").out.splitlines()
    assert lines[0].split() == ["tin", "-"]
    assert lines[-1].split() == ["rates.EUR", "17500"]


def test_a_profile_that_can_not_be_meant_is_refused_with_the_reason(desk: Terminal) -> None:
    ran = desk.run("profile", "set", "npwp=1")
    assert ran.code == 1
    assert "unknown: npwp; allowed: tin" in ran.err
    ran = desk.run("profile", "set", "tin=12")
    assert "body.tin: not an NPWP of 15 or 16 digits." in ran.err
    assert desk.run("profile", "set", "tin").code == 2


def test_the_profile_reaches_the_xml_and_several_jobs_one_file(desk: Terminal) -> None:
    desk.run("profile", "set", f"tin={TIN}", "trx_code=01")
    ids = [sent(desk, "INV-1"), sent(desk, "INV-2")]
    alone = desk.run("result", ids[0]).out
    assert f"<TIN>{TIN}</TIN>" in alone
    assert "<TrxCode>01</TrxCode>" in alone
    desk.run("profile", "set", "trx_code=04")
    ran = desk.run("export", *ids, "-o", "bulk.xml")
    assert (ran.code, ran.out) == (0, "")
    bulk = (desk.home / "bulk.xml").read_text()
    assert bulk.count("<TaxInvoice>") == 2
    assert bulk.count("<TrxCode>01</TrxCode>") == 2, "as they were told when they came"
    assert desk.run("export", ids[0][:8], "--mapping", CORETAX).out == alone


def test_a_job_that_can_not_be_exported_is_named_and_no_file_written(desk: Terminal) -> None:
    job_id = sent(desk, "INV-3")
    stranger = "00000000-0000-4000-8000-000000000000"
    ran = desk.run("export", job_id, stranger, "-o", "bulk.xml")
    assert ran.code == 1
    assert f"It is about {stranger}." in ran.err
    assert not (desk.home / "bulk.xml").exists()


def test_diff_shows_what_would_change_and_touches_nothing(
    desk: Terminal, served: Served, own: Path
) -> None:
    job_id = sent(desk, "INV-4")
    before = served.job(desk, job_id)
    ran = desk.run("mapping", "diff", CORETAX, own)
    assert ran.code == 0
    assert ran.out.startswith(f"--- {job_id} {CORETAX}\n+++ {job_id} own_invoice_v1\n")
    assert "+  <Number>INV-4</Number>" in ran.out
    assert ran.out.endswith("1 jobs: 0 same, 1 changed, 0 fails, 0 gone\n")
    ran = desk.run("mapping", "diff", CORETAX, CORETAX, "--jobs", job_id[:8])
    assert ran.out == "1 jobs: 1 same, 0 changed, 0 fails, 0 gone\n"
    assert served.job(desk, job_id) == before


def test_diff_knows_the_profile_a_job_came_with(desk: Terminal, own: Path) -> None:
    desk.run("profile", "set", f"tin={TIN}")
    job_id = sent(desk, "INV-5")
    desk.run("profile", "set", "tin=")
    rows: list[dict[str, Any]] = desk.run("mapping", "diff", CORETAX, own, "--json").json
    assert [(row["id"], row["outcome"]) for row in rows] == [(job_id, "changed")]
    assert f"+  <Seller>{TIN}</Seller>" in rows[0]["diff"]


def test_diff_shows_what_another_version_of_the_pipeline_reads(
    desk: Terminal, served: Served
) -> None:
    job_id = sent(desk, "INV-6")
    store = served.log.with_suffix("") / "store"
    here = desk.with_(DOCMILL_STORE=str(store))
    words = ("mapping", "diff", CORETAX, CORETAX, "--reread")
    assert here.run(*words).out == "1 jobs: 1 same, 0 changed, 0 fails, 0 gone\n"
    _as_an_older_version_read_it(store, job_id)
    before = served.job(desk, job_id)
    ran = here.run(*words)
    assert "-      <RefDesc>INV-5</RefDesc>\n+      <RefDesc>INV-6</RefDesc>" in ran.out
    assert f"{job_id}: read by version 0 > 1" in ran.err
    (row,) = here.run(*words, "--json").json
    assert (row["outcome"], row["versions"]) == ("changed", ["0", "1"])
    assert served.job(desk, job_id) == before
    lost = desk.with_(DOCMILL_STORE=str(desk.home / "nowhere")).run(*words)
    assert lost.code == 1
    assert "its PDF is not in this store" in lost.err


def _as_an_older_version_read_it(store: Path, job_id: str) -> None:
    (kept,) = (
        path
        for path in (store / "results").rglob(f"{job_id}*")
        if gzip.decompress(path.read_bytes()).startswith(b"{")
    )
    data = json.loads(gzip.decompress(kept.read_bytes()))
    data |= {"version": "0", "invoice_number": "INV-5"}
    content = json.dumps(data).encode()
    packed = gzip.compress(content)
    kept.write_bytes(packed)
    row = (len(content), len(packed), hashlib.sha256(content).hexdigest(), job_id)
    with psycopg.connect(embedded.start(store.parent / "postgres").url) as conn:
        conn.execute(
            "UPDATE results SET bytes = %s, stored_bytes = %s, sha256 = %s"
            " WHERE job_id = %s AND form = 'data'", row,
        )  # fmt: skip
        # Whoever changes a result changes its job, so that no kept answer is given again.
        conn.execute("UPDATE jobs SET stage = stage WHERE id = %s", (job_id,))


def test_an_unknown_mapping_is_told_before_anything_is_asked(desk: Terminal) -> None:
    ran = desk.run("mapping", "diff", CORETAX, "nonsense_v1")
    assert ran.code == 1
    assert "There is no such mapping" in ran.err
