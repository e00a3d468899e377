"""Trades told by an external parser: a worker sends it the note, and believes what the page shows.

The parser is a real HTTP server that says what each test wrote for it.
"""

import json
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

import outside
from docmill.db.pool import Pool
from docmill.services import ai_parser
from notes import GERMAN, note
from sites import upload_to
from speakers import Speaker, answer, speaking

pytestmark = pytest.mark.anyio

NOTE = note(*GERMAN)
TOLD = {
    "direction": "buy", "isin": "DE0007236101", "name": "SIEMENS AG NAMENS-AKTIEN O.N.",
    "quantity": 25, "price": 172.4, "notional": "4310.00", "currency": "EUR",
    "trade_date": "2024-03-04", "settlement_date": "2024-03-06",
}  # fmt: skip
DOWN = answer("500 Oops")
SILENT = b""


def tells(**changed: Any) -> bytes:
    return answer("200 OK", json.dumps({"trades": [{**TOLD, **changed}]}).encode())


def desk(
    pool: Pool, root: Path, parser: Speaker
) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    """A site with a worker that has this parser and confined children."""
    return outside.desk(pool, root, "trades", ai_parser_url=parser.url)


async def read_by(client: httpx2.AsyncClient) -> tuple[str, dict[str, Any]]:
    """The note sent and read: its job, and the one trade found in it."""
    job_id = await upload_to(client, "trades", NOTE)
    job = await outside.ended(client, job_id)
    assert job["status"] == "complete", job
    (trade,) = (await client.get("/api/trades")).json()["trades"]
    return job_id, trade


async def test_what_the_parser_tells_and_the_page_shows_is_believed(
    pool: Pool, tmp_path: Path
) -> None:
    async with speaking(tells()) as parser, desk(pool, tmp_path, parser) as client:
        job_id, trade = await read_by(client)
        metrics = (await client.get("/metrics")).text
        detail = (await client.get(f"/api/jobs/{job_id}")).json()
    ((head, body),) = parser.heard
    assert NOTE in body
    assert f"x-document-id: {detail['document_id']}".encode() in head.lower()
    assert (trade["isin"], trade["quantity"], trade["notional"]) == (TOLD["isin"], "25", "4310.00")
    assert (trade["confidence_score"], trade["review_status"]) == (0.9, "approved")
    assert "ai_parser_seconds_count 1.0" in metrics


async def test_a_value_that_is_not_on_the_page_is_flagged_for_review(
    pool: Pool, tmp_path: Path
) -> None:
    invented = tells(quantity=26)
    async with speaking(invented) as parser, desk(pool, tmp_path, parser) as client:
        job_id, trade = await read_by(client)
        result = (await client.get(f"/api/jobs/{job_id}/download")).json()
    assert (trade["quantity"], trade["confidence_score"]) == ("26", 0.3)
    assert trade["review_status"] == "pending"
    assert result["review"] == ["trades[0]", "trades[0].quantity"]


async def test_a_parser_that_fails_once_is_asked_again(pool: Pool, tmp_path: Path) -> None:
    async with speaking(DOWN, tells()) as parser, desk(pool, tmp_path, parser) as client:
        job_id, trade = await read_by(client)
        metrics = (await client.get("/metrics")).text
    assert await outside.outcomes(pool, job_id) == [("retry", "SERVICE_FAILED"), ("complete", None)]
    assert trade["review_status"] == "approved"
    assert len(parser.heard) == 2
    assert "ai_parser_seconds_count 2.0" in metrics


async def test_a_parser_that_does_not_answer_in_time_is_asked_again(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ai_parser, "TIMEOUT", timedelta(seconds=5))
    async with (
        speaking(SILENT, tells(), hangs=True) as parser,
        desk(pool, tmp_path, parser) as client,
    ):
        job_id, trade = await read_by(client)
    assert await outside.outcomes(pool, job_id) == [
        ("retry", "SERVICE_TIMEOUT"),
        ("complete", None),
    ]
    assert trade["confidence_score"] == 0.9
