"""docmill gateway, as people run it."""

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from folders import quick_folder
from gateways import CORETAX, INVOICE
from invoice_pdfs import run
from terminal import SOON, Served, Terminal, begin, wait_for
from warm_sandboxes import WARM

WELCOME = "docmill's gateway is at "


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder("gateway") as made:
        yield made


@pytest.fixture
def url(terminal: Terminal, tmp_path: Path) -> Iterator[str]:
    """Where a gateway is; it must leave with 0 when asked to."""
    told = tmp_path / "gateway.log"
    process = begin(terminal.with_(**WARM), ("gateway", "--port", "0"), told)
    try:
        wait_for(lambda: process.poll() is not None or WELCOME in told.read_text(), told.read_text)
        yield told.read_text().partition(WELCOME)[2].partition("\n")[0]
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 0


def test_it_needs_no_database_and_converts(url: str) -> None:
    answer = httpx2.post(f"{url}/process", files={"file": ("a.pdf", INVOICE)}, timeout=SOON)
    assert answer.json() == run(INVOICE)


def test_a_serve_that_is_told_of_it_sends_invoices_there(
    url: str, folder: Path, tmp_path: Path
) -> None:
    person = Terminal(folder, {"GATEWAY_URL": url, **WARM})
    (folder / "a.pdf").write_bytes(INVOICE)
    served = Served(person, folder / "data")
    try:
        person = person.with_(DOCMILL_URL=served.url)
        ran = person.run(
            "submit", "a.pdf", "--pipeline", "invoice", "--mapping", CORETAX, "--watch"
        )
        assert ran.code == 0, ran.err + served.log.read_text()
    finally:
        served.stop()
    assert '"event": "document.converted"' in (tmp_path / "gateway.log").read_text()


def test_an_address_that_is_none_is_told(terminal: Terminal) -> None:
    ran = terminal.with_(GATEWAY_URL="gateway:8000").run("serve")
    assert ran.code == 1
    assert "GATEWAY_URL" in ran.err
