"""Trades and documents over HTTP: found, opened, reviewed, read again."""

import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import jwt
import pytest

from docmill.core.owners import OwnerKey
from docmill.db.pool import Pool
from docmill.queue import rows as nouns
from docmill.web.config import TokenConfig
from ledger import ROW, TRADES, send_note, traded
from road import claim, finish
from sites import Site, running

pytestmark = pytest.mark.anyio

DESK = OwnerKey("desk:equities")
SECRET = "s" * 32


@pytest.fixture
async def site(pool: Pool, tmp_path: Path) -> AsyncIterator[Site]:
    async with running(pool, tmp_path, offer=TRADES) as opened:
        yield opened


async def listed(client: httpx2.AsyncClient, query: str = "") -> list[dict[str, Any]]:
    answer = await client.get(f"/api/trades{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()["trades"]


async def test_trades_are_listed_with_exact_numbers(site: Site, client: httpx2.AsyncClient) -> None:
    document_id = await send_note(site, client)
    (trade,) = await listed(client)
    assert trade["document_id"] == document_id
    assert (trade["quantity"], trade["notional"]) == ("25", "4310.00")
    assert (trade["trade_date"], trade["confidence_score"]) == ("2024-03-04", 0.95)
    assert await listed(client, "?direction=sell") == []
    assert len(await listed(client, f"?document={document_id}&q=siemens&since=2024-03-04")) == 1


async def test_pages_of_trades_go_on_with_the_cursor(
    site: Site, client: httpx2.AsyncClient
) -> None:
    await send_note(site, client, {"name": "A"}, {"name": "B"}, {"name": "C"})
    first = (await client.get("/api/trades?limit=2")).json()
    second = (await client.get(f"/api/trades?limit=2&cursor={first['next_cursor']}")).json()
    names = [trade["name"] for trade in first["trades"] + second["trades"]]
    assert sorted(names) == ["A", "B", "C"]
    assert second["next_cursor"] is None


async def test_wrong_questions_are_told_what_is_wrong(client: httpx2.AsyncClient) -> None:
    for query in ("?status=maybe", "?cursor=x", "?document=x", "?limit=0", "?since=soon"):
        assert (await client.get(f"/api/trades{query}")).status_code == 400, query


async def test_one_trade_tells_its_places_and_history(
    site: Site, client: httpx2.AsyncClient
) -> None:
    await send_note(site, client)
    (trade,) = await listed(client)
    one = (await client.get(f"/api/trades/{trade['id']}")).json()
    assert one["raw_extracted_data"] == ROW["raw_extracted_data"]
    assert [line["action"] for line in one["audit"]] == ["extracted"]


async def test_a_review_is_written_down_with_its_author(
    site: Site, client: httpx2.AsyncClient
) -> None:
    await send_note(site, client, {"needs_review": True})
    (trade,) = await listed(client, "?status=pending")
    for verb, status in (("approve", "approved"), ("reject", "rejected"), ("reopen", "pending")):
        answer = await client.post(f"/api/trades/{trade['id']}/{verb}")
        assert answer.json()["review_status"] == status
    one = (await client.get(f"/api/trades/{trade['id']}")).json()
    assert [line["action"] for line in one["audit"][1:]] == ["approved", "rejected", "reopened"]
    assert all(line["who"].startswith("session:") for line in one["audit"][1:])


async def test_view_pdf_leads_to_the_exact_file(site: Site, client: httpx2.AsyncClient) -> None:
    document_id = await send_note(site, client)
    (trade,) = await listed(client)
    for path in (f"trades/{trade['id']}", f"documents/{document_id}"):
        answer = (await client.get(f"/api/{path}/pdf")).json()
        assert (answer["document_id"], answer["expires_in_seconds"]) == (document_id, 3600)
        assert answer["sender_email"] is None
        assert answer["original_filename"] == "a.pdf"
        async with site.client() as stranger:
            file = await stranger.get(answer["pdf_url"])
        assert file.status_code == 200
        assert file.content.startswith(b"%PDF")


async def test_others_see_neither_trade_nor_document(
    site: Site, client: httpx2.AsyncClient
) -> None:
    document_id = await send_note(site, client)
    (trade,) = await listed(client)
    async with site.client() as stranger:
        assert await listed(stranger) == []
        assert (await stranger.get("/api/documents")).json()["documents"] == []
        for path in (f"trades/{trade['id']}", f"documents/{document_id}"):
            assert (await stranger.get(f"/api/{path}")).status_code == 403
            assert (await stranger.get(f"/api/{path}/pdf")).status_code == 403
        assert (await stranger.post(f"/api/trades/{trade['id']}/approve")).status_code == 403
        assert (await stranger.post(f"/api/documents/{document_id}/retry")).status_code == 403


async def test_unknown_ids_are_not_found(client: httpx2.AsyncClient) -> None:
    for path in (f"trades/{uuid4()}", "trades/x", f"documents/{uuid4()}", "reprocess/x"):
        assert (await client.get(f"/api/{path}")).status_code == 404, path


async def test_the_desk_is_open_to_the_one_person_at_the_machine_and_to_no_session(
    pool: Pool, tmp_path: Path
) -> None:
    async with pool.connection() as conn:
        await traded(conn, owner=DESK)
    seen = {}
    for mode in ("local", "session", "both"):
        given: dict[str, Any] = {"auth_mode": mode, "tokens": TokenConfig(SECRET)}
        async with running(pool, tmp_path, offer=TRADES, **given) as site, site.client() as client:
            seen[mode] = len(await listed(client))
            opened = (await client.get("/bucket")).status_code
            assert opened == (200 if mode == "local" else 403)
    assert seen == {"local": 1, "session": 0, "both": 0}


async def test_with_accounts_the_desk_is_open_to_those_named(pool: Pool, tmp_path: Path) -> None:
    async with pool.connection() as conn:
        await traded(conn, owner=DESK)
    tokens = TokenConfig(SECRET, desk_users=("eve",))
    async with running(pool, tmp_path, offer=TRADES, auth_mode="jwt", tokens=tokens) as site:
        seen = {}
        for sub, desks in (("eve", None), ("ann", ["equities"]), ("ben", ["bonds"]), ("cat", True)):
            claims = {"sub": sub, "exp": 4e9, **({"desks": desks} if desks else {})}
            token = jwt.encode(claims, SECRET, "HS256")
            async with site.client(headers={"authorization": f"Bearer {token}"}) as client:
                seen[sub] = len(await listed(client))
    assert seen == {"eve": 1, "ann": 1, "ben": 0, "cat": 1}


async def test_cells_of_the_export_are_never_formulas(
    site: Site, client: httpx2.AsyncClient
) -> None:
    await send_note(site, client, {"name": "=HYPERLINK(1)"}, {"name": "plain, with comma"})
    answer = await client.get("/api/trades/export.csv?direction=buy")
    assert answer.headers["content-type"].startswith("text/csv")
    table = list(csv.DictReader(io.StringIO(answer.text)))
    assert sorted(row["name"] for row in table) == ["'=HYPERLINK(1)", "plain, with comma"]


async def test_a_document_read_again_replaces_its_trades(
    site: Site, client: httpx2.AsyncClient
) -> None:
    document_id = await send_note(site, client, {}, {"isin": "US0378331005"})
    answer = (await client.post(f"/api/documents/{document_id}/retry")).json()
    assert answer["success"] is True
    again = await client.post(f"/api/documents/{document_id}/retry")
    assert again.status_code == 409, "it is under way"
    async with site.services.pool.connection() as conn:
        (job,) = await claim(conn, pipelines=["trades"])
        assert str(job.id) == answer["job_id"]
        await nouns.write_rows(conn, job, {"trades": b"[]"})
        await finish(conn, job)
    assert await listed(client) == []
    detail = (await client.get(f"/api/documents/{document_id}")).json()
    assert (detail["trade_count"], detail["trades"], detail["status"]) == (0, [], "complete")


async def test_many_documents_are_read_again_at_once_with_progress(
    site: Site, client: httpx2.AsyncClient
) -> None:
    for _ in range(2):
        await send_note(site, client)
    batch = (await client.post("/api/reprocess", json={"status": "complete"})).json()
    assert (batch["total"], batch["progress"], batch["status"]) == (2, 0, "processing")
    async with site.services.pool.connection() as conn:
        for job in await claim(conn, pipelines=["trades"], slots=2):
            await finish(conn, job)
    after = (await client.get(f"/api/reprocess/{batch['id']}")).json()
    assert (after["complete"], after["progress"], after["status"]) == (2, 100, "complete")
    async with site.client() as stranger:
        assert (await stranger.get(f"/api/reprocess/{batch['id']}")).status_code == 403


async def test_documents_are_listed_with_their_latest_job(
    site: Site, client: httpx2.AsyncClient
) -> None:
    document_id = await send_note(site, client)
    (document,) = (await client.get("/api/documents?status=complete")).json()["documents"]
    assert (document["document_id"], document["trade_count"]) == (document_id, 1)
    assert (document["source"], document["stored"]) == ("upload", True)
    assert (await client.get("/api/documents?status=failed")).json()["documents"] == []


async def test_the_metrics_count_trades(site: Site, client: httpx2.AsyncClient) -> None:
    await send_note(site, client, {}, {"isin": "US0378331005"})
    for _ in range(2):
        told = (await client.get("/metrics")).text
        assert "trades_extracted_total 2.0" in told
