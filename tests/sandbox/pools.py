"""A fork server of badly behaved pipelines, and the steps its tests share."""

import asyncio
from datetime import timedelta
from pathlib import Path

from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, Task
from docmill.sandbox.pool import SandboxPool
from waits import PATIENCE, until

HERE = Path(__file__).parent
PIPELINES = ("probes:echo", "probes:call")
SOON = timedelta(seconds=PATIENCE)
TEXT = "the secret of ACME Corp"


def make_pool(
    *,
    stall: timedelta = SOON,
    total: timedelta = timedelta(minutes=10),
    cpu: timedelta = timedelta(minutes=1),
) -> SandboxPool:
    limits = RunLimits(memory_bytes=256 << 20, stall=stall, total=total, cpu=cpu)
    return SandboxPool(limits, pipelines=PIPELINES, paths=[str(HERE)])


def silent(_percent: int, _stage: str) -> None:
    """For runs whose progress does not matter."""


def a_task(does: str = "", content_type: str = "text/plain", **options: object) -> Task:
    name = "call" if does else "echo"
    return Task(name, "a.txt", content_type, options={"does": does, **options})


async def failed(sandbox: SandboxPool, document: int, task: Task) -> RunFailed:
    ran = await sandbox.run(task, document, silent)
    assert isinstance(ran, RunFailed)
    return ran


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()


def is_gone(pid: int) -> bool:
    """Ended, and collected by its parent."""
    return not Path(f"/proc/{pid}").exists()


def open_fds() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class Spinning:
    """A run that is known to be going on, and the pid of its child."""

    def __init__(self, sandbox: SandboxPool, document: int) -> None:
        self.pid = 0
        self.task = asyncio.create_task(sandbox.run(a_task("spin"), document, self._hear))

    def _hear(self, _percent: int, stage: str) -> None:
        self.pid = int(stage.removeprefix("pid "))

    async def started(self) -> "Spinning":
        await until(lambda: self.pid)
        return self
