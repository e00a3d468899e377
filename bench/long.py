"""A document of 500 pages whose worker is killed on the way: what the second attempt is spared, and
how memory grows with the pages. `python -m bench.table --only long`.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final

import psycopg

from bench.client import clients, named
from bench.ground import DOCMILL, Ground, started, web
from eval.pdf import Text, make_pdf
from eval.rows import Row

FEW: Final = 50
LIMIT: Final = 900.0
PATIENCE: Final = {"DOCMILL_RETRY_SECONDS": "0", "DOCMILL_RETRY_JITTER_SECONDS": "0"}
TEXT: Final = (
    "the mill grinds slowly but what it makes of paper is kept in order and can be found again "
    "delivery customer amount harbour invoice ledger season engineer account winter measure"
)

KEPT: Final = "SELECT coalesce(sum(items), 0) FROM steps WHERE kind = 'pages'"
STATUS: Final = "SELECT status FROM jobs ORDER BY created_at DESC LIMIT 1"
LAST: Final = """
SELECT (e.meta->>'recalled')::int, a.memory_bytes, a.duration_ms
  FROM job_events e JOIN job_attempts a ON a.job_id = e.job_id AND a.outcome = 'complete'
 WHERE e.kind = 'complete' ORDER BY e.at DESC LIMIT 1
"""


def measure(ground: Ground) -> Iterator[Row]:
    pages = ground.count(500, 120)
    url, data = ground.migrated("long"), str(ground.folder / "data")
    with web(ground, url) as site, psycopg.connect(url, autocommit=True) as conn:
        asyncio.run(_upload(site.port, _book(FEW)))
        with started(DOCMILL, "worker", "--data", data, DATABASE_URL=url, **PATIENCE):
            _until(lambda: _one(conn, STATUS)[0] in {"complete", "failed"})
        few = _one(conn, LAST)[1]
        asyncio.run(_upload(site.port, _book(pages)))
        with started(DOCMILL, "worker", "--data", data, DATABASE_URL=url, **PATIENCE) as worker:
            _until(lambda: _one(conn, KEPT)[0] >= pages // 4)
            worker.kill()
        kept = _one(conn, KEPT)[0]
        with started(DOCMILL, "worker", "--data", data, DATABASE_URL=url, **PATIENCE):
            _until(lambda: _one(conn, STATUS)[0] in {"complete", "failed"})
        recalled, many, took = _one(conn, LAST)
    yield Row(
        f"extract of {pages} pages, killed after {kept} were kept",
        f"{kept} pages not read again, {took / 1000:.0f} s",
        floor="goes on from there", kept=(recalled or 0) >= kept,
        figures={"kept": kept, "recalled": recalled, "ms": took},
    )  # fmt: skip
    yield Row(
        f"memory of {pages} pages beside {FEW}", f"{many >> 20} MB", f"{few >> 20} MB",
        few / many, "< 2 times", many < 2 * few, {"few": few, "many": many},
    )  # fmt: skip


def _one(conn: psycopg.Connection[Any], asked: str) -> Sequence[Any]:
    row = conn.execute(asked.encode()).fetchone()
    assert row is not None
    return row


def _until(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT
    while not fact():
        assert time.monotonic() < until, f"not within {LIMIT:.0f} s"
        time.sleep(0.05)


async def _upload(port: int, data: bytes) -> None:
    async with clients(port, 1) as (client,):
        answer = await client.post("/api/upload?pipeline=extract", named("a.pdf", data))
        assert answer.status == 200, answer


def _book(pages: int) -> bytes:
    """Some 200 words a page, none like another."""
    random = Random(pages)
    return make_pdf([[*_page(number, random)] for number in range(pages)])


def _page(number: int, random: Random) -> Iterator[Text]:
    yield 60.0, 40.0, f"Records of the mill, page {number + 1}"
    for line in range(18):
        yield 60.0, 80.0 + 14 * line, " ".join(random.choices(TEXT.split(), k=11))
