"""Web processes that another one starts and watches; all of them answer on one port."""

import asyncio
import multiprocessing
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import httpx2

from docmill.cli.console import complain
from docmill.core.faults import CommandError
from docmill.processes.supervise import (
    LOOK_SECONDS,
    PartLife,
    ProcessEndedError,
    StopSignal,
    run_until_stopped,
    wait_until,
)

# A new interpreter each: what the starting process has open and under way is not theirs.
SPAWN: Final = multiprocessing.get_context("spawn")
ANSWER_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class WebPort:
    """A port that listens; with siblings it is shared, and `own` is where each tells of itself."""

    listener: socket.socket
    own: socket.socket | None = None
    siblings: tuple[str, ...] = ()


class WebProcess:
    """One process after another that serves; `url` is where it tells of itself."""

    def __init__(self, serve: Callable[[], None], url: str) -> None:
        self._serve: Callable[[], None] = serve
        self._url: str = url

    async def run(self, life: PartLife) -> None:
        process = SPAWN.Process(target=self._serve)
        process.start()
        life.stop_with(process.terminate)
        try:
            async with httpx2.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as http:
                while process.is_alive() and not await self._answers(http):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
            life.up()
            await wait_until(lambda: not process.is_alive())
        finally:
            process.kill()
            process.join()
        if process.exitcode not in {0, -signal.SIGTERM}:
            raise ProcessEndedError(f"its process ended with {process.exitcode}")

    async def _answers(self, http: httpx2.AsyncClient) -> bool:
        with suppress(httpx2.TransportError):
            return (await http.get(f"{self._url}/ready")).is_success
        return False


def serve_until_stopped(main: Callable[[StopSignal], Coroutine[None, None, None]]) -> None:
    """As `run_until_stopped`; it also stops when the process that started it is gone."""
    try:
        run_until_stopped(partial(_watch_parent, main))
    except CommandError as exc:
        what, _, advice = str(exc).partition("\n")
        complain(what, advice)
        sys.exit(1)


async def _watch_parent(
    main: Callable[[StopSignal], Coroutine[None, None, None]], stop: StopSignal
) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    loop = asyncio.get_running_loop()
    loop.add_reader(parent.sentinel, _stop_alone, loop, parent.sentinel, stop)
    await main(stop)


def _stop_alone(loop: asyncio.AbstractEventLoop, sentinel: int, stop: StopSignal) -> None:
    loop.remove_reader(sentinel)
    stop.ask()
