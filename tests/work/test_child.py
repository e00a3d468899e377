"""One run in a child of its own: what comes back, however the child goes."""

import hashlib
import json
from datetime import timedelta
from pathlib import Path

import pytest

from docmill.work.child import Limits, Nursery, Returned, Task
from work.nurseries import HERE, SOON, TEXT, a_nursery, a_task, failed, silent

pytestmark = pytest.mark.anyio


async def test_a_run_returns_its_output_and_what_it_used(nursery: Nursery, document: int) -> None:
    sha256 = hashlib.sha256(TEXT.encode()).hexdigest()
    task = Task("echo", "ä b.txt", "text/plain", sha256, mapping="m", options={"n": [1, None]})
    ran = await nursery.run(task, document, silent)
    assert isinstance(ran, Returned)
    said = json.loads(ran.data)
    assert said["text"] == TEXT
    assert (said["filename"], said["sha256"], said["mapping"]) == ("ä b.txt", sha256, "m")
    assert said["options"] == {"n": [1, None]}
    assert ran.version == "7"
    assert 0 < ran.usage.memory_bytes < 256 << 20
    assert ran.usage.duration_ms < SOON.total_seconds() * 1000
    assert ran.usage.cpu_ms < SOON.total_seconds() * 1000


async def test_a_document_can_be_run_again_from_its_beginning(
    nursery: Nursery, document: int
) -> None:
    for _ in range(2):
        ran = await nursery.run(a_task(), document, silent)
        assert isinstance(ran, Returned)
        assert json.loads(ran.data)["text"] == TEXT


async def test_progress_arrives_in_order_and_before_the_end(
    nursery: Nursery, document: int
) -> None:
    heard: list[tuple[int, str]] = []
    await nursery.run(a_task(), document, lambda percent, stage: heard.append((percent, stage)))
    assert heard == [(20, "reading"), (70, "writing")]


async def test_progress_told_at_every_page_neither_blocks_nor_floods(
    nursery: Nursery, document: int
) -> None:
    heard: list[int] = []
    task = a_task("many stages")
    ran = await nursery.run(task, document, lambda percent, _: heard.append(percent))
    assert isinstance(ran, Returned)
    assert heard == sorted(heard)
    assert len(heard) < 1000


async def test_a_large_result_arrives_whole(nursery: Nursery, document: int) -> None:
    ran = await nursery.run(a_task("wide"), document, silent)
    assert isinstance(ran, Returned)
    assert len(json.loads(ran.data)["did"]) == 20 << 20


async def test_threads_and_late_imports_work_in_a_child(nursery: Nursery, document: int) -> None:
    for does, did in {"threads": 4, "late import": "wave"}.items():
        ran = await nursery.run(a_task(does), document, silent)
        assert isinstance(ran, Returned), ran
        assert json.loads(ran.data)["did"] == did


async def test_text_that_no_database_takes_is_replaced(nursery: Nursery, document: int) -> None:
    ran = await nursery.run(a_task("awkward"), document, silent)
    assert isinstance(ran, Returned)
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
    nursery: Nursery, document: int, does: str, code: str, detail: str
) -> None:
    ran = await failed(nursery, document, a_task(does))
    assert ran.code == code
    assert detail in ran.detail
    assert "\n" not in ran.detail
    assert ran.usage.memory_bytes > 0
    assert isinstance(await nursery.run(a_task(), document, silent), Returned)


@pytest.mark.parametrize("does", ["abort", "hog"])
async def test_a_pdf_that_needs_too_much_is_a_bad_pdf(
    nursery: Nursery, document: int, does: str
) -> None:
    ran = await failed(nursery, document, a_task(does, content_type="application/pdf"))
    assert ran.code == "BAD_PDF"


async def test_memory_stays_within_its_limit(nursery: Nursery, document: int) -> None:
    ran = await failed(nursery, document, a_task("hog"))
    assert 128 << 20 < ran.usage.memory_bytes <= (256 + 32) << 20


async def test_the_words_of_an_exception_are_not_told(nursery: Nursery, document: int) -> None:
    ran = await failed(nursery, document, a_task("secret error"))
    assert "probes.py" in ran.stack
    assert "ValueError" in ran.stack
    assert "ACME" not in ran.stack + ran.detail


@pytest.mark.parametrize("does", ["spin", "half frame"])
async def test_a_run_without_progress_is_ended(document: int, does: str) -> None:
    async with a_nursery(stall=timedelta(seconds=0.3)) as nursery:
        ran = await failed(nursery, document, a_task(does))
        assert (ran.code, ran.detail) == ("TIMED_OUT", "no progress for 0.3 s")


async def test_a_run_that_only_talks_is_ended_in_the_end(document: int) -> None:
    async with a_nursery(total=timedelta(seconds=0.5)) as nursery:
        ran = await failed(nursery, document, a_task("chatter"))
        assert (ran.code, ran.detail) == ("TIMED_OUT", "still running after 0.5 s")


async def test_an_unknown_pipeline_is_named(nursery: Nursery, document: int) -> None:
    ran = await failed(nursery, document, Task("nonesuch", "a", "text/plain"))
    assert ran.code == "UNKNOWN_PIPELINE"
    assert "nonesuch" in ran.detail


async def test_a_broken_plug_in_breaks_no_other(document: int) -> None:
    names = ["probes:absent", "probes:echo"]
    async with Nursery(Limits(), pipelines=names, paths=[str(HERE)]) as nursery:
        assert isinstance(await nursery.run(a_task(), document, silent), Returned)
        ran = await failed(nursery, document, Task("probes:absent", "a", "text/plain"))
        assert (ran.code, ran.detail) == (
            "UNKNOWN",
            "pipeline probes:absent could not be imported",
        )
        assert "AttributeError" in nursery.broken["probes:absent"]


async def test_a_document_that_could_be_written_to_is_refused(
    nursery: Nursery, tmp_path: Path
) -> None:
    with (tmp_path / "b").open("wb") as file, pytest.raises(ValueError, match="reading only"):
        await nursery.run(a_task(), file.fileno(), silent)


async def test_a_child_inherits_no_secrets_and_no_files(
    document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:secret@db/docmill")
    async with a_nursery() as nursery:
        ran = await nursery.run(a_task(), document, silent)
    assert isinstance(ran, Returned)
    said = json.loads(ran.data)
    assert b"secret@" not in ran.data
    assert set(said["environ"]) <= {
        "LC_ALL", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    }  # fmt: skip
    assert len(said["fds"]) == 5
