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

from docmill.sandbox import pool
from docmill.sandbox.outcome import RunFailed, RunOutcome, RunReturned
from docmill.sandbox.pool import SandboxPool
from sandbox.pools import (
    HERE,
    Spinning,
    a_task,
    children_of,
    failed,
    is_alive,
    is_gone,
    make_pool,
    open_fds,
    silent,
)
from waits import until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends orphans and lists them"),
]


async def test_cancelling_kills_the_child_and_waits_for_it(
    sandbox: SandboxPool, document: int
) -> None:
    run = await Spinning(sandbox, document).started()
    run.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run.task
    assert is_gone(run.pid)
    assert isinstance(await sandbox.run(a_task(), document, silent), RunReturned)


async def test_runs_of_a_killed_fork_server_crash_and_the_next_finds_a_new_one(
    sandbox: SandboxPool, document: int
) -> None:
    runs = [await Spinning(sandbox, document).started() for _ in range(2)]
    first = sandbox.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    for run in runs:
        ran = await run.task
        assert isinstance(ran, RunFailed)
        assert (ran.code, ran.detail) == ("CRASHED", "the fork server was lost")
        await until(lambda run=run: not is_alive(run.pid))
    assert isinstance(await sandbox.run(a_task(), document, silent), RunReturned)
    assert sandbox.pid not in (None, first)


async def test_a_hung_fork_server_is_replaced(
    document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 0.2)
    async with make_pool(stall=timedelta(seconds=0.2)) as sandbox:
        await sandbox.warm()
        assert sandbox.pid is not None
        os.kill(sandbox.pid, signal.SIGSTOP)
        assert (await failed(sandbox, document, a_task())).code == "CRASHED"
        assert sandbox.pid is None
    async with make_pool() as sandbox:
        assert isinstance(await sandbox.run(a_task(), document, silent), RunReturned)


async def test_make_pool_that_cannot_start_is_a_fault(
    document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    async with make_pool() as sandbox:
        ran = await failed(sandbox, document, a_task())
        assert ran.code == "CRASHED"
        assert "did not start" in ran.detail


WORKER = """
import asyncio, os, sys
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import Task
from docmill.sandbox.pool import SandboxPool

async def main():
    async with SandboxPool(RunLimits(), pipelines=["probes:call"], paths=[sys.argv[1]]) as sandbox:
        document = os.open("/dev/null", os.O_RDONLY)
        def told(_percent, stage):
            print(sandbox.pid, stage.removeprefix("pid "), flush=True)
        await sandbox.run(Task("call", "a", "text/plain", options={"does": "spin"}), document, told)

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
    sandbox: SandboxPool, document: int
) -> None:
    """systemd sends SIGTERM to the whole control group; the worker lets its runs finish."""
    run = await Spinning(sandbox, document).started()
    assert sandbox.pid is not None
    for pid in (sandbox.pid, run.pid):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)
    assert isinstance(await sandbox.run(a_task(), document, silent), RunReturned)
    assert is_alive(run.pid)
    assert not run.task.done()
    run.task.cancel()
    await asyncio.wait({run.task})


async def test_two_hundred_runs_leave_nothing_behind(sandbox: SandboxPool, document: int) -> None:
    async def fds_seen() -> list[int]:
        ran = await sandbox.run(a_task(), document, silent)
        assert isinstance(ran, RunReturned)
        return json.loads(ran.data)["fds"]

    seen = await fds_seen()
    ours = open_fds()
    for number in range(200):
        does = ("", "faulted", "exit 0", "segfault", "garbage")[number % 5]
        await sandbox.run(a_task(does), document, silent)
    assert await fds_seen() == seen
    assert open_fds() == ours
    assert sandbox.pid is not None
    assert children_of(sandbox.pid) == []


async def test_eight_runs_at_once_do_not_mix(sandbox: SandboxPool, tmp_path: Path) -> None:
    async def one(number: int) -> RunOutcome:
        path = tmp_path / str(number)
        path.write_text(str(number), "utf-8")
        with path.open("rb") as file:
            return await sandbox.run(a_task(), file.fileno(), silent)

    rans = await asyncio.gather(*map(one, range(8)))
    said = [json.loads(ran.data) for ran in rans if isinstance(ran, RunReturned)]
    assert [words["text"] for words in said] == [str(number) for number in range(8)]
    assert len({words["pid"] for words in said}) == 8


async def test_leaving_ends_what_still_runs(document: int) -> None:
    async with make_pool() as sandbox:
        run = await Spinning(sandbox, document).started()
        pid = sandbox.pid
    ran = await run.task
    assert isinstance(ran, RunFailed)
    assert ran.code == "CRASHED"
    assert not is_alive(run.pid)
    assert pid is not None
    assert is_gone(pid)
