"""What a confined run costs beyond the pipeline's own work.

`python bench/child_overhead.py [runs] [more pipelines to keep warm]`
"""

import asyncio
import os
import statistics
import sys
import time
from pathlib import Path

from docmill.work.child import Limits, Nursery, Returned, Task

TESTS = Path(__file__).resolve().parents[1] / "tests" / "work"
TASK = Task("echo", "a.txt", "text/plain")


async def measure(runs: int, pipelines: list[str]) -> None:
    document = os.open(os.devnull, os.O_RDONLY)
    async with Nursery(Limits(), pipelines=pipelines, paths=[str(TESTS)]) as nursery:
        began = time.perf_counter()
        confinement = await nursery.warm()
        print(f"{' '.join(pipelines)}: warm in {(time.perf_counter() - began) * 1000:.0f} ms")
        print(f"  confined by {confinement}")
        took: list[float] = []
        for _ in range(runs):
            began = time.perf_counter()
            ran = await nursery.run(TASK, document, lambda _percent, _stage: None)
            took.append((time.perf_counter() - began) * 1000)
            assert isinstance(ran, Returned), ran
        p50, p99 = statistics.median(took), statistics.quantiles(took, n=100)[98]
        print(f"  {runs} runs: p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {max(took):.1f} ms")
    os.close(document)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    asyncio.run(measure(count, ["probes:echo", *sys.argv[2:]]))
