"""A nursery of badly behaved pipelines, and the steps its tests share."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from docmill.work.child import Failed, Limits, Nursery, Task

HERE = Path(__file__).parent
PIPELINES = ("probes:echo", "probes:call")
SOON = timedelta(seconds=20)
TEXT = "the secret of ACME Corp"


def a_nursery(*, stall: timedelta = SOON, total: timedelta = timedelta(minutes=1)) -> Nursery:
    limits = Limits(memory_bytes=256 << 20, stall=stall, total=total)
    return Nursery(limits, pipelines=PIPELINES, paths=[str(HERE)])


def silent(_percent: int, _stage: str) -> None:
    """For runs whose progress does not matter."""


def a_task(does: str = "", content_type: str = "text/plain", **options: object) -> Task:
    name = "call" if does else "echo"
    return Task(name, "a.txt", content_type, options={"does": does, **options})


async def failed(nursery: Nursery, document: int, task: Task) -> Failed:
    ran = await nursery.run(task, document, silent)
    assert isinstance(ran, Failed)
    return ran


async def until(fact: Callable[[], object]) -> None:
    async with asyncio.timeout(SOON.total_seconds()):
        while not fact():
            await asyncio.sleep(0.01)


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

    def __init__(self, nursery: Nursery, document: int) -> None:
        self.pid = 0
        self.task = asyncio.create_task(nursery.run(a_task("spin"), document, self._hear))

    def _hear(self, _percent: int, stage: str) -> None:
        self.pid = int(stage.removeprefix("pid "))

    async def started(self) -> "Spinning":
        await until(lambda: self.pid)
        return self
