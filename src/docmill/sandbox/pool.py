"""The worker's hold on one fork server: starts it, gives orders, hears endings."""

import asyncio
import fcntl
import itertools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Final, Self

from docmill.core.faults import DocmillError
from docmill.core.jobs import ReportProgress, Usage
from docmill.sandbox import protocol
from docmill.sandbox.channel import RunChannel, RunHost
from docmill.sandbox.confine import Confinement
from docmill.sandbox.limits import (
    ChannelState,
    LimitReached,
    ProcessSample,
    RunLimits,
    RunMeter,
    sample_process,
)
from docmill.sandbox.outcome import ChildExit, RunFailed, RunOutcome, RunReturned, Task, judge
from docmill.sandbox.protocol import FrameKind

# Importing large libraries from a cold disk on a busy machine takes its time; more is a fault.
_START_SECONDS: Final = 180.0
_STOP_SECONDS: Final = 5.0
# One thread per run: runs are what is spread over the cores. Nothing else is handed down.
_ENVIRONMENT: Final[Mapping[str, str]] = {
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OMP_THREAD_LIMIT": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_HANDED_DOWN: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class ForkServerPlan:
    """What a fork server needs to know to start."""

    pipelines: Sequence[str]
    paths: Sequence[str]
    readable: Sequence[str]
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class ForkServerHello:
    """What a fork server says when it is ready."""

    confinement: Confinement
    broken: Mapping[str, str]
    versions: Mapping[str, str]


class ForkServerHandle(asyncio.Protocol):
    """One life of the fork server. When it is lost, so are all its runs, and each is told."""

    hello: ForkServerHello

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self.pid = process.pid
        self.lost = False
        self._process = process
        self._control = control
        self._greeted: asyncio.Future[bytes | None] = loop.create_future()
        self._gone: asyncio.Future[None] = loop.create_future()
        self._runs: dict[int, asyncio.Future[ChildExit]] = {}
        self._pids: dict[int, int] = {}
        self._splitter = protocol.FrameSplitter(FrameKind.HELLO, FrameKind.BORN, FrameKind.ENDED)
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def start(cls, plan: ForkServerPlan) -> Self:
        ours, theirs = socket.socketpair()
        with theirs:
            parent = cls(_spawn_fork_server(plan, theirs.fileno()), ours)
        try:
            loop = asyncio.get_running_loop()
            parent._transport, _ = await loop.create_connection(lambda: parent, sock=ours)
            async with asyncio.timeout(_START_SECONDS):
                greeting = await parent._greeted
        except BaseException as exc:
            parent.abandon()
            if isinstance(exc, TimeoutError):
                raise DocmillError("CRASHED", "the fork server took too long to start") from exc
            raise
        if greeting is None:
            raise DocmillError(
                "CRASHED", "the fork server did not start; its error output says why"
            )
        words = json.loads(greeting)
        confinement = Confinement(tuple(words["in_force"]), tuple(words["missing"]))
        parent.hello = ForkServerHello(confinement, words["broken"], words["versions"])
        return parent

    def begin(
        self, run: int, channel: int, document: int, *, cpu_seconds: int
    ) -> asyncio.Future[ChildExit]:
        """Order a child. The future always gets its ending, at the latest when we are lost.

        After `cpu_seconds` of CPU the kernel ends it, whoever sleeps.
        """
        ended: asyncio.Future[ChildExit] = asyncio.get_running_loop().create_future()
        if self.lost:
            ended.set_result(ChildExit())
        else:
            self._runs[run] = ended
            order = protocol.ORDER.pack(protocol.START, run, cpu_seconds)
            self._order(order, [channel, document])
        return ended

    def pid_of(self, run: int) -> int | None:
        """Of a run's child, from its start to its end."""
        return self._pids.get(run)

    def kill(self, run: int) -> None:
        if not self.lost:
            self._order(protocol.ORDER.pack(protocol.KILL, run, 0), [])

    def _order(self, order: bytes, fds: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [order], fds)
        except OSError:
            # It is dead, or so hung that hundreds of orders wait for it.
            self.abandon()

    def abandon(self) -> None:
        """SIGKILL. On Linux its children die with it; elsewhere at their next word."""
        self._process.kill()
        if self._transport is None:
            self._control.close()
            self._reap()
        else:
            self._transport.abort()

    async def stop(self) -> None:
        """It ends its children and itself when it hears no more from us."""
        if self._transport is not None and not self.lost:
            self._transport.write_eof()
            await asyncio.wait({self._gone}, timeout=_STOP_SECONDS)
        if not self._gone.done():
            self.abandon()
            await self._gone

    def data_received(self, data: bytes) -> None:
        for frame in self._splitter.feed(data):
            if frame.kind is FrameKind.HELLO:
                self._greeted.set_result(frame.payload)
            elif frame.kind is FrameKind.BORN:
                run, pid = protocol.BORN.unpack(frame.payload)
                self._pids[run] = pid
            else:
                self._end(*protocol.ENDED.unpack(frame.payload))

    def _end(self, run: int, code: int, number: int, *measured: int) -> None:
        self._pids.pop(run, None)
        lived, cpu, memory = measured
        usage = Usage(lived // 1000, cpu // 1000, memory)
        self._runs.pop(run).set_result(ChildExit(code, number, usage))

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._reap()
        for future in self._runs.values():
            future.set_result(ChildExit())
        self._runs.clear()
        self._pids.clear()
        if not self._greeted.done():
            self._greeted.set_result(None)
        if not self._gone.done():
            self._gone.set_result(None)

    def _reap(self) -> None:
        """Without its control socket it is dead or dying; a dead process is collected at once."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)


def clean_environment(paths: Sequence[str] = ()) -> dict[str, str]:
    """The environment of a process that reads for us: nothing of the operator's is in it."""
    folders = [os.path.abspath(path) for path in (*sys.path, *paths) if path]  # noqa: PTH100
    handed = {name: os.environ[name] for name in _HANDED_DOWN if name in os.environ}
    return {**_ENVIRONMENT, **handed, "PYTHONPATH": os.pathsep.join(folders)}


def _spawn_fork_server(plan: ForkServerPlan, control: int) -> subprocess.Popen[bytes]:
    """In a session of its own: a Ctrl-C in the terminal is for the worker."""
    words = {
        "worker": os.getpid(),
        "pipelines": plan.pipelines,
        "readable": plan.readable,
        "memory_bytes": plan.memory_bytes,
    }
    return subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-m",
            "docmill.sandbox.fork_server",
            str(control),
            json.dumps(words),
        ],
        env=clean_environment(plan.paths),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        start_new_session=True,
    )


