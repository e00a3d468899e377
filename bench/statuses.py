"""Status requests: fifty who keep asking, and a thousand at once."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from bench.client import Client, Files, clients, flood, timed
from bench.ground import Ground, Site, web
from eval.rows import Pace, Row, spread

CLIENTS: Final = 50
CROWD: Final = 1000
Asked = tuple[str, str]  # where to ask, and the cookie to ask with


def measure(ground: Ground) -> Iterator[Row]:
    count = ground.count(5000, 800)
    with web(ground, ground.migrated("statuses")) as site:
        job_id, cookie = asyncio.run(_a_job(site.port))
        asked = f"/api/job-status/{job_id}", cookie
        alone = asyncio.run(_steady(site, asked, 1, count // 10))
        steady = asyncio.run(_steady(site, asked, CLIENTS, count))
        whole = asyncio.run(_steady(site, (f"/api/jobs/{job_id}", cookie), CLIENTS, count))
        slowest, answered = asyncio.run(_at_once(site.port, asked))
    yield _row("status, one client", alone, floor=100)
    yield _row(f"status, {CLIENTS} clients", steady, floor=100)
    yield _row(f"job with its history, {CLIENTS} clients", whole)
    yield Row(
        f"status, {CROWD} at once: slowest", f"{slowest:.0f} ms, {answered} answered",
        floor=f"{CROWD} answered", kept=answered == CROWD,
        figures={"ms": slowest, "answered": answered},
    )  # fmt: skip


def _row(what: str, pace: Pace, *, floor: int | None = None) -> Row:
    label = f"{what}: {pace.per_second:.0f}/s, {pace.cpu_ms:.1f} ms CPU each"
    if floor is None:
        return Row(label, str(pace.took), figures=asdict(pace))
    return Row(
        label, str(pace.took), floor=f"p95 < {floor} ms", kept=pace.took.p95 < floor,
        figures=asdict(pace),
    )  # fmt: skip


async def _a_job(port: int) -> tuple[str, str]:
    async with clients(port, 1) as (client,):
        answer = await client.post("/api/upload", Files(200_000).body())
        return answer.json()["jobId"], answer.cookie


async def _steady(site: Site, asked: Asked, number: int, count: int) -> Pace:
    path, cookie = asked
    async with clients(site.port, number, cookie) as crowd:
        await flood(crowd, max(number, 20), lambda client: client.get(path))
        used = site.cpu_seconds()
        seconds, took = await flood(crowd, count, lambda client: client.get(path))
        cpu_ms = 1000 * (site.cpu_seconds() - used) / count
    return Pace(count / seconds, cpu_ms, spread(took))


async def _at_once(port: int, asked: Asked) -> tuple[float, int]:
    """Everybody connects and asks in the same moment."""
    path, cookie = asked
    crowd = [Client(port, cookie) for _ in range(CROWD)]
    answers = await asyncio.gather(*(timed(client.get(path)) for client in crowd))
    for client in crowd:
        client.close()
    answered = sum(answer.status == 200 for _, answer in answers)
    return 1000 * max(seconds for seconds, _ in answers), answered
