"""Status requests: fifty who keep asking, beside bare routes that send the same bytes, and a
thousand at once.
"""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from bench.client import Client, Files, clients, flood, timed
from bench.ground import Ground, Site, serving, web
from eval.rows import Pace, Row, compare_paces, middle, spread

CLIENTS: Final = 50
CROWD: Final = 1000
# Docmill and the bare routes in turn, so many times: other work on the machine meets them all.
ROUNDS: Final = 3
Asked = tuple[str, str]  # where to ask, and the cookie to ask with


@dataclass(frozen=True, slots=True)
class Beside:
    """One address of docmill's, and the bare routes that send what it sent; each of their turns."""

    docmill: list[Pace]
    bare: list[Pace]
    row: list[Pace]


def measure(ground: Ground) -> Iterator[Row]:
    count, url = ground.count(5000, 800), ground.migrated("statuses")
    with web(ground, url) as site:
        queued, ended, cookie = asyncio.run(_two_jobs(site.port))
        asked = f"/api/job-status/{queued}", cookie
        alone = asyncio.run(_steady(site, asked, 1, count // 10))
        named = {
            "status of a queued job": asked,
            "status of an ended job": (f"/api/job-status/{ended}", cookie),
            "job with its history": (f"/api/jobs/{queued}", cookie),
        }
        paces = {what: _beside(ground, url, site, one, count) for what, one in named.items()}
        slowest, answered = asyncio.run(_at_once(site.port, asked))
    yield _row("status, one client", alone, floor=100)
    for what, pace in paces.items():
        floor = 100 if what.startswith("status") else None
        yield _row(f"{what}, {CLIENTS} clients", middle(pace.docmill), floor=floor)
        yield from _compare(what, pace)
    yield Row(
        f"status, {CROWD} at once: slowest", f"{slowest:.0f} ms, {answered} answered",
        floor=f"{CROWD} answered", kept=answered == CROWD,
        figures={"ms": slowest, "answered": answered},
    )  # fmt: skip


def _beside(ground: Ground, url: str, site: Site, asked: Asked, count: int) -> Beside:
    path, cookie = asked
    sent, job_id = ground.folder / "sent", path.rpartition("/")[2]
    sent.write_bytes(asyncio.run(_body(site.port, asked)))
    with serving(sys.executable, "-m", "bench.bare_route", str(sent), url) as bare:
        contenders = (
            (site, asked), (bare, (f"/bare/{job_id}", cookie)), (bare, (f"/row/{job_id}", cookie))
        )  # fmt: skip
        rounds = [
            [asyncio.run(_steady(where, what, CLIENTS, count)) for where, what in contenders]
            for _ in range(ROUNDS)
        ]
    return Beside(*map(list, zip(*rounds, strict=True)))


def _compare(what: str, paces: Beside) -> Iterator[Row]:
    for name, other in (("bare route", paces.bare), ("and one row read", paces.row)):
        yield from compare_paces(what, paces.docmill, other, name=name)


def _row(what: str, pace: Pace, *, floor: int | None = None) -> Row:
    label = f"{what}: {pace.per_second:.0f}/s, {pace.cpu_ms:.1f} ms CPU each"
    if floor is None:
        return Row(label, str(pace.took), figures=asdict(pace))
    return Row(
        label, str(pace.took), floor=f"p95 < {floor} ms", kept=pace.took.p95 < floor,
        figures=asdict(pace),
    )  # fmt: skip


async def _two_jobs(port: int) -> tuple[str, str, str]:
    """One that is queued, one that has ended, and the cookie of their owner."""
    async with clients(port, 1) as (client,):
        answers = [await client.post("/api/upload", Files(200_000).body()) for _ in range(2)]
        queued, ended = (answer.json()["jobId"] for answer in answers)
        cancelled = await client.post(f"/api/jobs/{ended}/cancel", [])
        assert cancelled.status == 200, cancelled
        return queued, ended, client.cookie


async def _body(port: int, asked: Asked) -> bytes:
    path, cookie = asked
    async with clients(port, 1, cookie) as (client,):
        return (await client.get(path)).body


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
