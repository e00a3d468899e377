"""What a document costs, by pipeline: CPU, memory and stored bytes. `python -m bench.cost [runs]`.

CPU seconds are those of the confined child, as the kernel counts them: a busy machine makes them a
little longer, not wrong. docs/operate/scale.md reckons with them.
"""

import asyncio
import gzip
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from docmill.jobs.samples import SAMPLES
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunReturned, Task
from docmill.sandbox.pool import SandboxPool
from eval.pdf import make_pdf

PDF: Final = "application/pdf"
LINE: Final = "the quick brown fox jumps over the lazy dog and comes back for more of the same"
PIPELINES: Final = ("invoice", "trades", "extract", "study")


@dataclass(frozen=True, slots=True)
class CostCase:
    pipeline: str
    name: str
    data: bytes


def list_cases() -> Iterator[CostCase]:
    invoice, note = SAMPLES["invoice"].read(), SAMPLES["trade-note"].read()
    page = [(50.0, 40 + 12.0 * row, f"{row} {LINE}") for row in range(60)]
    book = make_pdf([[(50.0, 30.0, f"A book {number}"), *page] for number in range(10)])
    yield CostCase("invoice", "invoice, 1 page", invoice)
    yield CostCase("trades", "trade note, 1 page", note)
    yield CostCase("extract", "invoice, 1 page", invoice)
    yield CostCase("extract", "full text, 10 pages", book)
    yield CostCase("study", "full text, 10 pages", book)


async def main(runs: int) -> None:
    print("pipeline  document              CPU s   memory MB  sent KB  stored KB")
    async with SandboxPool(RunLimits(), pipelines=PIPELINES) as sandbox:
        await sandbox.warm()
        for case in list_cases():
            print(await _measure(sandbox, case, runs), flush=True)


async def _measure(sandbox: SandboxPool, case: CostCase, runs: int) -> str:
    cpu: list[float] = []
    memory, stored = 0, 0
    with tempfile.NamedTemporaryFile() as file:
        file.write(case.data)
        file.flush()
        for _ in range(runs):
            with open(file.name, "rb") as document:  # noqa: ASYNC230, PTH123
                task = Task(case.pipeline, "a.pdf", PDF)
                ran = await sandbox.run(task, document.fileno(), lambda _percent, _stage: None)
            if not isinstance(ran, RunReturned):
                raise TypeError(f"{case.pipeline}: {ran}")
            cpu.append(ran.usage.cpu_ms / 1000)
            memory = max(memory, ran.usage.memory_bytes)
            stored = len(gzip.compress(ran.data))
    sent = len(case.data) / 1000
    return (
        f"{case.pipeline:8}  {case.name:20}  {statistics.median(cpu):5.2f}  {memory >> 20:9}  "
        f"{sent:7.1f}  {stored / 1000:9.1f}"
    )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
