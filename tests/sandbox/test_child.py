"""One run in a child of its own: what comes back, however the child goes."""

import asyncio
import hashlib
import json
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunReturned, Task
from docmill.sandbox.pool import SandboxPool
from sandbox.pools import HERE, SOON, TEXT, a_task, failed, make_pool, silent, until

pytestmark = pytest.mark.anyio
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child's CPU")


async def test_a_run_returns_its_output_and_what_it_used(
    sandbox: SandboxPool, document: int
) -> None:
    sha256 = hashlib.sha256(TEXT.encode()).hexdigest()
    task = Task("echo", "ä b.txt", "text/plain", sha256, mapping="m", options={"n": [1, None]})
    ran = await sandbox.run(task, document, silent)
    assert isinstance(ran, RunReturned)
    said = json.loads(ran.data)
    assert said["text"] == TEXT
    assert (said["filename"], said["sha256"], said["mapping"]) == ("ä b.txt", sha256, "m")
    assert said["options"] == {"n": [1, None]}
    assert ran.version == "7"
    assert 0 < ran.usage.memory_bytes < 256 << 20
    assert ran.usage.duration_ms < SOON.total_seconds() * 1000
    assert ran.usage.cpu_ms < SOON.total_seconds() * 1000


async def test_a_document_can_be_run_again_from_its_beginning(
    sandbox: SandboxPool, document: int
) -> None:
    for _ in range(2):
        ran = await sandbox.run(a_task(), document, silent)
        assert isinstance(ran, RunReturned)
        assert json.loads(ran.data)["text"] == TEXT


async def test_progress_arrives_in_order_and_before_the_end(
    sandbox: SandboxPool, document: int
) -> None:
    heard: list[tuple[int, str]] = []
    await sandbox.run(a_task(), document, lambda percent, stage: heard.append((percent, stage)))
    assert heard == [(20, "reading"), (70, "writing")]


async def test_progress_told_at_every_page_neither_blocks_nor_floods(
    sandbox: SandboxPool, document: int
) -> None:
    heard: list[int] = []
    task = a_task("many stages")
    ran = await sandbox.run(task, document, lambda percent, _: heard.append(percent))
    assert isinstance(ran, RunReturned)
    assert heard == sorted(heard)
    assert len(heard) < 1000


async def test_a_large_result_arrives_whole(sandbox: SandboxPool, document: int) -> None:
    ran = await sandbox.run(a_task("wide"), document, silent)
    assert isinstance(ran, RunReturned)
    assert len(json.loads(ran.data)["did"]) == 20 << 20


async def test_threads_and_late_imports_work_in_a_child(
    sandbox: SandboxPool, document: int
) -> None:
    for does, did in {"threads": 4, "late import": "wave"}.items():
        ran = await sandbox.run(a_task(does), document, silent)
        assert isinstance(ran, RunReturned), ran
        assert json.loads(ran.data)["did"] == did


async def test_text_that_no_database_takes_is_replaced(sandbox: SandboxPool, document: int) -> None:
    ran = await sandbox.run(a_task("awkward"), document, silent)
    assert isinstance(ran, RunReturned)
    assert json.loads(ran.data)["did"] == ["a\ufffdb", "c\\u0000d", "\\\ufffd", "e?f"]


@pytest.mark.parametrize(
    ("does", "code", "detail"),
    [
        ("faulted", "BAD_FILE", "no pages"),
        ("recurse", "UNKNOWN", "RecursionError in _recurse"),
        ("sys.exit", "UNKNOWN", "SystemExit"),
        ("secret error", "UNKNOWN", "ValueError in _secret_error"),
        ("nan", "UNKNOWN", "ValueError"),
        ("object", "UNKNOWN", "TypeError"),
        ("exit 0", "CRASHED", "exit 0"),
        ("segfault", "CRASHED", "SIGSEGV"),
        ("kill oneself", "CRASHED", "SIGKILL"),
        ("hang up", "CRASHED", "closed its channel"),
        ("garbage", "CRASHED", "kind 255"),
        ("long frame", "CRASHED", "at most"),
        ("flood", "CRASHED", "too much progress"),
        ("abort", "OUT_OF_MEMORY", "needs more than 256 MB (SIGABRT)"),
        ("hog", "OUT_OF_MEMORY", "no memory left"),
    ],
)
async def test_a_bad_run_fails_with_its_own_code(
    sandbox: SandboxPool, document: int, does: str, code: str, detail: str
) -> None:
    ran = await failed(sandbox, document, a_task(does))
    assert ran.code == code
    assert detail in ran.detail
    assert "\n" not in ran.detail
    assert ran.usage.memory_bytes > 0
    assert isinstance(await sandbox.run(a_task(), document, silent), RunReturned)


@pytest.mark.parametrize("does", ["abort", "hog"])
async def test_a_pdf_that_needs_too_much_is_a_bad_pdf(
    sandbox: SandboxPool, document: int, does: str
) -> None:
    ran = await failed(sandbox, document, a_task(does, content_type="application/pdf"))
    assert ran.code == "BAD_PDF"


