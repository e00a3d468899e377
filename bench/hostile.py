"""Runs hostile PDFs through every pipeline in confined children while other processes spin.

`python -m bench.hostile [--spinners 4] [--every 10] [FOLDER...]`: a child that crashes, an ending
without a code of its own, or a TIMED_OUT whose limit was not truly used is a failure.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docmill.core.plugins import PDF
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, RunOutcome, Task
from docmill.sandbox.pool import SandboxPool

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus" / "hostile"
PIPELINES: Final = ("extract", "invoice", "trades", "study")
FORBIDDEN: Final = frozenset({"CRASHED", "UNKNOWN"})
LIMITS: Final = RunLimits(memory_bytes=896 << 20)
SPIN: Final = "import os\nwhile os.getppid() == {parent}:\n    for _ in range(10**6): pass"
_USED: Final = re.compile(r"(?:used|no progress for) ([\d.]+) s of CPU")


@dataclass(frozen=True, slots=True)
class Row:
    """How one file ended in one pipeline."""

    file: str
    pipeline: str
    ran: RunOutcome

    @property
    def code(self) -> str:
        return self.ran.code if isinstance(self.ran, RunFailed) else "ok"

    @property
    def detail(self) -> str:
        return self.ran.detail if isinstance(self.ran, RunFailed) else ""

    @property
    def is_wrong(self) -> bool:
        """A crash, or a limit said to be reached that the CPU it used does not bear out."""
        if self.code != "TIMED_OUT":
            return self.code in FORBIDDEN
        limit = _USED.search(self.detail)
        return limit is None or self.ran.usage.cpu_ms < float(limit[1]) * 1000

    def __str__(self) -> str:
        used = self.ran.usage
        seconds = f"{used.cpu_ms / 1000:7.1f} s CPU {used.duration_ms / 1000:7.1f} s"
        return f"{self.pipeline:8} {self.file:32.32} {self.code:14} {seconds}  {self.detail}"


@contextmanager
def spinning(count: int) -> Generator[None]:
    """So many processes that take all the CPU they get; they end with us."""
    code = SPIN.format(parent=os.getpid())
    spinners = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


async def run(sandbox: SandboxPool, path: Path, pipeline: str) -> Row:
    document = os.open(path, os.O_RDONLY)
    try:
        ran = await sandbox.run(Task(pipeline, path.name, PDF), document, lambda *_: None)
        if isinstance(ran, RunFailed) and ran.stalled:
            ran = await sandbox.run(Task(pipeline, path.name, PDF), document, lambda *_: None)
    finally:
        os.close(document)
    return Row(path.name, pipeline, ran)


async def run_all(paths: Sequence[Path], pipelines: Sequence[str], at_a_time: int) -> list[Row]:
    waiting = iter([(path, name) for path in paths for name in pipelines])
    rows: list[Row] = []

    async def run_some(sandbox: SandboxPool, some: Iterator[tuple[Path, str]]) -> None:
        for path, name in some:
            row = await run(sandbox, path, name)
            rows.append(row)
            if row.is_wrong or row.code == "TIMED_OUT":
                print(row, flush=True)

    async with SandboxPool(LIMITS, pipelines=pipelines) as sandbox:
        await sandbox.warm()
        await asyncio.gather(*(run_some(sandbox, waiting) for _ in range(at_a_time)))
    return rows


def show(rows: Sequence[Row], pipelines: Sequence[str]) -> None:
    counts = Counter((row.code, row.pipeline) for row in rows)
    print(f"{'code':16}" + "".join(f"{name:>10}" for name in pipelines))
    for code in sorted({row.code for row in rows}):
        print(f"{code:16}" + "".join(f"{counts[code, name]:10}" for name in pipelines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*", default=[CORPUS])
    parser.add_argument("--spinners", type=int, default=4)
    parser.add_argument("--every", type=int, default=1, help="take every n-th file")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--pipelines", default=",".join(PIPELINES))
    given = parser.parse_args()
    paths = [path for folder in given.folders for path in sorted(folder.glob("*.pdf"))]
    names = given.pipelines.split(",")
    began = time.monotonic()
    with spinning(given.spinners):
        rows = asyncio.run(run_all(paths[:: given.every], names, given.jobs))
    show(rows, names)
    wrong = sum(row.is_wrong for row in rows)
    took = time.monotonic() - began
    print(f"{len(rows)} runs, {given.spinners} spinning, {wrong} wrong, {took:.0f} s")
    sys.exit(1 if wrong or not rows else 0)


if __name__ == "__main__":
    main()
