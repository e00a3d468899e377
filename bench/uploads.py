"""Uploads: requests a second and latency, beside a handler that only streams, hashes and stores."""

import asyncio
import sys
from collections.abc import Awaitable, Iterator
from dataclasses import asdict
from typing import Final

from bench.ground import Ground, Site, serving, web
from bench.client import Answer, Client, Files, clients, flood, timed
from bench.rows import Row, Spread, spread

BYTES: Final = 200_000
CLIENTS: Final = 16
CROWD: Final = 100


def measure(ground: Ground) -> Iterator[Row]:
    url, count = ground.migrated("uploads"), ground.count(1500, 200)
    with serving(sys.executable, "-m", "bench.bare_upload", str(ground.folder / "bare")) as bare:
        bare_speed, bare_took = asyncio.run(_steady(bare, count))
        bare_crowd = asyncio.run(_at_once(bare))
    with web(ground, url) as site:
        speed, took = asyncio.run(_steady(site, count))
        crowd = asyncio.run(_at_once(site))
    yield Row(
        f"upload, 200 KB, {CLIENTS} clients: requests/s", f"{speed:.0f}/s",
        f"bare handler {bare_speed:.0f}/s", speed / bare_speed,
        figures={"per_second": speed, "bare": bare_speed},
    )  # fmt: skip
    yield Row(
        "upload, same: latency", str(took), f"bare handler {bare_took}", bare_took.p95 / took.p95,
        "p95 < 1000 ms", took.p95 < 1000, {"ms": asdict(took), "bare": asdict(bare_took)},
    )  # fmt: skip
    yield Row(
        f"upload, {CROWD} at once: slowest", f"{crowd:.0f} ms", f"bare handler {bare_crowd:.0f} ms",
        bare_crowd / crowd, "all accepted, < 2000 ms", crowd < 2000,
        {"ms": crowd, "bare": bare_crowd},
    )  # fmt: skip


async def _steady(site: Site, count: int) -> tuple[float, Spread]:
    files = Files(BYTES)
    async with clients(site.port, CLIENTS) as crowd:
        await flood(crowd, CLIENTS * 4, lambda client: _upload(client, files))
        seconds, took = await flood(crowd, count, lambda client: _upload(client, files))
    return count / seconds, spread(took)


async def _at_once(site: Site) -> float:
    """Everybody connects and uploads in the same moment."""
    files = Files(BYTES)
    crowd = [Client(site.port) for _ in range(CROWD)]
    answers = await asyncio.gather(*(timed(_upload(client, files)) for client in crowd))
    for client in crowd:
        client.close()
    assert all(answer.status == 200 for _, answer in answers), answers
    return 1000 * max(seconds for seconds, _ in answers)


def _upload(client: Client, files: Files) -> Awaitable[Answer]:
    return client.post("/api/upload", files.body())
