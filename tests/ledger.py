"""Trades in the database, for tests that begin behind the reader: `from ledger import traded`."""

import json
from typing import Any
from uuid import uuid4

import httpx2

from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import Claimed, JobId
from docmill.core.owners import OwnerKey
from docmill.core.plugins import PDF
from docmill.db.pool import Connection
from docmill.trades import queries
from road import ANN, add_job, claim, finish
from sites import Site, a_pdf, upload_to

TRADES = PipelineCatalog({"trades": (PDF,)}, {})

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


async def send_note(site: Site, client: httpx2.AsyncClient, *given: dict[str, Any]) -> str:
    """An uploaded note, run to its end; the id of its document."""
    job_id = await upload_to(client, "trades", a_pdf(f"note {uuid4()}"))
    async with site.services.pool.connection() as conn:
        (job,) = await claim(conn, pipelines=["trades"])
        await write(conn, job, *given)
        assert await finish(conn, job)
    return (await client.get(f"/api/jobs/{job_id}")).json()["document_id"]
