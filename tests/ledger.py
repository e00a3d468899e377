"""Trades in the database, for tests that begin behind the reader: `from ledger import traded`."""

import json
from typing import Any

from docmill.core.jobs import Claimed, JobId
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.trades import queries
from road import ANN, add_job, claim

ROW: dict[str, Any] = {
    "position": 0, "isin": "DE0007236101", "name": "SIEMENS AG", "quantity": "25",
    "price": "172.40", "notional": "4310.00", "fees": "9.90", "currency": "EUR",
    "trade_date": "2024-03-04", "direction": "buy", "confidence_score": 0.95,
    "needs_review": False, "approved_by": "rule: every needed value at 0.80 or surer",
    "raw_extracted_data": {"evidence": {"quantity": {"page": 1, "box": [1, 2, 3, 4]}}},
}  # fmt: skip


async def traded(
    conn: Connection, *given: dict[str, Any], owner: OwnerKey = ANN
) -> tuple[Claimed, JobId]:
    """A claimed job of `trades` whose rows are written, in the caller's transaction."""
    job_id = await add_job(conn, owner, pipeline="trades")
    (job,) = await claim(conn, pipelines=["trades"])
    await write(conn, job, *given)
    return job, job_id


async def write(conn: Connection, job: Claimed, *given: dict[str, Any]) -> None:
    rows = [{**ROW, "position": at, **row} for at, row in enumerate(given or ({},))]
    await queries.write_trades(conn, job, json.dumps(rows))
