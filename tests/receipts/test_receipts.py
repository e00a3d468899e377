"""Receipts on their whole way: asked for, verified without a database, after a review, rotated."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from docmill import __version__
from docmill.receipts.statement import read_keys, verify
from docmill.sandbox.pool import SandboxPool
from invoices.test_reviews import approved, convert, edit, sandbox
from layouts import odd_invoice
from sites import INVOICES, Site, Start, complete, upload, upload_to
from terminal import Terminal

__all__ = ["sandbox"]

pytestmark = pytest.mark.anyio


@pytest.fixture
async def site(start: Start, sandbox: SandboxPool) -> AsyncGenerator[Site]:
    async with start(offer=INVOICES, sandbox=sandbox) as running_site:
        yield running_site


def make_invoice() -> bytes:
    return odd_invoice("SJA-25-0417")


async def fetch(client: httpx2.AsyncClient, path: str, **params: str) -> bytes:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.content


async def test_a_receipt_verifies_on_a_machine_that_has_only_files(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool, tmp_path: Path
) -> None:
    source = make_invoice()
    job_id = await upload_to(client, "invoice", source)
    early = await client.get(f"/api/jobs/{job_id}/receipt")
    assert (early.status_code, early.json()["code"]) == (409, "NOT_READY")
    await convert(site, sandbox)
    read = await fetch(client, f"/api/jobs/{job_id}/download", form="data")
    answer = await client.get(f"/api/jobs/{job_id}/receipt")
    assert answer.headers["content-disposition"].endswith(f'"{job_id}.receipt.json"')
    assert await fetch(client, f"/api/jobs/{job_id}/receipt") == answer.content
    async with site.client() as stranger:
        assert (await stranger.get(f"/api/jobs/{job_id}/receipt")).status_code == 403
        keys = await fetch(stranger, "/api/receipts/key")
        assert await fetch(stranger, "/.well-known/docmill-receipts.json") == keys
    told = verify(answer.content, read_keys(keys)).statement
    assert told["job"] == job_id
    assert (told["pipeline"], told["mapping"]) == (
        {"name": "invoice", "version": "1"},
        {"name": "pt_simon_invoice_v1", "version": "1"},
    )
    assert told["docmill"] == {"read": __version__, "written": __version__}
    assert "a.pdf" not in answer.text

    # Another machine: no database, no server, another home.
    elsewhere = Terminal(tmp_path / "elsewhere")
    elsewhere.home.mkdir()
    files = {
        "r.json": answer.content, "keys.json": keys, "read.json": read, "bill.pdf": source,
        "bill.xml": await fetch(client, f"/api/jobs/{job_id}/download"),
    }  # fmt: skip
    for name, content in files.items():
        (elsewhere.home / name).write_bytes(content)
    words = ("verify", "r.json", "--key", "keys.json", "--source", "bill.pdf")
    both = ("--result", "bill.xml", "--result", "read.json")
    ran = elsewhere.run(*words, *both, "--again", "--json")
    assert ran.code == 0, ran.err + ran.out
    found = [(one["what"], one["is_right"]) for one in ran.json["findings"]]
    assert found == [
        (what, True) for what in ("receipt", "result", "result", "source", "again", "again")
    ]
    await _spoil_each(elsewhere, words, files)
    await _approve_and_rotate(client, site, job_id, elsewhere, read)


async def _spoil_each(elsewhere: Terminal, words: tuple[str, ...], files: dict[str, bytes]) -> None:
    """One byte of each file is another: the command says which."""
    for name, what in {"r.json": "receipt", "bill.xml": "result", "bill.pdf": "source"}.items():
        spoiled = bytearray(files[name])
        spoiled[len(spoiled) // 2] ^= 1
        (elsewhere.home / name).write_bytes(spoiled)
        ran = elsewhere.run(*words, "--result", "bill.xml", "--json")
        (elsewhere.home / name).write_bytes(files[name])
        assert ran.code == 1
        assert [one["what"] for one in ran.json["findings"] if not one["is_right"]] == [what]


async def _approve_and_rotate(
    client: httpx2.AsyncClient, site: Site, job_id: str, elsewhere: Terminal, read: bytes
) -> None:
    await edit(client, job_id, 0, ("invoice_number", "SJA-25-0417"))
    await approved(client, job_id)
    reviewed = await fetch(client, f"/api/jobs/{job_id}/receipt")
    told: dict[str, Any] = verify(reviewed).statement
    assert told["revision"] == told["review"]["revision"] == 2
    assert told["review"]["status"] == "approved"
    assert told["review"]["reviewer"].startswith("session:")
    assert {"data", "document", "reading", "read_document"} == told["results"].keys()
    database = {"DATABASE_URL": _url(site)}
    desk = elsewhere.with_(**database)
    old = json.loads(desk.run("receipts", "keys").out)["keys"]
    rotated = desk.run("receipts", "rotate", "--json").json
    assert rotated["old"] == old[0]["kid"]
    keys = await fetch(client, "/api/receipts/key")
    assert [one["kid"] for one in json.loads(keys)["keys"]] == [rotated["new"], rotated["old"]]
    async with site.services.pool.connection() as conn:
        names = await (await conn.execute("SELECT name FROM secrets")).fetchall()
        log = await (await conn.execute("SELECT action, after FROM audit_log")).fetchall()
    assert [name for (name,) in names if name.startswith("receipts/")] == [
        f"receipts/{rotated['new']}"
    ]
    assert ("receipts.rotate", {"key": rotated["new"]}) in log
    again = await fetch(client, f"/api/jobs/{job_id}/receipt")
    assert verify(again, read_keys(keys)).key == rotated["new"]
    # What was signed by the old key is believed as before, and its first reading is in it.
    (elsewhere.home / "old.json").write_bytes(reviewed)
    (elsewhere.home / "keys.json").write_bytes(keys)
    ran = elsewhere.run(
        "verify", "old.json", "--key", "keys.json", "--result", "read.json", "--source", "bill.pdf",
        "--again",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "as it was read, before a review" in ran.out
    assert "revision 2, by session:" in ran.out


def _url(site: Site) -> str:
    assert site.services.listen_url
    return site.services.listen_url


async def test_a_result_of_a_version_that_noted_less_has_a_receipt_too(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await complete(site, job_id, b'{"pages": []}')
    told = verify(await fetch(client, f"/api/jobs/{job_id}/receipt")).statement
    assert (told["docmill"], told["mapping"], told["review"]) == (
        {"read": None, "written": None}, None, None,
    )  # fmt: skip
    assert 'data-key="receipt"' in (await client.get(f"/jobs/{job_id}")).text


async def test_usage_and_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    assert terminal.run("verify", "none.json").code == 1
    assert terminal.run("verify", "none.json", "--again").code == 2
    (tmp_path / "r.json").write_bytes(b"{}")
    ran = terminal.run("verify", "r.json")
    assert (ran.code, "it is not a receipt" in ran.err) == (1, True)
    assert terminal.run("verify", "r.json", "--key", "r.json").code == 2
