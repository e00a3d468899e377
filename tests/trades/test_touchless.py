"""Trades approved by rule, and what reviews say of their confidence, in the database."""

import json
from typing import Any

import pytest

from docmill.core.experience import count_values
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.jobs.experience import Touchless
from docmill.trades import edits, queries, touchless
from docmill.trades.edits import make_draft
from road import ANN, add_job, claim_one, finish

pytestmark = pytest.mark.anyio

RULE = "rule <= 1 %"
VALUES = {
    "isin": "DE0007236101", "direction": "buy", "quantity": "25", "price": "172.40",
    "notional": "4310.00", "currency": "EUR", "trade_date": "2024-03-04",
}  # fmt: skip


def make_row(position: int, rule: str | None) -> dict[str, Any]:
    evidence = {name: {"confidence": 0.99, "page": 1, "box": None} for name in VALUES}
    promise = {"rate": 0.01, "expected": 0.004, "scanned": False, "rule": rule}
    raw = {"source": "page", "checks": ["product"], "evidence": evidence, "promise": promise}
    return {
        **VALUES, "position": position, "confidence_score": 0.99, "needs_review": rule is None,
        "approved_by": rule, "raw_extracted_data": raw,
    }  # fmt: skip


async def test_what_people_change_later_is_counted_and_fits_confidence(conn: Connection) -> None:
    job_id = await add_job(conn)
    job = await claim_one(conn)
    await queries.write_trades(conn, job, json.dumps([make_row(0, RULE), make_row(1, None)]))
    assert await finish(conn, job)
    trades = await queries.trades_of_document(conn, job.document_id)
    assert [trade.approved_by for trade in trades] == [RULE, None]
    assert await touchless.count_touchless(conn, OwnerKey(ANN)) == Touchless(2, 1, 0, 0)

    draft = make_draft(trades[0])
    edits.set_value(draft, "quantity", "24")
    edits.set_value(draft, "quantity", "26")
    await queries.edit_trade(conn, trades[0].id, draft.values, draft.evidence, who=ANN)
    assert await touchless.count_touchless(conn, OwnerKey(ANN)) == Touchless(2, 1, 1, 1)

    assert await touchless.list_reviewed(conn, OwnerKey(ANN)) == []
    ids = [trade.id for trade in trades]
    await queries.set_review_status(conn, ids, "approved", who=ANN)
    reviewed = await touchless.list_reviewed(conn, OwnerKey(ANN))
    counts = count_values(touchless.list_values(reviewed))
    assert counts["trades.quantity"] == {"0.98": (1, 2)}
    assert counts["trades.isin"] == {"0.98": (2, 2)}
    assert await touchless.list_reviewers(conn, enough=2) == [ANN]
    assert await touchless.list_reviewers(conn, enough=3) == []
    assert job_id
