"""The lives of processes: cancelled, killed, hung, many. None outlives the one it works for."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from docmill.work import child
from docmill.work.child import Failed, Nursery, Ran, Returned
from work.nurseries import (
    HERE,
    Spinning,
    a_nursery,
    a_task,
    children_of,
    failed,
    is_alive,
    is_gone,
    open_fds,
    silent,
    until,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends orphans and lists them"),
]


async def test_cancelling_kills_the_child_and_waits_for_it(nursery: Nursery, document: int) -> None:
    run = await Spinning(nursery, document).started()
    run.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run.task
    assert is_gone(run.pid)
    assert isinstance(await nursery.run(a_task(), document, silent), Returned)


async def test_runs_of_a_killed_nursery_crash_and_the_next_finds_a_new_one(
    nursery: Nursery, document: int
) -> None:
    runs = [await Spinning(nursery, document).started() for _ in range(2)]
    first = nursery.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    for run in runs:
        ran = await run.task
        assert isinstance(ran, Failed)
        assert (ran.code, ran.detail) == ("CRASHED", "the nursery was lost")
        await until(lambda run=run: not is_alive(run.pid))
    assert isinstance(await nursery.run(a_task(), document, silent), Returned)
    assert nursery.pid not in (None, first)


async def test_a_hung_nursery_is_replaced(document: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PATIENCE", 0.2)
    async with a_nursery(stall=timedelta(seconds=0.2)) as nursery:
        await nursery.warm()
        assert nursery.pid is not None
        os.kill(nursery.pid, signal.SIGSTOP)
        assert (await failed(nursery, document, a_task())).code == "CRASHED"
        assert nursery.pid is None
    async with a_nursery() as nursery:
        assert isinstance(await nursery.run(a_task(), document, silent), Returned)


async def test_a_nursery_that_cannot_start_is_a_fault(
    document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    async with a_nursery() as nursery:
        ran = await failed(nursery, document, a_task())
        assert ran.code == "CRASHED"
        assert "did not start" in ran.detail


WORKER = """
import asyncio, os, sys
from docmill.work.child import Limits, Nursery, Task

async def main():
    async with Nursery(Limits(), pipelines=["probes:call"], paths=[sys.argv[1]]) as nursery:
        document = os.open("/dev/null", os.O_RDONLY)
        def told(_percent, stage):
            print(nursery.pid, stage.removeprefix("pid "), flush=True)
        await nursery.run(Task("call", "a", "text/plain", options={"does": "spin"}), document, told)

asyncio.run(main())
"""


async def test_a_killed_worker_leaves_nothing_behind() -> None:
    command = [sys.executable, "-c", WORKER, str(HERE)]
    worker = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert worker.stdout is not None
    pids = [int(word) for word in (await worker.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(map(is_alive, pids))
    worker.kill()
    await worker.wait()
    await until(lambda: not any(map(is_alive, pids)))


async def test_a_worker_s_shutdown_signals_are_not_for_its_children(
    nursery: Nursery, document: int
) -> None:
    """systemd sends SIGTERM to the whole control group; the worker lets its runs finish."""
    run = await Spinning(nursery, document).started()
    assert nursery.pid is not None
    for pid in (nursery.pid, run.pid):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)
    assert isinstance(await nursery.run(a_task(), document, silent), Returned)
    assert is_alive(run.pid)
    assert not run.task.done()
    run.task.cancel()
    await asyncio.wait({run.task})


async def test_two_hundred_runs_leave_nothing_behind(nursery: Nursery, document: int) -> None:
    async def fds_seen() -> list[int]:
        ran = await nursery.run(a_task(), document, silent)
        assert isinstance(ran, Returned)
        return json.loads(ran.data)["fds"]

    seen = await fds_seen()
    ours = open_fds()
    for number in range(200):
        does = ("", "faulted", "exit 0", "segfault", "garbage")[number % 5]
        await nursery.run(a_task(does), document, silent)
    assert await fds_seen() == seen
    assert open_fds() == ours
    assert nursery.pid is not None
    assert children_of(nursery.pid) == []


async def test_eight_runs_at_once_do_not_mix(nursery: Nursery, tmp_path: Path) -> None:
    async def one(number: int) -> Ran:
        path = tmp_path / str(number)
        path.write_text(str(number), "utf-8")
        with path.open("rb") as file:
            return await nursery.run(a_task(), file.fileno(), silent)

    rans = await asyncio.gather(*map(one, range(8)))
    said = [json.loads(ran.data) for ran in rans if isinstance(ran, Returned)]
    assert [words["text"] for words in said] == [str(number) for number in range(8)]
    assert len({words["pid"] for words in said}) == 8


async def test_leaving_ends_what_still_runs(document: int) -> None:
    async with a_nursery() as nursery:
        run = await Spinning(nursery, document).started()
        pid = nursery.pid
    ran = await run.task
    assert isinstance(ran, Failed)
    assert ran.code == "CRASHED"
    assert not is_alive(run.pid)
    assert pid is not None
    assert is_gone(pid)
