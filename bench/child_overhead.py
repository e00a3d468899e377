"""What a confined run costs beyond the pipeline's own work.

`python -m bench.child_overhead [runs] [more pipelines to keep warm]`
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from bench.ground import ROOT, Ground
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunReturned, Task
from docmill.sandbox.pool import SandboxPool
from eval.rows import Row, spread

TESTS = ROOT / "tests" / "sandbox"
TASK = Task("echo", "a.txt", "text/plain")
ECHO = "probes:echo"


def measure(ground: Ground) -> Iterator[Row]:
    took = spread(asyncio.run(runs(ground.count(300, 100), [ECHO])))
    yield Row(
        "confined child, trivial run", f"p50 {took.p50:.1f}, p99 {took.p99:.1f} ms",
        floor="p50 < 20 ms", kept=took.p50 < 20, figures={"ms": asdict(took)},
    )  # fmt: skip


async def runs(count: int, pipelines: Sequence[str]) -> list[float]:
    """Seconds of each run, one after the other, in a fork server that is warm."""
    document = os.open(os.devnull, os.O_RDONLY)
    took: list[float] = []
    async with SandboxPool(RunLimits(), pipelines=pipelines, paths=[str(TESTS)]) as sandbox:
        await sandbox.warm()
        for _ in range(count):
            began = time.perf_counter()
            ran = await sandbox.run(TASK, document, lambda _percent, _stage: None)
            took.append(time.perf_counter() - began)
            assert isinstance(ran, RunReturned), ran
    os.close(document)
    return took


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(spread(asyncio.run(runs(number, [ECHO, *sys.argv[2:]]))))