__all__ = ["RunFailed", "RunLimits", "RunOutcome", "RunReturned", "SandboxPool", "Task", "Usage"]

# How long a killed child may take to go, on a busy machine, before the fork server counts as hung.
PATIENCE: Final = 30.0
# The kernel ends a child that we should have ended by then.
_SPARE_CPU: Final = 5


class SandboxPool:
    """Runs tasks in children of one warm parent, started when first needed and again if it dies."""

    def __init__(
        self,
        limits: RunLimits,
        *,
        pipelines: Sequence[str],
        paths: Sequence[str] = (),
        readable: Sequence[str] = (),
    ) -> None:
        """`pipelines` are entry point names or `module:attribute`; `paths` are more import folders.

        `readable` are more places that runs may read, such as a folder of models.
        """
        self.limits = limits
        self._plan = ForkServerPlan(
            pipelines=tuple(pipelines),
            paths=tuple(paths),
            readable=tuple(readable),
            memory_bytes=limits.memory_bytes,
        )
        self._parent: ForkServerHandle | None = None
        self._starting = asyncio.Lock()
        self.started = asyncio.Event()  # for good: once there was a fork server
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends what still runs."""
        if self._parent is not None:
            await self._parent.stop()

    @property
    def confinement(self) -> Confinement | None:
        """What holds the runs in; not known before the first `warm` or `run`."""
        return self._parent.hello.confinement if self._parent else None

    @property
    def broken(self) -> dict[str, str]:
        """The pipelines that could not be imported, with their stacks."""
        return dict(self._parent.hello.broken) if self._parent else {}

    @property
    def pid(self) -> int | None:
        """Of the warm parent, while there is one."""
        return self._parent.pid if self._parent and not self._parent.lost else None

    async def warm(self) -> Confinement:
        """Start the warm parent now. Raises DocmillError when it does not come up."""
        return (await self._ready()).hello.confinement

    async def _ready(self) -> ForkServerHandle:
        async with self._starting:
            if self._parent is None or self._parent.lost:
                self._parent = await ForkServerHandle.start(self._plan)
                self.started.set()
            return self._parent

    async def run(
        self, task: Task, document: int, progress: ReportProgress, *, host: RunHost | None = None
    ) -> RunOutcome:
        """`document` is an open fd, for reading only, which nobody else may read from meanwhile.

        `progress` must not raise; `host` answers what the run asks of services. Cancelling kills
        the child and waits for it.
        """
        if fcntl.fcntl(document, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
            raise ValueError("a run is given its document for reading only")
        try:
            parent = await self._ready()
        except DocmillError as exc:
            return RunFailed(exc.fault.code, exc.detail, "", Usage())
        line = RunChannel(progress, host)
        services = sorted(host.services) if host else []
        words = json.dumps({**asdict(task), "services": services}).encode()
        cut, ending = await self._attend(line, words, document, parent=parent)
        if line.word is not None and line.word.kind is FrameKind.RESULT:
            # Said is said, however the child went afterwards.
            return RunReturned(
                line.word.payload,
                parent.hello.versions.get(task.pipeline, ""),
                ending.usage,
                line.artifact,
                line.rows,
                line.about,
                line.pages,
            )
        failed = judge(line.word, ending, cut=cut, task=task, limits=self.limits)
        return replace(failed, pages=line.pages)

    async def _attend(
        self, line: RunChannel, task: bytes, document: int, *, parent: ForkServerHandle
    ) -> tuple[LimitReached | None, ChildExit]:
        number = next(self._numbers)
        size = os.fstat(document).st_size
        budget = ceil(self.limits.budget(size).total_seconds())
        ours, theirs = socket.socketpair()
        with theirs:
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: line, sock=ours
            )
            channel = theirs.fileno()
            ended = parent.begin(number, channel, document, cpu_seconds=budget + _SPARE_CPU)
        try:
            transport.write(protocol.pack(FrameKind.TASK, task))
            meter = RunMeter(self.limits, ProcessSample(line.began_at, 0.0), size=size)
            cut = await _watch_run(line, ended, meter, lambda: parent.pid_of(number))
        finally:
            await _end_run(number, ended, line=line, parent=parent)
        if line.broke:
            raise line.broke
        return cut, ended.result()


async def _watch_run(
    line: RunChannel,
    ended: asyncio.Future[ChildExit],
    meter: RunMeter,
    pid: Callable[[], int | None],
) -> LimitReached | None:
    """Until the child is gone and its channel read to the end, or until it must be ended."""
    clock = asyncio.get_running_loop().time
    while waiting := {future for future in (line.closed, ended) if not future.done()}:
        if line.wrong or line.broke or (ended.done() and ended.result().exit is None):
            break
        await asyncio.wait(waiting, timeout=meter.pause, return_when=asyncio.FIRST_COMPLETED)
        heard = ChannelState(line.heard_at, line.is_answering, line.closed.done())
        if cut := meter.check(sample_process(pid(), clock()), heard):
            return cut
    return LimitReached("CRASHED", line.wrong) if line.wrong else None


async def _end_run(
    number: int, ended: asyncio.Future[ChildExit], *, line: RunChannel, parent: ForkServerHandle
) -> None:
    """No run leaves a process behind: a hung sandbox goes with its children."""
    if not ended.done():
        parent.kill(number)
        await asyncio.wait({ended}, timeout=PATIENCE)
    if not ended.done():
        parent.abandon()
        await ended
    await line.leave()
