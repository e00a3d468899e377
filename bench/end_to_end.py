"""The whole road: real PDFs through upload, queue, confined children and store."""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

import psycopg

from bench.client import clients, named
from bench.ground import DOCMILL, ROOT, Ground, started, web
from eval.pdf import make_pdf
from eval.rows import Row

CORPUS: Final = ROOT.parent / "shared" / "corpus" / "invoices"
LIMIT: Final = 120.0
ENDED: Final = """
SELECT status, count(*), extract(epoch FROM max(coalesce(completed_at, failed_at))
                                          - (SELECT min(started_at) FROM jobs))
  FROM jobs WHERE status IN ('complete', 'failed') GROUP BY status
"""


def measure(ground: Ground) -> Iterator[Row]:
    """Uploaded first, then one worker of default size is let loose on them."""
    url = ground.migrated("end_to_end")
    kind, files = _documents(ground.count(60, 10))
    with web(ground, url) as site:
        asyncio.run(_upload(site.port, files))
    data = str(ground.folder / "data")
    with started(DOCMILL, "worker", "--data", data, DATABASE_URL=url):
        complete, failed, seconds = _ended(url, len(files))
    minute = 60 * complete / seconds
    yield Row(
        f"extract, {len(files)} {kind}: documents/min", f"{minute:.0f}, {failed} failed",
        floor="> 10/min", kept=minute > 10 and complete + failed == len(files),
        figures={"per_minute": minute, "complete": complete, "failed": failed},
    )  # fmt: skip


def _documents(count: int) -> tuple[str, list[bytes]]:
    if found := sorted(CORPUS.glob("*.pdf"))[:count]:
        return "real invoices", [path.read_bytes() for path in found]
    return "generated PDFs", [_generated(number) for number in range(count)]


def _generated(number: int) -> bytes:
    lines = [(72.0, 72.0 + 14 * line, f"Line {line} of document {number}") for line in range(50)]
    return make_pdf([lines] * 4)


async def _upload(port: int, files: list[bytes]) -> None:
    async with clients(port, 1) as (client,):
        for data in files:
            answer = await client.post("/api/upload?pipeline=extract", named("a.pdf", data))
            assert answer.status == 200, answer


def _ended(url: str, wanted: int) -> tuple[int, int, float]:
    """Complete, failed, and the seconds between the first start and the last end."""
    until = time.monotonic() + LIMIT
    with psycopg.connect(url, autocommit=True) as conn:
        while True:
            rows = {row[0]: row[1:] for row in conn.execute(ENDED)}
            if sum(row[0] for row in rows.values()) >= wanted or time.monotonic() > until:
                break
            time.sleep(0.1)
    seconds = max((float(row[1]) for row in rows.values()), default=LIMIT)
    complete, failed = (rows.get(name, (0,))[0] for name in ("complete", "failed"))
    return complete, failed, seconds