async def test_memory_stays_within_its_limit(sandbox: SandboxPool, document: int) -> None:
    ran = await failed(sandbox, document, a_task("hog"))
    assert 128 << 20 < ran.usage.memory_bytes <= (256 + 32) << 20


async def test_the_words_of_an_exception_are_not_told(sandbox: SandboxPool, document: int) -> None:
    ran = await failed(sandbox, document, a_task("secret error"))
    assert "probes.py" in ran.stack
    assert "ValueError" in ran.stack
    assert "ACME" not in ran.stack + ran.detail


@linux
async def test_a_run_without_progress_is_ended(document: int) -> None:
    async with make_pool(stall=timedelta(seconds=0.3)) as sandbox:
        ran = await failed(sandbox, document, a_task("spin"))
    assert (ran.code, ran.detail) == ("TIMED_OUT", "no progress for 0.3 s of CPU")
    assert ran.message.endswith("without progress (DOCMILL_CHILD_STALL_SECONDS=0.3)")
    assert ran.usage.cpu_ms >= 300


@pytest.mark.parametrize("does", ["half frame", pytest.param("wake now and then", marks=linux)])
async def test_a_run_that_does_nothing_is_ended(document: int, does: str) -> None:
    async with make_pool(stall=timedelta(seconds=0.3)) as sandbox:
        ran = await failed(sandbox, document, a_task(does))
    assert (ran.code, ran.detail) == ("TIMED_OUT", "did nothing for 3 s")
    assert "DOCMILL_CHILD_STALL_SECONDS=0.3" in ran.message
    assert ran.stalled


@linux
async def test_a_run_that_gets_no_cpu_is_not_taken_for_a_silent_one(document: int) -> None:
    """It is stopped for four times the longest silence, and needs half of it in CPU."""
    stall = timedelta(seconds=1)
    loop = asyncio.get_running_loop()
    pids: list[int] = []

    def note(_percent: int, stage: str) -> None:
        pids.append(int(stage.removeprefix("pid ")))

    async with make_pool(stall=stall) as sandbox:
        task = a_task("work silently", seconds=0.5)
        run = asyncio.create_task(sandbox.run(task, document, note))
        await until(lambda: pids)
        os.kill(pids[0], signal.SIGSTOP)
        stopped_at = loop.time()
        await until(lambda: loop.time() - stopped_at > 4 * stall.total_seconds())
        os.kill(pids[0], signal.SIGCONT)
        assert isinstance(await run, RunReturned)


async def test_a_run_that_only_talks_is_ended_in_the_end(document: int) -> None:
    async with make_pool(total=timedelta(seconds=0.5)) as sandbox:
        ran = await failed(sandbox, document, a_task("chatter"))
    assert (ran.code, ran.detail) == ("TIMED_OUT", "still running after 0.5 s")
    assert ran.message.endswith("0.5 s (DOCMILL_CHILD_SECONDS=0.5)")


@linux
async def test_a_run_that_used_its_budget_is_ended_and_the_setting_named(document: int) -> None:
    async with make_pool(cpu=timedelta(seconds=0.5)) as sandbox:
        ran = await failed(sandbox, document, a_task("chatter"))
    assert (ran.code, ran.detail) == ("TIMED_OUT", "used 0.5 s of CPU")
    assert ran.message.endswith("0.5 s of CPU (DOCMILL_CHILD_CPU_SECONDS=0.5)")
    assert ran.usage.cpu_ms >= 500
    assert not ran.stalled


async def test_an_unknown_pipeline_is_named(sandbox: SandboxPool, document: int) -> None:
    ran = await failed(sandbox, document, Task("nonesuch", "a", "text/plain"))
    assert ran.code == "UNKNOWN_PIPELINE"
    assert "nonesuch" in ran.detail


async def test_a_broken_plug_in_breaks_no_other(document: int) -> None:
    names = ["probes:absent", "probes:echo"]
    async with SandboxPool(RunLimits(), pipelines=names, paths=[str(HERE)]) as sandbox:
        assert isinstance(await sandbox.run(a_task(), document, silent), RunReturned)
        ran = await failed(sandbox, document, Task("probes:absent", "a", "text/plain"))
        assert (ran.code, ran.detail) == (
            "UNKNOWN",
            "pipeline probes:absent could not be imported",
        )
        assert "AttributeError" in sandbox.broken["probes:absent"]


async def test_a_document_that_could_be_written_to_is_refused(
    sandbox: SandboxPool, tmp_path: Path
) -> None:
    with (tmp_path / "b").open("wb") as file, pytest.raises(ValueError, match="reading only"):
        await sandbox.run(a_task(), file.fileno(), silent)


async def test_a_child_inherits_no_secrets_and_no_files(
    document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:secret@db/docmill")
    async with make_pool() as sandbox:
        ran = await sandbox.run(a_task(), document, silent)
    assert isinstance(ran, RunReturned)
    said = json.loads(ran.data)
    assert b"secret@" not in ran.data
    assert set(said["environ"]) <= {
        "LC_ALL", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    }  # fmt: skip
    assert len(said["fds"]) == 5
