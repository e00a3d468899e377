"""The queue page of an owner with ten thousand jobs: the first page, a filter, a search."""

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

import psycopg

from bench import filling
from bench.client import clients, flood
from bench.ground import Ground, Site, web
from docmill.core import owners
from eval.rows import Row, Spread, spread

JOBS: Final = 10_000
FLOOR: Final = 300
ASKED: Final = {
    "first page": "/queue",
    "one status": "/queue?status=failed",
    "a name that one file has": "/queue?q=9876.pdf",
    "a name that no file has": "/queue?q=nothing",
    "a name that all have": "/queue?q=pdf",
}
MINE: Final = (
    "SET LOCAL session_replication_role = replica",
    "INSERT INTO owners (owner) VALUES (%(owner)s)",
    """UPDATE documents SET owner = %(owner)s, original_filename = 'invoice ' || start_tag || '.pdf'
         FROM jobs WHERE document_id = documents.id""",
    "UPDATE jobs SET owner = %(owner)s",
)


def measure(ground: Ground) -> Iterator[Row]:
    url, cookie = ground.migrated("pages"), secrets.token_urlsafe(32)
    _fill(url, cookie)
    with web(ground, url) as site:
        for what, address in ASKED.items():
            took = asyncio.run(_asked(site, address, cookie, ground.count(200, 30)))
            yield Row(
                f"queue page of {JOBS:,} jobs, {what}", str(took),
                floor=f"p95 < {FLOOR} ms", kept=took.p95 < FLOOR, figures=asdict(took),
            )  # fmt: skip


def _fill(url: str, cookie: str) -> None:
    with psycopg.connect(url) as conn:
        filling.owners(conn, 1)
        filling.finished(conn, JOBS)
        for query in MINE:
            given = {"owner": owners.session(cookie).key} if "%(" in query else None
            conn.execute(query, given)
    filling.settle_down(url)


async def _asked(site: Site, address: str, cookie: str, count: int) -> Spread:
    async with clients(site.port, 1, cookie) as crowd:
        await flood(crowd, 5, lambda client: client.get(address))
        _, took = await flood(crowd, count, lambda client: client.get(address))
    return spread(took)
