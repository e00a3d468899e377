"""Uploads: requests a second and latency, beside a handler that only streams, hashes, stores and
commits a row.

`python -m bench.uploads --rate 10 --seconds 600` sends so many a second for so long instead,
whether or not those before were answered, and ends with 1 when one was refused or p95 is over 1 s.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Iterator
from dataclasses import asdict
from typing import Final

from bench.client import Answer, Client, Files, clients, flood, timed
from bench.ground import Ground, Site, prepared, serving, web
from eval.rows import Pace, Row, compare_paces, middle, spread

BYTES: Final = 200_000
CLIENTS: Final = 16
CROWD: Final = 100
# Docmill and the bare handler in turn, so many times.
ROUNDS: Final = 3
FLOOR_MS: Final = 1000


def measure(ground: Ground) -> Iterator[Row]:
    url, count = ground.migrated("uploads"), ground.count(1000, 200)
    words = (str(ground.folder / "bare"), ground.database("bare_upload"))
    with (
        serving(sys.executable, "-m", "bench.bare_upload", *words) as handler,
        web(ground, url) as site,
    ):
        turns = [
            [asyncio.run(_steady(where, count)) for where in (site, handler)] for _ in range(ROUNDS)
        ]
        crowd, bare_crowd = asyncio.run(_at_once(site)), asyncio.run(_at_once(handler))
    yield from _paces(*map(list, zip(*turns, strict=True)))
    yield Row(
        f"upload, {CROWD} at once: slowest", f"{crowd:.0f} ms", f"bare handler {bare_crowd:.0f} ms",
        bare_crowd / crowd, "all accepted, < 2000 ms", crowd < 2000,
        {"ms": crowd, "bare": bare_crowd},
    )  # fmt: skip


def _paces(ours: list[Pace], bare: list[Pace]) -> Iterator[Row]:
    what, name = f"upload, 200 KB, {CLIENTS} clients", "bare handler"
    yield from compare_paces(what, ours, bare, name=name)
    took, its = middle(ours).took, middle(bare).took
    yield Row(
        "upload, same: latency", str(took), f"{name} {its}", its.p95 / took.p95,
        f"p95 < {FLOOR_MS} ms", took.p95 < FLOOR_MS, {"docmill": asdict(took), "bare": asdict(its)},
    )  # fmt: skip


async def _steady(site: Site, count: int) -> Pace:
    files = Files(BYTES)
    async with clients(site.port, CLIENTS) as crowd:
        await flood(crowd, CLIENTS * 4, lambda client: _upload(client, files))
        used = site.cpu_seconds()
        seconds, took = await flood(crowd, count, lambda client: _upload(client, files))
        cpu_ms = 1000 * (site.cpu_seconds() - used) / count
    return Pace(count / seconds, cpu_ms, spread(took))


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


async def _keep_pace(site: Site, rate: float, count: int) -> tuple[list[float], int]:
    """How many seconds each took, and how many were not accepted."""
    files, free, began = Files(BYTES), list[Client](), time.perf_counter()

    async def one(number: int) -> tuple[float, bool]:
        await asyncio.sleep(began + number / rate - time.perf_counter())
        client = free.pop() if free else Client(site.port)
        seconds, answer = await timed(_upload(client, files))
        free.append(client)
        return seconds, answer.status == 200

    took = await asyncio.gather(*(one(number) for number in range(count)))
    for client in free:
        client.close()
    return [seconds for seconds, _ in took], sum(not accepted for _, accepted in took)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rate", type=float, default=10, help="uploads a second")
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    count = round(given.rate * given.seconds)
    with prepared(quick=False) as ground, web(ground, ground.migrated("uploads")) as site:
        took, refused = asyncio.run(_keep_pace(site, given.rate, count))
        cpu_ms = 1000 * site.cpu_seconds() / count
    pace = spread(took)
    print(f"{given.rate:g} uploads a second for {given.seconds:g} s: {count - refused} of {count}")
    print(f"accepted; {pace}, slowest {pace.most:.0f} ms; {cpu_ms:.1f} ms CPU each, with the start")
    return int(refused > 0 or pace.p95 >= FLOOR_MS)


if __name__ == "__main__":
    sys.exit(main())
