"""Memory of the web process while five files of the largest size come in at once."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.client import Answer, Client, Files
from bench.ground import Ground, web
from eval.rows import Row

LARGEST: Final = 52_428_800
FILES: Final = 5
LIMIT_MB: Final = 64


def measure(ground: Ground) -> Iterator[Row]:
    """From a server that has answered before: what it needs at all is not growth."""
    with web(ground, ground.migrated("memory")) as site:
        asyncio.run(_upload(site.port, Files(200_000), 20))
        before = _megabytes(site.pid, "VmRSS")
        Path(f"/proc/{site.pid}/clear_refs").write_text("5")  # the peak begins again here
        asyncio.run(_upload(site.port, Files(LARGEST), FILES))
        peak = _megabytes(site.pid, "VmHWM")
    grown = peak - before
    yield Row(
        f"API memory, {FILES} uploads of 50 MB at once", f"+{grown:.0f} MB",
        f"{before:.0f} MB before",
        floor=f"< +{LIMIT_MB} MB", kept=grown < LIMIT_MB, figures={"before": before, "peak": peak},
    )  # fmt: skip


async def _upload(port: int, files: Files, count: int) -> None:
    crowd = [Client(port) for _ in range(count)]
    posts = (client.post("/api/upload", files.body()) for client in crowd)
    answers: list[Answer] = await asyncio.gather(*posts)
    for client in crowd:
        client.close()
    assert all(answer.status == 200 for answer in answers), answers


def _megabytes(pid: int, name: str) -> float:
    """VmHWM is the kernel's own record of the highest VmRSS: no sample can miss a peak."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1024
