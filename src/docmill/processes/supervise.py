"""How a running process is asked to stop."""

import asyncio
import signal
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg
import structlog
import uvloop

from docmill.app import App
from docmill.core import failpoints
from docmill.core.faults import CommandError, DocmillError
from docmill.core.parts import DOWN, OK, STARTING, Parts
from docmill.settings import Settings


class StopSignal:
    """Asked once, everything stops in order; the second time, at once."""

    def __init__(self) -> None:
        self.asked: asyncio.Event = asyncio.Event()
        self._times: int = 0
        self._listeners: list[Callable[[], object]] = []

    @classmethod
    def on_signals(cls) -> "StopSignal":
        """One that SIGTERM and Ctrl-C ask. To be made before anything else is started."""
        stop = cls()
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, stop.ask)
        return stop

    def ask(self) -> None:
        self._times += 1
        self.asked.set()
        for listener in list(self._listeners):
            listener()

    @contextmanager
    def calling(self, listener: Callable[[], object]) -> Generator[None]:
        """Call this with every ask while the block runs, and for those that came before it."""
        self._listeners.append(listener)
        for _ in range(self._times):
            listener()
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def cancelling(self) -> Generator[None]:
        """For a start: the task that runs the block is cancelled when a stop is asked for."""
        task = asyncio.current_task()
        assert task is not None
        with self.calling(task.cancel):
            yield

    async def pause(self, seconds: float) -> None:
        """Sleep, but not through a stop."""
        asked = asyncio.create_task(self.asked.wait())
        await asyncio.wait({asked}, timeout=seconds)
        asked.cancel()


log = structlog.get_logger()

LOOK_SECONDS: Final = 0.1
FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 15.0
# A part that ran so long was well: its next pause is short again.
HEALTHY_SECONDS: Final = 20.0
# What these say is enough; any other exception is a mistake of ours, and its stack is told.
PLAIN: Final = (OSError, CommandError, DocmillError, psycopg.Error)


async def wait_until(fact: Callable[[], bool]) -> None:
    """Look often. For what the system tells nobody, such as the end of somebody's process."""
    while not fact():  # noqa: ASYNC110
        await asyncio.sleep(LOOK_SECONDS)


class ProcessEndedError(CommandError):
    """A process of ours that a part watches is no more."""


class PartLife:
    """One life of a part, as the part sees it."""

    def __init__(self, parts: Parts, name: str) -> None:
        self._parts: Parts = parts
        self._name: str = name
        self._stop: Callable[[], object] | None = None

    def up(self) -> None:
        """The part says that it does its work now."""
        self._parts.note(self._name, OK)

    def stop_with(self, stop: Callable[[], object]) -> None:
        """When a stop is asked for, call this instead of cancelling the part."""
        self._stop = stop

    def end(self, task: asyncio.Task[None]) -> None:
        if self._stop is None:
            task.cancel()
        else:
            self._stop()


@dataclass(frozen=True, slots=True)
class ProcessPart:
    """`run` works until it is cancelled. Whatever ends it earlier, it is run again."""

    name: str
    run: Callable[[PartLife], Awaitable[None]]
    longest_pause: float = LONGEST_PAUSE


async def supervise_all(kept: Sequence[ProcessPart], stop: StopSignal, parts: Parts) -> None:
    """Until a stop is asked for and every part has ended. One part's end is not another's."""
    await asyncio.gather(*(supervise_part(part, stop, parts) for part in kept))


async def supervise_part(part: ProcessPart, stop: StopSignal, parts: Parts) -> None:
    parts.note(part.name, STARTING)
    clock = asyncio.get_running_loop().time
    pause = FIRST_PAUSE
    while not stop.asked.is_set():
        began_at = clock()
        ended = await _run_once(part, stop, parts)
        if stop.asked.is_set():
            _log_last(part, ended)
            return
        if clock() - began_at > HEALTHY_SECONDS:
            pause = FIRST_PAUSE
        parts.note(part.name, DOWN)
        log.error("part.ended", part=part.name, again_in=round(pause, 1), **_explain_end(ended))
        await stop.pause(pause)
        pause = min(pause * 2, part.longest_pause)


async def _run_once(part: ProcessPart, stop: StopSignal, parts: Parts) -> asyncio.Task[None]:
    """One life, from its start to its end; the task that was it."""
    life = PartLife(parts, part.name)
    task = asyncio.ensure_future(_run_part(part, life))
    try:
        with stop.calling(lambda: life.end(task)):
            await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    return task


async def _run_part(part: ProcessPart, life: PartLife) -> None:
    point = f"part.{part.name}"
    if failpoints.is_armed(point):
        await _run_until_hit(part, life, point)
    else:
        await part.run(life)


async def _run_until_hit(part: ProcessPart, life: PartLife, point: str) -> None:
    """For tests: the part fails in the middle of its work."""
    running = asyncio.ensure_future(part.run(life))
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=LOOK_SECONDS)
            failpoints.hit(point)
        running.result()
    finally:
        running.cancel()
        await asyncio.wait({running})


def _log_last(part: ProcessPart, ended: asyncio.Task[None]) -> None:
    """A part that breaks while it stops is told as well; being cancelled is the usual way."""
    if not ended.cancelled() and ended.exception():
        log.error("part.broke_while_stopping", part=part.name, **_explain_end(ended))


def _explain_end(ended: asyncio.Task[None]) -> dict[str, str | None]:
    if ended.cancelled():
        return {"error": "it was cancelled"}
    exc = ended.exception()
    if exc is None:
        return {"error": "it returned"}
    # The text of a database error may quote a document.
    says = exc.sqlstate if isinstance(exc, psycopg.Error) else " ".join(str(exc).split())
    stack = None if isinstance(exc, PLAIN) else "".join(traceback.format_exception(exc))
    return {"error": f"{type(exc).__name__}: {says}", "stack": stack}


# Opens what parts work with; they are supervised while it is open.
OpenParts = Callable[
    [Settings, App, StopSignal], AbstractAsyncContextManager[Sequence[ProcessPart]]
]


def run_until_stopped(main: Callable[[StopSignal], Coroutine[None, None, None]]) -> None:
    """Until it ends or is asked to stop, which may happen at any moment of its start."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run_main(main))


async def _run_main(main: Callable[[StopSignal], Coroutine[None, None, None]]) -> None:
    stop = StopSignal.on_signals()
    running = asyncio.create_task(main(stop))
    await asyncio.wait({running})
    if not (running.cancelled() and stop.asked.is_set()):
        running.result()
