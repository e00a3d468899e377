"""Status requests: fifty who keep asking, and a thousand at once."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from bench.client import Client, Files, clients, flood, timed
from bench.ground import Ground, web
from bench.rows import Row, Spread, spread

CLIENTS: Final = 50
CROWD: Final = 1000


def measure(ground: Ground) -> Iterator[Row]:
    with web(ground, ground.migrated("statuses")) as site:
        job, cookie = asyncio.run(_a_job(site.port))
        speed, took = asyncio.run(_steady(site.port, job, cookie, ground.count(5000, 1000)))
        slowest, answered = asyncio.run(_at_once(site.port, job, cookie))
    yield Row(
        f"status, {CLIENTS} clients: {speed:.0f}/s", str(took),
        floor="p95 < 100 ms", kept=took.p95 < 100,
        figures={"per_second": speed, "ms": asdict(took)},
    )  # fmt: skip
    yield Row(
        f"status, {CROWD} at once: slowest", f"{slowest:.0f} ms, {answered} answered",
        floor=f"{CROWD} answered", kept=answered == CROWD,
        figures={"ms": slowest, "answered": answered},
    )  # fmt: skip


async def _a_job(port: int) -> tuple[str, str]:
    async with clients(port, 1) as (client,):
        answer = await client.post("/api/upload", Files(200_000).body())
        return answer.json()["jobId"], answer.cookie


async def _steady(port: int, job: str, cookie: str, count: int) -> tuple[float, Spread]:
    async with clients(port, CLIENTS, cookie) as crowd:
        seconds, took = await flood(crowd, count, lambda client: client.get(f"/api/jobs/{job}"))
    return count / seconds, spread(took)


async def _at_once(port: int, job: str, cookie: str) -> tuple[float, int]:
    """Everybody connects and asks in the same moment."""
    crowd = [Client(port, cookie) for _ in range(CROWD)]
    asked = [timed(client.get(f"/api/jobs/{job}")) for client in crowd]
    answers = await asyncio.gather(*asked)
    for client in crowd:
        client.close()
    answered = sum(answer.status == 200 for _, answer in answers)
    return 1000 * max(seconds for seconds, _ in answers), answered
