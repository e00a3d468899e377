"""The worker's hold on one nursery process: starts it, gives orders, hears endings."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from docmill.core.faults import Faulted
from docmill.core.jobs import Usage
from docmill.work import framing
from docmill.work.confine import Confinement
from docmill.work.framing import Kind
from docmill.work.verdict import Ending

# Importing large libraries from a cold disk takes its time; longer than this is a fault.
_START_SECONDS: Final = 60.0
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
class Plan:
    """What a nursery needs to know to start."""

    pipelines: Sequence[str]
    paths: Sequence[str]
    readable: Sequence[str]
    memory_bytes: int
    cpu_seconds: int


@dataclass(frozen=True, slots=True)
class Hello:
    """What a nursery says when it is ready."""

    confinement: Confinement
    broken: Mapping[str, str]
    versions: Mapping[str, str]


class Parent(asyncio.Protocol):
    """One life of the nursery. When it is lost, so are all its runs, and each is told."""

    hello: Hello

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self.pid = process.pid
        self.lost = False
        self._process = process
        self._control = control
        self._greeted: asyncio.Future[bytes | None] = loop.create_future()
        self._gone: asyncio.Future[None] = loop.create_future()
        self._runs: dict[int, asyncio.Future[Ending]] = {}
        self._splitter = framing.Splitter(Kind.HELLO, Kind.ENDED)
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def start(cls, plan: Plan) -> Self:
        ours, theirs = socket.socketpair()
        with theirs:
            parent = cls(_spawn(plan, theirs.fileno()), ours)
        try:
            loop = asyncio.get_running_loop()
            parent._transport, _ = await loop.create_connection(lambda: parent, sock=ours)
            async with asyncio.timeout(_START_SECONDS):
                greeting = await parent._greeted
        except BaseException as exc:
            parent.abandon()
            if isinstance(exc, TimeoutError):
                raise Faulted("CRASHED", "the nursery took too long to start") from exc
            raise
        if greeting is None:
            raise Faulted("CRASHED", "the nursery did not start; its error output says why")
        words = json.loads(greeting)
        confinement = Confinement(tuple(words["in_force"]), tuple(words["missing"]))
        parent.hello = Hello(confinement, words["broken"], words["versions"])
        return parent

    def begin(self, run: int, channel: int, document: int) -> asyncio.Future[Ending]:
        """Order a child. The future always gets its ending, at the latest when we are lost."""
        ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        if self.lost:
            ended.set_result(Ending())
        else:
            self._runs[run] = ended
            self._order(framing.START, run, [channel, document])
        return ended

    def kill(self, run: int) -> None:
        if not self.lost:
            self._order(framing.KILL, run, [])

    def _order(self, what: bytes, run: int, fds: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [framing.ORDER.pack(what, run)], fds)
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
            if frame.kind is Kind.HELLO:
                self._greeted.set_result(frame.payload)
            else:
                self._end(*framing.ENDED.unpack(frame.payload))

    def _end(self, run: int, code: int, number: int, *measured: int) -> None:
        lived, cpu, memory = measured
        usage = Usage(lived // 1000, cpu // 1000, memory)
        self._runs.pop(run).set_result(Ending(code, number, usage))

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._reap()
        for future in self._runs.values():
            future.set_result(Ending())
        self._runs.clear()
        if not self._greeted.done():
            self._greeted.set_result(None)
        if not self._gone.done():
            self._gone.set_result(None)

    def _reap(self) -> None:
        """Without its control socket it is dead or dying; a dead process is collected at once."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)


def surroundings(paths: Sequence[str] = ()) -> dict[str, str]:
    """The environment of a process that reads for us: nothing of the operator's is in it."""
    folders = [os.path.abspath(path) for path in (*sys.path, *paths) if path]  # noqa: PTH100
    handed = {name: os.environ[name] for name in _HANDED_DOWN if name in os.environ}
    return {**_ENVIRONMENT, **handed, "PYTHONPATH": os.pathsep.join(folders)}


def _spawn(plan: Plan, control: int) -> subprocess.Popen[bytes]:
    """In a session of its own: a Ctrl-C in the terminal is for the worker."""
    words = {
        "worker": os.getpid(),
        "pipelines": plan.pipelines,
        "readable": plan.readable,
        "memory_bytes": plan.memory_bytes,
        "cpu_seconds": plan.cpu_seconds,
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "docmill.work.nursery", str(control), json.dumps(words)],
        env=surroundings(plan.paths),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control],
        start_new_session=True,
    )
