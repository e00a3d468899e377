"""Steps with webhooks, for tests: one of an owner, a job that ends, a deliverer beside the test."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final, LiteralString

from docmill.core.jobs import About, Broke, Claimed, Ending, JobId, Retry, settle
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool
from docmill.queue import rows
from docmill.queue import settle as queue_settle
from docmill.queue.enqueue import ensure_owner
from docmill.services.outbound import OutboundClient, OutboundRules, read_rules
from docmill.webhooks import queries, signing
from docmill.webhooks.deliver import Deliverer, DeliveryRules
from docmill.webhooks.fields import NAMES
from docmill.webhooks.queries import NewWebhook, Webhook
from road import ANN, a_result, add_job, claim

ALLOWED: Final = read_rules("DOCMILL_WEBHOOK_ALLOW", ["127.0.0.0/8"])
SOON: Final = timedelta(milliseconds=1)
QUICK: Final = DeliveryRules(
    delays=(SOON,) * 9,
    timeout=timedelta(seconds=60),
    lease=timedelta(seconds=120),
    poll=timedelta(milliseconds=50),
)


async def add_webhook(
    conn: Connection,
    url: str = "http://127.0.0.1:9/",
    *,
    owner: OwnerKey = ANN,
    events: Sequence[str] = NAMES,
    source: str = "",
) -> tuple[Webhook, str]:
    secret = signing.make_secret()
    await ensure_owner(conn, owner)
    new = NewWebhook(owner, OwnerKey(source or owner), url, events, secret)
    added = await queries.add_webhook(conn, new)
    assert added is not None
    return added, secret


async def end_job(
    conn: Connection,
    ending: Ending | None = None,
    *,
    owner: OwnerKey = ANN,
    pipeline: str = "extract",
    attempts: int = 1,
    **given: Any,
) -> JobId:
    """As a worker does it: `summary` and the rows that a run gave go with it."""
    job_id = await add_job(conn, owner, pipeline=pipeline)
    (job,) = await claim(conn, pipelines=[pipeline])
    assert job.id == job_id
    await settle_job(conn, job, ending, attempts=attempts, **given)
    return job_id


async def settle_job(
    conn: Connection, job: Claimed, ending: Ending | None, *, attempts: int = 1, **given: Any
) -> None:
    finished = a_result(job)
    if summary := given.get("summary"):
        finished = type(finished)(finished.result, about=About(summary=summary))
    move = settle(job, ending or finished, retry=Retry(attempts=attempts), chance=0)
    assert await queue_settle.write_settlements(conn, [queue_settle.Settlement(job, move)])
    if "trades" in given:
        await rows.write_rows(conn, job, {"trades": json.dumps(given["trades"]).encode()})


BROKEN: Final = Broke("BAD_PDF", "detail", "stack")


async def fetch(conn: Connection, query: LiteralString) -> list[Any]:
    """The rows; of one column, the values."""
    found = await (await conn.execute(query)).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


async def list_events(conn: Connection) -> list[str]:
    return await fetch(conn, "SELECT kind FROM webhook_events ORDER BY kind")


@asynccontextmanager
async def delivering(
    pool: Pool, rules: DeliveryRules = QUICK, allowed: OutboundRules = ALLOWED
) -> AsyncGenerator[Deliverer]:
    async with OutboundClient(allowed, timeout=rules.timeout) as client:
        deliverer = Deliverer(pool, client, rules)
        task = asyncio.create_task(deliverer.run())
        try:
            yield deliverer
        finally:
            deliverer.stop()
            await task
